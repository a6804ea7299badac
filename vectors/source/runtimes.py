"""Replies recorded from live runtimes: `recorded/*.json` holds the bytes that `diagipc/examples/probe.rs --record` wrote, and for Windows
`diagipc/tests/live/windows.py --record` (without the environment, which depends on the machine).

The createdump of net9.0.5 could not be executed, so its dumps fail (P-6). `net9.0.5-createdump.json` has dumps of the same build whose
createdump can be (P-47); `diagipc/tests/live/effects.py` compares them.

The values are read here, by a separate decoder, to check the crate's decoder against it.
"""
import json
import os
import struct
import uuid

from notation import *

SINCE = {"Dump/GenerateCoreDump": "3.1", "Dump/GenerateCoreDump2": "6.0", "Dump/GenerateCoreDump3": "7.0", "EventPipe/StopTracing": "3.1", "EventPipe/CollectTracing": "3.1",
         "EventPipe/CollectTracing2": "3.1", "EventPipe/CollectTracing3": "9.0", "EventPipe/CollectTracing4": "9.0",
         "EventPipe/CollectTracing5": "10.0", "EventPipe/CollectTracing6": "11.0", "Profiler/AttachProfiler": "3.1",
         "Profiler/StartupProfiler": "6.0", "Process/ProcessInfo": "5.0", "Process/ResumeRuntime": "5.0",
         "Process/ProcessEnvironment": "5.0", "Process/SetEnvironmentVariable": "6.0", "Process/ProcessInfo2": "6.0",
         "Process/EnablePerfMap": "8.0", "Process/DisablePerfMap": "8.0", "Process/ApplyStartupHook": "8.0",
         "Process/ProcessInfo3": "8.0"}

KNOWN_TO_6 = ["Process/SetEnvironmentVariable", "Profiler/AttachProfiler"]  # which fail for another reason


class Bytes:
    """A payload, read from the front."""

    def __init__(self, data):
        self.data = data

    def take(self, form):
        (value,), self.data = struct.unpack_from("<" + form, self.data), self.data[struct.calcsize("<" + form):]
        return value

    def string(self):
        count = self.take("I")
        if count == 0:
            return None
        text, self.data = self.data[:2 * count], self.data[2 * count:]
        assert len(text) == 2 * count and text[-2:] == b"\0\0", text
        return text[:-2].decode("utf-16-le")

    def end(self, value):
        assert not self.data, self.data
        return value


def hresult(payload):
    return {"hresult": f"0x{payload.take('I'):08X}"}


def session(payload):
    return {"sessionId": str(payload.take("Q"))}


def info(payload):
    value = {"processId": str(payload.take("Q")), "runtimeCookie": str(uuid.UUID(bytes_le=payload.take("16s")))}
    return value | {name: payload.string() for name in ("commandLine", "OS", "arch")}


def info2(payload):
    return info(payload) | {name: payload.string() for name in ("managedEntrypointAssemblyName", "clrProductVersion")}


def info3(payload):
    return {"version": payload.take("I")} | info2(payload) | {"runtimeIdentifier": payload.string()}


def environment(payload):
    return {"nIncomingBytes": payload.take("I"), "future": payload.take("H")}


def block(payload):
    return [payload.string() for _ in range(payload.take("I"))]


def reader(command):
    name = command.split("/")[1]
    if name == "StopTracing" or name.startswith("CollectTracing"):
        return session
    return {"ProcessInfo": info, "ProcessInfo2": info2, "ProcessInfo3": info3, "ProcessEnvironment": environment}.get(name, hresult)


def facts(kind, command, prefix):
    """Returns the facts that a recorded reply shows."""
    seen = {"Dump/GenerateCoreDump3": ["F-81", "P-3"], "Profiler/StartupProfiler": ["P-4"], "Profiler/AttachProfiler": ["P-5"],
            "Process/ApplyStartupHook": ["P-1"], "Process/SetEnvironmentVariable": ["F-80"], "Process/EnablePerfMap": ["F-46"],
            "Process/ResumeRuntime": ["F-41"], "EventPipe/StopTracing": ["F-31"]}.get(command, [])
    if prefix.startswith("net3."):  # which has few of these commands
        seen = []
    if prefix.startswith("aot"):
        seen = {"Dump/GenerateCoreDump3": ["F-98"], "Profiler/StartupProfiler": ["F-91"], "Profiler/AttachProfiler": ["F-91"],
                "Process/ApplyStartupHook": ["F-93"], "Process/SetEnvironmentVariable": ["F-94"], "Process/EnablePerfMap": ["F-92"],
                "Process/DisablePerfMap": ["F-92"]}.get(command, seen)
        seen += ["F-100"] if command and command.startswith("Process/ProcessInfo") else []
    if prefix.endswith("-createdump"):
        return ["P-46", "P-47"] if kind == "error" else ["P-47"]
    if prefix.startswith("win-net6"):  # the only witness of its edition
        seen = {"Dump": ["F-127"], "Process/ProcessInfo2": ["F-128"] if prefix.endswith("-suspended") else [],
                "Profiler/StartupProfiler": ["F-128"], "Process/ResumeRuntime": ["F-41"]}
        return seen.get(command, seen.get(command.split("/")[0], ["F-127"] if kind == "error" and command not in KNOWN_TO_6 else []))
    if prefix.startswith("win-"):
        seen = {"EventPipe/CollectTracing5": ["P-17"] if kind == "error" else []}.get(command, seen)
    held = []
    if prefix.endswith("-suspended"):
        held = ["P-15"] if prefix.startswith("win-") else ["F-100"] if prefix.startswith("aot") else ["F-79"]
        held += [] if command == "Process/ProcessInfo" else ["P-12"]
    return (["F-68"] if kind == "error" and not prefix.startswith("win-") else []) + seen + held


