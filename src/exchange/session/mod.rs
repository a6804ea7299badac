//! A session: its connection, and its `StopTracing` on another one.

mod action;
mod outcome;
mod stream_end;

pub use action::SessionAction;
pub use outcome::{SessionEnd, SessionOutcome, StopOutcome};
pub use stream_end::StreamEnd;

use super::{End, MisuseError, Outcome};
use crate::continuation::OpaqueStream;
use crate::message::{Message, Reply, eventpipe::StopTracing};

/// A session from the reply that started it: the stream on one connection, and `StopTracing` on
/// another.
///
/// Runtimes ignore a `StopTracing` on the stream's own connection, and a half-close of it (F-76).
/// Send it on a second connection, or close the stream's. The stop's reply and the end of the stream
/// arrive in either order, with the same outcome.
///
/// A session of which no byte arrived belongs to a runtime that waits at its start, and `StopTracing`
/// then kills many runtimes later (F-160). [`begin_stop`](Self::begin_stop) closes such a session
/// instead.
#[cfg_attr(doc, doc = include_str!("../../pictures/session.svg"))]
///
/// A [`Client`](super::Client) performs the stop; report its start and outcome to the session. How
/// long to wait for its reply:
/// [`ReplyDeadline::AfterStreamEnd`](super::ReplyDeadline::AfterStreamEnd).
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{End, Outcome, Session, SessionAction, StopOutcome, StreamEnd, AfterReply};
/// use dotnet_diagnostics_ipc::message::Request as _;
///
/// // The reply to CollectTracing2 was OK, with session id 42. The caller takes at most a gigabyte.
/// let mut session = Session::streaming(Some(42), 1 << 30);
/// session.received(b"Nettrace...")?;
///
/// let stop = session.begin_stop()?.expect("a byte has arrived");
/// let mut buffer = [0; 64];
/// stop.encode_message(&mut buffer)?; // goes over a second connection
/// assert_eq!(session.action(), SessionAction::ReadAndAwaitStop);
/// session.received(b"...rundown")?;
/// buffer[..28].copy_from_slice(b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0"); // the reply overwrites it
/// session.stop_finished(Outcome::Ok { size: 28, then: AfterReply::Close }, &buffer)?;
/// assert_eq!(session.action(), SessionAction::Read);
/// session.ended(End::Closed)?;
///
/// let SessionAction::Finished(outcome) = session.action() else { panic!() };
/// assert_eq!((outcome.bytes, outcome.stop, outcome.stream_end()), (21, StopOutcome::Answered, Some(StreamEnd::Complete)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Both connections in one loop
///
/// ```
/// use std::io::{self, ErrorKind, Read, Write};
/// use dotnet_diagnostics_ipc::exchange::{Client, ClientAction, End, Session, SessionAction, SessionOutcome};
///
/// /// A step of the client, then a step of the session, until both are over. With polled sockets, wait before each round until
/// /// one of the two is ready; the deadlines are yours as well: `client.ended(End::TimedOut)`.
/// fn stop(session: &mut Session, stream: &mut impl Read, stopping: &mut (impl Read + Write)) -> Result<SessionOutcome, Box<dyn std::error::Error>> {
///     let mut buffer = [0; 128];
///     let mut client = match session.begin_stop()? {
///         Some(request) => Some(Client::new(&request, &mut buffer)?),
///         None => None, // the session is closed instead
///     };
///     loop {
///         if let Some(client) = &mut client {
///             match client.action() {
///                 ClientAction::Send(range) => match stopping.write(&buffer[range]) {
///                     Ok(n @ 1..) => client.sent(n)?,
///                     Err(error) if end(&error).is_none() => {}
///                     Ok(_) | Err(_) => client.send_failed()?,
///                 },
///                 ClientAction::Receive(range) => match stopping.read(&mut buffer[range]) {
///                     Ok(0) => client.ended(End::Closed)?,
///                     Ok(n) => client.received(&buffer, n)?,
///                     Err(error) => end(&error).map_or(Ok(()), |end| client.ended(end))?,
///                 },
///                 ClientAction::Finished(outcome) => session.stop_finished(outcome, &buffer)?, // once or often
///                 ClientAction::SendFd(_) => unreachable!("not a request for user_events"),
///             }
///         }
///         match session.action() {
///             SessionAction::Read | SessionAction::ReadAndAwaitStop => {
///                 let mut piece = [0; 4096];
///                 match stream.read(&mut piece) {
///                     Ok(0) => session.ended(End::Closed)?,
///                     Ok(n) => io::sink().write_all(session.received(&piece[..n])?.within)?,
///                     Err(error) => end(&error).map_or(Ok(()), |end| session.ended(end))?,
///                 }
///             }
///             SessionAction::HangUp => session.hung_up()?, // close the stream's connection
///             SessionAction::Hold | SessionAction::HoldAndAwaitStop | SessionAction::AwaitStop => {}
///             SessionAction::Finished(outcome) => return Ok(outcome),
///         }
///     }
/// }
///
/// /// `None`: a signal arrived, or nothing can be read or written now. The next round tries again.
/// fn end(error: &io::Error) -> Option<End> {
///     match error.kind() {
///         ErrorKind::Interrupted | ErrorKind::WouldBlock => None,
///         ErrorKind::TimedOut => Some(End::TimedOut),
///         _ => Some(End::Reset),
///     }
/// }
/// # use dotnet_diagnostics_ipc::exchange::{StopOutcome, StreamEnd};
/// # struct Peer(&'static [u8], Vec<ErrorKind>);
/// # impl Read for Peer {
/// #     fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
/// #         if let Some(kind) = self.1.pop() { return Err(kind.into()); }
/// #         let n = into.len().min(5);
/// #         self.0.read(&mut into[..n])
/// #     }
/// # }
/// # impl Write for Peer {
/// #     fn write(&mut self, bytes: &[u8]) -> io::Result<usize> { Ok(bytes.len().min(5)) }
/// #     fn flush(&mut self) -> io::Result<()> { Ok(()) }
/// # }
///
/// let mut session = Session::streaming(Some(42), 1 << 30);
/// session.received(b"Nettrace")?;
/// // Each is interrupted, and once has nothing to read.
/// let errors = vec![ErrorKind::Interrupted, ErrorKind::WouldBlock];
/// let mut stream = Peer(b"the rest of the stream", errors.clone());
/// let mut stopping = Peer(b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0", errors);
/// let outcome = stop(&mut session, &mut stream, &mut stopping)?;
/// assert_eq!((outcome.bytes, outcome.stop, outcome.stream_end()), (30, StopOutcome::Answered, Some(StreamEnd::Complete)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    id: Option<u64>,
    stream: OpaqueStream,
    stop: StopOutcome,
    connection: Connection,
    streams: bool,
}

