//! `diagipc decode`, and how every command treats its arguments and its input.

use std::io::Read as _;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use crate::cli::{STOP, STOPPED, UNKNOWN_COMMAND, decode, diagipc, run, text};

/// As people paste them: from source code, from strace, from a dump. What it is read as is on
/// standard error.
#[test]
fn decode_reads_text_in_several_forms() {
    let value = json!({ "sessionId": "1" });
    for (text, read) in [
        ("0x444f544e45545f4950435f5631001c00020100000100000000000000", ""),
        (
            r#"write(3, "DOTNET_IPC_V1\0\34\0\2\1\0\0\1\0\0\0\0\0\0\0", 28) = 28"#,
            "diagipc: --text is strings of 28 bytes\n",
        ),
        (
            "{ 68,79,84,78,69,84,95,73,80,67,95,86,49,0, 28,0, 2, 1, 0,0, 1,0,0,0,0,0,0,0 }",
            "diagipc: --text is an array of 28 bytes\n",
        ),
        (
            "00000000: 444f 544e 4554 5f49 5043 5f56 3100 1c00  DOTNET_IPC_V1...\n\
             00000010: 0201 0000 0100 0000 0000 0000            ............\n",
            "diagipc: --text is a hex dump of 28 bytes\n",
        ),
        ("RE9UTkVUX0lQQ19WMQAcAAIBAAABAAAAAAAAAA==", "diagipc: --text is base64 of 28 bytes\n"),
    ] {
        let output = run(&["decode", "--json", "--text", text], b"", 0);
        let items: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(items[0]["value"], value, "{text}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), read, "{text}");
    }
    let output = run(&["decode", "--text", "{ 0x44,\n  0x4g }"], b"", 2);
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "diagipc: --text, read as an array: line 2, column 3: 0x4g is not a number\n"
    );
}

#[test]
fn decode_prints_one_item_per_message() {
    assert_eq!(
        decode(&["--text", STOP], 0),
        json!([{ "offset": 0, "size": 28, "kind": "request", "command": "EventPipe/StopTracing", "code": "0x0201",
                 "canonical": true, "value": { "sessionId": "1" } }])
    );
}

#[test]
fn decode_reply_answers_request_before_it() {
    let items = decode(&["--text", &format!("{STOP} {STOPPED}")], 0);
    assert_eq!(
        items[1],
        json!({ "offset": 28, "size": 28, "kind": "reply", "command": "EventPipe/StopTracing", "code": "0xFF00",
                "canonical": true, "value": { "sessionId": "1" } })
    );
}

#[test]
fn decode_request_option_names_answered_command() {
    let value =
        |request: &str| decode(&["--text", STOPPED, "--request", request], 0)[0]["value"].clone();
    assert_eq!(value("StopTracing"), json!({ "sessionId": "1" }));
    assert_eq!(value("0x0407"), json!({ "hresult": "0x00000001" }));
    assert_eq!(
        decode(&["--text", STOPPED], 0)[0]["value"],
        json!({ "code": "0xFF00", "payload": "0100000000000000" })
    );
}

#[test]
fn decode_error_reply_needs_no_request() {
    let item = &decode(&["--text", UNKNOWN_COMMAND], 0)[0];
    assert_eq!(
        (&item["kind"], &item["value"]),
        (&json!("error"), &json!({ "hresult": "0x80131385" }))
    );
}

/// As .NET 6.0.13 answered a dump that failed (F-127).
#[test]
fn decode_error_with_code_0_is_a_failure() {
    let said = text(&run(
        &["decode", "--text", "444f544e45545f4950435f563100 1800 ffff 0000 00000000"],
        b"",
        0,
    ));
    assert!(
        said.ends_with("  still a failure: .NET 6 uses this code for a failed dump (F-127)\n\n"),
        "{said}"
    );
}

#[test]
fn decode_continuation_is_not_a_message() {
    // A session's stream goes on to the end; an environment block has the announced number of
    // bytes.
    let stream = decode(
        &["--text", &format!("{STOPPED}4e6574747261636500"), "--request", "CollectTracing2"],
        0,
    );
    assert_eq!(
        (&stream[1]["kind"], &stream[1]["value"]),
        (&json!("continuation"), &json!({ "bytes": "4e6574747261636500" }))
    );
    let reply = "444f544e45545f4950435f5631001a00ff000000040000000000";
    let block = decode(&["--text", &format!("{reply}00000000{STOP}"), "--request", "0x0402"], 0);
    assert_eq!((&block[1]["size"], &block[2]["kind"]), (&json!(4), &json!("request")));
    // The block's entries are shown. An invalid block is an error.
    let reply = "444f544e45545f4950435f5631001a00ff000000100000000000";
    let block = decode(
        &["--text", &format!("{reply}01000000 04000000 41003d0062000000"), "--request", "0x0402"],
        0,
    );
    assert_eq!(block[1]["value"]["entries"], json!([{ "name": "A", "value": "b" }]));
    let block = decode(
        &["--text", &format!("{reply}02000000 04000000 41003d0062000000"), "--request", "0x0402"],
        1,
    );
    assert_eq!(block[1]["error"]["kind"], "unexpected_end");
}

