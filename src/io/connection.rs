//! A connection with one request and its answer, and [`ClientDriver`], which runs a request without
//! I/O.

use std::marker::PhantomData;
use std::string::ToString as _;
use std::time::{Duration, Instant};
use std::vec::Vec;

use super::wait::{CallOptions, Clock};
use super::{Canceller, Deadlines, Error, ErrorKind, Phase, Transport, WaitLimit};
use crate::command::{Command, Continuation};
use crate::exchange::fallback::Fallback;
use crate::exchange::{AfterReply, ClientAction, ClientExchange, End, MisuseError, Outcome};
use crate::header::{HEADER_LEN, MAX_MESSAGE_LEN};
use crate::hresult::HResult;
use crate::message::profiler::AttachProfiler;
use crate::message::server::{ErrorReply, ResultReply};
use crate::message::{Message, Reply, Request};
use crate::wire::{Encode, WireError, WireErrorKind};

/// Provides a [`Client`](super::Client) with a new connection for each request: an
/// [`Endpoint`](super::Endpoint), a runtime of a port, or connections of your own.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{Client, Connect, Endpoint, Error, WaitLimit};
///
/// /// A runtime whose port is forwarded to one of two addresses.
/// struct Forwarded([Endpoint; 2]);
///
/// impl Connect for Forwarded {
///     type Transport = <Endpoint as Connect>::Transport;
///
///     fn connect(&self, until: &WaitLimit<'_>) -> Result<Self::Transport, Error> {
///         self.0[0].connect(until).or_else(|_| self.0[1].connect(until))
///     }
/// }
///
/// let ports = [1, 2].map(|port| Endpoint::tcp(([127, 0, 0, 1], port)));
/// assert!(Client::new(Forwarded(ports)).process_info().is_err());
/// ```
pub trait Connect {
    /// The connection type. A session keeps the connection of a stop until that is answered.
    type Transport: Transport + Send + 'static;

    /// Opens a new connection, and sends nothing yet.
    ///
    /// # Errors
    /// Returns an [`Error`] with the phase that failed.
    fn connect(&self, until: &WaitLimit<'_>) -> Result<Self::Transport, Error>;
}

impl<C: Connect + ?Sized> Connect for &C {
    type Transport = C::Transport;

    fn connect(&self, until: &WaitLimit<'_>) -> Result<Self::Transport, Error> {
        (**self).connect(until)
    }
}

/// An OK reply and its payload.
///
/// ```
/// # #[cfg(unix)] {
/// use std::os::unix::net::UnixStream;
/// use dotnet_diagnostics_ipc::io::{Connection, SocketTransport};
/// use dotnet_diagnostics_ipc::message::eventpipe::StopTracing;
///
/// let (ours, mut theirs) = UnixStream::pair()?;
/// std::io::Write::write_all(&mut theirs, b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0")?;
/// let answer = Connection::new(SocketTransport::new(ours)).call(&StopTracing { session_id: 42 })?;
/// assert_eq!(answer.payload().unwrap().session_id, 42);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<R> {
    message: Vec<u8>,
    request: PhantomData<fn() -> R>,
}

impl<R> Answer<R> {
    /// Returns the whole message, including the header.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// Returns the payload; `None` if there is none, as in the generic OK of the document (F-2).
    /// For a caller-defined [`Request`] of a command unknown to this crate, also `None` if its
    /// reply does not decode.
    pub fn payload<'s>(&'s self) -> Option<<R as Request<'s>>::Reply>
    where
        R: Request<'s>,
    {
        match Message::decode(&self.message).ok()?.reply_as::<R>().ok()? {
            Reply::Ok(reply) => Some(reply),
            Reply::OkWithoutPayload | Reply::Error(_) => None,
        }
    }

    /// Returns the result in the payload; [`HResult::OK`] if there is none.
    pub fn result<'s>(&'s self) -> HResult
    where
        R: Request<'s, Reply = ResultReply>,
    {
        self.payload().map_or(HResult::OK, |reply| reply.hresult)
    }
}

