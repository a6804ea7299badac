//! Why a text is no name, and a path too long.

use core::fmt;

use crate::wire::clamp;

/// Why a text is no name of a socket or pipe, or no `/proc/PID/stat`, and at which byte.
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
    /// The name begins neither with `dotnet-diagnostic-` nor with `dotnetcore-diagnostic-`.
    UnknownPrefix,
    /// No decimal number, or one that does not fit: a process id has 32 bits, a key 64.
    BadNumber,
    /// No `-` and key behind the process id of a socket: the name of a pipe looks so.
    MissingKey,
    /// Something follows where the name should end, or end with `-socket`.
    UnknownSuffix,
    /// No `)` in a `/proc/PID/stat`.
    MissingName,
    /// A `/proc/PID/stat` that ends before its 22nd field does.
    MissingField,
}

impl NameError {
    pub(super) fn new(kind: NameErrorKind, offset: usize) -> Self {
        Self { kind, offset: clamp(offset) }
    }

    /// What is wrong.
    pub const fn kind(&self) -> NameErrorKind {
        self.kind
    }

    /// At which byte of the text.
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
        }
    }
}

impl fmt::Display for NameErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownPrefix => "neither \"dotnet-diagnostic-\" nor \"dotnetcore-diagnostic-\"",
            Self::BadNumber => "not a decimal number, or too large",
            Self::MissingKey => "no \"-\" and key behind the process id",
            Self::UnknownSuffix => "the name should end here",
            Self::MissingName => "no process name in parentheses",
            Self::MissingField => "the text ends before field 22 does",
        })
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.kind)
    }
}

impl core::error::Error for NameError {}

/// The path of a socket that does not fit into `sun_path`. Nothing is cut to make it fit.
///
/// ```
/// use dotnet_diagnostics_ipc::endpoint::{SUN_PATH_MACOS, check_path_len};
///
/// let error = check_path_len(120, SUN_PATH_MACOS).unwrap_err();
/// assert_eq!((error.needed(), error.most()), (120, 103));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathTooLong {
    needed: usize,
    most: usize,
}

impl PathTooLong {
    pub(super) const fn new(needed: usize, most: usize) -> Self {
        Self { needed, most }
    }

    /// How many bytes the path has, without NUL.
    pub const fn needed(&self) -> usize {
        self.needed
    }

    /// How many are possible, without NUL.
    pub const fn most(&self) -> usize {
        self.most
    }
}

impl fmt::Display for PathTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the path of the socket takes {} bytes, {} are possible", self.needed, self.most)
    }
}

impl core::error::Error for PathTooLong {}
