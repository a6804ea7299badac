//! Checks a path: its type, its owner, and who could change it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};
use std::string::ToString as _;

use super::judged::Judged;
use super::user_ids::{OurUserId, is_anybody, our_user_id};
use super::{Distrust, TrustPolicy};
use crate::io::{Error, ErrorKind, Phase};

/// The maximum number of symbolic links that Linux follows.
const MOST_LINKS: u32 = 40;
const WRITABLE_FOR_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;
const PERMISSIONS: u32 = 0o7777;

/// Checks the path of a socket before connecting to it.
///
/// # Errors
/// [`Phase::Trust`] and [`ErrorKind::Untrusted`]; [`Phase::Find`] and [`ErrorKind::NotFound`] if it
/// does not exist; [`ErrorKind::Io`] if a part of the path cannot be read.
///
/// ```
/// use dotnet_diagnostics_ipc::io::trust::{TrustPolicy, check_path};
///
/// let error = check_path("/dev/null".as_ref(), TrustPolicy::CHECKED).unwrap_err();
/// assert_eq!(error.to_string(), "the endpoint is not trusted: /dev/null is a device, not a socket (checking the endpoint's owner)");
/// ```
pub fn check_path(path: &Path, policy: TrustPolicy) -> Result<(), Error> {
    if policy == TrustPolicy::UNCHECKED {
        return Ok(());
    }
    judge_path(path, policy).map(drop)
}

/// The same, and a way to check later that the path still leads to the same socket. Even a policy
/// without checks follows the path.
pub(in crate::io) fn judge_path(path: &Path, policy: TrustPolicy) -> Result<Judged, Error> {
    look_at(path, policy).map_err(|kind| match kind {
        ErrorKind::Io(error) if error.kind() == io::ErrorKind::NotFound => {
            Error::new(Phase::Find, ErrorKind::NotFound(path.display().to_string()))
        }
        kind => Error::new(Phase::Trust, kind),
    })
}

fn look_at(path: &Path, policy: TrustPolicy) -> Result<Judged, ErrorKind> {
    if policy == TrustPolicy::UNCHECKED {
        return Ok(Judged::new(&fs::metadata(path)?, policy, None));
    }
    let walk = Walk::new(policy);
    let (at, metadata) = walk.follow(path)?;
    if policy.checks_kind && !metadata.file_type().is_socket() {
        return Err(Distrust::NotASocket { path: at, is: kind_of(metadata.file_type()) }.into());
    }
    walk.check_owner(&at, &metadata)?;
    Ok(Judged::new(&metadata, policy, walk.relies_on_us.get().then_some(*walk.ours)))
}

/// Checks a directory and all above it: that only those trusted by the policy can replace what we
/// create there.
pub(in crate::io) fn check_directory(path: &Path, policy: TrustPolicy) -> Result<(), ErrorKind> {
    let (_, metadata) = Walk::new(policy).follow(path)?;
    if metadata.is_dir() {
        Ok(())
    } else {
        Err(io::Error::from(io::ErrorKind::NotADirectory).into())
    }
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
    ours: OurUserId,
    /// Whether anything on the path is trusted because we own it.
    relies_on_us: Cell<bool>,
}

impl Walk {
    fn new(policy: TrustPolicy) -> Self {
        Self { policy, ours: our_user_id(), relies_on_us: Cell::new(false) }
    }

    /// Walks to the end of `path` through every directory and symbolic link, and checks each of
    /// them.
    fn follow(&self, path: &Path) -> Result<(PathBuf, Metadata), ErrorKind> {
        let path = std::path::absolute(path)?;
        let (root, rest) = split_root(&path);
        let mut todo: VecDeque<Part> = parts(rest).collect();
        let mut at = root.to_path_buf();
        // The directory itself, if `/proc/PID/root` is a symbolic link.
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
                // Its owner can redirect it, at least in a sticky directory.
                self.check_owner(&entry, &found)?;
                links = links.saturating_add(1);
                if links > MOST_LINKS {
                    return Err(io::Error::other("too many symbolic links").into());
                }
                for part in
                    parts(&fs::read_link(&entry)?).collect::<std::vec::Vec<_>>().into_iter().rev()
                {
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
        if self.policy.trusts_all(owner) {
            return Ok(());
        }
        if owner == *self.ours {
            self.relies_on_us.set(true);
            return Ok(());
        }
        Err(Distrust::OtherOwner { path: path.to_path_buf(), owner, ours: *self.ours }.into())
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

/// The root of the path: ours, or that of another process. The latter is not a symbolic link that
/// could be read and followed: its text is `/`.
fn split_root(path: &Path) -> (&Path, &Path) {
    let whole = (Path::new("/"), path.strip_prefix("/").unwrap_or(path));
    if !cfg!(any(target_os = "linux", target_os = "android")) {
        return whole;
    }
    let mut components = path.components();
    let first: [Option<&str>; 4] =
        core::array::from_fn(|_| components.next().and_then(|part| part.as_os_str().to_str()));
    match first {
        [Some("/"), Some("proc"), Some(pid), Some("root")]
            if pid == "self" || pid.bytes().all(|b| b.is_ascii_digit()) =>
        {
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
    fn root_of_other_process_is_split_off() {
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
