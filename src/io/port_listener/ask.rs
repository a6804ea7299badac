//! How callers talk to a port's thread: questions in a queue, each with an answer to wait for.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

#[cfg(unix)]
use super::unix::{Waker, Woken, wake_channel};
#[cfg(windows)]
use super::windows::{Waker, Woken, wake_channel};
use super::{PortCounts, RuntimeFilter};
use crate::advertise::Advertise;
use crate::io::wait::Sleeper;
use crate::io::{Stopped, Until};

/// A question; `C` is a connection.
#[derive(Debug)]
pub(super) enum Ask<C> {
    /// The connection of a matching runtime, once there is one.
    Take(RuntimeFilter, Giver<(Advertise, C)>),
    /// Its advertise, once there is one; the connection stays.
    Find(RuntimeFilter, Giver<Advertise>),
    /// All waiting runtimes.
    List(Giver<Vec<Advertise>>),
    Counts(Giver<PortCounts>),
}

/// State shared by callers and the thread.
#[derive(Debug)]
pub(super) struct Queue<C> {
    /// `None` once the thread has ended.
    asks: Mutex<Option<Vec<Ask<C>>>>,
    waker: Waker,
}

impl<C> Queue<C> {
    /// A queue, and a signal that wakes the thread when it is filled or closed.
    pub(super) fn new() -> io::Result<(Self, Woken)> {
        let (waker, woken) = wake_channel()?;
        Ok((Self { asks: Mutex::new(Some(Vec::new())), waker }, woken))
    }

    /// Questions after the end are dropped here, which answers them.
    pub(super) fn put(&self, ask: Ask<C>) {
        if let Some(asks) = &mut *lock(&self.asks) {
            asks.push(ask);
        }
        self.waker.wake();
    }

    /// All questions since the last call; `None` once the queue is closed. Clears the wake-up
    /// first.
    pub(super) fn take(&self) -> Option<Vec<Ask<C>>> {
        lock(&self.asks).as_mut().map(core::mem::take)
    }

    pub(super) fn close(&self) {
        drop(lock(&self.asks).take());
        self.waker.wake();
    }
}

/// The answer to one question: the caller's half. It needs no descriptor.
#[derive(Debug)]
pub(super) struct Answer<T>(Arc<Shared<T>>);

/// The thread's half. Dropping it without an answer reports that there will be none.
#[derive(Debug)]
pub(super) struct Giver<T>(Arc<Shared<T>>);

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
enum State<T> {
    Waiting,
    Given(T),
    /// The caller no longer waits.
    Abandoned,
    /// The thread will not answer.
    Closed,
}

impl<T: Send> Sleeper for Shared<T> {
    fn wake(&self) {
        // A caller holds the lock between its check and its sleep.
        drop(lock(&self.state));
        self.changed.notify_all();
    }
}

/// Both halves.
pub(super) fn answer<T>() -> (Answer<T>, Giver<T>) {
    let shared = Arc::new(Shared { state: Mutex::new(State::Waiting), changed: Condvar::new() });
    (Answer(Arc::clone(&shared)), Giver(shared))
}

impl<T: Send + 'static> Answer<T> {
    /// Waits for the answer; `None` if the port is closed.
    pub(super) fn wait(self, until: &Until<'_>) -> Result<Option<T>, Stopped> {
        if let Some(canceller) = until.canceller {
            let sleeper: Arc<dyn Sleeper> = Arc::<Shared<T>>::clone(&self.0);
            canceller.wakes(Arc::downgrade(&sleeper));
        }
        let mut state = lock(&self.0.state);
        loop {
            // An answer that arrives at the last moment is not lost.
            match core::mem::replace(&mut *state, State::Abandoned) {
                State::Given(value) => return Ok(Some(value)),
                State::Closed => return Ok(None),
                State::Waiting | State::Abandoned => until.check()?,
            }
            *state = State::Waiting;
            state = match until.left() {
                None => self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    self.0
                        .changed
                        .wait_timeout(state, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        }
    }
}

impl<T> Giver<T> {
    /// Whether the caller has stopped waiting.
    pub(super) fn is_abandoned(&self) -> bool {
        matches!(*lock(&self.0.state), State::Abandoned)
    }

    /// Sends the answer, or returns it if the caller has stopped waiting.
    pub(super) fn give(self, value: T) -> Result<(), T> {
        let mut state = lock(&self.0.state);
        if matches!(*state, State::Abandoned) {
            return Err(value);
        }
        *state = State::Given(value);
        Ok(())
    }
}

impl<T> Drop for Giver<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        if matches!(*state, State::Waiting) {
            *state = State::Closed;
        }
        drop(state);
        self.0.changed.notify_all();
    }
}

/// A panic of the thread cannot leave this half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
