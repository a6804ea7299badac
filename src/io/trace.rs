//! A streaming session: its start, its stream, and its stop over another connection.

use std::any::Any;
use std::boxed::Box;
use std::fmt;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;
#[cfg(feature = "tokio")]
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

#[cfg(feature = "tokio")]
use tokio::io::{AsyncRead, ReadBuf};

use super::connection::{ClientDriver, Finished};
use super::{Canceller, Connection, Error, ErrorKind, Phase, Transport, WaitLimit};
use crate::exchange::{
    End, MisuseError, Outcome, Session, SessionAction, SessionEnd, SessionOutcome, StopOutcome,
};
use crate::message::Request;
use crate::message::eventpipe::{SessionReply, StopTracing};

/// The nettrace stream of a session. It implements [`Read`], and `AsyncRead` of tokio, and ends when
/// the session ends.
///
/// After a stop, continue reading: until the stream is read to its end the runtime answers neither
/// the stop nor any other client (F-75). Dropping a trace closes the connection, which ends the
/// session without a rundown; a [`StopHandle`](super::StopHandle) then sends nothing.
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
    /// Ends the wait for the first byte; `canceller` and a stop cancel it.
    first_byte: Option<Canceller>,
    /// Ends a wait of tokio in which nothing arrives.
    #[cfg(feature = "tokio")]
    silence: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl<T: Transport> Connection<T> {
    /// Starts a streaming session with `CollectTracing` to `CollectTracing4`, or with a newer
    /// command whose session type is streaming.
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use std::io::{Read as _, Write as _};
    /// use std::os::unix::net::UnixStream;
    /// use dotnet_diagnostics_ipc::io::{Connection, SocketTransport};
    /// use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing2, EventLevel, Format, ProviderConfig};
    /// use dotnet_diagnostics_ipc::wire::Array;
    ///
    /// let (ours, mut theirs) = UnixStream::pair()?;
    /// theirs.write_all(b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0Nettrace")?;
    /// let providers = [ProviderConfig::new("P", 1, EventLevel::ERROR)];
    /// let request =
    ///     CollectTracing2 { circular_buffer_mb: 1, format: Format::NET_TRACE, request_rundown: true, providers: Array::new(&providers) };
    /// let mut trace = Connection::new(SocketTransport::new(ours)).trace(&request)?;
    /// let mut magic = [0; 8];
    /// trace.read_exact(&mut magic)?;
    /// assert_eq!((trace.session_id(), &magic), (Some(42), b"Nettrace"));
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`call`](Self::call), and [`ErrorKind::Unsupported`] for a session that does not
    /// stream.
    pub fn trace<'r, R: Request<'r, Reply = SessionReply>>(
        mut self,
        request: &R,
    ) -> Result<Trace<T>, Error> {
        let driver = ClientDriver::trace(request, self.options.checks_limits)?;
        let finished = self.run(driver)?;
        self.traced(finished)
    }
}

impl<T> Connection<T> {
    /// Returns the stream after the reply to a request that starts a session.
    pub(super) fn traced(self, finished: Finished) -> Result<Trace<T>, Error> {
        let session = Session::streaming(finished.stream()?, u64::MAX);
        let state = State { session, reader: None, sent_stop: None };
        Ok(Trace {
            transport: Some(self.transport),
            session: SharedSession(Arc::new(Mutex::new(state))),
            within: self.options.deadlines.stream,
            canceller: self.options.canceller,
            first_byte: None,
            #[cfg(feature = "tokio")]
            silence: None,
        })
    }
}

impl<T> Trace<T> {
    /// Returns the session's id; `None` if the runtime did not report one (F-2). A session without an
    /// id cannot be stopped.
    pub fn session_id(&self) -> Option<u64> {
        self.session.lock().session.id()
    }

