//! `diagipc client`.

use std::env;
use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use dotnet_diagnostics_ipc::conformance::client::{self, Operations, Options, Scenario, StandIn};
use dotnet_diagnostics_ipc::conformance::{Case, Glob};

use crate::{Outcome, codec as output};

/// How many clients run at a time: they mostly wait.
const JOBS: usize = 8;

/// Holds a diagnostic client to the protocol.
///
/// Tells the client one thing after another, stands in for the runtime that it talks to, and judges what it sends, what it makes of the
/// replies, and how it ends. What it can do, and by which command lines, is in a TOML file: vectors/clients/README.md. A command
/// behind -- is the operation `trace`.
#[derive(clap::Args)]
#[command(after_help = "Exit status: 0 nothing failed, 1 something did, 2 usage, or a file that cannot be read.")]
pub(crate) struct Arguments {
    /// What the client can do, and how it is told to
    #[arg(long, value_name = "FILE", required_unless_present_any = ["command", "list"])]
    operations: Option<PathBuf>,

    /// Play only the scenarios that this pattern chooses, by name, section or operation
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,

    /// Count it as failed where the client does not have what this pattern chooses
    #[arg(long, value_name = "GLOB")]
    require: Vec<String>,

    /// How long the client waits for a next byte before it gives up, whatever the file says
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=600_000))]
    timeout: Option<u64>,

    /// How many clients run at a time
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::new(JOBS).unwrap_or(NonZeroUsize::MIN))]
    jobs: NonZeroUsize,

    /// Print JSON: every case, with what was seen where it did not pass
    #[arg(long)]
    json: bool,

    /// List the scenarios, and start no client
    #[arg(long, conflicts_with_all = ["json", "require"])]
    list: bool,

    /// A client that only traces, and its arguments
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "operations")]
    command: Vec<String>,
}

/// Stands for a process that is diagnosed, until standard input ends.
pub(crate) fn stand_in() -> anyhow::Result<Outcome> {
    client::stand_in().context("standing in for a process")?;
    Ok(Outcome::Well)
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let all = client::scenarios()?;
    let globs = |patterns: &[String]| patterns.iter().map(Glob::new).collect::<Vec<_>>();
    let (only, require) = (globs(&arguments.only), globs(&arguments.require));
    for glob in only.iter().chain(&require) {
        // A pattern that chooses nothing would make a run that says nothing look good.
        if !all.iter().any(|scenario| scenario.is_chosen(glob)) {
            bail!("no scenario is chosen by {glob}");
        }
    }
    let chosen = |scenario: &Scenario| only.is_empty() || only.iter().any(|glob| scenario.is_chosen(glob));
    let scenarios: Vec<Scenario> = all.into_iter().filter(chosen).collect();
    if arguments.list {
        for scenario in &scenarios {
            writeln!(out, "{}", scenario.name)?;
        }
        return Ok(Outcome::Well);
    }
    let mut operations = match &arguments.operations {
        Some(file) => {
            let name = file.display().to_string();
            let text = fs::read_to_string(file).with_context(|| name.clone())?;
            Operations::parse(&name, &text)?
        }
        None => Operations::trace_alone(&arguments.command)?,
    };
    if let Some(ms) = arguments.timeout {
        operations.set_patience(Duration::from_millis(ms));
    }
    let program = env::current_exe().context("this program's own file")?.into();
    let stand_in = StandIn { program, arguments: vec!["stand-in".into()] };
    let options = Options { jobs: arguments.jobs, require, stand_in };
    let report = client::run(&scenarios, &operations, &options, &|_: &Case| {});
    if arguments.json {
        serde_json::to_writer_pretty(&mut *out, &report)?;
        writeln!(out)?;
    } else {
        output::text(&report, out)?;
    }
    Ok(if report.counts.fail == 0 { Outcome::Well } else { Outcome::Faulty })
}
