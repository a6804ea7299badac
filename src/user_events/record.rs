//! The record of an event: as the runtime writes it to `user_events_data`, and as a reader of the
//! tracepoint gets it.

use super::{Extension, RelLoc};
use crate::wire::{
    Decode as _, Encode, EncodeError, Field, Reader, Sink, WireError, WireErrorKind,
};

/// A record as a reader of the tracepoint gets it: without the `write_index`, which the kernel
/// removes.
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 1 | `version` |
/// | 1 | … | [`RecordV1`] if the version is 1 |
///
/// Perf and tracefs prepend the fields common to all tracepoints; offsets inside do not depend on
/// that. An unknown version is not an error: the rest is kept unchanged.
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
    /// Version 1.
    V1(RecordV1<'a>),
    /// An unknown version.
    Other {
        /// The version.
        version: u8,
        /// Everything after it.
        rest: &'a [u8],
    },
}

/// A record of version 1, after its `version` (sections "Tracepoint Format V1" and "`User_events`
/// Writing"; F-25, F-66).
///
/// | offset in [`Record`] | bytes | what |
/// |---|---|---|
/// | 1 | 2 | `event_id` |
/// | 3 | 4 | `extension`, a [`RelLoc`]: its bytes begin 4 after its end |
/// | 7 | 4 | `payload`, a [`RelLoc`]: its bytes begin after those of the extension |
/// | 11 | … | the bytes of the extension, then of the payload |
///
/// When reading, both may be anywhere after the fixed fields, may leave gaps and may overlap, as
/// the kernel allows; bytes after them are ignored (a reader may get a padded record). When
/// writing, they are as above.
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
    /// The event's id; the runtime writes only the lower 16 bits (F-29).
    pub event_id: u16,
    /// The bytes of an [`Extension`].
    pub extension: &'a [u8],
    /// The event's arguments, encoded as in a nettrace stream.
    pub payload: &'a [u8],
}

/// Of the fixed fields, including `version`.
const FIXED_LEN: usize = 11;
/// The ends of the two `__rel_loc`.
const EXTENSION_END: usize = 7;
const PAYLOAD_END: usize = FIXED_LEN;

impl Record<'_> {
    /// The version of the layout.
    pub const fn version(&self) -> u8 {
        match self {
            Self::V1(_) => 1,
            Self::Other { version, .. } => *version,
        }
    }
}

impl<'a> RecordV1<'a> {
    /// A record, if it can be written.
    ///
    /// # Errors
    /// [`EncodeError::EventIdTooLarge`]; [`EncodeError::PartTooLong`] if extension or payload have
    /// more than 65,535 bytes. Runtimes truncate the id, and drop the parts (F-29).
    pub fn new(event_id: u32, extension: &'a [u8], payload: &'a [u8]) -> Result<Self, EncodeError> {
        let id =
            u16::try_from(event_id).map_err(|_| EncodeError::EventIdTooLarge { id: event_id })?;
        let record = Self { event_id: id, extension, payload };
        record.locations().map(|_| record)
    }

    /// The items of the extension.
    ///
    /// # Errors
    /// If they do not decode; offsets count from the first byte of the extension.
    pub fn extension(&self) -> Result<Extension<'a>, WireError> {
        Extension::decode(&mut Reader::new(self.extension))
    }

    fn locations(&self) -> Result<(RelLoc, RelLoc), EncodeError> {
        let extension = RelLoc::new(FIXED_LEN.saturating_sub(EXTENSION_END), self.extension.len())?;
        Ok((extension, RelLoc::new(self.extension.len(), self.payload.len())?))
    }
}

