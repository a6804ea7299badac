//! The front page and `spec/GUIDE.md` agree with the manifest, the code and the
//! vectors.

use std::collections::{BTreeMap, BTreeSet};

use dotnet_diagnostics_ipc_vectors as vectors;

use crate::vectors_format::{facts, path, read};

#[test]
fn readme_features_equal_manifest() {
    let manifest: toml::Table = read(&path("Cargo.toml")).parse().unwrap();
    let readme = read(&path("README.md"));
    let section = readme
        .split("\n## Features\n")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .expect("a section");
    let rows: Vec<_> =
        section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |")).collect();
    let listed: BTreeSet<_> = rows.iter().map(|(name, _)| *name).collect();
    let features: BTreeSet<_> =
        manifest["features"].as_table().unwrap().keys().map(String::as_str).collect();
    assert_eq!(listed.len(), rows.len(), "a feature is listed twice");
    assert_eq!(listed, features.difference(&BTreeSet::from(["default"])).copied().collect());
}

#[test]
fn versions_equal_manifest() {
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        read(&path("spec/VENDORING.md")).contains(&format!("\nversion = \"{version}\"\n")),
        "the vendored manifest is not {version}"
    );
    assert!(
        read(&path("diagipc/Cargo.toml")).contains(&format!("version = \"={version}\"")),
        "the tool does not need {version}"
    );
}

/// The numbers after `kind`, or its plural, in a cell such as `vectors 1, 2; script 3`.
fn numbers<'a>(cell: &'a str, kind: &str) -> impl Iterator<Item = u32> + 'a {
    let list = cell.split(';').find_map(|part| part.trim().strip_prefix(kind)).unwrap_or_default();
    list.trim_start_matches('s')
        .split(',')
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(|text| text.parse().expect("a number"))
}

/// The traps name existing vectors and scripts, which cite the facts next to them.
#[test]
fn every_trap_has_a_vector_or_script_citing_its_fact() {
    let files = vectors::files().unwrap();
    let groups = files.iter().flat_map(|file| &file.groups);
    let tests: BTreeMap<u32, &[String]> = groups
        .flat_map(|group| group.tests.iter().map(|test| (test.tc_id, &group.spec[..])))
        .collect();
    let files = vectors::script_files().unwrap();
    let scripts: BTreeMap<u32, &[String]> = files
        .iter()
        .flat_map(|file| &file.scripts)
        .map(|script| (script.sc_id, &script.spec[..]))
        .collect();

    let mut traps = 0;
    for row in read(&path("spec/GUIDE.md")).lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [number, _, _, cited, shown] = cells[..] else { continue };
        let Ok(number) = number.parse::<u32>() else { continue };
        traps += 1;
        assert_eq!(number, traps);
        let cited: BTreeSet<_> = facts(cited).collect();
        let mut is_shown = false;
        for (kind, known) in [("vector", &tests), ("script", &scripts)] {
            for id in numbers(shown, kind) {
                let spec = known
                    .get(&id)
                    .unwrap_or_else(|| panic!("trap {number}: there is no {kind} {id}"));
                is_shown |= spec.iter().any(|fact| cited.contains(fact.as_str()));
            }
        }
        assert!(is_shown, "trap {number}: nothing that shows it cites one of {cited:?}");
    }
    assert_eq!(traps, 13);
}
