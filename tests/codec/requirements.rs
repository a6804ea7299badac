//! The requirements of `spec/requirements.toml` and the tables of `spec/TABLES.md`: they are
//! well-formed, and the evidence that they cite exists.

use std::collections::BTreeSet;
use std::fs;

use crate::vectors_format::{path, texts};
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::SourceKind;
use serde::Deserialize;

const EDITIONS: [&str; 6] = ["2019-05", "3.x", "5", "10", "10+", "11"];
const LEVELS: [&str; 4] = ["must", "should", "may", "informative"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirements {
    requirement: Vec<Requirement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    id: String,
    level: String,
    statement: String,
    edition: Vec<String>,
    section: String,
    #[serde(default)]
    fact: Vec<String>,
    shown_by: Vec<String>,
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn requirements() -> Vec<Requirement> {
    let file: Requirements =
        toml::from_str(&read("spec/requirements.toml")).unwrap_or_else(|error| panic!("{error}"));
    file.requirement
}

/// Reports all lines that `check` returns for requirements in one panic.
fn for_each(mut check: impl FnMut(&Requirement) -> Vec<String>) {
    let all = requirements();
    let lines: Vec<_> = all
        .iter()
        .flat_map(|one| {
            check(one).into_iter().map(|line| format!("{}: {line}", one.id)).collect::<Vec<_>>()
        })
        .collect();
    assert!(lines.is_empty(), "{} failures\n{}", lines.len(), lines.join("\n"));
}

fn place_of(edition: &str) -> Option<usize> {
    EDITIONS.iter().position(|known| *known == edition)
}

/// The area and number of `R-AREA-NUMBER`.
fn area_and_number(id: &str) -> Option<(&str, u32)> {
    let (area, number) = id.strip_prefix("R-")?.split_once('-')?;
    let good = area.len() == 3
        && area.bytes().all(|byte| byte.is_ascii_uppercase())
        && number.len() == 3
        && number.bytes().all(|byte| byte.is_ascii_digit());
    good.then_some((area, number.parse().ok()?))
}

/// Names of groups and numbers of tests, over all files of vectors.
fn groups_and_tests() -> (BTreeSet<String>, BTreeSet<u32>) {
    let files = vectors::files().unwrap();
    let groups = files.iter().flat_map(|file| &file.groups);
    let tests = groups.clone().flat_map(|group| &group.tests).map(|test| test.tc_id).collect();
    (groups.map(|group| group.name.clone()).collect(), tests)
}

/// Whether `text` has a test function called `name`.
fn has_test(text: &str, name: &str) -> bool {
    text.split_once(&format!("fn {name}(")).is_some_and(|(before, _)| {
        let above = before.trim_end().lines().rev().map(str::trim);
        above
            .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
            .any(|line| line == "#[test]")
    })
}

/// Whether the documentation of the public function `name` in `text` has an example that is run.
fn has_example(text: &str, name: &str) -> bool {
    let functions = [format!("pub fn {name}("), format!("pub const fn {name}(")];
    functions.iter().filter_map(|function| text.split_once(function)).any(|(before, _)| {
        let above = before.trim_end().lines().rev().map(str::trim);
        let documentation =
            above.take_while(|line| line.starts_with("///") || line.starts_with("#["));
        // The first fence of an example has no word after it.
        documentation.filter(|line| line.starts_with("/// ```")).last() == Some("/// ```")
    })
}

#[test]
fn requirement_ids_are_well_formed_unique_and_ordered() {
    let mut last = ("", 0);
    let mut areas = BTreeSet::new();
    let all = requirements();
    for one in &all {
        let Some((area, number)) = area_and_number(&one.id) else { panic!("{} is no id", one.id) };
        if area == last.0 {
            assert!(number > last.1, "{} comes after {}", one.id, last.1);
        } else {
            assert!(areas.insert(area), "{area} stands in two places");
        }
        last = (area, number);
    }
    assert!(all.len() > 200, "{}", all.len());
}

#[test]
fn requirement_levels_and_editions_are_known() {
    let mut statements = BTreeSet::new();
    for_each(|one| {
        let places: Vec<_> = one.edition.iter().map(|edition| place_of(edition)).collect();
        let wrong = [
            (!LEVELS.contains(&one.level.as_str()), "level"),
            (
                places.is_empty() || places.contains(&None) || !places.is_sorted_by(|a, b| a < b),
                "list of editions",
            ),
            (!one.statement.ends_with('.') || one.statement.lines().count() != 1, "statement"),
            (
                !statements.insert((one.section.clone(), one.statement.clone())),
                "statement that another has",
            ),
        ];
        wrong
            .iter()
            .filter(|(wrong, _)| *wrong)
            .map(|(_, what)| format!("has a wrong {what}"))
            .collect()
    });
}

#[test]
fn requirement_evidence_exists() {
    let (groups, tests) = groups_and_tests();
    for_each(|one| {
        let mut lines = Vec::new();
        for entry in &one.shown_by {
            let good = match entry.split_once(':') {
                Some(("group", name)) => groups.contains(name),
                Some(("tc", number)) => number.parse().is_ok_and(|number| tests.contains(&number)),
                Some(("test", place)) => {
                    place.split_once("::").is_some_and(|(file, name)| has_test(&read(file), name))
                }
                Some(("doc", place)) => place
                    .split_once("::")
                    .is_some_and(|(file, name)| has_example(&read(file), name)),
                Some(("live", place)) => place.split_once("::").is_some_and(|(file, name)| {
                    file.starts_with("diagipc/tests/live/")
                        && read(file)
                            .lines()
                            .any(|line| line.trim_start().starts_with(&format!("def {name}(")))
                }),
                _ => false,
            };
            if !good {
                lines.push(format!("{entry} is not there"));
            }
        }
        let different: BTreeSet<_> = one.shown_by.iter().collect();
        if different.is_empty() || different.len() != one.shown_by.len() {
            lines.push("is shown by nothing, or by the same twice".to_owned());
        }
        lines
    });
}

#[test]
fn requirement_facts_are_in_errata() {
    let errata = read("spec/ERRATA.md");
    let rows: BTreeSet<_> =
        errata.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).collect();
    for_each(|one| {
        let unknown = one.fact.iter().filter(|fact| {
            let numbered = fact.starts_with("F-") || fact.starts_with("P-");
            !numbered || !rows.contains(fact.as_str())
        });
        unknown.map(|fact| format!("{fact} has no row")).collect()
    });
}

/// Edition, section, what is printed, vectors as printed, vectors corrected.
fn tables(text: &str) -> Vec<Vec<&str>> {
    let rows =
        text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| edition |"));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// The numbers in a cell of vectors; None if it has none and does not say why.
fn numbers(cell: &str) -> Option<Vec<u32>> {
    let reason = cell.strip_prefix("no bytes: ").is_some_and(|reason| !reason.is_empty());
    if reason || cell == "–" {
        return Some(Vec::new());
    }
    cell.split(", ").map(|number| number.parse().ok()).collect()
}

#[test]
fn tables_name_every_table_vector() {
    let (_, tests) = groups_and_tests();
    let text = read("spec/TABLES.md");
    let rows = tables(&text);
    for row in &rows {
        let [edition, section, what, printed, corrected] = row[..] else { panic!("{row:?}") };
        for label in edition.split(", ").flat_map(|label| label.split('–')) {
            assert!(label == "all" || place_of(label).is_some(), "{row:?}");
        }
        assert!(!section.is_empty() && !what.is_empty() && printed != "–", "{row:?}");
        for cell in [printed, corrected] {
            let Some(numbers) = numbers(cell) else { panic!("{row:?}: {cell}") };
            for number in numbers {
                assert!(tests.contains(&number), "{row:?}: no test has tcId {number}");
            }
        }
    }
    let cells = rows.iter().flat_map(|row| &row[3..]);
    let named: BTreeSet<_> = cells.filter_map(|cell| numbers(cell)).flatten().collect();
    for group in vectors::files().unwrap().iter().flat_map(|file| &file.groups) {
        if matches!(group.source.kind, SourceKind::Table | SourceKind::Corrected) {
            for test in &group.tests {
                assert!(named.contains(&test.tc_id), "tcId {} stands in no row", test.tc_id);
            }
        }
    }
}

/// The ids of requirements in `text`.
fn cited(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("R-")
        .filter_map(|(at, _)| text.get(at..at + 9))
        .filter(|id| area_and_number(id).is_some())
}

#[test]
fn requirement_citations_exist() {
    assert_eq!(
        cited("R-HDR-001, R-HD-001, R-HDR-1, (R-GRM-024)").collect::<Vec<_>>(),
        ["R-HDR-001", "R-GRM-024"]
    );
    let known: BTreeSet<_> = requirements().into_iter().map(|one| one.id).collect();
    let mut places = vec![path("README.md"), path("CONTRIBUTING.md")];
    for directory in ["spec", "src", "tests", "vectors", "diagipc"] {
        texts(&path(directory), &mut places);
    }
    for place in places {
        // This file has its own ids to try the search with; its list is compared above.
        if place.ends_with("tests/codec/requirements.rs") {
            continue;
        }
        let text = fs::read_to_string(&place)
            .unwrap_or_else(|error| panic!("{}: {error}", place.display()));
        for id in cited(&text) {
            assert!(known.contains(id), "{} cites {id}, which is no requirement", place.display());
        }
    }
}
