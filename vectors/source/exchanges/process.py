"""vectors/exchanges/process.json: the commands of the Process set."""
from notation import array, boolean, message, string, u32, u64
from script import (INVALIDARG, SUCCESS, THREADS, ScriptFile, any_reply_head, anything, close, counted, deviation, ended, error, event, expect,
                    expect_any_of, no_event, ok_head, open_, process_info2_reply, process_info_reply, replied, same, send, session, target, text, until, wait)

FILE = ScriptFile("process", "Commands of the Process set, played against a runtime", 20001, 20099)
INFO, RESUME, ENVIRONMENT, SET, INFO2 = 0x0400, 0x0401, 0x0402, 0x0403, 0x0404
ENABLE_MAP, DISABLE_MAP, HOOK, INFO3 = 0x0405, 0x0406, 0x0407, 0x0408
# An absent value kills NativeAOT (F-95), an absent name NativeAOT 8 (F-96): a script with one is harmful.
NOT_FOUND = 0x800700CB


def exchange(on, request, *reply):
    """Returns a separate connection for a request, its reply, and the end by the runtime."""
    return [open_(on), send(on, request), replied(on, *reply), ended(on)]


def resume(on):
    return exchange(on, message(RESUME), SUCCESS)


def variable(on, name, value, *reply):
    return exchange(on, message(SET, string(name), string(value)), *reply)


# --- ProcessInfo ---------------------------------------------------------------------------------------------------
FILE.client(20001, "process-info", "ProcessInfo: one reply, which its fields fill, and the end", since="5.0",
            spec=["F-34", "F-35", "R-PRC-001", "R-PRC-002", "R-PRC-003", "R-PRC-007", "R-PRC-009", "R-PRC-010", "R-FLW-003", "R-FLW-004", "R-FLW-006"],
            steps=exchange("a", message(INFO), process_info_reply()))
FILE.client(20002, "process-info2", "ProcessInfo2: two fields more than ProcessInfo", since="6.0",
            spec=["F-34", "R-PRC-017", "R-PRC-018", "R-PRC-021"], steps=exchange("a", message(INFO2), process_info2_reply()))
FILE.client(20003, "process-info3",
            "ProcessInfo3: a version first, at least 1, and the runtime identifier last; a later version may append", since="8.0",
            spec=["F-34", "F-36", "R-PRC-034", "R-PRC-035", "R-PRC-036", "R-PRC-037", "R-PRC-039"],
            steps=exchange("a", message(INFO3), any_reply_head(), anything(4, "version", [u32(0)]), anything(8), anything(16),
                           text("cmd"),
                           text("os"), text("arch"), text("entry"), text("clr"), text("rid"), until("size", 65535)))
FILE.client(20004, "process-info-all-three-agree",
            "ProcessInfo 1 to 3 give the same process id, cookie, command line, OS and architecture", since="8.0",
            spec=["R-PRC-019", "R-PRC-038", "R-PRC-005"],
            steps=[exchange("a", message(INFO), any_reply_head(), anything(8, "pid"), anything(16, "cookie"), anything(4, "cmd"),
                            counted("cmd", 2, name="cmd_text"), anything(4, "os"), counted("os", 2, name="os_text"),
                            anything(4, "arch"),
                            counted("arch", 2, name="arch_text"), until("size", 0)),
                   exchange("b", message(INFO2), any_reply_head(), same("pid"), same("cookie"), same("cmd"), same("cmd_text"),
                            same("os"),
                            same("os_text"), same("arch"), same("arch_text"), anything(4, "entry"),
                            counted("entry", 2, name="entry_text"),
                            anything(4, "clr"), counted("clr", 2, name="clr_text"), until("size", 0)),
                   exchange("c", message(INFO3), any_reply_head(), anything(4), same("pid"), same("cookie"), same("cmd"),
                            same("cmd_text"),
                            same("os"), same("os_text"), same("arch"), same("arch_text"), same("entry"), same("entry_text"),
                            same("clr"),
                            same("clr_text"), text("rid"), until("size", 65535))])
FILE.client(20005, "process-info3-or-unknown",
            "ProcessInfo3 on any runtime: its reply, or UNKNOWN_COMMAND from those that are older",
            spec=["F-68", "R-ERR-009", "R-PRC-034"],
            steps=[open_("a"), send("a", message(INFO3)),
                   expect_any_of("a", ("known", [any_reply_head(), counted("size", less=20)]), ("older", [error(0x80131385)])),
                   ended("a")])
