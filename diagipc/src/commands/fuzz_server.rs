//! `diagipc fuzz-server`.

use std::fs;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use diagipc::faults::{Fault, SuiteName};
use diagipc::fuzz::{
    CampaignOptions, CampaignProgress, CampaignSummary, CaseVerdict, Finding, FuzzCase, Seeds,
    run as campaign,
};
use diagipc::known::Profile;
use diagipc::{embedded, print};
use dotnet_diagnostics_ipc_vectors::Direction;
use dotnet_diagnostics_ipc_vectors::explain::Splitter;
use indicatif::{ProgressBar, ProgressDrawTarget};

use crate::commands::output::{Accepted, Json};
use crate::commands::printable::{json, plain};
use crate::commands::target::AddressArguments;
use crate::commands::text::{counted, mark, number_table};
use crate::commands::{Outcome, interrupt, output_file};

/// The maximum number of printed lines of the message that shows a cause.
const MAX_LINES: usize = 8;

/// Sends mutated requests to a live diagnostic server.
///
/// Reports which of them the server does not survive. The requests are valid ones of the vectors
/// with changed counts, numbers, strings, items, sizes and ends. After each, the target must answer
/// a complete ProcessInfo; its reply and, if known, the memory of its process are checked. Each
/// cause is one finding, with an example request for each command. With --spawn, findings are
/// shortened; each attempt uses a new target. The same seed gives the same cases in the same
/// version of this program.
#[derive(clap::Args)]
#[command(
    override_usage = "diagipc fuzz-server --allow-harmful [OPTIONS] <ENDPOINT>\n       diagipc fuzz-server --allow-harmful [OPTIONS] --spawn -- <COMMAND>...",
    after_long_help = exit_statuses!(
        "0      no finding, or only accepted ones",
        "1      a finding, or an accepted fault that is gone (--known)",
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

    /// Confirm that the target is yours and may die; required
    ///
    /// The requests may kill, block or exhaust the target, or make it leak memory.
    #[arg(long)]
    allow_harmful: bool,

    /// The seed from which all cases are made
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// How many cases to send
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    cases: u64,

    /// The number of the first case, to continue an earlier run
    #[arg(long, value_name = "N", default_value_t = 1)]
    first: u64,

    /// The most cases in a second
    #[arg(long, value_name = "N", default_value = "100")]
    rate: NonZeroU32,

    /// How long a ProcessInfo may take before the target counts as hanging
    #[arg(long, value_name = "MS", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    timeout: u64,

    /// With --spawn: the most messages sent to shorten a finding
    #[arg(long, value_name = "N", default_value_t = 64)]
    tries: u32,

    /// The runtime whose known faults name the findings: coreclr-10, strict, …
    ///
    /// Without it, this is the runtime that the target reports, if it behaves like that one.
    #[arg(long, value_name = "NAME")]
    profile: Option<Profile>,

    /// Write each finding to this directory
    ///
    /// NAME.json is an exchange script for `replay`; NAME.txt has the messages in words.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    #[command(flatten)]
    accepted: Accepted,

    #[command(flatten)]
    json: Json,

    /// List the cases without sending them
    #[arg(long, conflicts_with_all = ["json", "out", "known", "write_known", "endpoint", "spawn"])]
    list: bool,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let seeds = Seeds::of(embedded::vectors()?);
    if arguments.list {
        return list(arguments, &seeds, out);
    }
    if !arguments.allow_harmful {
        bail!(
            "this may kill, block or exhaust the target: --allow-harmful confirms that it is yours"
        );
    }
    let address = arguments.address.address()?;
    if let Some(directory) = &arguments.out {
        fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    }
    let within = Duration::from_millis(arguments.timeout);
    let options = CampaignOptions {
        seed: arguments.seed,
        first: arguments.first,
        cases: arguments.cases,
        rate: arguments.rate,
        within,
        tries: arguments.tries,
        profile: arguments.profile,
        canceller: Some(interrupt::canceller()?),
    };
    let target = if arguments.json.is_printed() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(arguments.cases), target);
    // Files that cannot be written are reported last.
    let mut written = Ok(());
    let mut summary = campaign(&seeds, &address, &options, &mut |news| match news {
        CampaignProgress::Played(..) => bar.inc(1),
        CampaignProgress::Found(finding) | CampaignProgress::Further(finding) => {
            let is_new = matches!(news, CampaignProgress::Found(_));
            let wrote = bar.suspend(|| found(finding, is_new, arguments, within, out));
            if written.is_ok() {
                written = wrote;
            }
        }
    });
    bar.finish_and_clear();
    let names = CampaignSummary::case_names();
    let (accepted, kept) = arguments.accepted.apply(summary.report(), &names, false);
    summary.accept(&accepted);
    let summary = summary;
    let reported = arguments.json.write(&summary);
    if arguments.json.is_printed() {
        json(&summary, out)?;
    } else {
        text(&summary, out)?;
    }
    out.flush()?;
    written.and(kept).and(reported)?;
    if let (Some(_), Some(signal)) = (&summary.interrupted, interrupt::signal()) {
        return Ok(Outcome::Interrupted(signal));
    }
    Ok(match (&summary.lost, is_passed(&summary)) {
        (Some(_), _) => Outcome::Lost,
        (None, true) => Outcome::Well,
        (None, false) => Outcome::Faulty,
    })
}

/// Returns whether every finding is accepted, and every accepted finding was found.
fn is_passed(summary: &CampaignSummary) -> bool {
    summary.failures().next().is_none() && summary.stale.is_empty()
}

