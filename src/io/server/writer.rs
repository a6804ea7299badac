//! The connection of a session, for its handler.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};
use std::vec::Vec;

use super::ServerTransport;
use crate::exchange::{self, End, ServerAction};
use crate::io::{Canceller, Stopped, Until};

/// The most that is sent at once.
const PIECE: usize = 64 * 1024;

/// Writes the stream of a session. A write returns once the client's side has accepted it: a client
/// that does not read blocks the handler, for up to
/// [`ServeOptions::stream`](super::ServeOptions::stream).
///
/// ```
/// use std::io::Write as _;
/// use dotnet_diagnostics_ipc::io::server::StreamSession;
///
/// let session = StreamSession::new(1, |stream| {
///     stream.write_all(b"Nettrace")?;
///     // Until the client hangs up.
///     while !stream.pause(std::time::Duration::from_secs(1))? {}
///     Ok(())
/// });
/// # drop(session);
/// ```
///
/// Writing fails with `TimedOut` if the client did not read in time, with `ConnectionAborted` on
/// shutdown, and with the system's error if the client has disconnected. Nothing can be written
/// after that.
pub struct StreamWriter<'w> {
    pub(super) server: &'w mut exchange::Server,
    pub(super) transport: &'w mut dyn ServerTransport,
    pub(super) buffer: &'w mut Vec<u8>,
    pub(super) within: Option<Duration>,
    pub(super) canceller: Option<&'w Canceller>,
    pub(super) streamed: u64,
}

impl StreamWriter<'_> {
    /// How many bytes were sent.
    pub const fn streamed(&self) -> u64 {
        self.streamed
    }

    /// Waits this long; returns whether the client hung up meanwhile, as far as that can be
    /// detected.
    ///
    /// # Errors
    /// `ConnectionAborted`: the server is shut down.
    pub fn pause(&mut self, time: Duration) -> io::Result<bool> {
        wait(self.transport, Some(time), self.canceller)
    }
}

impl io::Write for StreamWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = bytes.get(..bytes.len().min(PIECE)).unwrap_or_default();
        if self.buffer.len() < piece.len() {
            self.buffer.resize(piece.len(), 0);
        }
        for (to, from) in self.buffer.iter_mut().zip(piece) {
            *to = *from;
        }
        // Closed by an earlier failure.
        self.server
            .piece(self.buffer, piece.len())
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        let until = until(self.within, self.canceller);
        while let ServerAction::Send(range) = self.server.action() {
            let sent = self.transport.send(self.buffer.get(range).unwrap_or_default(), &until);
            let (reported, error) = match sent {
                // A transport that can send and takes nothing never will.
                Ok(0) => (self.server.send_failed(), Some(io::ErrorKind::WriteZero.into())),
                Ok(n) => (self.server.sent(n), None),
                Err(Stopped::TimedOut) => {
                    (self.server.ended(End::TimedOut), Some(io::ErrorKind::TimedOut.into()))
                }
                Err(Stopped::Cancelled) => (self.server.send_failed(), Some(shut_down())),
                Err(Stopped::Io(error)) => (self.server.send_failed(), Some(error)),
            };
            reported.map_err(io::Error::other)?;
            if let Some(error) = error {
                return Err(error);
            }
        }
        self.streamed = self.streamed.saturating_add(piece.len() as u64);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for StreamWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamWriter").field("streamed", &self.streamed).finish_non_exhaustive()
    }
}

/// The connection of a `user_events` session: it carries no data.
pub struct HeldConnection<'w> {
    pub(super) transport: &'w mut dyn ServerTransport,
    pub(super) canceller: Option<&'w Canceller>,
    pub(super) hung_up: bool,
}

impl HeldConnection<'_> {
    /// Waits until the client hangs up, or until the timeout; returns whether it hung up. A
    /// half-close does not count (F-23).
    ///
    /// # Errors
    /// `ConnectionAborted`: the server is shut down.
    pub fn wait(&mut self, time: Option<Duration>) -> io::Result<bool> {
        if !self.hung_up {
            self.hung_up = wait(self.transport, time, self.canceller)?;
        }
        Ok(self.hung_up)
    }
}

impl fmt::Debug for HeldConnection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldConnection").field("hung_up", &self.hung_up).finish_non_exhaustive()
    }
}

fn wait(
    transport: &mut dyn ServerTransport,
    time: Option<Duration>,
    canceller: Option<&Canceller>,
) -> io::Result<bool> {
    match transport.hung_up(&until(time, canceller)) {
        Err(Stopped::TimedOut) => Ok(false),
        Err(Stopped::Cancelled) => Err(shut_down()),
        // However it ended.
        Ok(()) | Err(Stopped::Io(_)) => Ok(true),
    }
}

/// A deadline beyond the clock's range is none.
pub(super) fn until(within: Option<Duration>, canceller: Option<&Canceller>) -> Until<'_> {
    Until { deadline: within.and_then(|within| Instant::now().checked_add(within)), canceller }
}

fn shut_down() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the server is shut down")
}
