#!/usr/bin/env python3
"""check.py

Runs every vector that is sent on a connection through tshark with spec/dotnet_ipc.lua, whole and in pieces of seven bytes: a valid one
must show each of its fields with the value in the vectors' JSON, an invalid one the vectors' fault, at its offset and in its field.
$DISSECTOR: another script than spec/dotnet_ipc.lua. Exits with 1 if something differs, with 77 without tshark.
"""
import collections
import json
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dissected
from dissected import GRAMMAR, ROOT
from pcapng import CLIENT, HALF_CLOSED, RUNTIME, Capture

# Bytes of a piece; the most pieces of a long message.
PIECE, MOST_PIECES = 7, 40
PLAYED = ["request", "reply", "error", "unknown", "advertise", "environment", "stream-start", "legacy-request"]
# A reader of a stream cannot refuse the bytes after the reply: they are the stream.
BEYOND = {2142}
# A fault that is marked too: a dissector has read the message before it sees that more bytes follow.
ALSO = {2121: "unexpected_end", 2122: "unexpected_end", 2506: "not_a_reply", 3111: "count_too_large", 9106: "unexpected_end"}
COMMANDS = {command["name"]: command for command in GRAMMAR["commands"]}
REPLIES = {reply["name"]: reply for reply in GRAMMAR["replies"]}
DRAFT = {command["name"]: command for command in GRAMMAR["legacy"]["commands"]}


def all_vectors():
    for file in json.loads((ROOT / "vectors/index.json").read_text())["files"]:
        for group in json.loads((ROOT / "vectors" / file["name"]).read_text())["groups"]:
            for test in group["tests"]:
                yield group, test


def shortest_requests(vectors):
    """A valid request for each command, to be answered."""
    found = {}
    for group, test in vectors:
        if group["type"] == "request" and test["result"] == "valid":
            wire = bytes.fromhex(test["wire"])
            # With user_events no stream follows.
            if (test["value"] or {}).get("session_type") != 1 and len(wire) < len(found.get(group["command"], wire + b"\0")):
                found[group["command"]] = wire
    return found


def message(code, payload):
    return b"DOTNET_IPC_V1\0" + (20 + len(payload)).to_bytes(2, "little") + code + b"\0\0" + payload


