#!/usr/bin/env python3
"""windows_suites.py [--all | --dumps] [--write] [--evidence] DIAGIPC EXAMPLES [VERSION ...]

The suites on Windows, under wine: DIAGIPC is a diagipc.exe, EXAMPLES the directory of probe.exe and info.exe.

- `DIAGIPC server --spawn` with the subjects of under_wine.py, .NET 6.0.13 first: nothing may fail except where wine differs from Windows,
and every deviation is named by its fact.
- `DIAGIPC server` on a 10.0.9 that runs and on an 8.0.30 that is held; probe.exe and `DIAGIPC fuzz-server` on the first.
- A failed dump of 6.0.13 is a failure for `DIAGIPC call` too, though its code is 0 (F-127).
- `DIAGIPC runtime`: probe, info, call and the server suite against it. `DIAGIPC client` with `DIAGIPC call`.

By default it runs some sections with 6.0.13, and some scenarios of the client suite; --all: every case with all five subjects, which
takes half an hour, and all scenarios, except those that write dumps; --dumps: these, a minute each. --write: with --all, puts the rows
into spec/RUNTIMES.md. --evidence: keeps the outcome of each case for each runtime in evidence/. VERSION: only these subjects, without the
other suites.
Prints one line per check. Exits with 1 if a check fails, with 77 if wine, a compiler for Windows or a runtime is not available here.
"""
import argparse
import contextlib
import json
import os
import signal
import subprocess
import time
from functools import partial

import launch
import matrix
import under_wine
from built import ROOT
from protocol import PROCESS_INFO, message
from under_wine import HELD_ONLY, RUNNING, SUBJECTS, as_windows, expect, has_started

# Unlike Windows, wine 8 can delete a missing variable (F-126).
OF_WINE = {"scripts/process/set-variable-then-delete-twice": "wine 8"}
# Under wine a createdump takes up to a minute, and the client waits.
WRITTEN = ["requests/dump/*", "requests/tables/3300", "scripts/harmful/dump-absent-name"]
# After a crash the pipe exists until wine's debugger is done, many seconds on a busy machine.
WHOLE = ["--jobs", "2", "--timeout", "60000", *(word for glob in WRITTEN for word in ("--except", glob))]
DUMPS = ["--jobs", "2", "--timeout", "180000", *(word for glob in WRITTEN for word in ("--only", glob))]
SHORT = ["--only", "scripts/process/*", "--only", "scripts/ports/*"]
CLIENT_SHORT = ["--only", "reply/ok-20/*", "--only", "tool_ports/*", "--only", "text/empty/*"]
# A session created while the start is held streams only after it continues, and 8.0.30 does not continue under wine.
WHILE_HELD = [word for glob in ("scripts/framing/*", "scripts/process/*", "scripts/dump_profiler/*", "requests/*") for word in ("--only", glob)]
# With the reference runtime no client waits because of an unread reply (F-118).
BLOCKED = ["scripts/framing/half-a-header-blocks-others", "scripts/framing/half-a-payload-blocks-others",
           "scripts/ports/port-half-a-header-blocks-others"]
# Reasons why a script is not played, and other notes, such as how the profile was found.
NOTES = ["a pipe has no half-close", "a pipe has no reset", ", compared with ", "--allow-side-effects", "--allow-harmful", "--spawn",
         "they are meant for linux", "they are meant for unix"]


def failed(report):
    return sorted(case["name"] for case in matrix.failed(report, True))


def subject_held(wine, diagipc, cases, version, archive, is_kept):
    """Tests a subject, which the suite starts for each case; returns its row of the table."""
    wine.unpack(version, archive)
    options = ["--name", f"win-net{version}", *cases]
    # wine refuses IL images without mscoree.
    status, report = wine.suite(diagipc, "server", *options, "--spawn", "--", under_wine.subject(version),
                                variables={"WINEDLLOVERRIDES": "mshtml="})
    expect(f"{version}: the target", (report.get("runtime"), report.get("profile"), report.get("lost")),
           (f".NET {version}", f"coreclr-{version}", None))
    unknown = {case["name"] for case in matrix.failed(report)}
    expect(f"{version}: failures without a known fault, except by wine", sorted(unknown - set(OF_WINE)), [])
    expect(f"{version}: exit status", status, 1 if failed(report) else 0)
    if is_kept:
        matrix.keep(report, is_whole=False, system="Windows x64 (wine 8)")
    return matrix.row(report, OF_WINE)


