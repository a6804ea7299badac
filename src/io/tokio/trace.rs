//! The stream of a session, and its stop on another connection.

use std::boxed::Box;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Sleep;

use super::{AsyncClient, AsyncConnect};
use crate::exchange::{SessionOutcome, StopOutcome};
use crate::io::trace::{PendingStop, SharedSession};
use crate::io::{Error, Stopped};

/// The nettrace stream of a session, as an [`AsyncRead`]: ends when the session does.
///
/// The runtime answers neither a stop nor any other client until the stream is read to its end
/// (F-75): continue reading. Dropping it closes the connection, which ends the session without a
/// rundown; an [`AsyncStopHandle`] then sends nothing.
///
/// ```no_run
/// use dotnet_diagnostics_ipc::io::{AsyncClient, Endpoint};
/// use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing2, EventLevel, Format, ProviderConfig};
/// use dotnet_diagnostics_ipc::wire::Array;
/// use std::time::Duration;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let providers = [ProviderConfig::new("Microsoft-Windows-DotNETRuntime", 1, EventLevel::INFORMATIONAL)];
/// let request =
///     CollectTracing2 { circular_buffer_mb: 256, format: Format::NET_TRACE, request_rundown: true, providers: Array::new(&providers) };
/// let client = AsyncClient::new(Endpoint::process(12345));
/// let mut trace = client.trace(&request).await?;
/// let stop_handle = trace.stop_handle(&client);
/// let stop = async {
///     tokio::time::sleep(Duration::from_secs(5)).await;
///     stop_handle.stop().await
/// };
/// let mut stream = Vec::new();
/// let (stopped, read) = tokio::join!(stop, tokio::io::copy(&mut trace, &mut stream));
/// (stopped?, read?);
/// trace.check_complete()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropping a trace ends its session without a rundown"]
pub struct AsyncTrace<S> {
    /// `None` once it is over.
    stream: Option<S>,
    session: SharedSession,
    within: Option<Duration>,
    /// While nothing arrives.
    silence: Option<Pin<Box<Sleep>>>,
}

impl<S> AsyncTrace<S> {
    pub(super) fn new(stream: S, session_id: Option<u64>, within: Option<Duration>) -> Self {
        Self {
            stream: Some(stream),
            session: SharedSession::new(session_id),
            within,
            silence: None,
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
    /// As [`Trace::check_complete`](crate::io::Trace::check_complete).
    pub fn check_complete(&self) -> Result<(), Error> {
        self.session.check_complete()
    }

    /// Returns a handle that stops the session over another connection to the same runtime, made by
    /// `client`.
    pub fn stop_handle<C: AsyncConnect>(&self, client: &AsyncClient<C>) -> AsyncStopHandle<C> {
        AsyncStopHandle { session: self.session.clone(), client: client.clone() }
    }
}

/// The errors are those of a [`Trace`](crate::io::Trace): [`Error::in_io`] extracts the crate's
/// error.
impl<S: AsyncRead + Unpin> AsyncRead for AsyncTrace<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Some(stream) = this.stream.as_mut().filter(|_| into.remaining() > 0) else {
            return Poll::Ready(Ok(()));
        };
        this.session.awaits_first_byte(context.waker());
        let before = into.filled().len();
        let read = match Pin::new(stream).poll_read(context, into) {
            _ if !this.session.is_open() => Ok(0),
            Poll::Ready(read) => {
                read.map(|()| into.filled().len().saturating_sub(before)).map_err(Stopped::Io)
            }
            Poll::Pending => {
                let Some(within) = this.within else { return Poll::Pending };
                let silence =
                    this.silence.get_or_insert_with(|| Box::pin(tokio::time::sleep(within)));
                ready!(silence.as_mut().poll(context));
                Err(Stopped::TimedOut)
            }
        };
        this.silence = None;
        let came = into.filled().get(before..).unwrap_or_default();
        let read = this.session.read(came, read);
        into.set_filled(before.saturating_add(*read.as_ref().unwrap_or(&0)));
        if !this.session.is_open() {
            this.stream = None;
        }
        Poll::Ready(read.map(drop))
    }
}

impl<S> Drop for AsyncTrace<S> {
    fn drop(&mut self) {
        self.session.hang_up();
    }
}

impl<S> fmt::Debug for AsyncTrace<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncTrace").field("session", &self.session).finish_non_exhaustive()
    }
}

/// Stops a session, from any task. Clones stop the same session.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{AsyncStopHandle, Endpoint};
///
/// fn goes_to_another_task<T: Clone + Send + Sync>() {}
/// goes_to_another_task::<AsyncStopHandle<Endpoint>>();
/// ```
#[must_use = "a session lasts until it is stopped"]
pub struct AsyncStopHandle<C> {
    session: SharedSession,
    client: AsyncClient<C>,
}

impl<C: AsyncConnect> AsyncStopHandle<C> {
    /// Stops the session, and waits for the answer. The answer arrives after the stream was read to
    /// its end, so another task must read it.
    ///
    /// As [`StopHandle::stop`](crate::io::StopHandle::stop): if this future is dropped after the
    /// request was sent, then the next call waits for the same answer and sends nothing. Before the
    /// first byte of the stream nothing is sent (F-160).
    ///
    /// # Errors
    /// As [`StopHandle::stop`](crate::io::StopHandle::stop).
    pub async fn stop(&self) -> Result<StopOutcome, Error> {
        let Some(mut stop) = PendingStop::begin(&self.session)? else {
            return Ok(StopOutcome::NotSent);
        };
        let (drive, stream) = stop.parts()?;
        let asked = self.client.perform(drive, stream).await;
        stop.finish(asked)
    }
}

impl<C> Clone for AsyncStopHandle<C> {
    fn clone(&self) -> Self {
        Self { session: self.session.clone(), client: self.client.clone() }
    }
}

impl<C> fmt::Debug for AsyncStopHandle<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncStopHandle").field("session", &self.session).finish_non_exhaustive()
    }
}
