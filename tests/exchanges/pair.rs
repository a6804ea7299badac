//! A client and a server as a pair, over a connection in memory that holds few bytes, moves them in
//! pieces, and may be cut.
//!
//! In each new state of a machine every report is tried, legal or not ([`legal`]).

use std::collections::VecDeque;

use dotnet_diagnostics_ipc::exchange::{
    AfterReply, ClientAction, ClientExchange, End, Outcome, Server, ServerAction, ServerOutcome,
};
use dotnet_diagnostics_ipc::header::HEADER_LEN;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::process::Tail;
use dotnet_diagnostics_ipc::message::{AnyReply, Message};
use dotnet_diagnostics_ipc::wire::{Encode as _, WireError};

use super::drive::{Pieces, TRIED_BUFFER};
use super::legal;

/// A request, the server's answer to it, and the bytes after an OK.
#[derive(Clone, Copy)]
pub(crate) struct Conversation<'c> {
    pub(crate) request: &'c [u8],
    pub(crate) answer: Answer<'c>,
    pub(crate) follows: &'c [u8],
}

#[derive(Clone, Copy)]
pub(crate) enum Answer<'a> {
    Ok(&'a AnyReply<'a>),
    Error(HResult),
}

/// One direction of the connection ends after this many bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) to_server: bool,
    pub(crate) after: usize,
    /// How the reader sees that end. The writer cannot write more.
    pub(crate) end: End,
}

/// The connection, and the lengths of the first buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// How many bytes the connection holds each way.
    pub(crate) capacity: usize,
    /// Both sides begin with a buffer of this length.
    pub(crate) room: usize,
    pub(crate) cut: Option<Cut>,
}

/// The results of both sides.
#[derive(Debug, PartialEq)]
pub(crate) struct Played {
    pub(crate) outcome: Outcome,
    pub(crate) reply: Vec<u8>,
    /// What the client's caller read after the reply.
    pub(crate) follows: Vec<u8>,
    pub(crate) served: ServerOutcome,
    /// The steps, in the words of `spec/GUIDE.md`.
    pub(crate) steps: Vec<&'static str>,
}

/// One direction.
struct Line {
    capacity: usize,
    bytes: VecDeque<u8>,
    /// How many bytes can still be written.
    left: usize,
    end: Option<End>,
    cut_end: End,
    /// The next byte has a descriptor.
    fd: bool,
}

impl Line {
    fn new(course: &Course, to_server: bool) -> Self {
        let cut = course.cut.filter(|cut| cut.to_server == to_server);
        let mut line = Self {
            capacity: course.capacity,
            bytes: VecDeque::new(),
            left: cut.map_or(usize::MAX, |cut| cut.after),
            end: None,
            cut_end: cut.map_or(End::Closed, |cut| cut.end),
            fd: false,
        };
        line.end = (line.left == 0).then_some(line.cut_end);
        line
    }

    /// Returns how many bytes were written; `None` if no more can be.
    fn write(&mut self, bytes: &[u8], pieces: Pieces) -> Option<usize> {
        if self.end.is_some() {
            return None;
        }
        let n = pieces(bytes.len().min(self.capacity - self.bytes.len()).min(self.left));
        self.bytes.extend(&bytes[..n]);
        self.left -= n;
        self.end = (self.left == 0).then_some(self.cut_end);
        Some(n)
    }

    fn read(&mut self, into: &mut [u8], pieces: Pieces) -> usize {
        let n = pieces(into.len().min(self.bytes.len()));
        for (place, byte) in into.iter_mut().zip(self.bytes.drain(..n)) {
            *place = byte;
        }
        n
    }

    fn ended(&self) -> Option<End> {
        self.end.filter(|_| self.bytes.is_empty())
    }
}

struct Pair<'c> {
    conversation: Conversation<'c>,
    client: ClientExchange,
    ours: Vec<u8>,
    server: Server,
    theirs: Vec<u8>,
    there: Line,
    back: Line,
    put: usize,
    follows: Vec<u8>,
    steps: Vec<&'static str>,
}

/// Lets both sides act in turn until both have ended.
pub(crate) fn play(
    conversation: Conversation,
    course: &Course,
    pieces: Pieces,
) -> Result<Played, String> {
    let request = conversation.request;
    let mut ours = vec![0xaa; course.room.max(request.len())];
    let client = client_that_sends(request, &mut ours).map_err(|error| error.to_string())?;
    let mut pair = Pair {
        conversation,
        client,
        ours,
        server: Server::new(),
        theirs: vec![0x55; course.room],
        there: Line::new(course, true),
        back: Line::new(course, false),
        put: 0,
        follows: Vec::new(),
        steps: Vec::new(),
    };
    while pair.client_turn(pieces)? | pair.server_turn(pieces)? {}
    let (ClientAction::Finished(outcome), ServerAction::Finished(served)) =
        (pair.client.action(), pair.server.action())
    else {
        return Err(format!("both wait: {:?}, {:?}", pair.client, pair.server));
    };
    let size = match outcome {
        Outcome::Ok { size, .. } | Outcome::Error { size, .. } => size.into(),
        _ => 0,
    };
    pair.ours.truncate(size);
    Ok(Played { outcome, reply: pair.ours, follows: pair.follows, served, steps: pair.steps })
}

