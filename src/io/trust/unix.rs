//! Checks a path before connecting, and who listens after it.

use std::cell::{Cell, LazyCell};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, FileType, Metadata, read_to_string};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};
use std::string::ToString as _;
use std::sync::OnceLock;

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
/// assert_eq!(format!("{error:#}"), "the endpoint is not trusted (checking the endpoint's owner): /dev/null is a device, not a socket");
/// ```
pub fn check_path(path: &Path, policy: TrustPolicy) -> Result<(), Error> {
    if policy == TrustPolicy::UNCHECKED {
        return Ok(());
    }
    judge_path(path, policy).map(drop)
}

/// The same, and a way to check later that the path still leads to the same socket. Even a policy
/// without checks follows the path.
pub(in crate::io) fn judge_path(path: &Path, policy: TrustPolicy) -> Result<VerifiedSocket, Error> {
    look_at(path, policy).map_err(|kind| match kind {
        ErrorKind::Io(error) if error.kind() == io::ErrorKind::NotFound => {
            Error::new(Phase::Find, ErrorKind::NotFound(path.display().to_string()))
        }
        kind => Error::new(Phase::Trust, kind),
    })
}

fn look_at(path: &Path, policy: TrustPolicy) -> Result<VerifiedSocket, ErrorKind> {
    if policy == TrustPolicy::UNCHECKED {
        return Ok(VerifiedSocket::new(&fs::metadata(path)?, policy, None));
    }
    let walk = Walk::new(policy);
    let (at, metadata) = walk.follow(path)?;
    if policy.checks_kind && !metadata.file_type().is_socket() {
        return Err(Distrust::NotASocket { path: at, is: kind_of(metadata.file_type()) }.into());
    }
    walk.check_owner(&at, &metadata)?;
    Ok(VerifiedSocket::new(&metadata, policy, walk.relies_on_us.get().then_some(*walk.ours)))
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

/// The process at the other end of a Unix socket, as recorded by the kernel when it called `listen`
/// or `connect`; see [`peer_of`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// Its effective user id then, in our user namespace.
    pub user_id: u32,
    /// Its process id, in our pid namespace; `None` if that cannot see it.
    pub process_id: Option<u32>,
}

/// Checks who listens at the other end of `stream`, before anything is sent. `process_id` is the
/// requested process, in our pid namespace.
///
/// # Errors
/// [`Phase::Trust`] and [`ErrorKind::Untrusted`](crate::io::ErrorKind::Untrusted);
/// [`ErrorKind::Io`](crate::io::ErrorKind::Io) if the system does not report it.
///
/// ```
/// use std::os::unix::net::UnixStream;
/// use dotnet_diagnostics_ipc::io::trust::{TrustPolicy, check_peer};
///
/// let (ours, _theirs) = UnixStream::pair()?;
/// let us = std::process::id();
/// assert!(check_peer(&ours, TrustPolicy::CHECKED, Some(us)).is_ok());
/// assert!(check_peer(&ours, TrustPolicy::CHECKED, Some(us + 1)).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn check_peer(
    stream: &impl AsFd,
    policy: TrustPolicy,
    process_id: Option<u32>,
) -> Result<(), Error> {
    if policy == TrustPolicy::UNCHECKED {
        return Ok(());
    }
    let peer = peer_of(stream).map_err(|error| Error::new(Phase::Trust, error))?;
    let ours = our_user_id();
    if is_anybody(peer.user_id) && !policy.allows(peer.user_id) {
        return Err(Error::new(Phase::Trust, Distrust::UnmappedPeer { owner: peer.user_id }));
    }
    if !policy.trusts_all(peer.user_id) && peer.user_id != *ours {
        return Err(Error::new(
            Phase::Trust,
            Distrust::PeerOwner { owner: peer.user_id, ours: *ours },
        ));
    }
    match (peer.process_id, process_id) {
        (Some(process_id), Some(expected)) if policy.checks_process && process_id != expected => {
            Err(Error::new(Phase::Trust, Distrust::PeerProcess { process_id, expected }))
        }
        _ => Ok(()),
    }
}

/// Who is at the other end of `stream`: whom [`check_peer`] judges, and a runtime's client to its
/// server.
///
/// # Errors
/// If the system does not report it; [`Unsupported`](io::ErrorKind::Unsupported) but on Linux,
/// Android and Apple's systems.
///
/// ```
/// use std::os::unix::net::UnixStream;
/// use dotnet_diagnostics_ipc::io::trust::peer_of;
///
/// let (ours, _theirs) = UnixStream::pair()?;
/// assert_eq!(peer_of(&ours)?.process_id, Some(std::process::id()));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn peer_of(stream: &impl AsFd) -> io::Result<Peer> {
    let (user_id, process_id) = recorded(stream.as_fd())?;
    Ok(Peer { user_id, process_id: u32::try_from(process_id).ok().filter(|id| *id != 0) })
}

