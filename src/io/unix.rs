//! Connections over Unix sockets and TCP, with deadlines.

use std::format;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::string::ToString as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_error};
use rustix::net::{AddressFamily, RecvFlags, SocketAddrUnix, SocketType, recv, send};

use super::server::Listen;
use super::trust::{Peer, peer_of};
use super::{Error, ErrorKind, Phase, Transport, WaitLimit, fd, tcp};
use crate::continuation::FdByte;
#[cfg(not(target_vendor = "apple"))]
pub(super) use crate::endpoint::SUN_PATH_LINUX as SUN_PATH;
#[cfg(target_vendor = "apple")]
pub(super) use crate::endpoint::SUN_PATH_MACOS as SUN_PATH;
use crate::endpoint::check_path_len;

/// A Unix socket or TCP connection whose waits end at a deadline or by a
/// [`Canceller`](super::Canceller). Only a Unix socket passes descriptors.
///
/// ```
/// use std::os::unix::net::UnixStream;
/// use dotnet_diagnostics_ipc::io::{Connection, SocketTransport};
/// use dotnet_diagnostics_ipc::message::process::ResumeRuntime;
///
/// let (ours, mut theirs) = UnixStream::pair()?;
/// std::io::Write::write_all(&mut theirs, b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0")?;
/// let answer = Connection::new(SocketTransport::new(ours)).call(&ResumeRuntime {})?;
/// assert!(answer.result().is_success());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SocketTransport {
    stream: OwnedFd,
    /// Whether the socket itself blocks. It is left unchanged while possible: querying it costs a
    /// system call.
    blocks: AtomicBool,
    /// Whether something was sent since the last read: then nothing can be read yet.
    awaited: bool,
    /// Whether sending is impossible: a send would raise a signal, because the peer closed before
    /// that could be disabled.
    mute: bool,
}

impl SocketTransport {
    /// Takes over a connected stream of any family.
    pub fn new(stream: impl Into<OwnedFd>) -> Self {
        let stream = stream.into();
        let mute = fd::without_signal(&stream).is_err();
        Self { stream, blocks: AtomicBool::new(false), awaited: false, mute }
    }

    /// Connects to the Unix socket at `path`. Waits while its backlog is full.
    ///
    /// Whoever listens there is not checked: see [`trust`](super::trust).
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound), [`NotAnEndpoint`](ErrorKind::NotAnEndpoint) if nobody
    /// listens, and other system errors; [`TimedOut`](ErrorKind::TimedOut) and
    /// [`Cancelled`](ErrorKind::Cancelled) while the backlog is full.
    pub fn connect(path: impl AsRef<Path>, until: &WaitLimit<'_>) -> Result<Self, Error> {
        connected(until, || try_connect(path.as_ref())).map(Self::new)
    }

    /// Lets the socket block without limit. If the system refuses that, as macOS does once the peer
    /// has closed, a read needs a `poll` before it.
    fn make_blocking(&self) -> bool {
        if self.blocks.load(Ordering::Relaxed) {
            return true;
        }
        let blocks = rustix::io::ioctl_fionbio(&self.stream, false).is_ok()
            && set_socket_timeout(&self.stream, Timeout::Recv, None).is_ok();
        self.blocks.store(blocks, Ordering::Relaxed);
        blocks
    }

    fn check_can_send(&self) -> Result<(), ErrorKind> {
        if self.mute { Err(io::Error::from(io::ErrorKind::BrokenPipe).into()) } else { Ok(()) }
    }
}

/// Returns the socket, which blocks.
impl From<SocketTransport> for OwnedFd {
    fn from(transport: SocketTransport) -> Self {
        transport.make_blocking();
        transport.stream
    }
}

impl AsFd for SocketTransport {
    /// Returns the socket. It blocks; operations that must not wait request that per call.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.make_blocking();
        self.stream.as_fd()
    }
}

