#!/usr/bin/env python3
"""clients.py [RUNTIME] [--rounds N]

Compares programs that send requests to a runtime: this crate, bare system calls, and `csclient`, which is Microsoft's client library
(found as in diagipc/tests/live/clients.py). One runtime is started (net10.0.12, or the named one), and the programs take turns, N rounds (12) of
500 operations; the best round of each counts. Prints the rows of benches/NOTES.md, ratios first; exits with 77 if a program or the runtime is not
available.
"""
import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "diagipc", "tests", "live"))
import launch
from built import built
from clients import SKIP, found

TIMES = 500
OPERATIONS = {"ProcessInfo3": "process-info", "ProcessEnvironment": "environment"}


def commands(ours, csclient, operation, pid):
    """By contender: the command that prints the microseconds of one operation."""
    return {
        "ours": [ours, "--operation", operation, str(TIMES)],
        "by hand": [ours, "--operation", operation + "-by-hand", str(TIMES)],
        "csclient": [csclient, "bench-" + operation, pid, str(TIMES)],
    }


def microseconds(command):
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=120).stdout
    return float(said.split()[-1])


def measure(ours, csclient, rounds):
    """The rows, from the runtime that launch.py started."""
    print("| operation | ours / by hand | ours / C# | ours, us | by hand, us | C#, us |\n|---|--:|--:|--:|--:|--:|")
    for name, operation in OPERATIONS.items():
        best = {}
        asked = list(commands(ours, csclient, operation, os.environ["DIAG_PID"]).items())
        for nth in range(rounds):
            # So that no program is always first.
            for contender, command in asked[nth % len(asked):] + asked[:nth % len(asked)]:
                best[contender] = min(best.get(contender, float("inf")), microseconds(command))
        we, hand, other = best["ours"], best["by hand"], best["csclient"]
        print(f"| {name} | {we / hand:.2f} | {we / other:.2f} | {we:.1f} | {hand:.1f} | {other:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtime", nargs="?", default="net10.0.12")
    parser.add_argument("--rounds", type=int, default=12)
    arguments = parser.parse_args()
    if "DIAG_PID" in os.environ:
        return measure(os.environ["OURS"], os.environ["CSCLIENT"], arguments.rounds)
    with tempfile.TemporaryDirectory() as directory:
        home = found(directory)
        if not home:
            print("SKIPPED: csclient not found; set $CSCLIENT to its path", file=sys.stderr)
            return SKIP
        launch.fetch_or_skip(arguments.runtime)
        ours = built("io", "build", "--release", "--manifest-path", "tests/measured/Cargo.toml", "--features", "io", "--bin", "io")
        again = [sys.executable, os.path.abspath(__file__), "--rounds", str(arguments.rounds)]
        command = [sys.executable, os.path.join(ROOT, "diagipc", "tests", "live", "launch.py"), arguments.runtime, "--", *again]
        environment = {**os.environ, "OURS": ours, "CSCLIENT": os.path.join(home, "csclient")}
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
