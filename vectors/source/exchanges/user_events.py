"""vectors/exchanges/user_events.json: sessions that write to a descriptor, which the client passes."""
from notation import array, boolean, header, message, string, u32, u64
from script import (BAD_ENCODING, E_FAIL, ScriptFile, alive, answers, close, dead, deviation, ended, error, expect, half_close, nothing,
                    ok_head, open_,
                    process_info2_reply, same, send, session, target, wait)

FILE = ScriptFile("user_events", "Sessions of type user_events, played against a runtime", 20300, 20349)
C5, STOP, INFO2 = 0x0206, 0x0201, 0x0404
LINUX = target(platform="linux", wants=["user-events"])
IN_TURN = target(platform="linux", wants=["user-events", "one-client-at-a-time"])
NO_FILTER = boolean(False) + u32(0)


def provider(default, *sets):
    """Returns a provider that does not exist, without a filter; its events would go to these tracepoints."""
    return u64(0) + u32(4) + string("No-Such-Provider") + string(None) + NO_FILTER + string(default) + array(*sets)


def tracepoints(name, *ids):
    return string(name) + array(*map(u32, ids))


def collect(*providers):
    return message(C5, u32(1), u64(0), array(*providers))


ASK = collect(provider("Diag_Script", tracepoints("Diag_Set", 1, 2)))


def script(sc, name, comment, spec, steps, deviations=(), needs=LINUX):
    """Adds a script. All are `harmful`: early builds die of several, and a session with a bad descriptor may remain (F-21)."""
    FILE.client(sc, name, comment, since="10.0", hazard="harmful", needs=needs, spec=spec, steps=steps, deviations=deviations)


SPEC = ["F-19", "R-EVP-051", "R-EVP-056", "R-UEV-003"]
script(20300, "user-events", "Request, descriptor, reply; the connection is then held open, and its close ends the session",
       SPEC + ["F-23", "R-EVP-054"],
       [open_("a"), send("a", ASK), send("a", b"\0", with_fd="user_events_data"), expect("a", session()), nothing("a", 500),
        close("a"), answers()])
script(20301, "user-events-descriptor-before-the-reply",
       "The reply is sent only after the descriptor: a client that waits for the reply first waits forever",
       SPEC, [open_("a"), send("a", ASK), nothing("a", 1000), send("a", b"\0", with_fd="user_events_data"), expect("a", session()),
              nothing("a")])
script(20302, "user-events-half-close", "A half-close is not a close: the session continues", ["F-23"],
       [open_("a"), send("a", ASK), send("a", b"\0", with_fd="user_events_data"), expect("a", session()), half_close("a"),
        nothing("a", 500), close("a"),
        answers()])
script(20303, "user-events-stopped",
       "StopTracing of a user_events session: OK, and the session's own connection stays open until the client closes it",
       ["R-EVP-062", "F-23"],
       [open_("a"), send("a", ASK), send("a", b"\0", with_fd="user_events_data"), expect("a", session()),
        open_("b"), send("b", header(STOP, 28), same("session")), expect("b", ok_head(8), same("session")), ended("b"),
        nothing("a", 1000), close("a"), answers()])
script(20304, "user-events-twice", "A second session with the same tracepoints, after a close ended the first", ["F-23"],
       [open_("a"), send("a", ASK), send("a", b"\0", with_fd="user_events_data"), expect("a", session()), close("a"), wait(1500),
        open_("b"), send("b", ASK), send("b", b"\0", with_fd="user_events_data"), expect("b", session("second")), close("b"),
        answers()])
script(20305, "user-events-sets-without-a-default", "A set and no default tracepoint", ["R-FLT-007", "R-FLT-011"],
       [open_("a"), send("a", collect(provider(None, tracepoints("Diag_Set", 1, 2)))), send("a", b"\0", with_fd="user_events_data"),
        expect("a", session()), close("a"), answers()])
script(20306, "user-events-default-without-sets", "A default tracepoint and no set; early builds of .NET 10 refuse it",
       ["F-33", "P-8", "R-FLT-009"],
       [open_("a"), send("a", collect(provider("Diag_Script"))), send("a", b"\0", with_fd="user_events_data"),
        expect("a", session()), close("a"), answers()])
