//! What only the blocking client has: cancellation from another thread, deadlines that it passes to
//! its transport, and descriptors.

use std::io::{self, Read as _, Write as _};
use std::os::fd::BorrowedFd;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::exchange::fallback::Fallback;
use dotnet_diagnostics_ipc::exchange::{End, SessionEnd, StopOutcome};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::*;
use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::eventpipe::CollectTracing5;
use dotnet_diagnostics_ipc::message::process::ResumeRuntime;
use rustix::event::{PollFd, PollFlags};

use crate::client::{COLLECT, COLLECT5, FAILED, Peer, SESSION, UNKNOWN, USER_EVENTS};

fn streaming(bytes: &[u8]) -> Vec<u8> {
    [SESSION, bytes].concat()
}

#[test]
fn call_waiting_for_reply_is_cancelled() {
    let (peer, canceller) = (Peer::saying(&[&[]]), Canceller::new().unwrap());
    let client =
        Client::new(&peer).with_deadlines(Deadlines::NONE).with_canceller(canceller.clone());
    let error = thread::scope(|scope| {
        let call = scope.spawn(|| client.resume().unwrap_err());
        while peer.connections.lock().unwrap().is_empty() {
            thread::yield_now();
        }
        assert_eq!(peer.asked(0, 20), b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0");
        canceller.cancel();
        // One cancellation is enough, and a second one is harmless.
        canceller.cancel();
        call.join().unwrap()
    });
    assert_error!(error, Reply, ErrorKind::Cancelled);
    assert_eq!(error.to_string(), "cancelled (waiting for the reply)");
}

#[test]
fn connection_cancelled_sends_nothing() {
    let (peer, canceller) = (Peer::saying(&[&[]]), Canceller::new().unwrap());
    canceller.cancel();
    let transport = Connect::connect(&peer, &WaitLimit::FOREVER).unwrap();
    let error =
        Connection::new(transport).with_canceller(canceller).call(&ResumeRuntime {}).unwrap_err();
    assert_error!(error, Send, ErrorKind::Cancelled);
    assert_eq!(io::Read::read(&mut peer.end(0), &mut [0; 1]).unwrap(), 0);
}

#[test]
fn user_events_session_lasts_until_hang_up() {
    let (peer, other) = (Peer::saying(&[SESSION]), Peer::saying(&[SESSION]));
    let connection = Connection::new(Connect::connect(&peer, &WaitLimit::FOREVER).unwrap());
    let session = connection.user_events(&USER_EVENTS, io::stdin()).unwrap();
    assert_eq!(session.session_id(), Some(42));
    let soon = || WaitLimit {
        deadline: Some(std::time::Instant::now() + Duration::from_millis(20)),
        canceller: None,
    };
    let error = session.wait(&soon()).unwrap_err();
    assert_error!(error, Continuation, ErrorKind::TimedOut);
    // Received bytes are not the end.
    io::Write::write_all(&mut peer.end(0), &[7; 100]).unwrap();
    let error = session.wait(&soon()).unwrap_err();
    assert_error!(error, Continuation, ErrorKind::TimedOut);
    let client = Client::new(&other);
    let other_session = client.user_events(&USER_EVENTS, io::stdin()).unwrap();
    peer.hang_up();
    // A poll tells which of many sessions has ended.
    let mut polled = [&session, &other_session].map(|session| PollFd::new(session, PollFlags::IN));
    assert_eq!(rustix::event::poll(&mut polled, None).unwrap(), 1);
    assert!(polled[0].revents().contains(PollFlags::IN));
    session.wait(&WaitLimit::FOREVER).unwrap();
}

/// Makes connections that carry everything except a descriptor.
struct Closing<'p>(&'p Peer);

#[derive(Debug)]
struct NoFd(SocketTransport);

impl Transport for NoFd {
    fn send(&mut self, bytes: &[u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        self.0.send(bytes, until)
    }
    fn receive(&mut self, into: &mut [u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        self.0.receive(into, until)
    }
    fn send_fd(&mut self, _: BorrowedFd<'_>, _: &WaitLimit<'_>) -> Result<(), ErrorKind> {
        Err(io::Error::from(io::ErrorKind::BrokenPipe).into())
    }
}

impl Connect for Closing<'_> {
    type Transport = NoFd;

    fn connect(&self, until: &WaitLimit<'_>) -> Result<NoFd, Error> {
        Connect::connect(self.0, until).map(NoFd)
    }
}

#[test]
fn user_events_early_refusal_is_reported() {
    let peer = Peer::saying(&[FAILED]);
    let error = Client::new(Closing(&peer))
        .user_events(&USER_EVENTS, tempfile::tempfile().unwrap())
        .unwrap_err();
    assert_eq!((error.phase(), error.hresult()), (Phase::Reply, Some(HResult::FAIL)));
}

#[test]
fn trace_waiting_read_is_cancelled() {
    // A wait for the first byte, and a wait for more; begun before the cancellation, or after it.
    for (says, early) in [(&b""[..], true), (b"", false), (b"Nettrace", false)] {
        let (peer, canceller) = (Peer::saying(&[&streaming(says)]), Canceller::new().unwrap());
        let client = Client::new(&peer).with_canceller(canceller.clone());
        let mut trace = client.trace(&COLLECT).unwrap();
        thread::scope(|scope| {
            let cancelling = scope.spawn(|| {
                if !early {
                    thread::sleep(Duration::from_millis(20));
                }
                canceller.cancel();
            });
            if early {
                cancelling.join().unwrap();
            }
            let error = trace.read_to_end(&mut Vec::new()).unwrap_err();
            assert_error!(Error::in_io(&error).unwrap(), Continuation, ErrorKind::Cancelled);
            assert_eq!(error.to_string(), "cancelled (reading what follows the reply)");
        });
        // This is not the end of the session, which ends when its connection is closed.
        assert!(trace.outcome().is_none());
    }
}

struct Elsewhere;

impl Connect for Elsewhere {
    type Transport = Stream<std::net::TcpStream>;

