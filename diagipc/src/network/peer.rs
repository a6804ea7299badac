//! The system's information on the process at the other end of connections.

use std::sync::{Arc, Mutex, PoisonError};

use dotnet_diagnostics_ipc::advertise::Advertise;

use crate::process::procfs;

/// The process at the other end of a network's open connections. A copy is updated with the
/// network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer(Arc<Mutex<State>>);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    process_id: Option<u32>,
    advertise: Option<Advertise>,
}

impl Peer {
    /// The process id in this system: the process that called `listen`, or that connected to a
    /// port. `None` if the system does not report it, or it has no id here.
    pub(crate) fn process_id(&self) -> Option<u32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).process_id
    }

    /// The last advertise of the process at a port that replaces its default port.
    pub(crate) fn advertise(&self) -> Option<Advertise> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).advertise
    }

    /// The memory of the process in KiB, if the system reports it.
    pub(super) fn memory(&self) -> Option<u64> {
        procfs::resident(self.process_id()?)
    }

    /// Whether the process is known to run for somebody else ([`procfs::is_stranger`]).
    pub(crate) fn is_stranger(&self) -> bool {
        self.process_id().is_some_and(procfs::is_stranger)
    }

    pub(super) fn is_process(&self, process_id: Option<u32>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).process_id = process_id;
    }

    pub(super) fn says(&self, advertise: Advertise) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).advertise = Some(advertise);
    }
}
