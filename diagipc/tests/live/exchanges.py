#!/usr/bin/env python3
"""exchanges.py [--gate] [--on NAME] [--names REGEX] [scId ...]

Plays the client scripts of vectors/exchanges/ against real runtimes that it starts, and compares: by default all of them on all runtimes
of launch.py. Harmful ones, and those with their own target configuration, get a separate runtime; the others share one. A runtime named
in a script's `deviations` must follow those steps. Prints one line per script; a difference is tried a second time, since the results
depend on timing.

It shares no code with `diagipc server`, which plays the same scripts: where the two differ, one of the players is wrong.

--gate    only what is harmless, on net10.0.9
--names   only scripts whose name has a match of REGEX

Exits with 1 if one differs, with 77 if a runtime, or a requirement of a script, is not available here.
"""
import argparse
import array
import concurrent.futures
import contextlib
import glob
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import launch
import ports
import protocol
from checks import Differs, Unavailable, eventually

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, "..", "..", "..", "vectors", "exchanges")
USER_EVENTS = ("/sys/kernel/tracing/user_events_data", "/sys/kernel/debug/tracing/user_events_data")
SUSPENDING = ("DOTNET_DiagnosticPorts", "DOTNET_DefaultDiagnosticPortSuspend")  # set by a script
GATE = "net10.0.9"
PAUSE = 0.02      # between the pieces of a `send` with `chunks`
SETTLED = 0.5     # from the first sign of managed code until it is idle
TOGETHER = 3      # runtimes that are started beside the shared ones


# --- one connection -----------------------------------------------------------------------------------------------
class Connection:
    def __init__(self, sock):
        self.sock, self.reader, self.last, self.how = sock, None, b"", None

    def read(self, length, deadline):
        """So many bytes and no more; fewer only at the end, given by `how`."""
        out = b""
        while len(out) < length:
            if not select.select([self.sock], [], [], max(0, deadline - time.monotonic()))[0]:
                raise Differs(f"after {out.hex() or 'nothing'} the rest did not come in time")
            try:
                more = self.sock.recv(length - len(out))
            except ConnectionError:
                self.how = "reset"
                break
            if not more:
                self.how = "closed"
                break
            out += more
        return out

    def drain(self):
        def run():
            self.sock.settimeout(60)
            try:
                while more := self.sock.recv(65536):
                    self.last = (self.last + more)[-64:]
                self.how = "closed"
            except ConnectionError:
                self.how = "reset"
            except OSError:
                pass  # closed by ourselves, at the end of the script

        self.reader = threading.Thread(target=run, daemon=True)
        self.reader.start()

    def end(self, deadline):
        """How it ended."""
        if self.reader:
            self.reader.join(max(0, deadline - time.monotonic()))
            if self.reader.is_alive():
                raise Differs("the end did not come in time")
        elif not self.how:
            came = self.read(1, deadline)
            if came:
                raise Differs(f"a byte came where the end should: {came.hex()}")
        return self.how

    def close(self):
        if self.reader:
            # Wakes the thread; a close alone does not.
            with contextlib.suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)
            self.reader.join(5)
        self.sock.close()


# --- patterns -----------------------------------------------------------------------------------------------------
def number(captures, name):
    return int.from_bytes(captures[name], "little")


def literal(part, captures):
    """The bytes of a part; None if any will do."""
    if isinstance(part, str):
        return bytes.fromhex(part)
    if "repeat" in part:
        return bytes.fromhex(part["repeat"]) * part["times"]
    return captures[part["same"]] if "same" in part else None


