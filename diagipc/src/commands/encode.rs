//! `diagipc encode`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc_vectors::explain::ItemKind;
use dotnet_diagnostics_ipc_vectors::{Type, TypedCodec, Value};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::commands::printable::say;
use crate::commands::{Outcome, decode, output_file};

/// Creates bytes from the JSON that `decode --json` prints.
///
/// Required for each item are `kind`, `command` and `value`, and `type` if the kind is `piece`; a
/// kind may also be any type of the vectors: `{"kind": "environment", "value": [{"name": "A",
/// "value": "1"}]}`. Other keys of `decode` may be omitted. The bytes are canonical: an item marked
/// not canonical by `decode` is written in its canonical form, with a line on standard error.
#[derive(clap::Args)]
#[command(
    after_long_help = exit_statuses!(
        "0  the bytes were written",
        "1  the JSON does not describe a message",
        "2  usage error, or a file that cannot be read or written",
    )
)]
pub(crate) struct Arguments {
    /// A file of JSON, or `-` for standard input
    file: String,

    /// Print hexadecimal, one item per line, instead of the bytes
    #[arg(long)]
    hex: bool,

    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let text = decode::read(&arguments.file, 1 << 30, "")?;
    let bytes = match encode_all(&text, arguments.hex) {
        Ok(bytes) => bytes,
        Err(error) => {
            say(&format!("diagipc: {}: {error:#}", arguments.file));
            return Ok(Outcome::Faulty);
        }
    };
    match &arguments.output {
        Some(path) => output_file::write(path, &bytes)?,
        None => out.write_all(&bytes)?,
    }
    Ok(Outcome::Well)
}

/// An item with the keys of `decode --json`; few are required.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    kind: String,
    /// The type of a piece.
    #[serde(rename = "type")]
    piece: Option<Type>,
    command: Option<String>,
    value: Value,
    /// Set by `decode` on input that is valid but not canonical.
    canonical: Option<bool>,
    /// Set by `decode` on input that it could not read.
    #[serde(default)]
    error: Value,
    /// The value contains this too.
    #[serde(rename = "offset")]
    _offset: Option<IgnoredAny>,
    #[serde(rename = "size")]
    _size: Option<IgnoredAny>,
    #[serde(rename = "code")]
    _code: Option<IgnoredAny>,
    #[serde(rename = "limits")]
    _limits: Option<IgnoredAny>,
}

/// Encodes an array of items, or one item. Only one item's values are in memory at a time, because
/// they are many times larger than their text.
fn encode_all(text: &[u8], hex: bool) -> anyhow::Result<Vec<u8>> {
    let whole: &RawValue = serde_json::from_slice(text)?;
    let items: Vec<&RawValue> =
        if whole.get().starts_with('[') { serde_json::from_str(whole.get())? } else { vec![whole] };
    let mut bytes = Vec::new();
    for (nth, item) in items.into_iter().enumerate() {
        let value: Value = serde_json::from_str(item.get())?;
        let encoded = encode(nth, &serde_json::from_value(value)?)?;
        bytes.extend(if hex { (hex::encode(encoded) + "\n").into_bytes() } else { encoded });
    }
    Ok(bytes)
}

fn encode(nth: usize, item: &Given) -> anyhow::Result<Vec<u8>> {
    let context = || format!("item {nth}");
    if !item.error.is_null() {
        bail!("item {nth}: an error instead of a value");
    }
    if item.canonical == Some(false) {
        say(&format!("diagipc: item {nth} was not canonical; its canonical form differs"));
    }
    let command = item.command.as_deref().map(str::parse::<Command>);
    let Some(kind) = kind(item).with_context(context)? else {
        return continuation(&item.value).with_context(context);
    };
    let command = match (kind, command) {
        (Type::Unknown, _) | (_, None) => None,
        (_, Some(command)) => Some(command.with_context(context)?),
    };
    let subject = TypedCodec {
        kind,
        command,
        from_server: matches!(kind, Type::Reply | Type::Error | Type::Advertise),
    };
    subject.encode(&item.value).with_context(context)
}

/// Returns the type of an item; `None` for a continuation.
fn kind(item: &Given) -> anyhow::Result<Option<Type>> {
    let Ok(kind) = serde_json::from_value::<ItemKind>(Value::from(item.kind.as_str())) else {
        return item
            .kind
            .parse()
            .map(Some)
            .map_err(|known| anyhow!("unknown kind {:?}: {known}", item.kind));
    };
    match kind {
        ItemKind::Continuation => Ok(None),
        ItemKind::Piece => item.piece.map(Some).ok_or_else(|| anyhow!("a piece needs a `type`")),
        kind => Ok(kind.message()),
    }
}

/// Encodes a continuation: its bytes unchanged, or the entries of an environment.
fn continuation(value: &Value) -> anyhow::Result<Vec<u8>> {
    match (value.get("bytes").and_then(Value::as_str), value.get("entries")) {
        (Some(digits), _) => Ok(hex::decode(digits)?),
        (None, Some(entries)) => {
            let subject = TypedCodec { kind: Type::Environment, command: None, from_server: true };
            Ok(subject.encode(entries)?)
        }
        (None, None) => bail!("a continuation needs `bytes` or `entries`"),
    }
}
