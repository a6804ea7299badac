//! The output of every suite, and the selection of its cases.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::hash::Hasher as _;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::bail;
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use diagipc::embedded::Texts;
use diagipc::known::harm_of;
use diagipc::report::{KnownFaults, Made, html, junit};
use diagipc::{Case, Citations, Glob, Grade, Playable, Report, TooFewJudged};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc_vectors::Hazard;
use fnv::FnvHasher;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::commands::printable::{json, plain};
use crate::commands::{Outcome, interrupt, output_file, text};

/// The share of cases that must be judged for a pass, in the suites of codecs and clients.
#[derive(clap::Args)]
pub(crate) struct MinJudged {
    /// This percentage of the cases must be judged, or the run does not pass: exit status 1
    #[arg(long = "min-judged", value_name = "PERCENT", default_value_t = TooFewJudged::LEAST_PERCENT, value_parser = clap::value_parser!(u8).range(0..=100))]
    percent: u8,
}

impl MinJudged {
    /// Notes in a report of all cases that too few were judged.
    pub(crate) fn apply(&self, report: &mut Report) {
        let counts = &report.counts;
        let judged = counts.judged().saturating_sub(counts.informational);
        if report.interrupted.is_none() && report.lost.is_none() {
            report.too_few_judged = TooFewJudged::of(judged, counts.all(), self.percent);
        }
    }
}

/// The options that all suites share.
#[derive(clap::Args)]
pub(crate) struct Output {
    /// Run only cases whose name matches this pattern; may be repeated
    ///
    /// The prefixes `rule:`, `fact:`, `command:` and `level:` match what a case cites instead of its
    /// name.
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    only: Vec<Glob>,

    /// Leave out cases that match this pattern, even those of --only
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    except: Vec<Glob>,

    /// Fail if the target does not support a case that matches this pattern
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    require: Vec<Glob>,

    #[command(flatten)]
    accepted: Accepted,

    /// Also print each case that did not pass, with all details
    #[arg(long, short)]
    verbose: bool,

    /// The target's name in the report
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,

    #[command(flatten)]
    json: Json,

    /// Also write a `JUnit` report for build servers
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Also write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// List the cases and their effects on a target, without playing them
    #[arg(long, conflicts_with_all = ["json", "junit", "html", "require", "known", "write_known"])]
    list: bool,
}

/// The files of accepted faults.
#[derive(clap::Args)]
pub(crate) struct Accepted {
    /// A file of accepted faults, whose failures do not fail the run
    ///
    /// New failures fail the run, and so do entries that no longer fail.
    #[arg(long, value_name = "FILE", value_parser = OsStringValueParser::new().try_map(|file| KnownFile::read(&file)))]
    known: Option<KnownFile>,

    /// Write a file for --known, with the faults that fail now
    ///
    /// Entries of --known that this run did not contradict are kept.
    #[arg(long, value_name = "FILE")]
    write_known: Option<PathBuf>,
}

/// A file of accepted faults, which is read before the run.
#[derive(Clone)]
struct KnownFile {
    text: String,
    faults: KnownFaults,
}

impl KnownFile {
    fn read(file: &OsStr) -> Result<Self, String> {
        let name = file.to_string_lossy();
        let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
        let faults = KnownFaults::parse(&name, &text)?;
        Ok(Self { text, faults })
    }
}

impl Accepted {
    /// Removes what is accepted from the report, and returns whether the new file was written.
    /// `names` are the names of all cases of the suite; a run is whole if it was to play all of them.
    pub(crate) fn apply(
        &self,
        report: Report,
        names: &BTreeSet<String>,
        is_whole: bool,
    ) -> (Report, anyhow::Result<()>) {
        let written = self.write_known.as_ref().map_or(Ok(()), |file| {
            let known = self.known.as_ref();
            let renewed = known.map(|known| known.faults.clone()).unwrap_or_default();
            let renewed = renewed.renewed(&report);
            // The file may be anything else; then nothing of it is kept.
            let old = || if file.is_file() { fs::read_to_string(file).ok() } else { None };
            let text = known.map(|known| known.text.clone()).or_else(old);
            let new = text.map_or_else(|| renewed.to_toml(), |text| renewed.edited(&text));
            output_file::write(file, new.as_bytes())
        });
        let report = match &self.known {
            Some(known) => known.faults.apply(report, names, is_whole),
            None => report,
        };
        (report, written)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "clap wants a Result")]
