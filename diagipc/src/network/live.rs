//! A network of real connections: Unix sockets, or on Windows pipes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, Advertise};
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::io::{Canceller, ErrorKind, WaitLimit};
use dotnet_diagnostics_ipc_vectors::player::{
    Difference, Flow, Link, Network, PlayerError, Received, Sent,
};
use dotnet_diagnostics_ipc_vectors::script::{Ending, FdKind, Life, Presence, SignalKind, Step};
use system::Stream;

#[cfg(unix)]
use super::unix::{self as system, Descriptors};
#[cfg(windows)]
use super::windows::{self as system, NoDescriptors as Descriptors};
use super::{Background, Listener, READ_LEN, cancelled, failed};
use crate::process::{procfs, timeouts};

/// The length of a wait that the canceller cannot end.
const CANCEL_INTERVAL: Duration = Duration::from_millis(50);
/// How often the state of a target is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

type Condition = Box<dyn FnMut() -> bool + Send>;

enum DefaultPort {
    /// The side under test listens there.
    Theirs(PathBuf),
    /// The side under test connects to a diagnostic port, and sends an advertise.
    Reversed(Listener),
    /// The player listens, in place of a runtime.
    Ours(Listener),
}

/// A port of the target or of a client.
struct Port {
    address: PathBuf,
    listener: Option<Listener>,
}

struct Connection {
    stream: Stream,
    background: Option<Background>,
}

/// Connections on this machine. An address is the path of a socket, or on Windows the name of a pipe,
/// with or without `\\.\pipe\`.
///
/// A pipe has no half-close, reset or file, and cannot pass descriptors, and Windows has no
/// signals. [`Network::lacks`] returns this for the steps that need them.
pub struct LiveNetwork {
    began: Instant,
    default: DefaultPort,
    ports: BTreeMap<String, Port>,
    connections: Vec<Option<Connection>>,
    /// Whether the target's process is alive, if it is known.
    lives: Option<Condition>,
    signalled: Option<u32>,
    /// Whether the target has a socket, if its path is not known yet.
    finds_socket: Option<Condition>,
    directory: Option<PathBuf>,
    canceller: Option<Canceller>,
    descriptors: Descriptors,
    peer: Peer,
}

impl fmt::Debug for LiveNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveNetwork").field("ports", &self.ports.keys()).finish_non_exhaustive()
    }
}

impl LiveNetwork {
    fn new(default: DefaultPort) -> Self {
        Self {
            began: Instant::now(),
            default,
            ports: BTreeMap::new(),
            connections: Vec::new(),
            lives: None,
            signalled: None,
            finds_socket: None,
            directory: None,
            canceller: None,
            descriptors: Descriptors::default(),
            peer: Peer::default(),
        }
    }

    /// Creates a network in which the side under test listens at `address`.
    pub fn to(address: impl Into<PathBuf>) -> Self {
        Self::new(DefaultPort::Theirs(address.into()))
    }

    /// Creates a network in which a runtime under test connects to `listener`, its diagnostic port.
    /// The next connection there, after the advertise, counts as one to its default port.
    pub fn at_port(listener: Listener) -> Self {
        Self::new(DefaultPort::Reversed(listener))
    }

    /// Creates a network in which the player plays a runtime, and listens at `listener`.
    pub fn in_place_of_a_runtime(listener: Listener) -> Self {
        Self::new(DefaultPort::Ours(listener))
    }

    pub(crate) fn peer(&self) -> Peer {
        self.peer.clone()
    }

    /// Returns where the side under test listens, if it does.
    pub(crate) fn address(&self) -> Option<&Path> {
        match &self.default {
            DefaultPort::Theirs(address) => Some(address),
            DefaultPort::Reversed(_) | DefaultPort::Ours(_) => None,
        }
    }

    /// Adds a port of this name at `address`.
    #[must_use]
    pub fn with_port(mut self, name: &str, address: impl Into<PathBuf>) -> Self {
        self.ports.insert(name.to_owned(), Port { address: address.into(), listener: None });
        self
    }

    /// Makes connections go to `address`, where the side under test listens from now on.
    pub fn move_to(&mut self, address: impl Into<PathBuf>) {
        self.default = DefaultPort::Theirs(address.into());
    }

    /// Sets `lives`, which returns whether the target's process is alive.
    #[must_use]
    pub fn with_process(mut self, lives: impl FnMut() -> bool + Send + 'static) -> Self {
        self.lives = Some(Box::new(lives));
        self
    }

    /// Sets the target's process, by its id in our pid namespace. An ended process that was not
    /// waited for counts as dead.
    #[cfg(unix)]
    #[must_use]
    pub fn with_process_id(self, id: u32) -> Self {
        self.with_process(move || system::lives(id))
    }

