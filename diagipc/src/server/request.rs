//! Sends a request of the vectors to a live server, and reads its answer and continuation.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header, RawHeader};
use dotnet_diagnostics_ipc::message::eventpipe::StopTracing;
use dotnet_diagnostics_ipc::message::process::{ProcessInfo, ProcessInfo2};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message, Request, encode_to_vec};
use dotnet_diagnostics_ipc::wire::IpcString;
use dotnet_diagnostics_ipc_vectors::player::{
    Conversation, Network, Player, PlayerError, Received,
};
use dotnet_diagnostics_ipc_vectors::script::{EndStep, Ending, FdKind, Step};
use dotnet_diagnostics_ipc_vectors::{Test, Value};

use super::unanswered::{STREAMS_ON, not_stopped};
use crate::conversation::{
    Exchange, Exchanges, FaultSeen, ReplyKind, fault_in_ended_stream, fault_in_stream, is_cut,
    wants_descriptor,
};
use crate::faults::Fault;

/// The connection that the request is sent on.
pub(crate) const ON: &str = "a";
const STOP: &str = "stop";
/// The time a server may take to close a connection that is over.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The time to wait for more bytes after something is already wrong.
const SURPLUS_TIMEOUT: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, Default)]
pub(crate) struct Reaction {
    /// The connection of the request, and the one that stops its session.
    pub(crate) exchanges: Exchanges,
    /// What is wrong with the session that the request started or stopped.
    pub(crate) wrong: Vec<FaultSeen>,
    /// Whether the connection stayed open after a final reply.
    pub(crate) left_open: bool,
    /// Whether further bytes were received on the open connection.
    pub(crate) has_surplus: bool,
}

impl Reaction {
    /// Returns the received reply, with nothing wrong.
    pub(crate) fn of(conversation: &Conversation) -> Self {
        Self { exchanges: Exchanges::of(conversation), ..Self::default() }
    }

    pub(crate) fn exchange(&self) -> &Exchange {
        self.exchanges.newest(ON)
    }

    /// Returns what is wrong with the message or what follows it, whatever the expected answer.
    pub(crate) fn wrong(&self) -> impl Iterator<Item = String> {
        let all = self.exchange().reply.malformed().chain(&self.wrong);
        all.map(|seen| seen.text.clone())
    }

    pub(crate) fn is_wrong(&self) -> bool {
        self.wrong().next().is_some()
    }
}

/// Makes a reaction from an exchange after which nothing was read.
#[cfg(test)]
impl From<Exchange> for Reaction {
    fn from(exchange: Exchange) -> Self {
        let exchanges = Exchanges { all: [exchange].into(), order: Vec::new() };
        Self { exchanges, ..Self::default() }
    }
}

/// The time limits of a server, and other tolerances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// The limit until the reply.
    pub(crate) reply: Duration,
    /// The limit from the reply to the end of its continuation.
    pub(crate) rest: Duration,
    /// The limit for closing a connection that is over.
    pub(crate) close: Duration,
    /// Whether sessions may have no bytes, because the server may be waiting at its start.
    pub(crate) may_be_held: bool,
}

/// Sends the request, and reads the answer.
pub(crate) fn play(
    player: &mut Player<'_>,
    test: &Test,
    patience: Patience,
) -> Result<Reaction, PlayerError> {
    let wire = test.wire.as_deref().unwrap_or_default();
    if is_cut(wire) {
        // A server waits for more bytes until the input ends (F-69).
        let half_close = Step::EndStep(EndStep { on: ON.to_string(), end: Ending::HalfClose });
        // This is checked before anything is sent.
        if let Some(why) = player.network().lacks(&half_close) {
            return Err(PlayerError::Unavailable(why.to_string()));
        }
    }
    let until = after(player, patience.reply);
    send(player, ON, wire, until)?;
    if wants_descriptor(wire) {
        // The descriptor is sent separately and before the reply is read (F-19, F-20). It is
        // unsuitable for a session, so none starts.
        let _ = player.send(ON, &[0], Some(FdKind::Null), until)?;
    }
    if is_cut(wire) {
        player.end(ON, Ending::HalfClose)?;
    }
    read(player, &test.value, patience)
}

/// Reads the answer to a request, and ends its session. `asked` is the request.
pub(crate) fn read(
    player: &mut Player<'_>,
    asked: &Value,
    patience: Patience,
) -> Result<Reaction, PlayerError> {
    let until = after(player, patience.reply);
    let so_far = next_message(player, ON, until)?;
    let mut seen = Reaction::default();
    match so_far.answer() {
        ReplyKind::Ok | ReplyKind::Error(_) => follow(player, &so_far, asked, patience, &mut seen)?,
        // More bytes may show what was meant.
        ReplyKind::NoHeader => hear_out(player)?,
        ReplyKind::Nothing | ReplyKind::Other => {}
    }
    seen.exchanges.all.push(so_far);
    seen.exchanges.complete(player.conversation());
    Ok(seen)
}

