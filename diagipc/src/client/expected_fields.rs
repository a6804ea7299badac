//! The fields that a request must have, derived from the command line.

use serde_json::Value;

use super::operations::CommandLine;
use super::scenario::Arguments;
use super::{Argument, Operation};
use crate::conversation::guid_reversed;

pub(super) enum Wanted {
    /// This text. An absent string counts as empty.
    Text(String),
    /// An absent string.
    Absent,
    /// This number, text or bool, as text.
    Plain(String),
    /// Only the events with these ids; all events if the text is empty.
    Events(String),
    /// This keyword. With `is_bool` the client, or an older command, only distinguishes 0 from
    /// other values.
    Rundown { keyword: String, is_bool: bool },
    /// Arguments of a provider, as `KEY=VALUE`. Quotes around a value do not matter.
    KeyValues(String),
    /// The name of the default tracepoint, or of a tracepoint set.
    Tracepoint(String),
}

/// Returns the fields given in the command line.
pub(super) fn wanted<'a>(
    operation: Operation,
    line: &CommandLine,
    arguments: &'a Arguments,
) -> Vec<(Argument, &'static str, Wanted)> {
    let mut all = Vec::new();
    if operation == Operation::UnsetEnv {
        all.push((Argument::Value, "value", Wanted::Absent));
    }
    for (argument, value) in arguments {
        if !line.says_in_any_way(*argument) {
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
            Argument::Arguments => ("providers.arguments", Wanted::KeyValues(value.clone())),
            Argument::Tracepoint => ("providers.config", Wanted::Tracepoint(value.clone())),
            Argument::Events => ("providers.filter", Wanted::Events(value.clone())),
            Argument::BufferMb => ("circularBufferMB", plain(value)),
            Argument::Rundown => {
                let is_bool = !line.says(Argument::Rundown);
                ("rundownKeyword", Wanted::Rundown { keyword: value.clone(), is_bool })
            }
            Argument::Stacks => ("requestStackwalk", plain(value)),
            Argument::BufferMode => ("sessionBufferMode", plain(value)),
            _ => continue,
        };
        all.push((*argument, field, wanted));
    }
    all
}

/// Returns the values of a field, or of all providers for a field of providers. The list is empty
/// if the command does not have the field.
pub(super) fn values_of<'v>(value: &'v Value, field: &str) -> Vec<&'v Value> {
    let mut values = Vec::from([value]);
    for name in field.split('.') {
        let mut next = Vec::new();
        for value in values {
            let older = match name {
                "rundownKeyword" => "requestRundown",
                "flags" => "diagnostics",
                name => name,
            };
            let names = [name, &format!("streaming_{name}"), older];
            let field = names.into_iter().find_map(|name| value.get(name));
            match field {
                Some(Value::Array(list)) if name == "providers" => next.extend(list),
                Some(value) => next.push(value),
                None => {}
            }
        }
        values = next;
    }
    values
}

impl Wanted {
    pub(super) fn is(&self, seen: &Value) -> bool {
        match (self, seen) {
            (Self::Absent, seen) => seen.is_null(),
            (Self::Text(text), Value::Null) => text.is_empty(),
            (Self::Text(text), seen) => seen.as_str() == Some(text),
            (Self::Rundown { keyword, .. }, Value::Bool(seen)) => *seen == (keyword != "0"),
            (Self::Rundown { keyword, is_bool: true }, seen) => {
                (seen.as_str() == Some("0")) == (keyword == "0")
            }
            (Self::Rundown { keyword, .. }, seen) => seen.as_str() == Some(keyword),
            (Self::Plain(text), Value::String(seen)) => seen.eq_ignore_ascii_case(text),
            (Self::Plain(text), seen) => *text == *format!("{seen}"),
            (Self::Events(ids), seen) => {
                let seen_ids: Vec<_> = items(seen, "event_ids").map(ToString::to_string).collect();
                let enables = seen.get("enable") == Some(&Value::Bool(true));
                seen_ids.join(",") == *ids && enables != ids.is_empty()
            }
            (Self::KeyValues(text), seen) => {
                seen.as_str().is_none_or(|seen| is_key_values(text, seen))
                    && (seen.is_string() || text.is_empty())
            }
            (Self::Tracepoint(name), seen) => {
                let is_it = |one: &Value, key| one.get(key).and_then(Value::as_str) == Some(name);
                is_it(seen, "default_tracepoint_name")
                    || items(seen, "tracepoints").any(|set| is_it(set, "tracepoint_name"))
            }
        }
    }

    /// Whether `seen` is this text with one NUL more.
    pub(super) fn is_before_a_nul(&self, seen: &Value) -> bool {
        let without = seen.to_string().replace("\\u0000\"", "\"");
        serde_json::from_str(&without).is_ok_and(|without| self.is(&without))
    }

    pub(super) fn shown(&self) -> String {
        match self {
            Self::Absent => "absent".to_owned(),
            Self::Plain(text) | Self::Rundown { keyword: text, is_bool: false } => text.clone(),
            Self::Rundown { keyword, .. } if keyword == "0" => "0".to_owned(),
            Self::Rundown { .. } => "not 0".to_owned(),
            Self::Text(text) | Self::KeyValues(text) | Self::Tracepoint(text) => {
                shortened(&format!("{text:?}"))
            }
            Self::Events(ids) if ids.is_empty() => "all events".to_owned(),
            Self::Events(ids) => format!("the events {ids}"),
        }
    }
}