def match(pattern, have, captures):
    """Compares the received bytes: the number of bytes still needed (0: matched), and the captures. Raises Differs."""
    captures, at = dict(captures), 0
    for part in pattern:
        bytes_ = literal(part, captures)
        if bytes_ is not None:
            rest = have[at:at + len(bytes_)]
            if rest != bytes_[:len(rest)]:
                raise Differs(f"at byte {at}: {rest.hex()}, expected {bytes_.hex()[:200]}")
            length = len(bytes_)
        elif "until" in part:
            length = number(captures, part["until"]) - at
            if not 0 <= length <= part["most"]:
                raise Differs(f"{part['until']} is {at + length}, and {at} bytes before here are matched")
        elif isinstance(part["any"], int):
            length = part["any"]
        else:
            length = number(captures, part["any"]["of"]) * part["any"].get("times", 1) - part["any"].get("less", 0)
            if length < 0:
                raise Differs(f"{part['any']} is {length}")
        if at + length > len(have):
            return at + length - len(have), captures
        value = have[at:at + length]
        if any(value == literal(other, captures) for other in (part.get("not", ()) if isinstance(part, dict) else ())):
            raise Differs(f"at byte {at}: {value.hex()}, which it must not be")
        for key, wanted in (("has", True), ("lacks", False)):
            for other in part.get(key, ()) if isinstance(part, dict) else ():
                if (literal(other, captures) in value) != wanted:
                    raise Differs(f"at byte {at}: {length} bytes, {'without' if wanted else 'with'} {other}")
        if isinstance(part, dict) and "as" in part:
            captures[part["as"]] = value
        at += length
    return 0, captures


def receive(connection, alternatives, captures, deadline):
    """Reads until one of the patterns is matched; its captures."""
    have = b""
    while True:
        left, faults = [], []
        for pattern in alternatives:
            try:
                needed, found = match(pattern, have, captures)
            except Differs as fault:
                faults.append(str(fault))
                continue
            if needed == 0:
                return found
            left.append(needed)
        if not left:
            raise Differs("; ".join(faults) + f" ({have.hex()[:400]})")
        more = connection.read(min(left), deadline)
        have += more
        if len(more) < min(left):
            raise Differs(f"{connection.how} after {have.hex()[:400] or 'nothing'}")


# --- one target ---------------------------------------------------------------------------------------------------
class Target:
    """A runtime started as a script needs it, and its listeners."""

    def __init__(self, process, path, places, listeners, user_events):
        self.process, self.path, self.places, self.listeners, self.user_events = process, path, places, listeners, user_events
        self.directory = None

    def listen(self, port):
        self.listeners[port] = protocol.listening(self.places[port])

    def unlisten(self, port):
        self.listeners.pop(port).close()
        os.remove(self.places[port])


def wants_own(script):
    needs = script["target"]
    return bool(script["hazard"] == "harmful" or needs["suspended"] or needs["ports"] or needs["environment"] or "default_port" in needs)


def text_of(value):
    """A variable's value, as in Python's environment."""
    return value if isinstance(value, str) else os.fsdecode(bytes.fromhex(value["bytes"]))


def steps_of(script, name):
    """The steps to play on that runtime, and their deviation, if any."""
    for deviation in script.get("deviations", ()):
        if name in deviation["on"]:
            return script["steps"][:deviation["from"]] + deviation["steps"], deviation
    return script["steps"], None


