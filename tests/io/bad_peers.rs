//! Peers that misbehave cause a named error within the deadline, and use bounded memory.

use std::fs;
use std::io::{self, Read as _, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::continuation::EnvironmentLimits;
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::io::{
    Client, Connect, Deadlines, Endpoint, Error, ErrorKind, Phase, ReplyWithin, SocketTransport,
    WaitLimit,
};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, UserEventsProviderConfig, UserEventsSession,
};
use dotnet_diagnostics_ipc::message::process::{ResumeRuntime, SetEnvironmentVariable};
use dotnet_diagnostics_ipc::wire::Array;

use crate::alone;
use crate::client::{Peer, USER_EVENTS};

/// The deadline of a phase in which the peer is late.
const DEADLINE: Duration = Duration::from_millis(300);
/// The deadline of a phase that ends by itself, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENT: Deadlines = Deadlines {
    connect: Some(PATIENCE),
    send: Some(PATIENCE),
    reply: ReplyWithin::Fixed(Some(PATIENCE)),
    continuation: Some(PATIENCE),
    ..Deadlines::NONE
};
const REPLY_IS_LATE: Deadlines = Deadlines { reply: ReplyWithin::Fixed(Some(DEADLINE)), ..PATIENT };
const CONTINUATION_IS_LATE: Deadlines = Deadlines { continuation: Some(DEADLINE), ..PATIENT };

/// An OK to `ProcessInfo` for process 1, without any names.
const INFO: &[u8] = b"DOTNET_IPC_V1\0\x38\0\xff\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// Calls a peer that does `serve` to the only connection. That may fail: the client's result decides.
fn with_peer<T>(
    deadlines: Deadlines,
    serve: impl FnOnce(UnixStream) -> io::Result<()> + Send,
    call: impl FnOnce(&Client<&Peer>) -> T,
) -> T {
    let peer = Peer::saying(&[&[]]);
    thread::scope(|scope| {
        scope.spawn(|| {
            while peer.connections.lock().unwrap().is_empty() {
                thread::yield_now();
            }
            let connection = peer.connections.lock().unwrap().remove(0);
            let _ = serve(connection);
        });
        call(&Client::new(&peer).with_deadlines(deadlines))
    })
}

/// Reads a request that is only a header.
fn request(stream: &mut UnixStream) -> io::Result<()> {
    stream.read_exact(&mut [0; 20])
}

/// Waits until the client has closed the connection.
fn until_it_goes(mut stream: UnixStream) -> io::Result<()> {
    io::copy(&mut stream, &mut io::sink()).map(drop)
}

/// The error of a call, which does not time out before its deadline.
#[track_caller]
fn failing<T: std::fmt::Debug>(call: impl FnOnce() -> Result<T, Error>) -> Error {
    let began = Instant::now();
    let error = call().unwrap_err();
    let took = began.elapsed();
    assert!(
        took >= DEADLINE || !matches!(error.kind(), ErrorKind::TimedOut),
        "{error} after {took:?}"
    );
    error
}

/// Checks that an error has this phase and kind.
macro_rules! assert_fails {
    ($call:expr, $phase:ident, $kind:pat) => {
        assert_error!(failing(|| $call), $phase, $kind)
    };
}

fn asking(path: impl Into<PathBuf>) -> Result<(), Error> {
    Client::new(Endpoint::socket(path)).process_info().map(drop)
}

/// A path too long for an address can still be reached through its directory, unless its name alone
/// is too long.
#[test]
fn path_too_long_is_reached_by_its_directory_or_refused() {
    let directory = crate::directory();
    for (len, name) in [(109, 10), (300, 60), (300, 90)] {
        let mut path = directory.path().to_str().unwrap().to_owned();
        path.extend(
            std::iter::repeat_n("/d", len).flat_map(str::chars).take(len - path.len() - name - 1),
        );
        let deep = PathBuf::from(path.trim_end_matches('/'));
        fs::create_dir_all(&deep).unwrap();
        let path = deep.join("s".repeat(len - deep.as_os_str().len() - 1));
        assert_eq!(path.as_os_str().len(), len);
        let short = directory.path().join("s");
        let listener = UnixListener::bind(&short).unwrap();
        fs::rename(&short, &path).unwrap();
        if name < 80 && cfg!(target_os = "linux") {
            let _connection = Client::new(Endpoint::socket(path)).connect().unwrap();
            listener.accept().unwrap();
            continue;
        }
        assert_fails!(asking(path), Find, ErrorKind::NotAnEndpoint(_));
    }
    // A file of this name cannot exist either.
    let error = failing(|| asking("/d".repeat(2500)));
    assert!(matches!(error.phase(), Phase::Find | Phase::Trust), "{error:?}");
}

