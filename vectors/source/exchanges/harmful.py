"""vectors/exchanges/harmful.json: requests that kill a live runtime, or disclose its memory."""
from notation import array, boolean, header, message, string, u32, u64
from script import (BAD_ENCODING, INVALIDARG, ScriptFile, answers, anything, counted, dead, deviation, drain, ended, error, expect,
                    expect_any_of, nothing, open_, process_info2_reply, repeated, send, session, target)

FILE = ScriptFile("harmful", "Requests that harm live runtimes, played against one that was started for it", 20600, 20699)
QUIET = u64(0) + u32(4) + string("No-Such-Provider") + string(None)
NO_FILTER = boolean(False) + u32(0)


def script(sc, name, comment, spec, request, since, *deviations, reply=None, either=None, within=None):
    answer = expect_any_of("a", *either) if either else expect("a", *(reply or [error(BAD_ENCODING)]), within=within)
    FILE.client(sc, name, comment, since=since, hazard="harmful", spec=spec,
                steps=[open_("a"), send("a", request), answer, ended("a"), answers()], deviations=deviations)


def dies(fact="F-72"):
    return deviation(fact, "the process dies", 2, ended("a", "any"), dead())


STAYS_OPEN = deviation("F-74", "the connection stays open", 3, nothing("a"), answers())


# --- no payload where one must be ----------------------------------------------------------------------------------
EMPTY = ["F-10", "F-72", "R-ERR-008"]
for sc, name, code, since in ((20600, "dump", 0x0101, "3.0"), (20601, "dump2", 0x0102, "6.0"), (20602, "dump3", 0x0103, "7.0"),
                              (20603, "collect-tracing", 0x0202, "3.0"), (20604, "collect-tracing2", 0x0203, "3.0"),
                              (20605, "collect-tracing3", 0x0204, "9.0"), (20606, "collect-tracing4", 0x0205, "9.0"),
                              (20607, "collect-tracing5", 0x0206, "10.0"), (20608, "attach-profiler", 0x0301, "3.0"),
                              (20609, "startup-profiler", 0x0302, "6.0"), (20610, "set-variable", 0x0403, "6.0"),
                              (20611, "perf-map", 0x0405, "8.0"), (20612, "startup-hook", 0x0407, "8.0")):
    script(sc, f"{name}-without-payload", f"{code:#06x} without the payload that it needs",
           EMPTY + (["F-45", "F-84"] if code == 0x0405 else []) + (["F-74"] if code >> 8 == 2 else []),
           message(code), since, dies(), *([STAYS_OPEN] if code >> 8 == 2 else []))
script(20613, "stop-without-payload", "StopTracing without the payload that it needs", ["F-10", "F-72", "R-ERR-008"],
       message(0x0201), None)

# --- fields that are cut, left out, or out of bounds ---------------------------------------------------------------
script(20620, "stop-cut", "StopTracing with two of the eight bytes of its id", ["F-7", "R-ERR-008"], message(0x0201, b"\x2a\x00"),
       None,
       deviation("F-7", "OK, with the two bytes and six bytes of old memory", 2,
                 expect("a", header(0xFF00, 28), b"\x2a\x00", anything(6)), ended("a"), answers()))
script(20621, "process-info-with-payload", "ProcessInfo2 with a payload of 8 bytes, which a server ignores", ["F-71", "F-4"],
       message(0x0404, b"PAYLOAD!"), "6.0",
       deviation("F-71", "raw bytes without a header: the payload, and then memory", 2,
                 expect("a", b"PAYLOAD!", anything(20)), ended("a"), answers()),
       reply=process_info2_reply())
script(20622, "environment-with-payload", "ProcessEnvironment with a payload of 8 bytes, which a server ignores",
       ["F-71", "F-4"],
       message(0x0402, b"PAYLOAD!"), "5.0",
       deviation("F-71", "raw bytes without a header: the payload, then memory, then the block", 2,
                 expect("a", b"PAYLOAD!", anything(20)), drain("a"), ended("a"), answers()),
       reply=[header(0xFF00, 26), anything(4, "block"), anything(2), counted("block")])
