//! A session, and how it uses the connection after the reply.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

#[cfg(unix)]
use dotnet_diagnostics_ipc::io::server::HeldConnection;
use dotnet_diagnostics_ipc::io::server::StreamWriter;
use dotnet_diagnostics_ipc::message::eventpipe::{Format, StreamingProviderConfig};

use super::application::{Application, State};
use super::misbehaviour::MisbehaviourKind as Kind;

/// How often a session checks for its client, and how long each check takes.
const CLIENT_POLL: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(1));

/// A session that has begun. Dropping it ends it, even if its reply was not sent.
pub(super) struct Session {
    application: Arc<Application>,
    id: u64,
}

impl Session {
    /// Begins a session, unless there are too many.
    pub(super) fn begin(application: &Arc<Application>) -> Option<Self> {
        let id = application.begin_session()?;
        Some(Self { application: Arc::clone(application), id })
    }

    pub(super) const fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn stream(
        self,
        stream: &mut StreamWriter<'_>,
        format: Format,
        rundown: bool,
        events: RequestedEvents,
    ) -> io::Result<()> {
        // A suspended runtime writes nothing, not even at the stop (P-29).
        self.wait(
            |time| stream.pause(time),
            |state| state.is_started() || state.is_stopped(self.id),
        );
        if !self.application.state().is_started() {
            return Ok(());
        }
        let mut first = start(format, self.application.process_id);
        if self.application.state().begins_twice(self.id) {
            first.extend(start(format, self.application.process_id));
        }
        if format != Format::NET_PERF {
            let info = self.application.info();
            let texts = [&*info.command_line, &info.os, &info.arch];
            first.extend(events.first(first.len(), texts));
        }
        stream.write_all(&first)?;
        // A runtime notices a missing reader at its next write. This one has nothing to write, so
        // it checks.
        let never = self.application.wrong.has(Kind::StreamNeverEnds);
        self.wait(|time| stream.pause(time), |state| !never && state.is_stopped(self.id));
        let mut last = Vec::new();
        if rundown && format != Format::NET_PERF {
            let start = usize::try_from(stream.streamed()).unwrap_or(usize::MAX);
            last = rundown_events(start, self.application.has_short_rundown);
        }
        last.extend(LAST);
        stream.write_all(&last)
    }

    #[cfg(unix)]
    pub(super) fn hold(self, connection: &mut HeldConnection<'_>) {
        self.wait(|time| connection.wait(Some(time)), |state| state.is_stopped(self.id));
        // A stop leaves the connection open.
        drop(self);
        // The end of the runtime also ends the connection.
        let _ = connection.wait(None);
    }

