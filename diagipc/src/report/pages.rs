//! Reports as files: an HTML page, and the XML that build servers read.

use std::collections::{BTreeSet, HashMap};

use dotnet_diagnostics_ipc_vectors::Hazard;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment};
use quick_junit::{NonSuccessKind, Report as Xml, TestCase, TestCaseStatus, TestSuite};
use serde::Serialize;

use super::cause::fault_named;
use super::{Case, CaseFault, Citations, Glossary, Grade, Level, Made, Report};
use crate::faults::Fault;

const TEMPLATE: &str = include_str!("matrix.html");

/// Returns a self-contained page without network access or fonts. It is readable without scripts; a
/// few lines of JavaScript filter the rows.
///
/// Each suite has a table with a column for each report and a row for each case, by section. The
/// contents of reports are escaped.
///
/// # Errors
/// Returns the errors of the template library.
pub fn html(reports: &[Report], citations: &Citations) -> Result<String, String> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_filter("code", code);
    environment.add_filter("json", |value: minijinja::Value| json(&value));
    environment.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .map_err(|error| error.to_string())?,
    );
    let suites = suites(reports);
    let failures: usize = reports.iter().map(|report| report.counts.fail).sum();
    let passes = if failures == 0 { passes(&suites) } else { Vec::new() };
    let glossary = Glossary::embedded();
    let words = glossary.words().iter().collect();
    let cited: BTreeSet<&str> =
        reports.iter().flat_map(|report| report.cases.iter().flat_map(Case::cited)).collect();
    let mut facts: Vec<(&str, &str)> =
        cited.iter().filter_map(|id| Some((*id, citations.line(id)?))).collect();
    facts.sort_by_key(|(id, _)| in_order(id));
    let known: Vec<&str> = facts.iter().map(|(id, _)| *id).collect();
    let title = match reports {
        [report] => format!("{}: {}", report.verdict(), report.target),
        _ => format!("{} reports of conformance runs", reports.len()),
    };
    let page = Page {
        title,
        reports: reports.len(),
        suites,
        failures,
        passes,
        words,
        facts,
        known,
        kinds: KINDS,
    };
    environment.render_str(TEMPLATE, Serde(page)).map_err(|error| error.to_string())
}

/// Escapes text, and formats what is between backticks as code.
fn code(text: &str) -> minijinja::Value {
    let escaped = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        text.replace('"', "&quot;").replace('\'', "&#x27;")
    };
    let parts: Vec<&str> = text.split('`').collect();
    let last = parts.len().saturating_sub(1);
    let part = |(nth, part): (usize, &&str)| match (nth % 2 == 1, nth == last) {
        (true, false) => format!("<code>{}</code>", escaped(part)),
        // A last backtick without a pair is kept.
        (true, true) => format!("`{}", escaped(part)),
        (false, _) => escaped(part),
    };
    let html: String = parts.iter().enumerate().map(part).collect();
    minijinja::Value::from_safe_string(html)
}

#[derive(Serialize)]
struct Page<'r> {
    title: String,
    reports: usize,
    suites: Vec<Suite<'r>>,
    failures: usize,
    /// For each section, the number of cases that passed.
    passes: Vec<(&'r str, usize)>,
    words: Vec<(&'r String, &'r String)>,
    facts: Vec<(&'r str, &'r str)>,
    known: Vec<&'r str>,
    kinds: [Kind; 8],
}

/// A table with the reports of a suite, and their cases.
#[derive(Serialize)]
struct Suite<'r> {
    name: &'r str,
    columns: Vec<Column<'r>>,
    sections: Vec<Section<'r>>,
}

/// The kinds of cells: grades and their variants. Each has a sign and a word besides its colour,
/// for readers who cannot see that.
const KINDS: [Kind; 8] = [
    Kind { name: "pass", sign: "✓", word: "pass" },
    Kind { name: "pass-lenient", sign: "≈", word: "lenient" },
    Kind { name: "deviation", sign: "≠", word: "deviation" },
    Kind { name: "habit", sign: "~", word: "habit" },
    Kind { name: "informational", sign: "i", word: "informational" },
    Kind { name: "unimplemented", sign: "○", word: "unimplemented" },
    Kind { name: "fail", sign: "✗", word: "fail" },
    Kind { name: "not-run", sign: "–", word: "not run" },
];

