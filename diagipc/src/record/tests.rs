//! The script of a recording. The recordings are written down here.

use dotnet_diagnostics_ipc_vectors::script::{Ending, FdKind, Step};
use serde_json::json;

use super::{Direction, Log, Recording, script_of_client};
use crate::conversation::Exchanges;

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

/// One connection, closed by the runtime: the client's bytes, and the runtime's.
fn recording_of_one(request: &[u8], answer: &[u8]) -> Recording {
    let log = Log::new(false);
    let connection = log.opened();
    log.piece(connection, Direction::Client, request, Vec::new());
    log.piece(connection, Direction::Server, answer, Vec::new());
    log.ended(connection, Direction::Server, Ending::Close);
    log.take()
}

fn client_steps(recording: &Recording) -> Vec<Step> {
    let conversation = &recording.conversation;
    script_of_client::steps(conversation, &Exchanges::of(conversation).all)
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
        Direction::Client,
        &message(2, 6, &session_to_user_events.concat()),
        Vec::new(),
    );
    log.piece(connection, Direction::Client, &[0], vec![FdKind::UserEventsData]);
    log.piece(connection, Direction::Server, &ok(&7u64.to_le_bytes()), Vec::new());
    log.ended(connection, Direction::Client, Ending::Close);
    let recording = log.recording();
    let steps = client_steps(&recording);
    assert!(
        matches!(&steps[2], Step::Send(send) if send.with_fd == Some(FdKind::UserEventsData)),
        "{steps:?}"
    );

    let nobody_knows = recording_of_one(&message(4, 0x77, &[]), &ok(&[]));
    let refused = recording_of_one(&message(4, 1, &[]), &error(FAIL));
    // Nothing of these is a stream, which would be read and not compared.
    for recording in [recording, nobody_knows, refused] {
        let steps = client_steps(&recording);
        assert!(!steps.iter().any(|step| matches!(step, Step::Drain(_))), "{steps:?}");
    }
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
            &message(4, 2, &[]),
            &[reply(announced), vec![0; 140_000]].concat(),
        ));
        assert_eq!(serde_json::to_value(&steps[3]).unwrap()["expect"], expected, "{announced}");
    }
}

/// F-143: the id of a session that has ended is that of the next one too.
#[test]
fn equal_ids_of_two_sessions_are_two_captures() {
    let (collect, stop) = (message(2, 3, &[0; 8]), message(2, 1, &7u64.to_le_bytes()));
    let log = Log::new(false);
    for request in [&collect, &stop, &collect, &stop] {
        let connection = log.opened();
        log.piece(connection, Direction::Client, request, Vec::new());
        log.piece(connection, Direction::Server, &ok(&7u64.to_le_bytes()), Vec::new());
        log.ended(connection, Direction::Server, Ending::Close);
    }
    let steps = json!(client_steps(&log.take())).to_string();
    let count = |text: &str| steps.matches(text).count();
    assert_eq!(count(r#""as":"session_a""#), 1, "{steps}");
    assert_eq!(count(r#""as":"session_c""#), 1, "{steps}");
    // Each stop has the id of its own session, in the request and in the reply.
    assert_eq!((count(r#""same":"session_a""#), count(r#""same":"session_c""#)), (2, 2), "{steps}");
}
