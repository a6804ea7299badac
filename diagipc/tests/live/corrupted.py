#!/usr/bin/env python3
"""corrupted.py [--runtime NAME] [MUTATION ...]

Runs the server suite against a real .NET runtime behind a proxy that changes what the runtime says, once for each mutation, and says which
ones the suite detects: at least 95 of 100 must be. Without a mutation the run must pass. The list was written before its first run.

corrupted.py --target MUTATION NAME is that target: it starts the runtime in its TMPDIR, and prints the path of the proxy's socket.
"""
import argparse
import contextlib
import glob
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import launch
import protocol

HERE = pathlib.Path(__file__).parent
CASES = ["scripts/process", "scripts/eventpipe", "requests/process", "requests/tables"]
INFO, ENVIRONMENT, INFO2, INFO3, STOP = (4, 0), (4, 2), (4, 4), (4, 8), (2, 1)
ERROR = (0xFF, 0xFF)
LEAST = 95
# An offset in the first block of a stream, after its header of 102 bytes.
AT = 150


def strings(data, at):
    """Returns the strings from this offset on; None is a string of length 0."""
    found = []
    while at + 4 <= len(data):
        count = struct.unpack_from("<I", data, at)[0]
        found.append(data[at + 4:at + 4 + 2 * count].decode("utf-16-le")[:-1] if count else None)
        at += 4 + 2 * count
    return found


def joined(texts):
    return b"".join(map(protocol.string, texts))


def info(change):
    """Changes a reply to ProcessInfo, 2 or 3: `change` gets its parts and the request."""
    def changed(request, payload, _):
        if request not in (INFO, INFO2, INFO3) or len(payload) < 36:
            return payload
        version = 4 if request == INFO3 else 0
        parts = {"version": payload[:version], "pid": payload[version:version + 8], "cookie": payload[version + 8:version + 24],
                 "texts": strings(payload, version + 24)}
        change(parts, request)
        return parts["version"] + parts["pid"] + parts["cookie"] + joined(parts["texts"])
    return {"payload": changed}


def text(nth, new):
    """Changes one text of an info: command line 0, OS 1, architecture 2, assembly 3, version 4."""
    def change(parts, _):
        if nth < len(parts["texts"]):
            parts["texts"][nth] = new(parts["texts"][nth])
    return info(change)


def part(name, new, only=(INFO, INFO2, INFO3)):
    return info(lambda parts, request: parts.update({name: new(parts[name])}) if request in only else None)


def entries(change):
    """Changes the entries of the environment, and announces what is then sent."""
    return {"environment": lambda texts: change(list(texts))}


def swapped(texts):
    texts[1], texts[2] = texts[2], texts[1]


def values_swapped(texts):
    """Swaps the value of the first variable with the next one that differs."""
    name, _, value = texts[0].partition("=")
    nth, (other, _, its) = next((nth, parts) for nth, parts in enumerate(text.partition("=") for text in texts) if parts[2] != value)
    texts[0], texts[nth] = f"{name}={its}", f"{other}={value}"
    return texts


def version_only_in(request):
    def change(parts, asked):
        if asked == request and len(parts["texts"]) > 4:
            parts["texts"][4] = "7.0.1"
    return info(change)


def longest(texts, change):
    nth = max(range(len(texts)), key=lambda nth: len(texts[nth]))
    texts[nth] = change(texts[nth])
    return texts


def stream(new=b"", length=0, end=lambda byte: byte):
    """Changes a stream while it passes: at byte AT, `length` bytes become `new`; `end` changes the last byte."""
    return {"stream": (new, length, end)}


def after(reply, seconds=0.0):
    return {"after": reply, "seconds": seconds}


