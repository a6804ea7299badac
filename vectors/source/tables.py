"""Every table, header line and struct of the six editions that fixes bytes: as printed, and as corrected.

Read a pair of groups together: `table-...` is what an edition prints, `corrected-...` the same with its mistake corrected. What several
editions print is written once, under the oldest; the comment names the others. Where it can be turned into bytes in several ways, each
way with another result is a separate test. `command` of a request is the command in its header, as a receiver reads it, not the subject
of the section.
"""
from notation import *

FILE = File("tables", "Every message and payload table of the six editions, as printed and as corrected", 3000, 3999)


def literal(text, spelled):
    """Returns bytes written out cell by cell. The helpers must give the same bytes, which checks the helpers."""
    wire = hexa(text)
    assert wire == spelled, (wire.hex(), spelled.hex())
    return wire


SESSION = 0x0102030405060708  # eight different bytes: shows a wrong byte order or width
COOKIE = "123e4567-e89b-12d3-a456-426614174000"  # the cookie of the Advertise table
PROFILER = "9a2f6c41-005b-004e-8c1f-0d2e4a6b8c90"  # both shorts below 256: they fit the single bytes of the printed CLSID
EXAMPLE = {"keywords": "100", "logLevel": 2, "provider_name": "MyEventSource", "arguments": None}
DRAFT_EXAMPLE = {"keywords": "100", "logLevel": 2, "provider_name": "MyEventSource", "filter_data": None}
ONE_TO_NINE = [1, 2, 3, 4, 5, 6, 7, 8, 9]
# A streaming session of CollectTracing6 with these values, without its mode.
STREAMING6 = {"session_type": 0, "streaming_circularBufferMB": 250, "streaming_format": 1, "rundownKeyword": "2147615033",
              "requestStackwalk": True, "providers": [{**EXAMPLE, "filter": {"enable": False, "event_ids": []}}]}

# --- Messages: the generic OK, the magic, the order of the two command bytes ----------------------------------------
g = FILE.group("table-generic-ok", type="reply", source="table", edition="2019-05", section="Messages", direction="server",
               command="EventPipe/StopTracing", since="3.1", spec=["F-2"],
               made="written cell by cell from the table; the command that it answers is chosen here")
g.lenient(3000, "printed in all six editions: the generic OK, 20 bytes without payload; no current runtime sends it, clients accept it",
          literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00"  # "DOTNET_IPC_V1": 13 characters in 14 bytes, so a NUL follows
                  "14 00"  # 20
                  "ff" "00" "00 00", message(OK)),
          {}, flags=["AsPrinted", "Literal", "GenericOk"], canonical=True)
g.invalid(3001, "the magic as the 13 printed characters without the NUL that fills the 14th byte: the size is in its place",
          b"DOTNET_IPC_V1" + u16(20) + u8(0xFF) + u8(0x00) + u16(0), "header", "bad_magic", 13, "header.magic",
          flags=["AsPrinted", "Truncated"])

g = FILE.group("table-code-as-one-number-reply", type="reply", source="table", edition="2019-05", section="StopTracing",
               direction="server", command="EventPipe/StopTracing", since="3.1", spec=["F-85"],
               made="header line { Magic; 28; 0xFF00; 0x0000 } with 0xFF00 written as one little-endian number; sessionId chosen here")
g.invalid(3010, "0xFF00 is printed like a number and 'numbers are little-endian': it is two bytes, ff then 00, not 00 ff as here",
          MAGIC + u16(28) + u16(0xFF00) + u16(0) + u64(SESSION), "reply", "not_a_reply", 16, "header.command_set",
          flags=["AsPrinted"])

g = FILE.group("table-code-as-one-number-request", type="request", source="table", edition="2019-05", section="StopTracing",
               direction="client", command="Dump/GenerateCoreDump2", since="6.0", spec=["F-85"],
               made="header line { Magic; 28; 0x0201; 0x0000 } with 0x0201 written as one little-endian number; sessionId chosen here")
g.invalid(3020, "StopTracing's 0x0201 as a little-endian number is 01 02: a dump command, whose name has the session id as length",
          literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "1c 00" "01 02" "00 00" "08 07 06 05 04 03 02 01",
                  MAGIC + u16(28) + u16(0x0201) + u16(0) + u64(SESSION)),
          "payload", "count_too_large", 20, "GenerateCoreDump2.dumpName", flags=["AsPrinted", "Literal", "WrongCommand", "HugeCount"], hazard="harmful")

# --- StopTracing, and the replies with a session id: 28 is right here -----------------------------------------------
g = FILE.group("table-stop-tracing-request", type="request", source="table", edition="2019-05", section="StopTracing",
               direction="client", command="EventPipe/StopTracing", since="3.1", spec=["F-85"],
               made="header line { Magic; 28; 0x0201; 0x0000 } and struct; sessionId chosen here")
g.valid(3030, "printed in all six editions: size 28 is right here, 20 and a ulong; the code's bytes are 02 then 01",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "1c 00" "02" "01" "00 00"
                "08 07 06 05 04 03 02 01", message(0x0201, u64(SESSION))),
        {"sessionId": "72623859790382856"}, flags=["AsPrinted", "Literal"])

g = FILE.group("table-stop-tracing-reply", type="reply", source="table", edition="2019-05", section="StopTracing",
               direction="server", command="EventPipe/StopTracing", since="3.1", spec=["F-1", "F-85"],
               made="header line { Magic; 28; 0xFF00; 0x0000 } and struct; sessionId chosen here")
g.valid(3040, "printed in all six editions: size 28 is right for a reply with a session id (it is not for an hresult)",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "1c 00" "ff" "00" "00 00"
                "08 07 06 05 04 03 02 01", message(OK, u64(SESSION))),
        {"sessionId": "72623859790382856"}, flags=["AsPrinted", "Literal"])

g = FILE.group("table-collect-tracing-reply", type="reply", source="table", edition="2019-05", section="CollectTracing",
               direction="server", command="EventPipe/CollectTracing", since="3.1", spec=["F-1"],
               made="header line { Magic; 28; 0xFF00; 0x0000; } and struct; sessionId chosen here")
g.valid(3050, "printed in all six editions, and later for CollectTracing2 to 6: size 28 and a session id, which may be the largest ulong",
        message(OK, u64(0xFFFFFFFFFFFFFFFF)), {"sessionId": "18446744073709551615"}, flags=["AsPrinted", "MaxValue"])

# --- CollectTracing in the 2019 draft: a table of 78 bytes, and a grammar that it contradicts -----------------------
DRAFT_78 = literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00"  # "DOTNET_IPC_V1"
                   "4e 00" "02 02" "00 00"  # 78, 0x0202, 0x0000
                   "fa 00 00 00"  # circularBufferMB 250
                   "10 00 00 00"  # outputPath Length 16
                   "2f 74 6d 70 2f 66 6f 6f 2e 6e 65 74 70 65 72 66"  # outputPath String in 16 bytes: one a unit, no NUL
                   "01 00 00 00"  # n Providers 1
                   "64 00 00 00 00 00 00 00"  # Keywords 100
                   "02 00 00 00"  # logLevel 2
                   "0e 00 00 00"  # provider_name length 14
                   "4d 79 45 76 65 6e 74 53 6f 75 72 63 65 00",  # provider_name string in 14 bytes: one a unit, with NUL
                   message(0x0202, u32(250), u32(16), b"/tmp/foo.netperf", u32(1), u64(100), u32(2), u32(14), b"MyEventSource\0"))
assert len(DRAFT_78) == 78

g = FILE.group("table-collect-tracing-78-2019-legacy", type="legacy-request", source="table", edition="2019-05", section="Payloads",
               direction="client", command="EventPipe/CollectTracing", since="3.1", spec=["F-83"],
               made="written cell by cell; the text cells fit only with one byte a unit, the path without a NUL")
g.invalid(3060, "the 78-byte table by the draft's own grammar: 16 units of path end in logLevel, then the name's 14 counts providers",
          DRAFT_78, "payload", "count_too_large", 60, "CollectTracing.providers",
          flags=["AsPrinted", "Literal", "HugeCount"], hazard="harmful")
g.invalid(3061, "the table's path length 16 kept, but two bytes a unit as in the grammar: 16 characters leave no room for the NUL",
          message(0x0202, u32(250), u32(16), utf16("/tmp/foo.netperf"), u32(1), u64(100), u32(2), string("MyEventSource"), string(None)),
          "payload", "missing_terminator", 58, "CollectTracing.outputPath", flags=["AsPrinted", "MissingTerminator"], hazard="harmful")

g = FILE.group("table-collect-tracing-78-2019", type="request", source="table", edition="2019-05", section="Payloads",
               direction="client", command="EventPipe/CollectTracing", since="3.1", spec=["F-83"],
               made="the bytes of the test before, as a receiver of today reads them")
g.invalid(3070, "the draft's 78-byte table today: 16, the path's length, is the format, and the characters '/tmp' are the provider count",
          DRAFT_78, "payload", "count_too_large", 28, "CollectTracing.providers", flags=["AsPrinted", "Literal", "HugeCount"],
          hazard="harmful")

