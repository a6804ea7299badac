"""The vectors as a package: `index.json`, `small.json`, `citations.json`, npm's manifest, and the licences, which a package must contain.

Only the tests of `small.json` and the names of the package are written here; the rest is derived from the other files. The version is
the crate's, in ../../Cargo.toml; each form of the package takes it from `index.json`.
"""
import hashlib
import json
import os
import re
import tomllib

from notation import HERE

VECTORS = os.path.normpath(os.path.join(HERE, ".."))
NAME = "dotnet-diagnostics-ipc-vectors"

# The first tests for a new codec: what it meets first, and the mistakes of most first versions.
SMALL = [
    1041, 1043, 1045, 1101, 1102, 1200, 1201, 1202, 1210, 1212, 1230, 1240, 1244, 1260, 1300, 1402,  # the grammar; strings above all
    2002, 2004, 2102, 2106, 2204, 2300, 2407, 2500,  # the header
    3000, 9001,  # the two general replies: OK and an error
    5001, 5022, 5050, 5055,  # one number: StopTracing
    8101, 8102, 8131,  # two strings: SetEnvironmentVariable
    5201, 5268,  # a list: CollectTracing2
    8501, 8520,  # a long reply: ProcessInfo2
    9300, 18001, 18200,  # bytes without a header
]


LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"]


class Text:
    """A file of the package, made from the others."""

    def __init__(self, name, text):
        self.name, self._text = name, text

    def path(self):
        return os.path.join(VECTORS, self.name)

    def text(self):
        return self._text

    def said(self):
        return f"{len(self._text):,} bytes"


def files(tests, scripts):
    """Returns the files made from the files of tests and of scripts."""
    small = chosen(tests)
    index = made_index(tests, scripts, small)
    cited = {"facts": facts(root("spec/ERRATA.md")), "requirements": tomllib.loads(root("spec/requirements.toml"))["requirement"],
             **tomllib.loads(root("vectors/source/glossary.toml"))}
    texts = [("index.json", pretty(index)), ("citations.json", pretty(cited)), ("package.json", npm(index["release"]))]
    return [small, *(Text(*text) for text in texts), *(Text(name, root(name)) for name in LICENCES)]


def facts(errata):
    """Returns the text of each fact, from the tables of ERRATA.md: number, severity, as printed, as shipped, and more."""
    rows = (re.sub(r"`|\*\*", "", line).split(" | ") for line in errata.splitlines() if re.match(r"\| [FP]-\d+ \|", line))
    return {row[0][2:]: f"As printed: {row[2].rstrip('.')}. As shipped: {row[3]}" for row in rows}


def root(name):
    """Returns the text of a file of the repository."""
    with open(os.path.join(VECTORS, "..", name)) as f:
        return f.read()


def release():
    """Returns the version of the crate."""
    return re.search(r'^version = "(.+)"$', root("Cargo.toml"), re.M)[1]


def chosen(tests):
    """Returns `small.json`: the tests with the numbers of SMALL, in groups of their names."""
    found, groups = set(), []
    for file in tests:
        for group in file.document()["groups"]:
            kept = [test for test in group["tests"] if test["tcId"] in SMALL]
            found.update(test["tcId"] for test in kept)
            if kept:
                groups.append((SMALL.index(kept[0]["tcId"]), {**group, "tests": kept}))
    assert len(SMALL) == len(set(SMALL)) and found == set(SMALL), f"small.json: not found {set(SMALL) - found}, or twice"
    small = type(tests[0])("small", "To begin with: tests from the other files, with their numbers", 0, 0)
    small.groups = [group for _, group in sorted(groups, key=lambda pair: pair[0])]
    return small


def made_index(tests, scripts, small):
    def entry(file, count):
        text = file.text()
        name = os.path.relpath(file.path(), VECTORS).replace(os.sep, "/")
        return {"name": name, "sha256": hashlib.sha256(text.encode()).hexdigest(), count: file.document()[count]}

    commands = {}
    for file in tests:
        for group in file.document()["groups"]:
            if group["command"]:
                command = commands.setdefault(group["command"], {"since": group["since"], "tests": []})
                assert command["since"] == group["since"], f"{group['name']}: {group['command']} since {group['since']}"
                command["tests"] += [test["tcId"] for test in group["tests"]]
    commands = {name: {**command, "tests": sorted(command["tests"])} for name, command in sorted(commands.items())}
    versions = {}
    for name, command in commands.items():
        versions.setdefault(command["since"], []).append(name)
    by_name = sorted(tests, key=lambda file: file.name), sorted(scripts, key=lambda file: file.path())
    return {
        "schema": "index.schema.json", "format": 1, "release": release(),
        "numberOfTests": sum(file.document()["numberOfTests"] for file in tests),
        "numberOfScripts": sum(file.document()["numberOfScripts"] for file in scripts),
        "files": [entry(file, "numberOfTests") for file in by_name[0]],
        "exchanges": [entry(file, "numberOfScripts") for file in by_name[1]],
        "small": entry(small, "numberOfTests"),
        "commands": commands,
        "versions": {version: versions[version] for version in sorted(versions, key=lambda text: [int(part) for part in text.split(".")])},
    }


def pretty(index):
    """Returns JSON with one line per file, command, version, fact, requirement, flag and word."""
    def member(key, value):
        if key in ("files", "exchanges", "requirements"):
            value = "[\n" + ",\n".join("  " + json.dumps(item, ensure_ascii=False) for item in value) + "\n ]"
        elif key in ("commands", "versions", "facts", "flags", "words"):
            value = "{\n" + ",\n".join(f"  {json.dumps(name)}: {json.dumps(item, ensure_ascii=False)}" for name, item in value.items()) + "\n }"
        else:
            value = json.dumps(value)
        return f" {json.dumps(key)}: {value}"
    return "{\n" + ",\n".join(member(*pair) for pair in index.items()) + "\n}\n"


def npm(version):
    return json.dumps({
        "name": NAME,
        "version": version,
        "description": "Golden vectors of the .NET Diagnostic IPC Protocol (DOTNET_IPC_V1)",
        "license": "MIT OR Apache-2.0",
        "main": "vectors.js",
        "files": ["*.json", "exchanges/*.json", "schema/*.json", "vectors.js", "*.md", "exchanges/*.md", "LICENSE-*"],
    }, indent=1) + "\n"
