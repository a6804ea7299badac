"""Builds the programs of this folder, and counts their instructions."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def require(tool):
    if not shutil.which(tool):
        sys.exit(f"{tool} is not installed, so nothing was checked")


def build(name, profile="release", features=""):
    """Builds a program, and returns its path."""
    target = os.environ.get("CARGO_TARGET_DIR", HERE / "target")
    command = ["cargo", "build", "--quiet", "--locked", "--profile", profile, "--target-dir", target, "--bin", name, "--features", features]
    subprocess.run(command, cwd=HERE, check=True)
    return pathlib.Path(target) / profile / name


def count(name, features=""):
    """Returns, for each call of `measured` in a program, the fields that the program printed and the instructions of the call."""
    require("valgrind")
    program = build(name, features=features)
    with tempfile.TemporaryDirectory() as scratch:
        options = ["--collect-atstart=no", "--toggle-collect=measured", "--dump-after=measured", f"--callgrind-out-file={scratch}/counts"]
        lines = subprocess.run(["valgrind", "--tool=callgrind", *options, program], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.splitlines()
        dumps = sorted(pathlib.Path(scratch).glob("counts.*"), key=lambda dump: int(dump.suffix[1:]))
        counts = [int(re.search(r"^(?:totals|summary): (\d+)", dump.read_text(), re.M)[1]) for dump in dumps]
    if not counts or len(counts) != len(lines) or min(counts) == 0:
        sys.exit(f"callgrind counted {len(counts)} calls, the program printed {len(lines)} lines")
    return [(*line.split("\t"), instructions) for line, instructions in zip(lines, counts)]
