//! Processes and directories of a run; nothing of them is left when it ends, for any reason.

mod death;
mod everything;
#[cfg(target_os = "linux")]
mod orphans;
#[cfg(unix)]
mod owner;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
mod unix_process;
#[cfg(unix)]
mod watcher;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
mod windows_job;
#[cfg(windows)]
mod windows_process;

pub use self::death::Death;
pub(super) use self::everything::OwnDirectory;
pub use self::everything::end_all_started;
#[cfg(unix)]
pub use self::everything::{ended_orphans, own_all_started};
#[cfg(unix)]
pub(super) use self::unix::Started;
#[cfg(unix)]
pub use self::unix_process::socket_name;
#[cfg(unix)]
pub use self::watcher::watch_started;
#[cfg(windows)]
pub(super) use self::windows::Started;
