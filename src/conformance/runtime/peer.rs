//! The connection to one client, and what is done wrong with the bytes on their way to it.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::vec::Vec;

use rustix::net::{RecvFlags, recv};

use super::misbehaviour::{MisbehaviourKind as Kind, Misbehaviours};
use crate::command::Command;
use crate::exchange::End;
use crate::header::HEADER_LEN;
use crate::io::server::ServerTransport as _;
use crate::io::{Canceller, Stopped, Transport as _, UnixTransport, Until};

/// How long to look away from bytes that are left where they are: such a connection can always be read.
const LOOK: Duration = Duration::from_millis(2);

/// What is to become of the connection once bytes were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    GoOn,
    /// It ends at once.
    End,
    /// It stays open, and nothing more is said.
    Silence,
}

pub(super) struct Peer {
    transport: UnixTransport,
    wrong: Arc<Misbehaviours>,
    stop: Canceller,
    /// How much was read without being taken, so that the close will be a reset.
    left: usize,
    /// What is held back, to go with what follows.
    held: Vec<u8>,
}

impl Peer {
    pub(super) fn new(transport: UnixTransport, wrong: Arc<Misbehaviours>, stop: Canceller) -> Self {
        Self { transport, wrong, stop, left: 0, held: Vec::new() }
    }