/// An existing connection, which is consumed by one request.
///
/// ```
/// # #[cfg(unix)] {
/// use std::os::unix::net::UnixStream;
/// use dotnet_diagnostics_ipc::io::{Connection, ErrorKind, Phase, SocketTransport};
/// use dotnet_diagnostics_ipc::message::process::ProcessInfo3;
///
/// // A peer that speaks another protocol.
/// let (ours, mut theirs) = UnixStream::pair()?;
/// std::io::Write::write_all(&mut theirs, b"HTTP/1.1 400 Bad Request\r\n")?;
/// let error = Connection::new(SocketTransport::new(ours)).call(&ProcessInfo3 {}).unwrap_err();
/// assert!(matches!((error.phase(), error.kind()), (Phase::Reply, ErrorKind::Malformed(_))));
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is sent before a call"]
pub struct Connection<T> {
    pub(super) transport: T,
    pub(super) options: CallOptions,
    /// The clock of the call, once the call has begun.
    clock: Option<Clock>,
}

/// The descriptor type on systems that cannot pass one.
#[cfg(not(unix))]
pub(super) type Fd<'f> = core::convert::Infallible;
#[cfg(unix)]
pub(super) type Fd<'f> = std::os::fd::BorrowedFd<'f>;

impl<T> Connection<T> {
    /// Creates a connection from a [`Transport`], or for the async methods from a stream of tokio.
    /// No byte may have been sent on it.
    pub const fn new(transport: T) -> Self {
        Self { transport, options: CallOptions::DEFAULT, clock: None }
    }

    /// Continues a call that began when the client looked for the endpoint.
    pub(super) const fn of_call(transport: T, options: CallOptions, clock: Clock) -> Self {
        Self { transport, options, clock: Some(clock) }
    }

    /// Sets the deadlines. [`Deadlines::whole`] begins with the call.
    pub const fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.options.deadlines = deadlines;
        self.clock = None;
        self
    }

    /// Sends the request unchecked. Some invalid requests kill a runtime (F-72, P-19).
    pub const fn unchecked(mut self) -> Self {
        self.options.checks_limits = false;
        self
    }

    /// Returns the clock of the call; the first use starts it.
    pub(super) fn clock(&mut self, now: fn() -> Instant) -> Clock {
        *self.clock.get_or_insert_with(|| Clock::start(now, &self.options.deadlines))
    }
}

impl<T: Transport> Connection<T> {
    /// Lets `canceller` end the call early.
    pub fn with_canceller(mut self, canceller: Canceller) -> Self {
        self.options.canceller = Some(canceller);
        self
    }

    /// Sends the request and waits for the reply.
    ///
    /// # Errors
    /// Returns an [`Error`] unless the reply is an OK whose payload decodes. A request for a
    /// `user_events` session is not sent, because it takes a descriptor.
    pub fn call<'r, R: Request<'r>>(mut self, request: &R) -> Result<Answer<R>, Error> {
        let driver = ClientDriver::new(request, self.options.checks_limits)?;
        self.run(driver)?.answer()
    }

    pub(super) fn run(&mut self, mut driver: ClientDriver) -> Result<Finished, Error> {
        let outcome = self.perform(&mut driver)?;
        Ok(driver.finish(outcome))
    }

    pub(super) fn perform(&mut self, driver: &mut ClientDriver) -> Result<Outcome, Error> {
        self.perform_with(driver, None)
    }

