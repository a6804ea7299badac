//! Which socket a client finds among others, and what the report says of one that looks elsewhere.

use std::fs;
use std::process::Command;

use diagipc::{Case, Grade, Report};

use crate::tool;

/// What `client.py` with `habit` does in the scenarios of `only`, which ask for the process info.
fn cases(habit: &[&str], only: &[&str]) -> Vec<Case> {
    cases_in("", CLIENT, habit, only)
}

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/clients/client.py");

/// The same of `client`, a copy of `client.py`, started through the words of `wrapper`.
fn cases_in(wrapper: &str, client: &str, habit: &[&str], only: &[&str]) -> Vec<Case> {
    let directory = crate::tool::directory();
    let habit = habit.iter().map(|word| format!("'{word}', ")).collect::<Vec<_>>().concat();
    let text = format!(
        "timeout_ms = 2000
[operations.process-info]
command = [{wrapper}'python3', '-IS', '{client}', {habit}'--patience', '2000', \
         '--pid', '{{pid}}', 'process-info', 'ProcessInfo2']
"
    );
    let file = directory.path().join("client.toml");
    fs::write(&file, text).unwrap();
    let only = only
        .iter()
        .flat_map(|what| ["--only".to_owned(), format!("discovery/{what}/process-info")]);
    let ran = tool::diagipc()
        .args(["client", "--json", "--operations"])
        .arg(&file)
        .args(only)
        .output()
        .unwrap();
    let report: Report = serde_json::from_slice(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&ran.stderr)));
    report.cases
}

fn faults(case: &Case) -> Vec<&str> {
    case.faults.iter().map(|fault| fault.name.as_str()).collect()
}

#[test]
fn client_using_tmpdir_of_process_passes_with_each_decoy() {
    let cases = cases(&[], &["*"]);
    // Only root can give a socket to another user.
    assert_eq!(cases.len(), if rustix::process::geteuid().is_root() { 7 } else { 6 });
    for case in cases {
        assert_eq!(case.grade, Grade::Pass, "{case:?}");
    }
}

/// The document does not say that a client reads the TMPDIR of the process.
#[test]
fn client_using_only_own_tmpdir_is_informational() {
    let [case] =
        <[Case; 1]>::try_from(cases(&["--taste", "looks-in-its-own-tmpdir"], &["other-tmpdir"]))
            .unwrap();
    assert_eq!(
        (case.grade, faults(&case)),
        (Grade::Informational, vec!["process-not-found"]),
        "{case:?}"
    );
}

#[test]
fn client_asking_other_process_fails_in_each_directory() {
    for case in cases(&["--fault", "another-process-reached"], &["later-key", "other-tmpdir"]) {
        assert_eq!(
            (case.grade, faults(&case)),
            (Grade::Fail, vec!["another-process-reached"]),
            "{case:?}"
        );
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
    let is_allowed = Command::new("unshare")
        .args(["--map-root-user", "--mount", "true"])
        .output()
        .unwrap()
        .status
        .success();
    let (taste, only) = (["--taste", "looks-in-its-own-tmpdir"], ["longer-pid", "later-key"]);
    for case in cases_in(&wrapper, "{tmpdir}/client.py", &taste, &only) {
        let about = case.detail.as_ref().unwrap().about.join("\n");
        assert!(
            if is_allowed { case.grade == Grade::Pass } else { about.contains("unshare: ") },
            "{case:?}"
        );
    }
}
