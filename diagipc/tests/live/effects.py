#!/usr/bin/env python3
"""effects.py [NAME ... | FUNCTION ...]

What commands do to real .NET runtimes that reply S_OK: perf maps, variables, dumps, startup hooks, profilers. The hooks are assemblies that
hook_assembly.py writes: each appends a letter to a file in the run's directory, or the value of a variable. The profiler, profiler.c, writes
the class id and the client data that it was attached with. Prints one line per check and runtime; exits with 1 if one differs, with 77 if
one that was named is not available here.
"""
import contextlib
import functools
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import time

import launch
import ports
import protocol
from built import ROOT
from checks import Unavailable, equal, eventually, expect
from hook_assembly import hook_assembly
from protocol import (ALREADY_ACTIVE, APPLY_STARTUP_HOOK, ATTACH_PROFILER, DISABLE_PERF_MAP, E_FAIL, ENABLE_PERF_MAP, GENERATE_CORE_DUMP,
                      GENERATE_CORE_DUMP3, NOT_SUPPORTED, PROCESS_ENVIRONMENT, RESUME_RUNTIME, S_OK, SET_ENVIRONMENT_VARIABLE, error, message,
                      string, succeeds)

WHOLE, PACKAGED = "net10.0.12", "net9.0.5"
CORECLR, NATIVE_AOT = (WHOLE, "net10.0.9", PACKAGED, "net8.0.30"), ("aot9.0.20", "aot8.0.31")
# These apps are published with System.StartupHookProvider.IsSupported false: hooks are accepted, but never run (F-130).
WITHOUT_HOOKS = ("net10.0.9", "net10.0.11")
PERF_MAP = 3
TYPES = (1, 2, 3, 4)
# c7ba04b0-5a51-4d0d-9a5a-2d5c0b5d0001
CLASS_ID = bytes.fromhex("b004bac7" "515a" "0d4d" "9a5a2d5c0b5d0001")
CLIENT_DATA = (b"", b"\0", bytes(range(256)) * 4)


