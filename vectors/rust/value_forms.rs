//! The value form of payloads, of messages that are not one payload, of continuations, and of data
//! for the kernel.

use alloc::{format, string::ToString as _, vec::Vec};

use serde_json::{Map, json};

use super::from_wire::{FromWire, value_of};
use super::value::{FromJson, expected, field, hexadecimal, insert, items, object_of};
use super::{Arena, DecodeRefusal, EncodeFailure, FieldKind, Value, ValueError, ValueForm};
use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::continuation::{Entry, Environment, StreamStart};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::legacy::{DraftCollectTracing, DraftErrorCode, OldReply, OldRequest};
use dotnet_diagnostics_ipc::message::eventpipe::{
    EventFilter, ProviderConfig, StreamingProviderConfig, TracepointConfig, TracepointSet,
    UserEventsProviderConfig,
};
use dotnet_diagnostics_ipc::message::server::ErrorReply;
use dotnet_diagnostics_ipc::message::{AnyReply, AnyRequest, Message};
use dotnet_diagnostics_ipc::user_events::{
    Extension, ExtensionItem, Record, RecordV1, RelLoc, TRACEPOINT_FORMAT_V1, TracepointCommand,
    UserReg, UserRegSize, UserUnreg, WrittenRecord,
};
use dotnet_diagnostics_ipc::wire::visit::{Visit, Visitor};
use dotnet_diagnostics_ipc::wire::{
    Array, Decode, Encode, Field, Guid, IpcString, WireError, WireErrorKind,
};

/// Implements the value form of types that any visitor can build.
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

/// Encodes `value`, and returns the value form that `build` reads from the bytes.
pub(super) fn value_of_encoded<T: Encode, R>(
    value: &T,
    build: impl FnOnce(&mut FromWire<'_>) -> Result<R, WireError>,
) -> Value {
    let mut wire = Vec::new();
    // This cannot fail, because no value has more items than its count can express.
    let _ = value.encode(&mut wire);
    value_of(&wire, build)
}

/// Builds an advertise, without its magic, from any source.
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

/// Returns the value of a request; `request` is the decoded `message`.
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

/// Returns the value of a reply to `command`; `reply` is the decoded `message`.
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

/// Reads the OK reply to `command`, if the command is known.
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

/// Reads the error that answers `command`.
pub(super) fn error_from_value<'a>(
    command: Option<Command>,
    value: &'a Value,
    arena: &'a Arena,
) -> Result<ErrorReply<'a>, ValueError> {
    let has_message =
        ErrorReply::has_message(command) && value.get(Field::Message.name()).is_some();
    error(&mut FromJson::new(value, arena), has_message)
}

/// Returns the value of an unknown message: its code and its payload.
fn unknown_to_value(command: Command, payload: &[u8]) -> Value {
    json!({ "code": format!("0x{:04X}", command.code()), "payload": hex::encode(payload) })
}

/// Reads the code and the payload of an unknown message.
pub(super) fn unknown_from_value<'a>(
    value: &'a Value,
    arena: &'a Arena,
) -> Result<(Command, &'a [u8]), ValueError> {
    object_of(value, &["code", "payload"])?;
    let code = value.get("code").unwrap_or(&Value::Null);
    match hexadecimal(code, 4).and_then(|code| u16::try_from(code).ok()) {
        Some(code) => Ok((Command::from_code(code), field(value, "payload", arena)?)),
        None => expected("a code such as \"0x6301\"", code).map_err(|error| error.within("code")),
    }
}

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

