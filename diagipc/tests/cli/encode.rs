//! `diagipc encode`.

use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Type};
use serde_json::json;

use crate::cli::{STOP, STOPPED, decode, run, text};

/// Encodes every canonical message of the vectors, one side after the other.
fn all_messages(from_server: bool) -> Vec<Vec<u8>> {
    let files = vectors::files().unwrap();
    let groups = files.iter().flat_map(|file| &file.groups);
    let groups =
        groups.filter(|group| matches!(group.kind, Type::Request | Type::Unknown | Type::Error));
    let groups = groups
        .filter(|group| group.subject().is_some_and(|subject| subject.from_server == from_server));
    let tests =
        groups.flat_map(|group| &group.tests).filter(|test| test.result == ExpectedResult::Valid);
    tests.filter_map(|test| test.wire.clone()).collect()
}

#[test]
fn encode_returns_decoded_bytes() {
    for from_server in [false, true] {
        let messages = all_messages(from_server);
        assert!(messages.len() > 25);
        // Errors after GenerateCoreDump3 carry text: only for that command is every error read
        // whole.
        let options: &[&str] =
            if from_server { &["--request", "GenerateCoreDump3"] } else { &["--from", "client"] };
        let bytes = messages.concat();
        let json = run(&[&["decode", "-", "--json"], options].concat(), &bytes, 0).stdout;
        let again = run(&["encode", "-"], &json, 0).stdout;
        assert!(again == bytes, "{} bytes became {}", bytes.len(), again.len());
    }
}

#[test]
fn encode_conversation_returns_its_bytes() {
    let reply = "444f544e45545f4950435f5631001a00ff000000040000000000";
    for (hex, options) in [
        (format!("{STOP}{STOPPED}"), &["--request", "StopTracing"][..]),
        (format!("{reply}00000000"), &["--request", "ProcessEnvironment"]),
        (format!("{STOPPED}4e65"), &["--request", "0x0203"]),
        // This is a reply to an unknown request.
        (STOPPED.to_owned(), &[]),
    ] {
        let decode = [&["decode", "--json", "--text", &hex], options].concat();
        let json = run(&decode, b"", 0).stdout;
        assert_eq!(text(&run(&["encode", "--hex", "-"], &json, 0)).replace('\n', ""), hex);
    }
    // A message that was not canonical is written in canonical form, with a note.
    let other = STOP.replacen("02010000", "02010100", 1);
    let json = run(&["decode", "--json", "--text", &other], b"", 0).stdout;
    let output = run(&["encode", "--hex", "-"], &json, 0);
    assert_eq!(text(&output).trim(), STOP);
    assert!(String::from_utf8_lossy(&output.stderr).contains("item 0 was not canonical"));
}

#[test]
fn encode_kind_command_and_value_are_enough() {
    let items = json!([
        { "kind": "request", "command": "EventPipe/StopTracing", "value": { "sessionId": "513" } },
        { "kind": "environment", "value": [{ "name": "A", "value": "1" }] },
        { "kind": "continuation", "value": { "entries": [{ "name": "A", "value": "1" }] } },
        { "kind": "string", "value": "a" },
    ]);
    let output = run(&["encode", "--hex", "-"], items.to_string().as_bytes(), 0);
    let block = "010000000400000041003d0031000000";
    let stop = "444f544e45545f4950435f5631001c00020100000102000000000000";
    assert_eq!(text(&output).lines().collect::<Vec<_>>(), [stop, block, block, "0200000061000000"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn encode_wrong_json_is_named_with_its_place() {
    let stop = "EventPipe/StopTracing";
    let providers =
        json!({ "circularBufferMB": 1, "format": 1, "providers": [{ "keywords": "-1" }] });
    for (item, message) in [
        (json!({ "command": stop, "value": {} }), "missing field"),
        (
            json!({ "kind": "request", "command": stop, "value": { "sessionId": 1 } }),
            "sessionId: expected a decimal string of 64 bits, not 1",
        ),
        (
            json!({ "kind": "request", "command": stop, "value": { "sessionId": "1", "extra": 0 } }),
            "extra: unknown field",
        ),
        (json!({ "kind": "request", "command": stop, "value": {} }), "sessionId: missing"),
        (
            json!({ "kind": "request", "command": "EventPipe/CollectTracing", "value": providers }),
            "providers[0].keywords: expected a decimal string",
        ),
        (json!({ "kind": "enviroment", "value": [] }), "item 0: unknown kind \"enviroment\""),
        (json!({ "kind": "piece", "value": [] }), "item 0: a piece needs a `type`"),
        (
            json!({ "kind": "continuation", "value": {} }),
            "item 0: a continuation needs `bytes` or `entries`",
        ),
        (json!({ "kind": "request", "comand": stop, "value": {} }), "unknown field `comand`"),
        (
            decode(&["--text", "444f544e45545f4950435f5631001600020100002a00"], 1),
            "item 0: an error instead of a value",
        ),
    ] {
        let output = run(&["encode", "-"], item.to_string().as_bytes(), 1);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(message) && output.stdout.is_empty(), "{errors}");
    }
    run(&["encode", "-"], b"[", 1);
}
