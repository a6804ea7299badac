#!/usr/bin/env python3
"""windows.py [--record DIRECTORY]

Starts real .NET runtimes for Windows under wine, and checks what is specific to Windows: the name and kind of the pipe, the replies about
the process, the environment block, the address of a port. Prints one line per check, with the bytes of the replies; --record writes
requests and replies there, one file per runtime, in the form of vectors/source/recorded/. Exits with 1 if a check fails, with 77 if wine,
a compiler for Windows or a runtime is not available here. The runtimes are real, the system under them is not.
"""
import json
import os
import re
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import checks
import launch
import under_wine
from protocol import (BAD_ENCODING, COLLECT_TRACING, COLLECT_TRACING2, COLLECT_TRACING5, ENVVAR_NOT_FOUND, ERROR, MODULE_NOT_FOUND, NOT_YET_AVAILABLE,
                      PROCESS_INFO, PROCESS_INFO2, RESUME_RUNTIME, STOP_TRACING, UNKNOWN_COMMAND, array, dump, environment, message, payload_of,
                      process_info, profiler, provider, string)
from under_wine import HELD_ONLY, PATIENCE, PIPE, RUNNING, Listener, expect, has_started, readable, take

QUIET = 3.0      # for events that must not occur
CREATED = re.compile(r'CreateNamedPipeW \(L"([^"]*)", (\w+), (\w+), (\d+), (\d+), (\d+),')
FIRST_INSTANCE, DUPLEX = 0x80000, 3                        # of the open mode
READ_MESSAGES, MESSAGES, REJECT_REMOTE_CLIENTS = 2, 4, 8   # of the pipe mode


def the_default_pipe(wine, runtime):
    """R-TRN-004, R-TRN-015, F-62: the name has the process id, nothing else; it is a pipe of bytes."""
    reply, said = wine.exchange(runtime.pipe(), message(PROCESS_INFO))
    expect("the pipe has the name of the text, and its process answers", process_info(1, payload_of(reply))["pid"], runtime.pid)
    expect("what the pipe is", said, "pipe byte, read by byte, out 16384, in 16384, instances 4294967295")
    for form in "dotnetcore-diagnostic-%d", "dotnet-diagnostic-%d-0", "dotnet-diagnostic-%d-socket":
        name = form % runtime.pid
        try:
            wine.exchange(PIPE + name, message(PROCESS_INFO), 0)
            checks.check(f"no pipe {name}", False, "there is one")
        except OSError as error:
            expect(f"no pipe {name}", str(error), "failed CreateFile 2")


def how_the_pipe_is_made(runtime):
    """F-62: the runtime's system calls, in wine's trace."""
    wanted = (PIPE + f"dotnet-diagnostic-{runtime.pid}").replace("\\", "\\\\")
    calls = [call[1:] for call in CREATED.findall(runtime.output()) if call[0] == wanted]
    if not calls:
        return checks.check("how the pipe is made", False, "not in wine's trace")
    for nth, (opening, mode, instances, out, into) in enumerate(calls):
        opening, mode = int(opening, 16), int(mode, 16)
        expect(f"pipe {nth + 1}: messages, read as messages, remote clients refused, duplex, first instance, instances, buffers",
               [bool(mode & MESSAGES), bool(mode & READ_MESSAGES), bool(mode & REJECT_REMOTE_CLIENTS), opening & DUPLEX == DUPLEX,
                bool(opening & FIRST_INSTANCE), int(instances), int(out), int(into)],
               [False, False, True, True, nth == 0, 255, 16384, 16384])


def kept(record, comment, command, request, reply):
    """Prints a reply, and adds it to the recording."""
    print(f"{command} {request.hex()} answers {reply.hex()}")
    record.append({"comment": comment, "command": command, "request": request.hex(), "reply": reply.hex()})
    return reply


def who_it_is(runtime, command_line, entry, version, record):
    """R-PRC-006: the command line is the text with which the process was started, with its quotes and spaces."""
    cookies = set()
    for edition, code, comment in (1, 0x0400, "process information"), (2, 0x0404, "and its entry assembly and version"), \
            (3, 0x0408, "and its runtime identifier"):
        request = message(code)
        name = "Process/ProcessInfo" + ("" if edition == 1 else str(edition))
        reply = kept(record, comment, name, request, runtime.exchange(request))
        seen = process_info(edition, payload_of(reply))
        cookies.add(seen.pop("cookie"))
        wanted = {"pid": runtime.pid, "commandLine": command_line, "OS": "Windows", "arch": "x64"}
        wanted.update({"entry": entry, "clr": version} if edition > 1 else {})
        wanted.update({"version": 1, "rid": "win-x64"} if edition > 2 else {})
        expect(name, seen, wanted)
    expect("cookies", len(cookies), 1)


