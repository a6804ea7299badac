"""The notation in which the exchange scripts are written, on top of that of the vectors.

A conversation is a list of steps, each made by one function here. Bytes are written field by field, as in the vectors;
what a reader cannot know in advance is a separate part: `anything(8, "id")`, `same("id")`. Nothing here knows a message.
"""
import functools
import json
import os
import re

from notation import ERROR, HERE, MAGIC, OK, message, string, u16, u32, u64, u8, went

WITHIN = 5000
CITABLE = re.compile(r"^\| ([FP]-[0-9]+) \||^id = \"(R-[A-Z]{3}-[0-9]{3})\"", re.MULTILINE)


# --- parts ---------------------------------------------------------------------------------------------------------
def anything(length, name=None, differs_from=(), has=(), lacks=()):
    """Any bytes of this length. They differ from the bytes or `same(…)` in `differs_from`, contain the bytes in `has`, and do not contain
    those in `lacks`."""
    part = {"any": length}
    if name:
        part["as"] = name
    for key, literals in (("not", differs_from), ("has", has), ("lacks", lacks)):
        if literals:
            part[key] = [one.hex() if isinstance(one, bytes) else one for one in literals]
    return part


def counted(number, times=1, less=0, name=None, has=(), lacks=()):
    """As many bytes as the captured number."""
    length = {"of": number}
    if times != 1:
        length["times"] = times
    if less:
        length["less"] = less
    return anything(length, name, has=has, lacks=lacks)


def text(count):
    """A string of any length, or absent; its count is captured."""
    return anything(4, count), counted(count, times=2)


def same(name):
    return {"same": name}


def repeated(unit, times):
    return {"repeat": unit.hex(), "times": times}


def until(number, most):
    return {"until": number, "most": most}


def parts(given):
    """Joins adjacent bytes into one part."""
    out = []
    for part in flat(given):
        if isinstance(part, bytes):
            if out and isinstance(out[-1], str):
                out[-1] += part.hex()
            elif part:
                out.append(part.hex())
        else:
            out.append(part)
    return out


def flat(given):
    for part in given:
        if isinstance(part, (tuple, list)):
            yield from flat(part)
        else:
            yield part


# --- steps ---------------------------------------------------------------------------------------------------------
class Step(dict):
    """A step, and the bytes and parts of which it was made: messages among them are still messages."""
    given = ()


def step(within, given=(), **keys):
    made = Step({**keys, "within_ms": within} if within else keys)
    made.given = list(flat(given))
    return made


def open_(name, port=None, within=None):
    return step(within, open=name, **({"port": port} if port else {}))


def accept(name, port=None, within=None):
    return step(within, accept=name, **({"port": port} if port else {}))


def listen(port):
    return {"listen": True, "port": port}


def unlisten(port):
    return {"listen": False, "port": port}


def no_connection(ms, port=None):
    return {"expect_no_connection": ms, **({"port": port} if port else {})}


def send(on, *given, chunks=None, with_fd=None, may_fail=False, within=None):
    keys = {"on": on, "send": parts(given)}
    if chunks:
        keys["chunks"] = list(chunks)
    if with_fd:
        keys["with_fd"] = with_fd
    if may_fail:
        keys["may_fail"] = True
    return step(within, given, **keys)


def expect(on, *given, with_fd=False, within=None):
    return step(within, given, on=on, expect=parts(given), **({"with_fd": True} if with_fd else {}))


def expect_any_of(on, *alternatives, within=None):
    """Alternatives are pairs of a label and a list of parts."""
    return step(within, on=on, expect_any_of=[{"label": label, "expect": parts(given)} for label, given in alternatives])


def nothing(on, ms=300):
    return {"on": on, "expect_nothing": ms}


def no_event(on, ms=500):
    """The stream has no event, because the runtime waits at its start: no byte, or from .NET 11 on only its start (F-112, F-169)."""
    return {"on": on, "expect_no_event": ms}


def event(on):
    """The runtime runs: the stream has an event after its start. Every runtime has an event in THREADS."""
    return {"on": on, "expect_event": True}


def drain(on):
    return {"on": on, "drain": True}


def ended(on, how="closed", last=None, within=None, while_memory_grows=False):
    """The connection ends. `last`: the last drained bytes, or a list of allowed bytes. `while_memory_grows`: `within` limits progress."""
    keys = {"last_any_of": [one.hex() for one in last]} if isinstance(last, list) else {"last": last.hex()} if last else {}
    if while_memory_grows:
        keys["while_memory_grows"] = True
    return step(within, on=on, expect_end=how, **keys)


