//! The runtime's side of one connection: a request, its reply, and what follows the reply.

use core::fmt;
use core::ops::Range;

use super::framing::{Incoming, Outgoing};
use super::{End, MisuseError};
use crate::command::{Command, Continuation, DotnetVersion};
use crate::header::{HEADER_LEN, Header};
use crate::hresult::HResult;
use crate::message::{self, AnyRequest, Message, server::ErrorReply};
use crate::wire::{Encode, EncodeError, Layer, WireError, WireErrorKind, clamp};

/// The runtime's side of one connection: receives a request, sends the reply and what follows.
///
/// The caller lends one buffer of at least 24 bytes. The reply overwrites the request.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{Server, ServerAction, ServerOutcome};
/// use dotnet_diagnostics_ipc::hresult::HResult;
/// use dotnet_diagnostics_ipc::message::{AnyRequest, server::ResultReply};
///
/// let mut input = &b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0"[..]; // the client's bytes
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
///             Some(AnyRequest::ResumeRuntime(_)) => {} // a runtime would start now
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
    commands: KnownCommands,
    state: State,
}

// A tag inside a field would take five more instructions to read.
#[repr(u8)]
#[derive(Clone, Copy, Debug)]
enum State {
    Receive(Incoming),
    TooSmall(Incoming, u16),
    Decode(Header),
    /// Receive the descriptor; then refuse if the kernel would refuse a value.
    ReceiveFd(Option<WireError>),
    /// Wait for the reply. Has what follows an OK.
    Respond(Continuation),
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

/// The next action of a [`Server`].
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{Server, ServerAction};
///
/// assert_eq!(Server::new().action(), ServerAction::Receive(0..20));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use = "the exchange advances only when the action is done"]
pub enum ServerAction {
    /// Read into this range and no further. Then call [`Server::received`] or [`Server::ended`].
    Receive(Range<usize>),
    /// The request is in this range of the buffer. Read it with [`Server::request`].
    Decode(Range<usize>),
    /// Receive one byte with a descriptor. Then call [`Server::fd_received`],
    /// [`Server::fd_missing`] if the byte had no descriptor, or [`Server::ended`].
    ReceiveFd,
    /// Execute the request, then call [`Server::respond`] or [`Server::refuse`].
    Respond,
    /// Refuse the request for this reason. Call [`Server::refuse`], usually with
    /// [`RefusalReason::hresult`].
    Refuse(RefusalReason),
    /// Write this range of the buffer, or part of it. Then call [`Server::sent`] or
    /// [`Server::send_failed`].
    Send(Range<usize>),
    /// Write the next bytes of the stream or environment block to the front of the buffer. Then
    /// call [`Server::piece`] or, at the end, [`Server::continuation_ended`].
    Continue {
        /// The number of bytes left of the environment block, or `None` for a stream.
        left: Option<u32>,
    },
    /// Keep the connection open until the client closes it, because a `user_events` session lasts
    /// that long. Then call [`Server::ended`]. A half-close does not count (F-23).
    Hold,
    /// Close the connection, then call [`Server::closed`].
    Close,
    /// The exchange is over.
    Finished(ServerOutcome),
}

/// The outcome of a connection on the runtime's side.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{End, Server, ServerAction, ServerOutcome};
///
/// let mut server = Server::new();
/// server.ended(End::Reset)?;
/// assert_eq!(server.action(), ServerAction::Close);
/// server.closed()?;
/// assert_eq!(server.action(), ServerAction::Finished(ServerOutcome::Gone { end: End::Reset }));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerOutcome {
    /// The reply and everything after it was sent.
    Answered,
    /// An error was sent.
    Refused(HResult),
    /// The environment block was interrupted by an error (F-43).
    BrokenOff(HResult),
    /// The request has `size` bytes, which exceeds the buffer. The buffer has its header, and the
    /// rest is unread. [`Server::enlarged`] continues, [`Server::refuse`] ends the exchange.
    BufferTooSmall {
        /// The required size of the buffer in bytes.
        size: u16,
    },
    /// The client disconnected, or sent nothing within the caller's time limit.
    Gone {
        /// How the connection ended.
        end: End,
    },
}

impl Server {
    /// Returns a server that knows every command of the protocol.
    pub const fn new() -> Self {
        Self::with_commands(KnownCommands::All)
    }

    /// Returns a server that knows these commands and answers all others with `UNKNOWN_COMMAND`.
    pub const fn with_commands(commands: KnownCommands) -> Self {
        Self { commands, state: State::Receive(Incoming::START) }
    }

