//! The reasons why a step fails.

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

/// The reason why a step failed.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::player::{Difference, PlayerError};
///
/// let trouble = PlayerError::Differs(Difference::Nothing { after: vec![0x61] });
/// assert_eq!(trouble.to_string(), "nothing more was received after 1 byte: 61");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlayerError {
    /// The side under test differed from the script.
    Differs(Difference),
    /// This machine does not support the step.
    Unavailable(String),
}

/// How the side under test differed from the script.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// No connection arrived in time.
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
    /// The connection ended before all expected bytes arrived.
    Ended {
        /// How the connection ended.
        end: End,
        /// The bytes received before the end.
        after: Vec<u8>,
    },
    /// Nothing more arrived in time, and the connection did not end.
    Nothing {
        /// The bytes received before that.
        after: Vec<u8>,
    },
    /// The bytes had this many descriptors.
    Descriptors(usize),
    /// The peer did not accept data.
    PeerGone {
        /// The system's error.
        why: String,
        /// The bytes that it sent before.
        before: Option<Vec<u8>>,
    },
    /// The connection did not end in time.
    NoEnd,
    /// The connection ended in another way than expected.
    End(End),
    /// The stream of a session ended and is incomplete.
    Stream(StreamState),
    /// The stream of a session has an event that the session did not ask for.
    Unasked(String),
    /// Any other reason in words, such as a connection that cannot be opened or a script that
    /// contradicts itself.
    Other(String),
}

impl Difference {
    /// Returns whether the step failed because nothing arrived in time.
    pub const fn is_time_out(&self) -> bool {
        matches!(self, Self::NotConnected | Self::Nothing { .. } | Self::NoEnd)
    }
}

impl PlayerError {
    /// Returns a difference of the side under test in words.
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
    /// The number of the step, counted from 0.
    pub step: usize,
    /// The step in words, such as `expect on a`.
    pub text: String,
    /// The reason.
    pub trouble: PlayerError,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}, {}: {}", self.step, self.text, self.trouble)
    }
}

impl core::error::Error for Failure {}

/// Prints the first of many bytes.
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
