//! The stream of a session, and its stop on another connection.

use std::any::Any;
use std::boxed::Box;
use std::fmt;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use super::deadlines::after;
use super::drive::Drive;
use super::{Canceller, Client, Connect, Error, ErrorKind, Phase, Stopped, Transport, Until};
use crate::exchange::{
    End, MisuseError, Outcome, Session, SessionAction, SessionEnd, SessionOutcome, StopOutcome,
};
use crate::message::eventpipe::StopTracing;

/// The nettrace stream of a session, as a [`Read`]: ends when the session does.
///
/// The runtime answers neither a stop nor any other client until the stream is read to its end
/// (F-75): continue reading. Dropping it closes the connection, which ends the session without a
/// rundown; a [`StopHandle`] then sends nothing.
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
    session: SharedSession,
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
    /// `None` once the stream is over. A stop that was not sent ([`StopOutcome::NotSent`]) makes nothing
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

    /// Returns a handle that stops the session over another connection to the same runtime, made by
    /// `client`.
    pub fn stop_handle<C: Connect>(&self, client: &Client<C>) -> StopHandle<C> {
        StopHandle { session: self.session.clone(), client: client.clone() }
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
        let until = Until {
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
        let (drive, transport) = stop.parts()?;
        let asked = self.client.perform(drive, transport);
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

/// The session of a trace and its stop handles, blocking or async. Clones share the same session.
#[derive(Clone, Debug)]
pub(super) struct SharedSession(Arc<Mutex<State>>);

#[derive(Debug)]
pub(super) struct State {
    pub(super) session: Session,
    /// The reader that waits for the first byte: a stop before it closes the connection, which only
    /// the reader can do.
    reader: Option<Waker>,
    /// A [`SentStop`] that nobody waits for now.
    sent_stop: Option<Box<dyn Any + Send>>,
}

/// A `StopTracing` that is sent over a connection, or will be.
struct SentStop<T> {
    drive: Drive,
    connection: Option<T>,
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
    pub(super) fn read(&self, buffer: &[u8], read: Result<usize, Stopped>) -> io::Result<usize> {
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
            Err(Stopped::Io(error)) => {
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
        let drive = Drive::new(&StopTracing { session_id }, true)?.while_open(session.clone());
        let Ok(begun) = state.session.begin_stop() else {
            return refused(ErrorKind::AlreadyStopped);
        };
        let reader = state.reader.take();
        drop(state);
        if begun.is_none() {
            reader.into_iter().for_each(Waker::wake);
            return Ok(None);
        }
        Ok(Some(Self { session, sent: Some(SentStop { drive, connection: None }) }))
    }

    /// Returns the request, and the place of its connection: `None` while there is none.
    pub(super) fn parts(&mut self) -> Result<(&mut Drive, &mut Option<T>), Error> {
        let parts = self.sent.as_mut().map(|sent| (&mut sent.drive, &mut sent.connection));
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
        let Some(SentStop { drive, .. }) = self.sent.take() else {
            return Err(at(ErrorKind::AlreadyStopped));
        };
        let session = &mut self.session.lock().session;
        let buffer = drive.finish(outcome).buffer;
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
        if sent.drive.awaits_reply() {
            // The session would own itself.
            sent.drive.forget_session();
            state.sent_stop = Some(Box::new(sent));
        } else {
            // It is pending, so this cannot fail.
            let _ = state.session.stop_not_sent();
        }
    }
}
