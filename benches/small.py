#!/usr/bin/env python3
"""small.py [--write]

Measures the bytes of code, constants and stack of the crate on thumbv6m, and compares them with SIZE.md: over 3 % more is an error.
`--write` writes SIZE.md. Exits with 77 without that target or qemu-system-arm, or if another compiler wrote SIZE.md.
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE / "thumb_size"), str(HERE / "thumb_stack")]
import size  # noqa: E402
import stack  # noqa: E402

WRITTEN = HERE / "SIZE.md"
MARGIN = 1.03
# Limits of a call: a client's calls, and calls that read or judge a peer's messages.
CLIENT, READS = 512, 2048
PROFILES = ("small", "release")


# By hand: why a value is over its limit, and what was tried.
MISSED = """\
## What is over

The limits are 5,120 bytes for a client of one command, 16,384 for one of any request, and 24,576 for all messages read and written: all
three hold for size (`z`). One call takes more stack than its limit:

- **`Client::with_any`** encodes a `user_events` session: provider, configuration, set and text are nested calls of 40 to 208 bytes,
  and a provider that came from the wire is decoded first (88). Requests of other commands take half. Tried: items read by a `Scan` in
  place of an iterator (120 more), items by reference (16 less).""".splitlines()


def compiler():
    return subprocess.run(["rustc", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def limit(call):
    return CLIENT if call.startswith("Client::") else READS


def measure():
    """Code by program, and stack by call: bytes for size and for speed, and the vector with the most for size. None if not measurable."""
    code = {profile: size.sizes(profile) for profile in PROFILES} if size.is_there() else None
    used = {profile: stack.measure(profile) for profile in PROFILES} if code else None
    if not used or None in used.values():
        return None
    code = {profile: dict(found) for profile, found in code.items()}
    calls = {call: [took, case] for call, took, case in used["small"]}
    for call, took, _ in used["release"]:
        calls[call].insert(1, took)
    return {name: [code[profile][name] for profile in PROFILES] for name in code["small"]}, calls


def text(code, calls):
    lines = [
        "# Small machines", "",
        "Written by `python3 benches/small.py --write`; without `--write` it compares, and 3 % over a value here is an error. Cortex-M0",
        f"(`thumbv6m-none-eabi`), {compiler()}, link-time optimisation, without `Debug` or `Display` unless stated.", "",
        "## Code and constants", "",
        "Bytes of a linked program ([`thumb_size/`](thumb_size/)) with nothing else.", "",
        "| | for size (`z`) | for speed (`3`) |", "|---|--:|--:|",
        *(f"| {size.PROGRAMS[name]} | {small:,} | {fast:,} |" for name, (small, fast) in code.items()), "",
        "## Stack", "",
        "The largest number of bytes of stack of a call, with its result, over every message of [`vectors/`](../vectors/), valid or not:",
        "the stack is painted, the call made in qemu, and the remaining paint counted ([`thumb_stack/`](thumb_stack/)). The limits are",
        f"{CLIENT} for a client's calls and {READS:,} for calls that read or judge messages.", "",
        "| | for size (`z`) | for speed (`3`) | most with vector | |", "|---|--:|--:|--:|---|",
        *(f"| `{call}` | {small:,} | {fast:,} | {case} | {'over' if max(small, fast) > limit(call) else ''} |"
          for call, (small, fast, case) in calls.items()), "",
        *MISSED, ""]
    return "\n".join(lines)


def values(written):
    """The values of each row, by its first cell."""
    rows = re.findall(r"^\| (\S.*?) \| ([\d,]+) \| ([\d,]+) \|", written, re.M)
    return {name: [int(cell.replace(",", "")) for cell in cells] for name, *cells in rows}


def main():
    write = sys.argv[1:] == ["--write"]
    if not write and compiler() not in WRITTEN.read_text():
        print("SIZE.md was written with another compiler")
        return 77
    found = measure()
    if not found:
        print(f"{size.TARGET} or qemu-system-arm not found")
        return 77
    new = text(*found)
    if write:
        WRITTEN.write_text(new)
        return 0
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