g = FILE.group("table-filter-data-left-out-2019-legacy", type="legacy-request", source="table", edition="2019-05",
               section="CollectTracing", direction="client", command="EventPipe/CollectTracing", since="3.1", spec=["F-83"],
               made="the struct with 'string filter_data (optional)' taken as 'may be left out'; values of the table, outputPath of length 0")
g.invalid(3080, "printed 'filter_data (optional)' and left out, as in the draft's table; true: it is always there, of length 0 if absent",
          message(0x0202, u32(250), string(None), u32(1), u64(100), u32(2), string("MyEventSource")),
          "payload", "unexpected_end", 76, "CollectTracing.providers[0].filter_data", flags=["AsPrinted", "OmittedArguments"], hazard="harmful")
g.invalid(3081, "the same with the path of the draft's table, of 17 units: 110 bytes",
          message(0x0202, u32(250), string("/tmp/foo.netperf"), u32(1), u64(100), u32(2), string("MyEventSource")),
          "payload", "unexpected_end", 110, "CollectTracing.providers[0].filter_data", flags=["AsPrinted", "OmittedArguments"], hazard="harmful")

g = FILE.group("corrected-collect-tracing-2019-legacy", type="legacy-request", source="corrected", edition="2019-05", section="Payloads",
               fact="F-83", direction="client", command="EventPipe/CollectTracing", since="3.1", spec=["F-83"],
               made="the table's values in the draft's grammar: two bytes a unit, every string with its NUL, filter_data present")
DRAFT_ABSENT = literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "50 00" "02 02" "00 00"  # 80, 0x0202
                       "fa 00 00 00"  # circularBufferMB 250
                       "00 00 00 00"  # outputPath: absent
                       "01 00 00 00"  # one provider
                       "64 00 00 00 00 00 00 00" "02 00 00 00"  # keywords 100, logLevel 2
                       "0e 00 00 00"  # provider_name: 14 units
                       "4d 00 79 00 45 00 76 00 65 00 6e 00 74 00 53 00 6f 00 75 00 72 00 63 00 65 00 00 00"
                       "00 00 00 00",  # filter_data: absent
                       message(0x0202, u32(250), string(None), u32(1), u64(100), u32(2), string("MyEventSource"), string(None)))
DRAFT_PATH = message(0x0202, u32(250), string("/tmp/foo.netperf"), u32(1), u64(100), u32(2), string("MyEventSource"), string(None))
assert len(DRAFT_PATH) == 114
g.valid(3090, "the draft's CollectTracing by its text: outputPath 'should be 0 length', filter_data of length 0",
        DRAFT_ABSENT, {"circularBufferMB": 250, "outputPath": None, "providers": [DRAFT_EXAMPLE]}, flags=["Literal", "AbsentString"])
g.valid(3091, "the 78-byte table corrected: with two bytes a unit, the NULs and filter_data it takes 114 bytes, and the path's length is 17",
        DRAFT_PATH, {"circularBufferMB": 250, "outputPath": "/tmp/foo.netperf", "providers": [DRAFT_EXAMPLE]}, hazard="harmful")
g.valid(3092, "filter_data with a text, in the place where the draft's table has nothing",
        message(0x0202, u32(250), string(None), u32(1), u64(100), u32(2), string("MyEventSource"), string("key=value")),
        {"circularBufferMB": 250, "outputPath": None,
         "providers": [{"keywords": "100", "logLevel": 2, "provider_name": "MyEventSource", "filter_data": "key=value"}]})

g = FILE.group("corrected-collect-tracing-2019", type="request", source="corrected", edition="2019-05", section="Payloads",
               fact="F-83", direction="client", command="EventPipe/CollectTracing", since="3.1", spec=["F-83"],
               made="the bytes of the draft's corrected messages, as a receiver of today reads them")
g.valid(3100, "the draft's message with an absent outputPath is a right CollectTracing of today: length 0 is format 0 (NetPerf)",
        DRAFT_ABSENT, {"circularBufferMB": 250, "format": 0, "providers": [EXAMPLE]}, flags=["Literal", "AbsentString"])
g.invalid(3101, "the draft's message with a path is invalid today: its length 17 is the format, its first two characters the provider count",
          DRAFT_PATH, "payload", "count_too_large", 28, "CollectTracing.providers", flags=["HugeCount"], hazard="harmful")

# --- CollectTracing in 3.x and 5: the draft's table with a path that does not fit, beside a struct that has no path --
g = FILE.group("table-collect-tracing-78-3.x", type="request", source="table", edition="3.x", section="Payloads", direction="client",
               command="EventPipe/CollectTracing", since="3.1", spec=["F-83"],
               made="written cell by cell, one byte a unit; the path cell has 17 characters for 16 bytes and cannot be written "
                    "as printed: each test says what was done with the 17th")
g.invalid(3110, "printed in 3.x and 5: a path in 78 bytes, the 17th character of '/tmp/foo.nettrace' cut off; true: no path but format",
          literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "4e 00" "02 02" "00 00"
                  "fa 00 00 00" "10 00 00 00"
                  "2f 74 6d 70 2f 66 6f 6f 2e 6e 65 74 74 72 61 63"  # "/tmp/foo.nettrac"
                  "01 00 00 00" "64 00 00 00 00 00 00 00" "02 00 00 00" "0e 00 00 00"
                  "4d 79 45 76 65 6e 74 53 6f 75 72 63 65 00",
                  message(0x0202, u32(250), u32(16), b"/tmp/foo.nettrac", u32(1), u64(100), u32(2), u32(14), b"MyEventSource\0")),
          "payload", "count_too_large", 28, "CollectTracing.providers", flags=["AsPrinted", "Literal", "HugeCount"], hazard="harmful")
g.invalid(3111, "printed in 3.x and 5: all 17 characters of '/tmp/foo.nettrace' written and size 78 kept: one byte follows the message",
          message(0x0202, u32(250), u32(16), b"/tmp/foo.nettrace", u32(1), u64(100), u32(2), u32(14), b"MyEventSource\0", size=78),
          "transport", "bytes_after_message", 78, "payload", flags=["AsPrinted"], hazard="harmful")
TABLE_PATH = literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "74 00" "02 02" "00 00"  # 116, 0x0202
                     "fa 00 00 00"  # circularBufferMB 250
                     "12 00 00 00"  # outputPath: 18 units
                     "2f 00 74 00 6d 00 70 00 2f 00 66 00 6f 00 6f 00 2e 00 6e 00 65 00 74 00 74 00 72 00 61 00 63 00 65 00 00 00"
                     "01 00 00 00"  # one provider
                     "64 00 00 00 00 00 00 00" "02 00 00 00"  # keywords 100, logLevel 2
                     "0e 00 00 00"  # provider_name: 14 units
                     "4d 00 79 00 45 00 76 00 65 00 6e 00 74 00 53 00 6f 00 75 00 72 00 63 00 65 00 00 00"
                     "00 00 00 00",  # filter_data: absent
                     message(0x0202, u32(250), string("/tmp/foo.nettrace"), u32(1), u64(100), u32(2), string("MyEventSource"), string(None)))
assert len(TABLE_PATH) == 116
g.invalid(3112, "the table's path in two bytes a unit, 18 units: its length is the format, its first two characters the provider count",
          TABLE_PATH, "payload", "count_too_large", 28, "CollectTracing.providers", flags=["AsPrinted", "Literal", "HugeCount"], hazard="harmful")

g = FILE.group("table-collect-tracing-78-3.x-legacy", type="legacy-request", source="table", edition="3.x", section="Payloads",
               direction="client", command="EventPipe/CollectTracing", since="3.1", spec=["F-83"],
               made="written cell by cell, one byte a unit, all 17 characters of the path; size counts the 79 bytes that result")
g.invalid(3120, "printed in 3.x and 5, with 17 characters and size 79, by the draft's grammar: one byte off, 0x0e00 providers are announced",
          message(0x0202, u32(250), u32(16), b"/tmp/foo.nettrace", u32(1), u64(100), u32(2), u32(14), b"MyEventSource\0"),
          "payload", "count_too_large", 60, "CollectTracing.providers", flags=["AsPrinted", "HugeCount"], hazard="harmful")
g.invalid(3121, "the table by the draft's grammar, the path of 18 units in two bytes each and no filter_data: 112 bytes",
          message(0x0202, u32(250), string("/tmp/foo.nettrace"), u32(1), u64(100), u32(2), string("MyEventSource")),
          "payload", "unexpected_end", 112, "CollectTracing.providers[0].filter_data", flags=["AsPrinted", "OmittedArguments"], hazard="harmful")

g = FILE.group("corrected-collect-tracing-78-3.x-legacy", type="legacy-request", source="corrected", edition="3.x", section="Payloads",
               fact="F-83", direction="client", command="EventPipe/CollectTracing", since="3.1", spec=["F-83"],
               made="the table's values in the draft's grammar: two bytes a unit, every string with its NUL, filter_data present")
