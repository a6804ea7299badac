"""Single pieces of payload: every wire type of the grammar, without a message around it.

A piece has no limits: those of a server (an empty provider name, no tracepoint) apply to whole requests.
"""
from notation import *

FILE = File("grammar", "The grammar: integers, strings, arrays, GUIDs", 1000, 1999)
MADE = "written field by field in source/grammar.py from the document's list of encodings"
TEN = ("net10.0.9", "net10.0.11")


def piece(name, type, spec=()):
    return FILE.group("grammar-" + name, type=type, source="derived", made=MADE, spec=spec)


def literal(text, spelled):
    """Returns bytes written out in full, which must equal those of the notation."""
    wire = hexa(text)
    assert wire == spelled, text
    return wire


def counted(*values):
    """Returns a count of 16-bit units, then the units; no NUL is added."""
    return u32(len(values)) + units(*values)


# --- integers ------------------------------------------------------------------------------------------------------
g = piece("byte", "byte")
g.valid(1000, "smallest", literal("00", u8(0)), 0, flags=["Minimal", "Literal"])
g.valid(1001, "255, not -1", u8(255), 255, flags=["MaxValue"])
g.invalid(1002, "no byte at all", b"", "payload", "unexpected_end", 0, None, flags=["Truncated"])

g = piece("ushort", "ushort")
g.valid(1020, "zero", u16(0), 0, flags=["Minimal"])
g.valid(1021, "low byte first", literal("34 12", u16(0x1234)), 0x1234, flags=["Literal"])
g.valid(1022, "65535, not -1", u16(0xFFFF), 65535, flags=["MaxValue"])
g.invalid(1023, "one byte of two", hexa("34"), "payload", "unexpected_end", 0, None, flags=["Truncated"])

g = piece("uint", "uint")
g.valid(1040, "zero", u32(0), 0, flags=["Minimal"])
g.valid(1041, "low byte first: each byte is different", literal("78 56 34 12", u32(0x12345678)), 0x12345678, flags=["Literal"])
g.valid(1042, "top bit set: not negative", u32(0x80000000), 2147483648)
g.valid(1043, "4294967295, not -1", u32(0xFFFFFFFF), 4294967295, flags=["MaxValue"])
g.invalid(1045, "three bytes of four: the missing one is not taken as zero", hexa("78 56 34"), "payload", "unexpected_end", 0, None,
          flags=["Truncated"])
g.lenient(1046, "a fifth byte after it is ignored", u32(5) + u8(0xAA), 5, flags=["TrailingBytes"])

g = piece("ulong", "ulong")
g.valid(1060, "zero, as text", u64(0), "0", flags=["Minimal"])
g.valid(1061, "low byte first: each byte is different", literal("ef cd ab 89 67 45 23 01", u64(0x0123456789ABCDEF)),
        "81985529216486895", flags=["Literal"])
g.valid(1063, "2 to the 53rd and one: a double loses the one", u64((1 << 53) + 1), "9007199254740993")
g.valid(1064, "top bit set: not negative", u64(1 << 63), "9223372036854775808")
g.valid(1065, "all ones", u64((1 << 64) - 1), "18446744073709551615", flags=["MaxValue"])
g.invalid(1066, "seven bytes of eight", hexa("ef cd ab 89 67 45 23"), "payload", "unexpected_end", 0, None, flags=["Truncated"])

g = piece("hresult", "hresult", ["F-1"])
g.valid(1080, "success", u32(0), "0x00000000", flags=["Minimal"])
g.valid(1081, "BAD_ENCODING: unsigned, eight upper-case digits", literal("84 13 13 80", u32(0x80131384)), "0x80131384", flags=["Literal"])
g.valid(1082, "hexadecimal letters in upper case, a zero at the front kept", u32(0x0ABCDEF1), "0x0ABCDEF1", flags=["UnknownValue"])
g.valid(1083, "all ones: -1 as int32", u32(0xFFFFFFFF), "0xFFFFFFFF", flags=["MaxValue", "UnknownValue"])
g.lenient(1085, "eight bytes, as the document's error table draws it: the last four are ignored", u32(0x80131384) + u32(0),
          "0x80131384", flags=["TrailingBytes"])

