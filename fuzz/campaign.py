#!/usr/bin/env python3
"""Runs every target for a number of executions, and prints a table of the results. From the root of the repository:

    python3 fuzz/campaign.py                                    # 110 million, as in RESULTS.md
    python3 fuzz/campaign.py --sanitizer address --seconds 20   # what the gate does
    python3 fuzz/campaign.py --millions 1 decode_any ports

It builds the targets, writes the seeds and the dictionary, and runs one target per job; slow targets get fewer executions. $DIAGIPC is
the program that writes the seeds, if it is already built. A find ends that target, and the exit status is 1; the input is in
fuzz/artifacts/TARGET/. Corpora stay in fuzz/corpus/, and the next run continues from them. Needs a nightly toolchain, cargo-fuzz, g++ and
cc.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz/corpus"
HOST = re.search(r"host: (\S+)", subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout)[1]
# Shares of a sum over a hundred; other targets have 9.
SHARES = {
    "differential": 2,
    "c_header": 2,
    "roundtrip": 2,
    "server_exchange": 8,
    "client_exchange": 13,
    "endpoint_names": 13,
    "environment": 12,
    "ports": 12,
    "user_events": 12,
}
STATISTIC = re.compile(r"^stat::(\w+):\s+(\d+)$", re.M)
COVERAGE = re.compile(r"^#\d+\s.*\bcov: (\d+)", re.M)


def run(target, limit, seed, program):
    """Executions, per second, peak memory in MiB, edges reached; the end of its output, if it found something."""
    (ROOT / "fuzz/artifacts" / target).mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile("w+") as said:
        code = subprocess.run(
            [
                program,
                CORPUS / target,
                f"-dict={CORPUS / 'dictionary.txt'}",
                f"-artifact_prefix={ROOT / 'fuzz/artifacts' / target}/",
                limit,
                f"-seed={seed}",
                "-timeout=10",
                "-print_final_stats=1",
            ],
            env={**os.environ, "TMPDIR": scratch},
            stdout=said,
            stderr=said,
        ).returncode
        said.seek(0)
        text = said.read()
    if code != 0:
        return None, "\n".join(line for line in text.splitlines()[-80:] if not line.startswith(("#", '"')))
    statistics = {name: int(value) for name, value in STATISTIC.findall(text)}
    reached = [int(count) for count in COVERAGE.findall(text)]
    executions = statistics["number_of_executed_units"]
    return (
        executions,
        round(executions / (time.monotonic() - began)),
        statistics["peak_rss_mb"],
        max(reached, default=0),
    ), None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all, if none is named")
    parser.add_argument("--millions", type=float, default=110, help="of executions, of all targets (default: %(default)s)")
    parser.add_argument("--seconds", type=int, help="of each target, instead of a number of executions")
    parser.add_argument("--seed", type=int, default=1, help="of libFuzzer (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="targets in parallel (default: %(default)s)")
    parser.add_argument(
        "--sanitizer",
        choices=["none", "address"],
        default="none",
        help="none is ten to thirty times as fast; assertions and overflow checks are on in both (default: %(default)s)",
    )
    arguments = parser.parse_args()

    # $DIAGIPC is one that is already built.
    program = [os.environ["DIAGIPC"]] if "DIAGIPC" in os.environ else ["cargo", "run", "--quiet", "--features", "cli", "--"]
    subprocess.run(
        [*program, "vectors", "corpus", CORPUS],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    options = ["--sanitizer", arguments.sanitizer, "-Z", "profile-hint-mostly-unused"]
    subprocess.run(["cargo", "+nightly", "fuzz", "build", *options], cwd=ROOT, check=True)
    listed = subprocess.run(["cargo", "+nightly", "fuzz", "list"], cwd=ROOT, check=True, capture_output=True, text=True)
    have = listed.stdout.split()
    targets = arguments.targets or have
    if unknown := set(targets) - set(have):
        parser.error(f"unknown target {', '.join(sorted(unknown))}")
    built = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "fuzz/target") / HOST / "release"

    parts = sum(SHARES.get(target, 9) for target in targets)
    lock, finds, total = threading.Lock(), [], 0
    print("| target | executions | per second | edges | peak MiB |\n|---|---|---|---|---|", flush=True)

    def one(target):
        nonlocal total
        runs = int(arguments.millions * 1e6 * SHARES.get(target, 9) / parts)
        limit = f"-max_total_time={arguments.seconds}" if arguments.seconds else f"-runs={runs}"
        figures, said = run(target, limit, arguments.seed, built / target)
        with lock:
            if figures is None:
                finds.append((target, said))
                print(f"| `{target}` | a find | | | |", flush=True)
            else:
                executions, a_second, peak, edges = figures
                total += executions
                print(f"| `{target}` | {executions:,} | {a_second:,} | {edges:,} | {peak:,} |", flush=True)

    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(one, targets))
    print(f"| all | {total:,} | | | |")
    for target, said in finds:
        print(f"\n{target}:\n{said}", file=sys.stderr)
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
