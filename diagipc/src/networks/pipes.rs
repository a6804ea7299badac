//! Connections over Windows pipes.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, Advertise};
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
use dotnet_diagnostics_ipc::io::{Canceller, Error, ErrorKind, Stopped, Transport as _, Until};
use dotnet_diagnostics_ipc::vectors::player::{
    Drained, Link, Network, PlayerError, Received, Sent,
};
use dotnet_diagnostics_ipc::vectors::script::{
    Accept, EndStep, Ending, ExpectEnd, ExpectNoConnection, ExpectedEnd, FdKind, Life, Listen,
    Open, Step,
};
use windows_sys::Win32::Foundation::{ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED};

use super::background::Background;
use super::failed;
use super::files::FilesOfTarget;
use super::listening_pipes::{Listening, Ports};
use crate::pace;

/// The interval of polling.
const PAUSE: Duration = Duration::from_millis(10);
/// How long there may be no pipe between two clients of a live server.
const BETWEEN: Duration = Duration::from_millis(500);
/// The time between two connections. .NET creates a pipe for the next client when one has
/// connected, and misses a client that opens it before it waits for one: it then serves neither
/// that one nor any later one (seen on 10.0.9 under wine).
const UNTIL_THE_NEXT: Duration = Duration::from_millis(20);
/// The most that is read at once.
const PIECE: usize = 65_536;

const NO_HALF_CLOSE: &str = "a pipe has no half-close";
const NO_RESET: &str = "a pipe has no reset: its end looks the same with and without unread bytes";
const NO_DESCRIPTORS: &str = "a pipe cannot pass descriptors";
const NO_SIGNALS: &str = "Windows has no signals";
const NO_FILE_OF_THE_PORT: &str = "a pipe has no file that can remain";
const NO_PORT: &str = "the player has no port of this name";

struct Connection {
    pipe: PipeTransport,
    background: Option<Background>,
}

/// A port on which the player listens, shared by consecutive networks.
pub(crate) type SharedPort = Arc<Mutex<PipeListener>>;

/// The address of the side under test.
enum DefaultPort {
    /// It listens at the pipe of this name.
    Pipe(String),
    /// It connects to a diagnostic port, and sends an advertise.
    Reversed(SharedPort),
    /// The player listens on it, in place of a runtime.
    Ours(Listening),
}

/// Reports whether a process is alive.
type Lives = Box<dyn FnMut() -> bool + Send>;

/// A Windows pipe on this machine.
///
/// A pipe has no half-close, reset or file, and cannot pass descriptors, and Windows has no
/// signals. [`Network::lacks`] returns this for the steps that need them.
///
/// ```
/// use std::time::Duration;
/// use diagipc::networks::LiveNetwork;
/// use dotnet_diagnostics_ipc::vectors::player::{Network, Player};
/// use dotnet_diagnostics_ipc::io::windows::PipeListener;
/// use dotnet_diagnostics_ipc::io::{Transport, Until};
/// use dotnet_diagnostics_ipc::vectors::script::Step;
///
/// // A server that knows no command at all.
/// let mut listener = PipeListener::bind("dotnet-diagnostics-ipc-doc-player")?;
/// let server = std::thread::spawn(move || {
///     let mut pipe = listener.accept(&Until::FOREVER).unwrap();
///     assert_eq!(pipe.receive(&mut [0; 20], &Until::FOREVER).unwrap(), 20);
///     pipe.send(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80", &Until::FOREVER).unwrap();
/// });
///
/// let steps: Vec<Step> = serde_json::from_str(r#"[
///     { "open": "a" },
///     { "on": "a", "send": ["444f544e45545f4950435f563100", "1400", "0404", "0000"] },
///     { "on": "a", "expect": ["444f544e45545f4950435f563100", "1800", "ffff", "0000", "85131380"] },
///     { "on": "a", "expect_end": "closed" }]"#)?;
/// let mut network = LiveNetwork::to("dotnet-diagnostics-ipc-doc-player");
/// assert!(steps.iter().all(|step| network.lacks(step).is_none()));
/// Player::new(&mut network, Duration::from_secs(5)).play(&steps)?;
/// server.join().unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LiveNetwork {
    began: Instant,
    default: DefaultPort,
    ports: Ports,
    connections: Vec<Option<Connection>>,
    lives: Option<Lives>,
    files: FilesOfTarget,
    canceller: Option<Canceller>,
}

