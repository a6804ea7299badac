"""vectors/exchanges/streams.json: sessions, their streams and their stops, as a client meets them."""
from answers import (COLLECT, COLLECT2, COLLECT2_VALUE, COLLECT3_VALUE, COLLECT_USER, COLLECT_USER_VALUE, COLLECT_VALUE, FILTER, FILTER_VALUE,
                     GENERIC_OK,
                     answered, ask, collect3,
                     collect4, collect4_value, collect5, collect5_value, collect6, collect6_value, error_is, left_open, malformed,
                     no_reply, ok, session_ok, stop)
from nettrace import FILLER, HEAD, TAIL, ZEROS
from notation import header, message, u32, u64
from script import (BAD_ENCODING, E_FAIL, ScriptFile, accept, anything, close, ended, error, expect, half_close, no_connection,
                    nothing, repeated, reset, send, wait)

FILE = ScriptFile("streams", "Sessions, played to a client", 21200, 21279, further=(21600, 21679))
WHOLE = len(HEAD) + len(TAIL)
ID, OTHER = 42, 43


def script(sc, name, comment, spec, steps, outcome, command="CollectTracing2", value=None, since="3.0", client=None, **keys):
    FILE.runtime(sc, name, comment, spec=spec, ask=ask(f"EventPipe/{command}", value or COLLECT2_VALUE, **keys), steps=steps,
                 outcome=outcome, since=since, client=client)


def stream(sent, end, stopped="not_sent", session_id=ID):
    return ok({"sessionId": str(session_id)}, "stream", stream={"bytes": sent, "end": end}, stop=stopped)


def begun(request=COLLECT2, session_id=ID, head=HEAD):
    return [accept("a"), expect("a", request), send("a", session_ok(session_id)), send("a", head)]


def stop_asked(session_id=ID):
    return [accept("b"), expect("b", stop(session_id))]


AFTER = {"stop_after": len(HEAD)}
FLOW = ["F-76", "R-FLW-007", "R-FLW-010", "R-EVP-014", "R-EVP-018"]
REST = [*stop_asked(), send("a", TAIL), send("b", session_ok(ID)), close("b"), close("a")]
COMPLETE = stream(WHOLE, "complete", "ok")

# --- each command, stopped as it should be -------------------------------------------------------------------------
ITSELF = {"others": "none"}
script(21600, "session-collect-tracing", "CollectTracing: reply, stream, the stop on a second connection, the rest, the end",
       ["R-EVP-001", *FLOW],
       [begun(COLLECT), REST], COMPLETE, "CollectTracing", COLLECT_VALUE, client=ITSELF, **AFTER)
script(21601, "session-collect-tracing2", "The same with CollectTracing2", ["R-EVP-020", *FLOW], [begun(), REST], COMPLETE, client=ITSELF, **AFTER)
# Each request needs this command, so a client that uses the oldest sufficient command must use it.
script(21645, "session-collect-tracing3", "The same with CollectTracing3, and no stacks", ["F-14", "R-EVP-028", "R-EVP-030", *FLOW],
       [begun(collect3(stacks=False)), REST], COMPLETE, "CollectTracing3", {**COLLECT3_VALUE, "requestStackwalk": False}, "9.0",
       client=ITSELF, **AFTER)
script(21646, "session-collect-tracing4", "The same with CollectTracing4, and a rundown of its own", ["F-15", "R-EVP-034", "R-EVP-036", *FLOW],
       [begun(collect4(0x10)), REST], COMPLETE, "CollectTracing4", collect4_value(0x10), "9.0", client=ITSELF, **AFTER)
script(21647, "session-collect-tracing5", "The same with CollectTracing5, and one event of the provider", ["F-17", "R-EVP-043", "R-EVP-048", *FLOW],
       [begun(collect5(event_filter=FILTER)), REST], COMPLETE, "CollectTracing5", collect5_value(event_filter=FILTER_VALUE), "10.0",
       client=ITSELF, **AFTER)
script(21648, "session-collect-tracing6", "The same with CollectTracing6, which blocks where its buffer is full", ["F-30", *FLOW],
       [begun(collect6(1)), REST], COMPLETE, "CollectTracing6", collect6_value(1), "11.0", client=ITSELF, **AFTER)

# --- orders and ends -----------------------------------------------------------------------------------------------
script(21610, "stop-reply-before-the-end", "The stop's reply arrives, and the stream ends after it", FLOW,
       [begun(), stop_asked(), send("a", TAIL), send("b", session_ok(ID)), close("b"), wait(300), close("a")], COMPLETE, **AFTER)
script(21611, "stop-reply-after-the-end", "The stream ends, and the stop's reply arrives after it", FLOW,
       [begun(), stop_asked(), send("a", TAIL), close("a"), wait(300), send("b", session_ok(ID)), close("b")], COMPLETE, **AFTER)
