//! The results of a run, in the same form for every suite.
//!
//! Their JSON is format 1 of `diagipc/schema/report.schema.json`, which `diagipc/schema/REPORTS.md`
//! documents.
//! # Example
//!
//! Write a report as JSON and as a page:
//!
//! ```
//! use diagipc::{Case, Citations, Grade, Report, report};
//!
//! let mut run = Report::new("server", "process 4711");
//! run.add(Case::new("requests/process/8110", "requests", "process", "A resume", Grade::Pass));
//! assert_eq!(serde_json::to_value(&run)?["counts"]["pass"], 1);
//! assert!(report::html(&[run], &Citations::embedded())?.contains("process 4711"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cause;
mod citations;
mod comparison;
mod known_text;
mod pages;
mod select;
mod turn;

use std::collections::BTreeSet;
use std::time::Duration;

use dotnet_diagnostics_ipc_vectors::Hazard;
use serde::{Deserialize, Serialize};

pub use cause::{CaseFault, Cause};
pub use citations::{Citations, Glossary, Level, Requirement, cited};
pub use comparison::{Comparison, KnownFaults};
pub use dotnet_diagnostics_ipc_vectors::player::TurnDirection;
pub use pages::{html, junit};
pub use select::{Glob, Playable};
pub use turn::{Said, Turn};

const FORMAT: u32 = 1;

named! {
    /// The result of a case, best first.
    ///
    #[cfg_attr(doc, doc = include_str!("../pictures/grades.svg"))]
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    Grade {
        /// Correct.
        Pass = "pass",
        /// Allowed, although a stricter implementation would refuse.
        PassLenient = "pass-lenient",
        /// The target reports that it does not support this.
        Unimplemented = "unimplemented",
        /// Neither a pass nor a failure: known, accepted, or left open.
        Informational = "informational",
        /// Wrong.
        Fail = "fail",
    }
}

/// The number of cases with each grade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Counts {
    /// [`Grade::Pass`].
    pub pass: usize,
    /// [`Grade::PassLenient`].
    pub pass_lenient: usize,
    /// [`Grade::Unimplemented`].
    pub unimplemented: usize,
    /// [`Grade::Informational`].
    pub informational: usize,
    /// [`Grade::Fail`].
    pub fail: usize,
}

impl Counts {
    /// Adds a case.
    pub fn add(&mut self, grade: Grade) {
        *self.count(grade) += 1;
    }

    /// Returns the number of cases with one grade.
    pub fn of(mut self, grade: Grade) -> usize {
        *self.count(grade)
    }

    fn count(&mut self, grade: Grade) -> &mut usize {
        match grade {
            Grade::Pass => &mut self.pass,
            Grade::PassLenient => &mut self.pass_lenient,
            Grade::Unimplemented => &mut self.unimplemented,
            Grade::Informational => &mut self.informational,
            Grade::Fail => &mut self.fail,
        }
    }

    /// Returns the number of judged cases, which are all except unimplemented ones.
    pub fn judged(&self) -> usize {
        self.all().saturating_sub(self.unimplemented)
    }

    /// Returns the number of all cases.
    pub fn all(&self) -> usize {
        Grade::ALL.iter().map(|grade| self.of(*grade)).sum()
    }
}

/// A case and its grade.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// The name, unique in the suite and stable, such as `grammar/grammar-string/1200/decode`.
    pub name: String,
    /// The section by which cases are counted, which is the file for vectors and scripts.
    pub section: String,
    /// The group within the section.
    pub group: String,
    /// A description of the case.
    pub title: String,
    /// The grade.
    pub grade: Grade,
    /// The facts (such as `F-19`) and requirements that it is based on.
    pub spec: Vec<String>,
    /// How strongly the document requires it.
    pub level: Level,
    /// The known behaviour of this runtime, if it behaved as known rather than as required. The
    /// grade is [`Grade::Informational`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<KnownDeviation>,
    /// A server's behaviour in fixed words, such as `0x80131384 left-open` or `as-written`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The named faults that were seen, such as `string-length-in-bytes`; empty if it passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<CaseFault>,
    /// The effect on a live target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hazard: Option<Hazard>,
    /// The details, unless it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
    /// How long it took; zero in a report that was read. Only `JUnit` output has it.
    #[serde(skip)]
    pub took: Duration,
}

impl Case {
    /// Returns a case with a grade and nothing else.
    pub fn new(name: &str, section: &str, group: &str, title: &str, grade: Grade) -> Self {
        Self {
            name: name.to_owned(),
            section: section.to_owned(),
            group: group.to_owned(),
            title: title.to_owned(),
            grade,
            spec: Vec::new(),
            level: Level::default(),
            deviation: None,
            outcome: None,
            faults: Vec::new(),
            hazard: None,
            detail: None,
            took: Duration::ZERO,
        }
    }

