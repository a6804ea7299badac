//! The client's half over tokio: nothing is lost, nothing is read too far, and a call ends.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{LazyLock, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use dotnet_diagnostics_ipc::continuation::EnvironmentLimits;
use dotnet_diagnostics_ipc::exchange::fallback::Fallback;
use dotnet_diagnostics_ipc::exchange::{End, StopOutcome};
use dotnet_diagnostics_ipc::hresult::HResult;
#[cfg(unix)]
use dotnet_diagnostics_ipc::io::Endpoint;
use dotnet_diagnostics_ipc::io::{
    AsyncClient, AsyncConnect, Connection, Deadlines, Error, ErrorKind, Phase, Trace,
};
use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump3};
use dotnet_diagnostics_ipc::message::eventpipe::*;
use dotnet_diagnostics_ipc::message::process::{ProcessInfo, ProcessInfo3, ResumeRuntime};
use dotnet_diagnostics_ipc::message::profiler::AttachProfiler;
use dotnet_diagnostics_ipc::wire::{Array, Guid, IpcString};
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf,
};

const ROOM: [usize; 3] = [1, 7, 4096];

/// A runtime that reads `len` bytes of request, sends `says`, and closes. The pipe between holds
/// `room` bytes.
fn peer(room: usize, len: usize, says: &'static [u8]) -> DuplexStream {
    let (ours, mut theirs) = tokio::io::duplex(room);
    tokio::spawn(async move {
        let mut request = vec![0; len];
        theirs.read_exact(&mut request).await.unwrap();
        // A client that has gone does not matter here.
        let _ = theirs.write_all(says).await;
    });
    ours
}

#[tokio::test]
async fn tokio_call_is_answered() {
    for room in ROOM {
        let peer = peer(room, 20, b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0");
        let answer = Connection::new(peer).call_async(&ResumeRuntime {}).await.unwrap();
        assert_eq!(answer.result(), HResult::OK);
    }
}

#[tokio::test]
async fn tokio_bytes_after_reply_go_to_caller() {
    let providers = [ProviderConfig::new("P", 1, EventLevel::ERROR)];
    let request = CollectTracing2 {
        circular_buffer_mb: 1,
        format: Format::NET_TRACE,
        request_rundown: false,
        providers: Array::new(&providers),
    };
    for room in ROOM {
        let says = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0Nettrace and more";
        let mut trace = Connection::new(peer(room, 57, says)).trace_async(&request).await.unwrap();
        let mut streamed = Vec::new();
        trace.read_to_end(&mut streamed).await.unwrap();
        assert_eq!((trace.session_id(), &streamed[..]), (Some(42), &b"Nettrace and more"[..]));
    }
}

#[tokio::test]
async fn tokio_environment_is_read_by_entry() {
    for room in ROOM {
        let says = b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0\x18\0\0\0\0\0\x02\0\0\0\x04\0\0\0A\0=\0b\0\0\0\x02\0\0\0=\0\0\0";
        let mut entries = Vec::new();
        let connection = Connection::new(peer(room, 20, says));
        connection
            .environment_async()
            .await
            .unwrap()
            .for_each_async(|entry| entries.push(entry.text().to_string()))
            .await
            .unwrap();
        assert_eq!(entries, ["A=b", "="]);

        let limits = EnvironmentLimits { max_bytes: 23, ..EnvironmentLimits::DEFAULT };
        let error = Connection::new(peer(room, 20, says))
            .environment_async()
            .await
            .unwrap()
            .with_limits(limits)
            .for_each_async(|_| panic!())
            .await
            .unwrap_err();
        assert!(
            matches!(
                (error.phase(), error.kind()),
                (Phase::Continuation, ErrorKind::LimitExceeded { limit: 23 })
            ),
            "{error}"
        );

        let cut = Connection::new(peer(room, 20, &says[..40]))
            .environment_async()
            .await
            .unwrap()
            .for_each_async(|_| {})
            .await
            .unwrap_err();
        assert!(matches!(cut.kind(), ErrorKind::Ended { end: End::Closed, received: 14 }), "{cut}");
    }
}

#[tokio::test]
async fn tokio_non_reply_is_named() {
    let call = async |says: &'static [u8]| {
        Connection::new(peer(64, 20, says)).call_async(&ProcessInfo3 {}).await.unwrap_err()
    };
    let http = call(b"HTTP/1.1 400 Bad Request").await;
    assert!(
        matches!((http.phase(), http.kind()), (Phase::Reply, ErrorKind::Malformed(_))),
        "{http}"
    );
    let cut = call(b"DOTNET_IPC_V1\0\x18\0\xff").await;
    assert!(matches!(cut.kind(), ErrorKind::Ended { end: End::Closed, received: 17 }), "{cut}");
    let refused = call(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80").await;
    assert_eq!(refused.hresult(), Some(HResult::UNKNOWN_COMMAND));
}

#[tokio::test(start_paused = true)]
async fn tokio_timeout_ends_call() {
    let (ours, _theirs) = tokio::io::duplex(64);
    let call = Connection::new(ours).call_async(&ResumeRuntime {});
    assert!(tokio::time::timeout(Duration::from_secs(4), call).await.is_err());
}

const USER_EVENTS: CollectTracing5<'_> = CollectTracing5::UserEvents(UserEventsSession {
    rundown_keyword: 0,
    providers: Array::new(&[UserEventsProviderConfig {
        keywords: 1,
        log_level: EventLevel::INFORMATIONAL,
        provider_name: IpcString::new("P"),
        arguments: IpcString::ABSENT,
        filter: EventFilter::ALL,
        config: TracepointConfig {
            default_tracepoint_name: IpcString::new("t"),
            tracepoints: Array::EMPTY,
        },
    }]),
});

