//! Why a reply is not sent.

use core::fmt;

use super::super::MisuseError;
use crate::wire::EncodeError;

/// Why a reply is not sent: it does not encode, or the exchange did not ask for one.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{MisuseError, RespondError, Server};
///
/// let error = Server::new().respond(&(), &mut [0; 24]).unwrap_err();
/// assert_eq!(error, RespondError::Misuse(MisuseError::NotAsked));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RespondError {
    /// The exchange did not ask for this.
    Misuse(MisuseError),
    /// It does not encode.
    Encode(EncodeError),
}

impl From<MisuseError> for RespondError {
    fn from(error: MisuseError) -> Self {
        Self::Misuse(error)
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
            Self::Misuse(error) => error.fmt(f),
            Self::Encode(error) => error.fmt(f),
        }
    }
}

/// `Display` is that of the inner error, so there is no source.
impl core::error::Error for RespondError {}
