//! The sockets in a directory.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};
use std::vec::Vec;

use crate::endpoint::{SocketForm, SocketName};

/// A socket that has the name of a default port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    pub(super) name: SocketName,
    pub(super) owner: u32,
}

/// The sockets in `directory` named like default ports. Files, directories and symbolic links with
/// such a name are skipped.
pub(super) fn sockets(directory: &Path) -> io::Result<Vec<Candidate>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let file_name = entry?.file_name();
        let Some(name) = file_name.to_str().and_then(|name| SocketName::parse(name).ok()) else {
            continue;
        };
        let path = directory.join(&file_name);
        // A socket that has disappeared is skipped.
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if name.form == SocketForm::Socket && metadata.file_type().is_socket() {
            found.push(Candidate { path, name, owner: metadata.uid() });
        }
    }
    Ok(found)
}

/// Identifies a directory: two paths are the same if this is equal.
pub(super) fn identity(directory: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(directory).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// The maximum number of symbolic links that Linux follows.
const MOST_LINKS: u32 = 40;

/// `path` as seen by a process whose root is `root`, as a path without symbolic links that begins
/// with `root`. The kernel would resolve absolute links from our root.
pub(super) fn within(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let mut todo: VecDeque<PathBuf> = VecDeque::from([path.to_path_buf()]);
    let mut at = root.to_path_buf();
    let mut links = 0_u32;
    while let Some(path) = todo.pop_front() {
        let mut components = path.components();
        let Some(component) = components.next() else { continue };
        todo.push_front(components.as_path().to_path_buf());
        match component {
            Component::RootDir | Component::Prefix(_) => at = root.to_path_buf(),
            Component::CurDir => {}
            Component::ParentDir => {
                if at != root {
                    at.pop();
                }
            }
            Component::Normal(name) => {
                let entry = at.join(name);
                if fs::symlink_metadata(&entry)?.is_symlink() {
                    links = links.saturating_add(1);
                    if links > MOST_LINKS {
                        return Err(io::Error::other("too many symbolic links"));
                    }
                    todo.push_front(fs::read_link(&entry)?);
                } else {
                    at = entry;
                }
            }
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_stay_within_the_root() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("root");
        fs::create_dir_all(root.join("var/tmp/deep")).unwrap();
        fs::create_dir(home.path().join("outside")).unwrap();
        symlink("/var/tmp", root.join("tmp")).unwrap();
        symlink("../../../../../../var/tmp/deep", root.join("up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("./var/./tmp", root.join("here")).unwrap();
        let within = |path: &str| within(&root, Path::new(path));
        assert_eq!(within("/tmp").unwrap(), root.join("var/tmp"));
        assert_eq!(within("/tmp/deep/").unwrap(), root.join("var/tmp/deep"));
        assert_eq!(within("/up/../deep").unwrap(), root.join("var/tmp/deep"));
        assert_eq!(within("/../outside").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(within("/here/deep").unwrap(), root.join("var/tmp/deep"));
        assert!(within("/loop").is_err());
    }
}
