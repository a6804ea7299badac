//! `trace` and `dump`: which process, which events, for how long, into which file.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::{diagipc, errors, json};
use crate::tool::Runtime;

/// The only file of a directory, by its name.
fn only_file(directory: &Path) -> String {
    let names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    names.into_iter().next().unwrap()
}

#[test]
fn file_has_name_of_process_and_time() {
    let runtime = Runtime::start(&["--entry-assembly", "a/p p"]);
    let old = Runtime::start(&["--profile", "coreclr-3.1"]);
    // `-` would make it an option, and a file's name has at most 255 bytes.
    let long = Runtime::start(&[&format!("--entry-assembly=-{}", "語".repeat(100))]);
    for (runtime, begins) in [
        (&runtime, format!("a_p_p_{}_", runtime.pid())),
        (&old, "process_".into()),
        (&long, format!("_{}_", "語".repeat(59))),
    ] {
        let here = crate::tool::directory();
        let mut command = diagipc(&["trace", &runtime.pid(), "-d", "100ms"]);
        assert!(command.current_dir(here.path()).stderr(Stdio::null()).status().unwrap().success());
        let name = only_file(here.path());
        let time = name.strip_prefix(&begins).unwrap().strip_suffix("Z.nettrace").unwrap();
        let (day, time) = time.split_once('T').unwrap();
        assert!(day.len() == 8 && time.len() == 6, "{name}");
        assert!(day.bytes().chain(time.bytes()).all(|byte| byte.is_ascii_digit()), "{name}");
    }
}

#[test]
fn process_is_found_by_id_or_name() {
    let name = format!("app-of-test-{}", std::process::id());
    let runtime = Runtime::start(&["--entry-assembly", &name]);
    let pid = runtime.pid();
    for (nth, which) in
        [["--name", &name], ["-n", &name], ["--process-id", &pid]].iter().enumerate()
    {
        let file = runtime.path(&nth.to_string());
        errors(&["trace", which[0], which[1], "-d", "0", "-o", &file], 0);
        assert!(fs::read(&file).unwrap().starts_with(b"Nettrace"));
    }
    assert!(errors(&["trace", "--name", "no-such-app"], 3).contains("with the name no-such-app"));
    let second = Runtime::start(&["--entry-assembly", &name]);
    let said = errors(&["dump", "--name", &name, "-o", &runtime.path("dump")], 2);
    assert!(said.contains(&second.pid()) && said.contains("expected one"), "{said}");
    let said = errors(&["trace", &pid, "--name", &name], 2);
    assert!(said.contains(&format!("not with process {pid}")), "{said}");
    for both in [&["--process-id", &pid, "--name", &name][..], &[&pid, "--process-id", &pid], &[]] {
        errors(&[&["trace"], both].concat(), 2);
    }
}

/// In dotnet-trace `-p` is the process.
#[test]
fn provider_that_is_a_number_is_refused() {
    for option in ["-p", "--providers"] {
        let said = errors(&["trace", option, "4242"], 2);
        assert!(said.contains("4242 is a number: expected a provider"), "{said}");
        assert!(said.contains("here is TARGET or --process-id"), "{said}");
    }
}

