//! The bytes on the connections of a script.

use alloc::{borrow::ToOwned as _, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

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

/// A conversation as it went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript(pub Vec<Passage>);

impl Transcript {
    /// The most bytes kept of a passage: more than a message can have.
    pub const KEPT: usize = 65_536;

    /// Appends bytes.
    pub fn push(&mut self, connection: &str, direction: TurnDirection, bytes: &[u8], fds: usize) {
        let last = self
            .0
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
            self.0.push(passage);
        }
    }
}

impl Passage {
    fn push(&mut self, bytes: &[u8], fds: usize) {
        let room = Transcript::KEPT.saturating_sub(self.bytes.len()).min(bytes.len());
        let (kept, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.bytes.extend_from_slice(kept);
        self.more = self.more.saturating_add(u64::try_from(rest.len()).unwrap_or(u64::MAX));
        self.fds = self.fds.saturating_add(fds);
    }
}