def content(path):
    try:
        with open(path, errors="replace", encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


# --- perf maps and variables -----------------------------------------------------------------------------------------
def a_perf_map_is_written_until_it_is_disabled(name):
    with launch.running(name, {}) as (process, _, path), contextlib.ExitStack() as stack:
        file, descriptors = f"/tmp/perf-{process.pid}.map", f"/proc/{process.pid}/fd"
        is_open = lambda: any(os.path.realpath(f"{descriptors}/{fd}") == file for fd in os.listdir(descriptors))
        expect(not os.path.exists(file), f"{file} exists before the command")
        stack.callback(lambda: os.path.exists(file) and os.remove(file))
        succeeds(path, ENABLE_PERF_MAP, struct.pack("<I", PERF_MAP))
        expect(is_open(), f"{file} is not open after the command")
        succeeds(path, DISABLE_PERF_MAP)
        with open(file, "rb") as lines:
            first = lines.readline().split(b" ", 2)
        expect(len(first) == 3 and int(first[0], 16) and int(first[1], 16), f"the first line is {first!r}")
        expect(not is_open(), f"{file} is still open after it was disabled")
        size = os.path.getsize(file)
        time.sleep(1.0)
        expect(os.path.getsize(file) == size, f"{file} grows after it was disabled")
        return f"/tmp/perf-PID.map was written ({size} bytes), and closed when it was disabled"


def a_variable_is_set_and_deleted(name):
    def entries():
        texts = protocol.environment(protocol.ask(path, message(PROCESS_ENVIRONMENT)))
        expect(not any("\0" in text for text in texts), f"a NUL before the last one: {texts}")
        return [text for text in texts if text.startswith("DIAG_SET=")]

    with launch.running(name, {}) as (_, _, path):
        equal(entries(), [], "before the command the environment has")
        succeeds(path, SET_ENVIRONMENT_VARIABLE, string("DIAG_SET") + string("a value"))
        equal(entries(), ["DIAG_SET=a value"], "after it was set the environment has")
        succeeds(path, SET_ENVIRONMENT_VARIABLE, string("DIAG_SET") + string())
        equal(entries(), [], "after it was deleted the environment has")
        return "ProcessEnvironment has the variable after it was set, and not after it was deleted; every entry has its NUL"


# --- dumps -----------------------------------------------------------------------------------------------------------
def expect_core(path, process, what):
    """Expects an ELF file of type 4 with segments of memory, and the notes of that process from a kernel or its stand-in."""
    with open(path, "rb") as file:
        head = file.read(64)
        equal(head[:6], b"\x7fELF\x02\x01", f"{what} begins with")
        equal(struct.unpack_from("<H", head, 16), (4,), f"{what} is ELF of type")  # ET_CORE
        (at,), (size, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
        file.seek(at)
        segments = [struct.unpack("<IIQQQQQQ", file.read(size)) for _ in range(count)]
        expect(any(segment[0] == 1 and segment[5] for segment in segments), f"{what} has no memory segments")
        (notes,) = [segment for segment in segments if segment[0] == 4]
        file.seek(notes[2])
        data, at, pids = file.read(notes[5]), 0, set()
    while at + 12 <= len(data):
        name, length, kind = struct.unpack_from("<III", data, at)
        at += 12 + (name + 3) // 4 * 4
        if kind == 1:  # NT_PRSTATUS: pr_pid follows signal, code, pending and held signals
            pids.add(struct.unpack_from("<i", data, at + 32)[0])
        at += (length + 3) // 4 * 4
    expect(process.pid in pids, f"{what} has the threads {sorted(pids)}; expected: {process.pid} among them")


def dumped(path, kind, code=GENERATE_CORE_DUMP, flags=0):
    """Returns the answer to a dump into `core`, where the runtime was started."""
    return protocol.ask(path, message(code, protocol.dump("core", kind, flags)), 60)


def every_type_is_written(target, code):
    process, directory, path = target
    for kind in TYPES:
        equal(dumped(path, kind, code), S_OK, f"type {kind} is answered")
        expect_core(directory + "/core", process, f"type {kind}")
        os.remove(directory + "/core")


def diagnostics_are_written_to_the_console(name):
    with launch.running(name, {}) as (_, directory, path):
        sizes = [0]
        for flags in 0, 1:
            equal(dumped(path, 4, flags=flags), S_OK)
            sizes.append(os.path.getsize(directory + "/output"))
    off, on = sizes[1] - sizes[0], sizes[2] - sizes[1]
    expect(on > off + 100, f"{off} bytes without diagnostics, {on} with them")
    return f"at most {off} bytes on the console without diagnostics, {on} with them"


def a_createdump_that_may_not_be_executed(name):
    with launch.with_createdump(name, 0o644) as executable, launch.running(name, {}, executable) as (process, _, path):
        equal(dumped(path, 4), error(E_FAIL))
        expect(not os.path.exists(path) and process.poll() is None, "the socket still exists, or the process has ended")
    return "E_FAIL, and the socket is gone"


def a_createdump_that_may_be_executed(name):
    """The replies are as recorded, although the requests have other paths."""
    with launch.with_createdump(name, 0o755) as executable, launch.running(name, {}, executable) as target:
        process, _, path = target
        for code in GENERATE_CORE_DUMP, GENERATE_CORE_DUMP3:
            every_type_is_written(target, code)
        with open(f"{ROOT}/vectors/source/recorded/{name}-createdump.json", encoding="utf-8") as file:
            rows = json.load(file)
        for row in rows:
            reply, recorded = protocol.ask(path, bytes.fromhex(row["request"]), 60), bytes.fromhex(row["reply"])
            # An error may have a text after the code, with the time that it took.
            equal(reply[16:24], recorded[16:24], f"{row['command']}, {row['comment']}: answered")
        expect(os.path.exists(path) and process.poll() is None, "the socket is gone, or the process has ended")
    return f"types 1 to 4 are written and S_OK; {len(rows)} answers as recorded, E_FAIL for a missing directory; the socket stays"


def native_aot_with_a_createdump(name):
    """F-98: NativeAOT writes only full dumps, and only with both the variable and the program."""
    for beside, variable in ((True, True), (True, False), (False, True)):
        with tempfile.TemporaryDirectory(prefix="aot-") as home:
            shutil.copy2(launch.fetch(name), home + "/subject")
            if beside:
                shutil.copy2(os.path.join(os.path.dirname(launch.fetch(WHOLE)), "createdump"), home + "/createdump")
            with launch.started(name, {"DOTNET_DbgEnableMiniDump": "1"} if variable else {}, home + "/subject") as (process, directory):
                path = launch.default_socket(process, directory)
                for kind in TYPES:
                    is_written = beside and variable and kind == 4
                    equal(dumped(path, kind), S_OK if is_written else error(E_FAIL), f"type {kind} is answered")
                    equal(os.path.exists(directory + "/core"), is_written, f"type {kind} writes a file:")
                    if is_written:
                        expect_core(directory + "/core", process, "type 4")
                        os.remove(directory + "/core")
    return "with a createdump beside it and the variable type 4 is a core file of the process, otherwise E_FAIL and no file"


# --- startup hooks -----------------------------------------------------------------------------------------------
def suspended(name, hooks, wanted, ends=False):
    """Returns the output of a runtime that was started with these hooks, which must write `wanted`. Letters are hooks that work; others are
    missing files. `ends`: the start is expected to fail, which may take long on a busy machine."""
    with launch.started(name, {ports.DEFAULT: "1"}) as (process, directory):
        path, ran = launch.default_socket(process, directory), directory + "/ran"
        for hook in hooks:
            file = f"{directory}/{hook}.dll"
            if len(hook) == 1:
                with open(file, "wb") as assembly:
                    assembly.write(hook_assembly(hook, ran))
            succeeds(path, APPLY_STARTUP_HOOK, string(file))
            expect(ports.is_held(path), "a hook ended the suspension")
        expect(ports.stays_held(path), "no longer held after the hooks")
        equal(content(ran), "", "before the start continued hooks wrote")
        succeeds(path, RESUME_RUNTIME)
        eventually(lambda: process.poll() is not None or not ends and content(ran) == wanted and not ports.is_held(path),
                   120 if ends else protocol.PATIENCE)
        if not ends:
            launch.until_it_runs(path)
        # This is long enough for a start to fail, or for a hook to run twice.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
        said = content(directory + "/output")
        equal((content(ran), process.poll() is not None), (wanted, ends), f"{said[:300]}: wrote, and ended:")
        expect(ends or ports.goes_on(path), "resumed, and still held")
        return said


def the_last_applied_runs_first(name):
    suspended(name, ["A", "B", "C"], "CBA")
    return "held, and no hook run; resumed: three hooks A, B, C ran once each, in the order C, B, A, and the program still runs"


def a_hook_that_is_not_there_ends_the_start(name):
    # By then the hook after the missing one has run, and the hook before it has not.
    said = suspended(name, ["A", "absent", "B"], "B", ends=True)
    expect(re.search(r"Startup hook assembly '.*/absent\.dll'", said), f"it ended with {said[:300]}")
    return "S_OK while suspended; resumed: ended, naming the path"


def hooks_that_the_app_does_without(name):
    suspended(name, ["A", "absent"], "")
    return "its app has startup hooks disabled: S_OK while suspended, and none runs after the resume"


def applied(name, wanted, variable=None, value="as it was set, é"):
    """Applies a hook to a running program."""
    with launch.running(name, {}) as (process, directory, path):
        file, ran = directory + "/A.dll", directory + "/ran"
        with open(file, "wb") as assembly:
            assembly.write(hook_assembly("A", ran, variable))
        if variable:
            succeeds(path, SET_ENVIRONMENT_VARIABLE, string(variable) + string(value))
        succeeds(path, APPLY_STARTUP_HOOK, string(file))
        eventually(lambda: content(ran), 10 if wanted else 2)
        equal((content(ran), process.poll()), (wanted, None), f"{content(directory + '/output')[:300]}: wrote, and ended:")


def a_variable_is_seen_by_the_program(name):
    applied(name, "as it was set, é", "DIAG_SEEN")
    return "applied to a running program: the hook ran, and read the value set by SetEnvironmentVariable"


def no_hook_runs_at_once(name):
    applied(name, "")
    return "its app has startup hooks disabled: S_OK while it runs, and the hook does not run"


# --- profilers -----------------------------------------------------------------------------------------------------
@functools.cache
def profiler_directory():
    """Returns a directory with the profiler, which is compiled once."""
    directory = tempfile.TemporaryDirectory()
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", directory.name + "/profiler.so", launch.HERE + "/profiler.c"]
    try:
        subprocess.run(command, check=True, timeout=60)
    except OSError as why:
        raise Unavailable(f"no C compiler: {why}") from why
    return directory


def attached(path, client_data):
    """Returns the reply to an attach, whose connection must end."""
    library = profiler_directory().name + "/profiler.so"
    return protocol.ask(path, message(ATTACH_PROFILER, protocol.profiler(library, CLASS_ID, client_data)))


def client_data_arrive(name):
    for client_data in CLIENT_DATA:
        with launch.running(name, {"DIAG_PROFILER_FILE": "@DIR@/profiler"}) as (process, directory, path):
            equal(attached(path, client_data), S_OK)
            expect(eventually(lambda: os.path.exists(directory + "/profiler"), 10), "the profiler wrote nothing")
            with open(directory + "/profiler", "rb") as file:
                equal(file.read(), CLASS_ID + client_data, "the class id and the client data are")
            equal(attached(path, client_data), error(ALREADY_ACTIVE), "a second one is answered")
            expect(process.poll() is None, "the process has ended")
    return f"{', '.join(str(len(one)) for one in CLIENT_DATA)} bytes of client data arrived after the class id; a second profiler is refused"


def native_aot_has_no_profiler(name):
    with launch.started(name, {"DIAG_PROFILER_FILE": "@DIR@/profiler"}) as (process, directory):
        equal(attached(launch.default_socket(process, directory), CLIENT_DATA[-1]), error(NOT_SUPPORTED))
        time.sleep(0.5)
        expect(not os.path.exists(directory + "/profiler") and process.poll() is None, "it was loaded, or the process has ended")
    return "NOTSUPPORTED, and nothing is loaded"


if __name__ == "__main__":
    with_hooks = [name for name in CORECLR if name not in WITHOUT_HOOKS]
    launch.play(
        __doc__,
        (a_perf_map_is_written_until_it_is_disabled, CORECLR),
        (a_variable_is_set_and_deleted, CORECLR),
        # These runtimes have an executable createdump, and wait for it.
        (diagnostics_are_written_to_the_console, (WHOLE, "net10.0.9")),
        (a_createdump_that_may_not_be_executed, (PACKAGED,)),
        (a_createdump_that_may_be_executed, (PACKAGED,)),
        (native_aot_with_a_createdump, NATIVE_AOT),
        *((check, with_hooks) for check in (the_last_applied_runs_first, a_hook_that_is_not_there_ends_the_start,
                                            a_variable_is_seen_by_the_program)),
        *((check, WITHOUT_HOOKS) for check in (hooks_that_the_app_does_without, no_hook_runs_at_once)),
        (client_data_arrive, CORECLR),
        (native_aot_has_no_profiler, NATIVE_AOT),
    )
