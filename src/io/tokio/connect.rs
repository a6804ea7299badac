//! How an async client gets a connection.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

#[cfg(unix)]
use crate::io::trust::VerifiedSocket;
use crate::io::{Endpoint, Error, Phase, Until};

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
    found: &VerifiedSocket,
) -> Result<tokio::net::UnixStream, Error> {
    loop {
        if let Some(stream) = endpoint.try_open(found)? {
            return tokio::net::UnixStream::from_std(stream).map_err(Error::connecting);
        }
        tokio::time::sleep(crate::io::unix::BACKLOG_PAUSE).await;
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
            // Its server may identify the client, but not impersonate it: the default.
            let tried = match rate_limited(&path, || ClientOptions::new().open(path.text())) {
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
