//! Reading: values from a cursor over borrowed bytes, with the reason for a fault or without.

use core::fmt;

use byteorder::{ByteOrder as _, LittleEndian};

use super::field::Field;
use super::path::{Root, clamp};
use super::sink::{Encode, Sink};
use super::{DecodeError, DecodeErrorKind, EncodeError};
use crate::hresult::HResult;

/// A value that can be read from the wire.
pub trait Decode<'a>: Sized {
    /// The minimum length of a value in bytes. An array is refused at once if its count times this
    /// is more than the bytes left; 0 is taken as 1.
    const MIN_LEN: usize;

    /// Whether every sequence of `MIN_LEN` bytes (at least one) is a value, and is its encoding.
    #[doc(hidden)]
    const IS_PLAIN: bool = false;

    /// Whether a value has one encoding: then the bytes it was read from are that encoding.
    #[doc(hidden)]
    const IS_EXACT: bool = Self::IS_PLAIN;

    /// Reads one value and moves the reader after it.
    ///
    /// # Errors
    /// The kind, offset and field. The reader's position is then unspecified.
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;

    /// Like `decode`, but a [`Reader`] keeps the error, and a [`Scan`] has none. All values of this
    /// crate are read by this function, and `decode` asks the reader: a value and an error
    /// together are large, and would be copied from field to field.
    #[doc(hidden)]
    #[inline]
    fn read<C: Cursor<'a>>(cursor: &mut C) -> Option<Self> {
        cursor.by_decode()
    }

    /// Reads one value and writes it, a field at a time: the whole value is never on the stack.
    #[doc(hidden)]
    #[inline]
    fn copy<S: Sink + ?Sized>(scan: &mut Scan<'a>, sink: &mut S) -> Result<(), EncodeError>
    where
        Self: Encode,
    {
        Self::read(scan).map_or(Ok(()), |value| value.encode(sink))
    }
}

/// Bytes that are read from the front: by a [`Reader`], which keeps the reason for an
/// error, or by a [`Scan`], which has none.
#[allow(unnameable_types, private_interfaces, reason = "only this crate implements and calls it")]
pub trait Cursor<'a>: Sized {
    /// Whether the code that reads a struct or string is repeated where one is read: it is short, and
    /// a value that is only skipped is then never in memory.
    const IS_INLINED: bool;

    /// The bytes that have not been read.
    fn rest(&self) -> &'a [u8];
    /// The next `n` bytes.
    fn bytes(&mut self, n: usize) -> Option<&'a [u8]>;
    /// The next `N` bytes.
    fn chunk<const N: usize>(&mut self) -> Option<&'a [u8; N]>;
    /// Skips `count` items after checking each. Their bytes.
    fn items<T: Decode<'a>>(&mut self, count: u32) -> Option<&'a [u8]>;
    /// The value of a field.
    fn read_field<T: Decode<'a>>(&mut self, field: Field) -> Option<T>;
    /// A value of a type that has no `read`.
    fn by_decode<T: Decode<'a>>(&mut self) -> Option<T>;

    /// The units of a string with the NUL, none if it is absent.
    fn string_bytes(&mut self) -> Option<&'a [u8]>;

    /// The count of a string or array whose items take at least `item` bytes each.
    #[inline]
    fn count(&mut self, item: usize) -> Option<u32> {
        let count = u32::from_le_bytes(*self.chunk()?);
        // In 64 bits: F-8 shows what happens in 32.
        if u64::from(count).saturating_mul(item.max(1) as u64) > self.rest().len() as u64 {
            self.too_large(count);
            return None;
        }
        Some(count)
    }

    /// The count just read is too large.
    #[inline]
    fn too_large(&mut self, _count: u32) {}
    /// The string just read ends with `unit`.
    #[inline]
    fn not_terminated(&mut self, _unit: [u8; 2]) {}
    /// The `session_type` just read is unknown.
    #[inline]
    fn no_session_type(&mut self, _session_type: u32) {}
}

