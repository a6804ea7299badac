//! What passed on the connections of a script.

use alloc::{
    borrow::ToOwned as _,
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};

use serde::{Deserialize, Serialize};

use crate::exchange::End;
use crate::vectors::script::Captures;

/// The sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TurnDirection {
    /// The player.
    Sent,
    /// The side under test.
    Received,
}

/// Consecutive bytes in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The connection, by its name in the script.
    pub connection: String,
    /// The direction.
    pub direction: TurnDirection,
    /// The first of them.
    pub bytes: Vec<u8>,
    /// How many more there were, not kept.
    pub more: u64,
    /// The number of descriptors.
    pub fds: usize,
}

/// A conversation as it went, on all of its connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// The bytes, in order.
    pub passages: Vec<Passage>,
    /// What was captured.
    pub captures: Captures,
    /// Why no more arrived on a connection.
    ends: BTreeMap<String, End>,
    /// The connections that the player closed or reset.
    closed: BTreeSet<String>,
}

impl Conversation {
    /// The most bytes kept of a passage: more than an environment can have. That of a process on Linux
    /// has at most 6 MiB, of which UTF-16 makes twice as many.
    pub const KEPT: usize = 16 << 20;

    /// Why no more arrived on a connection, if that was seen: silence is [`End::TimedOut`].
    pub fn end(&self, on: &str) -> Option<End> {
        self.ends.get(on).copied()
    }

    /// Whether any connection has ended.
    pub fn has_end(&self) -> bool {
        self.ends.values().any(|end| *end != End::TimedOut)
    }

    /// Whether the player closed or reset that connection.
    pub fn is_closed(&self, on: &str) -> bool {
        self.closed.contains(on)
    }

    /// Whether anything was received.
    pub fn has_received(&self) -> bool {
        self.passages.iter().any(|passage| passage.direction == TurnDirection::Received)
    }

    pub(super) fn ended(&mut self, on: &str, end: End) {
        self.ends.insert(on.to_owned(), end);
    }

    pub(super) fn closed(&mut self, on: &str) {
        self.closed.insert(on.to_owned());
    }

    pub(super) fn push(
        &mut self,
        connection: &str,
        direction: TurnDirection,
        bytes: &[u8],
        fds: usize,
    ) {
        let last = self
            .passages
            .last_mut()
            .filter(|last| last.connection == connection && last.direction == direction);
        if let Some(last) = last {
            last.push(bytes, fds);
        } else {
            let mut passage = Passage {
                connection: connection.to_owned(),
                direction,
                bytes: Vec::new(),
                more: 0,
                fds: 0,
            };
            passage.push(bytes, fds);
            self.passages.push(passage);
        }
    }
}

impl Passage {
    fn push(&mut self, bytes: &[u8], fds: usize) {
        let room = Conversation::KEPT.saturating_sub(self.bytes.len()).min(bytes.len());
        let (kept, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.bytes.extend_from_slice(kept);
        self.more = self.more.saturating_add(u64::try_from(rest.len()).unwrap_or(u64::MAX));
        self.fds = self.fds.saturating_add(fds);
    }
}
