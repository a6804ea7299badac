#!/usr/bin/env python3
"""instructions.py [--ratios | --write]

Counts the instructions of each case in `src/bin/instructions.rs`, and prints the table of RESULTS.md. Exits with 1 if a ratio misses its
target, or if a case takes over 3 % more than in baseline.json. Counts depend on the compiler: with another one than the baseline's it also
exits with 1, unless `--ratios` leaves out that comparison. `--write` writes baseline.json and RESULTS.md.
"""
import json
import re
import subprocess
import sys

import programs

BASELINE, RESULTS = programs.HERE / "baseline.json", programs.HERE / "RESULTS.md"
# One saved register changes a case of few instructions.
GROWTH, SLACK = 1.03, 3


def table(found):
    """Returns the table, and the ratios that miss their target."""
    lines, missed = ["| case | ours | zerocopy | ratio, target | binrw | ratio, target |", "|---|--:|--:|--:|--:|--:|"], []
    for case, counts in found.items():
        cells = [case, f"{counts['ours']:,}"]
        for other, target in (("zerocopy", 4 if re.search("providers|ids", case) else 2), ("binrw", 1)):
            ratio = counts["ours"] / counts[other] if other in counts else None
            cells += [f"{counts[other]:,}", f"{ratio:.2f} ≤ {target}"] if ratio else ["", ""]
            if ratio and ratio > target:
                missed.append(f"{case}: {ratio:.2f} times the instructions of {other}; the target is {target}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n", missed


def main():
    found = {}
    for case, contender, instructions in programs.count("instructions"):
        found.setdefault(case, {})[contender] = instructions
    empty = found.pop("nothing")["ours"]
    found = {case: {contender: count - empty for contender, count in counts.items()} for case, counts in found.items()}
    compiler = subprocess.check_output(["rustc", "--version"], text=True).strip()
    text, wrong = table(found)
    print(text)
    if sys.argv[1:] == ["--write"]:
        rows = ",\n".join(f"  {json.dumps(case)}: {json.dumps(counts)}" for case, counts in found.items())
        BASELINE.write_text(f'{{\n "compiler": "{compiler}",\n "instructions": {{\n{rows}\n }}\n}}\n')
        RESULTS.write_text(RESULTS.read_text().partition("| case")[0] + text)
    baseline = json.loads(BASELINE.read_text())
    if sys.argv[1:] == ["--ratios"]:
        print("the counts are not compared with baseline.json")
    elif baseline["compiler"] != compiler:
        wrong.append(f"the counts cannot be compared: baseline.json is of {baseline['compiler']}, this is {compiler}")
    else:
        before = {case: counts["ours"] for case, counts in baseline["instructions"].items()}
        wrong += [f"{case}: {counts['ours']} instructions, {before.get(case)} in baseline.json"
                  for case, counts in found.items() if counts["ours"] > before.get(case, 0) * GROWTH + SLACK]
    sys.exit("\n".join(wrong) or 0)


main()
