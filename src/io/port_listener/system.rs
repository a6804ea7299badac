//! What a port needs of its system.

use std::fmt::Debug;
use std::io;
use std::time::Duration;
use std::vec::Vec;

/// The number of the listener among those that are ready. Connections have the numbers after it.
pub(super) const LISTENER: u64 = 0;

/// The connections of a port, and the wait for any of them. Used by one thread, the port's own.
///
/// Reads and accepts do not wait: they fail with `WouldBlock` where nothing has come, and [`wait`](Self::wait) says when to try again.
pub(super) trait System: Send + 'static {
    /// A connection. It ends when it is dropped.
    type Connection: Debug + Send + 'static;

    /// The next connection that has come.
    fn accept(&mut self) -> io::Result<Self::Connection>;

    /// Accepts nothing until [`resume`](Self::resume), and does not wake for it.
    fn pause(&mut self);

    /// Accepts again; whether it could be begun.
    fn resume(&mut self) -> bool;

    /// From now on [`wait`](Self::wait) reports this one under its number.
    fn add(&mut self, connection: &Self::Connection, id: u64) -> io::Result<()>;

    /// Reads what has come, no more than `into` holds; 0 at the end.
    fn read(&mut self, connection: &mut Self::Connection, into: &mut [u8]) -> io::Result<usize>;

    /// Nothing more is read of it: from now on it is reported when the peer ends it, or says something.
    fn await_end(&mut self, connection: &mut Self::Connection) -> io::Result<()>;

    /// No longer reports this one, which is about to be closed or handed out. Fails where it turns out to have ended, or to have said
    /// something since.
    fn remove(&mut self, connection: &mut Self::Connection) -> io::Result<()>;

    /// Waits until something comes, somebody puts a question, or the time is over. Adds to `ready` the numbers of the connections that
    /// can be read or have ended, and [`LISTENER`] where one has come. `all` are those that were added and not removed.
    fn wait<'c>(
        &mut self,
        all: impl Iterator<Item = (u64, &'c Self::Connection)>,
        timeout: Option<Duration>,
        ready: &mut Vec<u64>,
    ) -> io::Result<()>;

    /// For how many connections there is room now, however many the port is allowed.
    fn room(&self) -> Room;
}

/// How many connections a port may have.
pub(super) struct Room {
    /// With those that did not say yet who they are.
    pub(super) connections: usize,
    /// That wait to be taken.
    pub(super) held: usize,
}
