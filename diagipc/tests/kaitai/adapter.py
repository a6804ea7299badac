#!/usr/bin/env python3
"""spec/dotnet_ipc.ksy, compiled to Python, with the line protocol of diagipc/adapters/README.md. It only reads.

    python3 diagipc/tests/kaitai/adapter.py DIRECTORY          # with dotnet_ipc.py and shapes.json in it, and kaitaistruct

Every attribute is shown under the document's name: no field of a message is named below."""
import enum
import json
import pathlib
import re
import sys
from io import BytesIO

HERE = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE / "python"))

from dotnet_ipc import DotnetIpc  # noqa: E402
from kaitaistruct import KaitaiStream, KaitaiStruct, ValidationFailedError  # noqa: E402

SHAPES = json.loads((HERE / "shapes.json").read_text())
CODES = {re.sub("[^a-z0-9]", "", one.name): int(one) for one in DotnetIpc.Command}


class Refused(Exception):
    def __init__(self, layer, value=None):
        super().__init__(layer)
        self.layer, self.value = layer, value


def name_of(part):
    return re.sub("(?<=.)(?=[A-Z])", "_", type(part).__name__).lower()


def text(units):
    try:
        return b"".join(unit.to_bytes(2, "little") for unit in units).decode("utf-16-le")
    except UnicodeDecodeError:
        return {"utf16": list(units)}


def shown(part):
    """A part in the form of vectors/README.md."""
    if isinstance(part, bytes):
        return part.hex()
    if isinstance(part, enum.Enum):
        return part.value
    if not isinstance(part, KaitaiStruct):
        return part
    name = name_of(part)
    if name == "flag":
        return part.value
    if name == "ulong":
        assert part.value == part.high << 32 | part.low
        return str(part.value)
    if name == "hresult":
        return "0x%08X" % shown(part.code)
    if name == "guid":
        last = part.data4.hex()
        return "%08x-%04x-%04x-%s-%s" % (part.data1, part.data2, part.data3, last[:4], last[4:])
    if name == "utf16_string":
        if part.count == 0:
            return None
        units = text(part.text.units)
        assert isinstance(units, dict) or units == part.text.value
        return units
    if name == "byte_array":
        return part.data.hex()
    if name.endswith("_array"):
        return [shown(item) for item in part.items]
    if name == "environment_block":
        return [variable(entry.text) for entry in part.entries]
    value = {}
    for attribute, original in SHAPES[name]:
        one = getattr(part, attribute, None)
        if attribute == "body":
            value.update(shown(one))
        elif one is not None and attribute != "magic":
            value[original] = shown(one)
    return value


def variable(entry):
    end = entry.name_length
    value = {"name": text(entry.units[:end]), "value": text(entry.units[end + 1:entry.length]) if entry.has_value else None}
    for key, decoded in value.items():
        assert isinstance(decoded, dict) or decoded == getattr(entry, key)
    return value if entry.is_terminated else {**value, "terminated": False}


def faults(part):
    """The limits that a part and its contents exceed."""
    if isinstance(part, list):
        for item in part:
            yield from faults(item)
    elif isinstance(part, KaitaiStruct):
        yield from (name for name in dir(type(part)) if name.startswith("fault_") and getattr(part, name))
        for attribute, _ in SHAPES[name_of(part)]:
            yield from faults(getattr(part, attribute, None))


def decode(kind, command, wire):
    stream = KaitaiStream(BytesIO(wire))
    code = CODES.get(re.sub("[^a-z0-9]", "", (command or "/").split("/")[1].lower()), 0)
    if kind in ("request", "unknown"):
        message = DotnetIpc(stream).message
    elif kind in ("reply", "error"):
        message = DotnetIpc.Reply(code, stream)
    elif kind == "legacy-request":
        message = DotnetIpc.DraftRequest(stream)
    elif kind == "advertise":
        value = shown(DotnetIpc.Advertise(stream))
        return value if stream.is_eof() else refuse("transport")
    elif kind == "environment":
        value = shown(DotnetIpc.EnvironmentBlock(stream))
        return value if stream.is_eof() else refuse("transport")
    else:
        name = {"array<byte>": "byte_array", "array<uint>": "uint_array", "clsid": "guid", "string": "utf16_string"}.get(kind, kind)
        return shown(getattr(DotnetIpc, "".join(part.title() for part in name.split("_")))(stream))
    if not stream.is_eof():
        refuse("transport")
    header, payload = message.header, getattr(message, "payload", None)
    if kind == "unknown":
        return {"code": "0x%04X" % header.code, "payload": payload.hex()} if isinstance(payload, bytes) else refuse("header")
    if kind in ("request", "legacy-request"):
        if header.code != code:
            refuse("header")
    elif (header.command is DotnetIpc.Command.error) != (kind == "error"):
        refuse("reply")
    value = shown(payload) if payload is not None else {}
    for _ in faults(payload):
        refuse("limits", value)
    return value


def refuse(layer, value=None):
    raise Refused(layer, value)


def layer_of(kind, wire, error):
    """The reader's position when it failed."""
    if isinstance(error, ValidationFailedError):
        place = error.src_path
        layers = {"/types/header/seq/0": "header", "/types/advertise/seq/0": "header", "/types/header/seq/1": "transport",
                  "/types/reply/seq/1": "reply", "/seq/1": "transport"}
        return layers.get(place, "payload")
    whole = kind in ("request", "unknown", "reply", "error", "legacy-request")
    cut = whole and (len(wire) < 20 or int.from_bytes(wire[14:16], "little") > len(wire))
    return "transport" if cut or kind == "advertise" else "payload"


def answer(question):
    kind = question["type"]
    known = {"request", "unknown", "reply", "error", "legacy-request", "advertise", "environment", "array<byte>", "array<uint>", "clsid"}
    if question["op"] != "decode" or kind not in known | {"string", "guid", *(name for name in SHAPES if name.endswith(("_config", "_set", "_filter")))}:
        return {"result": "unsupported"}
    wire = bytes.fromhex(question["wire"])
    try:
        return {"result": "ok", "value": decode(kind, question["command"], wire)}
    except Refused as refused:
        return {"result": "error", "layer": refused.layer, **({"value": refused.value} if refused.value is not None else {})}
    except (ValidationFailedError, EOFError) as error:
        return {"result": "error", "layer": layer_of(kind, wire, error)}


for question in map(json.loads, sys.stdin):
    print(json.dumps({"id": question["id"], **answer(question)}), flush=True)
