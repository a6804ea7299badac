//! Finds out what a target supports: each command with a complete and valid message, each ability
//! by the target's behaviour.
//!
//! The messages are valid vectors, and the `hazard` of each decides whether it may be sent.

use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::HEADER_LEN;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, EventLevel, Format, ProviderConfig, StopTracing,
};
use dotnet_diagnostics_ipc::message::process::{ProcessInfo, ResumeRuntime};
use dotnet_diagnostics_ipc::message::{Request, encode_to_vec};
use dotnet_diagnostics_ipc::wire::Array;
use dotnet_diagnostics_ipc_vectors::player::{self, Difference, Network as _, Player, PlayerError};
use dotnet_diagnostics_ipc_vectors::script::{self, Ending, FdKind, TargetPort};
use dotnet_diagnostics_ipc_vectors::{Direction, ExpectedResult, Group, Hazard, Test, Type};

use super::abilities::Has;
use super::request::{ON, Patience, read};
use super::request::{hear_message, next_message};
use super::spawn::{RunsIn, Spawned};
use super::target::Target;
use super::timeouts::Pace;
use crate::conversation::{Answer, Exchange, FaultSeen, Reply, wants_descriptor};
use crate::embedded::NamedFile;
use crate::faults::Fault;
use crate::network::LiveNetwork;

/// The name of the port for testing whether a target has ports.
const PORT: &str = "p";
/// A second connection.
const BESIDE: &str = "b";
/// How long half a header may keep another connection waiting.
const PEER_IS_SILENT: Duration = Duration::from_secs(3);
/// How long after its start a target may take to connect to its port: its own endpoint answers by
/// then.
const CONNECTS: Duration = Duration::from_secs(3);
/// How a nettrace stream begins.
const NETTRACE: &[u8] = b"Nettrace";

/// The time limits for a target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    /// For required answers.
    pub(super) whole: Duration,
    /// For optional answers.
    pub(super) learned: Duration,
}

impl Waits {
    pub(super) fn of(whole: Duration, pace: &Pace) -> Self {
        Self { whole, learned: pace.learned().min(whole) }
    }
}

/// Measures how fast a target answers a complete `ProcessInfo`, and whether it does.
pub(super) fn measure(subject: &mut Target, pace: &mut Pace) -> Result<(), String> {
    const TIMES: usize = 3;
    for _ in 0..TIMES {
        let began = Instant::now();
        subject.answers()?;
        pace.answered(began.elapsed());
    }
    Ok(())
}

/// The valid message for trying a command: the one with the least effect.
pub(super) fn message_for(vectors: &[NamedFile], command: Command) -> Option<&Test> {
    let requests =
        |group: &&Group| group.kind == Type::Request && group.direction == Some(Direction::Client);
    let of_command = |group: &&Group| {
        group.command.as_deref().and_then(|name| name.parse().ok()) == Some(command)
    };
    let groups =
        vectors.iter().flat_map(|file| &file.file.groups).filter(requests).filter(of_command);
    let is_meant = |test: &&Test| {
        let plain = test.wire.as_deref().is_some_and(|wire| !wants_descriptor(wire));
        test.result == ExpectedResult::Valid && test.canonical && plain
    };
    let all = groups.flat_map(|group| &group.tests).filter(is_meant);
    all.min_by_key(|test| match test.hazard {
        None => 0,
        Some(Hazard::SideEffect) => 1,
        Some(Hazard::Harmful) => 2,
    })
}

/// A valid request for a session with `user_events`.
pub(super) fn user_events_request(vectors: &[NamedFile]) -> Option<&[u8]> {
    let groups = vectors
        .iter()
        .flat_map(|file| &file.file.groups)
        .filter(|group| group.kind == Type::Request);
    let tests =
        groups.flat_map(|group| &group.tests).filter(|test| test.result == ExpectedResult::Valid);
    tests.filter_map(|test| test.wire.as_deref()).find(|wire| wants_descriptor(wire))
}

