#!/usr/bin/env python3
"""Runs every target for a time, and prints a table of what each has behind it. From the root of the repository:

    python3 fuzz/campaign.py                                    # until each target has an hour of CPU time, over all runs
    python3 fuzz/campaign.py --sanitizer address --seconds 20   # each target once, as `.ci/nightly fuzz` does for a minute
    python3 fuzz/campaign.py --cpu-hours 0.1 decode_any ports

It builds the targets that it runs, as cargo-fuzz does, and writes the seeds and the dictionary. $DIAGIPC is the program that writes the
seeds, if it is already built.
The targets take turns, the one with the least CPU time first; a turn is --slice seconds. Interrupt it at any time: corpora stay in
fuzz/corpus/, fuzz/corpus/campaign.json has the figures of the turns that ended, and the next run continues from both. A find ends
that target's turns in this run, and the exit status is 1; the input is in fuzz/artifacts/TARGET/. Needs a nightly toolchain, g++ and cc;
for against_dotnet also $DOTNET_WASM.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz/corpus"
STATE = CORPUS / "campaign.json"
# Those of cargo-fuzz 0.13.
FLAGS = [
    "-Cpasses=sancov-module",
    *(
        f"-Cllvm-args=-sanitizer-coverage-{what}"
        for what in ("level=4", "inline-8bit-counters", "pc-table", "trace-compares", "stack-depth")
    ),
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    "-Cdebug-assertions",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
]
STATISTIC = re.compile(r"^stat::(\w+):\s+(\d+)$", re.M)
COVERAGE = re.compile(r"^#\d+\s.*\bcov: (\d+)", re.M)
RUNNING = set()
NOTHING = {"turns": 0, "cpu_seconds": 0.0, "executions": 0, "edges": 0, "peak_mib": 0}


def turn(target, program, seconds, seed):
    """What one run of the program reached; the end of its output, if it found something."""
    artifacts = ROOT / "fuzz/artifacts" / target
    artifacts.mkdir(parents=True, exist_ok=True)
    (CORPUS / target).mkdir(exist_ok=True)
    # Only libFuzzer reads the second: what it writes is in the first.
    seeds = [CORPUS / "decode_any"] if target == "against_dotnet" else []
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [
                program,
                CORPUS / target,
                *seeds,
                f"-dict={CORPUS / 'dictionary.txt'}",
                f"-artifact_prefix={artifacts}/",
                f"-max_total_time={seconds}",
                f"-seed={seed}",
                # This counts wall-clock time, and a busy machine stops a process for seconds. Slow inputs are the subject of tests/perf/worst_case.py.
                "-timeout=60",
                "-print_final_stats=1",
            ],
            env={**os.environ, "TMPDIR": scratch},
            stdout=said,
            stderr=said,
        )
        RUNNING.add(process)
        _, status, used = os.wait4(process.pid, 0)
        RUNNING.discard(process)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if process.returncode != 0:
        return None, "\n".join(line for line in text.splitlines()[-80:] if not line.startswith(("#", '"')))
    statistics = {name: int(value) for name, value in STATISTIC.findall(text)}
    return {
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "executions": statistics["number_of_executed_units"],
        "edges": max((int(count) for count in COVERAGE.findall(text)), default=0),
        "peak_mib": statistics["peak_rss_mb"],
    }, None


class Figures:
    """What each target has behind it with one sanitizer: a part of campaign.json."""

    def __init__(self, sanitizer, targets):
        self.all = json.loads(STATE.read_text()) if STATE.exists() else {}
        self.of = self.all.setdefault(sanitizer, {})
        for target in targets:
            self.of.setdefault(target, dict(NOTHING))

    def add(self, target, reached):
        mine = self.of[target]
        mine["turns"] += 1
        mine["cpu_seconds"] = round(mine["cpu_seconds"] + reached["cpu_seconds"], 1)
        mine["executions"] += reached["executions"]
        # Each turn reads the whole corpus first: the last one's edges are those of all.
        mine["edges"] = reached["edges"]
        mine["peak_mib"] = max(mine["peak_mib"], reached["peak_mib"])
        new = STATE.with_suffix(".new")
        new.write_text(json.dumps(self.all, indent=1) + "\n")
        new.replace(STATE)

    def table(self, targets):
        print("| target | CPU time | executions | per CPU second | edges | peak MiB |\n|---|---|---|---|---|---|")
        for name in sorted(targets):
            of = self.of[name]
            row(f"`{name}`", of, f"{of['edges']:,} | {of['peak_mib']:,}")
        row("all", {key: sum(self.of[name][key] for name in targets) for key in ("cpu_seconds", "executions")}, " | ")


def row(name, of, more):
    minutes, seconds = divmod(round(of["cpu_seconds"]), 60)
    a_second = round(of["executions"] / max(of["cpu_seconds"], 1))
    print(f"| {name} | {minutes} min {seconds:02} s | {of['executions']:,} | {a_second:,} | {more} |", flush=True)


def listed(sanitizer):
    """The names of all targets. The interpreter of against_dotnet needs tail calls, which the sanitizer prevents."""
    targets = [target["name"] for target in tomllib.loads((ROOT / "fuzz/Cargo.toml").read_text())["bin"]]
    if sanitizer == "address":
        targets.remove("against_dotnet")
    elif "DOTNET_WASM" not in os.environ:
        targets.remove("against_dotnet")
        print("SKIPPED: against_dotnet: DOTNET_WASM is not set", file=sys.stderr)
    return targets


def prepare(sanitizer, targets):
    """Where the programs are."""
    # $DIAGIPC is one that is already built.
    program = [os.environ["DIAGIPC"]] if "DIAGIPC" in os.environ else ["cargo", "run", "--quiet", "-p", "diagipc", "--"]
    run(*program, "dev", "corpus", CORPUS, stdout=subprocess.DEVNULL)
    host = re.search(r"host: (\S+)", run("rustc", "-vV", stdout=subprocess.PIPE).stdout)[1]
    # With `--target` the flags are not for build scripts.
    built = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "fuzz/target")
    options = ["--features", "against-dotnet"] if "against_dotnet" in targets else []
    run(
        *("cargo", "+nightly", "build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", host, "--target-dir", built),
        *("-Z", "profile-hint-mostly-unused", *options, *(word for name in targets for word in ("--bin", name))),
        RUSTFLAGS=" ".join(FLAGS + ["-Zsanitizer=address"] * (sanitizer == "address")),
    )
    return built / host / "release"


def run(*command, stdout=None, **more):
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **more}, check=True, stdout=stdout, text=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all, if none is named")
    parser.add_argument("--cpu-hours", type=float, default=1.0, help="of each target, over all runs (default: %(default)s)")
    parser.add_argument("--slice", type=int, default=120, help="seconds of a turn (default: %(default)s)")
    parser.add_argument("--seconds", type=int, help="one turn of these seconds for each target, whatever it has behind it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="targets in parallel (default: %(default)s)")
    parser.add_argument(
        "--sanitizer",
        choices=["none", "address"],
        default="none",
        help="none is ten to thirty times as fast; assertions and overflow checks are on in both (default: %(default)s)",
    )
    arguments = parser.parse_args()
    have = listed(arguments.sanitizer)
    if unknown := set(arguments.targets) - set(have):
        parser.error(f"unknown target {', '.join(sorted(unknown))}")
    targets = arguments.targets or have
    built = prepare(arguments.sanitizer, targets)
    figures, finds, lock, stopped = Figures(arguments.sanitizer, targets), [], threading.Lock(), threading.Event()
    # Those that have turns left, and are not having one.
    waiting = set(targets)

    def next_target():
        with lock:
            if not arguments.seconds:
                waiting.difference_update([it for it in waiting if figures.of[it]["cpu_seconds"] >= 3600 * arguments.cpu_hours])
            target = min(sorted(waiting), key=lambda it: figures.of[it]["cpu_seconds"], default=None)
            waiting.discard(target)
            return target

    def work():
        while target := next_target():
            # Another seed than the turns before: the same one would try the same again.
            seed = figures.of[target]["turns"] + 1
            reached, said = turn(target, built / target, arguments.seconds or arguments.slice, seed)
            with lock:
                if stopped.is_set():
                    return
                if reached is None:
                    finds.append((target, said))
                    print(f"{time.strftime('%H:%M:%S')} {target}: a find", file=sys.stderr, flush=True)
                    continue
                figures.add(target, reached)
                if not arguments.seconds:
                    waiting.add(target)

    # A shell's job in the background ignores the first.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    workers = [threading.Thread(target=work, daemon=True) for _ in range(arguments.jobs)]
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    except KeyboardInterrupt:
        print("interrupted: the turns that ran are not counted", file=sys.stderr)
        stopped.set()
        with lock:
            for process in RUNNING:
                process.kill()
            figures.table(targets)
            return 130
    figures.table(targets)
    for target, said in finds:
        print(f"\n{target}:\n{said}", file=sys.stderr)
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
