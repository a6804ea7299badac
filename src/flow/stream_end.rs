//! How a stream ended.

/// How a nettrace stream ended.
///
/// ```
/// use dotnet_diagnostics_ipc::flow::StreamEnd;
///
/// assert_eq!(StreamEnd::after(false), StreamEnd::Incomplete);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamEnd {
    /// `StopTracing` was sent: the rundown is in it.
    Complete,
    /// It ended before that: the target died or was cut off, and what was read is to be treated as corrupted.
    Incomplete,
}

impl StreamEnd {
    /// How a stream ended that came to its end after `StopTracing` was sent, or without it.
    pub const fn after(stop_was_sent: bool) -> Self {
        if stop_was_sent { Self::Complete } else { Self::Incomplete }
    }
}
