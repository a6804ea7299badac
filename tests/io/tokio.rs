//! The exchanges over `AsyncRead + AsyncWrite`: nothing is lost, nothing too much is read, and a call ends.

use std::io;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};
use std::time::Duration;

use dotnet_diagnostics_ipc::continuation::EnvironmentLimits;
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::{AsyncConnection, ErrorKind, Phase};
use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump3};
use dotnet_diagnostics_ipc::message::eventpipe::*;
use dotnet_diagnostics_ipc::message::process::{ProcessInfo, ProcessInfo3, ResumeRuntime};
use dotnet_diagnostics_ipc::wire::{Array, IpcString};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf};

const ROOM: [usize; 3] = [1, 7, 4096];

/// A runtime that reads `len` bytes of request, says `says`, and closes. The pipe between holds `room` bytes.
fn peer(room: usize, len: usize, says: &'static [u8]) -> DuplexStream {
    let (ours, mut theirs) = tokio::io::duplex(room);
    tokio::spawn(async move {
        let mut request = vec![0; len];
        theirs.read_exact(&mut request).await.unwrap();
        // A client that has gone is no concern here.
        let _ = theirs.write_all(says).await;
    });
    ours
}

#[tokio::test]
async fn a_call_is_answered() {
    for room in ROOM {
        let peer = peer(room, 20, b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0");
        let answer = AsyncConnection::new(peer).call(&ResumeRuntime {}).await.unwrap();
        assert_eq!(answer.result(), HResult::OK);
    }
}

#[tokio::test]
async fn what_follows_a_reply_is_the_callers_to_the_last_byte() {
    let providers = [ProviderConfig::new("P", 1, EventLevel::ERROR)];
    let request = CollectTracing2 {
        circular_buffer_mb: 1,
        format: Format::NET_TRACE,
        request_rundown: false,
        providers: Array::new(&providers),
    };
    for room in ROOM {
        let says = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0Nettrace and more";
        let (session_id, mut stream) = AsyncConnection::new(peer(room, 57, says)).trace(&request).await.unwrap();
        let mut streamed = Vec::new();
        stream.read_to_end(&mut streamed).await.unwrap();
        assert_eq!((session_id, &streamed[..]), (Some(42), &b"Nettrace and more"[..]));
    }
}

#[tokio::test]
async fn an_environment_comes_entry_by_entry() {
    for room in ROOM {
        let says = b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0\x18\0\0\0\0\0\x02\0\0\0\x04\0\0\0A\0=\0b\0\0\0\x02\0\0\0=\0\0\0";
        let mut entries = Vec::new();
        let connection = AsyncConnection::new(peer(room, 20, says));
        connection.environment(EnvironmentLimits::DEFAULT, |entry| entries.push(entry.text().to_string())).await.unwrap();
        assert_eq!(entries, ["A=b", "="]);

        let limits = EnvironmentLimits { max_bytes: 23, ..EnvironmentLimits::DEFAULT };
        let error = AsyncConnection::new(peer(room, 20, says)).environment(limits, |_| panic!()).await.unwrap_err();
        assert!(matches!((error.phase(), error.kind()), (Phase::Continuation, ErrorKind::LimitExceeded { limit: 23 })), "{error}");

        let cut =
            AsyncConnection::new(peer(room, 20, &says[..40])).environment(EnvironmentLimits::DEFAULT, |_| {}).await.unwrap_err();
        assert!(matches!(cut.kind(), ErrorKind::Ended { end: End::Closed, received: 14 }), "{cut}");
    }
}

#[tokio::test]
async fn what_is_no_reply_is_named() {
    let call = async |says: &'static [u8]| AsyncConnection::new(peer(64, 20, says)).call(&ProcessInfo3 {}).await.unwrap_err();
    let http = call(b"HTTP/1.1 400 Bad Request").await;
    assert!(matches!((http.phase(), http.kind()), (Phase::Reply, ErrorKind::Malformed(_))), "{http}");
    let cut = call(b"DOTNET_IPC_V1\0\x18\0\xff").await;
    assert!(matches!(cut.kind(), ErrorKind::Ended { end: End::Closed, received: 17 }), "{cut}");
    let refused = call(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80").await;
    assert_eq!(refused.hresult(), Some(HResult::UNKNOWN_COMMAND));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_around_a_call_ends_it() {
    let (ours, _theirs) = tokio::io::duplex(64);
    let call = AsyncConnection::new(ours).call(&ResumeRuntime {});
    assert!(tokio::time::timeout(Duration::from_secs(5), call).await.is_err());
}

const USER_EVENTS: CollectTracing5<'_> = CollectTracing5::UserEvents(UserEventsSession {
    rundown_keyword: 0,
    providers: Array::new(&[UserEventsProviderConfig {
        keywords: 1,
        log_level: EventLevel::INFORMATIONAL,
        provider_name: IpcString::new("P"),
        arguments: IpcString::ABSENT,
        filter: EventFilter::ALL,
        config: TracepointConfig { default_tracepoint_name: IpcString::new("t"), tracepoints: Array::EMPTY },
    }]),
});

#[tokio::test]
async fn a_session_that_writes_user_events_is_none_for_this_connection() {
    let error = AsyncConnection::new(tokio::io::duplex(4096).0).trace(&USER_EVENTS).await.unwrap_err();
    assert_eq!(error.to_string(), "sending the request: that is no session that streams");
    let (ours, mut theirs) = tokio::io::duplex(4096);
    let error = AsyncConnection::new(ours).call(&USER_EVENTS).await.unwrap_err();
    let why = "sending the request: a user_events session takes a descriptor: Client::user_events passes one";
    assert_eq!(error.to_string(), why);
    assert_eq!(theirs.read(&mut [0; 1]).await.unwrap(), 0, "nothing was sent");
}

#[tokio::test]
async fn what_a_runtime_would_refuse_goes_out_only_without_limits() {
    let dump = GenerateCoreDump3 { dump_name: "/d".into(), dump_type: DumpType(9), flags: DumpFlags::NONE };
    let (ours, mut theirs) = tokio::io::duplex(4096);
    let error = AsyncConnection::new(ours).call(&dump).await.unwrap_err();
    assert!(matches!((error.phase(), error.kind()), (Phase::Send, ErrorKind::Limit(_))), "{error}");
    assert_eq!(theirs.read(&mut [0; 1]).await.unwrap(), 0, "nothing was sent");
    let refused = peer(4096, 38, b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x05\x40\0\x80");
    let error = AsyncConnection::new(refused).without_limits().call(&dump).await.unwrap_err();
    assert_eq!(error.hresult(), Some(HResult::FAIL));
}

#[tokio::test]
async fn a_reply_of_any_length_comes_whole() {
    // 20 + 8 + 16 + (4 + 2 × 20,000) + 4 + 4
    static SAYS: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let length = &20_000u32.to_le_bytes();
        [&b"DOTNET_IPC_V1\0\x78\x9c\xff\0\0\0"[..], &[0; 24], length, &[b'x', 0].repeat(19_999), &[0; 10]].concat()
    });
    let said = SAYS.as_slice();
    for room in ROOM {
        let answer = AsyncConnection::new(peer(room, 20, said)).call(&ProcessInfo {}).await.unwrap();
        assert!(answer.message() == said);
        assert_eq!(answer.payload().unwrap().command_line, "x".repeat(19_999).as_str());
    }
}

