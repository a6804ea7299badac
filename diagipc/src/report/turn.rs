//! The turns of a conversation.

use std::fmt;

use dotnet_diagnostics_ipc::vectors::Value;
use dotnet_diagnostics_ipc::vectors::player::{Passage, TurnDirection};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The most bytes kept of a turn.
const KEPT: usize = 4096;

/// Bytes in one direction on a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Turn {
    /// Its place in the conversation, from 1 on, over all connections.
    pub turn: usize,
    /// The connection, by its name in the script or scenario.
    pub connection: String,
    /// The direction.
    pub direction: TurnDirection,
    /// The bytes in hexadecimal.
    pub hex: String,
    /// How many bytes there were, if more than are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// The number of descriptors; omitted if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fds: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Turn {
    /// The bytes of a turn, of which at most 4,096 are kept.
    /// [`Detail::conversation`](super::Detail::conversation) counts the turns.
    pub fn new(connection: &str, direction: TurnDirection, bytes: &[u8]) -> Self {
        Self::cut(connection, direction, bytes, 0, 0)
    }

    fn cut(
        connection: &str,
        direction: TurnDirection,
        bytes: &[u8],
        more: u64,
        fds: usize,
    ) -> Self {
        let kept = bytes.get(..KEPT).unwrap_or(bytes);
        let all = u64::try_from(bytes.len()).unwrap_or(u64::MAX).saturating_add(more);
        let length = (u64::try_from(kept.len()) != Ok(all)).then_some(all);
        Self {
            turn: 0,
            connection: connection.to_owned(),
            direction,
            hex: hex::encode(kept),
            length,
            fds,
        }
    }
}

impl From<&Passage> for Turn {
    fn from(passage: &Passage) -> Self {
        Self::cut(&passage.connection, passage.direction, &passage.bytes, passage.more, passage.fds)
    }
}

/// `sent      a: 444f…`: direction, connection, bytes.
impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.direction {
            TurnDirection::Sent => "sent",
            TurnDirection::Received => "received",
        };
        let Self { connection, hex, .. } = self;
        write!(
            f,
            "{direction:<8}  {connection}: {}",
            if hex.is_empty() { "nothing" } else { hex }
        )?;
        self.length.map_or(Ok(()), |length| write!(f, "… ({length} bytes)"))?;
        if self.fds == 0 { Ok(()) } else { write!(f, ", with {} descriptors", self.fds) }
    }
}

/// What was sent, and what was received, counted from 1 on.
pub(super) fn split(turns: impl IntoIterator<Item = Turn>) -> (Value, Value) {
    let counted =
        turns.into_iter().enumerate().map(|(index, turn)| Turn { turn: index + 1, ..turn });
    let (sent, received): (Vec<Turn>, Vec<Turn>) =
        counted.partition(|turn| turn.direction == TurnDirection::Sent);
    (json!(sent), json!(received))
}

/// Both in one order again, if they are turns.
pub(super) fn join(sent: &Value, seen: &Value) -> Option<Vec<Turn>> {
    let mut turns: Vec<Turn> = Vec::deserialize(sent).ok()?;
    turns.append(&mut Vec::deserialize(seen).ok()?);
    turns.sort_by_key(|turn| turn.turn);
    Some(turns)
}
