//! `diagipc server`.

use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;

use anyhow::bail;
use dotnet_diagnostics_ipc::conformance::server::{self, Options, Place, Profile, ServerCase, SpawnCommand};
use dotnet_diagnostics_ipc::conformance::{Case, Glob, Report, codec};
use dotnet_diagnostics_ipc::vectors::{Hazard, named_script_files};

use crate::{Outcome, codec as output};

/// How long a target that is started may take until it is reached.
const STARTS: Duration = Duration::from_secs(30);

/// Holds a live diagnostic server to the protocol.
///
/// Plays the exchange scripts and sends every request of the vectors, one after another, and says what differs. Only what changes
/// nothing is played, unless more is allowed.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 nothing failed, 1 something did, 2 usage, 3 the target cannot be reached, or does not answer any more."
)]
#[allow(clippy::struct_excessive_bools, clippy::doc_markdown, reason = "these are the switches and the help of a command")]
pub(crate) struct Arguments {
    /// A process id, the path of a socket, or port:PATH to wait there for a runtime that connects
    #[arg(required_unless_present_any = ["spawn", "list"])]
    endpoint: Option<Place>,

    /// Start the target by COMMAND, and again after its death. It gets a TMPDIR of its own, and is reached at the socket of a default
    /// port there, or at the one whose path or process id is the first line that it prints
    #[arg(long, requires = "command", conflicts_with = "endpoint")]
    spawn: bool,

    /// What the target is held to: auto, coreclr-3.1, coreclr-8, coreclr-9, coreclr-10, coreclr-11, nativeaot, mono or strict. auto asks
    /// ProcessInfo2; where there is none it is strict
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = profile)]
    profile: Auto,

    /// Also play what changes the target: dumps, profilers, variables, perf maps, startup hooks, resumes
    #[arg(long)]
    allow_side_effects: bool,

    /// Also play what may kill, wedge or exhaust the target. Only for a target that is yours
    #[arg(long)]
    allow_harmful: bool,

    /// How long a step may take that does not say it itself
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=600_000))]
    timeout: Option<u64>,

    /// Play only the cases that this pattern chooses, by name, file, section, group or number
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,

    /// Count it as failed where the target does not have what this pattern chooses
    #[arg(long, value_name = "GLOB")]
    require: Vec<String>,

    /// Print JSON: every case, with what was seen where it did not pass
    #[arg(long)]
    json: bool,

    /// List the cases and what each may do to a target, and play none
    #[arg(long, conflicts_with_all = ["json", "require", "endpoint", "spawn"])]
    list: bool,

    /// The command that starts the target, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A profile, or none: what the target says.
#[derive(Clone, Copy)]
struct Auto(Option<Profile>);

fn profile(text: &str) -> Result<Auto, String> {
    if text == "auto" { Ok(Auto(None)) } else { text.parse().map(|profile| Auto(Some(profile))) }
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (scripts, vectors) = (named_script_files()?, codec::embedded()?);
    let all = server::cases(&scripts, &vectors);
    let globs = |patterns: &[String]| patterns.iter().map(Glob::new).collect::<Vec<_>>();
    let (only, require) = (globs(&arguments.only), globs(&arguments.require));
    for glob in only.iter().chain(&require) {
        // A pattern that chooses nothing would make a run that says nothing look good.
        if !all.iter().any(|case| case.is_chosen(glob)) {
            bail!("no case is chosen by {glob}");
        }
    }
    let chosen = |case: &ServerCase<'_>| only.is_empty() || only.iter().any(|glob| case.is_chosen(glob));
    let cases: Vec<_> = all.into_iter().filter(chosen).collect();
    if arguments.list {
        return list(&cases, out);
    }
    let mut command = arguments.command.iter().cloned();
    let place = match (&arguments.endpoint, command.next()) {
        (Some(place), None) => place.clone(),
        (None, Some(program)) => Place::Spawn(SpawnCommand { program, arguments: command.collect(), patience: STARTS }),
        _ => bail!("a command is there without --spawn"),
    };
    let options = Options {
        profile: arguments.profile.0,
        allow_side_effects: arguments.allow_side_effects,
        allow_harmful: arguments.allow_harmful,
        within: arguments.timeout.map(Duration::from_millis),
        require,
    };
    let report = server::run(&cases, &place, &options, &mut |_: &Case| {});
    finish(&report, arguments.json, out)
}

fn finish(report: &Report, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    if json {
        serde_json::to_writer_pretty(&mut *out, report)?;
        writeln!(out)?;
    } else {
        output::text(report, out)?;
    }
    Ok(match (&report.lost, report.counts.fail) {
        (Some(_), _) => Outcome::Lost,
        (None, 0) => Outcome::Well,
        (None, _) => Outcome::Faulty,
    })
}

fn list(cases: &[ServerCase<'_>], out: &mut dyn Write) -> anyhow::Result<Outcome> {
    for case in cases {
        let hazard = match case.hazard() {
            None => "",
            Some(Hazard::SideEffect) => "  side-effect",
            Some(Hazard::Harmful) => "  harmful",
        };
        writeln!(out, "{}{hazard}", case.name())?;
    }
    Ok(Outcome::Well)
}
