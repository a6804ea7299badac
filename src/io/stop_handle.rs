//! The stop of a session, on another connection.

use std::boxed::Box;
use std::fmt;
use std::task::Waker;

use super::connection::ClientDriver;
use super::trace::SharedSession;
use super::{Client, Connect, Error, ErrorKind, Phase, Trace};
use crate::exchange::{Outcome, SessionAction, StopOutcome};
use crate::message::eventpipe::StopTracing;

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

impl<C: Connect> StopHandle<C> {
    /// Stops the session, and waits for the answer. The answer arrives after the stream was read to
    /// its end, so another thread must read it.
    ///
    /// A stop that was refused may be repeated. What was sent cannot be withdrawn: if this is
    /// cancelled, or its deadline passes, then the next call waits for the same answer and sends
    /// nothing. Keep the [`Trace`] until then.
    ///
    /// Before the first byte of the stream nothing is sent: the reader closes the connection, and this returns
    /// [`StopOutcome::NotSent`]. A runtime that waits at its start is harmed by `StopTracing` (F-160).
    ///
    /// # Errors
    /// [`ErrorKind::SessionOver`] if the stream has ended already, or its [`Trace`] was dropped, also
    /// while this connects: the stop is too late, and is not sent, because another session may have
    /// the id by then (F-143); [`ErrorKind::AlreadyStopped`] if another call waits for the answer, or
    /// it has arrived. Otherwise as for every call, with [`Phase::Stop`] from the reply on.
    pub fn stop(&self) -> Result<StopOutcome, Error> {
        let Some(mut stop) = PendingStop::begin(&self.session)? else {
            return Ok(StopOutcome::NotSent);
        };
        let (driver, transport) = stop.parts()?;
        let asked = self.client.perform(driver, transport);
        stop.finish(asked)
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

impl<T> Trace<T> {
    /// Returns a handle that stops the session over another connection to the same runtime, made by
    /// `client`.
    pub fn stop_handle<C: Connect>(&self, client: &Client<C>) -> StopHandle<C> {
        StopHandle { session: self.session.clone(), client: client.clone() }
    }
}

/// A `StopTracing` that is sent over a connection, or will be.
struct SentStop<T> {
    driver: ClientDriver,
    connection: Option<T>,
}

/// A stop that has begun. If it is dropped after the request was sent, as an `async` call may be, the
/// session keeps its connection for the next one.
pub(super) struct PendingStop<'s, T: Send + 'static> {
    session: &'s SharedSession,
    /// `None` once it is over.
    sent: Option<SentStop<T>>,
}

impl<'s, T: Send + 'static> PendingStop<'s, T> {
    /// Begins to stop the session, or continues to wait for a stop that was sent before. `None` if its
    /// connection is closed instead: no byte has arrived (F-160).
    pub(super) fn begin(session: &'s SharedSession) -> Result<Option<Self>, Error> {
        let refused = |kind| Err(Error::new(Phase::Stop, kind));
        let mut state = session.lock();
        if let Some(sent) = state.sent_stop.take() {
            match sent.downcast() {
                Ok(sent) => return Ok(Some(Self { session, sent: Some(*sent) })),
                // It was sent over a connection of another type.
                Err(other) => state.sent_stop = Some(other),
            }
            return refused(ErrorKind::AlreadyStopped);
        }
        if state.session.action() != SessionAction::Read {
            return refused(ErrorKind::SessionOver);
        }
        let Some(session_id) = state.session.id() else {
            return refused(ErrorKind::Unsupported("the runtime did not report the session id"));
        };
        // Connecting may take its time: it is sent only while the session lasts.
        let driver =
            ClientDriver::new(&StopTracing { session_id }, true)?.while_open(session.clone());
        let Ok(begun) = state.session.begin_stop() else {
            return refused(ErrorKind::AlreadyStopped);
        };
        let reader = state.reader.take();
        drop(state);
        if begun.is_none() {
            reader.into_iter().for_each(Waker::wake);
            return Ok(None);
        }
        Ok(Some(Self { session, sent: Some(SentStop { driver, connection: None }) }))
    }

    /// Returns the request, and the place of its connection: `None` while there is none.
    pub(super) fn parts(&mut self) -> Result<(&mut ClientDriver, &mut Option<T>), Error> {
        let parts = self.sent.as_mut().map(|sent| (&mut sent.driver, &mut sent.connection));
        parts.ok_or_else(|| Error::new(Phase::Stop, ErrorKind::AlreadyStopped))
    }

    /// Reports its outcome.
    pub(super) fn finish(mut self, asked: Result<Outcome, Error>) -> Result<StopOutcome, Error> {
        let at = |kind| Error::new(Phase::Stop, kind);
        let outcome = asked.map_err(|error| match error.kind() {
            ErrorKind::TimedOut if error.phase() == Phase::Reply => at(ErrorKind::TimedOut),
            ErrorKind::Cancelled if error.phase() == Phase::Reply => at(ErrorKind::Cancelled),
            _ => error,
        })?;
        let Some(SentStop { driver, .. }) = self.sent.take() else {
            return Err(at(ErrorKind::AlreadyStopped));
        };
        let session = &mut self.session.lock().session;
        let buffer = driver.finish(outcome).buffer;
        session.stop_finished(outcome, &buffer).map_err(|illegal| at(illegal.into()))?;
        match session.stop() {
            StopOutcome::Refused(hresult) => Err(at(ErrorKind::Refused { hresult, message: None })),
            StopOutcome::Unanswered(end) => Err(at(ErrorKind::Ended { end, received: 0 })),
            stop => Ok(stop),
        }
    }
}

impl<T: Send + 'static> Drop for PendingStop<'_, T> {
    fn drop(&mut self) {
        let Some(mut sent) = self.sent.take() else { return };
        let mut state = self.session.lock();
        if sent.driver.awaits_reply() {
            // The session would own itself.
            sent.driver.forget_session();
            state.sent_stop = Some(Box::new(sent));
        } else {
            // It is pending, so this cannot fail.
            let _ = state.session.stop_not_sent();
        }
    }
}
