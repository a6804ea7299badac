//! The codec by type name: decodes bytes of any group of vectors to the value form, and encodes it.

use alloc::vec::Vec;
use core::{fmt, str::FromStr};

use serde::{Deserialize, Serialize, de::IntoDeserializer as _};

use super::fault::{encoded, is_canonical};
use super::from_wire::{FromWire, parts_of, value_of};
use super::value::FromJson;
use super::value_forms::{
    advertise, command_from_value, command_to_value, decode_old_reply, error, error_from_value,
    explain_command, explain_old_reply, explain_stream, old_reply_from_value, reply_from_value,
    reply_to_value, request_from_value, request_to_value, stream_from_value, stream_to_value,
    unknown_from_value,
};
use super::{
    Annotation, Arena, DecodeRefusal, EncodeFailure, FieldKind, Value, ValueError, ValueForm, texts,
};
use dotnet_diagnostics_ipc::advertise::{ADVERTISE_MAGIC, Advertise};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::continuation::Environment;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::legacy::{DraftCollectTracing, DraftErrorCode, OldRequest};
use dotnet_diagnostics_ipc::message::eventpipe::{
    EventFilter, ProviderConfig, StreamingProviderConfig, TracepointConfig, TracepointSet,
    UserEventsProviderConfig,
};
use dotnet_diagnostics_ipc::message::{
    AnyReply, AnyRequest, Message, encode_to_vec, process::Tail, server::ErrorReply,
};
use dotnet_diagnostics_ipc::user_events::{
    Extension, TracepointCommand, UserReg, UserUnreg, WrittenRecord,
};
use dotnet_diagnostics_ipc::wire::{Array, Decode, Guid, IpcString, Reader, Root, WireError};

