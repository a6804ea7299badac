"""vectors/exchanges/environment.json: the block after the reply to ProcessEnvironment."""
from answers import GENERIC_OK, answered, ask, error_is, left_open, malformed, ok
from notation import message, string, u16, u32, units
from script import E_FAIL, ScriptFile, accept, close, ended, error, expect, repeated, reset, send

FILE = ScriptFile("environment", "Environment blocks, played to a client", 21100, 21149)
REQUEST = message(0x0402)
FIRST, SECOND = string("A=1"), string("NAME=value")
TWO = u32(2) + FIRST + SECOND
FIRST_VALUE, SECOND_VALUE = {"name": "A", "value": "1"}, {"name": "NAME", "value": "value"}


def reply(size, future=0):
    return message(0xFF00, u32(size), u16(future))


def script(sc, name, comment, spec, steps, outcome, client=None, **keys):
    FILE.runtime(sc, name, comment, spec=spec, ask=ask("Process/ProcessEnvironment", **keys), steps=steps, outcome=outcome,
                 since="5.0", client=client)


def block(sc, name, comment, spec, bytes_, entries, size=None, close_it=True, steps=None, **keys):
    """Adds a script with the reply and the block, and what the client accepts of it."""
    size = len(bytes_) if size is None else size
    left = {key: keys.pop(key) for key in ("error", "hresult", "cut") if key in keys}
    script(sc, name, comment, spec, steps or (answered if close_it else left_open)(REQUEST, reply(size),
        *([bytes_] if bytes_ else [])),
           ok({"nIncomingBytes": size, "future": 0}, "environment", environment={"entries": entries, **left}), **keys)


def fault(layer, kind, offset, hresult=None):
    keys = {"error": {"layer": layer, "kind": kind, "offset": offset}}
    return {**keys, "hresult": f"0x{hresult:08X}"} if hresult else keys


# --- whole blocks --------------------------------------------------------------------------------------------------
block(21100, "environment-of-two", "Two variables", ["F-43", "R-ENV-006", "R-ENV-007", "R-FLW-005"], TWO,
      [FIRST_VALUE, SECOND_VALUE])
block(21101, "environment-empty", "nIncomingBytes 4 and a count of 0: an empty environment", ["F-88", "R-ENV-008"], u32(0), [])
block(21102, "environment-in-bytes", "A block that arrives byte by byte", ["R-ENV-006"], TWO, [FIRST_VALUE, SECOND_VALUE],
      steps=[accept("a"), expect("a", REQUEST), send("a", reply(len(TWO)), TWO, chunks=[1] * (26 + len(TWO))), close("a")])
block(21103, "environment-in-one-write", "Reply and block in one write: the bytes after the reply are not lost",
      ["R-ENV-005", "R-HDR-016"], TWO, [FIRST_VALUE, SECOND_VALUE],
      steps=[accept("a"), expect("a", REQUEST), send("a", reply(len(TWO)), TWO), close("a")])
block(21104, "environment-and-no-end", "A complete block, and the connection stays open: the client need not wait", ["R-ENV-003"], TWO,
      [FIRST_VALUE, SECOND_VALUE], close_it=False)
block(21105, "environment-odd-entries", "Entries without an equals sign, with a leading one, empty, and double",
      ["F-79", "R-ENV-009"],
      u32(5) + string("NOEQUALS") + string("=C:=C:\\") + string("=") + string("A=1") + string("A=2"),
      [{"name": "NOEQUALS", "value": None}, {"name": "=C:", "value": "C:\\"}, {"name": "=", "value": None},
       {"name": "A", "value": "1"}, {"name": "A", "value": "2"}])
block(21106, "environment-of-any-units", "A character of two units, half of one, and an empty value", ["F-79", "R-GRM-008"],
      u32(3) + string("E=\U0001F600") + u32(4) + units(0x41, 0x3D, 0xD800, 0) + string("V="),
      [{"name": "E", "value": "\U0001F600"}, {"name": "A", "value": {"utf16": [0xD800]}}, {"name": "V", "value": ""}])
script(21107, "environment-future", "`future` of any value", ["R-ENV-004"], answered(REQUEST, reply(len(TWO), 0xFFFF), TWO),
       ok({"nIncomingBytes": len(TWO), "future": 65535}, "environment", environment={"entries": [FIRST_VALUE, SECOND_VALUE]}))
LARGE = [f"L{number:02}" for number in range(33)]
block(21108, "environment-larger-than-a-message", "A block of 66,202 bytes: more than any message can hold", ["R-ENV-003"],
      u32(len(LARGE)) + b"".join(string(f"{name}=" + "x" * 996) for name in LARGE), [{"name": name, "value": "x" * 996} for name in LARGE],
      steps=[accept("a"), expect("a", REQUEST),
             send("a", reply(4 + 2006 * len(LARGE)), u32(len(LARGE)),
                  *[piece for name in LARGE for piece in (string(f"{name}=" + "x" * 996)[:12], repeated(b"x\0", 996), b"\0\0")]),
             close("a")])

