//! The codec by name: bytes to value form and back, for the type of any group of vectors.

use alloc::vec::Vec;

use super::annotate::{Annotate as _, Annotating};
use super::fault::{encoded, is_canonical};
use super::types::Family;
use super::value_forms::{
    error_from_value, reply_from_value, reply_to_value, request_from_value, request_to_value,
    unknown_from_value,
};
use super::{
    Annotation, Annotations, Arena, DecodeRefusal, EncodeFailure, Type, Value, ValueError,
    ValueForm,
};
use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::legacy::DraftCollectTracing;
use dotnet_diagnostics_ipc::message::eventpipe::{
    EventFilter, ProviderConfig, StreamingProviderConfig, TracepointConfig, TracepointSet,
    UserEventsProviderConfig,
};
use dotnet_diagnostics_ipc::message::{
    AnyReply, AnyRequest, Message, encode_to_vec, process::Tail,
};
use dotnet_diagnostics_ipc::wire::{Array, Decode, Guid, IpcString, Reader, Root, WireError};

/// Runs `$piece!(T)` for the type `T` of a piece of payload.
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
            _ => unreachable!("a whole message, or a type with a family, is not a piece"),
        }
    };
}

/// What to read bytes as: a type, and the command that a reply answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadAs {
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

impl ReadAs {
    /// Reads `wire`, which must contain exactly one of these.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(&self, wire: &[u8]) -> Result<Decoded, DecodeRefusal> {
        // Messages of the server are not answered.
        self.read(wire).map_err(|refusal| {
            if self.from_server { DecodeRefusal { answer: None, ..refusal } } else { refusal }
        })
    }

    fn read(self, wire: &[u8]) -> Result<Decoded, DecodeRefusal> {
        if let Some(family) = family_of(self.kind) {
            let (value, canonical) = (family.decode)(self.kind, wire)?;
            return Ok(Decoded::of(self.kind, value, canonical));
        }
        match self.kind {
            Type::Advertise => {
                let advertise = Advertise::decode(wire)?;
                Ok(Decoded {
                    kind: Type::Advertise,
                    value: advertise.to_value(),
                    canonical: advertise.to_bytes() == wire,
                    limit: None,
                })
            }
            Type::LegacyRequest => {
                let message = Message::decode(wire)?;
                message.expect(Command::COLLECT_TRACING)?;
                let (request, _) = message
                    .decode_payload::<DraftCollectTracing<'_>>()
                    .map_err(|e| e.in_root(Root::of(Command::COLLECT_TRACING)))?;
                Ok(Decoded::of(
                    Type::LegacyRequest,
                    request.to_value(),
                    message.is_canonical(&request),
                ))
            }
            Type::Request | Type::Reply | Type::Error | Type::Unknown => {
                Ok(Decoded::of_message(&Message::decode(wire)?, self)?)
            }
            piece => {
                macro_rules! decode {
                    ($T:ty) => {{
                        let value = <$T>::decode(&mut Reader::new(wire))?;
                        Ok(Decoded::of(piece, value.to_value(), is_canonical(&value, wire)))
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
        if let Some(family) = family_of(self.kind) {
            return (family.encode)(self.kind, value);
        }
        let arena = Arena::new();
        let unnamed = || EncodeFailure::Value(ValueError::new("expected a command"));
        match self.kind {
            Type::Advertise => {
                let advertise =
                    Advertise::from_value(value, &arena).map_err(EncodeFailure::Value)?;
                Ok(advertise.to_bytes().to_vec())
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
    pub fn annotate(&self, wire: &[u8]) -> Annotations {
        let mut notes = Annotations::default();
        if let Some(family) = family_of(self.kind) {
            (family.annotate)(self.kind, wire, &mut notes);
            return notes;
        }
        // `decode` reports the fault.
        let _ = self.try_annotate(wire, &mut notes);
        notes
    }

    /// The parts of `wire` to its last byte: those that [`annotate`](Self::annotate) locates, and the rest
    /// as one that is not decoded.
    pub fn parts(&self, wire: &[u8]) -> Vec<Annotation> {
        self.annotate(wire).into_parts(wire.len())
    }

    fn try_annotate(self, wire: &[u8], notes: &mut Annotations) -> Result<(), WireError> {
        match self.kind {
            Type::Advertise => notes.advertise(wire),
            Type::Request | Type::Reply | Type::Error | Type::Unknown | Type::LegacyRequest => {
                let header = Header::decode(wire)?;
                notes.header(header);
                let payload =
                    wire.get(HEADER_LEN..wire.len().min(header.size.into())).unwrap_or_default();
                let mut reader = Reader::at(payload, HEADER_LEN);
                match (self.kind, header.command) {
                    (Type::LegacyRequest, _) => DraftCollectTracing::annotate(&mut reader, notes)?,
                    (_, Command::ERROR) if self.from_server => {
                        notes.error(self.command, &mut reader)?;
                    }
                    (_, Command::OK) if self.from_server && reader.rest().is_empty() => {}
                    (_, Command::OK) if self.from_server => {
                        if let Some(reply_type) = self.command.and_then(Command::reply_type) {
                            AnyReply::build(
                                reply_type,
                                &mut Annotating { reader: &mut reader, notes },
                            )?;
                        }
                    }
                    (_, command) => {
                        AnyRequest::build(command, &mut Annotating { reader: &mut reader, notes })?;
                    }
                }
                if !reader.rest().is_empty() {
                    notes.surplus(reader.offset(), reader.rest().len(), "after the last field");
                }
                Ok(())
            }
            piece => {
                macro_rules! annotate {
                    ($T:ty) => {
                        <$T>::annotate(&mut Reader::new(wire), notes)
                    };
                }
                for_piece!(piece, annotate)
            }
        }
    }
}

impl Decoded {
    fn of(kind: Type, value: Value, canonical: bool) -> Self {
        Self { kind, value, canonical, limit: None }
    }

    fn of_message(message: &Message<'_>, subject: ReadAs) -> Result<Self, WireError> {
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

/// How to read and write a type that is not a piece of a payload.
fn family_of(kind: Type) -> Option<&'static Family> {
    match kind {
        Type::Environment | Type::StreamStart => Some(&super::continuation::FAMILY),
        Type::Ports | Type::PortsStrict | Type::DefaultPortSuspend => Some(&super::ports::FAMILY),
        Type::SocketName | Type::PipeName | Type::ProcessStat => Some(&super::endpoints::FAMILY),
        Type::UserReg
        | Type::UserUnreg
        | Type::TracepointCommand
        | Type::UserEventsRecord
        | Type::Extension => Some(&super::user_events::FAMILY),
        Type::OldRequest | Type::OldReply | Type::LegacyError => Some(&super::legacy::FAMILY),
        _ => None,
    }
}
