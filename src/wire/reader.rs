//! Reads values from the front of borrowed bytes. Each type has one read function. The error of a
//! field is stored beside the cursor, and the [`Reader`] returns it.

use core::cell::Cell;
use core::fmt;

use byteorder::{ByteOrder as _, LittleEndian};

use super::field::Field;
use super::path::{Path, Root, clamp};
use super::{WireError, WireErrorKind};

/// A value that can be read from the wire.
pub trait Decode<'a>: Sized {
    /// The minimum length of a value in bytes. An array is refused at once if its count times this
    /// length exceeds the bytes left. 0 counts as 1.
    const MIN_LEN: usize;

    /// Whether any `MIN_LEN` bytes are a value in its wire form. Of an array of such numbers, only
    /// the length is checked, and its bytes are written unchanged.
    #[doc(hidden)]
    const IS_NUMBER: bool = false;

    /// Reads one value and advances the reader.
    ///
    /// # Errors
    /// Returns the kind, offset and field of the error. The reader's position is then unspecified.
    fn decode(reader: &mut Reader<'a>) -> Result<Self, WireError>;

    /// Reads a value inside another value. Does not return the large error from field to field,
    /// which would take 2 KB of code on a Cortex-M0.
    #[doc(hidden)]
    fn read(cursor: &mut Cursor<'a, '_>) -> Result<Self, Failed> {
        let end = cursor.keep.0.map_or(0, |fault| fault.end);
        let mut reader = Reader { rest: cursor.rest, end };
        let value = Self::decode(&mut reader);
        cursor.rest = reader.rest;
        value.map_err(|error| cursor.fail_with(error))
    }
}

/// The mark of a failed read, whose error is in the `Fault` beside the cursor.
#[derive(Debug)]
pub struct Failed;

/// The error of a failed read, and the end of the bytes, from which its offset is counted.
pub(crate) struct Fault {
    error: Cell<Option<WireError>>,
    /// The offset after the last byte.
    end: usize,
}

impl Fault {
    /// Returns a `Fault` for `bytes`, which start at `offset` of a larger input.
    #[inline]
    pub(crate) const fn of(bytes: &[u8], offset: usize) -> Self {
        Self { error: Cell::new(None), end: offset.wrapping_add(bytes.len()) }
    }

    /// Returns the error of a failed read. Its path begins with `root`, unless it has another root.
    #[cold]
    #[inline(never)]
    pub(crate) fn explain(&self, root: Option<Root>) -> WireError {
        // Every failed read has stored an error, so this default is not used.
        let nothing = WireErrorKind::EndOfInput { needed: 0 };
        let mut error = self.error.take().unwrap_or_else(|| WireError::new(nothing, 0));
        if let Some(root) = root {
            error.path_mut().begin(root);
        }
        error
    }
}

/// Where to store an error. `None` for bytes that were checked before.
#[derive(Clone, Copy, Debug)]
struct Keep<'f>(Option<&'f Fault>);

impl Keep<'_> {
    /// Stores an error `left` bytes before the end.
    #[cold]
    #[inline(never)]
    fn error(self, left: usize, kind: WireErrorKind) -> Failed {
        if let Some(fault) = self.0 {
            fault.error.set(Some(WireError::new(kind, fault.end.wrapping_sub(left))));
        }
        Failed
    }

    #[cold]
    #[inline(never)]
    fn ends(self, left: usize, needed: usize) -> Failed {
        let (needed, remaining) = (clamp(needed), clamp(left));
        self.error(left, WireErrorKind::UnexpectedEnd { needed, remaining })
    }

    #[cold]
    #[inline(never)]
    fn too_large(self, left: usize, count: u32) -> Failed {
        let kind = WireErrorKind::CountTooLarge { count, remaining: clamp(left) };
        self.error(left.saturating_add(4), kind)
    }

    #[cold]
    #[inline(never)]
    fn within(self, field: Field) -> Failed {
        self.change(|path| path.push(field))
    }

    #[cold]
    #[inline(never)]
    fn at_index(self, index: u32) -> Failed {
        self.change(|path| path.index(index as usize))
    }

    /// Changes the path of the stored error.
    #[inline]
    fn change(self, change: impl FnOnce(&mut Path)) -> Failed {
        if let Some(fault) = self.0 {
            if let Some(mut error) = fault.error.take() {
                change(error.path_mut());
                fault.error.set(Some(error));
            }
        }
        Failed
    }
}

