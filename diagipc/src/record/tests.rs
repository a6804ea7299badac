//! The client's task and expected result in the scripts of a recording, and the runtime's
//! behaviour. The recordings are written down here.

use dotnet_diagnostics_ipc::exchange::AfterReply;
use dotnet_diagnostics_ipc::vectors::Value;
use dotnet_diagnostics_ipc::vectors::script::{Ending, FdKind, Step};
use serde_json::json;

use super::outcome::{Told, ask_and_outcome};
use super::{Log, RecordedConnection, Recording, Side, script_of_client, script_of_runtime};

const UNKNOWN_COMMAND: [u8; 4] = 0x8013_1385_u32.to_le_bytes();
const FAIL: [u8; 4] = 0x8000_4005_u32.to_le_bytes();

fn message(set: u8, id: u8, payload: &[u8]) -> Vec<u8> {
    let size = u16::try_from(payload.len() + 20).unwrap();
    [b"DOTNET_IPC_V1\0", &size.to_le_bytes()[..], &[set, id, 0, 0], payload].concat()
}

fn ok(payload: &[u8]) -> Vec<u8> {
    message(0xff, 0, payload)
}

fn error(hresult: [u8; 4]) -> Vec<u8> {
    message(0xff, 0xff, &hresult)
}

fn string(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let count = u32::try_from(units.len()).unwrap();
    count.to_le_bytes().into_iter().chain(units.into_iter().flat_map(u16::to_le_bytes)).collect()
}

/// `CollectTracing2`, or with another id a later one that begins the same way.
fn collect(id: u8) -> Vec<u8> {
    let wants: &[u8] = if id == 2 { &[] } else { &[0] };
    let front = [
        &4u32.to_le_bytes()[..],
        &1u32.to_le_bytes(),
        wants,
        &1u32.to_le_bytes(),
        &1u64.to_le_bytes(),
        &4u32.to_le_bytes(),
    ];
    message(2, id, &[&front.concat()[..], &string("Provider"), &0u32.to_le_bytes()].concat())
}

fn stop(session: u64) -> Vec<u8> {
    message(2, 1, &session.to_le_bytes())
}

/// Connections one after another: the client's bytes, the runtime's bytes, and the end of the
/// connection.
fn recording(conversations: &[(Vec<u8>, Vec<u8>, Option<Ending>)]) -> Recording {
    let log = Log::new(false);
    for (request, answer, end) in conversations {
        let connection = log.opened();
        log.piece(connection, Side::Client, request, Vec::new());
        log.piece(connection, Side::Runtime, answer, Vec::new());
        match end {
            Some(how) => log.ended(connection, Side::Runtime, *how),
            None => log.ended(connection, Side::Client, Ending::Close),
        }
    }
    log.take()
}

fn connections(recording: &Recording) -> Vec<RecordedConnection> {
    (0..recording.totals.len()).map(|nth| RecordedConnection::of(recording, nth)).collect()
}

fn told(recording: &Recording) -> Told {
    let connections = connections(recording);
    let (_, streamed) = script_of_runtime::steps(recording, &connections);
    ask_and_outcome(recording, &connections, &streamed)
}

fn json_of(told: &Told) -> Value {
    serde_json::to_value(&told.outcome).unwrap()
}

fn outcome(conversations: &[(Vec<u8>, Vec<u8>, Option<Ending>)]) -> Value {
    json_of(&told(&recording(conversations)))
}

fn client_steps(recording: &Recording) -> Vec<Step> {
    script_of_client::steps(recording, &connections(recording))
}

const CLOSE: Option<Ending> = Some(Ending::Close);

