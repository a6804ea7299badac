//! Reads the stream of a session, in nettrace 4 or 5: whether it is whole, which events the runtime
//! has dropped, and how many events each provider has. For nettrace 6, it reads only the blocks.
//!
//! Every event has a number that counts the events of its thread, including those for which the
//! buffer had no room. So a gap is a loss. Sequence points name the last number of each thread.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::{collections::BTreeMap, string::String, vec::Vec};
use core::fmt;

pub use self::asked::AskedEvents;
use self::asked::unasked;

mod asked;

/// The front of a nettrace stream. Up to version 5 the name of its serializer follows; from version
/// 6 on a zero, and then the versions.
const FRONTS: [&[u8]; 2] = [b"Nettrace\x14\0\0\0!FastSerialization.1", b"Nettrace\0\0\0\0"];

/// The texts for what was expected at a place.
const FRONT: &str = "\"Nettrace\" and its serializer, or the version of the format";
const TAG: &str = "the tag 05 of an object, or 01 after the last one";
const OBJECT: &str =
    "an object of nettrace 4 or 5: Trace, EventBlock, MetadataBlock, StackBlock or SPBlock";
const OBJECT_END: &str = "the tag 06 at the end of an object";
const COMPRESSED: &str = "a block of events with compressed headers";
const EVENT: &str = "an event that ends in its block";
const SEQUENCE_POINT: &str = "a sequence point as long as its block";
const FEWER_THREADS: &str = "fewer than 1,048,576 threads";
const NUMBER: &str = "a number of 7 bits a byte";
const NOTHING: &str = "nothing after the end of the trace";

/// The tags of the serializer: an object's beginning and end, and the end of all objects.
const BEGIN: u8 = 5;
const END: u8 = 6;
const LAST: u8 = 1;
/// The newest version whose blocks are known, and the kinds of its last block and of the block that
/// describes the trace.
const NEWEST_VERSION: u32 = 6;
const LAST_BLOCK: u8 = 0;
const TRACE_BLOCK: u8 = 1;
/// The maximum length of a type's name.
const MAX_NAME_BYTES: usize = 64;
/// The maximum number of threads of one session; no process has more.
const MAX_THREADS: usize = 1 << 20;
/// The maximum numbers of event types and providers that are counted; events of others are not.
const MAX_EVENT_TYPES: usize = 1 << 16;
const MAX_PROVIDERS: usize = 1 << 10;
/// The maximum number of bytes read of a type's description: its id and its provider in UTF-16.
const MAX_DESCRIPTION_BYTES: u64 = 4 + 2 * 256;
/// The maximum number of bytes kept of data that is not nettrace.
const MAX_FOUND_BYTES: usize = 16;
/// The providers of events about the session itself, which list the methods of the process at the
/// end, and describe the process at the beginning.
const OF_THE_SESSION: [&str; 2] =
    ["Microsoft-Windows-DotNETRuntimeRundown", "Microsoft-DotNETCore-EventPipe"];

/// A reader of a stream. It is fed piece by piece, and keeps less than 600 bytes of the stream, the
/// last number of each thread, and a count for each type of event.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::nettrace::{Stream, StreamState};
///
/// let mut stream = Stream::default();
/// stream.feed(b"Nettrace\x14\0\0\0!FastSeri");
/// assert_eq!(stream.state(), StreamState::Cut);
/// stream.feed(b"alization.1\x01");
/// assert_eq!(stream.state(), StreamState::Whole { lost: 0 });
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    rest: Vec<u8>,
    /// The number of bytes that were read.
    at: u64,
    /// The number of next bytes to skip.
    skipped: u64,
    part: Part,
    is_past_start: bool,
    version: Option<u32>,
    threads: BTreeMap<u64, u32>,
    lost: u64,
    /// The provider of each type of event, by its place in `providers`.
    event_types: BTreeMap<u32, usize>,
    providers: Vec<(String, u64)>,
    places: BTreeMap<String, usize>,
    asked: Option<AskedEvents>,
    /// The types of events that were not asked for, and the first such event.
    unasked_types: BTreeMap<u32, String>,
    unasked: Option<String>,
}

