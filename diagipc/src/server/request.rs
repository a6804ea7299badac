//! A request of the vectors, sent to a live server, with its answer and continuation.

use std::fmt;
use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, RawHeader};
use dotnet_diagnostics_ipc::message::eventpipe::StopTracing;
use dotnet_diagnostics_ipc::message::{AnyRequest, Message, encode_to_vec};
use dotnet_diagnostics_ipc::vectors::player::{self, Conversation, Player, PlayerError, Sent};
use dotnet_diagnostics_ipc::vectors::script::{EndStep, Ending, FdKind, Step};
use dotnet_diagnostics_ipc::vectors::{DecodeRefusal, Group, ReadAs, Test, Type, Value};

use super::ask::{Received, next_message};

/// The connection that the request goes over, and the one that stops its session.
pub(crate) const ON: &str = "a";
const STOP: &str = "stop";
/// How long a server may take to close a connection that is over.
pub(super) const CLOSES: Duration = Duration::from_secs(1);
/// How long to wait for more if something is already wrong.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// A server's reaction to a request.
#[derive(Clone, Debug)]
pub(crate) struct Reaction {
    /// The first answer.
    pub(crate) came: Received,
    /// What is wrong with it, or with its continuation.
    pub(crate) wrong: Vec<Wrong>,
    /// Whether the connection stayed open after a final reply.
    pub(crate) left_open: bool,
    /// Whether more bytes were sent there.
    pub(crate) has_surplus: bool,
    /// The first bytes of the session's stream.
    pub(crate) stream: Vec<u8>,
}

/// What is wrong with a reply, or with its continuation.
#[derive(Clone, Debug)]
pub(crate) enum Wrong {
    /// The reply is malformed.
    Reply(DecodeRefusal),
    /// The reply decodes, but is not canonical: extra bytes, or a `reserved` that is not 0.
    NotCanonical,
    /// The reply has the id of another session.
    StoppedAnother {
        /// The session to stop.
        asked: String,
        /// The reported one.
        said: u64,
    },
    /// A session is not stopped.
    NotStopped {
        /// The answer to `StopTracing`.
        came: Received,
    },
    /// How the stream of the stopped session ended, if it did.
    Stream(Option<End>),
    /// The environment is shorter than announced.
    EnvironmentCut {
        /// The announced size.
        announced: usize,
        /// The received size.
        came: usize,
        /// The end.
        then: player::Received,
    },
    /// The environment is malformed.
    Environment(DecodeRefusal),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reply(refusal) => write!(f, "the reply is malformed: {refusal}"),
            Self::NotCanonical => f.write_str(
                "the reply has bytes after its last field, or a `reserved` other than 0",
            ),
            Self::StoppedAnother { asked, said } => {
                write!(f, "sessionId is {said}, expected {asked}")
            }
            Self::NotStopped { came } => write!(f, "the session is not stopped: {came}"),
            Self::Stream(Some(end)) => write!(f, "the stream of the stopped session: {end}"),
            Self::Stream(None) => f.write_str("the stream of the stopped session does not end"),
            Self::EnvironmentCut { announced, came, then } => {
                let then = match then {
                    player::Received::End(end) => format!("{end}"),
                    player::Received::Bytes(..) | player::Received::Nothing => {
                        "nothing more was received".to_string()
                    }
                };
                write!(f, "nIncomingBytes is {announced}, but after {came} bytes {then}")
            }
            Self::Environment(refusal) => write!(f, "the environment is malformed: {refusal}"),
        }
    }
}

/// The time limits of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// To its reply.
    pub(crate) reply: Duration,
    /// From there to the end of its continuation.
    pub(crate) rest: Duration,
    /// To close a connection that is over.
    pub(crate) close: Duration,
}

