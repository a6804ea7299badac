//! Writing to any destination with one `encode`.

use byteorder::{ByteOrder as _, LittleEndian};

use super::EncodeError;
use crate::hresult::HResult;

/// A value that can be written to the wire.
pub trait Encode {
    /// Writes the value in canonical form.
    ///
    /// # Errors
    /// [`EncodeError::CountTooLarge`] if a string or array has more items than 32 bits can express.
    /// Other types document their own errors.
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError>;

    /// Writes values one after another.
    ///
    /// # Errors
    /// Returns the errors of [`encode`](Self::encode).
    #[doc(hidden)]
    #[inline]
    fn encode_all<S: Sink + ?Sized>(items: &[Self], sink: &mut S) -> Result<(), EncodeError>
    where
        Self: Sized,
    {
        items.iter().try_for_each(|item| item.encode(sink))
    }

    /// Returns how many bytes [`encode`](Self::encode) writes, by encoding to a counting sink.
    ///
    /// # Errors
    /// Returns the errors of [`encode`](Self::encode).
    fn encoded_len(&self) -> Result<usize, EncodeError> {
        let mut counter = Counter(0);
        self.encode(&mut counter)?;
        Ok(counter.0)
    }
}

/// The destination of encoded bytes. A sink never refuses bytes: [`SliceSink`] counts those beyond
/// its end, and [`SliceSink::finish`] reports them.
pub trait Sink {
    /// Takes the next bytes.
    fn put(&mut self, bytes: &[u8]);

    /// Returns the next `len` bytes of the destination for the caller to write. Returns an empty
    /// slice if the bytes are not wanted, and `None` if they must be [`put`](Self::put).
    #[doc(hidden)]
    #[inline]
    fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        let _ = len;
        None
    }
}

struct Counter(usize);

impl Sink for Counter {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.0 = self.0.saturating_add(bytes.len());
    }

    #[inline]
    fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        self.0 = self.0.saturating_add(len);
        Some(&mut [])
    }
}

/// A sink that writes to a slice. It counts the bytes beyond the end, so that the error has the
/// required size.
///
/// ```
/// use dotnet_diagnostics_ipc::wire::{Encode as _, EncodeError, SliceSink};
///
/// let mut buffer = [0; 4];
/// let mut sink = SliceSink::new(&mut buffer);
/// 7u32.encode(&mut sink)?;
/// assert_eq!(sink.finish(), Ok(4));
/// assert_eq!(buffer, [7, 0, 0, 0]);
///
/// let mut sink = SliceSink::new(&mut buffer);
/// 7u64.encode(&mut sink)?;
/// assert_eq!(sink.finish(), Err(EncodeError::BufferTooSmall { needed: 8 }));
/// # Ok::<(), EncodeError>(())
/// ```
#[derive(Debug)]
pub struct SliceSink<'s> {
    buffer: &'s mut [u8],
    len: usize,
}

impl<'s> SliceSink<'s> {
    /// Returns a sink that fills `buffer` from the front.
    #[inline]
    pub const fn new(buffer: &'s mut [u8]) -> Self {
        Self::behind(0, buffer)
    }

    /// Returns a sink that skips and counts the first `len` bytes of `buffer`.
    #[inline]
    pub(crate) const fn behind(len: usize, buffer: &'s mut [u8]) -> Self {
        Self { buffer, len }
    }

    /// Returns the number of bytes put so far, whether they fit or not.
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of bytes written.
    ///
    /// # Errors
    /// [`EncodeError::BufferTooSmall`] if the buffer was too small. Its contents are then
    /// unspecified.
    #[inline]
    pub const fn finish(self) -> Result<usize, EncodeError> {
        if self.len > self.buffer.len() {
            return Err(EncodeError::BufferTooSmall { needed: self.len });
        }
        Ok(self.len)
    }

    /// Returns the buffer and the number of bytes written, as [`finish`](Self::finish) does.
    #[inline]
    pub(crate) fn into_buffer(self) -> Result<(&'s mut [u8], usize), EncodeError> {
        let Self { buffer, len } = self;
        let len = SliceSink { buffer: &mut *buffer, len }.finish()?;
        Ok((buffer, len))
    }
}

impl Sink for SliceSink<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        if let Some(place) = self.room(bytes.len()) {
            if place.len() == bytes.len() {
                place.copy_from_slice(bytes);
            }
        }
    }

    #[inline]
    fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        let start = self.len;
        match start.checked_add(len) {
            Some(end) if end <= self.buffer.len() => {
                self.len = end;
                self.buffer.get_mut(start..end)
            }
            _ => {
                self.len = start.saturating_add(len);
                Some(&mut [])
            }
        }
    }
}

#[cfg(feature = "alloc")]
impl Sink for alloc::vec::Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    #[inline]
    fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        let start = self.len();
        self.resize(start.saturating_add(len), 0);
        self.get_mut(start..)
    }
}

/// A sink that compares its input with the expected bytes.
pub(crate) struct Comparer<'e> {
    left: &'e [u8],
    equal: bool,
}

impl<'e> Comparer<'e> {
    pub(crate) const fn new(expected: &'e [u8]) -> Self {
        Self { left: expected, equal: true }
    }

    /// Returns whether exactly the expected bytes were put.
    pub(crate) const fn matched(&self) -> bool {
        self.equal && self.left.is_empty()
    }
}

impl Sink for Comparer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        match self.left.strip_prefix(bytes) {
            Some(left) => self.left = left,
            None => self.equal = false,
        }
    }
}

macro_rules! integers {
    ($($t:ty, $write:ident;)*) => {$(
        impl Encode for $t {
            // The items have the byte order of the wire.
            #[cfg(target_endian = "little")]
            #[inline]
            fn encode_all<S: Sink + ?Sized>(items: &[Self], sink: &mut S) -> Result<(), EncodeError> {
                sink.put(zerocopy::IntoBytes::as_bytes(items));
                Ok(())
            }

            #[inline]
            fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
                let mut bytes = [0; size_of::<$t>()];
                LittleEndian::$write(&mut bytes, *self);
                sink.put(&bytes);
                Ok(())
            }
        }
    )*};
}

integers! {
    u16, write_u16;
    u32, write_u32;
    u64, write_u64;
}

impl Encode for u8 {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        sink.put(&[*self]);
        Ok(())
    }
}

impl Encode for bool {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        u8::from(*self).encode(sink)
    }
}

impl Encode for HResult {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        self.0.encode(sink)
    }
}

/// Returns the count that precedes the items of a string or array.
#[inline]
pub(crate) fn count_of(count: usize) -> Result<u32, EncodeError> {
    u32::try_from(count).map_err(|_| EncodeError::CountTooLarge { count })
}
