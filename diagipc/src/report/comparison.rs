//! Compares two runs of a suite, and handles accepted faults.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;

use super::cause::fault_named;
use super::{Case, Grade, Report, known_text};
use crate::Glob;
use crate::faults::{Fault, SuiteName};

/// The changes in failures between an older and a newer run of a suite.
///
/// ```
/// use diagipc::report::{CaseFault, Comparison};
/// use diagipc::{Case, Grade, Report};
///
/// let report = |grades: &[(&str, Grade)]| {
///     let mut report = Report::new("server", "my server");
///     for (name, grade) in grades {
///         report.add(Case::new(name, "all", "all", "a case", *grade));
///     }
///     report
/// };
/// let old = report(&[("a", Grade::Fail), ("b", Grade::Pass)]);
/// let new = report(&[("a", Grade::Pass), ("b", Grade::Fail)]);
/// let changed = Comparison::new(&old, &new);
/// assert!(!changed.is_passed());
/// assert!(changed.to_string().starts_with("FAILED: 1 new failure, 1 fixed"), "{changed}");
/// assert!(Comparison::new(&new, &new).is_passed());
/// ```
#[derive(Clone, Debug)]
pub struct Comparison {
    new: usize,
    mended: usize,
    still: usize,
    is_whole: bool,
    /// The names of what changed, one per line.
    lines: Vec<String>,
}

impl Comparison {
    /// Compares the cases by name. A failure is new if the case passed before, or had other faults.
    pub fn new(old: &Report, new: &Report) -> Self {
        let before: BTreeMap<&str, &Case> =
            old.cases.iter().map(|case| (case.name.as_str(), case)).collect();
        let grades: BTreeMap<&str, Grade> =
            new.cases.iter().map(|case| (case.name.as_str(), case.grade)).collect();
        let problems = new.problems().into_iter();
        let mut lines: Vec<String> =
            problems.map(|(kind, text)| format!("PROBLEM  {kind}: {text}")).collect();
        let is_whole = lines.is_empty();
        let failures = new.failures().filter_map(|case| {
            let (fault, why) = news(before.get(case.name.as_str()).copied(), case)?;
            Some((fault, format!("{} ({}): {why}", case.name, case.level.name())))
        });
        let failures: Vec<(Option<&str>, String)> = failures.collect();
        let (mut mended, mut unjudged, mut lacking) = (Vec::new(), Vec::new(), Vec::new());
        for Case { name, grade, .. } in &old.cases {
            match (grade, grades.get(name.as_str())) {
                (Grade::Fail, None | Some(Grade::Unimplemented)) => {
                    unjudged.push(format!("NOT JUDGED  {name}, which failed before"));
                }
                (Grade::Fail, Some(now)) if *now != Grade::Fail => {
                    mended.push(format!("FIXED  {name}"));
                }
                (Grade::Pass | Grade::PassLenient, Some(Grade::Unimplemented)) => {
                    lacking.push(format!("UNIMPLEMENTED  {name}, which passed before"));
                }
                _ => {}
            }
        }
        let (new_failures, mended_count) = (failures.len(), mended.len());
        lines.extend(
            [by_cause(&new.suite, failures), mended, unjudged, lacking].into_iter().flatten(),
        );
        let version = |report: &Report| report.made.as_ref().and_then(|made| made.suite.clone());
        if let (Some(then), Some(now)) = (version(old), version(new)) {
            if then != now {
                lines.push(format!(
                    "NOTE  the suite was {then}, and is {now}: some cases may differ"
                ));
            }
        }
        Self {
            new: new_failures,
            mended: mended_count,
            still: new.counts.fail.saturating_sub(new_failures),
            is_whole,
            lines,
        }
    }

    /// Whether there are no new failures, and the newer run is complete.
    pub const fn is_passed(&self) -> bool {
        self.new == 0 && self.is_whole
    }
}

/// Returns a line for each cause, followed by a line with one of its failures. Failures without a
/// cause get a line each.
fn by_cause(suite: &str, failures: Vec<(Option<&str>, String)>) -> Vec<String> {
    let mut causes: Vec<(Option<&str>, String, usize)> = Vec::new();
    for (fault, text) in failures {
        match causes.iter_mut().find(|(cause, ..)| fault.is_some() && *cause == fault) {
            Some((.., count)) => *count += 1,
            None => causes.push((fault, text, 1)),
        }
    }
    let lines = causes.into_iter().flat_map(|(fault, text, count)| {
        let Some(name) = fault else { return vec![format!("NEW  {text}")] };
        let fault = fault_named(suite, &text, name);
        let sentence = fault.map_or_else(String::new, |fault| format!(": {}", fault.sentence()));
        let s = if count == 1 { "" } else { "s" };
        vec![format!("NEW  {name}, {count} failure{s}{sentence}"), format!("  seen in {text}")]
    });
    lines.collect()
}

