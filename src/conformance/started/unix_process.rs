//! A process on Unix, with its group.

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process, kill_process_group, waitid,
};

use crate::conformance::server::Death;

/// A process that was not waited for yet: its id is not reused, and neither is that of its group.
pub(super) struct Process(pub(super) Pid);

impl Process {
    /// It may have left the group.
    pub(super) fn kill(&self) {
        let _ = kill_process_group(self.0, Signal::KILL);
        let _ = kill_process(self.0, Signal::KILL);
    }

    /// How it ended, if it has. It is not waited for.
    pub(super) fn death(&self) -> Option<Death> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.0), options) {
            Ok(None) => None,
            Ok(Some(status)) => Some(death(&status)),
            // If a process ignores its children, the system itself waits for them.
            Err(_) => Some(Death::Unknown),
        }
    }
}

#[cfg(not(target_os = "netbsd"))]
fn death(status: &WaitIdStatus) -> Death {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Death::Status(code),
        (None, Some(signal)) => Death::Signal(signal),
        (None, None) => Death::Unknown,
    }
}

/// `rustix` reads neither of the two there.
#[cfg(target_os = "netbsd")]
fn death(_: &WaitIdStatus) -> Death {
    Death::Unknown
}
