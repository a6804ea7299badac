//! Looks at a path: what it is, whose it is, and who could change it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};
use std::string::ToString as _;

use super::user_ids::is_anybody;
use super::{Distrust, TrustPolicy};
use crate::io::{Error, ErrorKind, Phase};

/// As many symbolic links as Linux follows.
const MOST_LINKS: u32 = 40;
const WRITABLE_FOR_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;
const PERMISSIONS: u32 = 0o7777;

/// Looks at the path of a socket, before connecting to it.
///
/// # Errors
/// [`Phase::Trust`] and [`ErrorKind::Untrusted`]; [`Phase::Find`] and [`ErrorKind::NotFound`] where there is nothing;
/// [`ErrorKind::Io`] where a part of the path cannot be looked at.
///
/// ```
/// use dotnet_diagnostics_ipc::io::trust::{TrustPolicy, check_path};
///
/// let error = check_path("/dev/null".as_ref(), TrustPolicy::CHECKED).unwrap_err();
/// assert_eq!(format!("{error:#}"), "looking at who owns the endpoint: /dev/null is a device, not a socket");
/// ```
pub fn check_path(path: &Path, policy: TrustPolicy) -> Result<(), Error> {
    look_at(path, policy).map_err(|kind| match kind {
        ErrorKind::Io(error) if error.kind() == io::ErrorKind::NotFound => {
            Error::new(Phase::Find, ErrorKind::NotFound(path.display().to_string()))
        }
        kind => Error::new(Phase::Trust, kind),
    })
}

fn look_at(path: &Path, policy: TrustPolicy) -> Result<(), ErrorKind> {
    if policy == TrustPolicy::UNCHECKED {
        return Ok(());
    }
    let walk = Walk::new(policy);
    let (at, metadata) = walk.follow(path)?;
    if policy.checks_kind && !metadata.file_type().is_socket() {
        return Err(Distrust::NotASocket { path: at, is: kind_of(metadata.file_type()) }.into());
    }
    walk.check_owner(&at, &metadata)
}

/// Looks at a directory and all above it: that nobody but those whom the policy trusts can replace what we put there.
pub(in crate::io) fn check_directory(path: &Path, policy: TrustPolicy) -> Result<(), ErrorKind> {
    let (_, metadata) = Walk::new(policy).follow(path)?;
    if metadata.is_dir() { Ok(()) } else { Err(io::Error::from(io::ErrorKind::NotADirectory).into()) }
}

pub(in crate::io) fn kind_of(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_file() {
        "a file"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "something else"
    }
}

struct Walk {
    policy: TrustPolicy,
    ours: u32,
}

impl Walk {
    fn new(policy: TrustPolicy) -> Self {
        Self { policy, ours: rustix::process::geteuid().as_raw() }
    }

    /// Goes down to the end of `path` through every directory and symbolic link, and looks at each of them.
    fn follow(&self, path: &Path) -> Result<(PathBuf, Metadata), ErrorKind> {
        let path = std::path::absolute(path)?;
        let (root, rest) = split_root(&path);
        let mut todo: VecDeque<Part> = parts(rest).collect();
        let mut at = root.to_path_buf();
        // The directory itself, where `/proc/PID/root` is a symbolic link.
        let mut metadata = fs::metadata(&at)?;
        self.check_directory(&at, &metadata)?;
        let mut links = 0_u32;
        while let Some(part) = todo.pop_front() {
            if !metadata.is_dir() {
                return Err(io::Error::from(io::ErrorKind::NotADirectory).into());
            }
            let name = match part {
                Part::Root => {
                    at = root.to_path_buf();
                    metadata = fs::metadata(&at)?;
                    continue;
                }
                Part::Up => {
                    if at != root {
                        at.pop();
                    }
                    metadata = fs::metadata(&at)?;
                    continue;
                }
                Part::Down(name) => name,
            };
            let entry = at.join(name);
            let found = fs::symlink_metadata(&entry)?;
            if found.is_symlink() {
                // Who owns it can point it elsewhere, at least in a sticky directory.
                self.check_owner(&entry, &found)?;
                links = links.saturating_add(1);
                if links > MOST_LINKS {
                    return Err(io::Error::other("too many symbolic links").into());
                }
                for part in parts(&fs::read_link(&entry)?).collect::<std::vec::Vec<_>>().into_iter().rev() {
                    todo.push_front(part);
                }
                continue;
            }
            if found.is_dir() {
                self.check_directory(&entry, &found)?;
            }
            at = entry;
            metadata = found;
        }
        Ok((at, metadata))
    }

    fn check_owner(&self, path: &Path, metadata: &Metadata) -> Result<(), ErrorKind> {
        let owner = metadata.uid();
        if is_anybody(owner) && !self.policy.allows(owner) {
            return Err(Distrust::UnmappedOwner { path: path.to_path_buf(), owner }.into());
        }
        if self.policy.trusts(owner, self.ours) {
            return Ok(());
        }
        Err(Distrust::OtherOwner { path: path.to_path_buf(), owner, ours: self.ours }.into())
    }

    fn check_directory(&self, path: &Path, metadata: &Metadata) -> Result<(), ErrorKind> {
        self.check_owner(path, metadata)?;
        let mode = metadata.mode() & PERMISSIONS;
        if self.policy.checks_directories && mode & WRITABLE_FOR_OTHERS != 0 && mode & STICKY == 0 {
            return Err(Distrust::SharedDirectory { path: path.to_path_buf(), mode }.into());
        }
        Ok(())
    }
}

/// The root that the path begins with: ours, or that of another process. The latter is no symbolic link that could be read and
/// followed: its text is `/`.
fn split_root(path: &Path) -> (&Path, &Path) {
    let whole = (Path::new("/"), path.strip_prefix("/").unwrap_or(path));
    if !cfg!(any(target_os = "linux", target_os = "android")) {
        return whole;
    }
    let mut components = path.components();
    let first: [Option<&str>; 4] = core::array::from_fn(|_| components.next().and_then(|part| part.as_os_str().to_str()));
    match first {
        [Some("/"), Some("proc"), Some(pid), Some("root")] if pid == "self" || pid.bytes().all(|b| b.is_ascii_digit()) => {
            let rest = components.as_path();
            let root = path.ancestors().nth(rest.components().count());
            root.map_or(whole, |root| (root, rest))
        }
        _ => whole,
    }
}

enum Part {
    Root,
    Up,
    Down(OsString),
}

fn parts(path: &Path) -> impl Iterator<Item = Part> + '_ {
    path.components().filter_map(|component| match component {
        Component::RootDir | Component::Prefix(_) => Some(Part::Root),
        Component::CurDir => None,
        Component::ParentDir => Some(Part::Up),
        Component::Normal(name) => Some(Part::Down(name.to_os_string())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn root_of_another_process_is_a_root() {
        #[track_caller]
        fn split(path: &str, root: &str, rest: &str) {
            assert_eq!(split_root(Path::new(path)), (Path::new(root), Path::new(rest)));
        }
        split("/tmp/x", "/", "tmp/x");
        split("/", "/", "");
        split("/proc/12/root/tmp/x", "/proc/12/root", "tmp/x");
        split("/proc/self/root", "/proc/self/root", "");
        split("/proc/12/roots/x", "/", "proc/12/roots/x");
        split("/proc/x/root/y", "/", "proc/x/root/y");
    }
}
