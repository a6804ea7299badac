#!/usr/bin/env python3
"""errors.py

Checks connections after an error: sends harmless bad messages (by their `hazard`) to real runtimes, reads the error, and checks that the
connection ends. Prints one line per message; exits with 1 if one does not end, with 77 if a runtime is not available.
"""
import os
import socket
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import launch

PATIENCE = 30.0


def header(code, size=20, magic=b"DOTNET_IPC_V1\0"):
    return magic + struct.pack("<HBBH", size, code >> 8, code & 0xFF, 0)


MESSAGES = [
    ("an unknown id", header(0x0463), 0x80131385),
    ("an unknown set", header(0x6301), 0x80131385),
    ("a wrong magic", header(0x0400, magic=b"DOTNET_IPC_V2\0"), 0x80131386),
    ("a size of 19", header(0x0400, size=19), 0x80131384),
    ("a variable without a name", header(0x0403, size=28) + bytes(8), 0x80070057),
]


def ends_after_an_error(path, sent, code):
    """What is wrong; None if an error with that code arrived, and then the end."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(path)
        connection.sendall(sent)
        seen = b""
        try:
            while piece := connection.recv(4096):
                seen += piece
        except ConnectionResetError:
            pass  # bytes were left unread (F-70): also an end
        except socket.timeout:
            return f"the connection is still open after {PATIENCE:.0f} s"
        expected = header(0xFFFF, size=24) + struct.pack("<I", code)
        return None if seen == expected else f"answered {seen.hex()}, expected {expected.hex()}"


def main():
    wrong = 0
    launch.fetch_or_skip(*launch.RUNTIMES)
    for name in launch.RUNTIMES:
        with launch.started(name, {}) as (process, directory):
            path = launch.default_socket(process, directory)
            launch.until_it_runs(path)
            for comment, sent, code in MESSAGES:
                fault = ends_after_an_error(path, sent, code)
                wrong += bool(fault)
                print(f"{name}: {comment}: {fault or 'the error, then the end'}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
