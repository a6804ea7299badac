//! `diagipc env`: the environment of a process, as known to its runtime.

use std::io::{self, IsTerminal as _, Write};

use dotnet_diagnostics_ipc::io::Client;
use serde::Serialize;

use crate::commands::printable::{json_array, printable};
use crate::commands::target::{Refused, TargetArguments, outcome};
use crate::commands::{Outcome, interrupt};

/// Shows the environment of a process.
///
/// It includes variables that were set since the process started. On a terminal, characters that
/// would move its cursor are escaped; otherwise entries are unchanged.
#[derive(clap::Args)]
#[command(
    after_long_help = exit_statuses!(
        "0      the environment is shown",
        "1      the runtime refused, or a variable is not set",
        "2      usage error",
        "3      the process cannot be reached",
        "128+n  interrupted by signal n: SIGHUP, SIGINT or SIGTERM",
    )
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: TargetArguments,

    /// Only these variables
    name: Vec<String>,

    /// End each entry with a NUL, since values may contain line breaks
    #[arg(short = '0', long)]
    null: bool,

    /// Print JSON: a list of names and values; an entry without `=` has the value null
    #[arg(long, conflicts_with = "null")]
    json: bool,
}

#[derive(Serialize)]
struct Variable {
    name: String,
    value: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let found = arguments.target.client(interrupt::canceller()?);
    outcome("env", found.and_then(|client| show(arguments, &client, out)))
}

fn show(arguments: &Arguments, client: &Client, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut variables = Vec::new();
    client.environment()?.for_each(|entry| {
        let value = entry.value().map(|value| value.to_string());
        variables.push(Variable { name: entry.name().to_string(), value });
    })?;
    if !arguments.name.is_empty() {
        variables.retain(|variable| arguments.name.contains(&variable.name));
    }
    if arguments.json {
        json_array(variables.iter(), out)?;
    } else {
        let is_shown = io::stdout().is_terminal() && !arguments.null;
        for Variable { name, value } in &variables {
            let text =
                value.as_ref().map_or_else(|| name.clone(), |value| format!("{name}={value}"));
            write!(
                out,
                "{}{}",
                if is_shown { printable(&text) } else { text },
                if arguments.null { '\0' } else { '\n' }
            )?;
        }
    }
    let is_there = |name: &&String| variables.iter().any(|variable| variable.name == **name);
    match arguments.name.iter().find(|name| !is_there(name)) {
        Some(name) => Err(Refused(format!("{name} is not set")).into()),
        None => Ok(()),
    }
}
