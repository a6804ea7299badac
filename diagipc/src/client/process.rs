//! The client under test as a process: started, waited for, and ended with all its children.

use std::io;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::Canceller;

use crate::process::Started;
use crate::process::program::{Captured, Keep};
use crate::process::timeouts::Limit;
use crate::server::Death;

/// How much of a client's output is kept: more than any scenario sends, so that what is kept of a
/// longer output is wrong.
pub(super) const KEPT: usize = 4 << 20;
/// The exit status of a program that cannot do what it is told to.
pub(super) const CANNOT: i32 = 77;

/// A running client.
pub(super) struct Running {
    process: Started,
    /// How it ended.
    death: Option<Death>,
    stdout: Captured,
    stderr: Captured,
    began: Instant,
}

/// The end of a client.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    /// `None`: it was still running, and was killed.
    pub(super) status: Option<ExitStatus>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) after: Duration,
}

impl Ended {
    pub(super) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Whether the client says that it cannot be given this task.
    pub(super) fn cannot(&self) -> bool {
        self.status.and_then(|status| status.code()) == Some(CANNOT)
    }

    /// The signal that ended it; on Windows the exception, such as 0xC0000005.
    pub(super) fn signal(&self) -> Option<i32> {
        #[cfg(unix)]
        return self
            .status
            .and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status));
        #[cfg(not(unix))]
        return self.status.and_then(|status| status.code()).filter(|code| *code < -0x3000_0000);
    }
}

impl Running {
    /// Starts the client as the leader of its own process group.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Started::start(command)?;
        let (stdout, stderr) = process.take_output();
        Ok(Self {
            process,
            death: None,
            stdout: Captured::start(stdout, Keep::First(KEPT)),
            stderr: Captured::start(stderr, Keep::First(KEPT)),
            began: Instant::now(),
        })
    }

    /// Whether it has ended. Its process id is not reused until [`finish`](Self::finish).
    pub(super) fn has_ended(&mut self) -> bool {
        self.death = self.death.or_else(|| self.process.death());
        self.death.is_some()
    }

    /// Whether it has ended successfully.
    pub(super) fn is_success(&self) -> bool {
        self.death == Some(Death::Status(0))
    }

    /// Waits for the end of the client, or kills it when all `limits` are over or on cancellation,
    /// with everything left in its group.
    pub(super) fn finish(mut self, limits: &[Limit], canceller: Option<&Canceller>) -> Ended {
        let has_ended = self.process.ends_before(|| {
            limits.iter().all(Limit::is_over) || canceller.is_some_and(Canceller::is_cancelled)
        });
        let after = self.began.elapsed();
        let status = self.process.end().filter(|_| has_ended);
        Ended { status, stdout: self.stdout.whole(), stderr: self.stderr.whole(), after }
    }
}
