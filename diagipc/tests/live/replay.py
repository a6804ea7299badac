#!/usr/bin/env python3
"""replay.py

Plays what `diagipc` recorded of real runtimes to others, with `diagipc replay`. `diagipc proxy` records examples/info and examples/trace
with 10.0.9: another process of 10.0.9 behaves the same, and 8.0.30 lacks the command of the trace. A short campaign of `diagipc
fuzz-server` against 10.0.9 finds a death by an empty payload (F-7), whose script kills another process. Prints one line per check; exits
with 1 if one differs, with 77 if a runtime is not available here.
"""
import json
import os
import subprocess
import sys
import tempfile
import threading

import checks
import launch
from built import diagipc, example
from checks import check

SECONDS = 120
RECORDED, OTHER = "net10.0.9", "net8.0.30"
# Some of these have no payload.
CASES = ["--seed", "1", "--first", "70", "--cases", "16", "--tries", "6"]


def run(*command, **environment):
    """Runs a command; returns its exit status and its output."""
    done = subprocess.run([diagipc(), *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=SECONDS, env={**os.environ, **environment}, check=False)
    return done.returncode, done.stdout


def recordings(out):
    with launch.running(RECORDED, {}) as (process, _, socket):
        status, said = run("proxy", "--out", out, "--to", str(process.pid), "--", example("info"), "{pid}")
        check("info is recorded by process id", status == 0 and "10.0.9" in said, said)
        status, said = run("proxy", "--out", out, "--to", socket, "--", example("trace"), "{socket}", "1", "{tmpdir}/trace")
        check("trace is recorded by socket", status == 0 and " bytes, complete" in said, said)
    info, trace = (os.path.join(out, name + ".json") for name in ("info", "trace"))
    with launch.running(RECORDED, {}) as (process, _, socket):
        for path in info, trace:
            for to in str(process.pid), socket:
                status, said = run("replay", path, "--allow-harmful", "--to", to)
                check(f"{os.path.basename(path)} to another {RECORDED}", status == 0, said)
    with open(trace, encoding="utf-8") as file:
        steps = json.load(file)["scripts"][0]["steps"]
    with launch.running(OTHER, {}) as (process, _, _):
        # This runtime has no CollectTracing5 (F-68).
        where = next(nth for nth, step in enumerate(steps) if "session" in str(step.get("expect")))
        status, said = run("replay", trace, "--allow-harmful", "--to", str(process.pid))
        check(f"trace to {OTHER}", status == 1 and f"step {where}, " in said, said)


def findings(out):
    done = subprocess.run([diagipc(), "fuzz-server", "--allow-harmful", "--json", *CASES, "--out", out, "--spawn", "--", sys.executable,
                           launch.HERE + "/spawn.py", RECORDED], stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=False)
    check("something is found", done.returncode == 1, f"exit status {done.returncode}\n{done.stdout}")
    found = json.loads(done.stdout)["findings"] if done.stdout else []
    known = [one for one in found if one["verdict"] == "crash" and len(one["minimised"]["message"]) == 40 and one["reproduced"]
             and one["known"] and one["known"]["fact"] == "F-7"]
    check("a death by an empty payload, known as F-7", bool(known), json.dumps(found, indent=1))
    for one in known[:1]:
        with launch.started(RECORDED, {}) as (process, directory):
            launch.default_socket(process, directory)
            # A process that has ended is gone only after a wait.
            threading.Thread(target=process.wait, daemon=True).start()
            status, said = run("replay", f"{out}/{one['name']}.json", "--allow-harmful", "--to", str(process.pid), TMPDIR=directory)
            check(f"{one['command']} without payload kills another process", status == 0, said)


def main():
    launch.fetch_or_skip(RECORDED, OTHER)
    with tempfile.TemporaryDirectory(prefix="record-") as out:
        recordings(out)
    with tempfile.TemporaryDirectory() as out:
        findings(out)
    checks.finish()


if __name__ == "__main__":
    main()