    /// Performs the exchange's actions until it is finished.
    pub(super) fn perform_with(
        &mut self,
        driver: &mut ClientDriver,
        fd: Option<Fd<'_>>,
    ) -> Result<Outcome, Error> {
        let clock = self.clock(Instant::now);
        let deadlines = &self.options.deadlines;
        let sending = self.options.until(clock, deadlines.send);
        let reply_within = driver.reply_within(deadlines);
        let mut replying = None;
        loop {
            match driver.next()? {
                Step::Send(bytes) => {
                    let sent = self.transport.send(bytes, &sending);
                    driver.sent(sent)?;
                }
                Step::SendFd => {
                    #[cfg(unix)]
                    let sent = fd.map(|fd| self.transport.send_fd(fd, &sending));
                    #[cfg(not(unix))]
                    let sent = fd.map(|never| match never {});
                    driver.fd_sent(sent.unwrap_or(Err(NO_FD)))?;
                }
                Step::Receive(into) => {
                    let until =
                        replying.get_or_insert_with(|| self.options.until(clock, reply_within));
                    let received = self.transport.receive(into, until);
                    driver.received(received)?;
                }
                Step::Finish(outcome) => return Ok(outcome),
            }
        }
    }
}

/// The error for a request that takes a descriptor, if there is none to pass.
pub(super) const NO_FD: ErrorKind = ErrorKind::Unsupported("no descriptor to pass");

/// The initial size of the reply buffer; it grows to the reply's size, at most 65,535 bytes.
const INITIAL_CAPACITY: usize = 1024;

/// A client exchange and its buffer.
#[derive(Debug)]
pub(super) struct ClientDriver {
    client: ClientExchange,
    buffer: Vec<u8>,
    attach_timeout: Duration,
    /// Whether only the reply can arrive, so that everything may be read at once.
    reads_ahead: bool,
    /// The number of bytes in the buffer beyond the exchange's range.
    ahead: usize,
}