/// The value is `{"name", "value"}`, null without `=`, and `"terminated": false` without a NUL.
impl<'a> ValueForm<'a> for Entry<'a> {
    fn to_value(&self) -> Value {
        let mut object = json!({
            "name": self.name().to_value(),
            "value": self.value().unwrap_or(IpcString::ABSENT).to_value(),
        });
        if !self.is_terminated() {
            insert(&mut object, "terminated", false);
        }
        object
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        let object = object_of(value, &["name", "value", "terminated"])?;
        let name: IpcString<'_> = field(value, "name", arena)?;
        let content: IpcString<'_> = field(value, "value", arena)?;
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

/// Returns `{"start", "rest"}`, with `major` and `minor` for `nettrace-blocks`. `rest` is the whole
/// stream if its start is unknown.
pub(super) fn stream_to_value(wire: &[u8]) -> Value {
    let start = StreamStart::recognise(wire);
    let mut object = json!({ "start": name(start) });
    if let StreamStart::NettraceBlocks { major, minor } = start {
        insert(&mut object, "major", major);
        insert(&mut object, "minor", minor);
    }
    let rest = wire.get(start.known_len().unwrap_or(0)..).unwrap_or_default();
    insert(&mut object, "rest", hex::encode(rest));
    object
}

pub(super) fn stream_from_value(value: &Value) -> Result<Vec<u8>, ValueError> {
    object_of(value, &["start", "major", "minor", "rest"])?;
    let arena = Arena::new();
    let start = match value.get("start").and_then(Value::as_str) {
        Some("need-more") => StreamStart::NeedMore,
        Some("nettrace") => StreamStart::Nettrace,
        Some("nettrace-blocks") => StreamStart::NettraceBlocks {
            major: field(value, "major", &arena)?,
            minor: field(value, "minor", &arena)?,
        },
        Some("netperf") => StreamStart::Netperf,
        Some("opaque") => StreamStart::Opaque,
        _ => return Err(ValueError::new("expected the name of a start").within("start")),
    };
    let rest: &[u8] = field(value, "rest", &arena)?;
    let mut bytes = Vec::new();
    // This cannot fail, because there is no count.
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

/// Refuses a value whose `size` is not that of the type.
fn check_size(value: &Value, is_size: bool, what: &str) -> Result<(), ValueError> {
    let key = Field::Size.name();
    let size = value.get(key).filter(|_| !is_size);
    size.map_or(Ok(()), |size| expected(what, size)).map_err(|error| error.within(key))
}

/// Builds the size, if it is known, and the struct. The size determines the padding, which has no
/// value.
fn user_reg<'a, S: Visitor<'a>>(source: &mut S) -> Result<(bool, UserReg), S::Error> {
    source.object(|source| {
        let size = UserRegSize::from_bytes(source.field(Field::Size)?);
        let user_reg = UserReg {
            size: size.unwrap_or_default(),
            enable_bit: source.field(Field::EnableBit)?,
            enable_size: source.field(Field::EnableSize)?,
            flags: source.field(Field::Flags)?,
            enable_addr: source.field(Field::EnableAddr)?,
            name_args: source.field(Field::NameArgs)?,
            write_index: source.field(Field::WriteIndex)?,
        };
        Ok((size.is_some(), user_reg))
    })
}

impl<'a> ValueForm<'a> for UserReg {
    fn to_value(&self) -> Value {
        value_of_encoded(self, |source| user_reg(source))
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        let (is_size, user_reg) = user_reg(&mut FromJson::new(value, arena))?;
        check_size(value, is_size, "28 or 32").map(|()| user_reg)
    }

    fn explain(source: &mut FromWire<'a>) -> Result<(), WireError> {
        let size = UserRegSize::decode(&mut source.reader.clone())?;
        user_reg(source)?;
        let padding = if size == UserRegSize::Padded { 4 } else { 0 };
        source.take(FieldKind::Plain, padding, || "padding".into()).map(|_| ())
    }
}

/// Builds the size and the struct.
fn user_unreg<'a, S: Visitor<'a>>(source: &mut S) -> Result<(u32, UserUnreg), S::Error> {
    source.object(|source| {
        let size = source.field(Field::Size)?;
        let user_unreg = UserUnreg {
            disable_bit: source.field(Field::DisableBit)?,
            reserved: source.field(Field::Reserved)?,
            reserved2: source.field(Field::Reserved2)?,
            disable_addr: source.field(Field::DisableAddr)?,
        };
        Ok((size, user_unreg))
    })
}

impl<'a> ValueForm<'a> for UserUnreg {
    fn to_value(&self) -> Value {
        value_of_encoded(self, |source| user_unreg(source))
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        let (size, user_unreg) = user_unreg(&mut FromJson::new(value, arena))?;
        check_size(value, size == 16u32, "16").map(|()| user_unreg)
    }

    fn explain(source: &mut FromWire<'a>) -> Result<(), WireError> {
        user_unreg(source).map(|_| ())
    }
}

pub(super) fn command_to_value(command: TracepointCommand<'_>) -> Value {
    json!({ "tracepoint_name": command.name().to_value() })
}

pub(super) fn command_from_value<'a>(
    value: &'a Value,
    arena: &'a Arena,
) -> Result<TracepointCommand<'a>, EncodeFailure> {
    let name = FromJson::new(value, arena)
        .object(|source| source.field::<IpcString<'_>>(Field::TracepointName))?;
    Ok(TracepointCommand::new(name)?)
}

pub(super) fn explain_command(source: &mut FromWire<'_>) -> Result<(), WireError> {
    let wire = source.reader.rest();
    let command = TracepointCommand::parse(wire)?;
    let name = wire.len().saturating_sub(TRACEPOINT_FORMAT_V1.len()).saturating_sub(1);
    let text = || format!("tracepoint_name {:?}", command.name());
    source.take(FieldKind::Plain, name, text)?;
    source.take_rest("the fields of format version 1").map(|_| ())
}

fn explain_rel_loc(source: &mut FromWire<'_>, field: Field) -> Result<(), WireError> {
    source.below(format_args!("{}", field.name()), |source| {
        let text = |loc: &RelLoc| format!("{} bytes, {} after this", loc.len, loc.offset);
        source.part(FieldKind::Plain, |_| Value::Null, text).map(|_| ())
    })
}

impl<'a> ValueForm<'a> for WrittenRecord<'a> {
    fn to_value(&self) -> Value {
        let mut object =
            json!({ "write_index": self.write_index, "version": self.record.version() });
        match self.record {
            Record::V1(RecordV1 { event_id, extension, payload }) => {
                insert(&mut object, "event_id", event_id);
                insert(&mut object, "extension", hex::encode(extension));
                insert(&mut object, "payload", hex::encode(payload));
            }
            Record::Other { rest, .. } => insert(&mut object, "rest", hex::encode(rest)),
        }
        object
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        FromJson::new(value, arena).object(|source| {
            let write_index = source.field(Field::WriteIndex)?;
            let record = match source.field(Field::Version)? {
                1u8 => Record::V1(RecordV1 {
                    event_id: source.field(Field::EventId)?,
                    extension: source.field(Field::Extension)?,
                    payload: source.field(Field::Payload)?,
                }),
                version => Record::Other { version, rest: source.field(Field::Rest)? },
            };
            Ok(Self { write_index, record })
        })
    }

    fn explain(source: &mut FromWire<'a>) -> Result<(), WireError> {
        source.field::<u32>(Field::WriteIndex)?;
        if source.field::<u8>(Field::Version)? != 1 {
            return source.take_rest("of an unknown version").map(|_| ());
        }
        source.field::<u16>(Field::EventId)?;
        explain_rel_loc(source, Field::Extension)?;
        explain_rel_loc(source, Field::Payload)?;
        source.take_rest("the bytes of extension and payload").map(|_| ())
    }
}

