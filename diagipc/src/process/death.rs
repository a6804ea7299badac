//! How the process of a target ended.

use std::fmt;
use std::process::ExitStatus;

use serde::{Serialize, Serializer};

/// How the process of a target ended. In reports it is text.
///
/// ```
/// use diagipc::server::Death;
///
/// assert_eq!(Death::Signal(11).to_string(), "was killed by signal 11");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Death {
    /// It ended by itself, with this status.
    Status(i32),
    /// This signal ended it.
    Signal(i32),
    /// It ended in an unknown way.
    Unknown,
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // On Windows those of crashes, such as 0xC0000005.
            Self::Status(code) if *code < 0 => write!(f, "ended with status {code:#010X}"),
            Self::Status(code) => write!(f, "ended with status {code}"),
            Self::Signal(signal) => write!(f, "was killed by signal {signal}"),
            Self::Unknown => f.write_str("ended"),
        }
    }
}

impl From<ExitStatus> for Death {
    fn from(status: ExitStatus) -> Self {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Self::Signal(signal);
        }
        status.code().map_or(Self::Unknown, Self::Status)
    }
}

impl Serialize for Death {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
