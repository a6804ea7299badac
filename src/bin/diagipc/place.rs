//! How a command is told where the server under test is.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::bail;
use dotnet_diagnostics_ipc::conformance::server::{Place, SpawnCommand};

/// How long a target that is started may take until it is reached.
const STARTS: Duration = Duration::from_secs(30);

/// An endpoint, or the command that starts the target.
#[derive(clap::Args)]
#[allow(clippy::doc_markdown, reason = "this is the help of a command")]
pub(crate) struct PlaceArguments {
    /// A process id, the path of a socket, a pipe (`\\.\pipe\NAME`), or port:PATH to wait there for a runtime that connects. On Windows
    /// a process id, a pipe, or port:NAME for a pipe to which it connects
    #[arg(required_unless_present_any = ["spawn", "list"])]
    endpoint: Option<Place>,

    /// Start the target by COMMAND, and again after its death. It gets a TMPDIR of its own, and is reached at the socket of a default
    /// port there, or at the one whose path or process id is the first line that it prints
    #[arg(long, requires = "command", conflicts_with = "endpoint")]
    spawn: bool,

    /// The command that starts the target, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl PlaceArguments {
    pub(crate) fn place(&self) -> anyhow::Result<Place> {
        let mut command = self.command.iter().cloned();
        Ok(match (&self.endpoint, command.next()) {
            (Some(place), None) => place.clone(),
            (None, Some(program)) => spawned(program, command.collect(), false),
            _ => bail!("a command is there without --spawn"),
        })
    }
}

/// The target that a command starts.
pub(crate) fn spawned(program: OsString, arguments: Vec<OsString>, ends_with_input: bool) -> Place {
    Place::Spawn(SpawnCommand { program, arguments, patience: STARTS, ends_with_input })
}
