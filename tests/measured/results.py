"""Writes benches/RESULTS.md: the counts of instructions.py, with the peers, and the times."""

import json
import os
import re
import subprocess

import instructions

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "../../benches/RESULTS.md")
NOTES = os.path.join(HERE, "../../benches/NOTES.md")
OTHERS = ("ck", "unchecked", "memcpy", "Vec", "binrw", "deku", "std", "encoding_rs", "simdutf", "HashMap")
# A figure in NOTES.md: a case's instructions behind its name.
QUOTED = re.compile(r"`([^`\n]+)` \((\d+)\)")
# By a pattern of the name: the largest multiple of a contender, or the most per item.
TARGETS = [
    (r"decode header", "of ck", "ck", 1.5),
    (r"decode (ProcessInfo|StopTracing|SessionReply|ResultReply|ErrorReply|EnablePerfMap|ProcessEnvironmentReply|Advertise)$", "of ck", "ck", 1.5),
    (r"decode (UserReg|UserUnreg|Record|Extension|TracepointCommand)", "of ck", "ck", 1.5),
    (r"decode (and walk )?\d+ ids", "of ck", "ck", 1.1),
    (r"decode ", "of ck", "ck", 2.0),
    (r"encode \d+ ids", "of memcpy", "memcpy", 1.1),
    (r"encode ", "of ck", "ck", 2.0),
    (r"(count|split) environment.*", "of ck", "ck", 2.0),
    (r"ASCII to UTF-16", "per unit", None, 3.0),
    (r"ASCII from UTF-16", "per unit", None, 5.0),
    (r"ASCII through Display", "per unit", None, 3.0),
    (r"\w+ (to|from) UTF-16", "of encoding_rs", "encoding_rs", 1.3),
    (r"(Client|Server), a step", "per step", None, 60.0),
    (r"Server, a whole .*", "beside encode", "encode", 300.0),
    (r"DiagnosticPort.*", "of HashMap", "HashMap", 1.5),
    (r"check_limits of .*", "per item", None, 30.0),
]


def target(name, case):
    """The target of a case, its value, and whether it is met."""
    for pattern, what, contender, most in TARGETS:
        if re.match(pattern, name) and (contender is None or contender in case):
            value = case["ours"] - case[contender] if what.startswith("beside") else case["ours"] / (case[contender] if contender else max(case["size"], 1))
            return f"{most:g} {what}", value, value <= most
    return "", None, True


def slower(case):
    return [peer for peer in ("binrw", "deku", "Vec") if peer in case and case["ours"] > case[peer]]


def table(found):
    columns = [name for name in OTHERS if any(name in case for case in found.values())]
    yield "| case | instructions | of its size | target | is | " + " | ".join(f"ours / {name}" for name in columns) + " |"
    yield "|---|--:|--:|---|---|" + "--:|" * len(columns)
    for name, case in found.items():
        wanted, value, met = target(name, case)
        verdict = "" if value is None else f"{'met' if met else '**missed**'}: {value:.2f}"
        ratios = [f"{case['ours'] / case[column]:.2f}" if column in case else "" for column in columns]
        size = f"{case['ours'] / case['size']:.2f}" if case["size"] else ""
        yield f"| {name} | {case['ours']} | {size} | {wanted} | {verdict} | " + " | ".join(ratios) + " |"


