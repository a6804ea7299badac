//! Where a target listens, and how it is found.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use self::unix::TargetNetwork;
#[cfg(unix)]
pub(super) use self::unix::{
    Address, DIRECTORY_VARIABLES, NO_ENDPOINT, default_port, named, named_process, port_address,
    to, variable, with_port_found_by, with_signals, without_core_file,
};
#[cfg(windows)]
pub(crate) use self::windows::TargetNetwork;
#[cfg(windows)]
pub(super) use self::windows::{
    Address, DIRECTORY_VARIABLES, NO_ENDPOINT, default_port, named, port_address, to, variable,
    with_port_found_by, with_signals, without_core_file,
};
