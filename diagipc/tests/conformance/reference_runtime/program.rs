//! `diagipc runtime`: the reference runtime as a separate process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use diagipc::known::Profile;
use diagipc::runtime::{Config, ReferenceRuntime};

use crate::reference_runtime::{End, ask, ask_for_dump, message, request};
use crate::tool;

/// Ends with the test, however that ends.
pub(super) struct Program {
    child: Child,
    pub(super) socket: PathBuf,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program {
    pub(super) fn start(directory: &Path, arguments: &[&str]) -> Self {
        Self::start_with(directory, arguments, |_| {})
    }

    pub(super) fn start_with(
        directory: &Path,
        arguments: &[&str],
        prepare: impl FnOnce(&mut Command),
    ) -> Self {
        let mut command = tool::diagipc();
        command
            .arg("runtime")
            .args(arguments)
            .env("TMPDIR", directory)
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        prepare(&mut command);
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, socket: PathBuf::from(line.trim_end()) }
    }

    fn status(&mut self) -> ExitStatus {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the program does not end");
    }
}

/// `DisablePerfMap` with the code that the document prints: it has no payload, and kills .NET 8 and
/// 10 (F-84).
fn deadly() -> Vec<u8> {
    request(0x0405)
}

#[test]
fn program_is_found_and_ends_with_success() {
    for signal in ["TERM", "INT"] {
        let directory = crate::tool::directory();
        let mut program = Program::start(directory.path(), &["--profile", "8"]);
        let found = dotnet_diagnostics_ipc::endpoint::SocketName::from_path(
            program.socket.to_str().unwrap(),
        )
        .unwrap();
        assert_eq!(
            (found.pid, program.socket.parent().unwrap()),
            (program.child.id(), directory.path())
        );
        if cfg!(target_os = "linux") {
            assert_ne!(found.key, 0);
        }
        let (reply, _) = ask(&program.socket, &request(0x0400));
        assert_eq!(reply[20..28], u64::from(program.child.id()).to_le_bytes());
        let sent = Command::new("kill")
            .args(["-s", signal, &program.child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        assert_eq!(program.status().code(), Some(0));
        assert!(!program.socket.exists());
    }
}

fn kill(program: &Program, signal: &str) {
    let sent = Command::new("kill")
        .args(["-s", signal, &program.child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

/// F-109, P-49: what remains of a runtime without a handler for a signal.
#[test]
fn runtime_death_leaves_socket_as_its_build_does() {
    for (profile, signal, number, is_left) in [
        ("nativeaot-9", "TERM", 15, true),
        ("nativeaot-9", "INT", 2, true),
        ("coreclr-10", "TERM", 15, true),
        ("coreclr-10", "INT", 0, false),
        ("coreclr-8", "TERM", 0, false),
        ("coreclr-8", "INT", 0, false),
    ] {
        let directory = crate::tool::directory();
        let mut program = Program::start(directory.path(), &["--dies", "--profile", profile]);
        kill(&program, signal);
        let status = program.status();
        assert_eq!(
            (status.signal().unwrap_or(0), program.socket.exists()),
            (number, is_left),
            "{profile} {signal}"
        );
    }
}

/// P-50.
#[test]
fn runtime_suspended_survives_sigterm_as_its_build_does() {
    let directory = crate::tool::directory();
    let mut program =
        Program::start(directory.path(), &["--dies", "--suspended", "--profile", "coreclr-9"]);
    kill(&program, "TERM");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(program.child.try_wait().unwrap(), None);
    assert_eq!(ask(&program.socket, &request(0x0401)).0.len(), 24);
    kill(&program, "TERM");
    assert_eq!(program.status().code(), Some(0));
}

/// F-107, P-51.
#[test]
fn runtime_with_diagnostics_off_has_no_socket() {
    for (profile, entry, listens) in [
        ("coreclr-9", "DOTNET_EnableDiagnostics=0", false),
        ("coreclr-9", "DOTNET_EnableDiagnostics=0x0", false),
        ("coreclr-9", "COMPlus_EnableDiagnostics=00", false),
        ("coreclr-9", "DOTNET_EnableDiagnostics_IPC=0", false),
        ("coreclr-9", "DOTNET_EnableDiagnostics=false", true),
        ("coreclr-9", "DOTNET_EnableDiagnostics=", true),
        ("coreclr-9", "DOTNET_EnableDiagnostics_Debugger=0", true),
        ("coreclr-3.1", "DOTNET_EnableDiagnostics=0", true),
        ("nativeaot-9", "DOTNET_EnableDiagnostics=00", false),
        ("nativeaot-9", "DOTNET_EnableDiagnostics=0x0", true),
        ("nativeaot-9", "COMPlus_EnableDiagnostics=0", true),
        ("nativeaot-9", "DOTNET_EnableDiagnostics_IPC=0", true),
    ] {
        let directory = crate::tool::directory();
        let config = Config {
            profile: profile.parse().unwrap(),
            environment: vec![entry.to_owned()],
            ..Config::new(directory.path().join("socket"))
        };
        let runtime = ReferenceRuntime::start(config).unwrap();
        assert_eq!(
            (runtime.listens(), runtime.socket().exists()),
            (listens, listens),
            "{profile} {entry}"
        );
    }
    // Without a socket it prints none, and runs until it is ended.
    let directory = crate::tool::directory();
    let mut command = tool::diagipc();
    command
        .arg("runtime")
        .env("TMPDIR", directory.path())
        .env("DOTNET_EnableDiagnostics", "0")
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(child.try_wait().unwrap(), None);
    child.kill().unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// F-97, P-52.
#[test]
fn environment_not_utf_8_is_sent_or_fatal_as_in_build() {
    for (profile, bytes, told) in [
        (Profile::CORECLR_9, &b"caf\xe9 x"[..], Some("caf\u{fffd} x")),
        (Profile::CORECLR_9, b"a\xe2\x82", Some("a\u{fffd}")),
        (Profile::NATIVE_AOT_9, b"a\xe2\x82", Some("a")),
        (Profile::NATIVE_AOT_9, b"caf\xe9 x", None),
    ] {
        let directory = crate::tool::directory();
        let mut config = Config { profile, ..Config::new(directory.path().join("socket")) };
        config.set("DIAG_BYTES", bytes);
        let runtime = ReferenceRuntime::start(config).unwrap();
        let (reply, _) = ask(runtime.socket(), &request(0x0402));
        let entry = told.map(|text| {
            format!("DIAG_BYTES={text}\0")
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<_>>()
        });
        match entry {
            Some(entry) => assert!(
                reply.windows(entry.len()).any(|window| window == entry),
                "{profile} {}",
                bytes.escape_ascii()
            ),
            // It may not die here.
            None => assert_eq!(reply, message(0xffff, &[0x05, 0x40, 0x00, 0x80]), "{profile}"),
        }
    }
}

#[test]
fn dump_is_written_only_as_new_file_in_its_directory() {
    let directory = crate::tool::directory();
    let dumps = Some(directory.path().to_owned());
    let config = Config {
        profile: Profile::CORECLR_10,
        dumps,
        ..Config::new(directory.path().join("socket"))
    };
    let runtime = ReferenceRuntime::start(config).unwrap();
    let dump = |name: &str| {
        let text: Vec<u8> = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
        let count = u32::try_from(text.len() / 2).unwrap().to_le_bytes();
        message(0x0101, &[&count[..], &text, &4u32.to_le_bytes(), &0u32.to_le_bytes()].concat())
    };
    let done = message(0xff00, &[0; 4]);
    assert_eq!(ask_for_dump(runtime.socket(), &dump("core.dmp")).0, done);
    let head = std::fs::read(directory.path().join("core.dmp")).unwrap();
    assert_eq!((&head[..4], &head[16..]), (&b"\x7fELF"[..], &[4, 0][..]));
    // It does not overwrite an existing file, and writes nowhere else.
    std::fs::write(directory.path().join("mine"), "mine").unwrap();
    assert_eq!(ask_for_dump(runtime.socket(), &dump("mine")).0, done);
    assert_eq!(std::fs::read(directory.path().join("mine")).unwrap(), b"mine");
    let elsewhere = directory.path().join("elsewhere");
    assert_eq!(ask_for_dump(runtime.socket(), &dump(elsewhere.to_str().unwrap())).0, done);
    assert!(!elsewhere.exists());
}

#[test]
fn program_ends_with_its_input() {
    let directory = crate::tool::directory();
    let mut program =
        Program::start(directory.path(), &["--until-eof", "--suspended", "--env", "A=1"]);
    assert!(UnixStream::connect(&program.socket).is_ok());
    drop(program.child.stdin.take());
    assert_eq!(program.status().code(), Some(0));
    assert!(!program.socket.exists());
}

#[test]
fn program_dies_of_empty_payload_only_with_that_fault() {
    let directory = crate::tool::directory();
    let program = Program::start(directory.path(), &[]);
    assert_eq!(
        ask(&program.socket, &deadly()),
        (message(0xffff, &[0x84, 0x13, 0x13, 0x80]), End::Closed)
    );
    assert_eq!(ask(&program.socket, &request(0x0401)).0.len(), 24);

    let mut program = Program::start(directory.path(), &["--misbehave", "dies-of-empty-payload"]);
    let mut stream = UnixStream::connect(&program.socket).unwrap();
    stream.write_all(&deadly()).unwrap();
    // SIGABRT.
    assert_eq!(program.status().signal(), Some(6));
    assert!(program.socket.exists());
}

#[test]
fn program_unknown_option_is_refused() {
    for arguments in
        [["--profile", "coreclr-x"], ["--misbehave", "well"], ["--socket", "/nowhere/at/all"]]
    {
        let output = tool::diagipc().arg("runtime").args(arguments).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}");
        assert!(output.stderr.starts_with(b"diagipc: "));
    }
}

/// P-27: it ends after the reply to the resume, but not where startup hooks are not supported.
#[test]
fn program_dies_of_missing_hook_after_resume() {
    let hook = message(0x0407, &[3, 0, 0, 0, b'/', 0, b'!', 0, 0, 0]);
    let ok = (message(0xff00, &[0; 4]), End::Closed);
    for (profile, dies) in [("coreclr-8", true), ("coreclr-9", true), ("coreclr-10", false)] {
        let directory = crate::tool::directory();
        let mut program =
            Program::start(directory.path(), &["--dies", "--suspended", "--profile", profile]);
        assert_eq!(ask(&program.socket, &hook), ok, "{profile}");
        assert_eq!(ask(&program.socket, &request(0x0401)), ok, "{profile}");
        if dies {
            assert_eq!(program.status().signal(), Some(6), "{profile}");
        } else {
            std::thread::sleep(Duration::from_millis(500));
            assert!(program.child.try_wait().unwrap().is_none(), "{profile}");
        }
    }
}
