#!/usr/bin/env python3
"""createdump.py [--record FILE]

Starts a .NET 9.0.5 with its createdump as the package has it, which may not be executed, and with one that may, and sees what each
answers to dumps. Prints one line a check; exits with 1 if one differs, with 77 if the runtime cannot be had here. --record writes
requests and replies of the second to FILE, in the form of vectors/source/recorded/.
"""
import argparse
import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import launch

NAME = "net9.0.5"
HEADER = b"DOTNET_IPC_V1\0"
S_OK = HEADER + struct.pack("<HBBHI", 24, 0xFF, 0x00, 0, 0)
E_FAIL = struct.pack("<BBHI", 0xFF, 0xFF, 0, 0x80004005)
DUMP, DUMP3 = 0x0101, 0x0103
COMMANDS = {DUMP: "Dump/GenerateCoreDump", DUMP3: "Dump/GenerateCoreDump3"}


class Differs(Exception):
    """The runtime does something else than this file says."""


def expect(condition, text):
    if not condition:
        raise Differs(text)


def ask(path, code, name, kind):
    """The request and the reply; the connection must end behind it."""
    text = (name + "\0").encode("utf-16-le")
    payload = struct.pack("<I", len(text) // 2) + text + struct.pack("<II", kind, 0)
    request = HEADER + struct.pack("<HBBH", 20 + len(payload), code >> 8, code & 0xFF, 0) + payload
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(path)
        connection.sendall(request)
        reply = b""
        while piece := connection.recv(65536):
            reply += piece
    return request, reply


@contextlib.contextmanager
def runtimes(mode):
    """A directory of runtimes with a copy of the one, whose createdump has this mode. All but that are links."""
    home = launch.home_of(NAME)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(home), prefix=".createdump-") as directory:
        subprocess.run(["cp", "-al", home, os.path.join(directory, NAME)], check=True, timeout=60)
        dist = os.path.join(directory, NAME, "x/package/dist/createdump")
        os.unlink(dist)
        shutil.copyfile(os.path.join(home, "x/package/dist/createdump"), dist)
        os.chmod(dist, mode)
        before = os.environ.get("DOTNET_RUNTIMES")
        os.environ["DOTNET_RUNTIMES"] = directory
        try:
            yield
        finally:
            del os.environ["DOTNET_RUNTIMES"]
            if before is not None:
                os.environ["DOTNET_RUNTIMES"] = before


@contextlib.contextmanager
def started(mode):
    with runtimes(mode), launch.started(NAME, {}) as (process, directory):
        path = launch.default_socket(process, directory, 30)
        expect(path, "no default port")
        launch.until_it_runs(path)
        yield process, directory, path


def one_that_may_not_be_executed(_):
    with started(0o644) as (process, directory, path):
        _, reply = ask(path, DUMP, directory + "/core", 4)
        expect(reply[16:] == E_FAIL, f"answered {reply.hex()}; expected: Error with E_FAIL")
        expect(not os.path.exists(path) and process.poll() is None, "the socket is still there, or the process has ended")
    return "E_FAIL, and the socket is gone"


def one_that_may_be_executed(recorded):
    with started(0o755) as (process, directory, path):
        for code in COMMANDS:
            for kind in (1, 2, 3, 4):
                core = directory + "/core"
                request, reply = ask(path, code, "core", kind)  # from where the runtime was started
                expect(reply == S_OK, f"type {kind} is answered {reply.hex()}; expected: OK with S_OK")
                with open(core, "rb") as file:
                    expect(file.read(4) == b"\x7fELF", f"type {kind} has not written a dump")
                os.remove(core)
                if (code, kind) in ((DUMP, 4), (DUMP3, 1)):
                    recorded.append((code, "write a dump", request, reply))
            request, reply = ask(path, code, "/none/dump", 4)
            expect(reply[16:24] == E_FAIL, f"without a directory: {reply.hex()}; expected: Error with E_FAIL")
            recorded.append((code, "write a dump where there is no directory", request, reply))
        expect(os.path.exists(path) and process.poll() is None, "the socket is gone, or the process has ended")
    return "types 1 to 4 are written and S_OK; a directory that is not there is E_FAIL; the socket stays"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--record")
    options = parser.parse_args()
    try:
        launch.fetch(NAME)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"SKIPPED: {NAME} cannot be had here: {error}", file=sys.stderr)
        sys.exit(launch.SKIP)
    wrong, recorded = 0, []
    for check in (one_that_may_not_be_executed, one_that_may_be_executed):
        try:
            print(f"agrees  {NAME} {check.__name__}: {check(recorded)}", flush=True)
        except (Differs, OSError) as fault:
            print(f"differs {NAME} {check.__name__}: {type(fault).__name__}: {fault}", flush=True)
            wrong += 1
    if options.record:
        rows = [{"comment": comment, "command": COMMANDS[code], "request": request.hex(), "reply": reply.hex()}
                for code, comment, request, reply in recorded]
        with open(options.record, "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(" " + json.dumps(row) for row in rows) + "\n]\n")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
