//! Without `/proc`: what any Unix can tell.

use std::vec::Vec;

use rustix::process::Pid;

use super::Unseen;
use super::unix::{Listening, Process};

/// None: other processes cannot be looked at.
pub(super) fn processes(_: &mut Vec<Unseen>) -> Vec<Process> {
    Vec::new()
}

/// The process, as far as it can be known: whether it is there.
pub(super) fn process(process_id: u32, unseen: &mut Vec<Unseen>) -> Option<Process> {
    let _ = unseen;
    let pid = Pid::from_raw(i32::try_from(process_id).ok()?)?;
    match rustix::process::test_kill_process(pid) {
        Err(rustix::io::Errno::SRCH) => None,
        // Also if it is not ours.
        _ => Some(Process::unknown(process_id)),
    }
}

/// Who listens is asked of each socket, by connecting to it.
#[derive(Debug, Default)]
pub(super) struct Listeners;

impl Listeners {
    pub(super) fn listens(&mut self, _: u32, _: &str) -> Listening {
        Listening::Unlisted
    }
}