#[test]
fn outcome_follows_recorded_answer_and_end() {
    let resume = || message(4, 1, &[]);
    let of = |answer: Vec<u8>, end| outcome(&[(resume(), answer, end)]);
    assert_eq!(of(error(FAIL), CLOSE), json!({ "outcome": "error", "hresult": "0x80004005" }));
    assert_eq!(of(Vec::new(), CLOSE), json!({ "outcome": "no_reply", "end": "closed" }));
    assert_eq!(
        of(Vec::new(), Some(Ending::Reset)),
        json!({ "outcome": "no_reply", "end": "reset" })
    );
    // The client gave up.
    assert_eq!(of(Vec::new(), None), json!({ "outcome": "no_reply", "end": "timed_out" }));
    let cut = |len: usize| ok(&[0; 4])[..len].to_vec();
    assert_eq!(of(cut(23), CLOSE), json!({ "outcome": "cut", "received": 23, "end": "closed" }));
    assert_eq!(
        of(cut(1), Some(Ending::Reset)),
        json!({ "outcome": "cut", "received": 1, "end": "reset" })
    );
    let other = message(4, 1, &[0; 4]);
    let bad = json!({ "outcome": "malformed", "error": { "layer": "reply", "kind": "not_a_reply", "offset": 16 } });
    assert_eq!(of(other, CLOSE), bad);
    // GenerateCoreDump3 includes a reason.
    let dump = message(1, 3, &[&string("/tmp/core")[..], &[1, 0, 0, 0, 0, 0, 0, 0]].concat());
    let why = message(0xff, 0xff, &[&FAIL[..], &string("no room")].concat());
    let refused = json!({ "outcome": "error", "hresult": "0x80004005", "message": "no room" });
    assert_eq!(outcome(&[(dump, why, CLOSE)]), refused);
}

/// If a server does not know a command, an older one is sent on a new connection.
#[test]
fn older_command_is_asked_after_refusal() {
    let refused = (collect(3), error(UNKNOWN_COMMAND), CLOSE);
    let told = |second: (Vec<u8>, Vec<u8>, Option<Ending>),
                first: &(Vec<u8>, Vec<u8>, Option<Ending>)| {
        told(&recording(&[first.clone(), second]))
    };
    let said = told((collect(2), error(FAIL), CLOSE), &refused);
    let asked = ["EventPipe/CollectTracing2", "EventPipe/CollectTracing"];
    assert_eq!(
        json_of(&said),
        json!({ "outcome": "error", "hresult": "0x80004005", "asked": asked })
    );
    assert!(said.ask.fallback && said.notes.is_empty(), "{:?}", said.notes);

    // Another command is not an older one, and neither is one after an answer.
    for (first, second) in
        [(refused, message(4, 1, &[])), ((collect(3), error(FAIL), CLOSE), collect(2))]
    {
        let said = told((second, error(FAIL), CLOSE), &first);
        assert!(!said.ask.fallback);
        let [note] = &said.notes[..] else { panic!("{:?}", said.notes) };
        assert!(note.ends_with("describe only the first request; 1 more were sent"), "{note}");
    }
}

/// F-81: a dump may be answered twice.
#[test]
fn second_reply_is_classified() {
    let dump = message(1, 3, &[&string("/tmp/core")[..], &[1, 0, 0, 0, 0, 0, 0, 0]].concat());
    let second = |answer: &[u8], end| {
        let first = ok(&[0; 4]);
        let said = outcome(&[(dump.clone(), [&first, answer].concat(), end)]);
        assert_eq!((&said["outcome"], &said["then"]), (&json!("ok"), &json!("another_reply")));
        said["second"].clone()
    };
    assert_eq!(second(&[], CLOSE), json!({ "outcome": "no_reply", "end": "closed" }));
    assert_eq!(second(&error(FAIL), CLOSE), json!({ "outcome": "error", "hresult": "0x80004005" }));
    assert_eq!(second(&[], Some(Ending::Reset)), json!({ "outcome": "no_reply", "end": "reset" }));
    assert_eq!(
        second(&ok(&[0; 4])[..23], CLOSE),
        json!({ "outcome": "cut", "received": 23, "end": "closed" })
    );
    assert_eq!(second(b"DOTNET_IPC_V2\0\x14\0\xff\0\0\0", CLOSE)["outcome"], "malformed");
    let told = message(0xff, 0xff, &[&FAIL[..], &string("no room")].concat());
    assert_eq!(
        second(&told, CLOSE),
        json!({ "outcome": "error", "hresult": "0x80004005", "message": "no room" })
    );
    let again = second(&ok(&[0; 4]), CLOSE);
    assert_eq!((&again["outcome"], &again["then"]), (&json!("ok"), &json!("another_reply")));
}

