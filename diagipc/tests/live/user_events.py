#!/usr/bin/env python3
"""user_events.py [--record FILE]

Real user_events sessions of a real .NET runtime, on a kernel that need not have user_events: user_events_kernel.c replaces it. Checks
what the runtime registers and writes, and compares it with the same events in a nettrace stream. Prints one line per check; exits with 1
if one fails, with 77 if the runtime or a C compiler is not available here. --record writes the results. The exchange scripts of user_events
check what a client sees.
"""
import argparse
import array
import collections
import concurrent.futures
import contextlib
import ctypes
import json
import os
import re
import select
import socket
import struct
import tempfile
import threading
import time

import checks
import launch
import protocol
from checks import eventually
from nettrace import blobs, described, parsed
from protocol import COLLECT_TRACING5, E_FAIL, ERROR, OK, STOP_TRACING, message, receive_reply, string

HERE = os.path.dirname(os.path.abspath(__file__))
RUNTIME = "net10.0.9"
PATIENCE = 60.0  # for expected events
QUIET = 1.5      # for events that must not occur
FIELDS = " u8 version; u16 event_id; __rel_loc u8[] extension; __rel_loc u8[] payload"
CLR, TPL, LOGGING = "Microsoft-Windows-DotNETRuntime", "System.Threading.Tasks.TplEventSource", "Microsoft-Extensions-Logging"
EXCEPTION, METHOD_LOAD, JITTING_STARTED, JIT_MEMORY = 80, 143, 145, 146  # events of CLR
# With TPL's keyword 0x80 it would not name related activities.
ALL, ALL_BUT_FLOW = 2**64 - 1, 2**64 - 1 - 0x80


# --- messages ------------------------------------------------------------------------------------------------------
def numbers(ids):
    return protocol.array(*(struct.pack("<I", one) for one in ids))


def provider(name, keywords, level, arguments=None, excluded=()):
    return protocol.provider(name, keywords, level, arguments) + b"\0" + numbers(excluded)


def config(default, *sets):
    return string(default) + protocol.array(*(string(name) + numbers(ids) for name, ids in sets))


def streaming(*providers):
    return message(COLLECT_TRACING5, struct.pack("<IIIQB", 0, 64, 1, 0, 0) + protocol.array(*providers))


def user_events(*providers):
    return message(COLLECT_TRACING5, struct.pack("<IQ", 1, 0) + protocol.array(*providers))


def small(default, *sets):
    """Returns a request whose tracepoints get few events."""
    return user_events(provider(CLR, 1, 4) + config(default, *sets))


def connected(path):
    return protocol.connected(path, PATIENCE)


def silent(connection, seconds=QUIET):
    return not select.select([connection], [], [], seconds)[0]


def reply(connection):
    """Returns the code of an error, or OK, and the payload."""
    code, payload = receive_reply(connection)
    assert (code, len(payload)) in ((ERROR, 4), (OK, 8)), (code, payload.hex())
    return struct.unpack("<I", payload)[0] if code == ERROR else OK, payload


def rights(*descriptors):
    return socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors)


def send(connection, data, *control, flags=0):
    assert connection.sendmsg([data], control, flags) == len(data)


class Sink:
    """The descriptor for the runtime, and the data it writes there: one packet per record."""

    def __init__(self):
        self.ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.records = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while packet := self.ours.recv(1 << 20):
            self.records.append(packet)

    def fileno(self):
        return self.theirs.fileno()


