//! Finds out what a target supports: commands by sending a complete and valid message, and
//! abilities by the target's behaviour.
//!
//! The messages are valid vectors, and the `hazard` of each one decides whether it may be sent.

use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::HEADER_LEN;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, EventLevel, Format, ProviderConfig, StopTracing,
};
use dotnet_diagnostics_ipc::message::process::{ProcessInfo, ResumeRuntime};
use dotnet_diagnostics_ipc::wire::Array;
use dotnet_diagnostics_ipc_vectors::player::{Network as _, Player, PlayerError, Received};
use dotnet_diagnostics_ipc_vectors::script::{self, FdKind, TargetPort};
use dotnet_diagnostics_ipc_vectors::{Direction, ExpectedResult, Hazard, Test, Type};

use super::abilities::Has;
use super::request::{ON, Patience, after, encode, next_message, read, send};
use super::spawn::{RunsIn, Spawned};
use super::target::Target;
use crate::conversation::{Exchange, FaultSeen, Reply, ReplyKind, wants_descriptor};
use crate::embedded::NamedFile;
use crate::faults::Fault;
use crate::network::LiveNetwork;

/// The name of the port used to test whether a target connects to ports.
const PORT: &str = "p";
const BESIDE: &str = "b";
/// The time for which half a header may keep another connection waiting.
const PEER_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    /// The time limit for required answers.
    pub(super) whole: Duration,
    /// The time limit for optional answers.
    pub(super) learned: Duration,
}

/// Returns the valid requests of the vectors, with the name of their command.
fn valid_requests(vectors: &[NamedFile]) -> impl Iterator<Item = (Option<&str>, &Test)> {
    let groups = vectors
        .iter()
        .flat_map(|file| &file.file.groups)
        .filter(|group| group.kind == Type::Request && group.direction == Some(Direction::Client));
    groups.flat_map(|group| {
        let valid = group.tests.iter().filter(|test| test.result == ExpectedResult::Valid);
        valid.map(|test| (group.command.as_deref(), test))
    })
}

/// Returns the valid message for trying a command that has the least effect.
pub(super) fn message_for(vectors: &[NamedFile], command: Command) -> Option<&Test> {
    let of_command = valid_requests(vectors).filter(|(name, test)| {
        let is_plain = test.wire.as_deref().is_some_and(|wire| !wants_descriptor(wire));
        name.and_then(|name| name.parse().ok()) == Some(command) && test.canonical && is_plain
    });
    of_command.map(|(_, test)| test).min_by_key(|test| match test.hazard {
        None => 0,
        Some(Hazard::SideEffect) => 1,
        Some(Hazard::Harmful) => 2,
    })
}

/// Returns a valid request for a session with `user_events`.
pub(super) fn user_events_request(vectors: &[NamedFile]) -> Option<&[u8]> {
    let wires = valid_requests(vectors).filter_map(|(_, test)| test.wire.as_deref());
    wires.into_iter().find(|wire| wants_descriptor(wire))
}

/// Finds out whether a target supports the command of a complete and valid message.
pub(super) fn asked(network: &mut LiveNetwork, test: &Test, waits: Waits) -> Has {
    // The cases judge the stream.
    let may_be_held = true;
    let Waits { whole, learned } = waits;
    let patience = Patience { reply: whole, rest: whole, close: learned, may_be_held };
    let mut player = Player::new(network, whole);
    let until = after(&mut player, whole);
    let reaction = send(&mut player, ON, test.wire.as_deref().unwrap_or_default(), until)
        .and_then(|()| read(&mut player, &test.value, patience));
    let _ = player.close_all();
    let Ok(reaction) = reaction else { return Has::Unclear };
    let exchange = reaction.exchange();
    match exchange.answer() {
        ReplyKind::Error(HResult::UNKNOWN_COMMAND) => {
            Has::No("DS_IPC_E_UNKNOWN_COMMAND to a complete and valid message".to_string())
        }
        ReplyKind::Other if exchange.reply.faults().any(|seen| seen.fault == Fault::NoAnswer) => {
            Has::Silent
        }
        // .NET 3 answers an unknown id of the profiler set with the first one (F-68).
        ReplyKind::Error(HResult::BAD_ENCODING) | ReplyKind::NoHeader | ReplyKind::Other => {
            Has::Unclear
        }
        ReplyKind::Ok | ReplyKind::Error(_) => Has::Yes,
        ReplyKind::Nothing => Has::Silent,
    }
}

