//! What only the client over tokio has: calls that are dropped, a clock that is set, pipes that hold
//! few bytes. The conversations of both clients are in `client`.

use std::io::{self, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use dotnet_diagnostics_ipc::exchange::fallback::Fallback;
use dotnet_diagnostics_ipc::exchange::{End, StopOutcome};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::{
    AsyncClient, AsyncConnect, Connection, Deadlines, Endpoint, Error, ErrorKind,
};
use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::eventpipe::CollectTracing5;
use dotnet_diagnostics_ipc::message::process::ResumeRuntime;
use dotnet_diagnostics_ipc::message::profiler::AttachProfiler;
use dotnet_diagnostics_ipc::wire::Guid;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use crate::client::{COLLECT, COLLECT5, DONE, Peer, SESSION, UNKNOWN, USER_EVENTS};

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

/// A reply in pieces as small as a byte: nothing is lost, and nothing is read too far.
#[tokio::test]
async fn tokio_bytes_after_reply_go_to_caller() {
    for room in ROOM {
        let says = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0Nettrace and more";
        let mut trace = Connection::new(peer(room, 57, says)).trace_async(&COLLECT).await.unwrap();
        let mut streamed = Vec::new();
        trace.read_to_end(&mut streamed).await.unwrap();
        assert_eq!((trace.session_id(), &streamed[..]), (Some(42), &b"Nettrace and more"[..]));

        let says = b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0\x18\0\0\0\0\0\x02\0\0\0\x04\0\0\0A\0=\0b\0\0\0\x02\0\0\0=\0\0\0";
        let mut entries = Vec::new();
        let block = Connection::new(peer(room, 20, says)).environment_async().await.unwrap();
        block.for_each_async(|entry| entries.push(entry.text().to_string())).await.unwrap();
        assert_eq!(entries, ["A=b", "="]);
    }
}

/// A runtime's backlog is full, so the client must try again later: without a clock of tokio's.
#[cfg(target_os = "linux")]
#[test]
fn tokio_client_without_deadlines_needs_no_time_driver() {
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
    let error = AsyncClient::new(Nowhere).process_info().await.unwrap_err();
    assert_error!(error, Connect, ErrorKind::TimedOut);

    let began = tokio::time::Instant::now();
    let client = AsyncClient::new(Peer::saying(&[b"", b"", b""]));
    assert_error!(client.process_info().await.unwrap_err(), Reply, ErrorKind::TimedOut);
    assert_eq!(began.elapsed().as_secs(), 5);
    let (profiler_guid, profiler_path) = (Guid::NIL, "/p".into());
    let attach =
        AttachProfiler { attach_timeout: 7000, profiler_guid, profiler_path, client_data: b"" };
    assert_error!(client.attach_profiler(&attach).await.unwrap_err(), Reply, ErrorKind::TimedOut);
    assert_eq!(began.elapsed().as_secs(), 5 + 12);
    let whole = client
        .with_deadlines(Deadlines { whole: Some(Duration::from_secs(1)), ..Deadlines::DEFAULT });
    assert_error!(whole.process_info().await.unwrap_err(), Reply, ErrorKind::TimedOut);
    assert_eq!(began.elapsed().as_secs(), 5 + 12 + 1);

    let (ours, _theirs) = tokio::io::duplex(8);
    let error = Connection::new(ours).call_async(&ResumeRuntime {}).await.unwrap_err();
    assert_error!(error, Send, ErrorKind::TimedOut);
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
    assert_error!(error, Continuation, ErrorKind::TimedOut);
    assert_eq!(began.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn tokio_fallback_deadline_covers_all_connections() {
    /// Takes its time, and knows no command.
    struct Slow;
    impl AsyncConnect for Slow {
        type Stream = tokio::net::UnixStream;
        async fn connect(&self) -> Result<Self::Stream, Error> {
            tokio::time::sleep(Duration::from_secs(2)).await;
            AsyncConnect::connect(&Peer::saying(&[UNKNOWN])).await
        }
    }
    let request = AnyRequest::CollectTracing5(CollectTracing5::Streaming(COLLECT5));
    let deadlines =
        |whole| Deadlines { whole: Some(Duration::from_secs(whole)), ..Deadlines::DEFAULT };
    let within = |whole| AsyncClient::new(Slow).with_deadlines(deadlines(whole));
    let error = within(5).trace_by(Fallback::new(request)).await.unwrap_err();
    assert_error!(error, Connect, ErrorKind::TimedOut);
    let error = within(30).trace_by(Fallback::new(request)).await.unwrap_err();
    assert_eq!(error.hresult(), Some(HResult::UNKNOWN_COMMAND));
}

/// The client does what the blocking one does (F-160).
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
        peer.was_asked_once_and_left(57);
        assert_eq!(trace.read(&mut read).await.unwrap(), 0);
        assert!(matches!(
            trace.check_complete().unwrap_err().kind(),
            ErrorKind::Incomplete { end: End::Closed, received: 0 }
        ));
        assert!(matches!(stop_handle.stop().await.unwrap_err().kind(), ErrorKind::SessionOver));
    }
}

/// The client does what the blocking one does.
#[tokio::test]
async fn tokio_stop_dropped_after_it_was_sent_is_not_sent_again() {
    let peer = Peer::saying(&[&[SESSION, b"Nettrace"].concat(), b""]);
    let client = AsyncClient::new(&peer);
    let mut trace = client.trace(&COLLECT).await.unwrap();
    trace.read_exact(&mut [0]).await.unwrap();
    let stop_handle = trace.stop_handle(&client);
    assert!(tokio::time::timeout(Duration::from_millis(20), stop_handle.stop()).await.is_err());
    drop(stop_handle);
    peer.asked(0, 57);
    peer.asked(1, 28);
    drop(peer.connections.lock().unwrap().remove(0));
    trace.read_to_end(&mut Vec::new()).await.unwrap();
    assert!(matches!(trace.check_complete().unwrap_err().kind(), ErrorKind::Unsupported(_)));
    peer.end(0).write_all(SESSION).unwrap();
    assert_eq!(trace.stop_handle(&client).stop().await.unwrap(), StopOutcome::Answered);
    trace.check_complete().unwrap();
}

/// Discovery and trust are those of the blocking client.
#[tokio::test]
async fn tokio_endpoint_is_checked_before_sending() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = crate::directory();
    let path = directory.path().join("socket");
    let call = async || AsyncClient::new(Endpoint::socket(&path)).resume().await;
    let error = call().await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotFound(_)), "{error:?}");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let mode = |mode| {
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o777);
    let error = call().await.unwrap_err();
    assert_error!(error, Trust, ErrorKind::Untrusted(_));
    mode(0o700);
    let answer = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_exact(&mut [0; 20]).await.unwrap();
        stream.write_all(DONE).await.unwrap();
    };
    let (asked, ()) = tokio::join!(call(), answer);
    asked.unwrap();
}