#[tokio::test]
async fn tokio_user_events_are_unsupported() {
    let error =
        Connection::new(tokio::io::duplex(4096).0).trace_async(&USER_EVENTS).await.unwrap_err();
    assert_eq!(error.to_string(), "not a streaming session (sending the request)");
    let (ours, mut theirs) = tokio::io::duplex(4096);
    let error = Connection::new(ours).call_async(&USER_EVENTS).await.unwrap_err();
    let why = "a user_events session takes a descriptor: Client::user_events passes one (sending the request)";
    assert_eq!(error.to_string(), why);
    assert_eq!(theirs.read(&mut [0; 1]).await.unwrap(), 0, "nothing was sent");
}

#[tokio::test]
async fn tokio_call_over_limit_is_sent_only_unchecked() {
    let dump = GenerateCoreDump3 {
        dump_name: "/d".into(),
        dump_type: DumpType(9),
        flags: DumpFlags::NONE,
    };
    let (ours, mut theirs) = tokio::io::duplex(4096);
    let error = Connection::new(ours).call_async(&dump).await.unwrap_err();
    assert!(matches!((error.phase(), error.kind()), (Phase::Send, ErrorKind::Limit(_))), "{error}");
    assert_eq!(theirs.read(&mut [0; 1]).await.unwrap(), 0, "nothing was sent");
    let refused = peer(4096, 38, b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x05\x40\0\x80");
    let error = Connection::new(refused).unchecked().call_async(&dump).await.unwrap_err();
    assert_eq!(error.hresult(), Some(HResult::FAIL));
}

#[tokio::test]
async fn tokio_reply_of_any_length_is_read_whole() {
    // 20 + 8 + 16 + (4 + 2 × 20,000) + 4 + 4
    static SAYS: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let length = &20_000u32.to_le_bytes();
        [
            &b"DOTNET_IPC_V1\0\x78\x9c\xff\0\0\0"[..],
            &[0; 24],
            length,
            &[b'x', 0].repeat(19_999),
            &[0; 10],
        ]
        .concat()
    });
    let said = SAYS.as_slice();
    for room in ROOM {
        let answer =
            Connection::new(peer(room, 20, said)).call_async(&ProcessInfo {}).await.unwrap();
        assert!(answer.message() == said);
        assert_eq!(answer.payload().unwrap().command_line, "x".repeat(19_999).as_str());
    }
}

