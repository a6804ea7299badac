//! Faults of a server that does not reply, or does not end a connection.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::hresult::HResult;

use super::Death;
use crate::conversation::{
    Exchange, FaultSeen, ReplyKind, is_cut, is_too_small, message_of, request_as,
};
use crate::faults::Fault;

/// The text for a stopped session whose stream does not end.
pub(super) const STREAMS_ON: &str =
    "the session was stopped, but its stream continues or stays open";

pub(super) fn crash(death: Death) -> FaultSeen {
    FaultSeen::new(Fault::Crash, format!("the target {death}"))
}

pub(super) fn asked(exchange: &Exchange) -> String {
    let len = exchange.sent.len();
    match exchange.command() {
        Some(command) => format!("{command} of {len} bytes"),
        None => format!("a message of {len} bytes"),
    }
}

/// Returns the fault of a missing reply, if the connection ended like this or stayed silent.
pub(super) fn no_reply(exchange: &Exchange, end: Option<End>) -> FaultSeen {
    let asked = asked(exchange);
    let (is_malformed, is_known) = (is_malformed(exchange), exchange.asks_known_command());
    if let Some(end) = end {
        let text = format!("{asked}: {end}, and no reply was received");
        let is_certain = !is_malformed && is_known;
        return FaultSeen { is_certain, ..FaultSeen::new(Fault::ClosesBeforeReply, text) };
    }
    let fault = match () {
        () if is_malformed => Fault::NoAnswerToMalformedRequest,
        () if !is_known => Fault::NoAnswerToUnknownCommand,
        () => Fault::NoAnswer,
    };
    FaultSeen::new(fault, format!("{asked}: no reply was received"))
}

/// Returns why a session is not stopped; `None` if the reply has its id.
pub(super) fn not_stopped(stop: &Exchange, session_id: u64) -> Option<FaultSeen> {
    if stop.reply.session_id == Some(session_id) {
        return None;
    }
    Some(match stop.answer() {
        ReplyKind::Error(HResult::UNKNOWN_COMMAND) => without_stop(stop),
        ReplyKind::Error(code) => FaultSeen::new(
            Fault::ValidRequestRefused,
            format!("{}: hresult is {code}, expected an OK", asked(stop)),
        ),
        ReplyKind::Ok | ReplyKind::NoHeader => FaultSeen::new(
            Fault::StopEchoesAnother,
            "the reply to StopTracing does not have the requested id",
        ),
        ReplyKind::Nothing | ReplyKind::Other => no_reply(stop, stop.end()),
    })
}

/// Returns the fault of a server whose sessions cannot be stopped.
pub(super) fn without_stop(stop: &Exchange) -> FaultSeen {
    let text = format!("{}: hresult is {}", asked(stop), HResult::UNKNOWN_COMMAND);
    FaultSeen::new(Fault::SessionsWithoutStop, text)
}

/// Whether the bytes of the request require a refusal.
fn is_malformed(exchange: &Exchange) -> bool {
    let wire = exchange.sent.as_slice();
    let decoded = request_as(exchange.command()).decode(message_of(wire));
    is_too_small(wire) || is_cut(wire) || decoded.map_or(true, |decoded| decoded.limit.is_some())
}

/// Returns the fault of a connection that is not closed.
pub(super) fn left_open(exchange: &Exchange) -> FaultSeen {
    let is_stream = exchange.command().is_some_and(|command| {
        command != Command::STOP_TRACING && command.set == Command::STOP_TRACING.set
    }) && exchange.reply.error().is_none();
    if is_stream {
        return FaultSeen::new(Fault::StreamDoesNotEnd, STREAMS_ON);
    }
    FaultSeen::new(
        Fault::ConnectionLeftOpen,
        format!("{}: the connection stays open after the reply", asked(exchange)),
    )
}
