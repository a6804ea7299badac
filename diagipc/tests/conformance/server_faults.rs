//! Faulty servers: each has one planted fault, and the kit must name its cause and no other.
//! Correct servers of other tastes pass.
//!
//! `tests/fixtures/servers/server.py --list` prints the planted faults, the causes to be named, and
//! the cases asked. `spec/DETECTION.md` has the same as a table, which `tests/detection.py servers
//! --write` makes.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use diagipc::server::ServerFault;
use diagipc::{Case, Grade, Report};

use crate::tool;

/// A line of `server.py --list`.
struct Planted {
    /// `fault` or `taste`.
    kind: String,
    name: String,
    causes: Vec<String>,
    cases: Vec<String>,
    text: String,
}

fn script() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/servers/server.py")
        .display()
        .to_string()
}

fn listed() -> &'static [Planted] {
    static LISTED: OnceLock<Vec<Planted>> = OnceLock::new();
    LISTED.get_or_init(|| {
        let output = tool::python().args([&script(), "--list"]).output().unwrap();
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let planted = |line: &str| {
            let [kind, name, causes, asked, text] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            Planted {
                kind: kind.into(),
                name: name.into(),
                causes: words(causes),
                cases: words(asked),
                text: text.into(),
            }
        };
        String::from_utf8(output.stdout).unwrap().lines().map(planted).collect()
    })
}

/// The report of the server with that fault or taste.
fn report(planted: &Planted, options: &[&str]) -> Report {
    let output = asked(planted, &[&["--json"], options].concat());
    Report::parse(&output).unwrap()
}

fn asked(planted: &Planted, options: &[&str]) -> String {
    let mut command = tool::diagipc();
    command.args([
        "server",
        "--profile",
        "strict",
        "--allow-side-effects",
        "--allow-harmful",
        "--jobs",
        "2",
    ]);
    command.args(["--timeout", "1500"]).args(options);
    for case in &planted.cases {
        command.args(["--only", case]);
    }
    command.args([
        "--spawn",
        "--",
        "python3",
        &script(),
        &format!("--{}", planted.kind),
        &planted.name,
    ]);
    String::from_utf8(command.output().expect("it starts").stdout).unwrap()
}

#[track_caller]
fn find(kind: &str, name: &str) -> &'static Planted {
    listed()
        .iter()
        .find(|planted| (planted.kind.as_str(), planted.name.as_str()) == (kind, name))
        .expect("it is planted")
}

/// The causes are those planted, every failure has a name, and the table says the same.
#[track_caller]
fn causes_are_exact(kind: &str, name: &str) {
    let planted = find(kind, name);
    let report = report(planted, &[]);
    let mut named: Vec<&str> = report.causes.iter().map(|cause| cause.name.as_str()).collect();
    named.sort_unstable();
    assert_eq!(named, planted.causes, "{name}: {:?}", report.causes);
    let unnamed: Vec<&Case> = report.failures().filter(|case| case.faults.is_empty()).collect();
    assert!(unnamed.is_empty(), "{name}: {unnamed:?}");
    assert_eq!(report.counts.fail == 0, planted.causes.is_empty(), "{name}: {:?}", report.counts);
    let named: Vec<String> = named.iter().map(|cause| format!("`{cause}`")).collect();
    let named = if named.is_empty() { "none".to_owned() } else { named.join(", ") };
    let row = format!("| `{name}` | {} | {named} |", planted.text);
    assert!(table().lines().any(|line| line == row), "spec/DETECTION.md lacks: {row}");
}

fn table() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec/DETECTION.md")).unwrap()
}

macro_rules! planted {
    ($NAMES:ident, $kind:literal, $($test:ident: $name:literal;)*) => {
        const $NAMES: &[&str] = &[$($name),*];

        $(#[test]
        fn $test() {
            causes_are_exact($kind, $name);
        })*
    };
}

