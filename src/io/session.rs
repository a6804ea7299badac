//! A session that streams, shared by its readers and stop handles; without the I/O.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use super::{Error, ErrorKind, Phase, Stopped};
use crate::exchange::StreamEnd;
use crate::exchange::{End, MisuseError, Session, SessionAction, SessionEnd, SessionOutcome};

/// The session of a trace and its stop handles. Clones share the same session.
#[derive(Clone, Debug)]
pub(super) struct SharedSession(Arc<Mutex<State>>);

#[derive(Debug)]
pub(super) struct State {
    pub(super) session: Session,
    /// The reader that waits for the first byte: a stop before it closes the connection, which only
    /// the reader can do.
    reader: Option<Waker>,
}

impl SharedSession {
    pub(super) fn new(session_id: Option<u64>) -> Self {
        let session = Session::streaming(session_id, u64::MAX);
        Self(Arc::new(Mutex::new(State { session, reader: None })))
    }

    /// A thread that panicked while holding the lock leaves the session consistent: every change is
    /// one assignment.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn session_id(&self) -> Option<u64> {
        self.lock().session.id()
    }

    /// Whether a stop may be sent: once the stream has ended, its id may belong to another session
    /// (F-143).
    pub(super) fn may_stop(&self) -> Result<(), Error> {
        match self.lock().session.action() {
            SessionAction::Read => Ok(()),
            _ => Err(Error::new(Phase::Stop, ErrorKind::SessionOver)),
        }
    }

    pub(super) fn outcome(&self) -> Option<SessionOutcome> {
        match self.lock().session.action() {
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
            Some(SessionOutcome { bytes, end: SessionEnd::HungUp, .. }) => {
                ErrorKind::Incomplete { end: End::Closed, received: bytes }
            }
            _ => ErrorKind::Unsupported("the session is not over, or its stop is not yet answered"),
        };
        Err(Error::new(Phase::Continuation, kind))
    }

    /// How many bytes of the stream have arrived.
    pub(super) fn bytes(&self) -> u64 {
        self.lock().session.bytes()
    }

    /// Whether the stream may be read.
    pub(super) fn is_open(&self) -> bool {
        self.may_stop().is_ok()
    }

    /// Returns whether no byte has arrived. A stop then wakes `reader`, which closes the connection.
    pub(super) fn awaits_first_byte(&self, reader: &Waker) -> bool {
        let mut state = self.lock();
        let awaits = state.session.bytes() == 0;
        state.reader = awaits.then(|| reader.clone());
        awaits
    }

    /// Counts the result of a read into `buffer`, as in [`io::Read`]: 0 bytes are the end, and the caller closes the
    /// connection.
    pub(super) fn read(&self, buffer: &[u8], read: Result<usize, Stopped>) -> io::Result<usize> {
        let State { session, reader } = &mut *self.lock();
        let bug = |illegal: MisuseError| Error::new(Phase::Continuation, illegal);
        *reader = None;
        if session.action() == SessionAction::HangUp {
            return session.hung_up().map(|()| 0).map_err(bug).map_err(io::Error::from);
        }
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

    /// Wakes the reader, which closes the connection.
    pub(super) fn wake_reader(&self) {
        let reader = self.lock().reader.take();
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// The connection is about to be closed. From then on the id may belong to another session, so
    /// no stop is sent.
    pub(super) fn hang_up(&self) {
        // If it has ended already, there is nothing to do.
        let _ = self.lock().session.hung_up();
    }
}
