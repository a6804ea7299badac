//! The stream of a session, and its stop.

use std::io::{Read as _, Write as _};
use std::thread;
use std::time::Duration;

use dotnet_diagnostics_ipc::exchange::fallback::Fallback;
use dotnet_diagnostics_ipc::exchange::{End, SessionEnd, StopOutcome};
use dotnet_diagnostics_ipc::io::*;
use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, EventFilter, EventLevel, StreamingProviderConfig, StreamingSession,
};
use dotnet_diagnostics_ipc::wire::{Array, IpcString};

use crate::client::{COLLECT, FAILED, Peer, SESSION, USER_EVENTS};

/// A stop that is sent here is not answered.
const BOUNDED: Deadlines = Deadlines { whole: Some(Duration::from_secs(60)), ..Deadlines::DEFAULT };

fn streaming(bytes: &[u8]) -> Vec<u8> {
    [SESSION, bytes].concat()
}

#[test]
fn stop_handle_clone_stops_once() {
    let peer = Peer::saying(&[&streaming(b"Nettrace"), SESSION]);
    let client = Client::new(&peer);
    let mut trace = client.trace(&COLLECT).unwrap();
    assert_eq!(trace.session_id(), Some(42));
    assert!(trace.transport().is_some());
    trace.read_exact(&mut [0]).unwrap();
    let stop_handle = trace.stop_handle(&client);
    assert_eq!(stop_handle.clone().stop().unwrap(), StopOutcome::Answered);
    assert_eq!(peer.asked(1, 28)[16..], [2, 1, 0, 0, 42, 0, 0, 0, 0, 0, 0, 0]);
    let error = stop_handle.stop().unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Stop, ErrorKind::AlreadyStopped)),
        "{error:?}"
    );
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Stop, ErrorKind::AlreadyStopped)),
        "{error:?}"
    );
    // Its end has not arrived yet.
    assert!(matches!(trace.check_complete().unwrap_err().kind(), ErrorKind::Unsupported(_)));
    peer.hang_up();
    let mut stream = Vec::new();
    trace.read_to_end(&mut stream).unwrap();
    assert_eq!(stream, b"ettrace");
    assert!(trace.transport().is_none());
    assert!(trace.outcome().unwrap().is_complete());
    trace.check_complete().unwrap();
    // Its end stays its end.
    assert_eq!(trace.read(&mut [0; 8]).unwrap(), 0);
    assert_eq!(trace.outcome().unwrap().bytes, 8);
}

#[test]
fn trace_empty_read_is_not_the_end() {
    let peer = Peer::saying(&[&streaming(b"Nettrace")]);
    let mut trace = Client::new(&peer).trace(&COLLECT).unwrap();
    assert_eq!(trace.read(&mut []).unwrap(), 0);
    assert!(trace.outcome().is_none());
    assert_eq!(trace.read(&mut [0; 8]).unwrap(), 8);
}

#[test]
fn trace_debug_shows_state() {
    let peer = Peer::saying(&[&streaming(b"Nettrace")]);
    let client = Client::new(&peer);
    let trace = client.trace(&COLLECT).unwrap();
    let (said, stop_handle) = (format!("{trace:?}"), format!("{:?}", trace.stop_handle(&client)));
    assert!(said.starts_with("Trace { session: ") && said.contains("id: Some(42)"), "{said}");
    assert!(
        stop_handle.starts_with("StopHandle { session: ") && stop_handle.contains("NotSent"),
        "{stop_handle}"
    );
}

#[test]
fn trace_waiting_read_is_cancelled() {
    let (peer, canceller) = (Peer::saying(&[&streaming(b"Nettrace")]), Canceller::new().unwrap());
    let mut trace = Client::new(&peer).with_canceller(canceller.clone()).trace(&COLLECT).unwrap();
    let mut stream = Vec::new();
    thread::scope(|scope| {
        let reading = scope.spawn(|| trace.read_to_end(&mut stream));
        thread::sleep(Duration::from_millis(20));
        canceller.cancel();
        let error = reading.join().unwrap().unwrap_err();
        let inner = Error::in_io(&error).unwrap();
        assert!(
            matches!((inner.phase(), inner.kind()), (Phase::Continuation, ErrorKind::Cancelled)),
            "{error:?}"
        );
        assert_eq!(error.to_string(), "cancelled (reading what follows the reply)");
    });
    // Not the end of the session: that ends when its connection is closed.
    assert!(trace.outcome().is_none());
}

