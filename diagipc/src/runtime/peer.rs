//! The connection to a client, and the faults in the bytes sent to it.

use std::io;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::command::{Command, Continuation};
#[cfg(unix)]
use dotnet_diagnostics_ipc::continuation::FdByte;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, RawHeader};
use dotnet_diagnostics_ipc::io::{ErrorKind, Transport, WaitLimit};
use dotnet_diagnostics_ipc::message::Message;
#[cfg(unix)]
use dotnet_diagnostics_ipc::message::{self, eventpipe::SessionReply};

use super::answers::Answers;
use super::misbehaviour::{MisbehaviourKind as Kind, Misbehaviours};
use super::system::{self, Kept, Link};

/// The polling interval in a pause without a deadline.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// An Error with `E_FAIL`.
const FAIL: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x05\x40\0\x80";

/// The commands without payload.
const TAKE_NONE: [Command; 4] = [
    Command::PROCESS_INFO,
    Command::PROCESS_INFO2,
    Command::PROCESS_INFO3,
    Command::PROCESS_ENVIRONMENT,
];

pub(super) struct ClientConnection {
    transport: Link,
    answers: Arc<Answers>,
    request: Vec<u8>,
    /// The number of bytes of the request left unread, so that closing resets the connection.
    left: usize,
    /// The command, if it is known and the request is complete.
    command: Command,
    /// Bytes that are held back, to be sent with the following ones.
    held: Vec<u8>,
    has_replied: bool,
    /// Whether the OK was sent before it was due.
    has_begun: bool,
    /// The number of bytes of the continuation to send before it is interrupted.
    room: Option<usize>,
    is_block_begun: bool,
}

