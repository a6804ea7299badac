//! The pipes of the reference runtime.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::header::HEADER_LEN;
use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
use dotnet_diagnostics_ipc::io::{Canceller, Error, ErrorKind, Transport, WaitLimit};

use super::misbehaviour::MisbehaviourKind;

/// How long to wait for one event before checking the others.
const ACCEPT_TIMEOUT: Duration = Duration::from_millis(4);
/// The shortest wait that notices available data.
const LOOK_TIMEOUT: Duration = Duration::from_millis(1);

/// How long a port may be busy.
const BUSY_TIMEOUT: Duration = Duration::from_millis(50);

/// The faults that pipes cannot show: they have no resets, removable files or descriptors.
pub(super) const LACKING: &[MisbehaviourKind] = &[
    MisbehaviourKind::Reset,
    MisbehaviourKind::SocketGone,
    MisbehaviourKind::ReplyBeforeDescriptor,
];

/// The connection to a client, or to a tool's port.
#[derive(Debug)]
pub(super) struct Link {
    pipe: PipeTransport,
    /// The bytes that were read when checking for a request.
    front: Vec<u8>,
}

/// What an unread connection has.
enum Came {
    Nothing,
    Bytes,
    End,
}

impl Link {
    const fn new(pipe: PipeTransport) -> Self {
        Self { pipe, front: Vec::new() }
    }

    /// Checks for a request, and reads at most a header.
    fn look(&mut self) -> Came {
        let mut header = [0; HEADER_LEN];
        match self.pipe.receive(&mut header, &soon(LOOK_TIMEOUT, None)) {
            Ok(0) | Err(ErrorKind::Io(_)) => Came::End,
            Ok(n) => {
                self.front.extend(header.iter().take(n));
                Came::Bytes
            }
            Err(_) => Came::Nothing,
        }
    }
}

impl Transport for Link {
    fn send(&mut self, bytes: &[u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        self.pipe.send(bytes, until)
    }

    fn receive(&mut self, into: &mut [u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        if self.front.is_empty() {
            return self.pipe.receive(into, until);
        }
        let count = self.front.len().min(into.len());
        into.iter_mut().zip(self.front.drain(..count)).for_each(|(place, byte)| *place = byte);
        Ok(count)
    }

    /// Waits until the client disconnects. Bytes on a streaming connection are ignored (F-123).
    fn hung_up(&mut self, until: &WaitLimit<'_>) -> Result<(), ErrorKind> {
        while !matches!(self.pipe.receive(&mut [0; 256], until)?, 0) {}
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct PipeListening {
    listener: PipeListener,
    accepted: Option<PipeTransport>,
}

impl PipeListening {
    /// Listens on a pipe, which disappears with its listener.
    pub(super) fn bind(name: &Path) -> Result<(Self, PipePath), Error> {
        let listener = PipeListener::bind(&name.to_string_lossy())?;
        let path = PathBuf::from(listener.path().to_string());
        Ok((Self { listener, accepted: None }, PipePath(path)))
    }

    pub(super) fn accept(&mut self) -> Option<Link> {
        self.accepted.take().map(Link::new)
    }

    /// Waits for the next event. Returns its port (`None` for the default port), and whether a
    /// request or a client has arrived; if not, the tool has ended the connection. Connections to
    /// the default port count only with `accepts`.
    pub(super) fn wait<'l>(
        &mut self,
        ports: impl Iterator<Item = (usize, &'l mut Link)>,
        accepts: bool,
        stop: &Canceller,
        most: Duration,
    ) -> Option<(Option<usize>, bool)> {
        let mut waiting: Vec<_> = ports.collect();
        let end = Instant::now().checked_add(most);
        while !stop.is_cancelled() {
            // The ports come first, because a busy client of the default port would starve them.
            for (nth, link) in &mut waiting {
                match link.look() {
                    Came::Nothing => {}
                    Came::Bytes => return Some((Some(*nth), true)),
                    Came::End => return Some((Some(*nth), false)),
                }
            }
            // The next instance is created before this one is used.
            if accepts {
                if let Ok(pipe) = self.listener.accept(&soon(ACCEPT_TIMEOUT, Some(stop))) {
                    self.accepted = Some(pipe);
                    return Some((None, true));
                }
            } else {
                std::thread::sleep(ACCEPT_TIMEOUT);
            }
            if end.is_none_or(|end| end <= Instant::now()) {
                break;
            }
        }
        None
    }
}

fn soon(time: Duration, canceller: Option<&Canceller>) -> WaitLimit<'_> {
    WaitLimit { deadline: Instant::now().checked_add(time), canceller }
}

/// The path of the default port's pipe.
#[derive(Debug)]
pub(super) struct PipePath(PathBuf);

impl PipePath {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

/// Connects to a tool's port with this name. A prefix becomes part of the name (P-16). A busy port
/// counts as missing, and is tried again later.
pub(super) fn connect(name: &Path, stop: &Canceller) -> Option<Link> {
    let name = std::format!(r"\\.\pipe\{}", name.to_string_lossy());
    PipeTransport::connect(&name, &soon(BUSY_TIMEOUT, Some(stop))).ok().map(Link::new)
}

/// Receives bytes, because on a pipe they cannot be left unread.
pub(super) fn look(
    link: &mut Link,
    _: &mut usize,
    into: &mut [u8],
    until: &WaitLimit<'_>,
) -> Result<usize, ErrorKind> {
    link.receive(into, until)
}

/// A connection left open without further data.
pub(super) struct KeptPipe(Link);

impl KeptPipe {
    /// Keeps a connection.
    pub(super) fn new(link: &Link) -> Option<Self> {
        link.pipe.try_clone().ok().map(|pipe| Self(Link::new(pipe)))
    }

    pub(super) fn has_hung_up(&mut self) -> bool {
        matches!(self.0.look(), Came::End)
    }
}

/// Does nothing, because a pipe has no file.
pub(super) const fn remove(_: &Path) {}
