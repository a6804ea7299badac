//! The process of an adapter, which on Unix leads its own group, and on Windows has its own job.

use std::io;
#[cfg(not(any(unix, windows)))]
use std::process::Child;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

#[cfg(any(unix, windows))]
use super::started::Started;

/// Dropping it ends it, on Unix with its group, on Windows with its job.
#[derive(Debug)]
pub(super) struct Program {
    #[cfg(any(unix, windows))]
    process: Started,
    #[cfg(not(any(unix, windows)))]
    process: Child,
}

/// Its pipes.
pub(super) type Pipes = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

impl Program {
    pub(super) fn start(command: &mut Command) -> io::Result<(Self, Pipes)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(any(unix, windows))]
        {
            // When this process ends, its input ends, and so does it.
            let mut process = Started::start(command)?;
            let (stdin, (stdout, stderr)) = (process.take_input(), process.take_output());
            Ok((Self { process }, (stdin, stdout, stderr)))
        }
        #[cfg(not(any(unix, windows)))]
        {
            let mut process = command.spawn()?;
            let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
            Ok((Self { process }, pipes))
        }
    }

    /// Whether it has ended by itself.
    #[cfg_attr(
        any(unix, windows),
        allow(clippy::needless_pass_by_ref_mut, reason = "elsewhere it is waited for")
    )]
    pub(super) fn has_ended(&mut self) -> bool {
        #[cfg(any(unix, windows))]
        return self.process.death().is_some();
        #[cfg(not(any(unix, windows)))]
        return !matches!(self.process.try_wait(), Ok(None));
    }

    /// Ends it unless it has ended. How it ended; `None` if unknown.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        #[cfg(any(unix, windows))]
        return self.process.end();
        #[cfg(not(any(unix, windows)))]
        {
            // It may have ended by itself.
            let _ = self.process.kill();
            self.process.wait().ok()
        }
    }
}

#[cfg(not(any(unix, windows)))]
impl Drop for Program {
    fn drop(&mut self) {
        self.end();
    }
}