@contextlib.contextmanager
def started(name, needs, user_events=False):
    """A target by `needs`; raises OSError if it does not start."""
    directory = tempfile.mkdtemp(prefix="ports-")
    target = Target(None, None, {one["id"]: os.path.join(directory, one["id"]) for one in needs["ports"]}, {}, None)
    try:
        variables = {name: text_of(value) for name, value in needs["environment"].items()}
        if needs["ports"]:
            variables["DOTNET_DiagnosticPorts"] = ";".join(
                f"{target.places[one['id']]},{'suspend' if one['suspend'] else 'nosuspend'}" for one in needs["ports"])
        if needs["suspended"]:
            variables["DOTNET_DefaultDiagnosticPortSuspend"] = "1"
        if user_events:
            target.user_events = stand_in_for_user_events(directory, variables)
        for one in needs["ports"]:
            if one["listening"]:
                target.listen(one["id"])
        with contextlib.ExitStack() as stack:
            target.process, where = stack.enter_context(launch.started(name, variables))
            # First: remaining processes are found by the directory, which still exists then.
            stack.callback(end_children, target.process, where)
            target.directory = where
            if not needs.get("default_port", True):
                yield target
                return
            target.path = launch.default_socket(target.process, where)
            suspending = any(one["suspend"] for one in needs["ports"]) or any(name in needs["environment"] for name in SUSPENDING)
            if not (needs["suspended"] or suspending):
                connected(target.path, time.monotonic() + 5).close()
                if not ports.goes_on(target.path):
                    raise OSError("its managed code does not start")
                time.sleep(SETTLED)
            yield target
    finally:
        for listener in target.listeners.values():
            listener.close()
        shutil.rmtree(directory, ignore_errors=True)


def connected(path, deadline):
    """A connection. The socket's file exists a moment before the process listens, so a refusal is tried again."""
    while True:
        try:
            return protocol.connected(path, max(0.1, deadline - time.monotonic()))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def end_children(process, directory):
    """8.0.30 leaves a child after each dump, which does not end and keeps the connection open: it has the run's TMPDIR too."""
    for path in glob.glob("/proc/[0-9]*/environ"):
        pid = int(path.split("/")[2])
        with contextlib.suppress(OSError), open(path, "rb") as file:
            if pid != process.pid and b"TMPDIR=" + directory.encode() in file.read().split(b"\0"):
                os.kill(pid, signal.SIGKILL)


def stand_in_for_user_events(directory, variables):
    """Returns what opens user_events_data: the file, or if this kernel has none, user_events_kernel.c in the runtime."""
    for path in USER_EVENTS:
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_RDWR))
            return lambda: [os.open(path, os.O_RDWR)]
    try:
        library = launch.user_events_library(directory)
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"neither user_events_data nor a stand-in for it: {error}") from error
    variables.update(LD_PRELOAD=library, USER_EVENTS_LOG=os.path.join(directory, "log"))
    return lambda: [end.detach() for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)]