impl LiveNetwork {
    /// The side under test listens at the pipe of this name, with or without `\\.\pipe\`.
    pub fn to(name: impl Into<String>) -> Self {
        Self::new(DefaultPort::Pipe(name.into()))
    }

    /// The side under test is a runtime that connects to `listener`, its diagnostic port. Its next
    /// connection there, after the advertise, counts as a connection to its default port.
    pub fn at_port(listener: PipeListener) -> Self {
        Self::at_shared_port(Arc::new(Mutex::new(listener)))
    }

    /// The same, for a port that outlives this.
    pub(crate) fn at_shared_port(port: SharedPort) -> Self {
        Self::new(DefaultPort::Reversed(port))
    }

    /// The player plays a runtime, and listens at the pipe of this name.
    ///
    /// # Errors
    /// If it cannot listen.
    pub fn in_place_of_a_runtime(name: &str) -> Result<Self, Error> {
        Ok(Self::new(DefaultPort::Ours(Listening::bind(name)?)))
    }

    /// Adds a port of this name at `pipe`.
    #[must_use]
    pub fn with_port(mut self, name: &str, pipe: impl Into<String>) -> Self {
        self.ports.add(name, pipe.into());
        self
    }

    /// From now on the side under test listens at `pipe`.
    pub fn move_to(&mut self, pipe: impl Into<String>) {
        self.default = DefaultPort::Pipe(pipe.into());
    }

    /// `lives` returns whether the target's process is alive.
    #[must_use]
    pub fn with_process(mut self, lives: impl FnMut() -> bool + Send + 'static) -> Self {
        self.lives = Some(Box::new(lives));
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

    fn new(default: DefaultPort) -> Self {
        Self {
            began: Instant::now(),
            default,
            ports: Ports::default(),
            connections: Vec::new(),
            lives: None,
            files: FilesOfTarget::default(),
            canceller: None,
        }
    }

    /// The pipe's name, as given; `None` if the runtime connects to a port.
    pub(crate) fn pipe(&self) -> Option<&str> {
        match &self.default {
            DefaultPort::Pipe(name) => Some(name),
            DefaultPort::Reversed(_) | DefaultPort::Ours(_) => None,
        }
    }

    /// Why no pipe can play a step, if so.
    pub(crate) const fn cannot(step: &Step) -> Option<&'static str> {
        match step {
            Step::EndStep(EndStep { end: Ending::HalfClose, .. }) => Some(NO_HALF_CLOSE),
            Step::EndStep(EndStep { end: Ending::Reset, .. })
            | Step::ExpectEnd(ExpectEnd { expect_end: ExpectedEnd::Reset, .. }) => Some(NO_RESET),
            Step::Signal(_) => Some(NO_SIGNALS),
            Step::ExpectSocket(_) => Some(NO_FILE_OF_THE_PORT),
            Step::Send(step) if step.with_fd.is_some() => Some(NO_DESCRIPTORS),
            Step::Expect(step) if step.with_fd => Some(NO_DESCRIPTORS),
            _ => None,
        }
    }

