//! What a player needs of connections of any kind.

use alloc::{borrow::ToOwned as _, string::String, vec::Vec};
use core::time::Duration;

use super::{Flow, PlayerError};
use crate::script::{Ending, FdKind, Life, Presence, SignalKind, Step};
use dotnet_diagnostics_ipc::exchange::End;

/// A connection of a [`Network`], by its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link(usize);

impl Link {
    /// The connection with this number in its network.
    pub const fn new(number: usize) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn number(self) -> usize {
        self.0
    }
}

/// The result of waiting for bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// At least one byte, and the files of the descriptors.
    Bytes(Vec<u8>, Vec<FdKind>),
    /// The end of the connection.
    End(End),
    /// Nothing in time.
    Nothing,
}

impl Received {
    /// Reads bytes with `receive`, whose argument is the maximum, until there are `wanted`. The
    /// result instead of the rest.
    pub fn fill(
        bytes: &mut Vec<u8>,
        wanted: usize,
        mut receive: impl FnMut(usize) -> Result<Self, PlayerError>,
    ) -> Result<Option<Self>, PlayerError> {
        while let Some(missing) = wanted.checked_sub(bytes.len()).filter(|missing| *missing > 0) {
            match receive(missing)? {
                Self::Bytes(more, _) => bytes.extend(more),
                other => return Ok(Some(other)),
            }
        }
        Ok(None)
    }
}

/// The result of sending bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// They were sent.
    All,
    /// The peer no longer reads; the reason in words.
    PeerGone(String),
}

/// Connections to the side under test, and a clock. A port has its name in the script; `None` is
/// the default port.
///
/// Times are those of [`Network::now`]. All waits end at `until`. What a network does not support is
/// [`PlayerError::Unavailable`], by default everything except one connection to the other side.
pub trait Network {
    /// The time since some beginning.
    fn now(&self) -> Duration;

    /// Why a step cannot be played here as intended, whatever the peer does; `None` if it can. A
    /// script with such a step is not started.
    fn lacks(&self, step: &Step) -> Option<&'static str> {
        let _ = step;
        None
    }

    /// How long a wait of this time on an idle machine may take here and now: longer on a busy one,
    /// up to 30 times. A network with a clock of its own is never busy.
    fn here(&self, idle: Duration) -> Duration {
        idle
    }

    /// The memory of the target's process, in KiB; `None` if unknown.
    fn memory(&self) -> Option<u64> {
        None
    }

    /// Connects to the side under test.
    ///
    /// # Errors
    /// [`PlayerError`] if no connection is accepted in time.
    fn open(&mut self, port: Option<&str>, until: Duration) -> Result<Link, PlayerError>;

    /// Accepts a connection from the side under test; `None` on a timeout.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn accept(&mut self, port: Option<&str>, until: Duration) -> Result<Option<Link>, PlayerError> {
        let _ = (port, until);
        Err(unsupported())
    }

    /// Whether a connection arrives. The connection is not accepted.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn is_called(&mut self, port: Option<&str>, until: Duration) -> Result<bool, PlayerError> {
        let _ = (port, until);
        Err(unsupported())
    }

    /// Starts or stops listening.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn listen(&mut self, port: &str, listening: bool) -> Result<(), PlayerError> {
        let _ = (port, listening);
        Err(unsupported())
    }

    /// Sends all of `bytes`, the first with a descriptor if given.
    ///
    /// # Errors
    /// [`PlayerError`], also on a timeout.
    fn send(
        &mut self,
        link: Link,
        bytes: &[u8],
        fd: Option<FdKind>,
        until: Duration,
    ) -> Result<Sent, PlayerError>;

    /// Waits for bytes, and reads at most `most`.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn receive(
        &mut self,
        link: Link,
        most: usize,
        until: Duration,
    ) -> Result<Received, PlayerError>;

    /// Reads in the background from now on.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn drain(&mut self, link: Link) -> Result<(), PlayerError> {
        let _ = link;
        Err(unsupported())
    }

    /// The result of the background read, once it has ended or the time is over.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn drained(&mut self, link: Link, until: Duration) -> Result<Flow, PlayerError> {
        let _ = (link, until);
        Err(unsupported())
    }

    /// Ends a connection, or only its sending direction.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn end(&mut self, link: Link, how: Ending) -> Result<(), PlayerError>;

    /// Lets time pass.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn wait(&mut self, until: Duration) -> Result<(), PlayerError> {
        let _ = until;
        Err(unsupported())
    }

    /// Whether the target's process exists. Returns at once if it should be alive, and waits for
    /// its end if it should be dead.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn life(&mut self, expected: Life, until: Duration) -> Result<Life, PlayerError> {
        let _ = (expected, until);
        Err(unsupported())
    }

    /// Sends a signal to the target's process.
    ///
    /// # Errors
    /// [`PlayerError`], also if the player did not start it.
    fn signal(&mut self, signal: SignalKind) -> Result<(), PlayerError> {
        let _ = signal;
        Err(PlayerError::Unavailable(NOT_OURS.to_owned()))
    }

    /// Whether the file of the default port's socket exists. Waits until it is as expected, or
    /// until the timeout.
    ///
    /// # Errors
    /// [`PlayerError`], also if there is no such file.
    fn socket(&mut self, expected: Presence, until: Duration) -> Result<Presence, PlayerError> {
        let _ = (expected, until);
        Err(PlayerError::Unavailable("the default port has no file here".to_owned()))
    }

    /// The first bytes, at most `most`, of a file in the target's current directory; `None` if it
    /// does not exist.
    ///
    /// # Errors
    /// [`PlayerError`], also if the target has no directory of its own.
    fn file(&mut self, name: &str, most: usize) -> Result<Option<Vec<u8>>, PlayerError> {
        let _ = (name, most);
        Err(PlayerError::Unavailable(NOT_OURS.to_owned()))
    }
}

fn unsupported() -> PlayerError {
    PlayerError::Unavailable("this network does not support it".to_owned())
}

/// Why a process is left alone.
const NOT_OURS: &str = "the target was not started for this case";
