//! What only a port on a pipe has: many handles, a next pipe that is free, a name. The rest is in
//! `tests/io/port_listener`.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};

use dotnet_diagnostics_ipc::io::Connect as _;
use dotnet_diagnostics_ipc::io::port_listener::{PortListener, PortOptions, PortRuntime};
use dotnet_diagnostics_ipc::io::windows::{EndpointTransport, PipeListener, PipeTransport};

use super::{name, patience};
use crate::port_listener::{assert_disconnected, eventually, next_new};

fn open(path: &str) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

fn come(path: &str, process_id: u8) -> File {
    crate::port_listener::come(path.as_ref(), process_id.into())
}

/// The new runtime with this process id.
fn found(port: &PortListener, process_id: u64) -> PortRuntime {
    std::iter::repeat_with(|| next_new(port)).find(|it| it.process_id() == process_id).unwrap()
}

/// A runtime that finds its pipe closed instead, before it waits for a command, never connects again
/// (P-57).
#[test]
fn port_closed_disconnects_those_that_wait() {
    let path = format!(r"\\.\pipe\{}", name("port-closed"));
    let port = PortListener::bind(&path, PortOptions::DEFAULT).unwrap();
    // One whose advertise was read, and one that has just connected.
    let mut files = vec![come(&path, 1)];
    eventually(&port, |counts| counts.held == 1);
    files.push(open(&path).unwrap());
    drop(port);
    let listener = PipeListener::bind(&path).unwrap();
    files.push(open(&path).unwrap());
    drop(listener);
    files.iter_mut().for_each(assert_disconnected);
}

/// The same for one that its taker drops unused; but what was sent can still be read.
#[test]
fn port_connection_dropped_unused_is_disconnected() {
    let path = format!(r"\\.\pipe\{}", name("port-unused"));
    let port = PortListener::bind(&path, PortOptions::DEFAULT).unwrap();
    let mut runtimes = [come(&path, 1), come(&path, 2)];
    let [first, second] = [1, 2].map(|_| next_new(&port));
    let [first, second] = if first.process_id() == 1 { [first, second] } else { [second, first] };
    let EndpointTransport::Pipe(unused) = first.connect(&patience()).unwrap() else {
        panic!("it is no pipe")
    };
    let clone = unused.try_clone().unwrap();
    drop(unused);
    drop(clone);
    assert_disconnected(&mut runtimes[0]);
    let mut used = second.connect(&patience()).unwrap();
    super::send_all(&mut used, b"asked");
    drop(used);
    let mut asked = Vec::new();
    let _ = runtimes[1].read_to_end(&mut asked);
    assert_eq!(asked, b"asked");

    drop(port);
    let mut listener = PipeListener::bind(&path).unwrap();
    let mut client = open(&path).unwrap();
    drop(listener.accept(&patience()).unwrap());
    assert_disconnected(&mut client);
}

/// More than the 64 handles for which one call of Windows can wait.
#[test]
fn port_100_runtimes_wait_at_once() {
    let path = format!(r"\\.\pipe\{}", name("port-100"));
    let port = PortListener::bind(&path, PortOptions::DEFAULT).unwrap();
    let mut runtimes: Vec<_> = (0..100).map(|nth| Some(come(&path, nth))).collect();
    eventually(&port, |counts| counts.held == 100);
    runtimes[70] = None;
    eventually(&port, |counts| (counts.held, counts.ended_waiting) == (99, 1));
    let mut transport = found(&port, 99).connect(&patience()).unwrap();
    super::send_all(&mut transport, b"asked");
    let mut asked = [0; 5];
    runtimes[99].as_mut().unwrap().read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"asked");
}

/// A runtime that finds none free tries again only 400 ms later (F-124).
#[test]
fn port_next_pipe_is_free_before_first_is_used() {
    let path = format!(r"\\.\pipe\{}", name("port-next"));
    let port = PortListener::bind(&path, PortOptions::DEFAULT).unwrap();
    for nth in 0..50 {
        let _runtime = come(&path, nth);
        found(&port, nth.into());
        // Not tried again: a runtime whose connection was taken has its next one at once.
        let next = open(&path);
        assert!(next.is_ok(), "{nth}: {next:?}");
    }
    eventually(&port, |counts| counts.accepted == 100);
}

/// Four runtimes that start at once need not wait for each other.
#[test]
fn port_has_four_free_pipes() {
    let path = format!(r"\\.\pipe\{}", name("port-four"));
    let port = PortListener::bind(&path, PortOptions::DEFAULT).unwrap();
    // The runtime's thread is running.
    drop(come(&path, 1));
    eventually(&port, |counts| counts.ended_waiting == 1);
    let files: Vec<_> = (0..4).map(|_| open(&path)).collect();
    assert!(files.iter().all(Result::is_ok), "{files:?}");
}

#[test]
fn port_name_is_gone_with_its_port() {
    let short = name("port-name");
    let path = format!(r"\\.\pipe\{short}");
    let port = PortListener::bind(&short, PortOptions::DEFAULT).unwrap();
    let mut waits = come(&path, 1);
    let mut taken = come(&path, 2);
    let transport = found(&port, 2).connect(&patience()).unwrap();
    eventually(&port, |counts| counts.held == 1);
    drop(port);
    assert_disconnected(&mut waits);
    // A connection that was handed out belongs to its owner, and continues.
    taken.write_all(b"reply").unwrap();
    let mut transport = transport;
    let mut reply = [0; 8];
    assert_eq!(
        dotnet_diagnostics_ipc::io::Transport::receive(&mut transport, &mut reply, &patience())
            .unwrap(),
        5
    );
    drop(transport);
    assert!(!PipeTransport::is_there(&path).unwrap());
    // The name can be used again.
    drop(PortListener::bind(&short, PortOptions::DEFAULT).unwrap());
}