    /// Returns the citations: [`Case::spec`], and the fact of the deviation.
    pub fn cited(&self) -> impl Iterator<Item = &str> {
        let fact = self
            .deviation
            .iter()
            .map(|deviation| &deviation.fact)
            .filter(|fact| !self.spec.contains(fact));
        self.spec.iter().chain(fact).map(String::as_str)
    }
}

/// A known behaviour of some runtimes that differs from the required one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnownDeviation {
    /// The fact, such as `F-5`.
    pub fact: String,
    /// The description.
    pub text: String,
}

/// The details of a case.
///
/// For a codec `sent` is its question and `seen` its answer, both as JSON. For a conversation they
/// are lists of [`Turn`]s, sent and received, made by [`Detail::conversation`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Detail {
    /// The input of the target, or the turns sent to it.
    pub sent: Said,
    /// The expected result.
    pub expected: String,
    /// The result, or null if there was none, or the turns received from the target.
    pub seen: Said,
    /// The findings, one line each.
    pub found: Vec<String>,
    /// Explanations, one line each, such as how a client was started and how it ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<String>,
}

impl Detail {
    /// Returns the details of a conversation, with its turns in order.
    pub fn conversation(
        turns: impl IntoIterator<Item = Turn>,
        expected: &str,
        found: Vec<String>,
    ) -> Self {
        let (sent, seen) = turn::split(turns);
        Self { sent, expected: expected.to_owned(), seen, found, about: Vec::new() }
    }

    /// Returns the turns of a conversation in order, or `None` if it is not a conversation.
    pub fn turns(&self) -> Option<Vec<&Turn>> {
        turn::join(&self.sent, &self.seen)
    }
}

/// The counts of a section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Section {
    /// The name.
    pub name: String,
    /// The counts of its cases.
    pub counts: Counts,
}

/// The loss of the target during a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lost {
    /// The reason.
    pub reason: String,
    /// How many cases were therefore not run.
    pub not_run: usize,
}

/// The early end of a run from outside, by a signal or by the canceller of its options.
///
/// ```
/// use diagipc::{Interrupted, Report};
///
/// let mut report = Report::new("server", "process 4711");
/// report.interrupted = Some(Interrupted { not_run: 7 });
/// let json = serde_json::to_value(&report)?;
/// assert_eq!(json["interrupted"]["notRun"], 7);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Interrupted {
    /// How many cases were therefore not run.
    pub not_run: usize,
}

/// Cases that were selected but not played, and what would play them.
///
/// ```
/// use diagipc::{NotPlayed, Report};
///
/// let mut report = Report::new("server", "process 4711");
/// report.not_played = vec![NotPlayed { count: 3, with: "--allow-harmful".into() }];
/// assert_eq!(report.verdict(), "PASSED: 0 judged, not played: 3 (--allow-harmful)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotPlayed {
    /// The number of cases.
    pub count: usize,
    /// The option that plays them, or `elsewhere` if this machine or target cannot (see the notes).
    pub with: String,
}

/// Cases that could not be judged, because two attempts timed out. Such a run does not pass.
///
/// ```
/// use diagipc::{NotJudged, Report};
///
/// let mut report = Report::new("server", "process 4711");
/// report.not_judged = Some(NotJudged { count: 28, why: "no connection to the port".into() });
/// assert_eq!(report.verdict(), "FAILED: 0 of 0 judged, not judged: 28");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotJudged {
    /// The number of cases.
    pub count: usize,
    /// What was not received, and how to leave these cases out.
    pub why: String,
}

/// Too few judged cases for a pass, although none failed.
///
/// ```
/// use diagipc::TooFewJudged;
///
/// assert_eq!(TooFewJudged::of(10, 100, 10), None);
/// let few = TooFewJudged::of(9, 100, 10).expect("9 are less than 10");
/// assert_eq!(few.to_string(), "only 9 of 100 cases were judged, expected 10 %: --only chooses what is supported, --min-judged 9 accepts it");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TooFewJudged {
    /// The number of judged cases, which are all except unimplemented ones.
    pub judged: usize,
    /// The number of cases in the run, except for those that the target's file does not claim.
    pub of: usize,
    /// The required percentage.
    pub least_percent: u8,
}

impl TooFewJudged {
    /// The default percentage of cases that must be judged.
    pub const LEAST_PERCENT: u8 = 10;

