//! The runtime's side of one connection: a request, its reply, and what follows.

mod action;
mod known_commands;
mod options;
mod parsed_request;
mod refusal_reason;
mod respond_error;

pub use action::{ServerAction, ServerOutcome};
pub use known_commands::KnownCommands;
pub use options::{CheckOrder, ServerOptions};
pub use parsed_request::ParsedRequest;
pub use refusal_reason::RefusalReason;
pub use respond_error::RespondError;

use super::incoming::{Incoming, Progress};
use super::outgoing::Outgoing;
use super::{End, MisuseError};
use crate::command::{Command, Continuation};
use crate::header::{HEADER_LEN, Header};
use crate::hresult::HResult;
use crate::message::{self, Message, server::ErrorReply};
use crate::wire::{Encode, WireError, clamp};

/// The runtime's side of one connection.
///
/// The caller lends one buffer, of at least 24 bytes; the reply overwrites the request.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{ParsedRequest, Server, ServerAction, ServerOutcome};
/// use dotnet_diagnostics_ipc::hresult::HResult;
/// use dotnet_diagnostics_ipc::message::{AnyRequest, server::ResultReply};
///
/// let mut input = &b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0"[..]; // what the client sends
/// let mut answer = Vec::new();
/// let mut buffer = [0; 64];
/// let mut server = Server::new();
/// let outcome = loop {
///     match server.action() {
///         ServerAction::Receive(range) => {
///             let (now, later) = input.split_at(range.len());
///             buffer[range].copy_from_slice(now);
///             input = later;
///             server.received(&buffer, now.len())?;
///         }
///         ServerAction::Decode(_) => match server.request(&buffer)? {
///             ParsedRequest::Request(AnyRequest::ResumeRuntime(_)) => {} // a runtime would start now
///             other => panic!("{other:?}"),
///         },
///         ServerAction::Respond => server.respond(&ResultReply { hresult: HResult::OK }, &mut buffer)?,
///         ServerAction::Refuse(reason) => server.refuse(reason.hresult(), &mut buffer)?,
///         ServerAction::Send(range) => {
///             answer.extend_from_slice(&buffer[range.clone()]);
///             server.sent(range.len())?;
///         }
///         ServerAction::Close => server.closed()?,
///         ServerAction::Finished(outcome) => break outcome,
///         other => panic!("{other:?}"),
///     }
/// };
/// assert_eq!(outcome, ServerOutcome::Answered);
/// assert_eq!(answer, b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Server {
    options: ServerOptions,
    continuation: Continuation,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Receive(Incoming),
    TooSmall(Incoming, u16),
    Decode(Header),
    /// Then a refusal, if there is a reason.
    ReceiveFd(Option<RefusalReason>),
    Respond,
    Refuse(RefusalReason),
    Send(Outgoing, Next),
    Continue(Option<u32>),
    Hold,
    Close(ServerOutcome),
    Done(ServerOutcome),
}

/// What follows once the buffer is sent.
#[derive(Clone, Copy, Debug)]
enum Next {
    Continue(Option<u32>),
    Hold,
    Close(ServerOutcome),
}

impl Server {
    /// A server with the default options.
    pub const fn new() -> Self {
        Self::with_options(ServerOptions::DEFAULT)
    }

    /// A server with the caller's options.
    pub const fn with_options(options: ServerOptions) -> Self {
        Self { options, continuation: Continuation::Close, state: State::Receive(Incoming::START) }
    }

    /// The current action. Has no side effects.
    #[inline]
    pub fn action(&self) -> ServerAction {
        match self.state {
            State::Receive(incoming) => ServerAction::Receive(incoming.range()),
            State::TooSmall(_, size) => {
                ServerAction::Finished(ServerOutcome::BufferTooSmall { size })
            }
            State::Decode(header) => ServerAction::Decode(0..header.size.into()),
            State::ReceiveFd(_) => ServerAction::ReceiveFd,
            State::Respond => ServerAction::Respond,
            State::Refuse(reason) => ServerAction::Refuse(reason),
            State::Send(outgoing, _) => ServerAction::Send(outgoing.range()),
            State::Continue(left) => ServerAction::Continue { left },
            State::Hold => ServerAction::Hold,
            State::Close(_) => ServerAction::Close,
            State::Done(outcome) => ServerAction::Finished(outcome),
        }
    }

