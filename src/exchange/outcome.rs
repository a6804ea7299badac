//! The outcome of a request, the state of the connection after it, and how long to wait for it.

use core::fmt;
use core::time::Duration;

use crate::command::{Command, Continuation};
use crate::hresult::HResult;
use crate::message::Announced;
use crate::wire::{WireError, WireErrorKind, clamp};

/// The outcome of a client's request.
///
/// An error is final as soon as its last byte arrives. Do not wait for the runtime to close the
/// connection, because some runtimes keep it open (F-5, F-74).
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{ClientExchange, ClientAction, Outcome};
/// use dotnet_diagnostics_ipc::hresult::HResult;
/// use dotnet_diagnostics_ipc::message::process::ProcessInfo3;
///
/// let mut buffer = [0; 512];
/// let mut client = ClientExchange::new(&ProcessInfo3 {}, &mut buffer)?;
/// client.sent(20)?;
/// // The answer of a runtime without ProcessInfo3.
/// buffer[..24].copy_from_slice(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80");
/// client.received(&buffer, 20)?;
/// client.received(&buffer, 4)?;
/// let outcome = Outcome::Error { size: 24, hresult: HResult::UNKNOWN_COMMAND };
/// assert_eq!(client.action(), ClientAction::Finished(outcome));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// OK: the reply is the first `size` bytes of the buffer, and decodes. A
    /// [`ResultReply`](crate::message::server::ResultReply) may still have a failing HRESULT; see
    /// [`ClientExchange::reply`](super::ClientExchange::reply).
    Ok {
        /// The size of the reply in bytes.
        size: u16,
        /// The state of the connection.
        then: AfterReply,
    },
    /// An error: the reply is the first `size` bytes of the buffer.
    Error {
        /// The size of the reply in bytes.
        size: u16,
        /// The HRESULT of the reply.
        hresult: HResult,
    },
    /// The reply is invalid: a wrong magic (F-71), a `size` below 20, a code other than OK and
    /// Error, or a payload that does not decode. Do not use the buffer's contents as data, and do
    /// not use the connection again.
    Malformed {
        /// What is wrong with the reply.
        /// [`Message::decode_prefix`](crate::message::Message::decode_prefix) and
        /// [`reply_to`](crate::message::Message::reply_to) on the buffer return the error with the
        /// path of the field.
        kind: WireErrorKind,
        /// The offset of the error in the buffer.
        offset: u32,
    },
    /// The reply has `size` bytes, which exceeds the buffer. The buffer has its header, and the
    /// rest is unread; [`ClientExchange::enlarged`](super::ClientExchange::enlarged) continues.
    BufferTooSmall {
        /// The required size of the buffer in bytes.
        size: u16,
    },
    /// The connection ended before the reply.
    NoReply {
        /// How the connection ended.
        end: End,
        /// Whether all of the request was sent.
        request_sent: bool,
    },
    /// The connection ended inside the reply.
    Cut {
        /// The number of bytes received of the reply.
        received: u16,
        /// How the connection ended.
        end: End,
    },
}

impl Outcome {
    pub(super) fn malformed(error: WireError) -> Self {
        Self::Malformed { kind: error.kind(), offset: clamp(error.offset()) }
    }
}

/// The state of the connection after an OK reply.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{ClientExchange, ClientAction, Outcome, AfterReply};
/// use dotnet_diagnostics_ipc::message::process::ProcessEnvironment;
///
/// let mut buffer = [0; 64];
/// let mut client = ClientExchange::new(&ProcessEnvironment {}, &mut buffer)?;
/// client.sent(20)?;
/// buffer[..26].copy_from_slice(b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0\x10\0\0\0\0\0");
/// client.received(&buffer, 20)?;
/// client.received(&buffer, 6)?;
/// let ClientAction::Finished(Outcome::Ok { then, .. }) = client.action() else { panic!() };
/// // 16 bytes of environment block follow: an `EnvironmentDecoder` reads them.
/// assert_eq!(then, AfterReply::EnvironmentBlock { n_incoming_bytes: 16 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AfterReply {
    /// The exchange is finished. The runtime closes the connection; the caller may do so too.
    Close,
    /// Finished, but a runtime without a dump tool may send another reply before it closes (F-81).
    AnotherReply,
    /// A nettrace or netperf stream follows until the session ends; see
    /// [`Session`](super::Session).
    Stream {
        /// The id of the session, or `None` after the generic OK, which has no payload (F-2).
        session_id: Option<u64>,
    },
    /// An environment block follows; see
    /// [`EnvironmentDecoder`](crate::continuation::EnvironmentDecoder).
    EnvironmentBlock {
        /// The size of the block in bytes.
        n_incoming_bytes: u32,
    },
    /// The connection holds a `user_events` session. Nothing follows, and the session ends when the
    /// connection is closed (F-23).
    UserEvents {
        /// The id of the session, or `None` if the reply was the generic OK.
        session_id: Option<u64>,
    },
    /// The state is unknown. Either this crate does not know the command, or an environment block
    /// should follow and the reply did not give its size.
    Unknown,
}

