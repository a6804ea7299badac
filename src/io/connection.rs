//! One request over one connection.

use std::marker::PhantomData;
use std::string::ToString as _;
use std::vec::Vec;

use super::deadlines::{Clock, Flowing};
use super::{Canceller, Deadlines, EnvironmentBlock, Error, ErrorKind, Phase, Stopped, Transport, Until};
use crate::command::{Command, Continuation};
use crate::exchange::{self, ClientAction, End, Illegal, Outcome, Then};
use crate::header::{HEADER_LEN, MAX_MESSAGE_LEN};
use crate::hresult::HResult;
use crate::message::process::ProcessEnvironment;
use crate::message::server::{ErrorReply, ResultReply};
use crate::message::{Message, Reply, Request};
use crate::wire::{DecodeError, DecodeErrorKind, Encode};

/// The room for a reply; where one is larger, the buffer grows to its size, which is 65,535 bytes at most.
const ROOM: usize = 1024;

/// One request over a connection that is there already; the connection is used up by it.
///
/// ```
/// # #[cfg(unix)] {
/// use std::os::unix::net::UnixStream;
/// use dotnet_diagnostics_ipc::io::{Connection, ErrorKind, Phase, UnixTransport};
/// use dotnet_diagnostics_ipc::message::process::ProcessInfo3;
///
/// // A peer that speaks another protocol.
/// let (ours, mut theirs) = UnixStream::pair()?;
/// std::io::Write::write_all(&mut theirs, b"HTTP/1.1 400 Bad Request\r\n")?;
/// let error = Connection::new(UnixTransport::new(ours)?).call(&ProcessInfo3 {}).unwrap_err();
/// assert!(matches!((error.phase(), error.kind()), (Phase::Reply, ErrorKind::Malformed(_))));
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Connection<'c, T> {
    transport: T,
    deadlines: Deadlines,
    canceller: Option<&'c Canceller>,
    checks_limits: bool,
    clock: Option<Clock<'c>>,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    pub(super) command: Command,
    pub(super) continuation: Option<Continuation>,
    pub(super) flowing: Flowing,
}

/// What a descriptor is, on systems that pass none.
#[cfg(not(unix))]
pub(super) type Fd<'f> = core::convert::Infallible;
#[cfg(unix)]
pub(super) type Fd<'f> = std::os::fd::BorrowedFd<'f>;

impl<'c, T: Transport> Connection<'c, T> {
    /// A connection on which nothing was said yet.
    pub const fn new(transport: T) -> Self {
        Self { transport, deadlines: Deadlines::DEFAULT, canceller: None, checks_limits: true, clock: None }
    }

    /// The same with other deadlines.
    #[must_use]
    pub const fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// The same, ended early by `canceller`.
    #[must_use]
    pub const fn with_canceller(mut self, canceller: &'c Canceller) -> Self {
        self.canceller = Some(canceller);
        self
    }

    /// The same, where requests go out as they are. Some of those that a runtime should refuse kill it (F-72, P-19).
    #[must_use]
    pub const fn without_limits(mut self) -> Self {
        self.checks_limits = false;
        self
    }

