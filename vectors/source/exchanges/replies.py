"""vectors/exchanges/replies.json: replies of every kind, as a client meets them."""
from answers import (COOKIE, GENERIC_OK, OK_VALUE, SUCCESS, answered, ask, cut, error_is, left_open, malformed, no_reply, ok)
from notation import ERROR, MAGIC, array, guid, header, hexa, message, string, u8, u16, u32, u64
from script import (BAD_ENCODING, E_FAIL, INVALIDARG, UNKNOWN_COMMAND, ScriptFile, accept, anything, close, ended, error, expect,
                    repeated, reset, send, wait)

FILE = ScriptFile("replies", "Replies, played to a client", 21000, 21099)
INFO_FIELDS = [u64(4242), guid(COOKIE), string("app --serve"), string("Linux"), string("x64")]
INFO_VALUE = {"processId": "4242", "runtimeCookie": COOKIE, "commandLine": "app --serve", "OS": "Linux", "arch": "x64"}
INFO2_FIELDS = [*INFO_FIELDS, string("app"), string("10.0.9")]
INFO2_VALUE = {**INFO_VALUE, "managedEntrypointAssemblyName": "app", "clrProductVersion": "10.0.9"}
INFO2_REPLY = message(0xFF00, *INFO2_FIELDS)
RESUME, INFO2, DUMP3 = message(0x0401), message(0x0404), message(0x0103, string("core.dmp"), u32(4), u32(0))
DUMP3_VALUE = {"dumpName": "core.dmp", "dumpType": 4, "flags": 0}
DUMP = message(0x0101, string("core.dmp"), u32(4), u32(0))
DUMP_VALUE = {"dumpName": "core.dmp", "dumpType": 4, "diagnostics": 0}
STOP = message(0x0201, u64(42))


def script(sc, name, comment, spec, asked, steps, outcome, since=None, client=None):
    FILE.runtime(sc, name, comment, spec=spec, ask=asked, steps=steps, outcome=outcome, since=since, client=client)


def resume(sc, name, comment, spec, steps, outcome, **keys):
    script(sc, name, comment, spec, ask("Process/ResumeRuntime", **keys), steps, outcome, "5.0")


def info2(sc, name, comment, spec, steps, outcome, **keys):
    script(sc, name, comment, spec, ask("Process/ProcessInfo2", **keys), steps, outcome, "6.0")


def stopping(sc, name, comment, spec, reply, outcome, client=None):
    script(sc, name, comment, spec, ask("EventPipe/StopTracing", {"sessionId": "42"}), answered(STOP, reply), outcome, client=client)


# --- OK ------------------------------------------------------------------------------------------------------------
resume(21000, "ok-24", "An OK of 24 bytes", ["F-41", "R-PRC-012", "R-FLW-011"], answered(RESUME, SUCCESS), ok(OK_VALUE))
resume(21001, "ok-20", "The generic OK of 20 bytes: no runtime sends it, and a client accepts it", ["F-2", "R-HDR-005", "R-CMD-036"],
       answered(RESUME, GENERIC_OK), ok({}))
resume(21002, "ok-28-for-24", "An OK with four bytes more than the reply needs, as printed", ["F-1", "F-49"],
       answered(RESUME, message(0xFF00, u32(0), u32(0))), ok(OK_VALUE))
stopping(21003, "ok-28", "An OK of 28 bytes: the id of a session", ["R-EVP-063", "R-EVP-064"], message(0xFF00, u64(42)),
         ok({"sessionId": "42"}))
stopping(21004, "ok-20-for-28", "The generic OK in place of an id", ["F-2", "R-CMD-036"], GENERIC_OK, ok({}))
stopping(21005, "ok-24-for-28", "An OK with half an id", ["R-EVP-063"], message(0xFF00, u32(42)),
         malformed("payload", "unexpected_end", 20), client={"open": True})
stopping(21006, "ok-32-for-28", "An OK with four bytes after the id", ["F-4"], message(0xFF00, u64(42), u32(7)),
         ok({"sessionId": "42"}))
script(21007, "process-info-reply", "The reply to ProcessInfo, in the order of the wire", ["F-34", "R-PRC-003"],
       ask("Process/ProcessInfo"),
       answered(message(0x0400), message(0xFF00, *INFO_FIELDS)), ok(INFO_VALUE), "5.0")
info2(21008, "process-info2-reply", "The reply to ProcessInfo2", ["F-34", "R-PRC-018"], answered(INFO2, INFO2_REPLY),
      ok(INFO2_VALUE))
script(21009, "process-info3-reply", "The reply to ProcessInfo3", ["F-34", "F-36", "R-PRC-035"], ask("Process/ProcessInfo3"),
       answered(message(0x0408), message(0xFF00, u32(1), *INFO2_FIELDS, string("linux-x64"))),
       ok({"version": 1, **INFO2_VALUE, "runtimeIdentifier": "linux-x64"}), "8.0")
