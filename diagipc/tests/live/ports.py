#!/usr/bin/env python3
"""ports.py [tcId ...]

Starts a real .NET runtime with the variables of vectors/ports.json, and compares its behaviour with the vectors: which ports connect and
advertise themselves, whether its start is held, and that a resume counts for the port it arrives on (F-42). Without tcIds: every vector
that a variable can hold. Prints one line per vector; exits with 1 if one differs, with 77 if the runtime is not available here. `/tmp/`
in an address is replaced by the run's directory; other addresses are relative to it.
"""
import collections
import json
import os
import re
import select
import struct
import sys
import time

import launch
import protocol
from checks import Differs, eventually, expect
from protocol import PATIENCE, PROCESS_INFO2, RESUME_RUNTIME, connected, exchange, process_info

RUNTIME = "net10.0.9"
VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "vectors", "ports.json")
PORTS, DEFAULT = "DOTNET_DiagnosticPorts", "DOTNET_DefaultDiagnosticPortSuspend"
QUIET = 1.5     # for events that must not occur


def is_held(path):
    """Whether the start is held. Until it continues, the command line is only the executable (F-79)."""
    with connected(path) as connection:
        return " " not in process_info(2, exchange(connection, PROCESS_INFO2))["commandLine"]


def stays_held(path):
    """Whether the start is held, and remains held."""
    return not eventually(lambda: not is_held(path), QUIET)


def goes_on(path):
    """Whether the start is finally no longer held."""
    return eventually(lambda: not is_held(path), PATIENCE)


class Tool:
    """The tool's side: listens on addresses, keeps the connections that were advertised."""

    def __init__(self, directory, addresses):
        self.listeners, self.waiting = {}, collections.defaultdict(list)
        for address in addresses:
            path = os.path.join(directory, address)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self.listeners[protocol.listening(path)] = address

    def accept(self, pid, seconds):
        """One more connection with a valid advertise; False if there is none in time."""
        for listener in select.select(list(self.listeners), [], [], seconds)[0]:
            connection, (_, advertised) = protocol.accepted(listener)
            expect(advertised == pid, f"the advertise has the process id {advertised}")
            self.waiting[self.listeners[listener]].append(connection)
            return True
        return False

    def counts(self):
        return {address: len(waiting) for address, waiting in self.waiting.items() if waiting}

    def close(self):
        for connection in [*self.listeners, *(one for waiting in self.waiting.values() for one in waiting)]:
            connection.close()


def resume_in_turn(tool, ports, path):
    """Resumes over the default port, which has no effect, then over each port that holds the start."""
    with connected(path) as connection:
        exchange(connection, RESUME_RUNTIME)
    if not stays_held(path):
        return "a resume over the default port started it"
    holding = [port["address"] for port in ports if port["suspend"]]
    for nth, address in enumerate(holding):
        # Two ports with one address cannot be distinguished.
        for connection in tool.waiting[address]:
            exchange(connection, RESUME_RUNTIME)
        if nth + 1 == len(holding):
            return None if goes_on(path) else "resumed over every port, and still held"
        if not stays_held(path):
            return f"started before {holding[nth + 1]} was resumed"
    return None


def replay_ports(text, value):
    """The differences from the vector; None if there are none."""
    with launch.started(RUNTIME, {PORTS: text.replace("/tmp/", "@DIR@/")}) as (process, directory):
        def here(address):
            return address.replace("/tmp/", directory + "/")

        ports = [{**port, "address": here(port["address"])} for port in value["ports"]]
        expected = collections.Counter(port["address"] for port in ports)
        # It also listens where no connection may arrive.
        dropped = {here(field) for part in value["ignored"] for field in part["text"].strip(",").split(",")[:1] if field}
        path = launch.default_socket(process, directory)
        # Runtimes try repeatedly: it does not matter that they began earlier.
        tool = Tool(directory, {*expected, *dropped})
        try:
            deadline = time.monotonic() + PATIENCE
            while tool.counts() != expected and time.monotonic() < deadline:
                tool.accept(process.pid, 0.1)
            deadline = time.monotonic() + QUIET
            while time.monotonic() < deadline:
                tool.accept(process.pid, 0.1)
            if tool.counts() != expected:
                return f"connected: {tool.counts()}; expected: {dict(expected)}"
            held = any(port["suspend"] for port in ports)
            if not held:
                return None if goes_on(path) else "held; expected: not held"
            if not stays_held(path):
                return "not held; expected: held"
            return resume_in_turn(tool, ports, path)
        finally:
            tool.close()


def replay_default(text, held):
    with launch.started(RUNTIME, {DEFAULT: text}) as (process, directory):
        path = launch.default_socket(process, directory)
        if not held:
            return None if goes_on(path) else "held; expected: not held"
        if not stays_held(path):
            return "not held; expected: held"
        with connected(path) as connection:
            exchange(connection, RESUME_RUNTIME)
        return None if goes_on(path) else "resumed, and still held"


def cases(wanted):
    """The vectors that a variable can hold, with addresses that a socket can have."""
    with open(VECTORS) as file:
        groups = json.load(file)["groups"]
    for group in groups:
        for test in group["tests"]:
            if group["type"] not in ("ports", "default-port-suspend") or test["value"] is None or (wanted and test["tcId"] not in wanted):
                continue
            text = bytes.fromhex(test["wire"]).decode()
            elsewhere = re.search("(^|[;,])/(?!tmp/)", text)  # not in the run's own directory
            if "\0" not in text and "LongPath" not in test["flags"] and not elsewhere:
                yield group["type"], test, text


def main():
    launch.fetch_or_skip(RUNTIME)

    def replay(kind, text, value):
        try:
            return (replay_ports if kind == "ports" else replay_default)(text, value)
        except (Differs, OSError, struct.error) as error:
            return f"{type(error).__name__}: {error}"

    ran = wrong = 0
    for kind, test, text in cases({int(number) for number in sys.argv[1:]}):
        fault = replay(kind, text, test["value"])
        if fault:
            # The results depend on timing. One difference is reported, two are counted.
            print(f"differs {test['tcId']} {text!r}: {fault}; again", flush=True)
            fault = replay(kind, text, test["value"])
        ran, wrong = ran + 1, wrong + bool(fault)
        print(f"{'differs' if fault else 'agrees '} {test['tcId']} {text!r}: {fault or test['comment']}", flush=True)
    print(f"{RUNTIME}: {ran} configurations, {ran - wrong} as in the vectors, {wrong} not")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
