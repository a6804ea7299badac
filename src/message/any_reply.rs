//! A reply to any command.

use super::eventpipe::SessionReply;
use super::process::{ProcessEnvironmentReply, ProcessInfo2Reply, ProcessInfo3Reply, ProcessInfoReply, Tail};
use super::server::{ErrorReply, ResultReply};
use super::{Answer, Message};
use crate::command::{Command, ReplyType};
use crate::wire::{DecodeError, Encode, EncodeError, Sink};

macro_rules! replies {
    ($($(#[$meta:meta])* $Variant:ident($Payload:ident $(<$lt:lifetime>)?);)*) => {
        /// A reply to any command.
        ///
        /// ```
        /// use dotnet_diagnostics_ipc::{command::Command, hresult::HResult};
        /// use dotnet_diagnostics_ipc::message::{AnyReply, Message, server::ResultReply};
        ///
        /// let message = Message::decode_exact(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0")?;
        /// let reply = message.reply_to(Some(Command::RESUME_RUNTIME))?;
        /// assert_eq!(reply, AnyReply::Result(ResultReply { hresult: HResult::OK }));
        /// # Ok::<(), dotnet_diagnostics_ipc::wire::DecodeError>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum AnyReply<'a> {
            $($(#[$meta])* $Variant($Payload $(<$lt>)?),)*
            /// The generic OK, without payload (F-2).
            OkWithoutPayload,
            /// An error.
            Error(ErrorReply<'a>),
            /// An OK that answers a command that is not known here.
            Unknown {
                /// The payload as it came.
                payload: &'a [u8],
            },
        }

        impl<'a> AnyReply<'a> {
            /// Reads a message as the reply to `command`. Without it, only errors and the generic OK can be told.
            ///
            /// # Errors
            /// [`NotAReply`](crate::wire::DecodeErrorKind::NotAReply), and those of the payload.
            pub fn decode(message: &Message<'a>, command: Option<Command>) -> Result<Self, DecodeError> {
                match message.answer()? {
                    Answer::Error => return ErrorReply::decode(message, command).map(Self::Error),
                    Answer::Ok if message.payload.is_empty() => return Ok(Self::OkWithoutPayload),
                    Answer::Ok => {}
                }
                match command.and_then(|command| Some((command, command.reply_type()?))) {
                    $(Some((command, ReplyType::$Variant)) => message.rooted(command).map(Self::$Variant),)*
                    None => Ok(Self::Unknown { payload: message.payload }),
                }
            }

            /// The code that the header of this reply has: OK or Error.
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

        #[cfg(feature = "arbitrary")]
        impl<'a> ::arbitrary::Arbitrary<'a> for AnyReply<'a> {
            fn arbitrary(input: &mut ::arbitrary::Unstructured<'a>) -> ::arbitrary::Result<Self> {
                type Make<'a> = fn(&mut ::arbitrary::Unstructured<'a>) -> ::arbitrary::Result<AnyReply<'a>>;
                let unknown: Make<'a> = |input| {
                    // Without payload it would be the generic OK.
                    let payload = Tail::arbitrary(input)?.0;
                    Ok(if payload.is_empty() { Self::OkWithoutPayload } else { Self::Unknown { payload } })
                };
                let error: Make<'a> = |input| input.arbitrary().map(Self::Error);
                let without: Make<'a> = |_| Ok(Self::OkWithoutPayload);
                let make: &[Make<'a>] = &[$(|input| input.arbitrary().map(Self::$Variant),)* without, error, unknown];
                input.choose(make)?(input)
            }
        }

        #[cfg(feature = "arbitrary")]
        impl AnyReply<'_> {
            /// Writes the payload of an OK of this type behind `out`.
            pub(crate) fn generate(
                reply_type: ReplyType,
                choices: &mut crate::arbitrary::Choices<'_>,
                out: &mut alloc::vec::Vec<u8>,
            ) {
                use crate::arbitrary::Generate as _;
                match reply_type {
                    $(ReplyType::$Variant => $Payload::generate(choices, out),)*
                }
            }
        }

        #[cfg(feature = "vectors")]
        impl<'a> AnyReply<'a> {
            pub(crate) fn to_value(self) -> crate::vectors::Value {
                use crate::vectors::{ObjectWriter, ValueForm as _, unknown_to_value};
                match self {
                    $(Self::$Variant(reply) => reply.to_value(),)*
                    Self::OkWithoutPayload => ObjectWriter::new().finish(),
                    Self::Error(error) => error.to_value(),
                    Self::Unknown { payload } => unknown_to_value(Command::OK, payload),
                }
            }

            /// The OK reply to `command`, if that is known.
            pub(crate) fn from_value(
                command: Option<Command>,
                value: &'a crate::vectors::Value,
                arena: &'a crate::vectors::Arena,
            ) -> Result<Self, crate::vectors::ValueError> {
                use crate::vectors::{ValueForm as _, unknown_from_value};
                if value.as_object().is_some_and(|object| object.is_empty()) {
                    return Ok(Self::OkWithoutPayload);
                }
                match command.and_then(Command::reply_type) {
                    $(Some(ReplyType::$Variant) => $Payload::from_value(value, arena).map(Self::$Variant),)*
                    None => match unknown_from_value(value, arena)? {
                        (Command::OK, payload) => Ok(Self::Unknown { payload }),
                        _ => Err(crate::vectors::ValueError::new("0xFF00 is the code of a reply").within("code")),
                    },
                }
            }

            pub(crate) fn annotate(
                command: Command,
                reader: &mut crate::wire::Reader<'a>,
                notes: &mut crate::vectors::Annotations,
            ) -> Result<(), DecodeError> {
                use crate::vectors::ValueForm as _;
                match command.reply_type() {
                    $(Some(ReplyType::$Variant) if !reader.rest().is_empty() => $Payload::annotate(reader, notes),)*
                    _ => Ok(()),
                }
            }
        }
    };
}

replies! {
    /// To every command that only succeeds or fails.
    Result(ResultReply);
    /// To `StopTracing` and every `CollectTracing…`.
    Session(SessionReply);
    /// To `ProcessInfo`.
    ProcessInfo(ProcessInfoReply<'a>);
    /// To `ProcessInfo2`.
    ProcessInfo2(ProcessInfo2Reply<'a>);
    /// To `ProcessInfo3`.
    ProcessInfo3(ProcessInfo3Reply<'a>);
    /// To `ProcessEnvironment`.
    ProcessEnvironment(ProcessEnvironmentReply);
}
