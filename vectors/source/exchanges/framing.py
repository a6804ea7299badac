"""vectors/exchanges/framing.json: headers and payloads in pieces, cut, too long, wrong; and which side waits."""
from notation import MAGIC, hexa, header, message, string, u16, u32, u64
from script import (BAD_ENCODING, IN_TURN, UNKNOWN_COMMAND, UNKNOWN_MAGIC, ScriptFile, answers, any_reply_head, close, counted, deviation, drain, target,
                    ended, error,
                    expect, half_close, nothing, open_, process_info2_reply, repeated, same, send, succeeded, wait)

FILE = ScriptFile("framing", "Framing and errors, played against a runtime", 20100, 20199)
INFO2, SET, STOP = 0x0404, 0x0403, 0x0201
ASK = message(INFO2)
MAGIC2 = b"DOTNET_IPC_V2\0"


def refused(request, hresult, on="a", how="closed"):
    return [open_(on), send(on, request), expect(on, error(hresult)), ended(on, how)]


# --- pieces --------------------------------------------------------------------------------------------------------
for sc, name, chunks in ((20100, "in-bytes", [1] * 20), (20101, "cut-behind-the-magic", [14, 6]), (20102, "cut-in-size", [15, 5]),
                         (20103, "last-byte-late", [19, 1])):
    FILE.client(sc, f"header-{name}",
                f"A header that arrives in pieces of {', '.join(map(str, chunks[:3]))} …" if len(chunks) > 3 else
                f"A header that arrives in pieces of {' and '.join(map(str, chunks))} bytes", since="6.0",
                spec=["F-69", "R-HDR-002"],
                steps=[open_("a"), send("a", ASK, chunks=chunks), expect("a", process_info2_reply()), ended("a")])
STOP42 = message(STOP, u64(42))


def pieces(chunks):
    """Returns pieces so far apart that a server has read the first before the second arrives, even on a busy machine."""
    if len(chunks) > 2:
        return [send("a", STOP42, chunks=chunks, may_fail=True)]
    return [send("a", STOP42[:chunks[0]]), wait(400), send("a", STOP42[chunks[0]:], may_fail=True)]


for sc, name, chunks in ((20104, "in-bytes", [1] * 28), (20105, "after-the-header", [20, 8]), (20106, "cut-in-two", [24, 4]),
                         (20107, "with-the-headers-end", [19, 9])):
    FILE.client(sc, f"payload-{name}", "A request whose payload arrives " + {"in-bytes": "byte by byte",
        "after-the-header": "after its header",
                "cut-in-two": "in two pieces", "with-the-headers-end": "with the header's last byte"}[name],
                spec=["F-69", "R-HDR-002", "R-HDR-015"], habit="F-31",
                steps=[open_("a"), send("a", STOP42, chunks=chunks), expect("a", message(0xFF00, u64(42))), ended("a")],
                deviations=[] if chunks[0] == 20 else [deviation("P-39", "refused at the first piece", 1,
                    *pieces(chunks), expect("a", error(BAD_ENCODING)), ended("a", "any"))])

# --- the end of the input ------------------------------------------------------------------------------------------
for sc, n in ((20110, 0), (20111, 1), (20112, 13), (20113, 14), (20114, 16), (20115, 19)):
    FILE.client(sc, f"input-ends-after-{n}",
                f"The client's input ends after {n} bytes of the header: it is answered with BAD_ENCODING too",
                spec=["F-69", "R-ERR-008", "R-HDR-007"], habit="F-69",
                steps=[open_("a"), [send("a", ASK[:n])] if n else [], half_close("a"), expect("a", error(BAD_ENCODING)), ended("a"),
                       answers()])
for sc, n in ((20116, 20), (20117, 21), (20118, 27)):
    FILE.client(sc, f"input-ends-after-{n}", f"The client's input ends after {n} of the 28 bytes that `size` says",
                spec=["F-69", "R-ERR-008", "R-HDR-009"], habit="F-69",
                steps=[open_("a"), send("a", STOP42[:n]), half_close("a"), expect("a", error(BAD_ENCODING)), ended("a"), answers()])
