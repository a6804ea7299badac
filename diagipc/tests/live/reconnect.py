#!/usr/bin/env python3
"""reconnect.py [FUNCTION ...]

Checks a real .NET runtime with a diagnostic port that starts late, stops, or fails, and when a command's connection ends. Without
FUNCTION: every check. Prints one line per check and runtime; exits with 1 if one differs, otherwise with 77 if one is not available here.
Uses only runtimes that it starts, and writes only files in the run's directory.
"""
import concurrent.futures
import contextlib
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

import checks
import launch
import ports
import protocol
from checks import Differs, Unavailable, expect
from protocol import (ATTACH_PROFILER, BAD_ENCODING, COLLECT_TRACING2, ERROR, GENERATE_CORE_DUMP, MODULE_NOT_FOUND, NOT_YET_AVAILABLE,
                      PATIENCE, PROCESS_INFO, STOP_TRACING, UNKNOWN_MAGIC, connected, error, exchange, message, payload_of, process_info)

RUNTIMES = ("net10.0.9", "net9.0.5", "net8.0.30")
DELAYS = [10, 12, 15, 18, 22, 27, 33, 41, 51, 63, 78, 97, 121, 151, 188, 235, 293, 366, 457, 571, 500]  # F-77, in ms
LONGEST = 0.571  # the longest delay, in seconds
SLACK = 1.0      # for a busy machine
QUIET = 0.7      # for events that must not occur: longer than the longest delay


def ms(seconds):
    return f"{1000 * seconds:.0f} ms"


def rest(connection):
    """All bytes until the end; the end is expected."""
    connection.settimeout(PATIENCE)
    return protocol.rest(connection, may_be_reset=True)


class Listener:
    """The tool's end of one port."""

    def __init__(self, address, backlog=8):
        self.address = address
        self.cookie = self.pid = None
        self.socket = protocol.listening(address, backlog)

    def take(self, seconds):
        """One more connection, its advertise still unread; None if there is none in time."""
        if not select.select([self.socket], [], [], seconds)[0]:
            return None
        return self.socket.accept()[0]

    def next(self, seconds=LONGEST + SLACK):
        """One more connection, which must arrive in time, with the same advertise as those before it."""
        expect(select.select([self.socket], [], [], seconds)[0], f"no connection within {ms(seconds)}")
        connection, said = protocol.accepted(self.socket)
        expect(said == (self.cookie or said[0], self.pid or said[1]), "the advertise has another cookie or pid than before")
        self.cookie, self.pid = said
        return connection

    def none(self, seconds, what):
        connection = self.take(seconds)
        expect(not connection, f"one more connection {what}")

    def gone(self, unlinked=True):
        self.socket.close()
        if unlinked:
            os.unlink(self.address)


@contextlib.contextmanager
def target(name, executable=None):
    """A runtime with one port to connect to: its process, its default port's socket, the address of the port."""
    with launch.started(name, {ports.PORTS: "@DIR@/port,nosuspend"}, executable) as (process, directory):
        path = launch.default_socket(process, directory)
        yield process, path, directory + "/port"
        expect(process.poll() is None, f"the runtime has ended with {process.returncode}")


def default_port_answers(path):
    with connected(path) as connection:
        return exchange(connection, PROCESS_INFO)


def works(listener, connection):
    """A command over that connection is answered; returns the next connection."""
    connection.sendall(message(PROCESS_INFO))
    payload_of(rest(connection))
    connection.close()
    return listener.next()


# Ports that start late

def a_late_listener(name):
    with target(name) as (process, path, address):
        deadline, asked = time.monotonic() + 1.5, 0
        while time.monotonic() < deadline:
            default_port_answers(path)
            asked += 1
            time.sleep(0.4)
        listener = Listener(address)
        begun = time.monotonic()
        connection = listener.next()
        took = time.monotonic() - begun
        expect(listener.pid == process.pid, "the advertise has another pid")
        works(listener, connection)
        return f"the default port answered {asked} times before there was a listener; then connected after {ms(took)}"