impl<'a> Record<'a> {
    /// Reads a record, which takes the rest. The fixed fields are read before the locations are
    /// checked.
    ///
    /// # Errors
    /// [`UnexpectedEnd`](crate::wire::WireErrorKind::UnexpectedEnd) in a fixed field;
    /// [`RelLocOutOfRange`](WireErrorKind::RelLocOutOfRange) at the `__rel_loc` of
    /// `extension` or `payload` if any of its bytes is outside the data after the fixed fields.
    /// An empty array must have a place there too.
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
/// [`EncodeError::PartTooLong`] as [`RecordV1::new`]; [`EncodeError::NotUnknown`] for version 1 as
/// [`Record::Other`].
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
    /// As given by the registration: identifies the tracepoint.
    pub write_index: u32,
    /// The record as a reader gets it.
    pub record: Record<'a>,
}

impl<'a> WrittenRecord<'a> {
    /// Reads the index and the record, which takes the rest.
    ///
    /// # Errors
    /// As [`Record::decode`].
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
    use crate::wire::{SliceSink, WireErrorKind};
    use std::string::{String, ToString as _};
    use std::{vec, vec::Vec};

    /// write index 7; version 1; event 0x0201; 3 bytes of extension; 2 of payload.
    const WRITTEN: &[u8; 20] = b"\x07\0\0\0\x01\x01\x02\x04\0\x03\0\x03\0\x02\0\x09ABcd";

