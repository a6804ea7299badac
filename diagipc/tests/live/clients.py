#!/usr/bin/env python3
"""clients.py [--all] [--diagipc PROGRAM] [csclient | tools | streams ...]
   clients.py --keep [NAME ...] | --page FILE

Tests the clients of others. `csclient` is Microsoft.Diagnostics.NETCore.Client in a program that does one operation per run; its failures must
be those in diagipc/clients/csclient.known.toml, case by case. Microsoft's dotnet-trace and dotnet-counters must have no failure that is not a
known fault of theirs, and Microsoft's parser must read every stream that the project writes. A selection of short cases, or all with --all
(half an hour). The programs are in ../shared/clients beside the repository, csclient also at $CSCLIENT or in the PATH.

--keep: tests the clients of others that are at hand, or those named, and keeps their reports in diagipc/evidence/reports/, without the bytes
of their cases (an hour). --page: writes what each implementation does in each case, for a release: servers as recorded in diagipc/evidence/,
clients of others as kept, and codecs and our own client, which are tested now.

Prints one line per check; exits with 1 if one differs, with 77 if a program is not found.
"""
import argparse
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

import checks
import launch
from built import ROOT, diagipc, shared
from checks import check

CLIENTS, ADAPTERS = "diagipc/clients", "diagipc/adapters"
KEPT = pathlib.Path(ROOT, "diagipc/evidence/reports")
SECONDS = 7200
CSCLIENTS, TOOLS = ("0.2.731102", "0.2.750501"), ("dotnet-trace", "dotnet-counters")
# At least one case of each known fault, except faults for which a client must give up, and some cases that pass.
SHORT_CSCLIENT = ["request/*", "text/latin/*", "size/*/set-env", "reply/*/resume", "reply/*/attach", "replies/reply-cut-*", "replies/ok-*",
                  "strings/*", "entries/*", "environment/environment-odd-entries", "environment/environment-count-too-large",
                  "discovery/*/process-info", "tool_ports/tool-port", "streams/session-collect-tracing2"]
# Cases in which no tool waits until it is ended.
SHORT_TOOLS = ["request/plain/trace", "text/spaces-and-quotes/trace/arguments", "streams/session-collect-tracing2",
               "streams/stream-is-read-while-the-stop-waits", "streams/session-refused", "reply/error/trace", "size-field/session",
               "tool_ports/tool-port-session", "tool_ports/tool-port-nil-cookie/trace-port"]
# The known faults of these tools and of their library (diagipc/clients/csclient.known.toml).
KNOWN = {"magic-unchecked", "reply-command-set-unchecked", "no-read-timeout", "another-process-reached", "process-not-found"}


# --- programs ------------------------------------------------------------------------------------------------------
def csclient(home, version=CSCLIENTS[0]):
    """Puts this version of csclient, or this machine's, into a directory; returns the directory, or None."""
    given = os.environ.get("CSCLIENT") or shutil.which("csclient")
    archives = [path for path in shared("clients/csclient-*.xz") if f"-{version}." in path]
    if given:
        os.symlink(os.path.abspath(given), os.path.join(home, "csclient"))
    elif archives:
        with open(os.path.join(home, "csclient"), "wb") as file:
            subprocess.run(["xz", "-dc", archives[0]], check=True, stdout=file, timeout=60)
        os.chmod(file.name, 0o755)
    return home if given or archives else None


def tools(home):
    """Unpacks Microsoft's tools, a reader of nettrace files, and the part of .NET that they use; returns their directory, or None."""
    for archive in shared("clients/official-tools/*.tar.xz"):
        subprocess.run(["tar", "-C", home, "-xf", archive], check=True, timeout=120)
        return os.path.join(home, "official-tools", "bin")
    return None


def environment(home):
    """Returns an environment with the programs of a directory. They are .NET programs too, so their own sockets are turned off."""
    return {**os.environ, "PATH": f"{home}{os.pathsep}{os.environ['PATH']}", "DOTNET_EnableDiagnostics": "0"}


def operations(name, *options):
    return ["client", "--operations", f"{CLIENTS}/{name}.toml", *options]


def only(globs):
    return [word for glob in globs for word in ("--only", glob)]


def tested(home, *words):
    """Runs a suite; returns its exit status and its report."""
    done = subprocess.run([diagipc(), words[0], "--json", *words[1:]], stdout=subprocess.PIPE, text=True, timeout=SECONDS, env=environment(home),
                          check=False, cwd=ROOT)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, words))}: status {done.returncode}")
    return done.returncode, json.loads(done.stdout)


# --- what they fail ------------------------------------------------------------------------------------------------
def in_words(cases):
    return "\n".join(f"{case['name']}: {', '.join(case['detail']['found'][:2])}" for case in cases)