    /// Sends signals to the process with this id, which was started for the script.
    #[must_use]
    pub(crate) fn with_signals_to(mut self, id: u32) -> Self {
        self.signalled = Some(id);
        self
    }

    /// Sets `finds`, which returns whether the target has a socket, if its path is not known yet.
    #[must_use]
    pub(crate) fn with_socket_found_by(
        mut self,
        finds: impl FnMut() -> bool + Send + 'static,
    ) -> Self {
        self.finds_socket = Some(Box::new(finds));
        self
    }

    /// Sets the target's own current directory.
    #[must_use]
    pub fn with_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Sets the canceller, which ends every wait and makes the step fail.
    #[must_use]
    pub fn with_canceller(mut self, canceller: impl Into<Option<Canceller>>) -> Self {
        self.canceller = canceller.into();
        self
    }

    /// Chooses the file for `user_events_data`: the file of this system or, for a target that
    /// accepts it, a socket.
    #[must_use]
    pub fn with_user_events_data(mut self, is_replaced: bool) -> Self {
        self.descriptors = Descriptors::new(is_replaced);
        self
    }

    /// Returns a check whether a wait has timed out; it fails if the player was interrupted.
    fn is_over(&self, until: Duration) -> impl Fn() -> Result<bool, PlayerError> + use<> {
        let (deadline, canceller) = (self.began.checked_add(until), self.canceller.clone());
        move || {
            if canceller.as_ref().is_some_and(Canceller::is_cancelled) {
                return Err(cancelled());
            }
            Ok(deadline.is_none_or(|deadline| deadline <= Instant::now()))
        }
    }

    /// Returns a wait until a time of [`Network::now`], or cancellation.
    fn until<'c>(&self, until: Duration, canceller: Option<&'c Canceller>) -> WaitLimit<'c> {
        WaitLimit { deadline: self.began.checked_add(until), canceller }
    }

    fn connection(&mut self, link: Link) -> Result<&mut Connection, PlayerError> {
        let connection = self.connections.get_mut(link.number()).and_then(Option::as_mut);
        connection.ok_or_else(|| PlayerError::differs("the script has closed the connection"))
    }

    fn keep(&mut self, stream: Stream) -> Link {
        self.peer.is_process(system::peer_process(&stream));
        self.connections.push(Some(Connection { stream, background: None }));
        Link::new(self.connections.len() - 1)
    }

    /// Returns the player's listener of a port.
    fn listener(&self, port: Option<&str>) -> Result<&Listener, PlayerError> {
        let listener = match (port, &self.default) {
            (Some(name), _) => self.port(name)?.listener.as_ref(),
            (None, DefaultPort::Ours(listener) | DefaultPort::Reversed(listener)) => Some(listener),
            (None, DefaultPort::Theirs(_)) => None,
        };
        listener.ok_or_else(|| PlayerError::differs("the player does not listen there"))
    }

    fn port(&self, name: &str) -> Result<&Port, PlayerError> {
        self.ports.get(name).ok_or_else(|| unknown(name))
    }

    /// Reads the advertise first.
    fn take_advertise(&mut self, link: Link, until: Duration) -> Result<(), PlayerError> {
        let mut bytes = Vec::new();
        match Received::fill(&mut bytes, ADVERTISE_LEN, |missing| {
            self.receive(link, missing, until)
        })? {
            None => {}
            Some(Received::End(end)) => {
                return Err(PlayerError::differs(format!("{end} inside the advertise")));
            }
            Some(_) => return Err(PlayerError::differs("no complete advertise was received")),
        }
        let advertise = Advertise::decode(&bytes)
            .map_err(|error| PlayerError::differs(format!("not an advertise: {error}")))?;
        self.peer.says(advertise);
        Ok(())
    }
}

fn unknown(port: &str) -> PlayerError {
    PlayerError::Unavailable(format!("no port {port}"))
}

