//! The address of a socket.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::string::ToString as _;

use rustix::net::SocketAddrUnix;

use super::ErrorKind;
use crate::endpoint::{NameError, check_path_len};

#[cfg(not(target_vendor = "apple"))]
use crate::endpoint::SUN_PATH_LINUX as SUN_PATH;
#[cfg(target_vendor = "apple")]
use crate::endpoint::SUN_PATH_MACOS as SUN_PATH;

/// The address of a socket, valid while this value exists.
///
/// A path that is too long for an address is reached through its directory, which is opened for
/// that: for a process with other mounts, our path begins with `/proc/PID/root`.
#[derive(Debug)]
pub(super) struct UnixAddress {
    address: SocketAddrUnix,
    _directory: Option<OwnedFd>,
}

impl UnixAddress {
    /// The address of the socket at `path`.
    ///
    /// [`ErrorKind::NotAnEndpoint`] for a path that is too long; the system's error for its
    /// directory.
    pub(super) fn of(path: &Path) -> Result<Self, ErrorKind> {
        match check_path_len(path.as_os_str().len(), SUN_PATH) {
            Ok(()) => Ok(Self {
                address: SocketAddrUnix::new(path).map_err(io::Error::from)?,
                _directory: None,
            }),
            Err(error) => Self::through_directory(path, error),
        }
    }

    pub(super) const fn get(&self) -> &SocketAddrUnix {
        &self.address
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn through_directory(path: &Path, error: NameError) -> Result<Self, ErrorKind> {
        use rustix::fs::{Mode, OFlags};
        use std::os::fd::AsRawFd as _;

        let too_long = || ErrorKind::NotAnEndpoint(error.kind().to_string());
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(too_long());
        };
        // The longest descriptor number.
        check_path_len("/proc/self/fd/2147483647/".len().saturating_add(name.len()), SUN_PATH)
            .map_err(|_| too_long())?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory =
            rustix::fs::open(directory, flags, Mode::empty()).map_err(io::Error::from)?;
        let short = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
        Ok(Self {
            address: SocketAddrUnix::new(&short).map_err(io::Error::from)?,
            _directory: Some(directory),
        })
    }

    /// There is no `/proc`.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn through_directory(_: &Path, error: NameError) -> Result<Self, ErrorKind> {
        Err(ErrorKind::NotAnEndpoint(error.kind().to_string()))
    }
}
