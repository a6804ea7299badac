#!/usr/bin/env python3
"""Checks which planted faults the client suite names, and whether correct clients pass: the section "Clients" of spec/DETECTION.md.

    detect.py [--diagipc PROGRAM] [--write | --check [--sample]] [NAME...]

Plays `diagipc/tests/fixtures/clients/client.py` with each fault and each taste of `faults.toml`. Exits with 1 if a fault is not named, if another
is named too, if a failure has no name, if a correct client fails, or, with --check, if the section differs from the run.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import py_compile
import re
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FIXTURES = ROOT / "diagipc/tests/fixtures/clients"
TABLE = ROOT / "spec/DETECTION.md"


def compiled(directory):
    """Compiles the client to bytecode: it starts two thousand times, and compiling takes a quarter of each start."""
    return py_compile.compile(str(FIXTURES / "client.py"), cfile=str(pathlib.Path(directory) / "client.pyc"), doraise=True)


def operations(directory, client=str(FIXTURES / "client.py"), kind="taste", name="none"):
    """Writes the file that describes the client with this habit."""
    text = (FIXTURES / "client.toml").read_text()
    text = text.replace('"python3"', json.dumps(sys.executable)).replace('"CLIENT"', json.dumps(client))
    text = text.replace('FAULT"--', f'"--{kind}", "{name}", "--')
    if name.endswith("/texts-of-its-own"):
        text = text.replace('"{provider}"', '"Its own"').replace('"{arguments}"', '"a=b"')
    if "counters" in name:
        text = text.replace('"{output}"]\noutput = "stream"', '"{output}"]\noutput = "counters"')
    file = pathlib.Path(directory) / f"{kind}-{name.replace('/', '-')}.toml"
    file.write_text(text)
    return file


def play(diagipc, file, globs):
    only = [word for glob in globs for word in ("--only", glob)]
    command = [diagipc, "client", "--json", "--jobs", "4", "--operations", str(file), *only]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}: {ran.stderr}")
    return json.loads(ran.stdout)["cases"]


def judge(cases):
    """Returns the named faults, and the failures without a named fault."""
    named = sorted({fault["name"] for case in cases for fault in case.get("faults", [])})
    unnamed = [case["name"] for case in cases if case["grade"] == "fail" and not case.get("faults")]
    return named, unnamed


def fault_of(name):
    """Returns the name of a fault without its variant."""
    return name.partition("/")[0]


def mends(diagipc, names):
    """Returns how to fix each fault, from `diagipc explain`."""
    said = names and subprocess.run([diagipc, "explain", *names], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"(?m)^(\S+), found by .*?: .*\n  how to fix it: (.*)$", said or ""))


def section(rows, mends):
    right = sum(row["ok"] for row in rows if row["kind"] == "fault")
    faults = sum(row["kind"] == "fault" for row in rows)
    tastes = [row for row in rows if row["kind"] == "taste"]
    wrong = sum(len(set(row["named"]) - {fault_of(row["name"])}) + len(row["unnamed"]) for row in rows)
    lines = [
        "## Clients",
        "",
        "`python3 diagipc/tests/clients/detect.py --write` writes this section. Each client is `diagipc/tests/fixtures/clients/client.py` with one fault",
        "or one habit; `diagipc/tests/clients/faults.toml` says which scenarios it is played with.",
        "",
        f"{faults} faulty clients: {right} named, {faults - right} missed. {len(tastes)} right ones: "
        f"{sum(row['ok'] for row in tastes)} pass. False names and failures without a name: {wrong}.",
        "",
        "| planted | named | how to fix it |",
        "|---|---|---|",
    ]
    for row in rows:
        said = ", ".join([f"`{name}`" for name in row["named"]] + [f"unnamed: {name}" for name in row["unnamed"]])
        planted = f"`{row['name']}`" if row["kind"] == "fault" else f"none: {row['name']}"
        lines.append(f"| {planted} | {said or 'none, all pass'} | {mends.get(fault_of(row['name']), '')} |".replace("|  |", "| |"))
    return "\n".join(lines) + "\n"


def put(text, new):
    """Returns the file with this section in place of the old one."""
    return re.sub(r"(?ms)^## Clients\n.*?(?=^## |\Z)", lambda old: new + "\n" * old[0].endswith("\n\n"), text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--diagipc", default=str(ROOT / "target/debug/diagipc"))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sample", action="store_true", help="with --check: only one client in twenty")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    planted = tomllib.loads((HERE / "faults.toml").read_text())
    wanted = [(kind[:-1], name, globs) for kind in ("faults", "tastes") for name, globs in planted[kind].items()]
    wanted = [one for one in wanted if not arguments.names or one[1] in arguments.names]
    if arguments.sample:
        wanted = wanted[::20]

    def row(one):
        kind, name, globs = one
        cases = play(arguments.diagipc, operations(directory, client, kind, name), planted["all"] + globs)
        named, unnamed = judge(cases)
        is_named = named == ([fault_of(name)] if kind == "fault" else [])
        has_not_passed = any(case["grade"] != "pass" for case in cases)
        is_right = is_named and not unnamed and (kind == "fault" or not has_not_passed)
        if not is_right:
            others = [f"{case['name']} {case['grade']} {case['detail']['found'][:2]} {case['detail'].get('about', [])[1:]}"
                      for case in cases if case["grade"] != "pass"]
            print(f"{kind} {name}: named {named}, unnamed {unnamed}", *others[:40], sep="\n    ", flush=True)
        return {"kind": kind, "name": name, "named": named, "unnamed": unnamed, "ok": is_right}

    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        client = compiled(directory)
        rows = list(pool.map(row, wanted))
    new = section(rows, mends(arguments.diagipc, sorted({fault_of(row["name"]) for row in rows if row["kind"] == "fault"})))
    old = TABLE.read_text()
    if arguments.write:
        TABLE.write_text(put(old, new))
    elif not arguments.check:
        print(new)
    if arguments.sample:
        is_same = all(line in old.splitlines() for line in new.splitlines() if line.startswith("| "))
    else:
        is_same = not arguments.check or put(old, new) == old
    if not is_same:
        print("the section Clients of spec/DETECTION.md differs from this run")
    return 0 if is_same and all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
