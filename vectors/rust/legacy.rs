//! Parts of the 2019 editions by name: value form and bytes.

use alloc::{string::ToString as _, vec::Vec};

use super::annotate::Annotate as _;
use super::fault::encoded;
use super::types::{Family, Type};
use super::value::expected;
use super::{Annotations, Arena, Value, ValueError, ValueForm};
use super::{DecodeRefusal, EncodeFailure};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::legacy::{DraftErrorCode, OldReply, OldRequest, SessionIdWidth};
use dotnet_diagnostics_ipc::wire::{Decode as _, Field, Reader, WireError, WireErrorKind};

pub(super) const FAMILY: Family = Family { decode, encode, annotate };

fn decode(kind: Type, wire: &[u8]) -> Result<(Value, bool), DecodeRefusal> {
    let mut reader = Reader::new(wire);
    Ok(match kind {
        Type::OldRequest => {
            let request = OldRequest::decode(&mut reader)?;
            (request.to_value(), reader.rest().is_empty())
        }
        Type::OldReply => {
            let (reply, rest) = OldReply::decode_prefix(wire, width(wire.len()))?;
            if !rest.is_empty() {
                let kind = WireErrorKind::BytesAfterMessage {
                    extra: u32::try_from(rest.len()).unwrap_or(u32::MAX),
                };
                return Err(WireError::new(kind, reply.width().bytes())
                    .within(Field::SessionId)
                    .into());
            }
            (reply_to_value(reply), true)
        }
        _ => {
            let code = DraftErrorCode::decode(&mut reader)?;
            (code_to_value(code), reader.rest().is_empty())
        }
    })
}

fn encode(kind: Type, value: &Value) -> Result<Vec<u8>, EncodeFailure> {
    let arena = Arena::new();
    match kind {
        Type::OldRequest => {
            encoded(&OldRequest::from_value(value, &arena).map_err(EncodeFailure::Value)?)
        }
        Type::OldReply => encoded(&reply_from_value(value).map_err(EncodeFailure::Value)?),
        _ => encoded(&code_from_value(value).map_err(EncodeFailure::Value)?),
    }
}

fn annotate(kind: Type, wire: &[u8], notes: &mut Annotations) {
    let mut reader = Reader::new(wire);
    let read = match kind {
        Type::OldRequest => OldRequest::annotate(&mut reader, notes),
        Type::OldReply if width(wire.len()) == SessionIdWidth::Bits32 => {
            notes.field::<u32>(Field::SessionId, &mut reader)
        }
        Type::OldReply => notes.field::<u64>(Field::SessionId, &mut reader),
        _ => DraftErrorCode::annotate(&mut reader, notes),
    };
    // `decode` reports the fault.
    if read.is_ok() && !reader.rest().is_empty() {
        notes.surplus(reader.offset(), reader.rest().len(), "after the last field");
    }
}

/// The bytes do not show it; in the vectors their length does.
fn width(len: usize) -> SessionIdWidth {
    if len <= 4 { SessionIdWidth::Bits32 } else { SessionIdWidth::Bits64 }
}

/// `{"bits", "sessionId"}`; the id is null in the error.
fn reply_to_value(reply: OldReply) -> Value {
    let id = reply.session_id().map(|id| id.to_string());
    serde_json::json!({ "bits": reply.width().bytes().saturating_mul(8), "sessionId": id })
}

fn reply_from_value(value: &Value) -> Result<OldReply, ValueError> {
    let id = match value.get("sessionId") {
        Some(Value::String(digits)) => digits.parse().ok(),
        Some(Value::Null) => Some(0),
        _ => None,
    };
    let reply = match (id, value.get("bits").and_then(Value::as_u64)) {
        (Some(id), Some(32)) => u32::try_from(id).ok().map(OldReply::new_32),
        (Some(id), Some(64)) => Some(OldReply::new_64(id)),
        _ => None,
    };
    itself(reply, value, reply_to_value, "a session id of 32 or 64 bits")
}

/// `{"code", "name", "hresult"}`, the last two null if there is none.
fn code_to_value(code: DraftErrorCode) -> Value {
    let hresult = code.hresult().map_or(Value::Null, |hresult: HResult| hresult.to_value());
    serde_json::json!({ "code": code.0, "name": code.name(), "hresult": hresult })
}

fn code_from_value(value: &Value) -> Result<DraftErrorCode, ValueError> {
    let code = value.get("code").and_then(Value::as_u64).and_then(|code| u32::try_from(code).ok());
    itself(code.map(DraftErrorCode), value, code_to_value, "a code with its own name and HRESULT")
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
