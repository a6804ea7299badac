//! Session × stop: a session with its connection, and its `StopTracing` on another one, client and
//! server on both.

use std::collections::BTreeMap;

use dotnet_diagnostics_ipc::exchange::{
    AfterReply, End, Outcome, ServerAction, ServerOutcome, Session, SessionAction, SessionEnd,
    SessionOutcome, StopOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;

use super::legal::{ENDS, is_new, tried};
use super::pair::{Answer, Pair, Pieces, Talk};
use super::{Product, Way, walk};
use crate::flows;

#[derive(Clone)]
struct Traced {
    /// How many bytes of stream the caller takes.
    limit: u64,
    /// Whether there are faults on the stop's connection too.
    stop_can_fail: bool,
    session: Option<Session>,
    stream: Pair,
    stop: Option<Pair>,
    stop_talk: Talk,
}

impl Traced {
    fn new(flow: &'static str, limit: u64, stop_id: u64, stop_can_fail: bool) -> Self {
        let requests: BTreeMap<_, _> = flows::requests().into_iter().collect();
        let talk = |flow| Talk {
            capacity: 64,
            room: (96, 96),
            pieces: Pieces::All,
            ..Talk::of(flow, requests[flow])
        };
        let stop_talk = Talk { session_id: stop_id, ..talk("stop") };
        Self {
            limit,
            stop_can_fail,
            session: None,
            // A stop is sent between the first byte and the limit: there are two pieces.
            stream: Pair::new(Talk {
                pieces: if limit < 3 { Pieces::AllButOne } else { Pieces::All },
                ..talk(flow)
            }),
            stop: None,
            stop_talk,
        }
    }

    /// Whether the runtime has accepted a stop.
    fn is_stopping(&self) -> bool {
        let taken = |stop: &Pair| {
            stop.server.action() == ServerAction::Respond || stop.answer == Some(Answer::Ok)
        };
        self.stop.as_ref().is_some_and(taken)
    }

    fn awaits_stop(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.stop() == StopOutcome::Awaited)
    }

    /// Passes what happened on the session's connection to the session, as its caller does.
    fn streamed(&self, way: Way<Pair>) -> Option<Way<Self>> {
        let (label, mut is_fault) = (way.label, way.is_fault);
        let mut to = self.clone();
        let new = way.to.read[self.stream.read.len()..].to_vec();
        to.stream = way.to;
        match (&mut to.session, label) {
            (None, _) => {
                to.session = match to.stream.outcome() {
                    Some(Outcome::Ok { then: AfterReply::Stream { session_id }, .. }) => {
                        Some(Session::streaming(session_id, self.limit))
                    }
                    Some(Outcome::Ok { then: AfterReply::UserEvents { session_id }, .. }) => {
                        Some(Session::user_events(session_id))
                    }
                    _ => None,
                };
            }
            (Some(session), "caller reads") if session.action() == SessionAction::HangUp => {
                assert!(!new.is_empty());
                return None;
            }
            (Some(session), "caller reads") => {
                assert!(new.starts_with(session.received(&new).unwrap()));
            }
            (Some(session), "caller sees the end") if session.action() != SessionAction::HangUp => {
                session.ended(to.stream.read_end.unwrap()).unwrap();
            }
            (Some(session), "client closes") => {
                let asked = session.action() == SessionAction::HangUp;
                (is_fault, to.stream.had_fault) =
                    (is_fault && !asked, to.stream.had_fault || asked);
                if to.stream.read_end.is_none() || asked {
                    session.hung_up().unwrap();
                }
            }
            // Without a stop the process exits, or finds its reader gone.
            (Some(_), "stream ends" | "session is stopped") => {
                is_fault |= !self.is_stopping() && !self.stream.client_is_gone;
            }
            _ => {}
        }
        Some(Way { label, is_fault, to })
    }

    fn stop_ways(&self, ways: &mut Vec<Way<Self>>) {
        let is_over = self.stop.as_ref().is_none_or(|stop| stop.end().is_some());
        let mut to = self.clone();
        let Some(session) = &mut to.session else { return };
        let begun = session.begin_stop();
        if let Some(request) = begun.ok().filter(|_| is_over) {
            to.stop = request.map(|_| Pair::new(self.stop_talk));
            ways.push(Way { label: "stop begins", is_fault: false, to });
        }
        let Some(stop) = &self.stop else { return };
        for way in stop.ways() {
            // Its outcome is reported before the buffer is released.
            if (way.label != "client closes" || !self.awaits_stop())
                && (self.stop_can_fail || !way.is_fault)
            {
                let to = Self { stop: Some(way.to), ..self.clone() };
                ways.push(Way { label: way.label, is_fault: way.is_fault, to });
            }
        }
        if let Some(outcome) = stop.outcome().filter(|_| self.awaits_stop()) {
            let mut to = self.clone();
            to.session.as_mut().unwrap().stop_finished(outcome, &stop.ours).unwrap();
            ways.push(Way { label: "stop is over", is_fault: false, to });
        }
        if self.awaits_stop() && stop.steps.is_empty() {
            let mut to = Self { stop: None, ..self.clone() };
            to.session.as_mut().unwrap().stop_not_sent().unwrap();
            ways.push(Way { label: "stop is not sent", is_fault: true, to });
        }
    }
}

