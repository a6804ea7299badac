//! A session that writes `user_events`, held by its connection.

#[cfg(feature = "tokio")]
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
#[cfg(feature = "tokio")]
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::connection::ClientDriver;
#[cfg(feature = "tokio")]
use super::{AsyncClient, AsyncConnect};
use super::{Client, Connect, Connection, Error, ErrorKind, Phase, Transport, WaitLimit};
use crate::message::Request;
use crate::message::eventpipe::SessionReply;

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

impl<C: Connect> Client<C> {
    /// Starts a session that writes `user_events` through `user_events_data`, which the caller
    /// keeps: the runtime gets a duplicate, with a separate byte, before its reply is awaited
    /// (F-19, F-20).
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](super::ErrorKind::Unsupported) for a session of another type, and on
    /// a connection that cannot pass descriptors.
    pub fn user_events<'r, R: Request<'r, Reply = SessionReply>>(
        &self,
        request: &R,
        user_events_data: impl AsFd,
    ) -> Result<UserEvents<C::Transport>, Error> {
        let driver = ClientDriver::user_events(request, self.options.checks_limits)?;
        UserEvents::begin(self.connect()?, driver, user_events_data.as_fd())
    }
}

impl<T: Transport> Connection<T> {
    /// Starts a session as [`Client::user_events`] does.
    ///
    /// # Errors
    /// Fails as [`Client::user_events`] does.
    pub fn user_events<'r, R: Request<'r, Reply = SessionReply>>(
        self,
        request: &R,
        user_events_data: impl AsFd,
    ) -> Result<UserEvents<T>, Error> {
        let driver = ClientDriver::user_events(request, self.options.checks_limits)?;
        UserEvents::begin(self, driver, user_events_data.as_fd())
    }
}

impl<T: Transport> UserEvents<T> {
    fn begin(
        mut connection: Connection<T>,
        mut driver: ClientDriver,
        user_events_data: BorrowedFd<'_>,
    ) -> Result<Self, Error> {
        let outcome = connection.perform_with(&mut driver, Some(user_events_data))?;
        let session_id = driver.finish(outcome).user_events()?;
        Ok(Self { transport: connection.transport, session_id })
    }
}

impl<T> UserEvents<T> {
    /// Returns the session's id; `None` if the runtime did not report it (F-2).
    pub const fn session_id(&self) -> Option<u64> {
        self.session_id
    }
}

/// Returns a descriptor for `poll`, which becomes readable when the session ends by itself.
impl<T: AsFd> AsFd for UserEvents<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.transport.as_fd()
    }
}

impl<T: AsFd> UserEvents<T> {
    /// Waits until the session ends by itself, because the process has exited. Bytes, which no
    /// runtime sends here, are read and ignored.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`](super::ErrorKind::TimedOut) if it lasts longer;
    /// [`ErrorKind::Cancelled`](super::ErrorKind::Cancelled).
    pub fn wait(&self, until: &WaitLimit<'_>) -> Result<(), Error> {
        let fd = self.transport.as_fd();
        let at_end = || -> Result<(), ErrorKind> {
            loop {
                until.readable(fd)?;
                match recv(fd, &mut [0; 64], RecvFlags::DONTWAIT) {
                    Ok((0, _)) | Err(Errno::CONNRESET) => return Ok(()),
                    Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(errno) => return Err(ErrorKind::Io(errno.into())),
                }
            }
        };
        at_end().map_err(|stopped| Error::new(Phase::Continuation, stopped))
    }
}

#[cfg(feature = "tokio")]
impl<T: AsyncRead + Unpin> UserEvents<T> {
    /// Waits as [`wait`](Self::wait) does, with `async` and without a deadline.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](super::ErrorKind::Io) if the system cannot read the connection.
    pub async fn wait_async(&mut self) -> Result<(), Error> {
        loop {
            match self.transport.read(&mut [0; 64]).await {
                Ok(1..) => {}
                Ok(0) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
                Err(error) => return Err(Error::new(Phase::Continuation, error)),
            }
        }
    }
}

#[cfg(feature = "tokio")]
impl<C: AsyncConnect<Stream: AsFd>> AsyncClient<C> {
    /// Starts a session as [`Client::user_events`] does.
    ///
    /// # Errors
    /// Fails as [`Client::user_events`] does.
    pub async fn user_events<'r, R: Request<'r, Reply = SessionReply>>(
        &self,
        request: &R,
        user_events_data: impl AsFd,
    ) -> Result<UserEvents<C::Stream>, Error> {
        let mut driver = ClientDriver::user_events(request, self.options.checks_limits)?;
        let mut connection = self.connect().await?;
        let fd = user_events_data.as_fd();
        let outcome = connection.perform_with_fd_async(&mut driver, fd).await?;
        let session_id = driver.finish(outcome).user_events()?;
        Ok(UserEvents { transport: connection.transport, session_id })
    }
}
