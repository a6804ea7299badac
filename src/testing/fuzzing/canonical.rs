//! Bytes that claim to be canonical are written again the same, and those that do not are not.

use crate::conformance::corpus::{Asked, SUBJECTS};
use crate::header::Header;
use crate::vectors::{Subject, Type};

/// The subject that the first byte chooses, and the bytes to be read as it.
pub(super) fn choose(input: &[u8]) -> Option<(&'static Asked, &[u8])> {
    let (which, wire) = input.split_first()?;
    Some((&SUBJECTS[usize::from(*which) % SUBJECTS.len()], wire))
}

/// The type that a first byte chooses.
pub fn kind(which: u8) -> Type {
    SUBJECTS[usize::from(which) % SUBJECTS.len()].subject.kind
}

/// Any bytes as any type of the vectors: ports, names, records, environments, messages.
pub fn canonical(input: &[u8]) {
    let Some((Asked { subject, .. }, wire)) = choose(input) else { return };
    let decoded = subject.decode(wire);
    // The annotated dump reads the same bytes by a way of its own; it ends where the decoder does.
    let notes = subject.annotate(wire);
    assert!(notes.list().iter().all(|note| note.offset <= wire.len()), "{subject:?}");
    match decoded {
        Ok(decoded) => {
            // A request is what its header says, whatever was expected.
            let command = if decoded.kind == Type::Request {
                Header::decode(wire).ok().map(|header| header.command)
            } else {
                subject.command
            };
            let again = Subject { kind: decoded.kind, command, ..*subject }.encode(&decoded.value);
            match again {
                Ok(again) if decoded.canonical => assert_eq!(again, wire, "{subject:?} {}", decoded.value),
                Ok(again) => assert_ne!(again, wire, "{subject:?} {}", decoded.value),
                Err(_) => assert!(!decoded.canonical, "{subject:?} {}", decoded.value),
            }
        }
        Err(refusal) => assert!(refusal.fault.offset <= wire.len(), "{subject:?} {refusal:?}"),
    }
}
