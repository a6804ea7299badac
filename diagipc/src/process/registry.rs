//! All processes and directories of all runs of this process, from their start to their end.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use super::left::Left;
use super::program::Death;
use super::removal::remove;
use super::timeouts::Limit;
#[cfg(unix)]
use super::unix::{self as os, UnixProcess as OwnedProcess};
#[cfg(unix)]
use super::watcher::Owner;
#[cfg(windows)]
use super::windows::{self as os, WindowsProcess as OwnedProcess};

/// How long killed processes may take to end, including those that could not be killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait for a killed process, because the system may take long to free its resources.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// The interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The current processes and directories, of all runs of this process.
pub(super) struct Everything {
    /// The processes by their ids, until they have ended and were waited for.
    processes: BTreeMap<u32, OwnedProcess>,
    directories: BTreeSet<PathBuf>,
    /// Children that could not be ended, and were not waited for.
    given_up: BTreeSet<u32>,
    left: Left,
    /// Whether [`end_all_started`] was called, and nothing more may be started.
    is_over: bool,
    /// The owner, if this process is responsible for everything.
    #[cfg(unix)]
    pub(super) owner: Option<Owner>,
}

static EVERYTHING: Mutex<Everything> = Mutex::new(Everything {
    processes: BTreeMap::new(),
    directories: BTreeSet::new(),
    given_up: BTreeSet::new(),
    left: Left::NOTHING,
    is_over: false,
    #[cfg(unix)]
    owner: None,
});

pub(super) fn everything() -> MutexGuard<'static, Everything> {
    EVERYTHING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Everything {
    /// Starts a process, and keeps it until it is forgotten. The lock is held meanwhile, so that
    /// all other children of this process are known.
    ///
    /// # Errors
    /// Fails if the process cannot be started, or [`end_all_started`] was called.
    pub(super) fn start<C>(
        &mut self,
        start: impl FnOnce() -> io::Result<(C, u32, OwnedProcess)>,
    ) -> io::Result<C> {
        self.goes_on()?;
        let (child, number, process) = start()?;
        #[cfg(unix)]
        if let Some(owner) = &mut self.owner {
            owner.started(number);
        }
        self.processes.insert(number, process);
        Ok(child)
    }

    /// Kills a process. From now on another process may have its id.
    ///
    /// # Errors
    /// Fails if the system refuses it.
    pub(super) fn kill(&mut self, number: u32) -> io::Result<()> {
        let killed = self.processes.get_mut(&number).map_or(Ok(()), OwnedProcess::kill);
        #[cfg(unix)]
        if let Some(owner) = &mut self.owner {
            owner.killed(number);
        }
        killed
    }

    /// Records that a child runs on, and is not an orphan.
    fn give_up(&mut self, number: u32, killed: &io::Result<()>) {
        self.given_up.insert(number);
        match killed {
            Err(error) => self.left.running(number, error),
            Ok(()) => self.left.running(number, &"it was killed, and still runs"),
        }
    }

    /// Records a directory.
    pub(super) fn made(&mut self, path: &Path) {
        #[cfg(unix)]
        if let Some(owner) = &mut self.owner {
            owner.made(path);
        }
        self.directories.insert(path.to_owned());
    }

    /// Records that a directory was removed, except for what is mounted below it.
    pub(super) fn removed(&mut self, path: &Path, mounted: Vec<PathBuf>) {
        #[cfg(unix)]
        if let Some(owner) = &mut self.owner {
            owner.removed(path);
        }
        self.directories.remove(path);
        self.left.mounted(mounted);
    }

    /// Checks that another directory or process may be started.
    ///
    /// # Errors
    /// Fails if [`end_all_started`] was called, or the watcher cannot be started.
    pub(super) fn goes_on(&mut self) -> io::Result<()> {
        if self.is_over {
            return Err(io::ErrorKind::Interrupted.into());
        }
        #[cfg(unix)]
        if let Some(owner) = &mut self.owner {
            owner.watched()?;
        }
        Ok(())
    }

    /// Ends the orphans of this process or, without one, of all. Returns whether some are still
    /// running. On Windows they were killed with the process, because they are in its job.
    fn end_orphans(&mut self, of: Option<u32>) -> bool {
        #[cfg(unix)]
        {
            let Some(owner) = &mut self.owner else { return false };
            let of = of.and_then(|number| self.processes.get(&number));
            let is_started =
                |number| self.processes.contains_key(&number) || self.given_up.contains(&number);
            owner.end_orphans(of, &is_started, &mut self.left)
        }
        #[cfg(windows)]
        {
            let mut processes = self.processes.iter();
            processes
                .any(|(number, process)| of.is_none_or(|of| of == *number) && process.is_running())
        }
    }

    #[cfg(all(test, unix))]
    pub(super) fn has(&self, number: u32, directory: &Path) -> bool {
        self.processes.contains_key(&number) || self.directories.contains(directory)
    }
}

