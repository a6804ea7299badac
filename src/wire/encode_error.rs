//! Why a message cannot be encoded.

use core::fmt;

/// Why a message cannot be encoded. Nothing is ever truncated to make it fit.
///
/// ```
/// use dotnet_diagnostics_ipc::message::{Request as _, eventpipe::StopTracing};
/// use dotnet_diagnostics_ipc::wire::EncodeError;
///
/// let error = StopTracing { session_id: 1 }.encode_message(&mut [0; 27]).unwrap_err();
/// assert_eq!(error, EncodeError::BufferTooSmall { needed: 28 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EncodeError {
    /// The caller's buffer is smaller than the message.
    BufferTooSmall {
        /// How many bytes the message takes.
        needed: usize,
    },
    /// The message takes more than the 65,535 bytes that its `size` can say.
    MessageTooLarge {
        /// How many bytes it takes.
        len: usize,
    },
    /// A string or array has more items than its 32-bit count can say.
    CountTooLarge {
        /// How many items it has.
        count: usize,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BufferTooSmall { needed } => write!(f, "the buffer is smaller than the {needed} bytes of the message"),
            Self::MessageTooLarge { len } => write!(f, "the message takes {len} bytes, its size field can say 65535"),
            Self::CountTooLarge { count } => write!(f, "{count} items are more than a 32-bit count can say"),
        }
    }
}

impl core::error::Error for EncodeError {}
