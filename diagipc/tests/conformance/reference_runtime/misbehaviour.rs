//! The faults that the reference runtime can show, as a client sees them.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use diagipc::known::Profile;
use diagipc::network::LiveNetwork;
use diagipc::runtime::{Misbehaviour, MisbehaviourKind, ReferenceRuntime};
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::player::Player;
use dotnet_diagnostics_ipc_vectors::script::Step;

use crate::reference_runtime::{End, ask, ask_for_dump, message, read, request, start};

const RESUME: u16 = 0x0401;
const UNKNOWN: u16 = 0x0463;
const OK: &str = "444f544e45545f4950435f5631001800ff00000000000000";
const ERROR: &str = "444f544e45545f4950435f5631001800ffff000085131380";

/// The answer to one request without payload, and the end.
const REPLIES: &[(&str, u16, &str, End)] = &[
    ("never-accepts", RESUME, "", End::Open),
    ("never-answers", RESUME, "", End::Open),
    ("silent-after=10", RESUME, "444f544e45545f495043", End::Open),
    ("truncate=22", RESUME, "444f544e45545f4950435f5631001800ff0000000000", End::Closed),
    ("truncate=0", RESUME, "", End::Closed),
    ("truncate=24", RESUME, OK, End::Closed),
    ("refuse", RESUME, "444f544e45545f4950435f5631001800ffff000005400080", End::Closed),
    ("refuse=0x80131385", RESUME, ERROR, End::Closed),
    ("error-without-close", UNKNOWN, ERROR, End::Open),
    ("error-without-close", RESUME, OK, End::Closed),
    ("never-closes", UNKNOWN, ERROR, End::Open),
    ("never-closes", RESUME, OK, End::Open),
    ("no-header", RESUME, "00000000", End::Closed),
    ("no-header", UNKNOWN, "85131380", End::Closed),
    ("size", RESUME, "444f544e45545f4950435f5631001300ff00000000000000", End::Closed),
    ("size=0xffff", RESUME, "444f544e45545f4950435f563100ffffff00000000000000", End::Closed),
    ("size-more=8", RESUME, "444f544e45545f4950435f5631002000ff00000000000000", End::Closed),
    ("magic", RESUME, "444f544e45545f4950435f5632001800ff00000000000000", End::Closed),
    ("command-set=4", RESUME, "444f544e45545f4950435f56310018000400000000000000", End::Closed),
    ("command-id=1", UNKNOWN, "444f544e45545f4950435f5631001800ff01000085131380", End::Closed),
    ("ok-size=20", RESUME, "444f544e45545f4950435f5631001400ff000000", End::Closed),
    ("ok-size=28", RESUME, "444f544e45545f4950435f5631001c00ff0000000000000000000000", End::Closed),
    ("ok-size=28", UNKNOWN, ERROR, End::Closed),
    (
        "error-size=28",
        UNKNOWN,
        "444f544e45545f4950435f5631001c00ffff00008513138000000000",
        End::Closed,
    ),
    ("error-size=20", UNKNOWN, "444f544e45545f4950435f5631001400ffff0000", End::Closed),
    ("reset", RESUME, OK, End::Reset),
    ("reset", UNKNOWN, ERROR, End::Reset),
];

/// The misbehaviours with a test of their own, here or in `program`, because a process dies.
const OTHERS: &str = "trickle late dies-of-empty-payload echo-payload second-reply socket-gone one-write \
    reply-before-descriptor environment-bytes-less environment-bytes-more environment-count-less \
    environment-count-more environment-error environment-cut stream-cut stream-never-ends \
    stop-another stop-unanswered advertise-magic advertise-cut";

fn wrong(text: &str) -> (ReferenceRuntime, tempfile::TempDir) {
    start(|config| config.misbehaviours.push(Misbehaviour::parse(text).unwrap()))
}

#[test]
fn misbehaviour_each_kind_has_a_test() {
    let here: BTreeSet<_> = REPLIES
        .iter()
        .map(|(text, ..)| text.split('=').next().unwrap())
        .chain(OTHERS.split_whitespace())
        .collect();
    let all: BTreeSet<_> = MisbehaviourKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(here, all);
}

#[test]
fn misbehaviour_replies_are_wrong() {
    for (text, code, expected, expected_end) in REPLIES {
        let (runtime, _directory) = wrong(text);
        let (reply, end) = ask(runtime.socket(), &request(*code));
        assert_eq!(
            (hex::encode(reply).as_str(), end),
            (*expected, *expected_end),
            "{text} {code:#06x}"
        );
    }
}

