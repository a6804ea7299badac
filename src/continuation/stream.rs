//! The start of the event stream, and the byte that carries the descriptor of `user_events`.

use crate::wire::{Decode, Encode, EncodeError, Reader, Sink, decode_from};

const NETTRACE: &[u8; 8] = b"Nettrace";
/// The length of the string, 20, in 32 bits, followed by the string.
const FAST_SERIALIZATION: &[u8; 24] = b"\x14\0\0\0!FastSerialization.1";
const NETTRACE_OBJECTS: &[u8; 32] = b"Nettrace\x14\0\0\0!FastSerialization.1";

/// The format of a stream, according to its first bytes after the reply to a `CollectTracing…`.
///
/// The protocol does not define the contents of the stream. This type only identifies the format,
/// for tools that store it.
///
/// | the stream begins with | bytes | format |
/// |---|---|---|
/// | `Nettrace`, `14 00 00 00`, `!FastSerialization.1` | 32 | [`Nettrace`](Self::Nettrace): versions up to 5 |
/// | `Nettrace`, four zeros, major, minor (`u32` each) | 20 | [`NettraceBlocks`](Self::NettraceBlocks): version 6 and later |
/// | `14 00 00 00`, `!FastSerialization.1` | 24 | [`Netperf`](Self::Netperf): `format` 0, and the only format of the 2019 draft |
/// | anything else | – | [`Opaque`](Self::Opaque) |
///
/// ```
/// use dotnet_diagnostics_ipc::continuation::StreamStart;
///
/// assert_eq!(StreamStart::recognise(b"Nettrace\x14\0\0\0!FastSerialization.1\x05"), StreamStart::Nettrace);
/// assert_eq!(StreamStart::recognise(b"Nett"), StreamStart::NeedMore);
/// assert_eq!(StreamStart::recognise(b"Netware"), StreamStart::Opaque);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StreamStart {
    /// All bytes so far match a known start, which is incomplete.
    NeedMore,
    /// nettrace in a version that contains objects. The first object has the version.
    Nettrace,
    /// nettrace in a version whose number is in the first bytes.
    NettraceBlocks {
        /// The major version, 6 or more.
        major: u32,
        /// The minor version.
        minor: u32,
    },
    /// netperf.
    Netperf,
    /// An unknown format.
    Opaque,
}

impl StreamStart {
    /// Returns the format of the stream that begins with `bytes`; ignores bytes after the start.
    ///
    /// Once the result is not [`NeedMore`](Self::NeedMore), more bytes do not change it.
    pub fn recognise(bytes: &[u8]) -> Self {
        if let Some(version) = bytes.strip_prefix(b"Nettrace\0\0\0\0") {
            let mut version = Reader::new(version);
            return match (u32::decode(&mut version), u32::decode(&mut version)) {
                (Ok(major), Ok(minor)) => Self::NettraceBlocks { major, minor },
                _ => Self::NeedMore,
            };
        }
        if bytes.starts_with(NETTRACE_OBJECTS) {
            Self::Nettrace
        } else if bytes.starts_with(FAST_SERIALIZATION) {
            Self::Netperf
        } else if [&NETTRACE_OBJECTS[..], FAST_SERIALIZATION, b"Nettrace\0\0\0\0"]
            .iter()
            .any(|start| start.starts_with(bytes))
        {
            Self::NeedMore
        } else {
            Self::Opaque
        }
    }

    /// Returns the length of the start in bytes, or `None` if it is unknown.
    pub const fn known_len(self) -> Option<usize> {
        match self {
            Self::Nettrace => Some(32),
            Self::NettraceBlocks { .. } => Some(20),
            Self::Netperf => Some(24),
            Self::NeedMore | Self::Opaque => None,
        }
    }
}

/// Writes the start, or nothing if it is unknown.
impl Encode for StreamStart {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        match *self {
            Self::NeedMore | Self::Opaque => {}
            Self::Nettrace => sink.put(NETTRACE_OBJECTS),
            Self::NettraceBlocks { major, minor } => {
                sink.put(NETTRACE);
                0u32.encode(sink)?;
                major.encode(sink)?;
                minor.encode(sink)?;
            }
            Self::Netperf => sink.put(FAST_SERIALIZATION),
        }
        Ok(())
    }
}