/// A string: `absent` if its count is 0, otherwise made of its units, and of those before the NUL.
#[inline]
pub(super) fn string<'a, C: Cursor<'a>, T>(
    cursor: &mut C,
    absent: T,
    made_of: impl FnOnce(&'a [u8], &'a [u8]) -> T,
) -> Option<T> {
    let count = cursor.count(2)?;
    if count == 0 {
        return Some(absent);
    }
    let bytes = cursor.bytes((count as usize).saturating_mul(2))?;
    match bytes.split_last_chunk::<2>() {
        Some((text, [0, 0])) => Some(made_of(bytes, text)),
        Some((_, unit)) => {
            cursor.not_terminated(*unit);
            None
        }
        None => None,
    }
}

/// Bytes that are read from the front without error details: items of arrays, which are many and
/// nearly always valid. On an error, the caller reads again with a [`Reader`], which
/// finds the reason; storing a reason here would cost a write to memory for each item.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    rest: &'a [u8],
}

impl<'a> Scan<'a> {
    #[inline]
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The bytes that have not been read.
    #[inline]
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

#[allow(private_interfaces, reason = "only this crate calls it")]
impl<'a> Cursor<'a> for Scan<'a> {
    const IS_INLINED: bool = true;

    #[inline]
    fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(taken)
    }

    #[inline]
    fn chunk<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(taken)
    }

    #[inline]
    fn string_bytes(&mut self) -> Option<&'a [u8]> {
        string(self, &[][..], |bytes, _| bytes)
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a skipped item is then never in memory")]
    fn items<T: Decode<'a>>(&mut self, count: u32) -> Option<&'a [u8]> {
        let all = self.rest;
        for _ in 0..count {
            T::read(self)?;
        }
        all.get(..all.len().saturating_sub(self.rest.len()))
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a skipped item is then never in memory")]
    fn read_field<T: Decode<'a>>(&mut self, _: Field) -> Option<T> {
        T::read(self)
    }

    #[inline]
    fn by_decode<T: Decode<'a>>(&mut self) -> Option<T> {
        let mut reader = Reader::new(self.rest);
        let value = T::decode(&mut reader).ok()?;
        self.rest = reader.rest();
        Some(value)
    }
}

/// A cursor over borrowed bytes. All integers are little-endian and unaligned (F-13).
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
    scan: Scan<'a>,
    /// The offset after the last byte.
    end: usize,
    /// The last error of `read`. The path is built on return.
    fault: Option<DecodeError>,
}

