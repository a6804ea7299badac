//! What the client does on its connections: its requests, expected or not, and their ends.
//!
//! A runtime answers unrelated requests. They are not errors: no client was told to omit them.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAGIC, RawHeader};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::player::{
    Difference, EventKind, PlayerError, Received, TurnDirection,
};
use dotnet_diagnostics_ipc_vectors::script::{Accept, Ending, Expect, Open, Step};

use super::Operation;
use super::request::ReceivedRequest;
use super::scenario::{Act, Arguments, Exit, Flag, Move, StopRequest, Unread};
use super::scenario_player::{
    CONNECT_TIMEOUT, DESCRIPTOR_TIMEOUT, POLL_INTERVAL, REST_TIMEOUT, SENDS_NOTHING,
    ScenarioPlayer, Stop, named, ok, process_info, stop_message,
};
use crate::faults::Fault;
use crate::process::timeouts::Limit;

/// The most that is read of something that should not have been sent.
const MAX_UNEXPECTED_LEN: usize = 200_000;
/// How long the runtime watches for unexpected requests.
const WATCH_TIME: Duration = Duration::from_millis(100);
/// The time to see whether a client has connected. Without any time nothing is looked at.
const SHORTEST_LOOK: Duration = Duration::from_millis(1);
/// The length of what identifies a request: the header without `reserved`.
const IDENTIFYING_LEN: usize = 18;

impl Unread {
    /// Returns how many bytes of a request of this size are read. Closing with unread bytes resets
    /// the connection.
    fn read_of(self, size: usize) -> usize {
        let all_but_one = size.saturating_sub(1);
        match self {
            Self::None => size.max(20),
            Self::LastByte => all_but_one,
            Self::Payload => all_but_one.min(20),
        }
    }
}

impl ScenarioPlayer<'_, '_> {
    /// Reads the expected request on a connection. At the client's port, continues with the next
    /// connection if the client closes this one or sends an unrelated request on it.
    pub(super) fn read_request(
        &mut self,
        on: &str,
        unread: Unread,
        expected: Option<Command>,
    ) -> Result<Vec<u8>, Stop> {
        let limit = self.connect_limit();
        let mut has_connected_again = false;
        loop {
            let bytes = self.read(on, unread)?;
            if bytes.is_empty() && !has_connected_again && self.connect_again(on)? {
                self.findings.note(
                    "it drops a connection with a slow advertise, and waits for the next one",
                );
                has_connected_again = true;
            } else if bytes.is_empty()
                || limit.is_over()
                || !self.answers_at_the_port(on, &bytes, expected)?
            {
                return Ok(bytes);
            }
        }
    }

    /// Reads as much of a request as its size field says, except for what must stay unread.
    pub(super) fn read(&mut self, on: &str, unread: Unread) -> Result<Vec<u8>, Stop> {
        let bytes = self.read_to(on, 16)?;
        let size = RawHeader::read(&bytes).size;
        self.read_to(on, size.map_or(0, |size| unread.read_of(usize::from(size))))
    }

    /// Reads until a connection has received `count` bytes in total, or no more. Returns them all.
    pub(super) fn read_to(&mut self, on: &str, count: usize) -> Result<Vec<u8>, Stop> {
        loop {
            let bytes = &self.player.so_far(on)?.came.first;
            let missing = count.saturating_sub(bytes.len());
            if missing == 0 {
                return Ok(bytes.clone());
            }
            let time = if bytes.is_empty() { CONNECT_TIMEOUT } else { REST_TIMEOUT };
            if !matches!(self.receive(on, missing, time)?, Received::Bytes(..)) {
                return Ok(self.player.so_far(on)?.came.first.clone());
            }
        }
    }

    /// Counts the descriptors received on the newest connection of that name.
    pub(super) fn descriptors(&self, on: &str) -> usize {
        let conversation = self.player.conversation();
        let number = conversation.connections.iter().rposition(|one| one.name == on);
        let received = conversation.events.iter().filter(|event| {
            Some(event.connection) == number && event.by == TurnDirection::Received
        });
        received
            .map(|event| if let EventKind::Said { fds, .. } = &event.did { fds.len() } else { 0 })
            .sum()
    }

