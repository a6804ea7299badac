//! Faults of answers that are well-formed but not the expected ones.

use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, ADVERTISE_MAGIC};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::player::{
    Conversation, Difference, EventKind, Failure, PlayerError, TurnDirection,
};
use dotnet_diagnostics_ipc_vectors::script::{Captures, Expect, ExpectAnyOf, Pattern, Step};
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Type};

use super::expectation::{Expectation, is_free, other_refusal_of};
use super::facts::CaseFacts;
use super::request::{ON, Reaction};
use super::unanswered::{asked, crash, left_open, no_reply, without_stop};
use super::{Death, consistency};
use crate::conversation::{
    Exchange, Exchanges, FaultSeen, Reply, ReplyKind, fault_in_ended_stream, is_cut, is_too_small,
    message_of, request_as,
};
use crate::faults::Fault;

/// Returns why the answer to a request of the vectors is a failure. `in_replies` has the faults
/// already found in the replies of the case.
pub(super) fn faults_in_answer(
    in_replies: &[FaultSeen],
    expectation: &Expectation<'_>,
    answered: &Reaction,
    death: Option<Death>,
) -> Vec<FaultSeen> {
    let due = match expectation.verdict {
        ExpectedResult::Valid | ExpectedResult::Acceptable => ReplyKind::Ok,
        ExpectedResult::Invalid => expectation.refusal.map_or(ReplyKind::Ok, ReplyKind::Error),
    };
    let exchanges = &answered.exchanges;
    let mut found = in_replies.to_vec();
    if !found.is_empty() {
        found.extend(exchanges.on(ON).and_then(|exchange| served(exchange, due, exchanges)));
        return found;
    }
    if let Some(death) = death {
        return [crash(death)].into();
    }
    let Some(exchange) = exchanges.on(ON) else { return found };
    match exchange.answer() {
        ReplyKind::Ok if expectation.verdict == ExpectedResult::Acceptable => {}
        ReplyKind::Ok => found.extend(wrong_answer(exchange, due, exchanges)),
        ReplyKind::Error(code) => {
            let is_allowed = |seen: &FaultSeen| {
                seen.fault == Fault::ValidRequestRefused && expectation.refusable.takes(code)
            };
            let wrong = wrong_answer(exchange, due, exchanges);
            found.extend(wrong.filter(|seen| !is_allowed(seen)));
        }
        ReplyKind::NoHeader => {}
        ReplyKind::Nothing | ReplyKind::Other => found.push(no_reply(exchange, exchange.end())),
    }
    if answered.left_open {
        found.push(left_open(exchange));
    }
    found.extend(answered.wrong.iter().cloned());
    found
}

/// Returns why a script failed at a step.
pub(super) fn faults_in_failure(
    facts: &CaseFacts<'_>,
    step: &Step,
    failure: &Failure,
    arrives_in_pieces: bool,
    has_spelled_ports: bool,
) -> Vec<FaultSeen> {
    let (captures, exchanges) = (&facts.conversation.captures, &facts.exchanges);
    if facts.death.is_none() {
        if let Some(seen) = advertise_wrong(facts, step) {
            return [seen].into();
        }
    }
    let mut found = facts.faults.clone();
    if !found.is_empty() {
        if let Step::Expect(expect) = step {
            found.extend(exchanges.on(&expect.on).and_then(|exchange| {
                served(exchange, due(&expect.expect, exchange, captures)?, exchanges)
            }));
        }
        return found;
    }
    if let Some(death) = facts.death {
        return [crash(death)].into();
    }
    let PlayerError::Differs(difference) = &failure.trouble else { return found };
    let of_patterns = |on: &str, patterns: &[&Pattern]| {
        let exchange = exchanges.on(on)?;
        let due = patterns.iter().filter_map(|pattern| due(pattern, exchange, captures));
        fault_in_reply(exchange, &due.collect::<Vec<_>>(), difference, exchanges)
    };
    let fault = match step {
        Step::Expect(expect) => of_patterns(&expect.on, &[&expect.expect]),
        Step::ExpectAnyOf(expect) => {
            let patterns = expect.expect_any_of.iter().map(|one| &one.expect);
            of_patterns(&expect.on, &patterns.collect::<Vec<_>>())
        }
        Step::ExpectEnd(expect) => exchanges.on(&expect.on).and_then(|exchange| match difference {
            Difference::NoEnd => Some(left_open(exchange)),
            Difference::End(End::Reset) => Some(FaultSeen::new(
                Fault::ConnectionReset,
                format!("{}: the connection is reset", asked(exchange)),
            )),
            Difference::Stream(state) => fault_in_ended_stream(*state),
            Difference::Unasked(_) => {
                Some(FaultSeen::new(Fault::EventNotAskedFor, difference.to_string()))
            }
            Difference::Other(text) if expect.is_of_stream() => {
                Some(FaultSeen::new(Fault::StreamWithoutEnd, text.clone()))
            }
            _ => None,
        }),
        Step::ExpectNothing(expect) => exchanges.on(&expect.on).and_then(|exchange| {
            let is_stream = exchange.is_answered_as_session();
            let is_ended = matches!(difference, Difference::End(_)) && is_stream;
            let text = "a running session ended with the stop of another id";
            (is_ended && exchanges.all.iter().any(is_stop))
                .then(|| FaultSeen::new(Fault::StopEndsAnother, text))
        }),
        // The step fails because a stream begins before the resume, or has no event after it.
        Step::ExpectNoEvent(_) | Step::ExpectEvent(_) if has_spelled_ports => {
            Some(FaultSeen::new(Fault::SuspendModeMisread, "the port does not suspend the start"))
        }
        Step::Send(send) => exchanges.on(&send.on).and_then(|exchange| match difference {
            Difference::PeerGone { before: None, .. } => Some(no_reply(exchange, Some(End::Reset))),
            Difference::PeerGone { .. } => wrong_answer(exchange, ReplyKind::Ok, exchanges),
            _ => None,
        }),
        Step::ExpectFile(file) if matches!(difference, Difference::Other(_)) => {
            let text = format!("the reply is OK, but {}: {difference}", file.expect_file);
            Some(FaultSeen { is_certain: true, ..FaultSeen::new(Fault::DumpNotWritten, text) })
        }
        Step::Accept(_) | Step::Open(_) if *difference == Difference::NotConnected => {
            Some(not_connected(exchanges))
        }
        _ => None,
    };
    let in_pieces = |seen: FaultSeen| match seen.fault {
        Fault::StreamEmpty if has_spelled_ports => FaultSeen::new(
            Fault::SuspendModeMisread,
            format!("the port suspends the start: {}", seen.text),
        ),
        Fault::ValidRequestRefused | Fault::ClosesBeforeReply | Fault::NoAnswer
            if arrives_in_pieces =>
        {
            FaultSeen::new(Fault::RequestInPiecesMisread, format!("{}, in pieces", seen.text))
        }
        _ => seen,
    };
    fault.into_iter().map(in_pieces).collect()
}

