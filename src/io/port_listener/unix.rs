//! A port on a Unix socket, or on TCP.

use std::any::Any;
use std::boxed::Box;
use std::io::{self, Read as _};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;
use std::vec::Vec;

#[cfg(any(target_os = "linux", target_os = "android"))]
use rustix::event::epoll;
use rustix::process::{Resource, getrlimit};

use crate::io::fd::{send_flags, without_signal};
use crate::io::trust::TrustPolicy;
use crate::io::wait::timespec;
use crate::io::{Error, SocketTransport, private_socket, tcp};

/// The number of the listener among the ready ones. Connections have higher numbers.
pub(super) const LISTENER: u64 = 0;

/// How many ready descriptors are returned at once; the next wait returns the others.
#[cfg(any(target_os = "linux", target_os = "android"))]
const EVENTS_AT_ONCE: usize = 256;

/// The number of the channel that wakes the thread: no connection has it.
const WAKE: u64 = u64::MAX;

pub(super) type Connection = OwnedFd;

#[derive(Debug)]
pub(super) enum Listener {
    Local(UnixListener),
    Tcp(TcpListener),
}

impl From<UnixListener> for Listener {
    fn from(listener: UnixListener) -> Self {
        Self::Local(listener)
    }
}

impl Listener {
    fn accept(&self) -> io::Result<Connection> {
        Ok(match self {
            Self::Local(listener) => listener.accept()?.0.into(),
            Self::Tcp(listener) => tcp::accept(listener)?.into(),
        })
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Local(listener) => listener.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }
}

/// Listens so that only this user can connect; the last drop removes the socket.
pub(super) fn bind_private(
    path: &Path,
    policy: TrustPolicy,
) -> Result<(UnixListener, Box<dyn Any + Send + Sync>), Error> {
    let (listener, path) = private_socket::bind_trusting(path, policy)?;
    Ok((listener, Box::new(path)))
}

/// Returns the transport of a connection that is handed out.
#[allow(clippy::unnecessary_wraps, reason = "on Windows it may fail")]
pub(super) fn transport(connection: Connection) -> io::Result<SocketTransport> {
    Ok(SocketTransport::new(connection))
}

/// Wakes a port's thread.
#[derive(Debug)]
pub(super) struct SocketWaker(UnixStream);

/// The waker of this system.
pub(super) type PollerWaker = SocketWaker;

impl SocketWaker {
    pub(super) fn wake(&self) {
        // A failed write is harmless: a channel that is full is already readable. The flags keep
        // the write from raising a signal if the port's thread has ended.
        let _ = rustix::net::send(&self.0, &[0], send_flags());
    }
}

/// A listening socket with its accepted connections. Used only by the port's thread.
///
/// Reads and accepts do not block: they fail with `WouldBlock`, and [`wait`](Self::wait) reports
/// when to try again.
#[derive(Debug)]
pub(super) struct SocketPoller {
    readiness: Readiness,
    listener: Listener,
    /// Becomes readable when the thread is to wake up.
    woken: UnixStream,
    is_paused: bool,
}

/// How the poller waits for many descriptors.
///
/// It is not the crate `polling`, whose `add` is `unsafe` because a descriptor must be removed
/// before it is closed; on Unix only `discovery/macos.rs` has `unsafe`. `rustix` takes borrowed
/// descriptors, and the port's thread removes each before closing it.
#[derive(Debug)]
enum Readiness {
    /// `epoll`, whose work is proportional to the number of ready descriptors.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    Epoll(std::os::fd::OwnedFd),
    /// `poll`, which every Unix has; each call visits all descriptors.
    #[cfg(any(test, not(any(target_os = "linux", target_os = "android"))))]
    Poll,
}

/// The poller of this system.
pub(super) type Poller = SocketPoller;

