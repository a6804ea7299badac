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
        file = importlib.import_module(name[:-3]).FILE
        try:
            with open(file.path()) as f:
                committed = f.read()
        except FileNotFoundError:
            committed = None
        if committed == file.text():
            continue
        if sys.argv[1:] == ["--check"]:
            print(f"{file.name}.json is not what {name} spells", file=sys.stderr)
            stale += 1
        else:
            with open(file.path(), "w") as f:
                f.write(file.text())
            print(f"{file.name}.json: {file.document()['numberOfTests']} tests")
    sys.exit(1 if stale else 0)


main()
