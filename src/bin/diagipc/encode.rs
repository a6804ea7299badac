//! `diagipc encode`.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::vectors::{Subject, Type, Value};

use crate::items::{Item, Kind};
use crate::{Outcome, input};

/// Makes bytes from the JSON that `decode --json` prints.
///
/// Of each item `kind`, `command` and `value` count. The bytes are canonical: what `decode` called not canonical comes out
/// in its canonical form, which a line on standard error says.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A file of JSON, or `-` for standard input
    file: String,

    /// Print hexadecimal, a line an item, instead of the bytes
    #[arg(long)]
    hex: bool,

    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let text = input::read(&arguments.file, 1 << 30)?;
    let encoded = match parse(&text).and_then(|items| items.iter().enumerate().map(encode).collect::<anyhow::Result<Vec<_>>>()) {
        Ok(encoded) => encoded,
        Err(error) => {
            writeln!(std::io::stderr(), "diagipc: {}: {error:#}", arguments.file)?;
            return Ok(Outcome::Faulty);
        }
    };
    let bytes = if arguments.hex {
        encoded.iter().flat_map(|bytes| (hex::encode(bytes) + "\n").into_bytes()).collect()
    } else {
        encoded.concat()
    };
    match &arguments.output {
        Some(path) => fs::write(path, bytes).with_context(|| path.display().to_string())?,
        None => out.write_all(&bytes)?,
    }
    Ok(Outcome::Well)
}

/// A list of items, or one item.
fn parse(text: &[u8]) -> anyhow::Result<Vec<Item>> {
    let value: Value = serde_json::from_slice(text)?;
    let items = if value.is_array() { value } else { Value::Array(vec![value]) };
    Ok(serde_json::from_value(items)?)
}

fn encode((nth, item): (usize, &Item)) -> anyhow::Result<Vec<u8>> {
    let context = || format!("item {nth}");
    if item.error.is_some() {
        bail!("item {nth}: it has an error and no value");
    }
    if !item.canonical {
        writeln!(std::io::stderr(), "diagipc: item {nth} was not canonical; its canonical form differs")?;
    }
    let command = item.command.as_deref().map(str::parse::<Command>);
    let kind = match (item.kind, &command) {
        (Kind::Continuation, _) => {
            let digits = item.value.get("bytes").and_then(Value::as_str);
            return hex::decode(digits.ok_or_else(|| anyhow!("no bytes")).with_context(context)?).with_context(context);
        }
        (Kind::Unknown, _) => Type::Unknown,
        (Kind::Request, _) => Type::Request,
        (Kind::Reply, _) => Type::Reply,
        (Kind::Error, _) => Type::Error,
        (Kind::Advertise, _) => Type::Advertise,
        (Kind::Piece, _) => item.piece.ok_or_else(|| anyhow!("no type")).with_context(context)?,
    };
    let command = match (kind, command) {
        (Type::Unknown, _) | (_, None) => None,
        (_, Some(command)) => Some(command.with_context(context)?),
    };
    let subject = Subject { kind, command, from_server: matches!(item.kind, Kind::Reply | Kind::Error | Kind::Advertise) };
    subject.encode(&item.value).with_context(context)
}
