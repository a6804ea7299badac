#!/usr/bin/env python3
"""reproductions.py NAME [SOCKET]

The reproductions of spec/UPSTREAM.md, one function each, with what each build prints; upstream.py compares. Most kill or wedge the process
whose socket is given, $TMPDIR/dotnet-diagnostic-PID-...-socket: start one for each. To file one, paste its function below `ask`, `text`,
`alive` and `pid`.
"""
import glob
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

PROCESS_INFO, STOP, COLLECT2 = b"\4\0", b"\2\1", b"\2\3"
BEFORE_11 = "net8.0.30 net8.0.34 net9.0.5 net9.0.23 net10.0.9 net10.0.12 net10.0.15 aot8.0.31 aot9.0.20 aot10.0.12"
ALL = BEFORE_11 + " net11.0.0 aot11.0.0 mono11.0.0"
REPRODUCTIONS = {}


def prints(expected, createdump=None, **variables):
    """Marks a reproduction with the lines that it prints by builds, and what the process is started with: variables, and the mode of its
    createdump."""
    def mark(function):
        rows = [(builds.split(), lines) for builds, lines in expected.items()]
        REPRODUCTIONS[function.__name__] = function, rows, createdump, variables
        return function
    return mark


def ask(code, payload=b""):
    """Asks on a connection of its own. The answer without its magic, in hexadecimal, and how the connection ended."""
    got = b""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        try:
            connection.connect(sys.argv[2])
            connection.sendall(b"DOTNET_IPC_V1\0" + struct.pack("<H2sH", 20 + len(payload), code, 0) + payload)
            while part := connection.recv(4096):
                got += part
            end = "closed"
        except OSError as error:
            end = type(error).__name__
    return got.removeprefix(b"DOTNET_IPC_V1\0").hex() + " " + end


def text(string):
    return struct.pack("<I", len(string) + 1) + (string + "\0").encode("utf-16-le")


def alive():
    return ask(PROCESS_INFO)[4:8] == "ff00"


def pid():
    return int(sys.argv[2].split("-")[-3])


@prints({
    BEFORE_11: ["ff00", " closed", "False"],
    "net11.0.0 aot11.0.0 mono11.0.0": ["ffff", "1800ffff000084131380 TimeoutError", "True"],
})
def early_end():
    print(ask(STOP, b"\1\0")[4:8])
    print(ask(COLLECT2))
    print(alive())


@prints({ALL: ["1800ff00000000000000 closed"]})
def string_count():
    name, value = text("NAME"), text("VALUE")
    print(ask(b"\4\3", name[:3] + b"\x80" + name[4:] + value))


