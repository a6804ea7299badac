//! The process that the client must diagnose.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::path::Path;

#[cfg(unix)]
pub use self::unix::stand_in;
#[cfg(unix)]
pub(super) use self::unix::{Target, is_there, lacking};
#[cfg(windows)]
pub(super) use self::windows::{Target, is_there, lacking};

/// A path as text for a command line.
pub(super) fn text(path: &Path) -> String {
    path.to_str().map_or_else(|| format!("{}", path.display()), ToOwned::to_owned)
}
