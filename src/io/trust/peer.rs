//! Checks who listens, after connecting.

use std::io;
use std::os::fd::AsFd;

use super::user_ids::{is_anybody, our_user_id};
use super::{Distrust, TrustPolicy};
use crate::io::{Error, Phase};

/// The process that called `listen`, as recorded by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) user_id: u32,
    /// `None` for a process in a pid namespace that we cannot see.
    pub(crate) process_id: Option<u32>,
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

// `nix`, since rustix 1.1 reads `pid` as a non-zero number, and the kernel reports zero for a
// process that we cannot see: seen as `Err(code 0)`.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn peer_of(stream: &impl AsFd) -> io::Result<Peer> {
    let peer =
        nix::sys::socket::getsockopt(&stream.as_fd(), nix::sys::socket::sockopt::PeerCredentials)?;
    Ok(Peer {
        user_id: peer.uid(),
        process_id: u32::try_from(peer.pid()).ok().filter(|id| *id != 0),
    })
}

#[cfg(target_vendor = "apple")]
pub(crate) fn peer_of(stream: &impl AsFd) -> io::Result<Peer> {
    use nix::sys::socket::{getsockopt, sockopt};
    let peer = getsockopt(&stream.as_fd(), sockopt::LocalPeerCred)?;
    let process_id = getsockopt(&stream.as_fd(), sockopt::LocalPeerPid)?;
    Ok(Peer {
        user_id: peer.uid(),
        process_id: u32::try_from(process_id).ok().filter(|id| *id != 0),
    })
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(crate) fn peer_of(_: &impl AsFd) -> io::Result<Peer> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system does not report who listens"))
}
