//! The conversation on the connections of a proxy.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dotnet_diagnostics_ipc_vectors::Direction;
use dotnet_diagnostics_ipc_vectors::player::{Conversation, Event, EventKind, TurnDirection};
use dotnet_diagnostics_ipc_vectors::script::{Ending, FdKind};

/// A recorded conversation.
///
/// The first [`Recording::KEPT`] bytes of each side of a connection are kept, and the first
/// [`Recording::CONNECTIONS`] connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The conversation as the client had it: what the runtime did is
    /// [received](TurnDirection::Received).
    pub conversation: Conversation,
    /// How many connections were not kept.
    pub more_connections: u64,
}

impl Recording {
    /// How many bytes of a side of a connection are kept: a message, and as much of its
    /// continuation.
    pub const KEPT: usize = 131_072;
    /// How many connections are kept.
    pub const CONNECTIONS: usize = 256;
}

/// Receives each event when it happens, including what a [`Recording`] does not keep.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use diagipc::record::{Direction, Log, Witness};
/// use dotnet_diagnostics_ipc_vectors::player::Event;
///
/// #[derive(Debug, Default)]
/// struct Count(Mutex<usize>);
///
/// impl Witness for Count {
///     fn saw(&self, _: &Event, bytes: &[u8]) {
///         *self.0.lock().unwrap() += bytes.len();
///     }
/// }
///
/// let count = Arc::new(Count::default());
/// let log = Log::new(false).witnessed_by(count.clone());
/// log.piece(log.opened(), Direction::Client, &[0; 200_000], Vec::new());
/// assert_eq!(*count.0.lock().unwrap(), 200_000);
/// ```
pub trait Witness: fmt::Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Receives an event with all of its bytes. Connections are numbered from 0 in the order in
    /// which they were opened.
    fn saw(&self, event: &Event, bytes: &[u8]);
}

/// Records connections from several threads.
///
/// ```
/// use diagipc::record::{Log, Direction};
///
/// let log = Log::new(false);
/// let connection = log.opened();
/// log.piece(connection, Direction::Client, b"DOTNET_IPC_V1\0", Vec::new());
/// let recording = log.recording();
/// assert_eq!(recording.conversation.connections[connection.unwrap()].sent.len, 14);
/// ```
#[derive(Debug)]
pub struct Log {
    began: Instant,
    recording: Mutex<Recording>,
    witness: Option<Arc<dyn Witness>>,
    /// How many connections are kept.
    most: usize,
    /// Who opens them.
    opens: Direction,
}

impl Log {
    /// Starts now. `runtime_connects`: the runtime opens the connections.
    pub fn new(runtime_connects: bool) -> Self {
        Self {
            began: Instant::now(),
            recording: Mutex::default(),
            witness: None,
            most: Recording::CONNECTIONS,
            opens: if runtime_connects { Direction::Server } else { Direction::Client },
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

    /// Something that happens now.
    fn event(&self, connection: usize, by: Direction, did: EventKind) -> Event {
        let by = match by {
            Direction::Client => TurnDirection::Sent,
            Direction::Server => TurnDirection::Received,
        };
        Event { at: self.began.elapsed(), connection, by, did }
    }

    fn tell(&self, event: &Event, bytes: &[u8]) {
        if let Some(witness) = &self.witness {
            witness.saw(event, bytes);
        }
    }

    fn locked(&self) -> MutexGuard<'_, Recording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection was opened. `None` if there are too many already and there is no witness.
    pub fn opened(&self) -> Option<usize> {
        let mut recording = self.locked();
        let kept = recording.conversation.connections.len();
        let more = usize::try_from(recording.more_connections).unwrap_or(usize::MAX);
        let event = self.event(kept.saturating_add(more), self.opens, EventKind::Opened);
        self.tell(&event, &[]);
        if kept >= self.most {
            recording.more_connections += 1;
            return self.witness.is_some().then_some(event.connection);
        }
        Some(recording.conversation.opened(&name_of(kept), event.by, event.at))
    }

    /// A side sent bytes.
    pub fn piece(
        &self,
        connection: Option<usize>,
        from: Direction,
        bytes: &[u8],
        fds: Vec<FdKind>,
    ) {
        let Some(connection) = connection.filter(|_| !bytes.is_empty()) else { return };
        let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let event = self.event(connection, from, EventKind::Said { len, fds: fds.clone() });
        self.tell(&event, bytes);
        let Event { at, by, .. } = event;
        self.locked().conversation.said(connection, by, bytes, fds, at, Recording::KEPT);
    }

    /// A side ended the connection.
    pub fn ended(&self, connection: Option<usize>, by: Direction, how: Ending) {
        if let Some(connection) = connection {
            let event = self.event(connection, by, EventKind::Ended(how));
            self.tell(&event, &[]);
            self.locked().conversation.ended(connection, event.by, how, event.at);
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

/// Returns the name of a connection in a script: `a` to `z`, then `c26`.
fn name_of(connection: usize) -> String {
    let letter = u8::try_from(connection).ok().and_then(|nth| b'a'.checked_add(nth));
    match letter.filter(u8::is_ascii_lowercase) {
        Some(letter) => char::from(letter).to_string(),
        None => format!("c{connection}"),
    }
}
