//! Creates a listening socket that only we can reach.

use std::fs;
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _,
};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::string::String;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix};

use super::error::Distrust;
use super::trust::{self, TrustPolicy};
use super::unix::{self, Probe, probe};
use super::{Error, ErrorKind, Phase};

/// The backlog of std: the system's maximum.
#[cfg(any(target_os = "linux", target_os = "android"))]
const BACKLOG: i32 = -1;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const BACKLOG: i32 = 128;

const LOCK_ATTEMPTS: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Listens at `path`, only for us: the socket has mode 0600 before the first connection is
/// possible. A missing directory is created with mode 0700; an existing one must not allow others
/// to replace the socket: it must be ours or root's, and writable only for its owner, or sticky as
/// `/tmp`.
///
/// A file that exists at the path is not touched, unless it is our own socket without a listener.
/// Meanwhile an empty file `.NAME.diagipc-lock` next to it serialises our processes. No other file
/// is changed or deleted.
///
/// The guard deletes the socket on drop, if it is still the same.
///
/// # Errors
/// Fails in [`Phase::Listen`], with [`ErrorKind::Untrusted`] for the directory, or a file that is
/// not ours or no socket; [`ErrorKind::Io`] with [`AddrInUse`](io::ErrorKind::AddrInUse) if another
/// process listens there; [`ErrorKind::NotAnEndpoint`] for a path that is too long.
///
/// ```
/// use dotnet_diagnostics_ipc::io::bind_private;
/// # let directory = tempfile::tempdir()?;
/// # let directory = directory.path();
///
/// let path = directory.join("private/port");
/// let (listener, guard) = bind_private(&path)?;
/// assert!(bind_private(&path).is_err());
/// drop((listener, guard));
/// assert!(!path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn bind_private(path: impl AsRef<Path>) -> Result<(UnixListener, SocketGuard), Error> {
    bind_trusting(path, TrustPolicy::CHECKED)
}

/// Listens as [`bind_private`] does, in a directory that `policy` trusts. In a shared directory others
/// can delete the socket, and put their own in its place; they cannot connect to ours.
///
/// # Errors
/// Fails as [`bind_private`] does.
///
/// ```
/// use dotnet_diagnostics_ipc::io::bind_trusting;
/// use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
/// # let directory = tempfile::tempdir()?;
/// # let directory = directory.path();
///
/// // A volume that is shared by the containers of a pod.
/// let policy = TrustPolicy::CHECKED.allowing_shared_directory();
/// let (listener, guard) = bind_trusting(directory.join("port"), policy)?;
/// # drop((listener, guard));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn bind_trusting(
    path: impl AsRef<Path>,
    policy: TrustPolicy,
) -> Result<(UnixListener, SocketGuard), Error> {
    bind(path.as_ref(), policy).map_err(|kind| Error::new(Phase::Listen, kind))
}

fn bind(path: &Path, policy: TrustPolicy) -> Result<(UnixListener, SocketGuard), ErrorKind> {
    let len = path.as_os_str().len();
    crate::endpoint::check_path_len(len, unix::SUN_PATH)
        .map_err(|error| ErrorKind::NotAnEndpoint(std::format!("{}", error.kind())))?;
    let address = SocketAddrUnix::new(path).map_err(io::Error::from)?;
    // The process may change its directory before the guard is dropped.
    let absolute = std::path::absolute(path)?;
    let Some(directory) = absolute.parent() else {
        return Err(ErrorKind::NotAnEndpoint(String::from("the path has no file name")));
    };
    make_directory(directory, policy)?;
    trust::check_directory(directory, policy)?;
    let lock = PathLock::take(&absolute)?;
    make_way(&absolute, &address)?;
    let socket = unix::socket(AddressFamily::UNIX)?;
    rustix::io::ioctl_fionbio(&socket, false).map_err(io::Error::from)?;
    rustix::net::bind(&socket, &address).map_err(io::Error::from)?;
    let guard =
        SocketGuard { identity: identity(&fs::symlink_metadata(&absolute)?), path: absolute };
    // Until `listen` the system refuses all connections, so none arrives early.
    let listens = fs::set_permissions(&guard.path, fs::Permissions::from_mode(0o600))
        .and_then(|()| Ok(rustix::net::listen(&socket, BACKLOG)?));
    // If listening failed, the drop of the guard takes the lock again.
    drop(lock);
    listens?;
    Ok((UnixListener::from(socket), guard))
}

/// Creates a missing directory. Nothing is created where others could replace it.
fn make_directory(directory: &Path, policy: TrustPolicy) -> Result<(), ErrorKind> {
    match fs::symlink_metadata(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        found => return Ok(found.map(drop)?),
    }
    if let Some(parent) = directory.parent() {
        trust::check_directory(parent, policy)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(()),
    }
}

/// Removes our own socket without a listener; refuses everything else.
fn make_way(path: &Path, address: &SocketAddrUnix) -> Result<(), ErrorKind> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !metadata.file_type().is_socket() {
        return Err(Distrust::NotASocket {
            path: path.to_path_buf(),
            is: trust::kind_of(metadata.file_type()),
        }
        .into());
    }
    check_ours(path, &metadata)?;
    match probe(address)? {
        Probe::Refused => remove(path, identity(&metadata)),
        Probe::Absent => Ok(()),
        Probe::Listening(_) | Probe::Unknown(_) => {
            Err(io::Error::new(io::ErrorKind::AddrInUse, "a listener already exists there").into())
        }
    }
}

