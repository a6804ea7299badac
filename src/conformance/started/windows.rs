//! Processes on Windows.

use std::io;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};

use super::everything::{everything, forget};
use super::windows_process::Process;
use crate::conformance::server::Death;

/// A process. Dropping it ends it, but not its children.
#[derive(Debug)]
pub(in crate::conformance) struct Started {
    process: Process,
    id: u32,
    is_waited_for: bool,
    status: Option<ExitStatus>,
}

impl Started {
    pub(in crate::conformance) fn start(command: &mut Command) -> io::Result<Self> {
        everything().start(|| {
            let child = command.spawn()?;
            let id = child.id();
            let process = Process::new(child);
            let started = Self { process: process.clone(), id, is_waited_for: false, status: None };
            Ok((started, id, process))
        })
    }

    pub(in crate::conformance) const fn id(&self) -> u32 {
        self.id
    }

    /// Its standard output and standard error, if they are pipes and were not taken yet.
    pub(in crate::conformance) fn take_output(
        &mut self,
    ) -> (Option<ChildStdout>, Option<ChildStderr>) {
        let mut child = self.process.child();
        (child.stdout.take(), child.stderr.take())
    }

    /// Its standard input, if it is a pipe and was not taken yet.
    #[allow(dead_code, reason = "it is needed where adapters and clients are started")]
    pub(in crate::conformance) fn take_input(&mut self) -> Option<ChildStdin> {
        self.process.child().stdin.take()
    }

    /// How it ended, if it has.
    pub(in crate::conformance) fn death(&self) -> Option<Death> {
        self.process.death()
    }

    /// Ends it, and waits for its end. How it ended; `None` if unknown.
    pub(in crate::conformance) fn end(&mut self) -> Option<ExitStatus> {
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
