//! The tool's side of one connection.

use std::vec;
use std::vec::Vec;

use super::line::{Line, Read, close};
use super::request::Asked;
use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, Advertise};
use dotnet_diagnostics_ipc::exchange::{
    AdvertiseAction, AdvertiseOutcome, AdvertiseReceiver, AfterReply, Client, ClientAction, End,
    Outcome, Session, SessionAction, StopOutcome, StreamBytes,
};
use dotnet_diagnostics_ipc::wire::Guid;

/// Bytes after a request, which no server may read.
const BEHIND: &[u8] = &[0xee; 3];

#[derive(Debug)]
pub(super) enum Tool {
    /// A runtime has connected to the port.
    Receives(AdvertiseReceiver, [u8; ADVERTISE_LEN]),
    Holds(Guid),
    Asks(Asking),
    Closed,
}

/// What became of a step.
pub(super) enum Step {
    /// Nothing can be done now.
    Idle,
    Moved,
    /// The advertise is complete: the connection can be held.
    Advertised(Advertise),
    /// A held connection has ended.
    Lost(Guid),
}

/// A client, and what its caller does with the connection after the reply.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) client: Client,
    pub(super) buffer: Vec<u8>,
    pub(super) has_fd: bool,
    sends_more: bool,
    /// The reply to the request, without the second one of a dump.
    pub(super) first: Option<(Outcome, Vec<u8>)>,
    pub(super) session: Option<Session>,
    /// How many bytes of an environment block are to be read.
    left: Option<usize>,
    /// What was read after the reply.
    pub(super) read: Vec<u8>,
    pub(super) read_end: Option<End>,
    /// The connection whose session this request stops.
    pub(super) stops: Option<usize>,
    limit: u64,
}

impl Asking {
    /// `how` chooses the room, whether the descriptor is there, and the limit of a stream.
    pub(super) fn new(asked: &Asked, how: u8, stops: Option<usize>) -> Self {
        let mut buffer = vec![0; (24 + 8 * usize::from(how & 15)).max(asked.wire.len())];
        buffer[..asked.wire.len()].copy_from_slice(&asked.wire);
        Self {
            client: Client::from_message(&buffer).unwrap(),
            buffer,
            has_fd: how & 16 == 0,
            sends_more: how & 32 != 0 && asked.wire.len() < 60,
            first: None,
            session: None,
            left: None,
            read: Vec::new(),
            read_end: None,
            stops,
            limit: if how & 64 == 0 { u64::MAX } else { 10 },
        }
    }

    pub(super) fn sends_more(&self) -> bool {
        self.sends_more
    }

