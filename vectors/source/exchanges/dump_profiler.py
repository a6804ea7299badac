"""vectors/exchanges/dump_profiler.json: commands of the Dump and Profiler sets."""
from notation import ERROR, MAGIC, array, guid, hexa, message, string, u16, u32
from script import (BAD_ENCODING, E_FAIL, ScriptFile, answers, anything, counted, deviation, ended, error, expect, expect_any_of, nothing, open_,
                    file, process_info2_reply, send, target,
                    wait, SUCCESS, replied, succeeded)

FILE = ScriptFile("dump_profiler", "Commands of the Dump and Profiler sets, played against a runtime", 20500, 20549)
DUMP, DUMP2, DUMP3, ATTACH, STARTUP, INFO2 = 0x0101, 0x0102, 0x0103, 0x0301, 0x0302, 0x0404
SUSPENDED = target(suspended=True)
NIL = guid("00000000-0000-0000-0000-000000000000")
SOME = guid("c7ba04b0-5a51-4d0d-9a5a-2d5c0b5d0001")


def exchange(request, *reply, within=None):
    return [open_("a"), send("a", request), replied("a", *reply, within=within), ended("a"), answers()]


def script(sc, name, comment, spec, steps, since=None, needs=None, deviations=(), hazard="side-effect", habit=None):
    FILE.client(sc, name, comment, since=since, hazard=hazard, needs=needs, spec=spec, steps=steps, deviations=deviations, habit=habit)


# --- dumps that are refused ----------------------------------------------------------------------------------------
for sc, code, since in ((20500, DUMP, "3.0"), (20502, DUMP2, "6.0")):
    for kind in (0, 5):
        script(sc + bool(kind), f"dump{'' if code == DUMP else 2}-type-{kind}", f"A dump of type {kind} is refused",
               ["P-3", "R-DMP-005", "R-ERR-006"],
               exchange(message(code, string("core.dmp"), u32(kind), u32(0)), error(E_FAIL)), since, habit="P-3")
for sc, kind in ((20504, 0), (20505, 5)):
    script(sc, f"dump3-type-{kind}",
           f"GenerateCoreDump3 of type {kind} is refused, and a text, here an empty one, follows the code",
           ["F-50", "F-81", "P-3", "R-DMP-011"],
           exchange(message(DUMP3, string("core.dmp"), u32(kind), u32(0)), message(ERROR, u32(E_FAIL), string(""))), "7.0", habit="P-3")
# --- profilers -----------------------------------------------------------------------------------------------------
NO_LIBRARY = "/no/such/profiler.so"
script(20520, "attach-profiler-no-library", "A missing library",
       ["P-5", "F-52", "F-53", "R-PRF-001", "R-PRF-002", "R-PRF-010"],
       exchange(message(ATTACH, u32(1000), SOME, string(NO_LIBRARY), array()), error(0x8007007E), within=15000), "3.0")
script(20521, "attach-profiler-no-path", "An absent path", ["P-5"],
       exchange(message(ATTACH, u32(1000), SOME, string(None), array()), error(E_FAIL), within=15000), "3.0")
script(20522, "attach-profiler-while-suspended", "Too early: the runtime does not run yet", ["F-56", "P-5", "R-ERR-018"],
       exchange(message(ATTACH, u32(1000), SOME, string(NO_LIBRARY), array()), error(0x8013135B), within=15000), "5.0", SUSPENDED)
script(20523, "startup-profiler-while-suspended", "A profiler for the start: success, even if its library is missing",
       ["F-51", "P-4", "R-PRF-011"],
       [wait(1500), exchange(message(STARTUP, NIL, string(NO_LIBRARY)), SUCCESS)], "6.0", SUSPENDED)
script(20524, "startup-profiler-too-late", "A profiler for the start of a runtime that already runs: success too",
       ["P-4", "R-PRF-011"],
       exchange(message(STARTUP, NIL, string(NO_LIBRARY)), SUCCESS), "6.0", target(environment={"DIAG_SCRIPT": "alone"}))
INVERTED = deviation("F-54", "bytes after the client data are refused", 2,
                     expect("a", error(BAD_ENCODING), within=15000), ended("a"), answers())