/// The request and the advertise are reported once.
#[test]
fn second_reply_is_reported_separately() {
    let dump = |id| message(1, id, &[&string("/tmp/core")[..], &[1, 0, 0, 0, 0, 0, 0, 0]].concat());
    let advertise = [&b"ADVR_V1\0"[..], &[7; 16], &[57, 0x30, 0, 0, 0, 0, 0, 0], &[0; 2]].concat();
    let log = Log::new(true);
    for (request, answer) in
        [(dump(3), error(UNKNOWN_COMMAND)), (dump(2), [ok(&[0; 4]), ok(&[1, 0, 0, 0])].concat())]
    {
        let connection = log.opened();
        log.piece(connection, Side::Runtime, &[&advertise[..], &answer].concat(), Vec::new());
        log.piece(connection, Side::Client, &request, Vec::new());
        log.ended(connection, Side::Runtime, Ending::Close);
    }
    let said = json_of(&told(&log.take()));
    assert_eq!(
        said,
        json!({
            "outcome": "ok",
            "reply": { "hresult": "0x00000000" },
            "then": "another_reply",
            "asked": ["Dump/GenerateCoreDump3", "Dump/GenerateCoreDump2"],
            "advertise": { "runtimeCookie": "07070707-0707-0707-0707-070707070707", "processId": "12345", "future": 0 },
            "second": { "outcome": "ok", "reply": { "hresult": "0x00000001" }, "then": "another_reply" },
        })
    );
}

#[test]
fn stop_reply_is_classified() {
    let session = ok(&101u64.to_le_bytes());
    let streams = [&session[..], b"Nettrace and more \x01"].concat();
    let stopped = |answer: Vec<u8>, end| {
        let said = outcome(&[(collect(3), streams.clone(), CLOSE), (stop(101), answer, end)]);
        // The result of the stop decides whether the stream is complete.
        (said["stop"].clone(), said["stream"]["end"].clone())
    };
    let complete = |stop: Value| (stop, json!("complete"));
    let incomplete = |stop: Value| (stop, json!("incomplete"));
    assert_eq!(stopped(ok(&101u64.to_le_bytes()), CLOSE), complete(json!("ok")));
    assert_eq!(stopped(ok(&[]), CLOSE), complete(json!("ok_without_id")));
    assert_eq!(
        stopped(ok(&102u64.to_le_bytes()), CLOSE),
        complete(json!({ "another_session": "102" }))
    );
    assert_eq!(stopped(error(FAIL), CLOSE), incomplete(json!({ "hresult": "0x80004005" })));
    assert_eq!(stopped(Vec::new(), CLOSE), incomplete(json!("no_reply")));
    let fault = json!({ "malformed": { "layer": "header", "kind": "bad_magic", "offset": 0 } });
    assert_eq!(stopped(vec![7; 20], CLOSE), incomplete(fault));
    let said = outcome(&[(collect(3), streams, CLOSE)]);
    assert_eq!(
        (&said["stop"], &said["stream"]),
        (&json!("not_sent"), &json!({ "bytes": 19, "end": "incomplete" }))
    );
}

