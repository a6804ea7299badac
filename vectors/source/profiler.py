"""Profiler commands: 0x0301 AttachProfiler and 0x0302 StartupProfiler.

AttachProfiler: uint attachTimeout (milliseconds), CLSID profilerGuid (16 bytes), string profilerPath, array<byte> clientData.
StartupProfiler: CLSID profilerGuid, string profilerPath. The reply of both is an int32 hresult.
"""
from notation import *

FILE = File("profiler", "Profiler commands", 7000, 7999)
MADE = "written field by field in source/profiler.py from the document's list of fields"

ZERO = "00000000-0000-0000-0000-000000000000"
COUNTING = "03020100-0504-0706-0809-0a0b0c0d0e0f"         # its bytes on the wire are 00 01 02 … 0f
CLSID = "cf0d821e-299b-5307-a3d8-b283c03916dd"

# --- 0x0301 --------------------------------------------------------------------------------------------------------
g = FILE.group("profiler-attach-profiler-request", type="request", source="derived", made=MADE, direction="client",
               command="Profiler/AttachProfiler", since="3.1",
               spec=["F-4", "F-7", "F-8", "F-11", "F-52", "F-53", "F-54", "F-55", "F-72", "P-5", "P-43"])

g.valid(7001, "smallest: no time to attach, a CLSID of zeroes, a one-character path, no client data",
        message(0x0301, u32(0), guid(ZERO), string("p"), array()),
        {"attachTimeout": 0, "profilerGuid": ZERO, "profilerPath": "p", "clientData": ""},
        flags=["Minimal"], hazard="side-effect")

literal = hexa("444f544e45545f4950435f563100 4700 03 01 0000"
               "10270000 1e820dcf 9b29 0753 a3d8b283c03916dd"
               "0a000000 2f006f00700074002f0070002e0073006f00 0000"
               "03000000 010203")
assert literal == message(0x0301, u32(10000), guid(CLSID), string("/opt/p.so"), array(u8(1), u8(2), u8(3)))
g.valid(7002, "every byte written out: ten seconds, three bytes of client data", literal,
        {"attachTimeout": 10000, "profilerGuid": CLSID, "profilerPath": "/opt/p.so", "clientData": "010203"},
        flags=["Literal", "Full"], hazard="side-effect")

g.valid(7003, "a CLSID whose sixteen bytes count from 0 to 15: the first three fields are little-endian, the rest is not",
        message(0x0301, u32(1), hexa("00010203 0405 0607 08090a0b0c0d0e0f"), string("p"), array()),
        {"attachTimeout": 1, "profilerGuid": COUNTING, "profilerPath": "p", "clientData": ""}, hazard="side-effect")

g.valid(7004, "the longest timeout, and one byte of client data, a zero",
        message(0x0301, u32(0xFFFFFFFF), guid(CLSID), string("p"), array(u8(0))),
        {"attachTimeout": 0xFFFFFFFF, "profilerGuid": CLSID, "profilerPath": "p", "clientData": "00"},
        flags=["MaxValue"], hazard="side-effect")

g.valid(7005, "a path with a character of two units, and 256 bytes of client data of every value",
        message(0x0301, u32(5000), guid(CLSID), string("/профили/\U0001F50D.so"), array(*(u8(n) for n in range(256)))),
        {"attachTimeout": 5000, "profilerGuid": CLSID, "profilerPath": "/профили/\U0001F50D.so",
         "clientData": "".join(f"{n:02x}" for n in range(256))}, flags=["SurrogatePair"], hazard="side-effect")

g.valid(7006, "client data that could be a string is not one: its count is of bytes and it has no NUL",
        message(0x0301, u32(5000), guid(CLSID), string("p"), u32(5), hexa("6b65793d76")),
        {"attachTimeout": 5000, "profilerGuid": CLSID, "profilerPath": "p", "clientData": "6b65793d76"},
        hazard="side-effect")

g.valid(7007, "an absent path: four bytes of zeroes",
        message(0x0301, u32(5000), guid(CLSID), string(None), array(u8(0xFF))),
        {"attachTimeout": 5000, "profilerGuid": CLSID, "profilerPath": None, "clientData": "ff"},
        flags=["AbsentString"], hazard="side-effect")

g.valid(7008, "an empty path: count 1 and its NUL",
        message(0x0301, u32(5000), guid(CLSID), string(""), array(u8(0xFF))),
        {"attachTimeout": 5000, "profilerGuid": CLSID, "profilerPath": "", "clientData": "ff"},
        flags=["EmptyString"], hazard="side-effect")

