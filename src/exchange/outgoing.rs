//! Bytes that are sent in pieces.

use core::ops::Range;

use super::MisuseError;
use crate::wire::clamp;

/// How much of the front of the caller's buffer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outgoing {
    sent: u32,
    len: u32,
}

impl Outgoing {
    #[inline]
    pub(super) const fn new(len: u32) -> Self {
        Self { sent: 0, len }
    }

    /// What is still to be sent.
    #[inline]
    pub(super) const fn range(self) -> Range<usize> {
        self.sent as usize..self.len as usize
    }

    /// Counts `n` bytes as sent; returns whether those were the last.
    #[inline]
    pub(super) fn sent(&mut self, n: usize) -> Result<bool, MisuseError> {
        let asked = self.range().len();
        if n == 0 {
            return Err(MisuseError::NoBytes);
        }
        if n > asked {
            return Err(MisuseError::TooMany { asked, reported: n });
        }
        self.sent = self.sent.saturating_add(clamp(n));
        Ok(self.sent == self.len)
    }
}
