//! A conversation as exchanges: what was asked on each connection, and what came.

use std::fmt;

use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, ADVERTISE_MAGIC, Advertise};
use dotnet_diagnostics_ipc::command::{Command, ReplyType};
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::header::HEADER_LEN;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::vectors::player::{Conversation, TurnDirection};

use super::reply::Reply;
use super::request_bytes::command_of;
use crate::byte_count::ByteCount;

/// One connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// Its name.
    pub(crate) on: String,
    /// All that was sent.
    pub(crate) sent: Vec<u8>,
    /// All received bytes, except those read in the background.
    pub(crate) came: Vec<u8>,
    /// The same, as the reply to what was sent.
    pub(crate) reply: Reply,
    /// The runtime's advertise before that: the connection is one to a port.
    pub(crate) advertise: Option<Advertise>,
    /// Why no more arrived, if it was waited for.
    pub(crate) quiet: Option<End>,
    /// We have closed it.
    pub(crate) is_closed: bool,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Ok,
    Error(HResult),
    NoHeader,
    Nothing,
    /// Part of a message, or the end.
    Other,
}

/// Those of a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchanges {
    /// In the order in which their connections were first used.
    pub(crate) all: Vec<Exchange>,
    /// The order of messages: the exchange number, and whether it was sent.
    pub(crate) order: Vec<(usize, bool)>,
}

impl Exchanges {
    pub(crate) fn of(conversation: &Conversation) -> Self {
        let mut exchanges = Self::default();
        for passage in &conversation.passages {
            let on = &passage.connection;
            let known = exchanges.all.iter().position(|one| one.on == *on);
            let nth = known.unwrap_or_else(|| {
                exchanges.all.push(Exchange {
                    on: on.clone(),
                    quiet: conversation.end(on),
                    is_closed: conversation.is_closed(on),
                    ..Exchange::default()
                });
                exchanges.all.len().saturating_sub(1)
            });
            let is_sent = passage.direction == TurnDirection::Sent;
            if let Some(exchange) = exchanges.all.get_mut(nth) {
                let bytes = if is_sent { &mut exchange.sent } else { &mut exchange.came };
                bytes.extend_from_slice(&passage.bytes);
                exchanges.order.push((nth, is_sent));
            }
        }
        for exchange in &mut exchanges.all {
            if exchange.came.starts_with(&ADVERTISE_MAGIC) {
                // An advertise is not a reply.
                let said: Vec<u8> =
                    exchange.came.drain(..ADVERTISE_LEN.min(exchange.came.len())).collect();
                exchange.advertise = Advertise::decode(&said).ok();
            }
            exchange.read();
        }
        exchanges
    }

    /// The connection of that name, used or not.
    fn take(self, conversation: &Conversation, name: &str) -> Exchange {
        let quiet = conversation.end(name);
        let unused = || Exchange { on: name.to_owned(), quiet, ..Exchange::default() };
        self.all.into_iter().find(|one| one.on == name).unwrap_or_else(unused)
    }

    /// The connection of that name.
    pub(crate) fn on(&self, name: &str) -> Option<&Exchange> {
        self.all.iter().find(|one| one.on == name)
    }

    /// The last one on which something was sent.
    pub(crate) fn last_asked(&self) -> Option<&Exchange> {
        let (nth, _) = self.order.iter().rfind(|(_, is_sent)| *is_sent)?;
        self.all.get(*nth)
    }

    /// Those with a whole reply, in the order of replies.
    pub(crate) fn answered(&self) -> impl Iterator<Item = &Exchange> {
        let mut replied = Vec::new();
        for (nth, is_sent) in &self.order {
            if !is_sent && !replied.contains(nth) {
                replied.push(*nth);
            }
        }
        replied
            .into_iter()
            .filter_map(|nth| self.all.get(nth))
            .filter(|exchange| exchange.reply.is_whole())
    }

    /// Whether a reply has that code.
    pub(crate) fn has_error(&self, hresult: HResult) -> bool {
        self.answered().any(|exchange| exchange.reply.error() == Some(hresult))
    }
}

impl Exchange {
    /// The connection of that name so far.
    pub(crate) fn on(conversation: &Conversation, name: &str) -> Self {
        Exchanges::of(conversation).take(conversation, name)
    }

    /// Whether all of an answer was waited for in vain.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.answer(), Answer::Nothing | Answer::Other) && self.end().is_none()
    }

    /// How the connection ended, if it did.
    pub(crate) fn end(&self) -> Option<End> {
        self.quiet.filter(|end| *end != End::TimedOut)
    }

    /// The answer to its first request.
    pub(crate) fn answer(&self) -> Answer {
        match self.reply.error() {
            Some(hresult) => Answer::Error(hresult),
            None if self.reply.is_whole() => Answer::Ok,
            None if self.came.len() >= HEADER_LEN && self.reply.code.is_none() => Answer::NoHeader,
            None if self.came.is_empty() && self.end().is_none() => Answer::Nothing,
            None => Answer::Other,
        }
    }

    /// Reads the reply, once all bytes are there.
    fn read(&mut self) {
        self.reply = Reply::read(&self.sent, &self.came, self.quiet);
    }

    /// The requested command, if its header was sent, whatever its magic.
    pub(crate) fn command(&self) -> Option<Command> {
        command_of(&self.sent)
    }

    /// Whether a known command was requested.
    pub(crate) fn asks_known_command(&self) -> bool {
        self.command().is_some_and(|command| command.reply_type().is_some())
    }

    /// Whether a session was requested, not stopped: its reply has a session's id.
    pub(crate) fn is_answered_as_session(&self) -> bool {
        let command = self.command().filter(|command| *command != Command::STOP_TRACING);
        command.and_then(Command::reply_type) == Some(ReplyType::Session)
    }
}

/// What came first, in words.
impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let came = &self.came;
        match (self.reply.len, self.answer(), self.end()) {
            (Some(len), ..) => write!(f, "a message of {len} bytes"),
            (_, Answer::NoHeader, _) => {
                let start = came.get(..HEADER_LEN).unwrap_or_default();
                write!(f, "bytes that are not a header: {}", hex::encode(start))
            }
            (_, _, Some(end)) => write!(f, "{end} after {}", ByteCount(came.len())),
            _ if came.is_empty() => f.write_str("no reply was received"),
            _ => write!(f, "nothing more after {}", ByteCount(came.len())),
        }
    }
}

#[cfg(test)]
impl Exchange {
    /// What came in reply to what was sent, until it grew quiet.
    pub(crate) fn new(on: &str, sent: &[u8], came: &[u8], quiet: End) -> Self {
        let mut exchange = Self {
            on: on.to_owned(),
            sent: sent.to_vec(),
            came: came.to_vec(),
            quiet: Some(quiet),
            ..Self::default()
        };
        exchange.read();
        exchange
    }
}
