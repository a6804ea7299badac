//! The task that makes a client behave like the recorded one, and its expected result.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::continuation::{
    EnvironmentDecoder, EnvironmentErrorKind, EnvironmentEvent,
};
use dotnet_diagnostics_ipc::exchange::{AfterReply, End, Outcome};
use dotnet_diagnostics_ipc::vectors::script::{
    Ask, AskLimits, Ending, OkOutcome, ScriptAfterReply, ScriptEnd, ScriptEnvironment, ScriptFault,
    ScriptOutcome, ScriptStop, ScriptStream, ScriptStreamEnd,
};
use dotnet_diagnostics_ipc::vectors::{ReadAs, Type, Value, ValueForm as _};
use dotnet_diagnostics_ipc::wire::DecodeErrorKind;
use serde_json::json;

use super::connection::{self, Kind, RecordedConnection};
use super::log::{Event, EventKind, Recording, Side};
use super::pending::PORT;

/// The longest entry of an environment that is read.
const ENTRY: usize = 131_072;

/// The keys of a script besides its steps.
pub(super) struct Told {
    pub(super) ask: Ask,
    pub(super) outcome: ScriptOutcome,
    /// What neither can express.
    pub(super) notes: Vec<String>,
}

/// `streamed` is how many bytes of each connection's stream the script sends.
pub(super) fn ask_and_outcome(
    recording: &Recording,
    connections: &[RecordedConnection],
    streamed: &[u64],
) -> Told {
    let mut notes = Vec::new();
    // Of a port's connections, only the used ones.
    let spoken: Vec<usize> = connections
        .iter()
        .enumerate()
        .filter(|(_, connection)| !connection.client.is_empty())
        .map(|(nth, _)| nth)
        .collect();
    let asked = asked(connections, &spoken);
    let first = asked.first().and_then(|nth| connections.get(*nth));
    let last = asked.last().copied();
    let stop = spoken.iter().copied().find(|nth| {
        Some(*nth) > last
            && connections
                .get(*nth)
                .is_some_and(|connection| connection.command == Some(Command::STOP_TRACING))
    });
    let others =
        spoken.len().saturating_sub(asked.len()).saturating_sub(usize::from(stop.is_some()));
    if others > 0 {
        notes.push(format!(
            "`ask` and `outcome` describe only the first request; {others} more were sent"
        ));
    }
    let (command, value) = match first
        .map(|connection| (connection.command, request_value(connection)))
    {
        Some((Some(command), Some(value))) => (command.to_string(), value),
        found => {
            notes.push("`ask` cannot express the request".to_owned());
            let command =
                found.and_then(|(command, _)| command).filter(|command| command.name().is_some());
            (command.map_or("Unknown/Unknown".to_owned(), |command| command.to_string()), json!({}))
        }
    };
    let is_fallback = asked.len() > 1;
    let names = is_fallback.then(|| {
        asked
            .iter()
            .filter_map(|nth| Some(connections.get(*nth)?.command?.to_string()))
            .collect::<Vec<_>>()
    });
    let outcome = match last.and_then(|nth| Some((nth, connections.get(nth)?))) {
        Some((nth, connection)) => {
            let stopped = stop.and_then(|stop| Some((stop, connections.get(stop)?)));
            concluded(
                recording,
                nth,
                connection,
                streamed.get(nth).copied().unwrap_or(0),
                stopped,
                names,
            )
        }
        None => ScriptOutcome::NoReply { end: ScriptEnd::Closed },
    };
    let stop_after = stop.zip(last).map(|(stop, last)| {
        let before = recording.events.iter().take_while(|event| event.connection != stop);
        let bytes: usize = before.filter(|event| event.connection == last).map(runtime_bytes).sum();
        let reply = connections.get(last).map_or(0, stream_begins);
        let bytes = u64::try_from(bytes.saturating_sub(reply)).unwrap_or(u64::MAX);
        bytes.min(streamed.get(last).copied().unwrap_or(0))
    });
    let ask = Ask {
        command: Some(command),
        old_protocol: false,
        value,
        port: recording.runtime_connects.then(|| PORT.to_owned()),
        buffer: None,
        patience_ms: None,
        fallback: is_fallback,
        stop_after,
        limits: AskLimits::default(),
    };
    Told { ask, outcome, notes }
}

