//! Why cases failed: the named faults, and how many cases each of them fails.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::{Case, Grade};
use crate::faults::{Fault, SuiteName};

/// A named fault in a case.
///
/// ```
/// use diagipc::report::CaseFault;
///
/// let fault = CaseFault::new("size-wrong", "size is 28, but the message has 26 bytes");
/// assert_eq!(fault.name, "size-wrong");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseFault {
    /// The short name, such as `string-length-in-bytes`, which never changes its meaning.
    pub name: String,
    /// The observation, with its values.
    pub text: String,
}

impl CaseFault {
    /// Returns a fault with this name and observation.
    pub fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned() }
    }
}

/// A fault, with the number of failures that show it.
///
/// ```
/// use diagipc::report::{CaseFault, Cause};
/// use diagipc::{Case, Grade, Report};
///
/// let mut report = Report::new("server", "process 4711");
/// for name in ["requests/process/8001", "requests/process/8002"] {
///     let mut case = Case::new(name, "requests/process", "info", "ProcessInfo", Grade::Fail);
///     case.faults.push(CaseFault::new("size-wrong", "size is 28, but the message has 26 bytes"));
///     report.add(case);
/// }
/// let [Cause { name, cases: 2, example, .. }] = &report.causes[..] else { panic!("one cause of two failures") };
/// assert_eq!((name.as_str(), example.as_str()), ("size-wrong", "requests/process/8001"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cause {
    /// The fault's name.
    pub name: String,
    /// The observation in the example.
    pub text: String,
    /// How many failures show it.
    pub cases: usize,
    /// The name of the first case that shows it.
    pub example: String,
    /// The target's last message in the example, byte by byte, with one line for each field. Added
    /// when the report is printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dump: Vec<String>,
}

impl Cause {
    /// Returns the fault with this name, in a report of `suite`.
    pub fn fault(&self, suite: &str) -> Option<Fault> {
        fault_named(suite, &self.example, &self.name)
    }
}

/// Returns the fault of this name in reports of a suite. In a report of `check` the name of `case`
/// begins with the suite.
pub(super) fn fault_named(suite: &str, case: &str, name: &str) -> Option<Fault> {
    let suites = [Some(suite), case.split('/').next()];
    suites.into_iter().flatten().find_map(|suite| Fault::named(SuiteName::named(suite)?, name))
}

/// Whether both lists have the same faults in the same cases.
pub(super) fn are_the_same(these: &[Cause], others: &[Cause]) -> bool {
    let counted = |cause: &Cause| Cause { dump: Vec::new(), ..cause.clone() };
    these.iter().map(counted).eq(others.iter().map(counted))
}

/// Counts the faults of a case if it failed, and sorts them by number of failures.
pub(super) fn count(causes: &mut Vec<Cause>, of: &Case) {
    if of.grade != Grade::Fail {
        return;
    }
    for (nth, fault) in of.faults.iter().enumerate() {
        if of.faults.iter().take(nth).any(|before| before.name == fault.name) {
            continue;
        }
        match causes.iter_mut().find(|cause| cause.name == fault.name) {
            Some(known) => known.cases += 1,
            None => causes.push(Cause {
                name: fault.name.clone(),
                text: fault.text.clone(),
                cases: 1,
                example: of.name.clone(),
                dump: Vec::new(),
            }),
        }
    }
    causes.sort_by_key(|cause| Reverse(cause.cases));
}
