//! Streams written by hand, in pieces of several sizes.

use super::*;

/// Returns a stream of these objects, in nettrace 4.
fn stream(objects: &[(&str, &[u8])]) -> Vec<u8> {
    let mut stream = b"Nettrace\x14\0\0\0!FastSerialization.1".to_vec();
    object(&mut stream, "Trace", None, &[0; 48]);
    for (name, block) in objects {
        let length = u32::try_from(block.len()).unwrap();
        object(&mut stream, name, Some(length), block);
    }
    stream.push(1);
    stream
}

fn object(stream: &mut Vec<u8>, name: &str, length: Option<u32>, body: &[u8]) {
    stream.extend(b"\x05\x05\x01\x04\0\0\0\x04\0\0\0");
    stream.extend(u32::try_from(name.len()).unwrap().to_le_bytes());
    stream.extend(name.as_bytes());
    stream.push(6);
    if let Some(length) = length {
        stream.extend(length.to_le_bytes());
        while stream.len() % 4 != 0 {
            stream.push(0);
        }
    }
    stream.extend(body);
    stream.push(6);
}

fn state(stream: &[u8], piece: usize) -> StreamState {
    let mut read = Stream::default();
    for piece in stream.chunks(piece) {
        read.feed(piece);
        assert!(read.rest.len() < 600);
    }
    read.state()
}

/// A block header of 20 bytes; metadata 1, number 1 of thread 7 with two bytes; number 2 of the
/// same thread, with an activity; number 1 of thread 300.
const EVENTS: &[u8] = b"\x14\0\x01\0................\
    \x83\x01\0\x07\0\x10\x02xx\
    \x10\x11aaaaaaaaaaaaaaaaxx\
    \x02\xfe\xff\xff\xff\x0f\xac\x02\x01\x12xx";
/// Numbers 3, without payload, and 4 of thread 300; number 2 was dropped.
const LATER: &[u8] = b"\x14\0\x01\0................\x83\x02\x02\xac\x02\0\x20\0\0\x21";

/// Descriptions of types 1 (provider A; cut after it) and 2 (the rundown's provider).
const TYPES: &[u8] = b"\x14\0\x01\0................\
    \x80\0\x0a\x01\0\0\0A\0\0\0xx\
    \x80\0\x52\x02\0\0\0M\0i\0c\0r\0o\0s\0o\0f\0t\0-\0W\0i\0n\0d\0o\0w\0s\0-\0\
    D\0o\0t\0N\0E\0T\0R\0u\0n\0t\0i\0m\0e\0R\0u\0n\0d\0o\0w\0n\0\0\0";

/// Returns the time, and the threads 7 and 300 with their last numbers.
fn sequence_point(numbers: [u8; 2]) -> Vec<u8> {
    let [seventh, other] = numbers;
    let mut point =
        b"tttttttt\x02\0\0\0\x07\0\0\0\0\0\0\0?\0\0\0\x2c\x01\0\0\0\0\0\0?\0\0\0".to_vec();
    point[20] = seventh;
    point[32] = other;
    point
}

#[test]
fn gaps_in_events_and_at_sequence_points_are_losses() {
    let (even, late) = (sequence_point([2, 4]), sequence_point([5, 4]));
    for (objects, lost) in [
        (&[][..], 0),
        (&[("EventBlock", EVENTS)][..], 0),
        (&[("MetadataBlock", TYPES), ("StackBlock", b""), ("EventBlock", EVENTS)], 0),
        (&[("EventBlock", EVENTS), ("EventBlock", LATER), ("SPBlock", &even)], 1),
        // Thread 7 lost three more after its last event.
        (&[("EventBlock", EVENTS), ("EventBlock", LATER), ("SPBlock", &late)], 4),
        // Both threads lost all events.
        (&[("SPBlock", &late)], 9),
        // A thread that counts from the start again is a new one.
        (&[("EventBlock", EVENTS), ("EventBlock", EVENTS)], 0),
    ] {
        let stream = stream(objects);
        for piece in [1, 7, stream.len()] {
            assert_eq!(
                state(&stream, piece),
                StreamState::Whole { lost },
                "{objects:?} by {piece}"
            );
        }
    }
}

#[test]
fn stream_is_whole_with_its_last_byte_only() {
    let whole = stream(&[("EventBlock", EVENTS), ("SPBlock", &sequence_point([2, 1]))]);
    for end in 0..whole.len() {
        assert_eq!(state(&whole[..end], 64), StreamState::Cut, "{end}");
    }
    assert_eq!(state(&whole, 64), StreamState::Whole { lost: 0 });
}

#[test]
fn changed_stream_says_the_same_in_pieces_of_any_size() {
    let stream = stream(&[
        ("MetadataBlock", TYPES),
        ("EventBlock", EVENTS),
        ("EventBlock", LATER),
        ("SPBlock", &sequence_point([5, 4])),
    ]);
    let mut seen = [false; 4];
    for at in 0..stream.len() {
        for other in [0x00, 0x7f, 0xff, stream[at] ^ 0x01, stream[at] ^ 0x80] {
            let mut changed = stream.clone();
            changed[at] = other;
            let whole = state(&changed, changed.len());
            for piece in [1, 3, 64] {
                assert_eq!(state(&changed, piece), whole, "{other} at {at}, by {piece}");
            }
            seen[match whole {
                StreamState::Cut => 0,
                StreamState::Whole { .. } => 1,
                StreamState::Broken { .. } => 2,
                StreamState::Unknown => 3,
            }] = true;
        }
    }
    assert_eq!(seen, [true; 4]);
}

