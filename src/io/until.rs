//! How long a wait lasts, and why it ended.

use std::io;
use std::time::Instant;

use super::Canceller;

/// How long to wait, and what may end the wait early.
///
/// ```
/// use std::time::{Duration, Instant};
/// use dotnet_diagnostics_ipc::io::Until;
///
/// assert_eq!(Until::FOREVER.left(), None);
/// let until = Until { deadline: Some(Instant::now()), ..Until::FOREVER };
/// assert_eq!(until.left(), Some(Duration::ZERO));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Until<'a> {
    /// The deadline; `None` for none.
    pub deadline: Option<Instant>,
    /// Cancels the wait.
    pub canceller: Option<&'a Canceller>,
}

impl Until<'_> {
    /// No deadline and no canceller.
    pub const FOREVER: Self = Self { deadline: None, canceller: None };

    /// The time left; `None` for no limit.
    pub fn left(&self) -> Option<std::time::Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Checks for cancellation and timeout before anything is tried.
    ///
    /// # Errors
    /// [`Stopped::Cancelled`] and [`Stopped::TimedOut`].
    pub fn check(&self) -> Result<(), Stopped> {
        self.look().map(drop)
    }

    /// The same, and the time left.
    pub(crate) fn look(&self) -> Result<Option<std::time::Duration>, Stopped> {
        if self.canceller.is_some_and(Canceller::is_cancelled) {
            return Err(Stopped::Cancelled);
        }
        let left = self.left();
        if left.is_some_and(|left| left.is_zero()) {
            return Err(Stopped::TimedOut);
        }
        Ok(left)
    }
}

/// Why sending or receiving stopped.
///
/// ```
/// use dotnet_diagnostics_ipc::io::Stopped;
///
/// let stopped = Stopped::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
/// assert!(matches!(stopped, Stopped::Io(_)));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Stopped {
    /// The deadline passed.
    TimedOut,
    /// The canceller was used.
    Cancelled,
    /// The system reported an error.
    Io(io::Error),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
