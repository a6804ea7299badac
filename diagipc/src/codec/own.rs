//! This crate's own codec as an adapter.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc_vectors::{
    Decoded, Direction, EncodeFailure, Type, TypedCodec, Value, VectorFault,
};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    id: Value,
    op: String,
    #[serde(rename = "type")]
    kind: String,
    command: Option<String>,
    direction: Option<Direction>,
    wire: Option<String>,
    #[serde(default)]
    value: Value,
}

/// Answers a line of the line protocol with this crate's codec.
pub fn answer(line: &str) -> String {
    let question: Question = match serde_json::from_str(line) {
        Ok(question) => question,
        // It is unknown which question it was.
        Err(_) => return json!({ "id": null, "result": "unsupported" }).to_string(),
    };
    let mut answer = answer_to(&question).unwrap_or_else(|| json!({ "result": "unsupported" }));
    if let Some(answer) = answer.as_object_mut() {
        answer.insert("id".into(), question.id);
    }
    answer.to_string()
}

/// `None` for what this codec does not have.
fn answer_to(question: &Question) -> Option<Value> {
    let kind = serde_json::from_value(question.kind.as_str().into()).ok()?;
    let command = match &question.command {
        Some(name) => Some(name.parse::<Command>().ok()?),
        None => None,
    };
    let subject =
        TypedCodec { kind, command, from_server: question.direction == Some(Direction::Server) };
    match question.op.as_str() {
        "decode" => Some(decode(subject, &hex::decode(question.wire.as_ref()?).ok()?)),
        "encode" => Some(match subject.encode(&question.value) {
            Ok(wire) => json!({ "result": "ok", "wire": hex::encode(wire) }),
            Err(failure) => json!({ "result": "error", "layer": layer_of(&failure) }),
        }),
        _ => None,
    }
}

fn decode(subject: TypedCodec, wire: &[u8]) -> Value {
    let decoded = subject.decode(wire);
    // The parts before the payload are checked first, then whether it is the requested message.
    let is_framed = decoded.as_ref().map_or_else(
        |refusal| matches!(refusal.fault.layer.as_str(), "payload" | "limits"),
        |_| true,
    );
    if let (true, Some(layer)) = (is_framed, other_message(subject, wire)) {
        return json!({ "result": "error", "layer": layer });
    }
    match decoded {
        Err(refusal) => json!({ "result": "error", "layer": refusal.fault.layer }),
        Ok(Decoded { value, limit: Some(limit), .. }) => {
            json!({ "result": "error", "layer": VectorFault::from(limit).layer, "value": value })
        }
        Ok(Decoded { value, canonical, .. }) => {
            json!({ "result": "ok", "value": value, "canonical": canonical })
        }
    }
}

/// The layer that refuses if the header of `wire` has another message than requested.
fn other_message(subject: TypedCodec, wire: &[u8]) -> Option<&'static str> {
    let command = Header::decode(wire).ok()?.command;
    let (is_it, layer) = match subject.kind {
        Type::Request | Type::LegacyRequest => (Some(command) == subject.command, "header"),
        Type::Unknown => (command.name().is_none() || command.set == Command::OK.set, "header"),
        Type::Reply => (command == Command::OK, "reply"),
        Type::Error => (command == Command::ERROR, "reply"),
        _ => return None,
    };
    (!is_it).then_some(layer)
}

fn layer_of(failure: &EncodeFailure) -> String {
    failure.fault().map_or_else(|| "payload".into(), |fault| fault.layer)
}
