//! Faults that a client's maintainer knows and accepts: their failures are informational, new ones
//! fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Deserialize;

use crate::faults::{Fault, Suite};
use crate::{Case, Glob, Grade, Report};

/// The accepted faults: a TOML file with the table `cases`, which has a list of cases for each
/// fault, and the list `faults` of those accepted in every case.
///
/// ```
/// use diagipc::client::KnownFaults;
/// use diagipc::report::CaseFault;
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
/// let known = KnownFaults::parse("known.toml", &KnownFaults::of(&report(&["silence/at-once/resume"])).to_toml())?;
/// let accepted = known.apply(report(&["silence/at-once/resume", "silence/at-once/set-env"]));
/// assert_eq!((accepted.counts.informational, accepted.counts.fail), (1, 1));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFaults {
    /// Accepted everywhere.
    #[serde(default)]
    faults: BTreeSet<String>,
    /// Accepted in these cases: names, or patterns of names.
    #[serde(default)]
    cases: BTreeMap<String, BTreeSet<String>>,
    /// Former names in the file.
    #[serde(skip)]
    former: BTreeMap<String, Fault>,
}

impl KnownFaults {
    /// Reads the text of a file called `file`.
    ///
    /// # Errors
    /// If it is not such a file.
    pub fn parse(file: &str, text: &str) -> Result<Self, String> {
        let mut known: Self =
            toml::from_str(text).map_err(|error| format!("{file}: {}", error.message()))?;
        known.use_names_of_today();
        Ok(known)
    }

    fn use_names_of_today(&mut self) {
        let names: Vec<String> = self.faults.iter().chain(self.cases.keys()).cloned().collect();
        for name in names {
            let Some(fault) = Fault::named(Suite::Client, &name).filter(|one| one.name() != name)
            else {
                continue;
            };
            if self.faults.remove(&name) {
                self.faults.insert(fault.name().to_owned());
            }
            if let Some(mut cases) = self.cases.remove(&name) {
                self.cases.entry(fault.name().to_owned()).or_default().append(&mut cases);
            }
            self.former.insert(name, fault);
        }
    }

    /// The faults that fail cases of a report, each with its cases.
    pub fn of(report: &Report) -> Self {
        let mut cases: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for case in report.failures() {
            for fault in &case.faults {
                cases.entry(fault.name.clone()).or_default().insert(case.name.clone());
            }
        }
        Self { cases, ..Self::default() }
    }

    /// The text of the file.
    pub fn to_toml(&self) -> String {
        let mut text =
            "# Faults of a client that are known and accepted: `diagipc client --known` does not fail for them.\n".to_owned();
        let list = |names: &BTreeSet<String>| {
            names.iter().map(|name| format!("    {name:?},\n")).collect::<Vec<_>>().concat()
        };
        if !self.faults.is_empty() {
            let _ = write!(text, "\n# In every case.\nfaults = [\n{}]\n", list(&self.faults));
        }
        text.push_str("\n# By fault, in which cases.\n[cases]\n");
        for (fault, cases) in &self.cases {
            let _ = write!(text, "{fault} = [\n{}]\n", list(cases));
        }
        text
    }

