//! Find the processes that can be diagnosed, and their endpoints.
//!
//! # Linux
//! A runtime creates its socket in the directory that `TMPDIR` names in *its* environment, with the
//! process id in *its* pid namespace, seen from *its* root. So discovery reads for every process:
//! the environment (`/proc/PID/environ`), the root (`/proc/PID/root`, if it differs from ours), the
//! ids (`NSpid` of `/proc/PID/status`), and the start time (`/proc/PID/stat`), which is the key in
//! the name.
//!
//! Any user can create a socket with such a name. So [`processes`] connects to each socket, closes
//! the connection without sending, and asks the kernel who listens. The socket is assigned to that
//! process if the process runs as that user, or if root listens. A listener in a pid namespace that
//! we cannot see is not one of our processes. Some sockets refuse the connection, because another
//! user owns them or their queue is full. Then the name decides, if the socket belongs to the
//! process's user or to root, and `/proc/net/unix` shows whether it listens.
//!
//! Discovery works without root. It reports unreadable details of another user's process as
//! [`UnreadablePath`], and still finds the process if its socket is in `/tmp` or in our `TMPDIR`.
//!
//! # macOS
//! The environment of another process is not readable, so discovery looks in our own `TMPDIR`,
//! which belongs to the user, and in `/tmp`. It does not search the group container of a sandboxed
//! application. The key in a socket's name is the process's start time in seconds. Whatever the
//! key, a socket belongs to the process that listens according to the kernel. Asking takes a
//! connection, closed without sending. This code was type-checked, but not run.
//!
//! # Windows
//! Discovery lists the names of all pipes. A pipe disappears with its process, so none is stale.
//! The creator of a pipe is not checked. Wine 8 does not list pipes, so listing was not run; there,
//! a process's pipe is opened by name.

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
mod macos;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod no_socket;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::vec::Vec;

#[cfg(unix)]
pub use unix::{endpoint_of, processes};
#[cfg(windows)]
pub(super) use windows::pipe_of;
#[cfg(windows)]
pub use windows::{endpoint_of, processes};

use crate::endpoint::NamePrefix;

/// The result of a discovery: what was found, and what could not be read.
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
    /// The sockets and pipes, sorted by process id and path.
    pub found: Vec<DiscoveredEndpoint>,
    /// The places that could not be read.
    pub unseen: Vec<UnreadablePath>,
}

impl Discovery {
    fn new(mut found: Vec<DiscoveredEndpoint>, unseen: Vec<UnreadablePath>) -> Self {
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
    /// The process id in our pid namespace, for [`Endpoint::process`](super::Endpoint::process).
    /// `None` if the process is not known, because a name alone does not show which process owns a
    /// socket.
    pub process_id: Option<u32>,
    /// The process id in the name, which is from the process's own pid namespace.
    pub id_in_name: u32,
    /// The key in the name; pipes have none.
    pub key: Option<u64>,
    /// The prefix of the name, which shows the edition, or a device behind dotnet-dsrouter.
    pub prefix: NamePrefix,
    /// The path of the socket or pipe.
    pub endpoint: PathBuf,
    /// The user id of the process; if the process is not known, the user id of the socket's owner.
    /// Pipes have none. Root passes it to
    /// [`TrustPolicy::allowing_owner`](super::trust::TrustPolicy::allowing_owner).
    pub owner: Option<u32>,
    /// Whether a process listens there.
    pub state: EndpointState,
}

impl DiscoveredEndpoint {
    /// Returns whether no process listens there, or another socket replaced it.
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
    /// The socket could not be checked.
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
    /// The process that the path belongs to; `None` if it concerns several processes.
    pub process_id: Option<u32>,
    /// The file or directory.
    pub path: PathBuf,
    /// The reason.
    pub why: io::ErrorKind,
}

#[cfg(unix)]
impl UnreadablePath {
    fn new(process_id: Option<u32>, path: impl Into<PathBuf>, why: &io::Error) -> Self {
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
// Without `/proc`, most fields are not read.
#[cfg_attr(not(any(target_os = "linux", target_os = "android")), allow(dead_code))]
#[derive(Clone, Debug)]
struct Process {
    /// The process id in our pid namespace.
    process_id: u32,
    /// The process id in its own pid namespace.
    inner_id: u32,
    /// The user that the process runs as, if the system reports it.
    user: Option<u32>,
    /// The key in its socket's name.
    start_time: Option<u64>,
    /// The path of its root, if it differs from ours.
    root: Option<PathBuf>,
    tmpdir: Tmpdir,
    /// Whether the process has an address space.
    runs: bool,
}

#[cfg_attr(not(any(target_os = "linux", target_os = "android")), allow(dead_code))]
#[derive(Clone, Debug)]
#[cfg(unix)]
enum Tmpdir {
    /// The value, absolute; `None` if it is unset or empty.
    Known(Option<PathBuf>),
    Unreadable,
}

#[cfg(unix)]
impl Process {
    fn unknown(process_id: u32) -> Self {
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
