//! `diagipc server` and third-party servers: the profile is derived from a server's behaviour, what
//! it does not have is detected or declared, and a correct server with its own taste has no
//! failure.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use diagipc::{Case, Grade, Report};

use crate::tool::{self, DIAGIPC};

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/servers")
        .join(name)
        .display()
        .to_string()
}

fn run(arguments: &[&str]) -> Output {
    let output = tool::diagipc().arg("server").args(arguments).output().expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{errors}");
    output
}

/// The report of a run that ends with `status`.
#[track_caller]
fn report(arguments: &[&str], status: i32) -> Report {
    let output = run(&[&["--json"], arguments].concat());
    let (text, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments:?}: {errors}{}",
        text.chars().take(4000).collect::<String>()
    );
    Report::parse(&text).unwrap()
}

/// All cases that do not kill the engine of the fixtures, which is started with `engine`.
#[track_caller]
fn engine(options: &[&str], engine: &[&str], status: i32) -> Report {
    let path = fixture("engine.py");
    report(&[options, &["--spawn", "--", "python3", &path], engine].concat(), status)
}

#[track_caller]
fn runtime(options: &[&str], runtime: &[&str], status: i32) -> Report {
    report(
        &[options, &["--jobs", "4", "--spawn", "--", DIAGIPC, "runtime"], runtime].concat(),
        status,
    )
}

#[track_caller]
fn case<'r>(report: &'r Report, name: &str) -> &'r Case {
    report
        .cases
        .iter()
        .find(|case| case.name == name)
        .unwrap_or_else(|| panic!("{name} was not played"))
}

fn found(case: &Case) -> String {
    case.detail.as_ref().map(|detail| detail.found.join("; ")).unwrap_or_default()
}