def the_environment(runtime, record):
    """F-43: entries that begin with = are present and unchanged."""
    request = message(0x0402)
    seen = runtime.exchange(request)
    kept(record, "size of the environment block", "Process/ProcessEnvironment", request, seen[:26])
    kept(record, "the environment block", None, b"", seen[26:])
    entries = environment(seen)
    # windows_pipe.c set it, as cmd.exe does.
    print("entries that begin with =:", [entry for entry in entries if entry.startswith("=")])
    expect("the entry =C:", [entry for entry in entries if entry.startswith("=C:")], ["=C:=C:\\windows"])


def sessions(runtime, record):
    """R-EVP-058: streaming sessions are for every system, user_events sessions are not."""
    streamed = provider("a", 1, 2) + b"\0" + array()
    # session_type, rundownKeyword, providers; then the provider's additional fields, a default tracepoint and no sets.
    request = message(COLLECT_TRACING5, struct.pack("<IQ", 1, 0) + array(streamed + string("t") + array()))
    with runtime.conversation(request) as connection:
        reply = kept(record, "start a session for user_events, which Windows lacks", "EventPipe/CollectTracing5", request, take(connection, 24))
        expect("a user_events session", f"{struct.unpack('<I', payload_of(reply, ERROR))[0]:#010x}", f"{BAD_ENCODING:#010x}")
        expect("F-74: that connection ends, or more bytes arrive", readable(connection.stdout, QUIET), False)

    # session_type, circularBufferMB, format, rundownKeyword, requestStackwalk, providers
    request = message(COLLECT_TRACING5, struct.pack("<IIIQ?", 0, 16, 1, 0, False) + array(streamed))
    with runtime.conversation(request) as connection:
        session = payload_of(kept(record, "start a session that streams", "EventPipe/CollectTracing5", request, take(connection, 28)))
        expect("a streaming session: the stream begins with", take(connection, 8), b"Nettrace")
        stop = message(STOP_TRACING, session)
        reply = kept(record, "stop it, on a second connection", "EventPipe/StopTracing", stop, runtime.exchange(stop))
        expect("it is stopped from a second connection", payload_of(reply), session)
        expect("then the stream continues, and ends", (len(take(connection, 1 << 30)) > 0, connection.wait(PATIENCE)), (True, 0))


def addresses(wine, command_line):
    r"""R-PRT-010: the address is a name. With \\.\pipe\ before it, the prefix becomes a part of the name: the runtime adds its prefix
    too, and \\.\pipe\\\.\pipe\x is another form of \\.\pipe\pipe\x."""
    named = Listener(wine, PIPE + "named")
    stands = Listener(wine, PIPE + "prefixed")
    beside = Listener(wine, PIPE + "pipe\\prefixed")
    try:
        ports = f"named,nosuspend,connect;{PIPE}prefixed,nosuspend,connect"
        with wine.runtime(command_line, {"DOTNET_DiagnosticPorts": ports}) as runtime:
            for comment, listener in (r"named connects to \\.\pipe\named", named), \
                    (r"\\.\pipe\prefixed connects to \\.\pipe\pipe\prefixed", beside):
                cookie, process_id = listener.advertised(PATIENCE) or (None, None)
                expect(comment, process_id, runtime.pid)
                answered = process_info(1, payload_of(listener.exchange(message(PROCESS_INFO)))) if cookie else {}
                expect("and answers there, with the cookie of the advertise", (answered.get("pid"), answered.get("cookie")),
                       (runtime.pid, cookie))
            expect(r"\\.\pipe\prefixed connects to \\.\pipe\prefixed", stands.advertised(QUIET), None)
            answered = process_info(1, payload_of(runtime.exchange(message(PROCESS_INFO))))
            expect("its default port answers too", answered["pid"], runtime.pid)
    finally:
        for listener in named, stands, beside:
            if listener.process.poll() is None:
                listener.process.kill()
            listener.process.wait()


def not_overtaken(check, *arguments, record):
    """A runtime serves no client after one connects before the runtime waits at its new pipe: then the check restarts with a new runtime.
    Seen under wine, on a busy machine."""
    for attempt in range(3):
        try:
            return check(*arguments, record)
        except subprocess.TimeoutExpired:
            if attempt == 2:
                raise
            print("the runtime no longer answers; again with a new one", flush=True)
            record.clear()


