//! The extension of a record: labelled pieces, one after another.

use core::fmt;

use super::Metadata;
use crate::message::process::Tail;
use crate::wire::{
    Cursor, Decode, Encode, EncodeError, Failed, Field, Guid, Reader, Sink, Visit, Visitor,
    decode_by_build, decode_by_read,
};

/// One piece of an [`Extension`]: a label, and data whose length depends on it.
///
/// | label | data |
/// |---|---|
/// | 0x01 | [`Metadata`]: 4 bytes of length, then that many bytes (F-27) |
/// | 0x02 | `ActivityId`: 16 bytes; printed as `uint16` (F-26) |
/// | 0x03 | `RelatedActivityId`: 16 bytes |
/// | other | unknown, and so is its length: takes the rest (F-87) |
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
    /// The event's metadata. The runtime sends it only the first time (P-23), for native events too
    /// (F-28); racing threads may each send it, and so may each version of an event (P-20).
    Metadata(Metadata<'a>),
    /// The activity in which the event was written. Omitted by the runtime if zero.
    ActivityId(Guid),
    /// The activity that caused the other one. Omitted by the runtime if zero.
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
    /// The label.
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

/// The extension of a record (section "Extension Blob Format"): any number of [`ExtensionItem`]s,
/// to the end of the bytes.
///
/// Holds either bytes, each item already checked, or the caller's items. Equality compares the
/// items. Items may occur in any order and more than once; runtimes write metadata, `ActivityId`,
/// `RelatedActivityId`, and omit what is missing (F-67).
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
    /// Items that are known to decode.
    Wire(&'a [u8]),
    Items(&'a [ExtensionItem<'a>]),
}

impl<'a> Extension<'a> {
    /// The empty extension, of no bytes.
    pub const EMPTY: Self = Self::new(&[]);

    /// An extension of the caller's items.
    pub const fn new(items: &'a [ExtensionItem<'a>]) -> Self {
        Self(Repr::Items(items))
    }

    /// Whether there are no items.
    pub const fn is_empty(&self) -> bool {
        match self.0 {
            Repr::Wire(bytes) => bytes.is_empty(),
            Repr::Items(items) => items.is_empty(),
        }
    }

    /// The items.
    pub fn iter(&self) -> ExtensionIter<'a> {
        ExtensionIter(match self.0 {
            Repr::Wire(bytes) => IterRepr::Wire(Reader::new(bytes)),
            Repr::Items(items) => IterRepr::Items(items.iter()),
        })
    }

    /// The first metadata.
    pub fn metadata(&self) -> Option<Metadata<'a>> {
        self.iter().find_map(|item| {
            if let ExtensionItem::Metadata(metadata) = item { Some(metadata) } else { None }
        })
    }

    /// The first `ActivityId`.
    pub fn activity_id(&self) -> Option<Guid> {
        self.iter()
            .find_map(|item| if let ExtensionItem::ActivityId(id) = item { Some(id) } else { None })
    }

    /// The first `RelatedActivityId`.
    pub fn related_activity_id(&self) -> Option<Guid> {
        self.iter().find_map(|item| {
            if let ExtensionItem::RelatedActivityId(id) = item { Some(id) } else { None }
        })
    }
}

/// The items of an [`Extension`].
#[derive(Clone, Debug)]
pub struct ExtensionIter<'a>(IterRepr<'a>);

#[derive(Clone, Debug)]
enum IterRepr<'a> {
    Wire(Reader<'a>),
    Items(core::slice::Iter<'a, ExtensionItem<'a>>),
}

impl<'a> Iterator for ExtensionIter<'a> {
    type Item = ExtensionItem<'a>;

    #[inline]
    fn next(&mut self) -> Option<ExtensionItem<'a>> {
        match &mut self.0 {
            // `None` only at the end: `Extension::decode` read every item.
            IterRepr::Wire(reader) => ExtensionItem::decode(reader).ok(),
            IterRepr::Items(items) => items.next().copied(),
        }
    }
}

impl<'a> IntoIterator for Extension<'a> {
    type Item = ExtensionItem<'a>;
    type IntoIter = ExtensionIter<'a>;

    fn into_iter(self) -> ExtensionIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Extension<'a> {
    type Item = ExtensionItem<'a>;
    type IntoIter = ExtensionIter<'a>;

    fn into_iter(self) -> ExtensionIter<'a> {
        self.iter()
    }
}

impl Default for Extension<'_> {
    fn default() -> Self {
        Self::EMPTY
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

/// Takes the rest: only the record knows the length of an extension. A fault is in
/// `extension[1].metadata`.
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
        for item in self {
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
    use super::*;

    #[test]
    fn first_item_of_a_label_wins() {
        let bytes = b"\x03fedcba9876543210\x01\0\0\0\0\x01\x01\0\0\0x";
        let extension = Extension::decode(&mut Reader::new(bytes)).unwrap();
        assert_eq!(extension.metadata(), Some(Metadata::new(&[])));
        let related = Some(Guid::from_bytes(*b"fedcba9876543210"));
        assert_eq!((extension.activity_id(), extension.related_activity_id()), (None, related));
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
