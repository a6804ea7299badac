//! A reply to any command.

use super::Message;
use super::frame::not_a_reply;
use super::process::Tail;
use super::server::ErrorReply;
use crate::command::table::each_reply;
use crate::command::{Command, ReplyType};
use crate::wire::{Encode, EncodeError, Sink, Visit as _, Visitor, WireError};

macro_rules! replies {
    ($($(#[$meta:meta])* $Variant:ident($module:ident::$Reply:ident $(<$lt:lifetime>)?), announces $What:ident { $($field:ident),* };)*) => {
        /// A reply to any command.
        ///
        /// ```
        /// use dotnet_diagnostics_ipc::{command::Command, hresult::HResult};
        /// use dotnet_diagnostics_ipc::message::{AnyReply, Message, server::ResultReply};
        ///
        /// let message = Message::decode(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0")?;
        /// let reply = message.reply_to(Some(Command::RESUME_RUNTIME))?;
        /// assert_eq!(reply, AnyReply::Result(ResultReply { hresult: HResult::OK }));
        /// # Ok::<(), dotnet_diagnostics_ipc::wire::WireError>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum AnyReply<'a> {
            $($(#[$meta])* $Variant(super::$module::$Reply $(<$lt>)?),)*
            /// The generic OK, without payload (F-2).
            OkWithoutPayload,
            /// An error.
            Error(ErrorReply<'a>),
            /// An OK to an unknown command.
            Unknown {
                /// The payload as received.
                payload: &'a [u8],
            },
        }

        impl<'a> AnyReply<'a> {
            pub(super) fn from_message(message: &Message<'a>, command: Option<Command>) -> Result<Self, WireError> {
                message.read(command.unwrap_or(message.command), |cursor| match message.command {
                    Command::OK if message.payload.is_empty() => Ok(Self::OkWithoutPayload),
                    Command::OK => match command.and_then(Command::reply_type) {
                        Some(reply_type) => Self::build(reply_type, cursor),
                        None => Ok(Self::Unknown { payload: message.payload }),
                    },
                    Command::ERROR => ErrorReply::read(cursor, command).map(Self::Error),
                    other => Err(cursor.fail_with(not_a_reply(other))),
                })
            }

            /// The payload of an OK reply from any source.
            #[doc(hidden)]
            pub fn build<S: Visitor<'a>>(reply_type: ReplyType, source: &mut S) -> Result<Self, S::Error> {
                match reply_type {
                    $(ReplyType::$Variant => super::$module::$Reply::build(source).map(Self::$Variant),)*
                }
            }

            /// The code in the header of this reply: OK or Error.
            pub const fn command(&self) -> Command {
                match self {
                    Self::Error(_) => Command::ERROR,
                    _ => Command::OK,
                }
            }
        }

        /// The payload.
        impl Encode for AnyReply<'_> {
            fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
                match self {
                    $(Self::$Variant(reply) => reply.encode(sink),)*
                    Self::OkWithoutPayload => Ok(()),
                    Self::Error(error) => error.encode(sink),
                    Self::Unknown { payload } => Tail(payload).encode(sink),
                }
            }
        }
    };
}

each_reply!(replies);
