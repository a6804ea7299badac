//! A message as the request or reply that it is.

use super::frame::Answer;
use super::server::ErrorReply;
use super::{AnyReply, AnyRequest, Message, Request};
use crate::command::Command;
use crate::wire::DecodeError;

/// A reply to a request: the command's own payload, the generic OK, or an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a, T> {
    /// `0xFF00` with the command's payload.
    Ok(T),
    /// `0xFF00` without payload: the generic OK of the document, 20 bytes. Current runtimes never send it (F-2).
    OkWithoutPayload,
    /// `0xFFFF`.
    Error(ErrorReply<'a>),
}

impl<'a> Message<'a> {
    /// Reads the message as the request `R`. Bytes behind the last field are ignored, as runtimes do (F-4).
    ///
    /// # Errors
    /// [`UnexpectedCommand`](crate::wire::DecodeErrorKind::UnexpectedCommand) if the header names another, and those of the payload.
    pub fn request_as<R: Request<'a>>(&self) -> Result<R, DecodeError> {
        self.expect(R::COMMAND)?;
        self.rooted(R::COMMAND)
    }

    /// Reads the message as a request, whichever it is.
    ///
    /// # Errors
    /// Those of the payload of a known command.
    pub fn request(&self) -> Result<AnyRequest<'a>, DecodeError> {
        AnyRequest::from_message(self)
    }

    /// Reads the message as the reply to the request `R`. Bytes behind the last field are ignored.
    ///
    /// # Errors
    /// [`NotAReply`](crate::wire::DecodeErrorKind::NotAReply), and those of the payload.
    pub fn reply_as<R: Request<'a>>(&self) -> Result<Reply<'a, R::Reply>, DecodeError> {
        match self.answer()? {
            Answer::Error => ErrorReply::from_message(self, Some(R::COMMAND)).map(Reply::Error),
            Answer::Ok if self.payload.is_empty() => Ok(Reply::OkWithoutPayload),
            Answer::Ok => self.rooted(R::COMMAND).map(Reply::Ok),
        }
    }

    /// Reads the message as the reply to `command`; without it, only errors and the generic OK can be told.
    ///
    /// # Errors
    /// [`NotAReply`](crate::wire::DecodeErrorKind::NotAReply), and those of the payload.
    pub fn reply_to(&self, command: Option<Command>) -> Result<AnyReply<'a>, DecodeError> {
        AnyReply::from_message(self, command)
    }
}
