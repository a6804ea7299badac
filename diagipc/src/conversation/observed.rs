//! What is observed in a conversation: faults, counts of bytes, and the message that a request is.

use std::fmt;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, RawHeader};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message};
use dotnet_diagnostics_ipc_vectors::{Type, TypedCodec};

use crate::CaseFault;
use crate::faults::Fault;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FaultSeen {
    pub(crate) fault: Fault,
    /// The observation, with its values.
    pub(crate) text: String,
    /// Whether no server may do this, even where the document leaves details open.
    pub(crate) is_certain: bool,
}

impl FaultSeen {
    pub(crate) fn new(fault: Fault, text: impl Into<String>) -> Self {
        Self { fault, text: text.into(), is_certain: false }
    }

    /// That a reply is incomplete: the connection ended, or nothing more came in time.
    pub(super) fn cut(quiet: Option<End>, text: String) -> Self {
        match quiet {
            Some(End::TimedOut) => Self::new(Fault::NoAnswer, format!("{text} in time")),
            _ => Self::new(Fault::ReplyCut, text),
        }
    }

    /// Whether something did not come in time. It may on a machine that is less busy.
    pub(crate) const fn is_time_out(&self) -> bool {
        matches!(
            self.fault,
            Fault::NoAnswer
                | Fault::NoAnswerToUnknownCommand
                | Fault::NoAnswerToMalformedRequest
                | Fault::ConnectionLeftOpen
                | Fault::StreamDoesNotEnd
                | Fault::PortNotConnected
        )
    }

    /// Whether no message is wrong in itself: it may be another correct behaviour.
    pub(crate) const fn may_be_habit(&self) -> bool {
        let is_without_message = matches!(
            self.fault,
            Fault::ClosesBeforeReply
                | Fault::ReplyCut
                | Fault::Crash
                | Fault::ConnectionReset
                | Fault::StreamEmpty
                | Fault::RequestInPiecesMisread
                | Fault::ValueDiffers
                | Fault::ValidRequestRefused
                | Fault::LimitsUnchecked
        );
        !self.is_certain && (is_without_message || self.is_time_out())
    }
}

impl From<&FaultSeen> for CaseFault {
    fn from(seen: &FaultSeen) -> Self {
        Self { name: seen.fault.name().to_owned(), text: seen.text.clone() }
    }
}

/// `1 byte`, `2 bytes`.
#[derive(Clone, Copy)]
pub(crate) struct ByteCount(pub(crate) usize);

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} byte{ending}", self.0)
    }
}

/// Returns the command of a request, if its header was sent, whatever its magic.
pub(super) fn command_of(request: &[u8]) -> Option<Command> {
    RawHeader::read(request).command.filter(|_| request.len() >= HEADER_LEN)
}

/// Whether there are fewer bytes than the size announces.
pub(crate) fn is_cut(wire: &[u8]) -> bool {
    wire.len() < HEADER_LEN || size(wire).is_some_and(|size| wire.len() < size)
}

/// Whether the size is less than that of a header.
pub(crate) fn is_too_small(wire: &[u8]) -> bool {
    size(wire).is_some_and(|size| size < HEADER_LEN)
}

/// Returns the message at the front, by its size: all bytes if that is missing, or beyond them.
pub(crate) fn message_of(wire: &[u8]) -> &[u8] {
    size(wire).and_then(|size| wire.get(..size)).unwrap_or(wire)
}

/// Returns how a request is read: as this command, or as that of its header.
pub(crate) const fn request_as(command: Option<Command>) -> TypedCodec {
    TypedCodec { kind: Type::Request, command, from_server: false }
}

fn size(wire: &[u8]) -> Option<usize> {
    RawHeader::read(wire).size.map(usize::from)
}

/// Whether a descriptor belongs to this request.
pub(crate) fn wants_descriptor(wire: &[u8]) -> bool {
    use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing5, CollectTracing6};
    let request = Message::decode(wire).ok().and_then(|message| message.request().ok());
    matches!(
        request,
        Some(
            AnyRequest::CollectTracing5(CollectTracing5::UserEvents(_))
                | AnyRequest::CollectTracing6(CollectTracing6::UserEvents(_))
        )
    )
}
