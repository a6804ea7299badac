"""diagipc/clients/scenarios/{environment,fallback,replies,streams,tool_ports}.json: the exchange scripts that play the runtime, for whole
programs: what is a library's result there is the end and the output of a program here.

Left out are scripts whose task no program can be given: limits, a buffer, the protocol before this one, or not to use an older command.
What cannot be concluded stands at the script, as `client`: `open` if the document allows another end, `reveals` the fault of a program
that fails, `others` of the request, `skip` why a program is not tested with it.
"""
import importlib

from answers import error_is
from nettrace import COUNTERS, TAIL
from notation import OK, Message
from scenario import COMMANDS, RESULTS, USUAL, Scenarios, gives_up, lets_go, request, stop, texts_of
from script import UNKNOWN_COMMAND, close, parts

STOP_TRACING = 0x0201
# A code without a name: clients may print other codes by name.
NAMELESS = "0x8BADF00D"
NAMES = {0x0101: "Dump/GenerateCoreDump", 0x0102: "Dump/GenerateCoreDump2", 0x0103: "Dump/GenerateCoreDump3",
         0x0201: "EventPipe/StopTracing", 0x0202: "EventPipe/CollectTracing",
         **{0x0201 + version: f"EventPipe/CollectTracing{version}" for version in range(2, 7)},
         0x0301: "Profiler/AttachProfiler", 0x0302: "Profiler/StartupProfiler", 0x0400: "Process/ProcessInfo",
         0x0401: "Process/ResumeRuntime", 0x0402: "Process/ProcessEnvironment", 0x0403: "Process/SetEnvironmentVariable",
         0x0404: "Process/ProcessInfo2", 0x0405: "Process/EnablePerfMap", 0x0406: "Process/DisablePerfMap",
         0x0407: "Process/ApplyStartupHook", 0x0408: "Process/ProcessInfo3"}
# What a process says about itself; later versions append unknown fields.
SAYS = ("processId", "runtimeCookie", "commandLine", "OS", "arch", "managedEntrypointAssemblyName", "clrProductVersion",
        "runtimeIdentifier")
ARGUMENTS = {"name": "name", "value": "value", "dumpName": "path", "profilerPath": "path", "dumpType": "type", "flags": "flags",
             "diagnostics": "flags", "attachTimeout": "timeout_ms", "profilerGuid": "clsid", "clientData": "client_data",
             "sessionId": "session", "circularBufferMB": "buffer_mb", "streaming_circularBufferMB": "buffer_mb",
             "rundownKeyword": "rundown", "requestStackwalk": "stacks", "sessionBufferMode": "buffer_mode"}
# At a port there is no request/plain/OPERATION.
PLAIN = ("tool-port", "tool-port-session")
# The format is always nettrace, and rundown is requested.
FIXED = ("format", "streaming_format", "session_type", "requestRundown")


# --- the task ------------------------------------------------------------------------------------------------------
def operation_of(ask):
    value, command = ask["value"], ask["command"]

    def fits(operation):
        return (command in COMMANDS[operation] and (operation == "user-events") == (value.get("session_type") == 1)
                and (operation == "unset-env") == ("value" in value and value["value"] is None)
                and (operation in ("listen-port", "trace-port")) == ("port" in ask))
    return next((operation for operation in COMMANDS if fits(operation)), None)


def task(operation, ask):
    """The arguments, and those that the command line must use; None if there is no argument for something."""
    given, needs = dict(USUAL.get(operation, {})), []
    if len(COMMANDS[operation]) > 1:
        given["command"] = ask["command"].split("/")[1]
    for key, value in ask["value"].items():
        if key in FIXED or value is None:
            continue
        if key == "providers":
            further = of_provider(value[0])
            if further is None:
                return None
            given.update(further)
            needs += [["events"]] if "events" in further else []
            continue
        argument = ARGUMENTS.get(key)
        if argument is None or isinstance(value, (list, dict)):
            return None
        value = str(value).lower() if isinstance(value, bool) else str(value)
        # Fields that an older command lacks decide which commands are used.
        decides = argument in ("rundown", "stacks", "buffer_mode") and operation != "user-events" or argument == "flags" and "fallback" in ask
        if argument == "path" and not value.startswith("/"):
            # A program would make such a path absolute for its own directory, but the target may run elsewhere.
            value = f"/tmp/{value}"
        if given.get(argument) != value and decides:
            needs.append([argument])
        given[argument] = value
    return given, needs


