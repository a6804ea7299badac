//! The script that plays the client: sends the recorded bytes, and compares what is the same in
//! every run.

use dotnet_diagnostics_ipc::vectors::Direction;
use dotnet_diagnostics_ipc::vectors::script::{
    Accept, Drain, EndStep, Ending, Expect, ExpectEnd, ExpectedEnd, Literal, Open, Pattern, Send,
    Step,
};

use super::connection::{Kind, RecordedConnection};
use super::log::{Event, EventKind, Recording};
use super::masks::{self, Sessions};
use super::pending::{PORT, Pending, name_of};

/// The longest run of arbitrary bytes in a pattern.
const LONGEST: usize = 65_535;
/// The end of a nettrace stream: the tag of no object.
const NULL_TAG: u8 = 1;

#[derive(Clone, Copy, Default)]
struct Progress {
    /// How many of the client's bytes are in steps, or pending.
    sent: usize,
    /// How many of the runtime's bytes were received.
    came: usize,
    /// How many of its parts are in steps, and how many bytes of the unknown part.
    parts: usize,
    said: usize,
    is_drained: bool,
    runtime_ended: bool,
    client_closed: bool,
}

struct Writer<'r> {
    recording: &'r Recording,
    connections: &'r [RecordedConnection],
    progress: Vec<Progress>,
    sessions: Sessions,
    pending: Option<Pending>,
    steps: Vec<Step>,
}

pub(super) fn steps(recording: &Recording, connections: &[RecordedConnection]) -> Vec<Step> {
    let progress = vec![Progress::default(); connections.len()];
    let mut writer = Writer {
        recording,
        connections,
        progress,
        sessions: Sessions::new(),
        pending: None,
        steps: Vec::new(),
    };
    for event in &recording.events {
        writer.event(event);
    }
    writer.flush();
    for nth in 0..connections.len() {
        writer.expect_what_came(nth);
    }
    writer.steps
}