impl Transport for SocketTransport {
    fn send(&mut self, bytes: &[u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        until.check()?;
        self.awaited = true;
        self.check_can_send()?;
        let stream = self.stream.as_fd();
        until.retried(stream, PollFlags::OUT, || Ok(send(stream, bytes, fd::send_flags())?))
    }

    fn receive(&mut self, into: &mut [u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        let awaited = std::mem::take(&mut self.awaited);
        // If nothing can end the wait, a blocking read takes one system call, while `poll` takes
        // two. Even then it may not block: any holder of the socket can change that.
        let flags = if until.deadline.is_none() && until.canceller.is_none() && self.make_blocking()
        {
            RecvFlags::empty()
        } else if awaited {
            until.readable(&self.stream)?;
            RecvFlags::DONTWAIT
        } else {
            until.check()?;
            RecvFlags::DONTWAIT
        };
        let stream = self.stream.as_fd();
        until.retried(stream, PollFlags::IN, || Ok(recv(stream, &mut *into, flags)?.0))
    }

    fn send_fd(&mut self, fd: BorrowedFd<'_>, until: &WaitLimit<'_>) -> Result<(), ErrorKind> {
        until.check()?;
        self.check_can_send()?;
        fd::check_can_pass(&self.stream)?;
        let stream = self.stream.as_fd();
        until.retried(stream, PollFlags::OUT, || fd::send_fd(stream, fd))
    }

    fn receive_fd(
        &mut self,
        until: &WaitLimit<'_>,
    ) -> Result<Option<(FdByte, Option<OwnedFd>)>, ErrorKind> {
        until.check()?;
        fd::check_can_pass(&self.stream)?;
        let stream = self.stream.as_fd();
        until.retried(stream, PollFlags::IN, || fd::receive_fd(stream))
    }

    fn hung_up(&mut self, until: &WaitLimit<'_>) -> Result<(), ErrorKind> {
        // A hang-up is always reported; readability does not matter.
        until.ready(self.stream.as_fd(), PollFlags::empty())
    }
}

/// The listener is made non-blocking.
impl Listen for &UnixListener {
    type Transport = SocketTransport;

    fn accept(&mut self, until: &WaitLimit<'_>) -> Result<SocketTransport, Error> {
        self.set_nonblocking(true).map_err(|error| Error::new(Phase::Listen, error))?;
        accepted(self.as_fd(), until, || UnixListener::accept(self).map(|(stream, _)| stream))
    }
}

/// The listener is made non-blocking.
impl Listen for &TcpListener {
    type Transport = SocketTransport;

    fn accept(&mut self, until: &WaitLimit<'_>) -> Result<SocketTransport, Error> {
        self.set_nonblocking(true).map_err(|error| Error::new(Phase::Listen, error))?;
        accepted(self.as_fd(), until, || tcp::accept(self))
    }
}

/// Waits for a connection with `accept`, which does not block.
fn accepted<S: Into<OwnedFd>>(
    listener: BorrowedFd<'_>,
    until: &WaitLimit<'_>,
    mut accept: impl FnMut() -> io::Result<S>,
) -> Result<SocketTransport, Error> {
    let accept = || match accept() {
        Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {
            Err(io::ErrorKind::Interrupted.into())
        }
        accepted => accepted,
    };
    // Between the wait and the accept another process may take the connection.
    let accepted = until.check().and_then(|()| until.retried(listener, PollFlags::IN, accept));
    accepted.map(SocketTransport::new).map_err(|stopped| Error::new(Phase::Listen, stopped))
}

/// How long to wait before retrying a listener whose backlog is full: a Unix socket does not report
/// when there is room.
pub(super) const BACKLOG_PAUSE: Duration = Duration::from_millis(5);

/// Repeats `try_connect` until the listener has room. `poll` cannot wait for that, because it
/// reports a hang-up for an unconnected stream.
pub(super) fn connected(
    until: &WaitLimit<'_>,
    mut try_connect: impl FnMut() -> Result<Option<UnixStream>, Error>,
) -> Result<UnixStream, Error> {
    let stopped = |stopped: ErrorKind| Error::new(Phase::Connect, stopped);
    loop {
        until.check().map_err(stopped)?;
        if let Some(stream) = try_connect()? {
            return Ok(stream);
        }
        let pause = Instant::now().checked_add(BACKLOG_PAUSE);
        let deadline = until.deadline.into_iter().chain(pause).min();
        WaitLimit { deadline, ..*until }.sleep().map_err(stopped)?;
    }
}

/// Connects to a TCP address.
pub(super) fn tcp_connected(
    address: SocketAddr,
    until: &WaitLimit<'_>,
) -> Result<SocketTransport, ErrorKind> {
    until.check()?;
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let stream = socket(family)?;
    match rustix::net::connect(&stream, &address) {
        Err(Errno::INPROGRESS | Errno::INTR) => until.ready(stream.as_fd(), PollFlags::OUT)?,
        connected => connected.map_err(io::Error::from)?,
    }
    socket_error(&stream).and_then(|done| done).map_err(io::Error::from)?;
    let stream = TcpStream::from(stream);
    tcp::prepare(&stream)?;
    Ok(SocketTransport::new(stream))
}

/// Connects without waiting: `None` if the backlog is full. The stream does not block.
pub(super) fn try_connect(path: &Path) -> Result<Option<UnixStream>, Error> {
    let not_found = || Error::new(Phase::Find, ErrorKind::NotFound(path.display().to_string()));
    let (address, _directory) = address(path).map_err(|kind| match kind {
        ErrorKind::Io(error) if error.kind() == io::ErrorKind::NotFound => not_found(),
        kind => Error::new(Phase::Find, kind),
    })?;
    match connect_at_once(&address).map_err(Error::connecting)? {
        Ok(stream) => Ok(Some(stream)),
        Err(Errno::AGAIN) => Ok(None),
        Err(Errno::NOENT) => Err(not_found()),
        Err(Errno::CONNREFUSED) => {
            let text = format!(
                "no process listens at {}: a killed process leaves its socket behind",
                path.display()
            );
            Err(Error::new(Phase::Find, ErrorKind::NotAnEndpoint(text)))
        }
        Err(errno) => Err(Error::connecting(errno.into())),
    }
}

/// Connects without waiting. The stream does not block.
fn connect_at_once(address: &SocketAddrUnix) -> io::Result<Result<UnixStream, Errno>> {
    let stream = socket(AddressFamily::UNIX)?;
    let connected = rustix::io::retry_on_intr(|| rustix::net::connect(&stream, address));
    Ok(connected.map(|()| UnixStream::from(stream)))
}

/// The state of a socket, found by connecting and closing at once.
#[derive(Debug)]
pub(super) enum Probe {
    Listening(Option<Peer>),
    Refused,
    Absent,
    Unknown(io::ErrorKind),
}

/// Checks whether a process listens, without waiting or sending.
pub(super) fn probe(address: &SocketAddrUnix) -> io::Result<Probe> {
    Ok(match connect_at_once(address)? {
        Ok(stream) => Probe::Listening(peer_of(&stream).ok()),
        // The backlog is full: the target is stopped or busy.
        Err(Errno::AGAIN | Errno::INPROGRESS) => Probe::Listening(None),
        // A socket of another type does not belong to a runtime either.
        Err(Errno::CONNREFUSED | Errno::PROTOTYPE) => Probe::Refused,
        Err(Errno::NOENT) => Probe::Absent,
        Err(errno) => Probe::Unknown(io::Error::from(errno).kind()),
    })
}

/// Creates a non-blocking socket that no other program inherits.
#[cfg(not(target_vendor = "apple"))]
pub(super) fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    use rustix::net::{SocketFlags, socket_with};
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

/// There are no flags for this: a program started between the two calls inherits the socket.
#[cfg(target_vendor = "apple")]
pub(super) fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let stream = rustix::net::socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&stream, rustix::io::FdFlags::CLOEXEC)?;
    fd::without_signal(&stream)?;
    rustix::io::ioctl_fionbio(&stream, true)?;
    Ok(stream)
}

