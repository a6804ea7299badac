//! Client × server: each kind of conversation, over a connection that either side closes, that is
//! cut, or that is slow.

mod ways;

use std::collections::BTreeMap;

use dotnet_diagnostics_ipc::command::DotnetVersion;
use dotnet_diagnostics_ipc::exchange::{
    AfterReply, Client, ClientAction, End, KnownCommands, Outcome, Server, ServerAction,
    ServerOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::eventpipe::SessionReply;
use dotnet_diagnostics_ipc::message::process::ProcessEnvironmentReply;

use self::ways::sizes;
use super::{Product, Walked, Way, legal, walk};
use crate::flows;

/// What follows a message, and is not part of it.
const BEHIND: u8 = 0xee;
const STREAM: &[u8] = b"Net";
/// An environment block of no entries.
const BLOCK: &[u8] = &[0; 4];
const ERROR: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x05\x40\0\x80";
const SECOND: &[u8] = b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0";

/// A conversation and its options.
#[derive(Clone, Copy)]
pub(super) struct Talk {
    pub(super) flow: &'static str,
    /// The steps of the flow that are on this connection.
    pub(super) row: &'static [&'static str],
    pub(super) request: &'static [u8],
    pub(super) commands: KnownCommands,
    /// How many bytes the connection holds each way.
    pub(super) capacity: usize,
    /// The buffers of the client and of the server.
    pub(super) room: (usize, usize),
    pub(super) pieces: Pieces,
    pub(super) session_id: u64,
}

/// In which pieces bytes are sent.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Pieces {
    /// One, or as many as there can be.
    OneOrAll,
    /// All, or all but the last.
    AllButOne,
    /// All. And neither side sends more than is asked for.
    All,
}

impl Talk {
    pub(super) fn of(flow: &'static str, request: &'static [u8]) -> Self {
        let row = flows::rows()[flow].first_connection().leak();
        Self {
            flow,
            row,
            request,
            commands: KnownCommands::All,
            capacity: 2,
            room: (128, 128),
            pieces: Pieces::OneOrAll,
            session_id: 42,
        }
    }

    fn then(&self) -> AfterReply {
        let session_id = Some(self.session_id);
        match self.flow {
            "stream" => AfterReply::Stream { session_id },
            "user_events" => AfterReply::UserEvents { session_id },
            "environment" => AfterReply::EnvironmentBlock { n_incoming_bytes: 4 },
            "dump" => AfterReply::AnotherReply,
            _ => AfterReply::Close,
        }
    }

    fn follows(&self) -> &'static [u8] {
        match self.flow {
            "stream" => STREAM,
            "environment" => BLOCK,
            _ => &[],
        }
    }
}

/// One direction of the connection.
#[derive(Clone, Debug, Default, PartialEq)]
struct Line {
    bytes: Vec<u8>,
    /// How the reader sees the end, once the bytes are read.
    end: Option<End>,
    /// The next byte has a descriptor.
    fd: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Ok,
    Error(HResult),
}

#[derive(Clone)]
pub(super) struct Pair {
    pub(super) talk: Talk,
    pub(super) client: Client,
    pub(super) ours: Vec<u8>,
    pub(super) server: Server,
    theirs: Vec<u8>,
    there: Line,
    back: Line,
    /// How many bytes of the message each side has taken.
    taken: (usize, usize),
    pub(super) answer: Option<Answer>,
    /// The first of two replies.
    first: Option<Outcome>,
    /// What the server sent after the reply, and what the client's caller read of it.
    pub(super) put: Vec<u8>,
    pub(super) read: Vec<u8>,
    pub(super) read_end: Option<End>,
    pub(super) steps: Vec<&'static str>,
    pub(super) client_is_gone: bool,
    pub(super) had_fault: bool,
}

impl Pair {
    pub(super) fn new(talk: Talk) -> Self {
        let mut ours = vec![0; talk.room.0];
        ours[..talk.request.len()].copy_from_slice(talk.request);
        Self {
            client: Client::from_message(&ours).unwrap(),
            server: Server::with_commands(talk.commands),
            theirs: vec![0; talk.room.1],
            talk,
            ours,
            there: Line::default(),
            back: Line::default(),
            taken: (0, 0),
            answer: None,
            first: None,
            put: Vec::new(),
            read: Vec::new(),
            read_end: None,
            steps: Vec::new(),
            client_is_gone: false,
            had_fault: false,
        }
    }

