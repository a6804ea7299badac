#!/usr/bin/env python3
"""windows_ports.py DIAGNOSTIC_PORT DIAGIPC

Real .NET runtimes for Windows connect to our port, under wine: DIAGNOSTIC_PORT is examples/diagnostic_port as a program for Windows,
DIAGIPC a diagipc.exe. Each runtime starts before the port, with a port that suspends and with one that does not. The example then queries
it, sets a variable and resumes it; `DIAGIPC call trace-port` reads a stream, and stops it over another connection of the same runtime;
`DIAGIPC server port:NAME` tests it. `DIAGIPC trace -- COMMAND` traces each from its first instruction. Prints one line per check. Exits with
1 if a check fails, with 77 if wine, a compiler for Windows or a runtime is not available here.

The runtimes are the subjects of under_wine.py. If there are none, 10.0.9 from a public npm package replaces them.
"""
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import launch
import under_wine
from under_wine import PATIENCE, RUNNING, SUBJECTS, as_windows, expect, has_started, line_of, subject

LONGEST = 300  # seconds for one program
VARIABLE = "MOOD=calm"
# This provider has the events of the start.
PRIVATE = "Microsoft-Windows-DotNETRuntimePrivate"


def asked_and_resumed(wine, example, name, runtime, comment):
    """Queries and resumes a runtime. The port exists from now on, and the runtime finds it by itself."""
    status, said, errors = wine.run(example, name, VARIABLE)
    lines = said.splitlines()
    expect(f"{comment}: the example's exit status", status, 0)
    if status:
        print(said, errors)
    expect(f"{comment}: its setting has the name alone", lines[:1], [f"DOTNET_DiagnosticPorts='{name},suspend'"])
    expect(f"{comment}: the advertise has its process id", [line.split()[1] for line in lines if " is waiting, " in line], [str(runtime.pid)])
    expect(f"{comment}: it was resumed", [line for line in lines if line.startswith("resumed:")], ["resumed: 0x00000000 S_OK"])
    expect(f"{comment}: the variable was set", f"{VARIABLE} is in its environment" in lines, True)


def traced(wine, program, name, comment, provider):
    """Reads a stream over one connection of the port, and stops it over the next."""
    output = os.path.join(wine.directory, f"stream-{name}")
    options = {"port": name, "provider": provider, "keywords": 2**64 - 1, "level": 5, "buffer": 16, "rundown": 0, "stacks": "true",
               "mode": 0, "command": "CollectTracing5", "duration": 1500, "output": as_windows(output)}
    words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
    status, said, errors = wine.run(program, "call", "--patience", "120000", "--pid", "4", "trace-port", *words)
    expect(f"{comment}: exit status and output of the trace", (status, said + errors), (0, ""))
    if status:
        return
    with open(output, "rb") as file:
        stream = file.read()
    expect(f"{comment}: the stream begins and ends as one", (stream[:8], stream[-2:]), (b"Nettrace", b"\6\1"))
    expect(f"{comment}: events of {provider} are in it", provider.encode("utf-16-le") in stream, True)


def command_traced(wine, program, version, archive):
    """Runs `trace -- COMMAND`: traces from the first instruction to the end, and passes input, output and status."""
    comment, output = f"{version}, a command", os.path.join(wine.directory, f"command-{version}.nettrace")
    wine.unpack(version, archive)
    command = ["trace", "-o", as_windows(output), "-p", f"Subject,{PRIVATE}:80000000:4", "--", "cmd", "/c", f"C:\\{subject(version)} & exit 5"]
    with subprocess.Popen([wine.wine, program, *command], env={**wine.environment, "WINEDLLOVERRIDES": "mshtml="}, cwd=wine.directory,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as process:
        try:
            started = line_of(process, "started")
            expect(f"{comment}: its output is that of the command", started.split()[:2], [version, "pid"])
            time.sleep(1)
            said = process.communicate(timeout=LONGEST)[1].decode(errors="replace")
        finally:
            if process.poll() is None:
                process.kill()
    expect(f"{comment}: its status", process.returncode, 5)
    expect(f"{comment}: it is complete", "bytes, complete" in said or said, True)
    with open(output, "rb") as file:
        stream = file.read()
    expect(f"{comment}: the stream begins and ends as one", (stream[:8], stream[-2:]), (b"Nettrace", b"\6\1"))
    for provider in PRIVATE, "Subject":
        expect(f"{comment}: events of {provider} are in it", provider.encode("utf-16-le") in stream, True)


def held_to_the_protocol(wine, program, name, comment, version):
    """Runs the cases with one connection at a time, as a runtime has at a port."""
    only = [word for glob in ("scripts/process/*", "scripts/dump_profiler/*", "requests/*") for word in ("--only", glob)]
    # On a busy machine the runtime may take long to connect again.
    status, made = wine.suite(program, "server", f"port:{name}", "--timeout", "60000", *only)
    expect(f"{comment}: the target", (made.get("runtime"), made.get("lost")), (f".NET {version}", None))
    expect(f"{comment}: exit status, and what failed", (status, [case["name"] for case in made["cases"] if case["grade"] == "fail"]),
           (0, []))
    expect(f"{comment}: at least 40 cases pass", sum(case["grade"] in ("pass", "pass-lenient") for case in made["cases"]) >= 40, True)


def connects(wine, example, program, version, start, provider):
    for tag in "suspend", "nosuspend":
        comment, name = f"{version}, {tag}", f"port-{version}-{tag}"
        with start({"DOTNET_DiagnosticPorts": f"{name},connect,{tag}"}) as runtime:
            if provider == "Subject":
                runs = has_started(runtime, version, PATIENCE if tag == "nosuspend" else 1.5)
                expect(f"{comment}: it runs before the port exists", runs, tag == "nosuspend")
            asked_and_resumed(wine, example, name, runtime, comment)
            if provider == "Subject":
                expect(f"{comment}: it runs", has_started(runtime, version), True)
            traced(wine, program, name, comment, provider)
            if tag == "nosuspend":
                held_to_the_protocol(wine, program, name, comment, version)
            expect(f"{comment}: it has not ended", runtime.has_ended(0), None)


def try_all(wine, example, program):
    wine.add_random_numbers()
    found = under_wine.archives()
    for version in sorted(set(SUBJECTS) - set(found)):
        launch.missing(f"win{version}", f"no win{version.replace('.', '_')}.tar.xz")
    # These run in parallel, because they mostly wait.
    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(connects, wine, example, program, version, partial(wine.subject, version, archive), "Subject")
                     for version, archive in found.items()]:
            done.result()
        for done in [pool.submit(command_traced, wine, program, version, archive) for version, archive in found.items()]:
            done.result()
    if not found:
        wine.has_drive("d:", RUNNING)
        start = partial(wine.runtime, '"D:\\azmcp.exe" server start')
        connects(wine, example, program, "10.0.9", start, "Microsoft-Windows-DotNETRuntime")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    example, program = map(os.path.abspath, sys.argv[1:])
    missing = under_wine.missing(*([] if under_wine.archives() else [RUNNING]))
    under_wine.play(missing, lambda wine: try_all(wine, example, program), example, program)


if __name__ == "__main__":
    main()
