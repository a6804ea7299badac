//! Checks a path before connecting, and the listener after connecting.

use std::collections::VecDeque;
use std::fs::{self, FileType, Metadata, read_to_string};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};
use std::string::ToString as _;
use std::sync::{Arc, OnceLock};
use std::vec::Vec;

use super::TrustPolicy;
use crate::io::error::Distrust;
use crate::io::{Error, ErrorKind, Phase};

/// The maximum number of symbolic links that Linux follows.
const MOST_LINKS: u32 = 40;
const WRITABLE_FOR_GROUP: u32 = 0o020;
const WRITABLE_FOR_OTHERS: u32 = 0o002;
const STICKY: u32 = 0o1000;
const PERMISSIONS: u32 = 0o7777;

/// Checks the path of a socket before connecting to it.
///
/// # Errors
/// [`ErrorKind::Untrusted`] in [`Phase::Trust`]; [`ErrorKind::NotFound`] in [`Phase::Find`] if the
/// path does not exist; [`ErrorKind::Io`] if a part of it cannot be read.
///
/// ```
/// use dotnet_diagnostics_ipc::io::trust::{TrustPolicy, check_path};
///
/// let error = check_path("/dev/null".as_ref(), TrustPolicy::CHECKED).unwrap_err();
/// assert_eq!(error.to_string(), "the endpoint is not trusted: /dev/null is a device, not a socket (checking the endpoint's owner)");
/// ```
pub fn check_path(path: &Path, policy: TrustPolicy) -> Result<(), Error> {
    if policy.checks_nothing {
        return Ok(());
    }
    VerifiedSocket::new(path, policy).map(drop)
}

/// A trusted socket, with its identity, which shows whether it is unchanged.
#[derive(Clone, Debug)]
pub(in crate::io) struct VerifiedSocket {
    pub(in crate::io) path: Arc<Path>,
    identity: Identity,
    policy: TrustPolicy,
    /// Our user id, if ownership by us was the reason for trust.
    ours: Option<u32>,
}

/// The device, inode, and change time of an inode; they cover its owner, permissions and names.
type Identity = (u64, u64, i64, i64);

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
}

impl VerifiedSocket {
    /// Checks a path as [`check_path`] does. Even a policy without checks follows the path.
    pub(in crate::io) fn new(path: &Path, policy: TrustPolicy) -> Result<Self, Error> {
        Self::look_at(path, policy).map_err(|kind| match kind {
            ErrorKind::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                Error::new(Phase::Find, ErrorKind::NotFound(path.display().to_string()))
            }
            kind => Error::new(Phase::Trust, kind),
        })
    }

    fn look_at(path: &Path, policy: TrustPolicy) -> Result<Self, ErrorKind> {
        let verified = |metadata: &Metadata, ours| Self {
            path: path.into(),
            identity: identity(metadata),
            policy,
            ours,
        };
        if policy.checks_nothing {
            return Ok(verified(&fs::metadata(path)?, None));
        }
        let mut ours = None;
        let (at, metadata) = check_way(path, policy, &mut ours)?;
        if !metadata.file_type().is_socket() {
            return Err(Distrust::NotASocket { path: at, is: kind_of(metadata.file_type()) }.into());
        }
        check_entry(&at, &metadata, policy, &mut ours)?;
        Ok(verified(&metadata, ours))
    }

    /// Returns whether the socket is still trusted: `policy` is unchanged, the path leads to the
    /// same socket, and our user is the same. This takes no system call if any socket is trusted;
    /// else one, or two if our user matters.
    pub(in crate::io) fn is_still(&self, policy: TrustPolicy) -> bool {
        let is_same = || {
            fs::metadata(&self.path).is_ok_and(|metadata| identity(&metadata) == self.identity)
                && self.ours.is_none_or(|ours| ours == our_user_id())
        };
        self.policy == policy && (policy.checks_nothing || is_same())
    }
}

