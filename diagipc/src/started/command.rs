//! A command of the user that this program runs.

use std::io::{self, IsTerminal as _};
use std::process::{Command, ExitStatus};

use super::Started;

/// A command of the user, which shares this process's input and output.
///
/// At a terminal it is in the group of this process: it may read the input, and receives Ctrl-C
/// itself. Otherwise it has its own group, of which nothing is left when this is dropped.
///
/// ```no_run
/// use std::process::Command;
///
/// use diagipc::RunningCommand;
///
/// let mut command = RunningCommand::start(Command::new("dotnet").arg("app.dll"))?;
/// command.ends_before(|| false);
/// println!("{:?}", command.end());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct RunningCommand {
    started: Started,
    is_at_a_terminal: bool,
}

impl RunningCommand {
    /// Starts it.
    ///
    /// # Errors
    /// It cannot be started: the error names its program.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let is_at_a_terminal = io::stdin().is_terminal();
        let start = if is_at_a_terminal { Started::start_in_our_group } else { Started::start };
        let started = start(command).map_err(|error| {
            let program = command.get_program().to_string_lossy();
            io::Error::new(error.kind(), format!("{program}: {error}"))
        })?;
        Ok(Self { started, is_at_a_terminal })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.started.id()
    }

    /// Whether a Ctrl-C at the terminal reaches it too.
    pub const fn is_at_a_terminal(&self) -> bool {
        self.is_at_a_terminal
    }

    /// Waits for its end, or until `is_over`. Whether it has ended.
    pub fn ends_before(&mut self, is_over: impl FnMut() -> bool) -> bool {
        self.started.ends_before(is_over)
    }

    /// Sends it a SIGTERM, with its group if that is its own. It may take time, or ignore it.
    #[cfg(unix)]
    pub fn ask_to_end(&self) {
        self.started.ask_to_end();
    }

    /// Ends it and what it has started. How it ended; `None` if unknown.
    pub fn end(&mut self) -> Option<ExitStatus> {
        self.started.end()
    }
}