impl AfterReply {
    /// Returns what follows an OK to `command` that announces `announced`.
    pub(super) fn after(
        continuation: Option<Continuation>,
        command: Command,
        announced: Announced,
    ) -> Self {
        let session_id = match announced {
            Announced::Session { session_id } => Some(session_id),
            _ => None,
        };
        match (continuation, announced) {
            (Some(Continuation::Close), _) if command.set == Command::GENERATE_CORE_DUMP.set => {
                Self::AnotherReply
            }
            (Some(Continuation::Close), _) => Self::Close,
            (Some(Continuation::Nettrace), _) => Self::Stream { session_id },
            (Some(Continuation::UserEvents), _) => Self::UserEvents { session_id },
            (
                Some(Continuation::EnvironmentBlock),
                Announced::EnvironmentBlock { n_incoming_bytes },
            ) => Self::EnvironmentBlock { n_incoming_bytes },
            _ => Self::Unknown,
        }
    }
}

/// How a connection ended, according to the caller's socket.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{ClientExchange, ClientAction, End, Outcome};
/// use dotnet_diagnostics_ipc::message::process::ProcessInfo2;
///
/// let mut buffer = [0; 512];
/// let mut client = ClientExchange::new(&ProcessInfo2 {}, &mut buffer)?;
/// client.sent(20)?;
/// client.ended(End::Closed)?;
/// assert_eq!(client.action(), ClientAction::Finished(Outcome::NoReply { end: End::Closed, request_sent: true }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// A read returned 0 bytes. The peer has closed the connection, or sends no more.
    Closed,
    /// A read failed, usually with `ECONNRESET`. The peer closed with unread bytes (F-70), or died.
    Reset,
    /// Nothing arrived within the caller's time limit. The runtime may be stopped or busy with
    /// another client (F-75).
    TimedOut,
}

impl End {
    /// Returns the name of the value: `closed`, `reset` or `timed_out`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Reset => "reset",
            Self::TimedOut => "timed_out",
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the connection was closed",
            Self::Reset => "the connection was reset",
            Self::TimedOut => "timed out",
        })
    }
}

/// How long a client should wait for the reply after it has sent its request.
///
/// ```
/// use core::time::Duration;
/// use dotnet_diagnostics_ipc::{command::Command, exchange::ReplyDeadline};
///
/// let seconds = Duration::from_secs;
/// assert_eq!(ReplyDeadline::of(Command::PROCESS_INFO3), ReplyDeadline::Within(seconds(5)));
/// assert_eq!(ReplyDeadline::of(Command::ATTACH_PROFILER), ReplyDeadline::AfterAttachTimeout(seconds(5)));
/// ```
///
/// The values are this crate's. The document only requires that a client survives a server that
/// does not answer. A server answers one client at a time (F-75), so each value assumes an idle
/// runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplyDeadline {
    /// The reply is due within this time.
    Within(Duration),
    /// The reply is due within the request's `attachTimeout` plus this time.
    AfterAttachTimeout(Duration),
    /// The reply is due within this time after the session's stream was read to its end. The
    /// runtime does not answer before that (F-75, F-76).
    AfterStreamEnd(Duration),
}

impl ReplyDeadline {
    /// Returns the deadline for the reply to `command`.
    ///
    /// A dump is answered once it is written, an attach once the profiler is attached or its
    /// timeout has expired, and a stop once the stream has been read. All other commands, including
    /// unknown ones, are answered immediately.
    pub const fn of(command: Command) -> Self {
        match command {
            Command::GENERATE_CORE_DUMP
            | Command::GENERATE_CORE_DUMP2
            | Command::GENERATE_CORE_DUMP3 => Self::Within(Duration::from_secs(600)),
            Command::ATTACH_PROFILER => Self::AfterAttachTimeout(Duration::from_secs(5)),
            Command::STOP_TRACING => Self::AfterStreamEnd(Duration::from_secs(30)),
            _ => Self::Within(Duration::from_secs(5)),
        }
    }
}

/// The error of a report that does not match the exchange's action. It is a bug in the caller's
/// loop, never in the peer's bytes. The exchange is unchanged.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{ClientExchange, MisuseError};
/// use dotnet_diagnostics_ipc::message::process::ProcessInfo2;
///
/// let mut buffer = [0; 512];
/// let mut client = ClientExchange::new(&ProcessInfo2 {}, &mut buffer)?;
/// assert_eq!(client.sent(21), Err(MisuseError::TooMany { asked: 20, reported: 21 }));
/// assert_eq!(client.received(&buffer, 1), Err(MisuseError::NotAsked));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::RequestError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MisuseError {
    /// The exchange asks for another report; see `action()`.
    NotAsked,
    /// The report has more bytes than the action's range.
    TooMany {
        /// The length of the range.
        asked: usize,
        /// The number of bytes reported.
        reported: usize,
    },
    /// The report has 0 bytes. If a read returned 0, report the end of the input with `ended`. If a
    /// write returned 0, report `send_failed`, because repeating the write would never end.
    NoBytes,
    /// The buffer is shorter than the exchange's data.
    BufferTooShort {
        /// The required size in bytes.
        needed: usize,
    },
}

impl fmt::Display for MisuseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => f.write_str("the exchange's action requires another call"),
            Self::TooMany { asked, reported } => {
                write!(f, "{reported} bytes were reported, expected at most {asked}")
            }
            Self::NoBytes => f.write_str(
                "no byte was received or sent: report the end of the input, or that sending failed",
            ),
            Self::BufferTooShort { needed } => write!(f, "the buffer needs {needed} bytes"),
        }
    }
}

impl core::error::Error for MisuseError {}
