//! The payload of an OK reply, as far as it determines how the connection continues.

use core::fmt;

use super::Message;
use super::eventpipe::SessionReply;
use super::frame::not_a_reply;
use super::process::{
    ProcessEnvironmentReply, ProcessInfo2Reply, ProcessInfo3Reply, ProcessInfoReply,
};
use super::server::{ErrorReply, ResultReply};
use crate::command::{Command, ReplyType};
use crate::hresult::HResult;
use crate::wire::{Decode, DecodeError, Reader};

/// Decodes the payload of an OK reply to one command. A function pointer, so that a program with
/// one command links one decoder.
#[derive(Clone, Copy)]
pub(crate) struct OkPayload(for<'a> fn(&mut Reader<'a>) -> Option<Announced>);

/// What a reply announces.
#[derive(Clone, Copy)]
pub(crate) enum Announced {
    Nothing,
    Session { session_id: u64 },
    EnvironmentBlock { n_incoming_bytes: u32 },
    Error { hresult: HResult },
}

impl OkPayload {
    pub(crate) const fn of(command: Command) -> Self {
        Self(match command.reply_type() {
            Some(ReplyType::Result) => |reader| ignored(ResultReply::read(reader)),
            Some(ReplyType::Session) => |reader| {
                SessionReply::read(reader)
                    .map(|SessionReply { session_id }| Announced::Session { session_id })
            },
            Some(ReplyType::ProcessInfo) => |reader| ignored(ProcessInfoReply::read(reader)),
            Some(ReplyType::ProcessInfo2) => |reader| ignored(ProcessInfo2Reply::read(reader)),
            Some(ReplyType::ProcessInfo3) => |reader| ignored(ProcessInfo3Reply::read(reader)),
            Some(ReplyType::ProcessEnvironment) => |reader| {
                let ProcessEnvironmentReply { n_incoming_bytes, .. } =
                    ProcessEnvironmentReply::read(reader)?;
                Some(Announced::EnvironmentBlock { n_incoming_bytes })
            },
            None => |_| Some(Announced::Nothing),
        })
    }
}

fn ignored<T>(reply: Option<T>) -> Option<Announced> {
    reply.map(|_| Announced::Nothing)
}

/// The command determines the function.
impl PartialEq for OkPayload {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for OkPayload {}

impl fmt::Debug for OkPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OkPayload")
    }
}

impl Message<'_> {
    /// What this reply to `command` announces.
    pub(crate) fn announced(
        &self,
        command: Command,
        ok: OkPayload,
    ) -> Result<Announced, DecodeError> {
        self.read(command, |reader| match self.command {
            Command::OK if self.payload.is_empty() => Some(Announced::Nothing),
            Command::OK => ok.0(reader),
            Command::ERROR => ErrorReply::read(reader, Some(command))
                .map(|ErrorReply { hresult, .. }| Announced::Error { hresult }),
            other => {
                not_a_reply(reader, other);
                None
            }
        })
    }
}
