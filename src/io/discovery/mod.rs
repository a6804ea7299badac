//! Find the processes that can be diagnosed, and their endpoints.
//!
//! # Linux
//! A runtime creates its socket in the directory that `TMPDIR` names in *its* environment, with the
//! process id in *its* pid namespace, seen from *its* root. So discovery reads for every process:
//! the environment (`/proc/PID/environ`), the root (`/proc/PID/root`, if it differs from ours), the
//! ids (`NSpid` of `/proc/PID/status`), and the start time (`/proc/PID/stat`), which is the key in
//! the name.
//!
//! Any user can create a socket of such a name. So [`processes`] connects to each socket, closes the
//! connection without sending, and assigns the socket to the process that the kernel reports as its
//! listener, if that process runs as the user who listens, or root listens. A listener in a pid
//! namespace that we cannot see is none of our processes. Not every socket can be connected to: that
//! of another user refuses it, or too many connections wait. Then the name decides, if the socket
//! belongs to the process's user or to root, and `/proc/net/unix` shows whether it listens.
//!
//! It works without root: unreadable details of another user's process are reported as
//! [`UnreadablePath`]. Such a process is still found if its socket is in `/tmp` or in our `TMPDIR`.
//!
//! # macOS
//! The environment of another process is not readable: discovery looks in our own `TMPDIR`, which
//! belongs to the user, and in `/tmp`. It does not know or search a sandboxed application's group
//! container. The key of a process's socket is the second of its start; whatever the key, a socket
//! belongs to a process if the kernel says that this process listens at it. That takes a connection
//! to each socket, closed without sending. Type-checked; not run.
//!
//! # Windows
//! The names of all pipes are listed. A pipe disappears with its process: none is stale. The
//! creator of a pipe is not checked. Wine 8 does not list them, so listing was not run; there, a
//! process's pipe is used by name.

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
    /// The process id in our pid namespace, for
    /// [`Endpoint::process`](super::Endpoint::process). `None` for a socket without a
    /// known process: the name alone does not make it one of a process.
    pub process_id: Option<u32>,
    /// The process id in the name: from the process's own pid namespace.
    pub id_in_name: u32,
    /// The key in the name; pipes have none.
    pub key: Option<u64>,
    /// The prefix of the name: of an edition, or of the device behind dotnet-dsrouter.
    pub prefix: NamePrefix,
    /// The path of the socket or pipe.
    pub endpoint: PathBuf,
    /// The user id as which the process runs; without a known process, that of the socket's owner.
    /// Pipes have none. Root passes it to
    /// [`TrustPolicy::allowing_owner`](super::trust::TrustPolicy::allowing_owner).
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
// Without `/proc`, that is little.
#[cfg_attr(not(any(target_os = "linux", target_os = "android")), allow(dead_code))]
#[derive(Clone, Debug)]
struct Process {
    /// In our pid namespace.
    process_id: u32,
    /// In its own pid namespace.
    inner_id: u32,
    /// The user as which it runs, if the system reports it.
    user: Option<u32>,
    /// The key in its socket's name.
    start_time: Option<u64>,
    /// The path of its root, if it differs from ours.
    root: Option<PathBuf>,
    tmpdir: Tmpdir,
    /// Whether the process has any code.
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
