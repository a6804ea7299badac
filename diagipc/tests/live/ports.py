#!/usr/bin/env python3
"""ports.py [NAME ... | FUNCTION ...] [tcId ...]

Diagnostic ports of real .NET runtimes. `as_configured` starts 10.0.9 with the variables of vectors/ports.json, and compares which ports connect
and advertise themselves, whether the start is held, and that a resume counts for the port it arrives on (F-42); with tcIds only these. `/tmp/`
in an address is replaced by the run's directory; other addresses are relative to it. The other functions check what the exchange scripts of
ports cannot: delays, listeners that fail, commands that take their time. Prints one line per check and runtime; exits with 1 if one differs,
with 77 if one that was named is not available here.
"""
import collections
import contextlib
import json
import os
import re
import select
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time

import launch
import protocol
from built import ROOT
from checks import Differs, Unavailable, agrees, equal, eventually, expect
from protocol import (ATTACH_PROFILER, BAD_ENCODING, ERROR, GENERATE_CORE_DUMP, MODULE_NOT_FOUND, NOT_YET_AVAILABLE, PATIENCE, PROCESS_INFO,
                      PROCESS_INFO2, RESUME_RUNTIME, S_OK, connected, error, exchange, message, payload_of, process_info)

PORTS, DEFAULT = "DOTNET_DiagnosticPorts", "DOTNET_DefaultDiagnosticPortSuspend"
QUIET = 1.5      # for events that must not occur: longer than the longest delay
DELAYS = [10, 12, 15, 18, 22, 27, 33, 41, 51, 63, 78, 97, 121, 151, 188, 235, 293, 366, 457, 571, 500]  # F-77, in ms
LONGEST = 0.571  # the longest delay, in seconds
SLACK = 1.0      # for a busy machine
WANTED = {int(word) for word in sys.argv[1:] if word.isdecimal()}


# --- ports as configured ---------------------------------------------------------------------------------------------
def is_held(path):
    """Returns whether the start is held. Until it continues, the command line is only the executable (F-79)."""
    with connected(path) as connection:
        return " " not in process_info(2, exchange(connection, PROCESS_INFO2))["commandLine"]


def stays_held(path):
    """Returns whether the start is held, and remains held."""
    return not eventually(lambda: not is_held(path), QUIET)


def goes_on(path):
    """Returns whether the start finally continues."""
    return eventually(lambda: not is_held(path), PATIENCE)


class Tool:
    """The tool's side: listens on addresses, keeps the connections that were advertised."""

    def __init__(self, directory, addresses, stack):
        self.listeners, self.waiting, self.stack = {}, collections.defaultdict(list), stack
        for address in addresses:
            path = os.path.join(directory, address)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self.listeners[stack.enter_context(protocol.listening(path))] = address

    def accept(self, pid, seconds):
        """Accepts one more connection with a valid advertise, if there is one in time."""
        for listener in select.select(list(self.listeners), [], [], seconds)[0]:
            connection, (_, advertised) = protocol.accepted(listener)
            equal(advertised, pid, "the advertise has the process id")
            self.waiting[self.listeners[listener]].append(self.stack.enter_context(connection))

    def counts(self):
        return {address: len(waiting) for address, waiting in self.waiting.items()}


def resume_in_turn(tool, ports, path):
    """Resumes over the default port, which has no effect, then over each port that holds the start."""
    with connected(path) as connection:
        exchange(connection, RESUME_RUNTIME)
    expect(stays_held(path), "a resume over the default port started it")
    holding = [port["address"] for port in ports if port["suspend"]]
    for nth, address in enumerate(holding):
        # Two ports with one address cannot be distinguished.
        for connection in tool.waiting[address]:
            exchange(connection, RESUME_RUNTIME)
        if nth + 1 == len(holding):
            expect(goes_on(path), "resumed over every port, and still held")
        else:
            expect(stays_held(path), f"started before {holding[nth + 1]} was resumed")


def replay_ports(name, text, value):
    with launch.started(name, {PORTS: text.replace("/tmp/", "@DIR@/")}) as (process, directory), contextlib.ExitStack() as stack:
        def here(address):
            return address.replace("/tmp/", directory + "/")

        ports = [{**port, "address": here(port["address"])} for port in value["ports"]]
        expected = collections.Counter(port["address"] for port in ports)
        # The tool also listens where no connection may arrive.
        dropped = {here(field) for part in value["ignored"] for field in part["text"].strip(",").split(",")[:1] if field}
        path = launch.default_socket(process, directory)
        # Runtimes connect repeatedly, so it does not matter that they started earlier.
        tool = Tool(directory, {*expected, *dropped}, stack)
        deadline = time.monotonic() + PATIENCE
        while tool.counts() != expected and time.monotonic() < deadline:
            tool.accept(process.pid, 0.1)
        deadline = time.monotonic() + QUIET
        while time.monotonic() < deadline:
            tool.accept(process.pid, 0.1)
        equal(tool.counts(), dict(expected), "connected:")
        if any(port["suspend"] for port in ports):
            expect(stays_held(path), "not held")
            resume_in_turn(tool, ports, path)
        else:
            expect(goes_on(path), "held")