FILE.client(20119, "input-ends-behind-the-request", "The client's input ends after a complete request: it is answered", since="6.0",
            spec=["F-69"],
            steps=[open_("a"), send("a", ASK), half_close("a"), expect("a", process_info2_reply()), ended("a")])
FILE.client(20120, "closed-without-a-word", "A client that closes before it has sent anything is forgotten",
            spec=["R-ERR-002", "F-69"],
            steps=[open_("a"), close("a"), answers()])
FILE.client(20121, "closed-inside-the-header", "A client that closes inside the header is forgotten", spec=["R-ERR-002", "F-69"],
            steps=[open_("a"), send("a", ASK[:10]), close("a"), answers()])
FILE.client(20122, "closed-inside-the-payload", "A client that closes inside the payload is forgotten", spec=["R-ERR-002", "F-69"],
            steps=[open_("a"), send("a", STOP42[:23]), close("a"), answers()])
FILE.client(20123, "closed-before-the-reply", "A client that closes before it has read the reply is forgotten", since="6.0",
            spec=["R-ERR-002"], steps=[open_("a"), send("a", ASK), close("a"), answers()])

# --- size ----------------------------------------------------------------------------------------------------------
for sc, size in ((20130, 0), (20131, 19)):
    FILE.client(sc, f"size-{size}", f"A `size` of {size} is less than the header", spec=["F-3", "R-HDR-015", "R-ERR-012"],
                steps=refused(header(INFO2, size), BAD_ENCODING))
FILE.client(20132, "size-19-and-a-wrong-magic", "`size` is checked before the magic", spec=["F-3", "F-69"], habit="F-69",
            steps=refused(header(INFO2, 19, magic=MAGIC2), BAD_ENCODING))
FILE.client(20133, "bytes-behind-size", "Bytes after `size` are never read: the reply, and then a reset", since="6.0",
            spec=["F-70", "R-HDR-016"], habit="F-70",
            steps=[open_("a"), send("a", ASK, bytes(4)), expect("a", process_info2_reply()), ended("a", "reset")])
FILE.client(20134, "second-request-with-the-first", "Of two requests in one write only the first is served", since="6.0",
            spec=["F-70", "R-FLW-018"], habit="F-70", steps=[open_("a"), send("a", ASK, ASK), expect("a", process_info2_reply()),
                                               ended("a", "reset")])
FILE.client(20135, "second-request-after-the-reply", "A second request on a connection is never served", since="6.0",
            spec=["F-70", "R-FLW-018"], habit="F-70",
            steps=[open_("a"), send("a", ASK), expect("a", process_info2_reply()), send("a", ASK, may_fail=True),
                   ended("a", "any")])
FILE.client(20136, "bytes-behind-size-after-an-error", "Bytes after `size` of a refused request: the error, and then a reset",
            spec=["F-70", "R-ERR-002"], habit="F-70", steps=refused(header(INFO2, 19) + bytes(4), BAD_ENCODING, how="reset"))
FILE.client(20137, "payload-bytes-behind-the-last-field", "Bytes after the last field, inside `size`, are ignored",
            spec=["F-4"], habit="F-31",
            steps=[open_("a"), send("a", message(STOP, u64(42), u32(7))), expect("a", message(0xFF00, u64(42))), ended("a")])
FILE.client(20138, "reserved-of-any-value", "`reserved` is ignored", since="6.0", spec=["F-4", "R-HDR-014"], habit="F-4",
            steps=[open_("a"), send("a", message(INFO2, reserved=0xFFFF)), expect("a", process_info2_reply()), ended("a")])
FILE.client(20139, "largest-message", "A message of 65,535 bytes is read to its end", spec=["R-HDR-011", "R-ERR-013"],
            steps=[open_("a"), send("a", header(0x6301, 65535), repeated(b"\xa5", 65515)), expect("a", error(UNKNOWN_COMMAND)),
                   ended("a")])
