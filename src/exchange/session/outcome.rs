//! The outcome of a session.

use super::StreamEnd;
use crate::exchange::End;
use crate::hresult::HResult;

/// How the connection of a session ended.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{Session, SessionAction, SessionEnd};
///
/// // More bytes than the limit: the excess is returned, and the caller must close the connection.
/// let mut session = Session::streaming(Some(42), 3);
/// assert_eq!(session.received(b"abcde")?.within, b"abc");
/// assert_eq!(session.action(), SessionAction::HangUp);
/// session.hung_up()?;
/// let SessionAction::Finished(outcome) = session.action() else { panic!() };
/// assert_eq!((outcome.end, outcome.bytes), (SessionEnd::LimitReached, 3));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionEnd {
    /// By itself.
    Ended(End),
    /// The caller closed it.
    HungUp,
    /// The caller closed it because it exceeded the limit; for a `user_events` session, because any
    /// byte arrived.
    LimitReached,
}

/// The outcome of a session's `StopTracing`.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{End, Outcome, Session, SessionAction, StopOutcome, AfterReply};
///
/// let mut session = Session::streaming(Some(42), u64::MAX);
/// session.received(b"Nettrace")?;
/// session.begin_stop()?;
/// session.ended(End::Closed)?;
/// session.stop_finished(Outcome::Ok { size: 28, then: AfterReply::Close }, b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2b\0\0\0\0\0\0\0")?;
/// let SessionAction::Finished(outcome) = session.action() else { panic!() };
/// assert_eq!(outcome.stop, StopOutcome::OtherId(43));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopOutcome {
    /// It was not sent while the session's connection was open. Later it means nothing: unknown ids
    /// are answered with OK (F-31). A session of which no byte arrived is closed instead (F-160).
    NotSent,
    /// It is pending.
    Awaited,
    /// OK, with the session's id (F-31).
    Answered,
    /// OK, without an id: the generic OK (F-2).
    AnsweredWithoutId,
    /// OK, with the id of another session: it is unknown which one was stopped.
    OtherId(u64),
    /// An error.
    Refused(HResult),
    /// The message received is not a reply.
    Malformed,
    /// The stop had no connection, or its connection ended without a reply. After a timeout it may
    /// still be answered, if the stream is read.
    Unanswered(End),
}

/// The outcome of a session.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{End, Session, SessionAction, StopOutcome, StreamEnd};
///
/// // The target dies before the session is stopped.
/// let mut session = Session::streaming(Some(42), u64::MAX);
/// session.received(b"Nettrace")?;
/// session.ended(End::Closed)?;
/// let SessionAction::Finished(outcome) = session.action() else { panic!() };
/// assert_eq!((outcome.bytes, outcome.stop, outcome.stream_end()), (8, StopOutcome::NotSent, Some(StreamEnd::Incomplete)));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionOutcome {
    /// Whether the session streamed; otherwise it wrote `user_events`.
    pub streamed: bool,
    /// How many bytes of the stream arrived, within the limit.
    pub bytes: u64,
    /// How its connection ended.
    pub end: SessionEnd,
    /// The outcome of its last `StopTracing`.
    pub stop: StopOutcome,
}

impl SessionOutcome {
    /// Whether the stream is complete; `None` if the session wrote `user_events`.
    ///
    /// [`Complete`](StreamEnd::Complete) requires that the runtime answered the stop with OK, which
    /// it does once the rundown is written (F-76), and that the stream was then closed, not cut
    /// off, given up, or longer than the limit.
    pub fn stream_end(&self) -> Option<StreamEnd> {
        let stopped = matches!(self.stop, StopOutcome::Answered | StopOutcome::AnsweredWithoutId);
        let is_complete = stopped && self.end == SessionEnd::Ended(End::Closed);
        self.streamed.then_some(if is_complete {
            StreamEnd::Complete
        } else {
            StreamEnd::Incomplete
        })
    }
}
