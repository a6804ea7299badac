"""diagipc/clients/scenarios/each_operation.json: which replies a client accepts, for each operation that can have them."""
from asked import FIELDS, answered, asked, payload
from nettrace import COUNTERS, HEAD, TAIL
from notation import OK, message, string, u32, u64, utf16
from scenario import (ENTRIES, OPERATIONS, PROCESS_INFO2, RESULTS, Scenarios, announced, answer, block, gives_up, lets_go,
                      leaves, ok, refuses, request, settles, stop,
                      texts_of)
from script import BAD_ENCODING, E_FAIL, UNKNOWN_COMMAND, accept, close, error, repeated

FILE = Scenarios("each_operation", "Which replies a client accepts, for each operation")
# The operations in the order of the reports.
ASKING = [*RESULTS, "process-info", "environment", "trace", "stop", "user-events"]
assert sorted(ASKING) == sorted(OPERATIONS)

for operation in RESULTS:
    for size in (20, 24, 28):
        FILE.add(f"reply/ok-{size}/{operation}", f"An OK of {size} bytes", ["F-1", "F-2", "F-41"], operation,
                 asked(operation, answer("a", ok(bytes(size - 20))), settles("a"), close("a")), "success", ok_size=size)


def refusals(operation):
    """Adds errors: the header marks them, even if the code looks like a success."""
    for what, comment, spec, code, end, fault in (
            ("error", "An error, and a close", ["F-1", "R-ERR-001"], E_FAIL, close("a"), "error-treated-as-success"),
            ("error-and-no-end", "An error, and no close", ["F-5", "F-74"], BAD_ENCODING, lets_go("a"), "error-treated-as-success"),
            ("unknown-command", "UNKNOWN_COMMAND, as older runtimes answer", ["F-48", "R-ERR-009"], UNKNOWN_COMMAND, close("a"),
             "error-treated-as-success"),
            ("error-of-code-0", "An error whose code is 0", ["R-ERR-005"], 0, close("a"), "error-code-0-taken-for-ok"),
            ("error-of-code-1", "An error whose code is 1: as an HRESULT that is a success", ["R-ERR-005"], 1, close("a"),
             "error-code-0-taken-for-ok")):
        FILE.add(f"reply/{what}/{operation}", comment, spec, operation, asked(operation, answer("a", error(code)), end), "failure",
                 reveals=fault, refused_with=f"0x{code:08X}")


def no_replies(operation):
    """Adds replies in which all fields but one are right for an OK."""
    for what, spec, fault, code, keys in (
            ("wrong-magic", "F-71", "magic-unchecked", OK, {"magic": b"DOTNET_IPC_V2\0"}),
            ("wrong-command-set", "R-HDR-002", "reply-command-set-unchecked", 0x0400, {}),
            ("wrong-command-id", "R-CMD-011", "reply-command-set-unchecked", 0xFF01, {})):
        after = {"environment": [answer("a", block(*ENTRIES)), close("a")],
                 "trace": [answer("a", HEAD), refuses("a")]}.get(operation, [close("a")])
        FILE.add(f"reply/{what}/{operation}", "An OK with one wrong header field: not a reply", [spec], operation,
                 asked(operation, answer("a", message(code, *payload(operation), **keys)), after), "failure", reveals=fault)


def ends(operation):
    reply = ok(*payload(operation))
    for what, sent in (("before-the-reply", b""), ("in-the-header", reply[:11]), ("in-the-payload", reply[:-1])):
        FILE.add(f"end/{what}/{operation}", f"The connection ends early: {what}", ["R-ERR-003"], operation,
                 asked(operation, [answer("a", sent)] if sent else [], close("a")), "failure",
                 reveals="reply-cut-unnoticed" if sent else "no-reply-taken-for-ok")


def silences(operation):
    # A stop is answered once the stream is drained, and a dump once it is written, however long that takes (F-75).
    is_open = operation in ("stop", "dump") and "open"
    for what, sent in (("at-once", b""), ("in-the-reply", ok(*payload(operation))[:21])):
        FILE.add(f"silence/{what}/{operation}", f"The runtime sends nothing more: {what}", ["F-75", "R-ERR-004"], operation,
                 asked(operation, [answer("a", sent)] if sent else [], gives_up("a")), "failure",
                 reveals="reply-cut-unnoticed" if sent else "no-reply-taken-for-ok", flags=["silent", is_open])


