"""What follows a reply: the environment block, and the first bytes of an event stream."""
from notation import *

FILE = File("continuation", "Continuations", 18000, 18499)
MADE = "written field by field in source/continuation.py from section ProcessEnvironment: Array<Array<WCHAR>>"
STREAMS = "written in source/continuation.py: the magic of each format, from its description"


def blocks(name, spec, **more):
    return FILE.group("environment-" + name, **({"type": "environment", "source": "derived", "made": MADE, "spec": spec} | more))


def starts(name, spec=()):
    return FILE.group("stream-start-" + name, type="stream-start", source="derived", made=STREAMS, spec=spec)


def literal(text, spelled):
    """Returns bytes written out in full, which must equal those of the notation."""
    wire = hexa(text)
    assert wire == spelled, text
    return wire


def counted(*values):
    """Returns a count of 16-bit units, then the units; no NUL is added."""
    return u32(len(values)) + units(*values)


def codes(text):
    return [ord(c) for c in text]


def entry(name, value=None):
    return {"name": name, "value": value}


def bare(name, value=None):
    """Returns an entry without its NUL."""
    return {"name": name, "value": value, "terminated": False}


A1 = string("A=1")  # 12 bytes
FAILED = message(ERROR, u32(0x80004005))

# --- the block -----------------------------------------------------------------------------------------------------
g = blocks("empty", ["F-88"], source="table", edition="5", section="ProcessEnvironment",
           made="the note under the section's Continuation: 'the continuation to simply contain the value 0'")
g.valid(18000, "nIncomingBytes 4: a count of 0, an empty environment", u32(0), [], flags=["AsPrinted"])

g = blocks("block", ["F-43"])
g.valid(18001, "two entries, in hexadecimal",
        literal("02 00 00 00"  # two entries
                "04 00 00 00" "41 00 3d 00 31 00 00 00"  # A=1 and NUL: four units
                "07 00 00 00" "48 00 4f 00 4d 00 45 00 3d 00 2f 00 00 00",  # HOME=/ and NUL
                array(A1, string("HOME=/"))),
        [entry("A", "1"), entry("HOME", "/")], flags=["Literal"])
g.valid(18002, "one entry", array(string("PATH=/usr/bin:/bin")), [entry("PATH", "/usr/bin:/bin")])
g.valid(18003, "300 entries", array(*[string(f"V{n}={n * n}") for n in range(300)]), [entry(f"V{n}", str(n * n)) for n in range(300)])
g.valid(18004, "more than the 65,535 bytes of a message: the block is not a message", array(string("BIG=" + "x" * 33000), A1),
        [entry("BIG", "x" * 33000), entry("A", "1")], flags=["Large"])
g.valid(18005, "the block of a process with one variable, byte by byte", array(A1), [entry("A", "1")], flags=["Chunked"], chunks=[1] * 16)
g.valid(18006, "pieces that end inside of both counts and inside of a unit", array(A1), [entry("A", "1")], flags=["Chunked"],
        chunks=[2, 3, 4, 2, 5])
g.valid(18007, "the count alone, then all the rest", array(A1, string("B")), [entry("A", "1"), entry("B")], flags=["Chunked"], chunks=[4, 20])

g = blocks("split", ["F-43", "F-79"])
g.valid(18020, "an entry without an equals sign", array(string("NOEQUALS")), [entry("NOEQUALS")])
g.valid(18021, "the same between two others", array(A1, string("NOEQUALS"), string("B=2")),
        [entry("A", "1"), entry("NOEQUALS"), entry("B", "2")])
g.valid(18022, "an empty value is present", array(string("A=")), [entry("A", "")])
g.valid(18023, "the value has equals signs too", array(string("OPTS=a=b;c==d")), [entry("OPTS", "a=b;c==d")])
g.valid(18024, "a Windows drive's directory: the first equals sign belongs to the name", array(string("=C:=C:\\dir")),
        [entry("=C:", "C:\\dir")])
g.valid(18025, "Windows' last exit code", array(string("=ExitCode=00000000")), [entry("=ExitCode", "00000000")])
g.valid(18026, "a single equals sign is a name", array(string("=")), [entry("=")])
g.valid(18027, "two equals signs: a name and an empty value", array(string("==")), [entry("=", "")])
g.valid(18028, "three: the value is the third", array(string("===")), [entry("=", "=")])
g.valid(18029, "an equals sign in front, and no other", array(string("=hidden")), [entry("=hidden")])
g.valid(18030, "an empty entry: only the NUL", array(string("")), [entry("")])
g.valid(18031, "a name with a space, a value with a line feed and a tab", array(string("MY VAR=a\n\tb")), [entry("MY VAR", "a\n\tb")])
g.valid(18032, "bash's exported function", array(string("BASH_FUNC_f%%=() {  :\n}")), [entry("BASH_FUNC_f%%", "() {  :\n}")])

