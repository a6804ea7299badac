//! A request of any command.

use super::dump::{GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3};
use super::eventpipe::{
    CollectTracing, CollectTracing2, CollectTracing3, CollectTracing4, CollectTracing5, CollectTracing6, StopTracing,
};
use super::process::{
    ApplyStartupHook, DisablePerfMap, EnablePerfMap, ProcessEnvironment, ProcessInfo, ProcessInfo2, ProcessInfo3, ResumeRuntime,
    SetEnvironmentVariable, Tail,
};
use super::profiler::{AttachProfiler, StartupProfiler};
use super::{Message, Request};
use crate::command::{Command, Continuation};
use crate::wire::{DecodeError, Encode, EncodeError, LimitError, Sink};

macro_rules! requests {
    ($($Request:ident $(<$lt:lifetime>)?;)*) => {
        /// A request of any command, known or not.
        ///
        /// ```
        /// use dotnet_diagnostics_ipc::message::{AnyRequest, Message, eventpipe::StopTracing};
        ///
        /// let message = Message::decode_exact(b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x01\0\0\0\0\0\0\0")?;
        /// assert_eq!(message.request()?, AnyRequest::StopTracing(StopTracing { session_id: 1 }));
        /// # Ok::<(), dotnet_diagnostics_ipc::wire::DecodeError>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum AnyRequest<'a> {
            $(
                #[doc = concat!("[`", stringify!($Request), "`].")]
                $Request($Request $(<$lt>)?),
            )*
            /// A command that is not known here. A server answers [`UNKNOWN_COMMAND`](crate::hresult::HResult::UNKNOWN_COMMAND).
            Unknown {
                /// The header's code.
                command: Command,
                /// The payload as it came.
                payload: &'a [u8],
            },
        }

        impl<'a> AnyRequest<'a> {
            /// Reads a message as the request that its header names.
            ///
            /// # Errors
            /// Those of the payload of a known command.
            pub fn decode(message: &Message<'a>) -> Result<Self, DecodeError> {
                match message.command {
                    $($Request::COMMAND => message.request_as().map(Self::$Request),)*
                    command => Ok(Self::Unknown { command, payload: message.payload }),
                }
            }

            /// The command that the header names.
            pub fn command(&self) -> Command {
                match self {
                    $(Self::$Request(_) => $Request::COMMAND,)*
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

            /// Whether a server takes the values; see [`Request::check_limits`].
            ///
            /// # Errors
            /// The first value that it refuses.
            pub fn check_limits(&self) -> Result<(), LimitError> {
                match self {
                    $(Self::$Request(request) => request.check_limits(),)*
                    Self::Unknown { .. } => Ok(()),
                }
            }
        }

        /// The payload.
        impl Encode for AnyRequest<'_> {
            fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
                match self {
                    $(Self::$Request(request) => request.encode(sink),)*
                    Self::Unknown { payload, .. } => Tail(payload).encode(sink),
                }
            }
        }

        #[cfg(feature = "arbitrary")]
        impl<'a> ::arbitrary::Arbitrary<'a> for AnyRequest<'a> {
            fn arbitrary(input: &mut ::arbitrary::Unstructured<'a>) -> ::arbitrary::Result<Self> {
                type Make<'a> = fn(&mut ::arbitrary::Unstructured<'a>) -> ::arbitrary::Result<AnyRequest<'a>>;
                let unknown: Make<'a> = |input| {
                    Ok(Self::Unknown { command: unknown(input.arbitrary()?), payload: Tail::arbitrary(input)?.0 })
                };
                let make: &[Make<'a>] = &[$(|input| input.arbitrary().map(Self::$Request),)* unknown];
                input.choose(make)?(input)
            }
        }

        #[cfg(feature = "arbitrary")]
        impl AnyRequest<'_> {
            /// Writes the payload of one of them behind `out`, and says which.
            pub(crate) fn generate(choices: &mut crate::arbitrary::Choices<'_>, out: &mut alloc::vec::Vec<u8>) -> Command {
                use crate::arbitrary::{Choices, Generate as _};
                type Make = fn(&mut Choices<'_>, &mut alloc::vec::Vec<u8>) -> Command;
                let make: &[Make] = &[$(|choices, out| {
                    $Request::generate(choices, out);
                    $Request::COMMAND
                },)*];
                if let Some(make) = make.get(choices.below(make.len().saturating_add(1))) {
                    return make(choices, out);
                }
                Tail::generate(choices, out);
                unknown(Command { set: choices.byte(), id: choices.byte() })
            }
        }

        #[cfg(feature = "vectors")]
        impl<'a> AnyRequest<'a> {
            pub(crate) fn to_value(self) -> crate::vectors::Value {
                use crate::vectors::{ValueForm as _, unknown_to_value};
                match self {
                    $(Self::$Request(request) => request.to_value(),)*
                    Self::Unknown { command, payload } => unknown_to_value(command, payload),
                }
            }

            pub(crate) fn from_value(
                command: Command,
                value: &'a crate::vectors::Value,
                arena: &'a crate::vectors::Arena,
            ) -> Result<Self, crate::vectors::ValueError> {
                use crate::vectors::{ValueForm as _, unknown_from_value};
                match command {
                    $($Request::COMMAND => $Request::from_value(value, arena).map(Self::$Request),)*
                    _ => unknown_from_value(value, arena).map(|(command, payload)| Self::Unknown { command, payload }),
                }
            }

            pub(crate) fn annotate(
                command: Command,
                reader: &mut crate::wire::Reader<'a>,
                notes: &mut crate::vectors::Annotations,
            ) -> Result<(), DecodeError> {
                use crate::vectors::ValueForm as _;
                match command {
                    $($Request::COMMAND => $Request::annotate(reader, notes),)*
                    _ => Ok(()),
                }
            }
        }
    };
}

requests! {
    GenerateCoreDump<'a>;
    GenerateCoreDump2<'a>;
    GenerateCoreDump3<'a>;
    StopTracing;
    CollectTracing<'a>;
    CollectTracing2<'a>;
    CollectTracing3<'a>;
    CollectTracing4<'a>;
    CollectTracing5<'a>;
    CollectTracing6<'a>;
    AttachProfiler<'a>;
    StartupProfiler<'a>;
    ProcessInfo;
    ResumeRuntime;
    ProcessEnvironment;
    SetEnvironmentVariable<'a>;
    ProcessInfo2;
    EnablePerfMap;
    DisablePerfMap;
    ApplyStartupHook<'a>;
    ProcessInfo3;
}

/// The command, or one beside it that is not known.
#[cfg(feature = "arbitrary")]
fn unknown(command: Command) -> Command {
    if command.reply_type().is_some() { Command { id: command.id | 0x80, ..command } } else { command }
}

impl AnyRequest<'_> {
    /// How many providers a session request names; 0 for other requests.
    pub(crate) const fn providers_len(&self) -> usize {
        match self {
            Self::CollectTracing(request) => request.providers.len(),
            Self::CollectTracing2(request) => request.providers.len(),
            Self::CollectTracing3(request) => request.providers.len(),
            Self::CollectTracing4(request) => request.providers.len(),
            Self::CollectTracing5(CollectTracing5::Streaming(session)) => session.providers.len(),
            Self::CollectTracing6(CollectTracing6::Streaming(session)) => session.providers.len(),
            Self::CollectTracing5(CollectTracing5::UserEvents(session))
            | Self::CollectTracing6(CollectTracing6::UserEvents(session)) => session.providers.len(),
            _ => 0,
        }
    }
}
