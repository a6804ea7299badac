//! Processes and directories of a run, of which nothing is left when it ends, in whatever way.

use alloc::{collections::BTreeSet, vec::Vec};
use core::time::Duration;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use tempfile::TempDir;

use super::server::Death;

/// How long processes that were killed may take to end.
const ENDS: Duration = Duration::from_secs(1);
/// How long to wait before they are looked at again.
const PAUSE: Duration = Duration::from_millis(5);

/// What there is of it now, of all runs of this process.
struct Everything {
    processes: BTreeSet<i32>,
    directories: BTreeSet<PathBuf>,
    /// Whether [`end_all_started`] was called, and nothing more may be added.
    is_over: bool,
}

static EVERYTHING: Mutex<Everything> =
    Mutex::new(Everything { processes: BTreeSet::new(), directories: BTreeSet::new(), is_over: false });

fn everything() -> MutexGuard<'static, Everything> {
    EVERYTHING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills all processes that the suites have started and that still run, each with its process group, and removes their directories.
///
/// For a program that ends at once, without waiting for its runs: these can start nothing more afterwards.
pub fn end_all_started() {
    let mut everything = everything();
    everything.is_over = true;
    let processes: Vec<Pid> = everything.processes.iter().filter_map(|id| Pid::from_raw(*id)).collect();
    for pid in &processes {
        kill(*pid);
    }
    // What still runs may write to its directory.
    let began = Instant::now();
    while processes.iter().any(|pid| death(*pid).is_none()) && began.elapsed() < ENDS {
        thread::sleep(PAUSE);
    }
    for directory in &everything.directories {
        // Nobody is there any more who could be told.
        let _ = fs::remove_dir_all(directory);
    }
}

/// Kills a process that was not waited for yet: its number is its own, and so is that of its group. It may have left the group.
fn kill(pid: Pid) {
    let _ = kill_process_group(pid, Signal::KILL);
    let _ = kill_process(pid, Signal::KILL);
}

/// How a child of this process ended, if it has. It is not waited for.
fn death(pid: Pid) -> Option<Death> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(pid), options) {
        Ok(None) => None,
        Ok(Some(status)) => Some(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Death::Status(code),
            (None, Some(signal)) => Death::Signal(signal),
            (None, None) => Death::Unknown,
        }),
        // Where a process has no interest in its children, the system itself waits for them.
        Err(_) => Some(Death::Unknown),
    }
}

/// A process, which mostly leads a group of its own. With this value it ends, and the group with it.
#[derive(Debug)]
pub(super) struct Started {
    child: Child,
    pid: Pid,
    is_waited_for: bool,
    status: Option<ExitStatus>,
}

impl Started {
    /// Starts what on Linux also ends with the thread that starts it: that one must keep it, or outlive it.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        super::parent_death::kill_with_parent(command);
        Self::start_that_ends(command)
    }

    /// Starts what ends by itself once this process has.
    pub(super) fn start_that_ends(command: &mut Command) -> io::Result<Self> {
        Self::spawn(command.process_group(0))
    }

    /// Starts it as [`start`](Self::start) does, but in the group of this process: what is to read from the terminal must be in the
    /// one that has it. Only the process itself is ended then.
    pub(super) fn start_in_our_group(command: &mut Command) -> io::Result<Self> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        super::parent_death::kill_with_parent(command);
        Self::spawn(command)
    }

    fn spawn(command: &mut Command) -> io::Result<Self> {
        let child = command.spawn()?;
        let pid = Pid::from_child(&child);
        let mut started = Self { child, pid, is_waited_for: false, status: None };
        let mut everything = everything();
        everything.processes.insert(pid.as_raw_nonzero().get());
        let is_over = everything.is_over;
        drop(everything);
        if is_over {
            started.end();
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(started)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its standard output and standard error, where they are pipes and were not taken yet.
    pub(super) fn take_output(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdout.take(), self.child.stderr.take())
    }

    /// Its standard input, where it is a pipe and was not taken yet.
    pub(super) fn take_input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Tells the group that it is to end (SIGTERM). It may take its time, or not care.
    pub(super) fn ask_to_end(&self) {
        if !self.is_waited_for {
            // It may have ended by itself.
            let _ = kill_process_group(self.pid, Signal::TERM);
            let _ = kill_process(self.pid, Signal::TERM);
        }
    }

    /// How it ended, if it has. It is not waited for: its number stays its own.
    pub(super) fn death(&self) -> Option<Death> {
        // Once it was waited for, the number may be another child's.
        if self.is_waited_for { Some(Death::Unknown) } else { death(self.pid) }
    }

    /// Ends what is left of the group, and then waits for the process, whose number another one may have from now on. How it ended;
    /// `None` where that is unknown.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        if !self.is_waited_for {
            let mut everything = everything();
            kill(self.pid);
            // Before it is waited for: afterwards nobody may kill by this number.
            everything.processes.remove(&self.pid.as_raw_nonzero().get());
            drop(everything);
            self.is_waited_for = true;
            self.status = self.child.wait().ok();
        }
        self.status
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.end();
    }
}

