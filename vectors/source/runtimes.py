"""Replies recorded from live runtimes: `recorded/*.json` holds the bytes, as `examples/probe.rs --record` wrote them, and those of
Windows as `tests/live/windows.py --record` did (without the environment, which is that of the machine).

The createdump of net9.0.5 could not be executed, so that its dumps fail (P-6). `net9.0.5-createdump.json` has dumps of the same build
whose createdump can be (P-47), as `tests/live/createdump.py --record` wrote them.

What the bytes mean is read here, by a decoder of its own, so that the crate's decoder has something to differ from.
"""
import json
import os
import struct
import uuid

from notation import *

SINCE = {"Dump/GenerateCoreDump": "3.1", "Dump/GenerateCoreDump3": "7.0", "EventPipe/StopTracing": "3.1", "EventPipe/CollectTracing": "3.1",
         "EventPipe/CollectTracing2": "3.1", "EventPipe/CollectTracing3": "9.0", "EventPipe/CollectTracing4": "9.0",
         "EventPipe/CollectTracing5": "10.0", "EventPipe/CollectTracing6": "11.0", "Profiler/AttachProfiler": "3.1",
         "Profiler/StartupProfiler": "6.0", "Process/ProcessInfo": "5.0", "Process/ResumeRuntime": "5.0",
         "Process/ProcessEnvironment": "5.0", "Process/SetEnvironmentVariable": "6.0", "Process/ProcessInfo2": "6.0",
         "Process/EnablePerfMap": "8.0", "Process/DisablePerfMap": "8.0", "Process/ApplyStartupHook": "8.0",
         "Process/ProcessInfo3": "8.0"}


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
    """What a recorded reply shows."""
    seen = {"Dump/GenerateCoreDump3": ["F-81", "P-3"], "Profiler/StartupProfiler": ["P-4"], "Profiler/AttachProfiler": ["P-5"],
            "Process/ApplyStartupHook": ["P-1"], "Process/SetEnvironmentVariable": ["F-80"], "Process/EnablePerfMap": ["F-46"],
            "Process/ResumeRuntime": ["F-41"], "EventPipe/StopTracing": ["F-31"]}.get(command, [])
    if prefix.startswith("net3.1"):  # which has few of these commands
        seen = []
    if prefix.endswith("-createdump"):
        return ["P-46", "P-47"] if kind == "error" else ["P-47"]
    if prefix.startswith("win-"):
        seen = {"EventPipe/CollectTracing5": ["P-17"] if kind == "error" else []}.get(command, seen)
    held = []
    if prefix.endswith("-suspended"):
        held = ["P-15"] if prefix.startswith("win-") else ["F-79"]
        held += [] if command == "Process/ProcessInfo" else ["P-12"]
    return (["F-68"] if kind == "error" and not prefix.startswith("win-") else []) + seen + held


def add(file, runtime, rows, prefix, first):
    """Each reply once: repeated ones (sessions get the same id again) add nothing."""
    by = "tests/live/windows.py, under wine" if prefix.startswith("win-") else "examples/probe.rs"
    if prefix.endswith("-createdump"):
        by = "tests/live/createdump.py, its createdump made executable"
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
for nth, runtime in enumerate(["net8.0.30", "net9.0.5", "net10.0.9", "net3.1.23"]):
    first = 10000 + 1000 * nth
    FILE = File("runtime-" + runtime, f"Recorded from .NET {runtime[3:]} on Linux x64", first, first + 999)
    add(FILE, runtime, load(runtime), runtime, first)
    if runtime != "net3.1.23":  # cannot be suspended
        add(FILE, runtime, load(runtime + "-suspended"), runtime + "-suspended", first + 800)
    if runtime == "net9.0.5":
        add(FILE, runtime, load(runtime + "-createdump"), runtime + "-createdump", first + 900)
    FILES.append(FILE)

FILE = File("runtime-windows", "Recorded from .NET for Windows x64, under wine", 14000, 14999)
add(FILE, "win-net10.0.9", load("win-net10.0.9"), "win-net10.0.9", 14000)
add(FILE, "win-net10.0.9", load("win-net10.0.9-suspended"), "win-net10.0.9-suspended", 14100)
add(FILE, "win-net8.0.30", load("win-net8.0.30-suspended"), "win-net8.0.30-suspended", 14200)
FILES.append(FILE)
