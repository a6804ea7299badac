//! What is wrong, and where: the errors of decoding, of a server's limits, and of encoding.

use core::fmt;

use super::field::Field;
use crate::hresult::HResult;

/// Where in an implementation a fault is found; the `layer` of the vectors, and the only part of an error that binds others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// The bytes end too early, or `size` is impossible.
    Transport,
    /// Magic or command code.
    Header,
    /// The grammar of the payload.
    Payload,
    /// The bytes decode, but a server refuses the values (F-16).
    Limits,
    /// What a server sent is no reply.
    Reply,
}

impl Layer {
    /// The name in the vectors: `"transport"`, `"header"`, `"payload"`, `"limits"`, `"reply"`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transport => "transport",
            Self::Header => "header",
            Self::Payload => "payload",
            Self::Limits => "limits",
            Self::Reply => "reply",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The kind of a [`WireError`]: [`DecodeErrorKind`] or [`LimitKind`].
pub trait ErrorKind: Copy + fmt::Display + sealed::Sealed {
    /// The layer at which this kind of fault lies.
    fn layer(self) -> Layer;
    /// The name in the vectors, such as `"missing_terminator"`.
    fn name(self) -> &'static str;
    /// The HRESULT with which a server answers a request that has this fault.
    fn hresult(self) -> HResult;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::DecodeErrorKind {}
    impl Sealed for super::LimitKind {}
}

/// Why bytes do not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The input ends before the header, the payload or the advertise that it should hold.
    EndOfInput {
        /// How many bytes it should have.
        needed: u32,
    },
    /// Bytes follow where the input should end with the message.
    BytesAfterMessage {
        /// How many.
        extra: u32,
    },
    /// The header's `size` is below the header's own 20 bytes.
    SizeTooSmall {
        /// The size that stands there.
        size: u16,
    },
    /// The first bytes are not the magic.
    BadMagic,
    /// The header names another command than the one asked for.
    UnexpectedCommand {
        /// The code that stands there, as `0xSSII`.
        code: u16,
    },
    /// A server's message whose command set is not `0xFF`, or whose id is neither OK nor Error.
    NotAReply {
        /// The code that stands there, as `0xSSII`.
        code: u16,
    },
    /// The payload ends inside a field of fixed size.
    UnexpectedEnd {
        /// The size of the field.
        needed: u32,
        /// What is left of the payload.
        remaining: u32,
    },
    /// A string or array announces more than the rest of the payload can hold.
    CountTooLarge {
        /// The count that stands there.
        count: u32,
        /// What is left of the payload after the count.
        remaining: u32,
    },
    /// The last unit of a string is not NUL.
    MissingTerminator {
        /// The unit that stands in its place.
        unit: u16,
    },
    /// A `session_type` other than 0 (streaming) and 1 (`user_events`); F-18.
    UnknownSessionType {
        /// The number that stands there.
        session_type: u32,
    },
}

impl ErrorKind for DecodeErrorKind {
    fn layer(self) -> Layer {
        match self {
            Self::EndOfInput { .. } | Self::BytesAfterMessage { .. } | Self::SizeTooSmall { .. } => Layer::Transport,
            Self::BadMagic | Self::UnexpectedCommand { .. } => Layer::Header,
            Self::NotAReply { .. } => Layer::Reply,
            Self::UnexpectedEnd { .. }
            | Self::CountTooLarge { .. }
            | Self::MissingTerminator { .. }
            | Self::UnknownSessionType { .. } => Layer::Payload,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::EndOfInput { .. } => "end_of_input",
            Self::BytesAfterMessage { .. } => "bytes_after_message",
            Self::SizeTooSmall { .. } => "size_too_small",
            Self::BadMagic => "bad_magic",
            Self::UnexpectedCommand { .. } => "unexpected_command",
            Self::NotAReply { .. } => "not_a_reply",
            Self::UnexpectedEnd { .. } => "unexpected_end",
            Self::CountTooLarge { .. } => "count_too_large",
            Self::MissingTerminator { .. } => "missing_terminator",
            Self::UnknownSessionType { .. } => "unknown_session_type",
        }
    }

    fn hresult(self) -> HResult {
        match self {
            Self::BadMagic => HResult::UNKNOWN_MAGIC,
            Self::UnexpectedCommand { .. } => HResult::UNKNOWN_COMMAND,
            _ => HResult::BAD_ENCODING,
        }
    }
}

