//! The async client: one method per command, one connection per call.

use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

#[cfg(unix)]
use tokio::io::Interest;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::{AsyncEnvironmentBlock, AsyncTrace, Clock, until};
use crate::exchange::Outcome;
use crate::io::connection::{ClientDriver, Finished, Step};
#[cfg(unix)]
use crate::io::trust::VerifiedSocket;
use crate::io::wait::CallOptions;
use crate::io::{Answer, Deadlines, Endpoint, Error, ErrorKind, Phase, WaitError, WaitLimit};
#[cfg(unix)]
use crate::io::{UserEvents, fd};
use crate::message::Request;
use crate::message::eventpipe::SessionReply;
use crate::message::process::ProcessEnvironment;

/// Provides an [`AsyncClient`](super::AsyncClient) with a new connection for each request.
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
pub(super) async fn blocking<T: Send + 'static>(
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

/// Found and checked as by the blocking half: see [`discovery`](crate::io::discovery) and
/// [`trust`](crate::io::trust).
#[cfg(unix)]
impl AsyncConnect for Endpoint {
    type Stream = tokio::net::UnixStream;

    async fn connect(&self) -> Result<Self::Stream, Error> {
        if let Some(found) = self.found_before() {
            match connect_to(self, &found).await {
                // No process listens there any longer, or another does: search again below.
                Err(_) => self.forget(),
                done => return done,
            }
        }
        let endpoint = self.clone();
        let found = blocking(move || endpoint.find(&WaitLimit::FOREVER)).await?;
        let stream = connect_to(self, &found).await?;
        self.keep(found);
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
        pause(crate::io::unix::BACKLOG_PAUSE).await?;
    }
}

#[cfg(windows)]
impl AsyncConnect for Endpoint {
    type Stream = tokio::net::windows::named_pipe::NamedPipeClient;

    async fn connect(&self) -> Result<Self::Stream, Error> {
        use crate::io::windows::{PipePath, opened, rate_limited, wait_until_free};
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

/// An async client of a runtime, like [`Client`](crate::io::Client). Each call opens a new
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
    pub(in crate::io) options: CallOptions,
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
    pub async fn connect(&self) -> Result<AsyncConnection<C::Stream>, Error> {
        self.connect_by(self.start()).await
    }

    pub(in crate::io) fn start(&self) -> Clock {
        Clock::start(&self.options.deadlines)
    }

    /// Like `connect`, if the whole call began earlier.
    pub(in crate::io) async fn connect_by(
        &self,
        clock: Clock,
    ) -> Result<AsyncConnection<C::Stream>, Error> {
        let connecting = async { Ok(self.connect.connect().await) };
        let deadline = clock.within(self.options.deadlines.connect);
        let connected = until(deadline, connecting).await;
        let stream = connected.map_err(|stopped: WaitError| stopped.during(Phase::Connect))??;
        Ok(AsyncConnection::of_call(stream, self.options.clone(), clock))
    }
}

#[cfg(unix)]
impl<C: AsyncConnect<Stream = tokio::net::UnixStream>> AsyncClient<C> {
    /// Starts a session that writes `user_events` through `user_events_data`, as
    /// [`Client::user_events`](crate::io::Client::user_events).
    ///
    /// # Errors
    /// As [`Client::user_events`](crate::io::Client::user_events).
    pub async fn user_events<'r, R: Request<'r, Reply = SessionReply>>(
        &self,
        request: &R,
        user_events_data: impl AsFd,
    ) -> Result<UserEvents<C::Stream>, Error> {
        let driver = ClientDriver::user_events(request, self.options.checks_limits)?;
        self.connect().await?.begin_user_events(driver, user_events_data.as_fd()).await
    }
}

/// One request over an existing connection: a Unix socket, a named pipe, a TCP stream, TLS.
///
/// ```
/// use dotnet_diagnostics_ipc::io::AsyncConnection;
/// use dotnet_diagnostics_ipc::message::process::ResumeRuntime;
/// use tokio::io::AsyncWriteExt as _;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let (ours, mut theirs) = tokio::io::duplex(64);
/// theirs.write_all(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0").await?;
/// let answer = AsyncConnection::new(ours).call(&ResumeRuntime {}).await?;
/// assert!(answer.result().is_success());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is sent before a call"]
pub struct AsyncConnection<S> {
    stream: S,
    options: CallOptions,
    /// If the call has begun.
    clock: Option<Clock>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncConnection<S> {
    /// A connection before any byte is sent.
    pub const fn new(stream: S) -> Self {
        Self { stream, options: CallOptions::DEFAULT, clock: None }
    }

    /// Continues a call that began when the client connected.
    pub(in crate::io) const fn of_call(stream: S, options: CallOptions, clock: Clock) -> Self {
        Self { stream, options, clock: Some(clock) }
    }

    /// Sets the deadlines. With [`Deadlines::NONE`] the tokio runtime needs no time driver.
    pub const fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.options.deadlines = deadlines;
        self
    }

    /// Sends the request unchecked. Some invalid requests kill a runtime (F-72, P-19).
    pub const fn unchecked(mut self) -> Self {
        self.options.checks_limits = false;
        self
    }

