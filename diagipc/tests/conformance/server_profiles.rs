//! `diagipc server`: the profile of a target, what is known of its build, and what a server that is
//! not .NET may lack.

use std::fs;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

use diagipc::{Case, Grade};

use crate::server_suite::{against, cause_names, engine, engine_words, server};
use crate::tool::{Runtime, case, directory, found, run, text};

pub(crate) fn fact_of(case: &Case) -> Option<&str> {
    case.deviation.as_ref().map(|deviation| deviation.fact.as_str())
}

/// Plays every case, harmful ones too, except as NativeAOT, which is known to die of some (F-95 to
/// F-97), and as Mono, which has no `user_events`. What .NET 10 makes of so many ids is undefined
/// (F-72), as is what .NET 9 makes of three requests over a limit. The strict profile has an
/// environment for which no message has room: the size of the block has 32 bits.
#[track_caller]
fn reference_runtime_passes(profile: &str) {
    let harmful = "--allow-side-effects --allow-harmful --except filter-of-2-to-the-30-ids";
    let over = "--except collect-tracing2-no-buffer --except collect-tracing2-format-2 --except \
        providers-1001";
    let options = match profile {
        "mono" | "nativeaot-8" | "nativeaot-9" => "--spare".to_owned(),
        "coreclr-9" => format!("{harmful} {over}"),
        _ => harmful.to_owned(),
    };
    let options: Vec<&str> = options.split_whitespace().collect();
    let [large, other] = ["LARGE", "OTHER"].map(|name| format!("{name}={}", "x".repeat(60_000)));
    let runtime = ["--profile", profile, "--env", &large, "--env", &other];
    let runtime = &runtime[..if profile == "strict" { 6 } else { 2 }];
    let report = against(&[&["--profile", profile], &options[..]].concat(), runtime, 0);
    let failure = report.failures().next();
    assert_eq!((report.profile.as_deref(), failure), (Some(profile), None));
    assert!(report.counts.pass >= 75, "{profile}: {:?}", report.counts);
    let uncited: Vec<_> = report.cases.iter().filter(|case| case.spec.is_empty()).collect();
    assert!(uncited.is_empty(), "{uncited:?}");
    if profile == "strict" {
        let environment = case(&report, "scripts/process/process-environment");
        assert_eq!(environment.grade, Grade::Pass);
    }
}

