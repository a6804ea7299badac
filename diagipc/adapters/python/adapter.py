#!/usr/bin/env python3
"""A codec of the .NET Diagnostic IPC Protocol in Python, with the line protocol of `diagipc/adapters/README.md`.

It has every type of `vectors/README.md`, both ways. It was written from that page, the vectors and `spec/`, without code of another
codec, so that readings of the same text can be compared. It reads one JSON object per line, and writes one.

    diagipc codec -- python3 diagipc/adapters/python/adapter.py
"""

import json
import re
import struct
import sys
import uuid

MAGIC = b"DOTNET_IPC_V1\0"
ADVERTISE_MAGIC = b"ADVR_V1\0"
HEADER_LENGTH = 20
ADVERTISE_LENGTH = 34
LARGEST_MESSAGE = 65535
SERVER_SET, OK, ERROR = 0xFF, 0x00, 0xFF

COMMANDS = {
    "Dump/GenerateCoreDump": (1, 1), "Dump/GenerateCoreDump2": (1, 2), "Dump/GenerateCoreDump3": (1, 3),
    "EventPipe/StopTracing": (2, 1), "EventPipe/CollectTracing": (2, 2), "EventPipe/CollectTracing2": (2, 3),
    "EventPipe/CollectTracing3": (2, 4), "EventPipe/CollectTracing4": (2, 5), "EventPipe/CollectTracing5": (2, 6),
    "EventPipe/CollectTracing6": (2, 7),
    "Profiler/AttachProfiler": (3, 1), "Profiler/StartupProfiler": (3, 2),
    "Process/ProcessInfo": (4, 0), "Process/ResumeRuntime": (4, 1), "Process/ProcessEnvironment": (4, 2),
    "Process/SetEnvironmentVariable": (4, 3), "Process/ProcessInfo2": (4, 4), "Process/EnablePerfMap": (4, 5),
    "Process/DisablePerfMap": (4, 6), "Process/ApplyStartupHook": (4, 7), "Process/ProcessInfo3": (4, 8),
}
NAMES = {code: name for name, code in COMMANDS.items()}


class Refused(Exception):
    """Invalid bytes, or a value that cannot be encoded; `layer` as in `vectors/README.md`."""

    def __init__(self, layer, value=None):
        super().__init__(layer)
        self.layer, self.value = layer, value


class Unsupported(Exception):
    """A type or command that this codec does not have."""


# The bytes of a payload, from front to back.

class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def take(self, count):
        if count > self.left():
            raise Refused("payload")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, width):
        return int.from_bytes(self.take(width), "little")


# Kinds of fields: how each is read, and how its value is written.

class Number:
    def __init__(self, width):
        self.width = self.least = width

    def read(self, reader):
        return reader.number(self.width)

    def write(self, value):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 8 * self.width:
            raise Refused("payload")
        return value.to_bytes(self.width, "little")


class Decimal(Number):
    """A number of 64 bits, which is text in JSON because a JSON number is a double."""

    def read(self, reader):
        return str(super().read(reader))

    def write(self, value):
        if not isinstance(value, str) or not re.fullmatch("[0-9]{1,20}", value):
            raise Refused("payload")
        return super().write(int(value))


class HResult(Number):
    def read(self, reader):
        return "0x%08X" % super().read(reader)

    def write(self, value):
        if not isinstance(value, str) or not re.fullmatch("0x[0-9A-Fa-f]{8}", value):
            raise Refused("payload")
        return super().write(int(value, 16))


class Bool:
    least = 1

    def read(self, reader):
        return reader.number(1) != 0

    def write(self, value):
        if not isinstance(value, bool):
            raise Refused("payload")
        return bytes([value])


class Guid:
    least = 16

    def read(self, reader):
        return str(uuid.UUID(bytes_le=reader.take(16)))

    def write(self, value):
        if not isinstance(value, str) or not re.fullmatch("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", value):
            raise Refused("payload")
        return uuid.UUID(value).bytes_le


def text_of(units):
    """Returns the value of a string without its NUL: text, or units if they are not Unicode."""
    try:
        return struct.pack("<%dH" % len(units), *units).decode("utf-16-le")
    except UnicodeDecodeError:
        return {"utf16": list(units)}