# A session created before the start has its first event after it (F-112, F-169): it shows whether the runtime is held.
HELD = [open_("s"), send("s", message(0x0203, u32(1), u32(1), boolean(False), array(THREADS))), expect("s", session()), no_event("s")]
FILE.client(20006, "process-info-of-a-suspended-runtime",
            "A suspended runtime answers; a session started meanwhile has events once it runs", since="6.0",
            needs=target(suspended=True), hazard="side-effect", habit="F-112", spec=["F-112", "P-12", "R-PRC-008", "R-PRC-013"],
            steps=[HELD, exchange("a", message(INFO2), process_info2_reply()), no_event("s", 300),
                   resume("b"), expect("s", b"Nettrace"), event("s"), close("s"),
                   exchange("c", message(INFO2), process_info2_reply())])

# --- the environment -----------------------------------------------------------------------------------------------
FILE.client(20010, "process-environment",
            "The reply has the number of bytes of the block after it; they follow, and the end. 0x0402 is never ProcessInfo2",
            since="5.0",
            spec=["F-43", "F-84", "R-PRC-016", "R-ENV-001", "R-ENV-002", "R-ENV-003", "R-ENV-005", "R-FLW-005"],
            steps=[exchange("a", message(ENVIRONMENT), ok_head(6), anything(4, "block"), anything(2), counted("block")),
                   exchange("b", message(INFO), process_info_reply())])
FILE.client(20011, "process-environment-begins-with-entries",
            "The block has four bytes for the count of entries, which may be 0, and the entries after it", since="5.0",
            # A pattern cannot check the entries themselves.
            spec=["F-88", "R-ENV-006"],
            steps=[open_("a"), send("a", message(ENVIRONMENT)), expect("a", ok_head(6), anything(4, "block"), anything(2)),
                   expect("a", anything(4, "entries"), counted("block", less=4)), ended("a")])
FILE.client(20012, "set-variable", "A variable is set", since="6.0", hazard="side-effect",
            spec=["R-ENV-011", "R-ENV-012", "R-ENV-015"],
            steps=variable("a", "DIAG_SCRIPT", "x", SUCCESS))
FILE.client(20013, "set-variable-then-delete-twice",
            "Absent deletes: a variable that was set can be deleted once, and is missing the second time", since="6.0",
            hazard="harmful", spec=["F-44", "F-80", "R-ENV-014", "R-ERR-022"],
            steps=[variable("a", "DIAG_DELETED", "x", SUCCESS), variable("b", "DIAG_DELETED", None, SUCCESS),
                   variable("c", "DIAG_DELETED", None, error(NOT_FOUND))])
FILE.client(20014, "set-variable-to-nothing-is-no-deletion", "A value of length 1 (empty) is set, and can be deleted", since="6.0",
            hazard="harmful", spec=["F-11", "F-44", "R-ENV-014"],
            steps=[variable("a", "DIAG_EMPTY", "", SUCCESS), variable("b", "DIAG_EMPTY", None, SUCCESS)])
FILE.client(20015, "set-variable-without-a-name", "An absent name is refused", since="6.0", hazard="harmful", spec=["F-80", "R-ENV-013", "R-ERR-020"],
            steps=variable("a", None, "x", error(INVALIDARG)))
FILE.client(20016, "set-variable-with-an-empty-name", "An empty name: OK, and nothing is set", since="6.0", hazard="side-effect",
            spec=["F-80"], habit="F-80",
            steps=variable("a", "", "x", SUCCESS))
FILE.client(20017, "set-variable-name-with-a-nul", "A NUL cuts the name: the part before it was set", since="6.0",
            hazard="harmful", spec=["F-80"], habit="F-80",
            steps=[variable("a", "DIAG_CUT\0REST", "x", SUCCESS), variable("b", "DIAG_CUT", None, SUCCESS)])

# A set variable is at once in the environment that the runtime sends (F-94), as an entry with its count and its NUL.
SHOWN = "F-94"


def environment(on, has=(), lacks=()):
    return exchange(on, message(ENVIRONMENT), ok_head(6), anything(4, "block"), anything(2), counted("block", has=has, lacks=lacks))


FILE.client(20050, "variable-set-is-told", "A variable that was set is in the environment, and one that was set again has only its new value",
            since="6.0", hazard="side-effect", habit=SHOWN, spec=["F-94", "R-ENV-012", "R-ENV-016"],
            steps=[environment("a", lacks=[string("DIAG_TOLD=x")]), variable("b", "DIAG_TOLD", "x", SUCCESS),
                   environment("c", has=[string("DIAG_TOLD=x")]), variable("d", "DIAG_TOLD", "y", SUCCESS),
                   environment("e", has=[string("DIAG_TOLD=y")], lacks=[string("DIAG_TOLD=x")])])
FILE.client(20051, "variable-deleted-is-not-told", "A deleted variable is no longer in the environment", since="6.0",
            hazard="harmful", habit=SHOWN, spec=["F-44", "F-95", "R-ENV-014", "R-ENV-016"],
            steps=[variable("a", "DIAG_GOES", "x", SUCCESS), environment("b", has=[string("DIAG_GOES=x")]),
                   variable("c", "DIAG_GOES", None, SUCCESS), environment("d", lacks=[string("DIAG_GOES=x")])])
