//! Plays one scenario, with the scripted runtime on one side and the client's process on the other.
//!
//! Errors are collected, and playing continues for as long as a runtime would continue.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAGIC, RawHeader};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::player::{Conversation, Player, PlayerError, Received};
use dotnet_diagnostics_ipc_vectors::script::{Accept, Ending, Step};

use super::facts::{Findings, Manner};
use super::operations::{CommandLine, Running};
use super::request::{ReceivedRequest, string};
use super::scenario::{
    Act, ClientStep, Decoy, ExpectedRequest, Flag, Move, Others, Scenario, StopRequest, Unread,
};
use super::target::{ClientTarget, is_there};
use super::{Argument, Operation};
use crate::faults::Fault;
use crate::network::Peer;
use crate::process::timeouts::Limit;

/// The finding about a client that only connects.
pub(super) const SENDS_NOTHING: &str = "it connects, and sends no request";
/// How long a client may take to connect, or to complete a message.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often the client is polled.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How often a path is polled.
const PATH_POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long the rest of something may take to arrive.
pub(super) const REST_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a descriptor may take after its request.
pub(super) const DESCRIPTOR_TIMEOUT: Duration = Duration::from_secs(2);

/// Why a conversation ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The client does not support this.
    Lacks(String),
    /// The client is wrong, and a runtime would not continue.
    Differs(Option<Fault>, String),
    /// Nothing more follows, as the document allows.
    LeftOpen(Fault, String),
    /// The error is already recorded, and a runtime would not continue.
    Over,
}

impl Stop {
    pub(super) fn fault(fault: impl Into<Option<Fault>>, text: impl Into<String>) -> Self {
        Self::Differs(fault.into(), text.into())
    }
}

impl From<PlayerError> for Stop {
    fn from(error: PlayerError) -> Self {
        Self::Differs(None, error.to_string())
    }
}

/// The scripted runtime of one scenario, with its findings so far.
pub(super) struct ScenarioPlayer<'s, 'n> {
    pub(super) player: Player<'n>,
    pub(super) client: &'s mut Running,
    pub(super) scenario: &'s Scenario,
    pub(super) line: &'s CommandLine,
    /// The process that the client must talk to.
    pub(super) target: &'s ClientTarget,
    /// How long the client may take to give up.
    pub(super) gives_up: Duration,
    /// Whether any client of the run has connected.
    pub(super) has_connected: &'s AtomicBool,
    /// The process at the other end of the newest connection.
    pub(super) peer: Peer,
    pub(super) findings: Findings,
    pub(super) manner: Manner,
    pub(super) moves: VecDeque<Move>,
    /// The advertise sent on each connection to the client's port.
    pub(super) advertised: BTreeMap<String, Vec<u8>>,
    pub(super) requests: usize,
    /// Whether bytes of a request are left unread, so that closing its connection resets it.
    pub(super) leaves_unread: bool,
    pub(super) has_stopped: bool,
}

impl ScenarioPlayer<'_, '_> {
    pub(super) fn play(&mut self) -> Result<(), Stop> {
        let played = self.all_moves();
        self.manner.has_sent_request = self.requests > 0;
        match played {
            Err(Stop::Differs(fault, text)) => {
                self.findings.must(fault, text);
                Err(Stop::Over)
            }
            other => other,
        }
    }

    fn all_moves(&mut self) -> Result<(), Stop> {
        while let Some(next) = self.moves.pop_front() {
            match next {
                Move::Step(step) => self.step(&step)?,
                Move::Request(request) => self.request(&request)?,
                Move::Stop(StopRequest { on, session }) => self.stop(&on, session)?,
                Move::Client(ClientStep { on, client }) => self.client_does(&on, client)?,
            }
        }
        let is_request = |one: &&Move| matches!(one, Move::Request(_));
        if self.requests == 1 && self.scenario.moves.iter().filter(is_request).count() > 1 {
            return Err(Stop::Lacks(
                "it sends the older command first: there is nothing to fall back from".to_owned(),
            ));
        }
        self.player.close_all().map_err(Stop::from)
    }