#[tokio::test]
async fn tokio_environment_ok_without_size_is_malformed() {
    let connection = Connection::new(peer(64, 20, b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0"));
    let error = connection.environment_async().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the runtime did not report the size of the environment (waiting for the reply)"
    );
}

#[tokio::test]
async fn tokio_closed_peer_is_reported() {
    let (ours, mut theirs) = tokio::io::duplex(64);
    theirs.write_all(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x84\x13\x13\x80").await.unwrap();
    drop(theirs);
    let error = Connection::new(ours).call_async(&ResumeRuntime {}).await.unwrap_err();
    assert_eq!(error.hresult(), Some(HResult::BAD_ENCODING));
    // One that sent nothing.
    let (ours, theirs) = tokio::io::duplex(64);
    drop(theirs);
    let error = Connection::new(ours).call_async(&ResumeRuntime {}).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Ended { end: End::Closed, received: 0 }), "{error}");
    assert_eq!(error.to_string(), "the connection was closed (waiting for the reply)");
}

/// Accepts all writes, and fails at the first read.
struct Reset;

impl AsyncRead for Reset {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
    }
}

impl AsyncWrite for Reset {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn tokio_reset_differs_from_close() {
    let error = Connection::new(Reset).call_async(&ResumeRuntime {}).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Ended { end: End::Reset, received: 0 }), "{error}");
    assert_eq!(error.to_string(), "the connection was reset (waiting for the reply)");
}

/// Answers any request with the next of `says`, over a pipe in memory. More can be sent over the
/// ends that it keeps.
#[derive(Default)]
struct Peer {
    says: Mutex<VecDeque<&'static [u8]>>,
    ends: Mutex<Vec<DuplexStream>>,
}

impl Peer {
    fn saying(says: &[&'static [u8]]) -> Self {
        Self { says: Mutex::new(says.iter().copied().collect()), ends: Mutex::default() }
    }
}

impl AsyncConnect for Peer {
    type Stream = DuplexStream;

    async fn connect(&self) -> Result<DuplexStream, Error> {
        let says = self.says.lock().unwrap().pop_front();
        let says =
            says.ok_or_else(|| Error::connecting(io::ErrorKind::ConnectionRefused.into()))?;
        let (ours, mut theirs) = tokio::io::duplex(4096);
        theirs.write_all(says).await.map_err(Error::connecting)?;
        self.ends.lock().unwrap().push(theirs);
        Ok(ours)
    }
}

const COLLECT: CollectTracing2<'_> = CollectTracing2 {
    circular_buffer_mb: 1,
    format: Format::NET_TRACE,
    request_rundown: false,
    providers: Array::new(&[ProviderConfig::new("P", 1, EventLevel::ERROR)]),
};
const DONE: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";
const SESSION: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0";
const STREAM: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0Nettrace";
const UNKNOWN: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80";

#[tokio::test]
async fn tokio_client_connects_for_each_command() {
    let peer = Peer::saying(&[DONE, UNKNOWN, SESSION]);
    let client = AsyncClient::new(&peer);
    client.resume().await.unwrap();
    let error = client.set_environment_variable("A", Some("1")).await.unwrap_err();
    assert_eq!(error.hresult(), Some(HResult::UNKNOWN_COMMAND));
    assert_eq!(client.stop_tracing(7).await.unwrap(), Some(42));
    let error = client.process_info().await.unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Connect, ErrorKind::Io(_))),
        "{error:?}"
    );
    let asked: [&[u8]; 3] = [
        b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0",
        b"DOTNET_IPC_V1\0\x24\0\x04\x03\0\0\x02\0\0\0A\0\0\0\x02\0\0\x001\0\0\0",
        b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x07\0\0\0\0\0\0\0",
    ];
    let ends = std::mem::take(&mut *peer.ends.lock().unwrap());
    for (mut end, asked) in ends.into_iter().zip(asked) {
        let mut request = Vec::new();
        end.read_to_end(&mut request).await.unwrap();
        assert_eq!(request, asked);
    }
}