/// Sends the request, and reads the results.
pub(crate) fn play(
    player: &mut Player<'_>,
    group: &Group,
    test: &Test,
    within: Duration,
    close: Duration,
) -> Result<Reaction, PlayerError> {
    let wire = test.wire.as_deref().unwrap_or_default();
    if is_cut(wire) {
        // A server waits for the rest until the input ends (F-69).
        let half_close = Step::EndStep(EndStep { on: ON.to_string(), end: Ending::HalfClose });
        // Checked before anything is sent.
        if let Some(why) = player.network().lacks(&half_close) {
            return Err(PlayerError::Unavailable(why.to_string()));
        }
    }
    let until = after(player, within);
    player.open(ON, until)?;
    // A server that refuses early does not read the rest; its answer explains why.
    if let Sent::PeerGone(_) = player.send(ON, wire, None, until)? {}
    if wants_descriptor(wire) {
        // Separately, and before the reply (F-19, F-20). It is unsuitable for a session, so none
        // starts.
        let _ = player.send(ON, &[0], Some(FdKind::Null), until)?;
    }
    if is_cut(wire) {
        player.end(ON, Ending::HalfClose)?;
    }
    let command = group.command.as_deref().and_then(|name| name.parse::<Command>().ok());
    read(player, command, &test.value, Patience { reply: within, rest: within, close })
}

/// Reads the results of a request, and ends its session. `asked` is its value.
pub(crate) fn read(
    player: &mut Player<'_>,
    command: Option<Command>,
    asked: &Value,
    patience: Patience,
) -> Result<Reaction, PlayerError> {
    let until = after(player, patience.reply);
    let came = next_message(player, ON, until)?;
    let mut answered = Reaction {
        came,
        wrong: Vec::new(),
        left_open: false,
        has_surplus: false,
        stream: Vec::new(),
    };
    if matches!(answered.came, Received::NoMessage(_)) {
        hear_out(player)?;
    }
    let Received::Message(reply) = &answered.came else { return Ok(answered) };
    let subject = ReadAs { kind: Type::Reply, command, from_server: true };
    let value = match subject.decode(reply) {
        Ok(decoded) => {
            if !decoded.canonical {
                answered.wrong.push(Wrong::NotCanonical);
            }
            if decoded.kind != Type::Reply {
                close(player, patience, &mut answered)?;
                return Ok(answered);
            }
            decoded.value
        }
        Err(refusal) => {
            answered.wrong.push(Wrong::Reply(refusal));
            // The rest shows the right size.
            hear_out(player)?;
            return Ok(answered);
        }
    };
    follow(player, command, asked, &value, patience, &mut answered)?;
    Ok(answered)
}

/// The continuation of an OK.
fn follow(
    player: &mut Player<'_>,
    command: Option<Command>,
    asked: &Value,
    reply: &Value,
    patience: Patience,
    answered: &mut Reaction,
) -> Result<(), PlayerError> {
    let until = after(player, patience.rest);
    let session_id =
        reply.get("sessionId").and_then(Value::as_str).and_then(|id| id.parse::<u64>().ok());
    match (command, session_id) {
        (Some(Command::STOP_TRACING), id) => {
            let asked = asked.get("sessionId").and_then(Value::as_str);
            if let (Some(id), Some(asked)) =
                (id, asked.filter(|asked| id.is_none_or(|id| id.to_string() != **asked)))
            {
                answered.wrong.push(Wrong::StoppedAnother { asked: asked.to_string(), said: id });
            }
            close(player, patience, answered)?;
        }
        (_, Some(id)) => stop(player, id, until, answered)?,
        (Some(Command::PROCESS_ENVIRONMENT), None) => {
            environment(player, reply, patience, answered)?;
        }
        // A second reply may follow (F-81).
        (
            Some(
                Command::GENERATE_CORE_DUMP
                | Command::GENERATE_CORE_DUMP2
                | Command::GENERATE_CORE_DUMP3,
            ),
            None,
        ) => {}
        _ => close(player, patience, answered)?,
    }
    Ok(())
}