def half_close(on):
    return {"on": on, "end": "half_close"}


def close(on):
    return {"on": on, "end": "close"}


def reset(on):
    return {"on": on, "end": "reset"}


def wait(ms):
    return {"wait": ms}


def alive():
    return {"expect_target": "alive"}


def dead(within=None):
    return step(within, expect_target="dead")


def signal(name):
    """The target's process gets SIGTERM (`term`), SIGINT, SIGHUP or SIGKILL."""
    return {"signal": name}


def socket(presence, within=None):
    """The file of the default port's socket is `there`, or `gone`."""
    return step(within, expect_socket=presence)


def file(name, *begins, within=None):
    """The target has written a file in its current directory, with these first bytes."""
    return step(within, expect_file=name, begins=parts(begins))


# --- messages that many scripts use --------------------------------------------------------------------------------
BAD_ENCODING, UNKNOWN_COMMAND, UNKNOWN_MAGIC = 0x80131384, 0x80131385, 0x80131386
E_FAIL, INVALIDARG, NOTSUPPORTED = 0x80004005, 0x80070057, 0x80131515
ZERO_ID = u64(0)


def error(hresult):
    """An error of 24 bytes, unlike in the document (F-1)."""
    return message(ERROR, u32(hresult))


def any_reply_head(size="size"):
    """An OK of any size, which is captured."""
    return [MAGIC, anything(2, size), u8(0xFF), u8(0x00), u16(0)]


def any_error():
    return [MAGIC, u16(24), u8(0xFF), u8(0xFF), u16(0), anything(4)]


def process_info_reply():
    """The reply to ProcessInfo: pid, cookie, command line, OS, arch (F-34)."""
    return [*any_reply_head(), anything(8, "pid"), anything(16, "cookie"), *text("cmd"), *text("os"), *text("arch"),
            until("size", 0)]


def process_info2_reply(cmd="cmd"):
    return [*any_reply_head(), anything(8, "pid"), anything(16, "cookie"), *text(cmd), *text("os"), *text("arch"), *text("entry"),
            *text("clr"), until("size", 0)]


def answers(on="z"):
    """Another client is served; a runtime before .NET 6 answers with an error, as it lacks ProcessInfo2."""
    return [open_(on), send(on, message(0x0404)),
            expect_any_of(on, ("ProcessInfo2", process_info2_reply()), ("an older runtime", [error(UNKNOWN_COMMAND)])), ended(on)]


SUCCESS = message(OK, u32(0))


def succeeded(on, within=None):
    """The reply of a command that returns no value: a u32 0, or the generic OK (R-HDR-005, F-41)."""
    return expect_any_of(on, ("with a result", [SUCCESS]), ("the generic OK", [message(OK)]), within=within)


def replied(on, *reply, within=None):
    return succeeded(on, within) if reply == (SUCCESS,) else expect(on, *reply, within=within)


def ok_head(payload):
    """The header of an OK with so many bytes of payload."""
    return MAGIC + u16(20 + payload) + u8(0xFF) + u8(0x00) + u16(0)


def session(name="session"):
    return [ok_head(8), anything(8, name, [ZERO_ID])]


# --- streams -------------------------------------------------------------------------------------------------------
def nettrace(*before):
    """The start of a nettrace stream, after `before`: up to version 5 the name of its serializer, from version 6 on a zero and the major
    and minor version."""
    return [("nettrace", [*before, b"Nettrace" + u32(20) + b"!FastSerialization.1"]),
            ("nettrace from version 6 on", [*before, b"Nettrace" + u32(0), anything(8)])]


# A provider with events of the first threads, of CoreCLR and NativeAOT.
THREADS = u64(0x10000) + u32(4) + string("Microsoft-Windows-DotNETRuntime") + string(None)

# The end of a complete stream: up to version 5 the NullReferenceTag, from version 6 on an EndOfStream block without content.
END_OF_NETTRACE = [b"\x01", bytes(4)]


