//! A process on Windows.

use alloc::sync::Arc;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::conformance::server::Death;

/// A process. Its id is not reused while this value exists.
#[derive(Clone, Debug)]
pub(super) struct Process(Arc<Mutex<Child>>);

impl Process {
    pub(super) fn new(child: Child) -> Self {
        Self(Arc::new(Mutex::new(child)))
    }

    pub(super) fn child(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn kill(&self) {
        // It may have ended by itself.
        let _ = self.child().kill();
    }

    /// How it ended, if it has.
    pub(super) fn death(&self) -> Option<Death> {
        match self.child().try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(status.code().map_or(Death::Unknown, Death::Status)),
            Err(_) => Some(Death::Unknown),
        }
    }
}