    /// The same, where the whole call began earlier.
    pub(super) const fn begun(mut self, clock: Clock<'c>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Asks, and waits for the reply.
    ///
    /// # Errors
    /// [`Error`]: everything but an OK whose payload decodes.
    pub fn call<'r, R: Request<'r>>(mut self, request: &R) -> Result<Answer<R>, Error> {
        let (message, _) = self.ask(request, Flowing::default(), None)?;
        Ok(Answer { message, request: PhantomData })
    }

    /// Asks, and waits for the reply; `flowing` says what its deadline depends on.
    pub(super) fn ask<'r, R: Request<'r>>(
        &mut self,
        request: &R,
        flowing: Flowing,
        fd: Option<Fd<'_>>,
    ) -> Result<(Vec<u8>, Then), Error> {
        if self.checks_limits {
            request.check_limits().map_err(|error| Error::new(Phase::Send, error))?;
        }
        let asking = Asking { command: R::COMMAND, continuation: Some(request.continuation()), flowing };
        self.ask_as(asking, request, fd)
    }

    /// The same, for any payload.
    pub(super) fn ask_as<P: Encode>(&mut self, asking: Asking, payload: &P, fd: Option<Fd<'_>>) -> Result<(Vec<u8>, Then), Error> {
        let (outcome, buffer) = self.run(asking, payload, fd)?;
        let then = judge(outcome, &buffer, asking.command)?;
        Ok((buffer, then))
    }

    /// Drives the exchange to its outcome; of a reply that came whole, the buffer holds just that.
    pub(super) fn run<P: Encode>(&mut self, asking: Asking, payload: &P, fd: Option<Fd<'_>>) -> Result<(Outcome, Vec<u8>), Error> {
        let mut buffer = room(payload)?;
        let mut client = exchange::Client::with_payload(asking.command, asking.continuation, payload, &mut buffer)
            .map_err(|error| Error::new(Phase::Send, error))?;
        let clock = self.clock.unwrap_or_else(|| Clock::start(&self.deadlines, self.canceller));
        let sending = clock.within(self.deadlines.send);
        let mut replying = None;
        loop {
            match client.action() {
                ClientAction::Send(range) => match self.transport.send(buffer.get(range).unwrap_or_default(), &sending) {
                    Ok(n) => client.sent(n).map_err(bug(Phase::Send))?,
                    Err(Stopped::Io(_)) => client.send_failed().map_err(bug(Phase::Send))?,
                    Err(stopped) => return Err(stopped.during(Phase::Send)),
                },
                ClientAction::SendFd => match self.send_fd(fd, &sending) {
                    Ok(()) => client.fd_sent().map_err(bug(Phase::SendFd))?,
                    Err(Stopped::Io(error)) if error.kind() == std::io::ErrorKind::Unsupported => {
                        return Err(Error::new(Phase::SendFd, error));
                    }
                    Err(Stopped::Io(_)) => client.send_failed().map_err(bug(Phase::SendFd))?,
                    Err(stopped) => return Err(stopped.during(Phase::SendFd)),
                },
                ClientAction::Receive(range) => {
                    let within = || clock.within(self.deadlines.reply_to(asking.command, asking.flowing));
                    let until = replying.get_or_insert_with(within);
                    match self.transport.receive(buffer.get_mut(range).unwrap_or_default(), until) {
                        Ok(0) => client.ended(End::Closed).map_err(bug(Phase::Reply))?,
                        Ok(n) => client.received(&buffer, n).map_err(bug(Phase::Reply))?,
                        Err(Stopped::Io(_)) => client.ended(End::Reset).map_err(bug(Phase::Reply))?,
                        Err(Stopped::TimedOut) => client.ended(End::TimedOut).map_err(bug(Phase::Reply))?,
                        Err(stopped) => return Err(stopped.during(Phase::Reply)),
                    }
                }
                ClientAction::Finished(Outcome::BufferTooSmall { size }) => {
                    buffer.resize(size.into(), 0);
                    client.enlarged(&buffer).map_err(bug(Phase::Reply))?;
                }
                ClientAction::Finished(outcome) => {
                    if let Outcome::Ok { size, .. } | Outcome::Error { size, .. } = outcome {
                        buffer.truncate(size.into());
                    }
                    return Ok((outcome, buffer));
                }
            }
        }
    }

    #[cfg(unix)]
    fn send_fd(&mut self, fd: Option<Fd<'_>>, until: &Until<'_>) -> Result<(), Stopped> {
        match fd {
            Some(fd) => self.transport.send_fd(fd, until),
            None => Err(no_fd()),
        }
    }

    #[cfg(not(unix))]
    #[allow(clippy::unused_self)] // it is used where descriptors are
    fn send_fd(&mut self, _: Option<Fd<'_>>, _: &Until<'_>) -> Result<(), Stopped> {
        Err(no_fd())
    }

    /// Asks for the environment, which then comes entry by entry.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn environment(mut self) -> Result<EnvironmentBlock<'c, T>, Error> {
        let clock = self.clock.unwrap_or_else(|| Clock::start(&self.deadlines, self.canceller));
        self.clock = Some(clock);
        match self.ask(&ProcessEnvironment {}, Flowing::default(), None)? {
            (_, Then::EnvironmentBlock { n_incoming_bytes }) => {
                Ok(EnvironmentBlock::new(self.transport, n_incoming_bytes, clock, self.deadlines.continuation))
            }
            // The generic OK does not say how many bytes follow (F-2).
            _ => Err(Error::new(Phase::Reply, ErrorKind::Unsupported("the runtime did not say how large the environment is"))),
        }
    }

    /// The connection as it is now: what follows the reply comes over it.
    pub(super) fn into_transport(self) -> T {
        self.transport
    }
}

