"""EventPipe: CollectTracing5 and 6, streaming and user_events.

Offsets inside the messages, where nothing is cut:
  streaming     session_type 20, streaming_circularBufferMB 24, streaming_format 28, rundownKeyword 32, requestStackwalk 40,
                providers 41 (its count), first provider 45
  user_events   session_type 20, rundownKeyword 24, providers 32, first provider 36
  a provider    keywords +0, logLevel +8, provider_name +12, arguments, filter (enable, event_ids), and only for user_events
                config (default_tracepoint_name, tracepoints) after it
"""
from notation import *

FILE = File("eventpipe5", "EventPipe: CollectTracing5 and 6, streaming and user_events", 6000, 6999)
MADE = "written field by field in source/eventpipe5.py from the document's list of fields"
MADE6 = ("written field by field in source/eventpipe5.py: CollectTracing5's list of fields, and for a streaming session "
         "sessionBufferMode at the end")

MAX64 = 0xFFFFFFFFFFFFFFFF


# --- values (not bytes) --------------------------------------------------------------------------------------------
def event_filter(enable, *ids):
    return {"enable": enable, "event_ids": list(ids)}


NO_FILTER = event_filter(False)


def tracepoint_set(name, *ids):
    return {"tracepoint_name": name, "event_ids": list(ids)}


def config(default, *sets):
    return {"default_tracepoint_name": default, "tracepoints": list(sets)}


def provider(keywords, level, name, arguments, filter, config=None):
    value = {"keywords": str(keywords), "logLevel": level, "provider_name": name, "arguments": arguments, "filter": filter}
    return value if config is None else {**value, "config": config}


def streaming(megabytes, format, rundown, stackwalk, *providers):
    return {"session_type": 0, "streaming_circularBufferMB": megabytes, "streaming_format": format,
            "rundownKeyword": str(rundown), "requestStackwalk": stackwalk, "providers": list(providers)}


def user_events(rundown, *providers):
    return {"session_type": 1, "rundownKeyword": str(rundown), "providers": list(providers)}


# --- CollectTracing5, streaming ------------------------------------------------------------------------------------
g = FILE.group("eventpipe-collect-tracing5-streaming-request", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing5", since="10.0", spec=["F-4", "F-13", "F-16", "F-17", "F-148"], made=MADE)
g.valid(6000, "smallest: one provider with a one-character name, arguments absent, no filter",
        message(0x0206, u32(0), u32(1), u32(0), u64(0), boolean(False),
                array(u64(0) + u32(0) + string("a") + string(None) + boolean(False) + array())),
        streaming(1, 0, 0, False, provider(0, 0, "a", None, NO_FILTER)), flags=["Minimal", "AbsentString", "OddOffset"])
LITERAL = hexa("""444f544e45545f4950435f563100 5c00 02 06 0000
                  00000000 00010000 01000000 3901028000000000 01 01000000
                  0807060504030201 04000000 03000000 410062000000 04000000 6b003d0076000000
                  00 02000000 04000000 05000000""")
assert LITERAL == message(0x0206, u32(0), u32(256), u32(1), u64(0x80020139), boolean(True),
                          array(u64(0x0102030405060708) + u32(4) + string("Ab") + string("k=v")
                                + boolean(False) + array(u32(4), u32(5))))
g.valid(6001, "all events but 4 and 5 (enable false), with stacks", LITERAL,
        streaming(256, 1, 0x80020139, True, provider(0x0102030405060708, 4, "Ab", "k=v", event_filter(False, 4, 5))),
        flags=["Literal", "OddOffset"])
g.valid(6002, "four providers with all four kinds of filter: the 5 bytes of each move the next provider between odd and even offsets",
        message(0x0206, u32(0), u32(250), u32(1), u64(MAX64), boolean(True), array(
            u64(MAX64) + u32(5) + string("Microsoft-Windows-DotNETRuntime") + string(None) + boolean(False) + array(),
            u64(3) + u32(4) + string("Microsoft-Diagnostics-DiagnosticSource") + string("FilterAndPayloadSpecs=A/B@C:-D.E")
            + boolean(True) + array(u32(1), u32(2), u32(3)),
            u64(0) + u32(2) + string("Größe-日本語-😀") + string("") + boolean(False) + array(u32(10)),
            u64(1) + u32(1) + string("System.Runtime") + string("EventCounterIntervalSec=1") + boolean(True) + array())),
        streaming(250, 1, MAX64, True,
                  provider(MAX64, 5, "Microsoft-Windows-DotNETRuntime", None, NO_FILTER),
                  provider(3, 4, "Microsoft-Diagnostics-DiagnosticSource", "FilterAndPayloadSpecs=A/B@C:-D.E",
                           event_filter(True, 1, 2, 3)),
                  provider(0, 2, "Größe-日本語-😀", "", event_filter(False, 10)),
                  provider(1, 1, "System.Runtime", "EventCounterIntervalSec=1", event_filter(True))),
        flags=["Full", "OddOffset", "SurrogatePair", "MaxValue", "AbsentString", "EmptyString"])
g.valid(6003, "only events 1, 2 and 3 (enable true)",
        message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False),
                array(u64(1) + u32(2) + string("a") + string(None) + boolean(True) + array(u32(1), u32(2), u32(3)))),
        streaming(250, 1, 0, False, provider(1, 2, "a", None, event_filter(True, 1, 2, 3))))
g.valid(6004, "enable true without ids disables every event, unlike no filter",
        message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False),
                array(u64(1) + u32(2) + string("a") + string(None) + boolean(True) + array())),
        streaming(250, 1, 0, False, provider(1, 2, "a", None, event_filter(True))))
