//! The requests that start a session. `CollectTracing` to `CollectTracing4` stream over the
//! connection; `CollectTracing5` and `CollectTracing6` stream or write `user_events`.

use super::limits::{check_providers, check_stream};
use super::{
    Format, ProviderConfig, SessionBufferMode, SessionReply, SessionType, StreamingProviderConfig,
    UserEventsProviderConfig,
};
use crate::command::{Command, Continuation};
use crate::message::Request;
use crate::wire::{
    Array, Decode, Encode, EncodeError, Field, Layout as _, Sink, Visit, Visitor, WireError,
    WireErrorKind, decode_by_build, macros::wire_struct,
};

/// Declares a session request: the buffer and the format, the request's own fields, and the
/// providers. The shared fields have the same checks.
macro_rules! session_request {
    ($(#[$meta:meta])* $Request:ident, $COMMAND:ident, { $($fields:tt)* }) => {
        wire_struct! {
            $(#[$meta])*
            pub struct $Request<'a> {
                /// The size of the session's buffer in MB; not 0.
                pub circular_buffer_mb: u32 = CircularBufferMb,
                /// The format of the stream.
                pub format: Format = Format,
                $($fields)*
                /// The providers to enable; 1 to 1,000.
                pub providers: Array<'a, ProviderConfig<'a>> = Providers,
            }
        }

        impl<'a> Request<'a> for $Request<'a> {
            const COMMAND: Command = Command::$COMMAND;
            type Reply = SessionReply;

            fn check_values(&self) -> Result<(), WireError> {
                check_stream(self, (Field::CircularBufferMb, self.circular_buffer_mb), (Field::Format, self.format))?;
                check_providers(self, self.providers)
            }
        }
    };
}

session_request! {
    /// The `CollectTracing` request (`0x0202`, since .NET Core 3.x), which starts a session.
    ///
    /// The reply is a [`SessionReply`], followed by the stream.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, eventpipe::{CollectTracing, EventLevel, Format, ProviderConfig}};
    /// use dotnet_diagnostics_ipc::wire::Array;
    ///
    /// let providers = [ProviderConfig::new("MyEventSource", 100, EventLevel::ERROR)];
    /// let request = CollectTracing { circular_buffer_mb: 250, format: Format::NET_TRACE, providers: Array::new(&providers) };
    /// assert_eq!(request.encode_message(&mut [0; 80]), Ok(80));
    /// ```
    CollectTracing, COLLECT_TRACING, {}
}

session_request! {
    /// The `CollectTracing2` request (`0x0203`, since .NET Core 3.x), which starts a session with or without rundown.
    ///
    /// The reply is a [`SessionReply`], followed by the stream.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, eventpipe::{CollectTracing2, EventLevel, Format, ProviderConfig}};
    /// use dotnet_diagnostics_ipc::wire::Array;
    ///
    /// let providers = [ProviderConfig::new("P", 0, EventLevel(6))];
    /// let request = CollectTracing2 {
    ///     circular_buffer_mb: 16,
    ///     format: Format::NET_TRACE,
    ///     request_rundown: true,
    ///     providers: Array::new(&providers),
    /// };
    /// assert_eq!(request.encode_message(&mut [0; 64]), Ok(57));
    /// let error = request.check_limits().unwrap_err();
    /// assert_eq!(error.to_string(), "CollectTracing2.providers[0].logLevel at byte 41: level 6 is above 5 (Verbose)");
    /// ```
    CollectTracing2, COLLECT_TRACING2, {
        /// Whether the stream ends with the rundown events.
        pub request_rundown: bool = RequestRundown,
    }
}

session_request! {
    /// The `CollectTracing3` request (`0x0204`, since .NET 9), which starts a session with or without stacks.
    ///
    /// The reply is a [`SessionReply`], followed by the stream. The document prints the request's
    /// header with 0x0203 (F-14).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, eventpipe::{CollectTracing3, EventLevel, Format, ProviderConfig}};
    /// use dotnet_diagnostics_ipc::wire::Array;
    ///
    /// let providers = [ProviderConfig::new("P", 0, EventLevel::VERBOSE)];
    /// let request = CollectTracing3 {
    ///     circular_buffer_mb: 16,
    ///     format: Format::NET_TRACE,
    ///     request_rundown: true,
    ///     request_stackwalk: false,
    ///     providers: Array::new(&providers),
    /// };
    /// assert_eq!(request.encode_message(&mut [0; 64]), Ok(58));
    /// ```
    CollectTracing3, COLLECT_TRACING3, {
        /// Whether the stream ends with the rundown events.
        pub request_rundown: bool = RequestRundown,
        /// Whether events carry their thread's stack.
        pub request_stackwalk: bool = RequestStackwalk,
    }
}

