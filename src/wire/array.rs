//! `array<T>`: a 32-bit count followed by the items.

use core::{fmt, marker::PhantomData};

use super::EncodeError;
use super::reader::{Cursor, Decode, Failed, decode_by_read};
use super::sink::{Encode, Sink, count_of};

/// The protocol's `array<T>`: a count of 4 bytes followed by the items.
///
/// Holds either checked bytes from the wire or the caller's slice. Equality compares the items. A
/// count that is too large for the remaining bytes is refused before any item is read (F-9).
///
/// ```
/// use dotnet_diagnostics_ipc::wire::{Array, Decode as _, Reader};
///
/// let ids = Array::<u32>::decode(&mut Reader::new(b"\x02\0\0\0\x04\0\0\0\x05\0\0\0")).unwrap();
/// assert_eq!(ids, Array::new(&[4, 5]));
/// assert_eq!(ids.iter().max(), Some(5));
/// ```
#[derive(Clone, Copy)]
pub struct Array<'a, T>(Repr<'a, T>);

#[derive(Clone, Copy)]
enum Repr<'a, T> {
    /// `count` items, all known to decode.
    Wire {
        count: u32,
        items: &'a [u8],
        of: PhantomData<T>,
    },
    Slice(&'a [T]),
}

impl<'a, T> Array<'a, T> {
    /// The empty array.
    pub const EMPTY: Self = Self::new(&[]);

    /// Returns an array of the caller's items.
    pub const fn new(items: &'a [T]) -> Self {
        Self(Repr::Slice(items))
    }

    /// Returns the number of items.
    #[inline]
    pub const fn len(&self) -> usize {
        match self.0 {
            Repr::Wire { count, .. } => count as usize,
            Repr::Slice(items) => items.len(),
        }
    }

    /// Returns whether there are no items.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a, T: Decode<'a> + Copy> Array<'a, T> {
    /// Returns an iterator over the items, by value.
    #[inline]
    pub fn iter(&self) -> Iter<'a, T> {
        Iter {
            left: self.len(),
            items: match self.0 {
                Repr::Wire { items, .. } => Items::Wire(Cursor::again(items)),
                Repr::Slice(items) => Items::Slice(items.iter()),
            },
        }
    }
}

/// The items of an [`Array`].
#[derive(Clone, Debug)]
pub struct Iter<'a, T> {
    left: usize,
    items: Items<'a, T>,
}

#[derive(Clone, Debug)]
enum Items<'a, T> {
    Wire(Cursor<'a, 'static>),
    Slice(core::slice::Iter<'a, T>),
}

impl<'a, T: Decode<'a> + Copy> Iterator for Iter<'a, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        match &mut self.items {
            // This cannot fail, because `Array::read` checked every item.
            Items::Wire(cursor) => T::read(cursor).ok(),
            Items::Slice(items) => items.next().copied(),
        }
    }

    #[inline]
    fn fold<B, F: FnMut(B, T) -> B>(self, init: B, mut f: F) -> B {
        match self.items {
            // Numbers do not depend on each other, so the compiler can read many at a time.
            Items::Wire(cursor) if T::IS_NUMBER => {
                let numbers = cursor.rest().chunks_exact(T::MIN_LEN.max(1)).take(self.left);
                numbers.filter_map(|bytes| T::read(&mut Cursor::again(bytes)).ok()).fold(init, f)
            }
            Items::Wire(mut cursor) => {
                let mut all = init;
                for _ in 0..self.left {
                    let Ok(item) = T::read(&mut cursor) else { break };
                    all = f(all, item);
                }
                all
            }
            Items::Slice(items) => items.copied().fold(init, f),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<'a, T: Decode<'a> + Copy> ExactSizeIterator for Iter<'a, T> {}

impl<'a, T: Decode<'a> + Copy> IntoIterator for &Array<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T> From<&'a [T]> for Array<'a, T> {
    fn from(items: &'a [T]) -> Self {
        Self::new(items)
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for Array<'a, T> {
    fn from(items: &'a [T; N]) -> Self {
        Self::new(items)
    }
}

impl<'a, T: Decode<'a> + Copy + PartialEq> PartialEq for Array<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, T: Decode<'a> + Copy + Eq> Eq for Array<'a, T> {}

impl<'a, T: Decode<'a> + Copy + fmt::Debug> fmt::Debug for Array<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Array<'a, T> {
    const MIN_LEN: usize = 4;

    decode_by_read! {}

    #[inline]
    fn read(cursor: &mut Cursor<'a, '_>) -> Result<Self, Failed> {
        let count = cursor.count(T::MIN_LEN)?;
        Self::items(count, cursor)
    }
}

impl<'a, T: Decode<'a>> Array<'a, T> {
    /// Reads `count` items without a count before them.
    #[inline]
    pub(crate) fn items(count: u32, cursor: &mut Cursor<'a, '_>) -> Result<Self, Failed> {
        let all = cursor.rest();
        if T::IS_NUMBER {
            cursor.take((count as usize).saturating_mul(T::MIN_LEN))?;
        } else {
            for index in 0..count {
                cursor.read_item::<T>(index)?;
            }
        }
        let len = all.len().saturating_sub(cursor.rest().len());
        let items = all.get(..len).unwrap_or_default();
        Ok(Self(Repr::Wire { count, items, of: PhantomData }))
    }
}

impl<'a, T: Decode<'a> + Encode + Copy> Encode for Array<'a, T> {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        count_of(self.len())?.encode(sink)?;
        match self.0 {
            Repr::Wire { items, .. } if T::IS_NUMBER => {
                sink.put(items);
                Ok(())
            }
            Repr::Wire { .. } => self.iter().try_for_each(|item| item.encode(sink)),
            Repr::Slice(items) => T::encode_all(items, sink),
        }
    }
}

/// Writes `array<byte>`: a 32-bit count followed by the bytes.
impl Encode for &[u8] {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        count_of(self.len())?.encode(sink)?;
        sink.put(self);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::super::{IpcString, Reader, SliceSink, WireErrorKind};
    use super::*;
    use crate::message::eventpipe::EventFilter;

    #[test]
    fn huge_count_is_refused_before_any_item_is_read() {
        let error = Array::<u32>::decode(&mut Reader::at(&[0xff; 12], 20)).unwrap_err();
        assert_eq!(error.kind(), WireErrorKind::CountTooLarge { count: u32::MAX, remaining: 8 });
        assert_eq!(error.offset(), 20);
    }

    #[test]
    fn items_from_wire_are_written_in_canonical_form() {
        // Two filters, each with a bool of 2 and one id.
        let wire = b"\x02\0\0\0\x02\x01\0\0\0\x07\0\0\0\x02\x01\0\0\0\x08\0\0\0";
        let filters = Array::<EventFilter<'_>>::decode(&mut Reader::new(wire)).unwrap();
        let mut written = [0; 22];
        let mut sink = SliceSink::new(&mut written);
        filters.encode(&mut sink).unwrap();
        assert_eq!(sink.finish(), Ok(22));
        assert_eq!(&written, b"\x02\0\0\0\x01\x01\0\0\0\x07\0\0\0\x01\x01\0\0\0\x08\0\0\0");
    }

    #[test]
    fn faulty_item_is_named_by_its_index() {
        let error =
            Array::<IpcString<'_>>::decode(&mut Reader::new(b"\x02\0\0\0\x00\0\0\0\x01\0\0\0a\0"))
                .unwrap_err();
        assert_eq!(error.kind(), WireErrorKind::MissingTerminator { unit: 0x61 });
        assert_eq!((error.offset(), std::format!("{}", error.path())), (12, "[1]".into()));
    }
}