#[tokio::test]
async fn tokio_info_and_dump_use_the_newest_known_command() {
    const INFO: &[u8] = b"DOTNET_IPC_V1\0\x3c\0\xff\0\0\0\x07\0\0\0\0\0\0\0\
        \x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\
        \x02\0\0\0a\0\0\0\0\0\0\0\0\0\0\0";
    let peer = Peer::saying(&[UNKNOWN, UNKNOWN, INFO, UNKNOWN, DONE]);
    let client = AsyncClient::new(&peer);
    let info = client.info().await.unwrap();
    assert_eq!((info.process_id, &*info.command_line, info.clr_product_version), (7, "a", None));
    let dump = GenerateCoreDump3 {
        dump_name: "d".into(),
        dump_type: DumpType::FULL,
        flags: DumpFlags::NONE,
    };
    client.dump(&dump).await.unwrap();
    let ends = std::mem::take(&mut *peer.ends.lock().unwrap());
    let mut asked = Vec::new();
    for mut end in ends {
        let mut header = [0; 20];
        end.read_exact(&mut header).await.unwrap();
        asked.push([header[16], header[17]]);
    }
    assert_eq!(asked, [[4, 8], [4, 4], [4, 0], [1, 3], [1, 2]]);
}

/// A runtime's backlog is full, so the client must try again later: without a clock of tokio's.
#[cfg(target_os = "linux")]
#[test]
fn tokio_client_without_deadlines_needs_no_time_driver() {
    use std::io::Write as _;
    use std::os::unix::net::{UnixListener, UnixStream};

    let directory = crate::directory();
    let path = directory.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let first = UnixStream::connect(&path).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let client = AsyncClient::new(Endpoint::socket(&path)).with_deadlines(Deadlines::NONE);
    let server = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        let accept = || listener.accept().unwrap().0;
        let (_first, mut second) = (accept(), accept());
        second.write_all(DONE).unwrap();
        second
    });
    runtime.block_on(client.resume()).unwrap();
    drop((first, server.join().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn tokio_phase_ends_at_its_deadline() {
    /// Never connects.
    struct Nowhere;
    impl AsyncConnect for Nowhere {
        type Stream = DuplexStream;
        async fn connect(&self) -> Result<DuplexStream, Error> {
            std::future::pending().await
        }
    }
    let timed_out = |error: Error, phase| {
        assert!(matches!(error.kind(), ErrorKind::TimedOut) && error.phase() == phase, "{error:?}");
    };
    timed_out(AsyncClient::new(Nowhere).process_info().await.unwrap_err(), Phase::Connect);

    let began = tokio::time::Instant::now();
    let client = AsyncClient::new(Peer::saying(&[b"", b"", b""]));
    timed_out(client.process_info().await.unwrap_err(), Phase::Reply);
    assert_eq!(began.elapsed().as_secs(), 5);
    let attach = AttachProfiler {
        attach_timeout: 7000,
        profiler_guid: Guid::NIL,
        profiler_path: "/p".into(),
        client_data: b"",
    };
    timed_out(client.attach_profiler(&attach).await.unwrap_err(), Phase::Reply);
    assert_eq!(began.elapsed().as_secs(), 5 + 12);
    let whole = client
        .with_deadlines(Deadlines { whole: Some(Duration::from_secs(1)), ..Deadlines::DEFAULT });
    timed_out(whole.process_info().await.unwrap_err(), Phase::Reply);
    assert_eq!(began.elapsed().as_secs(), 5 + 12 + 1);

    let (ours, _theirs) = tokio::io::duplex(8);
    timed_out(Connection::new(ours).call_async(&ResumeRuntime {}).await.unwrap_err(), Phase::Send);
    let says = b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0\x18\0\0\0\0\0\x02\0\0\0";
    let client = AsyncClient::new(Peer::saying(&[says]));
    timed_out(
        client.environment().await.unwrap().for_each_async(|_| ()).await.unwrap_err(),
        Phase::Continuation,
    );
}

/// The block has one limit, however often a byte arrives.
#[tokio::test(start_paused = true)]
async fn tokio_environment_in_single_bytes_ends() {
    let (ours, mut theirs) = tokio::io::duplex(64);
    tokio::spawn(async move {
        theirs.write_all(b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0\0\0\x10\0\0\0").await.unwrap();
        theirs.write_all(&[2, 0, 0, 0, 0, 0, 1, 0]).await.unwrap();
        for _ in 0..60_000 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if theirs.write_all(b"a").await.is_err() {
                break;
            }
        }
    });
    let began = tokio::time::Instant::now();
    let connection = Connection::new(ours);
    let error =
        connection.environment_async().await.unwrap().for_each_async(|_| ()).await.unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Continuation, ErrorKind::TimedOut)),
        "{error:?}"
    );
    assert_eq!(began.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn tokio_fallback_deadline_covers_all_connections() {
    /// Takes its time, and knows no command.
    struct Slow;
    impl AsyncConnect for Slow {
        type Stream = DuplexStream;
        async fn connect(&self) -> Result<DuplexStream, Error> {
            tokio::time::sleep(Duration::from_secs(2)).await;
            Peer::saying(&[UNKNOWN]).connect().await
        }
    }
    let request = streaming();
    let deadlines =
        |whole| Deadlines { whole: Some(Duration::from_secs(whole)), ..Deadlines::DEFAULT };
    let client = AsyncClient::new(Slow);
    let error = client
        .clone()
        .with_deadlines(deadlines(5))
        .trace_by(Fallback::new(request))
        .await
        .unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Connect, ErrorKind::TimedOut)),
        "{error:?}"
    );
    let error =
        client.with_deadlines(deadlines(30)).trace_by(Fallback::new(request)).await.unwrap_err();
    assert_eq!(error.hresult(), Some(HResult::UNKNOWN_COMMAND));
}