# --- one script ---------------------------------------------------------------------------------------------------
class Player:
    def __init__(self, target, within):
        self.target, self.within, self.connections, self.captures, self.descriptors = target, within, {}, {}, []

    def play(self, steps):
        """None, or the difference."""
        try:
            for at, step in enumerate(steps):
                try:
                    self.step(step, time.monotonic() + step.get("within_ms", self.within) / 1000)
                except (Differs, OSError) as fault:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self.target.process.wait(0.3)
                    died = "" if self.target.process.poll() is None else f" (the target is dead: {self.target.process.returncode})"
                    return f"step {at} {json.dumps(step)[:160]}: {fault or type(fault).__name__}{died}"
            return None
        finally:
            for connection in self.connections.values():
                connection.close()
            for descriptor in self.descriptors:
                os.close(descriptor)

    def step(self, step, deadline):
        verb = next(verb for verb in VERBS if verb in step)
        connection = self.connections[step["on"]] if "on" in step else None
        getattr(self, "do_" + verb)(step, connection, deadline)

    def do_open(self, step, _, deadline):
        self.connections[step["open"]] = Connection(connected(self.target.path, deadline))

    def do_accept(self, step, _, deadline):
        listener = self.target.listeners[step["port"]]
        if not select.select([listener], [], [], max(0, deadline - time.monotonic()))[0]:
            raise Differs("no connection in time")
        self.connections[step["accept"]] = Connection(listener.accept()[0])

    def do_listen(self, step, *_):
        (self.target.listen if step["listen"] else self.target.unlisten)(step["port"])

    def do_expect_no_connection(self, step, *_):
        if select.select([self.target.listeners[step["port"]]], [], [], step["expect_no_connection"] / 1000)[0]:
            raise Differs("there was a connection")

    def do_send(self, step, connection, deadline):
        data = b"".join(literal(part, self.captures) for part in step["send"])
        connection.sock.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            if "with_fd" in step:
                descriptor = self.descriptor(step["with_fd"])
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
                data = data[connection.sock.sendmsg([data], rights):]
            for size in step.get("chunks", [len(data)]):
                connection.sock.sendall(data[:size])
                data = data[size:]
                if "chunks" in step:
                    time.sleep(PAUSE)
        except ConnectionError as fault:
            if "may_fail" not in step:
                raise Differs(f"{fault}; received before: {connection.read(400, deadline).hex() or 'nothing'}") from fault

    def descriptor(self, kind):
        if kind == "null":
            mine = [os.open("/dev/null", os.O_RDWR)]
        elif kind == "pipe":
            mine = list(os.pipe())[::-1]
        else:
            mine = self.target.user_events()
        self.descriptors += mine
        return mine[0]

    def do_expect(self, step, connection, deadline):
        self.captures = receive(connection, [step["expect"]], self.captures, deadline)

    def do_expect_any_of(self, step, connection, deadline):
        self.captures = receive(connection, [one["expect"] for one in step["expect_any_of"]], self.captures, deadline)

    def do_expect_nothing(self, step, connection, _):
        if select.select([connection.sock], [], [], step["expect_nothing"] / 1000)[0]:
            came = connection.read(400, time.monotonic() + 0.05) if not connection.how else b""
            raise Differs(f"something came: {came.hex() or connection.how}")

    def do_drain(self, _, connection, __):
        connection.drain()

    def do_expect_end(self, step, connection, deadline):
        how = connection.end(deadline)
        if step["expect_end"] not in ("any", how):
            raise Differs(f"it ended by {how}")
        if not connection.last.endswith(bytes.fromhex(step.get("last", ""))):
            raise Differs(f"the last bytes were {connection.last.hex()}")

    def do_end(self, step, connection, _):
        if step["end"] == "half_close":
            connection.sock.shutdown(socket.SHUT_WR)
        else:
            connection.close()

    def do_wait(self, step, *_):
        time.sleep(step["wait"] / 1000)

    def do_expect_target(self, step, _, deadline):
        process = self.target.process
        if step["expect_target"] == "alive":
            if process.poll() is not None:
                raise Differs(f"it ended with {process.returncode}")
            return
        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Differs("it lives") from None

    def do_signal(self, step, *_):
        self.target.process.send_signal(getattr(signal, "SIG" + step["signal"].upper()))

    def do_expect_socket(self, step, _, deadline):
        def is_right():
            there = glob.glob(f"{self.target.directory}/dotnet-diagnostic-{self.target.process.pid}-*-socket")
            return bool(there) == (step["expect_socket"] == "there")

        if not eventually(is_right, deadline - time.monotonic()):
            raise Differs(f"the socket is not {step['expect_socket']}")

    def do_expect_file(self, step, _, deadline):
        path = os.path.join(self.target.directory, step["expect_file"])
        eventually(lambda: os.path.exists(path), deadline - time.monotonic())
        with open(path, "rb") as file:
            have = b""
            while (needed := match(step["begins"], have, self.captures)[0]):
                more = file.read(needed)
                if not more:
                    raise Differs(f"the file has {len(have)} bytes")
                have += more


VERBS = ("expect_no_connection", "expect_any_of", "expect_nothing", "expect_target", "expect_socket", "expect_file", "expect_end", "expect", "open", "accept",
         "listen",
         "send", "drain", "end", "wait", "signal")


# --- all scripts --------------------------------------------------------------------------------------------------
def scripts():
    for path in sorted(glob.glob(os.path.join(SCRIPTS, "*.json"))):
        with open(path) as file:
            document = json.load(file)
        for script in document["scripts"]:
            if script["plays"] == "client":
                yield script, document["within_ms"]


