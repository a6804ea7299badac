//! The script that plays the runtime: sends the recorded bytes, except for the length of streams;
//! requests must match byte for byte.

use dotnet_diagnostics_ipc::vectors::script::{
    Accept, EndStep, Ending, Expect, ExpectEnd, ExpectedEnd, Literal, Open, Pattern, Step,
};

use super::connection::{Kind, RecordedConnection};
use super::log::{Event, EventKind, Recording, Side};
use super::masks;
use super::pending::{PORT, Pending, name_of};

/// How many bytes of a stream are sent.
pub(super) const STREAM: usize = 65_536;

#[derive(Clone, Default)]
struct Progress {
    /// The client's bytes not yet in a step.
    unsaid: Vec<u8>,
    /// How many of the client's bytes were received.
    came: usize,
    /// How many of the runtime's bytes are in steps, pending, or left out.
    sent: usize,
    client_ended: bool,
    runtime_closed: bool,
}

struct Writer<'r> {
    recording: &'r Recording,
    connections: &'r [RecordedConnection],
    progress: Vec<Progress>,
    /// How many bytes of each connection's stream are sent.
    streamed: Vec<u64>,
    pending: Option<Pending>,
    steps: Vec<Step>,
}

/// The steps, and how many bytes of each connection's stream they send.
pub(super) fn steps(
    recording: &Recording,
    connections: &[RecordedConnection],
) -> (Vec<Step>, Vec<u64>) {
    let mut writer = Writer {
        recording,
        connections,
        progress: vec![Progress::default(); connections.len()],
        streamed: vec![0; connections.len()],
        pending: None,
        steps: Vec::new(),
    };
    for event in &recording.events {
        writer.event(event);
    }
    for nth in 0..connections.len() {
        writer.expect_what_came(nth);
    }
    writer.flush();
    (writer.steps, writer.streamed)
}

impl Writer<'_> {
    fn push(&mut self, step: Step) {
        self.flush();
        self.steps.push(step);
    }

    fn flush(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        let streams = self
            .stream_begins(pending.connection)
            .is_some_and(|begin| pending.begin.saturating_add(pending.bytes.len()) > begin);
        let parts = Vec::from([Literal::Bytes(pending.bytes.clone())]);
        self.steps.push(pending.step(parts, !streams));
    }

    fn event(&mut self, event: &Event) {
        let nth = event.connection;
        let Some(progress) = self.progress.get_mut(nth) else { return };
        let name = name_of(nth);
        match &event.seen {
            EventKind::Opened if self.recording.runtime_connects => {
                self.push(Step::Open(Open {
                    open: name,
                    port: Some(PORT.to_owned()),
                    within_ms: None,
                }));
            }
            EventKind::Opened => {
                self.push(Step::Accept(Accept { accept: name, port: None, within_ms: None }));
            }
            EventKind::Piece { from: Side::Client, bytes, fds } => {
                progress.came += bytes.len();
                let came = progress.came;
                if fds.is_empty() {
                    progress.unsaid.extend_from_slice(bytes);
                    let is_whole = self
                        .connections
                        .get(nth)
                        .is_some_and(|connection| came == connection.request_len);
                    if is_whole {
                        self.expect_what_came(nth);
                    }
                } else {
                    self.expect_what_came(nth);
                    let expect = Pattern(Vec::from([masks::literal(bytes)]));
                    self.push(Step::Expect(Expect {
                        on: name,
                        expect,
                        with_fd: true,
                        within_ms: None,
                    }));
                }
            }
            EventKind::Piece { from: Side::Runtime, bytes, .. } => self.runtime_says(event, bytes),
            EventKind::Ended { by: Side::Client, how }
                if !progress.client_ended && !progress.runtime_closed =>
            {
                progress.client_ended = true;
                self.expect_what_came(nth);
                // With unread bytes, a close is a reset; that depends on timing.
                let is_sure = *how != Ending::Reset && self.streamed.get(nth) == Some(&0);
                let expect_end = if is_sure { ExpectedEnd::Closed } else { ExpectedEnd::Any };
                self.push(Step::ExpectEnd(ExpectEnd {
                    on: name,
                    expect_end,
                    last: Vec::new(),
                    last_any_of: Vec::new(),
                    while_memory_grows: false,
                    within_ms: None,
                }));
            }
            EventKind::Ended { by: Side::Runtime, how } if !progress.runtime_closed => {
                progress.runtime_closed = *how != Ending::HalfClose;
                self.expect_what_came(nth);
                self.push(Step::EndStep(EndStep { on: name, end: *how }));
            }
            EventKind::Ended { .. } => {}
        }
    }

    /// Writes the client's bytes. A reset is a close with unread bytes: those after the request
    /// stay unread.
    fn expect_what_came(&mut self, nth: usize) {
        let Some(progress) = self.progress.get_mut(nth) else { return };
        let mut unsaid = std::mem::take(&mut progress.unsaid);
        if self.recording.ending(nth, Side::Runtime) == Some(Ending::Reset) {
            let came = progress.came;
            let said = came.saturating_sub(unsaid.len());
            let request_len =
                self.connections.get(nth).map_or(0, |connection| connection.request_len);
            let rest = unsaid.split_off(request_len.saturating_sub(said).min(unsaid.len()));
            progress.unsaid = rest;
        }
        if !unsaid.is_empty() {
            let expect = Pattern(Vec::from([masks::literal(&unsaid)]));
            self.push(Step::Expect(Expect {
                on: name_of(nth),
                expect,
                with_fd: false,
                within_ms: None,
            }));
        }
    }

    /// The offset of the stream in the runtime's bytes.
    fn stream_begins(&self, nth: usize) -> Option<usize> {
        let segments = &self.connections.get(nth)?.segments;
        let stream = segments
            .iter()
            .find(|segment| matches!(segment.kind, Kind::StreamHead | Kind::Stream))?;
        Some(stream.range.start)
    }

    fn runtime_says(&mut self, event: &Event, bytes: &[u8]) {
        let nth = event.connection;
        self.expect_what_came(nth);
        let begins = self.stream_begins(nth);
        let Some(progress) = self.progress.get_mut(nth) else { return };
        let begin = progress.sent;
        progress.sent = begin.saturating_add(bytes.len());
        let end = begins.map_or(usize::MAX, |begins| begins + STREAM);
        let bytes = bytes.get(..bytes.len().min(end.saturating_sub(begin))).unwrap_or_default();
        if bytes.is_empty() {
            return;
        }
        let behind = begin
            .saturating_add(bytes.len())
            .saturating_sub(begins.unwrap_or(usize::MAX))
            .min(bytes.len());
        if let Some(streamed) = self.streamed.get_mut(nth) {
            *streamed += u64::try_from(behind).unwrap_or(u64::MAX);
        }
        if let Some(pending) = self.pending.as_mut().filter(|pending| pending.connection == nth) {
            pending.push(bytes, event.at);
        } else {
            self.flush();
            self.pending = Some(Pending::new(nth, begin, bytes, event.at));
        }
        // A client that has enough of a stream stops reading.
        let client_first = self.recording.ending(nth, Side::Runtime).is_none()
            && self.recording.ending(nth, Side::Client).is_some();
        if let Some(pending) = self.pending.as_mut().filter(|_| behind > 0 && client_first) {
            pending.may_fail = true;
        }
    }
}
