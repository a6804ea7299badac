//! One connection, from its first byte to its last.

use core::ops::Range;
use std::fmt;
use std::io;
use std::time::{Duration, Instant};
use std::vec::Vec;

use super::handler::{Answer, Passed, ask};
use super::{Entries, Handler, Permit, Refusal, Semaphore, ServeOptions, Served};
use crate::continuation::EnvironmentEncoder;
use crate::exchange::{self, End, MisuseError, RespondError, ServerAction, ServerOutcome};
use crate::header::MAX_MESSAGE_LEN;
use crate::hresult::HResult;
use crate::io::{Canceller, Error, ErrorKind, Phase, Transport, WaitError, WaitLimit};
use crate::message::eventpipe::SessionReply;
use crate::message::server::ErrorReply;
use crate::message::{AnyReply, Message};
use crate::wire::IpcString;

/// The initial request buffer; it grows to the size of a larger request, at most 65,535 bytes.
const INITIAL_CAPACITY: usize = 4096;

/// How much of an environment block is sent at once.
const PIECE: usize = 16 * 1024;

/// Serves one connection of any kind until it is over. Uses only the time limits of
/// [`ServeOptions`], not the numbers.
///
/// # Errors
/// [`ErrorKind::Cancelled`] on `shutdown`. A client's failure is not an error: see
/// [`Served::outcome`].
pub fn serve_connection<T: Transport, H: Handler + ?Sized>(
    transport: T,
    handler: &H,
    options: &ServeOptions,
    shutdown: Option<&Canceller>,
) -> Result<Served, Error> {
    serve_within(transport, handler, options, shutdown, None)
}

/// Serves one connection as one of many: its request has a permit, its session needs another.
pub(super) fn serve_within<'c, T: Transport, H: Handler + ?Sized>(
    transport: T,
    handler: &'c H,
    options: &'c ServeOptions,
    shutdown: Option<&'c Canceller>,
    permit: Option<(Permit<'c>, &'c Semaphore)>,
) -> Result<Served, Error> {
    let (permit, sessions) = permit.unzip();
    let conversation = Conversation {
        transport,
        handler,
        options,
        shutdown,
        server: exchange::Server::with_commands(options.commands),
        buffer: std::vec![0; INITIAL_CAPACITY],
        request: None,
        requesting: until(options.request, shutdown),
        // Unknown until then.
        served: Served {
            command: None,
            outcome: ServerOutcome::Gone { end: End::Reset },
            streamed: 0,
        },
        permit,
        sessions,
        session: None,
    };
    conversation.run()
}

struct Conversation<'c, T, H: ?Sized> {
    transport: T,
    handler: &'c H,
    options: &'c ServeOptions,
    shutdown: Option<&'c Canceller>,
    server: exchange::Server,
    buffer: Vec<u8>,
    /// The range of the request in the buffer, once it is complete.
    request: Option<Range<usize>>,
    requesting: WaitLimit<'c>,
    served: Served,
    /// Released once the reply of a session is sent.
    permit: Option<Permit<'c>>,
    sessions: Option<&'c Semaphore>,
    /// The session's permit.
    session: Option<Permit<'c>>,
}

impl<'c, T: Transport, H: Handler + ?Sized> Conversation<'c, T, H> {
    fn run(mut self) -> Result<Served, Error> {
        let answer = self.reply()?;
        self.follow(answer)?;
        loop {
            match self.server.action() {
                ServerAction::Send(_) => self.send()?,
                // The connection is closed with `self`.
                ServerAction::Close => self.server.closed().map_err(listening)?,
                ServerAction::Finished(outcome) => {
                    self.served.outcome = outcome;
                    self.handler.served(&self.served);
                    return Ok(self.served);
                }
                _ => return Err(listening(MisuseError::NotAsked)),
            }
        }
    }

