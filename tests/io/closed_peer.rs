//! Closed peers, on a system that then refuses every socket option. macOS does; here a library that
//! is loaded before libc does the same.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::server::{Handler, ServeOptions, serve};
use dotnet_diagnostics_ipc::io::*;
use dotnet_diagnostics_ipc::message::process::ResumeRuntime;
use dotnet_diagnostics_ipc::message::server::ResultReply;

use crate::{alone_with, is_alone};

const DONE: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";
const RESUME: &[u8] = b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0";
/// The reply to `ProcessEnvironment`, and a block of one entry, `A=b`.
const ENVIRONMENT: &[u8] =
    b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0\x10\0\0\0\0\0\x01\0\0\0\x04\0\0\0A\0=\0b\0\0\0";

/// Runs `test` in a separate process in which `setsockopt` fails after the peer has closed. Returns
/// whether this is that process.
#[track_caller]
fn without_options<T: Fn()>(test: T) -> bool {
    if is_alone() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        drop(theirs);
        assert_eq!(
            ours.set_read_timeout(None).unwrap_err().raw_os_error(),
            Some(rustix::io::Errno::INVAL.raw_os_error())
        );
        return true;
    }
    let directory = crate::directory();
    let library = directory.path().join("xnu.so");
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("diagipc/tests/fixtures/xnu_setsockopt.c");
    let compiled = Command::new("cc")
        // It is loaded into this program, which may be 32-bit on a 64-bit machine, where the
        // kernel's headers are 64-bit.
        .args(if cfg!(target_arch = "x86") {
            &["-m32", "-idirafter", "/usr/include/x86_64-linux-gnu"][..]
        } else {
            &[]
        })
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .output();
    match compiled {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        Err(error) => {
            eprintln!("SKIPPED {}:{}: there is no C compiler, cc: {error}", file!(), line!());
            return false;
        }
    }
    alone_with(test, |command| command.env("LD_PRELOAD", &library))
}

/// The reply is available before the request is sent, which fails.
#[test]
fn client_peer_closed_before_request_is_sent_reply_is_read() {
    if !without_options(client_peer_closed_before_request_is_sent_reply_is_read) {
        return;
    }
    for (deadlines, early) in
        [Deadlines::DEFAULT, Deadlines::NONE].into_iter().flat_map(|it| [(it, true), (it, false)])
    {
        // The peer closes before the client has the connection, or after that.
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(DONE).unwrap();
        let mut theirs = Some(theirs).filter(|_| !early);
        let transport = SocketTransport::new(ours);
        drop(theirs.take());
        let answer =
            Connection::new(transport).with_deadlines(deadlines).call(&ResumeRuntime {}).unwrap();
        assert!(answer.result().is_success());
    }
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(ENVIRONMENT).unwrap();
    drop(theirs);
    let mut entries = Vec::new();
    let block = Connection::new(SocketTransport::new(ours)).environment().unwrap();
    block.for_each(|entry| entries.push(entry.text().to_string())).unwrap();
    assert_eq!(entries, ["A=b"]);
}

/// The timeout of one read is still set when the next read has none.
#[test]
fn transport_peer_closed_between_reads_rest_is_read() {
    if !without_options(transport_peer_closed_between_reads_rest_is_read) {
        return;
    }
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let (mut transport, mut bytes) = (SocketTransport::new(ours), [0; 4]);
    let within = |millis| WaitLimit {
        deadline: Instant::now().checked_add(Duration::from_millis(millis)),
        canceller: None,
    };
    assert!(matches!(transport.receive(&mut bytes, &within(20)), Err(ErrorKind::TimedOut)));
    theirs.write_all(b"rest").unwrap();
    drop(theirs);
    assert_eq!(transport.receive(&mut bytes[..1], &WaitLimit::FOREVER).unwrap(), 1);
    assert_eq!(transport.receive(&mut bytes[1..], &within(60_000)).unwrap(), 3);
    for until in [WaitLimit::FOREVER, within(60_000)] {
        assert_eq!(transport.receive(&mut [0], &until).unwrap(), 0);
    }
    assert_eq!(&bytes, b"rest");
}

#[derive(Default)]
struct Counting(AtomicUsize);

impl Handler for Counting {
    fn resume_runtime(&self, _: ResumeRuntime) -> Result<ResultReply, HResult> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(ResultReply { hresult: HResult::OK })
    }
}

/// Clients that have gone before they are accepted: their requests are carried out, and the next
/// one is served.
#[test]
fn server_client_gone_before_accept_next_is_served() {
    if !without_options(server_client_gone_before_accept_next_is_served) {
        return;
    }
    let directory = crate::directory();
    let path = directory.path().join("socket");
    let (listener, shutdown, counting) =
        (UnixListener::bind(&path).unwrap(), Canceller::new().unwrap(), Counting::default());
    drop(UnixStream::connect(&path).unwrap());
    UnixStream::connect(&path).unwrap().write_all(RESUME).unwrap();
    let mut client = UnixStream::connect(&path).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| serve(&listener, &counting, &ServeOptions::DEFAULT, &shutdown));
        client.write_all(RESUME).unwrap();
        let mut reply = Vec::new();
        let read = client.read_to_end(&mut reply);
        // The other connection has its own thread, which may be late.
        let until = Instant::now() + Duration::from_secs(60);
        while counting.0.load(Ordering::SeqCst) < 2 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        shutdown.cancel();
        server.join().unwrap().unwrap();
        assert_eq!((read.unwrap(), reply.as_slice()), (DONE.len(), DONE));
    });
    assert_eq!(counting.0.into_inner(), 2);
}