impl Network for LiveNetwork {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn lacks(&self, step: &Step) -> Option<&'static str> {
        system::lacks(step)
    }

    fn here(&self, idle: Duration) -> Duration {
        timeouts::here(idle)
    }

    fn memory(&self) -> Option<u64> {
        self.peer.memory()
    }

    fn open(&mut self, port: Option<&str>, until: Duration) -> Result<Link, PlayerError> {
        let limit = self.until(until, self.canceller.as_ref());
        let stream = match (port, &self.default) {
            (Some(name), _) => system::connect(&self.port(name)?.address, &limit)?,
            (None, DefaultPort::Theirs(address)) => {
                let stream = system::connect(address, &limit)?;
                system::after_connecting();
                stream
            }
            (None, DefaultPort::Reversed(listener)) => {
                let stream = listener.accept(&limit)?.ok_or(Difference::NotConnected)?;
                let link = self.keep(stream);
                self.take_advertise(link, until)?;
                return Ok(link);
            }
            (None, DefaultPort::Ours(_)) => {
                return Err(PlayerError::differs("the player itself listens there"));
            }
        };
        Ok(self.keep(stream))
    }

    fn accept(&mut self, port: Option<&str>, until: Duration) -> Result<Option<Link>, PlayerError> {
        let until = self.until(until, self.canceller.as_ref());
        let stream = self.listener(port)?.accept(&until)?;
        Ok(stream.map(|stream| self.keep(stream)))
    }

    fn is_called(&mut self, port: Option<&str>, until: Duration) -> Result<bool, PlayerError> {
        let until = self.until(until, self.canceller.as_ref());
        self.listener(port)?.is_called(&until)
    }

    fn listen(&mut self, name: &str, listening: bool) -> Result<(), PlayerError> {
        let port = self.ports.get_mut(name).ok_or_else(|| unknown(name))?;
        // The previous listener is closed first, because two at one address cannot be new.
        port.listener = None;
        if listening {
            let listener = Listener::bind(&port.address);
            port.listener =
                Some(listener.map_err(|error| PlayerError::differs(error.to_string()))?);
        }
        Ok(())
    }

    fn send(
        &mut self,
        link: Link,
        bytes: &[u8],
        fd: Option<FdKind>,
        until: Duration,
    ) -> Result<Sent, PlayerError> {
        let canceller = self.canceller.clone();
        let until = self.until(until, canceller.as_ref());
        let mut fd = fd.map(|kind| Descriptors::open(&mut self.descriptors, kind)).transpose()?;
        let stream = &mut self.connection(link)?.stream;
        let mut rest = bytes;
        while !rest.is_empty() {
            match system::send(stream, rest, fd.as_ref(), &until) {
                Ok(n) => {
                    fd = None;
                    rest = rest.get(n..).unwrap_or_default();
                }
                Err(ErrorKind::Io(error)) if system::is_gone(&error) => {
                    return Ok(Sent::PeerGone(format!("the peer no longer reads: {error}")));
                }
                Err(ErrorKind::Cancelled) => return Err(cancelled()),
                Err(ErrorKind::TimedOut) => {
                    return Err(PlayerError::differs(format!(
                        "the peer does not read: {} of {} bytes could not be sent in time",
                        rest.len(),
                        bytes.len()
                    )));
                }
                Err(error) => return Err(failed("sending")(error)),
            }
        }
        Ok(Sent::All)
    }

    fn receive(
        &mut self,
        link: Link,
        most: usize,
        until: Duration,
    ) -> Result<Received, PlayerError> {
        let canceller = self.canceller.clone();
        let until = self.until(until, canceller.as_ref());
        let stream = &mut self.connection(link)?.stream;
        let mut buffer = vec![0; most.min(READ_LEN)];
        match system::receive(stream, &mut buffer, &until) {
            Ok((0, _)) => Ok(Received::End(End::Closed)),
            Ok((n, fds)) => {
                buffer.truncate(n);
                Ok(Received::Bytes(buffer, fds))
            }
            Err(ErrorKind::TimedOut) => Ok(Received::Nothing),
            Err(ErrorKind::Cancelled) => Err(cancelled()),
            Err(ErrorKind::Io(error)) if system::is_gone(&error) => Ok(Received::End(End::Reset)),
            Err(error) => Err(failed("receiving")(error)),
        }
    }

    #[cfg(unix)]
    fn wait_for_bytes(&mut self, link: Link, until: Duration) -> Result<(), PlayerError> {
        let canceller = self.canceller.clone();
        let until = self.until(until, canceller.as_ref());
        match until.readable(&self.connection(link)?.stream) {
            Ok(()) | Err(ErrorKind::TimedOut) => Ok(()),
            Err(ErrorKind::Cancelled) => Err(cancelled()),
            Err(error) => Err(failed("waiting for bytes")(error)),
        }
    }

    fn drain(&mut self, link: Link, flow: Flow) -> Result<(), PlayerError> {
        let connection = self.connection(link)?;
        let background = system::in_background(&connection.stream, flow);
        connection.background = Some(background.map_err(failed("reading in the background"))?);
        Ok(())
    }

    fn drained(&mut self, link: Link, until: Duration) -> Result<Flow, PlayerError> {
        let canceller = self.canceller.clone();
        loop {
            let left = until.saturating_sub(self.now());
            let Some(background) = &self.connection(link)?.background else {
                return Err(PlayerError::differs("the connection is not read in the background"));
            };
            // Poll only if something can cancel the wait.
            let patience = if canceller.is_some() { left.min(CANCEL_INTERVAL) } else { left };
            let drained = background.drained(patience);
            if drained.end.is_some() || patience == left {
                return Ok(drained);
            }
            if canceller.as_ref().is_some_and(Canceller::is_cancelled) {
                return Err(cancelled());
            }
        }
    }

    fn end(&mut self, link: Link, how: Ending) -> Result<(), PlayerError> {
        if how == Ending::HalfClose {
            return match system::half_close(&self.connection(link)?.stream) {
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    Err(PlayerError::Unavailable(error.to_string()))
                }
                // A disconnected peer needs no end.
                _ => Ok(()),
            };
        }
        // A close resets the connection, because scripts that reset leave bytes unread.
        if let Some(connection) = self.connections.get_mut(link.number()) {
            *connection = None;
        }
        Ok(())
    }

    fn wait(&mut self, until: Duration) -> Result<(), PlayerError> {
        match self.until(until, self.canceller.as_ref()).sleep() {
            Ok(()) => Ok(()),
            Err(ErrorKind::Io(error)) => Err(failed("waiting")(error)),
            Err(_) => Err(cancelled()),
        }
    }

    fn life(&mut self, expected: Life, until: Duration) -> Result<Life, PlayerError> {
        let is_over = self.is_over(until);
        loop {
            let over = is_over()?;
            let Some(lives) = &mut self.lives else {
                return Err(PlayerError::Unavailable("the target's process is unknown".to_owned()));
            };
            match (lives(), expected) {
                (false, _) => return Ok(Life::Dead),
                (true, Life::Alive) => return Ok(Life::Alive),
                (true, Life::Dead) if over => return Ok(Life::Alive),
                (true, Life::Dead) => thread::sleep(POLL_INTERVAL),
            }
        }
    }

    fn signal(&mut self, signal: SignalKind) -> Result<(), PlayerError> {
        let id = self.signalled.ok_or_else(not_ours)?;
        system::signal(id, signal).map_err(failed("sending a signal"))
    }

    fn socket(&mut self, expected: Presence, until: Duration) -> Result<Presence, PlayerError> {
        let is_over = self.is_over(until);
        loop {
            let over = is_over()?;
            let is_there = match (&mut self.finds_socket, &self.default) {
                (Some(finds), _) => finds(),
                (None, DefaultPort::Theirs(path)) => path.exists(),
                (None, _) => {
                    let why = "the default port has no file here";
                    return Err(PlayerError::Unavailable(why.to_owned()));
                }
            };
            let presence = if is_there { Presence::There } else { Presence::Gone };
            if presence == expected || over {
                return Ok(presence);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    fn file(&mut self, name: &str, most: usize) -> Result<Option<Vec<u8>>, PlayerError> {
        let directory = self.directory.as_ref().ok_or_else(not_ours)?;
        let mut bytes = Vec::new();
        let read = File::open(directory.join(name))
            .and_then(|file| file.take(most as u64).read_to_end(&mut bytes));
        match read {
            Ok(_) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&format!("reading {name}"))(error)),
        }
    }
}

fn not_ours() -> PlayerError {
    PlayerError::Unavailable("the target was not started for this case".to_owned())
}

/// The process at the other end of a network's open connections. A copy is updated with the
/// network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer(Arc<Mutex<State>>);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    process_id: Option<u32>,
    advertise: Option<Advertise>,
}

impl Peer {
    /// Returns the process id in this system: of the process that called `listen`, or that
    /// connected to a port. `None` if the system does not report it, or the process has no id here.
    pub(crate) fn process_id(&self) -> Option<u32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).process_id
    }

    /// Returns the last advertise of the process at a port that replaces its default port.
    pub(crate) fn advertise(&self) -> Option<Advertise> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).advertise
    }

    /// Returns the memory of the process in KiB, if the system reports it.
    fn memory(&self) -> Option<u64> {
        procfs::resident(self.process_id()?)
    }

    /// Returns whether the process is known to run for somebody else ([`procfs::is_stranger`]).
    pub(crate) fn is_stranger(&self) -> bool {
        self.process_id().is_some_and(procfs::is_stranger)
    }

    fn is_process(&self, process_id: Option<u32>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).process_id = process_id;
    }

    fn says(&self, advertise: Advertise) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).advertise = Some(advertise);
    }
}
