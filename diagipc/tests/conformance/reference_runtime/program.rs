//! `diagipc runtime`: the reference runtime as a separate process.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use diagipc::known::Profile;
use diagipc::runtime::{Config, ReferenceRuntime};
use dotnet_diagnostics_ipc::endpoint::SocketName;

use crate::reference_runtime::{End, ask, ask_for_dump, message, request};
use crate::tool::{self, Runtime, errors, signal};

/// Its socket has the name by which clients find it; a signal or the end of its input ends it.
#[test]
fn program_is_found_and_ends_with_success() {
    for name in ["-TERM", "-INT", ""] {
        let mut program = Runtime::start(&["--profile", "8", "--suspended", "--env", "A=1"]);
        let found = SocketName::from_path(&program.socket).unwrap();
        let directory = Path::new(&program.socket).parent().unwrap();
        assert_eq!((found.pid, directory), (program.process.id(), program.home.path()));
        assert!(!cfg!(target_os = "linux") || found.key != 0);
        let (reply, _) = ask(program.socket.as_ref(), &request(0x0400));
        assert_eq!(reply[20..28], u64::from(program.process.id()).to_le_bytes());
        if name.is_empty() {
            drop(program.process.stdin.take());
        } else {
            signal(&program.process, name);
        }
        assert_eq!(program.status().code(), Some(0));
        assert!(!Path::new(&program.socket).exists());
    }
}

/// F-109, P-49: what remains of a runtime without a handler for a signal.
#[test]
fn runtime_death_leaves_socket_as_its_build_does() {
    for (profile, name, number, is_left) in [
        ("nativeaot-9", "-TERM", 15, true),
        ("nativeaot-9", "-INT", 2, true),
        ("coreclr-10", "-TERM", 15, true),
        ("coreclr-10", "-INT", 0, false),
        ("coreclr-8", "-TERM", 0, false),
        ("coreclr-8", "-INT", 0, false),
    ] {
        let mut program = Runtime::start(&["--dies", "--profile", profile]);
        signal(&program.process, name);
        let left = (program.status().signal().unwrap_or(0), Path::new(&program.socket).exists());
        assert_eq!(left, (number, is_left), "{profile} {name}");
    }
    // P-50: one that is suspended survives the first.
    let mut program = Runtime::start(&["--dies", "--suspended", "--profile", "coreclr-9"]);
    signal(&program.process, "-TERM");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(program.process.try_wait().unwrap(), None);
    assert_eq!(ask(program.socket.as_ref(), &request(0x0401)).0.len(), 24);
    signal(&program.process, "-TERM");
    assert_eq!(program.status().code(), Some(0));
}

/// The environment may disable the server (F-107, P-51).
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

/// An environment that is not UTF-8 is reported, or kills the runtime (F-97, P-52).
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
            // The runtime may not die here.
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

/// P-38, F-155: the files of each type and version. They are gone once it has ended.
#[test]
fn perf_maps_are_written_to_tmp_as_its_build_does() {
    for (profile, kind, expected) in [
        ("10", 1, &["perf-PID.map", "jit-PID.dump"][..]),
        ("10", 2, &["jit-PID.dump"]),
        ("9", 3, &["perf-PID.map"]),
        ("8", 1, &["perf-PID.map", "perfinfo-PID.map", "jit-PID.dump"]),
        ("nativeaot-10", 1, &[]),
    ] {
        let mut program = Runtime::start(&["--profile", profile]);
        let id = program.process.id().to_string();
        let path = |name: &str| Path::new("/tmp").join(name.replace("PID", &id));
        let all = ["perf-PID.map", "perfinfo-PID.map", "jit-PID.dump"];
        let written =
            || -> Vec<&str> { all.into_iter().filter(|name| path(name).exists()).collect() };
        // A killed runtime that had the same id may have left its own.
        for name in written() {
            std::fs::remove_file(path(name)).unwrap();
        }
        ask(program.socket.as_ref(), &message(0x0405, &u32::to_le_bytes(kind)));
        assert_eq!(written(), expected, "{profile} {kind}");
        drop(program.process.stdin.take());
        assert_eq!((program.status().code(), written().len()), (Some(0), 0));
    }
}

/// `DisablePerfMap` with the code that the document prints has no payload, and kills .NET 8 and 10
/// (F-84).
#[test]
fn program_dies_of_empty_payload_only_with_that_fault() {
    let program = Runtime::start(&[]);
    let refused = (message(0xffff, &[0x84, 0x13, 0x13, 0x80]), End::Closed);
    assert_eq!(ask(program.socket.as_ref(), &request(0x0405)), refused);

    let mut program = Runtime::start(&["--misbehave", "dies-of-empty-payload"]);
    let mut stream = UnixStream::connect(&program.socket).unwrap();
    stream.write_all(&request(0x0405)).unwrap();
    // SIGABRT.
    assert_eq!(program.status().signal(), Some(6));
    assert!(Path::new(&program.socket).exists());
}

#[test]
fn program_unknown_option_is_refused() {
    for arguments in
        [["--profile", "coreclr-x"], ["--misbehave", "well"], ["--socket", "/nowhere/at/all"]]
    {
        let said = errors(&[&["runtime"], &arguments[..]].concat(), 2);
        assert!(said.starts_with("diagipc: "), "{said}");
    }
}

/// P-27: it ends after the reply to the resume, but not where startup hooks are not supported.
#[test]
fn program_dies_of_missing_hook_after_resume() {
    let hook = message(0x0407, &[3, 0, 0, 0, b'/', 0, b'!', 0, 0, 0]);
    let ok = (message(0xff00, &[0; 4]), End::Closed);
    for (profile, dies) in [("coreclr-8", true), ("coreclr-9", true), ("coreclr-10", false)] {
        let mut program = Runtime::start(&["--dies", "--suspended", "--profile", profile]);
        for request in [&hook, &request(0x0401)] {
            assert_eq!(ask(program.socket.as_ref(), request), ok, "{profile}");
        }
        if dies {
            assert_eq!(program.status().signal(), Some(6), "{profile}");
        } else {
            std::thread::sleep(Duration::from_millis(500));
            assert_eq!(program.process.try_wait().unwrap(), None, "{profile}");
        }
    }
}