def check_csclient(home, everything):
    home = csclient(home)
    if not home:
        return launch.missing("csclient", "set $CSCLIENT to its path")
    known_file = f"{CLIENTS}/csclient.known.toml"
    status, report = tested(home, *operations("csclient", "--profile", "coreclr-10", "--known", known_file),
                            *([] if everything else only(SHORT_CSCLIENT)))
    known = tomllib.loads(pathlib.Path(ROOT, known_file).read_text(encoding="utf-8"))["cases"]
    played = {case["name"] for case in report["cases"] if case["grade"] != "unimplemented"}
    expected = {(fault, case) for fault, cases in known.items() for case in cases if case in played}
    accepted = {(fault["name"], case["name"]) for case in report["cases"] for fault in case.get("faults", [])
                if case["grade"] == "informational"}
    failed = [case for case in report["cases"] if case["grade"] == "fail"]
    check(f"csclient: {len(played)} cases, no unknown failure", status == 0 and not failed, in_words(failed))
    check(f"csclient: {len(expected)} known faults in their cases, all present", expected <= accepted, sorted(expected - accepted))
    waits = set() if everything else {"no-read-timeout", "reads-until-close"}
    missing = set(known) - {fault for fault, _ in expected} - waits
    check("csclient: each known fault has a case that was run", not missing, sorted(missing))
    check("csclient: no entry is unknown or gone", not [note for note in report.get("notes", []) if "accepted" in note], report.get("notes"))


def check_tool(home, tool, everything):
    globs = ["trace", "trace-port"] if everything else SHORT_TOOLS
    cases = tested(home, *operations(tool, "--jobs", "3", *only(globs)))[1]["cases"]
    faults = {case["name"]: {fault["name"] for fault in case.get("faults", [])} for case in cases}
    failed = [case for case in cases if case["grade"] == "fail" and (not faults[case["name"]] or faults[case["name"]] - KNOWN)]
    check(f"{tool}: {sum(case['grade'] == 'pass' for case in cases)} cases passed, no false failure", not failed, in_words(failed))
    # A pass shows something only if the tool can do the operation at all.
    plain = {case["name"]: case["grade"] for case in cases
             if case["name"] in ("request/plain/trace", "tool_ports/tool-port-session", "streams/session-collect-tracing2")}
    check(f"{tool}: its plain sessions pass", len(plain) == 3 and set(plain.values()) == {"pass"}, plain)


# --- streams -------------------------------------------------------------------------------------------------------
def scripted():
    """Yields the name and bytes of each whole stream that a scripted runtime sends."""
    def bytes_of(part):
        return bytes.fromhex(part) if isinstance(part, str) else bytes.fromhex(part["repeat"]) * part["times"]

    for path in sorted(glob.glob(os.path.join(ROOT, CLIENTS, "scenarios/*.json"))):
        for scenario in json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["scenarios"]:
            output = scenario.get("output", {})
            if output.get("stream") and "may_be_cut" not in output:
                yield scenario["name"], b"".join(map(bytes_of, output["stream"]))


def of_the_runtime(directory):
    """Yields the name and bytes of streams of `diagipc runtime`, with and without a rundown."""
    env = {**os.environ, "TMPDIR": directory}
    with subprocess.Popen([diagipc(), "runtime"], stdout=subprocess.PIPE, text=True, env=env) as runtime:
        try:
            runtime.stdout.readline()
            for options in ([], ["--no-rundown"]):
                path = os.path.join(directory, "runtime.nettrace")
                done = subprocess.run([diagipc(), "trace", str(runtime.pid), "--force", "-d", "1", "-p", "X", "-o", path, *options], env=env,
                                      check=False, capture_output=True, timeout=60)
                # Without a rundown it has no event, which is status 1.
                assert done.returncode in (0, 1), done.stderr
                yield " ".join(["diagipc runtime", *options]), pathlib.Path(path).read_bytes()
        finally:
            runtime.terminate()


def check_streams(home, directory):
    streams, files = {}, {}
    for name, stream in [*scripted(), *of_the_runtime(directory)]:
        streams.setdefault(stream, name)
    for number, (stream, name) in enumerate(streams.items()):
        path = os.path.join(directory, f"{number}.nettrace")
        pathlib.Path(path).write_bytes(stream)
        files[path] = name
    read = subprocess.run([home + "/nettrace-read", *files], stdout=subprocess.PIPE, text=True, timeout=120, check=False).stdout
    read = {one["file"]: one for one in map(json.loads, read.splitlines())}
    for path, name in files.items():
        one = read.get(path, {})
        check(f"Microsoft's parser reads the stream of {name}", one.get("error", "") is None and one["events"] > 0 and one["lost"] == 0, one)


