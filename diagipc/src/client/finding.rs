//! What is found in a scenario, and its severity.

use crate::Grade;
use crate::faults::Fault;

/// The severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// The client does more than its task. It is reported and does not fail.
    Note,
    /// The document leaves it open.
    May,
    /// It is wrong.
    Must,
}

/// An observation about a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) weight: Weight,
    pub(super) text: String,
    pub(super) fault: Option<Fault>,
    /// Whether it concerns the bytes of a request that a runtime accepts: those are the same in
    /// every scenario with that request.
    pub(super) is_of_request: bool,
}

/// All observations in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, weight: Weight, fault: Option<Fault>, text: impl Into<String>) {
        let finding = Finding { weight, text: text.into(), fault, is_of_request: false };
        if !self.0.contains(&finding) {
            self.0.push(finding);
        }
    }

    /// An error.
    pub(super) fn must(&mut self, fault: impl Into<Option<Fault>>, text: impl Into<String>) {
        self.add(Weight::Must, fault.into(), text);
    }

    /// Something that the document leaves open.
    pub(super) fn may(&mut self, fault: impl Into<Option<Fault>>, text: impl Into<String>) {
        self.add(Weight::May, fault.into(), text);
    }

    /// An action besides the task.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.add(Weight::Note, None, text);
    }

    /// Adds what was found in the bytes of a request. `goes_on`: a runtime accepts it anyway.
    pub(super) fn take_of_request(&mut self, findings: Self, goes_on: bool) {
        self.0.extend(
            findings.0.into_iter().map(|finding| Finding { is_of_request: goes_on, ..finding }),
        );
    }

    pub(super) fn extend(&mut self, findings: Self) {
        self.0.extend(findings.0);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Finding> {
        self.0.iter_mut()
    }

    /// Whether there is an error.
    pub(super) fn is_bad(&self) -> bool {
        self.0.iter().any(|finding| finding.weight == Weight::Must)
    }

    pub(super) fn has(&self, fault: Fault) -> bool {
        self.0.iter().any(|finding| finding.fault == Some(fault))
    }

    /// The faults that have a name, each once.
    pub(super) fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for fault in self
            .0
            .iter()
            .filter_map(|finding| finding.fault.filter(|_| finding.weight != Weight::Note))
        {
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        faults
    }

    /// The grade of a scenario with only these findings.
    pub(super) fn grade(&self) -> Grade {
        match self.0.iter().map(|finding| finding.weight).max() {
            None | Some(Weight::Note) => Grade::Pass,
            Some(Weight::May) => Grade::Informational,
            Some(Weight::Must) => Grade::Fail,
        }
    }

    #[cfg(test)]
    pub(super) fn texts(&self) -> Vec<&str> {
        self.0.iter().map(|finding| finding.text.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grade_equals_worst_finding() {
        let mut findings = Findings::default();
        assert_eq!(findings.grade(), Grade::Pass);
        findings.note("ResumeRuntime is also sent");
        assert_eq!((findings.grade(), findings.faults().len()), (Grade::Pass, 0));
        findings.may(Fault::NoReadTimeout, "it waits");
        assert_eq!((findings.grade(), findings.is_bad()), (Grade::Informational, false));
        findings.must(Fault::NoReadTimeout, "it waits again");
        assert_eq!(
            (findings.grade(), findings.faults()),
            (Grade::Fail, [Fault::NoReadTimeout].to_vec())
        );
    }
}
