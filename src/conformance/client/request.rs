//! Judges the bytes of a request: as strictly as bytes can be judged, for a client has no excuse.

use alloc::{
    borrow::ToOwned as _,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::Value;

use super::faults::{ClientFault, misspelled};
use super::operations::CommandLine;
use super::scenario::Arguments;
use super::{Argument, Operation};
use crate::command::Command;
use crate::vectors::{Subject, Type};

/// What is wrong with a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Judgement {
    pub(super) found: Vec<String>,
    pub(super) fault: Option<ClientFault>,
}

/// A request as it came.
pub(super) struct Seen<'a> {
    /// As many bytes as its size field says, or as came.
    pub(super) bytes: &'a [u8],
    /// What came behind it.
    pub(super) behind: &'a [u8],
    /// How many descriptors came with it.
    pub(super) fds: usize,
    /// Whether all of it was to be read.
    pub(super) is_whole: bool,
}

impl Seen<'_> {
    /// The command of the header, if that came.
    pub(super) fn command(&self) -> Option<Command> {
        let code: [u8; 2] = self.bytes.get(16..18)?.try_into().ok()?;
        Some(Command::from_code(u16::from_be_bytes(code)))
    }

    /// What is wrong with it, for an operation that was told `arguments` by `line`.
    pub(super) fn judge(&self, operation: Operation, line: &CommandLine, arguments: &Arguments) -> Judgement {
        let mut found = self.header(operation);
        if self.is_whole && found.is_empty() {
            found.extend(self.payload(operation, line, arguments));
        }
        if self.fds > 0 {
            found.push(format!("{} descriptors ride on the request", self.fds));
        }
        if !self.behind.is_empty() {
            found.push(format!("{} bytes come behind the request: {}", self.behind.len(), excerpt(self.behind)));
        }
        let fault = if found.is_empty() { None } else { self.diagnose(operation, line, arguments) };
        Judgement { found, fault }
    }

    fn header(&self, operation: Operation) -> Vec<String> {
        let mut found = Vec::new();
        // One that was not read to its end may lack its last byte.
        let mut header = [0; 20];
        let there = if self.is_whole { 20 } else { 19 };
        if self.bytes.len() < there {
            found.push(format!("{} bytes of a header came", self.bytes.len()));
            return found;
        }
        header.iter_mut().zip(self.bytes).for_each(|(to, from)| *to = *from);
        if !header.starts_with(b"DOTNET_IPC_V1\0") {
            found.push(format!("the magic is {}", hex::encode(header.get(..14).unwrap_or_default())));
        }
        let [.., size_low, size_high, set, id, reserved_low, reserved_high] = header;
        let size = usize::from(u16::from_le_bytes([size_low, size_high]));
        if self.is_whole && size != self.bytes.len() {
            found.push(format!("the size field says {size}, and {} bytes came", self.bytes.len()));
        }
        let command = Command::from_code(u16::from_be_bytes([set, id]));
        if !operation.commands().contains(&command) {
            found.push(format!("the command is {command}, which does not do what was asked for"));
        }
        if (reserved_low, reserved_high) != (0, 0) {
            found.push(format!("reserved is {reserved_low:02x}{reserved_high:02x}, not 0000"));
        }
        found
    }

    fn payload(&self, operation: Operation, line: &CommandLine, arguments: &Arguments) -> Vec<String> {
        let mut found = Vec::new();
        let command = self.command();
        let decoded = match (Subject { kind: Type::Request, command, from_server: false }).decode(self.bytes) {
            Ok(decoded) => decoded,
            Err(refusal) => {
                let fault = refusal.fault;
                found.push(format!("the payload is malformed: {} (byte {})", refusal.message, fault.offset));
                return found;
            }
        };
        if !decoded.canonical {
            found.push("it is not canonical: a bool other than 0 and 1, or bytes behind the last field".to_owned());
        }
        if let Some(limit) = decoded.limit {
            found.push(format!("a server refuses it: {limit}"));
        }
        for (argument, field, value) in wanted(operation, line, arguments) {
            match seen(&decoded.value, field) {
                // Not all commands that do it have this field.
                Field::NotThere => {}
                Field::Values(seen) if seen.iter().any(|seen| value.is(seen)) => {}
                Field::Values(seen) => {
                    let seen: Vec<_> = seen.iter().map(|value| shortened(&value.to_string())).collect();
                    found.push(format!("{argument} was to be {}, and {field} is {}", value.shown(), seen.join(", ")));
                }
            }
        }
        found
    }

    /// The fault by which the bytes are as they are.
    fn diagnose(&self, operation: Operation, line: &CommandLine, arguments: &Arguments) -> Option<ClientFault> {
        let all = [self.bytes, self.behind].concat();
        if self.fds > 0 {
            return Some(ClientFault::DescriptorWithTheRequest);
        }
        if let Some(code) = all.get(16..20).filter(|_| !operation.commands().contains(&self.command().unwrap_or(Command::OK))) {
            let is_off = |command: &Command| {
                let [set, id] = command.code().to_be_bytes();
                code == [0, set, id, 0]
                    || code.starts_with(&[set.wrapping_add(1), id])
                    || code.starts_with(&[set.wrapping_sub(1), id])
                    || code.starts_with(&[id, set])
                    || code.starts_with(&[id, 0])
            };
            return operation.commands().iter().any(is_off).then_some(ClientFault::CommandSetOffByOne);
        }
        // An array: no text stands before it that tells where it begins.
        let mut before = None;
        for argument in [Argument::Name, Argument::Path, Argument::Provider, Argument::Value, Argument::Arguments] {
            if let Some(text) = arguments.get(&argument).filter(|_| line.says(argument)) {
                if let Some(fault) = misspelled(text, before, &all) {
                    return Some(fault);
                }
                before = Some(text.as_str());
            }
        }
        if operation == Operation::Attach {
            let ms: Option<u32> = arguments.get(&Argument::TimeoutMs).and_then(|ms| ms.parse().ok());
            let seen = all.get(20..24).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
            return ms.filter(|ms| *ms > 0 && seen == Some(ms / 1000)).map(|_| ClientFault::AttachTimeoutInSeconds);
        }
        None
    }
}

