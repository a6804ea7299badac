//! Short forms for the actions of a scripted runtime.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAGIC, RawHeader};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::vectors::script::{
    Accept, EndStep, Ending, Expect, FdKind, Literal, Pattern, Send, Step,
};

use super::scenario::{Move, Request, Unread};

/// A message with this magic.
pub(super) fn message_as(magic: [u8; 14], command: Command, payload: &[u8]) -> Vec<u8> {
    let size = u16::try_from(payload.len() + HEADER_LEN).unwrap_or(u16::MAX);
    let mut header = [0; HEADER_LEN];
    RawHeader { magic: Some(magic), size: Some(size), command: Some(command), reserved: Some(0) }
        .write(&mut header);
    [&header, payload].concat()
}

/// An OK.
pub(super) fn ok(payload: &[u8]) -> Vec<u8> {
    message_as(MAGIC, Command::OK, payload)
}

/// An error of 24 bytes, as it is shipped (F-1).
pub(super) fn error(hresult: HResult) -> Vec<u8> {
    message_as(MAGIC, Command::ERROR, &hresult.0.to_le_bytes())
}

/// A request of any command of the operation.
pub(super) fn request(on: &str) -> Move {
    Move::Request(Request { on: on.to_owned(), command: None, unread: Unread::None })
}

/// A request of this command; newer ones are unknown.
pub(super) fn request_of(on: &str, command: Command) -> Move {
    Move::Request(Request { on: on.to_owned(), command: Some(command), unread: Unread::None })
}

/// The byte with the descriptor.
pub(super) fn descriptor(on: &str) -> Move {
    let any = serde_json::json!([{ "any": 1 }]);
    let expect = serde_json::from_value(any).unwrap_or_else(|_| Pattern(Vec::new()));
    Move::Step(Step::Expect(Expect { on: on.to_owned(), expect, with_fd: true, within_ms: None }))
}

pub(super) fn accept(on: &str) -> Move {
    Move::Step(Step::Accept(Accept { accept: on.to_owned(), port: None, within_ms: None }))
}

/// Sends; a client may have disconnected already.
pub(super) fn send(on: &str, bytes: &[u8]) -> Move {
    pieces(on, bytes, Vec::new())
}

/// Sends a byte at a time.
pub(super) fn trickle(on: &str, bytes: &[u8]) -> Move {
    pieces(on, bytes, vec![1; bytes.len()])
}

fn pieces(on: &str, bytes: &[u8], chunks: Vec<usize>) -> Move {
    Move::Step(Step::Send(Send {
        on: on.to_owned(),
        send: vec![Literal::Bytes(bytes.to_vec())],
        chunks,
        with_fd: None::<FdKind>,
        may_fail: true,
        within_ms: None,
    }))
}

/// `StopTracing` of session 42.
pub(super) fn stop(on: &str) -> Move {
    Move::Stop { on: on.to_owned(), session: 42 }
}

/// `StopTracing`, which has one encoding.
pub(super) fn stop_message(session: u64) -> Vec<u8> {
    message_as(MAGIC, Command::STOP_TRACING, &session.to_le_bytes())
}

/// The name of a request, if it is one.
pub(super) fn named(bytes: &[u8]) -> String {
    match RawHeader::read(bytes).command.filter(|_| bytes.starts_with(&MAGIC)) {
        None => format!("{} bytes {}", bytes.len(), hex::encode(bytes.get(..64).unwrap_or(bytes))),
        Some(Command::STOP_TRACING) if bytes.len() >= 28 => {
            let id =
                bytes.get(20..28).and_then(|id| id.try_into().ok()).map_or(0, u64::from_le_bytes);
            format!("StopTracing of session {id}")
        }
        Some(command) => command.name().map_or_else(|| command.to_string(), ToOwned::to_owned),
    }
}

pub(super) fn close(on: &str) -> Move {
    Move::Step(Step::EndStep(EndStep { on: on.to_owned(), end: Ending::Close }))
}

/// The client closes by itself: nothing more follows.
pub(super) fn gives_up(on: &str) -> Move {
    Move::GivesUp { on: on.to_owned(), is_whole: false }
}