script(20526, "attach-profiler-with-bytes-behind", "Bytes after the client data are ignored", ["F-4", "F-54"],
       exchange(message(ATTACH, u32(1000), SOME, string(NO_LIBRARY), array(), u32(0)), error(0x8007007E), within=15000), "3.0",
       deviations=[INVERTED])
script(20527, "attach-profiler-with-bytes-behind-while-suspended", "Too early, with any bytes after the client data",
       ["F-54", "F-56", "P-5"],
       exchange(message(ATTACH, u32(1000), SOME, string(NO_LIBRARY), array(), u32(0)), error(0x8013135B), within=15000), "5.0",
       SUSPENDED)
script(20528, "attach-profiler-without-payload-while-suspended", "Too early, whatever the payload: it is answered before it is read",
       ["F-56", "F-153"], exchange(message(ATTACH), error(0x8013135B), within=15000), "5.0", SUSPENDED, hazard="harmful")
# --- dumps ---------------------------------------------------------------------------------------------------------
# 9.0.5 has a createdump that cannot be executed, and is unreachable after an attempt (P-6), so a valid dump is harmful.
# The document does not say what a dump is.
WRITES = "P-47"
ALONE = target(environment={"DIAG_SCRIPT": "alone"}, platform="linux")
IN_TURN = target(environment={"DIAG_SCRIPT": "alone"}, platform="linux", wants=["one-client-at-a-time"])


def dumped(request):
    """Returns the steps for the reply, the end, and the written file: an ELF file of type 4, a core."""
    return [open_("a"), send("a", request), succeeded("a", within=30000), ended("a"),
            file("core.dmp", b"\x7fELF", anything(12), u16(4))]


UNUSABLE = deviation("P-6", "its createdump cannot be executed", 2,
                     expect("a", MAGIC, anything(2, "size"), hexa("ffff0000"), counted("size", less=20), within=30000), ended("a"))
OPEN = deviation("P-30", "a child that does not end keeps the connection open", 3, nothing("a", 1500))
NONE = deviation("P-40", "it has no createdump, and leaves the connection open", 2, expect("a", error(E_FAIL)),
                 nothing("a"), answers())
for sc, name, code, since in ((20510, "dump", DUMP, "3.0"), (20511, "dump2", DUMP2, "6.0"), (20512, "dump3", DUMP3, "7.0")):
    script(sc, f"{name}-full", "A full dump to a file in the target's directory: the reply is sent when it is written",
           ["F-49", "F-50", "R-DMP-001", "R-DMP-002", "R-DMP-008", "R-DMP-009"],
           dumped(message(code, string("core.dmp"), u32(4), u32(0))), since, ALONE,
           [UNUSABLE, OPEN, *([NONE] if code == DUMP else [])], "harmful", WRITES)
script(20516, "dump-where-a-crash-writes-one", "DOTNET_DbgEnableMiniDump=1, which makes a crash write a dump: a requested one is written as before",
       ["F-49", "F-98", "R-DMP-001", "R-DMP-009"], dumped(message(DUMP, string("core.dmp"), u32(4), u32(0))), "3.0",
       target(environment={"DOTNET_DbgEnableMiniDump": "1"}, platform="linux"), [UNUSABLE, OPEN, NONE], "harmful", WRITES)
script(20513, "dump-in-progress-blocks-others", "While a dump is written, no other client is served", ["F-75", "R-DMP-009"],
       [open_("a"), send("a", message(DUMP, string("core.dmp"), u32(4), u32(0))), wait(50), open_("b"), send("b", message(INFO2)),
        nothing("b", 100),
        succeeded("a", within=30000), expect("b", process_info2_reply()), ended("b")], "6.0", IN_TURN,
       [deviation("P-6", "its createdump cannot be executed, and its socket is removed", 2,
                  expect("a", error(E_FAIL), within=30000), ended("a"))], "harmful")
script(20514, "dump-of-one-file", "A normal dump: a single-file runtime may refuse it, or reply OK and write none",
       ["F-81", "R-DMP-004"],
       [open_("a"), send("a", message(DUMP, string("core.dmp"), u32(1), u32(0))),
        expect_any_of("a", ("done", [SUCCESS]), ("the generic OK", [message(0xFF00)]), ("refused", [error(E_FAIL)]), within=30000)], "3.0", ALONE, hazard="harmful")
