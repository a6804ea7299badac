//! The answers for the page.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc_vectors::explain::{Item, ItemKind, MOST_IN_FIELDS, Splitter};
use dotnet_diagnostics_ipc_vectors::pasted::{self, Pasted, PastedForm};
use dotnet_diagnostics_ipc_vectors::{Annotation, Direction, Type, TypedCodec};
use serde::Deserialize;
use serde_json::{Value, json};

/// The maximum number of bytes that are explained.
pub const MOST_BYTES: usize = MOST_IN_FIELDS;
/// The maximum length of a text: an array takes six characters for a byte.
pub const MOST_TEXT: usize = 8 * MOST_BYTES;
/// The number of parts that is enough for an answer; the next answer has further items.
pub const MOST_PARTS: usize = 1000;
/// The maximum number of bytes of an item that is shown as JSON.
const MOST_AS_JSON: usize = 0xffff;

/// How to explain the bytes; an empty text means unknown.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExplainOptions {
    /// `client` or `server`.
    pub from: String,
    /// The request that replies answer.
    pub request: String,
    /// The type of all bytes, if they are not messages.
    pub kind: String,
    /// How many items to leave out, because they are shown already.
    pub skip: usize,
}

/// Returns the bytes of a file that is not text, which may be a capture.
pub fn take(file: Vec<u8>) -> (Pasted, Value) {
    if !pasted::is_capture(&file) {
        return (file.into(), json!({}));
    }
    match pasted::read_capture(&file) {
        Ok(read) => said(read, "a capture"),
        Err(error) => (Pasted::default(), json!({ "error": error })),
    }
}

/// Returns the bytes of a text, and the form in which it was read or why it was not read.
pub fn read(text: &[u8], form: usize) -> (Pasted, Value) {
    let refused = |message: String| (Pasted::default(), json!({ "error": message }));
    if text.len() > MOST_TEXT {
        return refused(too_many(text.len(), MOST_TEXT, "characters"));
    }
    let Ok(text) = str::from_utf8(text) else { return refused("not a text".into()) };
    let (form, read) = match PastedForm::ALL.get(form) {
        Some(form) => (*form, form.read(text)),
        None => pasted::read(text),
    };
    match read {
        Ok(read) if read.bytes.len() > MOST_BYTES => {
            refused(too_many(read.bytes.len(), MOST_BYTES, "bytes"))
        }
        Ok(read) => said(read, &form.to_string()),
        Err(error) => {
            let said = json!({ "error": error.message, "line": error.line, "column": error.column, "form": form.to_string() });
            (Pasted::default(), said)
        }
    }
}

fn said(read: Pasted, form: &str) -> (Pasted, Value) {
    let said = json!({ "form": form, "bytes": read.bytes.len(), "gaps": read.gaps() });
    (read, said)
}

fn too_many(have: usize, most: usize, what: &str) -> String {
    format!("{have} {what}; this page reads at most {most}. `diagipc decode` reads larger files.")
}

/// Returns the items of the bytes after those that are skipped, until there are enough parts.
pub fn explained(taken: &Pasted, options: &ExplainOptions) -> Value {
    match items(taken, options) {
        Ok(said) => said,
        Err(error) => json!({ "error": error }),
    }
}

fn items(taken: &Pasted, options: &ExplainOptions) -> Result<Value, String> {
    let bytes = taken.bytes.as_slice();
    if bytes.len() > MOST_BYTES {
        return Err(too_many(bytes.len(), MOST_BYTES, "bytes"));
    }
    let from = match options.from.as_str() {
        "" => None,
        "client" => Some(Direction::Client),
        "server" => Some(Direction::Server),
        other => return Err(format!("{other:?} is not client or server")),
    };
    let named = Some(&options.request).filter(|name| !name.is_empty());
    let request = named.map(|name| name.parse::<Command>()).transpose();
    let request = request.map_err(|error| format!("{:?} is {error}", options.request))?;
    let mut items: Box<dyn Iterator<Item = Item>> = if options.kind.is_empty() {
        Box::new(Splitter::new(bytes, from, request).in_parts(taken.parts.clone()))
    } else {
        let kind = options.kind.parse::<Type>();
        let kind = kind.map_err(|_| format!("{:?} is not a type of the vectors", options.kind))?;
        Box::new(std::iter::once(Item::whole(kind, bytes)))
    };
    let (mut said, mut parts, mut end) = (Vec::new(), 0usize, 0);
    let mut next = options.skip;
    for item in items.by_ref().skip(options.skip) {
        next += 1;
        end = item.offset.saturating_add(item.size);
        let shown = item.parts(bytes);
        parts = parts.saturating_add(shown.len());
        said.push(one(&item, &shown, bytes));
        if parts >= MOST_PARTS {
            break;
        }
    }
    let rest = bytes.len().saturating_sub(end);
    Ok(json!({ "items": said, "next": next, "rest": rest }))
}

fn one(item: &Item, parts: &[Annotation], bytes: &[u8]) -> Value {
    let wrong = item.error.as_ref().or(item.limits.as_ref());
    let shown: Vec<Value> = parts
        .iter()
        .take(MOST_PARTS)
        .map(|part| json!([part.offset, part.len, part.field, part.text]))
        .collect();
    json!({
        "title": item.title(),
        "lacksRequest": item.lacks_request(),
        "offset": item.offset,
        "size": item.size,
        "parts": shown,
        "moreParts": parts.len().saturating_sub(shown.len()),
        "remarks": item.remarks(bytes),
        "answer": item.answer(),
        // A continuation is passed on as it is.
        "canonical": (item.error.is_none() && item.kind != ItemKind::Continuation).then_some(item.canonical),
        "canonicalForm": canonical_form(item),
        "verdict": if item.error.is_some() { Some("malformed") } else { item.limits.as_ref().map(|_| "refused") },
        "wrongAt": wrong.map(|refusal| refusal.fault.offset),
        "json": if item.size <= MOST_AS_JSON { serde_json::to_string_pretty(item).ok() } else { None },
    })
}

/// Returns the canonical bytes of an item that is not canonical.
fn canonical_form(item: &Item) -> Option<String> {
    let subject = item.subject.filter(|_| !item.canonical && item.error.is_none())?;
    let kind = item.kind.message().unwrap_or(subject.kind);
    TypedCodec { kind, ..subject }.encode(&item.value).ok().map(hex::encode)
}

/// Returns the choices of the page, and how much it reads.
pub fn choices() -> Value {
    let forms: Vec<_> = PastedForm::ALL.iter().map(ToString::to_string).collect();
    let commands: Vec<_> = Command::known().map(|command| command.to_string()).collect();
    json!({ "forms": forms, "commands": commands, "mostBytes": MOST_BYTES })
}