/// Checks a directory and all above it, so that only users trusted by the policy can replace what
/// we create there.
pub(in crate::io) fn check_directory(path: &Path, policy: TrustPolicy) -> Result<(), ErrorKind> {
    let (_, metadata) = check_way(path, policy, &mut None)?;
    if metadata.is_dir() { Ok(()) } else { Err(not_a_directory()) }
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

/// Walks to the end of `path` through every directory and symbolic link, and checks each of them.
fn check_way(
    path: &Path,
    policy: TrustPolicy,
    ours: &mut Option<u32>,
) -> Result<(PathBuf, Metadata), ErrorKind> {
    let path = std::path::absolute(path)?;
    let (root, rest) = split_root(&path);
    follow(root, rest, |path, metadata| check_entry(path, metadata, policy, ours))
}

/// Checks the owner, who can redirect a symbolic link and replace what is in a directory, and who
/// else can write to a directory. Sets `ours` if the owner is trusted because it is us.
fn check_entry(
    path: &Path,
    metadata: &Metadata,
    policy: TrustPolicy,
    ours: &mut Option<u32>,
) -> Result<(), ErrorKind> {
    let is_on_the_way = metadata.is_dir() || metadata.is_symlink();
    if is_on_the_way && !policy.checks_directories {
        return Ok(());
    }
    let (path, owner) = (path.to_path_buf(), metadata.uid());
    if is_anybody(owner) && !policy.allows(owner) {
        return Err(Distrust::UnmappedOwner { path, owner }.into());
    }
    if !policy.trusts_all(owner) {
        let us = *ours.get_or_insert_with(our_user_id);
        if owner != us {
            return Err(Distrust::OtherOwner { path, owner, ours: us }.into());
        }
    }
    let mode = metadata.mode() & PERMISSIONS;
    if metadata.is_dir() && mode & STICKY == 0 {
        let for_group = mode & WRITABLE_FOR_GROUP != 0;
        if mode & WRITABLE_FOR_OTHERS != 0 || for_group && !has_private_group(&path, metadata) {
            return Err(Distrust::SharedDirectory { path, mode }.into());
        }
    }
    Ok(())
}

/// Returns whether the group of a directory has only us as its member, and the permissions of the
/// group are not those of an access control list, which may have other users.
fn has_private_group(path: &Path, metadata: &Metadata) -> bool {
    let files = || Some((read_to_string("/etc/passwd").ok()?, read_to_string("/etc/group").ok()?));
    let is_ours = files().is_some_and(|(users, groups)| {
        is_private_group(&users, &groups, our_user_id(), metadata.gid())
    });
    is_ours && !has_access_control_list(path)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn has_access_control_list(path: &Path) -> bool {
    use rustix::io::Errno;

    let mut nothing: [u8; 0] = [];
    let list = rustix::fs::getxattr(path, "system.posix_acl_access", &mut nothing);
    !matches!(list, Err(Errno::NODATA | Errno::NOTSUP))
}

/// Returns `false`: no check of permissions sees the lists of Apple's systems.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn has_access_control_list(_: &Path) -> bool {
    false
}

/// Returns whether `group_id` is the primary group of `user_id` and nobody else's group, by the text
/// of `/etc/passwd` and `/etc/group`.
fn is_private_group(users: &str, groups: &str, user_id: u32, group_id: u32) -> bool {
    // Such a line merges the accounts of a directory service into the file.
    let is_merged = |text: &str| text.lines().any(|line| line.starts_with(['+', '-']));
    if is_merged(users) || is_merged(groups) {
        return false;
    }
    // NAME:PASSWORD:USER:GROUP:…
    let users = users.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let user: u32 = fields.nth(1)?.parse().ok()?;
        let group: u32 = fields.next()?.parse().ok()?;
        Some((name, user, group))
    });
    let (ours, others): (Vec<_>, Vec<_>) = users.partition(|(_, user, _)| *user == user_id);
    let is_ours = |name| ours.iter().any(|(ours, ..)| *ours == name);
    // NAME:PASSWORD:GROUP:MEMBER,MEMBER
    let mut members = groups.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let group: u32 = fields.nth(2)?.parse().ok()?;
        (group == group_id).then(|| fields.next().unwrap_or_default())
    });
    let first = members.next();
    ours.iter().any(|(.., group)| *group == group_id)
        && others.iter().all(|(.., group)| *group != group_id)
        && first.is_some()
        && first
            .into_iter()
            .chain(members)
            .flat_map(|members| members.split(','))
            .all(|member| member.is_empty() || is_ours(member))
}

