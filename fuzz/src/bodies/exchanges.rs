//! Clients and servers in conversations: a peer that sends anything, and both sides as a pair. The
//! pieces in which bytes move change no result.

use super::Pieces;
use super::drive::{
    Answer, Conversation, Course, Cut, ENDS, Judged, Peer, Played, hear, judge, play,
};
use diagipc::corpus::COMMANDS;
use dotnet_diagnostics_ipc::command::{Continuation, ReplyType};
use dotnet_diagnostics_ipc::exchange::{Client, End, Outcome, ServerOutcome};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::eventpipe::SessionReply;
use dotnet_diagnostics_ipc::message::process::ProcessEnvironmentReply;
use dotnet_diagnostics_ipc::message::server::ResultReply;
use dotnet_diagnostics_ipc::message::{AnyReply, Message};

/// A client, and a peer that answers anything: `[command, room, end, 4 sizes of pieces, peer …]`.
pub fn client_exchange(input: &[u8]) {
    let Some(([which, room, end, sizes @ ..], bytes)) = input.split_first_chunk::<7>() else {
        return;
    };
    let (command, continuation) = COMMANDS[usize::from(*which) % COMMANDS.len()];
    let room = 24 + usize::from(*room);
    // The request is at most a few pieces long.
    let fails_at = if *end >= 0x80 { usize::from(*end & 0x1f) } else { usize::MAX };
    let peer = Peer { bytes, end: ENDS[usize::from(*end) % ENDS.len()], fails_at };
    let heard = |sizes: &[u8]| {
        let (mut buffer, mut pieces) = (vec![0; room], Pieces::new(sizes));
        let mut client =
            Client::with_payload(command, Some(continuation), &(), &mut buffer).unwrap();
        hear(&mut client, &mut buffer, &peer, &mut |n| n.min(pieces.next()))
    };
    let (outcome, taken) = heard(&[]);
    assert_eq!(heard(sizes).0, outcome);
    let found = match outcome {
        Outcome::Ok { size, .. } => Some((usize::from(size), None)),
        Outcome::Error { size, hresult } => Some((usize::from(size), Some(hresult))),
        _ => None,
    };
    // The valid reply at the front of the bytes, if there is one.
    let expected = Message::decode_prefix(bytes).ok().and_then(|(message, rest)| {
        let size = Some(bytes.len() - rest.len()).filter(|size| *size <= room)?;
        match message.reply_to(Some(command)).ok()? {
            AnyReply::Error(error) => Some((size, Some(error.hresult))),
            _ => Some((size, None)),
        }
    });
    assert_eq!(found, expected);
    assert!(found.is_none_or(|(size, _)| size == taken));
}

/// A server, and a peer that sends anything: `[end, 4 sizes of pieces, peer …]`.
pub fn server_exchange(input: &[u8]) {
    let Some(([end, sizes @ ..], bytes)) = input.split_first_chunk::<5>() else { return };
    let peer = Peer::new(bytes, ENDS[usize::from(*end) % ENDS.len()]);
    let judged = |sizes: &[u8]| {
        let (mut buffer, mut pieces) = (vec![0; 65_535], Pieces::new(sizes));
        judge(&mut buffer, &peer, &mut |n| n.min(pieces.next()))
    };
    let Judged { outcome, request, taken } = judged(&[]);
    assert_eq!(judged(sizes), Judged { outcome, request, taken });
    let sent = Message::decode_prefix(bytes).and_then(|(message, _)| message.request()).ok();
    let accepted =
        sent.filter(|request| request.check_limits().is_ok()).map(|request| request.command());
    assert_eq!(request.ok(), accepted.filter(|command| command.reply_type().is_some()));
    assert!(taken <= bytes.len());
}

const FOLLOWS: &[u8] = b"Nettrace and as much as there is";

/// A client that sends a valid request, and a server that answers it:
/// `[answer, room, capacity, cut, 4 sizes of pieces, request …]`.
pub fn pair_exchange(input: &[u8]) {
    let Some(([answer, room, capacity, cut, sizes @ ..], request)) = input.split_first_chunk::<8>()
    else {
        return;
    };
    let Ok((message, rest)) = Message::decode_prefix(request) else { return };
    let Ok(sent) = message.request() else { return };
    let (Some(reply_type), Some(continuation)) = (sent.command().reply_type(), sent.continuation())
    else {
        return;
    };
    if sent.check_limits().is_err() {
        return;
    }
    let request = &request[..request.len() - rest.len()];
    let follows: &[u8] = match continuation {
        Continuation::Nettrace | Continuation::EnvironmentBlock => FOLLOWS,
        _ => b"",
    };
    let reply = match reply_type {
        ReplyType::Session => AnyReply::Session(SessionReply { session_id: 42 }),
        ReplyType::Result => AnyReply::Result(ResultReply { hresult: HResult::OK }),
        ReplyType::ProcessEnvironment => AnyReply::ProcessEnvironment(ProcessEnvironmentReply {
            n_incoming_bytes: u32::try_from(FOLLOWS.len()).unwrap(),
            future: 0,
        }),
        _ => AnyReply::OkWithoutPayload,
    };
    let is_refused = answer & 1 == 1;
    let answer = if is_refused { Answer::Error(HResult::FAIL) } else { Answer::Ok(&reply) };
    let conversation = Conversation { request, answer, follows };
    let mut course =
        Course { capacity: 24 + usize::from(*capacity), room: 24 + usize::from(*room), cut: None };
    let played = |course: &Course, sizes: &[u8]| {
        let mut pieces = Pieces::new(sizes);
        play(conversation, course, &mut |n| n.min(pieces.next())).unwrap()
    };
    let Played { outcome, reply, follows: heard, served, .. } = played(&course, sizes);
    if is_refused {
        assert_eq!(outcome, Outcome::Error { size: 24, hresult: HResult::FAIL });
        assert_eq!(served, ServerOutcome::Refused(HResult::FAIL));
        assert_eq!(heard, b"");
    } else {
        assert!(matches!(outcome, Outcome::Ok { .. }), "{outcome:?}");
        assert_eq!((served, &heard[..]), (ServerOutcome::Answered, follows));
    }
    let (side, after) = (*cut & 1, usize::from(*cut >> 1));
    let end = ENDS[after % ENDS.len()];
    if side == 1 && after > request.len() {
        // A server that holds a session does not wait for a timeout.
        return;
    }
    course.cut = Some(Cut { to_server: side == 1, after, end });
    let cut = played(&course, sizes);
    // What is heard was said, and whatever is lost is known to be lost.
    match cut.outcome {
        Outcome::Ok { .. } => {
            assert_eq!((cut.outcome, &cut.reply), (outcome, &reply));
            assert!(heard.starts_with(&cut.follows));
        }
        Outcome::Error { hresult, .. } => {
            assert!([HResult::FAIL, HResult::BAD_ENCODING].contains(&hresult));
            assert_eq!(cut.served, ServerOutcome::Refused(hresult));
        }
        Outcome::NoReply { end: how, .. } | Outcome::Cut { end: how, .. } => {
            assert!(how == end || how == End::Closed, "{cut:?}");
            assert_ne!(cut.served, ServerOutcome::Answered);
        }
        other => panic!("{other:?}"),
    }
}
