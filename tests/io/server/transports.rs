//! Connections and listeners of other kinds than a socket at a path, and what a server does if they
//! fail.

use std::io::{self, Cursor, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::continuation::FdByte;
use dotnet_diagnostics_ipc::exchange::{AfterReply, End, Outcome, ServerOutcome};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::server::*;
use dotnet_diagnostics_ipc::io::{
    Canceller, Error, ErrorKind, Phase, SocketTransport, Stream, Transport, WaitLimit,
};
use dotnet_diagnostics_ipc::message::eventpipe::UserEventsSession;
use dotnet_diagnostics_ipc::message::process::ProcessInfo;
use dotnet_diagnostics_ipc::message::{AnyRequest, encode};

use crate::alone;
use crate::client::DONE;
use crate::server::requests::USER_EVENTS;
use crate::server::runtime::Runtime;
use crate::server::{ask, ask_at};

/// `DS_IPC_E_BAD_ENCODING`.
pub(crate) const BAD_ENCODING: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x84\x13\x13\x80";

pub(crate) fn message(request: &AnyRequest<'_>) -> Vec<u8> {
    let mut message = vec![0; 65_535];
    let len = encode(request.command(), request, &mut message).unwrap();
    message.truncate(len);
    message
}

/// Reads from memory and writes to memory.
struct Memory<'m>(Cursor<Vec<u8>>, &'m mut Vec<u8>);

impl Read for Memory<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for Memory<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stream that passes no descriptor refuses a session that needs one.
#[test]
fn server_serves_any_stream() {
    let resume = b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0".to_vec();
    for (says, command, outcome, answer) in [
        (resume, Command::RESUME_RUNTIME, ServerOutcome::Answered, DONE),
        (
            message(&USER_EVENTS),
            Command::COLLECT_TRACING5,
            ServerOutcome::Refused(HResult::BAD_ENCODING),
            BAD_ENCODING,
        ),
    ] {
        let (mut answered, runtime) = (Vec::new(), Runtime::default());
        let stream = Stream(Memory(Cursor::new(says), &mut answered));
        let served = serve_connection(stream, &runtime, &ServeOptions::DEFAULT, None).unwrap();
        assert_eq!(served, Served { command: Some(command), outcome, streamed: 0 });
        assert_eq!(answered, answer);
    }
}

/// Passes descriptors, and does not know when the other end hangs up.
struct Blind(SocketTransport);

impl Transport for Blind {
    fn send(&mut self, bytes: &[u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        self.0.send(bytes, until)
    }
    fn receive(&mut self, into: &mut [u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        self.0.receive(into, until)
    }
    fn receive_fd(
        &mut self,
        until: &WaitLimit<'_>,
    ) -> Result<Option<(FdByte, Option<OwnedFd>)>, ErrorKind> {
        self.0.receive_fd(until)
    }
}

/// Writes down the result of a wait for the hang-up.
#[derive(Default)]
struct Waits(Mutex<Vec<String>>);

impl Handler for Waits {
    fn collect_user_events(
        &self,
        _: UserEventsSession<'_>,
        _: OwnedFd,
    ) -> Result<HeldSession<'_>, HResult> {
        Ok(HeldSession::new(9, |connection| {
            let mut noted = self.0.lock().unwrap();
            for time in [Some(Duration::from_millis(30)), None, Some(Duration::ZERO)] {
                noted.push(format!(
                    "{:?}, {connection:?}",
                    connection.wait(time).map_err(|error| error.to_string())
                ));
            }
        }))
    }
}

#[test]
fn server_connection_without_hang_up_is_read_to_end() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let waits = Waits::default();
    let served = thread::scope(|scope| {
        let serving = scope.spawn(|| {
            let transport = Blind(SocketTransport::new(theirs));
            serve_connection(transport, &waits, &ServeOptions::DEFAULT, None).unwrap()
        });
        let file = tempfile::tempfile().unwrap();
        let (outcome, _) = ask(&mut ours, &USER_EVENTS, Some(&file));
        assert!(
            matches!(
                outcome,
                Outcome::Ok { then: AfterReply::UserEvents { session_id: Some(9) }, .. }
            ),
            "{outcome:?}"
        );
        // The server does not read this, and it does not end the session.
        ours.write_all(&[0x55; 1000]).unwrap();
        while waits.0.try_lock().is_ok_and(|noted| noted.is_empty()) {
            thread::sleep(Duration::from_millis(1));
        }
        drop(ours);
        serving.join().unwrap()
    });
    assert_eq!(served.outcome, ServerOutcome::Answered);
    assert_eq!(
        *waits.0.lock().unwrap(),
        [
            "Ok(false), HeldConnection { hung_up: false, .. }",
            "Ok(true), HeldConnection { hung_up: true, .. }",
            "Ok(true), HeldConnection { hung_up: true, .. }",
        ]
    );
}

