"""The 20 bytes before every payload: magic, size, command, reserved; and messages in pieces."""
from notation import *

FILE = File("header", "The 20-byte header and message sizes", 2000, 2999)
MADE = "written field by field in source/header.py from the document's struct IpcHeader"
# These runtimes read `size` bytes, answer, and ignore what follows.


def requests(name, command, since, spec):
    return FILE.group("header-" + name, type="request", source="derived", made=MADE, direction="client", command=command, since=since,
                      spec=spec)


def replies(name, command, since, spec):
    return FILE.group("header-" + name, type="reply", source="derived", made=MADE, direction="server", command=command, since=since,
                      spec=spec)


def unknowns(name, spec):
    return FILE.group("header-" + name, type="unknown", source="derived", made=MADE, direction="client", spec=spec)


def literal(text, spelled):
    """Returns bytes written out in full, which must equal those of the notation."""
    wire = hexa(text)
    assert wire == spelled, text
    return wire


# A request of 20 bytes, one of 28, and a reply of 28.
INFO = literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00  14 00  04  00  00 00", message(0x0400))
STOP = literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00  1c 00  02  01  00 00  08 07 06 05 04 03 02 01",
               message(0x0201, u64(0x0102030405060708)))
STOPPED = literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00  1c 00  ff  00  00 00  08 07 06 05 04 03 02 01",
                  message(OK, u64(0x0102030405060708)))
SESSION = {"sessionId": "72623859790382856"}

# --- magic ---------------------------------------------------------------------------------------------------------
g = requests("magic-request", "Process/ProcessInfo", "5.0", ["F-3", "F-69"])
g.invalid(2000, "the first byte is wrong", message(0x0400, magic=b"XOTNET_IPC_V1\0"), "header", "bad_magic", 0, "header.magic")
g.invalid(2001, "lower case", message(0x0400, magic=b"dotnet_ipc_v1\0"), "header", "bad_magic", 0, "header.magic")
g.invalid(2002, "the 11th byte is a hyphen: ten good bytes do not suffice", message(0x0400, magic=b"DOTNET_IPC-V1\0"),
          "header", "bad_magic", 10, "header.magic")
g.invalid(2003, "version 2", message(0x0400, magic=b"DOTNET_IPC_V2\0"), "header", "bad_magic", 12, "header.magic")
g.invalid(2004, "a space in place of the NUL: all 14 bytes count", message(0x0400, magic=b"DOTNET_IPC_V1 "),
          "header", "bad_magic", 13, "header.magic")
g.invalid(2005, "the advertise's magic, padded with zeros", message(0x0400, magic=b"ADVR_V1\0" + bytes(6)),
          "header", "bad_magic", 0, "header.magic")
g.invalid(2006, "the magic as UTF-16", message(0x0400, magic=utf16("DOTNET_")), "header", "bad_magic", 1, "header.magic")
g.invalid(2007, "the magic without its NUL: all that follows lies one byte early, so that a runtime waits for 1024 bytes",
          b"DOTNET_IPC_V1" + u16(20) + u8(0x04) + u8(0x00) + u16(0) + u8(0), "header", "bad_magic", 13, "header.magic",
          hazard="harmful")
g.invalid(2008, "wrong magic and a size of 0", message(0x0400, size=0, magic=b"DOTNET_IPC_V2\0"),
          "header", "bad_magic", 12, "header.magic", flags=["TwoFaults"])
g.invalid(2009, "wrong magic and four bytes too few", message(0x0400, size=24, magic=b"DOTNET_IPC_V2\0"),
          "header", "bad_magic", 12, "header.magic", flags=["TwoFaults", "Truncated"], hazard="harmful")
g.invalid(2010, "wrong magic, and only 19 bytes", message(0x0400, magic=b"DOTNET_IPC_V2\0")[:19],
          "header", "bad_magic", 12, "header.magic", flags=["TwoFaults", "Truncated"], hazard="harmful")
g.invalid(2011, "five bytes, the last one wrong: the bytes of the magic that are present are compared", b"DOTNX",
          "header", "bad_magic", 4, "header.magic", flags=["TwoFaults", "Truncated"], hazard="harmful")

g = replies("magic-reply", "Process/ProcessInfo", "5.0", ["F-71"])
g.invalid(2020, "no header at all: 20 payload bytes of the request echoed, then 20 bytes of memory",
          b"\x41" * 20 + hexa("00 00 00 00 00 00 00 00  b0 5c 01 e8 3f 7f 00 00  21 00 00 00"),
          "header", "bad_magic", 0, "header.magic")
g.invalid(2021, "the answer of a web server", b"HTTP/1.1 400 Bad Request\r\n\r\n", "header", "bad_magic", 0, "header.magic")
g.invalid(2022, "an advertise where a reply is due",
          b"ADVR_V1\0" + guid("00112233-4455-6677-8899-aabbccddeeff") + u64(12345) + u16(0), "header", "bad_magic", 0, "header.magic")

