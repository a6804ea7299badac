//! Compares this crate's codec with the C header generated from its grammar.

use serde_json::{Map, json};

use diagipc::codec;
use diagipc::embedded::corpus::{Asked, asked_of_c_header};
use dotnet_diagnostics_ipc_vectors::{Type, Value};

/// Reads any bytes as any type of `c/dotnet_ipc.h`. Both codecs read the same value, or refuse in
/// the same layer, and both write a value as the same bytes. `header` answers a question of the
/// line protocol.
pub fn c_header(input: &[u8], header: &mut dyn FnMut(&str) -> String) {
    let asked: Vec<&Asked> = asked_of_c_header().collect();
    let Some((which, wire)) = input.split_first() else { return };
    let Asked { subject, command, direction } = asked[usize::from(*which) % asked.len()];
    let question = json!({
        "id": 1, "op": "decode", "type": subject.kind, "command": command, "direction": direction, "wire": hex::encode(wire),
    });
    let mut both = |question: &Value| {
        let question = serde_json::to_string(question).unwrap();
        let mut ours: Map<String, Value> = serde_json::from_str(&codec::answer(&question)).unwrap();
        // The header does not report whether bytes are canonical.
        ours.remove("canonical");
        let theirs: Map<String, Value> = serde_json::from_str(&header(&question)).unwrap();
        assert_eq!(ours, theirs, "{question}");
        ours
    };
    let read = both(&question);
    // Types that only clients read are not written.
    let is_message = !matches!(subject.kind, Type::Environment | Type::StreamStart);
    if let (true, Some(value)) = (is_message, read.get("value")) {
        both(&json!({
            "id": 1, "op": "encode", "type": subject.kind, "command": command, "direction": direction, "value": value,
        }));
    }
}
