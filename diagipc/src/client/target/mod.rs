//! The process that the client must diagnose.

#[cfg(unix)]
mod decoys;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::ffi::OsString;
use std::path::Path;

#[cfg(unix)]
pub use self::unix::stand_in;
#[cfg(unix)]
pub(super) use self::unix::{Target, is_there, lacking};
#[cfg(windows)]
pub(super) use self::windows::{Target, is_there, lacking};

/// How to start a process that only calls `stand_in`. Not on Windows: a pipe belongs to the process
/// that created it, so the client uses this one.
#[derive(Clone, Debug)]
pub struct StandIn {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// A path as text for a command line.
pub(super) fn text(path: &Path) -> String {
    path.to_str().map_or_else(|| format!("{}", path.display()), ToOwned::to_owned)
}
