//! The stop of a session.

use std::fmt;

use super::{AsyncClient, AsyncConnect, AsyncTrace};
use crate::exchange::StopOutcome;
use crate::io::Error;
use crate::io::session::SharedSession;
use crate::io::stopping::PendingStop;

/// Stops a session, from any task. Clones stop the same session.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{AsyncStopHandle, Endpoint};
///
/// fn goes_to_another_task<T: Clone + Send + Sync>() {}
/// goes_to_another_task::<AsyncStopHandle<Endpoint>>();
/// ```
#[must_use = "a session lasts until it is stopped"]
pub struct AsyncStopHandle<C> {
    session: SharedSession,
    client: AsyncClient<C>,
}

impl<S> AsyncTrace<S> {
    /// The connection for the stop: another one to the same runtime, made by `client`.
    pub fn stop_handle<C: AsyncConnect>(&self, client: &AsyncClient<C>) -> AsyncStopHandle<C> {
        AsyncStopHandle { session: self.session.clone(), client: client.clone() }
    }
}

impl<C: AsyncConnect> AsyncStopHandle<C> {
    /// Stops the session, and waits for the answer. The answer arrives after the stream was read to
    /// its end, so another task must read it.
    ///
    /// A stop that was refused, not answered, or dropped may be repeated.
    ///
    /// Before the first byte of the stream nothing is sent: the reader closes the connection, and this returns
    /// [`StopOutcome::NotSent`]. A runtime that waits at its start is harmed by `StopTracing` (F-160).
    ///
    /// # Errors
    /// As [`StopHandle::stop`](crate::io::StopHandle::stop).
    pub async fn stop(&self) -> Result<StopOutcome, Error> {
        let Some(stopping) = PendingStop::begin(&self.session)? else {
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

impl<C> Clone for AsyncStopHandle<C> {
    fn clone(&self) -> Self {
        Self { session: self.session.clone(), client: self.client.clone() }
    }
}

impl<C> fmt::Debug for AsyncStopHandle<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncStopHandle").field("session", &self.session).finish_non_exhaustive()
    }
}
