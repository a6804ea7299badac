//! `diagipc vectors`, and the lists of other commands.

use std::fs;

use dotnet_diagnostics_ipc::vectors;
use serde_json::Value;

use crate::{run, text};

#[test]
fn vectors_export_passes_check() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("taken");
    let path = path.to_str().unwrap();
    run(&["vectors", "export", path], b"", 0);
    for file in [
        "README.md",
        "schema/vectors.schema.json",
        "schema/exchanges.schema.json",
        "schema/report.schema.json",
        "exchanges/README.md",
        "clients/README.md",
    ] {
        assert!(fs::exists(format!("{path}/{file}")).unwrap(), "{file}");
    }
    assert_eq!(
        fs::read_dir(format!("{path}/exchanges")).unwrap().count(),
        vectors::script_files().unwrap().len() + 1
    );
    run(&["check", "--vectors", path], b"", 0);
    run(&["vectors", "export", path], b"", 2);
    run(&["vectors", "export", path, "--force"], b"", 0);
}

#[test]
fn vectors_list_and_show() {
    let groups = vectors::files().unwrap().iter().map(|file| file.groups.len()).sum::<usize>();
    assert_eq!(text(&run(&["vectors", "list"], b"", 0)).lines().count(), groups + 1);
    let list: Vec<Value> =
        serde_json::from_str(&text(&run(&["vectors", "list", "--json"], b"", 0))).unwrap();
    assert_eq!(list.len(), groups);
    let shown = text(&run(&["vectors", "show", "3201"], b"", 0));
    assert!(
        shown.contains("tcId 3201")
            && shown.contains("hazard  harmful")
            && shown.contains("limits no_providers at byte 37"),
        "{shown}"
    );
}

#[test]
fn scripts_list_and_show() {
    let scripts: usize =
        vectors::script_files().unwrap().iter().map(|file| file.scripts.len()).sum();
    assert_eq!(text(&run(&["scripts", "list"], b"", 0)).lines().count(), scripts + 1);
    let list: Vec<Value> =
        serde_json::from_str(&text(&run(&["scripts", "list", "--json"], b"", 0))).unwrap();
    assert_eq!(list.len(), scripts);

    let shown = text(&run(&["scripts", "show", "20134"], b"", 0));
    assert_eq!(shown, text(&run(&["scripts", "show", "second-request-with-the-first"], b"", 0)));
    for line in [
        "scId 20134: Of two requests in one write only the first is served",
        "  plays   client",
        "   0  {\"open\":\"a\"}",
        "request Process/ProcessInfo2, 0x0404, 20 bytes at offset 0",
    ] {
        assert!(shown.lines().any(|have| have == line), "{line} is not in\n{shown}");
    }
    run(&["scripts", "show", "19999"], b"", 2);
}

/// What the reference runtime can be configured to do wrong, by name.
#[cfg(unix)]
#[test]
fn runtime_misbehaviours_are_listed() {
    let listed = text(&run(&["runtime", "--list"], b"", 0));
    for words in [
        &["misbehaviour", "fact", "what it does"][..],
        &["never-accepts", "F-75", "Nothing is accepted"],
        &["truncate=22", "N bytes of the reply are sent, then the end."],
        &[
            "profiles: coreclr-3.1, coreclr-8, coreclr-9, coreclr-10, coreclr-11, nativeaot-8, nativeaot-9, nativeaot, mono, strict",
        ],
    ] {
        assert!(
            listed.lines().any(|line| words.iter().all(|word| line.contains(word))),
            "{words:?} is not in\n{listed}"
        );
    }
}