# --- what a target must be -----------------------------------------------------------------------------------------
def target(suspended=False, ports=(), environment=None, platform=None, wants=(), default_port=True, spelled=None):
    """Describes a target. `wants`: what else the server must have or do where the document leaves it open. `environment`: texts, bytes, or
    a text with a number of repetitions. `spelled`: the value of DOTNET_DiagnosticPorts, with `{p}` for the address of a port."""
    def value(given):
        return {"bytes": given.hex()} if isinstance(given, bytes) else dict(zip(("repeat", "times"), given)) if isinstance(given, tuple) else given

    environment = {name: value(given) for name, given in (environment or {}).items()}
    needs = {"suspended": suspended, "ports": [dict(port) for port in ports], "environment": environment, "platform": platform}
    if spelled is not None:
        needs["spelled"] = spelled
    if wants:
        needs["wants"] = list(wants)
    if not default_port:
        needs["default_port"] = False
    return needs


IN_TURN = target(wants=["one-client-at-a-time"])


def port(name, suspend=False, listening=True):
    return {"id": name, "suspend": suspend, "listening": listening}


def deviation(fact, says, begin, *steps):
    """From step `begin` on, runtimes with this fact in their evidence differ."""
    return {"fact": fact, "text": says, "from": begin, "steps": list(flat(steps))}


# --- files ---------------------------------------------------------------------------------------------------------
def text_of(document, what):
    """Returns JSON with one line per step, so that a diff shows the changed steps. `what` is the key of the list whose members have steps."""
    def line(value):
        return json.dumps(value, ensure_ascii=True)

    def listed(steps, indent):
        return "[\n" + ",\n".join(indent + line(one) for one in steps) + "\n" + indent[:-1] + "]"

    def member(value):
        out = []
        for key, part in value.items():
            if key == "steps":
                part = listed(part, "    ")
            elif key == "deviations":
                rows = (", ".join(f'"{name}": {line(one[name])}' for name in one if name != "steps") + ', "steps": '
                        + listed(one["steps"], "     ") for one in part)
                part = "[\n" + ",\n".join("    { " + row + " }" for row in rows) + "\n   ]"
            else:
                part = line(part)
            out.append(f"   {line(key)}: {part}")
        return "  {\n" + ",\n".join(out) + "\n  }"

    head = ",\n".join(f" {line(key)}: {line(value)}" for key, value in document.items() if key != what)
    return "{\n" + head + f',\n "{what}": [\n' + ",\n".join(map(member, document[what])) + "\n ]\n}\n"


def cites(facts):
    """Checks that all facts are rows of spec/ERRATA.md or spec/requirements.toml."""
    return facts and set(facts) <= citable()


@functools.cache
def citable():
    spec = os.path.join(HERE, "..", "..", "spec")
    rows = "".join(open(os.path.join(spec, name)).read() for name in ("ERRATA.md", "requirements.toml"))
    return {fact or requirement for fact, requirement in CITABLE.findall(rows)}


class ScriptFile:
    """One JSON file of vectors/exchanges/. `first` and `last` bound its scIds; an id keeps its meaning."""
    ids, names = set(), set()

    def __init__(self, name, title, first, last, further=()):
        self.name, self.title, self.ranges, self.scripts = name, title, [(first, last), *([further] if further else [])], []
        self.of_programs = []

    def client(self, sc, name, comment, *, spec, steps, since=None, hazard=None, needs=None, deviations=(), habit=None):
        """The script plays the client; a runtime is under test. `habit`: the fact by which runtimes do what the document leaves open."""
        script = {"scId": sc, "name": name, "comment": comment, "plays": "client", "spec": list(spec), "since": since,
                  "hazard": hazard, **({"habit": habit} if habit else {}), "target": needs or target(), "steps": list(flat(steps))}
        case = f"scripts/{self.name}/{name}"
        if seen := went(case, "as-written"):
            script["seenOn"] = seen
        deviations = [{"on": went(case, one["fact"]), **one} for one in deviations]
        if deviations:
            script["deviations"] = deviations
        for one in deviations:
            assert one["from"] < len(script["steps"]), f"scId {sc}: deviates behind its end"
            assert one["on"], f"scId {sc}: {one['fact']} has no evidence"
            check(sc, script["steps"][:one["from"]] + one["steps"], script)
        self._add(script)

    def runtime(self, sc, name, comment, *, spec, ask, steps, outcome, since=None, client=None):
        """The script plays the runtime; a client is under test. `client`: what a test of a whole program needs to know besides, see
        ../clients/scripts.py."""
        self._add({"scId": sc, "name": name, "comment": comment, "plays": "runtime", "spec": list(spec), "since": since,
                   "hazard": None, "ask": ask, "steps": list(flat(steps)), "outcome": outcome})
        self.of_programs.append((self.scripts[-1], client or {}))

    def _add(self, script):
        sc = script["scId"]
        assert any(first <= sc <= last for first, last in self.ranges), f"scId {sc} is outside of {self.name}"
        assert sc not in self.ids, f"scId {sc} stands twice"
        assert script["name"] not in self.names, f"{script['name']} stands twice"
        assert script["hazard"] in (None, "side-effect", "harmful"), script["hazard"]
        facts = script["spec"] + [one["fact"] for one in script.get("deviations", ())] + [script.get("habit", script["spec"][0])]
        assert cites(facts), f"scId {sc}: no such row: {set(facts) - citable()}"
        self.ids.add(sc)
        self.names.add(script["name"])
        check(sc, script["steps"], script)
        self.scripts.append(script)

    def document(self):
        return {"schema": "exchanges.schema.json", "format": 1, "title": self.title, "within_ms": WITHIN, "numberOfScripts": len(self.scripts),
                "scripts": self.scripts}

    def text(self):
        return text_of(self.document(), "scripts")

    def path(self):
        return os.path.join(HERE, "..", "exchanges", self.name + ".json")


