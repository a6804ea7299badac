//! What a player needs of connections, whatever they are made of.

use alloc::{string::String, vec::Vec};
use core::time::Duration;

use super::PlayerError;
use crate::exchange::End;
use crate::vectors::script::{Ending, FdKind, Life, Step};

/// A connection of a [`Network`], by its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link(usize);

impl Link {
    /// The connection that a network calls by this number.
    pub const fn new(number: usize) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn number(self) -> usize {
        self.0
    }
}

/// What came of waiting for bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// At least one byte, and how many descriptors came with them.
    Bytes(Vec<u8>, usize),
    /// The end of the connection.
    End(End),
    /// Nothing until the time was over.
    Nothing,
}

impl Received {
    /// Takes bytes by `receive`, which is told how many at most, until there are `wanted` of them. What came instead of the rest.
    pub(in crate::conformance) fn fill(
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

/// What became of bytes that were sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// They went.
    All,
    /// The peer does not read any more; why, in words.
    PeerGone(String),
}

/// What a connection gave that was read in the background.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// How many bytes.
    pub bytes: u64,
    /// The first of them, [`Drained::FIRST`] if there were so many.
    pub first: Vec<u8>,
    /// The last of them, [`Drained::KEPT`] at least if there were so many.
    pub last: Vec<u8>,
    /// How it ended, if it has.
    pub end: Option<End>,
}

impl Drained {
    /// How many of the last bytes are kept.
    pub const KEPT: usize = 4096;
    /// How many of the first bytes are kept.
    pub const FIRST: usize = 64;

    /// Takes bytes that came.
    #[cfg(any(unix, windows))]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let missing = Self::FIRST.saturating_sub(self.first.len()).min(bytes.len());
        self.first.extend_from_slice(bytes.get(..missing).unwrap_or_default());
        self.last.extend_from_slice(bytes);
        let surplus = self.last.len().saturating_sub(Self::KEPT);
        self.last.drain(..surplus);
    }
}

/// Connections to the side under test, and a clock. A port is named as the script names it; `None` is the default port.
///
/// Times are those of [`Network::now`]. Whatever waits ends at `until`.
pub trait Network {
    /// The time since some beginning.
    fn now(&self) -> Duration;

    /// Why a step cannot be played here as it is meant, whatever the peer does; `None` if it can. A script that has such a step is
    /// not begun.
    fn lacks(&self, step: &Step) -> Option<&'static str> {
        let _ = step;
        None
    }

    /// How much memory the target's process has, in KiB; `None` where it is unknown.
    fn memory(&self) -> Option<u64> {
        None
    }

    /// Connects to the side under test.
    ///
    /// # Errors
    /// [`PlayerError`], where nobody accepts until then.
    fn open(&mut self, port: Option<&str>, until: Duration) -> Result<Link, PlayerError>;

    /// Takes a connection that the side under test opens; `None` if none comes.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn accept(&mut self, port: Option<&str>, until: Duration) -> Result<Option<Link>, PlayerError>;

    /// Whether somebody connects. The connection is not taken.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn is_called(&mut self, port: Option<&str>, until: Duration) -> Result<bool, PlayerError>;

    /// Begins or stops to listen.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn listen(&mut self, port: &str, listening: bool) -> Result<(), PlayerError>;

    /// Sends all of `bytes`, the first with a descriptor if one is named.
    ///
    /// # Errors
    /// [`PlayerError`], also where they do not go until then.
    fn send(&mut self, link: Link, bytes: &[u8], fd: Option<FdKind>, until: Duration) -> Result<Sent, PlayerError>;

    /// Waits for bytes, and takes `most` of them at most.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn receive(&mut self, link: Link, most: usize, until: Duration) -> Result<Received, PlayerError>;

    /// From now on reads in the background.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn drain(&mut self, link: Link) -> Result<(), PlayerError>;

    /// What was read in the background, once it has ended or the time is over.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn drained(&mut self, link: Link, until: Duration) -> Result<Drained, PlayerError>;

    /// Ends a connection, or its sending direction alone.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn end(&mut self, link: Link, how: Ending) -> Result<(), PlayerError>;

    /// Lets time pass.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn wait(&mut self, until: Duration) -> Result<(), PlayerError>;

    /// Whether the target's process is there. Returns at once if it is to be alive, and waits for its end if it is to be dead.
    ///
    /// # Errors
    /// [`PlayerError`].
    fn life(&mut self, expected: Life, until: Duration) -> Result<Life, PlayerError>;
}
