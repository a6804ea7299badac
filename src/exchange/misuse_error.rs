//! A report that does not fit what the exchange asked for.

use core::fmt;

/// A report that does not fit the exchange's action: a bug in the caller's loop, never in
/// the peer's bytes. The exchange is unchanged.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{Client, MisuseError};
/// use dotnet_diagnostics_ipc::message::process::ProcessInfo2;
///
/// let mut buffer = [0; 512];
/// let mut client = Client::new(&ProcessInfo2 {}, &mut buffer)?;
/// assert_eq!(client.sent(21), Err(MisuseError::TooMany { asked: 20, reported: 21 }));
/// assert_eq!(client.received(&buffer, 1), Err(MisuseError::NotAsked));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::RequestError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MisuseError {
    /// The exchange asks for something else; see `action()`.
    NotAsked,
    /// More bytes than were asked for.
    TooMany {
        /// The number asked for.
        asked: usize,
        /// The number reported.
        reported: usize,
    },
    /// No byte was received or sent. A read of 0 bytes is the end of the input: report `ended`. A
    /// write of 0 bytes would be repeated forever: report `send_failed`.
    NoBytes,
    /// The buffer is shorter than the exchange's data.
    BufferTooShort {
        /// The required size in bytes.
        needed: usize,
    },
}

impl fmt::Display for MisuseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => f.write_str("the exchange did not ask for this"),
            Self::TooMany { asked, reported } => {
                write!(f, "{reported} bytes were reported, expected at most {asked}")
            }
            Self::NoBytes => f.write_str(
                "no byte was received or sent: report the end of the input, or that sending failed",
            ),
            Self::BufferTooShort { needed } => write!(f, "the buffer must have {needed} bytes"),
        }
    }
}

impl core::error::Error for MisuseError {}
