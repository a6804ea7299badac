//! What a server needs of a connection and of its source.

use std::time::{Duration, Instant};

use crate::io::{Error, Stopped, Stream, Transport, Until};

#[cfg(unix)]
use crate::continuation::FdByte;
#[cfg(unix)]
use std::os::fd::OwnedFd;

/// How often an uninterruptible wait checks for shutdown.
const LOOK: Duration = Duration::from_millis(20);

/// A connection, as a server needs it.
pub trait ServerTransport: Transport {
    /// Receives one byte and its descriptor. `None` at the end of the input.
    ///
    /// # Errors
    /// [`Stopped`]; by default, that this connection cannot pass one.
    #[cfg(unix)]
    fn receive_fd(
        &mut self,
        until: &Until<'_>,
    ) -> Result<Option<(FdByte, Option<OwnedFd>)>, Stopped> {
        let _ = until;
        Err(Stopped::Io(std::io::Error::new(
            std::io::ErrorKind::Unsupported,
            "this connection cannot pass descriptors",
        )))
    }

    /// Waits until the client hangs up. A half-close does not count (F-23).
    ///
    /// The default cannot detect it: without a deadline it reads and discards input up to its end;
    /// with a deadline, it waits until then.
    ///
    /// # Errors
    /// [`Stopped`]: the client is still there.
    fn hung_up(&mut self, until: &Until<'_>) -> Result<(), Stopped> {
        if until.deadline.is_none() {
            let mut thrown_away = [0; 256];
            while !matches!(self.receive(&mut thrown_away, until)?, 0) {}
            return Ok(());
        }
        until.pause()?;
        Err(Stopped::TimedOut)
    }
}

impl<T: std::io::Read + std::io::Write> ServerTransport for Stream<T> {}

/// A source of connections.
pub trait Listen {
    /// The connection type.
    type Transport: ServerTransport;

    /// Waits for the next client.
    ///
    /// # Errors
    /// [`Phase::Listen`](crate::io::Phase::Listen), with
    /// [`TimedOut`](crate::io::ErrorKind::TimedOut) and
    /// [`Cancelled`](crate::io::ErrorKind::Cancelled) by `until`. It can be called again after
    /// these.
    fn accept(&mut self, until: &Until<'_>) -> Result<Self::Transport, Error>;
}

impl<L: Listen + ?Sized> Listen for &mut L {
    type Transport = L::Transport;

    fn accept(&mut self, until: &Until<'_>) -> Result<Self::Transport, Error> {
        (**self).accept(until)
    }
}

/// Waits a moment, to avoid a busy loop when the system has no descriptor left.
pub(super) fn pause(canceller: &crate::io::Canceller) {
    let deadline = Instant::now().checked_add(LOOK);
    let _ = Until { deadline, canceller: Some(canceller) }.pause();
}

#[cfg(windows)]
mod windows {
    use super::{Listen, ServerTransport};
    use crate::io::windows::{PipeListener, PipeTransport};
    use crate::io::{Error, Until};

    impl ServerTransport for PipeTransport {}

    impl Listen for PipeListener {
        type Transport = PipeTransport;

        fn accept(&mut self, until: &Until<'_>) -> Result<PipeTransport, Error> {
            Self::accept(self, until)
        }
    }
}

#[cfg(unix)]
mod unix {
    use std::io::ErrorKind;
    use std::os::fd::{AsFd as _, OwnedFd};
    use std::os::unix::net::UnixListener;

    use rustix::event::PollFlags;

    use super::{Listen, ServerTransport};
    use crate::continuation::FdByte;
    use crate::io::{Error, Phase, Stopped, UnixTransport, Until, fd};

    impl ServerTransport for UnixTransport {
        fn receive_fd(
            &mut self,
            until: &Until<'_>,
        ) -> Result<Option<(FdByte, Option<OwnedFd>)>, Stopped> {
            loop {
                until.check()?;
                match fd::receive_fd(self.as_fd()) {
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                        until.readable(&*self)?;
                    }
                    received => return Ok(received?),
                }
            }
        }

        fn hung_up(&mut self, until: &Until<'_>) -> Result<(), Stopped> {
            // A hang-up is always reported; readability does not matter.
            until.ready(self.as_fd(), PollFlags::empty())
        }
    }

    /// The listener is made non-blocking.
    impl Listen for &UnixListener {
        type Transport = UnixTransport;

        fn accept(&mut self, until: &Until<'_>) -> Result<UnixTransport, Error> {
            accept(self, until).map_err(|stopped| stopped.during(Phase::Listen))
        }
    }

    /// The listener is made non-blocking.
    impl Listen for UnixListener {
        type Transport = UnixTransport;

        fn accept(&mut self, until: &Until<'_>) -> Result<UnixTransport, Error> {
            accept(self, until).map_err(|stopped| stopped.during(Phase::Listen))
        }
    }

    fn accept(listener: &UnixListener, until: &Until<'_>) -> Result<UnixTransport, Stopped> {
        // Between the wait and the accept another process may take the connection.
        listener.set_nonblocking(true)?;
        loop {
            until.check()?;
            match listener.accept() {
                Ok((stream, _)) => return Ok(UnixTransport::new(stream)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    until.readable(listener)?;
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::Interrupted | ErrorKind::ConnectionAborted
                    ) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
