//! The record of an event, as the runtime writes it to `user_events_data` and as a reader of the
//! tracepoint gets it.

use super::Extension;
use crate::wire::{
    Decode, Encode, EncodeError, Field, Reader, Sink, WireError, WireErrorKind, decode_from,
};
use core::ops::Range;

/// A `__rel_loc` attribute: a `u32` that locates an array (F-66).
///
/// | bits | what |
/// |---|---|
/// | 31–16 | the length of the array in bytes |
/// | 15–0 | its offset from the end of these four bytes |
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::RelLoc;
///
/// // Bytes 3 to 6 of a record; its data begin at byte 11, after another four bytes.
/// let extension = RelLoc::new(11 - 7, 17)?;
/// assert_eq!(extension.to_u32(), 17 << 16 | 4);
/// assert_eq!(extension.resolve(7, 11..40), Some(11..28));
/// assert_eq!(extension.resolve(7, 11..27), None);
/// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RelLoc {
    /// The offset of the first byte from the end of the attribute.
    pub offset: u16,
    /// The length of the array in bytes.
    pub len: u16,
}

impl RelLoc {
    /// Returns the location of `len` bytes that begin `distance` bytes after the attribute's end.
    ///
    /// # Errors
    /// [`EncodeError::PartTooLong`] with a value that does not fit in 16 bits.
    pub fn new(distance: usize, len: usize) -> Result<Self, EncodeError> {
        let fit = |n: usize| {
            u16::try_from(n).map_err(|_| EncodeError::PartTooLong { len: n, max: u16::MAX })
        };
        Ok(Self { len: fit(len)?, offset: fit(distance)? })
    }

    /// Returns the number on the wire.
    pub const fn to_u32(self) -> u32 {
        (self.len as u32) << 16 | self.offset as u32
    }

    /// Returns the location for the number on the wire.
    pub const fn from_u32(number: u32) -> Self {
        let [a, b, c, d] = number.to_le_bytes();
        Self { offset: u16::from_le_bytes([a, b]), len: u16::from_le_bytes([c, d]) }
    }

    /// Returns the range of the array if the attribute ends at `end` and the data are at `data`.
    ///
    /// Returns `None` if any byte is outside the data. An empty array too must begin between the
    /// first byte of the data and the end of the data.
    pub fn resolve(self, end: usize, data: Range<usize>) -> Option<Range<usize>> {
        let start = end.checked_add(self.offset.into())?;
        let stop = start.checked_add(self.len.into())?;
        (start >= data.start && stop <= data.end).then_some(start..stop)
    }
}

impl<'a> Decode<'a> for RelLoc {
    decode_from! { u32, Self::from_u32 }
}

impl Encode for RelLoc {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        self.to_u32().encode(sink)
    }
}

/// A record as a reader of the tracepoint gets it, without the `write_index`, which the kernel
/// removes.
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 1 | `version` |
/// | 1 | … | [`RecordV1`] if the version is 1 |
///
/// Perf and tracefs prepend the fields that all tracepoints have, which does not change the offsets
/// inside. A record of an unknown version is no error, and is kept unchanged.
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::{Record, RecordV1};
/// use dotnet_diagnostics_ipc::wire::{Encode as _, Reader, SliceSink};
///
/// let record = Record::V1(RecordV1::new(42, &[], b"payload")?);
/// let mut buffer = [0; 64];
/// let mut sink = SliceSink::new(&mut buffer);
/// record.encode(&mut sink)?;
/// let len = sink.finish()?;
/// assert_eq!(buffer[..len], *b"\x01\x2a\0\x04\0\0\0\0\0\x07\0payload");
/// assert_eq!(Record::decode(&mut Reader::new(&buffer[..len])), Ok(record));
/// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A record of version 1.
    V1(RecordV1<'a>),
    /// A record of an unknown version.
    Other {
        /// The version.
        version: u8,
        /// The bytes after the version.
        rest: &'a [u8],
    },
}