FILE.client(20052, "variable-empty-is-told", "A variable that was set to an empty value is in the environment", since="6.0",
            hazard="side-effect", habit=SHOWN, spec=["F-11", "F-44", "R-ENV-014", "R-ENV-016"],
            steps=[variable("a", "DIAG_NOTHING", "", SUCCESS), environment("b", has=[string("DIAG_NOTHING=")])])
FILE.client(20053, "variable-with-an-equals-sign-in-its-name", "A name with an equals sign inside is set unchanged", since="6.0",
            hazard="side-effect", habit="P-48", spec=["F-96", "P-48", "R-ENV-017"],
            steps=[variable("a", "DIAG_A=B", "x", SUCCESS), environment("b", has=[string("DIAG_A=B=x")])])
FILE.client(20054, "variable-without-name-and-value", "An absent name and an absent value are refused like an absent name", since="6.0",
            hazard="harmful", spec=["F-80", "F-96", "R-ENV-013"], steps=variable("a", None, None, error(INVALIDARG)))

FILE.client(20055, "variable-of-other-characters-is-told", "A value with characters of one, two and three bytes, and of two units",
            since="6.0", hazard="side-effect", habit=SHOWN, spec=["F-94", "R-ENV-012", "R-ENV-016", "R-GRM-008"],
            steps=[variable("a", "DIAG_TEXT", "x é € \U0001F600", SUCCESS), environment("b", has=[string("DIAG_TEXT=x é € \U0001F600")])])

FILE.client(20056, "variable-in-small-letters-is-told", "A name is taken letter by letter, and a value with equals signs and spaces whole",
            since="6.0", hazard="side-effect", habit=SHOWN, spec=["F-94", "R-ENV-012", "R-ENV-016"],
            steps=[variable("a", "diag_Small", " a=b=c ", SUCCESS), environment("b", has=[string("diag_Small= a=b=c ")])])
FILE.client(20057, "variable-of-the-start-is-deleted", "A variable with which the process was started can be deleted, and others stay",
            since="6.0", hazard="harmful", habit=SHOWN, spec=["F-44", "F-95", "R-ENV-014", "R-ENV-016"],
            needs=target(environment={"DIAG_START": "x", "DIAG_STAYS": "x"}),
            steps=[variable("a", "DIAG_START", None, SUCCESS), environment("b", lacks=[string("DIAG_START=x")]),
                   exchange("c", message(INFO), process_info_reply())])

# --- an environment that the tool gave -------------------------------------------------------------------------------
FILE.client(20070, "environment-of-the-process", "Each variable with which the process was started is there, with all of its value",
            since="5.0", spec=["F-79", "R-ENV-006", "R-ENV-009"],
            needs=target(environment={"DIAG_EQUALS": "a=b=c", "DIAG_EMPTY": "", "DIAG_SPACES": " x ", "DIAG_LONG": ("long ", 2000),
                                      "diag_small": "é"}),
            steps=[exchange("a", message(ENVIRONMENT), ok_head(6), anything(4, "block"), anything(2), counted("block")),
                   exchange("b", message(INFO), process_info_reply())])
FILE.client(20071, "environment-of-300-kb-at-a-slow-reader", "An environment of 300,000 bytes arrives whole at a client that reads late",
            since="5.0", spec=["F-79", "R-ENV-003", "R-ENV-006"],
            needs=target(environment={f"DIAG_{name}": ("xx", 50000) for name in "ABC"}, platform="unix"),
            steps=[open_("a"), send("a", message(ENVIRONMENT)), wait(500),
                   expect("a", ok_head(6), anything(4, "block"), anything(2), counted("block"), within=30000), ended("a"),
                   exchange("b", message(INFO), process_info_reply())])

# --- an environment that is not UTF-8 --------------------------------------------------------------------------------
def told(sc, name, comment, value, entry, *deviations, hazard):
    FILE.client(sc, name, comment, since="5.0", hazard=hazard, habit="F-79", spec=["F-79", "F-97", "P-52", "R-ENV-018"], deviations=deviations,
                needs=target(environment={"DIAG_BYTES": value}, platform="linux"),
                steps=[environment("a", has=[string("DIAG_BYTES=" + entry)]), exchange("b", message(INFO), process_info_reply())])


told(20060, "environment-in-latin-1", "A byte that begins no character, inside an entry: U+FFFD replaces it", b"caf\xe9 x", "caf\ufffd x", hazard="harmful")
told(20061, "environment-of-bytes", "Bytes that are not characters: U+FFFD for each", b"\xff\xfe\x80", "\ufffd\ufffd\ufffd", hazard="harmful")
told(20062, "environment-cut-in-a-character", "A character that is cut at the end of an entry: one U+FFFD", b"a\xe2\x82", "a\ufffd",
     deviation("F-97", "it is left out", 0, environment("a", has=[string("DIAG_BYTES=a")]),
               exchange("b", message(INFO), process_info_reply())), hazard="harmful")
