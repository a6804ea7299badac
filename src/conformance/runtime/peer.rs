//! The connection to one client, and what is done wrong with the bytes on their way to it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::string::String;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::vec::Vec;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, recv};

use super::answers::Answers;
use super::misbehaviour::{MisbehaviourKind as Kind, Misbehaviours};
use crate::command::{Command, Continuation};
use crate::continuation::FdByte;
use crate::header::HEADER_LEN;
use crate::io::server::ServerTransport;
use crate::io::{Stopped, Transport, UnixTransport, Until};
use crate::message::eventpipe::SessionReply;
use crate::message::{self, Message};

/// How long to look away from bytes that are left where they are: such a connection can always be read.
const LOOK: Duration = Duration::from_millis(2);

/// An Error with `E_FAIL`.
const FAIL: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x05\x40\0\x80";

/// The commands without payload.
const TAKE_NONE: [Command; 4] =
    [Command::PROCESS_INFO, Command::PROCESS_INFO2, Command::PROCESS_INFO3, Command::PROCESS_ENVIRONMENT];

pub(super) struct Peer {
    transport: UnixTransport,
    answers: Arc<Answers>,
    /// What was received.
    request: Vec<u8>,
    /// How much of it was read without being taken, so that the close will be a reset.
    left: usize,
    /// Of a request that the runtime knows, once all of it is there.
    command: Command,
    /// What is held back, to go with what follows.
    held: Vec<u8>,
    has_replied: bool,
    /// The OK was given before it was asked for.
    has_begun: bool,
    /// How many bytes of what follows the reply are still sent before it breaks off.
    room: Option<usize>,
    is_block_begun: bool,
}

impl Peer {
    pub(super) fn new(transport: UnixTransport, answers: Answers) -> Self {
        Self {
            transport,
            answers: Arc::new(answers),
            request: Vec::new(),
            left: 0,
            command: Command::OK,
            held: Vec::new(),
            has_replied: false,
            has_begun: false,
            room: None,
            is_block_begun: false,
        }
    }

    pub(super) fn answers(&self) -> Arc<Answers> {
        Arc::clone(&self.answers)
    }

    fn wrong(&self) -> &Misbehaviours {
        &self.answers.application.wrong
    }

