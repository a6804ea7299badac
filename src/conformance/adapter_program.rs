//! The process of an adapter, which on Unix leads its own group.

use std::io;
#[cfg(not(unix))]
use std::process::Child;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

#[cfg(unix)]
use super::started::Started;

/// Dropping it ends it, on Unix with its group.
#[derive(Debug)]
pub(super) struct Program {
    #[cfg(unix)]
    process: Started,
    #[cfg(not(unix))]
    process: Child,
}

/// Its pipes.
pub(super) type Pipes = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

impl Program {
    pub(super) fn start(command: &mut Command) -> io::Result<(Self, Pipes)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        {
            // When this process ends, its input ends, and so does it.
            let mut process = Started::start(command)?;
            let (stdin, (stdout, stderr)) = (process.take_input(), process.take_output());
            Ok((Self { process }, (stdin, stdout, stderr)))
        }
        #[cfg(not(unix))]
        {
            let mut process = command.spawn()?;
            let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
            Ok((Self { process }, pipes))
        }
    }

    /// Whether it has ended by itself.
    #[cfg_attr(
        unix,
        allow(clippy::needless_pass_by_ref_mut, reason = "elsewhere it is waited for")
    )]
    pub(super) fn has_ended(&mut self) -> bool {
        #[cfg(unix)]
        return self.process.death().is_some();
        #[cfg(not(unix))]
        return !matches!(self.process.try_wait(), Ok(None));
    }

    /// Ends it unless it has ended. How it ended; `None` if unknown.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        #[cfg(unix)]
        return self.process.end();
        #[cfg(not(unix))]
        {
            // It may have ended by itself.
            let _ = self.process.kill();
            self.process.wait().ok()
        }
    }
}

#[cfg(not(unix))]
impl Drop for Program {
    fn drop(&mut self) {
        self.end();
    }
}
