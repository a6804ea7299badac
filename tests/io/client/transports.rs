//! Clients over anything that reads and writes, even badly.

use std::io::{self, Read, Write};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::*;
use dotnet_diagnostics_ipc::message::process::ResumeRuntime;

use crate::client::{COLLECT, DONE, SESSION, USER_EVENTS};

/// Reads and writes by a list, in order; then reads the end, and writes everything.
#[derive(Debug, Default)]
struct Told {
    reads: Vec<io::Result<&'static [u8]>>,
    writes: Vec<io::Result<usize>>,
    written: Vec<u8>,
}

impl Told {
    /// In the order in which it happens.
    fn new<const R: usize, const W: usize>(
        reads: [io::Result<&'static [u8]>; R],
        writes: [io::Result<usize>; W],
    ) -> Self {
        let (reads, writes) =
            (reads.into_iter().rev().collect(), writes.into_iter().rev().collect());
        Self { reads, writes, written: Vec::new() }
    }
}

impl Read for Told {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut says = self.reads.pop().unwrap_or(Ok(&[]))?;
        let n = says.read(into)?;
        if !says.is_empty() {
            self.reads.push(Ok(says));
        }
        Ok(n)
    }
}

impl Write for Told {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.writes.pop().unwrap_or(Ok(bytes.len()))?;
        self.written.extend(&bytes[..n]);
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn error<T>(kind: io::ErrorKind) -> io::Result<T> {
    Err(kind.into())
}

/// The other end of one connection.
struct Once(std::cell::RefCell<Option<Told>>);

impl Once {
    fn new(told: Told) -> Self {
        Self(Some(told).into())
    }
}

impl Connect for Once {
    type Transport = Stream<Told>;

    fn connect(&self, _: &WaitLimit<'_>) -> Result<Stream<Told>, Error> {
        self.0.take().map(Stream).ok_or_else(|| Error::connecting(io::ErrorKind::TimedOut.into()))
    }
}

const REQUEST: &[u8] = b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0";

#[test]
fn call_interrupted_by_signal_goes_on() {
    use io::ErrorKind::Interrupted;
    let (first, rest) = DONE.split_at(5);
    let told = Told::new(
        [error(Interrupted), Ok(first), error(Interrupted), Ok(rest)],
        [error(Interrupted), Ok(3)],
    );
    let mut stream = Stream(told);
    // The stream was lent, and is returned.
    let answer = Connection::new(&mut stream).call(&ResumeRuntime {}).unwrap();
    assert_eq!(answer.result(), HResult::OK);
    assert_eq!(stream.0.written, REQUEST);
    assert!(stream.0.reads.is_empty());
}

#[test]
fn call_time_out_of_stream_is_reported() {
    for kind in [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut] {
        let reading = Connection::new(Stream(Told::new([error(kind)], [])))
            .call(&ResumeRuntime {})
            .unwrap_err();
        assert_error!(reading, Reply, ErrorKind::TimedOut);
        let writing = Connection::new(Stream(Told::new([], [Ok(3), error(kind)])))
            .call(&ResumeRuntime {})
            .unwrap_err();
        assert_error!(writing, Send, ErrorKind::TimedOut);
        let connecting = Error::connecting(kind.into());
        assert_error!(connecting, Connect, ErrorKind::TimedOut);
    }
}

#[test]
fn call_to_full_stream_ends() {
    let mut stream = Stream(Told::new([], [Ok(3), Ok(0)]));
    let error = Connection::new(&mut stream).call(&ResumeRuntime {}).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Ended { end: End::Closed, received: 0 }),
        "{error:?}"
    );
    // What the peer sent before it stopped reading is received.
    let mut stream = Stream(Told::new([Ok(DONE)], [Ok(0)]));
    assert!(Connection::new(&mut stream).call(&ResumeRuntime {}).is_ok());
    assert!(stream.0.written.is_empty());
}

