#!/usr/bin/env python3
"""build.py          writes the JSON files whose source is in this directory, in exchanges/ and in clients/, then what package.py makes of them
build.py --check    exits 1 if a committed file differs from its source, or has none
"""
import importlib
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
DIRECTORIES = ["", "exchanges", "clients"]
sys.path[:0] = [os.path.join(HERE, directory) for directory in DIRECTORIES]
NO_SOURCE = ("build.py", "package.py", "notation.py", "script.py", "answers.py", "nettrace.py", "scenario.py", "asked.py")
import package  # noqa: E402, from HERE
# The directories of the written files.
WRITTEN = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "exchanges"), os.path.join(HERE, "..", "..", "diagipc", "clients", "scenarios")]


def main():
    stale, written, made = 0, set(), {directory: [] for directory in DIRECTORIES}
    for directory in DIRECTORIES:
        for name in sorted(os.listdir(os.path.join(HERE, directory))):
            if not name.endswith(".py") or name in NO_SOURCE:
                continue
            module = importlib.import_module((directory and directory + ".") + name[:-3])
            for file in getattr(module, "FILES", None) or [module.FILE]:
                stale += update(file, name)
                made[directory].append(file)
                written.add(os.path.normpath(file.path()))
    for file in package.files(made[""], made["exchanges"]):
        stale += update(file, "package.py")
        written.add(os.path.normpath(file.path()))
    for directory in WRITTEN:
        for name in sorted(os.listdir(directory)):
            if name.endswith(".json") and os.path.normpath(os.path.join(directory, name)) not in written:
                print(f"{name} has no source", file=sys.stderr)
                stale += 1
    sys.exit(1 if stale else 0)


def update(file, source):
    """Writes one file, or only compares it; returns 1 if the comparison failed."""
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
    print(f"{os.path.basename(file.path())}: {said(file)}")
    return 0


def said(file):
    """Says how much is in a file."""
    if isinstance(file, package.Text):
        return file.said()
    document = file.document()
    return next(f"{document[key]} {key[8:].lower()}" for key in document if key.startswith("numberOf"))


main()