MUTATIONS = {
    "environment": {
        "first-entry-dropped": entries(lambda texts: texts[1:]),
        "last-entry-dropped": entries(lambda texts: texts[:-1]),
        "value-changed": entries(lambda texts: longest(texts, lambda entry: entry[:-1] + "~")),
        "value-cut": entries(lambda texts: longest(texts, lambda entry: entry[:len(entry) // 2])),
        "cut-at-second-equals": entries(lambda texts: ["=".join(entry.split("=")[:2]) for entry in texts]),
        "names-in-capitals": entries(lambda texts: [entry.split("=")[0].swapcase() + entry[len(entry.split("=")[0]):] for entry in texts]),
        "spaces-trimmed": entries(lambda texts: [entry.replace(" ", "") for entry in texts]),
        "values-of-two-swapped": entries(values_swapped),
    },
    "values": {
        "another-system": text(1, lambda _: "Windows"),
        "another-architecture": text(2, lambda _: "arm64"),
        "architecture-absent": text(2, lambda _: None),
        "process-id-of-another": part("pid", lambda pid: struct.pack("<Q", struct.unpack("<Q", pid)[0] + 1)),
        "process-id-0": part("pid", lambda _: bytes(8)),
        "another-version-in-2": version_only_in(INFO2),
        "another-version-in-3": version_only_in(INFO3),
    },
    "cookie": {
        "nil": part("cookie", lambda _: bytes(16)),
        "constant": part("cookie", lambda _: bytes(range(16))),
        "swapped-in-2": part("cookie", lambda cookie: cookie[3::-1] + cookie[4:], [INFO2]),
        "new-in-each-reply": part("cookie", lambda _: os.urandom(16)),
    },
    "command-line": {
        "last-word-dropped": text(0, lambda line: line.rsplit(" ", 1)[0]),
        "first-word-only": text(0, lambda line: line.split(" ")[0]),
        "in-capitals": text(0, lambda line: line.swapcase()),
        "of-another-program": text(0, lambda _: "/usr/bin/other --serve"),
        "absent": text(0, lambda _: None),
    },
    "stream": {
        "100-bytes-missing": stream(length=100),
        "500-bytes-of-ff": stream(b"\xff" * 500),
        "64-bytes-of-zeros": stream(bytes(64), 64),
        "one-byte-twice": stream(b"\x05"),
        "end-missing": stream(end=lambda _: b""),
        "second-header": stream(b"Nettrace\x14\0\0\0!FastSerialization.1"),
    },
    "lost-replies": {
        "each-tenth": {"lost": lambda request, number: number % 10 == 9},
        "of-stops": {"lost": lambda request, number: request == STOP},
        "of-errors": {"lost": lambda request, number: request not in (INFO, INFO2, INFO3, ENVIRONMENT, STOP) and request[0] != 2},
        "environment-block": {"environment": lambda texts: None},
    },
    "order": {
        "stream-before-reply": {"first": "stream"},
        "environment-before-reply": {"first": "environment"},
        "reply-before-this-one": {"previous": True},
        "system-and-architecture": info(lambda parts, _: swapped(parts["texts"])),
        "cookie-before-process-id": info(lambda parts, _: parts.update(pid=parts["cookie"], cookie=parts["pid"])),
    },
    "late-bytes": {
        "4-after-each-reply": after(bytes(4)),
        "second-reply": after(protocol.error(protocol.UNKNOWN_COMMAND), 0.02),
        "1-after-the-environment": {"environment-tail": b"\0"},
        "1-after-the-stream": stream(end=lambda byte: byte + b"\x01"),
        "1-before-each-reply": {"before": b"\0"},
    },
}
ALL = {f"{kind}/{name}": mutation for kind, of_kind in MUTATIONS.items() for name, mutation in of_kind.items()}


def exactly(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            break
        data += more
    return data


def rest_of(connection):
    pieces = []
    while piece := connection.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


class Proxy:
    def __init__(self, runtime, mutation):
        self.runtime, self.mutation = runtime, mutation
        self.number, self.previous = 0, b""

    def serve(self, client):
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self.runtime)
            asked = bytearray()
            threading.Thread(target=self.forward, args=(client, server, asked), daemon=True).start()
            self.answer(client, server, asked)
        except OSError:
            pass  # one side has closed
        finally:
            for connection in (server, client):
                # The other thread may be reading this connection.
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()

    @staticmethod
    def forward(client, server, asked):
        try:
            while piece := client.recv(65536):
                asked.extend(piece[:max(20 - len(asked), 0)])
                server.sendall(piece)
            server.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def answer(self, client, server, asked):
        mutation = self.mutation
        header = exactly(server, 20)
        if not header.startswith(protocol.MAGIC) or len(header) < 20 or len(asked) < 18:
            client.sendall(header + rest_of(server))
            return
        payload = exactly(server, struct.unpack_from("<H", header, 14)[0] - 20)
        request, code = tuple(asked[16:18]), (header[16], header[17])
        is_error = code == ERROR
        self.number += 1
        if "lost" in mutation and mutation["lost"](request, self.number):
            return
        if "payload" in mutation and not is_error:
            payload = mutation["payload"](request, payload, code)
        if request == ENVIRONMENT and not is_error:
            self.environment(client, server, header, payload)
            return
        reply = header[:14] + struct.pack("<H", 20 + len(payload)) + header[16:] + payload
        if mutation.get("previous"):
            reply, self.previous = self.previous or reply, reply
        reply = mutation.get("before", b"") + reply
        starts_session = request[0] == 2 and request != STOP and not is_error
        if not starts_session:
            client.sendall(reply)
            if "after" in mutation:
                time.sleep(mutation["seconds"])
                client.sendall(mutation["after"])
            client.sendall(rest_of(server))
            return
        if mutation.get("first") == "stream":
            client.sendall(exactly(server, 32))
        client.sendall(reply)
        new, length, end = mutation.get("stream", (b"", 0, lambda byte: byte))
        passed, last = 0, b""
        # A runtime that closes with something unread resets the connection after its last byte.
        with contextlib.suppress(ConnectionResetError):
            while piece := server.recv(65536):
                data, last = last + piece[:-1], piece[-1:]
                at = AT - passed
                passed += len(data)
                if 0 <= at < len(data):
                    data = data[:at] + new + data[at + length:]
                client.sendall(data)
        client.sendall(end(last))

    def environment(self, client, server, header, payload):
        mutation = self.mutation
        block = exactly(server, struct.unpack_from("<I", payload)[0])
        if "environment" in mutation:
            texts = mutation["environment"](strings(block, 4))
            block = b"" if texts is None else struct.pack("<I", len(texts)) + joined(texts)
            if texts is not None:
                payload = struct.pack("<I", len(block)) + payload[4:]
        parts = [header + payload, block]
        if mutation.get("first") == "environment":
            parts.reverse()
        client.sendall(mutation.get("before", b"") + b"".join(parts) + mutation.get("environment-tail", b"") + mutation.get("after", b""))
        client.sendall(rest_of(server))


def target(mutation, name):
    directory = os.environ["TMPDIR"]
    inner = os.path.join(directory, "runtime")
    os.mkdir(inner)
    runtime = subprocess.Popen([sys.executable, str(HERE / "spawn.py"), name], env={**os.environ, "TMPDIR": inner}, stdin=subprocess.PIPE,
                               stdout=sys.stderr)
    signal.signal(signal.SIGTERM, lambda *_: (runtime.kill(), os._exit(1)))
    threading.Thread(target=lambda: os._exit(runtime.wait() & 0xFF), daemon=True).start()
    for _ in range(3000):
        found = [path for path in glob.glob(inner + "/dotnet-diagnostic-*-socket") if launch.listens(path)]
        if found:
            break
        time.sleep(0.02)
    proxy = Proxy(found[0], mutation)
    path = os.path.join(directory, "proxy")
    listening = protocol.listening(path, 64)
    print(path, flush=True)
    while True:
        client, _ = listening.accept()
        threading.Thread(target=proxy.serve, args=(client,), daemon=True).start()


def judged(program, mutation, name):
    only = [word for case in CASES for word in ("--only", case)]
    # One failure is enough.
    fast = ["--fail-fast"] if mutation in ALL else []
    command = [program, "server", "--json", "--jobs", "2", *fast, *only, "--spawn", "--", sys.executable, __file__, "--target", mutation, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return done.returncode, [done.stderr.strip()[-300:]]
    causes = [cause["name"] for cause in report.get("causes", [])]
    unnamed = [case["name"] for case in report["cases"] if case["grade"] == "fail" and not case.get("faults")]
    lost = [f"lost: {report['lost']['reason'][:200]}"] if "lost" in report else []
    return done.returncode, [*causes, *unnamed[:3], *lost]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", default="net10.0.12")
    parser.add_argument("--target", nargs=2, metavar=("MUTATION", "NAME"))
    parser.add_argument("mutations", nargs="*")
    arguments = parser.parse_args()
    if arguments.target:
        mutation, name = arguments.target
        return target(ALL.get(mutation, {}), name)
    launch.fetch_or_skip(arguments.runtime)
    program = os.environ["DIAGIPC"]
    status, found = judged(program, "none", arguments.runtime)
    print(f"without a mutation: status {status} {found}", flush=True)
    detected, chosen = 0, arguments.mutations or list(ALL)
    for mutation in chosen:
        ended, causes = judged(program, mutation, arguments.runtime)
        detected += ended != 0
        print(f"{'detected' if ended else 'NOT DETECTED':13} {mutation}: {', '.join(causes)}", flush=True)
    print(f"{detected} of {len(chosen)} mutations detected")
    return int(status != 0 or detected * 100 < LEAST * len(chosen))


if __name__ == "__main__":
    sys.exit(main())