fn list(arguments: &Arguments, seeds: &Seeds, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    for nth in 0..arguments.cases {
        let Some(case) =
            arguments.first.checked_add(nth).and_then(|number| seeds.case(arguments.seed, number))
        else {
            break;
        };
        let FuzzCase { number, message, delivery, .. } = &case;
        writeln!(
            out,
            "{number}  {}  {}  {}  {}",
            case.command(),
            case.mutation(),
            delivery.name(),
            hex::encode(message)
        )?;
    }
    Ok(Outcome::Well)
}

/// Reports a finding with a new cause, and writes its files.
fn found(
    finding: &Finding,
    is_new: bool,
    arguments: &Arguments,
    within: Duration,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    if !arguments.json.is_printed() && is_new {
        writeln!(out, "{}", plain(&finding.to_string()))?;
        out.flush()?;
    }
    match &arguments.out {
        Some(directory) => write(finding, directory, within),
        None => Ok(()),
    }
}

fn write(finding: &Finding, directory: &Path, within: Duration) -> anyhow::Result<()> {
    let json = directory.join(format!("{}.json", finding.name()));
    let mut script = serde_json::to_vec_pretty(&finding.script_file(within))?;
    script.push(b'\n');
    output_file::write(&json, &script)?;
    let text = directory.join(format!("{}.txt", finding.name()));
    let mut words = Vec::new();
    writeln!(words, "{finding}\n\nThe message, {}:\n", finding.minimised.delivery.name())?;
    message(&finding.minimised.message, &mut words)?;
    if finding.minimised != finding.case {
        writeln!(words, "As found, {}:\n", finding.case.delivery.name())?;
        message(&finding.case.message, &mut words)?;
    }
    output_file::write(&text, &words)
}

fn message(bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    for item in Splitter::new(bytes, Some(Direction::Client), None) {
        print::explained(out, &item, bytes)?;
    }
    Ok(())
}

fn text(summary: &CampaignSummary, out: &mut dyn Write) -> anyhow::Result<()> {
    let came: Vec<CaseVerdict> =
        CaseVerdict::ALL.iter().copied().filter(|verdict| summary.of(*verdict) > 0).collect();
    let names = came.iter().map(|verdict| verdict.name());
    let mut table = number_table(["command", "cases"].into_iter().chain(names));
    for row in &summary.commands {
        let counts =
            came.iter().map(|verdict| mark(row.verdicts.get(verdict).copied().unwrap_or_default()));
        let all = row.verdicts.values().sum::<u64>().to_string();
        table.add_row([plain(&row.command), all].into_iter().chain(counts));
    }
    let all = came.iter().map(|verdict| mark(summary.of(*verdict)));
    table.add_row(["all".to_owned(), summary.cases.to_string()].into_iter().chain(all));
    writeln!(out, "\n{table}")?;
    if let Some(reason) = &summary.lost {
        writeln!(out, "\nLOST  {}", plain(reason))?;
    }
    if let Some(interrupted) = &summary.interrupted {
        writeln!(out, "\nINTERRUPTED  {} cases were not run", interrupted.not_run)?;
    }
    let about: Vec<&str> =
        [&summary.runtime, &summary.profile].into_iter().flatten().map(String::as_str).collect();
    let about =
        if about.is_empty() { String::new() } else { format!(" ({})", plain(&about.join(", "))) };
    let known = summary.findings.iter().filter(|finding| finding.known.is_some()).count();
    let last = summary.first.saturating_add(summary.cases).saturating_sub(1);
    writeln!(
        out,
        "\n{}{about}: seed {}, cases {} to {last}, {} starts, {} findings, {known} of them known",
        plain(&summary.target),
        summary.seed,
        summary.first,
        summary.starts,
        summary.findings.len()
    )?;
    let word = match (&summary.lost, &summary.interrupted, is_passed(summary)) {
        (Some(_), ..) => "LOST",
        (None, Some(_), _) => "INTERRUPTED",
        (None, None, true) => "PASSED",
        (None, None, false) => "FAILED",
    };
    let causes = counted(summary.failures().count(), "cause");
    let accepted = match summary.accepted.len() {
        0 => String::new(),
        n => format!(", {n} accepted"),
    };
    writeln!(out, "{word}: {causes} in {} cases{accepted}", summary.cases)?;
    for entry in &summary.stale {
        writeln!(out, "STALE  {}", plain(entry))?;
    }
    summary.failures().try_for_each(|finding| cause(finding, out))
}

/// Writes a cause: how often and by which commands it was found, its shortest message, and the fix.
fn cause(finding: &Finding, out: &mut dyn Write) -> anyhow::Result<()> {
    let fact = finding.known.as_ref().map(|known| format!(" ({})", known.fact)).unwrap_or_default();
    let commands = finding.further.iter().map(Finding::command).map(|command| command.to_string());
    let commands: Vec<_> = std::iter::once(finding.command().to_string()).chain(commands).collect();
    let line = format!(
        "{} {}{fact}: {} cases, by {}",
        finding.number,
        finding.cause(),
        finding.times,
        commands.join(", ")
    );
    writeln!(out, "\nCAUSE  {}", plain(&line))?;
    let mut bytes = Vec::new();
    message(&finding.minimised.message, &mut bytes)?;
    let bytes = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = bytes.trim_end().lines().collect();
    for (nth, line) in lines.iter().take(MAX_LINES).enumerate() {
        let whose = if nth == 0 { "sent by diagipc: " } else { "" };
        writeln!(out, "  {whose}{}", plain(line))?;
    }
    if lines.len() > MAX_LINES {
        writeln!(out, "    … {} more lines (--out)", lines.len() - MAX_LINES)?;
    }
    if let Some(fault) = Fault::named(SuiteName::Fuzz, &finding.cause()) {
        writeln!(out, "  how to fix it: {}", fault.fix())?;
    }
    Ok(())
}
