//! Why bytes do not decode.

use core::fmt;

use super::error::{Layer, WireError, WireErrorKind, sealed::Sealed};
use crate::hresult::HResult;

/// Why bytes do not decode, with the offset and the field:
/// `CollectTracing5.providers[2].arguments`.
///
/// ```
/// use dotnet_diagnostics_ipc::message::Message;
/// use dotnet_diagnostics_ipc::wire::{DecodeErrorKind, WireErrorKind as _, Layer};
///
/// // StopTracing (0x0201) that carries 2 of the 8 bytes of its sessionId.
/// let error = Message::decode(b"DOTNET_IPC_V1\0\x16\0\x02\x01\0\0\x2a\0").unwrap().request().unwrap_err();
/// assert_eq!(error.kind(), DecodeErrorKind::UnexpectedEnd { needed: 8, remaining: 2 });
/// assert_eq!((error.layer(), error.offset()), (Layer::Payload, 20));
/// assert_eq!(
///     error.to_string(),
///     "StopTracing.sessionId at byte 20: the field needs 8 bytes, the payload has 2 left"
/// );
/// ```
pub type DecodeError = WireError<DecodeErrorKind>;

/// What is wrong with the bytes: size, header, reply code, or grammar.
///
/// Continuations and `user_events` have their own kinds, in which this one is `Grammar`:
/// [`EnvironmentErrorKind`](crate::continuation::EnvironmentErrorKind) and
/// [`UserEventsErrorKind`](crate::user_events::UserEventsErrorKind).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The input ends before the end of the header, payload or advertise.
    EndOfInput {
        /// The required number of bytes.
        needed: u32,
    },
    /// Bytes follow the end of the message.
    BytesAfterMessage {
        /// How many.
        extra: u32,
    },
    /// The header's `size` is below the header's 20 bytes.
    SizeTooSmall {
        /// The size received.
        size: u16,
    },
    /// The first bytes are not the magic.
    BadMagic,
    /// The header has another command than expected.
    UnexpectedCommand {
        /// The code received, as `0xSSII`.
        code: u16,
        /// The expected code.
        expected: u16,
    },
    /// A server's message whose command set is not `0xFF`, or whose id is neither OK nor Error.
    NotAReply {
        /// The code received, as `0xSSII`.
        code: u16,
    },
    /// The payload ends inside a field of fixed size.
    UnexpectedEnd {
        /// The size of the field.
        needed: u32,
        /// The rest of the payload.
        remaining: u32,
    },
    /// A string or array has a count too large for the rest of the payload.
    CountTooLarge {
        /// The count received.
        count: u32,
        /// The rest of the payload after the count.
        remaining: u32,
    },
    /// The last unit of a string is not NUL.
    MissingTerminator {
        /// The unit received in its place.
        unit: u16,
    },
    /// A `session_type` other than 0 (streaming) and 1 (`user_events`); F-18.
    UnknownSessionType {
        /// The number received.
        session_type: u32,
    },
}

impl Sealed for DecodeErrorKind {}

impl WireErrorKind for DecodeErrorKind {
    fn layer(self) -> Layer {
        match self {
            Self::EndOfInput { .. }
            | Self::BytesAfterMessage { .. }
            | Self::SizeTooSmall { .. } => Layer::Transport,
            Self::BadMagic | Self::UnexpectedCommand { .. } => Layer::Header,
            Self::NotAReply { .. } => Layer::Reply,
            Self::UnexpectedEnd { .. }
            | Self::CountTooLarge { .. }
            | Self::MissingTerminator { .. }
            | Self::UnknownSessionType { .. } => Layer::Payload,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::EndOfInput { .. } => "end_of_input",
            Self::BytesAfterMessage { .. } => "bytes_after_message",
            Self::SizeTooSmall { .. } => "size_too_small",
            Self::BadMagic => "bad_magic",
            Self::UnexpectedCommand { .. } => "unexpected_command",
            Self::NotAReply { .. } => "not_a_reply",
            Self::UnexpectedEnd { .. } => "unexpected_end",
            Self::CountTooLarge { .. } => "count_too_large",
            Self::MissingTerminator { .. } => "missing_terminator",
            Self::UnknownSessionType { .. } => "unknown_session_type",
        }
    }

    fn hresult(self) -> HResult {
        match self {
            Self::BadMagic => HResult::UNKNOWN_MAGIC,
            Self::UnexpectedCommand { .. } => HResult::UNKNOWN_COMMAND,
            _ => HResult::BAD_ENCODING,
        }
    }
}

impl fmt::Display for DecodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::EndOfInput { needed } => {
                write!(f, "the input ends here, {needed} bytes are needed")
            }
            Self::BytesAfterMessage { extra: 1 } => {
                f.write_str("1 byte follows the end of the message")
            }
            Self::BytesAfterMessage { extra } => {
                write!(f, "{extra} bytes follow the end of the message")
            }
            Self::SizeTooSmall { size } => {
                write!(f, "size {size} is less than the 20 bytes of the header")
            }
            Self::BadMagic => f.write_str(r#"magic mismatch, expected "DOTNET_IPC_V1\0""#),
            Self::UnexpectedCommand { code, expected } => {
                write!(f, "command is {code:#06x}, expected {expected:#06x}")
            }
            Self::NotAReply { code } => {
                write!(f, "{code:#06x} is neither OK (0xff00) nor Error (0xffff)")
            }
            Self::UnexpectedEnd { needed, remaining } => {
                write!(f, "the field needs {needed} bytes, the payload has {remaining} left")
            }
            Self::CountTooLarge { count, remaining } => {
                write!(
                    f,
                    "count is {count}, too large for the {remaining} bytes left in the payload"
                )
            }
            Self::MissingTerminator { unit } => {
                write!(f, "the string ends with unit {unit:#06x} instead of NUL")
            }
            Self::UnknownSessionType { session_type } => {
                write!(
                    f,
                    "session_type {session_type} is neither 0 (streaming) nor 1 (user_events)"
                )
            }
        }
    }
}