/// Removes a process that was killed and waited for, and ends what it has left.
pub(super) fn forget(number: u32) {
    while_it_ends(|everything| everything.end_orphans(Some(number)));
    everything().processes.remove(&number);
    // No process that still runs can have started these orphans.
    while_it_ends(|everything| everything.processes.is_empty() && everything.end_orphans(None));
}

/// Waits until `still` is false, or no longer than killed processes may take.
fn while_it_ends(mut still: impl FnMut(&mut Everything) -> bool) {
    let began = Instant::now();
    while still(&mut everything()) && began.elapsed() < KILL_TIMEOUT {
        thread::sleep(POLL_INTERVAL);
    }
}

/// Makes this process responsible for everything that the suites start: nothing is left when this
/// process ends, even if it is killed.
///
/// Call this once, before the suites, in a program whose only children are those of the suites:
///
/// - Before the first child, this starts `watcher`, a program that calls
///   [`watch_started`](super::watch_started). When this process is gone, the watcher ends what it
///   had started, and removes its directories.
/// - On Linux, orphans become children of this process (`PR_SET_CHILD_SUBREAPER`). Orphans that
///   have left the process group of the program that started them are ended with it, and
///   [`leftovers`] names them. Other children of this process are ended too, except those that it
///   has now.
///
/// # Errors
/// Fails if the system refuses it.
///
/// ```no_run
/// use std::process::Command;
///
/// use diagipc::{own_all_started, watch_started};
///
/// if std::env::args().nth(1).as_deref() == Some("watcher") {
///     return watch_started();
/// }
/// let mut watcher = Command::new(std::env::current_exe()?);
/// watcher.arg("watcher");
/// own_all_started(watcher)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[cfg(unix)]
pub fn own_all_started(watcher: Command) -> io::Result<()> {
    everything().owner = Some(Owner::new(watcher)?);
    Ok(())
}

/// Returns what the runs could not end as they should, since the last call, one sentence each:
///
/// - Orphans that had left the process group of the program that started them, outlived it, and were
///   ended. They are known after [`own_all_started`], on Linux.
/// - Processes that cannot be ended, for example because another user runs them.
/// - Mounts of a process below its directory, which stay.
pub fn leftovers() -> Vec<String> {
    let mut all = everything();
    let left = std::mem::take(&mut all.left).sentences();
    #[cfg(unix)]
    let ended = all.owner.as_mut().and_then(Owner::take_ended);
    #[cfg(windows)]
    let ended = None;
    ended.into_iter().chain(left).collect()
}

/// Kills all running processes that the suites have started, and removes their directories. On Unix
/// each process is killed with its process group, on Windows with all that it has started.
///
/// This is for a program that ends immediately, without waiting for its runs, which then cannot
/// start anything more.
pub fn end_all_started() {
    let mut all = everything();
    all.is_over = true;
    let mut refused = BTreeMap::new();
    for (number, process) in &mut all.processes {
        if let Err(error) = process.kill() {
            refused.insert(*number, error);
        }
    }
    drop(all);
    // A running process may write to its directory.
    while_it_ends(|everything| {
        let orphans = everything.end_orphans(None);
        orphans || everything.processes.values().any(OwnedProcess::is_running)
    });
    let mut all = everything();
    let Everything { processes, directories, left, .. } = &mut *all;
    for (number, error) in refused {
        if processes.get(&number).is_some_and(OwnedProcess::is_running) {
            left.running(number, &error);
        }
    }
    left.mounted(directories.iter().flat_map(|path| remove(path)));
}

