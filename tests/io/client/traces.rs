//! The stream of a session, and its stop.

use std::io::{Read as _, Write as _};
use std::thread;
use std::time::Duration;

use dotnet_diagnostics_ipc::exchange::{End, Stop};
use dotnet_diagnostics_ipc::flow::StreamEnd;
use dotnet_diagnostics_ipc::io::*;

use crate::client::{COLLECT, FAILED, Peer, SESSION};

fn streaming(bytes: &[u8]) -> Vec<u8> {
    [SESSION, bytes].concat()
}

#[test]
fn a_clone_of_the_stopper_stops_the_session_and_the_other_says_so() {
    let peer = Peer::saying(&[&streaming(b"Nettrace"), SESSION]);
    let mut trace = Client::new(&peer).trace(&COLLECT).unwrap();
    assert_eq!(trace.session_id(), Some(42));
    let stopper = trace.stopper();
    assert_eq!(stopper.clone().stop().unwrap(), Stop::Answered);
    assert_eq!(peer.asked(1, 28)[16..], [2, 1, 0, 0, 42, 0, 0, 0, 0, 0, 0, 0]);
    let error = stopper.stop().unwrap_err();
    assert_eq!(error.to_string(), "stopping the session: the session is over, or is being stopped already");
    peer.hang_up();
    let mut stream = Vec::new();
    trace.read_to_end(&mut stream).unwrap();
    assert_eq!(stream, b"Nettrace");
    assert_eq!(trace.outcome().unwrap().stream_end(), Some(StreamEnd::Complete));
    // Its end stays its end.
    assert_eq!(trace.read(&mut [0; 8]).unwrap(), 0);
    assert_eq!(trace.outcome().unwrap().bytes, 8);
}

#[test]
fn to_read_into_nothing_is_no_end() {
    let peer = Peer::saying(&[&streaming(b"Nettrace")]);
    let mut trace = Client::new(&peer).trace(&COLLECT).unwrap();
    assert_eq!(trace.read(&mut []).unwrap(), 0);
    assert!(trace.outcome().is_none());
    assert_eq!(trace.read(&mut [0; 8]).unwrap(), 8);
}

#[test]
fn what_a_session_is_at_is_seen_in_its_debug_output() {
    let peer = Peer::saying(&[&streaming(b"Nettrace")]);
    let trace = Client::new(&peer).trace(&COLLECT).unwrap();
    let (said, stopper) = (format!("{trace:?}"), format!("{:?}", trace.stopper()));
    assert!(said.starts_with("Trace { session: ") && said.contains("id: Some(42)"), "{said}");
    assert!(stopper.starts_with("Stopper { session: ") && stopper.contains("NotSent"), "{stopper}");
}

#[test]
fn a_stream_that_is_waited_for_is_cancelled_from_another_thread() {
    let (peer, canceller) = (Peer::saying(&[&streaming(b"Nettrace")]), Canceller::new().unwrap());
    let mut trace = Client::new(&peer).with_canceller(canceller.clone()).trace(&COLLECT).unwrap();
    let mut stream = Vec::new();
    thread::scope(|scope| {
        let reading = scope.spawn(|| trace.read_to_end(&mut stream));
        thread::sleep(Duration::from_millis(20));
        canceller.cancel();
        assert_eq!(reading.join().unwrap().unwrap_err().to_string(), "cancelled");
    });
    // No end of the session: that its connection is closed ends it.
    assert!(trace.outcome().is_none());
}

#[test]
fn a_stop_that_is_not_answered_in_time_may_be_repeated() {
    let peer = Peer::saying(&[&streaming(b""), &[], FAILED, SESSION]);
    let each = Some(Duration::from_millis(50));
    let client = Client::new(&peer).with_deadlines(Deadlines { reply: ReplyWithin::Fixed(each), ..Deadlines::DEFAULT });
    let stopper = client.trace(&COLLECT).unwrap().stopper();
    let error = stopper.stop().unwrap_err();
    assert!(matches!((error.phase(), error.kind()), (Phase::Stop, ErrorKind::TimedOut)), "{error:?}");
    let error = stopper.stop().unwrap_err();
    assert_eq!(error.to_string(), "stopping the session: the runtime answers 0x80004005 DS_IPC_E_FAIL");
    assert_eq!(stopper.stop().unwrap(), Stop::Answered);
}

#[test]
fn a_stop_without_a_connection_fails_and_the_session_says_why() {
    let peer = Peer::saying(&[&streaming(b"Nettrace")]);
    let mut trace = Client::new(&peer).trace(&COLLECT).unwrap();
    let error = trace.stopper().stop().unwrap_err();
    assert!(matches!((error.phase(), error.kind()), (Phase::Connect, ErrorKind::Io(_))), "{error:?}");
    peer.end(0).write_all(b" and more").unwrap();
    peer.hang_up();
    trace.read_to_end(&mut Vec::new()).unwrap();
    let outcome = trace.outcome().unwrap();
    assert_eq!((outcome.stop, outcome.bytes), (Stop::Unanswered(End::Closed), 17));
    assert_eq!(outcome.stream_end(), Some(StreamEnd::Incomplete));
}