/// What a field must be.
enum Wanted {
    /// This text; absent is as good as empty.
    Text(String),
    /// No text at all.
    Absent,
    /// This number, text or bool, as it is written out.
    Plain(String),
    /// These ids alone, or all of them.
    Events(String),
}

enum Field<'v> {
    NotThere,
    Values(Vec<&'v Value>),
}

/// The fields that the command line says.
fn wanted<'a>(operation: Operation, line: &CommandLine, arguments: &'a Arguments) -> Vec<(Argument, &'static str, Wanted)> {
    let mut all = Vec::new();
    if operation == Operation::UnsetEnv {
        all.push((Argument::Value, "value", Wanted::Absent));
    }
    for (argument, value) in arguments {
        let is_said = match argument {
            Argument::TimeoutMs => line.says(Argument::TimeoutMs) || line.says(Argument::TimeoutS),
            Argument::ClientData => line.says(Argument::ClientData) || line.says(Argument::ClientDataFile),
            other => line.says(*other),
        };
        if !is_said {
            continue;
        }
        let text = |value: &'a String| Wanted::Text(value.clone());
        let plain = |value: &'a String| Wanted::Plain(value.clone());
        let (field, wanted) = match argument {
            Argument::Name => ("name", text(value)),
            Argument::Value => ("value", text(value)),
            Argument::Path => match operation {
                Operation::StartupHook => ("startupHookPath", text(value)),
                Operation::Dump => ("dumpName", text(value)),
                _ => ("profilerPath", text(value)),
            },
            Argument::Type if operation == Operation::PerfMap => ("perfMapType", plain(value)),
            Argument::Type => ("dumpType", plain(value)),
            Argument::Flags => ("flags", plain(value)),
            Argument::Clsid => ("profilerGuid", plain(value)),
            Argument::ClientData => ("clientData", plain(value)),
            Argument::TimeoutMs => ("attachTimeout", plain(value)),
            Argument::Session => ("sessionId", plain(value)),
            Argument::Provider => ("providers.provider_name", text(value)),
            Argument::Keywords => ("providers.keywords", plain(value)),
            Argument::Level => ("providers.logLevel", plain(value)),
            Argument::Arguments => ("providers.arguments", text(value)),
            Argument::Tracepoint => ("providers.config.default_tracepoint_name", text(value)),
            Argument::Events => ("providers.filter", Wanted::Events(value.clone())),
            Argument::BufferMb => ("circularBufferMB", plain(value)),
            Argument::Rundown => ("rundownKeyword", plain(value)),
            Argument::Stacks => ("requestStackwalk", plain(value)),
            Argument::BufferMode => ("sessionBufferMode", plain(value)),
            _ => continue,
        };
        all.push((*argument, field, wanted));
    }
    all
}

