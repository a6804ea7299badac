//! A conversation as exchanges: what was sent and received on each connection.

use std::sync::LazyLock;
use std::{fmt, mem};

use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, ADVERTISE_MAGIC, Advertise};
use dotnet_diagnostics_ipc::command::{Command, ReplyType};
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::header::HEADER_LEN;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::player::{Connection, Conversation, EventKind, TurnDirection};

use super::observed::{ByteCount, command_of};
use super::reply::Reply;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) on: String,
    pub(crate) sent: Vec<u8>,
    /// All received bytes, except those read in the background.
    pub(crate) came: Vec<u8>,
    /// The received bytes as a reply. Its faults are found once the conversation is over.
    pub(crate) reply: Reply,
    /// The runtime's advertise before the reply, if this is a connection to a port.
    pub(crate) advertise: Option<Advertise>,
    /// Why no more bytes arrived, if they were waited for.
    pub(crate) quiet: Option<End>,
    pub(crate) is_closed: bool,
}

/// The kind of answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    Ok,
    Error(HResult),
    NoHeader,
    Nothing,
    /// Part of a message, or the end of the connection.
    Other,
}

/// The connections of a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchanges {
    /// All connections in the order in which they were opened.
    pub(crate) all: Vec<Exchange>,
    /// The order of messages, as exchange numbers and whether the message was sent.
    pub(crate) order: Vec<(usize, bool)>,
}

impl Exchanges {
    pub(crate) fn of(conversation: &Conversation) -> Self {
        let mut exchanges = Self::default();
        exchanges.complete(conversation);
        exchanges
    }

    /// Completes the exchanges once the conversation is over, with all bytes and their faults.
    pub(crate) fn complete(&mut self, conversation: &Conversation) {
        let mut read = mem::take(&mut self.all);
        self.all.extend(conversation.connections.iter().map(|connection| {
            let mut exchange = match read.iter().position(|one| one.on == connection.name) {
                Some(nth) => {
                    Exchange { reply: read.swap_remove(nth).reply, ..Exchange::unread(connection) }
                }
                None => Exchange::so_far(connection),
            };
            exchange.reply.find_faults(&exchange.sent, &exchange.came, exchange.quiet);
            exchange
        }));
        let said = |did: &EventKind| matches!(did, EventKind::Said { .. });
        let events = conversation.events.iter().filter(|event| said(&event.did));
        self.order =
            events.map(|event| (event.connection, event.by == TurnDirection::Sent)).collect();
    }

    /// Returns the last connection of that name on which anything was sent or received.
    pub(crate) fn on(&self, name: &str) -> Option<&Exchange> {
        self.all.iter().rfind(|one| one.on == name && one.is_used())
    }

    /// Returns the last connection of that name, even if it was not used or not opened.
    pub(crate) fn newest(&self, name: &str) -> &Exchange {
        static UNOPENED: LazyLock<Exchange> = LazyLock::new(Exchange::default);
        self.all.iter().rfind(|one| one.on == name).unwrap_or(&UNOPENED)
    }

    /// Returns the last connection on which something was sent.
    pub(crate) fn last_asked(&self) -> Option<&Exchange> {
        let (nth, _) = self.order.iter().rfind(|(_, is_sent)| *is_sent)?;
        self.all.get(*nth)
    }

    /// Returns the connections with a complete reply, in the order of the replies.
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

    pub(crate) fn has_error(&self, hresult: HResult) -> bool {
        self.answered().any(|exchange| exchange.reply.error() == Some(hresult))
    }
}

impl Exchange {
    /// Returns the bytes of a connection so far, and the reply.
    pub(crate) fn so_far(connection: &Connection) -> Self {
        let unread = Self::unread(connection);
        Self { reply: Reply::read(unread.command(), &unread.came), ..unread }
    }

    fn unread(connection: &Connection) -> Self {
        let mut came = connection.came.first.clone();
        let mut advertise = None;
        if came.starts_with(&ADVERTISE_MAGIC) {
            // An advertise is not a reply.
            let said: Vec<u8> = came.drain(..ADVERTISE_LEN.min(came.len())).collect();
            advertise = Advertise::decode(&said).ok();
        }
        Self {
            on: connection.name.clone(),
            sent: connection.sent.first.clone(),
            came,
            reply: Reply::default(),
            advertise,
            quiet: connection.came.end,
            is_closed: connection.sent.end.is_some(),
        }
    }

    fn is_used(&self) -> bool {
        !self.sent.is_empty() || !self.came.is_empty() || self.advertise.is_some()
    }

    /// Whether the full time was waited without an answer.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.answer(), ReplyKind::Nothing | ReplyKind::Other) && self.end().is_none()
    }

    /// Returns how the connection ended, if it did.
    pub(crate) fn end(&self) -> Option<End> {
        self.quiet.filter(|end| *end != End::TimedOut)
    }

    /// Returns the kind of answer to its first request.
    pub(crate) fn answer(&self) -> ReplyKind {
        match self.reply.error() {
            Some(hresult) => ReplyKind::Error(hresult),
            None if self.reply.is_whole() => ReplyKind::Ok,
            None if self.came.len() >= HEADER_LEN && self.reply.code.is_none() => {
                ReplyKind::NoHeader
            }
            None if self.came.is_empty() && self.end().is_none() => ReplyKind::Nothing,
            None => ReplyKind::Other,
        }
    }

    /// Returns the requested command if the header was sent, whatever its magic.
    pub(crate) fn command(&self) -> Option<Command> {
        command_of(&self.sent)
    }

    /// Whether a known command was requested.
    pub(crate) fn asks_known_command(&self) -> bool {
        self.command().is_some_and(|command| command.reply_type().is_some())
    }

    /// Whether a session was requested, rather than stopped, so that the reply has a session id.
    pub(crate) fn is_answered_as_session(&self) -> bool {
        let command = self.command().filter(|command| *command != Command::STOP_TRACING);
        command.and_then(Command::reply_type) == Some(ReplyType::Session)
    }
}

/// Describes what was received first.
impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let came = &self.came;
        match (self.reply.len, self.answer(), self.end()) {
            (Some(len), ..) => write!(f, "a message of {len} bytes"),
            (_, ReplyKind::NoHeader, _) => {
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
    /// Returns a connection on which this was sent and received.
    pub(crate) fn new(on: &str, sent: &[u8], came: &[u8], quiet: End) -> Self {
        let mut connection = Connection { name: on.to_owned(), ..Connection::default() };
        connection.sent.push(sent, Conversation::KEPT);
        connection.came.push(came, Conversation::KEPT);
        connection.came.end = Some(quiet);
        let conversation =
            Conversation { connections: [connection].into(), ..Conversation::default() };
        Exchanges::of(&conversation).all.remove(0)
    }
}