impl Pair<'_> {
    fn step(&mut self, step: &'static str) {
        if !self.steps.contains(&step) {
            self.steps.push(step);
        }
    }

    /// Returns whether something happened.
    fn client_turn(&mut self, pieces: Pieces) -> Result<bool, String> {
        if self.ours.len() <= TRIED_BUFFER {
            legal::client(&self.client, &self.ours);
        }
        let (client, ours) = (&mut self.client, &mut self.ours);
        let done = match client.action() {
            ClientAction::Send(range) => {
                let sent = self.there.write(&ours[range], pieces);
                self.step("> request");
                match sent {
                    Some(0) => return Ok(false),
                    Some(n) => self.client.sent(n),
                    None => self.client.send_failed(),
                }
            }
            ClientAction::SendFd(_) => match self.there.write(&[0], pieces) {
                Some(0) => return Ok(false),
                Some(_) => {
                    self.there.fd = true;
                    self.step("> descriptor");
                    self.client.fd_sent()
                }
                None => client.send_failed(),
            },
            ClientAction::Receive(range) => match self.back.read(&mut ours[range], pieces) {
                0 => match self.back.ended() {
                    Some(end) => client.ended(end),
                    None => return Ok(false),
                },
                n => client.received(ours, n),
            },
            ClientAction::Finished(Outcome::BufferTooSmall { size }) => {
                ours.resize(size.into(), 0);
                client.enlarged(ours)
            }
            ClientAction::Finished(outcome) => {
                let moved = !self.back.bytes.is_empty();
                self.follows.extend(self.back.bytes.drain(..));
                let then =
                    if let Outcome::Ok { then, .. } = outcome { then } else { AfterReply::Close };
                let stays =
                    matches!(then, AfterReply::Stream { .. } | AfterReply::EnvironmentBlock { .. });
                if self.there.end.is_some() || (stays && self.back.end.is_none()) {
                    return Ok(moved);
                }
                if matches!(then, AfterReply::UserEvents { .. }) {
                    self.step("> close");
                }
                self.there.end = Some(End::Closed);
                Ok(())
            }
        };
        done.map(|()| true).map_err(|illegal| format!("client: {illegal}"))
    }

    fn server_turn(&mut self, pieces: Pieces) -> Result<bool, String> {
        if self.theirs.len() <= TRIED_BUFFER {
            legal::server(&self.server, &self.theirs);
        }
        let (server, theirs) = (&mut self.server, &mut self.theirs);
        let done = match server.action() {
            ServerAction::Receive(range) => match self.there.read(&mut theirs[range], pieces) {
                0 => match self.there.ended() {
                    Some(end) => server.ended(end),
                    None => return Ok(false),
                },
                n => server.received(theirs, n),
            },
            ServerAction::Decode(range) => {
                if theirs[range] != *self.conversation.request {
                    return Err("the server got another request".to_owned());
                }
                let sent = Message::decode(self.conversation.request).unwrap().request();
                match server.request(theirs).unwrap() {
                    Some(request) if Ok(request) == sent => Ok(()),
                    other => return Err(format!("the server decodes {other:?}")),
                }
            }
            ServerAction::ReceiveFd => match self.there.bytes.pop_front() {
                Some(_) if self.there.fd => server.fd_received(),
                Some(_) => server.fd_missing(),
                None => match self.there.ended() {
                    Some(end) => server.ended(end),
                    None => return Ok(false),
                },
            },
            ServerAction::Respond => {
                let written = match self.conversation.answer {
                    Answer::Ok(reply) => {
                        let needed = HEADER_LEN + reply.encoded_len().unwrap();
                        theirs.resize(theirs.len().max(needed), 0);
                        server.respond(reply, theirs)
                    }
                    Answer::Error(hresult) => server.refuse(hresult, theirs),
                };
                return written.map(|()| true).map_err(|error| error.to_string());
            }
            ServerAction::Refuse(reason) => {
                server.refuse(reason.hresult(), theirs).unwrap();
                Ok(())
            }
            ServerAction::Send(range) => {
                let sent = self.back.write(&theirs[range], pieces);
                self.step("< reply");
                match sent {
                    Some(0) => return Ok(false),
                    Some(n) => self.server.sent(n),
                    None => self.server.send_failed(),
                }
            }
            ServerAction::Continue { left } => {
                let rest = &self.conversation.follows[self.put..];
                if rest.is_empty() && left.is_none() {
                    server.continuation_ended()
                } else {
                    let n = pieces(rest.len().min(theirs.len()));
                    theirs[..n].copy_from_slice(&rest[..n]);
                    self.put += n;
                    let done = server.piece(theirs, n);
                    self.step(if left.is_none() { "< stream" } else { "< environment block" });
                    done
                }
            }
            ServerAction::Hold => match self.there.ended() {
                Some(end) => server.ended(end),
                None => return Ok(false),
            },
            ServerAction::Close => {
                self.back.end.get_or_insert(End::Closed);
                self.there.end.get_or_insert(End::Reset);
                self.there.bytes.clear();
                let done = server.closed();
                self.step("< close");
                done
            }
            ServerAction::Finished(ServerOutcome::BufferTooSmall { size }) => {
                theirs.resize(size.into(), 0);
                server.enlarged(theirs)
            }
            ServerAction::Finished(_) => return Ok(false),
        };
        done.map(|()| true).map_err(|illegal| format!("server: {illegal}"))
    }
}

/// A client that sends the bytes of a request as they are.
pub(crate) fn client_that_sends(
    request: &[u8],
    buffer: &mut [u8],
) -> Result<ClientExchange, WireError> {
    let message = Message::decode(request)?;
    let continuation = message.request()?.continuation();
    let payload = Tail(message.payload);
    let client = ClientExchange::with_payload(message.command, continuation, &payload, buffer);
    // The reserved bytes of the header are sent too.
    buffer[..request.len()].copy_from_slice(request);
    Ok(client.expect("a message"))
}
