//! How `diagipc client` judges a client by what it sends, does and prints. `client_detection` has
//! the planted faults.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use diagipc::client::{self, Operation, Operations};
use diagipc::embedded::{self, SCENARIOS};
use diagipc::faults::{Fault, SuiteName};
use diagipc::report::{KnownFaults, TurnDirection};
use diagipc::{Case, Grade, Report};
use dotnet_diagnostics_ipc_vectors::Value;
use dotnet_diagnostics_ipc_vectors::script::Plays;
use serde_json::json;
use tempfile::TempDir;

use crate::schema::Schema;
use crate::tool::{self, DIAGIPC, directory, errors, fixture, found, report, run, text};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
pub(crate) const CLIENT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/clients/client.py");

/// The report of a run with this file of operations. Its exit status must match its cases.
#[track_caller]
pub(crate) fn play_file(operations: &str, options: &[&str], only: &[&str]) -> Report {
    let mut command = tool::diagipc();
    command.args(["client", "--json", "--operations", operations]).args(options);
    let output = command.args(only.iter().flat_map(|glob| ["--only", glob])).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let report = Report::parse(&text(&output)).unwrap_or_else(|error| panic!("{error}: {errors}"));
    let fails = report.counts.fail > 0 || report.too_few_judged.is_some();
    assert_eq!(output.status.code(), Some(i32::from(fails)), "{errors}");
    report
}

/// A file of operations in `directory`, which replaces DIR in it.
fn written(directory: &TempDir, operations: &str) -> String {
    let file = directory.path().join("operations.toml").display().to_string();
    fs::write(&file, operations.replace("DIR", directory.path().to_str().unwrap())).unwrap();
    file
}

#[track_caller]
pub(crate) fn play(operations: &str, only: &[&str]) -> Report {
    let directory = directory();
    play_file(&written(&directory, operations), &[], only)
}

/// Returns an operation whose command line has these TOML words after those of `client.py`.
fn line(operation: &str, words: &str) -> String {
    format!(
        "[operations.{operation}]\ncommand = ['python3', '-IS', '{CLIENT}', '--patience', '60000', \
         '--pid', '{{pid}}', {words}]\n"
    )
}

/// All operations of `client.py`, with a fault.
pub(crate) fn faulty(fault: Option<Fault>) -> String {
    let fault = fault.map_or(String::new(), |fault| format!("\"--fault\", \"{}\", ", fault.name()));
    let text = fs::read_to_string(fixture("clients/client.toml")).unwrap();
    text.replace("\"CLIENT\"", &format!("'{CLIENT}'")).replace("FAULT\"--", &format!("{fault}\"--"))
}

#[track_caller]
fn all_pass(report: &Report) {
    let others: Vec<&Case> = report.cases.iter().filter(|case| case.grade != Grade::Pass).collect();
    assert!(others.is_empty(), "{others:#?}");
}

/// The grade of a case and its findings.
fn judged<'r>(report: &'r Report, name: &str) -> (Grade, Vec<&'r str>) {
    let case = tool::case(report, name);
    let found = case.detail.iter().flat_map(|detail| detail.found.iter().chain(&detail.about));
    (case.grade, found.map(String::as_str).collect())
}

/// The names of all scenarios.
fn scenarios() -> Vec<&'static str> {
    client::scenarios().unwrap().iter().map(|scenario| scenario.name.as_str()).collect()
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn client_without_fault_passes_all() {
    // Only root can give a socket to another user.
    let is_root = rustix::process::geteuid().is_root();
    let mut names = scenarios();
    names.retain(|name| is_root || !name.starts_with("discovery/other-owner/"));
    let report = play(&faulty(None), &names);
    all_pass(&report);
    assert_eq!(report.cases.len(), names.len());
}

/// `check` plays all of them.
#[test]
fn client_built_in_passes_a_twentieth() {
    let names: Vec<&str> = scenarios().into_iter().step_by(20).collect();
    all_pass(&play_file(&format!("{ROOT}/clients/diagipc.toml"), &[], &names));
}

