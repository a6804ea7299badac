//! The configuration of a reference runtime.

use std::path::PathBuf;
use std::{fmt, io};

use dotnet_diagnostics_ipc::endpoint::SUN_PATH_LINUX;
use dotnet_diagnostics_ipc::port::{
    DEFAULT_PORT_SUSPEND_VARIABLE, PORTS_VARIABLE, default_port_suspend,
};

use super::Misbehaviour;
use crate::known::{Profile, is_told};

/// The configuration of a reference runtime.
///
/// ```
/// use diagipc::runtime::{Config, Misbehaviour};
///
/// let config = Config { suspended: true, ..Config::new("/run/user/1000/socket") };
/// assert!(config.misbehaviours.is_empty() && !config.dies);
/// ```
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent")]
pub struct Config {
    /// The runtime to imitate.
    pub profile: Profile,
    /// The socket of the default port, in a directory of ours, as `bind_private` requires. On
    /// Windows it is the name of the pipe, with or without `\\.\pipe\`.
    pub socket: PathBuf,
    /// The ports to connect to, as in `DOTNET_DiagnosticPorts`; `None` to use `environment`.
    pub ports: Option<String>,
    /// Whether the default port suspends the start. If false, `environment` may still say so.
    pub suspended: bool,
    /// The command line, instead of the recorded one. While the runtime is suspended it is
    /// shortened as the imitated runtime does (F-79, F-100).
    pub command_line: Option<String>,
    /// The name of the entry assembly, instead of the recorded one.
    pub entry_assembly: Option<String>,
    /// Entries of the environment after the recorded ones, as `NAME=VALUE` or any other text
    /// (F-79).
    pub environment: Vec<String>,
    /// Entries of the environment that are not UTF-8.
    pub environment_bytes: Vec<Vec<u8>>,
    /// Whether the environment has only these entries, without the recorded ones.
    pub is_environment_whole: bool,
    /// The directory for dumps, which are files with the start of a core file. They are written for
    /// names without a directory that do not exist yet. With `None` a dump is answered OK, but not
    /// written.
    pub dumps: Option<PathBuf>,
    /// Whether the rundown is so short that a client may leave it unread while it stops. A real
    /// runtime's is not (F-75).
    pub has_short_rundown: bool,
    /// The faults that the runtime shows.
    pub misbehaviours: Vec<Misbehaviour>,
    /// Whether well-formed requests that kill the imitated runtime (P-2, F-95, F-97), and signals,
    /// have the same effect here. The whole process then aborts, so run it in a separate process.
    pub dies: bool,
}

impl Config {
    /// Returns the configuration of a correct runtime like .NET 10 with this socket.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self {
            profile: Profile::default(),
            socket: socket.into(),
            ports: None,
            suspended: false,
            command_line: None,
            entry_assembly: None,
            environment: Vec::new(),
            environment_bytes: Vec::new(),
            is_environment_whole: false,
            dumps: None,
            has_short_rundown: false,
            misbehaviours: Vec::new(),
            dies: false,
        }
    }

    /// Adds a variable to the environment, with any bytes as its value.
    pub fn set(&mut self, name: &str, value: &[u8]) {
        match std::str::from_utf8(value) {
            Ok(text) => self.environment.push(format!("{name}={text}")),
            Err(_) => self.environment_bytes.push([name.as_bytes(), b"=", value].concat()),
        }
    }

    /// Returns a value in `environment`. The other prefix is read if `DOTNET_` is missing (P-11).
    fn variable(&self, name: &str) -> Option<String> {
        let name = name.strip_prefix("DOTNET_").unwrap_or(name);
        let text = |prefix: &str| {
            let value = |entry: &String| {
                entry.strip_prefix(prefix)?.strip_prefix(name)?.strip_prefix('=').map(String::from)
            };
            self.environment.iter().find_map(value)
        };
        text("DOTNET_").or_else(|| text("COMPlus_"))
    }

    /// Whether the environment disables the server (F-107, P-51), with its ports and suspension.
    pub(super) fn is_switched_off(&self) -> bool {
        if is_told(self.profile, "F-107") {
            // Only one name is read, and only digits.
            let mut values = self
                .environment
                .iter()
                .filter_map(|entry| entry.strip_prefix("DOTNET_EnableDiagnostics="));
            return values.next().is_some_and(|text| is_digits(text) && digits(text) == 0);
        }
        let is_zero = |text: String| default_port_suspend(&text) == Some(0);
        let is_read = self.profile.version().is_none_or(|version| version.major > 3);
        is_read
            && ["EnableDiagnostics", "EnableDiagnostics_IPC"]
                .iter()
                .any(|name| self.variable(name).is_some_and(is_zero))
    }

    pub(super) fn ports_text(&self) -> String {
        self.ports.clone().or_else(|| self.variable(PORTS_VARIABLE)).unwrap_or_default()
    }

    pub(super) fn suspends(&self) -> bool {
        let variable = self.variable(DEFAULT_PORT_SUSPEND_VARIABLE);
        let suspends = |text: String| {
            if is_told(self.profile, "F-106") {
                is_digits(&text) && digits(&text) != 0
            } else {
                default_port_suspend(&text).is_some_and(|number| number != 0)
            }
        };
        self.suspended || variable.is_some_and(suspends)
    }

    /// Whether the address of a port can be that of a socket. In some builds a port whose address
    /// cannot still suspends the start (P-13).
    pub(super) fn counts(&self, address: &str) -> bool {
        cfg!(windows) || address.len() <= SUN_PATH_LINUX || is_told(self.profile, "P-13")
    }
}

/// Whether `NativeAOT` reads a value at all (F-106).
fn is_digits(text: &str) -> bool {
    (1..=16).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the number of the last eight digits, as the value is truncated to 32 bits.
fn digits(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_default() & 0xffff_ffff
}

/// The reason why a reference runtime did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The runtime cannot listen.
    Socket(dotnet_diagnostics_ipc::io::Error),
    /// There are too many ports.
    TooManyPorts {
        /// The maximum number of ports of a runtime.
        limit: usize,
    },
    /// The system has no threads or descriptors left.
    System(io::Error),
    /// The vectors lack the recorded values, which cannot happen with the crate's own vectors.
    Vectors,
    /// This system cannot show the fault, because a pipe has no reset.
    Unavailable(Misbehaviour),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(error) => error.fmt(f),
            Self::TooManyPorts { limit } => write!(f, "more than {limit} ports"),
            Self::System(error) => error.fmt(f),
            Self::Unavailable(what) => {
                write!(f, "the misbehaviour {what} cannot be shown over pipes")
            }
            Self::Vectors => f.write_str("the vectors have no recorded values of such a runtime"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // `Display` has the text of these errors.
            Self::Socket(error) => error.source(),
            Self::System(error) => error.source(),
            Self::TooManyPorts { .. } | Self::Vectors | Self::Unavailable(_) => None,
        }
    }
}