    /// Exchanges everything up to the last byte of the reply.
    fn reply(&mut self) -> Result<Option<Answer<'c>>, Error> {
        let mut answer = None;
        loop {
            match self.server.action() {
                ServerAction::Receive(range) => {
                    match self
                        .transport
                        .receive(self.buffer.get_mut(range).unwrap_or_default(), &self.requesting)
                    {
                        Ok(0) => self.server.ended(End::Closed),
                        Ok(n) => self.server.received(&self.buffer, n),
                        Err(stopped) => self.server.ended(end(&stopped)?),
                    }
                    .map_err(listening)?;
                }
                ServerAction::Finished(ServerOutcome::BufferTooSmall { size }) => {
                    self.buffer.resize(size.into(), 0);
                    self.server.enlarged(&self.buffer).map_err(listening)?;
                }
                ServerAction::Decode(range) => {
                    self.request = Some(range);
                    answer = self.decode()?;
                }
                // The request is refused after its descriptor, which is closed here.
                ServerAction::ReceiveFd => {
                    let _ = receive_fd(&mut self.server, &mut self.transport, &self.requesting)?;
                }

                ServerAction::Refuse(reason) => {
                    let request = self.request.clone().and_then(|range| self.buffer.get(range));
                    let request = request.and_then(|bytes| Message::decode(bytes).ok());
                    let refusal = self.handler.refuse(request, reason);
                    self.refuse(&refusal)?;
                }
                ServerAction::Send(_) => self.send()?,
                ServerAction::Continue { .. }
                | ServerAction::Hold
                | ServerAction::Close
                | ServerAction::Finished(_) => {
                    return Ok(answer);
                }
                ServerAction::Respond => return Err(listening(MisuseError::NotAsked)),
            }
        }
    }

    /// Calls the handler, and writes the reply over the request.
    fn decode(&mut self) -> Result<Option<Answer<'c>>, Error> {
        let asked = self.server.request(&self.buffer).map_err(listening)?;
        let Some(request) = asked else { return Ok(None) };
        self.served.command = Some(request.command());
        let fd = match self.server.action() {
            ServerAction::ReceiveFd => {
                receive_fd(&mut self.server, &mut self.transport, &self.requesting)?
            }
            _ => None,
        };
        if self.server.action() != ServerAction::Respond {
            return Ok(None);
        }
        let answer = match ask(self.handler, &request, fd) {
            Ok(answer) => answer,
            Err(refusal) => return self.refuse(&refusal).map(|()| None),
        };
        match &answer {
            Answer::Reply(reply) => self.respond(reply)?,
            Answer::Environment(entries) => {
                match EnvironmentEncoder::new(entries.entries.iter().copied()) {
                    Ok(encoder) => self.respond(&AnyReply::ProcessEnvironment(encoder.reply()))?,
                    Err(_) => self.refuse(&HResult::FAIL.into())?,
                }
            }
            Answer::Stream(session) => self.begin(session.session_id())?,
            Answer::Held(session) => self.begin(session.session_id())?,
        }
        Ok(Some(answer))
    }

    /// Writes the reply that starts a session, unless there are too many (F-32).
    fn begin(&mut self, session_id: u64) -> Result<(), Error> {
        self.session = self.sessions.and_then(Semaphore::try_acquire);
        if self.sessions.is_some() && self.session.is_none() {
            return self.refuse(&HResult::FAIL.into());
        }
        self.respond(&AnyReply::Session(SessionReply { session_id }))
    }

    fn respond(&mut self, reply: &AnyReply<'_>) -> Result<(), Error> {
        match self.encoded(|server, buffer| server.respond(reply, buffer)) {
            // Too large for a message: runtimes send an arbitrary part of it (F-40).
            Err(RespondError::Encode(_)) => self.refuse(&HResult::FAIL.into()),
            responded => responded.map_err(not_sent),
        }
    }

    fn refuse(&mut self, refusal: &Refusal) -> Result<(), Error> {
        let message = refusal.message.as_deref().map(IpcString::new);
        let error = ErrorReply { hresult: refusal.hresult, message };
        match self.encoded(|server, buffer| server.refuse_with(&error, buffer)) {
            // The text is too long; the code matters more.
            Err(RespondError::Encode(_)) => {
                let error = ErrorReply::new(refusal.hresult);
                self.encoded(|server, buffer| server.refuse_with(&error, buffer)).map_err(not_sent)
            }
            refused => refused.map_err(not_sent),
        }
    }

    /// Tries once more in the largest buffer.
    fn encoded(
        &mut self,
        mut encode: impl FnMut(&mut exchange::Server, &mut [u8]) -> Result<(), RespondError>,
    ) -> Result<(), RespondError> {
        match encode(&mut self.server, &mut self.buffer) {
            Err(RespondError::Encode(_)) if self.buffer.len() < MAX_MESSAGE_LEN => {
                self.buffer.resize(MAX_MESSAGE_LEN, 0);
                encode(&mut self.server, &mut self.buffer)
            }
            done => done,
        }
    }

    /// Sends all of it, or until the timeout.
    fn send(&mut self) -> Result<(), Error> {
        let until = until(self.options.send, self.shutdown);
        match send(&mut self.server, &mut self.transport, &self.buffer, &until) {
            Ok(Some(WaitError::Cancelled)) => Err(listening(ErrorKind::Cancelled)),
            sent => sent.map(drop).map_err(listening),
        }
    }

    /// Does what follows the reply, if that was sent.
    fn follow(&mut self, answer: Option<Answer<'c>>) -> Result<(), Error> {
        match (answer, self.server.action()) {
            (Some(Answer::Environment(entries)), ServerAction::Continue { .. }) => {
                self.environment(&entries)
            }
            (Some(Answer::Stream(session)), ServerAction::Continue { .. }) => {
                self.permit = None;
                let mut writer = StreamWriter {
                    server: &mut self.server,
                    transport: &mut self.transport,
                    buffer: &mut self.buffer,
                    within: self.options.stream,
                    canceller: self.shutdown,
                    streamed: 0,
                };
                // The handler knows why it ended: the client sees the end.
                let _ = (session.stream)(&mut writer);
                self.served.streamed = writer.streamed;
                self.not_shut_down()?;
                match self.server.action() {
                    ServerAction::Continue { .. } => {
                        self.server.continuation_ended().map_err(listening)
                    }
                    _ => Ok(()),
                }
            }
            (Some(Answer::Held(session)), ServerAction::Hold) => {
                self.permit = None;
                let mut held = HeldConnection {
                    transport: &mut self.transport,
                    canceller: self.shutdown,
                    hung_up: false,
                };
                (session.hold)(&mut held);
                let hung_up = held.hung_up;
                self.not_shut_down()?;
                let ended = if hung_up {
                    self.server.ended(End::Closed)
                } else {
                    self.server.continuation_ended()
                };
                ended.map_err(listening)
            }
            _ => Ok(()),
        }
    }

    fn not_shut_down(&self) -> Result<(), Error> {
        match self.shutdown {
            Some(shutdown) if shutdown.is_cancelled() => Err(listening(ErrorKind::Cancelled)),
            _ => Ok(()),
        }
    }

    fn environment(&mut self, entries: &Entries<'_>) -> Result<(), Error> {
        // It was measured before.
        let Ok(mut encoder) = EnvironmentEncoder::new(entries.entries.iter().copied()) else {
            return Ok(());
        };
        let (mut written, piece) = (0u32, PIECE.max(self.buffer.len()));
        self.buffer.resize(piece, 0);
        while let ServerAction::Continue { .. } = self.server.action() {
            let broken_off = entries.broken_off.map(|(after, hresult)| {
                (usize::try_from(after.saturating_sub(written)).unwrap_or(usize::MAX), hresult)
            });
            if let Some((0, hresult)) = broken_off {
                self.server.break_off(hresult, &mut self.buffer).map_err(not_sent)?;
            } else {
                let room = broken_off.map_or(piece, |(left, _)| left.min(piece));
                let len = encoder.encode(self.buffer.get_mut(..room).unwrap_or_default());
                written = written.saturating_add(crate::wire::clamp(len));
                self.server.piece(&self.buffer, len).map_err(listening)?;
            }
            self.send()?;
        }
        Ok(())
    }
}