def of_provider(provider):
    given = {}
    event_filter = provider.get("filter", {})
    if event_filter.get("event_ids"):
        if not event_filter["enable"]:
            return None
        given["events"] = ",".join(map(str, event_filter["event_ids"]))
    name = provider.get("config", {}).get("default_tracepoint_name")
    return {**given, "tracepoint": name} if name is not None else given


# --- the steps -----------------------------------------------------------------------------------------------------
def message_in(step):
    """Returns the message whose bytes, or first bytes, a step expects."""
    given = [part for part in step.given if part != b""]
    return given[0] if given and isinstance(given[0], Message) and all(isinstance(part, bytes) for part in given) else None


def moves(script, operation, client):
    """Returns the steps for a whole program. An equal request will do, and a client chooses how long it waits. Scripts that are not about
    a version have the command that most clients use."""
    ask, asked = script["ask"], False
    is_of_version = "fallback" in ask or operation == "process-info"
    for step in script["steps"]:
        message = message_in(step) if "expect" in step and "with_fd" not in step else None
        if message and (not asked or "fallback" in ask):
            asked = True
            missing = message.size - sum(map(len, step.given))
            command = NAMES[message.code]
            others = "unknown" if is_of_version else "any" if command == "EventPipe/CollectTracing2" else None
            yield request(step["on"], command, client.get("others", others), {0: None, 1: "last-byte"}.get(missing, "payload"))
        elif message and message.code == STOP_TRACING and len(message) == message.size:
            yield stop(step["on"], int.from_bytes(message[20:], "little"))
        elif "expect_end" in step:
            yield end(step["on"], script)
        elif "send" in step:
            yield {**step, "may_fail": True}
        else:
            yield step


def end(on, script):
    """Returns the step where the script waits for the end of the connection."""
    ask, outcome = script["ask"], script["outcome"]
    if "patience_ms" in ask or outcome["outcome"] not in ("ok", "error"):
        return gives_up(on)
    if ask["command"] == "Process/ProcessEnvironment" and outcome["outcome"] == "ok":
        environment = outcome.get("environment")
        if environment is None:
            return gives_up(on)
        error = environment.get("error")
        # Everything has arrived, and its numbers are judged. If a message begins in it, more could follow instead.
        if error:
            return gives_up(on) if error["layer"] == "reply" else close(on)
    return lets_go(on)


# --- the end -------------------------------------------------------------------------------------------------------
def exit_of(outcome, operation):
    if outcome["outcome"] != "ok":
        return "failure"
    if not outcome["reply"] and operation in ("process-info", "environment", "trace", "trace-port", "user-events"):
        # The generic OK is not an error, but lacks what was asked for.
        return "any"
    if "environment" in outcome:
        return "failure" if {"error", "cut"} & set(outcome["environment"]) else "success"
    # What arrived of a stream may still be useful.
    if outcome.get("stream", {}).get("end", "complete") != "complete":
        return "any"
    return "success" if outcome.get("second", {"outcome": "ok"})["outcome"] in ("ok", "no_reply") else "any"


def revealed(outcome):
    """Returns the fault of a client that reports success wrongly."""
    kind = outcome["outcome"]
    if kind == "malformed":
        return {"header": "magic-unchecked", "reply": "reply-command-set-unchecked",
                "payload": "reply-too-short-accepted"}.get(outcome["error"]["layer"])
    if kind == "error":
        return "error-code-0-taken-for-ok" if outcome["hresult"] == "0x00000000" else "error-treated-as-success"
    if kind == "ok":
        environment = outcome.get("environment", {})
        if "cut" in environment:
            return "reply-cut-unnoticed"
        return of_block(environment["error"]) if "error" in environment else None
    if kind == "no_reply" or kind == "cut" and outcome["received"] == 0:
        return "no-reply-taken-for-ok"
    return {"cut": "reply-cut-unnoticed", "bad_advertise": "advertise-magic-unchecked",
            "cut_advertise": "advertise-cut-unnoticed"}.get(kind)


