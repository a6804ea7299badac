//! How far the reference runtime reproduces the recordings of each build: `spec/RUNTIMES.md` has
//! the table.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use diagipc::known::Profile;
use diagipc::runtime::Agreement;

/// For valid requests and for malformed ones, in tenths of a per cent.
const LEAST: (usize, usize) = (990, 950);
/// The head of the table.
const HEAD: &str = "| build | right requests | malformed requests |\n|---|---|---|\n";

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// All builds of this system at once: most of the time is waiting.
fn agreements() -> Vec<Agreement> {
    let paths: Vec<_> =
        fs::read_dir(root("evidence")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let evidence = paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let of_windows = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("win-"))
    };
    let evidence = evidence.filter(|path| of_windows(path) == cfg!(windows));
    let asked: Vec<_> = evidence
        .map(|path| {
            thread::spawn(move || Agreement::with(&fs::read_to_string(path).unwrap()).unwrap())
        })
        .collect();
    let mut agreements: Vec<Agreement> = asked.into_iter().map(|one| one.join().unwrap()).collect();
    agreements.sort_by_key(|one| (one.build.starts_with("aot"), version(&one.build)));
    agreements
}

fn version(build: &str) -> Vec<u16> {
    build
        .trim_start_matches(char::is_alphabetic)
        .split('.')
        .map(|number| number.parse().unwrap())
        .collect()
}

/// `diagipc runtime --agreement evidence/*.json` prints the rows; `tests/live/evidence.py
/// --agreement` puts them into the file.
#[test]
#[ignore = "long: in the gate"]
fn reference_runtime_agrees_with_each_recording() {
    let agreements = agreements();
    assert!(agreements.len() >= 10);
    let mut table = String::from(HEAD);
    let mut wrong = String::new();
    for agreement in &agreements {
        assert!(Profile::of_recording(&agreement.build).unwrap().is_seen());
        assert!(agreement.well_formed.all > 40 && agreement.malformed.all > 100, "{agreement}");
        writeln!(table, "{agreement}").unwrap();
        if agreement.well_formed.per_mille() < LEAST.0 || agreement.malformed.per_mille() < LEAST.1
        {
            let differences: Vec<_> =
                agreement.differences.iter().map(ToString::to_string).collect();
            writeln!(wrong, "{agreement}\n  {}", differences.join("\n  ")).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let written = fs::read_to_string(root("../spec/RUNTIMES.md")).unwrap();
    assert!(written.contains(&table), "spec/RUNTIMES.md does not have this table:\n{table}");
}
