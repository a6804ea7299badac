//! The tool's side of a diagnostic port over real Unix sockets and Windows pipes: runtimes that
//! connect, leave and wait, and silent peers.

mod place;
#[cfg(target_os = "linux")]
mod silent;

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::port_listener::{
    PortCounts, PortEvent, PortListener, PortOptions, PortRuntime,
};
use dotnet_diagnostics_ipc::io::server::{Handler, ServeOptions, serve_connection};
use dotnet_diagnostics_ipc::io::{
    Canceller, Client, Connect as _, ErrorKind, Transport as _, WaitLimit,
};
use dotnet_diagnostics_ipc::message::process::{ProcessInfoReply, ResumeRuntime};
use dotnet_diagnostics_ipc::message::server::ResultReply;
use dotnet_diagnostics_ipc::wire::Guid;

use place::{Peer, PeerTransport, Place, connect, connect_transport};

struct Listening {
    port: PortListener,
    place: Place,
}

fn listen(options: PortOptions) -> Listening {
    let (listener, place) = Place::listen();
    Listening { port: PortListener::on(listener, options).unwrap(), place }
}

/// The port ended the connection; that of a pipe by disconnecting it (P-57).
#[track_caller]
pub(crate) fn assert_disconnected(peer: &mut Peer) {
    const ERROR_PIPE_NOT_CONNECTED: i32 = 233;
    let read = peer.read(&mut [0; 1]).map_err(|error| error.raw_os_error());
    let end = if cfg!(windows) { Err(Some(ERROR_PIPE_NOT_CONNECTED)) } else { Ok(0) };
    assert_eq!(read, end);
}

impl Listening {
    fn parts(&self) -> (&PortListener, &Path) {
        (&self.port, &self.place.path)
    }
}

fn advertise(process_id: u64) -> Advertise {
    let mut cookie = [0xcc; 16];
    cookie[..8].copy_from_slice(&process_id.to_le_bytes());
    Advertise { runtime_cookie: Guid::from_bytes(cookie), process_id, future: 0 }
}

/// A connection as a runtime makes it, with only the advertise on it.
pub(crate) fn come(path: &Path, process_id: u64) -> Peer {
    let mut stream = connect(path).unwrap();
    stream.write_all(&advertise(process_id).to_bytes()).unwrap();
    stream
}

fn soon() -> WaitLimit<'static> {
    within(Duration::from_secs(60))
}

fn within(time: Duration) -> WaitLimit<'static> {
    WaitLimit { deadline: Some(Instant::now() + time), canceller: None }
}

#[track_caller]
pub(crate) fn eventually(port: &PortListener, mut done: impl FnMut(PortCounts) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done(port.counts()) {
        assert!(Instant::now() < deadline, "{:?}", port.counts());
        thread::sleep(Duration::from_millis(2));
    }
}

/// The next runtime that is new, after all events before it.
#[track_caller]
pub(crate) fn next_new(port: &PortListener) -> PortRuntime {
    loop {
        if let PortEvent::New(runtime) = port.next_event(&soon()).unwrap() {
            return runtime;
        }
    }
}

/// The next event, in short.
#[track_caller]
fn event(port: &PortListener) -> (&'static str, u64) {
    match port.next_event(&soon()).unwrap() {
        PortEvent::New(runtime) => ("new", runtime.process_id()),
        PortEvent::Again(runtime) => ("again", runtime.process_id()),
        PortEvent::Gone(runtime) => ("gone", runtime.process_id()),
    }
}

/// A runtime that serves commands over one connection after another, as it connects.
#[derive(Default)]
struct Runtime {
    resumed: AtomicUsize,
}

impl Handler for Runtime {
    fn process_info(&self) -> Result<ProcessInfoReply<'_>, HResult> {
        let advertise = advertise(77);
        Ok(ProcessInfoReply {
            process_id: advertise.process_id,
            runtime_cookie: advertise.runtime_cookie,
            command_line: "app".into(),
            os: "Linux".into(),
            arch: "x64".into(),
        })
    }

    fn resume_runtime(&self, _: ResumeRuntime) -> Result<ResultReply, HResult> {
        self.resumed.fetch_add(1, Ordering::SeqCst);
        Ok(ResultReply { hresult: HResult::OK })
    }
}

impl Runtime {
    /// The runtime serves until the port is closed.
    fn run(&self, path: &Path, stop: &Canceller) {
        let options = ServeOptions { request: None, ..ServeOptions::DEFAULT };
        while !stop.is_cancelled() {
            let Some(mut transport): Option<PeerTransport> = connect_transport(path) else {
                return;
            };
            if transport.send(&advertise(77).to_bytes(), &soon()).is_ok_and(|sent| sent == 34) {
                let _ = serve_connection(transport, self, &options, Some(stop));
            }
        }
    }
}

