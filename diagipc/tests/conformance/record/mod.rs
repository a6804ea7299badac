//! The proxy, its recordings, and their replay.

mod captured;

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use diagipc::network::{Listener, LiveNetwork};
use diagipc::record::{Direction, Log, Proxy, Recording, script_file};
use diagipc::runtime::ReferenceRuntime;
use dotnet_diagnostics_ipc::io::{Canceller, Client, Endpoint};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, EventLevel, Format, ProviderConfig,
};
use dotnet_diagnostics_ipc::wire::Array;
use dotnet_diagnostics_ipc_vectors::player::{Failure, Network as _, Player};
use dotnet_diagnostics_ipc_vectors::script::{Ending, Plays, Step};
use dotnet_diagnostics_ipc_vectors::{Hazard, ScriptFile, Value, parse_scripts};
use tempfile::TempDir;

use crate::reference_runtime::start;
use crate::tool::{self, DIAGIPC};

const WITHIN: Duration = Duration::from_secs(5);

/// Cancels on drop: a failed check ends its test, and does not block it.
struct Cancels<'c>(&'c Canceller);

impl Drop for Cancels<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Calls `with` with the socket of a proxy; returns what went over it.
fn recorded<T>(
    connections: u64,
    to: &Path,
    is_port: bool,
    with: impl FnOnce(&Path) -> T,
) -> (T, Recording) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("proxy");
    let proxy = Proxy::new(Listener::bind(&path).unwrap(), Endpoint::socket(to));
    let proxy = Proxy { records: true, runtime_connects: is_port, ..proxy };
    let canceller = Canceller::new().unwrap();
    thread::scope(|scope| {
        let (over, is_over) = mpsc::channel();
        let (proxy, canceller_of) = (&proxy, &canceller);
        let running = scope.spawn(move || {
            let recording = proxy.run(canceller_of, Some(connections), &|_| {});
            over.send(()).unwrap();
            recording
        });
        let cancels = Cancels(&canceller);
        let given = with(&path);
        let ended = is_over.recv_timeout(Duration::from_secs(60));
        drop(cancels);
        let recording = running.join().unwrap().unwrap();
        ended.expect("every connection ends with its two sides");
        (given, recording)
    })
}

/// Returns the script of a recording after a round trip through a file.
fn scripts(recording: &Recording) -> ScriptFile {
    let file = script_file(recording, "test").unwrap();
    let document: Value = serde_json::to_value(&file).unwrap();
    assert_eq!(
        crate::schema::Schema::at("../vectors/schema/exchanges.schema.json").objection(&document),
        None
    );
    assert_eq!(parse_scripts("test.json", &document.to_string()).unwrap(), file);
    file
}

fn play(mut network: LiveNetwork, steps: &[Step]) -> Result<(), Failure> {
    let mut player = Player::new(&mut network, WITHIN);
    let outcome = player.play(steps);
    player.close_all().unwrap();
    outcome
}

fn steps(text: &str) -> Vec<Step> {
    serde_json::from_str(text).unwrap()
}

/// A runtime whose process info, environment and ids are its own.
fn runtime(environment: &str) -> (ReferenceRuntime, TempDir) {
    start(|config| {
        config.has_short_rundown = true;
        config.environment = vec![environment.to_owned()];
    })
}

fn info(path: &Path) {
    Client::new(Endpoint::socket(path)).process_info3().unwrap();
}

fn trace(path: &Path) {
    let providers = [ProviderConfig::new("Provider", 1, EventLevel::INFORMATIONAL)];
    let request = CollectTracing2 {
        circular_buffer_mb: 4,
        format: Format::NET_TRACE,
        request_rundown: false,
        providers: Array::new(&providers),
    };
    let client = Client::new(Endpoint::socket(path));
    let mut trace = client.trace(&request).unwrap();
    let mut stream = vec![0; 8];
    trace.read_exact(&mut stream).unwrap();
    let stop_handle = trace.stop_handle(&client);
    let stopping = thread::spawn(move || stop_handle.stop());
    trace.read_to_end(&mut stream).unwrap();
    assert!(stream.starts_with(b"Nettrace"));
    stopping.join().unwrap().unwrap();
}

