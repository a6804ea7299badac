//! The start of a nettrace stream: what a runtime may send before it has an event.

/// The header up to version 5: the names of the format and of its serializer.
const OLD_HEADER: &[u8] = b"Nettrace\x14\0\0\0!FastSerialization.1";
/// The front of the object `Trace`, which follows: its tags, its two versions, and its name.
const OLD_TRACE: &[u8] = b"\x05\x05\x01\x04\0\0\0\x04\0\0\0\x05\0\0\0Trace\x06";
/// The number of bytes in that object before its last tag.
const OLD_TRACE_BODY: usize = 48;
const END_OF_OBJECT: u8 = 6;

/// The front of the header from version 6 on: the name of the format and a zero. Two numbers of
/// the version follow.
const NEW_NAME: &[u8] = b"Nettrace\0\0\0\0";
const NEW_HEADER: usize = NEW_NAME.len() + 8;
/// The kind of a block with properties of the trace: the byte after the 24 bits of its size.
const NEW_TRACE: u8 = 1;

/// Whether a stream with these first bytes has no event so far.
pub(super) fn has_no_event(stream: &[u8]) -> bool {
    is_old_start(stream) || is_new_start(stream)
}

fn is_old_start(stream: &[u8]) -> bool {
    let (header, object) = stream.split_at(stream.len().min(OLD_HEADER.len()));
    let (tags, body) = object.split_at(object.len().min(OLD_TRACE.len()));
    let end = body.get(OLD_TRACE_BODY..).unwrap_or_default();
    OLD_HEADER.starts_with(header)
        && OLD_TRACE.starts_with(tags)
        && [END_OF_OBJECT].starts_with(end)
}

fn is_new_start(stream: &[u8]) -> bool {
    let name = stream.get(..NEW_NAME.len()).unwrap_or(stream);
    let mut blocks = stream.get(NEW_HEADER..).unwrap_or_default();
    // A block that is cut short here has only properties of the trace so far.
    while let Some(([low, middle, high, kind], rest)) = blocks.split_first_chunk() {
        if *kind != NEW_TRACE {
            return false;
        }
        let size = u32::from_le_bytes([*low, *middle, *high, 0]);
        blocks = usize::try_from(size).ok().and_then(|size| rest.get(size..)).unwrap_or_default();
    }
    NEW_NAME.starts_with(name)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// What .NET 11.0.0 sent while it was suspended, without the content of the object.
    fn old() -> Vec<u8> {
        [OLD_HEADER, OLD_TRACE, &[0; OLD_TRACE_BODY], &[END_OF_OBJECT]].concat()
    }

    #[test]
    fn start_of_102_bytes_has_no_event_and_each_byte_after_it_is_one() {
        let start = old();
        assert_eq!(start.len(), 102);
        for len in 0..=start.len() {
            assert!(has_no_event(&start[..len]), "{len}");
        }
        assert!(!has_no_event(&[&start[..], b"\x05"].concat()));
        assert!(!has_no_event(b"Nettraci") && !has_no_event(b"\xff"));
    }

    #[test]
    fn start_of_version_6_ends_with_the_block_of_the_trace() {
        let header = b"Nettrace\0\0\0\0\x06\0\0\0\0\0\0\0";
        let trace = [&header[..], b"\x02\0\0\x01ab"].concat();
        for len in 0..=trace.len() {
            assert!(has_no_event(&trace[..len]), "{len}");
        }
        assert!(!has_no_event(&[&trace[..], b"\x02\0\0\x02"].concat()), "a block of events");
        assert!(!has_no_event(b"Nettrace\x01\0\0\0"));
    }
}