/// A program that can be started with some tasks only says so with a status of its own; one that fails
/// whatever comes shows nothing by failing where it must.
#[test]
fn client_that_always_fails_passes_nothing() {
    let only = ["request/plain/resume", "reply/*/resume", "end/*/resume"];
    let ending = |status: u8| {
        play(
            &format!("[operations.resume]\ncommand = [\"sh\", \"-c\", \"exit {status}\"]\n"),
            &only,
        )
    };
    let counts = ending(1).counts;
    assert_eq!((counts.pass, counts.pass_lenient, counts.unimplemented), (0, 0, 0), "{counts:?}");
    let cannot = ending(77);
    assert_eq!(cannot.counts.unimplemented, cannot.cases.len(), "{:?}", cannot.counts);
    assert_eq!(found(&cannot.cases[0]), "it cannot do this: exit status 77");

    // This client sends its request but accepts no OK, so it has passed every refusal.
    let never_content = play(&faulty(Some(Fault::OkTakenForError)), &only);
    for name in ["reply/error/resume", "end/in-the-header/resume"] {
        assert_eq!(judged(&never_content, name).0, Grade::Informational, "{name}");
    }
    assert_eq!(tool::causes(&never_content)[0].0, "ok-taken-for-error");
}

/// What a client in any language gets: the files as exported, beside the schemas that they refer to.
#[test]
fn exported_scenarios_fit_their_schema_and_name_faults_of_clients() {
    let directory = directory();
    let to = directory.path();
    run(&["list", "vectors", "--export", to.to_str().unwrap()], b"", 0);
    let schema = Schema::at(to.join("schema/scenarios.schema.json").to_str().unwrap());
    let mut files = 0;
    for entry in fs::read_dir(to.join("clients/scenarios")).unwrap() {
        let path = entry.unwrap().path();
        let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(schema.objection(&file), None, "{}", path.display());
        let scenarios = file["scenarios"].as_array().unwrap();
        assert_eq!(file["numberOfScenarios"], scenarios.len());
        for scenario in scenarios {
            let suspects = scenario["suspects"].as_array().into_iter().flatten();
            let single =
                [&scenario["reveals"], &scenario["if_unsent"], &scenario["output"]["reveals"]];
            for name in suspects.chain(single).filter_map(Value::as_str) {
                assert!(Fault::of(SuiteName::Client).any(|fault| fault.name() == name), "{name}");
            }
        }
        let mut wrong = file;
        wrong["scenarios"][0]["steps"][0] = json!({ "on": "a", "request": null, "of": 1 });
        assert!(schema.objection(&wrong).is_some(), "an unknown key");
        files += 1;
    }
    let source = Path::new(ROOT).join("clients/scenarios");
    assert_eq!((files, fs::read_dir(source).unwrap().count()), (SCENARIOS.len(), files));
}

#[test]
fn scenarios_are_unique_and_cite_spec() {
    let scenarios = client::scenarios().unwrap();
    let names: BTreeSet<_> = scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
    assert_eq!(names.len(), scenarios.len());
    assert!(scenarios.len() >= 400, "{}", scenarios.len());
    for scenario in scenarios {
        assert!(!scenario.spec.is_empty() && scenario.name.starts_with(scenario.section()));
    }
    for operation in Operation::ALL {
        assert!(scenarios.iter().any(|scenario| scenario.operation == *operation), "{operation}");
    }
    // Every script that plays the runtime, except those that need something that no operation has.
    let mut left_out = Vec::new();
    for (file, scripts) in embedded::scripts().unwrap() {
        let runtime = scripts.scripts.iter().filter(|one| matches!(one.plays, Plays::Runtime(_)));
        let is_missing = |name: &&str| !names.contains(format!("{file}/{name}").as_str());
        left_out.extend(runtime.map(|script| script.name.as_str()).filter(is_missing));
    }
    left_out.sort_unstable();
    let expected = "environment-entry-at-the-limit environment-entry-over-the-limit \
        environment-over-the-limit-of-bytes environment-over-the-limit-of-entries \
        header-announces-65535 no-fallback-unless-told old-collect old-collect-refused \
        old-reply-cut old-start-to-a-file old-stop reply-larger-than-the-buffer \
        reply-that-fills-the-buffer stream-at-the-limit stream-over-the-limit \
        tool-port-reply-with-the-advertise";
    assert_eq!(left_out, expected.split_whitespace().collect::<Vec<_>>());
}

