#!/usr/bin/env python3
"""windows.py [--record DIRECTORY]

Starts real .NET runtimes for Windows under wine, and looks at what only Windows has: the name and kind of the pipe, the replies
about the process, the environment block, the address of a port. Prints one line a check, with the bytes of the replies; --record
writes requests and replies there, a file a runtime, in the form of vectors/source/recorded/. Exits with 1 if a check fails, with 77
if wine, a compiler for Windows or a runtime cannot be had here. The runtimes are real, the system under them is not.
"""
import contextlib
import json
import os
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import launch

PATIENCE = 20.0  # for what must come
QUIET = 3.0      # for what must not come
PIPE = "\\\\.\\pipe\\"
COMPILER = "x86_64-w64-mingw32-gcc"
RUNNING, HELD_ONLY = "win-net10.0.9", "win-net8.0.30"
# 8.0.30 answers while it is held; wine 8 cannot load its System.Private.CoreLib.dll from the single file (0x80070057) afterwards.
launch.RUNTIMES.update({
    RUNNING: ("@azure/mcp-win32-x64@2.0.5", "package/dist/azmcp.exe", []),
    HELD_ONLY: ("@microsoft/sarif-multitool-win32@5.7.0", "package/Sarif.Multitool.exe", []),
})

CREATED = re.compile(r'CreateNamedPipeW \(L"([^"]*)", (\w+), (\w+), (\d+), (\d+), (\d+),')
FIRST_INSTANCE, DUPLEX = 0x80000, 3                        # of the open mode
READ_MESSAGES, MESSAGES, REJECT_REMOTE_CLIENTS = 2, 4, 8   # of the pipe mode

OK, ERROR = 0xFF00, 0xFFFF
BAD_ENCODING = 0x80131384

wrong = 0


def report(comment, fault):
    """One line; `fault` is None if all is as expected."""
    global wrong
    wrong += fault is not None
    print(f"{comment}: {'as expected' if fault is None else 'DIFFERS: ' + fault}", flush=True)


def expect(comment, seen, wanted):
    report(f"{comment}: {seen!r}", None if seen == wanted else f"expected {wanted!r}")


def message(code, payload=b""):
    return b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), code >> 8, code & 0xFF, 0) + payload


def string(text):
    return struct.pack("<I", len(text) + 1) + text.encode("utf-16-le") + b"\0\0"


def payload_of(reply, code=OK):
    """The payload of a reply that is a whole message with that code, and nothing after it."""
    if reply[:14] != b"DOTNET_IPC_V1\0" or reply[14:20] != message(code, reply[20:])[14:20]:
        raise ValueError(f"no reply of code {code:#06x}: {reply.hex()}")
    return reply[20:]


