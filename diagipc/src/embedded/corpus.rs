//! A dictionary for fuzzing, and the seeds of each target of `fuzz/`, made from the golden vectors.
//!
//! ```
//! use diagipc::embedded::corpus;
//!
//! for target in corpus::TARGETS {
//!     assert!(!corpus::seeds(target)?.is_empty(), "{target}");
//! }
//! assert!(corpus::dictionary().contains("CollectTracing2="));
//! # Ok::<(), dotnet_diagnostics_ipc_vectors::LoadError>(())
//! ```

use std::fmt::Write as _;
use std::sync::LazyLock;

use dotnet_diagnostics_ipc::advertise::ADVERTISE_MAGIC;
use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::endpoint::NamePrefix;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAGIC};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::Message;
use dotnet_diagnostics_ipc::port::SuspendMode;
use dotnet_diagnostics_ipc::user_events::TRACEPOINT_FORMAT_V1;
use dotnet_diagnostics_ipc::wire::{Encode as _, IpcString};
use dotnet_diagnostics_ipc_vectors::{Direction, Group, LoadError, Type, TypedCodec};

use crate::embedded;

/// The targets of `fuzz/`.
pub const TARGETS: [&str; 8] = [
    "decode_any",
    "roundtrip",
    "exchanges",
    "environment",
    "names",
    "user_events",
    "c_header",
    "cli_decode",
];

/// Numbers at the limits that readers check.
const EDGES: [u32; 10] =
    [0, 1, 0xff, 0x100, 1000, 1001, 0xffff, 0x1_0000, 0x7fff_ffff, 0xffff_ffff];

/// Returns a dictionary in the form that libFuzzer and AFL++ read.
pub fn dictionary() -> String {
    let mut out = String::from(
        "# Words of the .NET Diagnostic IPC Protocol. Written by `diagipc dev corpus`.\n",
    );
    let mut word = |name: &str, bytes: &[u8]| {
        let name: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let _ = write!(out, "{name}=\"");
        for byte in bytes {
            let _ = write!(out, "\\x{byte:02x}");
        }
        out.push_str("\"\n");
    };
    word("magic", &MAGIC);
    word("advertise", &ADVERTISE_MAGIC);
    word("nettrace", b"Nettrace");
    for command in Command::known().chain([Command::OK, Command::ERROR]) {
        word(command.name().unwrap_or("reply"), &command.code().to_be_bytes());
    }
    for hresult in HResult::NAMED {
        word(hresult.name().unwrap_or_default(), &hresult.0.to_le_bytes());
    }
    for edge in EDGES {
        word("edge", &edge.to_le_bytes());
    }
    for text in ["", "a", "A=1", "=C:=C:\\"] {
        let mut bytes = Vec::new();
        if IpcString::new(text).encode(&mut bytes).is_ok() {
            word("string", &bytes);
        }
    }
    let texts = [
        NamePrefix::Current.text(),
        NamePrefix::Draft.text(),
        "-socket",
        r"\\.\pipe\",
        ";",
        ",",
        TRACEPOINT_FORMAT_V1,
    ];
    let tags = [SuspendMode::Suspend.text(), SuspendMode::NoSuspend.text(), "connect", "listen"];
    for text in texts.into_iter().chain(tags) {
        word("text", text.as_bytes());
    }
    out
}

/// A fuzzing input, and a name for its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The number of the vector and the index of the input.
    pub name: String,
    /// The bytes.
    pub input: Vec<u8>,
}

/// The maximum length of a seed. Fuzzers prefer short inputs; the vectors cover long ones.
const MAX_SEED_LEN: usize = 4096;

/// The client's requests in `exchanges`, chosen by the second byte of the input.
pub const COMMANDS: [(Command, Continuation); 6] = [
    (Command::PROCESS_INFO3, Continuation::Close),
    (Command::GENERATE_CORE_DUMP3, Continuation::Close),
    (Command::STOP_TRACING, Continuation::Close),
    (Command::COLLECT_TRACING5, Continuation::UserEvents),
    (Command::COLLECT_TRACING2, Continuation::Nettrace),
    (Command::PROCESS_ENVIRONMENT, Continuation::EnvironmentBlock),
];