fn items<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Whether a command without the field of an argument has the wanted effect anyway.
pub(super) fn is_implied(argument: Argument, wanted: &Wanted) -> bool {
    match (argument, wanted) {
        (Argument::Events, Wanted::Events(ids)) => ids.is_empty(),
        (Argument::Rundown, Wanted::Rundown { keyword, .. }) => keyword != "0",
        (Argument::Stacks, Wanted::Plain(is)) => is == "true",
        (Argument::BufferMode, Wanted::Plain(mode)) => mode == "0",
        _ => true,
    }
}

/// Whether `seen` has the key and the value of `text`.
fn is_key_values(text: &str, seen: &str) -> bool {
    let is_quoted = |(key, value): (&str, &str)| {
        let rest = seen.strip_prefix(key).and_then(|rest| rest.strip_prefix("=\""));
        rest.and_then(|rest| rest.strip_suffix('"')).is_some_and(|seen| seen == value)
    };
    text == seen || text.split_once('=').is_some_and(is_quoted)
}

pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((cut, _)) => {
            format!("{}… ({} bytes)", text.get(..cut).unwrap_or_default(), text.len())
        }
        None => text.to_owned(),
    }
}

/// Whether the bytes of a GUID's first three fields are reversed.
pub(super) fn is_guid_swapped(wanted: &str, seen: &str) -> bool {
    let bytes = |text: &str| <[u8; 16]>::try_from(hex::decode(text.replace('-', "")).ok()?).ok();
    bytes(wanted).is_some_and(|wanted| bytes(seen) == Some(guid_reversed(wanted)))
}

pub(super) fn excerpt(bytes: &[u8]) -> String {
    let (shown, rest) = bytes.split_at_checked(64).unwrap_or((bytes, &[]));
    format!("{}{}", hex::encode(shown), if rest.is_empty() { "" } else { "…" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::Operations;
    use crate::client::scenario::plain;

    #[test]
    fn wanted_is_shown_and_matches_its_values_only() {
        let text = |text: &str| text.to_owned();
        let null = Value::Null;
        let events = |enable: bool, ids: &[u32]| json!({ "enable": enable, "event_ids": ids });
        let config = |default: Option<&str>, sets: &[&str]| {
            let set = |name: &&str| json!({ "tracepoint_name": name, "event_ids": [1] });
            let sets: Vec<_> = sets.iter().map(set).collect();
            json!({ "default_tracepoint_name": default, "tracepoints": sets })
        };
        let long = format!("\"{}… (102 bytes)", "a".repeat(79));
        let check = |wanted: Wanted, shown: &str, values: &[Value], others: &[Value]| {
            assert_eq!(wanted.shown(), shown);
            assert!(values.iter().all(|seen| wanted.is(seen)), "{shown}");
            assert!(!others.iter().any(|seen| wanted.is(seen)), "{shown}");
        };
        check(Wanted::Absent, "absent", &[Value::Null], &[json!("")]);
        check(Wanted::Plain(text("4")), "4", &[json!(4)], &[json!(5)]);
        check(Wanted::Text(text("a")), "\"a\"", &[json!("a")], &[Value::Null]);
        check(Wanted::Text(text("")), "\"\"", &[Value::Null], &[json!("a")]);
        check(Wanted::Text("a".repeat(100)), &long, &[], &[]);
        check(Wanted::Events(text("")), "all events", &[events(false, &[])], &[events(true, &[])]);
        let others = [events(false, &[1, 2]), events(true, &[2, 1])];
        check(Wanted::Events(text("1,2")), "the events 1,2", &[events(true, &[1, 2])], &others);
        let (values, others) = (["k=a b", "k=\"a b\""], [json!("k=a"), json!("k=\"a b"), null]);
        check(Wanted::KeyValues(text("k=a b")), "\"k=a b\"", &values.map(Value::from), &others);
        check(Wanted::KeyValues(text("")), "\"\"", &[Value::Null, json!("")], &[]);
        let values = [config(Some("Point"), &[]), config(None, &["Other", "Point"])];
        let others = [config(Some("Other"), &["Third"])];
        check(Wanted::Tracepoint(text("Point")), "\"Point\"", &values, &others);
    }

    #[test]
    fn wanted_argument_has_its_field() {
        let fields = |operation: Operation, command: &str| {
            let text = format!("[operations.{operation}]\ncommand = \"x {command}\"\n");
            let operations = Operations::parse("x.toml", &text).unwrap();
            let arguments = plain(operation);
            let all = wanted(operation, operations.get(operation).unwrap(), &arguments);
            all.into_iter()
                .map(|(argument, field, wanted)| format!("{argument} {field} {}", wanted.shown()))
                .collect::<Vec<_>>()
        };
        assert_eq!(fields(Operation::Dump, "{type} {flags}"), ["type dumpType 1", "flags flags 0"]);
        assert_eq!(
            fields(Operation::StartupProfiler, "{clsid} {path}"),
            [
                "path profilerPath \"/opt/profiler.so\"",
                "clsid profilerGuid cf0d821e-299b-5307-a3d8-b283c03916dd"
            ]
        );
    }

    #[test]
    fn seen_field_covers_all_providers() {
        let value = json!({
            "streaming_circularBufferMB": 4,
            "providers": [{ "provider_name": "A" }, { "provider_name": "B" }],
            "event_ids": [1, 2],
        });
        let values =
            |field: &str| values_of(&value, field).into_iter().cloned().collect::<Vec<_>>();
        assert_eq!(values("providers.provider_name"), ["A", "B"]);
        assert_eq!(values("circularBufferMB"), [4]);
        assert_eq!(values("event_ids"), [json!([1, 2])]);
        assert_eq!(values("rundownKeyword"), [] as [Value; 0]);
    }
}
