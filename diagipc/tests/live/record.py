#!/usr/bin/env python3
"""record.py

Records examples/info and examples/trace with net10.0.9, by `diagipc proxy`, and replays the recordings: to another process of net10.0.9,
which must behave the same; and the trace to net8.0.30, which lacks its command. Prints one line per check;
exits with 1 if one differs, with 77 if a runtime is not available here.
"""
import json
import os
import subprocess
import sys
import tempfile

import checks
import launch
from built import diagipc, example
from checks import check

SECONDS = 60
RECORDED, OTHER = "net10.0.9", "net8.0.30"


def run(*command, environment=None):
    """Exit status and output."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=SECONDS, env={**os.environ, **(environment or {})})
    return done.returncode, done.stdout


def with_runtime(name, use):
    """Calls `use` with the process id and the socket of a runtime."""
    with launch.running(name, {}) as (process, _, socket):
        use(str(process.pid), socket)


def main():
    launch.fetch_or_skip(RECORDED, OTHER)
    program = diagipc()
    info, trace = example("info"), example("trace")
    with tempfile.TemporaryDirectory(prefix="record-") as out:
        def record(pid, socket):
            status, said = run(program, "proxy", "--out", out, "--to", pid, "--", info, "{pid}")
            check("info is recorded by process id", status == 0 and "10.0.9" in said, said)
            status, said = run(program, "proxy", "--out", out, "--to", socket, "--", trace, "{socket}", "1", "{tmpdir}/trace")
            check("trace is recorded by socket", status == 0 and " bytes, complete" in said, said)
        with_runtime(RECORDED, record)
        if checks.wrong:
            sys.exit(1)
        files = {name: os.path.join(out, name + ".json") for name in ("info", "trace")}
        with open(files["trace"], encoding="utf-8") as file:
            script = json.load(file)["scripts"][0]

        def replay_same(pid, socket):
            for name, path in files.items():
                for to in (pid, socket):
                    status, said = run(program, "replay", path, "--to", to)
                    check(f"{name} to another {RECORDED}", status == 0, said)
        with_runtime(RECORDED, replay_same)

        def replay_other(pid, _):
            # It has no CollectTracing5 (F-68).
            where = next(nth for nth, step in enumerate(script["steps"]) if "session" in str(step.get("expect")))
            status, said = run(program, "replay", files["trace"], "--to", pid)
            check(f"trace to {OTHER}", status == 1 and f"step {where}, " in said, said)
        with_runtime(OTHER, replay_other)
    sys.exit(1 if checks.wrong else 0)


if __name__ == "__main__":
    main()
