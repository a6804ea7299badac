//! A session that streams, shared by its readers and stoppers; without the I/O.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::drive::{Drive, Finished};
use super::{Error, ErrorKind, Phase, Stopped};
use crate::exchange::StreamEnd;
use crate::exchange::{
    End, MisuseError, Session, SessionAction, SessionEnd, SessionOutcome, StopOutcome,
};
use crate::message::eventpipe::StopTracing;

/// The session of a trace and its stoppers. Clones share the same session.
#[derive(Clone, Debug)]
pub(super) struct Streaming(Arc<Mutex<Session>>);

impl Streaming {
    pub(super) fn new(session_id: Option<u64>) -> Self {
        Self(Arc::new(Mutex::new(Session::streaming(session_id, u64::MAX))))
    }

    /// A thread that panicked while holding the lock leaves the session consistent: every change is
    /// one assignment.
    fn lock(&self) -> MutexGuard<'_, Session> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn session_id(&self) -> Option<u64> {
        self.lock().stop_request().map(|request| request.session_id)
    }

    /// Whether the stream has ended.
    pub(super) fn is_over(&self) -> bool {
        !matches!(self.lock().action(), SessionAction::Read | SessionAction::ReadAndAwaitStop)
    }

    pub(super) fn outcome(&self) -> Option<SessionOutcome> {
        match self.lock().action() {
            SessionAction::Finished(outcome) => Some(outcome),
            _ => None,
        }
    }

    pub(super) fn check_complete(&self) -> Result<(), Error> {
        let kind = match self.outcome() {
            Some(outcome) if outcome.stream_end() == Some(StreamEnd::Complete) => return Ok(()),
            Some(SessionOutcome { bytes, end: SessionEnd::Ended(end), .. }) => {
                ErrorKind::Incomplete { end, received: bytes }
            }
            _ => ErrorKind::Unsupported("the session is not over, or its stop is not yet answered"),
        };
        Err(Error::new(Phase::Continuation, kind))
    }

    /// Counts the result of a read into `buffer`, as in [`io::Read`]: 0 bytes are the end.
    pub(super) fn read(&self, buffer: &[u8], read: Result<usize, Stopped>) -> io::Result<usize> {
        let mut session = self.lock();
        let bug = |illegal: MisuseError| Error::new(Phase::Continuation, illegal);
        match read {
            Ok(0) => session.ended(End::Closed).map(|()| 0).map_err(bug).map_err(io::Error::from),
            Ok(n) => {
                let miscounted = || {
                    Error::new(
                        Phase::Continuation,
                        ErrorKind::Miscounted { asked: buffer.len(), said: n },
                    )
                };
                let bytes = buffer.get(..n).ok_or_else(miscounted)?;
                Ok(session.received(bytes).map_err(bug)?.0.len())
            }
            Err(Stopped::Io(error)) => {
                let kind = ErrorKind::Incomplete { end: End::Reset, received: session.bytes() };
                session.ended(End::Reset).map_err(bug)?;
                Err(io::Error::new(error.kind(), Error::new(Phase::Continuation, kind)))
            }
            Err(stopped) => Err(stopped.during(Phase::Continuation).into()),
        }
    }

    /// The connection is about to be closed. From then on the id may belong to another session, so
    /// no stop is sent.
    pub(super) fn hang_up(&self) {
        // If it has ended already, there is nothing to do.
        let _ = self.lock().hung_up();
    }

    /// Begins to stop the session.
    pub(super) fn stop(&self) -> Result<Stopping<'_>, Error> {
        let refused = |kind| Err(Error::new(Phase::Stop, kind));
        let mut session = self.lock();
        if !matches!(session.action(), SessionAction::Read | SessionAction::ReadAndAwaitStop) {
            return refused(ErrorKind::SessionOver);
        }
        let Some(request) = session.stop_request() else {
            return refused(ErrorKind::Unsupported("the runtime did not report the session id"));
        };
        match session.stopping() {
            Ok(()) => Ok(Stopping { session: self, request, is_pending: true }),
            Err(_) => refused(ErrorKind::AlreadyStopped),
        }
    }
}

/// A stop that has begun. Dropped before it is finished, as an `async` call may be, it counts as
/// unanswered.
#[derive(Debug)]
pub(super) struct Stopping<'s> {
    session: &'s Streaming,
    request: StopTracing,
    is_pending: bool,
}

impl Stopping<'_> {
    /// The request, for a separate connection.
    pub(super) fn drive(&self) -> Result<Drive, Error> {
        Drive::new(&self.request, true)
    }

    /// Its outcome.
    pub(super) fn finish(mut self, asked: Result<Finished, Error>) -> Result<StopOutcome, Error> {
        self.is_pending = false;
        let mut session = self.session.lock();
        let at = |kind| Err(Error::new(Phase::Stop, kind));
        let bug = |illegal: MisuseError| Error::new(Phase::Stop, illegal);
        let Finished { outcome, buffer, .. } = match asked {
            Ok(finished) => finished,
            Err(error) => {
                match error.phase() {
                    Phase::Reply => session.stop_failed(End::TimedOut),
                    _ => session.stop_not_sent(),
                }
                .map_err(bug)?;
                return Err(error);
            }
        };
        session.stop_finished(outcome, &buffer).map_err(bug)?;
        match session.stop() {
            StopOutcome::Refused(hresult) => at(ErrorKind::Refused { hresult, message: None }),
            StopOutcome::Unanswered(End::TimedOut) => at(ErrorKind::TimedOut),
            StopOutcome::Unanswered(end) => at(ErrorKind::Ended { end, received: 0 }),
            stop => Ok(stop),
        }
    }
}

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        if self.is_pending {
            // It is pending, so this cannot fail.
            let _ = self.session.lock().stop_failed(End::TimedOut);
        }
    }
}
