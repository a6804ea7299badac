//! The extension of a record: labelled items, one after another.

use crate::message::process::Tail;
use crate::wire::{
    Cursor, Decode, Encode, EncodeError, Failed, Field, Guid, IpcString, Reader, Sink, Visit,
    Visitor, WireError, WireErrorKind, clamp, count_of, decode_by_build, decode_by_read,
    decode_from,
};
use core::fmt;

/// The data of label 0x01, the document's `array<byte> metadata`.
///
/// | bytes | what |
/// |---|---|
/// | 4 | length of the following bytes |
/// | 2 × n + 2 | the provider's name in UTF-16LE with a NUL; missing in early .NET 10 builds (F-27) |
/// | … | the event's own metadata, as in a `MetadataBlock` of nettrace version 5, without `MetadataId` and `ProviderName` |
///
/// The bytes after the length equal the payload of a stream's metadata after `MetadataId` (P-23).
/// For a native event, the event's own metadata is its id, an empty name, keywords, version, level,
/// and a field count of 0.
///
/// The bytes do not show whether the name is present, because that depends on the runtime. Decoding
/// therefore keeps them whole. Call [`split_provider_name`](Self::split_provider_name) only if you
/// know that the name is present. The bytes of early builds begin with the event's id, a `u32`.
/// Equality compares the bytes.
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::Metadata;
/// use dotnet_diagnostics_ipc::wire::{Decode as _, Encode as _, IpcString, Reader};
///
/// let block = Metadata::decode(&mut Reader::new(b"\x06\0\0\0P\0\0\0\xaa\xbb")).unwrap();
/// assert_eq!(block.split_provider_name(), Ok((IpcString::new("P"), &[0xaa, 0xbb][..])));
/// assert_eq!(block, Metadata::named("P".into(), &[0xaa, 0xbb])?);
/// assert_eq!(block, Metadata::new(b"P\0\0\0\xaa\xbb"));
/// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Metadata<'a> {
    /// The name if it was given, without an inner NUL. `None` if it is part of `rest`, or missing.
    provider_name: Option<IpcString<'a>>,
    rest: &'a [u8],
}

impl<'a> Metadata<'a> {
    /// Returns metadata of these bytes after the length, unchanged.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { provider_name: None, rest: bytes }
    }

    /// Returns metadata of the provider's name and the event's own metadata, as runtimes send it.
    ///
    /// # Errors
    /// [`EncodeError::EmptyName`] if the name is absent, [`EncodeError::ForbiddenUnit`] if it
    /// contains a NUL, which would end the name.
    pub fn named(provider_name: IpcString<'a>, metadata: &'a [u8]) -> Result<Self, EncodeError> {
        if provider_name.is_absent() {
            return Err(EncodeError::EmptyName);
        }
        if provider_name.has_inner_nul() {
            return Err(EncodeError::ForbiddenUnit { unit: 0 });
        }
        Ok(Self { provider_name: Some(provider_name), rest: metadata })
    }

    /// Splits the provider's name from the event's own metadata, if the runtime sends the name.
    ///
    /// # Errors
    /// [`UnexpectedEnd`](WireErrorKind::UnexpectedEnd) of `provider_name` if the bytes end before
    /// its NUL. The offset counts from the first byte after the length.
    pub fn split_provider_name(&self) -> Result<(IpcString<'a>, &'a [u8]), WireError> {
        if let Some(name) = self.provider_name {
            return Ok((name, self.rest));
        }
        let units = self.rest.chunks_exact(2).position(|unit| unit == [0, 0]);
        let Some(end) = units.map(|units| units.saturating_mul(2)) else {
            let odd = self.rest.len() & 1;
            let kind = WireErrorKind::UnexpectedEnd { needed: 2, remaining: clamp(odd) };
            return Err(WireError::new(kind, self.rest.len().saturating_sub(odd))
                .within(Field::ProviderName));
        };
        let (name, behind) = self.rest.split_at_checked(end).unwrap_or_default();
        Ok((IpcString::from_wire_units(name), behind.get(2..).unwrap_or_default()))
    }

    /// Returns the bytes after the length.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::user_events::Metadata;
    ///
    /// let metadata = Metadata::named("P".into(), &[0xaa])?;
    /// assert!(metadata.bytes().eq(*b"P\0\0\0\xaa"));
    /// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
    /// ```
    pub fn bytes(&self) -> impl Iterator<Item = u8> + Clone + use<'a> {
        let units = self.provider_name.into_iter().flat_map(|name| name.units().chain([0]));
        units.flat_map(u16::to_le_bytes).chain(self.rest.iter().copied())
    }

    /// Returns the number of bytes after the length.
    pub fn len(&self) -> usize {
        let name = self
            .provider_name
            .map_or(0, |name| name.units_len().saturating_add(1).saturating_mul(2));
        name.saturating_add(self.rest.len())
    }

    /// Returns whether there are no bytes, because the event has no metadata.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl PartialEq for Metadata<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes().eq(other.bytes())
    }
}

