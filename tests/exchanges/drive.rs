//! Drives a client or a server by the bytes of a peer.
//!
//! In each new state of a machine every report is tried, legal or not ([`legal`]).

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::{
    ClientAction, ClientExchange, End, Outcome, RefusalReason, Server, ServerAction, ServerOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::server::ResultReply;

use super::legal;

pub(crate) const ENDS: [End; 3] = [End::Closed, End::Reset, End::TimedOut];

/// Reports are tried in states with at most this much buffer, because each try copies it.
pub(crate) const TRIED_BUFFER: usize = 128;

/// Decides how many of this many bytes are moved at once: at least one, unless it is given 0.
pub(crate) type Pieces<'p> = &'p mut dyn FnMut(usize) -> usize;

/// A peer's bytes, and how its connection ends after them.
pub(crate) struct Peer<'p> {
    pub(crate) bytes: &'p [u8],
    pub(crate) end: End,
    /// A write to it fails after this many bytes.
    pub(crate) fails_at: usize,
}

impl<'p> Peer<'p> {
    pub(crate) fn new(bytes: &'p [u8], end: End) -> Self {
        Self { bytes, end, fails_at: usize::MAX }
    }

    /// Copies the next piece to the front of `into`. Returns how many bytes; 0 is the end.
    fn read(&self, taken: &mut usize, into: &mut [u8], pieces: Pieces) -> usize {
        let n = pieces(into.len().min(self.bytes.len() - *taken));
        into[..n].copy_from_slice(&self.bytes[*taken..*taken + n]);
        *taken += n;
        n
    }
}

/// Drives a client to its end. Returns its outcome, and how many of the peer's bytes it took.
pub(crate) fn hear(
    client: &mut ClientExchange,
    buffer: &mut [u8],
    peer: &Peer,
    pieces: Pieces,
) -> (Outcome, usize) {
    let (mut sent, mut taken) = (0, 0);
    loop {
        if buffer.len() <= TRIED_BUFFER {
            legal::client(client, buffer);
        }
        match client.action() {
            ClientAction::Send(range) => match pieces(range.len().min(peer.fails_at - sent)) {
                0 => client.send_failed().unwrap(),
                n => {
                    sent += n;
                    client.sent(n).unwrap();
                }
            },
            ClientAction::SendFd(_) => client.fd_sent().unwrap(),
            ClientAction::Receive(range) => {
                match peer.read(&mut taken, &mut buffer[range], pieces) {
                    0 => client.ended(peer.end).unwrap(),
                    n => client.received(buffer, n).unwrap(),
                }
            }
            ClientAction::Finished(outcome) => return (outcome, taken),
        }
    }
}

/// A server's result for a peer.
#[derive(Debug, PartialEq)]
pub(crate) struct Judged {
    pub(crate) outcome: ServerOutcome,
    /// The accepted request, or the reason why it is refused.
    pub(crate) request: Result<Command, Option<RefusalReason>>,
    /// How many of the peer's bytes were taken for it.
    pub(crate) taken: usize,
}

/// Drives a server to its end: it answers valid requests, and refuses the others.
pub(crate) fn judge(buffer: &mut [u8], peer: &Peer, pieces: Pieces) -> Judged {
    let mut server = Server::new();
    let (mut request, mut taken) = (Err(None), 0);
    loop {
        if buffer.len() <= TRIED_BUFFER {
            legal::server(&server, buffer);
        }
        match server.action() {
            ServerAction::Receive(range) => {
                match peer.read(&mut taken, &mut buffer[range], pieces) {
                    0 => server.ended(peer.end).unwrap(),
                    n => server.received(buffer, n).unwrap(),
                }
            }
            ServerAction::Decode(range) => {
                assert_eq!(range, 0..taken);
                if let Some(accepted) = server.request(buffer).unwrap() {
                    request = Ok(accepted.command());
                }
            }
            ServerAction::ReceiveFd => server.fd_received().unwrap(),
            ServerAction::Respond => {
                if server.respond(&ResultReply { hresult: HResult::OK }, buffer).is_err() {
                    server.refuse(HResult::FAIL, buffer).unwrap();
                }
            }
            ServerAction::Refuse(reason) => {
                request = Err(Some(reason));
                server.refuse(reason.hresult(), buffer).unwrap();
            }
            ServerAction::Send(range) => server.sent(pieces(range.len())).unwrap(),
            ServerAction::Continue { left: Some(_) } => {
                server.break_off(HResult::FAIL, buffer).unwrap();
            }
            ServerAction::Continue { left: None } | ServerAction::Hold => {
                server.continuation_ended().unwrap();
            }
            ServerAction::Close => server.closed().unwrap(),
            ServerAction::Finished(outcome) => return Judged { outcome, request, taken },
        }
    }
}