g = blocks("duplicates", ["F-79"])
g.valid(18040, "the same name twice stays twice, in the order of the wire", array(string("A=2"), string("B=1"), string("A=1")),
        [entry("A", "2"), entry("B", "1"), entry("A", "1")])
g.valid(18041, "the very same entry twice", array(A1, A1), [entry("A", "1"), entry("A", "1")])
g.valid(18042, "names that differ only in case are two names", array(string("path=1"), string("PATH=2")),
        [entry("path", "1"), entry("PATH", "2")])

g = blocks("units", ["F-43", "F-79"])
g.valid(18050, "a character of two units: the count is in units", array(string("E=\U0001f600")), [entry("E", "\U0001f600")])
g.valid(18051, "the same in the name", array(string("\U0001f600=E")), [entry("\U0001f600", "E")])
g.valid(18052, "U+FFFD, which runtimes put in place of a byte that is not UTF-8", array(string("BAD=\ufffd\ufffd")),
        [entry("BAD", "\ufffd\ufffd")])
g.valid(18053, "half of a surrogate pair in the value", array(counted(*codes("A="), 0xD800, 0)), [entry("A", {"utf16": [0xD800]})],
        flags=["LoneSurrogate"])
g.valid(18054, "half of a surrogate pair in the name", array(counted(0xDC00, *codes("=1"), 0)), [entry({"utf16": [0xDC00]}, "1")],
        flags=["LoneSurrogate"])
g.valid(18055, "the halves of a pair on both sides of the equals sign", array(counted(0xD83D, *codes("="), 0xDE00, 0)),
        [entry({"utf16": [0xD83D]}, {"utf16": [0xDE00]})], flags=["LoneSurrogate"])
g.valid(18056, "U+3D00 and U+3D3D have the equals sign's byte, and are not equals signs", array(string("\u3d00\u3d3d=x")), [entry("\u3d00\u3d3d", "x")])
g.valid(18057, "a NUL inside of the value", array(counted(*codes("A=1"), 0, *codes("2"), 0)), [entry("A", "1\0002")], flags=["InnerNul"])
g.valid(18058, "two NULs at the end: one belongs to the value", array(counted(*codes("A="), 0, 0)), [entry("A", "\0")],
        flags=["InnerNul"])
g.valid(18059, "the text of the magic, two bytes a unit, is text", array(string("DOTNET_IPC_V1")), [entry("DOTNET_IPC_V1")])

# --- an entry without its NUL: the type is array<wchar>, so nothing asks for one; runtimes always send it -------------
g = blocks("without-nul", ["F-43"])
g.lenient(18070, "an entry without NUL", array(counted(*codes("A=1"))), [bare("A", "1")], canonical=True, flags=["MissingTerminator"])
g.lenient(18071, "an entry of no units at all", array(u32(0)), [bare("")], canonical=True, flags=["MissingTerminator", "AbsentString"])
g.lenient(18072, "entries with and without", array(A1, counted(*codes("B=2")), u32(0), string("C")),
          [entry("A", "1"), bare("B", "2"), bare(""), entry("C")], canonical=True, flags=["MissingTerminator"])
g.lenient(18073, "half of a surrogate pair in place of the NUL", array(counted(*codes("A="), 0xD800)), [bare("A", {"utf16": [0xD800]})],
          canonical=True, flags=["MissingTerminator", "LoneSurrogate"])

# --- blocks that end too early or too late ---------------------------------------------------------------------------
g = blocks("too-short", ["F-8", "F-43"])
g.invalid(18100, "nIncomingBytes 0: not even a count", b"", "payload", "unexpected_end", 0, "environment", flags=["Truncated"])
g.invalid(18101, "three bytes of the count", hexa("00 00 00"), "payload", "unexpected_end", 0, "environment", flags=["Truncated"])
g.invalid(18102, "a count of 1, and nothing more", u32(1), "payload", "count_too_large", 0, "environment", flags=["HugeCount"])
g.invalid(18103, "a count of 2 where one entry is", u32(2) + A1, "payload", "unexpected_end", 16, "environment[1]", flags=["Truncated"])
g.invalid(18104, "three bytes of the second entry's count", u32(2) + A1 + hexa("04 00 00"), "payload", "unexpected_end", 16, "environment[1]",
          flags=["Truncated"])
