#!/usr/bin/env python3
"""campaign.py [--seconds N] [--sanitizer none|address] [TARGET ...]

Builds the targets as cargo-fuzz does, runs each for N seconds (default: 60), one on each core, and prints a table. From the root of the
repository:

    python3 fuzz/campaign.py --seconds 3600                     # an hour of each target
    python3 fuzz/campaign.py --sanitizer address decode_any

Without a sanitizer it is ten to thirty times as fast; assertions and overflow checks are on in both. Corpora stay in fuzz/corpus/, so the
next run continues from them. A find is written to fuzz/artifacts/TARGET/, and the exit status is then 1. It needs a nightly toolchain, g++
and cc; for against_dotnet also $DOTNET_WASM. $DIAGIPC is the program that writes the seeds, if it is already built.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz/corpus"
# Those of cargo-fuzz 0.13.
FLAGS = ["-Cpasses=sancov-module",
         *(f"-Cllvm-args=-sanitizer-coverage-{what}" for what in ("level=4", "inline-8bit-counters", "pc-table", "trace-compares", "stack-depth")),
         "-Cllvm-args=-simplifycfg-branch-fold-threshold=0", "-Cdebug-assertions", "-Ccodegen-units=1", "--cfg=fuzzing"]


def listed(sanitizer):
    """The names of all targets. The interpreter of against_dotnet needs tail calls, which the sanitizer prevents."""
    targets = [target["name"] for target in tomllib.loads((ROOT / "fuzz/Cargo.toml").read_text())["bin"]]
    if sanitizer == "address" or "DOTNET_WASM" not in os.environ:
        targets.remove("against_dotnet")
        print("left out: against_dotnet needs DOTNET_WASM, and no sanitizer", file=sys.stderr)
    return targets


def prepare(sanitizer, targets):
    """Where the programs are."""
    program = [os.environ["DIAGIPC"]] if "DIAGIPC" in os.environ else ["cargo", "run", "--quiet", "-p", "diagipc", "--"]
    run(*program, "dev", "corpus", CORPUS, stdout=subprocess.DEVNULL)
    host = re.search(r"host: (\S+)", run("rustc", "-vV", stdout=subprocess.PIPE).stdout)[1]
    # With `--target` the flags are not for build scripts.
    built = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "fuzz/target")
    options = ["--features", "against-dotnet"] if "against_dotnet" in targets else []
    run("cargo", "+nightly", "build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", host, "--target-dir", built,
        "-Z", "profile-hint-mostly-unused", *options, *(word for name in targets for word in ("--bin", name)),
        RUSTFLAGS=" ".join(FLAGS + ["-Zsanitizer=address"] * (sanitizer == "address")))
    return built / host / "release"


def run(*command, stdout=None, **more):
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **more}, check=True, stdout=stdout, text=True)


def fuzz(target, program, seconds):
    """The row of a target; and the end of its output, if it found something."""
    artifacts = ROOT / "fuzz/artifacts" / target
    artifacts.mkdir(parents=True, exist_ok=True)
    (CORPUS / target).mkdir(exist_ok=True)
    # Only libFuzzer reads the second: what it writes is in the first.
    seeds = [CORPUS / "decode_any"] if target == "against_dotnet" else []
    with tempfile.TemporaryDirectory() as scratch:
        # The timeout counts wall-clock time, and a busy machine stops a process for seconds: tests/perf/worst_case.py measures slow inputs.
        done = subprocess.run([program, CORPUS / target, *seeds, f"-dict={CORPUS / 'dictionary.txt'}", f"-artifact_prefix={artifacts}/",
                               f"-max_total_time={seconds}", "-timeout=60", "-print_final_stats=1"],
                              env={**os.environ, "TMPDIR": scratch}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    said = done.stdout
    if done.returncode:
        return f"| `{target}` | a find |", "\n".join(line for line in said.splitlines()[-80:] if not line.startswith(("#", '"')))
    statistics = {name: int(value) for name, value in re.findall(r"^stat::(\w+):\s+(\d+)$", said, re.M)}
    edges = max((int(count) for count in re.findall(r"^#\d+\s.*\bcov: (\d+)", said, re.M)), default=0)
    executions, peak = statistics["number_of_executed_units"], statistics["peak_rss_mb"]
    return f"| `{target}` | {executions:,} | {executions // max(seconds, 1):,} | {edges:,} | {peak:,} |", None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all, if none is named")
    parser.add_argument("--seconds", type=int, default=60, help="of each target (default: %(default)s)")
    parser.add_argument("--sanitizer", choices=["none", "address"], default="none")
    arguments = parser.parse_args()
    have = listed(arguments.sanitizer)
    if unknown := set(arguments.targets) - set(have):
        parser.error(f"unknown target {', '.join(sorted(unknown))}")
    targets = arguments.targets or have
    built, finds = prepare(arguments.sanitizer, targets), []
    print("| target | executions | per second | edges | peak MiB |\n|---|---|---|---|---|", flush=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        for row, found in workers.map(lambda target: fuzz(target, built / target, arguments.seconds), targets):
            print(row, flush=True)
            finds += [found] if found else []
    print("\n\n".join(finds), file=sys.stderr)
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