def check(sc, steps, script):
    """Checks what the schema cannot express: names are captured before use, the sum of chunks, distinguishable alternatives."""
    where = f"scId {sc}"
    connections, drained = set(), set()
    captured = {}  # name: length, None if unknown
    ports = {one["id"] for one in script.get("target", {}).get("ports",
                                                               ())} | ({script["ask"]["port"]} if "port" in script.get("ask",
                                                                   {}) else set())
    for number, one in enumerate(steps):
        at = f"{where} step {number}"
        assert one.get("port") is None or one["port"] in ports, f"{at}: no such port"
        for verb in ("open", "accept"):
            if verb in one:
                assert one[verb] not in connections, f"{at}: opened twice"
                connections.add(one[verb])
        if "on" not in one:
            continue
        assert one["on"] in connections, f"{at}: not opened"
        assert one["on"] not in drained or {"send", "expect_end", "expect_nothing", "end"} & set(one), f"{at}: drained"
        if "drain" in one:
            drained.add(one["on"])
        if "send" in one:
            lengths = [measure(part, captured, at) for part in one["send"]]
            assert "chunks" not in one or sum(one["chunks"]) == sum(lengths), f"{at}: chunks {sum(one['chunks'])}, bytes {lengths}"
        if "expect" in one:
            take(one["expect"], captured, at)
        if "expect_any_of" in one:
            alternatives = [alternative["expect"] for alternative in one["expect_any_of"]]
            for alternative in alternatives:
                take(alternative, captured, at)
            fronts = [front(alternative) for alternative in alternatives]
            for i, a in enumerate(fronts):
                assert all(any(x != y and None not in (x, y) for x,
                               y in zip(a, b)) for b in fronts[i + 1:]), f"{at}: cannot be told apart"
        assert not {"last", "last_any_of"} & set(one) or one["on"] in drained, f"{at}: last of what was not drained"


def front(pattern):
    """Returns the first bytes of a pattern, as far as their positions are known; None for any byte."""
    out = []
    for part in pattern:
        if isinstance(part, str):
            out += bytes.fromhex(part)
        elif isinstance(part.get("any"), int):
            out += [None] * part["any"]
        else:
            break
    return out


def measure(part, captured, at):
    if isinstance(part, str):
        return len(part) // 2
    if "repeat" in part:
        return len(part["repeat"]) // 2 * part["times"]
    if "same" in part:
        assert part["same"] in captured, f"{at}: {part['same']} is not captured"
        return captured[part["same"]]
    return None


def take(pattern, captured, at):
    for part in pattern:
        if isinstance(part, str) or "repeat" in part:
            continue
        if "same" in part:
            assert part["same"] in captured, f"{at}: {part['same']} is not captured"
        elif "until" in part:
            assert part["until"] in captured, f"{at}: {part['until']} is not captured"
        else:
            length = part["any"]
            if isinstance(length, dict):
                assert length["of"] in captured, f"{at}: {length['of']} is not captured"
                length = None
            for other in part.get("not", ()):
                assert isinstance(other, str) or other["same"] in captured, f"{at}: {other} is not captured"
            if "as" in part:
                captured[part["as"]] = length
