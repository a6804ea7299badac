#!/usr/bin/env python3
"""c_client.py: the client of c/trace.c traces real runtimes, and stores a complete nettrace file."""
import os
import subprocess
import sys
import tempfile

import launch
import nettrace
from built import ROOT

RUNTIMES = "net10.0.9", "aot9.0.20"


def main():
    names = launch.there(RUNTIMES)
    if not names:
        sys.exit(launch.SKIP)
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        program, stored = os.path.join(directory, "trace"), os.path.join(directory, "stored.nettrace")
        flags = "-std=c99 -O1 -g -Wall -Wextra -Werror -pedantic -fsanitize=address,undefined -fno-sanitize-recover=all".split()
        subprocess.run(["cc", *flags, "-I", ROOT + "/c", "-o", program, ROOT + "/c/trace.c"], check=True)
        for name in names:
            with launch.running(name, {}) as (_, _, path):
                status = subprocess.run([program, path, stored, "2"], timeout=60).returncode
            events = 0
            if status == 0:
                with open(stored, "rb") as file:
                    events = sum(1 for kind, *_ in nettrace.blobs(file.read()) if kind == b"EventBlock")
            print(f"{name}: status {status}, {events} events in a complete file")
            failed |= status != 0 or events == 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
