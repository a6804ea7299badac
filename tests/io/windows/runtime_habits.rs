//! What a runtime does with its pipe, and what a client must do for that (F-114 to F-120).

use std::fs::File;
use std::os::windows::io::{AsHandle as _, AsRawHandle as _};
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
use dotnet_diagnostics_ipc::io::{Connection, Deadlines, ErrorKind, ReplyWithin, Transport as _};
use dotnet_diagnostics_ipc::message::process::{ResumeRuntime, SetEnvironmentVariable};

use super::{SHORT, name, pair, patience, send_all};

const OK: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";

/// F-114: a runtime reads the header once, and the payload once. If bytes are missing then, the
/// request is malformed.
#[test]
fn pipe_request_is_read_as_header_then_payload() {
    for len in [1, 10_000, 32_000] {
        let mut listener = PipeListener::bind(&name(&format!("one-write-{len}"))).unwrap();
        let path = listener.path().to_owned();
        let runtime = thread::spawn(move || {
            let mut pipe = listener.accept(&patience()).unwrap();
            let mut header = [0; 20];
            assert_eq!(pipe.receive(&mut header, &patience()).unwrap(), 20);
            let mut payload =
                vec![0; usize::from(u16::from_le_bytes([header[14], header[15]])) - 20];
            let read = pipe.receive(&mut payload, &patience()).unwrap();
            send_all(&mut pipe, OK);
            (read, payload.len())
        });
        let value = "x".repeat(len);
        let request = SetEnvironmentVariable { name: "N".into(), value: value.as_str().into() };
        let answer = Connection::new(PipeTransport::connect(&path, &patience()).unwrap())
            .call(&request)
            .unwrap();
        assert!(answer.result().is_success());
        // Two lengths, two units of the name, the value and its NUL.
        assert_eq!(runtime.join().unwrap(), (4 + 4 + 4 + 2 * (len + 1), 4 + 4 + 4 + 2 * (len + 1)));
    }
}

/// F-115: a runtime that refuses a request closes without reading all of it, and its reply is read
/// though the write failed.
#[test]
fn pipe_reply_is_read_after_failed_write() {
    let mut listener = PipeListener::bind(&name("failed-write")).unwrap();
    let path = listener.path().to_owned();
    let runtime = thread::spawn(move || {
        let mut pipe = listener.accept(&patience()).unwrap();
        assert_eq!(pipe.receive(&mut [0; 20], &patience()).unwrap(), 20);
        send_all(&mut pipe, b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x84\x13\x13\x80");
        // It closes while more is on its way than the pipe holds.
        thread::sleep(SHORT);
    });
    let value = "x".repeat(32_000);
    let request = SetEnvironmentVariable { name: "N".into(), value: value.as_str().into() };
    let error = Connection::new(PipeTransport::connect(&path, &patience()).unwrap())
        .call(&request)
        .unwrap_err();
    assert_eq!(error.hresult().map(|hresult| hresult.0), Some(0x8013_1384), "{error}");
    runtime.join().unwrap();
}

/// F-116: a default port disconnects (233), a reverse port closes (109): the end is the same.
#[test]
fn pipe_end_by_disconnect_equals_close() {
    for disconnects in [true, false] {
        let (mut server, mut client) = pair(&format!("end-is-{disconnects}"));
        send_all(&mut server, b"reply");
        assert_eq!(client.receive(&mut [0; 16], &patience()).unwrap(), 5);
        if disconnects {
            // SAFETY: The handle is borrowed, so it is open.
            #[allow(unsafe_code, reason = "std has no such call")]
            let done = unsafe {
                windows_sys::Win32::System::Pipes::DisconnectNamedPipe(
                    server.as_handle().as_raw_handle(),
                )
            };
            assert_ne!(done, 0);
        } else {
            drop(server);
        }
        for _ in 0..2 {
            assert_eq!(client.receive(&mut [0; 16], &patience()).unwrap(), 0);
        }
    }
}

/// F-118: a runtime waits until its reply is read, and serves no other client meanwhile. A call
/// that was given up releases it.
#[test]
fn pipe_call_given_up_releases_flushing_server() {
    let mut listener = PipeListener::bind(&name("flush")).unwrap();
    let path = listener.path().to_owned();
    let runtime = thread::spawn(move || {
        for late in [4 * SHORT, Duration::ZERO] {
            let mut pipe = listener.accept(&patience()).unwrap();
            assert_eq!(pipe.receive(&mut [0; 20], &patience()).unwrap(), 20);
            thread::sleep(late);
            let sent = pipe.send(OK, &patience());
            assert!(sent.is_ok() == late.is_zero(), "{sent:?}");
            // `sync_all` calls `FlushFileBuffers`.
            let flushed = File::from(pipe.as_handle().try_clone_to_owned().unwrap()).sync_all();
            assert!(flushed.is_ok() || !late.is_zero(), "{flushed:?}");
        }
    });
    let deadlines = Deadlines { reply: ReplyWithin::Fixed(Some(SHORT)), ..Deadlines::DEFAULT };
    let call = |deadlines| {
        let pipe = PipeTransport::connect(&path, &patience()).unwrap();
        Connection::new(pipe).with_deadlines(deadlines).call(&ResumeRuntime {})
    };
    let error = call(deadlines).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TimedOut), "{error}");
    assert!(call(Deadlines::DEFAULT).unwrap().result().is_success());
    runtime.join().unwrap();
}

/// F-120: two clients at once can leave a runtime that serves no client any more. Threads of one
/// process take turns.
#[test]
fn pipe_opens_of_threads_are_5_ms_apart() {
    let mut listener = PipeListener::bind(&name("turns")).unwrap();
    let path = listener.path().to_owned();
    let threads: Vec<_> = (0..6)
        .map(|_| {
            let path = path.clone();
            thread::spawn(move || {
                let pipe = PipeTransport::connect(&path, &patience()).unwrap();
                (Instant::now(), pipe)
            })
        })
        .collect();
    let _served: Vec<_> = (0..6).map(|_| listener.accept(&patience()).unwrap()).collect();
    let begun = Instant::now();
    let mut opened: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap().0).collect();
    opened.sort();
    // Each is recorded after it was opened, so the first and the last say most.
    let all = opened[5].duration_since(opened[0]);
    assert!(all >= Duration::from_millis(20), "{all:?}, {:?}", begun.elapsed());
}