impl<'a> Reader<'a> {
    /// A reader of `bytes`, with offsets from 0.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self::at(bytes, 0)
    }

    /// A reader of `bytes` at `offset` of a larger input.
    #[inline]
    pub const fn at(bytes: &'a [u8], offset: usize) -> Self {
        Self { scan: Scan::new(bytes), end: offset.wrapping_add(bytes.len()), fault: None }
    }

    /// The offset of the next byte.
    #[inline]
    pub const fn offset(&self) -> usize {
        self.end.wrapping_sub(self.rest().len())
    }

    /// The bytes that have not been read.
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.scan.rest()
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// [`DecodeErrorKind::UnexpectedEnd`] if fewer are left; then nothing is taken.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], DecodeError> {
        self.explain(|reader| reader.bytes(n))
    }

    /// The next `N` bytes, as a reference to an array.
    ///
    /// # Errors
    /// [`DecodeErrorKind::UnexpectedEnd`] if fewer are left; then nothing is taken.
    #[inline]
    pub fn take_array<const N: usize>(&mut self) -> Result<&'a [u8; N], DecodeError> {
        self.explain(Cursor::chunk)
    }

    /// Reads the value of the field `field`.
    #[inline]
    pub(crate) fn field<T: Decode<'a>>(&mut self, field: Field) -> Result<T, DecodeError> {
        self.explain(|reader| reader.read_field(field))
    }

    /// Reads the count of a string or array whose items take at least `item` bytes each.
    #[doc(hidden)]
    pub fn count(&mut self, item: usize) -> Result<u32, DecodeError> {
        self.explain(|reader| Cursor::count(reader, item))
    }

    /// The result of `read`, or its error.
    #[inline]
    #[doc(hidden)]
    pub fn explain<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Result<T, DecodeError> {
        match read(self) {
            Some(value) => Ok(value),
            None => Err(self.fault().value),
        }
    }

    /// Applies `read` to the next bytes. If it returns nothing, no byte is taken, and the caller
    /// reads again with this reader to find the error.
    #[inline]
    pub(crate) fn scanned<T>(
        &mut self,
        read: impl FnOnce(&mut Scan<'a>) -> Option<T>,
    ) -> Option<T> {
        let mut scan = self.scan;
        let value = read(&mut scan)?;
        self.scan = scan;
        Some(value)
    }

    /// Keeps the error of the next item.
    #[cold]
    #[inline(never)]
    fn wrong_item<T: Decode<'a>>(&mut self, index: u32) {
        let _ = T::read(self);
        self.at_index(index as usize);
    }

    /// Keeps the error.
    #[cold]
    #[inline(never)]
    pub(crate) fn fail(&mut self, error: DecodeError) {
        self.fault = Some(error);
    }

    /// Prepends `field` to the error's path.
    #[cold]
    #[inline(never)]
    pub(crate) fn within(&mut self, field: Field) {
        if let Some(fault) = &mut self.fault {
            fault.path_mut().push(field);
        }
    }

    /// Prepends `root` to the error's path, unless it has a root.
    #[cold]
    #[inline(never)]
    pub(crate) fn in_root(&mut self, root: Root) {
        if let Some(fault) = &mut self.fault {
            fault.path_mut().begin(root);
        }
    }

    /// Gives the index `index` to the field that `within` will prepend next.
    #[cold]
    #[inline(never)]
    pub(crate) fn at_index(&mut self, index: usize) {
        if let Some(fault) = &mut self.fault {
            fault.path_mut().index(index);
        }
    }

    #[cold]
    #[inline(never)]
    fn ends(&mut self, needed: usize) {
        let kind = DecodeErrorKind::UnexpectedEnd {
            needed: clamp(needed),
            remaining: clamp(self.rest().len()),
        };
        self.fault = Some(DecodeError::new(kind, self.offset()));
    }

    /// The error, after a `read` that returned nothing.
    #[cold]
    #[inline(never)]
    pub(crate) fn fault(&mut self) -> Separate<DecodeError> {
        // There is one: every failing `read` stores its error.
        if self.fault.is_none() {
            self.ends(0);
        }
        let nothing = DecodeErrorKind::EndOfInput { needed: 0 };
        Separate::new(self.fault.take().unwrap_or_else(|| DecodeError::new(nothing, 0)))
    }
}

#[allow(private_interfaces, reason = "only this crate calls it")]
impl<'a> Cursor<'a> for Reader<'a> {
    const IS_INLINED: bool = false;

    #[inline]
    fn rest(&self) -> &'a [u8] {
        self.rest()
    }

    #[inline]
    fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let Some(bytes) = self.scan.bytes(n) else {
            self.ends(n);
            return None;
        };
        Some(bytes)
    }

    #[inline]
    fn chunk<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let Some(bytes) = self.scan.chunk() else {
            self.ends(N);
            return None;
        };
        Some(bytes)
    }

    #[inline(never)]
    fn string_bytes(&mut self) -> Option<&'a [u8]> {
        string(self, &[][..], |bytes, _| bytes)
    }

    fn items<T: Decode<'a>>(&mut self, count: u32) -> Option<&'a [u8]> {
        let (all, mut scan) = (self.rest(), self.scan);
        for index in 0..count {
            self.scan = scan;
            if T::read(&mut scan).is_none() {
                self.wrong_item::<T>(index);
                return None;
            }
        }
        self.scan = scan;
        all.get(..all.len().saturating_sub(self.rest().len()))
    }

    #[inline]
    fn read_field<T: Decode<'a>>(&mut self, field: Field) -> Option<T> {
        let Some(value) = T::read(self) else {
            self.within(field);
            return None;
        };
        Some(value)
    }

    #[inline]
    fn by_decode<T: Decode<'a>>(&mut self) -> Option<T> {
        T::decode(self).map_err(|error| self.fail(error)).ok()
    }

    #[cold]
    #[inline(never)]
    fn too_large(&mut self, count: u32) {
        let kind = DecodeErrorKind::CountTooLarge { count, remaining: clamp(self.rest().len()) };
        self.fault = Some(DecodeError::new(kind, self.offset().wrapping_sub(4)));
    }

    #[cold]
    #[inline(never)]
    fn not_terminated(&mut self, unit: [u8; 2]) {
        let kind = DecodeErrorKind::MissingTerminator { unit: u16::from_le_bytes(unit) };
        self.fault = Some(DecodeError::new(kind, self.offset().saturating_sub(2)));
    }

    #[cold]
    #[inline(never)]
    fn no_session_type(&mut self, session_type: u32) {
        let kind = DecodeErrorKind::UnknownSessionType { session_type };
        let error = DecodeError::new(kind, self.offset().saturating_sub(4));
        self.fail(error.within(Field::SessionType));
    }
}

