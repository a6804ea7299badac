//! A report as `JUnit` XML, for build servers.

use quick_junit::{NonSuccessKind, Report as Xml, TestCase, TestCaseStatus, TestSuite};

use super::{Case, Citations, Grade, Report};

/// The XML of `report`: a test suite for each section, a test case for each case.
///
/// A failure contains the sent, expected and received data. Unjudged cases are skipped, with the
/// reason. What else keeps a run from passing is an error of a separate case: `lost`, `interrupted`,
/// `too-few-judged`, `stale`. The properties of each suite have the versions and
/// the verdict, those of a case its level.
///
/// # Errors
/// Errors of the XML library.
pub fn junit(report: &Report, citations: &Citations) -> Result<String, String> {
    let mut xml = Xml::new(format!("diagipc {} {}", report.suite, report.target));
    let made = report.made.as_ref();
    let properties = [
        Some(("verdict", report.verdict())),
        made.map(|made| ("tool", made.by.clone())),
        made.and_then(|made| Some(("suite", made.suite.clone()?))),
    ];
    let properties: Vec<_> = properties.into_iter().flatten().collect();
    for section in &report.sections {
        let mut suite = TestSuite::new(format!("{}.{}", report.suite, section.name));
        for (name, value) in &properties {
            suite.add_property((*name, value.as_str()));
        }
        for case in report.cases.iter().filter(|case| case.section == section.name) {
            let mut test = TestCase::new(case.name.as_str(), status(case, citations));
            test.set_classname(format!("{}.{}", case.section, case.group));
            test.set_time(case.took);
            test.add_property(("level", case.level.name()));
            suite.add_test_case(test);
        }
        xml.add_test_suite(suite);
    }
    for (kind, reason) in report.problems() {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type(kind).set_message(reason.as_str());
        let mut suite = TestSuite::new(format!("{}.{kind}", report.suite));
        suite.add_test_case(TestCase::new(kind, status));
        xml.add_test_suite(suite);
    }
    let text = xml.to_string().map_err(|error| error.to_string())?;
    // The library leaves these two in, which are not allowed in XML.
    Ok(text.replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}"))
}

fn status(case: &Case, citations: &Citations) -> TestCaseStatus {
    let found = case
        .detail
        .as_ref()
        .map(|detail| detail.found.join("; "))
        .filter(|found| !found.is_empty());
    match case.grade {
        Grade::Pass | Grade::PassLenient => TestCaseStatus::success(),
        Grade::Unimplemented | Grade::Informational => {
            let reason = match &case.deviation {
                Some(deviation) => {
                    format!("known deviation {}: {}", deviation.fact, deviation.text)
                }
                None => format!(
                    "{}: {}",
                    case.grade.name(),
                    found.unwrap_or_else(|| case.title.clone())
                ),
            };
            let mut status = TestCaseStatus::skipped();
            status.set_message(reason);
            status
        }
        Grade::Fail => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(found.unwrap_or_else(|| "failed".to_string()));
            status.set_type(case.faults.first().map_or("fail", |fault| fault.name.as_str()));
            status.set_description(description(case, citations));
            status
        }
    }
}

/// All details of a failure, one line each.
fn description(case: &Case, citations: &Citations) -> String {
    let mut lines = Vec::from([case.title.clone()]);
    if let Some(detail) = &case.detail {
        match detail.turns() {
            Some(turns) => lines.extend(turns.iter().map(ToString::to_string)),
            None => lines.extend([
                format!("sent      {}", detail.sent.json()),
                format!("seen      {}", detail.seen.json()),
            ]),
        }
        lines.push(format!("expected  {}", detail.expected));
        lines.extend(detail.found.iter().map(|found| format!("FAILED    {found}")));
        lines.extend(detail.about.iter().map(|about| format!("about     {about}")));
    }
    lines.extend(
        case.faults.iter().map(|fault| format!("FAULT     {}: {}", fault.name, fault.text)),
    );
    lines.extend(
        case.cited().map(|id| format!("{id}  {}", citations.line(id).unwrap_or("unknown"))),
    );
    lines.join("\n")
}