fn follow(
    player: &mut Player<'_>,
    so_far: &Exchange,
    asked: &Value,
    patience: Patience,
    answered: &mut Reaction,
) -> Result<(), PlayerError> {
    let (reply, command) = (&so_far.reply, so_far.command());
    let until = after(player, patience.rest);
    match (command, reply.session_id, reply.announced) {
        // More bytes may show the right size.
        _ if reply.refusal.is_some() => hear_out(player),
        _ if !reply.is_ok() => close(player, patience, answered),
        (Some(Command::STOP_TRACING), Some(id), _) => {
            let asked = asked.get("sessionId").and_then(Value::as_str);
            if let Some(asked) = asked.filter(|asked| **asked != id.to_string()) {
                let text = format!("sessionId is {id}, expected {asked}");
                answered.wrong.push(FaultSeen::new(Fault::StopEchoesAnother, text));
            }
            close(player, patience, answered)
        }
        (_, Some(id), _) => stop(player, &so_far.sent, id, until, patience.may_be_held, answered),
        (Some(Command::PROCESS_ENVIRONMENT), _, announced) => {
            let mut block = Vec::new();
            let cut = Received::fill(&mut block, announced.unwrap_or(0), |missing| {
                player.receive(ON, missing, until)
            })?;
            if cut.is_none() { close(player, patience, answered) } else { Ok(()) }
        }
        // A second reply may follow (F-81).
        (Some(command), ..) if command.set == Command::GENERATE_CORE_DUMP.set => Ok(()),
        _ => close(player, patience, answered),
    }
}

/// Reads the stream of a session, and stops it. `asked` is the request that started it.
fn stop(
    player: &mut Player<'_>,
    asked: &[u8],
    id: u64,
    until: Duration,
    may_be_empty: bool,
    answered: &mut Reaction,
) -> Result<(), PlayerError> {
    let stream = player.link(ON)?;
    player.drain(ON)?;
    send(player, STOP, &encode(&StopTracing { session_id: id })?, until)?;
    let came = next_message(player, STOP, until)?;
    let not_stopped = not_stopped(&came, id);
    let is_without_stop =
        not_stopped.as_ref().is_some_and(|seen| seen.fault == Fault::SessionsWithoutStop);
    answered.wrong.extend(not_stopped);
    answered.exchanges.all.push(came);
    if is_without_stop {
        return Ok(());
    }
    let drained = player.drained(stream, until)?;
    let has_ended = drained.end == Some(End::Closed);
    if !(may_be_empty && drained.first.is_empty()) {
        let of_start = fault_in_stream(asked, &drained.first, has_ended);
        let state = drained.stream.filter(|_| has_ended).map(|stream| stream.state());
        answered.wrong.extend(of_start.or_else(|| fault_in_ended_stream(state?)));
    }
    answered.wrong.extend(match drained.end {
        Some(End::Closed) => None,
        Some(end) => {
            let text = format!("the stream of the stopped session: {end}");
            Some(FaultSeen::new(Fault::ConnectionReset, text))
        }
        None => Some(FaultSeen::new(Fault::StreamDoesNotEnd, STREAMS_ON)),
    });
    Ok(())
}

/// Waits for the server to close the connection.
fn close(
    player: &mut Player<'_>,
    patience: Patience,
    answered: &mut Reaction,
) -> Result<(), PlayerError> {
    let until = after(player, patience.close);
    let received = player.receive(ON, 1, until)?;
    answered.left_open = !matches!(received, Received::End(_));
    answered.has_surplus = matches!(received, Received::Bytes(..));
    if answered.has_surplus {
        hear_out(player)?;
    }
    Ok(())
}

/// Reads what else is available, because it explains more than the first wrong byte.
fn hear_out(player: &mut Player<'_>) -> Result<(), PlayerError> {
    let until = after(player, SURPLUS_TIMEOUT);
    while let Received::Bytes(..) = player.listen(ON, Conversation::KEPT, until)? {}
    Ok(())
}

pub(super) fn after(player: &mut Player<'_>, time: Duration) -> Duration {
    player.network().now().saturating_add(time)
}

/// The time for reading the rest of a reply whose content does not matter.
const REST_TIMEOUT: Duration = Duration::from_secs(1);

/// Waits for one message without reading beyond it. Returns the connection so far, with its first
/// reply.
pub(super) fn next_message(
    player: &mut Player<'_>,
    on: &str,
    until: Duration,
) -> Result<Exchange, PlayerError> {
    let (mut bytes, mut wanted) = (Vec::new(), HEADER_LEN);
    while bytes.len() < wanted {
        let missing =
            Received::fill(&mut bytes, wanted, |missing| player.receive(on, missing, until))?;
        match Header::decode(&bytes) {
            Ok(header) if missing.is_none() => wanted = header.size.into(),
            _ => break,
        }
    }
    player.so_far(on).map(Exchange::so_far)
}