def add(file, runtime, rows, prefix, first):
    """Adds each reply once, because repeated replies (sessions get the same id again) add nothing."""
    by = "diagipc/tests/live/windows.py, under wine" if prefix.startswith("win-") else "diagipc/examples/probe.rs"
    if prefix.endswith("-createdump"):
        by = "diagipc/tests/live/effects.py, its createdump made executable"
    groups, seen, tc = {}, set(), first
    for row in rows:
        command, wire = row["command"], bytes.fromhex(row["reply"])
        if (command, wire) in seen:
            continue
        seen.add((command, wire))
        if command is None:
            kind, value = "array<string>", block(Bytes(wire))
        else:
            assert wire[:14] == MAGIC and struct.unpack_from("<H", wire, 14)[0] == len(wire) and wire[18:20] == b"\0\0"
            payload = Bytes(wire[20:])
            if wire[16:18] == b"\xff\xff":
                kind, value = "error", hresult(payload)
                if command == "Dump/GenerateCoreDump3" and payload.data:
                    value["message"] = payload.string()
            else:
                assert wire[16:18] == b"\xff\x00"
                kind, value = "reply", reader(command)(payload)
            payload.end(value)
        known = command in SINCE
        key = (kind, command if known else None)
        if key not in groups:
            name = "-".join([prefix, kind if command else "environment-block"] + ([command.split("/")[1].lower()] if known else []))
            groups[key] = file.group(name, type=kind, source="runtime", runtime=runtime, direction="server" if command else None,
                                     command=key[1], since=SINCE.get(command), spec=facts(kind, command, prefix),
                                     made=f"recorded from the live runtime by {by}; the value read by source/runtimes.py")
        comment = row["comment"] if known or not command else f"{row['comment']} ({command})"
        groups[key].valid(tc, comment, wire, value, flags=["Recorded"])
        tc += 1


def load(name):
    with open(os.path.join(HERE, "recorded", name + ".json")) as f:
        return json.load(f)


FILES = []
# runtime: the first number, the first of the replies while it is suspended, and the last number
LINUX = {"net8.0.30": (10000, 10800, 10999), "net9.0.5": (11000, 11800, 11999), "net10.0.9": (12000, 12800, 12999),
         "net3.1.23": (13000, None, 13999), "aot9.0.20": (19000, 19200, 19249), "aot8.0.31": (19250, 19450, 19499),
         "net10.0.12": (19500, 19700, 19749), "net3.0.3": (19750, None, 19999)}  # versions 3 cannot be suspended
for runtime, (first, suspended, last) in LINUX.items():
    family = ".NET" if runtime.startswith("net") else "NativeAOT"
    FILE = File("runtime-" + runtime, f"Recorded from {family} {runtime[3:]} on Linux x64", first, last)
    add(FILE, runtime, load(runtime), runtime, first)
    if suspended:
        add(FILE, runtime, load(runtime + "-suspended"), runtime + "-suspended", suspended)
    if runtime == "net9.0.5":
        add(FILE, runtime, load(runtime + "-createdump"), runtime + "-createdump", first + 900)
    FILES.append(FILE)

FILE = File("runtime-windows", "Recorded from .NET for Windows x64, under wine", 14000, 14999)
add(FILE, "win-net10.0.9", load("win-net10.0.9"), "win-net10.0.9", 14000)
add(FILE, "win-net10.0.9", load("win-net10.0.9-suspended"), "win-net10.0.9-suspended", 14100)
add(FILE, "win-net8.0.30", load("win-net8.0.30-suspended"), "win-net8.0.30-suspended", 14200)
FILES.append(FILE)

FILE = File("runtime-windows6.0.13", "Recorded from .NET 6.0.13 for Windows x64, under wine", 16500, 16999)
add(FILE, "win-net6.0.13", load("win-net6.0.13"), "win-net6.0.13", 16500)
add(FILE, "win-net6.0.13", load("win-net6.0.13-suspended"), "win-net6.0.13-suspended", 16600)
FILES.append(FILE)
