"""A separate wine, the runtimes for Windows that run in it, and their pipes. Used by the other scripts here.

A Linux program cannot open a pipe of wine: windows_pipe.c does. Runtimes are those of public npm packages, or subjects:
win6_0_13.tar.xz, win8_0_31.tar.xz, win9_0_20.tar.xz, win10_0_12.tar.xz and win11_0_0.tar.xz, in $DOTNET_WINDOWS_RUNTIMES, or in `windows` of
$DOTNET_RUNTIMES, or in `../shared/runtimes/windows`. Each has a subject.exe, which prints "started VERSION pid PID", writes events of
the provider Subject, and ends with its input.
"""
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

import checks
import launch
import protocol
from checks import Differs, check, eventually

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 20.0  # for expected events
PIPE = "\\\\.\\pipe\\"
COMPILER = "x86_64-w64-mingw32-gcc"
SUBJECTS = ["6.0.13", "8.0.31", "9.0.20", "10.0.12", "11.0.0"]
# 8.0.30 answers while it is held; afterwards wine 8 cannot load its System.Private.CoreLib.dll from the single file (0x80070057).
RUNNING, HELD_ONLY = "win-net10.0.9", "win-net8.0.30"


def expect(comment, seen, wanted):
    check(f"{comment}: {seen!r}", seen == wanted, f"expected {wanted!r}")