    fn until(&self) -> Until<'_> {
        Until { deadline: None, canceller: Some(&self.stop) }
    }

    pub(super) fn receive(&mut self, into: &mut [u8]) -> Result<usize, End> {
        if self.wrong.has(Kind::Reset) {
            return self.look(into);
        }
        let until = Until { deadline: None, canceller: Some(&self.stop) };
        match self.transport.receive(into, &until) {
            Ok(0) => Err(End::Closed),
            Ok(n) => Ok(n),
            Err(stopped) => Err(end(&stopped)),
        }
    }

    /// Receives, and leaves the bytes where they are.
    fn look(&mut self, into: &mut [u8]) -> Result<usize, End> {
        let mut all = std::vec![0; self.left.saturating_add(into.len())];
        loop {
            self.until().check().map_err(|stopped| end(&stopped))?;
            match recv(self.transport.as_fd(), &mut *all, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
                Ok((_, n)) if n > self.left => {
                    let new = all.get(self.left..n).unwrap_or_default();
                    into.iter_mut().zip(new).for_each(|(into, new)| *into = *new);
                    self.left = n;
                    return Ok(new.len());
                }
                Ok((_, 0)) => return Err(End::Closed),
                // The end is behind the bytes that are left.
                Ok(_) if self.is_half_closed() => return Err(End::Closed),
                Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => std::thread::sleep(LOOK),
                Err(_) => return Err(End::Reset),
            }
        }
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn is_half_closed(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut fds = [PollFd::new(&self.transport, PollFlags::RDHUP)];
        let polled = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        polled.is_ok_and(|n| n > 0)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn is_half_closed(&self) -> bool {
        self.has_hung_up()
    }

    /// The byte, and the descriptor that came with it.
    pub(super) fn receive_fd(&mut self) -> Result<Option<OwnedFd>, End> {
        // It is behind what was left.
        let mut left = std::vec![0; std::mem::take(&mut self.left)];
        if !left.is_empty() {
            recv(self.transport.as_fd(), &mut *left, RecvFlags::DONTWAIT).map_err(|_| End::Reset)?;
        }
        let until = Until { deadline: None, canceller: Some(&self.stop) };
        match self.transport.receive_fd(&until) {
            Ok(Some((_, fd))) => Ok(fd),
            Ok(None) => Err(End::Closed),
            Err(stopped) => Err(end(&stopped)),
        }
    }

    /// Sends a reply, as it should be or not.
    pub(super) fn reply(&mut self, command: Command, mut reply: Vec<u8>) -> Result<Next, End> {
        if let Some(late) = self.wrong.number(Kind::Late) {
            self.pause(Duration::from_millis(late.into()))?;
        }
        distort(&self.wrong, command, &mut reply);
        let is_error = reply.get(17) == Some(&Command::ERROR.id);
        if self.wrong.has(Kind::NoHeader) {
            reply.drain(..reply.len().min(HEADER_LEN));
        }
        if self.wrong.has(Kind::SecondReply) && [0x0101, 0x0102, 0x0103].contains(&command.code()) {
            reply.extend(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x05\x40\0\x80");
        }
        for (kind, next) in [(Kind::SilentAfter, Next::Silence), (Kind::Truncate, Next::End)] {
            if let Some(most) = self.wrong.bytes(kind).filter(|most| *most < reply.len()) {
                reply.truncate(most);
                self.send(&reply)?;
                return Ok(next);
            }
        }
        if self.wrong.has(Kind::OneWrite) {
            self.held = reply;
        } else {
            self.send(&reply)?;
        }
        let stays = self.wrong.has(Kind::NeverCloses) || (is_error && self.wrong.has(Kind::ErrorWithoutClose));
        let follows = !is_error && command.continuation().is_some_and(|then| then != crate::command::Continuation::Close);
        if stays && !follows {
            self.flush()?;
            return Ok(Next::Silence);
        }
        Ok(Next::GoOn)
    }

    /// Sends all of these bytes.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), End> {
        if !self.held.is_empty() {
            let together = [std::mem::take(&mut self.held).as_slice(), bytes].concat();
            return self.send(&together);
        }
        let trickle = self.wrong.number(Kind::Trickle);
        let mut rest = bytes;
        while !rest.is_empty() {
            let until = Until { deadline: None, canceller: Some(&self.stop) };
            let most = if trickle.is_some() { 1 } else { rest.len() };
            let piece = rest.get(..most).unwrap_or(rest);
            let n = self.transport.send(piece, &until).map_err(|stopped| end(&stopped))?;
            rest = rest.get(n..).unwrap_or_default();
            if let Some(every) = trickle {
                self.pause(Duration::from_millis(every.into()))?;
            }
        }
        Ok(())
    }

    /// Sends what is held back.
    pub(super) fn flush(&mut self) -> Result<(), End> {
        self.send(&[])
    }

    fn pause(&self, time: Duration) -> Result<(), End> {
        let deadline = Instant::now().checked_add(time);
        let until = Until { deadline, ..self.until() };
        while until.check().is_ok() {
            std::thread::sleep(until.left().unwrap_or(LOOK).min(Duration::from_millis(20)));
        }
        self.until().check().map_err(|stopped| end(&stopped))
    }

    /// Whether the client has gone. A half-close is no such thing (F-23).
    pub(super) fn has_hung_up(&self) -> bool {
        has_hung_up(&self.transport)
    }

    pub(super) fn into_transport(self) -> UnixTransport {
        self.transport
    }
}

/// Whether the client has gone. A half-close is no such thing (F-23).
pub(super) fn has_hung_up(transport: &UnixTransport) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(transport, PollFlags::empty())];
    let polled = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    polled.is_ok_and(|n| n > 0)
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
        if let Some(bytes) = reply.get_mut(HEADER_LEN..).and_then(|payload| payload.first_chunk_mut()) {
            let announced = u32::from_le_bytes(*bytes)
                .saturating_sub(wrong.number(Kind::EnvironmentBytesLess).unwrap_or(0))
                .saturating_add(wrong.number(Kind::EnvironmentBytesMore).unwrap_or(0));
            *bytes = announced.to_le_bytes();
        }
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

fn set_size(reply: &mut [u8], size: usize) {
    let size = u16::try_from(size).unwrap_or(u16::MAX).to_le_bytes();
    if let Some(place) = reply.get_mut(14..16) {
        place.copy_from_slice(&size);
    }
}

/// How it ended. The canceller is the runtime's own end, which a client sees as one of a process.
fn end(stopped: &Stopped) -> End {
    match stopped {
        Stopped::Io(_) => End::Reset,
        Stopped::TimedOut | Stopped::Cancelled => End::TimedOut,
    }
}
