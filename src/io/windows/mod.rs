//! Named pipes, on both sides, with deadlines.
//!
//! | | |
//! |---|---|
//! | [`PipeTransport`] | one end of a connected pipe |
//! | [`PipeListener`] | a pipe that clients connect to |
//!
//! A pipe is in byte mode, accepts no remote clients, and has buffers of 16 KiB, like a runtime's
//! (F-62). A pipe has no half-close, and cannot pass descriptors.
//!
//! # Not tested under wine
//!
//! The tests run under wine 8. It behaves as documented by Windows where these calls read, write,
//! wait and cancel; the rest is taken from that documentation:
//!
//! - A client on another machine is refused (`PIPE_REJECT_REMOTE_CLIENTS`).
//! - A server can identify a client, but not impersonate it (`SECURITY_SQOS_PRESENT |
//!   SECURITY_IDENTIFICATION`).
//! - A pipe whose name is in use cannot be created (`FILE_FLAG_FIRST_PIPE_INSTANCE`): wine ignores
//!   this. Its test is ignored there, and meant for Windows.
//! - A write of 0 bytes is a read of 0 bytes at the other end, not the end of the input. Under wine
//!   such a write does nothing.
//! - How much of a cancelled write was sent: this is undocumented, so nothing more can be sent
//!   then.
//! - Who may open a pipe: this user, administrators and the system. Under wine there is one user.
//! # Example
//!
//! Connect two ends of a pipe:
//!
//! ```no_run
//! use dotnet_diagnostics_ipc::io::WaitLimit;
//! use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
//!
//! let mut listener = PipeListener::bind("dotnet-diagnostic-4242")?;
//! let mut client = PipeTransport::connect("dotnet-diagnostic-4242", &WaitLimit::FOREVER)?;
//! let mut server = listener.accept(&WaitLimit::FOREVER)?;
//! # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
//! ```

mod connect_pacing;
mod event;
mod handle;
mod pipe;
mod user;

use std::io;
use std::sync::Arc;

pub(super) use event::Event;
use handle::Pipe;
pub(super) use handle::{PipePath, server_process_id};
pub use pipe::PipeTransport;
pub(super) use pipe::Watched;
use user::Rights;
pub(super) use user::Sid;
#[cfg(feature = "tokio")]
pub(super) use {
    connect_pacing::rate_limited,
    pipe::{opened, wait_until_free},
};

use super::server::Listen;
use super::{Error, Phase, WaitError, WaitLimit};

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
    pub fn accept(&mut self, until: &WaitLimit<'_>) -> Result<PipeTransport, Error> {
        let mut pipe = match self.next.take() {
            Some(pipe) => pipe,
            None => self.create().map_err(listening)?,
        };
        if let Err(stopped) = pipe.wait_for_client(until) {
            // After a failure it cannot be used again.
            self.next = Some(pipe).filter(|_| !matches!(stopped, WaitError::Io(_)));
            return Err(stopped.during(Phase::Listen));
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
    /// One more.
    pub(in crate::io) fn make(&self) -> io::Result<Arc<Pipe>> {
        handle::create(&self.path, &self.rights, false).map(Arc::new)
    }
}

fn listening(error: io::Error) -> Error {
    WaitError::Io(error).during(Phase::Listen)
}
