//! The faults on all connections of a case: those of each reply, and whether replies and advertises
//! contradict each other about their process.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::message::Message;
use dotnet_diagnostics_ipc::message::eventpipe::StopTracing;
use dotnet_diagnostics_ipc::message::process::SetEnvironmentVariable;
use dotnet_diagnostics_ipc::wire::Guid;

use super::target::TargetProcess;
use crate::conversation::{Exchange, Exchanges, FaultSeen, guid_reversed, value_in_block};
use crate::faults::Fault;

/// Each fault once.
pub(super) fn faults_in_case(exchanges: &Exchanges, process: &TargetProcess) -> Vec<FaultSeen> {
    let of_replies = exchanges.all.iter().flat_map(|exchange| exchange.reply.faults().cloned());
    let of_processes = processes(exchanges, process).into_iter();
    let sessions = history(exchanges).twice.map(|id| {
        FaultSeen::new(Fault::SessionIdTwice, format!("two running sessions have the id {id}"))
    });
    let among_them = of_processes.chain(sessions).chain(variables(exchanges));
    let mut seen: Vec<FaultSeen> = Vec::new();
    for one in of_replies.chain(among_them) {
        if seen.iter().all(|before| before.fault != one.fault) {
            seen.push(one);
        }
    }
    seen
}

/// Returns what is wrong with the process ids and cookies of advertises, and of well-formed replies
/// to `ProcessInfo`, 2 or 3.
fn processes(exchanges: &Exchanges, process: &TargetProcess) -> Vec<FaultSeen> {
    let advertises =
        process.advertise().into_iter().chain(exchanges.all.iter().filter_map(|one| one.advertise));
    let before = advertises.map(|one| ("advertise", one.process_id, one.runtime_cookie.to_bytes()));
    let replied = exchanges.all.iter().filter_map(|Exchange { reply, .. }| {
        let is_well_formed =
            reply.is_whole() && reply.malformed().all(|seen| seen.fault == Fault::ReservedNotZero);
        let (id, cookie) = reply.process.filter(|_| is_well_formed)?;
        Some(("reply", id, cookie))
    });
    let mut found = Vec::new();
    let mut first = None;
    for (by, id, cookie) in before.chain(replied) {
        // Reversed bytes have a separate name.
        let is_swapped = u32::try_from(id).is_err() && u32::try_from(id.swap_bytes()).is_ok();
        found.extend(process.expected_in_place_of(id).filter(|_| !is_swapped).map(|expected| {
            let text = format!("processId of the {by} is {id}, expected {expected}");
            FaultSeen::new(Fault::ProcessIdWrong, text)
        }));
        let (first_id, first_cookie) = *first.get_or_insert((id, cookie));
        if id != first_id {
            let text = format!("processId is {first_id}, but {id} in another {by}");
            let is_swapped = id.swap_bytes() == first_id;
            let fault = if is_swapped { Fault::NumbersBigEndian } else { Fault::ProcessIdChanges };
            found.push(FaultSeen::new(fault, text));
        }
        if cookie != first_cookie {
            let is_reversed = guid_reversed(cookie) == first_cookie;
            let fault = if is_reversed { Fault::GuidBigEndian } else { Fault::CookieChanges };
            let [first, other] = [first_cookie, cookie].map(Guid::from_bytes);
            let text = format!("runtimeCookie is {first}, but {other} in another {by}");
            found.push(FaultSeen::new(fault, text));
        }
    }
    found
}

/// Returns a variable that was set, and has another value in the environment since.
fn variables(exchanges: &Exchanges) -> Option<FaultSeen> {
    let mut values: Vec<(String, String)> = Vec::new();
    for exchange in exchanges.answered().filter(|exchange| exchange.reply.is_ok()) {
        if let Some((name, value)) = variable_set_by(&exchange.sent) {
            values.retain(|(other, _)| *other != name);
            values.extend(value.map(|value| (name, value)));
        }
        let block = exchange.reply.len.and_then(|len| exchange.came.get(len..));
        let Some(block) = block.filter(|_| exchange.reply.announced.is_some()) else { continue };
        let other = values.iter().find_map(|(name, value)| {
            let told = value_in_block(block, name).filter(|told| told != value)?;
            Some(format!("{name} was set to {value:?}, and is {told:?} in the environment"))
        });
        if let Some(text) = other {
            let seen = FaultSeen::new(Fault::VariableChanged, text);
            return Some(FaultSeen { is_certain: true, ..seen });
        }
    }
    None
}

/// Returns the variable of a request, with its value if that is not deleted.
fn variable_set_by(request: &[u8]) -> Option<(String, Option<String>)> {
    let (message, _) = Message::decode_prefix(request).ok()?;
    let set = message.request_as::<SetEnvironmentVariable<'_>>().ok()?;
    // A runtime ends texts at their first NUL (F-80).
    let (name, value) = (set.name.to_unicode()?, set.value);
    let has_nul = |text: &str| text.contains('\0');
    let is_kept = |value: &String| !has_nul(value) && !has_nul(&name);
    let value = if value.is_absent() { None } else { value.to_unicode().filter(is_kept) };
    Some((name, value))
}

/// Returns how many sessions of a case were stopped, if any, and none is running.
pub(super) fn ended_sessions(exchanges: &Exchanges) -> Option<usize> {
    let History { running, ended, .. } = history(exchanges);
    (running.is_empty() && ended > 0).then_some(ended)
}

#[derive(Default)]
struct History {
    /// By exchange number, with their ids.
    running: Vec<(usize, u64)>,
    ended: usize,
    /// The first id shared by two concurrent sessions.
    twice: Option<u64>,
}

fn history(exchanges: &Exchanges) -> History {
    let mut history = History::default();
    for (nth, is_sent) in &exchanges.order {
        let Some(exchange) = exchanges.all.get(*nth) else { continue };
        if *is_sent && exchange.command() == Some(Command::STOP_TRACING) {
            let message = Message::decode_prefix(&exchange.sent).ok();
            let stop = message.and_then(|(message, _)| message.request_as::<StopTracing>().ok());
            let stopped = stop.map(|stop| stop.session_id);
            let before = history.running.len();
            history.running.retain(|(_, id)| Some(*id) != stopped);
            history.ended =
                history.ended.saturating_add(before.saturating_sub(history.running.len()));
        }
        let is_new = exchange.is_answered_as_session()
            && !is_sent
            && history.running.iter().all(|(other, _)| other != nth);
        if let Some(id) = exchange.reply.session_id.filter(|id| is_new && *id != 0) {
            // A session ends with its connection (P-37).
            let runs = |exchange: usize| {
                exchanges.all.get(exchange).is_some_and(|exchange| !exchange.is_closed)
            };
            if history.running.iter().any(|(exchange, other)| *other == id && runs(*exchange)) {
                history.twice = history.twice.or(Some(id));
            }
            history.running.push((*nth, id));
        }
    }
    history
}
