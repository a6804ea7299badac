//! `diagipc server`.

use std::io::Write;
use std::num::NonZeroUsize;
#[cfg(unix)]
use std::path::Path;
use std::time::Duration;

use anyhow::bail;
#[cfg(unix)]
use dotnet_diagnostics_ipc::conformance::Report;
use dotnet_diagnostics_ipc::conformance::codec;
use dotnet_diagnostics_ipc::conformance::known::{Profile, UnknownProfile};
use dotnet_diagnostics_ipc::conformance::server::{self, Options, ServerCase};
#[cfg(unix)]
use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc::vectors::{Hazard, named_script_files};

use crate::output::{Output, Progress};
use crate::place::PlaceArguments;
use crate::{Outcome, interrupt};

/// More targets beside each other disturb each other.
const MOST_JOBS: NonZeroUsize = NonZeroUsize::new(4).unwrap();
/// The reference runtime mostly waits.
#[cfg(unix)]
const CHECK_JOBS: NonZeroUsize = NonZeroUsize::new(48).unwrap();

/// Holds a live diagnostic server to the protocol.
///
/// Plays the exchange scripts and sends every request of the vectors, one after another, and says what differs. Only what changes
/// nothing is played, unless more is allowed.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 nothing failed, 1 something did, 2 usage, 3 the target cannot be reached, or does not answer any more, 130 or 143 interrupted by SIGINT or SIGTERM."
)]
#[allow(clippy::struct_excessive_bools, clippy::doc_markdown, reason = "these are the switches and the help of a command")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: PlaceArguments,

    /// What the target is held to: auto, coreclr-VERSION, nativeaot, mono or strict. auto asks ProcessInfo2; where there is none it is
    /// strict. A version that was not recorded is held to what is known of the nearest that was: 3.1, 8, 9 or 10
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

    /// What the report calls the target
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,

    /// Where a script hands over user_events_data: hand over a socket for packets in place of this system's file. The target must take it
    /// for that
    #[arg(long)]
    stand_in_for_user_events: bool,

    /// With --spawn: how many targets are started beside each other; by default one for each processor, and 4 at most
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    #[command(flatten)]
    output: Output,

    /// List the cases and what each may do to a target, and play none
    #[arg(long, conflicts_with_all = ["json", "junit", "html", "require", "endpoint", "spawn"])]
    list: bool,
}

/// A profile, or none: what the target says.
#[derive(Clone, Copy)]
struct Auto(Option<Profile>);

fn profile(text: &str) -> Result<Auto, UnknownProfile> {
    if text == "auto" { Ok(Auto(None)) } else { text.parse().map(|profile| Auto(Some(profile))) }
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (scripts, vectors) = (named_script_files()?, codec::embedded()?);
    let all = server::cases(&scripts, &vectors);
    let cases = arguments.output.choose(all, ServerCase::is_chosen)?;
    if arguments.list {
        return list(&cases, out);
    }
    let place = arguments.place.place()?;
    let options = Options {
        profile: arguments.profile.0,
        allow_side_effects: arguments.allow_side_effects,
        allow_harmful: arguments.allow_harmful,
        within: arguments.timeout.map(Duration::from_millis),
        stand_in_for_user_events: arguments.stand_in_for_user_events,
        require: arguments.output.require().to_vec(),
        jobs: arguments
            .jobs
            .or_else(|| std::thread::available_parallelism().ok().map(|n| n.min(MOST_JOBS)))
            .unwrap_or(NonZeroUsize::MIN),
        canceller: Some(interrupt::canceller()?),
    };
    let progress = Progress::new(cases.len(), &arguments.output);
    let mut report = server::run(&cases, &place, &options, &mut |case| progress.done(case));
    drop(progress);
    if let Some(name) = &arguments.name {
        report.target.clone_from(name);
    }
    if report.cases.is_empty() && report.lost.is_none() && report.interrupted.is_none() {
        // A run that says nothing must not look good.
        bail!("none of the {} cases was played: {}", cases.len(), report.notes.join("; "));
    }
    arguments.output.write(report, out)
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

/// The suite against the reference runtime, which is this program.
#[cfg(unix)]
pub(crate) fn check(this: &Path, progress: &Progress, canceller: &Canceller) -> anyhow::Result<Report> {
    let (scripts, vectors) = (named_script_files()?, codec::embedded()?);
    let cases = server::cases(&scripts, &vectors);
    let place =
        crate::place::spawned(this.into(), ["runtime", "--profile", "strict", "--until-eof"].map(Into::into).to_vec(), true);
    let options = Options {
        profile: Some(Profile::STRICT),
        // It is a target of our own, to which nothing is harmful.
        allow_side_effects: true,
        allow_harmful: true,
        within: None,
        stand_in_for_user_events: true,
        require: Vec::new(),
        jobs: CHECK_JOBS,
        canceller: Some(canceller.clone()),
    };
    progress.expect(cases.len());
    Ok(server::run(&cases, &place, &options, &mut |case| progress.done(case)))
}