def version(text):
    return [int(part) for part in re.sub("^net", "", text).split(".")[:2]]


class Report:
    def __init__(self):
        self.lock, self.agreed, self.known, self.wrong, self.unavailable = threading.Lock(), 0, 0, 0, 0

    def line(self, name, script, word, text):
        with self.lock:
            print(f"{word} {script['scId']} {name}: {script['name']}{': ' + text if text else ''}", flush=True)

    def result(self, name, script, fault, deviation):
        with self.lock:
            self.wrong += bool(fault)
            self.known += bool(deviation and not fault)
            self.agreed += not (fault or deviation)
        word = "differs" if fault else "known  " if deviation else "agrees "
        self.line(name, script, word, fault or (f"{deviation['fact']} {deviation['text']}" if deviation else ""))


def judge(report, name, script, try_once):
    steps, deviation = steps_of(script, name)
    try:
        fault = try_once(steps)
        if fault:
            report.line(name, script, "differs", fault + "; again")
            fault = try_once(steps)
    except Unavailable as why:
        with report.lock:
            report.unavailable += 1
            print(f"SKIPPED: {script['scId']} {name}: {script['name']}: {why}", file=sys.stderr, flush=True)
        return
    report.result(name, script, fault, deviation)


def play_alone(report, name, script, within):
    user_events = any(step.get("with_fd") == "user_events_data" for step in script["steps"])

    def try_once(steps):
        try:
            with started(name, script["target"], user_events) as target:
                return Player(target, within).play(steps)
        except (Differs, OSError) as fault:
            return f"the target: {fault}"

    judge(report, name, script, try_once)


def play_together(report, name, chosen):
    """One after another on one runtime, which is restarted if one has ended it."""
    stack = contextlib.ExitStack()
    target = None

    def try_once(steps):
        nonlocal target
        try:
            if not target or target.process.poll() is not None:
                stack.close()
                target = stack.enter_context(started(name, {"suspended": False, "ports": [], "environment": {}}))
        except (Differs, OSError) as fault:
            return f"the target: {fault}"
        fault = Player(target, within).play(steps)
        if not fault and target.process.poll() is not None:
            fault = f"the target is dead: {target.process.returncode}"
        return fault

    with stack:
        for script, within in chosen:
            judge(report, name, script, try_once)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--on", action="append", choices=launch.RUNTIMES)
    parser.add_argument("--names", type=re.compile, default=re.compile(""))
    parser.add_argument("scId", type=int, nargs="*")
    options = parser.parse_args()
    chosen = [(script, within) for script, within in scripts()
              if options.names.search(script["name"]) and (not options.scId or script["scId"] in options.scId)
              and not (options.gate and script["hazard"])]
    if not chosen:
        sys.exit("no such script")
    names = [GATE] if options.gate else options.on or list(launch.RUNTIMES)
    launch.fetch_or_skip(*names)
    report, work, later = Report(), [], 0
    for name in names:
        here = [one for one in chosen if not one[0]["since"] or version(one[0]["since"]) <= version(name)]
        later += len(chosen) - len(here)
        together = [one for one in here if not wants_own(one[0])]
        if together:
            work.append((play_together, name, together))
        work += [(play_alone, name, *one) for one in here if wants_own(one[0])]
    work.sort(key=lambda one: one[0] is play_alone)  # the long ones first
    with concurrent.futures.ThreadPoolExecutor(len(names) + TOGETHER) as pool:
        for done in [pool.submit(function, report, *arguments) for function, *arguments in work]:
            done.result()
    print(f"{', '.join(names)}: {report.agreed} as the scripts say, {report.known} as their deviations say, {report.wrong} differ; "
          f"{report.unavailable} not available here, {later} are of later versions")
    sys.exit(1 if report.wrong else launch.SKIP if report.unavailable else 0)


if __name__ == "__main__":
    main()
