//! The address of a runtime.

use std::fmt;
use std::net::SocketAddr;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::string::String;
#[cfg(unix)]
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::discovery::DiscoveredEndpoint;
use super::tcp;
use super::trust::TrustPolicy;
use super::{Connect, Error, ErrorKind, Phase, WaitLimit};
#[cfg(unix)]
use super::{
    SocketTransport, discovery,
    trust::{self, VerifiedSocket},
};
use crate::endpoint::{PIPE_PREFIX, strip_pipe_prefix};

/// The address of a runtime's default port: a process, the path of a socket, the name of a pipe, or a
/// TCP address.
///
/// An untrusted endpoint is refused before a byte is sent; [`trust`](super::trust) lists the
/// checks. The socket that was found is cached for the next connection while it stays the same, but
/// the listener is checked each time.
///
/// ```
/// use dotnet_diagnostics_ipc::io::Endpoint;
///
/// assert_eq!(Endpoint::process(12).to_string(), "process 12");
/// assert_eq!(Endpoint::socket("/tmp/dotnet-diagnostic-12-345-socket").to_string(), "/tmp/dotnet-diagnostic-12-345-socket");
/// assert_eq!(Endpoint::pipe("dotnet-diagnostic-12").to_string(), r"\\.\pipe\dotnet-diagnostic-12");
/// assert_eq!(Endpoint::pipe(r"\\.\PIPE\dotnet-diagnostic-12").to_string(), r"\\.\pipe\dotnet-diagnostic-12");
/// ```
#[derive(Clone, Debug)]
pub struct Endpoint {
    place: Place,
    /// The only process that may listen there; `None` if any may.
    process_id: Option<u32>,
    trust: TrustPolicy,
    /// The last socket that was found and checked.
    #[cfg(unix)]
    cache: Arc<Mutex<Option<VerifiedSocket>>>,
}

#[derive(Clone, Debug)]
enum Place {
    Process(u32),
    Socket(PathBuf),
    Pipe(String),
    Tcp(SocketAddr),
}

impl Endpoint {
    /// Creates the endpoint of a process's default port on this machine.
    pub fn process(process_id: u32) -> Self {
        Self { process_id: Some(process_id), ..Self::at(Place::Process(process_id)) }
    }

    /// Creates the endpoint of a Unix socket.
    pub fn socket(path: impl Into<PathBuf>) -> Self {
        Self::at(Place::Socket(path.into()))
    }

    /// Creates the endpoint of a Windows pipe, with or without `\\.\pipe\` before its name.
    pub fn pipe(name: impl Into<String>) -> Self {
        let name = name.into();
        let name = strip_pipe_prefix(&name).map(String::from).unwrap_or(name);
        Self::at(Place::Pipe(name))
    }

    /// Creates the endpoint of a TCP address: a forwarded port of a device, or a router. An address
    /// that is not a loopback address needs [`TrustPolicy::allowing_any_address`].
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::io::{Client, Endpoint, ErrorKind};
    ///
    /// let client = Client::new(Endpoint::tcp(([192, 0, 2, 1], 9000)));
    /// assert!(matches!(client.process_info().unwrap_err().kind(), ErrorKind::Untrusted(_)));
    /// ```
    pub fn tcp(address: impl Into<SocketAddr>) -> Self {
        Self::at(Place::Tcp(address.into()))
    }

    fn at(place: Place) -> Self {
        Self {
            place,
            process_id: None,
            trust: TrustPolicy::CHECKED,
            #[cfg(unix)]
            cache: Arc::default(),
        }
    }

    pub(super) const fn tcp_address(&self) -> Option<SocketAddr> {
        match self.place {
            Place::Tcp(address) => Some(address),
            _ => None,
        }
    }

    /// Checks the TCP address before connecting to it.
    pub(super) fn check_address(&self, address: SocketAddr) -> Result<(), Error> {
        self.trust.check_address(address).map_err(|reason| Error::new(Phase::Trust, reason))
    }

    /// Sets the trust policy.
    #[must_use]
    pub fn trusting(mut self, policy: TrustPolicy) -> Self {
        self.trust = policy;
        self
    }
}