fn is_stop(exchange: &Exchange) -> bool {
    exchange.command() == Some(Command::STOP_TRACING)
}

/// Returns the fault if a connection to a port does not begin with an advertise.
fn advertise_wrong(facts: &CaseFacts<'_>, step: &Step) -> Option<FaultSeen> {
    let (Step::Expect(Expect { on, .. }) | Step::ExpectAnyOf(ExpectAnyOf { on, .. })) = step else {
        return None;
    };
    let Conversation { connections, events, .. } = &facts.conversation;
    let nth = connections.iter().position(|one| one.name == *on && one.sent.len == 0)?;
    let mut opened = events.iter().filter(|event| event.did == EventKind::Opened);
    opened.find(|event| event.connection == nth && event.by == TurnDirection::Received)?;
    let came = &connections.get(nth)?.came.first;
    let front = came.get(..came.len().min(ADVERTISE_LEN)).unwrap_or_default();
    let text = format!(
        "the connection begins with \"{}\", expected \"ADVR_V1\\0\" and 26 bytes",
        front.escape_ascii()
    );
    (!front.starts_with(&ADVERTISE_MAGIC)).then(|| FaultSeen::new(Fault::AdvertiseWrong, text))
}

/// Returns the fault of a server that does not connect to its port, or does not reconnect.
pub(super) fn not_connected(exchanges: &Exchanges) -> FaultSeen {
    let before = exchanges.all.iter().filter(|one| one.advertise.is_some()).count();
    let text = match before {
        0 => "no connection to the port".to_owned(),
        n => format!("no other connection to a port after {n}"),
    };
    FaultSeen::new(Fault::PortNotConnected, text)
}

/// Returns the fault if a request is served where an error is due. This fault is added to those in
/// the bytes of the reply.
fn served(exchange: &Exchange, due: ReplyKind, exchanges: &Exchanges) -> Option<FaultSeen> {
    let reply = &exchange.reply;
    let is_refusal = reply.faults().any(|seen| seen.fault == Fault::ErrorAsOk);
    // Some servers repeat the command of the request instead of writing an OK.
    let is_ok = reply.is_ok() || reply.code.is_some() && reply.code == exchange.command();
    let is_served = reply.is_whole() && is_ok && !is_refusal && due != ReplyKind::Ok;
    if is_served { wrong_answer(exchange, due, exchanges) } else { None }
}

/// Returns the reply required by a pattern: an OK or an error.
fn due(pattern: &Pattern, exchange: &Exchange, captures: &Captures) -> Option<ReplyKind> {
    let bytes = pattern.filled_from(&exchange.came, captures);
    let reply = Reply::read(None, &bytes);
    let ok = || (reply.is_whole() && reply.is_ok()).then_some(ReplyKind::Ok);
    reply.error().map(ReplyKind::Error).or_else(ok)
}