for operation in ASKING:
    refusals(operation)
    no_replies(operation)
    ends(operation)
    silences(operation)
    FILE.add(f"pieces/bytes/{operation}", "The reply arrives byte by byte", ["R-HDR-002"], operation, answered(operation, in_bytes=True),
             "success", reveals="reply-in-pieces-misread")
    FILE.add(f"reply/reserved/{operation}", "A reply whose reserved field is not 0", ["R-HDR-014", "F-4"], operation,
             answered(operation, reserved=0x5A5A), "success", reveals="reply-reserved-insisted-on")

# A suspended runtime sends no byte of a stream. A stop harms the next session there (F-160), so a client need not send one.
FILE.add("silence/until-the-stop/trace", "No byte of the stream arrives in the time of the session", ["F-76", "F-160"], "trace",
         asked("trace", answer("a", ok(u64(42))), accept("b"), stop("b"), answer("a", HEAD + TAIL), answer("b", ok(u64(42))), close("b"), close("a")),
         "any", output={"stream": [(HEAD + TAIL).hex()], "counters": COUNTERS, "may_be_cut": True}, flags=["open"])
FILE.add("silence/after-the-stop/trace", "The stop is answered, and the stream neither goes on nor ends", ["F-75", "R-ERR-004"], "trace",
         asked("trace", answer("a", ok(u64(42))), answer("a", HEAD), accept("b"), stop("b"), answer("b", ok(u64(42))), close("b"), gives_up("a")),
         "failure", flags=["silent", "open"])

# Where the document has no HRESULT in the reply, the result is left open.
HAS_RESULT = {"dump": "R-DMP-008", "attach": "R-PRF-009", "perf-map": "R-PRC-026", "perf-map-off": "R-PRC-029", "startup-hook": "R-PRC-033",
              "set-env": "R-ENV-015", "unset-env": "R-ENV-015"}
for operation in RESULTS:
    requirement = HAS_RESULT.get(operation)
    FILE.add(f"reply/ok-with-failing-hresult/{operation}", "An OK with a failing HRESULT", [requirement or "F-41", "R-ERR-007"], operation,
             asked(operation, answer("a", ok(u32(E_FAIL))), close("a")), "failure", reveals="failing-hresult-ignored",
             flags=[requirement is None and "open"])
# The stream does not contain the other half.
FILE.add("reply/half-an-id/trace", "An OK with half a session id, and a stream", ["R-ERR-003", "R-HDR-002"], "trace",
         asked("trace", answer("a", ok(u32(42))), answer("a", HEAD), refuses("a")), "failure", reveals="reply-too-short-accepted")


# --- strings that current runtimes do not write: the length gives the number of units --------------------------------
def bare(text):
    """Returns a string without its NUL."""
    return u32(len(text)) + utf16(text)


def texts(name, comment, spec, operation, steps, exit, fault, *expected, **keys):
    FILE.add(name, comment, spec, operation, steps, exit, output=texts_of(fault, *expected), **keys)


LONG = "x" * 10000


def written(sent):
    """Returns the same bytes, with the long text abbreviated."""
    before, long, after = sent.partition(LONG.encode("utf-16-le"))
    return (before, repeated(b"x\0", len(LONG)), after) if long else sent


def info(*fields):
    return [accept("a"), request("a", PROCESS_INFO2, "unknown"), answer("a", written(ok(*fields))), close("a")]


def environment(sent, *surplus):
    return [accept("a"), request("a"), answer("a", ok(announced(sent), *surplus)), answer("a", written(sent)), close("a")]


PID, COOKIE, COMMAND, OS, ARCH, ASSEMBLY, VERSION = FIELDS
texts("strings/length-0/process-info", "A string of length 0 before another one", ["F-11", "R-GRM-010"], "process-info",
      info(PID, COOKIE, COMMAND, OS, ARCH, string(None), VERSION), "success", "string-of-length-0-misread", "app --serve", "10.0.9",
      reveals="string-of-length-0-misread")
