//! Faults that a client's maintainer knows and accepts: what they fail is informational, and what is new fails.

use alloc::{borrow::ToOwned as _, collections::BTreeSet, format, string::String, vec::Vec};

use serde::Deserialize;

use super::ClientFault;
use crate::conformance::{Grade, Report};

/// The faults that are accepted: a TOML file with the list `faults`.
///
/// ```
/// use dotnet_diagnostics_ipc::conformance::client::KnownFaults;
/// use dotnet_diagnostics_ipc::conformance::report::CaseFault;
/// use dotnet_diagnostics_ipc::conformance::{Case, Grade, Report};
///
/// let mut case = Case::new("silence/at-once/resume", "silence", "resume", "Silence", Grade::Fail);
/// case.faults.push(CaseFault::new("no-read-timeout", "The client waits for ever."));
/// let mut report = Report::new("client", "my client");
/// report.add(case);
///
/// let known = KnownFaults::parse("known.toml", &KnownFaults::of(&report).to_toml())?;
/// let accepted = known.apply(report);
/// assert_eq!((accepted.counts.fail, accepted.counts.informational), (0, 1));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownFaults(BTreeSet<String>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    faults: BTreeSet<String>,
}

impl KnownFaults {
    /// Reads the text of a file called `file`.
    ///
    /// # Errors
    /// Where it is no such file.
    pub fn parse(file: &str, text: &str) -> Result<Self, String> {
        let raw: Raw = toml::from_str(text).map_err(|error| format!("{file}: {}", error.message()))?;
        Ok(Self(raw.faults))
    }

    /// Those that fail cases of a report.
    pub fn of(report: &Report) -> Self {
        Self(report.causes.iter().map(|cause| cause.name.clone()).collect())
    }

    /// The text of the file.
    pub fn to_toml(&self) -> String {
        let lines = self.0.iter().map(|name| format!("    {name:?},\n")).collect::<Vec<_>>().concat();
        format!(
            "# Faults of a client that are known and accepted: `diagipc client --known` does not fail for them.\nfaults = [\n{lines}]\n"
        )
    }

    /// The report in which a case whose faults are all accepted is informational. What it accepts and did not see, or does not know, is a
    /// note.
    #[must_use]
    pub fn apply(&self, report: Report) -> Report {
        let mut notes = Vec::new();
        for name in &self.0 {
            if !ClientFault::ALL.iter().any(|fault| fault.name() == name) {
                notes.push(format!("{name} is accepted, and is no fault that the kit knows"));
            } else if !report.causes.iter().any(|cause| cause.name == *name) {
                notes.push(format!("{name} is accepted, and was not seen: it can be taken out of the list"));
            }
        }
        let mut accepted = Report::new(&report.suite, &report.target);
        for mut case in report.cases {
            let is_accepted = !case.faults.is_empty() && case.faults.iter().all(|fault| self.0.contains(&fault.name));
            if case.grade == Grade::Fail && is_accepted {
                case.grade = Grade::Informational;
                if let Some(detail) = &mut case.detail {
                    detail.found.insert(0, "accepted: all of its faults are known".to_owned());
                }
            }
            accepted.add(case);
        }
        notes.splice(0..0, report.notes);
        Report {
            notes,
            cases: accepted.cases,
            counts: accepted.counts,
            sections: accepted.sections,
            causes: accepted.causes,
            ..report
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Case, CaseFault};
    use alloc::string::ToString as _;

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
        let known = KnownFaults::parse("k", "faults = ['no-read-timeout', 'runs-on', 'no-such-fault']").unwrap();
        let seen = report(&[("a", &["no-read-timeout"]), ("b", &["no-read-timeout", "reply-cut-unnoticed"]), ("c", &[])]);
        let accepted = known.apply(seen);
        let grades: Vec<Grade> = accepted.cases.iter().map(|case| case.grade).collect();
        assert_eq!(grades, [Grade::Informational, Grade::Fail, Grade::Fail]);
        assert_eq!(accepted.cases.first().map(|case| case.faults.len()), Some(1));
        let notes = [
            "no-such-fault is accepted, and is no fault that the kit knows".to_string(),
            "runs-on is accepted, and was not seen: it can be taken out of the list".to_string(),
        ];
        assert_eq!(accepted.notes, notes);
    }

    #[test]
    fn file_that_is_no_list_of_faults_is_refused() {
        assert!(KnownFaults::parse("k.toml", "fault = []").unwrap_err().starts_with("k.toml: "));
    }
}