    /// Waits until the condition holds, the client has disconnected, or the runtime ends.
    fn wait(
        &self,
        mut has_gone: impl FnMut(Duration) -> io::Result<bool>,
        is_so: impl Fn(&State) -> bool,
    ) {
        let (every, time) = CLIENT_POLL;
        while self.application.wait(Some(every), |state| is_so(state).then_some(())).is_none() {
            if !matches!(has_gone(time), Ok(false)) {
                return;
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.application.session_is_over(self.id);
    }
}

const BEGIN: u8 = 5;
const END: u8 = 6;
/// The tag of a missing object, which is used as a type, and after the last object.
const NULL: u8 = 1;
/// The number of stacks in a rundown, and of addresses in each stack. The long rundown exceeds what
/// a socket holds; the short one fits in a pipe.
const STACKS: (usize, usize) = (32, 2048);
const SHORT_STACKS: (usize, usize) = (1, 128);
/// The field types in the description of an event.
const OBJECT: usize = 1;
const INT: usize = 9;
const FLOAT: usize = 13;
const DOUBLE: usize = 14;
const STRING: usize = 18;
/// The provider, id, keyword and version of an event of the runtime itself.
type NativeEvent = (&'static str, u32, u64, u32);
/// The event `EEStartupStart`.
const START: NativeEvent = ("Microsoft-Windows-DotNETRuntimePrivate", 80, 0x8000_0000, 1);
/// The event `GCRestartEEEnd`, as if there was a collection when a session begins.
const COLLECTED: NativeEvent = ("Microsoft-Windows-DotNETRuntime", 3, 1, 1);
/// The level of these events: informational.
const NATIVE_LEVEL: u32 = 4;
const COUNTERS: &str = "System.Runtime";
/// The argument that requests counters, followed by their interval in seconds.
const INTERVAL: &str = "EventCounterIntervalSec=";

/// Returns the start of a stream: its name, and the object that describes the trace.
fn start(format: Format, process_id: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let version: u32 = if format == Format::NET_PERF {
        3
    } else {
        bytes.extend(b"Nettrace");
        4
    };
    bytes.extend(b"\x14\0\0\0!FastSerialization.1");
    object(&mut bytes, b"Trace", version, |bytes| {
        // The parts are year, month, day of the week, day, hour, minute, second and millisecond.
        for part in [2024u16, 1, 1, 1, 0, 0, 0, 0] {
            bytes.extend(part.to_le_bytes());
        }
        // The parts are that time on the clock of the events, and its frequency.
        for part in [0u64, 1_000_000_000] {
            bytes.extend(part.to_le_bytes());
        }
        // The parts are pointer size, process id, number of processors and sampling rate.
        for part in [8, process_id, 1, 1_000_000] {
            bytes.extend(part.to_le_bytes());
        }
    });
    bytes
}

/// The events that a request asks for, besides the one about the process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RequestedEvents {
    /// Whether to send `EEStartupStart`, which only a session from before the start gets.
    start: bool,
    /// Whether to send `GCRestartEEEnd`, which sessions with the usual runtime events get.
    collected: bool,
    /// The interval of the counters in seconds, if they were requested.
    counters: Option<f32>,
}

impl RequestedEvents {
    /// Returns the events of a session that begins now, before or after the start.
    pub(super) fn of<'p>(
        providers: impl Iterator<Item = StreamingProviderConfig<'p>>,
        is_started: bool,
    ) -> Self {
        let mut events = Self::default();
        for provider in providers {
            let name = provider.provider_name.to_string();
            let asks = |(native, id, keyword, _): NativeEvent| {
                name.eq_ignore_ascii_case(native)
                    && provider.keywords & keyword != 0
                    && provider.log_level.0 >= NATIVE_LEVEL
                    && provider.filter.allows(id)
            };
            events.start |= !is_started && asks(START);
            events.collected |= asks(COLLECTED);
            if name.eq_ignore_ascii_case(COUNTERS) {
                let arguments = provider.arguments.to_string();
                let seconds = arguments.split([';', ',']).find_map(|argument| {
                    argument.trim().strip_prefix(INTERVAL)?.trim_matches('"').parse::<f32>().ok()
                });
                events.counters = seconds.filter(|seconds| *seconds > 0.0).or(events.counters);
            }
        }
        events
    }

    /// Returns the events at the beginning of a session, with their descriptions. `process` has
    /// command line, OS and architecture. `start` bytes precede them, because blocks are aligned in
    /// the whole stream.
    pub(super) fn first(self, start: usize, process: [&str; 3]) -> Vec<u8> {
        let mut all = vec![process_info(process)];
        all.extend(self.start.then(|| native(START)));
        all.extend(self.collected.then(|| native(COLLECTED)));
        all.extend(self.counters.map(counter));
        let mut bytes = std::vec![0; start];
        for (nth, (metadata, payload)) in (1..).zip(all) {
            block(
                &mut bytes,
                b"MetadataBlock",
                &event(0, 0, &[&number(usize::from(nth)), &*metadata].concat()),
            );
            block(&mut bytes, b"EventBlock", &event(nth, nth - 1, &payload));
        }
        bytes.split_off(start)
    }
}

/// The description of an event without its number, and its payload.
type Event = (Vec<u8>, Vec<u8>);

/// Returns the event that describes the process.
fn process_info(process: [&str; 3]) -> Event {
    let fields = ["CommandLine", "OSInformation", "ArchInformation"].map(|name| (STRING, name));
    let head = description("Microsoft-DotNETCore-EventPipe", 1, "ProcessInfo", 0, 1, 0);
    ([head, described(&fields)].concat(), process.map(text).concat())
}

/// Returns an event of the runtime itself. It has no name (F-28); its payload is the runtime's id.
fn native((provider, id, keyword, version): NativeEvent) -> Event {
    let head = description(provider, id, "", keyword, version, NATIVE_LEVEL);
    ([head, described(&[])].concat(), vec![0, 0])
}

/// Returns the event of a counter. Its one field has the fields of the counter.
fn counter(seconds: f32) -> Event {
    const FIELDS: [(usize, &str); 12] = [
        (STRING, "Name"),
        (STRING, "DisplayName"),
        (DOUBLE, "Mean"),
        (DOUBLE, "StandardDeviation"),
        (INT, "Count"),
        (DOUBLE, "Min"),
        (DOUBLE, "Max"),
        (FLOAT, "IntervalSec"),
        (STRING, "Series"),
        (STRING, "CounterType"),
        (STRING, "Metadata"),
        (STRING, "DisplayUnits"),
    ];
    const MEAN: f64 = 12.5;
    let nested = [number(1), number(OBJECT), number(1), number(OBJECT)].concat();
    let head = description(COUNTERS, 21, "EventCounters", 0, 0, 0);
    let metadata = [head, nested, described(&FIELDS), text("Payload"), text("")].concat();
    let payload = [
        text("cpu-usage"),
        text("CPU Usage"),
        MEAN.to_le_bytes().to_vec(),
        0f64.to_le_bytes().to_vec(),
        number(1).to_vec(),
        MEAN.to_le_bytes().to_vec(),
        MEAN.to_le_bytes().to_vec(),
        seconds.to_le_bytes().to_vec(),
        text(&format!("Interval={}", (seconds * 1000.0).round())),
        text("Mean"),
        text(""),
        text("%"),
    ];
    (metadata, payload.concat())
}

/// Encodes provider, id, name, keywords, version and level of an event.
fn description(
    provider: &str,
    id: u32,
    name: &str,
    keywords: u64,
    version: u32,
    level: u32,
) -> Vec<u8> {
    let [id, version, level] = [id, version, level].map(u32::to_le_bytes);
    [&text(provider)[..], &id, &text(name), &keywords.to_le_bytes(), &version, &level].concat()
}

/// Encodes the number of fields, and each field with its type.
fn described(fields: &[(usize, &str)]) -> Vec<u8> {
    let field = |(kind, name): &(usize, &str)| [&number(*kind)[..], &text(name)].concat();
    let mut bytes = number(fields.len()).to_vec();
    bytes.extend(fields.iter().flat_map(field));
    bytes
}

/// Returns the rundown at the end of a session, which has stacks but no events. `start` bytes
/// precede it, because blocks are aligned in the whole stream.
fn rundown_events(start: usize, is_short: bool) -> Vec<u8> {
    let (stacks, addresses) = if is_short { SHORT_STACKS } else { STACKS };
    let mut bytes = std::vec![0; start];
    for stack in 1..=stacks {
        let len = addresses * 8;
        // The numbers are first id, count, and size of the stack. No id occurs twice (F-154).
        let mut content = [number(stack), number(1), number(len)].concat();
        content.resize(content.len() + len, 0);
        block(&mut bytes, b"StackBlock", &content);
    }
    bytes.split_off(start)
}

/// Returns the content of a block with one event: the block's header, the compressed header of the
/// event, and its payload.
fn event(metadata_id: u8, before: u8, payload: &[u8]) -> Vec<u8> {
    // The block's header has its size, the flag for compression, and the first and the last time.
    let mut content = [&[20, 0, 1, 0][..], &[0; 16]].concat();
    // The first byte says which fields follow, and that events are sorted up to this one, because a
    // reader keeps them until then (F-176). The fields are metadata, number of the event in its
    // thread, thread, processor, thread and time.
    content.extend([0xc7, metadata_id, before, 1, 0, 1, 0]);
    let mut len = payload.len();
    while len > 0x7f {
        content.extend(u8::try_from(len & 0x7f).map(|low| low | 0x80));
        len >>= 7;
    }
    content.extend(u8::try_from(len));
    content.extend(payload);
    content
}

fn text(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

fn block(bytes: &mut Vec<u8>, name: &[u8], content: &[u8]) {
    object(bytes, name, 2, |bytes| {
        bytes.extend(number(content.len()));
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(content);
    });
}

/// The bytes after the last object.
pub(super) const LAST: &[u8] = &[NULL];

fn object(bytes: &mut Vec<u8>, name: &[u8], version: u32, body: impl FnOnce(&mut Vec<u8>)) {
    bytes.extend([BEGIN, BEGIN, NULL]);
    // The numbers are the version, and the oldest reader that can read it.
    bytes.extend([version.to_le_bytes(), version.to_le_bytes(), number(name.len())].concat());
    bytes.extend(name);
    bytes.push(END);
    body(bytes);
    bytes.push(END);
}

fn number(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the mark, Microsoft's reader keeps the event until the stream ends (F-176).
    #[test]
    fn event_is_marked_as_sorted() {
        let first = RequestedEvents::default().first(0, ["app", "Linux", "x64"]);
        let name = b"EventBlock\x06";
        let block = first.windows(name.len()).position(|bytes| bytes == name).unwrap();
        // The size of the block is aligned to four bytes, and its header has 20.
        let header = (block + name.len() + 4).next_multiple_of(4);
        assert_eq!(first[header..][..4], [20, 0, 1, 0]);
        assert_eq!(first[header + 20] & 0x40, 0x40);
    }
}