#[test]
fn misbehaviour_delays_reply() {
    let (runtime, _directory) = wrong("trickle=10");
    let began = Instant::now();
    let answer = ask(runtime.socket(), &request(RESUME));
    assert_eq!(answer, (hex::decode(OK).unwrap(), End::Closed));
    assert!(began.elapsed() >= Duration::from_millis(230), "{:?}", began.elapsed());

    let (runtime, _directory) = wrong("late=900");
    let mut stream = UnixStream::connect(runtime.socket()).unwrap();
    stream.write_all(&request(RESUME)).unwrap();
    assert_eq!(read(&mut stream), (Vec::new(), End::Open));
    assert_eq!(read(&mut stream), (hex::decode(OK).unwrap(), End::Closed));
}

/// A dump with a name without units.
const DUMP: [u8; 14] = [1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0];

/// What replies to a request with a payload, and the block that may follow, become.
#[test]
fn misbehaviour_of_a_request_with_payload() {
    let refused = "444f544e45545f4950435f5631001800ffff000005400080";
    let stop = [1, 2, 3, 4, 5, 6, 7, 8];
    let files = vectors::files().unwrap();
    let mut groups = files.iter().flat_map(|file| &file.groups);
    let block = groups.find(|group| group.name == "net10.0.9-environment-block").unwrap();
    let block = block.tests[0].wire.clone().unwrap();
    let echo = [&b"PAYLOAD!"[..], &[0; 20]].concat();
    for (text, request, expected, end) in [
        ("echo-payload", message(0x0404, b"PAYLOAD!"), echo.clone(), End::Closed),
        ("echo-payload", message(0x0402, b"PAYLOAD!"), [echo, block].concat(), End::Closed),
        (
            "second-reply",
            message(0x0101, &DUMP),
            hex::decode([OK, refused].concat()).unwrap(),
            End::Closed,
        ),
        ("socket-gone", message(0x0101, &DUMP), hex::decode(OK).unwrap(), End::Closed),
        ("reset", message(0x0201, &stop), message(0xff00, &stop), End::Reset),
    ] {
        let (runtime, _directory) = wrong(text);
        let answer = ask_for_dump(runtime.socket(), &request);
        assert_eq!(answer, (expected, end), "{text}");
        assert_eq!(runtime.socket().exists(), text != "socket-gone", "{text}");
    }
    let (runtime, _directory) = wrong("reset");
    let mut stream = UnixStream::connect(runtime.socket()).unwrap();
    stream.write_all(b"DOTNET").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(read(&mut stream), (message(0xffff, &[0x84, 0x13, 0x13, 0x80]), End::Reset));
}

/// `CollectTracing` of one provider, "P".
fn collect() -> Vec<u8> {
    let provider =
        [0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, b'P', 0, 0, 0, 1, 0, 0, 0, 0, 0];
    message(0x0202, &[&[1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0][..], &provider].concat())
}

/// A session: its id, and the connection with its stream.
fn session(runtime: &ReferenceRuntime) -> (u64, UnixStream) {
    let mut stream = UnixStream::connect(runtime.socket()).unwrap();
    stream.write_all(&collect()).unwrap();
    let mut reply = [0; 28];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(reply[..20], *b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0");
    (u64::from_le_bytes(reply[20..].try_into().unwrap()), stream)
}

/// The reply of a session arrives with its stream. A reply without a stream is sent as well, also if
/// the connection stays open, as after a dump of .NET 8 (P-30).
#[test]
fn misbehaviour_one_write_sends_reply_with_stream() {
    let (runtime, _directory) = wrong("one-write");
    let mut stream = UnixStream::connect(runtime.socket()).unwrap();
    stream.write_all(&collect()).unwrap();
    let mut first = [0; 4096];
    let n = stream.read(&mut first).unwrap();
    assert_eq!((n, &first[28..36]), (692, b"Nettrace".as_slice()));
    let (runtime, _directory) = start(|config| {
        config.profile = Profile::CORECLR_8;
        config.misbehaviours.push(Misbehaviour::parse("one-write").unwrap());
    });
    let done = (hex::decode(OK).unwrap(), End::Open);
    assert_eq!(ask_for_dump(runtime.socket(), &message(0x0101, &DUMP)), done);
}

#[test]
fn misbehaviour_reply_precedes_descriptor() {
    let (runtime, _directory) = wrong("reply-before-descriptor");
    let scripts = vectors::script_files().unwrap();
    let script = scripts
        .iter()
        .flat_map(|file| &file.scripts)
        .find(|script| script.name == "user-events")
        .unwrap();
    let later: Vec<Step> = serde_json::from_str(
        r#"[ { "on": "a", "expect": ["444f544e45545f4950435f5631001c00ff000000", { "any": 8 }] },
             { "on": "a", "send": ["00"], "with_fd": "user_events_data" }, { "on": "a", "expect_nothing": 300 } ]"#,
    )
    .unwrap();
    let mut network = LiveNetwork::to(runtime.socket()).with_user_events_data(true);
    let mut player = Player::new(&mut network, Duration::from_secs(2));
    // It connects, and sends the request.
    player.play(script.steps.iter().take(2).chain(&later)).unwrap();
    // What arrives instead is refused nevertheless.
    let refused: Vec<Step> = serde_json::from_str(
        r#"[ { "on": "a", "expect": ["444f544e45545f4950435f5631001c00ff000000", { "any": 8 }] },
             { "on": "a", "send": ["00"] }, { "on": "a", "expect": ["444f544e45545f4950435f5631001800ffff000084131380"] } ]"#,
    )
    .unwrap();
    let mut network = LiveNetwork::to(runtime.socket());
    let mut player = Player::new(&mut network, Duration::from_secs(2));
    player.play(script.steps.iter().take(2).chain(&refused)).unwrap();
}