class Target:
    """A runtime with the stand-in, and its log."""

    def __init__(self, process, directory):
        self.process, self.directory = process, directory
        self.path = launch.default_socket(process, directory)
        self.asked = 0

    def begin(self):
        self.ask("initialize", protocolVersion="2024-11-05", capabilities={}, clientInfo={"name": "test", "version": "1"})

    def log(self, what):
        """Returns the calls so far: the structure, the command string, the result."""
        try:
            with open(self.directory + "/log") as file:
                lines = [line.split() for line in file.read().split("\n")[:-1]]
        except FileNotFoundError:
            return []
        return [(bytes.fromhex(reg), bytes.fromhex(text.strip("-")).decode(), int(result))
                for kind, reg, text, result in lines if kind == what]

    def ask(self, method, **parameters):
        """Makes the program act: one request and its answer, in the program's protocol."""
        self.asked += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": parameters})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        deadline = time.monotonic() + PATIENCE
        while not re.search(rb'"id":%d\b' % self.asked, self.output()):
            assert self.process.poll() is None, f"{method[:20]}: ended with {self.process.returncode}: {self.output()}"
            assert time.monotonic() < deadline, f"no answer to {method[:20]} within {PATIENCE:.0f} s: {self.output()}"
            time.sleep(0.05)

    def throw(self, *sizes):
        """Throws exceptions with an event payload of that size, which is their text and 156 more bytes."""
        for size in sizes:
            self.ask("x" * ((size - 156) // 2))

    def output(self):
        with open(self.directory + "/output", "rb") as file:
            return file.read()


def settled(one):
    """Returns the number of unregistrations once no registration is left."""
    def done(what):
        return sum(not result for _, _, result in one.log(what))

    until(lambda: done("register") == done("unregister"), "earlier tracepoints are unregistered")
    return len(one.log("unregister"))


def until(condition, what):
    assert eventually(condition, PATIENCE), f"not within {PATIENCE:.0f} s: {what}"


@contextlib.contextmanager
def target(library):
    with launch.started(RUNTIME, {"LD_PRELOAD": library, "USER_EVENTS_LOG": "@DIR@/log"}) as (process, directory):
        one = Target(process, directory)
        one.begin()
        yield one


# --- one session with everything in it --------------------------------------------------------------------------------
TRACEPOINTS = ["Clr", "ClrMethodLoad", "OffJitMemory", "Counters", "Tpl", "Logging"]
SOURCES = {"Clr": CLR, "ClrMethodLoad": CLR, "Counters": "System.Runtime", "Tpl": TPL, "Logging": LOGGING}
LONGEST, TOO_LONG = 65534, 65536  # an exception's payload is of even length


class Run:
    """One session with everything in it, and a stream with the same events beside it."""

    def __init__(self, one):
        clr = (CLR, 0x1 | 0x8 | 0x10 | 0x8000 | 0x10000, 5)
        others = [("System.Runtime", 0, 5, "EventCounterIntervalSec=1"), (TPL, ALL_BUT_FLOW, 5), (LOGGING, ALL, 5)]
        asked = [provider(*clr, excluded=[JITTING_STARTED])
                 + config("Clr", ("ClrMethodLoad", [METHOD_LOAD]), ("OffJitMemory", [JIT_MEMORY]))]
        asked += [provider(*other) + config(name) for other, name in zip(others, TRACEPOINTS[3:])]
        with connected(one.path) as stream:
            stream.sendall(streaming(*(provider(*each) for each in [clr, *others])))
            _, session = reply(stream)
            stream.settimeout(None)
            with concurrent.futures.ThreadPoolExecutor() as pool:
                data = pool.submit(protocol.rest, stream)
                self.session(one, asked)
                with connected(one.path) as other:
                    other.sendall(message(STOP_TRACING, session))
                    assert reply(other) == (OK, session)
                data = data.result(PATIENCE)
        self.metadata, self.streamed = {}, collections.Counter()
        for kind, number, activity, related, payload in blobs(data):
            if kind == b"MetadataBlock":
                self.metadata[struct.unpack_from("<I", payload)[0]] = payload[4:]
            else:
                event = described(self.metadata[number])
                self.streamed[event.provider, event.id, activity, related, payload] += 1
        self.records = [parsed(packet) for packet in self.sink.records]

    def session(self, one, asked):
        self.sink = Sink()
        with connected(one.path) as connection:
            connection.sendall(user_events(*asked))
            self.silent_without_descriptor = silent(connection)
            self.registered_without_descriptor = one.log("register")
            send(connection, b"x", rights(self.sink.fileno()))
            self.sink.theirs.close()
            self.answer = reply(connection)
            self.registered = one.log("register")
            one.ask("tools/list")
            one.ask("tools/call", name="none", arguments={})
            one.throw(1000, LONGEST, TOO_LONG)
            time.sleep(QUIET)
            connection.shutdown(socket.SHUT_WR)
            time.sleep(QUIET)
            before = len(self.sink.records)
            time.sleep(QUIET)  # the counters are sent each second
            self.after_half_close = len(self.sink.records) - before
            self.unregistered_half_closed = one.log("unregister")
        until(lambda: len(one.log("unregister")) >= len(self.registered), "the tracepoints are unregistered")
        self.sink.reader.join(PATIENCE)
        self.closed_by_the_runtime = not self.sink.reader.is_alive()
        self.unregistered = one.log("unregister")

    def of(self, tracepoint):
        return [record for record in self.records if TRACEPOINTS[record.write_index] == tracepoint]


# --- checks of that run --------------------------------------------------------------------------------------------
def the_reply_waits_for_the_descriptor(run):
    """F-19, R-UEV-003, R-UEV-004: nothing before it, then the session, with any byte."""
    assert run.silent_without_descriptor and not run.registered_without_descriptor
    assert run.answer[0] == OK, f"{run.answer[0]:#x}"
    return "no reply and no registration before the descriptor; with the byte 'x', a session"


def every_name_is_registered(run):
    """F-65, R-UEV-007, R-UEV-009: defaults and sets, in the order of the request."""
    assert [text for _, text, _ in run.registered] == [name + FIELDS for name in TRACEPOINTS]
    assert all(result == 0 for _, _, result in run.registered)
    return f"{len(run.registered)}: {' '.join(TRACEPOINTS)}"


def user_reg_has_4_bytes_of_padding(run):
    """F-64, R-UEV-008: each field in its place, but the size is 32."""
    for reg, _, _ in run.registered:
        size, bit, width, flags, _, _, index, padding = struct.unpack("<IBBHQQII", reg)
        assert (size, len(reg), bit, width, flags, index, padding) == (32, 32, 31, 4, 0, 0, 0), reg.hex()
    addresses = {struct.unpack_from("<Q", reg, 8)[0] for reg, _, _ in run.registered}
    assert len(addresses) == len(TRACEPOINTS)
    return "size 32, bit 31 of 4 bytes, no flags, write index 0, then 4 bytes of zero; different addresses"


def records_are_as_described(run):
    """F-66, F-67, R-UEV-010 to R-UEV-014, R-UEV-016 to R-UEV-022: `parsed` would have failed; labels have one order."""
    seen = collections.Counter(record.labels for record in run.records)
    assert all(record.version == 1 for record in run.records)
    assert all(list(labels) == sorted(set(labels)) for labels in seen), seen
    for labels in ((), (1,), (2,), (2, 3)):
        assert seen[labels], f"no record with the labels {labels}: {seen}"
    return ", ".join(f"{count} with {' '.join(map(str, labels)) or 'no label'}" for labels, count in sorted(seen.items()))


def the_first_record_alone_has_metadata(run):
    """R-UEV-028, R-UEV-029: more than once only with the same bytes at the same time, or for another version of the event. The record has no
    version: that of a record without metadata is unknown."""
    again, without, others = 0, 0, set()
    seen = collections.defaultdict(list)
    for record in run.records:
        key = record.write_index, record.event_id
        if record.metadata is None:
            assert seen[key], f"a record of event {record.event_id} before its metadata"
            without += 1
        else:
            again += record.metadata in seen[key]
            if seen[key] and record.metadata not in seen[key]:
                others.add(record.event_id)
            seen[key].append(record.metadata)
    assert without > 10 * len(seen) and again < len(seen) and others == {METHOD_LOAD}, (len(seen), without, again, others)
    versions = {described(record.metadata).version for record in run.of("ClrMethodLoad") if record.metadata}
    assert versions == {1, 2}, versions
    return f"{len(seen)} events, {without} records without; {again} twice by racing threads; two versions of event {METHOD_LOAD}"


def metadata_are_those_of_nettrace(run):
    """F-27, R-UEV-024: the provider's name is present; the bytes are those of a stream of format 1 after MetadataId."""
    sent = {record.metadata for record in run.records if record.metadata}
    assert len(sent) > 20 and sent <= set(run.metadata.values())
    return f"{len(sent)}, each byte for byte, the provider's name included"


def native_events_have_minimal_metadata(run):
    """F-28, R-UEV-031: provider, id, keywords, version, level; no name, no fields."""
    events = [described(record.metadata) for record in run.records if record.metadata]
    native = [event for event in events if event.provider == CLR]
    managed = [event for event in events if event.provider != CLR]
    assert native and managed
    assert all(event.name == "" and event.fields == bytes(4) for event in native)
    assert all(event.name and len(event.fields) > 4 for event in managed), managed
    return f"{len(native)} native ones in 90 bytes each, {len(managed)} managed ones with name and fields"


def events_go_to_their_tracepoint(run):
    """R-UEV-011: by the write index; sets before the default, excluded ids nowhere, and nothing to a tracepoint that is not enabled: the
    runtime reads the bit at enable_addr, which the kernel sets while the tracepoint has a reader."""
    here = {name: {record.event_id for record in run.of(name)} for name in TRACEPOINTS}
    streamed = {number for source, number, *_ in run.streamed if source == CLR}
    assert {METHOD_LOAD, JITTING_STARTED, JIT_MEMORY} <= streamed
    assert here["ClrMethodLoad"] == {METHOD_LOAD} and not here["Clr"] & {METHOD_LOAD, JITTING_STARTED, JIT_MEMORY}
    assert here["Clr"] and here["Counters"] and here["Tpl"] and here["Logging"] and not here["OffJitMemory"]
    sources = {name: {described(record.metadata).provider for record in run.of(name) if record.metadata} for name in SOURCES}
    assert sources == {name: {source} for name, source in SOURCES.items()}, sources
    return "only the set's id in its tracepoint, an excluded id in none, a tracepoint for each provider"


def payloads_and_activities_are_those_of_eventpipe(run):
    """F-26, R-UEV-018, R-UEV-019, R-UEV-025: a stream's event has the same payload and the same 16 bytes of each activity."""
    written = collections.Counter()
    for record in run.records:
        source = SOURCES[TRACEPOINTS[record.write_index]]
        written[source, record.event_id, record.activity, record.related, record.payload] += 1
    missing = written - run.streamed
    assert not missing, f"{sum(missing.values())} of {len(run.records)} are not in the stream: {list(missing)[0]}"
    return f"{len(run.records)} records, each in the stream too"


def a_payload_beyond_65535_bytes_is_dropped(run):
    """F-29: the runtime drops the record."""
    written = {len(record.payload) for record in run.of("Clr") if record.event_id == EXCEPTION}
    streamed = {len(payload) for source, number, _, _, payload in run.streamed if (source, number) == (CLR, EXCEPTION)}
    assert {1000, LONGEST, TOO_LONG} <= streamed and {1000, LONGEST} <= written and TOO_LONG not in written, (written, streamed)
    return f"an exception of {LONGEST} bytes has a record, one of {TOO_LONG} is only in the stream"


def a_closed_connection_ends_the_session(run):
    """F-23, F-87: a half-close is no hang-up. After it each tracepoint is unregistered by its address, and the descriptor closed."""
    assert run.after_half_close and not run.unregistered_half_closed
    assert [(reg, result) for reg, _, result in run.unregistered] == [
        (struct.pack("<IBBHQ", 16, 31, 0, 0, struct.unpack_from("<Q", reg, 8)[0]), 0) for reg, _, _ in run.registered]
    assert run.closed_by_the_runtime
    return (f"{run.after_half_close} records in {QUIET} s after a half-close; after the end {len(run.unregistered)} unregistered in 16 bytes each, "
            "the descriptor closed")


# --- other actions of a client: small sessions -----------------------------------------------------------------------
@contextlib.contextmanager
def session_of(one, request, *descriptors, code=OK, before=(), flags=0):
    """Yields a connection that requested a session, passed the descriptors, and was answered with that code; after an error it has ended."""
    with connected(one.path) as connection:
        connection.sendall(request)
        send(connection, b"\xff", *before, rights(*descriptors), flags=flags)
        answer, _ = reply(connection)
        assert answer == code, f"answered {answer:#x}, expected {code:#x}"
        assert code == OK or connection.recv(1) == b""
        yield connection


def asked(one, *names, **options):
    with session_of(one, small(*names), Sink().fileno(), **options):
        pass


def of_two_descriptors_the_first_is_taken(one):
    """The other one stays open in the runtime. F-21: the real kernel refuses the registration of /dev/null."""
    def strangers():
        directory = f"/proc/{one.process.pid}/fd/"
        # A descriptor that is closed meanwhile does not count.
        return sum(os.path.realpath(directory + fd) == os.devnull for fd in os.listdir(directory))

    sink, before = Sink(), strangers()
    with open(os.devnull, "r+b", buffering=0) as file:
        with session_of(one, small("D"), sink.fileno(), file.fileno()):
            leaked = strangers() - before
        with session_of(one, small("D"), file.fileno(), sink.fileno(), code=E_FAIL):
            pass
    assert leaked == 1, leaked
    return "and the second stays open in the runtime"


class Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_uint32), ("iov", ctypes.c_void_p), ("iovlen", ctypes.c_size_t),
                ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t), ("flags", ctypes.c_int)]


