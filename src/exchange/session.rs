//! A tracing session: its connection, and its `StopTracing` on another connection.

use super::{End, MisuseError, Outcome};
use crate::continuation::OpaqueStream;
use crate::hresult::HResult;
use crate::message::{Message, Reply, eventpipe::StopTracing};

/// A tracing session after the reply that started it: the stream on one connection, and
/// `StopTracing` on another.
///
/// Runtimes ignore a `StopTracing` or a half-close on the stream's own connection (F-76). Send
/// `StopTracing` on a second connection, or close the stream's connection. The stop's reply and the
/// end of the stream may arrive in either order, with the same outcome.
///
/// A session of which no byte has arrived belongs to a runtime that is suspended at its start. A
/// `StopTracing` kills many of these runtimes later (F-160), so [`begin_stop`](Self::begin_stop)
/// closes the session instead.
#[cfg_attr(doc, doc = include_str!("../pictures/session.svg"))]
///
/// A [`ClientExchange`](super::ClientExchange) performs the stop; report its start and outcome to the session. Wait
/// for its reply as [`ReplyDeadline::AfterStreamEnd`](super::ReplyDeadline::AfterStreamEnd) says.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{AfterReply, End, Outcome, Session, SessionAction, StopOutcome};
/// use dotnet_diagnostics_ipc::message::Request as _;
///
/// // The reply to CollectTracing2 was OK with session id 42. The caller accepts at most a gigabyte.
/// let mut session = Session::streaming(Some(42), 1 << 30);
/// session.received(b"Nettrace...")?;
///
/// let stop = session.begin_stop()?.expect("a byte has arrived");
/// let mut buffer = [0; 64];
/// stop.encode_message(&mut buffer)?; // to send over a second connection
/// assert_eq!(session.action(), SessionAction::Read);
/// session.received(b"...rundown")?;
/// buffer[..28].copy_from_slice(b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0"); // the reply overwrites it
/// session.stop_finished(Outcome::Ok { size: 28, then: AfterReply::Close }, &buffer)?;
/// session.ended(End::Closed)?;
///
/// let SessionAction::Finished(outcome) = session.action() else { panic!() };
/// assert_eq!((outcome.bytes, outcome.stop, outcome.is_complete()), (21, StopOutcome::Answered, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// `examples/loop_mio.rs` reads and stops the sessions of several runtimes in one loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    id: Option<u64>,
    stream: OpaqueStream,
    stop: StopOutcome,
    connection: Connection,
    streams: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connection {
    Open,
    /// The caller must close the connection, which then has this end.
    ToClose(SessionEnd),
    Over(SessionEnd),
}

/// The next action of a [`Session`].
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{End, Session, SessionAction};
///
/// let mut session = Session::streaming(Some(42), u64::MAX);
/// assert_eq!(session.action(), SessionAction::Read);
/// session.received(b"Nettrace")?;
/// session.begin_stop()?;
/// assert_eq!(session.action(), SessionAction::Read); // while the stop waits for its reply
/// session.ended(End::Closed)?;
/// assert_eq!(session.action(), SessionAction::AwaitStop);
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the exchange advances only when the action is done"]
pub enum SessionAction {
    /// Read the session's connection. Call [`Session::received`] and, at its end, [`Session::ended`].
    /// The connection of a `user_events` session carries no data, only its end (F-23).
    ///
    /// Continue *while* a stop is pending ([`Session::stop`]). A runtime does not answer the stop
    /// before the stream has been read, so waiting for the reply first blocks forever (F-75).
    Read,
    /// The session's connection has ended. Wait for the stop's reply, or for the end of the stop's
    /// connection.
    AwaitStop,
    /// Close the session's connection, then call [`Session::hung_up`]. The stream exceeds the
    /// caller's limit, or was stopped before its first byte arrived.
    HangUp,
    /// The exchange is over.
    Finished(SessionOutcome),
}

/// The outcome of a session.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{End, Session, SessionAction, SessionEnd, SessionOutcome, StopOutcome};
///
/// // The target dies before the session is stopped.
/// let mut session = Session::streaming(Some(42), u64::MAX);
/// session.received(b"Nettrace")?;
/// session.ended(End::Closed)?;
/// let outcome = SessionOutcome { streamed: true, bytes: 8, end: SessionEnd::Ended(End::Closed), stop: StopOutcome::NotSent };
/// assert_eq!(session.action(), SessionAction::Finished(outcome));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionOutcome {
    /// Whether the session streamed. Otherwise it wrote `user_events`.
    pub streamed: bool,
    /// The number of bytes of the stream that arrived within the limit.
    pub bytes: u64,
    /// How the session's connection ended.
    pub end: SessionEnd,
    /// The outcome of the session's last `StopTracing`.
    pub stop: StopOutcome,
}