impl Eq for Metadata<'_> {}

impl fmt::Debug for Metadata<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.bytes()).finish()
    }
}

impl<'a> Decode<'a> for Metadata<'a> {
    decode_from! { &'a [u8], Self::new }
}

/// Reads the bytes after the length as a whole.
impl<'a> Visit<'a> for Metadata<'a> {
    type Of<'o> = Metadata<'o>;

    fn build<S: Visitor<'a>>(source: &mut S) -> Result<Self, S::Error> {
        source.bytes().map(Self::new)
    }
}

impl Encode for Metadata<'_> {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        count_of(self.len())?.encode(sink)?;
        if let Some(name) = self.provider_name {
            name.put_units(name.units_len(), sink);
            sink.put(&[0; 2]);
        }
        sink.put(self.rest);
        Ok(())
    }
}

/// An item of an [`Extension`]: a label, and data whose length depends on the label.
///
/// | label | data |
/// |---|---|
/// | 0x01 | [`Metadata`]: 4 bytes of length, then that many bytes (F-27) |
/// | 0x02 | `ActivityId`: 16 bytes; printed as `uint16` (F-26) |
/// | 0x03 | `RelatedActivityId`: 16 bytes |
/// | other | unknown data of unknown length, which take the rest (F-87) |
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::ExtensionItem;
/// use dotnet_diagnostics_ipc::wire::{Encode as _, Guid};
///
/// let item = ExtensionItem::ActivityId(Guid::NIL);
/// assert_eq!((item.label(), item.encoded_len()), (0x02, Ok(17)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtensionItem<'a> {
    /// The event's metadata. The runtime sends it only with the first record (P-23), for native
    /// events too (F-28). Racing threads may each send it, as may each version of an event (P-20).
    Metadata(Metadata<'a>),
    /// The activity in which the event was written. Runtimes omit it if it is zero.
    ActivityId(Guid),
    /// The activity that caused the event's activity. Runtimes omit it if it is zero.
    RelatedActivityId(Guid),
    /// An unknown label, and everything after it.
    Unknown {
        /// The label.
        label: u8,
        /// The rest of the extension.
        rest: &'a [u8],
    },
}

const METADATA: u8 = 0x01;
const ACTIVITY_ID: u8 = 0x02;
const RELATED_ACTIVITY_ID: u8 = 0x03;

impl ExtensionItem<'_> {
    /// Returns the label.
    pub const fn label(&self) -> u8 {
        match self {
            Self::Metadata(_) => METADATA,
            Self::ActivityId(_) => ACTIVITY_ID,
            Self::RelatedActivityId(_) => RELATED_ACTIVITY_ID,
            Self::Unknown { label, .. } => *label,
        }
    }
}

impl<'a> Decode<'a> for ExtensionItem<'a> {
    const MIN_LEN: usize = 1;

    decode_by_build! {}
}

