//! How a reference runtime is started.

use core::fmt;
use std::format;
use std::io;
use std::path::PathBuf;
use std::string::String;
use std::vec::Vec;

use super::Misbehaviour;
use crate::conformance::known::{Profile, is_told};
use crate::endpoint::SUN_PATH_LINUX;
use crate::port::{DEFAULT_PORT_SUSPEND_VARIABLE, DefaultPortSuspend, PORTS_VARIABLE, SuspensionError};
use crate::vectors::script::Target;

/// How a reference runtime is started.
///
/// ```
/// use dotnet_diagnostics_ipc::conformance::runtime::{Config, Misbehaviour};
///
/// let config = Config { suspended: true, ..Config::new("/run/user/1000/socket") };
/// assert!(config.misbehaviours.is_empty() && !config.dies);
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// Which runtime it is like.
    pub profile: Profile,
    /// The socket of its default port. Its directory must be ours, as for [`bind_private`](crate::io::bind_private).
    pub socket: PathBuf,
    /// The ports that it connects to: what `DOTNET_DiagnosticPorts` says. `None`: what `environment` says of it.
    pub ports: Option<String>,
    /// Whether the default port holds its start. Where it is not set, `environment` may still say so.
    pub suspended: bool,
    /// Entries of its environment, behind those that were recorded: `NAME=VALUE`, or any other text (F-79).
    pub environment: Vec<String>,
    /// What it does wrong.
    pub misbehaviours: Vec<Misbehaviour>,
    /// Whether it dies of the requests that kill the runtime it is like (F-72). The whole process then aborts: it must be one of its
    /// own.
    pub dies: bool,
}

impl Config {
    /// A runtime like .NET 10 that behaves, with this socket.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self {
            profile: Profile::default(),
            socket: socket.into(),
            ports: None,
            suspended: false,
            environment: Vec::new(),
            misbehaviours: Vec::new(),
            dies: false,
        }
    }

    /// As an exchange script wants its target. `address` says where the ports are, by their names.
    #[must_use]
    pub fn for_target(mut self, target: &Target, address: impl Fn(&str) -> String) -> Self {
        self.suspended = target.suspended;
        self.environment = target.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !target.ports.is_empty() {
            let mode = |suspend| if suspend { "suspend" } else { "nosuspend" };
            let ports = target.ports.iter().map(|port| format!("{},{}", address(&port.id), mode(port.suspend)));
            self.ports = Some(ports.collect::<Vec<_>>().join(";"));
        }
        self
    }

    /// What `environment` says. The other prefix is read where `DOTNET_` is not there (P-11).
    fn variable(&self, name: &str) -> Option<String> {
        let name = name.strip_prefix("DOTNET_").unwrap_or(name);
        let text = |prefix: &str| {
            let value = |entry: &String| entry.strip_prefix(prefix)?.strip_prefix(name)?.strip_prefix('=').map(String::from);
            self.environment.iter().find_map(value)
        };
        text("DOTNET_").or_else(|| text("COMPlus_"))
    }

    pub(super) fn ports_text(&self) -> String {
        self.ports.clone().or_else(|| self.variable(PORTS_VARIABLE)).unwrap_or_default()
    }

    pub(super) fn suspends(&self) -> bool {
        let variable = self.variable(DEFAULT_PORT_SUSPEND_VARIABLE);
        let is_number = |text: &str| (1..=16).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_read = |text: &str| !is_told(self.profile, "F-106") || is_number(text);
        self.suspended || variable.is_some_and(|text| is_read(&text) && DefaultPortSuspend::parse(&text).suspends())
    }

    /// Whether a port can be the address of a socket. One that cannot holds the start of some builds all the same (P-13).
    pub(super) fn counts(&self, address: &str) -> bool {
        address.len() <= SUN_PATH_LINUX || is_told(self.profile, "P-13")
    }
}

/// Why a reference runtime did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// It cannot listen.
    Socket(crate::io::Error),
    /// There are too many ports.
    Ports(SuspensionError),
    /// The system has no thread or descriptor left.
    System(io::Error),
    /// The recorded values are not in the vectors. Not with the crate's own.
    Vectors,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(error) => error.fmt(f),
            Self::Ports(error) => error.fmt(f),
            Self::System(error) => error.fmt(f),
            Self::Vectors => f.write_str("the vectors have no recorded values of such a runtime"),
        }
    }
}

impl core::error::Error for StartError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            // Their words are this error's.
            Self::Socket(error) => error.source(),
            Self::Ports(error) => error.source(),
            Self::System(error) => error.source(),
            Self::Vectors => None,
        }
    }
}
