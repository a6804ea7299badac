//! The script that plays the client: sends the recorded bytes, and compares what is the same in
//! every run.

use std::collections::VecDeque;

use dotnet_diagnostics_ipc_vectors::player::{
    Connection, Conversation, Event, EventKind, TurnDirection,
};
use dotnet_diagnostics_ipc_vectors::script::{
    Accept, Drain, EndStep, Ending, Expect, ExpectEnd, ExpectedEnd, Literal, Open, Pattern, Send,
    Step,
};

use super::masks::{self, Sessions};
use super::parts::{Kind, Part, command, parts, request};
use super::pending::{PORT, Pending};
use crate::conversation::Exchange;

/// The longest run of arbitrary bytes in a pattern.
const LONGEST: usize = 65_535;
/// The end of a nettrace stream: the tag of no object.
const NULL_TAG: u8 = 1;

/// A connection, and how much of it is in steps.
struct Progress<'r> {
    connection: &'r Connection,
    exchange: &'r Exchange,
    /// How many of the client's bytes are in steps, or pending.
    sent: usize,
    /// How many of the runtime's bytes were received.
    came: usize,
    /// Its parts that are not in steps.
    parts: VecDeque<Part>,
    is_nettrace: bool,
    is_drained: bool,
    /// The runtime ended it, or the client closed it.
    is_over: bool,
}

#[derive(Default)]
struct Writer {
    sessions: Sessions,
    pending: Option<Pending>,
    steps: Vec<Step>,
}

pub(super) fn steps(conversation: &Conversation, exchanges: &[Exchange]) -> Vec<Step> {
    let mut all: Vec<Progress<'_>> =
        conversation.connections.iter().zip(exchanges).map(Progress::new).collect();
    let mut writer = Writer::default();
    for (event, bytes) in conversation.passed() {
        if let Some(progress) = all.get_mut(event.connection) {
            writer.event(progress, event, bytes);
        }
    }
    writer.flush();
    for progress in &mut all {
        writer.expect_what_came(progress);
    }
    writer.steps
}

impl<'r> Progress<'r> {
    fn new((connection, exchange): (&'r Connection, &'r Exchange)) -> Self {
        let parts: VecDeque<Part> = parts(&connection.came.first, exchange).into();
        Self {
            connection,
            exchange,
            sent: 0,
            came: 0,
            is_nettrace: parts.iter().any(|part| part.kind == Kind::StreamHead),
            parts,
            is_drained: false,
            is_over: false,
        }
    }

    fn name(&self) -> String {
        self.connection.name.clone()
    }

    /// The expected end of a drained stream: the whole of it differs between runs.
    fn last(&self) -> Vec<u8> {
        let last = self.connection.came.last.last().copied();
        let is_expected = |last: &u8| self.is_drained && self.is_nettrace && *last == NULL_TAG;
        last.filter(is_expected).into_iter().collect()
    }
}

impl Writer {
    fn push(&mut self, step: Step) {
        self.flush();
        self.steps.push(step);
    }

    /// Writes the sent bytes.
    fn flush(&mut self) {
        if let Some(pending) = self.pending.take() {
            let step = pending.step(&self.sessions);
            self.steps.push(step);
        }
    }