impl<'a> Visit<'a> for ExtensionItem<'a> {
    type Of<'o> = ExtensionItem<'o>;

    #[inline]
    fn build<S: Visitor<'a>>(source: &mut S) -> Result<Self, S::Error> {
        source.object(|source| {
            Ok(match source.field(Field::Label)? {
                METADATA => Self::Metadata(source.field(Field::Metadata)?),
                ACTIVITY_ID => Self::ActivityId(source.field(Field::Guid)?),
                RELATED_ACTIVITY_ID => Self::RelatedActivityId(source.field(Field::Guid)?),
                label => {
                    let Tail(rest) = source.field(Field::Rest)?;
                    Self::Unknown { label, rest }
                }
            })
        })
    }
}

impl Encode for ExtensionItem<'_> {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        let label = self.label();
        if matches!(
            (self, label),
            (Self::Unknown { .. }, METADATA | ACTIVITY_ID | RELATED_ACTIVITY_ID)
        ) {
            return Err(EncodeError::NotUnknown { code: label });
        }
        label.encode(sink)?;
        match self {
            Self::Metadata(metadata) => metadata.encode(sink)?,
            Self::ActivityId(id) | Self::RelatedActivityId(id) => id.encode(sink)?,
            Self::Unknown { rest, .. } => sink.put(rest),
        }
        Ok(())
    }
}

/// The extension of a record (section "Extension Blob Format"): any number of [`ExtensionItem`]s up
/// to the end of the bytes.
///
/// Holds either checked bytes or the caller's items. Equality compares the items. Items may occur
/// in any order and more than once. Runtimes write metadata, `ActivityId` and `RelatedActivityId`,
/// and omit missing items (F-67).
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::{Extension, ExtensionItem, Metadata};
/// use dotnet_diagnostics_ipc::wire::{Decode as _, Encode as _, Reader};
///
/// let bytes = b"\x01\x02\0\0\0\xaa\xbb\x7f\x01\x02";
/// let extension = Extension::decode(&mut Reader::new(bytes)).unwrap();
/// let items = [ExtensionItem::Metadata(Metadata::new(&[0xaa, 0xbb])), ExtensionItem::Unknown { label: 0x7f, rest: &[1, 2] }];
/// assert!(extension.iter().eq(items));
/// assert_eq!(extension, Extension::new(&items));
/// assert_eq!(Extension::new(&items).encoded_len(), Ok(10));
/// ```
#[derive(Clone, Copy)]
pub struct Extension<'a>(Repr<'a>);

#[derive(Clone, Copy)]
enum Repr<'a> {
    /// Bytes whose items are known to decode.
    Wire(&'a [u8]),
    Items(&'a [ExtensionItem<'a>]),
}

impl<'a> Extension<'a> {
    /// The empty extension without bytes.
    pub const EMPTY: Self = Self::new(&[]);

    /// Returns an extension of the caller's items.
    pub const fn new(items: &'a [ExtensionItem<'a>]) -> Self {
        Self(Repr::Items(items))
    }

    /// Returns the items.
    pub fn iter(&self) -> impl Iterator<Item = ExtensionItem<'a>> + Clone + use<'a> {
        let (bytes, items) = match self.0 {
            Repr::Wire(bytes) => (bytes, [].as_slice()),
            Repr::Items(items) => ([].as_slice(), items),
        };
        let mut reader = Reader::new(bytes);
        // This is `None` only at the end, because `Extension::decode` read every item.
        let read = core::iter::from_fn(move || ExtensionItem::decode(&mut reader).ok());
        read.chain(items.iter().copied())
    }

    /// Returns the first metadata.
    pub fn metadata(&self) -> Option<Metadata<'a>> {
        self.iter().find_map(|item| {
            if let ExtensionItem::Metadata(metadata) = item { Some(metadata) } else { None }
        })
    }
}

impl PartialEq for Extension<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Extension<'_> {}

impl fmt::Debug for Extension<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Takes the rest of the bytes, because only the record has the length of an extension. The path of
/// an error is like `extension[1].metadata`.
impl<'a> Decode<'a> for Extension<'a> {
    const MIN_LEN: usize = 0;

    decode_by_read! {}

    fn read(cursor: &mut Cursor<'a, '_>) -> Result<Self, Failed> {
        let all = cursor.rest();
        let mut index = 0u32;
        while !cursor.rest().is_empty() {
            let item = cursor.read_item::<ExtensionItem<'a>>(index);
            item.map_err(|Failed| cursor.within(Field::Extension))?;
            index = index.saturating_add(1);
        }
        Ok(Self(Repr::Wire(all)))
    }
}