    /// The first outcome; `None` while the client is busy, or could continue in a larger buffer.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        match (self.first, self.client.action()) {
            (Some(first), _) => Some(first),
            (None, ClientAction::Finished(outcome)) => Some(outcome),
            _ => None,
        }
    }

    pub(super) fn served(&self) -> Option<ServerOutcome> {
        match self.server.action() {
            ServerAction::Finished(ServerOutcome::BufferTooSmall { .. }) => None,
            ServerAction::Finished(outcome) => Some(outcome),
            _ => None,
        }
    }

    fn step(&mut self, step: &'static str) {
        if !self.steps.contains(&step) {
            self.steps.push(step);
        }
    }

    fn pieces(&self, range: usize, line: &Line) -> Vec<usize> {
        sizes(range.min(self.talk.capacity.saturating_sub(line.bytes.len())), self.talk.pieces)
    }

    /// The client's caller closes: with bytes unread, the server sees a reset (F-70).
    fn client_closes(&mut self) {
        let is_reset = !self.back.bytes.is_empty();
        let end = if is_reset { End::Reset } else { End::Closed };
        self.had_fault |= is_reset;
        self.there.end.get_or_insert(end);
        self.back = Line { end: Some(End::Reset), ..Line::default() };
        self.client_is_gone = true;
        self.ours.fill(0);
        self.step("> close");
    }

    fn server_closes(&mut self) {
        let is_reset = !self.there.bytes.is_empty();
        self.had_fault |= is_reset;
        self.back.end.get_or_insert(if is_reset { End::Reset } else { End::Closed });
        self.there = Line { end: Some(End::Reset), ..Line::default() };
        self.theirs.fill(0);
        self.step("< close");
    }

    fn client_sent(&mut self, n: usize) {
        let ClientAction::Send(range) = self.client.action() else { unreachable!() };
        self.there.bytes.extend(&self.ours[range.start..range.start + n]);
        self.client.sent(n).unwrap();
        if !matches!(self.client.action(), ClientAction::Send(_)) {
            self.step("> request");
        }
    }

    fn client_received(&mut self, n: usize) {
        let ClientAction::Receive(range) = self.client.action() else { unreachable!() };
        self.ours[range.start..range.start + n].copy_from_slice(&self.back.bytes[..n]);
        self.back.bytes.drain(..n);
        self.taken.0 += n;
        self.client.received(&self.ours, n).unwrap();
    }

    fn server_received(&mut self, n: usize) {
        let ServerAction::Receive(range) = self.server.action() else { unreachable!() };
        self.theirs[range.start..range.start + n].copy_from_slice(&self.there.bytes[..n]);
        self.there.bytes.drain(..n);
        self.taken.1 += n;
        self.server.received(&self.theirs, n).unwrap();
    }

    fn server_sent(&mut self, n: usize) {
        let ServerAction::Send(range) = self.server.action() else { unreachable!() };
        self.back.bytes.extend(&self.theirs[range.start..range.start + n]);
        let is_behind = ["< reply", "< error"].iter().any(|step| self.steps.contains(step));
        if is_behind {
            self.put.extend(&self.theirs[range.start..range.start + n]);
        }
        self.server.sent(n).unwrap();
        if !is_behind && !matches!(self.server.action(), ServerAction::Send(_)) {
            self.step(if self.answer == Some(Answer::Ok) { "< reply" } else { "< error" });
        }
    }

    fn respond(&mut self) {
        let session = SessionReply { session_id: self.talk.session_id };
        match self.talk.flow {
            "stream" | "user_events" | "stop" => self.server.respond(&session, &mut self.theirs),
            "environment" => self.server.respond(
                &ProcessEnvironmentReply { n_incoming_bytes: 4, future: 0 },
                &mut self.theirs,
            ),
            _ => self.server.respond(&(), &mut self.theirs),
        }
        .unwrap();
        self.answer = Some(Answer::Ok);
    }

    fn refuse(&mut self, hresult: HResult) {
        self.server.refuse(hresult, &mut self.theirs).unwrap();
        self.answer = Some(Answer::Error(hresult));
    }

    /// A copy with `act` done.
    pub(super) fn way(
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

    /// Invariants of every state.
    fn check(&self) {
        if !self.client_is_gone {
            legal::client(&self.client, &self.ours);
        }
        legal::server(&self.server, &self.theirs);
        assert!(self.taken.1 <= self.talk.request.len(), "the server read behind the request");
        if self.server.action() == ServerAction::Respond {
            let mut asked = self.talk.row.iter().take_while(|step| **step != "< reply");
            assert!(
                asked.all(|step| self.steps.contains(step)),
                "the server answers after {:?}",
                self.steps
            );
        }
        assert!(
            self.put.starts_with(&self.read),
            "the caller read {:?} of {:?}",
            self.read,
            self.put
        );
        match self.outcome() {
            Some(Outcome::Ok { size, then }) => {
                assert_eq!((then, &self.answer), (self.talk.then(), &Some(Answer::Ok)));
                assert!(
                    self.first.is_some() || self.taken.0 == usize::from(size),
                    "the client read behind the reply"
                );
            }
            Some(Outcome::Error { size, hresult }) => {
                assert_eq!(self.answer, Some(Answer::Error(hresult)));
                assert_eq!(self.taken.0, usize::from(size), "the client read behind the reply");
            }
            Some(outcome @ Outcome::Malformed { .. }) => {
                panic!("nobody lies, and the client says {outcome:?}")
            }
            _ => {}
        }
    }

    /// Invariants after both have ended.
    fn agree(&self, outcome: Outcome, served: ServerOutcome) {
        let both = (outcome, served);
        match both {
            (Outcome::Ok { .. }, ServerOutcome::Answered | ServerOutcome::BrokenOff(_)) => {}
            (Outcome::Ok { .. }, ServerOutcome::Gone { .. }) => {
                assert!(self.had_fault && !self.talk.follows().is_empty(), "{both:?}");
            }
            (Outcome::Error { hresult, .. }, served) => {
                assert_eq!(served, ServerOutcome::Refused(hresult));
            }
            _ => assert!(self.had_fault, "{both:?}"),
        }
        let mut steps = self.steps.clone();
        let row = self.talk.row;
        steps.retain(|step| row.contains(step) || !step.ends_with("close"));
        if !self.had_fault {
            let (follows, is_ok) = (self.talk.follows(), self.answer == Some(Answer::Ok));
            assert_eq!(self.read, self.put, "the caller did not read it all: {both:?}");
            match served {
                ServerOutcome::Answered if self.talk.flow == "stream" => {
                    assert!(follows.starts_with(&self.read));
                }
                ServerOutcome::Answered => assert_eq!(self.read, follows),
                ServerOutcome::BrokenOff(_) => assert!(self.read.ends_with(ERROR)),
                _ => assert!(!is_ok, "{both:?}"),
            }
            let mut expected = row.to_vec();
            // What may be absent: a second reply, the bytes of a stream or of a block that was
            // broken off.
            expected.retain(|step| {
                !["< second reply", "< stream", "< environment block"].contains(step)
                    || steps.contains(step)
            });
            if is_ok {
                assert_eq!(steps, expected, "{both:?}");
            } else {
                assert!(steps.contains(&"< error"), "{both:?} after {steps:?}");
            }
        }
        // In any case the steps are in the order of the row.
        let places = steps
            .iter()
            .filter(|step| !step.ends_with("close"))
            .filter_map(|step| row.iter().position(|of| of == step));
        assert!(places.is_sorted(), "{steps:?} are not in the order of {row:?}");
        let unknown =
            |step: &&&str| !row.contains(step) && !["< error", "> more", "< more"].contains(*step);
        assert_eq!(steps.iter().find(unknown), None, "{} has no such step", self.talk.flow);
    }
}

