//! Reports as one HTML page: cases by implementations.

use std::collections::{BTreeSet, HashMap};

use minijinja::{AutoEscape, Environment, syntax::SyntaxConfig, value::Serde};
use serde::Serialize;

use super::{Case, CaseFault, Citations, Counts, Detail, Glossary, Grade, Made, Report, Turn};
use crate::faults::Fault;

const TEMPLATE: &str = include_str!("matrix.html");

/// A self-contained page: no network and no fonts; readable without scripts, a few lines of
/// JavaScript filter the rows.
///
/// Columns are the reports, rows the cases of all of them, by suite and section. The contents of
/// reports are escaped.
///
/// # Errors
/// Errors of the template library.
pub fn html(reports: &[Report], citations: &Citations) -> Result<String, String> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .map_err(|error| error.to_string())?,
    );
    let sections = in_reading_order(sections(reports));
    let numbers = numbers(&sections);
    let columns: Vec<Column<'_>> =
        reports.iter().map(|report| Column::new(report, &numbers)).collect();
    let failures: usize = reports.iter().map(|report| report.counts.fail).sum();
    let passes = if failures == 0 { passes(&sections) } else { Vec::new() };
    let glossary = Glossary::embedded();
    let words = glossary.words();
    let cited: BTreeSet<&str> =
        reports.iter().flat_map(|report| report.cases.iter().flat_map(Case::cited)).collect();
    let mut facts: Vec<(&str, &str)> =
        cited.iter().filter_map(|id| Some((*id, citations.line(id)?))).collect();
    facts.sort_by_key(|(id, _)| in_order(id));
    let known: Vec<&str> = facts.iter().map(|(id, _)| *id).collect();
    let cases: usize = sections.iter().map(|section| section.rows.len()).sum();
    let page =
        Page { columns, sections, failures, passes, words, facts, known, kinds: KINDS, cases };
    environment.render_str(TEMPLATE, Serde(page)).map_err(|error| error.to_string())
}

/// The data of the template.
#[derive(Serialize)]
struct Page<'r> {
    columns: Vec<Column<'r>>,
    sections: Vec<Section<'r>>,
    failures: usize,
    passes: Vec<Passes<'r>>,
    words: &'r [(String, String)],
    facts: Vec<(&'r str, &'r str)>,
    known: Vec<&'r str>,
    kinds: [Kind; 8],
    cases: usize,
}

/// The values of a cell: grades, and their variants. A sign and a word besides the colour, for
/// readers who cannot see it.
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
        // For an unknown runtime, no deviations are known: it differs where the document leaves it
        // open.
        let is_strict = report.is_some_and(|report| report.profile.as_deref() == Some("strict"));
        let name = match case {
            None => "not-run",
            Some(case) if case.deviation.is_some() && case.grade == Grade::Informational => {
                if is_strict {
                    "habit"
                } else {
                    "deviation"
                }
            }
            Some(case) => case.grade.name(),
        };
        KINDS.into_iter().find(|kind| kind.name == name).unwrap_or(Kind {
            name,
            sign: "?",
            word: name,
        })
    }
}

/// A report without its cases.
#[derive(Serialize)]
struct Column<'r> {
    suite: &'r str,
    target: &'r str,
    runtime: Option<&'r str>,
    profile: Option<&'r str>,
    all: usize,
    counts: &'r Counts,
    deviations: usize,
    habits: usize,
    /// The informational cases that are neither deviations nor habits.
    others: usize,
    lost: Option<String>,
    interrupted: Option<String>,
    too_few_judged: Option<String>,
    notes: &'r [String],
    made: Option<&'r Made>,
    causes: Vec<Cause<'r>>,
    /// The failures without a named fault.
    unnamed: Vec<Failure<'r>>,
}

/// A cause, and its failures.
#[derive(Serialize)]
struct Cause<'r> {
    name: &'r str,
    text: &'r str,
    fix: Option<&'static str>,
    failures: Vec<Failure<'r>>,
}