script(21010, "process-info3-reply-of-a-later-version", "A reply to ProcessInfo3 of version 2, which has appended something",
       ["F-36", "R-PRC-037"],
       ask("Process/ProcessInfo3"), answered(message(0x0408),
                                             message(0xFF00, u32(2), *INFO2_FIELDS, string("linux-x64"), hexa("01020304"))),
       ok({"version": 2, **INFO2_VALUE, "runtimeIdentifier": "linux-x64", "tail": "01020304"}), "8.0")
info2(21011, "process-info2-generic-ok", "The generic OK: success, but nothing about the process", ["F-2", "R-CMD-036"],
      answered(INFO2, GENERIC_OK), ok({}))
info2(21012, "reply-in-bytes", "A reply whose first 40 bytes, the header and 20 of the payload, arrive one by one", ["R-HDR-002"],
      [accept("a"), expect("a", INFO2), send("a", INFO2_REPLY, chunks=[*[1] * 40, len(INFO2_REPLY) - 40]), close("a")],
      ok(INFO2_VALUE))
info2(21013, "reply-header-in-pieces", "A header in three pieces, and the payload", ["R-HDR-002"],
      [accept("a"), expect("a", INFO2), send("a", INFO2_REPLY, chunks=[13, 2, 5, len(INFO2_REPLY) - 20]), close("a")],
      ok(INFO2_VALUE))
resume(21014, "reply-reserved", "Any `reserved` in a reply", ["F-4", "R-HDR-014"],
       answered(RESUME, message(0xFF00, u32(0), reserved=0x0101)), ok(OK_VALUE))
resume(21015, "reply-late", "A reply after two seconds", ["R-ERR-004"],
       [accept("a"), expect("a", RESUME), wait(2000), send("a", SUCCESS), close("a")], ok(OK_VALUE))
resume(21016, "bytes-behind-the-reply", "Bytes after a reply are not part of it", ["R-HDR-016"],
       answered(RESUME, (SUCCESS, hexa("0102030405"))), ok(OK_VALUE))
resume(21017, "reply-and-no-end", "The runtime does not close after its reply: the client need not wait for that", ["R-FLW-006"],
       left_open(RESUME, SUCCESS), ok(OK_VALUE))
resume(21018, "reply-and-reset", "The reply, and then a reset: the reply counts", ["F-70"],
       [accept("a"), expect("a", RESUME[:19]), send("a", SUCCESS), reset("a")], ok(OK_VALUE))
info2(21019, "largest-reply", "A reply of 65,535 bytes", ["R-HDR-011", "F-40"],
      [accept("a"), expect("a", INFO2), send("a", header(0xFF00, 65535), INFO2_FIELDS,
                                             repeated(b"\xa5", 65515 - len(b"".join(INFO2_FIELDS)))), close("a")], ok(INFO2_VALUE))

# --- errors --------------------------------------------------------------------------------------------------------
resume(21020, "error-24", "An error of 24 bytes", ["F-1", "R-ERR-005", "R-ERR-006", "R-ERR-024"],
       answered(RESUME, error(BAD_ENCODING)), error_is(BAD_ENCODING))
resume(21021, "error-28", "An error of 28 bytes, as printed", ["F-1", "R-ERR-006"],
       answered(RESUME, message(ERROR, u32(BAD_ENCODING), u32(0))), error_is(BAD_ENCODING))
resume(21022, "error-and-no-end", "An error, and the connection stays open: the client concludes at once",
       ["F-5", "F-74", "R-ERR-002"],
       left_open(RESUME, error(BAD_ENCODING)), error_is(BAD_ENCODING))
resume(21023, "error-before-the-request-is-read",
       "The runtime refuses and closes before it has read the request, so that sending may fail: the error can still be read",
       ["R-ERR-001", "R-ERR-003"], [accept("a"), send("a", error(E_FAIL)), reset("a")], error_is(E_FAIL))
script(21024, "error-while-a-long-request-is-sent", "The runtime refuses after the header of a request of 60,000 bytes",
       ["R-ERR-001", "R-ERR-003", "F-70"],
       ask("Process/SetEnvironmentVariable", {"name": "N", "value": "v" * 29983}),
       [accept("a"), expect("a", header(0x0403, 60000)), send("a", error(E_FAIL)), reset("a")], error_is(E_FAIL), "6.0")
resume(21025, "error-unknown-code", "An unknown code is kept", ["R-ERR-023"], answered(RESUME, error(0x8BADF00D)),
       error_is(0x8BADF00D))
