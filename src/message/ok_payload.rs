//! The payload of an OK reply, as far as it determines how the connection continues.

use core::fmt;

use super::Message;
use super::frame::not_a_reply;
use super::server::ErrorReply;
use crate::command::table::each_reply;
use crate::command::{Command, ReplyType};
use crate::hresult::HResult;
use crate::wire::{Cursor, Decode as _, Failed, WireError};

/// Decodes the payload of an OK reply to one command. A function pointer, so that a program with
/// one command links one decoder.
#[derive(Clone, Copy)]
pub(crate) struct OkPayload(fn(&mut Cursor<'_, '_>) -> Result<Announced, Failed>);

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
                    $(Some(ReplyType::$Variant) => |cursor| {
                        let super::$module::$Reply { $($field,)* .. } = super::$module::$Reply::read(cursor)?;
                        Ok(Announced::$What { $($field),* })
                    },)*
                    None => |_| Ok(Announced::Nothing),
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
    ) -> Result<Announced, WireError> {
        self.read(command, |cursor| match self.command {
            Command::OK if self.payload.is_empty() => Ok(Announced::Nothing),
            Command::OK => ok.0(cursor),
            Command::ERROR => ErrorReply::read(cursor, Some(command))
                .map(|ErrorReply { hresult, .. }| Announced::Error { hresult }),
            other => Err(cursor.fail_with(not_a_reply(other))),
        })
    }
}