#[test]
fn decode_file_of_stream_is_not_a_message() {
    // Nettrace, version 6.0; the rest is the stream's own.
    let start = "4e657474726163650000000006000000000000002a";
    let stream = decode(&["--text", start], 0);
    assert_eq!(stream[0]["kind"], "continuation");
    assert_eq!(stream[0]["size"], 21);
    let said = text(&run(&["decode", "--text", start], b"", 0));
    assert!(
        said.starts_with("continuation of an unknown request, 21 bytes at offset 0\n"),
        "{said}"
    );
    assert!(said.contains("a stream of events: nettrace, version 6.0\n"), "{said}");
}

#[test]
fn decode_advertise_by_magic() {
    let wire = "414456525f56310067453e129be8d312a456426614174000393000000000000000 00";
    assert_eq!(
        decode(&["--text", wire], 0)[0]["value"],
        json!({ "runtimeCookie": "123e4567-e89b-12d3-a456-426614174000", "processId": "12345", "future": 0 })
    );
}

#[test]
fn decode_kind_option_takes_every_type() {
    let hex = "01020000000100000002000000";
    let items = decode(&["--kind", "event_filter", "--text", hex], 0);
    assert_eq!(
        items,
        json!([{ "offset": 0, "size": 13, "kind": "piece", "type": "event_filter", "command": null, "code": null,
                 "canonical": true, "value": { "enable": true, "event_ids": [1, 2] } }])
    );
    assert_eq!(text(&run(&["encode", "--hex", "-"], items.to_string().as_bytes(), 0)).trim(), hex);
    assert_eq!(
        decode(&["--kind", "string", "--text", "0200000061006200"], 1)[0]["error"]["kind"],
        "missing_terminator"
    );
    run(&["decode", "--kind", "nonsense", "--text", "00"], b"", 2);
}

#[test]
fn decode_malformed_input_is_named_and_fails() {
    let items = decode(&["--text", "444f544e45545f4950435f5631001600020100002a00"], 1);
    assert_eq!(
        items[0]["error"],
        json!({ "layer": "payload", "kind": "unexpected_end", "offset": 20, "field": "StopTracing.sessionId",
                "message": "the field needs 8 bytes, the payload has 2 left" })
    );
    // A message whose size is known does not hide the next one.
    let items =
        decode(&["--text", &format!("444f544e45545f4950435f5631001600020100002a00{STOP}")], 1);
    assert_eq!(
        (&items[1]["offset"], &items[1]["value"]),
        (&json!(22), &json!({ "sessionId": "1" }))
    );
    // An invalid header ends it.
    assert_eq!(decode(&["--text", "485454502f312e3120343030"], 1)[0]["error"]["kind"], "bad_magic");
    assert_eq!(decode(&["--text", &STOP[..50]], 1)[0]["error"]["kind"], "end_of_input");
    assert_eq!(decode(&["--text", ""], 1), json!([]));
}

#[test]
fn decode_side_option_is_obeyed() {
    assert_eq!(decode(&["--text", STOP, "--from", "server"], 1)[0]["error"]["kind"], "not_a_reply");
    assert_eq!(decode(&["--text", STOPPED, "--from", "client"], 0)[0]["kind"], "unknown");
}

#[test]
fn decode_over_limit_is_noted_and_succeeds() {
    let request = "444f544e45545f4950435f563100180004050000 00000000"; // EnablePerfMap of type 0
    let item = &decode(&["--text", request], 0)[0];
    assert_eq!(
        (&item["limits"]["kind"], &item["value"]),
        (&json!("unknown_perf_map_type"), &json!({ "perfMapType": 0 }))
    );
    let dump = text(&run(&["decode", "--text", request], b"", 0));
    assert!(dump.contains("a server refuses this with 0x80070057 DS_IPC_E_INVALIDARG"), "{dump}");
}

