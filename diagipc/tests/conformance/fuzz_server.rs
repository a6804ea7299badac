//! `diagipc fuzz-server`: finds the faults planted in the reference runtime, minimises them,
//! repeats a campaign by its seed, and finds nothing in a correct server.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use dotnet_diagnostics_ipc_vectors::Value;

use crate::schema::Schema;
use crate::tool::{self, DIAGIPC, Runtime, directory, errors, fixture, run, text};

/// `DOTNET_IPC_V1`, in hexadecimal.
const MAGIC: &str = "444f544e45545f4950435f563100";

/// The summary of a campaign against a target that it starts itself.
#[track_caller]
fn against(options: &[&str], target: &[&str], status: i32) -> Value {
    let fixed = ["fuzz-server", "--json", "--allow-harmful", "--rate", "1000"];
    let output = run(&[&fixed[..], options, &["--spawn", "--"], target].concat(), b"", status);
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// A campaign against a server in Python that is correct except for this fault.
#[track_caller]
fn of_one_fault(fault: &str, options: &[&str], status: i32) -> Value {
    let server = fixture("servers/one_fault.py");
    against(&[&["--seed", "1"], options].concat(), &["python3", &server, fault], status)
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

/// Plays the script of a finding to a new runtime.
#[track_caller]
fn replay(directory: &Path, finding: &Value, options: &[&str], status: i32) {
    let runtime = Runtime::start(options);
    let file = directory.join(format!("{}.json", finding["name"].as_str().unwrap()));
    let mut replay = tool::diagipc();
    replay.arg("replay").arg(&file).args(["--allow-harmful", "--to", &runtime.pid()]);
    replay.env("TMPDIR", runtime.home.path());
    tool::run_command(replay, b"", status);
}

/// Nothing is sent without permission, and a missing target is lost.
#[test]
fn campaign_without_permission_or_target_does_nothing() {
    let directory = directory();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let said = errors(&["fuzz-server", "--spawn", "--", "touch", &path("started")], 2);
    assert!(said.contains("--allow-harmful"), "{said}");
    assert!(!fs::exists(path("started")).unwrap());
    errors(&["fuzz-server", "--allow-harmful", &path("none")], 3);
    let summary = against(&[], &["false"], 3);
    assert!(summary["lost"].as_str().unwrap().contains("before it could be reached"), "{summary}");
    assert_eq!(summary["cases"], 0);
}

/// By cause and command. A name that does not exist is an error, a finding that is not met is none.
#[test]
#[ignore = "long: .ci/nightly long"]
fn campaign_with_known_findings_passes() {
    let directory = directory();
    let known = directory.path().join("known.toml").display().to_string();
    let target = runtime(&["--misbehave", "echo-payload"]);
    let some = ["--cases", "30", "--tries", "0"];
    let first = against(&[&some[..], &["--write-known", &known]].concat(), &target, 1);
    assert!(!findings(&first).is_empty() && first["accepted"].as_array().unwrap().is_empty());
    let second = against(&[&some[..], &["--known", &known]].concat(), &target, 0);
    let numbers: Vec<Value> = findings(&second).iter().map(|one| one["number"].clone()).collect();
    assert_eq!(second["accepted"].as_array(), Some(&numbers));
    // Other cases of the same seed are played, none of which has an entry that is gone.
    against(&["--first", "31", "--cases", "1", "--known", &known], &runtime(&[]), 0);
    let stale = fs::read_to_string(&known).unwrap() + "no-such-fault = [\"Process/ProcessInfo\"]\n";
    fs::write(&known, stale).unwrap();
    let stale = against(&[&some[..], &["--known", &known]].concat(), &target, 1);
    assert_eq!(stale["stale"][0], "no-such-fault is not a fault of this suite", "{stale}");
}

#[test]
fn campaign_same_seed_same_cases() {
    let list = |options: &[&str]| {
        let output = run(&[&["fuzz-server", "--list"], options].concat(), b"", 0);
        text(&output).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = list(&["--seed", "7", "--cases", "300"]);
    assert_eq!(all.len(), 300);
    assert_eq!(list(&["--seed", "7", "--cases", "300"]), all);
    // These cases begin in the middle of the other run.
    assert_eq!(list(&["--seed", "7", "--first", "201", "--cases", "100"]), all[200..]);
    let other = list(&["--seed", "8", "--cases", "300"]);
    assert!(all.iter().zip(&other).filter(|(one, other)| one == other).count() < 10);
    let words = "count number boolean units empty-string long-string duplicate-item missing-item \
        foreign-item missing-field noise cut empty-payload extra-bytes other-command header size \
        cut-short bytes-behind none whole pieces half-close leave";
    let all = list(&["--cases", "3000"]);
    for name in words.split_whitespace() {
        assert!(all.iter().any(|line| line.split("  ").any(|word| word == name)), "{name}");
    }
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn campaign_death_is_found_and_minimised() {
    let directory = directory();
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

    // Each finding has a script and a text.
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
    // The script kills a runtime with that fault, and no other runtime.
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
#[ignore = "long: .ci/nightly long"]
#[cfg(target_os = "linux")]
fn campaign_growing_memory_is_found_with_figures() {
    let summary = of_one_fault("leaks", &["--cases", "200"], 1);
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

/// A finding has a script that shows it again in a runtime with that fault, and in no other.
#[test]
fn campaign_memory_leak_is_found() {
    let directory = directory();
    let arguments = ["--profile", "coreclr-8", "--misbehave", "echo-payload"];
    let out = ["--seed", "1", "--cases", "60", "--out", directory.path().to_str().unwrap()];
    let summary = against(&out, &runtime(&arguments), 1);
    let [leak] = own(&summary, "leaked")[..] else { panic!("one cause is one finding: {summary}") };
    assert!(leak["times"].as_u64() >= Some(3), "{summary}");
    replay(directory.path(), leak, &arguments, 0);
    replay(directory.path(), leak, &["--profile", "coreclr-8"], 1);
    assert_eq!(leak["cause"], "leaked:not-canonical");
    for member in members(leak) {
        // One byte of payload, which is 0.
        let message = member["minimised"]["message"].as_str().unwrap();
        let is_least = message.len() == 42 && message.ends_with("00");
        assert!(is_least && message.starts_with(&format!("{MAGIC}1500")), "{message}");
        assert_eq!(member["known"]["fact"], "F-71");
    }
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn campaign_open_connection_is_found() {
    let arguments = ["--profile", "strict", "--misbehave", "error-without-close"];
    let summary = against(&["--seed", "1", "--cases", "12"], &runtime(&arguments), 1);
    let open = own(&summary, "left-open");
    assert!(!open.is_empty() && open.iter().all(|one| one["reproduced"] == true), "{summary}");
}

/// A target that hangs, or whose endpoint is gone, is started again, and its requests are minimised:
/// 3 bytes of payload, or a header.
#[test]
#[ignore = "long: .ci/nightly long"]
fn campaign_hang_is_found_and_target_restarted() {
    for (fault, cases, verdict, cause) in [
        ("wedges", "100", "hang", "hang:not-canonical"),
        ("vanishes", "100", "endpoint-gone", "endpoint-gone:not-canonical"),
        ("magic-unchecked", "300", "unchecked", "magic-unchecked"),
    ] {
        let summary = of_one_fault(fault, &["--cases", cases, "--timeout", "400"], 1);
        assert_eq!(summary["lost"], Value::Null);
        let [only] = findings(&summary) else { panic!("{summary}") };
        assert_eq!((&only["verdict"], &only["cause"]), (&verdict.into(), &cause.into()));
        assert_eq!((&only["known"], &only["death"]), (&Value::Null, &Value::Null));
        assert_eq!(only["reproduced"], true, "{only}");
        let message = only["minimised"]["message"].as_str().unwrap();
        if verdict == "unchecked" {
            assert!(message.len() == 40 && !message.starts_with(MAGIC), "{message}");
        } else {
            assert_eq!(message, format!("{MAGIC}170004010000000000"));
        }
    }
}

/// It cannot be started again: the finding stays unminimised, and the campaign ends.
#[test]
fn campaign_foreign_target_dies_once() {
    let deadly = ["--profile", "coreclr-8", "--misbehave", "dies-of-empty-payload"];
    let runtime = Runtime::start(&deadly);
    let fuzz = ["fuzz-server", "--json", "--allow-harmful", "--rate", "1000", "--cases", "500"];
    let output = run(&[&fuzz[..], &[&runtime.socket]].concat(), b"", 3);
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [only] = findings(&summary) else { panic!("{summary}") };
    assert_eq!((&only["verdict"], &only["reproduced"]), (&"crash".into(), &Value::Null));
    assert_eq!(only["found"], only["minimised"]);
    let lost = summary["lost"].as_str().unwrap();
    assert!(lost.starts_with("the target no longer serves"), "{summary}");
}

/// Each fault has exactly one cause, which covers all commands with the fault, and a server without
/// faults has none.
#[test]
#[ignore = "long: .ci/nightly long"]
fn campaign_each_wrong_reply_is_one_finding() {
    let options = ["--cases", "60", "--tries", "8"];
    assert_eq!(findings(&of_one_fault("none", &options, 0)), [] as [Value; 0]);
    for (fault, cause, text) in [
        ("reply-magic", "magic-wrong", "the magic is 444f544e45545f4950435f563200"),
        ("reply-size-too-large", "size-wrong", "size is 28, but the message has 24 bytes"),
        ("reply-size-too-small", "bytes-after-the-message", "8 bytes follow the reply"),
        ("reply-shape", "payload-malformed", "the field needs 4 bytes, the payload has 2 left"),
    ] {
        let summary = of_one_fault(fault, &options, 1);
        let [only] = findings(&summary) else { panic!("{fault}: {summary}") };
        assert_eq!(only["cause"], cause);
        assert!(only["text"].as_str().unwrap().contains(text), "{fault}: {only}");
        assert!(members(only).len() > 1 && only["times"].as_u64() > Some(2), "{fault}: {only}");
    }
}

#[test]
fn campaign_text_counts_cases_by_cause() {
    let server = fixture("servers/one_fault.py");
    let fuzz =
        ["fuzz-server", "--allow-harmful", "--rate", "1000", "--cases", "60", "--tries", "0"];
    let target = ["--spawn", "--", "python3", &server, "reply-reserved"];
    let text = text(&run(&[&fuzz[..], &target].concat(), b"", 1));
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("CAUSE  ")).collect();
    let [line] = lines[..] else { panic!("{text}") };
    let begins = "CAUSE  1 reserved-not-zero: ";
    assert!(line.starts_with(begins) && line.contains(" cases, by "), "{line}");
    let (_, screen) = text.split_once("\nFAILED: 1 cause in ").unwrap_or_else(|| panic!("{text}"));
    for part in ["\n  sent by diagipc: request ", "\n  how to fix it: Write 0x0000 in bytes 18"] {
        assert!(screen.contains(part), "{part}: {text}");
    }
    // The finding is printed once.
    assert_eq!(text.matches("reserved is 0x0001, expected 0x0000").count(), 1, "{text}");
}

/// .NET 10 is known to die of many requests (F-72). That does not excuse a server that only has its
/// version text, nor one whose user names the runtime, as no such runtime died of this request.
#[test]
fn campaign_version_text_alone_is_no_excuse() {
    for (options, profile, runtime) in [
        (&["--tries", "16"][..], "strict", "version 10.0.9"),
        (&["--tries", "0", "--profile", "coreclr-10"], "coreclr-10", ".NET 10.0.9"),
    ] {
        let options = [&["--cases", "60"], options].concat();
        let summary = of_one_fault("claims-to-be-net10", &options, 1);
        let is = (&summary["runtime"], &summary["profile"]);
        assert_eq!(is, (&runtime.into(), &profile.into()));
        let first = &findings(&summary)[0];
        assert_eq!(
            (&first["cause"], &first["known"]),
            (&"crash:not-canonical".into(), &Value::Null)
        );
    }
}
