//! Named pipes, on both sides, and TCP connections, with deadlines.
//!
//! | | |
//! |---|---|
//! | [`PipeTransport`] | one end of a connected pipe |
//! | [`PipeListener`] | a pipe that clients connect to |
//! | [`TcpTransport`], [`EndpointTransport`] | a TCP connection; a pipe or a TCP connection |
//!
//! A pipe is in byte mode, accepts no remote clients, and has buffers of 16 KiB, like a runtime's
//! (F-62). A pipe has no half-close, and cannot pass descriptors.
//!
//! # Not tested under wine
//!
//! The tests run under wine 8, which reads, writes, waits and cancels as the documentation of
//! Windows says. The rest is taken from that documentation:
//!
//! - A client on another machine is refused (`PIPE_REJECT_REMOTE_CLIENTS`).
//! - A server can identify a client, but not impersonate it (`SECURITY_SQOS_PRESENT |
//!   SECURITY_IDENTIFICATION`).
//! - A pipe whose name is in use cannot be created (`FILE_FLAG_FIRST_PIPE_INSTANCE`): wine ignores
//!   this. Its test is ignored there, and meant for Windows.
//! - A write of 0 bytes is a read of 0 bytes at the other end, not the end of the input. Under wine
//!   such a write does nothing.
//! - How much of a cancelled write was sent is undocumented, so nothing more can be sent then.
//! - Who may open a pipe: this user, administrators and the system. Under wine there is one user.

mod handle;
mod tcp;
mod user;

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::windows::io::{AsHandle, BorrowedHandle};
use std::string::String;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{
    ERROR_FILE_NOT_FOUND, ERROR_NO_DATA, ERROR_OPERATION_ABORTED, ERROR_PIPE_BUSY,
    ERROR_PIPE_CONNECTED, ERROR_SEM_TIMEOUT,
};

pub(super) use handle::{Event, PipePath, server_process_id};
use handle::{InFlight, Operation, Pipe, is, is_end};
pub(super) use tcp::tcp_connected;
pub use tcp::{EndpointTransport, TcpTransport};
use user::Rights;
pub(super) use user::Sid;

use super::server::Listen;
use super::{Error, ErrorKind, Phase, Transport, WaitLimit};

/// A pipe that clients connect to: the address of a diagnostic port, or the pipe of a runtime.
///
/// It is open to this user, administrators and the system, and to no other machine.
///
/// One client can connect before [`accept`](Self::accept) is called; the next one finds the pipe
/// busy, and waits until then. The name is free once this and all accepted connections are dropped;
/// a client that was not accepted is disconnected (P-57).
///
/// ```
/// use dotnet_diagnostics_ipc::io::{Transport, WaitLimit};
/// use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
///
/// let mut listener = PipeListener::bind("dotnet-diagnostics-ipc-doc")?;
/// let mut client = PipeTransport::connect("dotnet-diagnostics-ipc-doc", &WaitLimit::FOREVER)?;
/// let mut server = listener.accept(&WaitLimit::FOREVER)?;
/// client.send(b"ADVR_V1", &WaitLimit::FOREVER).unwrap();
/// let mut bytes = [0; 34];
/// assert_eq!(server.receive(&mut bytes, &WaitLimit::FOREVER).unwrap(), 7);
/// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
/// ```
#[derive(Debug)]
pub struct PipeListener {
    maker: PipeMaker,
    /// The pipe for the next client; `None` if the system could not create one.
    next: Option<PipeTransport>,
}

impl PipeListener {
    /// Creates a pipe of this name, with or without `\\.\pipe\`. It must be new: another process
    /// may have created one to impersonate us.
    ///
    /// # Errors
    /// `PermissionDenied` if a pipe of this name exists, `InvalidInput` for an invalid name, and
    /// other system errors.
    pub fn bind(name: &str) -> Result<Self, Error> {
        let bind = || {
            let maker = PipeMaker { path: PipePath::new(name)?, rights: Rights::private()? };
            let next = handle::create(&maker.path, &maker.rights, true)?;
            Ok(Self { maker, next: Some(PipeTransport::new(next.into(), Arc::default())?) })
        };
        bind().map_err(listening)
    }

    /// Returns the path of the pipe, as a client opens it.
    pub fn path(&self) -> &str {
        self.maker.path.text()
    }

