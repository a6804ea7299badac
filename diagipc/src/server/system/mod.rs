//! How each operating system shows where a started target listens.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::path::PathBuf;

use dotnet_diagnostics_ipc::io::{Canceller, WaitLimit};

#[cfg(unix)]
use self::unix as this;
#[cfg(windows)]
use self::windows as this;
use this::is_ready;
pub(super) use this::{
    DIRECTORY_VARIABLES, NO_ADDRESS, NO_ENDPOINT, check, default_port, exposures, is_alive,
    named_process, port_address, variable, without_core_file,
};

use crate::network::address::Address;

/// Returns the endpoint in a line that a target prints, once it exists.
pub(super) fn named(line: &str, canceller: Option<&Canceller>) -> Option<PathBuf> {
    let address: Address = line.parse().ok()?;
    address.find(&WaitLimit { deadline: None, canceller }).ok().filter(|path| is_ready(path))
}
