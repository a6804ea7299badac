//! Time limits of calls and of single waits, and their cancellation.

use std::fmt;
use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

#[cfg(unix)]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
#[cfg(unix)]
use rustix::io::Errno;

use super::ErrorKind;
#[cfg(windows)]
use super::windows::Event;
use crate::command::Command;
use crate::exchange::ReplyDeadline;

/// The maximum time of one wait of the system.
#[cfg(unix)]
const MAX_SYSTEM_WAIT: Duration = Duration::from_secs(86_400);

/// Time limits for each phase of a call. `None` means no limit.
///
/// ```
/// use std::time::Duration;
/// use dotnet_diagnostics_ipc::io::{Client, Deadlines, Endpoint};
///
/// let deadlines = Deadlines { whole: Some(Duration::from_secs(2)), ..Deadlines::DEFAULT };
/// let client = Client::new(Endpoint::process(12345)).with_deadlines(deadlines);
/// # drop(client);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deadlines {
    /// The time to connect, or to wait for a runtime at a port.
    pub connect: Option<Duration>,
    /// The time to write the request and the descriptor.
    pub send: Option<Duration>,
    /// The time from the end of the request to the last byte of the reply.
    pub reply: ReplyWithin,
    /// The time to read an environment block, from the end of the reply to the block's last byte.
    pub continuation: Option<Duration>,
    /// The time between two bytes of a session's stream, which is silent while there are no events.
    pub stream: Option<Duration>,
    /// The time for the whole call, from finding the endpoint to the last byte of the reply or
    /// environment block. A fallback has this time for all of its connections together.
    pub whole: Option<Duration>,
    #[doc(hidden)]
    pub more: (),
}

/// The time limit for a reply.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{Deadlines, ReplyWithin};
///
/// // A dump may take its time, ProcessInfo may not: `ReplyDeadline` says how long.
/// assert_eq!(Deadlines::DEFAULT.reply, ReplyWithin::ByCommand);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplyWithin {
    /// The command's [`ReplyDeadline`].
    ByCommand,
    /// One limit for every command; `None` means no limit.
    Fixed(Option<Duration>),
}

impl Deadlines {
    /// The default limits: 5 s to connect, 5 s to send, the reply by its command, 30 s for an
    /// environment block; none for a stream, and so for its stop.
    pub const DEFAULT: Self = Self {
        connect: Some(Duration::from_secs(5)),
        send: Some(Duration::from_secs(5)),
        reply: ReplyWithin::ByCommand,
        continuation: Some(Duration::from_secs(30)),
        stream: None,
        whole: None,
        more: (),
    };

    /// No deadlines.
    pub const NONE: Self = Self {
        connect: None,
        send: None,
        reply: ReplyWithin::Fixed(None),
        continuation: None,
        ..Self::DEFAULT
    };

    /// Returns the time limit of the reply to `command`; `attach_timeout` is from the
    /// `AttachProfiler` request. `StopTracing` has no limit but [`whole`](Self::whole): it is
    /// answered once the stream is drained, and the stream has no limit.
    pub(super) fn reply_to(&self, command: Command, attach_timeout: Duration) -> Option<Duration> {
        if let ReplyWithin::Fixed(fixed) = self.reply {
            return fixed;
        }
        match ReplyDeadline::of(command) {
            ReplyDeadline::Within(within) => Some(within),
            ReplyDeadline::AfterAttachTimeout(more) => Some(attach_timeout.saturating_add(more)),
            ReplyDeadline::AfterStreamEnd(_) => None,
        }
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The options that the caller chose for its calls.
#[derive(Clone, Debug)]
pub(super) struct CallOptions {
    pub(super) deadlines: Deadlines,
    pub(super) canceller: Option<Canceller>,
    pub(super) checks_limits: bool,
}

impl CallOptions {
    pub(super) const DEFAULT: Self =
        Self { deadlines: Deadlines::DEFAULT, canceller: None, checks_limits: true };

    /// Limits a wait of a call: to `within` from now, and to the end of the call.
    pub(super) fn until(&self, call: Clock, within: Option<Duration>) -> WaitLimit<'_> {
        WaitLimit { deadline: call.within(within), canceller: self.canceller.as_ref() }
    }
}

/// The clock and deadline of a call that has begun. Tokio's clock can be stopped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    now: fn() -> Instant,
    whole: Option<Instant>,
}

impl Clock {
    pub(super) fn start(now: fn() -> Instant, deadlines: &Deadlines) -> Self {
        Self { now, whole: after(now, deadlines.whole) }
    }

    /// Returns the end of a wait that begins now, or of the whole call.
    pub(super) fn within(self, within: Option<Duration>) -> Option<Instant> {
        after(self.now, within).into_iter().chain(self.whole).min()
    }
}

/// Returns the deadline; `None` if it is beyond the clock's range.
fn after(now: fn() -> Instant, within: Option<Duration>) -> Option<Instant> {
    within.and_then(|within| now().checked_add(within))
}

