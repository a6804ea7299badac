//! The script of a recording.

use dotnet_diagnostics_ipc::command::DotnetVersion;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::player::{Conversation, TurnDirection};
use dotnet_diagnostics_ipc_vectors::script::{ClientPart, Plays, Script, Target, TargetPort};
use dotnet_diagnostics_ipc_vectors::{Hazard, ScriptFile};

use super::log::Recording;
use super::parts::{Kind, command, parts};
use super::pending::PORT;
use super::{hazard, script_of_client};
use crate::conversation::{Exchange, Exchanges};
use crate::embedded::{self, NamedFile};

/// The limits of a step's time, in milliseconds.
const WITHIN: (u128, u128) = (5000, 60_000);

/// A file of one script, `NAME-client`, which plays the client. `None` if there was no connection.
///
/// Data that differs between runs is not compared: process id, cookie, command line, session ids,
/// environment, streams. Only lower-case letters and digits of `name` are kept, with `-` for
/// anything else.
///
/// ```
/// use diagipc::record::{Log, Direction, script_file};
///
/// let log = Log::new(false);
/// let connection = log.opened();
/// log.piece(connection, Direction::Client, b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0", Vec::new());
/// log.piece(connection, Direction::Server, b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0", Vec::new());
/// let file = script_file(&log.recording(), "Resume").unwrap();
/// assert_eq!((file.scripts.len(), file.scripts[0].name.as_str()), (1, "resume-client"));
/// ```
pub fn script_file(recording: &Recording, name: &str) -> Option<ScriptFile> {
    let Recording { conversation, .. } = recording;
    let runtime_connects = conversation.events.first()?.by == TurnDirection::Received;
    let exchanges = Exchanges::of(conversation).all;
    let name = plain(name);
    // Without the vectors, which are part of the crate, everything is harmful.
    let files = embedded::vectors().unwrap_or_default();
    let spec = spec_of(&exchanges, files);
    let since = exchanges
        .iter()
        .filter(|exchange| exchange.reply.error() != Some(HResult::UNKNOWN_COMMAND))
        .filter_map(|exchange| {
            let since: DotnetVersion = command(exchange)?.since()?;
            Some(since)
        });
    let since = since.max().map(|version| version.to_string());

    let hazard: Option<Hazard> =
        exchanges.iter().filter_map(|exchange| hazard::hazard_of(exchange, files)).max();
    let ports = if runtime_connects {
        Vec::from([TargetPort { id: PORT.to_owned(), suspend: false, listening: true }])
    } else {
        Vec::new()
    };
    let target = Target { ports, ..Target::default() };
    let client = Script {
        sc_id: 1,
        name: format!("{name}-client"),
        comment: about(recording, &exchanges),
        spec,
        since,
        hazard,
        plays: Plays::Client(ClientPart {
            target,
            habit: None,
            seen_on: Vec::new(),
            deviations: Vec::new(),
        }),
        steps: script_of_client::steps(conversation, &exchanges),
    };

    let scripts = Vec::from([client]);
    let title = format!("A recorded conversation: {name}");
    Some(ScriptFile::new(title, within(conversation), scripts))
}

fn plain(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "recording".to_owned() } else { words.join("-") }
}

/// The facts and requirements of the vectors for the requests.
fn spec_of(exchanges: &[Exchange], files: &[NamedFile]) -> Vec<String> {
    // A conversation begins with one message, and the server answers.
    let mut spec = Vec::from(["R-FLW-003".to_owned(), "R-FLW-004".to_owned()]);
    for exchange in exchanges {
        let Some(command) = command(exchange).map(|command| command.to_string()) else { continue };
        let groups = files
            .iter()
            .flat_map(|one| &one.file.groups)
            .filter(|group| group.command.as_ref() == Some(&command));
        for cited in groups.flat_map(|group| &group.spec) {
            if !spec.contains(cited) {
                spec.push(cited.clone());
            }
        }
    }
    spec
}

/// The conversation in words, and the parts missing in its script.
fn about(recording: &Recording, exchanges: &[Exchange]) -> String {
    let mut words = Vec::new();
    for (connection, exchange) in recording.conversation.connections.iter().zip(exchanges) {
        let (client, runtime) = (&connection.sent, &connection.came);
        let asks = command(exchange).map_or("no request".to_owned(), |command| command.to_string());
        words.push(format!("{}: {asks}", connection.name));
        let parts = parts(&runtime.first, exchange);
        let begin = parts.iter().find(|part| matches!(part.kind, Kind::StreamHead | Kind::Stream));
        let stream = begin.map(|part| {
            runtime.len.saturating_sub(u64::try_from(part.range.start).unwrap_or(u64::MAX))
        });
        if let Some(stream) = stream {
            words.push(format!("whose stream had {stream} bytes, which are read and not compared"));
            continue;
        }
        for (whose, total) in [("client", client), ("runtime", runtime)] {
            let (kept, all) = (total.first.len(), total.len);
            if u64::try_from(kept) != Ok(all) {
                words.push(format!("{kept} of the {whose}'s {all} bytes were kept"));
            }
        }
    }
    if recording.more_connections > 0 {
        words.push(format!("{} further connections were not kept", recording.more_connections));
    }
    format!("Recorded. {}", words.join(", "))
}

/// Twice the longest observed time, but enough for a busy machine.
fn within(conversation: &Conversation) -> u32 {
    let times = conversation.events.iter().map(|event| event.at);
    let longest = times
        .clone()
        .zip(times.skip(1))
        .map(|(one, next)| next.saturating_sub(one))
        .max()
        .unwrap_or_default();
    let (least, most) = WITHIN;
    u32::try_from(longest.as_millis().saturating_mul(2).saturating_add(least).min(most))
        .unwrap_or(u32::MAX)
}
