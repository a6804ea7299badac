//! How long a wait lasts, and why it ended.

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

#[cfg(windows)]
use super::windows::Event;

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
    /// The deadline; `None` for none.
    pub deadline: Option<Instant>,
    /// Cancels the wait.
    pub canceller: Option<&'a Canceller>,
}

impl WaitLimit<'_> {
    /// No deadline and no canceller.
    pub const FOREVER: Self = Self { deadline: None, canceller: None };

    /// The time left; `None` for no limit.
    pub fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Checks for cancellation and timeout before anything is tried.
    ///
    /// # Errors
    /// [`WaitError::Cancelled`] and [`WaitError::TimedOut`].
    pub fn check(&self) -> Result<(), WaitError> {
        self.look().map(drop)
    }

    /// Waits until the deadline; without one, until it is cancelled, or for ever.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::io::{Canceller, WaitError, WaitLimit};
    ///
    /// let canceller = Canceller::new()?;
    /// let until = WaitLimit { canceller: Some(&canceller), ..WaitLimit::FOREVER };
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| canceller.cancel());
    ///     assert!(matches!(until.sleep(), Err(WaitError::Cancelled)));
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`WaitError::Cancelled`]; [`WaitError::Io`] if the system cannot wait.
    pub fn sleep(&self) -> Result<(), WaitError> {
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
            Err(WaitError::TimedOut) if !canceller.is_cancelled() => Ok(()),
            Ok(()) | Err(WaitError::TimedOut) => Err(WaitError::Cancelled),
            Err(stopped) => Err(stopped),
        }
    }

    /// Waits until a descriptor has something to read, or a connection to accept, or has ended.
    ///
    /// # Errors
    /// [`WaitError`].
    #[cfg(unix)]
    pub fn readable(&self, fd: impl AsFd) -> Result<(), WaitError> {
        self.ready(fd.as_fd(), PollFlags::IN)
    }

    /// Waits until a descriptor has room for something to write, or has ended.
    ///
    /// # Errors
    /// [`WaitError`].
    #[cfg(unix)]
    pub fn writable(&self, fd: impl AsFd) -> Result<(), WaitError> {
        self.ready(fd.as_fd(), PollFlags::OUT)
    }

    /// As [`check`](Self::check), and the time left.
    fn look(&self) -> Result<Option<Duration>, WaitError> {
        if self.canceller.is_some_and(Canceller::is_cancelled) {
            return Err(WaitError::Cancelled);
        }
        let left = self.left();
        if left.is_some_and(|left| left.is_zero()) {
            return Err(WaitError::TimedOut);
        }
        Ok(left)
    }

    /// Waits until a descriptor is ready, or has ended.
    #[cfg(unix)]
    pub(super) fn ready(&self, fd: BorrowedFd<'_>, for_what: PollFlags) -> Result<(), WaitError> {
        loop {
            let left = self.look()?;
            let timeout = left.map(|left| Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            });
            let ready = PollFd::from_borrowed_fd(fd, for_what);
            let polled = match self.canceller {
                None => poll(&mut [ready], timeout.as_ref()),
                Some(canceller) => {
                    poll(&mut [ready, PollFd::new(canceller, PollFlags::IN)], timeout.as_ref())
                }
            };
            match polled {
                // The deadline passed, as the next look shows. Or a signal arrived.
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) if self.canceller.is_some_and(Canceller::is_cancelled) => {
                    return Err(WaitError::Cancelled);
                }
                Ok(_) => return Ok(()),
                Err(errno) => return Err(WaitError::Io(errno.into())),
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
    ) -> Result<T, WaitError> {
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

    /// Waits until an event is set. If it was set in time, that counts.
    #[cfg(windows)]
    pub(super) fn event(&self, event: &Event) -> Result<(), WaitError> {
        loop {
            let set = match self.canceller {
                Some(canceller) => Event::wait([event, canceller.wake()], self.left()),
                None => Event::wait([event], self.left()),
            };
            match set? {
                Some(0) => return Ok(()),
                Some(_) => return Err(WaitError::Cancelled),
                None => self.check()?,
            }
        }
    }
}

/// Why sending or receiving stopped.
///
/// ```
/// use dotnet_diagnostics_ipc::io::WaitError;
///
/// let stopped = WaitError::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
/// assert!(matches!(stopped, WaitError::Io(_)));
/// assert_eq!(stopped.to_string(), "an I/O error");
/// ```
#[derive(Debug)]
pub enum WaitError {
    /// The deadline passed.
    TimedOut,
    /// The canceller was used.
    Cancelled,
    /// The system reported an error.
    Io(io::Error),
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimedOut => "timed out",
            Self::Cancelled => "cancelled",
            Self::Io(_) => "an I/O error",
        })
    }
}

impl std::error::Error for WaitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::TimedOut | Self::Cancelled => None,
        }
    }
}

impl From<io::Error> for WaitError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Ends the waits that use it, from any thread. Clones share the same state.
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
    /// Makes it check again whether it is over.
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
    /// If the system provides no descriptors for it.
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

    /// A canceller that `parent` cancels too.
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

    /// A waker that cancels it.
    pub(super) fn waker(&self) -> Waker {
        Arc::clone(&self.0).into()
    }

    /// Wakes this one too, while it exists. The sleeper checks [`is_cancelled`](Self::is_cancelled)
    /// after this and before each sleep.
    pub(crate) fn wakes(&self, sleeper: Weak<dyn Sleeper>) {
        let mut sleepers = self.0.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        sleepers.retain(|sleeper| sleeper.strong_count() > 0);
        sleepers.push(sleeper);
    }

    /// Whether it was cancelled.
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
        // One byte that is never read: it stays readable.
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

/// It becomes readable on cancellation, for a `poll` of your own. Nothing is read from it.
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