/// The state of a stream: whether it has its end, and all its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamState {
    /// The stream has no end.
    Cut,
    /// The stream is whole, and the runtime dropped this many events before its end.
    Whole {
        /// The number of dropped events.
        lost: u64,
    },
    /// The stream cannot be read as nettrace from this byte on.
    Broken {
        /// The number of bytes before it.
        at: u64,
        /// What was expected there.
        expected: &'static str,
    },
    /// The stream is in a newer format, of which at most the end is known.
    Unknown,
}

impl StreamState {
    /// Returns whether a stream that has ended and begins as nettrace is not whole.
    pub const fn is_wrong_nettrace(self) -> bool {
        matches!(self, Self::Cut | Self::Broken { at: 1.., .. })
    }
}

impl fmt::Display for StreamState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut => f.write_str(
                "the stream ends without its end: after the last object the tag 01, in nettrace 6 a block of 0 bytes",
            ),
            Self::Whole { lost: 0 } => f.write_str("the stream is whole"),
            Self::Whole { lost } => write!(f, "the stream is whole, without {lost} events that the runtime has dropped"),
            Self::Broken { at, expected } => {
                write!(f, "the stream is not nettrace from byte {at} on: expected {expected}")
            }
            Self::Unknown => f.write_str("the stream is in a newer format than nettrace 5"),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Front,
    /// An object, or the last tag.
    Object,
    /// The length of a block, which is aligned after it.
    Length(Kind),
    EventsHeader(u64, Kind),
    /// This many bytes are left of the block.
    Events(u64, Kind, EventHeader),
    SequencePoint(u64),
    Threads(u64),
    ObjectEnd,
    Over,
    /// A block of nettrace 6, with its size and kind before it.
    Block,
    /// Nothing follows the last block.
    BlocksOver,
    Broken(u64, &'static str),
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Events,
    Metadata,
    SequencePoint,
    Other,
}

/// Returns whether a stream may begin like this.
pub fn is_front(bytes: &[u8]) -> bool {
    FRONTS.iter().any(|front| bytes.iter().zip(*front).all(|(have, want)| have == want))
}

/// The fields that an event inherits from the previous event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct EventHeader {
    metadata_id: u32,
    sequence_number: u32,
    capture_thread: u64,
    payload: u32,
}

enum Stop {
    /// The part is longer than the bytes received.
    Short,
    /// The bytes are not this.
    Broken(&'static str),
    Unknown,
}

impl Stream {
    /// Returns a reader for the stream of a session that asks for these events.
    pub fn of(asked: Option<AskedEvents>) -> Self {
        Self { asked, ..Self::default() }
    }

    /// Reads the next piece.
    pub fn feed(&mut self, bytes: &[u8]) {
        let joined;
        let mut bytes = if self.rest.is_empty() {
            bytes
        } else {
            let mut rest = core::mem::take(&mut self.rest);
            rest.extend_from_slice(bytes);
            joined = rest;
            &joined
        };
        loop {
            if matches!(self.part, Part::Broken(..) | Part::Unknown) {
                self.rest = bytes.iter().copied().take(MAX_FOUND_BYTES).collect();
                return;
            }
            let skipped = usize::try_from(self.skipped).unwrap_or(usize::MAX).min(bytes.len());
            bytes = self.read(bytes, skipped);
            self.skipped = self.skipped.saturating_sub(skipped as u64);
            if bytes.is_empty() || self.skipped > 0 {
                return;
            }
            match self.next(bytes) {
                Ok(read) => bytes = self.read(bytes, read),
                Err(Stop::Short) => {
                    self.rest.extend_from_slice(bytes);
                    return;
                }
                Err(Stop::Broken(expected)) => self.part = Part::Broken(self.at, expected),
                Err(Stop::Unknown) => self.part = Part::Unknown,
            }
        }
    }

