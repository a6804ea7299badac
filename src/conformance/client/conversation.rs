//! One scenario as it is played: the scripted runtime on one side, the client as a process on the other.

use alloc::{
    borrow::ToOwned as _,
    collections::VecDeque,
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::time::Duration;
use std::path::Path;
use std::time::Instant;

use super::faults::ClientFault;
use super::operations::CommandLine;
use super::process::Running;
use super::request::Seen;
use super::scenario::{Move, Request, Scenario, Unread};
use super::{Argument, Operation, moves};
use crate::command::Command;
use crate::conformance::player::{Difference, Player, PlayerError, Received, Transcript};
use crate::hresult::HResult;
use crate::vectors::script::{Ending, Step};

/// How long a client may take to connect, or to send what it has begun.
const WITHIN: Duration = Duration::from_secs(10);
/// How long is waited before the client is looked at again.
const SLICE: Duration = Duration::from_millis(20);
/// How long is waited before a path is looked at again.
const PAUSE: Duration = Duration::from_millis(5);
/// How long the rest of something may take to come.
const REST: Duration = Duration::from_secs(1);
/// How long a descriptor may take to follow its request.
const FOR_A_DESCRIPTOR: Duration = Duration::from_secs(2);
/// How long the runtime looks for what must not come.
const LOOK: Duration = Duration::from_millis(100);
/// The most that is taken of what should never have been sent.
const MOST: usize = 200_000;

/// Why a conversation broke off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The client does not have this.
    Lacks(String),
    /// It is not as it must be.
    Differs(Vec<String>, Option<ClientFault>),
}

impl Stop {
    fn differs(text: impl Into<String>) -> Self {
        Self::Differs(Vec::from([text.into()]), None)
    }
}

impl From<PlayerError> for Stop {
    fn from(trouble: PlayerError) -> Self {
        Self::differs(trouble.to_string())
    }
}

pub(super) struct Conversation<'s, 'n> {
    pub(super) player: Player<'n>,
    pub(super) client: &'s mut Running,
    pub(super) scenario: &'s Scenario,
    pub(super) line: &'s CommandLine,
    pub(super) port: &'s Path,
    /// How long the client may take to give up.
    pub(super) gives_up: Duration,
    /// Behind a whole reply the client did not go on.
    pub(super) waits_for_more: bool,
    moves: VecDeque<Move>,
    requests: usize,
}

impl<'s, 'n> Conversation<'s, 'n> {
    pub(super) fn new(
        player: Player<'n>,
        client: &'s mut Running,
        scenario: &'s Scenario,
        line: &'s CommandLine,
        port: &'s Path,
        gives_up: Duration,
    ) -> Self {
        let moves = scenario.moves.iter().cloned().collect();
        Self { player, client, scenario, line, port, gives_up, waits_for_more: false, moves, requests: 0 }
    }

    /// Plays all moves, and closes what is open then.
    pub(super) fn play(&mut self) -> Result<(), Stop> {
        while let Some(next) = self.moves.pop_front() {
            match next {
                Move::Step(step) => self.step(&step)?,
                Move::Request(request) => self.request(&request)?,
                Move::GivesUp { on } => self.given_up(&on)?,
                Move::NothingWhole { on } => self.nothing_whole(&on)?,
                Move::NotOn { on } => self.not_on(&on)?,
                Move::Settles { on } => self.settles(&on)?,
            }
        }
        self.player.close_all().map_err(Stop::from)
    }

    pub(super) fn transcript(&self) -> &Transcript {
        self.player.transcript()
    }

    fn in_a(&mut self, time: Duration) -> Duration {
        self.player.network().now().saturating_add(time)
    }

    fn step(&mut self, step: &Step) -> Result<(), Stop> {
        match step {
            Step::Accept(accept) => {
                if !self.is_called()? {
                    return Ok(());
                }
                self.player.step(&Step::Accept(accept.clone()))?;
                Ok(())
            }
            Step::ExpectNothing(step) => {
                // A client that is done may end, and its connections with it.
                let until = self.in_a(Duration::from_millis(step.expect_nothing.into()));
                match self.player.receive(&step.on, 64, until)? {
                    Received::Bytes(bytes, _) => Err(Stop::differs(format!("it sends more: {}", hex::encode(bytes)))),
                    Received::End(_) | Received::Nothing => Ok(()),
                }
            }
            Step::Open(_) => {
                self.wait_for_port()?;
                self.player.step(step).map_err(Stop::from)
            }
            Step::Expect(expect) if expect.with_fd => {
                let mut expect = expect.clone();
                // A client that waits for the reply gives up after its patience.
                let within = FOR_A_DESCRIPTOR.min(self.line.patience.checked_div(2).unwrap_or_default());
                expect.within_ms = u32::try_from(within.as_millis()).ok();
                self.player.step(&Step::Expect(expect)).map_err(|trouble| {
                    // It is still there, and sends nothing: it waits for something.
                    let waits = matches!(&trouble, PlayerError::Differs(Difference::Nothing { after }) if after.is_empty());
                    let found = format!("the descriptor, on a byte of its own: {trouble}");
                    Stop::Differs(Vec::from([found]), waits.then_some(ClientFault::DescriptorAfterTheReply))
                })
            }
            step => self.player.step(step).map_err(|trouble| Stop::differs(format!("{}: {trouble}", step.verb()))),
        }
    }

