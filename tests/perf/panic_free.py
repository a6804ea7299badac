#!/usr/bin/env python3
"""panic_free.py

Checks that no input can reach a panic. Builds `panic_free` as one program, inlined as far as possible, and searches its machine code for
callers of the panics of `core`. The remaining ones must be in ALLOWED, with a reason.
"""
import re
import subprocess
import sys

import programs

# The functions that begin a panic.
PANICS = re.compile(r"core::panicking::|slice_error_fail|expect_failed|unwrap_failed|slice_index_fail|copy_from_slice|len_mismatch")
# The functions of the standard library that contain a panic, and why it is not reached. This crate has none.
ALLOWED = {
    r"core::(panicking|option|result|slice::index|str)::.*(fail|assert|panic).*": "panics themselves",
    r"<&T as core::fmt::Debug>::fmt|<str as core::fmt::Debug>::fmt": "Debug of a str cuts it between characters that it has just found",
    r"core::unicode::printable::is_printable": "tables of constants",
    r"core::slice::memchr::memrchr": "searches for the last comma or semicolon of a text, within its length",
    r"core::str::iter::SplitInternal<P>::next_back": "the same: ports are read from the last one backwards (F-59)",
    r"core::str::pattern::CharSearcher as core::str::pattern::Searcher>::next_match": "searches for a comma or semicolon, within the text",
}


def main():
    programs.require("objdump")
    program = programs.build("panic_free", "inlined")
    # The program must use its input: different inputs must give different statuses.
    statuses = {subprocess.run([program], input=text, timeout=60).returncode for text in (b"", b"DOTNET_IPC_V1\0" * 100, bytes(range(256)))}
    code = subprocess.run(["objdump", "-dC", "--no-show-raw-insn", program], stdout=subprocess.PIPE, check=True, text=True).stdout
    function, callers = "", {}
    for line in code.splitlines():
        if begins := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            function = begins[1]
        called = re.search(r"\b(?:call|jmp|b|bl)\s.*<(.*)>$", line)
        if called and PANICS.search(called[1]) and not called[1].startswith(function):
            callers.setdefault(function, set()).add(re.sub(r"\+0x[0-9a-f]+$", "", called[1]))
    if len(statuses) < 2 or not callers:
        sys.exit("the program does not use its input, or its machine code was not understood")
    reached = {caller for caller in callers if not any(re.fullmatch(f"<?{allowed}>?", caller) for allowed in ALLOWED)}
    for caller in reached:
        print(f"a panic can be reached in {caller}: {', '.join(sorted(callers[caller]))}")
    print(f"{code.count('>:')} functions, of which {len(callers)} call a panic, {len(reached)} without a reason")
    sys.exit(bool(reached))


main()
