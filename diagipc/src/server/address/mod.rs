//! Where a target listens, and how it is found.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use dotnet_diagnostics_ipc::endpoint::{PIPE_PREFIX, PipeName};

#[cfg(unix)]
pub(crate) use self::unix::TargetNetwork;
#[cfg(unix)]
pub(super) use self::unix::{
    DIRECTORY_VARIABLES, NO_ENDPOINT, PortName, default_port, named, named_process, port_address,
    to, variable, with_port_found_by, with_signals, without_core_file,
};
#[cfg(windows)]
pub(crate) use self::windows::TargetNetwork;
#[cfg(windows)]
pub(super) use self::windows::{
    DIRECTORY_VARIABLES, NO_ENDPOINT, PortName, default_port, named, port_address, to, variable,
    with_port_found_by, with_signals, without_core_file,
};
use super::SpawnCommand;

/// The location of the target. All forms are parsed on every system; a run reports unsupported
/// ones.
///
/// ```
/// use diagipc::server::Address;
///
/// assert!(matches!("4242".parse()?, Address::Process(4242)));
/// assert!(matches!("/tmp/my.socket".parse()?, Address::Socket(_)));
/// assert!(matches!("port:/tmp/my.port".parse()?, Address::Port(_)));
/// assert!(matches!(r"\\.\pipe\my-server".parse()?, Address::Pipe(name) if name == "my-server"));
/// assert!(matches!("dotnet-diagnostic-4242".parse()?, Address::Pipe(_)));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub enum Address {
    /// The default port of a process on this machine.
    Process(u32),
    /// It listens at this socket. Not on Windows.
    Socket(PathBuf),
    /// It listens at the pipe of this name. Only on Windows.
    Pipe(String),
    /// It is a runtime that connects to this diagnostic port, where the suite listens: a socket's
    /// path, or on Windows a pipe's name.
    Port(PathBuf),
    /// It is started, and restarted after its death.
    Spawn(SpawnCommand),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const WANTED: &str =
            "expected an endpoint: a process id, a socket's path, a pipe, or port:PATH";
        if let Ok(id) = text.parse() {
            return Ok(Self::Process(id));
        }
        if let Some(path) = text.strip_prefix("port:") {
            return if path.is_empty() {
                Err("expected a path after port:".to_owned())
            } else {
                Ok(Self::Port(path.into()))
            };
        }
        match pipe(text) {
            Some("") => Err(format!("expected a name after {PIPE_PREFIX}")),
            Some(name) => Ok(Self::Pipe(name.to_owned())),
            None if text.is_empty() => Err(WANTED.to_owned()),
            None => Ok(Self::Socket(text.into())),
        }
    }
}

/// The name of the pipe, if the text is one: after its prefix, in any case, or that of a default
/// port.
fn pipe(text: &str) -> Option<&str> {
    match text.split_at_checked(PIPE_PREFIX.len()) {
        Some((prefix, name)) if prefix.eq_ignore_ascii_case(PIPE_PREFIX) => Some(name),
        _ => PipeName::parse(text).is_ok().then_some(text),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(id) => write!(f, "process {id}"),
            Self::Socket(path) => path.display().fmt(f),
            Self::Pipe(name) => write!(f, "{PIPE_PREFIX}{name}"),
            Self::Port(path) => write!(f, "port:{}", path.display()),
            Self::Spawn(command) => command.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn pipe_is_distinguished_from_socket() {
        for (text, shown) in [
            (r"\\.\pipe\dotnet-diagnostic-12", r"\\.\pipe\dotnet-diagnostic-12"),
            (r"\\.\PIPE\mine", r"\\.\pipe\mine"),
            ("dotnet-diagnostic-12", r"\\.\pipe\dotnet-diagnostic-12"),
        ] {
            let address: Address = text.parse().unwrap();
            assert!(matches!(&address, Address::Pipe(_)), "{address:?}");
            assert_eq!(address.to_string(), shown);
        }
        for text in [
            "dotnet-diagnostic-12-345-socket",
            "./dotnet-diagnostic-12",
            r"\\server\pipe\mine",
            "é",
        ] {
            assert!(matches!(text.parse(), Ok(Address::Socket(_))), "{text}");
        }
    }

    #[test]
    fn invalid_address_names_what_is_missing() {
        for (text, said) in [
            ("", "expected an endpoint"),
            ("port:", "expected a path after port:"),
            (r"\\.\pipe\", r"expected a name after \\.\pipe\"),
        ] {
            assert!(text.parse::<Address>().unwrap_err().starts_with(said), "{text}");
        }
    }
}
