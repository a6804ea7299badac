//! The tool's side of one connection: sends a request, receives its reply, and reports the state of
//! the connection after it.

use core::fmt;
use core::ops::Range;

use super::framing::{Incoming, Outgoing};
use super::{AfterReply, End, MisuseError, Outcome};
use crate::command::{Command, Continuation};
use crate::continuation::FdByte;
use crate::header::Header;
use crate::message::{self, Announced, Message, OkPayload, Reply, Request};
use crate::wire::{Encode, EncodeError, WireError, WireErrorKind, clamp};

/// The next action of a [`ClientExchange`].
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{ClientExchange, ClientAction};
/// use dotnet_diagnostics_ipc::message::process::ResumeRuntime;
///
/// let mut buffer = [0; 24];
/// let mut client = ClientExchange::new(&ResumeRuntime {}, &mut buffer)?;
/// assert_eq!(client.action(), ClientAction::Send(0..20));
/// client.sent(20)?;
/// assert_eq!(client.action(), ClientAction::Receive(0..20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use = "the exchange advances only when the action is done"]
pub enum ClientAction {
    /// Write this range of the buffer, or part of it. Then call [`ClientExchange::sent`] or
    /// [`ClientExchange::send_failed`].
    Send(Range<usize>),
    /// Send this separate byte with the descriptor of `user_events_data`, then call
    /// [`ClientExchange::fd_sent`] or [`ClientExchange::send_failed`]. Only a request for a `user_events` session
    /// needs it, and the runtime waits for it before the reply (F-19).
    SendFd(FdByte),
    /// Read into this range of the buffer and no further, because later bytes belong to the
    /// continuation. Then call [`ClientExchange::received`] or [`ClientExchange::ended`].
    Receive(Range<usize>),
    /// The exchange is over.
    Finished(Outcome),
}

/// The tool's side of one connection: sends a request, and receives the reply to its last byte.
/// [`ReplyDeadline`](super::ReplyDeadline) has the time to wait for the reply. A client with sockets
/// and deadlines is `io::Client`, feature `io-adapters`.
///
/// The caller lends one buffer. The request is at its front, and the reply overwrites the request.
/// 65,535 bytes are enough for every reply; for a smaller buffer see [`Outcome::BufferTooSmall`].
///
/// [`new`](Self::new) returns an error for a request that a runtime refuses or that kills it.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{ClientExchange, ClientAction, Outcome, AfterReply};
/// use dotnet_diagnostics_ipc::message::eventpipe::StopTracing;
///
/// let mut peer = &b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0"[..]; // the runtime's reply
/// let mut buffer = [0; 256];
/// let mut client = ClientExchange::new(&StopTracing { session_id: 42 }, &mut buffer)?;
/// let outcome = loop {
///     match client.action() {
///         ClientAction::Send(range) => client.sent(buffer[range].len())?,
///         ClientAction::Receive(range) => {
///             let (now, later) = peer.split_at(range.len());
///             buffer[range].copy_from_slice(now);
///             peer = later;
///             client.received(&buffer, now.len())?;
///         }
///         ClientAction::Finished(outcome) => break outcome,
///         ClientAction::SendFd(_) => unreachable!("not a request for user_events"),
///     }
/// };
/// assert_eq!(outcome, Outcome::Ok { size: 28, then: AfterReply::Close });
/// let reply = client.reply::<StopTracing>(&buffer)?;
/// assert_eq!(reply.map(|reply| reply.session_id), Some(42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientExchange {
    command: Command,
    continuation: Option<Continuation>,
    ok_payload: OkPayload,
    request_sent: bool,
    state: State,
}

/// The error of [`ClientExchange::new`] for a request that cannot or must not be sent.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{ClientExchange, RequestError};
/// use dotnet_diagnostics_ipc::message::process::ResumeRuntime;
/// use dotnet_diagnostics_ipc::wire::EncodeError;
///
/// let error = ClientExchange::new(&ResumeRuntime {}, &mut [0; 19]).unwrap_err();
/// assert_eq!(error, RequestError::Encode(EncodeError::BufferTooSmall { needed: 20 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// A runtime would refuse the request, or crash on it (F-72, P-19).
    Limit(WireError),
    /// The request cannot be encoded.
    Encode(EncodeError),
}

impl From<WireError> for RequestError {
    fn from(error: WireError) -> Self {
        Self::Limit(error)
    }
}

