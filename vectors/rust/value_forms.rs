//! The value form of payloads, and of messages that are not one payload.

use alloc::{format, vec::Vec};

use serde_json::Map;

use super::annotate::{Annotate, Annotating};
use super::from_json::{FromJson, object};
use super::to_json::{ObjectWriter, ToJson};
use super::value::{expected, hexadecimal, object_of};
use super::{Annotations, Arena, Value, ValueError, ValueForm};
use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::legacy::{DraftCollectTracing, DraftErrorCode, OldRequest};
use dotnet_diagnostics_ipc::message::eventpipe::{
    EventFilter, ProviderConfig, StreamingProviderConfig, TracepointConfig, TracepointSet,
    UserEventsProviderConfig,
};
use dotnet_diagnostics_ipc::message::server::ErrorReply;
use dotnet_diagnostics_ipc::message::{AnyReply, AnyRequest, Message};
use dotnet_diagnostics_ipc::user_events::ExtensionItem;
use dotnet_diagnostics_ipc::wire::visit::Visit;
use dotnet_diagnostics_ipc::wire::{Array, Field, Guid, IpcString, Reader, WireError};

/// The value form, and the location of the parts, of types that any visitor can build.
macro_rules! visited {
    ($($T:ty),* $(,)?) => {$(
        impl<'a> ValueForm<'a> for $T {
            fn to_value(&self) -> Value {
                to_value(self)
            }

            fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
                <$T>::build(&mut FromJson::new(value, arena))
            }
        }

        impl<'a> Annotate<'a> for $T {
            fn annotate(
                reader: &mut Reader<'a>,
                notes: &mut Annotations,
            ) -> Result<(), WireError> {
                <$T>::build(&mut Annotating { reader, notes }).map(|_| ())
            }
        }
    )*};
}

visited! {
    u8, u16, u32, u64, bool, HResult, Guid, IpcString<'a>, &'a [u8],
    Array<'a, u16>, Array<'a, u32>, Array<'a, IpcString<'a>>,
    EventFilter<'a>, TracepointSet<'a>, TracepointConfig<'a>,
    ProviderConfig<'a>, StreamingProviderConfig<'a>, UserEventsProviderConfig<'a>,
    DraftCollectTracing<'a>, DraftErrorCode, OldRequest, ExtensionItem<'a>,
}

fn to_value<'a, T: Visit<'a>>(value: &T) -> Value {
    let mut wire = Vec::new();
    // Cannot fail: no value has more items than its count can express, and an encoded value can
    // be read.
    let _ = value.encode(&mut wire);
    ToJson::of(&wire, |source| T::build(source)).unwrap_or_default()
}

/// The value of a request: `request` is the decoded `message`.
pub(super) fn request_to_value(message: &Message<'_>, request: &AnyRequest<'_>) -> Value {
    match request {
        AnyRequest::Unknown { command, payload } => unknown_to_value(*command, payload),
        _ => payload_to_value(message, |source| AnyRequest::build(message.command, source)),
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
        (AnyReply::OkWithoutPayload, _) => ObjectWriter::new().finish(),
        (AnyReply::Error(error), _) => error_to_value(error),
        (_, None) => unknown_to_value(Command::OK, message.payload),
        (_, Some(reply_type)) => {
            payload_to_value(message, |source| AnyReply::build(reply_type, source))
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

fn payload_to_value<'w, T>(
    message: &Message<'w>,
    build: impl FnOnce(&mut ToJson<'w>) -> Result<T, WireError>,
) -> Value {
    // Cannot fail: the message was decoded before.
    ToJson::of(message.payload, build).unwrap_or_default()
}

fn error_to_value(error: &ErrorReply<'_>) -> Value {
    let object = ObjectWriter::new().field(Field::HResult, &error.hresult);
    match &error.message {
        Some(message) => object.field(Field::Message, message).finish(),
        None => object.finish(),
    }
}

/// The error that answers `command`.
pub(super) fn error_from_value<'a>(
    command: Option<Command>,
    value: &'a Value,
    arena: &'a Arena,
) -> Result<ErrorReply<'a>, ValueError> {
    object(value, arena, |object| {
        let hresult = object.get(Field::HResult)?;
        let texted = ErrorReply::has_message(command) && value.get(Field::Message.name()).is_some();
        Ok(ErrorReply {
            hresult,
            message: if texted { Some(object.get(Field::Message)?) } else { None },
        })
    })
}

impl<'a> ValueForm<'a> for Advertise {
    fn to_value(&self) -> Value {
        ObjectWriter::new()
            .field(Field::RuntimeCookie, &self.runtime_cookie)
            .field(Field::ProcessId, &self.process_id)
            .field(Field::Future, &self.future)
            .finish()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        object(value, arena, |object| {
            Ok(Self {
                runtime_cookie: object.get(Field::RuntimeCookie)?,
                process_id: object.get(Field::ProcessId)?,
                future: object.get(Field::Future)?,
            })
        })
    }
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
