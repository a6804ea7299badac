//! Continuations by name: value form and bytes.

use alloc::{format, vec::Vec};

use super::annotate::Annotate;
use super::fault::{encoded, is_canonical};
use super::from_json::items;
use super::types::{Family, Type};
use super::value::{expected, object_of};
use super::{Annotations, Arena, FieldKind, Value, ValueError, ValueForm};
use super::{DecodeRefusal, EncodeFailure};
use dotnet_diagnostics_ipc::continuation::{Entry, Environment, StreamStart};
use dotnet_diagnostics_ipc::wire::{Array, Decode, Encode as _, IpcString, Reader, WireError};

pub(super) const FAMILY: Family = Family { decode, encode, annotate };

fn decode(kind: Type, wire: &[u8]) -> Result<(Value, bool), DecodeRefusal> {
    if kind == Type::StreamStart {
        return Ok((stream_to_value(wire), true));
    }
    let environment = Environment::decode(wire)?;
    let canonical = is_canonical(&environment, wire);
    Ok((environment.iter().map(|entry| entry.to_value()).collect(), canonical))
}

fn encode(kind: Type, value: &Value) -> Result<Vec<u8>, EncodeFailure> {
    if kind == Type::StreamStart {
        return stream_from_value(value).map_err(EncodeFailure::Value);
    }
    let arena = Arena::new();
    let entries =
        items(value, |entry| Entry::from_value(entry, &arena)).map_err(EncodeFailure::Value)?;
    encoded(&Array::new(&entries))
}

fn annotate(kind: Type, wire: &[u8], notes: &mut Annotations) {
    let mut reader = Reader::new(wire);
    if kind == Type::StreamStart {
        let start = StreamStart::recognise(wire);
        let len = start.known_len().unwrap_or(0);
        if len > 0 {
            // Cannot fail: that many were recognised.
            let _ = notes.bytes(FieldKind::Plain, &mut reader, len, name(start).into());
        }
    } else if notes.items(Entry::MIN_LEN, &mut reader, Entry::annotate).is_err() {
        // `decode` reports the fault.
        return;
    }
    if !reader.rest().is_empty() {
        let text =
            if kind == Type::StreamStart { "the stream continues" } else { "after the last entry" };
        notes.surplus(reader.offset(), reader.rest().len(), text);
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
}

impl<'a> Annotate<'a> for Entry<'a> {
    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), WireError> {
        let entry = Self::decode(&mut reader.clone());
        notes.part(FieldKind::StringLength, reader, |count: &u32| match &entry {
            Ok(entry) if entry.is_terminated() => format!("length {count}, with the NUL"),
            Ok(_) => format!("length {count}, without NUL"),
            Err(_) => format!("length {count}"),
        })?;
        let entry = entry?;
        let units = entry.text().units().count().saturating_add(entry.is_terminated().into());
        if units == 0 {
            Ok(())
        } else {
            notes.bytes(
                FieldKind::Units,
                reader,
                units.saturating_mul(2),
                format!("{:?}", entry.text()),
            )
        }
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
fn stream_to_value(wire: &[u8]) -> Value {
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

fn stream_from_value(value: &Value) -> Result<Vec<u8>, ValueError> {
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
