"""A short nettrace stream (version 4) as .NET writes it, which Microsoft's parser reads: the description of an EventCounter's event and one
such event. Metadata and payload are as .NET 10.0.12 writes those of System.Runtime, with other names and numbers.
"""
import struct

from notation import string, u16, u32, u64

PROVIDER = "Provider"
# A counter, and what a program prints for it.
COUNTER, SHOWN, MEAN = "requests", "Requests in the queue", 41.5
COUNTERS = [SHOWN, str(MEAN)]
STRING, DOUBLE, FLOAT, INT, OBJECT = 18, 14, 13, 9, 1
FIELDS = (("Name", STRING), ("DisplayName", STRING), ("Mean", DOUBLE), ("StandardDeviation", DOUBLE), ("Count", INT), ("Min", DOUBLE),
          ("Max", DOUBLE), ("IntervalSec", FLOAT), ("Series", STRING), ("CounterType", STRING), ("Metadata", STRING),
          ("DisplayUnits", STRING))


def text(value):
    """Returns a text without a length, as in events."""
    return string(value)[4:]


def f64(value):
    return struct.pack("<d", value)


def thing(name, version, body):
    """Returns an object: its type, and its contents."""
    return b"\5\5\1" + u32(version) + u32(version) + u32(len(name)) + name + b"\6" + body + b"\6"


def block(begins, name, version, content, more=0):
    """Returns a block that begins at `begins` in the stream, in which it is aligned to four bytes. With `more`, so many bytes and the end
    of the block are left out."""
    before = begins + 3 + 4 + 4 + 4 + len(name) + 1 + 4
    whole = thing(name, version, u32(len(content) + more) + bytes(-before % 4) + content)
    return whole[:-1] if more else whole


def blobs(metadata_id, before, payload):
    """Returns a block of one event: its header, with both times, and the event with a compressed header, which says that the events are
    sorted up to this one; a reader keeps them until then (F-176). `before` is the number of earlier events of its thread."""
    number = bytes([len(payload) & 0x7F | 0x80, len(payload) >> 7])
    return u16(20) + u16(1) + u64(0) + u64(0) + bytes([0xC7, metadata_id, before, 1, 0, 1, 0]) + number + payload


METADATA = (u32(1) + text(PROVIDER) + u32(21) + text("EventCounters") + u64(0) + u32(0) + u32(0)
            # This is one unnamed value with one field, which has the fields of the counter.
            + u32(1) + u32(OBJECT) + u32(1) + u32(OBJECT) + u32(len(FIELDS)) + b"".join(u32(kind) + text(name) for name, kind in FIELDS)
            + text("Payload") + text(""))
PAYLOAD = (text(COUNTER) + text(SHOWN) + f64(MEAN) + f64(0) + u32(1) + f64(MEAN) + f64(MEAN) + struct.pack("<f", 1)
           + text("Interval=1000") + text("Mean") + text("") + text(""))
# Year, month, day of the week, day, time; the clock of the events; size of a pointer, process, processors, sampling rate.
TRACE = b"".join(map(u16, (2026, 1, 4, 1, 0, 0, 0, 0))) + u64(0) + u64(1_000_000_000) + u32(8) + u32(4242) + u32(1) + u32(1_000_000)

HEAD = b"Nettrace" + u32(20) + b"!FastSerialization.1" + thing(b"Trace", 4, TRACE)
HEAD += block(len(HEAD), b"MetadataBlock", 2, blobs(0, 0, METADATA))
HEAD += block(len(HEAD), b"EventBlock", 2, blobs(1, 0, PAYLOAD))
# A second event and the end.
TAIL = block(len(HEAD), b"EventBlock", 2, blobs(1, 1, PAYLOAD)) + b"\1"
# Between them, more than a socket holds: a stack of so many zeros, and the end of its block. TAIL stays aligned.
ZEROS = 16 * 65535 - 3
FILLER = block(len(HEAD), b"StackBlock", 2, u32(1) + u32(1) + u32(ZEROS), ZEROS)
assert (len(FILLER) + ZEROS + 1) % 4 == 0
