//! `__rel_loc`: the location of an array, relative to its field.

use core::ops::Range;

use crate::wire::{Decode, Encode, EncodeError, Sink, decode_from};

/// A `__rel_loc` attribute: a `u32` that represents an array (F-66).
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
    /// From the end of the attribute to the first byte.
    pub offset: u16,
    /// The length in bytes.
    pub len: u16,
}

impl RelLoc {
    /// `len` bytes that begin `distance` bytes after the end of the attribute.
    ///
    /// # Errors
    /// [`EncodeError::PartTooLong`] with the value that does not fit in 16 bits.
    pub fn new(distance: usize, len: usize) -> Result<Self, EncodeError> {
        let fit = |n: usize| {
            u16::try_from(n).map_err(|_| EncodeError::PartTooLong { len: n, max: u16::MAX })
        };
        Ok(Self { len: fit(len)?, offset: fit(distance)? })
    }

    /// The number on the wire.
    pub const fn to_u32(self) -> u32 {
        (self.len as u32) << 16 | self.offset as u32
    }

    /// From the number on the wire.
    pub const fn from_u32(number: u32) -> Self {
        let [a, b, c, d] = number.to_le_bytes();
        Self { offset: u16::from_le_bytes([a, b]), len: u16::from_le_bytes([c, d]) }
    }

    /// The range of these bytes, if the attribute ends at `end` and the data are at `data`.
    ///
    /// `None` if any of them is outside the data. This applies to an empty array too: its place
    /// must be from the first byte of the data to the end of the data.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolve_at_end_of_memory_does_not_panic() {
        let loc = RelLoc { offset: 1, len: 1 };
        assert_eq!(loc.resolve(usize::MAX, 0..usize::MAX), None);
        assert_eq!(loc.resolve(usize::MAX - 1, 0..usize::MAX), None);
    }
}
