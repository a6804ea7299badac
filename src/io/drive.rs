//! One request and its reply, without the I/O: the next action on the connection, and the result.
//!
//! [`Connection`](super::Connection) and `AsyncConnection` both loop over [`Drive::next`]; only
//! their I/O lines differ.

use std::string::ToString as _;
use std::time::Duration;
use std::vec::Vec;

use super::session::Streaming;
use super::{Deadlines, Error, ErrorKind, Phase, Stopped};
use crate::command::{Command, Continuation};
use crate::exchange::fallback::{FallbackRequest as _, TracingRequest};
use crate::exchange::{AfterReply, Client, ClientAction, End, MisuseError, Outcome, RequestError};
use crate::header::{HEADER_LEN, MAX_MESSAGE_LEN};
use crate::message::profiler::AttachProfiler;
use crate::message::server::ErrorReply;
use crate::message::{Message, Request};
use crate::wire::{Encode, WireError, WireErrorKind};

/// The initial size of the reply buffer; it grows to the reply's size, at most 65,535 bytes.
const ROOM: usize = 1024;

/// An exchange and its buffer.
#[derive(Debug)]
pub(super) struct Drive {
    client: Client,
    buffer: Vec<u8>,
    attach_timeout: Duration,
    /// Whether only the reply can arrive, so that everything may be read at once.
    reads_ahead: bool,
    /// How many bytes beyond the exchange's range are in the buffer.
    ahead: usize,
    /// The session without which nothing is sent.
    session: Option<Streaming>,
}

