//! The stream of a session.

use std::any::Any;
use std::boxed::Box;
use std::fmt;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use super::wait::after;
use super::{Canceller, Error, ErrorKind, Phase, Transport, WaitError, WaitLimit};
use crate::exchange::{End, MisuseError, Session, SessionAction, SessionEnd, SessionOutcome};

/// The nettrace stream of a session, as a [`Read`]: ends when the session does.
///
/// The runtime answers neither a stop nor any other client until the stream is read to its end
/// (F-75): continue reading. Dropping it closes the connection, which ends the session without a
/// rundown; a [`StopHandle`](super::StopHandle) then sends nothing.
///
/// ```no_run
/// use std::io::Read as _;
/// use dotnet_diagnostics_ipc::io::{Client, Endpoint};
/// use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing2, EventLevel, Format, ProviderConfig};
/// use dotnet_diagnostics_ipc::wire::Array;
///
/// let providers = [ProviderConfig::new("Microsoft-Windows-DotNETRuntime", 1, EventLevel::INFORMATIONAL)];
/// let request =
///     CollectTracing2 { circular_buffer_mb: 256, format: Format::NET_TRACE, request_rundown: true, providers: Array::new(&providers) };
/// let client = Client::new(Endpoint::process(12345));
/// let mut trace = client.trace(&request)?;
/// let stop_handle = trace.stop_handle(&client);
/// let timer = std::thread::spawn(move || {
///     std::thread::sleep(std::time::Duration::from_secs(5));
///     stop_handle.stop()
/// });
/// let mut file = std::fs::File::create("5s.nettrace")?;
/// std::io::copy(&mut trace, &mut file)?;
/// timer.join().unwrap()?;
/// trace.check_complete()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropping a trace ends its session without a rundown"]
pub struct Trace<T> {
    /// `None` once the stream is over.
    transport: Option<T>,
    pub(super) session: SharedSession,
    within: Option<Duration>,
    canceller: Option<Canceller>,
    /// Ends the wait for the first byte: cancelled by `canceller`, and by a stop.
    first_byte: Option<Canceller>,
}

impl<T> Trace<T> {
    pub(super) fn new(
        transport: T,
        session_id: Option<u64>,
        within: Option<Duration>,
        canceller: Option<&Canceller>,
    ) -> Self {
        Self {
            transport: Some(transport),
            session: SharedSession::new(session_id),
            within,
            canceller: canceller.cloned(),
            first_byte: None,
        }
    }

    /// Returns the session's id; `None` if the runtime did not report it (F-2), and then it cannot be
    /// stopped.
    pub fn session_id(&self) -> Option<u64> {
        self.session.lock().session.id()
    }

    /// Returns the outcome of the session; `None` while it lasts, or while its stop is pending.
    pub fn outcome(&self) -> Option<SessionOutcome> {
        self.session.outcome()
    }

    /// Checks whether the stream is complete: it ended after its stop was answered.
    ///
    /// # Errors
    /// [`ErrorKind::Incomplete`] if it ended by itself: the process exited or crashed.
    /// [`ErrorKind::Unsupported`] while the session lasts, or while its stop is pending.
    pub fn check_complete(&self) -> Result<(), Error> {
        self.session.check_complete()
    }

    /// Returns the connection, so that a program can poll many sessions for what to read next;
    /// `None` once the stream is over. A stop that was not sent ([`NotSent`](crate::exchange::StopOutcome::NotSent)) makes nothing
    /// readable: read the trace once, which closes the connection.
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use std::os::fd::{AsFd as _, BorrowedFd};
    /// use dotnet_diagnostics_ipc::io::{Trace, UnixTransport};
    ///
    /// fn to_poll(traces: &[Trace<UnixTransport>]) -> Vec<BorrowedFd<'_>> {
    ///     traces.iter().filter_map(|trace| Some(trace.transport()?.as_fd())).collect()
    /// }
    /// # assert!(to_poll(&[]).is_empty());
    /// # }
    /// ```
    pub const fn transport(&self) -> Option<&T> {
        self.transport.as_ref()
    }
}

