//! Check this crate's own codec against the vectors.

//! # Example
//!
//! Check this crate's codec, with a report like any other:
//!
//! ```
//! use diagipc::codec::vectors;
//! use diagipc::embedded;
//!
//! let report = vectors::run(embedded::vectors()?);
//! assert!(report.failures().next().is_none());
//! # Ok::<(), dotnet_diagnostics_ipc_vectors::LoadError>(())
//! ```

use dotnet_diagnostics_ipc_vectors::{Group, Test, Value, check};
use serde_json::json;

use crate::embedded::NamedFile;
use crate::report::cited;
use crate::{Case, Detail, Grade, Level, Report, Said};

/// Checks every test of `files` against this codec: decoding, encoding, and whether bytes are
/// canonical.
///
/// ```
/// use diagipc::codec::vectors;
/// use diagipc::embedded;
///
/// let report = vectors::run(embedded::vectors()?);
/// assert!(report.counts.pass > 1000 && report.failures().next().is_none());
/// # Ok::<(), dotnet_diagnostics_ipc_vectors::LoadError>(())
/// ```
pub fn run(files: &[NamedFile]) -> Report {
    run_chosen(files, &|_| true)
}

/// The same of the tests whose names are chosen: `grammar/grammar-string/1200`.
pub fn run_chosen(files: &[NamedFile], is_chosen: &dyn Fn(&str) -> bool) -> Report {
    let mut report =
        Report::new("vectors", concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")));
    for NamedFile { name, file } in files {
        for group in &file.groups {
            for test in &group.tests {
                if is_chosen(&name_of(name, group, test)) {
                    report.add(case(name, group, test));
                }
            }
        }
    }
    report
}

/// The name of a test in a report.
pub fn name_of(file: &str, group: &Group, test: &Test) -> String {
    format!("{file}/{}/{}", group.name, test.tc_id)
}

fn case(file: &str, group: &Group, test: &Test) -> Case {
    let found = check(group, test);
    let grade = if found.is_empty() { Grade::Pass } else { Grade::Fail };
    let detail = (grade == Grade::Fail).then(|| Detail {
        sent: Said::Json(
            json!({ "wire": test.wire.as_ref().map(hex::encode), "value": test.value }),
        ),
        expected: expected(test),
        seen: Said::Json(Value::Null),
        found,
        about: Vec::new(),
    });
    let spec = cited(group, test);
    Case {
        name: name_of(file, group, test),
        section: file.to_owned(),
        group: group.name.clone(),
        title: test.comment.clone(),
        grade,
        level: Level::of(&spec),
        spec,
        detail,
        deviation: None,
        outcome: None,
        took: std::time::Duration::ZERO,
        faults: Vec::new(),
        hazard: test.hazard,
    }
}

fn expected(test: &Test) -> String {
    match &test.error {
        Some(error) => format!("{error}"),
        None => format!("the value {}", test.value),
    }
}
