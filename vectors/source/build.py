#!/usr/bin/env python3
"""build.py          writes the JSON files that are spelled in this directory
build.py --check    exits 1 if a committed file differs from what is spelled here
"""
import importlib
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


def main():
    stale = 0
    for name in sorted(os.listdir(HERE)):
        if not name.endswith(".py") or name in ("build.py", "notation.py"):
            continue
        module = importlib.import_module(name[:-3])
        for file in getattr(module, "FILES", None) or [module.FILE]:
            stale += update(file, name)
    sys.exit(1 if stale else 0)


def update(file, source):
    """Writes one file, or only compares it; 1 if the comparison failed."""
    try:
        with open(file.path()) as f:
            committed = f.read()
    except FileNotFoundError:
        committed = None
    if committed == file.text():
        return 0
    if sys.argv[1:] == ["--check"]:
        print(f"{file.name}.json is not what {source} spells", file=sys.stderr)
        return 1
    with open(file.path(), "w") as f:
        f.write(file.text())
    print(f"{file.name}.json: {file.document()['numberOfTests']} tests")
    return 0


main()
