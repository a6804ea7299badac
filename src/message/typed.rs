//! Reads a message as a typed request or reply.

use super::frame::not_a_reply;
use super::server::ErrorReply;
use super::{AnyReply, AnyRequest, Message, Request};
use crate::command::Command;
use crate::wire::{Decode as _, DecodeError};

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
        let mut reader = self.reader();
        let is_ok = self.command.code() == Command::OK.code();
        let reply = if is_ok && self.payload.is_empty() {
            Some(Reply::OkWithoutPayload)
        } else if is_ok {
            R::Reply::read(&mut reader).map(Reply::Ok)
        } else if self.command.code() == Command::ERROR.code() {
            ErrorReply::read(&mut reader, Some(R::COMMAND)).map(Reply::Error)
        } else {
            not_a_reply(&mut reader, self.command);
            None
        };
        Self::judged(R::COMMAND, reply, &mut reader)
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