g.valid(6005, "event ids of 32 bits: 65536, 2147483648, the largest, and 0, in the order given",
        message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False),
                array(u64(1) + u32(2) + string("a") + string(None)
                      + boolean(True) + array(u32(65536), u32(0x80000000), u32(0xFFFFFFFF), u32(0)))),
        streaming(250, 1, 0, False, provider(1, 2, "a", None, event_filter(True, 65536, 2147483648, 4294967295, 0))),
        flags=["MaxValue"])
g.valid(6006, "arguments empty (length 1), not absent (length 0)",
        message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False),
                array(u64(1) + u32(2) + string("a") + string("") + boolean(False) + array())),
        streaming(250, 1, 0, False, provider(1, 2, "a", "", NO_FILTER)), flags=["EmptyString"])
g.lenient(6007, "enable 2 is true",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(2) + array(u32(7)))),
          streaming(250, 1, 0, False, provider(1, 2, "a", None, event_filter(True, 7))), flags=["BoolNotOne"])
g.lenient(6008, "requestStackwalk 255 is true",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(0xFF),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array())),
          streaming(250, 1, 0, True, provider(1, 2, "a", None, NO_FILTER)), flags=["BoolNotOne"])
g.lenient(6009, "CollectTracing6's sessionBufferMode under this command: bytes after the last field",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()), u32(1)),
          streaming(250, 1, 0, False, provider(1, 2, "a", None, NO_FILTER)), flags=["TrailingBytes", "WrongCommand"])
g.lenient(6010, "a tracepoint_config after the only provider of a streaming session: bytes after the last field",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                        + string("MyTracepoint") + array())),
          streaming(250, 1, 0, False, provider(1, 2, "a", None, NO_FILTER)), flags=["TrailingBytes", "WrongSession"])
g.valid(6011, "event id 7 twice in the filter of a streaming session: taken, but that provider writes nothing",
        message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False),
                array(u64(1) + u32(2) + string("a") + string(None) + boolean(True) + array(u32(7), u32(8), u32(7)))),
        streaming(250, 1, 0, False, provider(1, 2, "a", None, event_filter(True, 7, 8, 7))))

g = FILE.group("eventpipe-collect-tracing5-streaming-request-limits", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing5", since="10.0", spec=["F-16", "F-74"], made=MADE)
g.invalid(6050, "a buffer of 0 MB",
          message(0x0206, u32(0), u32(0), u32(1), u64(0), boolean(False),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array())),
          "limits", "zero_buffer", 24, "CollectTracing5.streaming_circularBufferMB",
          value=streaming(0, 1, 0, False, provider(1, 2, "a", None, NO_FILTER)), flags=["Limit"], hazard="harmful")
g.invalid(6051, "format 2 does not exist",
          message(0x0206, u32(0), u32(250), u32(2), u64(0), boolean(False),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array())),
          "limits", "unknown_format", 28, "CollectTracing5.streaming_format",
          value=streaming(250, 2, 0, False, provider(1, 2, "a", None, NO_FILTER)), flags=["Limit", "UnknownValue"],
          hazard="harmful")
g.invalid(6052, "level 6",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False),
                  array(u64(1) + u32(6) + string("a") + string(None) + boolean(False) + array())),
          "limits", "log_level_out_of_range", 53, "CollectTracing5.providers[0].logLevel",
          value=streaming(250, 1, 0, False, provider(1, 6, "a", None, NO_FILTER)), flags=["Limit"], hazard="harmful")
g.invalid(6053, "no providers", message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False), array()),
          "limits", "no_providers", 41, "CollectTracing5.providers", value=streaming(250, 1, 0, False), flags=["Limit"],
          hazard="harmful")
g.invalid(6054, "provider name absent; the provider is the smallest that the grammar knows, 25 bytes",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False),
                  array(u64(1) + u32(2) + string(None) + string(None) + boolean(False) + array())),
          "limits", "empty_provider_name", 57, "CollectTracing5.providers[0].provider_name",
          value=streaming(250, 1, 0, False, provider(1, 2, None, None, NO_FILTER)), flags=["Limit", "AbsentString"],
          hazard="harmful")
g.invalid(6055, "provider name empty (length 1) in the second provider, after a filter with an id",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(True) + array(u32(7)),
                        u64(1) + u32(2) + string("") + string(None) + boolean(False) + array())),
          "limits", "empty_provider_name", 90, "CollectTracing5.providers[1].provider_name",
          value=streaming(250, 1, 0, False, provider(1, 2, "a", None, event_filter(True, 7)),
                          provider(1, 2, "", None, NO_FILTER)), flags=["Limit", "EmptyString"], hazard="harmful")

g = FILE.group("eventpipe-collect-tracing5-streaming-request-refused", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing5", since="10.0",
               spec=["F-7", "F-9", "F-10", "F-17", "F-18", "F-72", "F-73", "F-74", "F-83"], made=MADE)
g.invalid(6100, "no payload at all", message(0x0206), "payload", "unexpected_end", 20, "CollectTracing5.session_type",
          flags=["Truncated", "EmptyPayload"], hazard="harmful")
g.invalid(6101, "session_type 2 before a payload that would do for streaming",
          message(0x0206, u32(2), u32(250), u32(1), u64(0), boolean(False),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array())),
          "payload", "unknown_session_type", 20, "CollectTracing5.session_type", flags=["UnknownValue"], hazard="harmful")
g.invalid(6102, "session_type 4294967295 and nothing more: the type is refused before the end is noticed",
          message(0x0206, u32(0xFFFFFFFF)), "payload", "unknown_session_type", 20, "CollectTracing5.session_type",
          flags=["UnknownValue", "MaxValue", "Truncated", "Order"], hazard="harmful")
