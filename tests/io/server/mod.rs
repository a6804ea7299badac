//! The server adapter over real Unix sockets: every command, and faults of clients with their
//! effect on others.

mod clients;
mod requests;
mod runtime;
mod sessions;
mod transports;

use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::continuation::Entry;
use dotnet_diagnostics_ipc::exchange::{
    self, AfterReply, ClientAction, End, Outcome, ServerOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::server::{Entries, Handler, ServeOptions, serve};
use dotnet_diagnostics_ipc::io::{
    Canceller, Connection, SocketTransport, Transport as _, WaitLimit,
};
use dotnet_diagnostics_ipc::message::process::{ProcessInfo, ProcessInfoReply};
use dotnet_diagnostics_ipc::message::server::ErrorReply;
use dotnet_diagnostics_ipc::message::{AnyReply, AnyRequest, Message};

use requests::{COLLECT2, COLLECT3, USER_EVENTS, commands, decoded};
use runtime::{INFO, INFO2, Runtime};

/// Ends the server also if the client panics.
struct Shutdown<'s>(&'s Canceller);

impl Drop for Shutdown<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Serves `handler` while `client` runs.
#[track_caller]
fn with_server<T, H: Handler + Sync>(
    handler: &H,
    options: ServeOptions,
    client: impl FnOnce(&Path, &Canceller) -> T,
) -> T {
    let directory = crate::directory();
    let path = directory.path().join("socket");
    let (listener, shutdown) = (UnixListener::bind(&path).unwrap(), Canceller::new().unwrap());
    thread::scope(|scope| {
        let server = scope.spawn(|| serve(&listener, handler, &options, &shutdown));
        let ends = Shutdown(&shutdown);
        let done = client(&path, &shutdown);
        drop(ends);
        server.join().unwrap().unwrap();
        done
    })
}

fn eventually(mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "it did not come");
        thread::sleep(Duration::from_millis(2));
    }
}

/// The client exchange over a plain blocking socket.
fn ask(
    socket: &mut UnixStream,
    request: &AnyRequest<'_>,
    fd: Option<&std::fs::File>,
) -> (Outcome, Vec<u8>) {
    let mut buffer = vec![0; 65_535];
    let (command, continuation) = (request.command(), request.continuation());
    let mut client =
        exchange::ClientExchange::with_payload(command, continuation, request, &mut buffer)
            .unwrap();
    loop {
        match client.action() {
            ClientAction::Send(range) => {
                client.sent(socket.write(&buffer[range]).unwrap()).unwrap();
            }
            ClientAction::SendFd(_) => {
                let mut transport = SocketTransport::new(socket.try_clone().unwrap());
                transport.send_fd(fd.unwrap().as_fd(), &WaitLimit::FOREVER).unwrap();
                socket.set_nonblocking(false).unwrap();
                client.fd_sent().unwrap();
            }
            ClientAction::Receive(range) => match socket.read(&mut buffer[range]) {
                Ok(0) => client.ended(End::Closed).unwrap(),
                Ok(n) => client.received(&buffer, n).unwrap(),
                Err(_) => client.ended(End::Reset).unwrap(),
            },
            ClientAction::Finished(outcome) => return (outcome, buffer),
        }
    }
}

/// Returns the answer on a new connection, without a descriptor.
fn ask_at(path: &Path, request: &AnyRequest<'_>) -> (Outcome, Vec<u8>) {
    ask(&mut UnixStream::connect(path).unwrap(), request, None)
}

/// The reply in a buffer.
fn replied(buffer: &[u8], command: Command) -> AnyReply<'_> {
    Message::decode_prefix(buffer).unwrap().0.reply_to(Some(command)).unwrap()
}

fn error(hresult: HResult) -> Outcome {
    Outcome::Error { size: 24, hresult }
}

