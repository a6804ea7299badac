//! Connections over Unix sockets.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, Advertise};
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::io::trust::peer_of;
use dotnet_diagnostics_ipc::io::{
    Canceller, ErrorKind, Stopped, UnixTransport, UnlinkOnDrop, Until, bind_private, fd,
};
use dotnet_diagnostics_ipc::vectors::player::{
    Drained, Link, Network, PlayerError, Received, Sent,
};
use dotnet_diagnostics_ipc::vectors::script::{Ending, FdKind, Life, Presence, SignalKind};

use super::Peer;
use super::background::Background;
use super::files::FilesOfTarget;
use super::process;
use super::started::StartedTarget;
use super::{cancelled, failed};
use crate::pace;

/// The interval of polling.
const PAUSE: Duration = Duration::from_millis(10);
/// The length of a wait that the canceller cannot end.
const SLICE: Duration = Duration::from_millis(50);
/// The most that is read at once.
const PIECE: usize = 65_536;

/// Its path in tracefs.
const USER_EVENTS_DATA: [&str; 2] =
    ["/sys/kernel/tracing/user_events_data", "/sys/kernel/debug/tracing/user_events_data"];

/// A pair of packet sockets.
#[cfg(not(target_vendor = "apple"))]
fn packets() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// This system has no packet sockets, and no `user_events` either.
#[cfg(target_vendor = "apple")]
fn packets() -> io::Result<(OwnedFd, OwnedFd)> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The address of the default port.
enum DefaultPort {
    /// The side under test listens there.
    Socket(PathBuf),
    /// The side under test connects to a diagnostic port, and sends an advertise.
    Reversed(UnixListener),
    /// The player listens, in place of a runtime.
    Ours(Listening),
}

/// A socket on which the player listens.
struct Listening {
    listener: UnixListener,
    _guard: UnlinkOnDrop,
}

/// A port of the target's, or of a client's.
struct Port {
    path: PathBuf,
    listening: Option<Listening>,
}

struct Connection {
    stream: UnixStream,
    background: Option<Background>,
}

/// Opens the file of user events.
type OpenUserEvents = Box<dyn FnMut() -> io::Result<OwnedFd> + Send>;

