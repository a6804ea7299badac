//! The record of a case: the bytes of each connection, and how it ended.

use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, ADVERTISE_MAGIC, Advertise};
use dotnet_diagnostics_ipc::command::{Command, ReplyType};
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header, RawHeader};
use dotnet_diagnostics_ipc::vectors::player::{Player, Quiet, TurnDirection};
use dotnet_diagnostics_ipc::vectors::script::Captures;

use super::process_id::TargetProcess;

/// One connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Exchange {
    /// Its name.
    pub(super) on: String,
    /// All that was sent.
    pub(super) sent: Vec<u8>,
    /// All received bytes, except those read in the background.
    pub(super) came: Vec<u8>,
    /// The runtime's advertise before that: the connection is one to a port.
    pub(super) advertise: Option<Advertise>,
    /// Why no more arrived, if it was waited for.
    pub(super) quiet: Option<Quiet>,
    /// We have closed it.
    pub(super) is_closed: bool,
}

/// All of a case.
#[derive(Clone, Debug, Default)]
pub(super) struct CaseEvidence {
    pub(super) exchanges: Vec<Exchange>,
    /// The order of messages: the exchange number, and whether it was sent.
    pub(super) order: Vec<(usize, bool)>,
    /// The target's process, as far as it is known.
    pub(super) process: TargetProcess,
    /// What scripts captured.
    pub(super) captures: Captures,
}

impl CaseEvidence {
    pub(super) fn of(player: &Player<'_>, process: &TargetProcess) -> Self {
        let mut evidence = Self {
            captures: player.captures().clone(),
            process: process.clone(),
            ..Self::default()
        };
        for passage in &player.transcript().0 {
            let known = evidence.exchanges.iter().position(|one| one.on == passage.connection);
            let nth = known.unwrap_or_else(|| {
                let quiet = player.quiet(&passage.connection);
                let is_closed = player.has_closed(&passage.connection);
                evidence.exchanges.push(Exchange {
                    on: passage.connection.clone(),
                    quiet,
                    is_closed,
                    ..Exchange::default()
                });
                evidence.exchanges.len().saturating_sub(1)
            });
            let is_sent = passage.direction == TurnDirection::Sent;
            if let Some(exchange) = evidence.exchanges.get_mut(nth) {
                let bytes = if is_sent { &mut exchange.sent } else { &mut exchange.came };
                bytes.extend_from_slice(&passage.bytes);
                evidence.order.push((nth, is_sent));
            }
        }
        for exchange in &mut evidence.exchanges {
            if exchange.came.starts_with(&ADVERTISE_MAGIC) {
                // An advertise is not a reply.
                let said: Vec<u8> =
                    exchange.came.drain(..ADVERTISE_LEN.min(exchange.came.len())).collect();
                exchange.advertise = Advertise::decode(&said).ok();
            }
        }
        evidence
    }

    /// The connection of that name.
    pub(super) fn on(&self, name: &str) -> Option<&Exchange> {
        self.exchanges.iter().find(|one| one.on == name)
    }
}

impl Exchange {
    /// The requested command, if its header was sent, whatever its magic.
    pub(super) fn command(&self) -> Option<Command> {
        RawHeader::read(&self.sent).command.filter(|_| self.sent.len() >= HEADER_LEN)
    }

    /// Whether a known command was requested.
    pub(super) fn asks_known_command(&self) -> bool {
        self.command().is_some_and(|command| command.reply_type().is_some())
    }

    /// Whether a session was requested, not stopped: its reply has a session's id.
    pub(super) fn is_answered_as_session(&self) -> bool {
        let command = self.command().filter(|command| *command != Command::STOP_TRACING);
        command.and_then(Command::reply_type) == Some(ReplyType::Session)
    }

    /// The header received.
    pub(super) fn reply_header(&self) -> Option<Header> {
        Header::decode(&self.came).ok()
    }
}