    /// Waits for a client. A client that has already disconnected counts: its bytes can be read,
    /// then the end.
    ///
    /// # Errors
    /// [`TimedOut`](super::ErrorKind::TimedOut),
    /// [`Cancelled`](super::ErrorKind::Cancelled), and system errors. It can be
    /// called again.
    pub fn accept(&mut self, until: &WaitLimit<'_>) -> Result<PipeTransport, Error> {
        let mut pipe = match self.next.take() {
            Some(pipe) => pipe,
            None => self.create().map_err(listening)?,
        };
        if let Err(stopped) = pipe.wait_for_client(until) {
            // After a failure it cannot be used again.
            self.next = Some(pipe).filter(|_| !matches!(stopped, ErrorKind::Io(_)));
            return Err(Error::new(Phase::Listen, stopped));
        }
        // Create the next pipe before this client is served, and so before it disconnects. If that
        // fails, the next call tries again and returns the error.
        self.next = self.create().ok();
        Ok(pipe)
    }

    fn create(&self) -> io::Result<PipeTransport> {
        PipeTransport::new(self.maker.make()?, Arc::default())
    }

    /// Returns the factory for more pipes of this name, and the free pipe.
    pub(in crate::io) fn into_parts(self) -> (PipeMaker, Option<Arc<Pipe>>) {
        (self.maker, self.next.map(|next| Arc::clone(next.flight.pipe())))
    }
}

impl Listen for PipeListener {
    type Transport = PipeTransport;

    fn accept(&mut self, until: &WaitLimit<'_>) -> Result<PipeTransport, Error> {
        Self::accept(self, until)
    }
}

/// Creates pipes of a name that we already own, one for each client.
#[derive(Debug)]
pub(in crate::io) struct PipeMaker {
    path: PipePath,
    rights: Rights,
}

impl PipeMaker {
    /// Creates one more pipe.
    pub(in crate::io) fn make(&self) -> io::Result<Arc<Pipe>> {
        handle::create(&self.path, &self.rights, false).map(Arc::new)
    }
}

fn listening(error: io::Error) -> Error {
    Error::new(Phase::Listen, error)
}

/// The maximum number of bytes in one read or write, so that a message is one write.
const MOST: usize = 64 * 1024;

/// How long to wait for a busy pipe before the canceller is checked again.
const SLICE: Duration = Duration::from_millis(20);

/// The shortest wait for a busy pipe in milliseconds: 0 and 1 have special meanings.
const SHORTEST: u32 = 2;

/// One end of a connected pipe, whose waits end at a deadline or by a
/// [`Canceller`](super::Canceller).
///
/// No operation runs between two calls. A read that is stopped is cancelled first, and bytes that
/// arrived meanwhile are returned. A write that is stopped is cancelled too, but how much of it was
/// sent is unknown: then nothing more can be sent, but reading still works.
///
/// Dropping it closes the other end; bytes sent before can still be read there. If nothing was sent
/// through an accepted pipe, its client is disconnected: a runtime that finds the pipe of a port
/// closed would not connect again (P-57).
///
/// ```
/// use std::time::{Duration, Instant};
/// use dotnet_diagnostics_ipc::endpoint::PipeName;
/// use dotnet_diagnostics_ipc::io::windows::PipeTransport;
/// use dotnet_diagnostics_ipc::io::{ErrorKind, Phase, WaitLimit};
///
/// // No process has this id: those of Windows are multiples of four.
/// let name = PipeName::new(4_000_000_001).to_string();
/// let until = WaitLimit { deadline: Some(Instant::now() + Duration::from_secs(5)), ..WaitLimit::FOREVER };
/// let error = PipeTransport::connect(&name, &until).unwrap_err();
/// assert_eq!(error.phase(), Phase::Find);
/// assert!(matches!(error.kind(), ErrorKind::NotFound(path) if path == r"\\.\pipe\dotnet-diagnostic-4000000001"));
/// ```
#[derive(Debug)]
pub struct PipeTransport {
    flight: InFlight<MOST>,
    /// Whether a write was cancelled or failed, through this value or a clone.
    is_cut: Arc<AtomicBool>,
}

