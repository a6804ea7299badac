//! `diagipc server`: profiles and claims, targets of every kind, and what a report says besides its
//! failures.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use diagipc::network::Listener;
use diagipc::record::{Proxy, Witness};
use diagipc::{Grade, Report};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc::io::{Canceller, Endpoint};
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::player::TurnDirection;
use dotnet_diagnostics_ipc_vectors::{Test, Type};

use crate::server_profiles::fact_of;
use crate::tool::{
    self, DIAGIPC, Runtime, case, causes, directory, errors, fixture, found, report, run,
    run_command, text,
};

#[track_caller]
pub(crate) fn server(arguments: &[&str], status: i32) -> Report {
    report(&[&["server"], arguments].concat(), status)
}

/// The suite against a reference runtime that it starts.
#[track_caller]
pub(crate) fn against(options: &[&str], runtime: &[&str], status: i32) -> Report {
    let spawn = ["--jobs", "8", "--spawn", "--", DIAGIPC, "runtime"];
    server(&[options, &spawn, runtime].concat(), status)
}

/// The words that start the engine of the fixtures: a right server that is not .NET.
pub(crate) fn engine_words(options: &[&str]) -> Vec<String> {
    let engine = fixture("servers/engine.py");
    let words = ["--spawn", "--", "python3", &engine].into_iter().chain(options.iter().copied());
    words.map(str::to_owned).collect()
}

#[track_caller]
pub(crate) fn engine(options: &[&str], engine: &[&str], status: i32) -> Report {
    let words = engine_words(engine);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    server(&[options, &words].concat(), status)
}

