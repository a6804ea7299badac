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
    /// A part of a record, or a tracepoint's name, has more bytes than there is room for (F-29, F-65).
    PartTooLong {
        /// How many bytes it has.
        len: usize,
        /// How many it may have.
        max: usize,
    },
    /// An event id that does not fit the 16 bits of a record; runtimes cut it (F-29).
    EventIdTooLarge {
        /// The id.
        id: u32,
    },
    /// A name that may be neither absent nor empty is.
    EmptyName,
    /// A unit that would end a name too early, or that is no character.
    ForbiddenUnit {
        /// The UTF-16 unit.
        unit: u16,
    },
    /// A label or version that is known is given as an unknown one.
    NotUnknown {
        /// The label or version.
        code: u8,
    },
    /// Something follows an unknown label, whose data have no length of their own (F-87).
    UnknownLabelNotLast {
        /// The label.
        label: u8,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BufferTooSmall { needed } => write!(f, "the buffer is smaller than the {needed} bytes of the message"),
            Self::MessageTooLarge { len } => write!(f, "the message takes {len} bytes, its size field can say 65535"),
            Self::CountTooLarge { count } => write!(f, "{count} items are more than a 32-bit count can say"),
            Self::PartTooLong { len, max } => write!(f, "{len} bytes are more than the {max} that there is room for"),
            Self::EventIdTooLarge { id } => write!(f, "event id {id} does not fit 16 bits"),
            Self::EmptyName => f.write_str("the name must not be empty"),
            Self::ForbiddenUnit { unit } => write!(f, "unit {unit:#06x} cannot stand in this name"),
            Self::NotUnknown { code } => write!(f, "{code:#04x} is known, and has a form of its own"),
            Self::UnknownLabelNotLast { label } => write!(f, "label {label:#04x} is not known, so it must be the last"),
        }
    }
}

impl core::error::Error for EncodeError {}