g.invalid(6103, "no session_type: the payload of CollectTracing4 under this command, whose buffer size is read as session_type",
          message(0x0206, u32(250), u32(1), u64(0), boolean(False), array(u64(1) + u32(2) + string("a") + string(None))),
          "payload", "unknown_session_type", 20, "CollectTracing5.session_type", flags=["WrongCommand", "UnknownValue"],
          hazard="harmful")
g.invalid(6104, "ends before requestStackwalk", message(0x0206, u32(0), u32(250), u32(1), u64(0)),
          "payload", "unexpected_end", 40, "CollectTracing5.requestStackwalk", flags=["Truncated"], hazard="harmful")
g.invalid(6105, "no requestStackwalk before the providers, as in a user_events session",
          message(0x0206, u32(0), u32(250), u32(1), u64(0),
                  array(u64(100) + u32(2) + string("MyEventSource") + string(None) + boolean(False) + array())),
          "payload", "count_too_large", 41, "CollectTracing5.providers", flags=["WrongSession"], hazard="harmful")
g.invalid(6106, "filter left out of the only provider: the provider is still longer than the smallest",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False), u32(1),
                  u64(100), u32(2), string("MyEventSource"), string(None)),
          "payload", "unexpected_end", 93, "CollectTracing5.providers[0].filter.enable", flags=["OmittedFilter"],
          hazard="harmful")
g.invalid(6107, "filter left out of a provider with a one-character name: 24 bytes are less than the smallest provider",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False), u32(1), u64(100), u32(2), string("a"), string(None)),
          "payload", "count_too_large", 41, "CollectTracing5.providers", flags=["OmittedFilter"], hazard="harmful")
g.invalid(6108, "filter cut after enable",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False), u32(1),
                  u64(100), u32(2), string("a"), string("k=v"), boolean(True)),
          "payload", "unexpected_end", 78, "CollectTracing5.providers[0].filter.event_ids", flags=["Truncated"],
          hazard="harmful")
g.invalid(6109, "filter written as one length of 0, as the document's \"or (length = 0)\" may be read: four bytes instead of five",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False), u32(1),
                  u64(100), u32(2), string("MyEventSource"), string(None), u32(0)),
          "payload", "unexpected_end", 94, "CollectTracing5.providers[0].filter.event_ids", flags=["AsPrinted"],
          hazard="harmful")
g.invalid(6110, "two event ids announced, one there",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False), u32(1),
                  u64(100), u32(2), string("a"), string(None), boolean(True), u32(2), u32(4)),
          "payload", "count_too_large", 70, "CollectTracing5.providers[0].filter.event_ids", flags=["Truncated"],
          hazard="harmful")
g.invalid(6111, "filter left out of the first of two providers: the second one's keywords are read as the filter",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False), u32(2),
                  u64(1), u32(2), string("MyEventSource"), string(None),
                  u64(MAX64), u32(2), string("MyEventSource"), string(None), boolean(False), array()),
          "payload", "count_too_large", 94, "CollectTracing5.providers[0].filter.event_ids", flags=["OmittedFilter"],
          hazard="harmful")
g.invalid(6112, "filter without enable: the ids alone",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False), u32(1),
                  u64(100), u32(2), string("a"), string(None), array(u32(4), u32(5))),
          "payload", "count_too_large", 70, "CollectTracing5.providers[0].filter.event_ids", flags=["ClientFault"],
          hazard="harmful")
g.invalid(6113, "arguments left out: the filter is read as their length",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False), u32(1),
                  u64(100), u32(2), string("MyEventSource"), boolean(True), array(u32(7))),
          "payload", "count_too_large", 89, "CollectTracing5.providers[0].arguments", flags=["OmittedArguments"],
          hazard="harmful")
g.invalid(6114, "1073741823 event ids announced, one there",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False), u32(1),
                  u64(100), u32(2), string("a"), string(None), boolean(True), u32(0x3FFFFFFF), u32(7)),
          "payload", "count_too_large", 70, "CollectTracing5.providers[0].filter.event_ids", flags=["HugeCount"],
          hazard="harmful")
g.invalid(6115, "1073741825 event ids, whose bytes are 4 in 32 bits: not one id",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False), u32(1),
                  u64(100), u32(2), string("a"), string(None), boolean(True), u32(0x40000001), u32(7)),
          "payload", "count_too_large", 70, "CollectTracing5.providers[0].filter.event_ids", flags=["HugeCount", "Wraparound"],
          hazard="harmful")
g.invalid(6116, "a tracepoint_config in each of two streaming providers: the first is read as the second provider",
          message(0x0206, u32(0), u32(250), u32(1), u64(0), boolean(False), array(
              u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array() + string("MyTracepoint") + array(),
              u64(1) + u32(2) + string("b") + string(None) + boolean(False) + array() + string("MyTracepoint") + array())),
          "payload", "count_too_large", 86, "CollectTracing5.providers[1].provider_name", flags=["WrongSession"],
          hazard="harmful")

# --- CollectTracing5, user_events ----------------------------------------------------------------------------------
g = FILE.group("eventpipe-collect-tracing5-user-events-request", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing5", since="10.0",
               spec=["P-8", "F-13", "F-16", "F-17", "F-21", "F-22", "F-33", "F-65", "F-72", "F-75"], made=MADE)
g.valid(6200, "smallest: one provider with a one-character name, no filter, one default tracepoint and no sets",
        message(0x0206, u32(1), u64(0),
                array(u64(0) + u32(0) + string("a") + string(None) + boolean(False) + array() + string("t") + array())),
        user_events(0, provider(0, 0, "a", None, NO_FILTER, config("t"))),
        flags=["Minimal", "AbsentString", "OddOffset"], hazard="harmful")
