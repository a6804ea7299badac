//! `diagipc server`: the reference runtime in every profile passes, a server with a fault fails the
//! case about it, and a target that dies or is missing is reported.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Program, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use diagipc::record::{Proxy, Witness};
use diagipc::{Case, Grade, Report};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc::io::{Canceller, Endpoint};
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::player::{Event, TurnDirection};
use dotnet_diagnostics_ipc_vectors::{Test, Type};

use crate::tool::{self, DIAGIPC};

#[track_caller]
fn server(arguments: &[&str], status: i32) -> Output {
    let output = tool::diagipc().arg("server").args(arguments).output().expect("it starts");
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

#[track_caller]
fn report(arguments: &[&str], status: i32) -> Report {
    let output = server(&[&["--json"], arguments].concat(), status);
    Report::parse(std::str::from_utf8(&output.stdout).unwrap()).unwrap()
}

/// The suite against a reference runtime that it starts.
#[track_caller]
fn against(options: &[&str], runtime: &[&str], status: i32) -> Report {
    report(
        &[options, &["--jobs", "8", "--spawn", "--", DIAGIPC, "runtime"], runtime].concat(),
        status,
    )
}

/// A reference runtime that is already running.
struct Runtime(Child, String);

impl Runtime {
    fn start(arguments: &[&str], directory: &Path) -> Self {
        let socket = directory.join("socket");
        let mut command = tool::diagipc();
        command
            .args(["runtime", "--until-eof", "--socket"])
            .arg(&socket)
            .args(arguments)
            .current_dir(directory);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(Path::new(line.trim()), socket);
        Self(child, line.trim().to_owned())
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
fn case<'r>(report: &'r Report, name: &str) -> &'r Case {
    report
        .cases
        .iter()
        .find(|case| case.name == name)
        .unwrap_or_else(|| panic!("{name} was not played"))
}

/// Its sessions stream once it goes on. What is no .NET has no such excuse.
#[test]
fn session_of_a_runtime_that_waits_at_its_start_has_no_bytes() {
    let home = crate::tool::directory();
    let runtime = Runtime::start(&["--suspended"], home.path());
    let session = "requests/eventpipe/5100";
    let held = report(&["--only", session, &runtime.1], 0);
    assert_eq!(case(&held, session).grade, Grade::Pass);
    let strict = report(&["--profile", "strict", "--only", session, &runtime.1], 1);
    let names: Vec<&str> = strict.causes.iter().map(|cause| cause.name.as_str()).collect();
    assert_eq!(names, ["stream-empty"]);
}

#[test]
fn server_cases_are_listed_with_their_hazards() {
    let listed = String::from_utf8(server(&["--list"], 0).stdout).unwrap();
    assert!(listed.lines().count() >= 500, "{}", listed.lines().count());
    let harmless = listed
        .lines()
        .filter(|line| !line.contains("  harmful") && !line.ends_with("  side-effect"))
        .count();
    assert!(harmless >= 150, "{harmless}");
    // Which builds died of it is of the recordings.
    assert!(
        listed.contains("scripts/harmful/dump-without-payload  harmful: ended win-net6.0.13, ")
    );
}

/// More than a message can have: the block's size has 32 bits.
#[test]
fn correct_server_with_large_environment_passes() {
    let [large, other] = ["LARGE", "OTHER"].map(|name| format!("{name}={}", "x".repeat(60_000)));
    let environment = ["--profile", "strict", "--env", &large, "--env", &other];
    let only = ["--only", "requests/process/*", "--only", "*environment*"];
    let report = against(&[&["--profile", "strict"], &only[..]].concat(), &environment, 0);
    assert_eq!(report.counts.fail, 0, "{:?}", report.failures().next());
    let played = case(&report, "scripts/process/process-environment");
    assert_eq!(played.grade, Grade::Pass);
}

#[track_caller]
fn reference_runtime_passes(profile: &str) {
    let report = against(&["--profile", profile], &["--profile", profile], 0);
    assert_eq!(
        (report.profile.as_deref(), report.counts.fail),
        (Some(profile), 0),
        "{:?}",
        report.failures().next()
    );
    assert!(report.counts.pass >= 75, "{profile}: {:?}", report.counts);
    let uncited: Vec<_> = report.cases.iter().filter(|case| case.spec.is_empty()).collect();
    assert!(uncited.is_empty(), "{uncited:?}");
}

macro_rules! profiles {
    ($($(#[$meta:meta])* $test:ident: $profile:literal),* $(,)?) => {$(
        #[test]
        $(#[$meta])*
        fn $test() {
            reference_runtime_passes($profile);
        }
    )*};
}

profiles! {
    #[ignore = "long: .ci/nightly long"]
    reference_runtime_coreclr_3_1_passes: "coreclr-3.1",
    #[ignore = "long: .ci/nightly long"]
    reference_runtime_coreclr_8_passes: "coreclr-8",
    #[ignore = "long: .ci/nightly long"]
    reference_runtime_coreclr_9_passes: "coreclr-9",
    reference_runtime_coreclr_10_passes: "coreclr-10",
    #[ignore = "long: .ci/nightly long"]
    reference_runtime_coreclr_11_passes: "coreclr-11",
    #[ignore = "long: .ci/nightly long"]
    reference_runtime_nativeaot_8_passes: "nativeaot-8",
    reference_runtime_nativeaot_9_passes: "nativeaot-9",
    #[ignore = "long: .ci/nightly long"]
    reference_runtime_mono_passes: "mono",
    reference_runtime_strict_passes: "strict",
}

#[test]
fn profile_auto_asks_target() {
    let report = against(&["--only", "scripts/process"], &["--profile", "coreclr-9"], 0);
    assert_eq!(
        (report.profile.as_deref(), report.runtime.as_deref()),
        (Some("coreclr-9.0.5"), Some(".NET 9.0.5"))
    );
    // 3.1 does not know the question: other behaviour identifies it.
    let report = against(&["--only", "20220"], &["--profile", "coreclr-3.1"], 0);
    assert_eq!(
        (report.profile.as_deref(), report.runtime.as_deref()),
        (Some("coreclr-3.1"), None),
        "{:?}",
        report.notes
    );
}

/// A runtime that reads late finds the pieces of a header together, if the second does not wait for
/// an answer to the first.
#[test]
fn profile_3_1_reading_late_is_recognised() {
    let directory = crate::tool::directory();
    let runtime = Runtime::start(&["--profile", "coreclr-3.1"], directory.path());
    let late = directory.path().join("late");
    let listener = UnixListener::bind(&late).unwrap();
    let socket = runtime.1.clone();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            thread::sleep(Duration::from_millis(60));
            let Ok(server) = UnixStream::connect(&socket) else { return };
            for (mut from, mut to) in
                [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
            {
                thread::spawn(move || {
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    let report = report(&["--only", "20220", &late.display().to_string()], 0);
    assert_eq!(report.profile.as_deref(), Some("coreclr-3.1"), "{:?}", report.notes);
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn deviation_is_named_by_fact_and_fails_strict() {
    let only = ["--allow-harmful", "--only", "scripts/framing/unknown-id-0300"];
    let known = against(&only, &["--profile", "coreclr-10"], 0);
    let found = case(&known, "scripts/framing/unknown-id-0300");
    assert_eq!(
        (found.grade, found.deviation.as_ref().map(|one| one.fact.as_str())),
        (Grade::Informational, Some("F-74"))
    );
    let strict = against(
        &[&["--profile", "strict"], only.as_slice()].concat(),
        &["--profile", "coreclr-10"],
        1,
    );
    let found = case(&strict, "scripts/framing/unknown-id-0300");
    assert_eq!((found.grade, &found.deviation), (Grade::Fail, &None));
    let detail = found.detail.as_ref().unwrap();
    assert!(detail.sent.json().contains("444f544e45545f4950435f5631001400030000"), "{detail:?}");
    assert!(
        detail.found.iter().any(|line| line.contains("the connection did not end")),
        "{detail:?}"
    );
}

/// A command that does not exist is refused like its whole set.
#[test]
fn deviation_of_family_is_named_by_fact() {
    let name = "scripts/framing/unknown-id-0300";
    for profile in ["nativeaot-8", "nativeaot-9.0.20"] {
        let report = against(
            &["--allow-harmful", "--profile", profile, "--only", name],
            &["--profile", profile],
            0,
        );
        let found = case(&report, name);
        assert_eq!(
            (found.grade, found.deviation.as_ref().map(|one| one.fact.as_str())),
            (Grade::Informational, Some("F-91"))
        );
    }
}

/// F-95, F-96: a valid request that shows a fault of a runtime fails, and the report names the fact
/// for its maintainers.
#[test]
fn fault_of_family_fails_by_its_fact() {
    let only = [
        "--allow-side-effects",
        "--allow-harmful",
        "--profile",
        "nativeaot-9",
        "--only",
        "scripts/process/set-variable*",
    ];
    let report = against(&only, &["--profile", "nativeaot-9", "--dies"], 1);
    let facts: Vec<_> = report
        .failures()
        .map(|case| (case.name.rsplit('/').next().unwrap(), fact_of(case)))
        .collect();
    assert_eq!(
        facts,
        [
            ("set-variable-then-delete-twice", Some("F-95")),
            ("set-variable-to-nothing-is-no-deletion", Some("F-95")),
            ("set-variable-without-a-name", Some("F-96")),
            ("set-variable-with-an-empty-name", Some("F-96")),
            ("set-variable-name-with-a-nul", Some("F-95")),
        ]
    );
    let told = report.failures().next().unwrap().detail.as_ref().unwrap().found.join("\n");
    assert!(
        told.contains("a known fault of this runtime, F-95: deleting a variable kills NativeAOT"),
        "{told}"
    );
    // It is known of no other runtime.
    let report = against(
        &[
            "--profile",
            "coreclr-9",
            "--only",
            "scripts/process/set-variable-with-an-empty-name",
            "--allow-side-effects",
        ],
        &["--profile", "nativeaot-9"],
        1,
    );
    assert_eq!(report.failures().map(fact_of).collect::<Vec<_>>(), [None]);
}

/// What clients sent, by connection.
#[derive(Debug, Default)]
struct Sent(Mutex<BTreeMap<usize, Vec<u8>>>);

impl Witness for Sent {
    fn saw(&self, event: &Event, bytes: &[u8]) {
        if event.by == TurnDirection::Sent && !bytes.is_empty() {
            self.0.lock().unwrap().entry(event.connection).or_default().extend_from_slice(bytes);
        }
    }
}

/// What a read-only run with `--profile auto` sends to a runtime that runs already and dies of what
/// kills the recorded build. It survives.
#[track_caller]
fn sent_read_only(profile: &str) -> Vec<Vec<u8>> {
    let directory = crate::tool::directory();
    let mut runtime = Runtime::start(&["--dies", "--profile", profile], directory.path());
    let at = directory.path().join("recorded");
    let (listener, canceller) = (UnixListener::bind(&at).unwrap(), Canceller::new().unwrap());
    let sent = Arc::new(Sent::default());
    let proxy = Proxy::new(listener, Endpoint::socket(&runtime.1)).witnessed_by(sent.clone());
    thread::scope(|scope| {
        scope.spawn(|| proxy.run(&canceller, None, &|_| ()));
        let report = tool::diagipc().args(["server", "--json"]).arg(&at).output().unwrap();
        canceller.cancel();
        let report = Report::parse(std::str::from_utf8(&report.stdout).unwrap()).unwrap();
        assert!(report.lost.is_none() && report.counts.pass > 100, "{:?}", report.counts);
    });
    assert!(runtime.0.try_wait().unwrap().is_none(), "{profile} died");
    std::mem::take(&mut *sent.0.lock().unwrap()).into_values().collect()
}

/// What is sent by default to the process of a user, with the questions before its profile is known:
/// nothing that kills any recorded build, and no command that changes it. A test of the evidence
/// holds each case to it; this one has the questions too.
#[test]
#[ignore = "long: .ci/nightly long"]
fn read_only_run_sends_nothing_that_harms_any_family() {
    let files = vectors::files().unwrap();
    let groups = files.iter().flat_map(|file| &file.groups);
    let requests = groups.filter(|group| group.kind == Type::Request);
    let is_harmless = |test: &Test| test.wire.is_some() && test.hazard.is_none();
    let harmless = requests.filter(|group| group.tests.iter().any(is_harmless));
    let harmless: Vec<Command> =
        harmless.filter_map(|group| group.command.as_deref()?.parse().ok()).collect();
    let changes = Command::SET_ENVIRONMENT_VARIABLE;
    assert!(harmless.contains(&Command::PROCESS_INFO2) && !harmless.contains(&changes));
    for profile in ["nativeaot-8", "nativeaot-9", "coreclr-10"] {
        let sent = sent_read_only(profile);
        assert!(sent.len() > 150, "{}", sent.len());
        for bytes in sent {
            let header = bytes.get(..20).and_then(|header| Header::decode(header).ok());
            let known = header.map(|header| header.command).filter(|one| one.since().is_some());
            assert!(known.is_none_or(|one| harmless.contains(&one)), "{}", hex::encode(&bytes));
        }
    }
}

/// Every file below these directories.
fn files_below(directories: &[&Path]) -> Vec<PathBuf> {
    let mut left: Vec<PathBuf> = directories.iter().map(|path| path.to_path_buf()).collect();
    let mut files = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            files.push(path);
        }
    }
    files
}

/// Vectors name fixed files, such as /tmp/core. A target that is started for the run writes them into
/// its own directory, with its perf maps and dumps without a name. Its death leaves no core.
#[test]
#[ignore = "long: .ci/nightly long"]
fn run_against_a_started_target_leaves_no_file() {
    let [root, current, temporary] = [(); 3].map(|()| crate::tool::directory());
    let script = format!("{}/tests/fixtures/servers/writes_files.py", env!("CARGO_MANIFEST_DIR"));
    // Where a core file is called core, a target that dies would leave one.
    let output = Program::new("sh")
        .args(["-c", "ulimit -S -c \"$(ulimit -H -c)\"; exec \"$0\" \"$@\"", DIAGIPC, "server"])
        .args(["--json", "--allow-side-effects", "--allow-harmful", "--jobs", "4"])
        .args(["--only", "requests/dump", "--only", "requests/tables/3300"])
        .args(["--only", "*perf-map*", "--only", "requests/process/82*"])
        .args(["--only", "requests/process/8130", "--spawn", "--", "python3", &script])
        .arg(root.path())
        .current_dir(current.path())
        .env("TMPDIR", temporary.path())
        .output()
        .unwrap();
    let report = Report::parse(std::str::from_utf8(&output.stdout).unwrap()).unwrap();
    assert_eq!(report.lost, None);
    // It was asked.
    for name in ["requests/dump/4001", "requests/dump/4003", "requests/process/8201"] {
        assert_eq!(case(&report, name).grade, Grade::Pass, "{name}");
    }
    let left = files_below(&[root.path(), current.path(), temporary.path()]);
    assert!(left.is_empty(), "{left:?}");
}

/// A harmful request has a target of its own, or, with `--keep-target`, one that all share and that
/// is started again once it has died.
#[test]
fn kept_target_is_shared_by_harmful_requests() {
    const DIES: [&str; 4] = ["--profile", "strict", "--misbehave", "dies-of-empty-payload"];
    let starts = |options: &[&str], runtime: &[&str]| {
        let directory = crate::tool::directory();
        let list = directory.path().join("starts");
        let output = Program::new(DIAGIPC)
            .args(["server", "--json", "--allow-harmful", "--jobs", "1"])
            .args(["--only", "requests/header/212*"])
            .args(options)
            .args(["--spawn", "--", "sh", "-c", "echo >>\"$0\"; exec \"$@\""])
            .arg(&list)
            .args([DIAGIPC, "runtime", "--until-eof"])
            .args(runtime)
            .output()
            .unwrap();
        let report = Report::parse(std::str::from_utf8(&output.stdout).unwrap()).unwrap();
        assert_eq!(report.lost, None);
        (report, std::fs::read_to_string(list).unwrap().len())
    };
    let (strict, kept) = (["--profile", "strict"], ["--profile", "strict", "--keep-target"]);
    let runs: [(&[&str], &[&str]); 3] = [(&strict, &strict), (&kept, &strict), (&kept, &DIES)];
    let [(each, own), (shared, kept), (report, again)] = std::thread::scope(|scope| {
        let begun = runs.map(|(options, runtime)| scope.spawn(move || starts(options, runtime)));
        begun.map(|run| run.join().unwrap())
    });
    assert_eq!(each.counts, shared.counts);
    assert!(each.counts.fail == 0 && own >= 5 && kept < 3, "{own} starts, kept: {kept}");
    // One that dies of some of them is there for the others.
    assert!((kept + 1..=own).contains(&again), "{again} starts");
    assert_eq!(report.cases.len(), each.cases.len());
    assert!(report.counts.fail > 0 && report.counts.pass > 0, "{:?}", report.counts);
}

/// With side effects, but without anything harmful, a target that runs already is recognised too.
#[test]
fn native_aot_that_runs_is_recognised_with_side_effects() {
    let directory = crate::tool::directory();
    let runtime = Runtime::start(&["--dies", "--profile", "nativeaot-9"], directory.path());
    let report = report(&["--allow-side-effects", "--only", "scripts/process", &runtime.1], 1);
    assert_eq!(report.profile.as_deref(), Some("nativeaot-9.0.20"), "{:?}", report.notes);
    assert!(report.failures().all(|case| fact_of(case) == Some("F-96")));
}

fn fact_of(case: &Case) -> Option<&str> {
    case.deviation.as_ref().map(|deviation| deviation.fact.as_str())
}

/// A build that was never recorded is compared with the nearest ones, and the report names them.
#[test]
fn build_never_recorded_is_compared_with_the_nearest_of_its_family() {
    let run = |profile: &str, expected: i32| {
        let only =
            ["--allow-harmful", "--profile", profile, "--only", "scripts/framing/unknown-id-0300"];
        against(&only, &["--profile", "nativeaot-9"], expected)
    };
    let seven = run("nativeaot-7", 0);
    let note =
        "profile nativeaot-7: never recorded: compared with the recordings of nativeaot-8.0.31";
    assert!(seven.notes.iter().any(|one| one == note), "{:?}", seven.notes);
    let strict = run("strict", 1);
    assert_eq!(strict.failures().map(fact_of).collect::<Vec<_>>(), [None]);
}

/// F-72: a death belongs to one case, and the next one has a new target.
#[test]
#[ignore = "long: .ci/nightly long"]
fn target_death_is_reported_and_run_continues() {
    let only = ["--allow-harmful", "--only", "scripts/harmful/*-without-payload"];
    let deadly = ["--profile", "coreclr-10", "--misbehave", "dies-of-empty-payload"];
    let report = against(&only, &deadly, 0);
    let deaths = report
        .cases
        .iter()
        .filter(|case| case.deviation.as_ref().is_some_and(|one| one.fact == "F-72"))
        .count();
    assert!(deaths >= 10 && report.lost.is_none(), "{deaths} deaths, {:?}", report.lost);
    assert_eq!(report.cases.len(), 14);
    // For the strict profile a death is a failure, which says how the target ended.
    let report = against(&[&["--profile", "strict"], only.as_slice()].concat(), &deadly, 1);
    let death = case(&report, "scripts/harmful/dump-without-payload")
        .detail
        .as_ref()
        .unwrap()
        .found
        .join("\n");
    assert!(death.contains("was killed by signal 6"), "{death}");
}

/// Exit status of a run with cases that fail.
const FAILS: i32 = 1;
/// That of a run whose target is so wrong that it cannot even be identified.
const LOST: i32 = 3;

/// What a server does wrong, and a case that reports it.
#[track_caller]
fn ends(status: i32, wrong: &str, name: &str) {
    let options = ["--profile", "strict", "--only", name, "--timeout", "1000", "--jobs", "1"];
    let output = against_any(&options, &["--profile", "strict", "--misbehave", wrong]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(status), "{wrong}: {text}");
    if status == FAILS {
        assert_eq!(case(&Report::parse(&text).unwrap(), name).grade, Grade::Fail, "{wrong}");
    }
}

macro_rules! server_faults {
    ($($test:ident: $status:ident, $wrong:literal, $case:literal;)*) => {$(
        #[test]
        fn $test() {
            ends($status, $wrong, $case);
        }
    )*};
}

server_faults! {
    server_wrong_magic_fails_with_one_cause: FAILS, "magic", "scripts/process/process-info";
    server_wrong_command_set_fails_with_one_cause: FAILS, "command-set=4", "scripts/process/process-info2";
    server_larger_size_fails_with_one_cause: FAILS, "size-more=8", "scripts/process/process-info3";
    server_silent_cannot_be_asked: LOST, "never-answers", "scripts/framing/unknown-set-0500";
    server_without_header_fails_with_one_cause: FAILS, "no-header", "requests/eventpipe/5000";
    server_larger_error_fails_matching_case: FAILS, "error-size=28", "scripts/framing/unknown-set-0500";
    server_open_after_error_fails_matching_case: FAILS, "error-without-close", "scripts/framing/unknown-set-0500";
    server_larger_count_fails_matching_case: FAILS, "environment-count-more=1", "requests/tables/3480";
    server_larger_environment_fails_matching_case: FAILS, "environment-bytes-more=4", "scripts/process/process-environment";
    server_stopping_another_fails_matching_case: FAILS, "stop-another", "scripts/eventpipe/stop-id-unknown";
    server_endless_stream_fails_script: FAILS, "stream-never-ends", "scripts/eventpipe/collect-tracing2";
    server_endless_stream_fails_request: FAILS, "stream-never-ends", "requests/eventpipe/5200";
}

/// Slow is not wrong.
#[test]
#[ignore = "long: .ci/nightly long"]
fn server_slow_passes() {
    let report = against(
        &["--profile", "strict", "--only", "scripts/process"],
        &["--profile", "strict", "--misbehave", "trickle=1"],
        0,
    );
    assert_eq!((report.counts.pass, report.counts.fail), (7, 0));
}

/// The suite against a reference runtime, however it ends.
fn against_any(options: &[&str], runtime: &[&str]) -> Output {
    let spawn = ["--json", "--spawn", "--", DIAGIPC, "runtime"];
    tool::diagipc()
        .arg("server")
        .args(options)
        .args(spawn)
        .args(runtime)
        .output()
        .expect("it starts")
}

#[test]
fn running_target_gets_harmless_cases_only() {
    let directory = crate::tool::directory();
    let runtime = Runtime::start(&["--profile", "coreclr-10"], directory.path());
    let report = report(&[&runtime.1, "--only", "requests/*", "--only", "scripts/ports"], 0);
    assert!(report.cases.iter().all(|case| case.hazard.is_none()));
    let notes = report.notes.join("\n");
    for text in ["--allow-side-effects", "--allow-harmful", "use --spawn"] {
        assert!(notes.contains(text), "{text}: {notes}");
    }
}

#[test]
fn port_target_is_asked_over_port() {
    let directory = crate::tool::directory();
    let port = directory.path().join("port");
    let ports = format!("{},nosuspend", port.display());
    let _runtime =
        Runtime::start(&["--profile", "coreclr-10", "--ports", &ports], directory.path());
    let report = report(
        &[
            &format!("port:{}", port.display()),
            "--only",
            "scripts/process",
            "--only",
            "requests/eventpipe",
        ],
        0,
    );
    assert!(report.counts.pass >= 25, "{:?}", report.counts);
    assert_eq!(report.profile.as_deref(), Some("coreclr-10.0.9"));
}

#[test]
fn required_case_missing_fails() {
    let only = ["--only", "scripts/process/process-info3"];
    let lacks = ["--profile", "coreclr-3.1"];
    let none = ["--min-judged", "0"];
    let report = against(&[&lacks, &none, only.as_slice()].concat(), &lacks, 0);
    assert_eq!(case(&report, "scripts/process/process-info3").grade, Grade::Unimplemented);
    let report = against(
        &[&lacks, only.as_slice(), &["--require", "scripts/process/*"]].concat(),
        &lacks,
        1,
    );
    assert_eq!(case(&report, "scripts/process/process-info3").grade, Grade::Fail);
}

/// One that never does is lost at once.
#[test]
fn target_that_connects_to_its_port_once_is_named() {
    let directory = crate::tool::directory();
    let path = directory.path().join("port");
    let address = format!("port:{}", path.display());
    let only = ["--timeout", "500", "--only", "scripts/process/process-info", &address];
    let never = report(&only, 3);
    assert!(never.lost.unwrap().reason.starts_with("port-not-connected: "));
    let runtime = thread::spawn(move || {
        let began = Instant::now();
        let mut stream = loop {
            match UnixStream::connect(&path) {
                Ok(stream) => break stream,
                Err(_) if began.elapsed() < Duration::from_secs(20) => {
                    thread::sleep(Duration::from_millis(10));
                }
                Err(error) => panic!("{error}"),
            }
        };
        stream.write_all(&[&b"ADVR_V1\0"[..], &[7; 24], &[0; 2]].concat()).unwrap();
        stream.read_exact(&mut [0; 20]).unwrap();
        let refusal = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80";
        stream.write_all(refusal).unwrap();
    });
    let once = report(&only, 3);
    runtime.join().unwrap();
    let causes: Vec<&str> = once.causes.iter().map(|cause| cause.name.as_str()).collect();
    assert_eq!((once.cases.len(), &causes[..]), (1, &["port-not-connected"][..]));
    assert!(once.lost.unwrap().reason.contains("port-not-connected"));
}

#[test]
fn target_missing_is_lost() {
    let directory = crate::tool::directory();
    let nobody = directory.path().join("nobody").display().to_string();
    let report = report(&["--timeout", "500", &nobody], 3);
    assert!(report.lost.unwrap().not_run > 500);
    // A socket without a listener.
    let path = directory.path().join("silent");
    let _listener = UnixListener::bind(&path).unwrap();
    let said = self::report(&["--timeout", "500", &path.display().to_string()], 3);
    // The case by which it is lost says why.
    let causes: Vec<&str> = said.causes.iter().map(|cause| cause.name.as_str()).collect();
    assert_eq!((said.cases.len(), &causes[..], said.lost.is_some()), (1, &["no-answer"][..], true));
    // A missing command, one that ends, and one that does not print its endpoint.
    for command in [&["/no/such/program"][..], &["sh", "-c", "echo out of order >&2; exit 7"]] {
        let said = self::report(&[&["--spawn", "--"], command].concat(), 3);
        let reason = said.lost.unwrap().reason;
        assert!(
            reason.contains("/no/such/program")
                || reason.contains("ended with status 7") && reason.contains("out of order"),
            "{reason}"
        );
    }
}

#[test]
fn target_with_fixed_path_is_lost_with_the_reason() {
    let directory = crate::tool::directory();
    let tmpdir = format!("TMPDIR={}", directory.path().display());
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/servers/one_fault.py");
    let options = ["--only", "requests/header", "--spawn", "--"];
    let target = ["env", &tmpdir, "python3", server, "none"];
    let reason = report(&[&options[..], &target].concat(), 3).lost.unwrap().reason;
    assert!(reason.contains("Address already in use"), "{reason}");
    assert!(
        reason.contains("each start needs an endpoint of its own, such as a socket in its TMPDIR"),
        "{reason}"
    );
}

#[test]
fn running_target_death_is_lost() {
    let directory = crate::tool::directory();
    let deadly = ["--profile", "coreclr-10", "--misbehave", "dies-of-empty-payload"];
    let runtime = Runtime::start(&deadly, directory.path());
    let said = report(
        &[&runtime.1, "--allow-harmful", "--only", "requests/process", "--timeout", "1000"],
        3,
    );
    assert!(said.lost.is_some_and(|lost| lost.not_run > 0), "{:?}", said.counts);
}

#[test]
fn usage_empty_choice_or_unknown_profile_is_refused() {
    for arguments in [
        &["--list", "--only", "nothing/like/it"][..],
        &["--profile", "coreclr", "1"],
        &["port:"],
        &[],
    ] {
        let output = server(arguments, 2);
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
}

/// What was started is ended, together with its own children.
#[test]
fn spawned_targets_are_ended() {
    let directory = crate::tool::directory();
    let pids = directory.path().join("pids").display().to_string();
    let script = r#"echo $$ >>"$0"; sleep 1000 & echo $! >>"$0"; exec "$1" runtime"#;
    let options = ["--only", "scripts/process/process-info*", "--spawn", "--"];
    server(&[&options[..], &["sh", "-c", script, &pids, DIAGIPC]].concat(), 0);
    let started = fs::read_to_string(&pids).unwrap();
    assert!(started.lines().count() >= 2);
    for pid in started.lines() {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // A process whose parent does not wait for it stays as a zombie.
        assert!(state.is_empty() || state.contains(") Z "), "{pid} runs: {state}");
    }
}

/// A delay that passes and a command that it may lack are not failures. A target that does not
/// start for a case is one.
#[test]
fn server_unjudged_cases_are_noted() {
    let server = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/servers/flaky.py")
        .display()
        .to_string();
    let [flaky, lacks, descriptor, own] = [
        "scripts/framing/unknown-set-0500",
        "scripts/process/process-info2",
        "scripts/user_events/user-events",
        "scripts/ports/port-advertise",
    ];
    let mut arguments =
        vec!["--profile", "strict", "--allow-harmful", "--timeout", "1000", "--jobs", "1"];
    arguments.extend([flaky, lacks, descriptor, own].iter().flat_map(|name| ["--only", name]));
    let report = report(&[&arguments[..], &["--spawn", "--", "python3", &server]].concat(), 1);
    let notes = report.notes.join("\n");
    assert_eq!(case(&report, flaky).grade, Grade::Pass, "{notes}");
    assert!(
        notes.contains(&format!(
            "{flaky}: passed only at the second try; the first: step 2, expect on a: "
        )),
        "{notes}"
    );
    assert_eq!(case(&report, lacks).grade, Grade::Unimplemented);
    let not_started = case(&report, own);
    let found = &not_started.detail.as_ref().unwrap().found;
    assert_eq!((not_started.grade, found.len()), (Grade::Fail, 1), "{found:?}");
    assert!(
        found[0].starts_with("the target ended with status 7 before it could be reached"),
        "{found:?}"
    );
    assert_eq!(case(&report, descriptor).grade, Grade::Unimplemented);
}

/// A runtime refuses profilers until its start-up has ended, and that takes longer on a busy
/// machine.
#[test]
fn server_is_asked_again_until_its_start_has_ended() {
    let server = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/servers/early.py")
        .display()
        .to_string();
    let name = "requests/profiler/7001";
    let options =
        ["--profile", "strict", "--allow-side-effects", "--min-judged", "0", "--only", name];
    let report = report(&[&options[..], &["--spawn", "--", "python3", &server]].concat(), 0);
    assert_eq!(case(&report, name).grade, Grade::Pass, "{report:?}");
}

#[test]
fn server_case_without_its_descriptor_is_noted() {
    let files =
        ["/sys/kernel/tracing/user_events_data", "/sys/kernel/debug/tracing/user_events_data"];
    if files.iter().any(|file| fs::File::options().read(true).write(true).open(file).is_ok()) {
        return;
    }
    let name = "scripts/user_events/user-events";
    let only = ["--allow-harmful", "--only", name, "--only", "scripts/process/process-info"];
    let report =
        against(&[&["--profile", "strict"], &only[..]].concat(), &["--profile", "strict"], 0);
    let notes = report.notes.join("\n");
    let said = "1 case cannot be played here: no descriptor to pass: ";
    assert!(notes.contains(said) && notes.contains(name), "{notes}");
    assert!(report.cases.iter().all(|case| case.name != name));
}
