//! `trace -- COMMAND` and `trace port:PATH`: from the first instruction, with its status and signals.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};

use crate::cli::interrupted::until;
use crate::cli::{errors, run, signalled, text};
use crate::tool::{DIAGIPC, Runtime, signal};

/// The event of the start is asked for, which only a session from before the resume has.
const START: [&str; 2] = ["-p", "Microsoft-Windows-DotNETRuntimePrivate:80000000:4"];

/// Starts `trace` with a shell as its command, in which `$0` is this tool.
fn traced(options: &[&str], script: &str) -> Child {
    let mut command = signalled(&["trace"]);
    command.args(options).args(["--", "sh", "-c", script, DIAGIPC]);
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    pipes.spawn().unwrap()
}

/// Returns standard output and standard error. The input ends.
#[track_caller]
fn ended(child: Child, status: i32) -> (String, String) {
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(status), "{errors}");
    (text(&output), errors)
}

fn has_event_of_the_start(file: &Path) -> bool {
    let stream = fs::read(file).unwrap();
    let name: Vec<u8> =
        START[1].split(':').next().unwrap().bytes().flat_map(|unit| [unit, 0]).collect();
    assert!(stream.starts_with(b"Nettrace"));
    stream.windows(name.len()).any(|part| part == name)
}

fn until_written(file: &Path) {
    until("the trace does not start", || {
        fs::metadata(file).is_ok_and(|file| file.len() > 0).then_some(())
    });
}

/// The rest of standard error, once it has a line that ends so.
#[track_caller]
pub(crate) fn after_line(errors: &mut BufReader<ChildStderr>, ending: &str) {
    let mut line = String::new();
    while !line.trim_end().ends_with(ending) {
        line.clear();
        assert!(errors.read_line(&mut line).unwrap() > 0, "no line ends with {ending}");
        // Nothing more would come until the command ends.
        assert!(!["whole, but", "diagipc trace: "].iter().any(|bad| line.contains(bad)), "{line}");
    }
}

/// Starts `trace` at a port, and returns once it listens there; also the rest of its standard error.
fn listening_at(address: &str, options: &[&str]) -> (Child, BufReader<ChildStderr>) {
    let mut command = signalled(&["trace", &format!("port:{address}")]);
    let pipes = command.args(options).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut trace = pipes.spawn().unwrap();
    let mut errors = BufReader::new(trace.stderr.take().unwrap());
    after_line(&mut errors, &format!("DOTNET_DiagnosticPorts='{address}'"));
    (trace, errors)
}

#[test]
fn command_is_traced_from_its_start_and_runs_on_to_its_status() {
    let home = crate::tool::directory();
    for (status, script) in [
        (0, "exec \"$0\" runtime --until-eof"),
        (7, "\"$0\" runtime --until-eof; exit 7"),
        (134, "\"$0\" runtime --until-eof; kill -ABRT $$"),
    ] {
        let file = home.path().join(status.to_string());
        let options = [&["-d", "1", "-o", file.to_str().unwrap()][..], &START].concat();
        let mut trace = traced(&options, script);
        let mut errors = BufReader::new(trace.stderr.take().unwrap());
        after_line(&mut errors, " bytes, complete");
        assert_eq!(trace.try_wait().unwrap(), None);
        // Now the command ends, and standard output has only what it printed.
        let (printed, _) = ended(trace, status);
        assert!(printed.ends_with("-socket\n") && printed.lines().count() == 1, "{printed}");
        assert!(has_event_of_the_start(&file));
    }
    // A session from after the start has none, and is not called complete.
    let (runtime, file) = (Runtime::start(&[]), home.path().join("later"));
    let later = ["trace", &runtime.pid(), "-d", "1", "-o", file.to_str().unwrap()];
    run(&[&later[..], &START].concat(), b"", 1);
    assert!(!has_event_of_the_start(&file));
}

#[test]
fn command_is_asked_to_end_once_its_trace_is_complete() {
    let home = crate::tool::directory();
    let [file, said] = ["file", "said"].map(|name| home.path().join(name));
    let script = format!(
        "trap 'echo asked > {}; exit 9' TERM; exec 3<&0; \"$0\" runtime --until-eof <&3 & wait $!",
        said.display()
    );
    let mut trace = traced(&["-o", file.to_str().unwrap()], &script);
    let input = trace.stdin.take();
    until_written(&file);
    signal(&trace, "-INT");
    let (_, errors) = ended(trace, 0);
    assert!(errors.ends_with("bytes, complete\n"), "{errors}");
    assert_eq!(fs::read_to_string(&said).unwrap(), "asked\n");
    drop(input);
}