impl From<EncodeError> for RequestError {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(error) => write!(f, "a runtime would refuse the request: {error}"),
            Self::Encode(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RequestError {}

// A tag inside a field would take five more instructions to read.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Send(Outgoing),
    SendFd,
    Receive(Incoming),
    /// The header gives this size, and the buffer is smaller.
    TooSmall(Incoming, u16),
    Done(Outcome),
}

impl ClientExchange {
    /// Checks `request`, and encodes it at the front of `buffer`.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::exchange::ClientExchange;
    /// use dotnet_diagnostics_ipc::message::dump::{DumpType, GenerateCoreDump};
    /// use dotnet_diagnostics_ipc::wire::IpcString;
    ///
    /// // A dump without a path kills .NET 9 and 10 (F-72).
    /// let request = GenerateCoreDump { dump_name: IpcString::ABSENT, dump_type: DumpType::NORMAL, diagnostics: 0 };
    /// let error = ClientExchange::new(&request, &mut [0; 64]).unwrap_err();
    /// assert_eq!(error.to_string(), "a runtime would refuse the request: GenerateCoreDump.dumpName at byte 20: the name or path must not be absent");
    /// ```
    ///
    /// # Errors
    /// [`RequestError::Limit`] if [`Request::check_limits`] refuses the values; otherwise the errors of
    /// [`message::encode`].
    #[inline]
    pub fn new<'a, R: Request<'a>>(request: &R, buffer: &mut [u8]) -> Result<Self, RequestError> {
        request.check_limits()?;
        Ok(Self::new_unchecked(request, buffer)?)
    }

    /// Encodes `request` as [`new`](Self::new) does, but checks no values. Some unchecked requests
    /// kill the runtime (F-72, P-19).
    ///
    /// # Errors
    /// Returns the errors of [`message::encode`].
    #[inline]
    pub fn new_unchecked<'a, R: Request<'a>>(
        request: &R,
        buffer: &mut [u8],
    ) -> Result<Self, EncodeError> {
        let len = message::encode(R::COMMAND, request, buffer)?;
        // A constant, so that the decoders of other replies are not linked.
        let ok_payload = const { OkPayload::of(R::COMMAND) };
        Ok(Self::of(R::COMMAND, Some(request.continuation()), ok_payload, clamp(len)))
    }

    /// Encodes `payload` as a request of `command` at the front of `buffer`, without a check of its values.
    /// `continuation` is what follows an OK, or `None` if unknown.
    ///
    /// # Errors
    /// Returns the errors of [`message::encode`].
    pub fn with_payload<T: Encode + ?Sized>(
        command: Command,
        continuation: Option<Continuation>,
        payload: &T,
        buffer: &mut [u8],
    ) -> Result<Self, EncodeError> {
        let ok_payload = OkPayload::of(command);
        let len = message::encode(command, payload, buffer)?;
        Ok(Self::of(command, continuation, ok_payload, clamp(len)))
    }

    /// Returns a client that sends `len` bytes from the front of the buffer.
    #[inline]
    const fn of(
        command: Command,
        continuation: Option<Continuation>,
        ok_payload: OkPayload,
        len: u32,
    ) -> Self {
        let state = State::Send(Outgoing::new(len));
        Self { command, continuation, ok_payload, request_sent: false, state }
    }

    /// Returns the current action, and changes nothing.
    #[inline]
    pub fn action(&self) -> ClientAction {
        match self.state {
            State::Send(outgoing) => ClientAction::Send(outgoing.range()),
            State::SendFd => ClientAction::SendFd(FdByte::CANONICAL),
            State::Receive(incoming) => ClientAction::Receive(incoming.range()),
            State::TooSmall(_, size) => ClientAction::Finished(Outcome::BufferTooSmall { size }),
            State::Done(outcome) => ClientAction::Finished(outcome),
        }
    }

    /// Reports that the first `n` bytes of the [`Send`](ClientAction::Send) range were sent.
    #[inline]
    pub fn sent(&mut self, n: usize) -> Result<(), MisuseError> {
        let State::Send(outgoing) = &mut self.state else { return Err(MisuseError::NotAsked) };
        if !outgoing.sent(n)? {
            return Ok(());
        }
        self.request_sent = true;
        let takes_fd = self.continuation == Some(Continuation::UserEvents);
        self.state = if takes_fd { State::SendFd } else { State::Receive(Incoming::START) };
        Ok(())
    }

    /// Reports that the byte with the descriptor was sent.
    pub fn fd_sent(&mut self) -> Result<(), MisuseError> {
        let State::SendFd = self.state else { return Err(MisuseError::NotAsked) };
        self.state = State::Receive(Incoming::START);
        Ok(())
    }