/// Whether a target knows the command of a message that is complete and valid.
pub(super) fn asked(network: &mut LiveNetwork, test: &Test, waits: Waits) -> Has {
    let wire = test.wire.as_deref().unwrap_or_default();
    let mut player = Player::new(network, waits.whole);
    let play = |player: &mut Player<'_>| {
        let until = player.network().now().saturating_add(waits.whole);
        player.open(ON, until)?;
        let _ = player.send(ON, wire, None, until)?;
        read(
            player,
            &test.value,
            Patience {
                reply: waits.whole,
                rest: waits.whole,
                close: waits.learned,
                // The cases judge its stream.
                may_be_held: true,
            },
        )
    };
    let has = match play(&mut player) {
        Ok(answered) => match answered.exchange().answer() {
            Answer::Error(HResult::UNKNOWN_COMMAND) => {
                Has::No("DS_IPC_E_UNKNOWN_COMMAND to a complete and valid message".to_string())
            }
            // The first is the answer of .NET 3 to an unknown id of the profiler set (F-68).
            Answer::Other
                if answered.exchange().reply.faults().any(|seen| seen.fault == Fault::NoAnswer) =>
            {
                Has::Silent
            }
            Answer::Error(HResult::BAD_ENCODING) | Answer::NoHeader | Answer::Other => Has::Unclear,
            Answer::Ok | Answer::Error(_) => Has::Yes,
            Answer::Nothing => Has::Silent,
        },
        Err(_) => Has::Unclear,
    };
    let _ = player.close_all();
    has
}

/// A new connection over which this was sent, and when the time for its answer ends.
fn sent<'n>(
    network: &'n mut LiveNetwork,
    wire: &[u8],
    within: Duration,
) -> Result<(Player<'n>, Duration), PlayerError> {
    let mut player = Player::new(network, within);
    let until = player.network().now().saturating_add(within);
    player.open(ON, until)?;
    let _ = player.send(ON, wire, None, until)?;
    Ok((player, until))
}

/// The answer to a request.
pub(super) fn reply_to(
    network: &mut LiveNetwork,
    wire: &[u8],
    within: Duration,
) -> Result<Exchange, PlayerError> {
    let (mut player, until) = sent(network, wire, within)?;
    let came = next_message(&mut player, ON, until);
    let _ = player.close_all();
    came
}

/// Whether a complete `ProcessInfo` gets no answer, and no end, or cannot be sent, since the target does
/// not connect to its port.
pub(super) fn is_silent(network: &mut LiveNetwork, waits: Waits) -> bool {
    match process_info().and_then(|request| reply_to(network, &request, waits.whole)) {
        Ok(came) => came.answer() == Answer::Nothing,
        Err(trouble) => trouble == Difference::NotConnected.into(),
    }
}

/// The answer to a request whose first bytes come alone. The others follow once it is clear that
/// the target does not answer the first ones: a busy target would find all of them together.
pub(super) fn reply_to_pieces(
    network: &mut LiveNetwork,
    first: &[u8],
    others: &[u8],
    waits: Waits,
) -> Result<Exchange, PlayerError> {
    let (mut player, until) = sent(network, first, waits.whole)?;
    let answers = player.network().now().saturating_add(waits.learned);
    let mut came = next_message(&mut player, ON, answers)?;
    if came.answer() == Answer::Nothing {
        let _ = player.send(ON, others, None, until)?;
        came = next_message(&mut player, ON, until)?;
    }
    let _ = player.close_all();
    Ok(came)
}

/// Whether a target keeps a connection open after a reply, and serves the next request on it.
pub(super) fn keeps_open(network: &mut LiveNetwork, waits: Waits) -> Result<bool, PlayerError> {
    let request = process_info()?;
    let (mut player, until) = sent(network, &request, waits.whole)?;
    if !next_message(&mut player, ON, until)?.reply.is_whole() {
        return Ok(false);
    }
    let len = player.so_far(ON)?.came.first.len();
    let ends = player.network().now().saturating_add(waits.learned);
    if !matches!(player.receive(ON, 1, ends)?, player::Received::Nothing) {
        return Ok(false);
    }
    let until = player.network().now().saturating_add(waits.learned);
    let _ = player.send(ON, &request, None, until)?;
    hear_message(&mut player, ON, until)?;
    let both = &player.so_far(ON)?.came.first;
    let is_served = both.get(len..).is_some_and(|again| Reply::read(None, again).is_whole());
    let _ = player.close_all();
    Ok(is_served)
}

