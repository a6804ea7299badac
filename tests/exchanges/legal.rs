//! Tries every report in a state of a machine: one that was not asked for must change nothing.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::Debug;

use dotnet_diagnostics_ipc::exchange::{
    ClientAction, ClientExchange, End, Outcome, Server, ServerAction, ServerOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;

use super::drive::ENDS;

/// Numbers of bytes around what was asked for.
pub(crate) fn counts(asked: usize) -> [usize; 6] {
    [0, 1, asked, asked + 1, 0x1_0000, usize::MAX]
}

/// Applies `report` to a copy, and asserts that it is accepted if legal, and otherwise changes
/// nothing.
#[track_caller]
pub(crate) fn tried<M: Clone + Debug, E: Debug>(
    machine: &M,
    buffer: &[u8],
    is_legal: bool,
    what: &str,
    report: impl FnOnce(&mut M, &mut [u8]) -> Result<(), E>,
) {
    let (mut copy, mut written) = (machine.clone(), buffer.to_vec());
    let said = report(&mut copy, &mut written);
    assert_eq!(said.is_ok(), is_legal, "{what} gives {said:?} in {machine:?}");
    if !is_legal {
        assert_eq!(format!("{copy:?}"), format!("{machine:?}"), "{what} is illegal and changed it");
        assert!(written == buffer, "{what} is illegal and wrote into the buffer of {machine:?}");
    }
}

/// Returns whether this state of a machine is new. Most states are reached often.
pub(crate) fn is_new(machine: &impl Debug, buffer: &[u8]) -> bool {
    thread_local!(static TRIED: RefCell<HashSet<String>> = RefCell::default());
    TRIED.with_borrow_mut(|tried| {
        if tried.len() > 100_000 {
            tried.clear();
        }
        tried.insert(format!("{machine:?}{}", String::from_utf8_lossy(buffer)))
    })
}

/// Tries the reports that clients and servers have in common. `sends` is how many bytes
/// were asked for, `receives` the range, `too_small` the size of a message.
macro_rules! tried_of_both {
    ($machine:expr, $buffer:expr, $sends:expr, $receives:expr, $too_small:expr) => {{
        let (machine, buffer): (_, &[u8]) = ($machine, $buffer);
        let asked = $sends.or($receives.as_ref().map(|range| range.len()));
        for n in counts(asked.unwrap_or(1)) {
            let is_sent = $sends.is_some_and(|asked| (1..=asked).contains(&n));
            tried(machine, buffer, is_sent, "sent", |it, _| it.sent(n));
            let taken = $receives.as_ref().is_some_and(|range| (1..=range.len()).contains(&n));
            tried(machine, buffer, taken, "received", |it, buffer| it.received(buffer, n));
            let longer = [&buffer[..buffer.len().min(20)], &[0; 100]].concat();
            let longer = &longer[..n.min(longer.len())];
            let fits = $too_small.is_some_and(|size| longer.len() >= size);
            tried(machine, buffer, fits, "enlarged", |it, _| it.enlarged(longer));
        }
        let too_short = $receives.as_ref().map_or(0, |range| range.end - 1).min(buffer.len());
        tried(machine, buffer, false, "received in a short buffer", |it, buffer| {
            it.received(&buffer[..too_short], 1)
        });
    }};
}

pub(crate) fn client(client: &ClientExchange, buffer: &[u8]) {
    if !is_new(client, buffer) {
        return;
    }
    let action = client.action();
    assert_eq!(client.action(), action);
    let (mut sends, mut receives, mut too_small) = (None, None, None);
    match &action {
        ClientAction::Send(range) => sends = Some(range.len()),
        ClientAction::Receive(range) => receives = Some(range),
        ClientAction::Finished(Outcome::BufferTooSmall { size }) => {
            too_small = Some(usize::from(*size));
        }
        ClientAction::SendFd(_) | ClientAction::Finished(_) => {}
    }
    tried_of_both!(client, buffer, sends, receives, too_small);
    let in_fd = matches!(action, ClientAction::SendFd(_));
    tried(client, buffer, in_fd, "fd_sent", |client, _| client.fd_sent());
    let sending = sends.is_some() || in_fd;
    tried(client, buffer, sending, "send_failed", |client, _| client.send_failed());
    for end in ENDS {
        let legal = receives.is_some() || sending;
        tried(client, buffer, legal, "ended", |client, _| client.ended(end));
    }
}

pub(crate) fn server(server: &Server, buffer: &[u8]) {
    if !is_new(server, buffer) {
        return;
    }
    let action = server.action();
    assert_eq!(server.action(), action);
    let (mut sends, mut receives, mut too_small) = (None, None, None);
    match &action {
        ServerAction::Send(range) => sends = Some(range.len()),
        ServerAction::Receive(range) => receives = Some(range),
        ServerAction::Finished(ServerOutcome::BufferTooSmall { size }) => {
            too_small = Some(usize::from(*size));
        }
        _ => {}
    }
    tried_of_both!(server, buffer, sends, receives, too_small);
    let is = |other| action == other;
    let (continues, left) = match action {
        ServerAction::Continue { left } => (true, left.map(|left| left as usize)),
        _ => (false, None),
    };
    for n in counts(left.unwrap_or(1)) {
        let fits = n <= buffer.len() && left.is_none_or(|left| n <= left);
        tried(server, buffer, continues && fits, "piece", |server, buffer| server.piece(buffer, n));
    }
    let decodes = matches!(action, ServerAction::Decode(_));
    tried(server, buffer, decodes, "request", |server, buffer| server.request(buffer).map(|_| ()));
    tried(server, buffer, false, "request in a short buffer", |server, buffer| {
        server.request(&buffer[..19]).map(|_| ())
    });
    let in_fd = is(ServerAction::ReceiveFd);
    tried(server, buffer, in_fd, "fd_received", |server, _| server.fd_received());
    tried(server, buffer, in_fd, "fd_missing", |server, _| server.fd_missing());
    let responds = is(ServerAction::Respond);
    let refuses = responds || too_small.is_some() || matches!(action, ServerAction::Refuse(_));
    let breaks = left.is_some();
    let fail = HResult::FAIL;
    tried(server, buffer, responds, "respond", |server, buffer| server.respond(&(), buffer));
    tried(server, buffer, refuses, "refuse", |server, buffer| server.refuse(fail, buffer));
    tried(server, buffer, breaks, "break_off", |server, buffer| server.break_off(fail, buffer));
    tried(server, buffer, false, "respond in no buffer", |server, _| server.respond(&(), &mut []));
    tried(server, buffer, false, "refuse in no buffer", |server, _| server.refuse(fail, &mut []));
    tried(server, buffer, false, "break_off in none", |server, _| server.break_off(fail, &mut []));
    let sending = sends.is_some() || continues;
    tried(server, buffer, sending, "send_failed", |server, _| server.send_failed());
    let ends_by_itself = is(ServerAction::Hold) || (continues && left.is_none());
    tried(server, buffer, ends_by_itself, "continuation_ended", |server, _| {
        server.continuation_ended()
    });
    tried(server, buffer, is(ServerAction::Close), "closed", |server, _| server.closed());
    for end in ENDS {
        let legal = match action {
            ServerAction::Receive(_) | ServerAction::ReceiveFd => true,
            ServerAction::Send(_) | ServerAction::Continue { .. } => end == End::TimedOut,
            ServerAction::Hold => end != End::TimedOut,
            _ => false,
        };
        tried(server, buffer, legal, "ended", |server, _| server.ended(end));
    }
}