def median(values):
    values = sorted(values)
    return values[len(values) // 2] if values else 0


def times(program):
    """Nanoseconds by case and contender."""
    said = subprocess.run([program, "environment", "ASCII", "CJK", "CollectTracing2 of 10"], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for line in said.splitlines():
        name, size, contender, took = line.split("\t")
        if not name.startswith(("linear", "nothing")):
            found.setdefault(name, {"size": int(size)})[contender] = float(took)
    return found


def timetable(found):
    yield "| case | contender | ns | GB/s or units/ns |"
    yield "|---|---|--:|--:|"
    for name, case in found.items():
        for contender, took in case.items():
            if contender != "size":
                yield f"| {name} | {contender} | {took:.0f} | {case['size'] / took:.2f} |"


def missed(cases):
    return [name for name, case in cases.items() if not target(name, case)[2]]


def behind(cases):
    return [name for name, case in cases.items() if slower(case)]


def shown(baseline):
    """The cases of RESULTS.md."""
    return {name: case for name, case in baseline["instructions"].items() if not name.startswith("linear")}


def text(baseline):
    """RESULTS.md."""
    cases = shown(baseline)
    names, losing = missed(cases), [f"{name} ({', '.join(slower(cases[name]))})" for name in behind(cases)]
    faster = {peer: median([case[peer] / case["ours"] for case in cases.values() if peer in case]) for peer in ("binrw", "deku", "Vec")}
    return "\n".join([
        "# Costs",
        "",
        f"Written by `python3 tests/measured/instructions.py --results`, with {baseline['compiler']}, in the default release profile.",
        "Callgrind counts the instructions; they do not depend on other programs. `ck` is the fewest sound checks in straight-line code,",
        "`unchecked` the same without them, `Vec` a plain client with owned values. A ratio below 1 means that we take fewer.",
        "[NOTES.md](NOTES.md) has the reasons for missed targets, and other programs.",
        "",
        f"- Cases: {len(cases)}; targets missed: {len(names)}{': ' + ', '.join(names) if names else ''}.",
        f"- Slower than `binrw`, `deku` or the `Vec` client: {', '.join(losing) if losing else 'in no case'}.",
        "- Median case: faster than " + ", ".join(f"`{peer}` {ratio:.1f} times" for peer, ratio in faster.items() if ratio) + ".",
        f"- Linear: {', '.join(instructions.bends(baseline['instructions'])) or 'no case takes over 1.1 times as much per item at twice the size'}.",
        "",
        "## Ratios",
        "",
        *table(cases),
        "",
        "## Time",
        "",
        "The shortest of many runs on a busy machine.",
        "",
        *timetable(baseline["nanoseconds"]),
        "",
    ])


def stale(baseline):
    """What RESULTS.md and NOTES.md say that baseline.json does not, and what NOTES.md should say."""
    cases = shown(baseline)
    with open(RESULTS) as results, open(NOTES) as notes:
        if results.read() != text(baseline):
            yield "RESULTS.md is not what baseline.json makes it: instructions.py --results"
        # What follows are times, of the commands that are named there.
        reasons = notes.read().partition("\n## Calls of a live runtime")[0]
    for name in dict.fromkeys(missed(cases) + behind(cases)):
        if f"`{name}`" not in reasons:
            yield f"{name} misses its target or is behind a peer, and NOTES.md does not say why"
    for name, number in QUOTED.findall(reasons):
        ours = str(cases.get(name, {}).get("ours"))
        if ours != number:
            yield f"NOTES.md has {number} for {name}, baseline.json {ours}"
    for line in re.sub(r"`[^`]*`|thumbv6m", "", QUOTED.sub("", reasons)).splitlines():
        if re.search(r"\d\d|\d\.\d", line):
            yield f"NOTES.md has a figure that nothing compares: {line}"


def write():
    # What the gate builds, as it builds it: the peers change a little what is inlined.
    found, others = instructions.count(instructions.program()), instructions.count(program := instructions.program("peers"))
    for name, case in found.items():
        found[name] = {**others[name], **case}
    baseline = {"compiler": instructions.compiler(), "instructions": found, "nanoseconds": times(program)}
    with open(instructions.BASELINE, "w") as file:
        # A line for each case.
        file.write(re.sub(r"\n   +|\n  (?=})", " ", json.dumps(baseline, indent=1)) + "\n")
    with open(RESULTS, "w") as file:
        file.write(text(baseline))
    print(f"{len(missed(shown(baseline)))} targets missed")
    wrong = list(stale(baseline))
    for line in wrong:
        print(line)
    return 1 if wrong else 0
