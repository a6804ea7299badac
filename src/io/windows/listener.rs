//! A pipe that clients connect to.
#![forbid(unsafe_code)]

use std::io;
use std::sync::Arc;

use windows_sys::Win32::Foundation::{ERROR_NO_DATA, ERROR_PIPE_CONNECTED};

use super::PipeTransport;
use super::handle::{self, Pipe, Ran, is};
use super::path::PipePath;
use super::user::Rights;
use crate::io::{Error, Phase, Stopped, Until};

/// A pipe that clients connect to: the address of a diagnostic port, or the pipe of a runtime.
///
/// It is open to this user, administrators and the system, and to no other machine.
///
/// One client can connect before [`accept`](Self::accept) is called; the next one finds the pipe
/// busy, and waits until then. The name is free once this and all accepted connections are dropped;
/// a client that was not accepted is disconnected (P-57).
///
/// ```
/// use dotnet_diagnostics_ipc::io::{Transport, Until};
/// use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
///
/// let mut listener = PipeListener::bind("dotnet-diagnostics-ipc-doc")?;
/// let mut client = PipeTransport::connect("dotnet-diagnostics-ipc-doc", &Until::FOREVER)?;
/// let mut server = listener.accept(&Until::FOREVER)?;
/// client.send(b"ADVR_V1", &Until::FOREVER).unwrap();
/// let mut bytes = [0; 34];
/// assert_eq!(server.receive(&mut bytes, &Until::FOREVER).unwrap(), 7);
/// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
/// ```
#[derive(Debug)]
pub struct PipeListener {
    maker: PipeMaker,
    /// The pipe for the next client; `None` if the system had no more of them.
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
            Ok(Self { maker, next: Some(PipeTransport::new(next.into())?) })
        };
        bind().map_err(listening)
    }

    /// The path of the pipe, as a client opens it.
    pub fn path(&self) -> &str {
        self.maker.path.text()
    }

    /// Waits for a client. A client that has already disconnected counts: its bytes can be read,
    /// then the end.
    ///
    /// # Errors
    /// [`TimedOut`](crate::io::ErrorKind::TimedOut),
    /// [`Cancelled`](crate::io::ErrorKind::Cancelled), and system errors. It can be
    /// called again.
    pub fn accept(&mut self, until: &Until<'_>) -> Result<PipeTransport, Error> {
        let mut pipe = match self.next.take() {
            Some(pipe) => pipe,
            None => self.create().map_err(listening)?,
        };
        match pipe.wait_for_client(until) {
            Ran::Done(_) => {}
            Ran::Failed(error) if is(&error, ERROR_PIPE_CONNECTED) || is(&error, ERROR_NO_DATA) => {
            }
            // This one cannot be used again.
            Ran::Failed(error) => return Err(listening(error)),
            Ran::Stopped(stopped) => {
                self.next = Some(pipe);
                return Err(stopped.during(Phase::Listen));
            }
        }
        // Before the client is served, and so before it disconnects. If that fails, the next call
        // tries again and returns the error.
        self.next = self.create().ok();
        Ok(pipe)
    }

    fn create(&self) -> io::Result<PipeTransport> {
        self.maker.make().and_then(PipeTransport::new)
    }

    /// The factory for more pipes of this name, and the free one.
    pub(in crate::io) fn into_parts(self) -> (PipeMaker, Option<Arc<Pipe>>) {
        (self.maker, self.next.map(PipeTransport::into_pipe))
    }
}

/// Creates pipes of a name that we already own, one for each client.
#[derive(Debug)]
pub(in crate::io) struct PipeMaker {
    path: PipePath,
    rights: Rights,
}

impl PipeMaker {
    /// One more.
    pub(in crate::io) fn make(&self) -> io::Result<Arc<Pipe>> {
        handle::create(&self.path, &self.rights, false).map(Arc::new)
    }
}

fn listening(error: io::Error) -> Error {
    Stopped::Io(error).during(Phase::Listen)
}
