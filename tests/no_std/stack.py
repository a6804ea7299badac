#!/usr/bin/env python3
"""stack.py

Prints the largest number of bytes of stack of each call on thumbv6m, over all messages of vectors/, valid or not, and over requests
built of texts: the stack is painted, the call made in qemu, and the remaining paint counted.
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

import size

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def inputs():
    """(tcId, set, id, whether it is a reply, bytes)"""
    codes, found = {}, []
    for file in json.loads((ROOT / "vectors/index.json").read_text())["files"]:
        for group in json.loads((ROOT / "vectors" / file["name"]).read_text())["groups"]:
            if group["type"] not in ("request", "reply", "error", "unknown"):
                continue
            for test in group["tests"]:
                if test.get("wire"):
                    found.append((test["tcId"], group.get("command"), group["type"] in ("reply", "error"), bytes.fromhex(test["wire"])))
    # The requests give a command's code.
    for _, command, is_reply, wire in found:
        if command and not is_reply and wire[:14] == b"DOTNET_IPC_V1\0" and len(wire) >= 20:
            codes.setdefault(command, []).append((wire[16], wire[17]))
    codes = {command: max(set(seen), key=seen.count) for command, seen in codes.items()}
    return [(case, *codes.get(command, (0, 0)), is_reply, wire) for case, command, is_reply, wire in found]


def measure(profile):
    """Returns (call, bytes, tcId) of each."""
    size.require_target()
    if not shutil.which("qemu-system-arm"):
        sys.exit("qemu-system-arm is not installed, so nothing was measured")
    cases = inputs()
    with tempfile.TemporaryDirectory() as home:
        written = pathlib.Path(home) / "inputs"
        written.write_bytes(b"".join(struct.pack("<BBBI", group, code, is_reply, len(wire)) + wire for _, group, code, is_reply, wire in cases))
        environment = {**os.environ, "STACK_INPUTS": str(written), "RUSTFLAGS": "-C link-arg=-Tmemory.x"}
        target = environment.setdefault("CARGO_TARGET_DIR", str(HERE / "target"))
        subprocess.run(["cargo", "build", "--quiet", "--profile", profile, "--target", size.TARGET, "--bin", "stack", "--features", "inputs"], cwd=HERE, env=environment, check=True)
        program = pathlib.Path(target) / size.TARGET / profile / "stack"
        said = subprocess.run(["qemu-system-arm", "-M", "mps2-an385", "-nographic", "-semihosting-config", "enable=on,target=native",
                               "-kernel", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=True).stdout
    # After the inputs, requests of a caller's own values.
    cases.append(("built",))
    rows = [line.split("\t") for line in said.splitlines()]
    return [(call, int(used), cases[int(number)][0]) for call, used, number in rows]


def main():
    for profile in ("small", "release"):
        for call, used, case in measure(profile):
            print(f"{profile}: {call}: {used} bytes, by vector {case}")


if __name__ == "__main__":
    main()
