//! Why a reply is not sent.

use core::fmt;

use super::super::Illegal;
use crate::wire::EncodeError;

/// Why a reply is not sent: it does not encode, or none was asked for.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{Illegal, RespondError, Server};
///
/// let error = Server::new().respond(&(), &mut [0; 24]).unwrap_err();
/// assert_eq!(error, RespondError::Illegal(Illegal::NotAsked));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RespondError {
    /// It was not asked for.
    Illegal(Illegal),
    /// It does not encode.
    Encode(EncodeError),
}

impl From<Illegal> for RespondError {
    fn from(illegal: Illegal) -> Self {
        Self::Illegal(illegal)
    }
}

impl From<EncodeError> for RespondError {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}

impl fmt::Display for RespondError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Illegal(illegal) => illegal.fmt(f),
            Self::Encode(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RespondError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Illegal(illegal) => Some(illegal),
            Self::Encode(error) => Some(error),
        }
    }
}
