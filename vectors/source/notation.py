"""The notation in which the vectors are written.

Every byte of a vector is written here field by field, in the order of the wire: `u32(250)`, `string("MyEventSource")`.
Nothing in this directory knows a message: each test writes out its fields in order. No code is shared with the Rust crate, so that the
crate is checked against something that it did not produce.
"""
import functools
import json
import os
import re
import struct
import uuid

MAGIC = b"DOTNET_IPC_V1\0"
HERE = os.path.dirname(os.path.abspath(__file__))
EVIDENCE = os.path.join(HERE, "..", "..", "diagipc", "evidence")


# --- fields, all little-endian -------------------------------------------------------------------------------------
def u8(n):
    return struct.pack("<B", n)


def u16(n):
    return struct.pack("<H", n)


def u32(n):
    return struct.pack("<I", n)


def u64(n):
    return struct.pack("<Q", n)


def boolean(b):
    """One byte; an integer gives a byte other than 0 and 1."""
    return u8(int(b))


def units(*values):
    """UTF-16 code units as they are, without a length and without a NUL."""
    return b"".join(u16(v) for v in values)


def utf16(text):
    """Text as UTF-16LE, without a length and without a NUL."""
    return text.encode("utf-16-le")


def string(text):
    """`string`: None is absent (length 0); text gets its NUL, which the length counts."""
    if text is None:
        return u32(0)
    body = utf16(text)
    return u32(len(body) // 2 + 1) + body + u16(0)


def array(*items):
    """`array<T>` of the given encoded items."""
    return u32(len(items)) + b"".join(items)


def guid(text):
    """Three little-endian integers, then eight bytes in the order of the text."""
    return uuid.UUID(text).bytes_le


def hexa(text):
    """Bytes written out: `hexa("01 02 ff")`."""
    return bytes.fromhex(text)


class Message(bytes):
    """The bytes of a message, or its first bytes, with the code and size of its header."""
    def __new__(cls, data, code, size, reserved):
        self = super().__new__(cls, data)
        self.code, self.size, self.reserved = code, size, reserved
        return self

    def __getitem__(self, key):
        part = super().__getitem__(key)
        begins = isinstance(key, slice) and key.start in (None, 0) and key.step is None
        return Message(part, self.code, self.size, self.reserved) if begins else part


def header(code, size, reserved=0, magic=MAGIC):
    """The 20 bytes before every payload. `code` is 0xSSII: the set's byte, then the id's."""
    assert len(magic) == 14
    return Message(magic + u16(size) + u8(code >> 8) + u8(code & 0xFF) + u16(reserved), code, size, reserved)


def message(code, *fields, size=None, reserved=0, magic=MAGIC):
    """A header, then the fields. `size` only if it must be wrong."""
    payload = b"".join(fields)
    size = 20 + len(payload) if size is None else size
    return Message(header(code, size, reserved, magic) + payload, code, size, reserved)


def equivalents(wire, value):
    """Returns the other right bytes of a value with providers: all their missing arguments written as length 0, or all as length 1. Runtimes do the
    same with both, and most encoders can write only one (F-83). Arguments come after three fields that are the same in every command."""
    found = []
    for form in (None, ""):
        changed, rest = b"", wire
        for provider in value.get("providers", [value]):
            arguments = provider.get("arguments", provider.get("filter_data", "no provider"))
            if not arguments:
                front = u64(int(provider["keywords"])) + u32(provider["logLevel"]) + string(provider["provider_name"])
                before, written, rest = rest.partition(front + string(arguments))
                assert written, provider
                changed += before + front + string(form)
        other = changed + rest
        if wire.startswith(MAGIC):
            other = other[:14] + u16(len(other)) + other[16:]
        if other != wire:
            found.append(other.hex())
    return found


OK, ERROR = 0xFF00, 0xFFFF
# The outcomes of an accepted request; the second is for a profiler whose library does not exist (P-5).
TAKEN = ("OK", "0x8007007E")


# --- what each recorded build did in each case -----------------------------------------------------------------------
@functools.cache
def evidence():
    """Returns the outcomes of each recorded build, the newest of each family and system first, Windows last."""
    files = [json.load(open(os.path.join(EVIDENCE, name))) for name in os.listdir(EVIDENCE) if name.endswith(".json")]

    def place(file):
        system, family, version = re.fullmatch(r"((?:musl|arm64|macos|win)-)?([a-z]+)([0-9.]+)", file["build"]).groups(default="")
        systems = ["", "musl-", "arm64-", "macos-", "win-"].index(system)
        return system == "win-", ["net", "aot", "mono"].index(family), systems, [-int(number) for number in version.split(".")]
    return {file["build"]: file["outcomes"] for file in sorted(files, key=place)}


def went(case, *wanted):
    """Returns the builds that had one of these outcomes in a case."""
    return [build for build, outcomes in evidence().items() if outcomes.get(case) in wanted]


# --- files, groups, tests ------------------------------------------------------------------------------------------
class File:
    """One JSON file of vectors/. `first` and `last` bound its tcIds; an id keeps its meaning."""

    def __init__(self, name, title, first, last):
        self.name, self.title, self.first, self.last = name, title, first, last
        self.groups, self.ids = [], set()

    def group(self, name, *, type, source, made, direction=None, command=None, since=None, spec=(), edition=None, section=None,
              fact=None, runtime=None):
        origin = {"kind": source}
        for key, value in (("edition", edition), ("section", section), ("fact", fact), ("runtime", runtime)):
            if value is not None:
                origin[key] = value
        group = {"name": name, "type": type, "source": origin, "made": made, "direction": direction, "command": command,
                 "since": since, "spec": list(spec), "tests": []}
        assert all(g["name"] != name for g in self.groups), name
        self.groups.append(group)
        return Group(self, group)

    def document(self):
        assert all(group["tests"] for group in self.groups), f"{self.name} has a group without tests"
        return {"schema": "vectors.schema.json", "format": 1, "title": self.title, "numberOfTests": sum(len(g["tests"]) for g in self.groups),
                "groups": self.groups}

    def text(self):
        """Returns JSON with one line per test, so that a diff shows the changed tests."""
        def line(value):
            return json.dumps(value, ensure_ascii=True)

        document = self.document()
        groups = []
        for group in map(dict, document.pop("groups")):
            tests = group.pop("tests")
            head = ",\n".join(f"   {line(key)}: {line(value)}" for key, value in group.items())
            groups.append("  {\n" + head + ",\n   \"tests\": [\n" + ",\n".join("    " + line(test) for test in tests) + "\n   ]\n  }")
        head = ",\n".join(f" {line(key)}: {line(value)}" for key, value in document.items())
        return "{\n" + head + ",\n \"groups\": [\n" + ",\n".join(groups) + "\n ]\n}\n"

    def path(self):
        return os.path.join(HERE, "..", self.name + ".json")


class Group:
    def __init__(self, file, group):
        self.file, self.group, self.tests = file, group, group["tests"]

    def _add(self, tc, comment, wire, value, result, flags, canonical, error, hazard, acceptable_on, chunks, refusals=None):
        assert self.file.first <= tc <= self.file.last, f"tcId {tc} is outside of {self.file.name}"
        assert tc not in self.file.ids, f"tcId {tc} is used twice"
        assert hazard in (None, "side-effect", "harmful"), hazard
        assert chunks is None or sum(chunks) == len(wire), f"tcId {tc}: chunks do not add up"
        self.file.ids.add(tc)
        test = {"tcId": tc, "comment": comment, "flags": list(flags), "wire": None if wire is None else wire.hex(),
                "value": value, "result": result, "canonical": canonical, "hazard": hazard}
        case = f"requests/{self.file.name}/{tc}"
        if error and any(case in outcomes for outcomes in evidence().values()):
            assert not acceptable_on, f"tcId {tc}: the evidence says who takes it"
            acceptable_on = went(case, *TAKEN)
        if acceptable_on:
            test["acceptableOn"] = list(acceptable_on)
        if canonical and isinstance(value, dict) and (others := equivalents(wire, value)):
            test["equivalent"] = others
        if refusals is not None:
            test["refusals"] = [f"0x{code:08X}" for code in refusals]
        if error:
            test["error"] = error
        if chunks:
            test["chunks"] = list(chunks)
        self.tests.append(test)

    def valid(self, tc, comment, wire, value, *, flags=(), hazard=None, chunks=None, refusals=None):
        """The bytes decode to `value`, which encodes to exactly these bytes. `refusals` are the errors with which a server may refuse it."""
        self._add(tc, comment, wire, value, "valid", flags, True, None, hazard, None, chunks, refusals)

    def lenient(self, tc, comment, wire, value, *, flags=(), canonical=False, hazard=None, chunks=None, refusals=None):
        """The bytes must decode to `value` if they decode at all; a strict decoder may refuse them, and no encoder writes them."""
        self._add(tc, comment, wire, value, "acceptable", flags, canonical, None, hazard, None, chunks, refusals)

    def invalid(self, tc, comment, wire, layer, kind, offset, field, *, value=None, flags=(), hazard=None, taken_by=(), chunks=None):
        """The bytes must be refused. `value` is only for layer `limits`, where the bytes do decode. `taken_by` are runtimes that accept them,
        where no case of the server suite shows it."""
        # A server answers a wrong magic with UNKNOWN_MAGIC, and any other fault of the bytes with BAD_ENCODING.
        if self.group["direction"] == "client" and kind == "bad_magic":
            flags = [*flags, "LayerMatters"]
        if kind == "bytes_after_message" and self.group["type"] != "environment":
            flags = [*flags, "WholeMessage"]
        self._add(tc, comment, wire, value, "invalid", flags, value is not None and wire is not None, {"layer": layer, "kind": kind, "offset": offset,
                  "field": field}, hazard, taken_by, chunks)
