#!/usr/bin/env python3
"""matrix.py [--gate | --families] [--write] [--evidence] [--only GLOB ...] [--diagipc PROGRAM] [--html FILE] [--reports DIRECTORY] [NAME ...]

Runs every case of `diagipc server` on real runtimes, including those that change or kill them, and shows the reports side by side on one
page. Prints one row per runtime. A case that fails by a fault of the runtime that a valid request shows is named by its fact, and is not
an error here. --gate: only the cases that do not change net10.0.9, those that kill it, and the Process commands of the available
NativeAOT programs. --families: every build that launch.py knows and can get. --write: puts the rows into spec/RUNTIMES.md. --evidence:
keeps the outcome of each case for each runtime in evidence/; with --only, of these cases. Exits with 1 if a case failed without a known
fault or a runtime was lost, and with 77 if a runtime is not available here.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import evidence
import launch

HERE = os.path.dirname(os.path.abspath(__file__))
GATE = "net10.0.9"
# Only .NET 10 has sessions with user_events.
OPTIONS = {"net10.0.9": ["--stand-in-for-user-events"]}
SPAWN = {"net10.0.9": ["--user-events"]}
EVERY = [*launch.RUNTIMES, *launch.LOCAL, *launch.FURTHER, *launch.HOSTED, *launch.NODE]
TABLE = os.path.join(HERE, "../../../spec/RUNTIMES.md")
HEAD = "| runtime | profile that `auto` finds | passed | known differences | not there | failed | by which faults |"


def held(program, name, options, patience):
    """The report of a runtime."""
    spawn = [sys.executable, os.path.join(HERE, "spawn.py"), *SPAWN.get(name, []), name]
    command = [program, "server", "--json", "--name", name, *OPTIONS.get(name, []), *options, "--spawn", "--", *spawn]
    # The report has each case. Known failures would only hide unknown ones.
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=patience)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"{name}: exit status {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")
    report = json.loads(done.stdout)
    # As typed in the root of the project, without its path.
    report["made"]["command"] = ["diagipc", *command[1:command.index("--")], "--", "python3", "diagipc/tests/live/spawn.py", *spawn[2:]]
    return report


def known(case):
    """The fact of a known fault of this runtime."""
    return (case.get("deviation") or {}).get("fact")


def row(report, others={}):
    """`others`: other causes of failures, by the names of cases."""
    counts = report["counts"]
    failed = [case for case in report["cases"] if case["grade"] == "fail"]
    faults = collections.Counter(known(case) or others.get(case["name"], "none that is known") for case in failed)
    named = ", ".join(f"{fault} ({number})" for fault, number in sorted(faults.items())) or "–"
    return (f"| {report['target']} | {report['profile']} | {counts['pass'] + counts['passLenient']} | {counts['informational']} | "
            f"{counts['unimplemented']} | {counts['fail']} | {named} |")


def place(name):
    """The order of rows: CoreCLR, NativeAOT and Mono, each by system and version, then those of Windows (windows_suites.py)."""
    system, family, version = re.match(r"((?:musl|arm64|macos|win)-)?(net|aot|mono)([0-9.]+)$", name).groups(default="")
    systems = ["", "musl-", "arm64-", "macos-", "win-"].index(system)
    return system == "win-", ["net", "aot", "mono"].index(family), systems, [int(number) for number in version.split(".")]


def write(rows, head=HEAD):
    """Replaces the rows in the table with this head."""
    with open(TABLE, encoding="utf-8") as file:
        before, _, behind = file.read().partition(head + "\n")
    lines = behind.splitlines()
    end = next(nth for nth, line in enumerate(lines + [""]) if not line.startswith("|"))
    table = {line.split("|")[1].strip(): line for line in lines[1:end]} | {line.split("|")[1].strip(): line for line in rows}
    names = sorted(table, key=place)
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write(before + "\n".join([head, lines[0], *(table[name] for name in names), *lines[end:]]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--families", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--evidence", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--diagipc", default="diagipc")
    parser.add_argument("--html")
    parser.add_argument("--reports")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    names = [GATE] if arguments.gate else arguments.names or ["net10.0.9", "net9.0.5", "net8.0.30", "net3.1.23"]
    if arguments.families:
        names = launch.there(EVERY)
    launch.fetch_or_skip(*names)
    if arguments.gate:
        runs = [(GATE, []), (GATE, ["--allow-harmful", "--only", "scripts/harmful"])]
        changing = ["--allow-harmful", "--allow-side-effects", "--only", "*/process/*", "--only", "scripts/ports/port-suspends"]
        runs += [(name, changing) for name in launch.there(name for name in launch.LOCAL if name.startswith("aot"))]
    else:
        only = [word for glob in arguments.only for word in ("--only", glob)]
        runs = [(name, ["--allow-side-effects", "--allow-harmful", "--jobs", "2", *only]) for name in names]
    good, rows = True, []
    with tempfile.TemporaryDirectory() as directory:
        directory = arguments.reports or directory
        files = []
        for name, options in runs:
            report = held(arguments.diagipc, name, options, 5400 if name.startswith("arm64-") else 1800)
            rows.append(row(report))
            print(rows[-1], flush=True)
            unknown = [case for case in report["cases"] if case["grade"] == "fail" and not known(case)]
            for case in unknown:
                print(f"  failed: {case['name']}: {'; '.join(case['detail']['found'])[:400]}")
            if "lost" in report:
                print(f"  lost: {report['lost']['reason']}")
            good &= not unknown and "lost" not in report and report["counts"]["pass"] > 0
            if arguments.evidence:
                evidence.keep(report, is_whole=not arguments.only)
            files.append(os.path.join(directory, name + ".json"))
            with open(files[-1], "w", encoding="utf-8") as file:
                json.dump(report, file, indent=1)
        if arguments.write:
            write(rows)
        if arguments.html:
            subprocess.run([arguments.diagipc, "report", "--html", arguments.html, *files], check=True, stdout=subprocess.DEVNULL)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
