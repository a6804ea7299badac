//! Why a server refuses a request.

use core::fmt;

use crate::command::Command;
use crate::hresult::HResult;
use crate::wire::{WireError, WireErrorKind, clamp};

/// Why a server refuses a request.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::RefusalReason;
/// use dotnet_diagnostics_ipc::hresult::HResult;
///
/// let reason = RefusalReason::EndOfInput { received: 19 };
/// assert_eq!(reason.hresult(), HResult::BAD_ENCODING);
/// assert_eq!(reason.to_string(), "the connection ended after 19 bytes of the request");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalReason {
    /// The client stopped sending.
    EndOfInput {
        /// After this many bytes.
        received: u16,
    },
    /// The bytes do not decode: a wrong magic, a `size` below 20, a truncated payload.
    Malformed {
        /// What is wrong.
        kind: WireErrorKind,
        /// The byte offset in the message.
        offset: u32,
    },
    /// The server does not know the command.
    UnknownCommand {
        /// The command.
        command: Command,
    },
    /// The bytes decode to values that runtimes refuse.
    OverLimit {
        /// The limit.
        kind: WireErrorKind,
        /// The byte offset in the message.
        offset: u32,
    },
    /// More providers than the caller's limit.
    TooManyProviders {
        /// The limit.
        limit: u32,
        /// The number of providers.
        found: u32,
    },
    /// A `user_events` session without a descriptor (F-21).
    NoDescriptor,
}

impl RefusalReason {
    pub(super) fn malformed(error: WireError) -> Self {
        Self::Malformed { kind: error.kind(), offset: clamp(error.offset()) }
    }

    /// The answer of a runtime.
    pub fn hresult(self) -> HResult {
        match self {
            Self::EndOfInput { .. } | Self::TooManyProviders { .. } | Self::NoDescriptor => {
                HResult::BAD_ENCODING
            }
            Self::Malformed { kind, .. } => kind.hresult(),
            Self::UnknownCommand { .. } => HResult::UNKNOWN_COMMAND,
            Self::OverLimit { kind, .. } => kind.hresult(),
        }
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndOfInput { received } => {
                write!(f, "the connection ended after {received} bytes of the request")
            }
            Self::Malformed { kind, offset } => write!(f, "at byte {offset}: {kind}"),
            Self::UnknownCommand { command } => write!(f, "unknown command {command}"),
            Self::OverLimit { kind, offset } => write!(f, "at byte {offset}: {kind}"),
            Self::TooManyProviders { limit, found } => {
                write!(f, "{found} providers exceed the limit of {limit}")
            }
            Self::NoDescriptor => f.write_str("no file descriptor was passed"),
        }
    }
}
