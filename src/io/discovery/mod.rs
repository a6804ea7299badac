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

//! # Example
//!
//! List the processes that can be asked:
//!
//! ```no_run
//! use dotnet_diagnostics_ipc::io::discovery;
//!
//! for found in discovery::processes()?.found.iter().filter(|found| !found.is_stale()) {
//!     println!("{:?} {}", found.process_id, found.endpoint.display());
//! }
//! # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
//! ```

mod found;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
mod macos;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::path::PathBuf;

pub use found::{DiscoveredEndpoint, Discovery, EndpointState, UnreadablePath};
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use super::{Error, WaitLimit};

/// Lists the sockets or pipes of default ports with their processes.
///
/// A [`DiscoveredEndpoint`] may be out of date; [`Endpoint`](super::Endpoint) checks again.
///
/// # Errors
/// [`Phase::Find`](super::Phase::Find) if nothing can be listed.
pub fn processes() -> Result<Discovery, Error> {
    system::processes()
}

/// The path of a process's socket or pipe. `process_id` is from our pid namespace, whatever the
/// process's own is.
///
/// A listed socket of its name and its user is not connected to: who listens there is checked by
/// whoever connects, as [`Endpoint`](super::Endpoint) does.
///
/// # Errors
/// [`Phase::Find`](super::Phase::Find): [`ErrorKind::NotFound`](super::ErrorKind::NotFound) lists
/// what was searched: no such process, or no socket of it in the right place. `until` is checked
/// between steps; each step reads the file system.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{WaitLimit, discovery};
///
/// let error = discovery::endpoint_of(u32::MAX, &WaitLimit::FOREVER).unwrap_err();
/// # #[cfg(unix)]
/// assert_eq!(error.to_string(), "process 4294967295 was not found (looking for the endpoint)");
/// ```
pub fn endpoint_of(process_id: u32, until: &WaitLimit<'_>) -> Result<PathBuf, Error> {
    system::endpoint_of(process_id, until)
}