g = piece("bool", "bool", ["F-16"])
g.valid(1100, "false", literal("00", boolean(False)), False, flags=["Minimal", "Literal"])
g.valid(1101, "true", literal("01", boolean(True)), True, flags=["Literal"])
g.lenient(1102, "2 is true: the lowest bit does not decide", boolean(2), True, flags=["BoolNotOne"])
g.lenient(1103, "0x80 is true: not a negative number that is below one", boolean(0x80), True, flags=["BoolNotOne"])
g.lenient(1104, "0xFF is true", boolean(0xFF), True, flags=["BoolNotOne", "MaxValue"])
g.invalid(1105, "no byte at all: not false", b"", "payload", "unexpected_end", 0, None, flags=["Truncated"])
g.lenient(1106, "a bool in four bytes: the first decides, so this is false", hexa("00 00 00 01"), False, flags=["TrailingBytes"])

g = piece("wchar", "wchar")
g.valid(1121, "U+0416, low byte first", literal("16 04", units(0x0416)), 0x0416, flags=["Literal"])
g.valid(1122, "half of a surrogate pair is a wchar like any other", units(0xD83D), 0xD83D, flags=["LoneSurrogate"])
g.valid(1123, "65535", units(0xFFFF), 65535, flags=["MaxValue"])
g.invalid(1124, "one byte of two", utf16("A")[:1], "payload", "unexpected_end", 0, None, flags=["Truncated"])

# --- strings -------------------------------------------------------------------------------------------------------
g = piece("string", "string", ["F-8", "F-11", "F-24"])
g.valid(1200, "absent: length 0 and nothing else", literal("00 00 00 00", string(None)), None,
        flags=["Minimal", "AbsentString", "Literal"])
g.valid(1201, "empty: length 1 and a NUL, unlike absent", literal("01 00 00 00 00 00", string("")), "",
        flags=["EmptyString", "Literal"])
g.valid(1202, "ASCII: two bytes a character, the NUL is counted",
        literal("06 00 00 00  48 00 65 00 6c 00 6c 00 6f 00 00 00", string("Hello")), "Hello", flags=["Literal"])
g.valid(1203, "Cyrillic", string("Привет"), "Привет")
g.valid(1204, "CJK", literal("03 00 00 00  3a 8a ad 65 00 00", string("\u8a3a\u65ad")), "\u8a3a\u65ad", flags=["Literal"])
g.valid(1205, "U+FFFD that was really sent is not an error", string("a\ufffdb"), "a\ufffdb")
g.valid(1206, "U+FEFF at the front is kept: it is not a byte order mark", string("\ufeffabc"), "\ufeffabc")
g.valid(1207, "U+FFFE at the front does not swap the byte order", string("\ufffeabc"), "\ufffeabc")
g.valid(1208, "e and a combining accent stay two characters", string("e\u0301"), "e\u0301")
g.valid(1209, "quote, backslash, tab, newline, U+001F, DEL", string("\"\\\t\n\x1f\x7f"), "\"\\\t\n\x1f\x7f")
g.valid(1210, "one character outside the BMP: two units, count 3",
        literal("03 00 00 00  3d d8 00 de 00 00", string("\U0001f600")), "\U0001f600", flags=["SurrogatePair", "Literal"])
g.valid(1211, "the first and the last character outside the BMP", string("\U00010000\U0010ffff"), "\U00010000\U0010ffff",
        flags=["SurrogatePair"])
g.valid(1212, "a high surrogate before a letter is kept", counted(0x61, 0xD83D, 0x62, 0), {"utf16": [0x61, 0xD83D, 0x62]},
        flags=["LoneSurrogate"])
g.valid(1213, "a low surrogate by itself is kept", counted(0x61, 0xDE00, 0x62, 0), {"utf16": [0x61, 0xDE00, 0x62]},
        flags=["LoneSurrogate"])
g.valid(1214, "a pair in the wrong order is kept in that order", counted(0xDE00, 0xD83D, 0), {"utf16": [0xDE00, 0xD83D]},
        flags=["LoneSurrogate"])
g.valid(1215, "a high surrogate right before the NUL does not swallow it", counted(0x61, 0xD800, 0), {"utf16": [0x61, 0xD800]},
        flags=["LoneSurrogate"])
g.valid(1216, "a high surrogate, then a good pair", counted(0xD83D, 0xD83D, 0xDE00, 0), {"utf16": [0xD83D, 0xD83D, 0xDE00]},
        flags=["LoneSurrogate", "SurrogatePair"])
