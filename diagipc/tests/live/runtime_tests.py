#!/usr/bin/env python3
"""runtime_tests.py [NAME ...]

Builds tests/io and runs its module live_runtime against real runtimes; those that can be suspended are also started suspended, and with a
diagnostic port. Prints one line per run, and the output of a failed run, with VERBOSE=1 of every run; exits with 1 if one failed, with 77
if a runtime is not available.
"""
import os
import re
import subprocess
import sys

import checks
import launch
from built import built

SECONDS = 240
# How a runtime is started, and which tests need that.
WAYS = {
    "": ([], ["live_runtime::", "--skip", "live_runtime::suspended::", "--skip", "live_runtime::ports::"]),
    ", suspended": (["--suspended"], ["live_runtime::suspended::"]),
    ", suspended by a port": (["--ports", "@DIR@/port/socket,suspend"], ["live_runtime::ports::"]),
    ", with a port": (["--ports", "@DIR@/port/socket,nosuspend"], ["live_runtime::ports::"]),
}


def main():
    names = sys.argv[1:] or [*launch.USUAL, "net3.1.23"]
    launch.fetch_or_skip(*names)
    program = built("io", "test", "--workspace", "--all-features", "--test", "io", "--no-run")
    for name in names:
        # 3.1 has neither suspension nor ports.
        for way, (options, chosen) in list(WAYS.items())[:1 if name.startswith("net3.") else None]:
            command = [sys.executable, launch.HERE + "/launch.py", name, *options, "--", "timeout", "--kill-after=5", str(SECONDS), program,
                       "--ignored", "--nocapture", "--test-threads=1", *chosen]
            done = subprocess.run(command, env={**os.environ, "DIAG_SIDE_EFFECTS": "1"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, check=False)
            passed = re.search(r"^test result: ok\. ([1-9]\d*) passed; 0 failed; 0 ignored;", done.stdout, re.M)
            checks.check(f"{name}{way}: {passed[1] if passed else 'not all'} tests passed", passed and not done.returncode, done.stdout)
            if passed and os.environ.get("VERBOSE") == "1":
                print(done.stdout, flush=True)
    checks.finish()


if __name__ == "__main__":
    main()
