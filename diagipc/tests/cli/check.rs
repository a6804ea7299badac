//! `diagipc check`.

use std::fs;

use diagipc::{codec, embedded};
use serde_json::{Value, json};

use crate::cli::{STOP, run, text};

/// Everything at once: the vectors, the server suite against the reference runtime, the client
/// suite against the built-in client.
#[test]
#[ignore = "long: .ci/nightly long"]
fn check_built_in_suites_pass_and_are_counted() {
    let report: Value = serde_json::from_slice(&run(&["check", "--json"], b"", 0).stdout).unwrap();
    let section = |suite: &str| -> u64 {
        let sections = report["sections"].as_array().unwrap().iter();
        let of_suite =
            sections.filter(|section| section["name"].as_str().unwrap().starts_with(suite));
        of_suite
            .map(|section| {
                section["counts"]
                    .as_object()
                    .unwrap()
                    .values()
                    .map(|n| n.as_u64().unwrap())
                    .sum::<u64>()
            })
            .sum()
    };
    let questions = codec::cases(embedded::vectors().unwrap()).len();
    assert_eq!(section("codec/"), questions as u64);
    assert!(section("server/") >= 500, "{}", section("server/"));
    assert!(section("client/") >= 400, "{}", section("client/"));
    assert_eq!(
        (&report["counts"]["fail"], &report["counts"]["unimplemented"]),
        (&json!(0), &json!(0))
    );
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("requirements")
            && !notes.contains("not shown yet")
            && !notes.contains("not played"),
        "{notes}"
    );
}

/// What is not chosen is not played, and what was played has a time.
#[cfg(unix)]
#[test]
#[ignore = "long: .ci/nightly long"]
fn check_plays_only_what_is_chosen() {
    let directory = crate::tool::directory();
    let file = directory.path().join("junit.xml");
    let chosen = [
        "--only",
        "server/scripts/framing/*",
        "--only",
        "client/size/largest/*",
        "--only",
        "codec/header/*",
    ];
    let rest = ["--except", "*/header-in-bytes", "--json", "--junit", file.to_str().unwrap()];
    let report: Value =
        serde_json::from_slice(&run(&[&["check"], &chosen[..], &rest[..]].concat(), b"", 0).stdout)
            .unwrap();
    let mut sections: Vec<&str> = report["sections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|section| section["name"].as_str().unwrap())
        .collect();
    sections.sort_unstable();
    assert_eq!(sections, ["client/size", "codec/header", "server/scripts/framing"]);
    let xml = fs::read_to_string(file).unwrap();
    assert!(xml.matches("time=\"0.").count() > 20, "{xml:.2000}");
    let played = xml.lines().filter(|line| line.contains("<testcase name=\"server/"));
    let zero = played.filter(|line| line.contains("time=\"0.000\"")).count();
    assert!(zero < 20, "{zero} of the server's cases took no time");
    let output = run(&["check", "--only", "server/nothing"], b"", 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("no case matches server/nothing"));
}

#[test]
fn check_wrong_vector_is_named_and_fails() {
    let directory = crate::tool::directory();
    let file = json!({ "format": 1, "title": "t", "numberOfTests": 1, "groups": [{
        "name": "wrong", "type": "request", "source": { "kind": "derived" }, "made": "by hand", "direction": "client",
        "command": "EventPipe/StopTracing", "since": "3.1", "spec": [], "tests": [{
            "tcId": 4711, "comment": "claims another id", "flags": [], "wire": STOP, "value": { "sessionId": "2" },
            "result": "valid", "canonical": true, "hazard": null }] }] });
    fs::write(directory.path().join("wrong.json"), file.to_string()).unwrap();
    let output = text(&run(
        &["check", "--verbose", "--vectors", directory.path().to_str().unwrap()],
        b"",
        1,
    ));
    assert!(output.contains("codec/wrong/wrong/4711/decode: claims another id"), "{output}");
    assert!(
        output.contains(r#"decoded to {"sessionId":"1"}; expected {"sessionId":"2"}"#),
        "{output}"
    );
    assert!(
        output.contains(": 1 case, 0 passed, ")
            && output.contains(" 1 failed\nFAILED: 1 of 1 judged\n"),
        "{output}"
    );
}

#[test]
fn check_unknown_key_is_refused() {
    let directory = crate::tool::directory();
    fs::write(
        directory.path().join("x.json"),
        r#"{"format":1,"title":"t","numberOfTests":0,"groups":[],"extra":1}"#,
    )
    .unwrap();
    let output = run(&["check", "--vectors", directory.path().to_str().unwrap()], b"", 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("unknown field `extra`"));
}
