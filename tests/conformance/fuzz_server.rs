//! `diagipc fuzz-server`: finds what was planted into the reference runtime, makes it small, plays the same for the same seed, and
//! finds nothing where nothing is wrong.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{ChildStdin, Output, Stdio};
use std::thread::{self, JoinHandle};

use crate::load::scaled;
use crate::schema::Schema;
use crate::tool::{self, DIAGIPC};
use dotnet_diagnostics_ipc::vectors::Value;

/// `DOTNET_IPC_V1`, in hexadecimal.
const MAGIC: &str = "444f544e45545f4950435f563100";

#[track_caller]
fn fuzz(arguments: &[&str], status: i32) -> Output {
    let output = tool::diagipc().arg("fuzz-server").args(arguments).output().expect("it starts");
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!errors.contains("panicked"), "{errors}");
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {errors}{}", text.chars().take(4000).collect::<String>());
    output
}

/// The summary of a campaign against a target that it starts itself.
#[track_caller]
fn against(options: &[&str], target: &[&str], status: i32) -> Value {
    let fixed = ["--json", "--allow-harmful", "--rate", "1000", "--spawn", "--"];
    let (before, behind) = fixed.split_at(4);
    let output = fuzz(&[before, options, behind, target].concat(), status);
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

fn runtime<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&[DIAGIPC, "runtime"], arguments].concat()
}

fn findings(summary: &Value) -> &[Value] {
    summary["findings"].as_array().expect("there is a list")
}

/// The findings of this verdict that have a message of their own.
fn own<'s>(summary: &'s Value, verdict: &str) -> Vec<&'s Value> {
    findings(summary).iter().filter(|one| one["verdict"] == verdict && one["sameAs"].is_null()).collect()
}

/// The script of a finding, played to a runtime that is started for it.
#[track_caller]
fn replay(directory: &Path, finding: &Value, runtime: &[&str], status: i32) {
    let own = tempfile::tempdir().unwrap();
    let runtime = Runtime::start(runtime, own.path());
    let file = directory.join(format!("{}.json", finding["name"].as_str().unwrap()));
    let (mut replay, pid) = (tool::diagipc(), runtime.pid.to_string());
    replay.arg("replay").arg(&file).args(["--allow-harmful", "--to", &pid]).env("TMPDIR", own.path());
    let output = replay.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{said}");
}

/// A reference runtime that runs already, and whose end is noticed.
struct Runtime {
    pid: u32,
    socket: String,
    stdin: Option<ChildStdin>,
    ended: Option<JoinHandle<()>>,
}

impl Runtime {
    fn start(arguments: &[&str], directory: &Path) -> Self {
        let mut command = tool::diagipc();
        command.args(["runtime", "--until-eof"]).args(arguments).env("TMPDIR", directory);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (pid, stdin) = (child.id(), child.stdin.take());
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let ended = thread::spawn(move || {
            child.wait().unwrap();
        });
        Self { pid, socket: line.trim().to_owned(), stdin, ended: Some(ended) }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.ended.take().map(JoinHandle::join);
    }
}

#[test]
fn campaign_without_allow_harmful_sends_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let started = directory.path().join("started");
    let output = fuzz(&["--spawn", "--", "touch", started.to_str().unwrap()], 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--allow-harmful"));
    assert!(!started.exists());
}

#[test]
fn target_that_is_not_there_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    fuzz(&["--allow-harmful", directory.path().join("none").to_str().unwrap()], 3);
    let summary = against(&[], &["false"], 3);
    assert!(summary["lost"].as_str().unwrap().contains("before it could be reached"), "{summary}");
    assert_eq!(summary["cases"], 0);
}

