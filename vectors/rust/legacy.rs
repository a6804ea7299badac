//! The value form of parts of the 2019 editions.

use alloc::string::ToString as _;

use super::from_wire::FromWire;
use super::value::expected;
use super::{Arena, DecodeRefusal, Value, ValueError, ValueForm};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::legacy::{DraftErrorCode, OldReply};
use dotnet_diagnostics_ipc::wire::visit::{Visit as _, Visitor as _};
use dotnet_diagnostics_ipc::wire::{Field, WireError, WireErrorKind};

pub(super) fn decode_old_reply(wire: &[u8]) -> Result<Value, DecodeRefusal> {
    let decode = if is_short(wire) { OldReply::decode_32 } else { OldReply::decode_64 };
    let (reply, rest) = decode(wire)?;
    if !rest.is_empty() {
        let extra = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        let kind = WireErrorKind::BytesAfterMessage { extra };
        let offset = wire.len().saturating_sub(rest.len());
        return Err(WireError::new(kind, offset).within(Field::SessionId).into());
    }
    Ok(reply_to_value(reply))
}

pub(super) fn explain_old_reply(source: &mut FromWire<'_>) -> Result<(), WireError> {
    if is_short(source.reader.rest()) {
        source.field::<u32>(Field::SessionId).map(|_| ())
    } else {
        source.field::<u64>(Field::SessionId).map(|_| ())
    }
}

/// Whether the id has 32 bits. The bytes do not show it; in the vectors their length does.
fn is_short(wire: &[u8]) -> bool {
    wire.len() <= 4
}

/// `{"bits", "sessionId"}`; the id is null in the error.
fn reply_to_value(reply: OldReply) -> Value {
    let bits = match reply {
        OldReply::Bits32(_) => 32,
        OldReply::Bits64(_) => 64,
    };
    let id = reply.session_id().map(|id| id.to_string());
    serde_json::json!({ "bits": bits, "sessionId": id })
}

pub(super) fn reply_from_value(value: &Value) -> Result<OldReply, ValueError> {
    let id = match value.get("sessionId") {
        Some(Value::String(digits)) => digits.parse().ok(),
        Some(Value::Null) => Some(0),
        _ => None,
    };
    let reply = match (id, value.get("bits").and_then(Value::as_u64)) {
        (Some(id), Some(32)) => u32::try_from(id).ok().map(OldReply::Bits32),
        (Some(id), Some(64)) => Some(OldReply::Bits64(id)),
        _ => None,
    };
    itself(reply, value, reply_to_value, "a session id of 32 or 64 bits")
}

/// `{"code", "name", "hresult"}`, the last two null if there is none.
impl<'a> ValueForm<'a> for DraftErrorCode {
    fn to_value(&self) -> Value {
        let hresult = self.hresult().map_or(Value::Null, |hresult: HResult| hresult.to_value());
        serde_json::json!({ "code": self.0, "name": self.name(), "hresult": hresult })
    }

    fn from_value(value: &'a Value, _: &'a Arena) -> Result<Self, ValueError> {
        let code = value.get("code").and_then(Value::as_u64);
        let code = code.and_then(|code| u32::try_from(code).ok()).map(Self);
        itself(code, value, |code| code.to_value(), "a code with its own name and HRESULT")
    }

    fn explain(source: &mut FromWire<'a>) -> Result<(), WireError> {
        Self::build(source).map(|_| ())
    }
}

/// What was read from `value`, if it has exactly this value.
fn itself<T: Copy>(
    read: Option<T>,
    value: &Value,
    to_value: fn(T) -> Value,
    what: &str,
) -> Result<T, ValueError> {
    read.filter(|read| to_value(*read) == *value).map_or_else(|| expected(what, value), Ok)
}