g.valid(3122, "the table of 3.x and 5 corrected by the draft's grammar: with a path of 18 units and filter_data it takes 116 bytes",
        TABLE_PATH, {"circularBufferMB": 250, "outputPath": "/tmp/foo.nettrace", "providers": [DRAFT_EXAMPLE]}, flags=["Literal"],
        hazard="harmful")

g = FILE.group("corrected-collect-tracing-3.x", type="request", source="corrected", edition="3.x", section="Payloads", fact="F-83",
               direction="client", command="EventPipe/CollectTracing", since="3.1", spec=["F-83"],
               made="the table's values in the struct of the same edition; format and filter_data chosen here")
g.valid(3130, "the table of 3.x and 5 corrected by their struct: format in place of the path, two bytes a unit, filter_data present",
        message(0x0202, u32(250), u32(1), u32(1), u64(100), u32(2), string("MyEventSource"), string("key=value")),
        {"circularBufferMB": 250, "format": 1,
         "providers": [{"keywords": "100", "logLevel": 2, "provider_name": "MyEventSource", "arguments": "key=value"}]})

g = FILE.group("table-filter-data-left-out-3.x", type="request", source="table", edition="3.x", section="CollectTracing",
               direction="client", command="EventPipe/CollectTracing", since="3.1", spec=["F-83", "F-7"],
               made="the struct with 'string filter_data (optional)' taken as 'may be left out'; values of the table, format chosen here")
g.invalid(3140, "printed in 3.x and 5: 'filter_data (optional)', here left out; true: it is always there, of length 0 if absent",
          message(0x0202, u32(250), u32(1), u32(1), u64(100), u32(2), string("MyEventSource")),
          "payload", "unexpected_end", 76, "CollectTracing.providers[0].arguments", flags=["AsPrinted", "OmittedArguments"], hazard="harmful")

g = FILE.group("table-filter-data-left-out-2-3.x", type="request", source="table", edition="3.x", section="CollectTracing2",
               direction="client", command="EventPipe/CollectTracing2", since="3.1", spec=["F-83", "F-7"],
               made="the struct with 'string filter_data (optional)' taken as 'may be left out'; values of the table, the rest chosen here")
g.invalid(3150, "printed in 3.x and 5: 'filter_data (optional)', here missing from the only provider; seen to kill 8.0, 9.0 and 10.0",
          message(0x0203, u32(250), u32(1), boolean(True), u32(1), u64(100), u32(2), string("MyEventSource")),
          "payload", "unexpected_end", 77, "CollectTracing2.providers[0].arguments", flags=["AsPrinted", "OmittedArguments", "OddOffset"],
          hazard="harmful")
g.invalid(3151, "the same with two providers: the keywords of the second, 100, are read as the length of the first one's arguments",
          message(0x0203, u32(250), u32(1), boolean(True), u32(2), u64(100), u32(2), string("MyEventSource"),
                  u64(100), u32(2), string("MyEventSource")),
          "payload", "count_too_large", 77, "CollectTracing2.providers[0].arguments", flags=["AsPrinted", "OmittedArguments", "HugeCount", "OddOffset"],
          hazard="harmful")

g = FILE.group("corrected-filter-data-left-out-2-3.x", type="request", source="corrected", edition="3.x", section="CollectTracing2",
               fact="F-83", direction="client", command="EventPipe/CollectTracing2", since="3.1", spec=["F-83", "F-13"],
               made="the same fields with filter_data of length 0")
g.valid(3160, "CollectTracing2 with the string that 3.x and 5 print as '(optional)': length 0, four bytes that must be there",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "51 00" "02 03" "00 00"  # 81, 0x0203
                "fa 00 00 00" "01 00 00 00"  # circularBufferMB 250, format 1
                "01"  # requestRundown
                "01 00 00 00"  # one provider
                "64 00 00 00 00 00 00 00" "02 00 00 00"  # keywords 100, logLevel 2
                "0e 00 00 00"
                "4d 00 79 00 45 00 76 00 65 00 6e 00 74 00 53 00 6f 00 75 00 72 00 63 00 65 00 00 00"
                "00 00 00 00",  # filter_data, later named arguments
                message(0x0203, u32(250), u32(1), boolean(True), u32(1), u64(100), u32(2), string("MyEventSource"), string(None))),
        {"circularBufferMB": 250, "format": 1, "requestRundown": True, "providers": [EXAMPLE]},
        flags=["Literal", "AbsentString", "OddOffset"])

# --- CollectTracing in 10 and 10+: the table is right ----------------------------------------------------------------
g = FILE.group("table-collect-tracing-80", type="request", source="table", edition="10", section="Payloads", direction="client",
               command="EventPipe/CollectTracing", since="3.1", spec=["F-83", "F-85"], made="written cell by cell from the table")
g.valid(3170, "printed in 10 and 10+: the first table of CollectTracing that is right, 80 bytes, arguments of length 0 and all",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00"  # 1 - 14   "DOTNET_IPC_V1"
                "50 00"  # 15 - 16  80
                "02 02"  # 17 - 18  0x0202
                "00 00"  # 19 - 20  0x0000
                "fa 00 00 00"  # 21 - 24  circularBufferMB 250
                "01 00 00 00"  # 25 - 28  format 1
                "01 00 00 00"  # 29 - 32  n Providers 1
                "64 00 00 00 00 00 00 00"  # 33 - 40  Keywords 100
                "02 00 00 00"  # 41 - 44  logLevel 2
                "0e 00 00 00"  # 45 - 48  provider_name length 14
                "4d 00 79 00 45 00 76 00 65 00 6e 00 74 00 53 00 6f 00 75 00 72 00 63 00 65 00 00 00"  # 49 - 76  "MyEventSource"
                "00 00 00 00",  # 77 - 80  arguments length 0
                message(0x0202, u32(250), u32(1), u32(1), u64(100), u32(2), string("MyEventSource"), string(None))),
        {"circularBufferMB": 250, "format": 1, "providers": [EXAMPLE]}, flags=["AsPrinted", "Literal", "AbsentString"])
g.invalid(3171, "the same with the magic as the 13 printed characters: the low byte of size, 0x50, is in the place of the NUL",
          b"DOTNET_IPC_V1" + u16(80) + u16(0x0202) + u16(0) + u32(250) + u32(1) + u32(1) + u64(100) + u32(2)
          + string("MyEventSource") + string(None),
          "header", "bad_magic", 13, "header.magic", flags=["AsPrinted"], hazard="harmful")

# --- CollectTracing3 to 5 --------------------------------------------------------------------------------------------
g = FILE.group("table-collect-tracing3", type="request", source="table", edition="10", section="CollectTracing3", direction="client",
               command="EventPipe/CollectTracing2", since="3.1", spec=["F-14", "F-84"],
               made="header line { Magic; 20 + Payload Size; 0x0203; 0x0000 } and struct; values of the CollectTracing table, both bools 1")
g.invalid(3180, "printed in 10 and 10+: CollectTracing3 as 0x0203, so CollectTracing2 is read: requestStackwalk makes 1 provider into 257",
          message(0x0203, u32(250), u32(1), boolean(True), boolean(True), u32(1), u64(100), u32(2), string("MyEventSource"),
                  string(None)),
          "payload", "count_too_large", 29, "CollectTracing2.providers", flags=["AsPrinted", "WrongCommand", "HugeCount"], hazard="harmful")

g = FILE.group("corrected-collect-tracing3", type="request", source="corrected", edition="10", section="CollectTracing3", fact="F-14",
               direction="client", command="EventPipe/CollectTracing3", since="9.0", spec=["F-14"],
               made="the same fields under the code that the section and the enum give")
g.valid(3190, "CollectTracing3 is 0x0204; only the header line of 10 and 10+ has 0x0203",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "52 00" "02 04" "00 00"  # 82, 0x0204
                "fa 00 00 00" "01 00 00 00"  # circularBufferMB 250, format 1
                "01" "01"  # requestRundown, requestStackwalk
                "01 00 00 00"
                "64 00 00 00 00 00 00 00" "02 00 00 00"
                "0e 00 00 00"
                "4d 00 79 00 45 00 76 00 65 00 6e 00 74 00 53 00 6f 00 75 00 72 00 63 00 65 00 00 00"
                "00 00 00 00",
                message(0x0204, u32(250), u32(1), boolean(True), boolean(True), u32(1), u64(100), u32(2), string("MyEventSource"),
                        string(None))),
        {"circularBufferMB": 250, "format": 1, "requestRundown": True, "requestStackwalk": True, "providers": [EXAMPLE]},
        flags=["Literal"])

g = FILE.group("table-collect-tracing4", type="request", source="table", edition="10", section="CollectTracing4", direction="client",
               command="EventPipe/CollectTracing4", since="9.0", spec=["F-15", "F-84"],
               made="the struct, which lacks requestStackwalk; values of the CollectTracing table, rundownKeyword from the text")
