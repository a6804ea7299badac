//! The first bytes of an event stream.

use crate::wire::{Decode as _, Encode, EncodeError, Reader, Sink};

const NETTRACE: &[u8; 8] = b"Nettrace";
/// The string's length, 20, as 32 bits, and the string.
const FAST_SERIALIZATION: &[u8; 24] = b"\x14\0\0\0!FastSerialization.1";
const NETTRACE_OBJECTS: &[u8; 32] = b"Nettrace\x14\0\0\0!FastSerialization.1";

/// The format of a stream, from its first bytes after the reply to a `CollectTracing…`.
///
/// The protocol leaves the stream's contents to its format; this type only identifies the format,
/// for tools that store it.
///
/// | the stream begins with | bytes | it is |
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
    /// All bytes so far match a known start that is incomplete.
    NeedMore,
    /// nettrace, of a version that contains objects. The version is in the first object.
    Nettrace,
    /// nettrace, of a version whose first bytes give the version.
    NettraceBlocks {
        /// 6 or more.
        major: u32,
        /// Of that.
        minor: u32,
    },
    /// netperf.
    Netperf,
    /// An unknown format.
    Opaque,
}

impl StreamStart {
    /// The format of the stream that begins with `bytes`; the bytes after the start are ignored.
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

    /// How many bytes the start has; `None` if it is unknown.
    pub const fn known_len(self) -> Option<usize> {
        match self {
            Self::Nettrace => Some(32),
            Self::NettraceBlocks { .. } => Some(20),
            Self::Netperf => Some(24),
            Self::NeedMore | Self::Opaque => None,
        }
    }

    /// Whether it is nettrace, of any version.
    pub const fn is_nettrace(self) -> bool {
        matches!(self, Self::Nettrace | Self::NettraceBlocks { .. })
    }
}

/// Writes the start; nothing if it is unknown.
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

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::wire::SliceSink;
    use std::vec::Vec;

    const STARTS: [(&[u8], StreamStart); 4] = [
        (b"Nettrace\x14\0\0\0!FastSerialization.1", StreamStart::Nettrace),
        (
            b"Nettrace\0\0\0\0\x06\0\0\0\x01\0\0\0",
            StreamStart::NettraceBlocks { major: 6, minor: 1 },
        ),
        (b"\x14\0\0\0!FastSerialization.1", StreamStart::Netperf),
        (b"\x14\0\0\0!FastSerialization.2", StreamStart::Opaque),
    ];

    #[test]
    fn start_is_recognised_at_its_last_byte() {
        for (bytes, start) in STARTS {
            for len in 0..bytes.len() {
                assert_eq!(
                    StreamStart::recognise(&bytes[..len]),
                    StreamStart::NeedMore,
                    "{start:?} {len}"
                );
            }
            let longer: Vec<u8> = bytes.iter().copied().chain(*b"Nettrace").collect();
            for len in bytes.len()..longer.len() {
                assert_eq!(StreamStart::recognise(&longer[..len]), start);
            }
            let mut written = [0; 32];
            let mut sink = SliceSink::new(&mut written);
            start.encode(&mut sink).unwrap();
            let len = sink.finish().unwrap();
            assert_eq!(&written[..len], if start == StreamStart::Opaque { &[] } else { bytes });
            assert_eq!(start.known_len().unwrap_or(0), len);
        }
    }
}
