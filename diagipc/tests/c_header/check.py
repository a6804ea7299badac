#!/usr/bin/env python3
"""Compiles c/dotnet_ipc.h: C99 to C17 and C++98 to C++20, gcc and clang, every warning an error; and measures its bytes on thumbv6m.

Exits with 1 if something is wrong, with 77 if a compiler is missing."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[3]
HEADER = ROOT / "c/dotnet_ipc.h"
WARNINGS = "-Wall -Wextra -Werror -pedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wcast-qual".split()
C, CPP = ["c99", "c11", "c17", "gnu99"], ["c++98", "c++11", "c++14", "c++17", "c++20"]
# The standards of each compiler, and its own warnings.
COMPILERS = {
    "gcc": (C, ["-Wmissing-prototypes"]),
    "clang": (C, ["-Wmissing-prototypes", "-Wreserved-identifier", "-Wreserved-macro-identifier"]),
    "g++": (CPP, ["-Wold-style-cast", "-Wuseless-cast"]),
    "clang++": (CPP, ["-Wold-style-cast", "-Wreserved-identifier", "-Wreserved-macro-identifier"]),
}
IMPLEMENTATION = '#define DOTNET_IPC_IMPLEMENTATION\n#include "dotnet_ipc.h"\n'
# A file that only uses it, with unused helpers; it is linked with the other. The bytes of `v4002` are those of the vector.
USER = """#include "dotnet_ipc.h"
#include <stdio.h>
#include <string.h>
#define EXPECT(number, condition) if (!(condition)) return printf("expectation %d\\n", number)
#define WRITES(id, call) EXPECT(id, (call) == DIPC_DONE && size == sizeof v##id && memcmp(buffer, v##id, size) == 0)
int main(void) {
    static const uint8_t failed_ok[] = {68, 79, 84, 78, 69, 84, 95, 73, 80, 67, 95, 86, 49, 0, 24, 0, 0xFF, 0, 0, 0, 0x05, 0x40, 0, 0x80};
    static const uint32_t ids[] = {4, 5, 7, 8};
    const dipc_provider ab = {"Ab", "k=v", 0x0102030405060708, 4}, tracepoint = {"Ab", NULL, 0x0102030405060708, 4}, a = {"a", NULL, 1, 2};
    const dipc_filter all_but = {ids, 2, 0}, only = {ids + 2, 1, 1};
    const dipc_tracepoint_set two = {"S", ids + 2, 2}, one = {"s", ids + 2, 1};
    const dipc_tracepoints t1 = {"T1", &two, 1}, t = {"t", &one, 1};
    uint8_t buffer[256];
    size_t size, room = sizeof buffer;
    dipc_client client;
    WRITES(4002, dipc_dump(buffer, room, &size, DIPC_CMD_GENERATE_CORE_DUMP, "/tmp/core.123", DIPC_DUMP_TYPE_WITH_HEAP, 1));
    WRITES(4101, dipc_dump(buffer, room, &size, DIPC_CMD_GENERATE_CORE_DUMP2, "c", DIPC_DUMP_TYPE_NORMAL, 0));
    WRITES(4201, dipc_dump(buffer, room, &size, DIPC_CMD_GENERATE_CORE_DUMP3, "/xy", DIPC_DUMP_TYPE_FULL, 7));
    WRITES(5201, dipc_collect_tracing2(buffer, room, &size, 256, 1, &ab, 1));
    WRITES(5301, dipc_collect_tracing3(buffer, room, &size, 256, 0, 1, &ab, 1));
    WRITES(5401, dipc_collect_tracing4(buffer, room, &size, 256, 0x80020139, 1, &ab, 1));
    WRITES(6001, dipc_collect_tracing5(buffer, room, &size, 256, 0x80020139, 1, &ab, &all_but, 1));
    WRITES(6201, dipc_collect_user_events(buffer, room, &size, DIPC_CMD_COLLECT_TRACING5, 0x80020139, &tracepoint, &only, &t1, 1));
    WRITES(6401, dipc_collect_tracing6(buffer, room, &size, 256, 0x80020139, 1, &ab, &all_but, 1, DIPC_SESSION_BUFFER_MODE_BLOCK));
    WRITES(6500, dipc_collect_user_events(buffer, room, &size, DIPC_CMD_COLLECT_TRACING6, 0, &a, NULL, &t, 1));
    EXPECT(1, dipc_dump(buffer, room, &size, DIPC_CMD_STOP_TRACING, "c", 1, 0) == DIPC_E_ORDER);
    EXPECT(2, dipc_stop_tracing(buffer, 27, &size, 42) == DIPC_E_ROOM && size == 28);
    EXPECT(3, dipc_stop_tracing(NULL, 0, &size, 42) == DIPC_E_ROOM && size == 28);
    EXPECT(4, dipc_client_start(&client, buffer, 5) == DIPC_E_END_OF_INPUT && client.action == DIPC_MALFORMED && client.status == DIPC_E_END_OF_INPUT);
    EXPECT(5, dipc_set_environment_variable(buffer, room, &size, "A", NULL) == DIPC_DONE && size == 32);
    EXPECT(6, dipc_dump(buffer, room, &size, DIPC_CMD_GENERATE_CORE_DUMP2, NULL, 1, 0) == DIPC_DONE);
    EXPECT(7, dipc_client_start(&client, buffer, size) == DIPC_E_ABSENT_NAME && client.action == DIPC_MALFORMED && client.status == DIPC_E_ABSENT_NAME);
    EXPECT(8, dipc_client_start_unchecked(&client, buffer, size) == DIPC_DONE && client.action == DIPC_SEND);
    EXPECT(9, dipc_client_did(&client, buffer, room, size) == DIPC_DONE && client.action == DIPC_RECEIVE);
    EXPECT(10, dipc_client_did(&client, failed_ok, room, 20) == DIPC_DONE && client.action == DIPC_RECEIVE);
    EXPECT(11, dipc_client_did(&client, failed_ok, room, 4) == DIPC_DONE && client.action == DIPC_REFUSED && client.hresult == 0x80004005);
    EXPECT(12, strcmp(dipc_hresult_name(client.hresult), "DS_IPC_E_FAIL") == 0 && *dipc_hresult_name(1) == 0);
    EXPECT(13, strcmp(dipc_status_name(DIPC_E_ROOM), "room") == 0 && strcmp(dipc_status_name(DIPC_E_ABSENT_NAME), "absent_name") == 0);
    EXPECT(14, *dipc_status_name(-1) == 0);
    return 0;
}
"""
# Everything, for a microcontroller: code and constants, without unwind tables and with its own memcpy.
THUMB = "--target=thumbv6m-none-eabi -mcpu=cortex-m0 -ffreestanding -fno-unwind-tables -fno-asynchronous-unwind-tables -std=c99".split()
# 34 bytes tell white space apart (F-147), 70 refuse what a server dies of; the names of fields, statuses and HRESULTs are 2,500.
MOST_BYTES = {("-Os", "-DDIPC_NO_NAMES"): 6240, ("-Oz",): 7750}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def vectors():
    """The bytes of the vectors that the user's file names."""
    files = [json.loads((ROOT / f"vectors/{name}.json").read_text()) for name in ("dump", "eventpipe", "eventpipe5")]
    wires = {test["tcId"]: test["wire"] for file in files for group in file["groups"] for test in group["tests"]}
    numbers = {int(number): ", ".join(map(str, bytes.fromhex(wires[int(number)]))) for number in re.findall(r"WRITES\((\d+)", USER)}
    return "#include <stdint.h>\n" + "".join(f"static const uint8_t v{number}[] = {{{wire}}};\n" for number, wire in numbers.items())


