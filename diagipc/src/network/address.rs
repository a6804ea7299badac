//! The address of a target, and how the target is found.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use dotnet_diagnostics_ipc::endpoint::{PIPE_PREFIX, PipeName, strip_pipe_prefix};
use dotnet_diagnostics_ipc::io::{Endpoint, WaitLimit, discovery};

use crate::process::program::Program;

/// The address of the target. All forms are parsed on every system; a run reports unsupported ones.
///
/// ```
/// use diagipc::Address;
///
/// assert!(matches!("4242".parse()?, Address::Process(4242)));
/// assert!(matches!("/tmp/my.socket".parse()?, Address::Socket(_)));
/// assert!(matches!("port:/tmp/my.port".parse()?, Address::Port(_)));
/// assert!(matches!("localhost:9000".parse()?, Address::Tcp(_)));
/// assert!(matches!("localhost:9000,listen".parse()?, Address::Port(_)));
/// assert!(matches!(r"\\.\pipe\my-server".parse()?, Address::Pipe(name) if name == "my-server"));
/// assert!(matches!("dotnet-diagnostic-4242".parse()?, Address::Pipe(_)));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub enum Address {
    /// The default port of a process on this machine.
    Process(u32),
    /// The target listens at this socket; not on Windows.
    Socket(PathBuf),
    /// The target listens at the pipe of this name; only on Windows.
    Pipe(String),
    /// The target listens at this TCP address, or a router does.
    Tcp(SocketAddr),
    /// The target is a runtime that connects to this diagnostic port, where the suite listens: a
    /// socket's path, on Windows a pipe's name, or the text of a TCP address.
    Port(PathBuf),
    /// The suite starts the target, and restarts it after its death.
    Spawn(SpawnCommand),
}

/// The error for a port, which has no endpoint.
const NO_RUNTIME: &str =
    "no runtime listens at a port: expected a process id, a socket path, a pipe or HOST:PORT";

impl Address {
    /// Returns the endpoint of a runtime that listens.
    ///
    /// # Errors
    /// Fails if the runtime connects to a port instead, or must be started first.
    pub fn endpoint(&self) -> Result<Endpoint, String> {
        match self {
            Self::Process(id) => Ok(Endpoint::process(*id)),
            Self::Socket(path) => Ok(Endpoint::socket(path)),
            Self::Pipe(name) => Ok(Endpoint::pipe(name.as_str())),
            Self::Tcp(address) => Ok(Endpoint::tcp(*address)),
            Self::Port(_) | Self::Spawn(_) => Err(NO_RUNTIME.to_owned()),
        }
    }

    /// Returns the socket of a runtime that listens, on Windows its pipe, or the text of its TCP
    /// address. The socket of a process is searched.
    ///
    /// # Errors
    /// Fails as [`endpoint`](Self::endpoint) does, or if there is none on this system.
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
            Self::Tcp(address) if cfg!(unix) => Ok(address.to_string().into()),
            Self::Tcp(_) => Err(format!("{self}: on Windows the suites use pipes, not TCP")),
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
            "expected an endpoint: a process id, a socket's path, a pipe, HOST:PORT, or port:PATH";
        if let Ok(id) = text.parse() {
            return Ok(Self::Process(id));
        }
        let port = text.strip_prefix("port:");
        if let Some((address, listens)) = tcp(port.unwrap_or(text))? {
            return Ok(if listens.unwrap_or(port.is_some()) {
                Self::Port(address.to_string().into())
            } else {
                Self::Tcp(address)
            });
        }
        if let Some(path) = port {
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

/// Parses `HOST:PORT`, and `,listen` or `,connect` after it, as dotnet-dsrouter and .NET's tools
/// write them. A socket with such a name in the current directory is `./HOST:PORT`.
fn tcp(text: &str) -> Result<Option<(SocketAddr, Option<bool>)>, String> {
    if ["ws://", "wss://"].iter().any(|scheme| text.starts_with(scheme)) {
        return Err(format!(
            "{text}: dotnet-dsrouter connects a browser: start `dotnet-dsrouter server-websocket`, and use its process id"
        ));
    }
    let (place, tag) = text.split_once(',').map_or((text, None), |(at, tag)| (at, Some(tag)));
    let Some((host, number)) = place.rsplit_once(':') else { return Ok(None) };
    let is_name = |host: &str| {
        !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b))
    };
    let address = match (place.parse(), host, number.parse::<u16>()) {
        (Ok(address), ..) => address,
        (_, "localhost", Ok(number)) => (Ipv4Addr::LOCALHOST, number).into(),
        (_, "*", Ok(number)) => (Ipv4Addr::UNSPECIFIED, number).into(),
        (_, host, Ok(number)) if is_name(host) => {
            let found = (host, number).to_socket_addrs().map(|mut found| found.next());
            let found = found.map_err(|error| format!("{place}: {error}"))?;
            found.ok_or_else(|| format!("{place}: the host has no address"))?
        }
        _ => return Ok(None),
    };
    match tag {
        None => Ok(Some((address, None))),
        Some("listen") => Ok(Some((address, Some(true)))),
        Some("connect") => Ok(Some((address, Some(false)))),
        Some(tag) => Err(format!("{place},{tag}: expected listen or connect after HOST:PORT")),
    }
}