    /// Returns the state of the stream so far.
    pub fn state(&self) -> StreamState {
        match self.part {
            Part::Over => StreamState::Whole { lost: self.lost },
            Part::Broken(at, expected) => StreamState::Broken { at, expected },
            Part::BlocksOver | Part::Unknown => StreamState::Unknown,
            // A wrong front makes the stream broken, however short it is.
            Part::Front if !is_front(&self.rest) => StreamState::Broken { at: 0, expected: FRONT },
            _ => StreamState::Cut,
        }
    }

    /// Returns the version of the format, once it was received.
    pub const fn version(&self) -> Option<u32> {
        self.version
    }

    /// Returns the first bytes that cannot be read, at most 16.
    pub fn found(&self) -> &[u8] {
        if matches!(self.state(), StreamState::Broken { .. }) { &self.rest } else { &[] }
    }

    /// Returns how many events the runtime has dropped, so far.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns whether more than the start was received: the header and the description of the
    /// trace. A runtime may send these before it has an event (F-169).
    pub fn is_past_start(&self) -> bool {
        self.is_past_start || !matches!(self.state(), StreamState::Cut) || {
            let [front, _] = FRONTS;
            let is_described = self.part == Part::Object && self.at > front.len() as u64;
            is_described && !self.rest.is_empty()
        }
    }

    /// Returns the providers that have described their events, with the number of their events.
    pub fn providers(&self) -> impl Iterator<Item = (&str, u64)> {
        self.providers.iter().map(|(name, events)| (name.as_str(), *events))
    }

    /// Returns the number of events, without those about the session itself.
    pub fn events(&self) -> u64 {
        let counted = self.providers().filter(|(name, _)| !OF_THE_SESSION.contains(name));
        counted.fold(0, |sum, (_, events)| sum.saturating_add(events))
    }

    /// Returns the first event that the session has not asked for, in words.
    pub fn unasked(&self) -> Option<&str> {
        self.unasked.as_deref()
    }

