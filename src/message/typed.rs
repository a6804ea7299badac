//! Reads a message as a typed request or reply, either of one command or of any command.

use core::fmt;

use super::frame::{in_request, not_a_reply, not_that};
use super::process::Tail;
use super::server::ErrorReply;
use super::{Message, Request};
use crate::command::table::{each_command, each_reply};
use crate::command::{Command, Continuation, ReplyType};
use crate::hresult::HResult;
use crate::wire::{
    Cursor, Decode as _, Encode, EncodeError, Failed, Sink, Visit as _, Visitor, WireError,
};

/// A reply to a request: OK with the command's payload, the generic OK, or an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a, T> {
    /// An OK (`0xFF00`) with the command's payload.
    Ok(T),
    /// An OK (`0xFF00`) without payload: the generic OK of the document, 20 bytes. Current runtimes
    /// never send it (F-2).
    OkWithoutPayload,
    /// An error (`0xFFFF`).
    Error(ErrorReply<'a>),
}

impl<'a> Message<'a> {
    /// Reads the message as the request `R`. Ignores bytes after the last field, as runtimes do
    /// (F-4).
    ///
    /// # Errors
    /// [`UnexpectedCommand`](crate::wire::WireErrorKind::UnexpectedCommand) if the header has
    /// another command, otherwise the error of the payload.
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
    /// Returns the error of the payload of a known command.
    pub fn request(&self) -> Result<AnyRequest<'a>, WireError> {
        let command = self.command;
        self.read(command, |cursor| {
            let unknown = AnyRequest::Unknown { command, payload: self.payload };
            AnyRequest::build(command, cursor).map(|request| request.unwrap_or(unknown))
        })
    }

    /// Reads the message as the reply to the request `R`. Ignores bytes after the last field.
    ///
    /// # Errors
    /// [`NotAReply`](crate::wire::WireErrorKind::NotAReply), or the error of the payload.
    #[inline]
    pub fn reply_as<R: Request<'a>>(&self) -> Result<Reply<'a, R::Reply>, WireError> {
        let read_ok = |cursor: &mut Cursor<'a, '_>| R::Reply::read(cursor).map(Reply::Ok);
        self.reply(Some(R::COMMAND), read_ok, || Reply::OkWithoutPayload, Reply::Error)
    }

    /// Reads the message as the reply to `command`. Without a command, only errors and the generic
    /// OK can be told apart.
    ///
    /// # Errors
    /// [`NotAReply`](crate::wire::WireErrorKind::NotAReply), or the error of the payload.
    pub fn reply_to(&self, command: Option<Command>) -> Result<AnyReply<'a>, WireError> {
        let read_ok = |cursor: &mut Cursor<'a, '_>| match command.and_then(Command::reply_type) {
            Some(reply_type) => AnyReply::build(reply_type, cursor),
            None => Ok(AnyReply::Unknown { payload: self.payload }),
        };
        self.reply(command, read_ok, || AnyReply::OkWithoutPayload, AnyReply::Error)
    }

    /// Reads what this reply to `command` announces.
    #[inline]
    pub(crate) fn announced(
        &self,
        command: Command,
        ok: OkPayload,
    ) -> Result<Announced, WireError> {
        let of_error = |error: ErrorReply<'_>| Announced::Error { hresult: error.hresult };
        self.reply(Some(command), ok.0, || Announced::Nothing, of_error)
    }

    /// Reads the reply to `command`; `read_ok` reads the payload of an OK that has one. The closures
    /// return the caller's type, because a reply is too large to be moved into another type.
    #[inline]
    fn reply<T>(
        &self,
        command: Option<Command>,
        read_ok: impl FnOnce(&mut Cursor<'a, '_>) -> Result<T, Failed>,
        of_nothing: impl FnOnce() -> T,
        of_error: impl FnOnce(ErrorReply<'a>) -> T,
    ) -> Result<T, WireError> {
        self.read(command.unwrap_or(self.command), |cursor| {
            let code = self.command.code();
            if code == Command::OK.code() {
                if self.payload.is_empty() {
                    return Ok(of_nothing());
                }
                read_ok(cursor)
            } else if code == Command::ERROR.code() {
                ErrorReply::read(cursor, command).map(of_error)
            } else {
                Err(cursor.fail_with(not_a_reply(self.command)))
            }
        })
    }
}

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
            /// An unknown command, which a server answers with
            /// [`UNKNOWN_COMMAND`](crate::hresult::HResult::UNKNOWN_COMMAND).
            Unknown {
                /// The code in the header.
                command: Command,
                /// The payload as received.
                payload: &'a [u8],
            },
        }

        impl<'a> AnyRequest<'a> {
            /// Reads the payload of a known command from any source.
            #[doc(hidden)]
            pub fn build<S: Visitor<'a>>(command: Command, source: &mut S) -> Result<Option<Self>, S::Error> {
                match command {
                    $(Command::$CONST => super::$module::$Request::build(source).map(|request| Some(Self::$Request(request))),)*
                    _ => Ok(None),
                }
            }

            /// Returns the command in the header.
            pub fn command(&self) -> Command {
                match self {
                    $(Self::$Request(_) => Command::$CONST,)*
                    Self::Unknown { command, .. } => *command,
                }
            }

            /// Returns what follows an OK reply, or `None` for an unknown command.
            pub fn continuation(&self) -> Option<Continuation> {
                match self {
                    $(Self::$Request(request) => Some(request.continuation()),)*
                    Self::Unknown { .. } => None,
                }
            }

            /// Checks that a server would accept the values; see [`Request::check_limits`].
            ///
            /// # Errors
            /// Returns the first refused value.
            pub fn check_limits(&self) -> Result<(), WireError> {
                let checked = match self {
                    $(Self::$Request(request) => request.check_values(),)*
                    Self::Unknown { .. } => Ok(()),
                };
                in_request(self.command(), checked)
            }
        }

        // Checks that each line of the table names the request's own command and reply.
        const _: () = {
            #[allow(clippy::extra_unused_lifetimes, reason = "the replies use it")]
            const fn _replies<'a>() {
                $(let _: fn(<super::$module::$Request $(<$lt>)? as Request<'a>>::Reply) -> AnyReply<'a> = AnyReply::$reply;)*
            }

            $(assert!(super::$module::$Request::COMMAND.code() == Command::$CONST.code());)*
        };

        /// Encodes the payload.
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
            /// An error reply.
            Error(ErrorReply<'a>),
            /// An OK in reply to an unknown command.
            Unknown {
                /// The payload as received.
                payload: &'a [u8],
            },
        }

        impl<'a> AnyReply<'a> {
            /// Reads the payload of an OK reply from any source.
            #[doc(hidden)]
            pub fn build<S: Visitor<'a>>(reply_type: ReplyType, source: &mut S) -> Result<Self, S::Error> {
                match reply_type {
                    $(ReplyType::$Variant => super::$module::$Reply::build(source).map(Self::$Variant),)*
                }
            }

            /// Returns the code in the header of this reply: OK or Error.
            pub const fn command(&self) -> Command {
                match self {
                    Self::Error(_) => Command::ERROR,
                    _ => Command::OK,
                }
            }
        }

        /// Encodes the payload.
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

/// A function that decodes the payload of an OK reply to one command. A program that sends one
/// command links only that command's decoder.
#[derive(Clone, Copy)]
pub(crate) struct OkPayload(fn(&mut Cursor<'_, '_>) -> Result<Announced, Failed>);

/// What a reply announces to the exchange.
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

/// Two values are equal because the command determines the function.
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