/// The first request, and the following ones while the commands are unknown.
fn asked(connections: &[RecordedConnection], spoken: &[usize]) -> Vec<usize> {
    let mut asked = Vec::new();
    for nth in spoken {
        let Some(connection) = connections.get(*nth) else { break };
        let before = asked.last().and_then(|nth: &usize| connections.get(*nth));
        if before.is_some_and(|before| {
            !before.is_unknown_command() || !is_older(before.command, connection.command)
        }) {
            break;
        }
        asked.push(*nth);
    }
    asked
}

/// Whether the second is the first without the number after its name, or with another.
fn is_older(newer: Option<Command>, older: Option<Command>) -> bool {
    let family = |command: Command| {
        Some((command.set, command.name()?.trim_end_matches(|c: char| c.is_ascii_digit())))
    };
    newer.and_then(family).is_some_and(|newer| older.and_then(family) == Some(newer))
}

fn runtime_bytes(event: &Event) -> usize {
    match &event.seen {
        EventKind::Piece { from: Side::Runtime, bytes, .. } => bytes.len(),
        _ => 0,
    }
}

fn stream_begins(connection: &RecordedConnection) -> usize {
    let stream = connection
        .segments
        .iter()
        .find(|segment| matches!(segment.kind, Kind::StreamHead | Kind::Stream));
    stream.map_or(connection.runtime.len(), |segment| segment.range.start)
}

fn request_value(connection: &RecordedConnection) -> Option<Value> {
    let command = connection.command.filter(|command| command.name().is_some())?;
    let subject = ReadAs { kind: Type::Request, command: Some(command), from_server: false };
    subject.decode(connection.request()).ok().map(|decoded| decoded.value)
}

fn reply_value(connection: &RecordedConnection, reply: &[u8]) -> Value {
    let subject = ReadAs { kind: Type::Reply, command: connection.command, from_server: true };
    subject.decode(reply).map_or_else(|_| json!({}), |decoded| decoded.value)
}

fn concluded(
    recording: &Recording,
    nth: usize,
    connection: &RecordedConnection,
    streamed: u64,
    stop: Option<(usize, &RecordedConnection)>,
    asked: Option<Vec<String>>,
) -> ScriptOutcome {
    let advertise = connection.segment(Kind::Advertise).and_then(|bytes| {
        let subject = ReadAs { kind: Type::Advertise, command: None, from_server: true };
        subject.decode(bytes).ok().map(|decoded| decoded.value)
    });
    let Some(outcome) = connection.outcome else {
        return ScriptOutcome::NoReply { end: ScriptEnd::Closed };
    };
    let Outcome::Ok { then, .. } = outcome else {
        let reply = connection.segment(Kind::Reply).unwrap_or_default();
        return refused(connection, outcome, reply, asked, advertise);
    };
    let mut replies = connection.segments.iter().filter(|segment| segment.kind == Kind::Reply);
    let mut next_reply =
        || replies.next().and_then(|segment| connection.runtime.get(segment.range.clone()));
    let mut ok = OkOutcome {
        reply: reply_value(connection, next_reply().unwrap_or_default()),
        then: ScriptAfterReply::Close,
        asked,
        advertise,
        stream: None,
        stop: None,
        environment: None,
        second: None,
    };
    match then {
        AfterReply::AnotherReply => {
            ok.then = ScriptAfterReply::AnotherReply;
            let second = connection::outcome(
                connection.request(),
                connection.behind_the_reply(),
                end_of(recording, nth),
            );
            let reply = next_reply().unwrap_or_default();
            ok.second = Some(match second {
                Some(Outcome::Ok { .. }) => {
                    let reply = reply_value(connection, reply);
                    ScriptOutcome::Ok(Box::new(OkOutcome {
                        reply,
                        asked: None,
                        advertise: None,
                        ..ok.clone()
                    }))
                }
                Some(other) => refused(connection, other, reply, None, None),
                None => ScriptOutcome::NoReply { end: end_of(recording, nth).into() },
            });
        }
        AfterReply::Stream { .. } => {
            ok.then = ScriptAfterReply::Stream;
            let is_over = recording.ending(nth, Side::Runtime) == Some(Ending::Close);
            let was_stopped =
                stop.is_some_and(|(_, stop)| matches!(stop.outcome, Some(Outcome::Ok { .. })));
            let end = if is_over && was_stopped {
                ScriptStreamEnd::Complete
            } else {
                ScriptStreamEnd::Incomplete
            };
            ok.stream = Some(ScriptStream { bytes: streamed, end });
            ok.stop = Some(stop.map_or(ScriptStop::NotSent, |(_, stop)| stopped(&ok.reply, stop)));
        }
        AfterReply::EnvironmentBlock { n_incoming_bytes } => {
            ok.then = ScriptAfterReply::Environment;
            let block = connection.segment(Kind::Environment).unwrap_or_default();
            ok.environment = Some(environment(n_incoming_bytes, block, end_of(recording, nth)));
        }
        AfterReply::UserEvents { .. } => ok.then = ScriptAfterReply::UserEvents,
        AfterReply::Close => {}
        // Something that a later version of the library knows would be unknown here too.
        _ => ok.then = ScriptAfterReply::Unknown,
    }
    ScriptOutcome::Ok(Box::new(ok))
}

