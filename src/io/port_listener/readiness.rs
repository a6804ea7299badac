//! Which of many descriptors are ready.
//!
//! Not the crate `polling`: its `add` is `unsafe`, since a descriptor must be removed before it is
//! closed, and on Unix only `discovery/macos.rs` has `unsafe`. `rustix` takes borrowed descriptors,
//! and the pump removes each before closing it.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;
use std::vec::Vec;

use rustix::event::Timespec;

/// Waits for any of many descriptors, each identified by a number.
pub(super) trait Readiness: Sized + Send + 'static {
    fn new() -> io::Result<Self>;

    /// Adds a descriptor.
    fn add(&self, fd: BorrowedFd<'_>, id: u64) -> io::Result<()>;

    /// Removes a descriptor that is about to be closed or handed out.
    fn remove(&self, fd: BorrowedFd<'_>);

    /// Fills `ready` with the numbers of those that are readable or have ended; none on a timeout
    /// or signal. `all` are those that were added and not removed.
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

/// How many ready descriptors are returned at once; the next wait returns the others.
#[cfg(any(target_os = "linux", target_os = "android"))]
const AT_ONCE: usize = 256;

fn timespec(timeout: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    }
}

/// `epoll`: the work is proportional to the ready descriptors.
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
        // It was added, and an error could not be handled.
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
        match rustix::event::epoll::wait(
            &self.0,
            rustix::buffer::spare_capacity(&mut events),
            timeout.as_ref(),
        ) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        ready.extend(events.iter().map(|event| event.data.u64()));
        Ok(())
    }
}

/// `poll`, available on every Unix: each call visits all descriptors.
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
        let (ids, mut fds): (Vec<_>, Vec<_>) =
            all.map(|(id, fd)| (id, PollFd::from_borrowed_fd(fd, PollFlags::IN))).unzip();
        match poll(&mut fds, timeout.map(timespec).as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        ready.extend(
            ids.iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty()).map(|(id, _)| *id),
        );
        Ok(())
    }
}
