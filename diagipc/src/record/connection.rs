//! The parts of one connection's bytes.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::ops::Range;

use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, Advertise};
use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::Message;
use dotnet_diagnostics_ipc::vectors::Direction;

use super::log::{EventKind, Recording};
use crate::conversation::Reply;

/// The first bytes of a stream in the format nettrace.
const NETTRACE: &[u8] = b"Nettrace";

/// The kind of a part of a runtime's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An advertise.
    Advertise,
    /// A reply, or an error.
    Reply,
    /// An environment block.
    Environment,
    /// The start of a stream.
    StreamHead,
    /// A stream, or the rest of it.
    Stream,
    /// Unknown.
    Other,
}

/// A part of a runtime's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) kind: Kind,
    /// Its range in the kept bytes. The end of the last one may be beyond them.
    pub(super) range: Range<usize>,
}

/// One connection of a [`Recording`], parsed by the protocol.
///
/// ```
/// use diagipc::record::{RecordedConnection, Log, Direction};
///
/// let log = Log::new(false);
/// let connection = log.opened();
/// log.piece(connection, Direction::Client, b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0", Vec::new());
/// log.piece(connection, Direction::Server, b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0", Vec::new());
/// let [connection] = &RecordedConnection::all(&log.recording())[..] else { panic!() };
/// assert_eq!(connection.command.unwrap().to_string(), "Process/ResumeRuntime");
/// assert!(!connection.is_unknown_command());
/// ```
#[derive(Clone, Debug, Default)]
pub struct RecordedConnection {
    /// The client's bytes, as far as kept.
    pub client: Vec<u8>,
    /// The runtime's bytes, as far as kept.
    pub runtime: Vec<u8>,
    /// How many of the client's bytes are the request, by its size field. All of them if that is
    /// truncated, or missing.
    pub request_len: usize,
    /// The command of the request, if there is a header.
    pub command: Option<Command>,
    reply: Reply,
    /// The runtime's bytes, part by part.
    pub(super) segments: Vec<Segment>,
}

impl RecordedConnection {
    /// Reads all connections, in the order of their numbers.
    pub fn all(recording: &Recording) -> Vec<Self> {
        let mut all = vec![Self::default(); recording.totals.len()];
        for event in &recording.events {
            if let (EventKind::Piece { from, bytes, .. }, Some(connection)) =
                (&event.seen, all.get_mut(event.connection))
            {
                match from {
                    Direction::Client => connection.client.extend_from_slice(bytes),
                    Direction::Server => connection.runtime.extend_from_slice(bytes),
                }
            }
        }
        for connection in &mut all {
            connection.read(recording.runtime_connects);
        }
        all
    }

    /// The request.
    pub fn request(&self) -> &[u8] {
        self.client.get(..self.request_len).unwrap_or_default()
    }

    /// What follows an OK to the request.
    pub(super) fn continuation(&self) -> Option<Continuation> {
        continuation(self.request())
    }

    /// Whether the reply means that the command is unknown.
    pub fn is_unknown_command(&self) -> bool {
        self.reply.error() == Some(HResult::UNKNOWN_COMMAND)
    }

    /// The first part of that kind.
    pub(super) fn segment(&self, kind: Kind) -> Option<&[u8]> {
        let range = self.segments.iter().find(|segment| segment.kind == kind)?.range.clone();
        self.runtime.get(range.start..range.end.min(self.runtime.len()))
    }

    /// The end of the parts so far.
    fn end(&self) -> usize {
        self.segments.last().map_or(0, |segment| segment.range.end)
    }

    /// The runtime's bytes after these parts.
    fn rest(&self) -> &[u8] {
        self.runtime.get(self.end()..).unwrap_or_default()
    }

    fn push(&mut self, kind: Kind, len: usize) {
        let start = self.end();
        if len > 0 && start < self.runtime.len() {
            self.segments.push(Segment { kind, range: start..start.saturating_add(len) });
        }
    }

    fn read(&mut self, advertises: bool) {
        let header = Header::decode(&self.client).ok();
        self.command = header.map(|header| header.command);
        let size = header.map_or(self.client.len(), |header| header.size.into());
        self.request_len = size.min(self.client.len());
        if advertises
            && Advertise::decode(self.runtime.get(..ADVERTISE_LEN).unwrap_or_default()).is_ok()
        {
            self.push(Kind::Advertise, ADVERTISE_LEN);
        }
        self.reply = Reply::read(self.request(), self.rest(), Some(End::Closed));
        if let Some(len) = self.reply.len.filter(|_| self.reply.refusal.is_none()) {
            self.push(Kind::Reply, len);
            if self.reply.is_ok() {
                self.read_continuation();
            }
        }
        self.push(Kind::Other, usize::MAX);
    }

    /// What follows an OK.
    fn read_continuation(&mut self) {
        match self.continuation() {
            Some(Continuation::Nettrace) => {
                if self.rest().starts_with(NETTRACE) {
                    self.push(Kind::StreamHead, NETTRACE.len());
                }
                self.push(Kind::Stream, usize::MAX);
            }
            Some(Continuation::EnvironmentBlock) => {
                self.push(Kind::Environment, self.reply.announced.unwrap_or(0));
            }
            // A second reply, if there is one (F-81).
            Some(Continuation::Close)
                if self.command.map(|command| command.set)
                    == Some(Command::GENERATE_CORE_DUMP.set) =>
            {
                let second = Reply::read(self.request(), self.rest(), Some(End::Closed));
                self.push(Kind::Reply, second.len.unwrap_or(0));
            }
            _ => {}
        }
    }
}

/// What follows an OK to `request`, as far as it can be read.
pub(super) fn continuation(request: &[u8]) -> Option<Continuation> {
    let message = Message::decode(request).ok()?;
    message.request().map_or_else(|_| message.command.continuation(), |one| one.continuation())
}