def of_block(error):
    if error["layer"] == "reply":
        return "error-treated-as-success"
    # All other numbers of the block are right, or would truncate an entry.
    by_count = {"bytes_after_message": True, "unexpected_end": error["offset"] > 0, "count_too_large": error["offset"] == 0}
    return "environment-count-ignored" if by_count.get(error["kind"]) else "reply-cut-unnoticed"


def reply_of(script):
    """Returns the first message that the runtime sends."""
    sends = [step.given[0] for step in script["steps"] if "send" in step]
    return next((first for first in sends if isinstance(first, Message)), None)


def demanded(script):
    """Returns the fault of a client that reports failure although all is well, if the script is about one thing."""
    outcome, reply = script["outcome"], reply_of(script)
    if outcome["outcome"] != "ok":
        return None
    if any(step.get("wait", 0) >= 1000 for step in script["steps"]):
        return "gives-up-early"
    if reply and reply.size > 0x7FFF or outcome["reply"] and outcome["reply"].get("nIncomingBytes", 0) > 0xFFFF:
        return "large-reply-misread"
    is_in_pieces = any(len(step.get("chunks", ())) > 1 for step in script["steps"])
    return "reply-in-pieces-misread" if is_in_pieces and "environment" in outcome else None


def suspected(script):
    """Returns other possible causes if the client reports failure although all is well."""
    outcome, reply = script["outcome"], reply_of(script)
    if outcome["outcome"] != "ok":
        return []
    entries = outcome.get("environment", {}).get("entries", ())
    suspects = ["environment-entry-without-equals"] if any(one["value"] is None for one in entries) else []
    suspects += ["gives-up-early"] if any("wait" in step for step in script["steps"]) else []
    sends = [step for step in script["steps"] if "send" in step]
    if reply is None:
        return suspects
    is_in_pieces = any(len(step.get("chunks", ())) > 1 for step in sends)
    suspects += ["reply-in-pieces-misread"] if is_in_pieces or "environment" in outcome else []
    suspects += ["reply-reserved-insisted-on"] if reply.reserved else []
    return suspects + (["only-24-byte-ok-accepted", "reply-of-20-refused", "reply-size-ignored"] if reply.size == 20 else
                       ["only-24-byte-ok-accepted", "reply-surplus-refused"])


# The maximum size of an OK, for a client that knows today's fields.
OK_SIZES = {**dict.fromkeys(RESULTS, 24), "listen-port": 24, "stop": 28, "user-events": 28}


def ok_size(script, operation):
    """Returns the size of the OK, if most runtimes send another size."""
    outcome, usual = script["outcome"], OK_SIZES.get(operation)
    if outcome["outcome"] != "ok" or usual is None:
        return None
    reply = reply_of(script)
    return reply.size if reply.code == OK and reply.size != usual else None


# --- the output ----------------------------------------------------------------------------------------------------
def output(script, operation):
    outcome = script["outcome"]
    if outcome["outcome"] != "ok":
        return None
    if operation == "process-info":
        texts = [value for name, value in outcome["reply"].items() if name in SAYS and value and isinstance(value, str)]
        return texts_of("process-info-lost", *texts) if texts else None
    if operation == "environment":
        environment = outcome.get("environment", {"error": None})
        return None if {"error", "cut"} & set(environment) else {"environment": list(map(entry, environment["entries"]))}
    if operation in ("trace", "trace-port") and outcome["then"] == "stream" and outcome["reply"]:
        # What follows the id of the session on its connection. It may be cut.
        sends = [step for step in script["steps"] if "send" in step]
        on = next(step["on"] for step in sends if is_session(step.given[0]))
        sent = [part for step in sends if step["on"] == on for part in step.given]
        begins = next(number for number, part in enumerate(sent) if is_session(part)) + 1
        # Events are read once a further block, or the end, follows them.
        counters = {"counters": COUNTERS} if TAIL in sent else {}
        return {"stream": parts(sent[begins:]), **counters, **({} if outcome["stream"]["end"] == "complete" else {"may_be_cut": True})}
    return None


def is_session(part):
    return isinstance(part, Message) and (part.code, part.size) == (OK, 28)