def play(capture, group, test, requests, piece):
    """The number of its connection."""
    kind, wire = group["type"], bytes.fromhex(test["wire"])
    runtime_speaks = kind in ("reply", "error", "advertise", "environment", "stream-start")
    connection = capture.open(RUNTIME if kind == "advertise" else CLIENT)
    command = {"environment": "Process/ProcessEnvironment", "stream-start": "EventPipe/CollectTracing2"}.get(kind, group["command"])
    if runtime_speaks and command:
        capture.data(connection, CLIENT, requests[command])
    if kind == "environment":
        capture.data(connection, RUNTIME, message(b"\xff\0", len(wire).to_bytes(4, "little") + b"\0\0"))
    if kind == "stream-start":
        capture.data(connection, RUNTIME, message(b"\xff\0", (1).to_bytes(8, "little")))
    side = RUNTIME if runtime_speaks else CLIENT
    capture.data(connection, side, wire, piece and max(piece, len(wire) // MOST_PIECES))
    # A block follows that is not part of the vector.
    if (kind, command, test["result"] != "invalid") != ("reply", "Process/ProcessEnvironment", True):
        capture.end(connection, side, HALF_CLOSED)
    return connection


def rows_of(group):
    kind, command = group["type"], group["command"]
    if kind in ("request", "legacy-request"):
        return (COMMANDS if kind == "request" else DRAFT)[command]["fields"]
    return {"reply": lambda: REPLIES[COMMANDS[command]["reply"]]["fields"], "error": lambda: GRAMMAR["error"]["fields"],
            "advertise": lambda: GRAMMAR["advertise"]["fields"]}[kind]()


def environment_differs(items, value):
    entries = [field for item in items for field in item.iter("field") if field.get("name") == "diagipc.environment.entry"]
    seen = [{"name": (dissected.shown(entry, "environment.name") or [""])[0], "value": (dissected.shown(entry, "environment.value") or [None])[0],
             "terminated": not dissected.shown(entry, "environment.unterminated")} for entry in entries]
    text = lambda one: None if one is None else dissected.as_shown(one)
    wanted = [{"name": text(one["name"]), "value": text(one["value"]), "terminated": one.get("terminated", True)} for one in value]
    return None if seen == wanted else f"shows {seen}, expected {wanted}"


def value_differs(group, test, items):
    """How the shown items differ from the value; None if they do not."""
    kind, value = group["type"], test["value"]
    if kind == "environment":
        return environment_differs(items, value)
    if kind == "stream-start":
        starts = [start for item in items for start in dissected.shown(item, "stream.start")]
        wanted = [] if value["start"] == "need-more" else [value["start"]]
        return None if starts == wanted else f"shows starts {starts}, expected {wanted}"
    magic = "ADVR_V1" if kind == "advertise" else "DOTNET_IPC_V1"
    # The last message: the request that it answers is before it.
    messages = [proto for item in items for proto in item.iter("proto") if any(child.get("show") == magic for child in proto)]
    if not messages:
        return "no message is shown"
    if kind == "unknown":
        code, payload = dissected.shown(messages[-1], "command"), [field.get("value") for field in messages[-1] if field.get("name") == "diagipc.payload"]
        seen = {"code": "0x" + code[0][2:].upper(), "payload": (payload or [""])[0]}
        return None if seen == value else f"shows {seen}, expected {value}"
    return dissected.differs(messages[-1], value, dissected.types_of(rows_of(group), value))


def faults_of(items):
    names = ("fault", "fault.layer", "fault.offset", "fault.field")
    found = [[show for item in items for show in dissected.shown(item, name)] for name in names]
    return list(zip(*found))


def wrong_of(group, test, items, piece):
    """What is wrong with the items shown for a vector, and whether it was refused."""
    faults, error = faults_of(items), test.get("error")
    if test["result"] != "invalid" or test["tcId"] in BEYOND:
        wrong = f"marked {faults}" if faults else test["value"] is not None and value_differs(group, test, items)
        return wrong or None
    wanted = (error["kind"], error["layer"], str(error["offset"]), error["field"])
    others = [fault for fault in faults if fault != wanted and fault[0] != ALSO.get(test["tcId"])]
    if wanted not in faults or others:
        return f"marked {faults}, expected {wanted}"
    if error["layer"] == "limits":
        return value_differs(group, test, items)
    return None


def judge(vectors, requests, piece, draft, directory):
    """What is wrong, by vector."""
    capture, played = Capture(), {}
    for group, test in vectors:
        played[play(capture, group, test, requests, piece)] = group, test
    path = directory / f"vectors-{piece}-{draft}.pcapng"
    capture.write(path)
    items = collections.defaultdict(list)
    for item in dissected.packets(path, "-o", f"diagipc.draft:{'TRUE' if draft else 'FALSE'}"):
        items[int(dissected.shown(item, "connection")[0])].append(item)
    for connection, (group, test) in played.items():
        if wrong := wrong_of(group, test, items[connection], piece):
            yield f"{test['tcId']} ({group['type']}, {test['comment']}){' in pieces' if piece else ''}: {wrong}"


def main():
    if not shutil.which("tshark"):
        print("tshark not found")
        sys.exit(77)
    vectors = list(all_vectors())
    requests, wrong = shortest_requests(vectors), []
    sent = [(group, test) for group, test in vectors if group["type"] in PLAYED and test["wire"] is not None]
    with tempfile.TemporaryDirectory(prefix="wireshark-") as directory:
        for draft in False, True:
            of = [(group, test) for group, test in sent if (group["type"] == "legacy-request") == draft]
            for piece in None, PIECE:
                wrong += judge(of, requests, piece, draft, pathlib.Path(directory))
    refused = sum(test["result"] == "invalid" and test["tcId"] not in BEYOND for _, test in sent)
    print(*wrong, f"{len(sent) - refused} vectors read, {refused} refused, {len(wrong)} wrong", sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
