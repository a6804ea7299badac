#!/usr/bin/env python3
"""matrix.py [--families | --busy N] [--write] [--evidence] [--html FILE] [--reports DIRECTORY] [--only GLOB ...] [--diagipc PROGRAM]
          [NAME ... | --from REPORT ...]

Runs every case of `diagipc server` on real runtimes, all exchange scripts among them, including those that change or kill them. Prints one
row per runtime. A case that fails by a fault of the runtime that a valid request shows is named by its fact, and is not an error here.

--families  every build that launch.py has and can get
--busy      each runtime alone and beside N busy loops, and `diagipc client` on the Python client of the tests (the name `client`): every case
            must have the same grade. A report of a run alone that is already in the directory of --reports is used again
--write     puts the rows into spec/RUNTIMES.md
--evidence  keeps the outcome of each case in diagipc/evidence/NAME.json, one line per case; with --only, of these cases.
            diagipc/evidence/README.md explains the outcomes
--html      writes the page of the reports side by side
--from      takes reports that are there

Exits with 1 if a case failed without a known fault, differs or was lost, and with 77 if a runtime is not available here.
"""
import argparse
import collections
import contextlib
import fnmatch
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

import launch
from built import ROOT, diagipc

sys.path.insert(0, os.path.join(launch.HERE, "../clients"))
import detect

# One build is asked for sessions with user_events, which .NET 10 and 11 have.
OPTIONS = {"net10.0.9": ["--stand-in-for-user-events"]}
SPAWN = {"net10.0.9": ["--user-events"]}
TABLE = pathlib.Path(ROOT, "spec/RUNTIMES.md")
HEAD = "| runtime | profile that `auto` finds | passed | known differences | not there | failed | by which faults |"
EVIDENCE = pathlib.Path(ROOT, "diagipc/evidence")
# Cases that do not depend on the runtime where .NET 11's server runs in node: its start, its end and its environment, the ends of
# connections, ports (it has only WebSockets), and user_events, which that build leaves out.
OF_NODE = ["scripts/configuration/*", "scripts/lifetime/*", "scripts/ports/*", "scripts/user_events/*", "requests/eventpipe5/62*",
           "requests/eventpipe5/65*", "*suspended*", "*-until-resumed",
           "scripts/framing/input-ends-after-0", "scripts/framing/bytes-behind-size-after-an-error", "requests/header/2200",
           "scripts/process/set-variable-then-delete-twice", "scripts/eventpipe/stop-waits-for-a-stream-that-nobody-reads"]
# Cases that do not depend on the runtime under qemu, which has no ptrace: written dumps.
OF_EMULATION = ["scripts/dump_profiler/dump-full", "scripts/dump_profiler/dump2-full", "scripts/dump_profiler/dump3-full",
                "scripts/dump_profiler/dump-where-a-crash-writes-one", "scripts/dump_profiler/dump-in-progress-blocks-others",
                "requests/dump/4003", "requests/tables/3300"]
CLIENT = "client"
BUSY = ["net10.0.9", "net9.0.5", "net8.0.30", "aot8.0.31", CLIENT]
# A loop that ends with its parent, even if that is killed.
LOOP = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"