g.valid(1217, "a NUL inside is kept", string("a\0b"), "a\0b", flags=["InnerNul"])
g.valid(1218, "a NUL at the front: not the empty string", string("\0abc"), "\0abc", flags=["InnerNul"])
g.lenient(1219, "two NULs at the end, count 14 as the document prints it for MyTracepoint: the first belongs to the text",
          string("MyTracepoint\0"), "MyTracepoint\0", canonical=True, flags=["InnerNul", "DoubleTerminator"])
g.lenient(1220, "two NULs and nothing else: a text of one NUL, not the empty one", counted(0, 0), "\0", canonical=True,
          flags=["InnerNul", "DoubleTerminator"])
g.valid(1221, "300 characters: the count needs its second byte", string("x" * 300), "x" * 300)

g.invalid(1230, "no NUL at the end", counted(0x61, 0x62, 0x63), "payload", "missing_terminator", 8, None, flags=["MissingTerminator"])
g.invalid(1231, "one unit, not a NUL", counted(0x61), "payload", "missing_terminator", 4, None, flags=["MissingTerminator"])
g.invalid(1232, "the last unit is U+0100: only its low byte is zero", counted(0x61, 0x0100), "payload", "missing_terminator", 6, None,
          flags=["MissingTerminator"])
g.invalid(1233, "the NUL is written but not counted", u32(3) + utf16("abc\0"), "payload", "missing_terminator", 8, None,
          flags=["MissingTerminator", "TrailingBytes"])
g.invalid(1235, "units of four bytes: every other unit is a stray zero, the third is a letter", u32(3) + "ab\0".encode("utf-32-le"),
          "payload", "missing_terminator", 8, None, flags=["MissingTerminator"])

g.invalid(1240, "count 0x80000000: times two it is 0 in 32 bits", u32(0x80000000), "payload", "count_too_large", 0, None,
          flags=["HugeCount", "Wraparound"])
g.invalid(1241, "count 0x80000001: times two it is 2 in 32 bits, and a NUL follows", u32(0x80000001) + u16(0),
          "payload", "count_too_large", 0, None, flags=["HugeCount", "Wraparound"])
g.invalid(1242, "count 0xFFFFFFFF: not -1, not absent", u32(0xFFFFFFFF) + utf16("ab\0"), "payload", "count_too_large", 0, None,
          flags=["HugeCount", "MaxValue"])
g.invalid(1243, "count 0x7FFFFFFF: times two it just fits 32 bits", u32(0x7FFFFFFF) + utf16("ab\0"), "payload", "count_too_large", 0, None,
          flags=["HugeCount"])
g.invalid(1244, "count one too large", u32(4) + utf16("ab\0"), "payload", "count_too_large", 0, None, flags=["Truncated"])
g.invalid(1245, "an odd number of bytes left: the NUL is cut in half", u32(2) + utf16("a\0")[:3], "payload", "count_too_large", 0, None,
          flags=["Truncated"])
g.invalid(1248, "the count's high byte is first", hexa("00 00 00 02  61 00 00 00"), "payload", "count_too_large", 0, None,
          flags=["HugeCount", "Literal"])
g.invalid(1249, "no bytes at all: not absent", b"", "payload", "unexpected_end", 0, None, flags=["Truncated"])
g.invalid(1250, "the count is cut", hexa("02 00 00"), "payload", "unexpected_end", 0, None, flags=["Truncated"])
g.invalid(1251, "the empty string as a bare NUL without a count", u16(0), "payload", "unexpected_end", 0, None,
          flags=["EmptyString", "Truncated"])

g.lenient(1260, "length 0 and then a NUL: absent, and two bytes that are ignored", u32(0) + u16(0), None,
          flags=["AbsentString", "TrailingBytes"])
g.lenient(1261, "one byte after the NUL is ignored", string("ab") + u8(0x63), "ab", flags=["TrailingBytes"])

# --- GUIDs ---------------------------------------------------------------------------------------------------------
g = piece("guid", "guid", ["F-85"])
g.valid(1300, "the first three groups are little-endian, the last two are not",
        literal("33 22 11 00  55 44  77 66  88 99  aa bb cc dd ee ff", guid("00112233-4455-6677-8899-aabbccddeeff")),
        "00112233-4455-6677-8899-aabbccddeeff", flags=["Literal"])