impl<T: Transport> Read for Trace<T> {
    /// Reads the available part of the stream; 0 at its end.
    ///
    /// The errors contain [`Error`]s of this crate: [`Error::in_io`] extracts them. After
    /// [`TimedOut`](io::ErrorKind::TimedOut), by
    /// [`Deadlines::stream`](super::Deadlines::stream), it can be read again. A [`Canceller`] gives
    /// [`Other`](io::ErrorKind::Other), containing [`ErrorKind::Cancelled`].
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(transport) = self.transport.as_mut().filter(|_| !into.is_empty()) else {
            return Ok(0);
        };
        let waiting = match self.first_byte.take() {
            None if self.session.lock().session.bytes() == 0 => {
                Some(Canceller::child(self.canceller.as_ref())?)
            }
            waiting => waiting,
        };
        self.first_byte =
            waiting.filter(|waiting| self.session.awaits_first_byte(&waiting.waker()));
        let until = WaitLimit {
            deadline: after(self.within),
            canceller: self.first_byte.as_ref().or(self.canceller.as_ref()),
        };
        let read = if self.session.is_open() { transport.receive(into, &until) } else { Ok(0) };
        let read = self.session.read(into, read);
        if !self.session.is_open() {
            self.transport = None;
        }
        read
    }
}

impl<T> Drop for Trace<T> {
    fn drop(&mut self) {
        self.session.hang_up();
    }
}

impl<T> fmt::Debug for Trace<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("session", &self.session).finish_non_exhaustive()
    }
}

/// The session of a trace and its stop handles, blocking or async. Clones share the same session.
#[derive(Clone, Debug)]
pub(super) struct SharedSession(Arc<Mutex<State>>);

#[derive(Debug)]
pub(super) struct State {
    pub(super) session: Session,
    /// The reader that waits for the first byte: a stop before it closes the connection, which only
    /// the reader can do.
    pub(super) reader: Option<Waker>,
    /// A stop that was sent, and for which nobody waits now.
    pub(super) sent_stop: Option<Box<dyn Any + Send>>,
}

impl SharedSession {
    pub(super) fn new(session_id: Option<u64>) -> Self {
        let session = Session::streaming(session_id, u64::MAX);
        Self(Arc::new(Mutex::new(State { session, reader: None, sent_stop: None })))
    }

    /// Locks the session. A thread that panicked while it held the lock leaves it consistent, as every
    /// change is one assignment.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks whether a stop may be sent: once the stream has ended, its id may belong to another
    /// session (F-143).
    pub(super) fn may_stop(&self) -> Result<(), Error> {
        if self.is_open() {
            return Ok(());
        }
        Err(Error::new(Phase::Stop, ErrorKind::SessionOver))
    }

    /// Returns whether the stream may be read.
    pub(super) fn is_open(&self) -> bool {
        self.lock().session.action() == SessionAction::Read
    }

    pub(super) fn outcome(&self) -> Option<SessionOutcome> {
        match self.lock().session.action() {
            SessionAction::Finished(outcome) => Some(outcome),
            _ => None,
        }
    }

    pub(super) fn check_complete(&self) -> Result<(), Error> {
        let kind = match self.outcome() {
            Some(outcome) if outcome.is_complete() => return Ok(()),
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

    /// Returns whether no byte has arrived. A stop then wakes `reader`, which closes the connection.
    pub(super) fn awaits_first_byte(&self, reader: &Waker) -> bool {
        let mut state = self.lock();
        let awaits = state.session.bytes() == 0;
        state.reader = awaits.then(|| reader.clone());
        awaits
    }

    /// Counts the result of a read into `buffer`, as in [`io::Read`]: 0 bytes are the end, and the caller closes the
    /// connection.
    pub(super) fn read(&self, buffer: &[u8], read: Result<usize, WaitError>) -> io::Result<usize> {
        let State { session, reader, .. } = &mut *self.lock();
        let at = |kind: ErrorKind| Error::new(Phase::Continuation, kind);
        let bug = |illegal: MisuseError| at(illegal.into());
        *reader = None;
        if session.action() == SessionAction::HangUp {
            session.hung_up().map_err(bug)?;
            return Ok(0);
        }
        match read {
            Ok(0) => session.ended(End::Closed).map_err(bug)?,
            Ok(n) => {
                let asked = buffer.len();
                let miscounted = || at(ErrorKind::Miscounted { asked, reported: n });
                let bytes = buffer.get(..n).ok_or_else(miscounted)?;
                return Ok(session.received(bytes).map_err(bug)?.len());
            }
            Err(WaitError::Io(error)) => {
                let kind = ErrorKind::Incomplete { end: End::Reset, received: session.bytes() };
                session.ended(End::Reset).map_err(bug)?;
                return Err(io::Error::new(error.kind(), at(kind)));
            }
            Err(stopped) => return Err(stopped.during(Phase::Continuation).into()),
        }
        Ok(0)
    }

    /// Reports that the connection is about to be closed. From then on the id may belong to another
    /// session, so no stop is sent.
    pub(super) fn hang_up(&self) {
        // If it has ended already, there is nothing to do.
        let _ = self.lock().session.hung_up();
    }
}
