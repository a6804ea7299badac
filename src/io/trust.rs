//! Whether to speak to what is at an endpoint: looked at before a byte is sent.
//!
//! Whoever answers at a socket learns what is sent, and can answer anything. A socket in `/tmp` can be anybody's, whatever its name
//! says. So, on Unix:
//!
//! | when | what | else |
//! |---|---|---|
//! | before connecting | it is a socket | [`NotASocket`](Distrust::NotASocket) |
//! | | it is ours or root's | [`OtherOwner`](Distrust::OtherOwner) |
//! | | every directory and symbolic link on the way is ours or root's | [`OtherOwner`](Distrust::OtherOwner) |
//! | | each directory is writable for its owner only, or sticky as `/tmp` | [`SharedDirectory`](Distrust::SharedDirectory) |
//! | once connected | the process that listens runs as us or as root | [`PeerOwner`](Distrust::PeerOwner) |
//! | | it is the process that was asked for | [`PeerProcess`](Distrust::PeerProcess) |
//!
//! A write permission for the group counts as one for others: who is in the group, the path does not say.
//!
//! "Us" is the effective user id. Root therefore trusts root alone, and says whom else: [`TrustPolicy::allowing_owner`] with the
//! user id of the target. That is deliberate: a tool that runs as root and talks to whatever some user placed in `/tmp` works for
//! that user.
//!
//! # User namespaces
//! Where a user namespace does not map all users, those whom it does not map have one number, 65534 as a rule: what belongs to it may be
//! anybody's, root's as well, and is not trusted ([`UnmappedOwner`](Distrust::UnmappedOwner),
//! [`UnmappedPeer`](Distrust::UnmappedPeer)), also where we have that number ourselves. Whoever knows better says so:
//! [`TrustPolicy::allowing_owner`] with 65534.
//!
//! # Races
//! Between the look at the path and the connection, only those can swap the socket who were found to be trustworthy: we, root, and
//! whom the policy adds. Once connected, the kernel says who called `listen`, so that a swap that did happen is seen there. It says
//! who *called* it: a descriptor can have been passed on since, and a process id is not a promise that the process still runs.
//! A hard link to another of our own sockets passes the look at the path; the process id catches it, where one was asked for.
//!
//! A listener in a pid namespace that we cannot see into has no process id for us. It is then judged by its user id alone.
//!
//! # Paths into other mount namespaces
//! `/proc/PID/root/…` is looked at from that root on, and symbolic links are followed within it. The kernel, when it connects,
//! takes an absolute one from our own root: [`discovery`](super::discovery) gives paths without symbolic links.
//!
//! # Windows
//! A pipe has no path that somebody could change, but any process can be the first to make a pipe of any name. So once connected, the
//! system is asked which process made the pipe, and as whom that runs: as us or as the system itself, or it is not trusted
//! ([`PeerUser`](Distrust::PeerUser)); and it is the process that was asked for. A process that does not let us look is another user's,
//! as a rule: that is the system's error, at [`Phase::Trust`](super::Phase::Trust). [`TrustPolicy::allowing_owner`] names users of Unix
//! and changes nothing here; [`TrustPolicy::allowing_other_owner`] does. The client allows the server to identify it, and not to act as
//! it.

use std::fmt;
use std::path::PathBuf;
use std::string::String;

#[cfg(unix)]
mod path;
#[cfg(unix)]
mod peer;
#[cfg(windows)]
mod pipe;
#[cfg(unix)]
mod user_ids;

#[cfg(unix)]
pub use path::check_path;
#[cfg(unix)]
pub(super) use path::{check_directory, kind_of};
#[cfg(unix)]
pub(super) use peer::Peer;
#[cfg(unix)]
pub use peer::check_peer;
#[cfg(unix)]
pub(crate) use peer::peer_of;
#[cfg(windows)]
pub(super) use pipe::check_pipe;

