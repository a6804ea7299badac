#!/usr/bin/env python3
"""worst_case.py

Measures the slowest payloads: the instructions per byte to decode payloads as long as a message can hold, and to compare all their
contents, unit by unit; and the instructions per runtime to hold and take 1,000 and 10,000 runtimes at a port, which a linear search would
multiply by ten. Exits with 1 if any is over its limit, or if it cannot be measured.
"""
import sys

import programs

# Instructions per byte, or per runtime.
LIMITS = {"decode": 10, "compare": 60, "flood": 2500}


def main():
    rows, worst = programs.count("worst_case", "alloc"), dict.fromkeys(LIMITS, 0)
    print("| payload | bytes or runtimes | step | instructions for each |\n|---|--:|---|--:|")
    for payload, step, length, instructions in rows:
        each = instructions / int(length)
        worst[step] = max(worst[step], each)
        print(f"| {payload} | {int(length):,} | {step} | {each:.2f} |")
    for step, limit in LIMITS.items():
        print(f"{step}: at most {worst[step]:.2f} instructions for each; the limit is {limit}")
    sys.exit(any(worst[step] > limit for step, limit in LIMITS.items()))


main()
