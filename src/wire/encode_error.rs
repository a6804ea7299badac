//! The error of encoding.

use core::fmt;

/// The reason why a message cannot be encoded. Encoding never truncates.
///
/// ```
/// use dotnet_diagnostics_ipc::message::{Request as _, eventpipe::StopTracing};
/// use dotnet_diagnostics_ipc::wire::EncodeError;
///
/// let error = StopTracing { session_id: 1 }.encode_message(&mut [0; 27]).unwrap_err();
/// assert_eq!(error, EncodeError::BufferTooSmall { needed: 28 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The caller's buffer is smaller than the message.
    BufferTooSmall {
        /// The size of the message in bytes.
        needed: usize,
    },
    /// The message is larger than 65,535 bytes, the maximum of its `size` field.
    MessageTooLarge {
        /// The size of the message in bytes.
        len: usize,
    },
    /// A string or array has more items than its 32-bit count can express.
    CountTooLarge {
        /// The number of items.
        count: usize,
    },
    /// A part of a record, or a tracepoint's name, is too long (F-29, F-65).
    PartTooLong {
        /// The length of the part in bytes.
        len: usize,
        /// The maximum in bytes.
        max: u16,
    },
    /// The event id does not fit in the 16 bits of a record. Runtimes truncate it (F-29).
    EventIdTooLarge {
        /// The event id.
        id: u32,
    },
    /// A required name is absent or empty.
    EmptyName,
    /// A unit of a name would end the name too early, or is not a character.
    ForbiddenUnit {
        /// The UTF-16 unit.
        unit: u16,
    },
    /// A label or version is given as unknown, but this crate knows it.
    NotUnknown {
        /// The label or version.
        code: u8,
    },
    /// An item follows an unknown label, whose data have no known length (F-87).
    UnknownLabelNotLast {
        /// The label.
        label: u8,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BufferTooSmall { needed } => {
                write!(f, "the buffer is smaller than the {needed} bytes of the message")
            }
            Self::MessageTooLarge { len } => {
                write!(f, "the message has {len} bytes, the maximum of its size field is 65535")
            }
            Self::CountTooLarge { count } => write!(f, "{count} items exceed a 32-bit count"),
            Self::PartTooLong { len, max } => write!(f, "{len} bytes exceed the maximum of {max}"),
            Self::EventIdTooLarge { id } => write!(f, "event id {id} does not fit in 16 bits"),
            Self::EmptyName => f.write_str("the name must not be empty"),
            Self::ForbiddenUnit { unit } => {
                write!(f, "unit {unit:#06x} is not allowed in this name")
            }
            Self::NotUnknown { code } => {
                write!(f, "{code:#04x} is a known code, expected an unknown one")
            }
            Self::UnknownLabelNotLast { label } => {
                write!(f, "label {label:#04x} is unknown, so it must be the last")
            }
        }
    }
}

impl core::error::Error for EncodeError {}
