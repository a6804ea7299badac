//! The async client: one method per command, one connection per call.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::{AsyncEnvironmentBlock, AsyncTrace, Clock, until};
use crate::exchange::fallback::{DroppedFields, Fallback};
use crate::io::client::check_result;
use crate::io::connection::{ClientDriver, Finished, Step};
#[cfg(unix)]
use crate::io::found_socket::FoundSocket;
use crate::io::{Answer, Deadlines, Endpoint, Error, Phase, Stopped, Until};
use crate::message::Request;
use crate::message::eventpipe::SessionReply;
use crate::message::process::ProcessEnvironment;
use crate::message::server::ResultReply;

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
    /// The connection type.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin;

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
        let found = blocking(move || endpoint.find(&Until::FOREVER)).await?;
        let stream = connect_to(self, &found).await?;
        self.keep(found);
        Ok(stream)
    }
}

#[cfg(unix)]
async fn connect_to(
    endpoint: &Endpoint,
    found: &FoundSocket,
) -> Result<tokio::net::UnixStream, Error> {
    loop {
        if let Some(stream) = crate::io::unix::try_connect(&found.path)? {
            endpoint.check_peer(&stream, found)?;
            return tokio::net::UnixStream::from_std(stream).map_err(Error::connecting);
        }
        tokio::time::sleep(crate::io::unix::BACKLOG_PAUSE).await;
    }
}

#[cfg(windows)]
impl AsyncConnect for Endpoint {
    type Stream = tokio::net::windows::named_pipe::NamedPipeClient;