@contextlib.contextmanager
def traced(process):
    """Records what the runtime's threads connect to and wait for. Returns the file."""
    if not shutil.which("strace"):
        raise Unavailable("strace not found")
    with tempfile.TemporaryDirectory() as directory:
        file = directory + "/trace"
        command = ["strace", "-f", "-ttt", "-s", "200", "-e", "trace=connect,poll,sendto", "-e", "signal=none", "-o", file,
                   "-p", str(process.pid)]
        with open(directory + "/said", "wb") as said:
            tracer = subprocess.Popen(command, stdout=said, stderr=said)
        try:
            deadline = time.monotonic() + PATIENCE
            while not (os.path.exists(file) and os.path.getsize(file)):
                if tracer.poll() is not None or time.monotonic() > deadline:
                    with open(directory + "/said", errors="replace") as said:
                        raise Unavailable(f"strace: {said.read(200).strip() or 'no output'}")
                time.sleep(0.02)
            yield file
        finally:
            tracer.terminate()
            tracer.wait()


def attempts(file, address):
    """Each attempt to connect to the address: when, whether it succeeded, and the wait that the runtime then requested, in ms."""
    found, thread = [], None
    with open(file, errors="replace") as lines:
        for line in lines:
            parts = line.split(None, 2)
            if len(parts) < 3:
                continue
            if parts[2].startswith("connect(") and f'"{address}"' in parts[2]:
                thread = parts[0]
                found.append([float(parts[1]), parts[2].rstrip().endswith("= 0"), None])
            elif found and parts[0] == thread and not found[-1][1] and found[-1][2] is None:
                waits = re.match(r"poll\(.*\], \d+, (-?\d+)", parts[2])
                if waits:
                    found[-1][2] = int(waits[1])
    return found


def failed(found):
    """The attempts since the last successful one."""
    worked = [nth for nth, attempt in enumerate(found) if attempt[1]]
    return found[worked[-1] + 1 if worked else 0:]


def delays_from(file, address, first, count):
    """The last delays that begin with `first`, once there are so many; and their attempts."""
    deadline = time.monotonic() + sum(DELAYS) / 1000 + PATIENCE
    while True:
        found = failed(attempts(file, address))
        asked = [attempt[2] for attempt in found]
        if first in asked:
            begun = len(asked) - 1 - asked[::-1].index(first)
            if len(asked) > begun + count:
                return asked[begun:begun + count], found[begun:]
        expect(time.monotonic() < deadline, f"no {count} delays from {first} ms on: {asked}")
        time.sleep(0.1)


def the_delays_between_attempts(name):
    with target(name) as (process, path, address), traced(process) as file:
        default_port_answers(path)  # which restarts the delays
        # The requested delays do not depend on the machine; the real ones do.
        delays, found = delays_from(file, address, 10, len(DELAYS))
        expect(delays == DELAYS, f"delays {delays}")
        for delay, attempt, following in zip(DELAYS, found, found[1:]):
            took = 1000 * (following[0] - attempt[0])
            expect(delay - 1 <= took <= 1.5 * delay + 60, f"{took:.0f} ms where {delay} were requested")
        # A connection that is made and lost also restarts them.
        listener = Listener(address)
        connection = listener.next()
        listener.gone()
        connection.close()
        lost, found = delays_from(file, address, 12, 4)
        expect(lost == DELAYS[1:5], f"after a lost connection: delays {lost}")
        expect(not any(attempt[2] == 10 for attempt in failed(attempts(file, address))), "a delay of 10 ms after a lost connection")
        return (f"delays of {' '.join(map(str, delays))} ms; after a lost connection one attempt at once, "
                f"then {' '.join(map(str, lost))} ms")


# One command a connection

def one_command_a_connection(name):
    with target(name) as (_, path, address):
        listener = Listener(address)
        connection = listener.next()
        listener.none(QUIET, "beside one that waits")
        connection.sendall(message(PROCESS_INFO))
        begun = time.monotonic()
        following = listener.next()
        took = time.monotonic() - begun
        seen = rest(connection)
        expect(process_info(1, payload_of(seen))["cookie"] == listener.cookie, "the advertise's cookie is not ProcessInfo's")
        with contextlib.suppress(BrokenPipeError):
            connection.sendall(message(PROCESS_INFO))
        expect(rest(connection) == b"", "a second command on the connection is answered")
        following.sendall(2 * message(PROCESS_INFO))
        seen = rest(following)
        payload_of(seen)
        third = listener.next()
        listener.none(QUIET, "beside one that waits")
        works(listener, third)
        expect(process_info(1, default_port_answers(path))["cookie"] == listener.cookie, "the default port has another cookie")
        return f"the next connection arrived {ms(took)} after the command; same cookie, a second command is not answered"


