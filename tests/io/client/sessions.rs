//! The stream of a session, and its stop.

use dotnet_diagnostics_ipc::exchange::fallback::Fallback;
use dotnet_diagnostics_ipc::exchange::{End, StopOutcome};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::{Deadlines, ErrorKind, ReplyWithin};
use dotnet_diagnostics_ipc::message::AnyRequest;

use super::*;

fn streaming(bytes: &[u8]) -> Vec<u8> {
    [SESSION, bytes].concat()
}

case! {
    #[test]
    fn stop_handle_clone_stops_once() {
        let peer = Peer::saying(&[&streaming(b"Nettrace"), SESSION]);
        let client = Client::new(&peer);
        let mut trace = wait!(client.trace(&COLLECT)).unwrap();
        assert_eq!(trace.session_id(), Some(42));
        let said = format!("{trace:?}");
        assert!(said.starts_with("Trace { session: ") && said.contains("id: Some(42)"), "{said}");
        wait!(trace.read_exact(&mut [0])).unwrap();
        let stop_handle = trace.stop_handle(&client);
        assert_eq!(wait!(stop_handle.clone().stop()).unwrap(), StopOutcome::Answered);
        assert_eq!(peer.asked(1, 28)[16..], [2, 1, 0, 0, 42, 0, 0, 0, 0, 0, 0, 0]);
        let error = wait!(stop_handle.stop()).unwrap_err();
        assert_error!(error, Stop, ErrorKind::AlreadyStopped);
        // The end of the stream has not arrived yet.
        assert!(matches!(trace.check_complete().unwrap_err().kind(), ErrorKind::Unsupported(_)));
        peer.hang_up();
        let mut stream = Vec::new();
        wait!(trace.read_to_end(&mut stream)).unwrap();
        assert_eq!(stream, b"ettrace");
        assert!(trace.outcome().unwrap().is_complete());
        trace.check_complete().unwrap();
        // The end is reported again.
        assert_eq!(wait!(trace.read(&mut [0; 8])).unwrap(), 0);
        assert_eq!(trace.outcome().unwrap().bytes, 8);
        assert_error!(wait!(stop_handle.stop()).unwrap_err(), Stop, ErrorKind::SessionOver);
    }
}

case! {
    #[test]
    fn trace_empty_read_is_not_the_end() {
        let peer = Peer::saying(&[&streaming(b"Nettrace")]);
        let mut trace = wait!(Client::new(&peer).trace(&COLLECT)).unwrap();
        assert_eq!(wait!(trace.read(&mut [0; 0])).unwrap(), 0);
        assert!(trace.outcome().is_none());
        assert_eq!(wait!(trace.read(&mut [0; 8])).unwrap(), 8);
    }
}

case! {
    #[test]
    fn stop_past_its_deadline_waits_for_the_same_reply() {
        let peer = Peer::saying(&[&streaming(b"N"), &[], SESSION]);
        let each = Some(Duration::from_millis(50));
        let client = Client::new(&peer)
            .with_deadlines(Deadlines { reply: ReplyWithin::Fixed(each), ..Deadlines::DEFAULT });
        let mut trace = wait!(client.trace(&COLLECT)).unwrap();
        wait!(trace.read_exact(&mut [0])).unwrap();
        let stop_handle = trace.stop_handle(&client);
        for _ in 0..2 {
            let error = wait!(stop_handle.stop()).unwrap_err();
            assert_error!(error, Stop, ErrorKind::TimedOut);
        }
        std::io::Write::write_all(&mut peer.end(1), FAILED).unwrap();
        let error = wait!(stop_handle.stop()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the runtime answered 0x80004005 DS_IPC_E_FAIL (stopping the session)"
        );
        assert_eq!(peer.count(), 2);
        // A stop that was refused is sent again.
        assert_eq!(wait!(stop_handle.stop()).unwrap(), StopOutcome::Answered);
        assert_eq!(peer.asked(2, 28)[16..], [2, 1, 0, 0, 42, 0, 0, 0, 0, 0, 0, 0]);
    }
}

case! {
    #[test]
    fn stop_without_connection_was_not_sent() {
        let peer = Peer::saying(&[&streaming(b"Nettrace")]);
        let client = Client::new(&peer);
        let mut trace = wait!(client.trace(&COLLECT)).unwrap();
        wait!(trace.read_exact(&mut [0])).unwrap();
        let error = wait!(trace.stop_handle(&client).stop()).unwrap_err();
        assert_error!(error, Connect, ErrorKind::Io(_));
        std::io::Write::write_all(&mut peer.end(0), b" and more").unwrap();
        peer.hang_up();
        wait!(trace.read_to_end(&mut Vec::new())).unwrap();
        let outcome = trace.outcome().unwrap();
        assert_eq!((outcome.stop, outcome.bytes), (StopOutcome::NotSent, 17));
        assert!(!outcome.is_complete());
    }
}

case! {
    #[test]
    fn trace_of_ended_process_is_incomplete() {
        let peer = Peer::saying(&[&streaming(b"Nettrace"), SESSION]);
        let client = Client::new(&peer);
        let mut trace = wait!(client.trace(&COLLECT)).unwrap();
        peer.hang_up();
        assert_eq!(wait!(trace.read_to_end(&mut Vec::new())).unwrap(), 8);
        let error = trace.check_complete().unwrap_err();
        let ErrorKind::Incomplete { end: End::Closed, received: 8 } = error.kind() else {
            panic!("{error:?}")
        };
        let why = "the stream ended after 8 bytes without a stop: the connection was closed";
        assert_eq!(error.to_string(), format!("{why} (reading what follows the reply)"));
        let error = wait!(trace.stop_handle(&client).stop()).unwrap_err();
        assert_error!(error, Stop, ErrorKind::SessionOver);
        assert_eq!(error.to_string(), "the session is over (stopping the session)");
    }
}