    /// The outcome of the exchange, once no larger buffer and no second reply is wanted.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        match self.client.action() {
            ClientAction::Finished(Outcome::BufferTooSmall { .. }) => None,
            ClientAction::Finished(outcome) => Some(outcome),
            _ => None,
        }
    }

    fn step(&mut self, n: usize, there: &mut Line, back: &mut Line, room: usize) -> Moved {
        match self.client.action() {
            ClientAction::Send(range) => match there.write(&self.buffer[range], n, room) {
                Some(0) => return Moved::No,
                Some(n) => {
                    self.client.sent(n).unwrap();
                    if self.sends_more && matches!(self.client.action(), ClientAction::Receive(_)) {
                        there.write(BEHIND, usize::MAX, usize::MAX);
                    }
                }
                None => self.client.send_failed().unwrap(),
            },
            ClientAction::SendFd(_) => {
                if there.write_fd(self.has_fd) {
                    self.client.fd_sent().unwrap();
                } else {
                    self.client.send_failed().unwrap();
                }
            }
            ClientAction::Receive(range) => match back.read(range, n, &mut self.buffer) {
                Read::Bytes(n) => self.client.received(&self.buffer, n).unwrap(),
                Read::Ended(end) => self.client.ended(end).unwrap(),
                Read::Nothing => return Moved::No,
            },
            ClientAction::Finished(Outcome::BufferTooSmall { size }) => {
                self.buffer.resize(size.into(), 0);
                self.client.enlarged(&self.buffer).unwrap();
            }
            ClientAction::Finished(outcome) => return self.after(outcome, n, back),
        }
        Moved::Yes
    }

    /// After the reply.
    fn after(&mut self, outcome: Outcome, n: usize, back: &mut Line) -> Moved {
        if self.first.is_none() {
            let size = match outcome {
                Outcome::Ok { size, .. } | Outcome::Error { size, .. } => size.into(),
                _ => 0,
            };
            self.first = Some((outcome, self.buffer[..size].to_vec()));
            if let Outcome::Ok { then, .. } = outcome {
                match then {
                    AfterReply::Stream { session_id } => {
                        self.session = Some(Session::streaming(session_id, self.limit));
                    }
                    AfterReply::UserEvents { session_id } => {
                        self.session = Some(Session::user_events(session_id));
                    }
                    AfterReply::EnvironmentBlock { n_incoming_bytes } => {
                        self.left = Some(usize::try_from(n_incoming_bytes).unwrap());
                    }
                    AfterReply::AnotherReply if self.has_fd => {
                        self.client.another_reply().unwrap();
                    }
                    _ => {}
                }
            }
            return Moved::Yes;
        }
        let most = n.min(64);
        let mut piece = [0; 64];
        if let Some(session) = &mut self.session {
            match session.action() {
                SessionAction::Read | SessionAction::ReadAndAwaitStop => {
                    match back.read(0..most, most, &mut piece) {
                        Read::Bytes(n) => {
                            let StreamBytes { within, beyond } =
                                session.received(&piece[..n]).unwrap();
                            assert_eq!([within, beyond].concat(), piece[..n]);
                            self.read.extend(within);
                        }
                        Read::Ended(end) => session.ended(end).unwrap(),
                        Read::Nothing => return Moved::No,
                    }
                }
                SessionAction::Hold | SessionAction::HoldAndAwaitStop => {
                    assert!(back.is_empty(), "a session of user_events has no data");
                    let Some(end) = back.ended() else { return Moved::No };
                    session.ended(end).unwrap();
                }
                SessionAction::HangUp => {
                    session.hung_up().unwrap();
                    return Moved::Over;
                }
                SessionAction::AwaitStop => return Moved::No,
                SessionAction::Finished(outcome) => {
                    assert_ne!(outcome.stop, StopOutcome::Awaited);
                    return Moved::Over;
                }
            }
            return Moved::Yes;
        }
        if let Some(left) = self.left.filter(|left| *left > 0) {
            match back.read(0..most.min(left), most, &mut piece) {
                Read::Bytes(n) => {
                    self.read.extend(&piece[..n]);
                    self.left = Some(left - n);
                }
                Read::Ended(end) => {
                    self.read_end = Some(end);
                    return Moved::Over;
                }
                Read::Nothing => return Moved::No,
            }
            return Moved::Yes;
        }
        Moved::Over
    }
}

enum Moved {
    Yes,
    No,
    /// The caller closes the connection.
    Over,
}

impl Tool {
    /// Does what is asked for, with at most `n` bytes.
    pub(super) fn step(
        &mut self,
        n: usize,
        there: &mut Line,
        back: &mut Line,
        room: usize,
    ) -> Step {
        match self {
            Self::Receives(receiver, buffer) => match receiver.action() {
                AdvertiseAction::Receive(range) => match back.read(range, n, buffer) {
                    Read::Bytes(n) => receiver.received(buffer, n).unwrap(),
                    Read::Ended(end) => receiver.ended(end).unwrap(),
                    Read::Nothing => return Step::Idle,
                },
                AdvertiseAction::Finished(AdvertiseOutcome::Advertised(advertise)) => {
                    return Step::Advertised(advertise);
                }
                AdvertiseAction::Finished(outcome) => {
                    assert!(matches!(outcome, AdvertiseOutcome::Ended { .. }), "{outcome:?}");
                    self.close(there, back);
                }
            },
            Self::Holds(cookie) => {
                assert!(back.is_empty(), "bytes after the advertise");
                if back.ended().is_none() {
                    return Step::Idle;
                }
                let cookie = *cookie;
                self.close(there, back);
                return Step::Lost(cookie);
            }
            Self::Asks(asking) => match asking.step(n, there, back, room) {
                Moved::Yes => {}
                Moved::No => return Step::Idle,
                Moved::Over => {
                    // What was asked and heard is kept: only the connection is closed.
                    if there.is_closed_by_writer() {
                        return Step::Idle;
                    }
                    close(back, there);
                }
            },
            Self::Closed => return Step::Idle,
        }
        Step::Moved
    }

    pub(super) fn close(&mut self, there: &mut Line, back: &mut Line) {
        *self = Self::Closed;
        close(back, there);
    }
}
