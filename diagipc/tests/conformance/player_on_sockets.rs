//! The player over real sockets, and what it reports if a step differs.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use diagipc::Turn;
use diagipc::network::{Listener, LiveNetwork};
use dotnet_diagnostics_ipc_vectors::player::{
    Failure, Link, Network as _, Player, PlayerError, TurnDirection,
};
use dotnet_diagnostics_ipc_vectors::script::Step;
use tempfile::TempDir;

/// The timeout of a step that must not happen.
const SHORT: Duration = Duration::from_millis(30);

fn steps(text: &str) -> Vec<Step> {
    serde_json::from_str(text).unwrap()
}

/// The address of a server that does `serves` with the first connection.
fn server(serves: impl FnOnce(UnixStream) + Send + 'static) -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || serves(listener.accept().unwrap().0));
    (directory, path)
}

fn play(mut network: LiveNetwork, text: &str) -> Result<(), Failure> {
    Player::new(&mut network, SHORT).play(&steps(text))
}

/// The number of the step that differed, and what was seen.
#[track_caller]
fn differs(network: LiveNetwork, text: &str) -> (usize, String) {
    let failure = play(network, text).unwrap_err();
    assert!(matches!(failure.trouble, PlayerError::Differs(_)), "{failure}");
    (failure.step, failure.trouble.to_string())
}

#[track_caller]
fn unavailable(network: LiveNetwork, text: &str) -> String {
    match play(network, text).unwrap_err().trouble {
        PlayerError::Unavailable(why) => why,
        other @ PlayerError::Differs(_) => panic!("{other}"),
    }
}

/// A server that reads `len` bytes, sends `answer` and closes.
fn says(len: usize, answer: &'static [u8]) -> (TempDir, PathBuf) {
    server(move |mut stream| {
        stream.read_exact(&mut vec![0; len]).unwrap();
        stream.write_all(answer).unwrap();
    })
}

/// A server that sends `answer` and waits for the end.
fn holds(answer: &'static [u8]) -> (TempDir, PathBuf) {
    server(move |mut stream| {
        stream.write_all(answer).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    })
}

