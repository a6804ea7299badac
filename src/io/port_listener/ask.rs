//! How callers speak to the thread of a port: questions in a queue, and an answer each, which can be waited for.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use rustix::event::PollFlags;

use super::{PortCounts, RuntimeFilter};
use crate::advertise::Advertise;
use crate::io::unix::wait;
use crate::io::{Stopped, Until};

/// A question.
#[derive(Debug)]
pub(super) enum Ask {
    /// The connection of such a runtime, once there is one.
    Take(RuntimeFilter, Giver<(Advertise, UnixStream)>),
    /// Who it is, once there is one; the connection stays.
    Find(RuntimeFilter, Giver<Advertise>),
    /// All that wait now.
    List(Giver<Vec<Advertise>>),
    Counts(Giver<PortCounts>),
}

/// What callers and the thread share.
#[derive(Debug)]
pub(super) struct Queue {
    /// `None` once the thread has ended.
    asks: Mutex<Option<Vec<Ask>>>,
    wake: UnixStream,
}

impl Queue {
    /// A queue, and what becomes readable when something is in it, or it is closed.
    pub(super) fn new() -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        Ok((Self { asks: Mutex::new(Some(Vec::new())), wake: ours }, theirs))
    }

    /// What is asked after the end is dropped here, and so answered.
    pub(super) fn put(&self, ask: Ask) {
        if let Some(asks) = &mut *lock(&self.asks) {
            asks.push(ask);
        }
        self.wake();
    }

    /// All that was asked since the last time; `None` once the queue is closed.
    pub(super) fn take(&self, mut woken: &UnixStream) -> Option<Vec<Ask>> {
        let mut bytes = [0; 64];
        while matches!(woken.read(&mut bytes), Ok(1..)) {}
        lock(&self.asks).as_mut().map(core::mem::take)
    }

    pub(super) fn close(&self) {
        drop(lock(&self.asks).take());
        self.wake();
    }

    fn wake(&self) {
        // Where it is full, it is readable.
        let _ = (&self.wake).write(&[0]);
    }
}

/// The answer to one question: the caller's half.
#[derive(Debug)]
pub(super) struct Answer<T> {
    shared: Arc<Mutex<State<T>>>,
    given: UnixStream,
}

/// The half of the thread. Dropped without an answer, it says that there will be none.
#[derive(Debug)]
pub(super) struct Giver<T> {
    shared: Arc<Mutex<State<T>>>,
    wake: UnixStream,
}

#[derive(Debug)]
enum State<T> {
    Waiting,
    Given(T),
    /// The caller waits no longer.
    Abandoned,
    /// The thread will not answer.
    Closed,
}

/// Both halves.
pub(super) fn answer<T>() -> io::Result<(Answer<T>, Giver<T>)> {
    let (ours, theirs) = UnixStream::pair()?;
    let shared = Arc::new(Mutex::new(State::Waiting));
    Ok((Answer { shared: Arc::clone(&shared), given: theirs }, Giver { shared, wake: ours }))
}

impl<T> Answer<T> {
    /// Waits for the answer; `None` where there will be none, because the port is closed.
    pub(super) fn wait(self, until: &Until<'_>) -> Result<Option<T>, Stopped> {
        // The giver's end closes with the answer.
        let waited = wait(self.given.as_fd(), PollFlags::IN, until);
        // An answer that came at the last moment is not lost.
        match core::mem::replace(&mut *lock(&self.shared), State::Abandoned) {
            State::Given(value) => Ok(Some(value)),
            State::Closed => Ok(None),
            State::Waiting | State::Abandoned => Err(waited.err().unwrap_or(Stopped::TimedOut)),
        }
    }
}

impl<T> Giver<T> {
    /// Whether nobody waits for it any longer.
    pub(super) fn is_abandoned(&self) -> bool {
        matches!(*lock(&self.shared), State::Abandoned)
    }

    /// Gives the answer, or gives it back where nobody waits for it.
    pub(super) fn give(self, value: T) -> Result<(), T> {
        let mut state = lock(&self.shared);
        if matches!(*state, State::Abandoned) {
            return Err(value);
        }
        *state = State::Given(value);
        Ok(())
    }
}

impl<T> Drop for Giver<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.shared);
        if matches!(*state, State::Waiting) {
            *state = State::Closed;
        }
        drop(state);
        // And now the other end is readable.
        let _ = self.wake.shutdown(std::net::Shutdown::Both);
    }
}

/// A thread that panicked left nothing half done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
