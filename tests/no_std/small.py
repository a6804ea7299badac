#!/usr/bin/env python3
"""small.py [--limits | --write]

Measures the bytes of code, constants and stack of the crate on thumbv6m. More than a limit is an error, and so is over 3 % more than in
SIZE.md. Bytes depend on the compiler: another one than SIZE.md's is an error too, unless `--limits` leaves out that comparison. `--write`
writes SIZE.md.
"""
import pathlib
import re
import subprocess
import sys

import size
import stack

HERE = pathlib.Path(__file__).resolve().parent

WRITTEN = HERE / "SIZE.md"
MARGIN = 1.03
# Limits of programs built for size; and of calls: a client's, and those that read or judge a peer's messages.
CODE = {"client": 5120, "any_client": 16384, "messages": 24576}
CLIENT, READS = 640, 2048
PROFILES = ("small", "release")


def compiler():
    return subprocess.run(["rustc", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def limit(call):
    return CLIENT if call.startswith("Client::") and "checks" not in call and "decoded" not in call else READS


def measure():
    """Returns code by program, and stack by call: bytes for size and for speed, and the vector with the most for size."""
    code = {profile: size.sizes(profile) for profile in PROFILES}
    used = {profile: stack.measure(profile) for profile in PROFILES}
    calls = {call: [took, case] for call, took, case in used["small"]}
    for call, took, _ in used["release"]:
        calls[call].insert(1, took)
    return {name: [code[profile][name] for profile in PROFILES] for name in code["small"]}, calls


def text(code, calls):
    lines = [
        "# Small machines", "",
        "Written by `python3 tests/no_std/small.py --write`; without `--write` it compares, and 3 % over a value here is an error, or any byte over",
        f"a limit. Cortex-M0 (`thumbv6m-none-eabi`), {compiler()}, link-time optimisation, without `Debug` or `Display`.", "",
        "## Code and constants", "",
        "Bytes of a linked program ([`tests/no_std/`](.)) with nothing else. The limits are for size.", "",
        "| | for size (`z`) | for speed (`3`) | limit |", "|---|--:|--:|--:|",
        *(f"| {size.PROGRAMS[name]} | {small:,} | {fast:,} | {f'{CODE[name]:,}' if name in CODE else ''} |"
          for name, (small, fast) in code.items()), "",
        "## Stack", "",
        "The largest number of bytes of stack of a call, with its result, over every message of [`vectors/`](../../vectors/), valid or not,",
        "and over requests built of a caller's own texts: the stack is painted, the call made in qemu, and the remaining paint counted",
        "(`stack` there).", "",
        "| | for size (`z`) | for speed (`3`) | limit | most with vector |", "|---|--:|--:|--:|---|",
        *(f"| `{call}` | {small:,} | {fast:,} | {limit(call):,} | {case} |" for call, (small, fast, case) in calls.items()), ""]
    return "\n".join(lines)


def over(code, calls):
    """The names of what exceeds its limit."""
    return [name for name, (small, _) in code.items() if small > CODE.get(name, small)] + \
        [call for call, (small, fast, _) in calls.items() if max(small, fast) > limit(call)]


def values(written):
    """The values of each row, by its first cell."""
    rows = re.findall(r"^\| (\S.*?) \| ([\d,]+) \| ([\d,]+) \|", written, re.M)
    return {name: [int(cell.replace(",", "")) for cell in cells] for name, *cells in rows}


def main():
    found = measure()
    new = text(*found)
    if sys.argv[1:] == ["--write"]:
        WRITTEN.write_text(new)
    if beyond := over(*found):
        sys.exit(f"over the limit: {', '.join(beyond)}")
    if sys.argv[1:] == ["--limits"]:
        print("within the limits; not compared with SIZE.md")
        return 0
    if compiler() not in WRITTEN.read_text():
        sys.exit(f"the bytes cannot be compared: another compiler than {compiler()} wrote SIZE.md")
    old, now, worse = values(WRITTEN.read_text()), values(new), 0
    if old.keys() != now.keys():
        sys.exit(f"other rows than in SIZE.md: {sorted(old.keys() ^ now.keys())}; rewrite it")
    for name, cells in now.items():
        for profile, was, has in zip(PROFILES, old[name], cells):
            if has != was:
                print(f"{name}, {profile}: {has:,} bytes, {was:,} before")
            if has > was * MARGIN:
                print(f"{name}, {profile}: more than 3 % over SIZE.md")
                worse += 1
    print(f"{len(now)} sizes compared, {worse} more than 3 % over SIZE.md")
    return min(worse, 1)


if __name__ == "__main__":
    sys.exit(main())