/// A failed case: its row, and its findings.
#[derive(Serialize)]
struct Failure<'r> {
    row: usize,
    name: &'r str,
    text: Option<&'r str>,
}

/// The number of a case's row, by suite and name.
type Numbers<'r> = HashMap<(&'r str, &'r str), usize>;

fn numbers<'r>(sections: &[Section<'r>]) -> Numbers<'r> {
    let rows = sections
        .iter()
        .flat_map(|section| section.rows.iter().map(|row| ((section.suite, row.name), row.number)));
    rows.collect()
}

impl<'r> Column<'r> {
    fn new(report: &'r Report, numbers: &Numbers<'_>) -> Self {
        let failure = |case: &'r Case, text: Option<&'r str>| {
            let row =
                numbers.get(&(report.suite.as_str(), case.name.as_str())).copied().unwrap_or(0);
            Failure { row, name: &case.name, text }
        };
        let causes = report.causes.iter().map(|cause| {
            let of = |case: &'r Case| {
                let fault = case.faults.iter().find(|fault| fault.name == cause.name)?;
                Some(failure(case, Some(fault.text.as_str()).filter(|text| *text != cause.text)))
            };
            let fix = cause.fault(&report.suite).map(Fault::fix);
            Cause {
                name: &cause.name,
                text: &cause.text,
                fix,
                failures: report.failures().filter_map(of).collect(),
            }
        });
        let unnamed = report.failures().filter(|case| case.faults.is_empty());
        let found = |case: &'r Case| {
            case.detail.as_ref().and_then(|detail| detail.found.first()).map(String::as_str)
        };
        let of = |name| {
            report
                .cases
                .iter()
                .filter(|case| Kind::of(Some(case), Some(report)).name == name)
                .count()
        };
        Self {
            suite: &report.suite,
            target: &report.target,
            runtime: report.runtime.as_deref(),
            profile: report.profile.as_deref(),
            all: report.counts.all(),
            counts: &report.counts,
            deviations: of("deviation"),
            habits: of("habit"),
            others: of("informational"),
            lost: report
                .lost
                .as_ref()
                .map(|lost| format!("{}; {} cases were not run", lost.reason, lost.not_run)),
            interrupted: report
                .interrupted
                .map(|interrupted| format!("{} cases were not run", interrupted.not_run)),
            too_few_judged: report.too_few_judged.map(|few| few.to_string()),
            notes: &report.notes,
            made: report.made.as_ref(),
            causes: causes.collect(),
            unnamed: unnamed.map(|case| failure(case, found(case))).collect(),
        }
    }
}

#[derive(Serialize)]
struct Section<'r> {
    suite: &'r str,
    name: &'r str,
    rows: Vec<Row<'r>>,
}

#[derive(Serialize)]
struct Row<'r> {
    /// Its number on the page, for links.
    number: usize,
    name: &'r str,
    title: &'r str,
    spec: &'r [String],
    hazard: Option<&'static str>,
    /// The kinds of its cells, for filtering rows.
    kinds: String,
    cells: Vec<Cell<'r>>,
}

#[derive(Clone, Serialize)]
struct Cell<'r> {
    kind: Kind,
    fact: Option<&'r str>,
    deviation: Option<&'r str>,
    faults: &'r [CaseFault],
    detail: Option<Shown<'r>>,
}

/// A [`Detail`] as text.
#[derive(Clone, Serialize)]
struct Shown<'r> {
    turns: Option<Vec<&'r Turn>>,
    sent: String,
    seen: String,
    expected: &'r str,
    found: &'r [String],
    about: &'r [String],
}

impl<'r> From<&'r Detail> for Shown<'r> {
    fn from(detail: &'r Detail) -> Self {
        let (sent, seen) = (shortened(&detail.sent.json()), shortened(&detail.seen.json()));
        Self {
            turns: detail.turns(),
            sent,
            seen,
            expected: &detail.expected,
            found: &detail.found,
            about: &detail.about,
        }
    }
}

