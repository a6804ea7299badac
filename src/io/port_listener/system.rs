//! The system interface of a port.

use std::fmt::Debug;
use std::io;
use std::time::Duration;
use std::vec::Vec;

/// The number of the listener among the ready ones. Connections have higher numbers.
pub(super) const LISTENER: u64 = 0;

/// The connections of a port, and the wait for any of them. Used only by the port's thread.
///
/// Reads and accepts do not block: they fail with `WouldBlock`, and [`wait`](Self::wait) reports
/// when to try again.
pub(super) trait System: Send + 'static {
    /// A connection. Dropping it closes it.
    type Connection: Debug + Send + 'static;

    /// The next pending connection.
    fn accept(&mut self) -> io::Result<Self::Connection>;

    /// Pauses accepting until [`resume`](Self::resume).
    fn pause(&mut self);

    /// Resumes accepting; returns whether that worked.
    fn resume(&mut self) -> bool;

    /// [`wait`](Self::wait) reports this connection under its number from now on.
    fn add(&mut self, connection: &Self::Connection, id: u64) -> io::Result<()>;

    /// Reads the available bytes, at most as many as `into` holds; 0 at the end.
    fn read(&mut self, connection: &mut Self::Connection, into: &mut [u8]) -> io::Result<usize>;

    /// Stops reading it: it is reported when the peer ends it or sends something.
    fn await_end(&mut self, connection: &mut Self::Connection) -> io::Result<()>;

    /// Stops watching a connection that is about to be closed or handed out. Fails if it has ended
    /// or sent something since.
    fn remove(&mut self, connection: &mut Self::Connection) -> io::Result<()>;

    /// Waits for an event, a question or the timeout. Adds to `ready` the numbers of the
    /// connections that are readable or have ended, and [`LISTENER`] if one is pending. `all`
    /// are those that were added and not removed.
    fn wait<'c>(
        &mut self,
        all: impl Iterator<Item = (u64, &'c Self::Connection)>,
        timeout: Option<Duration>,
        ready: &mut Vec<u64>,
    ) -> io::Result<()>;

    /// How many connections there is room for now, whatever the port is allowed.
    fn room(&self) -> Room;
}

/// The most connections of a port.
pub(super) struct Room {
    /// Including those without their advertise.
    pub(super) connections: usize,
    /// Waiting to be taken.
    pub(super) held: usize,
}
