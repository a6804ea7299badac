#!/usr/bin/env python3
"""small.py [--write]

Measures the bytes of code, constants and stack of the crate on thumbv6m. More than a limit is an error, and so is over 3 % more than in
RESULTS.md. Bytes depend on the compiler: another one than RESULTS.md's is an error too. `--write` writes RESULTS.md.
"""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WRITTEN = HERE / "RESULTS.md"
TARGET = "thumbv6m-none-eabi"
BUILT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target")).resolve()
PROFILES = ("small", "release")
MARGIN = 1.03
# Programs, with their limit when they are built for size.
PROGRAMS = {
    "client": ("a client of one command", 5120),
    "any_client": ("a client of any request, without the check of its values, which reads any reply", 16384),
    "messages": ("all messages read and written", 24576),
}
# Limits of calls: a client's, and those that read or judge a peer's messages.
CLIENT, READS = 640, 2048


def limit(call):
    return CLIENT if call.startswith("ClientExchange::") and "decoded" not in call else READS


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=True).stdout


def build(profile, *options, **environment):
    subprocess.run(["cargo", "build", "--quiet", "--profile", profile, "--target", TARGET, "--target-dir", BUILT, *options],
                   cwd=HERE, env={**os.environ, **environment}, check=True)
    return BUILT / TARGET / profile


def code(profile):
    """Returns the bytes of each program: sections that are allocated, and have contents."""
    programs = build(profile, *(f"--bin={name}" for name in PROGRAMS))
    parts = {name: re.findall(r"\] \S+ +PROGBITS +\S+ \S+ (\S+) \S+ +\S*A", output("readelf", "-SW", programs / name)) for name in PROGRAMS}
    return {name: sum(int(size, 16) for size in sizes) for name, sizes in parts.items()}


def inputs():
    """Returns (tcId, set, id, whether it is a reply, bytes) of each message of vectors/."""
    codes, found = {}, []
    for file in json.loads((ROOT / "vectors/index.json").read_text())["files"]:
        for group in json.loads((ROOT / "vectors" / file["name"]).read_text())["groups"]:
            if group["type"] in ("request", "reply", "error", "unknown"):
                found += [(test["tcId"], group.get("command"), group["type"] in ("reply", "error"), bytes.fromhex(test["wire"]))
                          for test in group["tests"] if test.get("wire")]
    # The requests give a command's code.
    for _, command, is_reply, wire in found:
        if command and not is_reply and wire[:14] == b"DOTNET_IPC_V1\0" and len(wire) >= 20:
            codes.setdefault(command, []).append((wire[16], wire[17]))
    codes = {command: max(set(seen), key=seen.count) for command, seen in codes.items()}
    return [(case, *codes.get(command, (0, 0)), is_reply, wire) for case, command, is_reply, wire in found]


def stack(profile):
    """Returns the bytes of stack and the tcId of each call: the stack is painted, the call made in qemu, and the remaining paint counted."""
    cases = inputs()
    with tempfile.TemporaryDirectory() as home:
        written = pathlib.Path(home) / "inputs"
        written.write_bytes(b"".join(struct.pack("<BBBI", group, code, is_reply, len(wire)) + wire for _, group, code, is_reply, wire in cases))
        programs = build(profile, "--bin=stack", "--features=inputs", STACK_INPUTS=str(written), RUSTFLAGS="-C link-arg=-Tmemory.x")
        said = output("qemu-system-arm", "-M", "mps2-an385", "-nographic", "-semihosting-config", "enable=on,target=native", "-kernel", programs / "stack")
    # After the inputs, requests of a caller's own values.
    cases.append(("built",))
    rows = [line.split("\t") for line in said.splitlines()]
    return {call: (int(used), cases[int(number)][0]) for call, used, number in rows}


def measure():
    """Returns rows: a name, bytes for size and for speed, the limit, and for a call the vector with the most."""
    small, fast = (code(profile) for profile in PROFILES)
    programs = [(what, small[name], fast[name], most) for name, (what, most) in PROGRAMS.items()]
    small, fast = (stack(profile) for profile in PROFILES)
    return programs, [(f"`{call}`", used, fast[call][0], limit(call), case) for call, (used, case) in small.items()]


def text(programs, calls, compiler):
    def row(name, small, fast, most, *case):
        return " | ".join([f"| {name}", *(f"{size:,}" for size in (small, fast, most)), *map(str, case)]) + " |"

    return "\n".join([
        "# Small machines", "",
        "Written by `python3 tests/no_std/small.py --write`; without `--write` it compares, and 3 % over a value here is an error, or any byte over",
        f"a limit. Cortex-M0 (`thumbv6m-none-eabi`), {compiler}, link-time optimisation, without `Debug` or `Display`.", "",
        "## Code and constants", "",
        "Bytes of a linked program ([`tests/no_std/`](.)) with nothing else. The limits are for size.", "",
        "| | for size (`z`) | for speed (`3`) | limit |", "|---|--:|--:|--:|", *(row(*it) for it in programs), "",
        "## Stack", "",
        "The largest number of bytes of stack of a call, with its result, over every message of [`vectors/`](../../vectors/), valid or not,",
        "and over requests built of a caller's own texts: the stack is painted, the call made in qemu, and the remaining paint counted",
        "(`stack` there). The calls of a client that are not listed take at most 64 bytes.", "",
        "| | for size (`z`) | for speed (`3`) | limit | most with vector |", "|---|--:|--:|--:|---|", *(row(*it) for it in calls), ""])


def main():
    if missing := [tool for tool in ("qemu-system-arm", "readelf") if not shutil.which(tool)]:
        sys.exit(f"{' and '.join(missing)} not installed, so nothing was measured")
    compiler = output("rustc", "--version").strip()
    programs, calls = measure()
    new = text(programs, calls, compiler)
    if sys.argv[1:] == ["--write"]:
        WRITTEN.write_text(new)
    beyond = [name for name, small, _, most in programs if small > most]
    beyond += [name for name, small, fast, most, _ in calls if max(small, fast) > most]
    if beyond:
        sys.exit(f"over the limit: {', '.join(beyond)}")
    if compiler not in WRITTEN.read_text():
        sys.exit(f"the bytes cannot be compared: another compiler than {compiler} wrote RESULTS.md")
    was, now = ({name: [int(cell.replace(",", "")) for cell in cells] for name, *cells in re.findall(r"^\| (\S.*?) \| ([\d,]+) \| ([\d,]+) \|", it, re.M)}
                for it in (WRITTEN.read_text(), new))
    if was.keys() != now.keys():
        sys.exit(f"other rows than in RESULTS.md: {sorted(was.keys() ^ now.keys())}; rewrite it")
    worse = [f"{name}: {now[name]} bytes, {was[name]} before" for name in now if any(a > b * MARGIN for a, b in zip(now[name], was[name]))]
    sys.exit("\n".join(["more than 3 % over RESULTS.md:", *worse]) if worse else print(f"{len(now)} sizes compared"))


if __name__ == "__main__":
    main()
