//! The turns of a conversation.

use std::fmt;

use dotnet_diagnostics_ipc_vectors::Value;
use dotnet_diagnostics_ipc_vectors::player::{Conversation, EventKind, TurnDirection};
use serde::{Deserialize, Serialize};

/// The maximum number of bytes kept of a turn.
const MAX_KEPT_BYTES: usize = 4096;

/// Bytes in one direction on a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Turn {
    /// The position in the conversation, from 1, over all connections.
    pub turn: usize,
    /// The name of the connection in the script or scenario.
    pub connection: String,
    /// The direction.
    pub direction: TurnDirection,
    /// The bytes, which are hexadecimal in JSON.
    #[serde(rename = "hex", with = "in_hex")]
    pub bytes: Vec<u8>,
    /// The number of bytes, if there were more than are kept.
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
    /// Returns a turn with these bytes, of which at most 4,096 are kept.
    /// [`Detail::conversation`](super::Detail::conversation) sets its number.
    pub fn new(connection: &str, direction: TurnDirection, bytes: &[u8]) -> Self {
        let connection = connection.to_owned();
        let mut turn =
            Self { turn: 0, connection, direction, bytes: Vec::new(), length: None, fds: 0 };
        turn.extend(bytes, bytes.len() as u64);
        turn
    }

    /// Returns the turns of a conversation: consecutive bytes in one direction of a connection.
    pub fn all(conversation: &Conversation) -> Vec<Self> {
        let mut turns: Vec<Self> = Vec::new();
        for (event, bytes) in conversation.passed() {
            let EventKind::Said { len, fds, .. } = &event.did else { continue };
            let Some(connection) = conversation.connections.get(event.connection) else { continue };
            let name = connection.name.as_str();
            let is_same = |turn: &Self| turn.connection == name && turn.direction == event.by;
            if !turns.last().is_some_and(is_same) {
                turns.push(Self::new(name, event.by, &[]));
            }
            if let Some(turn) = turns.last_mut() {
                turn.extend(bytes, *len);
                turn.fds += fds.len();
            }
        }
        turns
    }

    /// Adds bytes, of which there were `len` in total.
    fn extend(&mut self, bytes: &[u8], len: u64) {
        let all = self.length.unwrap_or(self.bytes.len() as u64) + len;
        let room = MAX_KEPT_BYTES.saturating_sub(self.bytes.len()).min(bytes.len());
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or_default());
        self.length = (self.bytes.len() as u64 != all).then_some(all);
    }
}

/// Displays direction, connection and bytes, such as `sent      a: 444f…`.
impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.direction {
            TurnDirection::Sent => "sent",
            TurnDirection::Received => "received",
        };
        let Self { connection, bytes, .. } = self;
        let hex = if bytes.is_empty() { "nothing".to_owned() } else { hex::encode(bytes) };
        write!(f, "{direction:<8}  {connection}: {hex}")?;
        self.length.map_or(Ok(()), |length| write!(f, "… ({length} bytes)"))?;
        if self.fds == 0 { Ok(()) } else { write!(f, ", with {} descriptors", self.fds) }
    }
}

mod in_hex {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        hex::decode(String::deserialize(from)?).map_err(de::Error::custom)
    }
}

/// One side of a case: its turns in a conversation, or a JSON value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Said {
    /// The turns in one direction of a conversation.
    Turns(Vec<Turn>),
    /// The question of a codec, or its answer.
    Json(Value),
}

impl Said {
    /// Returns the text of its JSON.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Splits turns into those sent and those received, and numbers them from 1.
pub(super) fn split(turns: impl IntoIterator<Item = Turn>) -> (Said, Said) {
    let counted =
        turns.into_iter().enumerate().map(|(index, turn)| Turn { turn: index + 1, ..turn });
    let (sent, received) = counted.partition(|turn| turn.direction == TurnDirection::Sent);
    (Said::Turns(sent), Said::Turns(received))
}

/// Merges both sides in the original order, if they are turns.
pub(super) fn join<'d>(sent: &'d Said, seen: &'d Said) -> Option<Vec<&'d Turn>> {
    let (Said::Turns(sent), Said::Turns(seen)) = (sent, seen) else { return None };
    let mut turns: Vec<&Turn> = sent.iter().chain(seen).collect();
    turns.sort_by_key(|turn| turn.turn);
    Some(turns)
}
