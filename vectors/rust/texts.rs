//! The value form of texts: variables that configure ports, names of sockets and pipes.

use alloc::{borrow::ToOwned as _, format, string::ToString as _, vec::Vec};
use core::fmt;

use serde_json::json;

use super::fault::{encoded, is_canonical};
use super::from_wire::FromWire;
use super::value::{expected, field, insert, items, object_of};
use super::{
    Arena, DecodeRefusal, EncodeFailure, FieldKind, Type, Value, ValueError, ValueForm, VectorFault,
};
use dotnet_diagnostics_ipc::endpoint::{NamePrefix, PipeName, ProcessStat, SocketForm, SocketName};
use dotnet_diagnostics_ipc::port::{
    PortConfig, Ports, SuspendMode, WritePorts, default_port_suspend, ignored, strict,
};
use dotnet_diagnostics_ipc::text::TextError;
use dotnet_diagnostics_ipc::wire::{Layer, WireError};

pub(super) fn decode(kind: Type, wire: &[u8]) -> Result<(Value, bool), DecodeRefusal> {
    Ok(match kind {
        Type::ProcessStat => {
            let stat = ProcessStat::parse(wire)?;
            let value = json!({ "pid": stat.pid, "startTime": stat.start_time.to_string() });
            (value, is_canonical(&stat, wire))
        }
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
        Type::DefaultPortSuspend => {
            let suspends = suspends(utf8(wire)?);
            (suspends.into(), suspend_text(suspends).as_bytes() == wire)
        }
        kind => {
            let text = utf8(wire)?;
            let is_strict = kind == Type::PortsStrict;
            let ports: Vec<_> =
                if is_strict { strict(text)?.collect() } else { Ports::new(text).collect() };
            let list = ports.iter().map(|port| {
                let suspend = port.suspend_mode.suspends();
                json!({ "address": port.address, "suspend": suspend, "type": "connect" })
            });
            let mut value = json!({ "ports": list.collect::<Value>() });
            if !is_strict {
                let ignored = ignored(text).map(|part| {
                    json!({ "offset": part.offset, "text": part.text, "reason": part.reason.name() })
                });
                insert(&mut value, "ignored", ignored.collect::<Value>());
            }
            (value, WritePorts::new(&ports).is_some_and(|text| is_canonical(&text, wire)))
        }
    })
}

pub(super) fn encode(kind: Type, value: &Value) -> Result<Vec<u8>, EncodeFailure> {
    let arena = Arena::new();
    match kind {
        Type::SocketName => {
            object_of(value, &["prefix", "pid", "key", "socket"])?;
            let is_socket = field(value, "socket", &arena)?;
            encoded(&SocketName {
                prefix: prefix(value)?,
                pid: field(value, "pid", &arena)?,
                key: field(value, "key", &arena)?,
                form: if is_socket { SocketForm::Socket } else { SocketForm::AsPrinted },
            })
        }
        Type::PipeName => {
            object_of(value, &["prefix", "pid", "path"])?;
            let (pid, is_path) = (field(value, "pid", &arena)?, field(value, "path", &arena)?);
            encoded(&PipeName { prefix: prefix(value)?, pid, is_path })
        }
        Type::ProcessStat => {
            object_of(value, &["pid", "startTime"])?;
            let (pid, start_time) =
                (field(value, "pid", &arena)?, field(value, "startTime", &arena)?);
            encoded(&ProcessStat { pid, start_time })
        }
        Type::DefaultPortSuspend => Ok(suspend_text(bool::from_value(value, &arena)?).into()),
        kind => {
            let keys: &[&str] =
                if kind == Type::PortsStrict { &["ports"] } else { &["ports", "ignored"] };
            let Some(list @ Value::Array(_)) = object_of(value, keys)?.get("ports") else {
                return Ok(expected("an object with a list of ports", value)?);
            };
            // Ignored parts are not written.
            let ports = items(list, port).map_err(|error| error.within("ports"))?;
            let text = WritePorts::new(&ports)
                .ok_or_else(|| ValueError::new("no text can express a port's address and type"))?;
            Ok(encoded(&text).map_err(|error| ValueError::new(error.to_string()))?)
        }
    }
}

