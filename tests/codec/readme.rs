//! The front page: `README.md` and its pictures agree with `Cargo.toml` and `src/`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const README: &str = include_str!("../../README.md");

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn readme_features_equal_manifest() {
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let section = README
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
        read("spec/VENDORING.md").contains(&format!("\nversion = \"{version}\"\n")),
        "the vendored manifest is not {version}"
    );
    assert!(
        read("diagipc/Cargo.toml").contains(&format!("version = \"={version}\"")),
        "the tool does not need {version}"
    );
}

#[test]
fn layers_picture_names_every_module() {
    let picture = read("src/pictures/layers.svg");
    let library = read("src/lib.rs");
    let modules =
        library.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let mut count = 0;
    for module in modules {
        assert!(
            picture.contains(&format!(">{module}</text>")),
            "src/pictures/layers.svg does not name {module}"
        );
        count += 1;
    }
    assert!(count >= 14, "{count}");
}

/// rustdoc embeds them in a page: there HTML ends at a blank line.
#[test]
fn pictures_can_be_embedded_in_rustdoc() {
    let mut count = 0;
    for directory in ["src/pictures", "diagipc/src/pictures"] {
        for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)).unwrap() {
            let name = entry.unwrap().path();
            let (name, picture) = (name.display(), read(name.to_str().unwrap()));
            count += 1;
            assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{name}");
            assert!(picture.lines().all(|line| !line.trim().is_empty()), "{name} has a blank line");
            assert!(
                picture.lines().next().unwrap().ends_with('>'),
                "{name}: the tag ends on its line"
            );
        }
    }
    assert_eq!(count, 6);
}
