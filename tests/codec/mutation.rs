//! Every vector with one byte wrong: the codec does not panic and does not contradict itself.

use std::num::NonZero;
use std::panic::catch_unwind;
use std::thread;

use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::{Group, Test, Type, TypedCodec, Value};

/// The share of the changes that is made in each run of the tests: one in twenty.
const SAMPLE: usize = 20;
const BYTES: [u8; 5] = [0x00, 0x01, 0x7f, 0x80, 0xff];

/// What to change in a wire of `len` bytes: every byte to each of `BYTES`. That takes the square of
/// the length: beyond 1024 bytes every byte changes to one of `BYTES` in turn, and beyond 4096 only
/// the ends and every 2999th byte do.
fn changes(len: usize) -> impl Iterator<Item = (usize, u8)> {
    let (long, large) = (len > 1024, len > 4096);
    let places = (0..len).filter(move |at| !large || *at < 64 || *at >= len - 16 || at % 2999 == 0);
    places.enumerate().flat_map(move |(nth, at)| {
        BYTES
            .iter()
            .skip(if long { nth % 5 } else { 0 })
            .take(if long { 1 } else { 5 })
            .map(move |byte| (at, *byte))
    })
}

/// Whether the codec accepts `bytes`; it must not contradict itself about them.
fn is_taken(subject: TypedCodec, bytes: &[u8]) -> bool {
    let decoded = subject.decode(bytes);
    let mut end = 0;
    // Every byte belongs to a note, except separators between the parts of a text.
    let text = matches!(
        subject.kind,
        Type::Ports | Type::PortsStrict | Type::DefaultPortSuspend | Type::ProcessStat
    );
    for note in subject.explain(bytes) {
        let follows = if text { note.offset >= end } else { note.offset == end && note.len > 0 };
        assert!(follows, "the annotation of {} stands at {} after {end}", note.field, note.offset);
        end = note.offset + note.len;
    }
    assert!(end <= bytes.len(), "annotated to {end} of {} bytes", bytes.len());
    let Ok(decoded) = decoded else { return false };
    // A changed code makes it another message, so the value is one of that message.
    let named = if subject.from_server {
        subject.command
    } else {
        Header::decode(bytes).ok().map(|header| header.command)
    };
    let subject = TypedCodec { kind: decoded.kind, command: named, ..subject };
    let again = subject.encode(&decoded.value).expect("its value encodes");
    assert_eq!(again == bytes, decoded.canonical, "{} encodes to {again:02x?}", decoded.value);
    // What a runtime ignores in the text of ports is reported, not written.
    let written = |value: &Value| {
        if matches!(subject.kind, Type::Ports | Type::PortsStrict) {
            value["ports"].clone()
        } else {
            value.clone()
        }
    };
    let second = subject.decode(&again).expect("what it encodes to decodes");
    assert_eq!(
        (written(&second.value), second.kind, second.canonical),
        (written(&decoded.value), decoded.kind, true)
    );
    true
}

/// How many of one change in `share` of a vector are accepted, and how many refused.
fn change(group: &Group, test: &Test, share: usize) -> [usize; 2] {
    let Some(mut bytes) = test.wire.clone() else { return [0; 2] };
    let subject = group.subject().unwrap();
    let read = |bytes: &[u8], what: &str| {
        catch_unwind(|| is_taken(subject, bytes)).unwrap_or_else(|_| {
            panic!("{} tcId {}, {what}", group.name, test.tc_id);
        })
    };
    read(&bytes, "unchanged");
    let nth = |at: usize, byte: u8| at + usize::from(byte) + test.tc_id as usize;
    let mut counts = [0; 2];
    for (at, byte) in changes(bytes.len()).filter(|(at, byte)| nth(*at, *byte) % share == 0) {
        let original = std::mem::replace(&mut bytes[at], byte);
        counts[usize::from(read(&bytes, &format!("byte {at} = {byte:#04x}")))] += 1;
        bytes[at] = original;
    }
    counts
}

/// Makes one change in `share`.
#[track_caller]
fn are_read_consistently(share: usize) {
    let files = vectors::files().unwrap();
    let tests: Vec<_> = files
        .iter()
        .flat_map(|file| &file.groups)
        .flat_map(|group| group.tests.iter().map(move |test| (group, test)))
        .collect();
    // Neighbours are alike: every thread gets some of each kind.
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let of = |part| {
        let tests = tests.iter().skip(part).step_by(threads);
        tests.fold([0; 2], |[refused, taken], (group, test)| {
            let counts = change(group, test, share);
            [refused + counts[0], taken + counts[1]]
        })
    };
    let parts: Vec<[usize; 2]> = thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|part| scope.spawn(move || of(part))).collect();
        parts.into_iter().map(|part| part.join().unwrap()).collect()
    });
    // If nearly all changes were refused, the test would show nothing.
    for counts in [0, 1].map(|which| parts.iter().map(|part| part[which]).sum::<usize>()) {
        assert!(counts > 20_000 / share, "refused and taken: {parts:?}");
    }
}

#[test]
fn vector_with_changed_byte_is_read_consistently() {
    are_read_consistently(SAMPLE);
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn vector_with_each_byte_changed_is_read_consistently() {
    are_read_consistently(1);
}