const PROVIDERS: &[StreamingProviderConfig<'_>] = &[StreamingProviderConfig {
    keywords: 0,
    log_level: EventLevel::ERROR,
    provider_name: IpcString::new("P"),
    arguments: IpcString::ABSENT,
    filter: EventFilter::ALL,
}];

fn streaming() -> AnyRequest<'static> {
    AnyRequest::CollectTracing5(CollectTracing5::Streaming(StreamingSession {
        circular_buffer_mb: 1,
        format: Format::NET_TRACE,
        rundown_keyword: 0,
        request_stackwalk: false,
        providers: Array::new(PROVIDERS),
    }))
}

#[tokio::test]
async fn tokio_trace_is_read_while_stopped() {
    let peer = Peer::saying(&[UNKNOWN, STREAM, SESSION]);
    let client = AsyncClient::new(&peer);
    let request = streaming();
    let (mut trace, _) = client.trace_by(Fallback::new(request)).await.unwrap();
    assert_eq!(trace.session_id(), Some(42));
    trace.read_exact(&mut [0]).await.unwrap();
    let stop_handle = trace.stop_handle(&client);
    assert_eq!(stop_handle.clone().stop().await.unwrap(), StopOutcome::Answered);
    assert!(matches!(stop_handle.stop().await.unwrap_err().kind(), ErrorKind::AlreadyStopped));
    peer.ends.lock().unwrap().clear();
    let mut stream = Vec::new();
    trace.read_to_end(&mut stream).await.unwrap();
    assert_eq!(stream, b"ettrace");
    trace.check_complete().unwrap();
    assert_eq!(trace.outcome().unwrap().bytes, 8);
    assert!(matches!(stop_handle.stop().await.unwrap_err().kind(), ErrorKind::SessionOver));
}

