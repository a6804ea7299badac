"""Data for the Linux kernel in a user_events session: registration and its end, records, their extensions.

A record is written as a runtime writes it, with its write_index; a reader of the tracepoint gets it without these four bytes. The integers
of kernel structures are little-endian, as on all machines except a few such as s390x.
Groups net10.0.9-user-events-* are data that a real runtime passed to a replacement of the kernel; `diagipc/tests/live/user_events.py
--record` wrote it to recorded/user_events-net10.0.9.json. The end of this file decodes them.
"""
import json
import os
import struct
import uuid

from notation import *

FILE = File("user_events", "user_events: registration, records, extensions", 17000, 17999)
MADE = "written field by field in source/user_events.py"
FIELDS = "u8 version; u16 event_id; __rel_loc u8[] extension; __rel_loc u8[] payload"
assert len(FIELDS) == 74


def derived(name, type, spec):
    return FILE.group("user-events-" + name, type=type, source="derived", made=MADE, spec=spec)


def printed(name, type, section, spec, made):
    return FILE.group("table-user-events-" + name, type=type, source="table", edition="10", section=section, spec=spec, made=made)


def corrected(name, type, section, fact, made):
    return FILE.group("corrected-user-events-" + name, type=type, source="corrected", edition="10", section=section, fact=fact,
                      spec=[fact], made=made)


def unencodable(g, tc, comment, value, kind, flags=()):
    """Adds a value that cannot be encoded. Only the kind of the refusal is known."""
    g._add(tc, comment, None, value, "invalid", flags, False,
           {"layer": "payload", "kind": kind, "offset": 0, "field": None}, None, None, None)


def literal(text, spelled):
    wire = hexa(text)
    assert wire == spelled, (wire.hex(), spelled.hex())
    return wire


# --- user_reg: 28 bytes of fields, then nothing or 4 bytes of zero ---------------------------------------------------
def user_reg(size, enable_bit, enable_size, flags, enable_addr, name_args, write_index):
    return u32(size) + u8(enable_bit) + u8(enable_size) + u16(flags) + u64(enable_addr) + u64(name_args) + u32(write_index)


def user_reg_value(enable_bit, enable_size, flags, enable_addr, name_args, write_index, size=28):
    return {"size": size, "enable_bit": enable_bit, "enable_size": enable_size, "flags": flags, "enable_addr": str(enable_addr),
            "name_args": str(name_args), "write_index": write_index}


ENABLE, NAME = 0x0102030405060708, 0x1112131415161718  # different bytes: shows a wrong order or width
REG = user_reg(28, 31, 4, 0, ENABLE, NAME, 7)
g = derived("reg", "user_reg", ["F-64"])
g.valid(17000, "packed, as the kernel has it (runtimes pass 17030's form): bit 31 of 4 bytes, no flags; the write index is set",
        literal("1c 00 00 00  1f  04  00 00  08 07 06 05 04 03 02 01  18 17 16 15 14 13 12 11  07 00 00 00", REG),
        user_reg_value(31, 4, 0, ENABLE, NAME, 7), flags=["Literal"])
g.valid(17001, "before the call: write index 0", user_reg(28, 31, 4, 0, 0x7FFC00001000, 0x7FFC00002000, 0),
        user_reg_value(31, 4, 0, 0x7FFC00001000, 0x7FFC00002000, 0))
g.valid(17002, "everything but the size zero", user_reg(28, 0, 0, 0, 0, 0, 0), user_reg_value(0, 0, 0, 0, 0, 0), flags=["Minimal"])
g.valid(17003, "everything but the size at its largest: nothing is signed",
        user_reg(28, 255, 255, 0xFFFF, 2**64 - 1, 2**64 - 1, 2**32 - 1),
        user_reg_value(255, 255, 0xFFFF, 2**64 - 1, 2**64 - 1, 2**32 - 1), flags=["MaxValue"])
g.valid(17004, "bit 63 of 8 bytes and a flag, which the runtime does not use: like any value",
        user_reg(28, 63, 8, 2, ENABLE, NAME, 0), user_reg_value(63, 8, 2, ENABLE, NAME, 0))
g.lenient(17005, "bytes after the structure are ignored", REG + hexa("de ad"), user_reg_value(31, 4, 0, ENABLE, NAME, 7),
          flags=["TrailingBytes"])
g.lenient(17006, "4 bytes of zero after a size of 28 are not padding: bytes after the structure", REG + bytes(4),
          user_reg_value(31, 4, 0, ENABLE, NAME, 7), flags=["TrailingBytes"])
