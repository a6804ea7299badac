//! The parts of one connection's bytes.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::ops::Range;

use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, Advertise};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::{AfterReply, Client, ClientAction, End, Outcome};
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::vectors::script::Ending;

use super::log::{Recording, Side};

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
/// use diagipc::record::{RecordedConnection, Log, Side};
///
/// let log = Log::new(false);
/// let connection = log.opened();
/// log.piece(connection, Side::Client, b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0", Vec::new());
/// log.piece(connection, Side::Runtime, b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0", Vec::new());
/// let connection = RecordedConnection::of(&log.recording(), 0);
/// assert_eq!(connection.command.unwrap().to_string(), "Process/ResumeRuntime");
/// assert!(connection.outcome.is_some());
/// ```
#[derive(Clone, Debug)]
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
    /// A client's result from the reply; `None` if the request is invalid.
    pub outcome: Option<Outcome>,
    /// The runtime's bytes, part by part.
    pub(super) segments: Vec<Segment>,
}

impl RecordedConnection {
    /// Reads the connection of that number.
    pub fn of(recording: &Recording, number: usize) -> Self {
        let (client, runtime) =
            (recording.bytes(number, Side::Client), recording.bytes(number, Side::Runtime));
        let end = match recording.ending(number, Side::Runtime) {
            Some(Ending::Reset) => End::Reset,
            Some(_) => End::Closed,
            None => End::TimedOut,
        };
        let header = Header::decode(&client).ok();
        let size = header.map_or(client.len(), |header| header.size.into());
        let mut connection = Self {
            request_len: size.min(client.len()),
            command: header.map(|header| header.command),
            outcome: None,
            segments: Vec::new(),
            client,
            runtime,
        };
        connection.read(recording.runtime_connects, end);
        connection
    }

    /// The request.
    pub fn request(&self) -> &[u8] {
        self.client.get(..self.request_len).unwrap_or_default()
    }

    /// Whether the reply means that the command is unknown.
    pub fn is_unknown_command(&self) -> bool {
        matches!(self.outcome, Some(Outcome::Error { hresult: HResult::UNKNOWN_COMMAND, .. }))
    }

    /// The state of the connection after an OK.
    pub const fn then(&self) -> Option<AfterReply> {
        match self.outcome {
            Some(Outcome::Ok { then, .. }) => Some(then),
            _ => None,
        }
    }

    /// The first part of that kind.
    pub(super) fn segment(&self, kind: Kind) -> Option<&[u8]> {
        let range = self.segments.iter().find(|segment| segment.kind == kind)?.range.clone();
        self.runtime.get(range.start..range.end.min(self.runtime.len()))
    }

    /// The runtime's bytes after the first reply.
    fn behind_the_reply(&self) -> &[u8] {
        let reply = self.segments.iter().find(|segment| segment.kind == Kind::Reply);
        reply.and_then(|reply| self.runtime.get(reply.range.end..)).unwrap_or_default()
    }

    fn push(&mut self, kind: Kind, len: usize) {
        let start = self.segments.last().map_or(0, |segment| segment.range.end);
        if len > 0 && start < self.runtime.len() {
            self.segments.push(Segment { kind, range: start..start.saturating_add(len) });
        }
    }

    fn read(&mut self, advertises: bool, end: End) {
        if advertises
            && Advertise::decode(self.runtime.get(..ADVERTISE_LEN).unwrap_or_default()).is_ok()
        {
            self.push(Kind::Advertise, ADVERTISE_LEN);
        }
        let begin = self.segments.last().map_or(0, |segment| segment.range.end);
        self.outcome = outcome(self.request(), self.runtime.get(begin..).unwrap_or_default(), end);
        match self.outcome {
            Some(Outcome::Ok { size, then }) => {
                self.push(Kind::Reply, size.into());
                match then {
                    AfterReply::Stream { .. } => {
                        let begin = begin.saturating_add(size.into());
                        if self
                            .runtime
                            .get(begin..)
                            .is_some_and(|stream| stream.starts_with(NETTRACE))
                        {
                            self.push(Kind::StreamHead, NETTRACE.len());
                        }
                        self.push(Kind::Stream, usize::MAX);
                    }
                    AfterReply::EnvironmentBlock { n_incoming_bytes } => {
                        self.push(
                            Kind::Environment,
                            usize::try_from(n_incoming_bytes).unwrap_or(usize::MAX),
                        );
                    }
                    // A second reply, if there is one (F-81).
                    AfterReply::AnotherReply => {
                        let second = outcome(self.request(), self.behind_the_reply(), end);
                        if let Some(Outcome::Ok { size, .. } | Outcome::Error { size, .. }) = second
                        {
                            self.push(Kind::Reply, size.into());
                        }
                    }
                    _ => {}
                }
            }
            Some(Outcome::Error { size, .. }) => self.push(Kind::Reply, size.into()),
            _ => {}
        }
        self.push(Kind::Other, usize::MAX);
    }
}

/// The result of a client that sends `request`, and receives `reply` and then `end`.
fn outcome(request: &[u8], reply: &[u8], end: End) -> Option<Outcome> {
    let mut buffer = vec![0; usize::from(u16::MAX)];
    buffer.get_mut(..request.len())?.copy_from_slice(request);
    if request.len() < HEADER_LEN {
        return None;
    }
    let (mut client, mut rest) = (Client::from_message(&buffer).ok()?, reply);
    loop {
        match client.action() {
            ClientAction::Send(range) => client.sent(range.len()).ok()?,
            ClientAction::SendFd => client.fd_sent().ok()?,
            ClientAction::Receive(_) if rest.is_empty() => client.ended(end).ok()?,
            ClientAction::Receive(range) => {
                let (now, later) = rest.split_at_checked(range.len()).unwrap_or((rest, &[]));
                buffer.get_mut(range)?.get_mut(..now.len())?.copy_from_slice(now);
                rest = later;
                client.received(&buffer, now.len()).ok()?;
            }
            ClientAction::Finished(outcome) => return Some(outcome),
        }
    }
}
