//! Decide whether to trust the process at an endpoint, before a byte is sent.
//!
//! The process that answers at a socket learns what is sent, and can answer anything. A socket in
//! `/tmp` can belong to any user, whatever its name. So, on Unix:
//!
//! | when | check | otherwise |
//! |---|---|---|
//! | before connecting | it is a socket | [`NotASocket`](Distrust::NotASocket) |
//! | | it is ours or root's | [`OtherOwner`](Distrust::OtherOwner) |
//! | | every directory and symbolic link on the path is ours or root's | [`OtherOwner`](Distrust::OtherOwner) |
//! | | each directory is writable only for its owner and the owner's private group, or sticky as `/tmp` | [`SharedDirectory`](Distrust::SharedDirectory) |
//! | after connecting | the process that listens runs as us or as root | [`PeerOwner`](Distrust::PeerOwner) |
//! | | it is the requested process | [`PeerProcess`](Distrust::PeerProcess) |
//!
//! A group is private if it is our primary group, and `/etc/passwd` and `/etc/group` list no other
//! member: many systems create such a group for each user and give directories mode 775. A group that
//! is not listed there, or a directory with an access control list, counts as shared. So does an
//! `emptyDir` volume of Kubernetes, which has mode 777 (F-167): see
//! [`TrustPolicy::allowing_shared_directory`].
//!
//! "Us" is the effective user id, so root trusts only root: a tool that runs as root and talks to
//! whatever some user placed in `/tmp` works for that user. To ask another user's process, root
//! uses [`TrustPolicy::REQUESTED_PROCESS`], or [`TrustPolicy::allowing_owner`] with its user id.
//!
//! # User namespaces
//! If a user namespace does not map all users, the unmapped users share one number, usually 65534.
//! Files with that number may belong to any of them, even to root. They are not trusted
//! ([`UnmappedOwner`](Distrust::UnmappedOwner), [`UnmappedPeer`](Distrust::UnmappedPeer)), even if
//! we have that number ourselves. The same holds where `/proc/self/uid_map` cannot be read, as in a
//! chroot without `/proc`, because the mapped users are unknown. To trust them anyway, use
//! [`TrustPolicy::allowing_owner`] with `65534`, or for directories alone, such as `/` in a
//! rootless container, [`TrustPolicy::allowing_shared_directory`].
//!
//! # Races
//! Between the check of the path and the connection, only trusted users can replace the socket: we,
//! root, and those added by the policy. After connecting, the kernel reports who called `listen`,
//! so a replacement is detected there. It reports who *called* it: a descriptor can have been
//! passed on since, and the process may have exited. A hard link to another of our sockets passes
//! the check of the path; the process id catches it, if one was requested.
//!
//! A listener in a pid namespace that we cannot see has no process id for us. It is then judged
//! only by its user id.
//!
//! # Repeated checks
//! An [`Endpoint`](super::Endpoint) caches its result. While its path leads to the same socket, by
//! device, inode and change time, the path is not checked again; the listener is, on each
//! connection. A socket that was moved, replaced, linked, recreated or given away has another
//! change time. [`TrustPolicy::UNCHECKED`] trusts any socket, and does not look.
//!
//! # Paths into other mount namespaces
//! `/proc/PID/root/…` is checked from that root on, and symbolic links are followed within it. When
//! connecting, the kernel resolves absolute links from our root: [`discovery`](super::discovery)
//! gives paths without symbolic links.
//!
//! # TCP
//! An address of TCP has no owner: any user of the machine can listen at it, or connect to it, and no
//! system says who did. Only loopback addresses are used, except by
//! [`TrustPolicy::allowing_any_address`].
//!
//! # Windows
//! Nobody can change the path of a pipe, but any process can be the first to create a pipe of any
//! name. So after connecting, the system is asked which process created the pipe, and as which user
//! it runs: it must be our user or the system ([`PeerUser`](Distrust::PeerUser)), and the requested
//! process. A process that refuses this query usually belongs to another user: that is the system's
//! error, at [`Phase::Trust`](super::Phase::Trust). [`TrustPolicy::allowing_owner`] is for users of
//! Unix and has no effect here; [`TrustPolicy::allowing_other_owner`] has. The client allows the
//! server to identify it, not to impersonate it.

#[cfg(unix)]
mod unix;

use std::net::SocketAddr;

pub use super::error::Distrust;
#[cfg(windows)]
use super::windows::{Sid, server_process_id};
#[cfg(windows)]
use super::{Error, Phase};
#[cfg(unix)]
pub use unix::{Peer, check_path, check_peer, peer_of};
#[cfg(unix)]
pub(super) use unix::{VerifiedSocket, check_directory, follow, kind_of};

/// The checks that an endpoint must pass: all of them by default, with explicit exceptions.
///
/// ```
/// use dotnet_diagnostics_ipc::io::Endpoint;
/// use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
///
/// // Root asks a process of user 1000.
/// let endpoint = Endpoint::process(12).trusting(TrustPolicy::CHECKED.allowing_owner(1000));
/// # drop(endpoint);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TrustPolicy {
    owners: Owners,
    checks_directories: bool,
    checks_nothing: bool,
    needs_process: bool,
    addresses: Addresses,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Owners {
    OursAndRoot,
    And(u32),
    Any,
}