/// Fails to accept in these ways, the last of them first, and then accepts any client of
/// `listener`.
struct Failing {
    listener: UnixListener,
    errors: Vec<io::Error>,
}

impl Listen for Failing {
    type Transport = SocketTransport;

    fn accept(&mut self, until: &WaitLimit<'_>) -> Result<SocketTransport, Error> {
        match self.errors.pop() {
            Some(error) => Err(Error::connecting(error)),
            None => Listen::accept(&mut &self.listener, until),
        }
    }
}

fn failing(errors: Vec<io::Error>) -> (Failing, std::path::PathBuf, tempfile::TempDir) {
    let directory = crate::directory();
    let path = directory.path().join("socket");
    (Failing { listener: UnixListener::bind(&path).unwrap(), errors }, path, directory)
}

#[test]
fn listener_transient_failure_is_survived() {
    let lacks = [
        rustix::io::Errno::MFILE,
        rustix::io::Errno::NFILE,
        rustix::io::Errno::NOBUFS,
        rustix::io::Errno::NOMEM,
    ];
    let mut errors: Vec<io::Error> = lacks.map(io::Error::from).into();
    errors.push(io::ErrorKind::TimedOut.into());
    let (mut listener, path, _directory) = failing(errors);
    let shutdown = Canceller::new().unwrap();
    let ended = thread::scope(|scope| {
        let server = scope.spawn(|| {
            serve(&mut listener, &Runtime::default(), &ServeOptions::default(), &shutdown)
        });
        let (outcome, _) = ask_at(&path, &AnyRequest::ProcessInfo(ProcessInfo {}));
        assert!(matches!(outcome, Outcome::Ok { .. }), "{outcome:?}");
        shutdown.cancel();
        shutdown.cancel();
        server.join().unwrap()
    });
    ended.unwrap();
    assert!(listener.errors.is_empty());
}

#[test]
fn listener_permanent_failure_ends_server() {
    let (mut listener, ..) = failing(vec![io::ErrorKind::PermissionDenied.into()]);
    let shutdown = Canceller::new().unwrap();
    let error =
        serve(&mut listener, &Runtime::default(), &ServeOptions::DEFAULT, &shutdown).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Io(error) if error.kind() == io::ErrorKind::PermissionDenied),
        "{error}"
    );
    assert!(shutdown.is_cancelled());
}

#[test]
fn server_socket_not_listening_is_refused() {
    // This socket is connected, and does not listen.
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let listener = UnixListener::from(OwnedFd::from(ours));
    let shutdown = Canceller::new().unwrap();
    let error =
        serve(&listener, &Runtime::default(), &ServeOptions::DEFAULT, &shutdown).unwrap_err();
    assert_eq!(error.phase(), Phase::Listen);
    assert!(
        matches!(error.kind(), ErrorKind::Io(error) if error.kind() == io::ErrorKind::InvalidInput),
        "{error}"
    );
    assert!(error.to_string().ends_with(" (os error 22) (listening)"), "{error}");
}

#[test]
fn server_descriptor_without_room_is_refused() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    if !alone(server_descriptor_without_room_is_refused) {
        return;
    }
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(&message(&USER_EVENTS)).unwrap();
    let mut sender = SocketTransport::new(ours.try_clone().unwrap());
    sender.send_fd(std::os::fd::AsFd::as_fd(&ours), &WaitLimit::FOREVER).unwrap();
    let (transport, runtime) = (SocketTransport::new(theirs), Runtime::default());
    let limit = getrlimit(Resource::Nofile);
    // Open descriptors stay open.
    setrlimit(Resource::Nofile, Rlimit { current: Some(0), maximum: limit.maximum }).unwrap();
    let served = serve_connection(transport, &runtime, &ServeOptions::DEFAULT, None);
    setrlimit(Resource::Nofile, limit).unwrap();
    assert_eq!(served.unwrap().outcome, ServerOutcome::Refused(HResult::BAD_ENCODING));
    drop(sender);
    let mut answer = Vec::new();
    ours.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, BAD_ENCODING);
    assert!(runtime.asked.lock().unwrap().is_empty());
}

#[test]
fn server_client_not_reading_is_given_up() {
    struct Large(String);
    impl Handler for Large {
        fn process_environment(&self) -> Result<Entries<'_>, HResult> {
            Ok(std::iter::repeat_n(self.0.as_str(), 100).collect())
        }
    }
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(b"DOTNET_IPC_V1\0\x14\0\x04\x02\0\0").unwrap();
    // The peer sends 2 MB, which the server does not read.
    let options = ServeOptions { send: Some(Duration::from_millis(100)), ..ServeOptions::DEFAULT };
    let large = Large("x".repeat(10_000));
    let served = serve_connection(SocketTransport::new(theirs), &large, &options, None).unwrap();
    assert_eq!(served.outcome, ServerOutcome::Gone { end: End::TimedOut });
}