/// Runs `$piece!(T)` for the type `T` of a piece that is decoded from a [`Reader`].
macro_rules! for_piece {
    ($type:expr, $piece:ident) => {
        match $type {
            Type::Byte => $piece!(u8),
            Type::Ushort | Type::Wchar => $piece!(u16),
            Type::Uint => $piece!(u32),
            Type::Ulong => $piece!(u64),
            Type::HResult => $piece!(HResult),
            Type::Bool => $piece!(bool),
            Type::String => $piece!(IpcString<'_>),
            Type::Guid | Type::Clsid => $piece!(Guid),
            Type::ByteArray => $piece!(&[u8]),
            Type::WcharArray => $piece!(Array<'_, u16>),
            Type::UintArray => $piece!(Array<'_, u32>),
            Type::StringArray => $piece!(Array<'_, IpcString<'_>>),
            Type::EventFilter => $piece!(EventFilter<'_>),
            Type::TracepointSet => $piece!(TracepointSet<'_>),
            Type::TracepointConfig => $piece!(TracepointConfig<'_>),
            Type::ProviderConfig => $piece!(ProviderConfig<'_>),
            Type::StreamingProviderConfig => $piece!(StreamingProviderConfig<'_>),
            Type::UserEventsProviderConfig => $piece!(UserEventsProviderConfig<'_>),
            Type::UserReg => $piece!(UserReg),
            Type::UserUnreg => $piece!(UserUnreg),
            Type::UserEventsRecord => $piece!(WrittenRecord<'_>),
            Type::Extension => $piece!(Extension<'_>),
            Type::OldRequest => $piece!(OldRequest),
            Type::LegacyError => $piece!(DraftErrorCode),
            _ => unreachable!("the callers handle whole messages and texts"),
        }
    };
}

/// The types that are texts.
macro_rules! texts {
    () => {
        Type::Ports
            | Type::PortsStrict
            | Type::DefaultPortSuspend
            | Type::SocketName
            | Type::PipeName
            | Type::ProcessStat
    };
}

/// A codec for the bytes of one type, and for a reply, of the command that it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypedCodec {
    /// The type of the bytes.
    pub kind: Type,
    /// The command, or the answered command of a reply.
    pub command: Option<Command>,
    /// Whether the server sends the bytes.
    pub from_server: bool,
}

/// The result of decoding bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The actual type. A message with the code of an error is an error, whatever was expected.
    pub kind: Type,
    /// The value form.
    pub value: Value,
    /// Whether encoding the value gives the same bytes.
    pub canonical: bool,
    /// The reason why a server would still refuse the message.
    pub limit: Option<WireError>,
}

impl TypedCodec {
    /// Decodes `wire`, which must contain exactly one value of this type.
    ///
    /// # Errors
    /// Returns what is wrong with the bytes.
    pub fn decode(&self, wire: &[u8]) -> Result<Decoded, DecodeRefusal> {
        self.read(wire).map_err(|refusal| {
            // Nobody answers a message of the server or data for the kernel.
            let is_for_kernel = matches!(
                self.kind,
                Type::UserReg
                    | Type::UserUnreg
                    | Type::TracepointCommand
                    | Type::UserEventsRecord
                    | Type::Extension
            );
            let is_answered = !self.from_server && !is_for_kernel;
            DecodeRefusal { answer: refusal.answer.filter(|_| is_answered), ..refusal }
        })
    }

    fn read(self, wire: &[u8]) -> Result<Decoded, DecodeRefusal> {
        let of = |(value, canonical)| Decoded::of(self.kind, value, canonical);
        match self.kind {
            Type::StreamStart => Ok(of((stream_to_value(wire), true))),
            Type::Environment => {
                let environment = Environment::decode(wire)?;
                Ok(of((environment.to_value(), is_canonical(&environment, wire))))
            }
            kind @ texts!() => texts::decode(kind, wire).map(of),
            Type::TracepointCommand => {
                let command = TracepointCommand::parse(wire)?;
                Ok(of((command_to_value(command), is_canonical(&command, wire))))
            }
            Type::OldReply => Ok(of((decode_old_reply(wire)?, true))),
            Type::Advertise => {
                let bytes = Advertise::decode(wire)?.to_bytes();
                let fields = bytes.get(ADVERTISE_MAGIC.len()..).unwrap_or_default();
                Ok(of((value_of(fields, advertise), bytes == wire)))
            }
            Type::LegacyRequest => {
                let message = Message::decode(wire)?;
                message.expect(Command::COLLECT_TRACING)?;
                let (request, _) = message
                    .decode_payload::<DraftCollectTracing<'_>>()
                    .map_err(|e| e.in_root(Root::of(Command::COLLECT_TRACING)))?;
                Ok(of((request.to_value(), message.is_canonical(&request))))
            }
            Type::Request | Type::Reply | Type::Error | Type::Unknown => {
                Ok(Decoded::of_message(&Message::decode(wire)?, self)?)
            }
            piece => {
                macro_rules! decode {
                    ($T:ty) => {{
                        let value = <$T>::decode(&mut Reader::new(wire))?;
                        Ok(of((value.to_value(), is_canonical(&value, wire))))
                    }};
                }
                for_piece!(piece, decode)
            }
        }
    }

    /// Encodes `value`.
    ///
    /// # Errors
    /// If `value` is not a value of this type, or does not fit.
    pub fn encode(&self, value: &Value) -> Result<Vec<u8>, EncodeFailure> {
        let arena = Arena::new();
        Ok(match self.kind {
            Type::StreamStart => stream_from_value(value)?,
            Type::Environment => return encoded(&Environment::from_value(value, &arena)?),
            kind @ texts!() => return texts::encode(kind, value),
            Type::TracepointCommand => return encoded(&command_from_value(value, &arena)?),
            Type::OldReply => return encoded(&old_reply_from_value(value)?),
            Type::Advertise => advertise(&mut FromJson::new(value, &arena))?.to_bytes().into(),
            Type::LegacyRequest => {
                let request = DraftCollectTracing::from_value(value, &arena)?;
                encode_to_vec(Command::COLLECT_TRACING, &request)?
            }
            Type::Request => {
                let command = self.command.ok_or_else(|| ValueError::new("expected a command"))?;
                let request = request_from_value(command, value, &arena)?;
                encode_to_vec(request.command(), &request)?
            }
            Type::Reply => {
                let reply = reply_from_value(self.command, value, &arena)?;
                encode_to_vec(reply.command(), &reply)?
            }
            Type::Error => {
                let error = error_from_value(self.command, value, &arena)?;
                encode_to_vec(Command::ERROR, &error)?
            }
            Type::Unknown => {
                let (command, payload) = unknown_from_value(value, &arena)?;
                encode_to_vec(command, &Tail(payload))?
            }
            piece => {
                macro_rules! encode {
                    ($T:ty) => {
                        encoded(&<$T>::from_value(value, &arena)?)?
                    };
                }
                for_piece!(piece, encode)
            }
        })
    }

    /// Returns the location of each part of `wire`, as far as it can be read.
    pub fn explain(&self, wire: &[u8]) -> Vec<Annotation> {
        parts_of(wire, |source| self.read_parts(source))
    }

    /// Returns the parts of `wire` to its last byte. The bytes that [`explain`](Self::explain) does
    /// not locate are one part, which is not decoded.
    pub fn parts(&self, wire: &[u8]) -> Vec<Annotation> {
        let mut parts = self.explain(wire);
        let offset = parts.last().map_or(0, |last| last.offset.saturating_add(last.len));
        let len = wire.len().saturating_sub(offset);
        if len > 0 {
            parts.push(Annotation::rest(offset, len, "not decoded".into()));
        }
        parts
    }

    fn read_parts(self, source: &mut FromWire<'_>) -> Result<(), WireError> {
        let rest = match self.kind {
            kind @ texts!() => return texts::explain(kind, source),
            Type::StreamStart => return explain_stream(source),
            Type::TracepointCommand => return explain_command(source),
            Type::Advertise => {
                Advertise::decode(source.reader.rest())?;
                source.below(format_args!("magic"), |source| {
                    source.take(FieldKind::Plain, ADVERTISE_MAGIC.len(), || "\"ADVR_V1\"".into())
                })?;
                return advertise(source).map(|_| ());
            }
            Type::Request | Type::Reply | Type::Error | Type::Unknown | Type::LegacyRequest => {
                self.read_message(source)?;
                "after the last field"
            }
            Type::OldReply => {
                explain_old_reply(source)?;
                "after the last field"
            }
            Type::Environment => {
                Environment::explain(source)?;
                "after the last entry"
            }
            piece => {
                macro_rules! explain {
                    ($T:ty) => {
                        <$T>::explain(source)?
                    };
                }
                for_piece!(piece, explain);
                match piece {
                    Type::UserReg | Type::UserUnreg | Type::OldRequest | Type::LegacyError => {
                        "after the last field"
                    }
                    _ => return Ok(()),
                }
            }
        };
        source.take_rest(rest).map(|_| ())
    }

    fn read_message(self, source: &mut FromWire<'_>) -> Result<(), WireError> {
        let wire = source.reader.rest();
        let header = Header::decode(wire)?;
        source.header(header)?;
        let payload = wire.get(HEADER_LEN..wire.len().min(header.size.into())).unwrap_or_default();
        source.reader = Reader::at(payload, HEADER_LEN);
        match (self.kind, header.command) {
            (Type::LegacyRequest, _) => DraftCollectTracing::explain(source),
            (_, Command::ERROR) if self.from_server => {
                let has_message =
                    ErrorReply::has_message(self.command) && payload.len() > HResult::MIN_LEN;
                error(source, has_message).map(|_| ())
            }
            (_, Command::OK) if self.from_server => {
                match self.command.and_then(Command::reply_type) {
                    Some(reply_type) if !payload.is_empty() => {
                        AnyReply::build(reply_type, source).map(|_| ())
                    }
                    _ => Ok(()),
                }
            }
            (_, command) => AnyRequest::build(command, source).map(|_| ()),
        }
    }
}

impl Decoded {
    fn of(kind: Type, value: Value, canonical: bool) -> Self {
        Self { kind, value, canonical, limit: None }
    }

    fn of_message(message: &Message<'_>, subject: TypedCodec) -> Result<Self, WireError> {
        if subject.from_server {
            let reply = message.reply_to(subject.command)?;
            let kind = match reply {
                AnyReply::Error(_) => Type::Error,
                AnyReply::Unknown { .. } => Type::Unknown,
                _ => Type::Reply,
            };
            return Ok(Self::of(
                kind,
                reply_to_value(message, subject.command, &reply),
                message.is_canonical(&reply),
            ));
        }
        let request = message.request()?;
        let kind = if matches!(request, AnyRequest::Unknown { .. }) {
            Type::Unknown
        } else {
            Type::Request
        };
        let limit = request.check_limits().err();
        Ok(Self {
            limit,
            ..Self::of(kind, request_to_value(message, &request), message.is_canonical(&request))
        })
    }
}

macro_rules! types {
    ($($Type:ident = $name:literal,)*) => {
        /// The type of a group's bytes, which is the `type` of the vectors.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "the names are those of vectors/README.md")]
        pub enum Type {
            $(#[serde(rename = $name)] $Type,)*
        }
    };
}

types! {
    Request = "request",
    Reply = "reply",
    Error = "error",
    Unknown = "unknown",
    LegacyRequest = "legacy-request",
    Advertise = "advertise",
    Byte = "byte",
    Ushort = "ushort",
    Uint = "uint",
    Ulong = "ulong",
    HResult = "hresult",
    Bool = "bool",
    Wchar = "wchar",
    String = "string",
    Guid = "guid",
    Clsid = "clsid",
    ByteArray = "array<byte>",
    WcharArray = "array<wchar>",
    UintArray = "array<uint>",
    StringArray = "array<string>",
    EventFilter = "event_filter",
    TracepointSet = "tracepoint_set",
    TracepointConfig = "tracepoint_config",
    ProviderConfig = "provider_config",
    StreamingProviderConfig = "streaming_provider_config",
    UserEventsProviderConfig = "user_events_provider_config",
    Environment = "environment",
    StreamStart = "stream-start",
    Ports = "ports",
    PortsStrict = "ports-strict",
    DefaultPortSuspend = "default-port-suspend",
    SocketName = "socket-name",
    PipeName = "pipe-name",
    ProcessStat = "process-stat",
    UserReg = "user_reg",
    UserUnreg = "user_unreg",
    TracepointCommand = "tracepoint-command",
    UserEventsRecord = "user_events-record",
    Extension = "extension",
    OldRequest = "old-request",
    OldReply = "old-reply",
    LegacyError = "legacy-error",
}

/// Prints the name in the vectors.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Type {
    /// Whether its bytes are text.
    pub const fn is_text(self) -> bool {
        matches!(self, texts!())
    }
}

/// Parses the name in the vectors. `user-events` and `legacy` are short for two of the names.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::Type;
///
/// assert_eq!("array<byte>".parse(), Ok(Type::ByteArray));
/// assert_eq!("legacy".parse(), Ok(Type::LegacyRequest));
/// assert!("nonsense".parse::<Type>().is_err());
/// ```
impl FromStr for Type {
    type Err = ParseTypeError;

    fn from_str(name: &str) -> Result<Self, ParseTypeError> {
        let name = match name {
            "user-events" => "user_events-record",
            "legacy" => "legacy-request",
            name => name,
        };
        let read: Result<Self, serde::de::value::Error> =
            Self::deserialize(name.into_deserializer());
        read.map_err(|_| ParseTypeError(()))
    }
}

/// The error of a text that is not the name of a [`Type`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseTypeError(());

impl fmt::Display for ParseTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`type` in vectors/README.md lists the types")
    }
}

impl core::error::Error for ParseTypeError {}
