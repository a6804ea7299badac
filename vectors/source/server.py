"""What the runtime sends: Error, the generic OK, OK with an HRESULT, and the advertise of a diagnostic port."""
from notation import *

FILE = File("server", "Server replies: OK and Error; Advertise", 9000, 9999)
MADE = "written field by field in source/server.py from the document's sections Errors, Headers and Advertise Protocol"


def errors(name, command, since, spec):
    return FILE.group("server-error-" + name, type="error", source="derived", made=MADE, direction="server", command=command, since=since,
                      spec=spec)


def replies(name, command, since, spec):
    return FILE.group("server-ok-" + name, type="reply", source="derived", made=MADE, direction="server", command=command, since=since,
                      spec=spec)


def literal(text, spelled):
    """Returns bytes written out in full, which must equal those of the notation."""
    wire = hexa(text)
    assert wire == spelled, text
    return wire


def counted(*values):
    """Returns a count of 16-bit units, then the units; no NUL is added."""
    return u32(len(values)) + units(*values)


# --- Error: the HRESULTs -------------------------------------------------------------------------------------------
g = errors("hresult", None, None, ["F-1", "F-12"])
g.valid(9001, "UNKNOWN_COMMAND", message(ERROR, u32(0x80131385)), {"hresult": "0x80131385"})
g.valid(9002, "UNKNOWN_MAGIC", message(ERROR, u32(0x80131386)), {"hresult": "0x80131386"})
g.valid(9003, "UNKNOWN_ERROR: only documents and one client know it", message(ERROR, u32(0x80131387)), {"hresult": "0x80131387"})
g.valid(9004, "NOTSUPPORTED", message(ERROR, u32(0x80131515)), {"hresult": "0x80131515"})
g.valid(9005, "E_FAIL", message(ERROR, u32(0x80004005)), {"hresult": "0x80004005"})
g.valid(9006, "NOT_YET_AVAILABLE: a hexadecimal letter, in upper case", message(ERROR, u32(0x8013135B)), {"hresult": "0x8013135B"})
g.valid(9007, "RUNTIME_UNINITIALIZED", message(ERROR, u32(0x80131371)), {"hresult": "0x80131371"})
g.valid(9008, "INVALIDARG", message(ERROR, u32(0x80070057)), {"hresult": "0x80070057"})
g.valid(9009, "INSUFFICIENT_BUFFER: listed, though no command returns it", message(ERROR, u32(0x8007007A)), {"hresult": "0x8007007A"})
g.valid(9010, "an unlisted value is kept", message(ERROR, u32(0x8BADF00D)), {"hresult": "0x8BADF00D"}, flags=["UnknownValue"])
g.valid(9011, "a positive unlisted value is kept", message(ERROR, u32(0x12345678)), {"hresult": "0x12345678"},
        flags=["UnknownValue"])
g.valid(9012, "0: an Error that says success is still an Error", message(ERROR, u32(0)), {"hresult": "0x00000000"},
        flags=["UnknownValue"])
g.valid(9014, "4: BadInput of the 2019 draft", message(ERROR, u32(4)), {"hresult": "0x00000004"}, flags=["UnknownValue"])
g.valid(9015, "0xFFFFFFFF: UnknownError of the 2019 draft", message(ERROR, u32(0xFFFFFFFF)), {"hresult": "0xFFFFFFFF"},
        flags=["UnknownValue", "MaxValue"])

g = errors("attach-profiler", "Profiler/AttachProfiler", "3.1", ["F-12", "F-56"])
g.valid(9040, "a profiler is active already", message(ERROR, u32(0x8013136A)), {"hresult": "0x8013136A"})

g = errors("set-environment-variable", "Process/SetEnvironmentVariable", "6.0", ["F-12", "F-80", "F-96"])
g.valid(9062, "0x0000FFFF: from NativeAOT's source, never seen", message(ERROR, u32(0x0000FFFF)), {"hresult": "0x0000FFFF"}, flags=["UnknownValue"])
g.valid(9063, "0xFFFFFFFF: what NativeAOT sends, the -1 of setenv", message(ERROR, u32(0xFFFFFFFF)), {"hresult": "0xFFFFFFFF"},
        flags=["UnknownValue"])

