//! The bytes and events of a conversation.

use alloc::{borrow::ToOwned as _, string::String, vec::Vec};
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::nettrace::Stream;
use crate::script::{Captures, Ending, FdKind};
use dotnet_diagnostics_ipc::exchange::End;

/// The sender of bytes, as seen from the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TurnDirection {
    /// The player sent them.
    Sent,
    /// The side under test sent them.
    Received,
}

/// The bytes in one direction of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// The number of bytes.
    pub len: u64,
    /// The first bytes.
    pub first: Vec<u8>,
    /// The last bytes; at least [`Flow::LAST`] if there are that many.
    pub last: Vec<u8>,
    /// The end of the bytes, if it was observed. Silence is [`End::TimedOut`].
    pub end: Option<End>,
    /// A reader of the bytes, if they are the stream of a session.
    pub stream: Option<Stream>,
}

impl Flow {
    /// The number of last bytes that are kept.
    pub const LAST: usize = 4096;

    /// Adds bytes, and keeps the first ones until there are `most`.
    pub fn push(&mut self, bytes: &[u8], most: usize) {
        self.len = self.len.saturating_add(len(bytes));
        if let Some(stream) = &mut self.stream {
            stream.feed(bytes);
        }
        let room = most.saturating_sub(self.first.len()).min(bytes.len());
        self.first.extend_from_slice(bytes.get(..room).unwrap_or_default());
        self.last.extend_from_slice(bytes);
        let surplus = self.last.len().saturating_sub(Self::LAST);
        self.last.drain(..surplus);
    }
}

/// A connection of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// The name of the connection. A later connection may have the same name.
    pub name: String,
    /// The bytes sent. They have an end once the player has closed the connection.
    pub sent: Flow,
    /// The bytes received, except those read in the background.
    pub came: Flow,
}

/// An action of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The side opened the connection.
    Opened,
    /// The side sent bytes.
    Said {
        /// The number of bytes.
        len: u64,
        /// The files of the descriptors on the first byte.
        fds: Vec<FdKind>,
    },
    /// The side closed the connection, or its direction of it.
    Ended(Ending),
}

/// An event on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The time of the event, since an arbitrary start.
    pub at: Duration,
    /// The connection, as an index in [`Conversation::connections`].
    pub connection: usize,
    /// The side that acted.
    pub by: TurnDirection,
    /// The action.
    pub did: EventKind,
}

/// A conversation on all of its connections, as recorded by one of its sides.
///
/// ```
/// use std::time::Duration;
/// use dotnet_diagnostics_ipc_vectors::player::{Conversation, EventKind, TurnDirection};
///
/// let (mut conversation, now) = (Conversation::default(), Duration::ZERO);
/// let a = conversation.opened("a", TurnDirection::Sent, now);
/// conversation.said(a, TurnDirection::Sent, b"DOTNET_IPC_V1\0", Vec::new(), now, Conversation::KEPT);
/// assert_eq!(conversation.connections[a].sent.len, 14);
/// let (event, bytes) = conversation.passed().last().unwrap();
/// assert_eq!(event.did, EventKind::Said { len: 14, fds: Vec::new() });
/// assert_eq!(bytes, b"DOTNET_IPC_V1\0");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// The connections in the order in which they were opened.
    pub connections: Vec<Connection>,
    /// The events on the connections, in order.
    pub events: Vec<Event>,
    /// The captured bytes.
    pub captures: Captures,
}

impl Conversation {
    /// The maximum number of bytes kept in each direction, which exceeds any environment block.
    /// Linux limits an environment to 6 MiB, which is 12 MiB in UTF-16.
    pub const KEPT: usize = 16 << 20;

    /// Returns the events in order, with their bytes as far as they were kept.
    pub fn passed(&self) -> impl Iterator<Item = (&Event, &[u8])> {
        let flows = self.connections.iter().map(|one| [&one.sent.first[..], &one.came.first[..]]);
        let mut rests: Vec<[&[u8]; 2]> = flows.collect();
        self.events.iter().map(move |event| {
            let (EventKind::Said { len, .. }, Some([sent, came])) =
                (&event.did, rests.get_mut(event.connection))
            else {
                return (event, &[][..]);
            };
            let rest = if event.by == TurnDirection::Sent { sent } else { came };
            let len = usize::try_from(*len).unwrap_or(usize::MAX).min(rest.len());
            let (bytes, later) = rest.split_at_checked(len).unwrap_or_default();
            *rest = later;
            (event, bytes)
        })
    }

    /// Returns whether the other side ended a connection.
    pub fn has_end(&self) -> bool {
        self.connections.iter().any(|one| one.came.end.is_some_and(|end| end != End::TimedOut))
    }

    /// Returns whether anything was sent or received.
    pub fn has_bytes(&self) -> bool {
        self.has_received() || self.connections.iter().any(|one| one.sent.len > 0)
    }

    /// Returns whether anything was received.
    pub fn has_received(&self) -> bool {
        self.connections.iter().any(|one| one.came.len > 0)
    }

    /// Records that a side opens a connection. Returns the number of the connection.
    pub fn opened(&mut self, name: &str, by: TurnDirection, at: Duration) -> usize {
        let connection = self.connections.len();
        self.connections.push(Connection { name: name.to_owned(), ..Connection::default() });
        self.events.push(Event { at, connection, by, did: EventKind::Opened });
        connection
    }

    /// Records that a side sends bytes, and keeps the first ones until its direction has `most`.
    /// Bytes of which none is kept belong to the previous event.
    pub fn said(
        &mut self,
        connection: usize,
        by: TurnDirection,
        bytes: &[u8],
        fds: Vec<FdKind>,
        at: Duration,
        most: usize,
    ) {
        let Some(flow) = self.flow(connection, by) else { return };
        let begin = flow.first.len();
        flow.push(bytes, most);
        let len = len(bytes);
        if begin < most {
            self.events.push(Event { at, connection, by, did: EventKind::Said { len, fds } });
            return;
        }
        let is_before = |event: &&mut Event| event.connection == connection && event.by == by;
        let before = self.events.iter_mut().rev().filter(is_before);
        let all = before.map(|event| &mut event.did).find_map(|did| match did {
            EventKind::Said { len, .. } => Some(len),
            _ => None,
        });
        if let Some(all) = all {
            *all = all.saturating_add(len);
        }
    }

    /// Records that a side closes a connection, or its direction of it.
    pub fn ended(&mut self, connection: usize, by: TurnDirection, how: Ending, at: Duration) {
        let end = match how {
            Ending::Reset => Some(End::Reset),
            Ending::HalfClose if by == TurnDirection::Sent => None,
            Ending::HalfClose | Ending::Close => Some(End::Closed),
        };
        let Some(flow) = self.flow(connection, by) else { return };
        flow.end = end.or(flow.end);
        self.events.push(Event { at, connection, by, did: EventKind::Ended(how) });
    }

    /// Removes this connection from the conversation.
    pub(super) fn forget(&mut self, connection: usize) {
        if connection < self.connections.len() {
            self.connections.remove(connection);
        }
        self.events.retain(|event| event.connection != connection);
        let later = self.events.iter_mut().filter(|event| event.connection > connection);
        later.for_each(|event| event.connection = event.connection.saturating_sub(1));
    }

    /// Returns the bytes of one side.
    pub(super) fn flow(&mut self, connection: usize, of: TurnDirection) -> Option<&mut Flow> {
        let connection = self.connections.get_mut(connection)?;
        Some(match of {
            TurnDirection::Sent => &mut connection.sent,
            TurnDirection::Received => &mut connection.came,
        })
    }
}

fn len(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
