//! Faults across all connections of a case: faults of each reply, and contradictions between
//! replies, advertises and what is known of the process.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::Message;
use dotnet_diagnostics_ipc::message::eventpipe::StopTracing;
use dotnet_diagnostics_ipc::message::process::SetEnvironmentVariable;
use dotnet_diagnostics_ipc::wire::Guid;

use super::described::{self, COMMAND_LINE};
use super::target::TargetProcess;
use crate::conversation::{Exchange, Exchanges, FaultSeen, guid_reversed, value_in_block};
use crate::faults::Fault;

/// Returns the faults of a case, each once.
pub(super) fn faults_in_case(exchanges: &Exchanges, process: &TargetProcess) -> Vec<FaultSeen> {
    let of_replies = exchanges.all.iter().flat_map(|exchange| exchange.reply.faults().cloned());
    let of_processes = processes(exchanges, process).into_iter();
    let statements = statements(exchanges, process).into_iter();
    let sessions = history(exchanges).twice.map(|id| {
        FaultSeen::new(Fault::SessionIdTwice, format!("two running sessions have the id {id}"))
    });
    let among_them = of_processes.chain(statements).chain(sessions).chain(variables(exchanges));
    let mut seen: Vec<FaultSeen> = Vec::new();
    for one in of_replies.chain(among_them) {
        if seen.iter().all(|before| before.fault != one.fault) {
            seen.push(one);
        }
    }
    seen
}

/// Returns contradictions between the process ids and cookies of advertises and of well-formed
/// replies to `ProcessInfo`, `ProcessInfo2` and `ProcessInfo3`.
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
        // A process id with reversed bytes is a fault with another name.
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

/// The strings that no process leaves empty. Only the name of the assembly may be empty.
const TEXTS: [&str; 5] = [COMMAND_LINE, "OS", "arch", "clrProductVersion", "runtimeIdentifier"];
const ASSEMBLY: &str = "managedEntrypointAssemblyName";

/// Returns what is wrong with the strings of well-formed replies, and with the environment.
fn statements(exchanges: &Exchanges, process: &TargetProcess) -> Vec<FaultSeen> {
    let right = exchanges.answered().filter(|one| one.reply.faults().next().is_none());
    let set = exchanges.all.iter().filter_map(|one| variable_set_by(&one.sent));
    process.seen.add_variables(set.map(|(name, _)| name));
    let mut found = Vec::new();
    let mut said: Vec<(&str, &str)> = Vec::new();
    for (reply, (id, cookie)) in right.filter_map(|one| Some((&one.reply, one.reply.process?))) {
        let is_empty = |field: &&str| reply.text(field) == Some("");
        found.extend(TEXTS.into_iter().find(is_empty).map(|field| {
            FaultSeen::new(Fault::ProcessTextEmpty, format!("{field} of the reply is empty"))
        }));
        if let Some((name, version)) = reply.text(ASSEMBLY).zip(reply.text("clrProductVersion")) {
            let is_version = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
            let text = format!("{ASSEMBLY} is {name:?}, and clrProductVersion {version:?}");
            let is_swapped = is_version(name) && !version.contains(|c: char| c.is_ascii_digit());
            found.extend(is_swapped.then(|| FaultSeen::new(Fault::ValueDiffers, text)));
        }
        if cookie == [0; 16] {
            found.push(FaultSeen::new(Fault::CookieNotUnique, "runtimeCookie is nil"));
        }
        if let Some(known) = process.of_id(id) {
            found.extend(process.seen.other_with(cookie, known).map(|other| {
                let text = format!(
                    "runtimeCookie is {} in the processes {other} and {known}",
                    Guid::from_bytes(cookie)
                );
                FaultSeen::new(Fault::CookieNotUnique, text)
            }));
            found.extend(described::faults_in_reply(known, reply, process.tells_arguments));
            let blocks = exchanges.answered().filter_map(block_after);
            found.extend(blocks.filter_map(|block| {
                described::fault_in_environment(known, block, |name| {
                    process.seen.has_variable(name)
                })
            }));
        }
        for field in TEXTS.into_iter().chain([ASSEMBLY]) {
            let Some(now) = reply.text(field) else { continue };
            let Some((_, before)) = said.iter().find(|(other, _)| *other == field) else {
                said.push((field, now));
                continue;
            };
            // A runtime reports more after its start (F-39, F-79).
            let grows = [COMMAND_LINE, ASSEMBLY].contains(&field)
                && (before.starts_with(now) || now.starts_with(before));
            if *before != now && !grows {
                let text = format!("{field} is {before:?}, but {now:?} in another reply");
                found.push(FaultSeen::new(Fault::ProcessInfoDiffers, text));
            }
        }
    }
    found
}

