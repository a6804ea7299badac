//! A port on a Unix socket.

use std::any::Any;
use std::boxed::Box;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;
use std::vec::Vec;

use rustix::process::{Resource, getrlimit};

use super::readiness::Readiness;
use super::system::{LISTENER, Room, System};
use crate::io::fd::without_signal;
use crate::io::{Error, UnixTransport, private_socket};

/// The number of the channel that wakes the thread: no connection has it.
const WAKE: u64 = u64::MAX;

pub(super) type Connection = UnixStream;

/// Listens so that only this user can connect; the last drop removes the socket.
pub(super) fn bind_private(
    path: &Path,
) -> Result<(UnixListener, Box<dyn Any + Send + Sync>), Error> {
    let (listener, path) = private_socket::bind_private(path)?;
    Ok((listener, Box::new(path)))
}

/// The type of a connection that is handed out.
#[allow(clippy::unnecessary_wraps, reason = "on Windows it may fail")]
pub(super) fn transport(connection: Connection) -> io::Result<UnixTransport> {
    Ok(UnixTransport::new(connection))
}

/// Wakes a port's thread.
#[derive(Debug)]
pub(super) struct Waker(UnixStream);

/// The thread's half.
#[derive(Debug)]
pub(super) struct Woken(UnixStream);

pub(super) fn wake_channel() -> io::Result<(Waker, Woken)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    theirs.set_nonblocking(true)?;
    // The thread may have ended by then.
    without_signal(&ours)?;
    Ok((Waker(ours), Woken(theirs)))
}

impl Waker {
    pub(super) fn wake(&self) {
        // If it is full, it is readable.
        let _ = (&self.0).write(&[0]);
    }
}

/// A listening socket with its accepted connections; `R` reports which are ready.
#[derive(Debug)]
pub(super) struct Sockets<R> {
    readiness: R,
    listener: UnixListener,
    woken: Woken,
    is_paused: bool,
}

impl<R: Readiness> Sockets<R> {
    pub(super) fn new(listener: UnixListener, woken: Woken) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let readiness = R::new()?;
        readiness.add(listener.as_fd(), LISTENER)?;
        readiness.add(woken.0.as_fd(), WAKE)?;
        Ok(Self { readiness, listener, woken, is_paused: false })
    }
}

impl<R: Readiness> System for Sockets<R> {
    type Connection = Connection;

    fn accept(&mut self) -> io::Result<Connection> {
        let (stream, _) = self.listener.accept()?;
        Ok(stream)
    }

    fn pause(&mut self) {
        self.readiness.remove(self.listener.as_fd());
        self.is_paused = true;
    }

    fn resume(&mut self) -> bool {
        self.is_paused = self.readiness.add(self.listener.as_fd(), LISTENER).is_err();
        !self.is_paused
    }

    fn add(&mut self, connection: &Connection, id: u64) -> io::Result<()> {
        connection.set_nonblocking(true)?;
        self.readiness.add(connection.as_fd(), id)
    }

    fn read(&mut self, connection: &mut Connection, into: &mut [u8]) -> io::Result<usize> {
        connection.read(into)
    }

    fn await_end(&mut self, _: &mut Connection) -> io::Result<()> {
        Ok(())
    }

    fn remove(&mut self, connection: &mut Connection) -> io::Result<()> {
        self.readiness.remove(connection.as_fd());
        Ok(())
    }

    fn wait<'c>(
        &mut self,
        all: impl Iterator<Item = (u64, &'c Connection)>,
        timeout: Option<Duration>,
        ready: &mut Vec<u64>,
    ) -> io::Result<()> {
        let listener: Option<(u64, BorrowedFd<'_>)> =
            (!self.is_paused).then_some((LISTENER, self.listener.as_fd()));
        let own = listener.into_iter().chain([(WAKE, self.woken.0.as_fd())]);
        self.readiness.wait(
            own.chain(all.map(|(id, connection)| (id, connection.as_fd()))),
            timeout,
            ready,
        )?;
        ready.retain(|id| *id != WAKE);
        let mut bytes = [0; 64];
        while matches!((&self.woken.0).read(&mut bytes), Ok(1..)) {}
        Ok(())
    }

    /// By the current limit, which the process may change.
    fn room(&self) -> Room {
        let limit = getrlimit(Resource::Nofile)
            .current
            .and_then(|most| usize::try_from(most).ok())
            .unwrap_or(usize::MAX);
        // At least one connection is accepted, and one held.
        Room { connections: (limit / 4).saturating_mul(3).max(2), held: (limit / 2).max(1) }
    }
}
