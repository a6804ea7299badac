//! What a session asks for.

use super::SessionOutcome;

/// What a [`Session`](super::Session) asks for.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{Session, SessionAction};
///
/// let mut session = Session::streaming(Some(42), u64::MAX);
/// assert_eq!(session.action(), SessionAction::Read);
/// session.received(b"Nettrace")?;
/// session.begin_stop()?;
/// assert_eq!(session.action(), SessionAction::ReadAndAwaitStop);
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the exchange advances only when the action is done"]
pub enum SessionAction {
    /// Read the stream: [`received`](super::Session::received), and at its end
    /// [`ended`](super::Session::ended). To end the session early, stop it:
    /// [`begin_stop`](super::Session::begin_stop).
    Read,
    /// Continue to read the stream *while* the stop's connection waits for its reply. A runtime
    /// does not answer before the stream has been read, so doing one after the other blocks
    /// forever (F-75).
    ReadAndAwaitStop,
    /// Keep the connection of a `user_events` session open, and watch for its end: it carries no
    /// data, and the session ends with it (F-23). To end the session, close it
    /// ([`hung_up`](super::Session::hung_up)) or stop the session.
    Hold,
    /// The same while waiting for the stop's reply.
    HoldAndAwaitStop,
    /// The session's connection has ended; the stop's reply, or the end of its connection, is
    /// pending.
    AwaitStop,
    /// The stream exceeds the caller's limit, or is to be stopped before its first byte arrived: close
    /// the session's connection, then [`hung_up`](super::Session::hung_up).
    HangUp,
    /// The exchange is over.
    Finished(SessionOutcome),
}