/// A directory for a process that is started, which goes with this value.
pub(super) struct OwnDirectory(Option<TempDir>, PathBuf);

impl OwnDirectory {
    pub(super) fn new(prefix: &str) -> io::Result<Self> {
        let mut everything = everything();
        if everything.is_over {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let directory = tempfile::Builder::new().prefix(prefix).tempdir()?;
        let path = directory.path().to_path_buf();
        everything.directories.insert(path.clone());
        Ok(Self(Some(directory), path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.1
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        drop(self.0.take());
        everything().directories.remove(&self.1);
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::String};
    use std::process::Stdio;

    use super::*;

    /// The letter of its state, where the system has one of such a process.
    #[cfg(target_os = "linux")]
    fn state(id: u32) -> Option<char> {
        let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
    }

    #[track_caller]
    fn until<T>(mut there: impl FnMut() -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(there) = there() {
                return there;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "it does not come");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn started_that_has_died_keeps_its_number_until_its_group_is_ended() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo $!; exit 7"]).stdout(Stdio::piped());
        let mut started = Started::start(&mut command).unwrap();
        let mut line = String::new();
        let (stdout, _) = started.take_output();
        io::BufRead::read_line(&mut io::BufReader::new(stdout.unwrap()), &mut line).unwrap();
        let (leader, member): (u32, u32) = (started.id(), line.trim().parse().unwrap());
        for _ in 0..2 {
            assert_eq!(until(|| started.death()), Death::Status(7));
            assert_eq!(state(leader), Some('Z'));
        }
        assert!(state(member).is_some_and(|state| state != 'Z'));
        assert_eq!(started.end().and_then(|status| status.code()), Some(7));
        assert_eq!(state(leader), None);
        // Whoever has it now looks after it, or does not.
        until(|| matches!(state(member), None | Some('Z')).then_some(()));
    }

    #[test]
    fn started_goes_with_its_value_and_so_does_its_directory() {
        let directory = OwnDirectory::new("diagipc-test-").unwrap();
        let path = directory.path().to_path_buf();
        fs::write(path.join("file"), b"").unwrap();
        let started = Started::start(Command::new("sleep").arg("1000").current_dir(&path)).unwrap();
        assert_eq!(started.death(), None);
        let pid = started.pid;
        drop(started);
        drop(directory);
        assert!(!path.exists());
        let number = pid.as_raw_nonzero().get();
        assert!(!everything().processes.contains(&number) && !everything().directories.contains(&path));
    }

    /// In a process of its own, in which nothing can be started afterwards.
    #[test]
    fn all_that_was_started_ends_and_nothing_starts_any_more() {
        const NAME: &str = "conformance::started::tests::all_that_was_started_ends_and_nothing_starts_any_more";
        const VARIABLE: &str = "DIAGIPC_TEST_ENDS_ALL";
        if std::env::var_os(VARIABLE).is_none() {
            let mut this = Command::new(std::env::current_exe().unwrap());
            let output = this.args(["--exact", NAME]).env(VARIABLE, "1").output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        let directory = OwnDirectory::new("diagipc-test-").unwrap();
        let sleep = || Started::start(Command::new("sleep").arg("1000"));
        let mut started = sleep().unwrap();
        end_all_started();
        assert_eq!(until(|| started.death()), Death::Signal(9));
        assert!(!directory.path().exists());
        assert_eq!(started.end().and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status)), Some(9));
        assert_eq!(sleep().err().unwrap().kind(), io::ErrorKind::Interrupted);
        assert_eq!(OwnDirectory::new("diagipc-test-").err().unwrap().kind(), io::ErrorKind::Interrupted);
        assert!(everything().processes.is_empty());
    }

    #[test]
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn started_ends_with_its_thread() {
        let id = thread::spawn(|| {
            let started = Started::start(Command::new("sleep").arg("1000")).unwrap();
            let id = started.id();
            // As if there were no time left for it.
            core::mem::forget(started);
            id
        });
        let id = id.join().unwrap();
        let pid = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let status = until(|| waitid(WaitId::Pid(pid), options).unwrap());
        assert_eq!(status.terminating_signal(), Some(9));
        everything().processes.remove(&pid.as_raw_nonzero().get());
    }
}