    /// The report in which a case whose faults are all accepted is informational. Accepted faults
    /// that were not seen or are unknown get a note.
    #[must_use]
    pub fn apply(&self, report: Report) -> Report {
        let mut notes = report.notes.clone();
        notes.extend(self.unknown());
        notes.extend(self.gone(&report));
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
            notes,
            cases: accepted.cases,
            counts: accepted.counts,
            sections: accepted.sections,
            causes: accepted.causes,
            ..report
        }
    }

    fn accepts(&self, fault: &str, case: &str) -> bool {
        let in_case = || {
            self.cases
                .get(fault)
                .is_some_and(|cases| cases.iter().any(|name| Glob::new(name).matches(case)))
        };
        self.faults.contains(fault) || in_case()
    }

    /// The kit does not have this fault or scenario.
    fn unknown(&self) -> Vec<String> {
        let mut notes: Vec<String> = self
            .former
            .iter()
            .map(|(name, fault)| format!("{name} is called {fault} now"))
            .collect();
        for name in self.faults.iter().chain(self.cases.keys()).filter(|name| !is_fault(name)) {
            notes.push(format!("{name} is accepted, but is not a known fault"));
        }
        let scenarios = super::scenarios().unwrap_or_default();
        for (fault, cases) in &self.cases {
            for case in cases {
                let glob = Glob::new(case);
                if !scenarios.iter().any(|scenario| glob.matches(&scenario.name)) {
                    notes.push(format!("{fault} is accepted in {case}, which is not a scenario"));
                }
            }
        }
        notes
    }

    /// Entries to remove from the file: played, and not failing.
    fn gone(&self, report: &Report) -> Vec<String> {
        let shows = |case: &Case, fault: &str| {
            case.grade == Grade::Fail && case.faults.iter().any(|one| one.name == fault)
        };
        let mut notes = Vec::new();
        for fault in self.faults.iter().filter(|fault| is_fault(fault)) {
            if !report.cases.iter().any(|case| shows(case, fault)) {
                notes.push(format!(
                    "{fault} is accepted, but was not seen: remove it from the list"
                ));
            }
        }
        for (fault, cases) in self.cases.iter().filter(|(fault, _)| is_fault(fault)) {
            let is_gone = |name: &&String| {
                let glob = Glob::new(name.as_str());
                let is_played =
                    |case: &&Case| case.grade != Grade::Unimplemented && glob.matches(&case.name);
                let mut played = report.cases.iter().filter(is_played).peekable();
                played.peek().is_some() && !played.any(|case| shows(case, fault))
            };
            let gone: Vec<&str> = cases.iter().filter(is_gone).map(String::as_str).collect();
            if !gone.is_empty() {
                let gone = gone.join(", ");
                notes.push(format!(
                    "{fault} is accepted in {gone}, but was not seen there: remove it from the list"
                ));
            }
        }
        notes
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.faults.len() + self.cases.values().map(BTreeSet::len).sum::<usize>()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn is_fault(name: &str) -> bool {
    Fault::of(Suite::Client).any(|fault| fault.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Case, CaseFault};

    fn report(cases: &[(&str, &[&str])]) -> Report {
        let mut report = Report::new("client", "x");
        for (name, faults) in cases {
            let mut case = Case::new(name, "s", "g", "t", Grade::Fail);
            case.faults = faults.iter().map(|fault| CaseFault::new(fault, "text")).collect();
            report.add(case);
        }
        report
    }

    #[test]
    fn new_fault_beside_accepted_one_fails() {
        let known =
            KnownFaults::parse("k", "faults = ['no-read-timeout', 'runs-on', 'no-such-fault']")
                .unwrap();
        let seen = report(&[
            ("a", &["no-read-timeout"]),
            ("b", &["no-read-timeout", "reply-cut-unnoticed"]),
            ("c", &[]),
        ]);
        let accepted = known.apply(seen);
        let grades: Vec<Grade> = accepted.cases.iter().map(|case| case.grade).collect();
        assert_eq!(grades, [Grade::Informational, Grade::Fail, Grade::Fail]);
        assert_eq!(accepted.cases.first().map(|case| case.faults.len()), Some(1));
        let notes = [
            "no-such-fault is accepted, but is not a known fault".to_string(),
            "runs-on is accepted, but was not seen: remove it from the list".to_string(),
        ];
        assert_eq!(accepted.notes, notes);
    }

    #[test]
    fn new_case_of_accepted_fault_fails() {
        let [known, new] = ["silence/at-once/resume", "silence/at-once/set-env"];
        let written = KnownFaults::of(&report(&[(known, &["no-read-timeout"])])).to_toml();
        assert!(
            written.ends_with("[cases]\nno-read-timeout = [\n    \"silence/at-once/resume\",\n]\n"),
            "{written}"
        );
        let accepted = KnownFaults::parse("k", &written)
            .unwrap()
            .apply(report(&[(known, &["no-read-timeout"]), (new, &["no-read-timeout"])]));
        let grades: Vec<Grade> = accepted.cases.iter().map(|case| case.grade).collect();
        assert_eq!(
            (grades, accepted.notes),
            ([Grade::Informational, Grade::Fail].to_vec(), Vec::new())
        );
    }

    #[test]
    fn pattern_accepts_cases_it_matches() {
        let known =
            KnownFaults::parse("k", "[cases]\nno-read-timeout = ['silence/*/resume']").unwrap();
        let accepted = known.apply(report(&[
            ("silence/at-once/resume", &["no-read-timeout"]),
            ("silence/at-once/set-env", &["no-read-timeout"]),
            ("silence/in-the-reply/resume", &["runs-on"]),
        ]));
        let grades: Vec<Grade> = accepted.cases.iter().map(|case| case.grade).collect();
        assert_eq!(
            (grades, known.len()),
            ([Grade::Informational, Grade::Fail, Grade::Fail].to_vec(), 1)
        );
    }

    #[test]
    fn accepted_case_unseen_or_unknown_is_noted() {
        let text = "[cases]\nruns-on = ['silence/at-once/resume', 'silence/at-once/dump', 'no/such/case']\nno-such-fault = []";
        let accepted = KnownFaults::parse("k", text)
            .unwrap()
            .apply(report(&[("silence/at-once/resume", &["no-read-timeout"])]));
        let notes = [
            "no-such-fault is accepted, but is not a known fault",
            "runs-on is accepted in no/such/case, which is not a scenario",
            // The other case was not played.
            "runs-on is accepted in silence/at-once/resume, but was not seen there: remove it from the list",
        ];
        assert_eq!(accepted.notes, notes);
    }

    #[test]
    fn file_with_unknown_key_is_refused() {
        assert!(KnownFaults::parse("k.toml", "fault = []").unwrap_err().starts_with("k.toml: "));
    }
}