@contextlib.contextmanager
def answering(wine, command_line, variables):
    """Starts a runtime whose pipe answers. Wine is not tested here, and one of many starts hangs."""
    for attempt in range(3):
        with wine.runtime(command_line, variables) as runtime:
            try:
                runtime.exchange(message(PROCESS_INFO))
            except subprocess.TimeoutExpired:
                print(f"start {attempt + 1} of {command_line} does not answer")
                continue
            yield runtime
            return
    raise OSError(f"no start of {command_line} answers")


def one_that_runs(wine, diagipc, runtime, endpoint, version, only, fewest):
    """Runs every read-only case for this runtime."""
    status, report = wine.suite(diagipc, "server", endpoint, *only)
    expect(f"{version}: the target", (report.get("runtime"), report.get("profile"), report.get("lost")),
           (f".NET {version}", f"coreclr-{version}", None))
    expect(f"{version}: exit status, failures", (status, failed(report)), (0, []))
    expect(f"{version}: at least {fewest} cases pass", report["counts"]["pass"] + report["counts"]["passLenient"] >= fewest, True)
    # P-39: on a pipe a message is read in one piece.
    facts = {case["deviation"]["fact"] for case in report["cases"] if case.get("deviation")}
    expect(f"{version}: deviations, by fact", facts, {"P-39"})
    notes = [note for note in report["notes"] if not any(reason in note for reason in NOTES)]
    expect(f"{version}: whatever else is not played, or passed only at the second try", notes, [])
    expect(f"{version}: it has not ended", runtime.has_ended(0), None)


def running(wine, diagipc, examples):
    for arguments, words in (["4000000001"], "does not exist"), (["C:\\a.socket"], "on Windows a runtime has a pipe, not a socket"), \
            (["--spawn", "--", "C:\\a.exe"], "C:\\a.exe"):
        status, said, _ = wine.run(diagipc, "server", *arguments)
        expect(f"server {' '.join(arguments)}", (status, words in said), (3, True))
    with answering(wine, '"D:\\azmcp.exe" server start', {}) as runtime:
        time.sleep(1.5)  # until managed code runs
        one_that_runs(wine, diagipc, runtime, str(runtime.pid), "10.0.9", [], 120)
        status, said, _ = wine.run(os.path.join(examples, "probe.exe"), runtime.pipe())
        expect("probe: exit status, and all replies are canonical", (status, said.strip().endswith(", 0 not canonical")), (0, True))
        # One of these cases kills the runtime: the campaign names the fact, and reports that the runtime is lost.
        status, said, _ = wine.run(diagipc, "fuzz-server", "--json", "--allow-harmful", "--cases", "30", runtime.pipe())
        summary = json.loads(said)
        findings = [(one["verdict"], one["known"] and one["known"]["fact"]) for one in summary["findings"]]
        expect("fuzz-server: exit status, the profile", (status, summary["profile"]), (3, "coreclr-10.0.9"))
        expect("fuzz-server: the death by a dump without a name, last", findings[-1:], [("crash", "F-7")])
        expect("fuzz-server: not all cases", (0 < summary["cases"] < 30, bool(summary["lost"])), (True, True))
    with answering(wine, "E:\\Sarif.Multitool.exe --version", {"DOTNET_DefaultDiagnosticPortSuspend": "1"}) as runtime:
        one_that_runs(wine, diagipc, runtime, runtime.pipe(), "8.0.30", WHILE_HELD, 70)


def failed_dump(wine, diagipc, archive):
    """Requests a dump of type 5, which does not exist: .NET 6 answers an Error with code 0 (F-127)."""
    with wine.subject("6.0.13", archive, {}) as runtime:
        expect("6.0.13: it runs", has_started(runtime, "6.0.13"), True)
        status, said, errors = wine.run(diagipc, "call", "--unchecked", "--patience", "60000", "--pid", str(runtime.pid), "dump",
                                        "--command", "GenerateCoreDump", "C:\\none.dmp", "5", "0")
        expect("6.0.13: a dump that failed, for a client", (status, said), (1, ""))
        expect("6.0.13: and what it says", errors.strip(),
               "diagipc call: the runtime answered with the error code 0x00000000, which gives no reason (waiting for the reply)")