def entry(value):
    """Returns a line of the environment, or its beginning if the units are not Unicode."""
    name, text = value["name"], value["value"]
    return name if text is None else f"{name}={text}" if isinstance(text, str) else {"begins": f"{name}="}


# --- scripts -------------------------------------------------------------------------------------------------------
def add(file, section, script, client):
    ask, outcome = script["ask"], script["outcome"]
    if {"old_protocol", "limits", "buffer"} & set(ask) or "skip" in client:
        return
    if outcome.get("hresult") == error_is(UNKNOWN_COMMAND)["hresult"] and not {"fallback", "port"} & set(ask):
        return
    operation = operation_of(ask)
    given = operation and task(operation, ask)
    if not given:
        return
    file.add(f"{section}/{script['name']}", script["comment"], script["spec"], operation, list(moves(script, operation, client)), exit_of(outcome, operation),
             arguments=given[0], needs=given[1], output=output(script, operation), reveals=client.get("reveals") or revealed(outcome) or demanded(script),
             suspects=suspected(script), ok_size=ok_size(script, operation), refused_with=outcome.get("hresult"), says_text=outcome.get("message"),
             flags=[script["name"] in PLAIN and "plain", "patience_ms" in ask and "silent", client.get("open") and "open", section == "fallback" and "falls-back",
                    outcome.get("hresult") == NAMELESS and "says-code"])


def for_others(file):
    """Adds the same replies for the other operations that only succeed or fail, because not every client has the script's operation.
    `silence/*` and similar scenarios cover slow replies for each operation."""
    for one in [one for one in file.scenarios if one["operation"] == "resume" and "silent" not in one.get("flags", ())]:
        if any("wait" in step for step in one["steps"]):
            continue
        for operation in RESULTS:
            if operation == "resume":
                continue
            # A request with a payload is left unread after its header.
            steps = [request(step["on"], unread="payload" if "unread" in step else None) if "request" in step else step
                     for step in one["steps"]]
            keys = {key: value for key, value in one.items()
                    if key not in ("name", "comment", "spec", "operation", "arguments", "needs", "steps", "exit")}
            file.add(f"{one['name']}/{operation}", one["comment"], one["spec"], operation, steps, one["exit"], needs=one.get("needs", ()), **keys)


def for_tracers(file):
    """Adds the same runtimes for a tool that traces; where all is well, they include its session."""
    session = next(one for one in file.scenarios if one["operation"] == "trace-port")
    usual = next(step["send"] for step in session["steps"] if "send" in step)
    from_request = next(number for number, step in enumerate(session["steps"]) if "request" in step)
    for one in [one for one in file.scenarios if one["operation"] == "listen-port"]:
        begin = next((number for number, step in enumerate(one["steps"]) if "request" in step), None)
        # The session has a second connection already.
        if one["name"] in ("tool_ports/tool-port", "tool_ports/tool-port-next-connection"):
            continue
        if one["exit"] == "success":
            # Both connections have the same advertise, because there is one runtime.
            advertise = next(step["send"] for step in one["steps"] if "send" in step)
            steps = one["steps"][:begin] + [{**step, "send": advertise} if step.get("send") == usual else step
                                            for step in session["steps"][from_request:]]
        else:
            steps = [request(step["on"]) if "request" in step else step for step in one["steps"]]
        keys = {key: one[key] for key in ("reveals", "suspects", "refused_with", "flags") if key in one}
        output = session["output"] if one["exit"] == "success" else None
        file.add(f"{one['name']}/trace-port", one["comment"], one["spec"], "trace-port", steps, one["exit"], output=output, **keys)


FILES = []
for section, title in (("environment", "Environment blocks"), ("replies", "Replies"), ("streams", "Sessions, their streams and their stops"),
                       ("fallback", "UNKNOWN_COMMAND, and the older command for the same request"),
                       ("tool_ports", "Diagnostic ports that a client owns")):
    FILES.append(Scenarios(section, title))
    for script, client in importlib.import_module(f"exchanges.{section}").FILE.of_programs:
        add(FILES[-1], section, script, client)
    if section == "replies":
        for_others(FILES[-1])
    if section == "tool_ports":
        for_tracers(FILES[-1])
