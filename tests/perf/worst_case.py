#!/usr/bin/env python3
"""worst_case.py

Measures the slowest payloads: the instructions per byte to decode payloads as long as a message can hold, and to compare all their
contents, unit by unit. Exits with 1 if either is over its limit, or if it cannot be measured.
"""
import sys

import programs

# Instructions per byte.
LIMITS = {"decode": 10, "compare": 60}


def main():
    rows, worst = programs.count("worst_case"), dict.fromkeys(LIMITS, 0)
    print("| payload | bytes | step | instructions per byte |\n|---|--:|---|--:|")
    for payload, step, length, instructions in rows:
        each = instructions / int(length)
        worst[step] = max(worst[step], each)
        print(f"| {payload} | {int(length):,} | {step} | {each:.2f} |")
    for step, limit in LIMITS.items():
        print(f"{step}: at most {worst[step]:.2f} instructions per byte; the limit is {limit}")
    sys.exit(any(worst[step] > limit for step, limit in LIMITS.items()))


main()