fn receive_fd<T: Transport>(
    server: &mut exchange::Server,
    transport: &mut T,
    until: &WaitLimit<'_>,
) -> Result<Passed, Error> {
    #[cfg(unix)]
    let received = transport.receive_fd(until).map(|received| received.map(|(_, fd)| fd));
    #[cfg(not(unix))]
    let received = {
        let _ = (transport, until);
        Ok::<Option<Passed>, WaitError>(Some(None))
    };
    match received {
        Ok(Some(Some(fd))) => {
            server.fd_received().map_err(listening)?;
            return Ok(Some(fd));
        }
        Ok(Some(None)) => server.fd_missing(),
        Ok(None) => server.ended(End::Closed),
        // None can be received, or none can be stored: the client gets an error.
        Err(WaitError::Io(error))
            if matches!(
                error.kind(),
                std::io::ErrorKind::Unsupported | std::io::ErrorKind::Other
            ) =>
        {
            server.fd_missing()
        }
        Err(stopped) => server.ended(end(&stopped)?),
    }
    .map_err(listening)?;
    Ok(None)
}

/// The end of a wait, as reported to the exchange.
fn end(stopped: &WaitError) -> Result<End, Error> {
    match stopped {
        WaitError::TimedOut => Ok(End::TimedOut),
        WaitError::Io(_) => Ok(End::Reset),
        WaitError::Cancelled => Err(listening(ErrorKind::Cancelled)),
    }
}

fn listening(kind: impl Into<ErrorKind>) -> Error {
    Error::new(Phase::Listen, kind)
}

fn not_sent(error: RespondError) -> Error {
    match error {
        RespondError::Misuse(illegal) => listening(illegal),
        RespondError::Encode(error) => listening(error),
    }
}