#[tokio::test]
async fn tokio_user_events_passes_descriptor_and_lasts_until_hang_up() {
    let peer = Peer::saying(&[SESSION]);
    let client = AsyncClient::new(&peer);
    let mut session = client.user_events(&USER_EVENTS, io::stdin()).await.unwrap();
    assert_eq!(session.session_id(), Some(42));
    let mut theirs = peer.end(0);
    let header = peer.asked(0, 20);
    peer.asked(0, usize::from(u16::from_le_bytes([header[14], header[15]])) - 20);
    let (n, fds) = dotnet_diagnostics_ipc::io::fd::receive(&theirs, &mut [0; 8]).unwrap();
    assert_eq!((n, fds.len()), (1, 1), "one byte, and the descriptor with it (F-20)");
    // Received bytes are not the end.
    theirs.write_all(&[7; 100]).unwrap();
    let waiting = tokio::time::timeout(Duration::from_millis(20), session.wait_async());
    assert!(waiting.await.is_err());
    drop(theirs);
    peer.connections.lock().unwrap().clear();
    session.wait_async().await.unwrap();
}

mod port {
    use std::path::Path;
    use std::pin::Pin;
    use std::task::Poll;

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
            assert!(
                matches!(event, PortEvent::New(it) if it.process_id() == u64::from(process_id))
            );
        }
    }

    /// Polls once, with the waker of this task.
    async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
        std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
    }

    /// A wait needs no thread: a file can be read beside two of them, although there is one thread
    /// for blocking.
    #[test]
    fn tokio_port_waits_take_no_thread() {
        let directory = crate::directory();
        let path = directory.path().join("port");
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().max_blocking_threads(1).build().unwrap().block_on(async {
            let port = PortListener::bind(&path, PortOptions::DEFAULT).unwrap();
            let (event, stream) = tokio::join!(port.next_event_async(), come(&path, 77));
            let PortEvent::New(runtime) = event.unwrap() else { panic!("it is not new") };
            drop(AsyncConnect::connect(&runtime).await.unwrap());
            let mut waits = [(); 2].map(|()| Box::pin(AsyncConnect::connect(&runtime)));
            let mut event = Box::pin(port.next_event_async());
            for wait in &mut waits {
                assert!(poll_once(wait.as_mut()).await.is_pending());
            }
            assert!(poll_once(event.as_mut()).await.is_pending());
            assert!(tokio::fs::read("/dev/null").await.unwrap().is_empty());
            drop(stream);
        });
    }
}