#[test]
fn port_call_takes_next_connection() {
    let listening = listen(PortOptions::DEFAULT);
    let (port, path) = listening.parts();
    let (runtime, stop) = (Runtime::default(), Canceller::new().unwrap());
    thread::scope(|scope| {
        scope.spawn(|| runtime.run(path, &stop));
        let found = next_new(port);
        assert_eq!((found.process_id(), found.advertise()), (77, advertise(77)));
        let said = format!("{port:?} {found:?}");
        assert!(
            said.starts_with("PortListener { .. } PortRuntime { advertise: Advertise"),
            "{said}"
        );
        let client = Client::new(found.clone());
        for _ in 0..50 {
            let answer = client.process_info().unwrap();
            assert_eq!(answer.payload().unwrap().process_id, 77);
        }
        assert_eq!(found.resume(&soon()).unwrap(), HResult::OK);
        assert_eq!(runtime.resumed.load(Ordering::SeqCst), 1);
        eventually(port, |counts| counts.held == 1);
        assert_eq!(port.counts().handed_out, 51);
        stop.cancel();
    });
}

#[test]
fn port_runtimes_are_new_once_in_arrival_order() {
    let listening = listen(PortOptions::DEFAULT);
    let (port, path) = listening.parts();
    let _streams: Vec<Peer> = [(5, 1), (6, 2), (7, 3)]
        .map(|(id, held)| {
            let stream = come(path, id);
            // Two advertises that wait to be read at the same time have no order.
            eventually(port, |counts| counts.held == held);
            stream
        })
        .into();
    assert_eq!(event(port), ("new", 5));
    let sixth = next_new(port);
    assert_eq!((sixth.process_id(), event(port)), (6, ("new", 7)));
    let _sixth = sixth.connect(&soon()).unwrap();
    eventually(port, |counts| (counts.held, counts.handed_out) == (2, 1));
    // The connection is used once, and nothing else was reported.
    let error = sixth.connect(&within(Duration::from_millis(50))).unwrap_err();
    assert_error!(error, Connect, ErrorKind::TimedOut);
    let error = port.next_event(&within(Duration::from_millis(50))).unwrap_err();
    assert_error!(error, Connect, ErrorKind::TimedOut);
}

#[test]
fn port_runtime_that_leaves_is_gone_and_comes_again() {
    let grace = Duration::from_millis(200);
    let listening = listen(PortOptions { reconnect: grace, ..PortOptions::DEFAULT });
    let (port, path) = listening.parts();
    let mut first = come(path, 5);
    assert_eq!(event(port), ("new", 5));
    // A runtime whose connection was replaced has not gone.
    let second = come(path, 5);
    assert_disconnected(&mut first);
    assert_eq!(event(port), ("again", 5));
    let counts = port.counts();
    assert_eq!((counts.held, counts.replaced), (1, 1));
    let left = Instant::now();
    drop(second);
    assert_eq!(event(port), ("gone", 5));
    assert!(left.elapsed() >= grace, "{:?}", left.elapsed());
    let _third = come(path, 5);
    assert_eq!(event(port), ("again", 5));
    // A runtime that is gone before anybody asked is not reported.
    drop(come(path, 6));
    eventually(port, |counts| counts.ended_waiting == 2);
    let _seventh = come(path, 7);
    assert_eq!(event(port), ("new", 7));
}

#[test]
fn port_late_runtime_ends_its_wait_only() {
    let listening = listen(PortOptions::DEFAULT);
    let (port, path) = listening.parts();
    let canceller = Canceller::new().unwrap();
    let [ninth, tenth] = [9, 10].map(|id| {
        let stream = come(path, id);
        let runtime = next_new(port);
        drop((runtime.connect(&soon()).unwrap(), stream));
        runtime
    });
    thread::scope(|scope| {
        let waiter = scope.spawn(|| ninth.connect(&soon()).map(drop));
        let until = WaitLimit { deadline: None, canceller: Some(&canceller) };
        let other = scope.spawn(move || tenth.connect(&until).map(drop));
        thread::sleep(Duration::from_millis(100));
        let _stream = come(path, 9);
        waiter.join().unwrap().unwrap();
        thread::sleep(Duration::from_millis(50));
        assert!(!other.is_finished());
        canceller.cancel();
        assert!(matches!(other.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled));
    });
}

