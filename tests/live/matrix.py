#!/usr/bin/env python3
"""matrix.py [--gate] [--diagipc PROGRAM] [--html FILE] [--reports DIRECTORY] [NAME ...]

Holds real runtimes to every case of `diagipc server`, also those that change or kill them, and puts the reports side by side on one page.
Prints a row a runtime, as README.md has it. --gate: only net10.0.9, what changes nothing and what kills. Exits with 1 if a case
failed or a runtime was lost, and with 77 if a runtime cannot be had here.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import launch

HERE = os.path.dirname(os.path.abspath(__file__))
GATE = "net10.0.9"
# 3.1 cannot say what it is (F-68); and only .NET 10 has sessions with user_events.
OPTIONS = {"net3.1.23": ["--profile", "coreclr-3.1"], "net10.0.9": ["--stand-in-for-user-events"]}
SPAWN = {"net10.0.9": ["--user-events"]}


def held(program, name, options, patience):
    """The report of a runtime."""
    spawn = [sys.executable, os.path.join(HERE, "spawn.py"), *SPAWN.get(name, []), name]
    command = [program, "server", "--json", "--name", name, *OPTIONS.get(name, []), *options, "--spawn", "--", *spawn]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=patience)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"{name}: exit status {done.returncode}")
    report = json.loads(done.stdout)
    # As it is typed at the root of the project, wherever that is.
    report["made"]["command"] = ["diagipc", *command[1:command.index("--")], "--", "python3", "tests/live/spawn.py", *spawn[2:]]
    return report


def row(report):
    counts = report["counts"]
    return (f"| {report['target']} | {counts['pass'] + counts['passLenient']} | {counts['informational']} | "
            f"{counts['unimplemented']} | {counts['fail']} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--diagipc", default="diagipc")
    parser.add_argument("--html")
    parser.add_argument("--reports")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    names = [GATE] if arguments.gate else arguments.names or ["net10.0.9", "net9.0.5", "net8.0.30", "net3.1.23"]
    launch.fetch_or_skip(*names)
    if arguments.gate:
        runs = [(GATE, []), (GATE, ["--allow-harmful", "--only", "scripts/harmful"])]
    else:
        runs = [(name, ["--allow-side-effects", "--allow-harmful", "--jobs", "2"]) for name in names]
    good = True
    with tempfile.TemporaryDirectory() as directory:
        directory = arguments.reports or directory
        files = []
        for name, options in runs:
            report = held(arguments.diagipc, name, options, 1800)
            print(row(report), flush=True)
            for case in report["cases"]:
                if case["grade"] == "fail":
                    print(f"  failed: {case['name']}: {'; '.join(case['detail']['found'])[:400]}")
            if "lost" in report:
                print(f"  lost: {report['lost']['reason']}")
            good &= report["counts"]["fail"] == 0 and "lost" not in report and report["counts"]["pass"] > 0
            files.append(os.path.join(directory, name + ".json"))
            with open(files[-1], "w", encoding="utf-8") as file:
                json.dump(report, file, indent=1)
        if arguments.html:
            subprocess.run([arguments.diagipc, "report", "--html", arguments.html, *files], check=True, stdout=subprocess.DEVNULL)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