# --- size ----------------------------------------------------------------------------------------------------------
g = requests("size-request", "Process/ProcessInfo", "5.0", ["F-3", "F-69", "F-70"])
g.invalid(2101, "0", message(0x0400, size=0), "transport", "size_too_small", 14, "header.size")
g.invalid(2102, "19", message(0x0400, size=19), "transport", "size_too_small", 14, "header.size", flags=["Limit"])
g.invalid(2103, "20, but one more byte follows", INFO + u8(0), "transport", "bytes_after_message", 20, "payload")
g.invalid(2104, "20, but a second message follows at once", INFO + INFO, "transport", "bytes_after_message", 20, "payload")
g.invalid(2105, "19, and bytes beyond the header: the size is named first", message(0x0400, u32(0), size=19),
          "transport", "size_too_small", 14, "header.size", flags=["TwoFaults"])
g.invalid(2106, "21, one byte more than the message has", message(0x0400, size=21), "transport", "end_of_input", 20, "payload",
          flags=["Truncated"], hazard="harmful")
g.invalid(2107, "65535, with 20 bytes", message(0x0400, size=65535), "transport", "end_of_input", 20, "payload",
          flags=["Truncated", "MaxValue"], hazard="harmful")
g.invalid(2108, "the high byte first: 0x0014 is read as 0x1400", b"DOTNET_IPC_V1\0" + hexa("00 14") + u8(0x04) + u8(0x00) + u16(0),
          "transport", "end_of_input", 20, "payload", flags=["Truncated"], hazard="harmful")

g = requests("size-of-a-payload", "EventPipe/StopTracing", "3.1", ["F-7", "F-72", "F-75"])
g.invalid(2120, "the size of the payload only, without the header", message(0x0201, u64(1), size=8),
          "transport", "size_too_small", 14, "header.size")
g.invalid(2121, "the size of the header only: eight bytes lie beyond it", message(0x0201, u64(1), size=20),
          "transport", "bytes_after_message", 20, "payload", hazard="harmful")
g.invalid(2122, "the last byte lies beyond the size", message(0x0201, u64(1), size=27),
          "transport", "bytes_after_message", 27, "payload", hazard="harmful")
g.invalid(2123, "the last byte is missing", STOP[:27], "transport", "end_of_input", 27, "payload", flags=["Truncated"], hazard="harmful")
g.invalid(2124, "the payload is missing", STOP[:20], "transport", "end_of_input", 20, "payload", flags=["Truncated"], hazard="harmful")
g.invalid(2125, "the high byte first: 0x001C is read as 0x1C00",
          b"DOTNET_IPC_V1\0" + hexa("00 1c") + u8(0x02) + u8(0x01) + u16(0) + u64(1),
          "transport", "end_of_input", 28, "payload", flags=["Truncated"], hazard="harmful")

g = replies("size-reply", "EventPipe/CollectTracing", "3.1", [])
g.valid(2140, "28", message(OK, u64(1)), {"sessionId": "1"})
g.invalid(2141, "19", message(OK, u64(1), size=19), "transport", "size_too_small", 14, "header.size", flags=["Limit"])
g.invalid(2142, "the stream's first bytes arrive with the reply: they are not part of the message",
          message(OK, u64(1)) + b"Nettrace", "transport", "bytes_after_message", 28, "payload")
g.invalid(2143, "the session's last byte is missing", message(OK, u64(1))[:27], "transport", "end_of_input", 27, "payload",
          flags=["Truncated"])

# --- the largest message -------------------------------------------------------------------------------------------
# The fields before clientData have 54 bytes: 20 header, 4 attachTimeout, 16 profilerGuid, 4 + 2 * 3 profilerPath, 4 count.
PATTERN = bytes(range(251))  # a length that divides no power of two, so that a moved or repeated block is noticed
FULL = (PATTERN * 261)[:65535 - 54]
OVER = (PATTERN * 261)[:65535 - 54 + 1]
PROFILER = "00112233-4455-6677-8899-aabbccddeeff"

g = requests("size-largest", "Profiler/AttachProfiler", "3.1", ["F-40", "F-53"])
largest = message(0x0301, u32(5000), guid(PROFILER), string("/p"), u32(len(FULL)), FULL)
assert len(largest) == 65535 and largest[14:16] == hexa("ff ff")
g.valid(2160, "65535 bytes: the largest message", largest,
        {"attachTimeout": 5000, "profilerGuid": PROFILER, "profilerPath": "/p", "clientData": FULL.hex()},
        flags=["Limit", "MaxValue"], hazard="side-effect", chunks=[4096] * 15 + [4095])