/// The TCP addresses that may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Addresses {
    Loopback,
    Any,
}

impl TrustPolicy {
    /// A policy with all checks.
    pub const CHECKED: Self = Self {
        owners: Owners::OursAndRoot,
        checks_directories: true,
        checks_nothing: false,
        needs_process: false,
        addresses: Addresses::Loopback,
    };

    /// A policy that trusts only the requested process, whoever owns it and its socket. The system
    /// must report that this process listens. It is for root, which can ask any process by its id,
    /// through [`Endpoint::process`](super::Endpoint::process) or an endpoint that
    /// [`discovery`](super::discovery) assigned to a process.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
    /// use dotnet_diagnostics_ipc::io::{Client, Endpoint};
    ///
    /// let client = Client::new(Endpoint::process(12).trusting(TrustPolicy::REQUESTED_PROCESS));
    /// # drop(client);
    /// ```
    pub const REQUESTED_PROCESS: Self = Self {
        owners: Owners::Any,
        checks_directories: false,
        checks_nothing: false,
        needs_process: true,
        addresses: Addresses::Loopback,
    };

    /// A policy without checks, for endpoints whose path, owner or address the caller has checked.
    pub const UNCHECKED: Self = Self {
        owners: Owners::Any,
        checks_directories: false,
        checks_nothing: true,
        needs_process: false,
        addresses: Addresses::Any,
    };

    /// Also trusts this user.
    #[must_use]
    pub const fn allowing_owner(mut self, user_id: u32) -> Self {
        self.owners = Owners::And(user_id);
        self
    }

    /// Allows any owner of the socket, its directories and the process that listens.
    #[must_use]
    pub const fn allowing_other_owner(mut self) -> Self {
        self.owners = Owners::Any;
        self
    }

    /// Trusts the directories and symbolic links on the path, whoever owns them and can write to
    /// them. The owner of the socket and of the process that listens is still checked. This suits a
    /// volume that containers share, such as an `emptyDir` of Kubernetes (F-167).
    #[must_use]
    pub const fn allowing_shared_directory(mut self) -> Self {
        self.checks_directories = false;
        self
    }

    /// Allows TCP addresses beyond this machine. The protocol has no authentication: whoever reaches
    /// a runtime controls its process.
    #[must_use]
    pub const fn allowing_any_address(mut self) -> Self {
        self.addresses = Addresses::Any;
        self
    }

    /// Checks a TCP address before connecting to it or listening at it.
    pub(super) fn check_address(self, address: SocketAddr) -> Result<(), Distrust> {
        if self.needs_process {
            return Err(Distrust::UnknownProcess { expected: None });
        }
        if self.addresses == Addresses::Loopback && !address.ip().to_canonical().is_loopback() {
            return Err(Distrust::NotLoopback { address });
        }
        Ok(())
    }

    /// Returns whether the policy allows this owner explicitly.
    #[cfg(unix)]
    fn allows(self, owner: u32) -> bool {
        match self.owners {
            Owners::Any => true,
            Owners::And(other) => owner == other,
            Owners::OursAndRoot => false,
        }
    }

    /// Returns whether this owner is trusted, whoever we are; only our own user is missing here.
    #[cfg(unix)]
    fn trusts_all(self, owner: u32) -> bool {
        self.allows(owner) || owner == 0
    }
}

impl Default for TrustPolicy {
    fn default() -> Self {
        Self::CHECKED
    }
}

/// Checks the process that created the pipe, before anything is sent. `expected` is the requested
/// process.
#[cfg(windows)]
pub(super) fn check_pipe(
    pipe: &impl std::os::windows::io::AsHandle,
    policy: TrustPolicy,
    expected: Option<u32>,
) -> Result<(), Error> {
    use std::string::ToString as _;

    if policy.checks_nothing {
        return Ok(());
    }
    if policy.needs_process && expected.is_none() {
        return Err(Error::new(Phase::Trust, Distrust::UnknownProcess { expected }));
    }
    let unknown = |error: std::io::Error| Error::new(Phase::Trust, error);
    let process_id = server_process_id(pipe.as_handle()).map_err(unknown)?;
    if let Some(expected) = expected.filter(|expected| process_id != *expected) {
        return Err(Error::new(Phase::Trust, Distrust::PeerProcess { process_id, expected }));
    }
    if policy.owners == Owners::Any {
        return Ok(());
    }
    let owner = Sid::of_process(process_id).map_err(unknown)?;
    let ours = Sid::ours().map_err(unknown)?;
    if owner == ours || owner.is_system() {
        return Ok(());
    }
    let (owner, ours) = (owner.to_string(), ours.to_string());
    Err(Error::new(Phase::Trust, Distrust::PeerUser { owner, ours }))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn root_is_trusted_and_others_by_policy() {
        assert!(TrustPolicy::CHECKED.trusts_all(0) && !TrustPolicy::CHECKED.trusts_all(1000));
        let policy = TrustPolicy::CHECKED.allowing_owner(1000);
        assert!(policy.trusts_all(1000) && policy.trusts_all(0) && !policy.trusts_all(1001));
        assert!(
            TrustPolicy::UNCHECKED.trusts_all(1)
                && TrustPolicy::CHECKED.allowing_other_owner().trusts_all(1)
        );
    }
}
