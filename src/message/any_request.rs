//! A request of any command.

use super::dump::{GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3};
use super::eventpipe::{
    CollectTracing, CollectTracing2, CollectTracing3, CollectTracing4, CollectTracing5,
    CollectTracing6, StopTracing,
};
use super::process::{
    ApplyStartupHook, DisablePerfMap, EnablePerfMap, ProcessEnvironment, ProcessInfo, ProcessInfo2,
    ProcessInfo3, ResumeRuntime, SetEnvironmentVariable, Tail,
};
use super::profiler::{AttachProfiler, StartupProfiler};
use super::request::in_request;
use super::{Message, Request};
use crate::command::{Command, Continuation};
use crate::wire::{DecodeError, Encode, EncodeError, LimitError, Sink, Visit as _, Visitor};

macro_rules! requests {
    ($($Request:ident $(<$lt:lifetime>)?;)*) => {
        /// A request of any command, known or not.
        ///
        /// ```
        /// use dotnet_diagnostics_ipc::message::{AnyRequest, Message, eventpipe::StopTracing};
        ///
        /// let message = Message::decode(b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x01\0\0\0\0\0\0\0")?;
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
            /// An unknown command. A server answers [`UNKNOWN_COMMAND`](crate::hresult::HResult::UNKNOWN_COMMAND).
            Unknown {
                /// The header's code.
                command: Command,
                /// The payload as received.
                payload: &'a [u8],
            },
        }

        impl<'a> AnyRequest<'a> {
            /// Reads a message as the request given by its header.
            ///
            /// # Errors
            /// Those of the payload of a known command.
            pub fn from_message(message: &Message<'a>) -> Result<Self, DecodeError> {
                let command = message.command;
                let request = message.read(command, |reader| Self::build(command, reader).ok())?;
                Ok(request.unwrap_or(Self::Unknown { command, payload: message.payload }))
            }

            /// The payload of a known command from any source.
            pub(crate) fn build<S: Visitor<'a>>(command: Command, source: &mut S) -> Result<Option<Self>, S::Error> {
                match command {
                    $($Request::COMMAND => $Request::build(source).map(|request| Some(Self::$Request(request))),)*
                    _ => Ok(None),
                }
            }

            /// The command in the header.
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

            /// Whether a server accepts the values; see [`Request::check_limits`].
            ///
            /// # Errors
            /// The first refused value.
            pub fn check_limits(&self) -> Result<(), LimitError> {
                let checked = match self {
                    $(Self::$Request(request) => request.check_values(),)*
                    Self::Unknown { .. } => Ok(()),
                };
                in_request(self.command(), checked)
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

impl AnyRequest<'_> {
    /// How many providers a session request has; 0 for other requests.
    pub(crate) const fn providers_len(&self) -> usize {
        match self {
            Self::CollectTracing(request) => request.providers.len(),
            Self::CollectTracing2(request) => request.providers.len(),
            Self::CollectTracing3(request) => request.providers.len(),
            Self::CollectTracing4(request) => request.providers.len(),
            Self::CollectTracing5(CollectTracing5::Streaming(session)) => session.providers.len(),
            Self::CollectTracing6(CollectTracing6::Streaming(session)) => session.providers.len(),
            Self::CollectTracing5(CollectTracing5::UserEvents(session))
            | Self::CollectTracing6(CollectTracing6::UserEvents(session)) => {
                session.providers.len()
            }
            _ => 0,
        }
    }
}
