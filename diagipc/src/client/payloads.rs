//! The payloads of the OKs that answer operations.

use dotnet_diagnostics_ipc::command::Command;

use super::runtime_bytes::{block, environment_reply, string};
use super::scenario::Scenario;
use super::{Argument, Operation};

pub(super) const ENTRIES: &[&str] = &["A=1", "NAME=value"];

/// The payload of the OK that answers an operation; for a session its id.
pub(super) fn payload(scenario: &Scenario) -> Vec<u8> {
    match scenario.operation {
        Operation::ProcessInfo => process_info(Command::PROCESS_INFO2, 4242),
        Operation::Environment => environment_reply(&block(ENTRIES)),
        Operation::Stop => {
            session(scenario.arguments.get(&Argument::Session).map_or("42", |id| id))
        }
        Operation::Trace | Operation::TracePort | Operation::UserEvents => session("42"),
        _ => vec![0; 4],
    }
}

fn session(id: &str) -> Vec<u8> {
    id.parse::<u64>().unwrap_or(42).to_le_bytes().to_vec()
}

/// The reply to `ProcessInfo` or one of its successors.
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