/// Returns the address of the socket at `path`, valid while the descriptor is open.
///
/// A path that is too long for an address is reached through its directory, which is opened for
/// that. Such paths are common for a process with other mounts, because they begin with
/// `/proc/PID/root`. Without `/proc` the result is an [`ErrorKind::NotAnEndpoint`].
pub(super) fn address(path: &Path) -> Result<(SocketAddrUnix, Option<OwnedFd>), ErrorKind> {
    let Err(error) = check_path_len(path.as_os_str().len(), SUN_PATH) else {
        return Ok((SocketAddrUnix::new(path).map_err(io::Error::from)?, None));
    };
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let (Some(directory), Some(name)) = (path.parent(), path.file_name()) {
        use rustix::fs::{Mode, OFlags};
        use std::os::fd::AsRawFd as _;

        // This is the longest descriptor number.
        let len = "/proc/self/fd/2147483647/".len().saturating_add(name.len());
        if check_path_len(len, SUN_PATH).is_ok() {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let directory =
                rustix::fs::open(directory, flags, Mode::empty()).map_err(io::Error::from)?;
            let short = format!("/proc/self/fd/{}", directory.as_raw_fd());
            let address = SocketAddrUnix::new(Path::new(&short).join(name));
            return Ok((address.map_err(io::Error::from)?, Some(directory)));
        }
    }
    Err(ErrorKind::NotAnEndpoint(error.kind().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{End, ServerOutcome};
    use crate::io::server::{Handler, ServeOptions, serve_connection};
    use std::io::Write as _;

    struct Nothing;

    impl Handler for Nothing {}

    /// Only needed if a send cannot disable the signal.
    #[test]
    fn transport_without_sigpipe_off_reads_and_sends_nothing() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0").unwrap();
        let transport = SocketTransport { mute: true, ..SocketTransport::new(ours) };
        let served = serve_connection(transport, &Nothing, &ServeOptions::DEFAULT, None).unwrap();
        assert_eq!(served.outcome, ServerOutcome::Gone { end: End::Reset });
        assert_eq!(std::io::Read::read(&mut theirs, &mut [0]).unwrap(), 0);
    }
}
