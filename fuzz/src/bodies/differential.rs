//! This crate's decoder against an independent one.

use std::string::String;

use serde_json::json;

use super::canonical::choose;
use diagipc::codec;
use diagipc::corpus::Asked;
use dotnet_diagnostics_ipc::vectors::Value;

/// Any bytes as any type of the vectors, read by both: the same value, or a refusal in the same
/// layer. `oracle` answers a question of the line protocol.
pub fn differential(input: &[u8], oracle: &mut dyn FnMut(&str) -> String) {
    let Some((Asked { subject, command, direction }, wire)) = choose(input) else { return };
    let question = json!({
        "id": 1, "op": "decode", "type": subject.kind, "command": command, "direction": direction, "wire": hex::encode(wire),
    });
    let question = serde_json::to_string(&question).unwrap();
    let ours: Value = serde_json::from_str(&codec::answer(&question)).unwrap();
    let theirs: Value = serde_json::from_str(&oracle(&question)).unwrap();
    assert_eq!(ours, theirs, "{question}");
}