impl fmt::Display for DecodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::EndOfInput { needed } => write!(f, "the input ends here, {needed} bytes are needed"),
            Self::BytesAfterMessage { extra } => write!(f, "{extra} bytes more than the message has"),
            Self::SizeTooSmall { size } => write!(f, "size {size} is less than the 20 bytes of the header"),
            Self::BadMagic => f.write_str("not the magic from this byte on"),
            Self::UnexpectedCommand { code } => write!(f, "command {code:#06x} is not the one expected"),
            Self::NotAReply { code } => write!(f, "{code:#06x} is neither OK (0xff00) nor Error (0xffff)"),
            Self::UnexpectedEnd { needed, remaining } => {
                write!(f, "the field takes {needed} bytes, {remaining} are left of the payload")
            }
            Self::CountTooLarge { count, remaining } => {
                write!(f, "a count of {count} cannot fit into the {remaining} bytes that are left of the payload")
            }
            Self::MissingTerminator { unit } => write!(f, "the string ends with unit {unit:#06x} instead of NUL"),
            Self::UnknownSessionType { session_type } => {
                write!(f, "session_type {session_type} is neither 0 (streaming) nor 1 (user_events)")
            }
        }
    }
}

/// Why a server refuses a request that decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LimitKind {
    /// `circularBufferMB` is 0.
    ZeroBuffer,
    /// `format` is above 1.
    UnknownFormat(u32),
    /// `logLevel` is above 5.
    LogLevelOutOfRange(u32),
    /// No provider at all.
    NoProviders,
    /// More than 1,000 providers.
    TooManyProviders(u32),
    /// A provider without a name.
    EmptyProviderName,
    /// A `tracepoint_config` with neither a default tracepoint nor a set.
    NoTracepoint,
    /// A `tracepoint_set` without a name.
    EmptyTracepointName,
    /// An event id stands twice in the sets of one provider.
    DuplicateEventId(u32),
    /// `sessionBufferMode` is above 1 (F-30).
    UnknownBufferMode(u32),
    /// `perfMapType` is 0 or above 3 (F-46).
    UnknownPerfMapType(u32),
    /// `dumpType` is 0 or above 4.
    UnknownDumpType(u32),
    /// A name or path that may not be absent.
    AbsentName,
}

impl ErrorKind for LimitKind {
    fn layer(self) -> Layer {
        Layer::Limits
    }

    fn name(self) -> &'static str {
        match self {
            Self::ZeroBuffer => "zero_buffer",
            Self::UnknownFormat(_) => "unknown_format",
            Self::LogLevelOutOfRange(_) => "log_level_out_of_range",
            Self::NoProviders => "no_providers",
            Self::TooManyProviders(_) => "too_many_providers",
            Self::EmptyProviderName => "empty_provider_name",
            Self::NoTracepoint => "no_tracepoint",
            Self::EmptyTracepointName => "empty_tracepoint_name",
            Self::DuplicateEventId(_) => "duplicate_event_id",
            Self::UnknownBufferMode(_) => "unknown_buffer_mode",
            Self::UnknownPerfMapType(_) => "unknown_perf_map_type",
            Self::UnknownDumpType(_) => "unknown_dump_type",
            Self::AbsentName => "absent_name",
        }
    }

    fn hresult(self) -> HResult {
        match self {
            // P-3: seen on 8.0.30, 9.0.5 and 10.0.9.
            Self::DuplicateEventId(_) | Self::UnknownDumpType(_) => HResult::FAIL,
            Self::UnknownPerfMapType(_) | Self::AbsentName => HResult::INVALID_ARG,
            _ => HResult::BAD_ENCODING,
        }
    }
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ZeroBuffer => f.write_str("a circular buffer of 0 MB"),
            Self::UnknownFormat(n) => write!(f, "format {n} is neither 0 (NetPerf) nor 1 (NetTrace)"),
            Self::LogLevelOutOfRange(n) => write!(f, "level {n} is above 5 (Verbose)"),
            Self::NoProviders => f.write_str("no provider"),
            Self::TooManyProviders(n) => write!(f, "{n} providers are more than 1000"),
            Self::EmptyProviderName => f.write_str("a provider without a name"),
            Self::NoTracepoint => f.write_str("neither a default tracepoint nor a set"),
            Self::EmptyTracepointName => f.write_str("a tracepoint without a name"),
            Self::DuplicateEventId(id) => write!(f, "event id {id} stands twice in the provider's sets"),
            Self::UnknownBufferMode(n) => write!(f, "buffer mode {n} is neither 0 (drop) nor 1 (block)"),
            Self::UnknownPerfMapType(n) => write!(f, "perf map type {n} is not 1 (all), 2 (jitdump) or 3 (perfmap)"),
            Self::UnknownDumpType(n) => write!(f, "dump type {n} is not one of 1 to 4"),
            Self::AbsentName => f.write_str("a name or path that may not be absent"),
        }
    }
}