/// Returns the answer to a request sent in two pieces. The second piece follows once it is clear
/// that the target does not answer the first, because a busy target would receive both together.
pub(super) fn reply_to_pieces(
    network: &mut LiveNetwork,
    first: &[u8],
    others: &[u8],
    waits: Waits,
) -> Result<Exchange, PlayerError> {
    let mut player = Player::new(network, waits.whole);
    let until = after(&mut player, waits.whole);
    send(&mut player, ON, first, until)?;
    let answers = after(&mut player, waits.learned);
    let early = next_message(&mut player, ON, answers)?;
    if early.answer() != ReplyKind::Nothing {
        return Ok(early);
    }
    let _ = player.send(ON, others, None, until)?;
    next_message(&mut player, ON, until)
}

/// Tests whether a target keeps a connection open after a reply, and serves the next request on it.
pub(super) fn keeps_open(network: &mut LiveNetwork, waits: Waits) -> Result<bool, PlayerError> {
    let request = encode(&ProcessInfo {})?;
    let mut player = Player::new(network, waits.whole);
    let until = after(&mut player, waits.whole);
    send(&mut player, ON, &request, until)?;
    if !next_message(&mut player, ON, until)?.reply.is_whole() {
        return Ok(false);
    }
    let len = player.so_far(ON)?.came.first.len();
    let until = after(&mut player, waits.learned);
    if !matches!(player.receive(ON, 1, until)?, Received::Nothing) {
        return Ok(false);
    }
    let until = after(&mut player, waits.learned);
    let _ = player.send(ON, &request, None, until)?;
    next_message(&mut player, ON, until)?;
    let again = player.so_far(ON)?.came.first.get(len..).unwrap_or_default();
    Ok(Reply::read(None, again).is_whole())
}

/// Returns the answer to a complete `ProcessInfo` on a second connection while the first connection
/// has sent only `first`.
fn reply_beside(
    network: &mut LiveNetwork,
    first: &[u8],
    whole: Duration,
    within: Duration,
) -> Result<ReplyKind, PlayerError> {
    let mut player = Player::new(network, whole);
    let until = after(&mut player, whole);
    player.open(ON, until)?;
    if !first.is_empty() {
        let _ = player.send(ON, first, None, until)?;
    }
    send(&mut player, BESIDE, &encode(&ProcessInfo {})?, until)?;
    let until = after(&mut player, within);
    Ok(next_message(&mut player, BESIDE, until)?.answer())
}

/// Finds out whether a silent client blocks the next one.
pub(super) fn one_client_at_a_time(
    network: &mut LiveNetwork,
    waits: Waits,
) -> Result<Has, PlayerError> {
    Ok(match reply_beside(network, &[], waits.whole, waits.learned)? {
        ReplyKind::Ok | ReplyKind::Error(_) => {
            Has::No("it answers a second client while the first is silent".to_string())
        }
        ReplyKind::Nothing => Has::Yes,
        ReplyKind::NoHeader | ReplyKind::Other => Has::Unclear,
    })
}

/// Returns the fault if half a header on one connection keeps another waiting for long.
pub(super) fn silent_peer(
    network: &mut LiveNetwork,
    waits: Waits,
) -> Result<Option<FaultSeen>, PlayerError> {
    let request = encode(&ProcessInfo {})?;
    let half = request.get(..HEADER_LEN / 2).unwrap_or_default();
    let answer = reply_beside(network, half, waits.whole, PEER_TIMEOUT)?;
    let text = format!(
        "ProcessInfo got no answer for {} s while another connection had sent {} bytes of a header",
        PEER_TIMEOUT.as_secs(),
        half.len()
    );
    Ok((answer == ReplyKind::Nothing).then(|| FaultSeen::new(Fault::SilentPeerBlocksOthers, text)))
}

/// Finds out whether sessions in format 0 (netperf) are supported.
pub(super) fn netperf(network: &mut LiveNetwork, waits: Waits) -> Result<Has, PlayerError> {
    let mut player = Player::new(network, waits.whole);
    Ok(match begin(&mut player, Format::NET_PERF, waits)? {
        Err(exchange) if exchange.reply.error().is_some() => {
            Has::No("it refuses a session in this format".to_string())
        }
        Err(_) => Has::Unclear,
        Ok(id) => {
            // The cases judge the stream.
            end(&mut player, id, waits)?;
            Has::Yes
        }
    })
}

