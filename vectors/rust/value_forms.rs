//! The value form of payloads, and of messages that are not one payload.

use alloc::{format, vec::Vec};

use serde_json::Map;

use super::from_json::FromJson;
use super::from_wire::{FromWire, value_of};
use super::value::{expected, hexadecimal, object_of};
use super::{Arena, Value, ValueError, ValueForm};
use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::legacy::{DraftCollectTracing, OldRequest};
use dotnet_diagnostics_ipc::message::eventpipe::{
    EventFilter, ProviderConfig, StreamingProviderConfig, TracepointConfig, TracepointSet,
    UserEventsProviderConfig,
};
use dotnet_diagnostics_ipc::message::server::ErrorReply;
use dotnet_diagnostics_ipc::message::{AnyReply, AnyRequest, Message};
use dotnet_diagnostics_ipc::user_events::ExtensionItem;
use dotnet_diagnostics_ipc::wire::visit::{Visit, Visitor};
use dotnet_diagnostics_ipc::wire::{Array, Encode, Field, Guid, IpcString, WireError};

/// The value form of types that any visitor can build.
macro_rules! visited {
    ($($T:ty),* $(,)?) => {$(
        impl<'a> ValueForm<'a> for $T {
            fn to_value(&self) -> Value {
                value_of_encoded(self, |source| <$T>::build(source))
            }

            fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
                <$T>::build(&mut FromJson::new(value, arena))
            }

            fn explain(source: &mut FromWire<'a>) -> Result<(), WireError> {
                <$T>::build(source).map(|_| ())
            }
        }
    )*};
}

visited! {
    u8, u16, u32, u64, bool, HResult, Guid, IpcString<'a>, &'a [u8],
    Array<'a, u16>, Array<'a, u32>, Array<'a, IpcString<'a>>,
    EventFilter<'a>, TracepointSet<'a>, TracepointConfig<'a>,
    ProviderConfig<'a>, StreamingProviderConfig<'a>, UserEventsProviderConfig<'a>,
    DraftCollectTracing<'a>, OldRequest, ExtensionItem<'a>,
}

/// The value that `build` reads from the bytes of `value`.
pub(super) fn value_of_encoded<T: Encode, R>(
    value: &T,
    build: impl FnOnce(&mut FromWire<'_>) -> Result<R, WireError>,
) -> Value {
    let mut wire = Vec::new();
    // Cannot fail: no value has more items than its count can express.
    let _ = value.encode(&mut wire);
    value_of(&wire, build)
}

/// Builds an advertise from any source, after the magic.
pub(super) fn advertise<'a, S: Visitor<'a>>(source: &mut S) -> Result<Advertise, S::Error> {
    source.object(|source| {
        Ok(Advertise {
            runtime_cookie: source.field(Field::RuntimeCookie)?,
            process_id: source.field(Field::ProcessId)?,
            future: source.field(Field::Future)?,
        })
    })
}

/// Builds an error reply, with or without a text, from any source.
pub(super) fn error<'a, S: Visitor<'a>>(
    source: &mut S,
    has_message: bool,
) -> Result<ErrorReply<'a>, S::Error> {
    source.object(|source| {
        let hresult = source.field(Field::HResult)?;
        let message = if has_message { Some(source.field(Field::Message)?) } else { None };
        Ok(ErrorReply { hresult, message })
    })
}

/// The value of a request: `request` is the decoded `message`.
pub(super) fn request_to_value(message: &Message<'_>, request: &AnyRequest<'_>) -> Value {
    match request {
        AnyRequest::Unknown { command, payload } => unknown_to_value(*command, payload),
        _ => value_of(message.payload, |source| AnyRequest::build(message.command, source)),
    }
}

pub(super) fn request_from_value<'a>(
    command: Command,
    value: &'a Value,
    arena: &'a Arena,
) -> Result<AnyRequest<'a>, ValueError> {
    match AnyRequest::build(command, &mut FromJson::new(value, arena))? {
        Some(request) => Ok(request),
        None => unknown_from_value(value, arena)
            .map(|(command, payload)| AnyRequest::Unknown { command, payload }),
    }
}

/// The value of a reply to `command`: `reply` is the decoded `message`.
pub(super) fn reply_to_value(
    message: &Message<'_>,
    command: Option<Command>,
    reply: &AnyReply<'_>,
) -> Value {
    match (reply, command.and_then(Command::reply_type)) {
        (AnyReply::OkWithoutPayload, _) => Map::new().into(),
        (AnyReply::Error(read), _) => {
            value_of(message.payload, |source| error(source, read.message.is_some()))
        }
        (_, None) => unknown_to_value(Command::OK, message.payload),
        (_, Some(reply_type)) => {
            value_of(message.payload, |source| AnyReply::build(reply_type, source))
        }
    }
}

/// The OK reply to `command`, if it is known.
pub(super) fn reply_from_value<'a>(
    command: Option<Command>,
    value: &'a Value,
    arena: &'a Arena,
) -> Result<AnyReply<'a>, ValueError> {
    if value.as_object().is_some_and(Map::is_empty) {
        return Ok(AnyReply::OkWithoutPayload);
    }
    match command.and_then(Command::reply_type) {
        Some(reply_type) => AnyReply::build(reply_type, &mut FromJson::new(value, arena)),
        None => match unknown_from_value(value, arena)? {
            (Command::OK, payload) => Ok(AnyReply::Unknown { payload }),
            _ => Err(ValueError::new("expected 0xFF00, the code of a reply").within("code")),
        },
    }
}

/// The error that answers `command`.
pub(super) fn error_from_value<'a>(
    command: Option<Command>,
    value: &'a Value,
    arena: &'a Arena,
) -> Result<ErrorReply<'a>, ValueError> {
    let has_message =
        ErrorReply::has_message(command) && value.get(Field::Message.name()).is_some();
    error(&mut FromJson::new(value, arena), has_message)
}

/// The value of an unknown message: its code and its payload.
fn unknown_to_value(command: Command, payload: &[u8]) -> Value {
    serde_json::json!({ "code": format!("0x{:04X}", command.code()), "payload": hex::encode(payload) })
}

/// The code and the payload of an unknown message.
pub(super) fn unknown_from_value<'a>(
    value: &'a Value,
    arena: &'a Arena,
) -> Result<(Command, &'a [u8]), ValueError> {
    let object = object_of(value, &["code", "payload"])?;
    let field =
        |name: &str| object.get(name).ok_or_else(|| ValueError::new("missing").within(name));
    let code = field("code")?;
    let code = hexadecimal(code, 4)
        .and_then(|code| u16::try_from(code).ok())
        .map_or_else(|| expected("a code such as \"0x6301\"", code), Ok);
    let payload = ValueForm::from_value(field("payload")?, arena)
        .map_err(|error: ValueError| error.within("payload"))?;
    Ok((Command::from_code(code.map_err(|error| error.within("code"))?), payload))
}
