//! What a player needs of connections, whatever they are made of.

use alloc::{string::String, vec::Vec};
use core::time::Duration;

use super::Trouble;
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
        mut receive: impl FnMut(usize) -> Result<Self, Trouble>,
    ) -> Result<Option<Self>, Trouble> {
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
    /// The last of them, [`Drained::KEPT`] at least if there were so many.
    pub last: Vec<u8>,
    /// How it ended, if it has.
    pub end: Option<End>,
}

impl Drained {
    /// How many of the last bytes are kept.
    pub const KEPT: usize = 4096;

    /// Takes bytes that came.
    #[cfg(any(unix, windows))]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
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

    /// Connects to the side under test.
    ///
    /// # Errors
    /// [`Trouble`], where nobody accepts until then.
    fn open(&mut self, port: Option<&str>, until: Duration) -> Result<Link, Trouble>;

    /// Takes a connection that the side under test opens; `None` if none comes.
    ///
    /// # Errors
    /// [`Trouble`].
    fn accept(&mut self, port: Option<&str>, until: Duration) -> Result<Option<Link>, Trouble>;

    /// Whether somebody connects. The connection is not taken.
    ///
    /// # Errors
    /// [`Trouble`].
    fn is_called(&mut self, port: Option<&str>, until: Duration) -> Result<bool, Trouble>;

    /// Begins or stops to listen.
    ///
    /// # Errors
    /// [`Trouble`].
    fn listen(&mut self, port: &str, listening: bool) -> Result<(), Trouble>;

    /// Sends all of `bytes`, the first with a descriptor if one is named.
    ///
    /// # Errors
    /// [`Trouble`], also where they do not go until then.
    fn send(&mut self, link: Link, bytes: &[u8], fd: Option<FdKind>, until: Duration) -> Result<Sent, Trouble>;

    /// Waits for bytes, and takes `most` of them at most.
    ///
    /// # Errors
    /// [`Trouble`].
    fn receive(&mut self, link: Link, most: usize, until: Duration) -> Result<Received, Trouble>;

    /// From now on reads in the background.
    ///
    /// # Errors
    /// [`Trouble`].
    fn drain(&mut self, link: Link) -> Result<(), Trouble>;

    /// What was read in the background, once it has ended or the time is over.
    ///
    /// # Errors
    /// [`Trouble`].
    fn drained(&mut self, link: Link, until: Duration) -> Result<Drained, Trouble>;

    /// Ends a connection, or its sending direction alone.
    ///
    /// # Errors
    /// [`Trouble`].
    fn end(&mut self, link: Link, how: Ending) -> Result<(), Trouble>;

    /// Lets time pass.
    ///
    /// # Errors
    /// [`Trouble`].
    fn wait(&mut self, until: Duration) -> Result<(), Trouble>;

    /// Whether the target's process is there. Returns at once if it is to be alive, and waits for its end if it is to be dead.
    ///
    /// # Errors
    /// [`Trouble`].
    fn life(&mut self, expected: Life, until: Duration) -> Result<Life, Trouble>;
}
