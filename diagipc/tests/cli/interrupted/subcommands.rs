//! Every subcommand, ended by SIGTERM at ten random moments: no process, directory or socket is
//! left, and its report can be read.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use diagipc::Report;
use dotnet_diagnostics_ipc::io::{Client, Endpoint};
use dotnet_diagnostics_ipc_vectors::parse_scripts;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::{Run, Tmpdir};
use crate::cli::signalled;
use crate::tool::{DIAGIPC, Runtime, failed_cases};

/// The moments at which SIGTERM ends a run. The first are counted from its start, the others from
/// when it handles signals.
const MOMENTS: usize = 10;
const FROM_THE_START: usize = 3;
/// So many more are ended by SIGINT.
const BY_SIGINT: usize = 2;
/// How many runs of a subcommand are active at a time.
const AT_ONCE: usize = 4;
/// The last moment, in milliseconds.
const LATEST: u64 = 600;
const SEED: u64 = 20_261;

/// These read, print and end: no signal finds them at work.
const INSTANT: [&str; 3] = ["report", "explain", "list"];
/// These have a test here.
const TESTED: &str = "adapter call check client codec decode dump encode env fuzz-server info proxy \
    ps replay runtime server stand-in trace";

/// How a subcommand ends after a signal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// By a status that names the signal.
    Interrupted,
    /// With success: it runs until a signal ends it.
    Well,
    /// Killed by the signal, as a program without a handler. Its input stays open until then.
    BySignal,
}

/// What is left of a run.
struct Left<'r> {
    output: &'r Output,
    /// Where it may write.
    out: &'r Path,
    /// Whether it handled signals when it was ended.
    has_handler: bool,
}

impl Left<'_> {
    /// The JSON that it printed, if it was interrupted.
    fn report(&self) -> Option<Value> {
        self.has_handler.then(|| serde_json::from_slice(&self.output.stdout).unwrap())
    }
}

