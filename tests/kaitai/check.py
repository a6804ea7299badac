#!/usr/bin/env python3
"""spec/dotnet_ipc.ksy, compiled to Python and JavaScript, reads every vector of a message to the fields that it has, and refuses what is
malformed. What it cannot is listed with its reason in tests/grammar/implementations.py; an entry that is not needed is an error.

Exits with 1 if something is wrong, with 77 if the compiler or a runtime cannot be had. $DIAGIPC is the program, if not target/debug/diagipc."""
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/grammar"))
import implementations  # noqa: E402
from compiled import Missing, compiled  # noqa: E402

# Nothing runs what is made for these: the compiler takes the types and expressions. (It cannot check values for Nim.)
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
                print(f"{row.name}: {result.right['read']} read, {result.right['refused']} refused, all others for a reason that is listed")
                for line in result.wrong:
                    print(f"  {line}")
                failed |= bool(result.wrong)
    except Missing as missing:
        print(missing)
        sys.exit(77)
    sys.exit(failed)


if __name__ == "__main__":
    main()