/// Whether a silent client blocks the next one.
pub(super) fn one_client_at_a_time(
    network: &mut LiveNetwork,
    waits: Waits,
) -> Result<Has, PlayerError> {
    let request = process_info()?;
    let mut player = Player::new(network, waits.whole);
    let until = player.network().now().saturating_add(waits.whole);
    player.open(ON, until)?;
    player.open(BESIDE, until)?;
    let _ = player.send(BESIDE, &request, None, until)?;
    let until = player.network().now().saturating_add(waits.learned);
    let came = next_message(&mut player, BESIDE, until)?;
    let _ = player.close_all();
    Ok(match came.answer() {
        Answer::Ok | Answer::Error(_) => {
            Has::No("it answers a second client while the first is silent".to_string())
        }
        Answer::Nothing => Has::Yes,
        Answer::NoHeader | Answer::Other => Has::Unclear,
    })
}

/// Whether half a header on one connection keeps another waiting for long.
pub(super) fn silent_peer(
    network: &mut LiveNetwork,
    waits: Waits,
) -> Result<Option<FaultSeen>, PlayerError> {
    let request = process_info()?;
    let half = request.get(..HEADER_LEN / 2).unwrap_or_default();
    let (mut player, until) = sent(network, half, waits.whole)?;
    player.open(BESIDE, until)?;
    let _ = player.send(BESIDE, &request, None, until)?;
    let until = player.network().now().saturating_add(PEER_IS_SILENT);
    let came = next_message(&mut player, BESIDE, until)?;
    let _ = player.close_all();
    Ok((came.answer() == Answer::Nothing).then(|| {
        let (half, seconds) = (half.len(), PEER_IS_SILENT.as_secs());
        let text = format!(
            "ProcessInfo got no answer for {seconds} s while another connection had sent {half} bytes of a header"
        );
        FaultSeen::new(Fault::SilentPeerBlocksOthers, text)
    }))
}

/// Whether it supports sessions in the format 0, netperf.
pub(super) fn netperf(network: &mut LiveNetwork, waits: Waits) -> Result<Has, PlayerError> {
    let mut player = Player::new(network, waits.whole);
    let has = match begin(&mut player, Format::NET_PERF, waits)? {
        Err(came) if came.reply.error().is_some() => {
            Has::No("it refuses a session in this format".to_string())
        }
        Err(_) => Has::Unclear,
        Ok(id) => {
            // The cases judge its stream.
            end(&mut player, id, waits)?;
            Has::Yes
        }
    };
    let _ = player.close_all();
    Ok(has)
}

/// Whether a session with `user_events` waits for its descriptor: one that is refused at once is
/// unsupported.
pub(super) fn user_events(
    network: &mut LiveNetwork,
    wire: &[u8],
    waits: Waits,
) -> Result<Has, PlayerError> {
    let (mut player, _) = sent(network, wire, waits.whole)?;
    let until = player.network().now().saturating_add(waits.learned);
    let came = next_message(&mut player, ON, until)?;
    if came.answer() == Answer::Nothing {
        // It waits for one; this one is unsuitable, so no session starts.
        let until = player.network().now().saturating_add(waits.whole);
        let _ = player.send(ON, &[0], Some(FdKind::Null), until)?;
        hear_message(&mut player, ON, until)?;
    }
    let _ = player.close_all();
    Ok(match came.reply.error() {
        Some(hresult) => Has::No(format!("{hresult} before a descriptor was passed")),
        None => Has::Yes,
    })
}

/// A target with a port, to which it connects while others are asked.
pub(super) struct WithPort {
    _spawned: Spawned,
    network: LiveNetwork,
    within: Duration,
    until: Duration,
}

