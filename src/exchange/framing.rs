//! Counts the bytes of messages in pieces, and never reads beyond the end of a message.

use core::ops::Range;

use super::MisuseError;
use crate::header::{HEADER_LEN, Header};
use crate::wire::clamp;

/// The part of a message that is at the front of the caller's buffer. First the 20 bytes of the
/// header are wanted, then `size` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Incoming {
    have: u16,
    want: u16,
}

impl Incoming {
    /// The state before any byte is received.
    #[allow(clippy::cast_possible_truncation)] // 20
    pub(super) const START: Self = Self { have: 0, want: HEADER_LEN as u16 };

    #[inline]
    pub(super) const fn have(self) -> u16 {
        self.have
    }

    /// Returns the range to read into now.
    #[inline]
    pub(super) const fn range(self) -> Range<usize> {
        self.have as usize..self.want as usize
    }

    /// Returns the bytes received.
    #[inline]
    pub(super) fn bytes(self, buffer: &[u8]) -> &[u8] {
        buffer.get(..usize::from(self.have)).unwrap_or_default()
    }

    /// Continues in a larger `buffer` that begins with the header and has room for `size` bytes.
    pub(super) fn enlarged(self, buffer: &[u8], size: u16) -> Result<Self, MisuseError> {
        if buffer.len() < size.into() {
            return Err(MisuseError::BufferTooShort { needed: size.into() });
        }
        let is_there = Header::decode(self.bytes(buffer)).is_ok_and(|header| header.size == size);
        if is_there { Ok(self) } else { Err(MisuseError::NotAsked) }
    }

    /// Counts `n` more bytes in the requested range of `buffer`.
    #[inline]
    pub(super) fn received(&mut self, buffer: &[u8], n: usize) -> Result<(), MisuseError> {
        let Range { start, end } = self.range();
        if n == 0 {
            return Err(MisuseError::NoBytes);
        }
        if buffer.len() < end {
            return Err(MisuseError::BufferTooShort { needed: end });
        }
        let asked = end.saturating_sub(start);
        if n > asked {
            return Err(MisuseError::TooMany { asked, reported: n });
        }
        self.have = u16::try_from(start.saturating_add(n)).unwrap_or(self.want);
        Ok(())
    }

    /// Returns the state that wants a whole message of `size` bytes.
    #[inline]
    pub(super) const fn wanting(self, size: u16) -> Self {
        Self { want: size, ..self }
    }

    /// Returns whether the header is complete and more of the payload is wanted.
    #[inline]
    pub(super) const fn is_in_payload(self) -> bool {
        self.have < self.want && self.want as usize > HEADER_LEN
    }
}

/// The part of the caller's buffer that has been sent.
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

    /// Returns the range that is still to be sent.
    #[inline]
    pub(super) const fn range(self) -> Range<usize> {
        self.sent as usize..self.len as usize
    }

    /// Counts `n` bytes as sent, and returns whether those were the last.
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