// `nix`, since rustix 1.1 reads `pid` as a non-zero number, and the kernel reports zero for a
// process that we cannot see: seen as `Err(code 0)`.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn recorded(stream: BorrowedFd<'_>) -> io::Result<(u32, i32)> {
    use nix::sys::socket::{getsockopt, sockopt};
    let peer = getsockopt(&stream, sockopt::PeerCredentials)?;
    Ok((peer.uid(), peer.pid()))
}

#[cfg(target_vendor = "apple")]
fn recorded(stream: BorrowedFd<'_>) -> io::Result<(u32, i32)> {
    use nix::sys::socket::{getsockopt, sockopt};
    let peer = getsockopt(&stream, sockopt::LocalPeerCred)?;
    Ok((peer.uid(), getsockopt(&stream, sockopt::LocalPeerPid)?))
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn recorded(_: BorrowedFd<'_>) -> io::Result<(u32, i32)> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system does not report who listens"))
}

/// A socket that a policy trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::io) struct VerifiedSocket {
    identity: Identity,
    policy: TrustPolicy,
    /// Our user id, if ownership by us was the reason for trust.
    ours: Option<u32>,
}

/// Device, inode, and change time of the inode: covers its owner, permissions and names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl VerifiedSocket {
    pub(super) fn new(metadata: &Metadata, policy: TrustPolicy, ours: Option<u32>) -> Self {
        Self { identity: Identity::of(metadata), policy, ours }
    }

    /// Whether `policy` is unchanged and `path` still as trusted by it: it leads to that socket,
    /// and our user is the same. Nothing to look at if any socket is trusted; else one system call,
    /// two if our user matters.
    pub(in crate::io) fn is_still(&self, path: &Path, policy: TrustPolicy) -> bool {
        let is_same = || {
            fs::metadata(path).is_ok_and(|metadata| Identity::of(&metadata) == self.identity)
                && self.ours.is_none_or(|ours| ours == *our_user_id())
        };
        self.policy == policy && (policy == TrustPolicy::UNCHECKED || is_same())
    }
}

/// Our effective user id, queried only if needed, and once.
pub(super) type OurUserId = LazyCell<u32>;

pub(super) fn our_user_id() -> OurUserId {
    LazyCell::new(|| rustix::process::geteuid().as_raw())
}

/// Whether this id may be any user's: in a user namespace all unmapped users have one id, that of
/// nobody, and the owner of such a file is unknown.
///
/// That id is the same in the whole system: once it was read, it is kept. Our namespace's map may
/// change between calls. A map that is not readable may be any: in a chroot or a sandbox without
/// `/proc` there are user namespaces too. (A kernel without them has no map either. There user
/// nobody must be allowed explicitly.)
pub(super) fn is_anybody(user_id: u32) -> bool {
    static NOBODY: OnceLock<u32> = OnceLock::new();
    let read = || {
        let text = read_to_string("/proc/sys/kernel/overflowuid").ok()?;
        Some(*NOBODY.get_or_init(|| overflow(&text)))
    };
    let nobody = NOBODY.get().copied().or_else(read).unwrap_or(USUAL);
    HAS_NAMESPACES
        && user_id == nobody
        && !read_to_string("/proc/self/uid_map").is_ok_and(|map| maps_all(&map))
}

/// Whether the system has user namespaces.
const HAS_NAMESPACES: bool = cfg!(any(target_os = "linux", target_os = "android"));
/// The kernel's id of nobody, where none is set or what is set is not readable.
const USUAL: u32 = 65534;

/// The system's id of nobody.
fn overflow(text: &str) -> u32 {
    text.trim().parse().unwrap_or(USUAL)
}

/// Whether each id belongs to one user. A line of the map is the first id inside, the first
/// outside, and the count.
fn maps_all(map: &str) -> bool {
    let count = |line: &str| {
        line.split_ascii_whitespace().nth(2).and_then(|count| count.parse::<u64>().ok())
    };
    let mapped = map.lines().filter_map(count).fold(0, u64::saturating_add);
    // The last id, -1, is never a user.
    mapped >= u64::from(u32::MAX)
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

    #[test]
    fn overflow_id_may_be_any_user_unless_all_are_mapped() {
        assert!(
            maps_all("         0          0 4294967295\n")
                && maps_all("0 0 4294967294\n4294967294 4294967294 1\n")
        );
        for map in
            ["", "0 1000 1\n", "1000 1000 1\n", "0 100000 65536\n", "0 1000 1\n1 100000 65536\n"]
        {
            assert!(!maps_all(map), "{map:?}");
        }
        assert_eq!([overflow("65534\n"), overflow("99\n"), overflow("")], [65534, 99, 65534]);
        assert!(!is_anybody(0));
    }
}