/// Returns the files `diagipc/clients/*.toml`. The names of files of known faults contain
/// `.known.`.
#[test]
fn client_files_of_project_parse_and_are_in_readme() {
    let readme = fs::read_to_string(Path::new(ROOT).join("clients/README.md")).unwrap();
    let (mut known, mut operations) = (0, 0);
    for entry in fs::read_dir(Path::new(ROOT).join("clients")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.extension() != Some(OsStr::new("toml")) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        if name.ends_with(".known.toml") {
            assert!(!KnownFaults::parse(name, &text).unwrap().is_empty(), "{name}");
            known += 1;
        } else {
            let read = Operations::parse(name, &text).unwrap();
            assert!(
                Operation::ALL.iter().any(|operation| read.get(*operation).is_some()),
                "{name}"
            );
            operations += 1;
        }
        let row = format!("| `{name}` |");
        assert!(readme.lines().any(|line| line.starts_with(&row)), "{row}");
    }
    assert!(operations >= 6 && known > 0, "{operations} {known}");
}

/// The limits of a line, of the file if the line has none, and of both kinds if one is absent.
#[test]
fn operation_deadline_overrides_file_deadline() {
    let both = "timeout_ms = 5000\ndeadline_ms = 8000\n[operations.resume]\ncommand = 'x'\n";
    for (text, expected) in [
        (both.to_owned(), (5000, Some(8000))),
        (format!("{both}timeout_ms = 100\ndeadline_ms = 200\n"), (100, Some(200))),
        // It is also the limit for each byte.
        (both.replace("timeout_ms = 5000\n", ""), (8000, Some(8000))),
        ("[operations.resume]\ncommand = 'x'\n".to_owned(), (10_000, None)),
    ] {
        let operations = Operations::parse("x.toml", &text).unwrap();
        let line = operations.get(Operation::Resume).unwrap();
        let deadline = line.deadline.map(|deadline| deadline.as_millis());
        assert_eq!((line.patience.as_millis(), deadline), expected, "{text}");
    }
}

/// The whole reply takes longer than a client waits for it, but no single byte does.
#[test]
fn deadline_ms_limits_whole_reply() {
    let slow = "replies/reply-in-bytes";
    let play = |limits: &str| {
        let process_info = line("process-info", "'process-info', '{command}'");
        play(&format!("{limits}\n{process_info}output = 'process-info'\n"), &[slow])
    };
    let report = play("timeout_ms = 20000\ndeadline_ms = 100");
    let (grade, found) = judged(&report, slow);
    assert_eq!(grade, Grade::Unimplemented, "{found:?}");
    let ends = " ms in total, but the client waits 100 ms for the whole reply";
    assert!(found[0].starts_with("the runtime takes ") && found[0].ends_with(ends), "{found:?}");
    // The same limit for each byte alone.
    all_pass(&play("timeout_ms = 20000"));
}

/// The client waits very long for a byte that never arrives, but its file gives 300 ms for the whole
/// reply.
#[test]
#[ignore = "long: .ci/nightly long"]
fn deadline_ms_alone_limits_silence() {
    // This is how long the suite waits for a client without limits in its file.
    const DEFAULT_MS: u32 = 10_000;
    let resume = format!("deadline_ms = 300\n{}", line("resume", "'resume'"));
    let report = play(&resume.replace("60000", "200000"), &["silence/at-once/resume"]);
    assert_eq!(tool::causes(&report), [("no-read-timeout", 1)]);
    let (_, found) = judged(&report, "silence/at-once/resume");
    let after = found.iter().find_map(|line| {
        let after = line.strip_prefix("it still keeps the connection open after ")?;
        after.split(' ').next()?.parse::<u32>().ok()
    });
    assert!(after.is_some_and(|after| after < DEFAULT_MS), "{found:?}");
}

