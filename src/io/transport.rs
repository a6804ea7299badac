//! The connection trait that every exchange uses.

use std::io::{self, Read, Write};
#[cfg(unix)]
use std::os::fd::{BorrowedFd, OwnedFd};

use super::{ErrorKind, WaitLimit};
#[cfg(unix)]
use crate::continuation::FdByte;

/// A connection that an exchange can use.
///
/// Only servers call [`receive_fd`](Self::receive_fd) and [`hung_up`](Self::hung_up).
pub trait Transport {
    /// Writes some of `bytes`, at least one, and returns how many.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] or [`ErrorKind::Cancelled`] by `until`, or [`ErrorKind::Io`]. Nothing was
    /// written then.
    fn send(&mut self, bytes: &[u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind>;

    /// Reads at least one byte and at most as many as `into` holds; returns 0 at the end of the
    /// input.
    ///
    /// # Errors
    /// Fails as [`send`](Self::send) does. Nothing was read then.
    fn receive(&mut self, into: &mut [u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind>;

    /// Sends a separate byte with a descriptor (F-20).
    ///
    /// # Errors
    /// Fails as [`send`](Self::send) does; by default [`ErrorKind::Unsupported`].
    #[cfg(unix)]
    fn send_fd(&mut self, fd: BorrowedFd<'_>, until: &WaitLimit<'_>) -> Result<(), ErrorKind> {
        let _ = (fd, until);
        Err(CANNOT_PASS_FDS)
    }

    /// Receives one byte and its descriptor. `None` at the end of the input.
    ///
    /// # Errors
    /// Fails as [`send`](Self::send) does; by default [`ErrorKind::Unsupported`].
    #[cfg(unix)]
    fn receive_fd(
        &mut self,
        until: &WaitLimit<'_>,
    ) -> Result<Option<(FdByte, Option<OwnedFd>)>, ErrorKind> {
        let _ = until;
        Err(CANNOT_PASS_FDS)
    }

    /// Waits until the peer hangs up. A half-close does not count (F-23).
    ///
    /// The default cannot detect it: without a deadline it reads and discards input up to its end;
    /// with a deadline, it waits until then.
    ///
    /// # Errors
    /// Fails as [`send`](Self::send) does; the peer is then still there.
    fn hung_up(&mut self, until: &WaitLimit<'_>) -> Result<(), ErrorKind> {
        if until.deadline.is_none() {
            while self.receive(&mut [0; 256], until)? > 0 {}
            return Ok(());
        }
        until.sleep()?;
        Err(ErrorKind::TimedOut)
    }
}

#[cfg(unix)]
pub(super) const CANNOT_PASS_FDS: ErrorKind =
    ErrorKind::Unsupported("this connection cannot pass descriptors");

impl<T: Transport + ?Sized> Transport for &mut T {
    fn send(&mut self, bytes: &[u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        (**self).send(bytes, until)
    }

    fn receive(&mut self, into: &mut [u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        (**self).receive(into, until)
    }

    #[cfg(unix)]
    fn send_fd(&mut self, fd: BorrowedFd<'_>, until: &WaitLimit<'_>) -> Result<(), ErrorKind> {
        (**self).send_fd(fd, until)
    }

    #[cfg(unix)]
    fn receive_fd(
        &mut self,
        until: &WaitLimit<'_>,
    ) -> Result<Option<(FdByte, Option<OwnedFd>)>, ErrorKind> {
        (**self).receive_fd(until)
    }

    fn hung_up(&mut self, until: &WaitLimit<'_>) -> Result<(), ErrorKind> {
        (**self).hung_up(until)
    }
}

/// A transport over anything that reads and writes: a TCP stream, TLS, a pipe to another program.
///
/// It checks the deadline and canceller before each read and write, but cannot interrupt one, so
/// set timeouts on the stream itself. Its `WouldBlock` and `TimedOut` errors count as
/// [`ErrorKind::TimedOut`].
///
/// ```
/// use dotnet_diagnostics_ipc::io::{Connection, Stream};
/// use dotnet_diagnostics_ipc::message::process::ResumeRuntime;
/// # struct Peer(&'static [u8]);
/// # impl std::io::Write for Peer {
/// #     fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> { Ok(bytes.len()) }
/// #     fn flush(&mut self) -> std::io::Result<()> { Ok(()) }
/// # }
/// # impl std::io::Read for Peer {
/// #     fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> { self.0.read(into) }
/// # }
/// # let peer = Peer(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0");
///
/// // `peer` can be any stream; this one answers S_OK.
/// let answer = Connection::new(Stream(peer)).call(&ResumeRuntime {})?;
/// assert!(answer.result().is_success());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Stream<T>(pub T);

impl<T: Read + Write> Transport for Stream<T> {
    fn send(&mut self, bytes: &[u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        retried(until, || self.0.write(bytes)).and_then(|n| match n {
            0 if !bytes.is_empty() => Err(io::Error::from(io::ErrorKind::WriteZero).into()),
            n => Ok(n),
        })
    }

    fn receive(&mut self, into: &mut [u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        retried(until, || self.0.read(into))
    }
}

/// Repeats `io` after a signal.
fn retried(
    until: &WaitLimit<'_>,
    mut io: impl FnMut() -> io::Result<usize>,
) -> Result<usize, ErrorKind> {
    loop {
        until.check()?;
        match io() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                return Err(ErrorKind::TimedOut);
            }
            done => return Ok(done?),
        }
    }
}