/// Walks to the end of `path`, as seen by a process whose root is `root`, and returns it as a path
/// without symbolic links that begins with `root`; the kernel would resolve absolute links from our
/// root. `check` gets the root and every directory and symbolic link on the way.
pub(in crate::io) fn follow(
    root: &Path,
    path: &Path,
    mut check: impl FnMut(&Path, &Metadata) -> Result<(), ErrorKind>,
) -> Result<(PathBuf, Metadata), ErrorKind> {
    let mut todo = VecDeque::from([path.to_path_buf()]);
    // `metadata` describes the directory itself, if `/proc/PID/root` is a symbolic link.
    let (mut at, mut metadata, mut links) = (root.to_path_buf(), fs::metadata(root)?, 0_u32);
    check(&at, &metadata)?;
    while let Some(path) = todo.pop_front() {
        let mut components = path.components();
        let Some(component) = components.next() else { continue };
        todo.push_front(components.as_path().to_path_buf());
        if !metadata.is_dir() {
            return Err(not_a_directory());
        }
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
                let found = fs::symlink_metadata(&entry)?;
                if found.is_symlink() || found.is_dir() {
                    check(&entry, &found)?;
                }
                if found.is_symlink() {
                    links = links.saturating_add(1);
                    if links > MOST_LINKS {
                        return Err(io::Error::other("too many symbolic links").into());
                    }
                    todo.push_front(fs::read_link(&entry)?);
                } else {
                    (at, metadata) = (entry, found);
                }
                continue;
            }
        }
        metadata = fs::metadata(&at)?;
    }
    Ok((at, metadata))
}

fn not_a_directory() -> ErrorKind {
    io::Error::from(io::ErrorKind::NotADirectory).into()
}

/// Splits the root off a path: ours, or another process's. The latter cannot be read and followed
/// like a symbolic link, because its text is `/`.
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

/// The process at the other end of a Unix socket, as recorded by the kernel when it called `listen`
/// or `connect`; see [`peer_of`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// The effective user id of the peer at that time, in our user namespace.
    pub user_id: u32,
    /// The process id of the peer in our pid namespace; `None` if that cannot see it.
    pub process_id: Option<u32>,
}

/// Checks who listens at the other end of `stream`, before anything is sent. `process_id` is the
/// requested process, in our pid namespace.
///
/// # Errors
/// Fails in [`Phase::Trust`] with [`ErrorKind::Untrusted`](crate::io::ErrorKind::Untrusted), or
/// with [`ErrorKind::Io`](crate::io::ErrorKind::Io) if the system does not report the peer.
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
    if policy.checks_nothing {
        return Ok(());
    }
    let peer = peer_of(stream).map_err(|error| Error::new(Phase::Trust, error))?;
    let (owner, ours) = (peer.user_id, our_user_id());
    let is_known = peer.process_id.is_some() && process_id.is_some();
    let distrust = if policy.needs_process && !is_known {
        Distrust::UnknownProcess { expected: process_id }
    } else if is_anybody(owner) && !policy.allows(owner) {
        Distrust::UnmappedPeer { owner }
    } else if !policy.trusts_all(owner) && owner != ours {
        Distrust::PeerOwner { owner, ours }
    } else {
        match (peer.process_id, process_id) {
            (Some(process_id), Some(expected)) if process_id != expected => {
                Distrust::PeerProcess { process_id, expected }
            }
            _ => return Ok(()),
        }
    };
    Err(Error::new(Phase::Trust, distrust))
}