/// What a server does that sends `answer`, and then waits for the end if it `holds`; the steps after
/// the connection is open; the step that differs, and what was seen.
#[test]
fn player_difference_is_reported_with_its_step() {
    let quiet = r#"{ "on": "a", "expect_nothing": 200 }"#;
    let closed = r#"{ "on": "a", "expect_end": "closed", "within_ms": 5000 }"#;
    let reset = r#"{ "on": "a", "expect_end": "reset", "within_ms": 5000 }"#;
    let a = r#"{ "on": "a", "expect": ["61"], "within_ms": 5000 }"#;
    let last = r#"{ "on": "a", "drain": true }, { "on": "a", "expect_end": "closed", "last": "01", "within_ms": 5000 }"#;
    let soon = last.replace("5000", "30");
    let last_any_of = last.replace(r#""last": "01""#, r#""last_any_of": ["01", "00000000"]"#);
    let no_end = "the connection did not end";
    for (answer, holds_on, steps, expected) in [
        (&b"ab"[..], false, quiet, Some((1, "unexpected bytes 6162"))),
        (b"ab", false, closed, Some((1, "unexpected bytes 6162"))),
        (b"", false, quiet, Some((1, "unexpected end: the connection was closed"))),
        (b"", false, reset, Some((1, "the connection ended: closed"))),
        (b"", false, a, Some((1, "the connection was closed after 0 bytes"))),
        (b"b", false, a, Some((1, "at byte 0: 62, expected 61 (received 1 byte: 62)"))),
        (
            b"a",
            true,
            r#"{ "on": "a", "expect": ["6162"] }"#,
            Some((1, "nothing more was received after 1 byte: 61")),
        ),
        (b"", true, r#"{ "on": "a", "expect_end": "any" }"#, Some((1, no_end))),
        (b"stream\x01", false, last, None),
        (
            b"stream\x02",
            false,
            last,
            Some((2, "the rest of the stream of 7 bytes ends with 02, expected 01 at its end")),
        ),
        (b"stream", true, &soon, Some((2, no_end))),
        // The ends of several formats are tested.
        (b"stream\x01", false, &last_any_of, None),
        (b"stream\0\0\0\0", false, &last_any_of, None),
        (
            b"stream\0\0",
            false,
            &last_any_of,
            Some((
                2,
                "the rest of the stream of 8 bytes ends with 616d0000, expected 01 or 00000000 at its end",
            )),
        ),
        (
            b"",
            true,
            r#"{ "on": "a", "send": ["0011"], "chunks": [1] }"#,
            Some((1, "the script's chunks do not add up to 2 bytes")),
        ),
        (b"", true, r#"{ "open": "a" }"#, Some((1, "a is used for two connections"))),
        (
            b"",
            true,
            r#"{ "on": "a", "end": "close" }, { "on": "a", "expect": ["00"] }"#,
            Some((2, "the script has closed the connection")),
        ),
    ] {
        let (_directory, path) = if holds_on { holds(answer) } else { says(0, answer) };
        let text = format!(r#"[{{ "open": "a" }}, {steps}]"#);
        let seen = play(LiveNetwork::to(path), &text).err();
        let seen = seen.map(|failure| (failure.step, failure.trouble.to_string()));
        let seen = seen.as_ref().map(|(step, said)| (*step, said.as_str()));
        assert_eq!(seen, expected, "{steps}");
    }
    // The step does not read in the background.
    let (_directory, path) = holds(b"");
    let mut network = LiveNetwork::to(path);
    let link = network.open(None, SHORT).unwrap();
    let error = network.drained(link, Duration::ZERO).unwrap_err();
    assert_eq!(error, PlayerError::differs("the connection is not read in the background"));
}

/// A runtime that is starting: its socket is waited for as long as a step may take.
#[test]
fn player_waits_for_late_socket() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("socket");
    let listens = path.clone();
    let server = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        let (mut stream, _) = UnixListener::bind(listens).unwrap().accept().unwrap();
        stream.write_all(b"hi").unwrap();
    });
    let script = r#"[{ "open": "a" }, { "on": "a", "expect": ["6869"] }, { "on": "a", "expect_end": "closed" }]"#;
    let mut network = LiveNetwork::to(&path);
    Player::new(&mut network, Duration::from_secs(10)).play(&steps(script)).unwrap();
    server.join().unwrap();
    // The wait is not longer than that.
    let (step, said) = differs(LiveNetwork::to(directory.path().join("other")), script);
    assert!(step == 0 && said.contains("other"), "{step}: {said}");
}

#[test]
fn player_target_life_is_read_from_process() {
    let directory = TempDir::new().unwrap();
    let network = || LiveNetwork::to(directory.path().join("nobody"));
    let (alive, dead) = (r#"[{ "expect_target": "alive" }]"#, r#"[{ "expect_target": "dead" }]"#);
    assert_eq!(unavailable(network(), alive), "the target's process is unknown");
    assert_eq!(differs(network().with_process(|| false), alive).1, "the target is dead");
    assert_eq!(differs(network().with_process(|| true), dead).1, "the target is alive");
    // It takes a moment to end.
    let asked = Arc::new(AtomicBool::new(false));
    let dies = network().with_process(move || !asked.swap(true, Ordering::Relaxed));
    assert_eq!(play(dies, dead), Ok(()));
}

/// Bytes of the connections are kept for reports, and captures for later steps.
#[test]
fn player_failure_keeps_other_connections() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let kept = Arc::new(Mutex::new(Vec::new()));
    let streams = Arc::clone(&kept);
    thread::spawn(move || {
        for said in [&b"one"[..], b"two"] {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(said).unwrap();
            streams.lock().unwrap().push(stream);
        }
    });
    let mut network = LiveNetwork::to(path);
    let mut player = Player::new(&mut network, SHORT);
    let text = r#"[{ "open": "a" }, { "open": "b" }, { "on": "b", "expect": [{ "any": 3, "as": "what" }], "within_ms": 5000 },
        { "on": "b", "expect": ["00"] }]"#;
    let failure = player.play(&steps(text)).unwrap_err();
    assert_eq!(failure.step, 3);
    assert_eq!(player.conversation().captures.get("what").map(Vec::as_slice), Some(&b"two"[..]));
    let turns = Turn::all(player.conversation());
    let came = turns.iter().map(|one| (one.connection.as_str(), one.direction, &one.bytes[..]));
    assert_eq!(
        came.collect::<Vec<_>>(),
        [("b", TurnDirection::Received, &b"two"[..]), ("a", TurnDirection::Received, b"one")]
    );
    player.close_all().unwrap();
    assert_eq!(player.link("a"), Err(PlayerError::differs("no connection a")));
    assert!(matches!(network.receive(Link::new(9), 1, SHORT), Err(PlayerError::Differs(_))));
}

