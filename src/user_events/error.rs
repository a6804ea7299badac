//! Errors of data exchanged with the kernel.

use core::fmt;

use crate::hresult::HResult;
use crate::message::eventpipe::MAX_TRACEPOINT_NAME_LEN;
use crate::wire::{DecodeError, DecodeErrorKind, Layer, Sealed, WireError, WireErrorKind};

/// Why a structure, a record or a command string does not decode, with the offset and the field.
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::{UserEventsErrorKind, UserReg};
/// use dotnet_diagnostics_ipc::wire::Reader;
///
/// let error = UserReg::decode(&mut Reader::new(&[16, 0, 0, 0])).unwrap_err();
/// assert_eq!(error.kind(), UserEventsErrorKind::WrongStructSize { size: 16, expected: 28 });
/// assert_eq!(error.to_string(), "size at byte 0: size is 16, expected 28");
/// ```
pub type UserEventsError = WireError<UserEventsErrorKind>;

/// Why a structure, a record or a command string does not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UserEventsErrorKind {
    /// A fault of the grammar.
    Grammar(DecodeErrorKind),
    /// The `size` at the front of a kernel structure is wrong.
    WrongStructSize {
        /// The size received.
        size: u32,
        /// The size of the structure, without padding.
        expected: u32,
    },
    /// The padding at the end of a kernel structure is not zero (P-18).
    NonZeroPadding {
        /// The byte received.
        byte: u8,
    },
    /// A `__rel_loc` that points outside the data after the fixed fields (F-66).
    RelLocOutOfRange {
        /// From the end of the `__rel_loc` itself.
        offset: u16,
        /// The length in bytes.
        len: u16,
    },
    /// A tracepoint's command string whose fields are not those of format version 1 (F-65).
    UnknownTracepointFormat,
    /// A tracepoint's command string without a name.
    EmptyTracepointName,
    /// A tracepoint's name that leaves no room for the fields in the 512 bytes of a command string.
    TracepointNameTooLong {
        /// The length of the name, in bytes.
        len: u32,
    },
    /// A byte that is not allowed in a tracepoint's name: NUL, or not UTF-8.
    BadTracepointName {
        /// The byte received.
        byte: u8,
    },
}

impl From<DecodeError> for UserEventsError {
    fn from(error: DecodeError) -> Self {
        error.map(UserEventsErrorKind::Grammar)
    }
}

impl Sealed for UserEventsErrorKind {}

impl WireErrorKind for UserEventsErrorKind {
    fn layer(self) -> Layer {
        if let Self::Grammar(kind) = self { kind.layer() } else { Layer::Payload }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Grammar(kind) => kind.name(),
            Self::WrongStructSize { .. } => "wrong_struct_size",
            Self::NonZeroPadding { .. } => "non_zero_padding",
            Self::RelLocOutOfRange { .. } => "rel_loc_out_of_range",
            Self::UnknownTracepointFormat => "unknown_tracepoint_format",
            Self::EmptyTracepointName => "empty_tracepoint_name",
            Self::TracepointNameTooLong { .. } => "tracepoint_name_too_long",
            Self::BadTracepointName { .. } => "bad_tracepoint_name",
        }
    }

    fn hresult(self) -> HResult {
        if let Self::Grammar(kind) = self { kind.hresult() } else { HResult::BAD_ENCODING }
    }
}

impl fmt::Display for UserEventsErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Grammar(kind) => kind.fmt(f),
            Self::WrongStructSize { size, expected } => {
                write!(f, "size is {size}, expected {expected}")
            }
            Self::NonZeroPadding { byte } => write!(f, "padding is {byte:#04x}, expected 0x00"),
            Self::RelLocOutOfRange { offset, len } => {
                write!(
                    f,
                    "{len} bytes at offset {offset} from here are not all within the record's data"
                )
            }
            Self::UnknownTracepointFormat => {
                f.write_str("expected the fields of tracepoint format version 1")
            }
            Self::EmptyTracepointName => f.write_str("the tracepoint name is empty"),
            Self::TracepointNameTooLong { len } => {
                write!(
                    f,
                    "the tracepoint name has {len} bytes, the maximum is {MAX_TRACEPOINT_NAME_LEN}"
                )
            }
            Self::BadTracepointName { byte } => {
                write!(f, "byte {byte:#04x} is not allowed in a tracepoint name")
            }
        }
    }
}
