//! Where a runtime can be reached.

use std::fmt;
#[cfg(unix)]
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::string::String;

use super::trust::TrustPolicy;
use super::{Connect, Error, ErrorKind, Phase, Until};
#[cfg(unix)]
use super::{discovery, trust};

/// Where a runtime can be reached by its default port: a process, the path of a socket, or the name of a pipe.
///
/// It is found, and looked at, for each connection anew. What cannot be trusted is refused before a byte is sent:
/// [`trust`](super::trust) says what is looked at.
///
/// ```
/// use dotnet_diagnostics_ipc::io::Endpoint;
///
/// assert_eq!(Endpoint::process(12).to_string(), "process 12");
/// assert_eq!(Endpoint::socket("/tmp/dotnet-diagnostic-12-345-socket").to_string(), "/tmp/dotnet-diagnostic-12-345-socket");
/// assert_eq!(Endpoint::pipe("dotnet-diagnostic-12").to_string(), r"\\.\pipe\dotnet-diagnostic-12");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    place: Place,
    trust: TrustPolicy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Process(u32),
    Socket(PathBuf),
    Pipe(String),
}

impl Endpoint {
    /// The default port of a process of this machine.
    pub const fn process(process_id: u32) -> Self {
        Self { place: Place::Process(process_id), trust: TrustPolicy::CHECKED }
    }

    /// A Unix socket.
    pub fn socket(path: impl Into<PathBuf>) -> Self {
        Self { place: Place::Socket(path.into()), trust: TrustPolicy::CHECKED }
    }

    /// A Windows pipe, with or without `\\.\pipe\` before its name.
    pub fn pipe(name: impl Into<String>) -> Self {
        let name = name.into();
        let name = name.strip_prefix(r"\\.\pipe\").map(String::from).unwrap_or(name);
        Self { place: Place::Pipe(name), trust: TrustPolicy::CHECKED }
    }

    /// The same, trusted by other rules.
    #[must_use]
    pub const fn trusting(mut self, policy: TrustPolicy) -> Self {
        self.trust = policy;
        self
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Process(process_id) => write!(f, "process {process_id}"),
            Place::Socket(path) => path.display().fmt(f),
            Place::Pipe(name) => write!(f, r"\\.\pipe\{name}"),
        }
    }
}

#[cfg(unix)]
impl Endpoint {
    /// The path of its socket, which was looked at, and the process that should listen there.
    pub(super) fn find(&self, until: &Until<'_>) -> Result<(PathBuf, Option<u32>), Error> {
        let (path, process_id) = match &self.place {
            Place::Process(process_id) => (discovery::endpoint_of(*process_id, until)?, Some(*process_id)),
            Place::Socket(path) => (path.clone(), None),
            Place::Pipe(_) => return Err(Error::new(Phase::Find, ErrorKind::Unsupported("this system has no named pipes"))),
        };
        trust::check_path(&path, self.trust)?;
        Ok((path, process_id))
    }

    /// Looks at who listens, once connected.
    pub(super) fn check_peer(&self, stream: &impl AsFd, process_id: Option<u32>) -> Result<(), Error> {
        trust::check_peer(stream, self.trust, process_id)
    }
}

#[cfg(unix)]
impl Connect for Endpoint {
    type Transport = super::UnixTransport;

    fn connect(&self, until: &Until<'_>) -> Result<Self::Transport, Error> {
        let (path, process_id) = self.find(until)?;
        let transport = super::unix::connect(&path, until)?;
        self.check_peer(transport.stream(), process_id)?;
        Ok(transport)
    }
}

#[cfg(windows)]
impl Endpoint {
    /// The name of its pipe.
    pub(super) fn pipe_name(&self) -> Result<String, Error> {
        match &self.place {
            Place::Process(process_id) => Ok(std::format!("dotnet-diagnostic-{process_id}")),
            Place::Pipe(name) => Ok(name.clone()),
            Place::Socket(_) => Err(Error::new(Phase::Find, ErrorKind::Unsupported("on Windows a runtime has a pipe, no socket"))),
        }
    }
}

#[cfg(windows)]
impl Endpoint {
    /// Looks at who made the pipe, once connected.
    pub(super) fn check_pipe(&self, pipe: &impl std::os::windows::io::AsHandle) -> Result<(), Error> {
        let expected = match self.place {
            Place::Process(process_id) => Some(process_id),
            _ => None,
        };
        super::trust::check_pipe(super::windows::server_process_id(pipe.as_handle()), self.trust, expected)
    }
}

#[cfg(windows)]
impl Connect for Endpoint {
    type Transport = super::windows::PipeTransport;

    fn connect(&self, until: &Until<'_>) -> Result<Self::Transport, Error> {
        let pipe = super::windows::PipeTransport::connect(&self.pipe_name()?, until)?;
        self.check_pipe(&pipe)?;
        Ok(pipe)
    }
}
