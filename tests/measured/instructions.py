#!/usr/bin/env python3
"""instructions.py [--results | PART OF A NAME...]

Counts the instructions (callgrind) of each case in src/cases/.

without arguments   the gate's check: no case takes over 3 % more than in baseline.json, none grows faster than its input,
                    benches/RESULTS.md is what baseline.json makes it, and benches/NOTES.md names each case that misses its
                    target or is behind a peer, with no figure of another run
--results           also builds the peers, times everything, and writes baseline.json and from it benches/RESULTS.md
PART...             prints the cases whose names have one of these parts

Exits with 1 if something is too slow, and with 77 if it cannot be measured: without valgrind, not on x86-64, or with another compiler
than the baseline's.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BASELINE = os.path.join(HERE, "baseline.json")
# Allowed excess over the baseline, and over a straight line.
GROWTH, BEND = 1.03, 1.1
# One saved register changes a case of few instructions.
SLACK = 3


def program(features="alloc"):
    environment = {**os.environ}
    target = environment.setdefault("CARGO_TARGET_DIR", os.path.join(HERE, "target"))
    subprocess.run(["cargo", "build", "--quiet", "--release", "--bin", "instructions", "--features", features], cwd=HERE, env=environment, check=True)
    return os.path.join(target, "release", "instructions")


def count(program, *parts):
    """By case and contender: the size and the instructions."""
    with tempfile.TemporaryDirectory() as scratch:
        counts = os.path.join(scratch, "counts")
        command = ["valgrind", "--tool=callgrind", "--combine-dumps=no", f"--callgrind-out-file={counts}", program, *parts]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = {}
        # One dump per request, numbered in order.
        dumps = sorted((name for name in os.listdir(scratch) if name != "counts"), key=lambda name: int(name.rpartition(".")[2]))
        for name in dumps:
            with open(os.path.join(scratch, name)) as file:
                text = file.read()
            trigger = re.search(r"^desc: Trigger: Client Request: (.*)\t(\d+)\t(.*)$", text, re.M)
            if trigger:
                case, size, contender = trigger.groups()
                total = int(re.search(r"^(?:totals|summary): (\d+)", text, re.M)[1])
                found.setdefault(case, {"size": int(size)})[contender] = total
    nothing = found.pop("nothing")["ours"]
    for case in found.values():
        for contender in case:
            if contender != "size":
                case[contender] = max(case[contender] - nothing, 1)
    return found


def compiler():
    return subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def bends(found):
    """The cases that cost over BEND times twice as much at twice the size."""
    for name, case in found.items():
        half = re.fullmatch(r"(linear .* x)([248])", name)
        before = half and found.get(f"{half[1]}{int(half[2]) // 2}")
        if before:
            ratio = case["ours"] / before["ours"] / (case["size"] / before["size"])
            if ratio > BEND:
                yield f"{name}: {ratio:.2f} times as much per item as at half the size"


def check(found):
    import results

    with open(BASELINE) as file:
        baseline = json.load(file)
    if baseline["compiler"] != compiler():
        print(f"the baseline is of {baseline['compiler']}: {os.path.relpath(__file__)} --results")
        return 77
    before, now = ({name: case["ours"] for name, case in cases.items()} for cases in (baseline["instructions"], found))
    wrong = [f"{name}: {now[name]} instructions, {before.get(name, 'none')} before" for name in now if now[name] > before.get(name, 0) * GROWTH + SLACK]
    wrong += [f"{name} is no longer measured" for name in before if name not in now]
    wrong += bends(found)
    wrong += results.stale(baseline)
    better = sum(now[name] * GROWTH + SLACK < before.get(name, 0) for name in now)
    for line in wrong:
        print(line)
    print(json.dumps({"cases": len(now), "worse": len(wrong), "over 3 % better": better}))
    return 1 if wrong else 0


def show(found):
    for name, case in found.items():
        ours, others = case["ours"], {key: case[key] for key in case if key not in ("size", "ours")}
        ratios = "  ".join(f"{key} {value} ({ours / value:.2f})" for key, value in others.items())
        print(f"{name:48} {ours:9}  {ours / max(case['size'], 1):8.2f}/{case['size']:<7} {ratios}")


def main():
    arguments = sys.argv[1:]
    if not shutil.which("valgrind") or platform.machine() != "x86_64":
        print("there is no valgrind, or this is not x86-64")
        return 77
    if arguments == ["--results"]:
        import results

        return results.write()
    found = count(program(), *arguments)
    if arguments:
        return show(found)
    return check(found)


if __name__ == "__main__":
    sys.exit(main())
