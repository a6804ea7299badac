//! A stream that is passed through unread.

/// A stream whose bytes are not interpreted: they are counted, passed through, and cut at the
/// caller's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpaqueStream {
    limit: u64,
    passed: u64,
}

impl OpaqueStream {
    /// A stream of at most `limit` bytes.
    pub(crate) const fn with_limit(limit: u64) -> Self {
        Self { limit, passed: 0 }
    }

    /// Splits the received bytes: those within the limit, and those beyond it.
    pub(crate) fn pass<'i>(&mut self, bytes: &'i [u8]) -> (&'i [u8], &'i [u8]) {
        let within = usize::try_from(self.left()).unwrap_or(usize::MAX);
        let (within, beyond) = bytes.split_at_checked(within).unwrap_or((bytes, &[]));
        self.passed = self.passed.saturating_add(within.len() as u64);
        (within, beyond)
    }

    /// How many bytes within the limit were received so far.
    pub(crate) const fn passed(&self) -> u64 {
        self.passed
    }

    /// How many more may follow.
    pub(crate) const fn left(&self) -> u64 {
        self.limit.saturating_sub(self.passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_at_the_limit() {
        let bytes = [7; 10];
        for limit in 0..12 {
            for cut in 0..=bytes.len() {
                let mut stream = OpaqueStream::with_limit(limit);
                let (first, second) = bytes.split_at(cut);
                let (a, b) = stream.pass(first);
                let (c, d) = stream.pass(second);
                assert_eq!(a.len() + b.len() + c.len() + d.len(), 10);
                assert_eq!((a.len() + c.len()) as u64, limit.min(10));
                assert_eq!(stream.passed() + stream.left(), limit);
            }
        }
    }

    #[test]
    fn largest_limit_is_never_reached() {
        let mut stream = OpaqueStream::with_limit(u64::MAX);
        assert_eq!(stream.pass(b"abc").0, b"abc");
        assert_eq!(stream.left(), u64::MAX - 3);
    }
}
