#!/usr/bin/env python3
"""startup_hook.py [NAME ...]

Starts real .NET runtimes suspended, applies startup hooks, and checks that they run once the start continues and not before; then applies
them to running programs. The hooks are assemblies that this file writes: each appends a letter to a file in the run's directory, or the
value of a variable, as the program sees it after SetEnvironmentVariable. Prints one line per check and runtime; exits with 1 if one
differs, with 77 if a named runtime is not available here. Without names: all available ones.
"""
import re
import struct
import subprocess
import sys

import checks
import launch
import ports
import protocol
from checks import eventually, expect
from protocol import APPLY_STARTUP_HOOK, RESUME_RUNTIME, SET_ENVIRONMENT_VARIABLE, string, succeeds

RUNTIMES = ("net10.0.12", "net9.0.5", "net8.0.30")
# Their apps are published with System.StartupHookProvider.IsSupported false: hooks are accepted, and never run (F-130).
WITHOUT_HOOKS = ("net10.0.9", "net10.0.11")
SEEN = "DIAG_SEEN"


def padded(data, to):
    return data + bytes(-len(data) % to)


class Heap:
    """A heap of an assembly's metadata: offsets of the added items."""

    def __init__(self):
        self.data = b"\0"

    def add(self, data):
        offset, self.data = len(self.data), self.data + data
        return offset


def hook_assembly(letter, file, variable=None):
    """A library whose StartupHook.Initialize is `File.AppendAllText(file, letter)`, after ECMA-335 II.22 to II.25. `variable`: it appends
    the value of Environment.GetEnvironmentVariable for that name."""
    strings, blobs, literals = Heap(), Heap(), Heap()

    def name(value):
        return strings.add(value.encode() + b"\0")

    def literal(value):
        data = value.encode("utf-16-le") + b"\0"
        assert len(data) < 0x4000
        length = struct.pack(">H", 0x8000 | len(data)) if len(data) > 0x7F else bytes([len(data)])
        return 0x70000000 | literals.add(length + data)

    # ldstr file; ldstr letter, or the name and call GetEnvironmentVariable; call AppendAllText; ret, after a tiny header
    code = struct.pack("<BIBI", 0x72, literal(file), 0x72, literal(variable or letter))
    code += struct.pack("<BI", 0x28, 0x0A000002) if variable else b""
    code += struct.pack("<BIB", 0x28, 0x0A000001, 0x2A)
    code = struct.pack("<B", len(code) << 2 | 2) + code
    base, code_at = 0x2000, 72
    metadata_at = code_at + len(padded(code, 4))
    tables = {
        0x00: [struct.pack("<HHHHH", 0, name(f"Hook{letter}.dll"), 1, 0, 0)],
        0x01: [struct.pack("<HHH", 1 << 2 | 2, name("Object"), name("System")),
               struct.pack("<HHH", 1 << 2 | 2, name("File"), name("System.IO")),
               struct.pack("<HHH", 1 << 2 | 2, name("Environment"), name("System"))],
        0x02: [struct.pack("<IHHHHH", 0, name("<Module>"), 0, 0, 1, 1),
               struct.pack("<IHHHHH", 0x181, name("StartupHook"), 0, 1 << 2 | 1, 1, 1)],
        0x06: [struct.pack("<IHHHHH", base + code_at, 0, 0x96, name("Initialize"), blobs.add(b"\x03\x00\x00\x01"), 1)],
        0x0A: [struct.pack("<HHH", 2 << 3 | 1, name("AppendAllText"), blobs.add(b"\x05\x00\x02\x01\x0e\x0e")),
               struct.pack("<HHH", 3 << 3 | 1, name("GetEnvironmentVariable"), blobs.add(b"\x04\x00\x01\x0e\x0e"))],
        0x20: [struct.pack("<IHHHHIHHH", 0x8004, 1, 0, 0, 0, 0, 0, name(f"Hook{letter}"), 0)],
        0x23: [struct.pack("<HHHHIHHHH", 4, 0, 0, 0, 0, 0, name("System.Private.CoreLib"), 0, 0)],
    }
    stream = struct.pack("<IBBBBQQ", 0, 2, 0, 0, 1, sum(1 << table for table in tables), 0)
    stream += b"".join(struct.pack("<I", len(rows)) for rows in tables.values())
    stream += b"".join(row for rows in tables.values() for row in rows)
    streams = {"#~": stream, "#Strings": strings.data, "#US": literals.data, "#GUID": bytes(range(16)), "#Blob": blobs.data}
    headers, offset = b"", 32 + sum(8 + len(padded(key.encode() + b"\0", 4)) for key in streams)
    for key, data in streams.items():
        headers += struct.pack("<II", offset, len(padded(data, 4))) + padded(key.encode() + b"\0", 4)
        offset += len(padded(data, 4))
    metadata = struct.pack("<4sHHII12sHH", b"BSJB", 1, 1, 0, 12, b"v4.0.30319", 0, len(streams)) + headers
    metadata += b"".join(padded(data, 4) for data in streams.values())
    # The CLI header, the code, the metadata: one section.
    section = struct.pack("<IHHIIII", 72, 2, 5, base + metadata_at, len(metadata), 1, 0).ljust(72, b"\0")
    section += padded(code, 4) + metadata
    raw = len(padded(section, 0x200))
    head = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 240, 0x2022)
    head += struct.pack("<HBBIIIIIQII", 0x20B, 11, 0, raw, 0, 0, 0, base, 0x180000000, 0x2000, 0x200)
    head += struct.pack("<HHHHHHIIIIHH", 4, 0, 0, 0, 4, 0, 0, 2 * base, 0x200, 0, 3, 0x8540)
    head += struct.pack("<QQQQII", 1 << 20, 1 << 14, 1 << 20, 1 << 13, 0, 16)
    head += bytes(14 * 8) + struct.pack("<II", base, 72) + bytes(8)
    head += struct.pack("<8sIIIIIIHHI", b".text", len(section), base, raw, 0x200, 0, 0, 0, 0, 0x60000020)
    return padded(head, 0x200) + padded(section, 0x200)