impl SessionOutcome {
    /// Returns whether the stream is complete. Treat an incomplete stream as corrupted, because the
    /// target died or the connection was cut off. A session that wrote `user_events` has no stream
    /// and is never complete.
    ///
    /// A stream is complete if the runtime answered the stop with OK, which it does once the
    /// rundown is written (F-76). It must also have closed the stream within the caller's limits.
    pub fn is_complete(&self) -> bool {
        let stopped = matches!(self.stop, StopOutcome::Answered | StopOutcome::AnsweredWithoutId);
        self.streamed && stopped && self.end == SessionEnd::Ended(End::Closed)
    }
}

/// How the connection of a session ended.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{Session, SessionAction, SessionEnd};
///
/// // More bytes arrive than the limit, so the caller must close the connection.
/// let mut session = Session::streaming(Some(42), 3);
/// assert_eq!(session.received(b"abcde")?, b"abc");
/// assert_eq!(session.action(), SessionAction::HangUp);
/// session.hung_up()?;
/// let SessionAction::Finished(outcome) = session.action() else { panic!() };
/// assert_eq!((outcome.end, outcome.bytes), (SessionEnd::LimitReached, 3));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionEnd {
    /// The connection ended without the caller.
    Ended(End),
    /// The caller closed the connection.
    HungUp,
    /// The caller closed the connection because the stream exceeded the limit. A `user_events`
    /// session exceeds it with its first byte.
    LimitReached,
}

/// The outcome of a session's `StopTracing`.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{AfterReply, Outcome, Session, StopOutcome};
///
/// let mut session = Session::streaming(Some(42), u64::MAX);
/// session.received(b"Nettrace")?;
/// session.begin_stop()?;
/// assert_eq!(session.stop(), StopOutcome::Awaited);
/// let reply = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2b\0\0\0\0\0\0\0";
/// session.stop_finished(Outcome::Ok { size: 28, then: AfterReply::Close }, reply)?;
/// assert_eq!(session.stop(), StopOutcome::OtherId(43));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopOutcome {
    /// No stop was sent while the session's connection was open. A later stop would mean nothing,
    /// because unknown ids are answered with OK (F-31). A session of which no byte arrived is
    /// closed instead (F-160).
    NotSent,
    /// The stop is pending.
    Awaited,
    /// The reply was OK with the session's id (F-31).
    Answered,
    /// The reply was OK without an id, the generic OK (F-2).
    AnsweredWithoutId,
    /// The reply was OK with the id of another session, so it is unknown which session was stopped.
    OtherId(u64),
    /// The reply was an error.
    Refused(HResult),
    /// The message received is not a valid reply.
    Malformed,
    /// The stop's connection ended without a reply. After a timeout the runtime may still answer, if
    /// the stream is read.
    Unanswered(End),
}

impl Session {
    /// Returns a session that streams over its connection, of which the caller accepts `limit`
    /// bytes. A session without an id, which the generic OK lacks
    /// ([`AfterReply::Stream`](super::AfterReply::Stream)), cannot be stopped, only closed.
    pub const fn streaming(session_id: Option<u64>, limit: u64) -> Self {
        Self {
            id: session_id,
            stream: OpaqueStream::with_limit(limit),
            stop: StopOutcome::NotSent,
            connection: Connection::Open,
            streams: true,
        }
    }

    /// Returns a session that writes `user_events`. It has no stream and ends with its connection
    /// (F-23).
    pub const fn user_events(session_id: Option<u64>) -> Self {
        Self { streams: false, ..Self::streaming(session_id, 0) }
    }

    /// Returns the current action, and changes nothing.
    pub const fn action(&self) -> SessionAction {
        match (self.connection, self.stop) {
            (Connection::Open, _) => SessionAction::Read,
            (Connection::ToClose(_), _) => SessionAction::HangUp,
            (Connection::Over(_), StopOutcome::Awaited) => SessionAction::AwaitStop,
            (Connection::Over(end), stop) => SessionAction::Finished(SessionOutcome {
                streamed: self.streams,
                bytes: self.stream.passed(),
                end,
                stop,
            }),
        }
    }

