//! A server step by step: which report leads where.

use dotnet_diagnostics_ipc::exchange::{
    End, MisuseError, RefusalReason, Server, ServerAction, ServerOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::Request as _;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, CollectTracing5, EventFilter, EventLevel, Format, SessionReply,
    TracepointConfig, TracepointSet, UserEventsProviderConfig, UserEventsSession,
};
use dotnet_diagnostics_ipc::message::process::ProcessEnvironmentReply;
use dotnet_diagnostics_ipc::wire::{Array, IpcString};

use super::drive::{Peer, judge};

/// The header of a message arrives, and then its payload.
fn hear(server: &mut Server, message: &[u8]) {
    server.received(message, 20).unwrap();
    server.received(message, message.len() - 20).unwrap();
}

/// A provider of a `user_events` session, with a default tracepoint and these sets.
fn provider<'a>(name: &'a str, sets: &'a [TracepointSet<'a>]) -> UserEventsProviderConfig<'a> {
    UserEventsProviderConfig {
        keywords: 0,
        log_level: EventLevel::VERBOSE,
        provider_name: name.into(),
        arguments: IpcString::ABSENT,
        filter: EventFilter::ALL,
        config: TracepointConfig {
            default_tracepoint_name: "d".into(),
            tracepoints: Array::new(sets),
        },
    }
}