def runs(wine, command_line, record):
    with wine.runtime(command_line, {}) as runtime:
        the_default_pipe(wine, runtime)
        time.sleep(1.5)  # until managed code runs
        who_it_is(runtime, command_line, "azmcp", "10.0.9", record)
        the_environment(runtime, record)
        sessions(runtime, record)
        expect("it still runs", runtime.has_ended(0), None)


def held(wine, command_line, entry, version, goes_on, record):
    """F-79, R-PRC-008: unlike elsewhere, the command line is complete while the start is held."""
    variables = {"DOTNET_DefaultDiagnosticPortSuspend": "1", "WINEDEBUG": "trace+sync"}
    with wine.runtime(command_line, variables) as runtime:
        who_it_is(runtime, command_line, entry, version, record)
        how_the_pipe_is_made(runtime)
        expect("it is held", runtime.has_ended(QUIET), None)
        if not goes_on:
            return
        reply = runtime.exchange(message(RESUME_RUNTIME))
        print(f"Process/ResumeRuntime answers {reply.hex()}")
        expect("it is resumed", payload_of(reply), bytes(4))
        expect("it continues, and ends with exit code", runtime.has_ended(PATIENCE), "0")


def number(payload):
    return struct.unpack("<I", payload)[0]


def answered(runtime, record, comment, name, code, payload, wanted):
    """One request, answered with an Error with that code, or an OK with that payload."""
    request = message(code, payload)
    reply = kept(record, comment, name, request, runtime.exchange(request))
    if isinstance(wanted, bytes):
        expect(f"{name}: {comment}", payload_of(reply), wanted)
    else:
        expect(f"{name}: {comment}", f"Error {number(payload_of(reply, ERROR)):#010x}", f"Error {wanted:#010x}")


