//! Reads a message as a typed request or reply.

use super::frame::{fault_of, fault_of_reply};
use super::server::ErrorReply;
use super::{AnyReply, AnyRequest, Message, Request};
use crate::command::Command;
use crate::hresult::HResult;
use crate::wire::{Decode as _, DecodeError, Reader, Scan, Separate};

/// A reply to a request: the command's own payload, the generic OK, or an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a, T> {
    /// `0xFF00` with the command's payload.
    Ok(T),
    /// `0xFF00` without payload: the generic OK of the document, 20 bytes. Current runtimes never
    /// send it (F-2).
    OkWithoutPayload,
    /// `0xFFFF`.
    Error(ErrorReply<'a>),
}

impl<'a> Message<'a> {
    /// Reads the message as the request `R`. Bytes after the last field are ignored, as in runtimes
    /// (F-4).
    ///
    /// # Errors
    /// [`UnexpectedCommand`](crate::wire::DecodeErrorKind::UnexpectedCommand) if the header has
    /// another command, and those of the payload.
    #[inline]
    pub fn request_as<R: Request<'a>>(&self) -> Result<R, DecodeError> {
        if R::IS_PLAIN {
            let is_it = self.command.code() == R::COMMAND.code();
            let request = if is_it { R::read(&mut Scan::new(self.payload)) } else { None };
            return match request {
                Some(request) => Ok(request),
                None => Err(not_request::<R>(self.command, self.payload).value),
            };
        }
        self.request_of(R::COMMAND, R::read)
    }

    /// Reads the message as a request of any command.
    ///
    /// # Errors
    /// Those of the payload of a known command.
    pub fn request(&self) -> Result<AnyRequest<'a>, DecodeError> {
        AnyRequest::from_message(self)
    }

    /// Reads the message as the reply to the request `R`. Bytes after the last field are ignored.
    ///
    /// # Errors
    /// [`NotAReply`](crate::wire::DecodeErrorKind::NotAReply), and those of the payload.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "without inlining it takes 28 more instructions: the result is in memory"
    )]
    pub fn reply_as<R: Request<'a>>(&self) -> Result<Reply<'a, R::Reply>, DecodeError> {
        if R::Reply::IS_PLAIN && !ErrorReply::has_message(Some(R::COMMAND)) {
            let mut scan = Scan::new(self.payload);
            let reply = self.reply_of(&mut scan, R::Reply::read, |scan| {
                HResult::read(scan).map(ErrorReply::new)
            });
            return match reply {
                Some(reply) => Ok(reply),
                None => Err(not_reply::<R>(self.command, self.payload).value),
            };
        }
        let mut reader = self.reader();
        match self.reply_by::<R>(&mut reader) {
            Some(reply) => Ok(reply),
            None => Err(fault_of_reply(self.command, R::COMMAND, &mut reader).value),
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as `reply_as`")]
    fn reply_by<R: Request<'a>>(&self, reader: &mut Reader<'a>) -> Option<Reply<'a, R::Reply>> {
        self.reply_of(reader, R::Reply::read, |reader| ErrorReply::read(reader, Some(R::COMMAND)))
    }

    /// The reply from a source of its payload; nothing if the header has a command.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as `reply_as`")]
    fn reply_of<S, T>(
        &self,
        source: &mut S,
        ok: impl FnOnce(&mut S) -> Option<T>,
        error: impl FnOnce(&mut S) -> Option<ErrorReply<'a>>,
    ) -> Option<Reply<'a, T>> {
        let is_ok = self.command.code() == Command::OK.code();
        if is_ok && self.payload.is_empty() {
            Some(Reply::OkWithoutPayload)
        } else if is_ok {
            ok(source).map(Reply::Ok)
        } else if self.command.code() == Command::ERROR.code() {
            error(source).map(Reply::Error)
        } else {
            None
        }
    }

    /// Reads the message as the reply to `command`; without it, only errors and the generic OK can
    /// be distinguished.
    ///
    /// # Errors
    /// [`NotAReply`](crate::wire::DecodeErrorKind::NotAReply), and those of the payload.
    pub fn reply_to(&self, command: Option<Command>) -> Result<AnyReply<'a>, DecodeError> {
        AnyReply::from_message(self, command)
    }
}

/// Why the message is not the request `R`. Given in parts: the message stays in registers.
#[cold]
#[inline(never)]
fn not_request<'a, R: Request<'a>>(command: Command, payload: &'a [u8]) -> Separate<DecodeError> {
    let mut reader = Message { command, reserved: 0, payload }.reader();
    let _ = R::read(&mut reader);
    fault_of(command, R::COMMAND, &mut reader)
}

/// Why the message is no reply to `R`.
#[cold]
#[inline(never)]
fn not_reply<'a, R: Request<'a>>(command: Command, payload: &'a [u8]) -> Separate<DecodeError> {
    let message = Message { command, reserved: 0, payload };
    let mut reader = message.reader();
    let _ = message.reply_by::<R>(&mut reader);
    fault_of_reply(command, R::COMMAND, &mut reader)
}