g.invalid(3200, "printed in 10 and 10+: a struct without requestStackwalk; the bool eats the count's first byte, keywords fill its last",
          message(0x0205, u32(250), u32(1), u64(0x80020139), u32(1), u64(100), u32(2), string("MyEventSource"), string(None)),
          "payload", "count_too_large", 37, "CollectTracing4.providers", flags=["AsPrinted", "HugeCount"], hazard="harmful")
g.invalid(3201, "the same with keywords whose low byte is 0: it decodes, with no provider and 47 bytes after the last field",
          message(0x0205, u32(250), u32(1), u64(0x80020139), u32(1), u64(0x8000), u32(2), string("MyEventSource"), string(None)),
          "limits", "no_providers", 37, "CollectTracing4.providers",
          value={"circularBufferMB": 250, "format": 1, "rundownKeyword": "2147615033", "requestStackwalk": True, "providers": []},
          flags=["AsPrinted", "TrailingBytes"], hazard="harmful")
g.tests[-1]["canonical"] = False  # the value lacks the 47 bytes, so encoding it cannot return them

g = FILE.group("corrected-collect-tracing4", type="request", source="corrected", edition="10", section="CollectTracing4", fact="F-15",
               direction="client", command="EventPipe/CollectTracing4", since="9.0", spec=["F-15"],
               made="the same fields with requestStackwalk in the place of the section's list")
g.valid(3210, "CollectTracing4 with requestStackwalk after rundownKeyword, as the list has it and the struct of 10 and 10+ has not",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "59 00" "02 05" "00 00"  # 89, 0x0205
                "fa 00 00 00" "01 00 00 00"  # circularBufferMB 250, format 1
                "39 01 02 80 00 00 00 00"  # rundownKeyword 0x80020139
                "01"  # requestStackwalk
                "01 00 00 00"
                "64 00 00 00 00 00 00 00" "02 00 00 00"
                "0e 00 00 00"
                "4d 00 79 00 45 00 76 00 65 00 6e 00 74 00 53 00 6f 00 75 00 72 00 63 00 65 00 00 00"
                "00 00 00 00",
                message(0x0205, u32(250), u32(1), u64(0x80020139), boolean(True), u32(1), u64(100), u32(2), string("MyEventSource"),
                        string(None))),
        {"circularBufferMB": 250, "format": 1, "rundownKeyword": "2147615033", "requestStackwalk": True, "providers": [EXAMPLE]},
        flags=["Literal"])

g = FILE.group("table-collect-tracing5-filter-length-0", type="request", source="table", edition="10", section="CollectTracing5",
               direction="client", command="EventPipe/CollectTracing5", since="10.0", spec=["F-17", "F-73"],
               made="streaming payload with 'event_filter filter: ... or (length = 0)' read as one uint 0; values of the CollectTracing table")
g.invalid(3220, "printed in 10 and 10+: a filter 'or (length = 0)', here four zero bytes; true: never less than five, a bool and a count",
          message(0x0206, u32(0), u32(250), u32(1), u64(0x80020139), boolean(True), u32(1),
                  u64(100), u32(2), string("MyEventSource"), string(None), u32(0)),
          "payload", "unexpected_end", 94, "CollectTracing5.providers[0].filter.event_ids", flags=["AsPrinted", "Truncated"],
          hazard="harmful")

g = FILE.group("corrected-collect-tracing5-filter-length-0", type="request", source="corrected", edition="10",
               section="CollectTracing5", fact="F-17", direction="client", command="EventPipe/CollectTracing5", since="10.0",
               spec=["F-17"], made="the same fields with the filter of the first event_filter table: enable 0, no ids")
g.valid(3230, "'no filter' is enable 0 and an empty array: five bytes, as the event_filter table of the same edition has it",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "62 00" "02 06" "00 00"  # 98, 0x0206
                "00 00 00 00"  # session_type 0
                "fa 00 00 00" "01 00 00 00"  # streaming_circularBufferMB 250, streaming_format 1
                "39 01 02 80 00 00 00 00"  # rundownKeyword 0x80020139
                "01"  # requestStackwalk
                "01 00 00 00"
                "64 00 00 00 00 00 00 00" "02 00 00 00"
                "0e 00 00 00"
                "4d 00 79 00 45 00 76 00 65 00 6e 00 74 00 53 00 6f 00 75 00 72 00 63 00 65 00 00 00"
                "00 00 00 00"  # arguments
                "00" "00 00 00 00",  # filter: enable, event_ids
                message(0x0206, u32(0), u32(250), u32(1), u64(0x80020139), boolean(True), u32(1),
                        u64(100), u32(2), string("MyEventSource"), string(None), boolean(False), array())),
        {"session_type": 0, "streaming_circularBufferMB": 250, "streaming_format": 1, "rundownKeyword": "2147615033",
         "requestStackwalk": True, "providers": [{**EXAMPLE, "filter": {"enable": False, "event_ids": []}}]}, flags=["Literal"])

g = FILE.group("table-collect-tracing6", type="request", source="table", edition="11", section="CollectTracing6",
               direction="client", command="EventPipe/CollectTracing6", since="11.0", spec=["F-30", "F-146"],
               made="header line and list of the streaming payload; values of the CollectTracing table")
g.valid(3235, "sessionBufferMode 0, drop, after the providers",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "66 00" "02 07" "00 00"  # 102, 0x0207
                "00 00 00 00"  # session_type 0
                "fa 00 00 00" "01 00 00 00"  # streaming_circularBufferMB 250, streaming_format 1
                "39 01 02 80 00 00 00 00"  # rundownKeyword 0x80020139
                "01"  # requestStackwalk
                "01 00 00 00"
                "64 00 00 00 00 00 00 00" "02 00 00 00"
                "0e 00 00 00"
                "4d 00 79 00 45 00 76 00 65 00 6e 00 74 00 53 00 6f 00 75 00 72 00 63 00 65 00 00 00"
                "00 00 00 00"  # arguments
                "00" "00 00 00 00"  # filter: enable, event_ids
                "00 00 00 00",  # sessionBufferMode
                message(0x0207, u32(0), u32(250), u32(1), u64(0x80020139), boolean(True), u32(1),
                        u64(100), u32(2), string("MyEventSource"), string(None), boolean(False), array(), u32(0))),
        {**STREAMING6, "sessionBufferMode": 0}, flags=["AsPrinted", "Literal"])

g = FILE.group("table-collect-tracing6-filter-length-0", type="request", source="table", edition="11", section="CollectTracing6",
               direction="client", command="EventPipe/CollectTracing6", since="11.0", spec=["F-17", "F-73", "F-146"],
               made="streaming payload with the filter 'exactly as in CollectTracing5': '... or (length = 0)' read as one uint 0")
g.invalid(3237, "a filter of four zero bytes takes the first byte of the mode, 0, for the last of its count: the mode has three bytes left",
          message(0x0207, u32(0), u32(250), u32(1), u64(0x80020139), boolean(True), u32(1),
                  u64(100), u32(2), string("MyEventSource"), string(None), u32(0), u32(0)),
          "payload", "unexpected_end", 98, "CollectTracing6.sessionBufferMode", flags=["AsPrinted", "Truncated"], hazard="harmful")
g.invalid(3238, "the same with mode 1: the count is 0x01000000",
          message(0x0207, u32(0), u32(250), u32(1), u64(0x80020139), boolean(True), u32(1),
                  u64(100), u32(2), string("MyEventSource"), string(None), u32(0), u32(1)),
          "payload", "count_too_large", 94, "CollectTracing6.providers[0].filter.event_ids", flags=["AsPrinted", "HugeCount"],
          hazard="harmful")

g = FILE.group("corrected-collect-tracing6-filter-length-0", type="request", source="corrected", edition="11", section="CollectTracing6",
               fact="F-17", direction="client", command="EventPipe/CollectTracing6", since="11.0", spec=["F-17"],
               made="the same fields with the filter of the first event_filter table: enable 0, no ids")
g.valid(3239, "'no filter' is enable 0 and an empty array: five bytes, then the mode, 1",
        message(0x0207, u32(0), u32(250), u32(1), u64(0x80020139), boolean(True), u32(1),
                u64(100), u32(2), string("MyEventSource"), string(None), boolean(False), array(), u32(1)),
        {**STREAMING6, "sessionBufferMode": 1}, flags=[])

# --- event_filter and tracepoint_config ------------------------------------------------------------------------------
g = FILE.group("table-event-filter", type="event_filter", source="table", edition="10", section="Event_filter", spec=["F-17"],
               made="written cell by cell from the tables")
g.valid(3240, "printed in 10 and 10+, first table: enable=0, event_ids=[]: nothing is disabled, all events are sent",
        literal("00" "00 00 00 00", boolean(False) + array()), {"enable": False, "event_ids": []}, flags=["AsPrinted", "Literal", "Minimal"])
g.valid(3241, "printed in 10 and 10+, second table: enable=0, event_ids=[4, 5]; the count cell is 2, the ids start at byte 6",
        literal("00" "02 00 00 00" "04 00 00 00" "05 00 00 00", boolean(False) + array(u32(4), u32(5))),
        {"enable": False, "event_ids": [4, 5]}, flags=["AsPrinted", "Literal"])
