//! Clients that are slow, silent, gone or wrong, and their effect on others.

use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::exchange::{AfterReply, End, Outcome, ServerOutcome};
use dotnet_diagnostics_ipc::io::server::ServeOptions;
use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::eventpipe::StopTracing;
use dotnet_diagnostics_ipc::message::process::ProcessInfo;

#[cfg(target_os = "linux")]
use crate::alone;
use crate::server::requests::{COLLECT2, COLLECT3, USER_EVENTS};
#[cfg(target_os = "linux")]
use crate::server::requests::{commands, decoded};
use crate::server::runtime::Runtime;
use crate::server::transports::{BAD_ENCODING, message};
use crate::server::{ask, ask_at, eventually, with_server};

#[test]
fn client_descriptor_missing_or_early_is_refused() {
    let options =
        ServeOptions { request: Some(Duration::from_millis(300)), ..ServeOptions::DEFAULT };
    let runtime = Runtime::default();
    with_server(&runtime, options, |path, _| {
        let message = message(&USER_EVENTS);
        let len = message.len();
        let reply = |socket: &mut UnixStream| {
            let mut reply = Vec::new();
            let _ = socket.read_to_end(&mut reply);
            reply
        };
        let refused = BAD_ENCODING;
        // A byte without a descriptor is refused (F-21).
        let mut socket = UnixStream::connect(path).unwrap();
        socket.write_all(&message).unwrap();
        socket.write_all(b"x").unwrap();
        assert_eq!(reply(&mut socket), refused);
        // F-20: the descriptor is lost, and closed. Its byte counts as part of the request.
        let mut socket = UnixStream::connect(path).unwrap();
        socket.write_all(&message[..len - 1]).unwrap();
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let (mut control, fds) =
            (rustix::net::SendAncillaryBuffer::new(&mut space), [theirs.as_fd()]);
        assert!(control.push(rustix::net::SendAncillaryMessage::ScmRights(&fds)));
        let last = [std::io::IoSlice::new(&message[len - 1..len])];
        rustix::net::sendmsg(&socket, &last, &mut control, rustix::net::SendFlags::empty())
            .unwrap();
        drop(theirs);
        socket.write_all(b"x").unwrap();
        assert_eq!(reply(&mut socket), refused);
        assert_eq!(ours.read(&mut [0; 1]).unwrap(), 0);
        // This client sends nothing, and is closed after the timeout, where a runtime waits forever
        // (F-75).
        let (begun, mut socket) = (Instant::now(), UnixStream::connect(path).unwrap());
        socket.write_all(&message).unwrap();
        assert_eq!(reply(&mut socket), b"");
        assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
    });
    assert_eq!(runtime.served(3)[2].outcome, ServerOutcome::Gone { end: End::TimedOut });
    assert!(runtime.asked.lock().unwrap().is_empty());
}

#[test]
fn client_not_reading_blocks_handler_only() {
    let runtime = Runtime::default();
    let options =
        ServeOptions { stream: Some(Duration::from_millis(300)), ..ServeOptions::DEFAULT };
    with_server(&runtime, options, |path, _| {
        let (begun, mut socket) = (Instant::now(), UnixStream::connect(path).unwrap());
        ask(&mut socket, &COLLECT3, None);
        let served = runtime.served(1)[0];
        assert_eq!(served.outcome, ServerOutcome::Gone { end: End::TimedOut });
        assert!(begun.elapsed() >= Duration::from_millis(300));
        // These are the system's own buffers.
        assert!((1..4 << 20).contains(&served.streamed), "{}", served.streamed);
    });
}

#[test]
fn client_slow_gets_all_and_gone_ends_session() {
    let runtime = Runtime::default();
    with_server(&runtime, ServeOptions::DEFAULT, |path, _| {
        let mut socket = UnixStream::connect(path).unwrap();
        ask(&mut socket, &COLLECT3, None);
        let (mut piece, mut read) = (vec![0; 10_000], 0);
        while read < 2_000_000 {
            let n = socket.read(&mut piece).unwrap();
            assert!(n > 0 && piece[..n].iter().all(|byte| *byte == 0x55));
            read += n;
            thread::sleep(Duration::from_micros(500));
        }
        drop(socket);
        let served = runtime.served(1)[0];
        assert_eq!(served.outcome, ServerOutcome::Gone { end: End::Reset });
        assert!(served.streamed >= read as u64 - 100_000);
    });
}

