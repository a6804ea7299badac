#!/usr/bin/env python3
"""upstream.py [NAME ...]

Runs reproductions.py, whose reports are in spec/UPSTREAM.md, each reproduction on a process of its own of every build that it names and
that is at hand, and compares what they print. NAME: only these. Exits with 1 if one prints something else, with 77 if no build is at hand.
"""
import contextlib
import glob
import os
import subprocess
import sys
import tempfile

import checks
import launch
from checks import check
from clients import tools as unpacked
from reproductions import REPRODUCTIONS

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reproductions.py")


def printed(arguments, directory, tools):
    """Returns the lines that a reproduction prints."""
    environment = {**os.environ, "TMPDIR": directory, "PATH": os.pathsep.join([*tools, os.environ["PATH"]]), "DOTNET_EnableDiagnostics": "0"}
    done = subprocess.run([sys.executable, "-W", "ignore", PROGRAM, *arguments], capture_output=True, text=True, timeout=120,
                          env=environment, check=False)
    return done.stdout.splitlines() if not done.returncode else done.stderr.splitlines()[-3:]


def of_a_process(build, name, tools):
    """Returns the lines that a reproduction prints for a new process of this build."""
    _, _, createdump, environment = REPRODUCTIONS[name]
    copied = launch.with_createdump(build, createdump) if createdump else contextlib.nullcontext()
    with copied as executable, launch.started(build, environment, executable) as (process, directory):
        path = launch.default_socket(process, directory)
        if not environment.get("DOTNET_DefaultDiagnosticPortSuspend") and not build.startswith("net3."):
            launch.until_it_runs(path)
        lines = printed([name, path], directory, tools)
        for left in glob.glob(f"/tmp/perf*-{process.pid}.map") + glob.glob(f"/tmp/jit-{process.pid}.dump"):
            os.remove(left)
        return lines


def main():
    chosen, ran = sys.argv[1:] or list(REPRODUCTIONS), 0
    with tempfile.TemporaryDirectory() as directory:
        tools = unpacked(directory)
        for name in chosen:
            for names, expected in REPRODUCTIONS[name][1]:
                needed = [program for program in names if program.startswith("dotnet-")]
                if needed and not tools:
                    print(f"not at hand: {', '.join(needed)}")
                    continue
                builds = [build for build in names if build not in needed]
                outcomes = {}
                for build in launch.there(builds):
                    try:
                        outcomes[build] = of_a_process(build, name, [tools] if tools else [])
                    except OSError as error:
                        outcomes[build] = [str(error)]
                if not builds:
                    with tempfile.TemporaryDirectory() as home:
                        outcomes = {names[0]: printed([name], home, [tools])}
                for build, lines in outcomes.items():
                    check(f"{name}: {build}", lines == expected, f"expected {expected}\nwas      {lines}")
                    ran += 1
    checks.finish(0 if ran else checks.SKIP)


if __name__ == "__main__":
    main()
