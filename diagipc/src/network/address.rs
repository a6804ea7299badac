//! Where a target listens, and how it is found.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use dotnet_diagnostics_ipc::endpoint::{PIPE_PREFIX, PipeName};
use dotnet_diagnostics_ipc::io::{Endpoint, WaitLimit, discovery};

use crate::process::program::Program;

/// The location of the target. All forms are parsed on every system; a run reports unsupported
/// ones.
///
/// ```
/// use diagipc::Address;
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

/// Why there is no endpoint at a port.
const NO_RUNTIME: &str =
    "no runtime listens at a port: expected a process id, a socket path or a pipe";

impl Address {
    /// The endpoint of a runtime that listens.
    ///
    /// # Errors
    /// It connects to a port instead, or must be started first.
    pub fn endpoint(&self) -> Result<Endpoint, String> {
        match self {
            Self::Process(id) => Ok(Endpoint::process(*id)),
            Self::Socket(path) => Ok(Endpoint::socket(path)),
            Self::Pipe(name) => Ok(Endpoint::pipe(name.as_str())),
            Self::Port(_) | Self::Spawn(_) => Err(NO_RUNTIME.to_owned()),
        }
    }

    /// The socket of a runtime that listens, or on Windows its pipe. That of a process is searched.
    ///
    /// # Errors
    /// As [`endpoint`](Self::endpoint); there is none, or not on this system.
    pub fn find(&self, until: &WaitLimit<'_>) -> Result<PathBuf, String> {
        match self {
            Self::Process(id) => {
                discovery::endpoint_of(*id, until).map_err(|error| format!("{error:#}"))
            }
            Self::Socket(path) if cfg!(unix) => Ok(path.clone()),
            Self::Socket(_) => Err(format!(
                r"{self}: on Windows a runtime has a pipe, not a socket: use \\.\pipe\NAME or a process id"
            )),
            Self::Pipe(name) if cfg!(windows) => Ok(name.into()),
            Self::Pipe(_) => Err(format!("{self}: named pipes are only on Windows")),
            Self::Port(_) | Self::Spawn(_) => Err(NO_RUNTIME.to_owned()),
        }
    }
}

impl Address {
    /// Returns the text of an address if it is more likely the name of a process: no path, and no
    /// file in the current directory.
    pub fn name(&self) -> Option<&str> {
        let Self::Socket(path) = self else { return None };
        let name = path.to_str().filter(|text| !text.contains(['/', '\\']))?;
        (!path.exists()).then_some(name)
    }
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
            Self::Spawn(command) => command.program.fmt(f),
        }
    }
}

/// The command that starts a target.
///
/// It runs in the current directory, and gets a new directory as `TMPDIR`. Its first line gives its
/// address: the path of a socket, or a process id; or a socket named like a default port appears in
/// that directory, which every runtime creates. On Windows the line is a pipe with its prefix, or a
/// process id, and the pipe of the default port is found by the process; the directory is also
/// `TMP` and `TEMP`.
///
/// A target for a dump runs in that directory, so that the dump is written there: its program and
/// arguments that are files become absolute paths.
#[derive(Clone, Debug)]
pub struct SpawnCommand {
    /// The program.
    pub program: Program,
    /// How long it may take until it can be reached.
    pub patience: Duration,
    /// How long it runs until it is idle. Before that no case is played.
    pub settles: Duration,
}

impl SpawnCommand {
    /// How long the managed code of a program runs until it is idle.
    pub const SETTLES: Duration = Duration::from_millis(500);
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
