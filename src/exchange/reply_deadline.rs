//! How long a reply may take.

use core::time::Duration;

use crate::command::Command;

/// How long a client should wait for the reply, from the end of its request.
///
/// ```
/// use core::time::Duration;
/// use dotnet_diagnostics_ipc::{command::Command, exchange::ReplyDeadline};
///
/// let seconds = Duration::from_secs;
/// assert_eq!(ReplyDeadline::of(Command::PROCESS_INFO3), ReplyDeadline::Within(seconds(5)));
/// assert_eq!(ReplyDeadline::of(Command::ATTACH_PROFILER), ReplyDeadline::AfterAttachTimeout(seconds(5)));
/// ```
///
/// The document only says that a client must survive a server that does not answer; the values are
/// this crate's. A server answers one client at a time (F-75), so each value assumes an idle
/// runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplyDeadline {
    /// This long.
    Within(Duration),
    /// The request's `attachTimeout` plus this long.
    AfterAttachTimeout(Duration),
    /// This long after the session's stream was read to its end: the runtime does not answer before
    /// (F-75, F-76).
    AfterStreamEnd(Duration),
}

impl ReplyDeadline {
    /// For the reply to `command`.
    ///
    /// A dump is answered once it is written, an attach once the profiler is attached or its
    /// timeout has expired, a stop once the stream has been read; everything else immediately,
    /// including unknown commands.
    pub const fn of(command: Command) -> Self {
        match command {
            Command::GENERATE_CORE_DUMP
            | Command::GENERATE_CORE_DUMP2
            | Command::GENERATE_CORE_DUMP3 => Self::Within(Duration::from_secs(600)),
            Command::ATTACH_PROFILER => Self::AfterAttachTimeout(Duration::from_secs(5)),
            Command::STOP_TRACING => Self::AfterStreamEnd(Duration::from_secs(30)),
            _ => Self::Within(Duration::from_secs(5)),
        }
    }
}