/// Why bytes do not decode, with the offset and the field: `CollectTracing5.providers[2].arguments`.
///
/// ```
/// use dotnet_diagnostics_ipc::message::Message;
/// use dotnet_diagnostics_ipc::wire::{DecodeErrorKind, ErrorKind as _, Layer};
///
/// // StopTracing (0x0201) that carries 2 of the 8 bytes of its sessionId.
/// let error = Message::decode_exact(b"DOTNET_IPC_V1\0\x16\0\x02\x01\0\0\x2a\0").unwrap().request().unwrap_err();
/// assert_eq!(error.kind(), DecodeErrorKind::UnexpectedEnd { needed: 8, remaining: 2 });
/// assert_eq!((error.layer(), error.offset()), (Layer::Payload, 20));
/// assert_eq!(
///     error.to_string(),
///     "StopTracing.sessionId at byte 20: the field takes 8 bytes, 2 are left of the payload"
/// );
/// ```
pub type DecodeError = WireError<DecodeErrorKind>;

/// Why a server would refuse a request that decodes, with the offset and the field.
pub type LimitError = WireError<LimitKind>;

/// An error with its kind, its byte offset and the path of the field. `Copy`, and no larger than 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireError<K> {
    kind: K,
    offset: u32,
    path: Path,
}

impl<K: ErrorKind> WireError<K> {
    pub(crate) fn new(kind: K, offset: usize) -> Self {
        Self { kind, offset: clamp(offset), path: Path::EMPTY }
    }

    /// What is wrong.
    pub const fn kind(&self) -> K {
        self.kind
    }

    /// Offset from the start of the message (or of the piece that was decoded), in bytes.
    pub const fn offset(&self) -> usize {
        self.offset as usize
    }

    /// The field, as a path from the message's name.
    pub const fn path(&self) -> Path {
        self.path
    }

    /// The layer at which the fault lies.
    pub fn layer(&self) -> Layer {
        self.kind.layer()
    }

    /// The HRESULT with which a server answers such a request.
    pub fn hresult(&self) -> HResult {
        self.kind.hresult()
    }

    /// Puts `field` in front of the path.
    #[must_use]
    pub(crate) fn within(mut self, field: Field) -> Self {
        self.path.push(field);
        self
    }

    /// Gives the field that `within` will put in front next the index `index`.
    #[must_use]
    pub(crate) fn at_index(mut self, index: usize) -> Self {
        self.path.index(clamp(index));
        self
    }

    /// Makes `root` the beginning of the path.
    #[must_use]
    pub(crate) fn in_root(mut self, root: &'static str) -> Self {
        self.path.root = root;
        self
    }
}

impl<K: ErrorKind> fmt::Display for WireError<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "at byte {}: {}", self.offset, self.kind)
        } else {
            write!(f, "{} at byte {}: {}", self.path, self.offset, self.kind)
        }
    }
}

impl<K: ErrorKind + fmt::Debug> core::error::Error for WireError<K> {}

/// Offsets and indices beyond 4 GiB are beyond every message; they are shown as `u32::MAX`.
pub(crate) fn clamp(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Most fields below the root: `providers[0].config.tracepoints[1].event_ids[2]`, and one to spare.
const DEPTH: usize = 5;
const INDICES: usize = 3;

/// The path of a field, such as `CollectTracing5.providers[2].arguments`; printed by [`Display`](fmt::Display).
///
/// Empty where a bare piece was decoded and is itself at fault.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Path {
    root: &'static str,
    /// Innermost first.
    fields: [Option<Field>; DEPTH],
    indices: [u32; INDICES],
    /// Bit n: the n-th field from the inside has an index.
    indexed: u8,
}

