//! Where each message, advertise and continuation begins.

use alloc::{format, string::ToString as _};

use super::item::{Item, ItemKind, MOST_IN_FIELDS};
use crate::{Direction, ReadAs, Type};
use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, ADVERTISE_MAGIC};
use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::continuation::StreamStart;
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc::message::{AnyReply, Message};

/// Splits one or both sides of a conversation into items. Every byte is in exactly one.
///
/// ```
/// use dotnet_diagnostics_ipc::command::Command;
/// use dotnet_diagnostics_ipc_vectors::explain::{ItemKind, Splitter};
///
/// let received = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0Nettrace";
/// let mut items = Splitter::new(received, None, Some(Command::COLLECT_TRACING2));
/// assert_eq!(items.next().map(|item| (item.kind, item.size)), Some((ItemKind::Reply, 28)));
/// assert_eq!(items.next().map(|item| (item.kind, item.size)), Some((ItemKind::Continuation, 8)));
/// ```
#[derive(Clone, Debug)]
pub struct Splitter<'b> {
    bytes: &'b [u8],
    at: usize,
    /// The sender of all of it; if not given, each message's code decides.
    from: Option<Direction>,
    /// The request that replies answer: given by the caller, else the last one seen.
    request: Option<Command>,
    request_is_given: bool,
    /// The length of the last reply's continuation.
    continuation: Option<usize>,
}

impl<'b> Splitter<'b> {
    /// The bytes, who sent them, and the request that the first reply answers; all but the bytes
    /// may be unknown.
    pub fn new(bytes: &'b [u8], from: Option<Direction>, request: Option<Command>) -> Self {
        // A file with a stream has no reply before it.
        let is_stream = StreamStart::recognise(bytes).known_len().is_some();
        Self {
            bytes,
            at: 0,
            from,
            request,
            request_is_given: request.is_some(),
            continuation: is_stream.then_some(usize::MAX),
        }
    }

    fn advertise(&mut self, rest: &'b [u8]) -> Item {
        let size = rest.len().min(ADVERTISE_LEN);
        let subject = ReadAs { kind: Type::Advertise, command: None, from_server: true };
        self.item(rest, size, ItemKind::Advertise, None, subject)
    }

    fn message(&mut self, rest: &'b [u8]) -> Item {
        let Ok(header) = Header::decode(rest) else {
            // The start of the next message is unknown.
            let subject = ReadAs {
                kind: Type::Unknown,
                command: None,
                from_server: self.from == Some(Direction::Server),
            };
            return self.item(rest, rest.len(), ItemKind::Unknown, None, subject);
        };
        let from_server = self
            .from
            .map_or(header.command.set == Command::OK.set, |from| from == Direction::Server);
        let command = if from_server { self.request } else { Some(header.command) };
        let subject = ReadAs { kind: Type::Request, command, from_server };
        let kind = match header.command {
            Command::ERROR if from_server => ItemKind::Error,
            _ if from_server => ItemKind::Reply,
            command if command.name().is_some() && command.set != Command::OK.set => {
                ItemKind::Request
            }
            _ => ItemKind::Unknown,
        };
        let item = self.item(rest, header.size.into(), kind, Some(header.command), subject);
        if !from_server && !self.request_is_given {
            self.request = Some(header.command);
        }
        if from_server {
            self.continuation = Message::decode_prefix(rest)
                .ok()
                .and_then(|(message, _)| follows(&message, self.request));
        }
        item
    }

    fn item(
        &mut self,
        rest: &'b [u8],
        size: usize,
        kind: ItemKind,
        code: Option<Command>,
        subject: ReadAs,
    ) -> Item {
        let wire = rest.get(..size).unwrap_or(rest);
        let code = code.map(|code| format!("0x{:04X}", code.code()));
        let item = Item { offset: self.at, code, ..Item::decoded(kind, subject, wire) };
        self.at = self.at.saturating_add(wire.len());
        item
    }

    fn following(&mut self, bytes: &'b [u8]) -> Item {
        // An environment block is decoded; a stream is not.
        let is_environment =
            self.request == Some(Command::PROCESS_ENVIRONMENT) && bytes.len() <= MOST_IN_FIELDS;
        let subject = is_environment.then_some(ReadAs {
            kind: Type::Environment,
            command: None,
            from_server: true,
        });
        let command = self.request.map(|command| command.to_string());
        let item = Item::following(self.at, command, subject, bytes);
        self.at = self.at.saturating_add(bytes.len());
        item
    }
}

/// How many bytes follow a reply that are not a message.
fn follows(reply: &Message<'_>, request: Option<Command>) -> Option<usize> {
    match (request?.continuation()?, reply.reply_to(request).ok()?) {
        (Continuation::EnvironmentBlock, AnyReply::ProcessEnvironment(reply)) => {
            usize::try_from(reply.n_incoming_bytes).ok()
        }
        (
            Continuation::Nettrace | Continuation::BySessionType,
            AnyReply::Session(_) | AnyReply::OkWithoutPayload,
        ) => Some(usize::MAX),
        _ => None,
    }
}

impl Iterator for Splitter<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        if let Some(len) = self.continuation.take().filter(|len| *len > 0) {
            return Some(self.following(rest.get(..len).unwrap_or(rest)));
        }
        let advertises = self.from != Some(Direction::Client)
            && rest.iter().zip(ADVERTISE_MAGIC).take(5).all(|(have, want)| *have == want);
        Some(if advertises { self.advertise(rest) } else { self.message(rest) })
    }
}
