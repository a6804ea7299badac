//! Signals in the middle of a run: what was started ends, what was made is removed, and the report has what there is.
#![cfg(target_os = "linux")]

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::conformance::Report;
use rand::{Rng as _, SeedableRng as _};
use serde_json::Value;

use crate::{diagipc, failed_cases};

const DIAGIPC: &str = env!("CARGO_BIN_EXE_diagipc");
/// How long anything may take here on a machine with other work.
const PATIENCE: Duration = Duration::from_secs(30);
/// The moments at which a run is interrupted, after it looks for signals.
const MOMENTS: usize = 10;
/// The last of them, in milliseconds.
const LATEST: u64 = 600;
const SEED: u64 = 20_261;

/// Waits until `there` gives something.
#[track_caller]
fn until<T>(what: &str, mut there: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(there) = there() {
            return there;
        }
        assert!(began.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process has a handler for SIGTERM.
fn handles_sigterm(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & (1 << 14) != 0)
}

/// The processes whose environment has this directory in it, by their command lines. A zombie has none.
fn processes_in(directory: &Path) -> Vec<String> {
    let name = directory.to_str().unwrap().as_bytes();
    let entries = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let there = entries.filter(|path| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        environment.windows(name.len()).any(|part| part == name)
    });
    let line = |path: &Path| String::from_utf8_lossy(&fs::read(path.join("cmdline")).unwrap_or_default()).replace('\0', " ");
    there.map(|path| format!("{} {}", path.display(), line(&path))).collect()
}

fn files_in(directory: &Path) -> Vec<String> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path().display().to_string()).collect()
}

/// A run whose temporary files are in a directory of its own.
struct Run {
    child: Child,
    tmpdir: tempfile::TempDir,
}

