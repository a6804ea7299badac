//! The events on the connections of a proxy.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::vectors::Direction;
use dotnet_diagnostics_ipc::vectors::script::{Ending, FdKind};

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The connection was opened.
    Opened,
    /// Bytes, as returned by one read.
    Piece {
        /// The sender.
        from: Direction,
        /// The bytes.
        bytes: Vec<u8>,
        /// The files of the descriptors on the first byte.
        fds: Vec<FdKind>,
    },
    /// A side ended the connection, or its sending direction.
    Ended {
        /// The side.
        by: Direction,
        /// How.
        how: Ending,
    },
}

/// An event on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The time since the start of the recording.
    pub at: Duration,
    /// The connection's number, from 0.
    pub connection: usize,
    /// The event.
    pub seen: EventKind,
}

/// The totals of one side of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many bytes.
    pub bytes: u64,
    /// How many of them, from the first on, are in the events.
    pub kept: usize,
    /// The very last one.
    pub last: Option<u8>,
}

/// A recorded conversation.
///
/// The first [`Recording::KEPT`] bytes of each side of a connection are kept, and the first
/// [`Recording::CONNECTIONS`] connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The events in order.
    pub events: Vec<Event>,
    /// The totals of client and runtime, for each connection.
    pub totals: Vec<[Totals; 2]>,
    /// How many connections were not kept.
    pub more_connections: u64,
    /// Whether the runtime opens the connections: it has a diagnostic port.
    pub runtime_connects: bool,
}

impl Recording {
    /// How many bytes of a side of a connection are kept: a message, and as much of its
    /// continuation.
    pub const KEPT: usize = 131_072;
    /// How many connections are kept.
    pub const CONNECTIONS: usize = 256;
}

/// Receives each event when it happens, complete, including what a [`Recording`] does not keep.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use diagipc::record::{Event, EventKind, Log, Direction, Witness};
///
/// #[derive(Debug, Default)]
/// struct Count(Mutex<usize>);
///
/// impl Witness for Count {
///     fn saw(&self, event: &Event) {
///         if let EventKind::Piece { bytes, .. } = &event.seen {
///             *self.0.lock().unwrap() += bytes.len();
///         }
///     }
/// }
///
/// let count = Arc::new(Count::default());
/// let log = Log::new(false).witnessed_by(count.clone());
/// log.piece(log.opened(), Direction::Client, &[0; 200_000], Vec::new());
/// assert_eq!(*count.0.lock().unwrap(), 200_000);
/// ```
pub trait Witness: fmt::Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Receives an event. Connections are numbered from 0 in the order in which they were opened.
    fn saw(&self, event: &Event);
}

/// Records connections from several threads.
///
/// ```
/// use diagipc::record::{Log, Direction};
///
/// let log = Log::new(false);
/// let connection = log.opened();
/// log.piece(connection, Direction::Client, b"DOTNET_IPC_V1\0", Vec::new());
/// assert_eq!(log.recording().totals[connection.unwrap()][0].bytes, 14);
/// ```
#[derive(Debug)]
pub struct Log {
    began: Instant,
    recording: Mutex<Recording>,
    witness: Option<Arc<dyn Witness>>,
    /// How many connections are kept.
    most: usize,
}

impl Log {
    /// Starts now. `runtime_connects`: the runtime opens the connections.
    pub fn new(runtime_connects: bool) -> Self {
        let recording = Recording { runtime_connects, ..Recording::default() };
        Self {
            began: Instant::now(),
            recording: Mutex::new(recording),
            witness: None,
            most: Recording::CONNECTIONS,
        }
    }

    /// Passes every event from now on to a witness.
    #[must_use]
    pub fn witnessed_by(mut self, witness: Arc<dyn Witness>) -> Self {
        self.witness = Some(witness);
        self
    }

    /// Keeps nothing: only the witness receives events.
    #[cfg(unix)]
    pub(super) fn without_recording(mut self) -> Self {
        self.most = 0;
        self
    }

    fn tell(&self, event: &Event) {
        if let Some(witness) = &self.witness {
            witness.saw(event);
        }
    }

    fn locked(&self) -> MutexGuard<'_, Recording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection was opened. `None` if there are too many already and there is no witness.
    pub fn opened(&self) -> Option<usize> {
        let mut recording = self.locked();
        let connection = recording.totals.len();
        if connection >= self.most {
            let more = usize::try_from(recording.more_connections).unwrap_or(usize::MAX);
            recording.more_connections += 1;
            let connection = connection.saturating_add(more);
            self.tell(&Event { at: self.began.elapsed(), connection, seen: EventKind::Opened });
            return self.witness.is_some().then_some(connection);
        }
        recording.totals.push(Default::default());
        let event = Event { at: self.began.elapsed(), connection, seen: EventKind::Opened };
        self.tell(&event);
        recording.events.push(event);
        Some(connection)
    }

    /// A side sent bytes.
    pub fn piece(
        &self,
        connection: Option<usize>,
        from: Direction,
        bytes: &[u8],
        fds: Vec<FdKind>,
    ) {
        let Some(connection) = connection else { return };
        let at = self.began.elapsed();
        if self.witness.is_some() && !bytes.is_empty() {
            self.tell(&Event {
                at,
                connection,
                seen: EventKind::Piece { from, bytes: bytes.to_vec(), fds: fds.clone() },
            });
        }
        let mut recording = self.locked();
        let Some(totals) =
            recording.totals.get_mut(connection).map(|[client, runtime]| match from {
                Direction::Client => client,
                Direction::Server => runtime,
            })
        else {
            return;
        };
        totals.bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        totals.last = bytes.last().copied().or(totals.last);
        let room = Recording::KEPT.saturating_sub(totals.kept).min(bytes.len());
        totals.kept += room;
        let bytes = bytes.get(..room).unwrap_or_default();
        if !bytes.is_empty() {
            recording.events.push(Event {
                at,
                connection,
                seen: EventKind::Piece { from, bytes: bytes.to_vec(), fds },
            });
        }
    }

    /// A side ended the connection.
    pub fn ended(&self, connection: Option<usize>, by: Direction, how: Ending) {
        if let Some(connection) = connection {
            let event =
                Event { at: self.began.elapsed(), connection, seen: EventKind::Ended { by, how } };
            self.tell(&event);
            let mut recording = self.locked();
            if connection < recording.totals.len() {
                recording.events.push(event);
            }
        }
    }

    /// The recording so far.
    pub fn recording(&self) -> Recording {
        self.locked().clone()
    }

    /// The recording so far, which is removed here.
    pub fn take(&self) -> Recording {
        std::mem::take(&mut *self.locked())
    }
}
