//! The arguments that locate the server under test.

use std::ffi::OsString;
#[cfg(unix)]
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use diagipc::{Address, Program, SpawnCommand};
#[cfg(unix)]
use dotnet_diagnostics_ipc::io::WaitLimit;

/// How long a started target may take until it can be reached.
pub(crate) const STARTS: Duration = Duration::from_secs(30);

/// An endpoint, or the command that starts the target.
#[derive(clap::Args)]
#[allow(clippy::doc_markdown, reason = "this is the help of a command")]
pub(crate) struct AddressArguments {
    /// A process id, the path of a socket, a pipe (`\\.\pipe\NAME`), or port:PATH to wait there
    /// for a runtime that connects. On Windows a process id, a pipe, or port:NAME for a pipe
    /// that it connects to
    #[arg(required_unless_present_any = ["spawn", "list"])]
    endpoint: Option<Address>,

    /// Start the target with COMMAND, and again after its death. It gets a new TMPDIR, and is
    /// reached at its default port's socket there, or at the socket whose path or process id
    /// is its first line of output; on Windows at the pipe of its process, or at the pipe in
    /// its first line
    #[arg(long, requires = "command", conflicts_with = "endpoint")]
    spawn: bool,

    /// The command that starts the target, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The socket of a runtime that exists, whether anybody listens there or not.
///
/// # Errors
/// There is none.
#[cfg(unix)]
pub(crate) fn existing(runtime: &Address) -> Result<PathBuf, String> {
    let path = runtime.find(&WaitLimit::FOREVER)?;
    if path.exists() { Ok(path) } else { Err(format!("{} does not exist", path.display())) }
}

impl AddressArguments {
    pub(crate) fn address(&self) -> anyhow::Result<Address> {
        let mut command = self.command.iter().cloned();
        Ok(match (&self.endpoint, command.next()) {
            (Some(address), None) => address.clone(),
            (None, Some(program)) => {
                #[cfg(unix)]
                crate::commands::interrupt::own()?;
                Address::Spawn(SpawnCommand {
                    program: Program::new(program, command),
                    patience: STARTS,
                    settles: SpawnCommand::SETTLES,
                })
            }
            _ => bail!("a command needs --spawn"),
        })
    }
}