def edition_of_6(runtime, record):
    """F-127: the commands that .NET 6 knows, and the answer to its failed dumps."""
    seen = {}
    for name, code in ("ProcessInfo", PROCESS_INFO), ("ProcessInfo2", PROCESS_INFO2):
        request = message(code)
        reply = kept(record, "process information", f"Process/{name}", request, runtime.exchange(request))
        seen = process_info(1 + (code & 4) // 4, payload_of(reply))
    expect("6.0.13: its entry assembly and version", (seen["entry"], seen["clr"]), ("subject", "6.0.13"))
    providers = array(provider("Microsoft-Windows-DotNETRuntime", 1, 4))
    for name, code, payload in ("CollectTracing", COLLECT_TRACING, struct.pack("<II", 16, 1) + providers), \
            ("CollectTracing2", COLLECT_TRACING2, struct.pack("<II?", 16, 1, False) + providers):
        request = message(code, payload)
        with runtime.conversation(request) as connection:
            session = payload_of(kept(record, "start a session", f"EventPipe/{name}", request, take(connection, 28)))
            expect(f"6.0.13: the stream of {name} begins with", take(connection, 8), b"Nettrace")
            # The stop is answered after the rundown was read (F-123).
            with ThreadPoolExecutor() as pool:
                rest = pool.submit(take, connection, 1 << 30)
                answered(runtime, record, "stop it, on a second connection", "EventPipe/StopTracing", STOP_TRACING, session, session)
                expect("6.0.13: the stream ends", (len(rest.result()) > 0, connection.wait(PATIENCE)), (True, 0))
    name, hook = string("MOOD"), string("C:\\none.dll")
    for comment, command, code, payload, wanted in (
            ("stop an unknown session", "EventPipe/StopTracing", 0x0201, bytes(8), bytes(8)),
            ("set a variable", "Process/SetEnvironmentVariable", 0x0403, name + string("calm"), bytes(4)),
            ("delete it", "Process/SetEnvironmentVariable", 0x0403, name + string(), bytes(4)),
            ("set a variable without a name", "Process/SetEnvironmentVariable", 0x0403, string() + string("calm"), ENVVAR_NOT_FOUND),
            ("resume a runtime that is not suspended", "Process/ResumeRuntime", 0x0401, b"", bytes(4)),
            ("set a start-up profiler after start-up", "Profiler/StartupProfiler", 0x0302, bytes(16) + hook, bytes(4)),
            ("attach a missing profiler", "Profiler/AttachProfiler", 0x0301, profiler("C:\\none.dll", milliseconds=1000), MODULE_NOT_FOUND),
            ("write a dump of type 0", "Dump/GenerateCoreDump", 0x0101, dump("C:\\none.dmp", 0), 0),
            ("write a dump of type 5", "Dump/GenerateCoreDump2", 0x0102, dump("C:\\none.dmp", 5), 0),
            ("write a dump into a missing directory", "Dump/GenerateCoreDump", 0x0101, dump("C:\\none\\none.dmp", 1), bytes(4)),
            ("a dump with an error text, which it does not know", "Dump/GenerateCoreDump3", 0x0103, dump("C:\\none.dmp", 1), UNKNOWN_COMMAND),
            ("a session without stacks", "EventPipe/CollectTracing3", 0x0204, struct.pack("<II??", 16, 1, False, False) + providers,
             UNKNOWN_COMMAND),
            ("a session with a rundown keyword", "EventPipe/CollectTracing4", 0x0205, struct.pack("<IIQ?", 16, 1, 1, False) + providers,
             UNKNOWN_COMMAND),
            ("enable the perf map", "Process/EnablePerfMap", 0x0405, struct.pack("<I", 3), UNKNOWN_COMMAND),
            ("disable the perf map", "Process/DisablePerfMap", 0x0406, b"", UNKNOWN_COMMAND),
            ("run a startup hook", "Process/ApplyStartupHook", 0x0407, hook, UNKNOWN_COMMAND),
            ("its runtime identifier", "Process/ProcessInfo3", 0x0408, b"", UNKNOWN_COMMAND)):
        answered(runtime, record, comment, command, code, payload, wanted)


def held_6(runtime, record):
    """F-39, F-128: while it is held, .NET 6 does not name its entry assembly."""
    request = message(PROCESS_INFO2)
    reply = kept(record, "process information", "Process/ProcessInfo2", request, runtime.exchange(request))
    seen = process_info(2, payload_of(reply))
    expect("6.0.13, held: its entry assembly and version", (seen["entry"], seen["clr"]), ("", "6.0.13"))
    attach = profiler("C:\\none.dll", milliseconds=1000)
    answered(runtime, record, "attach a profiler before the start", "Profiler/AttachProfiler", 0x0301, attach, NOT_YET_AVAILABLE)
    answered(runtime, record, "let it run", "Process/ResumeRuntime", 0x0401, b"", bytes(4))
    expect("6.0.13: it continues", has_started(runtime, "6.0.13"), True)


def only_witness(wine, archive, records):
    """6.0.13, the only available build of its edition."""
    for name, check, variables in ("win-net6.0.13", edition_of_6, {}), \
            ("win-net6.0.13-suspended", held_6, {"DOTNET_DefaultDiagnosticPortSuspend": "1"}):
        records[name] = []

        def asked(record):
            with wine.subject("6.0.13", archive, variables) as runtime:
                if not variables:
                    expect("6.0.13: it runs", has_started(runtime, "6.0.13"), True)
                check(runtime, record)
                expect("6.0.13: it has not ended", runtime.has_ended(0), None)
        not_overtaken(asked, record=records[name])


def try_all(wine):
    """The recordings, by file name in vectors/source/recorded/."""
    wine.has_drive("d:", RUNNING)
    wine.has_drive("e:", HELD_ONLY)
    records = {}
    archive = under_wine.archives().get("6.0.13")
    if archive:
        only_witness(wine, archive, records)
    else:
        launch.missing("win6.0.13", "no win6_0_13.tar.xz")
    records |= {RUNNING: [], RUNNING + "-suspended": [], HELD_ONLY + "-suspended": []}
    running = '"D:\\azmcp.exe"  server   start'  # more spaces than needed: the whole text is kept
    not_overtaken(runs, wine, running, record=records[RUNNING])
    addresses(wine, running)
    not_overtaken(held, wine, '"D:\\azmcp.exe" --version', "azmcp", "10.0.9", True, record=records[RUNNING + "-suspended"])
    not_overtaken(held, wine, "E:\\Sarif.Multitool.exe --version", "Sarif.Multitool", "8.0.30", False,
                  record=records[HELD_ONLY + "-suspended"])
    return records


def main():
    if len(sys.argv) not in (1, 3) or sys.argv[1:2] not in ([], ["--record"]):
        sys.exit(__doc__)

    def use(wine):
        records = try_all(wine)
        for name, rows in records.items() if sys.argv[1:] else ():
            lines = ",\n".join(json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in rows)
            with open(os.path.join(sys.argv[2], name + ".json"), "w", encoding="utf-8") as file:
                file.write(f"[\n{lines}\n]\n")
    under_wine.play(under_wine.missing(RUNNING, HELD_ONLY), use)


if __name__ == "__main__":
    main()
