#!/usr/bin/env python3
"""profiler.py [NAME ...]

Attaches profiler.c to real .NET runtimes by AttachProfiler, and checks that it was loaded by its path and class id, and that the client
data arrived byte for byte; that a second one is refused; and that NativeAOT has none. Prints one line per check and runtime; exits with 1
if one differs, with 77 without a C compiler, or if a named runtime is not available here.
"""
import os
import struct
import subprocess
import sys
import tempfile
import time

import checks
import launch
import protocol
from checks import eventually, expect
from protocol import ALREADY_ACTIVE, ATTACH_PROFILER, NOT_SUPPORTED, OK, ERROR, message, payload_of

HERE = os.path.dirname(os.path.abspath(__file__))
RUNTIMES = ("net10.0.12", "net10.0.9", "net9.0.5", "net8.0.30")
NATIVE_AOT = ("aot9.0.20", "aot8.0.31")
S_OK = 0
# c7ba04b0-5a51-4d0d-9a5a-2d5c0b5d0001
CLASS_ID = bytes.fromhex("b004bac7" "515a" "0d4d" "9a5a2d5c0b5d0001")
CLIENT_DATA = (b"", b"\0", bytes(range(256)) * 4)


def attach(path, library, client_data):
    """The HRESULT of the reply, whose connection must end."""
    reply = protocol.ask(path, message(ATTACH_PROFILER, protocol.profiler(library, CLASS_ID, client_data)))
    (hresult,) = struct.unpack("<I", payload_of(reply, OK if reply[17:18] == b"\0" else ERROR))
    expect((hresult == S_OK) == (reply[17] == 0), f"answered {reply.hex()}")
    return hresult


def written(path, seconds=10):
    """The output of the profiler."""
    expect(eventually(lambda: os.path.exists(path), seconds), "the profiler wrote nothing")
    with open(path, "rb") as file:
        return file.read()


def client_data_arrive(name, library, client_data):
    with launch.running(name, {"DIAG_PROFILER_FILE": "@DIR@/profiler"}) as (process, directory, path):
        hresult = attach(path, library, client_data)
        expect(hresult == S_OK, f"answered {hresult:#010x}; expected: OK with S_OK")
        found = written(directory + "/profiler")
        expect(found == CLASS_ID + client_data, f"wrote {found[:80].hex()}; expected: the class id and the client data")
        again = attach(path, library, client_data)
        expect(again == ALREADY_ACTIVE, f"a second one is answered {again:#010x}; expected: {ALREADY_ACTIVE:#010x}")
        expect(process.poll() is None, "the process has ended")
    return f"{len(client_data)} bytes of client data arrived after the class id; a second profiler is refused"


def there_are_none(name, library, client_data):
    with launch.started(name, {"DIAG_PROFILER_FILE": "@DIR@/profiler"}) as (process, directory):
        path = launch.default_socket(process, directory)
        hresult = attach(path, library, client_data)
        expect(hresult == NOT_SUPPORTED, f"answered {hresult:#010x}; expected: {NOT_SUPPORTED:#010x}")
        time.sleep(0.5)
        expect(not os.path.exists(directory + "/profiler") and process.poll() is None, "it was loaded, or the process has ended")
    return "NOTSUPPORTED, and nothing is loaded"


def built(directory):
    """The library; exits if it cannot be built."""
    library = os.path.join(directory, "profiler.so")
    try:
        command = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", library, os.path.join(HERE, "profiler.c")]
        subprocess.run(command, check=True, timeout=60)
    except OSError as error:
        print(f"SKIPPED: no C compiler: {error}", file=sys.stderr)
        sys.exit(launch.SKIP)
    return library


def main():
    names = sys.argv[1:]
    launch.fetch_or_skip(*names)
    names = names or launch.there((*RUNTIMES, *NATIVE_AOT))
    with tempfile.TemporaryDirectory() as directory:
        library = built(directory)
        for name in names:
            check, all_data = (there_are_none, CLIENT_DATA[-1:]) if name in NATIVE_AOT else (client_data_arrive, CLIENT_DATA)
            for client_data in all_data:
                checks.agrees(f"{name} {check.__name__}", check, name, library, client_data)
    sys.exit(checks.wrong > 0)


if __name__ == "__main__":
    main()