/// What is recognised, by the behaviour of each kind of reference runtime.
#[test]
fn auto_derives_profile_from_behaviour() {
    for (profile, concluded, why) in [
        ("coreclr-9", "coreclr-9.0.5", "ProcessInfo2 says 9.0.5"),
        ("coreclr-3.1", "coreclr-3.1", "refuses a header that arrives in pieces"),
        ("nativeaot-9", "nativeaot-9.0.20", "NOTSUPPORTED: NativeAOT"),
    ] {
        let report =
            runtime(&["--only", "scripts/process/process-info*"], &["--profile", profile], 0);
        assert_eq!(report.profile.as_deref(), Some(concluded), "{:?}", report.notes);
        assert!(
            report.notes.iter().any(|note| note.contains(why) && note.contains("--profile NAME")),
            "{:?}",
            report.notes
        );
    }
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn auto_without_dotnet_evidence_is_strict() {
    for (version, options, why) in [
        ("1.0.0", &[][..], "\"1.0.0\" is not that of a released .NET"),
        ("9.0.5", &[][..], "it does not know CollectTracing"),
        ("9.0.5", &["--concurrent"][..], "it answers a second client while the first is silent"),
        ("9.0.5", &["--keep-open"][..], "several requests on one connection"),
    ] {
        let report = engine(
            &["--only", "scripts/process/process-info"],
            &[&["--version", version], options].concat(),
            0,
        );
        assert_eq!(report.profile.as_deref(), Some("strict"));
        assert!(report.notes.iter().any(|note| note.contains(why)), "{why}: {:?}", report.notes);
    }
}

macro_rules! right_servers {
    ($($(#[$meta:meta])* $test:ident: $least:literal, [$($option:literal),*];)*) => {$(
        #[test]
        $(#[$meta])*
        fn $test() {
            let report = engine(&[], &[$($option),*], 0);
            assert_eq!((report.profile.as_deref(), report.counts.fail), (Some("strict"), 0), "{:?}", report.failures().next());
            assert!(report.counts.pass >= $least, "{:?}", report.counts);
        }
    )*};
}

right_servers! {
    #[ignore = "long: .ci/nightly long"]
    server_correct_small_has_no_failure: 70, [];
    #[ignore = "long: .ci/nightly long"]
    server_correct_concurrent_has_no_failure: 70, ["--concurrent"];
    #[ignore = "long: .ci/nightly long"]
    server_correct_other_version_has_no_failure: 70, ["--version", "9.0.5-engine"];
    #[ignore = "long: .ci/nightly long"]
    server_correct_many_writes_has_no_failure: 70, ["--many-writes"];
    #[ignore = "long: .ci/nightly long"]
    server_correct_open_connections_has_no_failure: 70, ["--keep-open", "--concurrent"];
    server_correct_one_command_has_no_failure: 20, ["--commands", "ProcessInfo"];
}

/// The engine that once passed both correct and broken.
#[test]
#[ignore = "long: .ci/nightly long"]
fn server_broken_other_version_fails() {
    let report =
        engine(&["--only", "scripts/process", "--only", "scripts/framing"], &["--wrong-size"], 1);
    assert_eq!(report.profile.as_deref(), Some("strict"));
    assert!(report.counts.fail >= 5, "{:?}", report.counts);
}

/// No harmful case kills it, and it has what it claims.
#[test]
#[ignore = "long: .ci/nightly long"]
fn server_correct_passes_side_effect_and_harmful_cases() {
    let only = [
        "--only",
        "scripts/ports",
        "--only",
        "scripts/harmful",
        "--only",
        "scripts/process",
        "--only",
        "requests/dump",
    ];
    let report =
        engine(&[&["--allow-side-effects", "--allow-harmful"], &only[..]].concat(), &[], 0);
    assert_eq!(report.counts.fail, 0);
    let lacks = found(case(&report, "scripts/ports/port-advertise"));
    assert!(lacks.contains("diagnostic ports: no connection"), "{lacks}");
    assert!(
        found(case(&report, "scripts/process/suspended-until-resumed"))
            .contains("suspension at startup")
    );
}

/// Written in another language and from `spec/` and `vectors/` alone. It serves clients in parallel
/// and knows 12 commands.
#[test]
#[ignore = "long: .ci/nightly long"]
fn server_in_another_language_has_no_failure() {
    if let Err(error) = std::process::Command::new("node").arg("--version").output() {
        eprintln!("SKIPPED {}:{}: there is no node: {error}", file!(), line!());
        return;
    }
    let path = fixture("engine.js");
    let report = report(&["--allow-side-effects", "--spawn", "--", "node", &path], 0);
    assert_eq!((report.profile.as_deref(), report.counts.fail), (Some("strict"), 0));
    assert!(report.counts.pass > 100, "{:?}", report.counts);
}

#[test]
fn command_refused_as_unknown_is_unimplemented() {
    let report = engine(&["--only", "eventpipe"], &[], 0);
    let lacks = case(&report, "scripts/eventpipe/collect-tracing3");
    let said = "CollectTracing3: DS_IPC_E_UNKNOWN_COMMAND to a complete and valid message";
    assert_eq!((lacks.grade, found(lacks)), (Grade::Unimplemented, said.to_owned()));
    // A runtime that should have it is not excused.
    let report =
        engine(&["--profile", "coreclr-9", "--only", "scripts/eventpipe/collect-tracing3"], &[], 1);
    assert_eq!(report.counts.fail, 1);
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn target_file_declares_claims() {
    let directory = crate::tool::directory();
    let file = |text: &str| {
        let path = directory.path().join("target.toml");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let only = ["--only", "scripts/process/process-info*", "--only", "scripts/eventpipe/netperf"];
    let path = file(
        "name = \"my engine\"\ncommands = [\"ProcessInfo\", \"CollectTracing2\", \"StopTracing\"]\n[abilities]\nnetperf = false\n",
    );
    let report = engine(&[&["--claims", &path], &only[..]].concat(), &[], 0);
    assert_eq!(report.target, "my engine");
    assert_eq!(found(case(&report, "scripts/process/process-info2")), "ProcessInfo2: not claimed");
    assert_eq!(
        found(case(&report, "scripts/eventpipe/netperf")),
        "streams in the netperf format: not claimed"
    );
    assert_eq!(case(&report, "scripts/process/process-info").grade, Grade::Pass);
    // A claimed but missing part fails.
    let path = file(
        "commands = [\"ProcessInfo\", \"ProcessInfo2\", \"ProcessInfo3\", \"CollectTracing2\", \"StopTracing\"]\n[abilities]\nnetperf = true\n",
    );
    let report = engine(
        &[&["--claims", &path], &only[..]].concat(),
        &["--commands", "ProcessInfo,CollectTracing2,StopTracing"],
        1,
    );
    for name in ["scripts/process/process-info2", "scripts/eventpipe/netperf"] {
        assert_eq!(
            case(&report, name).grade,
            Grade::Fail,
            "{name}: {}",
            found(case(&report, name))
        );
    }
    for (text, error) in [
        ("commands = [\"X\"]", "commands has X"),
        ("\n[abilities]\nport = true", "line 3: unknown field `port`"),
    ] {
        let output = run(&["--claims", &file(text), "1"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            String::from_utf8_lossy(&output.stderr).contains(error),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let shipped =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("servers/engine.toml").display().to_string();
    let report = engine(&["--claims", &shipped, "--only", "scripts/framing"], &[], 0);
    assert_eq!(report.target, "engine");
}

#[test]
fn run_with_too_few_judged_cases_fails() {
    let only =
        ["--only", "scripts/eventpipe/collect-tracing*", "--only", "scripts/process/process-info"];
    let options = ["--commands", "ProcessInfo"];
    let judged =
        |min: &str, status| engine(&[&["--min-judged", min], &only[..]].concat(), &options, status);
    let report = judged("60", 1);
    let few = report.too_few_judged.unwrap();
    assert_eq!((few.least_percent, few.of, report.counts.fail), (60, report.cases.len(), 0));
    assert!(few.judged * 100 < few.of * 60, "{few:?}");
    assert_eq!(judged("1", 0).too_few_judged, None);
    let text = run(&[
        &["--min-judged", "60"],
        &only[..],
        &["--spawn", "--", "python3", &fixture("engine.py")],
        &options[..],
    ]
    .concat());
    assert_eq!(text.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&text.stdout).contains("TOO FEW JUDGED  only "));
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn server_silent_on_unknown_commands_fails_each() {
    let only =
        ["--only", "scripts/framing/unknown*", "--only", "scripts/eventpipe/collect-tracing*"];
    let options = [&["--timeout", "1000"], &only[..]].concat();
    let report = engine(&options, &["--silent-on-unknown"], 1);
    assert!(report.counts.fail >= 10, "{:?}", report.counts);
    for case in report.failures() {
        let found = found(case);
        assert!(
            found.contains("nothing more was received after 0 bytes") || found.contains("no reply"),
            "{}: {found}",
            case.name
        );
    }
}

#[test]
fn fail_fast_ends_run_at_first_failure() {
    let path = fixture("engine.py");
    let arguments = [
        "--json",
        "--fail-fast",
        "--jobs",
        "1",
        "--only",
        "scripts/process",
        "--only",
        "scripts/framing",
    ];
    let output =
        run(&[&arguments[..], &["--spawn", "--", "python3", &path, "--wrong-size"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let report = Report::parse(&String::from_utf8_lossy(&output.stdout)).unwrap();
    assert_eq!(report.counts.fail, 1);
    assert!(report.interrupted.is_some_and(|one| one.not_run > 10), "{:?}", report.interrupted);
    // The report says it all.
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn max_time_ends_run_and_fails_it() {
    let report = engine(
        &["--max-time", "1", "--only", "scripts/framing", "--jobs", "1"],
        &["--many-writes", "--concurrent"],
        1,
    );
    assert!(
        report.counts.fail == 0 && report.interrupted.is_some_and(|one| one.not_run > 0),
        "{:?}",
        report.interrupted
    );
}

#[test]
fn case_that_lost_target_is_named() {
    let directory = crate::tool::directory();
    let server = fixture("wedges.py");
    let mut target = tool::python()
        .arg(&server)
        .env("TMPDIR", directory.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let socket = directory.path().join("server");
    while !socket.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let options = [
        "--allow-harmful",
        "--allow-side-effects",
        "--timeout",
        "500",
        "--only",
        "requests/process",
    ];
    let report = report(&[&options[..], &[&socket.display().to_string()]].concat(), 3);
    let _ = target.kill();
    let _ = target.wait();
    let reason = report.lost.unwrap().reason;
    assert!(reason.starts_with("by requests/process/"), "{reason}");
}

/// `diagipc server --spawn -- ./my-server`, as in README.
#[test]
fn spawned_target_runs_in_current_directory() {
    let directory = crate::tool::directory();
    let program = directory.path().join("my-server");
    fs::write(&program, format!("#!/bin/sh\nexec python3 \"{}\"\n", fixture("engine.py"))).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let run = |only: &str| {
        let mut command = tool::diagipc();
        command.current_dir(directory.path()).args([
            "server",
            "--json",
            "--allow-side-effects",
            "--allow-harmful",
            "--min-judged",
            "0",
            "--only",
            only,
        ]);
        command.args(["--spawn", "--", "./my-server"]).output().unwrap()
    };
    // A target that is asked for a dump runs in another directory: nothing is written here.
    for only in ["scripts/process/process-info", "scripts/dump_profiler/dump-full"] {
        let output = run(only);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{only}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
    let files: Vec<PathBuf> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files, [program]);
}