#[tokio::test]
async fn an_ok_without_the_size_of_the_environment_is_none() {
    let connection = AsyncConnection::new(peer(64, 20, b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0"));
    let error = connection.environment(EnvironmentLimits::DEFAULT, |_| panic!()).await.unwrap_err();
    assert_eq!(error.to_string(), "waiting for the reply: the runtime did not say how large the environment is");
}

#[tokio::test]
async fn a_peer_that_has_gone_is_heard_if_it_spoke_before() {
    let (ours, mut theirs) = tokio::io::duplex(64);
    theirs.write_all(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x84\x13\x13\x80").await.unwrap();
    drop(theirs);
    let error = AsyncConnection::new(ours).call(&ResumeRuntime {}).await.unwrap_err();
    assert_eq!(error.hresult(), Some(HResult::BAD_ENCODING));
    // One that said nothing.
    let (ours, theirs) = tokio::io::duplex(64);
    drop(theirs);
    let error = AsyncConnection::new(ours).call(&ResumeRuntime {}).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Ended { end: End::Closed, received: 0 }), "{error}");
    assert_eq!(error.to_string(), "waiting for the reply: the connection was closed");
}

/// Takes everything, and fails once it is read.
struct Reset;

impl AsyncRead for Reset {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
    }
}

impl AsyncWrite for Reset {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
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
async fn a_reset_is_told_from_an_end() {
    let error = AsyncConnection::new(Reset).call(&ResumeRuntime {}).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Ended { end: End::Reset, received: 0 }), "{error}");
    assert_eq!(error.to_string(), "waiting for the reply: the connection was reset");
}