/// Bytes that [`Session::received`] has divided at the caller's limit.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{Session, StreamBytes};
///
/// let mut session = Session::streaming(Some(42), 3);
/// assert_eq!(session.received(b"abcde")?, StreamBytes { within: b"abc", beyond: b"de" });
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamBytes<'i> {
    /// The next bytes of the stream.
    pub within: &'i [u8],
    /// The bytes beyond the limit, which are not counted.
    pub beyond: &'i [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connection {
    Open,
    /// It is to be closed, with this end.
    ToClose(SessionEnd),
    Over(SessionEnd),
}

impl Session {
    /// A session that streams over its connection; the caller accepts `limit` bytes. Without the
    /// id, which the generic OK lacks ([`AfterReply::Stream`](super::AfterReply::Stream)), it
    /// cannot be stopped, only closed.
    pub const fn streaming(session_id: Option<u64>, limit: u64) -> Self {
        Self {
            id: session_id,
            stream: OpaqueStream::with_limit(limit),
            stop: StopOutcome::NotSent,
            connection: Connection::Open,
            streams: true,
        }
    }

    /// A session that writes `user_events`. Its connection carries no data; the session ends with
    /// it (F-23).
    pub const fn user_events(session_id: Option<u64>) -> Self {
        Self { streams: false, ..Self::streaming(session_id, 0) }
    }

