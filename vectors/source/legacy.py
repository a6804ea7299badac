"""Parts of the 2019 editions that later ones dropped: the protocol before this one, and the draft's error codes."""
from notation import *

FILE = File("legacy", "The 2019 editions", 18500, 18999)
OLD = "Current Implementation (OLD)"
REQUESTS = "written in source/legacy.py from struct MessageHeader and enum DiagnosticMessageType"
REPLIES = "written in source/legacy.py from the flow: a bare session id, whose width is printed nowhere; here the number of bytes gives it"
CODES = "written in source/legacy.py from enum DiagnosticServerErrorCode"


def literal(text, spelled):
    """Returns bytes written out in full, which must equal those of the notation."""
    wire = hexa(text)
    assert wire == spelled, text
    return wire


def request(kind, pid):
    return {"RequestType": kind, "Pid": pid}


def reply(bits, session):
    return {"bits": bits, "sessionId": session}


def code(number, name=None, hresult=None):
    return {"code": number, "name": name, "hresult": hresult}


# --- requests of the old protocol ------------------------------------------------------------------------------------
g = FILE.group("old-request-printed", type="old-request", source="table", edition="2019-05", section=OLD, made=REQUESTS)
g.valid(18500, "CollectEventPipeTracing, in hexadecimal: the second after 1024", literal("02 04 00 00" "39 30 00 00", u32(1026) + u32(12345)),
        request(1026, 12345), flags=["Literal"])
g.valid(18501, "StartEventPipeTracing = 1024", u32(1024) + u32(12345), request(1024, 12345))
g.valid(18502, "StopEventPipeTracing: the one after 1024", u32(1025) + u32(12345), request(1025, 12345))

g = FILE.group("old-request", type="old-request", source="derived", made=REQUESTS)
g.lenient(18510, "the number before the first is kept", u32(1023) + u32(1), request(1023, 1), flags=["UnknownValue"], canonical=True)
g.lenient(18511, "the number after the last is kept", u32(1027) + u32(1), request(1027, 1), flags=["UnknownValue"], canonical=True)
g.lenient(18512, "all zeros", bytes(8), request(0, 0), flags=["UnknownValue"], canonical=True)
g.lenient(18513, "the largest of both", u32(0xFFFFFFFF) + u32(0xFFFFFFFF), request(0xFFFFFFFF, 0xFFFFFFFF), flags=["UnknownValue", "MaxValue"], canonical=True)
g.valid(18514, "a process id above 2^31", u32(1026) + u32(0x80000000), request(1026, 0x80000000))
g.lenient(18515, "the two numbers in the wrong order are two other numbers", u32(12345) + u32(1026), request(12345, 1026),
        flags=["UnknownValue"], canonical=True)
g.valid(18516, "byte by byte", u32(1026) + u32(12345), request(1026, 12345), flags=["Chunked"], chunks=[1] * 8)
g.lenient(18517, "the payload is printed nowhere; here eight bytes that may name the session to stop", u32(1025) + u32(12345) + u64(7),
          request(1025, 12345), flags=["TrailingBytes"])
g.lenient(18518, "a request of the later protocol: 'DOTN' is a type, and 'ET_I' a process id", message(0x0400), request(0x4E544F44, 0x495F5445),
          flags=["TrailingBytes", "UnknownValue"])
g.invalid(18519, "nothing", b"", "payload", "unexpected_end", 0, "RequestType", flags=["Truncated"])
g.invalid(18520, "half of the type", hexa("02 04"), "payload", "unexpected_end", 0, "RequestType", flags=["Truncated"])
g.invalid(18521, "the type alone", u32(1026), "payload", "unexpected_end", 4, "Pid", flags=["Truncated"])
g.invalid(18522, "a process id of two bytes", u32(1026) + u16(12345), "payload", "unexpected_end", 4, "Pid", flags=["Truncated"])