    /// `n` bytes of [`Receive`](ServerAction::Receive) are in the buffer, at the front of the
    /// range.
    ///
    /// # Errors
    /// [`MisuseError`] if the exchange did not ask for this, or `n` is 0: that is an
    /// [end](Self::ended).
    #[inline]
    pub fn received(&mut self, buffer: &[u8], n: usize) -> Result<(), MisuseError> {
        let State::Receive(incoming) = &mut self.state else { return Err(MisuseError::NotAsked) };
        incoming.received(buffer, n)?;
        if !incoming.is_in_payload() {
            let incoming = *incoming;
            self.look_at(incoming, buffer);
        }
        Ok(())
    }

    /// Checks the received part of a message: it may be whole now, or have a header.
    fn look_at(&mut self, mut incoming: Incoming, buffer: &[u8]) {
        let progress = match self.options.order {
            CheckOrder::AsShipped => incoming.progress_by_size(buffer),
            CheckOrder::Strict => incoming.progress(buffer),
        };
        self.state = match progress {
            Ok(Progress::InPayload(header) | Progress::Whole(header))
                if self.refuses_now(&progress, header) =>
            {
                State::Refuse(RefusalReason::UnknownCommand { command: header.command })
            }
            Ok(Progress::InPayload(header)) if buffer.len() < usize::from(header.size) => {
                State::TooSmall(incoming, header.size)
            }
            Ok(Progress::InHeader | Progress::InPayload(_)) => State::Receive(incoming),
            Ok(Progress::Whole(header)) => State::Decode(header),
            Err(error) => State::Refuse(RefusalReason::malformed(error)),
        };
    }

    /// Whether the command is unknown, and that is answered now: at the header by a strict server,
    /// after the payload by a runtime.
    fn refuses_now(&self, progress: &Result<Progress, WireError>, header: Header) -> bool {
        let now =
            self.options.order == CheckOrder::Strict || matches!(progress, Ok(Progress::Whole(_)));
        now && !self.options.commands.contains(header.command)
    }

    /// Continues after [`ServerOutcome::BufferTooSmall`] in a larger buffer. The caller has copied
    /// the 20 bytes to its front.
    ///
    /// # Errors
    /// [`MisuseError`] after another outcome, if `buffer` is still too short, or if it does not
    /// begin with that header.
    pub fn enlarged(&mut self, buffer: &[u8]) -> Result<(), MisuseError> {
        let State::TooSmall(incoming, size) = self.state else { return Err(MisuseError::NotAsked) };
        self.state = State::Receive(incoming.enlarged(buffer, size)?);
        Ok(())
    }