pub(crate) fn cause_names(report: &Report) -> Vec<&str> {
    causes(report).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn cases_are_listed_with_their_hazards_and_chosen_by_only_and_except() {
    let listed = |options: &[&str]| text(&run(&[&["server", "--list"], options].concat(), b"", 0));
    let all = listed(&[]);
    assert!(all.lines().count() >= 500, "{}", all.lines().count());
    let is_harmless = |line: &&str| !line.contains("  harmful") && !line.ends_with("  side-effect");
    assert!(all.lines().filter(is_harmless).count() >= 150);
    // The recordings say which builds died of it.
    assert!(all.contains("scripts/harmful/dump-without-payload  harmful: ended win-net6.0.13, "));
    let process = ["--only", "scripts/process"];
    let some =
        listed(&[&process[..], &["--except", "*process-info*", "--except", "resume*"]].concat());
    assert!(some.contains("scripts/process/process-environment\n"), "{some}");
    assert!(!some.contains("process-info") && !some.contains("/resume"), "{some}");
}

#[test]
fn option_that_chooses_nothing_or_is_wrong_is_refused() {
    let directory = directory();
    let claims = |nth: u8, text: &str| {
        let path = directory.path().join(nth.to_string());
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let unknown = claims(0, "commands = [\"X\"]");
    let misspelled = claims(1, "\n[abilities]\nport = true");
    for (arguments, why) in [
        (&["--list", "--only", "nothing/like/it"][..], "no case matches nothing/like/it"),
        (&["--list", "--except", "no-such-case"], "no case matches no-such-case"),
        (&["--list", "--except", "*"], "--except leaves no case"),
        (&["--profile", "coreclr", "1"], "coreclr"),
        (&["port:"], "port"),
        (&[&unknown], "is a file, not a socket; to start it: --spawn -- /"),
        (&["--claims", &unknown, "1"], "commands has X"),
        (&["--claims", &misspelled, "1"], "line 3: unknown variant `port`"),
        (&[], ""),
    ] {
        let said = errors(&[&["server"], arguments].concat(), 2);
        assert!(!said.is_empty() && said.contains(why), "{arguments:?}: {said}");
    }
}

/// What a read-only run with `--profile auto` sends to a runtime that runs already and dies of what
/// kills the recorded build. It survives.
#[track_caller]
fn sent_read_only(profile: &str) -> Vec<Vec<u8>> {
    let mut runtime = Runtime::start(&["--dies", "--profile", profile]);
    let at = runtime.path("recorded");
    let (listener, canceller) = (Listener::bind(&at).unwrap(), Canceller::new().unwrap());
    // What clients sent, by connection.
    let sent: Arc<Mutex<BTreeMap<usize, Vec<u8>>>> = Arc::default();
    let all = Arc::clone(&sent);
    let witness: Witness = Arc::new(move |event, bytes| {
        if event.by == TurnDirection::Sent && !bytes.is_empty() {
            all.lock().unwrap().entry(event.connection).or_default().extend_from_slice(bytes);
        }
    });
    let proxy = Proxy::new(listener, Endpoint::socket(&runtime.socket));
    let proxy = Proxy { witness: Some(witness), ..proxy };
    thread::scope(|scope| {
        scope.spawn(|| proxy.run(&canceller, None, &|_| ()));
        let report = tool::diagipc().args(["server", "--json", &at]).output().unwrap();
        canceller.cancel();
        let report = Report::parse(&text(&report)).unwrap();
        assert!(report.lost.is_none() && report.counts.pass > 100, "{:?}", report.counts);
    });
    assert!(runtime.process.try_wait().unwrap().is_none(), "{profile} died");
    std::mem::take(&mut *sent.lock().unwrap()).into_values().collect()
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

#[test]
fn running_target_gets_harmless_cases_only() {
    let runtime = Runtime::start(&["--profile", "coreclr-10"]);
    let report = server(&[&runtime.socket, "--only", "requests/*", "--only", "scripts/ports"], 0);
    assert!(report.cases.iter().all(|case| case.hazard.is_none()));
    let notes = report.notes.join("\n");
    for text in ["--allow-side-effects", "--allow-harmful", "use --spawn"] {
        assert!(notes.contains(text), "{text}: {notes}");
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
    let [root, current, temporary] = [(); 3].map(|()| directory());
    let script = fixture("servers/writes_files.py");
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
    let report = Report::parse(&text(&output)).unwrap();
    assert_eq!(report.lost, None);
    // The target was asked for these.
    for name in ["requests/dump/4001", "requests/dump/4003", "requests/process/8201"] {
        assert_eq!(case(&report, name).grade, Grade::Pass, "{name}");
    }
    let left = files_below(&[root.path(), current.path(), temporary.path()]);
    assert!(left.is_empty(), "{left:?}");
}

/// `diagipc server --spawn -- ./my-server`, as in README. A target that is asked for a dump runs in
/// another directory, so nothing is written here.
#[test]
fn spawned_target_runs_in_current_directory() {
    let here = directory();
    let program = here.path().join("my-server");
    let engine = fixture("servers/engine.py");
    fs::write(&program, format!("#!/bin/sh\nexec python3 \"{engine}\"\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    for only in ["scripts/process/process-info", "scripts/dump_profiler/dump-full"] {
        let mut command = tool::diagipc();
        command.args([
            "server",
            "--json",
            "--allow-side-effects",
            "--allow-harmful",
            "--only",
            only,
        ]);
        command.args(["--min-judged", "0", "--spawn", "--", "./my-server"]);
        command.current_dir(here.path());
        run_command(command, b"", 0);
    }
    assert_eq!(files_below(&[here.path()]), [program]);
}

/// A harmful request has a target of its own, or, with `--keep-target`, one that all share and that
/// is started again once it has died.
#[test]
fn kept_target_is_shared_by_harmful_requests() {
    const DIES: [&str; 4] = ["--profile", "strict", "--misbehave", "dies-of-empty-payload"];
    let starts = |options: &[&str], runtime: &[&str]| {
        let directory = directory();
        let list = directory.path().join("starts");
        let output = tool::diagipc()
            .args(["server", "--json", "--allow-harmful", "--jobs", "1"])
            .args(["--only", "requests/header/212*"])
            .args(options)
            .args(["--spawn", "--", "sh", "-c", "echo >>\"$0\"; exec \"$@\""])
            .arg(&list)
            .args([DIAGIPC, "runtime", "--until-eof"])
            .args(runtime)
            .output()
            .unwrap();
        let report = Report::parse(&text(&output)).unwrap();
        assert_eq!(report.lost, None);
        (report, fs::read_to_string(list).unwrap().len())
    };
    let (strict, kept) = (["--profile", "strict"], ["--profile", "strict", "--keep-target"]);
    let runs: [(&[&str], &[&str]); 3] = [(&strict, &strict), (&kept, &strict), (&kept, &DIES)];
    let [(each, own), (shared, kept), (report, again)] = thread::scope(|scope| {
        let begun = runs.map(|(options, runtime)| scope.spawn(move || starts(options, runtime)));
        begun.map(|run| run.join().unwrap())
    });
    assert_eq!(each.counts, shared.counts);
    assert!(each.counts.fail == 0 && own >= 5 && kept < 3, "{own} starts, kept: {kept}");
    // A target that dies of some requests is started again for the others.
    assert!((kept + 1..=own).contains(&again), "{again} starts");
    assert_eq!(report.cases.len(), each.cases.len());
    assert!(report.counts.fail > 0 && report.counts.pass > 0, "{:?}", report.counts);
}

/// F-72: a death belongs to one case, and the next one has a new target. The strict profile fails
/// the case, and says how the target ended.
#[test]
#[ignore = "long: .ci/nightly long"]
fn target_death_is_reported_and_run_continues() {
    let only = ["--allow-harmful", "--only", "scripts/harmful/*-without-payload"];
    let deadly = ["--profile", "coreclr-10", "--misbehave", "dies-of-empty-payload"];
    let report = against(&only, &deadly, 0);
    let deaths = report.cases.iter().filter(|case| fact_of(case) == Some("F-72")).count();
    assert!(deaths >= 10 && report.lost.is_none(), "{deaths} deaths, {:?}", report.lost);
    assert_eq!(report.cases.len(), 14);
    let strict = against(&[&["--profile", "strict"], only.as_slice()].concat(), &deadly, 1);
    let death = found(case(&strict, "scripts/harmful/dump-without-payload"));
    assert!(death.contains("was killed by signal 6"), "{death}");
}

/// The cause has the request before the death, and what the target wrote last.
#[test]
fn cause_of_a_crash_has_the_last_words_of_the_target() {
    let (fixture, only) = (fixture("servers/server.py"), "requests/eventpipe/5250");
    let target = ["--only", only, "--spawn", "--", "python3", &fixture];
    let report = server(&[&target[..], &["--fault", "dies-on-empty-payload"]].concat(), 1);
    let crash = report.causes.iter().find(|cause| cause.name == "crash").unwrap();
    assert_eq!(
        crash.text,
        "the target ended with status 3 after EventPipe/CollectTracing2 of 20 bytes; \
         on standard error: payload[0]: index out of range"
    );
}

/// A running target cannot be started again, so the run ends, and the case of its death is named.
#[test]
fn running_target_death_is_lost() {
    let deadly = ["--profile", "coreclr-10", "--misbehave", "dies-of-empty-payload"];
    let runtime = Runtime::start(&deadly);
    let only = ["--allow-harmful", "--only", "requests/process", "--timeout", "1000"];
    let lost = server(&[&[&*runtime.socket], &only[..]].concat(), 3).lost.unwrap();
    assert!(lost.not_run > 0 && lost.reason.starts_with("by requests/process/"), "{lost:?}");
}

#[test]
fn target_that_cannot_be_asked_is_lost_with_the_reason() {
    let directory = directory();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let lost = server(&["--timeout", "500", &path("nobody")], 3).lost.unwrap();
    assert!(lost.not_run > 500, "{lost:?}");
    // The case by which it is lost says why.
    let _listener = UnixListener::bind(path("silent")).unwrap();
    let silent = server(&["--timeout", "500", &path("silent")], 3);
    assert_eq!((silent.cases.len(), cause_names(&silent)), (1, vec!["no-answer"]));
    assert!(silent.lost.is_some());
    let tmpdir = format!("TMPDIR={}", directory.path().display());
    let fixed_path = fixture("servers/one_fault.py");
    for (command, reasons) in [
        (&["/no/such/program"][..], &["/no/such/program"][..]),
        (&["sh", "-c", "echo out of order >&2; exit 7"], &["ended with status 7", "out of order"]),
        (
            &["env", &tmpdir, "python3", &fixed_path, "none"],
            &[
                "Address already in use",
                "each start needs an endpoint of its own, such as a socket in its TMPDIR",
            ],
        ),
    ] {
        let options = ["--only", "requests/header", "--spawn", "--"];
        let reason = server(&[&options[..], command].concat(), 3).lost.unwrap().reason;
        assert!(reasons.iter().all(|part| reason.contains(part)), "{reason}");
    }
}

/// The case after which the target hangs is named, though it is answered as it should be.
#[test]
fn case_that_hangs_the_target_afterwards_fails() {
    let path = fixture("servers/one_fault.py");
    // After a part of a header a server may close, but it must serve the next client.
    for name in ["scripts/framing/unknown-set-0500", "scripts/framing/input-ends-after-13"] {
        let mut options = vec!["--timeout", "500", "--jobs", "1", "--profile", "strict"];
        options.extend(["--only", name, "--only", "scripts/framing/unknown-id-04ff"]);
        options.extend(["--spawn", "--", "python3", &path, "wedges-later"]);
        let report = server(&options, 1);
        let failed: Vec<_> = report.failures().map(|case| case.name.as_str()).collect();
        assert_eq!(failed, [name], "{:?}", report.counts);
    }
}

/// The run ends long before all cases have waited in vain.
#[test]
fn target_without_a_valid_answer_is_given_up() {
    let program = fixture("servers/answers_after_the_end.py");
    let report = server(&["--timeout", "1000", "--spawn", "--", "python3", &program], 3);
    assert!(cause_names(&report).contains(&"no-answer"), "{:?}", cause_names(&report));
    let lost = report.lost.unwrap();
    assert!(lost.reason.contains("no request was answered: "), "{lost:?}");
    assert!(lost.not_run > 0, "{lost:?}");
}

#[test]
fn port_target_is_asked_over_port() {
    let directory = directory();
    let port = directory.path().join("port").display().to_string();
    let ports = format!("{port},nosuspend");
    let _runtime = Runtime::start(&["--profile", "coreclr-10", "--ports", &ports]);
    let only = ["--only", "scripts/process", "--only", "requests/eventpipe"];
    let report = server(&[&[&*format!("port:{port}")], &only[..]].concat(), 0);
    assert!(report.counts.pass >= 25, "{:?}", report.counts);
    assert_eq!(report.profile.as_deref(), Some("coreclr-10.0.9"));
}

/// A runtime that never connects is lost at once, one that connects once is lost with its first case.
#[test]
fn target_that_connects_to_its_port_once_is_named() {
    let directory = directory();
    let path = directory.path().join("port");
    let address = format!("port:{}", path.display());
    let only = ["--timeout", "500", "--only", "scripts/process/process-info", &address];
    let never = server(&only, 3);
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
    let once = server(&only, 3);
    runtime.join().unwrap();
    assert_eq!((once.cases.len(), cause_names(&once)), (1, vec!["port-not-connected"]));
    assert!(once.lost.unwrap().reason.contains("port-not-connected"));
}

#[test]
fn run_with_too_few_judged_cases_fails() {
    let only =
        ["--only", "scripts/eventpipe/collect-tracing*", "--only", "scripts/process/process-info"];
    let judged = |min: &str, status| {
        let options = [&["--min-judged", min], &only[..]].concat();
        engine(&options, &["--commands", "ProcessInfo"], status)
    };
    let report = judged("60", 1);
    let few = report.too_few_judged.unwrap();
    assert_eq!((few.least_percent, few.of, report.counts.fail), (60, report.cases.len(), 0));
    assert!(few.judged * 100 < few.of * 60, "{few:?}");
    assert_eq!(judged("1", 0).too_few_judged, None);
}

#[test]
fn fail_fast_and_max_time_end_the_run() {
    for (options, faults, failures) in [
        (&["--fail-fast", "--only", "scripts/process"][..], &["--wrong-size"][..], 1),
        (&["--max-time", "1"], &["--many-writes", "--concurrent"], 0),
    ] {
        let options = [options, &["--jobs", "1", "--only", "scripts/framing"]].concat();
        let report = engine(&options, faults, 1);
        assert_eq!(report.counts.fail, failures);
        assert!(report.interrupted.is_some_and(|one| one.not_run > 0), "{options:?}");
    }
}

/// A delay that passes and a command that it may lack are not failures. A target that does not
/// start for a case is one.
#[test]
fn server_unjudged_cases_are_noted() {
    let path = fixture("servers/one_fault.py");
    let [flaky, lacks, descriptor, own] = [
        "scripts/framing/unknown-set-0500",
        "scripts/process/process-info2",
        "scripts/user_events/user-events",
        "scripts/ports/port-advertise",
    ];
    let mut options =
        vec!["--profile", "strict", "--allow-harmful", "--timeout", "1000", "--jobs", "1"];
    options.extend([flaky, lacks, descriptor, own].iter().flat_map(|name| ["--only", name]));
    let command = ["--spawn", "--", "python3", &path, "flaky"];
    let report = server(&[&options[..], &command].concat(), 1);
    let notes = report.notes.join("\n");
    assert_eq!(case(&report, flaky).grade, Grade::Pass, "{notes}");
    let note = format!("{flaky}: passed only at the second try; the first: step 2, expect on a: ");
    assert!(notes.contains(&note), "{notes}");
    for name in [lacks, descriptor] {
        assert_eq!(case(&report, name).grade, Grade::Unimplemented);
    }
    let (grade, said) = (case(&report, own).grade, found(case(&report, own)));
    let why = "the target ended with status 7 before it could be reached";
    assert!(grade == Grade::Fail && said.starts_with(why), "{said}");
}

/// A runtime refuses profilers until its start-up has ended, and that takes longer on a busy
/// machine.
#[test]
fn server_is_asked_again_until_its_start_has_ended() {
    let (path, name) = (fixture("servers/one_fault.py"), "requests/profiler/7001");
    let options = ["--profile", "strict", "--allow-side-effects", "--min-judged", "0"];
    let only = ["--only", name, "--spawn", "--", "python3", &path, "starts-late"];
    let report = server(&[&options[..], &only[..]].concat(), 0);
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
    let options = [&["--profile", "strict"], &only[..]].concat();
    let report = against(&options, &["--profile", "strict"], 0);
    let said = "1 case cannot be played here: no descriptor to pass: ";
    let notes = report.notes.join("\n");
    assert!(notes.contains(said) && notes.contains(name), "{notes}");
    assert!(report.cases.iter().all(|case| case.name != name));
}