#[test]
fn stop_past_its_deadline_waits_for_the_same_reply() {
    let peer = Peer::saying(&[&streaming(b"N"), &[], SESSION]);
    let each = Some(Duration::from_millis(50));
    let client = Client::new(&peer)
        .with_deadlines(Deadlines { reply: ReplyWithin::Fixed(each), ..Deadlines::DEFAULT });
    let mut trace = client.trace(&COLLECT).unwrap();
    trace.read_exact(&mut [0]).unwrap();
    let stop_handle = trace.stop_handle(&client);
    for _ in 0..2 {
        let error = stop_handle.stop().unwrap_err();
        assert!(
            matches!((error.phase(), error.kind()), (Phase::Stop, ErrorKind::TimedOut)),
            "{error:?}"
        );
    }
    peer.end(1).write_all(FAILED).unwrap();
    let error = stop_handle.stop().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the runtime answered 0x80004005 DS_IPC_E_FAIL (stopping the session)"
    );
    assert_eq!(peer.connections.lock().unwrap().len(), 2);
    // A stop that was refused is sent again.
    assert_eq!(stop_handle.stop().unwrap(), StopOutcome::Answered);
    assert_eq!(peer.asked(2, 28)[16..], [2, 1, 0, 0, 42, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn stop_without_connection_was_not_sent() {
    let peer = Peer::saying(&[&streaming(b"Nettrace")]);
    let client = Client::new(&peer);
    let mut trace = client.trace(&COLLECT).unwrap();
    trace.read_exact(&mut [0]).unwrap();
    let error = trace.stop_handle(&client).stop().unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Connect, ErrorKind::Io(_))),
        "{error:?}"
    );
    peer.end(0).write_all(b" and more").unwrap();
    peer.hang_up();
    trace.read_to_end(&mut Vec::new()).unwrap();
    let outcome = trace.outcome().unwrap();
    assert_eq!((outcome.stop, outcome.bytes), (StopOutcome::NotSent, 17));
    assert!(!outcome.is_complete());
}

struct Elsewhere;

impl Connect for Elsewhere {
    type Transport = Stream<std::net::TcpStream>;

    fn connect(&self, _: &WaitLimit<'_>) -> Result<Self::Transport, Error> {
        panic!("a stop was sent before");
    }
}

/// The runtime has got it, and may have stopped the session.
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
        assert!(
            matches!((error.phase(), error.kind()), (Phase::Stop, ErrorKind::Cancelled)),
            "{error:?}"
        );
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

#[test]
fn trace_of_ended_process_is_incomplete() {
    let peer = Peer::saying(&[&streaming(b"Nettrace"), SESSION]);
    let client = Client::new(&peer);
    let mut trace = client.trace(&COLLECT).unwrap();
    peer.hang_up();
    assert_eq!(trace.read_to_end(&mut Vec::new()).unwrap(), 8);
    let error = trace.check_complete().unwrap_err();
    let ErrorKind::Incomplete { end: End::Closed, received: 8 } = error.kind() else {
        panic!("{error:?}")
    };
    let why = "the stream ended after 8 bytes without a stop: the connection was closed";
    assert_eq!(error.to_string(), format!("{why} (reading what follows the reply)"));
    let error = trace.stop_handle(&client).stop().unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Stop, ErrorKind::SessionOver)),
        "{error:?}"
    );
    assert_eq!(error.to_string(), "the session is over (stopping the session)");
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
            peer.asked(0, 57);
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
            assert_eq!(peer.end(0).read(&mut [0; 28]).unwrap(), 0, "the connection is closed");
            assert_eq!(peer.connections.lock().unwrap().len(), 1, "nothing was sent on another");
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

