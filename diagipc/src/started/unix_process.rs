//! A process on Unix, with its group.

use std::fs;
use std::path::PathBuf;

use dotnet_diagnostics_ipc::endpoint::{ProcessStat, SocketName, UNKNOWN_KEY};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process, kill_process_group, waitid,
};

use super::Death;

/// A process that was not waited for yet: its id is not reused, and neither is that of its group.
pub(super) struct Process {
    pub(super) pid: Pid,
    /// Its directory, if it has one of its own: orphans are known by it.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "no orphans are known"))]
    pub(super) tmpdir: Option<PathBuf>,
    /// Whether it was killed: it may have been waited for since.
    is_killed: bool,
}

impl Process {
    pub(super) const fn new(pid: Pid, tmpdir: Option<PathBuf>) -> Self {
        Self { pid, tmpdir, is_killed: false }
    }

    /// With its group, once. It may have left the group.
    pub(super) fn kill(&mut self) {
        if !self.is_killed {
            self.is_killed = true;
            let _ = kill_process_group(self.pid, Signal::KILL);
            let _ = kill_process(self.pid, Signal::KILL);
        }
    }

    /// How it ended, if it has. It is not waited for.
    pub(super) fn death(&self) -> Option<Death> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.pid), options) {
            Ok(None) => None,
            Ok(Some(status)) => Some(death(&status)),
            // If a process ignores its children, the system itself waits for them.
            Err(_) => Some(Death::Unknown),
        }
    }
}

/// When a process was started, on Linux: with its number it is unique.
pub(super) fn start_time(number: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{number}/stat")).ok()?;
    ProcessStat::parse(&stat).ok().map(|stat| stat.start_time)
}

/// The name of a process's socket. If its start time is unknown, the key is 0 (F-61).
pub fn socket_name(number: u32) -> SocketName {
    SocketName::new(number, start_time(number).unwrap_or(UNKNOWN_KEY))
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