# --- Error: its size -----------------------------------------------------------------------------------------------
g = errors("size", "EventPipe/CollectTracing2", "3.1", ["F-1"])
g.lenient(9100, "28 bytes, as the document draws it: four zeros after the code", message(ERROR, u32(0x80131384), u32(0)),
          {"hresult": "0x80131384"}, flags=["AsPrinted", "TrailingBytes"])
g.lenient(9101, "28 bytes, the code sign-extended to eight", message(ERROR, u32(0x80004005), u32(0xFFFFFFFF)),
          {"hresult": "0x80004005"}, flags=["TrailingBytes"])
g.lenient(9102, "a text after the code is ignored: only GenerateCoreDump3 has one", message(ERROR, u32(0x80004005), string("no")),
          {"hresult": "0x80004005"}, flags=["TrailingBytes"])
g.invalid(9103, "28 in the header, 24 on the wire", message(ERROR, u32(0x80131384), size=28), "transport", "end_of_input", 24, "payload",
          flags=["Truncated"])
g.invalid(9104, "20 bytes: no code", message(ERROR), "payload", "unexpected_end", 20, "Error.hresult", flags=["Truncated"])
g.invalid(9105, "22 bytes: half a code", message(ERROR, u16(0x1384)), "payload", "unexpected_end", 20, "Error.hresult",
          flags=["Truncated"])
g.invalid(9106, "20 in the header, 24 on the wire", message(ERROR, u32(0x80131384), size=20), "transport", "bytes_after_message", 20,
          "payload")
g.lenient(9107, "reserved 0xFFFF", message(ERROR, u32(0x80131384), reserved=0xFFFF), {"hresult": "0x80131384"},
          flags=["NonZeroReserved"])
g.valid(9108, "byte by byte", message(ERROR, u32(0x80131385)), {"hresult": "0x80131385"}, flags=["Chunked"], chunks=[1] * 24)

g = errors("process-info-2", "Process/ProcessInfo2", "6.0", ["F-1", "F-68"])
g.valid(9120, "an Error has its own format, whatever the reply's would be", message(ERROR, u32(0x80131385)),
        {"hresult": "0x80131385"})

# --- Error: GenerateCoreDump3's text -------------------------------------------------------------------------------
g = errors("generate-core-dump-3", "Dump/GenerateCoreDump3", "7.0", ["F-1", "F-11", "F-50", "F-81"])
g.valid(9140, "code and text",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00  22 00  ff  ff  00 00  05 40 00 80  03 00 00 00 6e 00 6f 00 00 00",
                message(ERROR, u32(0x80004005), string("no"))),
        {"hresult": "0x80004005", "message": "no"}, flags=["Full", "Literal"])
g.valid(9141, "the text is one NUL: empty, 30 bytes in all", message(ERROR, u32(0x80070057), string("")),
        {"hresult": "0x80070057", "message": ""}, flags=["EmptyString"])
g.valid(9142, "no text at all: 24 bytes, and no message", message(ERROR, u32(0x80131384)), {"hresult": "0x80131384"}, flags=["Minimal"])
g.valid(9144, "a character outside the BMP", message(ERROR, u32(0x80004005), string("no \U0001f4a5")),
        {"hresult": "0x80004005", "message": "no \U0001f4a5"}, flags=["SurrogatePair"])
g.valid(9145, "a lone surrogate is kept", message(ERROR, u32(0x80004005), counted(0x61, 0xDCA5, 0)),
        {"hresult": "0x80004005", "message": {"utf16": [0x61, 0xDCA5]}}, flags=["LoneSurrogate"])
g.valid(9146, "two lines, Cyrillic: longer than 255 bytes", message(ERROR, u32(0x80004005), string("нет места\n" * 20)),
        {"hresult": "0x80004005", "message": "нет места\n" * 20})
g.lenient(9147, "two bytes after the text are ignored", message(ERROR, u32(0x80004005), string("no"), u16(0)),
          {"hresult": "0x80004005", "message": "no"}, flags=["TrailingBytes"])