impl SocketPoller {
    pub(super) fn new(listener: impl Into<Listener>) -> io::Result<(Self, SocketWaker)> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let readiness = Readiness::Epoll(epoll::create(epoll::CreateFlags::CLOEXEC)?);
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let readiness = Readiness::Poll;
        Self::with(readiness, listener.into())
    }

    /// Creates a poller as on systems without `epoll`.
    #[cfg(test)]
    pub(super) fn with_poll(listener: UnixListener) -> io::Result<(Self, SocketWaker)> {
        Self::with(Readiness::Poll, listener.into())
    }

    fn with(readiness: Readiness, listener: Listener) -> io::Result<(Self, SocketWaker)> {
        let (waker, woken) = UnixStream::pair()?;
        waker.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        rustix::io::ioctl_fionbio(&listener, true)?;
        // The thread may have ended by the time of a wake-up.
        without_signal(&waker)?;
        let poller = Self { readiness, listener, woken, is_paused: false };
        poller.watch(poller.listener.as_fd(), LISTENER)?;
        poller.watch(poller.woken.as_fd(), WAKE)?;
        Ok((poller, SocketWaker(waker)))
    }

    #[allow(clippy::unnecessary_wraps, reason = "with epoll it may fail")]
    fn watch(&self, fd: BorrowedFd<'_>, id: u64) -> io::Result<()> {
        match &self.readiness {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Readiness::Epoll(epoll) => {
                let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP;
                epoll::add(epoll, fd, epoll::EventData::new_u64(id), flags)?;
            }
            #[cfg(any(test, not(any(target_os = "linux", target_os = "android"))))]
            Readiness::Poll => _ = (fd, id),
        }
        Ok(())
    }

    fn unwatch(&self, fd: BorrowedFd<'_>) {
        match &self.readiness {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            // The descriptor was added, and an error could not be handled.
            Readiness::Epoll(epoll) => drop(epoll::delete(epoll, fd)),
            #[cfg(any(test, not(any(target_os = "linux", target_os = "android"))))]
            Readiness::Poll => _ = fd,
        }
    }

    /// Accepts the next pending connection.
    pub(super) fn accept(&mut self) -> io::Result<Connection> {
        self.listener.accept()
    }

    /// Pauses accepting until [`resume`](Self::resume).
    pub(super) fn pause(&mut self) {
        self.unwatch(self.listener.as_fd());
        self.is_paused = true;
    }

    /// Resumes accepting; returns whether that worked.
    pub(super) fn resume(&mut self) -> bool {
        self.is_paused = self.watch(self.listener.as_fd(), LISTENER).is_err();
        !self.is_paused
    }

    /// Makes [`wait`](Self::wait) report this connection under its number from now on.
    pub(super) fn add(&mut self, connection: &Connection, id: u64) -> io::Result<()> {
        rustix::io::ioctl_fionbio(connection, true)?;
        self.watch(connection.as_fd(), id)
    }

    /// Stops watching a connection that is about to be closed or handed out. On Windows it fails if
    /// the connection has ended, or something was received since.
    #[allow(clippy::unnecessary_wraps, reason = "on Windows it may fail")]
    pub(super) fn remove(&mut self, connection: &mut Connection) -> io::Result<()> {
        self.unwatch(connection.as_fd());
        Ok(())
    }

    /// Waits for an event, a request, the timeout or a signal. Adds to `ready` the numbers of the
    /// connections that are readable or have ended, and [`LISTENER`] if one is pending. `all` are
    /// the added connections.
    pub(super) fn wait<'c>(
        &mut self,
        all: impl Iterator<Item = (u64, &'c Connection)>,
        timeout: Option<Duration>,
        ready: &mut Vec<u64>,
    ) -> io::Result<()> {
        let timeout = timeout.map(timespec);
        match &self.readiness {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Readiness::Epoll(epoll) => {
                drop(all);
                let mut events = Vec::with_capacity(EVENTS_AT_ONCE);
                let room = rustix::buffer::spare_capacity(&mut events);
                epoll::wait(epoll, room, timeout.as_ref()).map(drop).or_else(interrupted)?;
                ready.extend(events.iter().map(|event| event.data.u64()));
            }
            #[cfg(any(test, not(any(target_os = "linux", target_os = "android"))))]
            Readiness::Poll => {
                use rustix::event::{PollFd, PollFlags, poll};
                let listener = (!self.is_paused).then_some((LISTENER, self.listener.as_fd()));
                let own = listener.into_iter().chain([(WAKE, self.woken.as_fd())]);
                let (ids, mut fds): (Vec<_>, Vec<_>) = own
                    .chain(all.map(|(id, connection)| (id, connection.as_fd())))
                    .map(|(id, fd)| (id, PollFd::from_borrowed_fd(fd, PollFlags::IN)))
                    .unzip();
                poll(&mut fds, timeout.as_ref()).map(drop).or_else(interrupted)?;
                let ids = ids.iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
                ready.extend(ids.map(|(id, _)| *id));
            }
        }
        ready.retain(|id| *id != WAKE);
        let mut bytes = [0; 64];
        while matches!((&self.woken).read(&mut bytes), Ok(1..)) {}
        Ok(())
    }
}

/// Reads the available bytes, at most as many as `into` holds; 0 at the end.
pub(super) fn read(from: &mut Connection, into: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(from, into)?)
}

/// Stops reading a connection, which is then reported when the peer ends it or sends something.
#[allow(clippy::unnecessary_wraps, reason = "on Windows it may fail")]
pub(super) fn await_end(_: &mut Connection) -> io::Result<()> {
    Ok(())
}

/// Returns how many connections the descriptor limit allows now; the process may change the limit.
pub(super) fn most_connections() -> usize {
    // At least one connection is accepted, and one held.
    (descriptors() / 4).saturating_mul(3).max(2)
}

/// Returns how many connections may wait to be taken.
pub(super) fn most_held() -> usize {
    (descriptors() / 2).max(1)
}

fn descriptors() -> usize {
    let most = getrlimit(Resource::Nofile).current;
    most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX)
}

/// Treats a wait that a signal interrupts as one that finds nothing.
fn interrupted(errno: rustix::io::Errno) -> io::Result<()> {
    if errno == rustix::io::Errno::INTR { Ok(()) } else { Err(errno.into()) }
}
