#!/usr/bin/env python3
"""build.py          writes the JSON files whose source is in this directory and in exchanges/
build.py --check    exits 1 if a committed file differs from its source, or has none
"""
import importlib
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "exchanges")]
NO_SOURCE = ("build.py", "notation.py", "script.py", "answers.py")


def main():
    stale, written = 0, set()
    for directory, package in ((HERE, ""), (os.path.join(HERE, "exchanges"), "exchanges.")):
        for name in sorted(os.listdir(directory)):
            if not name.endswith(".py") or name in NO_SOURCE:
                continue
            module = importlib.import_module(package + name[:-3])
            for file in getattr(module, "FILES", None) or [module.FILE]:
                stale += update(file, name)
                written.add(os.path.normpath(file.path()))
    for directory in (os.path.join(HERE, ".."), os.path.join(HERE, "..", "exchanges")):
        for name in sorted(os.listdir(directory)):
            if name.endswith(".json") and os.path.normpath(os.path.join(directory, name)) not in written:
                print(f"{name} has no source", file=sys.stderr)
                stale += 1
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
        print(f"{os.path.basename(file.path())} differs from {source}", file=sys.stderr)
        return 1
    with open(file.path(), "w") as f:
        f.write(file.text())
    document = file.document()
    print(f"{os.path.basename(file.path())}: {len(document['scripts'])} scripts" if "scripts" in document else
          f"{os.path.basename(file.path())}: {document['numberOfTests']} tests")
    return 0


main()
