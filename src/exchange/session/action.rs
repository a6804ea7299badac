//! What a session asks for.

use super::SessionOutcome;

/// What a [`Session`](super::Session) asks for.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{Session, SessionAction};
///
/// let mut session = Session::streaming(Some(42), u64::MAX);
/// assert_eq!(session.action(), SessionAction::Read);
/// session.stopping()?;
/// assert_eq!(session.action(), SessionAction::ReadAndAwaitStop);
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an action that is not done leaves the exchange where it is"]
pub enum SessionAction {
    /// Read the stream: [`received`](super::Session::received), and at its end [`ended`](super::Session::ended). Whoever has
    /// enough stops the session: [`stopping`](super::Session::stopping).
    Read,
    /// Go on reading the stream *while* the stop's reply is awaited on its own connection. A runtime does not answer before the
    /// stream has been read, so one after the other waits for ever (F-75).
    ReadAndAwaitStop,
    /// Keep the connection of a `user_events` session open, and watch for its end: nothing comes over it, and the session ends
    /// with it (F-23). Whoever has enough closes it ([`hung_up`](super::Session::hung_up)), or stops the session.
    Hold,
    /// The same while the stop's reply is awaited.
    HoldAndAwaitStop,
    /// The session's connection is over; the stop's reply is still to come, or its end.
    AwaitStop,
    /// More came than the caller's limit: close the session's connection, then [`hung_up`](super::Session::hung_up).
    HangUp,
    /// Nothing more is asked for.
    Finished(SessionOutcome),
}