/// The wait for the first byte has a canceller of its own.
#[test]
fn trace_wait_for_first_byte_is_cancelled() {
    for early in [false, true] {
        let (peer, canceller) = (Peer::saying(&[SESSION]), Canceller::new().unwrap());
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
            let error = trace.read(&mut [0; 8]).unwrap_err();
            assert!(matches!(Error::in_io(&error).unwrap().kind(), ErrorKind::Cancelled));
        });
        assert!(trace.outcome().is_none());
    }
}

/// The session ends with its connection, and then another one may have its id.
#[test]
fn stop_after_dropped_trace_is_not_sent() {
    let peer = Peer::saying(&[&streaming(b"Nettrace"), SESSION]);
    let client = Client::new(&peer);
    let trace = client.trace(&COLLECT).unwrap();
    let stop_handle = trace.stop_handle(&client);
    drop(trace);
    let error = stop_handle.stop().unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Stop, ErrorKind::SessionOver)),
        "{error:?}"
    );
    assert_eq!(peer.connections.lock().unwrap().len(), 1, "no connection was made for it");
}

/// A full backlog, for example.
#[test]
fn stop_is_not_sent_if_trace_is_dropped_while_it_connects() {
    /// Drops the trace before its connection is made.
    struct Late<'p>(&'p Peer, std::sync::Mutex<Option<Trace<UnixTransport>>>);

    impl Connect for Late<'_> {
        type Transport = UnixTransport;

        fn connect(&self, until: &WaitLimit<'_>) -> Result<UnixTransport, Error> {
            drop(self.1.lock().unwrap().take());
            self.0.connect(until)
        }
    }

    let peer = Peer::saying(&[&streaming(b"Nettrace"), b""]);
    let mut trace = Client::new(&peer).trace(&COLLECT).unwrap();
    let late = Late(&peer, std::sync::Mutex::default());
    trace.read_exact(&mut [0]).unwrap();
    let stop_handle = trace.stop_handle(&Client::new(&late).with_deadlines(BOUNDED));
    *late.1.lock().unwrap() = Some(trace);
    let error = stop_handle.stop().unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Stop, ErrorKind::SessionOver)),
        "{error:?}"
    );
    assert_eq!(peer.end(1).read(&mut [0; 28]).unwrap(), 0, "nothing was sent");
    assert!(format!("{stop_handle:?}").contains("stop: NotSent"), "{stop_handle:?}");
}

/// A backlog of one connection, which is taken while the stop waits for room.
#[cfg(target_os = "linux")]
#[test]
fn stop_is_not_sent_if_trace_is_dropped_while_the_backlog_is_full() {
    use std::os::unix::net::{UnixListener, UnixStream};

    let directory = crate::directory();
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let client = Client::new(Endpoint::socket(&path)).with_deadlines(BOUNDED);
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 57]).unwrap();
        stream.write_all(&streaming(b"N")).unwrap();
        (listener, stream)
    });
    let mut trace = client.trace(&COLLECT).unwrap();
    let (listener, _stream) = serving.join().unwrap();
    let full = UnixStream::connect(&path).unwrap();
    trace.read_exact(&mut [0]).unwrap();
    let stop_handle = trace.stop_handle(&client);
    let stopping = thread::spawn(move || stop_handle.stop());
    while !format!("{trace:?}").contains("stop: Awaited") {
        thread::yield_now();
    }
    // Now it connects, or is about to.
    drop(trace);
    drop((full, listener.accept().unwrap()));
    let (mut stop, _) = listener.accept().unwrap();
    let error = stopping.join().unwrap().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::SessionOver), "{error:?}");
    assert_eq!(stop.read(&mut [0; 28]).unwrap(), 0, "nothing was sent");
}