g.valid(1301, "nil", guid("00000000-0000-0000-0000-000000000000"), "00000000-0000-0000-0000-000000000000", flags=["Minimal"])
g.valid(1302, "all ones, in lower case", guid("ffffffff-ffff-ffff-ffff-ffffffffffff"), "ffffffff-ffff-ffff-ffff-ffffffffffff",
        flags=["MaxValue"])
g.invalid(1304, "fifteen bytes of sixteen", guid("00112233-4455-6677-8899-aabbccddeeff")[:15], "payload", "unexpected_end", 0, None,
          flags=["Truncated"])
g.lenient(1305, "a seventeenth byte is ignored", guid("00112233-4455-6677-8899-aabbccddeeff") + u8(1),
          "00112233-4455-6677-8899-aabbccddeeff", flags=["TrailingBytes"])

g = piece("clsid", "clsid", ["F-52"])
g.valid(1320, "sixteen bytes: u32, u16, u16, eight bytes",
        literal("33 22 11 00  55 44  77 66  88 99 aa bb cc dd ee ff", guid("00112233-4455-6677-8899-aabbccddeeff")),
        "00112233-4455-6677-8899-aabbccddeeff", flags=["Literal"])
g.invalid(1322, "fourteen bytes, as the document prints it: s1 and s2 one byte each",
          u32(0x00112233) + u8(0x44) + u8(0x66) + hexa("88 99 aa bb cc dd ee ff"), "payload", "unexpected_end", 0, None,
          flags=["AsPrinted", "Truncated"])

# --- arrays --------------------------------------------------------------------------------------------------------
g = piece("array-byte", "array<byte>", ["F-9"])
g.valid(1340, "no items", literal("00 00 00 00", array()), "", flags=["Minimal", "Literal"])
g.valid(1341, "one zero byte, unlike no items", literal("01 00 00 00  00", array(u8(0))), "00", flags=["Literal"])
g.valid(1342, "bytes keep their order and are not text", u32(6) + hexa("00 7f 80 ff 0a 00"), "007f80ff0a00")
g.valid(1343, "257 items: the count needs its second byte", u32(257) + b"\x5a" * 257, "5a" * 257)
g.invalid(1344, "count one too large", u32(4) + hexa("01 02 03"), "payload", "count_too_large", 0, None, flags=["Truncated"])
g.invalid(1345, "count 0xFFFFFFFF: added to the offset it wraps", u32(0xFFFFFFFF) + hexa("01 02 03"), "payload", "count_too_large", 0, None,
          flags=["HugeCount", "MaxValue"])
g.lenient(1347, "one byte more than counted is ignored", u32(2) + hexa("01 02 03"), "0102", flags=["TrailingBytes"])

g = piece("array-wchar", "array<wchar>", ["F-43"])
g.valid(1360, "no items", array(), [], flags=["Minimal"])
g.valid(1361, "no NUL at the end is needed: this is not a string", literal("02 00 00 00  41 00 42 00", counted(0x41, 0x42)), [0x41, 0x42],
        flags=["Literal"])
g.valid(1363, "half a pair, a NUL, 65535: all are kept as numbers", counted(0xD83D, 0, 0xFFFF), [0xD83D, 0, 0xFFFF], flags=["LoneSurrogate"])
g.invalid(1364, "count 0x80000001: times two it is 2 in 32 bits, and one unit follows", u32(0x80000001) + units(0x41),
          "payload", "count_too_large", 0, None, flags=["HugeCount", "Wraparound"])
g.invalid(1365, "the second unit is cut in half", u32(2) + hexa("41 00 42"), "payload", "count_too_large", 0, None, flags=["Truncated"])

g = piece("array-uint", "array<uint>", ["F-9"])
g.valid(1380, "no items", array(), [], flags=["Minimal"])
g.valid(1381, "one item, low byte first", literal("01 00 00 00  04 03 02 01", array(u32(0x01020304))), [0x01020304], flags=["Literal"])
g.valid(1382, "neither sorted nor without equals: as sent", array(u32(9), u32(1), u32(9), u32(0)), [9, 1, 9, 0])
g.valid(1383, "the largest items", array(u32(0xFFFFFFFF), u32(0x80000000)), [4294967295, 2147483648], flags=["MaxValue"])
g.invalid(1385, "count 0x40000000: times four it is 0 in 32 bits", u32(0x40000000), "payload", "count_too_large", 0, None,
          flags=["HugeCount", "Wraparound"])
