"""vectors/exchanges/eventpipe.json: streaming sessions, their streams and their stops."""
from notation import array, boolean, header, message, string, u32, u64
from script import (END_OF_NETTRACE, IN_TURN, BAD_ENCODING, E_FAIL, UNKNOWN_COMMAND, ScriptFile, alive, answers, any_error, close, deviation, drain, ended, error, event,
                    expect, expect_any_of, half_close, nettrace, no_event, nothing, open_, process_info2_reply, same, send, session, succeeded, target, wait, anything, ok_head)

FILE = ScriptFile("eventpipe", "Streaming sessions, played against a runtime", 20200, 20299)
STOP, C1, C2, C3, C4, C5, C6 = 0x0201, 0x0202, 0x0203, 0x0204, 0x0205, 0x0206, 0x0207
INFO2, RESUME = 0x0404, 0x0401
NETPERF = u32(20) + b"!FastSerialization.1"
END_OF_OBJECTS = b"\x01"  # the NullReferenceTag with which netperf ends, if it is complete

# A provider that does not exist: the stream has only its head, and nothing follows until the stop.
QUIET = u64(0) + u32(4) + string("No-Such-Provider") + string(None)
# The runtime itself: loader and JIT at level 5. With its rundown the stream is far longer than a socket holds.
BUSY = u64(0x18) + u32(5) + string("Microsoft-Windows-DotNETRuntime") + string(None)
NO_FILTER = boolean(False) + u32(0)


def collect2(provider=QUIET, megabytes=1, form=1, rundown=False):
    return message(C2, u32(megabytes), u32(form), boolean(rundown), array(provider))


def begun(on, request, name="session", head=None):
    """Expects the session, and the start of its stream directly after the reply: nettrace without `head`."""
    came = expect(on, session(name), head) if head else expect_any_of(on, *nettrace(*session(name)))
    return [open_(on), send(on, request), came]


def stopped(on, name="session", within=None):
    """Sends StopTracing on a separate connection; the reply has the same id."""
    return [open_(on), send(on, header(STOP, 28), same(name)), expect(on, ok_head(8), same(name), within=within), ended(on)]


def whole(request, head=None, last=END_OF_NETTRACE):
    return [begun("a", request, head=head), drain("a"), stopped("b"), ended("a", last=last)]


# --- each command --------------------------------------------------------------------------------------------------
FLOW = ["R-FLW-007", "R-FLW-009", "R-FLW-010", "R-EVP-014", "R-EVP-017", "R-EVP-018", "R-EVP-060", "R-EVP-063", "R-EVP-064"]
FILE.client(20200, "collect-tracing",
            "A session by CollectTracing: reply and stream on one connection, the stop on another, and the end", since="3.0",
            spec=["R-EVP-001", "R-EVP-002", "R-EVP-012", "R-EVP-013", "R-EVP-016", *FLOW],
            steps=whole(message(C1, u32(1), u32(1), array(QUIET))))
FILE.client(20201, "collect-tracing2", "A session by CollectTracing2", since="3.0",
            spec=["R-EVP-020", "R-EVP-021", "R-EVP-026", "R-EVP-027", *FLOW],
            steps=whole(collect2()))
FILE.client(20202, "collect-tracing3", "A session by CollectTracing3, code 0x0204", since="9.0",
            spec=["F-14", "R-EVP-028", "R-EVP-029", "R-EVP-032", "R-EVP-033", *FLOW],
            steps=whole(message(C3, u32(1), u32(1), boolean(False), boolean(False), array(QUIET))))
FILE.client(20203, "collect-tracing4", "A session by CollectTracing4, with requestStackwalk", since="9.0",
            spec=["F-15", "R-EVP-034", "R-EVP-035", "R-EVP-036", "R-EVP-040", "R-EVP-041", *FLOW],
            steps=whole(message(C4, u32(1), u32(1), u64(0), boolean(False), array(QUIET))))