LITERAL = hexa("""444f544e45545f4950435f563100 6900 02 06 0000
                  01000000 3901028000000000 01000000
                  0807060504030201 04000000 03000000 410062000000 00000000
                  01 01000000 07000000
                  03000000 540031000000 01000000
                  02000000 53000000 02000000 07000000 08000000""")
assert LITERAL == message(0x0206, u32(1), u64(0x80020139),
                          array(u64(0x0102030405060708) + u32(4) + string("Ab") + string(None)
                                + boolean(True) + array(u32(7))
                                + string("T1") + array(string("S") + array(u32(7), u32(8)))))
g.valid(6201, "a filter, a default tracepoint and one set of two ids, of which the filter lets one pass", LITERAL,
        user_events(0x80020139, provider(0x0102030405060708, 4, "Ab", None, event_filter(True, 7),
                                         config("T1", tracepoint_set("S", 7, 8)))),
        flags=["Literal", "OddOffset"], hazard="harmful")
g.valid(6202, "three providers, filters and tracepoint configurations of every kind, names outside of ASCII",
        message(0x0206, u32(1), u64(MAX64), array(
            u64(MAX64) + u32(5) + string("Microsoft-Windows-DotNETRuntime") + string(None) + boolean(False) + array()
            + string("MyTracepoint") + array(string("LowEvents") + array(u32(1), u32(2), u32(3)),
                                             string("HighEvents") + array(u32(0xFFFFFFFF), u32(300))),
            u64(3) + u32(4) + string("Größe-日本語-😀") + string("FilterAndPayloadSpecs=A/B@C:-D.E")
            + boolean(False) + array(u32(4), u32(5))
            + string(None) + array(string("Größe_😀") + array(u32(1))),
            u64(0) + u32(0) + string("z") + string("") + boolean(True) + array()
            + string("Rest") + array())),
        user_events(MAX64,
                    provider(MAX64, 5, "Microsoft-Windows-DotNETRuntime", None, NO_FILTER,
                             config("MyTracepoint", tracepoint_set("LowEvents", 1, 2, 3),
                                    tracepoint_set("HighEvents", 4294967295, 300))),
                    provider(3, 4, "Größe-日本語-😀", "FilterAndPayloadSpecs=A/B@C:-D.E", event_filter(False, 4, 5),
                             config(None, tracepoint_set("Größe_😀", 1))),
                    provider(0, 0, "z", "", event_filter(True), config("Rest"))),
        flags=["Full", "OddOffset", "SurrogatePair", "MaxValue", "AbsentString", "EmptyString"], hazard="harmful")
g.valid(6203, "sets only, the default tracepoint absent (length 0)",
        message(0x0206, u32(1), u64(0),
                array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                      + string(None) + array(string("LowEvents") + array(*(u32(n) for n in range(1, 10)))))),
        user_events(0, provider(1, 2, "a", None, NO_FILTER,
                                config(None, tracepoint_set("LowEvents", 1, 2, 3, 4, 5, 6, 7, 8, 9)))),
        flags=["AbsentString"], hazard="harmful")
g.valid(6204, "sets only, the default tracepoint empty (length 1)",
        message(0x0206, u32(1), u64(0),
                array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                      + string("") + array(string("s") + array(u32(1))))),
        user_events(0, provider(1, 2, "a", None, NO_FILTER, config("", tracepoint_set("s", 1)))),
        flags=["EmptyString"], hazard="harmful")
g.valid(6205, "a set with no ids between two with some",
        message(0x0206, u32(1), u64(0),
                array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                      + string(None) + array(string("s1") + array(u32(1), u32(2)), string("s2") + array(),
                                             string("s3") + array(u32(3))))),
        user_events(0, provider(1, 2, "a", None, NO_FILTER,
                                config(None, tracepoint_set("s1", 1, 2), tracepoint_set("s2"), tracepoint_set("s3", 3)))),
        flags=["AbsentString"], hazard="harmful")
g.valid(6206, "the same event id in two providers is not a duplicate",
        message(0x0206, u32(1), u64(0), array(
            u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
            + string(None) + array(string("s") + array(u32(7))),
            u64(1) + u32(2) + string("b") + string(None) + boolean(False) + array()
            + string(None) + array(string("t") + array(u32(7))))),
        user_events(0, provider(1, 2, "a", None, NO_FILTER, config(None, tracepoint_set("s", 7))),
                    provider(1, 2, "b", None, NO_FILTER, config(None, tracepoint_set("t", 7)))), hazard="harmful")
g.valid(6207, "1 and 65537 are two event ids, although the record keeps only 16 bits of them",
        message(0x0206, u32(1), u64(0),
                array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                      + string("t") + array(string("s") + array(u32(1), u32(65537))))),
        user_events(0, provider(1, 2, "a", None, NO_FILTER, config("t", tracepoint_set("s", 1, 65537)))), hazard="harmful")
# 6208 accepted a default tracepoint of 600 characters; now it is refused, and kills the process (P-19): 6258.
g.valid(6211, "names of 436 bytes, the longest that can be registered: one byte a character, two, three and four",
        message(0x0206, u32(1), u64(0),
                array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                      + string("t" * 436) + array(string("é" * 218) + array(u32(1)), string("診" * 145 + "t") + array(u32(2)),
                                                  string("😀" * 109) + array(u32(3))))),
        user_events(0, provider(1, 2, "a", None, NO_FILTER,
                                config("t" * 436, tracepoint_set("é" * 218, 1), tracepoint_set("診" * 145 + "t", 2),
                                       tracepoint_set("😀" * 109, 3)))), flags=["LongName", "SurrogatePair"], hazard="harmful")
g.lenient(6209, "enable 2 is true",
          message(0x0206, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(2) + array(u32(7)) + string("t") + array())),
          user_events(0, provider(1, 2, "a", None, event_filter(True, 7), config("t"))), flags=["BoolNotOne"], hazard="harmful")