g.invalid(18105, "the largest count", u32(0xFFFFFFFF) + A1, "payload", "count_too_large", 0, "environment", flags=["HugeCount"])
g.invalid(18106, "a count that is 0 when multiplied by 4 in 32 bits", u32(0x40000000) + A1, "payload", "count_too_large", 0, "environment",
          flags=["HugeCount"])
g.invalid(18107, "an entry's count that is 2 when multiplied by 2 in 32 bits", u32(1) + u32(0x80000001) + u16(0), "payload",
          "count_too_large", 4, "environment[0]", flags=["HugeCount"])
g.invalid(18108, "an entry with a count one unit too large", u32(1) + u32(5) + units(*codes("A=1"), 0), "payload", "count_too_large", 4,
          "environment[0]", flags=["HugeCount"])
g.invalid(18109, "a count in bytes in place of units", u32(1) + u32(8) + units(*codes("A=1"), 0), "payload", "count_too_large", 4,
          "environment[0]", flags=["HugeCount"])
g.invalid(18110, "text of one byte a unit", u32(1) + u32(4) + b"A=1\0", "payload", "count_too_large", 4, "environment[0]",
          flags=["HugeCount"])
g.invalid(18111, "half of the last unit", (array(A1))[:-1], "payload", "count_too_large", 4, "environment[0]", flags=["Truncated", "HugeCount"])
g.invalid(18112, "the operating system's own form: entries end with NUL, the block with another", utf16("A=1\0B=2\0\0"), "payload",
          "count_too_large", 0, "environment", flags=["HugeCount"])
g.invalid(18113, "entries without the count in front: the first length 4 counts them, and 'A=' is a length", A1 + A1, "payload",
          "count_too_large", 4, "environment[0]", flags=["HugeCount"])

g = blocks("too-long", ["F-43"])
g.invalid(18130, "a byte after the last entry", array(A1) + u8(0), "transport", "bytes_after_message", 16, "environment",
          flags=["TrailingBytes"])
g.invalid(18131, "a count of 1 where two entries are", u32(1) + A1 + A1, "transport", "bytes_after_message", 16, "environment",
          flags=["TrailingBytes"])
g.invalid(18132, "two bytes after an empty environment", u32(0) + u16(0), "transport", "bytes_after_message", 4, "environment",
          flags=["TrailingBytes"])
g.invalid(18133, "a count that leaves out the NUL: the NUL is left over", u32(1) + u32(3) + units(*codes("A=1"), 0), "transport",
          "bytes_after_message", 14, "environment", flags=["TrailingBytes"])

# --- an error message inside ------------------------------------------------------------------------------------------
g = blocks("broken-off", ["F-1", "F-43"])
g.invalid(18150, "an error message in place of the block", FAILED, "reply", "error_message", 0, "environment")
g.invalid(18151, "one after the count", u32(3) + FAILED, "reply", "error_message", 4, "environment[0]")
g.invalid(18152, "one after the first of two entries", u32(2) + A1 + FAILED, "reply", "error_message", 16, "environment[1]")
g.invalid(18153, "one of 28 bytes, as the document draws it", u32(2) + A1 + message(ERROR, u32(0x80131384), u32(0)), "reply",
          "error_message", 16, "environment[1]", flags=["AsPrinted"])
g.invalid(18154, "one with a reserved that is not 0", u32(2) + A1 + message(ERROR, u32(0x80004005), reserved=0xFFFF), "reply",
          "error_message", 16, "environment[1]", flags=["NonZeroReserved"])
g.invalid(18155, "one after the first entry, byte by byte", u32(2) + A1 + FAILED, "reply", "error_message", 16, "environment[1]",
          flags=["Chunked"], chunks=[1] * 40)
g.invalid(18156, "a byte less than an error message: only an impossible count", u32(2) + A1 + FAILED[:-1], "payload", "count_too_large",
          16, "environment[1]", flags=["Truncated", "HugeCount"])
g.invalid(18157, "the first four bytes of the magic alone", u32(2) + A1 + MAGIC[:4], "payload", "count_too_large", 16, "environment[1]",
          flags=["Truncated", "HugeCount"])
g.invalid(18158, "an OK in the place of an error", u32(2) + A1 + message(OK, u32(0)), "payload", "count_too_large", 16, "environment[1]",
          flags=["HugeCount"])