def flags_and_other_control_messages_are_ignored(one):
    """R-UEV-005: with credentials before the descriptor, and with flags in the structure, where lengths are size_t."""
    sink, pid = Sink(), struct.pack("iII", os.getpid(), os.getuid(), os.getgid())
    asked(one, "E", before=[(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, pid)], flags=socket.MSG_DONTWAIT)
    with connected(one.path) as connection:
        connection.sendall(small("E"))
        data = ctypes.create_string_buffer(b"\xff", 1)
        vector = (ctypes.c_size_t * 2)(ctypes.addressof(data), 1)
        control = ctypes.create_string_buffer(struct.pack("@Niiii", 20, socket.SOL_SOCKET, socket.SCM_RIGHTS, sink.fileno(), 0), 24)
        sent = Message(None, 0, ctypes.addressof(vector), 1, ctypes.addressof(control), 24, 0x7FFFFFFF)
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.sendmsg(connection.fileno(), ctypes.byref(sent), 0) == 1, os.strerror(ctypes.get_errno())
        assert reply(connection)[0] == OK
    return "credentials beside it, and every flag in msg_flags: a session"


def names_are_registered(one):
    """F-65: 512 with its fields and the NUL. A name ends at its first NUL, so that it is not too long for P-19: the grammar allows it."""
    names = ["n" * 436, "\u00e9" * 218, "\u00dc\u8a3a\U0001f600", "n" * 400 + "\0" + "n" * 400]
    for name in names:
        asked(one, name)
        assert one.log("register")[-1][1] == name.partition("\0")[0] + FIELDS
    return "one byte a character, and two; names are UTF-8; of 801 units, the 400 before the NUL"


