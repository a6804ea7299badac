//! Why an environment block does not decode.

use core::fmt;

use crate::hresult::HResult;
use crate::wire::{DecodeErrorKind, Layer, Sealed, WireError, WireErrorKind};

/// Why an environment block does not decode, with the offset and the entry: `environment[3]`.
///
/// ```
/// use dotnet_diagnostics_ipc::continuation::{Environment, EnvironmentErrorKind};
/// use dotnet_diagnostics_ipc::hresult::HResult;
///
/// // A block of one entry; an error message takes its place.
/// let error = Environment::decode(b"\x01\0\0\0DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x05\x40\0\x80").unwrap_err();
/// assert_eq!(error.kind(), EnvironmentErrorKind::ErrorMessage { hresult: HResult::FAIL });
/// assert_eq!((error.path().to_string(), error.offset()), ("environment[0]".into(), 4));
/// ```
pub type EnvironmentError = WireError<EnvironmentErrorKind>;

/// Why an environment block does not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EnvironmentErrorKind {
    /// A fault of the grammar.
    Grammar(DecodeErrorKind),
    /// The server stopped and sent an error message in place of the rest (F-43).
    ErrorMessage {
        /// The message's HRESULT.
        hresult: HResult,
    },
    /// The block exceeds the caller's limit.
    LimitExceeded {
        /// The limit.
        limit: u32,
        /// The announced number.
        found: u32,
    },
}

impl From<DecodeErrorKind> for EnvironmentErrorKind {
    fn from(kind: DecodeErrorKind) -> Self {
        Self::Grammar(kind)
    }
}

impl Sealed for EnvironmentErrorKind {}

impl WireErrorKind for EnvironmentErrorKind {
    fn layer(self) -> Layer {
        match self {
            Self::Grammar(kind) => kind.layer(),
            Self::ErrorMessage { .. } => Layer::Reply,
            Self::LimitExceeded { .. } => Layer::Limits,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Grammar(kind) => kind.name(),
            Self::ErrorMessage { .. } => "error_message",
            Self::LimitExceeded { .. } => "limit_exceeded",
        }
    }

    fn hresult(self) -> HResult {
        match self {
            Self::Grammar(kind) => kind.hresult(),
            Self::ErrorMessage { hresult } => hresult,
            Self::LimitExceeded { .. } => HResult::BAD_ENCODING,
        }
    }
}

impl fmt::Display for EnvironmentErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Grammar(kind) => kind.fmt(f),
            Self::ErrorMessage { hresult } => write!(f, "an error message begins here: {hresult}"),
            Self::LimitExceeded { limit, found } => {
                write!(f, "{found} exceeds the limit of {limit}")
            }
        }
    }
}