g._add(2161, "65536 bytes: cannot be encoded; the size would be 0 in 16 bits", None,
       {"attachTimeout": 5000, "profilerGuid": PROFILER, "profilerPath": "/p", "clientData": OVER.hex()},
       "invalid", ["Limit"], False, {"layer": "transport", "kind": "message_too_large", "offset": 14, "field": "header.size"},
       None, None, None)

# --- bytes that end inside the header ------------------------------------------------------------------------------
g = requests("cut-request", "Process/ProcessInfo", "5.0", ["F-69", "F-75"])
g.invalid(2200, "nothing", b"", "transport", "end_of_input", 0, "header", flags=["Truncated"], hazard="harmful")
g.invalid(2201, "one byte", INFO[:1], "transport", "end_of_input", 1, "header", flags=["Truncated"], hazard="harmful")
g.invalid(2202, "the magic without its NUL", INFO[:13], "transport", "end_of_input", 13, "header", flags=["Truncated"], hazard="harmful")
g.invalid(2203, "the magic and nothing else", INFO[:14], "transport", "end_of_input", 14, "header", flags=["Truncated"], hazard="harmful")
g.invalid(2204, "19 bytes: half of reserved is missing", INFO[:19], "transport", "end_of_input", 19, "header", flags=["Truncated"],
          hazard="harmful")

g = replies("cut-reply", "EventPipe/StopTracing", "3.1", [])
g.invalid(2220, "the server hangs up without a reply", b"", "transport", "end_of_input", 0, "header", flags=["Truncated"])
g.invalid(2221, "the size is cut in half", STOPPED[:15], "transport", "end_of_input", 15, "header", flags=["Truncated"])
g.invalid(2222, "19 bytes, and size 19: the end is named first", message(OK, size=19)[:19], "transport", "end_of_input", 19, "header",
          flags=["Truncated", "TwoFaults"])

# --- reserved ------------------------------------------------------------------------------------------------------
g = requests("reserved-request", "Process/ProcessInfo", "5.0", ["F-4"])
g.lenient(2300, "reserved 0x0001: never looked at", message(0x0400, reserved=0x0001), {}, flags=["NonZeroReserved"])
g.lenient(2301, "reserved 0xFFFF", message(0x0400, reserved=0xFFFF), {}, flags=["NonZeroReserved", "MaxValue"])

g = replies("reserved-reply", "EventPipe/StopTracing", "3.1", ["F-4"])
g.lenient(2320, "reserved 0x1234: the payload is read as ever", message(OK, u64(7), reserved=0x1234), {"sessionId": "7"},
          flags=["NonZeroReserved"])

# --- commands that the document does not know ----------------------------------------------------------------------
g = unknowns("unknown-set", ["F-68", "F-85"])
g.valid(2400, "set 0x63, id 0x01, no payload", literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00  14 00  63  01  00 00", message(0x6301)),
        {"code": "0x6301", "payload": ""}, flags=["UnknownValue", "Minimal", "Literal"])
g.valid(2401, "set 0x05 with a payload: it is kept byte for byte", message(0x0500, hexa("00 ff 0a 80")),
        {"code": "0x0500", "payload": "00ff0a80"}, flags=["UnknownValue"])
g.valid(2402, "set 0x00, id 0x00", message(0x0000), {"code": "0x0000", "payload": ""}, flags=["UnknownValue"])
g.valid(2403, "ProcessInfo's code as a little-endian number: 0x0400 becomes set 0x00, id 0x04",
        header(0, 20)[:16] + u16(0x0400) + u16(0), {"code": "0x0004", "payload": ""}, flags=["UnknownValue"])
g.lenient(2404, "reserved 0x0100", message(0x6301, u8(1), reserved=0x0100), {"code": "0x6301", "payload": "01"},
          flags=["UnknownValue", "NonZeroReserved"])
g.invalid(2405, "the payload is cut: an unknown command has a size too", message(0x6301, u8(1), size=22),
          "transport", "end_of_input", 21, "payload", flags=["UnknownValue", "Truncated"], hazard="harmful")
g.valid(2406, "set 0xFE, id 0x09: no edition has a command in this set", message(0xFE09), {"code": "0xFE09", "payload": ""},
        flags=["UnknownValue"])
g.valid(2407, "set 0xFE, id 0x00", message(0xFE00), {"code": "0xFE00", "payload": ""}, flags=["UnknownValue"])
g.valid(2408, "set 0xFE, id 0xFF: only set 0xFF has replies", message(0xFEFF), {"code": "0xFEFF", "payload": ""},
        flags=["UnknownValue", "MaxValue"])