g.lenient(6210, "four bytes after the last set are ignored",
          message(0x0206, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                        + string("t") + array(string("s") + array(u32(1)))), u32(1)),
          user_events(0, provider(1, 2, "a", None, NO_FILTER, config("t", tracepoint_set("s", 1)))),
          flags=["TrailingBytes"], hazard="harmful")

g = FILE.group("eventpipe-collect-tracing5-user-events-request-limits", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing5", since="10.0",
               spec=["P-7", "P-19", "F-16", "F-21", "F-72", "F-74", "F-75", "F-147", "P-43"], made=MADE)
g.invalid(6250, "no providers", message(0x0206, u32(1), u64(0), array()), "limits", "no_providers", 32,
          "CollectTracing5.providers", value=user_events(0), flags=["Limit"], hazard="harmful")
g.invalid(6251, "level 6",
          message(0x0206, u32(1), u64(0),
                  array(u64(1) + u32(6) + string("a") + string(None) + boolean(False) + array() + string("t") + array())),
          "limits", "log_level_out_of_range", 44, "CollectTracing5.providers[0].logLevel",
          value=user_events(0, provider(1, 6, "a", None, NO_FILTER, config("t"))), flags=["Limit"], hazard="harmful")
g.invalid(6252, "default tracepoint absent (length 0) and no sets",
          message(0x0206, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array() + string(None) + array())),
          "limits", "no_tracepoint", 65, "CollectTracing5.providers[0].config",
          value=user_events(0, provider(1, 2, "a", None, NO_FILTER, config(None))), flags=["Limit", "AbsentString"],
          hazard="harmful")
g.valid(6253, "an empty default tracepoint (length 1) and no sets: a name, though one that fails when it is registered",
        message(0x0206, u32(1), u64(0), array(
            u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array() + string("t") + array(),
            u64(1) + u32(2) + string("b") + string(None) + boolean(False) + array() + string("") + array())),
        user_events(0, provider(1, 2, "a", None, NO_FILTER, config("t")), provider(1, 2, "b", None, NO_FILTER, config(""))),
        flags=["EmptyString"], hazard="harmful")
g.invalid(6254, "name of the only set absent (length 0)",
          message(0x0206, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                        + string(None) + array(string(None) + array(u32(1))))),
          "limits", "empty_tracepoint_name", 73, "CollectTracing5.providers[0].config.tracepoints[0].tracepoint_name",
          value=user_events(0, provider(1, 2, "a", None, NO_FILTER, config(None, tracepoint_set(None, 1)))),
          flags=["Limit", "AbsentString"], hazard="harmful")
g.invalid(6255, "name of the second set empty (length 1), although there is a default tracepoint",
          message(0x0206, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                        + string("t") + array(string("s") + array(u32(1)), string("") + array(u32(2))))),
          "limits", "empty_tracepoint_name", 93, "CollectTracing5.providers[0].config.tracepoints[1].tracepoint_name",
          value=user_events(0, provider(1, 2, "a", None, NO_FILTER,
                                        config("t", tracepoint_set("s", 1), tracepoint_set("", 2)))),
          flags=["Limit", "EmptyString"], hazard="harmful")
g.invalid(6263, "name of the only set begins with NUL: a runtime ends it there",
          message(0x0206, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                        + string(None) + array(u32(3) + units(0, 0x73, 0) + array(u32(1))))),
          "limits", "empty_tracepoint_name", 73, "CollectTracing5.providers[0].config.tracepoints[0].tracepoint_name",
          value=user_events(0, provider(1, 2, "a", None, NO_FILTER, config(None, tracepoint_set("\0s", 1)))),
          flags=["Limit", "InnerNul"], hazard="harmful")
g.invalid(6264, "name of the only set of two spaces: to a runtime that is no name",
          message(0x0206, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                        + string(None) + array(string("  ") + array(u32(1))))),
          "limits", "empty_tracepoint_name", 73, "CollectTracing5.providers[0].config.tracepoints[0].tracepoint_name",
          value=user_events(0, provider(1, 2, "a", None, NO_FILTER, config(None, tracepoint_set("  ", 1)))),
          flags=["Limit"], hazard="harmful")
g.valid(6265, "default tracepoint of a space: unlike the name of a set, that is a name",
        message(0x0206, u32(1), u64(0),
                array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array() + string(" ") + array())),
        user_events(0, provider(1, 2, "a", None, NO_FILTER, config(" "))), hazard="harmful")
g.invalid(6266, "event id 7 twice, and level 6 in the next provider: the level is refused, as tracepoints are registered last",
          message(0x0206, u32(1), u64(0), array(
              u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
              + string(None) + array(string("s") + array(u32(7), u32(7))),
              u64(1) + u32(6) + string("b") + string(None) + boolean(False) + array() + string("t") + array())),
          "limits", "log_level_out_of_range", 101, "CollectTracing5.providers[1].logLevel",
          value=user_events(0, provider(1, 2, "a", None, NO_FILTER, config(None, tracepoint_set("s", 7, 7))),
                            provider(1, 6, "b", None, NO_FILTER, config("t"))), flags=["Limit", "DuplicateId"], hazard="harmful")
g.invalid(6256, "event id 7 in two sets",
          message(0x0206, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                        + string("t") + array(string("s1") + array(u32(7), u32(8)), string("s2") + array(u32(9), u32(7))))),
          "limits", "duplicate_event_id", 117, "CollectTracing5.providers[0].config.tracepoints[1].event_ids[1]",
          value=user_events(0, provider(1, 2, "a", None, NO_FILTER,
                                        config("t", tracepoint_set("s1", 7, 8), tracepoint_set("s2", 9, 7)))),
          flags=["Limit", "DuplicateId"], hazard="harmful")
