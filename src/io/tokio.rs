//! Call runtimes from tokio: the same exchanges, deadlines and errors as the blocking client, with
//! `async` and without threads.
//!
//! Deadlines need a tokio runtime with time enabled, [`Endpoint`]s one with I/O enabled: `enable_all`
//! does both. There is no canceller: dropping a call cancels it, and closes its connection.

use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(unix)]
use tokio::io::Interest;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout_at;

use super::connection::{ClientDriver, Finished, NO_FD, Step};
#[cfg(unix)]
use super::fd;
#[cfg(unix)]
use super::port_listener::PortRuntime;
#[cfg(unix)]
use super::trust::VerifiedSocket;
use super::wait::{CallOptions, Clock};
use super::{Answer, Connection, Deadlines, Endpoint, Error, ErrorKind, Phase, Trace, WaitLimit};
use crate::exchange::Outcome;
use crate::message::Request;
use crate::message::eventpipe::SessionReply;

/// Provides an [`AsyncClient`] with a new connection for each request.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{AsyncClient, AsyncConnect, Error};
/// use tokio::net::TcpStream;
///
/// /// A runtime whose port is forwarded.
/// struct Forwarded(&'static str);
///
/// impl AsyncConnect for Forwarded {
///     type Stream = TcpStream;
///
///     async fn connect(&self) -> Result<TcpStream, Error> {
///         TcpStream::connect(self.0).await.map_err(Error::connecting)
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// assert!(AsyncClient::new(Forwarded("127.0.0.1:1")).process_info().await.is_err());
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait AsyncConnect {
    /// The connection type. A session keeps one on which a stop was sent but not yet answered.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    /// A new connection, before any byte is sent. It is dropped on a timeout.
    fn connect(&self) -> impl Future<Output = Result<Self::Stream, Error>> + Send;
}

impl<C: AsyncConnect + Sync + ?Sized> AsyncConnect for &C {
    type Stream = C::Stream;

    fn connect(&self) -> impl Future<Output = Result<Self::Stream, Error>> + Send {
        (**self).connect()
    }
}

/// Runs blocking work on a thread for blocking.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|died| Error::new(Phase::Find, io::Error::from(died)))?
}

/// Waits on a thread for blocking, because the tokio runtime may have no time driver.
async fn pause(length: Duration) -> Result<(), Error> {
    blocking(move || {
        std::thread::sleep(length);
        Ok(())
    })
    .await
}

/// Found and checked as by the blocking half: see [`discovery`](super::discovery) and
/// [`trust`](super::trust).
#[cfg(unix)]
impl AsyncConnect for Endpoint {
    type Stream = tokio::net::UnixStream;

    async fn connect(&self) -> Result<Self::Stream, Error> {
        if let Some(found) = self.found_before() {
            match connect_to(self, &found).await {
                // No process listens there any longer, or another does: search again below.
                Err(_) => *self.cached() = None,
                done => return done,
            }
        }
        let endpoint = self.clone();
        let found = blocking(move || endpoint.find(&WaitLimit::FOREVER)).await?;
        let stream = connect_to(self, &found).await?;
        *self.cached() = Some(found);
        Ok(stream)
    }
}

#[cfg(unix)]
async fn connect_to(
    endpoint: &Endpoint,
    found: &VerifiedSocket,
) -> Result<tokio::net::UnixStream, Error> {
    loop {
        if let Some(stream) = endpoint.try_open(found)? {
            return tokio::net::UnixStream::from_std(stream).map_err(Error::connecting);
        }
        pause(super::unix::BACKLOG_PAUSE).await?;
    }
}

#[cfg(windows)]
impl AsyncConnect for Endpoint {
    type Stream = tokio::net::windows::named_pipe::NamedPipeClient;

