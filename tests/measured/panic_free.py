#!/usr/bin/env python3
"""panic_free.py

Checks that no input can reach a panic. Builds `panic_free` as one program, inlined as far as possible, and searches its machine code for
callers of the panics of `core`. The remaining ones must be in LEFT, with a reason; an unnecessary reason is an error too.
"""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# The functions that begin a panic.
PANICS = re.compile(r"core::panicking::|slice_error_fail|expect_failed|unwrap_failed|slice_index_fail|copy_from_slice|len_mismatch")
# The functions of the standard library that contain a panic, and why it is not reached. None is of this crate.
LEFT = {
    r"core::(panicking|option|result|slice::index|str)::.*(fail|assert|panic).*": "panics themselves",
    r"<&T as core::fmt::Debug>::fmt|<str as core::fmt::Debug>::fmt": "Debug of a str cuts it between characters that it has just found",
    r"core::unicode::printable::is_printable": "tables of constants",
    r"core::slice::memchr::memrchr": "searches for the last comma or semicolon of a text, within its length",
    r"core::str::iter::SplitInternal<P>::next_back": "the same: ports are read from the last one backwards (F-59)",
    r"core::str::pattern::CharSearcher as core::str::pattern::Searcher>::next_match": "searches for a comma or semicolon, within the text",
}


def main():
    environment = {**os.environ}
    target = environment.setdefault("CARGO_TARGET_DIR", os.path.join(HERE, "target"))
    subprocess.run(["cargo", "build", "--quiet", "--profile", "inlined", "--bin", "panic_free"], cwd=HERE, env=environment, check=True)
    program = os.path.join(target, "inlined", "panic_free")
    # The program must use its input: other inputs must give other statuses.
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
        print(f"{'left' if pattern in needed else 'no longer needed'}: {pattern}: {LEFT[pattern]}")
    print(json.dumps({"functions": code.count(">:\n"), "callers of panics": len(callers), "unknown": len(unknown)}))
    sys.exit(bool(unknown) or len(told) < 2 or "main" not in code)


if __name__ == "__main__":
    main()
