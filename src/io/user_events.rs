//! A session that writes `user_events`, held by its connection.

#[cfg(feature = "tokio")]
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::{Error, Phase, WaitError, WaitLimit};

/// A session that writes `user_events`: it lasts until this is dropped, or the process ends (F-23).
///
/// ```no_run
/// use std::fs::File;
/// use dotnet_diagnostics_ipc::io::{Client, Endpoint};
/// use dotnet_diagnostics_ipc::message::eventpipe::{
///     CollectTracing5, EventFilter, EventLevel, TracepointConfig, TracepointSet, UserEventsProviderConfig, UserEventsSession,
/// };
/// use dotnet_diagnostics_ipc::wire::{Array, IpcString};
///
/// let sets = [TracepointSet { tracepoint_name: "gc".into(), event_ids: Array::new(&[1, 2]) }];
/// let providers = [UserEventsProviderConfig {
///     keywords: 1,
///     log_level: EventLevel::INFORMATIONAL,
///     provider_name: "Microsoft-Windows-DotNETRuntime".into(),
///     arguments: IpcString::ABSENT,
///     filter: EventFilter::ALL,
///     config: TracepointConfig { default_tracepoint_name: "rest".into(), tracepoints: Array::new(&sets) },
/// }];
/// let request = CollectTracing5::UserEvents(UserEventsSession { rundown_keyword: 0, providers: Array::new(&providers) });
/// let data = File::options().read(true).write(true).open("/sys/kernel/tracing/user_events_data")?;
/// let session = Client::new(Endpoint::process(12345)).user_events(&request, &data)?;
/// // … the tracepoints exist; perf or another reader reads them …
/// drop(session);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping it ends the session"]
pub struct UserEvents<T> {
    transport: T,
    session_id: Option<u64>,
}

impl<T> UserEvents<T> {
    pub(super) const fn new(transport: T, session_id: Option<u64>) -> Self {
        Self { transport, session_id }
    }

    /// Returns the session's id; `None` if the runtime did not report it (F-2).
    pub const fn session_id(&self) -> Option<u64> {
        self.session_id
    }
}

/// It becomes readable when the session ends by itself, for a `poll` of many sessions.
impl<T: AsFd> AsFd for UserEvents<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.transport.as_fd()
    }
}

impl<T: AsFd> UserEvents<T> {
    /// Waits until the session ends by itself: the process has exited. Bytes, which no runtime
    /// sends here, are read and ignored.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`](super::ErrorKind::TimedOut) if it lasts longer;
    /// [`ErrorKind::Cancelled`](super::ErrorKind::Cancelled).
    pub fn wait(&self, until: &WaitLimit<'_>) -> Result<(), Error> {
        let fd = self.transport.as_fd();
        let at_end = || -> Result<(), WaitError> {
            loop {
                until.readable(fd)?;
                match recv(fd, &mut [0; 64], RecvFlags::DONTWAIT) {
                    Ok((0, _)) | Err(Errno::CONNRESET) => return Ok(()),
                    Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(errno) => return Err(WaitError::Io(errno.into())),
                }
            }
        };
        at_end().map_err(|stopped| stopped.during(Phase::Continuation))
    }
}

#[cfg(feature = "tokio")]
impl UserEvents<tokio::net::UnixStream> {
    /// Waits as [`wait`](Self::wait) does, with `async` and without a deadline.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](super::ErrorKind::Io), if the system cannot read the connection.
    pub async fn wait_async(&self) -> Result<(), Error> {
        let failed = |error| WaitError::Io(error).during(Phase::Continuation);
        loop {
            self.transport.readable().await.map_err(failed)?;
            match self.transport.try_read(&mut [0; 64]) {
                Ok(1..) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Ok(0) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(()),
                Err(error) => return Err(failed(error)),
            }
        }
    }
}
