//! How a client gets a connection.

use super::{Error, Transport, Until};

/// Provides a [`Client`](super::Client) with a new connection for each request.
///
/// ```
/// use std::net::TcpStream;
/// use dotnet_diagnostics_ipc::io::{Client, Connect, Error, Stream, Until};
///
/// /// A runtime whose port is forwarded.
/// struct Forwarded(&'static str);
///
/// impl Connect for Forwarded {
///     type Transport = Stream<TcpStream>;
///
///     fn connect(&self, until: &Until<'_>) -> Result<Self::Transport, Error> {
///         let stream = TcpStream::connect(self.0).map_err(Error::connecting)?;
///         stream.set_read_timeout(until.left()).map_err(Error::connecting)?;
///         Ok(Stream(stream))
///     }
/// }
///
/// assert!(Client::new(Forwarded("127.0.0.1:1")).process_info().is_err());
/// ```
pub trait Connect {
    /// The connection type. A session keeps one on which a stop was sent but not yet answered.
    type Transport: Transport + Send + 'static;

    /// A new connection, before any byte is sent.
    ///
    /// # Errors
    /// [`Error`], with the phase that failed.
    fn connect(&self, until: &Until<'_>) -> Result<Self::Transport, Error>;
}

impl<C: Connect + ?Sized> Connect for &C {
    type Transport = C::Transport;

    fn connect(&self, until: &Until<'_>) -> Result<Self::Transport, Error> {
        (**self).connect(until)
    }
}
