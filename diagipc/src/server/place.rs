//! How to locate a target.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use dotnet_diagnostics_ipc::endpoint::{PIPE_PREFIX, PipeName};

use crate::shown_command::shown;

/// The location of the target. All forms are parsed on every system; a run reports unsupported
/// ones.
///
/// ```
/// use diagipc::server::Place;
///
/// assert!(matches!("4242".parse()?, Place::Process(4242)));
/// assert!(matches!("/tmp/my.socket".parse()?, Place::Socket(_)));
/// assert!(matches!("port:/tmp/my.port".parse()?, Place::Port(_)));
/// assert!(matches!(r"\\.\pipe\my-server".parse()?, Place::Pipe(name) if name == "my-server"));
/// assert!(matches!("dotnet-diagnostic-4242".parse()?, Place::Pipe(_)));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub enum Place {
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
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// How long it may take until it can be reached.
    pub patience: Duration,
}

/// The current directory of a started target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunsIn {
    /// That of this process.
    CurrentDirectory,
    /// A new one, removed at the end: for files with relative names.
    OwnDirectory,
}

impl FromStr for Place {
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

impl fmt::Display for Place {
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

/// The program, and the first argument that is a file: others may be secrets.
impl fmt::Display for SpawnCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(std::iter::once(&self.program).chain(&self.arguments)))
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
            let place: Place = text.parse().unwrap();
            assert!(matches!(&place, Place::Pipe(_)), "{place:?}");
            assert_eq!(place.to_string(), shown);
        }
        for text in [
            "dotnet-diagnostic-12-345-socket",
            "./dotnet-diagnostic-12",
            r"\\server\pipe\mine",
            "é",
        ] {
            assert!(matches!(text.parse(), Ok(Place::Socket(_))), "{text}");
        }
    }

    #[test]
    fn invalid_place_names_what_is_missing() {
        for (text, said) in [
            ("", "expected an endpoint"),
            ("port:", "expected a path after port:"),
            (r"\\.\pipe\", r"expected a name after \\.\pipe\"),
        ] {
            assert!(text.parse::<Place>().unwrap_err().starts_with(said), "{text}");
        }
    }
}
