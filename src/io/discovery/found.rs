//! Results of discovery, and what they are found from.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::vec::Vec;

use crate::endpoint::NamePrefix;

/// What was found, and what could not be read.
///
/// ```
/// use dotnet_diagnostics_ipc::io::discovery;
///
/// let seen = discovery::processes()?;
/// for found in seen.found.iter().filter(|found| !found.is_stale()) {
///     println!("{:?} {}", found.process_id, found.endpoint.display());
/// }
/// for unseen in &seen.unseen {
///     eprintln!("not readable: {unseen}");
/// }
/// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Discovery {
    /// One for each socket or pipe, by process id and path.
    pub found: Vec<DiscoveredEndpoint>,
    /// Places that could not be read.
    pub unseen: Vec<UnreadablePath>,
}

impl Discovery {
    pub(super) fn new(mut found: Vec<DiscoveredEndpoint>, unseen: Vec<UnreadablePath>) -> Self {
        found.sort_by(|one, other| {
            (one.process_id, &one.endpoint).cmp(&(other.process_id, &other.endpoint))
        });
        Self { found, unseen }
    }
}

/// A socket or pipe named like a default port.
///
/// ```
/// use dotnet_diagnostics_ipc::io::discovery::{self, EndpointState};
///
/// for found in discovery::processes()?.found {
///     // A socket left by a dead process, which may be deleted.
///     if found.state == EndpointState::Stale && found.process_id.is_none() {
///         println!("{} of process {}", found.endpoint.display(), found.id_in_name);
///     }
/// }
/// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiscoveredEndpoint {
    /// The process id in our pid namespace, for
    /// [`Endpoint::process`](crate::io::Endpoint::process). `None` for a socket without a
    /// known process: the name alone does not make it one of a process.
    pub process_id: Option<u32>,
    /// The process id in the name: from the process's own pid namespace.
    pub id_in_name: u32,
    /// The key in the name; pipes have none.
    pub key: Option<u64>,
    /// The edition's prefix of the name.
    pub prefix: NamePrefix,
    /// The path of the socket or pipe.
    pub endpoint: PathBuf,
    /// The user id as which the process runs; without a known process, that of the socket's owner.
    /// Pipes have none. Root passes it to
    /// [`TrustPolicy::allowing_owner`](crate::io::trust::TrustPolicy::allowing_owner).
    pub owner: Option<u32>,
    /// Whether a process listens there.
    pub state: EndpointState,
}

impl DiscoveredEndpoint {
    /// Whether no process listens there, or another socket replaced it.
    pub const fn is_stale(&self) -> bool {
        matches!(self.state, EndpointState::Stale | EndpointState::Superseded)
    }
}

/// Whether a process listens at a socket.
///
/// ```
/// use dotnet_diagnostics_ipc::io::discovery::EndpointState;
///
/// assert_eq!(EndpointState::Superseded.to_string(), "superseded");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndpointState {
    /// A process listens.
    Listening,
    /// No process listens. Only a clean shutdown removes a socket (F-61, F-82).
    Stale,
    /// Another socket in the same directory, with the same process id and a newer key, has replaced
    /// it.
    Superseded,
    /// It could not be checked.
    Unknown(io::ErrorKind),
}

impl fmt::Display for EndpointState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listening => f.write_str("listening"),
            Self::Stale => f.write_str("stale"),
            Self::Superseded => f.write_str("superseded"),
            Self::Unknown(why) => write!(f, "unknown: {why}"),
        }
    }
}

/// A place that could not be read. A process whose socket was found anyway is not listed.
///
/// ```
/// use std::io::ErrorKind;
/// use dotnet_diagnostics_ipc::io::discovery::UnreadablePath;
///
/// let unseen = UnreadablePath { process_id: Some(1), path: "/proc/1/environ".into(), why: ErrorKind::PermissionDenied };
/// assert_eq!(unseen.to_string(), "/proc/1/environ: permission denied");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadablePath {
    /// The process; `None` if it concerns several.
    pub process_id: Option<u32>,
    /// The file or directory.
    pub path: PathBuf,
    /// The reason.
    pub why: io::ErrorKind,
}

#[cfg(unix)]
impl UnreadablePath {
    pub(super) fn new(process_id: Option<u32>, path: impl Into<PathBuf>, why: &io::Error) -> Self {
        Self { process_id, path: path.into(), why: why.kind() }
    }
}

impl fmt::Display for UnreadablePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

/// What is known about a process.
#[cfg(unix)]
#[allow(clippy::struct_field_names)]
// Without `/proc`, that is little.
#[cfg_attr(not(any(target_os = "linux", target_os = "android")), allow(dead_code))]
#[derive(Clone, Debug)]
pub(super) struct Process {
    /// In our pid namespace.
    pub(super) process_id: u32,
    /// In its own pid namespace.
    pub(super) inner_id: u32,
    /// The user as which it runs, if the system reports it.
    pub(super) user: Option<u32>,
    /// The key in its socket's name.
    pub(super) start_time: Option<u64>,
    /// The path of its root, if it differs from ours.
    pub(super) root: Option<PathBuf>,
    pub(super) tmpdir: Tmpdir,
    /// Whether the process has any code.
    pub(super) runs: bool,
}

#[cfg_attr(not(any(target_os = "linux", target_os = "android")), allow(dead_code))]
#[derive(Clone, Debug)]
#[cfg(unix)]
pub(super) enum Tmpdir {
    /// The value, absolute; `None` if it is unset or empty.
    Known(Option<PathBuf>),
    Unreadable,
}

#[cfg(unix)]
impl Process {
    pub(super) fn unknown(process_id: u32) -> Self {
        Self {
            process_id,
            inner_id: process_id,
            user: None,
            start_time: None,
            root: None,
            tmpdir: Tmpdir::Unreadable,
            runs: true,
        }
    }
}