#[derive(Clone, Copy, Serialize)]
struct Kind {
    name: &'static str,
    sign: &'static str,
    word: &'static str,
}

impl Kind {
    fn of(case: Option<&Case>, report: Option<&Report>) -> Self {
        // An unknown runtime has no known deviations, and differs where the document leaves things
        // open.
        let is_strict = report.is_some_and(|report| report.profile.as_deref() == Some("strict"));
        let is_known = |case: &Case| case.deviation.is_some() && case.grade == Grade::Informational;
        let name = match case {
            None => "not-run",
            Some(case) if is_known(case) && is_strict => "habit",
            Some(case) if is_known(case) => "deviation",
            Some(case) => case.grade.name(),
        };
        let unknown = Self { name, sign: "?", word: name };
        KINDS.into_iter().find(|kind| kind.name == name).unwrap_or(unknown)
    }
}

#[derive(Serialize)]
struct Column<'r> {
    suite: &'r str,
    target: &'r str,
    verdict: String,
    is_passed: bool,
    runtime: Option<&'r str>,
    profile: Option<&'r str>,
    all: usize,
    /// The number of cases of each kind, failures first.
    kinds: Vec<(Kind, usize)>,
    problems: Vec<(&'static str, String)>,
    notes: &'r [String],
    made: Option<&'r Made>,
    causes: Vec<Cause<'r>>,
    unnamed: Vec<Failure<'r>>,
}

#[derive(Serialize)]
struct Cause<'r> {
    name: &'r str,
    sentence: &'r str,
    /// The observation, if it adds anything to the sentence.
    text: Option<&'r str>,
    example: &'r str,
    dump: String,
    fix: Option<&'static str>,
    failures: Vec<Failure<'r>>,
}

/// A failed case, with its row and its findings.
#[derive(Serialize)]
struct Failure<'r> {
    row: usize,
    name: &'r str,
    text: Option<&'r str>,
}

/// The row numbers of the cases, by name.
type Numbers<'r> = HashMap<&'r str, usize>;

impl<'r> Column<'r> {
    fn new(report: &'r Report, numbers: &Numbers<'_>) -> Self {
        let failure = |case: &'r Case, text: Option<&'r str>| {
            let row = numbers.get(case.name.as_str()).copied().unwrap_or(0);
            Failure { row, name: &case.name, text }
        };
        let causes = report.causes.iter().map(|cause| {
            let of = |case: &'r Case| {
                let fault = case.faults.iter().find(|fault| fault.name == cause.name)?;
                Some(failure(case, Some(fault.text.as_str()).filter(|text| *text != cause.text)))
            };
            let fault = cause.fault(&report.suite);
            let sentence = fault.map_or(cause.text.as_str(), |fault| fault.sentence());
            Cause {
                name: &cause.name,
                sentence,
                text: Some(cause.text.as_str()).filter(|text| *text != sentence),
                example: &cause.example,
                dump: cause.dump.join("\n"),
                fix: fault.map(Fault::fix),
                failures: report.failures().filter_map(of).collect(),
            }
        });
        let unnamed = report.failures().filter(|case| case.faults.is_empty());
        let of = |kind: Kind| {
            let is_it = |case: &&Case| Kind::of(Some(case), Some(report)).name == kind.name;
            (kind, report.cases.iter().filter(is_it).count())
        };
        let mut kinds: Vec<(Kind, usize)> = KINDS.into_iter().map(of).collect();
        kinds.sort_by_key(|(kind, _)| kind.name != Grade::Fail.name());
        Self {
            suite: &report.suite,
            target: &report.target,
            verdict: report.verdict(),
            is_passed: report.is_passed(),
            runtime: report.runtime.as_deref(),
            profile: report.profile.as_deref(),
            all: report.counts.all(),
            kinds,
            problems: report.problems(),
            notes: &report.notes,
            made: report.made.as_ref(),
            causes: causes.collect(),
            unnamed: unnamed.map(|case| failure(case, reason(case))).collect(),
        }
    }
}