class Wine:
    """A separate wine, in which runtimes are drive letters, and the program that opens its pipes."""

    def __init__(self, directory):
        self.directory = directory
        # Drive C: has a directory /tmp, so that files of a runtime stay here.
        self.home = os.path.join(directory, "wine/drive_c")
        self.program = os.path.join(directory, "windows_pipe.exe")
        self.wine, self.server = shutil.which("wine"), shutil.which("wineserver")
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": directory, "LANG": "C.UTF-8", "WINEARCH": "win64", "WINEDEBUG": "-all",
                            "WINEPREFIX": os.path.join(directory, "wine"), "WINEDLLOVERRIDES": "mscoree=;mshtml=",
                            "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", "AZURE_MCP_COLLECT_TELEMETRY": "false"}
        source = os.path.join(HERE, "windows_pipe.c")
        subprocess.run([COMPILER, "-O2", "-Wall", "-Wextra", "-Werror", "-o", self.program, source], check=True, timeout=120)
        subprocess.run([self.wine, "wineboot", "-i"], env=self.environment, check=True, timeout=120, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.makedirs(os.path.join(self.home, "tmp"), exist_ok=True)
        usage = self.start([], {})
        if usage.wait(60) != 1 or b"usage:" not in usage.stderr.read():
            raise OSError("wine cannot run a program that was compiled for it")

    def has_drive(self, letter, name):
        os.symlink(os.path.dirname(launch.fetch(name)), os.path.join(self.environment["WINEPREFIX"], "dosdevices", letter))

    def add_random_numbers(self):
        """Installs the parts of Windows that Rust's standard library needs."""
        source = os.path.join(HERE, "windows_prng.c")
        library = os.path.join(self.environment["WINEPREFIX"], "drive_c/windows/system32/bcryptprimitives.dll")
        subprocess.run([COMPILER, "-O2", "-shared", "-nostartfiles", "-Wl,-e,0", "-o", library, source, "-ladvapi32"], check=True,
                       timeout=120)

    def start(self, arguments, variables, errors=subprocess.PIPE):
        return subprocess.Popen([self.wine, self.program, *arguments], env={**self.environment, **variables}, cwd=self.directory,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, bufsize=0)

    def run(self, *command, variables={}, seconds=300):
        """Runs a program in this wine; returns its exit status, its output, and its messages."""
        done = subprocess.run([self.wine, *command], env={**self.environment, **variables}, cwd=self.home, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=seconds)
        said, errors = (text.decode(errors="replace").replace("\r", "") for text in (done.stdout, done.stderr))
        return done.returncode, said, errors

    def suite(self, diagipc, which, *options, variables={}):
        """Runs a suite; returns its exit status and its report."""
        began = time.monotonic()
        status, said, errors = self.run(diagipc, which, "--json", *options, variables=variables, seconds=3600)
        if not said.startswith("{"):
            raise OSError(f"{which} {' '.join(options)}: exit status {status}, and no report: {errors[-1000:]}")
        report = json.loads(said)
        print(f"{report['target']}: {report['counts']} in {time.monotonic() - began:.0f} s", flush=True)
        for case in report["cases"]:
            if case["grade"] == "fail":
                print(f"{case['name']} failed: {case['detail']['found']}")
        return status, report

    def close(self):
        """Ends the programs in this wine only."""
        subprocess.run([self.server, "-k"], env=self.environment, timeout=30, stderr=subprocess.DEVNULL)
        subprocess.run([self.server, "-w"], env=self.environment, timeout=30, stderr=subprocess.DEVNULL)

    @contextlib.contextmanager
    def runtime(self, command_line, variables):
        """Starts a runtime."""
        with tempfile.TemporaryFile() as errors:
            process = self.start(["run"], variables, errors)
            try:
                process.stdin.write(command_line.encode() + b"\n")
                yield Runtime(self, process, errors)
            finally:
                end(process)

    @contextlib.contextmanager
    def subject(self, version, archive, variables):
        """Starts a subject from that archive. wine refuses IL images without mscoree."""
        self.unpack(version, archive)
        command_line = "C:\\" + subject(version)
        with self.runtime(command_line, {**variables, "WINEDLLOVERRIDES": "mshtml="}) as runtime:
            yield runtime

    def unpack(self, version, archive):
        """Puts a subject on drive C: of this wine."""
        if not os.path.exists(os.path.join(self.home, subject(version).replace("\\", "/"))):
            subprocess.run(["tar", "xJf", archive, "-C", self.home], check=True, timeout=120)

    def exchange(self, name, sent, seconds=PATIENCE):
        """Sends bytes; returns all bytes received up to the end of the connection, and the type of the pipe."""
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
        """Opens a connection that may stay open after `sent`."""
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
        """Returns the runtime's output so far, and wine's trace."""
        return os.pread(self.errors.fileno(), 1 << 26, 0).decode(errors="replace")

    def has_ended(self, seconds):
        """Returns the runtime's exit code; None if it still runs."""
        return line_of(self.process, "exit", seconds) if readable(self.process.stdout, seconds) else None


class Listener:
    """The tool's side of a port: a pipe to which a runtime connects."""

    def __init__(self, wine, name):
        self.process = wine.start(["listen", name], {})
        line_of(self.process, "listening", stream=self.process.stderr)

    def advertised(self, seconds):
        """Returns the cookie and the process id of the advertise; None if no runtime connects in time."""
        if not readable(self.process.stdout, seconds):
            return None
        return protocol.advertised(take(self.process, 34))

    def exchange(self, sent):
        return self.process.communicate(sent, PATIENCE)[0]


def readable(stream, seconds):
    return bool(select.select([stream], [], [], seconds)[0])


def take(process, count):
    """Reads so many bytes, or fewer at the end or at the time limit."""
    taken = b""
    while len(taken) < count and readable(process.stdout, PATIENCE):
        more = process.stdout.read(min(65536, count - len(taken)))
        if not more:
            break
        taken += more
    return taken


def line_of(process, word, seconds=PATIENCE, stream=None):
    """Returns the rest of the next line, which must begin with that word."""
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


def has_started(runtime, version, seconds=PATIENCE):
    """Returns whether a subject prints in time that it runs."""
    return eventually(lambda: f"started {version} pid" in runtime.output(), seconds)


def as_windows(path):
    """Returns the path of a local file for a program in wine."""
    return "Z:" + path.replace("/", "\\")


def subject(version):
    """Returns the program of a subject, on drive C: of its wine."""
    return f"win{version.replace('.', '_')}\\subject.exe"


def archives():
    """Returns the available archives of subjects, by version."""
    places = [os.environ.get("DOTNET_WINDOWS_RUNTIMES"), launch.home_of("windows"), os.path.join(HERE, "../../../../shared/runtimes/windows")]
    for place in filter(None, places):
        found = {version: os.path.join(place, f"win{version.replace('.', '_')}.tar.xz") for version in SUBJECTS}
        found = {version: path for version, path in found.items() if os.path.exists(path)}
        if found:
            return found
    return {}


def missing(*names):
    """Returns why wine or the runtimes of those packages are not available here; None if they are."""
    for program in "wine", "wineserver", COMPILER:
        if not shutil.which(program):
            return f"no {program}"
    for name in names:
        try:
            launch.fetch(name)
        except (OSError, subprocess.SubprocessError) as error:
            return f"{name}: {error}"
    return None


def play(what_is_missing, use, *programs):
    """Runs a script: calls `use` with a separate wine, and exits with 0, 1 if a check failed, or 77 if it cannot run."""
    for path in programs:
        if not os.path.exists(path):
            sys.exit(f"{path} not found")
    if what_is_missing:
        checks.skip(f"a runtime for Windows is not available here: {what_is_missing}")
    with tempfile.TemporaryDirectory(prefix="dotnet-", ignore_cleanup_errors=True) as directory:
        try:
            wine = Wine(directory)
        except (OSError, subprocess.SubprocessError) as error:
            checks.skip(f"wine does not work here: {error}")
        try:
            use(wine)
        except (Differs, OSError, subprocess.SubprocessError) as error:
            check("what must run or answer", False, error)
        finally:
            wine.close()
    checks.finish()
