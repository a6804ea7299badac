#!/usr/bin/env python3
"""trace.py [--diagipc PROGRAM]

`diagipc trace` on real runtimes: from the first instruction with `-- COMMAND`, with children, each profile, and events that are dropped. Each
file is read by Microsoft's parser, if it is there (clients.py), which must count the same. The clients of the codecs for C and Go store
whole files of 10.0.9 and NativeAOT. Prints one line per check; exits with 1 if one differs, with 77 if a runtime is not available here.
"""
import argparse
import concurrent.futures
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

import checks
import clients
import launch
import nettrace
from built import ROOT, diagipc
from checks import check

RUNTIME, HOSTED = "net10.0.12", "net8.0.4"
ONE_FILE = ["aot9.0.20", "aot10.0.12"]
OF_C_AND_GO = ["net10.0.9", "aot9.0.20"]
THAT_WAIT = ["net8.0.30", "net8.0.34", "net9.0.5", "net9.0.23", "net10.0.9", "net10.0.12", "net10.0.15", "net11.0.0", "aot8.0.31", "aot9.0.20",
             "aot10.0.12", "aot11.0.0"]
# `database` has no event of an application without a database; it is tried with one that has some.
PROFILES = ["dotnet-common", "dotnet-sampled-thread-time", "gc-verbose", "gc-collect", "gcdump"]
CLR, PRIVATE = "Microsoft-Windows-DotNETRuntime", "Microsoft-Windows-DotNETRuntimePrivate"
# GCBulkType, GCBulkNode, GCBulkEdge.
BULK = {(CLR, 15), (CLR, 18), (CLR, 19)}
# Activity1Start, Activity1Stop, Activity2Start, Activity2Stop.
COMMANDS = {("Microsoft-Diagnostics-DiagnosticSource", number) for number in (22, 23, 24, 25)}
SECONDS = 120


def events(path):
    """Returns the providers and ids of the events in a file."""
    kinds, seen = {}, []
    with open(path, "rb") as file:
        for kind, metadata, _, _, payload in nettrace.blobs(file.read()):
            if kind == b"MetadataBlock":
                described = nettrace.described(payload[4:])
                kinds[struct.unpack_from("<I", payload)[0]] = (described.provider, described.id)
            else:
                seen.append(kinds[metadata])
    return set(seen)


class Traces:
    def __init__(self, program, directory, parser):
        self.diagipc, self.directory, self.parser = program, directory, parser
        self.env = {**os.environ, "TMPDIR": directory, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}

    def run(self, name, *arguments):
        """Runs a trace; returns its file, its status, and what it says."""
        path = os.path.join(self.directory, name + ".nettrace")
        done = subprocess.run([self.diagipc, "trace", "-o", path, *arguments], env=self.env, capture_output=True, text=True, timeout=SECONDS,
                              stdin=subprocess.DEVNULL, check=False)
        return path, done.returncode, done.stderr + done.stdout

    def parsed(self, path):
        """Returns the result of Microsoft's parser for a file; None without the parser."""
        if not self.parser:
            return None
        return json.loads(subprocess.run([self.parser, path], env={**self.env, "DOTNET_EnableDiagnostics": "0"}, stdout=subprocess.PIPE,
                                         text=True, timeout=SECONDS, check=False).stdout)

    def is_read(self, path, lost=0):
        parsed = self.parsed(path)
        return parsed is None or (parsed["error"] is None and parsed["events"] > 0 and parsed["lost"] == lost)


def commands(traces):
    """Traces commands from their first instruction."""
    # NativeAOT has no event of its start, and a trace without an event is not complete.
    for name, providers in [(RUNTIME, ["-p", PRIVATE + ":80000000:4"]), *((name, []) for name in ONE_FILE)]:
        path, status, said = traces.run("start-" + name, *providers, "--", "sh", "-c", '"$0"; exit 5', launch.fetch(name))
        is_whole = status == 5 and "bytes, complete" in said and traces.is_read(path)
        check(f"{name}: a command is traced to its end, with its status", is_whole, said)
        if name == RUNTIME:
            check(f"{name}: the first event of the start is in it", (PRIVATE, 80) in events(path))
    path, status, said = traces.run("children", "--", "sh", "-c", '"$0" & "$0"; wait; "$0"', launch.fetch(RUNTIME))
    check("children of a command are resumed, and end", status == 0 and "resumed, not traced" in said and traces.is_read(path), said)