pub(super) fn encode<'a, R: Request<'a>>(request: &R) -> Result<Vec<u8>, PlayerError> {
    encode_to_vec(R::COMMAND, request).map_err(|error| PlayerError::differs(error.to_string()))
}

/// Opens a connection, and sends bytes. If they cannot be sent, the reply explains why.
pub(super) fn send(
    player: &mut Player<'_>,
    on: &str,
    wire: &[u8],
    until: Duration,
) -> Result<(), PlayerError> {
    player.open(on, until)?;
    player.send(on, wire, None, until).map(drop)
}

/// Returns the answer to a request that is sent on a connection of its own.
pub(super) fn reply_to(
    network: &mut dyn Network,
    wire: &[u8],
    within: Duration,
) -> Result<Exchange, PlayerError> {
    let mut player = Player::new(network, within);
    let until = after(&mut player, within);
    send(&mut player, ON, wire, until)?;
    let received = next_message(&mut player, ON, until);
    let _ = player.close_all();
    received
}

/// What a runtime's reply to `ProcessInfo2` says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The field `clrProductVersion`, such as `10.0.9`.
    pub(crate) version: String,
    /// Whether its managed code has begun. Before that the command line is only the executable, and
    /// there is no entry assembly (F-39, F-79).
    pub(crate) runs: bool,
}

/// Returns what a target answers to `ProcessInfo2`, a complete message (F-72), or `None` if the
/// answer is an error.
pub(super) fn identity_of(
    network: &mut dyn Network,
    within: Duration,
) -> Result<Option<Identity>, PlayerError> {
    let reply = reply_to(network, &encode(&ProcessInfo2 {})?, within)?.reply;
    let said = reply.text("clrProductVersion").zip(reply.text("managedEntrypointAssemblyName"));
    Ok(said.filter(|_| reply.is_whole() && reply.refusal.is_none()).map(|(version, assembly)| {
        Identity { version: version.to_owned(), runs: !assembly.is_empty() }
    }))
}

/// Checks that a target answers a `ProcessInfo` with a message.
pub(super) fn answers(network: &mut dyn Network, within: Duration) -> Result<(), PlayerError> {
    let exchange = reply_to(network, &encode(&ProcessInfo {})?, within)?;
    if exchange.reply.is_whole() && exchange.reply.is_one() {
        return Ok(());
    }
    Err(PlayerError::differs(format!("no valid reply to a complete ProcessInfo: {exchange}")))
}

/// Checks that a target still reacts to a `ProcessInfo`, with any answer, as the cases judge that.
pub(super) fn reacts(network: &mut dyn Network, within: Duration) -> Result<(), PlayerError> {
    let mut player = Player::new(network, within);
    let until = after(&mut player, within);
    send(&mut player, ON, &encode(&ProcessInfo {})?, until)?;
    let first = player.receive(ON, 1, until)?;
    // A slow target may react later. One that keeps the connection open does not end it.
    let until = after(&mut player, REST_TIMEOUT.min(within));
    let is_whole = |bytes: &[u8]| {
        RawHeader::read(bytes).size.is_some_and(|size| bytes.len() >= usize::from(size))
    };
    while !is_whole(&player.so_far(ON)?.came.first)
        && matches!(player.listen(ON, Conversation::KEPT, until)?, Received::Bytes(..))
    {}
    if first == Received::Nothing {
        return Err(PlayerError::differs("a complete ProcessInfo gets no answer"));
    }
    Ok(())
}

/// Returns the request with its file name moved into `directory` if the file would be written
/// elsewhere. A path that cannot be written is kept, because the answer depends on it.
pub(super) fn with_dump_below<'t>(directory: &Path, test: &'t Test) -> Cow<'t, Test> {
    let moved = || {
        let message = Message::decode(test.wire.as_deref()?).ok()?;
        let mut request = message.request().ok()?;
        let name = match &mut request {
            AnyRequest::GenerateCoreDump(request) => &mut request.dump_name,
            AnyRequest::GenerateCoreDump2(request) => &mut request.dump_name,
            AnyRequest::GenerateCoreDump3(request) => &mut request.dump_name,
            _ => return None,
        };
        let path = name.to_unicode()?;
        let path = Path::new(&path);
        let is_elsewhere = path.has_root() && path.parent().is_some_and(Path::is_dir);
        let own = directory.join(path.file_name().filter(|_| is_elsewhere)?);
        *name = IpcString::new(own.to_str()?);
        encode_to_vec(message.command, &request).ok()
    };
    moved()
        .map_or(Cow::Borrowed(test), |wire| Cow::Owned(Test { wire: Some(wire), ..test.clone() }))
}