for tc, size, why in ((17010, 16, "that of user_unreg"), (17011, 27, "one too small"),
                      (17013, 0, "zero"), (17014, 28 << 24, "28 in big-endian")):
    g.invalid(tc, f"the size is {why}", user_reg(size, 31, 4, 0, ENABLE, NAME, 7), "payload", "wrong_struct_size", 0, "size",
              flags=["WrongSize"])
g.invalid(17012, "the size is 32, that of a structure padded to 8 bytes, but the padding is missing",
          user_reg(32, 31, 4, 0, ENABLE, NAME, 7), "payload", "unexpected_end", 28, None, flags=["WrongSize", "Truncated"])
g.invalid(17020, "nothing", b"", "payload", "unexpected_end", 0, "size", flags=["Truncated"])
g.invalid(17021, "27 bytes of 28", REG[:27], "payload", "unexpected_end", 24, "write_index", flags=["Truncated"])
g.invalid(17022, "24 bytes: a structure without the write index", REG[:24], "payload", "unexpected_end", 24, "write_index",
          flags=["Truncated"])
g.invalid(17023, "the end inside name_args", REG[:20], "payload", "unexpected_end", 16, "name_args", flags=["Truncated"])
g.invalid(17024, "the end after enable_bit", REG[:5], "payload", "unexpected_end", 5, "enable_size", flags=["Truncated"])
g.invalid(17025, "a wrong size is reported before the missing rest", u32(16) + u8(31), "payload", "wrong_struct_size", 0, "size",
          flags=["WrongSize", "Truncated"])

PADDED = user_reg(32, 31, 4, 0, ENABLE, NAME, 7) + bytes(4)
g = derived("reg-padded", "user_reg", ["P-18", "F-64"])
g.valid(17030, "as the runtime makes it: 32 bytes, bit 31 of 4 bytes, no flags; the kernel has set the write index",
        literal("20 00 00 00  1f  04  00 00  08 07 06 05 04 03 02 01  18 17 16 15 14 13 12 11  07 00 00 00  00 00 00 00", PADDED),
        user_reg_value(31, 4, 0, ENABLE, NAME, 7, 32), flags=["Literal"])
g.valid(17031, "everything but the size zero", user_reg(32, 0, 0, 0, 0, 0, 0) + bytes(4), user_reg_value(0, 0, 0, 0, 0, 0, 32),
        flags=["Minimal"])
g.valid(17032, "everything but size and padding at its largest: the write index has 32 bits, not 64",
        user_reg(32, 255, 255, 0xFFFF, 2**64 - 1, 2**64 - 1, 2**32 - 1) + bytes(4),
        user_reg_value(255, 255, 0xFFFF, 2**64 - 1, 2**64 - 1, 2**32 - 1, 32), flags=["MaxValue"])
g.lenient(17033, "bytes after the padding are ignored", PADDED + hexa("de ad"), user_reg_value(31, 4, 0, ENABLE, NAME, 7, 32),
          flags=["TrailingBytes"])
g.invalid(17040, "padding that is not zero: the kernel takes it for a field that it does not know", PADDED[:28] + u32(1), "payload",
          "non_zero_padding", 28, None, flags=["Reserved"])
g.invalid(17041, "the last byte of the padding is not zero", PADDED[:31] + u8(0x80), "payload", "non_zero_padding", 31, None,
          flags=["Reserved"])
g.invalid(17042, "31 bytes of 32", PADDED[:31], "payload", "unexpected_end", 28, None, flags=["Truncated"])
g.invalid(17043, "missing padding is reported before the part that is present", PADDED[:28] + hexa("ff ff ff"), "payload", "unexpected_end",
          28, None, flags=["Truncated", "Order"])
g.invalid(17044, "24 bytes: a structure without the write index", PADDED[:24], "payload", "unexpected_end", 24, "write_index",
          flags=["Truncated"])
g.invalid(17045, "a size of 30, and 2 bytes of zero: padding to a multiple that no compiler uses",
          user_reg(30, 31, 4, 0, ENABLE, NAME, 7) + bytes(2), "payload", "wrong_struct_size", 0, "size", flags=["WrongSize"])
g.invalid(17046, "a size of 40, and zeroes: a structure with unknown fields",
          user_reg(40, 31, 4, 0, ENABLE, NAME, 7) + bytes(12), "payload", "wrong_struct_size", 0, "size", flags=["WrongSize"])

# --- user_unreg: 16 bytes, packed or not -----------------------------------------------------------------------------------
def user_unreg(size, disable_bit, reserved, reserved2, disable_addr):
    return u32(size) + u8(disable_bit) + u8(reserved) + u16(reserved2) + u64(disable_addr)


