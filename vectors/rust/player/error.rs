//! Why a step failed.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use super::fields::FieldDifference;
use crate::nettrace::StreamState;
use crate::script::Mismatch;
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
    /// The bytes match no pattern.
    Bytes {
        /// The first difference from each pattern.
        mismatches: Vec<Mismatch>,
        /// All received bytes.
        came: Vec<u8>,
        /// The fields that differ, if it is a reply.
        fields: Vec<FieldDifference>,
    },
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
    /// The stream of a session ends, and is not whole.
    Stream(StreamState),
    /// The stream of a session has an event that the session has not asked for.
    Unasked(String),
    /// Anything else, in words: a connection that cannot be opened, a script that contradicts
    /// itself.
    Other(String),
}

impl Difference {
    /// Whether it is that nothing came in time.
    pub const fn is_time_out(&self) -> bool {
        matches!(self, Self::NotConnected | Self::Nothing { .. } | Self::NoEnd)
    }
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
            Self::Bytes { fields, .. } if !fields.is_empty() => {
                let texts: Vec<_> = fields.iter().map(ToString::to_string).collect();
                f.write_str(&texts.join("; "))
            }
            Self::Bytes { mismatches, came, .. } => {
                let text = |Mismatch { offset, expected, found }: &_| {
                    format!("at byte {offset}: {found}, expected {expected}")
                };
                let texts: Vec<_> = mismatches.iter().map(text).collect();
                write!(f, "{} (received {})", texts.join("; or "), Excerpt(came))
            }
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
            Self::Stream(state) => state.fmt(f),
            Self::Unasked(event) => {
                write!(f, "the stream has {event}, which the session has not asked for")
            }
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// A step that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its number; the first is 0.
    pub step: usize,
    /// The step, in words: `expect on a`.
    pub text: String,
    /// The difference.
    pub trouble: PlayerError,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}, {}: {}", self.step, self.text, self.trouble)
    }
}

impl core::error::Error for Failure {}

/// The first of many bytes.
pub(super) struct Excerpt<'b>(pub(super) &'b [u8]);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, rest) = self.0.split_at_checked(64).unwrap_or((self.0, &[]));
        let (colon, dots) =
            (if shown.is_empty() { "" } else { ": " }, if rest.is_empty() { "" } else { "…" });
        let (len, ending) = (self.0.len(), if self.0.len() == 1 { "" } else { "s" });
        write!(f, "{len} byte{ending}{colon}{}{dots}", hex::encode(shown))
    }
}