#[test]
fn command_without_a_runtime_is_said_so() {
    for (script, status) in [("echo printed; exit 3", 3), ("echo printed", 1)] {
        let (printed, errors) = ended(traced(&["-o", "none"], script), status);
        assert_eq!(printed, "printed\n");
        let why = "diagipc trace: the command ended before a runtime connected: expected a program of .NET 5 or newer";
        assert!(errors.starts_with(why), "{errors}");
    }
    assert!(!Path::new("none").exists());
    let errors = self::errors(&["trace", "--", "/nonexistent/program"], 2);
    assert!(errors.starts_with("diagipc: /nonexistent/program: No such file"), "{errors}");
    let errors = self::errors(&["trace", "-o", "-", "--", "true"], 2);
    assert!(errors.contains("standard output belongs to the command"), "{errors}");
}

/// The command has not run anything yet.
#[test]
fn command_whose_session_is_refused_is_ended() {
    let home = crate::tool::directory();
    let file = home.path().join("file");
    let script = "exec \"$0\" runtime --until-eof --profile coreclr-8";
    // .NET 8 has no session without stacks. Its input stays open.
    let mut trace = traced(&["--no-stacks", "-o", file.to_str().unwrap()], script);
    let input = trace.stdin.take();
    let (_, errors) = ended(trace, 1);
    assert!(errors.contains("DS_IPC_E_UNKNOWN_COMMAND"), "{errors}");
    assert!(!file.exists());
    drop(input);
}

/// `DOTNET_DiagnosticPorts` is inherited: a runtime that nobody resumes would wait forever.
#[test]
fn first_runtime_at_a_port_is_traced_and_others_are_resumed() {
    let home = crate::tool::directory();
    let [file, port] = ["file", "port/socket"].map(|name| home.path().join(name));
    let address = port.to_str().unwrap();
    let options = [&["-o", file.to_str().unwrap()][..], &START].concat();
    let (trace, mut errors) = listening_at(address, &options);
    let _first = Runtime::start(&["--ports", address]);
    until_written(&file);
    let second = Runtime::start(&["--ports", address]);
    after_line(
        &mut errors,
        &format!("process {} has connected too: resumed, not traced", second.pid()),
    );
    drop(second);
    signal(&trace, "-INT");
    let output = trace.wait_with_output().unwrap();
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    assert_eq!(output.status.code(), Some(0), "{rest}");
    assert!(text(&output).ends_with("bytes, complete\n"));
    assert!(has_event_of_the_start(&file));
    assert!(!port.exists());
}

/// The process may have been another one of the same command.
#[test]
fn runtime_that_ends_while_it_is_asked_for_its_name_is_not_the_traced_one() {
    let home = crate::tool::directory();
    let [file, port] = ["file", "port"].map(|name| home.path().join(name));
    let address = port.to_str().unwrap();
    let options = ["--name", "app", "-d", "1", "-o", file.to_str().unwrap()];
    let (trace, mut errors) = listening_at(address, &options);
    let mut gone = UnixStream::connect(&port).unwrap();
    let advertise = [&b"ADVR_V1\0"[..], &[7; 16], &4242_u64.to_le_bytes(), &[0, 0]].concat();
    gone.write_all(&advertise).unwrap();
    gone.read_exact(&mut [0; 20]).unwrap();
    drop(gone);
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    assert!(line.contains("process 4242 was asked for its name: "), "{line}");
    let _app = Runtime::start(&["--ports", address, "--entry-assembly", "app"]);
    let output = trace.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output).ends_with(" bytes, complete\n"));
}

#[test]
fn port_that_cannot_be_created_is_an_error() {
    let home = crate::tool::directory();
    let there = home.path().join("there");
    fs::write(&there, "mine").unwrap();
    for (path, why) in [
        (there.to_str().unwrap(), "there"),
        ("a,b", "a,b: expected UTF-8 without `,` or `;`, which separate ports"),
        (&"x".repeat(200), "the maximum is 107"),
    ] {
        let errors = errors(&["trace", &format!("port:{path}")], 2);
        assert!(errors.starts_with("diagipc: ") && errors.contains(why), "{errors}");
    }
    assert_eq!(fs::read(&there).unwrap(), b"mine");
}
