//! `ps`, `info`, `env`, `trace` and `dump`, as people use them, against a reference runtime.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::endpoint::{ProcessStat, SocketName};
use serde_json::{Value, json};

use crate::cli::runtime::Runtime;
use crate::cli::{diagipc, run, signalled, text};
use crate::tool::DIAGIPC;

fn json(arguments: &[&str], status: i32) -> Value {
    serde_json::from_slice(&run(arguments, b"", status).stdout).expect("JSON")
}

#[track_caller]
fn says(arguments: &[&str], status: i32, error: &str) {
    let output = run(arguments, b"", status);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains(error), "{errors}");
}

#[test]
fn info_of_each_version_shows_its_fields() {
    for (profile, version, rid) in [
        ("coreclr-10", Some("10."), true),
        ("coreclr-9", Some("9."), true),
        ("coreclr-8", Some("8."), true),
    ] {
        let runtime = Runtime::start(&["--profile", profile]);
        for target in [&runtime.pid(), &runtime.socket] {
            let info = json(&["info", target, "--json"], 0);
            assert_eq!(info["processId"], runtime.process.id(), "{info}");
            assert_eq!(info["OS"], "Linux");
            assert!(
                version.is_none_or(|version| info["clrProductVersion"]
                    .as_str()
                    .unwrap()
                    .starts_with(version)),
                "{info}"
            );
            assert_eq!(info.get("runtimeIdentifier").is_some(), rid);
        }
        let shown = text(&run(&["info", &runtime.pid()], b"", 0));
        assert!(
            shown.starts_with(&format!("process         {}\ncookie          ", runtime.pid())),
            "{shown}"
        );
    }
}

#[test]
fn info_of_runtime_without_process_info_is_refused() {
    let runtime = Runtime::start(&["--profile", "coreclr-3.1"]);
    says(
        &["info", &runtime.pid()],
        1,
        "the runtime does not know ProcessInfo: .NET Core 3.1 or older",
    );
}