#[test]
fn client_half_request_is_given_up_in_time() {
    let runtime = Runtime::default();
    let options = ServeOptions { request: Some(Duration::from_secs(1)), ..ServeOptions::DEFAULT };
    with_server(&runtime, options, |path, _| {
        let silent = UnixStream::connect(path).unwrap();
        let mut trickling = UnixStream::connect(path).unwrap();
        trickling.write_all(b"D").unwrap();
        let (outcome, _) = ask_at(path, &AnyRequest::ProcessInfo(ProcessInfo {}));
        assert!(matches!(outcome, Outcome::Ok { .. }));
        // It is answered while the two others are still waited for.
        eventually(|| !runtime.served.lock().unwrap().is_empty());
        assert!(matches!(runtime.served.lock().unwrap()[0].outcome, ServerOutcome::Answered));
        // Sending a byte from time to time does not help.
        let mut sent = 1;
        while runtime.served.lock().unwrap().len() < 3 {
            thread::sleep(Duration::from_millis(100));
            if trickling.write_all(&b"DOTNET_IPC_V1\0"[sent..=sent]).is_ok() {
                sent += 1;
            }
        }
        drop(silent);
    });
    let gone = ServerOutcome::Gone { end: End::TimedOut };
    assert_eq!(runtime.served(3).iter().filter(|served| served.outcome == gone).count(), 2);
}

#[test]
fn server_one_at_a_time_waits_until_deadline() {
    let runtime = Runtime::default();
    let options = ServeOptions {
        most_at_once: 1,
        request: Some(Duration::from_millis(400)),
        ..ServeOptions::DEFAULT
    };
    with_server(&runtime, options, |path, _| {
        let begun = Instant::now();
        let silent = UnixStream::connect(path).unwrap();
        thread::sleep(Duration::from_millis(50));
        let (outcome, _) = ask_at(path, &AnyRequest::ProcessInfo(ProcessInfo {}));
        assert!(matches!(outcome, Outcome::Ok { .. }));
        assert!(begun.elapsed() >= Duration::from_millis(400), "{:?}", begun.elapsed());
        drop(silent);
        // A session does not count as waiting: its stop is served, and its tail is not lost.
        let mut session = UnixStream::connect(path).unwrap();
        let (outcome, _) = ask(&mut session, &COLLECT2, None);
        assert!(matches!(
            outcome,
            Outcome::Ok { then: AfterReply::Stream { session_id: Some(7) }, .. }
        ));
        let (outcome, _) = ask_at(path, &AnyRequest::StopTracing(StopTracing { session_id: 7 }));
        assert_eq!(outcome, Outcome::Ok { size: 28, then: AfterReply::Close });
        let mut stream = String::new();
        session.read_to_string(&mut stream).unwrap();
        assert_eq!(stream, "Nettrace tail");
    });
}

#[test]
#[cfg(target_os = "linux")]
fn server_1000_requests_leak_no_descriptor() {
    if !alone(server_1000_requests_leak_no_descriptor) {
        return;
    }
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let runtime = Runtime::default();
    let (before, after) = with_server(&runtime, ServeOptions::DEFAULT, |path, _| {
        let before = open();
        let mut requests = 0;
        while requests < 1000 {
            for request in commands().values() {
                let request = &decoded(request);
                let file = tempfile::tempfile().unwrap();
                ask_at(path, request);
                ask(&mut UnixStream::connect(path).unwrap(), &USER_EVENTS, Some(&file));
                // The client also sends half a request.
                UnixStream::connect(path).unwrap().write_all(b"DOTNET").unwrap();
                requests += 3;
            }
        }
        eventually(|| runtime.served.lock().unwrap().len() >= requests);
        eventually(|| open() <= before);
        (before, open())
    });
    assert!(after <= before, "{before} before, {after} after");
}
