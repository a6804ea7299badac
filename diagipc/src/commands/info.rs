//! `diagipc info`: what a process reports about itself.

use std::io::Write;

use diagipc::process::Suspended;

use crate::commands::printable::{json, printable};
use crate::commands::runtime_info::Info;
use crate::commands::target::{TargetArguments, outcome};
use crate::commands::{Outcome, interrupt};

/// Shows what a process reports about itself.
///
/// That is its command line, its version, … Sends `ProcessInfo3`, and older versions if the runtime
/// does not know it.
#[derive(clap::Args)]
#[command(
    after_long_help = exit_statuses!(
        "0      the process has answered",
        "1      the runtime does not know ProcessInfo",
        "2      usage error",
        "3      the process cannot be reached",
        "128+n  interrupted by signal n: SIGHUP, SIGINT or SIGTERM",
    )
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: TargetArguments,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let found = arguments.target.client(interrupt::canceller()?);
    let asked = found.and_then(|client| Info::ask(&client));
    let shown = asked.and_then(|info| {
        if arguments.json {
            return Ok(json(&info, out)?);
        }
        let mut rows = info.rows();
        let process_id = u32::try_from(info.0.process_id).ok();
        let waits = process_id.and_then(Suspended::of);
        rows.extend(waits.map(|waits| ("state", waits.to_string())));
        Ok(rows
            .iter()
            .try_for_each(|(name, text)| writeln!(out, "{name:14}  {}", printable(text)))?)
    });
    outcome("info", shown)
}
