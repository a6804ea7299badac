//! TCP connections, with deadlines.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use super::PipeTransport;
use crate::io::server::Listen;
use crate::io::tcp::{accept, prepare};
use crate::io::{Error, ErrorKind, Phase, Transport, WaitLimit};

/// A TCP connection. It is polled, because the system has no wait that can be cancelled.
#[derive(Debug)]
pub struct TcpTransport(TcpStream);

/// The transport of an [`Endpoint`](crate::io::Endpoint).
#[derive(Debug)]
pub enum EndpointTransport {
    /// A pipe.
    Pipe(PipeTransport),
    /// A TCP connection.
    Tcp(TcpTransport),
}

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Repeats `io`, which does not block, until it is done.
fn polled<T>(until: &WaitLimit<'_>, mut io: impl FnMut() -> io::Result<T>) -> Result<T, ErrorKind> {
    loop {
        until.check()?;
        match io() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                WaitLimit::within(Some(POLL_INTERVAL), until.canceller).sleep()?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return Ok(done?),
        }
    }
}

/// Connects to a TCP address. The canceller is checked before and after.
pub(in crate::io) fn tcp_connected(
    address: SocketAddr,
    until: &WaitLimit<'_>,
) -> Result<TcpTransport, ErrorKind> {
    until.check()?;
    let stream = match until.left() {
        // Zero would be an error.
        Some(left) => TcpStream::connect_timeout(&address, left.max(POLL_INTERVAL)),
        None => TcpStream::connect(address),
    };
    let stream = stream.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => ErrorKind::TimedOut,
        _ => error.into(),
    })?;
    prepare(&stream)?;
    TcpTransport::new(stream)
}

impl TcpTransport {
    /// Takes over a connected stream, which does not block from now on.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the system cannot make the stream non-blocking.
    pub fn new(stream: TcpStream) -> Result<Self, ErrorKind> {
        stream.set_nonblocking(true)?;
        Ok(Self(stream))
    }
}

impl Transport for TcpTransport {
    fn send(&mut self, bytes: &[u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        polled(until, || self.0.write(bytes))
    }

    fn receive(&mut self, into: &mut [u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        polled(until, || self.0.read(into))
    }
}

impl Transport for EndpointTransport {
    fn send(&mut self, bytes: &[u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        match self {
            Self::Pipe(pipe) => pipe.send(bytes, until),
            Self::Tcp(stream) => stream.send(bytes, until),
        }
    }

    fn receive(&mut self, into: &mut [u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        match self {
            Self::Pipe(pipe) => pipe.receive(into, until),
            Self::Tcp(stream) => stream.receive(into, until),
        }
    }
}

/// The listener is made non-blocking.
impl Listen for &TcpListener {
    type Transport = TcpTransport;

    fn accept(&mut self, until: &WaitLimit<'_>) -> Result<TcpTransport, Error> {
        let failed = |stopped| Error::new(Phase::Listen, stopped);
        self.set_nonblocking(true).map_err(|error| failed(error.into()))?;
        let accepted = polled(until, || match accept(self) {
            // The peer has gone already.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {
                Err(io::ErrorKind::Interrupted.into())
            }
            done => done,
        });
        accepted.and_then(TcpTransport::new).map_err(failed)
    }
}