impl PipeTransport {
    /// Opens the pipe of this name, with or without `\\.\pipe\`. Waits while it is busy with other
    /// clients.
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound), `InvalidInput` for an invalid name, and other system
    /// errors; [`TimedOut`](ErrorKind::TimedOut) and [`Cancelled`](ErrorKind::Cancelled) while
    /// the pipe is busy.
    pub fn connect(name: &str, until: &WaitLimit<'_>) -> Result<Self, Error> {
        let path = PipePath::new(name).map_err(|error| Error::new(Phase::Find, error))?;
        loop {
            until.check().map_err(|stopped| Error::new(Phase::Connect, stopped))?;
            match rate_limited(&path, || handle::open(&path)) {
                Err(wait) => sleep(wait, until),
                Ok(tried) => match opened(&path, tried)? {
                    Some(pipe) => {
                        return Self::new(pipe.into(), Arc::default())
                            .map_err(|error| Error::new(Phase::Connect, error));
                    }
                    None => wait_until_free(&path, until)?,
                },
            }
        }
    }

    /// Returns whether a pipe of this name exists, free or busy. It is not opened, so its server
    /// does not notice.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid name, and other system errors.
    pub fn is_there(name: &str) -> Result<bool, Error> {
        let path = PipePath::new(name).map_err(|error| Error::new(Phase::Find, error))?;
        match handle::wait_until_free(&path, SHORTEST) {
            Err(error) if is(&error, ERROR_FILE_NOT_FOUND) => Ok(false),
            Err(error) if !is(&error, ERROR_SEM_TIMEOUT) => Err(Error::new(Phase::Find, error)),
            _ => Ok(true),
        }
    }

    /// Takes over a pipe opened or created by [`handle`].
    fn new(pipe: Arc<Pipe>, is_cut: Arc<AtomicBool>) -> io::Result<Self> {
        Ok(Self { flight: InFlight::new(pipe, &Arc::new(Event::new()?)), is_cut })
    }

    /// Takes over a pipe that was watched together with others.
    pub(in crate::io) fn of<const N: usize>(watched: Watched<N>) -> io::Result<Self> {
        // A running operation ends with the flight.
        let Watched { flight, .. } = watched;
        Self::new(Arc::clone(flight.pipe()), Arc::default())
    }

    /// Duplicates this end, so that one thread can read while another writes. The other end
    /// is closed once both are dropped.
    ///
    /// # Errors
    /// Fails if the system provides no event.
    pub fn try_clone(&self) -> io::Result<Self> {
        Self::new(Arc::clone(self.flight.pipe()), Arc::clone(&self.is_cut))
    }

    /// Returns the process that created the pipe, as reported by the system, because any process
    /// can create a pipe of any name first. For a pipe accepted by a [`PipeListener`] this is the
    /// process itself.
    ///
    /// # Errors
    /// Fails if the system does not report it.
    pub fn server_process_id(&self) -> io::Result<u32> {
        server_process_id(self.as_handle())
    }

    /// Waits for a client, on a pipe that is new.
    fn wait_for_client(&mut self, until: &WaitLimit<'_>) -> Result<(), ErrorKind> {
        until.check()?;
        match self.run(Operation::Connect, until) {
            Err(ErrorKind::Io(error)) if has_come(&error) => Ok(()),
            ended => ended.map(drop),
        }
    }

    /// Runs an operation until it has ended, or until `until`. The operation always begins, so
    /// check the deadline first. Part of a failed write may have been sent.
    fn run(&mut self, operation: Operation<'_>, until: &WaitLimit<'_>) -> Result<&[u8], ErrorKind> {
        self.flight.begin(operation)?;
        let stopped = until.event(self.flight.done());
        if stopped.is_err() {
            self.flight.cancel();
        }
        match (self.flight.end(), stopped) {
            (Ok(bytes), _) => Ok(bytes),
            // The code need not be `ERROR_OPERATION_ABORTED`: other codes say nothing about the
            // peer either.
            (Err(_), Err(stopped)) => Err(stopped),
            (Err(error), Ok(())) => Err(error.into()),
        }
    }
}

/// Returns the opened pipe; `None` if it is busy with other clients.
pub(in crate::io) fn opened<P>(path: &PipePath, opened: io::Result<P>) -> Result<Option<P>, Error> {
    match opened {
        Ok(pipe) => Ok(Some(pipe)),
        Err(error) if is(&error, ERROR_PIPE_BUSY) => Ok(None),
        Err(error) => Err(cannot_be_opened(path, error)),
    }
}

