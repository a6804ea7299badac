#!/usr/bin/env python3
"""router.py [--diagipc PROGRAM]

dotnet-dsrouter, played here: which of its two endpoints a process id means to `diagipc` and to dotnet-trace (F-162), and a real runtime that
is traced through a router over TCP, in both directions. Prints one line per check; exits with 1 if one differs, with 77 if a program is not
available here.
"""
import argparse
import contextlib
import glob
import os
import socket
import subprocess
import sys
import tempfile
import threading

import checks
import clients
import launch
import protocol
from built import diagipc
from checks import check, finish

RUNTIME = "net10.0.12"
TIMEOUT = 60


# --- the two endpoints ---------------------------------------------------------------------------------------------
def play(directory):
    """Listens as a router does, and notes which endpoint gets a request. It answers none."""
    def serve(kind, listener):
        while True:
            connection, _ = listener.accept()
            with connection:
                if connection.recv(65536):
                    with open(directory + "/asked", "a", encoding="ascii") as file:
                        file.write(kind + "\n")

    for kind, prefix, key in [("router", "", "345"), ("device", "dsrouter-", "1747000000")]:
        listener = protocol.listening(f"{directory}/dotnet-diagnostic-{prefix}{os.getpid()}-{key}-socket")
        threading.Thread(target=serve, args=(kind, listener), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


def choices(program, home, tools):
    """Returns which endpoint a process id means, by the times of the two files."""
    with tempfile.TemporaryDirectory(prefix="router-") as directory:
        environment = {**clients.environment(home), "TMPDIR": directory}
        command = [sys.executable, __file__, "--play", directory]
        with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            [device] = glob.glob(directory + "/dotnet-diagnostic-dsrouter-*")
            [router] = glob.glob(directory + "/dotnet-diagnostic-[0-9]*")
            id_of = str(process.pid)
            commands = {"diagipc": [program, "info", id_of]}
            if tools:
                commands["dotnet-trace"] = [tools + "/dotnet-trace", "collect", "-p", id_of, "-o", directory + "/trace"]
            for when, seconds, expected in [("newer", 1, "device"), ("as old", 0, "device"), ("older", -1, "router")]:
                os.utime(router, (1000, 1000))
                os.utime(device, (1000, 1000 + seconds))
                for name, command in commands.items():
                    with open(directory + "/asked", "w", encoding="ascii"):
                        pass
                    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL,
                                          check=False)
                    with open(directory + "/asked", encoding="ascii") as file:
                        asked = set(file.read().split())
                    check(f"{name} asks the {expected} if the endpoint of the device is {when}", asked == {expected}, f"{asked}\n{done.stderr}")
            process.stdin.close()


# --- TCP -----------------------------------------------------------------------------------------------------------
def pump(one, other):
    """Forwards both ways, until both sides have ended."""
    def forward(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    for ways in [(one, other), (other, one)]:
        threading.Thread(target=forward, args=ways, daemon=True).start()


def to_default_port(listener, path):
    """Connects a tool that arrives over TCP to the default port."""
    with contextlib.suppress(OSError):
        while True:
            tool, _ = listener.accept()
            pump(tool, protocol.connected(path, None))


def to_tool(listener, address):
    """Connects a runtime that arrives to the port of the tool, and forwards its advertise."""
    with contextlib.suppress(OSError, ConnectionError):
        while True:
            runtime, _ = listener.accept()
            advertise = protocol.receive(runtime, 34)
            tool = socket.create_connection(address)
            tool.sendall(advertise)
            pump(runtime, tool)


def traced(what, program, target, directory, tools, route):
    """Traces a second of a runtime. `route` gets the line in which the tool says where it listens."""
    path = os.path.join(directory, "trace.nettrace")
    command = [program, "trace", target, "--duration", "1", "-o", path, "--force"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tool:
        line = tool.stderr.readline() if target.startswith("port:") else ""
        threading.Thread(target=route, args=(line,), daemon=True).start()
        said, errors = tool.communicate(timeout=TIMEOUT)
    check(what, tool.returncode == 0 and said.endswith(" bytes, complete\n"), said + line + errors)
    if tools:
        read = subprocess.run([tools + "/nettrace-read", path], env={**os.environ, "DOTNET_EnableDiagnostics": "0"}, capture_output=True,
                              text=True, timeout=TIMEOUT, check=False)
        check(what + ", as Microsoft's parser reads it", read.returncode == 0, read.stdout + read.stderr)


def over_tcp(program, tools):
    with launch.running(RUNTIME, {"DOTNET_DiagnosticPorts": "@DIR@/router,nosuspend"}) as (_, directory, path):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            target = "127.0.0.1:%d" % listener.getsockname()[1]
            traced("a tool that connects by TCP traces a runtime", program, target, directory, tools,
                   lambda _: to_default_port(listener, path))
        with protocol.listening(directory + "/router") as listener:
            def route(line):
                host, port = line.split("'")[1].split(":")
                to_tool(listener, (host, int(port)))

            traced("a tool that listens on TCP traces a runtime that connects", program, "port:127.0.0.1:0", directory, tools, route)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--diagipc")
    parser.add_argument("--play", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.play:
        return play(options.play)
    launch.fetch_or_skip(RUNTIME)
    program = diagipc(options.diagipc)
    with tempfile.TemporaryDirectory(prefix="tools-") as home:
        tools = clients.tools(home)
        if not tools:
            print("SKIPPED dotnet-trace: there are no official tools", file=sys.stderr)
            checks.skipped += 1
        choices(program, home, tools)
        over_tcp(program, tools)
    return finish()


if __name__ == "__main__":
    main()
