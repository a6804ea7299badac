//! Serves many connections, each from its first byte to its last.

use core::ops::{Deref, Range};
use std::string::String;
use std::thread;
use std::time::Duration;
use std::vec::Vec;

use super::handler::{Handler, HeldConnection, Passed, Response, StreamWriter, ask, send};
use super::{Entries, Listen, Permit, Refusal, Semaphore, ServeOptions, Served};
use crate::continuation::EnvironmentEncoder;
use crate::exchange::{self, End, MisuseError, RespondError, ServerAction, ServerOutcome};
use crate::header::MAX_MESSAGE_LEN;
use crate::hresult::HResult;
use crate::io::{Canceller, Error, ErrorKind, Phase, Transport, WaitLimit};
use crate::message::eventpipe::SessionReply;
use crate::message::server::ErrorReply;
use crate::message::{AnyReply, Message};
use crate::wire::IpcString;

/// The initial size of the request buffer, which grows to at most 65,535 bytes.
const INITIAL_CAPACITY: usize = 4096;

/// The maximum number of bytes of an environment block that are sent at once.
const PIECE: usize = 16 * 1024;

/// Serves every client, with a thread for each connection, until `shutdown`, which also ends
/// sessions.
///
/// A silent client occupies one of the places of [`ServeOptions::most_at_once`] for the time of
/// [`ServeOptions::request`], so only trusted clients should reach the socket.
///
/// ```
/// use dotnet_diagnostics_ipc::io::server::{Handler, ServeOptions, serve};
/// use dotnet_diagnostics_ipc::io::{Canceller, SocketTransport};
/// use std::os::unix::net::{UnixListener, UnixStream};
///
/// struct Nothing;
/// impl Handler for Nothing {}
///
/// let directory = tempfile::tempdir()?;
/// let listener = UnixListener::bind(directory.path().join("socket"))?;
/// let shutdown = Canceller::new()?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| serve(&listener, &Nothing, &ServeOptions::DEFAULT, &shutdown));
///     // … clients connect …
///     shutdown.cancel();
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Fails in [`Phase::Listen`](crate::io::Phase::Listen) if the listener fails; this uses
/// `shutdown`, which ends the sessions.
///
/// # Panics
/// Panics if a method of the handler panicked, once the server has ended.
pub fn serve<L, H>(
    listener: L,
    handler: &H,
    options: &ServeOptions,
    shutdown: &Canceller,
) -> Result<(), Error>
where
    L: Listen<Transport: Send>,
    H: Handler + Sync + ?Sized,
{
    serve_with(listener, |_| handler, options, shutdown)
}

/// Serves every client as [`serve`] does, with a handler for each connection. `handler_of` chooses
/// it before the first byte is read, for example by who connects.
///
/// ```
/// # #[cfg(unix)] {
/// use dotnet_diagnostics_ipc::io::Canceller;
/// use dotnet_diagnostics_ipc::io::server::{Handler, ServeOptions, serve_with};
/// use dotnet_diagnostics_ipc::io::trust::peer_of;
/// use std::os::unix::net::UnixListener;
///
/// struct Client(Option<u32>);
/// impl Handler for Client {}
///
/// let directory = tempfile::tempdir()?;
/// let listener = UnixListener::bind(directory.path().join("socket"))?;
/// let shutdown = Canceller::new()?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         let handler_of = |client: &_| {
///             Box::new(Client(peer_of(client).ok().and_then(|peer| peer.process_id)))
///         };
///         serve_with(&listener, handler_of, &ServeOptions::DEFAULT, &shutdown)
///     });
///     // … clients connect …
///     shutdown.cancel();
/// });
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Fails as [`serve`] does.
///
/// # Panics
/// Panics as [`serve`] does, and if `handler_of` panics.
pub fn serve_with<L, H>(
    mut listener: L,
    handler_of: impl Fn(&L::Transport) -> H,
    options: &ServeOptions,
    shutdown: &Canceller,
) -> Result<(), Error>
where
    L: Listen<Transport: Send>,
    H: Deref<Target: Handler> + Send,
{
    let (requests, sessions) =
        (Semaphore::new(options.most_at_once.max(1)), Semaphore::new(options.most_sessions));
    let until = WaitLimit { deadline: None, canceller: Some(shutdown) };
    thread::scope(|scope| {
        loop {
            // This wait ends on shutdown, because running connections end then.
            let permit = requests.acquire();
            let transport = match listener.accept(&until) {
                Ok(transport) => transport,
                Err(error) => match error.kind() {
                    ErrorKind::Cancelled => return Ok(()),
                    ErrorKind::TimedOut => continue,
                    ErrorKind::Io(reason) if passes(reason) => {
                        drop(permit);
                        pause(shutdown);
                        continue;
                    }
                    _ => {
                        shutdown.cancel();
                        return Err(error);
                    }
                },
            };
            let (sessions, handler) = (&sessions, handler_of(&transport));
            let served = thread::Builder::new()
                .name(String::from("diagnostics server"))
                .spawn_scoped(scope, move || {
                    let (handler, permit) = (&*handler, Some((permit, sessions)));
                    // An error means that it was cancelled, which the caller knows.
                    let _ = serve_within(transport, handler, options, Some(shutdown), permit);
                });
            if served.is_err() {
                // No thread was started, and the client was disconnected. Others may end meanwhile.
                pause(shutdown);
            }
        }
    })
}