g.invalid(1386, "count 0x40000001: times four it is 4 in 32 bits, and one item follows", u32(0x40000001) + u32(7),
          "payload", "count_too_large", 0, None, flags=["HugeCount", "Wraparound"])
g.invalid(1388, "the last item lacks one byte", u32(2) + u32(7) + hexa("08 00 00"), "payload", "count_too_large", 0, None,
          flags=["Truncated"])
g.lenient(1390, "a second item that is not counted is ignored", u32(1) + u32(7) + u32(8), [7], flags=["TrailingBytes"])

g = piece("array-string", "array<string>", ["F-8", "F-9", "F-11", "F-43"])
g.valid(1401, "one item", literal("01 00 00 00  02 00 00 00 61 00 00 00", array(string("a"))), ["a"], flags=["Literal"])
g.valid(1402, "text, empty and absent stay apart", array(string("A=1"), string(""), string(None), string("B")), ["A=1", "", None, "B"],
        flags=["EmptyString", "AbsentString"])
g.valid(1403, "two absent strings fill eight bytes exactly", array(string(None), string(None)), [None, None],
        flags=["AbsentString", "Limit"])
g.invalid(1405, "three items in eight bytes: no string is shorter than four", u32(3) + string(None) + string(None),
          "payload", "count_too_large", 0, None, flags=["Limit"])
g.invalid(1406, "count 0x40000000: times four it is 0 in 32 bits", u32(0x40000000) + string("a"), "payload", "count_too_large", 0, None,
          flags=["HugeCount", "Wraparound"])
g.invalid(1407, "the count fits, but the second item is missing", u32(2) + string("a"), "payload", "unexpected_end", 12, "[1]",
          flags=["Truncated"])
g.invalid(1409, "the second item's NUL is cut off", u32(2) + string("a") + u32(2) + utf16("b"), "payload", "count_too_large", 12, "[1]",
          flags=["Truncated"])
g.invalid(1410, "the first item has no NUL, so its second unit must be one", array(u32(2) + utf16("ab"), string("c")),
          "payload", "missing_terminator", 10, "[0]", flags=["MissingTerminator"])
g.invalid(1411, "the last item's count is 0x80000001, and a NUL follows", array(string(""), u32(0x80000001) + u16(0)),
          "payload", "count_too_large", 10, "[1]", flags=["HugeCount", "Wraparound"])
g.lenient(1412, "a string that is not counted is ignored", u32(1) + string("a") + string("b"), ["a"], flags=["TrailingBytes"])

# --- event_filter --------------------------------------------------------------------------------------------------
g = piece("event-filter", "event_filter", ["F-9", "F-17", "F-72", "F-73"])
g.valid(1502, "enable=0: every event but 10 and 300", boolean(False) + array(u32(10), u32(300)),
        {"enable": False, "event_ids": [10, 300]})
g.valid(1503, "enable=1: event 258 and no other; the id lies at an odd offset",
        literal("01  01 00 00 00  02 01 00 00", boolean(True) + array(u32(258))), {"enable": True, "event_ids": [258]},
        flags=["OddOffset", "Literal"])
g.valid(1504, "ids as sent: neither sorted nor made unique, 0 and the largest included",
        boolean(True) + array(u32(0xFFFFFFFF), u32(5), u32(0), u32(5)), {"enable": True, "event_ids": [4294967295, 5, 0, 5]},
        flags=["MaxValue"])
g.lenient(1505, "enable=2 is true", boolean(2) + array(u32(1)), {"enable": True, "event_ids": [1]}, flags=["BoolNotOne"])
g.invalid(1506, "nothing at all: no filter is written as five bytes", b"", "payload", "unexpected_end", 0, "enable",
          flags=["Truncated"], taken_by=TEN)
g.invalid(1507, "enable only", boolean(True), "payload", "unexpected_end", 1, "event_ids", flags=["Truncated"], taken_by=TEN)
g.invalid(1508, "no filter written as a length of 0 in four bytes: the count lacks one", u32(0), "payload", "unexpected_end", 1,
          "event_ids", flags=["AsPrinted", "Truncated"], taken_by=TEN)