/// The values of a field; of one of the providers', those of all of them.
fn seen<'v>(value: &'v Value, field: &str) -> Field<'v> {
    let mut values = Vec::from([value]);
    for name in field.split('.') {
        let mut next = Vec::new();
        for value in values {
            let field = value.get(name).or_else(|| value.get(format!("streaming_{name}")));
            match field {
                Some(Value::Array(list)) if name == "providers" => next.extend(list),
                Some(value) => next.push(value),
                None => {}
            }
        }
        values = next;
    }
    if values.is_empty() { Field::NotThere } else { Field::Values(values) }
}

impl Wanted {
    fn is(&self, seen: &Value) -> bool {
        match (self, seen) {
            (Self::Absent, seen) => seen.is_null(),
            (Self::Text(text), Value::Null) => text.is_empty(),
            (Self::Text(text), seen) => seen.as_str() == Some(text),
            (Self::Plain(text), Value::String(seen)) => seen.eq_ignore_ascii_case(text),
            (Self::Plain(text), seen) => {
                let seen = seen.to_string();
                seen == *text
            }
            (Self::Events(ids), seen) => {
                let list = seen.get("event_ids").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let said: Vec<String> = list.iter().map(ToString::to_string).collect();
                let enables = seen.get("enable") == Some(&Value::Bool(true));
                said.join(",") == *ids && enables != ids.is_empty()
            }
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Absent => "absent".to_owned(),
            Self::Text(text) => shortened(&format!("{text:?}")),
            Self::Plain(text) => text.clone(),
            Self::Events(ids) if ids.is_empty() => "all events".to_owned(),
            Self::Events(ids) => format!("the events {ids}"),
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((cut, _)) => format!("{}… ({} bytes)", text.get(..cut).unwrap_or_default(), text.len()),
        None => text.to_owned(),
    }
}

pub(super) fn excerpt(bytes: &[u8]) -> String {
    let (shown, rest) = bytes.split_at_checked(64).unwrap_or((bytes, &[]));
    format!("{}{}", hex::encode(shown), if rest.is_empty() { "" } else { "…" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::client::Operations;
    use crate::conformance::client::scenario::usual;

    const SET: &[u8] = b"DOTNET_IPC_V1\0\x32\0\x04\x03\0\0\x05\0\0\0N\0A\0M\0E\0\0\0\x06\0\0\0v\0a\0l\0u\0e\0\0\0";

    /// What is found in bytes of a client that was to set NAME to value.
    fn judged(bytes: &[u8], behind: &[u8], is_whole: bool) -> Judgement {
        let operations = Operations::parse("x.toml", "[operations.set-env]\ncommand = \"x {name} {value}\"\n").unwrap();
        let line = operations.get(Operation::SetEnv).unwrap();
        Seen { bytes, behind, fds: 0, is_whole }.judge(Operation::SetEnv, line, &usual(Operation::SetEnv))
    }

    fn with(at: usize, byte: u8) -> Vec<u8> {
        let mut bytes = SET.to_vec();
        bytes[at] = byte;
        bytes
    }

    #[test]
    fn request_that_is_right_has_nothing_wrong() {
        assert_eq!(judged(SET, &[], true).found, [] as [String; 0]);
        // Of one that was not read to its end the header alone is judged.
        assert_eq!(judged(&SET[..20], &[], false).found, [] as [String; 0]);
    }

    #[test]
    fn each_thing_that_is_wrong_is_said() {
        let found = |bytes: &[u8]| judged(bytes, &[], true).found;
        assert_eq!(found(&SET[..19]), ["19 bytes of a header came"]);
        assert_eq!(found(&with(12, b'2')), ["the magic is 444f544e45545f4950435f563200"]);
        assert_eq!(found(&SET[..49]), ["the size field says 50, and 49 bytes came"]);
        assert_eq!(found(&with(17, 4)), ["the command is Process/ProcessInfo2, which does not do what was asked for"]);
        assert_eq!(found(&with(19, 1)), ["reserved is 0001, not 0000"]);
        let malformed = found(&with(20, 200));
        assert!(matches!(&malformed[..], [one] if one.starts_with("the payload is malformed: ")), "{malformed:?}");
        assert_eq!(found(&with(24, b'X')), ["name was to be \"NAME\", and name is \"XAME\""]);
        let surplus = judged(SET, &[0xab; 70], true).found;
        assert_eq!(surplus, [format!("70 bytes come behind the request: {}…", "ab".repeat(64))]);
    }

    #[test]
    fn what_was_wanted_is_shown_in_words() {
        assert_eq!(Wanted::Absent.shown(), "absent");
        assert_eq!(Wanted::Plain("4".to_owned()).shown(), "4");
        assert_eq!(Wanted::Text("a".to_owned()).shown(), "\"a\"");
        assert_eq!(Wanted::Text("a".repeat(100)).shown(), format!("\"{}… (102 bytes)", "a".repeat(79)));
        assert_eq!(Wanted::Events(String::new()).shown(), "all events");
        assert_eq!(Wanted::Events("1,2".to_owned()).shown(), "the events 1,2");
    }

    #[test]
    fn ids_of_events_are_wanted_alone_or_all_of_them() {
        let seen = |enable: bool, ids: &[u32]| serde_json::json!({ "enable": enable, "event_ids": ids });
        let (all, some) = (Wanted::Events(String::new()), Wanted::Events("1,2".to_owned()));
        assert!(all.is(&seen(false, &[])) && some.is(&seen(true, &[1, 2])));
        assert!(!all.is(&seen(true, &[])) && !some.is(&seen(false, &[1, 2])) && !some.is(&seen(true, &[2, 1])));
        assert!(Wanted::Text(String::new()).is(&Value::Null) && !Wanted::Text("a".to_owned()).is(&Value::Null));
        assert!(Wanted::Absent.is(&Value::Null) && !Wanted::Absent.is(&"".into()));
    }

    #[test]
    fn each_argument_is_looked_for_in_its_field() {
        let fields = |operation: Operation, command: &str| {
            let text = format!("[operations.{operation}]\ncommand = \"x {command}\"\n");
            let operations = Operations::parse("x.toml", &text).unwrap();
            let arguments = usual(operation);
            let all = wanted(operation, operations.get(operation).unwrap(), &arguments);
            all.into_iter().map(|(argument, field, wanted)| format!("{argument} {field} {}", wanted.shown())).collect::<Vec<_>>()
        };
        assert_eq!(fields(Operation::Dump, "{type} {flags}"), ["type dumpType 1", "flags flags 0"]);
        assert_eq!(
            fields(Operation::StartupProfiler, "{clsid} {path}"),
            ["path profilerPath \"/opt/profiler.so\"", "clsid profilerGuid cf0d821e-299b-5307-a3d8-b283c03916dd"]
        );
    }

    #[test]
    fn field_of_providers_is_seen_of_all_of_them() {
        let value = serde_json::json!({
            "streaming_circularBufferMB": 4,
            "providers": [{ "provider_name": "A" }, { "provider_name": "B" }],
            "event_ids": [1, 2],
        });
        let values = |field: &str| match seen(&value, field) {
            Field::Values(values) => values.into_iter().cloned().collect(),
            Field::NotThere => Vec::new(),
        };
        assert_eq!(values("providers.provider_name"), ["A", "B"]);
        assert_eq!(values("circularBufferMB"), [4]);
        assert_eq!(values("event_ids"), [serde_json::json!([1, 2])]);
        assert_eq!(values("rundownKeyword"), [] as [Value; 0]);
    }

    #[test]
    fn descriptor_that_rides_on_the_request_is_a_fault_of_its_own() {
        let operations = Operations::parse("x.toml", "[operations.set-env]\ncommand = \"x {name} {value}\"\n").unwrap();
        let line = operations.get(Operation::SetEnv).unwrap();
        for (fds, fault) in [(0, None), (1, Some(ClientFault::DescriptorWithTheRequest))] {
            // Wrong in another way as well.
            let bytes = with(24, b'X');
            let seen = Seen { bytes: &bytes, behind: &[], fds, is_whole: true };
            let judgement = seen.judge(Operation::SetEnv, line, &usual(Operation::SetEnv));
            assert_eq!((judgement.fault, judgement.found.len()), (fault, fds + 1));
        }
    }
}