fn glob(pattern: &str) -> Result<Glob, std::convert::Infallible> {
    Ok(Glob::new(pattern))
}

/// The destination of the report as JSON.
#[derive(clap::Args)]
pub(crate) struct Json {
    /// Print JSON instead of text: every case or finding, with its details. With =FILE write it
    /// there, and still print the text
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "an option with an optional value")]
    json: Option<Option<PathBuf>>,
}

impl Json {
    /// Returns whether JSON is printed instead of text.
    pub(crate) fn is_printed(&self) -> bool {
        matches!(self.json, Some(None))
    }

    pub(crate) fn write(&self, value: &impl Serialize) -> anyhow::Result<()> {
        let Some(Some(file)) = &self.json else { return Ok(()) };
        let mut bytes = Vec::new();
        json(value, &mut bytes)?;
        output_file::write(file, &bytes)
    }
}

/// The whole suite.
pub(crate) struct WholeSuite {
    names: BTreeSet<String>,
    /// The value of [`Made::suite`].
    version: Option<String>,
}

/// A case of any suite, with the suite before its name.
pub(crate) struct OfSuite {
    pub(crate) name: String,
    pub(crate) spec: Vec<String>,
    pub(crate) commands: Vec<Command>,
    pub(crate) hazard: Option<Hazard>,
}

impl OfSuite {
    pub(crate) fn new(suite: &str, case: &impl Playable) -> Self {
        Self {
            name: format!("{suite}/{}", case.name()),
            spec: case.spec(),
            commands: case.commands(),
            hazard: case.hazard(),
        }
    }
}

impl Playable for OfSuite {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn words(&self) -> Vec<String> {
        Vec::new()
    }

    fn spec(&self) -> Vec<String> {
        self.spec.clone()
    }

    fn commands(&self) -> Vec<Command> {
        self.commands.clone()
    }

    fn hazard(&self) -> Option<Hazard> {
        self.hazard
    }
}

/// Returns a digest of the files; `None` without any.
fn version(files: &[Texts]) -> Option<String> {
    let mut hasher = FnvHasher::default();
    for (name, text) in files.iter().copied().flatten() {
        hasher.write(name.as_bytes());
        hasher.write(&text.digest);
    }
    (!files.is_empty()).then(|| format!("{:016x}", hasher.finish()))
}

impl Output {
    /// Returns the cases that `--only` selects (all without it), except those of `--except`.
    ///
    /// A pattern that matches nothing is an error, because an empty run would look successful. So
    /// is an empty selection. `files` are the files of the whole suite.
    pub(crate) fn choose<C: Playable>(
        &self,
        mut all: Vec<C>,
        files: &[Texts],
    ) -> anyhow::Result<(Vec<C>, WholeSuite)> {
        for glob in self.only.iter().chain(&self.except).chain(&self.require) {
            if !all.iter().any(|case| case.is_chosen(glob)) {
                bail!("no case matches {glob}: --list lists the cases");
            }
        }
        let names = all.iter().map(Playable::name).collect();
        if !self.only.is_empty() {
            all.retain(|case| self.only.iter().any(|glob| case.is_chosen(glob)));
        }
        all.retain(|case| !self.except.iter().any(|glob| case.is_chosen(glob)));
        if all.is_empty() {
            bail!("--except leaves no case");
        }
        if let Some(glob) =
            self.require.iter().find(|glob| !all.iter().any(|case| case.is_chosen(glob)))
        {
            bail!("--only and --except leave out every case of --require {glob}");
        }
        // A list has no report, and needs no version.
        let version = if self.list { None } else { version(files) };
        Ok((all, WholeSuite { names, version }))
    }

    pub(crate) fn is_list(&self) -> bool {
        self.list
    }