/// A fault that the kernel finds is answered after the descriptor, a fault in the request itself at once (F-19, F-21).
#[test]
fn server_user_events_fault_of_the_kernel_is_answered_late() {
    static TWICE: [TracepointSet<'_>; 1] =
        [TracepointSet { tracepoint_name: IpcString::new("t"), event_ids: Array::new(&[1, 1]) }];
    for (provider, late) in [(provider("P", &TWICE), true), (provider("", &[]), false)] {
        let providers = [provider];
        let session = UserEventsSession { rundown_keyword: 0, providers: Array::new(&providers) };
        let request = CollectTracing5::UserEvents(session);
        let why = request.check_limits().unwrap_err();
        assert_eq!(why.hresult() == HResult::FAIL, late, "{why}");
        let mut buffer = [0; 256];
        let len = request.encode_message(&mut buffer).unwrap();
        let mut server = Server::new();
        hear(&mut server, &buffer[..len]);
        assert_eq!(server.request(&buffer), Ok(None));
        if late {
            assert_eq!(server.action(), ServerAction::ReceiveFd);
            server.fd_received().unwrap();
        }
        let refused = RefusalReason::OverLimit(why);
        assert_eq!(server.action(), ServerAction::Refuse(refused));
    }
    // A session that streams never waits for a descriptor.
    let session = CollectTracing2 {
        circular_buffer_mb: 0,
        format: Format::NET_TRACE,
        request_rundown: false,
        providers: Array::EMPTY,
    };
    let mut buffer = [0; 64];
    let len = session.encode_message(&mut buffer).unwrap();
    let mut server = Server::new();
    hear(&mut server, &buffer[..len]);
    assert_eq!(server.request(&buffer), Ok(None));
    assert!(matches!(server.action(), ServerAction::Refuse(RefusalReason::OverLimit(_))));
}

#[test]
fn server_refusal_names_the_field() {
    let refused = |request: &[u8]| {
        let mut buffer = [0; 64];
        buffer[..request.len()].copy_from_slice(request);
        let mut server = Server::new();
        hear(&mut server, request);
        assert_eq!(server.request(&buffer), Ok(None));
        match server.action() {
            ServerAction::Refuse(
                RefusalReason::Malformed(error) | RefusalReason::OverLimit(error),
            ) => (error.path().to_string(), error.offset(), error.hresult()),
            other => panic!("{other:?}"),
        }
    };
    // StopTracing with 2 of the 8 bytes of its sessionId, and CollectTracing with 0 MB.
    assert_eq!(
        refused(b"DOTNET_IPC_V1\0\x16\0\x02\x01\0\0\x2a\0"),
        ("StopTracing.sessionId".into(), 20, HResult::BAD_ENCODING)
    );
    assert_eq!(
        refused(b"DOTNET_IPC_V1\0\x20\0\x02\x02\0\0\0\0\0\0\x01\0\0\0\0\0\0\0"),
        ("CollectTracing.circularBufferMB".into(), 20, HResult::BAD_ENCODING)
    );
}

/// An environment block: in pieces as long as the buffer, to its last byte and no further.
#[test]
fn server_environment_length_matches_announcement() {
    let mut buffer = [0; 64];
    let mut server = Server::new();
    buffer[..20].copy_from_slice(b"DOTNET_IPC_V1\0\x14\0\x04\x02\0\0");
    server.received(&buffer, 20).unwrap();
    assert!(matches!(server.request(&buffer), Ok(Some(_))));
    server
        .respond(&ProcessEnvironmentReply { n_incoming_bytes: 8, future: 0 }, &mut buffer)
        .unwrap();
    server.sent(26).unwrap();
    assert_eq!(server.action(), ServerAction::Continue { left: Some(8) });
    assert_eq!(server.piece(&[0; 4], 5), Err(MisuseError::BufferTooShort { needed: 5 }));
    assert_eq!(server.piece(&[0; 9], 9), Err(MisuseError::TooMany { asked: 8, reported: 9 }));
    assert_eq!(server.continuation_ended(), Err(MisuseError::NotAsked));
    server.piece(&[0; 4], 0).unwrap();
    assert_eq!(server.action(), ServerAction::Continue { left: Some(8) }, "nothing came");
    server.piece(&[0; 4], 4).unwrap();
    assert_eq!(server.action(), ServerAction::Send(0..4));
    server.sent(4).unwrap();
    assert_eq!(server.action(), ServerAction::Continue { left: Some(4) });
    let mut whole = server;
    whole.piece(&[0; 4], 4).unwrap();
    whole.sent(4).unwrap();
    assert_eq!(whole.action(), ServerAction::Close);

    // The block may also be broken off (F-43).
    server.break_off(HResult::FAIL, &mut buffer).unwrap();
    assert_eq!(server.action(), ServerAction::Send(0..24));
    assert_eq!(&buffer[..24], b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x05\x40\0\x80");
    server.sent(24).unwrap();
    server.closed().unwrap();
    assert_eq!(server.action(), ServerAction::Finished(ServerOutcome::BrokenOff(HResult::FAIL)));
}

#[test]
fn server_check_order_decides_answered_fault() {
    let cases: [(&[u8], HResult); 5] = [
        // A wrong magic and an unknown command, and all of the payload.
        (b"DOTNET_IPC_V2\0\x16\0\x63\x01\0\0ab", HResult::UNKNOWN_MAGIC),
        // A wrong magic and a payload that never arrives: a runtime waits for it (F-3).
        (b"DOTNET_IPC_V2\0\x16\0\x04\0\0\0a", HResult::BAD_ENCODING),
        (b"DOTNET_IPC_V2\0\x13\0\x04\0\0\0", HResult::BAD_ENCODING),
        // An unknown command and a payload that never arrives.
        (b"DOTNET_IPC_V1\0\x16\0\x63\x01\0\0a", HResult::BAD_ENCODING),
        // A truncated payload of a known command.
        (b"DOTNET_IPC_V1\0\x16\0\x02\x01\0\0ab", HResult::BAD_ENCODING),
    ];
    for (bytes, answer) in cases {
        for piece in [1, 100] {
            let peer = Peer::new(bytes, End::Closed);
            let judged = judge(&mut [0; 64], &peer, &mut |n| n.min(piece));
            assert_eq!(judged.outcome, ServerOutcome::Refused(answer), "{bytes:02x?}");
            assert!(matches!(judged.request, Err(Some(reason)) if reason.hresult() == answer));
        }
    }
}

/// A session of `user_events` keeps its connection until the client closes, and waits for a
/// descriptor first (F-21, F-23).
#[test]
fn server_client_gone_ends_session() {
    let providers = [provider("P", &[])];
    let request = CollectTracing5::UserEvents(UserEventsSession {
        rundown_keyword: 0,
        providers: Array::new(&providers),
    });
    let mut buffer = [0; 256];
    let len = request.encode_message(&mut buffer).unwrap();
    let asked = || {
        let mut server = Server::new();
        hear(&mut server, &buffer[..len]);
        assert!(matches!(server.request(&buffer), Ok(Some(_))));
        assert_eq!(server.action(), ServerAction::ReceiveFd);
        server
    };
    let mut server = asked();
    server.ended(End::Closed).unwrap();
    assert_eq!(server.action(), ServerAction::Refuse(RefusalReason::NoDescriptor));
    let mut server = asked();
    server.fd_missing().unwrap();
    assert_eq!(server.action(), ServerAction::Refuse(RefusalReason::NoDescriptor));

    for end in [End::Closed, End::Reset] {
        let mut server = asked();
        server.fd_received().unwrap();
        server.respond(&SessionReply { session_id: 1 }, &mut [0; 64]).unwrap();
        server.sent(28).unwrap();
        assert_eq!(server.action(), ServerAction::Hold);
        assert_eq!(server.ended(End::TimedOut), Err(MisuseError::NotAsked));
        server.ended(end).unwrap();
        server.closed().unwrap();
        assert_eq!(server.action(), ServerAction::Finished(ServerOutcome::Answered));
    }
}
