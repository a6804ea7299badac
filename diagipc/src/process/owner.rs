//! A process that is responsible for everything that the suites start in it.

use std::io;
use std::path::Path;
use std::process::Command;

#[cfg(target_os = "linux")]
use super::orphans::Orphans;
use super::unix::Process;
use super::watcher::Watcher;

/// What such a process has besides.
pub(super) struct Owner {
    watcher: Watcher,
    #[cfg(target_os = "linux")]
    orphans: Orphans,
}

impl Owner {
    #[cfg_attr(
        not(target_os = "linux"),
        allow(clippy::unnecessary_wraps, reason = "only Linux adopts orphans, which can fail")
    )]
    pub(super) fn new(watcher: Command) -> io::Result<Self> {
        Ok(Self {
            watcher: Watcher::new(watcher),
            #[cfg(target_os = "linux")]
            orphans: Orphans::adopted()?,
        })
    }

    /// The orphans that were ended since the last call, in words.
    #[cfg_attr(not(target_os = "linux"), allow(clippy::unused_self, reason = "it has none"))]
    pub(super) fn take_ended(&mut self) -> Option<String> {
        #[cfg(target_os = "linux")]
        return self.orphans.take_ended();
        #[cfg(not(target_os = "linux"))]
        None
    }

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
