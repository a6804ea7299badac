//! TCP, by which devices and browsers are reached: through a router, or through a forwarded port.

#[cfg(windows)]
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
#[cfg(unix)]
use std::os::fd::AsFd as _;

#[cfg(unix)]
use rustix::{
    event::PollFlags,
    io::Errno,
    net::{AddressFamily, sockopt},
};

#[cfg(windows)]
use super::Transport;
use super::server::Listen;
use super::trust::TrustPolicy;
use super::{Error, ErrorKind, Phase, WaitLimit};
#[cfg(unix)]
use super::{SocketTransport, unix};

/// Listens at a TCP address of this machine, for a [server](super::server). Port 0 is a free port.
///
/// Any user of the machine can connect there. An address that other machines reach is refused, unless
/// the policy is [`TrustPolicy::allowing_any_address`].
///
/// ```
/// use dotnet_diagnostics_ipc::io::{ErrorKind, bind_tcp, trust::TrustPolicy};
///
/// let listener = bind_tcp(([127, 0, 0, 1], 0), TrustPolicy::CHECKED)?;
/// assert_ne!(listener.local_addr()?.port(), 0);
///
/// let refused = bind_tcp(([0, 0, 0, 0], 9000), TrustPolicy::CHECKED).unwrap_err();
/// assert!(matches!(refused.kind(), ErrorKind::Untrusted(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Phase::Trust`], [`Phase::Listen`].
pub fn bind_tcp(address: impl Into<SocketAddr>, policy: TrustPolicy) -> Result<TcpListener, Error> {
    let address = address.into();
    policy.check_address(address).map_err(|reason| Error::new(Phase::Trust, reason))?;
    TcpListener::bind(address).map_err(|error| Error::new(Phase::Listen, error))
}

/// The transport of a TCP connection.
#[cfg(unix)]
pub(super) type TcpTransport = SocketTransport;

/// Connects to an address that was checked.
pub(super) fn connect(address: SocketAddr, until: &WaitLimit<'_>) -> Result<TcpTransport, Error> {
    connected(address, until).map_err(|stopped| match stopped {
        ErrorKind::Io(error) => failed(address, error),
        stopped => Error::new(Phase::Connect, stopped),
    })
}

/// The error of an attempt to connect.
pub(super) fn failed(address: SocketAddr, error: std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::ConnectionRefused {
        let text = std::format!("no process listens at {address}");
        return Error::new(Phase::Find, ErrorKind::NotAnEndpoint(text));
    }
    Error::connecting(error)
}

#[cfg(unix)]
fn connected(address: SocketAddr, until: &WaitLimit<'_>) -> Result<TcpTransport, ErrorKind> {
    until.check()?;
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let stream = unix::socket(family)?;
    match rustix::net::connect(&stream, &address) {
        Err(Errno::INPROGRESS | Errno::INTR) => until.ready(stream.as_fd(), PollFlags::OUT)?,
        connected => connected.map_err(std::io::Error::from)?,
    }
    sockopt::socket_error(&stream).and_then(|done| done).map_err(std::io::Error::from)?;
    let stream = TcpStream::from(stream);
    stream.set_nodelay(true)?;
    Ok(SocketTransport::new(stream))
}

/// The listener is made non-blocking.
#[cfg(unix)]
impl Listen for &TcpListener {
    type Transport = TcpTransport;

    fn accept(&mut self, until: &WaitLimit<'_>) -> Result<TcpTransport, Error> {
        self.set_nonblocking(true).map_err(|error| Error::new(Phase::Listen, error))?;
        unix::accepted(self.as_fd(), until, || accept(self))
    }
}

/// A TCP connection. The system has no wait for it that a deadline and a canceller end: it is polled.
#[cfg(windows)]
#[derive(Debug)]
pub struct TcpTransport(TcpStream);

/// The transport of an [`Endpoint`](super::Endpoint).
#[cfg(windows)]
#[derive(Debug)]
pub enum EndpointTransport {
    /// A pipe.
    Pipe(super::windows::PipeTransport),
    /// A TCP connection.
    Tcp(TcpTransport),
}

#[cfg(windows)]
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(5);

/// Repeats `io`, which does not block, until it is done.
#[cfg(windows)]
fn polled<T>(until: &WaitLimit<'_>, mut io: impl FnMut() -> io::Result<T>) -> Result<T, ErrorKind> {
    loop {
        until.check()?;
        match io() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                WaitLimit::within(Some(POLL_INTERVAL), until.canceller).sleep()?;
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                ) => {}
            done => return Ok(done?),
        }
    }
}

/// The canceller is checked before and after.
#[cfg(windows)]
fn connected(address: SocketAddr, until: &WaitLimit<'_>) -> Result<TcpTransport, ErrorKind> {
    until.check()?;
    let stream = match until.left() {
        Some(left) => TcpStream::connect_timeout(&address, left),
        None => TcpStream::connect(address),
    };
    let stream = stream.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => ErrorKind::TimedOut,
        _ => error.into(),
    })?;
    stream.set_nodelay(true)?;
    TcpTransport::new(stream)
}

#[cfg(windows)]
impl TcpTransport {
    /// Takes over a connected stream, which does not block from now on.
    ///
    /// # Errors
    /// [`ErrorKind::Io`].
    pub fn new(stream: TcpStream) -> Result<Self, ErrorKind> {
        stream.set_nonblocking(true)?;
        Ok(Self(stream))
    }
}

#[cfg(windows)]
impl Transport for TcpTransport {
    fn send(&mut self, bytes: &[u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        polled(until, || self.0.write(bytes))
    }

    fn receive(&mut self, into: &mut [u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        polled(until, || self.0.read(into))
    }

    fn hung_up(&mut self, until: &WaitLimit<'_>) -> Result<(), ErrorKind> {
        // A half-close cannot be told from a close.
        let mut byte = [0];
        polled(until, || match self.0.peek(&mut byte) {
            Ok(1..) => Err(io::ErrorKind::WouldBlock.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        })
    }
}

#[cfg(windows)]
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

    fn hung_up(&mut self, until: &WaitLimit<'_>) -> Result<(), ErrorKind> {
        match self {
            Self::Pipe(pipe) => pipe.hung_up(until),
            Self::Tcp(stream) => stream.hung_up(until),
        }
    }
}

/// The listener is made non-blocking.
#[cfg(windows)]
impl Listen for &TcpListener {
    type Transport = TcpTransport;

    fn accept(&mut self, until: &WaitLimit<'_>) -> Result<TcpTransport, Error> {
        let failed = |stopped| Error::new(Phase::Listen, stopped);
        self.set_nonblocking(true).map_err(|error| failed(error.into()))?;
        polled(until, || accept(self)).and_then(TcpTransport::new).map_err(failed)
    }
}

/// Accepts a connection, whose small messages are sent at once.
pub(super) fn accept(listener: &TcpListener) -> std::io::Result<TcpStream> {
    let (stream, _) = listener.accept()?;
    // Without it they are only later.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}
