//! Call runtimes from tokio: the same exchanges, deadlines and errors as the blocking client, with
//! `async` and without threads.
//!
//! The tokio runtime needs time enabled for deadlines, and I/O for [`Endpoint`]s, as by
//! `enable_all`. There is no canceller: dropping a call cancels it, and closes its connection.

use std::io;
use std::net::SocketAddr;
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::time::timeout_at;

use super::connection::{ClientDriver, Finished, NO_FD, Step};
#[cfg(unix)]
use super::fd;
#[cfg(unix)]
use super::port_listener::PortRuntime;
#[cfg(unix)]
use super::trust::VerifiedSocket;
use super::wait::{CallOptions, Clock};
use super::{Answer, Connection, Endpoint, Error, ErrorKind, Phase, Trace, WaitLimit, tcp};
use crate::exchange::Outcome;
use crate::message::Request;
use crate::message::eventpipe::SessionReply;

/// Provides an [`AsyncClient`] with a new connection for each request: an [`Endpoint`], a runtime of a
/// port, or streams of your own.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{AsyncClient, AsyncConnect, Endpoint, EndpointStream, Error};
///
/// /// A runtime whose port is forwarded to one of two addresses.
/// struct Forwarded([Endpoint; 2]);
///
/// impl AsyncConnect for Forwarded {
///     type Stream = EndpointStream;
///
///     async fn connect(&self) -> Result<EndpointStream, Error> {
///         match self.0[0].connect().await {
///             Err(_) => self.0[1].connect().await,
///             connected => connected,
///         }
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let ports = [1, 2].map(|port| Endpoint::tcp(([127, 0, 0, 1], port)));
/// assert!(AsyncClient::new(Forwarded(ports)).process_info().await.is_err());
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait AsyncConnect {
    /// The connection type. A session keeps the connection of a stop until that is answered.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    /// Opens a new connection, and sends nothing yet. The future is dropped on a timeout.
    fn connect(&self) -> impl Future<Output = Result<Self::Stream, Error>> + Send;
}

impl<C: AsyncConnect + Sync + ?Sized> AsyncConnect for &C {
    type Stream = C::Stream;

    fn connect(&self) -> impl Future<Output = Result<Self::Stream, Error>> + Send {
        (**self).connect()
    }
}

/// Runs blocking work on one of tokio's threads for such work.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|died| Error::new(Phase::Find, io::Error::from(died)))?
}

/// Waits on a thread for blocking work, because the tokio runtime may have no time driver.
async fn pause(length: Duration) -> Result<(), Error> {
    blocking(move || {
        std::thread::sleep(length);
        Ok(())
    })
    .await
}

/// Finds and checks the endpoint as the blocking client does: see [`discovery`](super::discovery)
/// and [`trust`](super::trust).
#[cfg(unix)]
impl AsyncConnect for Endpoint {
    type Stream = EndpointStream;

    async fn connect(&self) -> Result<Self::Stream, Error> {
        if let Some(address) = self.tcp_address() {
            return self.connect_tcp(address).await;
        }
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
async fn connect_to(endpoint: &Endpoint, found: &VerifiedSocket) -> Result<EndpointStream, Error> {
    loop {
        if let Some(stream) = endpoint.try_open(found)? {
            return EndpointStream::local(stream);
        }
        pause(super::unix::BACKLOG_PAUSE).await?;
    }
}

#[cfg(windows)]
impl AsyncConnect for Endpoint {
    type Stream = EndpointStream;

    async fn connect(&self) -> Result<Self::Stream, Error> {
        use super::windows::{PipePath, opened, rate_limited, wait_until_free};
        use tokio::net::windows::named_pipe::ClientOptions;

        if let Some(address) = self.tcp_address() {
            return self.connect_tcp(address).await;
        }
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
                return Ok(EndpointStream(Inner::Local(pipe)));
            }
            let path = path.clone();
            blocking(move || wait_until_free(&path, &WaitLimit::FOREVER)).await?;
        }
    }
}

/// Takes the runtime's next connection, as [`Connect`](super::Connect) does; the port's thread
/// wakes the wait. If the wait is dropped just as a connection arrives, the connection is closed,
/// and the runtime connects again (F-57).
#[cfg(unix)]
impl AsyncConnect for PortRuntime {
    type Stream = EndpointStream;

    async fn connect(&self) -> Result<Self::Stream, Error> {
        let stream = OwnedFd::from(self.next_connection().await?);
        rustix::io::ioctl_fionbio(&stream, true)
            .map_err(|errno| Error::connecting(errno.into()))?;
        if fd::check_can_pass(&stream).is_ok() {
            return EndpointStream::local(stream.into());
        }
        let stream = TcpStream::from_std(stream.into()).map_err(Error::connecting)?;
        Ok(EndpointStream(Inner::Tcp(stream)))
    }
}