FILE.client(20204, "collect-tracing5", "A streaming session by CollectTracing5, with an empty filter", since="10.0",
            spec=["F-17", "R-EVP-043", "R-EVP-045", "R-EVP-050", "R-EVP-054", "R-EVP-055", *FLOW],
            steps=whole(message(C5, u32(0), u32(1), u32(1), u64(0), boolean(False), array(QUIET + NO_FILTER))))
FILE.client(20205, "collect-tracing5-filters", "Two providers with arguments and filters of event ids", since="10.0",
            spec=["R-FLT-001", "R-EVP-048", "R-EVP-049"],
            steps=whole(message(C5, u32(0), u32(1), u32(1), u64(0), boolean(True), array(
                u64(1) + u32(5) + string("No-Such-Provider") + string("Key=Value") + boolean(True) + array(u32(1), u32(2), u32(3)),
                u64(2) + u32(0) + string("No-Such-Other") + string("") + boolean(False) + array(u32(4))))))
FILE.client(20206, "collect-tracing6-or-unknown",
            "CollectTracing6 on any runtime: a session, or UNKNOWN_COMMAND from all up to .NET 10",
            spec=["F-30", "F-68", "R-ERR-009"],
            steps=[open_("a"), send("a", message(C6, u32(0), u32(1), u32(1), u64(0), boolean(False), array(QUIET + NO_FILTER),
                                                 u32(0))),
                   expect_any_of("a", *nettrace(*session()), ("older", [error(UNKNOWN_COMMAND)])), close("a"),
                   answers()])
FILE.client(20207, "collect-tracing5-or-unknown", "CollectTracing5 on any runtime: a session, or UNKNOWN_COMMAND and the end",
            spec=["F-68", "R-EVP-059"],
            steps=[open_("a"), send("a", message(C5, u32(0), u32(1), u32(1), u64(0), boolean(False), array(QUIET + NO_FILTER))),
                   expect_any_of("a", *nettrace(*session()), ("older", [error(UNKNOWN_COMMAND)])), close("a"),
                   answers()])
FILE.client(20208, "collect-tracing3-or-unknown", "CollectTracing3 on any runtime: a session, or UNKNOWN_COMMAND and the end",
            spec=["F-68"],
            steps=[open_("a"), send("a", message(C3, u32(1), u32(1), boolean(False), boolean(False), array(QUIET))),
                   expect_any_of("a", *nettrace(*session()), ("older", [error(UNKNOWN_COMMAND)])), close("a"),
                   answers()])
FILE.client(20209, "netperf", "A session with format 0: the stream is netperf", since="3.0",
            needs=target(wants=["netperf"]), spec=["R-EVP-004", "R-EVP-015", "R-FLW-008"],
            steps=whole(collect2(form=0), head=NETPERF, last=END_OF_OBJECTS))
FILE.client(20210, "rundown",
            "A session of the runtime's own provider, with its rundown: the stop's reply is sent after it, the stream is complete",
            since="3.0", spec=["F-76", "R-EVP-018", "R-EVP-022"],
            steps=[begun("a", collect2(BUSY, 64, rundown=True)), drain("a"), stopped("b", within=20000),
                   ended("a", last=END_OF_NETTRACE, within=20000)])
FILE.client(20211, "session-while-suspended",
            "A session begins while the runtime is suspended: the reply is sent at once, the events only when the runtime resumes",
            since="5.0", hazard="side-effect",
            needs=target(suspended=True), spec=["R-PRC-013", "R-EVP-014"],
            steps=[open_("a"), send("a", collect2(BUSY, 16)), expect("a", session()), no_event("a"), open_("b"),
                   send("b", message(RESUME)), succeeded("b"), ended("b"),
                   expect_any_of("a", *nettrace()), event("a"), drain("a"), wait(500), stopped("c", within=20000),
                   ended("a", last=END_OF_NETTRACE, within=20000)])

