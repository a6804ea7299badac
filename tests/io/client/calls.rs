//! What is sent, what is not sent, and what ends a call.

use std::io;
use std::os::fd::BorrowedFd;
#[cfg(feature = "tokio")]
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use dotnet_diagnostics_ipc::exchange::fallback::Fallback;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::*;
use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::dump::{
    DumpFlags, DumpType, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3,
};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, EventFilter, EventLevel, StreamingProviderConfig, StreamingSession,
};
use dotnet_diagnostics_ipc::message::process::{PerfMapType, ResumeRuntime};
use dotnet_diagnostics_ipc::message::profiler::{AttachProfiler, StartupProfiler};
use dotnet_diagnostics_ipc::wire::{Array, Guid, IpcString};
use rustix::event::{PollFd, PollFlags};

use crate::client::{COLLECT, DONE, FAILED, Peer, SESSION, USER_EVENTS};

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
        // Once is enough, and twice is harmless.
        canceller.cancel();
        call.join().unwrap()
    });
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Reply, ErrorKind::Cancelled)),
        "{error:?}"
    );
    assert_eq!(error.to_string(), "cancelled (waiting for the reply)");
}

#[test]
fn connection_cancelled_sends_nothing() {
    let (peer, canceller) = (Peer::saying(&[&[]]), Canceller::new().unwrap());
    canceller.cancel();
    let transport = peer.connect(&WaitLimit::FOREVER).unwrap();
    let error =
        Connection::new(transport).with_canceller(canceller).call(&ResumeRuntime {}).unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Send, ErrorKind::Cancelled)),
        "{error:?}"
    );
    assert_eq!(io::Read::read(&mut peer.end(0), &mut [0; 1]).unwrap(), 0);
}

#[test]
fn call_over_limit_is_sent_only_unchecked() {
    let dump = GenerateCoreDump3 {
        dump_name: "/d".into(),
        dump_type: DumpType(9),
        flags: DumpFlags::NONE,
    };
    let why = "a runtime would refuse it: GenerateCoreDump3.dumpType at byte 30: dump type 9 is not one of 1 to 4 (sending the request)";
    let peer = Peer::saying(&[&[], FAILED, FAILED]);
    let client = Client::new(&peer);
    let error = client.generate_core_dump3(&dump).unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Send, ErrorKind::Limit(_))),
        "{error:?}"
    );
    assert_eq!(error.to_string(), why);
    assert_eq!(io::Read::read(&mut peer.end(0), &mut [0; 1]).unwrap(), 0, "nothing was sent");

    let sent = b"DOTNET_IPC_V1\0\x26\0\x01\x03\0\0\x03\0\0\0/\0d\0\0\0\x09\0\0\0\0\0\0\0";
    assert_eq!(
        client.unchecked().generate_core_dump3(&dump).unwrap_err().hresult(),
        Some(HResult::FAIL)
    );
    assert_eq!(peer.asked(1, sent.len()), sent);
    let connection = Connection::new(peer.connect(&WaitLimit::FOREVER).unwrap()).unchecked();
    assert_eq!(connection.call(&dump).unwrap_err().hresult(), Some(HResult::FAIL));
    assert_eq!(peer.asked(2, sent.len()), sent);
}