FILE.client(20140, "longest-variable", "A variable with a value of the largest length: 65,534 bytes of message", since="6.0",
            hazard="harmful",
            spec=["R-HDR-011", "R-ENV-012"],
            steps=[open_("a"), send("a", header(SET, 65534), string("DIAG_LONG"), u32(32743), repeated(b"v\0", 32742), u16(0)),
                   succeeded("a"), ended("a"),
                   open_("b"), send("b", message(SET, string("DIAG_LONG"), string(None))), succeeded("b"), ended("b")])

# --- magic and command ---------------------------------------------------------------------------------------------
FILE.client(20145, "wrong-magic", "Another version in the magic", spec=["F-69", "R-HDR-010", "R-ERR-010", "R-ERR-014"],
            steps=refused(message(INFO2, magic=MAGIC2), UNKNOWN_MAGIC))
FILE.client(20146, "wrong-magic-first-byte", "A magic whose first byte is wrong", spec=["F-69", "R-HDR-010"],
            steps=refused(message(INFO2, magic=b"d" + MAGIC[1:]), UNKNOWN_MAGIC))
FILE.client(20147, "wrong-magic-last-byte", "A magic without its NUL: all 14 bytes count", spec=["F-69", "R-HDR-010"],
            steps=refused(message(INFO2, magic=MAGIC[:13] + b"1"), UNKNOWN_MAGIC))
FILE.client(20148, "wrong-magic-and-unknown-command", "The magic is checked before the command", spec=["F-69"], habit="F-69",
            steps=refused(message(0x6301, magic=MAGIC2), UNKNOWN_MAGIC))
FILE.client(20149, "wrong-magic-is-answered-behind-the-payload", "A wrong magic is detected only after the whole payload",
            spec=["F-3", "F-69"], habit="F-69",
            steps=[open_("a"), send("a", header(INFO2, 40, magic=MAGIC2)), nothing("a"), send("a", bytes(19)), nothing("a"),
                   send("a", bytes(1)), expect("a", error(UNKNOWN_MAGIC)), ended("a")],
            deviations=[deviation("P-39", "the first piece of the payload is refused", 4, expect("a", error(BAD_ENCODING)),
                                  ended("a", "any"))])
for sc, code in ((20150, 0x0000), (20151, 0x0500), (20152, 0x6301), (20153, 0xFF00), (20154, 0xFFFF), (20164, 0xFE00), (20165, 0xFE09),
                 (20166, 0xFEFF)):
    FILE.client(sc, f"unknown-set-{code:04x}", f"Set 0x{code >> 8:02X} has no commands for a client",
                spec=["F-68", "R-ERR-009", "R-ERR-013", "R-ERR-002"],
                steps=refused(message(code), UNKNOWN_COMMAND))
# The id after a set's last command is missing on purpose: the next command of a runtime takes it.
for sc, code in ((20155, 0x0100), (20157, 0x0200), (20160, 0x04FF)):
    FILE.client(sc, f"unknown-id-{code:04x}", f"Set 0x{code >> 8:02X} has no id 0x{code & 0xFF:02X}",
                spec=["F-68", "R-ERR-009", "R-ERR-013", "R-ERR-002"],
                steps=refused(message(code), UNKNOWN_COMMAND))
FILE.client(20161, "unknown-command-with-a-payload", "The payload of an unknown command is read, and then refused",
            spec=["F-68", "F-69", "R-HDR-018"], habit="F-69",
            steps=[open_("a"), send("a", header(0x6301, 30)), nothing("a"), send("a", bytes(10)),
                   expect("a", error(UNKNOWN_COMMAND)), ended("a")])
FILE.client(20162, "unknown-id-0300",
            "An unknown id of the profiler set: the error, and the end. A client that waits only for the end may wait forever",
            hazard="harmful", spec=["F-5", "F-74", "R-ERR-002", "R-ERR-009"], steps=refused(message(0x0300), UNKNOWN_COMMAND),
            deviations=[deviation("F-74", "the connection stays open", 3, nothing("a"), answers()),
                        deviation("F-68", "the set has no unknown ids: BAD_ENCODING", 2, expect("a", error(BAD_ENCODING)),
                                  ended("a"), answers())])