/// An operation that is not defined is left out with a note, and fails if it is required.
#[test]
fn client_missing_operation_is_left_out_or_required() {
    let directory = directory();
    let fixed = written(&directory, &line("set-env", "'set-env', 'FIXED', '{value}'"));
    let seen = play_file(&fixed, &[], &["text/latin/set-env/*", "request/plain/resume"]);
    let grades: Vec<_> = seen.cases.iter().map(|case| (case.name.as_str(), case.grade)).collect();
    let [value, name] = ["text/latin/set-env/value", "text/latin/set-env/name"];
    assert_eq!(grades, [(value, Grade::Pass), (name, Grade::Unimplemented)]);
    let note = "1 of 16 operations are defined: set-env; 1 scenarios of the others were not played";
    assert!(seen.notes.iter().any(|one| one == note), "{:?}", seen.notes);

    let only = ["client", "--operations", &fixed, "--only", "request/plain/resume"];
    let said = errors(&only, 2);
    assert!(said.contains("1 of 16 operations are defined: set-env"), "{said}");
    let required = report(&[&only[..], &["--require", "resume"]].concat(), 1);
    assert_eq!(found(&required.cases[0]), "it is required; no operation resume is defined");
}

/// Another process that connects without a request does not show that the client has connected.
#[test]
#[ignore = "long: .ci/nightly long"]
fn client_idle_or_endless_fails_in_time() {
    let directory = directory();
    let text = "timeout_ms = 100\n[operations]\nresume.command = 'true'\ntrace.command = 'false'\n\
         perf-map-off.command = ['sh', '-c', 'echo {socket} >DIR/socket; exec sleep 100000']\n\
         environment.command = ['sh', '-c', 'kill -9 $$']\n";
    let other = stranger(&directory, drop);
    let report = play_file(&written(&directory, text), &[], &["request/plain/*"]);
    other.join().unwrap();
    assert_eq!(report.counts.fail, 4, "{report:#?}");
    for (name, said) in [
        ("resume", "it ends without connecting"),
        // It never asked anything, so it lacks nothing.
        ("trace", "it ends without connecting"),
        ("perf-map-off", "it may not have started yet, as no client of this run"),
        ("environment", "signal: 9"),
    ] {
        let (_, found) = judged(&report, &format!("request/plain/{name}"));
        assert!(found.iter().any(|line| line.contains(said)), "{name}: {found:?}");
    }
}

/// A client may list processes, which asks for information, and then end or wait.
#[test]
#[ignore = "long: .ci/nightly long"]
fn client_that_only_asks_is_told_so() {
    let directory = directory();
    let asks = format!("\"{DIAGIPC}\" call --pid {{pid}} process-info");
    let text = format!(
        "timeout_ms = 100\n[operations]\nresume.command = ['sh', '-c', '{asks}']\n\
         perf-map-off.command = ['sh', '-c', '{asks}; exec sleep 100000']\n"
    );
    let report = play_file(&written(&directory, &text), &[], &["request/plain/*"]);
    for name in ["resume", "perf-map-off"] {
        let (_, found) = judged(&report, &format!("request/plain/{name}"));
        let said = "it asks only for information, and never sends the request of its task";
        assert_eq!(found[0], said, "{name}: {found:?}");
    }
}

/// Commands of a client that waits until the socket was asked by a stranger.
const UNTIL_ASKED: &str = "echo {socket} >DIR/socket; until [ -e DIR/asked ]; do sleep 0.01; done";

/// Connects to the socket whose path a client writes in the directory, does something, and says so.
fn stranger<T: Send + 'static>(
    directory: &TempDir,
    does: impl FnOnce(UnixStream) -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let [written, asked] = ["socket", "asked"].map(|name| directory.path().join(name));
    thread::spawn(move || {
        let end = Instant::now() + Duration::from_secs(60);
        let path = loop {
            match fs::read_to_string(&written) {
                Ok(path) if path.ends_with('\n') => break path,
                _ => assert!(Instant::now() < end, "the client does not start"),
            }
            thread::sleep(Duration::from_millis(5));
        };
        let did = does(UnixStream::connect(path.trim_end()).unwrap());
        fs::write(asked, "").unwrap();
        did
    })
}

/// An operation done by `client.py` after the shell has run `before`, and before it runs `after`.
fn beside(operation: &str, words: &str, before: &str, after: &str) -> String {
    format!(
        "[operations.{operation}]\ncommand = ['sh', '-c', '''cd DIR; {before}; python3 -IS \
         \"{CLIENT}\" --patience 60000 --pid {{pid}} {words}; status=$?; {after}; exit $status''']\n"
    )
}

