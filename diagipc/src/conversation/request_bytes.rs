//! What the bytes of a request ask for, whole or not.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, RawHeader};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message};
use dotnet_diagnostics_ipc_vectors::{Type, TypedCodec};

/// The command of a request, if its header was sent, whatever its magic.
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

/// The message at the front, by its size: all bytes if that is missing, or beyond them.
pub(crate) fn message_of(wire: &[u8]) -> &[u8] {
    size(wire).and_then(|size| wire.get(..size)).unwrap_or(wire)
}

/// How a request is read: as this command, or as that of its header.
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