impl ClientConnection {
    pub(super) fn new(transport: Link, answers: Answers) -> Self {
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

    fn reply(&mut self, mut reply: Vec<u8>, until: &WaitLimit<'_>) -> Result<(), ErrorKind> {
        let is_error = |reply: &[u8]| reply.get(17) == Some(&Command::ERROR.id);
        if self.wrong().has(Kind::StopUnanswered)
            && self.command == Command::STOP_TRACING
            && !is_error(&reply)
        {
            return Err(ended());
        }
        if let Some(late) = self.wrong().number(Kind::Late) {
            pause(Duration::from_millis(late.into()), until)?;
        }
        self.room = if self.command == Command::PROCESS_ENVIRONMENT {
            let announced =
                reply.get(HEADER_LEN..).and_then(|payload| payload.first_chunk()).copied();
            let announced = announced.map_or(0, u32::from_le_bytes) as usize;
            let room = self
                .wrong()
                .bytes(Kind::EnvironmentCut)
                .or_else(|| self.wrong().bytes(Kind::WireError));
            room.map(|room| room.min(announced))
        } else {
            self.wrong().bytes(Kind::StreamCut)
        };
        distort(self.wrong(), self.command, &mut reply);
        let is_error = is_error(&reply);
        if self.wrong().has(Kind::NoHeader) {
            reply.drain(..reply.len().min(HEADER_LEN));
        }
        if self.wrong().has(Kind::SecondReply)
            && [0x0101, 0x0102, 0x0103].contains(&self.command.code())
        {
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
        let stays_open = self.wrong().has(Kind::NeverCloses)
            || (is_error && self.wrong().has(Kind::ErrorWithoutClose));
        let follows = !is_error
            && self.command.continuation().is_some_and(|then| then != Continuation::Close);
        if stays_open && !follows {
            self.answers.stay_open(true);
        }
        Ok(())
    }

    /// Sends a piece of the continuation, with or without a fault.
    fn continuation(&mut self, bytes: &[u8], until: &WaitLimit<'_>) -> Result<(), ErrorKind> {
        let is_block = self.command == Command::PROCESS_ENVIRONMENT;
        let mut bytes = bytes.to_vec();
        if is_block && !std::mem::replace(&mut self.is_block_begun, true) {
            change_number(
                &mut bytes,
                self.wrong(),
                Kind::EnvironmentCountLess,
                Kind::EnvironmentCountMore,
            );
        }
        let Some(room) = self.room else { return self.send_all(&bytes, until) };
        self.room = Some(room.saturating_sub(bytes.len()));
        // Nobody waits at the end of an environment block, but a stream continues.
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

    /// Sends the held bytes, and then these.
    fn send_all(&mut self, bytes: &[u8], until: &WaitLimit<'_>) -> Result<(), ErrorKind> {
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

impl Transport for ClientConnection {
    fn send(&mut self, bytes: &[u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
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

    fn receive(&mut self, into: &mut [u8], until: &WaitLimit<'_>) -> Result<usize, ErrorKind> {
        let application = Arc::clone(&self.answers.application);
        // This is the rest of a header, or of a payload (P-39).
        let is_rest = ![0, HEADER_LEN].contains(&self.request.len()) && !self.has_replied;
        if is_rest && application.profile.refuses_pieces() {
            return Ok(0);
        }
        let n = if self.wrong().has(Kind::Reset) {
            system::look(&mut self.transport, &mut self.left, into, until)?
        } else {
            self.transport.receive(into, until)?
        };
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
        if self.wrong().has(Kind::EchoPayload)
            && TAKE_NONE.contains(&command)
            && !payload.is_empty()
        {
            let mut echo = [payload, &[0; HEADER_LEN]].concat();
            if command == Command::PROCESS_ENVIRONMENT {
                echo.extend(block(&application.state().environment));
            }
            self.send_all(&echo, until)?;
            return Err(ended());
        }
        Ok(n)
    }

    #[cfg(unix)]
    fn receive_fd(
        &mut self,
        until: &WaitLimit<'_>,
    ) -> Result<Option<(FdByte, Option<OwnedFd>)>, ErrorKind> {
        if self.wrong().has(Kind::ReplyBeforeDescriptor) && !self.has_replied {
            let reply = SessionReply { session_id: self.answers.begin_early() };
            let reply = message::encode_to_vec(Command::OK, &reply).unwrap_or_default();
            // Waiting for the descriptor notices a disconnected client.
            let _ = self.reply(reply, until);
            (self.has_replied, self.has_begun) = (true, true);
        }
        // The descriptor follows the unread bytes.
        system::take(&self.transport, std::mem::take(&mut self.left))?;
        self.transport.receive_fd(until)
    }

    fn hung_up(&mut self, until: &WaitLimit<'_>) -> Result<(), ErrorKind> {
        self.transport.hung_up(until)
    }
}

/// Closes the connection, or leaves it open (F-5, F-74), when the server has nothing more to send.
impl Drop for ClientConnection {
    fn drop(&mut self) {
        let application = Arc::clone(&self.answers.application);
        // This sends the held bytes. The client may have disconnected.
        let _ =
            self.send_all(&[], &WaitLimit { deadline: None, canceller: Some(&application.stop) });
        if self.answers.stays_open() {
            if let Some(connection) = Kept::new(&self.transport) {
                application.leave_open(connection);
            }
        }
    }
}

/// Returns the error that ends the exchange as if the client had disconnected.
fn ended() -> ErrorKind {
    ErrorKind::Io(io::ErrorKind::ConnectionAborted.into())
}

fn pause(time: Duration, until: &WaitLimit<'_>) -> Result<(), ErrorKind> {
    let waits = WaitLimit { deadline: Instant::now().checked_add(time), ..*until };
    while waits.check().is_ok() {
        std::thread::sleep(waits.left().unwrap_or(POLL_INTERVAL).min(Duration::from_millis(20)));
    }
    until.check()
}

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
    let mut set =
        |at: usize, byte: u8| reply.get_mut(at).into_iter().for_each(|place| *place = byte);
    if wrong.has(Kind::Magic) {
        set(12, b'2');
    }
    for (kind, at) in [(Kind::CommandSet, 16), (Kind::CommandId, 17)] {
        if let Some(byte) = wrong.number(kind) {
            set(at, u8::try_from(byte).unwrap_or(u8::MAX));
        }
    }
}

/// Encodes the environment block with these entries.
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

/// Changes the number at the start of `bytes`.
fn change_number(bytes: &mut [u8], wrong: &Misbehaviours, less: Kind, more: Kind) {
    if let Some(bytes) = bytes.first_chunk_mut() {
        let number = u32::from_le_bytes(*bytes)
            .saturating_sub(wrong.number(less).unwrap_or(0))
            .saturating_add(wrong.number(more).unwrap_or(0));
        *bytes = number.to_le_bytes();
    }
}

fn set_size(reply: &mut [u8], size: usize) {
    let size = Some(u16::try_from(size).unwrap_or(u16::MAX));
    RawHeader { size, ..RawHeader::default() }.write(reply);
}