/// A stranger asks for the process info, as `diagipc ps` does: what it sends is not the client's,
/// even if the client sends the same.
#[test]
#[cfg(target_os = "linux")]
fn what_a_stranger_asks_is_none_of_the_clients_bytes() {
    let asks = |mut socket: UnixStream| {
        socket.write_all(b"DOTNET_IPC_V1\0\x14\0\x04\x08\0\0").unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        answer
    };
    for (operation, words, scenario, request) in [
        ("resume", "resume", "request/plain/resume", &b"\x14\0\x04\x01\0\0"[..]),
        (
            "process-info",
            "process-info {command}",
            "replies/process-info2-generic-ok",
            b"\x14\0\x04\x04\0\0",
        ),
    ] {
        let directory = directory();
        let file = written(&directory, &beside(operation, words, UNTIL_ASKED, "true"));
        let stranger = stranger(&directory, asks);
        let report = play_file(&file, &[], &[scenario]);
        assert!(stranger.join().unwrap().starts_with(b"DOTNET_IPC_V1\0"), "it is answered");
        all_pass(&report);
        let detail = report.cases[0].detail.as_ref().unwrap();
        assert!(!detail.about.iter().any(|line| line.starts_with("note")), "{:?}", detail.about);
        // The report of a passing case has the conversation.
        let turns = detail.turns().unwrap();
        let received = turns.iter().filter(|turn| turn.direction == TurnDirection::Received);
        let received: Vec<u8> = received.flat_map(|turn| turn.bytes.clone()).collect();
        assert_eq!(received, [b"DOTNET_IPC_V1\0", request].concat());
    }
}

/// Nor is its connection, where the client may connect and send nothing.
#[test]
#[cfg(target_os = "linux")]
fn connection_of_a_stranger_is_not_the_clients() {
    let directory = directory();
    let odd = fixture("clients/odd.py");
    let text = format!(
        "[operations.startup-hook]\ncommand = ['sh', '-c', '''{UNTIL_ASKED}; \
         python3 -IS \"{odd}\" less-than-a-size {{socket}}''', '{{path}}']\n{}",
        // Whoever looks for processes connects, too.
        beside("resume", "resume", "python3 -IS probe.py {socket}", "true")
    );
    let probe = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";
    fs::write(directory.path().join("probe.py"), probe).unwrap();
    let stranger = stranger(&directory, drop);
    let only = ["size/one-too-long/startup-hook", "request/*/resume", "reply/*/resume"];
    let report = play_file(&written(&directory, &text), &[], &only);
    stranger.join().unwrap();
    let (_, found) = judged(&report, only[0]);
    let said = "it sends 10 bytes, and the size field is missing";
    assert!(found.iter().any(|line| line.ends_with(said)), "{found:?}");
    assert_eq!((report.counts.pass, report.counts.fail), (report.cases.len() - 1, 1));
    assert!(report.counts.pass > 5, "{:?}", report.counts);
}