#[test]
fn target_missing_exits_with_3() {
    let home = crate::tool::directory();
    let missing = home.path().join("socket");
    let missing = missing.to_str().unwrap();
    for command in ["info", "env"] {
        says(
            &[command, missing],
            3,
            &format!("diagipc {command}: {missing} was not found (looking for the endpoint)"),
        );
    }
    let file = home.path().join("file");
    let file = file.to_str().unwrap();
    says(&["trace", missing, "-o", file], 3, "was not found");
    says(&["dump", missing, file], 3, "was not found");
    says(&["dump", missing], 3, "was not found");
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

/// Any user can listen at a socket with the name of any process, and answer anything.
#[test]
#[cfg(target_os = "linux")]
fn ps_shows_no_answer_of_another_user_for_a_process() {
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;

    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: takes root, to run something as another user");
        return;
    }
    // Not below TMPDIR, which may be closed to others.
    let home = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let mut victim = Command::new("cat")
        .env("TMPDIR", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let id = victim.id();
    let stat = ProcessStat::parse(&fs::read(format!("/proc/{id}/stat")).unwrap()).unwrap();
    let socket = home.path().join(SocketName::new(id, stat.start_time).to_string());
    let program = home.path().join("diagipc");
    // Written by another program: a file that is open for writing cannot be run.
    let copied = Command::new("cp").arg(DIAGIPC).arg(&program).status();
    assert!(copied.unwrap().success());
    let mut liar = Command::new(&program)
        .args(["runtime", "--until-eof", "--socket"])
        .arg(&socket)
        .uid(65533)
        .gid(65533)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    BufReader::new(liar.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    says(&["ps", &id.to_string()], 1, &format!("process {id} has no visible endpoint"));
    let rows = json(&["ps", "--json", &liar.id().to_string()], 0);
    assert_eq!(rows[0]["endpoint"], json!(socket), "{rows}");
    for process in [&mut liar, &mut victim] {
        drop(process.stdin.take());
        process.wait().unwrap();
    }
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
fn ps_shows_command_line_of_stopped_process() {
    let runtime = Runtime::start(&["--profile", "coreclr-9"]);
    let signal = |name: &str| {
        let told = Command::new("kill").args([name, runtime.pid().as_str()]).status().unwrap();
        assert!(told.success());
    };
    signal("-STOP");
    let shown = text(&run(&["ps", &runtime.pid()], b"", 0));
    signal("-CONT");
    let (row, program) = (shown.lines().nth(1).unwrap(), DIAGIPC);
    let line = format!("{program} runtime --until-eof --profile coreclr-9");
    assert!(row.ends_with(&format!("  {line} (it did not answer in time)")), "{shown}");
}

#[test]
fn ps_does_not_pad_rows_to_the_longest() {
    let long = Runtime::start(&["--env", &format!("LONG={}", "x".repeat(600))]);
    let short = Runtime::start(&[]);
    let shown = text(&run(&["ps", &long.pid(), &short.pid()], b"", 0));
    assert_eq!(shown.lines().count(), 3, "{shown}");
    for line in shown.lines() {
        assert_eq!(line.trim_end(), line);
        assert!(line.len() < 300 || line.contains("xxxx"), "{shown}");
    }
}

#[test]
fn trace_ends_by_duration_or_ctrl_c_and_is_complete() {
    let runtime = Runtime::start(&[]);
    let (first, second) = (runtime.path("first"), runtime.path("second"));
    let shown = text(&run(
        &["trace", &runtime.pid(), "--duration", "1", "-o", &first, "-p", "P:1:4"],
        b"",
        0,
    ));
    let bytes = fs::read(&first).unwrap();
    assert!(bytes.starts_with(b"Nettrace"));
    assert_eq!(shown, format!("{first}: {} bytes, complete\n", bytes.len()));

    let tracing = signalled(&["trace", &runtime.pid(), "-o", &second])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while fs::metadata(&second).map_or(0, |file| file.len()) == 0 {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(
        Command::new("kill").args(["-INT", &tracing.id().to_string()]).status().unwrap().success()
    );
    let output = tracing.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        text(&output),
        format!("{second}: {} bytes, complete\n", fs::read(&second).unwrap().len())
    );
}

#[test]
fn trace_keeps_existing_file_and_creates_none_without_data() {
    let runtime = Runtime::start(&["--profile", "coreclr-8"]);
    let (there, new) = (runtime.path("there"), runtime.path("new"));
    fs::write(&there, "mine").unwrap();
    says(
        &["trace", &runtime.pid(), "-d", "1", "-o", &there],
        2,
        "already exists: --force overwrites it",
    );
    assert_eq!(fs::read_to_string(&there).unwrap(), "mine");
    run(&["trace", &runtime.pid(), "-d", "1", "--force", "-o", &there], b"", 0);
    assert!(fs::read(&there).unwrap().starts_with(b"Nettrace"));
    // .NET 8 has no session without stacks.
    says(&["trace", &runtime.pid(), "-d", "1", "--no-stacks", "-o", &new], 1, "diagipc trace: ");
    assert!(!Path::new(&new).exists());
    says(
        &["trace", &runtime.pid(), "-p", "P:x", "-o", &new],
        2,
        "\"x\" is not a hexadecimal number",
    );
}

#[test]
fn trace_cut_short_keeps_received_bytes() {
    let runtime = Runtime::start(&["--misbehave", "stream-cut"]);
    let file = runtime.path("cut");
    let output = run(&["trace", &runtime.pid(), "-d", "1", "-o", &file], b"", 1);
    let (errors, bytes) = (String::from_utf8(output.stderr).unwrap(), fs::read(&file).unwrap());
    let kept = format!("the stream was cut short; {file} has the first {} bytes", bytes.len());
    assert!(errors.contains(&kept) && bytes.starts_with(b"Nettrace"), "{errors}");
}

#[test]
fn dump_not_written_is_a_failure() {
    let runtime = Runtime::start(&[]);
    let (there, new) = (runtime.path("there"), runtime.path("new"));
    fs::write(&there, "mine").unwrap();
    says(&["dump", &runtime.pid(), &there], 2, "already exists: --force overwrites it");
    let output = run(&["dump", &runtime.pid(), &new, "--type", "heap", "--timeout", "60"], b"", 1);
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("diagipc dump: "));
}
