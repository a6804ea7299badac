#!/usr/bin/env python3
"""A codec that only reads `spec/grammar.json`, with the line protocol of `diagipc/adapters/README.md`.

No command, reply, field of a payload, limit or fault is named below; `spec/GRAMMAR.md` says what the keys of the file mean.

    diagipc codec --only request --only reply --only error -- python3 diagipc/adapters/grammar/adapter.py [GRAMMAR]
"""
import json, pathlib, re, struct, sys, uuid

GRAMMAR = json.loads(pathlib.Path((sys.argv + [pathlib.Path(__file__).parents[3] / "spec" / "grammar.json"])[1]).read_text())
KINDS, STRUCTS, COMMANDS, REPLIES, FAULTS = (
    {row["name"]: row for row in GRAMMAR[key]} for key in "kinds structs commands replies faults".split())
LEGACY = {row["name"]: row for row in GRAMMAR["legacy"]["commands"]}
HEADER, ADVERTISE = GRAMMAR["header"], GRAMMAR["advertise"]
TEXTS = {"decimal": "[0-9]{1,20}", "hresult": "0x[0-9A-Fa-f]{8}", "hexadecimal": "([0-9A-Fa-f]{2})*",
         "guid": "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"}

class Refused(Exception): pass

def need(right, layer="payload", *value):
    if not right: raise Refused(layer, *value)

class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0
    def left(self):
        return len(self.data) - self.at
    def take(self, size):
        need(size <= self.left())
        self.at += size
        return self.data[self.at - size:self.at]
    def count(self, kind, least):
        count = int.from_bytes(self.take(KINDS[kind]["bytes"]), "little")
        need(count * least <= self.left())
        return count

def least(name):
    """Returns the smallest size of a value of a type, in bytes."""
    row = {**KINDS, **STRUCTS}[name]
    return least(row["count"]) if "count" in row else row.get("least", row.get("bytes", 0))

def text_of(units):
    try:
        return struct.pack("<%dH" % len(units), *units).decode("utf-16-le")
    except UnicodeDecodeError:
        return {"utf16": list(units)}

