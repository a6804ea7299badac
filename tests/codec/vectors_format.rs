//! The files of vectors/: the codec does what they say, they match schema/ and README.md, and nothing
//! in them is missing or duplicate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::schema::Schema;
use dotnet_diagnostics_ipc_vectors::documents::{PACKAGE, SCRIPTS, VECTORS};
use dotnet_diagnostics_ipc_vectors::{
    DecodeRefusal, ExpectedResult, Group, Hazard, SourceKind, Test, Type, TypedCodec, Value,
    VectorFault,
};

pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reports every line that `check` returns for a group in one panic.
fn for_each_group(mut check: impl FnMut(&Group) -> Vec<String>) {
    let mut failures = Vec::new();
    for file in dotnet_diagnostics_ipc_vectors::files().unwrap() {
        for group in &file.groups {
            failures.extend(check(group).into_iter().map(|line| format!("{} {line}", group.name)));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// Reports every line that `check` returns for a test in one panic.
fn for_each_test(mut check: impl FnMut(&Group, &Test) -> Option<String>) {
    for_each_group(|group| {
        let lines = group.tests.iter().map(|test| (test.tc_id, check(group, test)));
        lines.filter_map(|(tc_id, line)| line.map(|line| format!("tcId {tc_id}: {line}"))).collect()
    });
}

#[test]
fn vectors_decode_and_encode_as_declared() {
    for_each_group(|group| {
        let check = |test: &Test| {
            differences(group, test)
                .into_iter()
                .map(|line| format!("tcId {}: {} -- {line:.400}", test.tc_id, test.comment))
                .collect::<Vec<_>>()
        };
        group.tests.iter().flat_map(check).collect()
    });
}

/// Returns how the codec differs from a test, one line each.
fn differences(group: &Group, test: &Test) -> Vec<String> {
    let Some(subject) = group.subject() else {
        return Vec::from([format!("the group's command {:?} is unknown", group.command)]);
    };
    let mut found = Vec::new();
    match &test.wire {
        Some(wire) => check_bytes(subject, test, wire, &mut found),
        None => check_encoding(subject, test, None, &mut found),
    }
    found
}

fn check_bytes(subject: TypedCodec, test: &Test, wire: &[u8], found: &mut Vec<String>) {
    let decoded = match subject.decode(wire) {
        Ok(decoded) => decoded,
        Err(DecodeRefusal { fault, .. }) => {
            match &test.error {
                Some(expected) if test.result == ExpectedResult::Invalid => {
                    if *expected != fault {
                        found.push(format!("refused for {fault}; expected {expected}"));
                    }
                }
                _ => found.push(format!("refused for {fault}; expected {}", test.value)),
            }
            return;
        }
    };
    match (&test.error, &decoded.limit.map(VectorFault::from)) {
        (expected, limit) if expected == limit => {}
        (Some(expected), None) => found.push(format!("accepted; expected {expected}")),
        (expected, Some(limit)) => {
            let expected = expected.as_ref().map_or("no refusal".into(), ToString::to_string);
            found.push(format!("refused by the limits for {limit}; expected {expected}"));
        }
        (None, None) => {}
    }
    let is_message =
        matches!(subject.kind, Type::Request | Type::Reply | Type::Error | Type::Unknown);
    if is_message && decoded.kind != subject.kind {
        found.push(format!("decoded as {:?}; expected {:?}", decoded.kind, subject.kind));
    }
    if decoded.value != test.value {
        found.push(format!("decoded to {}; expected {}", decoded.value, test.value));
    }
    if decoded.canonical != test.canonical {
        found.push(format!("canonical is {}; expected {}", decoded.canonical, test.canonical));
    }
    check_encoding(subject, test, Some(wire), found);
    // Absent and empty arguments mean the same (F-83).
    let meaning = |value: &Value| {
        let json = value.to_string();
        json.replace("arguments\":null", "arguments\":\"\"").replace("_data\":null", "_data\":\"\"")
    };
    for other in &test.equivalent {
        match subject.decode(other) {
            Ok(read) if read.canonical && meaning(&read.value) == meaning(&test.value) => {}
            _ => found.push(format!("{} is not equivalent", hex::encode(other))),
        }
    }
}

/// Checks that a value encodes to the bytes of its test if and only if they are canonical.
fn check_encoding(subject: TypedCodec, test: &Test, wire: Option<&[u8]>, found: &mut Vec<String>) {
    match (subject.encode(&test.value), wire) {
        (Ok(bytes), Some(wire)) if (bytes == wire) != test.canonical => {
            let comparison = if test.canonical { "expected" } else { "expected bytes other than" };
            found.push(format!(
                "encoded to {}; {comparison} {}",
                hex::encode(bytes),
                hex::encode(wire)
            ));
        }
        (Ok(_), Some(_)) => {}
        (Ok(bytes), None) => {
            found.push(format!("encoded to {} bytes; expected a refusal", bytes.len()));
        }
        (Err(failure), None) if failure.fault() == test.error => {}
        (Err(failure), _) => found.push(format!("not encoded: {failure}")),
    }
}

/// Returns the differences of the first test that `is_meant`, after `change` has changed it.
fn found(
    is_meant: impl Fn(&Group, &Test) -> bool,
    change: impl Fn(&mut Group, &mut Test),
) -> Vec<String> {
    let groups =
        dotnet_diagnostics_ipc_vectors::files().unwrap().into_iter().flat_map(|file| file.groups);
    let mut all = groups.flat_map(|mut group| {
        std::mem::take(&mut group.tests).into_iter().map(move |test| (group.clone(), test))
    });
    let (mut group, mut test) = all.find(|(group, test)| is_meant(group, test)).unwrap();
    assert_eq!(differences(&group, &test), [] as [String; 0]);
    change(&mut group, &mut test);
    differences(&group, &test)
}

#[test]
fn test_with_false_claim_is_found() {
    let is_plain = |test: &Test| {
        let is_accepted = test.result == ExpectedResult::Valid && test.error.is_none();
        test.wire.is_some() && is_accepted && test.canonical
    };
    let is_request = |group: &Group, test: &Test| {
        group.kind == Type::Request && group.command.is_some() && is_plain(test)
    };
    let is_error = |group: &Group, test: &Test| group.kind == Type::Error && is_plain(test);
    let is_of = |layer: &'static str| {
        move |_: &Group, test: &Test| {
            test.wire.is_some() && test.error.as_ref().is_some_and(|error| error.layer == layer)
        }
    };
    let (layer, kind) = ("header".into(), "bad_magic".into());
    let other = VectorFault { layer, kind, offset: 0, field: None };
    let with_other = |_: &mut Group, test: &mut Test| test.error = Some(other.clone());
    let by_limits = "refused by the limits for ";
    for (found, expected) in [
        (
            found(is_request, |group, _| group.command = Some("No/Such".into())),
            &["the group's command Some(\"No/Such\") is unknown"][..],
        ),
        (
            found(is_request, |_, test| test.value = "other".into()),
            &["decoded to ", "not encoded: "],
        ),
        (
            found(is_request, |_, test| test.canonical = false),
            &["canonical is true; expected false", "encoded to "],
        ),
        (found(is_request, with_other), &["accepted; expected "]),
        (found(is_request, |_, test| test.wire = None), &["encoded to "]),
        (
            found(is_request, |_, test| test.equivalent = Vec::from([Vec::new()])),
            &[" is not equivalent"],
        ),
        (
            found(is_error, |group, _| group.kind = Type::Reply),
            &["decoded as Error; expected Reply", "not encoded: "],
        ),
        (found(is_of("payload"), with_other), &["refused for "]),
        (found(is_of("payload"), |_, test| test.result = ExpectedResult::Valid), &["refused for "]),
        (found(is_of("limits"), |_, test| test.error = None), &[by_limits]),
        (found(is_of("limits"), with_other), &[by_limits]),
    ] {
        let fits = found.iter().zip(expected).all(|(one, begin)| one.starts_with(begin));
        assert!(fits && found.len() == expected.len(), "{found:#?}");
    }
}

#[test]
fn every_file_matches_the_schema() {
    let schema = Schema::at("vectors/schema/vectors.schema.json");
    let others = PACKAGE.iter().find(|(name, _)| *name == "small.json");
    for (name, text) in VECTORS.iter().chain(others) {
        let document = text.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(schema.objection(&document), None, "{name}");
    }
    let (_, index) = PACKAGE.iter().find(|(name, _)| *name == "index.json").unwrap();
    let schema = Schema::at("vectors/schema/index.schema.json");
    assert_eq!(schema.objection(&index.parse().unwrap()), None);
}

#[test]
fn schema_unknown_or_contradictory_keys_are_refused() {
    let schema = Schema::at("vectors/schema/vectors.schema.json");
    let good: Value = r#"{ "schema": "vectors.schema.json", "format": 1, "title": "t", "numberOfTests": 3, "groups": [{
        "name": "g", "type": "request", "source": { "kind": "derived" }, "made": "by hand", "direction": "client",
        "command": "Process/ProcessInfo", "since": "5.0", "spec": ["F-4"], "tests": [
            { "tcId": 1, "comment": "c", "flags": ["Literal"], "wire": "00ff", "value": {}, "result": "valid", "canonical": true,
              "hazard": null, "equivalent": ["00fe"], "refusals": ["0x80070057"] },
            { "tcId": 2, "comment": "c", "flags": [], "wire": "", "value": null, "result": "invalid", "canonical": false,
              "hazard": "harmful", "chunks": [1], "acceptableOn": ["10.0.9"],
              "error": { "layer": "payload", "kind": "unexpected_end", "offset": 0, "field": null } },
            { "tcId": 3, "comment": "c", "flags": [], "wire": null, "value": 1, "result": "invalid", "canonical": false,
              "hazard": "side-effect", "error": { "layer": "transport", "kind": "message_too_large", "offset": 14, "field": "a" } }
        ] }] }"#
        .parse()
        .unwrap();
    assert_eq!(schema.objection(&good), None);

    // Where, which key, and a value that must not be there.
    let wrong = [
        ("", "extra", "1"),
        ("", "format", "2"),
        ("", "groups", "[]"),
        ("/groups/0", "extra", "1"),
        ("/groups/0", "type", "\"message\""),
        ("/groups/0", "direction", "\"both\""),
        ("/groups/0", "command", "\"ProcessInfo\""),
        ("/groups/0", "since", "\"net5\""),
        ("/groups/0", "tests", "[]"),
        ("/groups/0/source", "extra", "1"),
        ("/groups/0/source", "kind", "\"table\""),
        ("/groups/0/source", "kind", "\"runtime\""),
        ("/groups/0/tests/0", "extra", "1"),
        ("/groups/0/tests/0", "wire", "\"00f\""),
        ("/groups/0/tests/0", "wire", "\"00FF\""),
        ("/groups/0/tests/0", "wire", "null"),
        ("/groups/0/tests/0", "canonical", "false"),
        ("/groups/0/tests/0", "result", "\"invalid\""),
        ("/groups/0/tests/0", "hazard", "\"none\""),
        ("/groups/0/tests/0", "equivalent", "[]"),
        ("/groups/0/tests/0", "tcId", "\"1\""),
        ("/groups/0/tests/1", "result", "\"acceptable\""),
        ("/groups/0/tests/1", "chunks", "[0]"),
        ("/groups/0/tests/1", "acceptableOn", "[]"),
        ("/groups/0/tests/0", "refusals", "[\"0x8007\"]"),
        ("/groups/0/tests/1", "refusals", "[]"),
        ("/groups/0/tests/1/error", "extra", "1"),
        ("/groups/0/tests/1/error", "layer", "\"grammar\""),
        ("/groups/0/tests/1/error", "offset", "-1"),
    ];
    for (place, key, value) in wrong {
        let mut document = good.clone();
        document.pointer_mut(place).unwrap()[key] = value.parse().unwrap();
        assert!(schema.objection(&document).is_some(), "{place}/{key} = {value} was taken");
    }
    let required = [
        ("", "numberOfTests"),
        ("/groups/0", "since"),
        ("/groups/0/tests/0", "value"),
        ("/groups/0/tests/1/error", "field"),
    ];
    for (place, key) in required {
        let mut document = good.clone();
        document.pointer_mut(place).unwrap().as_object_mut().unwrap().remove(key).unwrap();
        assert!(schema.objection(&document).is_some(), "{place} without {key} was taken");
    }
}

