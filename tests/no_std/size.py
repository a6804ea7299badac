#!/usr/bin/env python3
"""size.py

Prints the bytes of code and constants of the programs on thumbv6m, built for size and for speed.
"""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = "thumbv6m-none-eabi"
PROGRAMS = {
    "client": "a client of one command",
    "any_client": "a client of any request, without the check of its values, which reads any reply",
    "messages": "all messages read and written",
}


def require_target():
    if TARGET not in subprocess.check_output(["rustup", "target", "list", "--installed"], text=True).split():
        sys.exit(f"the target {TARGET} is not installed, so nothing was measured")


def sizes(profile):
    """Returns the bytes of each program."""
    require_target()
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
    for profile in ("small", "release"):
        for name, size in sizes(profile).items():
            print(f"{name}, {'for size' if profile == 'small' else 'for speed'}: {size} bytes")


if __name__ == "__main__":
    main()