g.invalid(1509, "the second id is cut", boolean(True) + u32(2) + u32(1) + hexa("02 00 00"), "payload", "count_too_large", 1, "event_ids",
          flags=["Truncated"], taken_by=TEN)
g.invalid(1510, "count 0x3FFFFFFF: almost 4 GiB of ids", boolean(False) + u32(0x3FFFFFFF) + u32(1), "payload", "count_too_large", 1,
          "event_ids", flags=["HugeCount"])
g.invalid(1511, "count 0x40000001: times four it is 4 in 32 bits, and one id follows", boolean(False) + u32(0x40000001) + u32(1),
          "payload", "count_too_large", 1, "event_ids", flags=["HugeCount", "Wraparound"])
g.lenient(1513, "one byte after the ids is ignored", boolean(False) + array(u32(7)) + u8(1), {"enable": False, "event_ids": [7]},
          flags=["TrailingBytes"])

# --- tracepoints ---------------------------------------------------------------------------------------------------
g = piece("tracepoint-set", "tracepoint_set", ["F-9"])
g.valid(1540, "smallest: absent name, no ids, eight bytes", literal("00 00 00 00  00 00 00 00", string(None) + array()),
        {"tracepoint_name": None, "event_ids": []}, flags=["Minimal", "AbsentString", "Literal"])
g.valid(1541, "name, then ids", literal("02 00 00 00 74 00 00 00  02 00 00 00 07 00 00 00 2c 01 00 00", string("t") + array(u32(7), u32(300))),
        {"tracepoint_name": "t", "event_ids": [7, 300]}, flags=["Full", "Literal"])
g.invalid(1543, "no ids array after the name", string("t"), "payload", "unexpected_end", 8, "event_ids", flags=["Truncated"])
g.invalid(1544, "the name has no NUL", counted(0x74, 0x75) + array(u32(1)), "payload", "missing_terminator", 6, "tracepoint_name",
          flags=["MissingTerminator"])
g.invalid(1545, "ids: 0xFFFFFFFF of them, 16 GiB", string("t") + u32(0xFFFFFFFF) + u32(1), "payload", "count_too_large", 8, "event_ids",
          flags=["HugeCount", "MaxValue"])

g = piece("tracepoint-config", "tracepoint_config", ["F-9", "F-21", "F-24", "F-33"])
g.valid(1560, "both parts empty: the grammar allows it, only a server refuses it", string(None) + array(),
        {"default_tracepoint_name": None, "tracepoints": []}, flags=["Minimal", "AbsentString"])
g.valid(1561, "a default and no sets", literal("03 00 00 00 54 00 31 00 00 00  00 00 00 00", string("T1") + array()),
        {"default_tracepoint_name": "T1", "tracepoints": []}, flags=["Literal"])
g.valid(1562, "no default and one set", string(None) + array(string("Low") + array(u32(1), u32(2))),
        {"default_tracepoint_name": None, "tracepoints": [{"tracepoint_name": "Low", "event_ids": [1, 2]}]}, flags=["AbsentString"])
g.valid(1563, "a default and two sets of different lengths",
        string("T1") + array(string("Low") + array(u32(1), u32(2)), string("H") + array(u32(900))),
        {"default_tracepoint_name": "T1", "tracepoints": [{"tracepoint_name": "Low", "event_ids": [1, 2]},
                                                          {"tracepoint_name": "H", "event_ids": [900]}]}, flags=["Full"])
g.valid(1564, "two sets of eight bytes each: the count just fits", string("T1") + array(string(None) + array(), string(None) + array()),
        {"default_tracepoint_name": "T1", "tracepoints": [{"tracepoint_name": None, "event_ids": []},
                                                          {"tracepoint_name": None, "event_ids": []}]},
        flags=["AbsentString", "Limit"])
g.invalid(1565, "two sets in fifteen bytes: no set is shorter than eight", string("T1") + u32(2) + hexa("00" * 15),
          "payload", "count_too_large", 10, "tracepoints", flags=["Limit"])
g.invalid(1566, "no count of sets after the default", string("T1"), "payload", "unexpected_end", 10, "tracepoints", flags=["Truncated"])
g.invalid(1567, "sets: 0x20000000 of them, times eight it is 0 in 32 bits", string("T1") + u32(0x20000000), "payload", "count_too_large",
          10, "tracepoints", flags=["HugeCount", "Wraparound"])