/// Waits until the pipe is free, for a slice of the remaining time.
pub(in crate::io) fn wait_until_free(path: &PipePath, until: &WaitLimit<'_>) -> Result<(), Error> {
    let slice = until.left().map_or(SLICE, |left| left.min(SLICE));
    let milliseconds = u32::try_from(slice.as_millis()).unwrap_or_default().max(SHORTEST);
    match handle::wait_until_free(path, milliseconds) {
        Err(error) if is(&error, ERROR_SEM_TIMEOUT) => Ok(()),
        Err(error) => Err(cannot_be_opened(path, error)),
        Ok(()) => {
            // The pipe exists, but its server may not wait for a client yet. A client that connects
            // too early can make a runtime stop serving (F-120).
            sleep(after_busy(), until);
            Ok(())
        }
    }
}

/// Sleeps for some milliseconds, too short to check a canceller.
fn sleep(time: Duration, until: &WaitLimit<'_>) {
    std::thread::sleep(until.left().map_or(time, |left| left.min(time)));
}

fn cannot_be_opened(path: &PipePath, error: io::Error) -> Error {
    if is(&error, ERROR_FILE_NOT_FOUND) {
        return Error::new(Phase::Find, ErrorKind::NotFound(String::from(path.text())));
    }
    Error::new(Phase::Connect, error)
}

impl AsHandle for PipeTransport {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.flight.pipe().as_handle()
    }
}

impl Transport for PipeTransport {
    fn send(&mut self, bytes: &[u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        if self.is_cut.load(Ordering::SeqCst) {
            return Err(io::Error::new(
                io::ErrorKind::BrokenPipe,
                "an earlier write was abandoned; how many bytes it sent is unknown",
            )
            .into());
        }
        // Nothing was sent yet, so everything can still be sent.
        until.check()?;
        if bytes.is_empty() {
            // On a pipe even an empty write would end a read of the other side.
            return Ok(0);
        }
        self.flight.pipe().will_send();
        let sent = self.run(Operation::Write(bytes), until).map(<[u8]>::len);
        if sent.is_err() {
            self.is_cut.store(true, Ordering::SeqCst);
        }
        sent
    }

    fn receive(&mut self, into: &mut [u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        loop {
            until.check()?;
            if into.is_empty() {
                return Ok(0);
            }
            match self.run(Operation::Read(into.len()), until) {
                // The other side wrote 0 bytes, which is not the end.
                Ok([]) => {}
                Ok(bytes) => return Ok(copy(bytes, into)),
                Err(ErrorKind::Io(error)) if is_end(&error) => return Ok(0),
                Err(stopped) => return Err(stopped),
            }
        }
    }
}

/// A server's end of a pipe that waits for its client, for up to `N` bytes, or for its end, without
/// blocking.
///
/// Pipes with the same event are waited for together: it is set when an operation of any of them
/// ends. Starting an operation resets the event, so ended ones are looked for after the last start,
/// and before the wait.
#[derive(Debug)]
pub(in crate::io) struct Watched<const N: usize> {
    flight: InFlight<N>,
    /// Whether a client had connected before the wait began.
    has_client: bool,
}

impl<const N: usize> Watched<N> {
    pub(in crate::io) fn new(pipe: Arc<Pipe>, ended: &Arc<Event>) -> Self {
        Self { flight: InFlight::new(pipe, ended), has_client: false }
    }

    /// Waits for a client, unless it already does.
    pub(in crate::io) fn begin_connect(&mut self) -> io::Result<()> {
        if self.has_client {
            return Ok(());
        }
        match self.flight.begin(Operation::Connect) {
            Err(error) if has_come(&error) => self.has_client = true,
            begun => begun?,
        }
        Ok(())
    }

    /// Ends the wait for a client. A client that has already disconnected counts: its bytes can be
    /// read, then the end.
    pub(in crate::io) fn connected(&mut self) -> io::Result<()> {
        match self.flight.end() {
            Err(error) if !has_come(&error) => return Err(error),
            _ => self.has_client = false,
        }
        Ok(())
    }

    /// Waits for up to this many bytes, or the end.
    pub(in crate::io) fn begin_read(&mut self, most: usize) -> io::Result<()> {
        self.flight.begin(Operation::Read(most))
    }

    /// Returns whether the operation has ended.
    pub(in crate::io) fn is_over(&self) -> bool {
        self.has_client || self.flight.is_over()
    }

    /// Reads the available bytes; returns 0 at the end. If there are none, returns `WouldBlock` and
    /// starts to wait for some.
    pub(in crate::io) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            let ended = match self.flight.begin(Operation::Read(into.len())) {
                Ok(()) if !self.flight.is_over() => return Err(io::ErrorKind::WouldBlock.into()),
                Ok(()) => self.flight.end(),
                Err(error) => Err(error),
            };
            match ended {
                // The other side wrote 0 bytes, which is not the end.
                Ok([]) => {}
                Ok(bytes) => return Ok(copy(bytes, into)),
                Err(error) if is_end(&error) => return Ok(0),
                Err(error) => return Err(error),
            }
        }
    }

