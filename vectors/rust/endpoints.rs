//! The value form of the names of sockets and pipes.

use alloc::{format, string::ToString as _, vec::Vec};

use serde_json::json;

use super::fault::{encoded, is_canonical};
use super::from_wire::FromWire;
use super::ports::utf8;
use super::value::{expected, object_of};
use super::{Arena, DecodeRefusal, EncodeFailure, Type, Value, ValueError, ValueForm};
use dotnet_diagnostics_ipc::endpoint::{NamePrefix, PipeName, ProcessStat, SocketForm, SocketName};
use dotnet_diagnostics_ipc::wire::WireError;

pub(super) fn decode(kind: Type, wire: &[u8]) -> Result<(Value, bool), DecodeRefusal> {
    Ok(match kind {
        Type::SocketName => {
            let name = SocketName::parse(utf8(wire)?)?;
            let value = json!({
                "prefix": name.prefix.text(),
                "pid": name.pid,
                "key": name.key.to_string(),
                "socket": name.form == SocketForm::Socket,
            });
            (value, is_canonical(&name, wire))
        }
        Type::PipeName => {
            let name = PipeName::parse(utf8(wire)?)?;
            let value =
                json!({ "prefix": name.prefix.text(), "pid": name.pid, "path": name.is_path });
            (value, is_canonical(&name, wire))
        }
        _ => {
            let stat = ProcessStat::parse(wire)?;
            (
                json!({ "pid": stat.pid, "startTime": stat.start_time.to_string() }),
                is_canonical(&stat, wire),
            )
        }
    })
}

pub(super) fn encode(kind: Type, value: &Value) -> Result<Vec<u8>, EncodeFailure> {
    match kind {
        Type::SocketName => {
            keys(value, &["prefix", "pid", "key", "socket"])?;
            let form =
                if field(value, "socket")? { SocketForm::Socket } else { SocketForm::AsPrinted };
            encoded(&SocketName {
                prefix: prefix(value)?,
                pid: field(value, "pid")?,
                key: field(value, "key")?,
                form,
            })
        }
        Type::PipeName => {
            keys(value, &["prefix", "pid", "path"])?;
            encoded(&PipeName {
                prefix: prefix(value)?,
                pid: field(value, "pid")?,
                is_path: field(value, "path")?,
            })
        }
        _ => {
            keys(value, &["pid", "startTime"])?;
            encoded(&ProcessStat {
                pid: field(value, "pid")?,
                start_time: field(value, "startTime")?,
            })
        }
    }
}

/// Notes the meaning of the whole text: it has few parts.
pub(super) fn explain(kind: Type, source: &mut FromWire<'_>) -> Result<(), WireError> {
    let Ok((value, _)) = decode(kind, source.reader.rest()) else { return Ok(()) };
    let fields = value.as_object().into_iter().flatten();
    let text = fields.map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", ");
    source.take_rest(&text).map(|_| ())
}

fn keys(value: &Value, keys: &[&str]) -> Result<(), EncodeFailure> {
    object_of(value, keys).map(|_| ()).map_err(EncodeFailure::Value)
}

/// A field in the form of the wire types.
fn field<T: for<'a> ValueForm<'a>>(value: &Value, name: &str) -> Result<T, EncodeFailure> {
    let arena = Arena::new();
    let field = value.get(name).ok_or_else(|| ValueError::new("missing"));
    let read = field.and_then(|field| T::from_value(field, &arena));
    read.map_err(|error| EncodeFailure::Value(error.within(name)))
}

fn prefix(value: &Value) -> Result<NamePrefix, EncodeFailure> {
    let text = value.get("prefix").unwrap_or(&Value::Null);
    let known =
        [NamePrefix::Current, NamePrefix::Draft].into_iter().find(|prefix| *text == prefix.text());
    known
        .map_or_else(|| expected("one of the two prefixes", text), Ok)
        .map_err(|error| EncodeFailure::Value(error.within("prefix")))
}