/// A cursor that reads bytes from the front. Functions that make an error get numbers instead of
/// the cursor, so that its position stays in registers.
#[derive(Clone, Debug)]
pub struct Cursor<'a, 'f> {
    rest: &'a [u8],
    keep: Keep<'f>,
}

impl<'a, 'f> Cursor<'a, 'f> {
    /// Returns a cursor over the bytes for which `fault` was made.
    #[inline]
    pub(crate) const fn new(bytes: &'a [u8], fault: &'f Fault) -> Self {
        Self { rest: bytes, keep: Keep(Some(fault)) }
    }

    /// Returns a cursor over bytes that were read without an error before.
    #[inline]
    pub(crate) const fn again(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, keep: Keep(None) }
    }

    /// Returns the bytes that have not been read.
    #[inline]
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Takes the next `n` bytes.
    #[inline]
    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8], Failed> {
        match self.rest.split_at_checked(n) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.keep.ends(self.rest.len(), n)),
        }
    }

    /// Takes the next `N` bytes.
    #[inline]
    pub(crate) fn take_array<const N: usize>(&mut self) -> Result<&'a [u8; N], Failed> {
        match self.rest.split_first_chunk() {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.keep.ends(self.rest.len(), N)),
        }
    }

    /// Reads the count of a string or array whose items take at least `item` bytes each.
    #[inline]
    pub(crate) fn count(&mut self, item: usize) -> Result<u32, Failed> {
        let count = LittleEndian::read_u32(self.take_array::<4>()?);
        let left = self.rest.len();
        // Computed in 64 bits, because 32 bits overflow (F-8).
        if u64::from(count).saturating_mul(item.max(1) as u64) > left as u64 {
            return Err(self.keep.too_large(left, count));
        }
        Ok(count)
    }

    /// Reads the value of a field.
    #[inline]
    pub(crate) fn read_field<T: Decode<'a>>(&mut self, field: Field) -> Result<T, Failed> {
        T::read(self).map_err(|Failed| self.keep.within(field))
    }

    /// Reads an item of an array.
    #[inline]
    pub(crate) fn read_item<T: Decode<'a>>(&mut self, index: u32) -> Result<T, Failed> {
        T::read(self).map_err(|Failed| self.keep.at_index(index))
    }

    /// Stores an error `back` bytes before the next one.
    #[inline]
    pub(crate) fn fail(&self, back: usize, kind: WireErrorKind) -> Failed {
        self.keep.error(self.rest.len().saturating_add(back), kind)
    }

    /// Stores an error that another reader returned.
    #[inline]
    pub(crate) fn fail_with(&self, error: WireError) -> Failed {
        if let Some(fault) = self.keep.0 {
            fault.error.set(Some(error));
        }
        Failed
    }

    /// Prepends a field to the path of the stored error.
    #[inline]
    pub(crate) fn within(&self, field: Field) -> Failed {
        self.keep.within(field)
    }

    /// Begins the path of the stored error with `root`.
    #[cold]
    pub(crate) fn in_root(&self, root: Root) -> Failed {
        self.keep.change(|path| path.begin(root))
    }
}

/// A reader of borrowed bytes. All integers are little-endian and unaligned (F-13).
///
/// ```
/// use dotnet_diagnostics_ipc::wire::{Decode as _, Reader};
///
/// let mut reader = Reader::new(&[0x02, 0x01, 0xff]);
/// assert_eq!(u16::decode(&mut reader), Ok(0x0102));
/// assert_eq!((reader.offset(), reader.rest()), (2, &[0xff][..]));
/// ```
#[derive(Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// The offset after the last byte.
    end: usize,
}

