//! A process that is responsible for everything that the suites start in it.

use alloc::string::String;
use std::io;
use std::path::Path;
use std::process::Command;

use super::everything::everything;
#[cfg(target_os = "linux")]
use super::orphans::Orphans;
use super::unix_process::Process;
use super::watcher::Watcher;

/// What such a process has besides.
pub(super) struct Owner {
    watcher: Watcher,
    #[cfg(target_os = "linux")]
    orphans: Orphans,
}

/// Makes this process responsible for everything that the suites start in it: nothing of it is left
/// when this process ends, even if it is killed.
///
/// For a program whose only children are those of the suites, which calls it once, before them:
///
/// - Before the first one `watcher` is started, a program that calls [`watch_started`]. When this
///   process is gone, the watcher ends what was started, and removes its directories.
/// - On Linux, orphans become children of this process (`PR_SET_CHILD_SUBREAPER`). Those that have
///   left the process group of the program that started them are ended with it, and
///   [`ended_orphans`] names them. Other children of this process would be ended as well, except
///   those that it has now.
///
/// # Errors
/// The system refuses it.
///
/// ```no_run
/// use std::process::Command;
///
/// use dotnet_diagnostics_ipc::conformance::{own_all_started, watch_started};
///
/// if std::env::args().nth(1).as_deref() == Some("watcher") {
///     return watch_started();
/// }
/// let mut watcher = Command::new(std::env::current_exe()?);
/// watcher.arg("watcher");
/// own_all_started(watcher)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn own_all_started(watcher: Command) -> io::Result<()> {
    everything().owner = Some(Owner {
        watcher: Watcher::new(watcher),
        #[cfg(target_os = "linux")]
        orphans: Orphans::adopted()?,
    });
    Ok(())
}

/// The orphans that were ended since the last call, in words; `None` if there was none.
///
/// They had left the process group of the program that started them, and outlived it. They are
/// known after [`own_all_started`], on Linux.
pub fn ended_orphans() -> Option<String> {
    #[cfg(target_os = "linux")]
    return everything().owner.as_mut()?.orphans.take_ended();
    #[cfg(not(target_os = "linux"))]
    None
}

impl Owner {
    /// Starts the watcher, if it was not yet.
    pub(super) fn watched(&mut self) -> io::Result<()> {
        self.watcher.start()
    }

    pub(super) fn started(&mut self, number: u32) {
        self.watcher.started(number);
    }

    /// Its number is not to be killed any more.
    pub(super) fn killed(&mut self, number: u32) {
        self.watcher.killed(number);
    }

    pub(super) fn made(&mut self, directory: &Path) {
        self.watcher.made(directory);
    }

    pub(super) fn removed(&mut self, directory: &Path) {
        self.watcher.removed(directory);
    }

    /// Ends the orphans of a process, or all. `is_started`: a child that is not an orphan. Whether
    /// some are still running.
    #[cfg_attr(not(target_os = "linux"), allow(clippy::unused_self, reason = "it has none"))]
    pub(super) fn end_orphans(
        &mut self,
        of: Option<&Process>,
        is_started: &dyn Fn(u32) -> bool,
    ) -> bool {
        #[cfg(target_os = "linux")]
        {
            let watcher = self.watcher.number();
            self.orphans.end(of, &|number| Some(number) == watcher || is_started(number))
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (of, is_started);
            false
        }
    }
}
