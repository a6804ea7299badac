//! Properties of every exchange, for any bytes of the peer, any pieces, and any acknowledgements of
//! the caller.

use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::continuation::FdByte;
use dotnet_diagnostics_ipc::exchange::{
    AfterReply, Client, ClientAction, End, MisuseError, Outcome, RefusalReason, Server,
    ServerAction, ServerOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::dump::{DumpType, GenerateCoreDump};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, CollectTracing5, EventLevel, Format, ProviderConfig, StopTracing,
    UserEventsSession,
};
use dotnet_diagnostics_ipc::message::process::{
    EnablePerfMap, PerfMapType, ProcessEnvironment, ProcessInfo2,
};
use dotnet_diagnostics_ipc::message::{AnyReply, Message, Request, server::ResultReply};
use dotnet_diagnostics_ipc::wire::{Array, IpcString, WireErrorKind};
use proptest::prelude::*;

const OK_24: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";
const OK_20: &[u8] = b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0";
const SESSION: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0";
const ERROR: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80";

/// How a peer's bytes arrive: pieces of these sizes, repeated.
#[derive(Clone, Debug)]
struct Pieces(Vec<usize>);

impl Pieces {
    fn all_at_once() -> Self {
        Self(vec![usize::MAX])
    }
}

fn pieces() -> impl Strategy<Value = Pieces> {
    prop_oneof![Just(Pieces(vec![1])), prop::collection::vec(1..40usize, 1..6).prop_map(Pieces)]
}

/// A client's result for `peer` and then `end`: the outcome, how many bytes it read, and its
/// buffer.
fn hear(
    mut client: Client,
    peer: &[u8],
    pieces: &Pieces,
    end: End,
    room: usize,
) -> (Outcome, usize, Vec<u8>) {
    let mut buffer = vec![0; room];
    let mut taken = 0;
    let mut sizes = pieces.0.iter().cycle();
    loop {
        assert_eq!(client.action(), client.action());
        match client.action() {
            ClientAction::Send(range) => {
                client.sent(range.len().min(*sizes.next().unwrap())).unwrap();
            }
            ClientAction::SendFd(_) => client.fd_sent().unwrap(),
            ClientAction::Receive(range) => {
                let n = range.len().min(*sizes.next().unwrap()).min(peer.len() - taken);
                assert!(!range.is_empty() && range.end <= room, "asks for {range:?}");
                buffer[range.start..range.start + n].copy_from_slice(&peer[taken..taken + n]);
                taken += n;
                if n == 0 {
                    client.ended(end).unwrap();
                } else {
                    client.received(&buffer, n).unwrap();
                }
            }
            ClientAction::Finished(outcome) => return (outcome, taken, buffer),
        }
    }
}

fn client(command: Command, continuation: Continuation) -> Client {
    Client::with_payload(command, Some(continuation), &(), &mut [0; 20]).unwrap()
}

fn commands() -> impl Strategy<Value = (Command, Continuation)> {
    prop::sample::select(vec![
        (Command::PROCESS_INFO2, Continuation::Close),
        (Command::RESUME_RUNTIME, Continuation::Close),
        (Command::GENERATE_CORE_DUMP3, Continuation::Close),
        (Command::COLLECT_TRACING2, Continuation::Nettrace),
        (Command::COLLECT_TRACING5, Continuation::UserEvents),
        (Command::PROCESS_ENVIRONMENT, Continuation::EnvironmentBlock),
    ])
}

/// Replies, good ones and others, and bytes after them.
fn peers() -> impl Strategy<Value = Vec<u8>> {
    let good = prop::sample::select(vec![OK_24, OK_20, SESSION, ERROR]).prop_map(<[u8]>::to_vec);
    let changed = (good.clone(), any::<prop::sample::Index>(), any::<u8>()).prop_map(
        |(mut bytes, at, value)| {
            let at = at.index(bytes.len());
            bytes[at] = value;
            bytes
        },
    );
    let sized = (any::<[u8; 2]>(), any::<[u8; 2]>(), prop::collection::vec(any::<u8>(), 0..80))
        .prop_map(|(size, code, payload)| {
            [b"DOTNET_IPC_V1\0", &size[..], &code, &[0, 0], &payload].concat()
        });
    let noise = prop::collection::vec(any::<u8>(), 0..64);
    (prop_oneof![good, changed, sized, noise], prop::collection::vec(any::<u8>(), 0..20))
        .prop_map(|(a, b)| [a, b].concat())
}