/// Returns the environment after a reply if it is complete and well-formed.
fn block_after(exchange: &Exchange) -> Option<&[u8]> {
    let reply = &exchange.reply;
    let block = exchange.came.get(reply.len?..)?;
    (reply.announced == Some(block.len()) && reply.faults().next().is_none()).then_some(block)
}

/// Returns the fault if the environment does not have a variable as it was set or deleted.
fn variables(exchanges: &Exchanges) -> Option<FaultSeen> {
    let mut values: Vec<(String, Option<String>)> = Vec::new();
    for exchange in exchanges.answered().filter(|exchange| exchange.reply.is_ok()) {
        if let Some((name, value)) = variable_set_by(&exchange.sent) {
            values.retain(|(other, _)| *other != name);
            values.push((name, value));
        }
        let block = exchange.reply.len.and_then(|len| exchange.came.get(len..));
        let Some(block) = block.filter(|_| exchange.reply.announced.is_some()) else { continue };
        let is_whole = block_after(exchange).is_some();
        let other =
            values.iter().find_map(|(name, value)| match (value, value_in_block(block, name)) {
                (Some(value), Some(told)) if told != *value => Some((
                    Fault::VariableChanged,
                    format!("{name} was set to {value:?}, but is {told:?} in the environment"),
                )),
                (Some(value), None) if is_whole => Some((
                    Fault::VariableNotSet,
                    format!("{name} was set to {value:?}, but is not in the environment"),
                )),
                (None, Some(told)) => Some((
                    Fault::VariableNotDeleted,
                    format!("{name} was deleted, but is {told:?} in the environment"),
                )),
                _ => None,
            });
        if let Some((fault, text)) = other {
            return Some(FaultSeen { is_certain: true, ..FaultSeen::new(fault, text) });
        }
    }
    None
}

/// Returns the variable that a request sets, with its value unless it is deleted. Servers may treat
/// a name that is empty or has an equals sign in any way (R-ENV-017).
fn variable_set_by(request: &[u8]) -> Option<(String, Option<String>)> {
    let (message, _) = Message::decode_prefix(request).ok()?;
    let set = message.request_as::<SetEnvironmentVariable<'_>>().ok()?;
    // A runtime truncates strings at their first NUL (F-80).
    let (name, value) = (set.name.to_unicode()?, set.value);
    let is_odd = |text: &str| text.contains('\0');
    if name.is_empty() || name.contains('=') || is_odd(&name) {
        return None;
    }
    if value.is_absent() {
        return Some((name, None));
    }
    let value = value.to_unicode().filter(|value| !is_odd(value))?;
    Some((name, Some(value)))
}

/// Whether a session is refused while another one of the case runs. The document does not say how
/// many sessions a server must allow.
pub(super) fn is_refused_beside_another(exchanges: &Exchanges) -> bool {
    let is_full = |one: &Exchange| {
        let of_bytes = [HResult::BAD_ENCODING, HResult::UNKNOWN_MAGIC, HResult::UNKNOWN_COMMAND];
        one.is_answered_as_session()
            && one.reply.error().is_some_and(|code| !of_bytes.contains(&code))
    };
    !history(exchanges).running.is_empty() && exchanges.answered().any(is_full)
}

/// Returns the number of stopped sessions if some were stopped and none is running.
pub(super) fn ended_sessions(exchanges: &Exchanges) -> Option<usize> {
    let History { running, ended, .. } = history(exchanges);
    (running.is_empty() && ended > 0).then_some(ended)
}

#[derive(Default)]
struct History {
    /// Running sessions: the number of the exchange and the session id.
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
            // The end of its connection ends a session (P-37).
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