TEXTS = [("spaces", "A text with spaces at its ends", "  app --serve  "),
         ("outside-ascii", "A text with characters outside ASCII", "caf\u00e9 \u6f22\u5b57 \U0001f600"),
         ("10-kb", "A text of 10 KB", LONG)]
for what, comment, text in TEXTS:
    texts(f"strings/{what}/process-info", comment, ["R-GRM-008", "F-34"], "process-info",
          info(PID, COOKIE, string(text), OS, ARCH, ASSEMBLY, VERSION), "success", "process-info-lost", text)
WITHOUT_NUL = "A string without its NUL: refused, or output whole"
texts("strings/without-nul/process-info", WITHOUT_NUL, ["R-GRM-008"], "process-info",
      info(PID, COOKIE, bare("app --serve"), OS, ARCH, ASSEMBLY, VERSION), "any", "string-without-nul-cut", "app --serve")
texts("strings/without-nul/environment", WITHOUT_NUL, ["R-GRM-008"], "environment",
      environment(u32(2) + bare("A=12") + string("B=2")), "any", "string-without-nul-cut", "A=12")

# --- replies that are larger than necessary: what continues begins after them -----------------------------------------
SURPLUS = bytes.fromhex("11223344")
FILE.add("size-field/session", "Bytes after the session's id: the stream begins after them", ["F-4", "F-2"], "trace",
         asked("trace", answer("a", ok(u64(42), SURPLUS)), answer("a", HEAD), accept("b"), stop("b"), answer("a", TAIL), answer("b", ok(u64(42))),
               close("b"), close("a")),
         "success", output={"stream": [(HEAD + TAIL).hex()], "not_before": [SURPLUS.hex()], "counters": COUNTERS}, reveals="reply-surplus-refused")
FILE.add("size-field/environment", "Bytes after `future`: the block begins after them", ["F-4"], "environment",
         environment(block(*ENTRIES), SURPLUS), "success", output={"environment": ENTRIES}, reveals="reply-surplus-refused")
for operation, what in (("process-info", "of a later version"), ("stop", "behind the session's id"), ("user-events", "behind the session's id")):
    FILE.add(f"size-field/{operation}", f"Bytes {what}: they are skipped", ["F-4", "F-2"], operation,
             asked(operation, answer("a", ok(*payload(operation), SURPLUS)), close("a")), "success", reveals="reply-surplus-refused")

# --- entries of the environment --------------------------------------------------------------------------------------
for what, comment, fault, entries in (
        ("without-equals", "An entry without `=`", "environment-entry-without-equals", ["A=1", "NOEQUALS", "B=2"]),
        ("leading-equals", "An entry that begins with `=`", None, ["=C:=C:\\", "A=1"]),
        ("twice", "A name that occurs twice", None, ["A=1", "A=2"]),
        ("empty-value", "An empty value", None, ["A=", "B=2"]),
        ("spaces", "A value with spaces at its ends", None, ["A=  two  ", "B=2"]),
        ("10-kb", "A value of 10 KB", None, [f"A={LONG}", "B=2"]),
        ("non-bmp", "Characters of two units", None, ["A=\U0001f600", "\U00010437=2"])):
    FILE.add(f"entries/{what}", comment, ["F-79", "F-43"], "environment", environment(block(*entries)), "success",
             output={"environment": entries}, reveals=fault)

FILE.add("fallback/no-close", "UNKNOWN_COMMAND and no close: the older command is sent on a new connection", ["R-ERR-009", "F-70"],
         "process-info",
         [accept("a"), request("a", "Process/ProcessInfo3", "unknown"), answer("a", error(UNKNOWN_COMMAND)), leaves("a"),
          accept("b"), request("b", PROCESS_INFO2, "unknown"), answer("b", error(E_FAIL)), close("b")],
         "failure", reveals="error-treated-as-success", refused_with=f"0x{E_FAIL:08X}", arguments={"command": "ProcessInfo3"}, flags=["falls-back"])
