"""vectors/exchanges/ports.json: diagnostic ports, on which the script listens and to which the runtime connects."""
from notation import array, boolean, hexa, header, message, string, u16, u32, u64
from script import (END_OF_NETTRACE, THREADS, UNKNOWN_COMMAND, UNKNOWN_MAGIC, ScriptFile, accept, any_reply_head, anything, close, deviation, drain,
                    ended, error, event, expect, expect_any_of, listen, nettrace, no_connection, no_event, nothing,
                    ok_head, open_, port, process_info2_reply, same, send, session, succeeded, target, text, unlisten,
                    until, wait)

FILE = ScriptFile("ports", "Diagnostic ports, played against a runtime", 20400, 20499)
INFO, RESUME, INFO2, STOP, C2 = 0x0400, 0x0401, 0x0404, 0x0201, 0x0203
ASK = message(INFO2)
ADVR = b"ADVR_V1\0"
QUIET = u64(0) + u32(4) + string("No-Such-Provider") + string(None)
ONE = target(ports=[port("p")])


def advertised(on, at="p", within=None):
    """Expects the first advertise of a target: 34 bytes, from which the cookie and process id are captured."""
    return [accept(on, at, within), expect(on, ADVR, anything(16, "cookie", [bytes(16)]), anything(8, "pid", [u64(0)]),
                                           anything(2))]


def advertised_again(on, at="p", within=None):
    """Expects a later advertise, equal to the first."""
    return [accept(on, at, within), expect(on, ADVR, same("cookie"), same("pid"), anything(2))]


def asked(on, request=ASK, *reply):
    return [send(on, *(request if isinstance(request, list) else [request])), expect(on, *(reply or [process_info2_reply()])), ended(on)]


def default(on, request=ASK, *reply):
    return [open_(on), asked(on, request, *reply)]


def resume(on):
    return [send(on, message(RESUME)), succeeded(on), ended(on)]


def held(on):
    """Starts a session over the default port, which has no event while the start is held."""
    return [open_(on), send(on, message(C2, u32(1), u32(1), boolean(False), array(THREADS))), expect(on, session()), no_event(on)]


def still_held(on, ms=1000):
    return no_event(on, ms)


def runs(on):
    """The session of a held start has events now, and its stop is answered."""
    stop = on + "_stop"
    return [expect_any_of(on, *nettrace()), event(on), drain(on), default(stop, [header(STOP, 28), same("session")], ok_head(8), same("session")),
            ended(on, last=END_OF_NETTRACE)]


def script(sc, name, comment, spec, steps, needs=ONE, hazard=None, since="6.0", habit=None, deviations=()):
    FILE.client(sc, name, comment, since=since, hazard=hazard, needs=needs, spec=spec, steps=steps, habit=habit, deviations=deviations)


# The document does not say when the stream begins for a session created before the start.
SILENT = "F-112"


# --- one port ------------------------------------------------------------------------------------------------------
script(20400, "port-advertise",
       "The runtime connects to the port and sends the cookie and process id that ProcessInfo gives on the same connection",
       ["R-ADV-001", "R-ADV-002", "R-ADV-003", "R-ADV-004", "R-ADV-005", "R-PRT-005", "R-PRT-006", "R-PRC-005"],
       [advertised("a"), send("a", message(INFO)), expect("a", any_reply_head(), same("pid"), same("cookie"), text("cmd"),
                                                          text("os"), text("arch"), until("size", 0)),
        ended("a")], since="5.0")
script(20401, "port-one-command-a-connection",
       "Each command uses up a connection, and each connection begins with the same advertise",
       ["R-FLW-012", "R-FLW-014", "R-PRT-007"],
       [advertised("a"), asked("a"), advertised_again("b"), asked("b"), advertised_again("c"), asked("c")])
script(20402, "port-connects-again-at-once", "The next connection follows the command without delay", ["R-FLW-013", "F-77"],
       [advertised("a"), send("a", ASK), advertised_again("b", within=1000), expect("a", process_info2_reply()), ended("a")],
       deviations=[deviation("F-118", "the reply must be read first: an unread one blocks the server", 3,
                             expect("a", process_info2_reply()), advertised_again("b", within=1000), ended("a"))])
script(20403, "port-second-command-is-not-served", "A second command on a port's connection is not served",
       ["F-70", "R-FLW-018", "R-FLW-012"],
       [advertised("a"), send("a", ASK, ASK), expect("a", process_info2_reply()), ended("a", "reset"), advertised_again("b"),
        asked("b")])