g.invalid(9148, "the text has no NUL", message(ERROR, u32(0x80004005), counted(0x6E, 0x6F)), "payload", "missing_terminator", 30,
          "Error.message", flags=["MissingTerminator"])
g.invalid(9149, "the text is cut", message(ERROR, u32(0x80004005), u32(3), utf16("no")), "payload", "count_too_large", 24,
          "Error.message", flags=["Truncated"])
g.invalid(9150, "two bytes of the text's count", message(ERROR, u32(0x80004005), u16(3)), "payload", "unexpected_end", 24,
          "Error.message", flags=["Truncated"])
g.invalid(9151, "28 bytes, the code sign-extended to eight: here the last four are a count", message(ERROR, u32(0x80004005), u32(0xFFFFFFFF)),
          "payload", "count_too_large", 24, "Error.message", flags=["HugeCount", "MaxValue"])
g.invalid(9152, "the text's count is 0x80000001, and a NUL follows", message(ERROR, u32(0x80004005), u32(0x80000001), u16(0)),
          "payload", "count_too_large", 24, "Error.message", flags=["HugeCount", "Wraparound"])
g.invalid(9153, "half a code", message(ERROR, u16(0x4005)), "payload", "unexpected_end", 20, "Error.hresult", flags=["Truncated"])

# --- OK ------------------------------------------------------------------------------------------------------------
g = replies("apply-startup-hook", "Process/ApplyStartupHook", "8.0", ["F-1", "F-2"])
g.valid(9200, "the generic OK: 20 bytes, no hresult, and it stays without",
        literal("44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00  14 00  ff  00  00 00", message(OK)), {}, flags=["GenericOk", "Minimal", "Literal"])
g.lenient(9202, "28 bytes, as printed: the last four are ignored", message(OK, u32(0), u32(0)), {"hresult": "0x00000000"},
          flags=["AsPrinted", "TrailingBytes"])
g.valid(9203, "OK with an hresult that is a failure: both are kept", message(OK, u32(0x80070057)), {"hresult": "0x80070057"},
        flags=["UnknownValue"])
g.invalid(9204, "half an hresult: neither the generic OK nor a whole reply", message(OK, u16(0)), "payload", "unexpected_end", 20,
          "ApplyStartupHook.hresult", flags=["Truncated"])
g.invalid(9205, "28 in the header, 24 on the wire", message(OK, u32(0), size=28), "transport", "end_of_input", 24, "payload",
          flags=["Truncated"])
g.lenient(9206, "the generic OK with reserved 0x0001", message(OK, reserved=1), {}, flags=["GenericOk", "NonZeroReserved"])


g = replies("generate-core-dump-3", "Dump/GenerateCoreDump3", "7.0", ["F-2", "F-81"])
g.invalid(9241, "a second reply follows at once, an Error after an OK", message(OK, u32(0)) + message(ERROR, u32(0x80004005), string("")),
          "transport", "bytes_after_message", 24, "payload")

g = replies("collect-tracing", "EventPipe/CollectTracing", "3.1", ["F-2"])
g.lenient(9261, "four bytes after the session are ignored", message(OK, u64(1), u32(0)), {"sessionId": "1"}, flags=["TrailingBytes"])
g.invalid(9262, "an hresult where a session is due", message(OK, u32(0)), "payload", "unexpected_end", 20, "CollectTracing.sessionId",
          flags=["Truncated"])

g = replies("process-info-2", "Process/ProcessInfo2", "6.0", ["F-2"])
g.lenient(9280, "the generic OK: it says success, but nothing about the process", message(OK), {}, canonical=True, flags=["GenericOk"])
g.invalid(9281, "an hresult where a process is due", message(OK, u32(0)), "payload", "unexpected_end", 20, "ProcessInfo2.processId",
          flags=["Truncated"])

# --- Advertise -----------------------------------------------------------------------------------------------------
COOKIE = "00112233-4455-6677-8899-aabbccddeeff"