/// A record of version 1 after its `version` field (sections "Tracepoint Format V1" and
/// "`User_events` Writing"; F-25, F-66).
///
/// | offset in [`Record`] | bytes | what |
/// |---|---|---|
/// | 1 | 2 | `event_id` |
/// | 3 | 4 | `extension`, a [`RelLoc`] of bytes that begin 4 after its end |
/// | 7 | 4 | `payload`, a [`RelLoc`] of bytes that begin after the extension |
/// | 11 | … | the bytes of the extension, then of the payload |
///
/// Decoding accepts both parts anywhere after the fixed fields, with gaps and overlaps, as the
/// kernel does. It ignores bytes after them, because a reader may get a padded record. Encoding
/// puts them as above.
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::{Extension, RecordV1};
/// use dotnet_diagnostics_ipc::wire::EncodeError;
///
/// let record = RecordV1::new(65_535, &[0x01, 0, 0, 0, 0], &[])?;
/// assert!(record.extension()?.metadata().is_some_and(|metadata| metadata.is_empty()));
/// // Runtimes would cut this to 0 (F-29).
/// assert_eq!(RecordV1::new(65_536, &[], &[]), Err(EncodeError::EventIdTooLarge { id: 65_536 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordV1<'a> {
    /// The event's id, of which the runtime writes only the lower 16 bits (F-29).
    pub event_id: u16,
    /// The bytes of the [`Extension`].
    pub extension: &'a [u8],
    /// The event's arguments, encoded as in a nettrace stream.
    pub payload: &'a [u8],
}

/// The length of the fixed fields in bytes, including `version`.
const FIXED_LEN: usize = 11;
/// The offsets at which the two `__rel_loc` end.
const EXTENSION_END: usize = 7;
const PAYLOAD_END: usize = FIXED_LEN;

impl Record<'_> {
    /// Returns the version of the layout.
    pub const fn version(&self) -> u8 {
        match self {
            Self::V1(_) => 1,
            Self::Other { version, .. } => *version,
        }
    }
}

impl<'a> RecordV1<'a> {
    /// Returns a record, if its parts fit.
    ///
    /// # Errors
    /// [`EncodeError::EventIdTooLarge`]; [`EncodeError::PartTooLong`] if extension or payload have
    /// more than 65,535 bytes. Runtimes truncate the id, and drop such parts (F-29).
    pub fn new(event_id: u32, extension: &'a [u8], payload: &'a [u8]) -> Result<Self, EncodeError> {
        let id =
            u16::try_from(event_id).map_err(|_| EncodeError::EventIdTooLarge { id: event_id })?;
        let record = Self { event_id: id, extension, payload };
        record.locations().map(|_| record)
    }

    /// Decodes the extension.
    ///
    /// # Errors
    /// Returns the error of an item. Its offset counts from the first byte of the extension.
    pub fn extension(&self) -> Result<Extension<'a>, WireError> {
        Extension::decode(&mut Reader::new(self.extension))
    }

    fn locations(&self) -> Result<(RelLoc, RelLoc), EncodeError> {
        let extension = RelLoc::new(FIXED_LEN.saturating_sub(EXTENSION_END), self.extension.len())?;
        Ok((extension, RelLoc::new(self.extension.len(), self.payload.len())?))
    }
}

impl<'a> Record<'a> {
    /// Reads a record up to the end of the bytes: first the fixed fields, then the locations.
    ///
    /// # Errors
    /// [`UnexpectedEnd`](crate::wire::WireErrorKind::UnexpectedEnd) in a fixed field;
    /// [`RelLocOutOfRange`](WireErrorKind::RelLocOutOfRange) at the `__rel_loc` of `extension` or
    /// `payload` if any of its bytes is outside the data after the fixed fields, or if an empty
    /// array has its place there.
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let (all, start) = (reader.rest(), reader.offset());
        let (version, fixed) = reader.read(|cursor| {
            let version = cursor.read_field(Field::Version)?;
            if version != 1 {
                return Ok((version, None));
            }
            let event_id = cursor.read_field(Field::EventId)?;
            let extension = cursor.read_field(Field::Extension)?;
            let payload = cursor.read_field(Field::Payload)?;
            Ok((version, Some((event_id, extension, payload))))
        })?;
        let rest = reader.take(reader.rest().len())?;
        let Some((event_id, extension, payload)) = fixed else {
            return Ok(Self::Other { version, rest });
        };
        let (extension_at, payload_at) = (start.saturating_add(3), start.saturating_add(7));
        let find = |loc: RelLoc, end, at, field| {
            let bytes = loc.resolve(end, FIXED_LEN..all.len()).and_then(|range| all.get(range));
            let kind = WireErrorKind::RelLocOutOfRange { offset: loc.offset, len: loc.len };
            bytes.ok_or_else(|| WireError::new(kind, at).within(field))
        };
        Ok(Self::V1(RecordV1 {
            event_id,
            extension: find(extension, EXTENSION_END, extension_at, Field::Extension)?,
            payload: find(payload, PAYLOAD_END, payload_at, Field::Payload)?,
        }))
    }
}