impl WithPort {
    /// Starts it; `None` if it does not start.
    pub(super) fn start(subject: &Target, waits: Waits) -> Option<Self> {
        let port = TargetPort { id: PORT.to_string(), suspend: false, listening: true };
        let target = script::Target { ports: [port].into(), ..script::Target::default() };
        let (spawned, network) = subject.own(&target, RunsIn::CurrentDirectory).ok()?;
        let within = waits.whole.min(CONNECTS);
        let until = network.now().saturating_add(within);
        Some(Self { _spawned: spawned, network, within, until })
    }

    /// Whether it has connected, or does so in the rest of its time.
    pub(super) fn connects(mut self) -> Has {
        let mut player = Player::new(&mut self.network, self.within);
        match player.accepted(Some(PORT), self.until) {
            Ok(None) => Has::No(format!(
                "no connection to the port of DOTNET_DiagnosticPorts within {} s of its start",
                self.within.as_secs()
            )),
            Ok(Some(_)) => Has::Yes,
            Err(_) => Has::Unclear,
        }
    }
}

/// Whether a target started suspended waits for its resume. The only common sign: a session has no
/// bytes until then (F-112).
pub(super) fn suspension(subject: &Target, waits: Waits) -> Result<Has, PlayerError> {
    let target = script::Target { suspended: true, ..script::Target::default() };
    let Ok((_spawned, mut network)) = subject.own(&target, RunsIn::CurrentDirectory) else {
        return Ok(Has::Yes);
    };
    let mut player = Player::new(&mut network, waits.whole);
    let Ok(id) = begin(&mut player, Format::NET_TRACE, waits)? else {
        return Ok(Has::No(
            "no session can show whether it waits: declare it with --claims".to_string(),
        ));
    };
    let before = first_bytes(&mut player, waits.learned)?;
    if !before.is_empty() {
        end(&mut player, id, waits)?;
        let _ = player.close_all();
        return Ok(Has::No("a session streams before ResumeRuntime".to_string()));
    }
    let until = player.network().now().saturating_add(waits.whole);
    player.open(BESIDE, until)?;
    let resume = encode::<ResumeRuntime>(&ResumeRuntime {})?;
    let _ = player.send(BESIDE, &resume, None, until)?;
    hear_message(&mut player, BESIDE, until)?;
    let _ = player.close_all();
    Ok(Has::Yes)
}

fn process_info() -> Result<Vec<u8>, PlayerError> {
    encode(&ProcessInfo {})
}

fn encode<'a, R: Request<'a>>(request: &R) -> Result<Vec<u8>, PlayerError> {
    encode_to_vec(R::COMMAND, request).map_err(|error| PlayerError::differs(error.to_string()))
}

/// Starts a session of an unknown provider; returns its id, or the other answer.
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
    let request = encode(&request)?;
    let until = player.network().now().saturating_add(waits.whole);
    player.open(ON, until)?;
    let _ = player.send(ON, &request, None, until)?;
    let came = next_message(player, ON, until)?;
    Ok(came.reply.session_id.ok_or(came))
}

/// The first bytes of the stream.
fn first_bytes(player: &mut Player<'_>, within: Duration) -> Result<Vec<u8>, PlayerError> {
    let until = player.network().now().saturating_add(within);
    let mut bytes = Vec::new();
    let _ = player::Received::fill(&mut bytes, NETTRACE.len(), |missing| {
        player.receive(ON, missing, until)
    })?;
    Ok(bytes)
}

/// Stops the session, and reads its stream to the end.
fn end(player: &mut Player<'_>, session_id: u64, waits: Waits) -> Result<(), PlayerError> {
    let until = player.network().now().saturating_add(waits.whole);
    let stream = player.link(ON)?;
    player.network().drain(stream)?;
    player.open(BESIDE, until)?;
    let stop = encode(&StopTracing { session_id })?;
    let _ = player.send(BESIDE, &stop, None, until)?;
    hear_message(player, BESIDE, until)?;
    let _ = player.drained(stream, until)?;
    player.end(BESIDE, Ending::Close)
}