/// Parses a place where this tool listens or connects: a path, a pipe's name, or `HOST:PORT`.
///
/// # Errors
/// Fails for the address of a browser, or a host that was not found.
pub fn place(text: &str) -> Result<PathBuf, String> {
    Ok(tcp(text)?.map_or_else(|| text.into(), |(address, _)| address.to_string().into()))
}

/// Returns the TCP address of a [`place`], if it is one.
pub fn tcp_address(place: &Path) -> Option<SocketAddr> {
    place.to_str()?.parse().ok()
}

/// Returns the name of the pipe, if the text has the prefix of pipes, or is the name of a default
/// port.
fn pipe(text: &str) -> Option<&str> {
    strip_pipe_prefix(text).or_else(|| PipeName::parse(text).is_ok().then_some(text))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(id) => write!(f, "process {id}"),
            Self::Socket(path) => path.display().fmt(f),
            Self::Pipe(name) => write!(f, "{PIPE_PREFIX}{name}"),
            Self::Tcp(address) => address.fmt(f),
            Self::Port(path) => write!(f, "port:{}", path.display()),
            Self::Spawn(command) => command.program.fmt(f),
        }
    }
}

/// The command that starts a target.
///
/// It runs in the current directory, and gets a new directory as `TMPDIR`. The first line of its
/// output gives its address: the path of a socket, or a process id. Otherwise a socket named like a
/// default port appears in that directory, as for every runtime. On Windows the line is a pipe with
/// its prefix, or a process id, and the process leads to the pipe of its default port; the
/// directory is also `TMP` and `TEMP`.
///
/// A target for a dump runs in that directory, so that the dump is written there. Its program and
/// arguments that are files become absolute paths.
#[derive(Clone, Debug)]
pub struct SpawnCommand {
    /// The program.
    pub program: Program,
    /// How long the target may take until it can be reached.
    pub patience: Duration,
    /// How long the target runs until it is idle; no case is played before.
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
    fn tcp_address_is_distinguished_from_socket_and_direction_from_port() {
        for (text, is_port, shown) in [
            ("127.0.0.1:9000", false, "127.0.0.1:9000"),
            ("127.0.0.1:9000,connect", false, "127.0.0.1:9000"),
            ("[::1]:9000", false, "[::1]:9000"),
            ("localhost:9000,listen", true, "port:127.0.0.1:9000"),
            ("port:127.0.0.1:9000", true, "port:127.0.0.1:9000"),
            ("port:*:9000", true, "port:0.0.0.0:9000"),
            ("port:127.0.0.1:9000,connect", false, "127.0.0.1:9000"),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(matches!(address, Address::Port(_)), is_port, "{text}");
            assert_eq!(address.to_string(), shown, "{text}");
        }
        for text in ["./127.0.0.1:9000", "/tmp/a:1", "a:b", ":9000", "127.0.0.1:99999"] {
            assert!(matches!(text.parse(), Ok(Address::Socket(_))), "{text}");
        }
    }

    #[test]
    fn invalid_address_names_what_is_missing() {
        for (text, said) in [
            ("", "expected an endpoint"),
            ("port:", "expected a path after port:"),
            ("ws://127.0.0.1:8088/x", "ws://127.0.0.1:8088/x: dotnet-dsrouter connects a browser"),
            ("127.0.0.1:1,suspend", "127.0.0.1:1,suspend: expected listen or connect"),
            (r"\\.\pipe\", r"expected a name after \\.\pipe\"),
        ] {
            assert!(text.parse::<Address>().unwrap_err().starts_with(said), "{text}");
        }
    }
}
