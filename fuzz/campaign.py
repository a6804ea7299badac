#!/usr/bin/env python3
"""campaign.py [--seconds N] [--until CPU_SECONDS] [--from-nothing] [--sanitizer none|address] [--pack] [--table] [TARGET ...]

Builds the targets as cargo-fuzz does, runs each for N seconds (default: 60), one on each core, and prints a table. From the root of the
repository:

    python3 fuzz/campaign.py --sanitizer address decode_any
    nice python3 fuzz/campaign.py --sanitizer address --seconds 600 --until 3600 --pack     # until each target has an hour
    python3 fuzz/campaign.py --table                                                        # what was run so far

--until         repeats the runs until each target has so much CPU time in fuzz/totals.json, which every run of it adds to. A campaign
                that was stopped goes on from there, with the corpora of fuzz/merged/ and fuzz/corpus/
--from-nothing  begins each run with an empty corpus, and only the dictionary
--pack          merges each corpus, so that every input reaches something new, into fuzz/merged/TARGET.tar.xz

Without a sanitizer it is ten to thirty times as fast; assertions and overflow checks are on in both. The corpus of a run is in
fuzz/corpus/. A find is written to fuzz/artifacts/TARGET/, and the exit status is then 1. It needs a nightly toolchain, g++ and cc; for
against_dotnet also $DOTNET_WASM. $DIAGIPC is the program that writes the seeds, if it is already built.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import threading
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz/corpus"
MERGED = ROOT / "fuzz/merged"
TOTALS = ROOT / "fuzz/totals.json"
WRITING = threading.Lock()
# The status of libFuzzer after SIGTERM.
INTERRUPTED = 72
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


def unpack(target):
    """Adds the corpus of earlier campaigns."""
    (CORPUS / target).mkdir(exist_ok=True)
    if (MERGED / f"{target}.tar.xz").exists():
        with tarfile.open(MERGED / f"{target}.tar.xz") as archive:
            archive.extractall(CORPUS / target, filter="data")


def pack(target, program):
    """Writes the inputs of the corpus that reach something new to one archive, which is the same for the same inputs."""
    with tempfile.TemporaryDirectory() as scratch:
        merged = Path(scratch, "merged")
        merged.mkdir()
        subprocess.run([program, "-merge=1", "-timeout=60", merged, CORPUS / target], env={**os.environ, "TMPDIR": scratch}, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        MERGED.mkdir(exist_ok=True)
        with tarfile.open(MERGED / f"{target}.tar.xz", "w:xz") as archive:
            for path in sorted(merged.iterdir()):
                entry = tarfile.TarInfo(path.name)
                entry.size = path.stat().st_size
                with open(path, "rb") as file:
                    archive.addfile(entry, file)


def totals():
    return json.loads(TOTALS.read_text()) if TOTALS.exists() else {}


def kind_of(arguments):
    """Returns the name under which the runs of this kind are added up."""
    return arguments.sanitizer + ("-from-nothing" if arguments.from_nothing else "")


def add(target, kind, cpu, executions, edges, is_find):
    """Adds a run to the totals of its target."""
    with WRITING:
        known = totals()
        total = known.setdefault(target, {}).setdefault(kind, {"cpu_seconds": 0, "executions": 0, "edges": 0, "finds": 0})
        total["cpu_seconds"] += round(cpu)
        total["executions"] += executions
        total["edges"] = max(total["edges"], edges)
        total["finds"] += is_find
        TOTALS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def fuzz(target, program, arguments):
    """Runs a target until it has its time or finds something. Returns the end of the output of a find, or None."""
    artifacts, kind = ROOT / "fuzz/artifacts" / target, kind_of(arguments)
    artifacts.mkdir(parents=True, exist_ok=True)
    cpu_so_far = totals().get(target, {}).get(kind, {}).get("cpu_seconds", 0)
    is_first = True
    while is_first if arguments.until is None else cpu_so_far < arguments.until:
        is_first = False
        cpu, found = run_of(target, program, artifacts, arguments)
        cpu_so_far += max(cpu, 1)
        if found:
            return found
    return None


def run_of(target, program, artifacts, arguments):
    """Returns the CPU time of one run, and the end of its output if it found something. Prints its row."""
    with tempfile.TemporaryDirectory() as scratch:
        corpus = Path(scratch, "corpus") if arguments.from_nothing else CORPUS / target
        corpus.mkdir(exist_ok=True)
        # Only libFuzzer reads the second: what it writes is in the first.
        seeds = [CORPUS / "decode_any"] if target == "against_dotnet" and not arguments.from_nothing else []
        # The timeout counts wall-clock time, and a busy machine stops a process for seconds: tests/perf/worst_case.py measures slow inputs.
        command = [program, corpus, *seeds, f"-dict={CORPUS / 'dictionary.txt'}", f"-artifact_prefix={artifacts}/",
                   f"-max_total_time={arguments.seconds}", "-timeout=60", "-print_final_stats=1"]
        with subprocess.Popen(command, env={**os.environ, "TMPDIR": scratch}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace") as process:
            said = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    statistics = {name: int(value) for name, value in re.findall(r"^stat::(\w+):\s+(\d+)$", said, re.M)}
    edges = max((int(count) for count in re.findall(r"^#\d+\s.*\bcov: (\d+)", said, re.M)), default=0)
    executions, cpu = statistics.get("number_of_executed_units", 0), used.ru_utime + used.ru_stime
    if arguments.until is not None:
        add(target, kind_of(arguments), cpu, executions, edges, process.returncode not in (0, INTERRUPTED))
    if process.returncode == INTERRUPTED:
        sys.exit(f"{target} was interrupted")
    if process.returncode:
        print(f"| `{target}` | a find |", flush=True)
        return cpu, "\n".join(line for line in said.splitlines()[-80:] if not line.startswith(("#", '"')))
    print(f"| `{target}` | {executions:,} | {round(executions / max(cpu, 1)):,} | {edges:,} | {statistics['peak_rss_mb']:,} |", flush=True)
    return cpu, None


def table():
    """Returns the totals as a table."""
    rows = ["| target | runs | CPU time | executions | edges | finds |", "|---|---|--:|--:|--:|--:|"]
    for target, kinds in totals().items():
        for kind, total in kinds.items():
            minutes, seconds = divmod(total["cpu_seconds"], 60)
            rows.append(f"| `{target}` | {kind} | {minutes} min {seconds} s | {total['executions']:,} | {total['edges']:,} | {total['finds']} |")
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all, if none is named")
    parser.add_argument("--seconds", type=int, default=60, help="of each run (default: %(default)s)")
    parser.add_argument("--until", type=int, metavar="CPU_SECONDS", help="how much CPU time each target shall have in all")
    parser.add_argument("--from-nothing", action="store_true", help="with an empty corpus")
    parser.add_argument("--sanitizer", choices=["none", "address"], default="none")
    parser.add_argument("--pack", action="store_true", help="keep the merged corpus in fuzz/merged/")
    parser.add_argument("--table", action="store_true", help="only print the totals")
    arguments = parser.parse_args()
    if arguments.table:
        print(table())
        return 0
    have = listed(arguments.sanitizer)
    if unknown := set(arguments.targets) - set(have):
        parser.error(f"unknown target {', '.join(sorted(unknown))}")
    targets = arguments.targets or have
    built, finds = prepare(arguments.sanitizer, targets), []
    for target in targets:
        unpack(target)
    print("| target | executions | per CPU second | edges | peak MiB |\n|---|---|---|---|---|", flush=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        for found in workers.map(lambda target: fuzz(target, built / target, arguments), targets):
            finds += [found] if found else []
    if arguments.pack:
        for target in targets:
            pack(target, built / target)
    print("\n\n".join(finds), file=sys.stderr)
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
