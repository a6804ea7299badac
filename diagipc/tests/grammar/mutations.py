#!/usr/bin/env python3
"""Checks that changes of the grammar are detected: with a field swapped, or a type, a count, a condition or a limit changed, the
regenerated implementations handle the vectors differently. At least two must detect each change; prints how many questions each answers
differently.

Exits with 77 if something is not available. $DIAGIPC is the program, if not target/debug/diagipc."""
import copy
import json
import pathlib
import sys
import tempfile

import implementations

# The implementations that follow a changed grammar.
MADE = "C header", "Python interpreter"
ONLY = "request", "reply", "error"


def named(rows, name):
    return next(row for row in rows if row["name"] == name)


def field_swapped(grammar):
    """provider_config: keywords after logLevel"""
    fields = named(grammar["structs"], "provider_config")["fields"]
    fields[0], fields[1] = fields[1], fields[0]


def type_changed(grammar):
    """AttachProfiler: attachTimeout is a ulong"""
    named(named(grammar["commands"], "Profiler/AttachProfiler")["fields"], "attachTimeout")["type"] = "ulong"


def count_changed(grammar):
    """provider_config: at least 21 bytes, with which a count is compared with the remaining bytes"""
    named(grammar["structs"], "provider_config")["least"] += 1


def condition_dropped(grammar):
    """CollectTracing6: sessionBufferMode in every session"""
    del named(named(grammar["commands"], "EventPipe/CollectTracing6")["fields"], "sessionBufferMode")["when"]


def limit_changed(grammar):
    """logLevel: up to 6, wherever it is"""
    levels = [field for of in grammar["structs"] for field in of["fields"] if field["name"] == "logLevel" and "limits" in field]
    for field in levels:
        named_limit = next(limit for limit in field["limits"] if limit["fault"] == "log_level_out_of_range")
        named_limit["ranges"] = [[0, 6]]


MUTATIONS = field_swapped, type_changed, count_changed, condition_dropped, limit_changed


def grades(row, grammar):
    return {case["name"]: case["grade"] for case in implementations.report(row, grammar, ONLY)["cases"]}


def main():
    rows = [row for row in implementations.ROWS if row.name in MADE]
    assert len(rows) == len(MADE)
    real = json.loads((implementations.ROOT / "spec/grammar.json").read_text())
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "grammar.json"
        # Made like the others: from a file.
        path.write_text(json.dumps(real))
        before = {row.name: grades(row, path) for row in rows}
        for mutation in MUTATIONS:
            changed = copy.deepcopy(real)
            mutation(changed)
            path.write_text(json.dumps(changed))
            noticed = {}
            for row in rows:
                try:
                    after = grades(row, path)
                    noticed[row.name] = sum(after[name] != grade for name, grade in before[row.name].items())
                except implementations.Unprintable as complaint:
                    noticed[row.name] = str(complaint).splitlines()[0]
            print(f"{mutation.__doc__}: " + ", ".join(f"{name} {count}" for name, count in noticed.items()))
            if sum(bool(count) for count in noticed.values()) < 2:
                print("  fewer than two detect it")
                failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