    /// Sends the request and waits for the reply.
    ///
    /// # Errors
    /// As [`Connection::call`](crate::io::Connection::call).
    pub async fn call<'r, R: Request<'r>>(mut self, request: &R) -> Result<Answer<R>, Error> {
        let driver = ClientDriver::new(request, self.options.checks_limits)?;
        self.run(driver).await?.ok().map(|(message, _)| Answer::new(message))
    }

    /// Starts a session that streams: `CollectTracing` to `CollectTracing4`, or a newer one whose
    /// session type says so.
    ///
    /// # Errors
    /// As [`call`](Self::call); [`ErrorKind::Unsupported`](crate::io::ErrorKind::Unsupported) for a
    /// session that does not stream.
    pub async fn trace<'r, R: Request<'r, Reply = SessionReply>>(
        self,
        request: &R,
    ) -> Result<AsyncTrace<S>, Error> {
        let driver = ClientDriver::trace(request, self.options.checks_limits)?;
        self.begin_trace(driver).await
    }

    pub(in crate::io) async fn begin_trace(
        mut self,
        driver: ClientDriver,
    ) -> Result<AsyncTrace<S>, Error> {
        let finished = self.run(driver).await?;
        self.traced(finished)
    }

    /// The stream after the reply to a request that starts a session.
    pub(in crate::io) fn traced(self, finished: Finished) -> Result<AsyncTrace<S>, Error> {
        let session_id = finished.stream()?;
        Ok(AsyncTrace::new(self.stream, session_id, self.options.deadlines.stream))
    }

    /// Asks for the environment, which is then read entry by entry.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn environment(mut self) -> Result<AsyncEnvironmentBlock<S>, Error> {
        let clock = self.clock();
        let driver = ClientDriver::new(&ProcessEnvironment {}, self.options.checks_limits)?;
        let n_incoming_bytes = self.run(driver).await?.environment()?;
        let deadline = clock.within(self.options.deadlines.continuation);
        Ok(AsyncEnvironmentBlock::new(self.stream, n_incoming_bytes, deadline))
    }

    /// The connection in its current state: what follows the reply arrives on it.
    pub(in crate::io) fn into_inner(self) -> S {
        self.stream
    }

    /// The deadlines of the call, which begins now unless it has begun.
    fn clock(&mut self) -> Clock {
        *self.clock.get_or_insert_with(|| Clock::start(&self.options.deadlines))
    }

    pub(in crate::io) async fn run(&mut self, mut driver: ClientDriver) -> Result<Finished, Error> {
        let outcome = self.perform(&mut driver).await?;
        Ok(driver.finish(outcome))
    }

    /// Performs the exchange's actions until it is finished.
    pub(in crate::io) async fn perform(
        &mut self,
        driver: &mut ClientDriver,
    ) -> Result<Outcome, Error> {
        let no_fd = || Error::new(Phase::SendFd, ErrorKind::Unsupported("no descriptor to pass"));
        self.perform_until_fd(driver).await?.ok_or_else(no_fd)
    }

    /// Performs the exchange's actions until it is finished; `None` where a descriptor is to be sent.
    async fn perform_until_fd(
        &mut self,
        driver: &mut ClientDriver,
    ) -> Result<Option<Outcome>, Error> {
        let clock = self.clock();
        let sending = clock.within(self.options.deadlines.send);
        let reply_within = driver.reply_within(&self.options.deadlines);
        let mut replying = None;
        loop {
            match driver.next()? {
                Step::Send(bytes) => {
                    let sent = until(sending, self.stream.write(bytes)).await;
                    driver.sent(sent)?;
                }
                Step::SendFd => return Ok(None),
                Step::Receive(into) => {
                    if replying.is_none() {
                        // The stream may have buffered what was written.
                        let _ = until(sending, self.stream.flush()).await;
                    }
                    let deadline = *replying.get_or_insert_with(|| clock.within(reply_within));
                    let received = until(deadline, self.stream.read(into)).await;
                    driver.received(received)?;
                }
                Step::Finish(outcome) => return Ok(Some(outcome)),
            }
        }
    }
}

#[cfg(unix)]
impl AsyncConnection<tokio::net::UnixStream> {
    /// Starts a session that writes `user_events`, as
    /// [`Connection::user_events`](crate::io::Connection::user_events).
    ///
    /// # Errors
    /// As [`Connection::user_events`](crate::io::Connection::user_events).
    pub async fn user_events<'r, R: Request<'r, Reply = SessionReply>>(
        self,
        request: &R,
        user_events_data: impl AsFd,
    ) -> Result<UserEvents<tokio::net::UnixStream>, Error> {
        let driver = ClientDriver::user_events(request, self.options.checks_limits)?;
        self.begin_user_events(driver, user_events_data.as_fd()).await
    }

    async fn begin_user_events(
        mut self,
        mut driver: ClientDriver,
        user_events_data: BorrowedFd<'_>,
    ) -> Result<UserEvents<tokio::net::UnixStream>, Error> {
        let sending = self.clock().within(self.options.deadlines.send);
        loop {
            if let Some(outcome) = self.perform_until_fd(&mut driver).await? {
                let session_id = driver.finish(outcome).user_events()?;
                return Ok(UserEvents::new(self.stream, session_id));
            }
            let send_fd = || fd::send_fd(self.stream.as_fd(), user_events_data);
            let sent = until(sending, self.stream.async_io(Interest::WRITABLE, send_fd)).await;
            driver.fd_sent(sent)?;
        }
    }
}
