//! The output of every suite, and the selection of its cases.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anstyle::AnsiColor;
use anyhow::bail;
use comfy_table::{CellAlignment, Table, presets::NOTHING};
use diagipc::report::{Made, html, junit};
use diagipc::{Case, Citations, Counts, Glob, Grade, Interrupted, Lost, Report};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::commands::colours::Colours;
use crate::commands::printable::plain;
use crate::commands::{Outcome, causes, interrupt, output_file};

/// The options that all suites share.
#[derive(clap::Args)]
pub(crate) struct Output {
    /// Run only the cases that match this pattern. May be repeated
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    only: Vec<Glob>,

    /// Leave out the cases that match this pattern, even those of --only. May be repeated
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    except: Vec<Glob>,

    /// Count a case that matches this pattern as failed if the target does not support it
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    require: Vec<Glob>,

    /// Print JSON: every case, with details of those that did not pass
    #[arg(long)]
    json: bool,

    /// Also write a `JUnit` report for build servers
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Also write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[expect(clippy::unnecessary_wraps, reason = "clap wants a Result")]
fn glob(pattern: &str) -> Result<Glob, std::convert::Infallible> {
    Ok(Glob::new(pattern))
}

impl Output {
    /// Whether any case is named.
    pub(crate) fn has_patterns(&self) -> bool {
        !(self.only.is_empty() && self.except.is_empty() && self.require.is_empty())
    }

    /// The cases of `all` selected by `--only` (all without it), except those of `--except`.
    ///
    /// A pattern that matches nothing is an error: an empty run would look successful. So is an
    /// empty selection.
    pub(crate) fn choose<C>(
        &self,
        mut all: Vec<C>,
        is_chosen: impl Fn(&C, &Glob) -> bool,
    ) -> anyhow::Result<Vec<C>> {
        for glob in self.only.iter().chain(&self.except).chain(&self.require) {
            if !all.iter().any(|case| is_chosen(case, glob)) {
                bail!("no case matches {glob}");
            }
        }
        if !self.only.is_empty() {
            all.retain(|case| self.only.iter().any(|glob| is_chosen(case, glob)));
        }
        all.retain(|case| !self.except.iter().any(|glob| is_chosen(case, glob)));
        if all.is_empty() {
            bail!("--except leaves no case");
        }
        Ok(all)
    }

    /// The patterns of `--require`.
    pub(crate) fn require(&self) -> &[Glob] {
        &self.require
    }

    /// Prints `report`, writes the requested files, and returns the exit status.
    pub(crate) fn write(&self, mut report: Report, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        report.made = Some(Made::now(own_command()));
        #[cfg(unix)]
        report.notes.extend(diagipc::ended_orphans());
        causes::annotate(&mut report)?;
        let report = &report;
        let citations = Citations::embedded();
        // The files first, since the reader of the output may close it; their result is reported
        // last.
        let files = self.files(report, &citations);
        if self.json {
            crate::commands::printable::json(report, out)?;
            writeln!(out)?;
        } else {
            text(report, &citations, out)?;
        }
        out.flush()?;
        files?;
        if let (Some(_), Some(signal)) = (&report.interrupted, interrupt::signal()) {
            return Ok(Outcome::Interrupted(signal));
        }
        let is_part = report.interrupted.is_some() || report.too_few_judged.is_some();
        Ok(match (&report.lost, report.counts.fail) {
            (Some(_), _) => Outcome::Lost,
            (None, 0) if !is_part => Outcome::Well,
            (None, _) => Outcome::Faulty,
        })
    }

