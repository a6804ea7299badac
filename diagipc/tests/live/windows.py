#!/usr/bin/env python3
"""windows.py [--record DIRECTORY]

Starts real .NET runtimes for Windows under wine, and checks what is specific to Windows: the name and kind of the pipe, the replies about
the process, the environment block, the address of a port. Replies are compared with those in vectors/source/recorded/; --record writes them
there, one file per runtime. Prints one line per check. Exits with 1 if a check fails, with 77 if wine,
a compiler for Windows or a runtime is not available here. The runtimes are real, the system under them is not.
"""
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import checks
import launch
import under_wine
from built import ROOT
from protocol import (BAD_ENCODING, PROCESS_ENVIRONMENT, PROCESS_INFO, RESUME_RUNTIME, STOP_TRACING, environment, error, message, payload_of,
                      process_info)
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


def as_recorded(runtime, name, record, command_line=None):
    """Sends the recorded requests, and compares the replies. R-PRC-006: the command line is the text with which the process was started, with
    its quotes and spaces. F-127, F-128: 6.0.13 does not know later commands, does not name its entry assembly while it is held, and answers
    a failed dump with an Error of code 0."""
    with open(f"{ROOT}/vectors/source/recorded/{name}.json", encoding="utf-8") as file:
        rows = iter(json.load(file))
    cookies = set()
    for row in rows:
        command, request, recorded = row["command"], bytes.fromhex(row["request"]), bytes.fromhex(row["reply"])
        what = f"{name}: {command}: {row['comment']}"
        record.append({**row})
        if command.startswith("EventPipe/Collect") and (recorded[17] == 0 or recorded == error(BAD_ENCODING)):
            session(runtime, what, record, request, recorded, rows)
            continue
        reply = runtime.exchange(request)
        record[-1]["reply"] = reply.hex()
        if command.startswith("Process/ProcessInfo") and recorded[17] == 0:
            edition = {0: 1, 4: 2, 8: 3}[request[17]]
            seen, wanted = process_info(edition, payload_of(reply)), process_info(edition, payload_of(recorded))
            cookies.add(seen.pop("cookie"))
            del wanted["cookie"]
            expect(what, seen, {**wanted, "pid": runtime.pid, "commandLine": command_line or seen["commandLine"]})
        else:
            expect(what, reply.hex(), recorded.hex())
    expect("cookies", len(cookies), 1)


def session(runtime, what, record, request, recorded, rows):
    """R-EVP-058: every system has streaming sessions, but not user_events sessions. The next row is the stop of a session."""
    with runtime.conversation(request) as connection:
        reply = take(connection, len(recorded))
        record[-1]["reply"] = reply.hex()
        if recorded[17]:
            expect(what, reply.hex(), recorded.hex())
            return expect("F-74: that connection ends, or more bytes arrive", readable(connection.stdout, QUIET), False)
        number = payload_of(reply)
        expect(f"{what}: the stream begins with", take(connection, 8), b"Nettrace")
        stop = message(STOP_TRACING, number)
        # The stop is answered after the rundown was read (F-123).
        with ThreadPoolExecutor() as pool:
            rest = pool.submit(take, connection, 1 << 30)
            reply = runtime.exchange(stop)
            record.append({**next(rows), "request": stop.hex(), "reply": reply.hex()})
            expect(f"{what}: it is stopped from a second connection", payload_of(reply), number)
            expect(f"{what}: the stream ends", (len(rest.result()) > 0, connection.wait(PATIENCE)), (True, 0))


def the_environment(runtime):
    """F-43: entries that begin with = are present and unchanged. windows_pipe.c set one, as cmd.exe does."""
    entries = environment(runtime.exchange(message(PROCESS_ENVIRONMENT)))
    expect("the entry =C:", [entry for entry in entries if entry.startswith("=C:")], ["=C:=C:\\windows"])


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
    """Repeats a check with a new runtime if a client connected before the runtime waited at its new pipe: the runtime then serves nobody.
    This was seen under wine, on a busy machine."""
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
        as_recorded(runtime, RUNNING, record, command_line)
        the_environment(runtime)
        expect("it still runs", runtime.has_ended(0), None)


def held(wine, command_line, name, goes_on, record):
    """F-79, R-PRC-008: unlike elsewhere, the command line is complete while the start is held."""
    variables = {"DOTNET_DefaultDiagnosticPortSuspend": "1", "WINEDEBUG": "trace+sync"}
    with wine.runtime(command_line, variables) as runtime:
        as_recorded(runtime, name, record, command_line)
        how_the_pipe_is_made(runtime)
        expect("it is held", runtime.has_ended(QUIET), None)
        if goes_on:
            expect("it is resumed", payload_of(runtime.exchange(message(RESUME_RUNTIME))), bytes(4))
            expect("it continues, and ends with exit code", runtime.has_ended(PATIENCE), "0")


def only_witness(wine, archive, name, record):
    """Checks 6.0.13, the only available build of its edition."""
    is_held = name.endswith("-suspended")
    with wine.subject("6.0.13", archive, {"DOTNET_DefaultDiagnosticPortSuspend": "1"} if is_held else {}) as runtime:
        if not is_held:
            expect("6.0.13: it runs", has_started(runtime, "6.0.13"), True)
        as_recorded(runtime, name, record)
        expect(f"{name}: it runs", has_started(runtime, "6.0.13"), True)
        expect(f"{name}: it has not ended", runtime.has_ended(0), None)


def try_all(wine):
    """Returns the recordings, by file name in vectors/source/recorded/."""
    wine.has_drive("d:", RUNNING)
    wine.has_drive("e:", HELD_ONLY)
    running = '"D:\\azmcp.exe"  server   start'  # more spaces than needed: the whole text is kept
    todo = {
        RUNNING: partial(runs, wine, running),
        RUNNING + "-suspended": partial(held, wine, '"D:\\azmcp.exe" --version', RUNNING + "-suspended", True),
        HELD_ONLY + "-suspended": partial(held, wine, "E:\\Sarif.Multitool.exe --version", HELD_ONLY + "-suspended", False),
    }
    if archive := under_wine.archives().get("6.0.13"):
        todo |= {name: partial(only_witness, wine, archive, name) for name in ("win-net6.0.13", "win-net6.0.13-suspended")}
    else:
        launch.missing("win6.0.13", "no win6_0_13.tar.xz")
    records = {name: [] for name in todo}
    for name, check in todo.items():
        not_overtaken(check, record=records[name])
    addresses(wine, running)
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