/// Unread bytes make the end a reset.
#[test]
fn player_reset_differs_from_close() {
    let ends = |end: &str| {
        let (_directory, path) = server(|mut stream| {
            stream.read_exact(&mut [0; 1]).unwrap();
            thread::sleep(Duration::from_millis(50));
        });
        let sends = r#"{ "open": "a" }, { "on": "a", "send": ["0102"] }"#;
        let end = format!(r#"{{ "on": "a", "expect_end": "{end}", "within_ms": 5000 }}"#);
        play(LiveNetwork::to(path), &format!("[{sends}, {end}]"))
    };
    assert_eq!(ends("reset"), Ok(()));
    let failure = ends("closed").unwrap_err();
    assert!(failure.step == 2 && failure.trouble.to_string().contains("reset"), "{failure}");
}

#[test]
fn player_failed_send_is_reported() {
    // The server refuses, and reads nothing of what follows.
    let sends = r#"[{ "open": "a" }, { "on": "a", "send": ["00"] }, { "wait": 100 }, { "on": "a", "send": ["0011"], "may_fail": MAY }]"#;
    let (_directory, path) = says(1, b"refused");
    let (step, said) = differs(LiveNetwork::to(path), &sends.replace("MAY", "false"));
    let (begins, ends) = ("the peer no longer reads: ", "; received 7 bytes: 72656675736564");
    assert!(step == 3 && said.starts_with(begins) && said.ends_with(ends), "{step}: {said}");
    let (_directory, path) = says(1, b"refused");
    assert_eq!(play(LiveNetwork::to(path), &sends.replace("MAY", "true")), Ok(()));

    // The connection stays open, and nothing is read.
    let (_directory, path) = server(|stream| {
        thread::sleep(Duration::from_millis(300));
        drop(stream);
    });
    let mut network = LiveNetwork::to(path);
    let mut player = Player::new(&mut network, SHORT);
    player.open("a", SHORT).unwrap();
    let until = player.network().now() + SHORT;
    let error = player.send("a", &vec![0; 4_000_000], None, until).unwrap_err().to_string();
    let ends = " of 4000000 bytes could not be sent in time";
    assert!(error.starts_with("the peer does not read: ") && error.ends_with(ends), "{error}");
}

#[test]
fn player_missing_connection_is_error() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    let nobody = || LiveNetwork::to(path("nobody"));
    assert_eq!(differs(nobody(), r#"[{ "open": "a", "within_ms": 30 }]"#).0, 0);
    assert_eq!(differs(nobody(), r#"[{ "on": "b", "send": ["00"] }]"#).1, "no connection b");
    assert_eq!(differs(nobody(), r#"[{ "accept": "a" }]"#).1, "the player does not listen there");
    for step in [r#"[{ "open": "a", "port": "p" }]"#, r#"[{ "port": "p", "listen": true }]"#] {
        assert_eq!(unavailable(nobody(), step), "no port p");
    }
    let ours = || LiveNetwork::in_place_of_a_runtime(Listener::bind(path("ours")).unwrap());
    assert_eq!(differs(ours(), r#"[{ "open": "a" }]"#).1, "the player itself listens there");
    assert_eq!(differs(ours(), r#"[{ "accept": "a" }]"#).1, "no connection");
    let called = ours();
    let _client = UnixStream::connect(path("ours")).unwrap();
    assert_eq!(differs(called, r#"[{ "expect_no_connection": 30 }]"#).1, "unexpected connection");
    assert!(!path("ours").exists());
    // Another file is there.
    std::fs::write(path("file"), b"").unwrap();
    let port = nobody().with_port("p", path("file"));
    assert_eq!(differs(port, r#"[{ "port": "p", "listen": true }]"#).0, 0);
}

/// A missing ability of this machine is not a fault of the side under test.
#[test]
fn player_descriptor_is_passed_if_present() {
    let send = |kind: &str| {
        let (_directory, path) = holds(b"");
        let step = format!(r#"{{ "on": "a", "send": ["00"], "with_fd": "{kind}" }}"#);
        let played = play(LiveNetwork::to(path), &format!(r#"[{{ "open": "a" }}, {step}]"#));
        played.map_err(|failure| failure.trouble)
    };
    for kind in ["null", "pipe"] {
        assert_eq!(send(kind), Ok(()), "{kind}");
    }
    let none = PlayerError::Unavailable("there is no user_events_data here".into());
    assert_eq!(send("user_events_data"), Err(none));
}

#[test]
fn player_port_runtime_advertises_first() {
    const ADVERTISE: &[u8] = b"ADVR_V1\0\x67\x45\x3e\x12\x9b\xe8\xd3\x12\xa4\x56\x42\x66\x14\x17\x40\0\x39\x30\0\0\0\0\0\0\0\0";
    let directory = TempDir::new().unwrap();
    let open = |name: &str, said: &[u8], holds: bool| {
        let path = directory.path().join(name);
        let network = LiveNetwork::at_port(Listener::bind(&path).unwrap());
        let mut runtime = UnixStream::connect(path).unwrap();
        runtime.write_all(said).unwrap();
        let runtime = holds.then_some(runtime);
        let played = play(network, r#"[{ "open": "a" }]"#);
        drop(runtime);
        played.map_err(|failure| failure.trouble.to_string())
    };
    assert_eq!(open("whole", ADVERTISE, true), Ok(()));
    let cut = open("cut", &ADVERTISE[..33], false).unwrap_err();
    assert_eq!(cut, "the connection was closed inside the advertise");
    let slow = open("slow", &ADVERTISE[..33], true).unwrap_err();
    assert_eq!(slow, "no complete advertise was received");
    let other = open("other", &[&b"ADVR_V2\0"[..], &ADVERTISE[8..]].concat(), true).unwrap_err();
    assert!(other.starts_with("not an advertise: "), "{other}");
    let network = LiveNetwork::at_port(Listener::bind(directory.path().join("nobody")).unwrap());
    assert_eq!(differs(network, r#"[{ "open": "a" }]"#).1, "no connection");
}
