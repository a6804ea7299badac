#!/usr/bin/env python3
"""effects.py [NAME ...]

Starts real .NET runtimes, sends them commands that only reply S_OK, and checks their effects: a perf map that is written and then
stopped, a variable that is set and then deleted, a dump's output with and without diagnostics. Prints one line per check and runtime;
exits with 1 if one differs, with 77 if a named runtime is not available here. Without names: all available ones.
"""
import os
import struct
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import launch
import ports

RUNTIMES = ("net10.0.12", "net10.0.9", "net9.0.5", "net8.0.30")
# Those with an executable createdump, which wait for it.
DUMPS = ("net10.0.12", "net10.0.9")
HEADER = b"DOTNET_IPC_V1\0"
S_OK = HEADER + struct.pack("<HBBHI", 24, 0xFF, 0x00, 0, 0)
GENERATE_CORE_DUMP, PROCESS_ENVIRONMENT, SET_VARIABLE, ENABLE_PERF_MAP, DISABLE_PERF_MAP = 0x0101, 0x0402, 0x0403, 0x0405, 0x0406
PERF_MAP = 3


class Differs(Exception):
    """The runtime differs from this file."""


def expect(condition, text):
    if not condition:
        raise Differs(text)


def ask(path, code, payload=b""):
    with ports.connected(path) as connection:
        connection.settimeout(30)
        connection.sendall(HEADER + struct.pack("<HBBH", 20 + len(payload), code >> 8, code & 0xFF, 0) + payload)
        reply = b""
        while piece := connection.recv(65536):
            reply += piece
    return reply


def done(path, code, payload=b""):
    reply = ask(path, code, payload)
    expect(reply == S_OK, f"{code:#06x} is answered {reply.hex()}; expected: OK with S_OK")


def string(text):
    return struct.pack("<I", len(text) + 1) + (text + "\0").encode("utf-16-le")


def entries(path):
    """The contents of ProcessEnvironment. Every count includes a NUL, and the block ends after the last entry."""
    block = ask(path, PROCESS_ENVIRONMENT)[26:]
    (count,), at, texts = struct.unpack_from("<I", block), 4, []
    for _ in range(count):
        (units,) = struct.unpack_from("<I", block, at)
        text = block[at + 4:at + 4 + 2 * units].decode("utf-16-le")
        expect(text.endswith("\0") and "\0" not in text[:-1], f"{text!r} does not end with its only NUL")
        texts.append(text[:-1])
        at += 4 + 2 * units
    expect(at == len(block), f"{len(block) - at} bytes after the last entry")
    return texts


def opened(process, file):
    """Whether the process has the file open."""
    descriptors = f"/proc/{process.pid}/fd"
    return any(os.path.realpath(f"{descriptors}/{fd}") == file for fd in os.listdir(descriptors))


def a_perf_map_is_written_until_it_is_disabled(process, _, path):
    file = f"/tmp/perf-{process.pid}.map"
    try:
        expect(not os.path.exists(file), f"{file} exists before the command")
        done(path, ENABLE_PERF_MAP, struct.pack("<I", PERF_MAP))
        expect(opened(process, file), f"{file} is not open after the command")
        done(path, DISABLE_PERF_MAP)
        with open(file, "rb") as lines:
            first = lines.readline().split(b" ", 2)
        expect(len(first) == 3 and int(first[0], 16) and int(first[1], 16), f"the first line is {first!r}")
        expect(not opened(process, file), f"{file} is still open after it was disabled")
        size = os.path.getsize(file)
        time.sleep(1.0)
        expect(os.path.getsize(file) == size, f"{file} grows after it was disabled")
    finally:
        if os.path.exists(file):
            os.remove(file)
    return f"/tmp/perf-PID.map was written ({size} bytes), and closed when it was disabled"


def a_variable_is_set_and_deleted(_, __, path):
    expect(not any(entry.startswith("DIAG_SET=") for entry in entries(path)), "DIAG_SET exists before the command")
    done(path, SET_VARIABLE, string("DIAG_SET") + string("a value"))
    expect(entries(path).count("DIAG_SET=a value") == 1, "DIAG_SET is not in the environment")
    done(path, SET_VARIABLE, string("DIAG_SET") + struct.pack("<I", 0))
    expect(not any(entry.startswith("DIAG_SET=") for entry in entries(path)), "DIAG_SET is still in the environment")
    return "ProcessEnvironment has the variable after it was set, and not after it was deleted; every entry has its NUL"


def diagnostics_are_written_to_the_console(_, directory, path):
    def said(diagnostics):
        before = os.path.getsize(directory + "/output")
        done(path, GENERATE_CORE_DUMP, string(directory + "/core") + struct.pack("<II", 4, diagnostics))
        return os.path.getsize(directory + "/output") - before

    off, on = said(0), said(1)
    expect(on > off + 100, f"{off} bytes without diagnostics, {on} with them")
    return f"{off} bytes on the console without diagnostics, {on} with them"


def main():
    launch.fetch_or_skip(*sys.argv[1:])
    names = sys.argv[1:] or launch.there(RUNTIMES)
    checks = [(check, name) for check in (a_perf_map_is_written_until_it_is_disabled, a_variable_is_set_and_deleted)
              for name in names]
    checks += [(diagnostics_are_written_to_the_console, name) for name in names if name in DUMPS]
    wrong = 0
    for check, name in checks:
        try:
            with launch.started(name, {}) as (process, directory):
                path = launch.default_socket(process, directory)
                expect(path, "no default port")
                launch.until_it_runs(path)
                print(f"agrees  {name} {check.__name__}: {check(process, directory, path)}", flush=True)
        except (Differs, OSError, ValueError, struct.error) as fault:
            print(f"differs {name} {check.__name__}: {type(fault).__name__}: {fault}", flush=True)
            wrong += 1
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