impl<'a> Reader<'a> {
    /// Returns a reader of `bytes`, with offsets from 0.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self::at(bytes, 0)
    }

    /// Returns a reader of `bytes`, which start at `offset` of a larger input.
    #[inline]
    pub const fn at(bytes: &'a [u8], offset: usize) -> Self {
        Self { rest: bytes, end: offset.wrapping_add(bytes.len()) }
    }

    /// Returns the offset of the next byte.
    #[inline]
    pub const fn offset(&self) -> usize {
        self.end.wrapping_sub(self.rest.len())
    }

    /// Returns the bytes that have not been read.
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Takes the next `n` bytes.
    ///
    /// # Errors
    /// [`WireErrorKind::UnexpectedEnd`] if fewer bytes are left; none is taken.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], WireError> {
        self.read(|cursor| cursor.take(n))
    }

    /// Reads the value of the field `field`.
    pub(crate) fn field<T: Decode<'a>>(&mut self, field: Field) -> Result<T, WireError> {
        self.read(|cursor| cursor.read_field(field))
    }

    /// Reads the count of a string or array whose items take at least `item` bytes each.
    #[doc(hidden)]
    pub fn count(&mut self, item: usize) -> Result<u32, WireError> {
        self.read(|cursor| cursor.count(item))
    }

    /// Calls `read`, and returns its value or the error that it stored.
    #[inline]
    #[doc(hidden)]
    pub fn read<T>(
        &mut self,
        read: impl FnOnce(&mut Cursor<'a, '_>) -> Result<T, Failed>,
    ) -> Result<T, WireError> {
        let fault = Fault { error: Cell::new(None), end: self.end };
        let mut cursor = Cursor::new(self.rest, &fault);
        let value = read(&mut cursor);
        self.rest = cursor.rest;
        match value {
            Ok(value) => Ok(value),
            Err(Failed) => Err(fault.explain(None)),
        }
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fault")
    }
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("rest", &self.rest).field("offset", &self.offset()).finish()
    }
}

/// Implements `Decode::decode` with `Decode::read`.
macro_rules! decode_by_read {
    () => {
        #[inline]
        fn decode(reader: &mut $crate::wire::Reader<'a>) -> Result<Self, $crate::wire::WireError> {
            reader.read(Self::read)
        }
    };
}

/// Implements `Decode` for a type that wraps another.
macro_rules! decode_from {
    ($Other:ty, $make:expr) => {
        const MIN_LEN: usize = <$Other as $crate::wire::Decode<'a>>::MIN_LEN;

        $crate::wire::decode_by_read! {}

        #[inline]
        fn read(cursor: &mut $crate::wire::Cursor<'a, '_>) -> Result<Self, $crate::wire::Failed> {
            <$Other>::read(cursor).map($make)
        }
    };
}

pub(crate) use {decode_by_read, decode_from};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_take_consumes_nothing() {
        let mut reader = Reader::at(&[1, 2, 3], 7);
        assert_eq!(
            reader.take(4).map_err(|e| (e.kind(), e.offset())),
            Err((WireErrorKind::UnexpectedEnd { needed: 4, remaining: 3 }, 7))
        );
        assert_eq!(reader.take(3), Ok(&[1, 2, 3][..]));
        assert_eq!(reader.offset(), 10);
    }

    #[test]
    fn count_is_checked_in_64_bits() {
        // 0x8000_0001 * 2 overflows to 2 in 32 bits, and 2 bytes follow.
        let error = Reader::new(&[1, 0, 0, 0x80, 0, 0]).read(|cursor| cursor.count(2)).unwrap_err();
        assert_eq!(error.kind(), WireErrorKind::CountTooLarge { count: 0x8000_0001, remaining: 2 });
        assert_eq!(error.offset(), 0);
    }
}