#[test]
fn campaign_same_seed_same_cases() {
    let list = |arguments: &[&str]| {
        let output = fuzz(&[&["--list"], arguments].concat(), 0);
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = list(&["--seed", "7", "--cases", "300"]);
    assert_eq!(all.len(), 300);
    assert_eq!(list(&["--seed", "7", "--cases", "300"]), all);
    // Where another run ended.
    assert_eq!(list(&["--seed", "7", "--first", "201", "--cases", "100"]), all[200..]);
    let other = list(&["--seed", "8", "--cases", "300"]);
    assert!(all.iter().zip(&other).filter(|(one, other)| one == other).count() < 10);
    let mutations = "count number boolean units empty-string long-string duplicate-item missing-item foreign-item missing-field \
                     noise cut empty-payload extra-bytes other-command header size cut-short bytes-behind none";
    let all = list(&["--cases", "3000"]);
    for name in mutations.split_whitespace().chain(["whole", "pieces", "half-close", "leave"]) {
        assert!(all.iter().any(|line| line.split("  ").any(|word| word == name)), "{name}");
    }
}

#[test]
fn campaign_death_is_found_and_minimised() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    let target = runtime(&["--profile", "coreclr-8", "--dies"]);
    let first = against(&["--seed", "1", "--cases", "150", "--out", out], &target, 1);
    let deaths = own(&first, "crash");
    assert!(deaths.len() >= 3, "{first}");
    for death in &deaths {
        assert_eq!(death["death"], "was killed by signal 6");
        assert_eq!((&death["known"]["fact"], &death["reproduced"]), (&"F-72".into(), &true.into()), "{death}");
    }
    let small = |one: &&&Value| {
        let message = one["minimised"]["message"].as_str().unwrap();
        message.len() == 40 && message.starts_with(&format!("{MAGIC}1400"))
    };
    let smallest = deaths.iter().find(small).expect("one comes down to an empty payload");
    assert!(deaths.iter().filter(small).count() >= 3, "{first}");

    let second = against(&["--seed", "1", "--cases", "150"], &target, 1);
    assert_eq!(findings(&first), findings(&second));
    assert_eq!(first["commands"], second["commands"]);

    // Each has its script, which is one, and its words.
    let schema = Schema::load("exchanges.schema.json");
    for finding in findings(&first) {
        let name = finding["name"].as_str().unwrap();
        let script: Value = serde_json::from_slice(&fs::read(directory.path().join(format!("{name}.json"))).unwrap()).unwrap();
        assert_eq!(schema.objection(&script), None, "{name}");
        assert!(fs::read_to_string(directory.path().join(format!("{name}.txt"))).unwrap().contains("command_id"), "{name}");
    }
    // It kills a runtime that dies of it, and no other.
    replay(directory.path(), smallest, &["--profile", "coreclr-8", "--dies"], 0);
    replay(directory.path(), smallest, &["--profile", "coreclr-8"], 1);
}

#[test]
fn campaign_correct_server_no_findings() {
    let summary = against(&["--seed", "3", "--cases", "200"], &runtime(&["--profile", "strict"]), 0);
    assert_eq!((&summary["cases"], &summary["starts"], &summary["lost"]), (&200.into(), &1.into(), &Value::Null));
    assert_eq!(findings(&summary), [] as [Value; 0]);
}

#[test]
fn campaign_memory_leak_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--profile", "coreclr-8", "--misbehave", "echo-payload"];
    let out = ["--out", directory.path().to_str().unwrap()];
    let summary = against(&[&["--seed", "1", "--cases", "60"], &out[..]].concat(), &runtime(&arguments), 1);
    let leaks = own(&summary, "leaked");
    assert!(!leaks.is_empty(), "{summary}");
    replay(directory.path(), leaks[0], &arguments, 0);
    replay(directory.path(), leaks[0], &["--profile", "coreclr-8"], 1);
    for leak in leaks {
        // One byte of payload, which is 0.
        let message = leak["minimised"]["message"].as_str().unwrap();
        assert!(message.len() == 42 && message.starts_with(&format!("{MAGIC}1500")) && message.ends_with("00"), "{message}");
        assert_eq!(leak["known"]["fact"], "F-71");
    }
}

#[test]
fn campaign_open_connection_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--profile", "strict", "--misbehave", "error-without-close"];
    let out = ["--out", directory.path().to_str().unwrap()];
    let summary = against(&[&["--seed", "1", "--cases", "12"], &out[..]].concat(), &runtime(&arguments), 1);
    let open = own(&summary, "left-open");
    assert!(!open.is_empty(), "{summary}");
    replay(directory.path(), open[0], &arguments, 0);
    replay(directory.path(), open[0], &["--profile", "strict"], 1);
    assert!(open.iter().all(|one| one["reproduced"] == true), "{summary}");
}

#[test]
fn campaign_hang_is_found_and_target_restarted() {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/servers/wedges.py");
    let target = ["python3", server.to_str().unwrap()];
    let summary = against(&["--seed", "1", "--cases", "100", "--timeout", &scaled(400)], &target, 1);
    assert_eq!((&summary["cases"], &summary["lost"]), (&100.into(), &Value::Null));
    let hangs = own(&summary, "hang");
    assert_eq!(hangs.len(), 1, "{summary}");
    assert_eq!(hangs[0]["command"], "Process/ResumeRuntime");
    // The least that it takes: 3 bytes of payload.
    assert_eq!(hangs[0]["minimised"]["message"], format!("{MAGIC}170004010000000000"));
    assert_eq!((&hangs[0]["known"], &hangs[0]["death"]), (&Value::Null, &Value::Null));
    assert_eq!(findings(&summary).len(), findings(&summary).iter().filter(|one| one["verdict"] == "hang").count());
}

/// It cannot be started again: what was found stays as it was, and the campaign is over.
#[test]
fn campaign_foreign_target_dies_once() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = Runtime::start(&["--profile", "coreclr-8", "--dies"], directory.path());
    let output = fuzz(&["--json", "--allow-harmful", "--rate", "1000", "--cases", "500", &runtime.socket], 3);
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [only] = findings(&summary) else { panic!("{summary}") };
    assert_eq!((&only["verdict"], &only["reproduced"]), (&"crash".into(), &Value::Null));
    assert_eq!(only["found"], only["minimised"]);
    assert!(summary["lost"].as_str().unwrap().starts_with("the target does not serve any more"), "{summary}");
}