/// How many bytes were announced of an environment, how many entries the block says, and the block.
fn environment(text: &str) -> (usize, u32, Vec<u8>, End) {
    let (runtime, _directory) = wrong(text);
    let (reply, end) = ask(runtime.socket(), &request(0x0402));
    let number = |at: usize| u32::from_le_bytes(reply[at..at + 4].try_into().unwrap());
    (number(20) as usize, number(26), reply[26..].to_vec(), end)
}

#[test]
fn misbehaviour_environments_are_wrong() {
    let (announced, entries, whole, end) = environment("error-without-close");
    assert_eq!((announced, entries, end), (whole.len(), 6, End::Closed));
    let (announced, _, block, _) = environment("environment-bytes-less=4");
    assert_eq!((announced, &block), (whole.len() - 4, &whole));
    let (announced, _, block, _) = environment("environment-bytes-more=6");
    assert_eq!((announced, &block), (whole.len() + 6, &whole));
    for (text, count) in [("environment-count-less", 5), ("environment-count-more=3", 9)] {
        let (announced, entries, block, _) = environment(text);
        assert_eq!((announced, entries, &block[4..]), (whole.len(), count, &whole[4..]), "{text}");
    }
    let (announced, _, block, end) = environment("environment-error=60");
    let error = message(0xffff, &[0x05, 0x40, 0, 0x80]);
    assert_eq!(
        (announced, block, end),
        (whole.len(), [&whole[..60], &error].concat(), End::Closed)
    );
    let (announced, _, block, end) = environment("environment-cut=60");
    assert_eq!((announced, block.as_slice(), end), (whole.len(), &whole[..60], End::Closed));
}

fn stop(runtime: &ReferenceRuntime, id: u64) -> (Vec<u8>, End) {
    ask(runtime.socket(), &message(0x0201, &id.to_le_bytes()))
}

#[test]
fn misbehaviour_stream_does_not_end_or_is_cut() {
    let (runtime, _directory) = wrong("stream-never-ends");
    let (id, mut stream) = session(&runtime);
    assert_eq!(stop(&runtime, id), (Vec::new(), End::Open));
    assert_eq!(read(&mut stream).1, End::Open);
    assert_eq!(ask(runtime.socket(), &request(RESUME)), (Vec::new(), End::Open));
    drop(stream);
    assert_eq!(ask(runtime.socket(), &request(RESUME)), (hex::decode(OK).unwrap(), End::Closed));

    let (runtime, _directory) = wrong("stream-cut=40");
    let (bytes, end) = read(&mut session(&runtime).1);
    assert_eq!((bytes.len(), end), (40, End::Closed));
}

#[test]
fn misbehaviour_stop_is_answered_wrongly_or_never() {
    // While a stream is stopped, it is read to its end, with its rundown.
    let stopped = |text: &str| {
        let (runtime, _directory) = wrong(text);
        let (id, mut stream) = session(&runtime);
        let reader = std::thread::spawn(move || stream.read_to_end(&mut Vec::new()).unwrap());
        let answer = stop(&runtime, id);
        assert!(reader.join().unwrap() > 500_000);
        (id, answer)
    };
    let (id, answer) = stopped("stop-another");
    assert_eq!(answer, (message(0xff00, &(id + 1).to_le_bytes()), End::Closed));
    assert_eq!(stopped("stop-unanswered").1, (Vec::new(), End::Closed));
}

#[test]
fn misbehaviour_advertises_are_wrong() {
    for (text, magic, len, end) in [
        ("advertise-magic", b"ADVR_V2\0", 34, End::Open),
        ("advertise-cut=20", b"ADVR_V1\0", 20, End::Closed),
    ] {
        let directory = crate::tool::directory();
        let path = directory.path().join("port");
        let listener = UnixListener::bind(&path).unwrap();
        let (runtime, _directory) = start(|config| {
            config.misbehaviours.push(Misbehaviour::parse(text).unwrap());
            config.ports = Some(path.to_str().unwrap().into());
        });
        let (bytes, ended) = read(&mut listener.accept().unwrap().0);
        assert_eq!((&bytes[..8], bytes.len(), ended), (magic.as_slice(), len, end), "{text}");
        runtime.stop();
    }
}
