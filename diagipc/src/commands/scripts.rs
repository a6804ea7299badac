//! `diagipc scripts`.

use std::io::Write;

use diagipc::{annotated, embedded};
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc_vectors::Direction;
use dotnet_diagnostics_ipc_vectors::explain::{Item, Splitter};
use dotnet_diagnostics_ipc_vectors::script::{Captures, Part, Plays, Script, Step};

use crate::commands::Outcome;
use crate::commands::check;
use crate::commands::printable::shortened;
use crate::commands::vectors::{hazard, name};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Lists the exchange scripts
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let files = embedded::scripts()?;
    let scripts = files.iter().flat_map(|(_, file)| &file.scripts);
    match &arguments.command {
        Command::List { json: true } => {
            crate::commands::printable::json_array(scripts, out)?;
        }
        Command::List { json: false } => list(scripts, out)?,
    }
    Ok(Outcome::Well)
}

fn played(script: &Script) -> &'static str {
    match script.plays {
        Plays::Client(_) => "client",
        Plays::Runtime(_) => "runtime",
    }
}

fn list<'s>(scripts: impl Iterator<Item = &'s Script>, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut table = check::table(["scId", "name", "plays", "since", "hazard", "steps"]);
    for script in scripts {
        table.add_row([
            script.sc_id.to_string(),
            script.name.clone(),
            played(script).to_owned(),
            script.since.clone().unwrap_or_default(),
            script.hazard.as_ref().map(name).transpose()?.unwrap_or_default(),
            script.steps.len().to_string(),
        ]);
    }
    writeln!(out, "{table}")?;
    Ok(())
}

/// The whole script.
pub(crate) fn show(script: &Script, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "scId {}: {}", script.sc_id, script.comment)?;
    writeln!(out, "  name    {}", script.name)?;
    writeln!(out, "  plays   {}", played(script))?;
    writeln!(out, "  spec    {}", script.spec.join(", "))?;
    if let Some(since) = &script.since {
        writeln!(out, "  since   {since}")?;
    }
    hazard(script.hazard, &script.name, out)?;
    match &script.plays {
        Plays::Client(part) => {
            writeln!(out, "  target  {}", serde_json::to_string(&part.target)?)?;
            writeln!(
                out,
                "  seen on {}",
                if part.seen_on.is_empty() {
                    "no runtime".to_owned()
                } else {
                    part.seen_on.join(", ")
                }
            )?;
            for deviation in &part.deviations {
                writeln!(
                    out,
                    "  on {}, from step {}: {} ({})",
                    deviation.on.join(", "),
                    deviation.from,
                    deviation.text,
                    deviation.fact
                )?;
            }
        }
        Plays::Runtime(part) => {
            writeln!(out, "  ask     {}", shortened(&serde_json::to_string(&part.ask)?))?;
            writeln!(out, "  outcome {}", shortened(&serde_json::to_string(&part.outcome)?))?;
        }
    }
    let mut asked = None;
    for (number, step) in script.steps.iter().enumerate() {
        writeln!(out, "{number:>4}  {}", shortened(&serde_json::to_string(step)?))?;
        explain(step, matches!(script.plays, Plays::Client(_)), &mut asked, out)?;
    }
    Ok(())
}

/// The meaning of a step's bytes, if they are all known and begin with a message. `asked` is the
/// last request.
pub(crate) fn explain(
    step: &Step,
    plays_client: bool,
    asked: &mut Option<dotnet_diagnostics_ipc::command::Command>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let (bytes, from_client) = match step {
        Step::Send(send) => {
            let bytes: Result<Vec<_>, _> =
                send.send.iter().map(|part| part.bytes(&Captures::default())).collect();
            (bytes.ok().map(|bytes| bytes.concat()), plays_client)
        }
        Step::Expect(expect) => {
            let known = expect.expect.0.iter().map(|part| match part {
                Part::Literal(literal) => literal.bytes(&Captures::default()).ok(),
                _ => None,
            });
            (known.collect::<Option<Vec<_>>>().map(|bytes| bytes.concat()), !plays_client)
        }
        _ => return Ok(()),
    };
    let Some(bytes) = bytes.filter(|bytes| bytes.len() >= 20) else { return Ok(()) };
    let side = if from_client { Direction::Client } else { Direction::Server };
    if from_client {
        *asked = Header::decode(&bytes).ok().map(|header| header.command);
    }
    if let Some(item) = Splitter::new(&bytes, Some(side), if from_client { None } else { *asked })
        .next()
        .filter(|item: &Item| item.subject.is_some())
    {
        annotated::item(out, &item, &bytes)?;
    }
    Ok(())
}