def the_next_connection_comes_after_the_answer(name):
    with target(name) as (process, _, address), traced(process) as file:
        listener = Listener(address)
        connection = listener.next()
        connection.sendall(message(PROCESS_INFO)[:10])
        listener.none(QUIET, "before the command has arrived")
        connection.sendall(message(PROCESS_INFO)[10:])
        payload_of(rest(connection))
        following = listener.next()
        deadline = time.monotonic() + PATIENCE
        order, signs = [], {"connect": f'"{address}"', "ADVR": '"ADVR_V1', "answer": '"DOTNET_IPC_V1'}
        # strace writes a moment later.
        while order[-1:] != ["ADVR"] or "answer" not in order:
            expect(time.monotonic() < deadline, f"in the trace: {order}")
            time.sleep(0.05)
            with open(file, errors="replace") as lines:
                order = [what for line in lines for what, sign in signs.items()
                         if sign in line and re.search(r"= [0-9]+$", line.rstrip())]
        expect(order[-3:] == ["answer", "connect", "ADVR"], f"order: {order}")
        following.close()
        return "none after half a command; then the answer, the next connection, its advertise, in this order"


def an_answer_to_an_advertise_is_a_request(name):
    with target(name) as (_, path, address):
        listener = Listener(address)
        seen = []
        for sent, code in ((b"ADVR_V1\0" + bytes(26), BAD_ENCODING),
                           (b"ADVR_V1\0" + bytes(6) + struct.pack("<HHH", 20, 0, 0), UNKNOWN_MAGIC)):
            connection = listener.next()
            connection.sendall(sent)
            seen.append(rest(connection))
            expect(seen[-1] == error(code), f"answered {seen[-1].hex()}, expected {error(code).hex()}")
        works(listener, listener.next())
        default_port_answers(path)
        return "34 bytes as an answer: BAD_ENCODING, the end, a new connection; 20 bytes: UNKNOWN_MAGIC, likewise"


def a_connection_waits_without_a_timeout(name):
    with target(name) as (_, path, address):
        listener = Listener(address)
        connection = listener.next()
        listener.none(5.0, "while one is idle")
        works(listener, connection)
        return "idle for 5 s, then a command was answered on that connection"


# Ports that fail

def the_other_end_closes(name):
    with target(name) as (_, path, address):
        listener = Listener(address)
        listener.next().close()
        begun = time.monotonic()
        connection = listener.next()
        took = time.monotonic() - begun
        expect(took < 0.3, f"connected again only after {ms(took)}")
        connection.close()
        for _ in range(20):
            unread = listener.take(LONGEST + SLACK)
            expect(unread, "no connection after one was closed with its advertise unread")
            unread.close()
        connection = listener.next()
        connection.shutdown(socket.SHUT_WR)
        seen = rest(connection)
        expect(seen == error(BAD_ENCODING), f"a half-close was answered with {seen.hex()}")
        works(listener, listener.next())
        default_port_answers(path)
        return f"an idle connection closed: again after {ms(took)}; 20 closed unread; a half-close is answered with BAD_ENCODING"


def the_listener_goes_away(name):
    with target(name) as (_, path, address):
        took = []
        for unlinked in (True, False):
            listener = Listener(address)
            connection = listener.next()
            listener.gone(unlinked)
            time.sleep(QUIET)
            connection.sendall(message(PROCESS_INFO))
            payload_of(rest(connection))
            connection.close()
            time.sleep(QUIET)
            default_port_answers(path)
            if not unlinked:
                os.unlink(address)
            again = Listener(address)
            begun = time.monotonic()
            works(again, again.next())
            took.append(time.monotonic() - begun)
            again.gone()
        return ("its last connection still accepted a command; the runtime connected to a new listener after "
                f"{ms(took[0])}, {ms(took[1])} (file kept)")


def a_listener_that_never_accepts(name):
    with target(name) as (_, path, address):
        listener = Listener(address)
        deadline, asked = time.monotonic() + 1.5, 0
        while time.monotonic() < deadline:
            default_port_answers(path)
            asked += 1
            time.sleep(0.1)
        connection = listener.next()
        listener.none(QUIET, "beside the one that waited to be accepted")
        works(listener, connection)
        return f"not accepted for 1.5 s: the default port answered {asked} times; one connection was waiting, and accepted a command"


