#!/usr/bin/env python3
"""check.py

Is there a panic that any input can reach? Builds main.rs as one program with everything inlined that can be, and looks at its machine
code: who calls what `core` panics with. What is left must stand in LEFT, with its reason; a reason that is not needed any more is an
error as well.
"""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Where a panic begins.
PANICS = re.compile(r"core::panicking::|slice_error_fail|expect_failed|unwrap_failed|slice_index_fail|copy_from_slice|len_mismatch")
# The functions of the standard library that contain a panic, and why it is not reached. None of this crate's own stands here.
LEFT = {
    r"core::(panicking|option|result|slice::index|str)::.*(fail|assert|panic).*": "panics themselves",
    r"<&T as core::fmt::Debug>::fmt|<str as core::fmt::Debug>::fmt": "Debug of a str cuts it between characters that it has just found",
    r"core::unicode::printable::is_printable": "tables of constants",
    r"core::slice::memchr::memrchr": "looks for the last comma or semicolon of a text, within its length",
    r"core::str::iter::SplitInternal<P>::next_back": "the same: ports are gone through from the last one on (F-59)",
    r"core::str::pattern::CharSearcher as core::str::pattern::Searcher>::next_match": "looks for a comma or semicolon, within the text",
}


def main():
    environment = {**os.environ}
    target = environment.setdefault("CARGO_TARGET_DIR", os.path.join(HERE, "target"))
    subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=HERE, env=environment, check=True)
    program = os.path.join(target, "release", "panic-free-check")
    # It must be able to fail: this one has seen all of its input.
    told = {subprocess.run([program], input=text, timeout=60).returncode for text in (b"", b"DOTNET_IPC_V1\0" * 100, bytes(range(256)))}
    code = subprocess.run(["objdump", "-dC", "--no-show-raw-insn", program], stdout=subprocess.PIPE, check=True, text=True).stdout
    function, callers = "", {}
    for line in code.splitlines():
        begins = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if begins:
            function = begins.group(1)
        called = re.search(r"\b(?:call|jmp|b|bl)\s.*<(.*)>$", line)
        if called and PANICS.search(called.group(1)) and not called.group(1).startswith(function):
            callers.setdefault(function, set()).add(re.sub(r"\+0x[0-9a-f]+$", "", called.group(1)))
    needed, unknown = set(), {}
    for caller, panics in callers.items():
        reason = next((pattern for pattern in LEFT if re.fullmatch(f"<?{pattern}>?|{pattern}", caller)), None)
        if reason:
            needed.add(reason)
        else:
            unknown[caller] = sorted(panics)
    for caller in sorted(unknown):
        print(f"a panic can be reached in {caller}: {', '.join(unknown[caller])}")
    for pattern in LEFT:
        print(f"{'left' if pattern in needed else 'not needed any more'}: {pattern}: {LEFT[pattern]}")
    print(json.dumps({"functions": code.count(">:\n"), "callers of panics": len(callers), "unknown": len(unknown)}))
    sys.exit(bool(unknown) or len(told) < 2 or "main" not in code)


if __name__ == "__main__":
    main()