def content(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def suspended(name, hooks, ends=False):
    """The output of hooks, the exit status (None: still runs), and the runtime's output, for a start with these hooks: letters are hooks
    that work, others are missing files. `ends`: the start is expected to fail, which may take long on a busy machine."""
    with launch.started(name, {ports.DEFAULT: "1"}) as (process, directory):
        path = launch.default_socket(process, directory)
        for hook in hooks:
            file = f"{directory}/{hook}.dll"
            if len(hook) == 1:
                with open(file, "wb") as assembly:
                    assembly.write(hook_assembly(hook, directory + "/ran"))
            succeeds(path, APPLY_STARTUP_HOOK, string(file))
            expect(ports.is_held(path), "a hook ended the suspension")
        expect(ports.stays_held(path), "no longer held after the hooks")
        expect(not content(directory + "/ran"), "a hook ran before the start continued")
        succeeds(path, RESUME_RUNTIME)
        letters = sum(len(hook) == 1 for hook in hooks)

        def is_over():
            has_run = len(hooks) == letters and len(content(directory + "/ran")) >= letters and not ports.is_held(path)
            return has_run or process.poll() is not None

        eventually(is_over, 120 if ends else protocol.PATIENCE)
        # Long enough for a start to fail, or for a hook to run twice.
        try:
            process.wait(1.0)
        except subprocess.TimeoutExpired:
            pass
        expect(process.poll() is not None or ports.goes_on(path), "resumed, and still held")
        return content(directory + "/ran"), process.poll(), content(directory + "/output")


def no_hook(name):
    ran, status, _ = suspended(name, [])
    expect((ran, status) == ("", None), f"wrote {ran!r}, status {status}")
    return "resumed without a hook: still runs"


def a_hook_runs_after_the_resume(name):
    ran, status, said = suspended(name, ["A"])
    expect((ran, status) == ("A", None), f"wrote {ran!r}, status {status}: {said[:300]}")
    return "held, and the hook not run; resumed: the hook ran once, and the program still runs"


def the_last_applied_runs_first(name):
    ran, status, said = suspended(name, ["A", "B", "C"])
    expect((ran, status) == ("CBA", None), f"wrote {ran!r}, status {status}: {said[:300]}")
    return "three hooks A, B, C: all ran, in the order C, B, A"


def a_hook_that_is_not_there_ends_the_start(name):
    # The one applied after it has run by then, the one before it has not.
    ran, status, said = suspended(name, ["A", "absent", "B"], ends=True)
    expect(ran == "B" and status is not None and re.search(r"Startup hook assembly '.*/absent\.dll'", said),
           f"wrote {ran!r}, status {status}: {said[:300]}")
    return f"S_OK while suspended; resumed: ended with status {status}, naming the path"


def hooks_that_the_app_does_without(name):
    ran, status, said = suspended(name, ["A", "absent"])
    expect((ran, status) == ("", None), f"wrote {ran!r}, status {status}: {said[:300]}")
    return "its app has startup hooks disabled: S_OK while suspended, and none runs after the resume"


def running(name, hook, variable=None, patience=10):
    """The output of a hook applied to a running program."""
    with launch.running(name, {}) as (process, directory, path):
        file = f"{directory}/{hook}.dll"
        with open(file, "wb") as assembly:
            assembly.write(hook_assembly(hook, directory + "/ran", variable))
        if variable:
            succeeds(path, SET_ENVIRONMENT_VARIABLE, string(variable) + string("as it was set, é"))
        succeeds(path, APPLY_STARTUP_HOOK, string(file))
        eventually(lambda: content(directory + "/ran"), patience)
        expect(process.poll() is None, f"ended with {process.returncode}: {content(directory + '/output')[:300]}")
        return content(directory + "/ran")


def a_hook_runs_at_once(name):
    ran = running(name, "A")
    expect(ran == "A", f"wrote {ran!r}")
    return "applied to a running program: the hook ran"


def a_variable_is_seen_by_the_program(name):
    ran = running(name, "A", SEEN)
    expect(ran == "as it was set, é", f"Environment.GetEnvironmentVariable gives {ran!r}")
    return "the program reads the value set by SetEnvironmentVariable"


def no_hook_runs_at_once(name):
    ran = running(name, "A", patience=2)
    expect(ran == "", f"wrote {ran!r}")
    return "its app has startup hooks disabled: S_OK while it runs, and the hook does not run"


def main():
    launch.fetch_or_skip(*sys.argv[1:])
    names = sys.argv[1:] or launch.there((*RUNTIMES, *WITHOUT_HOOKS))
    with_hooks = (no_hook, a_hook_runs_after_the_resume, the_last_applied_runs_first, a_hook_that_is_not_there_ends_the_start,
                  a_hook_runs_at_once, a_variable_is_seen_by_the_program)
    without = (hooks_that_the_app_does_without, no_hook_runs_at_once)
    for name in names:
        for check in without if name in WITHOUT_HOOKS else with_hooks:
            checks.agrees(f"{name} {check.__name__}", check, name)
    sys.exit(checks.wrong > 0)


if __name__ == "__main__":
    main()