planted! {
    FAULTS, "fault",
    server_size_too_large_is_named: "size-too-large";
    server_size_too_small_is_named: "size-too-small";
    server_size_without_header_is_named: "size-without-header";
    server_size_with_the_block_is_named: "size-with-the-block";
    server_ok_of_28_bytes_is_named: "ok-of-28-bytes";
    server_error_of_28_bytes_is_named: "error-of-28-bytes";
    server_padded_reply_is_named: "padded-reply";
    server_string_without_nul_is_named: "string-without-nul";
    server_string_nul_forgotten_is_named: "string-nul-forgotten";
    server_string_nul_uncounted_is_named: "string-nul-uncounted";
    server_string_in_utf_8_is_named: "string-in-utf-8";
    server_string_count_in_bytes_is_named: "string-count-in-bytes";
    server_string_of_4_bytes_is_named: "string-of-4-bytes";
    server_environment_without_nul_is_named: "environment-without-nul";
    server_environment_nul_uncounted_is_named: "environment-nul-uncounted";
    server_environment_in_utf_8_is_named: "environment-in-utf-8";
    server_environment_count_in_bytes_is_named: "environment-count-in-bytes";
    server_environment_count_more_is_named: "environment-count-more";
    server_environment_count_less_is_named: "environment-count-less";
    server_environment_bytes_more_is_named: "environment-bytes-more";
    server_environment_bytes_less_is_named: "environment-bytes-less";
    server_environment_first_is_named: "environment-first";
    server_big_endian_is_named: "big-endian";
    server_big_endian_strings_is_named: "big-endian-strings";
    server_wrong_magic_is_named: "wrong-magic";
    server_http_is_named: "http";
    server_tiny_engine_is_named: "tiny-engine";
    server_echoes_command_is_named: "echoes-command";
    server_error_id_1_is_named: "error-id-1";
    server_reserved_is_named: "reserved";
    server_reply_cut_is_named: "reply-cut";
    server_draft_error_codes_is_named: "draft-error-codes";
    server_one_error_code_is_named: "one-error-code";
    server_silent_on_unknown_is_named: "silent-on-unknown";
    server_closes_on_unknown_is_named: "closes-on-unknown";
    server_closes_on_malformed_is_named: "closes-on-malformed";
    server_closes_on_other_bytes_is_named: "closes-on-other-bytes";
    server_silent_on_malformed_is_named: "silent-on-malformed";
    server_silent_on_process_info2_is_named: "silent-on-process-info2";
    server_dies_on_empty_payload_is_named: "dies-on-empty-payload";
    server_magic_unchecked_is_named: "magic-unchecked";
    server_magic_by_prefix_is_named: "magic-by-prefix";
    server_size_unchecked_is_named: "size-unchecked";
    server_cut_message_taken_is_named: "cut-message-taken";
    server_truncated_taken_is_named: "truncated-taken";
    server_count_unchecked_is_named: "count-unchecked";
    server_nul_unchecked_is_named: "nul-unchecked";
    server_limits_unchecked_is_named: "limits-unchecked";
    server_unknown_taken_is_named: "unknown-taken";
    server_bool_strict_is_named: "bool-strict";
    server_reserved_checked_is_named: "reserved-checked";
    server_tail_refused_is_named: "tail-refused";
    server_absent_refused_is_named: "absent-refused";
    server_odd_name_fails_is_named: "odd-name-fails";
    server_error_left_open_is_named: "error-left-open";
    server_reply_left_open_is_named: "reply-left-open";
    server_second_reply_is_named: "second-reply";
    server_surplus_after_reply_is_named: "surplus-after-reply";
    server_session_id_zero_is_named: "session-id-zero";
    server_session_id_twice_is_named: "session-id-twice";
    server_stop_echoes_1_is_named: "stop-echoes-1";
    server_stream_first_is_named: "stream-first";
    server_stream_does_not_end_is_named: "stream-does-not-end";
    server_sessions_leaked_is_named: "sessions-leaked";
    server_nettrace_for_netperf_is_named: "nettrace-for-netperf";
    server_netperf_for_nettrace_is_named: "netperf-for-nettrace";
    server_stream_of_text_is_named: "stream-of-text";
    server_pid_wrong_is_named: "pid-wrong";
    server_pid_changes_is_named: "pid-changes";
    server_cookie_changes_is_named: "cookie-changes";
    server_guid_byte_order_is_named: "guid-byte-order";
}