/// Waits that were given up take no connection, and those that are left share the others.
#[test]
fn port_connections_go_to_waits_that_are_left() {
    let listening = listen(PortOptions::DEFAULT);
    let (port, path) = listening.parts();
    let mut streams = vec![come(path, 5)];
    let runtime = next_new(port);
    drop(runtime.connect(&soon()).unwrap());
    for _ in 0..20 {
        runtime.connect(&within(Duration::from_millis(1))).unwrap_err();
    }
    thread::scope(|scope| {
        let waits: Vec<_> = (0..4).map(|_| scope.spawn(|| runtime.connect(&soon()))).collect();
        for taken in 2..=5 {
            streams.push(come(path, 5));
            eventually(port, |counts| counts.handed_out == taken);
        }
        assert!(waits.into_iter().all(|wait| wait.join().unwrap().is_ok()));
    });
    let counts = port.counts();
    assert_eq!((counts.held, counts.replaced, counts.advertised), (0, 0, 5));
}

#[test]
fn port_wait_ends_by_canceller_or_close() {
    let Listening { port, .. } = listen(PortOptions::DEFAULT);
    let canceller = Canceller::new().unwrap();
    let until = WaitLimit { deadline: None, canceller: Some(&canceller) };
    let gone = thread::scope(|scope| {
        let waiter = scope.spawn(|| port.next_event(&until));
        thread::sleep(Duration::from_millis(50));
        canceller.cancel();
        assert!(matches!(waiter.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled));
        let Listening { port: other, place } = listen(PortOptions::DEFAULT);
        let stream = come(&place.path, 1);
        let runtime = next_new(&other);
        let transport = runtime.connect(&soon()).unwrap();
        let waiting = scope.spawn({
            let runtime = runtime.clone();
            move || Client::new(runtime).process_info().map(drop)
        });
        thread::sleep(Duration::from_millis(50));
        drop((other, transport, stream));
        let error = waiting.join().unwrap().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotFound(_)), "{error}");
        runtime
    });
    let error = gone.resume(&soon()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotFound(_)), "{error}");
}

#[test]
fn port_ended_connection_is_not_handed_out() {
    let listening = listen(PortOptions::DEFAULT);
    let (port, path) = listening.parts();
    drop(come(path, 5));
    eventually(port, |counts| (counts.held, counts.ended_waiting) == (0, 1));
    // A peer that sends while it should wait is not a runtime.
    let mut talks = come(path, 5);
    talks.write_all(b"hello").unwrap();
    eventually(port, |counts| counts.ended_waiting == 2);
    assert_eq!(port.counts().held, 0);
}

#[test]
fn port_bad_advertise_is_closed() {
    let options =
        PortOptions { advertise: Duration::from_millis(300), most_held: 2, ..PortOptions::DEFAULT };
    let listening = listen(options);
    let (port, path) = listening.parts();
    let mut http = connect(path).unwrap();
    http.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    // Unread bytes make it a reset.
    assert!(matches!(http.read(&mut [0; 1]), Ok(0) | Err(_)));
    let mut half = connect(path).unwrap();
    half.write_all(&advertise(1).to_bytes()[..20]).unwrap();
    drop(half);
    // Sending a byte from time to time does not help.
    let (begun, mut trickling) = (Instant::now(), connect(path).unwrap());
    for byte in advertise(1).to_bytes() {
        if trickling.write_all(&[byte]).is_err() {
            break;
        }
        thread::sleep(Duration::from_millis(30));
    }
    assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
    eventually(port, |counts| {
        (counts.not_a_runtime, counts.ended_early, counts.silent_timed_out) == (1, 1, 1)
    });
    // One more runtime connects than may wait.
    let _held = [come(path, 1), come(path, 2)];
    eventually(port, |counts| counts.held == 2);
    let mut third = come(path, 3);
    assert_disconnected(&mut third);
    assert_eq!(port.counts().refused, 1);
}

#[test]
fn port_unanswered_resume_is_cancelled() {
    let listening = listen(PortOptions::DEFAULT);
    let (port, path) = listening.parts();
    let canceller = Canceller::new().unwrap();
    let mut stream = come(path, 5);
    let found = next_new(port);
    let error = thread::scope(|scope| {
        let call = scope.spawn(|| {
            found.resume(&WaitLimit { deadline: None, canceller: Some(&canceller) }).unwrap_err()
        });
        let mut asked = [0; 20];
        stream.read_exact(&mut asked).unwrap();
        assert_eq!(&asked, b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0");
        canceller.cancel();
        call.join().unwrap()
    });
    assert_error!(error, Reply, ErrorKind::Cancelled);
}
