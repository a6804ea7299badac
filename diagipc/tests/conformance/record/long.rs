//! Long recordings: they say what they omit, and the comparison uses what was received.

use diagipc::record::{Direction, Log, Recording, script_file};
use dotnet_diagnostics_ipc_vectors::ScriptFile;
use dotnet_diagnostics_ipc_vectors::script::{Ending, Step};

const RESUME: &[u8] = b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0";
const OK: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";
/// `CollectTracing` of no provider.
const COLLECT: &[u8] = b"DOTNET_IPC_V1\0\x20\0\x02\x02\0\0\x04\0\0\0\x01\0\0\0\0\0\0\0";
const SESSION: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x65\0\0\0\0\0\0\0";

#[test]
fn record_long_answers_are_kept_in_part() {
    let log = Log::new(false);
    // A stream is read and not compared.
    let stream = log.opened();
    log.piece(stream, Direction::Client, COLLECT, Vec::new());
    log.piece(stream, Direction::Server, SESSION, Vec::new());
    for _ in 0..3 {
        log.piece(stream, Direction::Server, &vec![5; 40_000], Vec::new());
    }
    log.ended(stream, Direction::Client, Ending::Close);
    // Not a reply, and longer than what is kept.
    let memory = log.opened();
    log.piece(memory, Direction::Client, RESUME, Vec::new());
    log.piece(memory, Direction::Server, &vec![7; 140_000], Vec::new());
    log.ended(memory, Direction::Server, Ending::Close);

    let file: ScriptFile = script_file(&log.recording(), "long").unwrap();
    let [client] = &file.scripts[..] else { panic!("{file:?}") };
    for said in [
        "whose stream had 120000 bytes, which are read and not compared",
        "131072 of the runtime's 140000 bytes were kept",
    ] {
        assert!(client.comment.contains(said), "{}", client.comment);
    }
    let verbs: Vec<_> = client.steps.iter().map(Step::verb).collect();
    let (of_the_stream, of_memory) = verbs.split_at(5);
    assert_eq!(of_the_stream, ["open", "send", "expect", "drain", "end"]);
    assert_eq!(of_memory, ["open", "send", "expect", "drain", "expect_end"]);
}

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
    assert!(
        file.scripts[0].comment.ends_with("3 further connections were not kept"),
        "{}",
        file.scripts[0].comment
    );
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
