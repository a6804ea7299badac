//! The seeds of a campaign: the golden vectors, in the form of each target's input.

use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::header::HEADER_LEN;
use dotnet_diagnostics_ipc::message::Message;
use dotnet_diagnostics_ipc_vectors::{Direction, Group, LoadError, Type};

use super::{Asked, SUBJECTS, asked_of_c_header};
use crate::embedded;

/// An input, and a name for its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The number of a vector, and the index of its input.
    pub name: String,
    /// The bytes.
    pub input: Vec<u8>,
}

/// Short inputs suit fuzzers better; the vectors themselves cover what needs long ones.
const LONGEST: usize = 4096;

/// The client's request in `exchanges`, by the second byte of the input.
pub const COMMANDS: [(Command, Continuation); 6] = [
    (Command::PROCESS_INFO3, Continuation::Close),
    (Command::GENERATE_CORE_DUMP3, Continuation::Close),
    (Command::STOP_TRACING, Continuation::Close),
    (Command::COLLECT_TRACING5, Continuation::UserEvents),
    (Command::COLLECT_TRACING2, Continuation::Nettrace),
    (Command::PROCESS_ENVIRONMENT, Continuation::EnvironmentBlock),
];

/// The pieces that `decode_any` reads after a first byte, by their numbers there.
const PIECES: [(Type, u8); 20] = [
    (Type::Byte, 0),
    (Type::Ushort, 1),
    (Type::Wchar, 1),
    (Type::Uint, 2),
    (Type::Ulong, 3),
    (Type::HResult, 4),
    (Type::Bool, 5),
    (Type::Guid, 6),
    (Type::Clsid, 6),
    (Type::String, 7),
    (Type::ByteArray, 8),
    (Type::WcharArray, 9),
    (Type::UintArray, 10),
    (Type::StringArray, 11),
    (Type::EventFilter, 12),
    (Type::TracepointSet, 13),
    (Type::TracepointConfig, 14),
    (Type::ProviderConfig, 15),
    (Type::StreamingProviderConfig, 16),
    (Type::UserEventsProviderConfig, 17),
];

/// The seeds of a target, made of every vector with suitable bytes; none if there is no such
/// target.
///
/// # Errors
/// If the vectors cannot be read.
pub fn seeds(target: &str) -> Result<Vec<Seed>, LoadError> {
    let groups = embedded::vectors()?.iter().flat_map(|one| &one.file.groups);
    let tests = groups.flat_map(|group| group.tests.iter().map(move |test| (group, test)));
    let mut seeds = Vec::new();
    for (group, test) in tests {
        let Some(wire) = test.wire.as_ref().filter(|wire| wire.len() <= LONGEST) else { continue };
        for (nth, input) in inputs(target, group, wire).into_iter().enumerate() {
            seeds.push(Seed { name: format!("{}-{nth}", test.tc_id), input });
        }
    }
    if target == "roundtrip" {
        seeds.extend(
            (1..=24).map(|which| Seed { name: format!("made-{which}"), input: chosen(which) }),
        );
    }
    Ok(seeds)
}

/// Choice bytes for the type chosen by the first one.
fn chosen(which: u8) -> Vec<u8> {
    std::iter::once(which).chain((0..200_u8).map(|nth| nth.wrapping_mul(37))).collect()
}

/// The inputs of `target` from the bytes of one vector.
fn inputs(target: &str, group: &Group, wire: &[u8]) -> Vec<Vec<u8>> {
    let behind = |front: &[u8]| Vec::from([[front, wire].concat()]);
    let from = |direction| group.direction == Some(direction);
    let is_of = |kinds: &[Type]| kinds.contains(&group.kind);
    let subject = group.subject();
    let is_subject = |known: &Asked| Some(known.subject) == subject;
    let behind_choice = |which: Option<usize>| {
        which
            .and_then(|which| u8::try_from(which).ok())
            .map_or_else(Vec::new, |which| behind(&[which]))
    };
    match target {
        "decode_any" => {
            let mut inputs = match PIECES.iter().find(|(kind, _)| *kind == group.kind) {
                Some((_, which)) => behind(&[*which]),
                None if group.direction.is_some() => behind(&[]),
                None => Vec::new(),
            };
            inputs.extend(behind_choice(SUBJECTS.iter().position(is_subject)));
            inputs
        }
        "roundtrip" if from(Direction::Client) => behind(&[0]),
        "c_header" => behind_choice(asked_of_c_header().position(is_subject)),
        "exchanges" if from(Direction::Server) => {
            let command = group.subject().and_then(|subject| subject.command);
            let which =
                COMMANDS.iter().position(|(asked, _)| Some(*asked) == command).unwrap_or_default();
            behind(&[0, u8::try_from(which).unwrap_or_default(), 200, 0, 1, 7, 20, 255])
        }
        "exchanges" if from(Direction::Client) => behind(&[1, 0, 1, 7, 20, 255]),
        "environment" if is_of(&[Type::Environment]) => behind(&[64, 0, 1, 3, 7, 255]),
        "names"
            if is_of(&[Type::Ports, Type::PortsStrict, Type::DefaultPortSuspend])
                || is_of(&[Type::SocketName, Type::PipeName, Type::ProcessStat]) =>
        {
            behind(&[])
        }
        "user_events" => user_events_seeds(group, wire),
        "cli_decode" if group.direction.is_some() => {
            // As text and as JSON.
            [0, 1].into_iter().flat_map(|format| behind(&[format, 0])).collect()
        }
        "cli_decode" => {
            let which = SUBJECTS.iter().position(|known| known.subject.kind == group.kind);
            which
                .and_then(|which| u8::try_from(which).ok())
                .map_or_else(Vec::new, |which| behind(&[4, which]))
        }
        _ => Vec::new(),
    }
}

fn user_events_seeds(group: &Group, wire: &[u8]) -> Vec<Vec<u8>> {
    let behind = |front: &[u8]| Vec::from([[front, wire].concat()]);
    match group.kind {
        Type::UserEventsRecord => behind(&[0]),
        Type::Extension => {
            Vec::from([[&[1], wire].concat(), [&[7], wire.get(5..).unwrap_or_default()].concat()])
        }
        Type::TracepointCommand => behind(&[2]),
        Type::UserReg => behind(&[3]),
        Type::UserUnreg => behind(&[4]),
        Type::Request if group.command.as_deref() == Some("EventPipe/CollectTracing5") => {
            // After `session_type`.
            let session = Message::decode(wire).ok().and(wire.get(HEADER_LEN + 4..));
            session.map_or_else(Vec::new, |session| Vec::from([[&[6, 1, 1, 1], session].concat()]))
        }
        _ => Vec::new(),
    }
}