session_request! {
    /// The `CollectTracing4` request (`0x0205`, since .NET 9), which starts a session with a rundown keyword.
    ///
    /// The reply is a [`SessionReply`], followed by the stream.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, eventpipe::{CollectTracing4, EventLevel, Format, ProviderConfig}};
    /// use dotnet_diagnostics_ipc::message::eventpipe::rundown_keyword;
    /// use dotnet_diagnostics_ipc::wire::Array;
    ///
    /// let providers = [ProviderConfig::new("P", 0, EventLevel::VERBOSE)];
    /// let request = CollectTracing4 {
    ///     circular_buffer_mb: 16,
    ///     format: Format::NET_TRACE,
    ///     rundown_keyword: rundown_keyword(true),
    ///     request_stackwalk: false,
    ///     providers: Array::new(&providers),
    /// };
    /// assert_eq!(request.encode_message(&mut [0; 80]), Ok(65));
    /// ```
    CollectTracing4, COLLECT_TRACING4, {
        /// The rundown provider's keyword; 0 for no rundown. See [`rundown_keyword`](super::rundown_keyword).
        pub rundown_keyword: u64 = RundownKeyword,
        /// Whether events carry their thread's stack. Missing in the document's struct (F-15).
        pub request_stackwalk: bool = RequestStackwalk,
    }
}

/// Declares the payload of a session that streams: the shared fields, then the payload's own.
macro_rules! streaming_session {
    ($(#[$meta:meta])* $Session:ident, { $($last:tt)* }) => {
        wire_struct! {
            $(#[$meta])*
            pub struct $Session<'a> {
                /// The size of the session's buffer in MB; not 0.
                pub circular_buffer_mb: u32 = StreamingCircularBufferMb,
                /// The format of the stream.
                pub format: Format = StreamingFormat,
                /// The rundown provider's keyword; 0 for no rundown.
                pub rundown_keyword: u64 = RundownKeyword,
                /// Whether events carry their thread's stack.
                pub request_stackwalk: bool = RequestStackwalk,
                /// The providers to enable; 1 to 1,000.
                pub providers: Array<'a, StreamingProviderConfig<'a>> = Providers,
                $($last)*
            }
        }
    };
}

streaming_session! {
    /// A session that streams over the connection: the payload of [`CollectTracing5`] after `session_type = 0`.
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
    StreamingSession, {}
}

streaming_session! {
    /// A session that streams over the connection: the payload of [`CollectTracing6`] after `session_type = 0`. It is a
    /// [`StreamingSession`] plus the action when the buffer is full (F-30).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::{
    ///     Format, SessionBufferMode, StreamingSession, StreamingSession6,
    /// };
    /// use dotnet_diagnostics_ipc::wire::{Array, Encode as _};
    ///
    /// let session = StreamingSession {
    ///     circular_buffer_mb: 16,
    ///     format: Format::NET_TRACE,
    ///     rundown_keyword: 0,
    ///     request_stackwalk: false,
    ///     providers: Array::EMPTY,
    /// };
    /// let blocking =
    ///     StreamingSession6 { session_buffer_mode: SessionBufferMode::BLOCK, ..session.into() };
    /// assert_eq!(blocking.encoded_len(), Ok(25));
    /// ```
    StreamingSession6, {
        /// What the session does when its buffer is full.
        pub session_buffer_mode: SessionBufferMode = SessionBufferMode,
    }
}

/// Adds the field of [`CollectTracing6`] with the behaviour of the older command, which drops events.
impl<'a> From<StreamingSession<'a>> for StreamingSession6<'a> {
    fn from(session: StreamingSession<'a>) -> Self {
        let StreamingSession {
            circular_buffer_mb,
            format,
            rundown_keyword,
            request_stackwalk,
            providers,
        } = session;
        Self {
            circular_buffer_mb,
            format,
            rundown_keyword,
            request_stackwalk,
            providers,
            session_buffer_mode: SessionBufferMode::DROP,
        }
    }
}

wire_struct! {
    /// A session that writes `user_events`: the payload of [`CollectTracing5`] and
    /// [`CollectTracing6`] after `session_type = 1`.
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
        /// The rundown provider's keyword. Runtimes parse and ignore it (F-22).
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
            /// Returns the number at the front of the payload.
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
    /// The `CollectTracing5` request (`0x0206`, since .NET 10), which starts a session that streams
    /// or writes `user_events`.
    ///
    /// It is the 4 bytes of `session_type`, then a [`StreamingSession`] or a [`UserEventsSession`]. The
    /// reply is a [`SessionReply`]. What follows the reply depends on the type.
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
    /// The `CollectTracing6` request (`0x0207`, since .NET 11), which starts a session that streams
    /// or writes `user_events`. No edition of the document has it.
    ///
    /// It is the 4 bytes of `session_type`, then a [`StreamingSession6`] or a [`UserEventsSession`]. The
    /// reply is a [`SessionReply`]. What follows the reply depends on the type.
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