#[test]
fn decode_dump_shows_offset_and_meaning_per_field() {
    let dump =
        text(&run(&["decode", "--text", UNKNOWN_COMMAND, "--request", "ProcessInfo3"], b"", 0));
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
fn usage_error_exits_with_2() {
    for arguments in [
        &["decode"][..],
        &["decode", "--text", "0"],
        &["decode", "--text", "zz"],
        &["decode", "--text", "00", "--request", "NoSuchCommand"],
        &["decode", "/no/such/file"],
        &["decode", "/"],
        &["encode"],
        &["encode", "/no/such/file"],
        &["explain", "1"],
        &["nonsense"],
        &[],
    ] {
        run(arguments, b"", 2);
    }
}

#[test]
fn input_over_limit_is_error() {
    let output = run(&["decode", "-", "--limit", "27"], &hex::decode(STOP).unwrap(), 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("more than 27 bytes"));
    run(&["decode", "-", "--limit", "28"], &hex::decode(STOP).unwrap(), 0);
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn input_large_or_binary_is_refused_with_reason() {
    // A fixed sequence without structure.
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    };
    let bytes: Vec<u8> = (0..1 << 20).map(|_| noise()).collect();
    run(&["decode", "-"], &bytes, 1);
    run(&["decode", "-", "--json"], &bytes, 1);
    run(&["encode", "-"], &bytes, 1);
    // Headers that announce more and more, each cut off.
    let cut: Vec<u8> =
        hex::decode(STOP).unwrap().iter().copied().cycle().take((1 << 20) + 5).collect();
    run(&["decode", "-"], &cut, 1);
}

#[test]
fn output_closed_by_reader_is_not_an_error() {
    let bytes = hex::decode(STOP).unwrap().repeat(20_000);
    let mut child = diagipc(&["decode", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
        (Some(0), "")
    );
}

/// The writable memory of a process, in bytes.
#[cfg(target_os = "linux")]
#[track_caller]
fn run_within(memory: u64, arguments: &[&str], input: &[u8]) -> String {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    let mut child = diagipc(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It waits for its input.
    let limit = Rlimit { current: Some(memory), maximum: Some(memory) };
    prlimit(Some(Pid::from_child(&child)), Resource::Data, limit).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input).is_ok());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(writer.join().unwrap());
    String::from_utf8(output.stdout).unwrap()
}

/// A reply to `ProcessEnvironment`, and its block of entries without a unit.
#[cfg(target_os = "linux")]
fn environment_of(entries: u32) -> Vec<u8> {
    let block = 4 + 4 * entries;
    let head = b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0";
    [
        &head[..],
        &block.to_le_bytes(),
        &[0, 0],
        &entries.to_le_bytes(),
        &vec![0; 4 * entries as usize],
    ]
    .concat()
}

/// 50,000 messages of 28 bytes, 1.3 MiB, whose fields take 40 MiB together.
#[test]
#[ignore = "long: .ci/nightly long"]
#[cfg(target_os = "linux")]
fn decode_memory_does_not_grow_with_number_of_messages() {
    let input = hex::decode(STOP).unwrap().repeat(50_000);
    let shown = run_within(20 << 20, &["decode", "-"], &input);
    assert_eq!(shown.matches("EventPipe/StopTracing, 0x0201, 28 bytes").count(), 50_000);
    let json = run_within(20 << 20, &["decode", "--json", "-"], &input);
    assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&json).unwrap().len(), 50_000);
}

#[test]
#[ignore = "long: .ci/nightly long"]
#[cfg(target_os = "linux")]
fn decode_memory_of_environment_block_is_bounded() {
    // 4 bytes of count, and the longest block has 1 MiB.
    let shown = run_within(
        256 << 20,
        &["decode", "--request", "0x0402", "-"],
        &environment_of((1 << 18) - 1),
    );
    assert!(shown.contains("[262142]  length 0, without NUL"));
    let shown =
        run_within(20 << 20, &["decode", "--request", "0x0402", "-"], &environment_of(1 << 18));
    assert!(shown.contains("1048580 bytes at offset 26") && !shown.contains("length 0"));
    let json = run_within(
        20 << 20,
        &["decode", "--json", "--request", "0x0402", "-"],
        &environment_of(1 << 18),
    );
    let items: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(items[1]["value"]["bytes"].as_str().unwrap().len(), 2 * 1_048_580);
    assert_eq!(items[1]["value"].get("entries"), None);
    let output = run(&["decode", "--kind", "environment", "-"], &vec![0; (1 << 20) + 1], 2);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(errors, "diagipc: --kind reads at most 1048576 bytes, the input has 1048577\n");
}
