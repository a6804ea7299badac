"""The events that a runtime writes: the blobs of a nettrace stream (format 1), and user_events records. A module."""
import collections
import struct


# --- a stream, as far as metadata and payloads need it ---------------------------------------------------------------
def varint(block, at):
    value = shift = 0
    while True:
        byte, at = block[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def blobs(data):
    """Yields the kind of block, metadata id, activity, related activity and payload of each event."""
    assert data[:8] == b"Nettrace", data[:8]
    at = 32
    while data[at] == 5:
        (length,) = struct.unpack_from("<I", data, at + 11)
        kind = data[at + 15:at + 15 + length]
        at += 16 + length
        if kind == b"Trace":
            at += 48
        else:
            (length,) = struct.unpack_from("<I", data, at)
            at += 4 + -(at + 4) % 4
            if kind in (b"EventBlock", b"MetadataBlock"):
                yield from ((kind, *blob) for blob in compressed(data[at:at + length]))
            at += length
        assert data[at] == 6
        at += 1
    assert data[at:] == b"\1", "the stream is cut"


def compressed(block):
    at, flags = struct.unpack_from("<HH", block)
    assert flags & 1
    metadata = length = 0
    activity = related = bytes(16)
    while at < len(block):
        flags, at = block[at], at + 1
        if flags & 1:
            metadata, at = varint(block, at)
        for _ in range(3 * bool(flags & 2) + bool(flags & 4) + bool(flags & 8) + 1):  # sequence …, thread, stack, time
            _, at = varint(block, at)
        if flags & 0x10:
            activity, at = block[at:at + 16], at + 16
        if flags & 0x20:
            related, at = block[at:at + 16], at + 16
        if flags & 0x80:
            length, at = varint(block, at)
        yield metadata, activity, related, block[at:at + length]
        at += length


Event = collections.namedtuple("Event", "provider name id keywords version level fields")


def described(metadata):
    """Parses metadata; `fields` is the part after the level."""
    def text(at):
        end = at
        while metadata[end:end + 2] != b"\0\0":
            assert end < len(metadata)
            end += 2
        return metadata[at:end].decode("utf-16-le"), end + 2

    source, at = text(0)
    (number,) = struct.unpack_from("<I", metadata, at)
    name, at = text(at + 4)
    return Event(source, name, number, *struct.unpack_from("<QII", metadata, at), metadata[at + 16:])


# --- records -------------------------------------------------------------------------------------------------------
Record = collections.namedtuple("Record", "write_index version event_id extension payload labels metadata activity related bytes")


def parsed(packet):
    """Parses a record; fails if it differs from F-66 and F-67."""
    write_index, version, event_id, extension, payload = struct.unpack_from("<IBHII", packet)
    length = extension >> 16
    assert extension & 0xFFFF == 4 and payload & 0xFFFF == length, packet[:15].hex()
    assert len(packet) == 15 + length + (payload >> 16), packet[:15].hex()
    blob, at, labels = packet[15:15 + length], 0, []
    metadata, ids = None, {2: bytes(16), 3: bytes(16)}
    while at < length:
        labels.append(blob[at])
        if blob[at] == 1:
            (size,) = struct.unpack_from("<I", blob, at + 1)
            metadata = blob[at + 5:at + 5 + size]
            at += 5 + size
        else:
            assert blob[at] in ids and len(blob) >= at + 17, blob.hex()
            ids[blob[at]] = blob[at + 1:at + 17]
            assert ids[blob[at]] != bytes(16), "an id of zeroes"
            at += 17
    assert at == length, blob.hex()
    return Record(write_index, version, event_id, blob, packet[15 + length:], tuple(labels), metadata, ids[2], ids[3], packet)