def a_failed_registration_fails_the_session(one):
    """F-21. The kernel reads the text after a space as the fields."""
    before = settled(one)
    asked(one, "Good", ("two words", [1]), ("Later", [2]), code=E_FAIL)
    assert [text for _, text, _ in one.log("register")[-2:]] == ["Good" + FIELDS, "two words" + FIELDS]
    until(lambda: len(one.log("unregister")) == before + 3, "three are unregistered")
    assert [result for _, _, result in one.log("unregister")[before:]] == [0, 2, 2]
    return "E_FAIL and the end; the rest is not registered, but all three are unregistered"


RUN = [the_reply_waits_for_the_descriptor, every_name_is_registered, user_reg_has_4_bytes_of_padding, records_are_as_described,
       the_first_record_alone_has_metadata, metadata_are_those_of_nettrace, native_events_have_minimal_metadata, events_go_to_their_tracepoint,
       payloads_and_activities_are_those_of_eventpipe, a_payload_beyond_65535_bytes_is_dropped, a_closed_connection_ends_the_session]
SMALL = [of_two_descriptors_the_first_is_taken, flags_and_other_control_messages_are_ignored, names_are_registered,
         a_failed_registration_fails_the_session]


# --- the results, for the vectors ----------------------------------------------------------------------------------
def chosen(run):
    """Yields comments with records, in the order written: the shortest record of each kind, and its metadata. No record contains a path of
    the recording machine."""
    def kind(record):
        source = "native" if record.write_index < 3 else "managed"
        version = f", version {described(record.metadata).version}" if record.metadata else ""
        shared = record.event_id == METHOD_LOAD
        return source, record.labels, record.write_index if shared or record.write_index == 3 else None, version if shared else ""

    path = re.compile(rb"/\0[\w.]\0")
    clean = [record for record in run.records if not path.search(record.bytes)]
    shortest, first = {}, {}
    for record in clean:
        if kind(record) not in shortest or len(record.bytes) < len(shortest[kind(record)].bytes):
            shortest[kind(record)] = record
        if record.metadata:
            first.setdefault((record.write_index, record.event_id), record)
    wanted = set(shortest.values())
    wanted |= {first[record.write_index, record.event_id] for record in wanted if (record.write_index, record.event_id) in first}
    for record in clean:
        if record in wanted:
            wanted.remove(record)
            source, labels, _, version = kind(record)
            labels = "labels " + " ".join(map(str, labels)) if labels else "no label"
            yield f"{TRACEPOINTS[record.write_index]} {record.event_id}, {source}: {labels}{version}", record


def write_down(run, path):
    seen = {
        "runtime": RUNTIME,
        "registrations": [{"user_reg": reg.hex(), "name_args": text} for reg, text, _ in run.registered],
        "unregistrations": [reg.hex() for reg, _, _ in run.unregistered],
        "records": [{"comment": comment, "bytes": record.bytes.hex()} for comment, record in chosen(run)],
    }
    with open(path, "w") as file:
        json.dump(seen, file, indent=1)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record")
    record = parser.parse_args().record
    launch.fetch_or_skip(RUNTIME)
    with tempfile.TemporaryDirectory() as directory:
        try:
            library = launch.user_events_library(directory)
        except OSError as error:
            checks.skip(f"a C compiler is not available here: {error}")
        with target(library) as one:
            run = Run(one)
            for check in RUN:
                checks.agrees(f"{RUNTIME} {check.__name__}", check, run)
            if record and not checks.wrong:
                write_down(run, record)
            for check in SMALL:
                checks.agrees(f"{RUNTIME} {check.__name__}", check, one)
    checks.finish()


if __name__ == "__main__":
    main()