def units_of(text):
    if isinstance(text, dict) and list(text) == ["utf16"]:
        return text["utf16"]
    need(isinstance(text, str))
    data = text.encode("utf-16-le", "surrogatepass")
    return list(struct.unpack("<%dH" % (len(data) // 2), data))

def read(name, items, reader):
    if name in STRUCTS:
        return read_fields(STRUCTS[name]["fields"], reader)
    kind, form = KINDS[name], KINDS[name]["value"]
    if form == "list":
        return [read(items, None, reader) for _ in range(reader.count(kind["count"], least(items)))]
    if form == "hexadecimal":
        return reader.take(reader.count(kind["count"], kind["unit"]) if "count" in kind else reader.left()).hex()
    if form == "text":
        count = reader.count(kind["count"], kind["unit"])
        units = struct.unpack("<%dH" % count, reader.take(kind["unit"] * count))
        need(not units or units[-1] == kind["last"])
        return text_of(units[:-1]) if units else None
    number = int.from_bytes(data := reader.take(kind["bytes"]), "little")
    forms = {"decimal": str(number), "hresult": "0x%08X" % number, "bool": number != 0, "number": number}
    return str(uuid.UUID(bytes_le=data)) if form == "guid" else forms[form]

def write(name, items, value):
    if name in STRUCTS:
        return write_fields(STRUCTS[name]["fields"], value)
    kind, form = KINDS[name], KINDS[name]["value"]
    count = (lambda number: struct.pack("<I", number)) if "count" in kind else lambda number: b""
    if form == "text":
        units = [] if value is None else units_of(value) + [kind["last"]]
        return count(len(units)) + struct.pack("<%dH" % len(units), *units)
    python = {"number": int, "bool": bool, "list": list}.get(form, str)
    need(type(value) is python and (form not in TEXTS or re.fullmatch(TEXTS[form], value)))
    if form == "hexadecimal":
        return count(len(value) // 2) + bytes.fromhex(value)
    if form == "list":
        return count(len(value)) + b"".join(write(items, None, item) for item in value)
    if form == "guid":
        return uuid.UUID(value).bytes_le
    number = int(value, 16 if form == "hresult" else 10) if python is str else int(value)
    need(0 <= number < 1 << 8 * kind["bytes"])
    return number.to_bytes(kind["bytes"], "little")

def is_there(field, value, answers, more):
    """Returns whether a field is next; for an optional field, `more` says whether it has any bytes."""
    when = field.get("when", {})
    rest = field["type"] in KINDS and not {"bytes", "count"} & set(KINDS[field["type"]])
    return (value.get(when.get("field")) == when.get("is") and answers in when.get("answers", [answers])
            and (more or not (rest or when.get("bytesLeft"))))

def read_fields(fields, reader, answers=None):
    value = {}
    for field in fields:
        if is_there(field, value, answers, reader.left() > 0):
            one = value[field["name"]] = read(field["type"], field.get("items"), reader)
            need(one in field.get("only", [one]))
    return value

def write_fields(fields, value, answers=None):
    there = [field for field in fields if is_there(field, value, answers, field["name"] in value)]
    need(set(value) == {field["name"] for field in there})
    return b"".join(write(field["type"], field.get("items"), value[field["name"]]) for field in there)

def measure(limit, value):
    count = lambda one: 0 if one is None else len(one) if isinstance(one, list) else len(units_of(one)) + 1
    units = units_of(value) if "BeforeNul" in limit["of"] and value is not None else []
    units = units[:(units + [0]).index(0)]
    utf8 = struct.pack("<%dH" % len(units), *units).decode("utf-16-le", "replace").encode("utf-8")
    return {"value": lambda: value, "count": lambda: count(value), "visibleBeforeNul": lambda: sum(unit not in (9, 10, 11, 12, 13, 32) for unit in units),
            "utf8BeforeNul": lambda: len(utf8), "countOfAll": lambda: sum(map(count, map(value.get, limit["fields"])))}[limit["of"]]()

def is_within(limit, value):
    if limit["of"] != "distinct":
        return any(low <= measure(limit, value) <= high for low, high in limit["ranges"])
    values = [value]
    for name in limit["fields"]:
        values = [item for one in values for item in one[name]]
    return len(values) == len(set(values))

def broken(fields, value):
    """Returns the limits that the fields of a value exceed."""
    for field in (field for field in fields if field["name"] in value):
        one, inner = value[field["name"]], STRUCTS.get(field.get("items", field["type"]))
        yield from (limit for limit in field.get("limits", []) if not is_within(limit, one))
        for item in (one if isinstance(one, list) else [one]) if inner else []:
            yield from (limit for limit in inner.get("limits", []) if not is_within(limit, item))
            yield from broken(inner["fields"], item)

def write_message(code, payload):
    need(HEADER["bytes"] + len(payload) <= GRAMMAR["largestMessage"], "transport")
    front = {"size": HEADER["bytes"] + len(payload), "command_set": int(code[2:4], 16), "command_id": int(code[4:6], 16), "reserved": 0}
    return bytes.fromhex(HEADER["magic"]) + write_fields(HEADER["fields"], front) + payload

def read_message(of, wire, code):
    """Returns the payload of a message with this code, after the checks in their order."""
    magic = bytes.fromhex(HEADER["magic"])
    front = read_fields(HEADER["fields"], Reader(wire[len(magic):].ljust(HEADER["bytes"], b"\0")))
    wrong = {"magic": wire[:len(magic)] != magic[:len(wire)], "header": len(wire) < HEADER["bytes"],
             "size": front["size"] < HEADER["bytes"], "all": front["size"] > len(wire), "end": front["size"] < len(wire),
             "command": code != "0x%02X%02X" % (front["command_set"], front["command_id"])}
    for one in GRAMMAR["checks"]:
        need(one.get("of", of) != of or not wrong.get(one["name"]), FAULTS[one["fault"]]["layer"] if "fault" in one else "")
    return Reader(wire[HEADER["bytes"]:])

def row_of(kind, command):
    return {"request": COMMANDS, "legacy-request": LEGACY}[kind][command] if "request" in kind else (
        GRAMMAR["error"] if kind == "error" else REPLIES[COMMANDS[command]["reply"]])

def decode(kind, command, wire):
    if kind in ("request", "legacy-request", "reply", "error"):
        row = row_of(kind, command)
        payload = read_message("request" if "request" in kind else "reply", wire, row["code"])
        value = {} if kind == "reply" and not payload.left() else read_fields(row["fields"], payload, command)
        for limit in broken(row["fields"], value):
            need(False, FAULTS[limit["fault"]]["layer"], value)
        return value
    if kind == "advertise":
        magic = bytes.fromhex(ADVERTISE["magic"])
        need(wire[:len(magic)] == magic[:len(wire)], "header")
        need(len(wire) == ADVERTISE["bytes"], "transport")
        return read_fields(ADVERTISE["fields"], Reader(wire[len(magic):]))
    return read(*type_of(kind), Reader(wire))

def encode(kind, command, value):
    if kind in ("request", "legacy-request", "reply", "error"):
        row = row_of(kind, command)
        return write_message(row["code"], write_fields(row["fields"], value, command) if value or kind != "reply" else b"")
    if kind == "advertise":
        return bytes.fromhex(ADVERTISE["magic"]) + write_fields(ADVERTISE["fields"], value)
    return write(*type_of(kind), value)

def type_of(kind):
    """Returns a piece of payload by its name in the vectors."""
    array = re.fullmatch("array<(?!byte)(.*)>", kind)
    return ("array", array[1]) if array else ({"clsid": "guid", "array<byte>": "bytes"}.get(kind, kind), None)

def answer(question):
    kind, command = question["type"], question["command"]
    whole = kind in ("request", "legacy-request", "reply", "error", "advertise")
    if not whole and not set(filter(None, type_of(kind))) <= {*KINDS, *STRUCTS}:
        return {"result": "unsupported"}
    try:
        if question["op"] == "encode":
            return {"result": "ok", "wire": encode(kind, command, question["value"]).hex()}
        value = decode(kind, command, bytes.fromhex(question["wire"]))
        return {"result": "ok", "value": value, "canonical": encode(kind, command, value).hex() == question["wire"]}
    except Refused as refused:
        return {"result": "error", "layer": refused.args[0], **({"value": refused.args[1]} if refused.args[1:] else {})}

for question in map(json.loads, sys.stdin):
    print(json.dumps({"id": question["id"], **answer(question)}), flush=True)