/// The pieces that `decode_any` reads after the first byte, which is their number here.
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

/// Returns the seeds of a target, made from all suitable vectors; none for an unknown target.
///
/// # Errors
/// Returns an error if the vectors cannot be read.
pub fn seeds(target: &str) -> Result<Vec<Seed>, LoadError> {
    let groups = embedded::vectors()?.iter().flat_map(|one| &one.file.groups);
    let tests = groups.flat_map(|group| group.tests.iter().map(move |test| (group, test)));
    let mut seeds = Vec::new();
    for (group, test) in tests {
        let Some(wire) = test.wire.as_ref().filter(|wire| wire.len() <= MAX_SEED_LEN) else {
            continue;
        };
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

/// Returns bytes of which the first one chooses the type, and the others its choices.
fn chosen(which: u8) -> Vec<u8> {
    std::iter::once(which).chain((0..200_u8).map(|nth| nth.wrapping_mul(37))).collect()
}

/// Returns the inputs of `target` made from the bytes of one vector.
fn inputs(target: &str, group: &Group, wire: &[u8]) -> Vec<Vec<u8>> {
    let behind = |front: &[u8]| Vec::from([[front, wire].concat()]);
    let from = |direction| group.direction == Some(direction);
    let is_of = |kinds: &[Type]| kinds.contains(&group.kind);
    let subject = group.subject();
    let is_subject = |known: &Asked| Some(known.subject) == subject;
    let behind_choice = |front: &[u8], which: Option<usize>| {
        let which = which.and_then(|which| u8::try_from(which).ok());
        which.map_or_else(Vec::new, |which| behind(&[front, &[which]].concat()))
    };
    match target {
        "decode_any" => {
            let mut inputs = match PIECES.iter().find(|(kind, _)| *kind == group.kind) {
                Some((_, which)) => behind(&[*which]),
                None if group.direction.is_some() => behind(&[]),
                None => Vec::new(),
            };
            inputs.extend(behind_choice(&[], SUBJECTS.iter().position(is_subject)));
            inputs
        }
        "roundtrip" if from(Direction::Client) => behind(&[0]),
        "c_header" => behind_choice(&[], asked_of_c_header().position(is_subject)),
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
            // The two formats are text and JSON.
            [0, 1].into_iter().flat_map(|format| behind(&[format, 0])).collect()
        }
        "cli_decode" => {
            behind_choice(&[4], SUBJECTS.iter().position(|known| known.subject.kind == group.kind))
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
            // These are the bytes after `session_type`.
            let session = Message::decode(wire).ok().and(wire.get(HEADER_LEN + 4..));
            session.map_or_else(Vec::new, |session| Vec::from([[&[6, 1, 1, 1], session].concat()]))
        }
        _ => Vec::new(),
    }
}

/// A type that vectors have, with its names in the line protocol.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The type and its command.
    pub subject: TypedCodec,
    /// The name of the command.
    pub command: Option<String>,
    /// The sender.
    pub direction: Option<Direction>,
}

/// One subject for each type; the first byte of an input chooses.
pub static SUBJECTS: LazyLock<Vec<Asked>> = LazyLock::new(|| {
    let mut subjects: Vec<Asked> = Vec::new();
    for group in embedded::vectors().unwrap_or_default().iter().flat_map(|one| &one.file.groups) {
        let Some(subject) = group.subject() else { continue };
        if subjects.iter().all(|known| known.subject != subject) {
            subjects.push(Asked {
                subject,
                command: group.command.clone(),
                direction: group.direction,
            });
        }
    }
    subjects
});

/// Returns the subjects that `c/dotnet_ipc.h` also has: messages, and what follows a reply.
pub fn asked_of_c_header() -> impl Iterator<Item = &'static Asked> {
    use Type::{Advertise, Environment, Error, Reply, Request, StreamStart};
    SUBJECTS.iter().filter(|asked| {
        matches!(
            asked.subject.kind,
            Request | Reply | Error | Advertise | Environment | StreamStart
        )
    })
}

#[cfg(test)]
mod tests {

    #[test]
    fn subjects_fit_one_byte() {
        assert!((1..=256).contains(&super::SUBJECTS.len()));
    }
}
