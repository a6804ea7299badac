//! `spec/GUIDE.md`: the traps name existing vectors and scripts, which cite the facts next to them.

use std::collections::{BTreeMap, BTreeSet};

use dotnet_diagnostics_ipc_vectors as vectors;

const GUIDE: &str = include_str!("../../spec/GUIDE.md");

/// The facts that `text` cites.
fn facts(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter(|word| ["F-", "P-"].iter().any(|start| word.starts_with(start))).collect()
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
    for row in GUIDE.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [number, _, _, cited, shown] = cells[..] else { continue };
        let Ok(number) = number.parse::<u32>() else { continue };
        traps += 1;
        assert_eq!(number, traps);
        let cited = facts(cited);
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
    assert_eq!(traps, 12);
}