script(20307, "user-events-any-byte", "The byte that carries the descriptor may have any value", ["R-UEV-004"],
       [open_("a"), send("a", ASK), send("a", b"\xff", with_fd="user_events_data"), expect("a", session()), close("a"), answers()])
script(20308, "user-events-descriptor-with-the-request",
       "A descriptor on the bytes of the request is lost: the runtime still waits for one on a separate byte",
       ["F-20"], [open_("a"), send("a", ASK, with_fd="null"), nothing("a", 1000), send("a", b"\0", with_fd="null"),
                  expect("a", error(E_FAIL)), close("a"),
                  answers()])
script(20309, "user-events-null", "A descriptor of /dev/null: the registration fails", ["F-21", "R-ERR-017"],
       [open_("a"), send("a", ASK), send("a", b"\0", with_fd="null"), expect("a", error(E_FAIL)), ended("a"), answers()])
script(20310, "user-events-pipe", "A descriptor of a pipe: the registration fails", ["F-21", "R-ERR-017"],
       [open_("a"), send("a", ASK), send("a", b"\0", with_fd="pipe"), expect("a", error(E_FAIL)), ended("a"), answers()])
script(20311, "user-events-byte-without-a-descriptor", "A byte without a descriptor", ["F-5", "F-21"],
       [open_("a"), send("a", ASK), send("a", b"\0"), expect("a", error(BAD_ENCODING)), ended("a"), answers()],
       [deviation("F-5", "the connection stays open", 4, nothing("a"), answers())])
script(20312, "user-events-input-ends-without-a-descriptor", "The client's input ends in place of the descriptor",
       ["F-5", "F-21"],
       [open_("a"), send("a", ASK), half_close("a"), expect("a", error(BAD_ENCODING)), ended("a"), answers()],
       [deviation("F-5", "the connection stays open", 4, nothing("a"), answers())])
script(20313, "user-events-descriptor-blocks-others", "While the runtime waits for a descriptor, no other client is served", ["F-75"],
       [open_("a"), send("a", ASK), open_("b"), send("b", message(INFO2)), nothing("b", 500), send("a", b"\0", with_fd="null"),
        expect("a", error(E_FAIL)),
        expect("b", process_info2_reply()), ended("b")], needs=IN_TURN)
script(20314, "user-events-no-tracepoint", "Neither a default nor a set: refused without waiting for a descriptor",
       ["F-21", "P-7", "R-FLT-011"],
       [open_("a"), send("a", collect(provider(None))), expect("a", error(BAD_ENCODING)), ended("a"), answers()],
       [deviation("F-74", "the connection stays open", 3, nothing("a"), answers())])
script(20315, "user-events-empty-default",
       "A default name of length 1 and no set: the runtime waits for the descriptor, and the registration fails", ["P-7"],
       [open_("a"), send("a", collect(provider(""))), nothing("a"), send("a", b"\0", with_fd="null"), expect("a", error(E_FAIL)),
        ended("a"), answers()])
script(20316, "user-events-nameless-set", "A set with an empty name", ["F-21", "R-FLT-012"],
       [open_("a"), send("a", collect(provider("Diag_Script", tracepoints("", 1)))), expect("a", error(BAD_ENCODING)), ended("a"),
        answers()],
       [deviation("F-74", "the connection stays open", 3, nothing("a"), answers())])
script(20317, "user-events-id-twice", "An event id in two sets", ["F-21", "F-72", "R-FLT-013"],
       [open_("a"), send("a", collect(provider("Diag_Script", tracepoints("Diag_A", 1, 2), tracepoints("Diag_B", 2)))),
        send("a", b"\0", with_fd="user_events_data"), expect("a", error(E_FAIL)), ended("a"), alive()],
       [deviation("F-72", "the process dies", 3, ended("a", "any"), dead())])
script(20318, "user-events-long-name", "A tracepoint name of 600 characters, which no registration can hold",
       ["F-21", "F-65", "F-72"],
       [open_("a"), send("a", collect(provider("N" * 600))), send("a", b"\0", with_fd="user_events_data"),
        expect("a", error(E_FAIL)), ended("a"), alive()],
       [deviation("F-72", "the process dies", 3, ended("a", "any"), dead())])
