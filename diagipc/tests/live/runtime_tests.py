#!/usr/bin/env python3
"""runtime_tests.py [NAME ...]

Builds tests/io and runs its module live_runtime against real runtimes, by default all of launch.py; those that can be suspended are also
started suspended, and with a diagnostic port. Prints one line per run, and the output of a failed run; exits with 1 if one failed, with
77 if a runtime is not available.
With VERBOSE=1 it prints the output of every run.
"""
import contextlib
import os
import re
import subprocess
import sys

import launch
from built import built

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 240
# How a runtime is started, and which tests need that.
WAYS = {
    "": ([], ["live_runtime::", "--skip", "live_runtime::suspended::", "--skip", "live_runtime::ports::"]),
    ", suspended": (["--suspended"], ["live_runtime::suspended::"]),
    ", suspended by a port": (["--ports", "@DIR@/port/socket,suspend"], ["live_runtime::ports::"]),
    ", with a port": (["--ports", "@DIR@/port/socket,nosuspend"], ["live_runtime::ports::"]),
}


def run(name, options, chosen, program):
    """Whether the tests passed against that runtime, how many, and their output; None if it is not available."""
    command = [sys.executable, os.path.join(HERE, "launch.py"), name, *options, "--", program, "--ignored", "--nocapture",
               "--test-threads=1", *chosen]
    environment = {**os.environ, "DIAG_SIDE_EFFECTS": "1"}
    # A separate group, so that all of it is ended after the time limit.
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True)
    try:
        said, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        said, _ = process.communicate()
        return False, 0, f"{said}\ntimed out after {SECONDS} s"
    if process.returncode == launch.SKIP:
        return None, 0, said
    passed = re.search(r"^test result: ok\. (\d+) passed; 0 failed; 0 ignored;", said, re.M)
    count = int(passed[1]) if passed else 0
    return process.returncode == 0 and count > 0, count, said


def main():
    known = [*launch.RUNTIMES, "net3.1.23"]
    names = sys.argv[1:] or known
    if not set(names) <= set(known):
        sys.exit(f"{__doc__}\nNAME is one of {', '.join(known)}")
    program = built("io", "test", "--workspace", "--all-features", "--test", "io", "--no-run")
    wrong = skipped = 0
    for name in names:
        for way, (options, chosen) in WAYS.items():
            if way and name == "net3.1.23":
                continue  # 3.1 has neither
            passed, count, said = run(name, options, chosen, program)
            how = name + way
            if passed is None:
                print(f"SKIPPED: {said.strip()}", file=sys.stderr)
                skipped += 1
                break
            print(f"{how}: {count} tests passed" if passed else f"{how}: DIFFERS", flush=True)
            if not passed or os.environ.get("VERBOSE") == "1":
                print(said, flush=True)
            wrong += not passed
    sys.exit(1 if wrong else launch.SKIP if skipped else 0)


if __name__ == "__main__":
    main()