g.valid(3242, "printed in 10 and 10+, third table: enable=1, event_ids=[]: not 'no filter' but all events disabled",
        literal("01" "00 00 00 00", boolean(True) + array()), {"enable": True, "event_ids": []}, flags=["AsPrinted", "Literal"])
g.valid(3243, "printed in 10 and 10+, fourth table: enable=1, event_ids=[1, 2, 3]: 17 bytes, only these events are sent",
        literal("01" "03 00 00 00" "01 00 00 00" "02 00 00 00" "03 00 00 00", boolean(True) + array(u32(1), u32(2), u32(3))),
        {"enable": True, "event_ids": [1, 2, 3]}, flags=["AsPrinted", "Literal"])

LOW_EVENTS = string("LowEvents") + array(*[u32(n) for n in ONE_TO_NINE])

g = FILE.group("table-tracepoint-config", type="tracepoint_config", source="table", edition="10", section="Tracepoint_config",
               spec=["F-24", "F-33", "F-85"],
               made="written cell by cell; a name of length 14 and its cell of 28 bytes are filled with a second NUL, unless the test says otherwise")
g.lenient(3260, "printed in 10 and 10+, first table: length 14 for 'MyTracepoint', which has 13 units with its NUL: a NUL is left in the name",
          literal("0e 00 00 00"  # 1 - 4    14
                  "4d 00 79 00 54 00 72 00 61 00 63 00 65 00 70 00 6f 00 69 00 6e 00 74 00 00 00 00 00"  # 5 - 32   "MyTracepoint"
                  "00 00 00 00",  # 33 - 36  tracepoints 0
                  u32(14) + utf16("MyTracepoint") + units(0, 0) + array()),
          {"default_tracepoint_name": "MyTracepoint\0", "tracepoints": []}, flags=["AsPrinted", "Literal", "InnerNul", "DoubleTerminator"], canonical=True)
g.lenient(3261, "printed in 10 and 10+, second table: length 14 for 'MyTracepoint' again, so it ends at byte 100; true: 13, and 98",
          u32(14) + utf16("MyTracepoint") + units(0, 0) + array(LOW_EVENTS),
          {"default_tracepoint_name": "MyTracepoint\0", "tracepoints": [{"tracepoint_name": "LowEvents", "event_ids": ONE_TO_NINE}]},
          flags=["AsPrinted", "InnerNul", "DoubleTerminator"], canonical=True)
g.valid(3262, "printed in 10 and 10+, third table: right as printed; no default name (length 0), 'LowEvents' with 10 units, 72 bytes",
        literal("00 00 00 00"  # 1 - 4    default_tracepoint_name: absent
                "01 00 00 00"  # 5 - 8    one tracepoint_set
                "0a 00 00 00"  # 9 - 12   10
                "4c 00 6f 00 77 00 45 00 76 00 65 00 6e 00 74 00 73 00 00 00"  # 13 - 32  "LowEvents"
                "09 00 00 00"  # 33 - 36  9
                "01 00 00 00 02 00 00 00 03 00 00 00 04 00 00 00 05 00 00 00 06 00 00 00 07 00 00 00 08 00 00 00 09 00 00 00",  # - 72
                string(None) + array(LOW_EVENTS)),
        {"default_tracepoint_name": None, "tracepoints": [{"tracepoint_name": "LowEvents", "event_ids": ONE_TO_NINE}]},
        flags=["AsPrinted", "Literal", "AbsentString"])
g.invalid(3263, "first table, the printed length 14 before the 13 units that the name has: half of the count is read as a second NUL",
          u32(14) + utf16("MyTracepoint") + units(0) + array(), "payload", "unexpected_end", 32, "tracepoints",
          flags=["AsPrinted", "Truncated"])
g.invalid(3264, "second table, the printed length 14 before the 13 units that the name has: the count 1 is in the place of the NUL",
          u32(14) + utf16("MyTracepoint") + units(0) + array(LOW_EVENTS), "payload", "missing_terminator", 30,
          "default_tracepoint_name", flags=["AsPrinted", "MissingTerminator"])

g = FILE.group("corrected-tracepoint-config", type="tracepoint_config", source="corrected", edition="10", section="Tracepoint_config",
               fact="F-24", spec=["F-24", "F-33"], made="the tables with length 13: 12 characters and the NUL")
g.valid(3270, "first table with length 13: the set count is at bytes 31-34, not 33-36; its type is array<tracepoint_set>, not <uint>",
        literal("0d 00 00 00"  # 1 - 4    13
                "4d 00 79 00 54 00 72 00 61 00 63 00 65 00 70 00 6f 00 69 00 6e 00 74 00 00 00"  # 5 - 30
                "00 00 00 00",  # 31 - 34
                string("MyTracepoint") + array()),
        {"default_tracepoint_name": "MyTracepoint", "tracepoints": []}, flags=["Literal"])
g.valid(3271, "second table with length 13: everything after the name is two bytes earlier, the last id ends at byte 98",
        string("MyTracepoint") + array(LOW_EVENTS),
        {"default_tracepoint_name": "MyTracepoint", "tracepoints": [{"tracepoint_name": "LowEvents", "event_ids": ONE_TO_NINE}]})

# --- Dump ------------------------------------------------------------------------------------------------------------
g = FILE.group("table-create-core-dump-request", type="request", source="table", edition="3.x", section="CreateCoreDump",
               direction="client", command="Dump/GenerateCoreDump", since="3.1", spec=["F-49"],
               made="header line { Magic; Size; 0x0101; 0x0000 } and struct; values chosen here")
g.valid(3300, "printed in 3.x, 5, 10 and 10+ as CreateCoreDump: the name alone is wrong, 0x0101 is GenerateCoreDump",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "34 00" "01" "01" "00 00"  # 52
                "0a 00 00 00" "2f 00 74 00 6d 00 70 00 2f 00 63 00 6f 00 72 00 65 00 00 00"  # dumpName "/tmp/core"
                "04 00 00 00"  # dumpType Full
                "01 00 00 00",  # diagnostics
                message(0x0101, string("/tmp/core"), u32(4), u32(1))),
        {"dumpName": "/tmp/core", "dumpType": 4, "diagnostics": 1}, flags=["AsPrinted", "Literal"], hazard="harmful")

PADDED = "header line { Magic; 28; 0xFF00; 0x0000; }; the int32 hresult widened to the 8 bytes that 28 leaves, as in the error table"
g = FILE.group("table-create-core-dump-reply", type="reply", source="table", edition="3.x", section="CreateCoreDump",
               direction="server", command="Dump/GenerateCoreDump", since="3.1", spec=["F-1", "F-49"], made=PADDED)
g.lenient(3310, "printed in 3.x, 5, 10 and 10+: size 28 for an int32; true: 24. Four bytes too many are ignored",
          literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "1c 00" "ff" "00" "00 00" "00 00 00 00" "00 00 00 00",
                  message(OK, u32(0), u32(0))),
          {"hresult": "0x00000000"}, flags=["AsPrinted", "Literal", "TrailingBytes"])
g.invalid(3311, "the printed size 28 before the printed int32 hresult: 24 bytes are sent, and the reader waits for four more",
          message(OK, u32(0), size=28), "transport", "end_of_input", 24, "payload", flags=["AsPrinted", "Truncated"])

g = FILE.group("corrected-create-core-dump-reply", type="reply", source="corrected", edition="3.x", section="CreateCoreDump",
               fact="F-1", direction="server", command="Dump/GenerateCoreDump", since="3.1", spec=["F-1", "F-49"],
               made="the struct, with the size that it has")
g.valid(3320, "the reply to a dump request as shipped: size 24, one u32 hresult",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "18 00" "ff" "00" "00 00" "00 00 00 00", message(OK, u32(0))),
        {"hresult": "0x00000000"}, flags=["Literal"])

# --- Profiler --------------------------------------------------------------------------------------------------------
PRINTED_CLSID = u32(0x9A2F6C41) + u8(0x5B) + u8(0x4E) + hexa("8c1f0d2e4a6b8c90")  # uint x, byte s1, byte s2, byte[8] c
assert len(PRINTED_CLSID) == 14

g = FILE.group("table-clsid", type="clsid", source="table", edition="3.x", section="AttachProfiler", spec=["F-52"],
               made="the printed struct, field by field; value chosen here, with shorts that fit a byte")
g.invalid(3330, "printed in 3.x, 5, 10 and 10+: a CLSID of uint, byte, byte, byte[8], which is 14 bytes; true: s1 and s2 are shorts, 16",
          literal("41 6c 2f 9a" "5b" "4e" "8c 1f 0d 2e 4a 6b 8c 90", PRINTED_CLSID), "payload", "unexpected_end", 0, None,
          flags=["AsPrinted", "Literal", "Truncated"])

