"""EventPipe: StopTracing, CollectTracing, CollectTracing2 to 4.

Offsets inside the messages, where nothing is cut:
  CollectTracing   circularBufferMB 20, format 24, providers 28 (its count), first provider 32
  CollectTracing2  ... format 24, requestRundown 28, providers 29, first provider 33
  CollectTracing3  ... requestRundown 28, requestStackwalk 29, providers 30, first provider 34
  CollectTracing4  ... rundownKeyword 28, requestStackwalk 36, providers 37, first provider 41
  a provider       keywords +0, logLevel +8, provider_name +12, then arguments
"""
from notation import *

FILE = File("eventpipe", "EventPipe: StopTracing, CollectTracing, CollectTracing2 to 4", 5000, 5999)
MADE = "written field by field in source/eventpipe.py from the document's list of fields"

MAX64 = 0xFFFFFFFFFFFFFFFF


def provider(keywords, level, name, arguments):
    """Returns the value (not the bytes) of a provider_config."""
    return {"keywords": str(keywords), "logLevel": level, "provider_name": name, "arguments": arguments}


# --- StopTracing ---------------------------------------------------------------------------------------------------
g = FILE.group("eventpipe-stop-tracing-request", type="request", source="derived", direction="client",
               command="EventPipe/StopTracing", since="3.1", spec=["F-4", "F-31"], made=MADE)
g.valid(5000, "session id 1", message(0x0201, u64(1)), {"sessionId": "1"}, flags=["Minimal"])
LITERAL = hexa("444f544e45545f4950435f563100 1c00 02 01 0000  efcdab8967452301")
assert LITERAL == message(0x0201, u64(0x0123456789ABCDEF))
g.valid(5001, "eight different bytes, and more than a double can hold: little-endian, not two swapped halves", LITERAL,
        {"sessionId": "81985529216486895"}, flags=["Literal"])
g.valid(5002, "session id 0 is an id like any other on the wire", message(0x0201, u64(0)), {"sessionId": "0"})
g.valid(5003, "the largest session id: not -1", message(0x0201, u64(MAX64)), {"sessionId": "18446744073709551615"},
        flags=["MaxValue"])
g.lenient(5004, "four bytes after the session id are ignored", message(0x0201, u64(1), u32(7)), {"sessionId": "1"},
          flags=["TrailingBytes"])

g = FILE.group("eventpipe-stop-tracing-request-refused", type="request", source="derived", direction="client",
               command="EventPipe/StopTracing", since="3.1", spec=["F-7", "F-10", "F-72"], made=MADE)
g.invalid(5020, "no payload at all", message(0x0201), "payload", "unexpected_end", 20, "StopTracing.sessionId",
          flags=["Truncated", "EmptyPayload"], hazard="harmful")
g.invalid(5021, "two of the eight bytes; some runtime fills the rest from its heap and answers OK", message(0x0201, u16(1)),
          "payload", "unexpected_end", 20, "StopTracing.sessionId", flags=["Truncated"], hazard="harmful")
g.invalid(5022, "session id sent as a uint", message(0x0201, u32(1)), "payload", "unexpected_end", 20,
          "StopTracing.sessionId", flags=["Truncated", "ClientFault"], hazard="harmful")

g = FILE.group("eventpipe-stop-tracing-reply", type="reply", source="derived", direction="server",
               command="EventPipe/StopTracing", since="3.1", spec=["F-2", "F-4", "F-31"], made=MADE)
LITERAL = hexa("444f544e45545f4950435f563100 1c00 ff 00 0000  0100000000000000")
assert LITERAL == message(OK, u64(1))
g.valid(5050, "session id 1", LITERAL, {"sessionId": "1"}, flags=["Minimal", "Literal"])
g.valid(5051, "session id 0: an OK that repeats the 0 of the request", message(OK, u64(0)), {"sessionId": "0"})
g.valid(5052, "the largest session id", message(OK, u64(MAX64)), {"sessionId": "18446744073709551615"}, flags=["MaxValue"])
g.lenient(5054, "eight bytes after the session id are ignored", message(OK, u64(1), u64(2)), {"sessionId": "1"},
          flags=["TrailingBytes"])
g.invalid(5055, "four payload bytes: neither the generic OK nor a session id", message(OK, u32(1)), "payload",
          "unexpected_end", 20, "StopTracing.sessionId", flags=["Truncated"])