case! {
    /// The session ends with its connection, and then another one may have its id.
    #[test]
    fn stop_after_dropped_trace_is_not_sent() {
        let peer = Peer::saying(&[&streaming(b"Nettrace"), SESSION]);
        let client = Client::new(&peer);
        let trace = wait!(client.trace(&COLLECT)).unwrap();
        let stop_handle = trace.stop_handle(&client);
        drop(trace);
        let error = wait!(stop_handle.stop()).unwrap_err();
        assert_error!(error, Stop, ErrorKind::SessionOver);
        assert_eq!(peer.count(), 1, "no connection was made for it");
    }
}

case! {
    /// The backlog may be full, for example.
    #[test]
    fn stop_is_not_sent_if_trace_is_dropped_while_it_connects() {
        let peer = Peer::saying(&[&streaming(b"Nettrace"), b""]);
        let client = Client::new(&peer);
        let mut trace: Trace = wait!(client.trace(&COLLECT)).unwrap();
        wait!(trace.read_exact(&mut [0])).unwrap();
        let late = Late { peer: &peer, trace: Mutex::default() };
        let deadlines = Deadlines { whole: Some(Duration::from_secs(60)), ..Deadlines::DEFAULT };
        let stop_handle = trace.stop_handle(&Client::new(&late).with_deadlines(deadlines));
        *late.trace.lock().unwrap() = Some(trace);
        assert_error!(wait!(stop_handle.stop()).unwrap_err(), Stop, ErrorKind::SessionOver);
        assert_eq!(peer.end(1).read(&mut [0; 28]).unwrap(), 0, "nothing was sent");
        assert!(format!("{stop_handle:?}").contains("stop: NotSent"), "{stop_handle:?}");
    }
}

case! {
    #[test]
    fn trace_of_dead_process_has_its_error() {
        let peer = Peer::saying(&[&streaming(b"Nettrace")]);
        let mut trace = wait!(Client::new(&peer).trace(&COLLECT)).unwrap();
        // It dies with the request unread: the connection is reset after the stream was read.
        peer.connections.lock().unwrap().clear();
        assert_eq!(wait!(trace.read(&mut [0; 8])).unwrap(), 8);
        let error = wait!(trace.read(&mut [0; 8])).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        let inner = Error::in_io(&error).unwrap();
        assert_error!(inner, Continuation, ErrorKind::Incomplete { end: End::Reset, received: 8 });
        let incomplete = trace.check_complete().unwrap_err();
        assert_error!(incomplete, Continuation, ErrorKind::Incomplete { end: End::Reset, received: 8 });
        assert_eq!(wait!(trace.read(&mut [0; 8])).unwrap(), 0);
    }
}

case! {
    #[test]
    fn trace_silent_past_deadline_can_be_read_again() {
        let peer = Peer::saying(&[SESSION]);
        let deadlines = Deadlines { stream: Some(Duration::from_millis(20)), ..Deadlines::DEFAULT };
        let client = Client::new(&peer).with_deadlines(deadlines);
        let mut trace = wait!(client.trace(&COLLECT)).unwrap();
        for _ in 0..2 {
            let error = wait!(trace.read(&mut [0; 8])).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
            assert_error!(Error::in_io(&error).unwrap(), Continuation, ErrorKind::TimedOut);
            assert!(trace.outcome().is_none());
        }
        std::io::Write::write_all(&mut peer.end(0), b"Nettrace").unwrap();
        assert_eq!(wait!(trace.read(&mut [0; 8])).unwrap(), 8);
    }
}

case! {
    #[test]
    fn connection_in_hand_can_trace() {
        let peer = Peer::saying(&[&streaming(b"Nettrace"), SESSION]);
        let mut trace = ask!(connection(&peer), trace(&COLLECT)).unwrap();
        wait!(trace.read_exact(&mut [0])).unwrap();
        let stop_handle = trace.stop_handle(&Client::new(&peer));
        assert_eq!(wait!(stop_handle.stop()).unwrap(), StopOutcome::Answered);
        peer.hang_up();
        assert_eq!(wait!(trace.read_to_end(&mut Vec::new())).unwrap(), 7);
        trace.check_complete().unwrap();
    }
}

case! {
    /// Each command is asked on its own connection, with what was dropped.
    #[test]
    fn trace_falls_back_to_the_newest_known_command() {
        let request = AnyRequest::CollectTracing5(CollectTracing5::Streaming(COLLECT5));
        let peer = Peer::saying(&[UNKNOWN, UNKNOWN, &streaming(b"Nettrace")]);
        let client = Client::new(&peer);
        let (trace, _) = wait!(client.trace_by(Fallback::new(request))).unwrap();
        assert_eq!(trace.session_id(), Some(42));
        for (nth, id) in [6, 5, 4].into_iter().enumerate() {
            assert_eq!(peer.asked(nth, 20)[16..18], [2, id]);
        }
        let client = Client::new(Peer::saying(&[UNKNOWN; 5]));
        let error = wait!(client.trace_by(Fallback::new(request))).unwrap_err();
        assert_eq!(error.hresult(), Some(HResult::UNKNOWN_COMMAND));
    }
}
