//! `diagipc decode`.

use std::io::Write;

use dotnet_diagnostics_ipc::command::Command;

use dotnet_diagnostics_ipc::vectors::Type;

use crate::items::{Item, Side, Splitter, kind};
use crate::{Outcome, dump, input::Input};

/// Shows what bytes say.
///
/// The input is one side of a connection, or both one after the other: messages, advertises, and what follows a reply.
/// Offsets of errors count from the start of the item, as in the vectors.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: Input,

    /// Who sent the bytes; without it, the command set of each message tells (0xFF is the server's)
    #[arg(long, value_enum)]
    from: Option<Side>,

    /// What replies answer, such as `EventPipe/CollectTracing2`, `ProcessInfo` or `0x0402`; without it, the request before
    /// them in the input, if there is one
    #[arg(long, value_name = "COMMAND")]
    request: Option<Command>,

    /// What the whole input is, where it is not messages: `advertise`, `environment`, `ports`, `user-events`, `extension`,
    /// `legacy`, or any other `type` of the vectors, such as `string`, `event_filter` or `process-stat`
    #[arg(long, value_name = "TYPE", value_parser = kind, conflicts_with_all = ["from", "request"])]
    kind: Option<Type>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let bytes = arguments.input.read()?;
    let items: Vec<Item> = match arguments.kind {
        Some(kind) => Vec::from([Item::whole(kind, &bytes)]),
        None => Splitter::new(&bytes, arguments.from, arguments.request).collect(),
    };
    if arguments.json {
        crate::printable::json(&items, out)?;
        writeln!(out)?;
    } else {
        dump::items(out, &items, &bytes)?;
    }
    let faulty = items.is_empty() || items.iter().any(|item| item.error.is_some());
    Ok(if faulty { Outcome::Faulty } else { Outcome::Well })
}