impl Path {
    const EMPTY: Self = Self { root: "", fields: [None; DEPTH], indices: [0; INDICES], indexed: 0 };

    /// Whether there is nothing to print.
    pub const fn is_empty(&self) -> bool {
        self.root.is_empty() && self.indexed == 0 && matches!(self.fields, [None, ..])
    }

    fn depth(&self) -> usize {
        self.fields.iter().take_while(|f| f.is_some()).count()
    }

    fn push(&mut self, field: Field) {
        let depth = self.depth();
        if let Some(slot) = self.fields.get_mut(depth) {
            *slot = Some(field);
        }
    }

    fn index(&mut self, index: u32) {
        let bit = 1u8.checked_shl(clamp(self.depth())).unwrap_or(0);
        let nth = self.indexed.count_ones() as usize;
        if let (0, Some(slot)) = (self.indexed & bit, self.indices.get_mut(nth)) {
            *slot = index;
            self.indexed |= bit;
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.root)?;
        let depth = self.depth();
        let mut indices = self.indices.iter().take(self.indexed.count_ones() as usize).rev();
        let mut first = self.root.is_empty();
        for level in (0..=depth).rev() {
            if let Some(Some(field)) = self.fields.get(level) {
                if !first {
                    f.write_str(".")?;
                }
                f.write_str(field.name())?;
                first = false;
            }
            if self.indexed & 1u8.checked_shl(clamp(level)).unwrap_or(0) != 0 {
                if let Some(index) = indices.next() {
                    write!(f, "[{index}]")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Path({self})")
    }
}

/// Why a message cannot be encoded. Nothing is ever truncated to make it fit.
///
/// ```
/// use dotnet_diagnostics_ipc::message::{Request as _, eventpipe::StopTracing};
/// use dotnet_diagnostics_ipc::wire::EncodeError;
///
/// let error = StopTracing { session_id: 1 }.encode_message(&mut [0; 27]).unwrap_err();
/// assert_eq!(error, EncodeError::BufferTooSmall { needed: 28 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EncodeError {
    /// The caller's buffer is smaller than the message.
    BufferTooSmall {
        /// How many bytes the message takes.
        needed: usize,
    },
    /// The message takes more than the 65,535 bytes that its `size` can say.
    MessageTooLarge {
        /// How many bytes it takes.
        len: usize,
    },
    /// A string or array has more items than its 32-bit count can say.
    CountTooLarge {
        /// How many items it has.
        count: usize,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BufferTooSmall { needed } => write!(f, "the buffer is smaller than the {needed} bytes of the message"),
            Self::MessageTooLarge { len } => write!(f, "the message takes {len} bytes, its size field can say 65535"),
            Self::CountTooLarge { count } => write!(f, "{count} items are more than a 32-bit count can say"),
        }
    }
}

impl core::error::Error for EncodeError {}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    fn at(offset: usize) -> DecodeError {
        DecodeError::new(DecodeErrorKind::BadMagic, offset)
    }

    #[test]
    fn a_path_prints_from_the_outside_in() {
        let e = at(9).at_index(2).within(Field::EventIds).at_index(1).within(Field::Tracepoints).within(Field::Config);
        let e = e.at_index(70_000).within(Field::Providers).in_root("CollectTracing5");
        assert_eq!(e.path().to_string(), "CollectTracing5.providers[70000].config.tracepoints[1].event_ids[2]");
    }

    #[test]
    fn a_bare_piece_has_a_path_without_a_root() {
        assert_eq!(at(0).path().to_string(), "");
        assert!(at(0).path().is_empty());
        assert_eq!(at(0).within(Field::EventIds).path().to_string(), "event_ids");
        assert_eq!(at(0).at_index(1).path().to_string(), "[1]");
        assert_eq!(at(0).to_string(), "at byte 0: not the magic from this byte on");
    }

    #[test]
    fn an_error_is_small() {
        assert!(size_of::<DecodeError>() <= 64, "{}", size_of::<DecodeError>());
        assert!(size_of::<LimitError>() <= 64, "{}", size_of::<LimitError>());
    }
}
