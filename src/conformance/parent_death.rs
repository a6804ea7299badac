//! Processes that do not outlive their parent: the only module of the suites with `unsafe`.

#![allow(unsafe_code)]
#![deny(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

/// The process of `command` is killed when the thread that starts it ends (`PR_SET_PDEATHSIG`), and
/// so when this process ends, for any reason.
///
/// That thread must not end before it has ended the process itself.
pub(super) fn kill_with_parent(command: &mut Command) {
    let parent = getpid();
    let in_the_child = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // It may have ended before.
        if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: what runs between `fork` and `exec` makes two system calls. It takes no lock,
    // allocates nothing, and uses only its own memory: `Errno` becomes an `io::Error` without
    // an allocation.
    unsafe { command.pre_exec(in_the_child) };
}