script(21612, "stop-reply-before-the-rest", "The stop's reply arrives, then the rest of the stream: it is read to its end",
       [*FLOW, "R-EVP-017"],
       [begun(), stop_asked(), send("b", session_ok(ID)), close("b"), wait(300), send("a", TAIL), close("a")], COMPLETE, **AFTER)
script(21613, "stream-is-read-while-the-stop-waits",
       "The stop is answered only after a long stream was read: a client that waits for that reply first waits forever",
       ["F-31", "F-75", "R-EVP-017"],
       [begun(), stop_asked(), send("a", FILLER), [send("a", repeated(b"\0", 65535)) for _ in range(15)],
        send("a", repeated(b"\0", ZEROS - 15 * 65535)), send("a", b"\6", TAIL), send("b", session_ok(ID)), close("b"), close("a")],
       stream(WHOLE + len(FILLER) + ZEROS + 1, "complete", "ok"), client={"reveals": "stop-without-reading"}, **AFTER)
script(21614, "reply-and-stream-in-one-write", "The reply and the first bytes of the stream in one write: none of them is lost",
       ["R-EVP-014", "R-HDR-016"],
       [accept("a"), expect("a", COLLECT2), send("a", session_ok(ID), HEAD), REST], COMPLETE, **AFTER)
script(21615, "session-in-bytes", "Reply and the front of the stream arrive byte by byte", ["R-EVP-014"],
       [accept("a"), expect("a", COLLECT2), send("a", session_ok(ID), HEAD, chunks=[1] * 60 + [len(HEAD) - 32]), REST], COMPLETE,
       **AFTER)
script(21617, "largest-session-id", "A session whose id has all 64 bits", ["R-EVP-013", "R-EVP-061"],
       [begun(session_id=2 ** 64 - 1), stop_asked(2 ** 64 - 1), send("a", TAIL), send("b", session_ok(2 ** 64 - 1)), close("b"),
        close("a")], stream(WHOLE, "complete", "ok", 2 ** 64 - 1), **AFTER)
script(21618, "half-closed-stream", "The runtime ends only its sending side: that is the end of the stream", ["R-EVP-017"],
       [begun(), stop_asked(), send("a", TAIL), half_close("a"), send("b", session_ok(ID)), close("b")], COMPLETE, **AFTER)
script(21619, "no-second-stop", "A session is stopped once, by one connection", ["R-FLW-010"],
       [begun(), stop_asked(), no_connection(500), send("a", TAIL), send("b", session_ok(ID)), close("b"), close("a")], COMPLETE,
       **AFTER)

# --- streams that are not whole ------------------------------------------------------------------------------------
script(21620, "stream-without-a-stop", "The stream ends without a stop: it is incomplete", ["R-EVP-019"],
       [begun(), close("a")], stream(len(HEAD), "incomplete"))
script(21621, "stream-ends-before-the-stop", "The target ends before the client's stop: no stop is sent",
       ["R-EVP-019"],
       [begun(), close("a"), no_connection(500)], stream(len(HEAD), "incomplete"), stop_after=1000)
script(21622, "stream-reset", "The connection is reset inside the stream", ["R-EVP-019", "R-ERR-003"],
       [accept("a"), expect("a", COLLECT2[:-1]), send("a", session_ok(ID)), send("a", HEAD), reset("a")],
       stream(len(HEAD), "incomplete"))
script(21623, "stream-reset-behind-the-stop", "The connection is reset before the rest of the stream",
       ["R-EVP-019", "R-ERR-003"],
       [accept("a"), expect("a", COLLECT2[:-1]), send("a", session_ok(ID)), send("a", HEAD), stop_asked(),
        send("b", session_ok(ID)), close("b"), reset("a")],
       stream(len(HEAD), "incomplete", "ok"), **AFTER)
script(21624, "stream-over-the-limit", "More bytes than the client accepts: it closes", ["R-EVP-017"],
       [begun(), send("a", TAIL), ended("a", "any", within=3000)],
       stream(len(HEAD), "too_long"), limits={"stream_bytes": len(HEAD)})
script(21625, "stream-at-the-limit", "Exactly as many bytes as the client accepts", ["R-EVP-017"], [begun(), REST], COMPLETE,
       limits={"stream_bytes": WHOLE}, **AFTER)
script(21226, "session-closed-at-once", "The session begins, and the stream ends before its first byte", ["R-EVP-019"],
       [accept("a"), expect("a", COLLECT2), send("a", session_ok(ID)), close("a")], stream(0, "incomplete"))