#[test]
fn client_jobs_are_a_bound_of_silent_scenarios_too() {
    let directory = directory();
    let resume = beside("resume", "resume", "mkdir lock || touch two", "rmdir lock");
    let text = format!("timeout_ms = 300\n{}", resume.replace("60000", "300"));
    let only = ["silence/*/resume", "request/plain/resume"];
    let report = play_file(&written(&directory, &text), &["--jobs", "1"], &only);
    assert!(report.cases.len() > 2, "{:?}", report.counts);
    assert!(!directory.path().join("two").exists(), "two clients ran at a time");
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn client_late_once_is_played_again_by_itself() {
    let resume = beside("resume", "resume", "true", "mkdir once && sleep 1000");
    let report = play(&format!("timeout_ms = 300\n{resume}"), &["request/plain/resume"]);
    all_pass(&report);
    // Meanwhile others may ask the process too: that is noted as well.
    let note = "request/plain/resume: passed only at the second try; the first: ";
    let is_told = |text: &String| text.starts_with(note) && text.contains("it still ran after");
    assert!(report.notes.iter().any(is_told), "{:?}", report.notes);
}

/// A byte of the request stays unread, so that the client meets an error of reading and not an end.
#[test]
fn stream_reset_behind_the_stop_is_a_reset() {
    let directory = directory();
    let words = "trace Provider 1 4 \"\" 250 2147615033 true \"\" 0 CollectTracing2 {duration_ms} \
                 {output} 2>said";
    let trace = beside("trace", words, "true", "true") + "output = 'stream'\n";
    all_pass(&play_file(
        &written(&directory, &trace),
        &[],
        &["streams/stream-reset-behind-the-stop"],
    ));
    let said = fs::read_to_string(directory.path().join("said")).unwrap();
    assert!(said.contains("Connection reset by peer"), "{said}");
}

#[test]
fn client_command_without_file_is_trace() {
    let client =
        ["client", "--timeout", "60000", "--only", "request/plain/*", "--", "python3", "-IS"];
    let words = "--pid {pid} trace {provider} {keywords} {level} {arguments} 250 {rundown} true";
    let rest = ["", "0", "CollectTracing4", "{duration_ms}", "{output}"];
    let words: Vec<&str> = words.split(' ').collect();
    let report = report(&[&client[..], &[CLIENT], &words, &rest].concat(), 0);
    let passed = report.cases.iter().filter(|case| case.grade == Grade::Pass);
    let passed: Vec<_> = passed.map(|case| case.group.as_str()).collect();
    assert_eq!((passed, report.counts.unimplemented), (vec!["trace"], report.cases.len() - 1));
}

#[test]
fn client_usage_error_starts_nothing() {
    let directory = directory();
    let file = written(&directory, "[operations.resume]\ncommand = 'x {nothing}'\n");
    for (arguments, said) in [
        (&["--operations", &file][..], "operations.toml, line 2: unknown placeholder nothing"),
        (&["--operations", "/no/such/file"], "/no/such/file"),
        (&["--list", "--only", "nothing-is-called-so"], "no case matches nothing-is-called-so"),
        (&["--only", "*"], "--operations"),
        (&["--", "x", "{name}"], "trace has no {name}"),
        // There is one error, not one for each scenario.
        (
            &["--", "no-such-program-anywhere"],
            "trace cannot be started: the program no-such-program-anywhere was not found",
        ),
    ] {
        let shown = errors(&[&["client"], arguments].concat(), 2);
        assert!(shown.contains(said), "{arguments:?}: {shown}");
    }
}

/// An older runtime is not asked what it does not know.
#[test]
fn client_scenarios_are_listed_by_profile() {
    let listed = |profile: &str| {
        let output = run(&["client", "--list", "--profile", profile], b"", 0);
        text(&output).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (old, new) = (listed("coreclr-3.1"), listed("strict"));
    assert!(old.len() >= 100 && new.len() >= 400, "{} of {}", old.len(), new.len());
    let has = |list: &[String]| list.iter().any(|name| name.contains("/process-info"));
    assert!(has(&new) && !has(&old), "ProcessInfo came with .NET 5");
    assert!(old.iter().all(|name| new.contains(name)));
}

/// A command line of `odd.py`.
fn odd(operation: &str, what: &str, more: &str) -> String {
    let client = fixture("clients/odd.py");
    format!(
        "[operations.{operation}]\ncommand = ['python3', '-IS', '{client}', '{what}', '{{socket}}', {more}]\n"
    )
}

#[test]
fn client_missing_or_surplus_bytes_are_reported() {
    let play = |lines: &[String], only: &[&str]| {
        play(&format!("timeout_ms = 1000\n{}", lines.concat()), only)
    };
    let first = play(
        &[
            odd("resume", "nothing-sent", ""),
            odd("perf-map-off", "more-behind", ""),
            odd("environment", "half-a-header", ""),
            odd("startup-hook", "rubbish", "'{path}'"),
            odd("process-info", "no-file", "'{output}'") + "output = 'process-info'\n",
            "[operations.listen-port]\ncommand = 'true'\n".to_owned(),
        ],
        &[
            "request/plain/*",
            "replies/process-info2-reply",
            "size/one-too-long/startup-hook",
            "tool_ports/tool-port",
        ],
    );
    let second = play(
        &[odd("resume", "more-while-waiting", ""), odd("perf-map-off", "more-after-the-reply", "")],
        &["silence/at-once/resume", "reply/ok-20/perf-map-off"],
    );
    let hook = "size/one-too-long/startup-hook";
    let no_file = "it writes no output file: No such file or directory (os error 2)";
    for (report, name, said) in [
        (&first, "request/plain/resume", "it connects, and sends no request"),
        (&first, "request/plain/perf-map-off", "3 bytes after the request: 616263"),
        (&first, "request/plain/environment", "only 9 bytes of a header received"),
        (&first, hook, "it sends 30 bytes, and the size field is 30840"),
        (&first, "replies/process-info2-reply", no_file),
        (&second, "silence/at-once/resume", "it sends 5 bytes 6875727279 on that connection"),
        (&second, "reply/ok-20/perf-map-off", "it sends more: 6 bytes 7468616e6b73"),
    ] {
        let (grade, found) = judged(report, name);
        assert!(grade == Grade::Fail && found.contains(&said), "{name}: {found:?}");
        let shown = |line: &&str| line.starts_with("command line: python3 … /");
        assert!(found.iter().any(shown), "{name}: {found:?}");
    }
    let (grade, at_a_port) = judged(&first, "tool_ports/tool-port");
    assert_eq!((grade, at_a_port[0]), (Grade::Fail, "it does not listen at its port"));
}

/// A client whose command cannot be chosen is judged by what it asks.
#[test]
fn client_other_command_is_answered_as_runtime() {
    let fixed = |command: &str, more: &str| {
        format!(
            "[operations.process-info]\ncommand = ['sh', '-c', 'exec python3 -IS \"$0\" --patience \
             60000 --pid $1 process-info {command}', '{CLIENT}', '{{pid}}'{more}]\n"
        )
    };
    let plain = "request/plain/process-info";
    // The runtime does not support it, so the client asks again.
    let newer = play(&fixed("ProcessInfo3", ""), &[plain]);
    assert_eq!(judged(&newer, plain), (Grade::Pass, vec![]));
    // The script has an older one later, on another connection; or it has none.
    let scripts = [
        "fallback/fallback-process-info-3-to-2",
        "fallback/fallback-process-info-3-to-1",
        "replies/process-info3-reply",
    ];
    let older = play(&fixed("ProcessInfo2", ""), &scripts);
    // It never asked the newer one, so it shows no fallback.
    let at_once = "it sends the older command first: there is nothing to fall back from";
    assert_eq!(judged(&older, scripts[0]), (Grade::Unimplemented, vec![at_once]));
    assert_eq!(judged(&older, scripts[1]).0, Grade::Pass);
    let lacks = "it sends Process/ProcessInfo2, not Process/ProcessInfo3";
    assert_eq!(judged(&older, scripts[2]), (Grade::Unimplemented, vec![lacks]));
    // The client is given the command, but does not use it.
    let told = play(&fixed("ProcessInfo", ", '{command}'"), &scripts[2..]);
    let (grade, said) = judged(&told, scripts[2]);
    let wrong = "it sends Process/ProcessInfo, expected Process/ProcessInfo3";
    assert_eq!((grade, said[0]), (Grade::Fail, wrong));
}

/// It does not wait for a late reply, and asks `ProcessInfo3` alone; it starts in its own directory.
#[test]
fn client_missing_ability_is_unimplemented() {
    let directory = directory();
    let once = "import os, socket; s = socket.socket(socket.AF_UNIX); s.connect(open('where').read()); \
                s.sendall(b'DOTNET_IPC_V1\\0\\x14\\0\\x04\\x08\\0\\0'); s.recv(99); os._exit(1)";
    fs::write(directory.path().join("once.py"), once).unwrap();
    let text = "timeout_ms = 50\n[operations.resume]\ncommand = 'true'\n\
        [operations.process-info]\ncwd = 'DIR'\ntimeout_ms = 60000\ncommand = ['sh', '-c', \
        'printf %s \"$0\" > where && exec python3 -IS once.py', '{socket}', '{command}']\n";
    let late = ["replies/reply-late", "fallback/fallback-process-info-3-to-2"];
    let report = play_file(&written(&directory, text), &[], &late);
    let (grade, said) = judged(&report, late[0]);
    assert_eq!(grade, Grade::Unimplemented);
    assert!(said[0].ends_with("ms, but the client waits 50 ms"), "{said:?}");
    let no_older = "it sends no older command after UNKNOWN_COMMAND";
    assert_eq!(judged(&report, late[1]), (Grade::Unimplemented, vec![no_older]));
}
