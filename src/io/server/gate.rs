//! Limits how many are inside at once.

use std::sync::{Condvar, Mutex, PoisonError};

/// Admits this many at once.
#[derive(Debug)]
pub(super) struct Gate {
    free: Mutex<usize>,
    left: Condvar,
}

/// A place inside; released on drop.
#[derive(Debug)]
pub(super) struct Place<'g>(&'g Gate);

impl Gate {
    pub(super) const fn new(most: usize) -> Self {
        Self { free: Mutex::new(most), left: Condvar::new() }
    }

    /// Waits for a place.
    pub(super) fn enter(&self) -> Place<'_> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(fewer) = free.checked_sub(1) {
                *free = fewer;
                return Place(self);
            }
            free = self.left.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A place, if there is one.
    pub(super) fn try_enter(&self) -> Option<Place<'_>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        *free = free.checked_sub(1)?;
        Some(Place(self))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut free = self.0.free.lock().unwrap_or_else(PoisonError::into_inner);
        *free = free.saturating_add(1);
        self.0.left.notify_one();
    }
}