    fn client_does(&mut self, on: &str, act: Act) -> Result<(), Stop> {
        match act {
            Act::GivesUp => self.given_up(on, false),
            Act::HasAll => self.given_up(on, true),
            Act::Refuses => self.refused(on),
            Act::SendsNothingWhole => self.nothing_whole(on),
            Act::Leaves => self.not_on(on),
            Act::Settles => self.settles(on),
        }
    }

    pub(super) fn is_next(&self, act: Act) -> bool {
        matches!(self.moves.front(), Some(Move::Client(step)) if step.client == act)
    }

    pub(super) fn so_far(&self) -> &Conversation {
        self.player.conversation()
    }

    pub(super) fn until(&mut self, time: Duration) -> Duration {
        self.player.network().now().saturating_add(time)
    }

    /// Receives up to `count` bytes, for at most `time`.
    pub(super) fn receive(
        &mut self,
        on: &str,
        count: usize,
        time: Duration,
    ) -> Result<Received, PlayerError> {
        let until = self.until(time);
        self.player.receive(on, count, until)
    }

    /// Receives up to `count` bytes on a connection that may have ended.
    pub(super) fn listen(
        &mut self,
        on: &str,
        count: usize,
        time: Duration,
    ) -> Result<Received, PlayerError> {
        let until = self.until(time);
        self.player.listen(on, count, until)
    }

    pub(super) fn send(&mut self, on: &str, bytes: &[u8]) -> Result<(), PlayerError> {
        let until = self.until(REST_TIMEOUT);
        self.player.send(on, bytes, None, until).map(|_| ())
    }

    pub(super) fn refuse(&mut self, on: &str, hresult: HResult) -> Result<(), PlayerError> {
        self.send(on, &error(hresult))?;
        self.player.end(on, Ending::Close)
    }

    /// Whether the client connects within `time`.
    pub(super) fn connects_within(&mut self, time: Duration) -> Result<bool, PlayerError> {
        let until = self.until(time);
        self.player.network().is_called(None, until)
    }

    fn step(&mut self, step: &Step) -> Result<(), Stop> {
        match step {
            Step::Accept(accept) => self.accept(accept),
            Step::ExpectNothing(step) => {
                // A client that has finished may end, and its connections with it.
                let time = Duration::from_millis(step.expect_nothing.into());
                match self.listen(&step.on, 64, time)? {
                    Received::Bytes(bytes, _) if self.repeated(&bytes).is_some() => Err(Stop::Over),
                    Received::Bytes(bytes, _) => {
                        Err(Stop::fault(None, format!("it sends more: {}", hex::encode(bytes))))
                    }
                    Received::End(_) | Received::Nothing => Ok(()),
                }
            }
            Step::ExpectNoConnection(step) if step.port.is_none() => {
                self.no_more_requests(Duration::from_millis(step.expect_no_connection.into()))
            }
            Step::Open(open) => {
                self.wait_for_port()?;
                self.advertised.insert(open.open.clone(), Vec::new());
                self.player.step(step).map_err(Stop::from)
            }
            Step::Send(send) => {
                if let Some(advertise) =
                    self.advertised.get_mut(&send.on).filter(|bytes| bytes.is_empty())
                {
                    let parts = send
                        .send
                        .iter()
                        .filter_map(|part| part.bytes(&self.player.conversation().captures).ok());
                    advertise.extend(parts.flatten());
                }
                let waits = self.has_stopped && self.scenario.operation.streams();
                self.player.step(step).map_err(|error| {
                    let fault = waits.then_some(Fault::StopWithoutReading);
                    Stop::Differs(
                        fault,
                        format!("it does not accept what the runtime sends: {error}"),
                    )
                })
            }
            Step::Expect(expect) if expect.with_fd => self.descriptor(expect),
            step => self
                .player
                .step(step)
                .map_err(|error| Stop::Differs(None, format!("{}: {error}", step.verb()))),
        }
    }

    /// Begins the time within which the client must connect.
    pub(super) fn connect_limit(&self) -> Limit {
        Limit::new(CONNECT_TIMEOUT.max(self.line.patience))
    }