g.valid(7010, "a path that begins with NUL: a runtime ends it there, and refuses it as it refuses an empty one",
        message(0x0301, u32(5000), guid(CLSID), u32(3), units(0, 0x70, 0), array()),
        {"attachTimeout": 5000, "profilerGuid": CLSID, "profilerPath": "\0p", "clientData": ""},
        flags=["InnerNul"], hazard="side-effect")

g.valid(7009, "what a client that counts in seconds writes for ten of them: the bytes are valid, and mean ten milliseconds",
        message(0x0301, u32(10), guid(CLSID), string("/opt/p.so"), array()),
        {"attachTimeout": 10, "profilerGuid": CLSID, "profilerPath": "/opt/p.so", "clientData": ""},
        flags=["ClientFault"], hazard="side-effect")

g.lenient(7015, "bytes after the client data are ignored; released runtimes refuse them",
          message(0x0301, u32(5000), guid(CLSID), string("p"), array(u8(1), u8(2)), hexa("0000")),
          {"attachTimeout": 5000, "profilerGuid": CLSID, "profilerPath": "p", "clientData": "0102"},
          flags=["TrailingBytes"], hazard="side-effect")

g.lenient(7016, "two lengths before the client data, as the struct shows: the second one is read as the data, the data as surplus",
          message(0x0301, u32(5000), guid(CLSID), string("p"), u32(4), u32(4), hexa("aabbccdd")),
          {"attachTimeout": 5000, "profilerGuid": CLSID, "profilerPath": "p", "clientData": "04000000"},
          flags=["AsPrinted", "TrailingBytes", "ClientFault"], hazard="side-effect")

g.invalid(7020, "no payload at all",
          message(0x0301), "payload", "unexpected_end", 20, "AttachProfiler.attachTimeout",
          flags=["Truncated", "EmptyPayload"], hazard="harmful")

g.invalid(7021, "the payload ends inside the CLSID",
          message(0x0301, u32(5000), hexa("00010203 0405 0607")), "payload", "unexpected_end", 24,
          "AttachProfiler.profilerGuid", flags=["Truncated"], hazard="harmful")

g.invalid(7022, "a CLSID of 14 bytes, as printed (uint, byte, byte, byte[8]): all that follows is read two bytes late",
          message(0x0301, u32(5000), hexa("00010203 04 05 08090a0b0c0d0e0f"), string("/p"), array()),
          "payload", "count_too_large", 40, "AttachProfiler.profilerPath", flags=["AsPrinted", "ClientFault"], hazard="harmful")

g.invalid(7023, "the payload ends after the CLSID",
          message(0x0301, u32(5000), guid(CLSID)), "payload", "unexpected_end", 40, "AttachProfiler.profilerPath",
          flags=["Truncated"], hazard="harmful")

g.invalid(7024, "the path left out instead of written with length 0: the client data are read in its place",
          message(0x0301, u32(5000), guid(CLSID), array(u8(1), u8(2))), "payload", "count_too_large", 40,
          "AttachProfiler.profilerPath", flags=["ClientFault"], hazard="harmful")

g.invalid(7025, "client data left out instead of written with length 0",
          message(0x0301, u32(5000), guid(CLSID), string("p")), "payload", "unexpected_end", 48,
          "AttachProfiler.clientData", flags=["Truncated"], hazard="harmful")

g.invalid(7026, "client data of four bytes, three of them present; released runtimes accept it and read past the end",
          message(0x0301, u32(5000), guid(CLSID), string("p"), u32(4), hexa("010203")), "payload", "count_too_large", 48,
          "AttachProfiler.clientData", flags=["Truncated"], hazard="harmful")

g.invalid(7027, "a client data length of 0xFFFFFFFF",
          message(0x0301, u32(5000), guid(CLSID), string("p"), u32(0xFFFFFFFF), hexa("010203")), "payload",
          "count_too_large", 48, "AttachProfiler.clientData", flags=["HugeCount", "MaxValue"], hazard="harmful")

g.invalid(7028, "the path's count is that of bytes, twice that of units",
          message(0x0301, u32(5000), guid(CLSID), u32(8), utf16("/p2"), u16(0), array()), "payload", "count_too_large", 40,
          "AttachProfiler.profilerPath", flags=["ClientFault"], hazard="harmful")

g.invalid(7029, "the path's NUL is neither counted nor written",
          message(0x0301, u32(5000), guid(CLSID), u32(2), utf16("/p"), array()), "payload", "missing_terminator", 46,
          "AttachProfiler.profilerPath", flags=["MissingTerminator", "ClientFault"], hazard="harmful")

# --- 0x0302 --------------------------------------------------------------------------------------------------------
g = FILE.group("profiler-startup-profiler-request", type="request", source="derived", made=MADE, direction="client",
               command="Profiler/StartupProfiler", since="6.0", spec=["F-4", "F-7", "F-8", "F-11", "F-51", "F-52", "F-72"])

