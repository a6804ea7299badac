#!/usr/bin/env python3
"""wireshark.py [FILE]

Captures net10.0.9 with `diagipc proxy --pcapng` while examples/probe sends it all harmless requests, and while it connects to a
diagnostic port; tshark with spec/dotnet_ipc.lua must read all of it (diagipc/tests/wireshark/check.py compares every field). FILE: where to keep the capture. Exits with 1 if something
differs, with 77 if tshark or the runtime is not available here.
"""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

import checks
import launch
import protocol
from built import diagipc, example
from checks import check

sys.path.insert(0, os.path.join(launch.HERE, "../wireshark"))
import dissected
from dissected import GRAMMAR, shown

NAME = "net10.0.9"
CODES = {command["name"]: int(command["code"], 16) for command in GRAMMAR["commands"]}
MARK = "DIAGIPC_MARK", "Größe=1"
ASKED = {"Process/ProcessInfo", "Process/ProcessInfo2", "Process/ProcessInfo3", "Process/ProcessEnvironment", "EventPipe/CollectTracing",
         "EventPipe/CollectTracing2", "EventPipe/CollectTracing3", "EventPipe/CollectTracing4", "EventPipe/CollectTracing5",
         "EventPipe/StopTracing"}


@contextlib.contextmanager
def proxy(*arguments):
    """Starts a proxy that captures; yields the socket on which it listens."""
    process = subprocess.Popen([diagipc(), "proxy", "--until-eof", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().rstrip("\n")
    finally:
        _, said = process.communicate(timeout=60)
    check("the proxy exits normally", process.returncode == 0, said)


def probed(path):
    """Captures the default port; returns the process id and the socket."""
    with launch.running(NAME, {MARK[0]: MARK[1]}) as (process, directory, endpoint):
        with proxy("--listen", os.path.join(directory, "at"), "--to", endpoint, "--pcapng", path) as at:
            done = subprocess.run([example("probe"), at], capture_output=True, text=True, timeout=120)
            check("the probe is answered through the proxy", done.returncode == 0, done.stdout + done.stderr)
        return process.pid, endpoint


def connected(path, directory):
    """Captures a diagnostic port; returns the process id."""
    port, tool = os.path.join(directory, "port"), os.path.join(directory, "tool")
    with protocol.listening(tool) as listener:
        listener.settimeout(60)
        with proxy("--port", port, "--to-port", tool, "--pcapng", path):
            with launch.started(NAME, {"DOTNET_DiagnosticPorts": f"{port},nosuspend"}) as (process, _):
                connection, _ = protocol.accepted(listener)
                with connection:
                    connection.sendall(protocol.message(protocol.PROCESS_INFO3))
                    protocol.payload_of(protocol.rest(connection))
                return process.pid


def messages_of(packets):
    """Returns every message: the item with its fields."""
    for packet in packets:
        for proto in packet.iter("proto"):
            if any(child.get("name") == "diagipc.magic" for child in proto):
                yield proto


def default_port(path):
    process_id, endpoint = probed(path)
    packets = list(dissected.packets(path, "-2"))
    left = [shown(packet, name) for packet in packets for name in ("not_decoded", "payload", "fault") if shown(packet, name)]
    check("every message is read to its last field", not left, str(left))
    messages = list(messages_of(packets))
    codes = {int(shown(message, "command")[0], 16) for message in messages}
    missing = {name for name in ASKED if CODES[name] not in codes}
    check("every command that was sent is seen", not missing, str(missing))
    requests = [message for message in messages if int(shown(message, "command")[0], 16) < 0xFF00]
    replies = [message for message in messages if int(shown(message, "command")[0], 16) >= 0xFF00]
    check("every request leads to its reply", len(requests) == len(replies) and all(shown(one, "reply_in") for one in requests))
    times = [float(time) for reply in replies for time in shown(reply, "time")]
    check("every reply leads to its request, with the time between", all(shown(one, "request_in") and shown(one, "answers") for one in replies)
          and len(times) == len(replies) and all(0 <= time < 60 for time in times), str(times))
    seen = {number for message in messages for number in shown(message, "process_id")}
    check("processId is that of the process", {int(number, 0) for number in seen} == {process_id}, str(seen))
    errors = {int(number, 0) for message in messages for number in shown(message, "hresult")}
    check("a command of a later version is refused by name", protocol.UNKNOWN_COMMAND in errors, str(errors))
    variables = [(shown(entry, "environment.name"), shown(entry, "environment.value")) for packet in packets for entry in packet.iter("field")
                 if entry.get("name") == "diagipc.environment.entry"]
    check("the environment has the variable that was set", ([MARK[0]], [MARK[1]]) in variables, str(variables))
    starts = [start for packet in packets for start in shown(packet, "stream.start")]
    check("streams begin as requested", set(starts) <= {"nettrace", "netperf"} and len(starts) >= 5, str(starts))
    opened = [shown(packet, "connection")[0] for packet in packets if shown(packet, "packet.event") == ["0"]]
    ended = {shown(packet, "connection")[0] for packet in packets if shown(packet, "packet.event") == ["2"]}
    check("connections begin once and end", len(set(opened)) == len(opened) and set(opened) == ended, f"{opened} {ended}")
    interfaces = set(dissected.tshark(path, "-T", "fields", "-e", "frame.interface_name").split())
    check("the interface is the endpoint", interfaces == {endpoint}, str(interfaces))


def diagnostic_port(path, directory):
    process_id = connected(path, directory)
    packets = list(dissected.packets(path, "-2"))
    # The runtime connects repeatedly, and the last data may be cut.
    advertises = [message for message in messages_of(packets) if message.get("showname") == "Advertise"]
    seen = {int(number, 0) for message in advertises for number in shown(message, "process_id")}
    check("the advertise names the process", seen == {process_id}, str(seen))
    info = [message for message in messages_of(packets) if shown(message, "answers") == ["0x0408"]]
    cookies = {cookie for message in advertises + info for cookie in shown(message, "runtime_cookie")}
    check("the reply on its connection has the same cookie", len(info) == 1 and len(cookies) == 1, str(cookies))


def main():
    if not shutil.which("tshark"):
        checks.skip("tshark not found")
    launch.fetch_or_skip(NAME)
    with tempfile.TemporaryDirectory(prefix="wireshark-") as directory:
        path = os.path.join(directory, "probe.pcapng")
        default_port(path)
        if sys.argv[1:]:
            shutil.copy(path, sys.argv[1])
        diagnostic_port(os.path.join(directory, "port.pcapng"), directory)
    checks.finish()


if __name__ == "__main__":
    main()