#[test]
fn descriptor_over_other_stream_is_unsupported() {
    let file = tempfile::tempfile().unwrap();
    let text = "this connection cannot pass descriptors (passing the descriptor)";
    let client = Client::new(Once::new(Told::default()));
    assert_eq!(format!("{:#}", client.user_events(&USER_EVENTS, &file).unwrap_err()), text);
    // The result is the same if the stream is only lent.
    let mut stream = Stream(Told::default());
    let sent = Transport::send_fd(&mut &mut stream, file.as_fd(), &WaitLimit::FOREVER);
    assert!(matches!(sent, Err(ErrorKind::Unsupported(_))));
}

/// Reads these bytes, and then reports that it read more than was asked; writes as it is told.
struct Boasting(&'static [u8], usize);

impl Connect for Boasting {
    type Transport = Self;

    fn connect(&self, _: &WaitLimit<'_>) -> Result<Self, Error> {
        Ok(Self(self.0, self.1))
    }
}

impl Transport for Boasting {
    fn send(&mut self, bytes: &[u8], _: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        Ok(bytes.len() + self.1)
    }
    fn receive(&mut self, into: &mut [u8], _: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        if self.0.is_empty() { Ok(into.len() + 1) } else { Ok(self.0.read(into)?) }
    }
}

#[test]
fn transport_miscounting_is_reported() {
    let error = Connection::new(Boasting(b"", 1)).call(&ResumeRuntime {}).unwrap_err();
    assert_error!(error, Send, ErrorKind::Miscounted { asked: 20, reported: 21 });
    let why = "the transport reported 21 bytes, expected at most 20";
    assert_eq!(error.to_string(), format!("{why} (sending the request)"));
    let error = Connection::new(Boasting(b"", 0)).call(&ResumeRuntime {}).unwrap_err();
    assert_error!(error, Reply, ErrorKind::Miscounted { .. });
    // It counts only the stream wrongly.
    let client = Client::new(Boasting(SESSION, 0));
    let mut trace = client.trace(&COLLECT).unwrap();
    let error = trace.read(&mut [0; 8]).unwrap_err();
    let kind = Error::in_io(&error).unwrap().kind();
    assert!(matches!(kind, ErrorKind::Miscounted { asked: 8, reported: 9 }), "{error:?}");
}

/// Who has had the socket from `stream` can let it not block. A thread that tries again and again is
/// never asleep.
#[test]
#[cfg(target_os = "linux")]
fn transport_that_does_not_block_sleeps_until_data_arrives() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let mut transport = SocketTransport::new(ours);
    rustix::io::ioctl_fionbio(&transport, true).unwrap();
    let (says, thread) = std::sync::mpsc::channel();
    let receiving = std::thread::spawn(move || {
        let thread = std::fs::read_link("/proc/thread-self").unwrap();
        says.send(std::path::Path::new("/proc").join(thread).join("stat")).unwrap();
        transport.receive(&mut [0; 8], &WaitLimit::FOREVER).unwrap()
    });
    let stat = thread.recv().unwrap();
    let slept = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        let text = std::fs::read_to_string(&stat).unwrap();
        text.rsplit_once(") ").unwrap().1.starts_with('S')
    });
    theirs.write_all(b"reply").unwrap();
    assert_eq!(receiving.join().unwrap(), 5);
    assert!(slept);
}

/// Socket options that a call has set are reset, and the deadline holds again afterwards; also if
/// the socket does not block.
#[test]
fn transport_stream_blocks_after_call_with_deadline() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let mut transport = SocketTransport::new(ours);
    for nonblocking in [false, true] {
        let deadline = Some(std::time::Instant::now() + Duration::from_millis(10));
        let until = WaitLimit { deadline, canceller: None };
        let ended = transport.receive(&mut [0; 8], &until);
        assert!(matches!(ended, Err(ErrorKind::TimedOut)));
        let given = UnixStream::from(transport.as_fd().try_clone_to_owned().unwrap());
        assert_eq!(given.read_timeout().unwrap(), None);
        given.set_nonblocking(nonblocking).unwrap();
    }
    theirs.write_all(b"reply").unwrap();
    assert_eq!(transport.receive(&mut [0; 8], &WaitLimit::FOREVER).unwrap(), 5);
}
