//! `CollectTracing5` and `CollectTracing6`: sessions that stream, or that write `user_events`.

use super::limits::{check_providers, check_stream};
use super::{
    Format, SessionBufferMode, SessionReply, SessionType, StreamingProviderConfig,
    UserEventsProviderConfig,
};
use crate::command::{Command, Continuation};
use crate::message::Request;
use crate::wire::{
    Array, Decode, Encode, EncodeError, Field, Layout as _, Sink, Visit, Visitor, WireError,
    WireErrorKind, decode_by_build, macros::wire_struct,
};

wire_struct! {
    /// The payload of [`CollectTracing5`] after `session_type = 0`.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::{Format, StreamingSession};
    /// use dotnet_diagnostics_ipc::wire::{Array, Encode as _};
    ///
    /// let session = StreamingSession {
    ///     circular_buffer_mb: 16,
    ///     format: Format::NET_TRACE,
    ///     rundown_keyword: 0,
    ///     request_stackwalk: false,
    ///     providers: Array::EMPTY,
    /// };
    /// assert_eq!(session.encoded_len(), Ok(21));
    /// ```
    pub struct StreamingSession<'a> {
        /// The size of the buffer, in MB; not 0.
        pub circular_buffer_mb: u32 = StreamingCircularBufferMb,
        /// The format of the stream.
        pub format: Format = StreamingFormat,
        /// The rundown provider's keyword; 0 for no rundown.
        pub rundown_keyword: u64 = RundownKeyword,
        /// Whether events carry the stack of their thread.
        pub request_stackwalk: bool = RequestStackwalk,
        /// The providers to enable; 1 to 1,000.
        pub providers: Array<'a, StreamingProviderConfig<'a>> = Providers,
    }
}

wire_struct! {
    /// The payload of [`CollectTracing6`] after `session_type = 0`: as [`StreamingSession`], plus what to do when the buffer is
    /// full (F-30).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::{Format, SessionBufferMode, StreamingSession6};
    /// use dotnet_diagnostics_ipc::wire::{Array, Encode as _};
    ///
    /// let session = StreamingSession6 {
    ///     circular_buffer_mb: 16,
    ///     format: Format::NET_TRACE,
    ///     rundown_keyword: 0,
    ///     request_stackwalk: false,
    ///     providers: Array::EMPTY,
    ///     session_buffer_mode: SessionBufferMode::BLOCK,
    /// };
    /// assert_eq!(session.encoded_len(), Ok(25));
    /// ```
    pub struct StreamingSession6<'a> {
        /// The size of the buffer, in MB; not 0.
        pub circular_buffer_mb: u32 = StreamingCircularBufferMb,
        /// The format of the stream.
        pub format: Format = StreamingFormat,
        /// The rundown provider's keyword; 0 for no rundown.
        pub rundown_keyword: u64 = RundownKeyword,
        /// Whether events carry the stack of their thread.
        pub request_stackwalk: bool = RequestStackwalk,
        /// The providers to enable; 1 to 1,000.
        pub providers: Array<'a, StreamingProviderConfig<'a>> = Providers,
        /// What the session does when its buffer is full.
        pub session_buffer_mode: SessionBufferMode = SessionBufferMode,
    }
}

wire_struct! {
    /// The payload of [`CollectTracing5`] and [`CollectTracing6`] after `session_type = 1`.
    ///
    /// The file descriptor of `user_events_data` is sent after the request and before the reply (F-19), with a separate byte
    /// (F-20). The session ends with the connection (F-23).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::UserEventsSession;
    /// use dotnet_diagnostics_ipc::wire::{Array, Encode as _};
    ///
    /// assert_eq!(UserEventsSession { rundown_keyword: 0, providers: Array::EMPTY }.encoded_len(), Ok(12));
    /// ```
    pub struct UserEventsSession<'a> {
        /// Parsed by runtimes, without effect (F-22).
        pub rundown_keyword: u64 = RundownKeyword,
        /// The providers to enable; 1 to 1,000.
        pub providers: Array<'a, UserEventsProviderConfig<'a>> = Providers,
    }
}