    async fn connect(&self) -> Result<Self::Stream, Error> {
        use crate::io::windows::{PipePath, in_turn, opened, wait_until_free};
        use tokio::net::windows::named_pipe::ClientOptions;

        let path =
            PipePath::new(&self.pipe_name()?).map_err(|error| Error::new(Phase::Find, error))?;
        loop {
            // Its server may identify the client, but not impersonate it: the default.
            let tried = match in_turn(&path, || ClientOptions::new().open(path.text())) {
                Ok(tried) => tried,
                Err(wait) => {
                    tokio::time::sleep(wait).await;
                    continue;
                }
            };
            if let Some(pipe) = opened(&path, tried)? {
                self.check_pipe(&pipe)?;
                return Ok(pipe);
            }
            let path = path.clone();
            blocking(move || wait_until_free(&path, &Until::FOREVER)).await?;
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
/// let (one, other) = tokio::join!(one.process_info3(), other.process_info3());
/// for answer in [one?, other?] {
///     if let Some(info) = answer.payload() {
///         println!("{} runs {}", info.process_id, info.command_line);
///     }
/// }
/// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A request that a runtime would refuse, or crash on, is not sent: see
/// [`unchecked`](Self::unchecked). Only the blocking half can start a `user_events`
/// session, which needs a descriptor.
#[derive(Debug)]
pub struct AsyncClient<C = Endpoint> {
    connect: Arc<C>,
    deadlines: Deadlines,
    checks_limits: bool,
}

impl<C> Clone for AsyncClient<C> {
    fn clone(&self) -> Self {
        Self { connect: Arc::clone(&self.connect), ..*self }
    }
}

impl<C: AsyncConnect> AsyncClient<C> {
    /// A client of the runtime at `connect`.
    pub fn new(connect: C) -> Self {
        Self { connect: Arc::new(connect), deadlines: Deadlines::DEFAULT, checks_limits: true }
    }

    /// Sets the deadlines.
    #[must_use]
    pub fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Sends requests unchecked. Some invalid requests kill a runtime (F-72, P-19).
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.checks_limits = false;
        self
    }

    /// A new connection, before any byte is sent.
    ///
    /// # Errors
    /// [`Phase::Find`], [`Phase::Trust`], [`Phase::Connect`].
    pub async fn connect(&self) -> Result<AsyncConnection<C::Stream>, Error> {
        self.connect_by(Clock::start(&self.deadlines)).await
    }

    /// Like `connect`, if the whole call began earlier.
    async fn connect_by(&self, clock: Clock) -> Result<AsyncConnection<C::Stream>, Error> {
        let connecting = async { Ok(self.connect.connect().await) };
        let connected = until(clock.within(self.deadlines.connect), connecting).await;
        let stream = connected.map_err(|stopped: Stopped| stopped.during(Phase::Connect))??;
        let connection = AsyncConnection::new(stream).with_deadlines(self.deadlines).begun(clock);
        Ok(if self.checks_limits { connection } else { connection.unchecked() })
    }

    /// Sends any `request` and waits for the reply. Does not read what follows the reply: for
    /// sessions use [`trace`](Self::trace), for the environment
    /// [`environment`](Self::environment).
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn call<'r, R: Request<'r>>(&self, request: &R) -> Result<Answer<R>, Error> {
        self.connect().await?.call(request).await
    }

    /// `ProcessEnvironment`: the block is then read entry by entry.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn environment(&self) -> Result<AsyncEnvironmentBlock<C::Stream>, Error> {
        self.connect().await?.environment().await
    }

    /// Starts a session that streams: `CollectTracing` to `CollectTracing4`, or a newer one whose
    /// session type says so.
    ///
    /// # Errors
    /// As [`Client::trace`](crate::io::Client::trace).
    pub async fn trace<'r, R: Request<'r, Reply = SessionReply>>(
        &self,
        request: &R,
    ) -> Result<AsyncTrace<C::Stream>, Error> {
        let drive = ClientDriver::trace(request, self.checks_limits)?;
        self.connect().await?.begin_trace(drive).await
    }

    /// Starts a session that streams with the newest command that the runtime knows, following
    /// `fallback`; also returns what was lost. Each command uses a new connection;
    /// [`Deadlines::whole`] covers all of them.
    ///
    /// # Errors
    /// [`Error`] of the last command, as for every call.
    pub async fn trace_by(
        &self,
        mut fallback: Fallback<'_>,
    ) -> Result<(AsyncTrace<C::Stream>, DroppedFields), Error> {
        if self.checks_limits {
            fallback.check_limits().map_err(|error| Error::new(Phase::Send, error))?;
        }
        let clock = Clock::start(&self.deadlines);
        loop {
            let drive = ClientDriver::trace_by(&fallback)?;
            match self.connect_by(clock).await?.begin_trace(drive).await {
                Ok(trace) => return Ok((trace, fallback.dropped())),
                Err(error)
                    if error.hresult().is_some_and(|hresult| fallback.refused(hresult).is_ok()) => {
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends a request that only succeeds or fails. An OK with a failure result is a refusal.
    pub(in crate::io) async fn done<'r, R: Request<'r, Reply = ResultReply>>(
        &self,
        request: &R,
    ) -> Result<(), Error> {
        check_result(self.call(request).await?.message())
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
    deadlines: Deadlines,
    checks_limits: bool,
    clock: Option<Clock>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncConnection<S> {
    /// A connection before any byte is sent.
    pub const fn new(stream: S) -> Self {
        Self { stream, deadlines: Deadlines::DEFAULT, checks_limits: true, clock: None }
    }

    /// Sets the deadlines. With [`Deadlines::NONE`] the tokio runtime needs no time driver.
    pub const fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Sends the request unchecked. Some invalid requests kill a runtime (F-72, P-19).
    pub const fn unchecked(mut self) -> Self {
        self.checks_limits = false;
        self
    }

    /// Like `new`, if the whole call began earlier.
    pub(super) const fn begun(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sends the request and waits for the reply.
    ///
    /// # Errors
    /// As [`Connection::call`](crate::io::Connection::call).
    pub async fn call<'r, R: Request<'r>>(mut self, request: &R) -> Result<Answer<R>, Error> {
        let drive = ClientDriver::new(request, self.checks_limits)?;
        self.run(drive).await?.ok().map(|(message, _)| Answer::new(message))
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
        let drive = ClientDriver::trace(request, self.checks_limits)?;
        self.begin_trace(drive).await
    }

    pub(super) async fn begin_trace(mut self, drive: ClientDriver) -> Result<AsyncTrace<S>, Error> {
        let session_id = self.run(drive).await?.stream()?;
        Ok(AsyncTrace::new(self.stream, session_id, self.deadlines.stream))
    }

    /// Asks for the environment, which is then read entry by entry.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn environment(mut self) -> Result<AsyncEnvironmentBlock<S>, Error> {
        let clock = self.clock();
        let drive = ClientDriver::new(&ProcessEnvironment {}, self.checks_limits)?;
        let n_incoming_bytes = self.run(drive).await?.environment()?;
        let deadline = clock.within(self.deadlines.continuation);
        Ok(AsyncEnvironmentBlock::new(self.stream, n_incoming_bytes, deadline))
    }

    /// The deadlines of the call, which begins now unless it has begun.
    fn clock(&mut self) -> Clock {
        *self.clock.get_or_insert_with(|| Clock::start(&self.deadlines))
    }

    /// Performs the exchange's actions until it is finished.
    pub(super) async fn run(&mut self, mut drive: ClientDriver) -> Result<Finished, Error> {
        let clock = self.clock();
        let sending = clock.within(self.deadlines.send);
        let reply_within = drive.reply_within(&self.deadlines);
        let mut replying = None;
        loop {
            match drive.next()? {
                Step::Send(bytes) => {
                    let sent = until(sending, self.stream.write(bytes)).await;
                    drive.sent(sent)?;
                }
                Step::SendFd => drive
                    .fd_sent(Err(std::io::Error::from(std::io::ErrorKind::Unsupported).into()))?,
                Step::Receive(into) => {
                    if replying.is_none() {
                        // The stream may have buffered what was written.
                        let _ = until(sending, self.stream.flush()).await;
                    }
                    let deadline = *replying.get_or_insert_with(|| clock.within(reply_within));
                    let received = until(deadline, self.stream.read(into)).await;
                    drive.received(received)?;
                }
                Step::Finish(outcome) => return Ok(drive.finish(outcome)),
            }
        }
    }
}
