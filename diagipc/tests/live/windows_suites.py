#!/usr/bin/env python3
"""windows_suites.py [--all | --dumps] [--write] [--evidence] DIAGIPC EXAMPLES [VERSION ...]

The suites on Windows, under wine: DIAGIPC is a diagipc.exe, EXAMPLES the directory of probe.exe and info.exe.

- `DIAGIPC server --spawn` with the subjects of under_wine.py, .NET 6.0.13 first: nothing may fail except where wine differs from Windows,
and every deviation is named by its fact.
- A failed dump of 6.0.13 is a failure for `DIAGIPC call` too, though its code is 0 (F-127).
- `DIAGIPC runtime`: probe, info, call and the server suite against it.
- `DIAGIPC client` with `DIAGIPC call`.

By default it runs some sections with 6.0.13, and some scenarios of the client suite; --all: every case with all four subjects, which
takes half an hour, and all scenarios, except those that write dumps; --dumps: these, a minute each. --write: with --all, puts the rows
into spec/RUNTIMES.md. --evidence: keeps the outcome of each case for each runtime in evidence/. VERSION: only these subjects, without the
other suites.
Prints one line per check. Exits with 1 if a check fails, with 77 if wine, a compiler for Windows or the subjects are not available here.
"""
import os
import subprocess
import sys
from functools import partial

import launch
import matrix
import under_wine
from under_wine import HERE, as_windows, expect, has_started

# Unlike Windows, wine 8 can delete a missing variable (F-126).
OF_WINE = {"scripts/process/set-variable-then-delete-twice": "wine 8"}
# Under wine a createdump takes up to a minute, and the client waits.
WRITTEN = ["requests/dump/*", "requests/tables/3300", "scripts/harmful/dump-absent-name"]
# After a crash the pipe exists until wine's debugger is done, many seconds on a busy machine.
WHOLE = ["--jobs", "2", "--timeout", "60000", *(word for glob in WRITTEN for word in ("--except", glob))]
DUMPS = ["--jobs", "2", "--timeout", "180000", *(word for glob in WRITTEN for word in ("--only", glob))]
SHORT = ["--only", "scripts/process/*", "--only", "scripts/ports/*"]
CHANGING = ["--allow-side-effects", "--allow-harmful"]
CLIENT_SHORT = ["--only", "reply/ok-20/*", "--only", "tool_ports/*", "--only", "text/empty/*"]
# With the reference runtime no client waits because of an unread reply (F-118).
BLOCKED = ["scripts/framing/half-a-header-blocks-others", "scripts/framing/half-a-payload-blocks-others",
           "scripts/ports/port-half-a-header-blocks-others"]


def failed(report):
    return sorted(case["name"] for case in report["cases"] if case["grade"] == "fail")


def subject_held(wine, diagipc, cases, version, archive, is_kept):
    """A subject, started by the suite for each case. Its row of the table."""
    wine.unpack(version, archive)
    options = ["--name", f"win-net{version}", *CHANGING, *cases]
    # wine refuses IL images without mscoree.
    status, report = wine.suite(diagipc, "server", *options, "--spawn", "--", under_wine.subject(version),
                                variables={"WINEDLLOVERRIDES": "mshtml="})
    expect(f"{version}: the target", (report.get("runtime"), report.get("profile"), report.get("lost")),
           (f".NET {version}", f"coreclr-{version}", None))
    unknown = [case["name"] for case in report["cases"] if case["grade"] == "fail" and not matrix.known(case)]
    expect(f"{version}: failures without a known fault, except by wine", sorted(set(unknown) - set(OF_WINE)), [])
    expect(f"{version}: exit status", status, 1 if failed(report) else 0)
    named = {case["deviation"]["fact"] for case in report["cases"] if case.get("deviation")}
    print(f"{version}: facts: {', '.join(sorted(named))}")
    if is_kept:
        matrix.keep(report, is_whole=False, system="Windows x64 (wine 8)")
    return matrix.row(report, OF_WINE)


def failed_dump(wine, diagipc, archive):
    """A dump of type 5, which does not exist: .NET 6 answers an Error with code 0 (F-127)."""
    with wine.subject("6.0.13", archive, {}) as runtime:
        expect("6.0.13: it runs", has_started(runtime, "6.0.13"), True)
        status, said, errors = wine.run(diagipc, "call", "--unchecked", "--patience", "60000", "--pid", str(runtime.pid), "dump",
                                        "--command", "GenerateCoreDump", "C:\\none.dmp", "5", "0")
        expect("6.0.13: a dump that failed, for a client", (status, said), (1, ""))
        expect("6.0.13: and what it says", errors.strip(),
               "diagipc call: the runtime answered with the error code 0x00000000, which gives no reason (waiting for the reply)")


