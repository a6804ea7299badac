"""Writes the assembly of a startup hook, after ECMA-335 II.22 to II.25."""
import struct


def padded(data, to):
    return data + bytes(-len(data) % to)


class Heap:
    """A heap of an assembly's metadata; adding an item returns its offset."""

    def __init__(self):
        self.data = b"\0"

    def add(self, data):
        offset, self.data = len(self.data), self.data + data
        return offset


def hook_assembly(letter, file, variable=None):
    """Returns a library whose StartupHook.Initialize is `File.AppendAllText(file, letter)`. With `variable` it appends the value of
    that environment variable."""
    strings, blobs, literals = Heap(), Heap(), Heap()

    def name(value):
        return strings.add(value.encode() + b"\0")

    def literal(value):
        data = value.encode("utf-16-le") + b"\0"
        assert len(data) < 0x4000
        length = struct.pack(">H", 0x8000 | len(data)) if len(data) > 0x7F else bytes([len(data)])
        return 0x70000000 | literals.add(length + data)

    # ldstr file; ldstr letter, or the name and call GetEnvironmentVariable; call AppendAllText; ret, after a tiny header
    code = struct.pack("<BIBI", 0x72, literal(file), 0x72, literal(variable or letter))
    code += struct.pack("<BI", 0x28, 0x0A000002) if variable else b""
    code += struct.pack("<BIB", 0x28, 0x0A000001, 0x2A)
    code = struct.pack("<B", len(code) << 2 | 2) + code
    base, code_at = 0x2000, 72
    metadata_at = code_at + len(padded(code, 4))
    tables = {
        0x00: [struct.pack("<HHHHH", 0, name(f"Hook{letter}.dll"), 1, 0, 0)],
        0x01: [struct.pack("<HHH", 1 << 2 | 2, name("Object"), name("System")),
               struct.pack("<HHH", 1 << 2 | 2, name("File"), name("System.IO")),
               struct.pack("<HHH", 1 << 2 | 2, name("Environment"), name("System"))],
        0x02: [struct.pack("<IHHHHH", 0, name("<Module>"), 0, 0, 1, 1),
               struct.pack("<IHHHHH", 0x181, name("StartupHook"), 0, 1 << 2 | 1, 1, 1)],
        0x06: [struct.pack("<IHHHHH", base + code_at, 0, 0x96, name("Initialize"), blobs.add(b"\x03\x00\x00\x01"), 1)],
        0x0A: [struct.pack("<HHH", 2 << 3 | 1, name("AppendAllText"), blobs.add(b"\x05\x00\x02\x01\x0e\x0e")),
               struct.pack("<HHH", 3 << 3 | 1, name("GetEnvironmentVariable"), blobs.add(b"\x04\x00\x01\x0e\x0e"))],
        0x20: [struct.pack("<IHHHHIHHH", 0x8004, 1, 0, 0, 0, 0, 0, name(f"Hook{letter}"), 0)],
        0x23: [struct.pack("<HHHHIHHHH", 4, 0, 0, 0, 0, 0, name("System.Private.CoreLib"), 0, 0)],
    }
    stream = struct.pack("<IBBBBQQ", 0, 2, 0, 0, 1, sum(1 << table for table in tables), 0)
    stream += b"".join(struct.pack("<I", len(rows)) for rows in tables.values())
    stream += b"".join(row for rows in tables.values() for row in rows)
    streams = {"#~": stream, "#Strings": strings.data, "#US": literals.data, "#GUID": bytes(range(16)), "#Blob": blobs.data}
    headers, offset = b"", 32 + sum(8 + len(padded(key.encode() + b"\0", 4)) for key in streams)
    for key, data in streams.items():
        headers += struct.pack("<II", offset, len(padded(data, 4))) + padded(key.encode() + b"\0", 4)
        offset += len(padded(data, 4))
    metadata = struct.pack("<4sHHII12sHH", b"BSJB", 1, 1, 0, 12, b"v4.0.30319", 0, len(streams)) + headers
    metadata += b"".join(padded(data, 4) for data in streams.values())
    # The CLI header, the code, the metadata: one section.
    section = struct.pack("<IHHIIII", 72, 2, 5, base + metadata_at, len(metadata), 1, 0).ljust(72, b"\0")
    section += padded(code, 4) + metadata
    raw = len(padded(section, 0x200))
    head = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 240, 0x2022)
    head += struct.pack("<HBBIIIIIQII", 0x20B, 11, 0, raw, 0, 0, 0, base, 0x180000000, 0x2000, 0x200)
    head += struct.pack("<HHHHHHIIIIHH", 4, 0, 0, 0, 4, 0, 0, 2 * base, 0x200, 0, 3, 0x8540)
    head += struct.pack("<QQQQII", 1 << 20, 1 << 14, 1 << 20, 1 << 13, 0, 16)
    head += bytes(14 * 8) + struct.pack("<II", base, 72) + bytes(8)
    head += struct.pack("<8sIIIIIIHHI", b".text", len(section), base, raw, 0x200, 0, 0, 0, 0, 0x60000020)
    return padded(head, 0x200) + padded(section, 0x200)
