//! A socket to listen at that is ours alone.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::string::String;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use super::trust::{self, Distrust, TrustPolicy};
use super::{Error, ErrorKind, Phase};

#[cfg(any(target_os = "linux", target_os = "android"))]
const MOST: usize = crate::endpoint::SUN_PATH_LINUX;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const MOST: usize = crate::endpoint::SUN_PATH_MACOS;

/// What std takes: as many as the system allows.
#[cfg(any(target_os = "linux", target_os = "android"))]
const BACKLOG: i32 = -1;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const BACKLOG: i32 = 128;

const LOCK_ATTEMPTS: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Listens at `path`, for us alone: the socket has mode 0600 before the first connection is possible. The directory is made, with
/// mode 0700, if it is not there; one that is there must not allow others to swap the socket: ours or root's, and writable for its
/// owner only, or sticky as `/tmp`.
///
/// If the path is taken, it is left alone, unless it is a socket of ours at which nobody listens.
///
/// The guard deletes the socket when it is dropped, if it is still this one.
///
/// # Errors
/// [`Phase::Listen`]: [`ErrorKind::Untrusted`] for the directory, or for what is at the path and not ours or no socket;
/// [`ErrorKind::Io`] with [`AddrInUse`](io::ErrorKind::AddrInUse) where somebody listens there already;
/// [`ErrorKind::NotAnEndpoint`] for a path that is too long.
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
pub fn bind_private(path: impl AsRef<Path>) -> Result<(UnixListener, UnlinkOnDrop), Error> {
    bind(path.as_ref()).map_err(|kind| Error::new(Phase::Listen, kind))
}

fn bind(path: &Path) -> Result<(UnixListener, UnlinkOnDrop), ErrorKind> {
    let len = path.as_os_str().len();
    crate::endpoint::check_path_len(len, MOST).map_err(|error| ErrorKind::NotAnEndpoint(std::format!("{error}")))?;
    let address = SocketAddrUnix::new(path).map_err(io::Error::from)?;
    // The process may change its directory before the guard is dropped.
    let absolute = std::path::absolute(path)?;
    let Some(directory) = absolute.parent() else {
        return Err(ErrorKind::NotAnEndpoint(String::from("a path without a name")));
    };
    match fs::DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
        _ => {}
    }
    trust::check_directory(directory, TrustPolicy::CHECKED)?;
    let _lock = lock(directory)?;
    make_way(&absolute, &address)?;
    let socket = socket()?;
    rustix::net::bind(&socket, &address).map_err(io::Error::from)?;
    let guard = UnlinkOnDrop { identity: identity(&fs::symlink_metadata(&absolute)?), path: absolute };
    // Until `listen` all connections are refused: nobody was faster.
    fs::set_permissions(&guard.path, fs::Permissions::from_mode(0o600))?;
    rustix::net::listen(&socket, BACKLOG).map_err(io::Error::from)?;
    Ok((UnixListener::from(socket), guard))
}

/// Removes a socket of ours at which nobody listens; refuses everything else.
fn make_way(path: &Path, address: &SocketAddrUnix) -> Result<(), ErrorKind> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !metadata.file_type().is_socket() {
        return Err(Distrust::NotASocket { path: path.to_path_buf(), is: trust::kind_of(metadata.file_type()) }.into());
    }
    let ours = rustix::process::geteuid().as_raw();
    if metadata.uid() != ours {
        return Err(Distrust::OtherOwner { path: path.to_path_buf(), owner: metadata.uid(), ours }.into());
    }
    match probe(address)? {
        Probe::Refused => fs::remove_file(path).map_err(ErrorKind::from),
        Probe::Absent => Ok(()),
        Probe::Listening(_) | Probe::Unknown(_) => {
            Err(io::Error::new(io::ErrorKind::AddrInUse, "somebody listens there already").into())
        }
    }
}

/// Keeps two of us from taking over the same stale socket at once: the later one would delete the earlier one's new socket.
fn lock(directory: &Path) -> Result<fs::File, ErrorKind> {
    let file = fs::File::open(directory)?;
    for _ in 0..LOCK_ATTEMPTS {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::AGAIN) => std::thread::sleep(LOCK_PAUSE),
            Err(Errno::INTR) => {}
            // Taken; or a file system without locks for directories, where the race is possible.
            _ => return Ok(file),
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "somebody else keeps the directory locked").into())
}

/// Deletes the socket that [`bind_private`] made, when it is dropped. Another one that is in its place by then stays.
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
pub struct UnlinkOnDrop {
    path: PathBuf,
    identity: Identity,
}

/// Device, inode, and when it was made: inodes are used again at once.
type Identity = (u64, u64, i64, i64);

fn identity(metadata: &fs::Metadata) -> Identity {
    (metadata.dev(), metadata.ino(), metadata.mtime(), metadata.mtime_nsec())
}

impl UnlinkOnDrop {
    /// The path, made absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for UnlinkOnDrop {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|metadata| identity(&metadata) == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// What a connection that is closed at once says about a socket.
#[derive(Debug)]
pub(super) enum Probe {
    Listening(Option<trust::Peer>),
    Refused,
    Absent,
    Unknown(io::ErrorKind),
}

/// Tries whether anybody listens, without waiting and without a byte sent.
pub(super) fn probe(address: &SocketAddrUnix) -> io::Result<Probe> {
    let socket = socket()?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok(match rustix::net::connect(&socket, address) {
        Ok(()) => Probe::Listening(trust::peer_of(&socket).ok()),
        // The backlog is full: a target that is stopped, or busy.
        Err(Errno::AGAIN | Errno::INPROGRESS) => Probe::Listening(None),
        // A socket of another type is none of a runtime's either.
        Err(Errno::CONNREFUSED | Errno::PROTOTYPE) => Probe::Refused,
        Err(Errno::NOENT) => Probe::Absent,
        Err(errno) => Probe::Unknown(io::Error::from(errno).kind()),
    })
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn socket() -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, rustix::net::SocketFlags::CLOEXEC, None)?)
}

/// In two steps, where there is no flag for it.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn socket() -> io::Result<OwnedFd> {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    Ok(socket)
}
