//! Runs a client and a server, each with a peer that sends anything. The sizes of the pieces must
//! not change the result.

use super::Pieces;
use super::drive::{ENDS, Judged, Peer, hear, judge};
use diagipc::embedded::corpus::COMMANDS;
use dotnet_diagnostics_ipc::exchange::{ClientExchange, Outcome};
use dotnet_diagnostics_ipc::message::{AnyReply, Message};

/// Runs a client with any peer: `[command, room, end, 4 sizes of pieces, peer …]`.
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
            ClientExchange::with_payload(command, Some(continuation), &(), &mut buffer).unwrap();
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

/// Runs a server with any peer: `[end, 4 sizes of pieces, peer …]`.
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