/// Wraps the value of a cold function in something larger: otherwise the compiler lets the function
/// write into its caller's result, which is then in memory, and its tag is checked again after each
/// step.
pub(crate) struct Separate<T> {
    pub(crate) value: T,
    _more: usize,
}

impl<T> Separate<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { value, _more: 0 }
    }
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("rest", &self.rest())
            .field("offset", &self.offset())
            .finish()
    }
}

/// `decode` of a type that has `read`.
macro_rules! decode_by_read {
    () => {
        #[inline]
        fn decode(
            reader: &mut $crate::wire::Reader<'a>,
        ) -> Result<Self, $crate::wire::DecodeError> {
            reader.explain(Self::read)
        }
    };
}

pub(crate) use decode_by_read;

macro_rules! integers {
    ($($t:ty => $read:expr;)*) => {$(
        impl<'a> Decode<'a> for $t {
            const MIN_LEN: usize = size_of::<$t>();
            const IS_PLAIN: bool = true;

            decode_by_read! {}

            #[inline]
            fn read<C: Cursor<'a>>(cursor: &mut C) -> Option<Self> {
                cursor.chunk::<{ size_of::<$t>() }>().map($read)
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

/// One byte; every byte except 0 is true (F-16). Only 0 and 1 are canonical.
impl<'a> Decode<'a> for bool {
    const MIN_LEN: usize = 1;

    decode_by_read! {}

    #[inline]
    fn read<C: Cursor<'a>>(cursor: &mut C) -> Option<Self> {
        u8::read(cursor).map(|byte| byte != 0)
    }
}

impl<'a> Decode<'a> for HResult {
    const MIN_LEN: usize = 4;
    const IS_PLAIN: bool = true;

    decode_by_read! {}

    #[inline]
    fn read<C: Cursor<'a>>(cursor: &mut C) -> Option<Self> {
        u32::read(cursor).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_take_consumes_nothing() {
        let mut reader = Reader::at(&[1, 2, 3], 7);
        assert_eq!(
            reader.take(4).map_err(|e| (e.kind(), e.offset())),
            Err((DecodeErrorKind::UnexpectedEnd { needed: 4, remaining: 3 }, 7))
        );
        assert_eq!(reader.take(3), Ok(&[1, 2, 3][..]));
        assert_eq!(reader.offset(), 10);
    }

    #[test]
    fn count_is_checked_in_64_bits() {
        // 0x8000_0001 * 2 is 2 in 32 bits, and 2 bytes follow.
        let error = Reader::new(&[1, 0, 0, 0x80, 0, 0])
            .explain(|reader| Cursor::count(reader, 2))
            .unwrap_err();
        assert_eq!(
            error.kind(),
            DecodeErrorKind::CountTooLarge { count: 0x8000_0001, remaining: 2 }
        );
        assert_eq!(error.offset(), 0);
    }
}
