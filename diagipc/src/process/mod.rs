//! Processes and directories of a run; nothing of them is left when it ends, for any reason.

mod child;
mod death;
mod everything;
#[cfg(target_os = "linux")]
mod orphans;
pub(crate) mod output_reader;
#[cfg(unix)]
mod owner;
pub mod procfs;
pub(crate) mod program;
pub(crate) mod timeouts;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
mod watcher;
#[cfg(windows)]
mod windows;

pub use self::child::Started;
pub use self::death::Death;
pub use self::everything::{OwnDirectory, end_all_started};
#[cfg(unix)]
pub use self::everything::{ended_orphans, own_all_started};
#[cfg(unix)]
pub use self::unix::socket_name;
#[cfg(unix)]
pub use self::watcher::watch_started;
