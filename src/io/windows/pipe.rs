//! One end of a connected pipe.

#![forbid(unsafe_code)]

use std::io;
use std::os::windows::io::{AsHandle, BorrowedHandle};
use std::string::String;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windows_sys::Win32::Foundation::{
    ERROR_FILE_NOT_FOUND, ERROR_NO_DATA, ERROR_OPERATION_ABORTED, ERROR_PIPE_BUSY,
    ERROR_PIPE_CONNECTED, ERROR_SEM_TIMEOUT,
};

use super::PipePath;
use super::connect_pacing::{after_busy, rate_limited};
use super::event::Event;
use super::handle::{self, InFlight, Operation, Pipe, is, is_end};
use crate::io::{Error, ErrorKind, Phase, Transport, WaitError, WaitLimit};

/// How long to wait for a busy pipe before the canceller is checked again.
const SLICE: Duration = Duration::from_millis(20);

/// The shortest wait for a busy pipe in milliseconds: 0 and 1 have special meanings.
const SHORTEST: u32 = 2;

/// One end of a connected pipe, whose waits end at a deadline or by a
/// [`Canceller`](crate::io::Canceller).
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
    pipe: Arc<Pipe>,
    done: Event,
    /// A write was cancelled or failed, by this or a clone.
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
            until.check().map_err(|stopped| stopped.during(Phase::Connect))?;
            match rate_limited(&path, || handle::open(&path)) {
                Err(wait) => sleep(wait, until),
                Ok(tried) => match opened(&path, tried)? {
                    Some(pipe) => {
                        return Self::new(pipe.into())
                            .map_err(|error| Error::new(Phase::Connect, error));
                    }
                    None => wait_until_free(&path, until)?,
                },
            }
        }
    }

    /// Whether a pipe of this name exists, free or busy. It is not opened: its server does not
    /// notice.
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
    pub(super) fn new(pipe: Arc<Pipe>) -> io::Result<Self> {
        Ok(Self { pipe, done: Event::new()?, is_cut: Arc::default() })
    }

    /// Takes over a pipe that was watched together with others.
    pub(in crate::io) fn of<const N: usize>(watched: Watched<N>) -> io::Result<Self> {
        Self::new(watched.into_pipe())
    }

    /// The pipe itself.
    pub(super) fn into_pipe(self) -> Arc<Pipe> {
        self.pipe
    }

    /// Duplicates this end, so that one thread can read while another writes. The other end
    /// is closed once both are dropped.
    ///
    /// # Errors
    /// If the system provides no event.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            pipe: Arc::clone(&self.pipe),
            done: Event::new()?,
            is_cut: Arc::clone(&self.is_cut),
        })
    }

    /// The process that created the pipe, as reported by the system: any process can create a pipe
    /// of any name first. For a pipe accepted by a [`PipeListener`](super::PipeListener) this
    /// is the process itself.
    ///
    /// # Errors
    /// If the system does not report it.
    pub fn server_process_id(&self) -> io::Result<u32> {
        handle::server_process_id(self.pipe.as_handle())
    }

    /// Waits for a client, on a pipe that is new.
    pub(super) fn wait_for_client(&mut self, until: &WaitLimit<'_>) -> Result<(), WaitError> {
        until.check()?;
        match self.run(Operation::Connect, until) {
            Err(WaitError::Io(error)) if !has_come(&error) => Err(error.into()),
            Err(stopped @ (WaitError::TimedOut | WaitError::Cancelled)) => Err(stopped),
            _ => Ok(()),
        }
    }

    fn run(&mut self, operation: Operation<'_>, until: &WaitLimit<'_>) -> Result<usize, WaitError> {
        handle::run(self.pipe.as_handle(), operation, &mut self.done, until)
    }
}

/// The opened pipe; `None` if it is busy with other clients.
pub(in crate::io) fn opened<P>(path: &PipePath, opened: io::Result<P>) -> Result<Option<P>, Error> {
    match opened {
        Ok(pipe) => Ok(Some(pipe)),
        Err(error) if is(&error, ERROR_PIPE_BUSY) => Ok(None),
        Err(error) => Err(cannot_be_opened(path, error)),
    }
}