script(20623, "dump-absent-name", "A dump whose name is absent: how to refuse it is unknown", ["F-72", "R-DMP-003"],
       message(0x0101, string(None), u32(1), u32(0)), "3.0", dies(),
       either=[("no encoding", [error(BAD_ENCODING)]), ("no argument", [error(INVALIDARG)])])
script(20624, "collect-tracing2-filter-data-left-out", "A provider without its last string, as \"optional\" may be read",
       ["F-83", "R-EVP-024"],
       message(0x0203, u32(1), u32(1), boolean(False), array(u64(0) + u32(4) + string("No-Such-Provider"))), "3.0",
       deviation("F-83", "read from the memory after the payload: accepted if that is zero, refused otherwise", 2,
                 expect_any_of("a", ("taken", [session()]), ("refused", [error(BAD_ENCODING)])), answers()))
script(20625, "collect-tracing4-as-printed", "CollectTracing4 as in the printed struct, without requestStackwalk", ["F-15", "F-84"],
       message(0x0205, u32(1), u32(1), u64(0), array(QUIET)), "9.0", STAYS_OPEN)
script(20626, "collect-tracing3-as-printed", "CollectTracing3 with the code of its header line, 0x0203: read as CollectTracing2",
       ["F-14", "F-84"],
       message(0x0203, u32(1), u32(1), boolean(False), boolean(False), array(QUIET)), "3.0", STAYS_OPEN)
script(20627, "collect-tracing2-no-buffer", "CollectTracing2 with a buffer of 0 MB", ["F-16", "F-72", "R-EVP-003"],
       message(0x0203, u32(0), u32(1), boolean(False), array(QUIET)), "3.0", STAYS_OPEN, dies())
script(20628, "collect-tracing2-format-2", "CollectTracing2 with format 2", ["F-16", "F-72", "R-EVP-004"],
       message(0x0203, u32(1), u32(2), boolean(False), array(QUIET)), "3.0", STAYS_OPEN, dies())
script(20629, "string-of-2-gib-units", "A string of 0x80000001 units, whose length in bytes is 2 in 32 bits", ["F-8", "R-GRM-007"],
       message(0x0403, u32(0x80000001), b"A\0", string("x")), "6.0")
script(20630, "filter-of-2-to-the-30-ids", "An event_filter with a count of 0x3FFFFFFF ids", ["F-9", "F-72", "F-171", "R-GRM-007"],
       message(0x0206, u32(0), u32(1), u32(1), u64(0), boolean(False), array(QUIET + boolean(True) + u32(0x3FFFFFFF))), "10.0",
       deviation("F-72", "memory for the count is filled, and the process dies", 2, ended("a", "any", within=60000, while_memory_grows=True),
                 dead(within=60000)),
       deviation("F-171", "memory for the count is filled, then the error, and the connection stays open (F-74)", 2,
                 expect("a", error(BAD_ENCODING), within=60000), nothing("a"), answers()), within=60000)
for sc, name, kind in ((20634, "all", 1), (20635, "jitdump", 2), (20636, "perfmap", 3), (20637, "top-bit", 0x80000000)):
    FILE.client(sc, f"perf-map-{name}-while-suspended", f"EnablePerfMap with type {kind:#x} before the start", since="8.0",
                hazard="harmful", needs=target(suspended=True), spec=["P-45", "R-PRC-026"],
                steps=[open_("a"), send("a", message(0x0405, u32(kind))), expect("a", message(0xFF00, u32(0))), ended("a"), answers()],
                deviations=[dies("P-45")])
script(20632, "providers-1001", "CollectTracing2 with 1001 providers", ["F-16", "F-72", "R-EVP-005"],
       [header(0x0203, 20 + 13 + 1001 * 24), u32(1), u32(1), boolean(False), u32(1001),
        repeated(u64(0) + u32(4) + string("P") + string(None), 1001)], "3.0",
       STAYS_OPEN, dies())
