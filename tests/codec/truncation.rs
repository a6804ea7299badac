//! Bytes that end too early: refused at every cut, with the offset of the fault inside the
//! remaining bytes.

use std::collections::BTreeSet;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::HEADER_LEN;
use dotnet_diagnostics_ipc_vectors::{self, ExpectedResult, Group, Test, Type, Value, VectorFault};

/// Runs `check` for each group and test whose wire is accepted, and reports the lines it returns in
/// one panic.
fn for_each_taken(mut check: impl FnMut(&Group, &Test, &[u8]) -> Vec<String>) {
    let mut failures = Vec::new();
    for file in dotnet_diagnostics_ipc_vectors::files().unwrap() {
        for group in &file.groups {
            for test in group.tests.iter().filter(|test| test.result != ExpectedResult::Invalid) {
                let found = check(group, test, test.wire.as_ref().unwrap());
                // A vector that fails at one cut fails at many.
                failures.extend(
                    found
                        .iter()
                        .take(3)
                        .map(|line| format!("{} tcId {}: {line}", group.name, test.tc_id)),
                );
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

fn is_message(kind: Type) -> bool {
    matches!(kind, Type::Request | Type::Reply | Type::Error | Type::Unknown | Type::LegacyRequest)
}

/// Every length from `from` to below `len`; if longer than 4096 bytes, only the first and last 512,
/// and every 997th.
fn cuts(from: usize, len: usize) -> impl Iterator<Item = usize> {
    (from..len).filter(move |cut| len <= 4096 || *cut < 512 || *cut >= len - 512 || *cut % 997 == 0)
}

/// Whether a part of it may be valid too: text (a port's address, a pid), the start of a stream,
/// half of an old reply, and the blobs and records whose length is elsewhere.
fn has_no_end(kind: Type) -> bool {
    matches!(
        kind,
        Type::Ports
            | Type::PortsStrict
            | Type::DefaultPortSuspend
            | Type::SocketName
            | Type::PipeName
            | Type::ProcessStat
            | Type::TracepointCommand
            | Type::StreamStart
            | Type::OldReply
            | Type::Extension
            | Type::UserEventsRecord
    )
}

fn has_flag(test: &Test, flag: &str) -> bool {
    test.flags.iter().any(|have| have == flag)
}

/// A piece has no size field: only its last field can be found missing. If surplus bytes are
/// ignored, only those may be cut off, and the value stays.
#[test]
fn decode_truncated_message_or_piece_is_refused() {
    for_each_taken(|group, test, wire| {
        let subject = group.subject().unwrap();
        let mut found = Vec::new();
        if has_no_end(group.kind) {
            for cut in cuts(0, wire.len()) {
                if let Err(refusal) = subject.decode(&wire[..cut]) {
                    let fault = VectorFault::from(refusal);
                    if fault.offset > cut {
                        found.push(format!("cut to {cut} bytes, refused for {fault}"));
                    }
                }
            }
            return found;
        }
        for cut in cuts(0, wire.len()) {
            let fault = match subject.decode(&wire[..cut]) {
                Err(error) => VectorFault::from(error),
                Ok(decoded)
                    if !is_message(group.kind)
                        && has_flag(test, "TrailingBytes")
                        && decoded.value == test.value =>
                {
                    continue;
                }
                Ok(decoded) => {
                    found.push(format!("cut to {cut} bytes, taken as {}", decoded.value));
                    continue;
                }
            };
            let field = match group.kind {
                Type::Advertise => "Advertise",
                kind if !is_message(kind) => {
                    if fault.layer != "payload" || fault.offset > cut {
                        found.push(format!("cut to {cut} bytes, refused for {fault}"));
                    }
                    continue;
                }
                _ if cut < HEADER_LEN => "header",
                _ => "payload",
            };
            let expected = VectorFault {
                layer: "transport".into(),
                kind: "end_of_input".into(),
                offset: cut,
                field: Some(field.into()),
            };
            if fault != expected {
                found.push(format!("cut to {cut} bytes, refused for {fault}; expected {expected}"));
            }
        }
        found
    });
}

/// Why a message may lose the end of its payload, if `size` agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Excuse {
    /// The OK of 20 bytes without payload answers every command.
    GenericOk,
    /// Bytes after the last field are ignored.
    TrailingBytes,
    /// What a later version of `ProcessInfo3` appended is kept, at any length.
    Tail,
    /// The error after `GenerateCoreDump3` has a text or none.
    NoText,
    /// The end of an unknown command's payload is unknown.
    UnknownPayload,
}

/// What a message cut to `cut` bytes, with `size` adjusted, still is by the grammar. Bytes after
/// the last field are not decided here: the codec reports where they begin.
fn still_is(group: &Group, test: &Test, cut: usize) -> Option<Excuse> {
    let lost = test.wire.as_ref().unwrap().len() - cut;
    let tail = test.value.get("tail").and_then(Value::as_str).unwrap_or_default();
    let is_dump3 = || group.subject().unwrap().command == Some(Command::GENERATE_CORE_DUMP3);
    match group.kind {
        Type::Reply if tail.len() / 2 >= lost => Some(Excuse::Tail),
        Type::Unknown => Some(Excuse::UnknownPayload),
        Type::Reply if cut == HEADER_LEN => Some(Excuse::GenericOk),
        Type::Error if cut == 24 && is_dump3() => Some(Excuse::NoText),
        _ => None,
    }
}

#[test]
fn decode_payload_shorter_than_fields_is_refused() {
    let mut excuses = BTreeSet::new();
    for_each_taken(|group, test, wire| {
        let mut found = Vec::new();
        if !is_message(group.kind) {
            return found;
        }
        let subject = group.subject().unwrap();
        for cut in cuts(HEADER_LEN, wire.len()) {
            let mut mended = wire[..cut].to_vec();
            mended[14..16].copy_from_slice(&u16::try_from(cut).unwrap().to_le_bytes());
            let (decoded, still_is) = (subject.decode(&mended), still_is(group, test, cut));
            let good = match (&decoded, still_is) {
                // The remaining bytes are the whole value: it is encoded as these bytes again.
                (Ok(decoded), Some(_)) => {
                    decoded.kind == group.kind && (decoded.canonical || !test.canonical)
                }
                (Ok(decoded), None) => {
                    has_flag(test, "TrailingBytes") && decoded.value == test.value
                }
                (Err(_), Some(_)) => false,
                (Err(error), None) => {
                    let fault = VectorFault::from(error.clone());
                    let of_the_end =
                        ["unexpected_end", "count_too_large"].contains(&fault.kind.as_str());
                    fault.layer == "payload"
                        && of_the_end
                        && (HEADER_LEN..=cut).contains(&fault.offset)
                }
            };
            if decoded.is_ok() {
                excuses.insert(still_is.unwrap_or(Excuse::TrailingBytes));
            }
            if !good {
                found.push(format!("{cut} bytes: {decoded:?}, excused by {still_is:?}"));
            }
        }
        found
    });
    // An exception that no vector needs would be a hole in the test above.
    let all = [
        Excuse::GenericOk,
        Excuse::TrailingBytes,
        Excuse::Tail,
        Excuse::NoText,
        Excuse::UnknownPayload,
    ];
    assert!(excuses.iter().eq(&all), "{excuses:?}");
}

/// The flag that excuses a cut must not be set on a vector without such bytes.
#[test]
fn decode_surplus_bytes_are_reported() {
    for_each_taken(|group, test, wire| {
        if !has_flag(test, "TrailingBytes") {
            return Vec::new();
        }
        let mut shorter = wire[..wire.len() - 1].to_vec();
        if is_message(group.kind) {
            shorter[14..16].copy_from_slice(&u16::try_from(wire.len() - 1).unwrap().to_le_bytes());
        }
        match group.subject().unwrap().decode(&shorter) {
            Ok(decoded) if decoded.value == test.value || has_flag(test, "UnknownTail") => {
                Vec::new()
            }
            Ok(decoded) => Vec::from([format!("without the last byte {}", decoded.value)]),
            Err(error) => Vec::from([format!("without the last byte: {error}")]),
        }
    });
}