/// Runs `diagipc`: its exit status, and what it printed.
#[track_caller]
fn says(arguments: &[&str], status: i32) -> String {
    let output = tool::run(arguments, b"", status);
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

fn write(directory: &TempDir, name: &str, file: &ScriptFile) -> String {
    let path = directory.path().join(name);
    fs::write(&path, serde_json::to_string(file).unwrap()).unwrap();
    path.display().to_string()
}

/// Another runtime has other ids, another environment, and another length of the stream.
#[test]
fn replay_names_difference_and_needs_permission() {
    let directory = TempDir::new().unwrap();
    let (first, _first) = runtime("A=1");
    let ((), recording) = recorded(4, first.socket(), false, |path| {
        info(path);
        Client::new(Endpoint::socket(path)).environment().unwrap().for_each(|_| ()).unwrap();
        trace(path);
    });
    let file = scripts(&recording);
    assert!(matches!(file.scripts[0].plays, Plays::Client(_)));
    assert_eq!(file.scripts[0].hazard, None);
    let harmless = write(&directory, "trace.json", &file);
    let ((), recording) = recorded(1, first.socket(), false, |path| {
        Client::new(Endpoint::socket(path)).resume().unwrap();
    });
    let mut file = scripts(&recording);
    assert_eq!(file.scripts[0].hazard, Some(Hazard::Harmful));
    let resume = write(&directory, "resume.json", &file);
    file.scripts[0].hazard = Some(Hazard::SideEffect);
    let changes = write(&directory, "changes.json", &file);

    let (second, _second) = runtime("LONGER=12345");
    let to = second.socket().to_str().unwrap();
    says(&["replay", &harmless, "--to", to], 0);
    for (script, option) in [(resume, "--allow-harmful"), (changes, "--allow-side-effects")] {
        let said = says(&["replay", &script, "--to", to], 2);
        assert!(said.contains(option), "{said}");
        says(&["replay", &script, "--to", to, option], 0);
    }
    // 3.1 does not know the first request.
    let old = tool::Runtime::start(&["--profile", "coreclr-3.1"]);
    let said = says(&["replay", &harmless, "--to", &old.socket], 1);
    let sent = "a sent 20 bytes: 444f544e45545f4950435f563100140004080000";
    assert!(said.contains("expect on a: ") && said.contains(sent), "{said}");
    assert!(said.contains("a seen "), "{said}");
    says(&["replay", &harmless, "--to", "/nonexistent"], 3);
}

/// A client that is started finds the proxy as the process that it would ask. An existing file, or
/// the target of a symbolic link, is kept: the recording takes another name.
#[test]
fn record_client_finds_runtime_by_process() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (runtime, _runtime) = runtime("A=1");
    let to = runtime.socket().to_str().unwrap();
    let [out, target] = ["out", "target"].map(path);
    fs::create_dir(&out).unwrap();
    fs::write(&target, "kept").unwrap();
    fs::write(format!("{out}/an-info.json"), "kept").unwrap();
    std::os::unix::fs::symlink(&target, format!("{out}/an-info-2.txt")).unwrap();
    let proxy = ["proxy", "--out", &out, "--name", "An Info", "--to", to, "--"];
    let client = [DIAGIPC, "call", "--pid", "{pid}", "process-info"];
    let said = says(&[&proxy[..], &client].concat(), 0);
    assert!(said.contains("Process/ProcessInfo3: 20 bytes sent"), "{said}");
    for kept in [format!("{out}/an-info.json"), target] {
        assert_eq!(fs::read_to_string(kept).unwrap(), "kept");
    }
    says(&["replay", &format!("{out}/an-info-3.json"), "--to", to], 0);
    let words = fs::read_to_string(format!("{out}/an-info-3.txt")).unwrap();
    assert!(words.contains("request Process/ProcessInfo3"), "{words}");
    let lines = words.lines().filter_map(|line| Some(line.split_once(" s    0  ")?.1));
    let events: Vec<&str> = lines.map(|line| line.split(" bytes").next().unwrap()).collect();
    assert_eq!((events[0], events[1]), ("opened", "client: 20"));
    // The client needs no end, so either side may close first.
    assert!(events.last().is_some_and(|last| last.ends_with(": closed")), "{words}");

    // A client that fails is recorded, and reported.
    let fails = ["sh", "-c", "test -S '{socket}' && exit 7"];
    let said = says(&[&proxy[..], &fails].concat(), 1);
    assert!(said.contains("exit status: 7"), "{said}");
    says(&["proxy", "--out", &out, "--to", "/nonexistent", "--", "true"], 3);
}

