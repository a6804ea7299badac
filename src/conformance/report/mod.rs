//! What a run found: plain data, the same for every suite.
//!
//! As JSON it is format 1 of `vectors/schema/report.schema.json`, which `vectors/schema/REPORTS.md` explains.

mod cause;
mod citations;
mod glossary;
mod html;
mod junit;
mod made;
mod requirements;
mod turn;

use alloc::{
    borrow::ToOwned as _,
    collections::BTreeSet,
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use serde::{Deserialize, Serialize};

use crate::vectors::{Hazard, Value};

pub use super::player::TurnDirection;
pub use cause::{CaseFault, Cause};
pub use citations::Citations;
pub use glossary::Glossary;
pub use html::html;
pub use junit::junit;
pub use made::Made;
pub use requirements::Requirement;
pub use turn::Turn;

/// The version of the form.
const FORMAT: u32 = 1;

/// What became of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// As it must be.
    Pass,
    /// Allowed, where a stricter implementation refuses.
    PassLenient,
    /// The target says that it does not have this.
    Unimplemented,
    /// Seen and not judged.
    Informational,
    /// Not as it must be.
    Fail,
}

impl Grade {
    /// All of them, from the best.
    pub const ALL: [Self; 5] = [Self::Pass, Self::PassLenient, Self::Unimplemented, Self::Informational, Self::Fail];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::PassLenient => "pass-lenient",
            Self::Unimplemented => "unimplemented",
            Self::Informational => "informational",
            Self::Fail => "fail",
        }
    }
}

/// How many cases have which grade.
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
    /// One case more.
    pub fn add(&mut self, grade: Grade) {
        let count = match grade {
            Grade::Pass => &mut self.pass,
            Grade::PassLenient => &mut self.pass_lenient,
            Grade::Unimplemented => &mut self.unimplemented,
            Grade::Informational => &mut self.informational,
            Grade::Fail => &mut self.fail,
        };
        *count = count.saturating_add(1);
    }

    /// Cases of one grade.
    pub fn of(&self, grade: Grade) -> usize {
        match grade {
            Grade::Pass => self.pass,
            Grade::PassLenient => self.pass_lenient,
            Grade::Unimplemented => self.unimplemented,
            Grade::Informational => self.informational,
            Grade::Fail => self.fail,
        }
    }

    /// Cases of any grade.
    pub fn all(&self) -> usize {
        Grade::ALL.into_iter().fold(0, |all, grade| all.saturating_add(self.of(grade)))
    }
}

/// One case and its grade.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// Unique in the suite, and the same in every run: `grammar/grammar-string/1200/decode`.
    pub name: String,
    /// What the counts are kept for: of vectors and scripts, the file.
    pub section: String,
    /// The group within it.
    pub group: String,
    /// What is special.
    pub title: String,
    /// The grade.
    pub grade: Grade,
    /// What it rests on: facts (`F-19`), requirements.
    pub spec: Vec<String>,
    /// That it went as this runtime is known to go, and not as it must. The grade is [`Grade::Informational`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<KnownDeviation>,
    /// The faults with a name that were seen: `string-length-in-bytes`. There are none where it passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<CaseFault>,
    /// What the case may do to a live target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hazard: Option<Hazard>,
    /// What was seen, unless it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
}

impl Case {
    /// A case with a grade and nothing else.
    pub fn new(name: &str, section: &str, group: &str, title: &str, grade: Grade) -> Self {
        Self {
            name: name.to_owned(),
            section: section.to_owned(),
            group: group.to_owned(),
            title: title.to_owned(),
            grade,
            spec: Vec::new(),
            deviation: None,
            faults: Vec::new(),
            hazard: None,
            detail: None,
        }
    }

    /// What it cites: [`Case::spec`], and the fact of its deviation.
    pub fn cited(&self) -> impl Iterator<Item = &str> {
        let fact = self.deviation.iter().map(|deviation| &deviation.fact).filter(|fact| !self.spec.contains(fact));
        self.spec.iter().chain(fact).map(String::as_str)
    }
}

/// A way in which some runtimes are known to go, other than the way that is right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnownDeviation {
    /// The fact that says so: `F-5`.
    pub fact: String,
    /// What happens.
    pub text: String,
}

/// What was seen in a case.
///
/// A codec is given one question, and gives one answer: `sent` and `seen` are these, as JSON. Of a conversation they are lists of
/// [`Turn`]s: what this side sent, and what it received ([`Detail::conversation`] makes them).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Detail {
    /// What the target was given. Of a conversation: the turns that were sent to it.
    pub sent: Value,
    /// What should have come.
    pub expected: String,
    /// What came; null where nothing did. Of a conversation: the turns that were received from it.
    pub seen: Value,
    /// What is to say about it, a line each.
    pub found: Vec<String>,
    /// What explains that, a line each: how a client was started, and how it ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<String>,
}

impl Detail {
    /// The detail of a conversation, whose turns stand in their order.
    pub fn conversation(turns: impl IntoIterator<Item = Turn>, expected: &str, found: Vec<String>) -> Self {
        let (sent, seen) = turn::split(turns);
        Self { sent, expected: expected.to_owned(), seen, found, about: Vec::new() }
    }

    /// The turns of a conversation in their order. `None` if it was none.
    pub fn turns(&self) -> Option<Vec<Turn>> {
        turn::join(&self.sent, &self.seen)
    }
}

/// The cases of a section, counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Its cases.
    pub counts: Counts,
}

/// That the target was lost on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lost {
    /// How.
    pub reason: String,
    /// How many cases were not tried for it.
    pub not_run: usize,
}

