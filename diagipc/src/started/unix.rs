//! Processes on Unix, each with its group.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::Death;
use super::everything::{everything, forget};
use super::unix_process::Process;

/// A process, usually the leader of its own group. Dropping it ends it and the group.
#[derive(Debug)]
pub(crate) struct Started {
    child: Child,
    pid: Pid,
    is_waited_for: bool,
    status: Option<ExitStatus>,
}

impl Started {
    /// Starts a process as the leader of its own group.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        Self::start_in_our_group(command.process_group(0))
    }

    /// Starts it in the group of this process: one that reads from the terminal must be in the
    /// terminal's group. Then only the process itself is ended.
    pub(crate) fn start_in_our_group(command: &mut Command) -> io::Result<Self> {
        let tmpdir = command.get_envs().find(|(name, _)| *name == "TMPDIR");
        let tmpdir = tmpdir.and_then(|(_, value)| value).map(PathBuf::from);
        everything().start(|| {
            let child = command.spawn()?;
            let pid = Pid::from_child(&child);
            let started = Self { child, pid, is_waited_for: false, status: None };
            let number = started.id();
            Ok((started, number, Process::new(pid, tmpdir)))
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its standard output and standard error, if they are pipes and were not taken yet.
    pub(crate) fn take_output(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdout.take(), self.child.stderr.take())
    }

    /// Its standard input, if it is a pipe and was not taken yet.
    pub(crate) fn take_input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Sends the group a SIGTERM. It may take time, or ignore it.
    pub(crate) fn ask_to_end(&self) {
        if !self.is_waited_for {
            // It may have ended by itself.
            let _ = kill_process_group(self.pid, Signal::TERM);
            let _ = kill_process(self.pid, Signal::TERM);
        }
    }

    /// How it ended, if it has. It is not waited for: its id is not reused.
    pub(crate) fn death(&self) -> Option<Death> {
        // Once it was waited for, the id may belong to another child.
        if self.is_waited_for { Some(Death::Unknown) } else { Process::new(self.pid, None).death() }
    }

    /// Ends the rest of the group, then waits for the process, whose id may be reused from now on.
    /// How it ended; `None` if unknown.
    pub(crate) fn end(&mut self) -> Option<ExitStatus> {
        if !self.is_waited_for {
            everything().kill(self.id());
            self.is_waited_for = true;
            self.status = self.child.wait().ok();
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Stdio;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::super::everything::{OwnDirectory, end_all_started};
    use super::*;

    /// The letter of its state, if such a process exists.
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
    fn started_dead_keeps_its_process_id_until_group_ends() {
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
        // Its new parent waits for it, or does not.
        until(|| matches!(state(member), None | Some('Z')).then_some(()));
    }

    #[test]
    fn started_and_directory_end_on_drop() {
        let directory = OwnDirectory::new("diagipc-test-").unwrap();
        let path = directory.path().to_path_buf();
        fs::write(path.join("file"), b"").unwrap();
        let started = Started::start(Command::new("sleep").arg("1000").current_dir(&path)).unwrap();
        assert_eq!(started.death(), None);
        let pid = started.pid;
        drop(started);
        drop(directory);
        assert!(!path.exists());
        let number = pid.as_raw_nonzero().get().unsigned_abs();
        assert!(!everything().has(number, &path));
    }

    /// In a separate process, in which nothing can be started afterwards.
    #[test]
    fn end_all_started_ends_all_and_refuses_new() {
        const NAME: &str = "started::unix::tests::end_all_started_ends_all_and_refuses_new";
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
        assert_eq!(
            started.end().and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status)),
            Some(9)
        );
        assert_eq!(sleep().err().unwrap().kind(), io::ErrorKind::Interrupted);
        assert_eq!(
            OwnDirectory::new("diagipc-test-").err().unwrap().kind(),
            io::ErrorKind::Interrupted
        );
        assert!(!everything().has(started.id(), &std::path::PathBuf::new()));
    }
}
