//! `diagipc decode`, and how every command treats its arguments and its input.

use serde_json::{Value, json};

use crate::cli::{STOP, STOPPED, UNKNOWN_COMMAND, decode, errors, json as json_of, run, text};

/// Bytes are read in the forms in which people paste them. Standard error says which form was read.
#[test]
fn decode_reads_text_in_several_forms() {
    for (text, read) in [
        ("0x444f544e45545f4950435f5631001c00020100000100000000000000", ""),
        (
            r#"write(3, "DOTNET_IPC_V1\0\34\0\2\1\0\0\1\0\0\0\0\0\0\0", 28) = 28"#,
            "diagipc: --text is strings of 28 bytes\n",
        ),
        ("RE9UTkVUX0lQQ19WMQAcAAIBAAABAAAAAAAAAA==", "diagipc: --text is base64 of 28 bytes\n"),
    ] {
        let output = run(&["decode", "--json", "--text", text], b"", 0);
        let items: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(items[0]["value"], json!({ "sessionId": "1" }), "{text}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), read, "{text}");
    }
    assert_eq!(
        errors(&["decode", "--text", "{ 0x44,\n  0x4g }"], 2),
        "diagipc: --text, read as an array: line 2, column 3: 0x4g is not a number\n"
    );
}

/// A file of text is read as text; a capture and a log of socat name the senders.
#[test]
fn decode_reads_files_of_text_and_captures() {
    let block = |kind: u32, body: &[u8]| {
        let len = u32::try_from(body.len() + 12).unwrap().to_le_bytes();
        [&kind.to_le_bytes()[..], &len, body, &len].concat()
    };
    let packet = |from: u8, hex: &str| {
        let packet =
            [b"DIPC\x01\x01", &[from, 0, 0, 0, 0, 0][..], &hex::decode(hex).unwrap()].concat();
        let len = u32::try_from(packet.len()).unwrap().to_le_bytes();
        block(6, &[&[0; 12][..], &len, &len, &packet].concat())
    };
    let capture = [
        block(0x0a0d_0d0a, b"\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"),
        block(1, b"\x93\0\0\0\0\0\0\0"),
        packet(0, STOP),
        packet(1, STOPPED),
    ];
    let socat = format!(
        "> 2026/11/29 01:00:23.000883  length=28 from=0 to=27\n {STOP}\n--\n\
         < 2026/11/29 01:00:23.000892  length=28 from=0 to=27\n {STOPPED}\n--\n"
    );
    let log = format!("10:00:00.125 DEBUG sent {STOP}\n10:00:00.250 DEBUG received {STOPPED}\n");
    let directory = crate::tool::directory();
    for (input, form) in [
        (capture.concat(), "a capture"),
        (socat.into_bytes(), "a log of socat"),
        (log.into_bytes(), "hexadecimal"),
        (format!("{STOP}\r\n{STOPPED}\n").into_bytes(), "hexadecimal"),
    ] {
        let file = directory.path().join("input");
        std::fs::write(&file, input).unwrap();
        let file = file.to_str().unwrap();
        let output = run(&["decode", "--json", file], b"", 0);
        let items: Value = serde_json::from_slice(&output.stdout).unwrap();
        let kinds = (&items[0]["kind"], &items[1]["kind"], &items[2]);
        assert_eq!(kinds, (&json!("request"), &json!("reply"), &Value::Null), "{form}");
        assert_eq!(items[1]["value"], json!({ "sessionId": "1" }), "{form}");
        let said = format!("diagipc: {file} is {form} of 56 bytes\n");
        assert_eq!(String::from_utf8_lossy(&output.stderr), said);
    }
    // What the tool prints of itself.
    let dump = run(&["decode", "--text", STOP], b"", 0).stdout;
    assert_eq!(run(&["decode", "-"], &dump, 0).stdout, dump);
    // A type that is text is not read as another.
    run(&["decode", "-", "--kind", "ports"], b"/tmp/port,suspend", 0);
    // A stream goes on after the client has spoken on another connection. Its request has no payload.
    let stream = format!(
        "> 2026/11/29 01:00:23  length=20 from=0 to=19\n {}\n\
         < 2026/11/29 01:00:23  length=32 from=0 to=31\n {STOPPED} 4e657474\n\
         > 2026/11/29 01:00:23  length=28 from=0 to=27\n {STOP}\n\
         < 2026/11/29 01:00:23  length=4 from=32 to=35\n 72616365\n",
        "444f544e45545f4950435f563100140002030000"
    );
    let items = decode(&["--text", &stream], 1);
    let kinds: Vec<_> = items.as_array().unwrap().iter().map(|item| &item["kind"]).collect();
    assert_eq!(kinds, ["request", "reply", "continuation", "request", "continuation"]);
}

/// Status 1: what is there is shown, and what is not is said.
#[test]
fn decode_shows_what_a_cut_text_has() {
    let output = run(
        &["decode", "--text", r#"read(3, "DOTNET_IPC_V1\0\34\0\377\0\0\0"..., 131072) = 28"#],
        b"",
        1,
    );
    assert!(text(&output).contains("command_set  0xff Server"), "{}", text(&output));
    // The server had all of it.
    let cut = r#"write(3, "DOTNET_IPC_V1\0\34\0\2\1\0\0\1"..., 28) = 28"#;
    let shown = text(&run(&["decode", "--text", cut], b"", 1));
    assert!(shown.contains("error: the input ends here, 28 bytes are needed"), "{shown}");
    assert!(!shown.contains("answer"), "{shown}");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "diagipc: --text is strings of 20 bytes\n\
         diagipc: --text: left out after byte 20: 8 bytes that strace has cut\n"
    );
    assert_eq!(
        errors(&["decode", "--text", "Hello!"], 2),
        "diagipc: --text, read as hexadecimal: line 1, column 1: 'H' is not a hexadecimal digit, and it \
         looks like no dump, log of socat, buffer of Node, array, strings or base64\n"
    );
}

/// A reply answers the request before it, or that of `--request`; `--from` names the side.
#[test]
fn decode_prints_one_item_per_message() {
    let both = format!("{STOP} {STOPPED}");
    assert_eq!(
        decode(&["--text", &both], 0),
        json!([
            { "offset": 0, "size": 28, "kind": "request", "command": "EventPipe/StopTracing",
              "code": "0x0201", "canonical": true, "value": { "sessionId": "1" } },
            { "offset": 28, "size": 28, "kind": "reply", "command": "EventPipe/StopTracing",
              "code": "0xFF00", "canonical": true, "value": { "sessionId": "1" } },
        ])
    );
    for (options, value) in [
        (&["--request", "StopTracing"][..], json!({ "sessionId": "1" })),
        (&["--request", "0x0407"], json!({ "hresult": "0x00000001" })),
        (&[], json!({ "code": "0xFF00", "payload": "0100000000000000" })),
        (&["--from", "client"], json!({ "code": "0xFF00", "payload": "0100000000000000" })),
    ] {
        let items = decode(&[&["--text", STOPPED], options].concat(), 0);
        assert_eq!(items[0]["value"], value, "{options:?}");
    }
    assert_eq!(decode(&["--text", STOP, "--from", "server"], 1)[0]["error"]["kind"], "not_a_reply");
}

#[test]
fn decode_error_reply_needs_no_request() {
    let item = &decode(&["--text", UNKNOWN_COMMAND], 0)[0];
    let expected = (&json!("error"), &json!({ "hresult": "0x80131385" }));
    assert_eq!((&item["kind"], &item["value"]), expected);
    // This is .NET 6.0.13's answer to a dump that failed (F-127).
    let code_0 = "444f544e45545f4950435f563100 1800 ffff 0000 00000000";
    let said = text(&run(&["decode", "--text", code_0], b"", 0));
    let why = "  still a failure: .NET 6 uses this code for a failed dump (F-127)\n\n";
    assert!(said.ends_with(why), "{said}");
}

/// A session's stream goes on to the end; an environment block has the announced number of bytes, and
/// its entries are shown.
#[test]
fn decode_continuation_is_not_a_message() {
    let stream = format!("{STOPPED}4e6574747261636500");
    let stream = decode(&["--text", &stream, "--request", "CollectTracing2"], 0);
    assert_eq!(stream[1]["kind"], "continuation");
    assert_eq!(stream[1]["value"], json!({ "bytes": "4e6574747261636500" }));
    let block = |announced: &str, block: &str, status: i32| {
        let reply = format!("444f544e45545f4950435f5631001a00ff000000{announced}0000{block}");
        decode(&["--text", &reply, "--request", "0x0402"], status)
    };
    let empty = block("04000000", &format!("00000000{STOP}"), 0);
    assert_eq!((&empty[1]["size"], &empty[2]["kind"]), (&json!(4), &json!("request")));
    let one = block("10000000", "01000000 04000000 41003d0062000000", 0);
    assert_eq!(one[1]["value"]["entries"], json!([{ "name": "A", "value": "b" }]));
    let two = block("10000000", "02000000 04000000 41003d0062000000", 1);
    assert_eq!(two[1]["error"]["kind"], "unexpected_end");
    // The file of a stream begins with a nettrace 6.0.
    let start = "4e657474726163650000000006000000000000002a";
    assert_eq!(decode(&["--text", start], 0)[0]["kind"], "continuation");
    let said = text(&run(&["decode", "--text", start], b"", 0));
    let begins = "continuation of an unknown request, 21 bytes at offset 0\n";
    assert!(said.starts_with(begins), "{said}");
    assert!(said.contains("a stream of events: nettrace, version 6.0\n"), "{said}");
}

#[test]
fn decode_advertise_by_magic() {
    let wire = "414456525f56310067453e129be8d312a456426614174000393000000000000000 00";
    let cookie = "123e4567-e89b-12d3-a456-426614174000";
    assert_eq!(
        decode(&["--text", wire], 0)[0]["value"],
        json!({ "runtimeCookie": cookie, "processId": "12345", "future": 0 })
    );
}

/// A message whose size is known does not hide the next one; an invalid header ends the input.
#[test]
fn decode_malformed_input_is_named_and_fails() {
    let cut = "444f544e45545f4950435f5631001600020100002a00";
    let items = decode(&["--text", &format!("{cut}{STOP}")], 1);
    assert_eq!(
        items[0]["error"],
        json!({ "layer": "payload", "kind": "unexpected_end", "offset": 20, "field": "StopTracing.sessionId",
                "message": "the field needs 8 bytes, the payload has 2 left" })
    );
    assert_eq!(items[1]["offset"], 22);
    for (text, kind) in [("485454502f312e3120343030", "bad_magic"), (&STOP[..50], "end_of_input")] {
        assert_eq!(decode(&["--text", text], 1)[0]["error"]["kind"], kind);
    }
    assert_eq!(decode(&["--text", ""], 1), json!([]));
}

#[test]
fn decode_over_limit_is_noted_and_succeeds() {
    let request = "444f544e45545f4950435f563100180004050000 00000000"; // EnablePerfMap of type 0
    let item = &decode(&["--text", request], 0)[0];
    assert_eq!(item["limits"]["kind"], "unknown_perf_map_type");
    assert_eq!(item["value"], json!({ "perfMapType": 0 }));
    let dump = text(&run(&["decode", "--text", request], b"", 0));
    assert!(dump.contains("expected answer: 0x80070057 DS_IPC_E_INVALIDARG; "), "{dump}");
}

#[test]
fn decode_names_bytes_after_message() {
    let request = "444f544e45545f4950435f563100 1400 0404 0000";
    let reply = "444f544e45545f4950435f563100 1400 ff00 0000";
    for (message, title, remark) in [
        (request, "bytes after the request, 2 bytes", "no server reads them"),
        (reply, "bytes after the reply, 2 bytes", "the reply before it has all its bytes"),
    ] {
        let dump = text(&run(&["decode", "--text", &format!("{message} aabb")], b"", 1));
        assert!(dump.contains(title) && dump.contains(remark), "{dump}");
        assert!(!dump.contains("a server answers"), "{dump}");
    }
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
fn usage_error_or_input_over_limit_exits_with_2() {
    for arguments in [
        &["decode"][..],
        &["decode", "--text", "0"],
        &["decode", "--text", "zz"],
        &["decode", "--text", "00", "--request", "NoSuchCommand"],
        &["decode", "/no/such/file"],
        &["decode", "/"],
        &["encode", "/no/such/file"],
        &["explain", "1"],
        &["codec"],
        &["codec", "--self", "--", "true"],
        &["codec", "--self", "--only", "no-such-case"],
        &["codec", "--self", "--require", "no-such-case"],
        &["codec", "--self", "--timeout", "0"],
        &["codec", "--list", "--json"],
        &["codec", "true"],
        &["nonsense"],
        &[],
    ] {
        run(arguments, b"", 2);
    }
    let stop = hex::decode(STOP).unwrap();
    let output = run(&["decode", "-", "--limit", "27"], &stop, 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("more than 27 bytes"));
    run(&["decode", "-", "--limit", "28"], &stop, 0);
}

/// Returns what `diagipc` prints with at most this many bytes of writable memory.
#[cfg(target_os = "linux")]
#[track_caller]
fn run_within(memory: u64, arguments: &[&str], input: &[u8]) -> String {
    let mut command = std::process::Command::new("prlimit");
    command.args([&format!("--data={memory}"), crate::tool::DIAGIPC]).args(arguments);
    text(&crate::tool::run_command(command, input, 0))
}

/// The entries of such a block are not shown, but its end is looked for.
#[test]
fn environment_of_more_than_1_mib_that_is_cut_is_an_error() {
    let head = b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0";
    let (size, entries) = (4 + 4 * 300_000_u32, 300_000_u32);
    let block = vec![0; 4 * 300_000];
    let whole = [&head[..], &size.to_le_bytes(), &[0, 0], &entries.to_le_bytes(), &block].concat();
    let decode = ["decode", "--request", "0x0402", "-"];
    run(&decode, &whole, 0);
    let cut = text(&run(&decode, &whole[..whole.len() - 8], 1));
    assert!(cut.contains("error: "), "{cut}");
}

/// 50,000 messages of 28 bytes, 1.3 MiB, whose fields take 40 MiB together; and the longest
/// environment block, of 1 MiB, whose entries are not shown if it is longer.
#[test]
#[ignore = "long: .ci/nightly long"]
#[cfg(target_os = "linux")]
fn decode_memory_is_bounded() {
    let input = hex::decode(STOP).unwrap().repeat(50_000);
    let shown = run_within(20 << 20, &["decode", "-"], &input);
    assert_eq!(shown.matches("EventPipe/StopTracing, 0x0201, 28 bytes").count(), 50_000);
    let json = run_within(20 << 20, &["decode", "--json", "-"], &input);
    assert_eq!(serde_json::from_str::<Vec<Value>>(&json).unwrap().len(), 50_000);

    let environment_of = |entries: u32| {
        let (block, head) = (4 + 4 * entries, b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0");
        let empty = vec![0; 4 * entries as usize];
        [&head[..], &block.to_le_bytes(), &[0, 0], &entries.to_le_bytes(), &empty].concat()
    };
    let decode = ["decode", "--request", "0x0402", "-"];
    let shown = run_within(256 << 20, &decode, &environment_of((1 << 18) - 1));
    assert!(shown.contains("[262142]  length 0, without NUL"));
    let shown = run_within(20 << 20, &decode, &environment_of(1 << 18));
    assert!(shown.contains("1048580 bytes at offset 26") && !shown.contains("length 0"));
    let output = run(&["decode", "--kind", "environment", "-"], &vec![0; (1 << 20) + 1], 2);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(errors, "diagipc: --kind reads at most 1048576 bytes, the input has 1048577\n");
}

/// Thread 7 has written an event of provider A; the sequence point says that it wrote five.
const TRACE: &[u8] = b"Nettrace\x14\0\0\0!FastSerialization.1\
    \x05\x05\x01\x04\0\0\0\x04\0\0\0\x05\0\0\0Trace\x06................................................\x06\
    \x05\x05\x01\x02\0\0\0\x02\0\0\0\x0d\0\0\0MetadataBlock\x06\x21\0\0\0\0\
    \x14\0\x01\0................\x80\0\x0a\x01\0\0\0A\0\0\0xx\x06\
    \x05\x05\x01\x02\0\0\0\x02\0\0\0\x0a\0\0\0EventBlock\x06\x1d\0\0\0\
    \x14\0\x01\0................\x83\x01\0\x07\0\x10\x02xx\x06\
    \x05\x05\x01\x02\0\0\0\x02\0\0\0\x07\0\0\0SPBlock\x06\x18\0\0\0\0\0\0\
    tttttttt\x01\0\0\0\x07\0\0\0\0\0\0\0\x05\0\0\0\x06\x01";

#[test]
fn decode_trace_says_what_is_in_it_and_whether_it_is_whole() {
    const EVENTS: &str = "     events  provider\n          1  A\n";
    let (_, rest) = TRACE.split_at(1);
    let broken = "  at byte 285 (0x11d) expected the tag 05 of an object, or 01 after the last one, \
        found 4e657474726163651400000021466173 \"Nettrace\\x14\\x00\\x00\\x00!Fas\"\n";
    let other = "  at byte 0 (0x0) expected \"Nettrace\" and its serializer, or the version of the \
        format, found 3c21446f63 \"<!Doc\"\n";
    // Without the sequence point nothing is lost.
    let complete = [&TRACE[..230], b"\x01"].concat();
    let twice = [&TRACE[..285], TRACE].concat();
    let netperf = [&TRACE[8..32], rest].concat();
    let six = b"Nettrace\0\0\0\0\x06\0\0\0\0\0\0\0\0\0\0\0";
    for (bytes, status, said) in [
        (&complete[..], 0, format!("nettrace 4, 231 bytes, complete\n{EVENTS}")),
        (
            TRACE,
            1,
            format!("nettrace 4, 286 bytes, whole, but the runtime dropped 4 events\n{EVENTS}"),
        ),
        (
            &TRACE[..285],
            1,
            format!("nettrace 4, 285 bytes, cut: it has no end\n  until there the runtime dropped 4 events\n{EVENTS}"),
        ),
        (&TRACE[..40], 1, "nettrace, 40 bytes, cut: it has no end\n".to_owned()),
        (
            &twice,
            1,
            format!("nettrace 4, 571 bytes, not a trace from byte 285 on\n{broken}  until there the runtime dropped 4 events\n{EVENTS}"),
        ),
        (
            &netperf,
            1,
            "netperf, 309 bytes, the format before nettrace, of .NET Core 2 and previews of 3.0: it is not read\n".to_owned(),
        ),
        (six, 1, "nettrace 6, 24 bytes, it has its end; the events of this format are not read\n".to_owned()),
    ] {
        let shown = text(&run(&["decode", "-"], bytes, status));
        assert_eq!(shown, said);
    }
    // A file of that name should be one.
    let directory = crate::tool::directory();
    let file = directory.path().join("page.nettrace");
    std::fs::write(&file, "<!Doc").unwrap();
    let file = file.to_str().unwrap();
    let said = format!("nettrace, 5 bytes, not a trace from byte 0 on\n{other}");
    assert_eq!(text(&run(&["decode", file], b"", 1)), said);
    assert_eq!(
        json_of(&["decode", "--json", file], 1),
        json!([{
            "offset": 0, "size": 5, "kind": "trace", "format": "nettrace", "version": null,
            "state": "broken", "lost": 0, "providers": [],
            "error": {
                "at": 0, "found": "3c21446f63",
                "expected": "\"Nettrace\" and its serializer, or the version of the format",
            },
        }])
    );
    let items: Value =
        serde_json::from_slice(&run(&["decode", "--json", "-"], TRACE, 1).stdout).unwrap();
    let lost = (&json!(4), &json!([{ "name": "A", "events": 1 }]));
    assert_eq!((&items[0]["lost"], &items[0]["providers"]), lost);
    // As what follows a reply it is bytes.
    run(&["decode", "-", "--from", "server"], TRACE, 0);
}
