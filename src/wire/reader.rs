//! Reading: a cursor over borrowed bytes that knows its offset.

use byteorder::{ByteOrder as _, LittleEndian};

use super::field::Field;
use super::path::clamp;
use super::{DecodeError, DecodeErrorKind};
use crate::hresult::HResult;

/// A value that can be read from the wire.
pub trait Decode<'a>: Sized {
    /// The fewest bytes that any value takes. Bounds a count before its items are read; 0 counts as 1 there.
    const MIN_LEN: usize;

    /// Reads one value and moves the reader behind it.
    ///
    /// # Errors
    /// What is wrong, at which offset, in which field. The reader is then somewhere inside the value.
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;
}

/// A cursor over borrowed bytes. All integers are little-endian; nothing needs to be aligned (F-13).
///
/// ```
/// use dotnet_diagnostics_ipc::wire::{Decode as _, Reader};
///
/// let mut reader = Reader::new(&[0x02, 0x01, 0xff]);
/// assert_eq!(u16::decode(&mut reader), Ok(0x0102));
/// assert_eq!((reader.offset(), reader.rest()), (2, &[0xff][..]));
/// ```
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// A reader of `bytes`, with offsets from 0.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, offset: 0 }
    }

    /// A reader of `bytes` that stand at `offset` of something larger.
    pub const fn at(bytes: &'a [u8], offset: usize) -> Self {
        Self { rest: bytes, offset }
    }

    /// Where the next byte stands.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The bytes that have not been read.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// [`DecodeErrorKind::UnexpectedEnd`] if fewer are left; none is then taken.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], DecodeError> {
        let Some((taken, rest)) = self.rest.split_at_checked(n) else {
            return Err(self.ends(n));
        };
        self.advance(rest, n);
        Ok(taken)
    }

    /// The next `N` bytes, by value.
    ///
    /// # Errors
    /// [`DecodeErrorKind::UnexpectedEnd`] if fewer are left; none is then taken.
    pub fn take_array<const N: usize>(&mut self) -> Result<&'a [u8; N], DecodeError> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.ends(N));
        };
        self.advance(rest, N);
        Ok(taken)
    }

    /// Reads a value that stands in the field `field`.
    pub(crate) fn field<T: Decode<'a>>(&mut self, field: Field) -> Result<T, DecodeError> {
        T::decode(self).map_err(|error| error.within(field))
    }

    /// Reads the count of a string or array whose items take at least `item` bytes each.
    pub(crate) fn count(&mut self, item: usize) -> Result<u32, DecodeError> {
        let start = self.offset;
        let count = u32::decode(self)?;
        // In 64 bits: F-8 is what happens in 32.
        if u64::from(count).saturating_mul(item.max(1) as u64) > self.rest.len() as u64 {
            return Err(DecodeError::new(DecodeErrorKind::CountTooLarge { count, remaining: clamp(self.rest.len()) }, start));
        }
        Ok(count)
    }

    fn advance(&mut self, rest: &'a [u8], n: usize) {
        self.rest = rest;
        self.offset = self.offset.saturating_add(n);
    }

    fn ends(&self, needed: usize) -> DecodeError {
        let kind = DecodeErrorKind::UnexpectedEnd { needed: clamp(needed), remaining: clamp(self.rest.len()) };
        DecodeError::new(kind, self.offset)
    }
}

macro_rules! integers {
    ($($t:ty => $read:expr;)*) => {$(
        impl<'a> Decode<'a> for $t {
            const MIN_LEN: usize = size_of::<$t>();

            fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                Ok($read(reader.take_array::<{ size_of::<$t>() }>()?))
            }
        }
    )*};
}

integers! {
    u8 => |b: &[u8; 1]| b[0];
    u16 => |b: &[u8; 2]| LittleEndian::read_u16(b);
    u32 => |b: &[u8; 4]| LittleEndian::read_u32(b);
    i32 => |b: &[u8; 4]| LittleEndian::read_i32(b);
    u64 => |b: &[u8; 8]| LittleEndian::read_u64(b);
}

/// One byte; every byte but 0 is true (F-16). Only 0 and 1 are canonical.
impl<'a> Decode<'a> for bool {
    const MIN_LEN: usize = 1;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(u8::decode(reader)? != 0)
    }
}

impl<'a> Decode<'a> for HResult {
    const MIN_LEN: usize = 4;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        u32::decode(reader).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_take_takes_nothing() {
        let mut reader = Reader::at(&[1, 2, 3], 7);
        assert_eq!(
            reader.take(4).map_err(|e| (e.kind(), e.offset())),
            Err((DecodeErrorKind::UnexpectedEnd { needed: 4, remaining: 3 }, 7))
        );
        assert_eq!(reader.take(3), Ok(&[1, 2, 3][..]));
        assert_eq!(reader.offset(), 10);
    }

    #[test]
    fn count_is_judged_in_64_bits() {
        // 0x8000_0001 * 2 is 2 in 32 bits, and 2 bytes do follow.
        let error = Reader::new(&[1, 0, 0, 0x80, 0, 0]).count(2).unwrap_err();
        assert_eq!(error.kind(), DecodeErrorKind::CountTooLarge { count: 0x8000_0001, remaining: 2 });
        assert_eq!(error.offset(), 0);
    }
}
