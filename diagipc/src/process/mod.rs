//! The processes and directories of a run, which are all removed when the run ends for any reason.

mod directory;
mod left;
#[cfg(target_os = "linux")]
mod orphans;
pub mod procfs;
pub(crate) mod program;
mod registry;
mod removal;
mod suspended;
pub(crate) mod timeouts;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
mod watcher;
#[cfg(windows)]
mod windows;

pub use self::directory::OwnDirectory;
pub use self::program::Death;
#[cfg(unix)]
pub use self::registry::own_all_started;
pub use self::registry::{Started, end_all_started, leftovers};
#[cfg(unix)]
pub(crate) use self::removal::remove;
pub use self::suspended::Suspended;
#[cfg(unix)]
pub use self::unix::socket_name;
#[cfg(unix)]
pub use self::watcher::watch_started;
#[cfg(windows)]
pub use self::windows::{hold_ctrl_c, take_ctrl_c};
