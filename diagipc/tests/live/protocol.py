"""The bytes of the protocol and the connections that carry them, written from the document and without the crate. Used by the other scripts
here.
"""
import socket
import struct

from checks import Differs, expect

MAGIC = b"DOTNET_IPC_V1\0"
PATIENCE = 30.0  # seconds for expected events

GENERATE_CORE_DUMP, GENERATE_CORE_DUMP3 = 0x0101, 0x0103
STOP_TRACING, COLLECT_TRACING, COLLECT_TRACING2, COLLECT_TRACING5 = 0x0201, 0x0202, 0x0203, 0x0206
ATTACH_PROFILER = 0x0301
PROCESS_INFO, RESUME_RUNTIME, PROCESS_ENVIRONMENT, SET_ENVIRONMENT_VARIABLE = 0x0400, 0x0401, 0x0402, 0x0403
PROCESS_INFO2, ENABLE_PERF_MAP, DISABLE_PERF_MAP, APPLY_STARTUP_HOOK, PROCESS_INFO3 = 0x0404, 0x0405, 0x0406, 0x0407, 0x0408
OK, ERROR = 0xFF00, 0xFFFF

E_FAIL, INVALIDARG, MODULE_NOT_FOUND, ENVVAR_NOT_FOUND = 0x80004005, 0x80070057, 0x8007007E, 0x800700CB
NOT_YET_AVAILABLE, ALREADY_ACTIVE, NOT_SUPPORTED = 0x8013135B, 0x8013136A, 0x80131515
BAD_ENCODING, UNKNOWN_COMMAND, UNKNOWN_MAGIC = 0x80131384, 0x80131385, 0x80131386


# --- writing -------------------------------------------------------------------------------------------------------
def message(code, payload=b"", magic=MAGIC, size=None):
    """Returns a message; `size` is the size in its header, if not its length."""
    return magic + struct.pack("<HBBH", 20 + len(payload) if size is None else size, code >> 8, code & 0xFF, 0) + payload


def error(hresult):
    return message(ERROR, struct.pack("<I", hresult))


S_OK = message(OK, bytes(4))


def string(text=None):
    """Returns a string with its NUL; without a text, an absent string."""
    units = b"" if text is None else text.encode("utf-16-le") + b"\0\0"
    return struct.pack("<I", len(units) // 2) + units


def array(*items):
    return struct.pack("<I", len(items)) + b"".join(items)


def provider(name, keywords, level, arguments=None):
    return struct.pack("<QI", keywords, level) + string(name) + string(arguments)


def dump(path, kind, flags=0):
    """Returns the payload of a command that writes a dump."""
    return string(path) + struct.pack("<II", kind, flags)


def profiler(library, class_id=bytes(16), client_data=b"", milliseconds=5000):
    """Returns the payload of AttachProfiler."""
    return struct.pack("<I", milliseconds) + class_id + string(library) + struct.pack("<I", len(client_data)) + client_data


# --- reading -------------------------------------------------------------------------------------------------------
def payload_of(reply, code=OK):
    """Returns the payload of a reply, which must be exactly one message with that code."""
    expect(reply[:20] == message(code, reply[20:])[:20], f"no reply of code {code:#06x}: {reply.hex() or 'nothing'}")
    return reply[20:]


class Fields:
    """A payload whose fields are read in order."""

    def __init__(self, wire):
        self.wire = wire

    def take(self, count):
        expect(len(self.wire) >= count, "the payload is cut")
        taken, self.wire = self.wire[:count], self.wire[count:]
        return taken

    def number(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def string(self):
        units = self.take(2 * self.number("I"))
        expect(units[-2:] == b"\0\0", f"a string without NUL: {units.hex()}")
        return units[:-2].decode("utf-16-le")

    def end(self):
        expect(not self.wire, f"bytes after the last field: {self.wire.hex()}")


def process_info(edition, payload):
    """Returns the values of ProcessInfo, ProcessInfo2 or ProcessInfo3; every byte is read."""
    fields, seen = Fields(payload), {}
    if edition == 3:
        seen["version"] = fields.number("I")
    seen["pid"] = fields.number("Q")
    seen["cookie"] = fields.take(16)
    names = ["commandLine", "OS", "arch"] + ["entry", "clr"] * (edition > 1) + ["rid"] * (edition > 2)
    seen.update((name, fields.string()) for name in names)
    fields.end()
    return seen


def environment(reply):
    """Returns the entries after a reply to ProcessEnvironment. Every count includes a NUL, and the block has the announced size."""
    block = reply[26:]
    expect(payload_of(reply[:26]) == struct.pack("<IH", len(block), 0), f"{len(block)} bytes follow {reply[:26].hex()}")
    fields = Fields(block)
    entries = [fields.string() for _ in range(fields.number("I"))]
    fields.end()
    return entries


def advertised(data):
    """Returns the cookie and the process id in an advertise."""
    expect(len(data) == 34 and data[:8] == b"ADVR_V1\0" and data[32:] == b"\0\0", f"no advertise: {data.hex()}")
    return data[8:24], int.from_bytes(data[24:32], "little")


# --- connections ---------------------------------------------------------------------------------------------------
def connected(path, seconds=PATIENCE):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(seconds)
    connection.connect(path)
    return connection


def listening(path, backlog=8):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(backlog)
    return listener


def accepted(listener):
    """Accepts the next connection to a listener; returns it, and the cookie and the process id of its advertise."""
    connection, _ = listener.accept()
    connection.settimeout(PATIENCE)
    return connection, advertised(receive(connection, 34))


def receive(connection, count):
    """Receives so many bytes and no more."""
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionError(f"the connection ended after {data.hex() or 'nothing'}")
        data += more
    return data


def receive_reply(connection):
    """Receives one message and nothing after it; returns its code and its payload."""
    header = receive(connection, 20)
    size, first, second, _ = struct.unpack("<HBBH", header[14:])
    expect(header[:14] == MAGIC and first == 0xFF and size >= 20, f"no reply: {header.hex()}")
    return first << 8 | second, receive(connection, size - 20)


def rest(connection, may_be_reset=False):
    """Receives all bytes until the end, which is required. A runtime that leaves bytes unread resets the connection (F-70)."""
    data = b""
    try:
        while more := connection.recv(65536):
            data += more
    except ConnectionResetError:
        expect(may_be_reset, f"the connection was reset after {data.hex() or 'nothing'}")
    except TimeoutError:
        raise Differs(f"the connection is still open after {connection.gettimeout():.0f} s; so far {data.hex() or 'nothing'}") from None
    return data


def exchange(connection, code, payload=b""):
    """Sends a request, and returns the payload of its OK."""
    connection.sendall(message(code, payload))
    answer, payload = receive_reply(connection)
    expect(answer == OK, f"refused: {payload.hex()}")
    return payload


def ask(path, request, seconds=PATIENCE, may_be_reset=False):
    """Sends a request on a separate connection, which must end; returns all bytes received."""
    with connected(path, seconds) as connection:
        connection.sendall(request)
        return rest(connection, may_be_reset)


def succeeds(path, code, payload=b""):
    """Sends a request whose only right answer is an OK with S_OK."""
    reply = ask(path, message(code, payload))
    expect(reply == S_OK, f"{code:#06x} is answered {reply.hex() or 'nothing'}; expected: OK with S_OK")
