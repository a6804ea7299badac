//! The stop of a session.

use std::fmt;

use super::session::SharedSession;
use super::stopping::PendingStop;
use super::{Client, Connect, Error, Trace};
use crate::exchange::StopOutcome;

/// Stops a session, from any thread. Clones stop the same session.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{Endpoint, StopHandle};
///
/// fn goes_to_another_thread<T: Clone + Send + Sync>() {}
/// goes_to_another_thread::<StopHandle<Endpoint>>();
/// ```
#[must_use = "a session lasts until it is stopped"]
pub struct StopHandle<C> {
    session: SharedSession,
    client: Client<C>,
}

impl<T> Trace<T> {
    /// The connection for the stop: another one to the same runtime, made by `client`.
    pub fn stop_handle<C: Connect>(&self, client: &Client<C>) -> StopHandle<C> {
        StopHandle { session: self.session.clone(), client: client.clone() }
    }
}

impl<C: Connect> StopHandle<C> {
    /// Stops the session, and waits for the answer. The answer arrives after the stream was read to
    /// its end, so another thread must read it.
    ///
    /// A stop that was refused or not answered may be repeated. Keep the [`Trace`] until then: what
    /// was sent cannot be withdrawn.
    ///
    /// Before the first byte of the stream nothing is sent: the reader closes the connection, and this returns
    /// [`StopOutcome::NotSent`]. A runtime that waits at its start is harmed by `StopTracing` (F-160).
    ///
    /// # Errors
    /// [`ErrorKind::SessionOver`](super::ErrorKind::SessionOver) if the stream has ended already,
    /// or its [`Trace`] was dropped, also while this connects: the stop is too late, and is not
    /// sent, because another session may have the id by then (F-143);
    /// [`ErrorKind::AlreadyStopped`](super::ErrorKind::AlreadyStopped) if another one is pending,
    /// or was answered. Otherwise as for every call, with [`Phase::Stop`](super::Phase::Stop)
    /// from the reply on.
    pub fn stop(&self) -> Result<StopOutcome, Error> {
        let Some(stopping) = PendingStop::begin(&self.session)? else {
            return Ok(StopOutcome::NotSent);
        };
        let drive = stopping.drive()?;
        stopping
            .finish(self.client.connect().and_then(|mut connection| connection.run(drive, None)))
    }
}

impl<C> Clone for StopHandle<C> {
    fn clone(&self) -> Self {
        Self { session: self.session.clone(), client: self.client.clone() }
    }
}

impl<C> fmt::Debug for StopHandle<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StopHandle").field("session", &self.session).finish_non_exhaustive()
    }
}
