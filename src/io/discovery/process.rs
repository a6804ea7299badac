//! What the system reports about a process.

use std::path::PathBuf;

/// What is known about a process.
#[allow(clippy::struct_field_names)]
// Without `/proc`, that is little.
#[cfg_attr(not(any(target_os = "linux", target_os = "android")), allow(dead_code))]
#[derive(Clone, Debug)]
pub(super) struct Process {
    /// In our pid namespace.
    pub(super) process_id: u32,
    /// In its own pid namespace.
    pub(super) inner_id: u32,
    /// The user as which it runs, if the system reports it.
    pub(super) user: Option<u32>,
    /// The key in its socket's name.
    pub(super) start_time: Option<u64>,
    /// The path of its root, if it differs from ours.
    pub(super) root: Option<PathBuf>,
    pub(super) tmpdir: Tmpdir,
    /// Whether the process has any code.
    pub(super) runs: bool,
}

#[cfg_attr(not(any(target_os = "linux", target_os = "android")), allow(dead_code))]
#[derive(Clone, Debug)]
pub(super) enum Tmpdir {
    /// The value, absolute; `None` if it is unset or empty.
    Known(Option<PathBuf>),
    Unreadable,
}

impl Process {
    pub(super) fn unknown(process_id: u32) -> Self {
        Self {
            process_id,
            inner_id: process_id,
            user: None,
            start_time: None,
            root: None,
            tmpdir: Tmpdir::Unreadable,
            runs: true,
        }
    }

    /// Whether this user can be the one that listens for the process: its own, or root, as which
    /// it may have started.
    pub(super) fn runs_as(&self, user: u32) -> bool {
        user == 0 || self.user.is_none_or(|own| own == user)
    }
}