# --- stops that go wrong -------------------------------------------------------------------------------------------
def stop_goes(sc, name, comment, spec, steps, end, stopped):
    script(sc, name, comment, spec, [begun(), stop_asked(), *steps, send("a", TAIL), close("a")], stream(WHOLE, end, stopped),
           **AFTER)


stop_goes(21630, "stop-refused", "The stop is refused, and the stream ends later by itself", ["R-ERR-001", "R-EVP-019"],
          [send("b", error(E_FAIL)), close("b")], "incomplete",
          {"hresult": "0x80004005"})
stop_goes(21631, "stop-refused-and-no-end", "The stop is refused, and its connection stays open", ["F-5", "R-EVP-019"],
          [send("b", error(BAD_ENCODING)), ended("b", "any", within=3000)], "incomplete", {"hresult": "0x80131384"})
stop_goes(21632, "stop-of-another-session", "The reply to the stop has the id of another session: it is unknown what was stopped",
          ["F-31", "R-EVP-064"],
          [send("b", session_ok(OTHER)), close("b")], "incomplete", {"another_session": "43"})
stop_goes(21633, "stop-generic-ok", "The reply to the stop is the generic OK", ["F-2", "R-CMD-036"],
          [send("b", GENERIC_OK), close("b")], "complete", "ok_without_id")
stop_goes(21634, "stop-unanswered", "The stop's connection ends without a reply", ["R-ERR-003", "R-EVP-019"], [close("b")],
          "incomplete", "no_reply")
stop_goes(21635, "stop-reply-cut", "The reply to the stop is cut", ["R-ERR-003", "R-EVP-019"],
          [send("b", session_ok(ID)[:24]), close("b")], "incomplete", "no_reply")
stop_goes(21636, "stop-raw-bytes", "The answer to the stop is not a message", ["F-71"],
          [send("b", bytes(28)), ended("b", "any", within=3000)], "incomplete",
          {"malformed": {"layer": "header", "kind": "bad_magic", "offset": 0}})

# --- sessions that do not begin ------------------------------------------------------------------------------------
script(21240, "session-refused-and-no-end", "BAD_ENCODING, and the connection stays open, as on .NET 9 and 10",
       ["F-5", "F-74", "R-ERR-002"],
       left_open(COLLECT2, error(BAD_ENCODING)), error_is(BAD_ENCODING), **AFTER)
script(21241, "session-refused", "FAIL, and the end", ["F-32", "R-ERR-017"], answered(COLLECT2, error(E_FAIL)), error_is(E_FAIL),
       **AFTER)
script(21642, "session-generic-ok", "The generic OK: a stream follows, and it cannot be stopped", ["F-2", "R-CMD-036"],
       [accept("a"), expect("a", COLLECT2), send("a", GENERIC_OK), send("a", HEAD), no_connection(300), close("a")],
       ok({}, "stream", stream={"bytes": len(HEAD), "end": "incomplete"}, stop="not_sent"), **AFTER)
script(21243, "session-half-an-id", "An OK with half an id", ["R-EVP-013"], left_open(COLLECT2, message(0xFF00, u32(ID))),
       malformed("payload", "unexpected_end", 20))
script(21644, "stream-without-a-reply", "The stream arrives without a reply", ["R-EVP-014", "R-HDR-010"],
       left_open(COLLECT2, HEAD + TAIL), malformed("header", "bad_magic", 0))

# --- user_events ---------------------------------------------------------------------------------------------------
def user_events(sc, name, comment, spec, steps, outcome):
    script(sc, name, comment, spec, [accept("a"), expect("a", COLLECT_USER), *steps], outcome, "CollectTracing5",
           COLLECT_USER_VALUE, "10.0")


DESCRIPTOR = expect("a", anything(1), with_fd=True)
HELD = ok({"sessionId": "42"}, "user_events")
user_events(21250, "user-events-session",
            "The descriptor follows the request, on a separate byte, and the client does not wait for a reply first",
            ["F-19", "F-20", "R-EVP-056", "R-UEV-003", "R-UEV-004"], [DESCRIPTOR, send("a", session_ok(ID)), close("a")], HELD)
user_events(21251, "user-events-refused", "The registration fails: FAIL, and the end", ["F-21"],
            [DESCRIPTOR, send("a", error(E_FAIL)), close("a")], error_is(E_FAIL))
user_events(21252, "user-events-refused-at-once", "BAD_ENCODING before the descriptor was read, and the connection stays open",
            ["F-21", "F-74", "P-7"],
            [send("a", error(BAD_ENCODING)), DESCRIPTOR, ended("a", "any", within=3000)], error_is(BAD_ENCODING))
user_events(21253, "user-events-closed-without-a-reply", "The runtime closes after the descriptor", ["R-ERR-003"],
            [DESCRIPTOR, close("a")], no_reply("closed"))