/// Waits a moment, to avoid a busy loop when the system has no descriptor left.
fn pause(canceller: &Canceller) {
    let _ = WaitLimit::within(Some(Duration::from_millis(20)), Some(canceller)).sleep();
}

/// Returns whether an error may pass, once descriptors or memory are available again.
fn passes(error: &std::io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let errno = Errno::from_io_error(error);
        matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
    }
    #[cfg(not(unix))]
    {
        error.kind() == std::io::ErrorKind::OutOfMemory
    }
}

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
fn serve_within<'c, T: Transport, H: Handler + ?Sized>(
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
        requesting: WaitLimit::within(options.request, shutdown),
        // These values hold until others are known.
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
    fn reply(&mut self) -> Result<Option<Response<'c>>, Error> {
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
                // The request is refused after its descriptor, which is received here and closed.
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
    fn decode(&mut self) -> Result<Option<Response<'c>>, Error> {
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
            Response::Reply(reply) => self.respond(reply)?,
            Response::Environment(entries) => {
                match EnvironmentEncoder::new(entries.entries.iter().copied()) {
                    Ok(encoder) => self.respond(&AnyReply::ProcessEnvironment(encoder.reply()))?,
                    Err(_) => self.refuse(&HResult::FAIL.into())?,
                }
            }
            Response::Stream(session) => self.begin(session.session_id())?,
            Response::Held(session) => self.begin(session.session_id())?,
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
            // The reply is too large for a message (F-40).
            Err(RespondError::Encode(_)) => self.refuse(&HResult::FAIL.into()),
            responded => responded.map_err(not_sent),
        }
    }

    fn refuse(&mut self, refusal: &Refusal) -> Result<(), Error> {
        let message = refusal.message.as_deref().map(IpcString::new);
        let error = ErrorReply { hresult: refusal.hresult, message };
        match self.encoded(|server, buffer| server.refuse_with(&error, buffer)) {
            // The text is too long, so only the code is sent.
            Err(RespondError::Encode(_)) => {
                let error = ErrorReply::new(refusal.hresult);
                self.encoded(|server, buffer| server.refuse_with(&error, buffer)).map_err(not_sent)
            }
            refused => refused.map_err(not_sent),
        }
    }

    /// Encodes a reply, and tries once more in the largest buffer.
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

    /// Sends the whole reply, unless the timeout passes first.
    fn send(&mut self) -> Result<(), Error> {
        let until = WaitLimit::within(self.options.send, self.shutdown);
        match send(&mut self.server, &mut self.transport, &self.buffer, &until) {
            Ok(Some(ErrorKind::Cancelled)) => Err(listening(ErrorKind::Cancelled)),
            sent => sent.map(drop).map_err(listening),
        }
    }

    /// Does what follows the reply, if that was sent.
    fn follow(&mut self, answer: Option<Response<'c>>) -> Result<(), Error> {
        match (answer, self.server.action()) {
            (Some(Response::Environment(entries)), ServerAction::Continue { .. }) => {
                self.environment(&entries)
            }
            (Some(Response::Stream(session)), ServerAction::Continue { .. }) => {
                self.permit = None;
                let mut writer = StreamWriter {
                    server: &mut self.server,
                    transport: &mut self.transport,
                    buffer: &mut self.buffer,
                    within: self.options.stream,
                    canceller: self.shutdown,
                    streamed: 0,
                };
                // The handler knows why the stream ended; the client sees only the end.
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
            (Some(Response::Held(session)), ServerAction::Hold) => {
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
        // This cannot fail, because the block was measured before.
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
        Ok::<Option<Passed>, ErrorKind>(Some(None))
    };
    match received {
        Ok(Some(Some(fd))) => {
            server.fd_received().map_err(listening)?;
            return Ok(Some(fd));
        }
        Ok(Some(None)) | Err(ErrorKind::Unsupported(_)) => server.fd_missing(),
        Ok(None) => server.ended(End::Closed),
        // No descriptor can be received or stored, so the client gets an error.
        Err(ErrorKind::Io(error)) if error.kind() == std::io::ErrorKind::Other => {
            server.fd_missing()
        }
        Err(stopped) => server.ended(end(&stopped)?),
    }
    .map_err(listening)?;
    Ok(None)
}

/// Returns the end of a wait as the exchange gets it.
fn end(stopped: &ErrorKind) -> Result<End, Error> {
    match stopped {
        ErrorKind::TimedOut => Ok(End::TimedOut),
        ErrorKind::Cancelled => Err(listening(ErrorKind::Cancelled)),
        _ => Ok(End::Reset),
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