# --- which events are written --------------------------------------------------------------------------------------
# Every keyword at every level, of the runtime itself and of its samples of threads, which CoreCLR writes all the time.
EVERYTHING = [u64(2 ** 64 - 1) + u32(5) + string(name) + string(None)
              for name in ("Microsoft-Windows-DotNETRuntime", "Microsoft-DotNETCore-SampleProfiler")]


def filtered(enable, *ids):
    """Returns CollectTracing5 for everything, through one filter; the player compares each event of the stream with the request."""
    return message(C5, u32(0), u32(16), u32(1), u64(0), boolean(False),
                   array(*[provider + boolean(enable) + array(*map(u32, ids)) for provider in EVERYTHING]))


def watched(request):
    """Returns the steps of a session of a second. A request for process information makes the runtime run its own code."""
    return [begun("a", request), drain("a"), answers(), wait(1000), stopped("b", within=20000), ended("a", last=END_OF_NETTRACE, within=20000)]


FILE.client(20235, "filter-lets-nothing-through", "An event_filter with enable 1 and no ids: the stream has no event", since="10.0",
            spec=["R-FLT-002", "R-FLT-003", "R-FLT-016"], steps=watched(filtered(True)))
FILE.client(20236, "filter-lets-only-its-ids-through", "An event_filter with enable 1 and two ids: the stream has only these events",
            since="10.0", spec=["R-FLT-002", "R-FLT-003", "R-FLT-017"], steps=watched(filtered(True, 85, 145)))
FILE.client(20237, "filter-turns-its-ids-off", "An event_filter with enable 0 and ids: the stream has none of these events", since="10.0",
            spec=["R-FLT-002", "R-FLT-003", "R-FLT-015"], steps=watched(filtered(False, 0, *range(80, 86), *range(143, 146), 187)))
FILE.client(20238, "keywords-and-level-limit-the-events", "One keyword at level 4: the stream has only events with that keyword or none, up to that level",
            since="3.0", spec=["R-EVP-011"],
            steps=watched(collect2(u64(1) + u32(4) + string("Microsoft-Windows-DotNETRuntime") + string(None), 16)))

# --- stops ---------------------------------------------------------------------------------------------------------
for sc, name, session_id in ((20220, "unknown", 0x1122334455667788), (20221, "zero", 0), (20222, "largest", 2 ** 64 - 1)):
    FILE.client(sc, f"stop-id-{name}", f"StopTracing of id {session_id:#x}, which no session has: OK with the same id",
                spec=["F-31", "R-EVP-061", "R-EVP-064"], habit="F-31",
                steps=[open_("a"), send("a", message(STOP, u64(session_id))), expect("a", message(0xFF00, u64(session_id))),
                       ended("a")])
FILE.client(20223, "stop-twice", "The second stop of a session is like one of an unknown id", since="3.0", spec=["F-31"], habit="F-31",
            steps=[whole(collect2()), stopped("c")])
FILE.client(20224, "two-sessions", "Two sessions have two ids; the stop of one does not affect the other", since="3.0",
            spec=["R-EVP-062", "F-32"],
            steps=[begun("a", collect2(), "first"),
                   open_("b"), send("b", collect2()),
                   expect_any_of("b", *nettrace(ok_head(8), anything(8, "second", [u64(0), same("first")]))),
                   drain("a"), drain("b"), stopped("c", "first"), ended("a", last=END_OF_NETTRACE), nothing("b", 500),
                   stopped("d", "second"), ended("b", last=END_OF_NETTRACE)])
FILE.client(20225, "stop-on-the-streaming-connection",
            "StopTracing on the connection that streams is ignored; only one on another connection stops", since="3.0",
            spec=["F-76", "R-FLW-010"], habit="F-76",
            steps=[begun("a", collect2()), drain("a"), send("a", header(STOP, 28), same("session")), wait(500), send("a", b"\0"),
                   stopped("b"),
                   ended("a", "any", last=END_OF_NETTRACE)])
