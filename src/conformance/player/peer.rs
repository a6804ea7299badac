//! What the system says of the process at the other end of connections.

use alloc::sync::Arc;
use std::sync::{Mutex, PoisonError};

use crate::advertise::Advertise;

/// Who is at the other end of a network's connections, as far as they were opened. A copy sees what the network learns later.
#[derive(Clone, Debug, Default)]
pub(in crate::conformance) struct Peer(Arc<Mutex<State>>);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    process_id: Option<u32>,
    advertise: Option<Advertise>,
}

impl Peer {
    /// The process, as this system numbers it: the one that called `listen`, or that connected to a port. `None` where the system does
    /// not say it, or cannot number it here.
    pub(in crate::conformance) fn process_id(&self) -> Option<u32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).process_id
    }

    /// What the process said last at a port that stands for its default port.
    pub(in crate::conformance) fn advertise(&self) -> Option<Advertise> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).advertise
    }

    #[cfg(unix)]
    pub(super) fn is_process(&self, process_id: Option<u32>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).process_id = process_id;
    }

    #[cfg(unix)]
    pub(super) fn says(&self, advertise: Advertise) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).advertise = Some(advertise);
    }
}
