//! A request of any command.

use super::process::Tail;
use super::request::in_request;
use super::{AnyReply, Message, Request};
use crate::command::table::each_command;
use crate::command::{Command, Continuation};
use crate::wire::{Encode, EncodeError, Sink, Visit as _, Visitor, WireError};

macro_rules! requests {
    ($($(#[$meta:meta])* $CONST:ident = $code:literal, $set:literal $module:ident::$Request:ident $(<$lt:lifetime>)?,
       since ($major:literal, $minor:literal), $reply:ident, $continuation:ident;)*) => {
        /// A request of any command, known or not.
        ///
        /// ```
        /// use dotnet_diagnostics_ipc::message::{AnyRequest, Message, eventpipe::StopTracing};
        ///
        /// let message = Message::decode(b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x01\0\0\0\0\0\0\0")?;
        /// assert_eq!(message.request()?, AnyRequest::StopTracing(StopTracing { session_id: 1 }));
        /// # Ok::<(), dotnet_diagnostics_ipc::wire::WireError>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum AnyRequest<'a> {
            $(
                #[doc = concat!("[`", stringify!($Request), "`](super::", stringify!($module), "::", stringify!($Request), ").")]
                $Request(super::$module::$Request $(<$lt>)?),
            )*
            /// An unknown command. A server answers [`UNKNOWN_COMMAND`](crate::hresult::HResult::UNKNOWN_COMMAND).
            Unknown {
                /// The header's code.
                command: Command,
                /// The payload as received.
                payload: &'a [u8],
            },
        }

        impl<'a> AnyRequest<'a> {
            pub(super) fn from_message(message: &Message<'a>) -> Result<Self, WireError> {
                let command = message.command;
                message.read(command, |cursor| {
                    let unknown = Self::Unknown { command, payload: message.payload };
                    Self::build(command, cursor).map(|request| request.unwrap_or(unknown))
                })
            }

            /// The payload of a known command from any source.
            #[doc(hidden)]
            pub fn build<S: Visitor<'a>>(command: Command, source: &mut S) -> Result<Option<Self>, S::Error> {
                match command {
                    $(Command::$CONST => super::$module::$Request::build(source).map(|request| Some(Self::$Request(request))),)*
                    _ => Ok(None),
                }
            }

            /// The command in the header.
            pub fn command(&self) -> Command {
                match self {
                    $(Self::$Request(_) => Command::$CONST,)*
                    Self::Unknown { command, .. } => *command,
                }
            }

            /// What follows an OK reply. `None` for an unknown command.
            pub fn continuation(&self) -> Option<Continuation> {
                match self {
                    $(Self::$Request(request) => Some(request.continuation()),)*
                    Self::Unknown { .. } => None,
                }
            }

            /// Whether a server accepts the values; see [`Request::check_limits`].
            ///
            /// # Errors
            /// The first refused value.
            pub fn check_limits(&self) -> Result<(), WireError> {
                let checked = match self {
                    $(Self::$Request(request) => request.check_values(),)*
                    Self::Unknown { .. } => Ok(()),
                };
                in_request(self.command(), checked)
            }
        }

        // The request's own command and reply are those of its line.
        const _: () = {
            #[allow(clippy::extra_unused_lifetimes, reason = "of the replies")]
            const fn _replies<'a>() {
                $(let _: fn(<super::$module::$Request $(<$lt>)? as Request<'a>>::Reply) -> AnyReply<'a> = AnyReply::$reply;)*
            }

            $(assert!(super::$module::$Request::COMMAND.code() == Command::$CONST.code());)*
        };

        /// The payload.
        impl Encode for AnyRequest<'_> {
            fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
                match self {
                    $(Self::$Request(request) => request.encode(sink),)*
                    Self::Unknown { payload, .. } => Tail(payload).encode(sink),
                }
            }
        }
    };
}

each_command!(requests);