/// Returns the fault and what is new about a failure; `None` if it has the same faults as before.
fn news<'c>(before: Option<&Case>, case: &'c Case) -> Option<(Option<&'c str>, String)> {
    let found = case.detail.as_ref().and_then(|detail| detail.found.first());
    match before {
        Some(before) if before.grade == Grade::Fail => {
            let known: BTreeSet<&str> =
                before.faults.iter().map(|fault| fault.name.as_str()).collect();
            let more = case.faults.iter().find(|fault| !known.contains(fault.name.as_str()))?;
            Some((Some(&more.name), format!("failed before, now also: {}", more.text)))
        }
        before => {
            let was = before.map_or("not in the older report", |case| case.grade.name());
            let fault = case.faults.first();
            let why = fault.map(|fault| fault.text.clone()).or_else(|| found.cloned());
            let why = why.map_or_else(String::new, |why| format!("; {why}"));
            Some((fault.map(|fault| fault.name.as_str()), format!("was {was}{why}")))
        }
    }
}

/// Displays the verdict and the names of what changed.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { new, mended, still, .. } = self;
        let word = if self.is_passed() { "PASSED" } else { "FAILED" };
        let failures = if *new == 1 { "failure" } else { "failures" };
        writeln!(f, "{word}: {new} new {failures}, {mended} fixed, {still} as before")?;
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// The accepted faults. They are a TOML file with the table `cases`, which has a list of cases for
/// each fault, and the list `faults` of those accepted in every case.
///
/// ```
/// use diagipc::report::{CaseFault, KnownFaults};
/// use diagipc::{Case, Grade, Report};
///
/// let report = |names: &[&str]| {
///     let mut report = Report::new("client", "my client");
///     for name in names {
///         let mut case = Case::new(name, "silence", "resume", "Silence", Grade::Fail);
///         case.faults.push(CaseFault::new("no-read-timeout", "The client waits forever."));
///         report.add(case);
///     }
///     report
/// };
/// let names = ["silence/at-once/resume", "silence/at-once/set-env"];
/// let written = KnownFaults::default().renewed(&report(&names[..1])).to_toml();
/// let known = KnownFaults::parse("known.toml", &written)?;
/// let accepted = known.apply(report(&names), &names.map(String::from).into(), true);
/// assert_eq!((accepted.counts.informational, accepted.counts.fail), (1, 1));
/// assert!(accepted.stale.is_empty());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFaults {
    #[serde(default)]
    faults: BTreeSet<String>,
    /// The cases, or patterns of cases, in which each fault is accepted.
    #[serde(default)]
    cases: BTreeMap<String, BTreeSet<String>>,
}

