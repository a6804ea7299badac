//! A process that ends what another process has started, once that is gone for any reason.
//!
//! It reads records, each with a 0 at its end, from its standard input, until the other process
//! closes it by ending. It has a group of its own, to survive the end of the other process's group.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;

#[cfg(target_os = "linux")]
use super::orphans::Orphans;
use super::unix::{UnixProcess, start_time};
#[cfg(target_os = "linux")]
use crate::process::procfs;

/// How long killed processes may take to end.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);
/// The interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// The first byte of a record: a process was started.
const STARTED: u8 = b'+';
/// The first byte of a record: a process was killed, and may be waited for.
const KILLED: u8 = b'-';
/// The first byte of a record: a directory was made.
const MADE: u8 = b'm';
/// The first byte of a record: a directory was removed.
const REMOVED: u8 = b'r';

/// What makes this process responsible for all that it starts: a watcher, and orphans on Linux.
pub(super) struct Owner {
    command: Command,
    watcher: Option<Child>,
    #[cfg(target_os = "linux")]
    orphans: Orphans,
}

impl Owner {
    #[cfg_attr(
        not(target_os = "linux"),
        allow(clippy::unnecessary_wraps, reason = "only Linux adopts orphans, which can fail")
    )]
    pub(super) fn new(command: Command) -> io::Result<Self> {
        Ok(Self {
            command,
            watcher: None,
            #[cfg(target_os = "linux")]
            orphans: Orphans::adopted()?,
        })
    }

    /// Returns a sentence about the orphans that were ended since the last call.
    #[cfg_attr(not(target_os = "linux"), allow(clippy::unused_self, reason = "it has none"))]
    pub(super) fn take_ended(&mut self) -> Option<String> {
        #[cfg(target_os = "linux")]
        return self.orphans.take_ended();
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// Starts the watcher, unless it was started before.
    pub(super) fn watched(&mut self) -> io::Result<()> {
        if self.watcher.is_none() {
            let command = self.command.process_group(0).stdin(Stdio::piped());
            let watcher = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            self.watcher = Some(watcher.map_err(|error| {
                io::Error::new(error.kind(), format!("the watcher cannot be started: {error}"))
            })?);
        }
        Ok(())
    }

    pub(super) fn started(&mut self, number: u32) {
        self.tell(STARTED, format!("{number} {}", start_time(number).unwrap_or(0)).as_bytes());
    }

    /// Records that a process was killed, and that another process may get its id.
    pub(super) fn killed(&mut self, number: u32) {
        self.tell(KILLED, number.to_string().as_bytes());
    }

    pub(super) fn made(&mut self, directory: &Path) {
        self.tell(MADE, directory.as_os_str().as_bytes());
    }

    pub(super) fn removed(&mut self, directory: &Path) {
        self.tell(REMOVED, directory.as_os_str().as_bytes());
    }

    fn tell(&mut self, kind: u8, about: &[u8]) {
        if let Some(input) = self.watcher.as_mut().and_then(|watcher| watcher.stdin.as_mut()) {
            // The watcher may have been killed. It is needed only if this process is killed too.
            let _ = input.write_all(&[&[kind], about, &[0]].concat());
        }
    }

    /// Ends the orphans of a process, or all. Returns whether some are still running. Orphans that
    /// cannot be ended are noted in `left`. `is_started` recognises a child that is not an orphan.
    #[cfg_attr(not(target_os = "linux"), allow(clippy::unused_self, reason = "it has none"))]
    pub(super) fn end_orphans(
        &mut self,
        of: Option<&UnixProcess>,
        is_started: &dyn Fn(u32) -> bool,
        left: &mut super::left::Left,
    ) -> bool {
        #[cfg(target_os = "linux")]
        {
            let watcher = self.watcher.as_ref().map(Child::id);
            let is_started = |number| Some(number) == watcher || is_started(number);
            self.orphans.end(of, &is_started, left)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (of, is_started, left);
            false
        }
    }
}

/// Runs the watcher of [`own_all_started`](super::own_all_started) until standard input ends. It
/// then ends the recorded processes, each with its process group, and on Linux all processes with a
/// recorded directory in their environment, such as `TMPDIR`. It removes these directories.
///
/// # Errors
/// Fails if standard input cannot be read.
pub fn watch_started() -> io::Result<()> {
    let mut left = Left::default();
    for record in io::stdin().lock().split(0) {
        left.note(&record?);
    }
    left.end();
    Ok(())
}

/// The processes and directories that another process has left.
#[derive(Debug, Default, PartialEq, Eq)]
struct Left {
    /// The processes with their start time, if known.
    processes: BTreeMap<u32, Option<u64>>,
    directories: BTreeSet<PathBuf>,
}

impl Left {
    fn note(&mut self, record: &[u8]) {
        let Some((kind, about)) = record.split_first() else { return };
        let text = std::str::from_utf8(about).unwrap_or_default();
        let (number, began) = text.split_once(' ').unwrap_or((text, ""));
        let path = || PathBuf::from(OsStr::from_bytes(about));
        match (*kind, number.parse()) {
            (STARTED, Ok(number)) => {
                self.processes.insert(number, began.parse().ok().filter(|began| *began > 0));
            }
            (KILLED, Ok(number)) => {
                self.processes.remove(&number);
            }
            (MADE, _) => {
                self.directories.insert(path());
            }
            (REMOVED, _) => {
                self.directories.remove(&path());
            }
            _ => {}
        }
    }

    fn end(self) {
        for (number, began) in &self.processes {
            let Some(pid) = i32::try_from(*number).ok().and_then(Pid::from_raw) else { continue };
            // Another process may have the id. If none has it, the group may still exist.
            let now = start_time(*number);
            if now.is_none() || now == *began {
                // An error cannot be reported to anybody.
                let _ = UnixProcess::new(pid, None).kill();
            }
        }
        let began = Instant::now();
        while self.kill_by_environment() && began.elapsed() < KILL_TIMEOUT {
            thread::sleep(POLL_INTERVAL);
        }
        for directory in &self.directories {
            super::removal::remove(directory);
        }
    }

    /// Kills processes by their environment. Returns whether there was one.
    #[cfg(target_os = "linux")]
    fn kill_by_environment(&self) -> bool {
        use rustix::process::{PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

        let mut any = false;
        for number in procfs::processes() {
            let Some(pid) = i32::try_from(number).ok().and_then(Pid::from_raw) else { continue };
            // The process is opened before its environment is read, so that only the process with
            // this environment gets the signal.
            let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
            let is_ours = self
                .directories
                .iter()
                .any(|directory| super::orphans::is_in_environment(number, directory));
            if is_ours && pid != getpid() {
                any |= pidfd_send_signal(process, Signal::KILL).is_ok();
            }
        }
        any
    }

    #[cfg(not(target_os = "linux"))]
    #[allow(clippy::unused_self, reason = "only Linux shows the environment of a process")]
    fn kill_by_environment(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watcher_notes_what_is_left() {
        let mut left = Left::default();
        let records: [&[u8]; 8] =
            [b"+7 100", b"+8 0", b"m/a b\n", b"m/c", b"-7", b"r/c", b"", b"+x 1"];
        for record in records {
            left.note(record);
        }
        let directories = ["/a b\n".into()].into();
        assert_eq!(left, Left { processes: [(8, None)].into(), directories });
    }
}