/// The texts are included by path, so only the lists can differ.
#[test]
fn embedded_files_are_those_on_disk() {
    let own = VECTORS.iter().chain(PACKAGE).map(|(name, _)| (*name).to_owned());
    let scripts = SCRIPTS.iter().map(|(name, _)| format!("exchanges/{name}"));
    let mut embedded: Vec<_> = own.chain(scripts).collect();
    let mut on_disk = Vec::new();
    for below in ["", "exchanges/", "schema/", "dotnetipc/", "dotnetipc/trace/"] {
        let entries = fs::read_dir(path("vectors").join(below)).unwrap();
        let files = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        on_disk.extend(
            files.map(|path| format!("{below}{}", path.file_name().unwrap().to_str().unwrap())),
        );
    }
    on_disk.retain(|name| name != "Cargo.toml");
    embedded.sort();
    on_disk.sort();
    assert_eq!(embedded, on_disk);
}

/// Recorded messages may be equal between two runtimes, or twice in one.
#[test]
fn vectors_have_no_duplicates() {
    let mut seen = BTreeMap::new();
    for_each_test(|group, test| {
        if group.source.kind == SourceKind::Runtime {
            return None;
        }
        let bytes = test.wire.clone().ok_or_else(|| test.value.to_string());
        let key = (
            format!("{:?} {:?}", group.kind, group.direction),
            group.command.clone(),
            bytes,
            test.chunks.clone(),
        );
        seen.insert(key, test.tc_id).map(|other| format!("is tcId {other} again"))
    });
}

