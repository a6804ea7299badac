//! Runtimes that connect to a port, with `async`.

use super::AsyncConnect;
use crate::io::Error;
use crate::io::port_listener::PortRuntime;

/// As [`Connect`](crate::io::Connect) for a [`PortRuntime`]: takes its next connection. The port's
/// thread wakes the wait. If it is dropped in the moment in which a connection arrives, that is
/// closed, and the runtime connects again (F-57).
impl AsyncConnect for PortRuntime {
    type Stream = tokio::net::UnixStream;

    async fn connect(&self) -> Result<Self::Stream, Error> {
        let stream = std::os::unix::net::UnixStream::from(self.next_connection().await?);
        stream.set_nonblocking(true).map_err(Error::connecting)?;
        tokio::net::UnixStream::from_std(stream).map_err(Error::connecting)
    }
}