    /// Reports bytes that arrived on the session's connection. Returns the bytes within the limit;
    /// the others are not counted.
    pub fn received<'i>(&mut self, bytes: &'i [u8]) -> Result<&'i [u8], MisuseError> {
        if self.connection != Connection::Open {
            return Err(MisuseError::NotAsked);
        }
        if bytes.is_empty() {
            return Err(MisuseError::NoBytes);
        }
        let (within, beyond) = self.stream.pass(bytes);
        if !beyond.is_empty() {
            self.connection = Connection::ToClose(SessionEnd::LimitReached);
        }
        Ok(within)
    }

    /// Reports that the session's connection ended, or that the caller's time limit expired.
    pub fn ended(&mut self, end: End) -> Result<(), MisuseError> {
        self.end(SessionEnd::Ended(end))
    }

    /// Reports that the caller has closed the session's connection, as asked or by its own
    /// decision. This ends a `user_events` session (F-23), and leaves an unfinished stream
    /// incomplete.
    pub fn hung_up(&mut self) -> Result<(), MisuseError> {
        self.end(SessionEnd::HungUp)
    }

    fn end(&mut self, end: SessionEnd) -> Result<(), MisuseError> {
        self.connection = Connection::Over(match self.connection {
            Connection::Open => end,
            Connection::ToClose(end) => end,
            Connection::Over(_) => return Err(MisuseError::NotAsked),
        });
        Ok(())
    }

    /// Returns the number of bytes of the stream that arrived so far, within the limit.
    pub const fn bytes(&self) -> u64 {
        self.stream.passed()
    }

    /// Returns the state of the stop, which is [`StopOutcome::Awaited`] while one is pending.
    pub const fn stop(&self) -> StopOutcome {
        self.stop
    }

    /// Returns the session's id, or `None` if the runtime did not report it (F-2).
    pub const fn id(&self) -> Option<u64> {
        self.id
    }

    /// Begins to stop the session. Call it before sending, because the end of the stream may arrive before a
    /// later call. Returns the request to send. A failed stop may be repeated. Returns `None` if no byte of
    /// the stream has been read, because `StopTracing` would harm a runtime that is suspended at its start
    /// (F-160); the action is then [`HangUp`](SessionAction::HangUp).
    ///
    /// # Errors
    /// [`MisuseError`] if the session's connection has ended, if its id is unknown, or if a stop is
    /// pending or was answered with OK.
    pub fn begin_stop(&mut self) -> Result<Option<StopTracing>, MisuseError> {
        let repeatable = matches!(
            self.stop,
            StopOutcome::NotSent
                | StopOutcome::Refused(_)
                | StopOutcome::Malformed
                | StopOutcome::Unanswered(_)
        );
        let (Connection::Open, Some(session_id), true) = (self.connection, self.id, repeatable)
        else {
            return Err(MisuseError::NotAsked);
        };
        if self.streams && self.stream.passed() == 0 {
            self.connection = Connection::ToClose(SessionEnd::HungUp);
            return Ok(None);
        }
        self.stop = StopOutcome::Awaited;
        Ok(Some(StopTracing { session_id }))
    }

    /// Reports the outcome of `StopTracing`; `buffer` has its reply. A repeated report changes
    /// nothing.
    ///
    /// # Errors
    /// [`MisuseError`] if no stop is pending, or if `buffer` is shorter than the reply. Also after
    /// [`Outcome::BufferTooSmall`], because the client can still continue.
    pub fn stop_finished(&mut self, outcome: Outcome, buffer: &[u8]) -> Result<(), MisuseError> {
        let stop = match outcome {
            Outcome::Ok { size, .. } => {
                let needed = usize::from(size);
                self.judge(buffer.get(..needed).ok_or(MisuseError::BufferTooShort { needed })?)
            }
            Outcome::Error { hresult, .. } => StopOutcome::Refused(hresult),
            Outcome::BufferTooSmall { size } => {
                return Err(MisuseError::BufferTooShort { needed: size.into() });
            }
            Outcome::NoReply { end, .. } | Outcome::Cut { end, .. } => StopOutcome::Unanswered(end),
            Outcome::Malformed { .. } => StopOutcome::Malformed,
        };
        if self.stop != StopOutcome::Awaited && self.stop != stop {
            return Err(MisuseError::NotAsked);
        }
        self.stop = stop;
        Ok(())
    }

    /// Reports that no connection was available to send the stop, which may be repeated.
    pub fn stop_not_sent(&mut self) -> Result<(), MisuseError> {
        if self.stop != StopOutcome::Awaited {
            return Err(MisuseError::NotAsked);
        }
        self.stop = StopOutcome::NotSent;
        Ok(())
    }

    /// Returns the outcome that the stop's reply means.
    fn judge(&self, reply: &[u8]) -> StopOutcome {
        match Message::decode(reply).and_then(|message| message.reply_as::<StopTracing>()) {
            Ok(Reply::Ok(reply)) if Some(reply.session_id) == self.id => StopOutcome::Answered,
            Ok(Reply::Ok(reply)) => StopOutcome::OtherId(reply.session_id),
            Ok(Reply::OkWithoutPayload) => StopOutcome::AnsweredWithoutId,
            Ok(Reply::Error(error)) => StopOutcome::Refused(error.hresult),
            Err(_) => StopOutcome::Malformed,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::exchange::AfterReply;
    use std::vec::Vec;

    const ENDS: [End; 3] = [End::Closed, End::Reset, End::TimedOut];
    const OK_42: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0";
    const OK_43: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2b\0\0\0\0\0\0\0";
    const CUT: &[u8] = b"DOTNET_IPC_V1\0\x1b\0\xff\0\0\0\x2a\0\0\0\0\0\0";
    const NOT_ASKED: Result<(), MisuseError> = Err(MisuseError::NotAsked);

    const fn ok(size: u16) -> Outcome {
        Outcome::Ok { size, then: AfterReply::Close }
    }

    /// Returns every outcome of a stop, with the reply and the session's value for it.
    fn stops() -> Vec<(Outcome, &'static [u8], StopOutcome)> {
        let malformed = crate::wire::WireErrorKind::BadMagic;
        let mut stops: Vec<(Outcome, &'static [u8], StopOutcome)> = std::vec![
            (ok(28), OK_42, StopOutcome::Answered),
            (ok(28), OK_43, StopOutcome::OtherId(43)),
            (ok(20), b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0", StopOutcome::AnsweredWithoutId),
            (
                Outcome::Error { size: 24, hresult: HResult::BAD_ENCODING },
                &[],
                StopOutcome::Refused(HResult::BAD_ENCODING)
            ),
            (Outcome::Malformed { kind: malformed, offset: 0 }, &[], StopOutcome::Malformed),
            (ok(27), CUT, StopOutcome::Malformed),
        ];
        for end in ENDS {
            let unanswered = StopOutcome::Unanswered(end);
            stops.push((Outcome::NoReply { end, request_sent: true }, &[], unanswered));
            stops.push((Outcome::Cut { received: 3, end }, &[], unanswered));
        }
        stops
    }

    /// Returns a session whose first byte has arrived.
    fn begun(limit: u64) -> Session {
        let mut session = Session::streaming(Some(42), limit);
        session.received(b"a").unwrap();
        session
    }

    #[track_caller]
    fn outcome(session: &Session) -> SessionOutcome {
        let SessionAction::Finished(outcome) = session.action() else { panic!("{session:?}") };
        outcome
    }

    #[test]
    fn order_of_ends_does_not_change_outcome() {
        for ((reply, buffer, stop), end) in
            stops().into_iter().flat_map(|stop| ENDS.map(|end| (stop, end)))
        {
            let mut stream_first = begun(100);
            stream_first.begin_stop().unwrap();
            stream_first.received(b"bcd").unwrap();
            let mut stop_first = stream_first.clone();
            stream_first.ended(end).unwrap();
            assert_eq!(stream_first.action(), SessionAction::AwaitStop);
            stream_first.stop_finished(reply, buffer).unwrap();
            stop_first.stop_finished(reply, buffer).unwrap();
            assert_eq!(stop_first.action(), SessionAction::Read);
            stop_first.ended(end).unwrap();

            let expected =
                SessionOutcome { streamed: true, bytes: 4, end: SessionEnd::Ended(end), stop };
            assert_eq!((outcome(&stream_first), outcome(&stop_first)), (expected, expected));
            let is_complete = end == End::Closed
                && matches!(stop, StopOutcome::Answered | StopOutcome::AnsweredWithoutId);
            assert_eq!(expected.is_complete(), is_complete, "{expected:?}");
        }
    }

    #[test]
    fn stop_is_repeated_unless_pending_or_answered_with_ok() {
        for (reply, buffer, stop) in stops() {
            let mut session = begun(100);
            assert_eq!(session.stop_finished(reply, buffer), NOT_ASKED);
            session.begin_stop().unwrap();
            session.stop_not_sent().unwrap();
            assert_eq!(
                (session.stop(), session.stop_not_sent()),
                (StopOutcome::NotSent, NOT_ASKED)
            );
            assert_eq!(session.begin_stop(), Ok(Some(StopTracing { session_id: 42 })));
            assert_eq!(session.begin_stop(), Err(MisuseError::NotAsked));
            session.stop_finished(reply, buffer).unwrap();
            let once = session.clone();
            // Repeating a report changes nothing, and a different report is refused.
            assert_eq!(session.stop_finished(reply, buffer), Ok(()));
            let other = Outcome::Error { size: 24, hresult: HResult::FAIL };
            assert_eq!((session.stop_finished(other, &[]), &session), (NOT_ASKED, &once));
            let is_final = matches!(
                stop,
                StopOutcome::Answered | StopOutcome::AnsweredWithoutId | StopOutcome::OtherId(_)
            );
            assert_eq!((session.stop(), session.begin_stop().is_err()), (stop, is_final));
        }
        let mut session = begun(100);
        session.begin_stop().unwrap();
        let too_short = |needed| Err(MisuseError::BufferTooShort { needed });
        assert_eq!(session.stop_finished(ok(28), &OK_42[..27]), too_short(28));
        let too_small = Outcome::BufferTooSmall { size: 99 };
        assert_eq!(session.stop_finished(too_small, &[]), too_short(99));
        assert_eq!(Session::streaming(None, 5).begin_stop(), Err(MisuseError::NotAsked));
    }

    /// A runtime answers OK to an id that it no longer knows (F-31).
    #[test]
    fn stop_after_the_end_is_refused() {
        for end in ENDS {
            let mut session = begun(100);
            session.ended(end).unwrap();
            let over = session.clone();
            assert_eq!(session.begin_stop(), Err(MisuseError::NotAsked));
            assert_eq!(session.stop_finished(ok(28), OK_42), NOT_ASKED);
            assert_eq!(session.received(b"late"), Err(MisuseError::NotAsked));
            assert_eq!([session.ended(End::Closed), session.hung_up()], [NOT_ASKED; 2]);
            assert_eq!(session, over);
            assert!(!outcome(&session).is_complete());
        }
    }

    /// `StopTracing` harms a runtime that is suspended at its start (F-160).
    #[test]
    fn session_without_a_byte_is_closed_not_stopped() {
        let mut session = Session::streaming(Some(42), 100);
        assert_eq!(session.received(b""), Err(MisuseError::NoBytes));
        assert_eq!(session.begin_stop(), Ok(None));
        assert_eq!(session.action(), SessionAction::HangUp);
        let before = session.clone();
        assert_eq!(session.begin_stop(), Err(MisuseError::NotAsked));
        assert_eq!(session.received(b"late"), Err(MisuseError::NotAsked));
        assert_eq!(session, before);
        session.hung_up().unwrap();
        let (end, stop) = (SessionEnd::HungUp, StopOutcome::NotSent);
        assert_eq!(outcome(&session), SessionOutcome { streamed: true, bytes: 0, end, stop });
    }

    #[test]
    fn stream_over_limit_is_closed_without_loss() {
        for (stopped, peer_closes) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut session = begun(5);
            assert_eq!(session.received(b"bcde"), Ok(&b"bcde"[..]));
            assert_eq!(session.action(), SessionAction::Read);
            if stopped {
                session.begin_stop().unwrap();
            }
            assert_eq!(session.received(b"fg"), Ok(&[][..]));
            assert_eq!(session.action(), SessionAction::HangUp);
            assert_eq!(session.begin_stop(), Err(MisuseError::NotAsked));
            if peer_closes { session.ended(End::Closed) } else { session.hung_up() }.unwrap();
            if stopped {
                assert_eq!(session.action(), SessionAction::AwaitStop);
                session.stop_finished(ok(28), OK_42).unwrap();
            }
            let outcome = outcome(&session);
            assert_eq!((outcome.bytes, outcome.end), (5, SessionEnd::LimitReached));
            assert!(!outcome.is_complete());
        }
    }

    #[test]
    fn user_events_session_is_stopped_without_a_byte() {
        let mut session = Session::user_events(Some(42));
        assert_eq!(session.begin_stop(), Ok(Some(StopTracing { session_id: 42 })));
        session.stop_finished(ok(28), OK_42).unwrap();
        let mut closed = session.clone();
        closed.ended(End::Closed).unwrap();
        assert_eq!((outcome(&closed).is_complete(), outcome(&closed).streamed), (false, false));
        assert_eq!(session.received(b"x"), Ok(&[][..]));
        session.hung_up().unwrap();
        assert_eq!((outcome(&session).end, outcome(&session).bytes), (SessionEnd::LimitReached, 0));
        assert!(size_of::<Session>() <= 64, "{}", size_of::<Session>());
    }
}