FILE.client(20226, "half-close-of-the-stream",
            "A half-close of the streaming connection is not an end: the stream continues until the stop", since="3.0", spec=["F-76"], habit="F-76",
            steps=[begun("a", collect2()), half_close("a"), drain("a"), wait(500), stopped("b"), ended("a", last=END_OF_NETTRACE)])
FILE.client(20227, "stop-waits-for-a-stream-that-nobody-reads",
            "The stop's reply waits until the stream is read; so do all other clients",
            since="6.0", needs=IN_TURN, habit="F-75", spec=["F-31", "F-75", "R-ERR-004"],
            steps=[begun("a", collect2(BUSY, 64, rundown=True)), open_("b"), send("b", header(STOP, 28), same("session")),
                   nothing("b", 1000),
                   open_("c"), send("c", message(INFO2)), nothing("c", 300), drain("a"),
                   expect("b", ok_head(8), same("session"), within=20000),
                   ended("b"), expect("c", process_info2_reply()), ended("c"), ended("a", last=END_OF_NETTRACE, within=20000)],
            deviations=[deviation("F-104", "there is no rundown: an idle program has buffered less than the socket holds, and the stop's reply is sent at once", 5,
                                  expect("b", ok_head(8), same("session")), ended("b"), drain("a"), ended("a", last=END_OF_NETTRACE))])
FILE.client(20228, "stream-closed-by-the-client", "A client that closes the streaming connection does not affect the runtime",
            since="6.0",
            spec=["R-ERR-002", "F-31"], steps=[begun("a", collect2()), close("a"), answers(), stopped("b")])
FILE.client(20229, "streaming-connection-is-silent-and-open", "Between two blocks of events neither a byte nor the end arrives",
            since="3.0",
            spec=["R-EVP-017"], steps=[begun("a", collect2()), drain("a"), wait(1000), stopped("b"),
                                       ended("a", last=END_OF_NETTRACE)])
FILE.client(20230, "stop-while-suspended",
            "A session that is started and stopped while the runtime is suspended has a stream that ends", since="5.0",
            hazard="harmful",
            needs=target(suspended=True), spec=["F-160", "R-EVP-062"],
            steps=[open_("a"), send("a", collect2()), expect("a", session()), drain("a"), stopped("b"), ended("a")])
FILE.client(20233, "session-ids-after-a-stop", "Of two sessions one is stopped: a third has another id than the one that runs", since="3.0",
            spec=["F-143", "R-EVP-013", "R-EVP-062"],
            steps=[begun("a", collect2(), "first"), drain("a"), begun("b", collect2(), "second"), drain("b"),
                   stopped("c", "first"), ended("a", last=END_OF_NETTRACE), open_("d"), send("d", collect2()),
                   expect_any_of("d", *nettrace(ok_head(8), anything(8, "third", [u64(0), same("second")]))), drain("d"), nothing("b"),
                   stopped("e", "second"), ended("b", last=END_OF_NETTRACE), nothing("d"), stopped("f", "third"),
                   ended("d", last=END_OF_NETTRACE)])
FILE.client(20234, "stop-of-an-unknown-id-beside-a-session", "StopTracing of an id that no session has ends no other session", since="3.0",
            spec=["F-31", "R-EVP-062"],
            steps=[begun("a", collect2()), drain("a"), open_("b"), send("b", message(STOP, u64(0x1122334455667788))),
                   expect_any_of("b", ("taken", [message(0xFF00, u64(0x1122334455667788))]), ("refused", any_error())), ended("b"),
                   nothing("a", 500), stopped("c"), ended("a", last=END_OF_NETTRACE)])
LIMIT = 64
FILE.client(20231, "sessions-are-64", "The 65th session is refused with FAIL; once one has ended, a new one can start", since="3.0",
            hazard="harmful",
            spec=["F-32", "R-ERR-017"], habit="F-32",
            steps=[[begun(f"s{n}", collect2(), f"id{n}") for n in range(LIMIT)],
                   open_("over"), send("over", collect2()), expect("over", error(E_FAIL)), close("over"),
                   drain("s7"), stopped("stop", "id7"), ended("s7"), begun("again", collect2(), "id_again"), alive()])