/// Returns the process at the other end of `stream`: for a client the listener, which
/// [`check_peer`] checks, and for a server the client.
///
/// # Errors
/// Fails if the system does not report it, with [`Unsupported`](io::ErrorKind::Unsupported) except
/// on Linux, Android and Apple's systems.
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

// This uses `nix`, because rustix 1.1 reads `pid` as a non-zero number, and fails with `code 0` on
// the zero that the kernel reports for a process that we cannot see.
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

/// Returns our effective user id.
fn our_user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns whether this id may be any user's. In a user namespace all unmapped users have one id,
/// that of nobody, so the owner of such a file is unknown.
///
/// The id of nobody is the same in the whole system, so it is read once. Our namespace's map may
/// change between calls. If the map is not readable, as in a chroot or a sandbox without `/proc`,
/// users may be unmapped. (A kernel without user namespaces has no map either. There the policy
/// must allow nobody explicitly.)
fn is_anybody(user_id: u32) -> bool {
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
/// The kernel's default id of nobody, used if the configured id is missing or not readable.
const USUAL: u32 = 65534;

/// Parses the system's id of nobody.
fn overflow(text: &str) -> u32 {
    text.trim().parse().unwrap_or(USUAL)
}

/// Returns whether each id belongs to one user. A line of the map is the first id inside, the first
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
    fn links_stay_within_the_root() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("root");
        fs::create_dir_all(root.join("var/tmp/deep")).unwrap();
        fs::create_dir(home.path().join("outside")).unwrap();
        std::os::unix::fs::symlink("/var/tmp", root.join("tmp")).unwrap();
        std::os::unix::fs::symlink("../../../../../../var/tmp/deep", root.join("up")).unwrap();
        std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
        std::os::unix::fs::symlink("./var/./tmp", root.join("here")).unwrap();
        let within = |path: &str| match follow(&root, Path::new(path), |_, _| Ok(())) {
            Ok((path, _)) => Ok(path),
            Err(ErrorKind::Io(error)) => Err(error),
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(within("/tmp").unwrap(), root.join("var/tmp"));
        assert_eq!(within("/tmp/deep/").unwrap(), root.join("var/tmp/deep"));
        assert_eq!(within("/up/../deep").unwrap(), root.join("var/tmp/deep"));
        assert_eq!(within("/../outside").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(within("/here/deep").unwrap(), root.join("var/tmp/deep"));
        assert!(within("/loop").is_err());
    }

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

    fn private(users: &str, groups: &str) -> bool {
        is_private_group(users, groups, 1000, 1000)
    }

    #[test]
    fn group_is_private_if_it_is_our_primary_one_without_other_members() {
        let users = "root:x:0:0::/root:/bin/sh\nme:x:1000:1000::/:/bin/sh\nalso-me:x:1000:1000::/:\n\
                     you:x:1001:1001::/:\nthey:x:1002:100::/:\n";
        let groups = "root:x:0:\nme:x:1000:\nyou:x:1001:me\nusers:x:100:\n";
        assert!(private(users, groups) && is_private_group(users, groups, 0, 0));
        assert!(private(users, &groups.replace("me:x:1000:", "me:x:1000:me,also-me")));
        // The group has another member, by name or by primary group.
        assert!(!private(users, &groups.replace("me:x:1000:", "me:x:1000:me,you")));
        assert!(!private(users, &[groups, "twin:x:1000:you\n"].concat()));
        assert!(!private(&users.replace("1002:100:", "1002:1000:"), groups));
        // The group is not primary, or not listed, or more accounts may be listed elsewhere.
        assert!(!is_private_group(users, groups, 1000, 1001));
        assert!(!is_private_group(users, groups, 1001, 1000));
        assert!(!private(users, "") && !private("", groups));
        assert!(!private(&[users, "+::::::\n"].concat(), groups));
        assert!(!private(users, &[groups, "+:::\n"].concat()));
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