/// The words between backquotes in `text`.
fn quoted(text: &str) -> impl Iterator<Item = String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// Layer and kind of each fault in the table "Errors" of vectors/README.md.
fn errors_of_the_readme() -> BTreeSet<(String, String)> {
    let readme = read(&path("vectors/README.md"));
    let section = readme.split("\n## ").find(|section| section.starts_with("Errors\n")).unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.flat_map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let layer = quoted(cells[1]).next().unwrap();
        let kinds = cells[2].split(':').next().unwrap();
        quoted(kinds).map(move |kind| (layer.clone(), kind)).collect::<Vec<_>>()
    })
    .collect()
}

#[test]
fn error_kinds_are_listed_and_occur() {
    let listed = errors_of_the_readme();
    let mut occurring = BTreeSet::new();
    for_each_test(|_, test| {
        let error = test.error.as_ref()?;
        occurring.insert((error.layer.clone(), error.kind.clone()));
        None
    });
    // `unexpected_command` is reported by the typed interface alone, and occurs in no vector.
    assert_eq!(listed, occurring);
    assert!(listed.len() > 20, "{listed:?}");
}

/// F-74: each of them leaves a connection open in the target, for good.
#[test]
fn malformed_session_request_is_harmful() {
    let mut found = 0;
    for_each_test(|group, test| {
        let of_payload = test.error.as_ref().is_some_and(|error| error.layer == "payload");
        if group.kind != Type::Request
            || !of_payload
            || !group.command.as_ref()?.starts_with("EventPipe/CollectTracing")
        {
            return None;
        }
        found += 1;
        (test.hazard != Some(Hazard::Harmful)).then(|| format!("{:?}", test.hazard))
    });
    assert!(found > 50, "{found}");
}

