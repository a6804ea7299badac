#!/usr/bin/env python3
"""evidence.py REPORT ...

Writes the outcomes in a report of `diagipc server --json` to diagipc/evidence/NAME.json, one line per case. NAME is the report's target, as
`--name` gives it. A report of some cases (`--only`) keeps those of the others. diagipc/evidence/README.md explains the outcomes.
"""
import json
import os
import sys

HOME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../evidence")


def path_of(name):
    return os.path.join(HOME, name + ".json")


def kept(name):
    """The present outcomes, by case."""
    if not os.path.exists(path_of(name)):
        return {}
    with open(path_of(name), encoding="utf-8") as file:
        return json.load(file)["outcomes"]


def keep(report, is_whole, system="Linux x64"):
    """Writes the outcomes of a report. `is_whole`: it has all cases; other outcomes are removed."""
    name = report["target"]
    there = {} if is_whole else kept(name)
    there |= {case["name"]: case["outcome"] for case in report["cases"] if "outcome" in case}
    evidence = {"build": name, "system": system, "outcomes": dict(sorted(there.items(), key=in_order))}
    os.makedirs(HOME, exist_ok=True)
    with open(path_of(name), "w", encoding="utf-8") as file:
        json.dump(evidence, file, indent=1)
        file.write("\n")


def in_order(item):
    """Scripts by file and name, requests by file and number."""
    *section, last = item[0].split("/")
    return section, int(last) if last.isdecimal() else 0, last


def main():
    for path in sys.argv[1:] or sys.exit(__doc__):
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        keep(report, is_whole=not any(word == "--only" for word in report["made"]["command"]))


if __name__ == "__main__":
    main()
