//! The directories that are handed to started processes.

use std::io;
use std::path::{Path, PathBuf};

use super::registry::everything;
use super::removal::remove;

/// The maximum length of such a path. A runtime's socket fits in 103 bytes, as macOS allows, even
/// in a directory below it with a name of 8 bytes and its separators.
#[cfg(unix)]
const MAX_LEN: usize = 52;

/// A directory for a started process, removed on drop.
///
/// A mount below it is left, and [`leftovers`](super::leftovers) names it.
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
    /// Creates a directory for temporary files, which only this user can enter. On Unix it is in
    /// `/tmp` if its path would otherwise be too long for sockets, or could not be in a list of
    /// diagnostic ports.
    ///
    /// # Errors
    /// Fails if it cannot be created, or [`end_all_started`](super::end_all_started) was called.
    pub fn new(prefix: &str) -> io::Result<Self> {
        let mut everything = everything();
        everything.goes_on()?;
        let mut builder = tempfile::Builder::new();
        let directory = builder.prefix(prefix).tempdir()?;
        #[cfg(unix)]
        let directory = if is_for_sockets(directory.path()) {
            directory
        } else {
            builder.tempdir_in("/tmp").unwrap_or(directory)
        };
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

/// Returns whether sockets fit below this path, and a list of diagnostic ports can contain it.
#[cfg(unix)]
fn is_for_sockets(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.len() <= MAX_LEN && !path.contains([',', ';']))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn directory_for_sockets_is_short_text_without_separators() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;

        let macos = "/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/diagipc-123456";
        for (path, expected) in [
            (&b"/tmp/diagipc-123456"[..], true),
            (macos.as_bytes(), false),
            (b"/tmp/a,b/diagipc-123456", false),
            (b"/tmp/a;b/diagipc-123456", false),
            (b"/tmp/\xff/diagipc-123456", false),
        ] {
            assert_eq!(is_for_sockets(Path::new(OsStr::from_bytes(path))), expected, "{path:?}");
        }
        let socket = "/another/dotnet-diagnostic-123456-1234567890-socket";
        assert_eq!(MAX_LEN + socket.len(), 103);
    }
}
