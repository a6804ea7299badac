//! The payload of an OK reply, as far as it determines how the connection continues.

use core::fmt;

use super::Message;
use super::frame::not_a_reply;
use super::server::ErrorReply;
use crate::command::table::each_reply;
use crate::command::{Command, ReplyType};
use crate::hresult::HResult;
use crate::wire::{Decode as _, DecodeError, Reader};

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

macro_rules! ok_payload {
    ($($(#[$meta:meta])* $Variant:ident($module:ident::$Reply:ident $(<$lt:lifetime>)?), announces $What:ident { $($field:ident),* };)*) => {
        impl OkPayload {
            pub(crate) const fn of(command: Command) -> Self {
                Self(match command.reply_type() {
                    $(Some(ReplyType::$Variant) => |reader| {
                        let super::$module::$Reply { $($field,)* .. } = super::$module::$Reply::read(reader)?;
                        Some(Announced::$What { $($field),* })
                    },)*
                    None => |_| Some(Announced::Nothing),
                })
            }
        }
    };
}

each_reply!(ok_payload);

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
    #[inline]
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