told(20063, "environment-in-utf-8", "Characters of two, three and four bytes", "é€\U0001F600".encode(), "é€\U0001F600", hazard="side-effect")

# --- perf map ------------------------------------------------------------------------------------------------------
# An accepted type is harmful to a suspended runtime (P-45), but these runtimes run.
for sc, name, kind in ((20020, "all", 1), (20021, "jitdump", 2), (20022, "perfmap", 3)):
    FILE.client(sc, f"perf-map-{name}", f"EnablePerfMap with type {kind}, then DisablePerfMap", since="8.0", hazard="harmful",
                spec=["F-45", "R-PRC-022", "R-PRC-023", "R-PRC-026", "R-PRC-027", "R-PRC-029"],
                steps=[exchange("a", message(ENABLE_MAP, u32(kind)), SUCCESS), exchange("b", message(DISABLE_MAP), SUCCESS)])
for sc, kind in ((20023, 0), (20024, 4)):
    FILE.client(sc, f"perf-map-type-{kind}", f"EnablePerfMap with type {kind} is refused", since="8.0", hazard="side-effect",
                spec=["F-46", "R-PRC-024"], steps=exchange("a", message(ENABLE_MAP, u32(kind)), error(INVALIDARG)))
FILE.client(20026, "perf-map-type-with-the-top-bit", "A type with the top bit set is negative to a runtime: OK", since="8.0",
            hazard="harmful", habit="P-44", spec=["P-44", "R-PRC-024", "R-PRC-026"],
            steps=exchange("a", message(ENABLE_MAP, u32(0x80000000)), SUCCESS))
FILE.client(20025, "perf-map-disabled-when-it-is-not-on", "DisablePerfMap, when no perf map is written", since="8.0",
            hazard="side-effect",
            spec=["R-PRC-027", "R-PRC-029"],
            steps=[exchange("a", message(DISABLE_MAP), SUCCESS), exchange("b", message(DISABLE_MAP), SUCCESS)])

# --- startup hooks -------------------------------------------------------------------------------------------------
FILE.client(20030, "startup-hook-empty", "ApplyStartupHook with an empty path: OK, and no hook", since="8.0", hazard="side-effect",
            habit="P-1", spec=["P-1", "R-PRC-030", "R-PRC-033"], steps=exchange("a", message(HOOK, string("")), SUCCESS))
FILE.client(20031, "startup-hook-absent", "ApplyStartupHook with an absent path is refused", since="8.0", hazard="side-effect",
            spec=["P-1", "R-PRC-031"], steps=exchange("a", message(HOOK, string(None)), error(INVALIDARG)))
FILE.client(20032, "startup-hook-while-suspended", "A suspended runtime accepts a hook for later, even one that cannot be loaded",
            since="8.0",
            hazard="harmful", needs=target(suspended=True), spec=["F-47", "P-27", "R-PRC-030", "R-PRC-032", "R-PRC-033"],
            steps=[exchange("a", message(HOOK, string("/no/such/hook.dll")), SUCCESS),
                   exchange("b", message(INFO2), process_info2_reply())])

# --- resume --------------------------------------------------------------------------------------------------------
FILE.client(20040, "resume-what-runs", "ResumeRuntime of a runtime that runs: success, and nothing changes", since="5.0",
            hazard="side-effect",
            spec=["F-41", "R-PRC-011", "R-PRC-012", "R-PRC-014"],
            steps=[resume("a"), resume("b")])
FILE.client(20041, "suspended-until-resumed", "A suspended runtime stays so: a session started meanwhile has no event", since="6.0",
            hazard="side-effect", habit="F-112",
            needs=target(suspended=True), spec=["F-112", "R-PRC-008", "R-PRC-015"],
            steps=[HELD, exchange("a", message(INFO2), process_info2_reply()), no_event("s", 1000)])
FILE.client(20042, "resume-twice", "A suspended runtime is resumed twice", since="5.0", hazard="side-effect",
            needs=target(suspended=True), spec=["F-41", "R-PRC-013", "R-PRC-014"],
            steps=[resume("a"), resume("b")])
FILE.client(20043, "environment-of-a-suspended-runtime", "A suspended runtime sends its environment, and accepts a variable",
            since="6.0",
            hazard="harmful", needs=target(suspended=True), spec=["R-ENV-001", "R-ENV-012"],
            steps=[exchange("a", message(ENVIRONMENT), ok_head(6), anything(4, "block"), anything(2), counted("block")),
                   variable("b", "DIAG_SUSPENDED", "x", SUCCESS), variable("c", "DIAG_SUSPENDED", None, SUCCESS)])
