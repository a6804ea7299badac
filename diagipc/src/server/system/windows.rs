//! Where a target listens on Windows, and how it is found.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use dotnet_diagnostics_ipc::endpoint::{PIPE_PREFIX, PipeName, strip_pipe_prefix};
use dotnet_diagnostics_ipc::io::WaitLimit;
use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
use dotnet_diagnostics_ipc::io::windows::PipeTransport;
use dotnet_diagnostics_ipc_vectors::script::VariableValue;

use crate::conversation::FaultSeen;
use crate::network::is_served;

/// What a line is that names no target.
pub(in crate::server) const NO_ADDRESS: &str = "neither a pipe that exists nor a process id";
/// The error text for a target that cannot be reached.
pub(in crate::server) const NO_ENDPOINT: &str = "prints no endpoint, and has no default-port pipe";
/// The variables with which a target is given its directory.
pub(in crate::server) const DIRECTORY_VARIABLES: &[&str] = &["TMP", "TEMP", "TMPDIR"];
/// The delay between a new pipe and its first client. A runtime creates its pipe before it waits
/// for a client; one that connects too early leaves it unable to serve anybody (F-120).
const FIRST_CLIENT_DELAY: Duration = Duration::from_millis(50);

/// Checks that the pipe exists. The first request shows whether it answers.
pub(in crate::server) fn check(
    pipe: &Path,
    _: &WaitLimit<'_>,
    _: TrustPolicy,
) -> Result<(), String> {
    if is_served(pipe) {
        return Ok(());
    }
    Err(format!(r"{PIPE_PREFIX}{} does not exist", name(pipe)))
}

/// Whether the pipe exists.
pub(in crate::server) fn is_alive(pipe: &Path) -> bool {
    is_served(pipe)
}

/// Returns the name without the prefix.
fn name(pipe: &Path) -> String {
    let text = pipe.to_string_lossy();
    strip_pipe_prefix(&text).unwrap_or(&text).to_owned()
}

/// Returns the process id in the name of a pipe.
pub(in crate::server) fn named_process(pipe: &Path) -> Option<u32> {
    PipeName::parse(&name(pipe)).ok().map(|name| name.pid)
}

/// Returns nothing, because only its user can open a pipe.
pub(in crate::server) fn exposures(_: &Path) -> Vec<FaultSeen> {
    Vec::new()
}

/// Returns the address of a port for a target: the bare, unique name of a pipe (F-124).
pub(in crate::server) fn port_address(directory: &Path, id: &str) -> PathBuf {
    format!("{}-{id}", directory.file_name().unwrap_or_default().to_string_lossy()).into()
}

/// Returns the pipe of the default port of the process `id`.
pub(in crate::server) fn default_port(_: &Path, id: u32) -> Option<PathBuf> {
    Some(PathBuf::from(PipeName::new(id).to_string())).filter(|pipe| is_ready(pipe))
}

/// Whether the pipe exists. If so, its server is given a moment.
pub(in crate::server) fn is_ready(pipe: &Path) -> bool {
    let is_there = PipeTransport::is_there(&pipe.to_string_lossy()).is_ok_and(|is_there| is_there);
    if is_there {
        thread::sleep(FIRST_CLIENT_DELAY);
    }
    is_there
}

/// Returns the value as passed to a process, if it is text, as variables on Windows must be.
pub(in crate::server) fn variable(value: &VariableValue) -> Option<OsString> {
    String::from_utf8(value.as_bytes().into_owned()).ok().map(OsString::from)
}

/// Does nothing, because Windows writes no core file.
pub(in crate::server) const fn without_core_file(_: u32) {}