    /// Returns the current action, and changes nothing.
    #[inline]
    pub fn action(&self) -> ServerAction {
        match self.state {
            State::Receive(incoming) => ServerAction::Receive(incoming.range()),
            State::TooSmall(_, size) => {
                ServerAction::Finished(ServerOutcome::BufferTooSmall { size })
            }
            State::Decode(header) => ServerAction::Decode(0..header.size.into()),
            State::ReceiveFd(_) => ServerAction::ReceiveFd,
            State::Respond(_) => ServerAction::Respond,
            State::Refuse(reason) => ServerAction::Refuse(reason),
            State::Send(outgoing, _) => ServerAction::Send(outgoing.range()),
            State::Continue(left) => ServerAction::Continue { left },
            State::Hold => ServerAction::Hold,
            State::Close(_) => ServerAction::Close,
            State::Done(outcome) => ServerAction::Finished(outcome),
        }
    }

    /// Reports that `n` bytes are in the buffer, at the front of the
    /// [`Receive`](ServerAction::Receive) range.
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

    /// Checks the received bytes in the order of runtimes (F-69): the 20 bytes, `size`, the whole
    /// payload, magic, command.
    fn look_at(&mut self, incoming: Incoming, buffer: &[u8]) {
        let bytes = incoming.bytes(buffer);
        let Some([.., low, high, _, _, _, _]) = bytes.first_chunk::<HEADER_LEN>() else { return };
        let size = u16::from_le_bytes([*low, *high]);
        self.state = if usize::from(size) < HEADER_LEN {
            let error = WireError::new(WireErrorKind::SizeTooSmall { size }, 14);
            State::Refuse(RefusalReason::Malformed(error))
        } else if buffer.len() < size.into() {
            State::TooSmall(incoming.wanting(size), size)
        } else if incoming.have() < size {
            State::Receive(incoming.wanting(size))
        } else {
            match Header::decode(bytes) {
                Ok(header) if self.commands.contains(header.command) => State::Decode(header),
                Ok(Header { command, .. }) => {
                    State::Refuse(RefusalReason::UnknownCommand { command })
                }
                Err(error) => State::Refuse(RefusalReason::Malformed(error)),
            }
        };
    }

    /// Continues after [`ServerOutcome::BufferTooSmall`] with a larger buffer, to whose front the
    /// caller has copied the 20 bytes of the header.
    ///
    /// # Errors
    /// [`MisuseError`] after another outcome, if `buffer` is still too short, or if it does not
    /// begin with that header.
    pub fn enlarged(&mut self, buffer: &[u8]) -> Result<(), MisuseError> {
        let State::TooSmall(incoming, size) = self.state else { return Err(MisuseError::NotAsked) };
        self.state = State::Receive(incoming.enlarged(buffer, size)?);
        Ok(())
    }