impl Product for Pair {
    fn key(&self) -> String {
        let Self {
            client, ours, server, theirs, there, back, taken, answer, first, put, read, ..
        } = self;
        let gone = (self.client_is_gone, self.read_end, self.had_fault);
        let steps = &self.steps;
        // Of a side that is gone, only its result counts.
        let texts = [String::from_utf8_lossy(ours), String::from_utf8_lossy(theirs)];
        format!(
            "{client:?}{server:?}{there:?}{back:?}{taken:?}{answer:?}{first:?}{put:?}{read:?}{gone:?}{steps:?}{texts:?}"
        )
    }

    fn ways(&self) -> Vec<Way<Self>> {
        self.check();
        let mut ways = Vec::new();
        self.client_ways(&mut ways);
        self.server_ways(&mut ways);
        if self.there.end.is_none() && self.back.end.is_none() {
            self.way(&mut ways, "connection is cut", true, |pair| {
                (pair.there.end, pair.back.end) = (Some(End::Reset), Some(End::Reset));
            });
        }
        ways
    }

    fn end(&self) -> Option<String> {
        let (outcome, served) = (self.outcome().filter(|_| self.client_is_gone)?, self.served()?);
        self.agree(outcome, served);
        let outcome = match outcome {
            Outcome::Ok { .. } => "Ok",
            Outcome::Error { .. } => "Error",
            Outcome::NoReply { .. } => "NoReply",
            Outcome::Cut { .. } => "Cut",
            other => panic!("{other:?}"),
        };
        let served = format!("{served:?}");
        Some(format!(
            "{outcome}, {}{}",
            served.split(['(', ' ']).next().unwrap(),
            if self.had_fault { ", fault" } else { "" }
        ))
    }
}