#[tokio::test(start_paused = true)]
async fn tokio_silent_trace_can_be_read_again() {
    let peer = Peer::saying(&[SESSION]);
    let deadlines = Deadlines { stream: Some(Duration::from_secs(3)), ..Deadlines::DEFAULT };
    let mut trace =
        AsyncClient::new(&peer).with_deadlines(deadlines).trace(&COLLECT).await.unwrap();
    let began = tokio::time::Instant::now();
    for _ in 0..2 {
        let error = trace.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(matches!(Error::in_io(&error).unwrap().kind(), ErrorKind::TimedOut));
    }
    assert_eq!(began.elapsed().as_secs(), 6);
    let mut end = peer.ends.lock().unwrap().pop().unwrap();
    end.write_all(b"Nettrace").await.unwrap();
    assert_eq!(trace.read(&mut [0; 8]).await.unwrap(), 8);
    drop(end);
    assert_eq!(trace.read(&mut [0; 8]).await.unwrap(), 0);
    let error = trace.check_complete().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Incomplete { end: End::Closed, received: 8 }),
        "{error:?}"
    );
}

/// F-160, as in the blocking half.
#[tokio::test]
async fn tokio_stop_before_the_first_byte_closes_the_connection() {
    for waits in [false, true] {
        let peer = Peer::saying(&[SESSION, SESSION]);
        let client = AsyncClient::new(&peer);
        let mut trace = client.trace(&COLLECT).await.unwrap();
        let stop_handle = trace.stop_handle(&client);
        let mut read = [0; 8];
        let outcome = if waits {
            let (n, outcome) = tokio::join!(trace.read(&mut read), stop_handle.stop());
            assert_eq!(n.unwrap(), 0, "the stop wakes the reader");
            outcome
        } else {
            let outcome = stop_handle.stop().await;
            assert_eq!(trace.read(&mut read).await.unwrap(), 0);
            outcome
        };
        assert_eq!(outcome.unwrap(), StopOutcome::NotSent);
        let mut ends = std::mem::take(&mut *peer.ends.lock().unwrap());
        assert_eq!(ends.len(), 1, "nothing was sent on another connection");
        let mut request = Vec::new();
        ends[0].read_to_end(&mut request).await.unwrap();
        assert_eq!(request.len(), 57, "then the connection is closed");
        assert_eq!(trace.read(&mut read).await.unwrap(), 0);
        assert!(matches!(
            trace.check_complete().unwrap_err().kind(),
            ErrorKind::Incomplete { end: End::Closed, received: 0 }
        ));
        assert!(matches!(stop_handle.stop().await.unwrap_err().kind(), ErrorKind::SessionOver));
    }
}

#[tokio::test]
async fn tokio_stop_after_dropped_trace_is_not_sent() {
    let peer = Peer::saying(&[SESSION, SESSION]);
    let client = AsyncClient::new(&peer);
    let trace = client.trace(&COLLECT).await.unwrap();
    let stop_handle = trace.stop_handle(&client);
    drop(trace);
    assert!(matches!(stop_handle.stop().await.unwrap_err().kind(), ErrorKind::SessionOver));
    assert_eq!(peer.ends.lock().unwrap().len(), 1, "no connection was made for it");
}

#[tokio::test]
async fn tokio_stop_is_not_sent_if_trace_is_dropped_while_it_connects() {
    /// Drops the trace before its connection is made.
    struct Late<'p>(&'p Peer, Mutex<Option<Trace<DuplexStream>>>);

    impl AsyncConnect for Late<'_> {
        type Stream = DuplexStream;

        async fn connect(&self) -> Result<DuplexStream, Error> {
            drop(self.1.lock().unwrap().take());
            self.0.connect().await
        }
    }

    let peer = Peer::saying(&[STREAM, SESSION]);
    let mut trace = AsyncClient::new(&peer).trace(&COLLECT).await.unwrap();
    let late = Late(&peer, Mutex::default());
    trace.read_exact(&mut [0]).await.unwrap();
    let stop_handle = trace.stop_handle(&AsyncClient::new(&late));
    *late.1.lock().unwrap() = Some(trace);
    let error = stop_handle.stop().await.unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Stop, ErrorKind::SessionOver)),
        "{error:?}"
    );
    let mut end = peer.ends.lock().unwrap().pop().unwrap();
    assert_eq!(end.read(&mut [0; 28]).await.unwrap(), 0, "nothing was sent");
}