#[test]
fn events_are_counted_by_provider() {
    let mut of_the_rundown = EVENTS.to_vec();
    of_the_rundown[21] = 2;
    let stream = stream(&[
        ("MetadataBlock", TYPES),
        ("EventBlock", EVENTS),
        ("EventBlock", LATER),
        ("EventBlock", &of_the_rundown),
    ]);
    for piece in [1, 7, stream.len()] {
        let mut read = Stream::default();
        stream.chunks(piece).for_each(|piece| read.feed(piece));
        let providers: Vec<_> = read.providers().collect();
        let rundown = "Microsoft-Windows-DotNETRuntimeRundown";
        assert_eq!(providers, [("A", 3), (rundown, 5)], "by {piece}");
        assert_eq!(read.events(), 3);
    }
}

#[test]
fn newer_formats_are_unknown() {
    let mut newer = stream(&[]);
    newer[35] = 6;
    let seven = b"Nettrace\0\0\0\0\x07\0\0\0\0\0\0\0".to_vec();
    for stream in [newer, seven] {
        assert_eq!(state(&stream, 64), StreamState::Unknown, "{}", stream.escape_ascii());
    }
}

#[test]
fn end_of_version_6_is_its_last_block() {
    let six = b"Nettrace\0\0\0\0\x06\0\0\0\0\0\0\0\x02\0\0\x01ab\x01\0\0\x02e\0\0\0\0";
    for piece in [1, 3, 64] {
        for len in 0..six.len() {
            assert_eq!(state(&six[..len], piece), StreamState::Cut, "{len}");
        }
        assert_eq!(state(six, piece), StreamState::Unknown);
        let longer = [&six[..], b"\0"].concat();
        let at = six.len() as u64;
        assert_eq!(state(&longer, piece), StreamState::Broken { at, expected: NOTHING });
    }
}

/// Checks that the start has so many bytes, and that each byte more is past it.
fn assert_start(stream: &[u8], start: usize) {
    for piece in [1, stream.len()] {
        for len in 0..=stream.len() {
            let mut read = Stream::default();
            stream[..len].chunks(piece).for_each(|piece| read.feed(piece));
            assert_eq!(read.is_past_start(), len > start, "{len} by {piece}");
        }
    }
}

#[test]
fn start_of_stream_ends_after_description_of_trace() {
    // .NET 11.0.0 sent 102 bytes while it was suspended.
    assert_start(&stream(&[("EventBlock", EVENTS)]), 102);
    assert_start(&stream(&[]), 102);
    // Only the last byte before a block shows whether it has events.
    assert_start(b"Nettrace\0\0\0\0\x06\0\0\0\0\0\0\0\x02\0\0\x01ab\x02\0\0\x02", 29);
    for other in [&b"Nettraci"[..], b"\xff"] {
        assert_start(other, other.len() - 1);
    }
}

#[test]
fn stream_that_cannot_be_followed_is_broken_where_it_ends_to_make_sense() {
    let whole = stream(&[]);
    let end = u64::try_from(whole.len()).unwrap();
    let mut older = whole.clone();
    older[35] = 3;
    // F-160: a session that a runtime starts twice has two fronts.
    let mut twice = whole[..whole.len() - 1].to_vec();
    twice.extend(&whole);
    let longer = [&whole[..], b"\x01"].concat();
    let plain = stream(&[("EventBlock", b"\x14\0\0\0................")]);
    let count = stream(&[("SPBlock", b"tttttttt\xff\xff\xff\xff")]);
    let beyond = stream(&[("EventBlock", b"\x14\0\x01\0................\x81\x01\x10\x7fxx")]);
    let front = 32;
    let endless =
        stream(&[("EventBlock", b"\x14\0\x01\0................\x81\xff\xff\xff\xff\xff")]);
    for (stream, at, expected, found) in [
        (older, front, OBJECT, &b"\x05\x05\x01\x03\0\0\0\x04\0\0\0\x05\0\0\0T"[..]),
        (twice, end - 1, TAG, b"Nettrace\x14\0\0\0!Fas"),
        (longer, end, NOTHING, b"\x01"),
        (plain, end + 29, COMPRESSED, b"\x14\0\0\0............"),
        (count, end + 29, SEQUENCE_POINT, b"tttttttt\xff\xff\xff\xff\x06\x01"),
        (beyond, end + 49, EVENT, b"\x81\x01\x10\x7fxx\x06\x01"),
        (endless, end + 49, NUMBER, b"\x81\xff\xff\xff\xff\xff\x06\x01"),
        (b"hello".to_vec(), 0, FRONT, b"hello"),
        (stream(&[("X", b"")]), end - 1, OBJECT, b"\x05\x05\x01\x04\0\0\0\x04\0\0\0\x01\0\0\0X"),
    ] {
        for piece in [1, 64, stream.len()] {
            let mut read = Stream::default();
            stream.chunks(piece).for_each(|piece| read.feed(piece));
            let broken = StreamState::Broken { at, expected };
            assert_eq!(read.state(), broken, "{} by {piece}", stream.escape_ascii());
            assert_eq!(read.found(), found, "{} by {piece}", stream.escape_ascii());
        }
    }
}
