//! Time limits for each phase of a call.

use std::time::{Duration, Instant};

use super::{Canceller, WaitLimit};
use crate::command::Command;
use crate::exchange::ReplyDeadline;

/// Time limits for each phase of a call. `None` means no limit.
///
/// ```
/// use std::time::Duration;
/// use dotnet_diagnostics_ipc::io::{Client, Deadlines, Endpoint};
///
/// let deadlines = Deadlines { whole: Some(Duration::from_secs(2)), ..Deadlines::DEFAULT };
/// let client = Client::new(Endpoint::process(12345)).with_deadlines(deadlines);
/// # drop(client);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deadlines {
    /// To connect, or to wait for a runtime at a port.
    pub connect: Option<Duration>,
    /// To write the request, and the descriptor.
    pub send: Option<Duration>,
    /// From the end of the request to the last byte of the reply.
    pub reply: ReplyWithin,
    /// To read an environment block, from the end of the reply to its last byte.
    pub continuation: Option<Duration>,
    /// Between two bytes of a session's stream, which is silent while there are no events.
    pub stream: Option<Duration>,
    /// The whole call, from finding the endpoint to the last byte of the reply or environment
    /// block. For a fallback, all of its connections together.
    pub whole: Option<Duration>,
    #[doc(hidden)]
    pub more: (),
}

/// The time limit for a reply.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{Deadlines, ReplyWithin};
///
/// // A dump may take its time, ProcessInfo may not: `ReplyDeadline` says how long.
/// assert_eq!(Deadlines::DEFAULT.reply, ReplyWithin::ByCommand);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplyWithin {
    /// The command's [`ReplyDeadline`].
    ByCommand,
    /// The same for every command; `None` means no limit.
    Fixed(Option<Duration>),
}

impl Deadlines {
    /// 5 s to connect, 5 s to send, the reply by its command, 30 s for an environment block; none
    /// for a stream, and so for its stop.
    pub const DEFAULT: Self = Self {
        connect: Some(Duration::from_secs(5)),
        send: Some(Duration::from_secs(5)),
        reply: ReplyWithin::ByCommand,
        continuation: Some(Duration::from_secs(30)),
        stream: None,
        whole: None,
        more: (),
    };

    /// No deadlines.
    pub const NONE: Self = Self {
        connect: None,
        send: None,
        reply: ReplyWithin::Fixed(None),
        continuation: None,
        stream: None,
        whole: None,
        more: (),
    };

    /// The time limit of the reply to `command`; `attach_timeout` is that of an `AttachProfiler`
    /// request. `StopTracing` has none: it is answered once the stream is drained, and the
    /// stream has no limit. [`whole`](Self::whole) limits it.
    pub(super) fn reply_to(&self, command: Command, attach_timeout: Duration) -> Option<Duration> {
        if let ReplyWithin::Fixed(fixed) = self.reply {
            return fixed;
        }
        match ReplyDeadline::of(command) {
            ReplyDeadline::Within(within) => Some(within),
            ReplyDeadline::AfterAttachTimeout(more) => Some(attach_timeout.saturating_add(more)),
            ReplyDeadline::AfterStreamEnd(_) => None,
        }
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What the caller chose for its calls.
#[derive(Clone, Debug)]
pub(super) struct CallOptions {
    pub(super) deadlines: Deadlines,
    pub(super) canceller: Option<Canceller>,
    pub(super) checks_limits: bool,
}

impl CallOptions {
    pub(super) const DEFAULT: Self =
        Self { deadlines: Deadlines::DEFAULT, canceller: None, checks_limits: true };

    /// Limits a wait of a call: to `within` from now, and to the end of the call.
    pub(super) fn until(&self, call: Clock, within: Option<Duration>) -> WaitLimit<'_> {
        let deadline = after(within).into_iter().chain(call.whole).min();
        WaitLimit { deadline, canceller: self.canceller.as_ref() }
    }
}

/// The deadline of a call that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    whole: Option<Instant>,
}

impl Clock {
    pub(super) fn start(deadlines: &Deadlines) -> Self {
        Self { whole: after(deadlines.whole) }
    }
}

/// A deadline beyond the clock's range is none.
pub(super) fn after(within: Option<Duration>) -> Option<Instant> {
    within.and_then(|within| Instant::now().checked_add(within))
}