script(20404, "port-idle-connection-closed",
       "When the tool closes a connection without a command, the runtime connects again at once", ["F-77", "R-PRT-030"],
       [advertised("a"), close("a"), advertised_again("b", within=1000), close("b"), advertised_again("c", within=1000),
        asked("c")])
script(20405, "port-never-two-waiting", "While one connection waits for a command, no other is opened", ["F-77"],
       [advertised("a"), no_connection(1500, "p"), asked("a"), advertised_again("b"), no_connection(1500, "p")])
script(20406, "port-waits-without-a-timeout", "Between the advertise and the command any time may pass",
       ["R-FLW-016", "R-PRT-029", "R-ADV-009"],
       [advertised("a"), nothing("a", 3000), asked("a")])
script(20407, "port-command-in-pieces", "A command arrives on a port's connection byte by byte", ["F-69", "R-FLW-017"],
       [advertised("a"), send("a", ASK, chunks=[1] * 20), expect("a", process_info2_reply()), ended("a")])
script(20408, "port-default-beside-it", "The default port answers, and a waiting port's connection does not change",
       ["R-PRT-016", "R-PRT-027"],
       [advertised("a"), default("b"), default("c"), nothing("a"), asked("a")])
script(20409, "port-unknown-command", "An unknown command on a port: the error, the end, and the next connection",
       ["R-ERR-009", "R-PRT-007"],
       [advertised("a"), asked("a", message(0x6301), error(UNKNOWN_COMMAND)), advertised_again("b"), asked("b")])
script(20410, "port-wrong-magic", "A wrong magic on a port: the error, the end, and the next connection",
       ["R-ERR-010", "R-PRT-030"],
       [advertised("a"), asked("a", message(INFO2, magic=b"DOTNET_IPC_V2\0"), error(UNKNOWN_MAGIC)), advertised_again("b"),
        asked("b")])
script(20411, "port-nothing-answers-an-advertise",
       "What a tool sends is a command from its first byte: an answer to the advertise is read as a header",
       ["R-ADV-008"], [advertised("a"), asked("a", hexa("06") + b"Thank you!!!!" + u16(20) + bytes(4), error(UNKNOWN_MAGIC)),
                       advertised_again("b")])
script(20412, "port-half-a-header-closed", "A tool that closes inside the header: the runtime connects again", ["R-PRT-030"],
       [advertised("a"), send("a", ASK[:10]), close("a"), advertised_again("b"), asked("b"), default("z")])
script(20413, "port-half-a-header-blocks-others", "While half a header is there, the default port does not answer", ["F-6", "F-75"],
       [advertised("a"), send("a", ASK[:10]), open_("b"), send("b", ASK), nothing("b", 500), close("a"),
        expect("b", process_info2_reply()), ended("b")],
       needs=target(ports=[port("p")], wants=["one-client-at-a-time"]), habit="F-75")
script(20414, "port-session",
       "A session over a port: while it streams the runtime connects again, and the stop is sent over that connection",
       ["R-FLW-010", "R-FLW-013", "F-76", "F-77"],
       [advertised("a"), send("a", message(C2, u32(1), u32(1), boolean(False), array(QUIET))), expect_any_of("a", *nettrace(*session())),
        drain("a"),
        advertised_again("b"), send("b", header(STOP, 28), same("session")), expect("b", ok_head(8), same("session")), ended("b"),
        ended("a", last=END_OF_NETTRACE), advertised_again("c")])
script(20415, "port-that-comes-late",
       "At first no tool listens: the default port answers meanwhile, and the runtime connects soon after a tool listens",
       ["R-FLW-015", "R-PRT-026", "R-PRT-027", "R-PRT-028", "F-77"],
       [default("z"), wait(1500), default("y"), listen("p"), advertised("a", within=2000), asked("a")],
       needs=target(ports=[port("p", listening=False)]))
script(20416, "port-that-goes-away", "The listener stops and starts again", ["R-PRT-030", "F-77"],
       [advertised("a"), unlisten("p"), asked("a"), wait(1000), default("z"), listen("p"), advertised_again("b", within=2000),
        asked("b")])
script(20417, "printed-dataflow", "The printed dataflow of target and monitor: advertise, command, reply; and again",
       ["R-FLW-012", "R-FLW-014", "R-FLW-017", "R-ADV-001"],
       [advertised("a"), asked("a"), advertised_again("b"), send("b", message(C2, u32(1), u32(1), boolean(False), array(QUIET))),
        expect_any_of("b", *nettrace(*session())), advertised_again("c"), drain("b"), send("c", header(STOP, 28), same("session")),
        expect("c", ok_head(8), same("session")), ended("c"), ended("b", last=END_OF_NETTRACE)])