fn stopped(reply: &Value, stop: &RecordedConnection) -> ScriptStop {
    match stop.outcome {
        Some(Outcome::Ok { .. }) => {
            let echoed = reply_value(stop, stop.segment(Kind::Reply).unwrap_or_default());
            match (
                echoed.get("sessionId").and_then(Value::as_str),
                reply.get("sessionId").and_then(Value::as_str),
            ) {
                (None, _) => ScriptStop::OkWithoutId,
                (Some(echoed), Some(id)) if echoed != id => {
                    ScriptStop::AnotherSession(echoed.to_owned())
                }
                _ => ScriptStop::Ok,
            }
        }
        Some(Outcome::Error { hresult, .. }) => ScriptStop::Hresult(format!("0x{:08X}", hresult.0)),
        Some(Outcome::Malformed { kind, offset }) => ScriptStop::Malformed(ScriptFault::new(
            kind,
            usize::try_from(offset).unwrap_or(usize::MAX),
        )),
        _ => ScriptStop::NoReply,
    }
}

/// The common result of everything that is not OK.
fn refused(
    connection: &RecordedConnection,
    outcome: Outcome,
    reply: &[u8],
    asked: Option<Vec<String>>,
    advertise: Option<Value>,
) -> ScriptOutcome {
    match outcome {
        Outcome::Error { hresult, .. } => {
            let value = reply_value(connection, reply);
            ScriptOutcome::Error {
                hresult: format!("0x{:08X}", hresult.0),
                message: value.get("message").cloned(),
                asked,
                advertise,
            }
        }
        Outcome::Malformed { kind, offset } => ScriptOutcome::Malformed {
            error: ScriptFault::new(kind, usize::try_from(offset).unwrap_or(usize::MAX)),
        },
        Outcome::Cut { received, end } => {
            ScriptOutcome::Cut { received: received.into(), end: end.into() }
        }
        Outcome::NoReply { end, .. } => ScriptOutcome::NoReply { end: end.into() },
        // The buffer has room for every message.
        Outcome::BufferTooSmall { size } => ScriptOutcome::BufferTooSmall { size: size.into() },
        _ => ScriptOutcome::NoReply { end: ScriptEnd::Closed },
    }
}

fn environment(n_incoming_bytes: u32, mut block: &[u8], end: End) -> ScriptEnvironment {
    let mut entry = vec![0; ENTRY];
    let mut decoder = EnvironmentDecoder::new(n_incoming_bytes, &mut entry);
    let mut found =
        ScriptEnvironment { entries: Vec::new(), error: None, hresult: None, cut: None };
    loop {
        match decoder.decode(&mut block) {
            Ok(Some(EnvironmentEvent::Entry(entry))) => found.entries.push(entry.to_value()),
            Ok(Some(EnvironmentEvent::EntryTooLarge { .. })) => {
                found.entries.push("too_long".into());
            }
            Ok(Some(EnvironmentEvent::Count(_))) => {}
            Ok(Some(_)) => return found,
            Ok(None) => {
                match decoder.finish() {
                    Err(error)
                        if !matches!(
                            error.kind(),
                            EnvironmentErrorKind::Grammar(DecodeErrorKind::EndOfInput { .. })
                        ) =>
                    {
                        found.error = Some(error.into());
                    }
                    _ => found.cut = Some(end.into()),
                }
                return found;
            }
            Err(error) => {
                if let EnvironmentErrorKind::ErrorMessage { hresult } = error.kind() {
                    found.hresult = Some(format!("0x{:08X}", hresult.0));
                }
                found.error = Some(error.into());
                return found;
            }
        }
    }
}

fn end_of(recording: &Recording, nth: usize) -> End {
    match recording.ending(nth, Side::Runtime) {
        Some(Ending::Reset) => End::Reset,
        Some(_) => End::Closed,
        None => End::TimedOut,
    }
}