g.invalid(1568, "the count of sets fits, but the second set is missing", string("T1") + u32(2) + string("Low") + array(u32(1)),
          "payload", "unexpected_end", 34, "tracepoints[1].tracepoint_name", flags=["Truncated"])
g.invalid(1569, "the second set's last id is cut",
          string("T1") + u32(2) + string("Low") + array(u32(1)) + string("H") + u32(2) + u32(900) + u16(0),
          "payload", "count_too_large", 42, "tracepoints[1].event_ids", flags=["Truncated"])

# --- provider_config -----------------------------------------------------------------------------------------------
g = piece("provider-config", "provider_config", ["F-8", "F-83"])
g.valid(1600, "smallest: both strings absent, twenty bytes", u64(0) + u32(0) + string(None) + string(None),
        {"keywords": "0", "logLevel": 0, "provider_name": None, "arguments": None}, flags=["Minimal", "AbsentString"])
g.valid(1601, "every field set",
        literal("01 00 00 00 00 00 00 80  04 00 00 00  02 00 00 00 50 00 00 00  04 00 00 00 6b 00 3d 00 76 00 00 00",
                u64(0x8000000000000001) + u32(4) + string("P") + string("k=v")),
        {"keywords": "9223372036854775809", "logLevel": 4, "provider_name": "P", "arguments": "k=v"}, flags=["Full", "Literal"])
g.valid(1602, "arguments empty, not absent", u64(1) + u32(5) + string("P") + string(""),
        {"keywords": "1", "logLevel": 5, "provider_name": "P", "arguments": ""}, flags=["EmptyString"])
g.valid(1603, "all keywords; a name and arguments beyond ASCII", u64((1 << 64) - 1) + u32(0) + string("Ж\U0001f600") + string("診=\"a b\";x"),
        {"keywords": "18446744073709551615", "logLevel": 0, "provider_name": "Ж\U0001f600", "arguments": "診=\"a b\";x"},
        flags=["MaxValue", "SurrogatePair"])
g.invalid(1604, "arguments left out: absent is a length of 0, not no bytes", u64(1) + u32(5) + string("P"),
          "payload", "unexpected_end", 20, "arguments", flags=["OmittedArguments"])
g.invalid(1606, "ends inside logLevel", u64(1) + u16(5), "payload", "unexpected_end", 8, "logLevel", flags=["Truncated"])
g.invalid(1607, "the name's count reaches beyond the end", u64(1) + u32(5) + u32(7) + utf16("P\0") + u32(0), "payload", "count_too_large",
          12, "provider_name", flags=["Truncated"])
g.invalid(1608, "the name has no NUL", u64(1) + u32(5) + counted(0x50, 0x51) + string(None), "payload", "missing_terminator", 18,
          "provider_name", flags=["MissingTerminator"])

g = piece("streaming-provider-config", "streaming_provider_config", ["F-17", "F-72", "F-73", "F-83"])
g.valid(1640, "smallest: both strings absent, no filter, twenty-five bytes",
        u64(0) + u32(0) + string(None) + string(None) + boolean(False) + array(),
        {"keywords": "0", "logLevel": 0, "provider_name": None, "arguments": None, "filter": {"enable": False, "event_ids": []}},
        flags=["Minimal", "AbsentString"])
g.valid(1641, "every field set; the ids lie at odd offsets",
        literal("02 00 00 00 00 00 00 00  05 00 00 00  02 00 00 00 50 00 00 00  02 00 00 00 61 00 00 00"
                "  01  02 00 00 00 04 00 00 00 05 00 00 00",
                u64(2) + u32(5) + string("P") + string("a") + boolean(True) + array(u32(4), u32(5))),
        {"keywords": "2", "logLevel": 5, "provider_name": "P", "arguments": "a", "filter": {"enable": True, "event_ids": [4, 5]}},
        flags=["Full", "OddOffset", "Literal"])
g.lenient(1642, "the filter's enable is 0xFF: true", u64(2) + u32(5) + string("P") + string(None) + boolean(0xFF) + array(u32(4)),
          {"keywords": "2", "logLevel": 5, "provider_name": "P", "arguments": None, "filter": {"enable": True, "event_ids": [4]}},
          flags=["BoolNotOne"])
