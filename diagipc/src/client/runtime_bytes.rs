//! Messages of the scripted runtime, and the names of those of the client.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAGIC, RawHeader};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::script::Step;

use super::scenario::{ClientStep, Move, Request, StopRequest};

fn message(command: Command, payload: &[u8]) -> Vec<u8> {
    let size = u16::try_from(payload.len() + HEADER_LEN).unwrap_or(u16::MAX);
    let mut header = [0; HEADER_LEN];
    RawHeader { magic: Some(MAGIC), size: Some(size), command: Some(command), reserved: Some(0) }
        .write(&mut header);
    [&header, payload].concat()
}

/// An OK.
pub(super) fn ok(payload: &[u8]) -> Vec<u8> {
    message(Command::OK, payload)
}

/// An error of 24 bytes, as it is shipped (F-1).
pub(super) fn error(hresult: HResult) -> Vec<u8> {
    message(Command::ERROR, &hresult.0.to_le_bytes())
}

/// `StopTracing`, which has one encoding.
pub(super) fn stop_message(session: u64) -> Vec<u8> {
    message(Command::STOP_TRACING, &session.to_le_bytes())
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

/// A string of the protocol.
fn string(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let count = u32::try_from(units.len()).unwrap_or(u32::MAX);
    count.to_le_bytes().into_iter().chain(units.into_iter().flat_map(u16::to_le_bytes)).collect()
}

/// The payload of the reply to `ProcessInfo` or one of its successors.
pub(super) fn process_info(command: Command, process_id: u64) -> Vec<u8> {
    let texts: &[&str] = match command {
        Command::PROCESS_INFO => &["app --serve", "Linux", "x64"],
        Command::PROCESS_INFO3 => &["app --serve", "Linux", "x64", "app", "10.0.9", "linux-x64"],
        _ => &["app --serve", "Linux", "x64", "app", "10.0.9"],
    };
    let mut bytes =
        if command == Command::PROCESS_INFO3 { 1u32.to_le_bytes().to_vec() } else { Vec::new() };
    bytes.extend(process_id.to_le_bytes());
    bytes.extend([
        0x67, 0x45, 0x3e, 0x12, 0x9b, 0xe8, 0xd3, 0x12, 0xa4, 0x56, 0x42, 0x66, 0x14, 0x17, 0x40,
        0x00,
    ]);
    bytes.extend(texts.iter().flat_map(|text| string(text)));
    bytes
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
            | Move::Stop(StopRequest { on, .. })
            | Move::Client(ClientStep { on, .. }) => renamed(on),
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
        let moves = |steps: &str| serde_json::from_str::<Vec<Move>>(steps).unwrap();
        let of_connections = r#"[{ "accept": "b" }, { "open": "b" }, { "on": "b", "send": ["00"] }, { "on": "b", "expect": ["00"] },
            { "on": "b", "expect_any_of": [{ "label": "one", "expect": ["00"] }] }, { "on": "b", "expect_nothing": 5 },
            { "on": "b", "drain": true }, { "on": "b", "expect_end": "any" }, { "on": "b", "end": "close" },
            { "on": "b", "request": null }, { "on": "b", "stop": "42" }, { "on": "b", "client": "leaves" }]"#;
        let named = |name: &str| moves(&of_connections.replace("\"b\"", &format!("\"{name}\"")));
        // A port may have the same name, and is not changed.
        let others = r#"[{ "wait": 5 }, { "expect_target": "alive" }, { "port": "b", "listen": true },
            { "expect_no_connection": 5, "port": "b" }]"#;
        let others = [moves(others), named("c")].concat();
        let mut all = [named("b"), others.clone()].concat();
        rename(&mut all, "b", "a");
        assert_eq!(all, [named("a"), others].concat());
    }
}