g.invalid(6257, "event id 7 twice in one set, with another between",
          message(0x0206, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                        + string("t") + array(string("s1") + array(u32(7), u32(8), u32(7))))),
          "limits", "duplicate_event_id", 99, "CollectTracing5.providers[0].config.tracepoints[0].event_ids[2]",
          value=user_events(0, provider(1, 2, "a", None, NO_FILTER, config("t", tracepoint_set("s1", 7, 8, 7)))),
          flags=["Limit", "DuplicateId"], hazard="harmful")

g.invalid(6258, "a default tracepoint of 600 characters",
          message(0x0206, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array() + string("t" * 600) + array())),
          "limits", "tracepoint_name_too_long", 65, "CollectTracing5.providers[0].config.default_tracepoint_name",
          value=user_events(0, provider(1, 2, "a", None, NO_FILTER, config("t" * 600))), flags=["Limit", "LongName"],
          hazard="harmful")
g.invalid(6259, "a default tracepoint of 437 characters: one byte more than a command string has room for",
          message(0x0206, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array() + string("t" * 437) + array())),
          "limits", "tracepoint_name_too_long", 65, "CollectTracing5.providers[0].config.default_tracepoint_name",
          value=user_events(0, provider(1, 2, "a", None, NO_FILTER, config("t" * 437))), flags=["Limit", "LongName"],
          hazard="harmful")
g.invalid(6260, "the second set has a name of 219 characters of two bytes each: 438; the limit is in bytes of UTF-8",
          message(0x0206, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                        + string("t") + array(string("s") + array(u32(1)), string("é" * 219) + array(u32(2))))),
          "limits", "tracepoint_name_too_long", 93, "CollectTracing5.providers[0].config.tracepoints[1].tracepoint_name",
          value=user_events(0, provider(1, 2, "a", None, NO_FILTER,
                                        config("t", tracepoint_set("s", 1), tracepoint_set("é" * 219, 2)))),
          flags=["Limit", "LongName"], hazard="harmful")
g.invalid(6261, "a set with a name of 437 bytes, and an id twice: the name is first",
          message(0x0206, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                        + string(None) + array(string("😀" * 109 + "t") + array(u32(7), u32(7))))),
          "limits", "tracepoint_name_too_long", 73, "CollectTracing5.providers[0].config.tracepoints[0].tracepoint_name",
          value=user_events(0, provider(1, 2, "a", None, NO_FILTER, config(None, tracepoint_set("😀" * 109 + "t", 7, 7)))),
          flags=["Limit", "LongName", "Order", "SurrogatePair"], hazard="harmful")
# A runtime reads a name to its first NUL (seen on net10.0.9).
g.valid(6262, "a name with a NUL inside, with 400 characters before it and 400 after it: the name ends there, so it is not too long",
        message(0x0206, u32(1), u64(0),
                array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                      + string("t" * 400 + "\0" + "t" * 400) + array())),
        user_events(0, provider(1, 2, "a", None, NO_FILTER, config("t" * 400 + "\0" + "t" * 400))), flags=["InnerNul", "LongName"],
        hazard="harmful")

g = FILE.group("eventpipe-collect-tracing5-user-events-request-refused", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing5", since="10.0", spec=["F-7", "F-8", "F-9", "F-22", "F-72", "F-74", "F-159"], made=MADE)
g.invalid(6300, "tracepoint_config left out of the only provider",
          message(0x0206, u32(1), u64(0), u32(1), u64(100), u32(2), string("MyEventSource"), string(None), boolean(False), array()),
          "payload", "unexpected_end", 89, "CollectTracing5.providers[0].config.default_tracepoint_name",
          flags=["OmittedConfig"], hazard="harmful")
g.invalid(6301, "tracepoint_config left out of a provider with a one-character name: 29 bytes are less than the smallest provider",
          message(0x0206, u32(1), u64(0), u32(1), u64(100), u32(2), string("a"), string(None), boolean(False), array()),
          "payload", "count_too_large", 32, "CollectTracing5.providers", flags=["OmittedConfig"], hazard="harmful")
g.invalid(6302, "ends after the default tracepoint, before the number of sets",
          message(0x0206, u32(1), u64(0), u32(1), u64(100), u32(2), string("a"), string(None), boolean(False), array(),
                  string("MyTracepoint")),
          "payload", "unexpected_end", 95, "CollectTracing5.providers[0].config.tracepoints", flags=["Truncated"],
          hazard="harmful")
g.invalid(6303, "two sets announced, the payload ends after the first",
          message(0x0206, u32(1), u64(0), u32(1), u64(100), u32(2), string("a"), string(None), boolean(False), array(),
                  string("t"), u32(2), string("s"), array(u32(1))),
          "payload", "unexpected_end", 93, "CollectTracing5.providers[0].config.tracepoints[1].tracepoint_name",
          flags=["Truncated"], hazard="harmful")
g.invalid(6304, "4294967295 sets announced, one there",
          message(0x0206, u32(1), u64(0), u32(1), u64(100), u32(2), string("a"), string(None), boolean(False), array(),
                  string("t"), u32(0xFFFFFFFF), string("s"), array(u32(1))),
          "payload", "count_too_large", 73, "CollectTracing5.providers[0].config.tracepoints", flags=["HugeCount", "MaxValue"],
          hazard="harmful")
g.invalid(6305, "536870914 sets: times 8 is 16 in 32 bits",
          message(0x0206, u32(1), u64(0), u32(1), u64(100), u32(2), string("a"), string(None), boolean(False), array(),
                  string("t"), u32(0x20000002), string("s"), array(u32(1))),
          "payload", "count_too_large", 73, "CollectTracing5.providers[0].config.tracepoints",
          flags=["HugeCount", "Wraparound"], hazard="harmful")
g.invalid(6311, "357913942 sets: times 12, the bytes of a set in a runtime of 32 bits, is 8 in 32 bits",
          message(0x0206, u32(1), u64(0), u32(1), u64(100), u32(2), string("a"), string(None), boolean(False), array(),
                  string("t"), u32(0x15555556), string("s"), array(u32(1))),
          "payload", "count_too_large", 73, "CollectTracing5.providers[0].config.tracepoints",
          flags=["HugeCount", "Wraparound"], hazard="harmful")
g.invalid(6306, "1073741825 event ids in a set, whose bytes are 4 in 32 bits: not one id",
          message(0x0206, u32(1), u64(0), u32(1), u64(100), u32(2), string("a"), string(None), boolean(False), array(),
                  string("t"), u32(1), string("s"), u32(0x40000001), u32(1)),
          "payload", "count_too_large", 85, "CollectTracing5.providers[0].config.tracepoints[0].event_ids",
          flags=["HugeCount", "Wraparound"], hazard="harmful")
g.invalid(6307, "default tracepoint of 2147483648 units, whose bytes are 0 in 32 bits: not an absent name",
          message(0x0206, u32(1), u64(0), u32(1), u64(100), u32(2), string("a"), string(None), boolean(False), array(),
                  u32(0x80000000), array(string("s") + array(u32(1)))),
          "payload", "count_too_large", 65, "CollectTracing5.providers[0].config.default_tracepoint_name",
          flags=["HugeCount", "Wraparound"], hazard="harmful")
g.invalid(6308, "name of a set without its NUL",
          message(0x0206, u32(1), u64(0), u32(1), u64(100), u32(2), string("a"), string(None), boolean(False), array(),
                  string("t"), u32(1), u32(3), utf16("abc"), array(u32(1))),
          "payload", "missing_terminator", 85, "CollectTracing5.providers[0].config.tracepoints[0].tracepoint_name",
          flags=["MissingTerminator"], hazard="harmful")
g.invalid(6309, "requestStackwalk before the providers: user_events has none",
          message(0x0206, u32(1), u64(0), boolean(False),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array() + string("t") + array())),
          "payload", "count_too_large", 32, "CollectTracing5.providers", flags=["WrongSession"], hazard="harmful")
