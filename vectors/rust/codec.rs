//! The codec by name: bytes to value form and back, for the type of any group of vectors.

use alloc::{string::String, vec::Vec};

use super::continuation::{explain_stream, stream_from_value, stream_to_value};
use super::fault::{encoded, is_canonical};
use super::from_json::FromJson;
use super::from_wire::{FromWire, parts_of, value_of};
use super::user_events::{command_from_value, command_to_value, explain_command};
use super::value_forms::{
    advertise, error, error_from_value, reply_from_value, reply_to_value, request_from_value,
    request_to_value, unknown_from_value,
};
use super::{
    Annotation, Arena, DecodeRefusal, EncodeFailure, FieldKind, Type, Value, ValueError, ValueForm,
};
use super::{endpoints, legacy, ports};
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

/// What to read bytes as: a type, and the command that a reply answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypedCodec {
    /// The type.
    pub kind: Type,
    /// Of a request: the command; of a reply or error: the command it answers.
    pub command: Option<Command>,
    /// Whether the server sends it.
    pub from_server: bool,
}

/// The result of decoding.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The actual type: a message that says "error" is one, whatever was expected.
    pub kind: Type,
    /// The value.
    pub value: Value,
    /// Whether encoding the value gives the same bytes.
    pub canonical: bool,
    /// Why a server would still refuse it.
    pub limit: Option<WireError>,
}

impl TypedCodec {
    /// Reads `wire`, which must contain exactly one of these.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(&self, wire: &[u8]) -> Result<Decoded, DecodeRefusal> {
        self.read(wire).map_err(|refusal| {
            // Neither a message of the server nor data for the kernel is answered.
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
            Type::Ports | Type::PortsStrict | Type::DefaultPortSuspend => {
                ports::decode(self.kind, wire).map(of)
            }
            Type::SocketName | Type::PipeName | Type::ProcessStat => {
                endpoints::decode(self.kind, wire).map(of)
            }
            Type::TracepointCommand => {
                let command = TracepointCommand::parse(wire)?;
                Ok(of((command_to_value(command), is_canonical(&command, wire))))
            }
            Type::OldReply => Ok(of((legacy::decode_old_reply(wire)?, true))),
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

    /// The bytes of `value`.
    ///
    /// # Errors
    /// If it is not a value of this type, or does not fit.
    pub fn encode(&self, value: &Value) -> Result<Vec<u8>, EncodeFailure> {
        let arena = Arena::new();
        let unnamed = || EncodeFailure::Value(ValueError::new("expected a command"));
        match self.kind {
            Type::StreamStart => stream_from_value(value).map_err(EncodeFailure::Value),
            Type::Environment => {
                encoded(&Environment::from_value(value, &arena).map_err(EncodeFailure::Value)?)
            }
            Type::Ports | Type::PortsStrict | Type::DefaultPortSuspend => {
                ports::encode(self.kind, value)
            }
            Type::SocketName | Type::PipeName | Type::ProcessStat => {
                endpoints::encode(self.kind, value)
            }
            Type::TracepointCommand => encoded(&command_from_value(value, &arena)?),
            Type::OldReply => {
                encoded(&legacy::reply_from_value(value).map_err(EncodeFailure::Value)?)
            }
            Type::Advertise => {
                let read = advertise(&mut FromJson::new(value, &arena));
                Ok(read.map_err(EncodeFailure::Value)?.to_bytes().into())
            }
            Type::LegacyRequest => {
                let request =
                    DraftCollectTracing::from_value(value, &arena).map_err(EncodeFailure::Value)?;
                encode_to_vec(Command::COLLECT_TRACING, &request).map_err(EncodeFailure::Encode)
            }
            Type::Request => {
                let request = request_from_value(self.command.ok_or_else(unnamed)?, value, &arena)
                    .map_err(EncodeFailure::Value)?;
                encode_to_vec(request.command(), &request).map_err(EncodeFailure::Encode)
            }
            Type::Reply => {
                let reply =
                    reply_from_value(self.command, value, &arena).map_err(EncodeFailure::Value)?;
                encode_to_vec(reply.command(), &reply).map_err(EncodeFailure::Encode)
            }
            Type::Error => {
                let error =
                    error_from_value(self.command, value, &arena).map_err(EncodeFailure::Value)?;
                encode_to_vec(Command::ERROR, &error).map_err(EncodeFailure::Encode)
            }
            Type::Unknown => {
                let (command, payload) =
                    unknown_from_value(value, &arena).map_err(EncodeFailure::Value)?;
                encode_to_vec(command, &Tail(payload)).map_err(EncodeFailure::Encode)
            }
            piece => {
                macro_rules! encode {
                    ($T:ty) => {{ encoded(&<$T>::from_value(value, &arena).map_err(EncodeFailure::Value)?) }};
                }
                for_piece!(piece, encode)
            }
        }
    }

    /// The location of each part of `wire`, as far as it can be read.
    pub fn explain(&self, wire: &[u8]) -> Vec<Annotation> {
        parts_of(wire, |source| self.read_parts(source))
    }

    /// The parts of `wire` to its last byte: those that [`explain`](Self::explain) locates, and the
    /// rest as one that is not decoded.
    pub fn parts(&self, wire: &[u8]) -> Vec<Annotation> {
        let mut parts = self.explain(wire);
        let offset = parts.last().map_or(0, |last| last.offset.saturating_add(last.len));
        let len = wire.len().saturating_sub(offset);
        if len > 0 {
            let (field, text) = (String::new(), "not decoded".into());
            parts.push(Annotation { offset, len, field, kind: FieldKind::Plain, text });
        }
        parts
    }

    fn read_parts(self, source: &mut FromWire<'_>) -> Result<(), WireError> {
        let rest = match self.kind {
            Type::Ports | Type::PortsStrict | Type::DefaultPortSuspend => {
                ports::explain(self.kind, source);
                return Ok(());
            }
            Type::SocketName | Type::PipeName | Type::ProcessStat => {
                return endpoints::explain(self.kind, source);
            }
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
                legacy::explain_old_reply(source)?;
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