    /// Returns the outcome of the session; `None` while it lasts, or while its stop is pending.
    pub fn outcome(&self) -> Option<SessionOutcome> {
        match self.session.lock().session.action() {
            SessionAction::Finished(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Checks that the stream is complete: its stop was answered, and it was read to its end.
    ///
    /// # Errors
    /// [`ErrorKind::Incomplete`] if the stream ended without a stop, because the process exited or
    /// crashed. [`ErrorKind::Unsupported`] while the session lasts, or while its stop is pending.
    pub fn check_complete(&self) -> Result<(), Error> {
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

    /// Returns the connection, so that a program can poll many sessions; `None` once the stream is
    /// over. After a stop that returned [`NotSent`](crate::exchange::StopOutcome::NotSent) no connection becomes readable: read
    /// the trace once, which closes its connection.
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use std::os::fd::{AsFd as _, BorrowedFd};
    /// use dotnet_diagnostics_ipc::io::{Trace, SocketTransport};
    ///
    /// fn to_poll(traces: &[Trace<SocketTransport>]) -> Vec<BorrowedFd<'_>> {
    ///     traces.iter().filter_map(|trace| Some(trace.transport()?.as_fd())).collect()
    /// }
    /// # assert!(to_poll(&[]).is_empty());
    /// # }
    /// ```
    pub const fn transport(&self) -> Option<&T> {
        self.transport.as_ref()
    }

    /// Returns a handle that stops the session over a second connection, which `client` opens to the
    /// same runtime. `client` is a [`Client`](super::Client) or an `AsyncClient`.
    pub fn stop_handle<C: Clone>(&self, client: &C) -> StopHandle<C> {
        StopHandle { session: self.session.clone(), client: client.clone() }
    }
}

impl<T: Transport> Read for Trace<T> {
    /// Reads the available part of the stream; returns 0 at its end.
    ///
    /// [`Error::in_io`] extracts this crate's [`Error`] from an error. After
    /// [`TimedOut`](io::ErrorKind::TimedOut), caused by
    /// [`Deadlines::stream`](super::Deadlines::stream), you can read again. A [`Canceller`] causes
    /// [`Other`](io::ErrorKind::Other), which contains [`ErrorKind::Cancelled`].
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
        let canceller = self.first_byte.as_ref().or(self.canceller.as_ref());
        let until = WaitLimit::within(self.within, canceller);
        let read = if self.session.is_open() { transport.receive(into, &until) } else { Ok(0) };
        let read = self.session.read(into, read);
        if !self.session.is_open() {
            self.transport = None;
        }
        read
    }
}

/// Returns the same errors as [`Read`].
#[cfg(feature = "tokio")]
impl<S: AsyncRead + Unpin> AsyncRead for Trace<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Some(stream) = this.transport.as_mut().filter(|_| into.remaining() > 0) else {
            return Poll::Ready(Ok(()));
        };
        this.session.awaits_first_byte(context.waker());
        let before = into.filled().len();
        let read = match Pin::new(stream).poll_read(context, into) {
            _ if !this.session.is_open() => Ok(0),
            Poll::Ready(read) => {
                read.map(|()| into.filled().len().saturating_sub(before)).map_err(ErrorKind::Io)
            }
            Poll::Pending => {
                let Some(within) = this.within else { return Poll::Pending };
                let silence =
                    this.silence.get_or_insert_with(|| Box::pin(tokio::time::sleep(within)));
                ready!(silence.as_mut().poll(context));
                Err(ErrorKind::TimedOut)
            }
        };
        this.silence = None;
        let received = into.filled().get(before..).unwrap_or_default();
        let read = this.session.read(received, read);
        into.set_filled(before.saturating_add(*read.as_ref().unwrap_or(&0)));
        if !this.session.is_open() {
            this.transport = None;
        }
        Poll::Ready(read.map(drop))
    }
}

impl<T> Drop for Trace<T> {
    fn drop(&mut self) {
        // From now on the id may belong to another session, so no stop is sent. If the session has
        // ended already, there is nothing to do.
        let _ = self.session.lock().session.hung_up();
    }
}

impl<T> fmt::Debug for Trace<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("session", &self.session).finish_non_exhaustive()
    }
}

/// A handle that stops a session from any thread or task. Clones stop the same session.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{Client, StopHandle};
///
/// fn goes_to_another_thread<T: Clone + Send + Sync>() {}
/// goes_to_another_thread::<StopHandle<Client>>();
/// ```
#[derive(Clone)]
#[must_use = "a session lasts until it is stopped"]
pub struct StopHandle<C> {
    session: SharedSession,
    pub(super) client: C,
}

impl<C> StopHandle<C> {
    /// Begins to stop the session over a connection of type `T`, or continues to wait for a stop that
    /// was sent before. Returns `None` if no byte has arrived, so the reader closes the connection
    /// instead (F-160).
    pub(super) fn begin<T: Send + 'static>(&self) -> Result<Option<PendingStop<'_, T>>, Error> {
        let session = &self.session;
        let refused = |kind| Err(Error::new(Phase::Stop, kind));
        let mut state = session.lock();
        if let Some(sent) = state.sent_stop.take() {
            match sent.downcast() {
                Ok(stop) => return Ok(Some(PendingStop { session, stop: Some(*stop) })),
                // The stop was sent over a connection of another type.
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
        let driver = ClientDriver::new(&StopTracing { session_id }, true)?;
        let Ok(begun) = state.session.begin_stop() else {
            return refused(ErrorKind::AlreadyStopped);
        };
        let reader = state.reader.take();
        drop(state);
        if begun.is_none() {
            reader.into_iter().for_each(Waker::wake);
            return Ok(None);
        }
        Ok(Some(PendingStop { session, stop: Some(Stop { driver, connection: None }) }))
    }
}

impl<C> fmt::Debug for StopHandle<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StopHandle").field("session", &self.session).finish_non_exhaustive()
    }
}

