//! `diagipc client`: a faultless client passes, one with a fault fails with the fault's name, and
//! the crate's own client passes.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use diagipc::client::{self, Operation};
use diagipc::embedded::{self, SCENARIOS};
use diagipc::faults::{Fault, Suite};
use diagipc::report::TurnDirection;
use diagipc::{Case, Grade, Report};
use dotnet_diagnostics_ipc_vectors::Value;
use dotnet_diagnostics_ipc_vectors::script::Plays;
use serde_json::json;
use tempfile::TempDir;

use crate::schema::Schema;
use crate::tool;
use crate::tool::DIAGIPC;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/clients").join(name)
}

fn diagipc(arguments: &[&str]) -> Output {
    tool::diagipc().arg("client").args(arguments).output().unwrap()
}

/// `client.py`, compiled once: it is started hundreds of times.
fn compiled() -> &'static Path {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("client.pyc");
        let compile =
            "import py_compile, sys; py_compile.compile(sys.argv[1], sys.argv[2], doraise=True)";
        let status = tool::python()
            .args(["-IS", "-c", compile])
            .args([&fixture("client.py"), &path])
            .status();
        assert!(status.unwrap().success());
        path
    })
}

/// The file that describes `client.py`, with one of its faults. The names of the faults:
/// `client_detection.rs`.
fn python(directory: &TempDir, fault: Option<Fault>) -> String {
    let fault = fault.map_or(String::new(), |fault| format!("\"--fault\", \"{}\", ", fault.name()));
    let text = fs::read_to_string(fixture("client.toml")).unwrap();
    let text = text
        .replace("\"CLIENT\"", &format!("'{}'", compiled().display()))
        .replace("FAULT\"--", &format!("{fault}\"--"));
    let file = directory.path().join("client.toml");
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// The report of a run. Its exit status must match its cases.
#[track_caller]
fn report(operations: &str, only: &[&str]) -> Report {
    let mut arguments = vec!["--json", "--operations", operations];
    for glob in only {
        arguments.extend(["--only", *glob]);
    }
    let output = diagipc(&arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    let report: Report =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(output.status.code(), Some(i32::from(report.counts.fail > 0)), "{said}");
    report
}

#[track_caller]
fn all_pass(report: &Report) {
    let others: Vec<&Case> = report.cases.iter().filter(|case| case.grade != Grade::Pass).collect();
    assert!(others.is_empty(), "{others:#?}");
}

/// The names of faults in a report, and all of its failures.
fn names(report: &Report) -> BTreeSet<&str> {
    report.failures().flat_map(|case| case.faults.iter().map(|fault| fault.name.as_str())).collect()
}

/// The names of all scenarios.
fn scenarios() -> impl Iterator<Item = String> {
    client::scenarios().unwrap().iter().map(|scenario| scenario.name.clone())
}

/// The report of these scenarios.
#[track_caller]
fn report_of(operations: &str, names: &[String]) -> Report {
    report(operations, &names.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn client_without_fault_passes_all() {
    let directory = crate::tool::directory();
    // Only root can give a socket to another user.
    let is_root = rustix::process::geteuid().is_root();
    let names: Vec<String> =
        scenarios().filter(|name| is_root || !name.starts_with("discovery/other-owner/")).collect();
    let report = report_of(&python(&directory, None), &names);
    all_pass(&report);
    assert_eq!(report.cases.len(), names.len());
}

const BUILT_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/diagipc.toml");

#[test]
fn client_built_in_passes_a_twentieth() {
    all_pass(&report_of(BUILT_IN, &scenarios().step_by(20).collect::<Vec<_>>()));
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn client_built_in_passes_all() {
    all_pass(&report(BUILT_IN, &[]));
}

/// Other scenarios, which do not show the fault, must not name another one.
#[track_caller]
fn named_alone_among(fault: Fault, only: &[&str]) {
    let directory = crate::tool::directory();
    let report = report(&python(&directory, Some(fault)), only);
    assert_eq!(names(&report), BTreeSet::from([fault.name()]));
    let unnamed = report
        .failures()
        .filter(|case| case.faults.is_empty())
        .map(|case| &case.name)
        .collect::<Vec<_>>();
    assert!(unnamed.iter().all(|name| name.starts_with("replies/")), "{unnamed:?}");
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn client_reply_magic_unchecked_is_only_fault_in_all_scenarios() {
    named_alone_among(Fault::MagicUnchecked, &[]);
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn client_reply_of_24_insisted_on_is_only_fault_in_all_replies() {
    named_alone_among(Fault::ReplyOf24InsistedOn, &["replies", "reply", "size-field"]);
}

#[test]
fn client_ignoring_rundown_stacks_events_or_buffer_mode_fails() {
    let directory = crate::tool::directory();
    let wanted = [
        "request/trace/rundown/0",
        "request/trace/rundown/16",
        "request/trace/stacks/false",
        "request/trace/events/7",
        "request/trace/events/1-2-65535",
        "request/trace/buffer_mode/1",
    ];
    all_pass(&report(&python(&directory, None), &wanted));
    let report = report(&python(&directory, Some(Fault::ValueNotAsked)), &wanted);
    let failed: BTreeSet<&str> = report.failures().map(|case| case.name.as_str()).collect();
    assert_eq!((failed, names(&report)), (BTreeSet::from(wanted), ["value-not-asked"].into()));
}

/// A byte of the request stays unread, so that the client meets an error of reading and not an end.
#[test]
fn stream_reset_behind_the_stop_is_a_reset() {
    let directory = crate::tool::directory();
    let said = directory.path().join("said");
    let client = fixture("client.py");
    let command = format!(
        "[operations.trace]\ncommand = [\"sh\", \"-c\", 'exec python3 -IS \"$@\" 2>\"$0\"', '{}', '{}', \"--patience\", \"2000\", \"--pid\", \
         \"{{pid}}\", \"trace\", \"Provider\", \"1\", \"4\", \"\", \"250\", \"2147615033\", \"true\", \"\", \"0\", \"CollectTracing2\", \
         \"{{duration_ms}}\", \"{{output}}\"]\noutput = \"stream\"\n",
        said.display(),
        client.display()
    );
    let file = directory.path().join("client.toml");
    fs::write(&file, command).unwrap();
    all_pass(&report(file.to_str().unwrap(), &["streams/stream-reset-behind-the-stop"]));
    let said = fs::read_to_string(said).unwrap();
    assert!(said.contains("Connection reset by peer"), "{said}");
}

/// A program that can be started with some tasks only says so with a status of its own; one that fails
/// whatever comes shows nothing by failing where it must.
#[test]
fn client_that_always_fails_passes_nothing() {
    let directory = crate::tool::directory();
    let ending_with = |status: &str| {
        let file = directory.path().join("client.toml");
        let command = "[operations.resume]\ncommand = [\"sh\", \"-c\", \"exit STATUS\"]\n";
        fs::write(&file, command.replace("STATUS", status)).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let only = ["request/plain/resume", "reply/*/resume", "end/*/resume"];
    let report_of = |status| report(&ending_with(status), &only);
    let counts = report_of("1").counts;
    assert_eq!((counts.pass, counts.pass_lenient, counts.unimplemented), (0, 0, 0), "{counts:?}");
    let cannot = report_of("77");
    assert_eq!(cannot.counts.unimplemented, cannot.cases.len(), "{:?}", cannot.counts);
    let found = &cannot.cases[0].detail.as_ref().unwrap().found;
    assert_eq!(found[..], ["it cannot do this: exit status 77"]);

    // It sends its request, takes no OK for one, and so has passed every refusal.
    let never_content = report(&python(&directory, Some(Fault::OkTakenForError)), &only);
    let grades = |name: &str| {
        let mut cases = never_content.cases.iter();
        cases.find(|case| case.name == name).map(|case| case.grade)
    };
    assert_eq!(grades("reply/error/resume"), Some(Grade::Informational));
    assert_eq!(grades("end/in-the-header/resume"), Some(Grade::Informational));
    assert_eq!(names(&never_content), ["ok-taken-for-error"].into());
}

/// What a client in any language gets: the files as exported, beside the schemas that they refer to.
#[test]
fn exported_scenarios_fit_their_schema_and_name_faults_of_clients() {
    let directory = crate::tool::directory();
    let to = directory.path();
    assert!(
        tool::diagipc().args(["list", "vectors", "--export"]).arg(to).status().unwrap().success()
    );
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
                assert!(Fault::of(Suite::Client).any(|fault| fault.name() == name), "{name}");
            }
        }
        let unknown = json!({ "on": "a", "request": null, "of": 1 });
        let mut wrong = file;
        wrong["scenarios"][0]["steps"][0] = unknown;
        assert!(schema.objection(&wrong).is_some(), "an unknown key");
        files += 1;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/scenarios");
    assert_eq!((files, fs::read_dir(source).unwrap().count()), (SCENARIOS.len(), files));
}

#[test]
fn scenarios_are_unique_and_cite_spec() {
    let scenarios = client::scenarios().unwrap();
    let names: BTreeSet<_> = scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
    assert_eq!(names.len(), scenarios.len());
    assert!(scenarios.len() >= 400, "{}", scenarios.len());
    assert!(
        scenarios
            .iter()
            .all(|scenario| !scenario.spec.is_empty()
                && scenario.name.starts_with(scenario.section()))
    );
    for operation in Operation::ALL {
        assert!(scenarios.iter().any(|scenario| scenario.operation == *operation), "{operation}");
    }
    // Every script that plays the runtime, except those that need something that no operation has.
    let mut left_out = Vec::new();
    for (file, scripts) in embedded::scripts().unwrap() {
        for script in
            scripts.scripts.iter().filter(|script| matches!(script.plays, Plays::Runtime(_)))
        {
            if !names.contains(format!("{file}/{}", script.name).as_str()) {
                left_out.push(script.name.clone());
            }
        }
    }
    left_out.sort();
    assert_eq!(
        left_out,
        [
            "environment-entry-at-the-limit",
            "environment-entry-over-the-limit",
            "environment-over-the-limit-of-bytes",
            "environment-over-the-limit-of-entries",
            "header-announces-65535",
            "no-fallback-unless-told",
            "old-collect",
            "old-collect-refused",
            "old-reply-cut",
            "old-start-to-a-file",
            "old-stop",
            "reply-larger-than-the-buffer",
            "reply-that-fills-the-buffer",
            "stream-at-the-limit",
            "stream-over-the-limit",
            "tool-port-reply-with-the-advertise",
        ]
    );
}

#[test]
fn client_missing_operation_is_left_out_or_required() {
    let directory = crate::tool::directory();
    let file = directory.path().join("one.toml");
    let text = format!(
        "timeout_ms = 60000\n[operations.set-env]\ncommand = ['python3', '-IS', '{}', '--pid', '{{pid}}', 'set-env', 'FIXED', '{{value}}']\n",
        fixture("client.py").display()
    );
    fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let grades = |report: &Report| {
        report.cases.iter().map(|case| (case.name.clone(), case.grade)).collect::<Vec<_>>()
    };

    let seen = report(file, &["text/latin/set-env/*", "request/plain/resume"]);
    let expected = [
        ("text/latin/set-env/value", Grade::Pass),
        ("text/latin/set-env/name", Grade::Unimplemented),
    ];
    assert_eq!(grades(&seen), expected.map(|(name, grade)| (name.to_owned(), grade)));
    let note = "1 of 16 operations are defined: set-env; 1 scenarios of the others were not played";
    assert!(seen.notes.iter().any(|one| one == note), "{:?}", seen.notes);

    let refused = diagipc(&["--operations", file, "--only", "request/plain/resume"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("1 of 16 operations are defined: set-env"), "{said}");

    let output = diagipc(&[
        "--json",
        "--operations",
        file,
        "--only",
        "request/plain/resume",
        "--require",
        "resume",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let required: Report = serde_json::from_slice(&output.stdout).unwrap();
    let found = &required.cases[0].detail.as_ref().unwrap().found;
    assert_eq!(found[..], ["it is required", "no operation resume is defined"].map(str::to_owned));
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn client_idle_or_endless_fails_in_time() {
    let directory = crate::tool::directory();
    let file = directory.path().join("bad.toml");
    // Whoever lists processes asks this too, and first connects without a request: neither shows that a
    // client has connected.
    let program = DIAGIPC;
    let socket = directory.path().join("socket").display().to_string();
    let text = format!(
        "timeout_ms = 100\n[operations]\nresume.command = 'true'\n\
         perf-map-off.command = ['sh', '-c', '\"{program}\" call --pid {{pid}} process-info; ls $TMPDIR/dotnet-*-socket >\"{socket}\"; exec sleep 100000']\n\
         trace.command = 'false'\nenvironment.command = ['sh', '-c', 'kill -9 $$']\n"
    );
    fs::write(&file, text).unwrap();
    let only = [
        "request/plain/resume",
        "request/plain/perf-map-off",
        "request/plain/environment",
        "request/plain/trace",
    ];
    let other = thread::spawn(move || {
        let socket = loop {
            match fs::read_to_string(&socket) {
                Ok(path) if path.ends_with('\n') => break path,
                _ => thread::sleep(Duration::from_millis(5)),
            }
        };
        drop(UnixStream::connect(socket.trim_end()).unwrap());
    });
    let report = report(file.to_str().unwrap(), &only);
    other.join().unwrap();
    assert_eq!(report.counts.fail, 4, "{report:#?}");
    let found = |name: &str| {
        let case = report.cases.iter().find(|case| case.group == name).unwrap();
        let detail = case.detail.as_ref().unwrap();
        [&detail.found[..], &detail.about].concat().join("\n")
    };
    assert!(
        found("resume").lines().any(|line| line == "it ends without connecting"),
        "{}",
        found("resume")
    );
    // It never asked anything, so it lacks nothing.
    assert!(
        found("trace").lines().any(|line| line == "it ends without connecting"),
        "{}",
        found("trace")
    );
    assert!(
        found("perf-map-off").contains("it may not have started yet, as no client of this run"),
        "{}",
        found("perf-map-off")
    );
    assert!(found("environment").contains("signal: 9"), "{}", found("environment"));
}

/// Commands of a client that waits until the socket was asked by somebody else.
const UNTIL_ASKED: &str = "echo {socket} >socket; until [ -e asked ]; do sleep 0.01; done";

/// Somebody else: connects to the socket whose path such a client writes in the directory, does that,
/// and says so.
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

/// The answer to a `ProcessInfo3`.
fn asks(mut socket: UnixStream) -> Vec<u8> {
    socket.write_all(b"DOTNET_IPC_V1\0\x14\0\x04\x08\0\0").unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    answer
}

/// Whoever lists processes asks the same as a client of process-info.
#[test]
#[cfg(target_os = "linux")]
fn request_of_a_stranger_is_not_the_clients() {
    let directory = crate::tool::directory();
    let file = directory.path().join("one.toml");
    let text = format!(
        "[operations]\nprocess-info.command = ['sh', '-c', '''cd \"{}\"; {UNTIL_ASKED}; \
         exec python3 -IS \"{}\" --pid {{pid}} process-info {{command}}''']\n",
        directory.path().display(),
        fixture("client.py").display()
    );
    fs::write(&file, text).unwrap();
    let stranger = stranger(&directory, asks);
    let report = report(file.to_str().unwrap(), &["replies/process-info2-generic-ok"]);
    assert_eq!((report.counts.pass, report.counts.fail), (1, 0), "{report:#?}");
    assert!(stranger.join().unwrap().starts_with(b"DOTNET_IPC_V1\0"), "it is answered");
}

/// A file of one operation, done by `client.py` after the shell has run `before`, and before it
/// runs `behind`; it waits so many milliseconds for an answer.
fn beside(directory: &TempDir, patience: u32, before: &str, behind: &str) -> String {
    let client = fixture("client.py");
    let file = directory.path().join("one.toml");
    let text = format!(
        "timeout_ms = 300\n[operations.resume]\ncommand = ['sh', '-c', '''cd \"{}\"; {before}; \
         python3 -IS \"{}\" --patience {patience} --pid {{pid}} resume; status=$?; {behind}; exit $status''']\n",
        directory.path().display(),
        client.display()
    );
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn client_jobs_are_a_bound_of_silent_scenarios_too() {
    let directory = crate::tool::directory();
    let file = beside(&directory, 300, "mkdir lock || touch two", "rmdir lock");
    let output = diagipc(&[
        "--json",
        "--operations",
        &file,
        "--jobs",
        "1",
        "--only",
        "silence/*/resume",
        "--only",
        "request/plain/resume",
    ]);
    let report: Report = serde_json::from_slice(&output.stdout).unwrap();
    let played = report.cases.iter().filter(|case| case.group == "resume").count();
    assert!(played > 2, "{:?}", report.counts);
    assert!(!directory.path().join("two").exists(), "two clients ran at a time");
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn client_late_once_is_played_again_by_itself() {
    let directory = crate::tool::directory();
    let file = beside(&directory, 60_000, "true", "mkdir once && sleep 1000");
    let report = report(&file, &["request/plain/resume"]);
    all_pass(&report);
    // Meanwhile others may ask the process too: that is noted as well.
    let note = "request/plain/resume: passed only at the second try; the first: ";
    let is_told = |text: &String| text.starts_with(note) && text.contains("it still ran after");
    assert!(report.notes.iter().any(is_told), "{:?}", report.notes);
}

#[test]
fn client_that_cannot_be_started_once_is_tried_again() {
    let directory = crate::tool::directory();
    fs::create_dir(directory.path().join("late")).unwrap();
    let file = directory.path().join("three.toml");
    let client = fixture("client.py");
    let operation = |name: &str, cwd: &str, before: &str| {
        format!(
            "[operations.{2}]\ncwd = '{0}/{cwd}'\ncommand = ['sh', '-c', '''{before}; \
             python3 -IS \"{1}\" --patience 60000 --pid {{pid}} {name}''']\n",
            directory.path().display(),
            client.display(),
            name.split(' ').next().unwrap()
        )
    };
    // While the second would be started, its directory is missing, once.
    let text = [
        operation("process-info {command}", ".", "mkdir once && rmdir late"),
        operation("environment", "late", "true"),
        operation("resume", ".", "mkdir late"),
    ];
    fs::write(&file, text.concat()).unwrap();
    let output = diagipc(&[
        "--json",
        "--operations",
        file.to_str().unwrap(),
        "--jobs",
        "1",
        "--only",
        "request/plain/*",
    ]);
    let report: Report = serde_json::from_slice(&output.stdout).unwrap();
    let found = report.notes.iter().find(|note| note.contains("at the second try"));
    let note = "request/plain/environment: passed only at the second try; the first: sh … cannot be \
                started: ";
    assert!(found.is_some_and(|text| text.starts_with(note)), "{:?}", report.notes);
    assert_eq!(self::found(&report, "request/plain/environment"), (Grade::Pass, vec![]));
}

/// As `diagipc ps` and others do that look for processes.
#[test]
fn client_beside_probe_of_its_socket_is_judged_alike() {
    let directory = crate::tool::directory();
    let probe = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";
    fs::write(directory.path().join("probe.py"), probe).unwrap();
    let file = beside(&directory, 60_000, "python3 -IS probe.py {socket}", "true");
    let report = report(&file, &["request/*/resume", "reply/*/resume", "end/*/resume"]);
    all_pass(&report);
    assert!(report.counts.pass > 10, "{:?}", report.counts);
}

/// As a list of processes does.
#[test]
#[cfg(target_os = "linux")]
fn what_a_stranger_asks_is_none_of_the_clients_bytes() {
    let directory = crate::tool::directory();
    let file = beside(&directory, 60_000, UNTIL_ASKED, "true");
    let stranger = stranger(&directory, asks);
    let report = report(&file, &["request/plain/resume"]);
    assert!(stranger.join().unwrap().starts_with(b"DOTNET_IPC_V1\0"));
    let [case] = &report.cases[..] else { panic!("{:?}", report.cases) };
    let detail = case.detail.as_ref().unwrap();
    assert_eq!((case.grade, &detail.found), (Grade::Pass, &Vec::new()));
    assert!(!detail.about.iter().any(|line| line.starts_with("note")), "{:?}", detail.about);
    let turns = detail.turns().unwrap();
    let received = turns.iter().filter(|turn| turn.direction == TurnDirection::Received);
    let received: Vec<u8> = received.flat_map(|turn| turn.bytes.clone()).collect();
    assert_eq!(received, b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0");
}

/// Nor is its connection, where the client may connect and send nothing.
#[test]
#[cfg(target_os = "linux")]
fn connection_of_a_stranger_is_not_the_clients() {
    let directory = crate::tool::directory();
    let file = directory.path().join("odd.toml");
    let text = format!(
        "[operations.startup-hook]\ncommand = ['sh', '-c', '''cd \"{}\"; {UNTIL_ASKED}; \
         python3 -IS \"{}\" less-than-a-size {{socket}}''', '{{path}}']\n",
        directory.path().display(),
        fixture("odd.py").display()
    );
    fs::write(&file, text).unwrap();
    let stranger = stranger(&directory, drop);
    let report = report(file.to_str().unwrap(), &["size/one-too-long/startup-hook"]);
    stranger.join().unwrap();
    let found = &report.cases[0].detail.as_ref().unwrap().found;
    let said = "it sends 10 bytes, and the size field is missing";
    assert!(found.iter().any(|line| line.ends_with(said)), "{found:?}");
}

#[test]
fn client_command_without_file_is_trace() {
    let client = fixture("client.py");
    let output = diagipc(&[
        "--json",
        "--timeout",
        "60000",
        "--only",
        "request/plain/*",
        "--",
        "python3",
        "-IS",
        client.to_str().unwrap(),
        "--pid",
        "{pid}",
        "trace",
        "{provider}",
        "{keywords}",
        "{level}",
        "{arguments}",
        "250",
        "{rundown}",
        "true",
        "",
        "0",
        "CollectTracing4",
        "{duration_ms}",
        "{output}",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    let report: Report = serde_json::from_slice(&output.stdout).unwrap();
    let passed: Vec<_> = report
        .cases
        .iter()
        .filter(|case| case.grade == Grade::Pass)
        .map(|case| case.group.as_str())
        .collect();
    assert_eq!((passed, report.counts.unimplemented), (vec!["trace"], report.cases.len() - 1));
}

#[test]
fn client_usage_error_starts_nothing() {
    let directory = crate::tool::directory();
    let file = directory.path().join("wrong.toml");
    fs::write(&file, "[operations.resume]\ncommand = 'x {nothing}'\n").unwrap();
    let file = file.to_str().unwrap();
    for (arguments, said) in [
        (&["--operations", file][..], "wrong.toml, line 2: unknown placeholder {nothing}"),
        (&["--operations", "/no/such/file"], "/no/such/file"),
        (&["--list", "--only", "nothing-is-called-so"], "no case matches nothing-is-called-so"),
        (&["--only", "*"], "--operations"),
        (&["--", "x", "{name}"], "trace has no {name}"),
        // One error, and not one for each scenario.
        (
            &["--", "no-such-program-anywhere"],
            "trace cannot be started: the program no-such-program-anywhere was not found",
        ),
    ] {
        let output = diagipc(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), stderr.contains(said)),
            (Some(2), true),
            "{arguments:?}: {stderr}"
        );
    }
    let listed = String::from_utf8(diagipc(&["--list", "--only", "silence/*"]).stdout).unwrap();
    assert!(
        listed.lines().count() > 20 && listed.lines().all(|line| line.starts_with("silence/")),
        "{listed}"
    );
}

/// An accepted fault does not fail the run, and stays in the report; a new one fails it.
#[test]
#[ignore = "long: .ci/nightly long"]
fn client_known_faults_are_accepted_and_kept() {
    let directory = crate::tool::directory();
    let operations = python(&directory, Some(Fault::AttachTimeoutInSeconds));
    let known = directory.path().join("known.toml");
    let known = known.to_str().unwrap();
    let run = |option: &str| {
        let only = ["--only", "request/plain/attach", "--only", "request/plain/resume"];
        let output =
            diagipc(&[&["--json", "--operations", &operations, option, known], &only[..]].concat());
        (output.status.code(), serde_json::from_slice::<Report>(&output.stdout).unwrap())
    };
    let (status, report) = run("--write-known");
    assert_eq!((status, report.counts.fail), (Some(1), 1));
    let written = fs::read_to_string(known).unwrap();
    assert!(
        written.ends_with(
            "[cases]\nattach-timeout-in-seconds = [\n    \"request/plain/attach\",\n]\n"
        ),
        "{written}"
    );

    let (status, report) = run("--known");
    assert_eq!((status, report.counts.informational, report.counts.pass), (Some(0), 1, 1));
    let accepted = report.cases.iter().find(|case| case.grade == Grade::Informational).unwrap();
    assert_eq!(
        accepted.faults.iter().map(|fault| fault.name.as_str()).collect::<Vec<_>>(),
        ["attach-timeout-in-seconds"]
    );

    fs::write(known, "[cases]\nattach-timeout-in-seconds = ['request/attach/timeout/1000']")
        .unwrap();
    let (status, report) = run("--known");
    assert_eq!((status, report.counts.fail), (Some(1), 1), "the same fault in another case is new");

    fs::write(known, "faults = ['runs-on', 'no-such-fault']").unwrap();
    let (status, report) = run("--known");
    assert_eq!((status, report.counts.fail), (Some(1), 1));
    // Of a part of the suite nothing is known about every case.
    assert_eq!(report.stale, ["no-such-fault is not a fault of this suite"]);

    // What is gone fails the run until the file is renewed.
    fs::write(known, "[cases]\nattach-timeout-in-seconds = ['request/plain/*']\nruns-on = ['request/plain/resume', 'silence/at-once/dump']")
        .unwrap();
    let (status, report) = run("--known");
    assert_eq!((status, report.counts.fail), (Some(1), 0));
    assert_eq!(report.stale, ["runs-on was not seen in request/plain/resume"]);
}

/// An older runtime is not asked what it does not know, and the report has the number of those
/// cases.
#[test]
fn client_profile_omits_unknown_commands() {
    let listed = |profile: &str| {
        let output =
            tool::diagipc().args(["client", "--list", "--profile", profile]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let (old, new) = (listed("coreclr-3.1"), listed("strict"));
    assert!(
        old.lines().count() >= 100 && new.lines().count() >= 400,
        "{} of {}",
        old.lines().count(),
        new.lines().count()
    );
    assert!(
        new.contains("/process-info") && !old.contains("/process-info"),
        "ProcessInfo came with .NET 5"
    );
    assert!(old.lines().all(|name| new.contains(name)));
}

/// The grade of a case and its findings.
fn found<'r>(report: &'r Report, name: &str) -> (Grade, Vec<&'r str>) {
    let case = report
        .cases
        .iter()
        .find(|case| case.name == name)
        .unwrap_or_else(|| panic!("{name} was not played"));
    let found = case.detail.iter().flat_map(|detail| detail.found.iter().chain(&detail.about));
    (case.grade, found.map(String::as_str).collect())
}

/// A command line of `odd.py`.
fn odd(operation: &str, what: &str, more: &str) -> String {
    let client = fixture("odd.py");
    format!(
        "[operations.{operation}]\ncommand = ['python3', '-IS', '{}', '{what}', '{{socket}}', {more}]\n",
        client.display()
    )
}

#[test]
fn client_missing_or_surplus_bytes_are_reported() {
    let directory = crate::tool::directory();
    let file = directory.path().join("odd.toml");
    let play = |lines: &[String], only: &[&str]| {
        fs::write(&file, format!("timeout_ms = 1000\n{}", lines.concat())).unwrap();
        report(file.to_str().unwrap(), only)
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
        &[
            odd("resume", "more-while-waiting", ""),
            odd("perf-map-off", "more-after-the-reply", ""),
            odd("startup-hook", "less-than-a-size", "'{path}'"),
        ],
        &["silence/at-once/resume", "reply/ok-20/perf-map-off", "size/one-too-long/startup-hook"],
    );
    for (report, name, said) in [
        (&first, "request/plain/resume", "it connects, and sends no request"),
        (&first, "request/plain/perf-map-off", "3 bytes after the request: 616263"),
        (
            &first,
            "size/one-too-long/startup-hook",
            "it sends 30 bytes, and the size field is 30840",
        ),
        (
            &first,
            "replies/process-info2-reply",
            "it writes no output file: No such file or directory (os error 2)",
        ),
        (&second, "silence/at-once/resume", "it sends 5 bytes 6875727279 on that connection"),
        (&second, "reply/ok-20/perf-map-off", "it sends more: 6 bytes 7468616e6b73"),
        (
            &second,
            "size/one-too-long/startup-hook",
            "it sends 10 bytes, and the size field is missing",
        ),
        (&first, "request/plain/environment", "only 9 bytes of a header received"),
    ] {
        let (grade, found) = found(report, name);
        assert!(grade == Grade::Fail && found.contains(&said), "{name}: {found:?}");
        assert!(
            found.iter().any(|line| line.starts_with("command line: python3 … /")),
            "{name}: {found:?}"
        );
    }
    let (grade, at_a_port) = found(&first, "tool_ports/tool-port");
    assert_eq!((grade, at_a_port[0]), (Grade::Fail, "it does not listen at its port"));
}

/// A client whose command cannot be chosen is judged by what it asks.
#[test]
fn client_other_command_is_answered_as_runtime() {
    let directory = crate::tool::directory();
    let file = directory.path().join("fixed.toml");
    let client = fixture("client.py");
    let line = |operation: &str, words: &str, more: &str| {
        let client = client.display();
        format!(
            "[operations.{operation}]\ncommand = ['sh', '-c', 'exec python3 -IS \"$0\" --pid $1 {words}', '{client}', \
             '{{pid}}'{more}]\n"
        )
    };
    let play = |lines: &str, only: &[&str]| {
        fs::write(&file, format!("timeout_ms = 60000\n{lines}")).unwrap();
        report(file.to_str().unwrap(), only)
    };
    let dump = line("dump", "dump $2 $3 $4 GenerateCoreDump3", ", '{path}', '{type}', '{flags}'");
    let lines = line("process-info", "process-info ProcessInfo3", "") + &dump;
    let newer = play(&lines, &["request/plain/process-info", "replies/dump-one-reply"]);
    // The runtime does not know it, and the client asks again.
    assert_eq!(found(&newer, "request/plain/process-info"), (Grade::Pass, vec![]));
    // The replies to a dump do not depend on the command.
    assert_eq!(found(&newer, "replies/dump-one-reply"), (Grade::Pass, vec![]));
    // The script has an older one later, on another connection.
    let scripts = [
        "fallback/fallback-process-info-3-to-2",
        "fallback/fallback-process-info-3-to-1",
        "replies/process-info3-reply",
    ];
    let older = play(&line("process-info", "process-info ProcessInfo2", ""), &scripts);
    // It never asked the newer one, so it shows no fallback.
    let at_once = (
        Grade::Unimplemented,
        vec!["it sends the older command first: there is nothing to fall back from"],
    );
    assert_eq!(found(&older, scripts[0]), at_once);
    assert_eq!(found(&older, scripts[1]).0, Grade::Pass);
    // Here the script has none.
    let lacks =
        (Grade::Unimplemented, vec!["it sends Process/ProcessInfo2, not Process/ProcessInfo3"]);
    assert_eq!(found(&older, scripts[2]), lacks);
    // It is given the command, and does not use it.
    let told = play(
        &line("process-info", "process-info ProcessInfo", ", '{command}'"),
        &["replies/process-info3-reply"],
    );
    let (grade, said) = found(&told, "replies/process-info3-reply");
    assert_eq!(
        (grade, said[0]),
        (Grade::Fail, "it sends Process/ProcessInfo, expected Process/ProcessInfo3")
    );
}

#[test]
fn client_missing_ability_is_unimplemented() {
    let directory = crate::tool::directory();
    let file = directory.path().join("few.toml");
    // It does not wait for a late reply, and asks ProcessInfo3 alone; it starts in its own
    // directory.
    let once = "import os, socket; s = socket.socket(socket.AF_UNIX); s.connect(open('where').read()); \
                s.sendall(b'DOTNET_IPC_V1\\0\\x14\\0\\x04\\x08\\0\\0'); s.recv(99); os._exit(1)";
    fs::write(directory.path().join("once.py"), once).unwrap();
    let text = format!(
        "timeout_ms = 50\n[operations.resume]\ncommand = 'true'\n[operations.process-info]\ncwd = '{0}'\ntimeout_ms = 60000\n\
         command = ['sh', '-c', 'printf %s \"$0\" > where && exec python3 -IS once.py', '{{socket}}', '{{command}}']\n",
        directory.path().display()
    );
    fs::write(&file, text).unwrap();
    let late = ["replies/reply-late", "fallback/fallback-process-info-3-to-2"];
    let report = report(file.to_str().unwrap(), &late);
    let (grade, said) = found(&report, late[0]);
    assert!(
        grade == Grade::Unimplemented && said[0].ends_with("ms, but the client waits 50 ms"),
        "{said:?}"
    );
    assert_eq!(
        found(&report, late[1]),
        (Grade::Unimplemented, vec!["it sends no older command after UNKNOWN_COMMAND"])
    );
}

/// For a socket the system reports the process that called `listen` last: its id is in the name.
#[cfg(target_os = "linux")]
#[test]
fn stand_in_process_listens_until_input_ends() {
    use std::io::{IoSlice, Read as _};
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd as _, OwnedFd};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::Stdio;

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg, sockopt};

    let directory = crate::tool::directory();
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut child =
        tool::diagipc().arg("stand-in").stdin(Stdio::from(OwnedFd::from(theirs))).spawn().unwrap();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [listener.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    sendmsg(&ours, &[IoSlice::new(b"!")], &mut control, SendFlags::empty()).unwrap();
    ours.read_exact(&mut [0]).unwrap();

    let peer = UnixStream::connect(&path).unwrap();
    let listens = sockopt::socket_peercred(&peer).unwrap().pid.as_raw_nonzero().get();
    assert_eq!(u32::try_from(listens).unwrap(), child.id());
    assert!(child.try_wait().unwrap().is_none());
    drop(ours);
    assert!(child.wait().unwrap().success());
}