/// Plays `runtime` and `client` to each other through a proxy.
fn through_a_proxy(runtime: &str, client: &str) -> Recording {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("runtime");
    let (network, runtime) =
        (LiveNetwork::in_place_of_a_runtime(Listener::bind(&path).unwrap()), steps(runtime));
    let playing = thread::spawn(move || play(network, &runtime));
    let (client, recording) =
        recorded(1, &path, false, |at| play(LiveNetwork::to(at), &steps(client)));
    client.unwrap();
    playing.join().unwrap().unwrap();
    recording
}

const RESUME: &str = r#""444f544e45545f4950435f563100140004010000""#;

const OK: &str = r#""444f544e45545f4950435f5631001800ff00000000000000""#;

/// The header of an OK, of any size.
const OK_IS_EXPECTED: &str =
    r#"{ "on": "a", "expect": ["444f544e45545f4950435f563100", { "any": 2 }, "ff000000"] }"#;

#[test]
fn record_descriptor_stays_on_its_byte() {
    // Nothing separates the request from the byte: both are in the proxy's socket together (F-20).
    let runtime = format!(
        r#"[{{ "accept": "a" }}, {{ "wait": 50 }}, {{ "on": "a", "expect": [{RESUME}] }}, {{ "on": "a", "expect": ["00"], "with_fd": true }},
            {{ "on": "a", "expect": ["0102"] }}, {{ "on": "a", "send": [{OK}] }}, {{ "on": "a", "expect_end": "closed" }}]"#
    );
    let client = format!(
        r#"[{{ "open": "a" }}, {{ "on": "a", "send": [{RESUME}] }}, {{ "on": "a", "send": ["00"], "with_fd": "pipe" }},
            {{ "on": "a", "send": ["01"] }}, {{ "wait": 100 }}, {{ "on": "a", "send": ["02"] }}, {{ "on": "a", "expect": [{OK}] }},
            {{ "on": "a", "end": "close" }}]"#
    );
    let file = scripts(&through_a_proxy(&runtime, &client));
    let with_fd = serde_json::to_string(&file.scripts[0].steps[2]).unwrap();
    assert_eq!(with_fd, r#"{"on":"a","send":["00"],"with_fd":"pipe"}"#);
    assert_eq!(file.scripts[0].hazard, Some(Hazard::Harmful));
}

/// Longer than the time between two pieces that count as one.
const APART: Duration = Duration::from_millis(20);

/// A conversation in pieces. Each is sent after the one before has passed the proxy, however long
/// that takes.
fn piece_by_piece() -> Recording {
    const REQUEST: &[u8; 20] = b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0";
    const REPLY: &[u8; 24] = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("runtime");
    let listener = UnixListener::bind(&path).unwrap();
    let (came, comes) = mpsc::channel();
    let (taken, is_taken) = mpsc::channel();
    let runtime = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 1]).unwrap();
        came.send(()).unwrap();
        stream.read_exact(&mut [0; 19]).unwrap();
        assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
        stream.write_all(&REPLY[..20]).unwrap();
        is_taken.recv().unwrap();
        thread::sleep(APART);
        stream.write_all(&REPLY[20..]).unwrap();
    });
    let ((), recording) = recorded(1, &path, false, |at| {
        let mut stream = UnixStream::connect(at).unwrap();
        stream.write_all(&REQUEST[..1]).unwrap();
        comes.recv().unwrap();
        thread::sleep(APART);
        stream.write_all(&REQUEST[1..]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        stream.read_exact(&mut [0; 20]).unwrap();
        taken.send(()).unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, REPLY[20..]);
    });
    runtime.join().unwrap();
    recording
}