def reference_runtime(wine, diagipc, examples, everything):
    """The reference runtime, with the clients of this crate and with the server suite, as a runtime of Windows."""
    runtime = subprocess.Popen([wine.wine, diagipc, "runtime", "--profile", "coreclr-9", "--until-eof"], env=wine.environment,
                               cwd=wine.home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    try:
        pipe = runtime.stdout.readline().decode().strip()
        process = pipe.rpartition("-")[2]
        status, said, _ = wine.run(os.path.join(examples, "info.exe"), process)
        expect("reference runtime: info", (status, f"process           {process}" in said, "version           9.0.20" in said),
               (0, True, True))
        status, said, _ = wine.run(os.path.join(examples, "probe.exe"), "--side-effects", pipe)
        expect("reference runtime: probe", (status, said.strip().endswith(", 0 not canonical")), (0, True))
        status, said, errors = wine.run(diagipc, "call", "--pid", process, "perf-map", "3")
        expect("reference runtime: it has no perf maps, as on Windows", (status, "0x80131515" in errors), (1, True))
        status, said, _ = wine.run(diagipc, "call", "--pid", process, "environment")
        expect("reference runtime: its environment", (status, "PATH=" in said), (0, True))
    finally:
        runtime.stdin.close()
        expect("reference runtime: it ends with its input", runtime.wait(30), 0)
    options = CHANGING if everything else ["--allow-side-effects", "--only", "scripts/process/*", "--only", "scripts/ports/*"]
    _, report = wine.suite(diagipc, "server", "--profile", "coreclr-9.0.20", *options, "--spawn", "--", as_windows(diagipc), "runtime",
                           "--profile", "coreclr-9", "--until-eof", *(["--dies"] if everything else []))
    expect("reference runtime: what failed", [name for name in failed(report) if name not in BLOCKED], [])
    expect("reference runtime: it was not lost", report.get("lost"), None)


def client_held(wine, diagipc, everything):
    """The client of this crate, by diagipc/clients/diagipc.toml."""
    with open(os.path.join(HERE, "../../clients/diagipc.toml"), encoding="utf-8") as file:
        operations = file.read()
    name = "Z:" + diagipc
    operations = operations.replace("diagipc call", f"{name} call").replace('"diagipc"', f'"{name}"')
    with open(os.path.join(wine.home, "diagipc.toml"), "w", encoding="utf-8") as file:
        file.write(operations)
    # With more at a time, wine may fail to start one (error 1359).
    status, report = wine.suite(diagipc, "client", "--jobs", "4", "--operations", "diagipc.toml", *([] if everything else CLIENT_SHORT))
    expect("client: exit status, and what failed", (status, failed(report)), (0, []))
    for note in report["notes"]:
        print(f"client: {note}")
    expect("client: at least 25 scenarios pass", report["counts"]["pass"] + report["counts"]["passLenient"] >= 25, True)


def use(diagipc, examples, flags, versions, wine):
    everything = "--all" in flags
    cases = DUMPS if "--dumps" in flags else WHOLE if everything else SHORT
    wine.add_random_numbers()
    found, rows = under_wine.archives(), []
    for version in sorted(set(under_wine.SUBJECTS) - set(found)):
        launch.missing(f"win{version}", f"no win{version.replace('.', '_')}.tar.xz")
    chosen = versions or (list(found) if cases is not SHORT else [version for version in found if version == "6.0.13"])
    for version in chosen:
        rows.append(subject_held(wine, diagipc, cases, version, found[version], "--evidence" in flags))
        print(rows[-1], flush=True)
    if everything and "--write" in flags:
        matrix.write(rows)
    if versions or cases is DUMPS:
        return
    if "6.0.13" in found:
        failed_dump(wine, diagipc, found["6.0.13"])
    reference_runtime(wine, diagipc, examples, everything)
    client_held(wine, diagipc, everything)


def main():
    flags = [word for word in sys.argv[1:] if word.startswith("--")]
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if len(words) < 2 or set(flags) - {"--all", "--dumps", "--write", "--evidence"}:
        sys.exit(__doc__)
    diagipc, examples, versions = os.path.abspath(words[0]), os.path.abspath(words[1]), words[2:]
    for path in diagipc, examples:
        if not os.path.exists(path):
            sys.exit(f"{path} not found")
    under_wine.play(under_wine.missing(), partial(use, diagipc, examples, flags, versions))


if __name__ == "__main__":
    main()