/// The byte that carries the file descriptor of a `user_events` session.
///
/// | bytes | what |
/// |---|---|
/// | 1 | any value; 0 is written |
///
/// The descriptor is not part of the bytes but ancillary data (`SCM_RIGHTS`) of the `sendmsg` that
/// sends this byte. Avoid four common mistakes:
///
/// - Send it **before** you read the reply to `CollectTracing5`, because the runtime waits for it
///   before it replies (F-19).
/// - Send it as a separate byte after the request. A descriptor attached to bytes of the request is
///   lost (F-20).
/// - Send it with a descriptor. The runtime answers a byte without one with an error (F-21).
///   Without any byte, the runtime blocks all its other clients (F-75).
/// - Send one descriptor. If one control message has two, the runtime uses the first and never
///   closes the second (P-21).
///
/// ```
/// use dotnet_diagnostics_ipc::continuation::FdByte;
/// use dotnet_diagnostics_ipc::wire::{Decode as _, Reader};
///
/// assert_eq!(FdByte::CANONICAL.0, 0);
/// assert_eq!(FdByte::decode(&mut Reader::new(b"x")), Ok(FdByte(b'x')));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FdByte(pub u8);

impl FdByte {
    /// The value that clients send.
    pub const CANONICAL: Self = Self(0);

    /// The byte that clients send, as `sendmsg` takes it.
    pub const BYTES: [u8; 1] = [0];
}

/// Accepts any byte.
impl<'a> Decode<'a> for FdByte {
    decode_from! { u8, Self }
}

/// Always writes 0.
impl Encode for FdByte {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        sink.put(&Self::BYTES);
        Ok(())
    }
}

/// Counts the bytes of a stream, and splits them at the caller's limit without interpreting them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpaqueStream {
    limit: u64,
    passed: u64,
}

impl OpaqueStream {
    /// Returns a stream of at most `limit` bytes.
    pub(crate) const fn with_limit(limit: u64) -> Self {
        Self { limit, passed: 0 }
    }

    /// Splits the received bytes into those within the limit and those beyond it.
    pub(crate) fn pass<'i>(&mut self, bytes: &'i [u8]) -> (&'i [u8], &'i [u8]) {
        let within = usize::try_from(self.left()).unwrap_or(usize::MAX);
        let (within, beyond) = bytes.split_at_checked(within).unwrap_or((bytes, &[]));
        self.passed = self.passed.saturating_add(within.len() as u64);
        (within, beyond)
    }

    /// Returns the number of bytes received so far within the limit.
    pub(crate) const fn passed(&self) -> u64 {
        self.passed
    }

    /// Returns the number of bytes that may still follow within the limit.
    pub(crate) const fn left(&self) -> u64 {
        self.limit.saturating_sub(self.passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{SliceSink, WireErrorKind};

    #[test]
    fn any_byte_is_accepted_and_0_is_written() {
        for byte in 0..=u8::MAX {
            let read = FdByte::decode(&mut Reader::new(&[byte])).unwrap();
            assert_eq!(read, FdByte(byte));
            let mut out = [0xaa; 1];
            read.encode(&mut SliceSink::new(&mut out)).unwrap();
            assert_eq!(out, [0]);
        }
    }

    #[test]
    fn missing_byte_is_refused() {
        let error = FdByte::decode(&mut Reader::new(&[])).unwrap_err();
        assert_eq!(error.kind(), WireErrorKind::UnexpectedEnd { needed: 1, remaining: 0 });
    }

    #[test]
    fn nothing_is_lost_at_the_limit() {
        let bytes = [7; 10];
        for limit in 0..12 {
            for cut in 0..=bytes.len() {
                let mut stream = OpaqueStream::with_limit(limit);
                let (first, second) = bytes.split_at(cut);
                let (a, b) = stream.pass(first);
                let (c, d) = stream.pass(second);
                assert_eq!(a.len() + b.len() + c.len() + d.len(), 10);
                assert_eq!((a.len() + c.len()) as u64, limit.min(10));
                assert_eq!(stream.passed() + stream.left(), limit);
            }
        }
    }

    #[test]
    fn largest_limit_is_never_reached() {
        let mut stream = OpaqueStream::with_limit(u64::MAX);
        assert_eq!(stream.pass(b"abc").0, b"abc");
        assert_eq!(stream.left(), u64::MAX - 3);
    }
}
