#!/usr/bin/env python3
"""official_tools.py [--diagipc PROGRAM] [--all]

Tests Microsoft's dotnet-trace and dotnet-counters, and reads every stream that the kit writes with Microsoft's parser. The tools are found
in ../shared/clients/official-tools beside the repository, in an archive that also has the part of .NET that they use. A selection of short
scenarios is played; all with --all (half an hour). Exits with 1 if a failure is not a known fault of theirs, if a tool passes nothing, or if a
stream cannot be read or has no event; with 77 if the tools are not there.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

import checks
import launch
from built import diagipc, shared
from checks import check
from clients import CLIENTS, SKIP, command_line

# None in which a tool waits until it is ended.
SELECTION = ["request/plain/trace", "text/spaces-and-quotes/trace/arguments", "streams/session-collect-tracing2",
             "streams/stream-is-read-while-the-stop-waits", "streams/session-refused", "reply/error/trace", "size-field/session",
             "tool_ports/tool-port-session", "tool_ports/tool-port-nil-cookie/trace-port"]
# What these tools do, and the library that they use (spec/CLIENTS.md).
KNOWN = {"magic-unchecked", "reply-command-set-unchecked", "no-read-timeout", "another-process-reached", "process-not-found"}
SECONDS = 900


def found(directory):
    """The directory of their programs, unpacked, or None."""
    for archive in shared("clients/official-tools/*.tar.xz"):
        subprocess.run(["tar", "-C", directory, "-xf", archive], check=True, timeout=120)
        return os.path.join(directory, "official-tools", "bin")
    return None


def play(program, tool, only, env):
    done = subprocess.run([program, "client", "--json", "--jobs", "3", "--operations", os.path.join(CLIENTS, tool + ".toml"), *only],
                          stdout=subprocess.PIPE, text=True, timeout=SECONDS, env=env, check=False)
    cases = json.loads(done.stdout)["cases"]
    faults = {case["name"]: {fault["name"] for fault in case.get("faults", [])} for case in cases}
    failed = [f"{case['name']}: {', '.join(case['detail']['found'][:2])}" for case in cases
              if case["grade"] == "fail" and (not faults[case["name"]] or faults[case["name"]] - KNOWN)]
    passed = [case["name"] for case in cases if case["grade"] == "pass"]
    check(f"{tool}: {len(passed)} cases passed, no false failure", not failed, "\n".join(failed))
    # A pass shows something only if the tool can do the operation at all.
    plain = {case["name"]: case["grade"] for case in cases
             if case["name"] in ("request/plain/trace", "tool_ports/tool-port-session", "streams/session-collect-tracing2")}
    check(f"{tool}: its plain sessions pass", len(plain) == 3 and set(plain.values()) == {"pass"}, plain)


def scripted():
    """Name and bytes of each whole stream that a scripted runtime sends."""
    for path in sorted(glob.glob(os.path.join(CLIENTS, "scenarios", "*.json"))):
        with open(path, encoding="utf-8") as file:
            scenarios = json.load(file)["scenarios"]
        for scenario in scenarios:
            output = scenario.get("output", {})
            if output.get("stream") and "may_be_cut" not in output:
                yield scenario["name"], b"".join(map(of_part, output["stream"]))


def of_part(part):
    return bytes.fromhex(part) if isinstance(part, str) else bytes.fromhex(part["repeat"]) * part["times"]


def of_the_runtime(program, directory):
    """Name and bytes of the streams of `diagipc runtime`, with a rundown and without."""
    env = {**os.environ, "TMPDIR": directory}
    with subprocess.Popen([program, "runtime"], stdout=subprocess.PIPE, text=True, env=env) as runtime:
        try:
            runtime.stdout.readline()
            for options in ([], ["--no-rundown"]):
                path = os.path.join(directory, "runtime.nettrace")
                subprocess.run([program, "trace", str(runtime.pid), "--force", "-d", "1", "-p", "X", "-o", path, *options], env=env,
                               check=True, capture_output=True, timeout=60)
                with open(path, "rb") as file:
                    yield " ".join(["diagipc runtime", *options]), file.read()
        finally:
            runtime.terminate()


def main():
    arguments = command_line(__doc__)
    with tempfile.TemporaryDirectory() as directory:
        home = found(directory)
        if not home:
            for name in ("dotnet-trace", "dotnet-counters"):
                launch.missing(name, "not found")
            return SKIP
        program = diagipc(arguments.diagipc)
        streams, files = {}, []
        for name, stream in [*scripted(), *of_the_runtime(program, directory)]:
            streams.setdefault(stream, name)
        for number, (stream, name) in enumerate(streams.items()):
            files.append((os.path.join(directory, f"{number}.nettrace"), name))
            with open(files[-1][0], "wb") as file:
                file.write(stream)
        read = subprocess.run([os.path.join(home, "nettrace-read"), *[path for path, _ in files]], stdout=subprocess.PIPE, text=True, timeout=120,
                              check=False)
        read = {one["file"]: one for one in map(json.loads, read.stdout.splitlines())}
        for path, name in files:
            one = read.get(path, {})
            check(f"Microsoft's parser reads the stream of {name}", one.get("error", "") is None and one["events"] > 0 and one["lost"] == 0, one)
        # The tools are .NET programs too, whose own sockets nobody needs.
        env = {**os.environ, "PATH": home + os.pathsep + os.environ["PATH"], "DOTNET_EnableDiagnostics": "0"}
        only = [word for pattern in SELECTION for word in ("--only", pattern)]
        for tool in ("dotnet-trace", "dotnet-counters"):
            whole = ["--only", "trace", "--only", "trace-port"]
            play(program, tool, whole if arguments.all else only, env)
    return 1 if checks.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