/// How long to wait, and what may end the wait early.
///
/// ```
/// use std::time::{Duration, Instant};
/// use dotnet_diagnostics_ipc::io::WaitLimit;
///
/// assert_eq!(WaitLimit::FOREVER.left(), None);
/// let until = WaitLimit { deadline: Some(Instant::now()), ..WaitLimit::FOREVER };
/// assert_eq!(until.left(), Some(Duration::ZERO));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitLimit<'a> {
    /// The deadline; `None` means no limit.
    pub deadline: Option<Instant>,
    /// The canceller that may end the wait.
    pub canceller: Option<&'a Canceller>,
}

/// Returns a time for the system, at most a day: not every system takes a longer one, and callers
/// look at their deadline again.
#[cfg(unix)]
pub(super) fn timespec(time: Duration) -> Timespec {
    let time = time.min(MAX_SYSTEM_WAIT);
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

impl<'a> WaitLimit<'a> {
    /// No deadline and no canceller.
    pub const FOREVER: Self = Self { deadline: None, canceller: None };

    pub(super) fn within(within: Option<Duration>, canceller: Option<&'a Canceller>) -> Self {
        Self { deadline: after(Instant::now, within), canceller }
    }

    /// Returns the time left; `None` means no limit.
    pub fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Checks for cancellation and timeout before anything is tried.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`] and [`ErrorKind::TimedOut`].
    pub fn check(&self) -> Result<(), ErrorKind> {
        self.look().map(drop)
    }

    /// Waits until the deadline; without one, until it is cancelled, or for ever.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::io::{Canceller, ErrorKind, WaitLimit};
    ///
    /// let canceller = Canceller::new()?;
    /// let until = WaitLimit { canceller: Some(&canceller), ..WaitLimit::FOREVER };
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| canceller.cancel());
    ///     assert!(matches!(until.sleep(), Err(ErrorKind::Cancelled)));
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`]; [`ErrorKind::Io`] if the system cannot wait.
    pub fn sleep(&self) -> Result<(), ErrorKind> {
        let Some(canceller) = self.canceller else {
            std::thread::sleep(self.left().unwrap_or(Duration::MAX));
            return Ok(());
        };
        let until = WaitLimit { canceller: None, ..*self };
        #[cfg(unix)]
        let woken = until.readable(canceller);
        #[cfg(windows)]
        let woken = until.event(canceller.wake());
        match woken {
            Err(ErrorKind::TimedOut) if !canceller.is_cancelled() => Ok(()),
            Ok(()) | Err(ErrorKind::TimedOut) => Err(ErrorKind::Cancelled),
            Err(stopped) => Err(stopped),
        }
    }

    /// Waits until a descriptor has something to read, or a connection to accept, or has ended.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`], [`ErrorKind::Cancelled`] and [`ErrorKind::Io`].
    #[cfg(unix)]
    pub fn readable(&self, fd: impl AsFd) -> Result<(), ErrorKind> {
        self.ready(fd.as_fd(), PollFlags::IN)
    }

    /// Waits until a descriptor has room for something to write, or has ended.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`], [`ErrorKind::Cancelled`] and [`ErrorKind::Io`].
    #[cfg(unix)]
    pub fn writable(&self, fd: impl AsFd) -> Result<(), ErrorKind> {
        self.ready(fd.as_fd(), PollFlags::OUT)
    }

    /// Checks as [`check`](Self::check) does, and returns the time left.
    fn look(&self) -> Result<Option<Duration>, ErrorKind> {
        if self.canceller.is_some_and(Canceller::is_cancelled) {
            return Err(ErrorKind::Cancelled);
        }
        let left = self.left();
        if left.is_some_and(|left| left.is_zero()) {
            return Err(ErrorKind::TimedOut);
        }
        Ok(left)
    }

    /// Waits until a descriptor is ready, or has ended.
    #[cfg(unix)]
    pub(super) fn ready(&self, fd: BorrowedFd<'_>, for_what: PollFlags) -> Result<(), ErrorKind> {
        loop {
            let left = self.look()?;
            let timeout = left.map(timespec);
            let ready = PollFd::from_borrowed_fd(fd, for_what);
            let polled = match self.canceller {
                None => poll(&mut [ready], timeout.as_ref()),
                Some(canceller) => {
                    poll(&mut [ready, PollFd::new(canceller, PollFlags::IN)], timeout.as_ref())
                }
            };
            match polled {
                // The deadline passed, which the next `look` reports, or a signal arrived.
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) if self.canceller.is_some_and(Canceller::is_cancelled) => {
                    return Err(ErrorKind::Cancelled);
                }
                Ok(_) => return Ok(()),
                Err(errno) => return Err(ErrorKind::Io(errno.into())),
            }
        }
    }

    /// Repeats `io` on a descriptor that does not block, whenever the descriptor is ready for it.
    #[cfg(unix)]
    pub(super) fn retried<T>(
        &self,
        fd: BorrowedFd<'_>,
        for_what: PollFlags,
        mut io: impl FnMut() -> io::Result<T>,
    ) -> Result<T, ErrorKind> {
        loop {
            match io() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.ready(fd, for_what)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => self.check()?,
                done => return Ok(done?),
            }
        }
    }

    /// Waits until an event is set. An event that was set in time counts.
    #[cfg(windows)]
    pub(super) fn event(&self, event: &Event) -> Result<(), ErrorKind> {
        loop {
            let set = match self.canceller {
                Some(canceller) => Event::wait([event, canceller.wake()], self.left()),
                None => Event::wait([event], self.left()),
            };
            match set? {
                Some(0) => return Ok(()),
                Some(_) => return Err(ErrorKind::Cancelled),
                None => self.check()?,
            }
        }
    }
}

