//! `diagipc check`.

use std::fs;

use diagipc::{Report, codec, embedded};
use serde_json::json;

use crate::cli::{STOP, errors, run, text};
use crate::tool::report;
#[cfg(unix)]
use crate::tool::{DIAGIPC, run_command};

/// Returns the number of cases in the sections whose names begin like this.
fn cases(report: &Report, suite: &str) -> usize {
    let sections = report.sections.iter().filter(|section| section.name.starts_with(suite));
    sections.map(|section| section.counts.all()).sum()
}

/// Runs everything: the vectors, the server suite against the reference runtime, and the client
/// suite against the built-in client.
#[test]
#[ignore = "long: .ci/nightly long"]
fn check_built_in_suites_pass_and_are_counted() {
    let report = report(&["check"], 0);
    let questions = codec::cases(embedded::vectors().unwrap()).len();
    assert_eq!(cases(&report, "codec/"), questions);
    assert!(cases(&report, "server/") >= 500 && cases(&report, "client/") >= 400);
    assert_eq!((report.counts.fail, report.counts.unimplemented), (0, 0));
    let notes = report.notes.join("\n");
    let is_whole = !notes.contains("not shown yet") && !notes.contains("not played");
    assert!(notes.contains("requirements") && is_whole, "{notes}");
}

/// A case that is not selected is not played, and a played case has a time.
#[cfg(unix)]
#[test]
#[ignore = "long: .ci/nightly long"]
fn check_plays_only_what_is_chosen() {
    let directory = crate::tool::directory();
    let file = directory.path().join("junit.xml");
    let only = ["server/scripts/framing/*", "client/size/largest/*", "codec/header/*"];
    let mut arguments = vec!["check", "--except", "*/header-in-bytes"];
    arguments.extend(only.iter().flat_map(|only| ["--only", only]));
    arguments.extend(["--junit", file.to_str().unwrap()]);
    let report = report(&arguments, 0);
    let mut sections: Vec<&str> =
        report.sections.iter().map(|section| section.name.as_str()).collect();
    sections.sort_unstable();
    assert_eq!(sections, ["client/size", "codec/header", "server/scripts/framing"]);
    let xml = fs::read_to_string(file).unwrap();
    assert!(xml.matches("time=\"0.").count() > 20, "{xml:.2000}");
    let played = xml.lines().filter(|line| line.contains("<testcase name=\"server/"));
    let zero = played.filter(|line| line.contains("time=\"0.000\"")).count();
    assert!(zero < 20, "{zero} of the server's cases took no time");
    let said = errors(&["check", "--only", "server/nothing"], 2);
    assert!(said.contains("no case matches server/nothing"), "{said}");
}

/// The program may have any name: its reference runtime is not compared with how it was started.
#[cfg(unix)]
#[test]
fn check_passes_under_another_name() {
    let directory = crate::tool::directory();
    let program = directory.path().join("tool-1.0");
    fs::copy(DIAGIPC, &program).unwrap();
    let mut command = std::process::Command::new(program);
    command.args(["check", "--only", "server/scripts/process/process-*"]);
    let output = text(&run_command(command, b"", 0));
    assert!(output.contains("\nPASSED: "), "{output}");
}

/// The user's own vectors: a false claim fails, and an unknown key is refused.
#[test]
fn check_wrong_vector_is_named_and_fails() {
    let directory = crate::tool::directory();
    let of = directory.path().to_str().unwrap();
    let mut file = json!({ "format": 1, "title": "t", "numberOfTests": 1, "groups": [{
        "name": "wrong", "type": "request", "source": { "kind": "derived" }, "made": "by hand", "direction": "client",
        "command": "EventPipe/StopTracing", "since": "3.1", "spec": [], "tests": [{
            "tcId": 4711, "comment": "claims another id", "flags": [], "wire": STOP, "value": { "sessionId": "2" },
            "result": "valid", "canonical": true, "hazard": null }] }] });
    fs::write(directory.path().join("wrong.json"), file.to_string()).unwrap();
    let output = text(&run(&["check", "--verbose", "--vectors", of], b"", 1));
    for part in [
        "codec/wrong/wrong/4711/decode: claims another id",
        "FAULT     wrong-value:sessionId: sessionId is \"1\", expected \"2\"\n",
        "\n  sent      {\"case\":\"wrong/wrong/4711/decode\",\"op\":\"decode\",",
        "\n  expected  ok, canonical, value {\"sessionId\":\"2\"}\n",
        "\n  seen      {\"result\":\"ok\",\"value\":{\"sessionId\":\"1\"}",
        ": 2 cases, 0 passed, 0 passed leniently, 0 unimplemented, 0 informational, ",
        " 2 failed\nFAILED: 2 of 2 judged, 2 causes\n\nCAUSE  wrong-value:sessionId, 1 failure: ",
        "\n  asked by diagipc: {\"case\":",
        "\n  answered by the codec: {\"result\":\"ok\"",
        "\n  how to fix it: Check how that field is read: ",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
    file["extra"] = 1.into();
    fs::write(directory.path().join("wrong.json"), file.to_string()).unwrap();
    let said = errors(&["check", "--vectors", of], 2);
    assert!(said.contains("unknown field `extra`"), "{said}");
}