# The id after a set's last command is missing on purpose: the next command of a runtime takes it.
g = unknowns("unknown-id", ["F-5", "F-68", "F-74"])
g.valid(2420, "Dump, id 0x00: reserved", message(0x0100), {"code": "0x0100", "payload": ""}, flags=["UnknownValue"])
g.valid(2422, "EventPipe, id 0x00: reserved", message(0x0200, u64(1)), {"code": "0x0200", "payload": "0100000000000000"},
        flags=["UnknownValue"])
g.valid(2426, "Process, id 0xFF", message(0x04FF), {"code": "0x04FF", "payload": ""}, flags=["UnknownValue", "MaxValue"])
g.valid(2427, "Profiler, id 0x00: answered, but runtimes leave the connection open and lose a descriptor", message(0x0300), {"code": "0x0300", "payload": ""},
        flags=["UnknownValue"], hazard="harmful")

g = unknowns("server-codes-as-request", ["F-68"])
g.valid(2440, "OK sent by a client: a code like any other", message(0xFF00), {"code": "0xFF00", "payload": ""}, flags=["UnknownValue"])
g.valid(2441, "Error sent by a client: its four bytes are a payload, no HRESULT", message(0xFFFF, u32(0x80131384)),
        {"code": "0xFFFF", "payload": "84131380"}, flags=["UnknownValue"])

g = requests("swapped-code", "Dump/GenerateCoreDump2", "6.0", ["F-7", "F-85"])
g.invalid(2460, "StopTracing's code as a little-endian number: 0x0201 becomes set 0x01, id 0x02, which is another command",
          header(0, 28)[:16] + u16(0x0201) + u16(0) + u64(1), "payload", "unexpected_end", 26, "GenerateCoreDump2.dumpType",
          hazard="harmful")

# --- answers that are no replies -----------------------------------------------------------------------------------
g = replies("not-a-reply", "EventPipe/StopTracing", "3.1", ["F-85"])
g.invalid(2500, "the request returned unchanged", STOP, "reply", "not_a_reply", 16, "header.command_set")
g.invalid(2501, "set 0xFE", message(0xFE00, u64(1)), "reply", "not_a_reply", 16, "header.command_set")
g.invalid(2502, "set 0xFF, id 0x01: an unknown command of a server", message(0xFF01, u64(1)),
          "reply", "not_a_reply", 17, "header.command_id")
g.invalid(2503, "set 0xFF, id 0xFE: close to Error is not Error", message(0xFFFE, u32(0x80131384)),
          "reply", "not_a_reply", 17, "header.command_id")
g.invalid(2504, "OK's code as a little-endian number: set 0x00, id 0xFF", header(0, 28)[:16] + u16(0xFF00) + u16(0) + u64(1),
          "reply", "not_a_reply", 16, "header.command_set")
g.invalid(2505, "an unknown id and half a session: the command is named first", message(0xFF7F, u32(1)),
          "reply", "not_a_reply", 17, "header.command_id", flags=["TwoFaults"])
g.invalid(2506, "an unknown id and a byte too many: the byte is named first", message(0xFF7F, u64(1)) + u8(0),
          "transport", "bytes_after_message", 28, "payload", flags=["TwoFaults"])

# --- messages in pieces --------------------------------------------------------------------------------------------
g = requests("pieces-request", "EventPipe/StopTracing", "3.1", ["F-69"])
g.valid(2600, "byte by byte (3.1 refuses a header in pieces)", STOP, SESSION, flags=["Chunked", "Literal"], chunks=[1] * 28)
g.valid(2601, "the header in two pieces, 13 and 7: 3.1 refuses it", STOP, SESSION, flags=["Chunked"], chunks=[13, 7, 8])
g.valid(2602, "header and payload apart", STOP, SESSION, flags=["Chunked"], chunks=[20, 8])
g.valid(2603, "15, 6 and 7: the size is split, the second piece extends past the header's end (3.1 refuses it)", STOP, SESSION,
        flags=["Chunked"], chunks=[15, 6, 7])

g = replies("pieces-reply", "EventPipe/StopTracing", "3.1", [])
g.valid(2620, "byte by byte", STOPPED, SESSION, flags=["Chunked", "Literal"], chunks=[1] * 28)
g.valid(2621, "header and payload apart", STOPPED, SESSION, flags=["Chunked"], chunks=[20, 8])
g.invalid(2622, "the magic's last byte is wrong and is a separate piece", message(OK, u64(1), magic=b"DOTNET_IPC_V1 "),
          "header", "bad_magic", 13, "header.magic", flags=["Chunked"], chunks=[13, 1, 14])
g.invalid(2623, "two pieces, and the end is inside the header", STOPPED[:19], "transport", "end_of_input", 19, "header",
          flags=["Chunked", "Truncated"], chunks=[10, 9])
g.invalid(2624, "the last piece brings three bytes too many", STOPPED + b"abc", "transport", "bytes_after_message", 28, "payload",
          flags=["Chunked"], chunks=[20, 11])