SOME_SESSIONS = LIMIT + 2
FILE.client(20232, "sessions-one-after-another",
            "66 sessions, each stopped before the next begins: the last fails if one is not released", since="3.0",
            hazard="harmful", spec=["F-32", "R-EVP-017", "R-EVP-062"],
            steps=[[begun(f"s{n}", collect2(), f"id{n}"), drain(f"s{n}"), stopped(f"t{n}", f"id{n}"),
                    ended(f"s{n}", last=END_OF_NETTRACE)] for n in range(SOME_SESSIONS)])

# --- requests that are refused -------------------------------------------------------------------------------------
STILL_OPEN = [nothing("a"), answers()]


def refused(sc, name, comment, request, since, spec):
    FILE.client(sc, name, comment + ": the error, and the end", since=since, hazard="harmful",
                spec=["F-5", "F-74", "R-ERR-002", "R-ERR-008", *spec],
                steps=[open_("a"), send("a", request), expect("a", error(BAD_ENCODING)), ended("a"), answers()],
                deviations=[deviation("F-74", "the connection stays open, and costs one descriptor", 3, STILL_OPEN)])


BAD_LEVEL = u64(0) + u32(6) + string("No-Such-Provider") + string(None)
NAMELESS = u64(0) + u32(4) + string("") + string(None)
refused(20240, "collect-tracing-bad-level", "CollectTracing with level 6", message(C1, u32(1), u32(1), array(BAD_LEVEL)), "3.0",
        ["F-16", "R-EVP-009"])
refused(20241, "collect-tracing2-bad-level", "CollectTracing2 with level 6", collect2(BAD_LEVEL), "3.0", ["F-16", "R-EVP-009"])
refused(20242, "collect-tracing2-nameless", "CollectTracing2 with an empty provider name", collect2(NAMELESS), "3.0",
        ["F-16", "R-EVP-010"])
refused(20243, "collect-tracing2-no-providers", "CollectTracing2 without providers",
        message(C2, u32(1), u32(1), boolean(False), array()), "3.0",
        ["F-16", "R-EVP-005"])
refused(20244, "collect-tracing3-bad-level", "CollectTracing3 with level 6",
        message(C3, u32(1), u32(1), boolean(False), boolean(False), array(BAD_LEVEL)),
        "9.0", ["F-16", "R-EVP-031"])
refused(20245, "collect-tracing4-bad-level", "CollectTracing4 with level 6",
        message(C4, u32(1), u32(1), u64(0), boolean(False), array(BAD_LEVEL)),
        "9.0", ["F-16", "R-EVP-039"])
refused(20246, "collect-tracing5-bad-level", "CollectTracing5 with level 6",
        message(C5, u32(0), u32(1), u32(1), u64(0), boolean(False), array(BAD_LEVEL + NO_FILTER)), "10.0", ["F-16", "R-EVP-053"])
refused(20247, "collect-tracing5-session-type-2", "CollectTracing5 with session_type 2",
        message(C5, u32(2), u32(1), u32(1), u64(0), boolean(False), array(QUIET + NO_FILTER)), "10.0", ["F-18", "R-EVP-044"])
refused(20248, "collect-tracing5-no-buffer", "CollectTracing5 with a buffer of 0 MB",
        message(C5, u32(0), u32(0), u32(1), u64(0), boolean(False), array(QUIET + NO_FILTER)), "10.0", ["F-16", "R-EVP-046"])
refused(20249, "collect-tracing5-format-2", "CollectTracing5 with format 2",
        message(C5, u32(0), u32(1), u32(2), u64(0), boolean(False), array(QUIET + NO_FILTER)), "10.0", ["F-16", "R-EVP-047"])