    fn event(&mut self, progress: &mut Progress<'_>, event: &Event, bytes: &[u8]) {
        let on = progress.name();
        match (event.by, &event.did) {
            (TurnDirection::Received, EventKind::Opened) => {
                let port = Some(PORT.to_owned());
                self.push(Step::Accept(Accept { accept: on, port, within_ms: None }));
            }
            (TurnDirection::Sent, EventKind::Opened) => {
                self.push(Step::Open(Open { open: on, port: None, within_ms: None }));
            }
            (TurnDirection::Sent, EventKind::Said { fds, .. }) => {
                self.expect_unknown(progress);
                if let Some(kind) = fds.first() {
                    self.push(Step::Send(Send {
                        on,
                        send: Vec::from([Literal::Bytes(bytes.to_vec())]),
                        chunks: Vec::new(),
                        with_fd: Some(*kind),
                        may_fail: false,
                        within_ms: None,
                    }));
                } else if let Some(pending) =
                    self.pending.as_mut().filter(|pending| pending.on == on)
                {
                    pending.push(bytes, event.at);
                } else {
                    self.flush();
                    // A request begins with the first byte.
                    let request = request(progress.exchange).len();
                    let request_len = if progress.sent == 0 { request } else { 0 };
                    self.pending = Some(Pending::new(on, request_len, bytes, event.at));
                }
                progress.sent += bytes.len();
            }
            (TurnDirection::Received, EventKind::Said { .. }) => {
                progress.came += bytes.len();
                self.expect_whole_parts(progress);
            }
            (TurnDirection::Received, EventKind::Ended(how)) if !progress.is_over => {
                progress.is_over = true;
                self.expect_what_came(progress);
                let expect_end =
                    if *how == Ending::Reset { ExpectedEnd::Reset } else { ExpectedEnd::Closed };
                self.push(Step::ExpectEnd(ExpectEnd {
                    on,
                    expect_end,
                    last: progress.last(),
                    last_any_of: Vec::new(),
                    while_memory_grows: false,
                    within_ms: None,
                }));
            }
            (TurnDirection::Sent, EventKind::Ended(how)) if !progress.is_over => {
                let end = if *how == Ending::HalfClose { Ending::HalfClose } else { Ending::Close };
                progress.is_over = end == Ending::Close;
                self.expect_what_came(progress);
                self.push(Step::EndStep(EndStep { on, end }));
            }
            (_, EventKind::Ended(_)) => {}
        }
    }

    fn drain(&mut self, progress: &mut Progress<'_>) {
        progress.is_drained = true;
        self.push(Step::Drain(Drain { on: progress.name(), drain: true }));
    }

    /// Writes the complete parts of the runtime's bytes.
    fn expect_whole_parts(&mut self, progress: &mut Progress<'_>) {
        while let Some(Part { kind, range }) = progress.parts.front().cloned() {
            if kind == Kind::Stream {
                progress.parts.pop_front();
                self.drain(progress);
                continue;
            }
            let all = &progress.connection.came.first;
            let Some(bytes) = all.get(range.clone()).filter(|_| range.end <= progress.came) else {
                return;
            };
            progress.parts.pop_front();
            self.expect(progress, kind, bytes);
        }
    }

    /// Writes received bytes of unknown kind: more may follow.
    fn expect_unknown(&mut self, progress: &mut Progress<'_>) {
        if progress.parts.front().is_some_and(|part| part.kind == Kind::Other) {
            self.expect_what_came(progress);
        }
    }

    /// Writes an incomplete part.
    fn expect_what_came(&mut self, progress: &mut Progress<'_>) {
        self.expect_whole_parts(progress);
        let Some(Part { kind, range }) = progress.parts.front().cloned() else { return };
        let runtime = &progress.connection.came;
        let came = runtime.first.get(range.start..progress.came).unwrap_or_default();
        if came.is_empty() {
            return;
        }
        // There may have been more than was kept.
        let all = usize::try_from(runtime.len).unwrap_or(usize::MAX);
        if kind == Kind::Other {
            if let Some(rest) = progress.parts.front_mut() {
                rest.range.start = progress.came;
            }
            self.expect(progress, kind, came);
            if all != progress.came && runtime.first.len() == progress.came {
                self.drain(progress);
            }
            return;
        }
        progress.parts.pop_front();
        if kind == Kind::Environment && all < range.end {
            let parts = came.chunks(LONGEST).map(|run| masks::any(run.len(), None)).collect();
            self.push(expect(progress.name(), Pattern(parts)));
        } else {
            self.expect(progress, kind, came);
        }
    }

    fn expect(&mut self, progress: &Progress<'_>, kind: Kind, bytes: &[u8]) {
        let name = progress.name();
        let pattern = match kind {
            Kind::Advertise => masks::advertise(bytes),
            Kind::Reply => {
                masks::reply(bytes, command(progress.exchange), &name, &mut self.sessions)
            }
            Kind::Environment => Pattern(Vec::from([masks::any_of(&format!("block_{name}"), 1)])),
            Kind::StreamHead | Kind::Stream | Kind::Other => {
                Pattern(Vec::from([masks::literal(bytes)]))
            }
        };
        self.push(expect(name, pattern));
    }
}

fn expect(on: String, expect: Pattern) -> Step {
    Step::Expect(Expect { on, expect, with_fd: false, within_ms: None })
}
