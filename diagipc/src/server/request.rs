//! A request of the vectors, sent to a live server, with its answer and continuation.

use std::fmt;
use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::encode_to_vec;
use dotnet_diagnostics_ipc::message::eventpipe::StopTracing;
use dotnet_diagnostics_ipc::vectors::player::{self, Conversation, Player, PlayerError, Sent};
use dotnet_diagnostics_ipc::vectors::script::{EndStep, Ending, FdKind, Step};
use dotnet_diagnostics_ipc::vectors::{Test, Value};

use super::ask::{Received, next_message};
use super::exchange::{Exchange, Exchanges};
use super::reply::Reply;
use super::request_bytes::{is_cut, wants_descriptor};

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
    /// All that was said, on the connection of the request and the one that stops its session.
    pub(crate) exchanges: Exchanges,
    /// What is wrong with the session that it started or stopped.
    pub(crate) wrong: Vec<Wrong>,
    /// Whether the connection stayed open after a final reply.
    pub(crate) left_open: bool,
    /// Whether more bytes were sent there.
    pub(crate) has_surplus: bool,
    /// The first bytes of the session's stream.
    pub(crate) stream: Vec<u8>,
}

impl Reaction {
    /// An answer after which nothing was read.
    pub(crate) const fn new(came: Received, exchanges: Exchanges) -> Self {
        Self {
            came,
            exchanges,
            wrong: Vec::new(),
            left_open: false,
            has_surplus: false,
            stream: Vec::new(),
        }
    }

    /// The reply, if a whole message was received.
    pub(crate) fn reply(&self) -> Option<&Reply> {
        let is_message = matches!(self.came, Received::Message(_));
        self.exchanges.on(ON).map(|exchange| &exchange.reply).filter(|_| is_message)
    }

    /// The error code, for an error message.
    pub(crate) fn error(&self) -> Option<HResult> {
        self.reply()?.error()
    }

    /// Why the message or what follows it is wrong, whatever was expected.
    pub(crate) fn wrong(&self) -> impl Iterator<Item = String> {
        let malformed = self.reply().into_iter().flat_map(Reply::malformed);
        let malformed = malformed.map(|seen| seen.text.clone());
        malformed.chain(self.wrong.iter().map(ToString::to_string))
    }

    /// Whether it is.
    pub(crate) fn is_wrong(&self) -> bool {
        self.wrong().next().is_some()
    }
}

#[cfg(test)]
impl Reaction {
    /// The same, to that request.
    pub(crate) fn to(self, request: &[u8]) -> Self {
        let (Received::Message(bytes)
        | Received::NoMessage(bytes)
        | Received::End(_, bytes)
        | Received::Silence(bytes)) = &self.came;
        Self { exchanges: Exchanges::one(ON, request, bytes), ..self }
    }
}

/// What is wrong with a session that a request starts or stops.
#[derive(Clone, Debug)]
pub(crate) enum Wrong {
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
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StoppedAnother { asked, said } => {
                write!(f, "sessionId is {said}, expected {asked}")
            }
            Self::NotStopped { came } => write!(f, "the session is not stopped: {came}"),
            Self::Stream(Some(end)) => write!(f, "the stream of the stopped session: {end}"),
            Self::Stream(None) => f.write_str("the stream of the stopped session does not end"),
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
    read(player, &test.value, Patience { reply: within, rest: within, close })
}

/// Reads the results of a request, and ends its session. `asked` is its value.
pub(crate) fn read(
    player: &mut Player<'_>,
    asked: &Value,
    patience: Patience,
) -> Result<Reaction, PlayerError> {
    let until = after(player, patience.reply);
    let came = next_message(player, ON, until)?;
    let so_far = Exchanges::of(player.conversation());
    let mut answered = Reaction::new(came, Exchanges::default());
    match (&answered.came, so_far.on(ON)) {
        (Received::Message(_), Some(exchange)) => {
            follow(player, exchange, asked, patience, &mut answered)?;
        }
        // The rest shows what was meant.
        (Received::NoMessage(_), _) => hear_out(player)?,
        _ => {}
    }
    answered.exchanges = Exchanges::of(player.conversation());
    Ok(answered)
}

/// What follows a reply.
fn follow(
    player: &mut Player<'_>,
    exchange: &Exchange,
    asked: &Value,
    patience: Patience,
    answered: &mut Reaction,
) -> Result<(), PlayerError> {
    let Reply { session_id, announced, .. } = exchange.reply;
    let until = after(player, patience.rest);
    match (exchange.command(), session_id, announced) {
        // The rest shows the right size.
        _ if exchange.reply.refusal.is_some() => hear_out(player),
        _ if !exchange.reply.is_ok() => close(player, patience, answered),
        (Some(Command::STOP_TRACING), id, _) => {
            let asked = asked.get("sessionId").and_then(Value::as_str);
            if let (Some(id), Some(asked)) =
                (id, asked.filter(|asked| id.is_none_or(|id| id.to_string() != **asked)))
            {
                answered.wrong.push(Wrong::StoppedAnother { asked: asked.to_string(), said: id });
            }
            close(player, patience, answered)
        }
        (_, Some(id), _) => stop(player, id, until, answered),
        (Some(Command::PROCESS_ENVIRONMENT), _, announced) => {
            let mut block = Vec::new();
            let cut = player::Received::fill(&mut block, announced.unwrap_or(0), |missing| {
                player.receive(ON, missing, until)
            })?;
            if cut.is_none() { close(player, patience, answered) } else { Ok(()) }
        }
        // A second reply may follow (F-81).
        (
            Some(
                Command::GENERATE_CORE_DUMP
                | Command::GENERATE_CORE_DUMP2
                | Command::GENERATE_CORE_DUMP3,
            ),
            ..,
        ) => Ok(()),
        _ => close(player, patience, answered),
    }
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
    let exchanges = Exchanges::of(player.conversation());
    let echo = exchanges.on(STOP).and_then(|exchange| exchange.reply.session_id);
    if echo != Some(id) {
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

fn after(player: &mut Player<'_>, time: Duration) -> Duration {
    player.network().now().saturating_add(time)
}
