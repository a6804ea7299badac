//! How a stream ended.

/// How a session's stream ended: [`SessionOutcome::stream_end`](super::SessionOutcome::stream_end).
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{End, Session, SessionAction, StreamEnd};
///
/// let mut session = Session::streaming(Some(42), u64::MAX);
/// session.ended(End::Closed)?;
/// let SessionAction::Finished(outcome) = session.action() else { panic!() };
/// assert_eq!(outcome.stream_end(), Some(StreamEnd::Incomplete));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamEnd {
    /// `StopTracing` was answered: the rundown is in it.
    Complete,
    /// It ended before that: the target died or was cut off. Treat the data as corrupted.
    Incomplete,
}