def user_unreg_value(disable_bit, reserved, reserved2, disable_addr):
    return {"size": 16, "disable_bit": disable_bit, "reserved": reserved, "reserved2": reserved2, "disable_addr": str(disable_addr)}


UNREG = user_unreg(16, 31, 0, 0, ENABLE)
g = derived("unreg", "user_unreg", ["F-87"])
g.valid(17100, "as the runtime makes it", literal("10 00 00 00  1f  00  00 00  08 07 06 05 04 03 02 01", UNREG),
        user_unreg_value(31, 0, 0, ENABLE), flags=["Literal"])
g.valid(17101, "everything but the size zero", user_unreg(16, 0, 0, 0, 0), user_unreg_value(0, 0, 0, 0), flags=["Minimal"])
g.valid(17102, "reserved bytes are kept", user_unreg(16, 31, 1, 0x0302, ENABLE), user_unreg_value(31, 1, 0x0302, ENABLE),
        flags=["Reserved"])
g.lenient(17103, "a byte after the structure is ignored", UNREG + u8(0), user_unreg_value(31, 0, 0, ENABLE), flags=["TrailingBytes"])
g.invalid(17110, "the size of user_reg", user_unreg(28, 31, 0, 0, ENABLE), "payload", "wrong_struct_size", 0, "size", flags=["WrongSize"])
g.invalid(17111, "15 bytes of 16", UNREG[:15], "payload", "unexpected_end", 8, "disable_addr", flags=["Truncated"])
g.invalid(17112, "12 bytes: an address of 32 bits", UNREG[:12], "payload", "unexpected_end", 8, "disable_addr", flags=["Truncated"])
g.invalid(17113, "the end inside the second reserved field", UNREG[:7], "payload", "unexpected_end", 6, "reserved2", flags=["Truncated"])

# --- the command string: text, the bytes are UTF-8, without a NUL ---------------------------------------------------
def command(name, fields=FIELDS):
    return name.encode() + b" " + fields.encode()


def named(name):
    return {"tracepoint_name": name}


g = printed("command", "tracepoint-command", "Tracepoint Format V1", ["F-65"],
            "the printed line with the name of the document's tracepoint_config examples")
g.valid(17200, "the printed line, the same in both editions: one space after the name",
        literal("4d 79 54 72 61 63 65 70 6f 69 6e 74 20"  # "MyTracepoint "
                "75 38 20 76 65 72 73 69 6f 6e 3b 20"  # "u8 version; "
                "75 31 36 20 65 76 65 6e 74 5f 69 64 3b 20"  # "u16 event_id; "
                "5f 5f 72 65 6c 5f 6c 6f 63 20 75 38 5b 5d 20 65 78 74 65 6e 73 69 6f 6e 3b 20"  # "__rel_loc u8[] extension; "
                "5f 5f 72 65 6c 5f 6c 6f 63 20 75 38 5b 5d 20 70 61 79 6c 6f 61 64",  # "__rel_loc u8[] payload"
                command("MyTracepoint")),
        named("MyTracepoint"), flags=["AsPrinted", "Literal"])
g.valid(17201, "with the printed placeholder: a name like any other", command("<tracepoint_name>"), named("<tracepoint_name>"),
        flags=["AsPrinted"])

g = derived("command", "tracepoint-command", ["F-65", "F-21"])
g.valid(17210, "a name of one byte", command("T"), named("T"), flags=["Minimal"])
g.valid(17211, "a name of 436 bytes: 511 in all, 512 with the NUL", command("n" * 436), named("n" * 436), flags=["MaxValue"])
g.valid(17212, "the name is UTF-8 here, UTF-16 in the request", literal("c3 9c e8 a8 ba f0 9f 98 80" + command("").hex(),
        command("Ü診😀")), named("Ü診😀"), flags=["Literal", "NonBmp"])
g.valid(17213, "218 characters of two bytes each: 436", command("é" * 218), named("é" * 218), flags=["MaxValue"])
g.valid(17214, "other punctuation is part of the name", command("My.Company-Trace_1:a;b"), named("My.Company-Trace_1:a;b"))
g.invalid(17220, "nothing", b"", "payload", "empty_tracepoint_name", 0, "tracepoint_name", flags=["Truncated"])
g.invalid(17221, "no name before the space", command(""), "payload", "empty_tracepoint_name", 0, "tracepoint_name", flags=["EmptyString"])
g.invalid(17222, "a name of 437 bytes: 513 with the NUL", command("n" * 437), "payload", "tracepoint_name_too_long", 436, "tracepoint_name",
          flags=["TooLong"])
