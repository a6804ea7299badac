//! The stop of a session.

use std::fmt;

use super::{AsyncClient, AsyncConnect, AsyncTrace};
use crate::exchange::StopOutcome;
use crate::io::Error;
use crate::io::session::Streaming;
use crate::io::stopping::Stopping;

/// Stops a session, from any task. Clones stop the same session.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{AsyncStopper, Endpoint};
///
/// fn goes_to_another_task<T: Clone + Send + Sync>() {}
/// goes_to_another_task::<AsyncStopper<Endpoint>>();
/// ```
#[must_use = "a session lasts until it is stopped"]
pub struct AsyncStopper<C> {
    session: Streaming,
    client: AsyncClient<C>,
}

impl<S> AsyncTrace<S> {
    /// The connection for the stop: another one to the same runtime, made by `client`.
    pub fn stopper<C: AsyncConnect>(&self, client: &AsyncClient<C>) -> AsyncStopper<C> {
        AsyncStopper { session: self.session.clone(), client: client.clone() }
    }
}

impl<C: AsyncConnect> AsyncStopper<C> {
    /// Stops the session, and waits for the answer. The answer arrives after the stream was read to
    /// its end, so another task must read it.
    ///
    /// A stop that was refused, not answered, or dropped may be repeated.
    ///
    /// Before the first byte of the stream nothing is sent: the reader closes the connection, and this returns
    /// [`StopOutcome::NotSent`]. A runtime that waits at its start is harmed by `StopTracing` (F-160).
    ///
    /// # Errors
    /// As [`Stopper::stop`](crate::io::Stopper::stop).
    pub async fn stop(&self) -> Result<StopOutcome, Error> {
        let Some(stopping) = Stopping::begin(&self.session)? else {
            return Ok(StopOutcome::NotSent);
        };
        let drive = stopping.drive()?;
        let asked = match self.client.connect().await {
            Ok(mut connection) => connection.run(drive).await,
            Err(error) => Err(error),
        };
        stopping.finish(asked)
    }
}

impl<C> Clone for AsyncStopper<C> {
    fn clone(&self) -> Self {
        Self { session: self.session.clone(), client: self.client.clone() }
    }
}

impl<C> fmt::Debug for AsyncStopper<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncStopper").field("session", &self.session).finish_non_exhaustive()
    }
}