/// As in the blocking half.
#[tokio::test]
async fn tokio_stop_dropped_after_it_was_sent_is_not_sent_again() {
    let peer = Peer::saying(&[STREAM, b""]);
    let client = AsyncClient::new(&peer);
    let mut trace = client.trace(&COLLECT).await.unwrap();
    trace.read_exact(&mut [0]).await.unwrap();
    let stop_handle = trace.stop_handle(&client);
    assert!(tokio::time::timeout(Duration::from_millis(20), stop_handle.stop()).await.is_err());
    drop(stop_handle);
    let mut ends = std::mem::take(&mut *peer.ends.lock().unwrap());
    ends[1].read_exact(&mut [0; 28]).await.unwrap();
    ends.remove(0);
    trace.read_to_end(&mut Vec::new()).await.unwrap();
    assert!(matches!(trace.check_complete().unwrap_err().kind(), ErrorKind::Unsupported(_)));
    ends[0].write_all(SESSION).await.unwrap();
    assert_eq!(trace.stop_handle(&client).stop().await.unwrap(), StopOutcome::Answered);
    trace.check_complete().unwrap();
}

/// The same discovery and trust as in the blocking half.
#[cfg(unix)]
#[tokio::test]
async fn tokio_endpoint_is_checked_before_sending() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = crate::directory();
    let path = directory.path().join("socket");
    let call = async |endpoint| AsyncClient::new(endpoint).resume().await;
    let error = call(Endpoint::socket(&path)).await.unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Find, ErrorKind::NotFound(_))),
        "{error:?}"
    );
    let error = call(Endpoint::process(u32::MAX)).await.unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Find, ErrorKind::NotFound(_))),
        "{error:?}"
    );
    let error = call(Endpoint::pipe("dotnet-diagnostic-12")).await.unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Find, ErrorKind::Unsupported(_))),
        "{error:?}"
    );

    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let error = call(Endpoint::socket(&path)).await.unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Trust, ErrorKind::Untrusted(_))),
        "{error:?}"
    );
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let answer = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_exact(&mut [0; 20]).await.unwrap();
        stream.write_all(DONE).await.unwrap();
    };
    let (asked, ()) = tokio::join!(call(Endpoint::socket(&path)), answer);
    asked.unwrap();
    drop(listener);
    crate::until_nobody_listens(&path);
    let error = call(Endpoint::socket(&path)).await.unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Find, ErrorKind::NotAnEndpoint(_))),
        "{error:?}"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn tokio_endpoint_full_backlog_is_waited_for() {
    let directory = crate::directory();
    let path = directory.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let _first = std::os::unix::net::UnixStream::connect(&path).unwrap();
    let deadlines = Deadlines { connect: Some(Duration::from_millis(60)), ..Deadlines::DEFAULT };
    let client = AsyncClient::new(Endpoint::socket(&path));
    let error = client.clone().with_deadlines(deadlines).resume().await.unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Connect, ErrorKind::TimedOut)),
        "{error:?}"
    );
    let room = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        listener.accept().unwrap()
    };
    let (connected, _) = tokio::join!(client.connect(), room);
    drop(connected.unwrap());
}

/// A spawned future must be `Send`.
#[tokio::test]
async fn tokio_calls_can_be_spawned() {
    let client = AsyncClient::new(Peer::saying(&[DONE, STREAM, SESSION]));
    let of_task = client.clone();
    tokio::spawn(async move { of_task.resume().await }).await.unwrap().unwrap();
    let task = tokio::spawn(async move {
        let mut trace = client.trace(&COLLECT).await.unwrap();
        trace.read_exact(&mut [0]).await.unwrap();
        (trace.stop_handle(&client).stop().await.unwrap(), trace)
    });
    assert_eq!(task.await.unwrap().0, StopOutcome::Answered);
}

#[cfg(unix)]
mod port {
    use std::path::Path;

    use dotnet_diagnostics_ipc::advertise::Advertise;
    use dotnet_diagnostics_ipc::io::port_listener::{PortEvent, PortListener, PortOptions};
    use tokio::net::UnixStream;

    use super::*;

    const LATE: Duration = Duration::from_millis(20);

