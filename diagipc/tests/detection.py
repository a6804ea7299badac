#!/usr/bin/env python3
"""detection.py servers [--diagipc PROGRAM] [--write]

Plants each fault of the fixtures, runs the suite, and makes a section of spec/DETECTION.md: the planted fault, and the named causes.
Without --write it prints the section. Exits with 1 if a cause is named that was not planted, or a planted one is not named.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "spec", "DETECTION.md")
SERVER = os.path.join(ROOT, "diagipc", "tests", "fixtures", "servers", "server.py")
JOBS = 2


def asked(diagipc, planted):
    """The named causes, and the number of failures without one."""
    kind, name, _, cases, _ = planted
    options = [option for case in cases.split() for option in ("--only", case)]
    command = [diagipc, "server", "--profile", "strict", "--json", "--allow-side-effects", "--allow-harmful", "--timeout", "5000",
               *options, "--spawn", "--", sys.executable, SERVER, f"--{kind}", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    unnamed = [case["name"] for case in report["cases"] if case["grade"] == "fail" and "faults" not in case]
    return sorted(cause["name"] for cause in report.get("causes", [])), unnamed


def servers(diagipc):
    listed = subprocess.run([sys.executable, SERVER, "--list"], capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in listed.splitlines()]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        results = list(pool.map(lambda row: asked(diagipc, row), rows))
    page, right, false, missed, faulty = [], [], 0, 0, 0
    for (kind, name, causes, _, text), (named, unnamed) in zip(rows, results):
        planted = causes.split()
        false += len(set(named) - set(planted)) + (len(unnamed) if kind == "taste" else 0)
        missed += len(set(planted) - set(named)) + (len(unnamed) if kind == "fault" else 0)
        faulty += kind == "fault"
        row = f"| `{name}` | {text} | {', '.join(f'`{cause}`' for cause in named) or 'none'} |"
        (page if kind == "fault" else right).append(row)
    head = [
        f"{faulty} faulty servers, one planted fault each; {len(rows) - faulty} right servers of other tastes.",
        f"False positives {false}, false negatives {missed}.",
        "",
    ]
    table = ["| planted | what the server does | causes named |", "|---|---|---|", *page]
    tastes = ["", "| right | what the server does | causes named |", "|---|---|---|", *right]
    return "\n".join(head + table + tastes), false + missed


SECTIONS = {"servers": servers}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=SECTIONS)
    parser.add_argument("--diagipc", default=os.path.join(ROOT, "target", "debug", "diagipc"))
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    section, wrong = SECTIONS[arguments.section](os.path.abspath(arguments.diagipc))
    if arguments.write:
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        begin, end = f"<!-- {arguments.section} -->\n", f"\n<!-- end of {arguments.section} -->"
        page = re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: begin + section + end, page, flags=re.DOTALL)
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page)
    else:
        print(section)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