/// Unix sockets on this machine.
pub struct LiveNetwork {
    began: Instant,
    default: DefaultPort,
    ports: BTreeMap<String, Port>,
    connections: Vec<Option<Connection>>,
    target: StartedTarget,
    files: FilesOfTarget,
    canceller: Option<Canceller>,
    user_events: Option<OpenUserEvents>,
    /// The ends of pipes whose other ends were passed.
    kept: Vec<OwnedFd>,
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
            target: StartedTarget::default(),
            files: FilesOfTarget::default(),
            canceller: None,
            user_events: None,
            kept: Vec::new(),
            peer: Peer::default(),
        }
    }

    /// The side under test listens at `path`.
    pub fn to(path: impl Into<PathBuf>) -> Self {
        Self::new(DefaultPort::Socket(path.into()))
    }

    /// The side under test is a runtime that connects to `listener`, its diagnostic port. Its next
    /// connection there, after the advertise, counts as a connection to its default port.
    pub fn at_port(listener: UnixListener) -> Self {
        Self::new(DefaultPort::Reversed(listener))
    }

    /// The player plays a runtime, and listens at `path`.
    ///
    /// # Errors
    /// If it cannot listen.
    pub fn in_place_of_a_runtime(
        path: impl AsRef<Path>,
    ) -> Result<Self, dotnet_diagnostics_ipc::io::Error> {
        Ok(Self::new(DefaultPort::Ours(listen(path.as_ref())?)))
    }

    /// The process at the other end, as far as known.
    pub(crate) fn peer(&self) -> Peer {
        self.peer.clone()
    }

    /// The socket at which the side under test listens, if it does.
    pub(crate) fn target_socket(&self) -> Option<&Path> {
        match &self.default {
            DefaultPort::Socket(path) => Some(path),
            DefaultPort::Reversed(_) | DefaultPort::Ours(_) => None,
        }
    }

    /// The socket at which the player listens in place of a runtime.
    pub(crate) fn listener_of_ours(&self) -> Option<&UnixListener> {
        match &self.default {
            DefaultPort::Ours(listening) => Some(&listening.listener),
            DefaultPort::Socket(_) | DefaultPort::Reversed(_) => None,
        }
    }

    /// Adds a port of this name at `path`.
    #[must_use]
    pub fn with_port(mut self, name: &str, path: impl Into<PathBuf>) -> Self {
        self.ports.insert(name.to_owned(), Port { path: path.into(), listening: None });
        self
    }

    /// From now on the side under test listens at `path`.
    pub fn move_to(&mut self, path: impl Into<PathBuf>) {
        self.default = DefaultPort::Socket(path.into());
    }

    /// `lives` returns whether the target's process is alive.
    #[must_use]
    pub fn with_process(mut self, lives: impl FnMut() -> bool + Send + 'static) -> Self {
        self.target.lives = Some(Box::new(lives));
        self
    }

    /// The target is the process with this id in our pid namespace. An ended process that was not
    /// waited for is dead.
    #[must_use]
    pub fn with_process_id(self, id: u32) -> Self {
        self.with_process(move || process::lives(id))
    }

    /// `signals` sends a signal to the target's process.
    #[must_use]
    pub fn with_signals(
        mut self,
        signals: impl FnMut(SignalKind) -> io::Result<()> + Send + 'static,
    ) -> Self {
        self.target.signals = Some(Box::new(signals));
        self
    }

    /// `finds` returns whether the target has a socket, if its path is not known yet.
    #[must_use]
    pub(crate) fn with_socket_found_by(
        mut self,
        finds: impl FnMut() -> bool + Send + 'static,
    ) -> Self {
        self.target.finds_socket = Some(Box::new(finds));
        self
    }

    /// The target's own current directory.
    #[must_use]
    pub fn with_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.files.directory = Some(directory.into());
        self
    }

    /// `canceller` ends every wait: the step then fails.
    #[must_use]
    pub fn with_canceller(mut self, canceller: Canceller) -> Self {
        self.canceller = Some(canceller);
        self
    }

    /// `open` opens the replacement for `user_events_data`.
    #[must_use]
    pub fn with_user_events(
        mut self,
        open: impl FnMut() -> io::Result<OwnedFd> + Send + 'static,
    ) -> Self {
        self.user_events = Some(Box::new(open));
        self
    }

    /// A socket replaces `user_events_data`, for a target that accepts it: every write is a packet.
    #[must_use]
    pub fn with_stand_in_for_user_events(self) -> Self {
        let mut peers = Vec::new();
        self.with_user_events(move || {
            let (ours, theirs) = packets()?;
            peers.push(ours);
            Ok(theirs)
        })
    }

    /// The file of this system is used as `user_events_data`.
    #[must_use]
    pub fn with_kernels_user_events(self) -> Self {
        self.with_user_events(|| {
            let opened =
                USER_EVENTS_DATA.map(|path| File::options().read(true).write(true).open(path));
            let [first, second] = opened;
            first.or(second).map(OwnedFd::from)
        })
    }

    /// Whether a wait ends: on its timeout, or because the player was interrupted.
    fn is_over(&self, until: Duration) -> impl Fn() -> Result<bool, PlayerError> + use<> {
        let (deadline, canceller) = (self.instant(until), self.canceller.clone());
        move || {
            if canceller.as_ref().is_some_and(Canceller::is_cancelled) {
                return Err(cancelled());
            }
            Ok(deadline.is_none_or(|deadline| deadline <= Instant::now()))
        }
    }

    /// The instant of a time of [`Network::now`].
    fn instant(&self, until: Duration) -> Option<Instant> {
        self.began.checked_add(until)
    }

    fn connection(&mut self, link: Link) -> Result<&mut Connection, PlayerError> {
        let connection = self.connections.get_mut(link.number()).and_then(Option::as_mut);
        connection.ok_or_else(|| PlayerError::differs("the script has closed the connection"))
    }

    fn keep(&mut self, stream: UnixStream) -> Link {
        self.peer.is_process(peer_of(&stream).ok().and_then(|peer| peer.process_id));
        self.connections.push(Some(Connection { stream, background: None }));
        Link::new(self.connections.len() - 1)
    }

    /// The player's listener of a port.
    fn listener(&self, port: Option<&str>) -> Result<&UnixListener, PlayerError> {
        let listening = match (port, &self.default) {
            (Some(name), _) => {
                self.port(name)?.listening.as_ref().map(|listening| &listening.listener)
            }
            (None, DefaultPort::Ours(listening)) => Some(&listening.listener),
            (None, DefaultPort::Reversed(listener)) => Some(listener),
            (None, DefaultPort::Socket(_)) => None,
        };
        listening.ok_or_else(|| PlayerError::differs("the player does not listen there"))
    }

    fn port(&self, name: &str) -> Result<&Port, PlayerError> {
        self.ports.get(name).ok_or_else(|| PlayerError::Unavailable(format!("no port {name}")))
    }

    /// A descriptor of that kind.
    fn descriptor(&mut self, kind: FdKind) -> Result<OwnedFd, PlayerError> {
        let unavailable =
            |error: io::Error| PlayerError::Unavailable(format!("no descriptor to pass: {error}"));
        match kind {
            FdKind::Null => File::options()
                .read(true)
                .write(true)
                .open("/dev/null")
                .map(OwnedFd::from)
                .map_err(unavailable),
            FdKind::Pipe => {
                let (reader, writer) =
                    rustix::pipe::pipe().map_err(|errno| unavailable(errno.into()))?;
                self.kept.push(reader);
                Ok(writer)
            }
            FdKind::UserEventsData => match &mut self.user_events {
                Some(open) => open().map_err(unavailable),
                None => {
                    Err(PlayerError::Unavailable("there is no user_events_data here".to_owned()))
                }
            },
        }
    }
}

