//! The command that starts a target.

use std::time::Duration;

use crate::program::Program;

/// The command that starts a target.
///
/// It runs in the current directory, and gets a new directory as `TMPDIR`. Its first line gives its
/// address: the path of a socket, or a process id; or a socket named like a default port appears in
/// that directory, which every runtime creates. On Windows the line is a pipe with its prefix, or a
/// process id, and the pipe of the default port is found by the process; the directory is also
/// `TMP` and `TEMP`.
///
/// A target for a dump runs in that directory, so that the dump is written there: its program and
/// arguments that are files become absolute paths.
#[derive(Clone, Debug)]
pub struct SpawnCommand {
    /// The program.
    pub program: Program,
    /// How long it may take until it can be reached.
    pub patience: Duration,
    /// How long it runs until it is idle. Before that no case is played.
    pub settles: Duration,
}

impl SpawnCommand {
    /// How long the managed code of a program runs until it is idle.
    pub const SETTLES: Duration = Duration::from_millis(500);
}