#[test]
fn call_ok_with_failed_result_is_refused() {
    let peer = Peer::saying(&[b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\x05\x40\0\x80"]);
    let error = Client::new(&peer).resume().unwrap_err();
    assert_eq!((error.phase(), error.hresult()), (Phase::Reply, Some(HResult::FAIL)));
}

/// As .NET 6.0.13 answers a dump that failed (F-127): the header says that it is an error.
#[test]
fn call_error_with_code_0_is_a_failure() {
    let peer = Peer::saying(&[b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\0\0\0\0"]);
    let dump = GenerateCoreDump {
        dump_name: "/d".into(),
        dump_type: DumpType::NORMAL,
        diagnostics: false.into(),
    };
    let error = Client::new(&peer).generate_core_dump(&dump).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Refused { hresult: HResult::OK, message: None }),
        "{error:?}"
    );
    let said = "the runtime answered with the error code 0x00000000, which gives no reason (waiting for the reply)";
    assert_eq!(error.to_string(), said);
}

/// What each method sends, byte by byte; and that an error reply is an error.
#[test]
fn client_method_sends_its_command() {
    type Call = fn(&Client<&Peer>) -> Result<(), Error>;
    let calls: [(Call, &[u8]); 15] = [
        (|client| client.process_info().map(drop), b"\x14\0\x04\0\0\0"),
        (|client| client.process_info2().map(drop), b"\x14\0\x04\x04\0\0"),
        (|client| client.process_info3().map(drop), b"\x14\0\x04\x08\0\0"),
        (|client| client.resume(), b"\x14\0\x04\x01\0\0"),
        (|client| client.environment().map(drop), b"\x14\0\x04\x02\0\0"),
        (|client| client.set_environment_variable("A", Some("1")), b"\x24\0\x04\x03\0\0\x02\0\0\0A\0\0\0\x02\0\0\x001\0\0\0"),
        (|client| client.enable_perf_map(PerfMapType::JIT_DUMP), b"\x18\0\x04\x05\0\0\x02\0\0\0"),
        (|client| client.disable_perf_map(), b"\x14\0\x04\x06\0\0"),
        (|client| client.apply_startup_hook("/h"), b"\x1e\0\x04\x07\0\0\x03\0\0\0/\0h\0\0\0"),
        (
            |client| {
                let (profiler_guid, profiler_path) = (Guid::NIL, "/p".into());
                client.attach_profiler(&AttachProfiler { attach_timeout: 1, profiler_guid, profiler_path, client_data: b"" })
            },
            b"\x36\0\x03\x01\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0/\0p\0\0\0\0\0\0\0",
        ),
        (
            |client| client.startup_profiler(&StartupProfiler { profiler_guid: Guid::NIL, profiler_path: "/p".into() }),
            b"\x2e\0\x03\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0/\0p\0\0\0",
        ),
        (
            |client| {
                let (dump_name, dump_type, diagnostics) = ("/d".into(), DumpType::NORMAL, true.into());
                client.generate_core_dump(&GenerateCoreDump { dump_name, dump_type, diagnostics })
            },
            b"\x26\0\x01\x01\0\0\x03\0\0\0/\0d\0\0\0\x01\0\0\0\x01\0\0\0",
        ),
        (
            |client| {
                let (dump_name, dump_type, flags) = ("/d".into(), DumpType::FULL, DumpFlags::NONE);
                client.generate_core_dump2(&GenerateCoreDump2 { dump_name, dump_type, flags })
            },
            b"\x26\0\x01\x02\0\0\x03\0\0\0/\0d\0\0\0\x04\0\0\0\0\0\0\0",
        ),
        (
            |client| {
                let (dump_name, dump_type, flags) = ("/d".into(), DumpType::FULL, DumpFlags::NONE);
                client.generate_core_dump3(&GenerateCoreDump3 { dump_name, dump_type, flags })
            },
            b"\x26\0\x01\x03\0\0\x03\0\0\0/\0d\0\0\0\x04\0\0\0\0\0\0\0",
        ),
        (|client| client.stop_tracing(42).map(drop), b"\x1c\0\x02\x01\0\0\x2a\0\0\0\0\0\0\0"),
    ];
    for (call, behind_the_magic) in calls {
        let peer = Peer::saying(&[FAILED]);
        let said = call(&Client::new(&peer)).map_err(|error| error.hresult());
        let asked = [&b"DOTNET_IPC_V1\0"[..], behind_the_magic].concat();
        assert_eq!(peer.asked(0, asked.len()), asked);
        assert_eq!(said, Err(Some(HResult::FAIL)), "{asked:x?}");
    }
}

/// F-31: also for an unknown session.
#[test]
fn stop_returns_session_of_reply() {
    let peer = Peer::saying(&[SESSION, b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0"]);
    let client = Client::new(&peer);
    assert_eq!(client.stop_tracing(7).unwrap(), Some(42));
    assert_eq!(client.stop_tracing(7).unwrap(), None);
}

#[test]
fn attach_sends_its_timeout() {
    let peer = Peer::saying(&[DONE]);
    let deadlines = Deadlines::default();
    assert_eq!(deadlines, Deadlines::DEFAULT);
    let attach = AttachProfiler {
        attach_timeout: 5000,
        profiler_guid: Guid::NIL,
        profiler_path: "/p".into(),
        client_data: b"",
    };
    Client::new(&peer).with_deadlines(deadlines).attach_profiler(&attach).unwrap();
    assert_eq!(peer.asked(0, 24)[16..], [3, 1, 0, 0, 0x88, 0x13, 0, 0]);
}

#[test]
fn environment_size_is_known_first() {
    let peer = Peer::saying(&[b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0\x18\0\0\0\0\0"]);
    let client = Client::new(&peer);
    assert_eq!(client.environment().unwrap().n_incoming_bytes(), 24);
}

#[test]
fn session_takes_method_of_its_kind() {
    let peer = Peer::default();
    let client = Client::new(&peer);
    let not_streaming = "not a streaming session (sending the request)";
    assert_eq!(client.trace(&USER_EVENTS).unwrap_err().to_string(), not_streaming);
    let fallback = Fallback::new(AnyRequest::CollectTracing5(USER_EVENTS));
    assert_eq!(client.trace_by(fallback).unwrap_err().to_string(), not_streaming);
    let error = client.user_events(&COLLECT, io::stdin()).unwrap_err();
    assert_eq!(error.to_string(), "not a user_events session (sending the request)");
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)));
}

#[test]
fn fallback_over_limit_is_sent_only_unchecked() {
    let providers = [StreamingProviderConfig {
        keywords: 0,
        log_level: EventLevel(9),
        provider_name: "P".into(),
        arguments: IpcString::ABSENT,
        filter: EventFilter::ALL,
    }];
    let request = AnyRequest::CollectTracing5(CollectTracing5::Streaming(StreamingSession {
        circular_buffer_mb: 1,
        format: COLLECT.format,
        rundown_keyword: 0,
        request_stackwalk: false,
        providers: Array::new(&providers),
    }));
    let peer = Peer::saying(&[SESSION]);
    let client = Client::new(&peer);
    let error = client.trace_by(Fallback::new(request)).unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Send, ErrorKind::Limit(_))),
        "{error:?}"
    );
    let (trace, _) = client.unchecked().trace_by(Fallback::new(request)).unwrap();
    assert_eq!(trace.session_id(), Some(42));
    assert_eq!(peer.asked(0, 20)[16..18], [2, 6]);
}