    /// Decodes the request of the action [`Decode`](ServerAction::Decode), once. The action is then
    /// [`Respond`](ServerAction::Respond) or [`ReceiveFd`](ServerAction::ReceiveFd). If the request
    /// does not decode or a runtime refuses its values, this returns `None` and the action is
    /// [`Refuse`](ServerAction::Refuse) with the reason.
    pub fn request<'b>(&mut self, buffer: &'b [u8]) -> Result<Option<AnyRequest<'b>>, MisuseError> {
        let State::Decode(header) = self.state else { return Err(MisuseError::NotAsked) };
        let size = usize::from(header.size);
        let bytes = buffer.get(..size).ok_or(MisuseError::BufferTooShort { needed: size })?;
        let request = Message::of(header, bytes).request();
        let continuation = match &request {
            Ok(request) => request.continuation().unwrap_or(Continuation::Close),
            Err(error) => return Ok(self.refuse_for(error, false)),
        };
        let user_events = continuation == Continuation::UserEvents;
        if let Ok(Err(error)) = &request.as_ref().map(AnyRequest::check_limits) {
            return Ok(self.refuse_for(error, user_events));
        }
        self.state =
            if user_events { State::ReceiveFd(None) } else { State::Respond(continuation) };
        Ok(request.ok())
    }

    /// Refuses a request. Not inlined, so that it uses no stack while values are checked.
    #[cold]
    #[inline(never)]
    fn refuse_for<'b>(&mut self, error: &WireError, user_events: bool) -> Option<AnyRequest<'b>> {
        // The kernel's checks fail only after the descriptor has arrived (F-19, F-21).
        self.state = if user_events && error.hresult() == HResult::FAIL {
            State::ReceiveFd(Some(*error))
        } else if error.layer() == Layer::Limits {
            State::Refuse(RefusalReason::OverLimit(*error))
        } else {
            State::Refuse(RefusalReason::Malformed(*error))
        };
        None
    }

    /// Reports that the byte arrived with a descriptor, which the caller keeps.
    pub fn fd_received(&mut self) -> Result<(), MisuseError> {
        let State::ReceiveFd(refused) = self.state else { return Err(MisuseError::NotAsked) };
        self.state = match refused {
            None => State::Respond(Continuation::UserEvents),
            Some(error) => State::Refuse(RefusalReason::OverLimit(error)),
        };
        Ok(())
    }

    /// Reports that the byte arrived without a descriptor (F-21).
    pub fn fd_missing(&mut self) -> Result<(), MisuseError> {
        let State::ReceiveFd(_) = self.state else { return Err(MisuseError::NotAsked) };
        self.state = State::Refuse(RefusalReason::NoDescriptor);
        Ok(())
    }

    /// Encodes an OK with `payload` over the request, to be sent next. The command determines what
    /// follows. After a `ProcessEnvironmentReply`, the block has the announced number of bytes.
    ///
    /// # Errors
    /// [`RespondError::Encode`]: the exchange still waits for a reply. It refuses a reply over
    /// 65,535 bytes, at which runtimes before 11 die or answer `E_FAIL` (F-40).
    /// [`RespondError::Misuse`] if the exchange did not ask for a reply.
    pub fn respond<T: Encode + ?Sized>(
        &mut self,
        payload: &T,
        buffer: &mut [u8],
    ) -> Result<(), RespondError> {
        let State::Respond(continuation) = self.state else {
            return Err(MisuseError::NotAsked.into());
        };
        let len = message::encode(Command::OK, payload, buffer)?;
        let next = match continuation {
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

    /// Encodes an error over the request, to be sent next.
    ///
    /// # Errors
    /// Returns the errors of [`respond`](Self::respond). Allowed in
    /// [`Respond`](ServerAction::Respond), in [`Refuse`](ServerAction::Refuse), and after a buffer
    /// that is too small.
    pub fn refuse(&mut self, hresult: HResult, buffer: &mut [u8]) -> Result<(), RespondError> {
        self.refuse_with(&ErrorReply::new(hresult), buffer)
    }

    /// Refuses with a text, which only errors in reply to `GenerateCoreDump3` have (F-50).
    ///
    /// # Errors
    /// Returns the errors of [`refuse`](Self::refuse).
    pub fn refuse_with(
        &mut self,
        error: &ErrorReply<'_>,
        buffer: &mut [u8],
    ) -> Result<(), RespondError> {
        let (State::Respond(_) | State::Refuse(_) | State::TooSmall(..)) = self.state else {
            return Err(MisuseError::NotAsked.into());
        };
        self.close_with(error, ServerOutcome::Refused(error.hresult), buffer)
    }

    /// Reports that the first `n` bytes of the [`Send`](ServerAction::Send) range were sent.
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

    /// Reports that sending failed: the client has disconnected.
    pub fn send_failed(&mut self) -> Result<(), MisuseError> {
        let (State::Send(..) | State::Continue(_)) = self.state else {
            return Err(MisuseError::NotAsked);
        };
        self.state = State::Close(ServerOutcome::Gone { end: End::Reset });
        Ok(())
    }

    /// Reports that the next `n` bytes after the reply are at the front of the buffer, to be sent. 0
    /// changes nothing.
    ///
    /// # Errors
    /// [`MisuseError`] if the exchange did not ask for a piece, or the reply announced fewer bytes.
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

    /// Reports that the stream has ended, or that the `user_events` session was stopped.
    ///
    /// # Errors
    /// [`MisuseError`] unless the connection has a session. An environment block ends with its last
    /// byte, or with [`break_off`](Self::break_off).
    pub fn continuation_ended(&mut self) -> Result<(), MisuseError> {
        let (State::Continue(None) | State::Hold) = self.state else {
            return Err(MisuseError::NotAsked);
        };
        self.state = State::Close(ServerOutcome::Answered);
        Ok(())
    }

    /// Interrupts the environment block, and encodes an error at the front of the buffer, to be
    /// sent instead (F-43).
    ///
    /// # Errors
    /// Returns the errors of [`refuse`](Self::refuse), also if no block is being sent.
    pub fn break_off(&mut self, hresult: HResult, buffer: &mut [u8]) -> Result<(), RespondError> {
        let State::Continue(Some(_)) = self.state else { return Err(MisuseError::NotAsked.into()) };
        self.close_with(&ErrorReply::new(hresult), ServerOutcome::BrokenOff(hresult), buffer)
    }

    /// Sends the error, then closes the connection.
    fn close_with(
        &mut self,
        error: &ErrorReply<'_>,
        outcome: ServerOutcome,
        buffer: &mut [u8],
    ) -> Result<(), RespondError> {
        let len = message::encode(Command::ERROR, error, buffer)?;
        self.state = State::Send(Outgoing::new(clamp(len)), Next::Close(outcome));
        Ok(())
    }

    /// Reports that the connection ended, or that the caller's time limit expired.
    ///
    /// A client that sends no more may still read, so even a truncated message of 0 bytes is
    /// answered (F-69).
    ///
    /// # Errors
    /// [`MisuseError`] if nothing is expected from the client. While the server is sending, only a
    /// timeout is accepted.
    pub fn ended(&mut self, end: End) -> Result<(), MisuseError> {
        let gone = State::Close(ServerOutcome::Gone { end });
        self.state = match (self.state, end) {
            (State::Receive(incoming), End::Closed) => {
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

    /// Reports that the connection is closed.
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

/// The commands that a server knows.
///
/// ```
/// use dotnet_diagnostics_ipc::command::{Command, DotnetVersion};
/// use dotnet_diagnostics_ipc::exchange::KnownCommands;
///
/// let net8 = KnownCommands::UpTo(DotnetVersion { major: 8, minor: 0 });
/// assert!(net8.contains(Command::PROCESS_INFO3) && !net8.contains(Command::COLLECT_TRACING5));
///
/// // The protocol has no command 0x04EE, but this server has.
/// let own = KnownCommands::These(&[Command { set: 4, id: 0xee }]);
/// assert!(own.contains(Command { set: 4, id: 0xee }) && !own.contains(Command::PROCESS_INFO3));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KnownCommands {
    /// Every command of the protocol, as [`Command::known`] returns them.
    #[default]
    All,
    /// The commands of this version of .NET (F-48, F-68).
    UpTo(DotnetVersion),
    /// These commands, which may include commands outside the protocol.
    These(&'static [Command]),
}

impl KnownCommands {
    /// Returns whether the server knows the command.
    pub fn contains(self, command: Command) -> bool {
        match self {
            Self::All => command.since().is_some(),
            Self::UpTo(version) => command.since().is_some_and(|since| since <= version),
            Self::These(commands) => commands.contains(&command),
        }
    }
}

/// The reason why a server refuses a request.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{Server, ServerAction};
/// use dotnet_diagnostics_ipc::hresult::HResult;
///
/// // EnablePerfMap (0x0405) without its payload.
/// let buffer = *b"DOTNET_IPC_V1\0\x14\0\x04\x05\0\0";
/// let mut server = Server::new();
/// server.received(&buffer, 20)?;
/// assert_eq!(server.request(&buffer)?, None);
/// let ServerAction::Refuse(reason) = server.action() else { panic!() };
/// assert_eq!(reason.hresult(), HResult::BAD_ENCODING);
/// assert_eq!(
///     reason.to_string(),
///     "EnablePerfMap.perfMapType at byte 20: the field needs 4 bytes, the payload has 0 left"
/// );
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalReason {
    /// The client stopped sending before the end of the request.
    EndOfInput {
        /// The number of bytes received.
        received: u16,
    },
    /// The bytes do not decode: a wrong magic, a `size` below 20, a truncated payload.
    Malformed(WireError),
    /// The server does not know the command.
    UnknownCommand {
        /// The command of the request.
        command: Command,
    },
    /// The request decodes, but runtimes refuse a value.
    OverLimit(WireError),
    /// A request for a `user_events` session arrived without a descriptor (F-21).
    NoDescriptor,
}

impl RefusalReason {
    /// Returns the result code that a runtime answers for this reason.
    pub fn hresult(self) -> HResult {
        match self {
            Self::EndOfInput { .. } | Self::NoDescriptor => HResult::BAD_ENCODING,
            Self::Malformed(error) | Self::OverLimit(error) => error.hresult(),
            Self::UnknownCommand { .. } => HResult::UNKNOWN_COMMAND,
        }
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndOfInput { received } => {
                write!(f, "the connection ended after {received} bytes of the request")
            }
            Self::Malformed(error) | Self::OverLimit(error) => error.fmt(f),
            Self::UnknownCommand { command } => write!(f, "unknown command {command}"),
            Self::NoDescriptor => f.write_str("no file descriptor was passed"),
        }
    }
}

/// The error of a reply that is not sent: it does not encode, or the exchange did not ask for one.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{MisuseError, RespondError, Server};
///
/// let error = Server::new().respond(&(), &mut [0; 24]).unwrap_err();
/// assert_eq!(error, RespondError::Misuse(MisuseError::NotAsked));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RespondError {
    /// The exchange did not ask for a reply.
    Misuse(MisuseError),
    /// The reply does not encode.
    Encode(EncodeError),
}

impl From<MisuseError> for RespondError {
    fn from(error: MisuseError) -> Self {
        Self::Misuse(error)
    }
}

impl From<EncodeError> for RespondError {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}

impl fmt::Display for RespondError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misuse(error) => error.fmt(f),
            Self::Encode(error) => error.fmt(f),
        }
    }
}

/// `Display` prints the inner error, so `source()` returns nothing.
impl core::error::Error for RespondError {}