class Fields:
    def __init__(self, wire):
        self.wire = wire

    def take(self, count):
        if len(self.wire) < count:
            raise ValueError("the payload is cut")
        taken, self.wire = self.wire[:count], self.wire[count:]
        return taken

    def number(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def string(self):
        units = self.take(2 * self.number("I"))
        if units[-2:] != b"\0\0":
            raise ValueError(f"a string without NUL: {units.hex()}")
        return units[:-2].decode("utf-16-le")


def process_info(edition, payload):
    """What ProcessInfo, ProcessInfo2 or ProcessInfo3 says; every byte of it is read."""
    fields, seen = Fields(payload), {}
    if edition == 3:
        seen["version"] = fields.number("I")
    seen["pid"] = fields.number("Q")
    seen["cookie"] = fields.take(16)
    names = ["commandLine", "OS", "arch"] + ["entry", "clr"] * (edition > 1) + ["rid"] * (edition > 2)
    seen.update((name, fields.string()) for name in names)
    if fields.wire:
        raise ValueError(f"bytes after the last field: {fields.wire.hex()}")
    return seen


class Wine:
    """A wine of its own, in which runtimes are drive letters, and the program that reaches its pipes."""

    def __init__(self, directory, drives=None):
        self.directory = directory
        self.program = os.path.join(directory, "windows_pipe.exe")
        self.wine, self.server = shutil.which("wine"), shutil.which("wineserver")
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": directory, "LANG": "C.UTF-8", "WINEARCH": "win64", "WINEDEBUG": "-all",
                            "WINEPREFIX": os.path.join(directory, "wine"), "WINEDLLOVERRIDES": "mscoree=;mshtml=",
                            "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", "AZURE_MCP_COLLECT_TELEMETRY": "false"}
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "windows_pipe.c")
        subprocess.run([COMPILER, "-O2", "-Wall", "-Wextra", "-Werror", "-o", self.program, source], check=True, timeout=120)
        subprocess.run([self.wine, "wineboot", "-i"], env=self.environment, check=True, timeout=120, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        usage = self.start([], {})
        if usage.wait(60) != 1 or b"usage:" not in usage.stderr.read():
            raise OSError("wine does not run a program that was compiled for it")
        for letter, name in ({"d:": RUNNING, "e:": HELD_ONLY} if drives is None else drives).items():
            self.has_drive(letter, name)

    def has_drive(self, letter, name):
        os.symlink(os.path.dirname(launch.fetch(name)), os.path.join(self.environment["WINEPREFIX"], "dosdevices", letter))

    def start(self, arguments, variables, errors=subprocess.PIPE):
        return subprocess.Popen([self.wine, self.program, *arguments], env={**self.environment, **variables}, cwd=self.directory,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, bufsize=0)

    def close(self):
        """Ends what still runs in this wine; in no other."""
        subprocess.run([self.server, "-k"], env=self.environment, timeout=30, stderr=subprocess.DEVNULL)
        subprocess.run([self.server, "-w"], env=self.environment, timeout=30, stderr=subprocess.DEVNULL)

    @contextlib.contextmanager
    def runtime(self, command_line, variables):
        """A running runtime."""
        with tempfile.TemporaryFile() as errors:
            process = self.start(["run"], variables, errors)
            try:
                process.stdin.write(command_line.encode() + b"\n")
                yield Runtime(self, process, errors)
            finally:
                end(process)

    def exchange(self, name, sent, seconds=PATIENCE):
        """Everything that comes after `sent`, up to the end of the connection; and what the pipe is."""
        process = self.start(["connect", name, str(seconds)], {})
        try:
            seen, said = process.communicate(sent, seconds + PATIENCE)
        finally:
            end(process)
        if process.returncode:
            raise OSError(said.decode(errors="replace").strip())
        return seen, said.decode(errors="replace").strip()


class Runtime:
    def __init__(self, wine, process, errors):
        self.wine, self.process, self.errors = wine, process, errors
        self.pid = int(line_of(process, "pid"))

    def pipe(self):
        return f"{PIPE}dotnet-diagnostic-{self.pid}"

    def exchange(self, sent, seconds=PATIENCE):
        return self.wine.exchange(self.pipe(), sent, seconds)[0]

    @contextlib.contextmanager
    def conversation(self, sent):
        """A connection that may stay open after what is sent."""
        process = self.wine.start(["connect", self.pipe(), str(PATIENCE)], {})
        try:
            process.stdin.write(sent)
            process.stdin.close()
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()

    def output(self):
        """What the runtime printed so far, and wine's trace."""
        return os.pread(self.errors.fileno(), 1 << 26, 0).decode(errors="replace")

    def has_ended(self, seconds):
        """Its exit code; None if it runs on."""
        return line_of(self.process, "exit", seconds) if readable(self.process.stdout, seconds) else None


class Listener:
    """The tool's side of a port: a pipe to which a runtime connects."""

    def __init__(self, wine, name):
        self.process = wine.start(["listen", name], {})
        line_of(self.process, "listening", stream=self.process.stderr)

    def advertised(self, seconds):
        """The 34 bytes of the advertise; None if no runtime connects in time."""
        if not readable(self.process.stdout, seconds):
            return None
        return take(self.process, 34)

    def exchange(self, sent):
        return self.process.communicate(sent, PATIENCE)[0]


def readable(stream, seconds):
    return bool(select.select([stream], [], [], seconds)[0])


def take(process, count):
    """So many bytes, or fewer if the end comes before or nothing more comes in time."""
    taken = b""
    while len(taken) < count and readable(process.stdout, PATIENCE):
        more = process.stdout.read(min(65536, count - len(taken)))
        if not more:
            break
        taken += more
    return taken


def line_of(process, word, seconds=PATIENCE, stream=None):
    """The rest of the next line, which must begin with that word."""
    stream, line, deadline = stream or process.stdout, b"", time.monotonic() + seconds
    while not line.endswith(b"\n"):
        if not readable(stream, max(0, deadline - time.monotonic())):
            raise OSError(f"no line {word!r} in time, only {line!r}")
        byte = stream.read(1)
        if not byte:
            raise OSError(f"the end instead of a line {word!r}: {line!r}")
        line += byte
    found = line.decode().split(maxsplit=1)
    if not found or found[0] != word:
        raise OSError(f"{line!r} instead of a line {word!r}")
    return found[1].strip() if len(found) > 1 else ""


def end(process):
    if process.stdin and not process.stdin.closed:
        process.stdin.close()  # the program then ends the runtime, and itself
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def the_default_pipe(wine, runtime):
    """R-TRN-004, R-TRN-015, F-62: the name has the process id, nothing else; it is a pipe of bytes."""
    reply, said = wine.exchange(runtime.pipe(), message(0x0400))
    expect("the pipe has the name of the text, and its process answers", process_info(1, payload_of(reply))["pid"], runtime.pid)
    expect("what the pipe is", said, "pipe byte, read by byte, out 16384, in 16384, instances 4294967295")
    for form in "dotnetcore-diagnostic-%d", "dotnet-diagnostic-%d-0", "dotnet-diagnostic-%d-socket":
        name = form % runtime.pid
        try:
            wine.exchange(PIPE + name, message(0x0400), 0)
            report(f"no pipe {name}", "there is one")
        except OSError as error:
            expect(f"no pipe {name}", str(error), "failed CreateFile 2")


def how_the_pipe_is_made(runtime):
    """F-62: what the runtime asks of the system, in wine's trace."""
    wanted = (PIPE + f"dotnet-diagnostic-{runtime.pid}").replace("\\", "\\\\")
    calls = [call[1:] for call in CREATED.findall(runtime.output()) if call[0] == wanted]
    if not calls:
        return report("how the pipe is made", "wine's trace does not have it")
    for nth, (opening, mode, instances, out, into) in enumerate(calls):
        opening, mode = int(opening, 16), int(mode, 16)
        expect(f"pipe {nth + 1}: messages, read as messages, remote clients refused, duplex, first instance, instances, buffers",
               [bool(mode & MESSAGES), bool(mode & READ_MESSAGES), bool(mode & REJECT_REMOTE_CLIENTS), opening & DUPLEX == DUPLEX,
                bool(opening & FIRST_INSTANCE), int(instances), int(out), int(into)],
               [False, False, True, True, nth == 0, 255, 16384, 16384])


def who_it_is(runtime, command_line, entry, version, record):
    """R-PRC-006: the command line is the text that the process was started with, with its quotes and its spaces."""
    cookies = set()
    for edition, code, comment in (1, 0x0400, "who the process is"), (2, 0x0404, "and its entry assembly and version"), \
            (3, 0x0408, "and its runtime identifier"):
        request = message(code)
        reply = runtime.exchange(request)
        name = "Process/ProcessInfo" + ("" if edition == 1 else str(edition))
        print(f"{name} answers {reply.hex()}")
        record.append({"comment": comment, "command": name, "request": request.hex(), "reply": reply.hex()})
        seen = process_info(edition, payload_of(reply))
        cookies.add(seen.pop("cookie"))
        wanted = {"pid": runtime.pid, "commandLine": command_line, "OS": "Windows", "arch": "x64"}
        wanted.update({"entry": entry, "clr": version} if edition > 1 else {})
        wanted.update({"version": 1, "rid": "win-x64"} if edition > 2 else {})
        expect(name, seen, wanted)
    expect("cookies", len(cookies), 1)


def the_environment(runtime, record):
    """F-43: entries that begin with = are there, as they are."""
    request = message(0x0402)
    seen = runtime.exchange(request)
    reply, block = seen[:26], seen[26:]
    print(f"Process/ProcessEnvironment answers {reply.hex()}, then {block.hex()}")
    record.append({"comment": "how large the environment block is", "command": "Process/ProcessEnvironment",
                   "request": request.hex(), "reply": reply.hex()})
    record.append({"comment": "the environment block", "command": None, "request": "", "reply": block.hex()})
    expect("what follows has the size that was announced", struct.unpack("<IH", payload_of(reply)), (len(block), 0))
    fields = Fields(block)
    entries = [fields.string() for _ in range(fields.number("I"))]
    expect("bytes after the last entry", fields.wire, b"")
    # windows_pipe.c set it, as cmd.exe does.
    print("entries that begin with =:", [entry for entry in entries if entry.startswith("=")])
    expect("the entry =C:", [entry for entry in entries if entry.startswith("=C:")], ["=C:=C:\\windows"])


def sessions(runtime, record):
    """R-EVP-058: streaming sessions are for every system, user_events sessions are not."""
    provider = struct.pack("<QI", 1, 2) + string("a") + struct.pack("<I", 0) + b"\0" + struct.pack("<I", 0)
    # session_type, rundownKeyword, providers; then what the provider has more here, a default tracepoint and no sets.
    request = message(0x0206, struct.pack("<IQI", 1, 0, 1) + provider + string("t") + struct.pack("<I", 0))
    with runtime.conversation(request) as connection:
        reply = take(connection, 24)
        print(f"EventPipe/CollectTracing5 {request.hex()} answers {reply.hex()}")
        record.append({"comment": "start a session for user_events, which Windows has not", "command": "EventPipe/CollectTracing5",
                       "request": request.hex(), "reply": reply.hex()})
        expect("a user_events session", f"{struct.unpack('<I', payload_of(reply, ERROR))[0]:#010x}", f"{BAD_ENCODING:#010x}")
        expect("F-74: that connection ends, or more comes", readable(connection.stdout, QUIET), False)

    # session_type, circularBufferMB, format, rundownKeyword, requestStackwalk, providers
    request = message(0x0206, struct.pack("<IIIQ?I", 0, 16, 1, 0, False, 1) + provider)
    with runtime.conversation(request) as connection:
        reply = take(connection, 28)
        print(f"EventPipe/CollectTracing5 {request.hex()} answers {reply.hex()}")
        record.append({"comment": "start a session that streams", "command": "EventPipe/CollectTracing5",
                       "request": request.hex(), "reply": reply.hex()})
        session = payload_of(reply)
        expect("a streaming session: the stream begins with", take(connection, 8), b"Nettrace")
        stop = message(0x0201, session)
        reply = runtime.exchange(stop)
        record.append({"comment": "stop it, on a second connection", "command": "EventPipe/StopTracing",
                       "request": stop.hex(), "reply": reply.hex()})
        expect("it is stopped from a second connection", payload_of(reply), session)
        expect("then the stream goes on, and ends", (len(take(connection, 1 << 30)) > 0, connection.wait(PATIENCE)), (True, 0))


def addresses(wine, command_line):
    r"""R-PRT-010: the address is a name. With \\.\pipe\ before it, the prefix becomes a part of the name: the runtime sets its own
    before it as well, and \\.\pipe\\\.\pipe\x is one more way to write \\.\pipe\pipe\x."""
    named = Listener(wine, PIPE + "named")
    stands = Listener(wine, PIPE + "prefixed")
    beside = Listener(wine, PIPE + "pipe\\prefixed")
    try:
        ports = f"named,nosuspend,connect;{PIPE}prefixed,nosuspend,connect"
        with wine.runtime(command_line, {"DOTNET_DiagnosticPorts": ports}) as runtime:
            for comment, listener in (r"named connects to \\.\pipe\named", named), \
                    (r"\\.\pipe\prefixed connects to \\.\pipe\pipe\prefixed", beside):
                advertise = listener.advertised(PATIENCE)
                print(f"{comment}: {advertise and advertise.hex()}")
                seen = advertise and (advertise[:8], struct.unpack_from("<QH", advertise, 24))
                expect(comment, seen, (b"ADVR_V1\0", (runtime.pid, 0)))
                answered = process_info(1, payload_of(listener.exchange(message(0x0400)))) if advertise else {}
                expect("and answers there, with the cookie of the advertise", (answered.get("pid"), answered.get("cookie")),
                       (runtime.pid, advertise and advertise[8:24]))
            expect(r"\\.\pipe\prefixed connects to \\.\pipe\prefixed", stands.advertised(QUIET), None)
            answered = process_info(1, payload_of(runtime.exchange(message(0x0400))))
            expect("its default port answers as well", answered["pid"], runtime.pid)
    finally:
        for listener in named, stands, beside:
            if listener.process.poll() is None:
                listener.process.kill()
            listener.process.wait()


def not_overtaken(check, *arguments, record):
    """A runtime that a client overtakes, before it waits at its new pipe, serves nobody any more: then the check begins anew, with a new
    one. Seen under wine, on a machine with other work."""
    for attempt in range(3):
        try:
            return check(*arguments, record)
        except subprocess.TimeoutExpired:
            if attempt == 2:
                raise
            print("the runtime does not answer any more; once more with a new one", flush=True)
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
    """F-79, R-PRC-008: unlike elsewhere, the command line is whole also while the start is held."""
    variables = {"DOTNET_DefaultDiagnosticPortSuspend": "1", "WINEDEBUG": "trace+sync"}
    with wine.runtime(command_line, variables) as runtime:
        who_it_is(runtime, command_line, entry, version, record)
        how_the_pipe_is_made(runtime)
        expect("it is held", runtime.has_ended(QUIET), None)
        if not goes_on:
            return
        reply = runtime.exchange(message(0x0401))
        print(f"Process/ResumeRuntime answers {reply.hex()}")
        expect("it is resumed", payload_of(reply), bytes(4))
        expect("it goes on, and ends with exit code", runtime.has_ended(PATIENCE), "0")


def what_is_missing():
    """Why nothing can be tried here; None if it can."""
    for program in "wine", "wineserver", COMPILER:
        if not shutil.which(program):
            return f"no {program}"
    for name in RUNNING, HELD_ONLY:
        try:
            launch.fetch(name)
        except (OSError, subprocess.SubprocessError) as error:
            return f"{name}: {error}"
    return None


def try_all(wine):
    """What was recorded, by the name that a file of vectors/source/recorded/ would have."""
    records = {RUNNING: [], RUNNING + "-suspended": [], HELD_ONLY + "-suspended": []}
    running = '"D:\\azmcp.exe"  server   start'  # more spaces than are needed: the text is taken whole
    not_overtaken(runs, wine, running, record=records[RUNNING])
    addresses(wine, running)
    not_overtaken(held, wine, '"D:\\azmcp.exe" --version', "azmcp", "10.0.9", True, record=records[RUNNING + "-suspended"])
    not_overtaken(held, wine, "E:\\Sarif.Multitool.exe --version", "Sarif.Multitool", "8.0.30", False,
                  record=records[HELD_ONLY + "-suspended"])
    return records


def main():
    if len(sys.argv) not in (1, 3) or sys.argv[1:2] not in ([], ["--record"]):
        sys.exit(__doc__)
    missing = what_is_missing()
    if missing:
        print(f"SKIPPED: a runtime for Windows cannot be had here: {missing}", file=sys.stderr)
        sys.exit(launch.SKIP)
    directory = tempfile.mkdtemp(prefix="dotnet-")
    try:
        try:
            wine = Wine(directory)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"SKIPPED: wine cannot be used here: {error}", file=sys.stderr)
            sys.exit(launch.SKIP)
        try:
            records = try_all(wine)
        finally:
            wine.close()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if sys.argv[1:]:
        for name, rows in records.items():
            lines = ",\n".join(json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in rows)
            with open(os.path.join(sys.argv[2], name + ".json"), "w", encoding="utf-8") as file:
                file.write(f"[\n{lines}\n]\n")
    print(f"{wrong} differ")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