/// The next action of a [`ClientDriver`].
#[derive(Debug)]
pub(super) enum Step<'d> {
    /// Send some of these bytes, then call [`ClientDriver::sent`].
    Send(&'d [u8]),
    /// Send the descriptor, then call [`ClientDriver::fd_sent`].
    SendFd,
    /// Read into this buffer, then call [`ClientDriver::received`].
    Receive(&'d mut [u8]),
    /// The exchange is over: call [`ClientDriver::finish`].
    Finish(Outcome),
}

/// A finished exchange; the buffer holds exactly the reply, if it is complete.
#[derive(Debug)]
pub(super) struct Finished {
    command: Command,
    pub(super) outcome: Outcome,
    pub(super) buffer: Vec<u8>,
}

impl ClientDriver {
    /// Creates a driver for a request that takes no descriptor.
    pub(super) fn new<'r, R: Request<'r>>(request: &R, checks_limits: bool) -> Result<Self, Error> {
        // Some runtimes leak the connection if no descriptor is sent (F-74).
        let why = "a user_events session takes a descriptor: Client::user_events passes one";
        ensure(request.continuation() != Continuation::UserEvents, why)?;
        Self::of_request(request, checks_limits)
    }

    /// Creates a driver for a request that starts a streaming session.
    pub(super) fn trace<'r, R: Request<'r>>(
        request: &R,
        checks_limits: bool,
    ) -> Result<Self, Error> {
        ensure(request.continuation() == Continuation::Nettrace, NOT_STREAMING)?;
        Self::of_request(request, checks_limits)
    }

    /// Creates a driver for a request that starts a session that writes `user_events`.
    #[cfg(unix)]
    pub(super) fn user_events<'r, R: Request<'r>>(
        request: &R,
        checks_limits: bool,
    ) -> Result<Self, Error> {
        let why = "not a user_events session";
        ensure(request.continuation() == Continuation::UserEvents, why)?;
        Self::of_request(request, checks_limits)
    }

    /// Creates a driver for the current command of a fallback, whose limits were checked.
    pub(super) fn newest(fallback: &Fallback<'_>) -> Result<Self, Error> {
        Self::encode(fallback.command(), fallback.continuation(), fallback)
    }

    fn of_request<'r, R: Request<'r>>(request: &R, checks_limits: bool) -> Result<Self, Error> {
        if checks_limits {
            request.check_limits().map_err(|error| Error::new(Phase::Send, error))?;
        }
        Self::encode(R::COMMAND, Some(request.continuation()), request)
    }

    fn encode<P: Encode>(
        command: Command,
        continuation: Option<Continuation>,
        payload: &P,
    ) -> Result<Self, Error> {
        let refused = |error| Error::new(Phase::Send, error);
        // The exchange refuses a request that is too long, with its length.
        let len = payload.encoded_len().map_err(refused)?.saturating_add(HEADER_LEN);
        let mut buffer = std::vec![0; len.clamp(INITIAL_CAPACITY, MAX_MESSAGE_LEN)];
        let client = ClientExchange::with_payload(command, continuation, payload, &mut buffer);
        let attaches = command == Command::ATTACH_PROFILER;
        Ok(Self {
            client: client.map_err(refused)?,
            attach_timeout: if attaches { attach_timeout(&buffer) } else { Duration::ZERO },
            buffer,
            reads_ahead: continuation == Some(Continuation::Close),
            ahead: 0,
        })
    }

    /// Returns whether the request was sent and the reply has not arrived.
    pub(super) fn awaits_reply(&self) -> bool {
        matches!(self.client.action(), ClientAction::Receive(_))
    }

    /// Returns the time limit for the reply.
    pub(super) fn reply_within(&self, deadlines: &Deadlines) -> Option<Duration> {
        deadlines.reply_to(self.client.command(), self.attach_timeout)
    }

    pub(super) fn next(&mut self) -> Result<Step<'_>, Error> {
        if let ClientAction::Finished(Outcome::BufferTooSmall { size }) = self.client.action() {
            self.buffer.resize(size.into(), 0);
            self.client.enlarged(&self.buffer).map_err(at(Phase::Reply))?;
            self.taken().map_err(at(Phase::Reply))?;
        }
        Ok(match self.client.action() {
            ClientAction::Send(range) => Step::Send(self.buffer.get(range).unwrap_or_default()),
            ClientAction::SendFd(_) => Step::SendFd,
            ClientAction::Receive(range) if self.reads_ahead => {
                Step::Receive(self.buffer.get_mut(range.start..).unwrap_or_default())
            }
            ClientAction::Receive(range) => {
                Step::Receive(self.buffer.get_mut(range).unwrap_or_default())
            }
            ClientAction::Finished(outcome) => Step::Finish(outcome),
        })
    }

    /// Records the result of a send. A runtime that refuses a request early closes before it has
    /// read all of it, so the reply is still read after a failed send.
    pub(super) fn sent(&mut self, sent: Result<usize, ErrorKind>) -> Result<(), Error> {
        match sent {
            Ok(0) | Err(ErrorKind::Io(_)) => self.client.send_failed(),
            Ok(n) => self.client.sent(n),
            Err(stopped) => return Err(Error::new(Phase::Send, stopped)),
        }
        .map_err(at(Phase::Send))
    }

    pub(super) fn fd_sent(&mut self, sent: Result<(), ErrorKind>) -> Result<(), Error> {
        match sent {
            Ok(()) => self.client.fd_sent(),
            // The peer refused the request early, and its reply may say why.
            Err(ErrorKind::Io(error)) if is_disconnected(&error) => self.client.send_failed(),
            Err(stopped) => return Err(Error::new(Phase::SendFd, stopped)),
        }
        .map_err(at(Phase::SendFd))
    }

    pub(super) fn received(&mut self, received: Result<usize, ErrorKind>) -> Result<(), Error> {
        match received {
            Ok(0) => self.client.ended(End::Closed),
            Ok(n) => {
                let lent = match self.client.action() {
                    ClientAction::Receive(range) if self.reads_ahead => {
                        self.buffer.len().saturating_sub(range.start)
                    }
                    ClientAction::Receive(range) => range.len(),
                    _ => 0,
                };
                if n > lent {
                    Err(MisuseError::TooMany { asked: lent, reported: n })
                } else {
                    self.ahead = n;
                    self.taken()
                }
            }
            Err(ErrorKind::Io(_)) => self.client.ended(End::Reset),
            Err(stopped) => return Err(Error::new(Phase::Reply, stopped)),
        }
        .map_err(at(Phase::Reply))
    }

    /// Passes bytes of the buffer to the exchange while it asks for bytes.
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

/// Whether the peer has closed the connection.
fn is_disconnected(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionReset | NotConnected)
}

