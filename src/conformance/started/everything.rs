//! Everything started and not finished: processes and directories, of all runs of this process.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use tempfile::TempDir;

#[cfg(unix)]
use super::unix_process::Process;
#[cfg(windows)]
use super::windows_process::Process;

/// How long killed processes may take to end.
const ENDS: Duration = Duration::from_secs(1);
/// The interval of polling.
const PAUSE: Duration = Duration::from_millis(5);

/// The current processes and directories, of all runs of this process.
pub(super) struct Everything {
    /// By their numbers.
    pub(super) processes: BTreeMap<u32, Process>,
    pub(super) directories: BTreeSet<PathBuf>,
    /// Whether [`end_all_started`] was called, and nothing more may be added.
    pub(super) is_over: bool,
}

static EVERYTHING: Mutex<Everything> = Mutex::new(Everything {
    processes: BTreeMap::new(),
    directories: BTreeSet::new(),
    is_over: false,
});

pub(super) fn everything() -> MutexGuard<'static, Everything> {
    EVERYTHING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Everything {
    /// Keeps a process until it is finished.
    ///
    /// # Errors
    /// [`end_all_started`] was called: the caller must end it.
    pub(super) fn add(&mut self, number: u32, process: Process) -> io::Result<()> {
        self.processes.insert(number, process);
        if self.is_over { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }
}

/// Kills all running processes that the suites have started, on Unix each with its process group,
/// and removes their directories.
///
/// For a program that ends immediately, without waiting for its runs: these cannot start anything
/// more.
pub fn end_all_started() {
    let mut everything = everything();
    everything.is_over = true;
    for process in everything.processes.values() {
        process.kill();
    }
    // A running process may write to its directory.
    let began = Instant::now();
    while everything.processes.values().any(|process| process.death().is_none())
        && began.elapsed() < ENDS
    {
        thread::sleep(PAUSE);
    }
    for directory in &everything.directories {
        // There is nobody left to report it to.
        let _ = fs::remove_dir_all(directory);
    }
}

/// A directory for a started process, removed on drop.
pub(in crate::conformance) struct OwnDirectory(Option<TempDir>, PathBuf);

impl OwnDirectory {
    pub(in crate::conformance) fn new(prefix: &str) -> io::Result<Self> {
        let mut everything = everything();
        if everything.is_over {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let directory = tempfile::Builder::new().prefix(prefix).tempdir()?;
        let path = directory.path().to_path_buf();
        everything.directories.insert(path.clone());
        Ok(Self(Some(directory), path))
    }

    pub(in crate::conformance) fn path(&self) -> &Path {
        &self.1
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        drop(self.0.take());
        everything().directories.remove(&self.1);
    }
}