/// The numbers of facts (`F-19`, `P-2`) in `text`; `UTF-16` is not one.
pub(crate) fn facts(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(['F', 'P']).filter_map(|(at, _)| {
        let (before, rest) = text.split_at(at);
        let number = rest.get(1..)?.strip_prefix('-')?;
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        let behind = number.as_bytes().get(digits).is_some_and(u8::is_ascii_alphanumeric);
        let inside = before.ends_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
        (digits > 0 && !inside && !behind).then(|| &rest[..2 + digits])
    })
}

/// The text files below `directory`.
pub(crate) fn texts(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() && !entry.ends_with("target") {
            texts(&entry, into);
        } else if entry.extension().is_some_and(|extension| {
            ["json", "md", "py", "rs", "toml"].iter().any(|text| extension == *text)
        }) {
            into.push(entry);
        }
    }
}

#[test]
fn cited_facts_are_in_errata() {
    assert_eq!(
        facts("F-1, UTF-16 (F-22), `P-3`/F-4: XF-5 F-6x -F-7 F- F-x").collect::<Vec<_>>(),
        ["F-1", "F-22", "P-3", "F-4"]
    );

    let errata = read(&path("spec/ERRATA.md"));
    let rows: Vec<_> =
        errata.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).collect();
    let known: BTreeSet<_> = rows.iter().copied().filter(|cell| facts(cell).eq([*cell])).collect();
    assert!(known.contains("F-1") && known.contains("F-88"), "{known:?}");
    for fact in &known {
        assert_eq!(
            rows.iter().filter(|cell| *cell == fact).count(),
            1,
            "{fact} has more than one row"
        );
    }

    let mut places = vec![path("README.md")];
    for directory in ["vectors", "src", "tests", "diagipc", "spec"] {
        texts(&path(directory), &mut places);
    }
    let mut cited = BTreeSet::new();
    for place in places {
        // This file has its own numbers to try the search with.
        if place.ends_with("tests/codec/vectors_format.rs") {
            continue;
        }
        let text = read(&place);
        for fact in facts(&text) {
            assert!(
                known.contains(fact),
                "{} cites {fact}, of which spec/ERRATA.md has no row",
                place.display()
            );
            cited.insert(fact.to_owned());
        }
    }
    assert!(cited.len() > 40, "{cited:?}");
}
