//! `diagipc client`.

use std::collections::BTreeMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context as _, bail};
use diagipc::client::{self, ClientOptions, Operations, Scenario};
use diagipc::embedded::SCENARIOS;
use diagipc::known::Profile;
use diagipc::{Glob, Playable as _, Program};
use dotnet_diagnostics_ipc::command::Command;

use crate::commands::output::{MinJudged, Output, Progress};
use crate::commands::{Outcome, interrupt};

/// The number of clients that run at a time; they mostly wait.
const JOBS: usize = 8;

/// Checks a diagnostic client against the protocol.
///
/// Gives the client one task after another, plays the runtime that it talks to, and checks its
/// requests, its handling of the replies, and how it ends. A TOML file describes its operations and
/// command lines: diagipc/clients/README.md. A command after -- is the operation `trace`.
#[derive(clap::Args)]
#[command(
    after_long_help = exit_statuses!(
        "0      nothing failed",
        "1      a case failed, an accepted fault is gone (--known), or too few were judged (--min-judged)",
        "2      usage error, or a file that cannot be read",
        "128+n  interrupted by signal n: SIGHUP, SIGINT or SIGTERM",
    )
)]
pub(crate) struct Arguments {
    /// A file with the client's operations and their command lines
    #[arg(long, value_name = "FILE", required_unless_present_any = ["command", "list"])]
    operations: Option<PathBuf>,

    #[command(flatten)]
    output: Output,

    /// The runtime to play: coreclr-VERSION, nativeaot, mono or strict
    ///
    /// The client is asked only for what this runtime knows.
    #[arg(long, value_name = "NAME", default_value = "strict")]
    profile: Profile,

    #[command(flatten)]
    min_judged: MinJudged,

    /// How long the client waits for a byte, instead of the file's value
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=600_000))]
    timeout: Option<u64>,

    /// How many clients run at a time
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::new(JOBS).unwrap_or(NonZeroUsize::MIN))]
    jobs: NonZeroUsize,

    /// The client and its arguments, if it only traces
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "operations")]
    command: Vec<String>,
}

/// Plays the process that is diagnosed, until standard input ends.
#[cfg(unix)]
pub(crate) fn stand_in() -> anyhow::Result<Outcome> {
    client::stand_in().context("playing a process")?;
    Ok(Outcome::Well)
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (mut scenarios, suite) =
        arguments.output.choose(client::scenarios()?.to_vec(), &[SCENARIOS])?;
    let left_out = leave_out(&mut scenarios, arguments.profile);
    if scenarios.is_empty() {
        bail!("{} supports none of the chosen scenarios", arguments.profile);
    }
    if arguments.output.is_list() {
        return Output::list(&scenarios, out);
    }
    let mut operations = match &arguments.operations {
        Some(file) => {
            let name = file.display().to_string();
            let text = fs::read_to_string(file).with_context(|| name.clone())?;
            Operations::parse(&name, &text)?
        }
        None => Operations::trace_alone(&arguments.command)?,
    };
    let undefined = leave_out_undefined(&mut scenarios, &operations, arguments.output.require());
    if scenarios.is_empty() {
        bail!("{}: {}", operations.name, undefined.unwrap_or_default());
    }
    if let Some(ms) = arguments.timeout {
        operations.set_patience(Duration::from_millis(ms));
    }
    #[cfg(unix)]
    crate::commands::interrupt::own()?;
    let this = env::current_exe().context("the path of this program")?;
    let options = ClientOptions {
        jobs: arguments.jobs,
        require: arguments.output.require().to_vec(),
        stand_in: as_process(&this),
        canceller: Some(interrupt::canceller()?),
    };
    operations.find_programs(scenarios.iter().map(|scenario| scenario.operation))?;
    let progress = Progress::new(scenarios.len(), &arguments.output);
    let mut report =
        client::run(&scenarios, &operations, &options, &|name, grade| progress.named(name, grade));
    drop(progress);
    report.profile = Some(arguments.profile.to_string());
    report.notes.extend(undefined);
    report.notes.extend(left_out);
    arguments.min_judged.apply(&mut report);
    arguments.output.write(report, &suite, out)
}

/// Skips scenarios whose commands the runtime does not know; returns their number by operation.
fn leave_out(scenarios: &mut Vec<Scenario>, profile: Profile) -> Vec<String> {
    let mut left_out: BTreeMap<client::Operation, usize> = BTreeMap::new();
    let knows = |command: Command| profile.knows(command) && !profile.refuses(command);
    for scenario in std::mem::take(scenarios) {
        let operation = scenario.operation;
        match scenario.for_runtime(knows) {
            Some(scenario) => scenarios.push(scenario),
            None => *left_out.entry(operation).or_default() += 1,
        }
    }
    let note = |(operation, count)| {
        format!(
            "{count} scenarios of {operation} were not played: {profile} does not know their commands"
        )
    };
    left_out.into_iter().map(note).collect()
}

/// Skips scenarios of operations that the client lacks, unless they are required. Says which
/// operations it has, and how many scenarios are skipped.
fn leave_out_undefined(
    scenarios: &mut Vec<Scenario>,
    operations: &Operations,
    require: &[Glob],
) -> Option<String> {
    let before = scenarios.len();
    scenarios.retain(|scenario| {
        operations.get(scenario.operation).is_some()
            || require.iter().any(|glob| scenario.is_chosen(glob))
    });
    let left_out = before - scenarios.len();
    let all = client::Operation::ALL;
    let defined: Vec<String> = all
        .iter()
        .filter(|operation| operations.get(**operation).is_some())
        .map(ToString::to_string)
        .collect();
    (left_out > 0).then(|| {
        format!(
            "{} of {} operations are defined: {}; {left_out} scenarios of the others were not played",
            defined.len(),
            all.len(),
            defined.join(", ")
        )
    })
}

/// This program as the process of a scripted runtime.
pub(crate) fn as_process(this: &Path) -> Program {
    Program::new(this, ["stand-in"])
}