    async fn connect(&self) -> Result<Self::Stream, Error> {
        use super::windows::{PipePath, opened, rate_limited, wait_until_free};
        use tokio::net::windows::named_pipe::ClientOptions;

        let path =
            PipePath::new(&self.pipe_name()?).map_err(|error| Error::new(Phase::Find, error))?;
        loop {
            // By default a server may identify the client, but not impersonate it.
            let tried = match rate_limited(&path, || ClientOptions::new().open(path.text())) {
                Ok(tried) => tried,
                Err(wait) => {
                    pause(wait).await?;
                    continue;
                }
            };
            if let Some(pipe) = opened(&path, tried)? {
                self.check_pipe(&pipe)?;
                return Ok(pipe);
            }
            let path = path.clone();
            blocking(move || wait_until_free(&path, &WaitLimit::FOREVER)).await?;
        }
    }
}

/// As [`Connect`](super::Connect) for a [`PortRuntime`]: takes its next connection. The port's
/// thread wakes the wait. If it is dropped in the moment in which a connection arrives, that is
/// closed, and the runtime connects again (F-57).
#[cfg(unix)]
impl AsyncConnect for PortRuntime {
    type Stream = tokio::net::UnixStream;

    async fn connect(&self) -> Result<Self::Stream, Error> {
        let stream = std::os::unix::net::UnixStream::from(self.next_connection().await?);
        stream.set_nonblocking(true).map_err(Error::connecting)?;
        tokio::net::UnixStream::from_std(stream).map_err(Error::connecting)
    }
}

/// An async client of a runtime, like [`Client`](super::Client). Each call opens a new
/// connection: a connection carries one request.
///
/// A runtime answers one client at a time (F-75); several runtimes can be asked at once.
///
/// ```no_run
/// use dotnet_diagnostics_ipc::io::{AsyncClient, Endpoint};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let (one, other) = (AsyncClient::new(Endpoint::process(12345)), AsyncClient::new(Endpoint::process(12346)));
/// let (one, other) = tokio::join!(one.info(), other.info());
/// for info in [one?, other?] {
///     println!("{} runs {}", info.process_id, info.command_line);
/// }
/// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A request that a runtime would refuse, or crash on, is not sent: see
/// [`unchecked`](Self::unchecked).
#[derive(Debug)]
pub struct AsyncClient<C = Endpoint> {
    connect: Arc<C>,
    pub(super) options: CallOptions,
}

impl<C> Clone for AsyncClient<C> {
    fn clone(&self) -> Self {
        Self { connect: Arc::clone(&self.connect), options: self.options.clone() }
    }
}

impl<C: AsyncConnect> AsyncClient<C> {
    /// A client of the runtime at `connect`.
    pub fn new(connect: C) -> Self {
        Self { connect: Arc::new(connect), options: CallOptions::DEFAULT }
    }

    /// Sets the deadlines. With [`Deadlines::NONE`] the tokio runtime needs no time driver.
    #[must_use]
    pub fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.options.deadlines = deadlines;
        self
    }

    /// Sends requests unchecked. Some invalid requests kill a runtime (F-72, P-19).
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.options.checks_limits = false;
        self
    }

    /// A new connection, before any byte is sent.
    ///
    /// # Errors
    /// [`Phase::Find`], [`Phase::Trust`], [`Phase::Connect`].
    pub async fn connect(&self) -> Result<Connection<C::Stream>, Error> {
        self.connect_by(self.start()).await
    }

    pub(super) fn start(&self) -> Clock {
        Clock::start(now, &self.options.deadlines)
    }

    /// Like `connect`, if the whole call began earlier.
    pub(super) async fn connect_by(&self, clock: Clock) -> Result<Connection<C::Stream>, Error> {
        let connecting = async { Ok(self.connect.connect().await) };
        let deadline = clock.within(self.options.deadlines.connect);
        let connected = until(deadline, connecting).await;
        let stream =
            connected.map_err(|stopped: ErrorKind| Error::new(Phase::Connect, stopped))??;
        Ok(Connection::of_call(stream, self.options.clone(), clock))
    }
}