# --- CollectTracing ------------------------------------------------------------------------------------------------
g = FILE.group("eventpipe-collect-tracing-request", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing", since="3.1", spec=["F-4", "F-11", "F-16"], made=MADE)
g.valid(5100, "smallest: one provider with a one-character name, arguments absent, format 0",
        message(0x0202, u32(1), u32(0), array(u64(0) + u32(0) + string("a") + string(None))),
        {"circularBufferMB": 1, "format": 0, "providers": [provider(0, 0, "a", None)]}, flags=["Minimal", "AbsentString"])
LITERAL = hexa("""444f544e45545f4950435f563100 4200 02 02 0000
                  00010000 01000000 01000000
                  0807060504030201 04000000 03000000 410062000000 04000000 6b003d0076000000""")
assert LITERAL == message(0x0202, u32(256), u32(1), array(u64(0x0102030405060708) + u32(4) + string("Ab") + string("k=v")))
g.valid(5101, "eight different bytes of keywords, a name and arguments", LITERAL,
        {"circularBufferMB": 256, "format": 1, "providers": [provider(0x0102030405060708, 4, "Ab", "k=v")]}, flags=["Literal"])
g.valid(5102, "three providers: all keywords, long arguments with a line break, a name outside of ASCII with a surrogate pair",
        message(0x0202, u32(250), u32(1), array(
            u64(MAX64) + u32(5) + string("Microsoft-Windows-DotNETRuntime") + string(None),
            u64(3) + u32(4) + string("Microsoft-Diagnostics-DiagnosticSource")
            + string("FilterAndPayloadSpecs=HttpHandlerDiagnosticListener/System.Net.Http.Request:-Request.RequestUri\nMyListener/Ev"),
            u64(0) + u32(2) + string("Größe-日本語-😀") + string("clé=\"ü;=\""))),
        {"circularBufferMB": 250, "format": 1, "providers": [
            provider(MAX64, 5, "Microsoft-Windows-DotNETRuntime", None),
            provider(3, 4, "Microsoft-Diagnostics-DiagnosticSource",
                     "FilterAndPayloadSpecs=HttpHandlerDiagnosticListener/System.Net.Http.Request:-Request.RequestUri\nMyListener/Ev"),
            provider(0, 2, "Größe-日本語-😀", "clé=\"ü;=\"")]}, flags=["Full", "SurrogatePair", "MaxValue", "AbsentString"])
g.valid(5103, "arguments empty (length 1), not absent (length 0)",
        message(0x0202, u32(250), u32(1), array(u64(1) + u32(2) + string("a") + string(""))),
        {"circularBufferMB": 250, "format": 1, "providers": [provider(1, 2, "a", "")]}, flags=["EmptyString"])
g.lenient(5104, "four bytes after the only provider are ignored",
          message(0x0202, u32(250), u32(1), array(u64(1) + u32(2) + string("a") + string(None)), u32(0)),
          {"circularBufferMB": 250, "format": 1, "providers": [provider(1, 2, "a", None)]}, flags=["TrailingBytes"])

g = FILE.group("eventpipe-collect-tracing-request-limits", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing", since="3.1", spec=["F-16", "F-72", "F-74"], made=MADE)
g.invalid(5130, "no providers", message(0x0202, u32(250), u32(1), array()), "limits", "no_providers", 28,
          "CollectTracing.providers", value={"circularBufferMB": 250, "format": 1, "providers": []}, flags=["Limit"],
          hazard="harmful")
g.invalid(5131, "level 6 in the second provider",
          message(0x0202, u32(250), u32(1), array(u64(1) + u32(5) + string("a") + string(None),
                                                  u64(2) + u32(6) + string("b") + string(None))),
          "limits", "log_level_out_of_range", 64, "CollectTracing.providers[1].logLevel",
          value={"circularBufferMB": 250, "format": 1, "providers": [provider(1, 5, "a", None), provider(2, 6, "b", None)]},
          flags=["Limit"], hazard="harmful")

g = FILE.group("eventpipe-collect-tracing-request-refused", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing", since="3.1", spec=["F-7", "F-8", "F-10", "F-74", "F-83"], made=MADE)
g.invalid(5153, "the second of two providers is cut inside its keywords",
          message(0x0202, u32(250), u32(1), u32(2), u64(1), u32(2), string("MyEventSource"), string(None), u32(1)),
          "payload", "unexpected_end", 80, "CollectTracing.providers[1].keywords", flags=["Truncated"], hazard="harmful")
g.invalid(5154, "a bool before the providers: the payload of CollectTracing2 under this command",
          message(0x0202, u32(250), u32(1), boolean(True), array(u64(1) + u32(2) + string("a") + string(None))),
          "payload", "count_too_large", 28, "CollectTracing.providers", flags=["WrongCommand"], hazard="harmful")

g = FILE.group("eventpipe-collect-tracing-reply", type="reply", source="derived", direction="server",
               command="EventPipe/CollectTracing", since="3.1", spec=["F-2", "F-4"], made=MADE)
LITERAL = hexa("444f544e45545f4950435f563100 1c00 ff 00 0000  80c5f0a3197f0000")
assert LITERAL == message(OK, u64(0x00007F19A3F0C580))
g.valid(5180, "a session id as runtimes make them: an address", LITERAL, {"sessionId": "139748101375360"}, flags=["Literal"])
g.valid(5181, "session id 0: no error by itself", message(OK, u64(0)), {"sessionId": "0"})
g.lenient(5184, "the generic OK of 20 bytes, without a session id", message(OK), {}, flags=["GenericOk"], canonical=True)
g.lenient(5185, "one byte inside `size` after the session id is ignored and is not yet the stream", message(OK, u64(1), u8(0x4E)),
          {"sessionId": "1"}, flags=["TrailingBytes"])
g.invalid(5186, "24 bytes: four payload bytes are not a session id", message(OK, u32(1)), "payload", "unexpected_end", 20,
          "CollectTracing.sessionId", flags=["Truncated"])

# --- CollectTracing2 -----------------------------------------------------------------------------------------------
g = FILE.group("eventpipe-collect-tracing2-request", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing2", since="3.1", spec=["F-4", "F-11", "F-13", "F-16", "F-147"], made=MADE)
g.valid(5200, "smallest: one provider with a one-character name, arguments absent, no rundown",
        message(0x0203, u32(1), u32(0), boolean(False), array(u64(0) + u32(0) + string("a") + string(None))),
        {"circularBufferMB": 1, "format": 0, "requestRundown": False, "providers": [provider(0, 0, "a", None)]},
        flags=["Minimal", "AbsentString", "OddOffset"])
LITERAL = hexa("""444f544e45545f4950435f563100 4300 02 03 0000
                  00010000 01000000 01 01000000
                  0807060504030201 04000000 03000000 410062000000 04000000 6b003d0076000000""")
assert LITERAL == message(0x0203, u32(256), u32(1), boolean(True),
                          array(u64(0x0102030405060708) + u32(4) + string("Ab") + string("k=v")))
g.valid(5201, "with rundown; after that one byte every number and every UTF-16 unit is at an odd offset", LITERAL,
        {"circularBufferMB": 256, "format": 1, "requestRundown": True,
         "providers": [provider(0x0102030405060708, 4, "Ab", "k=v")]}, flags=["Literal", "OddOffset"])
g.valid(5202, "three providers, names and arguments outside of ASCII",
        message(0x0203, u32(250), u32(1), boolean(True), array(
            u64(MAX64) + u32(5) + string("Microsoft-Windows-DotNETRuntime") + string(None),
            u64(0) + u32(4) + string("System.Runtime") + string("EventCounterIntervalSec=1"),
            u64(0xF00000000000) + u32(3) + string("Журнал-événements") + string("ключ=\U00010400;b=2"))),
        {"circularBufferMB": 250, "format": 1, "requestRundown": True, "providers": [
            provider(MAX64, 5, "Microsoft-Windows-DotNETRuntime", None),
            provider(0, 4, "System.Runtime", "EventCounterIntervalSec=1"),
            provider(0xF00000000000, 3, "Журнал-événements", "ключ=\U00010400;b=2")]},
        flags=["Full", "OddOffset", "SurrogatePair", "AbsentString"])
g.valid(5203, "arguments empty (length 1) in the first provider, absent (length 0) in the second",
        message(0x0203, u32(250), u32(1), boolean(False), array(u64(1) + u32(2) + string("a") + string(""),
                                                                u64(1) + u32(2) + string("b") + string(None))),
        {"circularBufferMB": 250, "format": 1, "requestRundown": False,
         "providers": [provider(1, 2, "a", ""), provider(1, 2, "b", None)]}, flags=["EmptyString", "AbsentString"])
g.valid(5204, "every level, 0 to 5",
        message(0x0203, u32(250), u32(1), boolean(True), array(*(u64(1) + u32(n) + string("p") + string(None) for n in range(6)))),
        {"circularBufferMB": 250, "format": 1, "requestRundown": True, "providers": [provider(1, n, "p", None) for n in range(6)]})
g.valid(5205, "keywords that a signed integer (bit 63) or a double (2^53 + 1) cannot hold",
        message(0x0203, u32(250), u32(1), boolean(True), array(u64(0x8000000000000000) + u32(2) + string("a") + string(None),
                                                               u64(0x0020000000000001) + u32(2) + string("b") + string(None))),
        {"circularBufferMB": 250, "format": 1, "requestRundown": True,
         "providers": [provider(9223372036854775808, 2, "a", None), provider(9007199254740993, 2, "b", None)]})
g.valid(5206, "1000 providers are allowed; their keywords count from 0",
        message(0x0203, u32(250), u32(1), boolean(False),
                array(*(u64(n) + u32(0) + string("a") + string(None) for n in range(1000)))),
        {"circularBufferMB": 250, "format": 1, "requestRundown": False,
         "providers": [provider(n, 0, "a", None) for n in range(1000)]}, flags=["MaxValue"])
g.valid(5207, "the largest message: arguments of 32,738 characters, `size` 65,535",
        message(0x0203, u32(250), u32(1), boolean(True), array(u64(1) + u32(2) + string("a") + string("x" * 32738))),
        {"circularBufferMB": 250, "format": 1, "requestRundown": True, "providers": [provider(1, 2, "a", "x" * 32738)]},
        flags=["MaxValue"])
g.lenient(5208, "requestRundown 2 is true",
          message(0x0203, u32(250), u32(1), boolean(2), array(u64(1) + u32(2) + string("a") + string(None))),
          {"circularBufferMB": 250, "format": 1, "requestRundown": True, "providers": [provider(1, 2, "a", None)]},
          flags=["BoolNotOne"])
g.lenient(5209, "requestRundown 255 is true",
          message(0x0203, u32(250), u32(1), boolean(0xFF), array(u64(1) + u32(2) + string("a") + string(None))),
          {"circularBufferMB": 250, "format": 1, "requestRundown": True, "providers": [provider(1, 2, "a", None)]},
          flags=["BoolNotOne"])
g.lenient(5210, "three bytes after the only provider are ignored",
          message(0x0203, u32(250), u32(1), boolean(False), array(u64(1) + u32(2) + string("a") + string(None)), hexa("ffffff")),
          {"circularBufferMB": 250, "format": 1, "requestRundown": False, "providers": [provider(1, 2, "a", None)]},
          flags=["TrailingBytes"])
g.valid(5211, "names that are not only white space of C: a space before a letter, U+00A0, U+001F",
        message(0x0203, u32(250), u32(1), boolean(True), array(
            u64(1) + u32(2) + string(" a") + string(None), u64(1) + u32(2) + string("\u00a0") + string(None),
            u64(1) + u32(2) + string("\u001f") + string(None))),
        {"circularBufferMB": 250, "format": 1, "requestRundown": True,
         "providers": [provider(1, 2, " a", None), provider(1, 2, "\u00a0", None), provider(1, 2, "\u001f", None)]})

g = FILE.group("eventpipe-collect-tracing2-request-limits", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing2", since="3.1", spec=["F-16", "F-72", "F-74", "F-147", "P-43"], made=MADE)
g.invalid(5230, "a buffer of 0 MB",
          message(0x0203, u32(0), u32(1), boolean(True), array(u64(1) + u32(2) + string("a") + string(None))),
          "limits", "zero_buffer", 20, "CollectTracing2.circularBufferMB",
          value={"circularBufferMB": 0, "format": 1, "requestRundown": True, "providers": [provider(1, 2, "a", None)]},
          flags=["Limit"], hazard="harmful")
g.invalid(5231, "format 2 does not exist",
          message(0x0203, u32(250), u32(2), boolean(True), array(u64(1) + u32(2) + string("a") + string(None))),
          "limits", "unknown_format", 24, "CollectTracing2.format",
          value={"circularBufferMB": 250, "format": 2, "requestRundown": True, "providers": [provider(1, 2, "a", None)]},
          flags=["Limit", "UnknownValue"], hazard="harmful")
g.invalid(5232, "level 6",
          message(0x0203, u32(250), u32(1), boolean(True), array(u64(1) + u32(6) + string("a") + string(None))),
          "limits", "log_level_out_of_range", 41, "CollectTracing2.providers[0].logLevel",
          value={"circularBufferMB": 250, "format": 1, "requestRundown": True, "providers": [provider(1, 6, "a", None)]},
          flags=["Limit"], hazard="harmful")
g.invalid(5233, "level 4294967295 in the second provider: above 5, not -1",
          message(0x0203, u32(250), u32(1), boolean(True), array(u64(1) + u32(2) + string("a") + string("k=v"),
                                                                 u64(1) + u32(0xFFFFFFFF) + string("b") + string(None))),
          "limits", "log_level_out_of_range", 73, "CollectTracing2.providers[1].logLevel",
          value={"circularBufferMB": 250, "format": 1, "requestRundown": True,
                 "providers": [provider(1, 2, "a", "k=v"), provider(1, 4294967295, "b", None)]},
          flags=["Limit", "MaxValue"], hazard="harmful")
g.invalid(5234, "no providers", message(0x0203, u32(250), u32(1), boolean(True), array()),
          "limits", "no_providers", 29, "CollectTracing2.providers",
          value={"circularBufferMB": 250, "format": 1, "requestRundown": True, "providers": []}, flags=["Limit"], hazard="harmful")
g.invalid(5235, "1001 providers: one too many",
          message(0x0203, u32(250), u32(1), boolean(False),
                  array(*(u64(n) + u32(0) + string("a") + string(None) for n in range(1001)))),
          "limits", "too_many_providers", 29, "CollectTracing2.providers",
          value={"circularBufferMB": 250, "format": 1, "requestRundown": False,
                 "providers": [provider(n, 0, "a", None) for n in range(1001)]}, flags=["Limit"], hazard="harmful")
g.invalid(5236, "provider name absent (length 0); the provider is the smallest that the grammar knows, 20 bytes",
          message(0x0203, u32(250), u32(1), boolean(True), array(u64(1) + u32(2) + string(None) + string(None))),
          "limits", "empty_provider_name", 45, "CollectTracing2.providers[0].provider_name",
          value={"circularBufferMB": 250, "format": 1, "requestRundown": True, "providers": [provider(1, 2, None, None)]},
          flags=["Limit", "AbsentString"], hazard="harmful")
g.invalid(5237, "provider name empty (length 1) in the second provider",
          message(0x0203, u32(250), u32(1), boolean(True), array(u64(1) + u32(2) + string("a") + string(None),
                                                                 u64(1) + u32(2) + string("") + string("k=v"))),
          "limits", "empty_provider_name", 69, "CollectTracing2.providers[1].provider_name",
          value={"circularBufferMB": 250, "format": 1, "requestRundown": True,
                 "providers": [provider(1, 2, "a", None), provider(1, 2, "", "k=v")]},
          flags=["Limit", "EmptyString"], hazard="harmful")

g.invalid(5238, "provider name of three NULs and the one at its end: a runtime ends it at the first",
          message(0x0203, u32(250), u32(1), boolean(True), array(u64(1) + u32(2) + u32(4) + units(0, 0, 0, 0) + string(None))),
          "limits", "empty_provider_name", 45, "CollectTracing2.providers[0].provider_name",
          value={"circularBufferMB": 250, "format": 1, "requestRundown": True, "providers": [provider(1, 2, "\0\0\0", None)]},
          flags=["Limit", "InnerNul"], hazard="harmful")
g.invalid(5239, "provider name that begins with NUL: a runtime ends it there",
          message(0x0203, u32(250), u32(1), boolean(True), array(u64(1) + u32(2) + u32(3) + units(0, 0x61, 0) + string(None))),
          "limits", "empty_provider_name", 45, "CollectTracing2.providers[0].provider_name",
          value={"circularBufferMB": 250, "format": 1, "requestRundown": True, "providers": [provider(1, 2, "\0a", None)]},
          flags=["Limit", "InnerNul"], hazard="harmful")
g.invalid(5240, "provider name of the six white spaces of C: to a runtime that is no name",
          message(0x0203, u32(250), u32(1), boolean(True), array(u64(1) + u32(2) + string("\t\n\v\f\r ") + string(None))),
          "limits", "empty_provider_name", 45, "CollectTracing2.providers[0].provider_name",
          value={"circularBufferMB": 250, "format": 1, "requestRundown": True, "providers": [provider(1, 2, "\t\n\v\f\r ", None)]},
          flags=["Limit"], hazard="harmful")

g = FILE.group("eventpipe-collect-tracing2-request-refused", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing2", since="3.1",
               spec=["F-7", "F-8", "F-10", "F-14", "F-72", "F-74", "F-83", "F-84"], made=MADE)
g.invalid(5250, "no payload at all", message(0x0203), "payload", "unexpected_end", 20, "CollectTracing2.circularBufferMB",
          flags=["Truncated", "EmptyPayload"], hazard="harmful")
g.invalid(5252, "ends before requestRundown", message(0x0203, u32(250), u32(1)), "payload", "unexpected_end", 28,
          "CollectTracing2.requestRundown", flags=["Truncated"], hazard="harmful")
g.invalid(5253, "ends inside the number of providers", message(0x0203, u32(250), u32(1), boolean(True), u16(1)),
          "payload", "unexpected_end", 29, "CollectTracing2.providers", flags=["Truncated"], hazard="harmful")
g.invalid(5254, "a count of two providers, the payload ends after the first",
          message(0x0203, u32(250), u32(1), boolean(True), u32(2), u64(1), u32(2), string("MyEventSource"), string(None)),
          "payload", "unexpected_end", 81, "CollectTracing2.providers[1].keywords", flags=["Truncated"], hazard="harmful")
g.invalid(5255, "ends inside the characters of the name",
          message(0x0203, u32(250), u32(1), boolean(True), u32(1), u64(1), u32(2), u32(14), utf16("MyEvent")),
          "payload", "count_too_large", 45, "CollectTracing2.providers[0].provider_name", flags=["Truncated"], hazard="harmful")
g.invalid(5256, "the bool is missing: the payload of CollectTracing under this command",
          message(0x0203, u32(250), u32(1), array(u64(100) + u32(2) + string("MyEventSource") + string(None))),
          "payload", "count_too_large", 29, "CollectTracing2.providers", flags=["WrongCommand"], hazard="harmful")
g.invalid(5257, "requestRundown sent as a bool of four bytes",
          message(0x0203, u32(250), u32(1), u32(1), array(u64(100) + u32(2) + string("MyEventSource") + string(None))),
          "payload", "count_too_large", 29, "CollectTracing2.providers", flags=["ClientFault"], hazard="harmful")
g.invalid(5261, "a count of 4294967295 providers, one present",
          message(0x0203, u32(250), u32(1), boolean(True), u32(0xFFFFFFFF), u64(1), u32(2), string("a"), string(None)),
          "payload", "count_too_large", 29, "CollectTracing2.providers", flags=["HugeCount", "MaxValue"], hazard="harmful")
g.invalid(5262, "214748365 providers: times 20 is 4 in 32 bits",
          message(0x0203, u32(250), u32(1), boolean(True), u32(0x0CCCCCCD), u64(1), u32(2), string("a"), string(None)),
          "payload", "count_too_large", 29, "CollectTracing2.providers", flags=["HugeCount", "Wraparound"], hazard="harmful")
g.invalid(5263, "name of 2147483648 units, whose bytes are 0 in 32 bits: not an absent name",
          message(0x0203, u32(250), u32(1), boolean(True), u32(1), u64(1), u32(2), u32(0x80000000), string(None)),
          "payload", "count_too_large", 45, "CollectTracing2.providers[0].provider_name", flags=["HugeCount", "Wraparound"],
          hazard="harmful")
g.invalid(5264, "arguments of 2147483649 units, whose bytes are 2 in 32 bits: not an empty string",
          message(0x0203, u32(250), u32(1), boolean(True), u32(1), u64(1), u32(2), string("a"), u32(0x80000001), u16(0)),
          "payload", "count_too_large", 53, "CollectTracing2.providers[0].arguments", flags=["HugeCount", "Wraparound"],
          hazard="harmful")
g.invalid(5266, "name without its NUL",
          message(0x0203, u32(250), u32(1), boolean(True), u32(1), u64(1), u32(2), u32(2), utf16("ab"), string(None)),
          "payload", "missing_terminator", 51, "CollectTracing2.providers[0].provider_name", flags=["MissingTerminator"],
          hazard="harmful")
g.invalid(5267, "name with its NUL, but the NUL is not counted: what follows moves by two bytes",
          message(0x0203, u32(250), u32(1), boolean(True), u32(1), u64(1), u32(2), u32(13), utf16("MyEventSource"), u16(0),
                  string(None)),
          "payload", "missing_terminator", 73, "CollectTracing2.providers[0].provider_name",
          flags=["MissingTerminator", "ClientFault"], hazard="harmful")
g.invalid(5268, "length of the name counted in bytes",
          message(0x0203, u32(250), u32(1), boolean(True), u32(1), u64(1), u32(2), u32(28), utf16("MyEventSource"), u16(0),
                  string(None)),
          "payload", "count_too_large", 45, "CollectTracing2.providers[0].provider_name", flags=["ClientFault"], hazard="harmful")
g.invalid(5269, "empty arguments sent as a NUL of two bytes without a length",
          message(0x0203, u32(250), u32(1), boolean(True), u32(1), u64(1), u32(2), string("MyEventSource"), u16(0)),
          "payload", "unexpected_end", 77, "CollectTracing2.providers[0].arguments", flags=["ClientFault", "Truncated"],
          hazard="harmful")
g.invalid(5270, "a buffer of 0 MB and a name without its NUL: the grammar comes before the limits",
          message(0x0203, u32(0), u32(1), boolean(True), u32(1), u64(1), u32(2), u32(2), utf16("ab"), string(None)),
          "payload", "missing_terminator", 51, "CollectTracing2.providers[0].provider_name", flags=["MissingTerminator", "Order"],
          hazard="harmful")

g = FILE.group("eventpipe-collect-tracing2-reply", type="reply", source="derived", direction="server",
               command="EventPipe/CollectTracing2", since="3.1", spec=["F-2"], made=MADE)
g.valid(5290, "session id 1", message(OK, u64(1)), {"sessionId": "1"}, flags=["Minimal"])
g.invalid(5291, "24 bytes: four payload bytes are not a session id", message(OK, u32(1)), "payload", "unexpected_end", 20,
          "CollectTracing2.sessionId", flags=["Truncated"])

# --- CollectTracing3 -----------------------------------------------------------------------------------------------
g = FILE.group("eventpipe-collect-tracing3-request", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing3", since="9.0", spec=["F-14", "F-16"], made=MADE)
g.valid(5300, "smallest: one provider with a one-character name, arguments absent, neither rundown nor stacks",
        message(0x0204, u32(1), u32(0), boolean(False), boolean(False), array(u64(0) + u32(0) + string("a") + string(None))),
        {"circularBufferMB": 1, "format": 0, "requestRundown": False, "requestStackwalk": False,
         "providers": [provider(0, 0, "a", None)]}, flags=["Minimal", "AbsentString"])
LITERAL = hexa("""444f544e45545f4950435f563100 4400 02 04 0000
                  00010000 01000000 00 01 01000000
                  0807060504030201 04000000 03000000 410062000000 04000000 6b003d0076000000""")
assert LITERAL == message(0x0204, u32(256), u32(1), boolean(False), boolean(True),
                          array(u64(0x0102030405060708) + u32(4) + string("Ab") + string("k=v")))
g.valid(5301, "stacks without rundown: the rundown byte comes first", LITERAL,
        {"circularBufferMB": 256, "format": 1, "requestRundown": False, "requestStackwalk": True,
         "providers": [provider(0x0102030405060708, 4, "Ab", "k=v")]}, flags=["Literal"])
g.valid(5302, "rundown without stacks, several providers, names and arguments outside of ASCII",
        message(0x0204, u32(250), u32(1), boolean(True), boolean(False), array(
            u64(MAX64) + u32(5) + string("Microsoft-DotNETCore-SampleProfiler") + string(""),
            u64(1) + u32(4) + string("イベント𝄞") + string("Ключ=значение"),
            u64(0) + u32(1) + string("z") + string(None))),
        {"circularBufferMB": 250, "format": 1, "requestRundown": True, "requestStackwalk": False, "providers": [
            provider(MAX64, 5, "Microsoft-DotNETCore-SampleProfiler", ""),
            provider(1, 4, "イベント𝄞", "Ключ=значение"),
            provider(0, 1, "z", None)]}, flags=["Full", "SurrogatePair", "EmptyString", "AbsentString"])
g.lenient(5303, "requestRundown 2 is true, requestStackwalk stays false",
          message(0x0204, u32(250), u32(1), boolean(2), boolean(False), array(u64(1) + u32(2) + string("a") + string(None))),
          {"circularBufferMB": 250, "format": 1, "requestRundown": True, "requestStackwalk": False,
           "providers": [provider(1, 2, "a", None)]}, flags=["BoolNotOne"])
g.lenient(5304, "requestStackwalk 255 is true, requestRundown stays false",
          message(0x0204, u32(250), u32(1), boolean(False), boolean(0xFF), array(u64(1) + u32(2) + string("a") + string(None))),
          {"circularBufferMB": 250, "format": 1, "requestRundown": False, "requestStackwalk": True,
           "providers": [provider(1, 2, "a", None)]}, flags=["BoolNotOne"])

g = FILE.group("eventpipe-collect-tracing3-request-limits", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing3", since="9.0", spec=["F-16", "F-72", "F-74"], made=MADE)
g.invalid(5330, "no providers", message(0x0204, u32(250), u32(1), boolean(True), boolean(True), array()),
          "limits", "no_providers", 30, "CollectTracing3.providers",
          value={"circularBufferMB": 250, "format": 1, "requestRundown": True, "requestStackwalk": True, "providers": []},
          flags=["Limit"], hazard="harmful")
g.invalid(5331, "level 6",
          message(0x0204, u32(250), u32(1), boolean(True), boolean(False), array(u64(1) + u32(6) + string("a") + string(None))),
          "limits", "log_level_out_of_range", 42, "CollectTracing3.providers[0].logLevel",
          value={"circularBufferMB": 250, "format": 1, "requestRundown": True, "requestStackwalk": False,
                 "providers": [provider(1, 6, "a", None)]}, flags=["Limit"], hazard="harmful")

g = FILE.group("eventpipe-collect-tracing3-request-refused", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing3", since="9.0", spec=["F-7", "F-74"], made=MADE)
g.invalid(5350, "ends between the two bools", message(0x0204, u32(250), u32(1), boolean(True)), "payload", "unexpected_end", 29,
          "CollectTracing3.requestStackwalk", flags=["Truncated"], hazard="harmful")
g.invalid(5351, "one bool only: the payload of CollectTracing2 under this command",
          message(0x0204, u32(250), u32(1), boolean(True), array(u64(100) + u32(2) + string("MyEventSource") + string(None))),
          "payload", "count_too_large", 30, "CollectTracing3.providers", flags=["WrongCommand"], hazard="harmful")
g.invalid(5352, "both bools sent as four bytes",
          message(0x0204, u32(250), u32(1), u32(1), u32(1), array(u64(100) + u32(2) + string("MyEventSource") + string(None))),
          "payload", "count_too_large", 30, "CollectTracing3.providers", flags=["ClientFault"], hazard="harmful")

g = FILE.group("eventpipe-collect-tracing3-reply", type="reply", source="derived", direction="server",
               command="EventPipe/CollectTracing3", since="9.0", spec=["F-2"], made=MADE)
g.valid(5390, "session id 1", message(OK, u64(1)), {"sessionId": "1"}, flags=["Minimal"])
g.invalid(5391, "24 bytes: four payload bytes are not a session id", message(OK, u32(1)), "payload", "unexpected_end", 20,
          "CollectTracing3.sessionId", flags=["Truncated"])

# --- CollectTracing4 -----------------------------------------------------------------------------------------------
g = FILE.group("eventpipe-collect-tracing4-request", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing4", since="9.0", spec=["F-13", "F-15", "F-16"], made=MADE)
g.valid(5400, "smallest: one provider with a one-character name, arguments absent, rundown keyword 0",
        message(0x0205, u32(1), u32(0), u64(0), boolean(False), array(u64(0) + u32(0) + string("a") + string(None))),
        {"circularBufferMB": 1, "format": 0, "rundownKeyword": "0", "requestStackwalk": False,
         "providers": [provider(0, 0, "a", None)]}, flags=["Minimal", "AbsentString", "OddOffset"])
LITERAL = hexa("""444f544e45545f4950435f563100 4b00 02 05 0000
                  00010000 01000000 3901028000000000 01 01000000
                  0807060504030201 04000000 03000000 410062000000 04000000 6b003d0076000000""")
assert LITERAL == message(0x0205, u32(256), u32(1), u64(0x80020139), boolean(True),
                          array(u64(0x0102030405060708) + u32(4) + string("Ab") + string("k=v")))
g.valid(5401, "rundown keyword 0x80020139, as much as requestRundown was: bit 31 is not extended; with stacks", LITERAL,
        {"circularBufferMB": 256, "format": 1, "rundownKeyword": "2147615033", "requestStackwalk": True,
         "providers": [provider(0x0102030405060708, 4, "Ab", "k=v")]}, flags=["Literal", "OddOffset"])
g.valid(5402, "the largest rundown keyword, several providers, names and arguments outside of ASCII",
        message(0x0205, u32(1024), u32(1), u64(MAX64), boolean(False), array(
            u64(MAX64) + u32(5) + string("Microsoft-Windows-DotNETRuntime") + string(None),
            u64(0x0020000000000001) + u32(3) + string("Ærø-🚲") + string("ä=1;ß=2"),
            u64(0) + u32(0) + string("System.Net.Http") + string(""))),
        {"circularBufferMB": 1024, "format": 1, "rundownKeyword": "18446744073709551615", "requestStackwalk": False, "providers": [
            provider(MAX64, 5, "Microsoft-Windows-DotNETRuntime", None),
            provider(0x0020000000000001, 3, "Ærø-🚲", "ä=1;ß=2"),
            provider(0, 0, "System.Net.Http", "")]},
        flags=["Full", "OddOffset", "MaxValue", "SurrogatePair", "EmptyString", "AbsentString"])
g.lenient(5403, "requestStackwalk 2 is true",
          message(0x0205, u32(250), u32(1), u64(0), boolean(2), array(u64(1) + u32(2) + string("a") + string(None))),
          {"circularBufferMB": 250, "format": 1, "rundownKeyword": "0", "requestStackwalk": True,
           "providers": [provider(1, 2, "a", None)]}, flags=["BoolNotOne"])

g = FILE.group("eventpipe-collect-tracing4-request-limits", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing4", since="9.0", spec=["F-16", "F-74"], made=MADE)
g.invalid(5430, "no providers", message(0x0205, u32(250), u32(1), u64(0), boolean(True), array()),
          "limits", "no_providers", 37, "CollectTracing4.providers",
          value={"circularBufferMB": 250, "format": 1, "rundownKeyword": "0", "requestStackwalk": True, "providers": []},
          flags=["Limit"], hazard="harmful")
g.invalid(5431, "provider name absent",
          message(0x0205, u32(250), u32(1), u64(0), boolean(True), array(u64(1) + u32(2) + string(None) + string("k=v"))),
          "limits", "empty_provider_name", 53, "CollectTracing4.providers[0].provider_name",
          value={"circularBufferMB": 250, "format": 1, "rundownKeyword": "0", "requestStackwalk": True,
                 "providers": [provider(1, 2, None, "k=v")]}, flags=["Limit", "AbsentString"], hazard="harmful")

g = FILE.group("eventpipe-collect-tracing4-request-refused", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing4", since="9.0", spec=["F-7", "F-15", "F-74", "F-84"], made=MADE)
g.invalid(5450, "ends in the middle of rundownKeyword", message(0x0205, u32(250), u32(1), u32(0x80020139)),
          "payload", "unexpected_end", 28, "CollectTracing4.rundownKeyword", flags=["Truncated"], hazard="harmful")
g.invalid(5452, "rundownKeyword sent as a uint",
          message(0x0205, u32(250), u32(1), u32(0x80020139), boolean(True),
                  array(u64(100) + u32(2) + string("MyEventSource") + string(None))),
          "payload", "count_too_large", 37, "CollectTracing4.providers", flags=["ClientFault"], hazard="harmful")
g.invalid(5453, "the bool requestRundown instead of rundownKeyword: the payload of CollectTracing3 under this command",
          message(0x0205, u32(250), u32(1), boolean(True), boolean(True),
                  array(u64(MAX64) + u32(2) + string("MyEventSource") + string(None))),
          "payload", "count_too_large", 37, "CollectTracing4.providers", flags=["WrongCommand"], hazard="harmful")

g = FILE.group("eventpipe-collect-tracing4-reply", type="reply", source="derived", direction="server",
               command="EventPipe/CollectTracing4", since="9.0", spec=["F-2"], made=MADE)
g.valid(5490, "session id 1", message(OK, u64(1)), {"sessionId": "1"}, flags=["Minimal"])
g.invalid(5491, "24 bytes: four payload bytes are not a session id", message(OK, u32(1)), "payload", "unexpected_end", 20,
          "CollectTracing4.sessionId", flags=["Truncated"])