fn listen(path: &Path) -> Result<Listening, dotnet_diagnostics_ipc::io::Error> {
    let (listener, guard) = bind_private(path)?;
    Ok(Listening { listener, _guard: guard })
}

fn in_background(stream: &UnixStream) -> io::Result<Background> {
    let (mut reader, stopper) = (stream.try_clone()?, stream.try_clone()?);
    reader.set_nonblocking(false)?;
    Background::start(move |into| reader.read(into), move || drop(stopper.shutdown(Shutdown::Both)))
}

/// Whether there is no listener, or not yet.
fn is_missing(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound(_) | ErrorKind::NotAnEndpoint(_))
}

/// Whether the system reports that the peer has disconnected.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::NotConnected
    )
}

/// Whether a connection waits in time.
fn is_called(listener: &UnixListener, until: &Until<'_>) -> Result<bool, PlayerError> {
    match until.readable(listener) {
        Ok(()) => Ok(true),
        Err(Stopped::TimedOut) => Ok(false),
        Err(Stopped::Cancelled) => Err(cancelled()),
        Err(Stopped::Io(error)) => Err(failed("waiting for a connection")(error)),
    }
}

/// Accepts a connection, or `None` on a timeout.
fn accepted(listener: &UnixListener, until: &Until<'_>) -> Result<Option<UnixStream>, PlayerError> {
    if !is_called(listener, until)? {
        return Ok(None);
    }
    let (stream, _) = listener.accept().map_err(failed("accepting"))?;
    // If the peer has closed already, its bytes are still readable.
    let _ = fd::without_signal(&stream);
    Ok(Some(stream))
}

impl Network for LiveNetwork {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn here(&self, idle: Duration) -> Duration {
        pace::here(idle)
    }

    fn memory(&self) -> Option<u64> {
        self.peer.memory()
    }

    fn open(&mut self, port: Option<&str>, until: Duration) -> Result<Link, PlayerError> {
        let canceller = self.canceller.clone();
        let until_then = Until { deadline: self.instant(until), canceller: canceller.as_ref() };
        let path = match (port, &self.default) {
            (Some(name), _) => self.port(name)?.path.clone(),
            (None, DefaultPort::Socket(path)) => path.clone(),
            (None, DefaultPort::Reversed(listener)) => {
                let stream = accepted(listener, &until_then)?
                    .ok_or_else(|| PlayerError::differs("the runtime does not connect"))?;
                let link = self.keep(stream);
                self.take_advertise(link, until)?;
                return Ok(link);
            }
            (None, DefaultPort::Ours(_)) => {
                return Err(PlayerError::differs("the player itself listens there"));
            }
        };
        let mut missing = None;
        loop {
            // The file of a socket exists a moment before its listener: a refusal is not final.
            match UnixTransport::connect(&path, &until_then) {
                Ok(transport) => return Ok(self.keep(transport.into())),
                Err(error) if is_missing(error.kind()) && self.began.elapsed() < until => {
                    missing = Some(error);
                    thread::sleep(PAUSE);
                }
                // The missing condition explains more than the timeout.
                Err(error) if matches!(error.kind(), ErrorKind::TimedOut) => {
                    return Err(PlayerError::differs(missing.unwrap_or(error).to_string()));
                }
                Err(error) => return Err(PlayerError::differs(error.to_string())),
            }
        }
    }

    fn accept(&mut self, port: Option<&str>, until: Duration) -> Result<Option<Link>, PlayerError> {
        let until = Until { deadline: self.instant(until), canceller: self.canceller.as_ref() };
        let stream = accepted(self.listener(port)?, &until)?;
        Ok(stream.map(|stream| self.keep(stream)))
    }

    fn is_called(&mut self, port: Option<&str>, until: Duration) -> Result<bool, PlayerError> {
        let until = Until { deadline: self.instant(until), canceller: self.canceller.as_ref() };
        is_called(self.listener(port)?, &until)
    }

