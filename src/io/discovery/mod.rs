//! Which processes can be diagnosed, and where.
//!
//! # Linux
//! A runtime makes its socket in the directory that `TMPDIR` names in *its* environment, with the process id that it has in *its*
//! pid namespace, seen from *its* root. So for every process: the environment (`/proc/PID/environ`), the root (`/proc/PID/root`,
//! where it is not ours), the ids (`NSpid` of `/proc/PID/status`), and when it started (`/proc/PID/stat`), which is the key in the
//! name. A socket whose id and key are those of a process is that process's. Whether anybody listens is read from
//! `/proc/PID/net/unix`; only where no process fits the name, a connection is tried, and closed without a byte sent.
//!
//! It works without root: what another user's process keeps to itself is reported as [`Unseen`]. Such a process is still found if
//! its socket is in `/tmp`, or in our own `TMPDIR`.
//!
//! # macOS
//! The environment of another process cannot be read: our own `TMPDIR`, which is the user's, and `/tmp` are looked at. The
//! container of a sandboxed application's group is not known, and not looked at. The key of a process's socket is the second of its
//! start; whatever the key, a socket is a process's if the kernel says that this process listens at it. That takes a connection to
//! each socket, closed without a byte sent. Type-checked; not run.
//!
//! # Windows
//! The names of all pipes are listed. A pipe goes with its process: none is stale. Who made a pipe is not looked at. Wine 8 does
//! not list them, so that listing was not run; a process's own pipe is then taken by its name.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::vec::Vec;

use super::{Error, Until};
use crate::endpoint::NamePrefix;

#[cfg(unix)]
mod directory;
#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "linux.rs"]
mod platform;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
#[path = "macos.rs"]
mod platform;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// What was found, and what could not be seen.
///
/// ```
/// use dotnet_diagnostics_ipc::io::discovery;
///
/// let seen = discovery::processes()?;
/// for found in seen.found.iter().filter(|found| !found.is_stale()) {
///     println!("{:?} {}", found.process_id, found.endpoint.display());
/// }
/// for unseen in &seen.unseen {
///     eprintln!("not seen: {unseen}");
/// }
/// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// One for each socket or pipe, by process id and path.
    pub found: Vec<Found>,
    /// Where something may be that was not found.
    pub unseen: Vec<Unseen>,
}

/// A socket or pipe with the name of a default port.
///
/// ```
/// use dotnet_diagnostics_ipc::io::discovery::{self, State};
///
/// for found in discovery::processes()?.found {
///     // A socket that a dead process left behind, which may be deleted.
///     if found.state == State::Stale && found.process_id.is_none() {
///         println!("{} of process {}", found.endpoint.display(), found.id_in_name);
///     }
/// }
/// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The process, as we number it: what [`Endpoint::process`](super::Endpoint::process) takes. `None` for a socket that is no
    /// process's, as far as can be seen.
    pub process_id: Option<u32>,
    /// The process id in the name: the process's own, in its pid namespace.
    pub id_in_name: u32,
    /// The key in the name; pipes have none.
    pub key: Option<u64>,
    /// The edition that the name is from.
    pub prefix: NamePrefix,
    /// The path of the socket or pipe.
    pub endpoint: PathBuf,
    /// The user id of the socket's owner; pipes have none. Root names it to
    /// [`TrustPolicy::allowing_owner`](super::trust::TrustPolicy::allowing_owner).
    pub owner: Option<u32>,
    /// Whether anybody listens.
    pub state: State,
}

impl Found {
    /// Whether nobody listens there, or another socket is this process's now.
    pub const fn is_stale(&self) -> bool {
        matches!(self.state, State::Stale | State::Superseded)
    }
}

/// Whether anybody listens at a socket.
///
/// ```
/// use dotnet_diagnostics_ipc::io::discovery::State;
///
/// assert_eq!(State::Superseded.to_string(), "superseded");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// Somebody does.
    Listening,
    /// Nobody does. Only a clean shutdown removes a socket (F-61, F-82).
    Stale,
    /// Another socket in the same directory, with the same process id and a newer key, is the process's.
    Superseded,
    /// It may not be looked at.
    Unknown(io::ErrorKind),
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listening => f.write_str("listening"),
            Self::Stale => f.write_str("stale"),
            Self::Superseded => f.write_str("superseded"),
            Self::Unknown(why) => write!(f, "unknown: {why}"),
        }
    }
}

/// What could not be looked at. A process whose socket was found all the same is not listed.
///
/// ```
/// use std::io::ErrorKind;
/// use dotnet_diagnostics_ipc::io::discovery::Unseen;
///
/// let unseen = Unseen { process_id: Some(1), path: "/proc/1/environ".into(), why: ErrorKind::PermissionDenied };
/// assert_eq!(unseen.to_string(), "/proc/1/environ: permission denied");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// Of which process; `None` for what is no single one's.
    pub process_id: Option<u32>,
    /// The file or directory.
    pub path: PathBuf,
    /// Why.
    pub why: io::ErrorKind,
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

/// Lists the sockets or pipes of default ports, and says whose they are.
///
/// What [`Found`] says was so a moment ago; [`Endpoint`](super::Endpoint) looks anew, and checks.
///
/// # Errors
/// [`Phase::Find`](super::Phase::Find), where nothing at all can be listed.
pub fn processes() -> Result<Discovery, Error> {
    system::processes()
}

/// The path of a process's socket or pipe. `process_id` is as we number it, whatever the process's own pid namespace.
///
/// # Errors
/// [`Phase::Find`](super::Phase::Find): [`ErrorKind::NotFound`](super::ErrorKind::NotFound) says what was looked at: no such
/// process, or no socket of it where it should be. `until` is looked at between steps; each is a look at the file system.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{Until, discovery};
///
/// let error = discovery::endpoint_of(u32::MAX, &Until::FOREVER).unwrap_err();
/// # #[cfg(unix)]
/// assert_eq!(error.to_string(), "looking for the endpoint: process 4294967295 is not there");
/// ```
pub fn endpoint_of(process_id: u32, until: &Until<'_>) -> Result<PathBuf, Error> {
    system::endpoint_of(process_id, until)
}