# --- blocks that break off -----------------------------------------------------------------------------------------
block(21110, "environment-cut-in-an-entry", "The runtime closes inside the second entry", ["R-ENV-010", "R-ERR-003"], TWO[:20],
      [FIRST_VALUE], size=len(TWO), cut="closed")
block(21111, "environment-cut-at-once", "The runtime closes after the reply", ["R-ENV-010", "R-ERR-003"], b"", [], size=len(TWO),
      cut="closed")
block(21112, "environment-cut-in-the-count", "The runtime closes inside the count of entries", ["R-ENV-010"], TWO[:3], [],
      size=len(TWO), cut="closed")
block(21113, "environment-reset", "The connection is reset after the first entry", ["R-ENV-010", "R-ERR-003"], TWO[:16],
      [FIRST_VALUE], size=len(TWO), cut="reset",
      steps=[accept("a"), expect("a", REQUEST[:19]), send("a", reply(len(TWO)), TWO[:16]), reset("a")])
block(21114, "environment-stops", "Nothing follows the first entry", ["R-ENV-010", "R-ERR-004"], TWO[:16], [FIRST_VALUE],
      size=len(TWO), cut="timed_out",
      close_it=False, patience_ms=300)
block(21115, "environment-error-for-the-block", "An error message in place of the block", ["F-43", "R-ENV-010"],
      error(E_FAIL), [], size=len(TWO),
      **fault("reply", "error_message", 0, E_FAIL))
block(21116, "environment-error-for-an-entry", "An error message in place of the second entry", ["F-43", "R-ENV-010"],
      TWO[:16] + error(E_FAIL),
      [FIRST_VALUE], size=len(TWO), **fault("reply", "error_message", 16, E_FAIL))
block(21117, "environment-error-in-pieces", "An error message in place of the second entry, byte by byte, and no end",
      ["F-43", "F-5", "R-ENV-010"], TWO[:16] + error(E_FAIL),
      [FIRST_VALUE], size=len(TWO), **fault("reply", "error_message", 16, E_FAIL),
      steps=[accept("a"), expect("a", REQUEST), send("a", reply(len(TWO)), TWO[:16]), send("a", error(E_FAIL), chunks=[1] * 24),
             ended("a", "any", within=3000)])
block(21118, "environment-count-too-large", "A count of entries that the block cannot hold", ["R-ENV-010", "R-GRM-007"],
      u32(0xFFFFFFFF) + FIRST, [],
      close_it=False, **fault("payload", "count_too_large", 0))
block(21119, "environment-entry-too-large", "An entry that is longer than the block", ["R-ENV-010", "R-GRM-007"],
      u32(1) + u32(5) + FIRST[4:], [],
      close_it=False, **fault("payload", "count_too_large", 4))
block(21120, "environment-entry-missing", "A count of two, and the block ends after the first", ["R-ENV-010"], u32(2) + FIRST,
      [FIRST_VALUE], close_it=False,
      **fault("payload", "unexpected_end", 16))
block(21121, "environment-bytes-left-over", "A count of one, and the block continues", ["R-ENV-010"], u32(1) + FIRST + SECOND,
      [FIRST_VALUE], close_it=False,
      **fault("transport", "bytes_after_message", 16))
block(21122, "environment-of-0-bytes", "nIncomingBytes 0: not even a count", ["F-88", "R-ENV-010"], b"", [], close_it=False,
      client={"open": True}, **fault("payload", "unexpected_end", 0))
script(21123, "environment-refused", "An error in place of the first reply", ["R-ERR-005"], answered(REQUEST, error(E_FAIL)),
       error_is(E_FAIL))
script(21124, "environment-generic-ok", "The generic OK: what follows is unknown", ["F-2", "R-CMD-036"],
       left_open(REQUEST, GENERIC_OK), ok({}, "unknown"))
script(21125, "environment-reply-without-future", "A reply of 24 bytes, without `future`", ["F-43", "R-ENV-002"],
       left_open(REQUEST, message(0xFF00, u32(4))),
       malformed("payload", "unexpected_end", 24))

# --- the client's limits -------------------------------------------------------------------------------------------
block(21130, "environment-over-the-limit-of-bytes", "A block with a size of 4 GiB: refused before its first byte", ["R-ENV-003"],
      b"", [], size=0xFFFFFFFF, close_it=False,
      limits={"environment_bytes": 65536}, **fault("limits", "limit_exceeded", 0))
block(21131, "environment-over-the-limit-of-entries", "A block of more entries than the client accepts", ["R-ENV-006"], TWO, [],
      close_it=False,
      limits={"environment_entries": 1}, **fault("limits", "limit_exceeded", 0))
block(21132, "environment-entry-over-the-limit",
      "An entry larger than the client's buffer is skipped, the next one is accepted", ["R-ENV-006"],
      u32(2) + SECOND + FIRST, ["too_long", FIRST_VALUE], limits={"entry_bytes": 21})
block(21133, "environment-entry-at-the-limit", "An entry of exactly the client's buffer is accepted", ["R-ENV-006"],
      u32(2) + SECOND + FIRST, [SECOND_VALUE, FIRST_VALUE],
      limits={"entry_bytes": 22})
