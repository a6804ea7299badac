//! `diagipc codec`.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context as _, bail};
use comfy_table::{CellAlignment, Table, presets::NOTHING};
use dotnet_diagnostics_ipc::conformance::{
    Adapter, AdapterCommand, Case, Counts, Detail, Glob, Lost, Report,
    codec::{self, CodecCase},
};

use crate::Outcome;
use crate::vectors::shortened;

/// Asks a codec in any language everything that the golden vectors know.
///
/// The command is an adapter: a program that answers questions on its standard input, one JSON object a line. Its protocol, and what
/// is judged how, is in vectors/adapters/README.md.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 nothing failed, 1 something did, 2 usage, 3 the adapter cannot be started, or does not answer any more."
)]
pub(crate) struct Arguments {
    /// Ask only the cases that this pattern chooses, by name, file, group, tcId, operation, type or command
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,

    /// Count it as failed where the codec does not have what this pattern chooses
    #[arg(long, value_name = "GLOB")]
    require: Vec<String>,

    /// How long an answer may take
    #[arg(long, value_name = "MS", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    timeout: u64,

    /// Print JSON: every case, with what was seen where it did not pass
    #[arg(long)]
    json: bool,

    /// List the cases, and ask nobody
    #[arg(long, conflicts_with_all = ["json", "require"])]
    list: bool,

    /// Ask this program's own codec
    #[arg(long = "self", conflicts_with = "adapter")]
    own: bool,

    /// The adapter and its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present_any = ["own", "list"])]
    adapter: Vec<OsString>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let files = codec::embedded()?;
    let all = codec::cases(&files);
    let globs = |patterns: &[String]| patterns.iter().map(Glob::new).collect::<Vec<_>>();
    let (only, require) = (globs(&arguments.only), globs(&arguments.require));
    for glob in only.iter().chain(&require) {
        // A pattern that chooses nothing would make a run that says nothing look good.
        if !all.iter().any(|case| case.is_chosen(glob)) {
            bail!("no case is chosen by {glob}");
        }
    }
    let chosen = |case: &CodecCase<'_>| only.is_empty() || only.iter().any(|glob| case.is_chosen(glob));
    let cases: Vec<_> = all.into_iter().filter(chosen).collect();
    if arguments.list {
        for case in &cases {
            writeln!(out, "{}", case.name())?;
        }
        return Ok(Outcome::Well);
    }
    let mut command = arguments.adapter.iter().cloned();
    let (program, rest) = match command.next() {
        Some(program) => (program, command.collect()),
        None => (env::current_exe().context("this program's own file")?.into(), vec!["adapter".into()]),
    };
    let command = AdapterCommand { program, arguments: rest, deadline: Duration::from_millis(arguments.timeout) };
    let report = ask(&cases, command, &require);
    if arguments.json {
        serde_json::to_writer_pretty(&mut *out, &report)?;
        writeln!(out)?;
    } else {
        text(&report, out)?;
    }
    Ok(match (&report.lost, report.counts.fail) {
        (Some(_), _) => Outcome::Lost,
        (None, 0) => Outcome::Well,
        (None, _) => Outcome::Faulty,
    })
}

fn ask(cases: &[CodecCase<'_>], command: AdapterCommand, require: &[Glob]) -> Report {
    let target = command.to_string();
    match Adapter::start(command) {
        Ok(mut adapter) => {
            let mut report = codec::run(cases, &mut adapter, require);
            report.notes.extend(adapter.finish());
            report
        }
        Err(trouble) => {
            let mut report = Report::new("codec", &target);
            report.lost = Some(Lost { reason: trouble.to_string(), not_run: cases.len() });
            report
        }
    }
}

pub(crate) fn text(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(["file", "cases", "pass", "lenient", "unimplemented", "informational", "fail"]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for section in &report.sections {
        table.add_row(row(&section.name, &section.counts));
    }
    if report.sections.len() > 1 {
        table.add_row(row("all", &report.counts));
    }
    if !report.sections.is_empty() {
        writeln!(out, "{table}")?;
    }
    for case in report.failures() {
        failure(case, out)?;
    }
    for note in &report.notes {
        writeln!(out, "\nNOTE  {}", shortened(note))?;
    }
    if let Some(Lost { reason, not_run }) = &report.lost {
        writeln!(out, "\nLOST  {}; {not_run} cases were not run", shortened(reason))?;
    }
    let Counts { pass, pass_lenient, unimplemented, informational, fail } = report.counts;
    writeln!(
        out,
        "\n{}: {} cases, {pass} passed, {pass_lenient} passed leniently, {unimplemented} unimplemented, {informational} informational, {fail} failed",
        report.target,
        report.counts.all()
    )?;
    Ok(())
}

fn row(name: &str, counts: &Counts) -> [String; 7] {
    let Counts { pass, pass_lenient, unimplemented, informational, fail } = *counts;
    let mark = |count: usize| if count == 0 { String::new() } else { count.to_string() };
    [
        name.to_owned(),
        counts.all().to_string(),
        mark(pass),
        mark(pass_lenient),
        mark(unimplemented),
        mark(informational),
        mark(fail),
    ]
}

fn failure(case: &Case, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "\n{}: {}", case.name, case.title)?;
    if !case.spec.is_empty() {
        writeln!(out, "  facts     {}", case.spec.join(", "))?;
    }
    if let Some(Detail { sent, expected, seen, found }) = &case.detail {
        writeln!(out, "  sent      {}", shortened(&sent.to_string()))?;
        writeln!(out, "  expected  {}", shortened(expected))?;
        writeln!(out, "  seen      {}", shortened(&seen.to_string()))?;
        for line in found {
            writeln!(out, "  FAILED    {}", shortened(line))?;
        }
    }
    Ok(())
}