#[test]
fn user_events_session_lasts_until_hang_up() {
    let (peer, other) = (Peer::saying(&[SESSION]), Peer::saying(&[SESSION]));
    let connection = Connection::new(peer.connect(&WaitLimit::FOREVER).unwrap());
    let session = connection.user_events(&USER_EVENTS, io::stdin()).unwrap();
    assert_eq!(session.session_id(), Some(42));
    let soon = || WaitLimit {
        deadline: Some(std::time::Instant::now() + Duration::from_millis(20)),
        canceller: None,
    };
    let error = session.wait(&soon()).unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Continuation, ErrorKind::TimedOut)),
        "{error:?}"
    );
    // Bytes are not the end.
    io::Write::write_all(&mut peer.end(0), &[7; 100]).unwrap();
    let error = session.wait(&soon()).unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Continuation, ErrorKind::TimedOut)),
        "{error:?}"
    );
    let client = Client::new(&other);
    let other_session = client.user_events(&USER_EVENTS, io::stdin()).unwrap();
    peer.hang_up();
    // Of many sessions, a poll tells which has ended.
    let mut polled = [&session, &other_session].map(|session| PollFd::new(session, PollFlags::IN));
    assert_eq!(rustix::event::poll(&mut polled, None).unwrap(), 1);
    assert!(polled[0].revents().contains(PollFlags::IN));
    session.wait(&WaitLimit::FOREVER).unwrap();
}

#[cfg(feature = "tokio")]
#[tokio::test]
async fn tokio_user_events_passes_descriptor_and_lasts_until_hang_up() {
    /// Connects once.
    struct Once(std::sync::Mutex<Option<UnixStream>>);

    impl AsyncConnect for Once {
        type Stream = tokio::net::UnixStream;

        async fn connect(&self) -> Result<Self::Stream, Error> {
            let stream = self.0.lock().unwrap().take().unwrap();
            stream.set_nonblocking(true).map_err(Error::connecting)?;
            tokio::net::UnixStream::from_std(stream).map_err(Error::connecting)
        }
    }

    let (ours, mut theirs) = UnixStream::pair().unwrap();
    io::Write::write_all(&mut theirs, SESSION).unwrap();
    let client = AsyncClient::new(Once(std::sync::Mutex::new(Some(ours))));
    let error = client.user_events(&COLLECT, io::stdin()).await.unwrap_err();
    assert_eq!(error.to_string(), "not a user_events session (sending the request)");
    let session = client.user_events(&USER_EVENTS, io::stdin()).await.unwrap();
    assert_eq!(session.session_id(), Some(42));
    let mut request = [0; 20];
    io::Read::read_exact(&mut theirs, &mut request).unwrap();
    let mut payload = vec![0; usize::from(u16::from_le_bytes([request[14], request[15]])) - 20];
    io::Read::read_exact(&mut theirs, &mut payload).unwrap();
    let (n, fds) = fd::receive(&theirs, &mut [0; 8]).unwrap();
    assert_eq!((n, fds.len()), (1, 1), "one byte, and the descriptor with it (F-20)");
    // Bytes are not the end.
    io::Write::write_all(&mut theirs, &[7; 100]).unwrap();
    let waiting = tokio::time::timeout(Duration::from_millis(20), session.wait_async());
    assert!(waiting.await.is_err());
    drop(theirs);
    session.wait_async().await.unwrap();
}