/// Finds out whether a session with `user_events` waits for its descriptor. If such a session is
/// refused at once, it is unsupported.
pub(super) fn user_events(
    network: &mut LiveNetwork,
    wire: &[u8],
    waits: Waits,
) -> Result<Has, PlayerError> {
    let mut player = Player::new(network, waits.whole);
    let until = after(&mut player, waits.whole);
    send(&mut player, ON, wire, until)?;
    let until = after(&mut player, waits.learned);
    let exchange = next_message(&mut player, ON, until)?;
    if exchange.answer() == ReplyKind::Nothing {
        // The session waits for a descriptor. The passed one is unsuitable, so no session starts.
        let until = after(&mut player, waits.whole);
        let _ = player.send(ON, &[0], Some(FdKind::Null), until)?;
        next_message(&mut player, ON, until)?;
    }
    Ok(match exchange.reply.error() {
        Some(hresult) => Has::No(format!("{hresult} before a descriptor was passed")),
        None => Has::Yes,
    })
}

/// A target that was started with a port, to which it may connect while other things are tested.
pub(super) struct WithPort {
    _spawned: Spawned,
    network: LiveNetwork,
    within: Duration,
    until: Duration,
}

impl WithPort {
    /// Starts the target; returns `None` if it does not start.
    pub(super) fn start(subject: &Target, waits: Waits) -> Option<Self> {
        let port = TargetPort { id: PORT.to_string(), suspend: false, listening: true };
        let target = script::Target { ports: [port].into(), ..script::Target::default() };
        let (spawned, network) = subject.own(&target, RunsIn::CurrentDirectory).ok()?;
        let within = waits.whole;
        let until = network.now().saturating_add(within);
        Some(Self { _spawned: spawned, network, within, until })
    }

    /// Finds out whether the target has connected, or connects in the remaining time.
    pub(super) fn connects(mut self) -> Has {
        let mut player = Player::new(&mut self.network, self.within);
        match player.accepted(Some(PORT), self.until) {
            Ok(None) => Has::TimedOut(format!(
                "two attempts without a connection to the port of DOTNET_DiagnosticPorts within \
                 {} s of the start",
                self.within.as_secs()
            )),
            Ok(Some(_)) => Has::Yes,
            Err(_) => Has::Unclear,
        }
    }
}

/// Finds out whether a target that is started suspended waits for its resume. The only sign that
/// all targets share is that a session has no bytes until then (F-112).
pub(super) fn suspension(subject: &Target, waits: Waits) -> Result<Has, PlayerError> {
    let target = script::Target { suspended: true, ..script::Target::default() };
    let Ok((_spawned, mut network)) = subject.own(&target, RunsIn::CurrentDirectory) else {
        return Ok(Has::Yes);
    };
    let mut player = Player::new(&mut network, waits.whole);
    let Ok(id) = begin(&mut player, Format::NET_TRACE, waits)? else {
        let text = "no session can show whether it waits: declare it with --claims";
        return Ok(Has::No(text.to_string()));
    };
    let until = after(&mut player, waits.learned);
    if matches!(player.receive(ON, 1, until)?, Received::Bytes(..)) {
        end(&mut player, id, waits)?;
        return Ok(Has::No("a session streams before ResumeRuntime".to_string()));
    }
    let until = after(&mut player, waits.whole);
    send(&mut player, BESIDE, &encode(&ResumeRuntime {})?, until)?;
    next_message(&mut player, BESIDE, until)?;
    Ok(Has::Yes)
}

/// Starts a session of an unknown provider. Returns its id, or the answer if it is not started.
fn begin(
    player: &mut Player<'_>,
    format: Format,
    waits: Waits,
) -> Result<Result<u64, Exchange>, PlayerError> {
    let providers = [ProviderConfig::new("No-Such-Provider", 0, EventLevel::CRITICAL)];
    let request = CollectTracing2 {
        circular_buffer_mb: 1,
        format,
        request_rundown: false,
        providers: Array::new(&providers),
    };
    let until = after(player, waits.whole);
    send(player, ON, &encode(&request)?, until)?;
    let exchange = next_message(player, ON, until)?;
    Ok(exchange.reply.session_id.ok_or(exchange))
}

/// Stops the session, and reads its stream to the end.
fn end(player: &mut Player<'_>, session_id: u64, waits: Waits) -> Result<(), PlayerError> {
    let until = after(player, waits.whole);
    let stream = player.link(ON)?;
    player.drain(ON)?;
    send(player, BESIDE, &encode(&StopTracing { session_id })?, until)?;
    next_message(player, BESIDE, until)?;
    player.drained(stream, until).map(drop)
}
