//! A process that a suite has started.

use std::io::{self, IsTerminal as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::thread;
use std::time::Duration;

use super::program::Death;
use super::registry::{everything, forget};
#[cfg(unix)]
use super::unix as system;
#[cfg(windows)]
use super::windows as system;

/// The interval of polling.
const PAUSE: Duration = Duration::from_millis(2);

/// A process with all that it starts: on Unix its group, on Windows its job. Dropping it ends them.
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
    /// How it ended, once it was waited for, if known.
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
    /// At a terminal it is in the group of this process, on Unix: it may read the input, and receives
    /// Ctrl-C itself, and only it is ended, not what it has started.
    ///
    /// # Errors
    /// It cannot be started: the error names its program.
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
            let (child, process) = system::Process::start(command)?;
            let number = child.id();
            Ok((Self { child, is_waited_for: false, status: None }, number, process))
        })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
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

    /// Sends it a SIGTERM, with its group if that is its own. It may take time, or ignore it.
    #[cfg(unix)]
    pub fn ask_to_end(&self) {
        if !self.is_waited_for {
            system::ask_to_end(&self.child);
        }
    }

    /// How it ended, if it has. Its id is not reused before [`end`](Self::end).
    pub(crate) fn death(&mut self) -> Option<Death> {
        if self.is_waited_for {
            // The id may belong to another process.
            return Some(self.status.map_or(Death::Unknown, Death::from));
        }
        system::death(&mut self.child)
    }

    /// Waits for its end, or until `is_over`. Whether it has ended.
    pub fn ends_before(&mut self, mut is_over: impl FnMut() -> bool) -> bool {
        while self.death().is_none() {
            if is_over() {
                return false;
            }
            thread::sleep(PAUSE);
        }
        true
    }

    /// Ends all that it has started, then waits for the process, whose id may be reused from now on;
    /// for the others no longer than killed ones may take. How it ended; `None` if unknown.
    pub fn end(&mut self) -> Option<ExitStatus> {
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