#[test]
fn trace_of_dead_process_has_its_error() {
    let peer = Peer::saying(&[&streaming(b"Nettrace")]);
    let client = Client::new(&peer);
    let mut trace = client.trace(&COLLECT).unwrap();
    // It dies with the request unread: the connection is reset after the stream was read.
    peer.connections.lock().unwrap().clear();
    assert_eq!(trace.read(&mut [0; 8]).unwrap(), 8);
    let error = trace.read(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    let inner = Error::in_io(&error).unwrap();
    assert!(
        matches!(inner.kind(), ErrorKind::Incomplete { end: End::Reset, received: 8 }),
        "{error:?}"
    );
    assert!(matches!(
        trace.check_complete().unwrap_err().kind(),
        ErrorKind::Incomplete { end: End::Reset, received: 8 }
    ));
    assert_eq!(trace.read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn trace_silent_past_deadline_can_be_read_again() {
    let peer = Peer::saying(&[SESSION]);
    let deadlines = Deadlines { stream: Some(Duration::from_millis(20)), ..Deadlines::DEFAULT };
    let mut trace = Client::new(&peer).with_deadlines(deadlines).trace(&COLLECT).unwrap();
    let error = trace.read(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    let inner = Error::in_io(&error).unwrap();
    assert!(
        matches!((inner.phase(), inner.kind()), (Phase::Continuation, ErrorKind::TimedOut)),
        "{error:?}"
    );
    peer.end(0).write_all(b"Nettrace").unwrap();
    assert_eq!(trace.read(&mut [0; 8]).unwrap(), 8);
}

#[test]
fn connection_in_hand_can_trace() {
    let peer = Peer::saying(&[&streaming(b"Nettrace"), SESSION]);
    let mut trace =
        Connection::new(peer.connect(&WaitLimit::FOREVER).unwrap()).trace(&COLLECT).unwrap();
    assert_eq!(trace.session_id(), Some(42));
    trace.read_exact(&mut [0]).unwrap();
    assert_eq!(trace.stop_handle(&Client::new(&peer)).stop().unwrap(), StopOutcome::Answered);
    peer.hang_up();
    assert_eq!(trace.read_to_end(&mut Vec::new()).unwrap(), 7);
    trace.check_complete().unwrap();
    let error = Connection::new(Peer::saying(&[SESSION]).connect(&WaitLimit::FOREVER).unwrap())
        .trace(&USER_EVENTS)
        .unwrap_err();
    assert_eq!(error.to_string(), "not a streaming session (sending the request)");
}

/// Connects to the peer, and records the deadline.
struct Noting<'p>(&'p Peer, std::sync::Mutex<Vec<Option<std::time::Instant>>>);

impl Connect for Noting<'_> {
    type Transport = UnixTransport;

    fn connect(&self, until: &WaitLimit<'_>) -> Result<UnixTransport, Error> {
        self.1.lock().unwrap().push(until.deadline);
        self.0.connect(until)
    }
}

#[test]
fn fallback_deadline_covers_all_connections() {
    let unknown = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80";
    let peer = Peer::saying(&[unknown, unknown, SESSION]);
    let deadlines =
        Deadlines { connect: None, whole: Some(Duration::from_secs(60)), ..Deadlines::DEFAULT };
    let noting = Noting(&peer, std::sync::Mutex::default());
    let providers = [StreamingProviderConfig {
        keywords: 0,
        log_level: EventLevel::ERROR,
        provider_name: IpcString::new("P"),
        arguments: IpcString::ABSENT,
        filter: EventFilter::ALL,
    }];
    let request = CollectTracing5::Streaming(StreamingSession {
        circular_buffer_mb: 1,
        format: COLLECT.format,
        rundown_keyword: 0,
        request_stackwalk: false,
        providers: Array::new(&providers),
    });
    let client = Client::new(&noting).with_deadlines(deadlines);
    let (trace, _) = client.trace_by(Fallback::new(AnyRequest::CollectTracing5(request))).unwrap();
    assert_eq!(trace.session_id(), Some(42));
    let until = noting.1.lock().unwrap();
    assert!(
        until.len() == 3 && until[0].is_some() && until.iter().all(|one| *one == until[0]),
        "{until:?}"
    );
}
