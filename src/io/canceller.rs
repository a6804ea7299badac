//! Ends a wait from another thread.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Wake, Waker};

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
