//! Reads a message as a typed request or reply.

use super::frame::{not_a_reply, not_that};
use super::server::ErrorReply;
use super::{AnyReply, AnyRequest, Message, Request};
use crate::command::Command;
use crate::wire::{Decode as _, WireError};

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
    /// [`UnexpectedCommand`](crate::wire::WireErrorKind::UnexpectedCommand) if the header has
    /// another command, and those of the payload.
    #[inline]
    pub fn request_as<R: Request<'a>>(&self) -> Result<R, WireError> {
        self.read(R::COMMAND, |cursor| {
            if self.command.code() == R::COMMAND.code() {
                R::read(cursor)
            } else {
                Err(cursor.fail_with(not_that(self.command, R::COMMAND)))
            }
        })
    }

    /// Reads the message as a request of any command.
    ///
    /// # Errors
    /// Those of the payload of a known command.
    pub fn request(&self) -> Result<AnyRequest<'a>, WireError> {
        AnyRequest::from_message(self)
    }

    /// Reads the message as the reply to the request `R`. Bytes after the last field are ignored.
    ///
    /// # Errors
    /// [`NotAReply`](crate::wire::WireErrorKind::NotAReply), and those of the payload.
    #[inline]
    pub fn reply_as<R: Request<'a>>(&self) -> Result<Reply<'a, R::Reply>, WireError> {
        // The code as one number.
        let code = self.command.code();
        self.read(R::COMMAND, |cursor| {
            if code == Command::OK.code() && self.payload.is_empty() {
                Ok(Reply::OkWithoutPayload)
            } else if code == Command::OK.code() {
                R::Reply::read(cursor).map(Reply::Ok)
            } else if code == Command::ERROR.code() {
                ErrorReply::read(cursor, Some(R::COMMAND)).map(Reply::Error)
            } else {
                Err(cursor.fail_with(not_a_reply(self.command)))
            }
        })
    }

    /// Reads the message as the reply to `command`; without it, only errors and the generic OK can
    /// be distinguished.
    ///
    /// # Errors
    /// [`NotAReply`](crate::wire::WireErrorKind::NotAReply), and those of the payload.
    pub fn reply_to(&self, command: Option<Command>) -> Result<AnyReply<'a>, WireError> {
        AnyReply::from_message(self, command)
    }
}
