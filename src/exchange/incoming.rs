//! A message that arrives in pieces: never a byte more than it has.

use core::ops::Range;

use super::MisuseError;
use crate::command::Command;
use crate::header::{HEADER_LEN, Header};
use crate::wire::{DecodeError, DecodeErrorKind};

/// How much of a message is at the front of the caller's buffer: first its 20 bytes are wanted, then as many as `size` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Incoming {
    have: u16,
    want: u16,
}

/// Where an [`Incoming`] is after bytes came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The header is not whole.
    InHeader,
    /// The header is whole; the payload is not.
    InPayload(Header),
    /// The message is whole.
    Whole(Header),
}

impl Incoming {
    /// Nothing is there.
    #[allow(clippy::cast_possible_truncation)] // 20
    pub(super) const START: Self = Self { have: 0, want: HEADER_LEN as u16 };

    pub(super) const fn have(self) -> u16 {
        self.have
    }

    /// What may be read now.
    pub(super) const fn range(self) -> Range<usize> {
        self.have as usize..self.want as usize
    }

    /// What is there.
    pub(super) fn bytes(self, buffer: &[u8]) -> &[u8] {
        buffer.get(..usize::from(self.have)).unwrap_or_default()
    }

    /// Goes on in a larger `buffer`, which must have room for the message of `size` bytes, and begin with its header.
    pub(super) fn enlarged(self, buffer: &[u8], size: u16) -> Result<Self, MisuseError> {
        if buffer.len() < size.into() {
            return Err(MisuseError::BufferTooShort { needed: size.into() });
        }
        let is_there = Header::decode(self.bytes(buffer)).is_ok_and(|header| header.size == size);
        if is_there { Ok(self) } else { Err(MisuseError::NotAsked) }
    }

    /// Counts `n` more bytes that stand in the asked range of `buffer`.
    pub(super) fn received(self, buffer: &[u8], n: usize) -> Result<Self, MisuseError> {
        let Range { start, end } = self.range();
        if n == 0 {
            return Err(MisuseError::NoBytes);
        }
        if buffer.len() < end {
            return Err(MisuseError::BufferTooShort { needed: end });
        }
        let too_many = MisuseError::TooMany { asked: end.saturating_sub(start), said: n };
        let have = u16::try_from(n).ok().and_then(|n| self.have.checked_add(n)).filter(|have| *have <= self.want);
        Ok(Self { have: have.ok_or(too_many)?, ..self })
    }

    /// Looks at the header as far as it is there, and wants the payload once it is.
    ///
    /// # Errors
    /// As [`Header::decode`]: a wrong magic at its first wrong byte, a `size` below 20.
    pub(super) fn progress(&mut self, buffer: &[u8]) -> Result<Progress, DecodeError> {
        let header = match Header::decode(self.bytes(buffer)) {
            Ok(header) => header,
            Err(error) if matches!(error.kind(), DecodeErrorKind::EndOfInput { .. }) => return Ok(Progress::InHeader),
            Err(error) => return Err(error),
        };
        self.want = header.size;
        Ok(if self.have < self.want { Progress::InPayload(header) } else { Progress::Whole(header) })
    }

    /// The same in the order of runtimes (F-3, F-69): `size` first, and everything else once all of the message is there.
    ///
    /// # Errors
    /// As [`Header::decode`].
    pub(super) fn progress_by_size(&mut self, buffer: &[u8]) -> Result<Progress, DecodeError> {
        let bytes = self.bytes(buffer);
        let Some(RawSize { size, command }) = RawSize::of(bytes) else { return Ok(Progress::InHeader) };
        if usize::from(size) < HEADER_LEN {
            return Err(DecodeError::new(DecodeErrorKind::SizeTooSmall { size }, 14));
        }
        if self.have < size {
            self.want = size;
            return Ok(Progress::InPayload(Header { size, command, reserved: 0 }));
        }
        Header::decode(bytes).map(Progress::Whole)
    }
}

/// What stands behind the place of the magic.
struct RawSize {
    size: u16,
    command: Command,
}

impl RawSize {
    fn of(bytes: &[u8]) -> Option<Self> {
        let header = bytes.first_chunk::<HEADER_LEN>()?;
        let [.., size_low, size_high, set, id, _, _] = *header;
        Some(Self { size: u16::from_le_bytes([size_low, size_high]), command: Command { set, id } })
    }
}
