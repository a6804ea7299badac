//! Every known fault of clients is planted in a client, and no other is named. Clients that only
//! differ in taste pass.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use diagipc::faults::{Fault, Suite};

use crate::tool::{self, DIAGIPC};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The command also compares the section "Clients" of `spec/DETECTION.md` with the results of the
/// run.
#[track_caller]
fn detected(options: &[&str]) {
    let script = Path::new(ROOT).join("tests/clients/detect.py");
    let ran = tool::python()
        .arg(script)
        .args(["--check", "--diagipc", DIAGIPC])
        .args(options)
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}{}",
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[test]
fn client_planted_fault_is_named_without_others() {
    detected(&["--sample"]);
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn client_planted_faults_are_all_named_without_others() {
    detected(&[]);
}

#[test]
fn client_every_fault_is_planted() {
    let text = fs::read_to_string(Path::new(ROOT).join("tests/clients/faults.toml")).unwrap();
    let planted: toml::Table = toml::from_str(&text).unwrap();
    // A fault may be planted in several ways, `NAME/WAY`.
    let names = planted["faults"].as_table().unwrap().keys();
    let planted: BTreeSet<&str> = names.filter_map(|name| name.split('/').next()).collect();
    assert_eq!(planted, Fault::of(Suite::Client).map(Fault::name).collect());
    let client =
        fs::read_to_string(Path::new(ROOT).join("tests/fixtures/clients/client.py")).unwrap();
    let missing: Vec<&&str> =
        planted.iter().filter(|name| !client.contains(&format!("\"{name}\""))).collect();
    assert!(missing.is_empty(), "client.py has none of {missing:?}");
}

#[test]
fn client_faults_are_all_in_the_readme() {
    let readme = fs::read_to_string(Path::new(ROOT).join("clients/README.md")).unwrap();
    for fault in Fault::of(Suite::Client) {
        let row =
            format!("| `{}` | {} ({}) |", fault.name(), fault.sentence(), fault.spec().join(", "));
        assert!(readme.lines().any(|line| line == row), "{row}");
    }
}
