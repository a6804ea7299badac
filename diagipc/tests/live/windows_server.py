#!/usr/bin/env python3
"""windows_server.py DIAGIPC [PROBE]

Tests .NET runtimes for Windows with `DIAGIPC server`, all under wine: DIAGIPC is a diagipc.exe. Nothing may fail; this file lists the
named deviations and what a pipe cannot do. PROBE is examples/probe as a program for Windows, which also queries one of them; `DIAGIPC
fuzz-server` runs last. Prints one line per check. Exits with 1 if a check fails, with 77 if wine, a compiler for Windows or a runtime is
not available here.
"""
import contextlib
import json
import os
import subprocess
import sys
import time

import under_wine
from protocol import PROCESS_INFO, message
from under_wine import HELD_ONLY, RUNNING, expect

PIECES = ["header-in-bytes", "header-cut-behind-the-magic", "header-cut-in-size", "header-last-byte-late", "payload-in-bytes",
          "payload-cut-in-two", "payload-with-the-headers-end", "wrong-magic-is-answered-behind-the-payload",
          "half-a-message-is-waited-for"]
# The behaviour of both runtimes, by fact.
DEVIATIONS = {f"scripts/framing/{name}": "P-39" for name in PIECES}
NO_HALF_CLOSE, NO_RESET = "a pipe has no half-close", "a pipe has no reset"
# Scripts that are not played, and why; requests are left out only for the first reason.
NOT_PLAYED = {
    NO_HALF_CLOSE: ["eventpipe/half-close-of-the-stream", "framing/input-ends-behind-the-request"]
                   + [f"framing/input-ends-after-{count}" for count in (0, 1, 13, 14, 16, 19, 20, 21, 27)],
    NO_RESET: ["framing/bytes-behind-size", "framing/bytes-behind-size-after-an-error", "framing/second-request-with-the-first"],
}
# A session created while the start is held streams only after it continues, and 8.0.30 does not continue under wine.
WHILE_HELD = ["scripts/framing/*", "scripts/process/*", "scripts/dump_profiler/*", "requests/*"]


def not_played(report):
    """The cases that a pipe cannot play, by reason."""
    seen = {}
    for reason in NOT_PLAYED:
        notes = [note for note in report["notes"] if f": {reason}" in note]
        seen[reason] = sorted(name for note in notes for name in note.rsplit(": ", 1)[1].split(", "))
    return seen


def held_to_the_protocol(wine, program, endpoint, runtime, profile, only, fewest):
    """Every read-only case for this runtime."""
    status, report = wine.suite(program, "server", endpoint, *(word for glob in only for word in ("--only", glob)))
    expect(f"{runtime}: the target", (report.get("runtime"), report.get("profile"), report.get("lost")),
           (f".NET {runtime}", profile, None))
    expect(f"{runtime}: exit status, failures", (status, report["counts"]["fail"]), (0, 0))
    passed = sum(case["grade"] in ("pass", "pass-lenient") for case in report["cases"])
    expect(f"{runtime}: at least {fewest} cases pass", passed >= fewest, True)
    expect(f"{runtime}: deviations, each by its fact",
           {case["name"]: case["deviation"]["fact"] for case in report["cases"] if case.get("deviation")}, DEVIATIONS)
    seen = not_played(report)
    for reason, names in NOT_PLAYED.items():
        wanted = [f"scripts/{name}" for name in names if not only or f"scripts/{name.split('/')[0]}/*" in only]
        expect(f"{runtime}: scripts not played as {reason}", [name for name in seen[reason] if name.startswith("scripts/")],
               sorted(wanted))
    expect(f"{runtime}: requests not played as {NO_RESET}", [name for name in seen[NO_RESET] if name.startswith("requests/")], [])
    # How the profile was concluded is said as well.
    known = [*NOT_PLAYED, f"profile {report['profile']}, compared with ", "--allow-side-effects", "--allow-harmful", "--spawn", "they are meant for linux"]
    notes = [note for note in report["notes"] if not any(reason in note for reason in known)]
    expect(f"{runtime}: whatever else is not played, or passed only at the second try", notes, [])


def probed(wine, probe, runtime):
    """Harmless requests; each reply must encode to its own bytes."""
    status, said, _ = wine.run(probe, runtime.pipe())
    last = said.strip().splitlines()[-1:]
    print(f"probe: {last}")
    expect("probe: exit status, and all replies are canonical", (status, [line.endswith(", 0 not canonical") for line in last]),
           (0, [True]))


def fuzzed(wine, program, runtime, profile):
    """A campaign of a few cases, one of which kills the runtime: it names the runtime and the fact, and reports that the runtime is
    lost."""
    status, said, _ = wine.run(program, "fuzz-server", "--json", "--allow-harmful", "--cases", "30", runtime.pipe())
    summary = json.loads(said)
    findings = [(one["verdict"], one["known"] and one["known"]["fact"]) for one in summary["findings"]]
    print(f"fuzz-server: {summary['cases']} cases, lost: {summary['lost']}, findings: {findings}")
    expect("fuzz-server: exit status, the profile", (status, summary["profile"]), (3, profile))
    expect("fuzz-server: the death by a dump without a name, last", findings[-1:], [("crash", "F-7")])
    expect("fuzz-server: not all cases", (0 < summary["cases"] < 30, bool(summary["lost"])), (True, True))


def what_windows_does_not_have(wine, program):
    """Each is told from a failure by its exit status, and says what is missing."""
    for arguments, words in (["4000000001"], "does not exist"), (["C:\\a.socket"], "on Windows a runtime has a pipe, not a socket"), \
            (["--spawn", "--", "C:\\a.exe"], "C:\\a.exe"):
        status, said, _ = wine.run(program, "server", *arguments)
        expect(f"server {' '.join(arguments)}", (status, words in said), (3, True))


@contextlib.contextmanager
def answering(wine, command_line, variables):
    """A runtime whose pipe answers. Wine is not tested here: of many starts one hangs."""
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


def try_all(wine, program, probe):
    wine.add_random_numbers()
    wine.has_drive("d:", RUNNING)
    wine.has_drive("e:", HELD_ONLY)
    what_windows_does_not_have(wine, program)
    with answering(wine, '"D:\\azmcp.exe" server start', {}) as runtime:
        time.sleep(1.5)                            # until managed code runs
        held_to_the_protocol(wine, program, str(runtime.pid), "10.0.9", "coreclr-10.0.9", [], 120)
        if probe:
            probed(wine, probe, runtime)
        expect("it still runs", runtime.has_ended(0), None)
        fuzzed(wine, program, runtime, "coreclr-10.0.9")
    with answering(wine, "E:\\Sarif.Multitool.exe --version", {"DOTNET_DefaultDiagnosticPortSuspend": "1"}) as runtime:
        held_to_the_protocol(wine, program, runtime.pipe(), "8.0.30", "coreclr-8.0.30", WHILE_HELD, 70)
        expect("it is still held", runtime.has_ended(0), None)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program, probe = [*map(os.path.abspath, sys.argv[1:]), None][:2]
    for path in program, probe:
        if path and not os.path.exists(path):
            sys.exit(f"{path} not found")
    under_wine.play(under_wine.missing(RUNNING, HELD_ONLY), lambda wine: try_all(wine, program, probe))


if __name__ == "__main__":
    main()
