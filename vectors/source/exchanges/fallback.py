"""vectors/exchanges/fallback.json: UNKNOWN_COMMAND, and the older command for the same request."""
from answers import (OK_VALUE, SUCCESS, COOKIE, COLLECT2, COLLECT_USER, COLLECT_USER_VALUE, FILTER, FILTER_VALUE, answered, ask, collect3, collect4,
                     collect4_value,
                     collect5, collect5_value, collect6, collect6_value, error_is, no_reply, ok, session_ok)
from notation import guid, message, string, u32, u64
from script import BAD_ENCODING, E_FAIL, UNKNOWN_COMMAND, ScriptFile, accept, anything, close, error, expect, no_connection, send

FILE = ScriptFile("fallback", "Older commands in place of unknown ones, played to a client", 21300, 21349)
UNKNOWN = error(UNKNOWN_COMMAND)
SESSION = session_ok(42)


def script(sc, name, comment, spec, command, value, exchanges, outcome, further=False):
    """`exchanges` are pairs of a request and its reply, each on a separate connection."""
    names = "abcdef"
    steps = [answered(request, reply, on=names[n]) for n, (request, reply) in enumerate(exchanges)]
    FILE.runtime(sc, name, comment, spec=["R-ERR-009", "F-68", *spec], ask=ask(command, value, fallback=True),
                 steps=[steps, no_connection(300)] if further else steps,
                 outcome=outcome)


def tracing(*versions):
    return [f"EventPipe/CollectTracing{version}" for version in versions]


def streams(asked):
    return ok({"sessionId": "42"}, "stream", asked=asked, stream={"bytes": 0, "end": "incomplete"}, stop="not_sent")


STANDS = error_is(UNKNOWN_COMMAND)

# --- CollectTracing ------------------------------------------------------------------------------------------------
script(21300, "fallback-6-to-2", "CollectTracing6 to 2: each older command can express the request", ["F-30", "R-EVP-037"],
       "EventPipe/CollectTracing6", collect6_value(),
       [(collect6(), UNKNOWN), (collect5(), UNKNOWN), (collect4(), UNKNOWN), (collect3(), UNKNOWN), (COLLECT2, SESSION)],
       streams(tracing(6, 5, 4, 3, 2)))
script(21301, "fallback-none-needed", "The first command is known", [], "EventPipe/CollectTracing6", collect6_value(),
       [(collect6(), SESSION)], streams(tracing(6)), further=True)
script(21302, "fallback-6-to-5", "One step down", ["F-30"], "EventPipe/CollectTracing6", collect6_value(),
       [(collect6(), UNKNOWN), (collect5(), SESSION)], streams(tracing(6, 5)))
script(21303, "fallback-no-rundown", "Rundown keyword 0 is requestRundown false", ["R-EVP-038"], "EventPipe/CollectTracing4",
       collect4_value(0),
       [(collect4(0), UNKNOWN), (collect3(rundown=False), SESSION)], streams(tracing(4, 3)))
script(21304, "fallback-blocking-buffer", "CollectTracing6 that blocks: no older command can express it", ["F-30"],
       "EventPipe/CollectTracing6", collect6_value(1),
       [(collect6(1), UNKNOWN)], {**STANDS, "asked": tracing(6)}, further=True)
script(21305, "fallback-filters", "CollectTracing5 with a filter: no older command has one", ["R-EVP-050"],
       "EventPipe/CollectTracing5", collect5_value(event_filter=FILTER_VALUE),
       [(collect5(event_filter=FILTER), UNKNOWN)], {**STANDS, "asked": tracing(5)}, further=True)
script(21307, "fallback-rundown-of-its-own", "CollectTracing4 with a rundown keyword that no bool can express", ["R-EVP-037"],
       "EventPipe/CollectTracing4", collect4_value(0x10),
       [(collect4(0x10), UNKNOWN)], {**STANDS, "asked": tracing(4)}, further=True)
script(21308, "fallback-without-stacks", "CollectTracing3 without stack traces: CollectTracing2 always collects them", ["R-EVP-030"],
       "EventPipe/CollectTracing5", collect5_value(stacks=False),
       [(collect5(stacks=False), UNKNOWN), (collect4(stacks=False), UNKNOWN), (collect3(stacks=False), UNKNOWN)],
       {**STANDS, "asked": tracing(5, 4, 3)}, further=True)
script(21309, "fallback-to-the-last", "Even CollectTracing2 is unknown", ["R-ERR-013"], "EventPipe/CollectTracing4",
       collect4_value(),
       [(collect4(), UNKNOWN), (collect3(), UNKNOWN), (COLLECT2, UNKNOWN)], {**STANDS, "asked": tracing(4, 3, 2)}, further=True)
