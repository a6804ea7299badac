//! Processes on Windows, each with all that it starts.

use std::io;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};

use super::Death;
use super::everything::{everything, forget};
use super::windows_process::Process;

/// A process in a job of its own. Dropping it ends the job: it, its children, and theirs.
#[derive(Debug)]
pub(crate) struct Started {
    process: Process,
    id: u32,
    is_waited_for: bool,
    status: Option<ExitStatus>,
}

impl Started {
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        everything().start(|| {
            let process = Process::start(command)?;
            let id = process.child().id();
            let started = Self { process: process.clone(), id, is_waited_for: false, status: None };
            Ok((started, id, process))
        })
    }

    pub(crate) const fn id(&self) -> u32 {
        self.id
    }

    /// Its standard output and standard error, if they are pipes and were not taken yet.
    pub(crate) fn take_output(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        let mut child = self.process.child();
        (child.stdout.take(), child.stderr.take())
    }

    /// Its standard input, if it is a pipe and was not taken yet.
    pub(crate) fn take_input(&mut self) -> Option<ChildStdin> {
        self.process.child().stdin.take()
    }

    /// How it ended, if it has.
    pub(crate) fn death(&self) -> Option<Death> {
        self.process.death()
    }

    /// Ends the job, and waits for the process; for its children no longer than killed ones may take.
    /// How it ended; `None` if unknown.
    pub(crate) fn end(&mut self) -> Option<ExitStatus> {
        if !self.is_waited_for {
            everything().kill(self.id);
            self.is_waited_for = true;
            self.status = self.process.child().wait().ok();
            forget(self.id);
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
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::process::Stdio;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    const ROLE: &str = "DIAGIPC_TEST_ROLE";
    const SAYS: &str = "it holds the pipe";
    const LONG: Duration = Duration::from_secs(30);

    /// This program in another role, with our standard output unless changed.
    fn this(role: &str) -> Command {
        let mut this = Command::new(std::env::current_exe().unwrap());
        this.args(["--exact", "--nocapture", "started::windows::tests::plays_a_role"])
            .env(ROLE, role)
            .stdin(Stdio::null());
        this
    }

    /// What the programs of the other tests do; alone it does nothing.
    #[test]
    fn plays_a_role() {
        match std::env::var(ROLE).as_deref() {
            Ok("grandchild") => {
                writeln!(io::stdout(), "{SAYS}").unwrap();
                thread::sleep(LONG * 3);
            }
            Ok("child") => {
                this("grandchild").status().unwrap();
            }
            Ok("child that ends") => {
                #[allow(clippy::zombie_processes, reason = "it outlives this process")]
                this("grandchild").spawn().unwrap();
            }
            Ok("tool") => {
                let _child = Started::start(&mut this("child")).unwrap();
                thread::sleep(LONG * 3);
            }
            _ => {}
        }
    }

    /// Waits until a grandchild holds the pipe. Then something comes once nobody holds it any more.
    fn held(pipe: ChildStdout) -> Receiver<()> {
        let mut pipe = BufReader::new(pipe);
        let mut line = String::new();
        while !line.contains(SAYS) {
            assert_ne!(pipe.read_line(&mut line).unwrap(), 0, "{line}");
        }
        let (sender, receiver) = channel();
        thread::spawn(move || {
            pipe.read_to_string(&mut String::new()).unwrap();
            let _ = sender.send(());
        });
        receiver
    }

    #[test]
    fn started_ends_with_its_children() {
        let mut started = Started::start(this("child").stdout(Stdio::piped())).unwrap();
        let is_free = held(started.take_output().0.unwrap());
        assert_eq!(started.death(), None);
        started.end();
        is_free.recv_timeout(LONG).unwrap();
    }

    #[test]
    fn started_that_has_ended_leaves_no_children() {
        let command = &mut this("child that ends");
        let mut started = Started::start(command.stdout(Stdio::piped())).unwrap();
        let is_free = held(started.take_output().0.unwrap());
        let began = Instant::now();
        while started.death().is_none() && began.elapsed() < LONG {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(started.end().and_then(|status| status.code()), Some(0));
        is_free.recv_timeout(LONG).unwrap();
    }

    #[test]
    fn killed_tool_leaves_nothing_started() {
        let mut tool = this("tool").stdout(Stdio::piped()).spawn().unwrap();
        let is_free = held(tool.stdout.take().unwrap());
        tool.kill().unwrap();
        tool.wait().unwrap();
        is_free.recv_timeout(LONG).unwrap();
    }
}
