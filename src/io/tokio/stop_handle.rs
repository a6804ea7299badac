//! The stop of a session, on another connection.

use std::fmt;

use super::{AsyncClient, AsyncConnect, AsyncTrace};
use crate::exchange::StopOutcome;
use crate::io::Error;
use crate::io::stop_handle::PendingStop;
use crate::io::trace::SharedSession;

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

impl<C: AsyncConnect> AsyncStopHandle<C> {
    /// Stops the session, and waits for the answer. The answer arrives after the stream was read to
    /// its end, so another task must read it.
    ///
    /// As [`StopHandle::stop`](crate::io::StopHandle::stop): if this future is dropped after the
    /// request was sent, then the next call waits for the same answer and sends nothing. Before the
    /// first byte of the stream nothing is sent (F-160).
    ///
    /// # Errors
    /// As [`StopHandle::stop`](crate::io::StopHandle::stop).
    pub async fn stop(&self) -> Result<StopOutcome, Error> {
        let Some(mut stop) = PendingStop::begin(&self.session)? else {
            return Ok(StopOutcome::NotSent);
        };
        let (driver, stream) = stop.parts()?;
        let asked = self.client.perform(driver, stream).await;
        stop.finish(asked)
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

impl<S> AsyncTrace<S> {
    /// Returns a handle that stops the session over another connection to the same runtime, made by
    /// `client`.
    pub fn stop_handle<C: AsyncConnect>(&self, client: &AsyncClient<C>) -> AsyncStopHandle<C> {
        AsyncStopHandle { session: self.session.clone(), client: client.clone() }
    }
}
