#!/usr/bin/env python3
"""size.py

Prints the bytes of code and constants of the programs on thumbv6m, built for size and for speed. Exits with 77 without that target.
"""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = "thumbv6m-none-eabi"
PROGRAMS = {
    "client": "a client of one command",
    "any_client": "a client of any request, which reads any reply",
    "messages": "all messages read and written",
    "all": "all messages read, written and judged, both sides, `user_events`",
}


def is_there():
    installed = subprocess.run(["rustup", "target", "list", "--installed"], stdout=subprocess.PIPE, text=True).stdout.split()
    return TARGET in installed


def sizes(profile):
    """The bytes of each program."""
    environment = {**os.environ}
    target = environment.setdefault("CARGO_TARGET_DIR", os.path.join(HERE, "target"))
    command = ["cargo", "build", "--quiet", "--profile", profile, "--target", TARGET, *(f"--bin={name}" for name in PROGRAMS)]
    subprocess.run(command, cwd=HERE, env=environment, check=True)
    found = {}
    for name in PROGRAMS:
        program = os.path.join(target, TARGET, profile, name)
        sections = subprocess.run(["readelf", "-SW", program], check=True, stdout=subprocess.PIPE, text=True).stdout
        # Allocated, and with contents.
        parts = re.findall(r"\] (\S+) +PROGBITS +\S+ \S+ (\S+) \S+ +\S*A", sections)
        found[name] = sum(int(size, 16) for _, size in parts)
    return found


def main():
    if not is_there():
        print(f"{TARGET} is not installed")
        return 77
    for profile in ("small", "release"):
        for name, size in sizes(profile).items():
            print(f"{name}, {'for size' if profile == 'small' else 'for speed'}: {size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
