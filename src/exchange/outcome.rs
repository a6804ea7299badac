//! The outcome of a request, and the state of the connection after it.

use super::End;
use crate::command::{Command, Continuation};
use crate::hresult::HResult;
use crate::message::Announced;
use crate::wire::{WireError, WireErrorKind, clamp};

/// The outcome of a request.
///
/// An error is final as soon as its last byte arrives: not every runtime closes after one (F-5,
/// F-74), so do not wait for it.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{Client, ClientAction, Outcome};
/// use dotnet_diagnostics_ipc::hresult::HResult;
/// use dotnet_diagnostics_ipc::message::process::ProcessInfo3;
///
/// let mut buffer = [0; 512];
/// let mut client = Client::new(&ProcessInfo3 {}, &mut buffer)?;
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
    /// [`ResultReply`](crate::message::server::ResultReply) may still have a failing HRESULT: see
    /// [`Client::reply`](super::Client::reply).
    Ok {
        /// Of the reply.
        size: u16,
        /// What the connection is now.
        then: AfterReply,
    },
    /// An error: the reply is the first `size` bytes of the buffer.
    Error {
        /// Of the reply.
        size: u16,
        /// Its HRESULT.
        hresult: HResult,
    },
    /// The reply is invalid: a wrong magic (F-71), a `size` below 20, a code other than OK and
    /// Error, or a payload that does not decode. The buffer's contents must not be used as
    /// data, and the connection cannot be used again.
    Malformed {
        /// What is wrong. [`Message::decode_prefix`](crate::message::Message::decode_prefix) and
        /// [`reply_to`](crate::message::Message::reply_to) on the buffer give it with the path of
        /// the field.
        kind: WireErrorKind,
        /// Where, in bytes from the front of the buffer.
        offset: u32,
    },
    /// The reply has `size` bytes, which exceeds the buffer. Its header is in the buffer, the rest
    /// is unread: [`Client::enlarged`](super::Client::enlarged) continues.
    BufferTooSmall {
        /// The required size of the buffer in bytes.
        size: u16,
    },
    /// The connection ended before the reply.
    NoReply {
        /// How.
        end: End,
        /// Whether all of the request was sent.
        request_sent: bool,
    },
    /// The connection ended inside the reply.
    Cut {
        /// How many of its bytes were received.
        received: u16,
        /// How it ended.
        end: End,
    },
}

impl Outcome {
    pub(super) fn malformed(error: WireError) -> Self {
        Self::Malformed { kind: error.kind(), offset: clamp(error.offset()) }
    }
}

/// The state of the connection after an OK.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{Client, ClientAction, Outcome, AfterReply};
/// use dotnet_diagnostics_ipc::message::process::ProcessEnvironment;
///
/// let mut buffer = [0; 64];
/// let mut client = Client::new(&ProcessEnvironment {}, &mut buffer)?;
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
    /// Finished: the runtime closes, and so may the caller.
    Close,
    /// Finished, but another reply may follow before the runtime closes (F-81):
    /// [`Client::another_reply`](super::Client::another_reply).
    AnotherReply,
    /// A nettrace or netperf stream, until the session ends: see [`Session`](super::Session).
    Stream {
        /// The session. `None` if the reply was the generic OK, which has no payload (F-2).
        session_id: Option<u64>,
    },
    /// An environment block: see [`EnvironmentDecoder`](crate::continuation::EnvironmentDecoder).
    EnvironmentBlock {
        /// Its size in bytes.
        n_incoming_bytes: u32,
    },
    /// The connection holds a `user_events` session: nothing follows, and the session ends when it
    /// is closed (F-23).
    UserEvents {
        /// The session. `None` if the reply was the generic OK.
        session_id: Option<u64>,
    },
    /// Unknown: the command is unknown here, or an environment block should follow and its size was
    /// not given.
    Unknown,
}

impl AfterReply {
    /// What follows an OK to `command` that announces `announced`.
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