    fn read<'b>(&mut self, bytes: &'b [u8], count: usize) -> &'b [u8] {
        self.at = self.at.saturating_add(count as u64);
        bytes.get(count..).unwrap_or_default()
    }

    /// Reads one part, and returns its length.
    fn next(&mut self, bytes: &[u8]) -> Result<usize, Stop> {
        let mut cursor = Cursor { bytes, at: 0 };
        match self.part {
            Part::Front => {
                let [front, newer] = FRONTS;
                self.part = if cursor.take(newer.len())? == newer {
                    let (major, _minor) = (cursor.u32()?, cursor.u32()?);
                    self.version = Some(major);
                    if major != NEWEST_VERSION {
                        return Err(Stop::Unknown);
                    }
                    Part::Block
                } else {
                    cursor.at = 0;
                    if cursor.take(front.len())? != front {
                        return Err(Stop::Broken(FRONT));
                    }
                    Part::Object
                };
            }
            Part::Object => match cursor.u8()? {
                LAST => self.part = Part::Over,
                BEGIN => self.part = self.object(&mut cursor)?,
                _ => return Err(Stop::Broken(TAG)),
            },
            Part::Block => {
                let [low, middle, high, kind] = cursor.array()?;
                self.skipped = u32::from_le_bytes([low, middle, high, 0]).into();
                self.is_past_start |= kind != TRACE_BLOCK;
                self.part = if kind == LAST_BLOCK { Part::BlocksOver } else { Part::Block };
            }
            Part::Length(kind) => {
                let length = u64::from(cursor.u32()?);
                let after = self.at.saturating_add(4);
                cursor.take(usize::try_from(after.wrapping_neg() % 4).unwrap_or_default())?;
                self.part = match kind {
                    Kind::Events | Kind::Metadata => Part::EventsHeader(length, kind),
                    Kind::SequencePoint => Part::SequencePoint(length),
                    Kind::Other => {
                        self.skipped = length;
                        Part::ObjectEnd
                    }
                };
            }
            Part::EventsHeader(length, kind) => {
                let (size, flags) = (u64::from(cursor.u16()?), cursor.u16()?);
                // Blocks without compressed headers have another format.
                if flags & 1 == 0 || size < 4 {
                    return Err(Stop::Broken(COMPRESSED));
                }
                self.skipped = size.saturating_sub(4);
                let left = length.checked_sub(size).ok_or(Stop::Broken(COMPRESSED))?;
                self.part = Part::Events(left, kind, EventHeader::default());
            }
            Part::Events(0, ..) | Part::Threads(0) => self.part = Part::ObjectEnd,
            Part::Events(left, kind, before) => {
                let header = EventHeader::read(&mut cursor, before)?;
                let payload = u64::from(header.payload);
                let event = payload.saturating_add(cursor.at as u64);
                let left = left.checked_sub(event).ok_or(Stop::Broken(EVENT))?;
                let mut looked_at = 0;
                if matches!(kind, Kind::Metadata) {
                    looked_at = payload.min(MAX_DESCRIPTION_BYTES);
                    let start = cursor.take(usize::try_from(looked_at).unwrap_or_default())?;
                    self.describe(start);
                } else if header.metadata_id != 0 {
                    let before = header.sequence_number.wrapping_sub(1);
                    self.seen(header.capture_thread, before, header.sequence_number)?;
                    self.count(header.metadata_id);
                }
                self.skipped = payload.saturating_sub(looked_at);
                self.part = Part::Events(left, kind, header);
            }
            Part::SequencePoint(length) => {
                cursor.take(8)?;
                let count = u64::from(cursor.u32()?);
                if count.checked_mul(12).and_then(|all| all.checked_add(12)) != Some(length) {
                    return Err(Stop::Broken(SEQUENCE_POINT));
                }
                self.part = Part::Threads(count);
            }
            Part::Threads(count) => {
                let (thread, number) = (cursor.u64()?, cursor.u32()?);
                self.seen(thread, number, number)?;
                self.part = Part::Threads(count.saturating_sub(1));
            }
            Part::ObjectEnd => {
                if cursor.u8()? != END {
                    return Err(Stop::Broken(OBJECT_END));
                }
                self.part = Part::Object;
            }
            Part::Over | Part::BlocksOver | Part::Broken(..) | Part::Unknown => {
                return Err(Stop::Broken(NOTHING));
            }
        }
        Ok(cursor.at)
    }

    /// Records the provider of a type of event, from the start of its description.
    fn describe(&mut self, description: &[u8]) {
        let Some((id, rest)) = description.split_first_chunk() else { return };
        let id = u32::from_le_bytes(*id);
        let Ok(name) = (Cursor { bytes: rest, at: 0 }).text() else { return };
        let next = self.providers.len();
        let provider = self.places.get(&name).copied().unwrap_or(next);
        if provider == next && next < MAX_PROVIDERS {
            self.providers.push((name.clone(), 0));
            self.places.insert(name, next);
        }
        if self.event_types.len() < MAX_EVENT_TYPES {
            self.event_types.insert(id, provider);
            if let Some(text) = self.asked.as_ref().and_then(|asked| unasked(asked, rest)) {
                self.unasked_types.insert(id, text);
            }
        }
    }

    fn count(&mut self, event_type: u32) {
        let provider = self.event_types.get(&event_type);
        if let Some((_, events)) = provider.and_then(|provider| self.providers.get_mut(*provider)) {
            *events = events.saturating_add(1);
        }
        if self.unasked.is_none() {
            self.unasked = self.unasked_types.get(&event_type).cloned();
        }
    }

    /// Reads the type at the beginning of an object.
    fn object(&mut self, cursor: &mut Cursor<'_>) -> Result<Part, Stop> {
        let tags = cursor.take(2)?;
        let (version, _oldest_reader) = (cursor.u32()?, cursor.u32()?);
        let length = usize::try_from(cursor.u32()?).unwrap_or(usize::MAX);
        if tags != [BEGIN, LAST] || length > MAX_NAME_BYTES {
            return Err(Stop::Broken(OBJECT));
        }
        let name = cursor.take(length)?;
        if cursor.u8()? != END {
            return Err(Stop::Broken(OBJECT));
        }
        self.is_past_start |= name != b"Trace";
        Ok(match name {
            b"Trace" if version > 5 => {
                self.version = Some(version);
                return Err(Stop::Unknown);
            }
            b"Trace" if version < 4 => return Err(Stop::Broken(OBJECT)),
            b"Trace" => {
                self.version = Some(version);
                self.skipped = 48;
                Part::ObjectEnd
            }
            b"EventBlock" => Part::Length(Kind::Events),
            b"SPBlock" => Part::Length(Kind::SequencePoint),
            b"MetadataBlock" => Part::Length(Kind::Metadata),
            b"StackBlock" => Part::Length(Kind::Other),
            _ => return Err(Stop::Broken(OBJECT)),
        })
    }

    /// Records that a thread is at `now`, and was expected at `before`.
    fn seen(&mut self, thread: u64, before: u32, now: u32) -> Result<(), Stop> {
        if self.threads.len() >= MAX_THREADS {
            return Err(Stop::Broken(FEWER_THREADS));
        }
        let last = self.threads.insert(thread, now).unwrap_or_default();
        let gap = before.wrapping_sub(last);
        // If the number decreased, the id belongs to a new thread, which counts from the start.
        let gap = if gap > u32::MAX / 2 { before } else { gap };
        self.lost = self.lost.saturating_add(u64::from(gap));
        Ok(())
    }
}

