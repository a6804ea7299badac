//! A session that streams, shared by its readers and stoppers; without the I/O.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Error, ErrorKind, Phase, Stopped};
use crate::exchange::StreamEnd;
use crate::exchange::{End, MisuseError, Session, SessionAction, SessionEnd, SessionOutcome};

/// The session of a trace and its stoppers. Clones share the same session.
#[derive(Clone, Debug)]
pub(super) struct Streaming(Arc<Mutex<Session>>);

impl Streaming {
    pub(super) fn new(session_id: Option<u64>) -> Self {
        Self(Arc::new(Mutex::new(Session::streaming(session_id, u64::MAX))))
    }

    /// A thread that panicked while holding the lock leaves the session consistent: every change is
    /// one assignment.
    pub(super) fn lock(&self) -> MutexGuard<'_, Session> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn session_id(&self) -> Option<u64> {
        self.lock().stop_request().map(|request| request.session_id)
    }

    /// Whether the stream has ended.
    pub(super) fn is_over(&self) -> bool {
        self.may_stop().is_err()
    }

    /// Whether a stop may be sent: once the stream has ended, its id may belong to another session
    /// (F-143).
    pub(super) fn may_stop(&self) -> Result<(), Error> {
        match self.lock().action() {
            SessionAction::Read | SessionAction::ReadAndAwaitStop => Ok(()),
            _ => Err(Error::new(Phase::Stop, ErrorKind::SessionOver)),
        }
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
                        ErrorKind::Miscounted { asked: buffer.len(), reported: n },
                    )
                };
                let bytes = buffer.get(..n).ok_or_else(miscounted)?;
                Ok(session.received(bytes).map_err(bug)?.within.len())
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
}
