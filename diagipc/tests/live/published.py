#!/usr/bin/env python3
"""published.py --keep [NAME ...]
   published.py --page FILE

--page: writes what each implementation does in each case, for a release: servers as recorded in diagipc/evidence/, clients of others as kept in
diagipc/evidence/reports/, and codecs and our own client, which are tested now. --keep: tests the clients of others that are at hand, or those
named, and keeps their reports there, without the bytes of their cases; `csclient` and Microsoft's tools are found as by clients.py and
official_tools.py, in an hour. One that is not at hand is named, and its file stays. Uses `diagipc` from $DIAGIPC, or builds it.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from built import ROOT, diagipc, shared

ROOT = pathlib.Path(ROOT)
KEPT = ROOT / "diagipc/evidence/reports"
ADAPTERS = "diagipc/adapters"
SECONDS = 7200


class Missing(Exception):
    """A program that is not at hand."""


def missing(what):
    raise Missing(what)


def client(operations, *options):
    return ["client", "--operations", f"diagipc/clients/{operations}.toml", *options]


def csclient(version):
    def made(home):
        (archive,) = [path for path in shared("clients/csclient-*.xz") if f"-{version}." in path] or missing(f"csclient {version}")
        with open(home / "csclient", "wb") as file:
            subprocess.run(["xz", "-dc", archive], check=True, stdout=file, timeout=60)
        (home / "csclient").chmod(0o755)
        return home, client("csclient", "--profile", "coreclr-10", "--name", f"Microsoft.Diagnostics.NETCore.Client {version}")
    return made


def official(tool):
    def made(home):
        archive = (shared("clients/official-tools/*.tar.xz") or missing(tool))[-1]
        version = re.search(r"-([0-9.]+)\.tar", archive)[1]
        subprocess.run(["tar", "-C", home, "-xf", archive], check=True, timeout=120)
        return home / "official-tools/bin", client(tool, "--only", "trace", "--only", "trace-port", "--name", f"{tool} {version}")
    return made


def codec(name, *command):
    def made(home):
        words = [str(word(home)) if callable(word) else word for word in command]
        return home, ["codec", "--name", name, *words]
    return made


def compiled(source, *options):
    """A C adapter."""
    def made(home):
        subprocess.run(["cc", "-std=c99", "-O1", "-o", home / "adapter", ROOT / source, *options], check=True, timeout=120)
        return home / "adapter"
    return made


def version():
    return subprocess.run([diagipc(), "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]


def own(home):
    return pathlib.Path(diagipc()).parent, client("diagipc", "--name", f"diagipc {version()}")


OTHERS = {
    "client-csclient-0.2.731102": csclient("0.2.731102"),
    "client-csclient-0.2.750501": csclient("0.2.750501"),
    "client-dotnet-trace": official("dotnet-trace"),
    "client-dotnet-counters": official("dotnet-counters"),
}
OURS = {
    "client-diagipc": own,
    "codec-crate": codec("dotnet-diagnostics-ipc", "--self"),
    "codec-python": codec("adapters/python", "--", "python3", f"{ADAPTERS}/python/adapter.py"),
    "codec-c-header": codec("c/dotnet_ipc.h", "--", compiled(f"{ADAPTERS}/c_header/adapter.c", "-I", str(ROOT / "c"))),
    "codec-grammar": codec("spec/grammar.json", "--", "python3", f"{ADAPTERS}/grammar/adapter.py"),
}


def brief(report):
    """Without the bytes: of what passed nothing is kept, of the rest why it did not pass."""
    for case in report["cases"]:
        detail = case.pop("detail", None)
        if detail and case["grade"] != "pass":
            case["detail"] = {"sent": [], "expected": detail["expected"], "seen": [], "found": detail["found"]}
    for cause in report.get("causes", []):
        cause.pop("dump", None)
    command = report["made"]["command"]
    if "--" in command:
        # A program in a temporary directory.
        del command[command.index("--"):]
    report.pop("notes", None)
    return report


def text(report):
    """A line for each case, as a change of one is a change of a line."""
    cases = ",\n".join(json.dumps(case, ensure_ascii=False) for case in report.pop("cases"))
    head = json.dumps(report, ensure_ascii=False, indent=1)
    return head.removesuffix("\n}") + ',\n "cases": [\n' + cases + "\n]}\n"


def tested(name, made):
    """The report of an implementation, in brief; None if it is not at hand."""
    with tempfile.TemporaryDirectory() as home:
        try:
            path, words = made(pathlib.Path(home))
        except Missing as what:
            print(f"{name}: not at hand: {what}", flush=True)
            return None
        env = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}", "DOTNET_EnableDiagnostics": "0"}
        command = [diagipc(), words[0], "--json", *words[1:]]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=SECONDS, env=env, check=False, cwd=ROOT)
    if done.returncode not in (0, 1):
        sys.exit(f"{name}: status {done.returncode}")
    report = brief(json.loads(done.stdout))
    print(f"{name}: {report['counts']}", flush=True)
    return text(report)


def of_servers():
    """The recordings that this system can judge: those of its own builds. By family and version."""
    families = ["net", "musl-net", "arm64-net", "aot", "arm64-aot", "mono"]
    found = {}
    for path in (ROOT / "diagipc/evidence").glob("*.json"):
        build = re.fullmatch(f"({'|'.join(families)})([0-9.]+)", path.stem)
        if build:
            found[path] = families.index(build[1]), [*map(int, build[2].split("."))]
    return sorted(found, key=found.get)


def page(file):
    with tempfile.TemporaryDirectory() as home:
        reports = []
        for name, made in OURS.items():
            report = tested(name, made) or sys.exit(1)
            reports.append(pathlib.Path(home) / f"{name}.json")
            reports[-1].write_text(report, encoding="utf-8")
        subprocess.run([diagipc(), "report", "--html", file, *of_servers(), *sorted(KEPT.glob("*.json")), *reports], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--keep", nargs="*", metavar="NAME", choices=OTHERS)
    what.add_argument("--page", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.page:
        page(arguments.page)
        return
    KEPT.mkdir(exist_ok=True)
    for name in arguments.keep or OTHERS:
        report = tested(name, OTHERS[name])
        if report:
            (KEPT / f"{name}.json").write_text(report, encoding="utf-8")


if __name__ == "__main__":
    main()