fn report(name: &str, walked: &Walked) {
    eprintln!(
        "client x server, {name}: {} states, {} ways, ends: {:?}",
        walked.states, walked.ways, walked.ends
    );
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn pair_every_state_of_every_flow_agrees() {
    let mut states = BTreeMap::new();
    let requests: BTreeMap<_, _> = flows::requests().into_iter().collect();
    let talks = requests.iter().map(|(flow, request)| Talk::of(flow, request));
    let whole = talks.clone().map(|talk| Talk { capacity: 128, pieces: Pieces::AllButOne, ..talk });
    for talk in talks.chain(whole) {
        let (flow, walked) = (talk.flow, walk(Pair::new(talk)));
        report(flow, &walked);
        for end in ["Ok, Answered", "Error, Refused", "NoReply, Gone, fault", "Cut, Gone, fault"] {
            walked.reached(end);
        }
        if flow == "environment" {
            walked.reached("Ok, BrokenOff");
        }
        *states.entry(flow).or_default() += walked.states;
    }
    assert_eq!(states.len(), 7);
    let (least, all) = (states.values().min(), states.values().sum::<usize>());
    assert!(least >= Some(&1000) && all > 20_000, "{states:?}");
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn pair_every_state_with_other_options_agrees() {
    let requests: BTreeMap<_, _> = flows::requests().into_iter().collect();
    let none = KnownCommands::UpTo(DotnetVersion { major: 3, minor: 0 });
    // A refusal of a request that is still being sent needs room for itself, as every socket has:
    // the client reads later.
    let early = |talk| Talk { capacity: 24, pieces: Pieces::AllButOne, ..talk };
    let ask = Talk::of("ask", requests["ask"]);
    let stop = Talk::of("stop", requests["stop"]);
    let environment = Talk::of("environment", requests["environment"]);
    for (name, talk, end) in [
        ("unknown", Talk { commands: none, ..ask }, "Error, Refused"),
        ("client's buffer too small", Talk { room: (20, 128), ..environment }, "Ok, Answered"),
        (
            "server's buffer too small",
            early(Talk { room: (128, 24), ..stop }),
            "Error, Refused, fault",
        ),
        ("a byte at a time", Talk { capacity: 1, ..environment }, "Ok, BrokenOff"),
    ] {
        let walked = walk(Pair::new(talk));
        report(name, &walked);
        walked.reached(end);
        assert!(walked.states > 500, "{name}: {}", walked.states);
    }
}