# --- reports that are kept, and their page ---------------------------------------------------------------------------
def others():
    """Returns names, each with a function that finds the program and returns the words of its suite, or None."""
    def of_csclient(version):
        name = f"Microsoft.Diagnostics.NETCore.Client {version}"
        return lambda home: (csclient(home, version), operations("csclient", "--profile", "coreclr-10", "--name", name))

    def of_tool(tool):
        version = [re.search(r"-([0-9.]+)\.tar", path)[1] for path in shared("clients/official-tools/*.tar.xz")]
        return lambda home: (tools(home), operations(tool, *only(["trace", "trace-port"]), "--name", " ".join([tool, *version])))

    return {f"client-csclient-{version}": of_csclient(version) for version in CSCLIENTS} | {f"client-{tool}": of_tool(tool) for tool in TOOLS}


def ours(home):
    """Returns the names and words of the suites of our own implementations."""
    version = subprocess.run([diagipc(), "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    adapter = os.path.join(home, "adapter")
    subprocess.run(["cc", "-std=c99", "-O1", "-o", adapter, f"{ROOT}/{ADAPTERS}/c_header/adapter.c", "-I", ROOT + "/c"], check=True, timeout=120)
    os.symlink(os.path.abspath(diagipc()), os.path.join(home, "diagipc"))
    return {
        "client-diagipc": operations("diagipc", "--name", f"diagipc {version}"),
        "codec-crate": ["codec", "--name", "dotnet-diagnostics-ipc", "--self"],
        "codec-python": ["codec", "--name", "adapters/python", "--", "python3", f"{ADAPTERS}/python/adapter.py"],
        "codec-c-header": ["codec", "--name", "c/dotnet_ipc.h", "--", adapter],
        "codec-grammar": ["codec", "--name", "spec/grammar.json", "--", "python3", f"{ADAPTERS}/grammar/adapter.py"],
    }


def brief(name, report):
    """Returns the text of a report, with a line for each case and without bytes. Only cases that did not pass keep a reason."""
    print(f"{name}: {report['counts']}", flush=True)
    for case in report["cases"]:
        detail = case.pop("detail", None)
        if detail and case["grade"] != "pass":
            case["detail"] = {"sent": [], "expected": detail["expected"], "seen": [], "found": detail["found"]}
    for cause in report.get("causes", []):
        cause.pop("dump", None)
    command = report["made"]["command"]
    if "--" in command:
        # The command has the path of a temporary directory.
        del command[command.index("--"):]
    report.pop("notes", None)
    cases = ",\n".join(json.dumps(case, ensure_ascii=False) for case in report.pop("cases"))
    return json.dumps(report, ensure_ascii=False, indent=1).removesuffix("\n}") + ',\n "cases": [\n' + cases + "\n]}\n"


def keep(names):
    KEPT.mkdir(exist_ok=True)
    for name in names or others():
        with tempfile.TemporaryDirectory() as home:
            found, words = others()[name](home)
            if found:
                (KEPT / f"{name}.json").write_text(brief(name, tested(found, *words)[1]), encoding="utf-8")
            else:
                print(f"{name}: not at hand", flush=True)


def servers():
    """Returns the recordings of this system's builds, by family and version; it cannot judge others."""
    families = ["net", "musl-net", "arm64-net", "aot", "arm64-aot", "mono"]
    found = {}
    for path in KEPT.parent.glob("*.json"):
        build = re.fullmatch(f"({'|'.join(families)})([0-9.]+)", path.stem)
        if build:
            found[path] = families.index(build[1]), [*map(int, build[2].split("."))]
    return sorted(found, key=found.get)


def page(file):
    with tempfile.TemporaryDirectory() as home:
        reports = []
        for name, words in ours(home).items():
            reports.append(pathlib.Path(home) / f"{name}.json")
            reports[-1].write_text(brief(name, tested(home, *words)[1]), encoding="utf-8")
        subprocess.run([diagipc(), "report", "--html", file, *servers(), *sorted(KEPT.glob("*.json")), *reports], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--diagipc")
    parser.add_argument("--keep", nargs="*", metavar="NAME", choices=others())
    parser.add_argument("--page", metavar="FILE")
    parser.add_argument("what", nargs="*", choices=["csclient", "tools", "streams", []])
    arguments = parser.parse_args()
    os.environ["DIAGIPC"] = diagipc(arguments.diagipc)
    if arguments.page:
        return page(arguments.page)
    if arguments.keep is not None:
        return keep(arguments.keep)
    what = arguments.what or ["csclient", "tools", "streams"]
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as streams:
        if "csclient" in what:
            check_csclient(directory, arguments.all)
        home = what != ["csclient"] and tools(directory)
        if what != ["csclient"] and not home:
            for name in TOOLS:
                launch.missing(name, "not found")
        elif "streams" in what:
            check_streams(home, streams)
        for tool in TOOLS if home and "tools" in what else ():
            check_tool(home, tool, arguments.all)
    checks.finish(checks.SKIP if launch.MISSING else 0)


if __name__ == "__main__":
    main()
