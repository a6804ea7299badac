//! Checks who listens, after connecting.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::user_ids::{is_anybody, our_user_id};
use super::{Distrust, TrustPolicy};
use crate::io::{Error, Phase};

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