#[test]
fn environment_entries_are_reported_up_to_the_error() {
    let block = [&2u32.to_le_bytes()[..], &string("A=1"), &string("B=2")].concat();
    let entries = json!([{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }]);
    let environment = |announced: usize, block: &[u8], end| {
        let announced = u32::try_from(announced).unwrap().to_le_bytes();
        let reply = ok(&[&announced[..], &[0, 0]].concat());
        let said = outcome(&[(message(4, 2, &[]), [&reply, block].concat(), end)]);
        assert_eq!(said["then"], "environment");
        said["environment"].clone()
    };
    assert_eq!(environment(block.len(), &block, CLOSE), json!({ "entries": entries }));
    // 4 bytes of count and 12 of the first entry; the rest is missing.
    assert_eq!(
        environment(block.len(), &block[..20], CLOSE),
        json!({ "entries": [entries[0]], "cut": "closed" })
    );
    assert_eq!(
        environment(block.len(), &block[..2], Some(Ending::Reset)),
        json!({ "entries": [], "cut": "reset" })
    );
    // The client has enough before the end.
    assert_eq!(
        environment(block.len(), &block[..20], None),
        json!({ "entries": [entries[0]], "cut": "timed_out" })
    );
    // An error message in place of the second entry (F-43).
    let broken = [&block[..16], &error(FAIL)].concat();
    let said = environment(block.len() + 100, &broken, CLOSE);
    assert_eq!((&said["hresult"], &said["entries"]), (&json!("0x80004005"), &json!([entries[0]])));
    assert_eq!(said["error"]["kind"], "error_message");
    // Less is announced than the count requires.
    let said = environment(block.len() - 2, &block, CLOSE);
    assert_eq!((said["error"].is_object(), &said["entries"]), (true, &json!([entries[0]])));
    // An entry over the limit does not hide the next one.
    let long = [&2u32.to_le_bytes()[..], &string(&"x".repeat(50_000)), &string("B=2")].concat();
    assert_eq!(environment(long.len(), &long, CLOSE)["entries"][1], entries[1]);
}

/// F-19: the descriptor is sent after the request, and the reply follows.
#[test]
fn user_events_and_unknown_command_are_classified_by_what_follows() {
    let session_to_user_events = [
        &1u32.to_le_bytes()[..],
        &0u64.to_le_bytes(),
        &1u32.to_le_bytes(),
        &1u64.to_le_bytes(),
        &4u32.to_le_bytes(),
        &string("Provider"),
        &0u32.to_le_bytes(),
        &[0, 0, 0, 0, 0],
        &string("Point"),
        &0u32.to_le_bytes(),
    ];
    let log = Log::new(false);
    let connection = log.opened();
    log.piece(
        connection,
        Side::Client,
        &message(2, 6, &session_to_user_events.concat()),
        Vec::new(),
    );
    log.piece(connection, Side::Client, &[0], vec![FdKind::UserEventsData]);
    log.piece(connection, Side::Runtime, &ok(&7u64.to_le_bytes()), Vec::new());
    log.ended(connection, Side::Client, Ending::Close);
    let recording = log.recording();
    assert!(matches!(
        RecordedConnection::of(&recording, 0).then(),
        Some(AfterReply::UserEvents { session_id: Some(7) })
    ));
    let said = json_of(&told(&recording));
    assert_eq!((&said["then"], &said["reply"]["sessionId"]), (&json!("user_events"), &json!("7")));
    let steps = client_steps(&recording);
    assert!(
        matches!(&steps[2], Step::Send(send) if send.with_fd == Some(FdKind::UserEventsData)),
        "{steps:?}"
    );

    let nobody_knows = recording_of_one(message(4, 0x77, &[]), ok(&[]));
    assert_eq!(RecordedConnection::of(&nobody_knows, 0).then(), Some(AfterReply::Unknown));
    let said = told(&nobody_knows);
    assert_eq!(json_of(&said)["then"], "unknown");
    assert_eq!(said.notes, ["`ask` cannot express the request".to_string()]);
    let refused = recording_of_one(message(4, 1, &[]), error(FAIL));
    assert_eq!(RecordedConnection::of(&refused, 0).then(), None);
}

fn recording_of_one(request: Vec<u8>, answer: Vec<u8>) -> Recording {
    recording(&[(request, answer, CLOSE)])
}

/// Less of it is kept than was received: it is compared by its length, or by the received length if
/// it was cut.
#[test]
fn long_environment_is_compared_by_length() {
    let reply = |announced: u32| ok(&[&announced.to_le_bytes()[..], &[0, 0]].concat());
    let cut = json!([{ "any": 65535 }, { "any": 65511 }]);
    for (announced, expected) in
        [(140_000, json!([{ "any": { "of": "block_a" } }])), (150_000, cut)]
    {
        let steps = client_steps(&recording_of_one(
            message(4, 2, &[]),
            [reply(announced), vec![0; 140_000]].concat(),
        ));
        assert_eq!(serde_json::to_value(&steps[3]).unwrap()["expect"], expected, "{announced}");
    }
}
