//! The connections that a player needs, over any transport.

use alloc::{borrow::ToOwned as _, string::String, vec::Vec};
use core::time::Duration;

use super::{Flow, PlayerError};
use crate::script::{Ending, FdKind, Life, Presence, SignalKind, Step};
use dotnet_diagnostics_ipc::exchange::End;

/// The number of a connection in a [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link(usize);

impl Link {
    /// Returns the connection with this number in its network.
    pub const fn new(number: usize) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn number(self) -> usize {
        self.0
    }
}

/// The result of waiting for bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// At least one byte, and the files of the descriptors that came with it.
    Bytes(Vec<u8>, Vec<FdKind>),
    /// The connection ended.
    End(End),
    /// Nothing arrived in time.
    Nothing,
}

impl Received {
    /// Reads bytes with `receive`, whose argument is the maximum, until there are `wanted`. Also
    /// returns the result that ended the bytes early.
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
    /// All bytes were sent.
    All,
    /// The peer no longer reads. The reason is in words.
    PeerGone(String),
}

/// The connections to the side under test, and a clock. A port is called by its name in the script,
/// and the default port is `None`.
///
/// Times are those of [`Network::now`], and all waits end at `until`. A method that fails returns
/// the [`PlayerError`] of the step. By default, a network supports only one connection to the other
/// side, and everything else is [`PlayerError::Unavailable`].
#[allow(clippy::missing_errors_doc, reason = "every method fails like this")]
pub trait Network {
    /// Returns the time since an arbitrary start.
    fn now(&self) -> Duration;

    /// Returns the reason why this network cannot play a step as intended, whatever the peer does.
    /// `None` if it can. A script with such a step is not started.
    fn lacks(&self, step: &Step) -> Option<&'static str> {
        let _ = step;
        None
    }

    /// Returns how long a wait of this time on an idle machine may take now, up to 30 times as long
    /// on a busy machine. A network with its own clock is never busy.
    fn here(&self, idle: Duration) -> Duration {
        idle
    }

    /// Returns the memory of the target's process in KiB, or `None` if unknown.
    fn memory(&self) -> Option<u64> {
        None
    }

    /// Connects to the side under test. Fails if the other side accepts no connection in time.
    fn open(&mut self, port: Option<&str>, until: Duration) -> Result<Link, PlayerError>;

    /// Accepts a connection from the side under test, or returns `None` on a timeout.
    fn accept(&mut self, port: Option<&str>, until: Duration) -> Result<Option<Link>, PlayerError> {
        let _ = (port, until);
        unsupported()
    }

    /// Returns whether a connection arrives, without accepting it.
    fn is_called(&mut self, port: Option<&str>, until: Duration) -> Result<bool, PlayerError> {
        let _ = (port, until);
        unsupported()
    }

    /// Starts or stops listening at a port.
    fn listen(&mut self, port: &str, listening: bool) -> Result<(), PlayerError> {
        let _ = (port, listening);
        unsupported()
    }

    /// Sends all of `bytes`, the first with a descriptor if one is given. Fails on a timeout.
    fn send(
        &mut self,
        link: Link,
        bytes: &[u8],
        fd: Option<FdKind>,
        until: Duration,
    ) -> Result<Sent, PlayerError>;

    /// Waits for bytes, and reads at most `most`.
    fn receive(
        &mut self,
        link: Link,
        most: usize,
        until: Duration,
    ) -> Result<Received, PlayerError>;

    /// Waits until there are bytes to read, or an end. A network that cannot do so does not wait.
    fn wait_for_bytes(&mut self, link: Link, until: Duration) -> Result<(), PlayerError> {
        let _ = (link, until);
        Ok(())
    }

    /// Reads in the background from now on, and adds the bytes to `flow`.
    fn drain(&mut self, link: Link, flow: Flow) -> Result<(), PlayerError> {
        let _ = (link, flow);
        unsupported()
    }

    /// Returns the result of the background read, once it has ended or the time is over.
    fn drained(&mut self, link: Link, until: Duration) -> Result<Flow, PlayerError> {
        let _ = (link, until);
        unsupported()
    }

    /// Ends a connection, or only its sending direction.
    fn end(&mut self, link: Link, how: Ending) -> Result<(), PlayerError>;

    /// Waits until the time `until`.
    fn wait(&mut self, until: Duration) -> Result<(), PlayerError> {
        let _ = until;
        unsupported()
    }

    /// Returns whether the target's process exists. If it should be dead, waits for its end.
    fn life(&mut self, expected: Life, until: Duration) -> Result<Life, PlayerError> {
        let _ = (expected, until);
        unsupported()
    }

    /// Sends a signal to the target's process, if the player started it.
    fn signal(&mut self, signal: SignalKind) -> Result<(), PlayerError> {
        let _ = signal;
        not_ours()
    }

    /// Returns whether the file of the default port's socket exists. Waits until it is as expected,
    /// or until the timeout.
    fn socket(&mut self, expected: Presence, until: Duration) -> Result<Presence, PlayerError> {
        let _ = (expected, until);
        unavailable("the default port has no file here")
    }

    /// Returns at most `most` first bytes of a file in the target's current directory, or `None` if
    /// it does not exist.
    fn file(&mut self, name: &str, most: usize) -> Result<Option<Vec<u8>>, PlayerError> {
        let _ = (name, most);
        not_ours()
    }
}

fn unsupported<T>() -> Result<T, PlayerError> {
    unavailable("this network does not support it")
}

fn not_ours<T>() -> Result<T, PlayerError> {
    unavailable("the target was not started for this case")
}

fn unavailable<T>(why: &str) -> Result<T, PlayerError> {
    Err(PlayerError::Unavailable(why.to_owned()))
}
