//! The exchanges over `AsyncRead + AsyncWrite`: nothing is lost, nothing too much is read, and a call ends.
#![cfg(feature = "tokio")]

use std::time::Duration;

use dotnet_diagnostics_ipc::continuation::EnvironmentLimits;
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::{AsyncConnection, ErrorKind, Phase};
use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing2, EventLevel, Format, ProviderConfig};
use dotnet_diagnostics_ipc::message::process::{ProcessInfo3, ResumeRuntime};
use dotnet_diagnostics_ipc::wire::Array;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

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
        assert_eq!(answer.result(), Ok(HResult::OK));
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