/// A `StopTracing` that was sent over a connection, or will be.
struct Stop<T> {
    driver: ClientDriver,
    connection: Option<T>,
}

/// A stop that has begun. If it is dropped after the request was sent, as an `async` call may be,
/// the session keeps its connection for the next call.
pub(super) struct PendingStop<'s, T: Send + 'static> {
    session: &'s SharedSession,
    /// The stop; `None` once it is over.
    stop: Option<Stop<T>>,
}

impl<T: Send + 'static> PendingStop<'_, T> {
    pub(super) fn is_connected(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.connection.is_some())
    }

    /// Sends the stop over this connection, unless the session ended while the connection was made:
    /// another session may have its id by then (F-143).
    pub(super) fn connect(&mut self, connection: T) -> Result<(), Error> {
        if !self.session.is_open() {
            return Err(Error::new(Phase::Stop, ErrorKind::SessionOver));
        }
        if let Some(stop) = &mut self.stop {
            stop.connection = Some(connection);
        }
        Ok(())
    }

    /// Returns the request and its connection.
    pub(super) fn parts(&mut self) -> Result<(&mut ClientDriver, &mut T), Error> {
        let parts = self
            .stop
            .as_mut()
            .and_then(|Stop { driver, connection }| Some((driver, connection.as_mut()?)));
        parts.ok_or_else(|| Error::new(Phase::Stop, ErrorKind::AlreadyStopped))
    }

    /// Records the outcome of the stop, and returns it.
    pub(super) fn finish(mut self, asked: Result<Outcome, Error>) -> Result<StopOutcome, Error> {
        let at = |kind| Error::new(Phase::Stop, kind);
        let outcome = asked.map_err(|error| match error.kind() {
            ErrorKind::TimedOut if error.phase() == Phase::Reply => at(ErrorKind::TimedOut),
            ErrorKind::Cancelled if error.phase() == Phase::Reply => at(ErrorKind::Cancelled),
            _ => error,
        })?;
        let Some(Stop { driver, .. }) = self.stop.take() else {
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
        let Some(stop) = self.stop.take() else { return };
        let mut state = self.session.lock();
        if stop.driver.awaits_reply() {
            state.sent_stop = Some(Box::new(stop));
        } else {
            // The stop is pending, so this cannot fail.
            let _ = state.session.stop_not_sent();
        }
    }
}

/// The session of a trace and its stop handles. Clones share the same session.
#[derive(Clone, Debug)]
struct SharedSession(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    session: Session,
    /// Wakes the reader that waits for the first byte. A stop before that byte closes the
    /// connection, which only the reader can do.
    reader: Option<Waker>,
    /// A stop that was sent, and for which nobody waits now.
    sent_stop: Option<Box<dyn Any + Send>>,
}

impl SharedSession {
    /// Locks the session. A thread that panicked while it held the lock leaves it consistent, as every
    /// change is one assignment.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the stream may be read.
    fn is_open(&self) -> bool {
        self.lock().session.action() == SessionAction::Read
    }

    /// Returns whether no byte has arrived. A stop then wakes `reader`, which closes the connection.
    fn awaits_first_byte(&self, reader: &Waker) -> bool {
        let mut state = self.lock();
        let awaits = state.session.bytes() == 0;
        state.reader = awaits.then(|| reader.clone());
        awaits
    }

    /// Counts the result of a read into `buffer`. 0 bytes are the end, and the caller closes the
    /// connection.
    fn read(&self, buffer: &[u8], read: Result<usize, ErrorKind>) -> io::Result<usize> {
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
            Err(ErrorKind::Io(error)) => {
                let kind = ErrorKind::Incomplete { end: End::Reset, received: session.bytes() };
                session.ended(End::Reset).map_err(bug)?;
                return Err(io::Error::new(error.kind(), at(kind)));
            }
            Err(stopped) => return Err(Error::new(Phase::Continuation, stopped).into()),
        }
        Ok(0)
    }
}