    /// Waits until the client connects, at most until `limit`. Returns `false` if it need not,
    /// which skips the rest.
    pub(super) fn is_called(&mut self, limit: &Limit) -> Result<bool, Stop> {
        loop {
            // Connecting may have been the last action of a client that has ended.
            let has_ended = self.client.has_ended();
            if self.connects_within(POLL_INTERVAL)? && !limit.is_over() {
                return Ok(true);
            }
            if self.target.judge_decoys(&mut self.findings) {
                return Err(Stop::Over);
            }
            if has_ended && self.is_next(Act::SendsNothingWhole) {
                self.moves.clear();
                return Ok(false);
            }
            if has_ended {
                return Err(self.not_connected());
            }
            if matches!(self.moves.front(), Some(Move::Stop(_))) {
                self.nothing_on_the_stream()?;
            }
            if limit.is_over() {
                let ms = limit.whole().as_millis();
                return Err(match self.moves.front() {
                    Some(Move::Stop(StopRequest { session, .. })) => {
                        let text = format!(
                            "it never stops the session: no StopTracing of session {session} was received within {ms} ms"
                        );
                        Stop::fault(Fault::SessionNeverStopped, text)
                    }
                    _ if self.requests == 0 => {
                        self.runs_on(format!("it does not connect within {ms} ms"))
                    }
                    _ => Stop::fault(None, format!("it does not connect again within {ms} ms")),
                });
            }
        }
    }

    /// Returns the error that the client still runs but has not connected. If no client of the run
    /// ever has, it may not have started yet.
    fn runs_on(&self, text: String) -> Stop {
        if self.has_connected.load(Ordering::Relaxed) {
            return Stop::fault(self.not_found(), text);
        }
        let why = "it may not have started yet, as no client of this run has connected so far";
        Stop::fault(None, format!("{text}: {why}"))
    }

    fn not_found(&self) -> Fault {
        if self.scenario.decoys.is_empty() { Fault::NeverConnects } else { Fault::ProcessNotFound }
    }

    /// Returns the error that the client has ended without connecting.
    fn not_connected(&mut self) -> Stop {
        let expects_older = self.requests > 0 && self.scenario.operation.commands().len() > 1;
        let is_older = matches!(self.moves.front(), Some(Move::Request(_)));
        if expects_older && is_older && !self.client.is_success() {
            return Stop::Lacks("it sends no older command after UNKNOWN_COMMAND".to_owned());
        }
        match self.moves.front() {
            Some(Move::Stop(StopRequest { session, .. })) => {
                let text = format!("it ends without StopTracing of session {session}");
                if self.scenario.is(Flag::Open) {
                    self.findings.note(text);
                    return Stop::Over;
                }
                // A client that failed may have had another reason.
                let fault = if self.client.is_success() {
                    Some(Fault::SessionNeverStopped)
                } else {
                    self.scenario.reveals
                };
                Stop::fault(fault, text)
            }
            // The document does not say how a client finds the TMPDIR of the process.
            _ if self.requests == 0
                && self.scenario.decoys.contains(&Decoy::InAnotherTmpdir)
                && !self.client.is_success() =>
            {
                Stop::LeftOpen(
                    Fault::ProcessNotFound,
                    "it does not look in the TMPDIR of the process, and says so".to_owned(),
                )
            }
            _ if self.requests == 0 => {
                let fault = self.scenario.if_unsent.unwrap_or_else(|| self.not_found());
                Stop::fault(fault, "it ends without connecting")
            }
            _ => {
                let takes_it = is_older && self.client.is_success();
                let fault = takes_it.then_some(Fault::ErrorTreatedAsSuccess);
                Stop::fault(fault, "it ends without connecting again")
            }
        }
    }