#[test]
fn events_are_chosen_by_names() {
    let runtime = Runtime::start(&[]);
    let traced = |nth: usize, options: &[&str]| {
        let file = runtime.path(&nth.to_string());
        let said = errors(
            &[&["trace", &runtime.pid(), "-d", "00:00:00", "-o", &file], options].concat(),
            0,
        );
        let enabled = said.split_inclusive('\n').filter(|line| line.starts_with("enabled "));
        enabled.collect::<String>()
    };
    let by_default = "enabled Microsoft-Windows-DotNETRuntime:0x100003801d:Informational\n\
                      enabled Microsoft-DotNETCore-SampleProfiler:0xf00000000000:Informational\n";
    assert_eq!(traced(0, &[]), by_default);
    assert_eq!(
        traced(1, &["--profile", "gc-verbose", "--clrevents", "jit+gc", "--providers", "A,B:1:5"]),
        "enabled Microsoft-Windows-DotNETRuntime:0x8013:Verbose\n\
         enabled A:0xffffffffffffffff:Informational\nenabled B:0x1:Verbose\n"
    );
    let said = errors(&["trace", "1", "--profile", "cpu"], 2);
    assert!(
        said.contains(
            "dotnet-common, dotnet-sampled-thread-time, gc-verbose, gc-collect, database, gcdump"
        ),
        "{said}"
    );
    for (option, value, why) in [
        ("--clrevents", "gc+cpu", "\"cpu\" is not a keyword: expected gc, "),
        ("--clreventlevel", "6", "\"6\" is not a level: expected 0 to 5"),
        ("--duration", "00:10", "expected seconds, a number with ms, s, m or h, or hh:mm:ss"),
        ("--buffering-mode", "wait", "[possible values: drop, block]"),
    ] {
        let said = errors(&["trace", "1", option, value], 2);
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn session_of_newer_runtime_is_said_so() {
    for (profile, option, why) in [
        (
            "coreclr-10",
            "--buffering-mode=Block",
            "--buffering-mode block requires .NET 11: the runtime answered 0x80131385",
        ),
        (
            "coreclr-8",
            "--no-stacks",
            "--no-stacks requires .NET 9: the runtime answered 0x80131385",
        ),
    ] {
        let runtime = Runtime::start(&["--profile", profile]);
        let said = errors(&["trace", &runtime.pid(), option, "-o", &runtime.path("file")], 1);
        assert!(said.contains(why), "{said}");
    }
}

/// By its code alone a user does not learn what to do.
#[test]
fn refusal_says_what_the_runtime_lacks() {
    let old = Runtime::start(&["--profile", "coreclr-3.1"]);
    let (pid, file) = (old.pid(), old.path("file"));
    for (arguments, why) in [
        (
            &["env", &pid][..],
            "the runtime does not know ProcessEnvironment, which is in .NET 5.0 and later: the runtime answered 0x80131385",
        ),
        (
            &["dump", &pid, &file, "--crash-report"],
            "the runtime does not know GenerateCoreDump2, which is in .NET 6.0 and later: the runtime answered 0x80131385",
        ),
        (
            &["call", "--pid", &pid, "perf-map-off"],
            "the runtime does not know DisablePerfMap, which is in .NET 8.0 and later: the runtime answered 0x80131385",
        ),
    ] {
        let said = errors(arguments, 1);
        assert!(said.contains(why), "{said}");
    }
    let full = Runtime::start(&["--misbehave", "refuse=0x80004005"]);
    let said = errors(&["trace", &full.pid(), "-o", &full.path("file")], 1);
    assert!(
        said.contains("a runtime has at most 64 at once (F-32): the runtime answered"),
        "{said}"
    );
    let said = errors(&["trace", "1", "--profile", "cpu-sampling"], 2);
    assert!(said.contains("here it is dotnet-sampled-thread-time"), "{said}");
}

#[test]
fn dump_that_is_not_written_is_a_failure() {
    let runtime = Runtime::start(&["--entry-assembly", "app"]);
    let [there, new] = ["there", "new"].map(|name| runtime.path(name));
    fs::write(&there, "mine").unwrap();
    for kind in ["Mini", "heap", "TRIAGE", "Full"] {
        let said = errors(&["dump", &runtime.pid(), "-o", &there, "--type", kind], 2);
        assert!(said.contains("there already exists: --force overwrites it"), "{said}");
    }
    errors(&["dump", &runtime.pid(), "one", "-o", "two"], 2);
    let refused = json(&["dump", &runtime.pid(), "-o", &new, "--timeout", "60", "--json"], 1);
    assert_eq!(refused["process"]["managedEntrypointAssemblyName"], "app", "{refused}");
    assert_eq!((&refused["complete"], &refused["exit"]), (&false.into(), &1.into()), "{refused}");
    assert!(refused["why"].is_string() && refused["file"].is_null(), "{refused}");
}

/// What this program sees of such a process, for example no socket, is misleading.
#[test]
fn process_of_another_user_is_said_so() {
    use std::os::unix::process::CommandExt as _;

    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: takes root, to run something as another user");
        return;
    }
    let mut other =
        Command::new("cat").uid(65533).gid(65533).stdin(Stdio::piped()).spawn().unwrap();
    let (pid, home) = (other.id().to_string(), crate::tool::directory());
    let file = home.path().join("file");
    for command in [&["trace", &pid, "-o"][..], &["dump", &pid, "-o"]] {
        let said = errors(&[command, &[file.to_str().unwrap()]].concat(), 3);
        let why = format!(
            "process {pid} belongs to another user, 65533: run as that user, or as root with --any-owner"
        );
        assert!(said.contains(&why), "{said}");
    }
    let said = errors(&["info", &pid, "--any-owner"], 3);
    assert!(!said.contains("belongs to another user"), "{said}");
    drop(other.stdin.take());
    other.wait().unwrap();
}

#[test]
fn provider_that_no_runtime_has_is_doubted() {
    let runtime = Runtime::start(&[]);
    for (provider, doubt) in [
        ("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", "is a GUID: a runtime compares names"),
        ("Metrics=System.Runtime;RefreshInterval=1", "is taken for a name"),
    ] {
        let said =
            errors(&["trace", &runtime.pid(), "-d", "1", "-o", "/dev/null", "-p", provider], 1);
        assert!(said.contains(doubt), "{said}");
    }
}