def replay_default(name, text, held):
    with launch.started(name, {DEFAULT: text}) as (process, directory):
        path = launch.default_socket(process, directory)
        if held:
            expect(stays_held(path), "not held")
            with connected(path) as connection:
                exchange(connection, RESUME_RUNTIME)
        expect(goes_on(path), "still held")


def configurations():
    """Yields the vectors that a variable can hold, with addresses that a socket can have."""
    with open(ROOT + "/vectors/ports.json", encoding="utf-8") as file:
        groups = json.load(file)["groups"]
    for group in groups:
        replay = {"ports": replay_ports, "default-port-suspend": replay_default}.get(group["type"])
        for test in group["tests"]:
            text = bytes.fromhex(test["wire"] or "").decode(errors="replace")
            elsewhere = re.search("(^|[;,])/(?!tmp/)", text)  # not in the run's own directory
            is_chosen = replay and test["value"] is not None and (not WANTED or test["tcId"] in WANTED)
            if is_chosen and "\0" not in text and "LongPath" not in test["flags"] and not elsewhere:
                yield replay, test, text


def as_configured(name):
    ran = 0
    for replay, test, text in configurations():
        def twice():
            try:
                replay(name, text, test["value"])
            except (Differs, OSError, struct.error) as fault:
                # The results depend on timing. One difference is reported, two are counted.
                print(f"{test['tcId']} {text!r}: {fault}; again", flush=True)
                replay(name, text, test["value"])
            return test["comment"]

        agrees(f"{test['tcId']} {text!r}", twice)
        ran += 1
    return f"{ran} configurations"


# --- one port ------------------------------------------------------------------------------------------------------
def ms(seconds):
    return f"{1000 * seconds:.0f} ms"


def rest(connection):
    """Returns all bytes until the end, which is expected."""
    connection.settimeout(PATIENCE)
    return protocol.rest(connection, may_be_reset=True)


class Listener:
    """The tool's end of one port."""

    def __init__(self, address, backlog=8):
        self.address, self.said = address, None
        self.socket = protocol.listening(address, backlog)

    def take(self, seconds):
        """Accepts one more connection without reading its advertise; None if there is none in time."""
        return self.socket.accept()[0] if select.select([self.socket], [], [], seconds)[0] else None

    def next(self):
        """Accepts one more connection, which must arrive in time, with the same advertise as earlier ones."""
        expect(select.select([self.socket], [], [], LONGEST + SLACK)[0], f"no connection within {ms(LONGEST + SLACK)}")
        connection, said = protocol.accepted(self.socket)
        self.said = self.said or said
        equal(said, self.said, "the advertise has")
        return connection

    def none(self, what):
        expect(not self.take(QUIET), f"one more connection {what}")


@contextlib.contextmanager
def target(name, executable=None):
    """Starts a runtime with one port to connect to; yields its process, its default port's socket, and the port's address."""
    with launch.started(name, {PORTS: "@DIR@/port,nosuspend"}, executable) as (process, directory):
        yield process, launch.default_socket(process, directory), directory + "/port"
        expect(process.poll() is None, f"the runtime has ended with {process.returncode}")


def default_port_answers(path):
    with connected(path) as connection:
        return exchange(connection, PROCESS_INFO)


def works(listener, connection):
    """Checks that a command over that connection is answered; returns the next connection."""
    connection.sendall(message(PROCESS_INFO))
    payload_of(rest(connection))
    connection.close()
    return listener.next()


@contextlib.contextmanager
def traced(process):
    """Records what the runtime's threads connect to and wait for. Returns a function that reads the lines so far."""
    if not shutil.which("strace"):
        raise Unavailable("strace not found")
    with tempfile.TemporaryDirectory() as directory:
        def lines():
            with open(directory + "/trace", errors="replace", encoding="utf-8") as file:
                return file.readlines()

        command = ["strace", "-f", "-ttt", "-s", "200", "-e", "trace=connect,poll,sendto", "-e", "signal=none", "-o", directory + "/trace"]
        with subprocess.Popen([*command, "-p", str(process.pid)], stderr=subprocess.PIPE, text=True) as tracer:
            try:
                attached = tracer.stderr.readline()
                if "attached" not in attached:
                    raise Unavailable(f"strace: {attached}")
                yield lines
            finally:
                tracer.terminate()