# --- who waits for whom --------------------------------------------------------------------------------------------
def blocks(*first):
    """After `first` on "a", a client on "b" waits until "a" is closed."""
    return [open_("a"), *first, open_("b"), send("b", ASK), nothing("b", 500), close("a"), expect("b", process_info2_reply()),
            ended("b")]


FILE.client(20170, "silent-client-blocks-others", "While a connected client is silent, no other is served", since="6.0",
            needs=IN_TURN, habit="F-75", spec=["F-6", "F-75", "R-ERR-004"], steps=blocks())
FILE.client(20171, "half-a-header-blocks-others", "With half a header received, no other client is served", since="6.0",
            needs=IN_TURN, habit="F-75", spec=["F-6", "F-75", "R-ERR-004"], steps=blocks(send("a", ASK[:10])))
FILE.client(20172, "half-a-payload-blocks-others", "With half a payload received, no other client is served", since="6.0",
            needs=IN_TURN, habit="F-75", spec=["F-6", "F-75", "R-ERR-004"], steps=blocks(send("a", STOP42[:24])))
FILE.client(20173, "half-a-message-is-waited-for", "Half a message gets neither a reply nor the end; the complete one gets its reply",
            since="6.0", habit="F-75",
            spec=["F-6", "F-75"],
            steps=[open_("a"), send("a", ASK[:19]), nothing("a", 1500), send("a", ASK[19:]), expect("a", process_info2_reply()),
                   ended("a")])
FILE.client(20174, "clients-are-served-in-turn",
            "Two clients that sent requests are served one after the other, in the order of their connections",
            since="6.0", needs=IN_TURN, habit="F-75", spec=["F-75"],
            steps=[open_("a"), open_("b"), send("b", ASK), nothing("b"), send("a", ASK), expect("a", process_info2_reply()),
                   ended("a"),
                   expect("b", process_info2_reply()), ended("b")])

# --- one connection after another ----------------------------------------------------------------------------------
INFO_NAMED = [any_reply_head("size"), counted("size", less=20, name="info")]
INFO_AGAIN = [MAGIC, same("size"), hexa("ff000000"), same("info")]
FILE.client(20180, "errors-leave-nothing-behind", "After refused requests of several kinds a request gets the same reply as before them",
            since="6.0", spec=["R-ERR-002", "R-FLW-018"],
            steps=[answers(), open_("a"), send("a", ASK), expect("a", INFO_NAMED), ended("a"),
                   refused(message(INFO2, bytes(300), magic=MAGIC2), UNKNOWN_MAGIC, "b", "any"), refused(header(INFO2, 19), BAD_ENCODING, "c"),
                   open_("d"), send("d", header(0x6301, 4020), repeated(b"\xa5", 4000)), expect("d", error(UNKNOWN_COMMAND)), ended("d", "any"),
                   open_("e"), send("e", ASK[:10]), close("e"), open_("f"), close("f"),
                   open_("g"), send("g", ASK), expect("g", INFO_AGAIN), ended("g")])
FILE.client(20181, "input-ends-after-a-longer-request", "A request that ends too early is not completed with bytes of the one before it",
            spec=["F-69", "R-ERR-008", "R-HDR-009"], habit="F-69",
            steps=[open_("a"), send("a", header(0x6301, 4020), repeated(b"\0", 4000)), expect("a", error(UNKNOWN_COMMAND)), ended("a", "any"),
                   open_("b"), send("b", STOP42[:27]), half_close("b"), expect("b", error(BAD_ENCODING)), ended("b"), answers()])
FILE.client(20182, "reply-that-nobody-reads", "A client that does not read its reply does not change that of the next one", since="6.0",
            needs=target(platform="unix"), spec=["R-ERR-002", "F-118"],
            steps=[open_("a"), send("a", ASK), open_("b"), send("b", ASK), expect("b", INFO_NAMED), ended("b"), expect("a", INFO_AGAIN), ended("a")])