/// The next action.
#[derive(Debug)]
pub(super) enum Next<'d> {
    /// Send some of it, then [`Drive::sent`].
    Send(&'d [u8]),
    /// Send the descriptor, then [`Drive::fd_sent`].
    SendFd,
    /// Read into it, then [`Drive::received`].
    Receive(&'d mut [u8]),
    /// Nothing: [`Drive::finish`].
    Finish(Outcome),
}

/// A finished exchange; the buffer holds exactly the reply, if it is complete.
#[derive(Debug)]
pub(super) struct Finished {
    command: Command,
    pub(super) outcome: Outcome,
    pub(super) buffer: Vec<u8>,
}

impl Drive {
    /// A request that takes no descriptor.
    pub(super) fn new<'r, R: Request<'r>>(request: &R, checks_limits: bool) -> Result<Self, Error> {
        if request.continuation() == Continuation::UserEvents {
            // Without one, some runtimes lose a descriptor (F-74).
            let why = "a user_events session takes a descriptor: Client::user_events passes one";
            return Err(Error::new(Phase::Send, ErrorKind::Unsupported(why)));
        }
        Self::encode(request, checks_limits)
    }

    /// A request that starts a session that streams.
    pub(super) fn trace<'r, R: Request<'r>>(
        request: &R,
        checks_limits: bool,
    ) -> Result<Self, Error> {
        streams(request.continuation())?;
        Self::encode(request, checks_limits)
    }

    /// The same for a fallback. Limits are checked once, on the newest request.
    pub(super) fn trace_by(request: &TracingRequest<'_>) -> Result<Self, Error> {
        streams(request.continuation())?;
        let (command, continuation) = (request.command(), request.continuation());
        Self::start(request, continuation, |buffer| {
            Ok(Client::with_payload(command, Some(continuation), request, buffer)?)
        })
    }

    /// A request that starts a session that writes `user_events`.
    #[cfg(unix)]
    pub(super) fn user_events<'r, R: Request<'r>>(
        request: &R,
        checks_limits: bool,
    ) -> Result<Self, Error> {
        if request.continuation() != Continuation::UserEvents {
            return Err(Error::new(
                Phase::Send,
                ErrorKind::Unsupported("not a user_events session"),
            ));
        }
        Self::encode(request, checks_limits)
    }

    fn encode<'r, R: Request<'r>>(request: &R, checks_limits: bool) -> Result<Self, Error> {
        let new = |request: &R, buffer: &mut [u8]| match checks_limits {
            true => Client::new(request, buffer),
            false => Ok(Client::new_unchecked(request, buffer)?),
        };
        Self::start(request, request.continuation(), |buffer| new(request, buffer))
    }

    fn start<P: Encode>(
        payload: &P,
        continuation: Continuation,
        new: impl FnOnce(&mut [u8]) -> Result<Client, RequestError>,
    ) -> Result<Self, Error> {
        // The exchange refuses a request that is too long, with its length.
        let len = payload.encoded_len().map_err(|error| Error::new(Phase::Send, error))?;
        let mut buffer = std::vec![0; len.saturating_add(HEADER_LEN).clamp(ROOM, MAX_MESSAGE_LEN)];
        let client = new(&mut buffer).map_err(|error| Error::new(Phase::Send, error))?;
        let attach_timeout = if client.command() == Command::ATTACH_PROFILER {
            attach_timeout(&buffer)
        } else {
            Duration::ZERO
        };
        Ok(Self {
            client,
            buffer,
            attach_timeout,
            reads_ahead: continuation == Continuation::Close,
            ahead: 0,
            session: None,
        })
    }

    /// Sends only while this session may be stopped.
    pub(super) fn while_open(mut self, session: Streaming) -> Self {
        self.session = Some(session);
        self
    }

    /// The time limit for the reply.
    pub(super) fn reply_within(&self, deadlines: &Deadlines) -> Option<Duration> {
        deadlines.reply_to(self.client.command(), self.attach_timeout)
    }

    pub(super) fn next(&mut self) -> Result<Next<'_>, Error> {
        if let ClientAction::Finished(Outcome::BufferTooSmall { size }) = self.client.action() {
            self.buffer.resize(size.into(), 0);
            self.client.enlarged(&self.buffer).map_err(at(Phase::Reply))?;
            self.taken().map_err(at(Phase::Reply))?;
        }
        Ok(match self.client.action() {
            ClientAction::Send(range) => {
                self.session.as_ref().map_or(Ok(()), Streaming::may_stop)?;
                Next::Send(self.buffer.get(range).unwrap_or_default())
            }
            ClientAction::SendFd(_) => Next::SendFd,
            ClientAction::Receive(range) if self.reads_ahead => {
                Next::Receive(self.buffer.get_mut(range.start..).unwrap_or_default())
            }
            ClientAction::Receive(range) => {
                Next::Receive(self.buffer.get_mut(range).unwrap_or_default())
            }
            ClientAction::Finished(outcome) => Next::Finish(outcome),
        })
    }

    /// A runtime that refuses a request early closes before it has read all of it: if sending
    /// fails, the reply is still read.
    pub(super) fn sent(&mut self, sent: Result<usize, Stopped>) -> Result<(), Error> {
        match sent {
            Ok(0) | Err(Stopped::Io(_)) => self.client.send_failed(),
            Ok(n) => self.client.sent(n),
            Err(stopped) => return Err(stopped.during(Phase::Send)),
        }
        .map_err(at(Phase::Send))
    }

    pub(super) fn fd_sent(&mut self, sent: Result<(), Stopped>) -> Result<(), Error> {
        match sent {
            Ok(()) => self.client.fd_sent(),
            Err(Stopped::Io(error)) if error.kind() == std::io::ErrorKind::Unsupported => {
                return Err(Error::new(Phase::SendFd, error));
            }
            Err(Stopped::Io(_)) => self.client.send_failed(),
            Err(stopped) => return Err(stopped.during(Phase::SendFd)),
        }
        .map_err(at(Phase::SendFd))
    }

    pub(super) fn received(&mut self, received: Result<usize, Stopped>) -> Result<(), Error> {
        match received {
            Ok(0) => self.client.ended(End::Closed),
            Ok(n) => {
                self.ahead = n;
                self.taken()
            }
            Err(Stopped::Io(_)) => self.client.ended(End::Reset),
            Err(Stopped::TimedOut) => self.client.ended(End::TimedOut),
            Err(stopped) => return Err(stopped.during(Phase::Reply)),
        }
        .map_err(at(Phase::Reply))
    }

    /// Feeds the exchange from the buffer, as far as it asks for bytes.
    fn taken(&mut self) -> Result<(), MisuseError> {
        while let (1.., ClientAction::Receive(range)) = (self.ahead, self.client.action()) {
            let n = self.ahead.min(range.len());
            self.client.received(&self.buffer, n)?;
            self.ahead = self.ahead.saturating_sub(n);
        }
        Ok(())
    }

    pub(super) fn finish(mut self, outcome: Outcome) -> Finished {
        if let Outcome::Ok { size, .. } | Outcome::Error { size, .. } = outcome {
            self.buffer.truncate(size.into());
        }
        Finished { command: self.client.command(), outcome, buffer: self.buffer }
    }
}

