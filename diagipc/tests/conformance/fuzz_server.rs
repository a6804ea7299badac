//! `diagipc fuzz-server`: finds the faults planted in the reference runtime, minimises them,
//! repeats a campaign by its seed, and finds nothing in a correct server.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{ChildStdin, Output, Stdio};
use std::thread::{self, JoinHandle};

use dotnet_diagnostics_ipc_vectors::Value;

use crate::schema::Schema;
use crate::tool::{self, DIAGIPC};

/// `DOTNET_IPC_V1`, in hexadecimal.
const MAGIC: &str = "444f544e45545f4950435f563100";

#[track_caller]
fn fuzz(arguments: &[&str], status: i32) -> Output {
    let output = tool::diagipc().arg("fuzz-server").args(arguments).output().expect("it starts");
    let (text, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!errors.contains("panicked"), "{errors}");
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments:?}: {errors}{}",
        text.chars().take(4000).collect::<String>()
    );
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

/// The findings of this verdict.
fn own<'s>(summary: &'s Value, verdict: &str) -> Vec<&'s Value> {
    findings(summary).iter().filter(|one| one["verdict"] == verdict).collect()
}

/// A finding, and the requests of other commands with the same cause.
fn members(finding: &Value) -> Vec<&Value> {
    let further = finding["further"].as_array().expect("there is a list");
    std::iter::once(finding).chain(further).collect()
}

/// A server in Python, correct except for this fault.
fn one_fault(fault: &str) -> Vec<String> {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/servers/one_fault.py");
    vec!["python3".to_owned(), server.display().to_string(), fault.to_owned()]
}

/// The findings of a campaign against such a server.
#[track_caller]
fn of_one_fault(fault: &str, options: &[&str], status: i32) -> Value {
    let target = one_fault(fault);
    against(options, &target.iter().map(String::as_str).collect::<Vec<_>>(), status)
}

/// Plays the script of a finding to a new runtime.
#[track_caller]
fn replay(directory: &Path, finding: &Value, runtime: &[&str], status: i32) {
    let own = crate::tool::directory();
    let runtime = Runtime::start(runtime, own.path());
    let file = directory.join(format!("{}.json", finding["name"].as_str().unwrap()));
    let (mut replay, pid) = (tool::diagipc(), runtime.pid.to_string());
    replay
        .arg("replay")
        .arg(&file)
        .args(["--allow-harmful", "--to", &pid])
        .env("TMPDIR", own.path());
    let output = replay.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{said}");
}

/// A reference runtime that is already running, and is waited for.
struct Runtime {
    pid: u32,
    socket: String,
    stdin: Option<ChildStdin>,
    ended: Option<JoinHandle<()>>,
}

