//! Which of many descriptors have something to say.
//!
//! Not the crate `polling`: its `add` is `unsafe`, since a descriptor must be taken out before it is closed, and no module of the Unix
//! half has `unsafe`. `rustix` takes borrowed descriptors, and the pump takes each out before it closes it.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;
use std::vec::Vec;

use rustix::event::Timespec;

/// Waits for any of many descriptors, each known by a number.
pub(super) trait Readiness: Sized + Send + 'static {
    fn new() -> io::Result<Self>;

    /// From now on this one too.
    fn add(&self, fd: BorrowedFd<'_>, id: u64) -> io::Result<()>;

    /// No longer this one, which is about to be closed or handed out.
    fn remove(&self, fd: BorrowedFd<'_>);

    /// Fills `ready` with the numbers of those that can be read or have ended; none where the time is over or a signal came.
    /// `all` are those that were added and not removed.
    fn wait<'f>(
        &mut self,
        all: impl Iterator<Item = (u64, BorrowedFd<'f>)>,
        timeout: Option<Duration>,
        ready: &mut Vec<u64>,
    ) -> io::Result<()>;
}

/// The best that the system has.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) type Best = Epoll;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) type Best = Poll;

/// How many that are ready are learned of at once; the others are with the next wait.
#[cfg(any(target_os = "linux", target_os = "android"))]
const AT_ONCE: usize = 256;

fn timespec(timeout: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX), tv_nsec: timeout.subsec_nanos().into() }
}

/// `epoll`: the work is that of the descriptors that are ready, not of all.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[derive(Debug)]
pub(super) struct Epoll(std::os::fd::OwnedFd);

#[cfg(any(target_os = "linux", target_os = "android"))]
impl Readiness for Epoll {
    fn new() -> io::Result<Self> {
        Ok(Self(rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC)?))
    }

    fn add(&self, fd: BorrowedFd<'_>, id: u64) -> io::Result<()> {
        use rustix::event::epoll::{EventData, EventFlags, add};
        Ok(add(&self.0, fd, EventData::new_u64(id), EventFlags::IN | EventFlags::RDHUP)?)
    }

    fn remove(&self, fd: BorrowedFd<'_>) {
        // It is there; and nothing could be done about it.
        let _ = rustix::event::epoll::delete(&self.0, fd);
    }

    fn wait<'f>(
        &mut self,
        _: impl Iterator<Item = (u64, BorrowedFd<'f>)>,
        timeout: Option<Duration>,
        ready: &mut Vec<u64>,
    ) -> io::Result<()> {
        let mut events = Vec::with_capacity(AT_ONCE);
        let timeout = timeout.map(timespec);
        match rustix::event::epoll::wait(&self.0, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        ready.extend(events.iter().map(|event| event.data.u64()));
        Ok(())
    }
}

/// `poll`, which every Unix has: the work is that of all descriptors, each time.
#[cfg(any(test, not(any(target_os = "linux", target_os = "android"))))]
#[derive(Debug)]
pub(super) struct Poll;

#[cfg(any(test, not(any(target_os = "linux", target_os = "android"))))]
impl Readiness for Poll {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    fn add(&self, _: BorrowedFd<'_>, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _: BorrowedFd<'_>) {}

    fn wait<'f>(
        &mut self,
        all: impl Iterator<Item = (u64, BorrowedFd<'f>)>,
        timeout: Option<Duration>,
        ready: &mut Vec<u64>,
    ) -> io::Result<()> {
        use rustix::event::{PollFd, PollFlags, poll};
        let (ids, mut fds): (Vec<_>, Vec<_>) = all.map(|(id, fd)| (id, PollFd::from_borrowed_fd(fd, PollFlags::IN))).unzip();
        match poll(&mut fds, timeout.map(timespec).as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        ready.extend(ids.iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty()).map(|(id, _)| *id));
        Ok(())
    }
}
