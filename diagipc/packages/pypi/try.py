#!/usr/bin/env python3
"""try.py WHEEL [RUNTIME]

Installs a wheel into a fresh virtual environment, without an index, and uses it as a new user would: the tool against a running .NET
process (by default net10.0.9, see diagipc/tests/live/launch.py), and the vectors from Python. Prints one line per check; exits with 1 if one
fails, and with 77 if the runtime is not available, after the other checks.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/packages"))
from used import holds, said

VECTORS = """
import diagipc, json
index = json.loads((diagipc.vectors() / "index.json").read_text())
files = {file["name"]: json.loads((diagipc.vectors() / file["name"]).read_text()) for file in index["files"]}
tests = [test for file in files.values() for group in file["groups"] for test in group["tests"]]
scripts = list((diagipc.vectors() / "exchanges").glob("*.json"))
bytes.fromhex(next(test["wire"] for test in tests if test["wire"]))
print(len(tests), "vectors in", len(files), "files,", len(scripts), "files of scripts")
"""


def by_itself(programs):
    """The checks without a process."""
    version = said("diagipc", "--version")
    holds("diagipc --version", version.startswith("diagipc "), version)
    holds("python -m diagipc --version", said(str(programs / "python"), "-m", "diagipc", "--version") == version)
    vectors = said(str(programs / "python"), "-c", VECTORS)
    holds(f"import diagipc: {vectors.strip()}", int(vectors.split()[0]) > 1000, vectors)
    said("diagipc", "check")
    print("diagipc check: ok", flush=True)


def against_a_process():
    """The usual requests to a process, which launch.py names."""
    pid, version = os.environ["DIAG_PID"], os.environ["DIAG_RUNTIME"].removeprefix("net")
    os.environ["TMPDIR"] = os.environ["DIAG_TMPDIR"]
    listed = said("diagipc", "ps")
    holds("diagipc ps lists it", any(pid in line.split() for line in listed.splitlines()), listed)
    info = said("diagipc", "info", pid)
    holds("diagipc info prints its version", version in info, info)
    variables = said("diagipc", "env", pid)
    holds("diagipc env has its TMPDIR", f"TMPDIR={os.environ['DIAG_TMPDIR']}" in variables, variables)
    with tempfile.TemporaryDirectory() as home:
        file = pathlib.Path(home) / "a.nettrace"
        said("diagipc", "trace", pid, "--duration", "2", "--output", str(file))
        trace = file.read_bytes()
    holds(f"diagipc trace writes nettrace, {len(trace):,} bytes", trace.startswith(b"Nettrace") and len(trace) > 10_000)


def main():
    if sys.argv[1:] == ["--against-a-process"]:
        against_a_process()
        return 0
    wheel, runtime = pathlib.Path(sys.argv[1]).resolve(), (sys.argv[2:] or ["net10.0.9"])[0]
    with tempfile.TemporaryDirectory() as home:
        venv.create(home, with_pip=True)
        programs = pathlib.Path(home) / "bin"
        os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
        said(str(programs / "pip"), "install", "--quiet", "--no-index", str(wheel))
        by_itself(programs)
        again = [sys.executable, __file__, "--against-a-process"]
        return subprocess.run([sys.executable, ROOT / "diagipc/tests/live/launch.py", runtime, "--", *again]).returncode


if __name__ == "__main__":
    sys.exit(main())