/// # Errors
/// [`EncodeError::PartTooLong`] as in [`RecordV1::new`]; [`EncodeError::NotUnknown`] for version 1
/// in [`Record::Other`].
impl Encode for Record<'_> {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        match self {
            Self::V1(record) => {
                let (extension, payload) = record.locations()?;
                self.version().encode(sink)?;
                record.event_id.encode(sink)?;
                extension.encode(sink)?;
                payload.encode(sink)?;
                sink.put(record.extension);
                sink.put(record.payload);
            }
            Self::Other { version: 1, .. } => return Err(EncodeError::NotUnknown { code: 1 }),
            Self::Other { version, rest } => {
                version.encode(sink)?;
                sink.put(rest);
            }
        }
        Ok(())
    }
}

/// A record as the runtime writes it.
///
/// | bytes | what |
/// |---|---|
/// | 4 | `write_index` |
/// | … | [`Record`] |
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::{Record, RecordV1, WrittenRecord};
/// use dotnet_diagnostics_ipc::wire::Encode as _;
///
/// let written = WrittenRecord { write_index: 3, record: Record::V1(RecordV1::new(1, &[], &[])?) };
/// assert_eq!(written.encoded_len(), Ok(15));
/// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenRecord<'a> {
    /// The number that registration returned, which identifies the tracepoint.
    pub write_index: u32,
    /// The record as a reader gets it.
    pub record: Record<'a>,
}

impl<'a> WrittenRecord<'a> {
    /// Reads the index and the record up to the end of the bytes.
    ///
    /// # Errors
    /// Returns the errors of [`Record::decode`].
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        Ok(Self { write_index: reader.field(Field::WriteIndex)?, record: Record::decode(reader)? })
    }
}

impl Encode for WrittenRecord<'_> {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        self.write_index.encode(sink)?;
        self.record.encode(sink)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn resolve_at_end_of_memory_does_not_panic() {
        let loc = RelLoc { offset: 1, len: 1 };
        assert_eq!(loc.resolve(usize::MAX, 0..usize::MAX), None);
        assert_eq!(loc.resolve(usize::MAX - 1, 0..usize::MAX), None);
    }

    #[test]
    fn longest_arrays_roundtrip() {
        let (extension, payload) = (vec![1; 65_535], vec![2; 65_535]);
        let record = Record::V1(RecordV1::new(65_535, &extension, &payload).unwrap());
        let mut bytes = Vec::new();
        record.encode(&mut bytes).unwrap();
        assert_eq!(bytes[..11], *b"\x01\xff\xff\x04\0\xff\xff\xff\xff\xff\xff");
        assert_eq!(bytes.len(), 11 + 2 * 65_535);
        assert_eq!(Record::decode(&mut Reader::new(&bytes)), Ok(record));
    }

    #[test]
    fn record_that_does_not_roundtrip_is_refused() {
        let long = vec![0; 65_536];
        let too_long = Err(EncodeError::PartTooLong { len: 65_536, max: 65_535 });
        assert_eq!(RecordV1::new(0, &long, &[]), too_long);
        assert_eq!(RecordV1::new(0, &[], &long), too_long);
        let record = Record::V1(RecordV1 { event_id: 0, extension: &long, payload: &[] });
        assert_eq!(
            record.encoded_len(),
            Err(EncodeError::PartTooLong { len: 65_536, max: 65_535 })
        );
        let version_1 = Record::Other { version: 1, rest: &[] };
        assert_eq!(version_1.encoded_len(), Err(EncodeError::NotUnknown { code: 1 }));
    }
}
