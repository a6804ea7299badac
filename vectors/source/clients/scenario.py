"""The notation in which the scenarios for clients are written, on top of that of the exchange scripts.

A scenario is a task for a client, the steps of the runtime that it talks to, and how the client must end. It says what is expected of a
client in terms of the protocol, not in bytes, as a client may write an equal request: `request("a")`, `stop("a")`, `gives_up("a")`.
"""
import os

from notation import HERE, OK, message, string, u16, u32
from script import WITHIN, accept, anything, cites, expect, flat, send, step, text_of

PROCESS_INFO2 = "Process/ProcessInfo2"
# The commands of each operation, the newest first.
COMMANDS = {
    "process-info": ["Process/ProcessInfo3", PROCESS_INFO2, "Process/ProcessInfo"],
    "environment": ["Process/ProcessEnvironment"],
    "resume": ["Process/ResumeRuntime"],
    "set-env": ["Process/SetEnvironmentVariable"],
    "unset-env": ["Process/SetEnvironmentVariable"],
    "startup-hook": ["Process/ApplyStartupHook"],
    "perf-map": ["Process/EnablePerfMap"],
    "perf-map-off": ["Process/DisablePerfMap"],
    "dump": ["Dump/GenerateCoreDump3", "Dump/GenerateCoreDump2", "Dump/GenerateCoreDump"],
    "attach": ["Profiler/AttachProfiler"],
    "startup-profiler": ["Profiler/StartupProfiler"],
    "trace": [f"EventPipe/CollectTracing{version}" for version in (6, 5, 4, 3, 2, "")],
    "stop": ["EventPipe/StopTracing"],
    "user-events": ["EventPipe/CollectTracing6", "EventPipe/CollectTracing5"],
    "listen-port": ["Process/ResumeRuntime"],
    "trace-port": [f"EventPipe/CollectTracing{version}" for version in (6, 5, 4, 3, 2, "")],
}
AT_A_PORT = ("listen-port", "trace-port")
STREAMS = ("trace", "trace-port")
OPERATIONS = [operation for operation in COMMANDS if operation not in AT_A_PORT]
# The operations that only succeed or fail.
RESULTS = ["resume", "set-env", "unset-env", "startup-hook", "perf-map", "perf-map-off", "dump", "attach", "startup-profiler"]

PROVIDER = {"provider": "Provider", "keywords": "1", "level": "4", "arguments": ""}
LASTS = {"duration_ms": "200", "duration_s": "1"}
CLSID = "cf0d821e-299b-5307-a3d8-b283c03916dd"
TRACE = {"command": "CollectTracing2", **PROVIDER, "buffer_mb": "250", "rundown": "2147615033", "stacks": "true", "events": "",
         "buffer_mode": "0", **LASTS}
# The arguments of an operation if the scenario is about something else; `command` is the newest command of most scripted runtimes.
USUAL = {
    "process-info": {"command": "ProcessInfo2"},
    "set-env": {"name": "NAME", "value": "value"},
    "unset-env": {"name": "NAME"},
    "startup-hook": {"path": "/tmp/hook.dll"},
    "perf-map": {"type": "1"},
    "dump": {"command": "GenerateCoreDump3", "path": "/tmp/core.dmp", "type": "1", "flags": "0"},
    "attach": {"clsid": CLSID, "path": "/opt/profiler.so", "client_data": "0102", "timeout_ms": "5000"},
    "startup-profiler": {"clsid": CLSID, "path": "/opt/profiler.so"},
    "trace": TRACE,
    "trace-port": TRACE,
    "stop": {"session": "42"},
    "user-events": {"command": "CollectTracing5", **PROVIDER, "tracepoint": "Point", **LASTS},
}


# --- what is expected of the client --------------------------------------------------------------------------------
def request(on, command=None, others=None, unread=None):
    """The client sends a request of the operation, by default with any command, or with this command or a newer one. `others` is `any`,
    `unknown` for newer commands, or `none` if they would show nothing. `unread` is the unread part: `last-byte` or `payload`."""
    return step(None, on=on, request=command, **({"others": others} if others else {}), **({"unread": unread} if unread else {}))


def stop(on, session=42):
    return step(None, on=on, stop=str(session))


def gives_up(on):
    """The client ends the connection by itself, after its patience at the latest."""
    return step(None, on=on, client="gives-up")


def lets_go(on):
    """The client ends the connection, because it has everything that it needs."""
    return step(None, on=on, client="has-all")


def refuses(on):
    """The client ends the connection after an invalid reply, and does not stop a session that it was not given."""
    return step(None, on=on, client="refuses")


def settles(on):
    """The client goes on, or waits for more."""
    return step(None, on=on, client="settles")


def leaves(on):
    """The client's next request does not use this connection."""
    return step(None, on=on, client="leaves")


def nothing_whole(on):
    """The client sends anything but a whole message that could be a request."""
    return step(None, on=on, client="sends-nothing-whole")


def answer(on, *given, **keys):
    """Sends bytes to a client that may have closed already."""
    return send(on, *given, may_fail=True, **keys)


def descriptor(on):
    return expect(on, anything(1), with_fd=True)


# --- what a runtime sends ------------------------------------------------------------------------------------------
ENTRIES = ["A=1", "NAME=value"]


def ok(*payload, **keys):
    return message(OK, *payload, **keys)


def block(*entries):
    return u32(len(entries)) + b"".join(map(string, entries))


def announced(sent):
    """Returns the payload of the reply before a block."""
    return u32(len(sent)) + u16(0)


def texts_of(fault, *texts):
    """Expects an output that contains these texts; `fault` is the fault of a client whose output does not."""
    return {"texts": list(texts), "reveals": fault}


# --- scenarios -----------------------------------------------------------------------------------------------------
def scenario(name, comment, spec, operation, steps, exit, arguments=(), needs=(), flags=(), **keys):
    """Returns a scenario. `keys` are `output`, `reveals` and so on, if given: see diagipc/clients/README.md."""
    flags = [flag for flag in flags if flag]
    assert cites(spec), f"{name}: no such row: {spec}"
    given = {**USUAL.get(operation, {}), **dict(arguments)}
    needs = [[one] if isinstance(one, str) else list(one) for one in needs]
    return {"name": name, "comment": comment, "spec": list(spec), "operation": operation, **({"arguments": given} if given else {}),
            **({"needs": needs} if needs else {}), "steps": list(flat(steps)), "exit": exit,
            **({"flags": flags} if flags else {}), **{key: value for key, value in keys.items() if value}}


def of_default(operation, *steps, command=None):
    """Returns the usual steps; ProcessInfo gets version 2, because each version has another reply."""
    is_info = operation == "process-info"
    return [accept("a"), request("a", PROCESS_INFO2, "unknown") if is_info else request("a", command), *steps]


class Scenarios:
    """One JSON file of diagipc/clients/scenarios/."""
    names = set()

    def __init__(self, name, title):
        self.name, self.title, self.scenarios = name, title, []

    def add(self, *given, **keys):
        self.scenarios.append(scenario(*given, **keys))
        name = self.scenarios[-1]["name"]
        assert name not in self.names, f"{name} stands twice"
        self.names.add(name)
        return self.scenarios[-1]

    def document(self):
        return {"schema": "scenarios.schema.json", "format": 1, "title": self.title, "within_ms": WITHIN,
                "numberOfScenarios": len(self.scenarios), "scenarios": self.scenarios}

    def text(self):
        return text_of(self.document(), "scenarios")

    def path(self):
        return os.path.join(HERE, "..", "..", "diagipc", "clients", "scenarios", self.name + ".json")
