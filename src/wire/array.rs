//! `array<T>`: a 32-bit count, then the items.

use core::{fmt, marker::PhantomData};

use super::reader::{Decode, Reader};
use super::sink::{Encode, Sink, encode_count};
use super::{DecodeError, EncodeError};

/// The protocol's `array<T>`.
///
/// | bytes | what |
/// |---|---|
/// | 4 | count of items |
/// | … | the items, one after another |
///
/// Holds either bytes from the wire, each item already checked, or the caller's slice, and compares by its items.
/// A count that cannot fit into the bytes that remain is refused before any item is read (F-9).
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
    /// `count` items, each known to decode.
    Wire {
        count: u32,
        items: &'a [u8],
        of: PhantomData<T>,
    },
    Slice(&'a [T]),
}

impl<'a, T> Array<'a, T> {
    /// The array of no items.
    pub const EMPTY: Self = Self::new(&[]);

    /// An array of the caller's items.
    pub const fn new(items: &'a [T]) -> Self {
        Self(Repr::Slice(items))
    }

    /// How many items there are.
    pub const fn len(&self) -> usize {
        match self.0 {
            Repr::Wire { count, .. } => count as usize,
            Repr::Slice(items) => items.len(),
        }
    }

    /// Whether there is no item.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a, T: Decode<'a> + Copy> Array<'a, T> {
    /// The items, by value.
    pub fn iter(&self) -> Iter<'a, T> {
        Iter {
            left: self.len(),
            items: match self.0 {
                Repr::Wire { items, .. } => Items::Wire(Reader::new(items)),
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
    Wire(Reader<'a>),
    Slice(core::slice::Iter<'a, T>),
}

impl<'a, T: Decode<'a> + Copy> Iterator for Iter<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        match &mut self.items {
            // Cannot fail: `Array::decode` read every item.
            Items::Wire(reader) => T::decode(reader).ok(),
            Items::Slice(items) => items.next().copied(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<'a, T: Decode<'a> + Copy> ExactSizeIterator for Iter<'a, T> {}

impl<'a, T: Decode<'a> + Copy> IntoIterator for Array<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T: Decode<'a> + Copy> IntoIterator for &Array<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> Default for Array<'_, T> {
    fn default() -> Self {
        Self::EMPTY
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

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let count = reader.count(T::MIN_LEN)?;
        Self::items(count, reader)
    }
}

impl<'a, T: Decode<'a>> Array<'a, T> {
    /// Reads `count` items, without a count in front of them.
    pub(crate) fn items(count: u32, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (all, start) = (reader.rest(), reader.offset());
        for index in 0..count {
            T::decode(reader).map_err(|error| error.at_index(index as usize))?;
        }
        let len = reader.offset().saturating_sub(start);
        Ok(Self(Repr::Wire { count, items: all.get(..len).unwrap_or_default(), of: PhantomData }))
    }
}

impl<'a, T: Decode<'a> + Encode + Copy> Encode for Array<'a, T> {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        encode_count(self.len(), sink)?;
        self.iter().try_for_each(|item| item.encode(sink))
    }
}

/// `array<byte>`: a 32-bit count, then the bytes.
impl<'a> Decode<'a> for &'a [u8] {
    const MIN_LEN: usize = 4;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let count = reader.count(1)?;
        reader.take(count as usize)
    }
}

impl Encode for &[u8] {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        encode_count(self.len(), sink)?;
        sink.put(self);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::super::{DecodeErrorKind, IpcString};
    use super::*;

    #[test]
    fn huge_count_is_refused_before_any_item_is_read() {
        let error = Array::<u32>::decode(&mut Reader::at(&[0xff; 12], 20)).unwrap_err();
        assert_eq!(error.kind(), DecodeErrorKind::CountTooLarge { count: u32::MAX, remaining: 8 });
        assert_eq!(error.offset(), 20);
    }

    #[test]
    fn items_may_vary_in_size() {
        let wire = b"\x02\0\0\0\x00\0\0\0\x02\0\0\0a\0\0\0";
        let array = Array::<IpcString<'_>>::decode(&mut Reader::new(wire)).unwrap();
        assert_eq!(array, Array::new(&[IpcString::ABSENT, IpcString::new("a")]));
        assert_eq!(array.encoded_len(), Ok(wire.len()));
    }

    #[test]
    fn faulty_item_is_named_by_its_index() {
        let error = Array::<IpcString<'_>>::decode(&mut Reader::new(b"\x02\0\0\0\x00\0\0\0\x01\0\0\0a\0")).unwrap_err();
        assert_eq!(error.kind(), DecodeErrorKind::MissingTerminator { unit: 0x61 });
        assert_eq!((error.offset(), std::format!("{}", error.path())), (12, "[1]".into()));
    }
}
