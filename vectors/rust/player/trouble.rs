//! Why a step failed.

use alloc::{string::String, vec::Vec};
use core::fmt;

use super::fields::FieldDifference;
use dotnet_diagnostics_ipc::exchange::End;

/// Why a step failed.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::player::{Difference, PlayerError};
///
/// let trouble = PlayerError::Differs(Difference::Nothing { after: vec![0x61] });
/// assert_eq!(trouble.to_string(), "nothing more was received after 1 byte: 61");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlayerError {
    /// The side under test did something else.
    Differs(Difference),
    /// This machine does not support the step.
    Unavailable(String),
}

/// What the side under test did instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// No connection arrives in time.
    NotConnected,
    /// A connection arrives.
    Connected,
    /// The bytes match no pattern.
    Bytes {
        /// The first difference from each pattern.
        mismatches: Vec<Mismatch>,
        /// All received bytes.
        came: Vec<u8>,
        /// The fields that differ, if it is a reply.
        fields: Vec<FieldDifference>,
    },
    /// Bytes where nothing, or the end, is expected.
    Unexpected(Vec<u8>),
    /// The connection ends before all expected bytes arrived.
    Ended {
        /// How.
        end: End,
        /// The bytes before.
        after: Vec<u8>,
    },
    /// Nothing more arrives in time, and the connection does not end either.
    Nothing {
        /// The bytes before.
        after: Vec<u8>,
    },
    /// The bytes had this many descriptors.
    Descriptors(usize),
    /// The peer does not accept data.
    PeerGone {
        /// The system's error.
        why: String,
        /// What it sent before.
        before: Option<Vec<u8>>,
    },
    /// The connection does not end in time.
    NoEnd,
    /// The connection ends in another way.
    End(End),
    /// The connection ends but should stay open.
    UnexpectedEnd(End),
    /// The last bytes of a stream differ.
    LastBytes {
        /// The total number of bytes.
        of: u64,
        /// The last of them.
        came: Vec<u8>,
    },
    /// The target's process is dead.
    Dead,
    /// The target's process is alive.
    Alive,
    /// The file of the default port's socket does not exist.
    NoSocket,
    /// The file of the default port's socket exists.
    SocketLeft,
    /// The target has written no file of this name.
    NoFile(String),
    /// A file has this many bytes, and more are expected.
    FileCut(usize),
    /// Anything else, in words: a connection that cannot be opened, a script that contradicts
    /// itself.
    Other(String),
}

/// A difference between bytes and a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The offset of the part that differs.
    pub offset: usize,
    /// The expected bytes, in words.
    pub expected: String,
    /// The received bytes, in words.
    pub found: String,
}

impl PlayerError {
    /// The side under test did something else, in words.
    pub fn differs(text: impl Into<String>) -> Self {
        Self::Differs(Difference::Other(text.into()))
    }
}

impl From<Difference> for PlayerError {
    fn from(difference: Difference) -> Self {
        Self::Differs(difference)
    }
}

impl fmt::Display for PlayerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs(difference) => difference.fmt(f),
            Self::Unavailable(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConnected => f.write_str("no connection"),
            Self::Connected => f.write_str("unexpected connection"),
            Self::Bytes { fields, .. } if !fields.is_empty() => {
                for (nth, field) in fields.iter().enumerate() {
                    let separator = if nth == 0 { "" } else { "; " };
                    write!(f, "{separator}{field}")?;
                }
                Ok(())
            }
            Self::Bytes { mismatches, came, .. } => {
                for (nth, Mismatch { offset, expected, found }) in mismatches.iter().enumerate() {
                    let or = if nth == 0 { "" } else { "; or " };
                    write!(f, "{or}at byte {offset}: {found}, expected {expected}")?;
                }
                write!(f, " (received {})", Excerpt(came))
            }
            Self::Unexpected(bytes) => write!(f, "unexpected bytes {}", hex::encode(bytes)),
            Self::Ended { end, after } => write!(f, "{end} after {}", Excerpt(after)),
            Self::Nothing { after } => {
                write!(f, "nothing more was received after {}", Excerpt(after))
            }
            Self::Descriptors(n) => write!(f, "descriptors received: {n}"),
            Self::PeerGone { why, before: None } => f.write_str(why),
            Self::PeerGone { why, before: Some(bytes) } => {
                write!(f, "{why}; received {}", Excerpt(bytes))
            }
            Self::NoEnd => f.write_str("the connection did not end"),
            Self::End(end) => write!(f, "the connection ended: {}", end.name()),
            Self::UnexpectedEnd(end) => write!(f, "unexpected end: {end}"),
            Self::LastBytes { of, came } => write!(f, "the {of} bytes end with {}", Excerpt(came)),
            Self::Dead => f.write_str("the target is dead"),
            Self::Alive => f.write_str("the target is alive"),
            Self::NoSocket => f.write_str("the socket does not exist"),
            Self::SocketLeft => f.write_str("the socket file exists"),
            Self::NoFile(name) => write!(f, "the file {name} does not exist"),
            Self::FileCut(len) => write!(f, "the file has {len} bytes, expected more"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// The first of many bytes.
struct Excerpt<'b>(&'b [u8]);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, rest) = self.0.split_at_checked(64).unwrap_or((self.0, &[]));
        let (colon, dots) =
            (if shown.is_empty() { "" } else { ": " }, if rest.is_empty() { "" } else { "…" });
        let (len, ending) = (self.0.len(), if self.0.len() == 1 { "" } else { "s" });
        write!(f, "{len} byte{ending}{colon}{}{dots}", hex::encode(shown))
    }
}