/// Sends all of it, unless the wait stops before; the exchange then knows of that.
fn send(
    server: &mut exchange::Server,
    transport: &mut dyn Transport,
    buffer: &[u8],
    until: &WaitLimit<'_>,
) -> Result<Option<WaitError>, MisuseError> {
    while let ServerAction::Send(range) = server.action() {
        let stopped = match transport.send(buffer.get(range).unwrap_or_default(), until) {
            // A transport that can send and takes nothing never will.
            Ok(0) => WaitError::Io(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                server.sent(n)?;
                continue;
            }
            Err(stopped) => stopped,
        };
        match stopped {
            WaitError::TimedOut => server.ended(End::TimedOut)?,
            WaitError::Cancelled | WaitError::Io(_) => server.send_failed()?,
        }
        return Ok(Some(stopped));
    }
    Ok(None)
}

/// The most that is sent at once.
const STREAM_PIECE: usize = 64 * 1024;

/// Writes the stream of a session. A write returns once the client's side has accepted it: a client
/// that does not read blocks the handler, for up to
/// [`ServeOptions::stream`](super::ServeOptions::stream).
///
/// ```
/// use std::io::Write as _;
/// use dotnet_diagnostics_ipc::io::server::StreamSession;
///
/// let session = StreamSession::new(1, |stream| {
///     stream.write_all(b"Nettrace")?;
///     // Until the client hangs up.
///     while !stream.pause(std::time::Duration::from_secs(1))? {}
///     Ok(())
/// });
/// # drop(session);
/// ```
///
/// Writing fails with `TimedOut` if the client did not read in time, with `ConnectionAborted` on
/// shutdown, and with the system's error if the client has disconnected. Nothing can be written
/// after that.
pub struct StreamWriter<'w> {
    server: &'w mut exchange::Server,
    transport: &'w mut dyn Transport,
    buffer: &'w mut Vec<u8>,
    within: Option<Duration>,
    canceller: Option<&'w Canceller>,
    streamed: u64,
}

impl StreamWriter<'_> {
    /// How many bytes were sent.
    pub const fn streamed(&self) -> u64 {
        self.streamed
    }

    /// Waits this long; returns whether the client hung up meanwhile, as far as that can be
    /// detected.
    ///
    /// # Errors
    /// `ConnectionAborted`: the server is shut down.
    pub fn pause(&mut self, time: Duration) -> io::Result<bool> {
        wait(self.transport, Some(time), self.canceller)
    }
}

impl io::Write for StreamWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = bytes.get(..bytes.len().min(STREAM_PIECE)).unwrap_or_default();
        if self.buffer.len() < piece.len() {
            self.buffer.resize(piece.len(), 0);
        }
        for (to, from) in self.buffer.iter_mut().zip(piece) {
            *to = *from;
        }
        // Closed by an earlier failure.
        self.server
            .piece(self.buffer, piece.len())
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        let until = until(self.within, self.canceller);
        let sent = send(self.server, self.transport, self.buffer, &until);
        match sent.map_err(io::Error::other)? {
            None => {}
            Some(WaitError::TimedOut) => return Err(io::ErrorKind::TimedOut.into()),
            Some(WaitError::Cancelled) => return Err(shut_down()),
            Some(WaitError::Io(error)) => return Err(error),
        }
        self.streamed = self.streamed.saturating_add(piece.len() as u64);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for StreamWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamWriter").field("streamed", &self.streamed).finish_non_exhaustive()
    }
}

/// The connection of a `user_events` session: it carries no data.
pub struct HeldConnection<'w> {
    transport: &'w mut dyn Transport,
    canceller: Option<&'w Canceller>,
    hung_up: bool,
}

impl HeldConnection<'_> {
    /// Waits until the client hangs up, or until the timeout; returns whether it hung up. A
    /// half-close does not count (F-23).
    ///
    /// # Errors
    /// `ConnectionAborted`: the server is shut down.
    pub fn wait(&mut self, time: Option<Duration>) -> io::Result<bool> {
        if !self.hung_up {
            self.hung_up = wait(self.transport, time, self.canceller)?;
        }
        Ok(self.hung_up)
    }
}

impl fmt::Debug for HeldConnection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldConnection").field("hung_up", &self.hung_up).finish_non_exhaustive()
    }
}

fn wait(
    transport: &mut dyn Transport,
    time: Option<Duration>,
    canceller: Option<&Canceller>,
) -> io::Result<bool> {
    match transport.hung_up(&until(time, canceller)) {
        Err(WaitError::TimedOut) => Ok(false),
        Err(WaitError::Cancelled) => Err(shut_down()),
        // However it ended.
        Ok(()) | Err(WaitError::Io(_)) => Ok(true),
    }
}

/// A deadline beyond the clock's range is none.
fn until(within: Option<Duration>, canceller: Option<&Canceller>) -> WaitLimit<'_> {
    WaitLimit { deadline: within.and_then(|within| Instant::now().checked_add(within)), canceller }
}

fn shut_down() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the server is shut down")
}