#[test]
fn reference_runtime_passes_as_coreclr_native_aot_and_strict() {
    for profile in ["coreclr-10", "nativeaot-9", "strict"] {
        reference_runtime_passes(profile);
    }
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn reference_runtime_passes_as_every_other_profile() {
    for profile in ["coreclr-3.1", "coreclr-8", "coreclr-9", "coreclr-11", "nativeaot-8", "mono"] {
        reference_runtime_passes(profile);
    }
}

/// Each kind of runtime is recognised by its behaviour, also if it runs already, so that nothing
/// harmful may be asked. 3.1 does not know the question.
#[test]
fn auto_derives_profile_from_behaviour() {
    for (profile, concluded, runtime, why) in [
        ("coreclr-9", "coreclr-9.0.5", Some(".NET 9.0.5"), "ProcessInfo2 says 9.0.5"),
        ("coreclr-3.1", "coreclr-3.1", None, "refuses a header that arrives in pieces"),
        ("nativeaot-9", "nativeaot-9.0.20", Some(".NET 9.0.20"), "is NOTSUPPORTED"),
    ] {
        let only = ["--allow-side-effects", "--only", "scripts/process/process-info*"];
        let started = against(&only, &["--profile", profile], 0);
        let there = Runtime::start(&["--dies", "--profile", profile]);
        let runs = server(&[&only[..], &[&there.socket]].concat(), 0);
        for report in [started, runs] {
            let is = (report.profile.as_deref(), report.runtime.as_deref());
            assert_eq!(is, (Some(concluded), runtime), "{:?}", report.notes);
            let says = |note: &String| note.contains(why) && note.contains("--profile NAME");
            assert!(report.notes.iter().any(says), "{:?}", report.notes);
        }
    }
}

/// A runtime that reads late finds the pieces of a header together, if the second does not wait for
/// an answer to the first.
#[test]
fn profile_3_1_reading_late_is_recognised() {
    let runtime = Runtime::start(&["--profile", "coreclr-3.1"]);
    let late = runtime.path("late");
    let listener = UnixListener::bind(&late).unwrap();
    let socket = runtime.socket.clone();
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
    let report = server(&["--only", "20220", &late], 0);
    assert_eq!(report.profile.as_deref(), Some("coreclr-3.1"), "{:?}", report.notes);
}

/// A known deviation is no failure, a known fault is one, and both have the fact. A build that was
/// never recorded is compared with its nearest, and the strict profile excuses nothing.
#[test]
fn known_behaviour_is_named_by_its_fact() {
    const UNKNOWN_ID: &str = "scripts/framing/unknown-id-0300";
    for (profile, runtime, status, grade, fact) in [
        ("coreclr-10", "coreclr-10", 0, Grade::Informational, Some("F-74")),
        ("nativeaot-7", "nativeaot-9", 0, Grade::Informational, Some("F-91")),
        ("strict", "coreclr-10", 1, Grade::Fail, None),
    ] {
        let only = ["--allow-harmful", "--profile", profile, "--only", UNKNOWN_ID];
        let report = against(&only, &["--profile", runtime], status);
        let unknown = case(&report, UNKNOWN_ID);
        assert_eq!((unknown.grade, fact_of(unknown)), (grade, fact), "{profile}");
        let nearest = "profile nativeaot-7: never recorded: compared with ";
        let has_nearest = report
            .notes
            .iter()
            .any(|note| note.starts_with(nearest) && note.contains("nativeaot-8.0.31"));
        assert_eq!(has_nearest, profile == "nativeaot-7", "{:?}", report.notes);
        if profile == "strict" {
            let detail = unknown.detail.as_ref().unwrap();
            let sent = "444f544e45545f4950435f5631001400030000";
            assert!(detail.sent.json().contains(sent), "{detail:?}");
            assert!(found(unknown).contains("the connection did not end"), "{detail:?}");
        }
    }
    let only =
        ["--allow-side-effects", "--allow-harmful", "--only", "scripts/process/set-variable*"];
    let options = [&["--profile", "nativeaot-9"], &only[..]].concat();
    let report = against(&options, &["--profile", "nativeaot-9", "--dies"], 1);
    let facts =
        report.failures().map(|case| (case.name.rsplit('/').next().unwrap(), fact_of(case)));
    assert_eq!(
        facts.collect::<Vec<_>>(),
        [
            ("set-variable-then-delete-twice", Some("F-95")),
            ("set-variable-to-nothing-is-no-deletion", Some("F-95")),
            ("set-variable-without-a-name", Some("F-96")),
            ("set-variable-with-an-empty-name", Some("F-96")),
            ("set-variable-name-with-a-nul", Some("F-95")),
        ]
    );
    let said = "a known fault of this runtime, F-95: deleting a variable kills NativeAOT";
    assert!(found(report.failures().next().unwrap()).contains(said), "{report:?}");
}

/// The sessions of a suspended runtime stream once it goes on. A server that is not .NET has no such
/// excuse.
#[test]
fn session_of_a_runtime_that_waits_at_its_start_has_no_bytes() {
    let runtime = Runtime::start(&["--suspended"]);
    let session = "requests/eventpipe/5100";
    let held = server(&["--only", session, &runtime.socket], 0);
    assert_eq!(case(&held, session).grade, Grade::Pass);
    let strict = server(&["--profile", "strict", "--only", session, &runtime.socket], 1);
    assert_eq!(cause_names(&strict), ["stream-empty"]);
}

/// The suite without options has no failure against a right server of its own habits.
#[track_caller]
fn right_server_has_no_failure(options: &[&str], at_least: usize) {
    // It has no ports.
    let except =
        ["--except", "scripts/ports", "--except", "scripts/configuration/diagnostics-off-ports"];
    let report = engine(&except, options, 0);
    let failure = report.failures().next();
    assert_eq!((report.profile.as_deref(), failure), (Some("strict"), None), "{options:?}");
    assert!(report.counts.pass >= at_least, "{:?}", report.counts);
}

#[test]
fn right_server_of_one_command_has_no_failure() {
    right_server_has_no_failure(&["--commands", "ProcessInfo"], 20);
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn right_server_of_other_habits_has_no_failure() {
    for options in [
        &[][..],
        &["--concurrent"],
        &["--version", "9.0.5-engine"],
        &["--many-writes"],
        &["--keep-open", "--concurrent"],
    ] {
        right_server_has_no_failure(options, 70);
    }
    // No harmful case kills it.
    let only = ["scripts/ports", "scripts/harmful", "scripts/process", "requests/dump"];
    let only: Vec<&str> = only.iter().flat_map(|only| ["--only", only]).collect();
    // Ports that were not judged fail the run, since no claim says that there are none.
    let all = engine(&[&["--allow-side-effects", "--allow-harmful"], &only[..]].concat(), &[], 1);
    assert_eq!(all.counts.fail, 0);
    for (name, lacks) in [
        ("scripts/ports/port-advertise", "diagnostic ports: two attempts without a connection"),
        ("scripts/process/suspended-until-resumed", "suspension at startup"),
    ] {
        assert!(found(case(&all, name)).contains(lacks), "{name}");
    }
}

/// A command that the target refuses as unknown is unimplemented, and a line of the text with the
/// number of its cases. A runtime that should have it, or a case that is required, is not excused.
#[test]
fn command_refused_as_unknown_is_unimplemented_unless_expected() {
    const NAME: &str = "scripts/eventpipe/collect-tracing3";
    let said = "CollectTracing3: DS_IPC_E_UNKNOWN_COMMAND to a complete and valid message";
    let only = ["--min-judged", "0", "--only", NAME, "--only", "requests/eventpipe/530*"];
    let report = engine(&only, &[], 0);
    let lacks = case(&report, NAME);
    assert_eq!((lacks.grade, found(lacks)), (Grade::Unimplemented, said.to_owned()));
    let words = engine_words(&[]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let shown = text(&run(&[&["server"], &only[..], &words].concat(), b"", 0));
    let (_, lacks) = shown.split_once("What the target does not support, ").expect(&shown);
    let [counted, line] = lacks.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>()[..]
    else {
        panic!("one command: {lacks}")
    };
    let cases = counted.strip_suffix(" cases:").unwrap();
    assert_eq!(line.trim_start(), format!("{cases}  {said}"));
    assert_eq!(cases.parse(), Ok(report.counts.unimplemented));
    for expected in [["--profile", "coreclr-9"], ["--require", "*/collect-tracing3"]] {
        let report = engine(&[&["--only", NAME], &expected[..]].concat(), &[], 1);
        assert_eq!(case(&report, NAME).grade, Grade::Fail);
    }
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn target_file_declares_claims() {
    let directory = directory();
    let path = directory.path().join("target.toml").display().to_string();
    let played = |text: &str, options: &[&str], status: i32| {
        fs::write(&path, text).unwrap();
        let only =
            ["--only", "scripts/process/process-info*", "--only", "scripts/eventpipe/netperf"];
        engine(&[&["--claims", &path], &only[..]].concat(), options, status)
    };
    let (info2, netperf) = ("scripts/process/process-info2", "scripts/eventpipe/netperf");
    let claims = "name = \"my engine\"\ncommands = [\"ProcessInfo\", \"CollectTracing2\", \"StopTracing\"]\n[abilities]\nnetperf = false\n";
    let report = played(claims, &[], 0);
    assert_eq!(report.target, "my engine");
    assert_eq!(found(case(&report, info2)), "ProcessInfo2: not claimed");
    assert_eq!(found(case(&report, netperf)), "streams in the netperf format: not claimed");
    assert_eq!(case(&report, "scripts/process/process-info").grade, Grade::Pass);
    // A claimed but missing part fails.
    let claims = "commands = [\"ProcessInfo\", \"ProcessInfo2\", \"ProcessInfo3\", \"CollectTracing2\", \"StopTracing\"]\n[abilities]\nnetperf = true\n";
    let report = played(claims, &["--commands", "ProcessInfo,CollectTracing2,StopTracing"], 1);
    for name in [info2, netperf] {
        assert_eq!(case(&report, name).grade, Grade::Fail, "{name}");
    }
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/servers/engine.toml");
    let report = engine(&["--claims", shipped, "--only", "scripts/framing"], &[], 0);
    assert_eq!(report.target, "engine");
}