def compiled(compiler, standard, warnings, directory):
    suffix, options = ".cpp" if "++" in compiler else ".c", [f"-std={standard}", *WARNINGS, *warnings, "-I", ROOT / "c"]
    objects = []
    for name, text in ("implementation", IMPLEMENTATION), ("user", vectors() + USER):
        source = directory / (name + suffix)
        source.write_text(text)
        objects.append(directory / (name + ".o"))
        # The casts of the implementation are those of C, which clang++ sees in `extern "C"` too.
        casts = ["-Wno-old-style-cast"] if (compiler, name) == ("clang++", "implementation") else []
        for level in "-O0", "-O2":
            run(compiler, *options, *casts, level, "-c", "-o", objects[-1], source)
    run(compiler, "-o", directory / "user", *objects)
    run(directory / "user")
    if suffix == ".c":
        # The example may define what POSIX reserves.
        run(compiler, *options, "-Wno-reserved-macro-identifier", "-O2", "-o", directory / "trace", ROOT / "c/trace.c")


def thumb_bytes(directory, *options):
    source, object_file = directory / "thumb.c", directory / "thumb.o"
    source.write_text(IMPLEMENTATION)
    run("clang", *THUMB, *options, "-DDIPC_MEMCPY=__builtin_memcpy", "-I", ROOT / "c", "-c", "-o", object_file, source)
    sections = dict(re.findall(r"^(\.\S+) +([0-9]+)", run("size", "-A", object_file), re.M))
    size = lambda *begins: sum(int(size) for name, size in sections.items() if name.startswith(begins))
    if size(".data", ".bss"):
        sys.exit(f"thumbv6m: {size('.data', '.bss')} bytes that are not constant, expected 0")
    return size(".text", ".rodata")


def main():
    missing = [compiler for compiler in [*COMPILERS, "size"] if not shutil.which(compiler)]
    if missing:
        print(f"missing: {', '.join(missing)}")
        sys.exit(77)
    libc = set(re.findall(r"\b(mem[a-z]+|str[a-z]+|malloc|free|printf)\(", HEADER.read_text()))
    if libc - {"memcpy"}:
        sys.exit(f"it calls {', '.join(sorted(libc))}")
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        for compiler, (standards, warnings) in COMPILERS.items():
            for standard in standards:
                compiled(compiler, standard, warnings, directory)
            print(f"{compiler} {', '.join(standards)}: no warning")
        for options, most in MOST_BYTES.items():
            size = thumb_bytes(directory, *options)
            print(f"thumbv6m {' '.join(options)}: {size} bytes of at most {most}")
            if size > most:
                sys.exit(1)


if __name__ == "__main__":
    main()