g = FILE.group("corrected-clsid", type="clsid", source="corrected", edition="3.x", section="AttachProfiler", fact="F-52",
               spec=["F-52", "F-85"], made="the same value with two-byte s1 and s2")
g.valid(3340, "a CLSID as shipped: u32, u16, u16 little-endian, then eight bytes as in the text",
        literal("41 6c 2f 9a" "5b 00" "4e 00" "8c 1f 0d 2e 4a 6b 8c 90", guid(PROFILER)), PROFILER, flags=["Literal"])

g = FILE.group("table-attach-profiler-clsid", type="request", source="table", edition="3.x", section="AttachProfiler",
               direction="client", command="Profiler/AttachProfiler", since="3.1", spec=["F-52"],
               made="the section's list of fields with the 14-byte CLSID; values chosen here")
g.invalid(3350, "printed in 3.x, 5, 10 and 10+: with 14 bytes of CLSID half of the path's length is read as GUID, the other half for length",
          message(0x0301, u32(5000), PRINTED_CLSID, string("/tmp/p.so"), array(u8(1), u8(2), u8(3), u8(4))),
          "payload", "count_too_large", 40, "AttachProfiler.profilerPath", flags=["AsPrinted", "HugeCount"], hazard="harmful")

g = FILE.group("table-attach-profiler-two-lengths", type="request", source="table", edition="3.x", section="AttachProfiler",
               direction="client", command="Profiler/AttachProfiler", since="3.1", spec=["F-53", "F-54"],
               made="the struct with clientDataSize and array<byte> pClientData, each with its length, and a CLSID of 16 bytes; values chosen here")
g.lenient(3360, "printed in 3.x, 5, 10 and 10+: two lengths before the data; the profiler gets the second one, 04000000, instead of 01020304",
          message(0x0301, u32(5000), guid(PROFILER), string("/tmp/p.so"), u32(4), array(u8(1), u8(2), u8(3), u8(4))),
          {"attachTimeout": 5000, "profilerGuid": PROFILER, "profilerPath": "/tmp/p.so", "clientData": "04000000"},
          flags=["AsPrinted", "TrailingBytes"], hazard="harmful")

g = FILE.group("corrected-attach-profiler", type="request", source="corrected", edition="3.x", section="AttachProfiler", fact="F-53",
               direction="client", command="Profiler/AttachProfiler", since="3.1", spec=["F-52", "F-53"],
               made="the section's list of fields: a CLSID of 16 bytes, one length before the data; the same values")
g.valid(3370, "AttachProfiler as shipped: 16 bytes of CLSID, and the client data has one length",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "48 00" "03" "01" "00 00"  # 72, 0x0301
                "88 13 00 00"  # attachTimeout 5000
                "41 6c 2f 9a" "5b 00" "4e 00" "8c 1f 0d 2e 4a 6b 8c 90"  # profilerGuid
                "0a 00 00 00" "2f 00 74 00 6d 00 70 00 2f 00 70 00 2e 00 73 00 6f 00 00 00"  # profilerPath "/tmp/p.so"
                "04 00 00 00" "01 02 03 04",  # clientData
                message(0x0301, u32(5000), guid(PROFILER), string("/tmp/p.so"), array(u8(1), u8(2), u8(3), u8(4)))),
        {"attachTimeout": 5000, "profilerGuid": PROFILER, "profilerPath": "/tmp/p.so", "clientData": "01020304"},
        flags=["Literal"], hazard="side-effect")

g = FILE.group("table-attach-profiler-reply", type="reply", source="table", edition="3.x", section="AttachProfiler",
               direction="server", command="Profiler/AttachProfiler", since="3.1", spec=["F-1"], made=PADDED)
g.lenient(3380, "printed in 3.x, 5, 10 and 10+: size 28 for an int32; true: 24. Four bytes too many are ignored",
          message(OK, u32(0), u32(0)), {"hresult": "0x00000000"}, flags=["AsPrinted", "TrailingBytes"])

g = FILE.group("corrected-attach-profiler-reply", type="reply", source="corrected", edition="3.x", section="AttachProfiler",
               fact="F-1", direction="server", command="Profiler/AttachProfiler", since="3.1", spec=["F-1"],
               made="the struct, with the size that it has")
g.valid(3390, "the reply to AttachProfiler as shipped: size 24, one u32 hresult",
        message(OK, u32(0)), {"hresult": "0x00000000"})

# --- Process: ProcessInfo, ResumeRuntime, ProcessEnvironment ---------------------------------------------------------
g = FILE.group("table-process-info-request", type="request", source="table", edition="5", section="ProcessInfo", direction="client",
               command="Process/ProcessInfo", since="5.0", spec=["F-85"],
               made="header line { Magic; Size; 0x0400; 0x0000 } and 'There is no payload', so Size is 20")
g.valid(3400, "printed in 5, 10 and 10+: the set's byte is first, 04 then 00, and Size is 20",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "14 00" "04" "00" "00 00", message(0x0400)), {},
        flags=["AsPrinted", "Literal", "Minimal"])

g = FILE.group("table-process-info-reply", type="reply", source="table", edition="5", section="ProcessInfo", direction="server",
               command="Process/ProcessInfo", since="5.0", spec=["F-34"],
               made="the C struct in its printed order; pid and cookie from the Advertise table, the rest chosen here")
g.invalid(3410, "printed in 5, 10 and 10+: a struct with RuntimeCookie last; read rightly, the cookie eats '/usr/b' and 'in' is a length",
          message(OK, u64(12345), string("/usr/bin/app"), string("Linux"), string("x64"), guid(COOKIE)),
          "payload", "count_too_large", 44, "ProcessInfo.commandLine", flags=["AsPrinted", "HugeCount"])

g = FILE.group("corrected-process-info-reply", type="reply", source="corrected", edition="5", section="ProcessInfo", fact="F-34",
               direction="server", command="Process/ProcessInfo", since="5.0", spec=["F-34", "F-35"],
               made="the same values in the order of the section's list")
g.valid(3420, "ProcessInfo as shipped: the cookie follows the process id, as in the list above the struct",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "66 00" "ff" "00" "00 00"  # 102
                "39 30 00 00 00 00 00 00"  # processId 12345
                "67 45 3e 12" "9b e8" "d3 12" "a4 56 42 66 14 17 40 00"  # runtimeCookie
                "0d 00 00 00" "2f 00 75 00 73 00 72 00 2f 00 62 00 69 00 6e 00 2f 00 61 00 70 00 70 00 00 00"  # "/usr/bin/app"
                "06 00 00 00" "4c 00 69 00 6e 00 75 00 78 00 00 00"  # "Linux"
                "04 00 00 00" "78 00 36 00 34 00 00 00",  # "x64"
                message(OK, u64(12345), guid(COOKIE), string("/usr/bin/app"), string("Linux"), string("x64"))),
        {"processId": "12345", "runtimeCookie": COOKIE, "commandLine": "/usr/bin/app", "OS": "Linux", "arch": "x64"}, flags=["Literal"])

g = FILE.group("table-resume-runtime-request", type="request", source="table", edition="5", section="ResumeRuntime",
               direction="client", command="Process/ResumeRuntime", since="5.0", spec=["F-42"],
               made="header line { Magic; Size; 0x0401; 0x0000 } and 'There is no payload', so Size is 20")
g.valid(3430, "printed in 5, 10 and 10+: the request is right, 20 bytes; the reply that is printed with it is not",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "14 00" "04" "01" "00 00", message(0x0401)), {},
        flags=["AsPrinted", "Literal", "Minimal"], hazard="side-effect")

g = FILE.group("table-resume-runtime-reply", type="reply", source="table", edition="5", section="ResumeRuntime", direction="server",
               command="Process/ResumeRuntime", since="5.0", spec=["F-2", "F-41"],
               made="header line { Magic; size; 0xFF00; 0x0000; } and 'There is no payload', so size is 20")
g.valid(3440, "printed in 5, 10 and 10+: 'There is no payload', so 20 bytes; true: 24, but a client accepts both",
          message(OK), {}, flags=["AsPrinted", "GenericOk"])

g = FILE.group("corrected-resume-runtime-reply", type="reply", source="corrected", edition="5", section="ResumeRuntime", fact="F-41",
               direction="server", command="Process/ResumeRuntime", since="5.0", spec=["F-41"],
               made="the header, and the u32 0 that runtimes send after it")
g.valid(3450, "the reply to ResumeRuntime as shipped: 24 bytes, a u32 0 where the document says 'no payload'",
        message(OK, u32(0)), {"hresult": "0x00000000"})

g = FILE.group("table-process-environment-reply", type="reply", source="table", edition="5", section="ProcessEnvironment",
               direction="server", command="Process/ProcessEnvironment", since="5.0", spec=["F-43", "F-88"],
               made="the struct with the printed note's nIncomingBytes 4; its size is printed nowhere")
g.valid(3460, "printed in 5, 10 and 10+: a uint32_t and a uint16_t, so 26 bytes; 4 is the printed note's empty environment",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "1a 00" "ff" "00" "00 00" "04 00 00 00" "00 00", message(OK, u32(4), u16(0))),
        {"nIncomingBytes": 4, "future": 0}, flags=["AsPrinted", "Literal"])