def a_full_backlog_holds_every_port(name):
    """Not as R-PRT-027 requires: the connect blocks, and with it the thread that serves all ports."""
    with target(name) as (_, path, address):
        # Filled before it has the address: the runtime must not be first.
        listener = Listener(address + ".full", 0)
        filler = socket.socket(socket.AF_UNIX)
        filler.connect(listener.address)
        try:
            with socket.socket(socket.AF_UNIX) as more:
                more.setblocking(False)
                more.connect(listener.address)
                raise Unavailable("the backlog does not fill up")
        except BlockingIOError:
            pass
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
        filler.close()
        works(listener, connection)
        default_port_answers(path)
        return f"the default port is silent while there is no space, and answered after {ms(took)}, once there was"


def bad_requests_on_a_port(name):
    with target(name) as (_, path, address):
        listener = Listener(address)
        connection = listener.next()
        connection.sendall(message(PROCESS_INFO)[:10])
        connection.close()
        connection = listener.next()
        connection.sendall(message(PROCESS_INFO, magic=b"x" * 14))
        seen = rest(connection)
        expect(seen == error(UNKNOWN_MAGIC), f"garbage was answered with {seen.hex()}")
        # A size of 65,535: the runtime waits for the rest, until the tool closes (F-6).
        connection = listener.next()
        connection.sendall(b"\xff" * 20)
        listener.none(QUIET, "while it waits for the rest of a message")
        connection.close()
        works(listener, listener.next())
        default_port_answers(path)
        return "half a header and a close, garbage, garbage with a large size and a close: connected again each time"


# Commands that take their time

def a_stream_over_a_port(name):
    with target(name) as (_, path, address):
        listener = Listener(address)
        connection = after_the_start(listener)
        connection.sendall(message(COLLECT_TRACING2, struct.pack("<IIB", 16, 1, 0)
                                   + protocol.array(protocol.provider("Microsoft-Windows-DotNETRuntime", 1, 4))))
        session = payload_of(protocol.receive(connection, 28))
        stream = protocol.receive(connection, 8)
        expect(stream == b"Nettrace", f"no stream: {stream.hex()}")
        second = listener.next()
        listener.none(QUIET, "beside one that waits")
        second.sendall(message(PROCESS_INFO))
        payload_of(rest(second))
        third = listener.next()
        third.sendall(message(STOP_TRACING, session))
        ended, reply, deadline = {}, b"", time.monotonic() + PATIENCE
        # The stream must be read (F-75).
        while len(ended) < 2:
            expect(time.monotonic() < deadline, f"ended: {sorted(ended)}; expected: the stream and the stop")
            for readable in select.select([one for one in (third, connection) if one not in ended], [], [], 0.1)[0]:
                piece = readable.recv(65536)
                reply += piece if readable is third else b""
                if not piece:
                    ended[readable] = time.monotonic()
        expect(payload_of(reply) == session, "the stop's reply has another session")
        works(listener, listener.next())
        apart = ended[connection] - ended[third]
        expect(abs(apart) < SLACK, f"the stop's connection and the stream ended {ms(apart)} apart")
        return f"the runtime connected again while it streamed; the stream ended {1000 * apart:+.1f} ms after the stop's connection"


def attach(library):
    return message(ATTACH_PROFILER, protocol.profiler(library, bytes(range(1, 17)), milliseconds=3000))