#[test]
fn record_pieces_half_closes_and_resets_are_kept() {
    let client = format!(
        r#"[{{ "open": "a" }}, {{ "on": "a", "send": ["44"] }},
            {{ "on": "a", "send": ["4f544e45545f4950435f563100140004010000"] }}, {{ "on": "a", "end": "half_close" }},
            {OK_IS_EXPECTED}, {{ "on": "a", "drain": true }}, {{ "on": "a", "expect_end": "closed" }}]"#
    );
    let file = scripts(&piece_by_piece());
    assert_eq!(file.scripts[0].steps, steps(&client));
    assert_eq!(file.scripts[0].hazard, Some(Hazard::Harmful));

    // The bytes after the request are not read, so the end is a reset (F-70).
    let runtime = format!(
        r#"[{{ "accept": "a" }}, {{ "on": "a", "expect": [{RESUME}] }}, {{ "on": "a", "send": [{OK}] }}, {{ "on": "a", "end": "reset" }}]"#
    );
    let client = format!(
        r#"[{{ "open": "a" }}, {{ "on": "a", "send": [{RESUME}, "aabb"] }}, {{ "on": "a", "expect": [{OK}] }},
            {{ "on": "a", "expect_end": "reset" }}]"#
    );
    let file = scripts(&through_a_proxy(&runtime, &client));
    let played = format!(
        r#"[{{ "open": "a" }}, {{ "on": "a", "send": ["444f544e45545f4950435f563100140004010000aabb"] }}, {OK_IS_EXPECTED},
            {{ "on": "a", "drain": true }}, {{ "on": "a", "expect_end": "reset" }}]"#
    );
    assert_eq!(file.scripts[0].steps, steps(&played));
}

/// What the client does not read is lost, as without the proxy, and neither side is blocked.
#[test]
fn record_client_gone_frees_runtime() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("runtime");
    let listener = UnixListener::bind(&path).unwrap();
    let playing = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_write_timeout(Some(WITHIN)).unwrap();
        // This is more than all sockets on the way hold.
        let end = (0..400).try_for_each(|_| stream.write_all(&[7; 10_000]));
        end.map_err(|error| error.kind())
    });
    let ((), recording) = recorded(1, &path, false, |at| {
        let mut stream = UnixStream::connect(at).unwrap();
        stream.read_exact(&mut vec![0; 20_000]).unwrap();
    });
    let ended = playing.join().unwrap();
    assert!(
        ended.is_ok()
            || ended.is_err_and(|kind| matches!(
                kind,
                ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
            )),
        "{ended:?}"
    );
    assert!(recording.conversation.connections[0].came.len >= 20_000);
}

#[test]
fn record_port_is_reversed() {
    const ADVERTISE: &str = "414456525f56310067453e129be8d312a45642661417400039300000000000000000";
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tool");
    let mut tool = LiveNetwork::to(&path).with_port("p", &path);
    tool.listen("p", true).unwrap();
    let asks = steps(&format!(
        r#"[{{ "accept": "a", "port": "p" }}, {{ "on": "a", "expect": ["{ADVERTISE}"] }}, {{ "on": "a", "send": [{RESUME}] }},
            {{ "on": "a", "expect": [{OK}] }}, {{ "on": "a", "expect_end": "closed" }}]"#
    ));
    let asking = thread::spawn(move || play(tool, &asks));
    let answers = steps(&format!(
        r#"[{{ "open": "a", "port": "p" }}, {{ "on": "a", "send": ["{ADVERTISE}"] }}, {{ "on": "a", "expect": [{RESUME}] }},
            {{ "on": "a", "send": [{OK}] }}, {{ "on": "a", "end": "close" }}]"#
    ));
    let (played, recording) =
        recorded(1, &path, true, |at| play(LiveNetwork::to(at).with_port("p", at), &answers));
    played.unwrap();
    asking.join().unwrap().unwrap();
    let file = scripts(&recording);
    let Plays::Client(part) = &file.scripts[0].plays else { panic!() };
    assert_eq!(part.target.ports.len(), 1);
}

