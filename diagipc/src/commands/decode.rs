//! `diagipc decode`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::iter;

use anyhow::{Context as _, anyhow, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use diagipc::print;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc_vectors::explain::{Item, MOST_IN_FIELDS, Splitter};
use dotnet_diagnostics_ipc_vectors::pasted::{self, Pasted, PastedForm};
use dotnet_diagnostics_ipc_vectors::{Direction, Type};

use crate::commands::trace_file::{self, FRONT_BYTES};
use crate::commands::{Outcome, printable};

/// Shows the meaning of bytes: an annotated dump, or JSON.
///
/// The input is one side of a connection, or both one after the other: messages, advertises, and
/// continuations. Offsets of errors count from the start of the item, as in the vectors.
///
/// The input is held in memory once, a stream in it a second time in hexadecimal; messages are
/// decoded one at a time. An environment block of more than 1 MiB is shown as bytes, without its
/// entries; --kind accepts at most that much. A block of 1 MiB takes up to 200 MiB of memory.
///
/// A .nettrace file of any size is read piece by piece: whether it is complete, the events of each
/// provider, how many the runtime dropped, or the byte where it stops being a trace.
#[derive(clap::Args)]
#[command(
    after_long_help = exit_statuses!(
        "0  all of the input was understood",
        "1  a part of the input is malformed",
        "2  usage error, or input that cannot be read",
    )
)]
pub(crate) struct Arguments {
    /// A file, or `-` for standard input: bytes, text in any form of --text, a capture (pcapng, pcap), or
    /// a .nettrace
    #[arg(required_unless_present = "text")]
    file: Option<String>,

    /// The bytes themselves: hexadecimal, a dump (xxd, hexdump -C, od -c, WinDbg), a log of socat, what
    /// Node prints, an array, strings with escapes (strace), or base64, also quoted or in a log; standard
    /// error says which it is, if not hexadecimal, and what it leaves out
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
    let Pasted { bytes, parts, .. } = match arguments.input()? {
        Input::Bytes(bytes) => bytes,
        Input::Trace { front, rest } => {
            return trace_file::explain(&front, rest, arguments.json, out)
                .with_context(|| arguments.name());
        }
    };
    let has_gaps = parts.iter().any(|part| part.gap.is_some());
    let items: Box<dyn Iterator<Item = Item>> = match arguments.kind {
        Some(_) if bytes.len() > MOST_IN_FIELDS => {
            bail!("--kind reads at most {MOST_IN_FIELDS} bytes, the input has {}", bytes.len())
        }
        Some(kind) => Box::new(iter::once(Item::whole(kind, &bytes))),
        None => {
            let splitter = Splitter::new(&bytes, arguments.from, arguments.request);
            Box::new(splitter.in_parts(parts))
        }
    };
    let (mut is_empty, mut is_faulty) = (true, has_gaps);
    // Items are written one at a time, because an item takes many times the memory of its bytes.
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

enum Input {
    Bytes(Pasted),
    Trace { front: Vec<u8>, rest: Box<dyn Read> },
}

impl Arguments {
    fn name(&self) -> String {
        self.file.clone().unwrap_or_else(|| "-".to_owned())
    }

    fn input(&self) -> anyhow::Result<Input> {
        if let Some(text) = &self.text {
            return pasted("--text", text).map(Input::Bytes);
        }
        let name = self.name();
        let mut rest = open(&name)?;
        let mut front = Vec::new();
        rest.by_ref().take(FRONT_BYTES).read_to_end(&mut front).with_context(|| name.clone())?;
        let is_given = self.kind.is_some() || self.from.is_some() || self.request.is_some();
        if !is_given && trace_file::is_trace(&name, &front) {
            return Ok(Input::Trace { front, rest });
        }
        let bytes = limited(&name, front.chain(rest), self.limit, MORE)?;
        if pasted::is_capture(&bytes) {
            let read = pasted::read_capture(&bytes).map_err(|why| anyhow!("{name}: {why}"))?;
            report(&name, "a capture", &read);
            return Ok(Input::Bytes(read));
        }
        let is_text = self.kind.is_some_and(Type::is_text) || bytes.is_empty();
        match pasted::text_of(&bytes).filter(|_| !is_text) {
            Some(text) => pasted(&name, text).map(Input::Bytes),
            None => Ok(Input::Bytes(bytes.into())),
        }
    }
}

/// Reads text in the form that it seems to have.
fn pasted(name: &str, text: &str) -> anyhow::Result<Pasted> {
    let (form, read) = pasted::read(text);
    let read = read.with_context(|| format!("{name}, read as {form}"))?;
    if form != PastedForm::Hexadecimal || name != "--text" {
        report(name, &form.to_string(), &read);
    }
    Ok(read)
}

fn report(name: &str, form: &str, read: &Pasted) {
    printable::say(&format!("diagipc: {name} is {form} of {} bytes", read.bytes.len()));
    for gap in read.gaps() {
        printable::say(&format!("diagipc: {name}: left out {gap}"));
    }
}

/// The end of the error of a long file, if an option reads longer ones.
pub(crate) const MORE: &str = "; --limit allows more";

/// Returns the contents of a file, or of standard input for `-`. More than `limit` bytes are an
/// error, whose text ends with `more`.
pub(crate) fn read(file: &str, limit: u64, more: &str) -> anyhow::Result<Vec<u8>> {
    limited(file, open(file)?, limit, more)
}

fn open(file: &str) -> anyhow::Result<Box<dyn Read>> {
    Ok(match file {
        "-" => Box::new(io::stdin()),
        path => Box::new(File::open(path).with_context(|| path.to_owned())?),
    })
}

fn limited(file: &str, source: impl Read, limit: u64, more: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .with_context(|| file.to_owned())?;
    if bytes.len() as u64 > limit {
        bail!("{file}: more than {limit} bytes{more}");
    }
    Ok(bytes)
}
