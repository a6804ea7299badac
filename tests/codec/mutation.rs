//! Every vector with one byte wrong: the codec does not panic and does not contradict itself.

use std::num::NonZero;
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

/// Whether the codec accepts `bytes`, or where it contradicts itself about them.
fn verdict(subject: TypedCodec, bytes: &[u8]) -> Result<bool, String> {
    let decoded = subject.decode(bytes);
    let mut end = 0;
    // Every byte belongs to a note, except separators between the parts of a text.
    let text = matches!(
        subject.kind,
        Type::Ports | Type::PortsStrict | Type::DefaultPortSuspend | Type::ProcessStat
    );
    for note in subject.explain(bytes) {
        if if text { note.offset < end } else { note.offset != end || note.len == 0 } {
            return Err(format!(
                "the annotation of {} stands at {} after {end}",
                note.field, note.offset
            ));
        }
        end = note.offset + note.len;
    }
    if end > bytes.len() {
        return Err(format!("annotated to {end} of {} bytes", bytes.len()));
    }
    let Ok(decoded) = decoded else { return Ok(false) };
    // A changed code makes it another message, so the value is one of that message.
    let named = if subject.from_server {
        subject.command
    } else {
        Header::decode(bytes).ok().map(|header| header.command)
    };
    let subject = TypedCodec { kind: decoded.kind, command: named, ..subject };
    let again = match subject.encode(&decoded.value) {
        Ok(again) => again,
        Err(failure) => {
            return Err(format!("its value {} does not encode: {failure}", decoded.value));
        }
    };
    if (again == bytes) != decoded.canonical {
        return Err(format!("canonical is {}, but it encodes to {again:02x?}", decoded.canonical));
    }
    // What a runtime ignores in the text of ports is reported, not written.
    let written = |value: &Value| {
        if matches!(subject.kind, Type::Ports | Type::PortsStrict) {
            value["ports"].clone()
        } else {
            value.clone()
        }
    };
    match subject.decode(&again) {
        Ok(second)
            if written(&second.value) == written(&decoded.value)
                && second.kind == decoded.kind
                && second.canonical =>
        {
            Ok(true)
        }
        second => Err(format!("what {} encodes to decodes to {second:?}", decoded.value)),
    }
}

/// The results for one part of the vectors.
#[derive(Default)]
struct Tally {
    taken: u32,
    refused: u32,
    failures: Vec<String>,
}

impl Tally {
    fn add(&mut self, group: &Group, test: &Test, share: usize) {
        let Some(mut bytes) = test.wire.clone() else { return };
        let subject = group.subject().unwrap();
        let mut wrong = verdict(subject, &bytes).err().map(|line| format!("unchanged: {line}"));
        let nth = |at: usize, byte: u8| at + usize::from(byte) + test.tc_id as usize;
        for (at, byte) in changes(bytes.len()).filter(|(at, byte)| nth(*at, *byte) % share == 0) {
            let original = std::mem::replace(&mut bytes[at], byte);
            match verdict(subject, &bytes) {
                Ok(true) => self.taken += 1,
                Ok(false) => self.refused += 1,
                Err(line) => {
                    wrong = wrong.or_else(|| Some(format!("byte {at} = {byte:#04x}: {line}")));
                }
            }
            bytes[at] = original;
        }
        self.failures
            .extend(wrong.map(|line| format!("{} tcId {}: {:.400}", group.name, test.tc_id, line)));
    }
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
    let parts: Vec<Tally> = thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|part| {
                let tests = tests.iter().skip(part).step_by(threads);
                scope.spawn(move || {
                    let mut tally = Tally::default();
                    tests.for_each(|(group, test)| tally.add(group, test, share));
                    tally
                })
            })
            .collect();
        parts.into_iter().map(|part| part.join().unwrap()).collect()
    });
    let failures: Vec<&str> =
        parts.iter().flat_map(|part| &part.failures).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
    // If nearly all were refused, the test would show nothing.
    let (taken, refused): (u32, u32) =
        (parts.iter().map(|part| part.taken).sum(), parts.iter().map(|part| part.refused).sum());
    let least = 20_000 / u32::try_from(share).unwrap();
    assert!(taken > least && refused > least, "{taken} taken, {refused} refused");
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