impl Writer<'_> {
    fn push(&mut self, step: Step) {
        self.flush();
        self.steps.push(step);
    }

    /// Writes the sent bytes.
    fn flush(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        let request_len =
            self.connections.get(pending.connection).map_or(0, |connection| connection.request_len);
        let parts = match pending.bytes.split_at_checked(request_len) {
            Some((request, surplus)) if pending.begin == 0 => {
                let mut parts = masks::request(request, &self.sessions);
                if !surplus.is_empty() {
                    parts.push(Literal::Bytes(surplus.to_owned()));
                }
                parts
            }
            _ => Vec::from([Literal::Bytes(pending.bytes.clone())]),
        };
        self.steps.push(pending.step(parts));
    }

    fn event(&mut self, event: &Event) {
        let nth = event.connection;
        let Some(&progress) = self.progress.get(nth) else { return };
        let name = name_of(nth);
        match &event.seen {
            EventKind::Opened if self.recording.runtime_connects => {
                self.push(Step::Accept(Accept {
                    accept: name,
                    port: Some(PORT.to_owned()),
                    within_ms: None,
                }));
            }
            EventKind::Opened => {
                self.push(Step::Open(Open { open: name, port: None, within_ms: None }));
            }
            EventKind::Piece { from: Direction::Client, bytes, fds } => {
                self.expect_unknown(nth);
                if let Some(kind) = fds.first() {
                    let send = Vec::from([Literal::Bytes(bytes.clone())]);
                    let with_fd = Some(*kind);
                    self.push(Step::Send(Send {
                        on: name,
                        send,
                        chunks: Vec::new(),
                        with_fd,
                        may_fail: false,
                        within_ms: None,
                    }));
                } else if let Some(pending) =
                    self.pending.as_mut().filter(|pending| pending.connection == nth)
                {
                    pending.push(bytes, event.at);
                } else {
                    self.flush();
                    self.pending = Some(Pending::new(nth, progress.sent, bytes, event.at));
                }
                self.change(nth, |progress| {
                    progress.sent += bytes.len();
                });
            }
            EventKind::Piece { from: Direction::Server, bytes, .. } => {
                self.change(nth, |progress| {
                    progress.came += bytes.len();
                });
                self.expect_whole_parts(nth);
            }
            EventKind::Ended { by: Direction::Server, how }
                if !progress.runtime_ended && !progress.client_closed =>
            {
                self.change(nth, |progress| progress.runtime_ended = true);
                self.expect_what_came(nth);
                let expect_end =
                    if *how == Ending::Reset { ExpectedEnd::Reset } else { ExpectedEnd::Closed };
                let last = self.last(nth);
                self.push(Step::ExpectEnd(ExpectEnd {
                    on: name,
                    expect_end,
                    last,
                    last_any_of: Vec::new(),
                    while_memory_grows: false,
                    within_ms: None,
                }));
            }
            EventKind::Ended { by: Direction::Client, how }
                if !progress.client_closed && !progress.runtime_ended =>
            {
                let end = if *how == Ending::HalfClose { Ending::HalfClose } else { Ending::Close };
                self.change(nth, |progress| progress.client_closed = end == Ending::Close);
                self.expect_what_came(nth);
                self.push(Step::EndStep(EndStep { on: name, end }));
            }
            EventKind::Ended { .. } => {}
        }
    }

    fn change(&mut self, nth: usize, change: impl FnOnce(&mut Progress)) {
        if let Some(progress) = self.progress.get_mut(nth) {
            change(progress);
        }
    }

    /// The expected end of a drained stream: the whole of it differs between runs.
    fn last(&self, nth: usize) -> Vec<u8> {
        let is_drained = self.progress.get(nth).is_some_and(|progress| progress.is_drained);
        let is_nettrace = self
            .connections
            .get(nth)
            .is_some_and(|connection| connection.segment(Kind::StreamHead).is_some());
        let last = self.recording.totals.get(nth).and_then(|[_, runtime]| runtime.last);
        last.filter(|last| is_drained && is_nettrace && *last == NULL_TAG).into_iter().collect()
    }

    /// Writes the complete parts of the runtime's bytes.
    fn expect_whole_parts(&mut self, nth: usize) {
        let connections = self.connections;
        let Some(connection) = connections.get(nth) else { return };
        while let Some(&progress) = self.progress.get(nth) {
            let Some(segment) = connection.segments.get(progress.parts) else { return };
            let came = progress.came;
            if segment.kind == Kind::Stream {
                self.change(nth, |progress| {
                    (progress.parts, progress.is_drained) = (progress.parts + 1, true);
                });
                self.push(Step::Drain(Drain { on: name_of(nth), drain: true }));
                continue;
            }
            let there =
                connection.runtime.get(segment.range.clone()).filter(|_| segment.range.end <= came);
            let Some(bytes) = there else { return };
            self.change(nth, |progress| progress.parts += 1);
            self.expect(nth, segment.kind, bytes);
        }
    }

    /// Writes received bytes of unknown kind: more may follow.
    fn expect_unknown(&mut self, nth: usize) {
        let progress = self.progress.get(nth).copied().unwrap_or_default();
        let segment = self
            .connections
            .get(nth)
            .and_then(|connection| connection.segments.get(progress.parts));
        if segment.is_some_and(|segment| segment.kind == Kind::Other) {
            self.expect_what_came(nth);
        }
    }

    /// Writes an incomplete part.
    fn expect_what_came(&mut self, nth: usize) {
        self.expect_whole_parts(nth);
        let connections = self.connections;
        let (Some(connection), Some(&progress)) = (connections.get(nth), self.progress.get(nth))
        else {
            return;
        };
        let Some(segment) = connection.segments.get(progress.parts) else { return };
        let begin = segment.range.start.max(progress.said);
        let Some(bytes) =
            connection.runtime.get(begin..progress.came).filter(|bytes| !bytes.is_empty())
        else {
            return;
        };
        let total = self
            .recording
            .totals
            .get(nth)
            .map(|[_, runtime]| (usize::try_from(runtime.bytes).ok(), runtime.kept));
        if segment.kind == Kind::Other {
            self.change(nth, |progress| progress.said = progress.came);
            self.expect(nth, segment.kind, bytes);
            if total.is_some_and(|(bytes, kept)| bytes != Some(kept) && kept == progress.came) {
                self.change(nth, |progress| progress.is_drained = true);
                self.push(Step::Drain(Drain { on: name_of(nth), drain: true }));
            }
            return;
        }
        self.change(nth, |progress| progress.parts += 1);
        // There may have been more than was kept.
        let is_whole =
            total.is_some_and(|(bytes, _)| bytes.is_none_or(|bytes| bytes >= segment.range.end));
        if segment.kind == Kind::Environment && !is_whole {
            let parts = bytes.chunks(LONGEST).map(|run| masks::any(run.len(), None)).collect();
            self.push(Step::Expect(Expect {
                on: name_of(nth),
                expect: Pattern(parts),
                with_fd: false,
                within_ms: None,
            }));
        } else {
            self.expect(nth, segment.kind, bytes);
        }
    }

    fn expect(&mut self, nth: usize, kind: Kind, bytes: &[u8]) {
        let name = name_of(nth);
        let expect = match kind {
            Kind::Advertise => masks::advertise(bytes),
            Kind::Reply => {
                let command = self.connections.get(nth).and_then(|connection| connection.command);
                masks::reply(bytes, command, &name, &mut self.sessions)
            }
            Kind::Environment => Pattern(Vec::from([masks::any_of(&format!("block_{name}"), 1)])),
            Kind::StreamHead | Kind::Stream | Kind::Other => {
                Pattern(Vec::from([masks::literal(bytes)]))
            }
        };
        self.push(Step::Expect(Expect { on: name, expect, with_fd: false, within_ms: None }));
    }
}
