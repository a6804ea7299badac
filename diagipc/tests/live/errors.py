#!/usr/bin/env python3
"""errors.py

Checks connections after an error: sends harmless bad messages (by their `hazard`) to real runtimes, reads the error, and checks that the
connection ends. Prints one line per message; exits with 1 if one does not end, with 77 if a runtime is not available.
"""
import sys

import checks
import launch
import protocol
from checks import expect
from protocol import BAD_ENCODING, INVALIDARG, PROCESS_INFO, SET_ENVIRONMENT_VARIABLE, UNKNOWN_COMMAND, UNKNOWN_MAGIC, message

MESSAGES = [
    ("an unknown id", message(0x0463), UNKNOWN_COMMAND),
    ("an unknown set", message(0x6301), UNKNOWN_COMMAND),
    ("a wrong magic", message(PROCESS_INFO, magic=b"DOTNET_IPC_V2\0"), UNKNOWN_MAGIC),
    ("a size of 19", message(PROCESS_INFO, size=19), BAD_ENCODING),
    ("a variable without a name", message(SET_ENVIRONMENT_VARIABLE, bytes(8)), INVALIDARG),
]


def ends_after_an_error(path, sent, code):
    seen, expected = protocol.ask(path, sent, may_be_reset=True), protocol.error(code)
    expect(seen == expected, f"answered {seen.hex()}, expected {expected.hex()}")
    return "the error, then the end"


def main():
    launch.fetch_or_skip(*launch.RUNTIMES)
    for name in launch.RUNTIMES:
        with launch.running(name, {}) as (_, _, path):
            for comment, sent, code in MESSAGES:
                checks.agrees(f"{name} {comment}", ends_after_an_error, path, sent, code)
    sys.exit(checks.wrong > 0)


if __name__ == "__main__":
    main()