planted! {
    TASTES, "taste",
    server_in_pieces_passes: "in-pieces";
    server_serial_passes: "serial";
    server_few_commands_passes: "few-commands";
    server_other_version_passes: "other-version";
    server_empty_environment_passes: "empty-environment";
    server_late_tail_passes: "late-tail";
    server_ids_from_high_passes: "ids-from-high";
    server_nettrace_6_passes: "nettrace-6";
    server_one_session_passes: "one-session";
    server_no_assembly_passes: "no-assembly";
    server_worker_passes: "worker";
    server_odd_name_refused_passes: "odd-name-refused";
}

#[test]
fn every_planted_fault_has_a_test_and_a_row() {
    let of = |kind: &str| -> Vec<&str> {
        listed()
            .iter()
            .filter(|planted| planted.kind == kind)
            .map(|planted| planted.name.as_str())
            .collect()
    };
    assert_eq!((of("fault"), of("taste")), (FAULTS.to_vec(), TASTES.to_vec()));
    let table = table();
    let section = table
        .split("<!-- servers -->")
        .nth(1)
        .and_then(|rest| rest.split("<!-- end of servers -->").next())
        .unwrap();
    let rows: Vec<&str> =
        section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(rows, [FAULTS, TASTES].concat());
    assert!(section.contains("False positives 0, false negatives 0."), "{section}");
}

/// Each fault that the kit can name was planted, except those that a single server cannot show.
#[test]
fn every_named_fault_is_planted() {
    let planted: Vec<&str> =
        listed().iter().flat_map(|planted| &planted.causes).map(String::as_str).collect();
    let others = ["reply-malformed", "environment-malformed", "connection-reset", "value-differs"];
    for fault in ServerFault::ALL {
        assert_ne!(planted.contains(&fault.name()), others.contains(&fault.name()), "{fault}");
        assert!(
            !fault.sentence().is_empty() && !fault.fix().is_empty() && !fault.spec().is_empty(),
            "{fault}"
        );
    }
}

/// The report leads with the cause, shows the reply byte by byte, and gives the fix.
#[test]
fn report_leads_with_the_cause_and_its_bytes() {
    let text = asked(find("fault", "size-with-the-block"), &[]);
    let (before, cause) = text.split_once("1 cause of 2 failures").unwrap();
    assert!(!before.contains("FAILED"), "{text}");
    let wanted = [
        "size-field-wrong, 2 failures: size is 28, but the message has 26 bytes",
        "Write the header last",
        "00000e  1c 00                                            size            28 = 20 + 8",
        "FAILED",
    ];
    let mut rest = cause;
    for text in wanted {
        rest = rest
            .split_once(text)
            .unwrap_or_else(|| panic!("{text} comes later or not at all: {cause}"))
            .1;
    }
    assert!(!text.contains("\"expect\""), "steps are told in words: {text}");
}

/// If all of many cases fail for one reason, one cause is named.
#[test]
fn one_wrong_size_is_one_cause_of_all_failures() {
    let report = report(find("fault", "size-too-small"), &[]);
    let [cause] = &report.causes[..] else { panic!("{:?}", report.causes) };
    assert_eq!((cause.name.as_str(), cause.cases), ("size-field-wrong", report.counts.fail));
    assert!(
        report.counts.fail >= 20 && report.cases.iter().all(|case| case.grade == Grade::Fail),
        "{:?}",
        report.counts
    );
}