g.lenient(3461, "the printed C struct copied whole, as 'can be memcpy'ed' invites: two bytes of padding, 28 in place of 26",
          message(OK, u32(4), u16(0), u16(0)), {"nIncomingBytes": 4, "future": 0}, flags=["AsPrinted", "TrailingBytes"])

g = FILE.group("table-process-environment-continuation", type="array<string>", source="table", edition="5",
               section="ProcessEnvironment", spec=["F-43", "F-88"], made="the note: 'nIncomingBytes to be 4 and the continuation the value 0'")
g.valid(3470, "printed in 5, 10 and 10+: the empty environment block is four bytes, a count of 0",
        literal("00 00 00 00", array()), [], flags=["AsPrinted", "Literal", "Minimal"])

# --- Process: ProcessInfo2, ProcessInfo3 -----------------------------------------------------------------------------
g = FILE.group("table-process-info2-request", type="request", source="table", edition="5", section="ProcessInfo2", direction="client",
               command="Process/ProcessEnvironment", since="5.0", spec=["F-84"],
               made="header line { Magic; Size; 0x0402; 0x0000 } and 'There is no payload', so Size is 20")
g.valid(3480, "printed in 5 only: ProcessInfo2 as 0x0402, which is a right ProcessEnvironment; the answer is the environment",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "14 00" "04" "02" "00 00", message(0x0402)), {},
        flags=["AsPrinted", "Literal", "WrongCommand"])

g = FILE.group("corrected-process-info2-request", type="request", source="corrected", edition="5", section="ProcessInfo2", fact="F-84",
               direction="client", command="Process/ProcessInfo2", since="6.0", spec=["F-84"],
               made="the same header with the code that the section and the enum give")
g.valid(3490, "ProcessInfo2 is 0x0404, as in the header lines of 10 and 10+; that of 5 has 0x0402",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "14 00" "04" "04" "00 00", message(0x0404)), {}, flags=["Literal"])

g = FILE.group("table-process-info2-reply", type="reply", source="table", edition="5", section="ProcessInfo2", direction="server",
               command="Process/ProcessInfo2", since="6.0", spec=["F-34"],
               made="the C struct in its printed order; pid and cookie from the Advertise table, the rest chosen here")
g.invalid(3500, "printed in 5, 10 and 10+: RuntimeCookie after Arch; read rightly, the last letter of '/app/db' is a length of 98",
          message(OK, u64(12345), string("/app/db"), string("Linux"), string("x64"), guid(COOKIE), string("db"),
                  string("6.0.0-preview.6.12345")),
          "payload", "count_too_large", 44, "ProcessInfo2.commandLine", flags=["AsPrinted"])

g = FILE.group("corrected-process-info2-reply", type="reply", source="corrected", edition="5", section="ProcessInfo2", fact="F-34",
               direction="server", command="Process/ProcessInfo2", since="6.0", spec=["F-34"],
               made="the same values in the order of the section's list")
g.valid(3510, "ProcessInfo2 as shipped: pid, cookie, commandLine, OS, arch, entry assembly, version",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "96 00" "ff" "00" "00 00"  # 150
                "39 30 00 00 00 00 00 00"
                "67 45 3e 12" "9b e8" "d3 12" "a4 56 42 66 14 17 40 00"
                "08 00 00 00" "2f 00 61 00 70 00 70 00 2f 00 64 00 62 00 00 00"  # "/app/db"
                "06 00 00 00" "4c 00 69 00 6e 00 75 00 78 00 00 00"  # "Linux"
                "04 00 00 00" "78 00 36 00 34 00 00 00"  # "x64"
                "03 00 00 00" "64 00 62 00 00 00"  # "db"
                "16 00 00 00" "36 00 2e 00 30 00 2e 00 30 00 2d 00 70 00 72 00 65 00 76 00 69 00 65 00 77 00"  # "6.0.0-preview"
                "2e 00 36 00 2e 00 31 00 32 00 33 00 34 00 35 00 00 00",  # ".6.12345"
                message(OK, u64(12345), guid(COOKIE), string("/app/db"), string("Linux"), string("x64"), string("db"),
                        string("6.0.0-preview.6.12345"))),
        {"processId": "12345", "runtimeCookie": COOKIE, "commandLine": "/app/db", "OS": "Linux", "arch": "x64",
         "managedEntrypointAssemblyName": "db", "clrProductVersion": "6.0.0-preview.6.12345"}, flags=["Literal"])

g = FILE.group("table-process-info3-request", type="request", source="table", edition="10", section="ProcessInfo3", direction="client",
               command="Process/ProcessInfo3", since="8.0", spec=["F-36"],
               made="header line { Magic; Size; 0x0408; 0x0000 } and 'There is no payload', so Size is 20")
g.valid(3520, "printed in 10 and 10+: the request is right, 20 bytes and 0x0408",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "14 00" "04" "08" "00 00", message(0x0408)), {},
        flags=["AsPrinted", "Literal"])

g = FILE.group("table-process-info3-reply", type="reply", source="table", edition="10", section="ProcessInfo3", direction="server",
               command="Process/ProcessInfo3", since="8.0", spec=["F-34", "F-37"],
               made="the C struct in its printed order; pid and cookie from the Advertise table, linux_x64 from the text, the rest chosen here")
g.invalid(3530, "printed in 10 and 10+: RuntimeCookie after Arch; read rightly, the '1' of '/app/s1' is a length, 49, and it even fits",
          message(OK, u32(1), u64(12345), string("/app/s1"), string("Linux"), string("x64"), guid(COOKIE), string("svc1"),
                  string("10.0.0"), string("linux_x64")),
          "payload", "missing_terminator", 148, "ProcessInfo3.commandLine", flags=["AsPrinted", "MissingTerminator"])

g = FILE.group("corrected-process-info3-reply", type="reply", source="corrected", edition="10", section="ProcessInfo3", fact="F-34",
               direction="server", command="Process/ProcessInfo3", since="8.0", spec=["F-34", "F-36", "F-37"],
               made="the same values in the order of the section's list, with a hyphen in the runtime identifier")
g.valid(3540, "ProcessInfo3 as shipped: version, pid, cookie, then the strings; linux-x64 has a hyphen where 10 and 10+ print linux_x64",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "98 00" "ff" "00" "00 00"  # 152
                "01 00 00 00"  # version 1
                "39 30 00 00 00 00 00 00"
                "67 45 3e 12" "9b e8" "d3 12" "a4 56 42 66 14 17 40 00"
                "08 00 00 00" "2f 00 61 00 70 00 70 00 2f 00 73 00 31 00 00 00"  # "/app/s1"
                "06 00 00 00" "4c 00 69 00 6e 00 75 00 78 00 00 00"  # "Linux"
                "04 00 00 00" "78 00 36 00 34 00 00 00"  # "x64"
                "05 00 00 00" "73 00 76 00 63 00 31 00 00 00"  # "svc1"
                "07 00 00 00" "31 00 30 00 2e 00 30 00 2e 00 30 00 00 00"  # "10.0.0"
                "0a 00 00 00" "6c 00 69 00 6e 00 75 00 78 00 2d 00 78 00 36 00 34 00 00 00",  # "linux-x64"
                message(OK, u32(1), u64(12345), guid(COOKIE), string("/app/s1"), string("Linux"), string("x64"), string("svc1"),
                        string("10.0.0"), string("linux-x64"))),
        {"version": 1, "processId": "12345", "runtimeCookie": COOKIE, "commandLine": "/app/s1", "OS": "Linux", "arch": "x64",
         "managedEntrypointAssemblyName": "svc1", "clrProductVersion": "10.0.0", "runtimeIdentifier": "linux-x64"}, flags=["Literal"])

# --- Process: the perf map -------------------------------------------------------------------------------------------
g = FILE.group("table-enable-perf-map-reply", type="reply", source="table", edition="10", section="EnablePerfMap", direction="server",
               command="Process/EnablePerfMap", since="8.0", spec=["F-1"], made=PADDED)
g.lenient(3550, "printed in 10 and 10+: size 28 for an int32; true: 24. Four bytes too many are ignored",
          message(OK, u32(0), u32(0)), {"hresult": "0x00000000"}, flags=["AsPrinted", "TrailingBytes"])

g = FILE.group("corrected-enable-perf-map-reply", type="reply", source="corrected", edition="10", section="EnablePerfMap", fact="F-1",
               direction="server", command="Process/EnablePerfMap", since="8.0", spec=["F-1"],
               made="the struct, with the size that it has")
g.valid(3560, "the reply to EnablePerfMap as shipped: size 24, one u32 hresult",
        message(OK, u32(0)), {"hresult": "0x00000000"})

g = FILE.group("table-disable-perf-map-request", type="request", source="table", edition="10", section="DisablePerfMap",
               direction="client", command="Process/EnablePerfMap", since="8.0", spec=["F-45", "F-72", "F-84"],
               made="header line { Magic; Size; 0x0405; 0x0000 } and 'There is no payload', so Size is 20")