#[derive(Serialize)]
struct Section<'r> {
    name: &'r str,
    rows: Vec<Row<'r>>,
}

#[derive(Serialize)]
struct Row<'r> {
    /// The number of the row on the page, for links.
    number: usize,
    name: &'r str,
    title: &'r str,
    spec: &'r [String],
    level: Level,
    hazard: Option<Hazard>,
    /// The kinds of its cells, for filtering rows.
    kinds: String,
    cells: Vec<Cell<'r>>,
}

#[derive(Clone, Serialize)]
struct Cell<'r> {
    kind: Kind,
    /// The case, if it was run.
    case: Option<&'r Case>,
    /// Why the case is not a pass, in one line.
    reason: Option<&'r str>,
}

/// Returns why a case failed: the known fault of its runtime, or else the first finding.
fn reason(case: &Case) -> Option<&str> {
    let known = case.deviation.as_ref().map(|deviation| deviation.text.as_str());
    known.or_else(|| case.detail.as_ref()?.found.first().map(String::as_str))
}

/// Returns the suites in the order of their first report. All rows are numbered consecutively.
fn suites(reports: &[Report]) -> Vec<Suite<'_>> {
    let mut suites: Vec<Suite<'_>> = Vec::new();
    let mut count = 0;
    for report in reports {
        if suites.iter().any(|suite| suite.name == report.suite) {
            continue;
        }
        let of_it: Vec<&Report> =
            reports.iter().filter(|other| other.suite == report.suite).collect();
        let sections = in_reading_order(sections(&of_it, &mut count));
        let rows = sections.iter().flat_map(|section| &section.rows);
        let numbers: Numbers<'_> = rows.map(|row| (row.name, row.number)).collect();
        let columns = of_it.iter().map(|report| Column::new(report, &numbers)).collect();
        suites.push(Suite { name: &report.suite, columns, sections });
    }
    suites
}

/// Returns the cases of all reports, each once, in the order of appearance, by section. `count` is
/// the number of rows so far.
fn sections<'r>(reports: &[&'r Report], count: &mut usize) -> Vec<Section<'r>> {
    let not_run = Cell { kind: Kind::of(None, None), case: None, reason: None };
    let mut all_cells: HashMap<&str, Vec<Cell<'_>>> = HashMap::new();
    for (column, report) in reports.iter().enumerate() {
        for case in &report.cases {
            let of_case = all_cells.entry(&case.name);
            let cells = of_case.or_insert_with(|| vec![not_run.clone(); reports.len()]);
            if let Some(cell) = cells.get_mut(column) {
                let reason = reason(case).filter(|_| case.grade == Grade::Fail);
                *cell = Cell { kind: Kind::of(Some(case), Some(report)), case: Some(case), reason };
            }
        }
    }
    let mut sections: Vec<Section<'_>> = Vec::new();
    for case in reports.iter().flat_map(|report| &report.cases) {
        let Some(cells) = all_cells.remove(case.name.as_str()) else { continue };
        *count += 1;
        let kinds: BTreeSet<&str> = cells.iter().map(|cell| cell.kind.name).collect();
        let row = Row {
            number: *count,
            name: &case.name,
            title: &case.title,
            spec: &case.spec,
            level: case.level,
            hazard: case.hazard,
            kinds: kinds.into_iter().collect::<Vec<_>>().join(" "),
            cells,
        };
        match sections.iter_mut().find(|section| section.name == case.section) {
            Some(section) => section.rows.push(row),
            None => sections.push(Section { name: &case.section, rows: vec![row] }),
        }
    }
    sections
}