    fn files(&self, report: &Report, citations: &Citations) -> anyhow::Result<()> {
        let write = |file: &Option<PathBuf>, make: &dyn Fn() -> Result<String, String>| match file {
            Some(file) => {
                let text = make().map_err(anyhow::Error::msg)?;
                output_file::write(file, text.as_bytes())
            }
            None => Ok(()),
        };
        let xml = write(&self.junit, &|| junit(report, citations));
        write(&self.html, &|| html(std::slice::from_ref(report), citations))?;
        xml
    }
}

/// This command line, without the arguments of the command after `--`: they may be secrets.
fn own_command() -> Vec<String> {
    let arguments = std::env::args_os().skip(1);
    let mut words = vec!["diagipc".to_owned()];
    words.extend(arguments.map(|argument| argument.to_string_lossy().into_owned()));
    if let Some(at) = words.iter().position(|word| word == "--") {
        let shown = at + 2;
        if words.len() > shown {
            words.splice(shown.., ["…".to_owned()]);
        }
    }
    words
}

/// A progress bar on standard error if it is a terminal. None otherwise, or with JSON.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new(cases: usize, output: &Output) -> Self {
        let target =
            if output.json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(cases as u64), target);
        // An invalid one leaves the library's default.
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}")
        {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// More cases, of another suite.
    #[cfg(unix)]
    pub(crate) fn expect(&self, cases: usize) {
        self.0.inc_length(cases as u64);
    }

    /// One case is graded. Failures are reported immediately, one line each on standard error.
    pub(crate) fn judged(&self, case: &Case) {
        if case.grade == Grade::Fail {
            let found = case
                .detail
                .as_ref()
                .and_then(|detail| detail.found.first())
                .map_or("", String::as_str);
            let line = format!("FAILED  {}: {}", plain(&case.name), plain(&beginning(found)));
            if self.0.is_hidden() {
                // Standard error may be closed; the report has it anyway.
                let _ = writeln!(std::io::stderr(), "{line}");
            } else {
                self.0.println(line);
            }
        }
        self.done(case);
    }

    /// One case is graded.
    pub(crate) fn done(&self, case: &Case) {
        self.named(&case.name);
    }

    /// The case of this name is graded.
    pub(crate) fn named(&self, name: &str) {
        self.0.set_message(plain(name));
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn text(report: &Report, citations: &Citations, out: &mut dyn Write) -> anyhow::Result<()> {
    let colours = Colours::of_output();
    if !report.sections.is_empty() {
        writeln!(out, "{}", table("section", &rows(report)))?;
    }
    causes::write(report, &colours, out)?;
    for case in report.failures() {
        failure(case, citations, &colours, out)?;
    }
    deviations(report, citations, &colours, out)?;
    lenient(report, out)?;
    lacking(report, out)?;
    for note in &report.notes {
        writeln!(out, "\nNOTE  {}", plain(note))?;
    }
    if let Some(Lost { reason, not_run }) = &report.lost {
        writeln!(
            out,
            "\n{}  {}; {} not run",
            colours.paint("LOST", AnsiColor::Red),
            plain(reason),
            were(*not_run)
        )?;
    }
    if let Some(Interrupted { not_run }) = report.interrupted {
        writeln!(
            out,
            "\n{}  {} not run",
            colours.paint("INTERRUPTED", AnsiColor::Red),
            were(not_run)
        )?;
    }
    if let Some(few) = &report.too_few_judged {
        writeln!(
            out,
            "\n{}  {few}: the run does not pass (--min-judged)",
            colours.paint("TOO FEW JUDGED", AnsiColor::Red)
        )?;
    }
    let Counts { pass, pass_lenient, unimplemented, informational, fail } = report.counts;
    let about: Vec<String> =
        [&report.runtime, &report.profile].into_iter().flatten().map(|text| plain(text)).collect();
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
    let is_whole =
        report.lost.is_none() && report.interrupted.is_none() && report.too_few_judged.is_none();
    let colour = if fail == 0 && is_whole { AnsiColor::Green } else { AnsiColor::Red };
    let failed = colours.paint(&format!("{fail} failed"), colour);
    writeln!(
        out,
        "\n{}{about}: {}, {pass} passed, {pass_lenient} passed leniently, {unimplemented} unimplemented, {informational} informational, {failed}",
        plain(&report.target),
        causes::counted(report.counts.all(), "case")
    )?;
    Ok(())
}

fn were(cases: usize) -> String {
    if cases == 1 { "1 case was".to_owned() } else { format!("{cases} cases were") }
}

/// The sections, and their total if there are several.
fn rows(report: &Report) -> Vec<(String, Counts)> {
    let mut rows: Vec<_> =
        report.sections.iter().map(|section| (section.name.clone(), section.counts)).collect();
    if rows.len() > 1 {
        rows.push(("all".to_owned(), report.counts));
    }
    rows
}

/// A table of counts.
pub(crate) fn table(first: &str, rows: &[(String, Counts)]) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header([
        first,
        "cases",
        "pass",
        "lenient",
        "unimplemented",
        "informational",
        "fail",
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for (name, counts) in rows {
        let mark = |grade| {
            Some(counts.of(grade))
                .filter(|count| *count > 0)
                .map_or_else(String::new, |count| count.to_string())
        };
        table.add_row(
            [plain(name), counts.all().to_string()].into_iter().chain(Grade::ALL.map(mark)),
        );
    }
    table
}

fn failure(
    case: &Case,
    citations: &Citations,
    colours: &Colours,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    writeln!(out, "\n{}: {}", plain(&case.name), plain(&case.title))?;
    for id in case.cited() {
        writeln!(out, "  {id:<8}  {}", plain(citations.line(id).unwrap_or("unknown")))?;
    }
    if let Some(detail) = &case.detail {
        let turns = detail.turns();
        let is_conversation = turns.is_some();
        for turn in turns.into_iter().flatten() {
            writeln!(out, "  {}", plain(&turn.to_string()))?;
        }
        if !is_conversation {
            writeln!(out, "  sent      {}", plain(&detail.sent.json()))?;
        }
        writeln!(out, "  expected  {}", plain(&detail.expected))?;
        if !is_conversation {
            writeln!(out, "  seen      {}", plain(&detail.seen.json()))?;
        }
        // The fault's section has its details.
        for line in
            detail.found.iter().filter(|line| !case.faults.iter().any(|fault| fault.text == **line))
        {
            writeln!(out, "  {}    {}", colours.paint("FAILED", AnsiColor::Red), plain(line))?;
        }
        for line in &detail.about {
            writeln!(out, "  about     {}", plain(line))?;
        }
    }
    for fault in &case.faults {
        writeln!(
            out,
            "  {}     {}: {}",
            colours.paint("FAULT", AnsiColor::Red),
            plain(&fault.name),
            plain(&fault.text)
        )?;
    }
    Ok(())
}

/// The known deviations by fact, with the observation in each case.
fn deviations(
    report: &Report,
    citations: &Citations,
    colours: &Colours,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let is_strict = report.profile.as_deref() == Some("strict");
    let mut by_fact: BTreeMap<&str, Vec<(&Case, &str)>> = BTreeMap::new();
    for (case, deviation) in report.deviations() {
        // The heading says it all of an unknown runtime: what this target does is worth a line.
        let found = case.detail.as_ref().and_then(|detail| detail.found.first());
        let text = found.filter(|_| is_strict).unwrap_or(&deviation.text);
        by_fact.entry(&deviation.fact).or_default().push((case, text));
    }
    if !by_fact.is_empty() {
        let heading = if is_strict {
            "Differences from runtimes where the document leaves it open, and what the target does:"
        } else {
            "Known deviations of this target:"
        };
        writeln!(out, "\n{heading}")?;
    }
    for (fact, cases) in by_fact {
        let line = plain(citations.line(fact).unwrap_or("unknown"));
        writeln!(out, "\n  {}  {line}", colours.paint(fact, AnsiColor::Yellow))?;
        for (case, text) in cases {
            writeln!(out, "    {}: {}", plain(&case.name), plain(text))?;
        }
    }
    Ok(())
}

/// The cases that passed leniently.
fn lenient(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut cases = report.cases.iter().filter(|case| case.grade == Grade::PassLenient).peekable();
    if cases.peek().is_some() {
        writeln!(out, "\nPassed leniently: correct, where a stricter implementation refuses:")?;
    }
    cases.try_for_each(|case| {
        Ok(writeln!(out, "  {}: {}", plain(&case.name), plain(&beginning(&case.title)))?)
    })
}

/// What the target does not support: one line each, sorted by number of cases.
fn lacking(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut cases_by_lack: BTreeMap<&str, usize> = BTreeMap::new();
    for case in report.cases.iter().filter(|case| case.grade == Grade::Unimplemented) {
        let found = case
            .detail
            .as_ref()
            .and_then(|detail| detail.found.first())
            .map_or("no reason given", String::as_str);
        let cases = cases_by_lack.entry(found).or_default();
        *cases += 1;
    }
    if !cases_by_lack.is_empty() {
        writeln!(
            out,
            "\nWhat the target does not support, {}:",
            causes::counted(report.counts.unimplemented, "case")
        )?;
    }
    let mut lacks: Vec<(&str, usize)> = cases_by_lack.into_iter().collect();
    lacks.sort_by_key(|(_, cases)| Reverse(*cases));
    for (lack, cases) in lacks {
        writeln!(out, "  {cases:>5}  {}", plain(&beginning(lack)))?;
    }
    Ok(())
}

/// The beginning of the report's full text.
fn beginning(text: &str) -> String {
    const MOST: usize = 120;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
