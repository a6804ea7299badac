//! Where a target listens on Unix, and how it is found.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use dotnet_diagnostics_ipc::io::trust::{Distrust, TrustPolicy, check_path};
use dotnet_diagnostics_ipc::io::{Connect as _, Error, ErrorKind, WaitLimit};
use dotnet_diagnostics_ipc_vectors::script::VariableValue;

use crate::conversation::FaultSeen;
use crate::faults::Fault;
pub(in crate::server) use crate::network::named_process;
use crate::network::{advised, endpoint_at, is_served, lives, tcp_address};

/// What a line is that names no target.
pub(in crate::server) const NO_ADDRESS: &str =
    "neither the absolute path of a socket that exists nor a process id";
/// The error text for a target that cannot be reached.
pub(in crate::server) const NO_ENDPOINT: &str =
    "prints no endpoint, and has no default-port socket in TMPDIR";
/// The variables with which a target is given its directory.
pub(in crate::server) const DIRECTORY_VARIABLES: &[&str] = &["TMPDIR"];

/// Checks that a process listens on the socket, and that it is trusted.
pub(in crate::server) fn check(
    socket: &Path,
    until: &WaitLimit<'_>,
    trust: TrustPolicy,
) -> Result<(), String> {
    let connected = endpoint_at(socket).trusting(trust).connect(until);
    connected.map(drop).map_err(|error| advised(&error))
}

/// Whether the process named in the socket's name is alive; without a name, whether anything
/// listens there.
pub(in crate::server) fn is_alive(socket: &Path) -> bool {
    named_process(socket).map_or_else(|| is_served(socket), lives)
}

/// Returns why other users of the machine can use or replace the socket.
pub(in crate::server) fn exposures(socket: &Path) -> Vec<FaultSeen> {
    let mut found = Vec::new();
    if tcp_address(socket).is_some() {
        return found;
    }
    if let Ok(metadata) = fs::metadata(socket) {
        let mode = metadata.mode() & 0o777;
        let text = format!("the mode of the socket is {mode:04o}, expected 0600");
        found.extend((mode & 0o002 != 0).then(|| FaultSeen::new(Fault::SocketOpenToOthers, text)));
    }
    let path = check_path(socket, TrustPolicy::CHECKED.allowing_other_owner());
    if let Err(ErrorKind::Untrusted(reason @ Distrust::SharedDirectory { .. })) =
        path.as_ref().map_err(Error::kind)
    {
        found.push(FaultSeen::new(Fault::SocketReplaceable, reason.to_string()));
    }
    found
}

/// Returns the address of a port for a target in this directory.
pub(in crate::server) fn port_address(directory: &Path, id: &str) -> PathBuf {
    directory.join(id)
}

/// Whether the socket that a target has printed exists.
pub(in crate::server) fn is_ready(socket: &Path) -> bool {
    socket.is_absolute() && socket.exists()
}

/// Returns the default-port socket in `directory` of the process `id`, or of its child.
pub(in crate::server) fn default_port(directory: &Path, id: u32) -> Option<PathBuf> {
    let own = format!("dotnet-diagnostic-{id}-");
    let names = fs::read_dir(directory)
        .ok()?
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut sockets: Vec<String> = names
        .filter(|name| name.starts_with("dotnet-diagnostic-") && name.ends_with("-socket"))
        .collect();
    sockets.sort_by_key(|name| !name.starts_with(&own));
    sockets.first().map(|name| directory.join(name))
}

/// Returns the value as passed to a process.
#[allow(clippy::unnecessary_wraps, reason = "on Windows not every value can be had")]
pub(in crate::server) fn variable(value: &VariableValue) -> Option<OsString> {
    Some(OsString::from_vec(value.as_bytes().into_owned()))
}

/// Keeps a process that a case may kill from writing a core file into its current directory. Only
/// Linux can set this for another process.
pub(in crate::server) fn without_core_file(id: u32) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::process::{Pid, Resource, Rlimit, prlimit};

        let none = Rlimit { current: Some(0), maximum: Some(0) };
        let process = i32::try_from(id).ok().and_then(Pid::from_raw);
        // A process that has already ended needs no limit.
        let _ = process.map(|process| prlimit(Some(process), Resource::Core, none));
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = id;
}