    /// The request of the action [`Decode`](ServerAction::Decode), decoded once. The action is then
    /// [`Respond`](ServerAction::Respond), [`ReceiveFd`](ServerAction::ReceiveFd), or
    /// [`Refuse`](ServerAction::Refuse).
    ///
    /// # Errors
    /// [`MisuseError`] if the exchange did not ask for this.
    pub fn request<'b>(&mut self, buffer: &'b [u8]) -> Result<ParsedRequest<'b>, MisuseError> {
        let State::Decode(header) = self.state else { return Err(MisuseError::NotAsked) };
        let size = usize::from(header.size);
        let bytes = buffer.get(..size).ok_or(MisuseError::BufferTooShort { needed: size })?;
        let payload = bytes.get(HEADER_LEN..).unwrap_or_default();
        let message = Message { command: header.command, reserved: header.reserved, payload };
        let request = match message.request() {
            Ok(request) => request,
            Err(error) => {
                self.state = State::Refuse(RefusalReason::malformed(error));
                return Ok(ParsedRequest::Malformed(error));
            }
        };
        let continuation = request.continuation().unwrap_or(Continuation::Close);
        let user_events = continuation == Continuation::UserEvents;
        if let Err(error) = request.check_limits() {
            let reason =
                RefusalReason::OverLimit { kind: error.kind(), offset: clamp(error.offset()) };
            // Checks made by the kernel fail after the descriptor (F-19, F-21).
            let fails_late = user_events
                && self.options.order == CheckOrder::AsShipped
                && reason.hresult() == HResult::FAIL;
            self.state =
                if fails_late { State::ReceiveFd(Some(reason)) } else { State::Refuse(reason) };
            return Ok(ParsedRequest::OverLimit(error));
        }
        let (limit, found) = (self.options.max_providers, clamp(request.providers_len()));
        if found > limit {
            self.state = State::Refuse(RefusalReason::TooManyProviders { limit, found });
            return Ok(ParsedRequest::TooManyProviders { limit, found });
        }
        self.continuation = continuation;
        self.state = if user_events { State::ReceiveFd(None) } else { State::Respond };
        Ok(ParsedRequest::Request(request))
    }

    /// The byte arrived with a descriptor. The caller keeps it.
    ///
    /// # Errors
    /// [`MisuseError`] if the exchange did not ask for this.
    pub fn fd_received(&mut self) -> Result<(), MisuseError> {
        let State::ReceiveFd(refused) = self.state else { return Err(MisuseError::NotAsked) };
        self.state = refused.map_or(State::Respond, State::Refuse);
        Ok(())
    }

    /// The byte arrived without a descriptor (F-21).
    ///
    /// # Errors
    /// [`MisuseError`] if the exchange did not ask for this.
    pub fn fd_missing(&mut self) -> Result<(), MisuseError> {
        let State::ReceiveFd(_) = self.state else { return Err(MisuseError::NotAsked) };
        self.state = State::Refuse(RefusalReason::NoDescriptor);
        Ok(())
    }

    /// Writes an OK with `payload` over the request, to be sent. The command determines what
    /// follows; after a `ProcessEnvironmentReply`, as many bytes as it announces.
    ///
    /// # Errors
    /// [`RespondError::Encode`], and the exchange still asks to respond: a reply over 65,535 bytes
    /// is refused here, where released runtimes send a wrapped size (F-40).
    /// [`RespondError::Misuse`] if the exchange did not ask for this.
    pub fn respond<T: Encode + ?Sized>(
        &mut self,
        payload: &T,
        buffer: &mut [u8],
    ) -> Result<(), RespondError> {
        let State::Respond = self.state else { return Err(MisuseError::NotAsked.into()) };
        let len = message::encode(Command::OK, payload, buffer)?;
        let next = match self.continuation {
            Continuation::Nettrace => Next::Continue(None),
            Continuation::UserEvents => Next::Hold,
            Continuation::EnvironmentBlock => {
                let reply = buffer.get(HEADER_LEN..len).and_then(|payload| payload.first_chunk());
                match reply.map_or(0, |n_incoming_bytes| u32::from_le_bytes(*n_incoming_bytes)) {
                    0 => Next::Close(ServerOutcome::Answered),
                    left => Next::Continue(Some(left)),
                }
            }
            Continuation::Close | Continuation::BySessionType => {
                Next::Close(ServerOutcome::Answered)
            }
        };
        self.state = State::Send(Outgoing::new(clamp(len)), next);
        Ok(())
    }

    /// Writes an error over the request, to be sent.
    ///
    /// # Errors
    /// As [`respond`](Self::respond). Allowed in [`Respond`](ServerAction::Respond), in
    /// [`Refuse`](ServerAction::Refuse), and with a buffer that is too small.
    pub fn refuse(&mut self, hresult: HResult, buffer: &mut [u8]) -> Result<(), RespondError> {
        self.refuse_with(&ErrorReply::new(hresult), buffer)
    }

    /// Like `refuse`, with a text, which only the errors of `GenerateCoreDump3` have (F-50).
    ///
    /// # Errors
    /// As [`refuse`](Self::refuse).
    pub fn refuse_with(
        &mut self,
        error: &ErrorReply<'_>,
        buffer: &mut [u8],
    ) -> Result<(), RespondError> {
        let (State::Respond | State::Refuse(_) | State::TooSmall(..)) = self.state else {
            return Err(MisuseError::NotAsked.into());
        };
        let len = message::encode(Command::ERROR, error, buffer)?;
        self.state = State::Send(
            Outgoing::new(clamp(len)),
            Next::Close(ServerOutcome::Refused(error.hresult)),
        );
        Ok(())
    }

    /// The first `n` bytes of [`Send`](ServerAction::Send) were sent.
    ///
    /// # Errors
    /// [`MisuseError`] if the exchange did not ask for this, or `n` is 0.
    #[inline]
    pub fn sent(&mut self, n: usize) -> Result<(), MisuseError> {
        let State::Send(outgoing, next) = &mut self.state else {
            return Err(MisuseError::NotAsked);
        };
        if outgoing.sent(n)? {
            self.state = match *next {
                Next::Continue(left) => State::Continue(left),
                Next::Hold => State::Hold,
                Next::Close(outcome) => State::Close(outcome),
            };
        }
        Ok(())
    }

    /// Sending failed: the client has disconnected.
    ///
    /// # Errors
    /// [`MisuseError`] if there was nothing to send.
    pub fn send_failed(&mut self) -> Result<(), MisuseError> {
        let (State::Send(..) | State::Continue(_)) = self.state else {
            return Err(MisuseError::NotAsked);
        };
        self.state = State::Close(ServerOutcome::Gone { end: End::Reset });
        Ok(())
    }

    /// The next `n` bytes after the reply are at the front of the buffer, to be sent; 0 changes
    /// nothing.
    ///
    /// # Errors
    /// [`MisuseError`] if the exchange did not ask for this, or with more bytes than the reply
    /// announced.
    pub fn piece(&mut self, buffer: &[u8], n: usize) -> Result<(), MisuseError> {
        let State::Continue(left) = self.state else { return Err(MisuseError::NotAsked) };
        if buffer.len() < n {
            return Err(MisuseError::BufferTooShort { needed: n });
        }
        let piece = clamp(n);
        let next = match left {
            None => Next::Continue(None),
            Some(left) => match left.checked_sub(piece) {
                None => return Err(MisuseError::TooMany { asked: left as usize, reported: n }),
                Some(0) => Next::Close(ServerOutcome::Answered),
                Some(left) => Next::Continue(Some(left)),
            },
        };
        if n > 0 {
            self.state = State::Send(Outgoing::new(piece), next);
        }
        Ok(())
    }

    /// The stream has ended, or the `user_events` session was stopped.
    ///
    /// # Errors
    /// [`MisuseError`] unless a session has the connection. An environment block ends with its last
    /// byte, or with [`break_off`](Self::break_off).
    pub fn continuation_ended(&mut self) -> Result<(), MisuseError> {
        let (State::Continue(None) | State::Hold) = self.state else {
            return Err(MisuseError::NotAsked);
        };
        self.state = State::Close(ServerOutcome::Answered);
        Ok(())
    }

    /// Interrupts the environment block, and writes an error at the front of the buffer, to be sent
    /// instead (F-43).
    ///
    /// # Errors
    /// As [`refuse`](Self::refuse), if no block is being sent.
    pub fn break_off(&mut self, hresult: HResult, buffer: &mut [u8]) -> Result<(), RespondError> {
        let State::Continue(Some(_)) = self.state else { return Err(MisuseError::NotAsked.into()) };
        let len = message::encode(Command::ERROR, &ErrorReply::new(hresult), buffer)?;
        self.state =
            State::Send(Outgoing::new(clamp(len)), Next::Close(ServerOutcome::BrokenOff(hresult)));
        Ok(())
    }

    /// The connection ended, or the caller's time limit expired.
    ///
    /// A client that sends no more may still read: in the runtimes' order of checks, a truncated
    /// message, even of 0 bytes, is answered (F-69).
    ///
    /// # Errors
    /// [`MisuseError`] if nothing is expected from the client. While something is to be sent, only
    /// a timeout is possible.
    pub fn ended(&mut self, end: End) -> Result<(), MisuseError> {
        let gone = State::Close(ServerOutcome::Gone { end });
        self.state = match (self.state, end) {
            (State::Receive(incoming), End::Closed)
                if incoming.have() > 0 || self.options.order == CheckOrder::AsShipped =>
            {
                State::Refuse(RefusalReason::EndOfInput { received: incoming.have() })
            }
            (State::ReceiveFd(_), End::Closed) => State::Refuse(RefusalReason::NoDescriptor),
            (State::Hold, End::Closed | End::Reset) => State::Close(ServerOutcome::Answered),
            (State::Receive(_) | State::ReceiveFd(_), _)
            | (State::Send(..) | State::Continue(_), End::TimedOut) => gone,
            _ => return Err(MisuseError::NotAsked),
        };
        Ok(())
    }

    /// The connection is closed.
    ///
    /// # Errors
    /// [`MisuseError`] if the exchange did not ask for this.
    pub fn closed(&mut self) -> Result<(), MisuseError> {
        let State::Close(outcome) = self.state else { return Err(MisuseError::NotAsked) };
        self.state = State::Done(outcome);
        Ok(())
    }
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}