def interrupted(wine, seconds, *command, words):
    """Runs a command, presses Ctrl-C after some seconds, and returns its exit status and whether it printed `words`. wine makes a Ctrl-C
    of the signal."""
    process = subprocess.Popen([wine.wine, *command], env=wine.environment, cwd=wine.home, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, words in said.decode().replace("\r", "")


def reference_runtime(wine, diagipc, examples, everything):
    """Tests the reference runtime with this crate's clients and the server suite, as a runtime on Windows."""
    runtime = subprocess.Popen([wine.wine, diagipc, "runtime", "--profile", "coreclr-9", "--until-eof"], env=wine.environment,
                               cwd=wine.home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    try:
        pipe = runtime.stdout.readline().decode().strip()
        process = pipe.rpartition("-")[2]
        for command, wanted, words in (
                ([os.path.join(examples, "info.exe"), process], 0, f"process           {process}\n"),
                ([os.path.join(examples, "probe.exe"), "--side-effects", pipe], 0, ", 0 not canonical\n"),
                # As on Windows, it has no perf maps.
                ([diagipc, "call", "--pid", process, "perf-map", "3"], 1, "0x80131515"),
                ([diagipc, "call", "--pid", process, "environment"], 0, "PATH=")):
            status, said, errors = wine.run(*command)
            expect(f"reference runtime: {' '.join(command[1:])}", (status, words in said + errors), (wanted, True))
        for command, wanted, words in ((["trace", process, "-o", "a.nettrace", "--force"], 0, ", complete\n"),
                                       (["server", "--profile", "coreclr-9", pipe], 130, "INTERRUPTED: ")):
            # On a busy machine wine may not have started the program after 4 seconds.
            tries = (interrupted(wine, seconds, diagipc, *command, words=words) for seconds in (4, 8))
            expect(f"Ctrl-C: {command[0]}", any(one == (wanted, True) for one in tries), True)
    finally:
        runtime.stdin.close()
        expect("reference runtime: it ends with its input", runtime.wait(30), 0)
    options = [] if everything else ["--spare", "--allow-side-effects", *SHORT]
    _, report = wine.suite(diagipc, "server", "--profile", "coreclr-9.0.20", *options, "--spawn", "--", as_windows(diagipc), "runtime",
                           "--profile", "coreclr-9", "--until-eof", *(["--dies"] if everything else []))
    expect("reference runtime: what failed", [name for name in failed(report) if name not in BLOCKED], [])
    expect("reference runtime: it was not lost", report.get("lost"), None)


def client_held(wine, diagipc, everything):
    """Tests this crate's client, by diagipc/clients/diagipc.toml."""
    with open(ROOT + "/diagipc/clients/diagipc.toml", encoding="utf-8") as file:
        operations = file.read()
    name = "Z:" + diagipc
    operations = operations.replace("diagipc call", f"{name} call").replace('"diagipc"', f'"{name}"')
    with open(os.path.join(wine.home, "diagipc.toml"), "w", encoding="utf-8") as file:
        file.write(operations)
    # With more at a time, wine may fail to start one (error 1359).
    status, report = wine.suite(diagipc, "client", "--jobs", "4", "--operations", "diagipc.toml", *([] if everything else CLIENT_SHORT))
    expect("client: exit status, and what failed", (status, failed(report)), (0, []))
    expect("client: at least 25 scenarios pass", report["counts"]["pass"] + report["counts"]["passLenient"] >= 25, True)


def use(arguments, wine):
    diagipc, examples = os.path.abspath(arguments.diagipc), os.path.abspath(arguments.examples)
    cases = DUMPS if arguments.dumps else WHOLE if arguments.all else SHORT
    wine.add_random_numbers()
    found, rows = under_wine.archives(), []
    for version in sorted(set(SUBJECTS) - set(found)):
        launch.missing(f"win{version}", f"no win{version.replace('.', '_')}.tar.xz")
    for version in arguments.versions or [version for version in found if cases is not SHORT or version == "6.0.13"]:
        rows.append(subject_held(wine, diagipc, cases, version, found[version], arguments.evidence))
        print(rows[-1], flush=True)
    if arguments.all and arguments.write:
        matrix.write(rows)
    if arguments.versions or cases is DUMPS:
        return
    if "6.0.13" in found:
        failed_dump(wine, diagipc, found["6.0.13"])
    wine.has_drive("d:", RUNNING)
    wine.has_drive("e:", HELD_ONLY)
    running(wine, diagipc, examples)
    reference_runtime(wine, diagipc, examples, arguments.all)
    client_held(wine, diagipc, arguments.all)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in "--all", "--dumps", "--write", "--evidence":
        parser.add_argument(flag, action="store_true")
    parser.add_argument("diagipc")
    parser.add_argument("examples")
    parser.add_argument("versions", nargs="*")
    arguments = parser.parse_args()
    under_wine.play(under_wine.missing(RUNNING, HELD_ONLY), partial(use, arguments), arguments.diagipc, arguments.examples)


if __name__ == "__main__":
    main()