proptest! {
    #[test]
    fn client_outcome_is_same_for_any_pieces(
        (command, continuation) in commands(), peer in peers(), pieces in pieces(), room in 24..200usize,
    ) {
        let client = client(command, continuation);
        let at_once = hear(client.clone(), &peer, &Pieces::all_at_once(), End::Closed, room);
        let in_pieces = hear(client, &peer, &pieces, End::Closed, room);
        prop_assert_eq!(&at_once.0, &in_pieces.0);
        let (outcome, taken, buffer) = in_pieces;
        match outcome {
            // No byte beyond the message, and all of it in the buffer.
            Outcome::Ok { size, .. } | Outcome::Error { size, .. } => {
                prop_assert_eq!(taken, usize::from(size));
                prop_assert_eq!(&buffer[..taken], &peer[..taken]);
                prop_assert_eq!(at_once.1, taken);
            }
            Outcome::BufferTooSmall { size } => {
                prop_assert!(usize::from(size) > room);
                prop_assert_eq!(taken, 20);
                prop_assert_eq!(&buffer[..20], &peer[..20]);
            }
            Outcome::Cut { received, end } => prop_assert_eq!((usize::from(received), end), (peer.len(), End::Closed)),
            Outcome::NoReply { .. } => prop_assert!(peer.is_empty()),
            Outcome::Malformed { offset, .. } => prop_assert!(taken <= peer.len() && (offset as usize) <= taken.max(20)),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn client_outcome_agrees_with_decoder((command, continuation) in commands(), peer in peers()) {
        let (outcome, taken, buffer) = hear(client(command, continuation), &peer, &Pieces::all_at_once(), End::Reset, 65_535);
        let decoded = Message::decode(&buffer[..taken]).and_then(|message| message.reply_to(Some(command)));
        match outcome {
            Outcome::Ok { .. } => prop_assert!(!matches!(decoded, Err(_) | Ok(AnyReply::Error(_)))),
            Outcome::Error { hresult, .. } => {
                prop_assert!(matches!(decoded, Ok(AnyReply::Error(error)) if error.hresult == hresult));
            }
            _ => prop_assert!(decoded.is_err()),
        }
    }
}

/// What a caller may acknowledge to a client, in any order.
#[derive(Clone, Debug)]
enum ToClient {
    Sent(usize),
    FdSent,
    SendFailed,
    Received(usize, usize),
    Ended(End),
    Enlarged(usize),
    AnotherReply,
}

fn ends() -> impl Strategy<Value = End> {
    prop::sample::select(vec![End::Closed, End::Reset, End::TimedOut])
}

fn to_client() -> impl Strategy<Value = ToClient> {
    prop_oneof![
        3 => (0..30usize).prop_map(ToClient::Sent),
        1 => Just(ToClient::FdSent),
        1 => Just(ToClient::SendFailed),
        6 => (0..48usize, prop_oneof![0..30usize, Just(usize::MAX)]).prop_map(|(len, n)| ToClient::Received(len, n)),
        1 => ends().prop_map(ToClient::Ended),
        1 => (0..70_000usize).prop_map(ToClient::Enlarged),
        1 => Just(ToClient::AnotherReply),
    ]
}

/// What a caller may acknowledge to a server.
#[derive(Clone, Debug)]
enum ToServer {
    Received(usize, usize),
    Request(usize),
    FdReceived,
    FdMissing,
    Respond(usize),
    Refuse(usize),
    Sent(usize),
    SendFailed,
    Piece(usize, usize),
    ContinuationEnded,
    BreakOff(usize),
    Ended(End),
    Enlarged(usize),
    Closed,
}

fn to_server() -> impl Strategy<Value = ToServer> {
    let buffer = || 0..64usize;
    let n = || prop_oneof![0..30usize, Just(usize::MAX)];
    prop_oneof![
        6 => (buffer(), n()).prop_map(|(len, n)| ToServer::Received(len, n)),
        4 => buffer().prop_map(ToServer::Request),
        1 => Just(ToServer::FdReceived),
        1 => Just(ToServer::FdMissing),
        2 => buffer().prop_map(ToServer::Respond),
        2 => buffer().prop_map(ToServer::Refuse),
        3 => n().prop_map(ToServer::Sent),
        1 => Just(ToServer::SendFailed),
        2 => (buffer(), n()).prop_map(|(len, n)| ToServer::Piece(len, n)),
        1 => Just(ToServer::ContinuationEnded),
        1 => buffer().prop_map(ToServer::BreakOff),
        1 => ends().prop_map(ToServer::Ended),
        1 => buffer().prop_map(ToServer::Enlarged),
        1 => Just(ToServer::Closed),
    ]
}

/// A buffer of any length that begins with `content`.
fn lent(content: &[u8], len: usize) -> Vec<u8> {
    let mut buffer = vec![0; len];
    let n = len.min(content.len());
    buffer[..n].copy_from_slice(&content[..n]);
    buffer
}

proptest! {
    #[test]
    fn client_refuses_unasked_acknowledgement(
        (command, continuation) in commands(), content in peers(), said in prop::collection::vec(to_client(), 1..40),
    ) {
        let mut client = client(command, continuation);
        for one in said {
            let before = client.clone();
            let heard = match one {
                ToClient::Sent(n) => client.sent(n),
                ToClient::FdSent => client.fd_sent(),
                ToClient::SendFailed => client.send_failed(),
                ToClient::Received(len, n) => client.received(&lent(&content, len), n),
                ToClient::Ended(end) => client.ended(end),
                ToClient::Enlarged(len) => client.enlarged(&lent(&content, len)),
                ToClient::AnotherReply => client.another_reply(),
            };
            if heard.is_err() {
                prop_assert_eq!(&client, &before);
            }
        }
    }

    #[test]
    fn server_refuses_unasked_acknowledgement(
        content in requests(), said in prop::collection::vec(to_server(), 1..60),
    ) {
        let mut server = Server::new();
        for one in said {
            let before = server.action();
            let ok = match one {
                ToServer::Received(len, n) => server.received(&lent(&content, len), n).is_ok(),
                ToServer::Request(len) => server.request(&lent(&content, len)).is_ok(),
                ToServer::FdReceived => server.fd_received().is_ok(),
                ToServer::FdMissing => server.fd_missing().is_ok(),
                ToServer::Respond(len) => server.respond(&ResultReply { hresult: HResult::OK }, &mut vec![0; len]).is_ok(),
                ToServer::Refuse(len) => server.refuse(HResult::FAIL, &mut vec![0; len]).is_ok(),
                ToServer::Sent(n) => server.sent(n).is_ok(),
                ToServer::SendFailed => server.send_failed().is_ok(),
                ToServer::Piece(len, n) => server.piece(&vec![0; len], n).is_ok(),
                ToServer::ContinuationEnded => server.continuation_ended().is_ok(),
                ToServer::BreakOff(len) => server.break_off(HResult::FAIL, &mut vec![0; len]).is_ok(),
                ToServer::Ended(end) => server.ended(end).is_ok(),
                ToServer::Enlarged(len) => server.enlarged(&lent(&content, len)).is_ok(),
                ToServer::Closed => server.closed().is_ok(),
            };
            if !ok {
                prop_assert_eq!(server.action(), before);
            }
        }
    }
}

/// Requests, good ones and others.
fn requests() -> impl Strategy<Value = Vec<u8>> {
    let mut perf_map = [0; 24];
    EnablePerfMap { perf_map_type: dotnet_diagnostics_ipc::message::process::PerfMapType::ALL }
        .encode_message(&mut perf_map)
        .unwrap();
    let good = prop::sample::select(vec![
        b"DOTNET_IPC_V1\0\x14\0\x04\x04\0\0".to_vec(),
        b"DOTNET_IPC_V1\0\x14\0\x04\x02\0\0".to_vec(),
        b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x2a\0\0\0\0\0\0\0".to_vec(),
        perf_map.to_vec(),
    ]);
    let changed = (good.clone(), any::<prop::sample::Index>(), any::<u8>()).prop_map(
        |(mut bytes, at, value)| {
            let at = at.index(bytes.len());
            bytes[at] = value;
            bytes
        },
    );
    (prop_oneof![good, changed], prop::collection::vec(any::<u8>(), 0..30))
        .prop_map(|(a, b)| [a, b].concat())
}

/// A server's result for `peer`: the reason if it refuses, and how many bytes it read.
fn judged(peer: &[u8], pieces: &Pieces) -> (Result<Command, RefusalReason>, usize) {
    let mut server = Server::new();
    let mut buffer = vec![0; 65_535];
    let mut taken = 0;
    let mut sizes = pieces.0.iter().cycle();
    loop {
        assert_eq!(server.action(), server.action());
        match server.action() {
            ServerAction::Receive(range) => {
                let n = range.len().min(*sizes.next().unwrap()).min(peer.len() - taken);
                buffer[range.start..range.start + n].copy_from_slice(&peer[taken..taken + n]);
                taken += n;
                if n == 0 {
                    server.ended(End::Closed).unwrap();
                } else {
                    server.received(&buffer, n).unwrap();
                }
            }
            ServerAction::Decode(range) => {
                assert_eq!(range, 0..taken);
                if let Some(request) = server.request(&buffer).unwrap() {
                    return (Ok(request.command()), taken);
                }
            }
            ServerAction::Refuse(reason) => return (Err(reason), taken),
            other => panic!("{other:?}"),
        }
    }
}

proptest! {
    #[test]
    fn server_outcome_is_same_for_any_pieces(peer in requests(), cut in any::<prop::sample::Index>(), pieces in pieces()) {
        let peer = &peer[..=cut.index(peer.len())];
        let at_once = judged(peer, &Pieces::all_at_once());
        prop_assert_eq!(&at_once, &judged(peer, &pieces));
        if let (Ok(_), taken) = at_once {
            prop_assert_eq!(taken, usize::from(u16::from_le_bytes([peer[14], peer[15]])));
        }
    }
}

#[test]
fn client_truncated_reply_has_named_outcome() {
    for reply in [OK_24, SESSION, ERROR] {
        for end in [End::Closed, End::Reset, End::TimedOut] {
            for cut in 0..reply.len() {
                let client = client(Command::STOP_TRACING, Continuation::Close);
                let (outcome, taken, _) = hear(client, &reply[..cut], &Pieces(vec![7]), end, 64);
                let expected = match u16::try_from(cut).unwrap() {
                    0 => Outcome::NoReply { end, request_sent: true },
                    received => Outcome::Cut { received, end },
                };
                assert_eq!((outcome, taken), (expected, cut));
            }
        }
    }
}

#[test]
fn server_truncated_request_is_answered() {
    let request = b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x2a\0\0\0\0\0\0\0";
    for cut in 0..request.len() {
        let (judged, taken) = judged(&request[..cut], &Pieces(vec![3]));
        let reason = RefusalReason::EndOfInput { received: u16::try_from(cut).unwrap() };
        assert_eq!((judged, taken, reason.hresult()), (Err(reason), cut, HResult::BAD_ENCODING));
    }
}

#[test]
fn server_garbage_is_refused_at_first_byte() {
    // What released runtimes answer to ProcessInfo with a payload (F-71): bytes without a header.
    let (outcome, taken, _) = hear(
        client(Command::PROCESS_INFO, Continuation::Close),
        b"DOTNOT",
        &Pieces(vec![1]),
        End::Closed,
        64,
    );
    assert_eq!(
        (outcome, taken),
        (Outcome::Malformed { kind: WireErrorKind::BadMagic, offset: 4 }, 5)
    );
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
    for (peer, answer) in cases {
        let reason = judged(peer, &Pieces::all_at_once()).0.unwrap_err();
        assert_eq!(reason.hresult(), answer, "{peer:02x?}");
    }
}

#[test]
fn client_small_buffer_keeps_received_bytes() {
    let reply = [b"DOTNET_IPC_V1\0\x20\0\xff\0\0\0", &[7; 12][..], b"Nettrace"].concat();
    let (outcome, taken, small) = hear(
        client(Command::COLLECT_TRACING, Continuation::Nettrace),
        &reply,
        &Pieces(vec![9]),
        End::Closed,
        24,
    );
    assert_eq!((outcome, taken), (Outcome::BufferTooSmall { size: 32 }, 20));

    let mut client = client(Command::COLLECT_TRACING, Continuation::Nettrace);
    client.sent(20).unwrap();
    client.received(&small, 20).unwrap();
    assert_eq!(client.enlarged(&small), Err(MisuseError::BufferTooShort { needed: 32 }));
    let mut large = [0; 32];
    assert_eq!(client.enlarged(&large), Err(MisuseError::NotAsked), "another header");
    large[..24].copy_from_slice(&small);
    client.enlarged(&large).unwrap();
    assert_eq!(client.action(), ClientAction::Receive(20..32));
    large[20..].copy_from_slice(&reply[20..32]);
    client.received(&large, 12).unwrap();
    let then = AfterReply::Stream { session_id: Some(0x0707_0707_0707_0707) };
    assert_eq!(client.action(), ClientAction::Finished(Outcome::Ok { size: 32, then }));
}

#[test]
fn client_reply_of_buffer_length_fits() {
    let mut buffer = [0; 24];
    let mut client =
        Client::new(&EnablePerfMap { perf_map_type: PerfMapType::ALL }, &mut buffer).unwrap();
    client.sent(24).unwrap();
    buffer.copy_from_slice(OK_24);
    client.received(&buffer, 20).unwrap();
    assert_eq!(client.action(), ClientAction::Receive(20..24));
}

/// The input may end before the request is sent: no reply can arrive.
#[test]
fn client_end_while_sending_is_no_reply() {
    for sent in [0, 19] {
        for end in [End::Closed, End::Reset, End::TimedOut] {
            let mut client = Client::new(&ProcessInfo2 {}, &mut [0; 64]).unwrap();
            assert_eq!(client.sent(0), Err(MisuseError::NoBytes));
            if sent > 0 {
                client.sent(sent).unwrap();
            }
            assert_eq!(client.action(), ClientAction::Send(sent..20));
            client.ended(end).unwrap();
            let outcome = Outcome::NoReply { end, request_sent: false };
            assert_eq!(client.action(), ClientAction::Finished(outcome));
        }
    }
}

/// `reply` has the payload after an OK, and is misuse otherwise.
#[test]
fn client_reply_is_that_of_its_request() {
    let mut buffer = [0; 64];
    let request = EnablePerfMap { perf_map_type: PerfMapType::ALL };
    let mut client = Client::new(&request, &mut buffer).unwrap();
    assert_eq!(client.reply::<EnablePerfMap>(&buffer), Err(MisuseError::NotAsked));
    client.sent(24).unwrap();
    buffer[..24].copy_from_slice(OK_24);
    client.received(&buffer, 20).unwrap();
    client.received(&buffer, 4).unwrap();
    let reply = client.reply::<EnablePerfMap>(&buffer).unwrap().unwrap();
    assert_eq!(reply.hresult, HResult::OK);
    assert_eq!(client.reply::<ProcessInfo2>(&buffer), Err(MisuseError::NotAsked));
    let too_short = MisuseError::BufferTooShort { needed: 24 };
    assert_eq!(client.reply::<EnablePerfMap>(&buffer[..23]), Err(too_short));

    let mut client = Client::new(&request, &mut buffer).unwrap();
    client.sent(24).unwrap();
    buffer[..20].copy_from_slice(b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0");
    client.received(&buffer, 20).unwrap();
    assert_eq!(client.reply::<EnablePerfMap>(&buffer), Ok(None));
}

#[test]
fn client_failed_send_reads_early_error() {
    let mut buffer = [0; 64];
    let mut client = Client::new(&ProcessInfo2 {}, &mut buffer).unwrap();
    client.sent(7).unwrap();
    client.send_failed().unwrap();
    assert_eq!(client.action(), ClientAction::Receive(0..20));
    buffer[..24].copy_from_slice(ERROR);
    client.received(&buffer, 20).unwrap();
    client.received(&buffer, 4).unwrap();
    let outcome = Outcome::Error { size: 24, hresult: HResult::UNKNOWN_COMMAND };
    assert_eq!(client.action(), ClientAction::Finished(outcome));

    let mut client = Client::new(&ProcessInfo2 {}, &mut buffer).unwrap();
    client.send_failed().unwrap();
    client.ended(End::Reset).unwrap();
    assert_eq!(
        client.action(),
        ClientAction::Finished(Outcome::NoReply { end: End::Reset, request_sent: false })
    );
}

/// Each kills a runtime, or is refused (F-16, F-72).
#[test]
fn client_checks_limits_before_it_encodes() {
    fn refused<'a, R: Request<'a>>(request: &R) -> String {
        let mut buffer = [0; 128];
        let error = Client::new(request, &mut buffer).unwrap_err();
        assert_eq!(buffer, [0; 128], "nothing is written");
        assert!(Client::with_payload(R::COMMAND, None, request, &mut buffer).is_ok());
        error.to_string()
    }
    let providers = [ProviderConfig::new("P", 0, EventLevel::ERROR)];
    let session = CollectTracing2 {
        circular_buffer_mb: 0,
        format: Format::NET_TRACE,
        request_rundown: true,
        providers: Array::new(&providers),
    };
    let dump = GenerateCoreDump {
        dump_name: IpcString::ABSENT,
        dump_type: DumpType::NORMAL,
        diagnostics: 0,
    };
    let without_providers = CollectTracing5::UserEvents(UserEventsSession {
        rundown_keyword: 0,
        providers: Array::EMPTY,
    });
    assert_eq!(
        [refused(&session), refused(&dump), refused(&without_providers)],
        [
            "a runtime would refuse it: CollectTracing2.circularBufferMB at byte 20: the circular buffer must not be 0 MB",
            "a runtime would refuse it: GenerateCoreDump.dumpName at byte 20: the name or path must not be absent",
            "a runtime would refuse it: CollectTracing5.providers at byte 32: at least one provider is needed",
        ]
    );
}

#[test]
fn client_descriptor_precedes_reply() {
    let request = CollectTracing5::UserEvents(UserEventsSession {
        rundown_keyword: 0,
        providers: Array::EMPTY,
    });
    let mut buffer = [0; 64];
    let continuation = Some(request.continuation());
    let command = Command::COLLECT_TRACING5;
    let mut client = Client::with_payload(command, continuation, &request, &mut buffer).unwrap();
    assert_eq!(client.action(), ClientAction::Send(0..36));
    client.sent(36).unwrap();
    assert_eq!(client.action(), ClientAction::SendFd(FdByte::CANONICAL));
    client.fd_sent().unwrap();
    buffer[..28].copy_from_slice(SESSION);
    client.received(&buffer, 20).unwrap();
    client.received(&buffer, 8).unwrap();
    let then = AfterReply::UserEvents { session_id: Some(42) };
    assert_eq!(client.action(), ClientAction::Finished(Outcome::Ok { size: 28, then }));
}

#[test]
fn client_generic_ok_has_no_payload() {
    let then = |command, continuation| match hear(
        client(command, continuation),
        OK_20,
        &Pieces(vec![64]),
        End::Closed,
        64,
    )
    .0
    {
        Outcome::Ok { size: 20, then } => then,
        other => panic!("{other:?}"),
    };
    assert_eq!(then(Command::RESUME_RUNTIME, Continuation::Close), AfterReply::Close);
    assert_eq!(then(Command::GENERATE_CORE_DUMP, Continuation::Close), AfterReply::AnotherReply);
    assert_eq!(
        then(Command::COLLECT_TRACING, Continuation::Nettrace),
        AfterReply::Stream { session_id: None }
    );
    assert_eq!(
        then(Command::COLLECT_TRACING5, Continuation::UserEvents),
        AfterReply::UserEvents { session_id: None }
    );
    assert_eq!(
        then(Command::PROCESS_ENVIRONMENT, Continuation::EnvironmentBlock),
        AfterReply::Unknown
    );
}

#[test]
fn client_second_reply_only_after_dump() {
    let mut buffer = [0; 64];
    let mut dump = client(Command::GENERATE_CORE_DUMP3, Continuation::Close);
    dump.sent(20).unwrap();
    assert_eq!(dump.another_reply(), Err(MisuseError::NotAsked));
    for reply in [OK_24, ERROR] {
        buffer[..24].copy_from_slice(reply);
        dump.received(&buffer, 20).unwrap();
        dump.received(&buffer, 4).unwrap();
        dump.another_reply().unwrap();
        assert_eq!(dump.action(), ClientAction::Receive(0..20));
    }
    dump.ended(End::Closed).unwrap();
    assert_eq!(
        dump.action(),
        ClientAction::Finished(Outcome::NoReply { end: End::Closed, request_sent: true })
    );
    assert_eq!(dump.another_reply(), Err(MisuseError::NotAsked));

    let mut info = Client::new(&StopTracing { session_id: 0 }, &mut buffer).unwrap();
    info.sent(28).unwrap();
    buffer[..28].copy_from_slice(SESSION);
    info.received(&buffer, 20).unwrap();
    info.received(&buffer, 8).unwrap();
    assert_eq!(info.another_reply(), Err(MisuseError::NotAsked));
}

#[test]
fn client_environment_length_matches_reply() {
    let mut buffer = [0; 32];
    let len = ProcessEnvironment {}.encode_message(&mut buffer).unwrap();
    let mut server = Server::new();
    server.received(&buffer, len).unwrap();
    server.request(&buffer).unwrap();
    let reply = dotnet_diagnostics_ipc::message::process::ProcessEnvironmentReply {
        n_incoming_bytes: 10,
        future: 0,
    };
    server.respond(&reply, &mut buffer).unwrap();
    server.sent(26).unwrap();
    assert_eq!(server.action(), ServerAction::Continue { left: Some(10) });
    assert_eq!(server.piece(&buffer, 11), Err(MisuseError::TooMany { asked: 10, reported: 11 }));
    assert_eq!(
        server.continuation_ended(),
        Err(MisuseError::NotAsked),
        "6 bytes are still to come"
    );
    server.piece(&buffer, 4).unwrap();
    server.sent(4).unwrap();
    let mut whole = server;
    whole.piece(&buffer, 6).unwrap();
    whole.sent(6).unwrap();
    whole.closed().unwrap();
    assert_eq!(whole.action(), ServerAction::Finished(ServerOutcome::Answered));

    server.break_off(HResult::FAIL, &mut buffer).unwrap();
    assert_eq!(server.action(), ServerAction::Send(0..24));
    assert_eq!(&buffer[..24], b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x05\x40\0\x80");
    server.sent(24).unwrap();
    server.closed().unwrap();
    assert_eq!(server.action(), ServerAction::Finished(ServerOutcome::BrokenOff(HResult::FAIL)));
}

#[test]
fn exchange_idle_size_is_bounded() {
    assert!(size_of::<Client>() <= 64, "{}", size_of::<Client>());
    assert!(size_of::<Server>() <= 64, "{}", size_of::<Server>());
}