    /// The current action. Has no side effects.
    pub const fn action(&self) -> SessionAction {
        match (self.connection, self.stop, self.streams) {
            (Connection::Open, StopOutcome::Awaited, true) => SessionAction::ReadAndAwaitStop,
            (Connection::Open, StopOutcome::Awaited, false) => SessionAction::HoldAndAwaitStop,
            (Connection::Open, _, true) => SessionAction::Read,
            (Connection::Open, _, false) => SessionAction::Hold,
            (Connection::ToClose(_), _, _) => SessionAction::HangUp,
            (Connection::Over(_), StopOutcome::Awaited, _) => SessionAction::AwaitStop,
            (Connection::Over(end), stop, streamed) => SessionAction::Finished(SessionOutcome {
                streamed,
                bytes: self.stream.passed(),
                end,
                stop,
            }),
        }
    }

    /// These bytes arrived on the session's connection.
    ///
    /// # Errors
    /// [`MisuseError`] if the connection should not be read, or no byte arrived: that is an
    /// [end](Self::ended).
    pub fn received<'i>(&mut self, bytes: &'i [u8]) -> Result<StreamBytes<'i>, MisuseError> {
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
        Ok(StreamBytes { within, beyond })
    }

    /// The session's connection ended, or the caller's time limit expired.
    ///
    /// # Errors
    /// [`MisuseError`] if it had ended before.
    pub fn ended(&mut self, end: End) -> Result<(), MisuseError> {
        self.end(SessionEnd::Ended(end))
    }

    /// The caller has closed the session's connection, on request or on its own initiative. That
    /// ends a `user_events` session (F-23); a stream closed before its end is incomplete.
    ///
    /// # Errors
    /// [`MisuseError`] if it had ended before.
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

    /// How many bytes of the stream arrived so far, within the limit.
    pub const fn bytes(&self) -> u64 {
        self.stream.passed()
    }

    /// The state of its stop.
    pub const fn stop(&self) -> StopOutcome {
        self.stop
    }

    /// The session's id; `None` if the runtime did not report it (F-2).
    pub const fn id(&self) -> Option<u64> {
        self.id
    }

    /// Begins to stop the session, before anything is sent: the end of the stream may arrive before a later
    /// call. Returns the request to send; a failed stop may be repeated. `None` if no byte of the stream has
    /// arrived: the action is then [`HangUp`](SessionAction::HangUp), because `StopTracing` would harm a
    /// runtime that waits at its start (F-160).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::exchange::{Session, SessionAction};
    ///
    /// let mut session = Session::streaming(Some(42), u64::MAX);
    /// assert_eq!(session.begin_stop(), Ok(None));
    /// assert_eq!(session.action(), SessionAction::HangUp);
    /// ```
    ///
    /// # Errors
    /// [`MisuseError`] if the session's connection has ended, its id is unknown, or a stop is
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

    /// Reports how `StopTracing` ended; `buffer` has its reply. The same report again changes
    /// nothing.
    ///
    /// # Errors
    /// [`MisuseError`] if no stop is pending, if `buffer` is shorter than the reply, and if the
    /// outcome is that it should be larger: the client can still continue.
    pub fn stop_finished(&mut self, outcome: Outcome, buffer: &[u8]) -> Result<(), MisuseError> {
        if self.stop == StopOutcome::NotSent {
            return Err(MisuseError::NotAsked);
        }
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

    /// The stop was not sent: no connection was available. It may be repeated.
    ///
    /// # Errors
    /// [`MisuseError`] if no stop is pending.
    pub fn stop_not_sent(&mut self) -> Result<(), MisuseError> {
        if self.stop != StopOutcome::Awaited {
            return Err(MisuseError::NotAsked);
        }
        self.stop = StopOutcome::NotSent;
        Ok(())
    }

    /// The stop was given up before its reply arrived, or its connection ended.
    ///
    /// # Errors
    /// [`MisuseError`] if no stop is pending.
    pub fn stop_failed(&mut self, end: End) -> Result<(), MisuseError> {
        self.stop_finished(Outcome::NoReply { end, request_sent: false }, &[])
    }

    /// What the stop's reply means.
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
    use crate::hresult::HResult;
    use crate::message::Request as _;
    use std::vec::Vec;

    const ENDS: [End; 3] = [End::Closed, End::Reset, End::TimedOut];
    const OK_42: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0";
    const OK_43: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2b\0\0\0\0\0\0\0";
    const OK: &[u8] = b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0";

    const fn ok(size: u16) -> Outcome {
        Outcome::Ok { size, then: AfterReply::Close }
    }

    /// The states of a stop.
    fn stops() -> Vec<(Outcome, &'static [u8], StopOutcome)> {
        let mut stops: Vec<(Outcome, &'static [u8], StopOutcome)> = std::vec![
            (ok(28), OK_42, StopOutcome::Answered),
            (ok(28), OK_43, StopOutcome::OtherId(43)),
            (ok(20), OK, StopOutcome::AnsweredWithoutId),
            (
                Outcome::Error { size: 24, hresult: HResult::BAD_ENCODING },
                &[],
                StopOutcome::Refused(HResult::BAD_ENCODING)
            ),
            (
                Outcome::Malformed { kind: crate::wire::WireErrorKind::BadMagic, offset: 0 },
                &[],
                StopOutcome::Malformed
            ),
            (ok(27), b"DOTNET_IPC_V1\0\x1b\0\xff\0\0\0\x2a\0\0\0\0\0\0", StopOutcome::Malformed),
        ];
        for end in ENDS {
            stops.push((
                Outcome::NoReply { end, request_sent: true },
                &[],
                StopOutcome::Unanswered(end),
            ));
            stops.push((Outcome::Cut { received: 3, end }, &[], StopOutcome::Unanswered(end)));
        }
        stops
    }

    #[track_caller]
    fn outcome(session: &Session) -> SessionOutcome {
        let SessionAction::Finished(outcome) = session.action() else { panic!("{session:?}") };
        assert_eq!(session.action(), SessionAction::Finished(outcome));
        outcome
    }

    #[test]
    fn order_of_ends_does_not_change_outcome() {
        for (reply, buffer, stop) in stops() {
            for end in ENDS {
                let mut stream_first = Session::streaming(Some(42), 100);
                stream_first.received(b"abc").unwrap();
                stream_first.begin_stop().unwrap();
                assert_eq!(stream_first.action(), SessionAction::ReadAndAwaitStop);
                stream_first.received(b"de").unwrap();
                let mut stop_first = stream_first.clone();

                stream_first.ended(end).unwrap();
                assert_eq!(stream_first.action(), SessionAction::AwaitStop);
                stream_first.stop_finished(reply, buffer).unwrap();
                stop_first.stop_finished(reply, buffer).unwrap();
                assert_eq!(stop_first.action(), SessionAction::Read);
                stop_first.ended(end).unwrap();

                let expected =
                    SessionOutcome { streamed: true, bytes: 5, end: SessionEnd::Ended(end), stop };
                assert_eq!((outcome(&stream_first), outcome(&stop_first)), (expected, expected));
                let whole = end == End::Closed
                    && matches!(stop, StopOutcome::Answered | StopOutcome::AnsweredWithoutId);
                assert_eq!(
                    expected.stream_end(),
                    Some(if whole { StreamEnd::Complete } else { StreamEnd::Incomplete }),
                    "{expected:?}"
                );
            }
        }
    }

    #[test]
    fn stream_ended_before_stop_is_incomplete() {
        for end in ENDS {
            let mut session = Session::streaming(Some(42), 100);
            session.ended(end).unwrap();
            let before = session.clone();
            let expected = SessionOutcome {
                streamed: true,
                bytes: 0,
                end: SessionEnd::Ended(end),
                stop: StopOutcome::NotSent,
            };
            assert_eq!(outcome(&session), expected);
            assert_eq!(expected.stream_end(), Some(StreamEnd::Incomplete));
            // The runtime would answer OK to an id that it no longer knows (F-31).
            assert_eq!(session.begin_stop(), Err(MisuseError::NotAsked));
            assert_eq!(session.stop_finished(ok(28), OK_42), Err(MisuseError::NotAsked));
            assert_eq!(session, before);
        }
    }

    /// F-160: `StopTracing` harms a runtime that waits at its start.
    #[test]
    fn session_without_a_byte_is_closed_not_stopped() {
        let mut session = Session::streaming(Some(42), 100);
        assert_eq!(session.begin_stop(), Ok(None));
        assert_eq!(
            (session.action(), session.stop()),
            (SessionAction::HangUp, StopOutcome::NotSent)
        );
        let before = session.clone();
        assert_eq!(session.begin_stop(), Err(MisuseError::NotAsked));
        assert_eq!(session.received(b"late"), Err(MisuseError::NotAsked));
        assert_eq!(session, before);
        session.hung_up().unwrap();
        let expected = SessionOutcome {
            streamed: true,
            bytes: 0,
            end: SessionEnd::HungUp,
            stop: StopOutcome::NotSent,
        };
        assert_eq!(outcome(&session), expected);
        assert_eq!(expected.stream_end(), Some(StreamEnd::Incomplete));
    }

    #[test]
    fn stop_without_answer_can_be_repeated() {
        for (reply, buffer, stop) in stops() {
            let mut session = Session::streaming(Some(42), 100);
            session.received(b"a").unwrap();
            assert_eq!(session.begin_stop(), Ok(Some(StopTracing { session_id: 42 })));
            assert_eq!(session.begin_stop(), Err(MisuseError::NotAsked));
            session.stop_finished(reply, buffer).unwrap();
            let done = matches!(
                stop,
                StopOutcome::Answered | StopOutcome::AnsweredWithoutId | StopOutcome::OtherId(_)
            );
            assert_eq!(
                session.begin_stop(),
                if done {
                    Err(MisuseError::NotAsked)
                } else {
                    Ok(Some(StopTracing { session_id: 42 }))
                },
                "{stop:?}"
            );
        }
        let mut session = Session::streaming(Some(42), 100);
        session.received(b"a").unwrap();
        session.begin_stop().unwrap();
        session.stop_failed(End::TimedOut).unwrap();
        assert_eq!(session.stop(), StopOutcome::Unanswered(End::TimedOut));
        session.begin_stop().unwrap();
        session.stop_not_sent().unwrap();
        assert_eq!(
            (session.stop(), session.stop_not_sent()),
            (StopOutcome::NotSent, Err(MisuseError::NotAsked))
        );
        session.begin_stop().unwrap();
        session.stop_failed(End::TimedOut).unwrap();
        session.begin_stop().unwrap();
        session.stop_finished(ok(28), OK_42).unwrap();
        session.ended(End::Closed).unwrap();
        assert_eq!(outcome(&session).stream_end(), Some(StreamEnd::Complete));
    }

    #[test]
    fn stop_reported_again_changes_nothing() {
        for (reply, buffer, stop) in stops() {
            let mut session = Session::streaming(Some(42), 100);
            session.received(b"a").unwrap();
            session.begin_stop().unwrap();
            session.stop_finished(reply, buffer).unwrap();
            let once = session.clone();
            assert_eq!((session.stop_finished(reply, buffer), session.stop()), (Ok(()), stop));
            let other = Outcome::Error { size: 24, hresult: HResult::FAIL };
            assert_eq!(session.stop_finished(other, &[]), Err(MisuseError::NotAsked), "{stop:?}");
            assert_eq!(session, once);
        }
    }

    #[test]
    fn stream_over_limit_is_closed_without_loss() {
        for stopped in [false, true] {
            for peer_closes in [false, true] {
                let mut session = Session::streaming(Some(42), 5);
                assert_eq!(
                    session.received(b"abcde"),
                    Ok(StreamBytes { within: b"abcde", beyond: b"" })
                );
                assert_eq!(session.action(), SessionAction::Read);
                if stopped {
                    session.begin_stop().unwrap();
                }
                assert_eq!(session.received(b"fg"), Ok(StreamBytes { within: b"", beyond: b"fg" }));
                assert_eq!(session.action(), SessionAction::HangUp);
                let before = session.clone();
                assert_eq!(
                    (session.received(b"h"), session.begin_stop()),
                    (Err(MisuseError::NotAsked), Err(MisuseError::NotAsked))
                );
                assert_eq!(session, before);
                if peer_closes {
                    session.ended(End::Closed).unwrap();
                } else {
                    session.hung_up().unwrap();
                }
                if stopped {
                    assert_eq!(session.action(), SessionAction::AwaitStop);
                    session.stop_finished(ok(28), OK_42).unwrap();
                }
                let outcome = outcome(&session);
                assert_eq!((outcome.bytes, outcome.end), (5, SessionEnd::LimitReached));
                assert_eq!(outcome.stream_end(), Some(StreamEnd::Incomplete));
            }
        }
    }

    #[test]
    fn user_events_session_is_held_until_its_connection_ends() {
        let mut held = Session::user_events(Some(42));
        assert_eq!(held.action(), SessionAction::Hold);
        let mut stopped = held.clone();
        held.hung_up().unwrap();
        assert_eq!((outcome(&held).end, outcome(&held).stream_end()), (SessionEnd::HungUp, None));

        stopped.begin_stop().unwrap();
        assert_eq!(stopped.action(), SessionAction::HoldAndAwaitStop);
        stopped.stop_finished(ok(28), OK_42).unwrap();
        assert_eq!(stopped.action(), SessionAction::Hold);
        assert_eq!(stopped.received(b"x"), Ok(StreamBytes { within: b"", beyond: b"x" }));
        stopped.hung_up().unwrap();
        assert_eq!((outcome(&stopped).end, outcome(&stopped).bytes), (SessionEnd::LimitReached, 0));
    }

    #[test]
    fn misuse_changes_nothing() {
        type Call = fn(&mut Session) -> Result<(), MisuseError>;
        let open = Session::streaming(Some(42), 5);
        let mut awaited = open.clone();
        awaited.received(b"a").unwrap();
        awaited.begin_stop().unwrap();
        let mut over = open.clone();
        over.hung_up().unwrap();
        let unnamed = Session::streaming(None, 5);
        assert_eq!((unnamed.id(), open.id()), (None, Some(42)));
        let cases: [(&Session, Call, MisuseError); 10] = [
            (&open, |session| session.received(b"").map(|_| ()), MisuseError::NoBytes),
            (&open, |session| session.stop_finished(ok(28), OK_42), MisuseError::NotAsked),
            (&open, |session| session.stop_failed(End::Closed), MisuseError::NotAsked),
            (&unnamed, |session| session.begin_stop().map(|_| ()), MisuseError::NotAsked),
            (&awaited, |session| session.begin_stop().map(|_| ()), MisuseError::NotAsked),
            (
                &awaited,
                |session| session.stop_finished(ok(28), &OK_42[..27]),
                MisuseError::BufferTooShort { needed: 28 },
            ),
            (
                &awaited,
                |session| session.stop_finished(Outcome::BufferTooSmall { size: 99 }, &[]),
                MisuseError::BufferTooShort { needed: 99 },
            ),
            (&over, |session| session.received(b"a").map(|_| ()), MisuseError::NotAsked),
            (&over, |session| session.ended(End::Closed), MisuseError::NotAsked),
            (&over, Session::hung_up, MisuseError::NotAsked),
        ];
        for (session, call, illegal) in cases {
            let mut changed = session.clone();
            assert_eq!((call(&mut changed), &changed), (Err(illegal), session));
        }
    }

    #[test]
    fn stop_request_is_28_bytes_and_session_is_small() {
        let mut buffer = [0; 28];
        Session::user_events(Some(42))
            .begin_stop()
            .unwrap()
            .unwrap()
            .encode_message(&mut buffer)
            .unwrap();
        assert_eq!(&buffer, b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x2a\0\0\0\0\0\0\0");
        assert!(size_of::<Session>() <= 64, "{}", size_of::<Session>());
    }
}