    /// Waits until the client connects. `false` if it need not any more, and all that was to come is left out.
    fn is_called(&mut self) -> Result<bool, Stop> {
        let begun = Instant::now();
        loop {
            let until = self.in_a(SLICE);
            if self.player.network().is_called(None, until)? {
                return Ok(true);
            }
            if self.client.has_ended() {
                // What it did last may have been that.
                let until = self.in_a(SLICE);
                if self.player.network().is_called(None, until)? {
                    return Ok(true);
                }
                if matches!(self.moves.front(), Some(Move::NothingWhole { .. })) {
                    self.moves.clear();
                    return Ok(false);
                }
                return Err(self.does_not_come());
            }
            if begun.elapsed() > WITHIN {
                return Err(Stop::differs("it does not connect"));
            }
        }
    }

    /// The client has ended where a connection was to come.
    fn does_not_come(&self) -> Stop {
        let expects_older = self.requests > 0 && self.scenario.operation.commands().len() > 1;
        let is_older = matches!(self.moves.front(), Some(Move::Request(_)));
        if expects_older && is_older && !self.client.is_success() {
            return Stop::Lacks("it asks no older command after UNKNOWN_COMMAND".to_owned());
        }
        Stop::differs(if self.requests == 0 { "it ends, and has not connected" } else { "it ends, and has not connected again" })
    }

    fn wait_for_port(&mut self) -> Result<(), Stop> {
        let begun = Instant::now();
        while !self.port.exists() {
            if self.client.has_ended() || begun.elapsed() > WITHIN {
                return Err(Stop::differs("it does not listen at its port"));
            }
            let until = self.in_a(PAUSE);
            self.player.network().wait(until)?;
        }
        Ok(())
    }

    fn request(&mut self, request: &Request) -> Result<(), Stop> {
        let (bytes, fds) = self.read(&request.on, request.unread)?;
        let is_whole = request.unread == Unread::None;
        let behind =
            if is_whole && self.scenario.operation != Operation::UserEvents { self.behind(&request.on)? } else { Vec::new() };
        self.requests = self.requests.saturating_add(1);
        if bytes.is_empty() {
            return Err(Stop::differs("it connects, and sends no request"));
        }
        let seen = Seen { bytes: &bytes, behind: &behind, fds, is_whole };
        let judgement = seen.judge(self.scenario.operation, self.line, &self.scenario.arguments);
        if !judgement.found.is_empty() {
            return Err(Stop::Differs(judgement.found, judgement.fault));
        }
        match (request.command, seen.command()) {
            (Some(wanted), Some(seen)) if wanted != seen => self.another(request, wanted, seen),
            _ => Ok(()),
        }
    }

    /// The client asks with another command than the script has here.
    fn another(&mut self, request: &Request, wanted: Command, seen: Command) -> Result<(), Stop> {
        let operation = self.scenario.operation;
        if self.requests == 1 && self.line.says(Argument::Command) {
            return Err(Stop::differs(format!("it was to ask {wanted}, and asks {seen}")));
        }
        // The script may have it further down.
        let later = self.moves.iter().position(|one| matches!(one, Move::Request(request) if request.command == Some(seen)));
        if let Some(at) = later {
            let skipped = self.moves.drain(..=at).next_back();
            if let Some(Move::Request(found)) = skipped {
                moves::rename(self.moves.make_contiguous(), &found.on, &request.on);
            }
            return Ok(());
        }
        let place = |command| operation.commands().iter().position(|one| *one == command);
        let is_newer = place(seen) < place(wanted);
        let same_replies = operation != Operation::ProcessInfo && self.scenario.section != "fallback";
        if is_newer && same_replies {
            return Ok(());
        }
        if !is_newer {
            return Err(Stop::Lacks(format!("it asks {seen}, not {wanted}")));
        }
        // The runtime is older than that.
        let until = self.in_a(REST);
        self.player.send(&request.on, &moves::error(HResult::UNKNOWN_COMMAND), None, until)?;
        self.player.end(&request.on, Ending::Close)?;
        self.moves.push_front(Move::Request(request.clone()));
        self.step(&Step::Accept(crate::vectors::script::Accept { accept: request.on.clone(), port: None, within_ms: None }))
    }

