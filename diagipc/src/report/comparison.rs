//! What changed between two runs of a suite.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{Case, Grade, Report};

/// The failures of two runs of a suite: an older one, and a newer one.
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
/// assert!(changed.to_string().starts_with("FAILED: 1 new failure, 1 mended"), "{changed}");
/// assert!(Comparison::new(&new, &new).is_passed());
/// ```
#[derive(Clone, Debug)]
pub struct Comparison<'r> {
    /// With the reason.
    new: Vec<(&'r Case, String)>,
    mended: Vec<&'r str>,
    still: usize,
    /// Failures of the older run that the newer one did not judge.
    unjudged: Vec<&'r str>,
    /// What passed before, and is unimplemented now.
    lacking: Vec<&'r str>,
    /// Why the newer run is not a pass, apart from its failures.
    problems: Vec<String>,
    notes: Vec<String>,
}

impl<'r> Comparison<'r> {
    /// Compares the cases by name. A failure is new if the older run does not have it, or not by
    /// all of its faults.
    pub fn new(old: &'r Report, new: &'r Report) -> Self {
        let before: BTreeMap<&str, &Case> =
            old.cases.iter().map(|case| (case.name.as_str(), case)).collect();
        let now: BTreeMap<&str, &Case> =
            new.cases.iter().map(|case| (case.name.as_str(), case)).collect();
        let grade = |case: Option<&&Case>| case.map(|case| case.grade);
        let of_old = |wanted: &dyn Fn(Option<Grade>) -> bool| -> Vec<&str> {
            let failed = old.failures().map(|case| case.name.as_str());
            failed.filter(|name| wanted(grade(now.get(name)))).collect()
        };
        let is_unjudged = |grade| matches!(grade, None | Some(Grade::Unimplemented));
        let passed = |case: &&&Case| matches!(case.grade, Grade::Pass | Grade::PassLenient);
        let lacking = before
            .values()
            .filter(passed)
            .filter(|case| grade(now.get(case.name.as_str())) == Some(Grade::Unimplemented));
        let failures: Vec<(&Case, String)> = new
            .failures()
            .filter_map(|case| Some((case, news(before.get(case.name.as_str()).copied(), case)?)))
            .collect();
        let version = |report: &Report| report.made.as_ref().and_then(|made| made.suite.clone());
        let mut notes = Vec::new();
        if let (Some(then), Some(now)) = (version(old), version(new)) {
            if then != now {
                notes.push(format!("the suite was {then}, and is {now}: some cases may differ"));
            }
        }
        Self {
            still: new.counts.fail.saturating_sub(failures.len()),
            new: failures,
            mended: of_old(&|grade| {
                grade.is_some_and(|grade| grade != Grade::Fail) && !is_unjudged(grade)
            }),
            unjudged: of_old(&is_unjudged),
            lacking: lacking.map(|case| case.name.as_str()).collect(),
            problems: new
                .problems()
                .into_iter()
                .map(|(kind, text)| format!("{kind}: {text}"))
                .collect(),
            notes,
        }
    }

    /// Whether no failure is new, and the newer run is whole.
    pub fn is_passed(&self) -> bool {
        self.new.is_empty() && self.problems.is_empty()
    }
}

/// What is new about a failure; `None` if it failed by the same faults.
fn news(before: Option<&Case>, case: &Case) -> Option<String> {
    let found = case.detail.as_ref().and_then(|detail| detail.found.first());
    let named = |fault: &super::CaseFault| format!("{}: {}", fault.name, fault.text);
    match before {
        Some(before) if before.grade == Grade::Fail => {
            let known: BTreeSet<&str> =
                before.faults.iter().map(|fault| fault.name.as_str()).collect();
            let more = case.faults.iter().find(|fault| !known.contains(fault.name.as_str()))?;
            Some(format!("failed before, now also by {}", named(more)))
        }
        before => {
            let was = before.map_or("not in the older report", |case| case.grade.name());
            let why = case.faults.first().map(named).or_else(|| found.cloned());
            Some(format!("was {was}{}", why.map_or_else(String::new, |why| format!("; {why}"))))
        }
    }
}

/// The verdict, and the names of what changed.
impl fmt::Display for Comparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.is_passed() { "PASSED" } else { "FAILED" };
        let failures = if self.new.len() == 1 { "failure" } else { "failures" };
        writeln!(
            f,
            "{word}: {} new {failures}, {} mended, {} as before",
            self.new.len(),
            self.mended.len(),
            self.still
        )?;
        for problem in &self.problems {
            writeln!(f, "PROBLEM  {problem}")?;
        }
        for (case, why) in &self.new {
            writeln!(f, "NEW  {} ({}): {why}", case.name, case.level.name())?;
        }
        for name in &self.mended {
            writeln!(f, "MENDED  {name}")?;
        }
        for name in &self.unjudged {
            writeln!(f, "NOT JUDGED  {name}, which failed before")?;
        }
        for name in &self.lacking {
            writeln!(f, "UNIMPLEMENTED  {name}, which passed before")?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "NOTE  {note}"))
    }
}