fn legal(session: &Session) {
    if !is_new(session, &[]) {
        return;
    }
    let (action, stop) = (session.action(), session.stop());
    let reads = action == SessionAction::Read;
    tried(session, &[], reads, "received", |session, _| session.received(b"x").map(|_| ()));
    tried(session, &[], false, "received nothing", |session, _| session.received(b"").map(|_| ()));
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

impl Product for Traced {
    fn key(&self) -> String {
        format!("{:?}{}{:?}", self.session, self.stream.key(), self.stop.as_ref().map(Product::key))
    }

    fn ways(&self) -> Vec<Way<Self>> {
        if let Some(session) = &self.session {
            legal(session);
            assert_eq!(session.bytes(), (self.stream.read.len() as u64).min(self.limit));
        }
        let mut ways: Vec<_> =
            self.stream.ways().into_iter().filter_map(|way| self.streamed(way)).collect();
        self.stop_ways(&mut ways);
        ways
    }

    fn end(&self) -> Option<String> {
        self.stream.end()?;
        if let Some(stop) = &self.stop {
            stop.end()?;
        }
        let Some(session) = &self.session else { return Some("no session".to_owned()) };
        let SessionAction::Finished(outcome) = session.action() else { return None };
        let SessionOutcome { bytes, end, stop, .. } = outcome;
        let is_ok = self.stop.as_ref().is_some_and(|pair| pair.answer == Some(Answer::Ok));
        // A server that gave the stream up closes it, and answers a stop of what it no longer has
        // (F-31): the client cannot see that.
        let is_whole = [ServerOutcome::Answered, ServerOutcome::Gone { end: End::TimedOut }]
            .contains(&self.stream.served().unwrap());
        match (outcome.is_complete(), stop) {
            (true, _) => {
                assert!(
                    is_ok
                        && is_whole
                        && bytes == self.stream.put.len() as u64
                        && end == SessionEnd::Ended(End::Closed)
                );
            }
            (false, StopOutcome::Answered) if outcome.streamed => {
                assert!(self.stream.had_fault, "{outcome:?}");
            }
            (_, StopOutcome::Answered) => assert!(is_ok && self.stop_talk.session_id == 42),
            (_, StopOutcome::OtherId(id)) => {
                assert!(is_ok && self.stop_talk.session_id == id && id != 42);
            }
            (_, StopOutcome::Refused(hresult)) => {
                let answer = self.stop.as_ref().unwrap().answer.clone();
                assert_eq!(answer, Some(Answer::Error(hresult)));
            }
            (_, StopOutcome::Unanswered(_)) => assert!(self.stop.as_ref().unwrap().had_fault),
            (_, stop) => assert_eq!(stop, StopOutcome::NotSent),
        }
        let stop = format!("{stop:?}");
        let complete = if outcome.is_complete() { "complete" } else { "incomplete" };
        Some(format!("{end:?}, {}, {complete}", stop.split('(').next().unwrap()))
    }
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn session_every_state_with_its_stop_has_an_end() {
    for (name, start, ends) in [
        (
            "streaming",
            Traced::new("stream", u64::MAX, 42, true),
            [
                "Ended(Closed), Answered, complete",
                "Ended(Closed), NotSent, incomplete",
                "Ended(Reset), Answered, incomplete",
                "HungUp, Unanswered, incomplete",
                "Ended(Closed), Refused, incomplete",
            ]
            .as_slice(),
        ),
        (
            "with a limit",
            Traced::new("stream", 2, 42, false),
            &["LimitReached, Answered, incomplete"],
        ),
        (
            "stopped by another id",
            Traced::new("stream", u64::MAX, 43, false),
            &["Ended(Closed), OtherId, incomplete"],
        ),
        (
            "user_events",
            Traced::new("user_events", u64::MAX, 42, true),
            &["HungUp, NotSent, incomplete", "Ended(Closed), Answered, incomplete"],
        ),
    ] {
        let walked = walk(start);
        eprintln!(
            "session x stop, {name}: {} states, {} ways, ends: {:?}",
            walked.states, walked.ways, walked.ends
        );
        for end in ends {
            walked.reached(end);
        }
        walked.reached("no session");
        assert!(walked.states > 1000, "{name}: {}", walked.states);
    }
}
