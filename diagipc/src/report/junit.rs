//! A report as `JUnit` XML, for build servers.

use quick_junit::{NonSuccessKind, Report as Xml, TestCase, TestCaseStatus, TestSuite};

use super::{Case, Citations, Grade, Report};

/// The XML of `report`: a test suite for each section, a test case for each case.
///
/// A failure contains the sent, expected and received data. Unjudged cases are skipped, with the
/// reason. A lost target is an error of a separate case, `lost`; a run that was ended early is one
/// of a case `interrupted`.
///
/// # Errors
/// Errors of the XML library.
pub fn junit(report: &Report, citations: &Citations) -> Result<String, String> {
    let mut xml = Xml::new(format!("diagipc {} {}", report.suite, report.target));
    for section in &report.sections {
        let mut suite = TestSuite::new(format!("{}.{}", report.suite, section.name));
        for case in report.cases.iter().filter(|case| case.section == section.name) {
            let mut test = TestCase::new(case.name.as_str(), status(case, citations));
            test.set_classname(format!("{}.{}", case.section, case.group));
            test.set_time(case.took);
            suite.add_test_case(test);
        }
        xml.add_test_suite(suite);
    }
    if let Some(lost) = &report.lost {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status
            .set_type("lost")
            .set_message(format!("{}; {} cases were not run", lost.reason, lost.not_run));
        let mut suite = TestSuite::new(format!("{}.lost", report.suite));
        suite.add_test_case(TestCase::new("lost", status));
        xml.add_test_suite(suite);
    }
    if let Some(interrupted) = &report.interrupted {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status
            .set_type("interrupted")
            .set_message(format!("{} cases were not run", interrupted.not_run));
        let mut suite = TestSuite::new(format!("{}.interrupted", report.suite));
        suite.add_test_case(TestCase::new("interrupted", status));
        xml.add_test_suite(suite);
    }
    if let Some(few) = &report.too_few_judged {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type("too-few-judged").set_message(few.to_string());
        let mut suite = TestSuite::new(format!("{}.too-few-judged", report.suite));
        suite.add_test_case(TestCase::new("too-few-judged", status));
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
