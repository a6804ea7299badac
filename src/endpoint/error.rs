//! Errors of names and paths.

use core::fmt;

use crate::wire::clamp;

/// Why a text is not the name of a socket or pipe, or not a `/proc/PID/stat`, or too long for a
/// path, and at which byte.
///
/// ```
/// use dotnet_diagnostics_ipc::endpoint::{NameErrorKind, SocketName};
///
/// let error = SocketName::parse("dotnet-diagnostic-12-x-socket").unwrap_err();
/// assert_eq!((error.kind(), error.offset()), (NameErrorKind::BadNumber, 21));
/// assert_eq!(error.to_string(), "at byte 21: not a decimal number, or too large");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NameError {
    kind: NameErrorKind,
    offset: u32,
}

/// What is wrong with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NameErrorKind {
    /// The name begins with neither `dotnet-diagnostic-` nor `dotnetcore-diagnostic-`.
    UnknownPrefix,
    /// Not a decimal number, or too large: a process id has 32 bits, a key 64.
    BadNumber,
    /// No `-` and key after the process id of a socket: the name may be a pipe's.
    MissingKey,
    /// Text follows the end of the name, or the name does not end with `-socket`.
    UnknownSuffix,
    /// No `)` in a `/proc/PID/stat`.
    MissingName,
    /// A `/proc/PID/stat` that ends before the end of its 22nd field.
    MissingField,
    /// The path of a socket is too long for `sun_path`. It is never truncated.
    PathTooLong {
        /// The length of the path in bytes, without NUL.
        needed: usize,
        /// The maximum, without NUL. It is also the offset of the error.
        most: usize,
    },
}

impl NameError {
    pub(super) fn new(kind: NameErrorKind, offset: usize) -> Self {
        Self { kind, offset: clamp(offset) }
    }

    /// What is wrong.
    pub const fn kind(&self) -> NameErrorKind {
        self.kind
    }

    /// The byte offset in the text.
    pub const fn offset(&self) -> usize {
        self.offset as usize
    }
}

impl NameErrorKind {
    /// The name in the vectors, such as `"bad_number"`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownPrefix => "unknown_prefix",
            Self::BadNumber => "bad_number",
            Self::MissingKey => "missing_key",
            Self::UnknownSuffix => "unknown_suffix",
            Self::MissingName => "missing_name",
            Self::MissingField => "missing_field",
            Self::PathTooLong { .. } => "path_too_long",
        }
    }
}

impl fmt::Display for NameErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownPrefix => "expected \"dotnet-diagnostic-\" or \"dotnetcore-diagnostic-\"",
            Self::BadNumber => "not a decimal number, or too large",
            Self::MissingKey => "expected \"-\" and the key after the process id",
            Self::UnknownSuffix => "expected the end of the name",
            Self::MissingName => "expected a process name in parentheses",
            Self::MissingField => "the text ends before the end of field 22",
            Self::PathTooLong { needed, most } => {
                return write!(f, "the socket path has {needed} bytes, the maximum is {most}");
            }
        })
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.kind)
    }
}

impl core::error::Error for NameError {}