def profiles(traces):
    with subprocess.Popen([launch.fetch(RUNTIME)], env=traces.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        launch.default_socket(process, traces.directory)
        for profile in PROFILES:
            trace = pool.submit(traces.run, profile, str(process.pid), "--profile", profile, "-d", "3s")
            if profile == "gc-collect":
                # It has no event without a collection, which another trace asks for.
                time.sleep(1)
                traces.run("collection", str(process.pid), "--profile", "gcdump", "-d", "1s")
            path, status, said = trace.result()
            check(f"--profile {profile} is complete", status == 0 and traces.is_read(path), said)
        bulk = BULK & events(path)
        check("the file of gcdump has the bulk events of the heap", bulk == BULK, bulk)
        dropped(traces, process.pid)
        process.stdin.close()
    with launch.hosted(HOSTED, traces.directory, "database") as process:
        # On a busy machine the program may write no such event for seconds.
        for duration in ("2s", "10s", "30s"):
            path, status, said = traces.run("commands", str(process.pid), "--profile", "database", "-d", duration)
            # No event is status 1.
            if status not in (0, 1) or COMMANDS <= events(path):
                break
        check("--profile database has the commands of a program", status == 0 and COMMANDS <= events(path) and traces.is_read(path), said)


def dropped(traces, pid):
    """Traces into a pipe that nobody reads, with the smallest buffer."""
    path = os.path.join(traces.directory, "dropped.nettrace")
    command = [traces.diagipc, "trace", str(pid), "--buffer", "1", "-d", "6s", "-o", "-", "-p", CLR + ":98001:5,Microsoft-DotNETCore-SampleProfiler"]
    with subprocess.Popen(command, env=traces.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as trace, open(path, "wb") as file:
        time.sleep(7)
        file.write(trace.stdout.read())
        said = trace.stderr.read().decode()
    number = said.rpartition("the runtime dropped ")[2].partition(" ")[0]
    is_counted = trace.returncode == 1 and number.isdigit() and traces.is_read(path, int(number))
    check("dropped events are counted as by Microsoft's parser, and end with 1", is_counted, f"{said}{traces.parsed(path)}")


def vendored_clients(directory):
    """Runs the clients of the codecs for C and Go."""
    stored = os.path.join(directory, "stored.nettrace")
    flags = "-std=c99 -O1 -g -Wall -Wextra -Werror -pedantic -fsanitize=address,undefined -fno-sanitize-recover=all".split()
    for client, home, command in [
        ("c/trace.c", "c", ["cc", *flags, "trace.c"]),
        ("dotnetipc/trace", "vectors", ["go", "build", "./dotnetipc/trace"]),
    ]:
        program = os.path.join(directory, home + "-trace")
        subprocess.run([*command[:2], "-o", program, *command[2:]], cwd=os.path.join(ROOT, home), check=True)
        for name in OF_C_AND_GO:
            with launch.running(name, {}) as (_, _, path):
                status = subprocess.run([program, path, stored, "2"], timeout=60, check=False).returncode
            check(f"{name}: {client} stores a complete file with events", status == 0 and events(stored), f"status {status}")


def waiting(traces):
    """A process that waits at its start survives a trace that leaves it waiting, and one that resumes it, followed by another (F-160). Each
    command says that it waits, and the server suite judges no stream."""
    for name in launch.there(THAT_WAIT):
        with launch.started(name, {"DOTNET_DefaultDiagnosticPortSuspend": "1"}) as (process, directory):
            launch.default_socket(process, directory)
            pid = str(process.pid)

            def asked(command, *arguments):
                return subprocess.run([traces.diagipc, command, pid, *arguments], capture_output=True, text=True, timeout=SECONDS, check=False)

            said = asked("info").stdout
            check(f"{name}: info says that it waits", "waits at its start for a resume" in said, said)
            suite = asked("server")
            is_judged = suite.returncode == 0 and "so no stream is judged" in suite.stdout
            check(f"{name}: the server suite passes while it waits", is_judged, suite.stdout)
            _, status, said = traces.run("left", "-d", "1", "--force", "--no-resume", pid)
            check(f"{name}: a trace that leaves it waiting is not complete", status == 1, said)
            for which in "first", "second":
                path, status, said = traces.run(which, "-d", "1", "--force", pid)
                with open(path, "rb") as file:
                    heads = file.read().count(b"Nettrace")
                check(f"{name}: the {which} trace is complete", (status, heads) == (0, 1), f"status {status}, {heads} heads: {said}")
            check(f"{name}: it runs on", process.poll() is None or process.returncode == 0, f"ended with {process.poll()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--diagipc")
    program = diagipc(parser.parse_args().diagipc)
    launch.fetch_or_skip(RUNTIME, HOSTED, *ONE_FILE, *OF_C_AND_GO)
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as unpacked:
        home = clients.tools(unpacked)
        if not home:
            print("note: no parser of Microsoft's here", file=sys.stderr)
        traces = Traces(program, directory, home and home + "/nettrace-read")
        commands(traces)
        profiles(traces)
        waiting(traces)
        vendored_clients(directory)
    checks.finish()


if __name__ == "__main__":
    main()