#[test]
fn server_command_reaches_its_method() {
    let runtime = Runtime::default();
    with_server(&runtime, ServeOptions::DEFAULT, |path, _| {
        for (command, request) in commands() {
            let request = decoded(&request);
            let mut socket = UnixStream::connect(path).unwrap();
            // The answers of these are tested below, and where they last.
            if let Command::COLLECT_TRACING2
            | Command::COLLECT_TRACING3
            | Command::STOP_TRACING
            | Command::PROCESS_ENVIRONMENT = command
            {
                continue;
            }
            let (outcome, buffer) = ask(&mut socket, &request, None);
            match command {
                Command::PROCESS_INFO => {
                    assert_eq!(replied(&buffer, command), AnyReply::ProcessInfo(INFO));
                    continue;
                }
                Command::PROCESS_INFO2 => {
                    assert_eq!(replied(&buffer, command), AnyReply::ProcessInfo2(INFO2));
                    continue;
                }
                Command::PROCESS_INFO3 => {
                    assert_eq!(outcome, error(HResult::NOT_SUPPORTED));
                    continue;
                }
                Command::GENERATE_CORE_DUMP3 => {
                    let message = Some("the disk is full".into());
                    let error = ErrorReply { hresult: HResult::FAIL, message };
                    assert_eq!(replied(&buffer, command), AnyReply::Error(error));
                }
                Command { set: 2, .. } => {
                    let then = AfterReply::Stream { session_id: Some(42) };
                    assert_eq!(outcome, Outcome::Ok { size: 28, then });
                    let mut stream = String::new();
                    socket.read_to_string(&mut stream).unwrap();
                    assert_eq!(stream, "Nettrace and more");
                }
                _ => assert!(matches!(outcome, Outcome::Ok { size: 24, .. }), "{command}"),
            }
            // The method's own request, with all of its fields.
            let noted = std::mem::take(&mut *runtime.asked.lock().unwrap());
            assert_eq!(noted.len(), 1, "{command}");
            assert!(format!("{request:?}").contains(&noted[0]), "{request:?}: {noted:?}");
        }
    });
    let streamed = runtime.served(17).into_iter().map(|served| served.streamed);
    assert_eq!(streamed.filter(|streamed| *streamed > 0).collect::<Vec<_>>(), [17; 4]);
}

#[test]
fn server_empty_handler_knows_no_command() {
    struct Nothing;
    impl Handler for Nothing {}
    with_server(&Nothing, ServeOptions::DEFAULT, |path, _| {
        for (command, request) in commands() {
            let (outcome, _) = ask_at(path, &decoded(&request));
            assert_eq!(outcome, error(HResult::UNKNOWN_COMMAND), "{command}");
        }
        let file = tempfile::tempfile().unwrap();
        let (outcome, _) = ask(&mut UnixStream::connect(path).unwrap(), &USER_EVENTS, Some(&file));
        assert_eq!(outcome, error(HResult::UNKNOWN_COMMAND));
        let unknown = AnyRequest::Unknown { command: Command { set: 9, id: 9 }, payload: b"what" };
        assert_eq!(ask_at(path, &unknown).0, error(HResult::UNKNOWN_COMMAND));
    });
}

/// The entries that a client reads, and the text of the error after them.
fn environment(path: &Path) -> (Vec<String>, Option<String>) {
    let transport = SocketTransport::new(UnixStream::connect(path).unwrap());
    let mut entries = Vec::new();
    let block = Connection::new(transport).environment().unwrap();
    let read = block.for_each(|entry| entries.push(entry.text().to_string()));
    (entries, read.err().map(|error| format!("{error:#}")))
}

#[test]
fn server_environment_is_whole_or_broken_off() {
    struct Large(Vec<String>);
    impl Handler for Large {
        fn process_environment(&self) -> Result<Entries<'_>, HResult> {
            Ok(self.0.iter().map(|text| Entry::new(text)).collect())
        }
    }
    // The block arrives in many pieces.
    let large = Large((0..5000).map(|n| format!("V{n}={}", "x".repeat(n % 300))).collect());
    let read = with_server(&large, ServeOptions::DEFAULT, |path, _| environment(path));
    assert!(read == (large.0, None));
    // After the count and the first entry: 4 + 4 + 8 bytes (F-43).
    let runtime = Runtime { broken_off: Some((16, HResult::FAIL)), ..Runtime::default() };
    let (entries, error) =
        with_server(&runtime, ServeOptions::DEFAULT, |path, _| environment(path));
    assert_eq!(entries, ["A=1"]);
    assert!(error.unwrap().contains("0x80004005"));
    assert_eq!(runtime.served(1)[0].outcome, ServerOutcome::BrokenOff(HResult::FAIL));
}