# --- suspend and resume --------------------------------------------------------------------------------------------
SUSPEND = ["F-42", "R-PRT-020", "R-PRT-021"]
script(20430, "port-suspends", "A suspending port holds the start until it has sent ResumeRuntime",
       [*SUSPEND, "R-PRT-013", "R-PRC-013", "R-PRC-015"],
       [advertised("a"), held("s"), still_held("s", 1000), resume("a"),
        runs("s")],
       needs=target(ports=[port("p", suspend=True)]), hazard="side-effect", habit=SILENT)
script(20431, "port-resume-elsewhere-counts-for-nothing",
       "A resume over the default port succeeds, and the start is still held", SUSPEND,
       [advertised("a"), held("s"), [open_("c"), resume("c")], still_held("s", 1500),
        resume("a"), runs("s")], needs=target(ports=[port("p", suspend=True)]),
       hazard="side-effect", habit=SILENT)
script(20432, "two-ports-suspend", "Two suspending ports: the start is held until each has sent its own resume", SUSPEND,
       [advertised("a", "p"), advertised_again("b", "q"), held("s"), resume("a"), still_held("s", 1500),
        resume("b"), runs("s")],
       needs=target(ports=[port("p", suspend=True), port("q", suspend=True)]), hazard="side-effect", habit=SILENT)
script(20433, "two-resumes-over-one-port", "The second resume over one of two ports has no effect", SUSPEND,
       [advertised("a", "p"), advertised_again("b", "q"), held("s"), resume("a"),
        advertised_again("d", "p"),
        resume("d"), still_held("s", 1500), resume("b"),
        runs("s")],
       needs=target(ports=[port("p", suspend=True), port("q", suspend=True)]), hazard="side-effect", habit=SILENT)
script(20434, "port-and-default-suspend", "A suspending port and a suspending default port: each must resume",
       [*SUSPEND, "R-PRT-018"],
       [advertised("a"), held("s"), [open_("c"), resume("c")], still_held("s", 1500),
        resume("a"), runs("s")], needs=target(suspended=True, ports=[port("p", suspend=True)]),
       hazard="side-effect", habit=SILENT)
script(20435, "resume-over-a-port-that-does-not-suspend",
       "A resume over a port that does not suspend does not resume the default port", ["F-42"],
       [advertised("a"), held("s"), resume("a"), still_held("s", 1500),
        [open_("d"), resume("d")], runs("s")], needs=target(suspended=True, ports=[port("p")]),
       hazard="side-effect", habit=SILENT)
script(20436, "two-ports-one-cookie", "Two ports: one connection each, with the same advertise", ["R-PRT-008", "R-ADV-004"],
       [advertised("a", "p"), advertised_again("b", "q"), no_connection(500, "p"), no_connection(500, "q"), asked("a"),
        advertised_again("c", "p"), asked("b"),
        advertised_again("d", "q")], needs=target(ports=[port("p"), port("q")]))
script(20437, "commands-while-a-port-suspends", "A suspended runtime serves other commands over its port",
       ["R-PRT-020", "R-PRT-007"],
       [advertised("a"), asked("a"), advertised_again("b"), asked("b"), advertised_again("c"),
        resume("c")],
       needs=target(ports=[port("p", suspend=True)]), hazard="side-effect")
script(20438, "port-that-never-comes-suspends",
       "A suspending port without a listener holds the start; once a tool listens, it can resume the runtime",
       ["R-PRT-020", "R-PRT-026"],
       [held("s"), still_held("s", 1000), listen("p"), advertised("a", within=2000),
        resume("a"), runs("s")],
       needs=target(ports=[port("p", suspend=True, listening=False)]), hazard="side-effect", habit=SILENT)
script(20439, "port-with-a-path-too-long",
       "A suspending port whose path no socket can have is ignored: it does not hold the start, and the default port answers",
       ["P-13", "F-129"],
       [open_("s"), send("s", message(C2, u32(1), u32(1), boolean(False), array(THREADS))), expect("s", session()), runs("s"), default("a")],
       needs=target(environment={"DOTNET_DiagnosticPorts": "/tmp/" + "p" * 200}, platform="unix", wants=["ports", "suspension"]), hazard="harmful", habit="P-13",
       deviations=[deviation("P-13", "the start is held forever, whatever is sent to the default port", 3,
                             still_held("s"), default("a"), [open_("b"), resume("b")], still_held("s"), default("c"))])
