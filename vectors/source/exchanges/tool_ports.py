"""vectors/exchanges/tool_ports.json: the tool's side of a diagnostic port; the script is the runtime that connects to it."""
from answers import COOKIE, OK_VALUE, SUCCESS, ask, COLLECT2, COLLECT2_VALUE, error_is, malformed, no_reply, ok, session_ok, stop
from nettrace import HEAD, TAIL
from notation import guid, hexa, message, u16, u32, u64
from script import UNKNOWN_COMMAND, ScriptFile, close, ended, error, expect, nothing, open_, reset, send, wait

FILE = ScriptFile("tool_ports", "Diagnostic ports, played to a tool that owns one", 21400, 21439)
RESUME = message(0x0401)
ADVERTISE = b"ADVR_V1\0" + guid(COOKIE) + u64(12345) + u16(0)
VALUE = {"runtimeCookie": COOKIE, "processId": "12345", "future": 0}


def script(sc, name, comment, spec, steps, outcome, command="Process/ResumeRuntime", value=None, client=None, **keys):
    FILE.runtime(sc, name, comment, spec=spec, ask=ask(command, value, port="p", **keys), steps=[open_("a", "p"), *steps],
                 outcome=outcome, since="5.0", client=client)


ANSWERED = [expect("a", RESUME), send("a", SUCCESS), close("a")]
DONE = ok(OK_VALUE, advertise=VALUE)
script(21400, "tool-port", "Advertise, command, reply, end", ["R-ADV-001", "R-ADV-007", "R-ADV-008", "R-FLW-017", "R-PRT-006"],
       [send("a", ADVERTISE), *ANSWERED], DONE)
script(21401, "tool-port-advertise-in-bytes", "The advertise arrives byte by byte", ["R-ADV-001"],
       [send("a", ADVERTISE, chunks=[1] * 34), *ANSWERED], DONE)
script(21402, "tool-port-advertise-in-pieces", "The advertise arrives in pieces that end inside of fields", ["R-ADV-002"],
       [send("a", ADVERTISE, chunks=[7, 10, 16, 1]), *ANSWERED], DONE)
script(21403, "tool-port-late-advertise", "The advertise arrives a second after the connection", ["R-FLW-016"],
       [wait(1000), send("a", ADVERTISE), *ANSWERED], DONE)
script(21404, "tool-port-future", "`future` of any value is kept", ["R-ADV-006"],
       [send("a", ADVERTISE[:32], u16(0xBEEF)), *ANSWERED],
       ok(OK_VALUE, advertise={**VALUE, "future": 0xBEEF}))
script(21405, "tool-port-nil-cookie", "A cookie of zeros and the largest process id", ["R-ADV-004", "R-ADV-005"],
       [send("a", b"ADVR_V1\0", bytes(16), u64(2 ** 64 - 1), u16(0)), *ANSWERED],
       ok(OK_VALUE, advertise={"runtimeCookie": "00000000-0000-0000-0000-000000000000", "processId": str(2 ** 64 - 1),
                               "future": 0}))
for sc, at in ((21406, 0), (21407, 6), (21408, 7)):
    wrong = bytes(byte ^ (n == at) for n, byte in enumerate(ADVERTISE))
    script(sc, f"tool-port-wrong-magic-{at}", f"Byte {at} of the magic is wrong: the tool sends nothing and closes", ["R-ADV-003"],
           [send("a", wrong), ended("a", "any", within=3000)],
           {"outcome": "bad_advertise", "error": {"layer": "header", "kind": "bad_magic", "offset": at}})
script(21409, "tool-port-request-for-an-advertise", "A client mistakes the port for a runtime's, and sends a request", ["R-ADV-003"],
       [send("a", message(0x0404)), ended("a", "any", within=3000)],
       {"outcome": "bad_advertise", "error": {"layer": "header", "kind": "bad_magic", "offset": 0}})
for sc, n in ((21410, 0), (21411, 7), (21412, 8), (21413, 33)):
    script(sc, f"tool-port-cut-after-{n}", f"The connection is closed after {n} of 34 bytes", ["R-ADV-001", "R-ERR-003"],
           [*([send("a", ADVERTISE[:n])] if n else []), close("a")],
           {"outcome": "cut_advertise", "received": n, "end": "closed"})
script(21414, "tool-port-advertise-stops", "After 20 of 34 bytes nothing follows", ["R-ADV-001", "R-ERR-004"],
       [send("a", ADVERTISE[:20]), ended("a", "any", within=3000)],
       {"outcome": "cut_advertise", "received": 20, "end": "timed_out"}, patience_ms=300)
script(21415, "tool-port-refused", "The runtime refuses the command", ["R-ERR-009"],
       [send("a", ADVERTISE), expect("a", RESUME), send("a", error(UNKNOWN_COMMAND)), close("a")],
       error_is(UNKNOWN_COMMAND, advertise=VALUE))
script(21416, "tool-port-reply-with-the-advertise",
       "Advertise and reply in one write, as if the runtime knew the request: each is read separately",
       ["R-ADV-001", "R-HDR-016"],
       [send("a", ADVERTISE, SUCCESS), expect("a", RESUME), close("a")], DONE,
       client={"skip": "no runtime answers before the request: a program may close such a connection"})
script(21417, "tool-port-next-connection",
       "The runtime connects again while the command runs: the second connection waits for its own command",
       ["R-FLW-013", "R-FLW-014", "F-77"],
       [send("a", ADVERTISE), expect("a", RESUME), open_("b", "p"), send("b", ADVERTISE), send("a", SUCCESS), close("a"),
        nothing("b"), close("b")], DONE)
script(21421, "tool-port-session", "A session over a port: the stop is sent over the next connection of the same runtime",
       ["R-FLW-010", "R-FLW-014", "F-76"],
       [send("a", ADVERTISE), expect("a", COLLECT2), open_("b", "p"), send("b", ADVERTISE), send("a", session_ok(42), HEAD),
        expect("b", stop(42)), send("a", TAIL),
        send("b", session_ok(42)), close("b"), close("a")],
       ok({"sessionId": "42"}, "stream", advertise=VALUE, stream={"bytes": len(HEAD) + len(TAIL), "end": "complete"}, stop="ok"),
       "EventPipe/CollectTracing2", COLLECT2_VALUE, stop_after=len(HEAD))
script(21419, "tool-port-closed-behind-the-advertise", "The runtime ends after its advertise, before the command",
       ["R-ERR-003", "R-PRT-030"],
       [send("a", ADVERTISE), expect("a", RESUME), close("a")], no_reply("closed"))
