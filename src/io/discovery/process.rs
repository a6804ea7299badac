//! What the system tells of a process.

use std::path::PathBuf;

/// What can be known of a process.
#[allow(clippy::struct_field_names)]
// Without `/proc`, little of it is.
#[cfg_attr(not(any(target_os = "linux", target_os = "android")), allow(dead_code))]
#[derive(Clone, Debug)]
pub(super) struct Process {
    /// As we number it.
    pub(super) process_id: u32,
    /// As it numbers itself.
    pub(super) inner_id: u32,
    /// The key that its socket should have.
    pub(super) start_time: Option<u64>,
    /// Where its root is, if not where ours is.
    pub(super) root: Option<PathBuf>,
    pub(super) tmpdir: Tmpdir,
    /// Whether there is any code of it.
    pub(super) runs: bool,
}

#[cfg_attr(not(any(target_os = "linux", target_os = "android")), allow(dead_code))]
#[derive(Clone, Debug)]
pub(super) enum Tmpdir {
    /// Its value, absolute; `None` if it is unset or empty.
    Known(Option<PathBuf>),
    Unreadable,
}

/// Whether the system lists a socket as listened on.
#[cfg_attr(not(any(target_os = "linux", target_os = "android")), allow(dead_code))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listening {
    Yes,
    No,
    /// There is no list.
    Unlisted,
}

impl Process {
    pub(super) fn unknown(process_id: u32) -> Self {
        Self { process_id, inner_id: process_id, start_time: None, root: None, tmpdir: Tmpdir::Unreadable, runs: true }
    }
}
