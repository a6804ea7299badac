//! The value form of continuations.

use alloc::{format, vec::Vec};

use super::from_json::items;
use super::from_wire::FromWire;
use super::value::{expected, object_of};
use super::{Arena, FieldKind, Value, ValueError, ValueForm};
use dotnet_diagnostics_ipc::continuation::{Entry, Environment, StreamStart};
use dotnet_diagnostics_ipc::wire::{Decode, Encode as _, IpcString, WireError};

/// The value is the list of the entries.
impl<'a> ValueForm<'a> for Environment<'a> {
    fn to_value(&self) -> Value {
        self.iter().map(|entry| entry.to_value()).collect()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        items(value, |entry| Entry::from_value(entry, arena))
            .map(|entries| Self::new(arena.slice(&entries)))
    }

    fn explain(source: &mut FromWire<'a>) -> Result<(), WireError> {
        source.items(Entry::MIN_LEN, Entry::explain)
    }
}

/// `{"name", "value"}`, where `value` is null without `=`; and `"terminated": false` without NUL.
impl<'a> ValueForm<'a> for Entry<'a> {
    fn to_value(&self) -> Value {
        let mut object = serde_json::json!({
            "name": self.name().to_value(),
            "value": self.value().unwrap_or(IpcString::ABSENT).to_value(),
        });
        if let (false, Some(object)) = (self.is_terminated(), object.as_object_mut()) {
            object.insert("terminated".into(), false.into());
        }
        object
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        let object = object_of(value, &["name", "value", "terminated"])?;
        let text = |key: &str| {
            let text = object.get(key).ok_or_else(|| ValueError::new("missing").within(key))?;
            IpcString::from_value(text, arena).map_err(|error| error.within(key))
        };
        let (name, content) = (text("name")?, text("value")?);
        let mut units: Vec<u16> = name.units().collect();
        if !content.is_absent() {
            units.push(b'='.into());
            units.extend(content.units());
        }
        let units = arena.slice(&units);
        let entry = match object.get("terminated") {
            None => Some(Self::from_units(units)),
            Some(Value::Bool(false)) => Self::unterminated(IpcString::from_units(units)),
            Some(other) => {
                return expected("false or nothing", other)
                    .map_err(|error: ValueError| error.within("terminated"));
            }
        };
        let is_split_so = |entry: &Self| {
            entry.name() == name && entry.value().unwrap_or(IpcString::ABSENT) == content
        };
        entry
            .filter(is_split_so)
            .map_or_else(|| expected("an entry that is split at its first inner `=`", value), Ok)
    }

    fn explain(source: &mut FromWire<'a>) -> Result<(), WireError> {
        let entry = Self::decode(&mut source.reader.clone());
        source.count(FieldKind::StringLength, |count| match &entry {
            Ok(entry) if entry.is_terminated() => format!("length {count}, with the NUL"),
            Ok(_) => format!("length {count}, without NUL"),
            Err(_) => format!("length {count}"),
        })?;
        let entry = entry?;
        let units = entry.text().units().count().saturating_add(entry.is_terminated().into());
        let text = || format!("{:?}", entry.text());
        source.take(FieldKind::Units, units.saturating_mul(2), text).map(|_| ())
    }
}

fn name(start: StreamStart) -> &'static str {
    match start {
        StreamStart::NeedMore => "need-more",
        StreamStart::Nettrace => "nettrace",
        StreamStart::NettraceBlocks { .. } => "nettrace-blocks",
        StreamStart::Netperf => "netperf",
        _ => "opaque",
    }
}

/// `{"start", "rest"}`, and `major` and `minor` of `nettrace-blocks`; `rest` is all of it if the
/// start is unknown.
pub(super) fn stream_to_value(wire: &[u8]) -> Value {
    let start = StreamStart::recognise(wire);
    let mut object = serde_json::json!({ "start": name(start) });
    if let (StreamStart::NettraceBlocks { major, minor }, Some(object)) =
        (start, object.as_object_mut())
    {
        object.insert("major".into(), major.into());
        object.insert("minor".into(), minor.into());
    }
    if let Some(object) = object.as_object_mut() {
        let rest = wire.get(start.known_len().unwrap_or(0)..).unwrap_or_default();
        object.insert("rest".into(), hex::encode(rest).into());
    }
    object
}

pub(super) fn stream_from_value(value: &Value) -> Result<Vec<u8>, ValueError> {
    let object = object_of(value, &["start", "major", "minor", "rest"])?;
    let arena = Arena::new();
    let number = |key: &str| {
        u32::from_value(object.get(key).unwrap_or(&Value::Null), &arena)
            .map_err(|error| error.within(key))
    };
    let start = match object.get("start").and_then(Value::as_str) {
        Some("need-more") => StreamStart::NeedMore,
        Some("nettrace") => StreamStart::Nettrace,
        Some("nettrace-blocks") => {
            StreamStart::NettraceBlocks { major: number("major")?, minor: number("minor")? }
        }
        Some("netperf") => StreamStart::Netperf,
        Some("opaque") => StreamStart::Opaque,
        _ => return Err(ValueError::new("expected the name of a start").within("start")),
    };
    let rest =
        object.get("rest").and_then(Value::as_str).and_then(|digits| hex::decode(digits).ok());
    let rest = rest.ok_or_else(|| ValueError::new("expected hexadecimal text").within("rest"))?;
    let mut bytes = Vec::new();
    // Cannot fail: it contains no count.
    let _ = start.encode(&mut bytes);
    bytes.extend(rest);
    if stream_to_value(&bytes) == *value {
        return Ok(bytes);
    }
    Err(ValueError::new(format!("these bytes are {}", name(StreamStart::recognise(&bytes)))))
}

pub(super) fn explain_stream(source: &mut FromWire<'_>) -> Result<(), WireError> {
    let start = StreamStart::recognise(source.reader.rest());
    source.take(FieldKind::Plain, start.known_len().unwrap_or(0), || name(start).into())?;
    source.take_rest("the stream continues").map(|_| ())
}
