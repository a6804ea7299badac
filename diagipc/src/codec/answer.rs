//! An answer of the line protocol.

use dotnet_diagnostics_ipc_vectors::Value;
use serde_json::Map;

/// The layers allowed in an answer.
pub(super) const LAYERS: [&str; 5] = ["transport", "header", "payload", "limits", "reply"];

/// An adapter's answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The number of the question.
    pub id: Option<u64>,
    /// The answer itself.
    pub said: AnswerKind,
    /// `reason`: why it refuses, or cannot be asked, in words for the report.
    pub reason: Option<String>,
    /// All of it, unchanged.
    pub whole: Value,
}

/// The `result` of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerKind {
    /// `ok`.
    Ok {
        /// `value`: of a decoding. Absent differs from null, which is the value of a string.
        value: Option<Value>,
        /// `wire`: of an encoding.
        wire: Option<Vec<u8>>,
        /// `canonical`, if given.
        canonical: Option<bool>,
    },
    /// `error`: bytes, or a value, refused.
    Error {
        /// `layer`, if given.
        layer: Option<String>,
        /// `value`: what the bytes mean if only the limits refuse them.
        value: Option<Value>,
    },
    /// `taken`: the bytes were accepted, but the library does not show what they mean.
    Taken,
    /// `unsupported`: the codec cannot be asked this question.
    Unsupported,
}

impl Answer {
    /// Reads a line.
    ///
    /// # Errors
    /// What in it violates the line protocol.
    pub fn parse(line: &str) -> Result<Self, String> {
        let whole: Value =
            serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
        let Some(object) = whole.as_object() else { return Err("not a JSON object".to_owned()) };
        let said = match object.get("result").and_then(Value::as_str) {
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
        Ok(Self { id: object.get("id").and_then(Value::as_u64), said, reason, whole })
    }
}

/// A text; null counts as absent.
fn text<'o>(object: &'o Map<String, Value>, key: &str) -> Result<Option<&'o str>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` is not a string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_outside_line_protocol_is_refused() {
        let refused = |line: &str| Answer::parse(line).unwrap_err();
        assert!(refused("ok").starts_with("not JSON: "));
        assert_eq!(refused("[]"), "not a JSON object");
        assert_eq!(refused(r#"{ "id": 1 }"#), "`result` is not ok, taken, error or unsupported");
        assert_eq!(
            refused(r#"{ "result": "ok", "canonical": 1 }"#),
            "`canonical` is not true or false"
        );
        assert_eq!(refused(r#"{ "result": "ok", "wire": 0 }"#), "`wire` is not a string");
        assert!(refused(r#"{ "result": "ok", "wire": "0" }"#).starts_with("`wire`: "));
        assert_eq!(refused(r#"{ "result": "error", "layer": false }"#), "`layer` is not a string");
    }

    #[test]
    fn answer_null_equals_absent_except_value() {
        let of = |line: &str| Answer::parse(line).unwrap().said;
        let said = of(r#"{ "result": "ok", "value": null, "wire": null, "canonical": null }"#);
        assert_eq!(said, AnswerKind::Ok { value: Some(Value::Null), wire: None, canonical: None });
        assert_eq!(
            of(r#"{ "result": "ok" }"#),
            AnswerKind::Ok { value: None, wire: None, canonical: None }
        );
        assert_eq!(
            of(r#"{ "result": "error", "layer": null }"#),
            AnswerKind::Error { layer: None, value: None }
        );
    }
}