    /// Until a time of [`Network::now`], or cancellation.
    fn until<'c>(&self, until: Duration, canceller: Option<&'c Canceller>) -> Until<'c> {
        Until { deadline: self.began.checked_add(until), canceller }
    }

    /// Opens the pipe, which may be missing for a moment between two clients.
    fn connect(name: &str, until: &Until<'_>) -> Result<PipeTransport, Error> {
        let began = Instant::now();
        loop {
            match PipeTransport::connect(name, until) {
                Err(error) if matches!(error.kind(), ErrorKind::NotFound(_)) => {
                    thread::sleep(PAUSE);
                    if began.elapsed() >= BETWEEN || until.check().is_err() {
                        return Err(error);
                    }
                }
                done => return done,
            }
        }
    }

    /// The next connection of a runtime, after its advertise.
    fn accept_runtime(port: &SharedPort, until: &Until<'_>) -> Result<PipeTransport, PlayerError> {
        let accepted = port.lock().unwrap_or_else(PoisonError::into_inner).accept(until);
        let mut pipe = accepted.map_err(|error| match error.kind() {
            ErrorKind::TimedOut => PlayerError::differs("the runtime does not connect"),
            _ => PlayerError::differs(format!("{error:#}")),
        })?;
        let mut bytes = Vec::new();
        match Received::fill(&mut bytes, ADVERTISE_LEN, |missing| {
            received(&mut pipe, missing, until)
        })? {
            None => {}
            Some(Received::End(end)) => {
                return Err(PlayerError::differs(format!("{end} inside the advertise")));
            }
            Some(_) => return Err(PlayerError::differs("no complete advertise was received")),
        }
        Advertise::decode(&bytes)
            .map_err(|error| PlayerError::differs(format!("not an advertise: {error}")))?;
        Ok(pipe)
    }

    /// Whether the pipe exists, which disappears with its process. A connection without data would
    /// be one too many (F-75).
    fn is_there(&self) -> Result<bool, PlayerError> {
        let DefaultPort::Pipe(name) = &self.default else {
            return unavailable("the target's process is unknown");
        };
        let began = Instant::now();
        loop {
            if PipeTransport::is_there(name)
                .map_err(|error| PlayerError::differs(format!("{error:#}")))?
            {
                return Ok(true);
            }
            if began.elapsed() >= BETWEEN {
                return Ok(false);
            }
            thread::sleep(PAUSE);
        }
    }

    fn keep(&mut self, pipe: PipeTransport) -> Link {
        self.connections.push(Some(Connection { pipe, background: None }));
        Link::new(self.connections.len() - 1)
    }

    /// Where the player listens: on a port, or in place of a runtime.
    fn listening(&mut self, port: Option<&str>) -> Result<&mut Listening, PlayerError> {
        match (port, &mut self.default) {
            (Some(name), _) => self.ports.listener(name),
            (None, DefaultPort::Ours(listening)) => Ok(listening),
            (None, DefaultPort::Pipe(_) | DefaultPort::Reversed(_)) => {
                Err(PlayerError::differs("the player does not listen there"))
            }
        }
    }

    fn connection(&mut self, link: Link) -> Result<&mut Connection, PlayerError> {
        let connection = self.connections.get_mut(link.number()).and_then(Option::as_mut);
        connection.ok_or_else(|| PlayerError::differs("the script has closed the connection"))
    }
}

fn in_background(pipe: &PipeTransport) -> io::Result<Background> {
    let (mut reader, canceller) = (pipe.try_clone()?, Canceller::new()?);
    let stopper = canceller.clone();
    let read = move |into: &mut [u8]| {
        let until = Until { deadline: None, canceller: Some(&canceller) };
        reader.receive(into, &until).map_err(|stopped| match stopped {
            Stopped::Io(error) => error,
            Stopped::TimedOut | Stopped::Cancelled => io::ErrorKind::TimedOut.into(),
        })
    };
    Background::start(read, move || stopper.cancel())
}

/// The bytes that arrive in time, at most this many.
fn received(
    pipe: &mut PipeTransport,
    most: usize,
    until: &Until<'_>,
) -> Result<Received, PlayerError> {
    let mut buffer = vec![0; most.min(PIECE)];
    match pipe.receive(&mut buffer, until) {
        Ok(0) => Ok(Received::End(End::Closed)),
        Ok(n) => {
            buffer.truncate(n);
            Ok(Received::Bytes(buffer, 0))
        }
        Err(Stopped::TimedOut | Stopped::Cancelled) => Ok(Received::Nothing),
        Err(Stopped::Io(error)) => Err(failed("receiving")(error)),
    }
}

fn unavailable<T>(why: &str) -> Result<T, PlayerError> {
    Err(PlayerError::Unavailable(why.to_owned()))
}

/// Whether the system reports that the peer has closed its end.
fn is_gone(error: &io::Error) -> bool {
    let code = error.raw_os_error().and_then(|raw| u32::try_from(raw).ok());
    code.is_some_and(|code| {
        [ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED].contains(&code)
    })
}

impl Network for LiveNetwork {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn here(&self, idle: Duration) -> Duration {
        pace::here(idle)
    }

