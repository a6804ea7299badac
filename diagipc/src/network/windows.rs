//! What is different with Windows pipes: their instances, and all that they lack.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
use dotnet_diagnostics_ipc::io::{Canceller, Error, ErrorKind, Transport as _, WaitLimit};
use dotnet_diagnostics_ipc_vectors::player::PlayerError;
use dotnet_diagnostics_ipc_vectors::script::{
    EndStep, Ending, ExpectEnd, ExpectedEnd, FdKind, SignalKind, Step,
};
use windows_sys::Win32::Foundation::{ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED};

use super::Background;
use super::cancelled;

/// The interval of polling.
const PAUSE: Duration = Duration::from_millis(10);
/// How long there may be no pipe between two clients of a live server.
const BETWEEN: Duration = Duration::from_millis(500);
/// The time between two connections. .NET creates a pipe for the next client when one has
/// connected, and misses a client that opens it before it waits for one: it then serves neither
/// that one nor any later one (seen on 10.0.9 under wine).
const UNTIL_THE_NEXT: Duration = Duration::from_millis(20);

const NO_HALF_CLOSE: &str = "a pipe has no half-close";
const NO_RESET: &str = "a pipe has no reset: its end looks the same with and without unread bytes";
const NO_DESCRIPTORS: &str = "a pipe cannot pass descriptors";
const NO_SIGNALS: &str = "Windows has no signals";
const NO_FILE_OF_THE_PORT: &str = "a pipe has no file that can remain";

/// One end of a connection.
pub(super) type Stream = PipeTransport;

/// A pipe on which the player listens.
#[derive(Clone, Debug)]
pub struct Listener(Arc<Mutex<Listening>>);

#[derive(Debug)]
struct Listening {
    listener: PipeListener,
    /// It has connected, and was not accepted yet.
    called: Option<PipeTransport>,
}

impl Listener {
    /// Listens at the pipe of this name, with or without `\\.\pipe\`.
    ///
    /// # Errors
    /// Those of [`PipeListener::bind`].
    pub fn bind(address: impl AsRef<Path>) -> Result<Self, Error> {
        let listener = PipeListener::bind(&address.as_ref().to_string_lossy())?;
        Ok(Self(Arc::new(Mutex::new(Listening { listener, called: None }))))
    }

    /// Accepts a connection, or `None` on a timeout.
    pub(super) fn accept(&self, until: &WaitLimit<'_>) -> Result<Option<Stream>, PlayerError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).accept(until)
    }

    /// Whether a connection arrives in time. It is kept for [`accept`](Self::accept).
    pub(super) fn is_called(&self, until: &WaitLimit<'_>) -> Result<bool, PlayerError> {
        let mut listening = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listening.called = listening.accept(until)?;
        Ok(listening.called.is_some())
    }
}

impl Listening {
    fn accept(&mut self, until: &WaitLimit<'_>) -> Result<Option<Stream>, PlayerError> {
        if let Some(called) = self.called.take() {
            return Ok(Some(called));
        }
        match self.listener.accept(until) {
            Ok(pipe) => Ok(Some(pipe)),
            Err(error) => match error.kind() {
                ErrorKind::TimedOut => Ok(None),
                ErrorKind::Cancelled => Err(cancelled()),
                _ => Err(PlayerError::differs(format!("{error:#}"))),
            },
        }
    }
}

/// Why no pipe can play a step, if so.
pub(crate) const fn lacks(step: &Step) -> Option<&'static str> {
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

/// Opens the pipe, which may be missing for a moment between two clients.
pub(super) fn connect(pipe: &Path, until: &WaitLimit<'_>) -> Result<Stream, PlayerError> {
    let (began, name) = (Instant::now(), pipe.to_string_lossy());
    loop {
        match PipeTransport::connect(&name, until) {
            Ok(pipe) => return Ok(pipe),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound(_))
                    && began.elapsed() < BETWEEN
                    && until.check().is_ok() =>
            {
                thread::sleep(PAUSE);
            }
            Err(error) => return Err(PlayerError::differs(format!("{error:#}"))),
        }
    }
}

/// The server gets the time to wait for the next client.
pub(super) fn after_connecting() {
    thread::sleep(UNTIL_THE_NEXT);
}

/// Whether the pipe exists, which disappears with its process. A connection without data would be
/// one too many (F-75).
pub(crate) fn is_served(pipe: &Path) -> bool {
    let (began, name) = (Instant::now(), pipe.to_string_lossy());
    while matches!(PipeTransport::is_there(&name), Ok(false)) {
        if began.elapsed() >= BETWEEN {
            return false;
        }
        thread::sleep(PAUSE);
    }
    true
}

/// A step that sends one is not played.
pub(super) fn signal(_: u32, _: SignalKind) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, NO_SIGNALS))
}

/// Names of pipes have it.
pub(super) const fn peer_process(_: &Stream) -> Option<u32> {
    None
}

pub(super) fn send(
    pipe: &mut Stream,
    bytes: &[u8],
    _: Option<&Infallible>,
    until: &WaitLimit<'_>,
) -> Result<usize, ErrorKind> {
    pipe.send(bytes, until)
}

/// Receives some bytes, and no descriptors.
pub(super) fn receive(
    pipe: &mut Stream,
    into: &mut [u8],
    until: &WaitLimit<'_>,
) -> Result<(usize, Vec<FdKind>), ErrorKind> {
    Ok((pipe.receive(into, until)?, Vec::new()))
}

/// Whether the system reports that the peer has closed its end.
pub(super) fn is_gone(error: &io::Error) -> bool {
    let code = error.raw_os_error().and_then(|raw| u32::try_from(raw).ok());
    code.is_some_and(|code| {
        [ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED].contains(&code)
    })
}

pub(super) fn half_close(_: &Stream) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, NO_HALF_CLOSE))
}

pub(super) fn in_background(pipe: &Stream) -> io::Result<Background> {
    let (mut reader, canceller) = (pipe.try_clone()?, Canceller::new()?);
    let stopper = canceller.clone();
    let read = move |into: &mut [u8]| {
        let until = WaitLimit { deadline: None, canceller: Some(&canceller) };
        reader.receive(into, &until).map_err(|stopped| match stopped {
            ErrorKind::Io(error) => error,
            _ => io::ErrorKind::TimedOut.into(),
        })
    };
    Background::start(read, move || stopper.cancel())
}

/// None can be passed.
#[derive(Default)]
pub(super) struct Descriptors {}

impl Descriptors {
    pub(super) const fn new(_: bool) -> Self {
        Self {}
    }

    pub(super) fn open(_: &mut Self, _: FdKind) -> Result<Infallible, PlayerError> {
        Err(PlayerError::Unavailable(NO_DESCRIPTORS.to_owned()))
    }
}

#[cfg(test)]
mod tests;