/// Notes the ports and what is ignored, between which are separators; of another text, which has few
/// parts, the meaning as a whole.
pub(super) fn explain(kind: Type, source: &mut FromWire<'_>) -> Result<(), WireError> {
    let wire = source.reader.rest();
    match kind {
        Type::Ports | Type::PortsStrict => {
            if let Ok(text) = utf8(wire) {
                explain_ports(text, source);
            }
        }
        Type::DefaultPortSuspend => {
            if let Ok(text) = utf8(wire) {
                let what = if suspends(text) { "suspends" } else { "does not suspend" };
                source.note(FieldKind::Plain, 0, text.len(), || what.to_owned());
            }
        }
        kind => {
            let Ok((value, _)) = decode(kind, wire) else { return Ok(()) };
            let fields = value.as_object().into_iter().flatten();
            let texts = fields.map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>();
            source.take_rest(&texts.join(", "))?;
        }
    }
    Ok(())
}

fn explain_ports(text: &str, source: &mut FromWire<'_>) {
    let mut parts: Vec<_> = ignored(text)
        .map(|part| (part.offset, part.text.len(), format!("ignored: {}", part.reason)))
        .collect();
    for (nth, port) in Ports::new(text).enumerate() {
        let about = format!("port {nth}, {}, connect", port.suspend_mode.text());
        let offset = (port.address.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        parts.push((offset, port.address.len(), about));
    }
    parts.sort_by_key(|(offset, ..)| *offset);
    for (offset, len, about) in parts {
        source.note(FieldKind::Plain, offset, len, || about);
    }
}

impl From<TextError> for DecodeRefusal {
    fn from(error: TextError) -> Self {
        refusal(error.kind().name(), error.offset(), &error.kind())
    }
}

fn utf8(wire: &[u8]) -> Result<&str, DecodeRefusal> {
    core::str::from_utf8(wire).map_err(|error| refusal("not_unicode", error.valid_up_to(), &error))
}

/// The refusal of a text at `offset`.
fn refusal(kind: &str, offset: usize, message: &dyn fmt::Display) -> DecodeRefusal {
    let (layer, kind) = (Layer::Payload.name().to_owned(), kind.to_owned());
    let fault = VectorFault { layer, kind, offset, field: None };
    DecodeRefusal { fault, message: message.to_string(), answer: None }
}

fn port(value: &Value) -> Result<PortConfig<'_>, ValueError> {
    let object = object_of(value, &["address", "suspend", "type"])?;
    let field = |key: &str| object.get(key).unwrap_or(&Value::Null);
    match (field("address"), field("suspend"), field("type").as_str()) {
        (Value::String(address), Value::Bool(suspend), Some("connect")) => Ok(PortConfig {
            address,
            suspend_mode: if *suspend { SuspendMode::Suspend } else { SuspendMode::NoSuspend },
        }),
        _ => expected("an address, suspend and the type \"connect\"", value),
    }
}

fn suspends(text: &str) -> bool {
    default_port_suspend(text).is_some_and(|number| number != 0)
}

/// The value as the document has it.
fn suspend_text(suspends: bool) -> &'static str {
    if suspends { "1" } else { "0" }
}

fn prefix(value: &Value) -> Result<NamePrefix, ValueError> {
    let text = value.get("prefix").unwrap_or(&Value::Null);
    let is_it = |prefix: &NamePrefix| *text == prefix.text();
    let known =
        [NamePrefix::Current, NamePrefix::Draft, NamePrefix::Router].into_iter().find(is_it);
    known
        .map_or_else(|| expected("one of the prefixes", text), Ok)
        .map_err(|error| error.within("prefix"))
}