    /// Reports that sending failed. The reply may still arrive, because a server that refuses a request
    /// early closes without reading the rest.
    pub fn send_failed(&mut self) -> Result<(), MisuseError> {
        let (State::Send(_) | State::SendFd) = self.state else {
            return Err(MisuseError::NotAsked);
        };
        self.state = State::Receive(Incoming::START);
        Ok(())
    }

    /// Reports that `n` bytes are in the buffer, at the front of the
    /// [`Receive`](ClientAction::Receive) range.
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

    /// Reports that the input ended, or that the caller's time limit expired ([`End::TimedOut`], see
    /// [`ReplyDeadline`](super::ReplyDeadline)). While the client is sending, this means that no
    /// reply can arrive. If only a write failed, call [`send_failed`](Self::send_failed) instead.
    pub fn ended(&mut self, end: End) -> Result<(), MisuseError> {
        self.state = State::Done(match self.state {
            State::Receive(incoming) if incoming.have() > 0 => {
                Outcome::Cut { received: incoming.have(), end }
            }
            State::Receive(_) | State::Send(_) | State::SendFd => {
                Outcome::NoReply { end, request_sent: self.request_sent }
            }
            State::TooSmall(..) | State::Done(_) => return Err(MisuseError::NotAsked),
        });
        Ok(())
    }

    /// Continues after [`Outcome::BufferTooSmall`] with a larger buffer, to whose front the caller
    /// has copied the 20 bytes of the header.
    ///
    /// # Errors
    /// [`MisuseError`] after another outcome, if `buffer` is still too short, or if it does not
    /// begin with that header.
    pub fn enlarged(&mut self, buffer: &[u8]) -> Result<(), MisuseError> {
        let State::TooSmall(incoming, size) = self.state else { return Err(MisuseError::NotAsked) };
        self.state = State::Receive(incoming.enlarged(buffer, size)?);
        Ok(())
    }

    /// Returns the payload of the reply in `buffer` after [`Outcome::Ok`], or `None` for the generic
    /// OK (F-2). [`Message::reply_as`] also returns the text of an error.
    ///
    /// # Errors
    /// [`MisuseError`] after another outcome, if `R` is not the request of this client, or if
    /// `buffer` is not the one that it used.
    pub fn reply<'b, R: Request<'b>>(
        &self,
        buffer: &'b [u8],
    ) -> Result<Option<R::Reply>, MisuseError> {
        let State::Done(Outcome::Ok { size, .. }) = self.state else {
            return Err(MisuseError::NotAsked);
        };
        let needed = usize::from(size);
        let bytes = buffer.get(..needed).ok_or(MisuseError::BufferTooShort { needed })?;
        if self.command.code() != R::COMMAND.code() {
            return Err(MisuseError::NotAsked);
        }
        match Message::decode(bytes).and_then(|message| message.reply_as::<R>()) {
            Ok(Reply::Ok(reply)) => Ok(Some(reply)),
            Ok(Reply::OkWithoutPayload) => Ok(None),
            Ok(Reply::Error(_)) | Err(_) => Err(MisuseError::NotAsked),
        }
    }

    /// Returns the command of the request.
    pub const fn command(&self) -> Command {
        self.command
    }

    /// Checks whether the received bytes have a whole header or message.
    fn look_at(&mut self, incoming: Incoming, buffer: &[u8]) {
        let bytes = incoming.bytes(buffer);
        self.state = match Header::decode(bytes) {
            Ok(Header { size, .. }) if buffer.len() < size.into() => {
                State::TooSmall(incoming.wanting(size), size)
            }
            Ok(Header { size, .. }) if incoming.have() < size => {
                State::Receive(incoming.wanting(size))
            }
            Ok(header) => State::Done(self.judge(header, bytes)),
            Err(error) if matches!(error.kind(), WireErrorKind::EndOfInput { .. }) => return,
            Err(error) => State::Done(Outcome::malformed(error)),
        };
    }

    /// Returns the outcome of a whole message.
    fn judge(&self, header: Header, bytes: &[u8]) -> Outcome {
        let size = header.size;
        match Message::of(header, bytes).announced(self.command, self.ok_payload) {
            Ok(Announced::Error { hresult }) => Outcome::Error { size, hresult },
            Ok(announced) => Outcome::Ok {
                size,
                then: AfterReply::after(self.continuation, self.command, announced),
            },
            Err(error) => Outcome::malformed(error),
        }
    }
}
