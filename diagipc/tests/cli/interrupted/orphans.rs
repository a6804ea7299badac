//! Processes that leave the process group of the program that started them, and outlive it.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use super::{Run, Tmpdir, files_in, processes_in, until};
use crate::cli::signalled;
use crate::tool::DIAGIPC;

/// Starts two processes outside the group, one of them with an empty environment, and runs a
/// program once one is there.
fn leaves(directory: &Path, runs: &str) -> Vec<String> {
    let file = directory.join("left");
    let file = file.display();
    let script = format!(
        "(setsid sleep 1001 &); (setsid env -i sh -c 'echo $$ >>\"{file}\"; exec sleep 1002' &); \
         until [ -s \"{file}\" ]; do sleep 0.01; done; {runs}",
    );
    ["sh", "-c", &script].map(String::from).to_vec()
}

fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// The report is printed, and nothing that the program started is running.
#[track_caller]
fn report(options: &[&str], runs: &str) -> Value {
    let out = crate::tool::directory();
    let words = leaves(out.path(), runs);
    let mut command = signalled(options);
    command.arg("--").args(words);
    let Run { child, tmpdir } = Run::begin(Tmpdir::new(), command, Stdio::null());
    let output = child.wait_with_output().unwrap();
    let (said, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let left = fs::read_to_string(out.path().join("left")).unwrap();
    assert!(!left.is_empty());
    for pid in left.lines() {
        assert!(!is_running(pid), "{pid} runs on: {errors}");
    }
    // The watcher may end last.
    until("processes are left", || processes_in(tmpdir.path()).is_empty().then_some(()));
    assert_eq!(files_in(tmpdir.path()), [""; 0]);
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}{errors}"))
}

#[test]
fn adapter_that_leaves_processes_is_reported() {
    let report =
        report(&["codec", "--json", "--only", "process/*"], &format!("exec '{DIAGIPC}' adapter"));
    assert_eq!(report["counts"]["fail"], 0, "{report}");
    let notes = report["notes"].as_array().expect("notes");
    let is_it = |note: &&Value| note.as_str().unwrap().contains("outside the process group");
    let note = notes.iter().find(is_it).unwrap_or_else(|| panic!("{notes:?}"));
    assert!(note.as_str().unwrap().contains("sleep ("), "{note}");
}

/// A shell may have children, and become this program.
#[test]
fn children_from_before_the_run_are_left_alone() {
    let out = crate::tool::directory();
    let file = out.path().join("before");
    let script = format!(
        "sleep 1003 >/dev/null 2>&1 & echo $! >'{}'; exec '{DIAGIPC}' codec --self --only 'process/*' --json",
        file.display()
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .env("TMPDIR", out.path())
        .output()
        .unwrap();
    let pid = fs::read_to_string(&file).unwrap();
    let pid = pid.trim();
    let was_running = is_running(pid);
    assert!(std::process::Command::new("kill").args(["-KILL", pid]).status().unwrap().success());
    assert!(was_running && output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report.get("notes"), None, "{report}");
}