#[test]
fn record_without_runtime_refuses_client() {
    let directory = TempDir::new().unwrap();
    let nobody = directory.path().join("nobody");
    let client = steps(&format!(
        r#"[{{ "open": "a" }}, {{ "on": "a", "send": [{RESUME}], "may_fail": true }}, {{ "on": "a", "expect_end": "any" }}]"#
    ));
    let (played, recording) = recorded(1, &nobody, false, |at| play(LiveNetwork::to(at), &client));
    played.unwrap();
    let script = &scripts(&recording).scripts[0];
    assert_eq!(script.steps.last().map(Step::verb), Some("expect_end"), "{script:?}");
}

#[test]
fn record_other_bytes_are_kept_as_harmful() {
    // Raw memory in place of a reply (F-71), in two parts; the client sends something in between.
    let runtime = r#"[{ "accept": "a" }, { "on": "a", "expect": ["444f544e45545f4950435f5631001600040000000000"] },
        { "on": "a", "send": ["0011223344"] }, { "on": "a", "expect": ["ff"] }, { "on": "a", "send": ["5566"] }, { "on": "a", "end": "close" }]"#;
    let client = r#"[{ "open": "a" }, { "on": "a", "send": ["444f544e45545f4950435f5631001600040000000000"] },
        { "on": "a", "expect": ["0011223344"] }, { "on": "a", "send": ["ff"] }, { "on": "a", "expect": ["5566"] }, { "on": "a", "expect_end": "closed" }]"#;
    let file = scripts(&through_a_proxy(runtime, client));
    let played = r#"[{ "open": "a" }, { "on": "a", "send": ["444f544e45545f4950435f5631001600040000000000"] },
        { "on": "a", "drain": true }, { "on": "a", "send": ["ff"] }, { "on": "a", "expect_end": "closed" }]"#;
    assert_eq!(file.scripts[0].steps, steps(played));
    assert_eq!(file.scripts[0].hazard, Some(Hazard::Harmful));
}

#[test]
fn record_is_harmful_unless_requests_only_ask() {
    let files = dotnet_diagnostics_ipc_vectors::files().unwrap();
    let groups = files.iter().flat_map(|file| &file.groups);
    let tests: Vec<_> = groups.flat_map(|group| &group.tests).collect();
    // Streaming sessions, sessions with user_events, a resume.
    for (tc_ids, hazard) in
        [([6001, 6400].as_slice(), None), (&[6200, 6500, 8110], Some(Hazard::Harmful))]
    {
        for tc_id in tc_ids {
            let test = tests.iter().find(|test| test.tc_id == *tc_id).unwrap();
            let log = Log::new(false);
            let connection = log.opened();
            log.piece(connection, Direction::Client, test.wire.as_deref().unwrap(), Vec::new());
            let file = script_file(&log.recording(), "asked").unwrap();
            assert_eq!(file.scripts[0].hazard, hazard, "tcId {tc_id}");
        }
    }
}

#[test]
fn record_of_many_connections_keeps_first() {
    let log = Log::new(false);
    for nth in 0..Recording::CONNECTIONS + 3 {
        let connection = log.opened();
        assert_eq!(connection, Some(nth).filter(|nth| *nth < Recording::CONNECTIONS));
        log.piece(connection, Direction::Client, b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0", Vec::new());
        log.ended(connection, Direction::Server, Ending::Close);
    }
    // A number that no connection has.
    log.piece(Some(Recording::CONNECTIONS), Direction::Client, b"lost", Vec::new());
    let recording = log.recording();
    let conversation = &recording.conversation;
    let kept = (conversation.connections.len(), recording.more_connections);
    assert_eq!(kept, (Recording::CONNECTIONS, 3));
    assert_eq!(conversation.events.len(), 3 * Recording::CONNECTIONS);
    assert_eq!(log.take(), recording);
    let file = script_file(&recording, "many").unwrap();
    let opened = file.scripts[0].steps.iter().filter_map(|step| match step {
        Step::Open(step) => Some(step.open.as_str()),
        _ => None,
    });
    let names: Vec<_> = opened.collect();
    assert_eq!(names.len(), Recording::CONNECTIONS);
    assert_eq!((names[0], names[25], names[26]), ("a", "z", "c26"));
}
