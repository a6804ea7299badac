"""Dump commands: 0x0101 GenerateCoreDump, 0x0102 GenerateCoreDump2, 0x0103 GenerateCoreDump3.

All three have one payload: string dumpName, uint dumpType, and a uint that is `diagnostics` in the first command and `flags`
in the other two. The reply is an int32 hresult.

A valid dump is harmful, because it can cost a runtime its socket (P-6). A dump with a refused type is not.
"""
from notation import *

FILE = File("dump", "Dump commands", 4000, 4999)
MADE = "written field by field in source/dump.py from the document's list of fields"

# --- 0x0101 --------------------------------------------------------------------------------------------------------
g = FILE.group("dump-generate-core-dump-request", type="request", source="derived", made=MADE, direction="client",
               command="Dump/GenerateCoreDump", since="3.1", spec=["F-4", "F-7", "F-8", "F-11", "F-49", "F-72", "P-6"])

g.valid(4001, "smallest: a one-character name, a normal dump, no diagnostics",
        message(0x0101, string("a"), u32(1), u32(0)),
        {"dumpName": "a", "dumpType": 1, "diagnostics": 0}, flags=["Minimal"], hazard="harmful")

literal = hexa("444f544e45545f4950435f563100 3c00 01 01 0000"
               "0e000000 2f0074006d0070002f0063006f00720065002e00310032003300 0000"
               "02000000 01000000")
assert literal == message(0x0101, string("/tmp/core.123"), u32(2), u32(1))
g.valid(4002, "every byte written out: a dump with heap, diagnostics on", literal,
        {"dumpName": "/tmp/core.123", "dumpType": 2, "diagnostics": 1}, flags=["Literal"], hazard="harmful")

g.valid(4003, "a path with Cyrillic letters and a character of two UTF-16 units, which the count counts twice",
        message(0x0101, string("/tmp/дамп-\U0001F4A5.dmp"), u32(4), u32(1)),
        {"dumpName": "/tmp/дамп-\U0001F4A5.dmp", "dumpType": 4, "diagnostics": 1},
        flags=["Full", "SurrogatePair"], hazard="harmful")

g.valid(4004, "an empty name has count 1 and its NUL; it is not an absent one",
        message(0x0101, string(""), u32(3), u32(0)),
        {"dumpName": "", "dumpType": 3, "diagnostics": 0}, flags=["EmptyString"], hazard="harmful")

g.valid(4005, "diagnostics is a uint, not a bool: a value other than 0 and 1 is kept with every bit",
        message(0x0101, string("d"), u32(1), u32(0x80000002)),
        {"dumpName": "d", "dumpType": 1, "diagnostics": 0x80000002}, flags=["UnknownValue"], hazard="harmful")

g.valid(4006, "a high surrogate without its low one in the name is kept",
        message(0x0101, u32(3), units(0x0061, 0xD83D, 0x0000), u32(1), u32(0)),
        {"dumpName": {"utf16": [0x0061, 0xD83D]}, "dumpType": 1, "diagnostics": 0},
        flags=["LoneSurrogate"], hazard="harmful")

g.lenient(4007, "four bytes after the last field are ignored",
          message(0x0101, string("a"), u32(1), u32(0), hexa("deadbeef")),
          {"dumpName": "a", "dumpType": 1, "diagnostics": 0}, flags=["TrailingBytes"], hazard="harmful")

g.invalid(4020, "an absent name decodes, but no server may take it",
          message(0x0101, string(None), u32(1), u32(0)), "limits", "absent_name", 20, "GenerateCoreDump.dumpName",
          value={"dumpName": None, "dumpType": 1, "diagnostics": 0}, flags=["AbsentString", "Limit"], hazard="harmful")

g.invalid(4021, "dump type 0 is below the first one",
          message(0x0101, string("a"), u32(0), u32(0)), "limits", "unknown_dump_type", 28, "GenerateCoreDump.dumpType",
          value={"dumpName": "a", "dumpType": 0, "diagnostics": 0}, flags=["Limit", "UnknownValue"], hazard="side-effect")

g.invalid(4022, "dump type 5 is above the last one",
          message(0x0101, string("a"), u32(5), u32(0)), "limits", "unknown_dump_type", 28, "GenerateCoreDump.dumpType",
          value={"dumpName": "a", "dumpType": 5, "diagnostics": 0}, flags=["Limit", "UnknownValue"], hazard="side-effect")

g.invalid(4030, "no payload at all",
          message(0x0101), "payload", "unexpected_end", 20, "GenerateCoreDump.dumpName",
          flags=["Truncated", "EmptyPayload"], hazard="harmful")

g.invalid(4031, "the payload ends inside the name's count",
          message(0x0101, hexa("0200")), "payload", "unexpected_end", 20, "GenerateCoreDump.dumpName",
          flags=["Truncated"], hazard="harmful")