g.invalid(17223, "146 characters of three bytes each: 438; the limit is in bytes", command("診" * 146), "payload",
          "tracepoint_name_too_long", 436, "tracepoint_name", flags=["TooLong"])
g.invalid(17224, "a NUL in the name: the kernel would end the text there", command("My\0Tracepoint"), "payload", "bad_tracepoint_name", 2,
          "tracepoint_name", flags=["InnerNul"])
g.invalid(17225, "a byte that is not UTF-8", b"My\xff" + command(""), "payload", "bad_tracepoint_name", 2, "tracepoint_name")
g.invalid(17226, "half a surrogate pair in three bytes is not UTF-8", b"My\xed\xa0\x80" + command(""), "payload", "bad_tracepoint_name", 2,
          "tracepoint_name", flags=["LoneSurrogate"])
g.invalid(17227, "the name in UTF-16: its second byte is a NUL", utf16("My") + command(""), "payload", "bad_tracepoint_name", 1,
          "tracepoint_name")
g.invalid(17228, "a space in the name: the first one ends it", command("My Tracepoint"), "payload", "unknown_tracepoint_format", 3, None)
g.invalid(17229, "a name alone", b"MyTracepoint", "payload", "unknown_tracepoint_format", 12, None, flags=["Truncated"])
g.invalid(17230, "two spaces", b"T  " + FIELDS.encode(), "payload", "unknown_tracepoint_format", 2, None)
g.invalid(17231, "the last letter is missing", command("T")[:-1], "payload", "unknown_tracepoint_format", 75, None, flags=["Truncated"])
g.invalid(17232, "with the NUL that follows the text in memory", command("T") + b"\0", "payload", "unknown_tracepoint_format", 76, None)
g.invalid(17233, "__data_loc instead of __rel_loc", command("T", FIELDS.replace("rel", "data")), "payload", "unknown_tracepoint_format",
          30, None)
g.invalid(17234, "a field more", command("T", FIELDS + "; u8 more"), "payload", "unknown_tracepoint_format", 76, None)
g.invalid(17235, "event_id of 32 bits", command("T", FIELDS.replace("u16", "u32")), "payload", "unknown_tracepoint_format", 15, None)

g = derived("command-not-encoded", "tracepoint-command", ["F-65", "P-19"])
unencodable(g, 17240, "an empty name", named(""), "empty_name", ["EmptyString"])
unencodable(g, 17241, "an absent name", named(None), "empty_name", ["AbsentString"])
unencodable(g, 17242, "a space in the name: the kernel would read the rest as fields", named("My Tracepoint"),
            "forbidden_unit")
unencodable(g, 17243, "a NUL in the name: the text would end there", named("My\0Tracepoint"), "forbidden_unit", ["InnerNul"])
unencodable(g, 17244, "half a surrogate pair has no UTF-8", named({"utf16": [0x4D, 0x79, 0xD800]}), "forbidden_unit",
            ["LoneSurrogate"])
unencodable(g, 17245, "a name of 437 bytes: 513 with the NUL", named("n" * 437), "part_too_long", ["TooLong"])
unencodable(g, 17246, "219 characters of two bytes each: 438; the limit is in bytes", named("\u00e9" * 219), "part_too_long",
            ["TooLong"])

# --- records: write_index first, then what a reader gets ------------------------------------------------------------
def rel_loc(offset, length):
    return u32(length << 16 | offset)


def record(event_id, extension_loc, payload_loc, data, *, version=1, write_index=7):
    return u32(write_index) + u8(version) + u16(event_id) + extension_loc + payload_loc + data


def shipped(event_id, extension, payload, **other):
    return record(event_id, rel_loc(4, len(extension)), rel_loc(len(extension), len(payload)), extension + payload, **other)


def v1(event_id, extension, payload, write_index=7):
    return {"write_index": write_index, "version": 1, "event_id": event_id, "extension": extension.hex(), "payload": payload.hex()}


g = printed("record", "user_events-record", "User_events Writing", ["F-25"],
            "the sample's seven iovecs, where io[5] and io[3].iov_len, which are never set, are zero; event and payload chosen here")
g.invalid(17300, "as printed: io[3] has no length, so the extension's location is not written", u32(7) + u8(1) + u16(0x0201)
          + rel_loc(0, 2) + b"cd", "payload", "unexpected_end", 11, "payload", flags=["AsPrinted", "Truncated"])
g.invalid(17301, "with a length for io[3] but nothing in io[5]: the extension's bytes are not written",
          record(0x0201, rel_loc(4, 3), rel_loc(3, 2), b"cd"), "payload", "rel_loc_out_of_range", 7, "extension", flags=["AsPrinted"])