    fn listen(&mut self, name: &str, listening: bool) -> Result<(), PlayerError> {
        let path = self.port(name)?.path.clone();
        let new = if listening {
            Some(self::listen(&path).map_err(|error| PlayerError::differs(error.to_string()))?)
        } else {
            None
        };
        self.ports.insert(name.to_owned(), Port { path, listening: new });
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
        let until = Until { deadline: self.instant(until), canceller: canceller.as_ref() };
        let mut fd = fd.map(|kind| self.descriptor(kind)).transpose()?;
        let stream = &self.connection(link)?.stream;
        let mut rest = bytes;
        while !rest.is_empty() {
            match fd::send(stream, rest, fd.as_ref().map(AsFd::as_fd).as_slice()) {
                Ok(n) => {
                    fd = None;
                    rest = rest.get(n..).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    match until.writable(stream) {
                        Ok(()) => {}
                        Err(Stopped::Io(error)) => return Err(failed("sending")(error)),
                        Err(Stopped::Cancelled) => return Err(cancelled()),
                        Err(Stopped::TimedOut) => {
                            return Err(PlayerError::differs(format!(
                                "the peer does not read: {} of {} bytes could not be sent in time",
                                rest.len(),
                                bytes.len()
                            )));
                        }
                    }
                }
                Err(error) if is_gone(&error) => {
                    return Ok(Sent::PeerGone(format!("the peer no longer reads: {error}")));
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
        let until = Until { deadline: self.instant(until), canceller: canceller.as_ref() };
        let stream = &self.connection(link)?.stream;
        let mut buffer = vec![0; most.min(PIECE)];
        loop {
            match fd::receive(stream, &mut buffer) {
                Ok((0, _)) => return Ok(Received::End(End::Closed)),
                Ok((n, fds)) => {
                    buffer.truncate(n);
                    return Ok(Received::Bytes(buffer, fds.len()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    match until.readable(stream) {
                        Ok(()) => {}
                        Err(Stopped::Io(error)) => return Err(failed("receiving")(error)),
                        Err(Stopped::Cancelled) => return Err(cancelled()),
                        Err(Stopped::TimedOut) => return Ok(Received::Nothing),
                    }
                }
                Err(error) if is_gone(&error) => return Ok(Received::End(End::Reset)),
                Err(error) => return Err(failed("receiving")(error)),
            }
        }
    }

    fn drain(&mut self, link: Link) -> Result<(), PlayerError> {
        let connection = self.connection(link)?;
        connection.background =
            Some(in_background(&connection.stream).map_err(failed("reading in the background"))?);
        Ok(())
    }

    fn drained(&mut self, link: Link, until: Duration) -> Result<Drained, PlayerError> {
        let canceller = self.canceller.clone();
        loop {
            let left = until.saturating_sub(self.now());
            let Some(background) = &self.connection(link)?.background else {
                return Err(PlayerError::differs("the connection is not read in the background"));
            };
            // Polled only if something can cancel it.
            let patience = if canceller.is_some() { left.min(SLICE) } else { left };
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
        match how {
            Ending::HalfClose => {
                // A disconnected peer needs no end.
                let _ = self.connection(link)?.stream.shutdown(Shutdown::Write);
            }
            // Scripts that reset leave bytes unread, so a close does it.
            Ending::Close | Ending::Reset => {
                if let Some(connection) = self.connections.get_mut(link.number()) {
                    *connection = None;
                }
            }
        }
        Ok(())
    }

    fn wait(&mut self, until: Duration) -> Result<(), PlayerError> {
        let until = Until { deadline: self.instant(until), canceller: self.canceller.as_ref() };
        super::pause(&until)
    }

    fn life(&mut self, expected: Life, until: Duration) -> Result<Life, PlayerError> {
        let is_over = self.is_over(until);
        self.target.life(expected, is_over)
    }

    fn signal(&mut self, signal: SignalKind) -> Result<(), PlayerError> {
        self.target.signal(signal)
    }

    fn socket(&mut self, expected: Presence, until: Duration) -> Result<Presence, PlayerError> {
        let is_over = self.is_over(until);
        let path = match &self.default {
            DefaultPort::Socket(path) => Some(path.as_path()),
            DefaultPort::Reversed(_) | DefaultPort::Ours(_) => None,
        };
        self.target.socket(path, expected, is_over)
    }

    fn file(&mut self, name: &str, most: usize) -> Result<Option<Vec<u8>>, PlayerError> {
        self.files.first_bytes(name, most)
    }
}

impl LiveNetwork {
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
