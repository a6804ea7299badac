use dotnet_diagnostics_ipc_vectors::player::{Difference, Link, Network as _, Player};
use dotnet_diagnostics_ipc_vectors::script::Life;

use super::*;
use crate::network::LiveNetwork;

fn steps(json: &str) -> Vec<Step> {
    serde_json::from_str(json).unwrap()
}

#[test]
fn script_unplayable_over_pipes_is_not_begun() {
    let mut listener = PipeListener::bind("dotnet-diagnostics-ipc-test-lacks").unwrap();
    let mut network = LiveNetwork::to("dotnet-diagnostics-ipc-test-lacks");
    for (step, why) in [
        (r#"{ "on": "a", "end": "half_close" }"#, NO_HALF_CLOSE),
        (r#"{ "on": "a", "end": "reset" }"#, NO_RESET),
        (r#"{ "on": "a", "expect_end": "reset" }"#, NO_RESET),
        (r#"{ "on": "a", "send": ["00"], "with_fd": "null" }"#, NO_DESCRIPTORS),
        (r#"{ "signal": "term" }"#, NO_SIGNALS),
        (r#"{ "expect_socket": "gone" }"#, NO_FILE_OF_THE_PORT),
    ] {
        let script = steps(&format!(r#"[{{ "open": "a" }}, {step}]"#));
        let failure = Player::new(&mut network, Duration::from_secs(5)).play(&script).unwrap_err();
        assert_eq!(
            (failure.step, failure.trouble),
            (1, PlayerError::Unavailable(why.to_owned())),
            "{step}"
        );
    }
    let until = WaitLimit {
        deadline: Instant::now().checked_add(Duration::from_millis(100)),
        ..WaitLimit::FOREVER
    };
    assert!(
        matches!(listener.accept(&until).unwrap_err().kind(), ErrorKind::TimedOut),
        "somebody has connected"
    );
}

#[test]
fn file_in_the_directory_of_the_target_is_compared() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("core.dmp"), b"MDMP\x93\xa7").unwrap();
    let mut network =
        LiveNetwork::to("dotnet-diagnostics-ipc-test-file").with_directory(directory.path());
    let mut play =
        |json: &str| Player::new(&mut network, Duration::from_millis(50)).play(&steps(json));
    assert_eq!(play(r#"[{ "expect_file": "core.dmp", "begins": ["4d444d50"] }]"#), Ok(()));
    let missing =
        format!("{}", play(r#"[{ "expect_file": "none.dmp", "begins": ["4d"] }]"#).unwrap_err());
    assert!(missing.contains("none.dmp"), "{missing}");
}

#[test]
fn bytes_are_sent_while_others_are_drained() {
    let mut listener = PipeListener::bind("dotnet-diagnostics-ipc-test-drain").unwrap();
    let server = thread::spawn(move || {
        let mut pipe = listener.accept(&WaitLimit::FOREVER).unwrap();
        // More than a pipe holds, then proof that a byte arrived meanwhile.
        let bytes = vec![7; 100_000];
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            rest = &rest[pipe.send(rest, &WaitLimit::FOREVER).unwrap()..];
        }
        let mut byte = [0];
        assert_eq!(pipe.receive(&mut byte, &WaitLimit::FOREVER).unwrap(), 1);
        pipe.send(&byte, &WaitLimit::FOREVER).unwrap();
    });
    let mut network = LiveNetwork::to("dotnet-diagnostics-ipc-test-drain");
    let script = steps(
        r#"[{ "open": "a" }, { "on": "a", "drain": true }, { "wait": 50 }, { "on": "a", "send": ["2a"] },
            { "on": "a", "expect_end": "closed", "last": "072a" }]"#,
    );
    Player::new(&mut network, Duration::from_secs(20)).play(&script).unwrap();
    server.join().unwrap();
    assert_eq!(network.drained(Link::new(0), Duration::ZERO).unwrap().len, 100_001);
}

#[test]
fn server_lives_as_long_as_its_pipe() {
    let name = "dotnet-diagnostics-ipc-test-life";
    let listener = PipeListener::bind(name).unwrap();
    let mut network = LiveNetwork::to(name).with_process(|| is_served(Path::new(name)));
    assert_eq!(network.life(Life::Dead, Duration::ZERO).unwrap(), Life::Alive);
    // Even while it is busy.
    let link = network.open(None, Duration::from_secs(5)).unwrap();
    assert_eq!(network.life(Life::Alive, Duration::ZERO).unwrap(), Life::Alive);
    network.end(link, Ending::Close).unwrap();
    drop(listener);
    assert_eq!(network.life(Life::Alive, Duration::ZERO).unwrap(), Life::Dead);
}

#[test]
fn runtime_at_port_is_asked_after_its_advertise() {
    let name = "dotnet-diagnostics-ipc-test-port-player";
    let mut network = LiveNetwork::at_port(Listener::bind(name).unwrap());
    let runtime = thread::spawn(move || {
        for (advertise, is_one) in [
            (&b"ADVR_V1\0................\x2a\0\0\0\0\0\0\0\0\0"[..], true),
            (b"GET / HTTP", false),
        ] {
            let mut pipe = PipeTransport::connect(name, &WaitLimit::FOREVER).unwrap();
            pipe.send(advertise, &WaitLimit::FOREVER).unwrap();
            if is_one {
                assert_eq!(pipe.receive(&mut [0; 20], &WaitLimit::FOREVER).unwrap(), 20);
                pipe.send(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0", &WaitLimit::FOREVER).unwrap();
            }
        }
    });
    let script = steps(
        r#"[{ "open": "a" }, { "on": "a", "send": ["444f544e45545f4950435f563100", "1400", "0401", "0000"] },
            { "on": "a", "expect": ["444f544e45545f4950435f563100", "1800", "ff00", "0000", "00000000"] },
            { "on": "a", "expect_end": "closed" }]"#,
    );
    Player::new(&mut network, Duration::from_secs(20)).play(&script).unwrap();
    let failure = network.open(None, Duration::from_secs(40)).unwrap_err();
    assert_eq!(failure, PlayerError::differs("the connection was closed inside the advertise"));
    runtime.join().unwrap();
    let failure = network.open(None, Duration::ZERO).unwrap_err();
    assert_eq!(failure, Difference::NotConnected.into());
}

#[test]
fn player_listens_as_runtime_and_at_ports() {
    let (own, port) = ("dotnet-diagnostics-ipc-test-ours", "dotnet-diagnostics-ipc-test-ours-port");
    let listener = Listener::bind(own).unwrap();
    let mut network = LiveNetwork::in_place_of_a_runtime(listener).with_port("p", port);
    network.listen("p", true).unwrap();
    let client = thread::spawn(move || {
        for name in [own, port] {
            let mut pipe = PipeTransport::connect(name, &WaitLimit::FOREVER).unwrap();
            pipe.send(b"\x2a", &WaitLimit::FOREVER).unwrap();
            assert_eq!(pipe.receive(&mut [0; 4], &WaitLimit::FOREVER).unwrap(), 0);
        }
    });
    let script = steps(
        r#"[{ "accept": "a" }, { "on": "a", "expect": ["2a"] }, { "on": "a", "end": "close" },
            { "accept": "b", "port": "p" }, { "on": "b", "expect": ["2a"] }, { "on": "b", "end": "close" },
            { "listen": false, "port": "p" }, { "listen": true, "port": "p" }, { "expect_no_connection": 50, "port": "p" }]"#,
    );
    Player::new(&mut network, Duration::from_secs(20)).play(&script).unwrap();
    client.join().unwrap();
}
