//! `trace`: where the stream goes, when it is complete, and what is left if it does not arrive.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::cli::{errors, json, run, signalled, text};
use crate::tool::{DIAGIPC, Runtime, run_command, signal};

const SECOND: [&str; 2] = ["--duration", "1"];

fn fifo(path: &str) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Reads a FIFO to its end.
fn reader(path: &str) -> thread::JoinHandle<Vec<u8>> {
    let path = path.to_owned();
    thread::spawn(move || fs::read(path).unwrap())
}

/// Neither a missing runtime nor one that refuses the session changes a file. A symbolic link is
/// not followed.
#[test]
fn trace_refused_leaves_everything_as_it_was() {
    let runtime = Runtime::start(&["--profile", "coreclr-8"]);
    let [good, link, pipe, new] = ["good", "link", "pipe", "new"].map(|name| runtime.path(name));
    fs::write(&good, "mine").unwrap();
    symlink(&good, &link).unwrap();
    fifo(&pipe);
    for (target, status) in [(&runtime.path("missing.sock"), 3), (&runtime.pid(), 1)] {
        for output in [&good, &new, &pipe] {
            // Someone reads the FIFO, and sees its end. For a missing runtime it is not opened.
            let reader = (output == &pipe && status == 1).then(|| reader(&pipe));
            // .NET 8 has no session without stacks.
            errors(&["trace", target, "--no-stacks", "--force", "-o", output], status);
            assert_eq!(reader.map(|reader| reader.join().unwrap()).unwrap_or_default(), b"");
        }
    }
    let error = errors(&["trace", &runtime.pid(), "--force", "-o", &link], 2);
    assert!(error.contains("link: it is a symbolic link, which is not followed"), "{error}");
    assert_eq!(fs::read(&good).unwrap(), b"mine");
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert!(!fs::exists(&new).unwrap());
    let names = fs::read_dir(runtime.home.path()).unwrap();
    let names: Vec<_> = names.map(|name| name.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_str().unwrap().contains(".part")), "{names:?}");
}

#[test]
fn trace_replaces_file_only_when_complete() {
    let runtime = Runtime::start(&["--misbehave", "stream-cut"]);
    let good = runtime.path("good");
    fs::write(&good, "mine").unwrap();
    let replacing = |target: &str, status: i32| {
        run(&[&["trace", target, "--force", "-o", &good][..], &SECOND].concat(), b"", status)
    };
    let error = String::from_utf8(replacing(&runtime.pid(), 1).stderr).unwrap();
    assert_eq!(fs::read(&good).unwrap(), b"mine");
    let (_, part) = error.rsplit_once("cut short; ").expect(&error);
    let (part, _) = part.split_once(" has the first").expect(&error);
    assert!(part.starts_with(&good) && fs::read(part).unwrap().starts_with(b"Nettrace"), "{error}");
    assert!(error.contains(&format!(" {good} is unchanged")), "{error}");

    let runtime = Runtime::start(&[]);
    fs::set_permissions(&good, fs::Permissions::from_mode(0o644)).unwrap();
    let output = replacing(&runtime.pid(), 0);
    let bytes = fs::read(&good).unwrap();
    assert!(bytes.starts_with(b"Nettrace"));
    assert_eq!(text(&output), format!("{good}: {} bytes, complete\n", bytes.len()));
    // The trace may contain an environment.
    assert_eq!(fs::metadata(&good).unwrap().mode() & 0o777, 0o600);
    let errors = String::from_utf8(output.stderr).unwrap();
    let mut last = errors.lines().rev();
    assert_eq!(
        last.next(),
        Some("no events were received from Microsoft-DotNETCore-SampleProfiler")
    );
    let stopping = last.next().unwrap();
    assert!(stopping.starts_with("1 s, ") && stopping.ends_with(" B: stopping"), "{errors}");
}