script(21026, "error-envvar-not-found", "A missing variable, as shipped", ["F-80", "R-ERR-022"],
       ask("Process/SetEnvironmentVariable", {"name": "GONE", "value": None}),
       answered(message(0x0403, string("GONE"), string(None)), error(0x800700CB)), error_is(0x800700CB), "6.0")
resume(21027, "error-without-code", "An error of 20 bytes, without a code", ["R-ERR-006"], answered(RESUME, message(ERROR)),
       malformed("payload", "unexpected_end", 20))
script(21028, "dump3-error-with-a-text", "An error of GenerateCoreDump3, with its text", ["F-50", "F-81", "R-DMP-011"],
       ask("Dump/GenerateCoreDump3", DUMP3_VALUE),
       answered(DUMP3, message(ERROR, u32(E_FAIL), string("no space"))), error_is(E_FAIL, message="no space"), "7.0")
script(21029, "dump3-error-without-a-text", "An error of GenerateCoreDump3 without a text", ["F-50"],
       ask("Dump/GenerateCoreDump3", DUMP3_VALUE),
       answered(DUMP3, error(E_FAIL)), error_is(E_FAIL), "7.0")
script(21030, "dump3-error-with-a-cut-text", "An error of GenerateCoreDump3 whose text is shorter than its count",
       ["F-50", "R-GRM-007"],
       ask("Dump/GenerateCoreDump3", DUMP3_VALUE), answered(DUMP3, message(ERROR, u32(E_FAIL), u32(9), hexa("6e006f000000"))),
       malformed("payload", "count_too_large", 24), "7.0")

# --- no reply at all -----------------------------------------------------------------------------------------------
info2(21035, "raw-bytes", "Raw bytes without a header, as runtimes answer a ProcessInfo with a payload: never data", ["F-71"],
      left_open(INFO2, hexa("5041594c4f414421") + bytes(20)), malformed("header", "bad_magic", 0))
info2(21036, "wrong-magic-at-its-end", "A magic whose last byte is wrong", ["F-71", "R-HDR-010"],
      left_open(INFO2, message(0xFF00, *INFO2_FIELDS, magic=MAGIC[:13] + b"!")), malformed("header", "bad_magic", 13))
info2(21037, "advertise-for-a-reply", "An advertise in place of a reply", ["R-HDR-010"],
      left_open(INFO2, b"ADVR_V1\0" + guid(COOKIE) + u64(4242) + u16(0)), malformed("header", "bad_magic", 0))
for sc, size in ((21038, 0), (21039, 19)):
    info2(sc, f"reply-size-{size}", f"A reply whose `size` is {size}", ["R-HDR-015"], left_open(INFO2, header(0xFF00, size)),
          malformed("transport", "size_too_small", 14))
info2(21040, "request-for-a-reply", "The request returned as the reply", ["R-CMD-009"], left_open(INFO2, INFO2),
      malformed("reply", "not_a_reply", 16))
info2(21041, "server-id-1", "A server's message that is neither OK nor Error", ["R-CMD-010", "R-CMD-011"],
      left_open(INFO2, message(0xFF01, u32(0))), malformed("reply", "not_a_reply", 17))
info2(21042, "reply-with-a-cut-string", "A reply whose payload ends inside a string", ["R-GRM-007", "R-PRC-018"],
      left_open(INFO2, message(0xFF00, u64(4242), guid(COOKIE), u32(9), hexa("6100"))), malformed("payload", "count_too_large", 44))
info2(21043, "closed-without-a-reply", "The runtime closes without a reply", ["R-ERR-003"], answered(INFO2), no_reply("closed"))
info2(21044, "reset-without-a-reply", "The connection is reset without a reply", ["R-ERR-003", "F-70"],
      [accept("a"), expect("a", INFO2[:19]), reset("a")], no_reply("reset"))
info2(21045, "never-answered", "The runtime is stopped, or busy with another client: it sends nothing", ["F-75", "R-ERR-004"],
      left_open(INFO2), no_reply("timed_out"), patience_ms=300)
for sc, n in ((21046, 1), (21047, 19), (21048, 20), (21049, 23)):
    resume(sc, f"reply-cut-after-{n}", f"The runtime closes after {n} of 24 bytes", ["R-ERR-003"], answered(RESUME, SUCCESS[:n]),
           cut(n, "closed"))
resume(21050, "reply-cut-by-a-reset", "The connection is reset after 22 of 24 bytes", ["R-ERR-003"],
       [accept("a"), expect("a", RESUME[:19]), send("a", SUCCESS[:22]), reset("a")], cut(22, "reset"))
resume(21051, "reply-that-stops", "After 22 of 24 bytes nothing follows", ["R-ERR-004"], left_open(RESUME, SUCCESS[:22]),
       cut(22, "timed_out"), patience_ms=300)