@prints({
    "net10.0.9 net10.0.12 net10.0.15 aot10.0.12": [" closed", "False", "False"],
    "net11.0.0 aot11.0.0": ["1800ffff000084131380 TimeoutError", "True", "True"],
})
def event_id_count():
    def peak():
        with open(f"/proc/{pid()}/status") as status:
            return sum(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

    before = peak()
    provider = struct.pack("<QI", 0, 5) + text("A") + struct.pack("<I", 0) + b"\1" + struct.pack("<I", 0x4000000)
    print(ask(b"\2\6", struct.pack("<IIIQBI", 0, 1, 1, 0, 0, 1) + provider))
    print(alive())
    print(peak() - before > 250_000)  # KiB


@prints({ALL: ["4142434445464748"]})
def process_info_payload():
    print(ask(PROCESS_INFO, b"ABCDEFGH")[:16])


@prints({
    "net9.0.5 net9.0.23 net10.0.9 net10.0.12 net10.0.15 net11.0.0": ["1800ffff000084131380 TimeoutError", "1800ffff000085131380 TimeoutError"],
    "net8.0.30 net8.0.34": ["1800ffff000084131380 closed", "1800ffff000085131380 TimeoutError"],
    "aot9.0.20 aot10.0.12 aot11.0.0 mono11.0.0": ["1800ffff000084131380 TimeoutError", "1800ffff000015151380 closed"],
})
def lost_connection():
    print(ask(COLLECT2, struct.pack("<IIBIQI", 1, 1, 0, 1, 0, 6) + text("Level 6 of 5") + struct.pack("<I", 0)))
    print(ask(b"\3\x63"))


@prints({
    "net8.0.30 net8.0.34 net9.0.5 net9.0.23 net10.0.9 net10.0.12 net10.0.15": ["1800ffff00007e000780 closed", "1800ffff000084131380 closed"],
    "net11.0.0": ["1800ffff000084131380 closed", "1800ffff00007e000780 closed"],
})
def attach_check():
    attach = struct.pack("<I16s", 1000, b"A" * 16) + text("/nowhere.so")
    print(ask(b"\3\1", attach + struct.pack("<I", 1000)))
    print(ask(b"\3\1", attach + struct.pack("<I", 1) + b"12"))


@prints({
    "net3.1.32 net8.0.30 net8.0.34 net9.0.5 net9.0.23 net10.0.9 net10.0.12 net10.0.15 net11.0.0 aot8.0.31": [" closed", "False"],
    "aot9.0.20 aot10.0.12 aot11.0.0": ["1800ffff000005400080 closed", "True"],
})
def nameless_dump():
    print(ask(b"\1\1", struct.pack("<III", 0, 1, 0)))
    print(alive())


@prints({
    "net8.0.30 net8.0.34 net9.0.5 net9.0.23 net10.0.0": [" closed", "False"],
    "net10.0.9 net10.0.12 net10.0.15 net11.0.0": ["1800ff00000000000000 closed", "True"],
}, DOTNET_DefaultDiagnosticPortSuspend="1")
def suspended_perf_map():
    print(ask(b"\4\5", struct.pack("<I", 1)))
    print(alive())


@prints({
    "net9.0.5 net9.0.23 net10.0.12 net10.0.15": [" closed", "False"],
    "net8.0.30 net8.0.34 net11.0.0": ["1800ffff000057000780 closed", "True"],
})
def missing_hook():
    print(ask(b"\4\7", text("/nowhere.dll")))
    print(alive())


@prints({
    "net9.0.23 net10.0.12 net10.0.15": [" closed", "False"],
    "net8.0.34 net11.0.0": ["1800ffff000004161380 closed", "True"],
})
def throwing_hook():
    # Its Initialize appends to a file in a directory that does not exist. Any hook that throws shows the same.
    from hook_assembly import hook_assembly
    path = os.path.dirname(sys.argv[2]) + "/hook.dll"
    with open(path, "wb") as file:
        file.write(hook_assembly("A", "/nowhere/file"))
    print(ask(b"\4\7", text(path)))
    print(alive())


@prints({"net8.0.34 net9.0.23 net10.0.12 net10.0.15": [" closed"], "net11.0.0": ["1800ffff000005400080 closed"]})
def long_command_line():
    # Another process of the program, whose answer has 65,536 bytes.
    whole, home = int.from_bytes(bytes.fromhex(ask(PROCESS_INFO)[:4]), "little"), os.path.dirname(sys.argv[2])
    command = [os.readlink(f"/proc/{pid()}/exe"), "x" * ((65536 - whole) // 2 - 1)]
    with subprocess.Popen(command, env={"TMPDIR": home}, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        sys.argv[2] = glob.glob(f"{home}/dotnet-diagnostic-{process.pid}-*-socket")[0]
        print(ask(PROCESS_INFO))
        process.kill()


@prints({
    "net9.0.5 net9.0.23 net10.0.9 net10.0.12 net10.0.15 aot9.0.20 aot10.0.12": ["2"],
    "net11.0.0 aot11.0.0": ["1"],
}, DOTNET_DefaultDiagnosticPortSuspend="1")
def stopped_before_resume():
    def session():
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(2)
        connection.connect(sys.argv[2])
        provider = struct.pack("<QI", 1, 4) + text("Microsoft-Windows-DotNETRuntime") + struct.pack("<I", 0)
        payload = struct.pack("<IIBI", 16, 1, 0, 1) + provider
        connection.sendall(b"DOTNET_IPC_V1\0" + struct.pack("<H2sH", 20 + len(payload), COLLECT2, 0) + payload)
        return connection, connection.recv(28, socket.MSG_WAITALL)[20:]

    first, number = session()
    ask(STOP, number)
    first.close()
    second, _ = session()
    ask(b"\4\1")
    stream = b""
    try:
        while part := second.recv(65536):
            stream += part
    except OSError:
        pass
    print(stream.count(b"Nettrace"))


@prints({BEFORE_11 + " net11.0.0 aot11.0.0": ["True"]})
def reused_id():
    def session():
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(sys.argv[2])
            provider = struct.pack("<QI", 0, 5) + text("None") + struct.pack("<I", 0)
            payload = struct.pack("<IIBI", 1, 1, 0, 1) + provider
            connection.sendall(b"DOTNET_IPC_V1\0" + struct.pack("<H2sH", 20 + len(payload), COLLECT2, 0) + payload)
            started = connection.recv(28, socket.MSG_WAITALL)[20:]
            ask(STOP, started)
            return started

    ids = [session() for _ in range(20)]
    print(len(set(ids)) < len(ids))


@prints({"net10.0.12 net10.0.15 net11.0.0 aot10.0.12 aot11.0.0": ["True False"]})
def equal_ids():
    def has_events(*ids):
        filtered = struct.pack(f"<BI{len(ids)}I", 0, len(ids), *ids)
        provider = struct.pack("<QI", 0, 4) + text("System.Runtime") + text("EventCounterIntervalSec=1") + filtered
        payload, stream = struct.pack("<IIIQBI", 0, 1, 1, 0, 0, 1) + provider, b""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(sys.argv[2])
            connection.settimeout(4)
            connection.sendall(b"DOTNET_IPC_V1\0" + struct.pack("<H2sH", 20 + len(payload), b"\2\6", 0) + payload)
            try:
                while "EventCounters".encode("utf-16-le") not in stream:
                    stream += connection.recv(65536)
            except TimeoutError:
                return False
        return True

    print(has_events(9999), has_events(9999, 9999))


@prints({
    "net8.0.34 net9.0.5 net9.0.23 net10.0.12": ["1800ffff000005400080 closed", "False"],
    "net10.0.15 net11.0.0": ["1800ffff000005400080 closed", "True"],
}, createdump=0o644)
def createdump_socket():
    print(ask(b"\1\1", text("/tmp/dump") + struct.pack("<II", 4, 0)))
    print(os.path.exists(sys.argv[2]))


@prints({"aot8.0.31 aot9.0.20 aot10.0.12 aot11.0.0": [" closed", "False"]})
def unset_variable():
    print(ask(b"\4\3", text("NAME") + struct.pack("<I", 0)))
    print(alive())


@prints({"aot8.0.31 aot9.0.20 aot10.0.12 aot11.0.0": ["1800ffff0000ffffffff closed"]})
def setenv_result():
    print(ask(b"\4\3", text("A=B") + text("VALUE")))


@prints({"aot8.0.31 aot9.0.20 aot10.0.12 aot11.0.0": [" closed", "False"]}, LATIN="caf\udce9!")
def not_utf8():
    print(ask(b"\4\2")[-40:])
    print(alive())


@prints({"dotnet-trace": ["True 0", "b'Nettrace? No.'"]})
def reply_magic():
    key = open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19]
    path = f"{os.environ['TMPDIR']}/dotnet-diagnostic-{os.getpid()}-{key}-socket"
    server = socket.create_server(path, family=socket.AF_UNIX)
    tool = subprocess.Popen(["dotnet-trace", "collect", "-p", str(os.getpid()), "-o", path + ".nettrace"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, text=True)
    for _ in range(2):  # CollectTracing2, ResumeRuntime
        connection = server.accept()[0]
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 O" + struct.pack("<H2sHQ", 28, b"\x63\0", 0, 7) + b"Nettrace? No.")
        connection.close()
    print("Trace completed." in tool.communicate()[0], tool.returncode)
    print(open(path + ".nettrace", "rb").read())


@prints({"net10.0.12 dotnet-trace": ["True 0", "False"]})
def cut_trace():
    output = os.path.dirname(sys.argv[2]) + "/a.nettrace"
    tool = subprocess.Popen(["dotnet-trace", "collect", "-p", str(pid()), "-o", output], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            text=True)
    threading.Timer(5, os.kill, (pid(), signal.SIGKILL)).start()
    print("Trace completed." in tool.communicate()[0], tool.returncode)
    with open(output, "rb") as file:
        print(file.read()[-1:] == b"\1")  # the end tag


if __name__ == "__main__":
    REPRODUCTIONS[sys.argv[1]][0]()
