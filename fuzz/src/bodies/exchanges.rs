//! Any peer, in any pieces, against both sides: the outcome is the same as all at once, and no byte
//! too many is read.

use std::vec;

use super::Pieces;
use diagipc::corpus::COMMANDS;
use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::exchange::{
    CheckOrder, Client, ClientAction, End, Outcome, ParsedRequest, Server, ServerAction,
    ServerOptions, ServerOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::server::ResultReply;
use dotnet_diagnostics_ipc::message::{AnyReply, Message};

const ENDS: [End; 3] = [End::Closed, End::Reset, End::TimedOut];

/// A client, and a peer that answers anything: `[command, room, end, 4 sizes of pieces, peer …]`.
pub fn client_exchange(input: &[u8]) {
    let Some(([which, room, end, sizes @ ..], peer)) = input.split_first_chunk::<7>() else {
        return;
    };
    let case = Asking {
        asked: COMMANDS[usize::from(*which) % COMMANDS.len()],
        room: 24 + usize::from(*room),
        end: ENDS[usize::from(*end) % ENDS.len()],
        // The request is at most a few pieces long.
        fails_at: (*end >= 0x80).then_some(usize::from(*end & 0x1f)),
    };
    let (outcome, taken) = case.play(peer, &[]);
    let (again, _) = case.play(peer, sizes);
    assert_eq!(again, outcome);
    let found = match outcome {
        Outcome::Ok { size, .. } => Some((usize::from(size), None)),
        Outcome::Error { size, hresult } => Some((usize::from(size), Some(hresult))),
        _ => None,
    };
    assert_eq!(found, case.reply(peer));
    assert!(found.is_none_or(|(size, _)| size == taken));
}

struct Asking {
    asked: (Command, Continuation),
    room: usize,
    end: End,
    /// A write fails after this many bytes of the request.
    fails_at: Option<usize>,
}

impl Asking {
    /// The size of the reply at the front of `peer`, and its error, if there is a valid reply.
    fn reply(&self, peer: &[u8]) -> Option<(usize, Option<HResult>)> {
        let (message, rest) = Message::decode_prefix(peer).ok()?;
        let size = Some(peer.len() - rest.len()).filter(|size| *size <= self.room)?;
        match message.reply_to(Some(self.asked.0)).ok()? {
            AnyReply::Error(error) => Some((size, Some(error.hresult))),
            _ => Some((size, None)),
        }
    }

    fn play(&self, peer: &[u8], sizes: &[u8]) -> (Outcome, usize) {
        let ((command, continuation), mut buffer) = (self.asked, vec![0; self.room]);
        let mut client =
            Client::with_payload(command, Some(continuation), &(), &mut buffer).unwrap();
        let (mut pieces, mut sent, mut taken) = (Pieces::new(sizes), 0, 0);
        // A byte costs a step at most, and the request has 20.
        for _ in 0..peer.len() + 30 {
            assert_eq!(client.action(), client.action());
            match client.action() {
                ClientAction::Send(range) => {
                    let n = range
                        .len()
                        .min(pieces.next())
                        .min(self.fails_at.map_or(usize::MAX, |at| at - sent));
                    sent += n;
                    if n == 0 { client.send_failed().unwrap() } else { client.sent(n).unwrap() }
                }
                ClientAction::SendFd(_) => client.fd_sent().unwrap(),
                ClientAction::Receive(range) => {
                    let n = pieces.receive(range, &mut buffer, peer, &mut taken);
                    if n == 0 {
                        client.ended(self.end).unwrap();
                    } else {
                        client.received(&buffer, n).unwrap();
                    }
                }
                ClientAction::Finished(outcome) => {
                    assert!(
                        client.received(&buffer, 1).is_err()
                            && client.sent(1).is_err()
                            && client.ended(End::Closed).is_err()
                    );
                    return (outcome, taken);
                }
            }
        }
        panic!("no end after one step per byte")
    }
}

/// A server of either order of checks, and a peer that sends anything: `[end, 4 sizes of pieces,
/// peer …]`.
pub fn server_exchange(input: &[u8]) {
    let Some(([end, sizes @ ..], peer)) = input.split_first_chunk::<5>() else { return };
    let end = ENDS[usize::from(*end) % ENDS.len()];
    for order in [CheckOrder::AsShipped, CheckOrder::Strict] {
        let (outcome, asked, taken) = serve(order, peer, &[], end);
        let (again, asked_again, _) = serve(order, peer, sizes, end);
        assert_eq!((again, asked_again), (outcome, asked));
        let request = Message::decode_prefix(peer).and_then(|(message, _)| message.request()).ok();
        let expected = request
            .filter(|request| request.check_limits().is_ok())
            .map(|request| request.command());
        assert_eq!(asked, expected.filter(|command| command.reply_type().is_some()));
        assert!(taken <= peer.len());
    }
}

/// Answers valid requests, and refuses the rest.
fn serve(
    order: CheckOrder,
    peer: &[u8],
    sizes: &[u8],
    end: End,
) -> (ServerOutcome, Option<Command>, usize) {
    let mut server = Server::with_options(ServerOptions { order, ..ServerOptions::DEFAULT });
    let mut buffer = vec![0; 65_535];
    let (mut pieces, mut taken, mut asked) = (Pieces::new(sizes), 0, None);
    for _ in 0..peer.len() + 80 {
        assert_eq!(server.action(), server.action());
        match server.action() {
            ServerAction::Receive(range) => {
                let n = pieces.receive(range, &mut buffer, peer, &mut taken);
                if n == 0 {
                    server.ended(end).unwrap();
                } else {
                    server.received(&buffer, n).unwrap();
                }
            }
            ServerAction::Decode(range) => {
                assert_eq!(range, 0..taken);
                if let ParsedRequest::Request(request) = server.request(&buffer).unwrap() {
                    asked = Some(request.command());
                }
            }
            ServerAction::ReceiveFd => server.fd_received().unwrap(),
            ServerAction::Respond => {
                if server.respond(&ResultReply { hresult: HResult::OK }, &mut buffer).is_err() {
                    server.refuse(HResult::FAIL, &mut buffer).unwrap();
                }
            }
            ServerAction::Refuse(reason) => server.refuse(reason.hresult(), &mut buffer).unwrap(),
            ServerAction::Send(range) => server.sent(range.len().min(pieces.next())).unwrap(),
            ServerAction::Continue { left: Some(_) } => {
                server.break_off(HResult::FAIL, &mut buffer).unwrap();
            }
            ServerAction::Continue { left: None } | ServerAction::Hold => {
                server.continuation_ended().unwrap();
            }
            ServerAction::Close => server.closed().unwrap(),
            ServerAction::Finished(outcome) => return (outcome, asked, taken),
        }
    }
    panic!("no end after one step per byte")
}
