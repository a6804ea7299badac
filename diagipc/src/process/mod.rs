//! Processes and directories of a run; nothing of them is left when it ends, for any reason.

#[cfg(target_os = "linux")]
mod orphans;
pub mod procfs;
pub(crate) mod program;
mod registry;
mod suspended;
pub(crate) mod timeouts;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
mod watcher;
#[cfg(windows)]
mod windows;

pub use self::program::Death;
pub use self::registry::{OwnDirectory, Started, end_all_started};
#[cfg(unix)]
pub use self::registry::{ended_orphans, own_all_started};
pub use self::suspended::Suspended;
#[cfg(unix)]
pub use self::unix::socket_name;
#[cfg(unix)]
pub use self::watcher::watch_started;