g.invalid(18159, "an error message of 20 bytes, without code", u32(2) + A1 + message(ERROR) + u32(0), "payload", "count_too_large", 16,
          "environment[1]", flags=["HugeCount"])
g.invalid(18160, "another magic that begins with the same four bytes", u32(2) + A1 + message(ERROR, u32(0x80004005), magic=b"DOTNET_IPC_V2\0"),
          "payload", "count_too_large", 16, "environment[1]", flags=["HugeCount"])
g.lenient(18161, "one in the middle of an entry cannot be distinguished from its text", u32(1) + u32(14) + utf16("A=") + FAILED,
          [bare("A", FAILED.decode("utf-16-le"))], canonical=True, flags=["MissingTerminator"])

# --- the first bytes of a stream --------------------------------------------------------------------------------------
NETTRACE = b"Nettrace" + u32(20) + b"!FastSerialization.1"
BLOCKS = b"Nettrace" + u32(0) + u32(6) + u32(0)
NETPERF = u32(20) + b"!FastSerialization.1"


def start(name, rest=b"", **more):
    return {"start": name} | more | {"rest": rest.hex()}


g = starts("nettrace")
g.valid(18200, "nettrace up to version 5: the magic, a length of 20, and a string of 20 bytes",
        literal("4e 65 74 74 72 61 63 65" "14 00 00 00" "21 46 61 73 74 53 65 72 69 61 6c 69 7a 61 74 69 6f 6e 2e 31", NETTRACE),
        start("nettrace"), flags=["Literal"])
OBJECT = hexa("05 05 01 04 00 00 00 04 00 00 00 05 00 00 00") + b"Trace"
g.valid(18201, "the same, and the first object, which has version 4", NETTRACE + OBJECT, start("nettrace", OBJECT))
g.valid(18202, "the same, byte by byte", NETTRACE + OBJECT, start("nettrace", OBJECT), flags=["Chunked"], chunks=[1] * 52)
g.valid(18203, "version 6: four zeros, then the version", BLOCKS, start("nettrace-blocks", major=6, minor=0))
g.valid(18204, "a later version, and what follows it", b"Nettrace" + u32(0) + u32(7) + u32(0x12345678) + hexa("ff 00"),
        start("nettrace-blocks", hexa("ff 00"), major=7, minor=0x12345678), flags=["UnknownValue"])

g = starts("netperf")
g.valid(18210, "netperf: a length of 20, and a string of 20 bytes", NETPERF, start("netperf"))
g.valid(18211, "the same, and what follows it", NETPERF + OBJECT, start("netperf", OBJECT))
g.valid(18212, "netperf in pieces that end inside of the length and inside of the string", NETPERF, start("netperf"), flags=["Chunked"],
        chunks=[3, 9, 12])

g = starts("partial")
for tc, comment, wire in [
    (18220, "nothing yet", b""),
    (18221, "the first byte of nettrace", b"N"),
    (18222, "the magic of nettrace alone: it may still be either layout", b"Nettrace"),
    (18223, "nettrace and its length", b"Nettrace" + u32(20)),
    (18224, "nettrace without its last byte", NETTRACE[:-1]),
    (18225, "nettrace and three of the four zeros", b"Nettrace" + bytes(3)),
    (18226, "version 6 without the last byte of its minor version", BLOCKS[:-1]),
    (18227, "the first byte of netperf", u8(20)),
    (18228, "the length of netperf's string", u32(20)),
    (18229, "netperf without its last byte", NETPERF[:-1]),
]:
    g.valid(tc, comment, wire, start("need-more", wire), flags=["Partial"])

g = starts("opaque", ["F-43"])
for tc, comment, wire in [
    (18240, "something else", b"XYZ"),
    (18241, "the magic of nettrace in lower case", b"nettrace"),
    (18242, "a magic that continues differently", b"Netware"),
    (18243, "nettrace with a length of 21", b"Nettrace" + u32(21) + b"!FastSerialization.1"),
    (18244, "nettrace with the next version of the serialization", b"Nettrace" + u32(20) + b"!FastSerialization.2"),
    (18245, "netperf with its length in big-endian", hexa("00 00 00 14") + b"!FastSerialization.1"),
    (18246, "netperf without its length", b"!FastSerialization.1"),
    (18247, "the magic of nettrace, two bytes a unit", utf16("Nettrace")),
    (18248, "an error message in place of the stream", FAILED),
    (18249, "a single zero", u8(0)),
    (18250, "nettrace after a byte order mark", hexa("ef bb bf") + NETTRACE),
]:
    g.valid(tc, comment, wire, start("opaque", wire))
