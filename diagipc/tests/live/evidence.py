#!/usr/bin/env python3
"""evidence.py REPORT ...

Writes the outcomes in a report of `diagipc server --json` to diagipc/evidence/NAME.json, one line per case. NAME is the report's target, as
`--name` gives it. A report of some cases (`--only`) keeps those of the others. diagipc/evidence/README.md explains the outcomes.
"""
import fnmatch
import json
import os
import platform
import sys

# What is not the runtime's where .NET 11's server runs in node: its start, its end and its environment, the ends of connections, ports
# (it knows only WebSockets), and user_events, which that build leaves out.
OF_NODE = ["scripts/configuration/*", "scripts/lifetime/*", "scripts/ports/*", "scripts/user_events/*", "requests/eventpipe5/62*",
           "requests/eventpipe5/65*", "*suspended*", "*-until-resumed",
           "scripts/framing/input-ends-after-0", "scripts/framing/bytes-behind-size-after-an-error", "requests/header/2200",
           "scripts/process/set-variable-then-delete-twice", "scripts/eventpipe/stop-waits-for-a-stream-that-nobody-reads"]
# What is not the runtime's under qemu, which has no ptrace: dumps that are written.
OF_EMULATION = ["scripts/dump_profiler/dump-full", "scripts/dump_profiler/dump2-full", "scripts/dump_profiler/dump3-full",
                "scripts/dump_profiler/dump-where-a-crash-writes-one", "scripts/dump_profiler/dump-in-progress-blocks-others",
                "requests/dump/4003", "requests/tables/3300"]
HOME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../evidence")


def path_of(name):
    return os.path.join(HOME, name + ".json")


def kept(name):
    """The present outcomes, by case."""
    if not os.path.exists(path_of(name)):
        return {}
    with open(path_of(name), encoding="utf-8") as file:
        return json.load(file)["outcomes"]


def this_system():
    """The system and its processor: Linux x64."""
    named = {"Darwin": "macOS", "x86_64": "x64", "AMD64": "x64", "aarch64": "arm64"}
    return " ".join(named.get(word, word) for word in (platform.system(), platform.machine()))


def keep(report, is_whole, system=None):
    """Writes the outcomes of a report. `is_whole`: it has all cases; other outcomes are removed. `system`: if it is not this one."""
    name = report["target"]
    system = system or this_system()
    there = {} if is_whole else kept(name)
    is_emulated = name.startswith("arm64-") and system != "Linux arm64"
    system += " (musl)" if name.startswith("musl-") else ""
    system = "Linux arm64 (qemu)" if is_emulated else system
    not_its_own = OF_NODE if name.startswith("mono") else OF_EMULATION if is_emulated else []
    there |= {case["name"]: case["outcome"] for case in report["cases"]
              if "outcome" in case and not any(fnmatch.fnmatch(case["name"], glob) for glob in not_its_own)}
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