#[test]
fn peer_silent_times_out() {
    with_peer(REPLY_IS_LATE, until_it_goes, |client| {
        assert_fails!(client.process_info(), Reply, ErrorKind::TimedOut);
    });
    // By default, `Flow` says 5 s; the whole call has less here.
    let whole = Deadlines { whole: Some(DEADLINE), ..Deadlines::DEFAULT };
    with_peer(whole, until_it_goes, |client| {
        assert_fails!(client.environment(), Reply, ErrorKind::TimedOut);
    });
    // The deadlines of a connection replace those of its client.
    let whole = Deadlines { whole: Some(DEADLINE), ..Deadlines::NONE };
    with_peer(Deadlines::NONE, until_it_goes, |client| {
        let connection = client.connect().unwrap().with_deadlines(whole);
        assert_fails!(connection.call(&ResumeRuntime {}), Reply, ErrorKind::TimedOut);
    });
}

#[test]
fn peer_not_reading_times_out_in_phase() {
    /// The buffer is the smallest that the system allows.
    struct Narrow(PathBuf);
    impl Connect for Narrow {
        type Transport = SocketTransport;

        fn connect(&self, until: &WaitLimit<'_>) -> Result<SocketTransport, Error> {
            let transport = Endpoint::socket(&self.0).connect(until)?;
            rustix::net::sockopt::set_socket_send_buffer_size(&transport, 0)
                .map_err(|errno| Error::connecting(errno.into()))?;
            Ok(transport)
        }
    }

    let directory = crate::directory();
    let socket = directory.path().join("socket");
    // The peer reads nothing, so sent bytes stay in the buffer.
    let _listener = UnixListener::bind(&socket).unwrap();
    let each = Some(Duration::from_millis(20));
    let deadlines = Deadlines {
        connect: each,
        send: each,
        reply: ReplyWithin::Fixed(each),
        continuation: each,
        ..Deadlines::NONE
    };
    let client = || Client::new(Narrow(socket.clone())).with_deadlines(deadlines);
    let long = "v".repeat(30_000);
    let set = SetEnvironmentVariable { name: "N".into(), value: long.as_str().into() };
    let error = client().call(&set).unwrap_err();
    assert_error!(error, Send, ErrorKind::TimedOut);

    // At some length the request just fits in, and then the byte with the descriptor does not.
    let CollectTracing5::UserEvents(session) = USER_EVENTS else { unreachable!() };
    let provider = session.providers.iter().next().unwrap();
    let mut phases = Vec::new();
    for len in (100..8_000).step_by(100) {
        let name = "P".repeat(len);
        let providers =
            [UserEventsProviderConfig { provider_name: name.as_str().into(), ..provider }];
        let session = UserEventsSession { providers: Array::new(&providers), ..session };
        // Each connection is dropped when it is given up, but keeps its place in the backlog: the
        // listener has room for all of them.
        let error =
            client().user_events(&CollectTracing5::UserEvents(session), io::stdin()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TimedOut), "{error:?}");
        phases.push(error.phase());
        if error.phase() == Phase::Send {
            break;
        }
    }
    phases.dedup();
    assert_eq!(phases, [Phase::Reply, Phase::SendFd, Phase::Send]);
}