impl Endpoint {
    async fn connect_tcp(&self, address: SocketAddr) -> Result<EndpointStream, Error> {
        self.check_address(address)?;
        let connected = async {
            let stream = TcpStream::connect(address).await?.into_std()?;
            tcp::prepare(&stream)?;
            TcpStream::from_std(stream)
        };
        let stream = connected.await.map_err(|error| tcp::failed(address, error.into()))?;
        Ok(EndpointStream(Inner::Tcp(stream)))
    }
}

/// A connection of an [`Endpoint`] or a port: a Unix socket, a pipe, or TCP.
#[derive(Debug)]
pub struct EndpointStream(Inner);

#[derive(Debug)]
enum Inner {
    #[cfg(unix)]
    Local(UnixStream),
    #[cfg(windows)]
    Local(tokio::net::windows::named_pipe::NamedPipeClient),
    Tcp(TcpStream),
}

/// Calls a method of the stream inside.
macro_rules! inner {
    ($stream:expr, $inner:ident => $call:expr) => {
        match &mut $stream.get_mut().0 {
            Inner::Local($inner) => $call,
            Inner::Tcp($inner) => $call,
        }
    };
}

impl AsyncRead for EndpointStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        inner!(self, stream => Pin::new(stream).poll_read(context, into))
    }
}

impl AsyncWrite for EndpointStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        inner!(self, stream => Pin::new(stream).poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        inner!(self, stream => Pin::new(stream).poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        inner!(self, stream => Pin::new(stream).poll_shutdown(context))
    }
}

#[cfg(unix)]
impl EndpointStream {
    /// Takes over a stream that does not block.
    fn local(stream: std::os::unix::net::UnixStream) -> Result<Self, Error> {
        let stream = UnixStream::from_std(stream).map_err(Error::connecting)?;
        Ok(Self(Inner::Local(stream)))
    }
}

#[cfg(unix)]
impl AsFd for EndpointStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.0 {
            Inner::Local(stream) => stream.as_fd(),
            Inner::Tcp(stream) => stream.as_fd(),
        }
    }
}

/// An async client of a runtime, like [`Client`](super::Client). Each call opens a new connection,
/// because a connection carries only one request.
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
/// The client does not send a request that a runtime would refuse or crash on; see
/// [`unchecked`](Self::unchecked).
#[derive(Debug)]
pub struct AsyncClient<C = Endpoint> {
    pub(super) connect: Arc<C>,
    pub(super) options: CallOptions,
}

impl<C: AsyncConnect> AsyncClient<C> {
    /// Opens a new connection, and sends nothing yet.
    ///
    /// # Errors
    /// Fails in [`Phase::Find`], [`Phase::Trust`] or [`Phase::Connect`].
    pub async fn connect(&self) -> Result<Connection<C::Stream>, Error> {
        self.connect_by(self.start()).await
    }

    pub(super) fn start(&self) -> Clock {
        Clock::start(now, &self.options.deadlines)
    }

    /// Opens a connection for a call that began earlier.
    pub(super) async fn connect_by(&self, clock: Clock) -> Result<Connection<C::Stream>, Error> {
        let connecting = async { Ok(self.connect.connect().await) };
        let deadline = clock.within(self.options.deadlines.connect);
        let connected = until(deadline, connecting).await;
        let stream =
            connected.map_err(|stopped: ErrorKind| Error::new(Phase::Connect, stopped))??;
        Ok(Connection::of_call(stream, self.options.clone(), clock))
    }
}

/// Requests over an existing stream of tokio: a Unix socket, a named pipe, TCP, TLS.
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
    /// Sends a request as [`call`](Self::call) does, with `async`.
    ///
    /// # Errors
    /// Fails as [`call`](Self::call) does.
    pub async fn call_async<'r, R: Request<'r>>(mut self, request: &R) -> Result<Answer<R>, Error> {
        let driver = ClientDriver::new(request, self.options.checks_limits)?;
        self.run_async(driver).await?.answer()
    }

    /// Starts a session as [`trace`](Self::trace) does, with `async`.
    ///
    /// # Errors
    /// Fails as [`trace`](Self::trace) does.
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

    /// Performs the exchange's actions until it is finished; `None` once a descriptor is due.
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
                // The descriptor's byte must not precede a request that was buffered.
                Step::SendFd => match until(sending, self.transport.flush()).await {
                    Ok(()) => return Ok(None),
                    failed => driver.fd_sent(failed)?,
                },
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
impl<S: AsyncRead + AsyncWrite + Unpin + AsFd> Connection<S> {
    /// Performs the exchange's actions, and passes this descriptor when one is due.
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
            let sent = match fd::check_can_pass(&self.transport) {
                Ok(()) => until(sending, self.send_fd(fd)).await,
                Err(reason) => Err(reason),
            };
            driver.fd_sent(sent)?;
        }
    }

    /// Sends a descriptor once there is room for its byte; usually there is.
    async fn send_fd(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        loop {
            match fd::send_fd(self.transport.as_fd(), fd) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    pause(super::unix::BACKLOG_PAUSE).await.map_err(io::Error::from)?;
                }
                sent => return sent,
            }
        }
    }
}

/// Returns the time by the clock of tokio, which tests can stop.
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Returns the result of `io`, if it arrives in time.
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