script(21310, "fallback-not-for-other-errors", "BAD_ENCODING does not mean that the command is unknown", ["R-ERR-012"],
       "EventPipe/CollectTracing5", collect5_value(),
       [(collect5(), error(BAD_ENCODING))], {**error_is(BAD_ENCODING), "asked": tracing(5)}, further=True)
script(21311, "fallback-then-another-error", "An older command is known and fails: that is the result", ["F-32"],
       "EventPipe/CollectTracing5", collect5_value(),
       [(collect5(), UNKNOWN), (collect4(), error(E_FAIL))], {**error_is(E_FAIL), "asked": tracing(5, 4)}, further=True)

# --- dumps ---------------------------------------------------------------------------------------------------------
def dump(code, flags):
    return message(code, string("core.dmp"), u32(4), u32(flags))


def dump_value(flags):
    return {"dumpName": "core.dmp", "dumpType": 4, "flags": flags}


def dumps(*versions):
    return [f"Dump/GenerateCoreDump{version}" for version in versions]


DUMPED = ok(OK_VALUE, "another_reply", second=no_reply("closed"))
script(21320, "fallback-dump-3-to-1", "GenerateCoreDump3 to 1: flag 1 is `diagnostics`", ["F-50", "R-DMP-006", "R-DMP-010"],
       "Dump/GenerateCoreDump3", dump_value(1),
       [(dump(0x0103, 1), UNKNOWN), (dump(0x0102, 1), UNKNOWN), (dump(0x0101, 1), SUCCESS)], {**DUMPED, "asked": dumps(3, 2, "")})
script(21321, "fallback-dump-3-to-2", "GenerateCoreDump3 to 2, with all flags", ["F-50", "R-DMP-010"], "Dump/GenerateCoreDump3",
       dump_value(7),
       [(dump(0x0103, 7), UNKNOWN), (dump(0x0102, 7), SUCCESS)], {**DUMPED, "asked": dumps(3, 2)})
script(21322, "fallback-dump-flags", "A crash report: GenerateCoreDump has no such flag", ["F-50", "R-DMP-006"],
       "Dump/GenerateCoreDump3", dump_value(4),
       [(dump(0x0103, 4), UNKNOWN), (dump(0x0102, 4), UNKNOWN)], {**STANDS, "asked": dumps(3, 2)}, further=True)

# --- ProcessInfo ---------------------------------------------------------------------------------------------------
FIELDS = [u64(4242), guid(COOKIE), string("app"), string("Linux"), string("x64")]
VALUE = {"processId": "4242", "runtimeCookie": COOKIE, "commandLine": "app", "OS": "Linux", "arch": "x64"}
INFO, INFO2, INFO3 = "Process/ProcessInfo", "Process/ProcessInfo2", "Process/ProcessInfo3"
script(21330, "fallback-process-info-3-to-1", "ProcessInfo3 to 1", ["R-PRC-001", "R-PRC-034"], INFO3, {},
       [(message(0x0408), UNKNOWN), (message(0x0404), UNKNOWN), (message(0x0400), message(0xFF00, *FIELDS))],
       ok(VALUE, asked=[INFO3, INFO2, INFO]))
script(21331, "fallback-process-info-3-to-2", "ProcessInfo3 to 2", ["R-PRC-017"], INFO3, {},
       [(message(0x0408), UNKNOWN), (message(0x0404), message(0xFF00, *FIELDS, string("app"), string("6.0.1")))],
       ok({**VALUE, "managedEntrypointAssemblyName": "app", "clrProductVersion": "6.0.1"}, asked=[INFO3, INFO2]))
script(21332, "fallback-process-info-none", "No Process set at all, as before .NET 5", ["R-CMD-039"], INFO3, {},
       [(message(0x0408), UNKNOWN), (message(0x0404), UNKNOWN), (message(0x0400), UNKNOWN)],
       {**STANDS, "asked": [INFO3, INFO2, INFO]}, further=True)
FILE.runtime(21333, "no-fallback-unless-told", "A client without fallback returns the error", spec=["R-ERR-013"],
             ask=ask(INFO3), since="8.0",
             steps=[answered(message(0x0408), UNKNOWN), no_connection(300)], outcome=STANDS)
FILE.runtime(21334, "fallback-user-events-none", "A user_events session: older commands only stream", spec=["F-68", "R-EVP-059"],
             ask=ask("EventPipe/CollectTracing5", COLLECT_USER_VALUE, fallback=True), since="10.0",
             steps=[accept("a"), expect("a", COLLECT_USER), expect("a", anything(1), with_fd=True), send("a", UNKNOWN), close("a"),
                    no_connection(300)],
             outcome={**STANDS, "asked": tracing(5)})