impl EventHeader {
    /// Reads the header of a compressed event; missing fields are taken from the event `before`.
    fn read(cursor: &mut Cursor<'_>, before: Self) -> Result<Self, Stop> {
        let mut header = before;
        let flags = cursor.u8()?;
        let has = |bit: u8| flags & (1 << bit) != 0;
        if has(0) {
            header.metadata_id = cursor.varuint32()?;
        }
        // This is the difference to the next expected number.
        if has(1) {
            header.sequence_number = header.sequence_number.wrapping_add(cursor.varuint32()?);
            header.capture_thread = cursor.varuint()?;
            cursor.varuint()?;
        }
        if header.metadata_id != 0 {
            header.sequence_number = header.sequence_number.wrapping_add(1);
        }
        // These are the thread and the stack, if they changed, and the time.
        for is_there in [has(2), has(3), true] {
            if is_there {
                cursor.varuint()?;
            }
        }
        // These are the activities.
        for is_there in [has(4), has(5)] {
            if is_there {
                cursor.take(16)?;
            }
        }
        if has(7) {
            header.payload = cursor.varuint32()?;
        }
        Ok(header)
    }
}

struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Cursor<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8], Stop> {
        let end = self.at.checked_add(count).ok_or(Stop::Broken(EVENT))?;
        let taken = self.bytes.get(self.at..end).ok_or(Stop::Short)?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        self.take(N)?.try_into().map_err(|_| Stop::Short)
    }

    fn u8(&mut self) -> Result<u8, Stop> {
        self.array().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Result<u16, Stop> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, Stop> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Stop> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads UTF-16 up to a NUL, and the NUL.
    fn text(&mut self) -> Result<String, Stop> {
        let mut units = Vec::new();
        loop {
            match self.u16()? {
                0 => return Ok(String::from_utf16_lossy(&units)),
                unit => units.push(unit),
            }
        }
    }

    /// Reads seven bits a byte, the lowest first.
    fn varuint(&mut self) -> Result<u64, Stop> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Stop::Broken(NUMBER))
    }

    fn varuint32(&mut self) -> Result<u32, Stop> {
        u32::try_from(self.varuint()?).map_err(|_| Stop::Broken(NUMBER))
    }
}

#[cfg(test)]
mod tests;