g = corrected("record", "user_events-record", "User_events Writing", "F-25",
              "the sample with the length of io[3] and the extension in io[5]; event, extension and payload chosen here")
g.valid(17310, "write_index, version, event_id, two locations, extension, payload",
        literal("07 00 00 00  01  01 02  04 00 03 00  03 00 02 00  09 41 42  63 64", shipped(0x0201, b"\x09AB", b"cd")),
        v1(0x0201, b"\x09AB", b"cd"), flags=["Literal"])

ID = bytes(range(0x10, 0x20))
g = derived("record", "user_events-record", ["F-66", "F-29"])
g.valid(17320, "neither extension nor payload: the extension still begins 4 bytes after its location",
        literal("00 00 00 00  01  00 00  04 00 00 00  00 00 00 00", shipped(0, b"", b"", write_index=0)), v1(0, b"", b"", 0),
        flags=["Minimal", "Literal"])
g.valid(17321, "a payload alone", shipped(80, b"", b"payload"), v1(80, b"", b"payload"))
g.valid(17322, "an extension alone: an ActivityId", shipped(80, u8(2) + ID, b""), v1(80, u8(2) + ID, b""))
g.valid(17323, "every number at its largest", shipped(65535, b"", b"x", write_index=2**32 - 1), v1(65535, b"", b"x", 2**32 - 1),
        flags=["MaxValue"])
g.valid(17324, "256 bytes of extension: the payload's offset needs its second byte", shipped(1, bytes(256), b"x"), v1(1, bytes(256), b"x"))
g.valid(17326, "the extension is not decoded: a cut one is not a fault of the record", shipped(1, u8(2), b"x"), v1(1, u8(2), b"x"))
VALUES = u32(42) + utf16("on") + units(0) + u64(7)
g.valid(17327, "a payload as EventPipe has it: a UInt32, a string with its NUL and a UInt64, one after another", shipped(80, b"", VALUES),
        v1(80, b"", VALUES))
g.lenient(17330, "padding after the payload is ignored", shipped(80, b"A", b"bc") + bytes(4), v1(80, b"A", b"bc"),
          flags=["TrailingBytes"])
g.lenient(17331, "the payload before the extension", record(80, rel_loc(6, 1), rel_loc(0, 2), b"bcA"), v1(80, b"A", b"bc"),
          flags=["OtherPlace"])
g.lenient(17332, "a gap between the two", record(80, rel_loc(4, 1), rel_loc(3, 2), b"A\0\0bc"), v1(80, b"A", b"bc"), flags=["OtherPlace"])
g.lenient(17333, "the two overlap: each is inside the data, which is all that the kernel checks", record(80, rel_loc(4, 3), rel_loc(1, 2), b"ABC"),
          v1(80, b"ABC", b"BC"), flags=["OtherPlace"])
g.lenient(17334, "an empty extension after the payload", record(80, rel_loc(6, 0), rel_loc(0, 2), b"bc"), v1(80, b"", b"bc"),
          flags=["OtherPlace"])
for tc, offset, length, why in ((17340, 4, 6, "one byte beyond the end"), (17341, 9, 1, "after the last byte"), (17342, 10, 0, "no bytes, two after the last"),
                                (17343, 3, 1, "inside the payload's location"), (17344, 0, 0, "no bytes, inside the payload's location"),
                                (17345, 65535, 65535, "both numbers at their largest")):
    g.invalid(tc, f"extension: {why}", record(80, rel_loc(offset, length), rel_loc(0, 5), b"12345"), "payload", "rel_loc_out_of_range", 7,
              "extension", flags=["OutOfRange"])
for tc, offset, length, why in ((17350, 0, 6, "one byte beyond the end"), (17351, 5, 1, "after the last byte"), (17352, 6, 0, "no bytes, one after the last place"),
                                (17353, 0, 65535, "the longest"), (17354, 65535, 0, "the farthest")):
    g.invalid(tc, f"payload: {why}", record(80, rel_loc(4, 5), rel_loc(offset, length), b"12345"), "payload", "rel_loc_out_of_range", 11,
              "payload", flags=["OutOfRange"])
g.invalid(17360, "offset and length exchanged: 1 byte at 4, not 4 bytes at 1", record(80, u32(4 << 16 | 1), rel_loc(1, 1), b"Ab"),
          "payload", "rel_loc_out_of_range", 7, "extension", flags=["OutOfRange"])