    pub(super) fn wait_for_port(&mut self) -> Result<(), Stop> {
        let limit = Limit::new(CONNECT_TIMEOUT);
        while !is_there(&self.target.port) {
            let text = "it does not listen at its port";
            if self.client.has_ended() {
                return Err(Stop::fault(Fault::NeverConnects, text));
            }
            if limit.is_over() {
                return Err(self.runs_on(text.to_owned()));
            }
            let until = self.until(PATH_POLL_INTERVAL);
            self.player.network().wait(until)?;
        }
        self.has_connected.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn request(&mut self, request: &ExpectedRequest) -> Result<(), Stop> {
        let bytes = self.read_request(&request.on, request.unread, None)?;
        let fds = self.descriptors(&request.on);
        let is_whole = request.unread == Unread::None;
        if !is_whole {
            // A close resets the connection only if there is something unread.
            let until = self.until(REST_TIMEOUT);
            self.player.wait_for_bytes(&request.on, until)?;
        }
        self.leaves_unread |= !is_whole;
        // A descriptor follows on a separate byte. If the size field is wrong, wait for that byte
        // too, as it is the last one after the request.
        let falls_back = self.requests > 0;
        let alone = ReceivedRequest {
            operation: self.scenario.operation,
            line: self.line,
            arguments: &self.scenario.arguments,
            bytes: &bytes,
            after: &[],
            fds,
            is_whole,
            falls_back,
        };
        let has_descriptor = self.scenario.operation == Operation::UserEvents;
        let after = if !is_whole || has_descriptor && alone.decode(&bytes).is_ok() {
            Vec::new()
        } else {
            let patience = if has_descriptor { REST_TIMEOUT } else { Duration::ZERO };
            self.bytes_after(&request.on, patience)?
        };
        if bytes.is_empty() {
            return Err(self.unsent(SENDS_NOTHING));
        }
        self.requests += 1;
        let is_repeated = self.requests > 1 && self.repeated(&bytes).is_some();
        let received = ReceivedRequest { after: &after, ..alone };
        let (findings, refusal) = received.judge();
        self.findings.take_of_request(findings, refusal.is_none());
        if let Some(hresult) = refusal {
            // The runtime refuses the request as it reads it, and nothing more follows.
            self.refuse(&request.on, hresult)?;
            return Err(Stop::Over);
        }
        match (request.command, received.command()) {
            (Some(wanted), Some(seen)) if wanted != seen => {
                if is_repeated && !self.scenario.operation.only_asks() {
                    self.refuse(&request.on, HResult::UNKNOWN_COMMAND)?;
                    return Err(Stop::Over);
                }
                self.handle_other_command(request, wanted, seen)
            }
            _ => Ok(()),
        }
    }

    /// Continues after a command that is not the next one in the script.
    fn handle_other_command(
        &mut self,
        request: &ExpectedRequest,
        wanted: Command,
        seen: Command,
    ) -> Result<(), Stop> {
        let operation = self.scenario.operation;
        if self.requests == 1 && self.line.says(Argument::Command) {
            self.findings
                .must(Fault::AnotherCommandSent, format!("it sends {seen}, expected {wanted}"));
        }
        let is_it = |one: &Move| matches!(one, Move::Request(one) if one.command == Some(seen));
        // The command may come later in the script.
        if let Some(at) = self.moves.iter().position(is_it) {
            let skipped = self.moves.drain(..=at).next_back();
            if let Some(Move::Request(found)) = skipped {
                rename(self.moves.make_contiguous(), &found.on, &request.on);
            }
            return Ok(());
        }
        let place = |command| operation.commands().iter().position(|one| *one == command);
        let is_newer = place(seen) < place(wanted);
        match request.others {
            Others::Any => return Ok(()),
            Others::Newer if is_newer => return Ok(()),
            Others::Unknown if is_newer => {}
            _ => return Err(Stop::Lacks(format!("it sends {seen}, not {wanted}"))),
        }
        // The runtime is too old for this command.
        self.refuse(&request.on, HResult::UNKNOWN_COMMAND)?;
        self.moves.push_front(Move::Request(request.clone()));
        self.accept(&Accept { accept: request.on.clone(), port: None, within_ms: None })
    }
}

fn message(command: Command, payload: &[u8]) -> Vec<u8> {
    let size = u16::try_from(payload.len() + HEADER_LEN).unwrap_or(u16::MAX);
    let mut header = [0; HEADER_LEN];
    RawHeader { magic: Some(MAGIC), size: Some(size), command: Some(command), reserved: Some(0) }
        .write(&mut header);
    [&header, payload].concat()
}

pub(super) fn ok(payload: &[u8]) -> Vec<u8> {
    message(Command::OK, payload)
}

/// Encodes an error of 24 bytes, as runtimes send it (F-1).
pub(super) fn error(hresult: HResult) -> Vec<u8> {
    message(Command::ERROR, &hresult.0.to_le_bytes())
}

/// Encodes `StopTracing`, which has one encoding.
pub(super) fn stop_message(session: u64) -> Vec<u8> {
    message(Command::STOP_TRACING, &session.to_le_bytes())
}

/// Returns the name of a request, or the bytes if they are not a request.
pub(super) fn named(bytes: &[u8]) -> String {
    match RawHeader::read(bytes).command.filter(|_| bytes.starts_with(&MAGIC)) {
        None => format!("{} bytes {}", bytes.len(), hex::encode(bytes.get(..64).unwrap_or(bytes))),
        Some(Command::STOP_TRACING) if bytes.len() >= 28 => {
            let id =
                bytes.get(20..28).and_then(|id| id.try_into().ok()).map_or(0, u64::from_le_bytes);
            format!("StopTracing of session {id}")
        }
        Some(command) => command.name().map_or_else(|| command.to_string(), ToOwned::to_owned),
    }
}

/// Encodes the payload of the reply to `ProcessInfo` or one of its successors.
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

pub(super) fn rename(moves: &mut [Move], from: &str, to: &str) {
    let renamed = |name: &mut String| {
        if name == from {
            to.clone_into(name);
        }
    };
    for one in moves {
        match one {
            Move::Request(ExpectedRequest { on, .. })
            | Move::Stop(StopRequest { on, .. })
            | Move::Client(ClientStep { on, .. }) => renamed(on),
            Move::Step(step) => match step {
                Step::Accept(step) => renamed(&mut step.accept),
                Step::Open(step) => renamed(&mut step.open),
                Step::Send(step) => renamed(&mut step.on),
                Step::Expect(step) => renamed(&mut step.on),
                Step::ExpectAnyOf(step) => renamed(&mut step.on),
                Step::ExpectNothing(step) => renamed(&mut step.on),
                Step::ExpectNoEvent(step) => renamed(&mut step.on),
                Step::ExpectEvent(step) => renamed(&mut step.on),
                Step::Drain(step) => renamed(&mut step.on),
                Step::ExpectEnd(step) => renamed(&mut step.on),
                Step::EndStep(step) => renamed(&mut step.on),
                Step::Listen(_)
                | Step::ExpectNoConnection(_)
                | Step::Wait(_)
                | Step::ExpectTarget(_)
                | Step::Signal(_)
                | Step::ExpectSocket(_)
                | Step::ExpectFile(_) => {}
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If a client omits a request, the script continues on a later connection, which then gets the
    /// name of the earlier one.
    #[test]
    fn connection_is_renamed_in_every_step() {
        let moves = |steps: &str| serde_json::from_str::<Vec<Move>>(steps).unwrap();
        let of_connections = r#"[{ "accept": "b" }, { "open": "b" }, { "on": "b", "send": ["00"] }, { "on": "b", "expect": ["00"] },
            { "on": "b", "expect_any_of": [{ "label": "one", "expect": ["00"] }] }, { "on": "b", "expect_nothing": 5 },
            { "on": "b", "drain": true }, { "on": "b", "expect_end": "any" }, { "on": "b", "end": "close" },
            { "on": "b", "request": null }, { "on": "b", "stop": "42" }, { "on": "b", "client": "leaves" }]"#;
        let named = |name: &str| moves(&of_connections.replace("\"b\"", &format!("\"{name}\"")));
        // A port may have the same name, which does not change.
        let others = r#"[{ "wait": 5 }, { "expect_target": "alive" }, { "port": "b", "listen": true },
            { "expect_no_connection": 5, "port": "b" }]"#;
        let others = [moves(others), named("c")].concat();
        let mut all = [named("b"), others.clone()].concat();
        rename(&mut all, "b", "a");
        assert_eq!(all, [named("a"), others].concat());
    }
}