/// Converts a discovered socket or pipe. If its process is known, no other may listen there.
///
/// ```
/// use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
/// use dotnet_diagnostics_ipc::io::{Client, Endpoint, discovery};
///
/// for found in &discovery::processes()?.found {
///     // Root may talk to the processes of every user.
///     let policy = found.owner.map_or(TrustPolicy::CHECKED, |owner| TrustPolicy::CHECKED.allowing_owner(owner));
///     let client = Client::new(Endpoint::from(found).trusting(policy));
/// # drop(client);
/// }
/// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
/// ```
impl From<&DiscoveredEndpoint> for Endpoint {
    fn from(found: &DiscoveredEndpoint) -> Self {
        #[cfg(unix)]
        let place = Place::Socket(found.endpoint.clone());
        #[cfg(windows)]
        let place = Self::pipe(found.endpoint.to_string_lossy()).place;
        Self { process_id: found.process_id, ..Self::at(place) }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Process(process_id) => write!(f, "process {process_id}"),
            Place::Socket(path) => path.display().fmt(f),
            Place::Pipe(name) => write!(f, "{PIPE_PREFIX}{name}"),
            Place::Tcp(address) => address.fmt(f),
        }
    }
}

#[cfg(unix)]
impl Endpoint {
    /// Finds and checks the socket.
    pub(super) fn find(&self, until: &WaitLimit<'_>) -> Result<VerifiedSocket, Error> {
        let path = match &self.place {
            Place::Process(process_id) => discovery::endpoint_of(*process_id, until)?,
            Place::Socket(path) => path.clone(),
            // The caller connects to a TCP address without a search.
            Place::Pipe(_) | Place::Tcp(_) => {
                return Err(Error::new(
                    Phase::Find,
                    ErrorKind::Unsupported("this system has no named pipes"),
                ));
            }
        };
        VerifiedSocket::new(&path, self.trust)
    }

    /// Returns the cached socket, if it is still the same.
    pub(super) fn found_before(&self) -> Option<VerifiedSocket> {
        self.cached().clone().filter(|socket| socket.is_still(self.trust))
    }

    /// Locks the cache, which holds a socket that passed the checks.
    pub(super) fn cached(&self) -> MutexGuard<'_, Option<VerifiedSocket>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects without waiting, and checks who listens; `None` if the backlog is full. The stream
    /// does not block.
    pub(super) fn try_open(&self, socket: &VerifiedSocket) -> Result<Option<UnixStream>, Error> {
        let stream = super::unix::try_connect(&socket.path)?;
        if let Some(stream) = &stream {
            trust::check_peer(stream, self.trust, self.process_id)?;
        }
        Ok(stream)
    }

    fn open(
        &self,
        socket: &VerifiedSocket,
        until: &WaitLimit<'_>,
    ) -> Result<SocketTransport, Error> {
        super::unix::connected(until, || self.try_open(socket)).map(SocketTransport::new)
    }
}

#[cfg(unix)]
impl Connect for Endpoint {
    type Transport = SocketTransport;

    fn connect(&self, until: &WaitLimit<'_>) -> Result<Self::Transport, Error> {
        if let Some(address) = self.tcp_address() {
            self.check_address(address)?;
            let connected = super::unix::tcp_connected(address, until);
            return connected.map_err(|stopped| tcp::failed(address, stopped));
        }
        if let Some(socket) = self.found_before() {
            match self.open(&socket, until) {
                // No process listens there any longer, or another does: search again below.
                Err(error)
                    if !matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::Cancelled) =>
                {
                    *self.cached() = None;
                }
                done => return done,
            }
        }
        let socket = self.find(until)?;
        let transport = self.open(&socket, until)?;
        *self.cached() = Some(socket);
        Ok(transport)
    }
}

#[cfg(windows)]
impl Endpoint {
    /// Returns the name of the endpoint's pipe.
    pub(super) fn pipe_name(&self) -> Result<String, Error> {
        match &self.place {
            Place::Process(process_id) => super::discovery::pipe_of(*process_id),
            Place::Pipe(name) => Ok(name.clone()),
            Place::Socket(_) | Place::Tcp(_) => Err(Error::new(
                Phase::Find,
                ErrorKind::Unsupported("on Windows a runtime has a pipe, not a socket"),
            )),
        }
    }

    /// Checks the pipe's creator after connecting.
    pub(super) fn check_pipe(
        &self,
        pipe: &impl std::os::windows::io::AsHandle,
    ) -> Result<(), Error> {
        super::trust::check_pipe(pipe, self.trust, self.process_id)
    }
}

#[cfg(windows)]
impl Connect for Endpoint {
    type Transport = super::windows::EndpointTransport;

    fn connect(&self, until: &WaitLimit<'_>) -> Result<Self::Transport, Error> {
        if let Some(address) = self.tcp_address() {
            self.check_address(address)?;
            let connected = super::windows::tcp_connected(address, until);
            let connected = connected.map_err(|stopped| tcp::failed(address, stopped));
            return connected.map(Self::Transport::Tcp);
        }
        let pipe = super::windows::PipeTransport::connect(&self.pipe_name()?, until)?;
        self.check_pipe(&pipe)?;
        Ok(Self::Transport::Pipe(pipe))
    }
}