def advertise(cookie=COOKIE, pid=4321, future=0, magic=b"ADVR_V1\0"):
    return magic + guid(cookie) + u64(pid) + u16(future)


def told(cookie=COOKIE, pid=4321, future=0):
    return {"runtimeCookie": cookie, "processId": str(pid), "future": future}


g = FILE.group("server-advertise", type="advertise", source="derived", made=MADE, direction="server", since="5.0", spec=["F-35", "F-85"])
g.valid(9300, "34 bytes: the cookie's first three groups are little-endian",
        literal("41 44 56 52 5f 56 31 00  33 22 11 00 55 44 77 66 88 99 aa bb cc dd ee ff  e1 10 00 00 00 00 00 00  00 00",
                b"ADVR_V1\0" + guid(COOKIE) + u64(4321) + u16(0)),
        {"runtimeCookie": "00112233-4455-6677-8899-aabbccddeeff", "processId": "4321", "future": 0}, flags=["Literal"])
g.valid(9301, "all zeros after the magic", advertise("00000000-0000-0000-0000-000000000000", 0),
        told("00000000-0000-0000-0000-000000000000", 0), flags=["Minimal"])
g.valid(9302, "all ones after the magic", advertise("ffffffff-ffff-ffff-ffff-ffffffffffff", (1 << 64) - 1, 0xFFFF),
        told("ffffffff-ffff-ffff-ffff-ffffffffffff", (1 << 64) - 1, 0xFFFF), flags=["MaxValue"])
g.valid(9303, "a process id above 2 to the 32nd: each of its eight bytes is different", advertise(pid=0x0102030405060708),
        told(pid=72623859790382856))
g.valid(9304, "a process id of 2 to the 53rd and one: a double loses the one", advertise(pid=(1 << 53) + 1), told(pid=9007199254740993))
g.valid(9305, "future 0x1234 is a field and is kept", advertise(future=0x1234), told(future=0x1234), flags=["UnknownValue"])
g.valid(9306, "byte by byte", advertise(), told(), flags=["Chunked"], chunks=[1] * 34)
g.valid(9307, "split inside magic, cookie and process id", advertise(), told(), flags=["Chunked"], chunks=[7, 10, 10, 7])

g.invalid(9320, "the first byte is wrong", advertise(magic=b"XDVR_V1\0"), "header", "bad_magic", 0, "Advertise.magic")
g.invalid(9321, "lower case", advertise(magic=b"advr_v1\0"), "header", "bad_magic", 0, "Advertise.magic")
g.invalid(9322, "a hyphen for the underscore", advertise(magic=b"ADVR-V1\0"), "header", "bad_magic", 4, "Advertise.magic")
g.invalid(9323, "version 2", advertise(magic=b"ADVR_V2\0"), "header", "bad_magic", 6, "Advertise.magic")
g.invalid(9324, "a space in place of the NUL: all eight bytes count", advertise(magic=b"ADVR_V1 "), "header", "bad_magic", 7,
          "Advertise.magic")
g.invalid(9325, "a whole message of 34 bytes in its place", message(ERROR, u32(0x80004005), string("no")), "header", "bad_magic", 0,
          "Advertise.magic")
g.invalid(9326, "a whole message of 20 bytes in its place: too short as well", message(0x0400),
          "header", "bad_magic", 0, "Advertise.magic", flags=["TwoFaults", "Truncated"])

g.invalid(9340, "nothing", b"", "transport", "end_of_input", 0, "Advertise", flags=["Truncated"])
g.invalid(9341, "the magic and nothing else", b"ADVR_V1\0", "transport", "end_of_input", 8, "Advertise", flags=["Truncated"])
g.invalid(9342, "the process id in four bytes: 30 in all", b"ADVR_V1\0" + guid(COOKIE) + u32(4321) + u16(0),
          "transport", "end_of_input", 30, "Advertise", flags=["Truncated"])
g.invalid(9343, "33 bytes: half of future is missing", advertise()[:33], "transport", "end_of_input", 33, "Advertise",
          flags=["Truncated"])
g.invalid(9344, "35 bytes", advertise() + u8(0), "transport", "bytes_after_message", 34, "Advertise")