literal = hexa("444f544e45545f4950435f563100 3200 03 02 0000"
               "1e820dcf 9b29 0753 a3d8b283c03916dd"
               "05000000 70002e0073006f00 0000")
assert literal == message(0x0302, guid(CLSID), string("p.so"))
g.valid(7101, "every byte written out: no timeout before the CLSID, no client data after the path", literal,
        {"profilerGuid": CLSID, "profilerPath": "p.so"}, flags=["Literal"], hazard="side-effect")

g.valid(7102, "a Windows path with accents and a character of two units",
        message(0x0302, guid(COUNTING), string("C:\\Prüfer\\\U0001F9EA.dll")),
        {"profilerGuid": COUNTING, "profilerPath": "C:\\Prüfer\\\U0001F9EA.dll"},
        flags=["Full", "SurrogatePair"], hazard="side-effect")

g.valid(7103, "an absent path: the smallest payload",
        message(0x0302, guid(CLSID), string(None)), {"profilerGuid": CLSID, "profilerPath": None},
        flags=["AbsentString", "Minimal"], hazard="side-effect")

g.valid(7104, "an empty path",
        message(0x0302, guid(CLSID), string("")), {"profilerGuid": CLSID, "profilerPath": ""},
        flags=["EmptyString"], hazard="side-effect")

g.lenient(7105, "client data as AttachProfiler has them: surplus here",
          message(0x0302, guid(CLSID), string("p.so"), array(u8(9))), {"profilerGuid": CLSID, "profilerPath": "p.so"},
          flags=["TrailingBytes"], hazard="side-effect")

g.invalid(7120, "no payload at all",
          message(0x0302), "payload", "unexpected_end", 20, "StartupProfiler.profilerGuid",
          flags=["Truncated", "EmptyPayload"], hazard="harmful")

g.invalid(7121, "a CLSID of 14 bytes, as printed",
          message(0x0302, hexa("00010203 04 05 08090a0b0c0d0e0f"), string("/p")), "payload", "count_too_large", 36,
          "StartupProfiler.profilerPath", flags=["AsPrinted", "ClientFault"], hazard="harmful")

g.invalid(7122, "a timeout before the CLSID, as AttachProfiler has it: all that follows is read four bytes early",
          message(0x0302, u32(5000), guid(CLSID), string("p.so")), "payload", "count_too_large", 36,
          "StartupProfiler.profilerPath", flags=["ClientFault"], hazard="harmful")

g.invalid(7123, "the payload ends inside the path",
          message(0x0302, guid(CLSID), u32(5), utf16("p.so")), "payload", "count_too_large", 36,
          "StartupProfiler.profilerPath", flags=["Truncated"], hazard="harmful")

g.invalid(7124, "a path count of 0x80000001, which doubled in 32 bits looks like 1 unit",
          message(0x0302, guid(CLSID), u32(0x80000001), u16(0)), "payload", "count_too_large", 36,
          "StartupProfiler.profilerPath", flags=["HugeCount"], hazard="harmful")

# --- replies -------------------------------------------------------------------------------------------------------
g = FILE.group("profiler-attach-profiler-reply", type="reply", source="derived", made=MADE, direction="server",
               command="Profiler/AttachProfiler", since="3.1", spec=["F-2", "F-12", "F-56"])

literal = hexa("444f544e45545f4950435f563100 1800 ff 00 0000 6a131380")
assert literal == message(OK, u32(0x8013136A))
g.valid(7201, "every byte written out: a profiler is active already", literal, {"hresult": "0x8013136A"}, flags=["Literal"])


g.valid(7203, "the runtime does not run yet", message(OK, u32(0x8013135B)), {"hresult": "0x8013135B"})

g.valid(7205, "the generic OK of 20 bytes", message(OK), {}, flags=["GenericOk"])

g.invalid(7206, "hresult has three bytes of four",
          message(OK, hexa("6a1313")), "payload", "unexpected_end", 20, "AttachProfiler.hresult", flags=["Truncated"])

g = FILE.group("profiler-startup-profiler-reply", type="reply", source="derived", made=MADE, direction="server",
               command="Profiler/StartupProfiler", since="6.0", spec=["F-1", "F-51", "F-56"])

g.valid(7301, "success", message(OK, u32(0)), {"hresult": "0x00000000"}, flags=["Minimal"])
g.valid(7302, "the runtime is not paused", message(OK, u32(0x80070057)), {"hresult": "0x80070057"})
g.valid(7303, "a build without profiling", message(OK, u32(0x80131515)), {"hresult": "0x80131515"})