/// F-74: the request alone would cost some runtimes a descriptor.
#[test]
fn call_of_user_events_is_refused_unsent() {
    let peer = Peer::saying(&[&[], &[]]);
    let why = "a user_events session takes a descriptor: Client::user_events passes one (sending the request)";
    let error =
        Connection::new(peer.connect(&WaitLimit::FOREVER).unwrap()).call(&USER_EVENTS).unwrap_err();
    assert_eq!(error.to_string(), why);
    let error = Client::new(&peer).unchecked().call(&USER_EVENTS).unwrap_err();
    assert_eq!(error.to_string(), why);
    for nth in 0..2 {
        assert_eq!(io::Read::read(&mut peer.end(nth), &mut [0; 1]).unwrap(), 0, "nothing was sent");
    }
}

/// The default deadline of a reply is 5 s; an attach adds its own timeout.
#[test]
fn attach_reply_deadline_is_its_timeout() {
    /// Records how long it may wait for the reply.
    struct Noting(Option<Duration>);
    impl Transport for &mut Noting {
        fn send(&mut self, bytes: &[u8], _: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
            Ok(bytes.len())
        }
        fn receive(&mut self, _: &mut [u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
            self.0 = until.left();
            Err(ErrorKind::TimedOut)
        }
    }
    let (profiler_guid, profiler_path) = (Guid::NIL, "/p".into());
    let attach =
        AttachProfiler { attach_timeout: 7000, profiler_guid, profiler_path, client_data: b"" };
    let mut noting = Noting(None);
    Connection::new(&mut noting).call(&attach).unwrap_err();
    let left = noting.0.unwrap();
    assert!(left > Duration::from_secs(11) && left <= Duration::from_secs(12), "{left:?}");
    Connection::new(&mut noting).call(&ResumeRuntime {}).unwrap_err();
    let left = noting.0.unwrap();
    assert!(left > Duration::from_secs(4) && left <= Duration::from_secs(5), "{left:?}");
}

/// Makes connections that carry everything except a descriptor.
struct Closing<'p>(&'p Peer);

#[derive(Debug)]
struct NoFd(UnixTransport);

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
        self.0.connect(until).map(NoFd)
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

/// A reply to `ProcessInfo` with a command line of `units` units, and unrelated bytes after it.
fn long_reply(units: usize) -> (Vec<u8>, String) {
    let command_line = "0123456789".repeat(units / 10);
    let string = |text: &str| -> Vec<u8> {
        let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
        let len = u32::try_from(units.len()).unwrap();
        len.to_le_bytes().into_iter().chain(units.into_iter().flat_map(u16::to_le_bytes)).collect()
    };
    let payload = [
        &7_u64.to_le_bytes()[..],
        &[0x11; 16],
        &string(&command_line),
        &string("Linux"),
        &string("x64"),
    ]
    .concat();
    let size = u16::try_from(20 + payload.len()).unwrap();
    let reply =
        [b"DOTNET_IPC_V1\0", &size.to_le_bytes()[..], &[0xff, 0, 0, 0], &payload, b"behind it"]
            .concat();
    (reply, command_line)
}

#[test]
fn call_reply_of_any_length_is_read_whole() {
    // Shorter than the room that a call begins with, equal, longer, and the longest message.
    for units in [10, 450, 460, 470, 1000, 32_000] {
        let (reply, command_line) = long_reply(units);
        let answer = Client::new(Peer::saying(&[&reply])).process_info().unwrap();
        assert_eq!(answer.message().len(), reply.len() - 9, "{units}");
        assert_eq!(answer.payload().unwrap().command_line.to_string(), command_line, "{units}");
    }
}

#[test]
fn call_reply_in_pieces_is_read_whole() {
    let (reply, command_line) = long_reply(600);
    for cut in [1, 13, 19, 20, 21, 1000, 1023, 1024, 1025] {
        let peer = Peer::saying(&[&reply[..cut]]);
        let answer = thread::scope(|scope| {
            let client = Client::new(&peer);
            let call = scope.spawn(move || client.process_info().unwrap());
            peer.asked_when_connected(0, 20);
            io::Write::write_all(&mut peer.end(0), &reply[cut..]).unwrap();
            call.join().unwrap()
        });
        assert_eq!(answer.payload().unwrap().command_line.to_string(), command_line, "{cut}");
    }
}
