#!/usr/bin/env python3
"""createdump.py [--record FILE]

Starts a .NET 9.0.5 with the createdump of its package, which is not executable, and with an executable one, and checks the answers to
dumps; also .NET 10.0.12, which is complete, and NativeAOT with a createdump beside it (F-98). The written file must be a core file of
that process. Prints one line per check; exits with 1 if one differs, with 77 if 9.0.5 is not available here. --record writes requests and
replies of the second to FILE, in the form of vectors/source/recorded/.
"""
import argparse
import contextlib
import json
import os
import shutil
import struct
import sys
import tempfile

import checks
import launch
import protocol
from checks import expect
from protocol import E_FAIL, GENERATE_CORE_DUMP, GENERATE_CORE_DUMP3, S_OK, error, message

NAME, WHOLE, NATIVE_AOT = "net9.0.5", "net10.0.12", ("aot9.0.20", "aot8.0.31")
COMMANDS = {GENERATE_CORE_DUMP: "Dump/GenerateCoreDump", GENERATE_CORE_DUMP3: "Dump/GenerateCoreDump3"}


def ask(path, code, name, kind):
    """The request and the reply; the connection must end after it."""
    request = message(code, protocol.dump(name, kind))
    return request, protocol.ask(path, request, 60)


def expect_core(path, process, what):
    """An ELF file of type 4 with segments of memory, and the notes of that process from a kernel or its stand-in."""
    with open(path, "rb") as file:
        head = file.read(64)
        expect(head[:6] == b"\x7fELF\x02\x01", f"{what} is not an ELF file of 64 bits: it begins with {head[:8].hex()}")
        kind, at, size, count = *struct.unpack_from("<H", head, 16), *struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54)
        expect(kind == 4, f"{what} is ELF of type {kind}; expected: 4, ET_CORE")
        segments = []
        for number in range(count):
            file.seek(at + number * size)
            segments.append(struct.unpack("<IIQQQQQQ", file.read(56)))
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


@contextlib.contextmanager
def started(mode):
    with launch.with_createdump(NAME, mode) as executable, launch.running(NAME, {}, executable) as target:
        yield target


def one_that_may_not_be_executed(_):
    with started(0o644) as (process, directory, path):
        _, reply = ask(path, GENERATE_CORE_DUMP, directory + "/core", 4)
        expect(reply == error(E_FAIL), f"answered {reply.hex()}; expected: Error with E_FAIL")
        expect(not os.path.exists(path) and process.poll() is None, "the socket still exists, or the process has ended")
    return "E_FAIL, and the socket is gone"


def one_that_may_be_executed(recorded):
    with started(0o755) as (process, directory, path):
        for code in COMMANDS:
            for kind in (1, 2, 3, 4):
                core = directory + "/core"
                request, reply = ask(path, code, "core", kind)  # where the runtime was started
                expect(reply == S_OK, f"type {kind} is answered {reply.hex()}; expected: OK with S_OK")
                expect_core(core, process, f"type {kind}")
                os.remove(core)
                if (code, kind) in ((GENERATE_CORE_DUMP, 4), (GENERATE_CORE_DUMP3, 1)):
                    recorded.append((code, "write a dump", request, reply))
            request, reply = ask(path, code, "/none/dump", 4)
            # It may have a text after the code.
            expect(reply[16:24] == error(E_FAIL)[16:], f"without a directory: {reply.hex()}; expected: Error with E_FAIL")
            recorded.append((code, "write a dump into a missing directory", request, reply))
        expect(os.path.exists(path) and process.poll() is None, "the socket is gone, or the process has ended")
    return "types 1 to 4 are written and S_OK; a missing directory is E_FAIL; the socket stays"


def types_that_are_written(_):
    with launch.running(WHOLE, {}) as (process, directory, path):
        for kind in (1, 2, 3, 4):
            _, reply = ask(path, GENERATE_CORE_DUMP3, "core", kind)
            expect(reply == S_OK, f"type {kind} is answered {reply.hex()}; expected: OK with S_OK")
            expect_core(directory + "/core", process, f"type {kind}")
            os.remove(directory + "/core")
    return "types 1 to 4 are core files of the process"


def native_aot_with_a_createdump(name):
    """F-98: it writes only full dumps, and only with both the variable and the program."""
    said = []
    for beside, variable in ((True, True), (True, False), (False, True)):
        with tempfile.TemporaryDirectory(prefix="aot-") as home:
            shutil.copy2(launch.fetch(name), home + "/subject")
            if beside:
                shutil.copy2(os.path.join(os.path.dirname(launch.fetch(WHOLE)), "createdump"), home + "/createdump")
            with launch.started(name, {"DOTNET_DbgEnableMiniDump": "1"} if variable else {}, home + "/subject") as (process, directory):
                path = launch.default_socket(process, directory)
                for kind in (1, 2, 3, 4):
                    _, reply = ask(path, GENERATE_CORE_DUMP, "core", kind)
                    if beside and variable and kind == 4:
                        expect(reply == S_OK, f"type 4 is answered {reply.hex()}; expected: OK with S_OK")
                        expect_core(directory + "/core", process, "type 4")
                    else:
                        expect(reply == error(E_FAIL), f"type {kind} is answered {reply.hex()}; expected: Error with E_FAIL")
                        expect(not os.path.exists(directory + "/core"), f"type {kind} wrote a file")
            said.append(f"createdump {'beside it' if beside else 'missing'}, variable {'set' if variable else 'not set'}")
    return f"type 4 is a core file of the process with both, otherwise E_FAIL and no file ({'; '.join(said)})"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--record")
    options = parser.parse_args()
    launch.fetch_or_skip(NAME)
    recorded = []
    todo = [(NAME, one_that_may_not_be_executed, recorded), (NAME, one_that_may_be_executed, recorded)]
    if launch.there([WHOLE]):
        todo.append((WHOLE, types_that_are_written, None))
        todo += [(name, native_aot_with_a_createdump, name) for name in launch.there(NATIVE_AOT)]
    for name, check, argument in todo:
        checks.agrees(f"{name} {check.__name__}", check, argument)
    if options.record:
        rows = [{"comment": comment, "command": COMMANDS[code], "request": request.hex(), "reply": reply.hex()}
                for code, comment, request, reply in recorded]
        with open(options.record, "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(" " + json.dumps(row) for row in rows) + "\n]\n")
    sys.exit(checks.wrong > 0)


if __name__ == "__main__":
    main()