# --- replies of the old protocol -------------------------------------------------------------------------------------
g = FILE.group("old-reply", type="old-reply", source="derived", made=REPLIES)
g.valid(18600, "a session id of 64 bits, in hexadecimal", literal("10 16 00 bc 0b 7f 00 00", u64(0x7F0BBC001610)), reply(64, "139688375490064"),
        flags=["Literal"])
g.valid(18601, "a session id of 32 bits", u32(7), reply(32, "7"))
g.valid(18602, "the same in 64 bits: only the width differs", u64(7), reply(64, "7"))
g.valid(18603, "0 of 64 bits: the error; the runtime then closes", u64(0), reply(64, None), flags=["Error"])
g.valid(18604, "0 of 32 bits: the error", u32(0), reply(32, None), flags=["Error"])
g.valid(18605, "the largest of 64 bits", u64(0xFFFFFFFFFFFFFFFF), reply(64, "18446744073709551615"), flags=["MaxValue"])
g.valid(18606, "the largest of 32 bits", u32(0xFFFFFFFF), reply(32, "4294967295"), flags=["MaxValue"])
g.valid(18607, "64 bits whose lower half is 0 are not an error", u64(1 << 32), reply(64, "4294967296"))
g.valid(18608, "64 bits, byte by byte", u64(7), reply(64, "7"), flags=["Chunked"], chunks=[1] * 8)
g.invalid(18609, "nothing: the runtime closed without a word", b"", "payload", "unexpected_end", 0, "sessionId", flags=["Truncated"])
g.invalid(18610, "three bytes", hexa("07 00 00"), "payload", "unexpected_end", 0, "sessionId", flags=["Truncated"])
g.invalid(18611, "five bytes", hexa("07 00 00 00 00"), "payload", "unexpected_end", 0, "sessionId", flags=["Truncated"])
g.invalid(18612, "eight bytes and the first of the stream, where one reply was expected", u64(7) + b"N", "transport", "bytes_after_message", 8,
          "sessionId", flags=["TrailingBytes"])

# --- error codes of the draft ----------------------------------------------------------------------------------------
g = FILE.group("legacy-error-printed", type="legacy-error", source="table", edition="2019-05", section="Errors", made=CODES, spec=["F-1"])
g.valid(18700, "OK = 0", u32(0), code(0, "OK", "0x00000000"))
g.valid(18701, "BadEncoding = 1, in hexadecimal", literal("01 00 00 00", u32(1)), code(1, "BadEncoding", "0x80131384"), flags=["Literal"])
g.valid(18702, "UnknownCommand = 2", u32(2), code(2, "UnknownCommand", "0x80131385"))
g.valid(18703, "UnknownMagic = 3", u32(3), code(3, "UnknownMagic", "0x80131386"))
g.valid(18704, "BadInput = 4: later editions have no such code", u32(4), code(4, "BadInput"))
g.valid(18705, "UnknownError = 0xFFFFFFFF", u32(0xFFFFFFFF), code(0xFFFFFFFF, "UnknownError", "0x80131387"), flags=["MaxValue"])
g.lenient(18706, "the table at the end of the section: the code in 8 bytes, of which it has 4", u64(1), code(1, "BadEncoding", "0x80131384"),
          flags=["AsPrinted", "TrailingBytes"])

g = FILE.group("legacy-error", type="legacy-error", source="derived", made=CODES)
g.valid(18720, "a code that the draft does not name is kept", u32(5), code(5), flags=["UnknownValue"])
g.valid(18721, "a HRESULT of later editions is not a code of the draft", u32(0x80131384), code(0x80131384), flags=["UnknownValue"])
g.valid(18722, "a code in big-endian is another code", hexa("00 00 00 01"), code(0x01000000), flags=["UnknownValue"])
g.invalid(18723, "no code", b"", "payload", "unexpected_end", 0, None, flags=["Truncated"])
g.invalid(18724, "three bytes of a code", hexa("01 00 00"), "payload", "unexpected_end", 0, None, flags=["Truncated"])