/// A process with all that it starts: on Unix its group, on Windows its job. A drop ends them.
///
/// ```no_run
/// use std::process::Command;
///
/// use diagipc::Started;
///
/// let mut command = Started::for_the_user(Command::new("dotnet").arg("app.dll"))?;
/// command.ends_before(|| false);
/// println!("{:?}", command.end());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Started {
    child: Child,
    is_waited_for: bool,
    /// The status with which the process ended, once it was waited for, if known.
    status: Option<ExitStatus>,
}

impl Started {
    /// Starts a process, on Unix as the leader of its own group.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        Self::start_in_our_group(command)
    }

    /// Starts a command of the user, which shares this process's input and output.
    ///
    /// At a terminal on Unix, the command is in the group of this process. It may read the input,
    /// and receives Ctrl-C itself; only the command is ended, not what it has started.
    ///
    /// # Errors
    /// Fails if the command cannot be started; the error names its program.
    pub fn for_the_user(command: &mut Command) -> io::Result<Self> {
        let is_at_a_terminal = io::stdin().is_terminal();
        let start = if is_at_a_terminal { Self::start_in_our_group } else { Self::start };
        start(command).map_err(|error| {
            let program = command.get_program().to_string_lossy();
            io::Error::new(error.kind(), format!("{program}: {error}"))
        })
    }

    fn start_in_our_group(command: &mut Command) -> io::Result<Self> {
        everything().start(|| {
            let (child, process) = OwnedProcess::start(command)?;
            let number = child.id();
            Ok((Self { child, is_waited_for: false, status: None }, number, process))
        })
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Takes standard output and standard error, if they are pipes and were not taken yet.
    pub(crate) fn take_output(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdout.take(), self.child.stderr.take())
    }

    /// Takes standard input, if it is a pipe and was not taken yet.
    pub(crate) fn take_input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Sends SIGTERM to the process, with its group if it has its own. It may take time, or ignore
    /// it.
    ///
    /// # Errors
    /// Fails if the process belongs to another user, as after `sudo`.
    #[cfg(unix)]
    pub fn ask_to_end(&self) -> io::Result<()> {
        if self.is_waited_for { Ok(()) } else { os::ask_to_end(&self.child) }
    }

    /// Returns how the process ended, if it has. Its id is not reused before [`end`](Self::end).
    pub(crate) fn death(&mut self) -> Option<Death> {
        if self.is_waited_for {
            // The id may belong to another process.
            return Some(self.status.map_or(Death::Unknown, Death::from));
        }
        os::death(&mut self.child)
    }

    /// Waits until the process ends, or until `is_over`. Returns whether it has ended.
    pub fn ends_before(&mut self, mut is_over: impl FnMut() -> bool) -> bool {
        while self.death().is_none() {
            if is_over() {
                return false;
            }
            thread::sleep(POLL_INTERVAL);
        }
        true
    }

    /// Ends everything that the process has started, then waits for the process, whose id may be
    /// reused from now on, and briefly for the others. Returns how it ended, if known.
    ///
    /// A process that does not end is given up, and [`leftovers`] names it.
    pub fn end(&mut self) -> Option<ExitStatus> {
        if !self.is_waited_for {
            let killed = everything().kill(self.id());
            let limit = Limit::new(if killed.is_ok() { END_TIMEOUT } else { KILL_TIMEOUT });
            let has_ended = self.ends_before(|| limit.is_over());
            self.is_waited_for = true;
            if has_ended {
                self.status = self.child.wait().ok();
            } else {
                everything().give_up(self.id(), &killed);
            }
            forget(self.id());
        }
        self.status
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.end();
    }
}