    async fn come(path: &Path, process_id: u8) -> UnixStream {
        let runtime_cookie = Guid::from_bytes([process_id; 16]);
        let advertise = Advertise { runtime_cookie, process_id: process_id.into(), future: 0 };
        let mut stream = UnixStream::connect(path).await.unwrap();
        stream.write_all(&advertise.to_bytes()).await.unwrap();
        stream
    }

    /// A call takes the next connection of a runtime that connected to a port. A wait that is
    /// dropped ends.
    #[tokio::test]
    async fn tokio_port_hands_out_connections() {
        let directory = crate::directory();
        let path = directory.path().join("port");
        let port = PortListener::bind(&path, PortOptions::DEFAULT).unwrap();
        tokio::time::timeout(LATE, port.next_event_async()).await.unwrap_err();

        let (event, mut first) = tokio::join!(port.next_event_async(), come(&path, 77));
        let PortEvent::New(runtime) = event.unwrap() else { panic!("it is not new") };
        let client = AsyncClient::new(runtime);
        let answer = async |stream: &mut UnixStream| {
            stream.read_exact(&mut [0; 20]).await.unwrap();
            stream.write_all(DONE).await.unwrap();
        };
        let (asked, ()) = tokio::join!(client.resume(), answer(&mut first));
        asked.unwrap();

        tokio::time::timeout(LATE, client.resume()).await.unwrap_err();
        let again = async { answer(&mut come(&path, 77).await).await };
        let (asked, ()) = tokio::join!(client.resume(), again);
        asked.unwrap();
        port.close().unwrap();
        assert!(!path.exists());
    }

    /// An event that is reported while its wait is dropped belongs to the next wait.
    #[tokio::test]
    async fn tokio_dropped_wait_loses_no_event() {
        let directory = crate::directory();
        let path = directory.path().join("port");
        let port = PortListener::bind(&path, PortOptions::DEFAULT).unwrap();
        for process_id in 1..=50 {
            let mut waits = [(); 2].map(|()| Box::pin(port.next_event_async()));
            for wait in &mut waits {
                assert!(poll_once(wait.as_mut()).await.is_pending());
            }
            let _stream = come(&path, process_id).await;
            // The first wait was woken, or is woken in this moment.
            std::thread::sleep(Duration::from_millis(process_id.into()) / 10);
            let [first, second] = waits;
            let (dropped, left) =
                if process_id % 2 == 0 { (first, second) } else { (second, first) };
            drop(dropped);
            let event = left.await.unwrap();
            assert!(matches!(event, PortEvent::New(it) if it.process_id() == process_id.into()));
        }
    }

    /// Polls once, with the waker of this task.
    async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
        std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
    }

    /// A wait needs no thread: a file can be read beside 600 of them, although there is one thread
    /// for blocking.
    #[test]
    fn tokio_600_port_waits_take_no_thread() {
        let directory = crate::directory();
        let path = directory.path().join("port");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let port = PortListener::bind(&path, PortOptions::DEFAULT).unwrap();
            let (event, stream) = tokio::join!(port.next_event_async(), come(&path, 77));
            let PortEvent::New(runtime) = event.unwrap() else { panic!("it is not new") };
            // It has exited.
            drop(stream);
            while port.counts().held > 0 {
                tokio::time::sleep(LATE).await;
            }
            let mut waits = tokio::task::JoinSet::new();
            for _ in 0..600 {
                let runtime = runtime.clone();
                waits.spawn(async move { AsyncConnect::connect(&runtime).await.map(drop) });
            }
            tokio::time::sleep(LATE).await;
            let began = std::time::Instant::now();
            assert_eq!(tokio::fs::read("/dev/null").await.unwrap(), []);
            println!("a file was read in {:?} beside {} waits", began.elapsed(), waits.len());
            assert!(waits.try_join_next().is_none());
            let _streams = [come(&path, 77).await, come(&path, 77).await];
            port.close().unwrap();
            let mut connected = 0;
            while let Some(wait) = waits.join_next().await {
                connected += usize::from(wait.unwrap().is_ok());
            }
            assert!(connected <= 2, "{connected}");
        });
    }
}
