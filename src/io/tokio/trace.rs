//! The stream of a session.

use std::boxed::Box;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Sleep;

use crate::exchange::SessionOutcome;
use crate::io::trace::SharedSession;
use crate::io::{Error, WaitError};

/// The nettrace stream of a session, as an [`AsyncRead`]: ends when the session does.
///
/// The runtime answers neither a stop nor any other client until the stream is read to its end
/// (F-75): continue reading. Dropping it closes the connection, which ends the session without a
/// rundown; an [`AsyncStopHandle`](super::AsyncStopHandle) then sends nothing.
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
    pub(super) session: SharedSession,
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
                read.map(|()| into.filled().len().saturating_sub(before)).map_err(WaitError::Io)
            }
            Poll::Pending => {
                let Some(within) = this.within else { return Poll::Pending };
                let silence =
                    this.silence.get_or_insert_with(|| Box::pin(tokio::time::sleep(within)));
                ready!(silence.as_mut().poll(context));
                Err(WaitError::TimedOut)
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
