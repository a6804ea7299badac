//! The value form of the variables that configure diagnostic ports.

use alloc::{borrow::ToOwned as _, format, string::ToString as _, vec::Vec};

use serde_json::json;

use super::from_wire::FromWire;
use super::value::{expected, object_of};
use super::{DecodeRefusal, EncodeFailure, FieldKind, Type, Value, ValueError, VectorFault};
use dotnet_diagnostics_ipc::port::{
    DefaultPortSuspend, Ignored, PortAddress, PortConfig, PortType, Ports, SuspendMode, WritePorts,
    default_port_suspend_text, strict,
};
use dotnet_diagnostics_ipc::text::TextError;
use dotnet_diagnostics_ipc::wire::{Encode as _, Layer};

pub(super) fn decode(kind: Type, wire: &[u8]) -> Result<(Value, bool), DecodeRefusal> {
    let text = utf8(wire)?;
    let (value, encoded) = if kind == Type::DefaultPortSuspend {
        let suspends = DefaultPortSuspend::parse(text).suspends();
        (suspends.into(), default_port_suspend_text(suspends).as_bytes().to_vec())
    } else {
        let ports: Vec<_> = if kind == Type::PortsStrict {
            strict(text)?.collect()
        } else {
            Ports::new(text).collect()
        };
        let ignored = (kind == Type::Ports).then(|| Ignored::new(text));
        (to_value(&ports, ignored), written(&ports).unwrap_or_default())
    };
    Ok((value, encoded == wire))
}

pub(super) fn encode(kind: Type, value: &Value) -> Result<Vec<u8>, EncodeFailure> {
    if kind == Type::DefaultPortSuspend {
        let suspends = value
            .as_bool()
            .map_or_else(|| expected("true or false", value), Ok)
            .map_err(EncodeFailure::Value)?;
        return Ok(default_port_suspend_text(suspends).into());
    }
    ports(kind, value).and_then(|ports| written(&ports)).map_err(EncodeFailure::Value)
}

/// Notes the ports and what is ignored; between them are separators.
pub(super) fn explain(kind: Type, source: &mut FromWire<'_>) {
    let Ok(text) = utf8(source.reader.rest()) else { return };
    if kind == Type::DefaultPortSuspend {
        let read = DefaultPortSuspend::parse(text);
        let what = if read.suspends() { "suspends" } else { "does not suspend" };
        source.note(FieldKind::Plain, 0, text.len(), || format!("{read:?}: {what}"));
        return;
    }
    let mut parts: Vec<_> = Ignored::new(text)
        .map(|part| (part.offset, part.text.len(), format!("ignored: {}", part.reason)))
        .collect();
    for (nth, port) in Ports::new(text).enumerate() {
        let about = format!("port {nth}, {}, {}", port.suspend_mode.text(), port.port_type.text());
        let offset = (port.address.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        parts.push((
            offset,
            port.address.len(),
            match PortAddress::of(port.address) {
                PortAddress::Local(_) => about,
                other => format!("{about}, {}", other.kind()),
            },
        ));
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

/// The text on the wire.
pub(super) fn utf8(wire: &[u8]) -> Result<&str, DecodeRefusal> {
    core::str::from_utf8(wire).map_err(|error| refusal("not_unicode", error.valid_up_to(), &error))
}

/// A text that was refused at `offset`.
pub(super) fn refusal(
    kind: &str,
    offset: usize,
    message: &dyn core::fmt::Display,
) -> DecodeRefusal {
    let fault = VectorFault {
        layer: Layer::Payload.name().to_owned(),
        kind: kind.to_owned(),
        offset,
        field: None,
    };
    DecodeRefusal { fault, message: message.to_string(), answer: None }
}

fn to_value(ports: &[PortConfig<'_>], ignored: Option<Ignored<'_>>) -> Value {
    let ports: Vec<_> = ports
        .iter()
        .map(|port| json!({ "address": port.address, "suspend": port.suspend_mode.suspends(), "type": port.port_type.text() }))
        .collect();
    let Some(ignored) = ignored else {
        return json!({ "ports": ports });
    };
    let ignored = ignored.map(
        |part| json!({ "offset": part.offset, "text": part.text, "reason": part.reason.name() }),
    );
    json!({ "ports": ports, "ignored": ignored.collect::<Vec<_>>() })
}

/// The ports of a value; ignored parts are not written.
fn ports(kind: Type, value: &Value) -> Result<Vec<PortConfig<'_>>, ValueError> {
    let object = object_of(
        value,
        if kind == Type::PortsStrict { &["ports"] } else { &["ports", "ignored"] },
    )?;
    let Some(list) = object.get("ports").and_then(Value::as_array) else {
        return expected("an object with a list of ports", value);
    };
    let ports = list.iter().enumerate();
    ports
        .map(|(index, item)| port(item).map_err(|error| error.within(&format!("ports[{index}]"))))
        .collect()
}

fn port(value: &Value) -> Result<PortConfig<'_>, ValueError> {
    let object = object_of(value, &["address", "suspend", "type"])?;
    let (address, suspend, kind) =
        (object.get("address"), object.get("suspend"), object.get("type"));
    match (
        address.and_then(Value::as_str),
        suspend.and_then(Value::as_bool),
        kind.and_then(Value::as_str),
    ) {
        (Some(address), Some(suspend), Some("connect")) => Ok(PortConfig {
            address,
            suspend_mode: if suspend { SuspendMode::Suspend } else { SuspendMode::NoSuspend },
            port_type: PortType::Connect,
        }),
        _ => expected("an address, suspend and the type \"connect\"", value),
    }
}

fn written(ports: &[PortConfig<'_>]) -> Result<Vec<u8>, ValueError> {
    let text = WritePorts::new(ports)
        .ok_or_else(|| ValueError::new("no text can express a port's address and type"))?;
    let mut bytes = Vec::new();
    text.encode(&mut bytes).map_err(|error| ValueError::new(error.to_string()))?;
    Ok(bytes)
}
