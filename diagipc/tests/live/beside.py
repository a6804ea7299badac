#!/usr/bin/env python3
"""beside.py [--diagipc PROGRAM] [--pid PID] [--runs N] [--write]

Measures `diagipc` and Microsoft's dotnet-trace in turns, on one machine and one process: first net10.0.12 of launch.py, then a process that
writes many events (hosted.py), or with --pid one of yours. Figures are medians; their ratio also holds on other machines.
 --write puts the table into diagipc/tests/live/RESULTS.md. The tools are those of clients.py; exits with 77 if they are not there.
"""
import argparse
import glob
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import clients
import launch
from built import ROOT, diagipc

RUNTIME = "net10.0.12"
# The runtime that writes many events (hosted.py), and the megabytes in a second.
BUSY, WRITTEN = "net8.0.4", (160, 400)
PAGE = os.path.join(ROOT, "diagipc/tests/live/RESULTS.md")
BEGIN, END = "<!-- measured -->\n", "<!-- end of measured -->\n"
# The runtime's own events and samples of stacks, the same for both tools.
PROVIDERS = "Microsoft-Windows-DotNETRuntime:4c14fccbd:5,Microsoft-DotNETCore-SampleProfiler:0:4"
BUSY_PROVIDERS = "Busy:ffffffffffffffff:5"
TRACED = 5
SECONDS = 120


def spent():
    """Returns the seconds of processor time of all children that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Tool:
    def __init__(self, name, ps, trace, env):
        self.name, self.ps, self.trace, self.env = name, ps, trace, env

    def lists(self):
        """Returns how many seconds `ps` takes."""
        began = time.monotonic()
        subprocess.run(self.ps, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                       timeout=SECONDS)
        return {"list": time.monotonic() - began}

    def traces(self, pid, directory, parser):
        """Traces some seconds. Returns the seconds until the file has bytes, the processor seconds, the bytes, and the parser's result."""
        file = os.path.join(directory, self.name + ".nettrace")
        used, began, first = spent(), time.monotonic(), None
        command = [word.format(pid=pid, file=file, seconds=TRACED) for word in self.trace]
        with subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and time.monotonic() - began < SECONDS:
                if first is None and any(os.path.getsize(path) for path in glob.glob(directory + "/*.nettrace*")):
                    first = time.monotonic() - began
                time.sleep(0.001 if first is None else 0.02)
            if process.poll() is None:
                process.kill()
        used = spent() - used
        size = os.path.getsize(file)
        read = subprocess.run([parser, file], env=self.env, stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=False)
        read = json.loads(read.stdout)
        os.remove(file)
        return {"first": first, "used": used, "bytes": size, "events": read["events"], "lost": read["lost"], "error": read["error"]}


IDLE_ROWS = [
    ("list", "the list of processes, on the clock", lambda value: f"{value * 1000:.0f} ms"),
    ("first", "from the start of the tool until the file has bytes", lambda value: f"{value * 1000:.0f} ms"),
    ("used", f"processor time of a session of {TRACED} s", lambda value: f"{value * 1000:.0f} ms"),
    ("bytes", "bytes in the file", lambda value: f"{value:,.0f}"),
    ("events", "events in the file, by Microsoft's parser", lambda value: f"{value:,.0f}"),
    ("lost", "events that were lost, by the same", lambda value: f"{value:,.0f}"),
]
BUSY_ROWS = IDLE_ROWS[2:]


def table(tools, seen, runs, about, rows):
    lines = [f"{about}, {runs} runs of each in turns, {os.cpu_count()} processors, {platform.system()}: medians.", "",
             f"| | {tools[0].name} | {tools[1].name} | ratio |", "|---|--:|--:|--:|"]
    for key, words, text in rows:
        ours, theirs = (statistics.median(one[key] for one in seen[tool.name] if key in one) for tool in tools)
        ratio = f"{theirs / ours:.1f}" if ours and key in ("list", "first", "used") else ""
        lines.append(f"| {words} | {text(ours)} | {text(theirs)} | {ratio} |")
    return "\n".join(lines) + "\n"


def measure(tools, pid, runs, directory, parser):
    seen = {tool.name: [] for tool in tools}
    for _ in range(runs):
        for tool in tools:
            seen[tool.name].append({**tool.lists(), **tool.traces(pid, directory, parser)})
            if seen[tool.name][-1]["error"]:
                sys.exit(f"{tool.name}: {seen[tool.name][-1]}")
    return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--diagipc")
    parser.add_argument("--pid", type=int)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as unpacked:
        home = clients.tools(unpacked)
        if not home:
            launch.missing("dotnet-trace", "not found")
            return launch.SKIP
        # The tool is a .NET program too, whose own socket nobody needs.
        env = {**os.environ, "PATH": home + os.pathsep + os.environ["PATH"], "DOTNET_EnableDiagnostics": "0"}
        program = diagipc(arguments.diagipc)
        tables = []

        def compared(pid, directory, providers, rows, about):
            """Adds the table of a process. If the script started it, its TMPDIR is `directory`."""
            own = env if pid == arguments.pid else {**env, "TMPDIR": directory}
            given = ["{pid}", "--providers", providers, "--duration"]
            trace = [program, "trace", *given, "{seconds}", "-o", "{file}"]
            collect = ["dotnet-trace", "collect", "-p", *given, "00:00:0{seconds}", "-o", "{file}"]
            tools = Tool("diagipc", [program, "ps"], trace, own), Tool("dotnet-trace", ["dotnet-trace", "ps"], collect, own)
            seen = measure(tools, pid, arguments.runs, directory, os.path.join(home, "nettrace-read"))
            tables.append(table(tools, seen, arguments.runs, about, rows))
            print(tables[-1], flush=True)

        if arguments.pid:
            with tempfile.TemporaryDirectory() as directory:
                compared(arguments.pid, directory, PROVIDERS, IDLE_ROWS, "A process of yours")
        else:
            launch.fetch_or_skip(RUNTIME, BUSY)
            with launch.started(RUNTIME, {}) as (process, directory):
                launch.default_socket(process, directory)
                compared(process.pid, directory, PROVIDERS, IDLE_ROWS, f"{RUNTIME} without work")
            for megabytes in WRITTEN:
                with tempfile.TemporaryDirectory() as directory, launch.hosted(BUSY, directory, "many", str(megabytes)) as process:
                    about = f"{BUSY}, which writes {megabytes} MB of events in a second if it can"
                    compared(process.pid, directory, BUSY_PROVIDERS, BUSY_ROWS, about)
        version = re.search(r"[0-9.]+", subprocess.run(["dotnet-trace", "--version"], env=env, capture_output=True, text=True, check=True).stdout)
        text = "\n".join(tables).replace("| dotnet-trace |", f"| dotnet-trace {version.group()} |")
        if arguments.write:
            with open(PAGE, encoding="utf-8") as file:
                before, _, rest = file.read().partition(BEGIN)
            with open(PAGE, "w", encoding="utf-8") as file:
                file.write(before + BEGIN + text + END + rest.partition(END)[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
