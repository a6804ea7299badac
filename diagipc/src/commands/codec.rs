//! `diagipc codec`.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;

use anyhow::Context as _;
use diagipc::embedded::{self, VECTORS};
use diagipc::{
    Adapter, AdapterCommand, Lost, Program, Report,
    codec::{self, CodecCase},
};
use dotnet_diagnostics_ipc::io::Canceller;

use crate::commands::output::{MinJudged, Output, Progress};
use crate::commands::{Outcome, interrupt};

/// Checks a codec in any language against all golden vectors.
///
/// The command is an adapter: a program that answers questions on its standard input, one JSON
/// object per line. diagipc/adapters/README.md defines its protocol and the grading.
#[derive(clap::Args)]
#[command(
    after_long_help = exit_statuses!(
        "0      nothing failed",
        "1      a case failed, an accepted fault is gone (--known), or too few were judged (--min-judged)",
        "2      usage error",
        "3      the adapter cannot be started, or stopped answering",
        "128+n  interrupted by signal n: SIGHUP, SIGINT or SIGTERM",
    )
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    output: Output,

    /// The time limit of an answer
    #[arg(long, value_name = "MS", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    timeout: u64,

    #[command(flatten)]
    min_judged: MinJudged,

    /// Check this program's own codec
    #[arg(long = "self", conflicts_with = "adapter")]
    own: bool,

    /// The adapter and its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present_any = ["own", "list"])]
    adapter: Vec<OsString>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let files = embedded::vectors()?;
    let all = codec::cases(files);
    let (cases, suite) = arguments.output.choose(all, &[VECTORS])?;
    if arguments.output.is_list() {
        return Output::list(&cases, out);
    }
    #[cfg(unix)]
    crate::commands::interrupt::own()?;
    let mut command = arguments.adapter.iter().cloned();
    let program = match command.next() {
        Some(program) => Program::new(program, command),
        None => Program::new(env::current_exe().context("the path of this program")?, ["adapter"]),
    };
    let command = AdapterCommand { program, deadline: Duration::from_millis(arguments.timeout) };
    let canceller = interrupt::canceller()?;
    let mut report = ask(&cases, command, canceller, &arguments.output);
    arguments.min_judged.apply(&mut report);
    arguments.output.write(report, &suite, out)
}

fn ask(
    cases: &[CodecCase<'_>],
    command: AdapterCommand,
    canceller: Canceller,
    output: &Output,
) -> Report {
    let target = command.program.to_string();
    match Adapter::start(command) {
        Ok(adapter) => {
            let mut adapter = adapter.with_canceller(canceller);
            let progress = Progress::new(cases.len(), output);
            let mut report =
                codec::run(cases, &mut adapter, output.require(), &mut |case| progress.done(case));
            if report.interrupted.is_none() {
                report.notes.extend(adapter.finish());
            }
            report
        }
        Err(trouble) => {
            let mut report = Report::new("codec", &target);
            report.lost = Some(Lost { reason: trouble.to_string(), not_run: cases.len() });
            report
        }
    }
}