def after_the_start(listener):
    """A connection once the runtime is ready for profilers: until then it answers an attach of any path with NOT_YET_AVAILABLE (F-56)."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        connection = listener.next()
        connection.sendall(attach("/no/such/profiler"))
        answer = rest(connection)
        if answer != error(NOT_YET_AVAILABLE):
            expect(answer == error(MODULE_NOT_FOUND), f"for a missing path: {answer.hex()}")
            return listener.next()
        time.sleep(0.05)
    raise Differs(f"not ready for profilers after {PATIENCE} s")


def an_attach_holds_its_connection(name):
    with target(name) as (_, path, address):
        listener = Listener(address)
        connection = after_the_start(listener)
        # Opening a FIFO lasts until there is a writer; so does the attach.
        fifo = os.path.dirname(address) + "/profiler.so"
        os.mkfifo(fifo)
        connection.sendall(attach(fifo))
        early = select.select([connection], [], [], QUIET)[0]
        expect(not early, "an answer, or the end, before the attach was over")
        listener.none(QUIET, "before the attach was over")
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        begun = time.monotonic()
        seen = rest(connection)
        took = time.monotonic() - begun
        (hresult,) = struct.unpack("<I", payload_of(seen, ERROR))
        connection = listener.next()
        connection.sendall(attach(fifo + ".absent"))
        begun = time.monotonic()
        absent = rest(connection)
        expect(absent == error(MODULE_NOT_FOUND), f"for a missing path: {absent.hex()}")
        soon = time.monotonic() - begun
        works(listener, listener.next())
        return (f"no answer, no end and no new connection for {ms(2 * QUIET)} while it loads; {ms(took)} later error "
                f"{hresult:#x}, the end; a missing path: after {ms(soon)}")


def a_dump_is_answered_when_it_is_written(name):
    with launch.with_createdump(name, 0o755) as executable, target(name, executable) as (_, path, address):
        listener = Listener(address)
        connection = after_the_start(listener)
        dump = os.path.dirname(address) + "/core"
        connection.sendall(message(GENERATE_CORE_DUMP, protocol.dump(dump, 1)))
        begun = grew = time.monotonic()
        sizes = [0]
        while not select.select([connection], [], [], 0.002)[0]:
            expect(time.monotonic() - begun < 60, "no answer within 60 s")
            size = os.path.getsize(dump) if os.path.exists(dump) else 0
            if size != sizes[-1]:
                sizes.append(size)
                grew = time.monotonic()
            expect(not listener.take(0), "one more connection before the dump was written")
        took, after = time.monotonic() - begun, time.monotonic() - grew
        # Checked once the answer has arrived, before it is read.
        complete = os.stat(dump)
        seen = rest(connection)
        expect(seen == protocol.S_OK, f"answered {seen.hex()}; expected: OK with S_OK")
        time.sleep(0.5)
        later = os.stat(dump)
        expect((complete.st_size, complete.st_mtime_ns) == (later.st_size, later.st_mtime_ns), "the dump grew after its answer")
        expect(stat.S_ISREG(later.st_mode) and later.st_size > 4096 and len(sizes) > 1, f"no dump: {later.st_size} bytes")
        with open(dump, "rb") as file:
            expect(file.read(4) == b"\x7fELF", "no dump: not an ELF file")
        works(listener, listener.next())
        return (f"answered after {ms(took)}, {ms(after)} after the file of {later.st_size} bytes last grew "
                f"({len(sizes) - 1} sizes seen); no end and no new connection until then")


CHECKS = (
    (a_late_listener, RUNTIMES),
    (the_delays_between_attempts, RUNTIMES),
    (one_command_a_connection, RUNTIMES),
    (the_next_connection_comes_after_the_answer, RUNTIMES),
    (an_answer_to_an_advertise_is_a_request, RUNTIMES),
    (a_connection_waits_without_a_timeout, RUNTIMES),
    (the_other_end_closes, RUNTIMES),
    (the_listener_goes_away, RUNTIMES),
    (a_listener_that_never_accepts, RUNTIMES),
    (a_full_backlog_holds_every_port, RUNTIMES),
    (bad_requests_on_a_port, RUNTIMES),
    (a_stream_over_a_port, RUNTIMES),
    (an_attach_holds_its_connection, RUNTIMES),
    (a_dump_is_answered_when_it_is_written, ("net9.0.5",)),  # the one whose package has createdump
)


def main():
    wanted = sys.argv[1:]
    unknown = set(wanted) - {check.__name__ for check, _ in CHECKS}
    if unknown:
        sys.exit(f"{__doc__}\nNo check: {', '.join(sorted(unknown))}")
    launch.fetch_or_skip(*RUNTIMES)
    with concurrent.futures.ThreadPoolExecutor(len(RUNTIMES)) as pool:
        for check, names in CHECKS:
            if not wanted or check.__name__ in wanted:
                list(pool.map(lambda name: checks.agrees(f"{name} {check.__name__}", check, name), names))
    sys.exit(1 if checks.wrong else launch.SKIP if checks.skipped else 0)


if __name__ == "__main__":
    main()
