#!/usr/bin/env python3
"""worst_case.py

Measures the slowest payloads: counts the instructions (callgrind) to decode payloads as long as a message can hold, and to walk all their
contents, character by character. At most 30 per byte for decoding, and 4 times that for walking. Exits with 1 if it is more, and with 77
without valgrind.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DECODE, WALK = 30, 4 * 30


def instructions(program, payload, function):
    """The instructions within `function`, and the length of the payload."""
    with tempfile.TemporaryDirectory() as scratch:
        counts = os.path.join(scratch, "counts")
        said = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no", f"--toggle-collect={function}", f"--callgrind-out-file={counts}"]
            + [program, payload],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ).stdout
        with open(counts) as file:
            return int(re.search(r"^(?:totals|summary): (\d+)", file.read(), re.M)[1]), int(said)


def main():
    if not shutil.which("valgrind"):
        print("valgrind not found")
        sys.exit(77)
    environment = {**os.environ}
    target = environment.setdefault("CARGO_TARGET_DIR", os.path.join(HERE, "target"))
    subprocess.run(["cargo", "build", "--quiet", "--release", "--bin", "worst_case"], cwd=HERE, env=environment, check=True)
    program = os.path.join(target, "release", "worst_case")
    payloads = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    print("| payload | bytes | instructions per byte to decode | to walk |\n|---|---|---|---|")
    most_decode = most_walk = 0
    for payload in payloads:
        decode, length = instructions(program, payload, "measured_decode")
        walk, _ = instructions(program, payload, "measured_walk")
        # Otherwise nothing was counted, and nothing would be shown.
        assert decode > 50 and walk > 50, (payload, decode, walk)
        print(f"| {payload} | {length:,} | {decode / length:.2f} | {walk / length:.2f} |")
        most_decode, most_walk = max(most_decode, decode / length), max(most_walk, walk / length)
    print(f"\nmost: {most_decode:.2f} of {DECODE}, {most_walk:.2f} of {WALK}")
    sys.exit(most_decode > DECODE or most_walk > WALK)


if __name__ == "__main__":
    main()
