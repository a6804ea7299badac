//! Recordings of many connections.

use diagipc::record::{Direction, Log, Recording, script_file};
use dotnet_diagnostics_ipc_vectors::script::{Ending, Step};

const RESUME: &[u8] = b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0";
const OK: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";

#[test]
fn record_of_many_connections_keeps_first() {
    let log = Log::new(false);
    for nth in 0..Recording::CONNECTIONS + 3 {
        let connection = log.opened();
        assert_eq!(connection, Some(nth).filter(|nth| *nth < Recording::CONNECTIONS));
        log.piece(connection, Direction::Client, RESUME, Vec::new());
        log.piece(connection, Direction::Server, OK, Vec::new());
        log.ended(connection, Direction::Server, Ending::Close);
    }
    // A number that no connection has.
    log.piece(Some(Recording::CONNECTIONS), Direction::Client, b"lost", Vec::new());
    let recording = log.recording();
    let conversation = &recording.conversation;
    assert_eq!(
        (conversation.connections.len(), recording.more_connections),
        (Recording::CONNECTIONS, 3)
    );
    assert_eq!(conversation.events.len(), 4 * Recording::CONNECTIONS);
    assert_eq!(log.take(), recording);
    let file = script_file(&recording, "many").unwrap();
    let opened = file.scripts[0].steps.iter().filter_map(|step| match step {
        Step::Open(step) => Some(step.open.as_str()),
        _ => None,
    });
    let names: Vec<_> = opened.collect();
    assert_eq!(
        (names.len(), names[0], names[25], names[26]),
        (Recording::CONNECTIONS, "a", "z", "c26")
    );
}