    /// Stops waiting. Fails if something has arrived or ended meanwhile.
    pub(in crate::io) fn give_up(&mut self) -> io::Result<()> {
        if !self.flight.is_running() {
            return Ok(());
        }
        self.flight.cancel();
        match self.flight.end() {
            Err(error) if is(&error, ERROR_OPERATION_ABORTED) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Copies what was read; returns how many bytes that is.
fn copy(bytes: &[u8], into: &mut [u8]) -> usize {
    into.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    bytes.len().min(into.len())
}

/// Returns whether the wait for a client failed because one is or was connected.
fn has_come(error: &io::Error) -> bool {
    is(error, ERROR_PIPE_CONNECTED) || is(error, ERROR_NO_DATA)
}

/// The time between two attempts of this process to open a pipe. Two clients within some 0.1 ms can
/// make a runtime stop serving; 1 ms apart none did (F-120).
const APART: Duration = Duration::from_millis(5);

/// How long a server may take from creating a pipe to waiting for its client.
const LISTEN_DELAY: Duration = Duration::from_millis(10);

/// When each pipe may be opened next, by its path.
static NEXT: Mutex<BTreeMap<String, Instant>> = Mutex::new(BTreeMap::new());

/// Opens a pipe if it is the caller's turn; otherwise returns how long to wait before calling
/// again. A process opens a pipe for one client after another, not at once.
pub(in crate::io) fn rate_limited<P>(
    path: &PipePath,
    open: impl FnOnce() -> P,
) -> Result<P, Duration> {
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    next.retain(|_, turn| *turn > now);
    // Names of pipes ignore case.
    let name = path.text().to_lowercase();
    if let Some(turn) = next.get(&name) {
        return Err(turn.saturating_duration_since(now));
    }
    let opened = open();
    next.extend(Instant::now().checked_add(APART).map(|turn| (name, turn)));
    Ok(opened)
}

/// Returns how long to wait once a busy pipe is free: 10 to 20 ms, a different time for each
/// client. The server creates a pipe before it waits for a client, and other processes have waited
/// for the pipe too (F-120).
fn after_busy() -> Duration {
    let extra = RandomState::new().hash_one(()).checked_rem(10_000).unwrap_or_default();
    LISTEN_DELAY.saturating_add(Duration::from_micros(extra))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn opens_of_one_pipe_are_5_ms_apart() {
        let opened = |name| rate_limited(&PipePath::new(name).unwrap(), Instant::now);
        let first = opened("turn-a").unwrap();
        for same in ["turn-a", "turn-A", r"\\.\pipe\turn-a"] {
            let wait = opened(same).unwrap_err();
            assert!(wait <= APART, "{wait:?}");
        }
        // Another pipe is another server.
        opened("turn-b").unwrap();
        let second = loop {
            match opened("turn-a") {
                Ok(second) => break second,
                Err(wait) => std::thread::sleep(wait),
            }
        };
        assert!(second.duration_since(first) >= APART, "{:?}", second.duration_since(first));
    }

    #[test]
    fn pauses_after_busy_are_10_to_20_ms_and_differ() {
        let pauses: Vec<_> = (0..20).map(|_| after_busy()).collect();
        assert!(pauses.iter().all(|pause| (10..20).contains(&pause.as_millis())), "{pauses:?}");
        assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{pauses:?}");
    }
}
