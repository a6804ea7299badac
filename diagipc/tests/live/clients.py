#!/usr/bin/env python3
"""clients.py [--diagipc PROGRAM] [--all]

Tests Microsoft's client library: `csclient` is Microsoft.Diagnostics.NETCore.Client 0.2.731102 in a program that does one operation per
run. The failures must be those in `diagipc/clients/csclient.known.toml`, case by case; a selection of short cases, or all with --all (two
minutes). The program is searched at $CSCLIENT, in the PATH, and in ../shared/clients next to the repository, where it may be compressed
(`csclient*.xz`). Prints one line per check; exits with 1 if one differs, with 77 if the program is not found.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib

import checks
import launch
from built import ROOT, diagipc, shared
from checks import check

SKIP = 77
CLIENTS = os.path.join(ROOT, "diagipc", "clients")
PROFILE = "coreclr-10"
# At least one case of each known fault, except those that wait until a client gives up; and some cases that pass.
SELECTION = ["request/*", "text/latin/*", "size/*/set-env", "reply/*/resume", "reply/*/attach", "replies/reply-cut-*", "replies/ok-*",
             "strings/*", "entries/*", "environment/environment-odd-entries", "environment/environment-count-too-large",
             "discovery/*/process-info", "tool_ports/tool-port", "streams/session-collect-tracing2"]
SECONDS = 300


def found(directory):
    """The directory of a program `csclient`, or None."""
    given = os.environ.get("CSCLIENT") or shutil.which("csclient")
    if given:
        os.symlink(os.path.abspath(given), os.path.join(directory, "csclient"))
        return directory
    for archive in shared("clients/csclient*.xz"):
        path = os.path.join(directory, "csclient")
        with open(path, "wb") as file:
            subprocess.run(["xz", "-dc", archive], check=True, stdout=file, timeout=60)
        os.chmod(path, 0o755)
        return directory
    return None


def command_line(description):
    """The arguments: --diagipc and --all."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--diagipc")
    parser.add_argument("--all", action="store_true")
    return parser.parse_args()


def main():
    arguments = command_line(__doc__)
    with tempfile.TemporaryDirectory() as directory:
        home = found(directory)
        if not home:
            launch.missing("csclient", "set $CSCLIENT to its path")
            return SKIP
        known_file = os.path.join(CLIENTS, "csclient.known.toml")
        only = [] if arguments.all else [word for pattern in SELECTION for word in ("--only", pattern)]
        done = subprocess.run([diagipc(arguments.diagipc), "client", "--json", "--profile", PROFILE, "--known", known_file, "--operations",
                               os.path.join(CLIENTS, "csclient.toml"), *only], stdout=subprocess.PIPE, text=True, timeout=SECONDS * 2,
                              env={**os.environ, "PATH": home + os.pathsep + os.environ["PATH"]}, check=False)
    report = json.loads(done.stdout)
    with open(known_file, "rb") as file:
        known = tomllib.load(file)["cases"]
    played = {case["name"] for case in report["cases"] if case["grade"] != "unimplemented"}
    expected = {(fault, case) for fault, cases in known.items() for case in cases if case in played}
    accepted = {(fault["name"], case["name"]) for case in report["cases"] for fault in case.get("faults", [])
                if case["grade"] == "informational"}
    failed = [f"{case['name']}: {', '.join(case['detail']['found'][:2])}" for case in report["cases"] if case["grade"] == "fail"]
    check(f"csclient: {len(played)} cases, no unknown failure", done.returncode == 0 and not failed, "\n".join(failed))
    check(f"csclient: {len(expected)} known faults in their cases, all present", expected <= accepted, sorted(expected - accepted))
    waits = {"no-read-timeout", "reads-until-close"}
    missing = set(known) - {fault for fault, _ in expected} - (set() if arguments.all else waits)
    check("csclient: each known fault has a case that was run", not missing, sorted(missing))
    check("csclient: no entry is unknown or gone", not [note for note in report.get("notes", []) if "accepted" in note], report.get("notes"))
    return 1 if checks.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
