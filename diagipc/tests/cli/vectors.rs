//! `diagipc list`, and `dev corpus`.

use std::fs;

use diagipc::embedded::corpus;
use dotnet_diagnostics_ipc_vectors as vectors;
use serde_json::Value;

use crate::cli::{run, text};
use crate::tool::DIAGIPC;

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
fn vectors_are_listed_and_explained() {
    let groups = vectors::files().unwrap().iter().map(|file| file.groups.len()).sum::<usize>();
    assert_eq!(text(&run(&["list", "vectors"], b"", 0)).lines().count(), groups + 1);
    let list: Vec<Value> =
        serde_json::from_str(&text(&run(&["list", "vectors", "--json"], b"", 0))).unwrap();
    assert_eq!(list.len(), groups);
    let shown = text(&run(&["explain", "3201"], b"", 0));
    assert!(
        shown.contains("tcId 3201")
            && shown.contains("hazard  harmful\n")
            && shown.contains("limits no_providers at byte 37"),
        "{shown}"
    );
    // Which builds died of a case is of the recordings.
    for (name, ended) in
        [("3200", "net9.0.5, aot9.0.20"), ("dump-without-payload", "win-net6.0.13, ")]
    {
        let shown = text(&run(&["explain", name], b"", 0));
        assert!(shown.contains(&format!("hazard  harmful: ended {ended}")), "{shown}");
    }
}

#[test]
fn scripts_are_listed_and_explained() {
    let scripts: usize =
        vectors::script_files().unwrap().iter().map(|file| file.scripts.len()).sum();
    assert_eq!(text(&run(&["list", "scripts"], b"", 0)).lines().count(), scripts + 1);
    let list: Vec<Value> =
        serde_json::from_str(&text(&run(&["list", "scripts", "--json"], b"", 0))).unwrap();
    assert_eq!(list.len(), scripts);

    let shown = text(&run(&["explain", "20134"], b"", 0));
    assert_eq!(shown, text(&run(&["explain", "second-request-with-the-first"], b"", 0)));
    for line in [
        "scId 20134: Of two requests in one write only the first is served",
        "  plays   client",
        "   0  {\"open\":\"a\"}",
        "request Process/ProcessInfo2, 0x0404, 20 bytes at offset 0",
    ] {
        assert!(shown.lines().any(|have| have == line), "{line} is not in\n{shown}");
    }
    run(&["explain", "19999"], b"", 2);
}

#[test]
fn faults_of_suites_and_of_the_runtime_are_listed() {
    let listed = text(&run(&["list", "faults"], b"", 0));
    for words in [
        &["fault", "of", "spec", "what it is"][..],
        &["value-not-asked", "client", "R-FLW-011"],
        &["never-accepts", "runtime", "F-75", "Nothing is accepted"],
        &["truncate=22", "N bytes of the reply are sent, then the end."],
    ] {
        assert!(
            listed.lines().any(|line| words.iter().all(|word| line.contains(word))),
            "{words:?} is not in\n{listed}"
        );
    }
    let list: Vec<Value> =
        serde_json::from_str(&text(&run(&["list", "faults", "--json"], b"", 0))).unwrap();
    assert_eq!(list.len(), listed.lines().count() - 1);
    let known = text(&run(&["list", "cases"], b"", 0));
    let has = |name: &str| known.lines().any(|line| line.starts_with(name));
    assert!(has("codec/grammar/") && known.lines().count() > 2000, "{known}");
    assert!(cfg!(not(unix)) || has("server/scripts/") && has("client/reply/"), "{known}");
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn vectors_corpus_writes_seeds_and_dictionary() {
    let directory = crate::tool::directory();
    let place = directory.path().join("new/corpus");
    let status = std::process::Command::new(DIAGIPC)
        .args(["dev", "corpus"])
        .arg(&place)
        .output()
        .unwrap()
        .status;
    assert!(status.success());
    for target in corpus::TARGETS {
        let seeds = corpus::seeds(target).unwrap();
        assert_eq!(fs::read_dir(place.join(target)).unwrap().count(), seeds.len(), "{target}");
        assert_eq!(fs::read(place.join(target).join(&seeds[0].name)).unwrap(), seeds[0].input);
    }
    assert_eq!(fs::read_to_string(place.join("dictionary.txt")).unwrap(), corpus::dictionary());
}

/// One word a line, `name="bytes"`, as libFuzzer reads it.
#[test]
fn dictionary_has_protocol_words() {
    let dictionary = corpus::dictionary();
    let words: Vec<_> = dictionary.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(words.contains(&r#"CollectTracing2="\x02\x03""#), "{dictionary}");
    assert!(
        words.contains(&r#"magic="\x44\x4f\x54\x4e\x45\x54\x5f\x49\x50\x43\x5f\x56\x31\x00""#),
        "{dictionary}"
    );
    assert!(words.contains(&r#"string="\x02\x00\x00\x00\x61\x00\x00\x00""#), "{dictionary}");
    for word in words {
        let (name, bytes) = word.split_once("=\"").unwrap();
        assert!(
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && bytes.ends_with('"')
                && bytes.len() % 4 == 1,
            "{word}"
        );
    }
}