    fn example() -> RecordV1<'static> {
        RecordV1 { event_id: 0x0201, extension: b"\x09AB", payload: b"cd" }
    }

    fn decode(bytes: &[u8]) -> Result<Record<'_>, (WireErrorKind, usize, String)> {
        Record::decode(&mut Reader::new(bytes))
            .map_err(|e| (e.kind(), e.offset(), e.path().to_string()))
    }

    fn encode(value: &impl Encode) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = vec![0; value.encoded_len()?];
        let mut sink = SliceSink::new(&mut bytes);
        value.encode(&mut sink)?;
        sink.finish().map(|_| bytes)
    }

    /// The example with other locations and data.
    fn located(extension: (u16, u16), payload: (u16, u16), data: &[u8]) -> Vec<u8> {
        let mut bytes = vec![1, 0x01, 0x02];
        for n in [extension.0, extension.1, payload.0, payload.1] {
            bytes.extend_from_slice(&n.to_le_bytes());
        }
        bytes.extend_from_slice(data);
        bytes
    }

    fn out_of_range(offset: u16, len: u16) -> WireErrorKind {
        WireErrorKind::RelLocOutOfRange { offset, len }
    }

    #[test]
    fn fields_are_at_their_offsets() {
        let record = Record::V1(example());
        let written = WrittenRecord { write_index: 7, record };
        assert_eq!(encode(&written).unwrap(), WRITTEN);
        assert_eq!(WrittenRecord::decode(&mut Reader::new(WRITTEN)), Ok(written));
        // The part that the kernel passes on.
        assert_eq!(encode(&record).unwrap(), WRITTEN[4..]);
        assert_eq!(decode(&WRITTEN[4..]), Ok(record));
    }

    #[test]
    fn every_truncation_is_refused() {
        for len in 0..WRITTEN.len() {
            let error = WrittenRecord::decode(&mut Reader::new(&WRITTEN[..len])).unwrap_err();
            assert!(error.offset() <= len, "{len}: {error}");
        }
    }

    #[test]
    fn fixed_fields_are_checked_before_arrays() {
        let end = |needed, remaining| WireErrorKind::UnexpectedEnd { needed, remaining };
        let record = &WRITTEN[4..];
        assert_eq!(decode(&record[..0]), Err((end(1, 0), 0, "version".into())));
        assert_eq!(decode(&record[..2]), Err((end(2, 1), 1, "event_id".into())));
        assert_eq!(decode(&record[..6]), Err((end(4, 3), 3, "extension".into())));
        assert_eq!(decode(&record[..10]), Err((end(4, 3), 7, "payload".into())));
        assert_eq!(decode(&record[..11]), Err((out_of_range(4, 3), 3, "extension".into())));
        assert_eq!(decode(&record[..15]), Err((out_of_range(3, 2), 7, "payload".into())));
        let error = WrittenRecord::decode(&mut Reader::new(&WRITTEN[..3])).unwrap_err();
        assert_eq!((error.kind(), error.path().to_string()), (end(4, 3), "write_index".into()));
    }

    #[test]
    fn fault_offset_includes_write_index() {
        let error = WrittenRecord::decode(&mut Reader::new(&WRITTEN[..19])).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (out_of_range(3, 2), 11));
    }

    #[test]
    fn array_outside_data_is_refused() {
        let fault = |bytes: &[u8]| decode(bytes).map(|_| ()).map_err(|e| (e.0, e.1));
        let extension = |offset, len| fault(&located((offset, len), (0, 0), b"12345"));
        for (offset, len) in
            [(4, 6), (5, 5), (9, 1), (10, 0), (3, 1), (0, 4), (3, 0), (65_535, 65_535), (4, 65_535)]
        {
            assert_eq!(extension(offset, len), Err((out_of_range(offset, len), 3)));
        }
        let payload = |offset, len| fault(&located((4, 0), (offset, len), b"12345"));
        for (offset, len) in [(0, 6), (1, 5), (5, 1), (6, 0), (65_535, 0), (0, 65_535)] {
            assert_eq!(payload(offset, len), Err((out_of_range(offset, len), 7)));
        }
    }

    #[test]
    fn arrays_may_be_anywhere_in_the_data() {
        let record =
            |extension, payload| Ok(Record::V1(RecordV1 { event_id: 0x0201, extension, payload }));
        // The payload first; a gap; the same bytes for both; padding after.
        assert_eq!(decode(&located((6, 3), (0, 2), b"cdABC")), record(b"ABC", b"cd"));
        assert_eq!(decode(&located((4, 1), (3, 2), b"A..cd")), record(b"A", b"cd"));
        assert_eq!(decode(&located((4, 3), (1, 2), b"ABC")), record(b"ABC", b"BC"));
        assert_eq!(decode(&located((4, 1), (1, 1), b"Ac\0\0\0")), record(b"A", b"c"));
        assert_eq!(decode(&located((9, 0), (5, 0), b"12345")), record(b"", b""));
    }

    #[test]
    fn other_version_is_kept() {
        let bytes = b"\x02\x01\x02\xff\xff\xff\xff";
        let other = Record::Other { version: 2, rest: &bytes[1..] };
        assert_eq!(decode(bytes), Ok(other));
        assert_eq!((other.version(), encode(&other).unwrap()), (2, bytes.to_vec()));
        assert_eq!(decode(&[0]), Ok(Record::Other { version: 0, rest: &[] }));
        assert_eq!(
            encode(&Record::Other { version: 1, rest: &[] }),
            Err(EncodeError::NotUnknown { code: 1 })
        );
    }

    #[test]
    fn longest_arrays_roundtrip() {
        let (extension, payload) = (vec![1; 65_535], vec![2; 65_535]);
        let record = Record::V1(RecordV1::new(65_535, &extension, &payload).unwrap());
        let bytes = encode(&record).unwrap();
        assert_eq!(bytes[..11], *b"\x01\xff\xff\x04\0\xff\xff\xff\xff\xff\xff");
        assert_eq!(bytes.len(), 11 + 2 * 65_535);
        assert_eq!(decode(&bytes), Ok(record));
    }

    #[test]
    fn too_long_parts_are_refused_not_truncated() {
        let long = vec![0; 65_536];
        let too_long = Err(EncodeError::PartTooLong { len: 65_536, max: 65_535 });
        assert_eq!(RecordV1::new(0, &long, &[]), too_long);
        assert_eq!(RecordV1::new(0, &[], &long), too_long);
        let record = Record::V1(RecordV1 { event_id: 0, extension: &long, payload: &[] });
        assert_eq!(encode(&record), Err(EncodeError::PartTooLong { len: 65_536, max: 65_535 }));
        assert_eq!(
            RecordV1::new(u32::MAX, &[], &[]),
            Err(EncodeError::EventIdTooLarge { id: u32::MAX })
        );
    }
}
