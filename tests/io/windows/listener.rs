//! How a client and a server connect.

use std::io::{ErrorKind as IoErrorKind, Read as _, Write as _};
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::port_listener::{PortListener, PortOptions};
use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
use dotnet_diagnostics_ipc::io::{Error, ErrorKind, Phase, Transport as _};

use super::{SHORT, name, patience, receive_all, send_all, within};

/// A client with blocking calls, as others write them. A write of no bytes is not the end; under
/// wine it does nothing.
#[test]
fn pipe_serves_another_client() {
    let mut listener = PipeListener::bind(&name("other")).unwrap();
    let mut client =
        std::fs::OpenOptions::new().read(true).write(true).open(listener.path()).unwrap();
    let mut server = listener.accept(&patience()).unwrap();
    let waits = thread::spawn(move || {
        let mut buffer = [0; 16];
        let count = server.receive(&mut buffer, &patience()).unwrap();
        send_all(&mut server, b"answer");
        buffer[..count].to_vec()
    });
    thread::sleep(SHORT);
    assert_eq!(client.write(&[]).unwrap(), 0);
    thread::sleep(SHORT);
    client.write_all(b"asked").unwrap();
    let mut answer = [0; 6];
    client.read_exact(&mut answer).unwrap();
    assert_eq!((waits.join().unwrap(), answer), (b"asked".to_vec(), *b"answer"));
}

#[test]
fn pipe_busy_is_waited_for() {
    let mut listener = PipeListener::bind(&name("busy")).unwrap();
    let path = listener.path().to_owned();
    let mut first = PipeTransport::connect(&path, &patience()).unwrap();

    let before = Instant::now();
    let error = PipeTransport::connect(&path, &within(SHORT)).unwrap_err();
    assert_error!(error, Connect, ErrorKind::TimedOut);
    assert!(before.elapsed() >= SHORT);

    let before = Instant::now();
    let waits = thread::spawn(move || {
        let second = PipeTransport::connect(&path, &patience()).unwrap();
        (second, Instant::now())
    });
    thread::sleep(SHORT);
    // Accepting the first one makes room for the second.
    let mut one = listener.accept(&patience()).unwrap();
    let mut two = listener.accept(&patience()).unwrap();
    let (mut second, when) = waits.join().unwrap();
    assert!(when - before >= SHORT);
    send_all(&mut first, b"first");
    send_all(&mut second, b"second one");
    assert_eq!(one.receive(&mut [0; 16], &patience()).unwrap(), 5);
    assert_eq!(two.receive(&mut [0; 16], &patience()).unwrap(), 10);
}

#[test]
fn pipe_missing_is_not_found() {
    let error = PipeTransport::connect(&name("nowhere"), &patience()).unwrap_err();
    let path = format!(r"\\.\pipe\{}", name("nowhere"));
    assert_eq!(error.phase(), Phase::Find);
    assert!(matches!(error.kind(), ErrorKind::NotFound(what) if *what == path), "{error}");

    // The pipe existed.
    drop(PipeListener::bind(&path).unwrap());
    let error = PipeTransport::connect(&path, &patience()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotFound(_)), "{error}");

    let invalid = |error: Error| {
        assert!(
            matches!(error.kind(), ErrorKind::Io(error) if error.kind() == IoErrorKind::InvalidInput),
            "{error}"
        );
    };
    for name in ["", r"\\server\pipe\name", "a\0b", &"x".repeat(300)] {
        invalid(PipeTransport::connect(name, &patience()).unwrap_err());
        invalid(PipeListener::bind(name).unwrap_err());
        invalid(PortListener::bind(name, PortOptions::DEFAULT).unwrap_err());
    }
}

#[test]
#[ignore = "wine 8 lets anyone make one more pipe of the name: it does not look at FILE_FLAG_FIRST_PIPE_INSTANCE"]
fn pipe_name_is_taken_once() {
    let mut listener = PipeListener::bind(&name("taken")).unwrap();
    let error = PipeListener::bind(listener.path()).unwrap_err();
    assert_eq!(error.phase(), Phase::Listen);
    assert!(
        matches!(error.kind(), ErrorKind::Io(error) if error.kind() == IoErrorKind::PermissionDenied),
        "{error}"
    );
    // A leftover connection keeps it taken as well.
    let client = PipeTransport::connect(listener.path(), &patience()).unwrap();
    let server = listener.accept(&patience()).unwrap();
    drop(listener);
    assert!(PipeListener::bind(&name("taken")).is_err());
    drop((server, client));
    PipeListener::bind(&name("taken")).unwrap();
}

#[test]
fn pipe_accept_ends_at_deadline_and_goes_on() {
    let mut listener = PipeListener::bind(&name("accept")).unwrap();
    for _ in 0..3 {
        let before = Instant::now();
        let error = listener.accept(&within(SHORT)).unwrap_err();
        assert_error!(error, Listen, ErrorKind::TimedOut);
        assert!(before.elapsed() >= SHORT);
    }
    for late in [true, false] {
        let path = listener.path().to_owned();
        let connects = thread::spawn(move || {
            thread::sleep(if late { SHORT } else { Duration::ZERO });
            PipeTransport::connect(&path, &patience()).unwrap()
        });
        thread::sleep(if late { Duration::ZERO } else { SHORT });
        let mut server = listener.accept(&patience()).unwrap();
        let mut client = connects.join().unwrap();
        send_all(&mut client, b"here");
        assert_eq!(server.receive(&mut [0; 8], &patience()).unwrap(), 4);
    }
}

/// A runtime that advertises itself and dies.
#[test]
fn pipe_client_gone_is_accepted() {
    let mut listener = PipeListener::bind(&name("left")).unwrap();
    let mut client = PipeTransport::connect(listener.path(), &patience()).unwrap();
    send_all(&mut client, b"ADVR_V1\0");
    drop(client);
    let mut server = listener.accept(&patience()).unwrap();
    assert_eq!(receive_all(&mut server, 34), b"ADVR_V1\0");
    // The next runtime is served.
    let _client = PipeTransport::connect(listener.path(), &patience()).unwrap();
    listener.accept(&patience()).unwrap();
}
