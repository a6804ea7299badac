"""Implementations of the grammar, and which vectors each cannot handle.

`ROWS` is the only list: diagipc/tests/grammar/table.py makes the table of spec/GRAMMAR.md from it, diagipc/tests/grammar/mutations.py runs those
generated again from a changed grammar. A new one is a row: its name, how to make its adapter from a grammar (diagipc/adapters/README.md
has the protocol), and what it lacks, with reasons."""
import collections
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
DIAGIPC = os.environ.get("DIAGIPC") or str(ROOT / "target/debug/diagipc")
if not os.path.exists(DIAGIPC):
    print(f"{DIAGIPC} not found: cargo build -p diagipc")
    sys.exit(77)
sys.path.insert(0, str(ROOT / "diagipc/tests/wireshark"))
import check


def header(grammar, to):
    """The header that `diagipc dev grammar` prints for a changed grammar; the committed file without one. An error instead is an Unprintable."""
    if grammar is None:
        return ROOT / "c/dotnet_ipc.h"
    done = subprocess.run([DIAGIPC, "dev", "grammar", "--format", "c", "--from", grammar], capture_output=True, text=True)
    if done.returncode:
        raise Unprintable(done.stderr.strip())
    to.write_text(done.stdout)
    return to


class Unprintable(Exception):
    """A grammar with a form that cannot be generated: that counts as detected too."""


def crate(directory, grammar):
    return None


def interpreter(directory, grammar):
    return ["python3", ROOT / "diagipc/adapters/grammar/adapter.py", *([grammar] if grammar else [])]


def c_header(directory, grammar):
    include = header(grammar, directory / "dotnet_ipc.h").parent
    program = directory / "adapter"
    command = ["cc", "-std=c99", "-O1", "-I", include, "-o", program, ROOT / "diagipc/adapters/c_header/adapter.c"]
    subprocess.run(command, check=True)
    return [program]


# What the grammar lacks. Reason: globs of TYPE/OPERATION.
BESIDE = {
    "names, variables and files of a runtime, which the grammar lacks":
        "ports/* ports-strict/* default-port-suspend/* socket-name/* pipe-name/* process-stat/*",
    "data between runtimes and the kernel, which the grammar lacks":
        "user_reg/* user_unreg/* tracepoint-command/* user_events-record/* extension/*",
    "the protocol before this one, of which the grammar has two tables": "old-request/* old-reply/* legacy-error/*",
}
STREAM = "starts of event streams, which are another format"
NUMBERS = "byte/* ushort/* uint/* ulong/* hresult/* bool/* wchar/*"
Row = collections.namedtuple("Row", "name made lacks")
ROWS = [
    Row("crate", crate, {}),
    Row("C header", c_header, {
        "pieces of payloads: the header has only whole messages":
            f"{NUMBERS} string/* guid/* clsid/* array<*>/* event_filter/* tracepoint_*/* *provider_config/*",
        "environment blocks and starts of streams, which a client only reads": "environment/encode stream-start/encode",
        "commands that the header lacks": "unknown/* legacy-request/*",
        **BESIDE,
    }),
    Row("Python interpreter", interpreter, {
        "environment blocks: the interpreter has messages": "environment/*",
        STREAM: "stream-start/*",
        "commands that the grammar lacks": "unknown/*",
        **BESIDE,
    }),
]
# It has no adapter: diagipc/tests/wireshark/check.py gives it captures.
DISSECTOR = "Wireshark"
# The columns of the table.
COLUMNS = "read", "written", "refused"


class Judged:
    """Results of an implementation with the vectors, by column: how many are right of how many, and how many of the others have which
    reason. `wrong` lists results without a reason, and reasons without a result."""

    def __init__(self):
        self.right, self.of = collections.Counter(), collections.Counter()
        self.reasons = collections.defaultdict(collections.Counter)
        self.wrong = []


def vectors():
    """For each tcId: the type of its group, and the test."""
    return {test["tcId"]: (group["type"], test) for group, test in check.all_vectors()}


def report(row, grammar=None, only=()):
    with tempfile.TemporaryDirectory() as directory:
        command = row.made(pathlib.Path(directory), grammar)
        target = ["--self"] if command is None else ["--", *map(str, command)]
        globs = [part for glob in only for part in ("--only", glob)]
        done = subprocess.run([DIAGIPC, "codec", "--json", "--timeout", "60000", *globs, *target], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(f"{row.name}: diagipc codec ended with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)


def outcome(case, test, operation):
    """The result of a question: `right`, `lacking`, or what is wrong."""
    grade, answer = case["grade"], (case.get("detail", {}).get("seen") or {}).get("result")
    if grade == "unimplemented":
        return "lacking"
    if grade in ("fail", "informational"):
        of_layer = answer == "error" and test["result"] == "invalid"
        return "refused elsewhere" if of_layer else "wrong"
    if operation == "decode" and test["result"] == "invalid" and grade == "pass-lenient":
        return "taken"
    # A leniency may be refused; none of these refuses it.
    return "refused" if operation == "decode" and test["result"] == "acceptable" and grade == "pass" else "right"


def judged(row):
    result, known = Judged(), vectors()
    for case in report(row)["cases"]:
        *_, number, operation = case["name"].split("/")
        kind, test = known[int(number)]
        column = "written" if operation == "encode" else "refused" if test["result"] == "invalid" else "read"
        result.of[column] += 1
        seen, reasons = outcome(case, test, operation), []
        if seen == "right":
            result.right[column] += 1
            continue
        if seen == "lacking":
            question = f"{kind}/{operation}"
            reasons = [why for why, globs in row.lacks.items() if any(fnmatch.fnmatchcase(question, glob) for glob in globs.split())]
        if reasons:
            result.reasons[reasons[0]][column] += 1
        else:
            result.wrong.append(f"{case['name']}: {seen}, without a listed reason: {case.get('title')}")
    result.wrong += [f"listed, but nothing is lacking: {why}" for why in row.lacks.keys() - result.reasons.keys()]
    return result


def judged_dissector():
    """The same for the dissector, with the crate's questions."""
    reasons, wrong, _ = check.verdicts()
    result, known = Judged(), vectors()
    result.wrong += wrong
    for case in report(ROWS[0])["cases"]:
        *_, number, operation = case["name"].split("/")
        column = "written" if operation == "encode" else "refused" if known[int(number)][1]["result"] == "invalid" else "read"
        result.of[column] += 1
        reason = "bytes: a dissector reads" if operation == "encode" else reasons[int(number)]
        if reason:
            result.reasons[reason][column] += 1
        else:
            result.right[column] += 1
    return result