resume(21052, "reply-cut-says-more-than-it-has", "`size` 28 in the header, 24 bytes, and the end", ["F-1", "R-ERR-003"],
       answered(RESUME, header(0xFF00, 28) + u32(0)), cut(24, "closed"))

# --- the room that a client has ------------------------------------------------------------------------------------
SIZE = len(INFO2_REPLY)
info2(21055, "reply-larger-than-the-buffer", "A reply one byte larger than the client's buffer", ["R-HDR-009"],
      left_open(INFO2, INFO2_REPLY),
      {"outcome": "buffer_too_small", "size": SIZE}, buffer=SIZE - 1)
info2(21056, "reply-that-fills-the-buffer", "A reply of exactly the size of the client's buffer", ["R-HDR-009"],
      answered(INFO2, INFO2_REPLY), ok(INFO2_VALUE), buffer=SIZE)
info2(21057, "header-announces-65535",
      "A header that announces 65,535 bytes, and nothing after it: a client with a smaller buffer need not wait", ["R-HDR-011"],
      left_open(INFO2, header(0xFF00, 65535)), {"outcome": "buffer_too_small", "size": 65535}, buffer=1024)

# --- a second reply ------------------------------------------------------------------------------------------------
def dump(sc, name, comment, steps, second, **keys):
    script(sc, name, comment, ["F-81"], ask("Dump/GenerateCoreDump", DUMP_VALUE, **keys), steps,
           ok(OK_VALUE, "another_reply", second=second))


dump(21060, "dump-one-reply", "A dump: OK, and the end", answered(DUMP, SUCCESS), no_reply("closed"))
dump(21061, "dump-second-reply-error", "A second reply follows, and revokes the success", answered(DUMP, SUCCESS, error(E_FAIL)),
     error_is(E_FAIL))
dump(21062, "dump-second-reply-ok", "A second OK follows in the same write", answered(DUMP, (SUCCESS, SUCCESS)),
     ok(OK_VALUE, "another_reply"))
dump(21063, "dump-second-reply-cut", "A second reply is cut", answered(DUMP, SUCCESS, SUCCESS[:20]), cut(20, "closed"))
dump(21064, "dump-and-no-end", "OK, and the connection stays open", left_open(DUMP, SUCCESS), no_reply("timed_out"),
     patience_ms=300)
script(21065, "dump-takes-its-time", "The reply to a dump is sent only when it is written", ["R-DMP-009", "F-75"],
       ask("Dump/GenerateCoreDump", DUMP_VALUE),
       [accept("a"), expect("a", DUMP), wait(3000), send("a", SUCCESS), close("a")],
       ok(OK_VALUE, "another_reply", second=no_reply("closed")))
script(21066, "attach-profiler-takes-its-time", "The reply to AttachProfiler is sent only when the profiler is attached",
       ["R-PRF-010", "F-55"],
       ask("Profiler/AttachProfiler", {"attachTimeout": 5000, "profilerGuid": COOKIE, "profilerPath": "/p.so",
                                       "clientData": "0102"}),
       [accept("a"), expect("a", message(0x0301, u32(5000), guid(COOKIE), string("/p.so"), array(b"\x01", b"\x02"))), wait(2000),
        send("a", SUCCESS), close("a")], ok(OK_VALUE), "3.0")

# --- the protocol before this one ----------------------------------------------------------------------------------
def older(sc, name, comment, spec, kind, steps, outcome):
    FILE.runtime(sc, name, comment, spec=spec, ask={"old_protocol": True, "value": {"RequestType": kind, "Pid": 4242}},
                 steps=[accept("a"), expect("a", u32(kind), u32(4242)), *steps], outcome=outcome)


older(21080, "old-collect", "The protocol before this one: the id of a session, bare, and the stream",
      ["R-LEG-014", "R-LEG-017", "R-LEG-018", "R-LEG-021"], 1026,
      [send("a", u64(7)), send("a", b"Nettrace"), close("a")],
      ok({"bits": 64, "sessionId": "7"}, "stream", stream={"bytes": 8, "end": "incomplete"}))
older(21081, "old-collect-refused", "An id of 0 is an error, and the end follows", ["R-LEG-019"], 1026,
      [send("a", u64(0)), close("a")], ok({"bits": 64, "sessionId": None}))
older(21082, "old-stop", "The reply to a stop is the id of the session", ["R-LEG-016", "R-LEG-020"], 1025,
      [send("a", u64(7)), close("a")], ok({"bits": 64, "sessionId": "7"}))
older(21083, "old-start-to-a-file", "A session that is written to a file", ["R-LEG-015", "R-LEG-021"], 1024,
      [send("a", u64(7)), close("a")], ok({"bits": 64, "sessionId": "7"}))
older(21084, "old-reply-cut", "The id is cut", ["R-LEG-018", "R-ERR-003"], 1026, [send("a", u32(7)), close("a")], cut(4, "closed"))
