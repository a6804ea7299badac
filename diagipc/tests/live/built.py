"""Finds the programs that the scripts here use: those of the project, which cargo builds, and those beside the repository."""

import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def built(target, command, *options):
    """Returns the path of the program with that name, built by `cargo COMMAND OPTIONS`."""
    messages = subprocess.run(["cargo", command, *options, "--message-format", "json"], cwd=ROOT, check=True, stdout=subprocess.PIPE,
                              text=True).stdout
    for message in map(json.loads, messages.splitlines()):
        if message.get("executable") and message["target"]["name"] == target:
            return message["executable"]
    return sys.exit(f"cargo did not report the path of {target}")


def diagipc(given=None):
    """Returns the path of diagipc: the given path, $DIAGIPC, or a program that is built."""
    return os.path.abspath(given or os.environ.get("DIAGIPC") or built("diagipc", "build", "-p", "diagipc", "--bin", "diagipc"))


def example(name):
    """Returns the path of an example: beside $DIAGIPC, or built."""
    if program := os.environ.get("DIAGIPC"):
        return os.path.join(os.path.dirname(program), "examples", name)
    return built(name, "build", "--workspace", "--all-features", "--example", name)


def shared(pattern):
    """Returns the files that match in ../shared, beside the repository or beside its main worktree."""
    said = subprocess.run(["git", "rev-parse", "--path-format=absolute", "--git-common-dir"], cwd=ROOT, capture_output=True, text=True,
                          check=False).stdout.strip()
    homes = {ROOT, os.path.dirname(said) or ROOT}
    return sorted({os.path.realpath(path) for home in homes for path in glob.glob(os.path.join(home, "..", "shared", pattern))})
