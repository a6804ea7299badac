//! The directories that are handed to started processes.

use std::io;
use std::path::{Path, PathBuf};

use super::registry::everything;
use super::removal::remove;

/// A directory for a started process, removed on drop.
///
/// What is mounted below it is left, and named by [`leftovers`](super::leftovers).
///
/// ```
/// let directory = diagipc::OwnDirectory::new("diagipc-")?;
/// let path = directory.path().to_path_buf();
/// drop(directory);
/// assert!(!path.exists());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct OwnDirectory(PathBuf);

impl OwnDirectory {
    /// Creates a directory among the temporary files, which only this user can enter.
    ///
    /// # Errors
    /// It cannot be created, or [`end_all_started`](super::end_all_started) was called.
    pub fn new(prefix: &str) -> io::Result<Self> {
        let mut everything = everything();
        everything.goes_on()?;
        let directory = tempfile::Builder::new().prefix(prefix).tempdir()?;
        let path = directory.keep();
        everything.made(&path);
        Ok(Self(path))
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        let mounted = remove(&self.0);
        everything().removed(&self.0, mounted);
    }
}