/// Ends runs of a subcommand at random moments. In its arguments `{tmpdir}` is where nothing may be
/// left, and `{out}` where something may; `beside` runs in parallel. `check` examines what is left.
fn interrupted(
    arguments: &[&str],
    ends: Ends,
    beside: impl Fn(&Path, &dyn Fn() -> bool) + Sync,
    check: impl Fn(&Left<'_>) + Sync,
) {
    let name = arguments[0];
    assert!(TESTED.split(' ').any(|one| one == name), "{name}");
    println!("{name}: seed {SEED}");
    let mut random = ChaCha8Rng::seed_from_u64(SEED ^ name.len() as u64);
    let moments: Vec<u64> =
        (0..MOMENTS + BY_SIGINT).map(|_| random.random_range(0..=LATEST)).collect();
    let moments = Mutex::new(moments.into_iter().enumerate());
    let next = || moments.lock().unwrap().next();
    thread::scope(|scope| {
        // Each `check` has eighty processes at a time, and other tests have deadlines.
        for _ in 0..if name == "check" { 1 } else { AT_ONCE } {
            scope.spawn(|| {
                while let Some((nth, moment)) = next() {
                    one(arguments, ends, nth, moment, &beside, &check);
                }
            });
        }
    });
}

fn one(
    arguments: &[&str],
    ends: Ends,
    nth: usize,
    moment: u64,
    beside: &(impl Fn(&Path, &dyn Fn() -> bool) + Sync),
    check: &impl Fn(&Left<'_>),
) {
    let (signal, number) = if nth < MOMENTS { ("-TERM", 15) } else { ("-INT", 2) };
    let from = if nth < FROM_THE_START || ends == Ends::BySignal {
        "its start"
    } else {
        "its look for signals"
    };
    let about = format!("{}, moment {nth}: {signal} {moment} ms after {from}", arguments[0]);
    println!("{about}");
    let (tmpdir, out) = (Tmpdir::new(), crate::tool::directory());
    let places = [("{tmpdir}", tmpdir.path()), ("{out}", out.path())]
        .map(|(name, path)| (name, path.to_str().unwrap()));
    let filled = |word: &&str| {
        places.iter().fold((*word).to_owned(), |word, (name, path)| word.replace(name, path))
    };
    let mut command = signalled(&[]);
    command.args(arguments.iter().map(filled));
    // Clients and targets find it there.
    command.env(
        "PATH",
        format!("{}:{}", Path::new(DIAGIPC).parent().unwrap().display(), env::var("PATH").unwrap()),
    );
    let stdin = if ends == Ends::BySignal { Stdio::piped() } else { Stdio::null() };
    let run = Run::begin(tmpdir, command, stdin);
    let directory = run.tmpdir.path().to_owned();
    let over = Mutex::new(false);
    let output = thread::scope(|scope| {
        scope.spawn(|| beside(&directory, &|| *over.lock().unwrap()));
        if from != "its start" {
            run.wait_for_handler();
        }
        thread::sleep(Duration::from_millis(moment));
        run.signal(signal);
        let output = run.end(&about);
        *over.lock().unwrap() = true;
        output
    });
    let by_signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
    // Before it handles signals it has created nothing, and prints nothing.
    let has_handler = by_signal.is_none();
    let expected = match ends {
        Ends::Interrupted => Some(128 + number),
        Ends::Well => Some(0),
        Ends::BySignal => None,
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    if has_handler {
        assert_eq!(
            output.status.code(),
            expected,
            "{about}: {errors}{}",
            failed_cases(&output.stdout)
        );
    } else {
        assert_eq!((by_signal, from), (Some(number), "its start"), "{about}: {errors}");
        assert_eq!(output.stdout, b"", "{about}");
    }
    check(&Left { output: &output, out: out.path(), has_handler });
}

fn nothing(_: &Path, _: &dyn Fn() -> bool) {}

fn unread(_: &Left<'_>) {}

/// A report that can be parsed and says that it is partial. The interruption may not fail a case. A
/// busy machine may cause other failures.
fn report(left: &Left<'_>) {
    let Some(report) = left.report() else { return };
    let parsed = Report::parse(&report.to_string()).unwrap();
    assert!(parsed.lost.is_none(), "{report}");
    assert!(parsed.interrupted.is_some_and(|interrupted| interrupted.not_run > 0), "{report}");
    assert!(!report.to_string().contains("was interrupted"), "{report}");
}

/// Whether a recording was written. It can be read: a script.
fn is_recorded(out: &Path) -> bool {
    let files: Vec<PathBuf> =
        fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [json, text] = ["json", "txt"]
        .map(|kind| files.iter().find(|path| path.extension().is_some_and(|other| other == kind)));
    assert_eq!(json.is_some(), text.is_some(), "{files:?}");
    let Some(json) = json else { return false };
    let file = parse_scripts("recording", &fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(file.scripts.len(), 1);
    true
}

#[test]
fn every_subcommand_is_interrupted_here_or_instant() {
    for name in crate::cli::listed_commands() {
        let name = name.as_str();
        let is_tested = TESTED.split(' ').any(|one| one == name);
        assert!(is_tested != INSTANT.contains(&name), "{name}");
    }
}

#[test]
fn fuzz_server_interrupted_leaves_nothing_but_its_summary() {
    let options = ["fuzz-server", "--json", "--allow-harmful", "--cases", "1000000"];
    let spawn = ["--spawn", "--", DIAGIPC, "runtime"];
    interrupted(&[&options[..], &spawn].concat(), Ends::Interrupted, nothing, |left| {
        let Some(summary) = left.report() else { return };
        let cases =
            summary["cases"].as_u64().unwrap() + summary["interrupted"]["notRun"].as_u64().unwrap();
        assert!(cases == 1_000_000 && summary["lost"].is_null(), "{summary}");
    });
}

#[test]
fn proxy_ended_leaves_nothing_but_its_recording() {
    let peer = Runtime::start(&[]);
    let arguments = ["proxy", "--listen", "{tmpdir}/at", "--to", &peer.socket, "--out", "{out}"];
    let asks = |directory: &Path, is_over: &dyn Fn() -> bool| {
        while !is_over() {
            // The proxy does not exist yet, or no longer.
            let _ = Client::new(Endpoint::socket(directory.join("at"))).process_info();
            thread::sleep(Duration::from_millis(20));
        }
    };
    interrupted(&arguments, Ends::Well, asks, |left| {
        is_recorded(left.out);
    });
}

#[test]
fn proxy_ended_behind_a_request_has_recorded_it() {
    let (peer, out) = (Runtime::start(&[]), crate::tool::directory());
    let at = crate::tool::directory();
    let socket = at.path().join("at");
    let [listen, directory] = [socket.as_path(), out.path()].map(|path| path.to_str().unwrap());
    let arguments = ["proxy", "--listen", listen, "--to", &peer.socket, "--out", directory];
    let run = Run::start(signalled(&arguments));
    super::until("the proxy does not answer", || {
        Client::new(Endpoint::socket(&socket)).process_info().ok()
    });
    run.signal("-TERM");
    assert_eq!(run.end("proxy").status.code(), Some(0));
    assert!(is_recorded(out.path()));
}

#[test]
fn trace_interrupted_is_complete() {
    let peer = Runtime::start(&[]);
    interrupted(&["trace", &peer.socket, "-o", "{out}/trace"], Ends::Well, nothing, |left| {
        if left.has_handler {
            let said = String::from_utf8_lossy(&left.output.stdout);
            assert!(said.ends_with(" bytes, complete\n"), "{said}");
            assert!(fs::read(left.out.join("trace")).unwrap().starts_with(b"Nettrace"));
        }
    });
}

/// The words of `diagipc call` for a trace that lasts longer than any test.
const LONG: &str = "trace --provider Mine --keywords 1 --level 4 --buffer 4 --rundown 0 --stacks true \
    --mode 0 --command CollectTracing2 --duration 600000 --output";

/// A client with its own process, in the middle of a trace.
#[test]
fn record_interrupted_leaves_nothing_but_its_recording() {
    let peer = Runtime::start(&[]);
    let trace = format!("sleep 1000 & exec diagipc call --pid {{pid}} {LONG} /dev/null");
    let arguments =
        ["proxy", "--out", "{out}", "--name", "it", "--to", &peer.socket, "--", "sh", "-c", &trace];
    interrupted(&arguments, Ends::Interrupted, nothing, |left| {
        let text = String::from_utf8_lossy(&left.output.stdout);
        assert!(!left.has_handler || text.contains("INTERRUPTED  "), "{text}");
        is_recorded(left.out);
    });
}

/// A client writes a last line when it is terminated.
#[test]
fn record_interrupted_terminates_its_client() {
    let (peer, out) = (Runtime::start(&[]), crate::tool::directory());
    let [began, ended] = ["began", "ended"].map(|name| out.path().join(name));
    let client = format!(
        "trap 'echo so > \"{}\"; exit 7' TERM; echo > \"{}\"; while :; do sleep 0.01; done",
        ended.display(),
        began.display()
    );
    let directory = out.path().to_str().unwrap();
    let proxy = ["proxy", "--out", directory, "--to", &peer.socket, "--", "sh", "-c", &client];
    let run = Run::start(signalled(&proxy));
    super::until("the client does not start", || began.exists().then_some(()));
    run.signal("-TERM");
    let output = run.end("proxy");
    assert_eq!(output.status.code(), Some(143));
    assert_eq!(fs::read_to_string(ended).unwrap(), "so\n");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "the client ended: exit status: 7\nINTERRUPTED  the recording has all messages until then\n"
    );
}

#[test]
fn replay_interrupted_leaves_nothing() {
    let directory = crate::tool::directory();
    let listens = directory.path().join("script.json").display().to_string();
    let file = json!({ "format": 1, "title": "t", "within_ms": 600_000, "numberOfScripts": 1, "scripts": [{
        "scId": 1, "name": "it", "comment": "c", "spec": ["R-FLW-003"], "hazard": null, "plays": "runtime",
        "ask": { "command": "Process/ResumeRuntime", "value": {} },
        "outcome": { "outcome": "ok", "reply": { "hresult": "0x00000000" }, "then": "close" },
        "steps": [{ "accept": "a" }] }] });
    fs::write(&listens, file.to_string()).unwrap();
    let arguments = ["replay", &listens, "--listen", "{tmpdir}/at"];
    interrupted(&arguments, Ends::Interrupted, nothing, |left| {
        let text = String::from_utf8_lossy(&left.output.stdout);
        let said = "INTERRUPTED  it: in step 0 of 1";
        assert!(!left.has_handler || text.contains(said), "{text}");
    });
}

/// The report or nothing is left. An adapter answers for a while and then goes silent; a question
/// waits for a runtime that never answers.
#[test]
fn other_subcommand_interrupted_leaves_nothing_but_its_report() {
    let [peer, silent] = [&[][..], &["--misbehave", "never-answers"]].map(Runtime::start);
    let (socket, pid) = (&silent.socket, silent.pid());
    let server = ["server", "--json", "--allow-harmful", "--profile", "strict"];
    let server = [&server[..], &["--spawn", "--", DIAGIPC, "runtime"]].concat();
    let adapter = "sleep 1000 & sed -u 100q | diagipc adapter; exec sleep 1000";
    let codec = ["codec", "--json", "--timeout", "600000", "--", "sh", "-c", adapter];
    let trace: Vec<&str> = LONG.split(' ').collect();
    let trace = [&["call", "--socket", &peer.socket], &trace[..], &["{out}/stream"]].concat();
    let port = ["call", "--patience", "600000", "--pid", "1", "listen-port", "{tmpdir}/port"];
    let questions = [
        &["info", socket][..],
        &["env", socket],
        &["dump", socket, "{out}/dump"],
        &["ps", "--timeout", "10s", &pid],
    ];
    thread::scope(|scope| {
        scope.spawn(|| interrupted(&server, Ends::Interrupted, nothing, report));
        scope.spawn(|| interrupted(&codec, Ends::Interrupted, nothing, report));
        let runtime = ["runtime", "--ports", "{tmpdir}/nobody,nosuspend"];
        interrupted(&runtime, Ends::Well, nothing, unread);
        for arguments in [&trace[..], &port] {
            interrupted(arguments, Ends::Interrupted, nothing, unread);
        }
        for arguments in questions {
            interrupted(arguments, Ends::Interrupted, nothing, |left| {
                assert_eq!(fs::read_dir(left.out).unwrap().count(), 0);
            });
        }
        for arguments in [&["adapter"][..], &["decode", "-"], &["encode", "-"], &["stand-in"]] {
            interrupted(arguments, Ends::BySignal, nothing, unread);
        }
    });
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn check_and_client_interrupted_leave_nothing_but_their_report() {
    interrupted(&["check", "--json"], Ends::Interrupted, nothing, report);
    let operations = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/diagipc.toml");
    let client = ["client", "--json", "--operations", operations];
    interrupted(&client, Ends::Interrupted, nothing, report);
}
