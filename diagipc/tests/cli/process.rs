//! `ps`, `info`, `env` and `dump`, as people use them, against a reference runtime.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::time::Instant;

use dotnet_diagnostics_ipc::endpoint::SocketName;
use serde_json::{Value, json};

use crate::cli::{diagipc, errors, json, run, text};
use crate::tool::{DIAGIPC, Runtime, signal};

#[track_caller]
fn says(arguments: &[&str], status: i32, error: &str) {
    let errors = errors(arguments, status);
    assert!(errors.contains(error), "{errors}");
}

#[test]
fn info_of_each_version_shows_its_fields() {
    for (profile, version) in [("coreclr-10", "10."), ("coreclr-8", "8.")] {
        let runtime = Runtime::start(&["--profile", profile]);
        for target in [&runtime.pid(), &runtime.socket] {
            let info = json(&["info", target, "--json"], 0);
            assert_eq!(info["processId"], runtime.process.id(), "{info}");
            assert_eq!(
                (&info["OS"], info["runtimeIdentifier"].is_string()),
                (&json!("Linux"), true)
            );
            let shown = info["clrProductVersion"].as_str().unwrap();
            assert!(shown.starts_with(version), "{info}");
        }
        let shown = text(&run(&["info", &runtime.pid()], b"", 0));
        let begins = format!("process         {}\ncookie          ", runtime.pid());
        assert!(shown.starts_with(&begins), "{shown}");
    }
    let old = Runtime::start(&["--profile", "coreclr-3.1"]);
    let why = "the runtime does not know ProcessInfo: .NET Core 3.1 or older";
    says(&["info", &old.pid()], 1, why);
}

#[test]
fn target_missing_exits_with_3() {
    let home = crate::tool::directory();
    let [missing, file] = ["socket", "file"].map(|name| home.path().join(name));
    let [missing, file] = [&missing, &file].map(|path| path.to_str().unwrap());
    for command in ["info", "env"] {
        let why = format!("diagipc {command}: {missing} was not found (looking for the endpoint)");
        says(&[command, missing], 3, &why);
    }
    for arguments in
        [&["trace", missing, "-o", file][..], &["dump", missing, file], &["dump", missing]]
    {
        says(arguments, 3, "was not found");
    }
    assert!(!Path::new(file).exists());
}

#[test]
fn env_shows_entries_and_reports_missing() {
    let runtime = Runtime::start(&["--env", "ONE=1", "--env", "TWO=a\nb", "--env", "BARE"]);
    let target = runtime.pid();
    assert_eq!(text(&run(&["env", &target, "ONE"], b"", 0)), "ONE=1\n");
    assert_eq!(text(&run(&["env", &target, "-0", "TWO", "ONE"], b"", 0)), "ONE=1\0TWO=a\nb\0");
    let entries = json(&["env", &target, "--json", "BARE", "TWO"], 0);
    assert_eq!(entries, json!([{"name": "TWO", "value": "a\nb"}, {"name": "BARE", "value": null}]));
    says(&["env", &target, "ONE", "THREE"], 1, "THREE is not set");
}

#[test]
fn ps_lists_process_and_reports_missing() {
    let runtime = Runtime::start(&[]);
    let rows = json(&["ps", "--json", &runtime.pid()], 0);
    let row = &rows[0];
    assert_eq!(
        (&row["processId"], &row["endpoint"]),
        (&json!(runtime.process.id()), &json!(runtime.socket)),
        "{rows}"
    );
    assert_eq!(
        (&row["state"], &row["info"]["arch"]),
        (&json!("listening"), &json!("x64")),
        "{rows}"
    );
    let shown = text(&run(&["ps", &runtime.pid()], b"", 0));
    assert!(shown.contains("PROCESS") && shown.contains(&runtime.socket), "{shown}");
    says(&["ps", &runtime.pid(), "4294967295"], 1, "process 4294967295 has no visible endpoint");
}

/// Anyone can create sockets at which nobody answers.
#[test]
fn ps_waits_once_for_all_that_do_not_answer() {
    let home = crate::tool::directory();
    let silent: Vec<_> = (0..200)
        .map(|n| home.path().join(SocketName::new(4_000_000_000 + n, 7).to_string()))
        .map(|path| std::os::unix::net::UnixListener::bind(path).unwrap())
        .collect();
    let us = std::process::id().to_string();
    let listed = || {
        let began = Instant::now();
        let output = diagipc(&["ps", "--json", &us]).env("TMPDIR", home.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        (serde_json::from_slice::<Vec<Value>>(&output.stdout).unwrap(), began.elapsed())
    };
    let (rows, all) = listed();
    assert_eq!(rows.len(), silent.len());
    for row in rows {
        assert_eq!(row["error"], "it did not answer in time");
        // What the system knows of it, with which this test was started.
        let line = row["commandLine"].as_str().unwrap();
        assert!(line.starts_with(&std::env::args().next().unwrap()), "{row}");
    }
    // One chunk after another would take thirteen times as long.
    for path in silent.iter().skip(1).map(|listener| listener.local_addr().unwrap()) {
        fs::remove_file(path.as_pathname().unwrap()).unwrap();
    }
    let (rows, one) = listed();
    assert_eq!(rows.len(), 1);
    assert!(all < 6 * one, "{all:?}, {one:?}");
}

#[test]
fn ps_shows_each_row_as_wide_as_it_is() {
    let long = Runtime::start(&["--env", &format!("LONG={}", "x".repeat(600))]);
    let stopped = Runtime::start(&["--profile", "coreclr-9"]);
    signal(&stopped.process, "-STOP");
    let shown = text(&run(&["ps", &long.pid(), &stopped.pid()], b"", 0));
    signal(&stopped.process, "-CONT");
    assert_eq!(shown.lines().count(), 3, "{shown}");
    for line in shown.lines() {
        assert_eq!(line.trim_end(), line);
        assert!(line.len() < 300 || line.contains("xxxx"), "{shown}");
    }
    // The system knows the command line of a process that does not answer.
    let end =
        format!("  {DIAGIPC} runtime --until-eof --profile coreclr-9 (it did not answer in time)");
    assert!(shown.lines().any(|line| line.ends_with(&end)), "{shown}");
}
