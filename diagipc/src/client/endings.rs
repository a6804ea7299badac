//! How a session or a connection ends: `StopTracing`, the passed descriptor, and the client's
//! close.

use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{MAGIC, RawHeader};
use dotnet_diagnostics_ipc_vectors::player::{Difference, PlayerError, Received};
use dotnet_diagnostics_ipc_vectors::script::{Ending, Expect, Step};

use super::request::Seen;
use super::scenario::{Arguments, Exit, Flag, Unread};
use super::scenario_player::{FOR_A_DESCRIPTOR, REST, SLICE, ScenarioPlayer, Stop};
use super::{Operation, runtime_bytes};
use crate::faults::Fault;

impl ScenarioPlayer<'_, '_> {
    /// `StopTracing` of a session, or what comes instead.
    pub(super) fn stop(&mut self, on: &str, session: u64) -> Result<(), Stop> {
        let bytes = self.read_request(on, Unread::None, Some(Command::STOP_TRACING))?;
        self.has_stopped = true;
        if bytes.is_empty() {
            return Err(Stop::fault(
                Fault::NothingSent,
                format!("expected StopTracing of session {session}, received nothing"),
            ));
        }
        if bytes == runtime_bytes::stop_message(session) {
            return Ok(());
        }
        let came = runtime_bytes::named(&bytes);
        let code = RawHeader::read(&bytes).command;
        let id = bytes.get(20..28).and_then(|id| id.try_into().ok()).map(u64::from_le_bytes);
        let text = format!("expected StopTracing of session {session}, received {came}");
        let seen = Seen { bytes: &bytes, behind: &[], fds: 0, is_whole: true, falls_back: false };
        match (code, id) {
            (Some(Command::STOP_TRACING), Some(id)) if bytes.len() == 28 && id != session => {
                let fault = if id.swap_bytes() == session {
                    Fault::NumbersBigEndian
                } else {
                    Fault::AnotherSessionStopped
                };
                // A runtime answers OK anyway (F-31).
                self.findings.must(fault, text);
                Ok(())
            }
            (Some(Command::STOP_TRACING), _) => {
                let (findings, refusal) = seen.judge(Operation::Stop, self.line, &Arguments::new());
                self.findings.take_of_request(findings, false);
                if refusal.is_some() { Err(Stop::Over) } else { Ok(()) }
            }
            _ => {
                let findings = seen.header(Operation::Stop);
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
        // A client that waits for the reply gives up after its patience.
        let within = FOR_A_DESCRIPTOR.min(self.line.patience.checked_div(2).unwrap_or_default());
        expect.within_ms = u32::try_from(within.as_millis()).ok();
        let begun = Instant::now();
        self.player.step(&Step::Expect(expect)).map_err(|trouble| {
            // It stays connected, and sends nothing: it waits for something.
            let waits = match &trouble {
                PlayerError::Differs(Difference::Nothing { after }) => after.is_empty(),
                PlayerError::Differs(Difference::Ended { after, .. }) => {
                    after.is_empty() && begun.elapsed() >= within
                }
                _ => false,
            };
            let fault = match trouble {
                _ if waits => Fault::DescriptorAfterTheReply,
                PlayerError::Differs(Difference::Descriptors(0)) => Fault::BytesAfterTheMessage,
                _ => Fault::DescriptorMissing,
            };
            Stop::fault(fault, format!("the descriptor, on a separate byte: {trouble}"))
        })
    }

    /// No runtime reads bytes on the stream's connection.
    pub(super) fn nothing_on_the_stream(&mut self) -> Result<(), Stop> {
        if self.leaves_unread {
            return Ok(());
        }
        let now = self.in_a(Duration::ZERO);
        let Ok(Received::Bytes(bytes, _)) = self.player.receive("a", 64, now) else {
            return Ok(());
        };
        let text =
            format!("it sends {} on the connection of the stream", runtime_bytes::named(&bytes));
        if bytes.starts_with(&MAGIC) {
            return Err(Stop::fault(Fault::StopOnTheStream, text));
        }
        // No server reads it, and no client waits for an answer to something that is not a message.
        self.findings.note(text);
        Ok(())
    }

    pub(super) fn given_up(&mut self, on: &str, is_whole: bool) -> Result<(), Stop> {
        let begun = Instant::now();
        let until = self.in_a(self.gives_up);
        match self.player.receive(on, 64, until)? {
            Received::End(_) => {
                let waited = begun.elapsed() + SLICE >= self.line.patience;
                self.manner.waits_for_the_end = is_whole && waited;
                Ok(())
            }
            Received::Bytes(bytes, _) => {
                let fault = self
                    .scenario
                    .reveals
                    .filter(|_| self.requests == 0)
                    .unwrap_or(Fault::ConnectionReused);
                self.findings.must(
                    fault,
                    format!("it sends {} on that connection", runtime_bytes::named(&bytes)),
                );
                Ok(())
            }
            Received::Nothing => {
                let text = format!(
                    "it still keeps the connection open after {} ms",
                    self.gives_up.as_millis()
                );
                let fault = match () {
                    () if self.scenario.is(Flag::Silent) => Fault::NoReadTimeout,
                    () if is_whole => Fault::ReadsUntilClose,
                    // It waits for the rest of its size field.
                    () if self.scenario.reveals == Some(Fault::MagicUnchecked) => {
                        Fault::MagicUnchecked
                    }
                    () => Fault::NoReadTimeout,
                };
                if self.scenario.exit == Exit::Failure && self.scenario.is(Flag::Open) {
                    self.findings.may(fault, text);
                } else {
                    self.findings.must(fault, text);
                }
                // The runtime disconnects, and the client must cope with what it has.
                self.player.end(on, Ending::Close).map_err(Stop::from)
            }
        }
    }

    /// The client has everything, and continues; or it waits for more, and is left waiting for a
    /// while.
    pub(super) fn settles(&mut self, on: &str) -> Result<(), Stop> {
        let until = self.in_a(REST.min(self.line.patience.checked_div(2).unwrap_or_default()));
        match self.player.listen(on, 64, until)? {
            Received::End(_) => {}
            Received::Nothing => self.manner.waits_for_more = true,
            Received::Bytes(bytes, _) => {
                self.findings.must(
                    Fault::ConnectionReused,
                    format!("it sends more: {}", runtime_bytes::named(&bytes)),
                );
            }
        }
        Ok(())
    }
}
