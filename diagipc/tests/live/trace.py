#!/usr/bin/env python3
"""trace.py [--diagipc PROGRAM]

`diagipc trace` on real runtimes: from the first instruction with `-- COMMAND`, with children, each profile, and events that are dropped. Each
file is read by Microsoft's parser, if it is there (official_tools.py), which must count the same. Prints one line per check; exits with 1
if one differs, with 77 if a runtime is not available here.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

import checks
import launch
import nettrace
import official_tools
from built import diagipc
from checks import check
from clients import command_line

RUNTIME, HOSTED = "net10.0.12", "net8.0.4"
ONE_FILE = ["aot9.0.20", "aot10.0.12"]
PROFILES = ["dotnet-common", "dotnet-sampled-thread-time", "gc-verbose", "gc-collect", "database", "gcdump"]
CLR, PRIVATE = "Microsoft-Windows-DotNETRuntime", "Microsoft-Windows-DotNETRuntimePrivate"
# GCBulkType, GCBulkNode, GCBulkEdge.
BULK = {(CLR, 15), (CLR, 18), (CLR, 19)}
# Activity1Start, Activity1Stop, Activity2Start, Activity2Stop.
COMMANDS = {("Microsoft-Diagnostics-DiagnosticSource", number) for number in (22, 23, 24, 25)}
SECONDS = 120


def events(path):
    """Provider and id of the events in a file."""
    kinds, seen = {}, set()
    with open(path, "rb") as file:
        for kind, metadata, _, _, payload in nettrace.blobs(file.read()):
            if kind == b"MetadataBlock":
                described = nettrace.described(payload[4:])
                kinds[struct.unpack_from("<I", payload)[0]] = (described.provider, described.id)
            else:
                seen.add(kinds[metadata])
    return seen


class Traces:
    def __init__(self, diagipc, directory, parser):
        self.diagipc, self.directory, self.parser = diagipc, directory, parser
        self.env = {**os.environ, "TMPDIR": directory, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}

    def run(self, name, *arguments):
        """Its file, its status, and what it says on standard output and on standard error."""
        path = os.path.join(self.directory, name + ".nettrace")
        done = subprocess.run([self.diagipc, "trace", "-o", path, *arguments], env=self.env, capture_output=True, text=True, timeout=SECONDS,
                              stdin=subprocess.DEVNULL, check=False)
        return path, done.returncode, done.stdout, done.stderr

    def parsed(self, path):
        """What Microsoft's parser says of a file; nothing without it."""
        if not self.parser:
            return None
        read = subprocess.run([self.parser, path], env={**self.env, "DOTNET_EnableDiagnostics": "0"}, stdout=subprocess.PIPE, text=True,
                              timeout=SECONDS, check=False)
        return json.loads(read.stdout)

    def is_read(self, path, lost=0):
        parsed = self.parsed(path)
        return parsed is None or (parsed["error"] is None and parsed["events"] > 0 and parsed["lost"] == lost)


def from_the_start(traces, name):
    subject = launch.fetch(name)
    start = ["-p", PRIVATE + ":80000000:4"]
    path, status, _, said = traces.run("start-" + name, *start, "--", "sh", "-c", '"$0"; exit 5', subject)
    check(f"{name}: a command is traced to its end, with its status", status == 5 and "bytes, complete" in said and traces.is_read(path), said)
    return path


def main():
    arguments = command_line(__doc__)
    launch.fetch_or_skip(RUNTIME, HOSTED, *ONE_FILE)
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as tools:
        home = official_tools.found(tools)
        if not home:
            print("note: no parser of Microsoft's here", file=sys.stderr)
        traces = Traces(diagipc(arguments.diagipc), directory, home and os.path.join(home, "nettrace-read"))
        for name in [RUNTIME, *ONE_FILE]:
            path = from_the_start(traces, name)
        check(f"{RUNTIME}: the first event of the start is in it", (PRIVATE, 80) in events(os.path.join(directory, f"start-{RUNTIME}.nettrace")))
        subject = launch.fetch(RUNTIME)
        script = '"$0" & "$0"; wait; "$0"'
        path, status, _, said = traces.run("children", "--", "sh", "-c", script, subject)
        check("children of a command are resumed, and end", status == 0 and said.count("resumed, not traced") >= 1 and traces.is_read(path), said)
        with subprocess.Popen([subject], env=traces.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
            launch.default_socket(process, directory)
            for profile in PROFILES:
                path, status, _, said = traces.run(profile, str(process.pid), "--profile", profile, "-d", "1s")
                check(f"--profile {profile} is complete", status == 0 and traces.is_read(path), said)
            bulk = BULK & events(os.path.join(directory, "gcdump.nettrace"))
            check("the file of gcdump has the bulk events of the heap", bulk == BULK, bulk)
            dropped(traces, process.pid)
            process.stdin.close()
        with launch.hosted(HOSTED, directory, "database") as process:
            # On a busy machine the program writes none of them for seconds.
            for duration in ("2s", "10s", "30s"):
                path, status, _, said = traces.run("commands", str(process.pid), "--profile", "database", "-d", duration)
                if status or COMMANDS <= events(path):
                    break
            check("--profile database has the commands of a program", status == 0 and COMMANDS <= events(path) and traces.is_read(path), said)
    return 1 if checks.wrong else 0


def dropped(traces, pid):
    """Into a pipe that nobody reads, with the smallest buffer."""
    path = os.path.join(traces.directory, "dropped.nettrace")
    with open(path, "wb") as file:
        command = [traces.diagipc, "trace", str(pid), "--buffer", "1", "-d", "6s", "-o", "-", "-p", CLR + ":98001:5,Microsoft-DotNETCore-SampleProfiler"]
        with subprocess.Popen(command, env=traces.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=False) as trace:
            time.sleep(7)
            stream = trace.stdout.read()
            said = trace.stderr.read().decode()
        file.write(stream)
    number = said.rpartition("the runtime dropped ")[2].partition(" ")[0]
    is_counted = trace.returncode == 1 and number.isdigit() and traces.is_read(path, int(number))
    check("dropped events are counted as by Microsoft's parser, and end with 1", is_counted, f"{said}{traces.parsed(path)}")


if __name__ == "__main__":
    sys.exit(main())