    /// Receives, and leaves the bytes where they are.
    fn look(&mut self, into: &mut [u8], until: &Until<'_>) -> Result<usize, Stopped> {
        let mut all = std::vec![0; self.left.saturating_add(into.len())];
        loop {
            until.check()?;
            match recv(self.transport.as_fd(), &mut *all, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
                Ok((_, n)) if n > self.left => {
                    let new = all.get(self.left..n).unwrap_or_default();
                    into.iter_mut().zip(new).for_each(|(into, new)| *into = *new);
                    self.left = n;
                    return Ok(new.len());
                }
                Ok((_, 0)) => return Ok(0),
                // The end is behind the bytes that are left.
                Ok(_) if self.is_half_closed() => return Ok(0),
                Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => std::thread::sleep(LOOK),
                Err(errno) => return Err(Stopped::Io(errno.into())),
            }
        }
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn is_half_closed(&self) -> bool {
        has_ended(&self.transport, PollFlags::RDHUP)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn is_half_closed(&self) -> bool {
        has_hung_up(&self.transport)
    }

    /// Sends a reply, as it should be or not.
    fn reply(&mut self, mut reply: Vec<u8>, until: &Until<'_>) -> Result<(), Stopped> {
        let is_error = |reply: &[u8]| reply.get(17) == Some(&Command::ERROR.id);
        if self.wrong().has(Kind::StopUnanswered) && self.command == Command::STOP_TRACING && !is_error(&reply) {
            return Err(ended());
        }
        if let Some(late) = self.wrong().number(Kind::Late) {
            pause(Duration::from_millis(late.into()), until)?;
        }
        self.room = if self.command == Command::PROCESS_ENVIRONMENT {
            let announced = reply.get(HEADER_LEN..).and_then(|payload| payload.first_chunk()).copied();
            let announced = announced.map_or(0, u32::from_le_bytes) as usize;
            let room = self.wrong().bytes(Kind::EnvironmentCut).or_else(|| self.wrong().bytes(Kind::EnvironmentError));
            room.map(|room| room.min(announced))
        } else {
            self.wrong().bytes(Kind::StreamCut)
        };
        distort(self.wrong(), self.command, &mut reply);
        let is_error = is_error(&reply);
        if self.wrong().has(Kind::NoHeader) {
            reply.drain(..reply.len().min(HEADER_LEN));
        }
        if self.wrong().has(Kind::SecondReply) && [0x0101, 0x0102, 0x0103].contains(&self.command.code()) {
            reply.extend(FAIL);
        }
        for (kind, stays_open) in [(Kind::SilentAfter, true), (Kind::Truncate, false)] {
            if let Some(most) = self.wrong().bytes(kind).filter(|most| *most < reply.len()) {
                reply.truncate(most);
                self.send_all(&reply, until)?;
                self.answers.stay_open(stays_open);
                return Err(ended());
            }
        }
        if self.wrong().has(Kind::OneWrite) {
            self.held = reply;
        } else {
            self.send_all(&reply, until)?;
        }
        let stays_open = self.wrong().has(Kind::NeverCloses) || (is_error && self.wrong().has(Kind::ErrorWithoutClose));
        let follows = !is_error && self.command.continuation().is_some_and(|then| then != Continuation::Close);
        if stays_open && !follows {
            self.answers.stay_open(true);
        }
        Ok(())
    }

    /// Sends a piece of what follows the reply, as it should be or not.
    fn continuation(&mut self, bytes: &[u8], until: &Until<'_>) -> Result<(), Stopped> {
        let is_block = self.command == Command::PROCESS_ENVIRONMENT;
        let mut bytes = bytes.to_vec();
        if is_block && !std::mem::replace(&mut self.is_block_begun, true) {
            change_number(&mut bytes, self.wrong(), Kind::EnvironmentCountLess, Kind::EnvironmentCountMore);
        }
        let Some(room) = self.room else { return self.send_all(&bytes, until) };
        self.room = Some(room.saturating_sub(bytes.len()));
        // Nobody waits at the end of a block, but a stream goes on.
        if bytes.len() < room || (bytes.len() == room && !is_block) {
            return self.send_all(&bytes, until);
        }
        bytes.truncate(room);
        if is_block && !self.wrong().has(Kind::EnvironmentCut) {
            bytes.extend(FAIL);
        }
        self.send_all(&bytes, until)?;
        Err(ended())
    }

    /// Sends what is held back, and all of these bytes.
    fn send_all(&mut self, bytes: &[u8], until: &Until<'_>) -> Result<(), Stopped> {
        if !self.held.is_empty() {
            let together = [std::mem::take(&mut self.held).as_slice(), bytes].concat();
            return self.send_all(&together, until);
        }
        let trickle = self.wrong().number(Kind::Trickle);
        let mut rest = bytes;
        while !rest.is_empty() {
            let most = if trickle.is_some() { 1 } else { rest.len() };
            let n = self.transport.send(rest.get(..most).unwrap_or(rest), until)?;
            rest = rest.get(n..).unwrap_or_default();
            if let Some(every) = trickle {
                pause(Duration::from_millis(every.into()), until)?;
            }
        }
        Ok(())
    }
}

impl Transport for Peer {
    fn send(&mut self, bytes: &[u8], until: &Until<'_>) -> Result<usize, Stopped> {
        let is_ok = bytes.get(17) == Some(&Command::OK.id);
        if std::mem::take(&mut self.has_begun) {
            if !is_ok {
                self.send_all(bytes, until)?;
            }
            return Ok(bytes.len());
        }
        if std::mem::replace(&mut self.has_replied, true) {
            self.continuation(bytes, until)?;
        } else {
            self.reply(bytes.to_vec(), until)?;
        }
        Ok(bytes.len())
    }

    fn receive(&mut self, into: &mut [u8], until: &Until<'_>) -> Result<usize, Stopped> {
        let application = Arc::clone(&self.answers.application);
        // The rest of a header, or of a payload (P-39).
        let is_rest = ![0, HEADER_LEN].contains(&self.request.len()) && !self.has_replied;
        if is_rest && application.profile.refuses_pieces() {
            return Ok(0);
        }
        let n = if self.wrong().has(Kind::Reset) { self.look(into, until)? } else { self.transport.receive(into, until)? };
        self.request.extend(into.get(..n).unwrap_or_default());
        let Ok(message) = Message::decode(&self.request) else { return Ok(n) };
        let Message { command, payload, .. } = message;
        self.answers.look(&message);
        if !application.profile.knows(command) {
            return Ok(n);
        }
        self.command = command;
        if self.wrong().has(Kind::NeverAnswers) {
            self.answers.stay_open(true);
            return Err(ended());
        }
        if self.wrong().has(Kind::EchoPayload) && TAKE_NONE.contains(&command) && !payload.is_empty() {
            let mut echo = [payload, &[0; HEADER_LEN]].concat();
            if command == Command::PROCESS_ENVIRONMENT {
                echo.extend(block(&application.state().environment));
            }
            self.send_all(&echo, until)?;
            return Err(ended());
        }
        Ok(n)
    }
}

impl ServerTransport for Peer {
    fn receive_fd(&mut self, until: &Until<'_>) -> Result<Option<(FdByte, Option<OwnedFd>)>, Stopped> {
        if self.wrong().has(Kind::ReplyBeforeDescriptor) && !self.has_replied {
            let reply = SessionReply { session_id: self.answers.begin_early() };
            let reply = message::encode_to_vec(Command::OK, &reply).unwrap_or_default();
            // A client that has gone is noticed at the descriptor.
            let _ = self.reply(reply, until);
            (self.has_replied, self.has_begun) = (true, true);
        }
        // It is behind what was left.
        let mut left = std::vec![0; std::mem::take(&mut self.left)];
        if !left.is_empty() {
            recv(self.transport.as_fd(), &mut *left, RecvFlags::DONTWAIT).map_err(|errno| Stopped::Io(errno.into()))?;
        }
        self.transport.receive_fd(until)
    }

    fn hung_up(&mut self, until: &Until<'_>) -> Result<(), Stopped> {
        self.transport.hung_up(until)
    }
}

/// The server has nothing more to say: the connection is closed, or stays open (F-5, F-74).
impl Drop for Peer {
    fn drop(&mut self) {
        let application = Arc::clone(&self.answers.application);
        // What was held back to go with more. The client may have gone.
        let _ = self.send_all(&[], &Until { deadline: None, canceller: Some(&application.stop) });
        if self.answers.stays_open() {
            // Where there is no descriptor left it is closed.
            let _ = self.transport.as_fd().try_clone_to_owned().map(|fd| application.leave_open(fd));
        }
    }
}

/// Whether the client has gone. A half-close is no such thing (F-23).
pub(super) fn has_hung_up(fd: &impl AsFd) -> bool {
    has_ended(fd, PollFlags::empty())
}

fn has_ended(fd: &impl AsFd, how: PollFlags) -> bool {
    let polled = poll(&mut [PollFd::new(fd, how)], Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    polled.is_ok_and(|n| n > 0)
}

/// The exchange is over, as if the client had gone.
fn ended() -> Stopped {
    Stopped::Io(io::ErrorKind::ConnectionAborted.into())
}

fn pause(time: Duration, until: &Until<'_>) -> Result<(), Stopped> {
    let waits = Until { deadline: Instant::now().checked_add(time), ..*until };
    while waits.check().is_ok() {
        std::thread::sleep(waits.left().unwrap_or(LOOK).min(Duration::from_millis(20)));
    }
    until.check()
}

/// Changes the bytes of a reply.
fn distort(wrong: &Misbehaviours, command: Command, reply: &mut Vec<u8>) {
    let is_error = reply.get(17) == Some(&Command::ERROR.id);
    let resized = wrong.bytes(if is_error { Kind::ErrorSize } else { Kind::OkSize });
    if let Some(size) = resized.map(|size| size.clamp(HEADER_LEN, 32)) {
        reply.resize(size, 0);
        set_size(reply, size);
    }
    if command == Command::PROCESS_ENVIRONMENT && !is_error {
        let payload = reply.get_mut(HEADER_LEN..).unwrap_or_default();
        change_number(payload, wrong, Kind::EnvironmentBytesLess, Kind::EnvironmentBytesMore);
    }
    if let Some(more) = wrong.bytes(Kind::SizeMore) {
        let size = reply.len().saturating_add(more);
        set_size(reply, size);
    }
    if let Some(size) = wrong.bytes(Kind::Size) {
        set_size(reply, size);
    }
    let mut set = |at: usize, byte: u8| reply.get_mut(at).into_iter().for_each(|place| *place = byte);
    if wrong.has(Kind::Magic) {
        set(12, b'2');
    }
    for (kind, at) in [(Kind::CommandSet, 16), (Kind::CommandId, 17)] {
        if let Some(byte) = wrong.number(kind) {
            set(at, u8::try_from(byte).unwrap_or(u8::MAX));
        }
    }
}

/// The environment block with these entries.
fn block(entries: &[String]) -> Vec<u8> {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    let mut block = count(entries.len()).to_vec();
    for entry in entries {
        let units: Vec<u16> = entry.encode_utf16().chain([0]).collect();
        block.extend(count(units.len()));
        block.extend(units.into_iter().flat_map(u16::to_le_bytes));
    }
    block
}

/// Changes the number at the front of `bytes`.
fn change_number(bytes: &mut [u8], wrong: &Misbehaviours, less: Kind, more: Kind) {
    if let Some(bytes) = bytes.first_chunk_mut() {
        let number = u32::from_le_bytes(*bytes)
            .saturating_sub(wrong.number(less).unwrap_or(0))
            .saturating_add(wrong.number(more).unwrap_or(0));
        *bytes = number.to_le_bytes();
    }
}

fn set_size(reply: &mut [u8], size: usize) {
    let size = u16::try_from(size).unwrap_or(u16::MAX).to_le_bytes();
    if let Some(place) = reply.get_mut(14..16) {
        place.copy_from_slice(&size);
    }
}