fn streams(continuation: Continuation) -> Result<(), Error> {
    if continuation == Continuation::Nettrace {
        return Ok(());
    }
    Err(Error::new(Phase::Send, ErrorKind::Unsupported("not a streaming session")))
}

fn at(phase: Phase) -> impl Fn(MisuseError) -> Error {
    move |illegal| Error::new(phase, illegal)
}

impl Finished {
    /// The OK reply, and what follows it. Every other outcome is an error.
    pub(super) fn ok(self) -> Result<(Vec<u8>, AfterReply), Error> {
        let kind = match self.outcome {
            Outcome::Ok { then, .. } => return Ok((self.buffer, then)),
            Outcome::Error { hresult, .. } => {
                let message = Message::decode(&self.buffer).ok();
                let text = message.and_then(|message| {
                    ErrorReply::from_message(&message, Some(self.command)).ok()?.message
                });
                ErrorKind::Refused {
                    hresult,
                    message: text.filter(|text| !text.is_empty()).map(|text| text.to_string()),
                }
            }
            Outcome::Malformed { .. } => ErrorKind::Malformed(self.why()),
            Outcome::NoReply { end: End::TimedOut, .. }
            | Outcome::Cut { end: End::TimedOut, .. } => ErrorKind::TimedOut,
            Outcome::NoReply { end, .. } => ErrorKind::Ended { end, received: 0 },
            Outcome::Cut { received, end } => ErrorKind::Ended { end, received: received.into() },
            Outcome::BufferTooSmall { size } => ErrorKind::LimitExceeded { limit: size.into() },
        };
        Err(Error::new(Phase::Reply, kind))
    }

    /// The id of the session whose stream follows.
    pub(super) fn stream(self) -> Result<Option<u64>, Error> {
        match self.ok()? {
            (_, AfterReply::Stream { session_id }) => Ok(session_id),
            _ => Err(Error::new(
                Phase::Reply,
                ErrorKind::Unsupported("the runtime did not start a stream"),
            )),
        }
    }

    /// How many bytes of environment follow.
    pub(super) fn environment(self) -> Result<u32, Error> {
        match self.ok()? {
            (_, AfterReply::EnvironmentBlock { n_incoming_bytes }) => Ok(n_incoming_bytes),
            // The generic OK does not include the size (F-2).
            _ => Err(Error::new(
                Phase::Reply,
                ErrorKind::Unsupported("the runtime did not report the size of the environment"),
            )),
        }
    }

    /// Why the front of the buffer is not a reply, with the path of the field.
    fn why(&self) -> WireError {
        match Message::decode_prefix(&self.buffer)
            .and_then(|(message, _)| message.reply_to(Some(self.command)).map(|_| message))
        {
            Err(error) => error,
            // It was malformed before it was complete; later bytes in the buffer are not part of
            // it.
            Ok(_) => WireError::new(WireErrorKind::BadMagic, 0),
        }
    }
}

/// The attach timeout in an encoded request.
fn attach_timeout(request: &[u8]) -> Duration {
    let attach = Message::decode_prefix(request)
        .and_then(|(message, _)| message.request_as::<AttachProfiler<'_>>());
    attach.map_or(Duration::ZERO, |attach| Duration::from_millis(attach.attach_timeout.into()))
}
