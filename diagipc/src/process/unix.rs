//! Processes on Unix, each with its group.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command};

use dotnet_diagnostics_ipc::endpoint::{SocketName, UNKNOWN_KEY};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process, kill_process_group, waitid,
};

use super::Death;
use crate::process::procfs::Stat;

/// A process that was not waited for yet, so that its id and its group's id are not reused.
pub(super) struct UnixProcess {
    pub(super) pid: Pid,
    /// The directory of the process, if it has one, by which orphans are recognised.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "no orphans are known"))]
    pub(super) tmpdir: Option<PathBuf>,
    /// Whether the process was killed; it may have been waited for since.
    is_killed: bool,
}

impl UnixProcess {
    pub(super) const fn new(pid: Pid, tmpdir: Option<PathBuf>) -> Self {
        Self { pid, tmpdir, is_killed: false }
    }

    /// Starts the process. Without a group of its own, only the process itself is ended.
    pub(super) fn start(command: &mut Command) -> io::Result<(Child, Self)> {
        let tmpdir = command.get_envs().find(|(name, _)| *name == "TMPDIR");
        let tmpdir = tmpdir.and_then(|(_, value)| value).map(PathBuf::from);
        let child = command.spawn()?;
        let process = Self::new(Pid::from_child(&child), tmpdir);
        Ok((child, process))
    }

    /// Kills the process with its group, once. The process may have left the group.
    ///
    /// # Errors
    /// Fails if another user runs the process. It may have ended by itself.
    pub(super) fn kill(&mut self) -> io::Result<()> {
        if self.is_killed {
            return Ok(());
        }
        self.is_killed = true;
        let _ = kill_process_group(self.pid, Signal::KILL);
        Ok(kill_process(self.pid, Signal::KILL)?)
    }

    pub(super) fn is_running(&self) -> bool {
        state(self.pid).is_none()
    }
}

/// Sends SIGTERM to a process and its group. The process may take time, or ignore it.
pub(super) fn ask_to_end(child: &Child) -> io::Result<()> {
    let pid = Pid::from_child(child);
    // The process may have no group of its own.
    let _ = kill_process_group(pid, Signal::TERM);
    Ok(kill_process(pid, Signal::TERM)?)
}

/// Returns how the process ended, if it has. It is not waited for, so its id is not reused.
pub(super) fn death(child: &mut Child) -> Option<Death> {
    state(Pid::from_child(child))
}

fn state(pid: Pid) -> Option<Death> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(pid), options) {
        Ok(None) => None,
        Ok(Some(status)) => Some(how(&status)),
        // If a process ignores its children, the system itself waits for them.
        Err(_) => Some(Death::Unknown),
    }
}

/// Returns when a process was started; on Linux this and its id are unique together.
pub(super) fn start_time(number: u32) -> Option<u64> {
    Stat::of(number)?.start_time
}

/// Returns the name of a process's socket. If its start time is unknown, the key is 0 (F-61).
pub fn socket_name(number: u32) -> SocketName {
    SocketName::new(number, start_time(number).unwrap_or(UNKNOWN_KEY))
}

#[cfg(not(target_os = "netbsd"))]
fn how(status: &WaitIdStatus) -> Death {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Death::Status(code),
        (None, Some(signal)) => Death::Signal(signal),
        (None, None) => Death::Unknown,
    }
}

/// Returns `Unknown`, because `rustix` reads neither status there.
#[cfg(target_os = "netbsd")]
fn how(_: &WaitIdStatus) -> Death {
    Death::Unknown
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Stdio;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::super::registry::{end_all_started, everything};
    use super::super::{OwnDirectory, Started};
    use super::*;

    /// Returns whether the process has ended, if it exists.
    #[cfg(target_os = "linux")]
    fn has_ended(id: u32) -> Option<bool> {
        Stat::of(id).map(|stat| stat.has_ended)
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
            assert_eq!(has_ended(leader), Some(true));
        }
        assert_eq!(has_ended(member), Some(false));
        assert_eq!(started.end().and_then(|status| status.code()), Some(7));
        assert_eq!(has_ended(leader), None);
        // The new parent may or may not wait for it.
        until(|| (has_ended(member) != Some(false)).then_some(()));
    }

    #[test]
    fn started_and_directory_end_on_drop() {
        let directory = OwnDirectory::new("diagipc-test-").unwrap();
        let path = directory.path().to_path_buf();
        fs::write(path.join("file"), b"").unwrap();
        let mut started =
            Started::start(Command::new("sleep").arg("1000").current_dir(&path)).unwrap();
        assert_eq!(started.death(), None);
        let number = started.id();
        drop(started);
        drop(directory);
        assert!(!path.exists());
        assert!(!everything().has(number, &path));
    }

    /// This runs in a separate process, because nothing can be started afterwards.
    #[test]
    fn end_all_started_ends_all_and_refuses_new() {
        const NAME: &str = "process::unix::tests::end_all_started_ends_all_and_refuses_new";
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
