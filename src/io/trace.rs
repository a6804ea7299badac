//! The stream of a session.

use std::fmt;
use std::io::{self, Read};
use std::time::Duration;

use super::deadlines::after;
use super::session::SharedSession;
use super::{Canceller, Error, Transport, Until};
use crate::exchange::SessionOutcome;

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

    /// The session's id; `None` if the runtime did not report it (F-2), and then it cannot be
    /// stopped.
    pub fn session_id(&self) -> Option<u64> {
        self.session.session_id()
    }

    /// The outcome of the session; `None` while it lasts, or while its stop is pending.
    pub fn outcome(&self) -> Option<SessionOutcome> {
        self.session.outcome()
    }

    /// Whether the stream is complete: it ended after its stop was answered.
    ///
    /// # Errors
    /// [`ErrorKind::Incomplete`](super::ErrorKind::Incomplete) if it ended by itself: the process
    /// exited or crashed. [`ErrorKind::Unsupported`](super::ErrorKind::Unsupported) while the
    /// session lasts, or while its stop is pending.
    pub fn check_complete(&self) -> Result<(), Error> {
        self.session.check_complete()
    }
}

impl<T: Transport> Read for Trace<T> {
    /// Reads the available part of the stream; 0 at its end.
    ///
    /// The errors contain [`Error`]s of this crate: [`Error::in_io`] extracts them. After
    /// [`TimedOut`](io::ErrorKind::TimedOut), by
    /// [`Deadlines::stream`](super::Deadlines::stream), it can be read again. A [`Canceller`] gives
    /// [`Other`](io::ErrorKind::Other), containing
    /// [`ErrorKind::Cancelled`](super::ErrorKind::Cancelled).
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(transport) = self.transport.as_mut().filter(|_| !into.is_empty()) else {
            return Ok(0);
        };
        let waiting = match self.first_byte.take() {
            None if self.session.bytes() == 0 => Some(Canceller::child(self.canceller.as_ref())?),
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
