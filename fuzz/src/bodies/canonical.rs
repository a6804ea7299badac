//! Checks that canonical bytes encode to the same bytes again, and others do not.

use diagipc::embedded::corpus::{Asked, SUBJECTS};
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc_vectors::{Type, TypedCodec};

/// Returns the subject chosen by the first byte, and the bytes to read as it.
pub(super) fn choose(input: &[u8]) -> Option<(&'static Asked, &[u8])> {
    let (which, wire) = input.split_first()?;
    Some((&SUBJECTS[usize::from(*which) % SUBJECTS.len()], wire))
}

/// Returns the type chosen by a first byte.
pub fn kind(which: u8) -> Type {
    SUBJECTS[usize::from(which) % SUBJECTS.len()].subject.kind
}

/// Reads any bytes as any type of the vectors: ports, names, records, environments, messages.
pub fn canonical(input: &[u8]) {
    let Some((Asked { subject, .. }, wire)) = choose(input) else { return };
    let decoded = subject.decode(wire);
    // The annotated dump reads the same bytes with separate code; it ends where the decoder does.
    let notes = subject.explain(wire);
    assert!(notes.iter().all(|note| note.offset <= wire.len()), "{subject:?}");
    match decoded {
        Ok(decoded) => {
            // A request has the type given by its header, whatever was expected.
            let command = if decoded.kind == Type::Request {
                Header::decode(wire).ok().map(|header| header.command)
            } else {
                subject.command
            };
            let again =
                TypedCodec { kind: decoded.kind, command, ..*subject }.encode(&decoded.value);
            match again {
                Ok(again) if decoded.canonical => {
                    assert_eq!(again, wire, "{subject:?} {}", decoded.value);
                }
                Ok(again) => assert_ne!(again, wire, "{subject:?} {}", decoded.value),
                Err(_) => assert!(!decoded.canonical, "{subject:?} {}", decoded.value),
            }
        }
        Err(refusal) => assert!(refusal.fault.offset <= wire.len(), "{subject:?} {refusal:?}"),
    }
}
