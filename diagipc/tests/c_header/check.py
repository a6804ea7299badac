#!/usr/bin/env python3
"""Compiles c/dotnet_ipc.h: C99 and C++17, gcc and clang, every warning an error; and measures its bytes on thumbv6m.

Exits with 1 if something is wrong, with 77 if a compiler is missing."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[3]
HEADER = ROOT / "c/dotnet_ipc.h"
WARNINGS = "-Wall -Wextra -Werror -pedantic -Wconversion -Wsign-conversion -Wshadow -Wundef".split()
COMPILERS = {"gcc": "-std=c99", "clang": "-std=c99", "g++": "-std=c++17", "clang++": "-std=c++17"}
IMPLEMENTATION = '#define DOTNET_IPC_IMPLEMENTATION\n#include "dotnet_ipc.h"\n'
# A file that only uses it, with unused helpers; it is linked with the other.
USER = """#include "dotnet_ipc.h"
int main(void) {
    uint8_t buffer[64];
    dipc_client client;
    int size = dipc_stop_tracing(buffer, sizeof buffer, 42);
    if (size != 28 || dipc_client_start(&client, buffer, 28) < 0 || client.action != DIPC_SEND) return 1;
    size = dipc_dump(buffer, sizeof buffer, NULL, 1, 0);
    if (size < 0 || dipc_client_start(&client, buffer, (size_t)size) != DIPC_E_ABSENT_NAME) return 1;
    if (client.action != DIPC_MALFORMED || client.status != DIPC_E_ABSENT_NAME) return 1;
    if (dipc_client_start_unchecked(&client, buffer, (size_t)size) < 0 || client.action != DIPC_SEND) return 1;
    return dipc_set_environment_variable(buffer, sizeof buffer, "A", NULL) == 32 ? 0 : 1;
}
"""
# Everything, for a microcontroller: code and constants, without unwind tables and with its own memcpy.
THUMB = "--target=thumbv6m-none-eabi -mcpu=cortex-m0 -ffreestanding -fno-unwind-tables -fno-asynchronous-unwind-tables -std=c99".split()
MOST_BYTES = 6240  # 34 of them tell white space apart (F-147), 70 refuse what a server dies of


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def compiled(compiler, standard, directory):
    suffix = ".cpp" if "++" in compiler else ".c"
    objects = []
    for name, text in ("implementation", IMPLEMENTATION), ("user", USER):
        source = directory / (name + suffix)
        source.write_text(text)
        objects.append(directory / (name + ".o"))
        for level in "-O0", "-O2":
            run(compiler, standard, *WARNINGS, level, "-I", ROOT / "c", "-c", "-o", objects[-1], source)
    run(compiler, "-o", directory / "user", *objects)
    run(directory / "user")
    if suffix == ".c":
        run(compiler, standard, *WARNINGS, "-O2", "-I", ROOT / "c", "-o", directory / "trace", ROOT / "c/trace.c")


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
        for compiler, standard in COMPILERS.items():
            compiled(compiler, standard, directory)
            print(f"{compiler} {standard}: no warning")
        for options in ["-Os", "-DDIPC_NO_NAMES"], ["-Oz"]:
            size = thumb_bytes(directory, *options)
            print(f"thumbv6m {' '.join(options)}: {size} bytes of at most {MOST_BYTES}")
            if size > MOST_BYTES:
                sys.exit(1)


if __name__ == "__main__":
    main()