g.invalid(1643, "no filter written as no bytes", u64(2) + u32(5) + string("P") + string(None), "payload", "unexpected_end", 24,
          "filter.enable", flags=["Truncated"], taken_by=TEN)
g.invalid(1644, "no filter written as a length of 0 in four bytes", u64(2) + u32(5) + string("P") + string(None) + u32(0),
          "payload", "unexpected_end", 25, "filter.event_ids", flags=["AsPrinted", "Truncated"], taken_by=TEN)
g.invalid(1646, "ids: 0x3FFFFFFF of them", u64(2) + u32(5) + string("P") + string(None) + boolean(True) + u32(0x3FFFFFFF),
          "payload", "count_too_large", 25, "filter.event_ids", flags=["HugeCount"])
g.invalid(1647, "arguments left out: the filter's bytes are read as their count",
          u64(2) + u32(5) + string("P") + boolean(False) + array(u32(4)), "payload", "count_too_large", 20, "arguments",
          flags=["OmittedArguments"])

g = piece("user-events-provider-config", "user_events_provider_config", ["F-9", "F-13", "F-17", "F-72", "F-83"])
g.valid(1680, "smallest: every string absent, every array empty, thirty-three bytes",
        u64(0) + u32(0) + string(None) + string(None) + boolean(False) + array() + string(None) + array(),
        {"keywords": "0", "logLevel": 0, "provider_name": None, "arguments": None, "filter": {"enable": False, "event_ids": []},
         "config": {"default_tracepoint_name": None, "tracepoints": []}}, flags=["Minimal", "AbsentString"])
g.valid(1681, "the default tracepoint's name lies at an odd offset",
        literal("10 00 00 00 00 00 00 00  04 00 00 00  02 00 00 00 50 00 00 00  00 00 00 00  00 00 00 00 00"
                "  02 00 00 00 74 00 00 00  00 00 00 00",
                u64(0x10) + u32(4) + string("P") + string(None) + boolean(False) + array() + string("t") + array()),
        {"keywords": "16", "logLevel": 4, "provider_name": "P", "arguments": None, "filter": {"enable": False, "event_ids": []},
         "config": {"default_tracepoint_name": "t", "tracepoints": []}}, flags=["OddOffset", "Literal"])
g.valid(1682, "every field set, text beyond the BMP at an odd offset",
        u64(0x10) + u32(4) + string("P") + string("a") + boolean(True) + array(u32(4), u32(5))
        + string("\U0001f600") + array(string("Low") + array(u32(4)), string("H") + array(u32(5), u32(6))),
        {"keywords": "16", "logLevel": 4, "provider_name": "P", "arguments": "a", "filter": {"enable": True, "event_ids": [4, 5]},
         "config": {"default_tracepoint_name": "\U0001f600", "tracepoints": [{"tracepoint_name": "Low", "event_ids": [4]},
                                                                             {"tracepoint_name": "H", "event_ids": [5, 6]}]}},
        flags=["Full", "OddOffset", "SurrogatePair"])
g.invalid(1683, "config left out", u64(0x10) + u32(4) + string("P") + string(None) + boolean(False) + array(),
          "payload", "unexpected_end", 29, "config.default_tracepoint_name", flags=["Truncated"])
g.invalid(1684, "filter omitted: the config's bytes are read as the filter, and the config is missing",
          u64(0x10) + u32(4) + string("P") + string(None) + string(None) + array(),
          "payload", "unexpected_end", 29, "config.default_tracepoint_name", flags=["Truncated"])
g.invalid(1685, "ends inside the count of sets", u64(0x10) + u32(4) + string("P") + string(None) + boolean(False) + array()
          + string("t") + u16(1), "payload", "unexpected_end", 37, "config.tracepoints", flags=["Truncated", "OddOffset"])
g.invalid(1686, "the first set's ids: 0x40000001 of them, times four it is 4 in 32 bits, and one follows",
          u64(0x10) + u32(4) + string("P") + string(None) + boolean(False) + array() + string(None) + u32(1)
          + string("Low") + u32(0x40000001) + u32(4),
          "payload", "count_too_large", 49, "config.tracepoints[0].event_ids", flags=["HugeCount", "Wraparound", "OddOffset"])