/// Sorts rows and sections so that results come before unsupported parts.
fn in_reading_order(mut sections: Vec<Section<'_>>) -> Vec<Section<'_>> {
    let says_nothing = |row: &Row<'_>| {
        row.cells.iter().all(|cell| ["unimplemented", "not-run"].contains(&cell.kind.name))
    };
    for section in &mut sections {
        section.rows.sort_by_key(says_nothing);
    }
    sections.sort_by_key(|section| section.rows.iter().all(says_nothing));
    sections
}

/// Counts the cases of each section that passed.
fn passes<'r>(suites: &[Suite<'r>]) -> Vec<(&'r str, usize)> {
    let passed = |row: &&Row<'_>| {
        row.cells.iter().any(|cell| ["pass", "pass-lenient"].contains(&cell.kind.name))
    };
    let of = |section: &Section<'r>| (section.name, section.rows.iter().filter(passed).count());
    let sections = suites.iter().flat_map(|suite| &suite.sections);
    sections.map(of).filter(|(_, count)| *count > 0).collect()
}

/// Returns a sort key that puts `F-9` before `F-10`.
fn in_order(id: &str) -> (String, u32) {
    let (kind, number) = id.rsplit_once('-').unwrap_or((id, ""));
    (kind.to_owned(), number.parse().unwrap_or(0))
}

/// Returns the JSON of a value, truncated to 10,000 characters.
fn json(value: &minijinja::Value) -> String {
    const MOST: usize = 10_000;
    let text = serde_json::to_string(value).unwrap_or_default();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Returns the XML of `report`, with a test suite for each section and a test case for each case.
///
/// A failure has the sent, expected and received data. Unjudged cases are skipped, with the reason.
/// Other reasons why a run does not pass are errors of separate cases: `lost`, `interrupted`,
/// `too-few-judged`, `stale`. The properties of a suite have the versions and the verdict, those of
/// a case its level.
///
/// # Errors
/// Returns the errors of the XML library.
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
            let mut test = TestCase::new(case.name.as_str(), status(report, case, citations));
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
        // There may be several of these, and names must differ.
        let name = if kind == "stale" { reason.as_str() } else { kind };
        suite.add_test_case(TestCase::new(name, status));
        xml.add_test_suite(suite);
    }
    let text = xml.to_string().map_err(|error| error.to_string())?;
    // The library does not escape these two characters, which are not allowed in XML.
    Ok(text.replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}"))
}

fn status(report: &Report, case: &Case, citations: &Citations) -> TestCaseStatus {
    let found = case
        .detail
        .as_ref()
        .map(|detail| detail.found.join("; "))
        .filter(|found| !found.is_empty());
    match case.grade {
        Grade::Pass | Grade::PassLenient => TestCaseStatus::success(),
        Grade::Unimplemented | Grade::Informational => {
            let found = found.unwrap_or_else(|| case.title.clone());
            let reason = case.deviation.as_ref().map_or_else(
                || format!("{}: {found}", case.grade.name()),
                |known| format!("known deviation {}: {}", known.fact, known.text),
            );
            let mut status = TestCaseStatus::skipped();
            status.set_message(reason);
            status
        }
        Grade::Fail => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let seen = case.faults.first().map(|fault| fault.text.clone());
            status.set_message(seen.or(found).unwrap_or_else(|| "failed".to_string()));
            status.set_type(case.faults.first().map_or("fail", |fault| fault.name.as_str()));
            status.set_description(description(report, case, citations));
            status
        }
    }
}

/// Returns all details of a failure, one line each.
fn description(report: &Report, case: &Case, citations: &Citations) -> String {
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
    for CaseFault { name, text } in &case.faults {
        lines.push(format!("FAULT     {name}: {text}"));
        if let Some(fault) = fault_named(&report.suite, &case.name, name) {
            lines.push(format!("FIX       {} {}", fault.sentence(), fault.fix()));
        }
    }
    lines.extend(
        case.cited().map(|id| format!("{id}  {}", citations.line(id).unwrap_or("unknown"))),
    );
    lines.join("\n")
}