    /// Reads as much of a request as its size field says, less what is to stay unread.
    fn read(&mut self, on: &str, unread: Unread) -> Result<(Vec<u8>, usize), Stop> {
        let (mut bytes, mut fds): (Vec<u8>, usize) = (Vec::new(), 0);
        let (mut wanted, mut patience) = (16, WITHIN);
        while bytes.len() < wanted {
            let until = self.in_a(patience);
            match self.player.receive(on, wanted.saturating_sub(bytes.len()), until)? {
                Received::Bytes(more, with) => {
                    bytes.extend(more);
                    fds = fds.saturating_add(with);
                }
                Received::End(_) | Received::Nothing => break,
            }
            if wanted == 16 {
                let size = bytes.get(14..16).and_then(|size| size.try_into().ok()).map(u16::from_le_bytes);
                wanted = size.map_or(16, |size| match unread {
                    Unread::None => usize::from(size).max(20),
                    Unread::LastByte => usize::from(size).saturating_sub(1),
                    Unread::Payload => 20,
                });
            }
            patience = REST;
        }
        Ok((bytes, fds))
    }

    /// What is there already behind a request.
    fn behind(&mut self, on: &str) -> Result<Vec<u8>, Stop> {
        let mut bytes = Vec::new();
        while bytes.len() < MOST {
            // Where there is something the rest of it is not far.
            let time = if bytes.is_empty() { Duration::ZERO } else { SLICE };
            let until = self.in_a(time);
            match self.player.receive(on, MOST, until)? {
                Received::Bytes(more, _) => bytes.extend(more),
                Received::End(_) | Received::Nothing => break,
            }
        }
        Ok(bytes)
    }

    fn given_up(&mut self, on: &str) -> Result<(), Stop> {
        let until = self.in_a(self.gives_up);
        match self.player.receive(on, 64, until)? {
            Received::End(_) => Ok(()),
            Received::Bytes(bytes, _) => Err(Stop::differs(format!("it sends more on that connection: {}", hex::encode(bytes)))),
            Received::Nothing => {
                let found = format!("it still holds the connection after {} ms", self.gives_up.as_millis());
                Err(Stop::Differs(Vec::from([found]), self.scenario.is_silent.then_some(ClientFault::NoReadTimeout)))
            }
        }
    }

    /// No message can hold what the client was told: it may connect, and that is all.
    fn nothing_whole(&mut self, on: &str) -> Result<(), Stop> {
        let mut bytes = Vec::new();
        while bytes.len() < MOST {
            let until = self.in_a(if bytes.is_empty() { WITHIN } else { REST });
            match self.player.receive(on, MOST, until)? {
                Received::Bytes(more, _) => bytes.extend(more),
                Received::End(_) | Received::Nothing => break,
            }
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let size = bytes.get(14..16).and_then(|size| size.try_into().ok()).map(u16::from_le_bytes);
        let found =
            format!("it sends {} bytes, and the size field says {}", bytes.len(), size.map_or(String::new(), |n| n.to_string()));
        let low = u16::try_from(bytes.len() & 0xffff).ok();
        let fault = match size {
            Some(u16::MAX) => Some(ClientFault::SizeClamped),
            size if bytes.len() > usize::from(u16::MAX) && size == low => Some(ClientFault::SizeTruncated),
            _ => None,
        };
        Err(Stop::Differs(Vec::from([found]), fault))
    }

    /// The client has all that comes, and goes on; or it waits for more, and is left to it for a while.
    fn settles(&mut self, on: &str) -> Result<(), Stop> {
        let until = self.in_a(REST.min(self.line.patience.checked_div(2).unwrap_or_default()));
        match self.player.receive(on, 64, until)? {
            Received::End(_) => {}
            Received::Nothing => self.waits_for_more = true,
            Received::Bytes(bytes, _) => return Err(Stop::differs(format!("it sends more: {}", hex::encode(bytes)))),
        }
        Ok(())
    }

    fn not_on(&mut self, on: &str) -> Result<(), Stop> {
        let until = self.in_a(LOOK);
        if let Received::Bytes(bytes, _) = self.player.receive(on, 64, until)? {
            let found = format!("it sends a second request on the same connection: {}", hex::encode(bytes));
            return Err(Stop::Differs(Vec::from([found]), Some(ClientFault::ConnectionReused)));
        }
        self.player.end(on, Ending::Close).map_err(Stop::from)
    }
}