    fn connect(&self, _: &WaitLimit<'_>) -> Result<Self::Transport, Error> {
        panic!("a stop was sent before");
    }
}

/// The runtime has received the stop, and may have stopped the session.
#[test]
fn stop_cancelled_after_it_was_sent_is_not_sent_again() {
    let peer = Peer::saying(&[&streaming(b"N"), &[], FAILED]);
    let (client, canceller) = (Client::new(&peer), Canceller::new().unwrap());
    let mut trace = client.trace(&COLLECT).unwrap();
    trace.read_exact(&mut [0]).unwrap();
    let first = trace.stop_handle(&client.clone().with_canceller(canceller.clone()));
    thread::scope(|scope| {
        let stopping = scope.spawn(|| first.stop());
        peer.asked_when_connected(1, 28);
        canceller.cancel();
        let error = stopping.join().unwrap().unwrap_err();
        assert_error!(error, Stop, ErrorKind::Cancelled);
    });
    // The connection is of another type than those of this client.
    let error = trace.stop_handle(&Client::new(Elsewhere)).stop().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::AlreadyStopped), "{error:?}");
    peer.asked(0, 57);
    let mut stream = peer.connections.lock().unwrap().remove(0);
    stream.write_all(b"ettrace").unwrap();
    drop(stream);
    assert_eq!(trace.read_to_end(&mut Vec::new()).unwrap(), 7);
    assert!(matches!(trace.check_complete().unwrap_err().kind(), ErrorKind::Unsupported(_)));
    peer.end(0).write_all(SESSION).unwrap();
    assert_eq!(trace.stop_handle(&client).stop().unwrap(), StopOutcome::Answered);
    assert_eq!(peer.connections.lock().unwrap().len(), 1, "no other connection was made");
    trace.check_complete().unwrap();
}

/// F-160: a runtime that waits at its start sends no byte, and `StopTracing` kills it later.
#[test]
fn stop_before_the_first_byte_closes_the_connection() {
    for waits in [false, true] {
        for canceller in [None, Some(Canceller::new().unwrap())] {
            let peer = Peer::saying(&[SESSION, SESSION]);
            let mut client = Client::new(&peer);
            if let Some(canceller) = &canceller {
                client = client.with_canceller(canceller.clone());
            }
            let mut trace = client.trace(&COLLECT).unwrap();
            let stop_handle = trace.stop_handle(&client);
            thread::scope(|scope| {
                let stopping = scope.spawn(|| {
                    if waits {
                        thread::sleep(Duration::from_millis(20));
                    }
                    stop_handle.stop().unwrap()
                });
                if !waits {
                    while !format!("{stop_handle:?}").contains("ToClose") {
                        thread::yield_now();
                    }
                }
                assert_eq!(trace.read(&mut [0; 8]).unwrap(), 0, "the stop wakes the reader");
                assert_eq!(stopping.join().unwrap(), StopOutcome::NotSent);
            });
            peer.was_asked_once_and_left(57);
            assert_eq!(trace.read(&mut [0; 8]).unwrap(), 0);
            let outcome = trace.outcome().unwrap();
            assert_eq!((outcome.bytes, outcome.end), (0, SessionEnd::HungUp));
            assert!(matches!(
                trace.check_complete().unwrap_err().kind(),
                ErrorKind::Incomplete { end: End::Closed, received: 0 }
            ));
            let error = stop_handle.stop().unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::SessionOver), "{error:?}");
        }
    }
}

/// Connects to the peer, and records the deadline.
struct NotingDeadlines<'p>(&'p Peer, Mutex<Vec<Option<Instant>>>);

impl Connect for NotingDeadlines<'_> {
    type Transport = SocketTransport;

    fn connect(&self, until: &WaitLimit<'_>) -> Result<SocketTransport, Error> {
        self.1.lock().unwrap().push(until.deadline);
        Connect::connect(self.0, until)
    }
}

#[test]
fn fallback_deadline_covers_all_connections() {
    let peer = Peer::saying(&[UNKNOWN, UNKNOWN, SESSION]);
    let deadlines =
        Deadlines { connect: None, whole: Some(Duration::from_secs(60)), ..Deadlines::DEFAULT };
    let noting = NotingDeadlines(&peer, Mutex::default());
    let request = AnyRequest::CollectTracing5(CollectTracing5::Streaming(COLLECT5));
    let client = Client::new(&noting).with_deadlines(deadlines);
    let (trace, _) = client.trace_by(Fallback::new(request)).unwrap();
    assert_eq!(trace.session_id(), Some(42));
    let until = noting.1.lock().unwrap();
    assert!(
        until.len() == 3 && until[0].is_some() && until.iter().all(|one| *one == until[0]),
        "{until:?}"
    );
}