/// Why an endpoint is not trusted.
///
/// ```
/// use dotnet_diagnostics_ipc::io::trust::Distrust;
///
/// let reason = Distrust::PeerProcess { process_id: 123, expected: 12 };
/// assert_eq!(reason.to_string(), "process 123 listens there, not process 12");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Distrust {
    /// There is something else than a socket.
    NotASocket {
        /// Where.
        path: PathBuf,
        /// What it is, such as `"a directory"`.
        is: &'static str,
    },
    /// The socket, or a directory or symbolic link on the way to it, is somebody else's. Its owner can put anything there.
    OtherOwner {
        /// What.
        path: PathBuf,
        /// The user id of its owner.
        owner: u32,
        /// Our own.
        ours: u32,
    },
    /// A directory on the way to the socket in which others can rename and delete what is not theirs.
    SharedDirectory {
        /// Which.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The process that listens runs as somebody else.
    PeerOwner {
        /// Its user id.
        owner: u32,
        /// Our own.
        ours: u32,
    },
    /// It belongs to a user whom our user namespace does not map, and so to anybody: all of them have one number there.
    UnmappedOwner {
        /// What.
        path: PathBuf,
        /// The number.
        owner: u32,
    },
    /// A user listens whom our user namespace does not map: anybody.
    UnmappedPeer {
        /// The number that all of them have.
        owner: u32,
    },
    /// On Windows: another user's process made the pipe.
    PeerUser {
        /// The user as whom it runs, as a security identifier: `S-1-5-21-…`.
        owner: String,
        /// Our own.
        ours: String,
    },
    /// Another process listens than the one that was asked for.
    PeerProcess {
        /// The process that listens.
        process_id: u32,
        /// The one that was asked for.
        expected: u32,
    },
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotASocket { path, is } => write!(f, "{} is {is}, not a socket", path.display()),
            Self::OtherOwner { path, owner, ours } => {
                write!(f, "{} belongs to user {owner}, neither to us (user {ours}) nor to root", path.display())
            }
            Self::SharedDirectory { path, mode } => {
                write!(f, "others can replace what is in {} (mode {mode:03o}, not sticky)", path.display())
            }
            Self::PeerOwner { owner, ours } => write!(f, "user {owner} listens there, neither we (user {ours}) nor root"),
            Self::UnmappedOwner { path, owner } => {
                write!(
                    f,
                    "{} belongs to user {owner}, as here everything does whose owner this user namespace does not map",
                    path.display()
                )
            }
            Self::UnmappedPeer { owner } => {
                write!(f, "user {owner} listens there, as here everybody is whom this user namespace does not map")
            }
            Self::PeerUser { owner, ours } => {
                write!(f, "a process of {owner} made the pipe, neither ours ({ours}) nor the system's")
            }
            Self::PeerProcess { process_id, expected } => {
                write!(f, "process {process_id} listens there, not process {expected}")
            }
        }
    }
}

impl std::error::Error for Distrust {}

/// What is looked at before an endpoint is spoken to. By default everything; each exception is named.
///
/// ```
/// use dotnet_diagnostics_ipc::io::Endpoint;
/// use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
///
/// // Root, which asks a process of user 1000.
/// let endpoint = Endpoint::process(12).trusting(TrustPolicy::CHECKED.allowing_owner(1000));
/// # drop(endpoint);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// Four independent questions.
#[allow(clippy::struct_excessive_bools)]
pub struct TrustPolicy {
    owners: Owners,
    checks_kind: bool,
    checks_directories: bool,
    checks_process: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owners {
    OursAndRoot,
    And(u32),
    Any,
}

impl TrustPolicy {
    /// Everything is looked at.
    pub const CHECKED: Self =
        Self { owners: Owners::OursAndRoot, checks_kind: true, checks_directories: true, checks_process: true };

    /// Nothing is. For endpoints whose place and owner the caller has checked.
    pub const UNCHECKED: Self = Self { owners: Owners::Any, checks_kind: false, checks_directories: false, checks_process: false };

    /// The same, where this user is trusted as we are.
    #[must_use]
    pub const fn allowing_owner(mut self, user_id: u32) -> Self {
        self.owners = Owners::And(user_id);
        self
    }

    /// The same, where the socket, its directories and the process that listens may be anybody's.
    #[must_use]
    pub const fn allowing_other_owner(mut self) -> Self {
        self.owners = Owners::Any;
        self
    }

    /// The same, where others may write to the directories on the way.
    #[must_use]
    pub const fn allowing_shared_directory(mut self) -> Self {
        self.checks_directories = false;
        self
    }

    /// The same, where any process may listen, such as one that forwards to the target.
    #[must_use]
    pub const fn allowing_other_process(mut self) -> Self {
        self.checks_process = false;
        self
    }

    /// Whether the owner is looked at.
    #[cfg(windows)]
    const fn checks_owner(self) -> bool {
        !matches!(self.owners, Owners::Any)
    }

    /// Whether this owner is trusted whoever that is.
    #[cfg(unix)]
    fn allows(self, owner: u32) -> bool {
        match self.owners {
            Owners::Any => true,
            Owners::And(other) => owner == other,
            Owners::OursAndRoot => false,
        }
    }

    /// Whether `owner` is to be trusted by `ours`.
    #[cfg(unix)]
    fn trusts(self, owner: u32, ours: u32) -> bool {
        self.allows(owner) || owner == ours || owner == 0
    }
}

impl Default for TrustPolicy {
    fn default() -> Self {
        Self::CHECKED
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn root_trusts_root_alone() {
        assert!(
            TrustPolicy::CHECKED.trusts(0, 0) && TrustPolicy::CHECKED.trusts(0, 1000) && TrustPolicy::CHECKED.trusts(1000, 1000)
        );
        assert!(!TrustPolicy::CHECKED.trusts(1000, 0) && !TrustPolicy::CHECKED.trusts(1000, 1001));
        let policy = TrustPolicy::CHECKED.allowing_owner(1000);
        assert!(policy.trusts(1000, 0) && policy.trusts(0, 0) && !policy.trusts(1001, 0));
        assert!(TrustPolicy::UNCHECKED.trusts(1, 2) && TrustPolicy::CHECKED.allowing_other_owner().trusts(1, 2));
    }
}