#[test]
fn trace_writes_to_fifo_and_standard_output() {
    let runtime = Runtime::start(&[]);
    let pipe = runtime.path("pipe");
    fifo(&pipe);
    let reader = reader(&pipe);
    let said = text(&run(&[&["trace", &runtime.pid(), "-o", &pipe][..], &SECOND].concat(), b"", 0));
    let stream = reader.join().unwrap();
    assert!(stream.starts_with(b"Nettrace"));
    assert_eq!(said, format!("{pipe}: {} bytes, complete\n", stream.len()));
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());

    let output = run(&[&["trace", &runtime.pid(), "-o", "-"][..], &SECOND].concat(), b"", 0);
    assert!(output.stdout.starts_with(b"Nettrace"));
    let said = String::from_utf8(output.stderr).unwrap();
    let complete = format!("standard output: {} bytes, complete\n", output.stdout.len());
    assert!(said.contains(&complete), "{said}");

    // Output is redirected to a file that has content.
    let redirected = runtime.path("redirected");
    fs::write(&redirected, "before").unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$0\" trace \"$1\" -d 1 -o /dev/stdout >> \"$2\"", DIAGIPC]);
    shell.args([&runtime.pid(), &redirected]);
    run_command(shell, b"", 0);
    assert!(fs::read(&redirected).unwrap().starts_with(b"beforeNettrace"));
}

/// A node of our own of the device that is always full.
#[test]
fn trace_never_removes_a_device() {
    let runtime = Runtime::start(&[]);
    let device = runtime.path("full");
    if !Command::new("mknod").args([&device, "c", "1", "7"]).status().unwrap().success() {
        return;
    }
    for (target, status) in [(runtime.pid(), 2), (runtime.path("missing.sock"), 3)] {
        errors(&[&["trace", &target, "--force", "-o", &device][..], &SECOND].concat(), status);
        assert!(fs::metadata(&device).unwrap().file_type().is_char_device());
    }
}

/// The time limit for anything here on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// An OK with the session id 1.
const SESSION: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x01\0\0\0\0\0\0\0";

/// A server at its socket, for one command.
struct Fake {
    home: TempDir,
    socket: String,
}

impl Fake {
    /// Answers each connection, in turn, by the next of `plays`; a resume is answered with OK.
    fn playing(plays: Vec<Box<dyn FnOnce(UnixStream) + Send>>) -> Self {
        let home = crate::tool::directory();
        let socket = home.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        thread::spawn(move || {
            let mut plays = plays.into_iter();
            while plays.len() > 0 {
                let (mut stream, _) = listener.accept().unwrap();
                let mut header = [0; 20];
                if stream.read_exact(&mut header).is_err() {
                    // This only tried whether the socket exists.
                    continue;
                }
                let size = usize::from(u16::from_le_bytes([header[14], header[15]]));
                stream.read_exact(&mut vec![0; size - 20]).unwrap();
                if header[16..18] == [4, 1] {
                    stream.write_all(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0").unwrap();
                } else if let Some(play) = plays.next() {
                    play(stream);
                }
            }
        });
        Self { socket: socket.to_str().unwrap().to_owned(), home }
    }

    /// A session whose stream begins with `begins`; `stopped` has its stream and its stop.
    fn session(
        begins: &'static [u8],
        stopped: impl FnOnce(UnixStream, UnixStream) + Send + 'static,
    ) -> Self {
        let (sender, session) = mpsc::channel();
        Self::playing(vec![
            Box::new(move |mut stream| {
                stream.write_all(SESSION).unwrap();
                stream.write_all(begins).unwrap();
                sender.send(stream).unwrap();
            }),
            Box::new(move |stop| stopped(session.recv().unwrap(), stop)),
        ])
    }

    /// A session that is never stopped, and a receiver that reports when its stop arrives.
    fn endless() -> (Self, mpsc::Receiver<()>) {
        let (sender, is_stopping) = mpsc::channel();
        let fake = Self::session(b"Nettrace", move |session, _stop| {
            sender.send(()).unwrap();
            until_closed(&session);
        });
        (fake, is_stopping)
    }

    fn path(&self, name: &str) -> String {
        self.home.path().join(name).to_str().unwrap().to_owned()
    }

    fn trace(&self, output: &str, options: &[&str]) -> Child {
        start(&[&["trace", &self.socket, "-o", output][..], options].concat())
    }
}

fn start(arguments: &[&str]) -> Child {
    signalled(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What it printed, once it has ended with `status`.
#[track_caller]
fn ended(child: Child, status: i32) -> (String, String) {
    let pid = child.id().to_string();
    let (sender, ended) = mpsc::channel::<Output>();
    thread::spawn(move || sender.send(child.wait_with_output().unwrap()));
    let Ok(output) = ended.recv_timeout(PATIENCE) else {
        Command::new("kill").args(["-KILL", &pid]).status().unwrap();
        panic!("it does not end");
    };
    let errors = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(status), "{errors}");
    (String::from_utf8_lossy(&output.stdout).into_owned(), errors)
}

#[track_caller]
fn ends(child: Child, status: i32) -> String {
    ended(child, status).1
}

fn until_written(path: &str) {
    let began = Instant::now();
    while fs::metadata(path).map_or(0, |file| file.len()) == 0 {
        assert!(began.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(5));
    }
}

/// Reads until the client closes the connection.
fn until_closed(mut stream: &UnixStream) {
    // A reset is an end too.
    let _ = stream.read(&mut [0]);
}

fn answer_stop(mut stop: &UnixStream) {
    stop.write_all(SESSION).unwrap();
}

/// Answers the stop, and ends the stream where it is.
#[allow(
    clippy::needless_pass_by_value,
    reason = "the functions of the table close both connections"
)]
fn stopped_well(session: UnixStream, stop: UnixStream) {
    answer_stop(&stop);
    drop((session, stop));
}

