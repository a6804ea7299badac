//! Start and stop tracing sessions: the `EventPipe` commands, set `0x02`.
//!
//! Each command that starts a session has its own request. The requests share [`ProviderConfig`],
//! [`EventFilter`] and [`TracepointConfig`].

//! # Example
//!
//! Start a session, and stop it by the session id in the reply:
//!
//! ```
//! use dotnet_diagnostics_ipc::message::Request as _;
//! use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing2, EventLevel, Format, ProviderConfig, StopTracing};
//! use dotnet_diagnostics_ipc::wire::Array;
//!
//! let providers = [ProviderConfig::new("MyEventSource", 100, EventLevel::ERROR)];
//! let start = CollectTracing2 {
//!     circular_buffer_mb: 250,
//!     format: Format::NET_TRACE,
//!     request_rundown: true,
//!     providers: Array::new(&providers),
//! };
//! start.check_limits()?;
//! assert_eq!(start.encode_message(&mut [0; 128]), Ok(81));
//! assert_eq!(StopTracing { session_id: 42 }.encode_message(&mut [0; 28]), Ok(28)); // over a second connection
//! # Ok::<(), dotnet_diagnostics_ipc::wire::WireError>(())
//! ```

mod limits;
mod provider;
mod session;

pub use limits::{MAX_PROVIDERS, MAX_SESSIONS, MAX_TRACEPOINT_NAME_LEN};
pub use provider::{
    EventFilter, ProviderConfig, StreamingProviderConfig, TracepointConfig, TracepointSet,
    UserEventsProviderConfig,
};
pub use session::{
    CollectTracing, CollectTracing2, CollectTracing3, CollectTracing4, CollectTracing5,
    CollectTracing6, StreamingSession, StreamingSession6, UserEventsSession,
};

use super::Request;
use crate::command::Command;
use crate::wire::macros::{open_enum, wire_struct};

/// The rundown keyword that is equivalent to `requestRundown = true`.
pub const DEFAULT_RUNDOWN_KEYWORD: u64 = 0x8002_0139;

/// Returns the `rundownKeyword` of [`CollectTracing4`] and later that is equivalent to
/// `requestRundown` in earlier commands.
///
/// ```
/// use dotnet_diagnostics_ipc::message::eventpipe::{request_rundown, rundown_keyword};
///
/// assert_eq!((rundown_keyword(true), rundown_keyword(false)), (0x8002_0139, 0));
/// assert_eq!((request_rundown(0x8002_0139), request_rundown(0x100)), (Some(true), None));
/// ```
pub const fn rundown_keyword(request_rundown: bool) -> u64 {
    if request_rundown { DEFAULT_RUNDOWN_KEYWORD } else { 0 }
}

/// Returns the `requestRundown` that is equivalent to `keyword`, if there is one.
pub const fn request_rundown(keyword: u64) -> Option<bool> {
    match keyword {
        0 => Some(false),
        DEFAULT_RUNDOWN_KEYWORD => Some(true),
        _ => None,
    }
}

open_enum! {
    /// The level of detail of a provider's events: `logLevel`. A server refuses values above 5 (`check_limits`, F-16), but
    /// decoding keeps them.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::EventLevel;
    ///
    /// assert_eq!((EventLevel::VERBOSE.0, EventLevel(4).name()), (5, Some("Informational")));
    /// ```
    pub enum EventLevel {
        /// Events that are always written.
        LOG_ALWAYS = 0, "LogAlways";
        /// Errors that end the process.
        CRITICAL = 1, "Critical";
        /// Errors.
        ERROR = 2, "Error";
        /// Warnings.
        WARNING = 3, "Warning";
        /// Informational events.
        INFORMATIONAL = 4, "Informational";
        /// The most detailed events.
        VERBOSE = 5, "Verbose";
    }
}

open_enum! {
    /// The format of the stream: `format`. A server refuses values above 1 (`check_limits`, F-16), but decoding keeps them.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::Format;
    ///
    /// assert_eq!((Format::NET_TRACE.0, Format(0).name()), (1, Some("NetPerf")));
    /// ```
    pub enum Format {
        /// netperf, the format of 2019.
        NET_PERF = 0, "NetPerf";
        /// nettrace version 4.
        NET_TRACE = 1, "NetTrace";
    }
}

open_enum! {
    /// The destination of the events of a [`CollectTracing5`] or [`CollectTracing6`] session: `session_type`. Decoding
    /// refuses other values (F-18).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::SessionType;
    ///
    /// assert_eq!((SessionType::STREAMING.0, SessionType::USER_EVENTS.0), (0, 1));
    /// ```
    pub enum SessionType {
        /// Events go to the connection.
        STREAMING = 0, "streaming";
        /// Events go to the kernel's `user_events`.
        USER_EVENTS = 1, "user_events";
    }
}

open_enum! {
    /// What a [`CollectTracing6`] session does when its buffer is full: `sessionBufferMode`. A server refuses other values
    /// (`check_limits`, F-30), but decoding keeps them.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::SessionBufferMode;
    ///
    /// assert_eq!((SessionBufferMode::DROP.0, SessionBufferMode::BLOCK.0), (0, 1));
    /// ```
    pub enum SessionBufferMode {
        /// Drop events.
        DROP = 0, "drop";
        /// Block the threads that write events.
        BLOCK = 1, "block";
    }
}

wire_struct! {
    /// The `StopTracing` request (`0x0201`, since .NET Core 3.x), sent on a second connection (F-76).
    ///
    /// The reply is a [`SessionReply`] with the same id, even if there is no such session (F-31). It is sent only after the
    /// stream has been read (F-75).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, eventpipe::StopTracing};
    ///
    /// assert_eq!(StopTracing { session_id: 1 }.encode_message(&mut [0; 28]), Ok(28));
    /// ```
    pub struct StopTracing {
        /// The session id from the reply to `CollectTracing…`.
        pub session_id: u64 = SessionId,
    }
}

impl Request<'_> for StopTracing {
    const COMMAND: Command = Command::STOP_TRACING;
    type Reply = SessionReply;
}

wire_struct! {
    /// The reply to [`StopTracing`] and to every `CollectTracing…`, 28 bytes in total.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{message::eventpipe::SessionReply, wire::{Decode as _, Reader}};
    ///
    /// let reply = SessionReply::decode(&mut Reader::new(&[1, 0, 0, 0, 0, 0, 0, 0])).unwrap();
    /// assert_eq!(reply, SessionReply { session_id: 1 });
    /// ```
    pub struct SessionReply {
        /// Identifies the session in [`StopTracing`].
        pub session_id: u64 = SessionId,
    }
}