script(20440, "default-port-suspend-false",
       "DOTNET_DefaultDiagnosticPortSuspend=false: it begins with a hexadecimal digit, so it suspends",
       ["F-86", "P-14"],
       [held("s"), still_held("s"), [open_("c"), resume("c")], runs("s")],
       needs=target(environment={"DOTNET_DefaultDiagnosticPortSuspend": "false"}, wants=["suspension"]), hazard="side-effect",
       habit="F-86",
       deviations=[deviation("F-106", "the value has more than hexadecimal digits: nothing suspends", 3,
                             runs("s"))])
script(20441, "port-tag-behind-a-space", "A space before nosuspend makes it an unknown tag: the port suspends", ["F-78"],
       [held("s"), still_held("s")],
       needs=target(environment={"DOTNET_DiagnosticPorts": "nobody.sock, nosuspend"}, wants=["ports", "suspension"]),
       hazard="side-effect", habit="F-78")

# --- spellings of the variable ---------------------------------------------------------------------------------------
SESSION = message(C2, u32(1), u32(1), boolean(False), array(THREADS))


def spelled(sc, name, value, comment, spec, suspends=False, habit=None, ports="p"):
    steps = [accept(ports[0], ports[0]), expect(ports[0], ADVR, anything(16, "cookie"), anything(8, "pid"), anything(2)),
             *(advertised_again(one, one) for one in ports[1:])]
    steps += [held("s"), still_held("s", 500), [resume(one) for one in ports]] if suspends else [open_("s"), send("s", SESSION), expect("s", session())]
    script(sc, f"port-spelled-{name}", f"DOTNET_DiagnosticPorts={value.replace('{p}', 'PATH').replace('{q}', 'OTHER')!r}: {comment}", spec,
           [*steps, runs("s")], needs=target(ports=[port(one, suspend=suspends) for one in ports], spelled=value),
           hazard="side-effect" if suspends else None, habit=habit)


FIRST, DEFAULTS, EMPTY = ["F-59", "R-PRT-022"], ["R-PRT-009", "R-PRT-013"], ["F-59", "F-60", "R-PRT-015"]
spelled(20450, "with-an-end", "{p},nosuspend;", "the document's example, with an empty port at its end", EMPTY)
spelled(20451, "with-both-tags", "{p},nosuspend,connect", "a mode, then a type", ["R-PRT-012", "R-PRT-014"])
spelled(20452, "type-first", "{p},connect,nosuspend", "a type, then a mode", ["R-PRT-012", "R-PRT-014"])
spelled(20453, "nosuspend-first", "{p},nosuspend,suspend", "of two modes the first counts", FIRST)
spelled(20454, "twice-the-same", "{p},nosuspend,nosuspend", "the same tag twice", FIRST)
spelled(20455, "two-ports", "{p},nosuspend;{q},connect,nosuspend;", "the tags of two ports do not mix", ["R-PRT-008", "R-PRT-009"], ports="pq")
spelled(20456, "with-a-comma-at-its-end", "{p},nosuspend,", "an empty tag is skipped", EMPTY, habit="F-59")
spelled(20457, "with-empty-ports", ";;{p},nosuspend;;", "empty ports are skipped", EMPTY, habit="F-59")
spelled(20458, "in-capitals", "{p},NoSuspend", "tags have no case", FIRST, habit="F-59")
spelled(20459, "unknown-tag", "{p},quickly,nosuspend", "an unknown tag is skipped", FIRST, habit="F-59")
spelled(20460, "without-tags", "{p}", "without a tag a port suspends", DEFAULTS, suspends=True)
spelled(20461, "without-tags-with-an-end", "{p};", "the same, with an empty port at the end", [*DEFAULTS, "R-PRT-015"], suspends=True)
spelled(20462, "type-alone", "{p},connect", "a type says no mode: the port suspends", DEFAULTS, suspends=True)
spelled(20463, "suspend-first", "{p},suspend,nosuspend", "of two modes the first counts", FIRST, suspends=True)
spelled(20464, "without-tags-with-a-comma", "{p},", "an empty tag is skipped", [*EMPTY, "R-PRT-013"], suspends=True, habit="F-59")
spelled(20465, "two-ports-that-suspend", "{p};{q},suspend", "both suspend: the start is held until both have resumed it", [*DEFAULTS, "R-PRT-021"],
        suspends=True, ports="pq")
script(20466, "port-spelled-tags-alone", "DOTNET_DiagnosticPorts=nosuspend,connect: the first tag is the address of a port that suspends",
       ["R-PRT-023", "R-PRT-024", "R-PRT-025"], [held("s"), still_held("s", 500)],
       needs=target(environment={"DOTNET_DiagnosticPorts": "nosuspend,connect"}, wants=["ports", "suspension"]), hazard="side-effect")