/// Reads the stream of a session, and stops it.
fn stop(
    player: &mut Player<'_>,
    id: u64,
    until: Duration,
    answered: &mut Reaction,
) -> Result<(), PlayerError> {
    let stream = player.link(ON)?;
    player.network().drain(stream)?;
    player.open(STOP, until)?;
    let request = encode_to_vec(Command::STOP_TRACING, &StopTracing { session_id: id });
    let request = request.map_err(|error| PlayerError::differs(error.to_string()))?;
    let _ = player.send(STOP, &request, None, until)?;
    let came = next_message(player, STOP, until)?;
    let subject =
        ReadAs { kind: Type::Reply, command: Some(Command::STOP_TRACING), from_server: true };
    let echo = match &came {
        Received::Message(bytes) => {
            subject.decode(bytes).ok().filter(|decoded| decoded.kind == Type::Reply)
        }
        _ => None,
    };
    if echo.and_then(|echo| {
        echo.value.get("sessionId").and_then(Value::as_str).map(|text| text == id.to_string())
    }) != Some(true)
    {
        answered.wrong.push(Wrong::NotStopped { came });
    }
    let drained = player.drained(stream, until)?;
    answered.stream = drained.first;
    match drained.end {
        Some(End::Closed) => {}
        end => answered.wrong.push(Wrong::Stream(end)),
    }
    Ok(())
}

/// Reads the block that was announced.
fn environment(
    player: &mut Player<'_>,
    reply: &Value,
    patience: Patience,
    answered: &mut Reaction,
) -> Result<(), PlayerError> {
    let until = after(player, patience.rest);
    let announced = reply
        .get("nIncomingBytes")
        .and_then(Value::as_u64)
        .and_then(|n| usize::try_from(n).ok())
        .unwrap_or(0);
    let mut block = Vec::new();
    if let Some(other) =
        player::Received::fill(&mut block, announced, |missing| player.receive(ON, missing, until))?
    {
        answered.wrong.push(Wrong::EnvironmentCut { announced, came: block.len(), then: other });
        return Ok(());
    }
    let subject = ReadAs { kind: Type::Environment, command: None, from_server: true };
    if let Err(refusal) = subject.decode(&block) {
        answered.wrong.push(Wrong::Environment(refusal));
    }
    close(player, patience, answered)?;
    Ok(())
}

/// Waits for the server to close the connection.
fn close(
    player: &mut Player<'_>,
    patience: Patience,
    answered: &mut Reaction,
) -> Result<(), PlayerError> {
    let until = after(player, patience.close);
    let came = player.receive(ON, 1, until)?;
    answered.left_open = !matches!(came, player::Received::End(_));
    answered.has_surplus = matches!(came, player::Received::Bytes(..));
    if answered.has_surplus {
        hear_out(player)?;
    }
    Ok(())
}

/// Reads what else is available: it explains more than the first wrong byte.
fn hear_out(player: &mut Player<'_>) -> Result<(), PlayerError> {
    let until = after(player, LAST_WORDS);
    while let player::Received::Bytes(..) = player.listen(ON, Conversation::KEPT, until)? {}
    Ok(())
}

/// Whether there are fewer bytes than the size announces.
pub(super) fn is_cut(wire: &[u8]) -> bool {
    wire.len() < HEADER_LEN || size(wire).is_some_and(|size| wire.len() < size)
}

/// Whether the size is less than that of a header.
pub(super) fn is_too_small(wire: &[u8]) -> bool {
    size(wire).is_some_and(|size| size < HEADER_LEN)
}

/// The message at the front, if there is more after it.
pub(crate) fn message_of(wire: &[u8]) -> Option<&[u8]> {
    let (message, behind) = wire.split_at_checked(size(wire)?)?;
    if behind.is_empty() { None } else { Some(message) }
}

fn size(wire: &[u8]) -> Option<usize> {
    RawHeader::read(wire).size.map(usize::from)
}

/// Whether a descriptor belongs to this request.
pub(crate) fn wants_descriptor(wire: &[u8]) -> bool {
    use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing5, CollectTracing6};
    let request = Message::decode(wire).ok().and_then(|message| message.request().ok());
    matches!(
        request,
        Some(
            AnyRequest::CollectTracing5(CollectTracing5::UserEvents(_))
                | AnyRequest::CollectTracing6(CollectTracing6::UserEvents(_))
        )
    )
}

fn after(player: &mut Player<'_>, time: Duration) -> Duration {
    player.network().now().saturating_add(time)
}
