#!/usr/bin/env python3
"""busy.py [--busy N] [--only GLOB ...] [--reports DIRECTORY] [--diagipc PROGRAM] [NAME ...]

Runs `diagipc server` with every case on real runtimes of launch.py, and `diagipc client` on the Python client of the tests (the name
`client`), once alone and once beside N busy loops, by default 12; then compares the grade of every case. Prints one row per run and every
case that differs. --reports: keeps the reports in DIRECTORY; a report of a run alone that is already there is used again. Exits with 1 if
a case differs or a run did not reach its end, and with 77 if a runtime is not available here.
"""
import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import launch
import matrix
from built import ROOT

CLIENT = "client"
EVERY = ["net10.0.9", "net9.0.5", "net8.0.30", "aot8.0.31", CLIENT]
# Ends with its parent, even if that is killed.
LOOP = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
# Seconds for a run, however busy.
PATIENCE = 7200


@contextlib.contextmanager
def busy(count):
    """So many busy loops."""
    loops = [subprocess.Popen([sys.executable, "-IS", "-c", LOOP]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def of_client(program, only):
    """The report of the client."""
    fixtures = pathlib.Path(ROOT) / "diagipc/tests/fixtures/clients"
    text = (fixtures / "client.toml").read_text()
    text = text.replace('"python3"', json.dumps(sys.executable)).replace('"CLIENT"', json.dumps(str(fixtures / "client.py")))
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "client.toml"
        file.write_text(text.replace('FAULT"--', '"--'))
        command = [program, "client", "--json", "--operations", str(file), *only]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"client: exit status {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")
    return json.loads(done.stdout)


def run(program, name, only, loops):
    """The report of a run beside so many loops."""
    began = time.monotonic()
    with busy(loops):
        if name == CLIENT:
            report = of_client(program, only)
        else:
            report = matrix.held(program, name, ["--allow-side-effects", "--allow-harmful", "--jobs", "2", *only], PATIENCE)
    counts = report["counts"]
    print(f"{name}, {loops} busy loops: {len(report['cases'])} cases, {counts['fail']} failed, {time.monotonic() - began:.0f} s, load "
          f"{os.getloadavg()[0]:.0f} at the end", *report.get("notes", []), sep="\n    ", flush=True)
    return report


def different(alone, beside):
    """The cases whose grades differ, in words."""
    before, after = ({case["name"]: case for case in report["cases"]} for report in (alone, beside))
    for name in sorted({**before, **after}):
        grades = [report.get(name, {}).get("grade", "not played") for report in (before, after)]
        if grades[0] != grades[1]:
            found = ((after.get(name) or before[name]).get("detail") or {}).get("found", [])
            yield f"{name}: alone {grades[0]}, busy {grades[1]}: {'; '.join(found)[:300]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--busy", type=int, default=12)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--reports")
    parser.add_argument("--diagipc", default="diagipc")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    names = arguments.names or EVERY
    launch.fetch_or_skip(*(name for name in names if name != CLIENT))
    only = [word for glob in arguments.only for word in ("--only", glob)]
    good = True
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(arguments.reports or directory)
        for name in names:
            kept = directory / f"{name}-alone.json"
            if kept.exists():
                alone = json.loads(kept.read_text())
            else:
                alone = run(arguments.diagipc, name, only, 0)
                kept.write_text(json.dumps(alone, indent=1))
            beside = run(arguments.diagipc, name, only, arguments.busy)
            (directory / f"{name}-busy.json").write_text(json.dumps(beside, indent=1))
            differences = list(different(alone, beside))
            print(f"{name}: {len(differences)} cases differ", *differences, sep="\n    ", flush=True)
            good &= not differences and not any(key in report for report in (alone, beside) for key in ("lost", "interrupted"))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