/// A switch that ends all waits that use it, from any thread. Clones share the same state.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{Canceller, Client, Endpoint, ErrorKind};
///
/// let canceller = Canceller::new()?;
/// let client = Client::new(Endpoint::process(std::process::id())).with_canceller(canceller.clone());
/// canceller.cancel();
/// assert!(matches!(client.process_info().unwrap_err().kind(), ErrorKind::Cancelled));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Canceller(Arc<Shared>);

/// A wait for something without a descriptor.
pub(crate) trait Sleeper: Send + Sync {
    /// Makes the wait check again whether it is over.
    fn wake(&self);
}

struct Shared {
    cancelled: AtomicBool,
    sleepers: Mutex<std::vec::Vec<Weak<dyn Sleeper>>>,
    /// Becomes readable on cancellation.
    #[cfg(unix)]
    wake: (std::os::unix::net::UnixStream, std::os::unix::net::UnixStream),
    #[cfg(windows)]
    wake: super::windows::Event,
}

impl Canceller {
    /// Creates a canceller.
    ///
    /// # Errors
    /// Fails if the system provides no descriptors for it.
    pub fn new() -> io::Result<Self> {
        #[cfg(unix)]
        let wake = std::os::unix::net::UnixStream::pair()?;
        #[cfg(windows)]
        let wake = super::windows::Event::new()?;
        Ok(Self(Arc::new(Shared {
            cancelled: AtomicBool::new(false),
            sleepers: Mutex::default(),
            wake,
        })))
    }

    /// Ends every wait that uses it, now and later.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Creates a canceller that `parent` cancels too.
    pub(super) fn child(parent: Option<&Self>) -> io::Result<Self> {
        let child = Self::new()?;
        if let Some(parent) = parent {
            let shared: Arc<dyn Sleeper> = Arc::clone(&child.0) as _;
            parent.wakes(Arc::downgrade(&shared));
            if parent.is_cancelled() {
                child.cancel();
            }
        }
        Ok(child)
    }

    /// Returns a waker that cancels it.
    pub(super) fn waker(&self) -> Waker {
        Arc::clone(&self.0).into()
    }

    /// Makes a cancellation wake `sleeper` too, while that exists. The sleeper checks
    /// [`is_cancelled`](Self::is_cancelled) after this and before each sleep.
    pub(crate) fn wakes(&self, sleeper: Weak<dyn Sleeper>) {
        let mut sleepers = self.0.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        sleepers.retain(|sleeper| sleeper.strong_count() > 0);
        sleepers.push(sleeper);
    }

    /// Returns whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    #[cfg(windows)]
    pub(super) fn wake(&self) -> &super::windows::Event {
        &self.0.wake
    }
}

impl Shared {
    fn cancel(&self) {
        if self.cancelled.swap(true, Ordering::SeqCst) {
            return;
        }
        // One byte, which is never read, keeps it readable.
        #[cfg(unix)]
        let _ = io::Write::write(&mut &self.wake.0, &[0]);
        #[cfg(windows)]
        self.wake.set();
        for sleeper in self.sleepers.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if let Some(sleeper) = sleeper.upgrade() {
                sleeper.wake();
            }
        }
    }
}

/// Returns a descriptor for `poll`, which becomes readable on cancellation.
#[cfg(unix)]
impl std::os::fd::AsFd for Canceller {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.wake.1.as_fd()
    }
}

impl Sleeper for Shared {
    fn wake(&self) {
        self.cancel();
    }
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.cancel();
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller")
            .field("is_cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canceller_cancels_every_child_that_exists() {
        let parent = Canceller::new().unwrap();
        let children = [1, 2].map(|_| Canceller::child(Some(&parent)).unwrap());
        drop(Canceller::child(Some(&parent)).unwrap());
        parent.cancel();
        assert!(children.iter().all(Canceller::is_cancelled));
        assert!(Canceller::child(Some(&parent)).unwrap().is_cancelled());
        assert!(!Canceller::child(None).unwrap().is_cancelled());
    }
}