g.invalid(4032, "the payload ends inside the name: only one byte of its last unit is present",
          message(0x0101, u32(3), units(0x0061, 0x0062), hexa("00")), "payload", "count_too_large", 20,
          "GenerateCoreDump.dumpName", flags=["Truncated"], hazard="harmful")

g.invalid(4033, "the payload ends after the name",
          message(0x0101, string("a")), "payload", "unexpected_end", 28, "GenerateCoreDump.dumpType",
          flags=["Truncated"], hazard="harmful")

g.invalid(4034, "the last field has two bytes of four",
          message(0x0101, string("a"), u32(1), hexa("0100")), "payload", "unexpected_end", 32,
          "GenerateCoreDump.diagnostics", flags=["Truncated"], hazard="harmful")

g.invalid(4035, "a count of 0x80000001, which doubled in 32 bits looks like 1 unit",
          message(0x0101, u32(0x80000001), units(0), u32(1), u32(0)), "payload", "count_too_large", 20,
          "GenerateCoreDump.dumpName", flags=["HugeCount"], hazard="harmful")

g.invalid(4036, "a count of 0x80000000, which doubled in 32 bits looks like an absent name",
          message(0x0101, u32(0x80000000), u32(1), u32(0)), "payload", "count_too_large", 20,
          "GenerateCoreDump.dumpName", flags=["HugeCount"], hazard="harmful")

g.invalid(4037, "the name has no NUL and the count does not count one",
          message(0x0101, u32(2), utf16("ab"), u32(1), u32(0)), "payload", "missing_terminator", 26,
          "GenerateCoreDump.dumpName", flags=["MissingTerminator"], hazard="harmful")

g.invalid(4038, "the count is that of UTF-8 bytes, one more than the units, so half of dumpType is read as the NUL",
          message(0x0101, u32(8), utf16("/é.dmp"), u16(0), u32(1), u32(0)), "payload", "missing_terminator", 38,
          "GenerateCoreDump.dumpName", flags=["MissingTerminator", "ClientFault"], hazard="harmful")

# --- 0x0102 --------------------------------------------------------------------------------------------------------
g = FILE.group("dump-generate-core-dump2-request", type="request", source="derived", made=MADE, direction="client",
               command="Dump/GenerateCoreDump2", since="6.0", spec=["F-7", "F-8", "F-49", "F-50", "F-72", "P-6"])

literal = hexa("444f544e45545f4950435f563100 2400 01 02 0000"
               "02000000 6300 0000 01000000 00000000")
assert literal == message(0x0102, string("c"), u32(1), u32(0))
g.valid(4101, "every byte written out: smallest, no flags", literal,
        {"dumpName": "c", "dumpType": 1, "flags": 0}, flags=["Literal", "Minimal"], hazard="harmful")

g.valid(4102, "a triage dump, flag 1 (log)",
        message(0x0102, string("C:\\dumps\\app.dmp"), u32(3), u32(1)),
        {"dumpName": "C:\\dumps\\app.dmp", "dumpType": 3, "flags": 1}, hazard="harmful")

g.valid(4103, "flags are bits, not an enumeration: 1 and 2 together",
        message(0x0102, string("/dumps/été-\U0001F600"), u32(2), u32(3)),
        {"dumpName": "/dumps/été-\U0001F600", "dumpType": 2, "flags": 3},
        flags=["Full", "SurrogatePair"], hazard="harmful")

g.valid(4104, "bits that no document names are kept, the highest one too",
        message(0x0102, string("c"), u32(4), u32(0x80000005)),
        {"dumpName": "c", "dumpType": 4, "flags": 0x80000005}, flags=["UnknownValue"], hazard="harmful")

g.invalid(4120, "an absent name decodes, but no server may take it",
          message(0x0102, string(None), u32(4), u32(7)), "limits", "absent_name", 20, "GenerateCoreDump2.dumpName",
          value={"dumpName": None, "dumpType": 4, "flags": 7}, flags=["AbsentString", "Limit"], hazard="harmful")

g.invalid(4121, "dump type 0xFFFFFFFF, which a signed comparison reads as -1",
          message(0x0102, string("c"), u32(0xFFFFFFFF), u32(0)), "limits", "unknown_dump_type", 28,
          "GenerateCoreDump2.dumpType", value={"dumpName": "c", "dumpType": 0xFFFFFFFF, "flags": 0},
          flags=["Limit", "MaxValue", "UnknownValue"], hazard="side-effect")

g.invalid(4130, "no payload at all",
          message(0x0102), "payload", "unexpected_end", 20, "GenerateCoreDump2.dumpName",
          flags=["Truncated", "EmptyPayload"], hazard="harmful")

g.invalid(4131, "flags left out",
          message(0x0102, string("c"), u32(1)), "payload", "unexpected_end", 32, "GenerateCoreDump2.flags",
          flags=["Truncated"], hazard="harmful")

g.invalid(4132, "a count of 0xFFFFFFFF, which is -1 to a signed reader",
          message(0x0102, u32(0xFFFFFFFF), units(0x0063, 0), u32(1), u32(0)), "payload", "count_too_large", 20,
          "GenerateCoreDump2.dumpName", flags=["HugeCount", "MaxValue"], hazard="harmful")

