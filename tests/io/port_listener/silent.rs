//! Silent peers in great number. Counts descriptors, threads and memory by `/proc`.

use std::io::{BufRead as _, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use dotnet_diagnostics_ipc::io::Connect as _;
use dotnet_diagnostics_ipc::io::port_listener::PortOptions;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::alone;
use crate::port_listener::{advertise, come, eventually, listen, next_new, soon};

/// Makes room for this many connections; returns for how many there is room.
fn room_for(connections: u64) -> u64 {
    // A port takes at most three quarters of the descriptors.
    let (wanted, limit) = (connections * 4 / 3 + 400, getrlimit(Resource::Nofile));
    if limit.current.is_some_and(|current| current < wanted) {
        let current = limit.maximum.map_or(Some(wanted), |maximum| Some(maximum.min(wanted)));
        setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum }).unwrap();
    }
    let has = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let room = connections.min((has / 4 * 3).saturating_sub(200));
    if room < connections {
        eprintln!(
            "NOTE: {room} connections instead of {connections}: this process may open {has} descriptors"
        );
    }
    room
}

/// Passes the port to the process that plays the clients: their ends need descriptors too.
const SILENT: &str = "IO_PORT_LISTENER_SILENT";

/// Runs `test` in a separate process, or there plays the clients of [`Flood::new`]. Returns whether
/// the test continues.
fn flooded<T: Fn()>(test: T) -> bool {
    let Ok(asked) = std::env::var(SILENT) else { return alone(test) };
    let [part, connections, path] = asked.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!() };
    let connections = connections.parse().unwrap();
    assert_eq!(room_for(connections), connections);
    let connect = |nth| {
        let mut stream = UnixStream::connect(path).unwrap();
        if part == "advertising" {
            // A connection that was closed does not matter here.
            let _ = stream.write_all(&advertise(nth).to_bytes());
        }
        stream
    };
    let _clients: Vec<UnixStream> = (0..connections).map(connect).collect();
    println!("all are connected");
    let _ = std::io::stdin().read(&mut [0; 1]);
    false
}

/// Another process, which makes this many connections, all silent, or each with the advertise of
/// another runtime (`part` is `advertising`). It ends with its input.
struct Flood(std::process::Child);

impl Flood {
    fn new<T: Fn()>(_test: T, part: &str, path: &Path, connections: u64) -> Self {
        let (_, test) = std::any::type_name::<T>().split_once("::").unwrap();
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "--nocapture", test])
            .env(SILENT, format!("{part} {connections} {}", path.display()));
        let piped = std::process::Stdio::piped;
        let mut child = command.stdin(piped()).stdout(piped()).spawn().unwrap();
        let mut said = std::io::BufReader::new(child.stdout.as_mut().unwrap()).lines();
        assert!(said.any(|line| line.unwrap().contains("all are connected")), "it cannot connect");
        Self(child)
    }

    fn end(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

/// A line of `/proc/self/status`, as a number.
fn status(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn port_10000_silent_peers_runtime_gets_in() {
    if !flooded(port_10000_silent_peers_runtime_gets_in) {
        return;
    }
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let room = room_for(10_000);
    let options = PortOptions {
        advertise: Duration::from_secs(60),
        most_silent: 20_000,
        ..PortOptions::DEFAULT
    };
    let before = open();
    let listening = listen(options);
    let (port, path) = listening.parts();
    let (threads, memory) = (status("Threads:"), status("VmRSS:"));
    let mut early = UnixStream::connect(path).unwrap();
    let silent = Flood::new(port_10000_silent_peers_runtime_gets_in, "silent", path, room);
    let runtime = come(path, 77);
    assert_eq!(next_new(port).process_id(), 77);
    let counts = port.counts();
    assert_eq!((counts.silent as u64, counts.held, counts.silent_dropped), (room + 1, 1, 0));
    // The harness may have started some, for tests that wait for this one.
    assert!(status("Threads:") <= threads + 20, "no thread per connection");
    let grown = status("VmRSS:").saturating_sub(memory);
    assert!(grown < 16 * 1024, "{grown} KiB");
    // One of them can still become a runtime.
    early.write_all(&advertise(78).to_bytes()).unwrap();
    assert_eq!(next_new(port).process_id(), 78);
    silent.end();
    drop((runtime, early));
    eventually(port, |counts| counts.silent == 0 && counts.ended_early == room && counts.held == 0);
    // These are the listener, the wake-up and the epoll, but no connection.
    assert!(open() <= before + 6, "{before} before, {} after", open());
}

#[test]
fn port_10000_silent_peers_oldest_are_dropped() {
    if !flooded(port_10000_silent_peers_oldest_are_dropped) {
        return;
    }
    let options =
        PortOptions { advertise: Duration::from_secs(3), most_silent: 100, ..PortOptions::DEFAULT };
    let listening = listen(options);
    let (port, path) = listening.parts();
    let room = room_for(10_000);
    let mut oldest = UnixStream::connect(path).unwrap();
    let silent = Flood::new(port_10000_silent_peers_oldest_are_dropped, "silent", path, room);
    let mut newest = UnixStream::connect(path).unwrap();
    let _runtime = come(path, 77);
    assert_eq!(next_new(port).process_id(), 77);
    let counts = port.counts();
    assert!(counts.silent_dropped >= room - 99 && counts.silent <= 100, "{counts:?}");
    assert_eq!(oldest.read(&mut [0; 1]).unwrap(), 0, "the first was dropped");
    newest.set_nonblocking(true).unwrap();
    assert!(newest.read(&mut [0; 1]).is_err(), "the last is still there");
    // Finally all of them end.
    eventually(port, |counts| counts.silent == 0);
    assert_eq!(newest.read(&mut [0; 1]).unwrap(), 0);
    silent.end();
}

/// With the usual limit, and more runtimes than it has descriptors: the process keeps its own, and
/// a real one is finally accepted.
#[test]
fn port_1199_advertises_leave_descriptors() {
    if !flooded(port_1199_advertises_leave_descriptors) {
        return;
    }
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(1024), maximum }).unwrap();
    let options = PortOptions { held: Some(Duration::from_secs(4)), ..PortOptions::DEFAULT };
    let listening = listen(options);
    let (port, path) = listening.parts();
    let flood = Flood::new(port_1199_advertises_leave_descriptors, "advertising", path, 1199);
    eventually(port, |counts| counts.advertised == 1199);
    let counts = port.counts();
    assert!(
        counts.held <= 512 && counts.refused + counts.held_timed_out >= 1199 - 512,
        "{counts:?}"
    );
    let files: Vec<_> = (0..200).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
    drop(files);
    // Those that are not taken time out, and then there is room.
    eventually(port, |counts| counts.held_timed_out > 0);
    eventually(port, |counts| counts.held < 512);
    let _runtime = come(path, 5000);
    let found = std::iter::repeat_with(|| next_new(port)).find(|it| it.process_id() == 5000);
    drop(found.unwrap().connect(&soon()).unwrap());
    flood.end();
}