def attempts(lines, address):
    """Returns the attempts to connect to the address since the last success: the time, and the wait that the runtime then requested, in ms."""
    found, thread = [], None
    for own, when, call in (line.split(None, 2) for line in lines() if line.count(" ") > 1):
        if call.startswith("connect(") and f'"{address}"' in call:
            thread = own
            found = [] if call.rstrip().endswith("= 0") else [*found, [float(when), None]]
        elif found and own == thread and found[-1][1] is None and (waits := re.match(r"poll\(.*\], \d+, (-?\d+)", call)):
            found[-1][1] = int(waits[1])
    return found


def delays_from(lines, address, first, count):
    """Returns the last delays that begin with `first`, once there are so many, and the times of their attempts."""
    deadline = time.monotonic() + sum(DELAYS) / 1000 + PATIENCE
    while True:
        found = attempts(lines, address)
        asked = [delay for _, delay in found]
        if first in asked:
            begun = len(asked) - 1 - asked[::-1].index(first)
            if len(asked) > begun + count:
                return asked[begun:begun + count], [when for when, _ in found[begun:]]
        expect(time.monotonic() < deadline, f"no {count} delays from {first} ms on: {asked}")
        time.sleep(0.1)


def the_delays_between_attempts(name):
    with target(name) as (process, path, address), traced(process) as lines:
        default_port_answers(path)  # which restarts the delays
        # The requested delays do not depend on the machine; the real ones do.
        delays, times = delays_from(lines, address, 10, len(DELAYS))
        equal(delays, DELAYS, "delays")
        for delay, begun, following in zip(DELAYS, times, times[1:]):
            took = 1000 * (following - begun)
            expect(delay - 1 <= took <= 1.5 * delay + 60, f"{took:.0f} ms where {delay} were requested")
        # A connection that is made and lost also restarts them.
        listener = Listener(address)
        connection = listener.next()
        listener.socket.close()
        os.unlink(address)
        connection.close()
        lost, _ = delays_from(lines, address, 12, 4)
        equal(lost, DELAYS[1:5], "after a lost connection: delays")
        expect(all(delay != 10 for _, delay in attempts(lines, address)), "a delay of 10 ms after a lost connection")
        return f"delays of {' '.join(map(str, delays))} ms; after a lost connection one attempt at once, then {' '.join(map(str, lost))} ms"


def the_next_connection_comes_after_the_answer(name):
    with target(name) as (process, _, address), traced(process) as lines:
        listener = Listener(address)
        connection = listener.next()
        connection.sendall(message(PROCESS_INFO)[:10])
        listener.none("before the command has arrived")
        connection.sendall(message(PROCESS_INFO)[10:])
        payload_of(rest(connection))
        # This stays open, because the runtime would connect once more.
        following = listener.next()
        signs = {"connect": f'"{address}"', "ADVR": '"ADVR_V1', "answer": '"DOTNET_IPC_V1'}

        def order():
            return [what for line in lines() for what, sign in signs.items() if sign in line and re.search(r"= [0-9]+$", line.rstrip())][-3:]

        # strace writes a moment later.
        eventually(lambda: order() == ["answer", "connect", "ADVR"], PATIENCE)
        equal(order(), ["answer", "connect", "ADVR"], "order:")
        following.close()
        return "none after half a command; then the answer, the next connection, its advertise, in this order"


def what_is_no_command(name):
    """The runtime connects again after each message that is not a command."""
    with target(name) as (_, path, address):
        listener = Listener(address)
        connection = listener.next()
        connection.sendall(b"ADVR_V1\0" + bytes(26))
        equal(rest(connection), error(BAD_ENCODING), "34 bytes are answered")
        connection = listener.next()
        connection.shutdown(socket.SHUT_WR)
        equal(rest(connection), error(BAD_ENCODING), "a half-close is answered")
        # With a size of 65,535 the runtime waits for the rest, until the tool closes (F-6).
        connection = listener.next()
        connection.sendall(b"\xff" * 20)
        listener.none("while it waits for the rest of a message")
        connection.close()
        for _ in range(20):
            unread = listener.take(LONGEST + SLACK)
            expect(unread, "no connection after one was closed with its advertise unread")
            unread.close()
        works(listener, listener.next())
        default_port_answers(path)
        return "an advertise in answer and a half-close are BAD_ENCODING; garbage with a large size waits; 20 connections closed unread"


def a_listener_whose_file_stays(name):
    with target(name) as (_, path, address):
        listener = Listener(address)
        connection = listener.next()
        listener.socket.close()
        time.sleep(QUIET)
        connection.sendall(message(PROCESS_INFO))
        payload_of(rest(connection))
        time.sleep(QUIET)
        default_port_answers(path)
        os.unlink(address)
        listener = Listener(address)
        works(listener, listener.next())
        return "its last connection still accepted a command; the runtime connected to a new listener"