    fn lacks(&self, step: &Step) -> Option<&'static str> {
        match step {
            Step::Open(Open { port: Some(port), .. })
            | Step::Accept(Accept { port: Some(port), .. })
            | Step::Listen(Listen { port, .. })
            | Step::ExpectNoConnection(ExpectNoConnection { port: Some(port), .. })
                if !self.ports.has(port) =>
            {
                Some(NO_PORT)
            }
            step => Self::cannot(step),
        }
    }

    fn open(&mut self, port: Option<&str>, until: Duration) -> Result<Link, PlayerError> {
        let canceller = self.canceller.clone();
        let until = self.until(until, canceller.as_ref());
        let opened = |opened: Result<PipeTransport, Error>| {
            opened.map_err(|error| PlayerError::differs(format!("{error:#}")))
        };
        let pipe = match (port, &self.default) {
            (Some(name), _) => opened(Self::connect(self.ports.pipe(name)?, &until))?,
            (None, DefaultPort::Pipe(name)) => {
                let pipe = opened(Self::connect(name, &until))?;
                thread::sleep(UNTIL_THE_NEXT);
                pipe
            }
            (None, DefaultPort::Reversed(port)) => Self::accept_runtime(port, &until)?,
            (None, DefaultPort::Ours(_)) => {
                return Err(PlayerError::differs("the player itself listens there"));
            }
        };
        Ok(self.keep(pipe))
    }

    fn accept(&mut self, port: Option<&str>, until: Duration) -> Result<Option<Link>, PlayerError> {
        let canceller = self.canceller.clone();
        let until = self.until(until, canceller.as_ref());
        let pipe = self.listening(port)?.accept(&until)?;
        Ok(pipe.map(|pipe| self.keep(pipe)))
    }

    fn is_called(&mut self, port: Option<&str>, until: Duration) -> Result<bool, PlayerError> {
        let canceller = self.canceller.clone();
        let until = self.until(until, canceller.as_ref());
        self.listening(port)?.is_called(&until)
    }

    fn listen(&mut self, name: &str, listening: bool) -> Result<(), PlayerError> {
        self.ports.listen(name, listening)
    }

    fn send(
        &mut self,
        link: Link,
        bytes: &[u8],
        fd: Option<FdKind>,
        until: Duration,
    ) -> Result<Sent, PlayerError> {
        if fd.is_some() {
            return unavailable(NO_DESCRIPTORS);
        }
        let canceller = self.canceller.clone();
        let until = self.until(until, canceller.as_ref());
        let pipe = &mut self.connection(link)?.pipe;
        let mut rest = bytes;
        while !rest.is_empty() {
            match pipe.send(rest, &until) {
                Ok(n) => rest = rest.get(n..).unwrap_or_default(),
                Err(Stopped::Io(error)) if is_gone(&error) => {
                    return Ok(Sent::PeerGone(format!("the peer no longer reads: {error}")));
                }
                Err(Stopped::Io(error)) => return Err(failed("sending")(error)),
                Err(Stopped::TimedOut | Stopped::Cancelled) => {
                    return Err(PlayerError::differs(format!(
                        "the peer does not read: the last {} of {} bytes could not be sent in time",
                        rest.len(),
                        bytes.len()
                    )));
                }
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
        received(&mut self.connection(link)?.pipe, most, &until)
    }

    fn drain(&mut self, link: Link) -> Result<(), PlayerError> {
        let connection = self.connection(link)?;
        connection.background =
            Some(in_background(&connection.pipe).map_err(failed("reading in the background"))?);
        Ok(())
    }

    fn drained(&mut self, link: Link, until: Duration) -> Result<Drained, PlayerError> {
        let left = until.saturating_sub(self.now());
        let Some(background) = &self.connection(link)?.background else {
            return Err(PlayerError::differs("the connection is not read in the background"));
        };
        Ok(background.drained(left))
    }

    fn end(&mut self, link: Link, how: Ending) -> Result<(), PlayerError> {
        match how {
            Ending::HalfClose => return unavailable(NO_HALF_CLOSE),
            Ending::Reset => return unavailable(NO_RESET),
            Ending::Close => {}
        }
        if let Some(connection) = self.connections.get_mut(link.number()) {
            *connection = None;
        }
        Ok(())
    }

    fn wait(&mut self, until: Duration) -> Result<(), PlayerError> {
        super::pause(&self.until(until, self.canceller.as_ref()))
    }

    fn life(&mut self, expected: Life, until: Duration) -> Result<Life, PlayerError> {
        loop {
            let lives = match &mut self.lives {
                Some(lives) => lives(),
                None => self.is_there()?,
            };
            match (lives, expected) {
                (false, _) => return Ok(Life::Dead),
                (true, Life::Alive) => return Ok(Life::Alive),
                (true, Life::Dead) if self.now() >= until => return Ok(Life::Alive),
                (true, Life::Dead) => thread::sleep(PAUSE),
            }
        }
    }

    fn file(&mut self, name: &str, most: usize) -> Result<Option<Vec<u8>>, PlayerError> {
        self.files.first_bytes(name, most)
    }
}

#[cfg(test)]
mod tests;
