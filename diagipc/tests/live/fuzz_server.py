#!/usr/bin/env python3
"""fuzz_server.py [NAME]

A short campaign of `diagipc fuzz-server` against net10.0.9, or the runtime NAME: it must find a death (F-72), and reduce it to a message
of 20 bytes, without payload; `diagipc replay` must kill another process of that runtime with it. Prints one line per check; exits with 1
if one differs, with 77 if the runtime is not available here. $DIAGIPC is the program; without it, it is built.
"""
import json
import os
import subprocess
import sys
import tempfile
import threading

import checks
import launch
from built import diagipc
from checks import check

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 120
# Some of these have no payload.
CASES = ["--seed", "1", "--first", "70", "--cases", "16", "--tries", "6"]


def replayed(program, name, script):
    """Exit status of `replay` with a new process, and its output."""
    with launch.started(name, {}) as (process, directory):
        launch.default_socket(process, directory)
        # A process that has ended is gone only after a wait.
        threading.Thread(target=process.wait, daemon=True).start()
        done = subprocess.run([program, "replay", script, "--allow-harmful", "--to", str(process.pid)], text=True, timeout=SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": directory})
        return done.returncode, done.stdout


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else "net10.0.9"
    launch.fetch_or_skip(name)
    program = diagipc()
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([program, "fuzz-server", "--allow-harmful", "--json", *CASES, "--out", out, "--spawn", "--", sys.executable,
                               os.path.join(HERE, "spawn.py"), name], stdout=subprocess.PIPE, text=True, timeout=SECONDS)
        check(f"{name}: something is found", done.returncode == 1, f"exit status {done.returncode}\n{done.stdout}")
        findings = json.loads(done.stdout)["findings"] if done.stdout else []
        small = [one for one in findings if one["verdict"] == "crash" and len(one["minimised"]["message"]) == 40]
        known = [one for one in small if one["known"] and one["known"]["fact"] == "F-7" and one["reproduced"]]
        check(f"{name}: a death by an empty payload, known as F-7", bool(known), json.dumps(findings, indent=1))
        for one in known[:1]:
            status, said = replayed(program, name, os.path.join(out, one["name"] + ".json"))
            check(f"{name}: {one['command']} without payload kills another process of it", status == 0, said)
    return 1 if checks.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