impl KnownFaults {
    /// Parses `text`, the content of `file`.
    ///
    /// # Errors
    /// Returns an error if the text does not have this form.
    pub fn parse(file: &str, text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| format!("{file}: {}", error.message()))
    }

    /// Returns the text of the file.
    pub fn to_toml(&self) -> String {
        let mut text =
            "# Faults that are known and accepted: with `--known` they do not fail a run, until they are gone.\n"
                .to_owned();
        if !self.faults.is_empty() {
            text.push_str("\n# In every case.\n");
            text.push_str(&known_text::table("faults", &self.faults));
        }
        text.push_str("\n# By fault, in which cases.\n[cases]\n");
        for (fault, cases) in &self.cases {
            text.push_str(&known_text::table(fault, cases));
        }
        text
    }

    /// Returns `text`, the content of an older file, with these entries. Entries that stay keep
    /// their lines and comments.
    pub fn edited(&self, text: &str) -> String {
        known_text::edited(text, &self.cases)
            .filter(|edited| Self::parse("", edited).is_ok_and(|known| known == *self))
            .unwrap_or_else(|| self.to_toml())
    }

    /// Returns the report with cases whose faults are all accepted graded informational. `names`
    /// are all cases of the suite; `is_whole` says that all of them were to be played.
    ///
    /// Unknown entries, and entries that were played but not seen, are [stale](Report::stale). An
    /// entry for every case can be stale only after a complete run.
    #[must_use]
    pub fn apply(&self, report: Report, names: &BTreeSet<String>, is_whole: bool) -> Report {
        let is_whole = is_whole && report.lost.is_none() && report.interrupted.is_none();
        let mut stale = self.unknown(&report.suite, names);
        stale.extend(self.gone(&report, is_whole).into_iter().map(|(fault, case)| match case {
            Some(case) => format!("{fault} was not seen in {case}"),
            None => format!("{fault} was not seen"),
        }));
        let mut accepted = Report::new(&report.suite, &report.target);
        for mut case in report.cases {
            let is_accepted = !case.faults.is_empty()
                && case.faults.iter().all(|fault| self.accepts(&fault.name, &case.name));
            if case.grade == Grade::Fail && is_accepted {
                case.grade = Grade::Informational;
                if let Some(detail) = &mut case.detail {
                    detail.found.insert(0, "accepted: all of its faults are known".to_owned());
                }
            }
            accepted.add(case);
        }
        Report {
            stale,
            cases: accepted.cases,
            counts: accepted.counts,
            sections: accepted.sections,
            causes: accepted.causes,
            ..report
        }
    }

    /// Returns the entries after a run, before [`apply`](Self::apply): without those that were
    /// played and not seen, and with new ones that were seen.
    #[must_use]
    pub fn renewed(&self, report: &Report) -> Self {
        let mut known = self.clone();
        for (fault, case) in known.gone(report, false) {
            if let (Some(cases), Some(case)) = (known.cases.get_mut(&fault), case) {
                cases.remove(&case);
            }
        }
        known.cases.retain(|_, cases| !cases.is_empty());
        for case in report.failures() {
            for fault in &case.faults {
                if !known.accepts(&fault.name, &case.name) {
                    known.cases.entry(fault.name.clone()).or_default().insert(case.name.clone());
                }
            }
        }
        known
    }

    fn accepts(&self, fault: &str, case: &str) -> bool {
        let cases = self.cases.get(fault);
        self.faults.contains(fault)
            || cases.into_iter().flatten().any(|name| Glob::new(name).matches(case))
    }

    /// Returns the entries whose fault or case does not exist in the suite.
    fn unknown(&self, suite: &str, names: &BTreeSet<String>) -> Vec<String> {
        let faults = self.faults.iter().chain(self.cases.keys());
        let not_of_it = faults
            .filter(|name| !is_fault(suite, name))
            .map(|name| format!("{name} is not a fault of this suite"));
        let is_case = |case: &str| names.iter().any(|name| Glob::new(case).matches(name));
        let cases = self
            .cases
            .iter()
            .flat_map(|(fault, cases)| cases.iter().map(move |case| (fault, case)));
        let no_cases = cases
            .filter(|(_, case)| !is_case(case))
            .map(|(fault, case)| format!("{fault} in {case}, which is not a case"));
        not_of_it.chain(no_cases).collect()
    }

    /// Returns the entries that were played but not seen: a fault, and a case or `None` for every
    /// case. There are none after a campaign, which tries other messages each time.
    fn gone(&self, report: &Report, is_whole: bool) -> Vec<(String, Option<String>)> {
        if SuiteName::named(&report.suite) == Some(SuiteName::Fuzz) {
            return Vec::new();
        }
        let shows = |case: &Case, fault: &str| {
            case.grade == Grade::Fail && case.faults.iter().any(|one| one.name == fault)
        };
        let everywhere = self.faults.iter().filter(|fault| {
            let is_seen = || report.cases.iter().any(|case| shows(case, fault));
            is_whole && is_fault(&report.suite, fault) && !is_seen()
        });
        let mut gone: Vec<_> = everywhere.map(|fault| (fault.clone(), None)).collect();
        for (fault, cases) in self.cases.iter().filter(|(fault, _)| is_fault(&report.suite, fault))
        {
            let is_gone = |name: &&String| {
                let glob = Glob::new(name.as_str());
                let is_played =
                    |case: &&Case| case.grade != Grade::Unimplemented && glob.matches(&case.name);
                let mut played = report.cases.iter().filter(is_played).peekable();
                played.peek().is_some() && !played.any(|case| shows(case, fault))
            };
            gone.extend(
                cases.iter().filter(is_gone).map(|case| (fault.clone(), Some(case.clone()))),
            );
        }
        gone
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.faults.len() + self.cases.values().map(BTreeSet::len).sum::<usize>()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Whether the name is a fault of the suite, or of any suite in a report of `check`.
fn is_fault(suite: &str, name: &str) -> bool {
    let mut suites = SuiteName::ALL.iter().filter(|one| suite == "check" || one.name() == suite);
    suites.any(|suite| Fault::named(*suite, name).is_some())
}

#[cfg(test)]
mod tests {
    use super::super::CaseFault;
    use super::*;

    const IDLE: &str = "no-read-timeout";

    fn report(cases: &[(&str, &[&str])]) -> Report {
        let mut report = Report::new("client", "x");
        for (name, faults) in cases {
            let mut case = Case::new(name, "s", "g", "t", Grade::Fail);
            case.faults = faults.iter().map(|fault| CaseFault::new(fault, "text")).collect();
            report.add(case);
        }
        report
    }

    /// Each row has a file, what a complete run of a suite with two other cases saw, which cases
    /// the file accepts, and its stale entries.
    #[test]
    fn accepted_faults_are_informational_and_gone_ones_are_stale() {
        let [resume, set] = ["silence/at-once/resume", "silence/at-once/set-env"];
        for (text, cases, accepts, stale) in [
            (
                "faults = ['no-read-timeout', 'runs-on', 'no-such-fault']",
                &[("a", &[IDLE][..]), ("b", &[IDLE, "reply-cut-unnoticed"]), ("c", &[])][..],
                &[true, false, false][..],
                &["no-such-fault is not a fault of this suite", "runs-on was not seen"][..],
            ),
            (
                "[cases]\nno-read-timeout = ['silence/at-once/resume']",
                &[(resume, &[IDLE]), (set, &[IDLE])],
                &[true, false],
                &[],
            ),
            (
                "[cases]\nno-read-timeout = ['silence/*/resume']",
                &[(resume, &[IDLE]), (set, &[IDLE]), ("silence/in-the-reply/resume", &["runs-on"])],
                &[true, false, false],
                &[],
            ),
            (
                "[cases]\nruns-on = ['silence/at-once/resume', 'silence/at-once/dump', 'no/such']\nno-such-fault = []",
                &[(resume, &[IDLE])],
                &[false],
                // The other case was not played.
                &[
                    "no-such-fault is not a fault of this suite",
                    "runs-on in no/such, which is not a case",
                    "runs-on was not seen in silence/at-once/resume",
                ],
            ),
        ] {
            let others = ["silence/at-once/dump", "silence/at-once/trace"];
            let names = cases.iter().map(|(name, _)| *name).chain(others).map(str::to_owned);
            let known = KnownFaults::parse("k", text).unwrap();
            let accepted = known.apply(report(cases), &names.collect(), true);
            let informational: Vec<bool> =
                accepted.cases.iter().map(|case| case.grade == Grade::Informational).collect();
            let stale: Vec<String> = stale.iter().map(ToString::to_string).collect();
            assert_eq!((&informational[..], accepted.stale), (accepts, stale));
        }
        assert!(KnownFaults::parse("k.toml", "fault = []").unwrap_err().starts_with("k.toml: "));
    }

    /// Entries that were not played stay, and entries that were not seen go; a pattern stays while
    /// it is seen. A name with a field must be quoted in TOML, and is read again.
    #[test]
    fn renewed_file_keeps_what_was_not_played() {
        let text = "[cases]\nruns-on = ['gone', 'not/played']\nno-read-timeout = ['silence/*']\nnever-connects = ['gone']";
        let seen = report(&[
            ("gone", &["wrong-value:providers[].keywords"]),
            ("silence/one", &[IDLE]),
            ("silence/two", &[IDLE]),
        ]);
        let known = KnownFaults::parse("k", text).unwrap().renewed(&seen);
        let text = known.to_toml();
        let (_, entries) = text.split_once("[cases]\n").unwrap();
        assert_eq!(
            entries,
            "no-read-timeout = [\n    \"silence/*\",\n]\nruns-on = [\n    \"not/played\",\n]\n\"wrong-value:providers[].keywords\" = [\n    \"gone\",\n]\n"
        );
        assert_eq!(KnownFaults::parse("k", &text), Ok(known));
    }
}