/// The client closes by itself: it has everything it needs.
pub(super) fn lets_go(on: &str) -> Move {
    Move::GivesUp { on: on.to_owned(), is_whole: true }
}

/// The entries of an environment block, with the count first.
pub(super) fn block(entries: &[&str]) -> Vec<u8> {
    let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    let strings = entries.iter().flat_map(|entry| string(entry));
    count.to_le_bytes().into_iter().chain(strings).collect()
}

/// A string of the protocol.
pub(super) fn string(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let count = u32::try_from(units.len()).unwrap_or(u32::MAX);
    count.to_le_bytes().into_iter().chain(units.into_iter().flat_map(u16::to_le_bytes)).collect()
}

/// The payload of the reply to `ProcessEnvironment`: the size of the block, and `future`.
pub(super) fn environment_reply(block: &[u8]) -> Vec<u8> {
    let len = u32::try_from(block.len()).unwrap_or(u32::MAX);
    [&len.to_le_bytes()[..], &[0, 0]].concat()
}

/// The places of a connection's name in a step.
pub(super) fn rename(moves: &mut [Move], from: &str, to: &str) {
    let renamed = |name: &mut String| {
        if name == from {
            to.clone_into(name);
        }
    };
    for one in moves {
        match one {
            Move::Request(Request { on, .. })
            | Move::Stop { on, .. }
            | Move::GivesUp { on, .. }
            | Move::Refuses { on }
            | Move::NothingWhole { on }
            | Move::NotOn { on }
            | Move::Settles { on } => {
                renamed(on);
            }
            Move::Step(step) => match step {
                Step::Accept(step) => renamed(&mut step.accept),
                Step::Open(step) => renamed(&mut step.open),
                Step::Send(step) => renamed(&mut step.on),
                Step::Expect(step) => renamed(&mut step.on),
                Step::ExpectAnyOf(step) => renamed(&mut step.on),
                Step::ExpectNothing(step) => renamed(&mut step.on),
                Step::Drain(step) => renamed(&mut step.on),
                Step::ExpectEnd(step) => renamed(&mut step.on),
                Step::EndStep(step) => renamed(&mut step.on),
                Step::Listen(_)
                | Step::ExpectNoConnection(_)
                | Step::Wait(_)
                | Step::ExpectTarget(_)
                | Step::Signal(_)
                | Step::ExpectSocket(_)
                | Step::ExpectFile(_) => {}
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that omits a request continues at a later connection, which then is the earlier
    /// one.
    #[test]
    fn connection_is_renamed_in_every_step() {
        let moves = |steps: &str| {
            serde_json::from_str::<Vec<Step>>(steps).unwrap().into_iter().map(Move::Step)
        };
        let of_connections = r#"[{ "accept": "b" }, { "open": "b" }, { "on": "b", "send": ["00"] }, { "on": "b", "expect": ["00"] },
            { "on": "b", "expect_any_of": [{ "label": "one", "expect": ["00"] }] }, { "on": "b", "expect_nothing": 5 },
            { "on": "b", "drain": true }, { "on": "b", "expect_end": "any" }, { "on": "b", "end": "close" }]"#;
        let named = |name: &str| {
            let on = || name.to_owned();
            let own = [
                Move::NothingWhole { on: on() },
                Move::NotOn { on: on() },
                Move::Settles { on: on() },
            ];
            let steps = of_connections.replace("\"b\"", &format!("\"{name}\""));
            moves(&steps).chain(own).chain([gives_up(name), request(name)]).collect::<Vec<_>>()
        };
        // A port may have the same name, and is not changed.
        let others = r#"[{ "wait": 5 }, { "expect_target": "alive" }, { "port": "b", "listen": true },
            { "expect_no_connection": 5, "port": "b" }]"#;
        let others: Vec<Move> = moves(others).chain(named("c")).collect();
        let mut all = [named("b"), others.clone()].concat();
        rename(&mut all, "b", "a");
        assert_eq!(all, [named("a"), others].concat());
    }
}