/// Declares a request that begins with `session_type`.
macro_rules! typed_session_request {
    (
        $(#[$meta:meta])* $Request:ident, $COMMAND:ident, $Streaming:ident, $check:expr
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Request<'a> {
            /// `session_type = 0`: events go to the connection.
            Streaming($Streaming<'a>),
            /// `session_type = 1`: events go to the kernel's `user_events`. Linux only.
            UserEvents(UserEventsSession<'a>),
        }

        impl $Request<'_> {
            /// The number before the payload.
            pub const fn session_type(&self) -> SessionType {
                match self {
                    Self::Streaming(_) => SessionType::STREAMING,
                    Self::UserEvents(_) => SessionType::USER_EVENTS,
                }
            }
        }

        impl<'a> Decode<'a> for $Request<'a> {
            const MIN_LEN: usize = 16;

            decode_by_build! {}
        }

        impl<'a> Visit<'a> for $Request<'a> {
            type Of<'o> = $Request<'o>;

            #[inline]
            fn build<S: Visitor<'a>>(source: &mut S) -> Result<Self, S::Error> {
                source.object(|source| {
                    if source.is_user_events()? {
                        UserEventsSession::fields(source).map(Self::UserEvents)
                    } else {
                        $Streaming::fields(source).map(Self::Streaming)
                    }
                })
            }
        }

        impl Encode for $Request<'_> {
            #[inline]
            fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
                self.session_type().encode(sink)?;
                match self {
                    Self::Streaming(session) => session.encode(sink),
                    Self::UserEvents(session) => session.encode(sink),
                }
            }
        }

        impl<'a> Request<'a> for $Request<'a> {
            const COMMAND: Command = Command::$COMMAND;
            type Reply = SessionReply;

            fn continuation(&self) -> Continuation {
                match self {
                    Self::Streaming(_) => Continuation::Nettrace,
                    Self::UserEvents(_) => Continuation::UserEvents,
                }
            }

            fn check_values(&self) -> Result<(), WireError> {
                let mut checked = match self {
                    Self::Streaming(session) => {
                        let buffer = (Field::StreamingCircularBufferMb, session.circular_buffer_mb);
                        check_stream(session, buffer, (Field::StreamingFormat, session.format))
                            .and_then(|()| check_providers(session, session.providers))
                            .and_then(|()| $check(session))
                    }
                    Self::UserEvents(session) => check_providers(session, session.providers),
                };
                if let Err(error) = &mut checked {
                    error.move_behind(SessionType::MIN_LEN);
                }
                checked
            }
        }
    };
}

typed_session_request! {
    /// `CollectTracing5`, `0x0206`. Since .NET 10.
    ///
    /// The 4 bytes of `session_type`, then a [`StreamingSession`] or a [`UserEventsSession`]. Answered by a
    /// [`SessionReply`]; what follows depends on the type.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::command::Continuation;
    /// use dotnet_diagnostics_ipc::message::{Request as _, eventpipe::{CollectTracing5, UserEventsSession}};
    /// use dotnet_diagnostics_ipc::wire::Array;
    ///
    /// let request = CollectTracing5::UserEvents(UserEventsSession { rundown_keyword: 0, providers: Array::EMPTY });
    /// assert_eq!(request.continuation(), Continuation::UserEvents);
    /// assert_eq!(request.encode_message(&mut [0; 36]), Ok(36));
    /// ```
    CollectTracing5, COLLECT_TRACING5, StreamingSession, |_| Ok(())
}

typed_session_request! {
    /// `CollectTracing6`, `0x0207`. Since .NET 11; in no edition of the document.
    ///
    /// The 4 bytes of `session_type`, then a [`StreamingSession6`] or a [`UserEventsSession`]. Answered by a
    /// [`SessionReply`]; what follows depends on the type.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, eventpipe::{CollectTracing6, UserEventsSession}};
    /// use dotnet_diagnostics_ipc::wire::Array;
    ///
    /// let request = CollectTracing6::UserEvents(UserEventsSession { rundown_keyword: 0, providers: Array::EMPTY });
    /// assert_eq!(request.encode_message(&mut [0; 36]), Ok(36));
    /// ```
    CollectTracing6, COLLECT_TRACING6, StreamingSession6, check_buffer_mode
}

fn check_buffer_mode(session: &StreamingSession6<'_>) -> Result<(), WireError> {
    let mode = session.session_buffer_mode;
    match mode.name() {
        Some(_) => Ok(()),
        None => session
            .refuse(Field::SessionBufferMode, WireErrorKind::UnknownBufferMode { mode: mode.0 }),
    }
}