/// If no descriptor is left, the oldest silent connection gives up its own.
#[test]
fn port_no_descriptor_left_runtime_gets_in() {
    if !alone(port_no_descriptor_left_runtime_gets_in) {
        return;
    }
    let listening = listen(PortOptions::DEFAULT);
    let (port, path) = listening.parts();
    let limit = getrlimit(Resource::Nofile);
    let silent: Vec<UnixStream> = (0..50).map(|_| UnixStream::connect(path).unwrap()).collect();
    eventually(port, |counts| counts.silent == 50);
    // Room for the client's end only; open descriptors stay open.
    let highest = std::fs::read_dir("/proc/self/fd").unwrap();
    let highest = highest
        .map(|entry| entry.unwrap().file_name().to_str().unwrap().parse::<u64>().unwrap())
        .max()
        .unwrap();
    let mut fillers = Vec::new();
    setrlimit(Resource::Nofile, Rlimit { current: Some(highest + 8), maximum: limit.maximum })
        .unwrap();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        fillers.push(file);
    }
    drop(fillers.pop());
    let mut runtime = come(path, 77);
    // Asking needs no descriptor.
    let _ = port.counts();
    thread::sleep(Duration::from_millis(300));
    fillers.truncate(fillers.len().saturating_sub(4));
    setrlimit(Resource::Nofile, limit).unwrap();
    assert_eq!(next_new(port).process_id(), 77);
    let counts = port.counts();
    assert!(counts.silent_dropped >= 1, "{counts:?}");
    runtime.set_nonblocking(true).unwrap();
    assert!(runtime.read(&mut [0; 1]).is_err());
    drop(silent);
}

/// And if no connection can give one up, the port waits until there is one.
#[test]
fn port_no_descriptor_left_runtime_gets_in_later() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
    if !alone(port_no_descriptor_left_runtime_gets_in_later) {
        return;
    }
    let listening = listen(PortOptions::DEFAULT);
    let (port, path) = listening.parts();
    let limit = getrlimit(Resource::Nofile);
    let mut runtime =
        UnixStream::from(socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap());
    // Open descriptors stay open.
    setrlimit(Resource::Nofile, Rlimit { current: Some(0), maximum: limit.maximum }).unwrap();
    let connected = connect(&runtime, &SocketAddrUnix::new(path).unwrap());
    thread::sleep(Duration::from_millis(120));
    setrlimit(Resource::Nofile, limit).unwrap();
    connected.unwrap();
    runtime.write_all(&advertise(77).to_bytes()).unwrap();
    assert_eq!(next_new(port).process_id(), 77);
    let counts = port.counts();
    assert_eq!((counts.accepted, counts.silent_dropped), (1, 0));
}

/// The time that the threads of ports have used so far, in ticks of 1/100 s.
fn ticks() -> u64 {
    let mut ticks = 0;
    for thread in std::fs::read_dir("/proc/self/task").unwrap() {
        let path = thread.unwrap().path();
        // A thread may end meanwhile.
        let Ok(stat) = std::fs::read_to_string(path.join("stat")) else { continue };
        let (name, fields) = stat.rsplit_once(')').unwrap();
        if name.ends_with("diagnostic port") {
            let fields: Vec<&str> = fields.split_whitespace().collect();
            // utime and stime: fields 14 and 15 of all, of which 2 are cut off here.
            ticks += fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        }
    }
    ticks
}

/// A connection that was handed out is no longer watched: bytes that its owner leaves unread do not
/// keep the port awake. Nor does a socket on which a peer has sent a part.
#[test]
fn port_unread_bytes_use_no_cpu() {
    if !alone(port_unread_bytes_use_no_cpu) {
        return;
    }
    let listening = listen(PortOptions::DEFAULT);
    let (port, path) = listening.parts();
    let mut runtime = come(path, 77);
    let taken = next_new(port).connect(&soon()).unwrap();
    runtime.write_all(b"a reply that nobody reads").unwrap();
    let mut half = UnixStream::connect(path).unwrap();
    half.write_all(b"ADVR").unwrap();
    let before = ticks();
    thread::sleep(Duration::from_millis(500));
    let used = ticks() - before;
    assert!(used < 20, "{used} of 50 ticks");
    drop((taken, half));
}
