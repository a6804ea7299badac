//! Without `/proc`: works on any Unix.

use std::vec::Vec;

use rustix::process::Pid;

use super::found::UnreadablePath;
use super::process::Process;

/// None: other processes are not readable.
pub(super) fn processes(_: &mut Vec<UnreadablePath>) -> Vec<Process> {
    Vec::new()
}

/// What is known of the process: whether it exists.
pub(super) fn process(process_id: u32, unseen: &mut Vec<UnreadablePath>) -> Option<Process> {
    let _ = unseen;
    let pid = Pid::from_raw(i32::try_from(process_id).ok()?)?;
    match rustix::process::test_kill_process(pid) {
        Err(rustix::io::Errno::SRCH) => None,
        // Also if it is not ours.
        _ => Some(Process { start_time: start_time(process_id), ..Process::unknown(process_id) }),
    }
}

/// The key of its socket: its start time in seconds since the Unix epoch. (From the document; not
/// run on macOS.)
#[cfg(target_os = "macos")]
fn start_time(process_id: u32) -> Option<u64> {
    use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};
    let (mut system, pid) = (System::new(), sysinfo::Pid::from_u32(process_id));
    system.refresh_processes_specifics(
        ProcessesToUpdate::Some(&[pid]),
        true,
        ProcessRefreshKind::nothing(),
    );
    system.process(pid).map(sysinfo::Process::start_time)
}

#[cfg(not(target_os = "macos"))]
fn start_time(_: u32) -> Option<u64> {
    None
}

/// Connects to each socket to learn who listens.
#[derive(Debug, Default)]
pub(super) struct Listeners(());

impl Listeners {
    #[allow(clippy::unused_self)] // where there is a list, it is kept
    pub(super) fn is_listed(&mut self, _: &str) -> bool {
        false
    }
}
