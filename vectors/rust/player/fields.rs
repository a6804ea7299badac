//! Compares the fields of a reply with a pattern.

use alloc::{format, string::String, vec::Vec};
use core::fmt;

use super::conversation::Connection;
use crate::script::{Captures, Pattern};
use crate::{Annotation, FieldKind, Type, TypedCodec};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::Message;
use dotnet_diagnostics_ipc::wire::{Decode as _, Reader};

/// A field whose value differs from a pattern.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::player::FieldDifference;
///
/// let (field, found, expected) = ("clrProductVersion".into(), "\"10.0.11\"".into(), "\"9.0.5\"".into());
/// let difference = FieldDifference { field, found, expected };
/// assert_eq!(difference.to_string(), "clrProductVersion is \"10.0.11\", expected \"9.0.5\"");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDifference {
    /// The path of the field.
    pub field: String,
    /// The received value, in words.
    pub found: String,
    /// The expected value, in words.
    pub expected: String,
}

impl fmt::Display for FieldDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, expected {}", self.field, self.found, self.expected)
    }
}

/// Returns the fields in which the reply on a connection differs from a pattern.
pub(super) fn reply_differences(
    connection: &Connection,
    captures: &Captures,
    pattern: &Pattern,
    came: &[u8],
) -> Vec<FieldDifference> {
    if connection.sent.len == 0 {
        return Vec::new();
    }
    let request = Message::decode_prefix(&connection.sent.first);
    let command = request.ok().map(|(message, _)| message.command);
    differences(command, &pattern.filled_from(came, captures), came)
}

/// Returns the fields of `came`, a reply to `command`, that differ from those of `wanted`. Returns
/// none if either is not a message.
fn differences(command: Option<Command>, wanted: &[u8], came: &[u8]) -> Vec<FieldDifference> {
    let (Some((is_error, expected)), Some((found_is_error, found))) = (kind(wanted), kind(came))
    else {
        return Vec::new();
    };
    if is_error != found_is_error {
        return Vec::from([FieldDifference { field: "the reply".into(), found, expected }]);
    }
    let subject = TypedCodec { kind: Type::Reply, command, from_server: true };
    let (expected, found) = (subject.explain(wanted), subject.explain(came));
    let mut differences = Vec::new();
    for (expected, found) in expected.iter().zip(&found) {
        if (&expected.field, expected.kind) != (&found.field, found.kind) {
            break;
        }
        if bytes(wanted, expected) == bytes(came, found) || found.kind == FieldKind::StringLength {
            continue;
        }
        let (field, expected_text) = (found.field.clone(), text(wanted, expected));
        let found_text = text(came, found);
        differences.push(FieldDifference { field, found: found_text, expected: expected_text });
        if expected.len != found.len {
            // The difference shifts everything that follows.
            break;
        }
    }
    // The size depends on the other fields.
    if differences.len() > 1 {
        differences.retain(|one| one.field != SIZE);
    }
    differences
}

const SIZE: &str = "size";

fn bytes<'b>(of: &'b [u8], note: &Annotation) -> Option<&'b [u8]> {
    of.get(note.offset..note.offset.saturating_add(note.len))
}

fn text(of: &[u8], note: &Annotation) -> String {
    match bytes(of, note) {
        Some(&[low, high]) if note.field == SIZE => format!("{}", u16::from_le_bytes([low, high])),
        _ => note.text.clone(),
    }
}

/// Returns whether a reply, complete or not, is an error, and describes it.
fn kind(bytes: &[u8]) -> Option<(bool, String)> {
    match Header::decode(bytes).ok()?.command {
        Command::OK => Some((false, "an OK".into())),
        Command::ERROR => {
            let code = HResult::decode(&mut Reader::new(bytes.get(HEADER_LEN..)?));
            Some((true, code.map_or("an error".into(), |code| format!("the error {code}"))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn differing_fields_are_named_with_both_values() {
        let of_info = |size: &str, os: &str| {
            let fixed = "0100000000000000 000102030405060708090a0b0c0d0e0f";
            format!("{size} ff00 0000 {fixed} 02000000 61000000 {os} 03000000 780038000000")
        };
        let os = of_info("4600", "03000000 4f0053000000");
        let osx = of_info("4800", "04000000 4f00530058000000");
        let refused = "1800 ffff 0000 84131380";
        let (info, stop) = (Command::PROCESS_INFO, Command::STOP_TRACING);
        for (command, wanted, came, told) in [
            (
                info,
                refused,
                "1800 ffff 0000 85131380",
                &[
                    "hresult is 0x80131385 DS_IPC_E_UNKNOWN_COMMAND, expected 0x80131384 DS_IPC_E_BAD_ENCODING",
                ][..],
            ),
            (
                stop,
                "1c00 ff00 0000 0700000000000000",
                "1c00 ff00 0000 0100000000000000",
                &["sessionId is 1, expected 7"],
            ),
            (stop, "1c00 ff00 0000", "1e00 ff00 0000", &["size is 30, expected 28"]),
            (
                stop,
                "1c00 ff00 0000 0700000000000000",
                refused,
                &["the reply is the error 0x80131384 DS_IPC_E_BAD_ENCODING, expected an OK"],
            ),
            // Only the whole string is reported, not its length or the size.
            (info, &os, &osx, &["OS is \"OSX\", expected \"OS\""]),
            (info, &os, &os, &[]),
        ] {
            let bytes = |text: &str| {
                [b"DOTNET_IPC_V1\0".to_vec(), hex::decode(text.replace(' ', "")).unwrap()].concat()
            };
            let found = differences(Some(command), &bytes(wanted), &bytes(came));
            assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), told);
        }
    }
}