def a_listener_that_never_accepts(name):
    with target(name) as (_, path, address):
        listener = Listener(address)
        for _ in range(15):
            default_port_answers(path)
            time.sleep(0.1)
        connection = listener.next()
        listener.none("beside the one that waited to be accepted")
        works(listener, connection)
        return "not accepted for 1.5 s: the default port answered 15 times; one connection was waiting, and accepted a command"


def a_full_backlog_holds_every_port(name):
    """Unlike R-PRT-027, the connect blocks, and with it the thread that serves all ports."""
    with target(name) as (_, path, address):
        # The backlog is filled before the listener has the address, so that the runtime is not first.
        listener = Listener(address + ".full", 0)
        with connected(listener.address), socket.socket(socket.AF_UNIX) as more:
            more.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                more.connect(listener.address)
                raise Unavailable("the backlog does not fill up")
            os.rename(listener.address, address)
            time.sleep(LONGEST + SLACK)
            with connected(path) as waiting:
                waiting.sendall(message(PROCESS_INFO))
                begun = time.monotonic()
                expect(not select.select([waiting], [], [], 2.0)[0], "the default port answers")
                listener.take(0).close()  # ours: now there is space
                connection = listener.next()
                payload_of(rest(waiting))
                took = time.monotonic() - begun
        works(listener, connection)
        default_port_answers(path)
        return f"the default port is silent while there is no space, and answered after {ms(took)}, once there was"


# --- commands that take their time -----------------------------------------------------------------------------------
def attach(library):
    return message(ATTACH_PROFILER, protocol.profiler(library, bytes(range(1, 17)), milliseconds=3000))


def after_the_start(listener):
    """Returns a connection once the runtime is ready for profilers; before that it answers any attach with NOT_YET_AVAILABLE (F-56)."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        connection = listener.next()
        connection.sendall(attach("/no/such/profiler"))
        answer = rest(connection)
        if answer != error(NOT_YET_AVAILABLE):
            equal(answer, error(MODULE_NOT_FOUND), "a missing path is answered")
            return listener.next()
        time.sleep(0.05)
    raise Differs(f"not ready for profilers after {PATIENCE} s")


def an_attach_holds_its_connection(name):
    with target(name) as (_, _, address):
        listener = Listener(address)
        connection = after_the_start(listener)
        # Opening a FIFO lasts until there is a writer; so does the attach.
        fifo = os.path.dirname(address) + "/profiler.so"
        os.mkfifo(fifo)
        connection.sendall(attach(fifo))
        expect(not select.select([connection], [], [], QUIET)[0], "an answer, or the end, before the attach was over")
        listener.none("before the attach was over")
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        (hresult,) = struct.unpack("<I", payload_of(rest(connection), ERROR))
        works(listener, listener.next())
        return f"no answer, no end and no new connection for {ms(2 * QUIET)} while it loads; then error {hresult:#x}, the end"


def a_dump_is_answered_when_it_is_written(name):
    with launch.with_createdump(name, 0o755) as executable, target(name, executable) as (_, _, address):
        listener = Listener(address)
        connection = after_the_start(listener)
        dump, sizes, begun = os.path.dirname(address) + "/core", [0], time.monotonic()
        connection.sendall(message(GENERATE_CORE_DUMP, protocol.dump(dump, 1)))
        while not select.select([connection], [], [], 0.002)[0]:
            expect(time.monotonic() - begun < 60, "no answer within 60 s")
            size = os.path.getsize(dump) if os.path.exists(dump) else 0
            sizes += [size] * (size != sizes[-1])
            expect(not listener.take(0), "one more connection before the dump was written")
        # This is checked once the answer has arrived, before it is read.
        complete = os.stat(dump)
        equal(rest(connection), S_OK)
        time.sleep(0.5)
        later = os.stat(dump)
        expect((complete.st_size, complete.st_mtime_ns) == (later.st_size, later.st_mtime_ns), "the dump grew after its answer")
        expect(stat.S_ISREG(later.st_mode) and later.st_size > 4096 and len(sizes) > 1, f"no dump: {later.st_size} bytes")
        works(listener, listener.next())
        return f"answered once its {later.st_size} bytes were written ({len(sizes) - 1} sizes seen); no end and no new connection until then"


if __name__ == "__main__":
    sys.argv[1:] = [word for word in sys.argv[1:] if not word.isdecimal()] or ["as_configured"] * bool(WANTED)
    launch.play(
        __doc__,
        *((check, launch.USUAL) for check in (the_delays_between_attempts, the_next_connection_comes_after_the_answer, what_is_no_command,
                                              a_listener_whose_file_stays, a_listener_that_never_accepts, a_full_backlog_holds_every_port,
                                              an_attach_holds_its_connection)),
        (a_dump_is_answered_when_it_is_written, ("net9.0.5",)),  # the one whose package has createdump
        (as_configured, ("net10.0.9",)),
    )
