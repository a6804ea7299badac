//! What went over the connections of a proxy.

use alloc::{vec, vec::Vec};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::vectors::script::{Ending, FdKind};

/// Who spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The tool, which asks.
    Client,
    /// The runtime, which answers.
    Runtime,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The connection began.
    Opened,
    /// Bytes, as one reading gave them.
    Piece {
        /// Who sent them.
        from: Side,
        /// The bytes.
        bytes: Vec<u8>,
        /// Of what the descriptors are that the first byte carried.
        fds: Vec<FdKind>,
    },
    /// A side ended the connection, or the direction in which it sends.
    Ended {
        /// Who.
        by: Side,
        /// How.
        how: Ending,
    },
}

/// Something that was seen on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, since the recording began.
    pub at: Duration,
    /// The connection's number, from 0.
    pub connection: usize,
    /// What.
    pub seen: EventKind,
}

/// What one side of a connection sent, all in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many bytes.
    pub bytes: u64,
    /// How many of them, from the first on, stand in the events.
    pub kept: usize,
    /// The very last one.
    pub last: Option<u8>,
}

/// A conversation that was recorded.
///
/// Of each side of a connection the first [`Recording::KEPT`] bytes are kept, of the connections the first
/// [`Recording::CONNECTIONS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// What was seen, in order.
    pub events: Vec<Event>,
    /// For each connection what the client sent, and what the runtime did.
    pub totals: Vec<[Totals; 2]>,
    /// How many connections there were beyond those that are kept.
    pub more_connections: u64,
    /// Whether the runtime opens the connections: it has a diagnostic port.
    pub runtime_connects: bool,
}

impl Recording {
    /// How many bytes of a side of a connection are kept: a message, and as much of what follows it.
    pub const KEPT: usize = 131_072;
    /// How many connections are kept.
    pub const CONNECTIONS: usize = 256;
}

/// Takes down what connections say, from several threads.
///
/// ```
/// use dotnet_diagnostics_ipc::conformance::record::{Log, Side};
///
/// let log = Log::new(false);
/// let connection = log.opened();
/// log.piece(connection, Side::Client, b"DOTNET_IPC_V1\0", Vec::new());
/// assert_eq!(log.recording().totals[connection.unwrap()][0].bytes, 14);
/// ```
#[derive(Debug)]
pub struct Log {
    began: Instant,
    recording: Mutex<Recording>,
}

impl Log {
    /// Begins now. `runtime_connects`: the runtime opens the connections.
    pub fn new(runtime_connects: bool) -> Self {
        let recording = Recording { runtime_connects, ..Recording::default() };
        Self { began: Instant::now(), recording: Mutex::new(recording) }
    }

    fn locked(&self) -> MutexGuard<'_, Recording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection began. `None` if there were too many already.
    pub fn opened(&self) -> Option<usize> {
        let mut recording = self.locked();
        let connection = recording.totals.len();
        if connection >= Recording::CONNECTIONS {
            recording.more_connections = recording.more_connections.saturating_add(1);
            return None;
        }
        recording.totals.push(Default::default());
        recording.events.push(Event { at: self.began.elapsed(), connection, seen: EventKind::Opened });
        Some(connection)
    }

    /// A side sent bytes.
    pub fn piece(&self, connection: Option<usize>, from: Side, bytes: &[u8], fds: Vec<FdKind>) {
        let Some(connection) = connection else { return };
        let at = self.began.elapsed();
        let mut recording = self.locked();
        let Some(totals) = recording.totals.get_mut(connection).map(|[client, runtime]| match from {
            Side::Client => client,
            Side::Runtime => runtime,
        }) else {
            return;
        };
        totals.bytes = totals.bytes.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        totals.last = bytes.last().copied().or(totals.last);
        let room = Recording::KEPT.saturating_sub(totals.kept).min(bytes.len());
        totals.kept = totals.kept.saturating_add(room);
        let bytes = bytes.get(..room).unwrap_or_default();
        if !bytes.is_empty() {
            recording.events.push(Event { at, connection, seen: EventKind::Piece { from, bytes: bytes.to_vec(), fds } });
        }
    }

    /// A side ended the connection.
    pub fn ended(&self, connection: Option<usize>, by: Side, how: Ending) {
        if let Some(connection) = connection {
            let at = self.began.elapsed();
            self.locked().events.push(Event { at, connection, seen: EventKind::Ended { by, how } });
        }
    }

    /// What was taken down so far.
    pub fn recording(&self) -> Recording {
        self.locked().clone()
    }

    /// What was taken down so far; nothing of it stays.
    pub fn take(&self) -> Recording {
        core::mem::take(&mut *self.locked())
    }
}

impl Recording {
    /// What a side of a connection said, as far as it is kept.
    pub fn bytes(&self, connection: usize, of: Side) -> Vec<u8> {
        let mut all = vec![];
        for event in self.events.iter().filter(|event| event.connection == connection) {
            if let EventKind::Piece { from, bytes, .. } = &event.seen {
                if *from == of {
                    all.extend_from_slice(bytes);
                }
            }
        }
        all
    }

    /// How a side ended a connection, if it was the first to do so, or did so as well.
    pub fn ending(&self, connection: usize, of: Side) -> Option<Ending> {
        self.events.iter().filter(|event| event.connection == connection).find_map(|event| match event.seen {
            EventKind::Ended { by, how } if by == of => Some(how),
            _ => None,
        })
    }
}
