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

import checks
import launch
import protocol
from checks import expect
from protocol import string, succeeds

RUNTIMES = ("net10.0.12", "net10.0.9", "net9.0.5", "net8.0.30")
# Those with an executable createdump, which wait for it.
DUMPS = ("net10.0.12", "net10.0.9")
PERF_MAP = 3


def entries(path):
    """The contents of ProcessEnvironment."""
    texts = protocol.environment(protocol.ask(path, protocol.message(protocol.PROCESS_ENVIRONMENT)))
    expect(not any("\0" in text for text in texts), f"a NUL before the last one: {texts}")
    return texts


def opened(process, file):
    """Whether the process has the file open."""
    descriptors = f"/proc/{process.pid}/fd"
    return any(os.path.realpath(f"{descriptors}/{fd}") == file for fd in os.listdir(descriptors))


def a_perf_map_is_written_until_it_is_disabled(process, _, path):
    file = f"/tmp/perf-{process.pid}.map"
    try:
        expect(not os.path.exists(file), f"{file} exists before the command")
        succeeds(path, protocol.ENABLE_PERF_MAP, struct.pack("<I", PERF_MAP))
        expect(opened(process, file), f"{file} is not open after the command")
        succeeds(path, protocol.DISABLE_PERF_MAP)
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
    succeeds(path, protocol.SET_ENVIRONMENT_VARIABLE, string("DIAG_SET") + string("a value"))
    expect(entries(path).count("DIAG_SET=a value") == 1, "DIAG_SET is not in the environment")
    succeeds(path, protocol.SET_ENVIRONMENT_VARIABLE, string("DIAG_SET") + string())
    expect(not any(entry.startswith("DIAG_SET=") for entry in entries(path)), "DIAG_SET is still in the environment")
    return "ProcessEnvironment has the variable after it was set, and not after it was deleted; every entry has its NUL"


def diagnostics_are_written_to_the_console(_, directory, path):
    def said(diagnostics):
        before = os.path.getsize(directory + "/output")
        succeeds(path, protocol.GENERATE_CORE_DUMP, protocol.dump(directory + "/core", 4, diagnostics))
        return os.path.getsize(directory + "/output") - before

    off, on = said(0), said(1)
    expect(on > off + 100, f"{off} bytes without diagnostics, {on} with them")
    return f"{off} bytes on the console without diagnostics, {on} with them"


def checked(check, name):
    with launch.running(name, {}) as target:
        return check(*target)


CHECKS = (a_perf_map_is_written_until_it_is_disabled, a_variable_is_set_and_deleted, diagnostics_are_written_to_the_console)


def main():
    launch.fetch_or_skip(*sys.argv[1:])
    names = sys.argv[1:] or launch.there(RUNTIMES)
    for check in CHECKS:
        for name in names:
            if check is not diagnostics_are_written_to_the_console or name in DUMPS:
                checks.agrees(f"{name} {check.__name__}", checked, check, name)
    sys.exit(checks.wrong > 0)


if __name__ == "__main__":
    main()
