//! The line protocol of adapters, and this crate's own codec as an adapter.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc_vectors::{
    Decoded, Direction, EncodeFailure, Type, TypedCodec, Value, VectorFault,
};
use serde::Deserialize;
use serde_json::{Map, json};

/// The layers allowed in an answer.
pub(super) const LAYERS: [&str; 5] = ["transport", "header", "payload", "limits", "reply"];

/// An adapter's answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The number of the question.
    pub id: Option<u64>,
    /// The answer itself.
    pub kind: AnswerKind,
    /// The key `reason`: why the adapter refuses or cannot be asked, as text for the report.
    pub reason: Option<String>,
    /// The whole answer, unchanged.
    pub whole: Value,
}

/// The `result` of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerKind {
    /// `ok`: success.
    Ok {
        /// The key `value` of a decoding. An absent value differs from null, an absent string.
        value: Option<Value>,
        /// The key `wire` of an encoding.
        wire: Option<Vec<u8>>,
        /// The key `canonical`, if given.
        canonical: Option<bool>,
    },
    /// `error`: the bytes or the value were refused.
    Error {
        /// The key `layer`, if given.
        layer: Option<String>,
        /// The key `value`: what the bytes mean if only the limits refuse them.
        value: Option<Value>,
    },
    /// `taken`: the bytes were accepted, but the library does not show what they mean.
    Taken,
    /// `unsupported`: the codec cannot be asked this question.
    Unsupported,
}

impl Answer {
    /// Parses a line.
    ///
    /// # Errors
    /// Returns what violates the line protocol.
    pub fn parse(line: &str) -> Result<Self, String> {
        let whole: Value =
            serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
        let Some(object) = whole.as_object() else { return Err("not a JSON object".to_owned()) };
        let kind = match object.get("result").and_then(Value::as_str) {
            Some("ok") => AnswerKind::Ok {
                value: object.get("value").cloned(),
                wire: text(object, "wire")?
                    .map(hex::decode)
                    .transpose()
                    .map_err(|error| format!("`wire`: {error}"))?,
                canonical: match object.get("canonical") {
                    None | Some(Value::Null) => None,
                    Some(Value::Bool(canonical)) => Some(*canonical),
                    Some(_) => return Err("`canonical` is not true or false".to_owned()),
                },
            },
            Some("error") => AnswerKind::Error {
                layer: text(object, "layer")?.map(str::to_owned),
                value: object.get("value").cloned(),
            },
            Some("taken") => AnswerKind::Taken,
            Some("unsupported") => AnswerKind::Unsupported,
            _ => return Err("`result` is not ok, taken, error or unsupported".to_owned()),
        };
        let reason = object.get("reason").and_then(Value::as_str).map(str::to_owned);
        Ok(Self { id: object.get("id").and_then(Value::as_u64), kind, reason, whole })
    }
}

/// Returns a string. Null counts as absent.
fn text<'o>(object: &'o Map<String, Value>, key: &str) -> Result<Option<&'o str>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` is not a string")),
    }
}

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
        // The id of the question is unknown.
        Err(_) => return json!({ "id": null, "result": "unsupported" }).to_string(),
    };
    let mut answer = answer_to(&question).unwrap_or_else(|| json!({ "result": "unsupported" }));
    if let Some(answer) = answer.as_object_mut() {
        answer.insert("id".into(), question.id);
    }
    answer.to_string()
}

/// Returns the answer, or `None` if this codec does not support the question.
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

/// Returns the layer that refuses a message because its header is not the requested one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_outside_line_protocol_is_refused() {
        for (line, text) in [
            ("ok", "not JSON: "),
            ("[]", "not a JSON object"),
            (r#"{ "id": 1 }"#, "`result` is not ok, taken, error or unsupported"),
            (r#"{ "result": "ok", "canonical": 1 }"#, "`canonical` is not true or false"),
            (r#"{ "result": "ok", "wire": 0 }"#, "`wire` is not a string"),
            (r#"{ "result": "ok", "wire": "0" }"#, "`wire`: "),
            (r#"{ "result": "error", "layer": false }"#, "`layer` is not a string"),
        ] {
            assert!(Answer::parse(line).unwrap_err().starts_with(text), "{line}");
        }
    }

    #[test]
    fn answer_null_equals_absent_except_value() {
        let null = r#"{ "result": "ok", "value": null, "wire": null, "canonical": null }"#;
        for (line, value) in [(null, Some(Value::Null)), (r#"{ "result": "ok" }"#, None)] {
            let kind = AnswerKind::Ok { value, wire: None, canonical: None };
            assert_eq!(Answer::parse(line).unwrap().kind, kind);
        }
    }
}