    /// Lists cases, with their effect on a live target.
    pub(crate) fn list<C: Playable>(cases: &[C], out: &mut dyn Write) -> anyhow::Result<Outcome> {
        for case in cases {
            let words = case.words();
            let hazard = match case.hazard() {
                None => String::new(),
                Some(Hazard::SideEffect) => "  side-effect".into(),
                Some(Hazard::Harmful) => {
                    format!("  {}", harm_of(words.last().map_or("", String::as_str)))
                }
            };
            writeln!(out, "{}{hazard}", case.name())?;
        }
        Ok(Outcome::Well)
    }

    pub(crate) fn require(&self) -> &[Glob] {
        &self.require
    }

    /// Prints `report`, which must be of this suite, writes the requested files, and returns the
    /// exit status.
    pub(crate) fn write(
        &self,
        mut report: Report,
        suite: &WholeSuite,
        out: &mut dyn Write,
    ) -> anyhow::Result<Outcome> {
        report.made = Some(Made::now(suite.version.clone(), own_command()));
        if let Some(name) = &self.name {
            report.target.clone_from(name);
        }
        report.notes.extend(diagipc::leftovers());
        let is_whole = self.only.is_empty() && self.except.is_empty();
        let (mut report, kept) = self.accepted.apply(report, &suite.names, is_whole);
        text::annotate(&mut report)?;
        let report = &report;
        let citations = Citations::embedded();
        // Write the files first, because writing the output may fail; report their result last.
        let files = self.files(report, &citations);
        if self.json.is_printed() {
            json(report, out)?;
        } else {
            text::write(report, &citations, self.verbose, out)?;
        }
        out.flush()?;
        kept.and(files)?;
        if let (Some(_), Some(signal)) = (&report.interrupted, interrupt::signal()) {
            return Ok(Outcome::Interrupted(signal));
        }
        Ok(match &report.lost {
            Some(_) => Outcome::Lost,
            None if report.is_passed() => Outcome::Well,
            None => Outcome::Faulty,
        })
    }

    fn files(&self, report: &Report, citations: &Citations) -> anyhow::Result<()> {
        let write = |file: Option<&PathBuf>, make: &dyn Fn() -> anyhow::Result<Vec<u8>>| match file
        {
            Some(file) => output_file::write(file, &make()?),
            None => Ok(()),
        };
        let text =
            |made: Result<String, String>| made.map(String::into_bytes).map_err(anyhow::Error::msg);
        let written = [
            self.json.write(report),
            write(self.junit.as_ref(), &|| text(junit(report, citations))),
            write(self.html.as_ref(), &|| text(html(std::slice::from_ref(report), citations))),
        ];
        written.into_iter().collect()
    }
}

/// Returns this command line without the arguments after `--`, which may be secrets.
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

/// A progress bar on standard error if that is a terminal; hidden otherwise, or with JSON.
pub(crate) struct Progress {
    bar: ProgressBar,
    failed: AtomicUsize,
}

impl Progress {
    pub(crate) fn new(cases: usize, output: &Output) -> Self {
        let target = if output.json.is_printed() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(cases as u64), target);
        // An invalid template leaves the library's default.
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}")
        {
            bar.set_style(style);
        }
        Self { bar, failed: AtomicUsize::new(0) }
    }

    /// Adds the cases of another suite.
    #[cfg(unix)]
    pub(crate) fn expect(&self, cases: usize) {
        self.bar.inc_length(cases as u64);
    }

    pub(crate) fn done(&self, case: &Case) {
        self.named(&case.name, case.grade);
    }

    pub(crate) fn named(&self, name: &str, grade: Grade) {
        let Self { bar, failed } = self;
        let failed = match grade {
            Grade::Fail => failed.fetch_add(1, Ordering::Relaxed) + 1,
            _ => failed.load(Ordering::Relaxed),
        };
        bar.set_message(format!("{failed} failed  {}", plain(name)));
        bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client whose cases are nearly all informational was not judged.
    #[test]
    fn run_of_informational_cases_does_not_pass() {
        let mut report = Report::new("client", "my-client");
        (report.counts.pass, report.counts.informational) = (9, 89);
        MinJudged { percent: 10 }.apply(&mut report);
        assert_eq!(report.too_few_judged.map(|few| (few.judged, few.of)), Some((9, 98)));
        MinJudged { percent: 9 }.apply(&mut report);
        assert_eq!(report.too_few_judged, None);
    }
}
