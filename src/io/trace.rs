//! The stream of a session, and its stop from another thread.

use std::fmt;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::drive::{Drive, Finished};
use super::{Client, Connect, Error, ErrorKind, Phase, Stopped, Transport, Until};
use crate::exchange::{End, Outcome, Session, SessionAction, SessionOutcome, Stop};

/// The nettrace stream of a session, as a [`Read`]: ends when the session does.
///
/// The runtime does not answer a stop, nor any other client, until the stream is read to its end (F-75): go on reading. Dropping it
/// closes the connection, which ends the session without a rundown.
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
/// let mut trace = Client::new(Endpoint::process(12345)).trace(&request)?;
/// let stopper = trace.stopper();
/// let timer = std::thread::spawn(move || {
///     std::thread::sleep(std::time::Duration::from_secs(5));
///     stopper.stop()
/// });
/// let mut file = std::fs::File::create("5s.nettrace")?;
/// std::io::copy(&mut trace, &mut file)?;
/// timer.join().unwrap()?;
/// assert_eq!(trace.outcome().and_then(|outcome| outcome.stream_end()), Some(dotnet_diagnostics_ipc::flow::StreamEnd::Complete));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Trace<C: Connect> {
    transport: C::Transport,
    session: Arc<Mutex<Session>>,
    session_id: Option<u64>,
    client: Client<C>,
}

/// Stops a session, from any thread. Clones stop the same session.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{Endpoint, Stopper};
///
/// fn goes_to_another_thread<T: Clone + Send + Sync>() {}
/// goes_to_another_thread::<Stopper<Endpoint>>();
/// ```
pub struct Stopper<C> {
    session: Arc<Mutex<Session>>,
    client: Client<C>,
}

impl<C: Connect> Trace<C> {
    pub(super) fn new(transport: C::Transport, session_id: Option<u64>, client: Client<C>) -> Self {
        let session = Arc::new(Mutex::new(Session::streaming(session_id, u64::MAX)));
        Self { transport, session, session_id, client }
    }

    /// The session's id; `None` if the runtime did not say it (F-2), and then it cannot be stopped.
    pub const fn session_id(&self) -> Option<u64> {
        self.session_id
    }

    /// What stops it.
    pub fn stopper(&self) -> Stopper<C> {
        Stopper { session: Arc::clone(&self.session), client: self.client.clone() }
    }

    /// What became of the session; `None` while it lasts, or while its stop is on the way.
    pub fn outcome(&self) -> Option<SessionOutcome> {
        match lock(&self.session).action() {
            SessionAction::Finished(outcome) => Some(outcome),
            _ => None,
        }
    }
}

impl<C: Connect> Read for Trace<C> {
    /// Reads what has come of the stream; 0 at its end.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() || self.is_over() {
            return Ok(0);
        }
        let until = Until { canceller: self.client.canceller(), ..Until::FOREVER };
        let end = match self.transport.receive(into, &until) {
            Ok(0) => End::Closed,
            Ok(n) => {
                let bytes = into.get(..n).unwrap_or_default();
                return lock(&self.session).received(bytes).map(|_| n).map_err(io::Error::other);
            }
            Err(Stopped::Io(error)) => {
                lock(&self.session).ended(End::Reset).map_err(io::Error::other)?;
                return Err(error);
            }
            Err(Stopped::Cancelled) => return Err(io::Error::other("cancelled")),
            Err(Stopped::TimedOut) => return Err(io::ErrorKind::TimedOut.into()),
        };
        lock(&self.session).ended(end).map_err(io::Error::other)?;
        Ok(0)
    }
}

impl<C: Connect> Trace<C> {
    /// Whether the stream has ended.
    fn is_over(&self) -> bool {
        !matches!(lock(&self.session).action(), SessionAction::Read | SessionAction::ReadAndAwaitStop)
    }
}

impl<C: Connect> Stopper<C> {
    /// Stops the session, over a connection of its own, and waits for the answer. That comes once the stream was read to its end,
    /// so somebody must be reading it.
    ///
    /// # Errors
    /// [`Phase::Stop`] where the session is over, or is being stopped; otherwise as every call.
    pub fn stop(&self) -> Result<Stop, Error> {
        let not_now = || Error::new(Phase::Stop, ErrorKind::Unsupported("the session is over, or is being stopped already"));
        let request = {
            let mut session = lock(&self.session);
            let request = session.stop_request().ok_or_else(not_now)?;
            session.stopping().map_err(|_| not_now())?;
            request
        };
        let drive = Drive::new(&request, true)?;
        let asked = self.client.connect().and_then(|mut connection| connection.run(drive, None));
        let mut session = lock(&self.session);
        match asked {
            Ok(Finished { outcome, buffer, .. }) => {
                session.stop_finished(outcome, &buffer).map_err(|illegal| Error::new(Phase::Stop, illegal))?;
                let stop = session.stop();
                match (stop, outcome) {
                    (Stop::Refused(hresult), _) => Err(Error::new(Phase::Stop, ErrorKind::Refused { hresult, message: None })),
                    (_, Outcome::NoReply { end: End::TimedOut, .. } | Outcome::Cut { end: End::TimedOut, .. }) => {
                        Err(Error::new(Phase::Stop, ErrorKind::TimedOut))
                    }
                    (Stop::Unanswered(end), _) => Err(Error::new(Phase::Stop, ErrorKind::Ended { end, received: 0 })),
                    _ => Ok(stop),
                }
            }
            Err(error) => {
                let end = if matches!(error.kind(), ErrorKind::TimedOut) { End::TimedOut } else { End::Closed };
                session.stop_failed(end).map_err(|illegal| Error::new(Phase::Stop, illegal))?;
                Err(error)
            }
        }
    }
}

/// A thread that panicked while it held the lock leaves the session as it was: every change is one assignment.
fn lock(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<C> Clone for Stopper<C> {
    fn clone(&self) -> Self {
        Self { session: Arc::clone(&self.session), client: self.client.clone() }
    }
}

impl<C: Connect> fmt::Debug for Trace<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("session", &self.session).finish_non_exhaustive()
    }
}

impl<C> fmt::Debug for Stopper<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stopper").field("session", &self.session).finish_non_exhaustive()
    }
}
