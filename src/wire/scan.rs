//! Reading without error details: items of arrays, which are many and nearly always valid.

/// Bytes that are read from the front. On an error, the caller reads again with a
/// [`Reader`](super::Reader), which finds the reason; storing a reason here would cost a write to
/// memory for each item.
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

    /// Continues with `rest`.
    #[inline]
    pub(super) fn go_on(&mut self, rest: &'a [u8]) {
        self.rest = rest;
    }

    #[inline]
    pub(crate) fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(taken)
    }

    #[inline]
    pub(crate) fn chunk<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(taken)
    }

    /// The count of items of at least `item` bytes each.
    #[inline]
    pub(crate) fn count(&mut self, item: usize) -> Option<u32> {
        let count = u32::from_le_bytes(*self.chunk()?);
        // In 64 bits: F-8 shows what happens in 32.
        (u64::from(count).saturating_mul(item.max(1) as u64) <= self.rest.len() as u64)
            .then_some(count)
    }
}
