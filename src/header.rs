//! Read and write the header, the 20 bytes before every payload.
#![forbid(unsafe_code)]

//! # Example
//!
//! Read the size of a message before its payload has arrived:
//!
//! ```
//! use dotnet_diagnostics_ipc::header::Header;
//!
//! let header = Header::decode(b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0")?;
//! assert_eq!((header.size, header.command.to_string().as_str()), (28, "EventPipe/StopTracing"));
//! # Ok::<(), dotnet_diagnostics_ipc::wire::WireError>(())
//! ```

use crate::command::Command;
use crate::wire::{Field, Root, WireError, WireErrorKind, clamp};

/// The first 14 bytes of every message: `DOTNET_IPC_V1` and a NUL.
pub const MAGIC: [u8; 14] = *b"DOTNET_IPC_V1\0";

/// The size of a header, which is also the size of the smallest message.
pub const HEADER_LEN: usize = 20;

/// The size of the largest message, limited by the 16 bits of [`Header::size`].
pub const MAX_MESSAGE_LEN: usize = u16::MAX as usize;

/// The header of a message (`IpcHeader` in the document, section "Headers").
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 14 | [`MAGIC`] |
/// | 14 | 2 | `size`: header plus payload, little-endian |
/// | 16 | 1 | `command_set` |
/// | 17 | 1 | `command_id` |
/// | 18 | 2 | `reserved`: written as 0, ignored by runtimes (F-4) |
///
/// ```
/// use dotnet_diagnostics_ipc::{command::Command, header::Header};
///
/// let header = Header { size: 20, command: Command::PROCESS_INFO, reserved: 0 };
/// assert_eq!(&header.to_bytes(), b"DOTNET_IPC_V1\0\x14\0\x04\0\0\0");
/// assert_eq!(Header::decode(&header.to_bytes()), Ok(header));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// The size of the whole message in bytes, including the 20 of the header.
    pub size: u16,
    /// The command, or [`Command::OK`] / [`Command::ERROR`] in a reply.
    pub command: Command,
    /// A field for future use. Values other than 0 are accepted, but are not canonical.
    pub reserved: u16,
}

impl Header {
    /// Reads the header at the front of `bytes` and ignores the rest.
    ///
    /// Runtimes check `size` first, and the magic after the whole payload has arrived (F-3, F-69).
    /// This function checks the magic first, because a wrong one makes `size` meaningless (F-71).
    ///
    /// # Errors
    /// [`BadMagic`](WireErrorKind::BadMagic) at the first wrong byte, even if there are fewer
    /// than 20 bytes, [`EndOfInput`](WireErrorKind::EndOfInput) with fewer than 20 bytes,
    /// [`SizeTooSmall`](WireErrorKind::SizeTooSmall) with a `size` below 20.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        match Self::read(bytes) {
            Some(header) => Ok(header),
            None => Err(wrong(bytes)),
        }
    }

    /// [`decode`](Self::decode) without the reason for a failure.
    #[inline]
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (magic, &[size_low, size_high, set, id, reserved_low, reserved_high]) = parts(bytes)?;
        let size = u16::from_le_bytes([size_low, size_high]);
        let header = Self {
            size,
            command: Command { set, id },
            reserved: u16::from_le_bytes([reserved_low, reserved_high]),
        };
        (is_magic(magic) && usize::from(size) >= HEADER_LEN).then_some(header)
    }

    /// Returns the 20 bytes of the header.
    #[inline]
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        self.write(&mut bytes);
        bytes
    }

    /// Writes the 20 bytes to `place`.
    #[inline]
    pub(crate) fn write(self, place: &mut [u8; HEADER_LEN]) {
        let [magic @ .., size_low, size_high, set, id, reserved_low, reserved_high] = place;
        *magic = MAGIC;
        [*size_low, *size_high] = self.size.to_le_bytes();
        (*set, *id) = (self.command.set, self.command.id);
        [*reserved_low, *reserved_high] = self.reserved.to_le_bytes();
    }

    /// Returns the number of payload bytes that follow the header.
    #[inline]
    pub const fn payload_len(&self) -> usize {
        (self.size as usize).saturating_sub(HEADER_LEN)
    }
}

