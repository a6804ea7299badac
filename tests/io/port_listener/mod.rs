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
    PortCounts, PortListener, PortOptions, PortRuntime, RuntimeFilter,
};
use dotnet_diagnostics_ipc::io::server::{Handler, ServeOptions, serve_connection};
use dotnet_diagnostics_ipc::io::{Canceller, Client, ErrorKind, Phase, Transport as _, Until};
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
fn come(path: &Path, process_id: u64) -> Peer {
    let mut stream = connect(path).unwrap();
    stream.write_all(&advertise(process_id).to_bytes()).unwrap();
    stream
}

fn soon() -> Until<'static> {
    within(Duration::from_secs(60))
}

fn within(time: Duration) -> Until<'static> {
    Until { deadline: Some(Instant::now() + time), canceller: None }
}

#[track_caller]
fn eventually(port: &PortListener, mut done: impl FnMut(PortCounts) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done(port.counts().unwrap()) {
        assert!(Instant::now() < deadline, "{:?}", port.counts().unwrap());
        thread::sleep(Duration::from_millis(2));
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
    /// Until the port is closed.
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
        let found = port.wait_for(RuntimeFilter::Any, &soon()).unwrap();
        assert_eq!((found.process_id(), found.cookie()), (77, advertise(77).runtime_cookie));
        let client = Client::new(found.clone());
        for _ in 0..50 {
            let answer = client.process_info().unwrap();
            assert_eq!(answer.payload().unwrap().process_id, 77);
        }
        assert_eq!(found.resume(&soon()).unwrap(), HResult::OK);
        assert_eq!(runtime.resumed.load(Ordering::SeqCst), 1);
        eventually(port, |counts| counts.held == 1);
        assert_eq!(port.counts().unwrap().handed_out, 51);
        stop.cancel();
    });
}

#[test]
fn port_runtimes_found_in_arrival_order() {
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
    let ids = |runtimes: Vec<PortRuntime>| {
        runtimes.iter().map(PortRuntime::process_id).collect::<Vec<_>>()
    };
    assert_eq!(ids(port.waiting().unwrap()), [5, 6, 7]);
    let find = |which| port.wait_for(which, &soon()).unwrap().process_id();
    assert_eq!(find(RuntimeFilter::Any), 5);
    assert_eq!(find(RuntimeFilter::Any), 5);
    assert_eq!(find(RuntimeFilter::Process(6)), 6);
    assert_eq!(find(RuntimeFilter::Cookie(advertise(7).runtime_cookie)), 7);
    assert_eq!(
        find(RuntimeFilter::NotAmong(vec![
            advertise(5).runtime_cookie,
            advertise(6).runtime_cookie
        ])),
        7
    );
    let (advertise, _) = port.take(RuntimeFilter::Process(6), &soon()).unwrap();
    assert_eq!(advertise.process_id, 6);
    assert_eq!(ids(port.waiting().unwrap()), [5, 7]);
    // Used once.
    let error =
        port.take(RuntimeFilter::Process(6), &within(Duration::from_millis(50))).unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Connect, ErrorKind::TimedOut)),
        "{error}"
    );
}

#[test]
fn port_late_runtime_ends_its_wait_only() {
    let listening = listen(PortOptions::DEFAULT);
    let (port, path) = listening.parts();
    let canceller = Canceller::new().unwrap();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            port.take(RuntimeFilter::Process(9), &soon()).map(|(advertise, _)| advertise.process_id)
        });
        let until = Until { deadline: None, canceller: Some(&canceller) };
        let other = scope.spawn(move || port.wait_for(RuntimeFilter::Process(10), &until));
        thread::sleep(Duration::from_millis(100));
        let _stream = come(path, 9);
        assert_eq!(waiter.join().unwrap().unwrap(), 9);
        thread::sleep(Duration::from_millis(50));
        assert!(!other.is_finished());
        canceller.cancel();
        assert!(matches!(other.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled));
    });
}

#[test]
fn port_wait_ends_by_canceller_or_close() {
    let Listening { port, .. } = listen(PortOptions::DEFAULT);
    let canceller = Canceller::new().unwrap();
    let gone = thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            port.wait_for(
                RuntimeFilter::Any,
                &Until { deadline: None, canceller: Some(&canceller) },
            )
        });
        thread::sleep(Duration::from_millis(50));
        canceller.cancel();
        assert!(matches!(waiter.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled));
        let Listening { port: other, place } = listen(PortOptions::DEFAULT);
        let stream = come(&place.path, 1);
        let runtime = other.wait_for(RuntimeFilter::Any, &soon()).unwrap();
        let (_, transport) = other.take(RuntimeFilter::Any, &soon()).unwrap();
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
    eventually(port, |counts| counts.ended_waiting == 1);
    assert!(port.waiting().unwrap().is_empty());
    // A peer that sends while it should wait is not a runtime.
    let mut talks = come(path, 5);
    talks.write_all(b"hello").unwrap();
    eventually(port, |counts| counts.ended_waiting == 2);
    assert_eq!(port.counts().unwrap().held, 0);
}

#[test]
fn port_newer_connection_replaces_older() {
    let listening = listen(PortOptions::DEFAULT);
    let (port, path) = listening.parts();
    let mut first = come(path, 5);
    let _second = come(path, 5);
    assert_disconnected(&mut first);
    eventually(port, |counts| (counts.held, counts.replaced) == (1, 1));
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
    // A byte from time to time does not help.
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
    // And one more than may wait.
    let _held = [come(path, 1), come(path, 2)];
    eventually(port, |counts| counts.held == 2);
    let mut third = come(path, 3);
    assert_disconnected(&mut third);
    assert_eq!(port.counts().unwrap().refused, 1);
}

#[test]
fn port_advertise_in_pieces_is_read() {
    let listening = listen(PortOptions::DEFAULT);
    let (port, path) = listening.parts();
    let mut stream = connect(path).unwrap();
    for byte in advertise(8).to_bytes() {
        stream.write_all(&[byte]).unwrap();
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(port.wait_for(RuntimeFilter::Any, &soon()).unwrap().process_id(), 8);
}

#[test]
fn port_runtime_reports_its_advertise() {
    let listening = listen(PortOptions::default());
    let (port, path) = listening.parts();
    assert_eq!(PortOptions::default(), PortOptions::DEFAULT);
    let _stream = come(path, 5);
    let found = port.wait_for(RuntimeFilter::Cookie(advertise(5).runtime_cookie), &soon()).unwrap();
    assert_eq!(found.advertise(), advertise(5));
    let said = format!("{found:?}");
    assert!(
        said.starts_with("PortRuntime { advertise: Advertise {") && said.contains("process_id: 5"),
        "{said}"
    );
    assert_eq!(format!("{port:?}"), "PortListener { .. }");
}

#[test]
fn port_unanswered_resume_is_cancelled() {
    let listening = listen(PortOptions::DEFAULT);
    let (port, path) = listening.parts();
    let canceller = Canceller::new().unwrap();
    let mut stream = come(path, 5);
    let found = port.wait_for(RuntimeFilter::Any, &soon()).unwrap();
    let error = thread::scope(|scope| {
        let call = scope.spawn(|| {
            found.resume(&Until { deadline: None, canceller: Some(&canceller) }).unwrap_err()
        });
        let mut asked = [0; 20];
        stream.read_exact(&mut asked).unwrap();
        assert_eq!(&asked, b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0");
        canceller.cancel();
        call.join().unwrap()
    });
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Reply, ErrorKind::Cancelled)),
        "{error}"
    );
}