impl Encode for Extension<'_> {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        let mut unknown = None;
        for item in self.iter() {
            if let Some(label) = unknown {
                return Err(EncodeError::UnknownLabelNotLast { label });
            }
            item.encode(sink)?;
            unknown = matches!(item, ExtensionItem::Unknown { .. }).then_some(item.label());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::wire::SliceSink;
    use std::string::ToString as _;

    #[test]
    fn length_covers_the_name_and_its_nul() {
        let block = Metadata::named("P😀".into(), b"\x2a\0\0\0").unwrap();
        let mut bytes = [0; 16];
        let mut sink = SliceSink::new(&mut bytes);
        block.encode(&mut sink).unwrap();
        assert_eq!(sink.finish(), Ok(16));
        assert_eq!(&bytes, b"\x0c\0\0\0P\0\x3d\xd8\x00\xde\0\0\x2a\0\0\0");
        assert_eq!((block.len(), block.encoded_len()), (12, Ok(16)));
        let again = Metadata::decode(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(again, block);
        assert_eq!(again.split_provider_name(), Ok((IpcString::new("P😀"), &b"\x2a\0\0\0"[..])));
        assert_eq!(block.split_provider_name(), again.split_provider_name());
    }

    #[test]
    fn name_ends_at_nul_unit_not_at_two_zero_bytes() {
        // The units 0x0041 and 0x4100 have two adjacent zero bytes at an odd offset.
        let block = Metadata::new(b"\x41\x00\x00\x41\0\0\x07");
        assert_eq!(
            block.split_provider_name(),
            Ok((IpcString::from_units(&[0x41, 0x4100]), &[7][..]))
        );
    }

    #[test]
    fn name_without_its_nul_is_refused() {
        for (bytes, offset, remaining) in [(&b""[..], 0, 0), (b"P\0", 2, 0), (b"P\0\0", 2, 1)] {
            let error = Metadata::new(bytes).split_provider_name().unwrap_err();
            assert_eq!(error.kind(), WireErrorKind::UnexpectedEnd { needed: 2, remaining });
            assert_eq!(
                (error.offset(), error.path().to_string()),
                (offset, "provider_name".into())
            );
        }
    }

    #[test]
    fn name_with_inner_nul_is_refused() {
        assert_eq!(Metadata::named(IpcString::ABSENT, &[]), Err(EncodeError::EmptyName));
        assert_eq!(
            Metadata::named("a\0b".into(), &[]),
            Err(EncodeError::ForbiddenUnit { unit: 0 })
        );
        // A name that is only its NUL can be read back.
        assert_eq!(
            Metadata::named("".into(), &[]).unwrap().split_provider_name(),
            Ok(("".into(), &[][..]))
        );
    }

    #[test]
    fn first_item_of_a_label_wins() {
        let bytes = b"\x03fedcba9876543210\x01\0\0\0\0\x01\x01\0\0\0x";
        let extension = Extension::decode(&mut Reader::new(bytes)).unwrap();
        assert_eq!(extension.metadata(), Some(Metadata::new(&[])));
        let related = ExtensionItem::RelatedActivityId(Guid::from_bytes(*b"fedcba9876543210"));
        assert_eq!(extension.iter().next(), Some(related));
    }

    #[test]
    fn items_that_do_not_roundtrip_are_refused() {
        let unknown = |label| ExtensionItem::Unknown { label, rest: &[1] };
        for label in [1, 2, 3] {
            let refused = unknown(label).encoded_len();
            assert_eq!(refused, Err(EncodeError::NotUnknown { code: label }));
        }
        let misplaced = Extension::new(&[unknown(9), unknown(9)]).encoded_len();
        assert_eq!(misplaced, Err(EncodeError::UnknownLabelNotLast { label: 9 }));
    }
}