/// Waits for a slice of the remaining time.
pub(in crate::io) fn wait_until_free(path: &PipePath, until: &WaitLimit<'_>) -> Result<(), Error> {
    let slice = until.left().map_or(SLICE, |left| left.min(SLICE));
    let milliseconds = u32::try_from(slice.as_millis()).unwrap_or_default().max(SHORTEST);
    match handle::wait_until_free(path, milliseconds) {
        Err(error) if is(&error, ERROR_SEM_TIMEOUT) => Ok(()),
        Err(error) => Err(cannot_be_opened(path, error)),
        Ok(()) => {
            // It is created, but perhaps does not wait for a client yet. A client that connects too
            // early can make a runtime stop serving (F-120).
            sleep(after_busy(), until);
            Ok(())
        }
    }
}

/// Some milliseconds: too short to check a canceller.
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
        self.pipe.as_handle()
    }
}

impl Transport for PipeTransport {
    fn send(&mut self, bytes: &[u8], until: &WaitLimit<'_>) -> Result<usize, WaitError> {
        if self.is_cut.load(Ordering::SeqCst) {
            return Err(io::Error::new(
                io::ErrorKind::BrokenPipe,
                "an earlier write was abandoned; how many bytes it sent is unknown",
            )
            .into());
        }
        // Nothing was sent yet: all can still be sent.
        until.check()?;
        if bytes.is_empty() {
            // On a pipe even this would be a read for the other side.
            return Ok(0);
        }
        self.pipe.will_send();
        let sent = self.run(Operation::Write(bytes), until);
        if sent.is_err() {
            self.is_cut.store(true, Ordering::SeqCst);
        }
        sent
    }

    fn receive(&mut self, into: &mut [u8], until: &WaitLimit<'_>) -> Result<usize, WaitError> {
        loop {
            until.check()?;
            if into.is_empty() {
                return Ok(0);
            }
            match self.run(Operation::Read(into), until) {
                // The other side wrote 0 bytes, which is not the end.
                Ok(0) => {}
                Err(WaitError::Io(error)) if is_end(&error) => return Ok(0),
                received => return received,
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
    /// A client had connected before the wait began.
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
        match self.flight.begin(None) {
            Err(error) if has_come(&error) => self.has_client = true,
            begun => begun?,
        }
        Ok(())
    }

    /// Once that has ended: a client has connected. A client that has already disconnected counts:
    /// its bytes can be read, then the end.
    pub(in crate::io) fn connected(&mut self) -> io::Result<()> {
        match self.flight.end() {
            Err(error) if !has_come(&error) => return Err(error),
            _ => self.has_client = false,
        }
        Ok(())
    }

    /// Waits for up to this many bytes, or the end.
    pub(in crate::io) fn begin_read(&mut self, most: usize) -> io::Result<()> {
        self.flight.begin(Some(most))
    }

    /// Whether the operation has ended.
    pub(in crate::io) fn is_over(&self) -> bool {
        self.has_client || self.flight.is_over()
    }

    /// Reads the available bytes; `WouldBlock` if there are none, and starts to wait for some. 0 at
    /// the end.
    pub(in crate::io) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            let ended = match self.flight.begin(Some(into.len())) {
                Ok(()) if !self.flight.is_over() => return Err(io::ErrorKind::WouldBlock.into()),
                Ok(()) => self.flight.end(),
                Err(error) => Err(error),
            };
            match ended {
                // The other side wrote 0 bytes, which is not the end.
                Ok([]) => {}
                Ok(bytes) => {
                    let count = bytes.len().min(into.len());
                    into.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
                    return Ok(count);
                }
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

    /// The pipe itself. A running operation ends with this.
    pub(super) fn into_pipe(self) -> Arc<Pipe> {
        Arc::clone(self.flight.pipe())
    }
}

/// Whether the wait for a client failed because one is or was connected.
fn has_come(error: &io::Error) -> bool {
    is(error, ERROR_PIPE_CONNECTED) || is(error, ERROR_NO_DATA)
}