/// That the run was ended early from outside: by a signal, or by the canceller of its options.
///
/// ```
/// use dotnet_diagnostics_ipc::conformance::{Interrupted, Report};
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
    /// How many cases were not run for it.
    pub not_run: usize,
}

/// That so few cases were judged that the run is no pass, though none failed.
///
/// ```
/// use dotnet_diagnostics_ipc::conformance::TooFewJudged;
///
/// assert_eq!(TooFewJudged::of(10, 100, 10), None);
/// let few = TooFewJudged::of(9, 100, 10).expect("9 are less than 10");
/// assert_eq!(few.to_string(), "only 9 of 100 cases were judged, 10 % are wanted");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TooFewJudged {
    /// The cases that were judged: all but those that are unimplemented.
    pub judged: usize,
    /// The cases of the run, without those that the target's file does not claim.
    pub of: usize,
    /// How many of a hundred there must be.
    pub least_percent: u8,
}

impl TooFewJudged {
    /// Where less than `least_percent` of the cases were judged.
    pub const fn of(judged: usize, of: usize, least_percent: u8) -> Option<Self> {
        let is_enough = judged.saturating_mul(100) >= of.saturating_mul(least_percent as usize);
        if is_enough { None } else { Some(Self { judged, of, least_percent }) }
    }
}

impl core::fmt::Display for TooFewJudged {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { judged, of, least_percent } = self;
        write!(f, "only {judged} of {of} cases were judged, {least_percent} % are wanted")
    }
}

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Report {
    /// The version of this form: 1.
    pub format: u32,
    /// What was held to the protocol: `codec`, `server`, `client`, `vectors`, or `check` for several of them.
    pub suite: String,
    /// Who it was: a command line, an endpoint.
    pub target: String,
    /// What the target says it is: `.NET 10.0.9`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// The profile that said which deviations are known: `coreclr-10`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// When it was made, and by what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
    /// Over all cases.
    pub counts: Counts,
    /// The same by section, in the order of the cases.
    pub sections: Vec<Section>,
    /// Why cases failed, as far as it has names: the causes of most failures first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// The cases, in the order of the run.
    pub cases: Vec<Case>,
    /// Where the run broke off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
    /// That it was ended early: what is here is a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<Interrupted>,
    /// That too few cases were judged for a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_few_judged: Option<TooFewJudged>,
    /// What there is to say that belongs to no case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Report {
    /// An empty report.
    pub fn new(suite: &str, target: &str) -> Self {
        Self {
            format: FORMAT,
            suite: suite.to_owned(),
            target: target.to_owned(),
            runtime: None,
            profile: None,
            made: None,
            counts: Counts::default(),
            sections: Vec::new(),
            causes: Vec::new(),
            cases: Vec::new(),
            lost: None,
            interrupted: None,
            too_few_judged: None,
            notes: Vec::new(),
        }
    }

    /// Reads a report from JSON.
    ///
    /// # Errors
    /// What in it is no report of this format, or contradicts itself.
    pub fn parse(json: &str) -> Result<Self, String> {
        let report: Self = serde_json::from_str(json).map_err(|error| error.to_string())?;
        if report.format != FORMAT {
            return Err(format!("format {}, where {FORMAT} is known", report.format));
        }
        let mut names = BTreeSet::new();
        if let Some(case) = report.cases.iter().find(|case| !names.insert(&case.name)) {
            return Err(format!("the case {} is there twice", case.name));
        }
        let mut counted = Self::new(&report.suite, &report.target);
        report.cases.iter().for_each(|case| counted.count(case));
        if (counted.counts, &counted.sections) != (report.counts, &report.sections) {
            return Err("the counts are not those of its cases".to_owned());
        }
        if !cause::are_the_same(&counted.causes, &report.causes) {
            return Err("the causes are not those of its cases".to_owned());
        }
        Ok(report)
    }

    /// Takes all of another suite's report: its names have the suite before them.
    pub fn absorb(&mut self, other: Self) {
        for mut case in other.cases {
            case.name = format!("{}/{}", other.suite, case.name);
            case.section = format!("{}/{}", other.suite, case.section);
            self.add(case);
        }
        self.notes.extend(other.notes.into_iter().map(|note| format!("{}: {note}", other.suite)));
        if let Some(Lost { reason, not_run }) = other.lost {
            let lost = self.lost.get_or_insert(Lost { reason: format!("{}: {reason}", other.suite), not_run: 0 });
            lost.not_run = lost.not_run.saturating_add(not_run);
        }
        if let Some(Interrupted { not_run }) = other.interrupted {
            let interrupted = self.interrupted.get_or_insert(Interrupted { not_run: 0 });
            interrupted.not_run = interrupted.not_run.saturating_add(not_run);
        }
    }

    /// Takes a case, and counts it.
    pub fn add(&mut self, case: Case) {
        self.count(&case);
        self.cases.push(case);
    }

    /// The cases that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| case.grade == Grade::Fail)
    }

    /// The cases that went as a known deviation. A known fault is none: it fails.
    pub fn deviations(&self) -> impl Iterator<Item = (&Case, &KnownDeviation)> {
        let cases = self.cases.iter().filter(|case| case.grade == Grade::Informational);
        cases.filter_map(|case| Some((case, case.deviation.as_ref()?)))
    }

    fn count(&mut self, case: &Case) {
        self.counts.add(case.grade);
        cause::count(&mut self.causes, case);
        if let Some(section) = self.sections.iter_mut().find(|section| section.name == case.section) {
            section.counts.add(case.grade);
        } else {
            let mut counts = Counts::default();
            counts.add(case.grade);
            self.sections.push(Section { name: case.section.clone(), counts });
        }
    }
}