g.invalid(17361, "offsets from the beginning of the record, as with __data_loc", record(80, rel_loc(11, 1), rel_loc(12, 1), b"Ab"),
          "payload", "rel_loc_out_of_range", 7, "extension", flags=["OutOfRange"])
FULL = shipped(0x0201, b"\x09AB", b"cd")
for tc, cut, offset, field in ((17370, 0, 0, "write_index"), (17371, 3, 0, "write_index"), (17372, 4, 4, "version"), (17373, 6, 5, "event_id"),
                               (17374, 10, 7, "extension"), (17375, 14, 11, "payload")):
    g.invalid(tc, f"{cut} bytes", FULL[:cut], "payload", "unexpected_end", offset, field, flags=["Truncated"])
g.invalid(17376, "the fixed fields without what they point to", FULL[:15], "payload", "rel_loc_out_of_range", 7, "extension", flags=["Truncated"])
g.invalid(17377, "the last byte of the payload is missing", FULL[:19], "payload", "rel_loc_out_of_range", 11, "payload", flags=["Truncated"])

g = derived("record-other-version", "user_events-record", ["F-66"])
g.valid(17380, "version 2: nothing after the version is interpreted", u32(7) + u8(2) + hexa("ff ff ff ff ff"),
        {"write_index": 7, "version": 2, "rest": "ffffffffff"}, flags=["UnknownValue", "UnknownTail"])
g.valid(17381, "version 0, and nothing after it", u32(7) + u8(0), {"write_index": 7, "version": 0, "rest": ""}, flags=["UnknownValue"])

# --- extensions: labelled pieces to the end -------------------------------------------------------------------------
GUID = "13121110-1514-1716-1819-1a1b1c1d1e1f"
OTHER = "00112233-4455-6677-8899-aabbccddeeff"
assert guid(GUID) == ID


def labelled(label, data):
    return u8(label) + data


def metadata(data):
    return labelled(1, u32(len(data)) + data)


def meta(data):
    return {"label": 1, "metadata": data.hex()}


EVENT = u32(0x0201) + utf16("Started") + units(0) + u64(1) + u32(0) + u32(4) + u32(0)  # id, name, keywords, version, level, 0 parameters
NAMED = utf16("MyEventSource") + units(0) + EVENT

g = printed("extension", "extension", "Extension Blob Format", ["F-26", "F-27"], "the table of labels; the contents chosen here")
g.valid(17400, "0x01 as printed: array<byte> metadata", literal("01  03 00 00 00  aa bb cc", metadata(hexa("aa bb cc"))),
        [meta(hexa("aa bb cc"))], flags=["AsPrinted", "Literal"])
g.invalid(17401, "0x02 as printed: uint16 guid", labelled(2, u16(0x1234)), "payload", "unexpected_end", 1, "extension[0].guid",
          flags=["AsPrinted", "Truncated"])
g.invalid(17402, "0x03 as printed: uint16 guid", labelled(3, u16(0x1234)), "payload", "unexpected_end", 1, "extension[0].guid",
          flags=["AsPrinted", "Truncated"])
g.valid(17403, "the printed example: [0x01][metadata][0x02][guid], the guid in 16 bytes", metadata(EVENT) + labelled(2, ID),
        [meta(EVENT), {"label": 2, "guid": GUID}], flags=["AsPrinted"])
g.valid(17404, "0x01 by edition 10: all PayloadBytes of a nettrace v5 metadata event, its MetadataId first; any content is kept",
        metadata(u32(1) + NAMED), [meta(u32(1) + NAMED)], flags=["AsPrinted"])
g = corrected("extension-guid", "extension", "Extension Blob Format", "F-26", "16 bytes in place of the printed uint16")
g.valid(17410, "0x02 ActivityId: 16 raw bytes", literal("02  10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f", labelled(2, ID)),
        [{"label": 2, "guid": GUID}], flags=["Literal"])
g.valid(17411, "0x03 RelatedActivityId", labelled(3, guid(OTHER)), [{"label": 3, "guid": OTHER}])
g = corrected("extension-metadata", "extension", "Extension Blob Format", "F-27",
              "the provider's name in UTF-16LE with its NUL in front of the event's own metadata; the length covers both")
g.valid(17420, "as shipped: length, name, NUL, metadata; the value has what follows the length",
        literal("01  06 00 00 00  50 00 00 00  aa bb", metadata(utf16("P") + units(0) + hexa("aa bb"))),
        [meta(utf16("P") + units(0) + hexa("aa bb"))], flags=["Literal"])
