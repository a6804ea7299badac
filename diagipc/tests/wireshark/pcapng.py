"""Captures in the format of spec/GRAMMAR.md, written without the crate."""
import struct

OPENED, DATA, ENDED = 0, 1, 2
CLIENT, RUNTIME = 0, 1
HALF_CLOSED, CLOSED, RESET = 0, 1, 2
USER0 = 147


def block(kind, body):
    body += b"\0" * (-len(body) % 4)
    size = 12 + len(body)
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)


class Capture:
    """Packets of one interface, one microsecond apart."""

    def __init__(self):
        self.blocks = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)), block(1, struct.pack("<HHI", USER0, 0, 0))]
        self.time = 1_700_000_000_000_000
        self.connections = 0

    def packet(self, event, side, connection, detail=0, rest=b""):
        data = b"DIPC" + bytes([1, event, side, detail]) + struct.pack("<I", connection) + rest
        self.time += 1
        head = struct.pack("<IIIII", 0, self.time >> 32, self.time & 0xFFFFFFFF, len(data), len(data))
        self.blocks.append(block(6, head + data))

    def open(self, by=CLIENT):
        """The number of a new connection."""
        self.packet(OPENED, by, self.connections)
        self.connections += 1
        return self.connections - 1

    def data(self, connection, side, data, piece=None, descriptors=b""):
        """In packets of `piece` bytes each, or in one."""
        for at in range(0, len(data), piece or len(data) or 1):
            part = data[at:at + (piece or len(data))]
            self.packet(DATA, side, connection, len(descriptors), descriptors + part)
            descriptors = b""

    def end(self, connection, side, how=CLOSED):
        self.packet(ENDED, side, connection, how)

    def write(self, path):
        with open(path, "wb") as file:
            file.write(b"".join(self.blocks))