# --- 0x0103 --------------------------------------------------------------------------------------------------------
g = FILE.group("dump-generate-core-dump3-request", type="request", source="derived", made=MADE, direction="client",
               command="Dump/GenerateCoreDump3", since="7.0", spec=["F-7", "F-8", "F-49", "F-50", "F-72", "F-81", "P-6"])

literal = hexa("444f544e45545f4950435f563100 2800 01 03 0000"
               "04000000 2f0078007900 0000 04000000 07000000")
assert literal == message(0x0103, string("/xy"), u32(4), u32(7))
g.valid(4201, "every byte written out: a full dump with the three known flags", literal,
        {"dumpName": "/xy", "dumpType": 4, "flags": 7}, flags=["Literal"], hazard="harmful")

g.valid(4202, "an empty name, flag 2 (verbose)",
        message(0x0103, string(""), u32(1), u32(2)),
        {"dumpName": "", "dumpType": 1, "flags": 2}, flags=["EmptyString"], hazard="harmful")

g.valid(4203, "flag 4 (crash report)",
        message(0x0103, string("/tmp/crash"), u32(2), u32(4)),
        {"dumpName": "/tmp/crash", "dumpType": 2, "flags": 4}, hazard="harmful")

g.valid(4204, "known flags 2 and 4 beside the next free bit, which is kept",
        message(0x0103, string("e"), u32(3), u32(14)),
        {"dumpName": "e", "dumpType": 3, "flags": 14}, flags=["UnknownValue"], hazard="harmful")

g.invalid(4220, "an absent name decodes, but no server may take it",
          message(0x0103, string(None), u32(1), u32(0)), "limits", "absent_name", 20, "GenerateCoreDump3.dumpName",
          value={"dumpName": None, "dumpType": 1, "flags": 0}, flags=["AbsentString", "Limit"], hazard="harmful")

g.invalid(4221, "dump type 5; the error reply has a text of one NUL",
          message(0x0103, string("e"), u32(5), u32(0)), "limits", "unknown_dump_type", 28, "GenerateCoreDump3.dumpType",
          value={"dumpName": "e", "dumpType": 5, "flags": 0}, flags=["Limit", "UnknownValue"], hazard="side-effect")

g.invalid(4230, "no payload at all",
          message(0x0103), "payload", "unexpected_end", 20, "GenerateCoreDump3.dumpName",
          flags=["Truncated", "EmptyPayload"], hazard="harmful")

g.invalid(4231, "a count of 0x7FFFFFFF, which doubled in signed 32 bits is -2",
          message(0x0103, u32(0x7FFFFFFF), units(0x0065, 0), u32(1), u32(0)), "payload", "count_too_large", 20,
          "GenerateCoreDump3.dumpName", flags=["HugeCount"], hazard="harmful")

# --- replies -------------------------------------------------------------------------------------------------------
g = FILE.group("dump-generate-core-dump-reply", type="reply", source="derived", made=MADE, direction="server",
               command="Dump/GenerateCoreDump", since="3.1", spec=["F-1", "F-2", "F-49"])

literal = hexa("444f544e45545f4950435f563100 1800 ff 00 0000 00000000")
assert literal == message(OK, u32(0))

g.valid(4302, "an OK message can carry the code of a failure: only hresult says whether it succeeded",
        message(OK, u32(0x80004005)), {"hresult": "0x80004005"})

g.valid(4303, "the generic OK of 20 bytes; it stays without payload when it is encoded again",
          message(OK), {}, flags=["GenericOk"])


g.invalid(4305, "hresult has two bytes of four",
          message(OK, hexa("0000")), "payload", "unexpected_end", 20, "GenerateCoreDump.hresult", flags=["Truncated"])

g = FILE.group("dump-generate-core-dump2-reply", type="reply", source="derived", made=MADE, direction="server",
               command="Dump/GenerateCoreDump2", since="6.0", spec=["F-1", "F-2", "F-50"])

g.valid(4401, "success", message(OK, u32(0)), {"hresult": "0x00000000"}, flags=["Minimal"])

g.lenient(4402, "28 bytes whose last four are not zero: hresult is the first four, not the low half of a ulong",
          message(OK, u32(0x80070057), hexa("ffffffff")), {"hresult": "0x80070057"}, flags=["TrailingBytes"])

g = FILE.group("dump-generate-core-dump3-reply", type="reply", source="derived", made=MADE, direction="server",
               command="Dump/GenerateCoreDump3", since="7.0", spec=["F-2", "F-50"])

g.valid(4501, "success has no text", message(OK, u32(0)), {"hresult": "0x00000000"}, flags=["Minimal"])

g.lenient(4502, "only an error message has a text after hresult: in an OK message it is ignored",
          message(OK, u32(0), string("done")), {"hresult": "0x00000000"}, flags=["TrailingBytes"])
