//! The program `diagipc`, as people and scripts meet it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Command, Output, Stdio};

use dotnet_diagnostics_ipc::vectors::{self, Type, Verdict};
use serde_json::{Value, json};

const STOP: &str = "444f544e45545f4950435f5631001c00020100000100000000000000";
const STOPPED: &str = "444f544e45545f4950435f5631001c00ff0000000100000000000000";
const UNKNOWN_COMMAND: &str = "444f544e45545f4950435f5631001800ffff000085131380";

fn diagipc(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diagipc"));
    command.args(arguments);
    command
}

#[track_caller]
fn run(arguments: &[&str], input: &[u8], status: i32) -> Output {
    let mut child =
        diagipc(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // Beside: a large input may be answered before it is read to its end.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("the writer ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {errors}");
    assert!(!errors.contains("panicked"), "{errors}");
    output
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn decode(arguments: &[&str], status: i32) -> Value {
    let output = run(&[&["decode", "--json"], arguments].concat(), b"", status);
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Everything at once: the vectors, the server suite against the reference runtime, the client suite against the built-in client.
#[test]
fn check_passes_and_counts() {
    let report: Value = serde_json::from_slice(&run(&["check", "--json"], b"", 0).stdout).unwrap();
    let section = |suite: &str| -> u64 {
        let sections = report["sections"].as_array().unwrap().iter();
        let of_suite = sections.filter(|section| section["name"].as_str().unwrap().starts_with(suite));
        of_suite.map(|section| section["counts"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum::<u64>()).sum()
    };
    let tests: usize = vectors::files().unwrap().iter().map(|file| file.number_of_tests).sum();
    assert_eq!(section("vectors/"), tests as u64);
    assert!(section("server/") >= 500, "{}", section("server/"));
    assert!(section("client/") >= 400, "{}", section("client/"));
    assert_eq!((&report["counts"]["fail"], &report["counts"]["unimplemented"]), (&json!(0), &json!(0)));
    let notes = report["notes"].to_string();
    assert!(notes.contains("requirements") && !notes.contains("not shown yet") && !notes.contains("not played"), "{notes}");
}

#[test]
fn check_names_a_vector_that_does_not_hold_and_fails() {
    let directory = tempfile::tempdir().unwrap();
    let file = json!({ "format": 1, "title": "t", "numberOfTests": 1, "groups": [{
        "name": "wrong", "type": "request", "source": { "kind": "derived" }, "made": "by hand", "direction": "client",
        "command": "EventPipe/StopTracing", "since": "3.1", "spec": [], "tests": [{
            "tcId": 4711, "comment": "claims another id", "flags": [], "wire": STOP, "value": { "sessionId": "2" },
            "result": "valid", "canonical": true, "hazard": null }] }] });
    fs::write(directory.path().join("wrong.json"), file.to_string()).unwrap();
    let output = text(&run(&["check", "--vectors", directory.path().to_str().unwrap()], b"", 1));
    assert!(output.contains("vectors/wrong/wrong/4711: claims another id"), "{output}");
    assert!(output.contains(r#"decoded to {"sessionId":"1"}; expected {"sessionId":"2"}"#), "{output}");
    assert!(output.contains(": 1 cases, 0 passed, ") && output.ends_with(" 1 failed\n"), "{output}");
}

#[test]
fn check_refuses_a_key_that_the_format_does_not_have() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("x.json"), r#"{"format":1,"title":"t","numberOfTests":0,"groups":[],"extra":1}"#).unwrap();
    let output = run(&["check", "--vectors", directory.path().to_str().unwrap()], b"", 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("unknown field `extra`"));
}

#[test]
fn decode_prints_an_item_a_message() {
    assert_eq!(
        decode(&["--hex", STOP], 0),
        json!([{ "offset": 0, "size": 28, "kind": "request", "command": "EventPipe/StopTracing", "code": "0x0201",
                 "canonical": true, "value": { "sessionId": "1" } }])
    );
}

#[test]
fn a_reply_is_read_as_the_answer_to_the_request_before_it() {
    let items = decode(&["--hex", &format!("{STOP} {STOPPED}")], 0);
    assert_eq!(
        items[1],
        json!({ "offset": 28, "size": 28, "kind": "reply", "command": "EventPipe/StopTracing", "code": "0xFF00",
                "canonical": true, "value": { "sessionId": "1" } })
    );
}

#[test]
fn request_names_what_a_reply_answers() {
    let value = |request: &str| decode(&["--hex", STOPPED, "--request", request], 0)[0]["value"].clone();
    assert_eq!(value("StopTracing"), json!({ "sessionId": "1" }));
    assert_eq!(value("0x0407"), json!({ "hresult": "0x00000001" }));
    assert_eq!(decode(&["--hex", STOPPED], 0)[0]["value"], json!({ "code": "0xFF00", "payload": "0100000000000000" }));
}

#[test]
fn an_error_is_told_from_a_reply_without_knowing_the_request() {
    let item = &decode(&["--hex", UNKNOWN_COMMAND], 0)[0];
    assert_eq!((&item["kind"], &item["value"]), (&json!("error"), &json!({ "hresult": "0x80131385" })));
}

#[test]
fn what_follows_a_reply_is_no_message() {
    // A session's stream goes on to the end; an environment block has as many bytes as were announced.
    let stream = decode(&["--hex", &format!("{STOPPED}4e6574747261636500"), "--request", "CollectTracing2"], 0);
    assert_eq!((&stream[1]["kind"], &stream[1]["value"]), (&json!("continuation"), &json!({ "bytes": "4e6574747261636500" })));
    let reply = "444f544e45545f4950435f5631001a00ff000000040000000000";
    let block = decode(&["--hex", &format!("{reply}00000000{STOP}"), "--request", "0x0402"], 0);
    assert_eq!((&block[1]["size"], &block[2]["kind"]), (&json!(4), &json!("request")));
    // The block's entries are shown, and a block that is none is an error.
    let reply = "444f544e45545f4950435f5631001a00ff000000100000000000";
    let block = decode(&["--hex", &format!("{reply}01000000 04000000 41003d0062000000"), "--request", "0x0402"], 0);
    assert_eq!(block[1]["value"]["entries"], json!([{ "name": "A", "value": "b" }]));
    let block = decode(&["--hex", &format!("{reply}02000000 04000000 41003d0062000000"), "--request", "0x0402"], 1);
    assert_eq!(block[1]["error"]["kind"], "unexpected_end");
}

#[test]
fn an_advertise_is_known_by_its_magic() {
    let wire = "414456525f56310067453e129be8d312a456426614174000393000000000000000 00";
    assert_eq!(
        decode(&["--hex", wire], 0)[0]["value"],
        json!({ "runtimeCookie": "123e4567-e89b-12d3-a456-426614174000", "processId": "12345", "future": 0 })
    );
}

#[test]
fn any_type_of_the_vectors_can_be_named() {
    let hex = "01020000000100000002000000";
    let items = decode(&["--kind", "event_filter", "--hex", hex], 0);
    assert_eq!(
        items,
        json!([{ "offset": 0, "size": 13, "kind": "piece", "type": "event_filter", "command": null, "code": null,
                 "canonical": true, "value": { "enable": true, "event_ids": [1, 2] } }])
    );
    assert_eq!(text(&run(&["encode", "--hex", "-"], items.to_string().as_bytes(), 0)).trim(), hex);
    assert_eq!(decode(&["--kind", "string", "--hex", "0200000061006200"], 1)[0]["error"]["kind"], "missing_terminator");
    run(&["decode", "--kind", "nonsense", "--hex", "00"], b"", 2);
}

#[test]
fn malformed_input_is_named_and_fails() {
    let items = decode(&["--hex", "444f544e45545f4950435f5631001600020100002a00"], 1);
    assert_eq!(
        items[0]["error"],
        json!({ "layer": "payload", "kind": "unexpected_end", "offset": 20, "field": "StopTracing.sessionId",
                "message": "the field takes 8 bytes, 2 are left of the payload" })
    );
    // A message whose size is known does not hide the next one.
    let items = decode(&["--hex", &format!("444f544e45545f4950435f5631001600020100002a00{STOP}")], 1);
    assert_eq!((&items[1]["offset"], &items[1]["value"]), (&json!(22), &json!({ "sessionId": "1" })));
    // A header that is none ends it.
    assert_eq!(decode(&["--hex", "485454502f312e3120343030"], 1)[0]["error"]["kind"], "bad_magic");
    assert_eq!(decode(&["--hex", &STOP[..50]], 1)[0]["error"]["kind"], "end_of_input");
    assert_eq!(decode(&["--hex", ""], 1), json!([]));
}

#[test]
fn the_side_can_be_said() {
    assert_eq!(decode(&["--hex", STOP, "--from", "server"], 1)[0]["error"]["kind"], "not_a_reply");
    assert_eq!(decode(&["--hex", STOPPED, "--from", "client"], 0)[0]["kind"], "unknown");
}

#[test]
fn what_a_server_would_refuse_is_said_but_is_no_malformed_input() {
    let request = "444f544e45545f4950435f563100180004050000 00000000"; // EnablePerfMap of type 0
    let item = &decode(&["--hex", request], 0)[0];
    assert_eq!((&item["limits"]["kind"], &item["value"]), (&json!("unknown_perf_map_type"), &json!({ "perfMapType": 0 })));
    let dump = text(&run(&["decode", "--hex", request], b"", 0));
    assert!(dump.contains("a server refuses this with 0x80070057 DS_IPC_E_INVALIDARG"), "{dump}");
}

#[test]
fn the_dump_shows_each_field_with_its_offset_and_meaning() {
    let dump = text(&run(&["decode", "--hex", UNKNOWN_COMMAND, "--request", "ProcessInfo3"], b"", 0));
    let expected = "\
error after Process/ProcessInfo3, 0xFFFF, 24 bytes at offset 0
  000000  44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00        magic        \"DOTNET_IPC_V1\"
  00000e  18 00                                            size         24 = 20 + 4
  000010  ff                                               command_set  0xff Server
  000011  ff                                               command_id   0xff Error
  000012  00 00                                            reserved     0x0000
  000014  85 13 13 80                                      hresult      0x80131385 DS_IPC_E_UNKNOWN_COMMAND

";
    assert_eq!(dump, expected);
}

#[test]
fn usage_errors_end_with_2() {
    for arguments in [
        &["decode"][..],
        &["decode", "--hex", "0"],
        &["decode", "--hex", "zz"],
        &["decode", "--hex", "00", "--request", "NoSuchCommand"],
        &["decode", "/no/such/file"],
        &["decode", "/"],
        &["encode"],
        &["encode", "/no/such/file"],
        &["vectors", "show", "1"],
        &["nonsense"],
        &[],
    ] {
        run(arguments, b"", 2);
    }
}

#[test]
fn input_beyond_the_limit_is_an_error_not_a_shorter_input() {
    let output = run(&["decode", "-", "--limit", "27"], &hex::decode(STOP).unwrap(), 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("more than 27 bytes"));
    run(&["decode", "-", "--limit", "28"], &hex::decode(STOP).unwrap(), 0);
}

#[test]
fn large_and_binary_input_is_refused_in_words() {
    // A fixed sequence that looks like nothing.
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    };
    let bytes: Vec<u8> = (0..1 << 20).map(|_| noise()).collect();
    run(&["decode", "-"], &bytes, 1);
    run(&["decode", "-", "--json"], &bytes, 1);
    run(&["encode", "-"], &bytes, 1);
    // Headers that announce more and more, each cut.
    let cut: Vec<u8> = hex::decode(STOP).unwrap().iter().copied().cycle().take((1 << 20) + 5).collect();
    run(&["decode", "-"], &cut, 1);
}

/// Every canonical message of the vectors, one side after the other.
fn all_messages(from_server: bool) -> Vec<Vec<u8>> {
    let files = vectors::files().unwrap();
    let groups = files.iter().flat_map(|file| &file.groups);
    let groups = groups.filter(|group| matches!(group.kind, Type::Request | Type::Unknown | Type::Error));
    let groups = groups.filter(|group| group.subject().is_some_and(|subject| subject.from_server == from_server));
    let tests = groups.flat_map(|group| &group.tests).filter(|test| test.result == Verdict::Valid);
    tests.filter_map(|test| test.wire.clone()).collect()
}

#[test]
fn encode_makes_the_bytes_that_decode_was_given() {
    for from_server in [false, true] {
        let messages = all_messages(from_server);
        assert!(messages.len() > 25);
        // Errors after GenerateCoreDump3 carry text: only that command reads every one of them whole.
        let options: &[&str] = if from_server { &["--request", "GenerateCoreDump3"] } else { &["--from", "client"] };
        let bytes = messages.concat();
        let json = run(&[&["decode", "-", "--json"], options].concat(), &bytes, 0).stdout;
        let again = run(&["encode", "-"], &json, 0).stdout;
        assert!(again == bytes, "{} bytes became {}", bytes.len(), again.len());
    }
}

#[test]
fn encode_takes_a_conversation_with_continuations() {
    let wire = format!("{STOP}{STOPPED}");
    let reply = "444f544e45545f4950435f5631001a00ff000000040000000000";
    for (hex, request) in
        [(wire, "StopTracing"), (format!("{reply}00000000"), "ProcessEnvironment"), (format!("{STOPPED}4e65"), "0x0203")]
    {
        let json = run(&["decode", "--json", "--hex", &hex, "--request", request], b"", 0).stdout;
        assert_eq!(hex::encode(run(&["encode", "-"], &json, 0).stdout), hex);
    }
}

#[test]
fn encode_takes_replies_to_requests_that_are_not_known() {
    for hex in [STOPPED, "444f544e45545f4950435f5631001400ff000000"] {
        let json = run(&["decode", "--json", "--hex", hex], b"", 0).stdout;
        assert_eq!(hex::encode(run(&["encode", "-"], &json, 0).stdout), hex);
    }
}

#[test]
fn encode_says_where_json_is_wrong() {
    for (item, message) in [
        (json!({ "value": {} }), "missing field"),
        (json!({ "value": { "sessionId": 1 } }), "sessionId: a decimal string of 64 bits is wanted, not 1"),
        (json!({ "value": { "sessionId": "1", "extra": 0 } }), "extra: there is no such field"),
        (json!({ "value": {} , "command": "EventPipe/StopTracing" }), "sessionId: missing"),
        (
            json!({ "value": { "circularBufferMB": 1, "format": 1, "providers": [{ "keywords": "-1" }] },
                 "command": "EventPipe/CollectTracing" }),
            "providers[0].keywords: a decimal string",
        ),
    ] {
        let mut whole = json!({ "offset": 0, "size": 0, "kind": "request", "command": "EventPipe/StopTracing", "code": null,
                                "canonical": true, "value": null });
        let complete = message != "missing field";
        whole.as_object_mut().unwrap().extend(item.as_object().unwrap().clone());
        if !complete {
            whole.as_object_mut().unwrap().remove("kind");
        }
        let output = run(&["encode", "-"], whole.to_string().as_bytes(), 1);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(errors.contains(message), "{errors}");
        assert!(output.stdout.is_empty());
    }
    run(&["encode", "-"], b"[", 1);
    let faulty = decode(&["--hex", "444f544e45545f4950435f5631001600020100002a00"], 1);
    let output = run(&["encode", "-"], faulty.to_string().as_bytes(), 1);
    assert!(String::from_utf8_lossy(&output.stderr).contains("item 0: it has an error and no value"));
}

#[test]
fn encode_says_that_the_canonical_form_differs() {
    let json = run(&["decode", "--json", "--hex", &STOP.replacen("02010000", "02010100", 1)], b"", 0).stdout;
    let output = run(&["encode", "--hex", "-"], &json, 0);
    assert_eq!(text(&output).trim(), STOP);
    assert!(String::from_utf8_lossy(&output.stderr).contains("item 0 was not canonical"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bytes = hex::decode(STOP).unwrap().repeat(20_000);
    let mut child = diagipc(&["decode", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn vectors_can_be_taken_away_and_checked_elsewhere() {
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
    assert_eq!(fs::read_dir(format!("{path}/exchanges")).unwrap().count(), vectors::script_files().unwrap().len() + 1);
    run(&["check", "--vectors", path], b"", 0);
    run(&["vectors", "export", path], b"", 2);
    run(&["vectors", "export", path, "--force"], b"", 0);
}

#[test]
fn vectors_are_listed_and_explained() {
    let groups = vectors::files().unwrap().iter().map(|file| file.groups.len()).sum::<usize>();
    assert_eq!(text(&run(&["vectors", "list"], b"", 0)).lines().count(), groups + 1);
    let list: Vec<Value> = serde_json::from_str(&text(&run(&["vectors", "list", "--json"], b"", 0))).unwrap();
    assert_eq!(list.len(), groups);
    let shown = text(&run(&["vectors", "show", "3201"], b"", 0));
    assert!(
        shown.contains("tcId 3201") && shown.contains("hazard  harmful") && shown.contains("limits no_providers at byte 37"),
        "{shown}"
    );
}

#[test]
fn scripts_are_listed_and_explained() {
    let scripts: usize = vectors::script_files().unwrap().iter().map(|file| file.scripts.len()).sum();
    assert_eq!(text(&run(&["scripts", "list"], b"", 0)).lines().count(), scripts + 1);
    let list: Vec<Value> = serde_json::from_str(&text(&run(&["scripts", "list", "--json"], b"", 0))).unwrap();
    assert_eq!(list.len(), scripts);

    let shown = text(&run(&["scripts", "show", "20134"], b"", 0));
    assert_eq!(shown, text(&run(&["scripts", "show", "second-request-with-the-first"], b"", 0)));
    for line in [
        "scId 20134: Of two requests in one write the first alone is served",
        "  plays   client",
        "   0  {\"open\":\"a\"}",
        "request Process/ProcessInfo2, 0x0404, 20 bytes at offset 0",
    ] {
        assert!(shown.lines().any(|have| have == line), "{line} is not in\n{shown}");
    }
    run(&["scripts", "show", "19999"], b"", 2);
}

/// What the reference runtime can be told to do wrong, by the name that it is told by.
#[cfg(unix)]
#[test]
fn what_the_runtime_can_do_wrong_is_listed() {
    let listed = text(&run(&["runtime", "--list"], b"", 0));
    for words in [
        &["misbehaviour", "fact", "what it does"][..],
        &["never-accepts", "F-75", "Nobody accepts"],
        &["truncate=22", "N bytes of the reply are sent, then the end."],
        &["profiles: coreclr-3.1, coreclr-8, coreclr-9, coreclr-10, coreclr-11, nativeaot, mono, strict"],
    ] {
        assert!(listed.lines().any(|line| words.iter().all(|word| line.contains(word))), "{words:?} is not in\n{listed}");
    }
}
