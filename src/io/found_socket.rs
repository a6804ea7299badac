//! The socket of an endpoint, cached between connections.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::trust::Judged;

/// A socket that was found and checked.
#[derive(Clone, Debug)]
pub(super) struct FoundSocket {
    pub(super) path: Arc<Path>,
    /// The process that should listen there, if one was given.
    pub(super) process_id: Option<u32>,
    pub(super) judged: Judged,
}

/// The last result. Endpoints are equal whatever they have cached.
#[derive(Debug)]
pub(super) struct LastFound(Mutex<Option<FoundSocket>>);

impl LastFound {
    pub(super) const fn nothing() -> Self {
        Self(Mutex::new(None))
    }

    pub(super) fn get(&self) -> Option<FoundSocket> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, found: Option<FoundSocket>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = found;
    }
}

impl Clone for LastFound {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.get()))
    }
}

impl PartialEq for LastFound {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for LastFound {}