/// Thread 7 has written five events until the sequence point, none of which is in the stream.
const LOSSES: &[u8] = b"Nettrace\x14\0\0\0!FastSerialization.1\
    \x05\x05\x01\x02\0\0\0\x02\0\0\0\x07\0\0\0SPBlock\x06\x18\0\0\0\0\
    tttttttt\x01\0\0\0\x07\0\0\0\0\0\0\0\x05\0\0\0\x06\x01";

/// A whole stream without an event.
const EMPTY: &[u8] = b"Nettrace\x14\0\0\0!FastSerialization.1\x01";

/// One event of provider A, by thread 7; its type is number 1.
const WHOLE: &[u8] = b"Nettrace\x14\0\0\0!FastSerialization.1\
    \x05\x05\x01\x02\0\0\0\x02\0\0\0\x0d\0\0\0MetadataBlock\x06\x21\0\0\0\0\0\0\
    \x14\0\x01\0................\x80\0\x0a\x01\0\0\0A\0\0\0xx\x06\
    \x05\x05\x01\x02\0\0\0\x02\0\0\0\x0a\0\0\0EventBlock\x06\x1d\0\0\0\
    \x14\0\x01\0................\x83\x01\0\x07\0\x10\x02xx\x06\x01";

/// Status 0 is for a complete trace alone; the bytes that arrived are kept in each case.
#[test]
fn trace_status_is_0_only_for_a_complete_stream() {
    type Stopped = fn(UnixStream, UnixStream);
    let silent: Stopped = |session, _stop| until_closed(&session);
    let dropped =
        "whole, but the runtime dropped 5 events: a larger --buffer or fewer events keep them all";
    for (stream, stopped, status, said) in [
        (WHOLE, stopped_well as Stopped, 0, "FILE: 163 bytes, complete"),
        (LOSSES, stopped_well, 1, dropped),
        (
            EMPTY,
            stopped_well,
            1,
            "whole, but it has no event: its providers sent none in this time",
        ),
        (&WHOLE[..32], stopped_well, 1, "the stream was cut short"),
        (
            b"Nettrace\x15",
            stopped_well,
            1,
            "what begins at byte 0 is not nettrace, so no reader gets further",
        ),
        // An answered stop alone does not make it complete.
        (&LOSSES[..60], stopped_well, 1, "the stream was cut short; FILE has the first 60 bytes"),
        (
            b"Nettrace\0\0\0\0\x06\0\0\0\0\0\0\0\0\0\0\0",
            stopped_well,
            0,
            "FILE: 24 bytes, whole, but whether events were dropped is unknown",
        ),
        (b"Nettrace", silent, 1, "did not end the stream within 1 s of the stop"),
    ] {
        let fake = Fake::session(stream, stopped);
        let new = fake.path("new");
        let (shown, errors) = ended(fake.trace(&new, &["-d", "1", "--timeout", "1"]), status);
        let said = said.replace("FILE", &new);
        assert!(errors.contains(&said) || shown.contains(&said), "{said}: {shown}{errors}");
        assert_eq!(fs::read(&new).unwrap(), stream);
    }
    // The stream continues after its stop.
    let fake = Fake::session(b"Nettrace", |mut session, stop| {
        answer_stop(&stop);
        while session.write_all(b"more").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    let new = fake.path("new");
    let errors = ends(fake.trace(&new, &["-d", "1", "--timeout", "1"]), 1);
    assert!(errors.contains("did not end the stream within 1 s of the stop"), "{errors}");
    assert!(fs::read(&new).unwrap().starts_with(b"Nettracemore"));

    let fake = Fake::session(b"", stopped_well);
    let new = fake.path("new");
    let errors = ends(fake.trace(&new, &["-d", "1"]), 1);
    assert!(
        errors.contains("the stream ended before its first byte; nothing was written"),
        "{errors}"
    );
    assert!(!fs::exists(&new).unwrap());
}

/// A process that exits writes the end of its stream, unless it is killed.
#[test]
fn trace_of_exited_process_is_complete_if_it_has_the_end() {
    for (stream, status) in [(WHOLE, 0), (&WHOLE[..32], 1)] {
        let fake = Fake::playing(vec![Box::new(move |mut session| {
            session.write_all(SESSION).unwrap();
            // Two pieces.
            session.write_all(&stream[..9]).unwrap();
            session.write_all(&stream[9..]).unwrap();
        })]);
        let new = fake.path("new");
        let errors = ends(fake.trace(&new, &[]), status);
        assert_eq!(errors.contains("the stream was cut short"), status == 1, "{errors}");
        assert_eq!(fs::read(&new).unwrap(), stream);
    }
}

#[test]
fn trace_stopped_by_interrupt_or_hang_up_is_complete() {
    let runtime = Runtime::start(&[]);
    for name in ["-INT", "-HUP"] {
        let new = runtime.path(name);
        let trace = start(&["trace", &runtime.pid(), "-o", &new]);
        until_written(&new);
        signal(&trace, name);
        let (shown, _) = ended(trace, 0);
        let bytes = fs::metadata(&new).unwrap().len();
        assert_eq!(shown, format!("{new}: {bytes} bytes, complete\n"));
    }
}

/// A signal after the duration, or a second one, does not wait for the end of the stream.
#[test]
fn trace_is_cut_by_a_signal_while_it_stops() {
    let (fake, is_stopping) = Fake::endless();
    let new = fake.path("new");
    let trace = fake.trace(&new, &["-d", "1"]);
    until_written(&new);
    is_stopping.recv_timeout(PATIENCE).unwrap();
    signal(&trace, "-TERM");
    let errors = ends(trace, 143);
    let kept = format!("a signal cut the stream before its end; {new} has the first 8 bytes");
    assert!(errors.contains(&kept), "{errors}");

    let (fake, is_stopping) = Fake::endless();
    let new = fake.path("new");
    let trace = fake.trace(&new, &[]);
    until_written(&new);
    signal(&trace, "-INT");
    is_stopping.recv_timeout(PATIENCE).unwrap();
    // Signals of the same moment count as one.
    thread::sleep(Duration::from_millis(400));
    signal(&trace, "-INT");
    let errors = ends(trace, 130);
    assert!(errors.contains(&format!("{new} has the first 8 bytes")), "{errors}");

    // A session that does not start cannot be stopped.
    let runtime = Runtime::start(&["--misbehave", "never-answers"]);
    let trace = start(&["trace", &runtime.pid(), "-o", &fake.path("none")]);
    #[cfg(target_os = "linux")]
    crate::cli::interrupted::until("it has no handler", || {
        crate::cli::interrupted::handles_sigterm(trace.id()).then_some(())
    });
    #[cfg(not(target_os = "linux"))]
    thread::sleep(Duration::from_secs(2));
    signal(&trace, "-INT");
    ends(trace, 130);

    // An error after the first signal is reported as one.
    let fake = Fake::session(b"Nettrace", |session, stop| drop((session, stop)));
    let new = fake.path("new");
    let trace = fake.trace(&new, &[]);
    until_written(&new);
    signal(&trace, "-INT");
    let errors = ends(trace, 1);
    assert!(errors.contains(&format!("{new} has the first 8 bytes")), "{errors}");
}

/// As `nohup` does: the signal stays ignored. A trace that waits for the reader of a FIFO has begun
/// nothing, so the next signal just ends it.
#[cfg(target_os = "linux")]
#[test]
fn trace_started_by_nohup_ignores_hang_up() {
    let runtime = Runtime::start(&[]);
    let pipe = runtime.path("pipe");
    fifo(&pipe);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh", DIAGIPC, "trace"]);
    shell.args([&runtime.pid(), "-o", &pipe]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let trace = shell.spawn().unwrap();
    crate::cli::interrupted::until("it has no handler", || {
        crate::cli::interrupted::handles_sigterm(trace.id()).then_some(())
    });
    let status = fs::read_to_string(format!("/proc/{}/status", trace.id())).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    assert_eq!(u64::from_str_radix(ignored.trim(), 16).unwrap() & 1, 1, "{status}");
    signal(&trace, "-TERM");
    assert_eq!(ends(trace, 143), "");
}

/// The stop is answered once the stream was read, or its connection is closed.
#[test]
fn trace_that_cannot_be_written_ends_in_time() {
    let flooding = || {
        Fake::session(b"Nettrace", |mut session, stop| {
            while session.write_all(&[1; 4096]).is_ok() {}
            answer_stop(&stop);
        })
    };
    let fake = Fake::playing(vec![Box::new(|mut stream| {
        stream.write_all(SESSION).unwrap();
        while stream.write_all(&[1; 4096]).is_ok() {}
    })]);
    let errors = ends(fake.trace("/dev/full", &["-d", "60"]), 2);
    assert!(errors.contains("writing /dev/full: No space left on device"), "{errors}");

    // The reader has gone.
    let fake = flooding();
    let mut trace = fake.trace("-", &["-d", "1"]);
    trace.stdout.take().unwrap().read_exact(&mut [0; 8]).unwrap();
    let errors = ends(trace, 2);
    assert!(errors.contains("writing standard output: Broken pipe"), "{errors}");

    // The reader reads nothing.
    let fake = flooding();
    let pipe = fake.path("pipe");
    fifo(&pipe);
    let opened = pipe.clone();
    let reader = thread::spawn(move || File::open(opened).unwrap());
    let trace = fake.trace(&pipe, &["-d", "1", "--timeout", "1"]);
    let _open = reader.join().unwrap();
    let errors = ends(trace, 2);
    assert!(errors.contains("the output takes no more bytes"), "{errors}");
}

#[test]
fn trace_as_json_is_one_object() {
    let runtime = Runtime::start(&["--entry-assembly", "app"]);
    let [new, there] = ["new", "there"].map(|name| runtime.path(name));
    fs::write(&there, "mine").unwrap();
    let traced = json(&["trace", &runtime.pid(), "-d", "1", "-o", &new, "--json"], 0);
    assert_eq!(traced["file"], new.as_str());
    assert_eq!(traced["bytes"], fs::metadata(&new).unwrap().len());
    assert_eq!(fs::metadata(&new).unwrap().mode() & 0o777, 0o600);
    assert!(traced["seconds"].as_f64().unwrap() >= 1.0);
    assert_eq!(traced["process"]["processId"], runtime.process.id());
    assert_eq!(traced["process"]["managedEntrypointAssemblyName"], "app");
    assert_eq!(traced["lost"], 0);
    let is = |traced: &serde_json::Value, complete: bool, exit: i32| {
        let states = (&traced["complete"], &traced["exit"]);
        assert_eq!(states, (&complete.into(), &exit.into()), "{traced}");
        assert_eq!(traced["why"].is_null(), complete, "{traced}");
    };
    is(&traced, true, 0);

    let refused = json(&["trace", &runtime.pid(), "-o", &there, "--json"], 2);
    is(&refused, false, 2);
    let why = refused["why"].as_str().unwrap();
    assert!(why.contains("already exists: --force overwrites it"), "{why}");
    assert!(refused["file"].is_null() && fs::read(&there).unwrap() == b"mine");
    let target = runtime.path("missing");
    is(&json(&["trace", &target, "--force", "-o", &new, "--json"], 3), false, 3);
    let cut = Runtime::start(&["--misbehave", "stream-cut"]);
    let cut = json(&["trace", &cut.pid(), "-d", "1", "--force", "-o", &new, "--json"], 1);
    is(&cut, false, 1);
    assert!(fs::read(cut["file"].as_str().unwrap()).unwrap().starts_with(b"Nettrace"));
    // This comes after the output of a command.
    let none = runtime.path("none");
    let command = ["trace", "--json", "-o", &none, "--", "sh", "-c", "echo {}; exit 3"];
    let shown = text(&run(&command, b"", 3));
    let ended = serde_json::from_str(shown.strip_prefix("{}\n").unwrap()).unwrap();
    is(&ended, false, 3);
    run(&["trace", "1", "--json", "-o", "-"], b"", 2);
}
