//! Calls that an exchange did not ask for: each is an error, and changes nothing.

use std::fmt::Debug;
use std::format;
use std::vec::Vec;

use dotnet_diagnostics_ipc::exchange::{
    Client, ClientAction, ConnectPort, ConnectPortAction, End, Outcome, Server, ServerAction,
    ServerOutcome, Session, SessionAction, StopOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;

const ENDS: [End; 3] = [End::Closed, End::Reset, End::TimedOut];

/// Tries `call` with copies: it must be accepted if it is `asked`, and otherwise leave all as it
/// was.
fn tried<M: Clone + Debug>(
    machine: &M,
    buffer: &[u8],
    asked: bool,
    call: impl FnOnce(&mut M, &mut Vec<u8>) -> bool,
) {
    let (mut copy, mut written) = (machine.clone(), buffer.to_vec());
    assert_eq!(call(&mut copy, &mut written), asked, "{machine:?}");
    if !asked {
        assert_eq!(format!("{copy:?}"), format!("{machine:?}"));
        assert_eq!(written, buffer, "{machine:?}");
    }
}

/// One call to the client, chosen by `which`, with `n`.
pub(super) fn client(client: &Client, buffer: &[u8], which: u8, n: usize) {
    let (action, end) = (client.action(), ENDS[n % 3]);
    let (sends, receives) = match &action {
        ClientAction::Send(range) => (Some(range.len()), None),
        ClientAction::Receive(range) => (None, Some(range.len())),
        _ => (None, None),
    };
    let in_fd = matches!(action, ClientAction::SendFd(_));
    let is_too_small = matches!(action, ClientAction::Finished(Outcome::BufferTooSmall { .. }));
    match which % 6 {
        0 => {
            tried(client, buffer, sends.is_some_and(|asked| (1..=asked).contains(&n)), |it, _| {
                it.sent(n).is_ok()
            });
        }
        1 => tried(
            client,
            buffer,
            receives.is_some_and(|asked| (1..=asked).contains(&n)),
            |it, buffer| it.received(buffer, n).is_ok(),
        ),
        2 => tried(client, buffer, in_fd, |it, _| it.fd_sent().is_ok()),
        3 => tried(client, buffer, sends.is_some() || in_fd, |it, _| it.send_failed().is_ok()),
        4 => {
            let asked = receives.is_some() || sends.is_some() || in_fd;
            tried(client, buffer, asked, |it, _| it.ended(end).is_ok());
        }
        _ if !is_too_small => {
            tried(client, buffer, false, |it, buffer| it.enlarged(buffer).is_ok());
        }
        _ => {}
    }
}

/// One call to the server.
pub(super) fn server(server: &Server, buffer: &[u8], which: u8, n: usize) {
    let (action, end) = (server.action(), ENDS[n % 3]);
    let (sends, receives) = match &action {
        ServerAction::Send(range) => (Some(range.len()), None),
        ServerAction::Receive(range) => (None, Some(range.len())),
        _ => (None, None),
    };
    let is_too_small =
        matches!(action, ServerAction::Finished(ServerOutcome::BufferTooSmall { .. }));
    let refuses = is_too_small || matches!(action, ServerAction::Respond | ServerAction::Refuse(_));
    let (continues, left) = match action {
        ServerAction::Continue { left } => (true, left),
        _ => (false, None),
    };
    let is_stream = continues && left.is_none();
    let is = |other: ServerAction| action == other;
    match which % 13 {
        0 => {
            tried(server, buffer, sends.is_some_and(|asked| (1..=asked).contains(&n)), |it, _| {
                it.sent(n).is_ok()
            });
        }
        1 => tried(
            server,
            buffer,
            receives.is_some_and(|asked| (1..=asked).contains(&n)),
            |it, buffer| it.received(buffer, n).is_ok(),
        ),
        2 => tried(server, buffer, matches!(action, ServerAction::Decode(_)), |it, buffer| {
            it.request(buffer).is_ok()
        }),
        3 => tried(server, buffer, is(ServerAction::ReceiveFd), |it, _| it.fd_received().is_ok()),
        4 => tried(server, buffer, is(ServerAction::ReceiveFd), |it, _| it.fd_missing().is_ok()),
        5 => tried(server, buffer, is(ServerAction::Respond), |it, buffer| {
            it.respond(&(), buffer).is_ok()
        }),
        6 => tried(server, buffer, refuses, |it, buffer| it.refuse(HResult::FAIL, buffer).is_ok()),
        7 => {
            let fits = n <= buffer.len() && left.is_none_or(|left| n <= left as usize);
            tried(server, buffer, continues && fits, |it, buffer| it.piece(buffer, n).is_ok());
        }
        8 => tried(server, buffer, is_stream || is(ServerAction::Hold), |it, _| {
            it.continuation_ended().is_ok()
        }),
        9 => tried(server, buffer, continues && !is_stream, |it, buffer| {
            it.break_off(HResult::FAIL, buffer).is_ok()
        }),
        10 => tried(server, buffer, sends.is_some() || continues, |it, _| it.send_failed().is_ok()),
        11 => tried(server, buffer, is(ServerAction::Close), |it, _| it.closed().is_ok()),
        _ => {
            let asked = match action {
                ServerAction::Receive(_) | ServerAction::ReceiveFd => true,
                ServerAction::Send(_) | ServerAction::Continue { .. } => end == End::TimedOut,
                ServerAction::Hold => end != End::TimedOut,
                _ => false,
            };
            tried(server, buffer, asked, |it, _| it.ended(end).is_ok());
        }
    }
}

/// One call to the session.
pub(super) fn session(session: &Session, which: u8, n: usize) {
    let action = session.action();
    let is_over = matches!(action, SessionAction::AwaitStop | SessionAction::Finished(_));
    let is_open = !is_over && action != SessionAction::HangUp;
    let is_stopping = session.stop() == StopOutcome::Awaited;
    match which % 5 {
        0 => {
            tried(session, &[], is_open && n > 0, |it, _| {
                it.received(&[0; 64][..n.min(64)]).is_ok()
            });
        }
        1 => tried(session, &[], !is_over, |it, _| it.ended(ENDS[n % 3]).is_ok()),
        2 => tried(session, &[], !is_over, |it, _| it.hung_up().is_ok()),
        3 => tried(session, &[], is_stopping, |it, _| it.stop_not_sent().is_ok()),
        _ => {
            // Once more the same is nothing new.
            let end = ENDS[n % 3];
            let is_said = session.stop() == StopOutcome::Unanswered(end);
            tried(session, &[], is_stopping || is_said, |it, _| it.stop_failed(end).is_ok());
        }
    }
}

/// One call to the runtime's side of the port.
pub(super) fn port(port: &ConnectPort, which: u8, n: usize) {
    let (action, buffer) = (port.action(), [0; 64]);
    let is = |other: ConnectPortAction| action == other;
    let sends = match &action {
        ConnectPortAction::Send(range) => Some(range.len()),
        _ => None,
    };
    match which % 8 {
        0 => {
            tried(
                port,
                &buffer[..n.min(64)],
                is(ConnectPortAction::Connect) && n >= 34,
                |it, b| it.connected(b).is_ok(),
            );
        }
        1 => tried(port, &buffer, is(ConnectPortAction::Connect), |it, _| {
            it.connect_failed().is_ok()
        }),
        2 => {
            tried(port, &buffer, sends.is_some_and(|asked| (1..=asked).contains(&n)), |it, _| {
                it.sent(n).is_ok()
            });
        }
        3 => tried(port, &buffer, sends.is_some(), |it, _| it.send_failed().is_ok()),
        4 => tried(port, &buffer, is(ConnectPortAction::AwaitRequest), |it, _| {
            it.request_arrived().is_ok()
        }),
        5 => tried(port, &buffer, is(ConnectPortAction::AwaitRequest), |it, _| it.ended().is_ok()),
        6 => {
            tried(port, &buffer, is(ConnectPortAction::HandOver), |it, _| it.handed_over().is_ok());
        }
        _ => tried(port, &buffer, matches!(action, ConnectPortAction::Wait(_)), |it, _| {
            it.waited().is_ok()
        }),
    }
}
