//! Every known fault of clients is planted in a client, and only that fault is named. Clients that
//! differ only in taste pass. Clients must find the right socket among others.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use diagipc::faults::{Fault, SuiteName};
use diagipc::{Case, Grade};

use crate::client_suite::{CLIENT, faulty, play};
use crate::tool::{self, DIAGIPC, causes, directory, run, text};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The command also compares the section "Clients" of `spec/DETECTION.md` with the results of the
/// run.
#[track_caller]
fn detected(options: &[&str]) {
    let mut command = tool::python();
    command.arg(Path::new(ROOT).join("tests/clients/detect.py"));
    command.args(["--check", "--diagipc", DIAGIPC]).args(options);
    tool::run_command(command, b"", 0);
}

#[test]
fn client_planted_fault_is_named_without_others() {
    detected(&["--sample"]);
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn client_planted_faults_are_all_named_without_others() {
    detected(&[]);
}

/// Other scenarios, which do not show the fault, must not name another one.
#[test]
#[ignore = "long: .ci/nightly long"]
fn client_reply_magic_unchecked_is_only_fault_in_all_scenarios() {
    let report = play(&faulty(Some(Fault::MagicUnchecked)), &["*"]);
    assert!(matches!(causes(&report)[..], [("magic-unchecked", _)]), "{:?}", report.causes);
    let mut unnamed = report.failures().filter(|case| case.faults.is_empty());
    assert!(unnamed.all(|case| case.name.starts_with("replies/")), "{:?}", report.counts);
}

#[test]
fn client_every_fault_is_planted() {
    let text = fs::read_to_string(Path::new(ROOT).join("tests/clients/faults.toml")).unwrap();
    let planted: toml::Table = toml::from_str(&text).unwrap();
    // A fault may be planted in several ways, `NAME/WAY`.
    let names = planted["faults"].as_table().unwrap().keys();
    let planted: BTreeSet<&str> = names.filter_map(|name| name.split('/').next()).collect();
    assert_eq!(planted, Fault::of(SuiteName::Client).map(Fault::name).collect());
    let client = fs::read_to_string(CLIENT).unwrap();
    for fault in Fault::of(SuiteName::Client) {
        assert!(client.contains(&format!("\"{}\"", fault.name())), "client.py has no {fault}");
    }
}

/// The failure is separate from its explanation, and a cause shows what the client sent and the
/// answer.
#[test]
fn client_text_report_separates_failure_from_explanation() {
    let directory = directory();
    let file = directory.path().join("client.toml").display().to_string();
    fs::write(
        &file,
        faulty(Some(Fault::ErrorTreatedAsSuccess)).replace("client.py\"", "a client\""),
    )
    .unwrap();
    let arguments = ["client", "--verbose", "--only", "reply/error/resume", "--operations", &file];
    let text = text(&run(&arguments, b"", 1));
    let mut rest = text.as_str();
    for begin in [
        "  about     command line: python3 … ",
        "  about     exit status: 0",
        "  FAULT     error-treated-as-success: it reports success, expected failure",
        "a client (strict): 1 case, 0 passed, ",
        "FAILED: 1 of 1 judged, 1 cause",
        "CAUSE  error-treated-as-success, 1 failure: ",
        "  seen in reply/error/resume: it reports success, expected failure",
        "  sent by the client: request Process/ResumeRuntime, 0x0401, 20 bytes",
        "  sent by diagipc: error after Process/ResumeRuntime, 0xFFFF, 24 bytes",
        "  how to fix it: Check the reply's command id",
    ] {
        let line = format!("\n{begin}");
        rest = rest.split_once(&line).unwrap_or_else(|| panic!("{begin}: {text}")).1;
    }
    assert!(!text.contains("\n\n\n"), "{text}");
}

/// What `client`, a copy of `client.py` that is started through the words of `wrapper`, does with
/// `habit` in the scenarios of discovery, which ask for the process info.
fn found_by(wrapper: &str, client: &str, habit: &[&str], only: &[&str]) -> Vec<Case> {
    let habit = habit.iter().map(|word| format!("'{word}', ")).collect::<Vec<_>>().concat();
    let text = format!(
        "timeout_ms = 2000\n[operations.process-info]\ncommand = [{wrapper}'python3', '-IS', \
         '{client}', {habit}'--patience', '2000', '--pid', '{{pid}}', 'process-info', 'ProcessInfo2']\n"
    );
    let only: Vec<_> = only.iter().map(|what| format!("discovery/{what}/process-info")).collect();
    play(&text, &only.iter().map(String::as_str).collect::<Vec<_>>()).cases
}

/// The document does not say that a client reads the TMPDIR of the process, so a client that looks
/// only in its own is not wrong.
#[test]
fn client_finds_its_process_among_others() {
    let all = found_by("", CLIENT, &[], &["*"]);
    // Only root can give a socket to another user.
    assert_eq!(all.len(), if rustix::process::geteuid().is_root() { 7 } else { 6 });
    let own_tmpdir = ["--taste", "looks-in-its-own-tmpdir"];
    let other_process = ["--fault", "another-process-reached"];
    for (cases, grade, fault) in [
        (all, Grade::Pass, None),
        (
            found_by("", CLIENT, &own_tmpdir, &["other-tmpdir"]),
            Grade::Informational,
            Some("process-not-found"),
        ),
        (
            found_by("", CLIENT, &other_process, &["later-key", "other-tmpdir"]),
            Grade::Fail,
            Some("another-process-reached"),
        ),
    ] {
        for case in cases {
            let names: Vec<&str> = case.faults.iter().map(|fault| fault.name.as_str()).collect();
            assert_eq!((case.grade, names), (grade, Vec::from_iter(fault)), "{case:?}");
        }
    }
}

/// The words of `diagipc/clients/README.md`: a client that looks in `/tmp` alone finds the socket
/// there. If the system allows no such namespace, the report has the error of `unshare`.
#[test]
fn client_with_fixed_paths_finds_the_socket_in_a_mount_namespace() {
    let readme = include_str!("../../clients/README.md");
    let script = r#"'mkdir -p "$0/${{0#/tmp/}}" && mount --bind "$0" "$0/${{0#/tmp/}}" && mount --rbind "$0" /tmp && exec "$@"'"#;
    assert!(readme.contains(script));
    // The client may be below `/tmp` itself.
    let wrapper = format!(
        r#"'sh', '-c', 'cp "$0" "$1" && shift && exec "$@"', '{CLIENT}', '{{tmpdir}}',
        'unshare', '--map-root-user', '--mount', 'sh', '-c', {script}, '{{tmpdir}}', 'env', 'TMPDIR=/tmp', "#
    );
    let unshare = Command::new("unshare").args(["--map-root-user", "--mount", "true"]).output();
    let is_allowed = unshare.unwrap().status.success();
    let (taste, only) = (["--taste", "looks-in-its-own-tmpdir"], ["longer-pid", "later-key"]);
    for case in found_by(&wrapper, "{tmpdir}/client.py", &taste, &only) {
        let about = case.detail.as_ref().unwrap().about.join("\n");
        let is_right =
            if is_allowed { case.grade == Grade::Pass } else { about.contains("unshare: ") };
        assert!(is_right, "{case:?}");
    }
}