#[test]
fn server_user_events_session_lasts_until_hang_up() {
    let runtime = Runtime::default();
    with_server(&runtime, ServeOptions::DEFAULT, |path, _| {
        let mut file = tempfile::tempfile().unwrap();
        let mut socket = UnixStream::connect(path).unwrap();
        let (outcome, _) = ask(&mut socket, &USER_EVENTS, Some(&file));
        assert!(
            matches!(
                outcome,
                Outcome::Ok { then: AfterReply::UserEvents { session_id: Some(9) }, .. }
            ),
            "{outcome:?}"
        );
        let mut text = String::new();
        eventually(|| {
            file.rewind().unwrap();
            text.clear();
            file.read_to_string(&mut text).unwrap() > 0
        });
        assert_eq!(text, "written by the server");
        // A half-close is not a hang-up (F-23).
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        thread::sleep(Duration::from_millis(100));
        assert_eq!(*runtime.asked.lock().unwrap(), ["user_events 1"]);
        drop(socket);
        eventually(|| runtime.asked.lock().unwrap().last().unwrap() == "hung up");
    });
}

#[test]
fn server_session_over_limit_fails() {
    let runtime = Runtime::default();
    with_server(&runtime, ServeOptions { most_sessions: 2, ..ServeOptions::DEFAULT }, |path, _| {
        let mut sessions: Vec<UnixStream> =
            (0..2).map(|_| UnixStream::connect(path).unwrap()).collect();
        for session in &mut sessions {
            assert!(matches!(ask(session, &COLLECT2, None).0, Outcome::Ok { .. }));
        }
        // The number of sessions is limited (F-32).
        assert_eq!(ask_at(path, &COLLECT2).0, error(HResult::FAIL));
        drop(sessions.pop());
        eventually(|| matches!(ask_at(path, &COLLECT2).0, Outcome::Ok { .. }));
    });
}

#[test]
fn server_shutdown_ends_silent_and_streaming() {
    let runtime = Runtime::default();
    let options = ServeOptions { request: None, stream: None, ..ServeOptions::DEFAULT };
    let clients = with_server(&runtime, options, |path, _| {
        let silent = UnixStream::connect(path).unwrap();
        let (mut waiting, mut full) =
            (UnixStream::connect(path).unwrap(), UnixStream::connect(path).unwrap());
        ask(&mut waiting, &COLLECT2, None);
        ask(&mut full, &COLLECT3, None);
        let file = tempfile::tempfile().unwrap();
        let mut held = UnixStream::connect(path).unwrap();
        ask(&mut held, &USER_EVENTS, Some(&file));
        thread::sleep(Duration::from_millis(50));
        [silent, waiting, full, held]
    });
    drop(clients);
}

#[test]
fn server_reply_too_long_is_error() {
    struct Long(String);
    impl Handler for Long {
        fn process_info(&self) -> Result<ProcessInfoReply<'_>, HResult> {
            Ok(ProcessInfoReply { command_line: self.0.as_str().into(), ..INFO })
        }
    }
    let asked = |len: usize| {
        with_server(&Long("x".repeat(len)), ServeOptions::DEFAULT, |path, _| {
            ask_at(path, &AnyRequest::ProcessInfo(ProcessInfo {})).0
        })
    };
    // 20 + 8 + 16 + (4 + 2 × 32,001) + (4 + 12) + (4 + 8)
    assert_eq!(asked(32_000), Outcome::Ok { size: 64_078, then: AfterReply::Close });
    assert_eq!(asked(40_000), error(HResult::FAIL)); // F-40
}