#[test]
fn peer_trickling_times_out_at_call_deadline() {
    // One byte each 10 ms: the deadline passes before the reply is complete, though no single byte
    // is late.
    let trickling = |mut stream: UnixStream| {
        request(&mut stream)?;
        for byte in INFO {
            stream.write_all(&[*byte])?;
            thread::sleep(Duration::from_millis(10));
        }
        until_it_goes(stream)
    };
    with_peer(REPLY_IS_LATE, trickling, |client| {
        assert_fails!(client.process_info(), Reply, ErrorKind::TimedOut);
    });
    // A slow reply is still a reply.
    let reply = with_peer(PATIENT, trickling, |client| client.process_info().unwrap());
    assert_eq!(reply.payload().unwrap().process_id, 1);

    // An environment block is limited too, by its own deadline or that of the whole call.
    let trickling = |mut stream: UnixStream| {
        request(&mut stream)?;
        stream.write_all(&environment_of(100_000))?;
        stream.write_all(&1000u32.to_le_bytes())?;
        for _ in 0..99_996 {
            stream.write_all(&[0])?;
            thread::sleep(Duration::from_millis(10));
        }
        until_it_goes(stream)
    };
    with_peer(CONTINUATION_IS_LATE, trickling, |client| {
        let call = || client.environment().and_then(|block| block.for_each(|_| ()));
        assert_fails!(call(), Continuation, ErrorKind::TimedOut);
    });
}

/// The reply that announces this size of environment.
fn environment_of(n_incoming_bytes: u32) -> Vec<u8> {
    [&b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0"[..], &n_incoming_bytes.to_le_bytes(), &[0, 0]].concat()
}

/// The resident memory of the process, in bytes.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let kib =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    kib.unwrap().parse::<u64>().unwrap() << 10
}

/// Endless bytes, 64 KiB at a time.
fn pour(stream: &mut UnixStream, bytes: &[u8]) -> io::Result<()> {
    let piece = bytes.repeat(65536 / bytes.len());
    loop {
        stream.write_all(&piece)?;
    }
}

#[test]
fn environment_of_4_gib_takes_no_memory() {
    if !alone(environment_of_4_gib_takes_no_memory) {
        return;
    }
    // By default at most 32 MiB are accepted, so none is read.
    let pouring = |mut stream: UnixStream| {
        request(&mut stream)?;
        stream.write_all(&environment_of(u32::MAX))?;
        pour(&mut stream, &[0; 4])
    };
    with_peer(PATIENT, pouring, |client| {
        let call = || client.environment().and_then(|block| block.for_each(|_| ()));
        assert_fails!(call(), Continuation, ErrorKind::LimitExceeded { limit: 0x0200_0000 });
    });

    // Without limits: entries arrive until the peer closes, more than the process may grow.
    let text = "a".repeat(1000);
    let units = text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes);
    let one: Vec<u8> = 1001u32.to_le_bytes().into_iter().chain(units).collect();
    let many = |mut stream: UnixStream| {
        request(&mut stream)?;
        stream.write_all(&environment_of(u32::MAX))?;
        stream.write_all(&(u32::MAX / 2006).to_le_bytes())?;
        let hundred = one.repeat(100);
        (0..100).try_for_each(|_| stream.write_all(&hundred))
    };
    let (before, mut most, mut entries) = (resident(), 0, 0);
    with_peer(PATIENT, many, |client| {
        let block = client.environment().unwrap().with_limits(EnvironmentLimits::NONE);
        let call = block.for_each(|entry| {
            assert_eq!(entry.text(), text.as_str());
            entries += 1;
            if entries % 1000 == 0 {
                most = most.max(resident());
            }
        });
        assert_error!(call.unwrap_err(), Continuation, ErrorKind::Ended { end: End::Closed, .. });
    });
    let grown = most.max(resident()).saturating_sub(before);
    assert_eq!(entries, 10_000);
    assert!(grown < 16 << 20, "{grown} bytes");

    // One entry without end: it has to be held, so it has a separate limit.
    let endless = |mut stream: UnixStream| {
        request(&mut stream)?;
        stream.write_all(&environment_of(u32::MAX))?;
        stream.write_all(&[1, 0, 0, 0, 0xf0, 0xff, 0xff, 0x7f])?;
        pour(&mut stream, b"a\0")
    };
    let before = resident();
    with_peer(PATIENT, endless, |client| {
        let block = client.environment().unwrap().with_limits(EnvironmentLimits::NONE);
        let error = block.for_each(|_| ()).unwrap_err();
        assert_error!(error, Continuation, ErrorKind::LimitExceeded { .. });
    });
    let grown = resident().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes");
}