g.valid(17421, "as shipped: metadata of an event", metadata(NAMED), [meta(NAMED)])
g.valid(17422, "earlier .NET 10 builds: without the name; only the runtime's version shows this", metadata(EVENT), [meta(EVENT)])
g.valid(17423, "earlier .NET 10 builds: an event without metadata has the label too", metadata(b""), [meta(b"")],
        flags=["Minimal"])

g = derived("extension", "extension", ["F-67", "F-27", "F-28"])
g.valid(17430, "empty: no label", b"", [], flags=["Minimal"])
g.valid(17431, "all three, in the runtime's order", metadata(NAMED) + labelled(2, ID) + labelled(3, guid(OTHER)),
        [meta(NAMED), {"label": 2, "guid": GUID}, {"label": 3, "guid": OTHER}])
g.valid(17432, "both ids, as in every record but the first", labelled(2, ID) + labelled(3, guid(OTHER)),
        [{"label": 2, "guid": GUID}, {"label": 3, "guid": OTHER}])
g.valid(17433, "another order is read as sent", labelled(3, guid(OTHER)) + labelled(2, ID) + metadata(b"x"),
        [{"label": 3, "guid": OTHER}, {"label": 2, "guid": GUID}, meta(b"x")])
g.valid(17434, "a repeated label is kept twice", metadata(b"x") + metadata(b"x"), [meta(b"x"), meta(b"x")])
g.valid(17435, "an id of zeroes, which runtimes leave out", labelled(2, bytes(16)),
        [{"label": 2, "guid": "00000000-0000-0000-0000-000000000000"}])
g.valid(17436, "labels inside metadata do not count", metadata(labelled(2, ID)), [meta(labelled(2, ID))])
NATIVE = utf16("Microsoft-Windows-DotNETRuntime") + units(0)
g.valid(17437, "a provider's name and an id with nothing after them: any content is kept (runtimes send more: 17438)",
        metadata(NATIVE + u32(80)), [meta(NATIVE + u32(80))])
MINIMAL = NATIVE + u32(80) + units(0) + u64(0x8000) + u32(1) + u32(2) + u32(0)
assert (len(NATIVE), len(MINIMAL)) == (64, 90)
g.valid(17438, "a native event: the provider's name, the id, an empty name, keywords, version, level, and a count of no fields",
        metadata(MINIMAL), [meta(MINIMAL)])
g.invalid(17440, "0x01 without its length", labelled(1, b""), "payload", "unexpected_end", 1, "extension[0].metadata", flags=["Truncated"])
g.invalid(17441, "0x01 with 3 of the 4 bytes of its length", labelled(1, bytes(3)), "payload", "unexpected_end", 1, "extension[0].metadata",
          flags=["Truncated"])
g.invalid(17442, "a length one too large", labelled(1, u32(4) + b"abc"), "payload", "count_too_large", 1, "extension[0].metadata",
          flags=["Truncated"])
g.invalid(17443, "a length that is negative as int32", labelled(1, u32(0xFFFFFFFF) + b"abc"), "payload", "count_too_large", 1,
          "extension[0].metadata", flags=["HugeCount"])
g.invalid(17444, "an id of 15 bytes", labelled(2, ID[:15]), "payload", "unexpected_end", 1, "extension[0].guid", flags=["Truncated"])
g.invalid(17445, "the second item is cut", metadata(b"x") + labelled(3, ID[:8]), "payload", "unexpected_end", 7, "extension[1].guid",
          flags=["Truncated"])

g = derived("extension-unknown", "extension", ["F-87"])
g.valid(17450, "an unknown label alone", labelled(4, b""), [{"label": 4, "rest": ""}], flags=["UnknownValue"])
g.valid(17451, "an unknown label takes everything after it, known labels included", metadata(b"x") + labelled(0x7F, labelled(2, ID)),
        [meta(b"x"), {"label": 0x7F, "rest": labelled(2, ID).hex()}], flags=["UnknownValue", "UnknownTail"])
g.valid(17452, "label 0 is unknown, and so are zeroes after it", bytes(4), [{"label": 0, "rest": "000000"}],
        flags=["UnknownValue", "UnknownTail"])
g.valid(17453, "label 255", labelled(255, b"\xff"), [{"label": 255, "rest": "ff"}], flags=["MaxValue", "UnknownTail"])
g.valid(17454, "a length that does not count the name: the rest of it is read as labels, and the first is unknown",
        labelled(1, u32(1) + b"x") + utf16("P") + units(0), [meta(b"x"), {"label": 0x50, "rest": "000000"}],
        flags=["UnknownValue", "UnknownTail"])