impl<'r> Cell<'r> {
    fn new(case: Option<&'r Case>, report: Option<&Report>) -> Self {
        let deviation = case.and_then(|case| case.deviation.as_ref());
        Self {
            kind: Kind::of(case, report),
            fact: deviation.map(|deviation| deviation.fact.as_str()),
            deviation: deviation.map(|deviation| deviation.text.as_str()),
            faults: case.map_or(&[], |case| &case.faults),
            // A pass needs no explanation, and there are hundreds.
            detail: case
                .filter(|case| case.grade != Grade::Pass)
                .and_then(|case| case.detail.as_ref())
                .map(Shown::from),
        }
    }
}

/// The cases of all reports, each once, in the order of appearance, by suite and section.
fn sections(reports: &[Report]) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    let mut section_of: HashMap<(&str, &str), usize> = HashMap::new();
    let mut row_of: HashMap<(&str, &str), (usize, usize)> = HashMap::new();
    let mut count = 0usize;
    for (column, report) in reports.iter().enumerate() {
        for case in &report.cases {
            let section = *section_of.entry((&report.suite, &case.section)).or_insert_with(|| {
                sections.push(Section {
                    suite: &report.suite,
                    name: &case.section,
                    rows: Vec::new(),
                });
                sections.len().saturating_sub(1)
            });
            let key = (report.suite.as_str(), case.name.as_str());
            let place = *row_of.entry(key).or_insert_with(|| {
                let rows = sections.get_mut(section).map(|section| &mut section.rows);
                let index = rows.as_ref().map_or(0, |rows| rows.len());
                if let Some(rows) = rows {
                    count += 1;
                    rows.push(Row::new(case, count, reports.len()));
                }
                (section, index)
            });
            let cell = sections
                .get_mut(place.0)
                .and_then(|section| section.rows.get_mut(place.1))
                .and_then(|row| row.cells.get_mut(column));
            if let Some(cell) = cell {
                *cell = Cell::new(Some(case), Some(report));
            }
        }
    }
    for row in sections.iter_mut().flat_map(|section| &mut section.rows) {
        let kinds: BTreeSet<&str> = row.cells.iter().map(|cell| cell.kind.name).collect();
        row.kinds = kinds.into_iter().collect::<Vec<_>>().join(" ");
    }
    sections
}

impl<'r> Row<'r> {
    fn new(case: &'r Case, number: usize, columns: usize) -> Self {
        let cells = std::iter::repeat_n(Cell::new(None, None), columns).collect();
        let hazard = case.hazard.map(|hazard| match hazard {
            dotnet_diagnostics_ipc::vectors::Hazard::SideEffect => "side-effect",
            dotnet_diagnostics_ipc::vectors::Hazard::Harmful => "harmful",
        });
        Self {
            number,
            name: &case.name,
            title: &case.title,
            spec: &case.spec,
            hazard,
            kinds: String::new(),
            cells,
        }
    }
}

/// Results come before unsupported parts: rows, and sections.
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

/// The passes of each section, of reports without a failure.
fn passes<'r>(sections: &[Section<'r>]) -> Vec<Passes<'r>> {
    let passed = |row: &&Row<'_>| {
        row.cells.iter().any(|cell| ["pass", "pass-lenient"].contains(&cell.kind.name))
    };
    let of = |section: &Section<'r>| Passes {
        name: section.name,
        count: section.rows.iter().filter(passed).count(),
    };
    sections.iter().map(of).filter(|passes| passes.count > 0).collect()
}

/// How many cases of a section passed.
#[derive(Serialize)]
struct Passes<'r> {
    name: &'r str,
    count: usize,
}

/// `F-9` before `F-10`.
fn in_order(id: &str) -> (String, u32) {
    let (kind, number) = id.rsplit_once('-').unwrap_or((id, ""));
    (kind.to_owned(), number.parse().unwrap_or(0))
}

/// The most characters of a value on the page.
fn shortened(text: &str) -> String {
    const MOST: usize = 10_000;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
