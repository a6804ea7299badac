//! Session × stop: a session with its connection, its `StopTracing` on another one, and a runtime that
//! writes three bytes and may exit at any time.

use dotnet_diagnostics_ipc::exchange::{
    AfterReply, End, Outcome, Session, SessionAction, SessionEnd, SessionOutcome, StopOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::eventpipe::StopTracing;

use super::{Product, Way, walk};
use crate::drive::ENDS;
use crate::legal::{is_new, tried};

const STREAM: &[u8] = b"Net";
const ID: u64 = 42;

/// The stop, as the runtime and the connection have it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stop {
    None,
    Begun,
    /// The runtime ends the session.
    Accepted,
    /// This outcome was reported.
    Over(StopOutcome),
}

#[derive(Clone, Debug)]
struct Traced {
    session: Session,
    /// How many bytes of the stream the caller takes.
    limit: u64,
    /// The state of the stream: how much was written, how much of that was read, and how it ends.
    written: usize,
    read: usize,
    end: Option<End>,
    /// The end was read, or the caller has closed.
    is_over: bool,
    stop: Stop,
    has_exited: bool,
    had_fault: bool,
}

/// A reply to a stop: its bytes, and what the session makes of it.
fn ok_replies() -> [(Vec<u8>, StopOutcome); 3] {
    let with_id =
        |id: u8| [&b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0"[..], &[id, 0, 0, 0, 0, 0, 0, 0]].concat();
    [
        (with_id(42), StopOutcome::Answered),
        (with_id(43), StopOutcome::OtherId(43)),
        (b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0".to_vec(), StopOutcome::AnsweredWithoutId),
    ]
}

impl Traced {
    fn new(session: Session, limit: u64) -> Self {
        Self {
            session,
            limit,
            written: 0,
            read: 0,
            end: None,
            is_over: false,
            stop: Stop::None,
            has_exited: false,
            had_fault: false,
        }
    }

    fn streams(&self) -> bool {
        self.limit > 0
    }

    fn way(
        &self,
        ways: &mut Vec<Way<Self>>,
        label: &'static str,
        is_fault: bool,
        act: impl FnOnce(&mut Self),
    ) {
        let mut to = self.clone();
        to.had_fault |= is_fault;
        act(&mut to);
        ways.push(Way { label, is_fault, to });
    }

    fn runtime_ways(&self, ways: &mut Vec<Way<Self>>) {
        if self.end.is_some() || self.is_over {
            return;
        }
        let left = if self.streams() { STREAM.len() - self.written } else { 0 };
        for n in [1, left].into_iter().filter(|n| (1..=left).contains(n)) {
            self.way(ways, "runtime writes", false, |traced| traced.written += n);
        }
        let is_stopped = match self.stop {
            Stop::Over(stop) => ok_replies().iter().any(|(_, of_ok)| *of_ok == stop),
            stop => stop == Stop::Accepted,
        };
        if is_stopped {
            self.way(ways, "session ends", false, |traced| traced.end = Some(End::Closed));
        }
        for end in [End::Closed, End::Reset] {
            self.way(ways, "runtime exits", true, |traced| {
                (traced.end, traced.has_exited) = (Some(end), true);
            });
        }
    }

    fn caller_ways(&self, ways: &mut Vec<Way<Self>>) {
        match self.session.action() {
            SessionAction::Read => {
                let left = self.written - self.read;
                for n in [1, left].into_iter().filter(|n| (1..=left).contains(n)) {
                    self.way(ways, "caller reads", false, |traced| {
                        let piece = &STREAM[traced.read..traced.read + n];
                        assert!(piece.starts_with(traced.session.received(piece).unwrap()));
                        traced.read += n;
                    });
                }
                if let Some(end) = self.end.filter(|_| left == 0) {
                    self.way(ways, "caller sees the end", false, |traced| {
                        traced.session.ended(end).unwrap();
                        traced.is_over = true;
                    });
                }
                self.way(ways, "caller's time is over", true, |traced| {
                    traced.session.ended(End::TimedOut).unwrap();
                    traced.is_over = true;
                });
                // A session of unknown id cannot be stopped.
                let is_fault = self.streams() && self.session.id().is_some();
                self.way(ways, "caller closes", is_fault, |traced| {
                    traced.session.hung_up().unwrap();
                    traced.is_over = true;
                });
            }
            SessionAction::HangUp => self.way(ways, "caller hangs up", false, |traced| {
                traced.session.hung_up().unwrap();
                traced.is_over = true;
            }),
            SessionAction::AwaitStop | SessionAction::Finished(_) => {}
        }
        let mut begun = self.clone();
        if let Ok(request) = begun.session.begin_stop() {
            let is_silent = self.streams() && self.read == 0;
            assert_eq!(request, (!is_silent).then_some(StopTracing { session_id: ID }));
            if request.is_some() {
                begun.stop = Stop::Begun;
            } else {
                assert_eq!(begun.session.action(), SessionAction::HangUp);
            }
            ways.push(Way { label: "stop begins", is_fault: false, to: begun });
        }
    }

    fn stop_ways(&self, ways: &mut Vec<Way<Self>>) {
        let report = |ways: &mut _, label, is_fault, outcome, reply: &[u8], expected| {
            self.way(ways, label, is_fault, |traced| {
                traced.session.stop_finished(outcome, reply).unwrap();
                assert_eq!(traced.session.stop(), expected);
                traced.stop = Stop::Over(expected);
            });
        };
        if self.stop == Stop::Begun {
            if !self.has_exited {
                self.way(ways, "runtime takes the stop", false, |traced| {
                    traced.stop = Stop::Accepted;
                });
            }
            self.way(ways, "stop is not sent", true, |traced| {
                traced.session.stop_not_sent().unwrap();
                assert_eq!(traced.session.stop(), StopOutcome::NotSent);
                traced.stop = Stop::None;
            });
        }
        if !matches!(self.stop, Stop::Begun | Stop::Accepted) {
            return;
        }
        for end in ENDS {
            let none = Outcome::NoReply { end, request_sent: true };
            report(ways, "stop ends", !self.has_exited, none, &[], StopOutcome::Unanswered(end));
        }
        if self.has_exited || self.stop == Stop::Begun {
            return;
        }
        for (reply, expected) in ok_replies() {
            let size = u16::try_from(reply.len()).unwrap();
            let ok = Outcome::Ok { size, then: AfterReply::Close };
            let is_fault = expected != StopOutcome::Answered;
            report(ways, "stop is answered", is_fault, ok, &reply, expected);
        }
        let error = Outcome::Error { size: 24, hresult: HResult::FAIL };
        report(ways, "stop is refused", false, error, &[], StopOutcome::Refused(HResult::FAIL));
    }

    /// Tries every report in this state.
    fn legal(&self) {
        let session = &self.session;
        if !is_new(session, &[]) {
            return;
        }
        let (action, stop) = (session.action(), session.stop());
        assert_eq!(session.action(), action);
        let reads = action == SessionAction::Read;
        tried(session, &[], reads, "received", |session, _| session.received(b"x").map(|_| ()));
        tried(session, &[], false, "received nothing", |session, _| {
            session.received(b"").map(|_| ())
        });
        let is_open = reads || action == SessionAction::HangUp;
        tried(session, &[], is_open, "hung_up", |session, _| session.hung_up());
        let awaited = stop == StopOutcome::Awaited;
        let is_final = matches!(
            stop,
            StopOutcome::Answered | StopOutcome::AnsweredWithoutId | StopOutcome::OtherId(_)
        );
        let stops = reads && !awaited && !is_final && session.id().is_some();
        tried(session, &[], stops, "begin_stop", |session, _| session.begin_stop().map(|_| ()));
        tried(session, &[], awaited, "stop_not_sent", |session, _| session.stop_not_sent());
        for end in ENDS {
            tried(session, &[], is_open, "ended", |session, _| session.ended(end));
            // A repeated report changes nothing.
            let again = stop == StopOutcome::Unanswered(end);
            let unanswered = Outcome::NoReply { end, request_sent: true };
            tried(session, &[], awaited || again, "stop_finished", |session, _| {
                session.stop_finished(unanswered, &[])
            });
        }
        let refused = Outcome::Error { size: 24, hresult: HResult::FAIL };
        let again = stop == StopOutcome::Refused(HResult::FAIL);
        tried(session, &[], awaited || again, "stop_finished", |session, _| {
            session.stop_finished(refused, &[])
        });
        let ok = Outcome::Ok { size: 28, then: AfterReply::Close };
        tried(session, &[0; 27], false, "stop_finished in a short buffer", |session, buffer| {
            session.stop_finished(ok, buffer)
        });
        let too_small = Outcome::BufferTooSmall { size: 28 };
        tried(session, &[0; 28], false, "stop_finished too early", |session, buffer| {
            session.stop_finished(too_small, buffer)
        });
    }
}

impl Product for Traced {
    fn key(&self) -> String {
        format!("{self:?}")
    }

    fn ways(&self) -> Vec<Way<Self>> {
        self.legal();
        assert_eq!(self.session.bytes(), (self.read as u64).min(self.limit));
        let mut ways = Vec::new();
        self.runtime_ways(&mut ways);
        self.caller_ways(&mut ways);
        self.stop_ways(&mut ways);
        ways
    }

    fn end(&self) -> Option<String> {
        let SessionAction::Finished(outcome) = self.session.action() else { return None };
        let SessionOutcome { bytes, end, stop, .. } = outcome;
        let is_whole = bytes == self.written as u64
            && end == SessionEnd::Ended(End::Closed)
            && matches!(stop, StopOutcome::Answered | StopOutcome::AnsweredWithoutId);
        // A session that was answered and then lost looks like a whole one: its runtime had ended it.
        assert_eq!(outcome.is_complete(), self.streams() && is_whole, "{outcome:?}");
        let expected = if let Stop::Over(stop) = self.stop { stop } else { StopOutcome::NotSent };
        assert_eq!(stop, expected);
        if let (StopOutcome::Answered, SessionEnd::Ended(End::Closed)) = (stop, end) {
            assert!(outcome.is_complete() || !self.streams(), "{outcome:?}");
        }
        let stop = format!("{stop:?}");
        let complete = if outcome.is_complete() { "complete" } else { "incomplete" };
        Some(format!("{end:?}, {}, {complete}", stop.split('(').next().unwrap()))
    }
}

#[test]
fn session_every_state_with_its_stop_has_an_end() {
    let cases: [(&str, Session, u64, &[&str]); 4] = [
        (
            "streaming",
            Session::streaming(Some(ID), u64::MAX),
            u64::MAX,
            &[
                "Ended(Closed), Answered, complete",
                "Ended(Closed), AnsweredWithoutId, complete",
                "Ended(Closed), OtherId, incomplete",
                "Ended(Closed), NotSent, incomplete",
                "Ended(Reset), Answered, incomplete",
                "HungUp, Unanswered, incomplete",
                "HungUp, NotSent, incomplete",
                "Ended(Closed), Refused, incomplete",
            ],
        ),
        (
            "with a limit",
            Session::streaming(Some(ID), 2),
            2,
            &["LimitReached, Answered, incomplete"],
        ),
        (
            "without an id",
            Session::streaming(None, u64::MAX),
            u64::MAX,
            &["Ended(Closed), NotSent, incomplete"],
        ),
        (
            "user_events",
            Session::user_events(Some(ID)),
            0,
            &["HungUp, NotSent, incomplete", "Ended(Closed), Answered, incomplete"],
        ),
    ];
    for (name, session, limit, ends) in cases {
        let walked = walk(Traced::new(session, limit));
        eprintln!(
            "session x stop, {name}: {} states, {} ways, ends: {:?}",
            walked.states, walked.ways, walked.ends
        );
        for end in ends {
            walked.reached(end);
        }
    }
}
