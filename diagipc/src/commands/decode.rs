//! `diagipc decode`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::iter;

use anyhow::{Context as _, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use diagipc::print;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc_vectors::explain::{Item, MOST_IN_FIELDS, Splitter};
use dotnet_diagnostics_ipc_vectors::pasted::PastedForm;
use dotnet_diagnostics_ipc_vectors::{Direction, Type};

use crate::commands::{Outcome, printable};

/// Shows the meaning of bytes.
///
/// The input is one side of a connection, or both one after the other: messages, advertises, and
/// continuations. Offsets of errors count from the start of the item, as in the vectors.
///
/// The input is held in memory once, a stream in it a second time in hexadecimal; messages are
/// decoded one at a time. An environment block of more than 1 MiB is shown as bytes, without its
/// entries; --kind accepts at most that much. A block of 1 MiB takes up to 200 MiB of memory.
#[derive(clap::Args)]
#[command(
    after_long_help = exit_statuses!(
        "0  all of the input was understood",
        "1  a part of the input is malformed",
        "2  usage error, or input that cannot be read",
    )
)]
pub(crate) struct Arguments {
    /// A file, or `-` for standard input
    #[arg(required_unless_present = "text")]
    file: Option<String>,

    /// The bytes themselves, in hexadecimal, as a hex dump, an array, strings with escapes, or base64;
    /// standard error says which it is, if not hexadecimal
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    text: Option<String>,

    /// The most bytes to read
    #[arg(long, value_name = "BYTES", default_value_t = 256 << 20)]
    limit: u64,

    /// The sender; without it, the command set of each message decides (0xFF is the server's)
    #[arg(long, value_parser = direction())]
    from: Option<Direction>,

    /// The request that replies answer, such as `EventPipe/CollectTracing2`, `ProcessInfo` or
    /// `0x0402`; without it, the previous request in the input, if any
    #[arg(long, value_name = "COMMAND")]
    request: Option<Command>,

    /// The type of the whole input, if it is not messages: `advertise`, `environment`, `ports`,
    /// `user-events`, `extension`, `legacy`, or any other `type` of the vectors, such as
    /// `string`, `event_filter` or `process-stat`
    #[arg(long, value_name = "TYPE", conflicts_with_all = ["from", "request"])]
    kind: Option<Type>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn direction() -> impl TypedValueParser<Value = Direction> {
    let values = [("client", "The tool that asks"), ("server", "The runtime that answers")];
    PossibleValuesParser::new(values.map(|(name, help)| PossibleValue::new(name).help(help)))
        .map(|name| if name == "client" { Direction::Client } else { Direction::Server })
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let bytes = arguments.bytes()?;
    let items: Box<dyn Iterator<Item = Item>> = match arguments.kind {
        Some(_) if bytes.len() > MOST_IN_FIELDS => {
            bail!("--kind reads at most {MOST_IN_FIELDS} bytes, the input has {}", bytes.len())
        }
        Some(kind) => Box::new(iter::once(Item::whole(kind, &bytes))),
        None => Box::new(Splitter::new(&bytes, arguments.from, arguments.request)),
    };
    let (mut is_empty, mut is_faulty) = (true, false);
    // One at a time: an item takes many times the memory of its bytes.
    let mut items = items.inspect(|item| {
        is_empty = false;
        is_faulty |= item.error.is_some();
    });
    if arguments.json {
        printable::json_array(items, out)?;
    } else {
        items.try_for_each(|item| print::explained(out, &item, &bytes))?;
        if is_empty {
            writeln!(out, "no bytes")?;
        }
    }
    Ok(if is_empty || is_faulty { Outcome::Faulty } else { Outcome::Well })
}

impl Arguments {
    fn bytes(&self) -> anyhow::Result<Vec<u8>> {
        if let Some(text) = &self.text {
            let form = PastedForm::of(text);
            let bytes = form.read(text).with_context(|| format!("--text, read as {form}"))?;
            if form != PastedForm::Hexadecimal {
                printable::say(&format!("diagipc: --text is {form} of {} bytes", bytes.len()));
            }
            return Ok(bytes);
        }
        read(self.file.as_deref().unwrap_or("-"), self.limit)
    }
}

/// The contents of a file, or of standard input for `-`; an error if it has more than `limit`
/// bytes.
pub(crate) fn read(file: &str, limit: u64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let source: &mut dyn Read = match file {
        "-" => &mut io::stdin().lock(),
        path => &mut File::open(path).with_context(|| path.to_owned())?,
    };
    source.take(limit + 1).read_to_end(&mut bytes).with_context(|| file.to_owned())?;
    if bytes.len() as u64 > limit {
        bail!("{file}: more than {limit} bytes; --limit allows more");
    }
    Ok(bytes)
}