fn check_ours(path: &Path, metadata: &fs::Metadata) -> Result<(), ErrorKind> {
    let (owner, ours) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner == ours {
        return Ok(());
    }
    Err(Distrust::OtherOwner { path: path.to_path_buf(), owner, ours }.into())
}

/// Removes `path` if it is still what was checked: a process without the lock may have replaced it
/// since.
fn remove(path: &Path, looked_at: Identity) -> Result<(), ErrorKind> {
    // The directory is new, because a rename replaces the file that has the new name.
    let directory = new_directory_beside(path)?;
    let aside = directory.join("socket");
    let removed = fs::rename(path, &aside).map_err(ErrorKind::from).and_then(|()| {
        let is_same = identity(&fs::symlink_metadata(&aside)?) == looked_at;
        if !is_same {
            // Put it back, unless its place is taken.
            fs::hard_link(&aside, path)?;
        }
        fs::remove_file(&aside)?;
        let text = "another process has just replaced the socket";
        if is_same { Ok(()) } else { Err(io::Error::new(io::ErrorKind::AddrInUse, text).into()) }
    });
    // This fails if the socket could not be put back, and keeps the socket there.
    let _ = fs::remove_dir(&directory);
    removed
}

/// Creates a directory that only we can use, with an unused name.
fn new_directory_beside(path: &Path) -> io::Result<PathBuf> {
    let mut number = 0_u32;
    loop {
        let suffix = std::format!("{}-{number}.diagipc-stale", std::process::id());
        let directory = beside(path, &suffix);
        match fs::DirBuilder::new().mode(0o700).create(&directory) {
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists && number < LOCK_ATTEMPTS =>
            {
                number = number.saturating_add(1);
            }
            created => return created.map(|()| directory),
        }
    }
}

/// Returns the path of `.NAME.SUFFIX` in the directory of `path`, which has the name NAME.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

/// Prevents two of our processes from changing the same path at once: the later one would delete
/// the earlier one's new socket.
///
/// The lock is a file of our own, `.NAME.diagipc-lock`, which no other user can open, because any user
/// can lock a readable directory. The holder removes it, unless it is not empty and so not ours.
#[derive(Debug)]
struct PathLock {
    path: PathBuf,
    file: fs::File,
}

impl PathLock {
    fn take(socket: &Path) -> Result<Self, ErrorKind> {
        let path = beside(socket, "diagipc-lock");
        for _ in 0..LOCK_ATTEMPTS {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = fs::File::from(
                rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).map_err(io::Error::from)?,
            );
            let metadata = file.metadata()?;
            check_ours(&path, &metadata)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::AGAIN) => std::thread::sleep(LOCK_PAUSE),
                Err(Errno::INTR) => {}
                // The file is locked, or the file system has no locks and the race is possible. The
                // holder may have just removed the file.
                _ => {
                    let same = |found: fs::Metadata| {
                        (found.dev(), found.ino()) == (metadata.dev(), metadata.ino())
                    };
                    if fs::symlink_metadata(&path).is_ok_and(same) {
                        return Ok(Self { path, file });
                    }
                }
            }
        }
        Err(io::Error::new(
            io::ErrorKind::WouldBlock,
            "another process of this user keeps the path locked",
        )
        .into())
    }
}

impl Drop for PathLock {
    fn drop(&mut self) {
        // The file is still locked here.
        if self.file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Deletes the socket made by [`bind_private`] on drop. A socket that has replaced it stays.
///
/// ```
/// use dotnet_diagnostics_ipc::io::bind_private;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("port");
///
/// let (listener, guard) = bind_private(&path)?;
/// assert_eq!(guard.path(), path);
/// # drop(listener);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping it deletes the socket"]
pub struct SocketGuard {
    path: PathBuf,
    identity: Identity,
}

/// The device, inode and creation time of a file; inodes are reused immediately.
type Identity = (u64, u64, i64, i64);

fn identity(metadata: &fs::Metadata) -> Identity {
    (metadata.dev(), metadata.ino(), metadata.mtime(), metadata.mtime_nsec())
}

impl SocketGuard {
    /// Returns the absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketGuard {
    fn drop(&mut self) {
        // Without the lock the socket stays: the next listener removes it.
        let Ok(_lock) = PathLock::take(&self.path) else { return };
        if fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| identity(&metadata) == self.identity)
        {
            let _ = remove(&self.path, self.identity);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_created_after_check_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("port");
        drop(UnixListener::bind(&path).unwrap());
        let looked_at = identity(&fs::symlink_metadata(&path).unwrap());
        // A listener that ignores the lock uses the path. Inodes are reused immediately; times are
        // not.
        fs::remove_file(&path).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let listener = UnixListener::bind(&path).unwrap();
        let ErrorKind::Io(error) = remove(&path, looked_at).unwrap_err() else { panic!() };
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        let _client = std::os::unix::net::UnixStream::connect(&path).unwrap();
        listener.accept().unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
        let now = identity(&fs::symlink_metadata(&path).unwrap());
        remove(&path, now).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
