//! The bytes that two sides have sent, in order.

use alloc::{string::String, vec::Vec};

use super::Pasted;
use crate::Direction;
use dotnet_diagnostics_ipc::advertise::ADVERTISE_MAGIC;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{Header, MAGIC};

/// Bytes that one side sent.
pub(super) struct PastedTurn {
    /// Whether the first side sent them.
    pub(super) is_first: bool,
    pub(super) bytes: Vec<u8>,
    /// What is missing after them.
    pub(super) gap: Option<String>,
}

/// Appends bytes of a side.
pub(super) fn add(turns: &mut Vec<PastedTurn>, is_first: bool, bytes: &[u8]) {
    match turns.last_mut().filter(|last| last.is_first == is_first && last.gap.is_none()) {
        Some(last) => last.bytes.extend_from_slice(bytes),
        None => turns.push(PastedTurn { is_first, bytes: bytes.to_vec(), gap: None }),
    }
}

impl Pasted {
    /// Appends a conversation. Its messages show which side is the server.
    pub(super) fn append(&mut self, turns: Vec<PastedTurn>) {
        let server_is_first = turns
            .iter()
            .find_map(|turn| Some((sender(&turn.bytes)? == Direction::Server) == turn.is_first));
        for turn in turns {
            let sender = server_is_first.map(|server_is_first| {
                let is_server = turn.is_first == server_is_first;
                if is_server { Direction::Server } else { Direction::Client }
            });
            self.close(None);
            self.push(&turn.bytes, sender);
            self.close(turn.gap);
        }
    }
}

/// Returns who sends a message that begins like this.
fn sender(bytes: &[u8]) -> Option<Direction> {
    if bytes.starts_with(&ADVERTISE_MAGIC) {
        return Some(Direction::Server);
    }
    let is_reply = Header::decode(bytes).ok()?.command.set == Command::OK.set;
    Some(if is_reply { Direction::Server } else { Direction::Client })
}

/// Returns whether a message or an advertise begins here.
pub(super) fn is_message(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC) || bytes.starts_with(&ADVERTISE_MAGIC)
}