    /// Returns `None` if at least `least_percent` of the cases were judged.
    pub const fn of(judged: usize, of: usize, least_percent: u8) -> Option<Self> {
        let is_enough = judged * 100 >= of * least_percent as usize;
        if is_enough { None } else { Some(Self { judged, of, least_percent }) }
    }
}

impl std::fmt::Display for TooFewJudged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { judged, of, least_percent } = self;
        let percent = (judged * 100).checked_div(*of).unwrap_or_default();
        write!(
            f,
            "only {judged} of {of} cases were judged, expected {least_percent} %: --only chooses what is supported, --min-judged {percent} accepts it"
        )
    }
}

/// The report of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Report {
    /// The version of this format: 1.
    pub format: u32,
    /// The suite: `codec`, `server`, `client`, `vectors`, or `check` for several of them.
    pub suite: String,
    /// The target: an endpoint, or a command without its arguments except for a script.
    pub target: String,
    /// What the target says about itself, such as `.NET 10.0.9`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// The profile with the known deviations, such as `coreclr-10`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// When the report was made, and by which program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
    /// The counts of all cases.
    pub counts: Counts,
    /// The counts by section, in the order of the cases.
    pub sections: Vec<Section>,
    /// Why cases failed, as far as the faults have names, sorted by number of failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// The cases, in the order of the run.
    pub cases: Vec<Case>,
    /// Why the target was lost, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
    /// Set if the run was ended early, so that this is only a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<Interrupted>,
    /// Set if too few cases were judged for a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_few_judged: Option<TooFewJudged>,
    /// Cases that could not be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_judged: Option<NotJudged>,
    /// The selected cases that were not played.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_played: Vec<NotPlayed>,
    /// Entries of the accepted faults that must be removed before the run passes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<String>,
    /// Notes that do not belong to a case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Report {
    /// Returns an empty report.
    pub fn new(suite: &str, target: &str) -> Self {
        Self {
            format: FORMAT,
            suite: suite.to_owned(),
            target: target.to_owned(),
            ..Self::default()
        }
    }

    /// Reads a report from JSON.
    ///
    /// # Errors
    /// Returns why the text is not a report of this format, or contradicts itself.
    pub fn parse(json: &str) -> Result<Self, String> {
        let report: Self = serde_json::from_str(json).map_err(|error| error.to_string())?;
        if report.format != FORMAT {
            return Err(format!("format is {}, expected {FORMAT}", report.format));
        }
        let mut names = BTreeSet::new();
        if let Some(case) = report.cases.iter().find(|case| !names.insert(&case.name)) {
            return Err(format!("duplicate case {}", case.name));
        }
        let mut counted = Self::new(&report.suite, &report.target);
        report.cases.iter().for_each(|case| counted.count(case));
        if (counted.counts, &counted.sections) != (report.counts, &report.sections) {
            return Err("the counts do not match the cases".to_owned());
        }
        if !cause::are_the_same(&counted.causes, &report.causes) {
            return Err("the causes do not match the cases".to_owned());
        }
        Ok(report)
    }

    /// Adds another suite's report, with the suite before the names of its cases.
    pub fn absorb(&mut self, other: Self) {
        for mut case in other.cases {
            case.name = format!("{}/{}", other.suite, case.name);
            case.section = format!("{}/{}", other.suite, case.section);
            self.add(case);
        }
        self.notes.extend(other.notes.into_iter().map(|note| format!("{}: {note}", other.suite)));
        self.too_few_judged = self.too_few_judged.or(other.too_few_judged);
        self.not_judged = self.not_judged.take().or(other.not_judged);
        self.not_played.extend(other.not_played);
        self.stale.extend(other.stale);
        if let Some(Lost { reason, not_run }) = other.lost {
            let lost = self
                .lost
                .get_or_insert(Lost { reason: format!("{}: {reason}", other.suite), not_run: 0 });
            lost.not_run += not_run;
        }
        if let Some(Interrupted { not_run }) = other.interrupted {
            let interrupted = self.interrupted.get_or_insert(Interrupted { not_run: 0 });
            interrupted.not_run += not_run;
        }
    }

    /// Adds a case, and counts it.
    pub fn add(&mut self, case: Case) {
        self.count(&case);
        self.cases.push(case);
    }

    /// Returns the cases that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| case.grade == Grade::Fail)
    }

    /// Returns the reasons other than failures why the run is not a pass, as kind and reason.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let not_run = |count: usize| match count {
            1 => "1 case was not run".to_owned(),
            count => format!("{count} cases were not run"),
        };
        let lost = self.lost.as_ref();
        let lost = lost.map(|lost| ("lost", format!("{}; {}", lost.reason, not_run(lost.not_run))));
        let interrupted = self.interrupted.map(|one| ("interrupted", not_run(one.not_run)));
        let few = self.too_few_judged.map(|few| ("too-few-judged", few.to_string()));
        let not_judged = self.not_judged.as_ref().map(|NotJudged { count, why }| {
            let s = if *count == 1 { "" } else { "s" };
            ("not-judged", format!("{count} case{s}: {why}"))
        });
        let stale = |entry: &String| ("stale", format!("the accepted fault {entry}"));
        let problems = [lost, interrupted, few, not_judged].into_iter().flatten();
        problems.chain(self.stale.iter().map(stale)).collect()
    }

    /// Returns the verdict, such as `FAILED: 172 of 179 judged (2 only "should"), 4 causes, not played:
    /// 319 (--allow-harmful)`.
    pub fn verdict(&self) -> String {
        let mut verdict = self.verdict_of_the_played();
        if let Some(NotJudged { count, .. }) = self.not_judged {
            verdict = format!("{verdict}, not judged: {count}");
        }
        if self.not_played.is_empty() {
            return verdict;
        }
        let counts = self.not_played.iter().map(|one| format!("{} ({})", one.count, one.with));
        format!("{verdict}, not played: {}", counts.collect::<Vec<_>>().join(", "))
    }

    fn verdict_of_the_played(&self) -> String {
        let word = match (&self.lost, &self.interrupted, self.is_passed()) {
            (Some(_), ..) => "LOST",
            (None, Some(_), _) => "INTERRUPTED",
            (None, None, true) => "PASSED",
            (None, None, false) => "FAILED",
        };
        let judged = self.counts.judged();
        if self.is_passed() {
            return format!("{word}: {judged} judged");
        }
        let weaker = [Level::Should, Level::May].map(|level| {
            let count = self.failures().filter(|case| case.level == level).count();
            (count > 0).then(|| format!("{count} only \"{}\"", level.name()))
        });
        let weaker: Vec<String> = weaker.into_iter().flatten().collect();
        let weaker =
            weaker.first().map_or_else(String::new, |_| format!(" ({})", weaker.join(", ")));
        let causes = match self.causes.len() {
            0 => String::new(),
            1 => ", 1 cause".to_owned(),
            more => format!(", {more} causes"),
        };
        format!("{word}: {} of {judged} judged{weaker}{causes}", self.counts.fail)
    }

    /// Whether the run was complete, judged enough, and had no failure.
    pub fn is_passed(&self) -> bool {
        self.counts.fail == 0 && self.problems().is_empty()
    }

    /// Returns the cases with a known deviation. Known faults are failures instead.
    pub fn deviations(&self) -> impl Iterator<Item = (&Case, &KnownDeviation)> {
        let cases = self.cases.iter().filter(|case| case.grade == Grade::Informational);
        cases.filter_map(|case| Some((case, case.deviation.as_ref()?)))
    }

    fn count(&mut self, case: &Case) {
        self.counts.add(case.grade);
        cause::count(&mut self.causes, case);
        let mut known = self.sections.iter_mut();
        if let Some(section) = known.find(|section| section.name == case.section) {
            section.counts.add(case.grade);
        } else {
            let mut counts = Counts::default();
            counts.add(case.grade);
            self.sections.push(Section { name: case.section.clone(), counts });
        }
    }
}

/// When a report was made, and by which program.
///
/// ```
/// use diagipc::report::Made;
///
/// let made = Made::now(None, ["diagipc", "server", "--process-id", "4711"].map(String::from));
/// assert_eq!(made.by, concat!("diagipc ", env!("CARGO_PKG_VERSION")));
/// assert!(made.at.ends_with('Z'));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Made {
    /// The program and its version, such as `diagipc 0.1.0`.
    pub by: String,
    /// The version of the suite, which is a digest of its vectors, scripts or scenarios. It is the
    /// same on every machine, and absent if other files were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// The time in UTC, such as `2026-11-22T21:04:05Z`.
    pub at: String,
    /// The command line. After `--` it has only the program, and `…` for its arguments.
    pub command: Vec<String>,
}

impl Made {
    /// Returns the current time and this version, with this suite and command line.
    pub fn now(suite: Option<String>, command: impl IntoIterator<Item = String>) -> Self {
        let at = chrono::DateTime::<chrono::Utc>::from(std::time::SystemTime::now());
        Self {
            by: concat!("diagipc ", env!("CARGO_PKG_VERSION")).to_owned(),
            suite,
            at: at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
            command: command.into_iter().collect(),
        }
    }
}