def units_of(text):
    if isinstance(text, dict) and list(text) == ["utf16"] and isinstance(text["utf16"], list):
        return [Number(2).write(unit) and unit for unit in text["utf16"]]
    if not isinstance(text, str):
        raise Refused("payload")
    data = text.encode("utf-16-le", "surrogatepass")
    return list(struct.unpack("<%dH" % (len(data) // 2), data))


def count_of(reader, least):
    """Reads a count, which must fit the remaining bytes."""
    count = reader.number(4)
    if count * least > reader.left():
        raise Refused("payload")
    return count


def write_units(units):
    return struct.pack("<I", len(units)) + struct.pack("<%dH" % len(units), *units)


class String:
    """A count of units with the NUL. Absent (no units) is null, unlike empty."""
    least = 4

    def read(self, reader):
        count = count_of(reader, 2)
        if count == 0:
            return None
        units = struct.unpack("<%dH" % count, reader.take(2 * count))
        if units[-1] != 0:
            raise Refused("payload")
        return text_of(units[:-1])

    def write(self, value):
        return write_units([] if value is None else units_of(value) + [0])


class Array:
    least = 4

    def __init__(self, item):
        self.item = item

    def read(self, reader):
        return [self.item.read(reader) for _ in range(count_of(reader, self.item.least))]

    def write(self, value):
        if not isinstance(value, list):
            raise Refused("payload")
        return struct.pack("<I", len(value)) + b"".join(map(self.item.write, value))


def from_hex(text):
    if not isinstance(text, str) or not re.fullmatch("([0-9A-Fa-f]{2})*", text):
        raise Refused("payload")
    return bytes.fromhex(text)


class Bytes:
    """array<byte>"""
    least = 4

    def read(self, reader):
        return reader.take(count_of(reader, 1)).hex()

    def write(self, value):
        data = from_hex(value)
        return struct.pack("<I", len(data)) + data


class Fields:
    """Fields in order, without padding."""

    def __init__(self, *fields):
        self.fields = fields
        self.least = sum(kind.least for _, kind in fields)

    def read(self, reader):
        return {name: kind.read(reader) for name, kind in self.fields}

    def write(self, value):
        check_keys(value, [name for name, _ in self.fields])
        return b"".join(kind.write(value[name]) for name, kind in self.fields)


def is_same(one, other):
    """Compares values as JSON, because in Python True equals 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def check_keys(value, keys):
    if not isinstance(value, dict) or set(value) != set(keys):
        raise Refused("payload")


BYTE, USHORT, UINT, ULONG = Number(1), Number(2), Number(4), Decimal(8)
HRESULT, BOOL, STRING, GUID = HResult(4), Bool(), String(), Guid()

EVENT_FILTER = Fields(("enable", BOOL), ("event_ids", Array(UINT)))
TRACEPOINT_SET = Fields(("tracepoint_name", STRING), ("event_ids", Array(UINT)))
TRACEPOINT_CONFIG = Fields(("default_tracepoint_name", STRING), ("tracepoints", Array(TRACEPOINT_SET)))
PROVIDER = (("keywords", ULONG), ("logLevel", UINT), ("provider_name", STRING), ("arguments", STRING))
PROVIDER_CONFIG = Fields(*PROVIDER)
STREAMING_PROVIDER = Fields(*PROVIDER, ("filter", EVENT_FILTER))
USER_EVENTS_PROVIDER = Fields(*PROVIDER, ("filter", EVENT_FILTER), ("config", TRACEPOINT_CONFIG))
DRAFT_PROVIDER = Fields(*PROVIDER[:3], ("filter_data", STRING))

BUFFER = ("circularBufferMB", UINT), ("format", UINT)
PROVIDERS = ("providers", Array(PROVIDER_CONFIG))
STACKWALK = ("requestStackwalk", BOOL)
STREAMING = (
    ("session_type", UINT), ("streaming_circularBufferMB", UINT), ("streaming_format", UINT), ("rundownKeyword", ULONG), STACKWALK,
    ("providers", Array(STREAMING_PROVIDER)),
)
USER_EVENTS = ("session_type", UINT), ("rundownKeyword", ULONG), ("providers", Array(USER_EVENTS_PROVIDER))


class Session:
    """The payload of CollectTracing5 and 6, whose first field determines the others."""

    def __init__(self, *more):
        self.kinds = {0: Fields(*STREAMING, *more), 1: Fields(*USER_EVENTS)}

    def kind(self, session_type):
        if isinstance(session_type, bool) or session_type not in self.kinds:
            raise Refused("payload")
        return self.kinds[session_type]

    def read(self, reader):
        kind = self.kind(reader.number(4))
        reader.at -= 4
        return kind.read(reader)

    def write(self, value):
        session_type = value.get("session_type") if isinstance(value, dict) else None
        return self.kind(session_type if isinstance(session_type, int) else None).write(value)


NOTHING = Fields()
REQUESTS = {
    "Dump/GenerateCoreDump": Fields(("dumpName", STRING), ("dumpType", UINT), ("diagnostics", UINT)),
    "Dump/GenerateCoreDump2": Fields(("dumpName", STRING), ("dumpType", UINT), ("flags", UINT)),
    "Dump/GenerateCoreDump3": Fields(("dumpName", STRING), ("dumpType", UINT), ("flags", UINT)),
    "EventPipe/StopTracing": Fields(("sessionId", ULONG)),
    "EventPipe/CollectTracing": Fields(*BUFFER, PROVIDERS),
    "EventPipe/CollectTracing2": Fields(*BUFFER, ("requestRundown", BOOL), PROVIDERS),
    "EventPipe/CollectTracing3": Fields(*BUFFER, ("requestRundown", BOOL), STACKWALK, PROVIDERS),
    "EventPipe/CollectTracing4": Fields(*BUFFER, ("rundownKeyword", ULONG), STACKWALK, PROVIDERS),
    "EventPipe/CollectTracing5": Session(),
    "EventPipe/CollectTracing6": Session(("sessionBufferMode", UINT)),
    "Profiler/AttachProfiler": Fields(
        ("attachTimeout", UINT), ("profilerGuid", GUID), ("profilerPath", STRING), ("clientData", Bytes())),
    "Profiler/StartupProfiler": Fields(("profilerGuid", GUID), ("profilerPath", STRING)),
    "Process/SetEnvironmentVariable": Fields(("name", STRING), ("value", STRING)),
    "Process/EnablePerfMap": Fields(("perfMapType", UINT)),
    "Process/ApplyStartupHook": Fields(("startupHookPath", STRING)),
}
DRAFT_COLLECT = Fields(("circularBufferMB", UINT), ("outputPath", STRING), ("providers", Array(DRAFT_PROVIDER)))

INFO = (
    ("processId", ULONG), ("runtimeCookie", GUID), ("commandLine", STRING), ("OS", STRING), ("arch", STRING))
INFO2 = *INFO, ("managedEntrypointAssemblyName", STRING), ("clrProductVersion", STRING)


class VersionedInfo(Fields):
    """The reply to ProcessInfo3: fields appended by a later version are kept."""

    def __init__(self):
        super().__init__(("version", UINT), *INFO2, ("runtimeIdentifier", STRING))

    def read(self, reader):
        value = super().read(reader)
        tail = reader.take(reader.left())
        return {**value, "tail": tail.hex()} if tail else value

    def write(self, value):
        tail = value.get("tail") if isinstance(value, dict) else None
        if tail is None:
            return super().write(value)
        return super().write({key: item for key, item in value.items() if key != "tail"}) + from_hex(tail)


REPLIES = {
    "Process/ProcessInfo": Fields(*INFO),
    "Process/ProcessInfo2": Fields(*INFO2),
    "Process/ProcessInfo3": VersionedInfo(),
    "Process/ProcessEnvironment": Fields(("nIncomingBytes", UINT), ("future", USHORT)),
}
SESSION_ID = Fields(("sessionId", ULONG))
RESULT = Fields(("hresult", HRESULT))
ERROR_TEXT = Fields(("hresult", HRESULT), ("message", STRING))

PIECES = {
    "byte": BYTE, "ushort": USHORT, "uint": UINT, "ulong": ULONG, "hresult": HRESULT, "bool": BOOL, "wchar": USHORT,
    "string": STRING, "guid": GUID, "clsid": GUID, "array<byte>": Bytes(), "array<wchar>": Array(USHORT),
    "array<uint>": Array(UINT), "array<string>": Array(STRING), "event_filter": EVENT_FILTER, "tracepoint_set": TRACEPOINT_SET,
    "tracepoint_config": TRACEPOINT_CONFIG, "provider_config": PROVIDER_CONFIG, "streaming_provider_config": STREAMING_PROVIDER,
    "user_events_provider_config": USER_EVENTS_PROVIDER,
    "old-request": Fields(("RequestType", UINT), ("Pid", UINT)),
}


# Messages.

def payload_of(wire):
    """Returns set, id and payload of the single message in `wire`."""
    if wire[:len(MAGIC)] != MAGIC[:len(wire)]:
        raise Refused("header")
    if len(wire) < HEADER_LENGTH:
        raise Refused("transport")
    size, command_set, command_id, _ = struct.unpack_from("<HBBH", wire, len(MAGIC))
    if size < HEADER_LENGTH or size != len(wire):
        raise Refused("transport")
    return command_set, command_id, wire[HEADER_LENGTH:]


def message(command_set, command_id, payload):
    size = HEADER_LENGTH + len(payload)
    if size > LARGEST_MESSAGE:
        raise Refused("transport")
    return MAGIC + struct.pack("<HBBH", size, command_set, command_id, 0) + payload


def reply_kind(command):
    if command in REPLIES:
        return REPLIES[command]
    return SESSION_ID if command in COMMANDS and command.startswith("EventPipe/") else RESULT


def is_empty_text(value):
    """Returns whether a runtime sees no name: the text is absent, or white space of C up to its end or first NUL."""
    if value is None:
        return True
    units = units_of(value)
    return all(unit in (9, 10, 11, 12, 13, 32) for unit in units[:(units + [0]).index(0)])


def bytes_before_nul(text):
    """Returns how many bytes of UTF-8 a name has, up to its first NUL."""
    units = units_of(text)
    units = units[:units.index(0)] if 0 in units else units
    return len(struct.pack("<%dH" % len(units), *units).decode("utf-16-le", "replace").encode("utf-8"))


def check_tracepoints(config):
    sets = config["tracepoints"]
    if config["default_tracepoint_name"] is None and not sets:
        return False
    names = [config["default_tracepoint_name"]] + [one["tracepoint_name"] for one in sets]
    if any(is_empty_text(name) for name in names[1:]):
        return False
    if any(name is not None and bytes_before_nul(name) > 436 for name in names):
        return False
    ids = [number for one in sets for number in one["event_ids"]]
    return len(ids) == len(set(ids))


def within_limits(command, value):
    """Returns whether a server would accept a value that decodes."""
    if command.startswith("EventPipe/CollectTracing"):
        for prefix in "", "streaming_":
            if value.get(prefix + "circularBufferMB") == 0 or value.get(prefix + "format", 0) > 1:
                return False
        if not 1 <= len(value["providers"]) <= 1000 or value.get("sessionBufferMode", 0) > 1:
            return False
        return all(
            one["logLevel"] <= 5 and not is_empty_text(one["provider_name"]) and check_tracepoints(one.get("config", {
                "default_tracepoint_name": "none is asked for", "tracepoints": []}))
            for one in value["providers"])
    if command.startswith("Dump/"):
        return value["dumpName"] is not None and 1 <= value["dumpType"] <= 4
    if command == "Process/EnablePerfMap":
        # Runtimes compare it as a signed number (P-44).
        return 1 <= value["perfMapType"] <= 3 or value["perfMapType"] >= 0x80000000
    if command == "Process/SetEnvironmentVariable":
        return value["name"] is not None
    if command == "Process/ApplyStartupHook":
        return value["startupHookPath"] is not None
    return True


def decode_request(kind, command, wire):
    command_set, command_id, payload = payload_of(wire)
    name = NAMES.get((command_set, command_id))
    if kind == "unknown" and name is None:
        return {"code": "0x%02X%02X" % (command_set, command_id), "payload": payload.hex()}
    if name is None or name != command:
        raise Refused("header")
    if kind == "legacy-request":
        return DRAFT_COLLECT.read(Reader(payload))
    value = REQUESTS.get(name, NOTHING).read(Reader(payload))
    if not within_limits(name, value):
        raise Refused("limits", value)
    return value


def encode_request(kind, command, value):
    if kind == "unknown":
        check_keys(value, ["code", "payload"])
        if not isinstance(value["code"], str) or not re.fullmatch("0x[0-9A-Fa-f]{4}", value["code"]):
            raise Refused("payload")
        code = bytes.fromhex(value["code"][2:])
        return message(code[0], code[1], from_hex(value["payload"]))
    payload = DRAFT_COLLECT if kind == "legacy-request" else REQUESTS.get(command, NOTHING)
    return message(*COMMANDS[command], payload.write(value))


def decode_reply(kind, command, wire):
    command_set, command_id, payload = payload_of(wire)
    if command_set != SERVER_SET or command_id not in (OK, ERROR):
        raise Refused("reply")
    if (command_id == ERROR) != (kind == "error"):
        raise Refused("reply")
    reader = Reader(payload)
    if kind == "error":
        value = RESULT.read(reader)
        if command == "Dump/GenerateCoreDump3" and reader.left():
            value["message"] = STRING.read(reader)
        return value
    return reply_kind(command).read(reader) if payload else {}


def encode_reply(kind, command, value):
    if kind == "error":
        return message(SERVER_SET, ERROR, (ERROR_TEXT if isinstance(value, dict) and "message" in value else RESULT).write(value))
    return message(SERVER_SET, OK, b"" if value == {} else reply_kind(command).write(value))


ADVERTISE = Fields(("runtimeCookie", GUID), ("processId", ULONG), ("future", USHORT))


def decode_advertise(wire):
    if wire[:len(ADVERTISE_MAGIC)] != ADVERTISE_MAGIC[:len(wire)]:
        raise Refused("header")
    if len(wire) != ADVERTISE_LENGTH:
        raise Refused("transport")
    return ADVERTISE.read(Reader(wire[len(ADVERTISE_MAGIC):]))


# What follows a reply.

def is_error_message(data):
    if len(data) < HEADER_LENGTH + 4 or data[:len(MAGIC)] != MAGIC:
        return False
    size, command_set, command_id = struct.unpack_from("<HBB", data, len(MAGIC))
    return size >= HEADER_LENGTH + 4 and (command_set, command_id) == (SERVER_SET, ERROR)


def environment_count(reader, least):
    """Reads a count of the block; an impossible count may be the start of an error message."""
    rest = reader.data[reader.at:]
    count = reader.number(4)
    if count * least > reader.left():
        raise Refused("reply" if is_error_message(rest) else "payload")
    return count


def split_entry(units):
    equals = next((index for index, unit in enumerate(units) if unit == ord("=") and index > 0), None)
    if equals is None:
        return {"name": text_of(units), "value": None}
    return {"name": text_of(units[:equals]), "value": text_of(units[equals + 1:])}


def decode_environment(wire):
    reader, entries = Reader(wire), []
    for _ in range(environment_count(reader, 4)):
        count = environment_count(reader, 2)
        units = struct.unpack("<%dH" % count, reader.take(2 * count))
        terminated = count > 0 and units[-1] == 0
        entries.append(split_entry(units[:-1] if terminated else units))
        if not terminated:
            entries[-1]["terminated"] = False
    if reader.left():
        raise Refused("transport")
    return entries


def encode_environment(value):
    if not isinstance(value, list):
        raise Refused("payload")
    data = struct.pack("<I", len(value))
    for entry in value:
        terminated = "terminated" not in entry if isinstance(entry, dict) else True
        check_keys(entry, ["name", "value"] if terminated else ["name", "value", "terminated"])
        units = units_of(entry["name"])
        if entry["value"] is not None:
            units += [ord("=")] + units_of(entry["value"])
        # Other parts would decode differently.
        parts = {key: text if text is None else text_of(units_of(text)) for key, text in entry.items() if key != "terminated"}
        if not is_same(split_entry(units), parts) or (not terminated and (entry["terminated"] is not False or units[-1:] == [0])):
            raise Refused("payload")
        data += write_units(units + [0] if terminated else units)
    return data


FAST = b"\x14\0\0\0!FastSerialization.1"
NETTRACE, BLOCKS = b"Nettrace" + FAST, b"Nettrace\0\0\0\0"


def decode_stream_start(wire):
    if wire.startswith(NETTRACE):
        return {"start": "nettrace", "rest": wire[len(NETTRACE):].hex()}
    if wire.startswith(BLOCKS) and len(wire) >= 20:
        major, minor = struct.unpack_from("<II", wire, 12)
        return {"start": "nettrace-blocks", "major": major, "minor": minor, "rest": wire[20:].hex()}
    if wire.startswith(FAST):
        return {"start": "netperf", "rest": wire[len(FAST):].hex()}
    more = wire.startswith(BLOCKS) or any(whole.startswith(wire) for whole in (NETTRACE, BLOCKS, FAST))
    return {"start": "need-more" if more else "opaque", "rest": wire.hex()}


def encode_stream_start(value):
    blocks = isinstance(value, dict) and value.get("start") == "nettrace-blocks"
    check_keys(value, ["start", "major", "minor", "rest"] if blocks else ["start", "rest"])
    fronts = {"nettrace": NETTRACE, "netperf": FAST, "need-more": b"", "opaque": b"", "nettrace-blocks": BLOCKS}
    if not isinstance(value["start"], str) or value["start"] not in fronts:
        raise Refused("payload")
    numbers = UINT.write(value["major"]) + UINT.write(value["minor"]) if blocks else b""
    wire = fronts[value["start"]] + numbers + from_hex(value["rest"])
    if not is_same(decode_stream_start(wire), value):
        raise Refused("payload")
    return wire


# user_events.

USER_REG = (
    ("size", UINT), ("enable_bit", BYTE), ("enable_size", BYTE), ("flags", USHORT), ("enable_addr", ULONG), ("name_args", ULONG),
    ("write_index", UINT))
USER_UNREG = ("size", UINT), ("disable_bit", BYTE), ("reserved", BYTE), ("reserved2", USHORT), ("disable_addr", ULONG)


class KernelStruct(Fields):
    def __init__(self, fields, padding):
        super().__init__(*fields)
        self.padding = padding  # by `size`

    def read(self, reader):
        value = super().read(reader)
        if value["size"] not in self.padding or any(reader.take(self.padding[value["size"]])):
            raise Refused("payload")
        return value

    def write(self, value):
        data = super().write(value)
        if value["size"] not in self.padding:
            raise Refused("payload")
        return data + bytes(self.padding[value["size"]])


PIECES["user_reg"] = KernelStruct(USER_REG, {28: 0, 32: 4})
PIECES["user_unreg"] = KernelStruct(USER_UNREG, {16: 0})

TRACEPOINT_FIELDS = b" u8 version; u16 event_id; __rel_loc u8[] extension; __rel_loc u8[] payload"
LONGEST_NAME = 436


def decode_tracepoint_command(wire):
    name, space, fields = wire.partition(b" ")
    if not name or len(name) > LONGEST_NAME or b"\0" in name or space + fields != TRACEPOINT_FIELDS:
        raise Refused("payload")
    try:
        return {"tracepoint_name": name.decode("utf-8")}
    except UnicodeDecodeError:
        raise Refused("payload") from None


def encode_tracepoint_command(value):
    check_keys(value, ["tracepoint_name"])
    units = units_of(value["tracepoint_name"]) if value["tracepoint_name"] is not None else []
    text = text_of(units)
    if not units or not isinstance(text, str) or " " in text or "\0" in text or len(text.encode()) > LONGEST_NAME:
        raise Refused("payload")
    return text.encode() + TRACEPOINT_FIELDS


RECORD_LENGTH = 15


def decode_record(wire):
    reader = Reader(wire)
    value = {"write_index": reader.number(4), "version": reader.number(1)}
    if value["version"] != 1:
        return {**value, "rest": reader.take(reader.left()).hex()}
    value["event_id"] = reader.number(2)
    for name in "extension", "payload":
        location = reader.number(4)
        start, length = reader.at + (location & 0xFFFF), location >> 16
        value[name] = start, start + length
    for name in "extension", "payload":
        start, end = value[name]
        if start < RECORD_LENGTH or end > len(wire):
            raise Refused("payload")
        value[name] = wire[start:end].hex()
    return value


def encode_record(value):
    if isinstance(value, dict) and not is_same(value.get("version"), 1):
        check_keys(value, ["write_index", "version", "rest"])
        return UINT.write(value["write_index"]) + BYTE.write(value["version"]) + from_hex(value["rest"])
    check_keys(value, ["write_index", "version", "event_id", "extension", "payload"])
    extension, payload = from_hex(value["extension"]), from_hex(value["payload"])
    if max(len(extension), len(payload)) > 0xFFFF:
        raise Refused("payload")
    # An offset counts from the end of its own field, past the other field and the extension.
    locations = struct.pack("<II", len(extension) << 16 | 4, len(payload) << 16 | len(extension))
    return UINT.write(value["write_index"]) + b"\x01" + USHORT.write(value["event_id"]) + locations + extension + payload


def decode_extension(wire):
    reader, parts = Reader(wire), []
    while reader.left():
        label = reader.number(1)
        if label == 1:
            parts.append({"label": label, "metadata": Bytes().read(reader)})
        elif label in (2, 3):
            parts.append({"label": label, "guid": GUID.read(reader)})
        else:
            parts.append({"label": label, "rest": reader.take(reader.left()).hex()})
    return parts


def encode_extension(value):
    if not isinstance(value, list):
        raise Refused("payload")
    data = b""
    for index, part in enumerate(value):
        label = part.get("label") if isinstance(part, dict) else None
        name, kind = ("metadata", Bytes()) if label == 1 else ("guid", GUID) if label in (2, 3) else ("rest", None)
        check_keys(part, ["label", name])
        if kind is None and index + 1 < len(value):
            raise Refused("payload")
        data += BYTE.write(label) + (kind.write(part[name]) if kind else from_hex(part[name]))
    return data


# The protocol before this one, and the draft's errors.

def decode_old_reply(wire):
    if len(wire) not in (4, 8):
        raise Refused("transport" if len(wire) > 8 else "payload")
    number = int.from_bytes(wire, "little")
    return {"bits": 8 * len(wire), "sessionId": str(number) if number else None}


def encode_old_reply(value):
    check_keys(value, ["bits", "sessionId"])
    if value["bits"] not in (32, 64) or value["sessionId"] == "0":
        raise Refused("payload")
    return Decimal(value["bits"] // 8).write("0" if value["sessionId"] is None else value["sessionId"])


DRAFT_ERRORS = {
    0: ("OK", "0x00000000"), 1: ("BadEncoding", "0x80131384"), 2: ("UnknownCommand", "0x80131385"),
    3: ("UnknownMagic", "0x80131386"), 4: ("BadInput", None), 0xFFFFFFFF: ("UnknownError", "0x80131387")}


def decode_draft_error(wire):
    code = Reader(wire).number(4)
    name, hresult = DRAFT_ERRORS.get(code, (None, None))
    return {"code": code, "name": name, "hresult": hresult}


def encode_draft_error(value):
    check_keys(value, ["code", "name", "hresult"])
    wire = UINT.write(value["code"])
    if not is_same(decode_draft_error(wire), value):
        raise Refused("payload")
    return wire


# Texts: ports, and names of sockets and pipes.

def utf8(wire):
    try:
        return wire.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("payload") from None


WHITE_SPACE = " \t\n\v\f\r"


def parts_of(text, mark, offset):
    """Returns the parts between marks, each with its offset in bytes."""
    for part in text.split(mark):
        yield offset, part
        offset += len(part.encode()) + 1


def ascii_lower(text):
    return "".join(chr(ord(letter) + 32) if "A" <= letter <= "Z" else letter for letter in text)


def read_port(offset, text, ignored):
    """Reads a port, or returns None; ignored parts go to `ignored`."""
    address, suspend, kind, here = None, None, None, []

    def ignore(place, part, reason):
        here.append({"offset": place, "text": part, "reason": reason})

    for place, field in parts_of(text, ",", offset):
        tag = ascii_lower(field)
        if not field:
            ignore(place, field, "empty_field")
        elif address is None:
            address = field
        elif tag in ("suspend", "nosuspend"):
            if suspend is None:
                suspend = tag == "suspend"
            else:
                ignore(place, field, "later_tag")
        elif tag in ("connect", "listen"):
            if kind is None:
                kind = tag
            else:
                ignore(place, field, "later_tag")
        else:
            ignore(place, field, "unknown_tag")
    if address is None or not address.strip(WHITE_SPACE):
        ignored.append({"offset": offset, "text": text, "reason": "no_address"})
    elif kind == "listen":
        ignored.append({"offset": offset, "text": text, "reason": "listen_port"})
    else:
        ignored.extend(here)
        return {"address": address, "suspend": suspend is not False, "type": "connect"}
    return None


def decode_ports(wire):
    text, nul, behind = utf8(wire).partition("\0")
    ports, ignored = [], []
    for offset, part in parts_of(text, ";", 0) if text else ():
        if part:
            port = read_port(offset, part, ignored)
            ports[:0] = [port] if port else []
        else:
            ignored.append({"offset": offset, "text": part, "reason": "empty_port"})
    if nul:
        ignored.append({"offset": len(text.encode()), "text": nul + behind, "reason": "behind_nul"})
    return {"ports": ports, "ignored": ignored}


def decode_strict_ports(wire):
    text, ports = utf8(wire), []
    if "\0" in text:
        raise Refused("payload")
    for part in text.split(";"):
        address, *tags = part.split(",")
        if not address.strip(WHITE_SPACE) or address[:9].lower() == "\\\\.\\pipe\\":
            raise Refused("payload")
        if any(tag not in ("suspend", "nosuspend", "connect") for tag in tags):
            raise Refused("payload")
        modes = [tag for tag in tags if tag != "connect"]
        ports.insert(0, {"address": address, "suspend": modes[:1] != ["nosuspend"], "type": "connect"})
    return {"ports": ports}


def encode_ports(value, strict):
    # Ignored parts are not written.
    check_keys(value, ["ports"] if strict else ["ports", "ignored"])
    if not isinstance(value["ports"], list):
        raise Refused("payload")
    texts = []
    for port in value["ports"]:
        check_keys(port, ["address", "suspend", "type"])
        address = port["address"]
        if not isinstance(address, str) or not isinstance(port["suspend"], bool) or port["type"] != "connect":
            raise Refused("payload")
        texts.insert(0, address + ("" if port["suspend"] else ",nosuspend"))
    try:
        wire = ";".join(texts).encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("payload") from None
    if (decode_strict_ports(wire) if strict else decode_ports(wire))["ports"] != value["ports"]:
        raise Refused("payload")
    return wire


def decode_default_suspend(wire):
    """Parses like C's strtoul with base 16 and 32 bits; a larger value is not a number."""
    number = re.match(r"[ \t\n\v\f\r]*[+-]?(?:0[xX](?=[0-9A-Fa-f]))?([0-9A-Fa-f]+)", utf8(wire))
    return bool(number) and 0 < int(number[1], 16) <= 0xFFFFFFFF


PIPE_DIRECTORY = "\\\\.\\pipe\\"
PREFIX = "(dotnet-diagnostic-dsrouter-|dotnet-diagnostic-|dotnetcore-diagnostic-)"
PLAIN = "(0|[1-9][0-9]*)"


def plain_number(text, bits):
    number = int(text)
    if number >> bits:
        raise Refused("payload")
    return number


def decode_socket_name(wire):
    found = re.fullmatch(PREFIX + PLAIN + "-" + PLAIN + "(-socket)?", utf8(wire), re.ASCII)
    if not found:
        raise Refused("payload")
    pid, key = plain_number(found[2], 32), str(plain_number(found[3], 64))
    return {"prefix": found[1], "pid": pid, "key": key, "socket": found[4] is not None}


def encode_socket_name(value):
    check_keys(value, ["prefix", "pid", "key", "socket"])
    suffix = "-socket" if value["socket"] else ""
    return as_read("%s%s-%s%s" % (value["prefix"], value["pid"], value["key"], suffix), decode_socket_name, value)


def decode_pipe_name(wire):
    text = utf8(wire)
    path = text.startswith(PIPE_DIRECTORY)
    found = re.fullmatch(PREFIX + PLAIN, text[len(PIPE_DIRECTORY):] if path else text, re.ASCII)
    if not found:
        raise Refused("payload")
    return {"prefix": found[1], "pid": plain_number(found[2], 32), "path": path}


def encode_pipe_name(value):
    check_keys(value, ["prefix", "pid", "path"])
    return as_read("%s%s%s" % (PIPE_DIRECTORY if value["path"] else "", value["prefix"], value["pid"]), decode_pipe_name, value)


def decode_process_stat(wire):
    """Parses a stat. Its name, which may be any bytes, ends with the last parenthesis; white space separates fields."""
    front, parenthesis, rest = wire.rpartition(b")")
    pid = re.match(b"[^ \t\n\f\r]*", front)[0]
    # These are fields 3 to 22, and the white space after them.
    fields = re.fullmatch(b"[ \t\n\f\r]*(?:[^ \t\n\f\r]+[ \t\n\f\r]+){19}([^ \t\n\f\r]+)[ \t\n\f\r].*", rest, re.DOTALL)
    if not parenthesis or not fields or not all(re.fullmatch(PLAIN.encode(), text) for text in (pid, fields[1])):
        raise Refused("payload")
    return {"pid": plain_number(pid, 32), "startTime": str(plain_number(fields[1], 64))}


def encode_process_stat(value):
    check_keys(value, ["pid", "startTime"])
    return as_read("%s () S %s%s\n" % (value["pid"], "0 " * 18, value["startTime"]), decode_process_stat, value)


def as_read(text, decode, value):
    """Returns the bytes of `text`, which must be read as `value`."""
    try:
        wire = text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("payload") from None
    if not is_same(decode(wire), value):
        raise Refused("payload")
    return wire


def encode_default_suspend(value):
    return b"1" if BOOL.write(value) == b"\x01" else b"0"


OTHERS = {
    "advertise": (decode_advertise, lambda value: ADVERTISE_MAGIC + ADVERTISE.write(value)),
    "environment": (decode_environment, encode_environment),
    "stream-start": (decode_stream_start, encode_stream_start),
    "tracepoint-command": (decode_tracepoint_command, encode_tracepoint_command),
    "user_events-record": (decode_record, encode_record),
    "extension": (decode_extension, encode_extension),
    "old-reply": (decode_old_reply, encode_old_reply),
    "legacy-error": (decode_draft_error, encode_draft_error),
    "ports": (decode_ports, lambda value: encode_ports(value, strict=False)),
    "ports-strict": (decode_strict_ports, lambda value: encode_ports(value, strict=True)),
    "default-port-suspend": (decode_default_suspend, encode_default_suspend),
    "socket-name": (decode_socket_name, encode_socket_name),
    "pipe-name": (decode_pipe_name, encode_pipe_name),
    "process-stat": (decode_process_stat, encode_process_stat),
}
REQUEST_TYPES, REPLY_TYPES = ("request", "unknown", "legacy-request"), ("reply", "error")


def decode(kind, command, wire):
    if kind in REQUEST_TYPES:
        return decode_request(kind, command, wire)
    if kind in REPLY_TYPES:
        return decode_reply(kind, command, wire)
    if kind in OTHERS:
        return OTHERS[kind][0](wire)
    if kind in PIECES:
        return PIECES[kind].read(Reader(wire))
    raise Unsupported(kind)


def encode(kind, command, value):
    if kind in REQUEST_TYPES:
        return encode_request(kind, command, value)
    if kind in REPLY_TYPES:
        return encode_reply(kind, command, value)
    if kind in OTHERS:
        return OTHERS[kind][1](value)
    if kind in PIECES:
        return PIECES[kind].write(value)
    raise Unsupported(kind)


# The line protocol.

def answer_to(request):
    kind, command = request["type"], request["command"]
    if command is not None and command not in COMMANDS:
        raise Unsupported(command)
    if request["op"] == "encode":
        return {"result": "ok", "wire": encode(kind, command, request["value"]).hex()}
    if request["op"] != "decode":
        raise Unsupported(request["op"])
    wire = bytes.fromhex(request["wire"])
    value = decode(kind, command, wire)
    return {"result": "ok", "value": value, "canonical": encode(kind, command, value) == wire}


def main():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = answer_to(request)
        except Refused as refused:
            answer = {"result": "error", "layer": refused.layer}
            if refused.layer == "limits":
                answer["value"] = refused.value
        except Unsupported:
            answer = {"result": "unsupported"}
        print(json.dumps({"id": request["id"], **answer}), flush=True)


if __name__ == "__main__":
    main()