/// The value is the list of the items.
impl<'a> ValueForm<'a> for Extension<'a> {
    fn to_value(&self) -> Value {
        self.iter().map(|item| item.to_value()).collect()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        items(value, |item| ExtensionItem::from_value(item, arena))
            .map(|items| Self::new(arena.slice(&items)))
    }

    fn explain(source: &mut FromWire<'a>) -> Result<(), WireError> {
        let mut index = 0u32;
        while !source.reader.rest().is_empty() {
            source.below(format_args!("[{index}]"), ExtensionItem::explain)?;
            index = index.saturating_add(1);
        }
        Ok(())
    }
}

pub(super) fn decode_old_reply(wire: &[u8]) -> Result<Value, DecodeRefusal> {
    let decode = if is_short(wire) { OldReply::decode_32 } else { OldReply::decode_64 };
    let (reply, rest) = decode(wire)?;
    if !rest.is_empty() {
        let extra = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        let kind = WireErrorKind::BytesAfterMessage { extra };
        let offset = wire.len().saturating_sub(rest.len());
        return Err(WireError::new(kind, offset).within(Field::SessionId).into());
    }
    Ok(old_reply_to_value(reply))
}

pub(super) fn explain_old_reply(source: &mut FromWire<'_>) -> Result<(), WireError> {
    if is_short(source.reader.rest()) {
        source.field::<u32>(Field::SessionId).map(|_| ())
    } else {
        source.field::<u64>(Field::SessionId).map(|_| ())
    }
}

/// Returns whether the id has 32 bits. Only the length of the vectors' bytes shows that.
fn is_short(wire: &[u8]) -> bool {
    wire.len() <= 4
}

/// Returns `{"bits", "sessionId"}`, in which the id of the error is null.
fn old_reply_to_value(reply: OldReply) -> Value {
    let bits = match reply {
        OldReply::Bits32(_) => 32,
        OldReply::Bits64(_) => 64,
    };
    let id = reply.session_id().map(|id| id.to_string());
    json!({ "bits": bits, "sessionId": id })
}

pub(super) fn old_reply_from_value(value: &Value) -> Result<OldReply, ValueError> {
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
    itself(reply, value, old_reply_to_value, "a session id of 32 or 64 bits")
}

/// `{"code", "name", "hresult"}`, the last two null if there is none.
impl<'a> ValueForm<'a> for DraftErrorCode {
    fn to_value(&self) -> Value {
        let hresult = self.hresult().map_or(Value::Null, |hresult: HResult| hresult.to_value());
        json!({ "code": self.0, "name": self.name(), "hresult": hresult })
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

/// Returns what was read from `value`, if its value form is exactly `value`.
fn itself<T: Copy>(
    read: Option<T>,
    value: &Value,
    to_value: fn(T) -> Value,
    what: &str,
) -> Result<T, ValueError> {
    read.filter(|read| to_value(*read) == *value).map_or_else(|| expected(what, value), Ok)
}