impl Runtime {
    fn start(arguments: &[&str], directory: &Path) -> Self {
        let mut command = tool::diagipc();
        command
            .args(["runtime", "--until-eof"])
            .args(arguments)
            .env("TMPDIR", directory)
            .current_dir(directory);
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
    let directory = crate::tool::directory();
    let started = directory.path().join("started");
    let output = fuzz(&["--spawn", "--", "touch", started.to_str().unwrap()], 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--allow-harmful"));
    assert!(!started.exists());
}

#[test]
fn campaign_missing_target_is_lost() {
    let directory = crate::tool::directory();
    fuzz(&["--allow-harmful", directory.path().join("none").to_str().unwrap()], 3);
    let summary = against(&[], &["false"], 3);
    assert!(summary["lost"].as_str().unwrap().contains("before it could be reached"), "{summary}");
    assert_eq!(summary["cases"], 0);
}

/// By cause and command. A name that does not exist is an error, a finding that is not met is none.
#[test]
#[ignore = "long: .ci/nightly long"]
fn campaign_with_known_findings_passes() {
    let directory = crate::tool::directory();
    let file = directory.path().join("known.toml");
    let known = file.to_str().unwrap();
    let target = runtime(&["--misbehave", "echo-payload"]);
    let some = ["--cases", "30", "--tries", "0"];
    let first = against(&[&some[..], &["--write-known", known]].concat(), &target, 1);
    assert!(!findings(&first).is_empty() && first["accepted"].as_array().unwrap().is_empty());
    let second = against(&[&some[..], &["--known", known]].concat(), &target, 0);
    let numbers = |summary: &Value| {
        findings(summary).iter().map(|one| one["number"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(second["accepted"].as_array(), Some(&numbers(&second)));
    // Others of the same seed: none has an entry that is gone.
    against(&["--first", "31", "--cases", "1", "--known", known], &runtime(&[]), 0);

    let mut text = fs::read_to_string(&file).unwrap();
    text += "no-such-fault = [\"Process/ProcessInfo\"]\n";
    fs::write(&file, text).unwrap();
    let stale = against(&[&some[..], &["--known", known]].concat(), &target, 1);
    assert_eq!(stale["stale"][0], "no-such-fault is not a fault of this suite", "{stale}");
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
    // From the middle of the other run.
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
#[ignore = "long: .ci/nightly long"]
fn campaign_death_is_found_and_minimised() {
    let directory = crate::tool::directory();
    let out = directory.path().to_str().unwrap();
    let deadly = ["--profile", "coreclr-8", "--misbehave", "dies-of-empty-payload"];
    let target = runtime(&deadly);
    let first = against(&["--seed", "1", "--cases", "150", "--out", out], &target, 1);
    let [only] = own(&first, "crash")[..] else { panic!("one cause is one finding: {first}") };
    let deaths = members(only);
    assert!(deaths.len() >= 3 && only["times"].as_u64() >= Some(3), "{first}");
    for death in &deaths {
        assert_eq!(death["death"], "was killed by signal 6");
        assert_eq!(
            (&death["known"]["fact"], &death["reproduced"]),
            (&"F-7".into(), &true.into()),
            "{death}"
        );
    }
    let commands: BTreeSet<_> =
        deaths.iter().map(|death| death["command"].as_str().unwrap()).collect();
    assert_eq!(commands.len(), deaths.len(), "each command has one request");
    let small = |one: &&&Value| {
        let message = one["minimised"]["message"].as_str().unwrap();
        message.len() == 40 && message.starts_with(&format!("{MAGIC}1400"))
    };
    let smallest = deaths.iter().find(small).expect("one comes down to an empty payload");
    assert!(deaths.iter().filter(small).count() >= 3, "{first}");

    let second = against(&["--seed", "1", "--cases", "150"], &target, 1);
    assert_eq!(findings(&first), findings(&second));
    assert_eq!(first["commands"], second["commands"]);

    // Each has its script and its text.
    let schema = Schema::at("../vectors/schema/exchanges.schema.json");
    for finding in findings(&first).iter().flat_map(members) {
        let name = finding["name"].as_str().unwrap();
        let script: Value = serde_json::from_slice(
            &fs::read(directory.path().join(format!("{name}.json"))).unwrap(),
        )
        .unwrap();
        assert_eq!(schema.objection(&script), None, "{name}");
        assert!(
            fs::read_to_string(directory.path().join(format!("{name}.txt")))
                .unwrap()
                .contains("command_id"),
            "{name}"
        );
    }
    // It kills a runtime with that fault, and no other.
    replay(directory.path(), smallest, &deadly, 0);
    replay(directory.path(), smallest, &["--profile", "coreclr-8"], 1);
}

#[test]
fn campaign_correct_server_no_findings() {
    let summary =
        against(&["--seed", "3", "--cases", "200"], &runtime(&["--profile", "strict"]), 0);
    assert_eq!(
        (&summary["cases"], &summary["starts"], &summary["lost"]),
        (&200.into(), &1.into(), &Value::Null)
    );
    assert_eq!(findings(&summary), [] as [Value; 0]);
}

#[test]
fn campaign_memory_leak_is_found() {
    let directory = crate::tool::directory();
    let arguments = ["--profile", "coreclr-8", "--misbehave", "echo-payload"];
    let out = ["--out", directory.path().to_str().unwrap()];
    let summary =
        against(&[&["--seed", "1", "--cases", "60"], &out[..]].concat(), &runtime(&arguments), 1);
    let [leak] = own(&summary, "leaked")[..] else { panic!("one cause is one finding: {summary}") };
    assert!(leak["times"].as_u64() >= Some(3), "{summary}");
    replay(directory.path(), leak, &arguments, 0);
    replay(directory.path(), leak, &["--profile", "coreclr-8"], 1);
    assert_eq!(leak["cause"], "leaked:not-canonical");
    for member in members(leak) {
        // One byte of payload, which is 0.
        let message = member["minimised"]["message"].as_str().unwrap();
        assert!(
            message.len() == 42
                && message.starts_with(&format!("{MAGIC}1500"))
                && message.ends_with("00"),
            "{message}"
        );
        assert_eq!(member["known"]["fact"], "F-71");
    }
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn campaign_open_connection_is_found() {
    let directory = crate::tool::directory();
    let arguments = ["--profile", "strict", "--misbehave", "error-without-close"];
    let out = ["--out", directory.path().to_str().unwrap()];
    let summary =
        against(&[&["--seed", "1", "--cases", "12"], &out[..]].concat(), &runtime(&arguments), 1);
    let open = own(&summary, "left-open");
    assert!(!open.is_empty(), "{summary}");
    replay(directory.path(), open[0], &arguments, 0);
    replay(directory.path(), open[0], &["--profile", "strict"], 1);
    assert!(open.iter().all(|one| one["reproduced"] == true), "{summary}");
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn campaign_hang_is_found_and_target_restarted() {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/servers/wedges.py");
    let target = ["python3", server.to_str().unwrap()];
    let summary = against(&["--seed", "1", "--cases", "100", "--timeout", "400"], &target, 1);
    assert_eq!((&summary["cases"], &summary["lost"]), (&100.into(), &Value::Null));
    let hangs = own(&summary, "hang");
    assert_eq!(hangs.len(), 1, "{summary}");
    assert_eq!(hangs[0]["cause"], "hang:not-canonical");
    assert_eq!(hangs[0]["command"], "Process/ResumeRuntime");
    // The least that it needs: 3 bytes of payload.
    assert_eq!(hangs[0]["minimised"]["message"], format!("{MAGIC}170004010000000000"));
    assert_eq!((&hangs[0]["known"], &hangs[0]["death"]), (&Value::Null, &Value::Null));
    assert_eq!(
        findings(&summary).len(),
        findings(&summary).iter().filter(|one| one["verdict"] == "hang").count()
    );
}

/// It cannot be started again: the finding stays unminimised, and the campaign ends.
#[test]
fn campaign_foreign_target_dies_once() {
    let directory = crate::tool::directory();
    let deadly = ["--profile", "coreclr-8", "--misbehave", "dies-of-empty-payload"];
    let runtime = Runtime::start(&deadly, directory.path());
    let output = fuzz(
        &["--json", "--allow-harmful", "--rate", "1000", "--cases", "500", &runtime.socket],
        3,
    );
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [only] = findings(&summary) else { panic!("{summary}") };
    assert_eq!((&only["verdict"], &only["reproduced"]), (&"crash".into(), &Value::Null));
    assert_eq!(only["found"], only["minimised"]);
    assert!(
        summary["lost"].as_str().unwrap().starts_with("the target no longer serves"),
        "{summary}"
    );
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn campaign_vanished_endpoint_is_not_a_hang() {
    let summary =
        of_one_fault("vanishes", &["--seed", "1", "--cases", "100", "--timeout", "400"], 1);
    assert_eq!((&summary["cases"], &summary["lost"]), (&100.into(), &Value::Null));
    let [only] = findings(&summary) else { panic!("{summary}") };
    assert_eq!(
        (&only["verdict"], &only["cause"]),
        (&"endpoint-gone".into(), &"endpoint-gone:not-canonical".into())
    );
    // The least that it needs: 3 bytes of payload.
    assert_eq!(only["minimised"]["message"], format!("{MAGIC}170004010000000000"));
    assert_eq!(
        (&only["known"], &only["death"], &only["reproduced"]),
        (&Value::Null, &Value::Null, &true.into())
    );
}

/// Each fault has exactly one cause, and a server without faults has none.
#[test]
#[ignore = "long: .ci/nightly long"]
fn campaign_each_wrong_reply_is_one_finding() {
    for (fault, cause, text) in [
        ("none", "", ""),
        ("reply-magic", "magic-wrong", "the magic is 444f544e45545f4950435f563200"),
        ("reply-size-too-large", "size-wrong", "size is 28, but the message has 24 bytes"),
        ("reply-size-too-small", "bytes-after-the-message", "8 bytes follow the reply"),
        ("reply-set", "reply-command-wrong", "(0x04, 0x00), expected Server/OK or Server/Error"),
        ("reply-id", "reply-command-wrong", "(0xff, 0x01), expected Server/OK or Server/Error"),
        ("reply-reserved", "reserved-not-zero", "reserved is 0x0001, expected 0x0000"),
        ("reply-shape", "payload-malformed", "the field needs 4 bytes, the payload has 2 left"),
    ] {
        let status = i32::from(!cause.is_empty());
        let summary =
            of_one_fault(fault, &["--seed", "1", "--cases", "60", "--tries", "8"], status);
        let causes: Vec<&str> =
            findings(&summary).iter().map(|one| one["cause"].as_str().unwrap()).collect();
        assert_eq!(
            causes,
            if cause.is_empty() { vec![] } else { vec![cause] },
            "{fault}: {summary}"
        );
        for finding in findings(&summary) {
            assert!(finding["text"].as_str().unwrap().contains(text), "{fault}: {finding}");
            // One finding covers all commands with the fault.
            assert!(
                members(finding).len() > 1 && finding["times"].as_u64() > Some(2),
                "{fault}: {finding}"
            );
        }
    }
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn campaign_unchecked_magic_is_found() {
    let summary = of_one_fault("magic-unchecked", &["--seed", "1", "--cases", "300"], 1);
    let [only] = findings(&summary) else { panic!("{summary}") };
    assert_eq!(
        (&only["verdict"], &only["cause"]),
        (&"unchecked".into(), &"magic-unchecked".into())
    );
    assert!(
        only["text"].as_str().unwrap().starts_with("an OK to a request whose magic is "),
        "{only}"
    );
    assert_eq!((&only["known"], &only["reproduced"]), (&Value::Null, &true.into()));
    // It is minimised to a header.
    let message = only["minimised"]["message"].as_str().unwrap();
    assert!(message.len() == 40 && !message.starts_with(MAGIC), "{message}");
}

#[test]
#[ignore = "long: .ci/nightly long"]
#[cfg(target_os = "linux")]
fn campaign_growing_memory_is_found_with_figures() {
    let summary = of_one_fault("leaks", &["--seed", "1", "--cases", "200"], 1);
    let [only] = findings(&summary) else { panic!("{summary}") };
    assert_eq!(
        (&only["verdict"], &only["cause"], &only["reproduced"]),
        (&"memory-growth".into(), &"memory-growth".into(), &true.into())
    );
    assert!(only["command"].as_str().unwrap().starts_with("EventPipe/"), "{only}");
    // 1 MiB for each request, measured with this request alone.
    let of = |key: &str| only["memory"][key].as_u64().unwrap();
    let each = (of("after") - of("before")) / of("requests");
    assert!((1000..1100).contains(&each) && of("requests") == 128, "{only}");
}

#[test]
fn campaign_text_counts_cases_by_cause() {
    let target = one_fault("reply-reserved");
    let target: Vec<&str> = target.iter().map(String::as_str).collect();
    let fixed =
        ["--allow-harmful", "--rate", "1000", "--cases", "60", "--tries", "0", "--spawn", "--"];
    let output = fuzz(&[&fixed[..], &target].concat(), 1);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("CAUSE  ")).collect();
    let [line] = lines[..] else { panic!("{text}") };
    assert!(
        line.starts_with("CAUSE  1 reserved-not-zero: ") && line.contains(" cases, by "),
        "{line}"
    );
    let (_, screen) = text.split_once("\nFAILED: 1 cause in ").unwrap_or_else(|| panic!("{text}"));
    for part in ["\n  sent by diagipc: request ", "\n  how to fix it: Write 0x0000 in bytes 18"] {
        assert!(screen.contains(part), "{part}: {text}");
    }
    // The finding is printed once.
    assert_eq!(text.matches("reserved is 0x0001, expected 0x0000").count(), 1, "{text}");
}

/// .NET 10 is known to die of many requests (F-72). That does not excuse a server that only has its
/// version text.
#[test]
fn campaign_version_text_alone_is_no_excuse() {
    let summary =
        of_one_fault("claims-to-be-net10", &["--seed", "1", "--cases", "60", "--tries", "16"], 1);
    assert_eq!(
        (&summary["runtime"], &summary["profile"]),
        (&".NET 10.0.9".into(), &"strict".into())
    );
    let [only] = findings(&summary) else { panic!("{summary}") };
    assert_eq!((&only["cause"], &only["known"]), (&"crash:not-canonical".into(), &Value::Null));
    // With a profile the user names the runtime, and of this request no such runtime died.
    let told = of_one_fault(
        "claims-to-be-net10",
        &["--seed", "1", "--cases", "60", "--tries", "0", "--profile", "coreclr-10"],
        1,
    );
    assert_eq!(
        (&told["profile"], &findings(&told)[0]["known"]),
        (&"coreclr-10".into(), &Value::Null)
    );
}