/// The fields of a header, right or wrong, for a program that diagnoses or makes a wrong header. A
/// field that has not fully arrived is `None`.
///
/// ```
/// use dotnet_diagnostics_ipc::{command::Command, header::RawHeader};
///
/// // The size leaves out the header, and `reserved` has not fully arrived.
/// let mut bytes = *b"DOTNET_IPC_V1\0\x08\0\x02\x01\0";
/// let header = RawHeader::read(&bytes);
/// assert_eq!((header.size, header.command), (Some(8), Some(Command::STOP_TRACING)));
/// assert_eq!(header.reserved, None);
///
/// RawHeader { size: Some(28), ..RawHeader::default() }.write(&mut bytes);
/// assert_eq!(&bytes, b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RawHeader {
    /// The first 14 bytes, [`MAGIC`] in a valid header.
    pub magic: Option<[u8; 14]>,
    /// See [`Header::size`].
    pub size: Option<u16>,
    /// See [`Header::command`].
    pub command: Option<Command>,
    /// See [`Header::reserved`].
    pub reserved: Option<u16>,
}

impl RawHeader {
    /// Reads the fields at the front of `bytes`.
    pub fn read(bytes: &[u8]) -> Self {
        let number = |at: usize| {
            let bytes = bytes.get(at..)?.first_chunk::<2>()?;
            Some(u16::from_le_bytes(*bytes))
        };
        let command = number(SET).map(|number| Command::from_code(number.swap_bytes()));
        Self {
            magic: bytes.first_chunk().copied(),
            size: number(SIZE),
            command,
            reserved: number(RESERVED),
        }
    }

    /// Writes each field that is `Some` and fits in `bytes`, and leaves the other bytes unchanged.
    pub fn write(self, bytes: &mut [u8]) {
        let mut number = |at: usize, number: Option<u16>| {
            let place = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
            if let (Some(place), Some(number)) = (place, number) {
                *place = number.to_le_bytes();
            }
        };
        number(SIZE, self.size);
        number(SET, self.command.map(|command| command.code().swap_bytes()));
        number(RESERVED, self.reserved);
        if let (Some(place), Some(magic)) = (bytes.first_chunk_mut(), self.magic) {
            *place = magic;
        }
    }
}

/// The offsets of the fields after the magic.
const SIZE: usize = 14;
const SET: usize = 16;
const RESERVED: usize = 18;

/// Splits a header into the magic and the 6 bytes after it.
#[inline]
fn parts(bytes: &[u8]) -> Option<(&[u8; 14], &[u8; 6])> {
    let (magic, rest) = bytes.split_first_chunk()?;
    Some((magic, rest.first_chunk()?))
}

/// Compares the magic as two overlapping words.
#[inline]
fn is_magic(bytes: &[u8; 14]) -> bool {
    const FIRST: u64 = u64::from_le_bytes(*b"DOTNET_I");
    const LAST: u64 = u64::from_le_bytes(*b"_IPC_V1\0");
    let words = bytes.first_chunk().zip(bytes.last_chunk());
    words.is_some_and(|(first, last)| {
        u64::from_le_bytes(*first) == FIRST && u64::from_le_bytes(*last) == LAST
    })
}

/// Explains why `bytes` do not begin with a valid header.
#[cold]
#[inline(never)]
fn wrong(bytes: &[u8]) -> WireError {
    let (kind, offset, field) =
        if let Some(wrong) = bytes.iter().zip(MAGIC).position(|(have, want)| *have != want) {
            (WireErrorKind::BadMagic, wrong, Some(Field::Magic))
        } else if let Some((_, &[size_low, size_high, ..])) = parts(bytes) {
            (
                WireErrorKind::SizeTooSmall { size: u16::from_le_bytes([size_low, size_high]) },
                14,
                Some(Field::Size),
            )
        } else {
            (WireErrorKind::EndOfInput { needed: clamp(HEADER_LEN) }, bytes.len(), None)
        };
    let mut error = WireError::new(kind, offset);
    if let Some(field) = field {
        error.path_mut().push(field);
    }
    error.path_mut().begin(Root::HEADER);
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_header_has_the_fields_that_are_whole() {
        let bytes = *b"DOTNET_IPC_V9\0\x07\x80\x04\x63\x01\x02and more";
        let whole = RawHeader {
            magic: Some(*b"DOTNET_IPC_V9\0"),
            size: Some(0x8007),
            command: Some(Command { set: 4, id: 0x63 }),
            reserved: Some(0x0201),
        };
        for (len, expected) in [
            (bytes.len(), whole),
            (20, whole),
            (19, RawHeader { reserved: None, ..whole }),
            (17, RawHeader { reserved: None, command: None, ..whole }),
            (15, RawHeader { magic: whole.magic, ..RawHeader::default() }),
            (13, RawHeader::default()),
        ] {
            assert_eq!(RawHeader::read(&bytes[..len]), expected, "{len}");
            let mut written = [0xee; 28];
            whole.write(&mut written[..len]);
            assert_eq!(RawHeader::read(&written[..len]), expected, "{len}");
            assert!(written[len.min(20)..].iter().all(|byte| *byte == 0xee), "{len}");
        }
    }
}