/// Returns the fault of a reply that fits none of the patterns, which require one of `due`.
fn fault_in_reply(
    exchange: &Exchange,
    due: &[ReplyKind],
    difference: &Difference,
    exchanges: &Exchanges,
) -> Option<FaultSeen> {
    match difference {
        Difference::Ended { .. } | Difference::Nothing { .. }
            if exchange.is_answered_as_session()
                && exchange.reply.is_whole()
                && exchange.reply.len == Some(exchange.came.len()) =>
        {
            let text = "the reply has the id of the session, but no byte of a stream follows";
            Some(FaultSeen::new(Fault::StreamEmpty, text))
        }
        Difference::Ended { end, after } if after.is_empty() => {
            Some(no_reply(exchange, Some(*end)))
        }
        Difference::Nothing { after } if after.is_empty() => Some(no_reply(exchange, None)),
        Difference::Bytes { fields, mismatches, .. } => {
            let is_error = exchange.reply.error().is_some();
            let of_this_kind = due.iter().find(|due| (**due != ReplyKind::Ok) == is_error);
            let other = wrong_answer(exchange, *of_this_kind.or(due.first())?, exchanges);
            if other.is_some() {
                return other;
            }
            let fault =
                if is_stop(exchange) { Fault::StopEchoesAnother } else { Fault::ValueDiffers };
            let mut texts: Vec<String> = fields.iter().map(ToString::to_string).collect();
            // A value that none of the patterns allows is not in the others either.
            if texts.is_empty() && exchange.reply.is_whole() {
                texts.extend(mismatches.first().map(|one| {
                    format!("at byte {}: {}, expected {}", one.offset, one.found, one.expected)
                }));
            }
            (!texts.is_empty()).then(|| FaultSeen::new(fault, texts.join("; ")))
        }
        _ => None,
    }
}

/// Returns the fault of an OK where an error is due, or of the wrong error.
fn wrong_answer(exchange: &Exchange, due: ReplyKind, exchanges: &Exchanges) -> Option<FaultSeen> {
    if !exchange.reply.is_whole() {
        return None;
    }
    let (asked, is_known) = (asked(exchange), exchange.asks_known_command());
    let (fault, text) = match (due, exchange.reply.error()) {
        (ReplyKind::Error(due), Some(code))
            if due == code || is_free(exchange.command(), due, code) =>
        {
            return None;
        }
        // The server checks in another order.
        (_, Some(code)) if other_refusal_of(&exchange.sent) == Some(code) => return None,
        (ReplyKind::Error(due), error) => {
            let unchecked = unchecked(exchange);
            let fault = match (error, unchecked) {
                (None | Some(HResult::ENVVAR_NOT_FOUND), _) => unchecked,
                // The server read beyond the message (F-69).
                (
                    Some(code),
                    Fault::SizeUnchecked | Fault::TruncatedRequestAccepted | Fault::MagicUnchecked,
                ) if code == HResult::UNKNOWN_COMMAND && !is_known
                    || code == HResult::INVALID_ARG && is_known =>
                {
                    unchecked
                }
                _ => Fault::WrongErrorCode,
            };
            let received = error
                .map_or_else(|| "the reply is OK".to_owned(), |code| format!("hresult is {code}"));
            (fault, format!("{asked}: {received}, expected {due}"))
        }
        (_, None) => return None,
        (_, Some(HResult::UNKNOWN_COMMAND)) if is_known => {
            if is_stop(exchange) {
                return Some(without_stop(exchange));
            }
            let text = format!("{asked}: hresult is {}", HResult::UNKNOWN_COMMAND);
            (Fault::KnownCommandRefusedAsUnknown, text)
        }
        (_, Some(code)) => {
            let is_of_bytes = [HResult::BAD_ENCODING, HResult::UNKNOWN_MAGIC].contains(&code);
            let text = format!("{asked}: hresult is {code}, expected an OK");
            match consistency::ended_sessions(exchanges) {
                Some(ended) if !is_of_bytes && exchange.is_answered_as_session() => (
                    Fault::SessionsLeaked,
                    format!("{text}: {ended} sessions were stopped before, and none is running"),
                ),
                _ => (Fault::ValidRequestRefused, text),
            }
        }
    };
    Some(FaultSeen::new(fault, text))
}

/// Returns the check whose absence lets this request be served.
fn unchecked(exchange: &Exchange) -> Fault {
    let wire = exchange.sent.as_slice();
    if is_too_small(wire) {
        return Fault::SizeUnchecked;
    }
    if is_cut(wire) {
        return Fault::TruncatedRequestAccepted;
    }
    match request_as(exchange.command()).decode(message_of(wire)) {
        Ok(decoded) if decoded.kind == Type::Unknown => Fault::UnknownCommandTaken,
        // Deleting a variable that does not exist.
        Ok(_) if exchange.command() == Some(Command::SET_ENVIRONMENT_VARIABLE) => {
            Fault::VariableNotDeleted
        }
        Ok(_) => Fault::LimitsUnchecked,
        Err(refusal) => match refusal.fault.kind.as_str() {
            "bad_magic" => Fault::MagicUnchecked,
            "size_too_small" => Fault::SizeUnchecked,
            "end_of_input" => Fault::TruncatedRequestAccepted,
            "count_too_large" => Fault::CountUnchecked,
            "missing_terminator" => Fault::TerminatorUnchecked,
            "unknown_session_type" => Fault::LimitsUnchecked,
            _ => Fault::TruncatedPayloadTaken,
        },
    }
}