g.invalid(3570, "printed in 10 and 10+: DisablePerfMap as 0x0405 is an EnablePerfMap without its perfMapType; seen to kill 8.0 and 10.0",
          literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "14 00" "04" "05" "00 00", message(0x0405)),
          "payload", "unexpected_end", 20, "EnablePerfMap.perfMapType", flags=["AsPrinted", "Literal", "WrongCommand", "Truncated"], hazard="harmful")

g = FILE.group("corrected-disable-perf-map-request", type="request", source="corrected", edition="10", section="DisablePerfMap",
               fact="F-45", direction="client", command="Process/DisablePerfMap", since="8.0", spec=["F-45"],
               made="the same header with the code that the section and the enum give")
g.valid(3580, "DisablePerfMap is 0x0406; only the header line of 10 and 10+ says 0x0405",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "14 00" "04" "06" "00 00", message(0x0406)), {}, flags=["Literal"],
        hazard="side-effect")

g = FILE.group("table-disable-perf-map-reply", type="reply", source="table", edition="10", section="DisablePerfMap",
               direction="server", command="Process/DisablePerfMap", since="8.0", spec=["F-1"], made=PADDED)
g.lenient(3590, "printed in 10 and 10+: size 28 for an int32; true: 24. Four bytes too many are ignored",
          message(OK, u32(0), u32(0)), {"hresult": "0x00000000"}, flags=["AsPrinted", "TrailingBytes"])

g = FILE.group("corrected-disable-perf-map-reply", type="reply", source="corrected", edition="10", section="DisablePerfMap",
               fact="F-1", direction="server", command="Process/DisablePerfMap", since="8.0", spec=["F-1"],
               made="the struct, with the size that it has")
g.valid(3600, "the reply to DisablePerfMap as shipped: size 24, one u32 hresult",
        message(OK, u32(0)), {"hresult": "0x00000000"})

# --- Errors ----------------------------------------------------------------------------------------------------------
g = FILE.group("table-error-2019", type="error", source="table", edition="2019-05", section="Errors", direction="server", spec=["F-1"],
               made="written cell by cell, the code widened to the 8 bytes of its cell; the other tests have other codes of the printed enum")
g.lenient(3700, "printed in the draft: BadEncoding is 1, in 8 bytes; true: a code has 4 bytes, size 24, and today's code is 0x80131384",
          literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "1c 00" "ff" "ff" "00 00" "01 00 00 00 00 00 00 00",
                  message(ERROR, u64(1))),
          {"hresult": "0x00000001"}, flags=["AsPrinted", "Literal", "TrailingBytes"])
g.lenient(3701, "the draft's UnknownError in the same 8 bytes: 0xFFFFFFFF is a code, not -1 and not a length",
          message(ERROR, u64(0xFFFFFFFF)), {"hresult": "0xFFFFFFFF"}, flags=["AsPrinted", "TrailingBytes", "MaxValue"])
g.lenient(3702, "the draft's UnknownCommand in the same 8 bytes",
          message(ERROR, u64(2)), {"hresult": "0x00000002"}, flags=["AsPrinted", "TrailingBytes"])
g.lenient(3703, "the draft's UnknownMagic in the same 8 bytes",
          message(ERROR, u64(3)), {"hresult": "0x00000003"}, flags=["AsPrinted", "TrailingBytes"])

g = FILE.group("corrected-error-2019", type="error", source="corrected", edition="2019-05", section="Errors", fact="F-1",
               direction="server", spec=["F-1"], made="the table with the uint32_t that the text above it gives to the code")
g.valid(3710, "the draft's BadEncoding in four bytes: size 24; a message with an unknown code is valid",
        message(ERROR, u32(1)), {"hresult": "0x00000001"}, flags=["UnknownValue"])
g.valid(3711, "the draft's UnknownCommand in four bytes", message(ERROR, u32(2)), {"hresult": "0x00000002"}, flags=["UnknownValue"])
g.valid(3712, "the draft's UnknownMagic in four bytes", message(ERROR, u32(3)), {"hresult": "0x00000003"}, flags=["UnknownValue"])

g = FILE.group("table-error", type="error", source="table", edition="3.x", section="Errors", direction="server", spec=["F-1"],
               made="written cell by cell, the code widened to the 8 bytes of its cell as stated in each test")
g.lenient(3720, "printed in 3.x, 5, 10 and 10+: BAD_ENCODING in 8 bytes, size 28; true: 4 bytes, size 24",
          literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "1c 00" "ff" "ff" "00 00" "84 13 13 80 00 00 00 00",
                  message(ERROR, u64(0x80131384))),
          {"hresult": "0x80131384"}, flags=["AsPrinted", "Literal", "TrailingBytes"])
g.lenient(3721, "the same with the sign of the printed int32_t extended into the upper four bytes, which are ignored too",
          message(ERROR, u64(0xFFFFFFFF80131384)), {"hresult": "0x80131384"}, flags=["AsPrinted", "TrailingBytes"])
g.invalid(3722, "the printed size 28 before the int32_t of the text: 24 bytes are sent, and the reader waits for four more",
          message(ERROR, u32(0x80131384), size=28), "transport", "end_of_input", 24, "payload", flags=["AsPrinted", "Truncated"])

g = FILE.group("corrected-error", type="error", source="corrected", edition="3.x", section="Errors", fact="F-1", direction="server",
               spec=["F-1"], made="the table with the int32_t that the text above it gives to the code")
g.valid(3730, "an error as shipped: size 24, one u32",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "18 00" "ff" "ff" "00 00" "84 13 13 80", message(ERROR, u32(0x80131384))),
        {"hresult": "0x80131384"}, flags=["Literal"])

g = FILE.group("table-error-after-dump3", type="error", source="table", edition="10", section="Errors", direction="server",
               command="Dump/GenerateCoreDump3", since="7.0", spec=["F-1", "F-50"],
               made="the bytes of the error table, as the answer to the one command whose errors have a string after the code")
g.valid(3740, "the printed 28 bytes once more: after GenerateCoreDump3 the upper half is not surplus but an absent message",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "1c 00" "ff" "ff" "00 00" "84 13 13 80" "00 00 00 00",
                message(ERROR, u32(0x80131384), string(None))),
        {"hresult": "0x80131384", "message": None}, flags=["AsPrinted", "Literal", "AbsentString"])

g = FILE.group("table-error-envvar-not-found", type="error", source="table", edition="10+", section="Errors", direction="server",
               command="Process/SetEnvironmentVariable", since="6.0", spec=["F-12", "F-80"],
               made="an error of four bytes with the printed value of DS_IPC_E_ENVVAR_NOT_FOUND")
g.valid(3750, "printed in 10+: ENVVAR_NOT_FOUND is 0x800000CB; no runtime sends that, but as a message it is right",
        message(ERROR, u32(0x800000CB)), {"hresult": "0x800000CB"}, flags=["AsPrinted", "UnknownValue"])

g = FILE.group("corrected-error-envvar-not-found", type="error", source="corrected", edition="10+", section="Errors", fact="F-80",
               direction="server", command="Process/SetEnvironmentVariable", since="6.0", spec=["F-12", "F-80"],
               made="the same with the value that runtimes send")
g.valid(3760, "ENVVAR_NOT_FOUND as shipped: 0x800700CB",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00" "18 00" "ff" "ff" "00 00" "cb 00 07 80", message(ERROR, u32(0x800700CB))),
        {"hresult": "0x800700CB"}, flags=["Literal"])

# --- Advertise -------------------------------------------------------------------------------------------------------
g = FILE.group("table-advertise", type="advertise", source="table", edition="5", section="Advertise Protocol", direction="server", since="5.0",
               spec=["F-85"], made="written cell by cell from the table")
g.valid(3800, "printed in 5, 10 and 10+: 34 bytes; the cookie's first three parts are little-endian, so 123e4567 is 67 45 3e 12",
        literal("41 44 56 52 5f 56 31 00"  # 1 - 8    "ADVR_V1\0"
                "67 45 3e 12" "9b e8" "d3 12" "a4 56 42 66 14 17 40 00"  # 9 - 24   123e4567-e89b-12d3-a456-426614174000
                "39 30 00 00 00 00 00 00"  # 25 - 32  12345
                "00 00",  # 33 - 34  0x0000
                b"ADVR_V1\0" + guid(COOKIE) + u64(12345) + u16(0)),
        {"runtimeCookie": COOKIE, "processId": "12345", "future": 0}, flags=["AsPrinted", "Literal"])
g.valid(3801, "the cookie's digits copied byte by byte as printed: no error, but another cookie, 67453e12-9be8-d312-...",
        b"ADVR_V1\0" + hexa("12 3e 45 67 e8 9b 12 d3 a4 56 42 66 14 17 40 00") + u64(12345) + u16(0),
        {"runtimeCookie": "67453e12-9be8-d312-a456-426614174000", "processId": "12345", "future": 0}, flags=["AsPrinted"])
