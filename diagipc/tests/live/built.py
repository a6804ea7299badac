"""Builds a program with cargo. Used by the other scripts here."""

import json
import os
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")


def built(target, command, *options):
    """The path of the program with that name, built by `cargo COMMAND OPTIONS`."""
    messages = subprocess.run(["cargo", command, *options, "--message-format", "json"], cwd=ROOT, check=True, stdout=subprocess.PIPE,
                              text=True).stdout
    for message in map(json.loads, messages.splitlines()):
        if message.get("executable") and message["target"]["name"] == target:
            return message["executable"]
    return sys.exit(f"cargo did not report the path of {target}")
