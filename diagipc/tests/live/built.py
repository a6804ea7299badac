"""Finds the programs that the scripts here use: those of the project, which cargo builds, and those beside the repository."""

import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def built(target, command, *options):
    """The path of the program with that name, built by `cargo COMMAND OPTIONS`."""
    messages = subprocess.run(["cargo", command, *options, "--message-format", "json"], cwd=ROOT, check=True, stdout=subprocess.PIPE,
                              text=True).stdout
    for message in map(json.loads, messages.splitlines()):
        if message.get("executable") and message["target"]["name"] == target:
            return message["executable"]
    return sys.exit(f"cargo did not report the path of {target}")


def diagipc(given=None):
    """The path of diagipc: the given one, that of $DIAGIPC, or one that is built."""
    return os.path.abspath(given or os.environ.get("DIAGIPC") or built("diagipc", "build", "-p", "diagipc", "--bin", "diagipc"))


def example(name):
    """The path of an example: the one beside $DIAGIPC, or one that is built."""
    if program := os.environ.get("DIAGIPC"):
        return os.path.join(os.path.dirname(program), "examples", name)
    return built(name, "build", "--workspace", "--all-features", "--example", name)


def shared(pattern):
    """The files that match in ../shared, beside the repository or beside the one whose worktree this is."""
    said = subprocess.run(["git", "rev-parse", "--path-format=absolute", "--git-common-dir"], cwd=ROOT, capture_output=True, text=True,
                          check=False).stdout.strip()
    homes = {ROOT, os.path.dirname(said) or ROOT}
    return sorted({os.path.realpath(path) for home in homes for path in glob.glob(os.path.join(home, "..", "shared", pattern))})