/// Over an existing stream of tokio: a Unix socket, a named pipe, TCP, TLS.
///
/// ```
/// use dotnet_diagnostics_ipc::io::Connection;
/// use dotnet_diagnostics_ipc::message::process::ResumeRuntime;
/// use tokio::io::AsyncWriteExt as _;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let (ours, mut theirs) = tokio::io::duplex(64);
/// theirs.write_all(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0").await?;
/// let answer = Connection::new(ours).call_async(&ResumeRuntime {}).await?;
/// assert!(answer.result().is_success());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Does what [`call`](Self::call) does, with `async`.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn call_async<'r, R: Request<'r>>(mut self, request: &R) -> Result<Answer<R>, Error> {
        let driver = ClientDriver::new(request, self.options.checks_limits)?;
        self.run_async(driver).await?.answer()
    }

    /// Does what [`trace`](Self::trace) does, with `async`.
    ///
    /// # Errors
    /// As [`trace`](Self::trace).
    pub async fn trace_async<'r, R: Request<'r, Reply = SessionReply>>(
        mut self,
        request: &R,
    ) -> Result<Trace<S>, Error> {
        let driver = ClientDriver::trace(request, self.options.checks_limits)?;
        let finished = self.run_async(driver).await?;
        self.traced(finished)
    }

    pub(super) async fn run_async(&mut self, mut driver: ClientDriver) -> Result<Finished, Error> {
        let outcome = self.perform_async(&mut driver).await?;
        Ok(driver.finish(outcome))
    }

    /// Performs the exchange's actions until it is finished.
    pub(super) async fn perform_async(
        &mut self,
        driver: &mut ClientDriver,
    ) -> Result<Outcome, Error> {
        let outcome = self.perform_until_fd(driver).await?;
        outcome.ok_or_else(|| Error::new(Phase::SendFd, NO_FD))
    }

    /// Performs the exchange's actions until it is finished; `None` where a descriptor is to be sent.
    async fn perform_until_fd(
        &mut self,
        driver: &mut ClientDriver,
    ) -> Result<Option<Outcome>, Error> {
        let clock = self.clock(now);
        let sending = clock.within(self.options.deadlines.send);
        let reply_within = driver.reply_within(&self.options.deadlines);
        let mut replying = None;
        loop {
            match driver.next()? {
                Step::Send(bytes) => {
                    let sent = until(sending, self.transport.write(bytes)).await;
                    driver.sent(sent)?;
                }
                Step::SendFd => return Ok(None),
                Step::Receive(into) => {
                    if replying.is_none() {
                        // The stream may have buffered what was written.
                        let _ = until(sending, self.transport.flush()).await;
                    }
                    let deadline = *replying.get_or_insert_with(|| clock.within(reply_within));
                    let received = until(deadline, self.transport.read(into)).await;
                    driver.received(received)?;
                }
                Step::Finish(outcome) => return Ok(Some(outcome)),
            }
        }
    }
}

#[cfg(unix)]
impl Connection<tokio::net::UnixStream> {
    /// Performs the exchange's actions, of which one passes this descriptor.
    pub(super) async fn perform_with_fd_async(
        &mut self,
        driver: &mut ClientDriver,
        fd: BorrowedFd<'_>,
    ) -> Result<Outcome, Error> {
        let sending = self.clock(now).within(self.options.deadlines.send);
        loop {
            if let Some(outcome) = self.perform_until_fd(driver).await? {
                return Ok(outcome);
            }
            let send_fd = || fd::send_fd(self.transport.as_fd(), fd);
            let sent = until(sending, self.transport.async_io(Interest::WRITABLE, send_fd)).await;
            driver.fd_sent(sent)?;
        }
    }
}

/// The clock of tokio, which tests can stop.
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// The result of `io`, if it arrives in time.
pub(super) async fn until<T>(
    deadline: Option<Instant>,
    io: impl Future<Output = io::Result<T>>,
) -> Result<T, ErrorKind> {
    match deadline {
        None => Ok(io.await?),
        Some(deadline) => {
            Ok(timeout_at(deadline.into(), io).await.map_err(|_| ErrorKind::TimedOut)??)
        }
    }
}