g.invalid(6310, "session_type 1 before the fields of a streaming session: the rundown keyword is read as the number of providers",
          message(0x0206, u32(1), u32(250), u32(1), u64(0x80020139), boolean(True),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array() + string("t") + array())),
          "payload", "count_too_large", 32, "CollectTracing5.providers", flags=["WrongSession"], hazard="harmful")

g = FILE.group("eventpipe-collect-tracing5-reply", type="reply", source="derived", direction="server",
               command="EventPipe/CollectTracing5", since="10.0", spec=["F-2", "F-4"], made=MADE)
LITERAL = hexa("444f544e45545f4950435f563100 1c00 ff 00 0000  0100000000000000")
assert LITERAL == message(OK, u64(1))
g.valid(6350, "session id 1; for a user_events session it is sent after the file descriptor was read", LITERAL, {"sessionId": "1"},
        flags=["Minimal", "Literal"])
g.valid(6351, "the largest session id", message(OK, u64(MAX64)), {"sessionId": "18446744073709551615"}, flags=["MaxValue"])
g.lenient(6352, "the generic OK of 20 bytes, without a session id", message(OK), {}, flags=["GenericOk"], canonical=True)
g.lenient(6353, "four bytes inside `size` after the session id are ignored", message(OK, u64(1), u32(0)), {"sessionId": "1"},
          flags=["TrailingBytes"])
g.invalid(6354, "24 bytes: four payload bytes are not a session id", message(OK, u32(1)), "payload", "unexpected_end", 20,
          "CollectTracing5.sessionId", flags=["Truncated"])

# --- CollectTracing6 -----------------------------------------------------------------------------------------------
g = FILE.group("eventpipe-collect-tracing6-streaming-request", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing6", since="11.0", spec=["F-4", "F-30"], made=MADE6)
g.valid(6400, "smallest: sessionBufferMode 0 (drop) after one provider",
        message(0x0207, u32(0), u32(1), u32(0), u64(0), boolean(False),
                array(u64(0) + u32(0) + string("a") + string(None) + boolean(False) + array()), u32(0)),
        {**streaming(1, 0, 0, False, provider(0, 0, "a", None, NO_FILTER)), "sessionBufferMode": 0},
        flags=["Minimal", "AbsentString"])
LITERAL = hexa("""444f544e45545f4950435f563100 6000 02 07 0000
                  00000000 00010000 01000000 3901028000000000 01 01000000
                  0807060504030201 04000000 03000000 410062000000 04000000 6b003d0076000000
                  00 02000000 04000000 05000000
                  01000000""")
assert LITERAL == message(0x0207, u32(0), u32(256), u32(1), u64(0x80020139), boolean(True),
                          array(u64(0x0102030405060708) + u32(4) + string("Ab") + string("k=v")
                                + boolean(False) + array(u32(4), u32(5))), u32(1))
g.valid(6401, "sessionBufferMode 1 (block)", LITERAL,
        {**streaming(256, 1, 0x80020139, True, provider(0x0102030405060708, 4, "Ab", "k=v", event_filter(False, 4, 5))),
         "sessionBufferMode": 1}, flags=["Literal"])
g.valid(6402, "two providers, then the mode once for the session and not once a provider",
        message(0x0207, u32(0), u32(250), u32(1), u64(MAX64), boolean(True), array(
            u64(MAX64) + u32(5) + string("Microsoft-Windows-DotNETRuntime") + string(None) + boolean(True) + array(u32(1), u32(2)),
            u64(1) + u32(4) + string("Größe-😀") + string("k=日本") + boolean(True) + array()), u32(1)),
        {**streaming(250, 1, MAX64, True,
                     provider(MAX64, 5, "Microsoft-Windows-DotNETRuntime", None, event_filter(True, 1, 2)),
                     provider(1, 4, "Größe-😀", "k=日本", event_filter(True))), "sessionBufferMode": 1},
        flags=["Full", "SurrogatePair", "MaxValue", "AbsentString"])
g.lenient(6403, "four bytes after the mode are ignored",
          message(0x0207, u32(0), u32(250), u32(1), u64(0), boolean(False),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()), u32(1), u32(2)),
          {**streaming(250, 1, 0, False, provider(1, 2, "a", None, NO_FILTER)), "sessionBufferMode": 1},
          flags=["TrailingBytes"])