g = derived("extension-not-encoded", "extension", ["F-87"])
unencodable(g, 17460, "something after an unknown label, which would be read as a part of it",
            [{"label": 4, "rest": "01"}, {"label": 2, "guid": GUID}], "unknown_label_not_last", ["UnknownValue"])
unencodable(g, 17461, "two unknown labels", [{"label": 4, "rest": ""}, {"label": 5, "rest": ""}], "unknown_label_not_last",
            ["UnknownValue"])


# --- what net10.0.9 was seen to pass, and a reader of it that knows nothing of the above -------------------------------
def seen_reg(data):
    size, bit, width, flags, enable_addr, name_args, write_index, padding = struct.unpack("<IBBHQQI4s", data)
    assert size == len(data) and padding == bytes(4), data.hex()
    return {"size": size, "enable_bit": bit, "enable_size": width, "flags": flags, "enable_addr": str(enable_addr),
            "name_args": str(name_args), "write_index": write_index}


def seen_unreg(data):
    size, bit, reserved, reserved2, addr = struct.unpack("<IBBHQ", data)
    assert size == len(data), data.hex()
    return {"size": size, "disable_bit": bit, "reserved": reserved, "reserved2": reserved2, "disable_addr": str(addr)}


def seen_record(data):
    write_index, version, event_id, *locations = struct.unpack_from("<IBHHHHH", data)
    blobs, end = [], 15
    for (offset, length), origin in zip((locations[:2], locations[2:]), (11, 15)):  # after each location
        assert origin + offset == end, data[:15].hex()
        blobs.append(data[end:end + length])
        end += length
    assert version == 1 and end == len(data), data.hex()
    return {"write_index": write_index, "version": version, "event_id": event_id, "extension": blobs[0].hex(),
            "payload": blobs[1].hex()}


def seen_extension(data):
    parts = []
    while data:
        if data[0] == 1:
            end = 5 + int.from_bytes(data[1:5], "little")
            parts.append({"label": 1, "metadata": data[5:end].hex()})
        else:
            end = 17
            parts.append({"label": {2: 2, 3: 3}[data[0]], "guid": str(uuid.UUID(bytes_le=data[1:end]))})
        assert end <= len(data), data.hex()
        data = data[end:]
    return parts


def recorded(name, type, spec):
    made = ("passed to a stand-in for the kernel, recorded by diagipc/tests/live/user_events.py; "
            "the value read at the end of source/user_events.py")
    return FILE.group("net10.0.9-user-events-" + name, type=type, source="runtime", runtime="net10.0.9", made=made, spec=spec)


with open(os.path.join(HERE, "recorded", "user_events-net10.0.9.json")) as f:
    SEEN = json.load(f)
NAMES = [one["name_args"].split(" ")[0] for one in SEEN["registrations"]]
g = recorded("reg", "user_reg", ["P-18", "F-64"])
for nth, one in enumerate(SEEN["registrations"]):
    wire = bytes.fromhex(one["user_reg"])
    g.valid(17600 + nth, f"before the call, tracepoint {NAMES[nth]}; addresses of that process", wire, seen_reg(wire),
            flags=["Recorded"])
g = recorded("unreg", "user_unreg", ["F-87"])
for nth, one in enumerate(SEEN["unregistrations"]):
    wire = bytes.fromhex(one)
    g.valid(17620 + nth, f"tracepoint {NAMES[nth]}, by its registered address", wire, seen_unreg(wire),
            flags=["Recorded"])
g = recorded("command", "tracepoint-command", ["F-65"])
for nth, one in enumerate(SEEN["registrations"]):
    name, fields = one["name_args"].split(" ", 1)
    assert fields == FIELDS
    g.valid(17640 + nth, f"tracepoint {nth} of the request, in the order of their write indexes", one["name_args"].encode(),
            {"tracepoint_name": name}, flags=["Recorded"])
g = recorded("record", "user_events-record", ["F-66", "P-20"])
for nth, one in enumerate(SEEN["records"]):
    wire = bytes.fromhex(one["bytes"])
    g.valid(17660 + nth, one["comment"], wire, seen_record(wire), flags=["Recorded"])
g = recorded("extension", "extension", ["F-27", "F-28", "F-67", "P-20", "P-23"])
KEPT = set()
for nth, one in enumerate(SEEN["records"]):
    wire = bytes.fromhex(seen_record(bytes.fromhex(one["bytes"]))["extension"])
    if wire not in KEPT:
        KEPT.add(wire)
        g.valid(17700 + nth, one["comment"], wire, seen_extension(wire), flags=["Recorded"])
# Each group has 40 numbers, in the order of writing, so metadata is before the records without it.
assert len(SEEN["records"]) <= 40
