//! The parts of a runtime's messages that differ between runs, and those that occur again later.

use std::collections::BTreeMap;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc_vectors::script::{
    Any, Length, LengthOf, Literal, Part, Pattern, Until,
};
use dotnet_diagnostics_ipc_vectors::{Type, TypedCodec};

use crate::conversation::request_as;

/// The session ids seen so far, with the capture names of the last session that had each.
pub(super) type Sessions = BTreeMap<Vec<u8>, String>;

/// Exact bytes.
pub(super) fn literal(bytes: &[u8]) -> Part {
    Part::Literal(Literal::Bytes(bytes.to_owned()))
}

/// Bytes of any value.
pub(super) fn any(len: usize, name: Option<String>) -> Part {
    Part::Any(Any {
        any: Length::Fixed(len),
        name,
        not: Vec::new(),
        has: Vec::new(),
        lacks: Vec::new(),
    })
}

/// As many bytes as a captured number.
pub(super) fn any_of(name: &str, times: u64) -> Part {
    Part::Any(Any {
        any: Length::Of(LengthOf { of: name.to_owned(), times, less: 0 }),
        name: None,
        not: Vec::new(),
        has: Vec::new(),
        lacks: Vec::new(),
    })
}

/// An advertise: its cookie and process id differ.
pub(super) fn advertise(bytes: &[u8]) -> Pattern {
    let (magic, rest) = bytes.split_at_checked(8).unwrap_or((bytes, &[]));
    let mut parts = Vec::from([literal(magic)]);
    if rest.len() == 26 {
        parts.extend([any(16, None), any(8, None), literal(rest.get(24..).unwrap_or_default())]);
    } else if !rest.is_empty() {
        parts.push(any(rest.len(), None));
    }
    Pattern(parts)
}

/// A reply to `command` on the connection called `name`.
pub(super) fn reply(
    bytes: &[u8],
    command: Option<Command>,
    name: &str,
    sessions: &mut Sessions,
) -> Pattern {
    let notes = TypedCodec { kind: Type::Reply, command, from_server: true }.explain(bytes);
    let (mut parts, mut at) = (Vec::new(), 0_usize);
    let has_command_line = notes.iter().filter(|note| note.field == "commandLine").count() == 2;
    let mut counted = false;
    for note in &notes {
        let end = note.offset.saturating_add(note.len);
        let Some(there) = bytes.get(note.offset..end).filter(|there| !there.is_empty()) else {
            continue;
        };
        let mask = match note.field.as_str() {
            // This depends on how it was started, not on the runtime.
            "size" if has_command_line => any(2, Some("size".to_owned())),
            "commandLine" if has_command_line && !counted => {
                counted = true;
                any(4, Some("command_line".to_owned()))
            }
            "commandLine" if has_command_line => any_of("command_line", 2),
            "processId" => any(8, None),
            "runtimeCookie" => any(16, None),
            "nIncomingBytes" => any(4, Some(format!("block_{name}"))),
            // A new session may have the id of one that has ended (F-143).
            "sessionId" => match sessions.get(there) {
                Some(name) if command == Some(Command::STOP_TRACING) => {
                    Part::Literal(Literal::Same(name.clone()))
                }
                _ => {
                    let captured = format!("session_{name}");
                    sessions.insert(there.to_owned(), captured.clone());
                    any(8, Some(captured))
                }
            },
            _ => continue,
        };
        if let Some(before) = bytes.get(at..note.offset).filter(|before| !before.is_empty()) {
            parts.push(literal(before));
        }
        parts.push(mask);
        at = end;
    }
    if let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        parts.push(literal(rest));
    }
    if has_command_line {
        parts.push(Part::Until(Until { until: "size".to_owned(), most: 0 }));
    }
    Pattern(parts)
}

/// A request, in which an earlier session id is replaced by the current one.
pub(super) fn request(bytes: &[u8], sessions: &Sessions) -> Vec<Literal> {
    let notes = request_as(None).explain(bytes);
    let known = notes.iter().filter(|note| note.field == "sessionId").find_map(|note| {
        let (before, rest) = bytes.split_at_checked(note.offset)?;
        let (id, after) = rest.split_at_checked(note.len)?;
        Some((before, sessions.get(id)?, after))
    });
    let Some((before, name, after)) = known else {
        return Vec::from([Literal::Bytes(bytes.to_owned())]);
    };
    let mut parts = Vec::from([Literal::Bytes(before.to_owned()), Literal::Same(name.to_owned())]);
    if !after.is_empty() {
        parts.push(Literal::Bytes(after.to_owned()));
    }
    parts
}
