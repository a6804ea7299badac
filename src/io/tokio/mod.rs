//! Call runtimes from tokio: the same exchanges, deadlines and errors as the blocking client, with
//! `async` and without threads.
//!
//! Deadlines need a tokio runtime with time enabled, [`Endpoint`](super::Endpoint)s one with I/O
//! enabled: `enable_all` does both. There is no canceller: dropping a call cancels it, and closes
//! its connection.

mod client;
mod environment;
#[cfg(unix)]
mod port;
mod stop_handle;
mod trace;

pub use client::{AsyncClient, AsyncConnect, AsyncConnection};
pub use environment::AsyncEnvironmentBlock;
pub use stop_handle::AsyncStopHandle;
pub use trace::AsyncTrace;

use std::io;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{Deadlines, WaitError};

/// The deadlines of a call that has begun, by the clock of tokio, which tests can stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    whole: Option<Instant>,
}

impl Clock {
    fn start(deadlines: &Deadlines) -> Self {
        Self { whole: after(deadlines.whole) }
    }

    /// This much later, or the end of the whole call.
    fn within(&self, within: Option<Duration>) -> Option<Instant> {
        after(within).into_iter().chain(self.whole).min()
    }
}

/// A deadline beyond the clock's range is none.
fn after(within: Option<Duration>) -> Option<Instant> {
    within.and_then(|within| Instant::now().checked_add(within))
}

/// The result of `io`, if it arrives in time.
async fn until<T>(
    deadline: Option<Instant>,
    io: impl Future<Output = io::Result<T>>,
) -> Result<T, WaitError> {
    match deadline {
        None => Ok(io.await?),
        Some(deadline) => Ok(timeout_at(deadline, io).await.map_err(|_| WaitError::TimedOut)??),
    }
}
