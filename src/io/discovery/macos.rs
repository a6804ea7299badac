//! Looks up processes without `/proc`; this works on any Unix.

use std::vec::Vec;

use rustix::process::Pid;

use super::{Process, UnreadablePath};

/// Returns no processes, because other processes are not readable.
pub(super) fn processes(_: &mut Vec<UnreadablePath>) -> Vec<Process> {
    Vec::new()
}

/// Returns the process if it exists; only its start time is known.
pub(super) fn process(process_id: u32, unseen: &mut Vec<UnreadablePath>) -> Option<Process> {
    let _ = unseen;
    let pid = Pid::from_raw(i32::try_from(process_id).ok()?)?;
    match rustix::process::test_kill_process(pid) {
        Err(rustix::io::Errno::SRCH) => None,
        // This includes processes of other users.
        _ => Some(Process { start_time: start_time(process_id), ..Process::unknown(process_id) }),
    }
}

/// Returns the key of the process's socket: its start time in whole seconds since the Unix epoch.
/// This follows the document, and was not run on macOS.
#[cfg(target_os = "macos")]
#[allow(unsafe_code, reason = "neither std, rustix nor nix wraps this call")]
#[deny(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]
fn start_time(process_id: u32) -> Option<u64> {
    use std::mem::MaybeUninit;

    use nix::libc::{PROC_PIDTBSDINFO, c_int, proc_bsdinfo, proc_pidinfo};

    let process_id = c_int::try_from(process_id).ok()?;
    let size = c_int::try_from(size_of::<proc_bsdinfo>()).ok()?;
    let mut info = MaybeUninit::<proc_bsdinfo>::uninit();
    // SAFETY: `info` is valid for writes of `size` bytes, and the system does not keep the pointer.
    let written =
        unsafe { proc_pidinfo(process_id, PROC_PIDTBSDINFO, 0, info.as_mut_ptr().cast(), size) };
    // The system describes no process that has ended.
    if written != size {
        return None;
    }
    // SAFETY: The system has written all `size` bytes, and any bytes are a valid `proc_bsdinfo`.
    Some(unsafe { info.assume_init() }.pbi_start_tvsec)
}

#[cfg(not(target_os = "macos"))]
fn start_time(_: u32) -> Option<u64> {
    None
}

/// A replacement for the list of listening sockets: discovery connects to each socket instead.
#[derive(Debug, Default)]
pub(super) struct AnyListeners(());

impl AnyListeners {
    #[allow(clippy::unused_self)] // the list of Linux uses it
    pub(super) fn is_listed(&mut self, _: &str) -> bool {
        false
    }
}
