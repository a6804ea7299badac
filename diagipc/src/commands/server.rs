//! `diagipc server`.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use diagipc::embedded::{self, SCRIPTS, VECTORS};
use diagipc::known::{Profile, UnknownProfile};
use diagipc::server::{self, Claims, Options};
use diagipc::{Address, TooFewJudged};

use crate::commands::output::{Output, Progress};
use crate::commands::target::{AddressArguments, trust};
use crate::commands::{Outcome, interrupt};

/// The maximum number of targets at a time; more would disturb each other.
const MAX_JOBS: NonZeroUsize = NonZeroUsize::new(4).unwrap();
/// Checks a live diagnostic server against the protocol.
///
/// Plays the exchange scripts and sends every request of the vectors, one after another, and
/// reports differences. A process that runs already gets only the cases without side effects.
#[derive(clap::Args)]
#[command(
    override_usage = "diagipc server [OPTIONS] <ENDPOINT>\n       diagipc server [OPTIONS] --spawn -- <COMMAND>...",
    after_long_help = exit_statuses!(
        "0      nothing failed",
        "1      a case failed, an accepted fault is gone (--known), too few were judged (--min-judged),",
        "       or --max-time or --fail-fast ended the run",
        "2      usage error",
        "3      the target cannot be reached, or stopped answering",
        "128+n  interrupted by signal n: SIGHUP, SIGINT or SIGTERM",
    )
)]
#[allow(
    clippy::struct_excessive_bools,
    clippy::doc_markdown,
    reason = "these are the switches and the help of a command"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    address: AddressArguments,

    /// The runtime to compare with: auto, strict, coreclr-9, nativeaot, …
    ///
    /// Also mono; a version may follow nativeaot and mono. `auto` recognises the target by its
    /// behaviour, and the report says how. A server that is not recognised as .NET is `strict`:
    /// only the document counts. An unknown build is compared with the nearest known ones.
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = profile)]
    profile: Auto,

    /// A file that says what the target supports
    ///
    /// The suite asks the target about everything else. diagipc/servers/README.md has the format.
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,

    /// Fail if the suite can judge fewer of the cases that the target claims to support
    #[arg(long, value_name = "PERCENT", default_value_t = TooFewJudged::LEAST_PERCENT, hide_short_help = true, value_parser = clap::value_parser!(u8).range(0..=100))]
    min_judged: u8,

    /// End the run at the first failure
    #[arg(long)]
    fail_fast: bool,

    /// Start no case after this time, and fail the run then
    #[arg(long, value_name = "SECONDS", default_value_t = Options::MOST_TIME.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    max_time: u64,

    /// Also use sockets of other users, in directories of other users
    #[arg(long)]
    any_owner: bool,

    /// Also play cases that change the target; --spawn implies it
    ///
    /// They make dumps, attach profilers, set variables, write perf maps, load startup hooks and
    /// resume the runtime.
    #[arg(long)]
    allow_side_effects: bool,

    /// Also play cases that may kill, block or exhaust the target; --spawn implies it
    ///
    /// Use it only with a target that you may lose.
    #[arg(long)]
    allow_harmful: bool,

    /// With --spawn: leave out the cases that change or harm the target
    ///
    /// --allow-side-effects and --allow-harmful each add theirs again.
    #[arg(long, requires = "spawn")]
    spare: bool,

    /// The time limit of a step that has no limit of its own
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=600_000))]
    timeout: Option<u64>,

    /// Pass a packet socket where a script passes user_events_data
    ///
    /// For a system without user_events. The target must take the socket for that file.
    #[arg(long, hide_short_help = true)]
    stand_in_for_user_events: bool,

    /// With --spawn: keep the target after a harmful request, unless it died or hangs
    ///
    /// This is faster, but one case may affect the next.
    #[arg(long, hide_short_help = true)]
    keep_target: bool,

    /// With --spawn: how many targets run at a time [default: processors, at most 4]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    #[command(flatten)]
    output: Output,
}

/// A profile; `None` means the profile that the target reports.
#[derive(Clone, Copy)]
struct Auto(Option<Profile>);

fn profile(text: &str) -> Result<Auto, UnknownProfile> {
    if text == "auto" { Ok(Auto(None)) } else { text.parse().map(|profile| Auto(Some(profile))) }
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (scripts, vectors) = (embedded::scripts()?, embedded::vectors()?);
    let all = server::cases(scripts, vectors);
    let (cases, suite) = arguments.output.choose(all, &[SCRIPTS, VECTORS])?;
    if arguments.output.is_list() {
        return Output::list(&cases, out);
    }
    let address = arguments.address.address()?;
    let claims = match &arguments.claims {
        Some(path) => {
            let file = path.display().to_string();
            let text = std::fs::read_to_string(path).with_context(|| file.clone())?;
            Claims::parse(&file, &text).map_err(anyhow::Error::msg)?
        }
        None => Claims::default(),
    };
    // A target that is started for the run may be ended.
    let is_ours = matches!(address, Address::Spawn(_)) && !arguments.spare;
    let options = Options {
        profile: arguments.profile.0,
        allow_side_effects: arguments.allow_side_effects || is_ours,
        allow_harmful: arguments.allow_harmful || is_ours,
        keep_target: arguments.keep_target,
        finds_weaknesses: true,
        within: arguments.timeout.map(Duration::from_millis),
        min_judged: arguments.min_judged,
        trust: trust(arguments.any_owner),
        fail_fast: arguments.fail_fast,
        max_time: Some(Duration::from_secs(arguments.max_time)),
        claims,
        stand_in_for_user_events: arguments.stand_in_for_user_events,
        require: arguments.output.require().to_vec(),
        jobs: arguments
            .jobs
            .or_else(|| std::thread::available_parallelism().ok().map(|n| n.min(MAX_JOBS)))
            .unwrap_or(NonZeroUsize::MIN),
        canceller: Some(interrupt::canceller()?),
    };
    let progress = Progress::new(cases.len(), &arguments.output);
    let mut report = server::run(&cases, &address, &options, &mut |case| progress.done(case));
    drop(progress);
    if let Some(name) = &options.claims.name {
        report.target.clone_from(name);
    }
    if report.cases.is_empty() && report.lost.is_none() && report.interrupted.is_none() {
        // An empty run must not look successful.
        bail!("none of the {} cases was played: {}", cases.len(), report.notes.join("; "));
    }
    arguments.output.write(report, &suite, out)
}
