//! What a client asked on a recorded connection, and the parts of the runtime's bytes.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::ops::Range;

use dotnet_diagnostics_ipc::advertise::ADVERTISE_LEN;
use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc::message::Message;

use crate::conversation::{Exchange, Reply};

/// The first bytes of a stream in the format nettrace.
const NETTRACE: &[u8] = b"Nettrace";

/// The kind of a part of a runtime's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An advertise.
    Advertise,
    /// A reply, or an error.
    Reply,
    /// An environment block.
    Environment,
    /// The start of a stream.
    StreamHead,
    /// A stream, or the rest of it.
    Stream,
    /// Unknown.
    Other,
}

/// A part of a runtime's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) kind: Kind,
    /// Its range in the kept bytes. The end of the last one may be beyond them.
    pub(super) range: Range<usize>,
}

/// The command of the request, if there is a header.
pub(super) fn command(exchange: &Exchange) -> Option<Command> {
    Header::decode(&exchange.sent).ok().map(|header| header.command)
}

/// The request, by its size field: all bytes if that is missing, or beyond them.
pub(super) fn request(exchange: &Exchange) -> &[u8] {
    let size = Header::decode(&exchange.sent).map_or(usize::MAX, |header| header.size.into());
    exchange.sent.get(..size).unwrap_or(&exchange.sent)
}

/// What follows an OK to `request`, as far as it can be read.
pub(super) fn continuation(request: &[u8]) -> Option<Continuation> {
    let message = Message::decode(request).ok()?;
    message.request().map_or_else(|_| message.command.continuation(), |one| one.continuation())
}

/// The parts of all bytes that `came` in an exchange.
pub(super) fn parts(came: &[u8], exchange: &Exchange) -> Vec<Part> {
    let mut lens = Vec::new();
    lens.extend(exchange.advertise.map(|_| (Kind::Advertise, ADVERTISE_LEN)));
    let reply = &exchange.reply;
    if let Some(len) = reply.len.filter(|_| reply.refusal.is_none()) {
        lens.push((Kind::Reply, len));
        if reply.is_ok() {
            lens.extend(parts_behind(exchange, exchange.came.get(len..).unwrap_or_default()));
        }
    }
    lens.push((Kind::Other, usize::MAX));
    let mut end = 0_usize;
    let all = lens.into_iter().map(|(kind, len)| {
        let start = end;
        end = start.saturating_add(len);
        Part { kind, range: start..end }
    });
    all.filter(|part| !part.range.is_empty() && part.range.start < came.len()).collect()
}

/// What follows an OK: the kinds of parts, with their lengths.
fn parts_behind(exchange: &Exchange, behind: &[u8]) -> Vec<(Kind, usize)> {
    match continuation(request(exchange)) {
        Some(Continuation::Nettrace) => {
            let head = if behind.starts_with(NETTRACE) { NETTRACE.len() } else { 0 };
            Vec::from([(Kind::StreamHead, head), (Kind::Stream, usize::MAX)])
        }
        Some(Continuation::EnvironmentBlock) => {
            Vec::from([(Kind::Environment, exchange.reply.announced.unwrap_or(0))])
        }
        // A second reply, if there is one (F-81).
        Some(Continuation::Close)
            if command(exchange).map(|command| command.set)
                == Some(Command::GENERATE_CORE_DUMP.set) =>
        {
            Vec::from([(Kind::Reply, Reply::read(None, behind).len.unwrap_or(0))])
        }
        _ => Vec::new(),
    }
}