g = FILE.group("eventpipe-collect-tracing6-streaming-request-refused", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing6", since="11.0", spec=["F-18", "F-30", "F-74"], made=MADE6)
g.invalid(6450, "sessionBufferMode 2",
          message(0x0207, u32(0), u32(250), u32(1), u64(0), boolean(False),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()), u32(2)),
          "limits", "unknown_buffer_mode", 74, "CollectTracing6.sessionBufferMode",
          value={**streaming(250, 1, 0, False, provider(1, 2, "a", None, NO_FILTER)), "sessionBufferMode": 2},
          flags=["Limit", "UnknownValue"], hazard="harmful")
g.invalid(6451, "no sessionBufferMode: the payload of CollectTracing5 under this command",
          message(0x0207, u32(0), u32(250), u32(1), u64(0), boolean(False),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array())),
          "payload", "unexpected_end", 74, "CollectTracing6.sessionBufferMode", flags=["WrongCommand"], hazard="harmful")
g.invalid(6452, "sessionBufferMode sent as one byte",
          message(0x0207, u32(0), u32(250), u32(1), u64(0), boolean(False),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()), u8(1)),
          "payload", "unexpected_end", 74, "CollectTracing6.sessionBufferMode", flags=["Truncated", "ClientFault"],
          hazard="harmful")
g.invalid(6453, "sessionBufferMode before the providers instead of after them",
          message(0x0207, u32(0), u32(250), u32(1), u64(0), boolean(False), u32(1),
                  array(u64(100) + u32(2) + string("MyEventSource") + string(None) + boolean(False) + array())),
          "payload", "count_too_large", 65, "CollectTracing6.providers[0].arguments", flags=["ClientFault"], hazard="harmful")
g.invalid(6454, "session_type 2",
          message(0x0207, u32(2), u32(250), u32(1), u64(0), boolean(False),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()), u32(0)),
          "payload", "unknown_session_type", 20, "CollectTracing6.session_type", flags=["UnknownValue"], hazard="harmful")

g = FILE.group("eventpipe-collect-tracing6-user-events-request", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing6", since="11.0", spec=["F-4", "F-30", "F-75"], made=MADE6)
g.valid(6500, "user_events has no sessionBufferMode: the payload ends with the last set",
        message(0x0207, u32(1), u64(0),
                array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                      + string("t") + array(string("s") + array(u32(7))))),
        user_events(0, provider(1, 2, "a", None, NO_FILTER, config("t", tracepoint_set("s", 7)))), flags=["Minimal"],
        hazard="harmful")
g.lenient(6501, "a sessionBufferMode after user_events is bytes after the last field, even with a mode that does not exist",
          message(0x0207, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array() + string("t") + array()), u32(2)),
          user_events(0, provider(1, 2, "a", None, NO_FILTER, config("t"))), flags=["TrailingBytes"], hazard="harmful")

g = FILE.group("eventpipe-collect-tracing6-user-events-request-limits", type="request", source="derived", direction="client",
               command="EventPipe/CollectTracing6", since="11.0", spec=["P-19", "F-16", "F-21", "F-72", "F-74", "F-75"], made=MADE6)
g.invalid(6550, "event id 7 in two sets",
          message(0x0207, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array()
                        + string(None) + array(string("s") + array(u32(7)), string("t") + array(u32(7))))),
          "limits", "duplicate_event_id", 101, "CollectTracing6.providers[0].config.tracepoints[1].event_ids[0]",
          value=user_events(0, provider(1, 2, "a", None, NO_FILTER,
                                        config(None, tracepoint_set("s", 7), tracepoint_set("t", 7)))),
          flags=["Limit", "DuplicateId"], hazard="harmful")

g.invalid(6551, "a default tracepoint of 437 characters: one byte more than a command string has room for",
          message(0x0207, u32(1), u64(0),
                  array(u64(1) + u32(2) + string("a") + string(None) + boolean(False) + array() + string("t" * 437) + array())),
          "limits", "tracepoint_name_too_long", 65, "CollectTracing6.providers[0].config.default_tracepoint_name",
          value=user_events(0, provider(1, 2, "a", None, NO_FILTER, config("t" * 437))), flags=["Limit", "LongName"],
          hazard="harmful")

g = FILE.group("eventpipe-collect-tracing6-reply", type="reply", source="derived", direction="server",
               command="EventPipe/CollectTracing6", since="11.0", spec=["F-2"], made=MADE)
g.valid(6590, "session id 1", message(OK, u64(1)), {"sessionId": "1"}, flags=["Minimal"])
g.invalid(6591, "24 bytes: four payload bytes are not a session id", message(OK, u32(1)), "payload", "unexpected_end", 20,
          "CollectTracing6.sessionId", flags=["Truncated"])
