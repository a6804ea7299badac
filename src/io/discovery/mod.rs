//! Which processes can be diagnosed, and where.
//!
//! # Linux
//! A runtime makes its socket in the directory that `TMPDIR` names in *its* environment, with the process id that it has in *its*
//! pid namespace, seen from *its* root. So for every process: the environment (`/proc/PID/environ`), the root (`/proc/PID/root`,
//! where it is not ours), the ids (`NSpid` of `/proc/PID/status`), and when it started (`/proc/PID/stat`), which is the key in the
//! name. A socket whose id and key are those of a process is that process's. Whether anybody listens is read from
//! `/proc/PID/net/unix`; only where no process fits the name, a connection is tried, and closed without a byte sent.
//!
//! It works without root: what another user's process keeps to itself is reported as [`UnreadablePath`]. Such a process is still found if
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

use std::path::PathBuf;

use super::{Error, Until};

#[cfg(unix)]
mod directory;
mod found;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
mod macos;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub use found::{DiscoveredEndpoint, Discovery, EndpointState, UnreadablePath};
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// Lists the sockets or pipes of default ports, and says whose they are.
///
/// What [`DiscoveredEndpoint`] says was so a moment ago; [`Endpoint`](super::Endpoint) looks anew, and checks.
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
/// assert_eq!(error.to_string(), "looking for the endpoint: process 4294967295 was not found");
/// ```
pub fn endpoint_of(process_id: u32, until: &Until<'_>) -> Result<PathBuf, Error> {
    system::endpoint_of(process_id, until)
}