# --- reports -----------------------------------------------------------------------------------------------------
def made(command, seconds, what, **options):
    """Returns the report that a command prints."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, **options)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"{what}: exit status {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def report_of(program, name, options, seconds):
    """Returns the report of a runtime, with every case, because skipping known failures could hide unknown ones."""
    spawn = [sys.executable, os.path.join(launch.HERE, "spawn.py"), *SPAWN.get(name, []), name]
    command = [program, "server", "--json", "--name", name, *OPTIONS.get(name, []), *options, "--spawn", "--", *spawn]
    report = made(command, seconds, name)
    # The command is as typed in the root of the project, without its path.
    report["made"]["command"] = ["diagipc", *command[1:command.index("--")], "--", "python3", "diagipc/tests/live/spawn.py", *spawn[2:]]
    return report


def known(case):
    """Returns the fact of a known fault of this runtime."""
    return (case.get("deviation") or {}).get("fact")


def failed(report, all_of_them=False):
    """Returns the cases that failed, by default those without a known fault."""
    return [case for case in report["cases"] if case["grade"] == "fail" and (all_of_them or not known(case))]


# --- the table ---------------------------------------------------------------------------------------------------
def row(report, others={}):
    """Returns the row of a report. `others` are other causes of failures, by the names of cases."""
    counts = report["counts"]
    faults = collections.Counter(known(case) or others.get(case["name"], "none that is known") for case in failed(report, True))
    named = ", ".join(f"{fault} ({number})" for fault, number in sorted(faults.items())) or "–"
    return (f"| {report['target']} | {report['profile']} | {counts['pass'] + counts['passLenient']} | {counts['informational']} | "
            f"{counts['unimplemented']} | {counts['fail']} | {named} |")


def place(name):
    """Returns the sort key of a row: CoreCLR, NativeAOT and Mono, each by system and version, then Windows (windows_suites.py)."""
    system, family, version = re.match(r"((?:musl|arm64|macos|win)-)?(net|aot|mono)([0-9.]+)$", name).groups(default="")
    systems = ["", "musl-", "arm64-", "macos-", "win-"].index(system)
    return system == "win-", ["net", "aot", "mono"].index(family), systems, [int(number) for number in version.split(".")]


def write(rows):
    """Replaces these rows in the table."""
    before, _, after = TABLE.read_text(encoding="utf-8").partition(HEAD + "\n")
    lines = after.splitlines()
    end = next(nth for nth, line in enumerate(lines + [""]) if not line.startswith("|"))
    table = {line.split("|")[1].strip(): line for line in [*lines[1:end], *rows]}
    text = "\n".join([HEAD, lines[0], *(table[name] for name in sorted(table, key=place)), *lines[end:]])
    TABLE.write_text(f"{before}{text}\n", encoding="utf-8")


# --- evidence ----------------------------------------------------------------------------------------------------
def keep(report, is_whole, system=None):
    """Writes the outcomes of a report. With `is_whole` it has all cases, so other outcomes are removed. `system`: if not this system."""
    name, path = report["target"], EVIDENCE / (report["target"] + ".json")
    named = {"Darwin": "macOS", "x86_64": "x64", "AMD64": "x64", "aarch64": "arm64"}
    system = system or " ".join(named.get(word, word) for word in (platform.system(), platform.machine()))
    outcomes = {} if is_whole or not path.exists() else json.loads(path.read_text(encoding="utf-8"))["outcomes"]
    is_emulated = name.startswith("arm64-") and system != "Linux arm64"
    system = "Linux arm64 (qemu)" if is_emulated else system + " (musl)" * name.startswith("musl-")
    not_its_own = OF_NODE if name.startswith("mono") else OF_EMULATION if is_emulated else []
    outcomes |= {case["name"]: case["outcome"] for case in report["cases"]
                 if "outcome" in case and not any(fnmatch.fnmatch(case["name"], glob) for glob in not_its_own)}
    evidence = {"build": name, "system": system, "outcomes": dict(sorted(outcomes.items(), key=in_order))}
    path.write_text(json.dumps(evidence, indent=1) + "\n", encoding="utf-8")


def in_order(item):
    """Returns the sort key of a case: scripts by file and name, requests by file and number."""
    *section, last = item[0].split("/")
    return section, int(last) if last.isdecimal() else 0, last


# --- beside busy loops ---------------------------------------------------------------------------------------------
def run_beside(program, name, only, loops):
    """Returns the report of a run beside so many busy loops."""
    with contextlib.ExitStack() as stack:
        for _ in range(loops):
            loop = stack.enter_context(subprocess.Popen([sys.executable, "-IS", "-c", LOOP]))
            stack.callback(loop.kill)
        if name == CLIENT:
            file = detect.operations(stack.enter_context(tempfile.TemporaryDirectory()))
            report = made([program, "client", "--json", "--operations", str(file), *only], 7200, name)
        else:
            report = report_of(program, name, ["--jobs", "2", *only], 7200)
    print(f"{name}, {loops} busy loops: {len(report['cases'])} cases, {report['counts']['fail']} failed, load {os.getloadavg()[0]:.0f} at "
          "the end", *report.get("notes", []), sep="\n    ", flush=True)
    return report


def differing(alone, beside):
    """Returns the cases whose grades differ, in words."""
    before, after = ({case["name"]: case for case in report["cases"]} for report in (alone, beside))
    for name in sorted({**before, **after}):
        grades = [report.get(name, {}).get("grade", "not played") for report in (before, after)]
        if grades[0] != grades[1]:
            found = ((after.get(name) or before[name]).get("detail") or {}).get("found", [])
            yield f"{name}: alone {grades[0]}, busy {grades[1]}: {'; '.join(found)[:300]}"


def same_when_busy(program, name, only, loops, directory):
    kept = directory / f"{name}-alone.json"
    if not kept.exists():
        kept.write_text(json.dumps(run_beside(program, name, only, 0), indent=1))
    alone, beside = json.loads(kept.read_text()), run_beside(program, name, only, loops)
    (directory / f"{name}-busy.json").write_text(json.dumps(beside, indent=1))
    differences = list(differing(alone, beside))
    print(f"{name}: {len(differences)} cases differ", *differences, sep="\n    ", flush=True)
    return not differences and not any(key in report for report in (alone, beside) for key in ("lost", "interrupted"))


# --- all runs ------------------------------------------------------------------------------------------------------
def is_good(report):
    """Prints the row of a report, and failures without a known fault; returns whether there were none."""
    print(row(report), flush=True)
    for case in failed(report):
        print(f"  failed: {case['name']}: {'; '.join(case['detail']['found'])[:400]}")
    if "lost" in report:
        print(f"  lost: {report['lost']['reason']}")
    return not failed(report) and "lost" not in report and report["counts"]["pass"] > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in "--families", "--write", "--evidence":
        parser.add_argument(flag, action="store_true")
    for option in "--diagipc", "--html", "--reports":
        parser.add_argument(option)
    parser.add_argument("--busy", type=int)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--from", dest="there", nargs="+", default=[])
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    program = diagipc(arguments.diagipc)
    names = arguments.names or (BUSY if arguments.busy else [*launch.USUAL, "net3.1.23"])
    if arguments.families:
        names = launch.there(name for name in launch.RUNTIMES if not name.startswith("win-"))
    only = [word for glob in arguments.only for word in ("--only", glob)]
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(arguments.reports or directory)
        if not arguments.there:
            launch.fetch_or_skip(*(name for name in names if name != CLIENT))
        if arguments.busy:
            sys.exit(0 if all([same_when_busy(program, name, only, arguments.busy, directory) for name in names]) else 1)
        files, rows, good = list(map(pathlib.Path, arguments.there)), [], True
        for name in [] if files else names:
            report = report_of(program, name, ["--jobs", "2", *only], 5400 if name.startswith("arm64-") else 1800)
            files.append(directory / f"{name}.json")
            files[-1].write_text(json.dumps(report, indent=1), encoding="utf-8")
            good &= is_good(report)
        for report in (json.loads(file.read_text(encoding="utf-8")) for file in files):
            rows.append(row(report))
            if arguments.evidence:
                keep(report, is_whole="--only" not in report["made"]["command"])
        if arguments.write:
            write(rows)
        if arguments.html:
            subprocess.run([program, "report", "--html", arguments.html, *files], check=True, stdout=subprocess.DEVNULL)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