fn no_fd() -> Stopped {
    let text = "a user_events session takes a descriptor: Client::user_events passes one";
    Stopped::Io(std::io::Error::new(std::io::ErrorKind::Unsupported, text))
}

/// A buffer for a request and most replies. What is too long to be sent is refused later, with its length.
pub(super) fn room<P: Encode>(payload: &P) -> Result<Vec<u8>, Error> {
    let len = payload.encoded_len().map_err(|error| Error::new(Phase::Send, error))?;
    Ok(std::vec![0; len.saturating_add(HEADER_LEN).clamp(ROOM, MAX_MESSAGE_LEN)])
}

fn bug(phase: Phase) -> impl Fn(Illegal) -> Error {
    move |illegal| Error::new(phase, illegal)
}

/// What an outcome other than OK means to a caller.
pub(super) fn judge(outcome: Outcome, buffer: &[u8], command: Command) -> Result<Then, Error> {
    let kind = match outcome {
        Outcome::Ok { then, .. } => return Ok(then),
        Outcome::Error { size, hresult } => {
            let message = buffer.get(..size.into()).and_then(|bytes| Message::decode_exact(bytes).ok());
            let text = message.and_then(|message| ErrorReply::decode(&message, Some(command)).ok()?.message);
            ErrorKind::Refused { hresult, message: text.filter(|text| !text.is_empty()).map(|text| text.to_string()) }
        }
        Outcome::Malformed { .. } => ErrorKind::Malformed(why(buffer, command)),
        Outcome::NoReply { end: End::TimedOut, .. } | Outcome::Cut { end: End::TimedOut, .. } => ErrorKind::TimedOut,
        Outcome::NoReply { end, .. } => ErrorKind::Ended { end, received: 0 },
        Outcome::Cut { received, end } => ErrorKind::Ended { end, received: received.into() },
        Outcome::BufferTooSmall { size } => ErrorKind::LimitExceeded { limit: size.into() },
    };
    Err(Error::new(Phase::Reply, kind))
}

/// Why the front of `buffer` is no reply, with the path of the field.
fn why(buffer: &[u8], command: Command) -> DecodeError {
    match Message::decode(buffer).and_then(|(message, _)| message.reply_to(Some(command)).map(|_| message)) {
        Err(error) => error,
        // It was malformed before all of it was there; what is behind it in the buffer now is no part of it.
        Ok(_) => DecodeError::new(DecodeErrorKind::BadMagic, 0),
    }
}

impl Stopped {
    pub(super) fn during(self, phase: Phase) -> Error {
        Error::new(
            phase,
            match self {
                Self::TimedOut => ErrorKind::TimedOut,
                Self::Cancelled => ErrorKind::Cancelled,
                Self::Io(error) => ErrorKind::Io(error),
            },
        )
    }
}

/// An OK, and its payload.
///
/// ```
/// # #[cfg(unix)] {
/// use std::os::unix::net::UnixStream;
/// use dotnet_diagnostics_ipc::io::{Connection, UnixTransport};
/// use dotnet_diagnostics_ipc::message::eventpipe::StopTracing;
///
/// let (ours, mut theirs) = UnixStream::pair()?;
/// std::io::Write::write_all(&mut theirs, b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0")?;
/// let answer = Connection::new(UnixTransport::new(ours)?).call(&StopTracing { session_id: 42 })?;
/// assert_eq!(answer.payload()?.unwrap().session_id, 42);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<R> {
    pub(super) message: Vec<u8>,
    pub(super) request: PhantomData<fn() -> R>,
}

impl<R> Answer<R> {
    /// The whole message, header included.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// The payload; `None` if there was none, as in the generic OK of the document (F-2).
    ///
    /// # Errors
    /// None, since the reply was read before it came here; the type leaves that to the caller.
    pub fn payload<'s>(&'s self) -> Result<Option<<R as Request<'s>>::Reply>, DecodeError>
    where
        R: Request<'s>,
    {
        match Message::decode_exact(&self.message)?.reply_as::<R>()? {
            Reply::Ok(reply) => Ok(Some(reply)),
            Reply::OkWithoutPayload | Reply::Error(_) => Ok(None),
        }
    }

    /// The result that stands in the payload; [`HResult::OK`] if there was none.
    ///
    /// # Errors
    /// As [`payload`](Self::payload).
    pub fn result<'s>(&'s self) -> Result<HResult, DecodeError>
    where
        R: Request<'s, Reply = ResultReply>,
    {
        Ok(self.payload()?.map_or(HResult::OK, |reply| reply.hresult))
    }
}