    /// Reads what arrives after a request within `patience`.
    pub(super) fn bytes_after(&mut self, on: &str, patience: Duration) -> Result<Vec<u8>, Stop> {
        let mut bytes = Vec::new();
        while bytes.len() < MAX_UNEXPECTED_LEN {
            // If there is something, the rest of it will arrive soon.
            let time = if bytes.is_empty() { patience } else { POLL_INTERVAL };
            match self.listen(on, MAX_UNEXPECTED_LEN, time)? {
                Received::Bytes(more, _) => bytes.extend(more),
                Received::End(_) | Received::Nothing => break,
            }
        }
        Ok(bytes)
    }

    /// Accepts the connection that the script waits for. First accepts those that carry an
    /// unrelated request, or nothing, as programs that look for processes may make. The limit is
    /// one for all of them.
    pub(super) fn accept(&mut self, accept: &Accept) -> Result<(), Stop> {
        let limit = self.connect_limit();
        let (mut had_nothing, mut has_asked) = (false, false);
        loop {
            let is_request = matches!(self.moves.front(), Some(Move::Request(_)));
            match self.is_called(&limit) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                // Nobody else connected, so it was the client.
                Err(Stop::Lacks(_) | Stop::Differs(..)) if had_nothing => {
                    return Err(self.unsent(SENDS_NOTHING));
                }
                Err(Stop::Differs(..)) if has_asked && is_request && self.requests == 0 => {
                    let text =
                        "it asks only for information, and never sends the request of its task";
                    return Err(self.unsent(text));
                }
                Err(stop) => return Err(stop),
            }
            self.player.step(&Step::Accept(accept.clone()))?;
            // Once its request is answered, the process may end, and cannot be looked at.
            let is_strangers = self.peer.is_stranger();
            let is_expected = matches!(self.moves.front(), Some(Move::Request(_) | Move::Stop(_)));
            let waits = is_expected || self.is_next(Act::SendsNothingWhole);
            if waits && self.answers_unrelated(&accept.accept)? {
                if !is_strangers {
                    self.has_connected.store(true, Ordering::Relaxed);
                    has_asked = true;
                }
                continue;
            }
            let may_be_nothing = is_expected || is_strangers;
            if !may_be_nothing || !self.has_ended_without_a_byte(&accept.accept)? {
                // This is the client, as others only look for processes.
                self.has_connected.store(true, Ordering::Relaxed);
                return Ok(());
            }
            had_nothing |= !is_strangers;
        }
    }

    /// Whether the connection has ended without a byte. If so, closes it.
    fn has_ended_without_a_byte(&mut self, on: &str) -> Result<bool, Stop> {
        if self.player.so_far(on)?.came.len > 0 {
            return Ok(false);
        }
        let has_ended = matches!(self.receive(on, 1, POLL_INTERVAL)?, Received::End(_));
        if has_ended {
            self.player.end(on, Ending::Close)?;
        }
        Ok(has_ended)
    }

    /// Returns the error that the client connects but does not send the request of its task.
    pub(super) fn unsent(&self, text: &str) -> Stop {
        let fault = self.scenario.if_unsent.unwrap_or(Fault::NothingSent);
        Stop::fault(fault, text)
    }

    /// Reads enough to identify the request. If it is unrelated, answers it and returns `true`.
    fn answers_unrelated(&mut self, on: &str) -> Result<bool, Stop> {
        let bytes = self.read_to(on, IDENTIFYING_LEN)?;
        let Some(command) = self.unrelated(&bytes) else { return Ok(false) };
        let size = RawHeader::read(&bytes).size.map_or(HEADER_LEN, usize::from);
        let bytes = self.read_to(on, size)?;
        self.answer(on, command, &bytes)?;
        Ok(true)
    }

    /// Returns the command of a request that a runtime answers at any time. Programs that list
    /// processes send the same requests as clients do, so those of others are not the client's.
    fn unrelated(&self, bytes: &[u8]) -> Option<Command> {
        let command = RawHeader::read(bytes).command?;
        let is_clients = !self.peer.is_stranger();
        let is_of_task = is_clients && self.scenario.operation.commands().contains(&command);
        let is_expected = is_clients
            && command == Command::STOP_TRACING
            && matches!(self.moves.front(), Some(Move::Stop(_)));
        let is_known = [
            Command::RESUME_RUNTIME,
            Command::PROCESS_INFO,
            Command::PROCESS_INFO2,
            Command::PROCESS_INFO3,
            Command::STOP_TRACING,
        ];
        (bytes.starts_with(&MAGIC) && !is_of_task && !is_expected && is_known.contains(&command))
            .then_some(command)
    }

    /// Answers an unrelated request. Those of other programs are not part of the conversation.
    fn answer(&mut self, on: &str, command: Command, bytes: &[u8]) -> Result<(), Stop> {
        let is_strangers = self.peer.is_stranger();
        let payload = match command {
            Command::RESUME_RUNTIME => [0; 4].to_vec(),
            Command::STOP_TRACING => bytes.get(20..28).unwrap_or(&[0; 8]).to_vec(),
            other => process_info(other, self.target.process_id().into()),
        };
        if command == Command::STOP_TRACING && !is_strangers {
            self.judge_unexpected_stop(bytes);
        } else if !is_strangers {
            self.findings.note(format!("{} is also sent, and answered", named(bytes)));
        }
        self.send(on, &ok(&payload))?;
        let ended =
            if is_strangers { self.player.forget(on) } else { self.player.end(on, Ending::Close) };
        ended.map_err(Stop::from)
    }

    /// Judges a client that stops a session, because it then believes that it has one.
    fn judge_unexpected_stop(&mut self, bytes: &[u8]) {
        let stop = named(bytes);
        match self.scenario.reveals {
            _ if self.requests == 0 => {
                let text = format!("{stop} is sent, but the client has begun no session");
                self.findings.must(Fault::AnotherSessionStopped, text);
            }
            Some(fault)
                if self.scenario.operation.streams() && self.scenario.exit == Exit::Failure =>
            {
                let text = format!("{stop} is sent: the client treats an invalid session as one");
                self.findings.must(fault, text);
            }
            _ => self.findings.note(format!("{stop} is also sent, and answered")),
        }
    }

    /// Answers further requests after the conversation, until the client ends or the time is over.
    pub(super) fn attend(&mut self, limits: &[Limit]) -> Result<(), Stop> {
        self.moves.clear();
        while !limits.iter().all(Limit::is_over) {
            // A connection may have been the last action of a client that has ended.
            let has_ended = self.client.has_ended();
            if self.connects_within(if has_ended { SHORTEST_LOOK } else { POLL_INTERVAL })? {
                self.take_one_more()?;
            } else if has_ended {
                break;
            }
        }
        Ok(())
    }

    /// Allows only unrelated requests during this time.
    pub(super) fn no_more_requests(&mut self, time: Duration) -> Result<(), Stop> {
        let until = self.until(time);
        while self.player.network().is_called(None, until)? {
            self.take_one_more()?;
        }
        Ok(())
    }

    fn take_one_more(&mut self) -> Result<(), Stop> {
        let on = "more";
        let accept = Accept { accept: on.to_owned(), port: None, within_ms: None };
        self.player.step(&Step::Accept(accept))?;
        if self.answers_unrelated(on)? {
            return Ok(());
        }
        let bytes = self.read(on, Unread::None)?;
        if bytes.is_empty() {
            return self.player.end(on, Ending::Close).map_err(Stop::from);
        }
        if let Some(reply) = self.repeated(&bytes).filter(|_| self.scenario.operation.only_asks()) {
            self.send(on, &reply)?;
            return self.player.end(on, Ending::Close).map_err(Stop::from);
        }
        self.judge_surplus(&bytes);
        self.refuse(on, HResult::UNKNOWN_COMMAND).map_err(Stop::from)
    }

    /// Judges a client that repeats a command, and returns the earlier answer; `None` if the
    /// command was not sent before.
    pub(super) fn repeated(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (operation, command) = (self.scenario.operation, RawHeader::read(bytes).command?);
        let is_it = |came: &[u8]| RawHeader::read(came).command == Some(command);
        let mut sent = self.so_far().connections.iter().filter(|one| is_it(&one.came.first));
        let (first, _) = (sent.next()?, sent.next()?);
        let reply = first.sent.first.clone();
        if !operation.commands().contains(&command) {
            return None;
        }
        let text = format!("{} is sent again", named(bytes));
        self.findings.must_unless(operation.only_asks(), Fault::RequestRepeated, text);
        Some(reply)
    }

    /// Judges a request that is no longer allowed.
    fn judge_surplus(&mut self, bytes: &[u8]) {
        let request = named(bytes);
        let operation = self.scenario.operation;
        let command = RawHeader::read(bytes).command;
        let is_of_task = command.is_some_and(|command| operation.commands().contains(&command));
        match self.scenario.refused_with {
            _ if self.findings.has(Fault::RequestRepeated) => {}
            _ if !is_of_task => self.findings.may(None, format!("{request} is also sent")),
            // Fields that the older command lacks are lost. The client may choose to give up
            // instead.
            Some(HResult::UNKNOWN_COMMAND) => {
                self.findings.note(format!("{request} is sent after the last UNKNOWN_COMMAND"));
            }
            Some(hresult) if self.requests > 0 => {
                let text =
                    format!("{request} is sent after {hresult}, which is not UNKNOWN_COMMAND");
                let is_open = operation.only_asks() && !self.scenario.is(Flag::FallsBack);
                self.findings.must_unless(is_open, Fault::FallsBackAfterAnyError, text);
            }
            _ => self.findings.must_unless(
                operation.only_asks(),
                Fault::RequestRepeated,
                format!("{request} is sent, although the task was already requested"),
            ),
        }
    }

    /// Waits after an invalid reply and its continuation until the client closes the connection, or
    /// accepts the session and stops it.
    pub(super) fn refused(&mut self, on: &str) -> Result<(), Stop> {
        let limit = Limit::new(self.gives_up);
        while !limit.is_over() {
            if let Received::End(_) = self.receive(on, 64, POLL_INTERVAL)? {
                return Ok(());
            }
            if self.connects_within(SHORTEST_LOOK)? {
                self.take_one_more()?;
                break;
            }
            if self.client.has_ended() {
                return Ok(());
            }
        }
        self.player.end(on, Ending::Close).map_err(Stop::from)
    }

    /// Checks that the client sends no complete message, because the task does not fit in one.
    pub(super) fn nothing_whole(&mut self, on: &str) -> Result<(), Stop> {
        let bytes = self.read_to(on, MAX_UNEXPECTED_LEN)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let size = RawHeader::read(&bytes).size;
        let said = size.map_or_else(|| "missing".to_owned(), |size| size.to_string());
        // For user_events a byte with the descriptor follows.
        let has_descriptor = self.scenario.operation == Operation::UserEvents;
        let whole = bytes.len().saturating_sub(usize::from(has_descriptor));
        let low = u16::try_from(whole & 0xffff).ok();
        let fault = match size {
            Some(u16::MAX) => Fault::SizeClamped,
            size if whole > usize::from(u16::MAX) && size == low => Fault::SizeTruncated,
            _ => Fault::BeyondTheLargestMessage,
        };
        let text = format!("it sends {} bytes, and the size field is {said}", bytes.len());
        Err(Stop::fault(fault, text))
    }

    pub(super) fn not_on(&mut self, on: &str) -> Result<(), Stop> {
        if let Received::Bytes(bytes, _) = self.receive(on, 64, WATCH_TIME)? {
            let found = format!("it sends {} on the same connection", named(&bytes));
            return Err(Stop::fault(Fault::ConnectionReused, found));
        }
        self.player.end(on, Ending::Close).map_err(Stop::from)
    }

    /// Opens the next connection to the client's port, as a runtime does after a closed one, with
    /// an advertise that is not slow.
    pub(super) fn connect_again(&mut self, on: &str) -> Result<bool, Stop> {
        let Some(advertise) = self.advertised.get(on).filter(|bytes| bytes.len() == 34).cloned()
        else {
            return Ok(false);
        };
        self.player.end(on, Ending::Close)?;
        self.open_at_the_port(on, &advertise)?;
        Ok(true)
    }

    fn open_at_the_port(&mut self, on: &str, advertise: &[u8]) -> Result<(), Stop> {
        let port = Some("p".to_owned());
        self.player.step(&Step::Open(Open { open: String::from(on), port, within_ms: None }))?;
        self.send(on, advertise).map_err(Stop::from)
    }

    /// Answers `bytes` if they are an unrelated request on a connection to the client's port.
    /// Returns whether they are.
    pub(super) fn answers_at_the_port(
        &mut self,
        on: &str,
        bytes: &[u8],
        expected: Option<Command>,
    ) -> Result<bool, Stop> {
        let command = self.unrelated(bytes).filter(|command| expected != Some(*command));
        let (Some(command), Some(advertise)) = (command, self.advertised.get(on).cloned()) else {
            return Ok(false);
        };
        self.answer(on, command, bytes)?;
        self.open_at_the_port(on, &advertise)?;
        Ok(true)
    }

    /// Reads `StopTracing` of a session, or what the client sends instead.
    pub(super) fn stop(&mut self, on: &str, session: u64) -> Result<(), Stop> {
        let bytes = self.read_request(on, Unread::None, Some(Command::STOP_TRACING))?;
        if bytes.is_empty() {
            return Err(Stop::fault(
                Fault::NothingSent,
                format!("expected StopTracing of session {session}, received nothing"),
            ));
        }
        if self.repeated(&bytes).is_some() {
            self.refuse(on, HResult::UNKNOWN_COMMAND)?;
            if !self.advertised.is_empty() {
                return Err(Stop::Over);
            }
            self.moves.push_front(Move::Stop(StopRequest { on: on.to_owned(), session }));
            return self.accept(&Accept { accept: on.to_owned(), port: None, within_ms: None });
        }
        self.has_stopped = true;
        if bytes == stop_message(session) {
            return Ok(());
        }
        let request = named(&bytes);
        let code = RawHeader::read(&bytes).command;
        let id = bytes.get(20..28).and_then(|id| id.try_into().ok()).map(u64::from_le_bytes);
        let text = format!("expected StopTracing of session {session}, received {request}");
        let received = ReceivedRequest {
            operation: Operation::Stop,
            line: self.line,
            arguments: &Arguments::new(),
            bytes: &bytes,
            after: &[],
            fds: 0,
            is_whole: true,
            falls_back: false,
        };
        match (code, id) {
            (Some(Command::STOP_TRACING), Some(id)) if bytes.len() == 28 && id != session => {
                let fault = if id.swap_bytes() == session {
                    Fault::NumbersBigEndian
                } else {
                    Fault::AnotherSessionStopped
                };
                // A runtime answers OK in any case (F-31).
                self.findings.must(fault, text);
                Ok(())
            }
            (Some(Command::STOP_TRACING), _) => {
                let (findings, refusal) = received.judge();
                self.findings.take_of_request(findings, false);
                if refusal.is_some() { Err(Stop::Over) } else { Ok(()) }
            }
            _ => {
                let findings = received.header();
                let has_name = findings.is_bad();
                self.findings.extend(findings);
                if !has_name {
                    self.findings.must(Fault::AnotherCommandSent, text);
                }
                Err(Stop::Over)
            }
        }
    }

    pub(super) fn descriptor(&mut self, expect: &Expect) -> Result<(), Stop> {
        let mut expect = expect.clone();
        // A client that waits for the reply gives up after its time limit.
        let within = DESCRIPTOR_TIMEOUT.min(self.line.patience.checked_div(2).unwrap_or_default());
        expect.within_ms = u32::try_from(within.as_millis()).ok();
        let begun = Instant::now();
        self.player.step(&Step::Expect(expect)).map_err(|error| {
            // The client stays connected but sends nothing, so it waits for something.
            let waits = match &error {
                PlayerError::Differs(Difference::Nothing { after }) => after.is_empty(),
                PlayerError::Differs(Difference::Ended { after, .. }) => {
                    after.is_empty() && begun.elapsed() >= within
                }
                _ => false,
            };
            let fault = match error {
                _ if waits => Fault::DescriptorAfterTheReply,
                PlayerError::Differs(Difference::Descriptors(0)) => Fault::BytesAfterTheMessage,
                _ => Fault::DescriptorMissing,
            };
            Stop::fault(fault, format!("the descriptor, on a separate byte: {error}"))
        })
    }

    /// Checks that the client sends nothing on the stream's connection, where no runtime reads.
    pub(super) fn nothing_on_the_stream(&mut self) -> Result<(), Stop> {
        if self.leaves_unread {
            return Ok(());
        }
        let Ok(Received::Bytes(bytes, _)) = self.receive("a", 64, Duration::ZERO) else {
            return Ok(());
        };
        let text = format!("it sends {} on the connection of the stream", named(&bytes));
        if bytes.starts_with(&MAGIC) {
            return Err(Stop::fault(Fault::StopOnTheStream, text));
        }
        // No server reads these bytes, and no client waits for an answer to what is not a message.
        self.findings.note(text);
        Ok(())
    }

    pub(super) fn given_up(&mut self, on: &str, is_whole: bool) -> Result<(), Stop> {
        let begun = Instant::now();
        match self.receive(on, 64, self.gives_up)? {
            Received::End(_) => {
                let waited = begun.elapsed().saturating_add(POLL_INTERVAL) >= self.line.patience;
                self.manner.waits_for_the_end = is_whole && waited;
                Ok(())
            }
            Received::Bytes(bytes, _) => {
                let fault = self.scenario.reveals.filter(|_| self.requests == 0);
                let text = format!("it sends {} on that connection", named(&bytes));
                self.findings.must(fault.unwrap_or(Fault::ConnectionReused), text);
                Ok(())
            }
            Received::Nothing => {
                let ms = self.gives_up.as_millis();
                let text = format!("it still keeps the connection open after {ms} ms");
                let fault = match self.scenario.reveals {
                    _ if self.scenario.is(Flag::Silent) => Fault::NoReadTimeout,
                    _ if is_whole => Fault::ReadsUntilClose,
                    // The client waits for the number of bytes that it read from the size field.
                    Some(Fault::MagicUnchecked) => Fault::MagicUnchecked,
                    _ => Fault::NoReadTimeout,
                };
                let is_open = self.scenario.exit == Exit::Failure && self.scenario.is(Flag::Open);
                self.findings.must_unless(is_open, fault, text);
                // The runtime disconnects, and the client must manage with what it has.
                self.player.end(on, Ending::Close).map_err(Stop::from)
            }
        }
    }

    /// Waits until the client continues, as it has everything, or shows that it waits for more.
    pub(super) fn settles(&mut self, on: &str) -> Result<(), Stop> {
        let time = REST_TIMEOUT.min(self.line.patience.checked_div(2).unwrap_or_default());
        match self.listen(on, 64, time)? {
            Received::End(_) => {}
            Received::Nothing => self.manner.waits_for_more = true,
            Received::Bytes(bytes, _) => {
                self.findings
                    .must(Fault::ConnectionReused, format!("it sends more: {}", named(&bytes)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_without_payload_keeps_last_byte_unread() {
        assert_eq!(Unread::Payload.read_of(50), 20);
        assert_eq!(Unread::Payload.read_of(20), 19);
        assert_eq!(Unread::LastByte.read_of(20), 19);
        assert_eq!((Unread::None.read_of(20), Unread::None.read_of(0)), (20, 20));
    }
}
