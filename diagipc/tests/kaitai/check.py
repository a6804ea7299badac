#!/usr/bin/env python3
"""Checks that spec/dotnet_ipc.ksy, compiled to Python and JavaScript, reads every vector of a message to its fields, and refuses
malformed ones. diagipc/tests/grammar/implementations.py lists the exceptions with their reasons; an unnecessary entry is an error.

Exits with 1 if something is wrong, with 77 if the compiler or a runtime is not available. $DIAGIPC is the program, if not
target/debug/diagipc."""
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "diagipc/tests/grammar"))
import implementations  # noqa: E402
from compiled import Missing, compiled  # noqa: E402

# The output for these is not run: the compiler checks the types and expressions. (It cannot check values for Nim.)
LANGUAGES = "cpp_stl", "csharp", "go", "java", "lua", "perl", "php", "ruby", "rust"


def main():
    implementations.needed()
    failed = False
    try:
        with tempfile.TemporaryDirectory() as directory:
            complaint = compiled(ROOT / "spec/dotnet_ipc.ksy", directory, *LANGUAGES)
            if complaint:
                sys.exit(complaint)
        print(f"compiled to Python, JavaScript and {len(LANGUAGES)} more")
        for row in implementations.ROWS:
            if row.name.startswith("Kaitai"):
                result = implementations.judged(row)
                print(f"{row.name}: {result.right['read']} read, {result.right['refused']} refused, all others for a listed reason")
                for line in result.wrong:
                    print(f"  {line}")
                failed |= bool(result.wrong)
    except Missing as missing:
        print(missing)
        sys.exit(77)
    sys.exit(failed)


if __name__ == "__main__":
    main()
