//! `diagipc list`.

use std::fs;

use dotnet_diagnostics_ipc_vectors as vectors;

use crate::cli::{json, run, text};

#[test]
fn vectors_export_passes_check() {
    let directory = crate::tool::directory();
    let path = directory.path().join("taken");
    let path = path.to_str().unwrap();
    run(&["list", "vectors", "--export", path], b"", 0);
    for file in [
        "index.json",
        "go.mod",
        "package.json",
        "pyproject.toml",
        "schema/vectors.schema.json",
        "schema/report.schema.json",
        "exchanges/README.md",
        "clients/README.md",
    ] {
        assert!(fs::exists(format!("{path}/{file}")).unwrap(), "{file}");
    }
    let links = |name: &str, link: &str| {
        let page = fs::read_to_string(format!("{path}/{name}")).unwrap();
        assert!(page.contains(&format!("]({link})")), "{name}: {link}");
    };
    links("README.md", "adapters/README.md");
    links("clients/README.md", "../exchanges/README.md");
    assert_eq!(
        fs::read_dir(format!("{path}/exchanges")).unwrap().count(),
        vectors::script_files().unwrap().len() + 1
    );
    run(&["check", "--vectors", path], b"", 0);
    run(&["list", "vectors", "--export", path], b"", 2);
    run(&["list", "vectors", "--export", path, "--force"], b"", 0);
}

#[test]
fn vectors_scripts_and_faults_are_listed() {
    let groups = vectors::files().unwrap().iter().map(|file| file.groups.len()).sum::<usize>();
    let scripts: usize =
        vectors::script_files().unwrap().iter().map(|file| file.scripts.len()).sum();
    let faults = text(&run(&["list", "faults"], b"", 0));
    for (what, count) in
        [("vectors", groups), ("scripts", scripts), ("faults", faults.lines().count() - 1)]
    {
        assert_eq!(text(&run(&["list", what], b"", 0)).lines().count(), count + 1, "{what}");
        let list = json(&["list", what, "--json"], 0);
        assert_eq!(list.as_array().unwrap().len(), count, "{what}");
    }
    for words in [
        &["fault", "of", "spec", "what it is"][..],
        &["value-not-asked", "client", "R-FLW-011"],
        &["never-accepts", "runtime", "F-75", "Nothing is accepted"],
        &["truncate=22", "N bytes of the reply are sent, then the end."],
    ] {
        let has = |line: &str| words.iter().all(|word| line.contains(word));
        assert!(faults.lines().any(has), "{words:?} is not in\n{faults}");
    }
    let cases = text(&run(&["list", "cases"], b"", 0));
    let has = |name: &str| cases.lines().any(|line| line.starts_with(name));
    assert!(has("codec/grammar/") && cases.lines().count() > 2000, "{cases}");
    assert!(cfg!(not(unix)) || has("server/scripts/") && has("client/reply/"), "{cases}");
}
