//! What replies and advertises of one case say of their process: differently, or of another one.

use alloc::{format, vec::Vec};

use byteorder::{ByteOrder as _, LittleEndian};

use super::case_evidence::{CaseEvidence, Exchange};
use super::faults::{FaultSeen, ServerFault};
use crate::advertise::Advertise;
use crate::command::{Command, ReplyType};
use crate::header::HEADER_LEN;
use crate::wire::Guid;

pub(super) fn of_case(evidence: &CaseEvidence) -> Vec<FaultSeen> {
    let mut found = processes(evidence);
    found.extend(sessions(evidence));
    found
}

/// The payload of an OK with a payload.
fn ok(exchange: &Exchange) -> Option<&[u8]> {
    let header = exchange.reply_header().filter(|header| header.command == Command::OK)?;
    exchange.came.get(HEADER_LEN..header.size.into())
}

/// Process id and cookie, as a message has them.
struct Said {
    /// `reply` or `advertise`.
    by: &'static str,
    id: u64,
    cookie: [u8; 16],
}

impl Said {
    fn of_advertise(advertise: Advertise) -> Self {
        Self { by: "advertise", id: advertise.process_id, cookie: advertise.runtime_cookie.to_bytes() }
    }
}

/// Process id and cookie of a reply to `ProcessInfo`, 2 or 3.
fn process(exchange: &Exchange) -> Option<Said> {
    let skipped = match exchange.command()?.reply_type()? {
        ReplyType::ProcessInfo | ReplyType::ProcessInfo2 => 0,
        ReplyType::ProcessInfo3 => 4,
        _ => return None,
    };
    let (id, rest) = ok(exchange)?.get(skipped..)?.split_at_checked(8)?;
    Some(Said { by: "reply", id: LittleEndian::read_u64(id), cookie: rest.get(..16)?.try_into().ok()? })
}

fn processes(evidence: &CaseEvidence) -> Vec<FaultSeen> {
    let advertises = evidence.process.advertise().into_iter().chain(evidence.exchanges.iter().filter_map(|one| one.advertise));
    let all = advertises.map(Said::of_advertise).chain(evidence.exchanges.iter().filter_map(process));
    let mut found = Vec::new();
    let mut first: Option<Said> = None;
    for said in all {
        found.extend(of_another_process(&said, evidence));
        let Some(Said { id, cookie, .. }) = first else {
            first = Some(said);
            continue;
        };
        let by = said.by;
        if said.id != id {
            let text = format!("processId is {id}, and {} in another {by}", said.id);
            found.push(FaultSeen::new(ServerFault::ProcessIdChanges, text));
        }
        if said.cookie != cookie {
            let fault = if swapped(said.cookie) == cookie { ServerFault::GuidByteOrder } else { ServerFault::CookieChanges };
            let (cookie, other) = (Guid::from_bytes(cookie), Guid::from_bytes(said.cookie));
            found.push(FaultSeen::new(fault, format!("runtimeCookie is {cookie}, and {other} in another {by}")));
        }
    }
    found
}

/// An id that is not that of the target's process.
fn of_another_process(said: &Said, evidence: &CaseEvidence) -> Option<FaultSeen> {
    // One with its bytes the other way round has a name of its own.
    let is_swapped = u32::try_from(said.id).is_err() && u32::try_from(said.id.swap_bytes()).is_ok();
    let expected = evidence.process.expected_in_place_of(said.id).filter(|_| !is_swapped)?;
    let text = format!("processId of the {} is {}, expected {expected}", said.by, said.id);
    Some(FaultSeen::new(ServerFault::ProcessIdWrong, text))
}

/// The first three parts of a GUID with their bytes the other way round.
fn swapped(mut guid: [u8; 16]) -> [u8; 16] {
    for part in [0..4, 4..6, 6..8] {
        if let Some(part) = guid.get_mut(part) {
            part.reverse();
        }
    }
    guid
}

/// Ids of sessions that run beside each other.
fn sessions(evidence: &CaseEvidence) -> Option<FaultSeen> {
    let mut running: Vec<(usize, u64)> = Vec::new();
    for (nth, is_sent) in &evidence.order {
        let exchange = evidence.exchanges.get(*nth)?;
        let is_stop = exchange.command() == Some(Command::STOP_TRACING);
        if *is_sent && is_stop {
            let stopped = exchange.sent.get(HEADER_LEN..HEADER_LEN.saturating_add(8)).map(LittleEndian::read_u64);
            running.retain(|(_, id)| Some(*id) != stopped);
        }
        let is_session = !is_stop && exchange.command().and_then(Command::reply_type) == Some(ReplyType::Session);
        let new = is_session && !is_sent && running.iter().all(|(other, _)| other != nth);
        let id = ok(exchange).and_then(|payload| payload.get(..8)).map(LittleEndian::read_u64);
        if let Some(id) = id.filter(|id| new && *id != 0) {
            if running.iter().any(|(_, other)| *other == id) {
                return Some(FaultSeen::new(ServerFault::SessionIdTwice, format!("two sessions that run have the id {id}")));
            }
            running.push((*nth, id));
        }
    }
    None
}