/// The error text for a request that does not start a streaming session.
pub(super) const NOT_STREAMING: &str = "not a streaming session";

/// Returns an error that refuses to send a request unless `it` is true.
pub(super) fn ensure(it: bool, why: &'static str) -> Result<(), Error> {
    if it { Ok(()) } else { Err(Error::new(Phase::Send, ErrorKind::Unsupported(why))) }
}

/// Returns the error for an OK that lacks what the caller asked for.
pub(super) fn lacking<T>(why: &'static str) -> Result<T, Error> {
    Err(Error::new(Phase::Reply, ErrorKind::Unsupported(why)))
}

fn at(phase: Phase) -> impl Fn(MisuseError) -> Error {
    move |illegal| Error::new(phase, illegal)
}

impl Finished {
    /// Returns the OK reply and what follows it. Every other outcome is an error.
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
            Outcome::NoReply { end, .. } => ErrorKind::Ended { end, received: 0 },
            Outcome::Cut { received, end } => ErrorKind::Ended { end, received: received.into() },
            Outcome::BufferTooSmall { size } => ErrorKind::LimitExceeded { limit: size.into() },
        };
        Err(Error::new(Phase::Reply, kind))
    }

    /// Returns the OK reply to a request of this type.
    pub(super) fn answer<R>(self) -> Result<Answer<R>, Error> {
        self.ok().map(|(message, _)| Answer { message, request: PhantomData })
    }

    /// Returns the id of the session whose stream follows.
    pub(super) fn stream(self) -> Result<Option<u64>, Error> {
        match self.ok()? {
            (_, AfterReply::Stream { session_id }) => Ok(session_id),
            _ => lacking("the runtime did not start a stream"),
        }
    }

    /// Returns the id of the session that writes `user_events`.
    #[cfg(unix)]
    pub(super) fn user_events(self) -> Result<Option<u64>, Error> {
        match self.ok()? {
            (_, AfterReply::UserEvents { session_id }) => Ok(session_id),
            _ => lacking("the runtime did not start a user_events session"),
        }
    }

    /// Returns how many bytes of environment follow.
    pub(super) fn environment(self) -> Result<u32, Error> {
        match self.ok()? {
            (_, AfterReply::EnvironmentBlock { n_incoming_bytes }) => Ok(n_incoming_bytes),
            // The generic OK does not include the size (F-2).
            _ => lacking("the runtime did not report the size of the environment"),
        }
    }

    /// Returns why the front of the buffer is not a reply, with the path of the field.
    fn why(&self) -> WireError {
        match Message::decode_prefix(&self.buffer)
            .and_then(|(message, _)| message.reply_to(Some(self.command)).map(|_| message))
        {
            Err(error) => error,
            // The reply was malformed before it was complete; later bytes in the buffer are not
            // part of it.
            Ok(_) => WireError::new(WireErrorKind::BadMagic, 0),
        }
    }
}

/// Returns the attach timeout in an encoded request.
fn attach_timeout(request: &[u8]) -> Duration {
    let attach = Message::decode_prefix(request)
        .and_then(|(message, _)| message.request_as::<AttachProfiler<'_>>());
    attach.map_or(Duration::ZERO, |attach| Duration::from_millis(attach.attach_timeout.into()))
}