impl Run {
    fn start(mut command: Command) -> Self {
        let tmpdir = tempfile::tempdir().unwrap();
        command.env("TMPDIR", tmpdir.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let run = Self { child, tmpdir };
        until("it has no handler for signals", || handles_sigterm(run.child.id()).then_some(()));
        run
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Waits for its end. Nothing of it may be left then.
    #[track_caller]
    fn end(self, about: &str) -> Output {
        let Self { child, tmpdir } = self;
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!errors.contains("panicked"), "{about}: {errors}");
        until(&format!("{about}: processes are left"), || processes_in(tmpdir.path()).is_empty().then_some(()));
        assert_eq!(files_in(tmpdir.path()), [""; 0], "{about}");
        output
    }
}

/// Interrupts runs of this command at random moments.
fn interrupted(name: &str, arguments: &[&str], is_partial: impl Fn(&Value) -> bool) {
    println!("{name}: seed {SEED}");
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(SEED ^ name.len() as u64);
    for nth in 0..MOMENTS {
        let moment = random.random_range(0..=LATEST);
        let (signal, status) = if nth % 2 == 0 { ("-TERM", 143) } else { ("-INT", 130) };
        let about = format!("{name}: {signal} after {moment} ms");
        println!("{about}");
        let mut command = diagipc(arguments);
        // The client finds itself there.
        command.env("PATH", format!("{}:{}", Path::new(DIAGIPC).parent().unwrap().display(), env::var("PATH").unwrap()));
        let run = Run::start(command);
        thread::sleep(Duration::from_millis(moment));
        run.signal(signal);
        let output = run.end(&about);
        assert_eq!(output.status.code(), Some(status), "{about}: {:?}", output.status);
        let report: Value = serde_json::from_slice(&output.stdout).expect(&about);
        assert!(report["interrupted"]["notRun"].as_u64() > Some(0), "{about}: {report}");
        assert!(is_partial(&report), "{about}: {}", failed_cases(&output.stdout));
    }
}

/// A report of a suite that can be read back, in which nothing is failed for the interruption. A busy machine may make other failures.
fn is_report(report: &Value) -> bool {
    let parsed = Report::parse(&report.to_string()).unwrap();
    parsed.lost.is_none() && !report.to_string().contains("was interrupted")
}

#[test]
fn check_interrupted_leaves_nothing_but_its_report() {
    interrupted("check", &["check", "--json"], is_report);
}

#[test]
fn server_interrupted_leaves_nothing_but_its_report() {
    let arguments = ["server", "--json", "--allow-harmful", "--profile", "strict", "--spawn", "--", DIAGIPC, "runtime"];
    interrupted("server", &arguments, is_report);
}

#[test]
fn client_interrupted_leaves_nothing_but_its_report() {
    let operations = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/clients/diagipc.toml");
    interrupted("client", &["client", "--json", "--operations", operations], is_report);
}

#[test]
fn fuzz_server_interrupted_leaves_nothing_but_its_summary() {
    let arguments = ["fuzz-server", "--json", "--allow-harmful", "--cases", "1000000", "--spawn", "--", DIAGIPC, "runtime"];
    interrupted("fuzz-server", &arguments, |summary| {
        let cases = summary["cases"].as_u64().unwrap() + summary["interrupted"]["notRun"].as_u64().unwrap();
        cases == 1_000_000 && summary["lost"].is_null()
    });
}

/// A target that takes connections and says nothing, so that the first question waits; with a process of its own.
const SILENT: &str = "sleep 1000 & exec python3 -c 'import os, socket, time
listener = socket.socket(socket.AF_UNIX)
path = os.environ[\"TMPDIR\"] + \"/silent\"
listener.bind(path)
listener.listen(16)
print(path, flush=True)
time.sleep(1000)'";

fn silent(options: &[&str]) -> Run {
    let run = Run::start(diagipc(&[&["server", "--spawn", "--timeout", "600000"], options, &["--", "sh", "-c", SILENT]].concat()));
    until("the target does not start", || {
        let there = processes_in(run.tmpdir.path());
        (there.iter().any(|line| line.contains("sleep 1000")) && there.iter().any(|line| line.contains("python3"))).then_some(())
    });
    run
}

#[test]
fn interrupted_run_says_so_in_every_form() {
    let directory = tempfile::tempdir().unwrap();
    let [junit, html] = ["report.xml", "report.html"].map(|name| directory.path().join(name));
    let run = silent(&["--junit", junit.to_str().unwrap(), "--html", html.to_str().unwrap()]);
    run.signal("-INT");
    let output = run.end("text");
    assert_eq!(output.status.code(), Some(130));
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("INTERRUPTED  ")).unwrap();
    let not_run: usize = line.strip_suffix(" cases were not run").unwrap().parse().unwrap();
    assert!(not_run > 100, "{text}");
    let [xml, page] = [junit, html].map(|path| fs::read_to_string(path).unwrap());
    assert!(xml.contains(r#"<testcase name="interrupted""#) && xml.contains(&format!(r#"message="{line}""#)), "{xml}");
    roxmltree::Document::parse(&xml).unwrap();
    assert!(page.contains(&format!("Interrupted: {line}")));
}

/// Nobody reads the report, which waits for that. The second signal does not.
#[test]
fn second_signal_ends_at_once() {
    let mut run = Run::start(diagipc(&["check", "--json"]));
    run.signal("-TERM");
    let status = until("it does not end", || {
        run.signal("-TERM");
        run.child.try_wait().unwrap()
    });
    assert_eq!(status.code(), Some(143));
    run.end("twice");
}

#[test]
fn killed_run_takes_its_target_with_it() {
    let run = silent(&[]);
    run.signal("-KILL");
    let Run { child, tmpdir } = run;
    child.wait_with_output().unwrap();
    until("the target runs on", || {
        let there = processes_in(tmpdir.path());
        (!there.iter().any(|line| line.contains("python3"))).then_some(())
    });
    // What the target had started is nobody's.
    for line in processes_in(tmpdir.path()) {
        let pid = line.split([' ', '/']).find(|part| part.parse::<u32>().is_ok()).unwrap();
        assert!(Command::new("kill").args(["-KILL", pid]).status().unwrap().success(), "{line}");
    }
}

/// What `check` starts are programs of its own, which end by themselves.
#[test]
fn killed_check_takes_its_programs_with_it() {
    let run = Run::start(diagipc(&["check", "--json"]));
    until("it starts nothing", || {
        let there = processes_in(run.tmpdir.path());
        let has = |command: &str| there.iter().any(|line| line.contains(command));
        (has(" runtime ") && has(" stand-in")).then_some(())
    });
    run.signal("-KILL");
    let Run { child, tmpdir } = run;
    child.wait_with_output().unwrap();
    until("its programs run on", || processes_in(tmpdir.path()).is_empty().then_some(()));
}
