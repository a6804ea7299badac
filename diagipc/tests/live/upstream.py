#!/usr/bin/env python3
"""upstream.py [WORDS]

Runs the reproductions of spec/UPSTREAM.md as the page has them, each on a process of its own of every build in its table that is at hand, and
compares what they print. WORDS: only sections whose heading has them. Exits with 1 if one prints something else, with 77 if no build is at hand.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

import checks
import launch
from built import ROOT
from checks import check
from clients import tools as unpacked

PAGE = os.path.join(ROOT, "spec", "UPSTREAM.md")


def sections():
    """Heading, code and rows of each section with a table of builds; a row is its builds and what they print. First the common lines."""
    with open(PAGE, encoding="utf-8") as file:
        before, *parts = re.split(r"^## ", file.read(), flags=re.M)
    (common,) = code(before)
    for part in parts:
        if "| build | prints |" in part:
            (own,) = code(part)
            rows = re.findall(r"^\| ([^|]*) \| (`[^|]*`) \|$", part[part.index("| build | prints |"):], re.M)
            yield part.splitlines()[0], common, own, [(builds.split(", "), re.findall("`([^`]*)`", lines)) for builds, lines in rows]


def code(part):
    return re.findall(r"^```python\n(.*?)^```", part, re.S | re.M)


def variables(own):
    """What the process is started with, according to the first line."""
    named = re.match(r"# started with (\w+)=(.*)\n", own)
    return {named[1]: re.sub(r"\\x(..)", lambda byte: os.fsdecode(bytes.fromhex(byte[1])), named[2])} if named else {}


def printed(program, arguments, directory, tools):
    """The lines that a reproduction prints."""
    environment = {**os.environ, "TMPDIR": directory, "PATH": os.pathsep.join([*tools, os.environ["PATH"]]), "DOTNET_EnableDiagnostics": "0"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program, *arguments], capture_output=True, text=True, timeout=120,
                          env=environment, check=False)
    return done.stdout.splitlines() if not done.returncode else done.stderr.splitlines()[-3:]


def of_a_process(build, program, environment, tools):
    """The same of a new process of this build."""
    with launch.started(build, environment) as (process, directory):
        path = launch.default_socket(process, directory)
        if not environment.get("DOTNET_DefaultDiagnosticPortSuspend") and not build.startswith("net3."):
            launch.until_it_runs(path)
        lines = printed(program, [path], directory, tools)
        for left in glob.glob(f"/tmp/perf*-{process.pid}.map") + glob.glob(f"/tmp/jit-{process.pid}.dump"):
            os.remove(left)
        return lines


def main():
    words, ran = " ".join(sys.argv[1:]), 0
    with tempfile.TemporaryDirectory() as directory:
        tools = unpacked(directory)
        for heading, common, own, rows in sections():
            if words not in heading:
                continue
            for names, expected in rows:
                needed = [name for name in names if name.startswith("dotnet-")]
                if needed and not tools:
                    print(f"not at hand: {', '.join(needed)}")
                    continue
                builds = [name for name in names if name not in needed]
                outcomes = {}
                for build in launch.there(builds):
                    try:
                        outcomes[build] = of_a_process(build, common + own, variables(own), [tools] if tools else [])
                    except OSError as error:
                        outcomes[build] = [str(error)]
                if not builds:
                    with tempfile.TemporaryDirectory() as home:
                        outcomes = {names[0]: printed(common + own, [], home, [tools])}
                for build, lines in outcomes.items():
                    check(f"{heading}: {build}", lines == expected, f"expected {expected}\nwas      {lines}")
                    ran += 1
    checks.finish(0 if ran else checks.SKIP)


if __name__ == "__main__":
    main()
